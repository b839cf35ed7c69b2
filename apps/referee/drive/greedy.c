/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const eqp_method greedy = {.name = "greedy",
                                  .summary = "heaviest items first, exchanges, blocks together: as even as it gets",
                                  .flags = EQP_NEEDS_WEIGHTS};
static const eqp_method *const rows[] = {&greedy};
const eqp_methods rf_methods = {rows, 1};

/* Searches start several times: few items are tried in many ways, many items in one. */
enum { SEARCHES = 16, TRIALS_EACH = 40, LEAST_TRIALS = 40000, MOST_TRIALS = 3000000, COOLING = 256 };

/* Most items times parts that are tried one by one; beyond this the search handles memory. */
#define MOST_PAIRS 2e7

/* Cost of exceeding a capacity by its whole size, in squares of mean loads. */
#define OVERFLOW 2.0

typedef struct held {
    int32_t part, items;
} held;

typedef struct packer {
    const rf_packing *in;
    const rf_trace *trace;
    int64_t n, nmoving;
    int64_t *moving; /* [nmoving] heaviest first */
    double mean;
    int *part;     /* [n] */
    double *load;  /* [nparts] */
    double *own;   /* [nparts] bytes of a part without items */
    double *bytes; /* [nparts] without working sets */
    double *most;  /* [nparts] largest working set, as a lower bound */
    /* memory only: the parts in which each block is */
    held *where;          /* [n] */
    int64_t *where_first; /* [nblocks + 1] into where and member */
    int32_t *nwhere;      /* [nblocks] */
    int64_t *member;      /* [n] items of each block */
    bool even;            /* minimizes squares, else the largest loads */
    uint64_t counter;
    int *best; /* [n] */
    double best_over, best_load;
} packer;

static int32_t block_of(const packer *k, int64_t item)
{
    return k->where != NULL ? k->trace->memory.block[item] : -1;
}

/* Items of the item's block in a part. */
static int32_t items_there(const packer *k, int32_t block, int part)
{
    const held *where = block >= 0 ? k->where + k->where_first[block] : NULL;

    for (int32_t i = 0; block >= 0 && i < k->nwhere[block]; i++) {
        if (where[i].part == part) {
            return where[i].items;
        }
    }
    return 0;
}

static void count_there(const packer *k, int32_t block, int part, int change)
{
    held *where = block >= 0 ? k->where + k->where_first[block] : NULL;
    int32_t i = 0;

    if (block < 0) {
        return;
    }
    while (i < k->nwhere[block] && where[i].part != part) {
        i++;
    }
    if (i == k->nwhere[block]) {
        where[k->nwhere[block]++] = (held){part, 0};
    }
    where[i].items += change;
    if (where[i].items == 0) {
        where[i] = where[--k->nwhere[block]];
    }
}

/* Bytes that a part gains with the item or loses without it. count: items of its block there, excluding itself. */
static double bytes_with(const packer *k, int64_t item, int32_t count)
{
    const int32_t block = block_of(k, item);

    return rf_memory_held(k->trace, item) + (block >= 0 && count == 0 ? k->trace->memory.block_bytes[block] : 0.0);
}

static void put(packer *k, int64_t item, int part)
{
    const int32_t block = block_of(k, item);

    k->part[item] = part;
    k->load[part] += k->in->load[item];
    if (k->in->capacity != NULL) {
        k->bytes[part] += bytes_with(k, item, items_there(k, block, part));
        k->most[part] = fmax(k->most[part], rf_memory_working(k->trace, item));
        count_there(k, block, part, 1);
    }
}

static void take(packer *k, int64_t item)
{
    const int32_t block = block_of(k, item);
    const int part = k->part[item];

    k->load[part] -= k->in->load[item];
    if (k->in->capacity != NULL) {
        count_there(k, block, part, -1);
        k->bytes[part] -= bytes_with(k, item, items_there(k, block, part));
    }
    k->part[item] = -1;
}

/* Cost of a load: its square evens out all parts, its eighth power lowers the largest. */
static double price(const packer *k, double load)
{
    const double x = load / k->mean, square = x * x;

    return k->even ? square : square * square * square * square;
}

static double over(const packer *k, int part, double more, double working)
{
    const double capacity = k->in->capacity[part];

    return fmax(k->bytes[part] + more + fmax(k->most[part], working) - capacity, 0.0) / capacity;
}

/* Cost of a part: its load, and memory beyond its cap. */
static double cost(const packer *k, int part)
{
    return price(k, k->load[part]) + (k->in->capacity != NULL ? OVERFLOW * over(k, part, 0.0, 0.0) : 0.0);
}

static int64_t below(uint64_t word, int64_t n)
{
    return (int64_t)((word & 0xffffffff) * (uint64_t)n >> 32);
}

/* One trial: moves an item to another part, swaps it with an item of another part, or moves it to its block. Kept if
 * the cost decreases, or increases slightly for the temperature. */
