/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantiles of distributed keys by histograms. Each round resolves several bits of the keys for all cuts at once. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>
#include <equipoise/points.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Most bits of a key that a round resolves; most bins of a round (8 MiB); most numbers per reduction. */
enum { MOST_BITS = 11, MOST_BINS = 1 << 20, MOST_SUMMED = 1 << 24 };

#define MOST_WEIGHT ((int64_t)1 << 62)

/* Keys from low to low + 2^shift - 1, a range in which some target is reached. */
typedef struct range {
    uint64_t low;
    int64_t below, weight; /* weight of all ranks' keys below the range, and in it */
    int64_t first, last;   /* this rank's keys in the range: [first, last) */
} range;

typedef struct quantiles {
    MPI_Comm comm;
    int64_t n;
    const uint64_t *key;
    const int64_t *weight; /* [n]; NULL: 1 each */
    int ncuts, nranges;    /* cuts with target <= total weight; ranges in which they lie */
    int shift;             /* logarithm of a range's width */
    double *target;        /* [ncuts] weight wanted below each cut, ascending */
    int *range_of;         /* [ncuts] range of each cut, ascending */
    range *list, *next;    /* [nranges] */
    int64_t *load;         /* [nranges][bins] weight */
} quantiles;

static int check_keys(int64_t n, const uint64_t *key, const int64_t *weight, int nparts, const double *share,
                      const uint64_t *cut)
{
    EQP__FAIL_IF(n < 0 || (n > 0 && !key) || !cut, EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(key[i] == UINT64_MAX || (i > 0 && key[i - 1] > key[i]) || (weight && weight[i] < 0),
                     EQP_ERR_ARGUMENT);
    }
    return eqp__shares_check(nparts, share);
}

static int bits_of_round(int nranges)
{
    int bits = MOST_BITS;

    while (bits > 1 && (int64_t)nranges << bits > MOST_BINS) {
        bits--;
    }
    return bits;
}

static int allocate(quantiles *q, int ncuts)
{
    const int64_t most = (int64_t)ncuts << MOST_BITS, bins = most < MOST_BINS ? most : MOST_BINS;

    return EQP__ARRAYS(EQP__ARRAY(q->target, ncuts), EQP__ARRAY(q->range_of, ncuts), EQP__ARRAY(q->list, ncuts),
                       EQP__ARRAY(q->next, ncuts),
                       EQP__ARRAY(q->load, bins > 2 * (int64_t)ncuts ? bins : 2 * (int64_t)ncuts));
}

/* Sum of this rank's weights; EQP_ERR_OVERFLOW above 2^62. */
static int sum_weights(int64_t n, const int64_t *weight, int64_t *sum)
{
    *sum = weight ? 0 : n;
    for (int64_t i = 0; weight && i < n; i++) {
        EQP__FAIL_IF(weight[i] > MOST_WEIGHT - *sum, EQP_ERR_OVERFLOW);
        *sum += weight[i];
    }
    return EQP_OK;
}

/* Checks that parts and shares agree on all ranks, and finds the range and weight of all keys. *all: that range. One
 * reduction. Collective. */
static int meet(quantiles *q, int code, int nparts, const double *share, range *all)
{
    int64_t least[6] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}, mine = 0;
    double sum[3] = {0};

    code = code ? code : sum_weights(q->n, q->weight, &mine);
    if (!code) {
        eqp__put_value(least, eqp_fingerprint(0, nparts, share));
        sum[0] = (double)(mine >> 32); /* halves, so that sums are exact */
        sum[1] = (double)(mine & UINT32_MAX);
        sum[2] = (double)q->n;
    }
    if (!code && q->n > 0) {
        eqp__put_value(least + 2, q->weight != NULL);
        /* Flipping the top bit maps unsigned order to signed order. */
        least[4] = (int64_t)(q->key[0] ^ (uint64_t)1 << 63);
        least[5] = (int64_t)(~q->key[q->n - 1] ^ (uint64_t)1 << 63);
    }
    EQP_TRY(eqp__meet(q->comm, code, 6, least, 3, sum, NULL));
    EQP_TRY(eqp__pair_differs(least) || eqp__pair_differs(least + 2) ? EQP_ERR_ARGUMENT : EQP_OK);
    EQP_TRY(sum[0] + sum[1] * 0x1p-32 <= 0x1p30 ? EQP_OK : EQP_ERR_OVERFLOW);
    const int64_t total = (int64_t)sum[0] * ((int64_t)1 << 32) + (int64_t)sum[1];
    q->weight = total > 0 ? q->weight : NULL;
    *all = (range){
        .low = (uint64_t)least[4] ^ (uint64_t)1 << 63, .weight = total > 0 ? total : (int64_t)sum[2], .last = q->n};
    for (uint64_t span = sum[2] > 0 ? (~(uint64_t)least[5] ^ (uint64_t)1 << 63) - all->low : 0; span > 0; span >>= 1) {
        q->shift++;
    }
