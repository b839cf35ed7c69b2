/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows that run everywhere, in plain C. */
#include "kernel.h"

#include <math.h>

static bool runs_here(void)
{
    return true;
}

/* The largest magnitude of what a mixed block holds, and the least mass that is not 0. */
typedef struct extremes {
    float length, moment, least_mass, most_mass;
    double least; /* distance from the targets' bounds */
} extremes;

static void see_place(extremes *seen, const double d[3])
{
    for (int k = 0; k < 3; k++) {
        seen->length = fmaxf(seen->length, (float)fabs(d[k]));
    }
}

static void see_mass(extremes *seen, double m)
{
    if (m != 0) {
        seen->least_mass = fminf(seen->least_mass, (float)fabs(m));
        seen->most_mass = fmaxf(seen->most_mass, (float)fabs(m));
    }
}

static bool fit(const extremes *seen, const bh_frame *frame)
{
    return seen->length <= BH_MIXED_MOST_LENGTH && seen->moment <= BH_MIXED_MOST_MOMENT &&
           seen->least_mass >= BH_MIXED_LEAST_MASS && seen->most_mass <= BH_MIXED_MOST_MASS &&
           seen->least >= frame->least;
}

static extremes nothing_seen(void)
{
    return (extremes){.least_mass = INFINITY, .least = INFINITY};
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
    for (; n % LANES != 0; n++) {
        put_body_double(&block->bodies, n, &nothing);
    }
}

static int64_t put_points_double(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                 bh_cursor *at, bool *fits)
{
    bh_points *to = &block->points;
    int64_t filled = 0, first, count;

    (void)frame;
    (void)fits;
    while (bh_cursor_next(at, list, BH_BLOCK_POINTS - filled, &first, &count)) {
        for (int64_t i = 0; i < count; i++) {
            to->x[filled + i] = from->x[first + i];
            to->y[filled + i] = from->y[first + i];
            to->z[filled + i] = from->z[first + i];
            to->m[filled + i] = from->m[first + i];
        }
        filled += count;
    }
    for (int64_t i = filled; i % LANES != 0; i++) {
        to->x[i] = to->y[i] = to->z[i] = to->m[i] = 0;
    }
    return filled;
}

static void put_body_mixed(bh_bodies_mixed *block, int64_t i, const bh_frame *frame, const bh_moments *moments,
                           extremes *seen)
{
    const double per_moment = frame->per_mass * frame->per_length * frame->per_length;
    float *const quad[6] = {block->qxx, block->qxy, block->qxz, block->qyy, block->qyz, block->qzz};
    double d[3], outside = -INFINITY;

    for (int k = 0; k < 3; k++) {
        d[k] = (moments->com[k] - frame->centre[k]) * frame->per_length;
        outside = fmax(outside, fabs(d[k]) - frame->half[k]);
    }
    seen->least = fmin(seen->least, outside);
    see_place(seen, d);
    block->x[i] = (float)d[0];
    block->y[i] = (float)d[1];
    block->z[i] = (float)d[2];
    block->m[i] = (float)(moments->mass * frame->per_mass);
    see_mass(seen, moments->mass * frame->per_mass);
    for (int q = 0; q < 6; q++) {
        quad[q][i] = (float)(moments->quad[q] * per_moment);
        seen->moment = fmaxf(seen->moment, fabsf(quad[q][i]));
    }
    block->trace[i] = (float)(moments->trace * per_moment);
    seen->moment = fmaxf(seen->moment, fabsf(block->trace[i]));
}

static void put_bodies_mixed(bh_block *block, const bh_frame *frame, const bh_cell *cell, const int64_t *number,
                             int64_t n, bool *fits)
{
    const bh_moments nothing = bh_nothing(frame);
    extremes seen = nothing_seen();

    for (int64_t i = 0; i < n; i++) {
        put_body_mixed(&block->bodies_mixed, i, frame, &cell[number[i]].moments, &seen);
    }
    *fits = *fits && fit(&seen, frame);
    for (; n % LANES != 0; n++) {
        put_body_mixed(&block->bodies_mixed, n, frame, &nothing, &seen);
    }
}

static int64_t put_points_mixed(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                bh_cursor *at, bool *fits)
{
    bh_points_mixed *to = &block->points_mixed;
    extremes seen = nothing_seen();
    int64_t filled = 0, first, count;

    while (bh_cursor_next(at, list, BH_BLOCK_POINTS - filled, &first, &count)) {
        for (int64_t i = first; i < first + count; i++, filled++) {
            const double d[3] = {(from->x[i] - frame->centre[0]) * frame->per_length,
                                 (from->y[i] - frame->centre[1]) * frame->per_length,
                                 (from->z[i] - frame->centre[2]) * frame->per_length};
            to->x[filled] = (float)d[0];
            to->y[filled] = (float)d[1];
            to->z[filled] = (float)d[2];
            to->m[filled] = (float)(from->m[i] * frame->per_mass);
            see_place(&seen, d);
            see_mass(&seen, from->m[i] * frame->per_mass);
        }
    }
    *fits = *fits && fit(&seen, frame);
    for (int64_t i = filled; i % LANES != 0; i++) {
        to->x[i] = to->y[i] = to->z[i] = to->m[i] = 0;
    }
    return filled;
}

const bh_kernel_row bh_kernel_plain[2] = {
    {"plain", BH_DOUBLE, runs_here, put_bodies_double, put_points_double, bodies_double, points_double},
    {"plain", BH_MIXED, runs_here, put_bodies_mixed, put_points_mixed, bodies_mixed, points_mixed},
};
