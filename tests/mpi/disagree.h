/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of collective calls in which one rank, another one in each row, differs in one argument. To be included once in
 * a program; its second argument names the one row that is to run, FUNCTION.WHAT. */
#ifndef EQP_MPI_DISAGREE_H
#define EQP_MPI_DISAGREE_H

#include "harness.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <unistd.h>

enum { MOST_RANKS = 16 };

/* Expected outcome of a row, unless it is one code on all ranks. */
enum outcome {
    SAME = 1,  /* EQP_ERR_ARGUMENT, as all ranks must pass the same; a single rank does */
    OF_THREE,  /* the same, but nothing differs between fewer than three ranks */
    WRONG,     /* EQP_ERR_ARGUMENT, on a single rank too */
    NEEDED,    /* the same, and a single rank may be right: not all methods need it */
    TOO_LARGE, /* EQP_ERR_OVERFLOW; a single rank adds nothing */
    ALONE      /* only the odd rank calls and gets EQP_ERR_ARGUMENT at once, as it has no communicator */
};

/* One rank in one call. */
typedef struct seat {
    MPI_Comm comm, argument; /* of the row; the one passed to the function */
    int rank, size, number;  /* number of the row */
    bool odd, alone;         /* this is the rank that differs; only that rank calls */
    const char *what;        /* argument in which it differs; "": none */
} seat;

typedef struct row {
    const char *function;
    int (*call)(const seat *s); /* returns the code of the function */
    const char *what;           /* ARGUMENT[.FIELD]: how it differs */
    int expected;
} row;

static bool row_was_meant; /* whether anybody has asked for what the row is about */
static const char *only_row;
static char watched[256];

/* True if this rank differs in the argument. */
static inline bool is(const seat *s, const char *what)
{
    const bool meant = strcmp(s->what, what) == 0;

    row_was_meant = row_was_meant || meant;
    return meant && s->odd;
}

#define CALL(seat, call) ((seat)->alone && !(seat)->odd ? EQP_ERR_ARGUMENT : (call))

static inline void bite(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, watched, strlen(watched));
    _exit(1);
}

/* Ends a call that hangs and names it: after ten seconds of CPU time, since waiting ranks poll, or after a minute of
 * wall time, in case it sleeps. The limits do not measure the speed of a call. */
static inline void watch(const row *r)
{
    const int seconds = r ? 10 : 0;
    const struct itimerval own = {.it_value.tv_sec = seconds}, wall = {.it_value.tv_sec = 6 * seconds};

    if (r) {
        snprintf(watched, sizeof watched, "%s.%s: hangs\n", r->function, r->what);
        (void)signal(SIGPROF, bite);
        (void)signal(SIGALRM, bite);
    }
    (void)setitimer(ITIMER_PROF, &own, NULL);
    (void)setitimer(ITIMER_REAL, &wall, NULL);
}

static inline int expected_code(const row *r, const seat *s, int code)
{
    switch (r->expected) {
    case SAME:
        return s->size > 1 ? EQP_ERR_ARGUMENT : EQP_OK;
    case OF_THREE:
        return s->size > 2 ? EQP_ERR_ARGUMENT : EQP_OK;
    case NEEDED:
        return s->size > 1 ? EQP_ERR_ARGUMENT : code;
    case TOO_LARGE:
        return s->size > 1 ? EQP_ERR_OVERFLOW : EQP_OK;
    case WRONG:
    case ALONE:
        return EQP_ERR_ARGUMENT;
    default:
        return r->expected;
    }
}

/* The row as it is meant, then the same call with nothing wrong. */
static inline void run_row(const row *r, seat s)
{
    static char name[256];
    int code, ends[2];

    snprintf(name, sizeof name, "%s.%s", r->function, r->what);
    if (only_row && strcmp(only_row, name) != 0) {
        return;
    }
    mpi_test_now = name;
    s.what = r->what;
    s.alone = r->expected == ALONE;
    s.argument = is(&s, "comm: NULL") || is(&s, "world: NULL") ? MPI_COMM_NULL : s.comm;
    watch(r);
    code = r->call(&s);
    CHECK(row_was_meant);
    row_was_meant = false;
    CHECK_EQUAL(code, expected_code(r, &s, code));
    ends[0] = code;
    ends[1] = -code;
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MIN, s.comm);
    CHECK_EQUAL(ends[0], -ends[1]);
    s.what = "";
    s.alone = false;
    s.argument = s.comm;
    CHECK_EQUAL(r->call(&s), EQP_OK);
    watch(NULL);
}

static inline void run_rows(MPI_Comm comm, const row *rows, size_t nrows)
{
    static int pass;
    seat s = {.comm = comm, .rank = mpi_test_rank(comm), .size = mpi_test_size(comm)};

    for (size_t i = 0; i < nrows; i++) {
        s.number = (int)i;
        s.odd = s.rank == (s.number + pass) % s.size;
        run_row(&rows[i], s);
    }
    pass++;
}

#endif
