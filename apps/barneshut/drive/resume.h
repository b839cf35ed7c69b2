/* SPDX-License-Identifier: BSD-3-Clause */
/* What a restart file says of the balance: the root cube, homes, who computes which group, the balancer's memory. A run
 * on as many ranks by the same method goes on with it. */
#ifndef BH_RESUME_H
#define BH_RESUME_H

#include "simulation.h"

/* Of the run as it is. words: owned by the caller, app_words_free(). Collective. */
int bh_resume_write(const bh_simulation *sim, app_words *words);

/* Takes in what the input says, before particles settle for the first time: sim->resumes where homes and tags are to be
 * had. EQP_ERR_FORMAT with a line for what is damaged. Local; the same on all ranks. */
int bh_resume_take(bh_simulation *sim, eqp_message *message);

/* Tags of particles that have settled at their homes. Local. */
void bh_resume_tags(const bh_simulation *sim);

/* The first forces were recorded once more: the balancer knows again what it knew when the file was written. Local; the
 * same on all ranks. */
int bh_resume_again(bh_simulation *sim);

#endif
