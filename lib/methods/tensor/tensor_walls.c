/* SPDX-License-Identifier: BSD-3-Clause */
/* Walls of rectilinear parts: first quantiles, then the best walls of one axis after another (Nicol 1994). */
#include "methods/tensor/tensor.h"

#include <math.h>
#include <string.h>

/* Rounds over the axes end when a round gains less than this fraction. */
#define LEAST_GAIN 1e-3
enum { ROUNDS = 20 };

/* Share of the part in a slab and a lane, times the number of parts. */
static double scale_of(const eqp__tensor *t, int k, int slab, int64_t lane)
{
    const int64_t stride[3] = {1, t->grid[0], (int64_t)t->grid[0] * t->grid[1]};
    const int minor = eqp__tensor_minor(k), wide = t->grid[minor];

    return t->share[slab * stride[k] + lane % wide * stride[minor] + lane / wide * stride[eqp__tensor_major(k)]];
}

/* Sums the loads of an axis's bins by lane, as running sums: t->sum [nbins + 1][lanes]. Collective. */
static int sum_lanes(eqp__tensor *t, int k)
{
    const int minor = eqp__tensor_minor(k), major = eqp__tensor_major(k), wide = t->grid[minor];
    const int64_t lanes = eqp__tensor_lanes(t, k), cells = lanes * t->nbins[k];
    double *load = t->sum + lanes;

    memset(t->sum, 0, (size_t)(lanes + cells) * sizeof *t->sum);
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t lane = t->slab[minor][t->bin[minor][i]] + (int64_t)wide * t->slab[major][t->bin[major][i]];
        load[t->bin[k][i] * lanes + lane] += t->load[i];
    }
    int code = eqp__tensor_add(t, cells, load);
    for (int64_t c = 0; c < cells; c++) {
        load[c] += t->sum[c];
    }
    return code;
}

/* Largest relative load of the parts in a slab of bins i to j - 1. It never falls with j and never grows with i. */
static double slab_load(const eqp__tensor *t, int k, int slab, int i, int j)
{
    const int64_t lanes = eqp__tensor_lanes(t, k);
    const double *low = t->sum + i * lanes, *high = t->sum + j * lanes;
    double most = 0;

    for (int64_t lane = 0; lane < lanes; lane++) {
        const double load = high[lane] - low[lane];
        most = fmax(most, t->share ? load / scale_of(t, k, slab, lane) : load);
    }
    return most;
}

/* The last end of a slab that begins with bin i and stays within the bottleneck. */
static int reach(const eqp__tensor *t, int k, int slab, int i, double bottleneck)
{
    int low = i, high = t->nbins[k];

    while (low < high) {
        const int middle = high - (high - low) / 2;
        if (slab_load(t, k, slab, i, middle) <= bottleneck) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The first bin of a slab that ends at j and stays within the bottleneck. */
static int reach_back(const eqp__tensor *t, int k, int slab, int j, double bottleneck)
{
    int low = 0, high = j;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (slab_load(t, k, slab, middle, j) <= bottleneck) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Fills the slabs greedily; returns true if all bins fit. Then *value is the largest relative load reached, else the
 * smallest load above the bottleneck with which a slab would end later. Both are loads of real slabs, so the bisection
 * ends at an exact value. */
static bool probe(const eqp__tensor *t, int k, double bottleneck, double *value)
{
    const int last = t->grid[k] - 1, n = t->nbins[k];
    double largest = 0, next = INFINITY;
    int i = 0;

    for (int s = 0; s <= last; s++) {
        const int j = reach(t, k, s, i, bottleneck);
        largest = fmax(largest, slab_load(t, k, s, i, j));
        if (j < n) {
            next = fmin(next, slab_load(t, k, s, i, s == last ? n : j + 1));
        }
        i = j;
    }
    *value = i == n ? largest : next;
    return i == n;
}

static double measure(const eqp__tensor *t, int k)
{
    double most = 0;

    for (int s = 0; s < t->grid[k]; s++) {
        most = fmax(most, slab_load(t, k, s, t->first[k][s], t->first[k][s + 1]));
    }
    return most;
}

static void number_bins(eqp__tensor *t, int k)
{
    for (int s = 0; s < t->grid[k]; s++) {
        for (int i = t->first[k][s]; i < t->first[k][s + 1]; i++) {
            t->slab[k][i] = s;
        }
    }
}

double eqp__tensor_place(eqp__tensor *t, int k)
{
    double low = 0, high = measure(t, k), value;
    int *first = t->first[k], *back = t->back;

    while (low < high) {
        if (probe(t, k, low + (high - low) / 2, &value)) {
            high = value;
        } else {
            low = value;
        }
    }
    back[t->grid[k]] = t->nbins[k];
    for (int s = t->grid[k] - 1; s > 0; s--) {
        back[s] = reach_back(t, k, s, back[s + 1], high);
    }
    for (int s = 1; s < t->grid[k]; s++) {
        const int most = reach(t, k, s - 1, first[s - 1], high);
        first[s] = first[s] < back[s] ? back[s] : first[s] > most ? most : first[s];
        first[s] = first[s] < first[s - 1] ? first[s - 1] : first[s];
    }
    number_bins(t, k);
    return high;
}

/* Sum of the shares of the parts of a slab. */
static double slab_share(const eqp__tensor *t, int k, int slab)
{
    const int64_t lanes = eqp__tensor_lanes(t, k);
    double share = 0;

    for (int64_t lane = 0; t->share && lane < lanes; lane++) {
        share += scale_of(t, k, slab, lane) / (double)lanes;
    }
    return (t->share ? share : 1) / t->grid[k];
}

void eqp__tensor_begin(eqp__tensor *t)
{
    const double *load = t->sum;

    for (int k = 0; k < 3; k++) {
        double total = 0, before = 0, share = 0;
        int j = 0;
        for (int i = 0; i < t->nbins[k]; i++) {
            total += load[i];
        }
        for (int s = 1; s < t->grid[k]; s++) {
            share += slab_share(t, k, s - 1);
            while (j < t->nbins[k] && before + load[j] / 2 < total * share) {
                before += load[j++];
            }
            t->first[k][s] = j;
        }
        number_bins(t, k);
        load += t->nbins[k];
    }
}

static int refine(eqp__tensor *t)
{
    double largest = INFINITY;
    int code = EQP_OK;

    for (int round = 0; round < ROUNDS && !code; round++) {
        double now = 0;
        for (int k = 0; k < 3 && !code; k++) {
            if (t->grid[k] > 1 && !(code = sum_lanes(t, k))) {
                now = eqp__tensor_place(t, k);
            }
        }
        if (now >= largest * (1 - LEAST_GAIN)) {
            break;
        }
        largest = now;
    }
    return code;
}

int eqp__tensor_cut(eqp__tensor *t, const eqp_balance_items *items, double *wall)
{
    int code = eqp__tensor_resolve(t, items);

    if (!code) {
        eqp__tensor_begin(t);
        code = refine(t);
    }
    for (int k = 0; k < 3 && !code; k++) {
        for (int s = 0; s <= t->grid[k]; s++) {
            *wall++ = t->edge[k][t->first[k][s]];
        }
    }
    return code;
}
