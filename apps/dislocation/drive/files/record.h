/* SPDX-License-Identifier: BSD-3-Clause */
/* The record's columns for dislocations, besides those of every app. */
#ifndef DD_RECORD_H
#define DD_RECORD_H

#include "../../../report/run_record.h"
#include "../simulation.h"

/* As app_record_create(), app_record_step() and app_record_finish(). Collective. */
int dd_record_create(const dd_simulation *sim, const char *command, app_record **record, eqp_message *message);
int dd_record_step(app_record *record, const dd_simulation *sim, eqp_message *message);
int dd_record_finish(app_record *record, const dd_simulation *sim, eqp_message *message, eqp_message *note);

#endif
