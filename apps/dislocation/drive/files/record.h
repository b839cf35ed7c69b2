/* SPDX-License-Identifier: BSD-3-Clause */
/* The record's columns for dislocations, besides those of every app. */
#ifndef DD_RECORD_H
#define DD_RECORD_H

#include "../../../report/run_record.h"
#include "../simulation.h"

/* As app_record_create(), app_record_step() and app_record_finish(). Collective. */
int dd_record_create(void *user, const char *command, app_record **record, eqp_message *message);
int dd_record_step(void *user, app_record *record, eqp_message *message);
int dd_record_finish(void *user, app_record *record, eqp_message *message, eqp_message *note);

/* ---- --check-forces: a user's check of the installed kernels against a table, or of the far field of a run's first
 * forces against direct sums over shells of images. */

/* Compares the kernel of --isa with the table (see elastic/check_table.h) and puts the result as TSV into *text, owned
 * by the caller. Local. EQP_OK, or a code with its line. */
int dd_check_forces(const dd_settings *settings, char **text, eqp_message *message);

/* Compares the far forces on a sample of segments with the direct sums over all segments and images up to `shells`
 * boxes away that are not near. Direct sums depend on the outer shape of the shells by a stress that is linear in
 * position (uniform for closed loops): the error is given with it and without. *text on all ranks, to be freed. Memory:
 * all segments on every rank. Collective. */
int dd_check_images(const dd_simulation *sim, int shells, char **text);

#endif
