/* SPDX-License-Identifier: BSD-3-Clause */
/* What the gathers of all instruction sets share: where the listed things are, asked for in time. */
#ifndef BH_KERNEL_GATHER_H
#define BH_KERNEL_GATHER_H

#include "kernel.h"

#include <stddef.h>

/* Moments are read as twelve numbers: mass, com, offset, quad, trace. */
_Static_assert(sizeof(bh_moments) == 12 * sizeof(double) && offsetof(bh_moments, com) == 1 * sizeof(double) &&
                   offsetof(bh_moments, quad) == 5 * sizeof(double) &&
                   offsetof(bh_moments, trace) == 11 * sizeof(double),
               "the gathers know this order");

/* How far ahead the moments of listed cells are asked for. */
#define BH_AHEAD 24

/* The moments of `lanes` listed cells from i on, and of nothing behind the last; those far ahead are sent for. */
static inline void find_moments(const bh_cell *cell, const int64_t *number, int64_t i, int64_t n, int lanes,
                                const bh_moments *nothing, const double **found)
{
    for (int lane = 0; lane < lanes; lane++) {
        if (i + lane + BH_AHEAD < n) {
            const bh_moments *later = &cell[number[i + lane + BH_AHEAD]].moments;
            __builtin_prefetch(later);
            __builtin_prefetch(&later->quad[2]);
            __builtin_prefetch(&later->trace);
        }
        found[lane] = i + lane < n ? &cell[number[i + lane]].moments.mass : &nothing->mass;
    }
}

/* Sends for the particles of the run behind this one. */
static inline void prefetch_run(const bh_sources *from, const bh_list *list, int64_t run)
{
    if (run + 1 < list->nruns) {
        const int64_t first = list->run_first[run + 1];
        __builtin_prefetch(from->x + first);
        __builtin_prefetch(from->y + first);
        __builtin_prefetch(from->z + first);
        __builtin_prefetch(from->m + first);
    }
}

#endif
