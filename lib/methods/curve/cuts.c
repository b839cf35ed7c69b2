/* SPDX-License-Identifier: BSD-3-Clause */
/* Chains-on-chains partitioning: consecutive ranges of ordered items. */
#include "base/internal.h"
#include "methods/frame/chain.h"
#include "methods/frame/frame.h"

#include <equipoise/more/methods.h>

#include <math.h>
#include <string.h>

typedef struct chain {
    int64_t n;
    double *prefix; /* [n + 1] load before each item */
    int nparts;
    const double *share; /* NULL: equal */
    const double *have;  /* [nparts] load of each part in addition to its range; NULL: 0 */
} chain;

/* Compensated running sums, so that a million small loads after a large one still count. Loads that are all 0 become 1
 * each. EQP_ERR_ARGUMENT for a load that is negative or not finite, or a total that is not finite. */
static int sum_up(int64_t n, const double *load, double *prefix)
{
    double sum = 0, lost = 0;

    prefix[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(!(load[i] >= 0) || !isfinite(load[i]), EQP_ERR_ARGUMENT);
        double next = sum + load[i];
        lost += sum >= load[i] ? (sum - next) + load[i] : (load[i] - next) + sum;
        sum = next;
        prefix[i + 1] = fmax(prefix[i], sum + lost);
    }
    EQP__FAIL_IF(!isfinite(sum), EQP_ERR_ARGUMENT);
    if (!(prefix[n] > 0)) {
        for (int64_t i = 0; i <= n; i++) {
            prefix[i] = (double)i;
        }
    }
    return EQP_OK;
}

/* The caller frees c->prefix, also after an error. */
static int chain_open(chain *c, int64_t n, const double *load, int nparts, const double *share)
{
    *c = (chain){.n = n, .nparts = nparts, .share = eqp__shares_reduce(nparts, share)};
    EQP__CHECK(n < 0 || (n > 0 && !load) ? EQP_ERR_ARGUMENT : eqp__shares_check(nparts, share));
    EQP__CHECK(eqp_array_create(&c->prefix, n + 1, sizeof *c->prefix));
    return sum_up(n, load, c->prefix);
}

static double range_load(const void *of, int64_t i, int64_t j, int p)
{
    const chain *c = of;
    const double have = c->have ? c->have[p] : 0;

    return (have + (c->prefix[j] - c->prefix[i])) / eqp__share_scale(c->share, c->nparts, p);
}

/* The first j in lo to n with prefix[j] >= target; else n. */
static int64_t prefix_find(const chain *c, int64_t lo, double target)
{
    int64_t hi = c->n;

    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (c->prefix[mid] >= target) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

/* Load that part p still needs to reach its share of `all`, which includes c->have. */
static double lacking(const chain *c, double all, int p)
{
    return fmax(0, all * eqp__share_scale(c->share, c->nparts, p) / c->nparts - c->have[p]);
}

static void ideal_cuts(const chain *c, int64_t *first)
{
    double total = c->prefix[c->n], before = 0, all = total, lack = 0;

    for (int p = 0; c->have && p < c->nparts; p++) {
        all += c->have[p];
    }
    for (int p = 0; c->have && p < c->nparts; p++) {
        lack += lacking(c, all, p);
    }
    first[0] = 0;
    first[c->nparts] = c->n;
    for (int p = 1; p < c->nparts; p++) {
        before += c->have ? lacking(c, all, p - 1) / lack : c->share ? c->share[p - 1] : 0;
        double target = total * (c->have || c->share ? before : (double)p / c->nparts);
        int64_t j = prefix_find(c, first[p - 1], target);
        if (j > first[p - 1] && target - c->prefix[j - 1] < c->prefix[j] - target) {
            j--;
        }
        first[p] = j;
    }
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

int eqp__cuts_from_shares(int64_t n, const double *load, int nparts, const double *share, int64_t *first)
{
    chain c;
    int code;

    EQP_TRY(chain_open(&c, n, load, nparts, share));
    ideal_cuts(&c, first);
    for (int p = 1; p < nparts && !c.share && n >= nparts; p++) {
        first[p] = clamp(first[p], first[p - 1] + 1, n - (nparts - p));
    }
done:
    free(c.prefix);
    return code;
}

static double largest_load(const chain *c, const int64_t *first)
{
    double largest = 0;

    for (int p = 0; p < c->nparts; p++) {
        largest = fmax(largest, range_load(c, first[p], first[p + 1], p));
    }
    return largest;
}

/* high: attained by some cut. */
static double find_bottleneck(const chain *c, double high)
{
    /* The mean, with a margin for the rounding of the sum of shares. */
    double low = c->prefix[c->n] / c->nparts * (1 - 1e-8);

    for (int p = 0; c->have && p < c->nparts; p++) {
        low = fmax(low, range_load(c, 0, 0, p));
    }
    return eqp__chain_bottleneck(range_load, c, c->n, c->nparts, low, high);
}

/* Selects the cuts within the bottleneck nearest to the ideal ones, which are more even and move less when loads
 * change. first: ideal cuts in, chosen cuts out; leftmost: [nparts + 1] work. */
static void settle(const chain *c, double bottleneck, int64_t *leftmost, int64_t *first)
{
    int filled = !c->share && !c->have && c->n >= c->nparts;

    leftmost[c->nparts] = c->n;
    for (int p = c->nparts - 1; p > 0; p--) {
        leftmost[p] = eqp__chain_reach_back(range_load, c, leftmost[p + 1], p, bottleneck);
    }
    for (int p = 1; p < c->nparts; p++) {
        int64_t lo = leftmost[p] > first[p - 1] ? leftmost[p] : first[p - 1];
        int64_t hi = eqp__chain_reach(range_load, c, c->n, first[p - 1], p - 1, bottleneck);
        if (filled) {
            /* a single item fits into any part, so lo <= hi */
            lo = clamp(lo, first[p - 1] + 1, c->n);
            hi = clamp(hi, 0, c->n - (c->nparts - p));
        }
        first[p] = clamp(first[p], lo, hi);
    }
}

int eqp_cuts_optimal(int64_t n, const double *load, int nparts, const double *share, int64_t *first, double *bottleneck)
{
    EQP_REQUIRE(first);
    return eqp__cuts_beside(n, load, nparts, share, NULL, first, bottleneck);
}

int eqp__cuts_beside(int64_t n, const double *load, int nparts, const double *share, const double *have, int64_t *first,
                     double *bottleneck)
{
    chain c;
    int64_t *cut = NULL, *leftmost = NULL;
    int code;

    EQP_TRY(chain_open(&c, n, load, nparts, share));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(cut, (int64_t)nparts + 1), EQP__ARRAY(leftmost, (int64_t)nparts + 1)));
    c.have = have;
    ideal_cuts(&c, cut);
    double best = find_bottleneck(&c, largest_load(&c, cut));
    settle(&c, best, leftmost, cut);
    memcpy(first, cut, ((size_t)nparts + 1) * sizeof *cut);
    if (bottleneck) {
        double any = 0;
        for (int64_t i = 0; i < n; i++) {
            any = fmax(any, load[i]);
        }
        *bottleneck = any > 0 ? best : 0;
    }
done:
    EQP__FREE(cut, leftmost, c.prefix);
    return code;
}
