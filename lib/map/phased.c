/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/phased.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A way through the phases: parts, and zeros behind them. */
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

/* Sorts ways and keeps one of each: how many. */
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

/* Those of this rank. *ways is owned by the caller. */
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
    EQP_TRY(eqp_map_add_phased(map, n, nphases, rank));
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
    free(mine);
    free(all);
    return code;
}
