/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>
#include <equipoise/more/curve.h>
#include <equipoise/survey.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS (EQP_CURVE_BITS + 1)

void bh_homes_free(bh_homes *homes)
{
    free(homes->begin);
    free(homes->rank);
    free(homes->count);
    *homes = (bh_homes){0};
}

/* Removes empty intervals and joins neighbours of one rank. */
static void close_up(bh_homes *homes)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < homes->n; i++) {
        const bool empty = i + 1 < homes->n && homes->begin[i + 1] == homes->begin[i];
        if (!empty && (kept == 0 || homes->rank[kept - 1] != homes->rank[i])) {
            homes->begin[kept] = kept == 0 ? 0 : homes->begin[i];
            homes->rank[kept++] = homes->rank[i];
        }
    }
    homes->begin[kept] = EQP_CURVE_END;
    homes->n = kept;
}

int bh_homes_set(bh_homes *homes, int64_t n, const bh_home_run *runs)
{
    bh_homes made = {.n = n};
    int32_t *order = NULL;
    int code;

    EQP_TRY(eqp_array_create(&made.begin, n + 1, sizeof *made.begin));
    EQP_TRY(eqp_array_create(&made.rank, n, sizeof *made.rank));
    EQP_TRY(eqp_array_create(&made.count, n * LEVELS + 1, sizeof *made.count));
    EQP_TRY(eqp_array_create(&order, n, sizeof *order));
    for (int64_t i = 0; i < n; i++) {
        made.begin[i] = runs[i].begin;
    }
    EQP_TRY(bh_order(n, made.begin, NULL, order));
    for (int64_t i = 0; i < n; i++) {
        made.begin[i] = runs[order[i]].begin;
        made.rank[i] = (int)runs[order[i]].rank;
    }
    close_up(&made);
    bh_homes_free(homes);
    *homes = made;
    made = (bh_homes){0};
done:
    free(order);
    bh_homes_free(&made);
    return code;
}

int bh_homes_copy(bh_homes *homes, const bh_homes *from)
{
    bh_home_run *runs = NULL;
    int code;

    EQP_TRY(eqp_array_create(&runs, from->n, sizeof *runs));
    for (int64_t i = 0; i < from->n; i++) {
        runs[i] = (bh_home_run){from->begin[i], from->rank[i]};
    }
    EQP_TRY(bh_homes_set(homes, from->n, runs));
done:
    free(runs);
    return code;
}

int64_t bh_homes_find(const bh_homes *homes, uint64_t key)
{
    return bh_order_lower(homes->n - 1, homes->begin + 1, key + 1);
}

int bh_homes_rank(const bh_homes *homes, uint64_t key)
{
    return homes->rank[bh_homes_find(homes, key)];
}

int bh_homes_intervals(const bh_homes *homes, int rank, int *n, bh_interval **interval)
{
    int count = 0;
    bh_interval *list = malloc((size_t)(homes->n + 1) * sizeof *list);

    EQP_CHECK(list == NULL ? EQP_ERR_MEMORY : EQP_OK);
    for (int64_t i = 0; i < homes->n; i++) {
        if (homes->rank[i] == rank) {
            list[count++] = (bh_interval){homes->begin[i], homes->begin[i + 1]};
        }
    }
    *n = count;
    *interval = list;
    return EQP_OK;
}

/* Counts this rank's particles in each cell that a boundary divides, each within the one before; a cell that begins at
 * the boundary is not divided. count: zeroed. */
static void count_divided(const bh_homes *homes, int64_t n, const uint64_t *keys, int64_t *count)
{
    for (int64_t b = 1; b < homes->n; b++) {
        int64_t *here = &count[(b - 1) * LEVELS], found = n;
        const uint64_t *key = keys;
        for (int level = 0; level < LEVELS && found > 0; level++) {
            const uint64_t start = bh_key_at_level(homes->begin[b], level);
            if (start == homes->begin[b]) {
                break;
            }
            const int64_t skip = bh_order_lower(found, key, start);
            key += skip;
            found = bh_order_lower(found - skip, key, start + bh_span(level));
            here[level] = found;
        }
    }
}

static uint64_t snapped(uint64_t boundary, const int64_t count[LEVELS], int64_t limit)
{
    for (int level = 0; level < LEVELS; level++) {
        uint64_t start = bh_key_at_level(boundary, level);
        if (start == boundary) {
            break;
        }
        if (count[level] <= limit) {
            return start;
        }
    }
    return boundary;
}

int bh_homes_snap(bh_homes *homes, MPI_Comm comm, int code, int64_t n, const uint64_t *keys, int64_t limit)
{
    const int64_t words = (homes->n - 1) * LEVELS, piece = 1 << 24;

    memset(homes->count, 0, (size_t)(words + 1) * sizeof *homes->count);
    if (code == EQP_OK) {
        count_divided(homes, n, keys, homes->count);
    }
    homes->count[words] = code != EQP_OK; /* sums to the number of failed ranks */
    for (int64_t at = 0; at <= words; at += piece) {
        const int some = (int)(words + 1 - at < piece ? words + 1 - at : piece);
        eqp_wait_begin();
        const int mpi = MPI_Allreduce(MPI_IN_PLACE, homes->count + at, some, MPI_INT64_T, MPI_SUM, comm);
        eqp_wait_end();
        EQP_CHECK(mpi != MPI_SUCCESS ? EQP_ERR_MPI : EQP_OK);
    }
    if (homes->count[words] > 0) {
        return code != EQP_OK ? code : EQP_ERR_REMOTE;
    }
    for (int64_t b = 1; b < homes->n; b++) {
        homes->begin[b] = snapped(homes->begin[b], &homes->count[(b - 1) * LEVELS], limit);
    }
    close_up(homes);
    return EQP_OK;
}
