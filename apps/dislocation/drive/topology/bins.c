/* SPDX-License-Identifier: BSD-3-Clause */
#include "bins.h"

#include "../../physics/network/distance.h"

#include <equipoise/more/base.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adding and subtracting it rounds to the nearest integer, in loops that compilers vectorise on any machine, unlike
 * rint(). */
#define ROUND 6755399441055744.0 /* 1.5 x 2^52 */

/* Balls examined before the near ones are listed. */
#define BLOCK 64

#define MOST_BINS 1024 /* per direction */

static int64_t bin_along(const dd_bins *bins, int d, double x)
{
    double at = (x - bins->low[d]) / bins->edge[d];

    if (bins->box[d] > 0) {
        at -= floor(at);
    }
    return (int64_t)fmin(fmax(at * (double)bins->n[d], 0), (double)(bins->n[d] - 1));
}

static int64_t bin_of(const dd_bins *bins, const double x[3])
{
    return (bin_along(bins, 0, x[0]) * bins->n[1] + bin_along(bins, 1, x[1])) * bins->n[2] + bin_along(bins, 2, x[2]);
}

/* The periodic box, or the extent of the balls. */
static void measure(const dd_domain *domain, const dd_balls *balls, dd_bins *bins)
{
    for (int d = 0; d < 3; d++) {
        bins->box[d] = domain->box[d];
        bins->low[d] = domain->low[d];
        bins->edge[d] = domain->box[d];
        if (!(domain->box[d] > 0)) {
            double low = INFINITY, high = -INFINITY;
            for (int64_t i = 0; i < balls->n; i++) {
                low = fmin(low, balls->x[d][i]);
                high = fmax(high, balls->x[d][i]);
            }
            bins->low[d] = balls->n > 0 ? low : 0;
            bins->edge[d] = balls->n > 0 && high > low ? high - low : 1;
        }
    }
}

/* The smallest bins that hold two balls and the reach between them, but not many more bins than balls. */
static void choose_widths(const dd_balls *balls, dd_bins *bins)
{
    double width = bins->reach, largest = 0, total;

    for (int64_t i = 0; i < balls->n; i++) {
        largest = fmax(largest, balls->radius[i]);
    }
    /* A little wider, for rounding at the walls of bins. */
    width = fmax((width + 2 * largest) * (1 + 1e-9), DBL_MIN);
    do {
        total = 1;
        for (int d = 0; d < 3; d++) {
            bins->n[d] = (int64_t)fmin(fmax(floor(bins->edge[d] / width), 1), MOST_BINS);
            total *= (double)bins->n[d];
        }
        width *= 1.25;
    } while (total > 2 * (double)balls->n + 64);
}

static void sort(const dd_balls *balls, dd_bins *bins)
{
    const int64_t nbins = bins->n[0] * bins->n[1] * bins->n[2];

    /* first[b + 1] counts, then points to the next free place of bin b, and ends as the end of b. */
    for (int64_t i = 0; i < balls->n; i++) {
        const double x[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]};
        bins->first[bin_of(bins, x) + 1]++;
    }
    for (int64_t b = nbins, before = balls->n; b > 0; b--) {
        before -= bins->first[b];
        bins->first[b] = before;
    }
    for (int64_t i = 0; i < balls->n; i++) {
        const double x[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]};
        const int64_t at = bins->first[bin_of(bins, x) + 1]++;
        bins->place[at] = i;
        for (int d = 0; d < 3; d++) {
            bins->balls.x[d][at] = x[d];
        }
        bins->balls.radius[at] = balls->radius[i];
    }
}

int dd_bins_create(const dd_domain *domain, const dd_balls *balls, double reach, dd_bins *bins)
{
    dd_bins made = {.reach = reach};
    int code = eqp_array_create(&made.memory, 4 * balls->n, sizeof *made.memory);

    measure(domain, balls, &made);
    choose_widths(balls, &made);
    if (code == EQP_OK) {
        code = eqp_array_create(&made.place, balls->n, sizeof *made.place);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&made.first, made.n[0] * made.n[1] * made.n[2] + 1, sizeof *made.first);
    }
    if (code != EQP_OK) {
        dd_bins_free(&made);
        return code;
    }
    made.balls = (dd_balls){
        balls->n, {made.memory, made.memory + balls->n, made.memory + 2 * balls->n}, made.memory + 3 * balls->n};
    sort(balls, &made);
    *bins = made;
    return EQP_OK;
}

void dd_bins_free(dd_bins *bins)
{
    free(bins->first);
    free(bins->place);
    free(bins->memory);
    *bins = (dd_bins){0};
}

/* Bins along one direction that touch a given one, each once. Returns their number. */
static int touching(const dd_bins *bins, int d, int64_t at, int64_t list[3])
{
    const int64_t n = bins->n[d];
    const bool around = bins->box[d] > 0 && n > 2; /* else both neighbours are one bin */
    int found = 0;

    for (int64_t b = at - 1; b <= at + 1; b++) {
        if (around || (b >= 0 && b < n)) {
            list[found++] = (b + n) % n;
        }
    }
    return found;
}

static inline double nearest(double offset, double edge, double per_edge)
{
    return offset - edge * (offset * per_edge + ROUND - ROUND);
}

/* Appends the near balls of a range. */
static int64_t near_in_range(const dd_bins *bins, const double at[3], double radius, int64_t first, int64_t n,
                             int64_t *near)
{
    const double *restrict x = bins->balls.x[0] + first, *restrict y = bins->balls.x[1] + first;
    const double *restrict z = bins->balls.x[2] + first, *restrict other = bins->balls.radius + first;
    const double *box = bins->box;
    double per_box[3];
    int64_t found = 0;

    for (int d = 0; d < 3; d++) {
        per_box[d] = box[d] > 0 ? 1 / box[d] : 0;
    }
    for (int64_t from = 0; from < n; from += BLOCK) {
        const int64_t end = n - from < BLOCK ? n - from : BLOCK;
        unsigned char far[BLOCK];
        for (int64_t k = 0; k < end; k++) {
            const double between[3] = {nearest(x[from + k] - at[0], box[0], per_box[0]),
                                       nearest(y[from + k] - at[1], box[1], per_box[1]),
                                       nearest(z[from + k] - at[2], box[2], per_box[2])};
            far[k] = dd_segments_are_far(between, other[from + k], radius, bins->reach);
        }
        for (int64_t k = 0; k < end; k++) {
            near[found] = bins->place[first + from + k];
            found += !far[k];
        }
    }
    return found;
}

int64_t dd_bins_near(const dd_bins *bins, const double x[3], double radius, int64_t *near)
{
    int64_t list[3][3], found = 0;
    int n[3];

    for (int d = 0; d < 3; d++) {
        n[d] = touching(bins, d, bin_along(bins, d, x[d]), list[d]);
    }
    for (int i = 0; i < n[0]; i++) {
        for (int j = 0; j < n[1]; j++) {
            const int64_t row = (list[0][i] * bins->n[1] + list[1][j]) * bins->n[2];
            /* Consecutive bins are one range. */
            for (int k = 0; k < n[2];) {
                const int64_t first = bins->first[row + list[2][k]];
                while (k + 1 < n[2] && list[2][k + 1] == list[2][k] + 1) {
                    k++;
                }
                found += near_in_range(bins, x, radius, first, bins->first[row + list[2][k] + 1] - first, near + found);
                k++;
            }
        }
    }
    return found;
}
