/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run leaves for people and programs: lines on the terminal, report.json, loads.csv, plots. Rank 0 writes. */
#ifndef BH_RECORD_H
#define BH_RECORD_H

#include "simulation.h"

typedef struct bh_record bh_record;

/* Starts the report in settings->report (if any). Collective. */
int bh_record_create(bh_simulation *sim, const char *command, bh_record **record, eqp_message *message);
void bh_record_free(bh_record *record);

/* Takes the simulation's last step in. Local, but to be called on all ranks. */
int bh_record_step(bh_record *record, const bh_simulation *sim, eqp_message *message);

/* Writes the files. Collective. notes: lines for stderr that are no failure (no gnuplot); may stay empty. */
int bh_record_finish(bh_record *record, const bh_simulation *sim, eqp_message *message, eqp_message *note);

/* The table of the run for a person: owned by the caller; NULL on other ranks than 0. */
int bh_record_table(const bh_record *record, char **text);

#endif
