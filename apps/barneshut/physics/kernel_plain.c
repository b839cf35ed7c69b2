/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows that run everywhere, in plain C. */
#include "kernel.h"

#include "kernel_gather.h"

#include <math.h>
#include <string.h>

static bool runs_here(void)
{
    return true;
}

#define REAL double
#define SQRT sqrt
#define LEAST_SQUARE BH_LEAST_SQUARE
#define POINTS points
#define BODIES bodies
#define NAME(what) what##_double
#include "kernel_plain.h"
#undef REAL
#undef SQRT
#undef LEAST_SQUARE
#undef POINTS
#undef BODIES
#undef NAME

#define REAL float
#define SQRT sqrtf
#define LEAST_SQUARE 0.0f
#define POINTS points_mixed
#define BODIES bodies_mixed
#define NAME(what) what##_mixed
#include "kernel_plain.h"

static void put_body_double(bh_bodies *block, int64_t i, const bh_moments *moments)
{
    block->x[i] = moments->com[0];
    block->y[i] = moments->com[1];
    block->z[i] = moments->com[2];
    block->m[i] = moments->mass;
    block->qxx[i] = moments->quad[0];
    block->qxy[i] = moments->quad[1];
    block->qxz[i] = moments->quad[2];
    block->qyy[i] = moments->quad[3];
    block->qyz[i] = moments->quad[4];
    block->qzz[i] = moments->quad[5];
    block->trace[i] = moments->trace;
}

static void put_bodies_double(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                              int64_t n, bool *fits)
{
    static const bh_moments nothing = {0};

    (void)frame;
    (void)fits;
    for (int64_t i = 0; i < n; i++) {
        put_body_double(&block->bodies, i, &cell[number[i]].moments);
    }
    for (int64_t i = n; i % LANES != 0; i++) {
        put_body_double(&block->bodies, i, &nothing);
    }
}

static int64_t put_points_double(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                 bh_cursor *at, bool *fits)
{
    bh_points *to = &block->points;
    run_reader reader = read_runs(list, at);
    int64_t first, count, place;

    (void)frame;
    (void)fits;
    while (next_run(&reader, &first, &count, &place)) {
        for (int64_t i = 0; i < count; i++) {
            to->x[place + i] = from->x[first + i];
            to->y[place + i] = from->y[first + i];
            to->z[place + i] = from->z[first + i];
            to->m[place + i] = from->m[first + i];
        }
    }
    for (int64_t i = reader.filled; i % LANES != 0; i++) {
        to->x[i] = to->y[i] = to->z[i] = to->m[i] = 0;
    }
    return read_end(&reader, at);
}

/* One coordinate in the frame's units; clears `fits` if it is too large. */
static double unit_place(const bh_frame *frame, int axis, double x, bool *fits)
{
    const double d = x * frame->per_length + frame->shift[axis];

    *fits = *fits && fabs(d) <= (double)BH_MIXED_MOST_LENGTH;
    return d;
}

/* True if the cell is far enough from the targets' bounds. */
static bool put_body_mixed(bh_bodies_mixed *block, int64_t i, const bh_frame *frame, const bh_moments *moments)
{
    const double per_moment = frame->per_mass * frame->per_length * frame->per_length;
    const double mass = moments->mass * frame->per_mass;
    float *const place[3] = {block->x, block->y, block->z};
    float *const quad[6] = {block->qxx, block->qxy, block->qxz, block->qyy, block->qyz, block->qzz};
    double farthest = -INFINITY;
    bool fits = bh_mixed_mass(mass);

    for (int k = 0; k < 3; k++) {
        const double d = unit_place(frame, k, moments->com[k], &fits), outside = fabs(d) - frame->half[k];
        place[k][i] = (float)d;
        farthest = outside > farthest ? outside : farthest;
    }
    for (int q = 0; q < 6; q++) {
        quad[q][i] = (float)(moments->quad[q] * per_moment);
    }
    block->m[i] = (float)mass;
    block->trace[i] = (float)(moments->trace * per_moment);
    return fits && farthest >= frame->least;
}

static void put_bodies_mixed(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                             int64_t n, bool *fits)
{
    bh_moments nothing = {0};

    for (int64_t i = 0; i < n; i++) {
        *fits = put_body_mixed(&block->bodies_mixed, i, frame, &cell[number[i]].moments) && *fits;
    }
    memcpy(nothing.com, cell[number[n - 1]].moments.com, sizeof nothing.com);
    for (int64_t i = n; i % LANES != 0; i++) {
        put_body_mixed(&block->bodies_mixed, i, frame, &nothing);
    }
}

static int64_t put_points_mixed(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                bh_cursor *at, bool *fits)
{
    const int64_t n = put_points_double(block, frame, from, list, at, fits);
    const bh_points *as_is = &block->points;
    bh_points_mixed *to = &block->points_mixed;

    for (int64_t i = 0; i < n; i++) {
        const double mass = as_is->m[i] * frame->per_mass;
        to->x[i] = (float)unit_place(frame, 0, as_is->x[i], fits);
        to->y[i] = (float)unit_place(frame, 1, as_is->y[i], fits);
        to->z[i] = (float)unit_place(frame, 2, as_is->z[i], fits);
        to->m[i] = (float)mass;
        *fits = *fits && bh_mixed_mass(mass);
    }
    for (int64_t i = n; i % LANES != 0; i++) {
        to->x[i] = to->y[i] = to->z[i] = to->m[i] = 0;
    }
    return n;
}

static void find_bounds(const bh_targets *targets, double lo[3], double hi[3])
{
    const double *const x[3] = {targets->x, targets->y, targets->z};

    for (int k = 0; k < 3; k++) {
        lo[k] = hi[k] = x[k][0];
        for (int64_t t = 1; t < targets->n; t++) {
            lo[k] = x[k][t] < lo[k] ? x[k][t] : lo[k];
            hi[k] = x[k][t] > hi[k] ? x[k][t] : hi[k];
        }
    }
}

const bh_kernel_row bh_kernel_plain[2] = {
    {"plain", BH_DOUBLE, runs_here, put_bodies_double, put_points_double, bodies_double, points_double, find_bounds},
    {"plain", BH_MIXED, runs_here, put_bodies_mixed, put_points_mixed, bodies_mixed, points_mixed, find_bounds},
};