done:
    return code;
}

static void set_targets(quantiles *q, const range *all, int nparts, const double *share)
{
    double before = 0;

    for (int k = 0; k < nparts - 1; k++) {
        before += share ? share[k] : 0;
        q->target[k] = (double)all->weight * (share ? before : (k + 1.0) / nparts);
        q->ncuts += q->target[k] <= (double)all->weight;
    }
    q->list[0] = *all;
    q->nranges = 1;
}

/* Sums the weights of all ranks' keys by bin. Collective. */
static int sum_bins(quantiles *q, int bits)
{
    const int64_t nbins = (int64_t)q->nranges << bits;

    for (int64_t b = 0; b < nbins; b++) {
        q->load[b] = 0;
    }
    for (int r = 0; r < q->nranges; r++) {
        int64_t *load = q->load + ((int64_t)r << bits);
        for (int64_t i = q->list[r].first; i < q->list[r].last; i++) {
            load[(q->key[i] - q->list[r].low) >> q->shift] += q->weight ? q->weight[i] : 1;
        }
    }
    for (int64_t b = 0; b < nbins; b += MOST_SUMMED) {
        const int count = (int)(nbins - b < MOST_SUMMED ? nbins - b : MOST_SUMMED);
        EQP__CHECK(
            EQP__MPI(EQP__WAITS(MPI_Allreduce(MPI_IN_PLACE, q->load + b, count, MPI_INT64_T, MPI_SUM, q->comm))));
    }
    return EQP_OK;
}

