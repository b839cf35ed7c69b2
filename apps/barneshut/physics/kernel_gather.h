/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the gathers of all instruction sets: addresses of listed cells and particles, prefetched in time. */
#ifndef BH_KERNEL_GATHER_H
#define BH_KERNEL_GATHER_H

#include "kernel.h"

#include <stddef.h>

/* Moments are read as twelve numbers: mass, com, offset, quad, trace. */
_Static_assert(sizeof(bh_moments) == 12 * sizeof(double) && offsetof(bh_moments, com) == 1 * sizeof(double) &&
                   offsetof(bh_moments, quad) == 5 * sizeof(double) &&
                   offsetof(bh_moments, trace) == 11 * sizeof(double),
               "the gathers know this order");

/* Hands out the runs of a list from a cursor on, until a block is full. */
typedef struct run_reader {
    const bh_list *list;
    int64_t run, offset, filled;
} run_reader;

static inline run_reader read_runs(const bh_list *list, const bh_cursor *at)
{
    return (run_reader){list, at->run, at->offset, 0};
}

/* The next particles that lie side by side, and where they go in the block; false where the list or the block ends. The
 * branch that is nearly always taken matters: without it every run would wait for the one before. */
static inline bool next_run(run_reader *reader, int64_t *first, int64_t *count, int64_t *place)
{
    const int64_t run = reader->run, begin = reader->offset, room = BH_BLOCK_POINTS - reader->filled;

    if (run >= reader->list->nruns || room == 0) {
        return false;
    }
    *first = reader->list->run_first[run] + begin;
    *count = reader->list->run_count[run] - begin;
    *place = reader->filled;
    reader->run++;
    reader->offset = 0;
    if (*count > room) {
        *count = room;
        reader->run = run;
        reader->offset = begin + room;
    }
    reader->filled += *count;
    return true;
}

/* The number of particles in the block; moves the cursor behind them. */
static inline int64_t read_end(const run_reader *reader, bh_cursor *at)
{
    *at = (bh_cursor){reader->run, reader->offset};
    return reader->filled;
}

/* True if single precision can hold the masses of a block's particles, which are listed from a cursor on. */
static inline bool masses_fit(const bh_frame *frame, const bh_sources *from, const bh_list *list, const bh_cursor *at)
{
    run_reader reader = read_runs(list, at);
    int64_t first, count, place;
    bool fit = true;

    while (fit && next_run(&reader, &first, &count, &place)) {
        for (int64_t i = 0; fit && i < count; i++) {
            fit = bh_mixed_mass(from->m[first + i] * frame->per_mass);
        }
    }
    return fit;
}

/* The numbers of `lanes` listed cells from i on. At the end of the list the last cell is repeated: it passes the same
 * checks again, and its mass is cleared afterwards. room: [lanes] for that case. */
static inline const int64_t *numbers_of(const int64_t *number, int64_t i, int64_t n, int lanes, int64_t *room)
{
    if (i + lanes <= n) {
        return number + i;
    }
    for (int k = 0; k < lanes; k++) {
        room[k] = number[i + k < n ? i + k : n - 1];
    }
    return room;
}

/* Gathers and bounds by AVX2, for the rows of AVX-512 as well: they fill the last vector of either. */
#define BH_BLOCK_LANES 16
void bh_put_bodies_avx2(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number, int64_t n,
                        bool *fits);
void bh_put_bodies_mixed_avx2(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                              int64_t n, bool *fits);
void bh_bounds_avx2(const bh_targets *targets, double lo[3], double hi[3]);

static inline const double *moments_of(const bh_cell *cell, int64_t number)
{
    return &cell[number].moments.mass;
}

/* Prefetches the moments two vectors ahead; the next vector's are on their way already. */
static inline void send_for_moments(const bh_cell *cell, const int64_t *number, int64_t i, int64_t n, int lanes)
{
    if (i + 3 * lanes <= n) {
        for (int k = 0; k < lanes; k++) {
            const double *later = moments_of(cell, number[i + 2 * lanes + k]);
            __builtin_prefetch(later);
            __builtin_prefetch(later + 8);
        }
    }
}

#endif
