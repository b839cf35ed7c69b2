/* SPDX-License-Identifier: BSD-3-Clause */
/* --check-forces: a user's check of the installed kernels against a table. */
#ifndef DD_CHECK_FORCES_H
#define DD_CHECK_FORCES_H

#include "../settings.h"

/* Compares the kernel of --isa with the table (see elastic/check_table.h) and puts the result as TSV into *text, owned
 * by the caller. Local. EQP_OK, or a code with its line. */
int dd_check_forces(const dd_settings *settings, char **text, eqp_message *message);

#endif
