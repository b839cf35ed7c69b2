/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran wrappers that replace more than a communicator: for mpif.h and `use mpi`, and for mpi_f08. */
#include "fortran.h"

#include "world.h"

#include <stdlib.h>

#ifdef MPICH_VERSION
#define KEYVAL_OF_C(keyval) ((int)(keyval)-1) /* Fortran keys are C keys plus 1 */
#else
#define KEYVAL_OF_C(keyval) ((int)(keyval))
#endif

_Noreturn void eqp__no_fortran(const char *name)
{
    eqp__say("%s: MPI's library for Fortran was loaded while the program ran, which cannot be followed", name);
    PMPI_Abort(MPI_COMM_WORLD, 2);
    _Exit(2);
}

void eqp__fortran_init(eqp__routine0 *truth, MPI_Fint *ierror)
{
    truth(ierror);
    *ierror = (MPI_Fint)eqp__enter((int)*ierror);
}

void eqp__fortran_init_thread(eqp__routine2 *truth, void *required, void *provided, MPI_Fint *ierror)
{
    truth(required, provided, ierror);
    *ierror = (MPI_Fint)eqp__enter((int)*ierror);
}

void eqp__fortran_finalize(eqp__routine0 *truth, MPI_Fint *ierror)
{
    *ierror = MPI_SUCCESS;
    if (eqp__leave()) {
        truth(ierror);
    }
}

void eqp__fortran_abort(eqp__routine2 *truth, void *comm, void *errorcode, MPI_Fint *ierror)
{
    (void)comm;
    truth(&eqp__fortran_world, errorcode, ierror);
}

void eqp__fortran_set_errhandler(eqp__routine2 *truth, void *comm, void *errhandler, MPI_Fint *ierror)
{
    truth(comm, errhandler, ierror);
    if (*ierror == MPI_SUCCESS && eqp__fortran_comm(comm) != *(MPI_Fint *)comm) {
        truth(&eqp__fortran_app, errhandler, ierror);
    }
}

static MPI_Fint holder(const void *comm, const void *keyval)
{
    return eqp__is_predefined(KEYVAL_OF_C(*(const MPI_Fint *)keyval)) ? *(const MPI_Fint *)comm
                                                                      : eqp__fortran_comm(comm);
}

static bool is_universe(const void *comm, const void *keyval, const void *flag)
{
    return *(const MPI_Fint *)comm == eqp__fortran_world && *(const MPI_Fint *)flag != 0 &&
           KEYVAL_OF_C(*(const MPI_Fint *)keyval) == MPI_UNIVERSE_SIZE;
}

void eqp__fortran_comm_get_attr(eqp__routine4 *truth, void *comm, void *keyval, void *value, void *flag,
                                MPI_Fint *ierror)
{
    MPI_Fint has = holder(comm, keyval);

    truth(&has, keyval, value, flag, ierror);
    if (*ierror == MPI_SUCCESS && is_universe(comm, keyval, flag)) {
        *(MPI_Aint *)value = eqp__universe((int)*(MPI_Aint *)value);
    }
}

void eqp__fortran_attr_get(eqp__routine4 *truth, void *comm, void *keyval, void *value, void *flag, MPI_Fint *ierror)
{
    MPI_Fint has = holder(comm, keyval);

    truth(&has, keyval, value, flag, ierror);
    if (*ierror == MPI_SUCCESS && is_universe(comm, keyval, flag)) {
        *(MPI_Fint *)value = (MPI_Fint)eqp__universe((int)*(MPI_Fint *)value);
    }
}

void eqp__fortran_pcontrol(eqp__routine1 *truth, void *level, MPI_Fint *ierror)
{
    eqp__step_ends((int)*(MPI_Fint *)level);
    truth(level, ierror);
}

void eqp__fortran_session_init(eqp__routine3 *truth, void *info, void *errhandler, void *session, MPI_Fint *ierror)
{
    const char *balancers = getenv("EQP_LAZY_BALANCERS"); /* the world is not divided yet */

    if (eqp__balancers > 0 || (balancers != NULL && atol(balancers) > 0)) {
        eqp__refuse("a Fortran program that begins by MPI_Session_init cannot be divided");
    }
    truth(info, errhandler, session, ierror);
}
