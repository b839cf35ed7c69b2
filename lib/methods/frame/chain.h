/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact bisection of the largest load of a part when n places are cut into nparts consecutive ranges. Functions are
 * inline, so that they are compiled for each load. */
#ifndef EQUIPOISE_METHODS_FRAME_CHAIN_H
#define EQUIPOISE_METHODS_FRAME_CHAIN_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* Load of part p with places i to j - 1, relative to its share. Never falls with j and never grows with i, also in
 * floating point. */
typedef double eqp__chain_load(const void *chain, int64_t i, int64_t j, int p);

/* The largest j up to n such that part p with places i to j - 1 is within the bottleneck. */
static inline int64_t eqp__chain_reach(eqp__chain_load *load, const void *chain, int64_t n, int64_t i, int p,
                                       double bottleneck)
{
    int64_t low = i, high = n;

    while (low < high) {
        const int64_t middle = high - (high - low) / 2;
        if (load(chain, i, middle, p) <= bottleneck) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* The smallest i such that part p with places i to j - 1 is within the bottleneck. */
static inline int64_t eqp__chain_reach_back(eqp__chain_load *load, const void *chain, int64_t j, int p,
                                            double bottleneck)
{
    int64_t low = 0, high = j;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (load(chain, middle, j, p) <= bottleneck) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Fills the parts greedily; true if all places fit. *value: the largest relative load if they fit, else the smallest
 * larger bottleneck that changes a range. Both are loads of actual ranges, so the bisection ends with the exact
 * optimum. */
static inline bool eqp__chain_probe(eqp__chain_load *load, const void *chain, int64_t n, int nparts, double bottleneck,
                                    double *value)
{
    double largest = 0, next = INFINITY;
    int64_t i = 0;

    for (int p = 0; p < nparts; p++) {
        const int64_t j = eqp__chain_reach(load, chain, n, i, p, bottleneck);
        largest = fmax(largest, load(chain, i, j, p));
        if (j < n) {
            next = fmin(next, load(chain, i, p == nparts - 1 ? n : j + 1, p));
        }
        i = j;
    }
    *value = i == n ? largest : next;
    return i == n;
}

/* The least bottleneck. low: no cut is below it; high: attained by some cut. */
static inline double eqp__chain_bottleneck(eqp__chain_load *load, const void *chain, int64_t n, int nparts, double low,
                                           double high)
{
    while (low < high) {
        double middle = low + (high - low) / 2, value;
        middle = middle < high ? middle : low;
        if (eqp__chain_probe(load, chain, n, nparts, middle, &value)) {
            high = value;
        } else {
            low = value;
        }
    }
    return high;
}

#endif
