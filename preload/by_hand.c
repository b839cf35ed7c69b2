/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers that replace more than a communicator. */
#include "world.h"

#include <equipoise/more/pcontrol.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

EQP_WRAPPER int MPI_Init(int *argc, char ***argv)
{
    return eqp__enter(PMPI_Init(argc, argv));
}

EQP_WRAPPER int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return eqp__enter(PMPI_Init_thread(argc, argv, required, provided));
}

EQP_WRAPPER int MPI_Finalize(void)
{
    return eqp__leave() ? PMPI_Finalize() : MPI_SUCCESS;
}

EQP_WRAPPER int MPI_Abort(MPI_Comm comm, int errorcode)
{
    (void)comm;
    return PMPI_Abort(MPI_COMM_WORLD, errorcode);
}

/* MPI uses the true world's handler for errors without a communicator. */
EQP_WRAPPER int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    const int code = PMPI_Comm_set_errhandler(comm, errhandler);

    return code == MPI_SUCCESS && eqp__comm(comm) != comm ? PMPI_Comm_set_errhandler(eqp__app, errhandler) : code;
}

static void without_balancers(int keyval, void *value, const int *flag)
{
    static int universe;

    if (keyval == MPI_UNIVERSE_SIZE && *flag) {
        universe = eqp__universe(**(int **)value);
        *(int **)value = &universe;
    }
}

EQP_WRAPPER int MPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    if (comm != MPI_COMM_WORLD || !eqp__is_predefined(comm_keyval)) {
        return PMPI_Comm_get_attr(eqp__comm(comm), comm_keyval, attribute_val, flag);
    }
    const int code = PMPI_Comm_get_attr(comm, comm_keyval, attribute_val, flag);

    if (code == MPI_SUCCESS) {
        without_balancers(comm_keyval, attribute_val, flag);
    }
    return code;
}

/* Removed names that programs still call. mpi.h may define them as macros that do not compile, or omit them. */
EQP_WRAPPER int eqp__attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag) __asm__("MPI_Attr_get");
EQP_WRAPPER int eqp__errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) __asm__("MPI_Errhandler_set");
EQP_WRAPPER int eqp__errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler) __asm__("MPI_Errhandler_get");

int eqp__attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return MPI_Comm_get_attr(comm, keyval, attribute_val, flag);
}

int eqp__errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return MPI_Comm_set_errhandler(comm, errhandler);
}

int eqp__errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_get_errhandler(eqp__comm(comm), errhandler);
}

EQP_WRAPPER int MPI_Pcontrol(const int level, ...)
{
    if (level == EQP_PCONTROL_OFFER || level == EQP_PCONTROL_TAKE) {
        va_list arguments;

        va_start(arguments, level);
        eqp__door(level, va_arg(arguments, eqp_pcontrol *));
        va_end(arguments);
        return MPI_SUCCESS;
    }
    eqp__step_ends(level);
    return PMPI_Pcontrol(level);
}

#if MPI_VERSION >= 4
/* Sessions reach all processes by a process set. The world is initialized before the first session, so that it is
 * divided exactly once; it ends with the last session or with the program's MPI_Finalize. */
static int sessions;
static bool world_is_ours;

EQP_WRAPPER int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    int begun = 0, provided = 0, code = MPI_SUCCESS;

    PMPI_Initialized(&begun);
    if (!begun) {
        code = eqp__enter(PMPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
        world_is_ours = true;
    }
    if (code == MPI_SUCCESS) {
        code = PMPI_Session_init(info, errhandler, session);
        sessions += code == MPI_SUCCESS;
    }
    return code;
}

EQP_WRAPPER int MPI_Session_finalize(MPI_Session *session)
{
    int ended = 0;
    const int code = PMPI_Session_finalize(session);

    sessions -= code == MPI_SUCCESS;
    PMPI_Finalized(&ended);
    if (sessions == 0 && world_is_ours && !ended) {
        world_is_ours = false;
        MPI_Finalize();
    }
    return code;
}

static bool means_world(const char *name)
{
    return eqp__balancers > 0 && name != NULL && strcmp(name, "mpi://WORLD") == 0;
}

EQP_WRAPPER int MPI_Group_from_session_pset(MPI_Session session, const char *pset_name, MPI_Group *newgroup)
{
    MPI_Group all = MPI_GROUP_NULL, app = MPI_GROUP_NULL;
    int code = PMPI_Group_from_session_pset(session, pset_name, &all);

    if (code != MPI_SUCCESS || !means_world(pset_name)) {
        *newgroup = code == MPI_SUCCESS ? all : *newgroup;
        return code;
    }
    code = PMPI_Comm_group(eqp__app, &app);
    if (code == MPI_SUCCESS) {
        code = PMPI_Group_intersection(all, app, newgroup);
        PMPI_Group_free(&app);
    }
    PMPI_Group_free(&all);
    return code;
}

EQP_WRAPPER int MPI_Session_get_pset_info(MPI_Session session, const char *pset_name, MPI_Info *info)
{
    const int code = PMPI_Session_get_pset_info(session, pset_name, info);
    char size[16];
    int ranks = 0;

    if (code == MPI_SUCCESS && means_world(pset_name)) {
        PMPI_Comm_size(eqp__app, &ranks);
        snprintf(size, sizeof size, "%d", ranks);
        PMPI_Info_set(*info, "mpi_size", size);
    }
    return code;
}
#endif
