/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters of ParaDiS that this program does not use: refused if they change everything, noted if they change
 * something, written back for ParaDiS. Local. */
#ifndef DD_FOREIGN_H
#define DD_FOREIGN_H

#include <equipoise/more/paradis.h>

/* Notes for the user on changed and ignored parameters. */
#define DD_NOTES 16
typedef struct dd_notes {
    int n;
    eqp_message line[DD_NOTES];
} dd_notes;

/* The next free line; the last one is overwritten if there are too many. */
eqp_message *dd_notes_next(dd_notes *notes);

/* Checks the other keys, and replaces mobilities of 0, which ParaDiS accepts, by small ones. EQP_OK, or
 * EQP_ERR_ARGUMENT with a message for anisotropy and inclusions. from: the file's name. */
int dd_foreign_check(const char *from, eqp_paradis_control *control, dd_notes *notes, eqp_message *message);

/* The other statements, and the ones that ParaDiS needs for its far field if the file has none: fast multipoles, which
 * need the same power of two of cells in all directions, else its tables of stress. *others: owned by the caller,
 * unchanged on error. EQP_OK or EQP_ERR_MEMORY. */
int dd_foreign_complete(const eqp_paradis_control *control, char **others);

#endif
