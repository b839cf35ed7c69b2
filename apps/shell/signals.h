/* SPDX-License-Identifier: BSD-3-Clause */
/* Ctrl-C and SIGTERM. They end the process at once while there is nothing to save. Later the handler only sets a
 * flag: a step that ends soon is completed, a longer one is abandoned, and a restart file is written. A second signal
 * ends the process at once. */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

#include <mpi.h>

/* From now on SIGINT and SIGTERM only set a flag, and a file that outgrows the limit of `ulimit -f` is a failed write.
 * Another SIGINT or SIGTERM, a second later or more, ends the process: exit status 128 + signal. Local.
 * EQP_OK; EQP_ERR_STATE where they are installed already; EQP_ERR_INTERNAL where the system refuses. */
int app_signals_install(void);

/* From now on a signal to one rank is one to all ranks of its node: app_signals_pending() of each tells it at once.
 * Where MPI has no shared memory nothing changes. Collective. */
void app_signals_share(MPI_Comm comm);

/* The process may be lost: from now on, and if a signal has come before, SIGINT and SIGTERM end it at once, with exit
 * status 128 + signal. Local. */
void app_signals_expendable(void);

/* From now on there is something to save: signals set the flag again. */
void app_signals_keep(void);

/* Names what a process that ends at once prints on standard error (NULL: nothing) and removes: files [n] and a
 * folder, if it is empty (NULL: none). All are borrowed until the next call. A process that a second signal ends prints
 * nothing. */
void app_signals_last_words(const char *line);
void app_signals_clear_away(int n, char *const *file, const char *folder);

/* The first signal since app_signals_install, or 0. The exit status is then 128 + signal. */
int app_signals_pending(void);

/* For long loops, once in some milliseconds: EQP_ERR_STOPPED where a signal has waited for half a second for the end of
 * a step, else EQP_OK. */
int app_signals_stop(void);

/* Gives these signals the handling back that they had, and forgets what came. Does nothing where nothing is installed.
 * After app_signals_share() collective, before MPI_Finalize. */
void app_signals_restore(void);

#endif
