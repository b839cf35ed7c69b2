/* SPDX-License-Identifier: BSD-3-Clause */
#include "virtual.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>

static int compare_stalls(const void *a, const void *b)
{
    const eqp_schedule_stall *p = a, *q = b;

    if (p->rank != q->rank) {
        return p->rank < q->rank ? -1 : 1;
    }
    return (p->at > q->at) - (p->at < q->at);
}

static double end_of(const eqp_schedule_stall *stall)
{
    return stall->at + stall->seconds;
}

/* Merges adjacent and overlapping stalls. Returns their number. */
static int64_t join(int64_t n, eqp_schedule_stall *stall)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        eqp_schedule_stall *last = kept > 0 ? &stall[kept - 1] : NULL;
        if (last && last->rank == stall[i].rank && stall[i].at <= end_of(last)) {
            last->seconds = fmax(end_of(last), end_of(&stall[i])) - last->at;
        } else {
            stall[kept++] = stall[i];
        }
    }
    return kept;
}

int eqp__stalls_create(const eqp_schedule_machine *machine, int nranks, eqp__stalls *stalls)
{
    const int64_t n = machine->nstalls;
    int64_t kept, at = 0;

    EQP__FAIL_IF(n < 0 || (n > 0 && !machine->stall), EQP_ERR_ARGUMENT);
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(stalls->stall, n), EQP__ARRAY(stalls->first, (int64_t)nranks + 1)));
    for (int64_t i = 0; i < n; i++) {
        const eqp_schedule_stall s = machine->stall[i];
        EQP__FAIL_IF(s.rank < 0 || s.rank >= nranks || !(s.at >= 0.0) || !(s.seconds >= 0.0) ||
                         !isfinite(s.at + s.seconds),
                     EQP_ERR_ARGUMENT);
        stalls->stall[i] = s;
    }
    qsort(stalls->stall, (size_t)n, sizeof *stalls->stall, compare_stalls);
    kept = join(n, stalls->stall);
    for (int r = 0; r <= nranks; r++) {
        while (at < kept && stalls->stall[at].rank < r) {
            at++;
        }
        stalls->first[r] = at;
    }
    return EQP_OK;
}

void eqp__stalls_free(eqp__stalls *stalls)
{
    EQP__FREE(stalls->stall, stalls->first);
}

int64_t eqp__stalls_from(const eqp__stalls *stalls, int rank, int64_t from, double begin)
{
    while (from < stalls->first[rank + 1] && end_of(&stalls->stall[from]) <= begin) {
        from++;
    }
    return from;
}

double eqp__stalls_end(const eqp__stalls *stalls, int rank, int64_t from, double begin, double work)
{
    double now = begin;

    for (int64_t i = from; i < stalls->first[rank + 1]; i++) {
        const eqp_schedule_stall *s = &stalls->stall[i];
        if (s->at > now + work) {
            break;
        }
        if (s->at > now) {
            work -= s->at - now;
        }
        now = fmax(now, end_of(s));
    }
    return now + work;
}

double eqp__stalls_worked(const eqp__stalls *stalls, int rank, int64_t from, double begin, double now)
{
    double worked = now - begin;

    for (int64_t i = from; i < stalls->first[rank + 1] && stalls->stall[i].at < now; i++) {
        worked -= fmin(end_of(&stalls->stall[i]), now) - fmax(stalls->stall[i].at, begin);
    }
    return worked;
}

int eqp__turns_create(int nranks, eqp__turns *turns)
{
    int code =
        EQP__ARRAYS(EQP__ARRAY(turns->rank, nranks), EQP__ARRAY(turns->place, nranks), EQP__ARRAY(turns->time, nranks));

    for (int r = 0; r < nranks && !code; r++) {
        turns->rank[r] = turns->place[r] = r;
    }
    turns->n = code ? 0 : nranks;
    return code;
}

void eqp__turns_free(eqp__turns *turns)
{
    EQP__FREE(turns->rank, turns->place, turns->time);
}

static bool is_before(const eqp__turns *t, int a, int b)
{
    return t->time[a] < t->time[b] || (t->time[a] == t->time[b] && a < b);
}

static void put(eqp__turns *t, int place, int rank)
{
    t->rank[place] = rank;
    t->place[rank] = place;
}

/* Restores the heap order at `place`, up or down. */
static void settle(eqp__turns *t, int place, int rank)
{
    while (place > 0 && is_before(t, rank, t->rank[(place - 1) / 2])) {
        put(t, place, t->rank[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (int below = 2 * place + 1; below < t->n; below = 2 * place + 1) {
        below += below + 1 < t->n && is_before(t, t->rank[below + 1], t->rank[below]);
        if (!is_before(t, t->rank[below], rank)) {
            break;
        }
        put(t, place, t->rank[below]);
        place = below;
    }
    put(t, place, rank);
}

void eqp__turns_set(eqp__turns *turns, int rank, double time)
{
    turns->time[rank] = time;
    settle(turns, turns->place[rank], rank);
}

void eqp__turns_remove(eqp__turns *turns, int rank)
{
    const int place = turns->place[rank], last = turns->rank[--turns->n];

    turns->place[rank] = -1;
    if (place < turns->n) {
        settle(turns, place, last);
    }
}

void eqp__turns_add(eqp__turns *turns, int rank, double time)
{
    turns->time[rank] = time;
    settle(turns, turns->n++, rank);
}