static int64_t find_bin(const quantiles *q, const range *in, uint64_t bin)
{
    int64_t low = in->first, high = in->last;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((q->key[middle] - in->low) >> q->shift < bin) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Replaces each range by its bins in which targets are reached. */
static void descend(quantiles *q, int bits)
{
    int nnext = 0, former = -1;
    int64_t bin = 0, below = 0, last_bin = -1;

    for (int k = 0; k < q->ncuts; k++) {
        const int r = q->range_of[k];
        const range *in = &q->list[r];
        const int64_t *load = q->load + ((int64_t)r << bits);
        if (r != former) {
            former = r;
            bin = 0;
            last_bin = -1;
            below = in->below;
        }
        while ((double)(below + load[bin]) < q->target[k]) {
            below += load[bin++];
        }
        if (bin != last_bin) {
            q->next[nnext++] = (range){.low = in->low + ((uint64_t)bin << q->shift),
                                       .below = below,
                                       .weight = load[bin],
                                       .first = find_bin(q, in, (uint64_t)bin),
                                       .last = find_bin(q, in, (uint64_t)bin + 1)};
            last_bin = bin;
        }
        q->range_of[k] = nnext - 1;
    }
    range *const spare = q->list;
    q->list = q->next;
    q->next = spare;
    q->nranges = nnext;
}

/* eqp_key_cuts() with this rank's code so far. Collective. */
static int cut_keys(MPI_Comm comm, int code, int64_t n, const uint64_t *key, const int64_t *weight, int nparts,
                    const double *share, uint64_t *cut)
{
    quantiles q = {.comm = comm, .n = n, .key = key, .weight = weight};
    range all = {0};

    code = code ? code : check_keys(n, key, weight, nparts, share, cut);
    code = code ? code : allocate(&q, nparts - 1);
    EQP_TRY(meet(&q, code, nparts, share, &all));
    if (nparts > 1) {
        set_targets(&q, &all, nparts, eqp__shares_reduce(nparts, share));
    }
    while (q.shift > 0 && q.ncuts > 0 && all.weight > 0) {
        const int most = bits_of_round(q.nranges), bits = q.shift < most ? q.shift : most;
        q.shift -= bits;
        EQP_TRY(sum_bins(&q, bits));
        descend(&q, bits);
    }
    cut[0] = 0;
    for (int k = 0; k < nparts - 1; k++) {
        /* Each range is now a single key, which reaches the target: cuts below or above it, whichever is nearer. */
        const range *at = &q.list[k < q.ncuts ? q.range_of[k] : 0];
        const double less = q.target[k] - (double)at->below, more = (double)(at->below + at->weight) - q.target[k];
        cut[k + 1] = k >= q.ncuts ? UINT64_MAX : all.weight == 0 ? 1 : less < more ? at->low : at->low + 1;
    }
    cut[nparts] = UINT64_MAX;
done:
    EQP__FREE(q.target, q.range_of, q.list, q.next, q.load);
    return code;
}

int eqp_key_cuts(MPI_Comm comm, int64_t n, const uint64_t *key, const int64_t *weight, int nparts, const double *share,
                 uint64_t *cut)
{
    return cut_keys(comm, EQP_OK, n, key, weight, nparts, share, cut);
}

int eqp_deal_keys(MPI_Comm comm, int64_t n, const uint64_t *key, int *dest)
{
    uint64_t *cut = NULL;
    int rank, nranks = 0, r = 0, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = n > 0 && !dest ? EQP_ERR_ARGUMENT : eqp_array_create(&cut, (int64_t)nranks + 1, sizeof *cut);
    EQP_TRY(cut_keys(comm, code, n, key, NULL, nranks, NULL, cut));
    for (int64_t i = 0; i < n; i++) {
        while (key[i] >= cut[r + 1]) {
            r++;
        }
        dest[i] = r;
    }
done:
    free(cut);
    return code;
}

/* Cuts keys that the application computed: sends each distinct key once to the rank of its range, cuts the sorted keys
 * there, and returns the parts. */

typedef struct keyed {
    uint64_t key;
    double work;
    int64_t from; /* index of the item */
} keyed;

static int by_key(const void *left, const void *right)
{
    const keyed *a = left, *b = right;

    return (a->key > b->key) - (a->key < b->key);
}

/* Sorts items and sums the work of equal keys; returns the number of keys left. of: [n] index of each item's key. */
static int64_t merge(int64_t n, keyed *item, int64_t *of)
{
    int64_t m = 0;

    qsort(item, (size_t)n, sizeof *item, by_key);
    for (int64_t i = 0; i < n; i++) {
        const keyed next = item[i];
        if (m > 0 && item[m - 1].key == next.key) {
            item[m - 1].work += next.work;
        } else {
            item[m++] = next;
        }
        of[next.from] = m - 1;
    }
    return m;
}

static int check(int64_t n, const uint64_t *key, const double *work, const int *part, eqp_message *message)
{
    EQP__FAIL_IF(n < 0 || (n > 0 && (key == NULL || part == NULL)),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "keys: no keys, no parts or a number of items below 0"));
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(key[i] == UINT64_MAX,
                     EQP__SAY(message, EQP_ERR_DATA,
                              "keys: item %" PRId64 " has the key 2^64 - 1, which ends all intervals", i));
        EQP__FAIL_IF(
            work != NULL && !(work[i] >= 0 && isfinite(work[i])),
            EQP__SAY(message, EQP_ERR_DATA, "keys: item %" PRId64 " has work that is negative or not finite", i));
    }
    return EQP_OK;
}

/* Parts of keys whose ranges ascend with the rank; item: [n] in any order. Collective. */
static int cut_dealt(MPI_Comm comm, int64_t n, keyed *item, int nparts, int *part)
{
    eqp_balance_options options = eqp_balance_options_defaults();
    int64_t *of = NULL;
    double *load = NULL;
    int *part_of = NULL, code = EQP__ARRAYS(EQP__ARRAY(of, n), EQP__ARRAY(load, n), EQP__ARRAY(part_of, n));

    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int64_t i = 0; i < n; i++) {
        item[i].from = i;
    }
    const int64_t m = merge(n, item, of);
    for (int64_t k = 0; k < m; k++) {
        load[k] = item[k].work;
    }
    options.nparts = nparts;
    EQP_TRY(eqp__cut_curve(comm, EQP_OK, m, load, &options, true, part_of));
    for (int64_t i = 0; i < n; i++) {
        part[i] = part_of[of[i]];
    }
