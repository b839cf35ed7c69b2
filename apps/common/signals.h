/* SPDX-License-Identifier: BSD-3-Clause */
/* Ctrl-C and SIGTERM end a run at the next step, after its restart file: the handler only takes a note. */
#ifndef APP_SIGNALS_H
#define APP_SIGNALS_H

/* From now on SIGINT and SIGTERM only set a flag, and a file that outgrows the limit of `ulimit -f` is a failed write.
 * EQP_OK; EQP_ERR_STATE where they are installed already; EQP_ERR_INTERNAL where the system refuses. */
int app_signals_install(void);

/* The first signal since app_signals_install, or 0. The exit status is then 128 + signal. */
int app_signals_pending(void);

/* Gives these signals the handling back that they had. Does nothing where nothing is installed. */
void app_signals_restore(void);

#endif
