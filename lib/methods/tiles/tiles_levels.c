/* SPDX-License-Identifier: BSD-3-Clause */
/* Bisection of distributed items, one level of the tree after the other. All sums over ranks are integer sums, so every
 * rank finds the same cuts, and one rank with all items would find them too. */
#include "methods/tiles/tiles.h"

#include "base/internal.h"
#include "comm/agree.h"

#include <equipoise/more/comm.h>

#include <string.h>

enum {
    MOST_PARTS = 1 << 24,
    FEW = 32,          /* most items near a cut that are sent to all ranks */
    ALL_BIN_BITS = 18, /* bins of all nodes of a level together */
    MOST_BIN_BITS = 8, /* bins of one node */
    LEAST_BIN_BITS = 3,
};

/* A node of the level. Members are the same on all ranks unless they belong to "this rank". */
typedef struct node {
    int first, nparts;
    int64_t begin, n;    /* this rank's items */
    int64_t before, all; /* items of ranks below this rank, items of all ranks */
    int64_t unit;        /* added to every weight: 1 if all are 0 */
    double target;       /* target load on the left */
    eqp__tile_box box;   /* of a sample */
    eqp__tile_cut cut;
    int64_t nclose;        /* this rank's candidates for the cut, from `begin` on in levels->close */
    int64_t all_close;     /* candidates of all ranks */
    int64_t left_of_close; /* load left of the candidates */
    uint64_t low, high;    /* range of their keys, or of their orders if all keys are equal */
    bool tied;
} node;

typedef struct traveller {
    int64_t node;
    eqp__tile_near near;
} traveller;

typedef struct levels {
    MPI_Comm comm;
    const eqp__tile_plan *plan;
    int64_t n, first_order;
    eqp__tile_item *item, *spare; /* [n] */
    eqp__tile_near *close;        /* [n] */
    traveller *traveller;         /* [n] */
    int nnodes;
    node *node, *next; /* [nparts] */
    int64_t *number;   /* values to sum over ranks; room for moments, counts and histograms of all nodes */
    uint64_t *bound;   /* [nparts * 2 * EQP__TILE_AXES] values whose minimum over ranks is taken */
    int *part;
} levels;

static int64_t histogram_room(int nparts)
{
    int64_t nodes = nparts, least = 2 * (nodes << LEAST_BIN_BITS), wanted = (int64_t)2 << ALL_BIN_BITS;

    return least > wanted ? least : wanted;
}

static int levels_open(levels *l, eqp__tile_item *item)
{
    const int nparts = l->plan->nparts;
    const int64_t moments = (int64_t)nparts * EQP__TILE_MOMENTS, bins = histogram_room(nparts);

    EQP__CHECK(nparts > MOST_PARTS ? EQP_ERR_OVERFLOW : EQP_OK);
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(l->spare, l->n), EQP__ARRAY(l->close, l->n), EQP__ARRAY(l->traveller, l->n),
                           EQP__ARRAY(l->node, nparts), EQP__ARRAY(l->next, nparts),
                           EQP__ARRAY(l->number, moments > bins ? moments : bins),
                           EQP__ARRAY(l->bound, (int64_t)nparts * 2 * EQP__TILE_AXES)));
    l->item = item;
    l->nnodes = nparts > 1;
    l->node[0] = (node){.first = 0, .nparts = nparts, .begin = 0, .n = l->n};
    return EQP_OK;
}

/* item: as passed to levels_open(); borrowed. l->item and l->spare may have been exchanged since. */
static void levels_close(levels *l, eqp__tile_item *item)
{
    EQP__FREE(l->item == item ? l->spare : l->item, l->close, l->traveller, l->node, l->next, l->number, l->bound);
}

static int add_up(const levels *l, int64_t n)
{
    return EQP__MPI(MPI_Allreduce(MPI_IN_PLACE, l->number, (int)n, MPI_INT64_T, MPI_SUM, l->comm));
}

static int find_least(const levels *l, int64_t n)
{
    return EQP__MPI(MPI_Allreduce(MPI_IN_PLACE, l->bound, (int)n, MPI_UINT64_T, MPI_MIN, l->comm));
}