static void try_change(packer *k, double temperature)
{
    uint64_t word[2];
    eqp_random_block(k->in->seed, 1, k->counter++, word);
    const int64_t i = k->moving[below(word[0], k->nmoving)], other = k->moving[below(word[0] >> 32, k->nmoving)];
    const int32_t block = block_of(k, i);
    const int from = k->part[i];
    const int64_t kind = (int64_t)(word[1] & 3);
    int to = k->part[other];
    bool swap = kind == 0;

    if (kind == 1) { /* any part, even an empty one */
        to = (int)below(word[1] >> 11, k->in->nparts);
    } else if (kind == 2 && block >= 0) {
        const int64_t first = k->where_first[block], count = k->where_first[block + 1] - first;
        to = k->part[k->member[first + below(word[1] >> 11, count)]];
    }
    if (to == from) {
        return;
    }
    const double before = cost(k, from) + cost(k, to);
    const double most[2] = {k->most[from], k->most[to]};
    take(k, i);
    if (swap) {
        take(k, other);
        put(k, other, from);
    }
    put(k, i, to);
    const double change = cost(k, from) + cost(k, to) - before;
    if (change <= 0 || (double)(word[1] >> 11) * 0x1p-53 < exp(-change / temperature)) {
        return;
    }
    take(k, i);
    if (swap) {
        take(k, other);
        put(k, other, to);
    }
    put(k, i, from);
    k->most[from] = most[0];
    k->most[to] = most[1];
}

/* Recomputes the sums, which accumulate rounding errors, and the largest working sets, which only grow in trials. */
static void sum_up(packer *k)
{
    memset(k->load, 0, (size_t)k->in->nparts * sizeof *k->load);
    memset(k->most, 0, (size_t)k->in->nparts * sizeof *k->most);
    memcpy(k->bytes, k->own, (size_t)k->in->nparts * sizeof *k->bytes);
    if (k->where != NULL) {
        memset(k->nwhere, 0, (size_t)k->trace->memory.nblocks * sizeof *k->nwhere);
    }
    for (int64_t i = 0; i < k->n; i++) {
        if (k->part[i] >= 0) {
            put(k, i, k->part[i]);
        }
    }
}

/* Keeps the map if it exceeds memory less, or as little and is more even. True if it is optimal. */
static bool keep_best(packer *k)
{
    double too_much = 0.0, most = 0.0;

    sum_up(k);
    for (int p = 0; p < k->in->nparts; p++) {
        too_much += k->in->capacity != NULL ? over(k, p, 0.0, 0.0) : 0.0;
        most = fmax(most, k->load[p]);
    }
    if (too_much < k->best_over || (too_much <= k->best_over && most < k->best_load)) {
        k->best_over = too_much;
        k->best_load = most;
        memcpy(k->best, k->part, (size_t)k->n * sizeof *k->best);
    }
    return k->best_over <= 0 && k->best_load <= k->in->bound * (1 + 1e-12);
}

/* Order of a heap of parts with the least loaded on top. */
static bool is_less(const packer *k, int a, int b)
{
    return k->load[a] != k->load[b] ? k->load[a] < k->load[b] : a < b;
}

static void sift(const packer *k, int *heap, int at)
{
    for (int n = k->in->nparts, child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && is_less(k, heap[child + 1], heap[child]);
        if (!is_less(k, heap[child], heap[at])) {
            return;
        }
        const int swap = heap[at];
        heap[at] = heap[child];
        heap[child] = swap;
    }
}

/* Heaviest items first, each to the lightest part; with capacities, to the part with the least load and new memory. */
static void deal(packer *k, int *heap)
{
    const int nparts = k->in->nparts;
    const bool fits = k->in->capacity != NULL && (double)nparts * (double)k->nmoving <= MOST_PAIRS;

    for (int p = 0; p < nparts; p++) {
        heap[p] = p;
    }
    for (int p = nparts / 2; p >= 0; p--) {
        sift(k, heap, p);
    }
    for (int64_t m = 0; m < k->nmoving; m++) {
        const int64_t i = k->moving[m];
        int best = heap[0];
        if (fits) {
            double least = INFINITY;
            for (int p = 0; p < nparts; p++) { /* new memory costs even if it fits */
                const double more = bytes_with(k, i, items_there(k, block_of(k, i), p));
                const double costs =
                    (k->load[p] + k->in->load[i]) / k->mean +
                    OVERFLOW * (over(k, p, more, rf_memory_working(k->trace, i)) + more / k->in->capacity[p]);
                best = costs < least ? p : best;
                least = fmin(least, costs);
            }
            put(k, i, best);
        } else {
            put(k, i, best);
            sift(k, heap, 0);
        }
    }
}

