/* SPDX-License-Identifier: BSD-3-Clause */
/* Items of several kinds for tests of methods, the same for any distribution over ranks. */
#ifndef METHODS_WORLD_H
#define METHODS_WORLD_H

#include "harness.h"

#include <equipoise/balance.h>
#include <equipoise/more/random.h>

#include <math.h>

enum { MOST_ITEMS = 600, PINS = 6, MOST_PHASES = 16 };

enum weights { RANDOM_WEIGHTS, EQUAL_WEIGHTS, ZERO_WEIGHTS, ONE_GIANT };
enum points { SPREAD_POINTS, ONE_POINT };
enum now { UNKNOWN, SOME_UNKNOWN, IN_ORDER, ALL_IN_ONE };
enum shares { EQUAL_SHARES, RISING_SHARES };
enum spread { EVEN, ALL_ON_LAST, EVERY_OTHER_RANK };

typedef struct problem {
    int n, nparts;
    enum weights weights;
    enum points points;
    enum now now;
    enum shares shares;
    enum spread spread;
    int phases; /* 0: one load per item */
} problem;

typedef struct world {
    problem is;
    int64_t id[MOST_ITEMS], particles[MOST_ITEMS], size[MOST_ITEMS], pin_first[MOST_ITEMS + 1];
    int64_t pin[MOST_ITEMS * PINS], my_first[MOST_ITEMS + 1]; /* my_first: pin_first of this rank */
    double weight[MOST_ITEMS], point[3 * MOST_ITEMS], source[3 * MOST_ITEMS], share[MOST_ITEMS + 20];
    int now[MOST_ITEMS];
    double phase_load[MOST_ITEMS * MOST_PHASES], times[MOST_PHASES];
    double total, largest, smallest_share;
} world;

static double uniform(int64_t i, int64_t k)
{
    return eqp_random_uniform(21, (uint64_t)i, (uint64_t)k);
}

static double weight_of(const problem *is, int i)
{
    switch (is->weights) {
    case EQUAL_WEIGHTS:
        return 3;
    case ZERO_WEIGHTS:
        return 0;
    case ONE_GIANT:
        return i == is->n / 3 ? 1e4 : 1;
    default:
        return 0.5 + uniform(i, 0);
    }
}

static int now_of(const problem *is, int i)
{
    switch (is->now) {
    case ALL_IN_ONE:
        return is->nparts - 1;
    case SOME_UNKNOWN:
        return i % 5 ? i * is->nparts / is->n : i % 2 ? -1 : is->nparts;
    default:
        return (int)((int64_t)i * is->nparts / is->n);
    }
}

/* Phase k has a random half of the items of phase k - 1 and occurs twice as often; phase 3 is empty. Weights are sums
 * over a cycle. */
static void make_phases(world *w)
{
    const int phases = w->is.phases;

    for (int k = 0; k < phases; k++) {
        w->times[k] = ldexp(1, k);
    }
    for (int i = 0; i < w->is.n; i++) {
        const double depth = -log2(1 - uniform(i, 20)), load = w->weight[i];
        w->weight[i] = phases > 0 ? 0 : w->weight[i];
        for (int k = 0; k < phases; k++) {
            w->phase_load[i * phases + k] = depth >= k && k != 3 ? load : 0;
            w->weight[i] += w->times[k] * w->phase_load[i * phases + k];
        }
    }
}

static void make_shares(world *w)
{
    double sum = 0;

    w->smallest_share = 1;
    for (int p = 0; p < w->is.nparts; p++) {
        w->share[p] = w->is.shares == EQUAL_SHARES ? 1 : 1 + p % 3;
        sum += w->share[p];
    }
    for (int p = 0; p < w->is.nparts; p++) {
        w->share[p] /= sum;
        w->smallest_share = fmin(w->smallest_share, w->share[p]);
    }
}

