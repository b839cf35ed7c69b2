/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of keys that are spread over the ranks, by bisection of the key range: all cuts at once, one bit per round.
 */
#include <equipoise/par.h>

#include "assign/shares.h"
#include "par/comm.h"

#include <stdlib.h>

typedef struct quantiles {
    MPI_Comm comm;
    int64_t n;
    const uint64_t *key;
    int64_t *prefix;     /* [n + 1] weight before each key */
    int ncuts;           /* nparts - 1, >= 0 */
    double *target;      /* [ncuts] weight wanted below each cut */
    uint64_t *low;       /* [ncuts] less weight than the target lies below this key */
    uint64_t *high;      /* [ncuts] at least the target lies below this one */
    int64_t *below_low;  /* [ncuts] weight below `low` */
    int64_t *below_high; /* [ncuts] */
    int64_t *below;      /* [ncuts] work */
} quantiles;

static int check_keys(int64_t n, const uint64_t *key, const int64_t *weight, int nparts, const double *share,
                      const uint64_t *cut)
{
    if (n < 0 || (n > 0 && !key) || !cut) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t i = 0; i < n; i++) {
        if (key[i] == UINT64_MAX || (i > 0 && key[i - 1] > key[i]) || (weight && weight[i] < 0)) {
            return EQP_ERR_ARGUMENT;
        }
    }
    return eqp__shares_check(nparts, share);
}

static int allocate(quantiles *q)
{
    int code;

    if ((code = eqp_array_create(&q->prefix, q->n + 1, sizeof *q->prefix)) ||
        (code = eqp_array_create(&q->target, q->ncuts, sizeof *q->target)) ||
        (code = eqp_array_create(&q->low, q->ncuts, sizeof *q->low)) ||
        (code = eqp_array_create(&q->high, q->ncuts, sizeof *q->high)) ||
        (code = eqp_array_create(&q->below_low, q->ncuts, sizeof *q->below_low)) ||
        (code = eqp_array_create(&q->below_high, q->ncuts, sizeof *q->below_high)) ||
        (code = eqp_array_create(&q->below, q->ncuts, sizeof *q->below))) {
        return code;
    }
    return EQP_OK;
}

static void release(quantiles *q)
{
    free(q->prefix);
    free(q->target);
    free(q->low);
    free(q->high);
    free(q->below_low);
    free(q->below_high);
    free(q->below);
}

/* Running weights; EQP_ERR_OVERFLOW beyond 2^62. */
static int sum_weights(quantiles *q, const int64_t *weight)
{
    for (int64_t i = 0; i < q->n; i++) {
        int64_t w = weight ? weight[i] : 1;
        if (w > ((int64_t)1 << 62) - q->prefix[i]) {
            return EQP_ERR_OVERFLOW;
        }
        q->prefix[i + 1] = q->prefix[i] + w;
    }
    return EQP_OK;
}

/* Weight of this rank's keys below `key`. */
static int64_t weight_below(const quantiles *q, uint64_t key)
{
    int64_t lo = 0, hi = q->n;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (q->key[mid] < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return q->prefix[lo];
}

/* One round: halves the range of every cut. */
static int halve(quantiles *q)
{
    for (int k = 0; k < q->ncuts; k++) {
        q->below[k] = weight_below(q, q->low[k] + (q->high[k] - q->low[k]) / 2);
    }
    if (MPI_Allreduce(MPI_IN_PLACE, q->below, q->ncuts, MPI_INT64_T, MPI_SUM, q->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    for (int k = 0; k < q->ncuts; k++) {
        uint64_t mid = q->low[k] + (q->high[k] - q->low[k]) / 2;
        if (mid == q->low[k]) {
            continue;
        }
        if ((double)q->below[k] >= q->target[k]) {
            q->high[k] = mid;
            q->below_high[k] = q->below[k];
        } else {
            q->low[k] = mid;
            q->below_low[k] = q->below[k];
        }
    }
    return EQP_OK;
}

static void set_targets(quantiles *q, int64_t total, const double *share)
{
    double before = 0;

    for (int k = 0; k < q->ncuts; k++) {
        before += share ? share[k] : 0;
        q->target[k] = (double)total * (share ? before : (k + 1.0) / (q->ncuts + 1));
        q->low[k] = 0;
        q->high[k] = UINT64_MAX;
        q->below_low[k] = 0;
        q->below_high[k] = total;
    }
}

/* Weight of all ranks' keys. */
static int find_total(quantiles *q, const int64_t *weight, int64_t *total)
{
    int code = eqp_agree(q->comm, sum_weights(q, weight), NULL);

    code = code ? code : eqp_scan_int64(q->comm, q->prefix[q->n], NULL, total);
    return !code && *total > (int64_t)1 << 62 ? EQP_ERR_OVERFLOW : code;
}

static int find_cuts(quantiles *q, const int64_t *weight, const double *share)
{
    int64_t total = 0;
    int code = find_total(q, weight, &total);

    if (!code && total == 0) {
        code = find_total(q, NULL, &total);
    }
    if (code) {
        return code;
    }
    set_targets(q, total, share);
    for (int bit = 0; bit < 64 && !code; bit++) {
        code = halve(q);
    }
    return code;
}

/* Ranks with other parts would reduce other numbers of cuts, with other shares halve other ranges. */
static int agree_on_cuts(MPI_Comm comm, int code, int64_t n, const int64_t *weight, int nparts, const double *share)
{
    int64_t pair[4] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

    if (!code) {
        eqp__put_value(pair, eqp_fingerprint(0, nparts, share));
    }
    if (n > 0) {
        eqp__put_value(pair + 2, weight != NULL);
    }
    code = eqp__agree_least(comm, code, 4, pair, NULL);
    return !code && (eqp__pair_differs(pair) || eqp__pair_differs(pair + 2)) ? EQP_ERR_ARGUMENT : code;
}

int eqp_key_cuts(MPI_Comm comm, int64_t n, const uint64_t *key, const int64_t *weight, int nparts, const double *share,
                 uint64_t *cut)
{
    quantiles q = {.comm = comm, .n = n, .key = key, .ncuts = nparts > 0 ? nparts - 1 : 0};
    int code = check_keys(n, key, weight, nparts, share, cut);

    code = code ? code : allocate(&q);
    EQP_TRY(agree_on_cuts(comm, code, n, weight, nparts, share));
    EQP_TRY(find_cuts(&q, weight, eqp__shares_reduce(nparts, share)));
    cut[0] = 0;
    cut[nparts] = UINT64_MAX;
    for (int k = 0; k < q.ncuts; k++) {
        /* The key that holds the target is high - 1: before it or behind it. */
        double less = q.target[k] - (double)q.below_low[k], more = (double)q.below_high[k] - q.target[k];
        cut[k + 1] = less < more ? q.low[k] : q.high[k];
    }
done:
    release(&q);
    return code;
}
