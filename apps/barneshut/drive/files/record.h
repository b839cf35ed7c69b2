/* SPDX-License-Identifier: BSD-3-Clause */
/* The entries of a run's record that gravity adds to those of every app. */
#ifndef BH_RECORD_H
#define BH_RECORD_H

#include "../simulation.h"

#include "../../../report/run_record.h"

typedef struct bh_record {
    app_record *record; /* owned */
    bh_sums first;      /* reference of energies */
} bh_record;

/* As app_record_create(), app_record_step() and app_record_finish(). Collective. */
int bh_record_create(const bh_simulation *sim, const char *command, bh_record *record, eqp_message *message);
int bh_record_step(bh_record *record, const bh_simulation *sim, eqp_message *message);
int bh_record_finish(bh_record *record, const bh_simulation *sim, eqp_message *message, eqp_message *note);

#endif
