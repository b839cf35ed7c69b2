/* SPDX-License-Identifier: BSD-3-Clause */
/* The balance in a restart file: root cube, homes, the rank that computes each group, the balancer's state. A run on
 * the same number of ranks by the same method continues from it. */
#ifndef BH_RESUME_H
#define BH_RESUME_H

#include "../simulation.h"

/* The present balance. words: owned by the caller, app_words_free(). Collective. */
int bh_resume_write(const bh_simulation *sim, app_words *words);

/* Reads the balance from the input before the particles migrate; sets sim->resumes if homes and tags are there.
 * EQP_ERR_FORMAT with a line that names the damage. Local; the same on all ranks. */
int bh_resume_take(bh_simulation *sim, eqp_message *message);

/* Tags of particles that have migrated to their homes. Local. */
void bh_resume_tags(const bh_simulation *sim);

/* Restores the balancer's state once more, after the first forces have been recorded a second time. Local; the same on
 * all ranks. */
int bh_resume_again(bh_simulation *sim);

#endif
