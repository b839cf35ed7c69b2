/* SPDX-License-Identifier: BSD-3-Clause */
/* Bisection of one rank's items. For each node a first pass over its items finds the approximate place of the cut, a
 * second pass collects the items near it, and a third pass divides the items, which keep their order. */
#include "methods/tiles/tiles.h"

#include "base/internal.h"

#include <string.h>

enum {
    BIN_BITS = 9,
    BINS = 1 << BIN_BITS,
    FEW = 24,           /* most items that are sorted rather than counted */
    SAMPLE = 1024,      /* items that give the approximate place of the cut of a large node */
    MANY = 16 * SAMPLE, /* items of a large node */
};

/* Allowed error of a sample as a fraction of the load, on either side of the cut: three standard deviations of a random
 * sample. If the error is larger, all items are counted. */
#define SAMPLE_SLACK (3 * 0.5 / 32)

typedef struct bisection {
    const eqp__tile_plan *plan;
    int *part;
    eqp__tile_near *close, *closer; /* [n] work */
    uint32_t *number;               /* [n] work */
    int64_t bin[BINS], odd_bin[BINS];
} bisection;

/* A node and the state of the search for its cut. */
typedef struct node {
    int64_t n;
    eqp__tile_item *item;
    eqp__tile_reader reader;
    int64_t load;    /* of all items */
    int64_t unit;    /* added to every weight: 1 if all are 0 */
    double target;   /* target load on the left */
    int64_t before;  /* load left of the remaining items */
    int64_t nbefore; /* items left of the remaining items */
} node;

static bool comes_first(const eqp__tile_near *a, const eqp__tile_near *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void sort_few(eqp__tile_near *list, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        eqp__tile_near moving = list[i];
        int64_t j = i;
        for (; j > 0 && comes_first(&moving, &list[j - 1]); j--) {
            list[j] = list[j - 1];
        }
        list[j] = moving;
    }
}

int64_t eqp__tiles_cut_few(eqp__tile_near *list, int64_t n, int64_t unit, int64_t *load, double target, bool tied,
                           eqp__tile_cut *cut)
{
    int64_t j = 0, before = *load;

    sort_few(list, n);
    while (j < n && (double)(before + list[j].weight + unit) < target) {
        before += list[j++].weight + unit;
    }
    if (j < n && !(target - (double)before < (double)(before + list[j].weight + unit) - target)) {
        before += list[j++].weight + unit;
    }
    *load = before;
    if (j < n) {
        cut->key = list[j].key;
        cut->order = tied || (j > 0 && list[j - 1].key == list[j].key) ? list[j].order : 0;
    } else {
        cut->key = n == 0 ? 0 : list[n - 1].key + !tied;
        cut->order = n == 0 || !tied ? 0 : (int64_t)list[n - 1].order + 1;
    }
    return j;
}

/* Finds the bin in which the running load reaches the target; adds the load before it to node->before. */
static int find_bin(bisection *b, node *k, int nbins)
{
    int at = 0;

    while (at < nbins - 1 && (double)(k->before + b->bin[at]) < k->target) {
        k->before += b->bin[at++];
    }
    return at;
}

/* Clearing and scanning bins takes time, so few items get few bins. */
static int bin_bits(int64_t n)
{
    return n >= 4096 ? BIN_BITS : n >= 256 ? BIN_BITS - 3 : BIN_BITS - 5;
}

/* Bins over the approximate range of places; places beyond it go into the outermost bins. */
typedef struct bins {
    uint32_t low, last;
    int shift;
} bins;

static uint32_t bin_of(const node *k, const bins *by, const eqp__tile_item *t)
{
    uint32_t place = eqp__tile_place(t, k->reader);
    uint32_t at = (place > by->low ? place - by->low : 0) >> by->shift;

    return at < by->last ? at : by->last;
}

/* Adds every stride-th item to the load of its bin. */
static void count_bins(bisection *b, const node *k, const bins *by, int64_t stride)
{
    const size_t size = (by->last + 1) * sizeof *b->bin;
    int64_t i = 0;

    memset(b->bin, 0, size);
    memset(b->odd_bin, 0, size);
    /* Consecutive items often fall into the same bin; with two sets of bins their additions are independent. */
    for (; i + stride < k->n; i += 2 * stride) {
        const eqp__tile_item *even = &k->item[i], *odd = even + stride;
        b->bin[bin_of(k, by, even)] += even->weight + k->unit;
        b->odd_bin[bin_of(k, by, odd)] += odd->weight + k->unit;
    }
    if (i < k->n) {
        b->bin[bin_of(k, by, &k->item[i])] += k->item[i].weight + k->unit;
    }
    for (uint32_t at = 0; at <= by->last; at++) {
        b->bin[at] += b->odd_bin[at];
    }
}

