/* SPDX-License-Identifier: BSD-3-Clause */
/* Callbacks of the program to which MPI passes a communicator: error handlers and attribute callbacks, in C and
 * Fortran. They see MPI_COMM_WORLD in place of eqp__app. */
#include "fortran.h"
#include "world.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool in_fortran; /* MPICH's Fortran routines call the C routines */

static MPI_Comm seen(MPI_Comm comm)
{
    return comm == eqp__app ? MPI_COMM_WORLD : comm;
}

static MPI_Fint seen_in_fortran(MPI_Fint comm)
{
    return comm == eqp__fortran_app ? eqp__fortran_world : comm;
}

/* ---- error handlers ---- */

typedef void function(void);

/* MPI passes only the communicator, from which the handler's handle follows. A freed handle may still be in use, so its
 * entry stays until MPI reuses the handle. */
static struct {
    MPI_Errhandler handle;
    function *called;
} * handlers;
static size_t nhandlers;

static int remember(MPI_Errhandler handle, function *called)
{
    size_t at = 0;
    void *more = NULL;

    pthread_mutex_lock(&lock);
    while (at < nhandlers && handlers[at].handle != handle) {
        at++;
    }
    if (at == nhandlers && (more = realloc(handlers, (nhandlers + 1) * sizeof *handlers)) != NULL) {
        handlers = more;
        nhandlers++;
    }
    if (at < nhandlers) {
        handlers[at].handle = handle;
        handlers[at].called = called;
    }
    pthread_mutex_unlock(&lock);
    return at < nhandlers ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static function *handler_of(MPI_Comm comm)
{
    MPI_Errhandler handle = MPI_ERRHANDLER_NULL;
    function *called = NULL;

    PMPI_Comm_get_errhandler(comm, &handle);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < nhandlers && called == NULL; i++) {
        called = handlers[i].handle == handle ? handlers[i].called : NULL;
    }
    pthread_mutex_unlock(&lock);
    if (called == NULL) { /* another thread has just replaced the handler */
        eqp__say("an error handler was replaced while it was called");
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    PMPI_Errhandler_free(&handle);
    return called;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    MPI_Comm_errhandler_function *called = (MPI_Comm_errhandler_function *)handler_of(*comm);
    MPI_Comm its = seen(*comm);

#ifdef OPEN_MPI /* the name of the function follows, and NULL */
    va_list arguments;

    va_start(arguments, code);
    called(&its, code, va_arg(arguments, char *), NULL);
    va_end(arguments);
#else
    called(&its, code);
#endif
}

static void on_error_in_fortran(const MPI_Fint *comm, MPI_Fint *code)
{
    void (*called)(MPI_Fint *, MPI_Fint *) = (void (*)(MPI_Fint *, MPI_Fint *))handler_of(PMPI_Comm_f2c(*comm));
    MPI_Fint its = seen_in_fortran(*comm);

    called(&its, code);
}

EQP_WRAPPER int MPI_Comm_create_errhandler(MPI_Comm_errhandler_function *called, MPI_Errhandler *errhandler)
{
    if (in_fortran) {
        return PMPI_Comm_create_errhandler(called, errhandler);
    }
    int code = PMPI_Comm_create_errhandler(on_error, errhandler);

    return code == MPI_SUCCESS ? remember(*errhandler, (function *)called) : code;
}

void eqp__fortran_create_errhandler(eqp__routine2 *truth, void *called, void *errhandler, MPI_Fint *ierror)
{
    in_fortran = true;
    truth((void *)on_error_in_fortran, errhandler, ierror);
    in_fortran = false;
    if (*ierror == MPI_SUCCESS) {
        *ierror = (MPI_Fint)remember(PMPI_Errhandler_f2c(*(MPI_Fint *)errhandler), (function *)called);
    }
}

/* ---- attribute callbacks ---- */

/* Callbacks of a key. MPI passes them a state: this struct in C, its number in Fortran. Attributes outlive their key,
 * so the struct is never freed. MPICH reads a Fortran state from its address when the key was created. */
typedef struct callbacks {
    struct callbacks *next;
    MPI_Aint wide_number;
    MPI_Fint number;
    function *copy, *delete;
    void *state;
    MPI_Aint wide;   /* state of Fortran's MPI_Comm_create_keyval */
    MPI_Fint narrow; /* state of Fortran's MPI_Keyval_create */
} callbacks;

static callbacks *all_callbacks;

typedef void copy_in_fortran(MPI_Fint *, MPI_Fint *, void *, void *, void *, MPI_Fint *, MPI_Fint *);
typedef void delete_in_fortran(MPI_Fint *, MPI_Fint *, void *, void *, MPI_Fint *);

static callbacks *keep(callbacks given)
{
    callbacks *mine = malloc(sizeof *mine);

    if (mine != NULL) {
        *mine = given;
        pthread_mutex_lock(&lock);
        mine->next = all_callbacks;
        mine->number = mine->next != NULL ? mine->next->number + 1 : 0;
        mine->wide_number = mine->number;
        all_callbacks = mine;
        pthread_mutex_unlock(&lock);
    }
    return mine;
}

static callbacks *kept(MPI_Aint number)
{
    callbacks *mine = NULL;

    pthread_mutex_lock(&lock);
    for (mine = all_callbacks; mine->number != number; mine = mine->next) {
    }
    pthread_mutex_unlock(&lock);
    return mine;
}

static int on_copy(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag)
{
    const callbacks *mine = state;

    return ((MPI_Comm_copy_attr_function *)mine->copy)(seen(comm), keyval, mine->state, in, out, flag);
}

static int on_delete(MPI_Comm comm, int keyval, void *value, void *state)
{
    const callbacks *mine = state;

    return ((MPI_Comm_delete_attr_function *)mine->delete)(seen(comm), keyval, value, mine->state);
}

EQP_WRAPPER int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
                                       int *keyval, void *state)
{
    const bool copies = copy != MPI_COMM_NULL_COPY_FN && copy != MPI_COMM_DUP_FN;
    const bool deletes = delete != MPI_COMM_NULL_DELETE_FN;

    if (in_fortran || (!copies && !deletes)) {
        return PMPI_Comm_create_keyval(copy, delete, keyval, state);
    }
    callbacks *mine = keep((callbacks){.copy = (function *)copy, .delete = (function *)delete, .state = state});

    return mine == NULL ? MPI_ERR_NO_MEM
                        : PMPI_Comm_create_keyval(copies ? on_copy : copy, deletes ? on_delete : delete, keyval, mine);
}

