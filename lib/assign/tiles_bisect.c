/* SPDX-License-Identifier: BSD-3-Clause */
/* Bisection of one rank's items: a pass over a node's items finds the place of its cut roughly, one collects what lies
 * there, and one divides the items, which keep their order. */
#include "assign/tiles.h"

#include <equipoise/base.h>

#include <stdlib.h>
#include <string.h>

enum {
    BIN_BITS = 9,
    BINS = 1 << BIN_BITS,
    FEW = 24, /* items that are sorted rather than counted */
};

typedef struct bisection {
    const eqp__tile_plan *plan;
    bool keep_directions;
    int *part;
    eqp__tile_near *close, *closer; /* [n] work */
    int64_t bin[BINS], odd_bin[BINS];
} bisection;

/* A node and what is known of its cut. */
typedef struct node {
    int64_t n;
    eqp__tile_item *item;
    eqp__tile_reader reader;
    int64_t load;    /* of all */
    int64_t unit;    /* added to every weight: 1 where all are 0 */
    double target;   /* load wanted on the left */
    int64_t before;  /* load left of everything that is still looked at */
    int64_t nbefore; /* and items */
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
    if (j < n && eqp__tiles_take(target, before, before + list[j].weight + unit)) {
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

/* The bin in which the running load reaches the target; the load before it is added to node->before. */
static int find_bin(bisection *b, node *k, int nbins)
{
    int at = 0;

    while (at < nbins - 1 && (double)(k->before + b->bin[at]) < k->target) {
        k->before += b->bin[at++];
    }
    return at;
}

static uint32_t bin_of(const node *k, const eqp__tile_item *t, uint32_t low, int shift)
{
    uint32_t place = eqp__tile_place(t, k->reader);
    uint32_t at = (place > low ? place - low : 0) >> shift;

    return at < BINS ? at : BINS - 1;
}

/* Copies the items at the place of the cut to b->close; returns their number. box: about where the items lie. */
static int64_t collect_close(bisection *b, node *k, uint32_t low, uint32_t high)
{
    const int shift = eqp__tile_shift(high - low, BIN_BITS);
    int64_t count = 0, before = 0;

    memset(b->bin, 0, sizeof b->bin);
    memset(b->odd_bin, 0, sizeof b->odd_bin);
    /* Neighbours often fall into one bin: with two sets of bins an addition need not wait for the one before. */
    for (int64_t i = 0; i + 1 < k->n; i += 2) {
        b->bin[bin_of(k, &k->item[i], low, shift)] += k->item[i].weight + k->unit;
        b->odd_bin[bin_of(k, &k->item[i + 1], low, shift)] += k->item[i + 1].weight + k->unit;
    }
    if (k->n % 2) {
        b->bin[bin_of(k, &k->item[k->n - 1], low, shift)] += k->item[k->n - 1].weight + k->unit;
    }
    for (int i = 0; i < BINS; i++) {
        b->bin[i] += b->odd_bin[i];
    }
    const uint32_t at = (uint32_t)find_bin(b, k, BINS);
    for (int64_t i = 0; i < k->n; i++) {
        const eqp__tile_item *t = &k->item[i];
        uint32_t bin = bin_of(k, t, low, shift);
        b->close[count] = (eqp__tile_near){eqp__tile_key(t, k->reader), t->weight, t->order};
        count += bin == at;
        before += bin < at;
    }
    k->nbefore = before;
    return count;
}

/* Keeps those of the n items in b->close that lie at the place of the cut; by_order: all keys are alike. */
static int64_t narrow(bisection *b, node *k, int64_t n, uint64_t low, uint64_t high, bool by_order)
{
    const int shift = eqp__tile_shift(high - low, BIN_BITS);
    int64_t count = 0;

    memset(b->bin, 0, sizeof b->bin);
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
            /* They are in order: the first and the last bound the others. */
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
    int64_t at[2] = {0, nleft};

    for (int64_t i = 0; i < n; i++) {
        int side = eqp__tile_is_right(&item[i], reader, cut);
        to[at[side]++] = item[i];
    }
}

static void assign(const bisection *b, const eqp__tile_item *item, int64_t n, int part)
{
    for (int64_t i = 0; b->part && i < n; i++) {
        b->part[item[i].order] = part;
    }
}

static void open_node(bisection *b, node *k, int first, int nparts, eqp__tile_cut *cut, eqp__tile_box *box)
{
    const int64_t stride = eqp__tiles_stride(k->n);
    unsigned allowed;

    cut->left = eqp__tiles_split(b->plan, first, nparts, &allowed);
    *box = eqp__tile_box_nothing();
    eqp__tile_box_add(k->item, k->n, 0, stride, box);
    if (!b->keep_directions) {
        eqp__tile_moments moments = {{0}};
        eqp__tile_moments_add(k->item, k->n, 0, stride, box, &moments);
        cut->direction = eqp__tiles_choose(&moments, b->plan->aspect, allowed);
    }
    k->reader = eqp__tile_reader_of(cut->direction);
    k->unit = k->load == 0;
    k->target = eqp__tiles_target(b->plan, first, nparts, cut->left, k->load == 0 ? k->n : k->load);
}

/* Cuts item [n], with the same place for work in spare, into parts [first, first + nparts). */
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
        if (!b->keep_directions) {
            cut->key = 0;
        }
        cut->order = 0;
    }
    int64_t nleft = n > 0 ? find_cut(b, &k, &box, cut) : 0;
    if (nparts == 2) {
        for (int64_t i = 0; b->part && i < n; i++) {
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

int eqp__tiles_bisect(const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item, eqp__tile_item *spare,
                      bool keep_directions, int first, int nparts, eqp__tile_cut *cut, int *part)
{
    int64_t load = 0;
    bisection b = {.plan = plan, .keep_directions = keep_directions, .part = part};
    /* One more, as what is not kept is written behind the last. */
    int code = eqp_array_create(&b.close, n + 1, sizeof *b.close);

    code = code ? code : eqp_array_create(&b.closer, n + 1, sizeof *b.closer);
    for (int64_t i = 0; i < n; i++) {
        load += item[i].weight;
    }
    if (!code) {
        bisect(&b, item, spare, n, load, first, nparts, cut);
    }
    free(b.close);
    free(b.closer);
    return code;
}