done:
    EQP__FREE(of, load, part_of);
    return code;
}

/* Parts of this rank's distinct keys. item: [m] by ascending key. Collective. */
static int cut(MPI_Comm comm, int nranks, int64_t m, const keyed *item, int *part)
{
    eqp_move_plan *plan = NULL;
    int64_t *count = NULL, n = 0;
    uint64_t *key = NULL;
    keyed *dealt = NULL;
    int *dest = NULL, *there = NULL,
        code = EQP__ARRAYS(EQP__ARRAY(key, m), EQP__ARRAY(dest, m), EQP__ARRAY(count, nranks));

    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int64_t k = 0; k < m; k++) {
        key[k] = item[k].key;
    }
    EQP_TRY(eqp_deal_keys(comm, m, key, dest));
    code = eqp_move_plan_create(m, dest, nranks, &plan);
    EQP_TRY(eqp__move_new(comm, code, plan, sizeof *item, item, count, &n, &dealt));
    EQP_TRY(eqp_agree(comm, eqp_array_create(&there, n, sizeof *there), NULL));
    EQP_TRY(cut_dealt(comm, n, dealt, nranks, there));
    EQP_TRY(eqp_move_return(comm, plan, count, sizeof *part, there, part));
done:
    eqp_move_plan_free(plan);
    EQP__FREE(count, key, dest, dealt, there);
    return code;
}

/* Rounds work so that sums are exact. If the total is zero, sets all work to 1. Collective. */
static int weigh(MPI_Comm comm, int64_t n, double *work)
{
    double total = 0;

    EQP__CHECK(eqp__weights_round(comm, n, work));
    for (int64_t i = 0; i < n; i++) {
        total += work[i];
    }
    EQP__CHECK(eqp__sum_double(comm, 1, &total));
    EQP__CHECK(isfinite(total) ? EQP_OK : EQP_ERR_OVERFLOW);
    for (int64_t i = 0; i < n && total <= 0; i++) {
        work[i] = 1;
    }
    return EQP_OK;
}

int eqp_cut_keys(MPI_Comm comm, int64_t n, const uint64_t *key, const double *work, int *part, eqp_message *message)
{
    eqp_message why = {""};
    int64_t pair[2] = {INT64_MAX, INT64_MAX}, *of = NULL;
    keyed *item = NULL;
    double *load = NULL;
    int *part_of = NULL, rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = check(n, key, work, part, &why);
    code =
        code ? code : EQP__ARRAYS(EQP__ARRAY(item, n), EQP__ARRAY(load, n), EQP__ARRAY(of, n), EQP__ARRAY(part_of, n));
    if (n > 0) {
        eqp__put_value(pair, work != NULL);
    }
    EQP_TRY(eqp__agree_least(comm, code, 2, pair, &why));
    EQP_TRY(eqp__pair_differs(pair) ? EQP__SAY(&why, EQP_ERR_ARGUMENT, "keys: work is given on some ranks only")
                                    : EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        load[i] = work != NULL ? work[i] : 1;
    }
    EQP_TRY(weigh(comm, n, load));
    for (int64_t i = 0; i < n; i++) {
        item[i] = (keyed){key[i], load[i], i};
    }
    EQP_TRY(cut(comm, nranks, merge(n, item, of), item, part_of));
    for (int64_t i = 0; i < n; i++) {
        part[i] = part_of[of[i]];
    }
done:
    if (code != EQP_OK && message != NULL) {
        if (why.text[0] == '\0') {
            eqp_message_set(&why, "keys: %s",
                            code == EQP_ERR_OVERFLOW ? "the sum of all work is not finite" : eqp_error_text(code));
        }
        *message = why;
    }
    EQP__FREE(item, load, of, part_of);
    return code;
}