/* Counts items and loads of every node and sets the target of its cut. Collective. */
static int count_items(levels *l, unsigned *allowed)
{
    const int n = l->nnodes;

    for (int k = 0; k < n; k++) {
        const node *a = &l->node[k];
        l->number[k] = a->n;
        l->number[n + k] = 0;
        for (int64_t i = a->begin; i < a->begin + a->n; i++) {
            l->number[n + k] += l->item[i].weight;
        }
        l->number[2 * n + k] = 0;
    }
    /* MPI_Exscan does not set the result of the first rank, which stays 0. */
    EQP__FAIL_IF(MPI_Exscan(l->number, l->number + (ptrdiff_t)2 * n, n, MPI_INT64_T, MPI_SUM, l->comm) != MPI_SUCCESS ||
                     add_up(l, 2 * (int64_t)n),
                 EQP_ERR_MPI);
    for (int k = 0; k < n; k++) {
        node *a = &l->node[k];
        int64_t load = l->number[n + k];
        a->all = l->number[k];
        a->before = l->number[2 * n + k];
        a->unit = load == 0;
        a->cut.left = eqp__tiles_split(l->plan, a->first, a->nparts, &allowed[k]);
        a->target = eqp__tiles_target(l->plan, a->first, a->nparts, a->cut.left, load == 0 ? a->all : load);
    }
    return EQP_OK;
}

/* This rank's first item of a node's sample. */
static int64_t first_of_sample(const node *a, int64_t stride)
{
    return a->begin + (stride - a->before % stride) % stride;
}

static int find_boxes(levels *l)
{
    enum { SIDES = 2 * EQP__TILE_AXES };

    for (int k = 0; k < l->nnodes; k++) {
        node *a = &l->node[k];
        const int64_t stride = eqp__tiles_stride(a->all);
        a->box = eqp__tile_box_nothing();
        eqp__tile_box_add(l->item, a->begin + a->n, first_of_sample(a, stride), stride, &a->box);
        for (int d = 0; d < EQP__TILE_AXES; d++) {
            l->bound[(ptrdiff_t)k * SIDES + d] = a->box.low[d];
            l->bound[(ptrdiff_t)k * SIDES + EQP__TILE_AXES + d] = UINT32_MAX - a->box.high[d];
        }
    }
    int code = find_least(l, (int64_t)l->nnodes * SIDES);
    for (int k = 0; k < l->nnodes; k++) {
        for (int d = 0; d < EQP__TILE_AXES; d++) {
            l->node[k].box.low[d] = (uint32_t)l->bound[(ptrdiff_t)k * SIDES + d];
            l->node[k].box.high[d] = UINT32_MAX - (uint32_t)l->bound[(ptrdiff_t)k * SIDES + EQP__TILE_AXES + d];
        }
    }
    return code;
}

/* Stores the moments of all nodes in l->number. */
static int find_moments(levels *l)
{
    for (int k = 0; k < l->nnodes; k++) {
        const node *a = &l->node[k];
        const int64_t stride = eqp__tiles_stride(a->all);
        eqp__tile_moments moments = {{0}};
        eqp__tile_moments_add(l->item, a->begin + a->n, first_of_sample(a, stride), stride, &a->box, &moments);
        memcpy(l->number + (ptrdiff_t)k * EQP__TILE_MOMENTS, moments.sum, sizeof moments.sum);
    }
    return add_up(l, (int64_t)l->nnodes * EQP__TILE_MOMENTS);
}

static int choose_directions(levels *l, const unsigned *allowed)
{
    int code = find_boxes(l);

    code = code ? code : find_moments(l);
    for (int k = 0; k < l->nnodes && !code; k++) {
        eqp__tile_moments moments;
        memcpy(moments.sum, l->number + (ptrdiff_t)k * EQP__TILE_MOMENTS, sizeof moments.sum);
        l->node[k].cut.direction = eqp__tiles_choose(&moments, l->plan->aspect, allowed[k]);
    }
    return code;
}

