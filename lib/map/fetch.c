/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/placement.h"

#include "base/internal.h"
#include "comm/agree.h"

#include <equipoise/more/comm.h>

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

/* Answer for a number that the rank does not have. */
static const eqp_placement nowhere = {0, -1};

/* Requests and replies by rank: counts and offsets. */
typedef struct trip {
    int *asked, *asked_at;     /* [ranks] by this rank */
    int *answers, *answers_at; /* [ranks] from other ranks */
    int64_t nasked, nanswers;
    int64_t *wanted, *given; /* [nasked], [nanswers] indices at home */
    eqp_placement *reply, *heard;
    int64_t *index; /* [nasked] the owner that each belongs to */
} trip;

/* Starts of the ranges; EQP_ERR_OVERFLOW if the placements are too large for one message. */
static int add_up(int nranks, const int *count, int *at, int64_t *total)
{
    *total = 0;
    for (int r = 0; r < nranks; r++) {
        at[r] = (int)*total;
        *total += count[r];
        EQP__FAIL_IF(*total > INT_MAX / (int64_t)sizeof(eqp_placement), EQP_ERR_OVERFLOW);
    }
    return EQP_OK;
}

/* Requests to other ranks, sorted by rank. */
static int sort_inquiries(int me, int nranks, int64_t n, const eqp__address *address, trip *t)
{
    int code;

    EQP_TRY(eqp_array_create(&t->asked, 4 * (int64_t)nranks, sizeof *t->asked));
    t->asked_at = t->asked + nranks;
    t->answers = t->asked_at + nranks;
    t->answers_at = t->answers + nranks;
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(address[i].rank < 0 || address[i].rank >= nranks, EQP_ERR_DATA);
        t->asked[address[i].rank] += address[i].rank != me;
    }
    EQP_TRY(add_up(nranks, t->asked, t->asked_at, &t->nasked));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(t->wanted, t->nasked), EQP__ARRAY(t->index, t->nasked),
                        EQP__ARRAY(t->heard, t->nasked)));
    for (int64_t i = 0; i < n; i++) {
        if (address[i].rank != me) {
            const int at = t->asked_at[address[i].rank]++;
            t->wanted[at] = address[i].at_home;
            t->index[at] = i;
        }
    }
    code = add_up(nranks, t->asked, t->asked_at, &t->nasked);
done:
    return code;
}

/* Converts counts into bytes of items of this size. */
static void stretch(int nranks, int size, trip *t)
{
    for (int i = 0; i < 4 * nranks; i++) { /* the four arrays are one */
        t->asked[i] *= size;
    }
}

/* Sends requests and receives replies. */
static int travel(MPI_Comm comm, int nranks, int64_t nknown, const eqp_placement *known, trip *t)
{
    int code;

    EQP__CHECK(EQP__MPI(MPI_Alltoall(t->asked, 1, MPI_INT, t->answers, 1, MPI_INT, comm)));
    code = add_up(nranks, t->answers, t->answers_at, &t->nanswers);
    code = code ? code : EQP__ARRAYS(EQP__ARRAY(t->given, t->nanswers), EQP__ARRAY(t->reply, t->nanswers));
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP__CHECK(EQP__MPI(MPI_Alltoallv(t->wanted, t->asked, t->asked_at, MPI_INT64_T, t->given, t->answers,
                                      t->answers_at, MPI_INT64_T, comm)));
    for (int64_t i = 0; i < t->nanswers; i++) {
        t->reply[i] = t->given[i] >= 0 && t->given[i] < nknown ? known[t->given[i]] : nowhere;
    }
    stretch(nranks, (int)sizeof(eqp_placement), t);
    code = EQP__MPI(
        MPI_Alltoallv(t->reply, t->answers, t->answers_at, MPI_BYTE, t->heard, t->asked, t->asked_at, MPI_BYTE, comm));
done:
    return code;
}

int eqp__placements_fetch(MPI_Comm comm, int code, int64_t n, const eqp__address *address, int64_t nknown,
                          const eqp_placement *known, eqp_placement *placement)
{
    trip t = {.nasked = 0};
    int64_t none = 1;
    int me, nranks, failed = eqp__comm_shape(comm, &me, &nranks);

    if (failed != EQP_OK) {
        return failed;
    }
    code = code == EQP_OK ? sort_inquiries(me, nranks, n, address, &t) : code;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        const int64_t at = address[i].at_home;
        code = address[i].rank != me || (at >= 0 && at < nknown) ? EQP_OK : EQP_ERR_DATA;
        if (address[i].rank == me && code == EQP_OK) {
            placement[i] = known[at];
        }
    }
    none = t.nasked == 0;
    EQP_TRY(eqp__agree_least(comm, code, 1, &none, NULL));
    if (none == 0) { /* on any rank */
        EQP_TRY(travel(comm, nranks, nknown, known, &t));
        for (int64_t i = 0; i < t.nasked; i++) {
            placement[t.index[i]] = t.heard[i];
            code = t.heard[i].home >= 0 ? code : EQP_ERR_DATA;
        }
        EQP_TRY(eqp_agree(comm, code, NULL));
    }
done:
    EQP__FREE(t.asked, t.wanted, t.given, t.reply, t.heard, t.index);
    return code;
}
