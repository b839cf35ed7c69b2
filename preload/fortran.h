/* SPDX-License-Identifier: BSD-3-Clause */
/* Called by the Fortran wrappers that wrap.py generates. `truth` is MPI's routine, a weak symbol: it is defined if the
 * program has loaded MPI's Fortran library, and called only then. */
#ifndef EQP_PRELOAD_FORTRAN_H
#define EQP_PRELOAD_FORTRAN_H

#include <mpi.h>
#include <stddef.h>

typedef void eqp__routine0(MPI_Fint *ierror);
typedef void eqp__routine1(void *a, MPI_Fint *ierror);
typedef void eqp__routine2(void *a, void *b, MPI_Fint *ierror);
typedef void eqp__routine3(void *a, void *b, void *c, MPI_Fint *ierror);
typedef void eqp__routine4(void *a, void *b, void *c, void *d, MPI_Fint *ierror);

void eqp__fortran_init(eqp__routine0 *truth, MPI_Fint *ierror);
void eqp__fortran_init_thread(eqp__routine2 *truth, void *required, void *provided, MPI_Fint *ierror);
void eqp__fortran_finalize(eqp__routine0 *truth, MPI_Fint *ierror);
void eqp__fortran_abort(eqp__routine2 *truth, void *comm, void *errorcode, MPI_Fint *ierror);
void eqp__fortran_set_errhandler(eqp__routine2 *truth, void *comm, void *errhandler, MPI_Fint *ierror);
void eqp__fortran_create_errhandler(eqp__routine2 *truth, void *called, void *errhandler, MPI_Fint *ierror);
void eqp__fortran_create_keyval(eqp__routine4 *truth, void *copy, void *delete, void *keyval, void *state,
                                MPI_Fint *ierror);
void eqp__fortran_keyval_create(eqp__routine4 *truth, void *copy, void *delete, void *keyval, void *state,
                                MPI_Fint *ierror);
void eqp__fortran_comm_get_attr(eqp__routine4 *truth, void *comm, void *keyval, void *value, void *flag,
                                MPI_Fint *ierror);
void eqp__fortran_attr_get(eqp__routine4 *truth, void *comm, void *keyval, void *value, void *flag, MPI_Fint *ierror);
void eqp__fortran_pcontrol(eqp__routine1 *truth, void *level, MPI_Fint *ierror);
void eqp__fortran_session_init(eqp__routine3 *truth, void *info, void *errhandler, void *session, MPI_Fint *ierror);

/* Ends, with a message, a program that loaded MPI's Fortran library after its start, too late for the weak symbols. */
_Noreturn void eqp__no_fortran(const char *name);

#endif
