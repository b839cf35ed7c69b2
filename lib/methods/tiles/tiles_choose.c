/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the direction along which a node is cut, from the spread of a sample of its items. */
#include "methods/tiles/tiles.h"

#include "base/internal.h"

#include <float.h>
#include <math.h>

/* Relative extra cost of a direction in which the node has no extent, compared with the longest direction. Many
 * directions have nearly the same estimated cost, and compact nodes share less at deeper levels. */
#define SHORT_IS_DEAR 0.2

enum {
    MOST_COLUMNS = 256,
    LEAST_IN_STRIP = 16, /* fewest sampled items per strip that give an estimate */
    MOMENT_BITS = 14,    /* of a coordinate in the box of the node */
    WEIGHT_SHIFT = 20,   /* leaves 12 bits of a weight: with 512 items sums of squares stay below 2^50 */
};

enum { SUM_WEIGHT = 0, SUM_FIRST = 1, SUM_SQUARE = 1 + EQP__TILE_AXES, SUM_PRODUCT = 1 + 2 * EQP__TILE_AXES };

eqp__tile_box eqp__tile_box_nothing(void)
{
    eqp__tile_box box;

    for (int k = 0; k < EQP__TILE_AXES; k++) {
        box.low[k] = UINT32_MAX;
        box.high[k] = 0;
    }
    return box;
}

void eqp__tile_box_add(const eqp__tile_item *item, int64_t n, int64_t from, int64_t stride, eqp__tile_box *box)
{
    for (int64_t i = from; i < n; i += stride) {
        for (int k = 0; k < EQP__TILE_AXES; k++) {
            uint32_t x = item[i].at[k];
            box->low[k] = x < box->low[k] ? x : box->low[k];
            box->high[k] = x > box->high[k] ? x : box->high[k];
        }
    }
}

/* Number of low bits to drop so that coordinates relative to the box fit into MOMENT_BITS. */
static int box_shift(const eqp__tile_box *box)
{
    uint32_t widest = 0;
    int shift = 0;

    for (int k = 0; k < EQP__TILE_AXES; k++) {
        uint32_t width = box->high[k] - box->low[k];
        widest = width > widest ? width : widest;
    }
    while (widest >> shift >> MOMENT_BITS) {
        shift++;
    }
    return shift;
}

void eqp__tile_moments_add(const eqp__tile_item *item, int64_t n, int64_t from, int64_t stride,
                           const eqp__tile_box *box, eqp__tile_moments *moments)
{
    const int shift = box_shift(box);
    int64_t *sum = moments->sum;

    for (int64_t i = from; i < n; i += stride) {
        const int64_t weight = (item[i].weight >> WEIGHT_SHIFT) + 1;
        int64_t x[EQP__TILE_AXES];
        sum[SUM_WEIGHT] += weight;
        for (int k = 0; k < EQP__TILE_AXES; k++) {
            x[k] = (item[i].at[k] - box->low[k]) >> shift;
            sum[SUM_FIRST + k] += weight * x[k];
            sum[SUM_SQUARE + k] += weight * (x[k] * x[k]);
        }
        for (int k = 0; k < 3; k++) {
            sum[SUM_PRODUCT + k] += weight * (x[k] * x[k + 3]);
        }
    }
}

typedef struct spread {
    double middle_target, middle_source; /* means */
    double target, source;               /* variances */
    double both;                         /* covariance */
} spread;

static void spread_of(const eqp__tile_moments *moments, spread axis[3])
{
    const int64_t *sum = moments->sum;
    const double weight = sum[SUM_WEIGHT] > 0 ? (double)sum[SUM_WEIGHT] : 1;
    /* Variance within a grid cell; it avoids division by zero. */
    const double grain = 1.0 / 12;

    for (int k = 0; k < 3; k++) {
        double t = (double)sum[SUM_FIRST + k] / weight, s = (double)sum[SUM_FIRST + k + 3] / weight;
        axis[k].middle_target = t;
        axis[k].middle_source = s;
        axis[k].target = fmax((double)sum[SUM_SQUARE + k] / weight - t * t, 0) + grain;
        axis[k].source = fmax((double)sum[SUM_SQUARE + k + 3] / weight - s * s, 0) + grain;
        axis[k].both = (double)sum[SUM_PRODUCT + k] / weight - t * s;
    }
}

typedef struct reach {
    double low, high;
} reach;

static double length_of(reach r)
{
    return r.high - r.low;
}

static double common_length(reach a, reach b)
{
    return fmax(fmin(a.high, b.high) - fmax(a.low, b.low), 0);
}

/* Extent of one half of the items along an axis. A uniformly filled ellipse in the plane of target and source extends
 * two standard deviations to both sides of its middle. Its half extends as far on one side; on the other side it
 * extends by a factor sqrt(1 - r^2) of that, r the correlation of the axis with the direction of the cut: down to the
 * middle for r = 1, as far as the whole for r = 0. */
static reach reach_of_half(double middle, double variance, double with, double of_direction, int side)
{
    const double wide = 2 * sqrt(variance), rest = sqrt(fmax(1 - with * with / (variance * of_direction), 0));
    const bool lower = (side == 0) == (with >= 0);

    return lower ? (reach){middle - wide, middle + wide * rest} : (reach){middle - wide * rest, middle + wide};
}

/* Cost of the targets and sources of one half. Numbers of particles are proportional to volumes, since targets and
 * sources belong to the same set of particles. A source that is also a target costs nothing more. */