/* Callbacks of MPI_Comm_create_keyval, whose states are addresses, and of MPI_Keyval_create, whose states are default
 * integers. */
#define KEYS_IN_FORTRAN(create, type, its_state, its_number)                                                           \
    static void create##_on_copy(MPI_Fint *comm, MPI_Fint *keyval, type *state, void *in, void *out, MPI_Fint *flag,   \
                                 MPI_Fint *ierror)                                                                     \
    {                                                                                                                  \
        callbacks *mine = kept(*state);                                                                                \
        MPI_Fint its = seen_in_fortran(*comm);                                                                         \
                                                                                                                       \
        ((copy_in_fortran *)mine->copy)(&its, keyval, &mine->its_state, in, out, flag, ierror);                        \
    }                                                                                                                  \
    static void create##_on_delete(MPI_Fint *comm, MPI_Fint *keyval, void *value, type *state, MPI_Fint *ierror)       \
    {                                                                                                                  \
        callbacks *mine = kept(*state);                                                                                \
        MPI_Fint its = seen_in_fortran(*comm);                                                                         \
                                                                                                                       \
        ((delete_in_fortran *)mine->delete)(&its, keyval, value, &mine->its_state, ierror);                            \
    }                                                                                                                  \
    void eqp__fortran_##create(eqp__routine4 *truth, void *copy, void *delete, void *keyval, void *state,              \
                               MPI_Fint *ierror)                                                                       \
    {                                                                                                                  \
        callbacks *mine = keep(                                                                                        \
            (callbacks){.copy = (function *)copy, .delete = (function *)delete, .its_state = *(const type *)state});   \
                                                                                                                       \
        *ierror = MPI_ERR_NO_MEM;                                                                                      \
        if (mine != NULL) {                                                                                            \
            in_fortran = true;                                                                                         \
            truth((void *)create##_on_copy, (void *)create##_on_delete, keyval, &mine->its_number, ierror);            \
            in_fortran = false;                                                                                        \
        }                                                                                                              \
    }

KEYS_IN_FORTRAN(create_keyval, MPI_Aint, wide, wide_number)
KEYS_IN_FORTRAN(keyval_create, MPI_Fint, narrow, number)

/* Removed names, which mpi.h may define as macros that do not compile, or omit. */
EQP_WRAPPER int eqp__errhandler_create(MPI_Comm_errhandler_function *called,
                                       MPI_Errhandler *errhandler) __asm__("MPI_Errhandler_create");
EQP_WRAPPER int eqp__keyval_create(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete,
                                   int *keyval, void *state) __asm__("MPI_Keyval_create");

int eqp__errhandler_create(MPI_Comm_errhandler_function *called, MPI_Errhandler *errhandler)
{
    return MPI_Comm_create_errhandler(called, errhandler);
}

int eqp__keyval_create(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *delete, int *keyval,
                       void *state)
{
    return MPI_Comm_create_keyval(copy, delete, keyval, state);
}
