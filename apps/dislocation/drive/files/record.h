/* SPDX-License-Identifier: BSD-3-Clause */
/* The record's columns for dislocations, in addition to the columns of every app. */
#ifndef DD_RECORD_H
#define DD_RECORD_H

#include "../../../report/run_record.h"
#include "../simulation.h"

/* As app_record_create(), app_record_step() and app_record_finish(). Collective. */
int dd_record_create(void *user, const char *command, app_record **record, eqp_message *message);
int dd_record_step(void *user, app_record *record, eqp_message *message);
int dd_record_finish(void *user, app_record *record, eqp_message *message, eqp_message *note);

/* ---- --check-forces: checks the installed kernels against a table, or the far field of a run's first forces against
 * direct sums over shells of images. */

/* Compares the kernel of --isa with the table (see elastic/check_table.h). *text: the result as TSV, owned by the
 * caller. EQP_OK, or a code with a message. Local. */
int dd_check_forces(const dd_settings *settings, char **text, eqp_message *message);

/* Compares the far forces on a sample of segments with direct sums over all segments and images up to `shells` boxes
 * away that are not near. Direct sums depend on the outer shape of the shells by a stress linear in position (uniform
 * for closed loops), so the error is given with and without it. *text on all ranks, freed by the caller. Every rank
 * holds all segments. Collective. */
int dd_check_images(const dd_simulation *sim, int shells, char **text);

#endif
