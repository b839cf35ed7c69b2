/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/phased.h"

#include "base/internal.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The items with their loads in one phase; load: [items] scratch. */
static eqp_balance_items items_in(const eqp_items *items, int nphases, int k, double *load)
{
    eqp_balance_items view = items->view;

    for (int64_t i = 0; i < view.n; i++) {
        load[i] = items->phase[i * nphases + k];
    }
    view.weight = load;
    view.phase_load = NULL;
    view.part_now = NULL;
    return view;
}

/* Combines the imbalances of the phases, each cut on its own. */
static void join_phases(const eqp_balance_result *of, const eqp_cycle_turns *phases, eqp_balance_result *result)
{
    double mean = 0.0, most = 0.0;

    *result = of[0];
    for (int k = 0; k < phases->n; k++) {
        mean += phases->times[k] * of[k].load_mean;
        most += phases->times[k] * of[k].load_max;
        result->phase_imbalance[k] = of[k].imbalance;
    }
    result->cycle_efficiency = most > 0.0 ? mean / most : 1.0;
    result->imbalance = 1.0 / result->cycle_efficiency - 1.0;
}

int eqp__phased_assign(MPI_Comm comm, const eqp_method *method, const eqp_items *items, const eqp_cycle_turns *phases,
                       const eqp_balance_options *usual, int *phased, eqp_balance_result *result)
{
    eqp_balance_options wanted = *usual;
    eqp_balance_result of[EQP_CYCLE_PHASES];
    double *load = NULL;
    int code;

    wanted.nphases = 0;
    wanted.times = NULL;
    EQP_TRY(eqp_agree(comm, eqp_array_create(&load, items->view.n, sizeof *load), NULL));
    for (int k = phases->n - 1; k >= 0; k--) { /* the first phase last: it sets an item's part */
        const eqp_balance_items view = items_in(items, phases->n, k, load);
        EQP_TRY(eqp_balance(comm, method, &view, &wanted, items->part, &of[k]));
        for (int64_t i = 0; i < view.n; i++) {
            phased[i * phases->n + k] = items->part[i];
        }
    }
    join_phases(of, phases, result);
done:
    free(load);
    return code;
}

int eqp__phased_relabel(MPI_Comm comm, const eqp_items *items, int nphases, const int *home,
                        const eqp_balance_options *usual, int *phased)
{
    double *load = NULL;
    int code;

    EQP_TRY(eqp_agree(comm, eqp_array_create(&load, items->view.n, sizeof *load), NULL));
    for (int k = nphases - 1; k >= 0; k--) {
        const eqp_balance_items view = items_in(items, nphases, k, load);
        for (int64_t i = 0; i < view.n; i++) {
            items->part[i] = phased[i * nphases + k];
        }
        EQP_TRY(eqp__relabel_all(comm, &view, home, usual, items->part, NULL));
        for (int64_t i = 0; i < view.n; i++) {
            phased[i * nphases + k] = items->part[i];
        }
    }
done:
    free(load);
    return code;
}

/* A path through the phases: parts, padded with zeros. */
typedef struct way {
    int part[EQP_CYCLE_PHASES];
} way;

static way way_of(const int *part, int nphases)
{
    way made = {{0}};

    memcpy(made.part, part, (size_t)nphases * sizeof *part);
    return made;
}

static bool is_constant(const int *part, int nphases)
{
    int k = 1;

    while (k < nphases && part[k] == part[0]) {
        k++;
    }
    return k == nphases;
}

static int compare(const void *a, const void *b)
{
    const way *first = a, *second = b;
    int k = 0;

    while (k + 1 < EQP_CYCLE_PHASES && first->part[k] == second->part[k]) {
        k++;
    }
    return (first->part[k] > second->part[k]) - (first->part[k] < second->part[k]);
}

/* Sorts paths and removes duplicates; returns their number. */
static int64_t keep_distinct(int64_t n, way *ways)
{
    int64_t kept = 0;

    if (n > 0) {
        qsort(ways, (size_t)n, sizeof *ways, compare);
    }
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || compare(&ways[i], &ways[kept - 1]) != 0) {
            ways[kept++] = ways[i];
        }
    }
    return kept;
}

/* Collects the paths of this rank. *ways: owned by the caller. */
static int collect(int64_t n, int nphases, const int *part, int64_t *nways, way **ways)
{
    int code = eqp_array_create(ways, n, sizeof **ways);

    *nways = 0;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        if (!is_constant(part + i * nphases, nphases)) {
            (*ways)[(*nways)++] = way_of(part + i * nphases, nphases);
        }
    }
    *nways = keep_distinct(*nways, *ways);
    return code;
}

static int add_ways(int64_t n, int nphases, const way *ways, eqp_map *map)
{
    int *rank = NULL;
    int code;

    EQP_TRY(eqp_array_create(&rank, n * nphases, sizeof *rank));
    for (int64_t i = 0; i < n; i++) {
        memcpy(rank + i * nphases, ways[i].part, (size_t)nphases * sizeof *rank);
    }
    EQP_TRY(eqp__map_add_phased(map, n, nphases, rank));
done:
    free(rank);
    return code;
}

int eqp__phased_place(MPI_Comm comm, int64_t n, int nphases, const int *part, eqp_placement *placement, eqp_map *map)
{
    const int64_t before = eqp_map_shared(map);
    way *mine = NULL, *all = NULL;
    int64_t nmine = 0, nall = 0;
    int code;

    EQP_TRY(eqp_agree(comm, collect(n, nphases, part, &nmine, &mine), NULL));
    EQP_TRY(eqp_gather_records(comm, sizeof *mine, nmine, mine, &nall, &all));
    nall = keep_distinct(nall, all);
    EQP_TRY(eqp_agree(comm, add_ways(nall, nphases, all, map), NULL));
    for (int64_t i = 0; i < n; i++) {
        const int *of = part + i * nphases;
        placement[i].tag = of[0];
        if (!is_constant(of, nphases)) {
            const way wanted = way_of(of, nphases);
            const way *found = bsearch(&wanted, all, (size_t)nall, sizeof *all, compare);
            placement[i].tag = -1 - before - (found - all);
        }
    }
done:
    EQP__FREE(mine, all);
    return code;
}
