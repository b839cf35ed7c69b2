/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of ParaDiS that this program has no use for: refused where they change everything, named where they change
 * something, written back where ParaDiS needs them. Local. */
#ifndef DD_FOREIGN_H
#define DD_FOREIGN_H

#include <equipoise/more/paradis.h>

/* Lines for people: what is changed or passed over. */
#define DD_NOTES 16
typedef struct dd_notes {
    int n;
    eqp_message line[DD_NOTES];
} dd_notes;

/* Where the next line goes. The last one is overwritten where there are too many. */
eqp_message *dd_notes_next(dd_notes *notes);

/* What stands in other keys, and what ParaDiS bears and this program cannot: mobilities of 0 become small ones. EQP_OK,
 * or EQP_ERR_ARGUMENT with its line for anisotropy and inclusions. from: the file's name. */
int dd_foreign_check(const char *from, eqp_paradis_control *control, dd_notes *notes, eqp_message *message);

/* The other statements with those that ParaDiS needs for its far field where none stand: its fast multipoles, which
 * want the same power of two of cells in all directions, else its tables of stress. *others: owned by the caller,
 * unchanged on error. EQP_OK or EQP_ERR_MEMORY. */
int dd_foreign_complete(const eqp_paradis_control *control, char **others);

#endif
