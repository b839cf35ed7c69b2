/* SPDX-License-Identifier: BSD-3-Clause */
/* Walls of rectilinear parts: first quantiles, then the best walls of one axis after another (Nicol 1994). */
#include "methods/frame/chain.h"
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

/* The slabs of an axis. */
typedef struct slabs {
    const eqp__tensor *t;
    int k;
} slabs;

/* Largest relative load of the parts in a slab of bins i to j - 1. */
static double slab_load(const void *of, int64_t i, int64_t j, int slab)
{
    const eqp__tensor *t = ((const slabs *)of)->t;
    const int k = ((const slabs *)of)->k;
    const int64_t lanes = eqp__tensor_lanes(t, k);
    const double *low = t->sum + i * lanes, *high = t->sum + j * lanes;
    double most = 0;

    for (int64_t lane = 0; lane < lanes; lane++) {
        const double load = high[lane] - low[lane];
        most = fmax(most, t->share ? load / scale_of(t, k, slab, lane) : load);
    }
    return most;
}

static double measure(const slabs *s)
{
    const int *first = s->t->first[s->k];
    double most = 0;

    for (int p = 0; p < s->t->grid[s->k]; p++) {
        most = fmax(most, slab_load(s, first[p], first[p + 1], p));
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
    const slabs of = {t, k};
    const int n = t->nbins[k];
    const double high = eqp__chain_bottleneck(slab_load, &of, n, t->grid[k], 0, measure(&of));
    int *first = t->first[k], *back = t->back;

    back[t->grid[k]] = n;
    for (int s = t->grid[k] - 1; s > 0; s--) {
        back[s] = (int)eqp__chain_reach_back(slab_load, &of, back[s + 1], s, high);
    }
    for (int s = 1; s < t->grid[k]; s++) {
        const int most = (int)eqp__chain_reach(slab_load, &of, n, first[s - 1], s - 1, high);
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
