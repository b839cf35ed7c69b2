/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of collective calls in which one rank, a different one in each row, differs in one argument. Include once per
 * program; its second argument FUNCTION.WHAT selects a single row. */
#ifndef EQP_MPI_DISAGREE_H
#define EQP_MPI_DISAGREE_H

#include "harness.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <unistd.h>

enum { MOST_RANKS = 16 };

/* Codes by which a row may end. A name in front of a row holds for the rows that follow it, too. */
static const struct outcome {
    const char *name;
    int code, least; /* the code on at least so many ranks, EQP_OK on fewer */
} outcomes[] = {
    {"FINE ", EQP_OK, 1},
    {"ALONE ", EQP_ERR_ARGUMENT, 1}, /* only the odd rank calls; it has no communicator and gets the code at once */
    {"WRONG ", EQP_ERR_ARGUMENT, 1},
    {"SAME ", EQP_ERR_ARGUMENT, 2}, /* all must pass the same */
    {"OF_THREE ", EQP_ERR_ARGUMENT, 3},
    {"NEEDED ", EQP_ERR_ARGUMENT, 2}, /* a single rank may get any code: some methods do not need it */
    {"TOO_LARGE ", EQP_ERR_OVERFLOW, 2},
    {"DATA ", EQP_ERR_DATA, 1},
    {"STOPPED ", EQP_ERR_STOPPED, 1},
};
enum { OUTCOMES = sizeof outcomes / sizeof outcomes[0] };

/* One rank in one call. */
typedef struct seat {
    MPI_Comm comm, argument; /* comm of the row, and the one passed to the function */
    int rank, size, number;  /* number of the row */
    bool odd, alone;         /* this rank differs; only this rank calls */
    const char *what;        /* name of the differing argument, or "" */
} seat;

/* A function and its rows: "OUTCOME ARGUMENT[.FIELD]: how it differs; ..." */
typedef struct calls {
    const char *function;
    int (*call)(const seat *s);
    const char *rows;
} calls;

static bool row_was_meant; /* true if a call has queried the argument of the row */
static char watched[2304];

static inline bool is(const seat *s, const char *what)
{
    const bool meant = strcmp(s->what, what) == 0;

    row_was_meant = row_was_meant || meant;
    return meant && s->odd;
}

/* The number of the row "WHAT: NUMBER ..." on the rank that differs, else the usual one. */
static inline double real(const seat *s, const char *what, double usual)
{
    const size_t n = strlen(what);
    char *end;

    if (strncmp(s->what, what, n) != 0 || s->what[n] != ':') {
        return usual;
    }
    const double other = strtod(s->what + n + 1, &end);
    return end > s->what + n + 1 && is(s, s->what) ? other : usual;
}

static inline int number(const seat *s, const char *what, int usual)
{
    return (int)real(s, what, usual);
}

#define OR_NULL(what, value) (is(s, what ": NULL") ? NULL : (value))
#define CALL(seat, call) ((seat)->alone && !(seat)->odd ? EQP_ERR_ARGUMENT : (call))

static inline void bite(int signal)
{
    (void)signal;
    (void)!write(STDERR_FILENO, watched, strlen(watched));
    _exit(1);
}

/* Ends and names a hanging call: after ten seconds of CPU time, since waiting ranks poll, or a minute of wall time in
 * case it sleeps. */
static inline void watch(int seconds)
{
    const struct itimerval own = {.it_value.tv_sec = seconds}, wall = {.it_value.tv_sec = 6 * seconds};

    (void)signal(SIGPROF, bite);
    (void)signal(SIGALRM, bite);
    (void)setitimer(ITIMER_PROF, &own, NULL);
    (void)setitimer(ITIMER_REAL, &wall, NULL);
}

/* Runs the row, then the same call without a fault. */
static inline void run_row(const calls *of, const struct outcome *expected, seat s)
{
    static char name[2200];
    int code, ends[2];

    snprintf(name, sizeof name, "%s.%s", of->function, s.what);
    if (mpi_test_row && strcmp(mpi_test_row, name) != 0) {
        return;
    }
    mpi_test_now = name;
    snprintf(watched, sizeof watched, "%s: hangs\n", name);
    s.alone = strcmp(expected->name, "ALONE ") == 0;
    s.argument = is(&s, "comm: NULL") || is(&s, "world: NULL") ? MPI_COMM_NULL : s.comm;
    watch(10);
    code = of->call(&s);
    CHECK(row_was_meant);
    row_was_meant = false;
    CHECK(code == (s.size >= expected->least ? expected->code : EQP_OK) || (s.size == 1 && expected->name[0] == 'N'));
    ends[0] = code;
    ends[1] = -code;
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MIN, s.comm);
    CHECK_EQUAL(ends[0], -ends[1]);
    s.what = "";
    s.alone = false;
    s.argument = s.comm;
    CHECK_EQUAL(of->call(&s), EQP_OK);
    watch(0);
}

static inline void run_calls(MPI_Comm comm, const calls *all, size_t n)
{
    static int pass;
    seat s = {.comm = comm, .rank = mpi_test_rank(comm), .size = mpi_test_size(comm)};

    for (size_t i = 0; i < n; i++) {
        const struct outcome *expected = outcomes;
        char rows[8192], *end;
        CHECK(snprintf(rows, sizeof rows, "%s", all[i].rows) < (int)sizeof rows);
        for (char *row = rows; row != NULL; row = end != NULL ? end + 2 : NULL) {
            end = strstr(row, "; ");
            if (end != NULL) {
                *end = '\0';
            }
            for (size_t k = 0; k < OUTCOMES; k++) {
                const size_t length = strlen(outcomes[k].name);
                const bool named = strncmp(row, outcomes[k].name, length) == 0;
                expected = named ? &outcomes[k] : expected;
                row += named ? length : 0;
            }
            s.what = row;
            s.odd = s.rank == (s.number + pass) % s.size;
            run_row(&all[i], expected, s);
            s.number++;
        }
    }
    pass++;
}

#endif
