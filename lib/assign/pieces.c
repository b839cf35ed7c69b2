/* SPDX-License-Identifier: BSD-3-Clause */
#include "assign/pieces.h"

#include "assign/shares.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>

typedef struct piece {
    double cost;
    int64_t number;
} piece;

typedef struct dealing {
    int64_t n;
    const double *load; /* [n][ncolumns] */
    int ncolumns, nparts;
    const double *share;
    double *total; /* [ncolumns] */
    double *cost;  /* [n] combined */
    int64_t npieces, *first;
    piece *piece;   /* [npieces] */
    double *have;   /* [nparts][ncolumns] fractions of all */
    int64_t *count; /* [nparts] pieces */
    double *here;   /* [ncolumns] of the piece that is dealt, likewise */
} dealing;

static int by_falling_cost(const void *a, const void *b)
{
    const piece *x = a, *y = b;

    return x->cost != y->cost ? (x->cost < y->cost) - (x->cost > y->cost) : (x->number > y->number) ? 1 : -1;
}

static void dealing_close(dealing *d)
{
    free(d->total);
    free(d->cost);
    free(d->first);
    free(d->piece);
    free(d->have);
    free(d->count);
    free(d->here);
}

static int dealing_open(dealing *d)
{
    int code;

    EQP_TRY(eqp_array_create(&d->total, d->ncolumns, sizeof *d->total));
    EQP_TRY(eqp_array_create(&d->cost, d->n, sizeof *d->cost));
    EQP_TRY(eqp_array_create(&d->first, d->npieces + 1, sizeof *d->first));
    EQP_TRY(eqp_array_create(&d->piece, d->npieces, sizeof *d->piece));
    EQP_TRY(eqp_array_create(&d->have, (int64_t)d->nparts * d->ncolumns, sizeof *d->have));
    EQP_TRY(eqp_array_create(&d->count, d->nparts, sizeof *d->count));
    EQP_TRY(eqp_array_create(&d->here, d->ncolumns, sizeof *d->here));
    for (int64_t i = 0; i < d->n; i++) {
        for (int c = 0; c < d->ncolumns; c++) {
            d->total[c] += d->load[i * d->ncolumns + c];
        }
    }
    for (int64_t i = 0; i < d->n; i++) {
        for (int c = 0; c < d->ncolumns; c++) {
            d->cost[i] += d->total[c] > 0 ? d->load[i * d->ncolumns + c] / d->total[c] : 0;
        }
    }
done:
    return code;
}

/* Cuts, and orders the pieces. */
static int cut(dealing *d)
{
    int code;

    EQP_TRY(eqp_cuts_optimal(d->n, d->cost, (int)d->npieces, NULL, d->first, NULL));
    for (int64_t j = 0; j < d->npieces; j++) {
        d->piece[j].number = j;
        for (int64_t i = d->first[j]; i < d->first[j + 1]; i++) {
            d->piece[j].cost += d->cost[i];
        }
    }
    qsort(d->piece, (size_t)d->npieces, sizeof *d->piece, by_falling_cost);
done:
    return code;
}

/* The part in which a piece with the loads `here` adds least to the sum of the squares of relative loads, over all
 * columns; of several the emptiest. */
static int choose(const dealing *d)
{
    double least = INFINITY;
    int best = 0;

    for (int p = 0; p < d->nparts; p++) {
        const double *have = d->have + (int64_t)p * d->ncolumns, scale = eqp__share_scale(d->share, d->nparts, p);
        double more = 0;
        for (int c = 0; c < d->ncolumns && more <= least; c++) {
            more += d->here[c] * (2 * have[c] + d->here[c]) / (scale * scale);
        }
        if (more < least || (more == least && d->count[p] < d->count[best])) {
            best = p;
            least = more;
        }
    }
    return best;
}

static void deal(dealing *d, int *part)
{
    for (int64_t j = 0; j < d->npieces; j++) {
        const int64_t number = d->piece[j].number;
        for (int c = 0; c < d->ncolumns; c++) {
            d->here[c] = 0;
            for (int64_t i = d->first[number]; i < d->first[number + 1]; i++) {
                d->here[c] += d->total[c] > 0 ? d->load[i * d->ncolumns + c] / d->total[c] : 0;
            }
        }
        const int p = choose(d);
        d->count[p]++;
        for (int c = 0; c < d->ncolumns; c++) {
            d->have[(int64_t)p * d->ncolumns + c] += d->here[c];
        }
        for (int64_t i = d->first[number]; i < d->first[number + 1]; i++) {
            part[i] = p;
        }
    }
}

int eqp__pieces_assign(int64_t n, const double *load, int ncolumns, int nparts, const double *share, int64_t pieces,
                       int *part)
{
    dealing d = {.n = n, .load = load, .ncolumns = ncolumns, .nparts = nparts, .share = share};
    int code;

    EQP_TRY(eqp__shares_check(nparts, share));
    if (n == 0) {
        goto done;
    }
    d.npieces = n / nparts < pieces ? (n > nparts ? n : nparts) : pieces * nparts;
    EQP_TRY(d.npieces < INT32_MAX ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(dealing_open(&d));
    EQP_TRY(cut(&d));
    deal(&d, part);
done:
    dealing_close(&d);
    return code;
}