/* Makes every item of a node a candidate for its cut. */
static void open_search(levels *l)
{
    for (int k = 0; k < l->nnodes; k++) {
        node *a = &l->node[k];
        const eqp__tile_reader reader = eqp__tile_reader_of(a->cut.direction);
        a->nclose = a->n;
        a->all_close = a->all;
        a->left_of_close = 0;
        a->tied = false;
        for (int64_t i = a->begin; i < a->begin + a->n; i++) {
            const eqp__tile_item *t = &l->item[i];
            l->close[i] = (eqp__tile_near){eqp__tile_key(t, reader), t->weight, t->order};
        }
    }
}

static uint64_t value_of(const node *a, const eqp__tile_near *near)
{
    return a->tied ? near->order : near->key;
}

/* Finds the range of the candidates of each node that has more than FEW. Collective. */
static int find_ranges(levels *l)
{
    for (int k = 0; k < l->nnodes; k++) {
        const node *a = &l->node[k];
        uint64_t low = UINT64_MAX, high = 0;
        for (int64_t i = a->begin; i < a->begin + a->nclose && a->all_close > FEW; i++) {
            uint64_t value = value_of(a, &l->close[i]);
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        l->bound[2 * (ptrdiff_t)k] = low;
        l->bound[2 * (ptrdiff_t)k + 1] = UINT64_MAX - high;
    }
    int code = find_least(l, 2 * (int64_t)l->nnodes);
    for (int k = 0; k < l->nnodes; k++) {
        l->node[k].low = l->bound[2 * (ptrdiff_t)k];
        l->node[k].high = UINT64_MAX - l->bound[2 * (ptrdiff_t)k + 1];
    }
    return code;
}

/* True if a round reduces the candidates of this node: it has more than FEW, and their values differ. */
static bool is_narrowed(const node *a)
{
    return a->all_close > FEW && a->low < a->high;
}

/* Keeps the candidates in the bin that holds the target. bin: [nbins][2] loads and items. */
static void keep_bin(levels *l, node *a, int shift, const int64_t *bin)
{
    int64_t kept = 0;
    uint64_t at = 0;
    const uint64_t last = (a->high - a->low) >> shift;

    while (at < last && (double)(a->left_of_close + bin[2 * at]) < a->target) {
        a->left_of_close += bin[2 * at++];
    }
    a->all_close = bin[2 * at + 1];
    for (int64_t i = a->begin; i < a->begin + a->nclose; i++) {
        if ((value_of(a, &l->close[i]) - a->low) >> shift == at) {
            l->close[a->begin + kept++] = l->close[i];
        }
    }
    a->nclose = kept;
}

/* One round for all nodes; sets *more if another one is needed. Collective. */
static int narrow(levels *l, bool *more)
{
    int bits = MOST_BIN_BITS, code = find_ranges(l);

    while (bits > LEAST_BIN_BITS && (int64_t)l->nnodes << bits > (int64_t)1 << ALL_BIN_BITS) {
        bits--;
    }
    const int64_t width = (int64_t)2 << bits;
    memset(l->number, 0, (size_t)(l->nnodes * width) * sizeof *l->number);
    for (int k = 0; k < l->nnodes && !code; k++) {
        const node *a = &l->node[k];
        int64_t *bin = l->number + k * width;
        const int shift = eqp__tile_shift(a->high - a->low, bits);
        for (int64_t i = a->begin; i < a->begin + a->nclose && is_narrowed(a); i++) {
            uint64_t at = (value_of(a, &l->close[i]) - a->low) >> shift;
            bin[2 * at] += l->close[i].weight + a->unit;
            bin[2 * at + 1]++;
        }
    }
    code = code ? code : add_up(l, l->nnodes * width);
    *more = false;
    for (int k = 0; k < l->nnodes && !code; k++) {
        node *a = &l->node[k];
        if (is_narrowed(a)) {
            keep_bin(l, a, eqp__tile_shift(a->high - a->low, bits), l->number + k * width);
        } else {
            a->tied = a->tied || a->all_close > FEW;
        }
        *more = *more || a->all_close > FEW;
    }
    return code;
}

static int by_node(const void *a, const void *b)
{
    const traveller *x = a, *y = b;

    return (x->node > y->node) - (x->node < y->node);
}

/* Gathers the few remaining candidates of each node on every rank, and cuts between them. Collective. */
static int cut_few(levels *l)
{
    int64_t count = 0, nall = 0, at = 0;
    traveller *all = NULL;
    eqp__tile_near few[FEW];

    for (int k = 0; k < l->nnodes; k++) {
        for (int64_t i = 0; i < l->node[k].nclose; i++) {
            l->traveller[count++] = (traveller){k, l->close[l->node[k].begin + i]};
        }
    }
    EQP__CHECK(eqp_gather_records(l->comm, sizeof *all, count, l->traveller, &nall, &all));
    if (nall > 0) {
        qsort(all, (size_t)nall, sizeof *all, by_node);
    }
    for (int k = 0; k < l->nnodes; k++) {
        node *a = &l->node[k];
        int64_t n = 0;
        for (; at < nall && all[at].node == k && n < FEW; at++) {
            few[n++] = all[at].near;
        }
        (void)eqp__tiles_cut_few(few, n, a->unit, &a->left_of_close, a->target, a->tied, &a->cut);
    }
    free(all);
    return EQP_OK;
}

static void assign(const levels *l, int64_t begin, int64_t n, int part)
{
    for (int64_t i = begin; i < begin + n; i++) {
        l->part[l->item[i].order - l->first_order] = part;
    }
}

/* Divides the items of every node; sides with several parts become the nodes of the next level. */
static void descend(levels *l)
{
    int nnext = 0;

    for (int k = 0; k < l->nnodes; k++) {
        const node *a = &l->node[k];
        const eqp__tile_reader reader = eqp__tile_reader_of(a->cut.direction);
        int64_t nleft = 0;
        for (int64_t i = a->begin; i < a->begin + a->n; i++) {
            nleft += !eqp__tile_is_right(&l->item[i], reader, &a->cut);
        }
        eqp__tiles_divide(l->item + a->begin, a->n, &a->cut, nleft, l->spare + a->begin);
        l->next[nnext++] = (node){.first = a->first, .nparts = a->cut.left, .begin = a->begin, .n = nleft};
        l->next[nnext++] = (node){.first = a->first + a->cut.left,
                                  .nparts = a->nparts - a->cut.left,
                                  .begin = a->begin + nleft,
                                  .n = a->n - nleft};
    }
    eqp__tile_item *item = l->spare;
    l->spare = l->item;
    l->item = item;
    l->nnodes = 0;
    for (int k = 0; k < nnext; k++) {
        const node *a = &l->next[k];
        if (a->nparts > 1) {
            l->node[l->nnodes++] = *a;
        } else {
            assign(l, a->begin, a->n, a->first);
        }
    }
}

static int cut_level(levels *l, unsigned *allowed)
{
    bool more = true;
    int code = count_items(l, allowed);

    EQP__CHECK(code);
    code = choose_directions(l, allowed);
    EQP__CHECK(code);
    open_search(l);
    while (more && !code) {
        code = narrow(l, &more);
    }
    EQP__CHECK(code);
    EQP__CHECK(cut_few(l));
    descend(l);
    return EQP_OK;
}

int eqp__tiles_bisect_all(MPI_Comm comm, const eqp__tile_plan *plan, int64_t n, eqp__tile_item *item,
                          int64_t first_order, int *part)
{
    levels l = {.comm = comm, .plan = plan, .n = n, .first_order = first_order, .item = item, .part = part};
    unsigned *allowed = NULL;
    int code = levels_open(&l, item);

    code = code ? code : eqp_array_create(&allowed, plan->nparts, sizeof *allowed);
    code = eqp_agree(comm, code, NULL);
    for (int64_t i = 0; i < n && !code && plan->nparts == 1; i++) {
        part[i] = 0;
    }
    while (!code && l.nnodes > 0) {
        code = cut_level(&l, allowed);
    }
    free(allowed);
    levels_close(&l, item);
    return code;
}