static double cost_of_half(const spread axis[3], double aspect, int direction, int side)
{
    double targets = 1, sources = 1, common = 1;

    for (int k = 0; k < 3; k++) {
        const spread *a = &axis[k];
        double with_target = 0, with_source = 0, variance = 1;
        if (k == direction % 3) {
            const bool of_target = direction < 3 || direction >= EQP__TILE_AXES, of_source = direction >= 3;
            with_target = (of_target ? a->target : 0) + (of_source ? a->both : 0);
            with_source = (of_source ? a->source : 0) + (of_target ? a->both : 0);
            variance = fmax((of_target ? with_target : 0) + (of_source ? with_source : 0), DBL_MIN);
        }
        reach t = reach_of_half(a->middle_target, a->target, with_target, variance, side);
        reach s = reach_of_half(a->middle_source, a->source, with_source, variance, side);
        targets *= length_of(t);
        sources *= length_of(s);
        common *= common_length(t, s);
    }
    return targets + aspect * (sources - common);
}

/* Standard deviation of a node's items along a direction. */
static double length_along(const spread axis[3], int direction)
{
    const spread *a = &axis[direction % 3];

    if (direction >= EQP__TILE_AXES) {
        return 0.5 * sqrt(fmax(a->target + a->source + 2 * a->both, 0));
    }
    return sqrt(direction < 3 ? a->target : a->source);
}

int eqp__tiles_choose(const eqp__tile_moments *moments, double aspect, unsigned allowed)
{
    spread axis[3];
    double best = INFINITY, longest = 0;
    int chosen = -1;

    spread_of(moments, axis);
    for (int d = 0; d < EQP__TILE_DIRECTIONS; d++) {
        longest = fmax(longest, length_along(axis, d));
    }
    for (int d = 0; d < EQP__TILE_DIRECTIONS; d++) {
        if (allowed >> d & 1) {
            double cost = cost_of_half(axis, aspect, d, 0) + cost_of_half(axis, aspect, d, 1);
            cost *= 1 + SHORT_IS_DEAR * (1 - length_along(axis, d) / longest);
            if (chosen < 0 || cost < best) {
                best = cost;
                chosen = d;
            }
        }
    }
    return chosen;
}

/* Mean number of sources per target in strips of sampled items. Numbers are proportional to the volumes that they fill,
 * since targets and sources belong to the same set of particles. strip: [n]. box, moments: [strips] work. */
static double sources_per_target(const eqp__tile_item *item, int64_t n, const int *strip, int strips,
                                 eqp__tile_box *box, eqp__tile_moments *moments)
{
    double sum = 0;
    int filled = 0;

    for (int k = 0; k < strips; k++) {
        box[k] = eqp__tile_box_nothing();
        moments[k] = (eqp__tile_moments){{0}};
    }
    for (int64_t i = 0; i < n; i++) {
        eqp__tile_box_add(&item[i], 1, 0, 1, &box[strip[i]]);
    }
    for (int64_t i = 0; i < n; i++) {
        eqp__tile_moments_add(&item[i], 1, 0, 1, &box[strip[i]], &moments[strip[i]]);
    }
    for (int k = 0; k < strips; k++) {
        spread axis[3];
        if (moments[k].sum[SUM_WEIGHT] > 0) {
            spread_of(&moments[k], axis);
            for (int d = 0; d < 3; d++) {
                sum += 0.5 * log(axis[d].source / axis[d].target);
            }
            filled++;
        }
    }
    /* Geometric mean, since a strip with few items can appear to have almost no width. */
    return filled > 0 ? exp(sum / filled) : 1;
}

/* Cost of strips per target: every part of a strip gets all of the strip's targets, and one part gets each source. */
static int cost_of_columns(const eqp__tile_item *sample, int64_t n, int nparts, int columns, double aspect,
                           double *cost)
{
    const int strips = eqp__tiles_strips(nparts, columns);
    const eqp__tile_plan plan = {.nparts = strips, .strips = strips, .aspect = aspect};
    eqp__tile_item *item = NULL, *spare = NULL;
    eqp__tile_cut *cut = NULL;
    eqp__tile_box *box = NULL;
    eqp__tile_moments *moments = NULL;
    int *strip = NULL, code = eqp_array_create(&item, n, sizeof *item);

    EQP_TRY(code);
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(spare, n), EQP__ARRAY(strip, n), EQP__ARRAY(cut, strips), EQP__ARRAY(box, strips),
                        EQP__ARRAY(moments, strips)));
    for (int64_t i = 0; i < n; i++) {
        item[i] = sample[i];
        item[i].order = (uint32_t)i;
    }
    code = eqp__tiles_bisect(&plan, n, item, spare, 0, strips, cut, strip);
    if (!code) {
        *cost = columns + aspect * sources_per_target(sample, n, strip, strips, box, moments);
    }
done:
    EQP__FREE(item, spare, strip, cut, box, moments);
    return code;
}

int eqp__tiles_columns(const eqp__tile_item *sample, int64_t n, int nparts, double aspect, int *columns)
{
    double best = INFINITY;
    int chosen = 1;

    for (int64_t c = 1; c <= nparts && c <= MOST_COLUMNS; c *= 2) {
        double cost = INFINITY;
        if (n / eqp__tiles_strips(nparts, (int)c) < LEAST_IN_STRIP) {
            continue;
        }
        EQP__CHECK(cost_of_columns(sample, n, nparts, (int)c, aspect, &cost));
        if (cost < best) {
            best = cost;
            chosen = (int)c;
        }
    }
    *columns = chosen;
    return EQP_OK;
}