/* Result of a pass over a node's items. */
typedef struct closest {
    int64_t n, load;         /* number and load of the items copied to b->close */
    int64_t nbefore, before; /* number and load of the items in lower bins */
} closest;

/* Copies the items of bins from low to high to b->close. */
static closest take_bins(bisection *b, const node *k, const bins *by, uint32_t low, uint32_t high)
{
    const uint32_t from = low > 0 ? by->low + (low << by->shift) : 0;
    const uint32_t most = high < by->last ? by->low + ((high + 1) << by->shift) - 1 - from : UINT32_MAX - from;
    const eqp__tile_reader r = k->reader;
    const eqp__tile_item *item = k->item;
    const int64_t count = k->n, unit = k->unit;
    uint32_t *number = b->number;
    closest found = {0};
    int64_t n = 0, nbefore = 0, before = 0;

    for (int64_t i = 0; i < count; i++) {
        const uint32_t place = eqp__tile_place(&item[i], r);
        const int64_t below = place < from;
        number[n] = (uint32_t)i;
        n += place - from <= most;
        nbefore += below;
        before += item[i].weight & -below;
    }
    for (int64_t i = 0; i < n; i++) {
        const eqp__tile_item *t = &item[number[i]];
        b->close[i] = (eqp__tile_near){eqp__tile_key(t, r), t->weight, t->order};
        found.load += t->weight + unit;
    }
    found.n = n;
    found.nbefore = nbefore;
    found.before = before + nbefore * unit;
    return found;
}

/* Estimates from a sample's loads the range of bins that holds the cut of all items. */
static void guess_bins(const bisection *b, const node *k, const bins *by, uint32_t *low, uint32_t *high)
{
    int64_t sum = 0, before = 0;
    uint32_t at = 0;

    for (uint32_t i = 0; i <= by->last; i++) {
        sum += b->bin[i];
    }
    const double wanted = k->target / (double)(k->load > 0 ? k->load : k->n), slack = SAMPLE_SLACK;
    while (at < by->last && (double)(before + b->bin[at]) < (wanted - slack) * (double)sum) {
        before += b->bin[at++];
    }
    *low = at;
    while (at < by->last && (double)(before + b->bin[at]) < (wanted + slack) * (double)sum) {
        before += b->bin[at++];
    }
    *high = at;
}

/* Copies items to b->close, including all items at the place of the cut; returns their number. low, high: approximate
 * range of the items. */
static int64_t collect_close(bisection *b, node *k, uint32_t low, uint32_t high)
{
    const int bits = bin_bits(k->n);
    const bins by = {low, ((uint32_t)1 << bits) - 1, eqp__tile_shift(high - low, bits)};
    closest found;

    if (k->n >= MANY) {
        uint32_t first, last;
        count_bins(b, k, &by, k->n / SAMPLE);
        guess_bins(b, k, &by, &first, &last);
        found = take_bins(b, k, &by, first, last);
        if ((double)found.before < k->target && (double)(found.before + found.load) >= k->target) {
            k->before = found.before;
            k->nbefore = found.nbefore;
            return found.n;
        }
    }
    count_bins(b, k, &by, 1);
    const uint32_t at = (uint32_t)find_bin(b, k, (int)by.last + 1);
    found = take_bins(b, k, &by, at, at);
    k->nbefore = found.nbefore;
    return found.n;
}

/* Keeps the items of b->close [n] in the bin of the cut; returns their number. by_order: all keys are equal, so bins
 * are ranges of orders. */
static int64_t narrow(bisection *b, node *k, int64_t n, uint64_t low, uint64_t high, bool by_order)
{
    const int shift = eqp__tile_shift(high - low, bin_bits(n));
    int64_t count = 0;

    memset(b->bin, 0, (((high - low) >> shift) + 1) * sizeof *b->bin);
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = by_order ? b->close[i].order : b->close[i].key;
        b->bin[(value - low) >> shift] += b->close[i].weight + k->unit;
    }
    const uint64_t at = (uint64_t)find_bin(b, k, (int)((high - low) >> shift) + 1);
    for (int64_t i = 0; i < n; i++) {
        uint64_t value = by_order ? b->close[i].order : b->close[i].key;
        uint64_t bin = (value - low) >> shift;
        b->closer[count] = b->close[i];
        count += bin == at;
        k->nbefore += bin < at;
    }
    eqp__tile_near *kept = b->closer;
    b->closer = b->close;
    b->close = kept;
    return count;
}

