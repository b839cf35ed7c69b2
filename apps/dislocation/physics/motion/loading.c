/* SPDX-License-Identifier: BSD-3-Clause */
#include "loading.h"

#include "../network/vector.h"

#include <math.h>

/* Components of a symmetric tensor, in order. */
static const int row[6] = {0, 1, 2, 1, 2, 0}, column[6] = {0, 1, 2, 2, 0, 1};

void dd_strain_slip(const double area[9], double volume, double strain[6])
{
    for (int k = 0; k < 6; k++) {
        strain[k] += 0.5 * (area[3 * row[k] + column[k]] + area[3 * column[k] + row[k]]) / volume;
    }
}

void dd_strain_sweep(const dd_segment *before, const dd_segment *after, double volume, double strain[6])
{
    double one[3], other[3], area[3], product[9];

    /* Half the product of the diagonals equals the triangles' sum, with less cancellation. */
    dd_v3_minus(after->x2, before->x1, one);
    dd_v3_minus(after->x1, before->x2, other);
    dd_v3_cross(one, other, area);
    for (int k = 0; k < 9; k++) {
        product[k] = before->burgers[k / 3] * (0.5 * area[k % 3]);
    }
    dd_strain_slip(product, volume, strain);
}

double dd_segment_length(const dd_segment *segment)
{
    double way[3];

    dd_v3_minus(segment->x2, segment->x1, way);
    return dd_v3_length(way);
}

void dd_loading_init(dd_loading *loading, dd_loading_kind kind, const dd_medium *medium, double rate,
                     const double direction[3], const double stress[6])
{
    *loading = (dd_loading){.kind = kind, .rate = rate, .young = 2.0 * medium->mu * (1.0 + medium->nu)};
    dd__unit(direction, loading->direction);
    memcpy(loading->stress, stress, sizeof loading->stress);
}

/* Sets the sign of the rate at this time. */
static void turn(dd_loading *loading)
{
    const double half_cycles = rint(0.5 * fabs(loading->rate) * loading->time / loading->amplitude);

    loading->rate = fmod(half_cycles, 2.0) == 0.0 ? fabs(loading->rate) : -fabs(loading->rate);
}

void dd_loading_cycle(dd_loading *loading, double amplitude, double time)
{
    loading->amplitude = amplitude;
    loading->time = time;
    turn(loading);
}

double dd_loading_along(const dd_loading *loading, const double tensor[6])
{
    double sum = 0.0;

    for (int k = 0; k < 6; k++) {
        sum += (k < 3 ? 1.0 : 2.0) * loading->direction[row[k]] * loading->direction[column[k]] * tensor[k];
    }
    return sum;
}

void dd_loading_advance(dd_loading *loading, double dt, const double strain[6])
{
    const double *e = loading->direction;
    double more = 0.0;

    if (loading->kind == DD_STRAIN_RATE) {
        more = loading->young * (loading->rate * dt - dd_loading_along(loading, strain));
    }
    if (loading->amplitude > 0.0) {
        loading->time += dt;
        turn(loading);
    }
    for (int k = 0; k < 6; k++) {
        loading->stress[k] += more * e[row[k]] * e[column[k]];
        loading->strain[k] += strain[k];
    }
}
