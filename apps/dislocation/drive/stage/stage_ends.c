/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage_parts.h"

#include <equipoise/more/base.h>

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const dd_tag a = ((const dd_end *)left)->tag, b = ((const dd_end *)right)->tag;

    return (a > b) - (a < b);
}

int64_t dd_ends_sort(int64_t n, dd_end *ends)
{
    int64_t kept = 0;

    if (n > 1) {
        qsort(ends, (size_t)n, sizeof *ends, compare);
    }
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || ends[i].tag != ends[kept - 1].tag) {
            ends[kept++] = ends[i];
        }
    }
    return kept;
}

static int64_t find(const dd_end *ends, int64_t n, dd_tag tag)
{
    const dd_end key = {.tag = tag};
    const dd_end *at = bsearch(&key, ends, (size_t)n, sizeof *ends, compare);

    return at - ends; /* every end is in the list, which is made of all ends */
}

/* Finds the ends of one block; first: index of its first end. Returns its number of ends. ends: room for two per
 * segment. */
static int64_t find_in_block(dd_stage *stage, int64_t block, int64_t first, dd_end *ends)
{
    const int64_t from = stage->ghost_first[block], n = stage->ghost_first[block + 1] - from;
    int64_t kept;

    for (int64_t g = 0; g < n; g++) {
        const dd_segment_key *key = &stage->key[stage->ghost_local[from + g]];
        ends[2 * g] = (dd_end){.tag = key->owner};
        ends[2 * g + 1] = (dd_end){.tag = key->other};
    }
    kept = dd_ends_sort(2 * n, ends);
    for (int64_t g = from; g < from + n; g++) {
        const dd_segment_key *key = &stage->key[stage->ghost_local[g]];
        stage->ghost_end[g][0] = first + find(ends, kept, key->owner);
        stage->ghost_end[g][1] = first + find(ends, kept, key->other);
    }
    return kept;
}

int dd_stage_find_ends(dd_stage *stage)
{
    const eqp_route_view ends = eqp_route_arrivals(stage->ends), segments = eqp_route_arrivals(stage->route);
    int64_t largest = 0;
    dd_end *room = NULL;
    int code = ends.n == stage->nblocks ? EQP_OK : EQP_ERR_INTERNAL;

    for (int64_t b = 0; b < stage->nblocks; b++) {
        const int64_t n = stage->ghost_first[b + 1] - stage->ghost_first[b];
        largest = n > largest ? n : largest;
    }
    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&room, 2 * largest, sizeof *room));
    EQP_TRY(eqp_array_create(&stage->ghost_end, stage->nghosts, sizeof *stage->ghost_end));
    for (int64_t b = 0; b < stage->nblocks; b++) {
        const int64_t n = find_in_block(stage, b, ends.offset[b] / DD_END_BYTES, room);
        if (ends.id[b] != segments.id[b] || ends.home[b] != segments.home[b] || ends.bytes[b] != n * DD_END_BYTES) {
            EQP_TRY(EQP_ERR_INTERNAL);
        }
    }
done:
    free(room);
    return code;
}