static int64_t find_cut(bisection *b, node *k, const eqp__tile_box *box, eqp__tile_cut *cut)
{
    const eqp__tile_reader r = k->reader;
    uint32_t place_low = box->low[r.first] + (box->low[r.second] & r.mask);
    uint32_t place_high = box->high[r.first] + (box->high[r.second] & r.mask);
    int64_t n = collect_close(b, k, place_low, place_high);
    bool tied = false;

    while (n > FEW) {
        uint64_t low = UINT64_MAX, high = 0;
        for (int64_t i = 0; i < n; i++) {
            low = b->close[i].key < low ? b->close[i].key : low;
            high = b->close[i].key > high ? b->close[i].key : high;
        }
        if (low < high) {
            n = narrow(b, k, n, low, high, false);
        } else {
            /* The items are in order, so the first and the last give the range. */
            n = narrow(b, k, n, b->close[0].order, b->close[n - 1].order, true);
            tied = true;
        }
    }
    return k->nbefore + eqp__tiles_cut_few(b->close, n, k->unit, &k->before, k->target, tied, cut);
}

void eqp__tiles_divide(const eqp__tile_item *item, int64_t n, const eqp__tile_cut *cut, int64_t nleft,
                       eqp__tile_item *to)
{
    const eqp__tile_reader reader = eqp__tile_reader_of(cut->direction);
    const eqp__tile_cut here = *cut; /* a local copy cannot alias `to` */
    int64_t left = 0, right = nleft;

    for (int64_t i = 0; i < n; i++) {
        const bool is_right = eqp__tile_is_right(&item[i], reader, &here);
        to[is_right ? right : left] = item[i];
        right += is_right;
        left += !is_right;
    }
}

static void assign(const bisection *b, const eqp__tile_item *item, int64_t n, int part)
{
    for (int64_t i = 0; i < n; i++) {
        b->part[item[i].order] = part;
    }
}

static void open_node(bisection *b, node *k, int first, int nparts, eqp__tile_cut *cut, eqp__tile_box *box)
{
    const int64_t stride = eqp__tiles_stride(k->n);
    eqp__tile_moments moments = {{0}};
    unsigned allowed;

    cut->left = eqp__tiles_split(b->plan, first, nparts, &allowed);
    *box = eqp__tile_box_nothing();
    eqp__tile_box_add(k->item, k->n, 0, stride, box);
    eqp__tile_moments_add(k->item, k->n, 0, stride, box, &moments);
    cut->direction = eqp__tiles_choose(&moments, b->plan->aspect, allowed);
    k->reader = eqp__tile_reader_of(cut->direction);
    k->unit = k->load == 0;
    k->target = eqp__tiles_target(b->plan, first, nparts, cut->left, k->load == 0 ? k->n : k->load);
}

/* Cuts item [n] into parts [first, first + nparts). spare: [n] work. */
static void bisect(bisection *b, eqp__tile_item *item, eqp__tile_item *spare, int64_t n, int64_t load, int first,
                   int nparts, eqp__tile_cut *cut)
{
    node k = {.n = n, .item = item, .load = load};
    eqp__tile_box box;

    if (nparts == 1) {
        assign(b, item, n, first);
        return;
    }
    open_node(b, &k, first, nparts, cut, &box);
    if (n == 0) {
        cut->key = 0;
        cut->order = 0;
    }
    int64_t nleft = n > 0 ? find_cut(b, &k, &box, cut) : 0;
    if (nparts == 2) {
        for (int64_t i = 0; i < n; i++) {
            b->part[item[i].order] = first + eqp__tile_is_right(&item[i], k.reader, cut);
        }
        return;
    }
    eqp__tiles_divide(item, n, cut, nleft, spare);
    const int64_t left = k.unit ? 0 : k.before;
    bisect(b, spare, item, nleft, left, first, cut->left, cut + 1);
    bisect(b, spare + nleft, item + nleft, n - nleft, load - left, first + cut->left, nparts - cut->left,
           cut + cut->left);
}

int eqp__tiles_bisect(const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item, eqp__tile_item *spare, int first,
                      int nparts, eqp__tile_cut *cut, int *part)
{
    int64_t load = 0;
    bisection b = {.plan = plan, .part = part};
    /* One more, since items that are not kept are written after the last kept one. */
    int code = EQP__ARRAYS(EQP__ARRAY(b.close, n + 1), EQP__ARRAY(b.closer, n + 1), EQP__ARRAY(b.number, n + 1));

    for (int64_t i = 0; i < n; i++) {
        load += item[i].weight;
    }
    if (!code) {
        bisect(&b, item, spare, n, load, first, nparts, cut);
    }
    EQP__FREE(b.close, b.closer, b.number);
    return code;
}
