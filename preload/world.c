/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides MPI_COMM_WORLD below an unmodified program. Balancers never return from MPI_Init: they serve until the
 * application ends. */
#include "world.h"

#include "job.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

MPI_Comm eqp__app = MPI_COMM_WORLD;
MPI_Fint eqp__fortran_world, eqp__fortran_app;
int eqp__balancers;
eqp_lazy *eqp__lazy;

static bool entered;

/* Messages go to standard error: standard output belongs to the program. */
static void say(const char *format, va_list arguments)
{
    char line[1024];

    vsnprintf(line, sizeof line, format, arguments);
    fprintf(stderr, "equipoise-lazy: %s\n", line);
}

void eqp__say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(format, arguments);
    va_end(arguments);
}

static bool is_first(void)
{
    int begun = 0, rank = 0;

    PMPI_Initialized(&begun);
    if (!begun) {
        return eqp__job_is_first();
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

_Noreturn void eqp__refuse(const char *format, ...)
{
    int begun = 0;

    if (is_first()) {
        va_list arguments;

        va_start(arguments, format);
        say(format, arguments);
        va_end(arguments);
    }
    PMPI_Initialized(&begun);
    if (begun) {
        PMPI_Finalize();
    }
    _exit(2); /* skips the program's exit handlers, as main() has not begun */
}

bool eqp__is_predefined(int keyval)
{
    return keyval == MPI_TAG_UB || keyval == MPI_HOST || keyval == MPI_IO || keyval == MPI_WTIME_IS_GLOBAL ||
           keyval == MPI_UNIVERSE_SIZE || keyval == MPI_APPNUM || keyval == MPI_LASTUSEDCODE;
}

int eqp__universe(int places)
{
    int all = 0;

    PMPI_Comm_size(MPI_COMM_WORLD, &all);
    return places >= all ? places - eqp__balancers : places; /* a universe smaller than the world is meaningless */
}

static eqp_lazy_options options_given(void)
{
    const char *balancers = getenv("EQP_LAZY_BALANCERS"), *spread = getenv("EQP_LAZY_SPREAD"),
               *patience = getenv("EQP_LAZY_PATIENCE");
    eqp_lazy_options options = eqp_lazy_options_defaults();
    char *end = NULL;
    long count = balancers != NULL ? strtol(balancers, &end, 10) : 0;

    if (balancers != NULL && (*balancers == '\0' || *end != '\0' || count < 0 || count > 1 << 30)) {
        eqp__refuse("EQP_LAZY_BALANCERS: '%s' is no number of ranks", balancers);
    }
    options.mode = EQP_LAZY_BY_RANKS;
    options.balancers = (int)count;
    options.delay = count == 0 ? 1 : -1; /* the application's ranks make the map and have it at once */
    options.patience = patience != NULL ? strtod(patience, NULL) : options.patience;
    options.spread = spread != NULL && strcmp(spread, "node") == 0;
    return options;
}

/* Freeing the world deletes its attributes, so it is freed where MPI would free it: with the first attribute of
 * MPI_COMM_SELF, which MPI deletes last. Attributes set later are deleted before it and may still communicate. */
static int free_world(MPI_Comm self, int keyval, void *value, void *state)
{
    (void)self;
    (void)keyval;
    (void)value;
    (void)state;
    if (eqp__app != MPI_COMM_WORLD) {
        MPI_Comm app = eqp__app;

        PMPI_Comm_free(&app);
        eqp__app = MPI_COMM_WORLD;
        eqp__fortran_app = eqp__fortran_world;
    }
    return MPI_SUCCESS;
}

static int free_world_at_end(void)
{
    int keyval = MPI_KEYVAL_INVALID;
    int code = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_world, &keyval, NULL);

    return code == MPI_SUCCESS ? PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL) : code;
}

static void look_like_world(MPI_Comm mine)
{
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;

    PMPI_Comm_set_name(mine, "MPI_COMM_WORLD");
    if (PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler) == MPI_SUCCESS) {
        PMPI_Comm_set_errhandler(mine, handler);
        PMPI_Errhandler_free(&handler);
    }
}

static void divide(void)
{
    const eqp_lazy_options options = options_given();
    const char *report = getenv("EQP_LAZY_REPORT");
    eqp_message message = {""};
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = NULL;
    int nranks = 0;

    PMPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (options.balancers >= nranks) {
        eqp__refuse("%d balancers leave no rank of %d for the program", options.balancers, nranks);
    }
    if (eqp_lazy_split(MPI_COMM_WORLD, &options, &mine, &lazy, &message) != EQP_OK) {
        eqp__refuse("the world cannot be divided: %s", message.text);
    }
    eqp__balancers = options.balancers;
    eqp__lazy = lazy;
    eqp__door_open(getenv("EQP_LAZY_BALANCE"));
    look_like_world(mine);
    if (free_world_at_end() != MPI_SUCCESS) {
        eqp__refuse("the end of MPI cannot be seen");
    }
    eqp__app = mine;
    eqp__fortran_app = PMPI_Comm_c2f(mine);
    if (report != NULL && *report != '\0') {
        eqp__measure_begin(report);
    }
}

/* True for a program that another MPI launcher started inside this job; it gets all its ranks. */
static bool is_another_job(void)
{
    const char *given = getenv("EQP_LAZY_JOB"), *own = eqp__job(EQP_JOB_NAME);

    return given != NULL && *given != '\0' && strcmp(given, own != NULL ? own : "") != 0;
}

/* Removes each `own` from a list of libraries separated by blanks or colons. */
static void remove_library(char *list, const char *own)
{
    const size_t length = strlen(own);
    char *to = list;

    for (const char *at = list; *at != '\0';) {
        const size_t word = strcspn(at, " :"), more = strspn(at + word, " :");

        if (word != length || strncmp(at, own, length) != 0) {
            memmove(to, at, word + more);
            to += word + more;
        }
        at += word + more;
    }
    *to = '\0';
}

/* Removes the launcher's variables, so that programs started by this one run undivided. */
static void clean_environment(void)
{
    static const char *const names[] = {"EQP_LAZY_BALANCERS", "EQP_LAZY_SPREAD", "EQP_LAZY_BALANCE",
                                        "EQP_LAZY_PATIENCE",  "EQP_LAZY_REPORT", "EQP_LAZY_JOB"};
    const char *libraries = getenv("LD_PRELOAD");
    char *others = libraries != NULL ? strdup(libraries) : NULL;
    Dl_info own;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        unsetenv(names[i]);
    }
    if (others != NULL && dladdr((void *)eqp__say, &own) != 0) {
        remove_library(others, own.dli_fname);
        if (others[0] == '\0') {
            unsetenv("LD_PRELOAD");
        } else {
            setenv("LD_PRELOAD", others, 1);
        }
    }
    free(others);
}

int eqp__enter(int code)
{
    MPI_Comm parent = MPI_COMM_NULL;

    if (code != MPI_SUCCESS || entered) {
        return code;
    }
    entered = true;
    eqp__fortran_world = eqp__fortran_app = PMPI_Comm_c2f(MPI_COMM_WORLD);
    PMPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL && !is_another_job()) { /* spawned programs keep all their ranks */
        divide();
    }
    clean_environment();
    return code;
}

bool eqp__leave(void)
{
    bool lost = false;
    int rank = 0;

    if (eqp__measures) {
        eqp__measure_end();
    }
    eqp_lazy_leave(&eqp__lazy, &lost);
    PMPI_Comm_rank(eqp__app, &rank);
    if (lost && rank == 0) {
        eqp__say("balancers do not answer any more: MPI is left as it is");
    }
    return !lost;
}
