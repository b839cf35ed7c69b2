/* SPDX-License-Identifier: BSD-3-Clause */
#include "loading.h"

#include "../network/vector.h"

#include <equipoise/error.h>

#include <math.h>
#include <string.h>

void dd_swept_area(const double x1[3], const double x2[3], const double y1[3], const double y2[3], double area[3])
{
    double one[3], other[3], product[3];

    /* Half the product of the diagonals equals the triangles' sum, with less cancellation. */
    for (int i = 0; i < 3; i++) {
        one[i] = y2[i] - x1[i];
        other[i] = y1[i] - x2[i];
    }
    dd_v3_cross(one, other, product);
    for (int i = 0; i < 3; i++) {
        area[i] = 0.5 * product[i];
    }
}

/* Components of a symmetric tensor, in order. */
static const int row[6] = {0, 1, 2, 1, 2, 0}, column[6] = {0, 1, 2, 2, 0, 1};

void dd_strain_slip(const double area[9], double volume, double strain[6], double spin[3])
{
    for (int k = 0; k < 6; k++) {
        const double ij = area[3 * row[k] + column[k]], ji = area[3 * column[k] + row[k]];
        strain[k] += 0.5 * (ij + ji) / volume;
        if (spin != NULL && k >= 3) {
            spin[k - 3] += 0.5 * (ij - ji) / volume;
        }
    }
}

void dd_strain_add(const double burgers[3], const double area[3], double volume, double strain[6], double spin[3])
{
    double product[9];

    for (int k = 0; k < 9; k++) {
        product[k] = burgers[k / 3] * area[k % 3];
    }
    dd_strain_slip(product, volume, strain, spin);
}

void dd_strain_sweep(int64_t n, const dd_segment *before, const dd_segment *after, double volume, double strain[6],
                     double spin[3])
{
    for (int64_t k = 0; k < n; k++) {
        double area[3];
        dd_swept_area(before[k].x1, before[k].x2, after[k].x1, after[k].x2, area);
        dd_strain_add(before[k].burgers, area, volume, strain, spin);
    }
}

double dd_segments_length(int64_t n, const dd_segment *segment)
{
    double total = 0.0;

    for (int64_t k = 0; k < n; k++) {
        double way[3];
        memcpy(way, segment[k].x2, sizeof way);
        dd__add(way, -1.0, segment[k].x1);
        total += dd_v3_length(way);
    }
    return total;
}

int dd_loading_init(dd_loading *loading, dd_loading_kind kind, const dd_medium *medium, double rate,
                    const double direction[3], const double stress[6])
{
    dd_loading made = {.kind = kind, .rate = rate, .young = 2.0 * medium->mu * (1.0 + medium->nu)};
    const double length = dd__unit(direction, made.direction);
    bool good = (kind == DD_CREEP || kind == DD_STRAIN_RATE) && medium->mu > 0.0 && medium->nu > -1.0 &&
                medium->nu < 0.5 && isfinite(medium->mu) && isfinite(rate) && length > 0.0 && isfinite(length);

    for (int k = 0; k < 6; k++) {
        good = good && isfinite(stress[k]);
        made.stress[k] = stress[k];
    }
    if (!good) {
        return EQP_ERR_ARGUMENT;
    }
    *loading = made;
    return EQP_OK;
}

/* Sets the sign of the rate at this time. */
static void turn(dd_loading *loading)
{
    const double half_cycles = rint(0.5 * fabs(loading->rate) * loading->time / loading->amplitude);

    loading->rate = fmod(half_cycles, 2.0) == 0.0 ? fabs(loading->rate) : -fabs(loading->rate);
}

int dd_loading_cycle(dd_loading *loading, double amplitude, double time)
{
    if (!(amplitude > 0.0) || !isfinite(amplitude) || !(time >= 0.0) || !isfinite(time)) {
        return EQP_ERR_ARGUMENT;
    }
    loading->amplitude = amplitude;
    loading->time = time;
    turn(loading);
    return EQP_OK;
}

double dd_loading_along(const dd_loading *loading, const double tensor[6])
{
    double sum = 0.0;

    for (int k = 0; k < 6; k++) {
        sum += (k < 3 ? 1.0 : 2.0) * loading->direction[row[k]] * loading->direction[column[k]] * tensor[k];
    }
    return sum;
}

void dd_loading_advance(dd_loading *loading, double dt, const double strain[6], const double spin[3])
{
    const double *e = loading->direction;
    double more = 0.0;

    if (loading->kind == DD_STRAIN_RATE) {
        more = loading->young * (loading->rate * dt - dd_loading_along(loading, strain));
        loading->total += loading->rate * dt;
    }
    if (loading->amplitude > 0.0) {
        loading->time += dt;
        turn(loading);
    }
    for (int k = 0; k < 6; k++) {
        loading->stress[k] += more * e[row[k]] * e[column[k]];
        loading->strain[k] += strain[k];
    }
    if (spin != NULL) {
        dd__add(loading->spin, 1.0, spin);
    }
}