/* Cools from `hot` squares of a mean item down to a negligible temperature. */
static void anneal(packer *k, int64_t trials, double hot)
{
    const double item = k->in->nparts / (double)k->nmoving; /* of a mean load */
    const double first = hot * item * item, last = 1e-9 * item * item;

    const int64_t drift = COOLING * (64 + k->n / 64);
    double temperature = first;

    for (int64_t t = 0; t < trials; t++) {
        temperature = t % COOLING == 0 ? first * pow(last / first, (double)t / (double)trials) : temperature;
        try_change(k, temperature);
        if (t % drift == drift - 1) {
            sum_up(k);
        }
    }
}

static void search(packer *k, int *heap)
{
    const double wanted = (double)TRIALS_EACH * (double)k->nmoving;
    const int64_t trials = (int64_t)fmin(fmax(wanted, LEAST_TRIALS), MOST_TRIALS);
    const int searches = (int)fmin(fmax(MOST_TRIALS / (double)trials, 1.0), SEARCHES);

    deal(k, heap);
    if (keep_best(k) || k->in->nparts == 1 || k->nmoving == 0) {
        return;
    }
    for (int s = 0; s < searches; s++) {
        k->even = s % 2 == 0;
        anneal(k, trials, s == 0 ? 0.1 : 10.0);
        if (keep_best(k)) {
            break;
        }
        memcpy(k->part, k->best, (size_t)k->n * sizeof *k->part);
        sum_up(k);
    }
}

typedef struct weighed {
    double load;
    int64_t item;
} weighed;

static int by_load(const void *a, const void *b)
{
    const weighed *x = a, *y = b;

    return x->load != y->load ? (x->load < y->load) - (x->load > y->load) : (x->item > y->item) - (x->item < y->item);
}

static int sort_items(packer *k)
{
    APP_FREED weighed *all = NULL;
    double sum = 0.0;

    EQP_CHECK(eqp_array_create(&all, k->n, sizeof *all));
    EQP_CHECK(eqp_array_create(&k->moving, k->n, sizeof *k->moving));
    for (int64_t i = 0; i < k->n; i++) {
        sum += k->in->load[i];
        k->part[i] = k->in->pinned[i];
        if (k->in->pinned[i] < 0) {
            all[k->nmoving++] = (weighed){k->in->load[i], i};
        }
    }
    qsort(all, (size_t)k->nmoving, sizeof *all, by_load);
    for (int64_t m = 0; m < k->nmoving; m++) {
        k->moving[m] = all[m].item;
    }
    k->mean = sum > 0 ? sum / k->in->nparts : 1.0;
    return EQP_OK;
}

/* Tables of blocks: a block is on at most as many parts as it has items. */
static int sort_blocks(packer *k)
{
    const rf_memory *m = &k->trace->memory;

    if (k->in->capacity == NULL || m->nblocks == 0) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_array_create(&k->where, k->n, sizeof *k->where));
    EQP_CHECK(eqp_array_create(&k->member, k->n, sizeof *k->member));
    EQP_CHECK(eqp_array_create(&k->where_first, (int64_t)m->nblocks + 2, sizeof *k->where_first));
    EQP_CHECK(eqp_array_create(&k->nwhere, m->nblocks, sizeof *k->nwhere));
    for (int64_t i = 0; i < k->n; i++) {
        k->where_first[m->block[i] >= 0 ? m->block[i] + 2 : 0] += m->block[i] >= 0;
    }
    for (int32_t b = 2; b <= m->nblocks; b++) {
        k->where_first[b] += k->where_first[b - 1];
    }
    for (int64_t i = 0; i < k->n; i++) {
        if (m->block[i] >= 0) {
            k->member[k->where_first[m->block[i] + 1]++] = i;
        }
    }
    return EQP_OK;
}

int rf_pack(const rf_packing *packing, int *part)
{
    packer k = {.in = packing, .trace = packing->trace, .n = packing->trace->n, .best_over = INFINITY};
    int *heap = NULL;
    int code;

    k.best_load = INFINITY;
    EQP_TRY(eqp_array_create(&k.part, k.n, sizeof *k.part));
    EQP_TRY(eqp_array_create(&k.best, k.n, sizeof *k.best));
    EQP_TRY(eqp_array_create(&k.load, packing->nparts, sizeof *k.load));
    EQP_TRY(eqp_array_create(&k.own, packing->nparts, sizeof *k.own));
    EQP_TRY(eqp_array_create(&k.bytes, packing->nparts, sizeof *k.bytes));
    rf_memory_own(packing->trace, packing->nparts, k.own);
    EQP_TRY(eqp_array_create(&k.most, packing->nparts, sizeof *k.most));
    EQP_TRY(eqp_array_create(&heap, packing->nparts, sizeof *heap));
    EQP_TRY(sort_items(&k));
    EQP_TRY(sort_blocks(&k));
    sum_up(&k);
    search(&k, heap);
    memcpy(part, k.best, (size_t)k.n * sizeof *part);
done:
    free(heap);
    free(k.moving);
    free(k.part);
    free(k.best);
    free(k.load);
    free(k.own);
    free(k.bytes);
    free(k.most);
    free(k.where);
    free(k.where_first);
    free(k.nwhere);
    free(k.member);
    return code;
}