static world *make_world(problem is)
{
    world *w = mpi_test_alloc(1, sizeof *w);

    w->is = is;
    for (int i = 0; i < is.n; i++) {
        /* Ids beyond 32 bits with equal low halves. */
        w->id[i] = ((int64_t)(i / 2) << 33) + i % 2;
        w->particles[i] = 1 + i % 4;
        w->size[i] = 10 + i;
        w->weight[i] = weight_of(&is, i);
        w->now[i] = now_of(&is, i);
        for (int k = 0; k < 3; k++) {
            w->point[3 * i + k] = is.points == ONE_POINT ? 0.25 : (k == 0 ? 10.0 * i / is.n : 0) + uniform(i, 1 + k);
            w->source[3 * i + k] = w->point[3 * i + k] + (is.points == ONE_POINT ? 0 : uniform(i, 5 + k) - 0.5);
        }
        w->pin_first[i + 1] = w->pin_first[i] + PINS;
        for (int k = 0; k < PINS; k++) {
            /* Neighbors, one distant id, and one duplicate id. */
            int other = k < PINS - 2 ? (i + k * k) % is.n : k == PINS - 2 ? (i * 7 + 3) % is.n : i;
            w->pin[w->pin_first[i] + k] = ((int64_t)other << 34) + 5;
        }
    }
    make_phases(w);
    for (int i = 0; i < is.n; i++) {
        w->total += w->weight[i];
        w->largest = fmax(w->largest, w->weight[i]);
    }
    make_shares(w);
    return w;
}

static int first_of(const problem *is, int rank, int nranks)
{
    switch (is->spread) {
    case ALL_ON_LAST:
        return rank < nranks ? 0 : is->n;
    case EVERY_OTHER_RANK:
        return (int)((int64_t)is->n * ((rank + 1) / 2) / ((nranks + 1) / 2));
    default:
        return (int)((int64_t)is->n * rank / nranks);
    }
}

static int last_of(const problem *is, int rank, int nranks)
{
    if (is->spread == ALL_ON_LAST) {
        return rank == nranks - 1 ? is->n : 0;
    }
    return first_of(is, rank + 1, nranks);
}

/* This rank's share of the world. */
static eqp_balance_items items_of(MPI_Comm comm, world *w)
{
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm), first = first_of(&w->is, rank, nranks);
    eqp_balance_items items = {.n = last_of(&w->is, rank, nranks) - first};

    if (items.n == 0) {
        return items;
    }
    for (int64_t i = 0; i <= items.n && first > 0; i++) {
        w->my_first[i] = w->pin_first[first + i] - w->pin_first[first];
    }
    items.id = w->id + first;
    items.weight = w->is.phases > 0 ? NULL : w->weight + first;
    items.phase_load = w->is.phases > 0 ? w->phase_load + (ptrdiff_t)first * w->is.phases : NULL;
    items.particles = w->particles + first;
    items.point = w->point + (ptrdiff_t)3 * first;
    items.source = w->source + (ptrdiff_t)3 * first;
    items.part_now = w->is.now == UNKNOWN ? NULL : w->now + first;
    items.size = w->size + first;
    items.pin_first = first > 0 ? w->my_first : w->pin_first;
    items.pin = w->pin + w->pin_first[first];
    return items;
}

static eqp_balance_options options_of(const world *w)
{
    eqp_balance_options options = eqp_balance_options_defaults();

    options.nparts = w->is.nparts;
    options.share = w->is.shares == EQUAL_SHARES ? NULL : w->share;
    options.imbalance_tol = 0.05;
    options.nphases = w->is.phases;
    options.times = w->is.phases > 0 ? w->times : NULL;
    return options;
}

/* Runs a method on this rank's items; all parts on every rank, unless it fails. */
static int balance_items(MPI_Comm comm, const eqp_method *method, const world *w, const eqp_balance_items *items,
                         const eqp_balance_options *options, int *part, eqp_balance_result *result)
{
    const int nranks = mpi_test_size(comm);
    int64_t *count = mpi_test_alloc(nranks, sizeof *count);
    int mine[MOST_ITEMS];
    const int code = eqp_balance(comm, method, items, options, mine, result);

    for (int r = 0; r < nranks; r++) {
        count[r] = last_of(&w->is, r, nranks) - first_of(&w->is, r, nranks);
    }
    if (code == EQP_OK) {
        CHECK_EQUAL(eqp_gather_all(comm, sizeof *part, items->n, mine, count, part), EQP_OK);
    }
    free(count);
    return code;
}

static void balance(MPI_Comm comm, const eqp_method *method, world *w, int *part, eqp_balance_result *result)
{
    const eqp_balance_items items = items_of(comm, w);
    eqp_balance_options options = options_of(w);
    eqp_message message = {"none"};

    options.message = &message;
    if (balance_items(comm, method, w, &items, &options, part, result) != EQP_OK) {
        fprintf(stderr, "%s: %s\n", method->name, message.text);
        CHECK(false);
    }
}

#endif
