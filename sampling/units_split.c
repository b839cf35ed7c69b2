/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits an owner too heavy for one unit: sampled centroids, their Voronoi cells, and more samples in cells that are
 * still too heavy (Pearce 2014, Algorithm 6, lines 5 to 17). Every pass streams over the owner's interactions. */
#include "units_internal.h"

#include "memory.h"
#include <equipoise/more/random.h>

#include <math.h>
#include <string.h>

/* Rounds of counting. Each divides a heavy cell into about weight / target pieces, so two or three suffice; the limit
 * is for degenerate data. */
#define MAX_ROUNDS 10

int eqp__grow(void **array, int64_t *capacity, int64_t need, size_t size)
{
    if (need <= *capacity) {
        return EQP_OK;
    }
    int64_t room = *capacity * 2 > need ? *capacity * 2 : need;
    void *grown = eqp__realloc(*array, (size_t)room, size);
    EQP__FAIL_IF(!grown, EQP_ERR_MEMORY);
    *array = grown;
    *capacity = room;
    return EQP_OK;
}

/* Grows to exactly `room` elements; the old array stays valid on failure. */
static bool resize(void **array, int64_t room, size_t size)
{
    void *grown = eqp__realloc(*array, (size_t)room, size);

    if (grown) {
        *array = grown;
    }
    return grown != NULL;
}

static int reserve(struct eqp__splitter *s, int64_t need)
{
    EQP__FAIL_IF(need > EQP__SUB_LIMIT, EQP_ERR_OVERFLOW);
    if (need <= s->capacity) {
        return EQP_OK;
    }
    int64_t room = s->capacity * 2 > need ? s->capacity * 2 : need + 8;
    size_t point = (size_t)s->dim * sizeof(double);
    bool ok = resize((void **)&s->centroid, room, point) && resize((void **)&s->pick, room, point) &&
              resize((void **)&s->count, room, sizeof(int64_t)) && resize((void **)&s->weight, room, sizeof(int64_t)) &&
              resize((void **)&s->same, room, sizeof(int64_t)) && resize((void **)&s->stratum, room, sizeof(int64_t)) &&
              resize((void **)&s->picked, room, sizeof(char)) && resize((void **)&s->due, room, sizeof(int64_t)) &&
              resize((void **)&s->key, room, sizeof(double)) && resize((void **)&s->index, room, sizeof(int64_t)) &&
              resize((void **)&s->have, room, sizeof(int64_t)) && resize((void **)&s->done, room, sizeof(int64_t));
    EQP__FAIL_IF(!ok, EQP_ERR_MEMORY);
    s->capacity = room;
    return EQP_OK;
}

void eqp__splitter_free(struct eqp__splitter *s)
{
    eqp_kdtree_free(s->tree);
    EQP__FREE(s->centroid, s->pick, s->count, s->weight, s->same, s->stratum, s->picked, s->due, s->key, s->index,
              s->have, s->done, s->candidate, s->candidate_cell);
    eqp__sketches_free(&s->pins);
}

static double *centroid_of(const struct eqp__splitter *s, int64_t cell)
{
    return s->centroid + cell * s->dim;
}

static bool equal(int dim, const double *a, const double *b)
{
    for (int d = 0; d < dim; d++) {
        if (a[d] != b[d]) {
            return false;
        }
    }
    return true;
}

/* --- the first samples --- */

static int add_cell(struct eqp__splitter *s, const double *centroid)
{
    EQP_CHECK(reserve(s, s->n + 1));
    memcpy(centroid_of(s, s->n), centroid, (size_t)s->dim * sizeof *centroid);
    s->n++;
    return EQP_OK;
}

static int sample_drawn(void *context, const struct eqp__chunk *chunk)
{
    struct eqp__splitter *s = context;
    int code = EQP_OK;

    for (; s->draw.next < chunk->first + chunk->n && code == EQP_OK; eqp__draw_next(&s->draw)) {
        code = add_cell(s, chunk->centroid + (s->draw.next - chunk->first) * s->dim);
    }
    return code;
}

static int sample_stride(void *context, const struct eqp__chunk *chunk)
{
    struct eqp__splitter *s = context;
    int code = EQP_OK;

    if (chunk->sum < EQP__WEIGHT_LIMIT - s->passed && (double)(s->passed + chunk->sum) <= s->next) {
        s->passed += chunk->sum; /* no sample is due */
        return EQP_OK;
    }
    for (int64_t i = 0; i < chunk->n && code == EQP_OK; i++) {
        s->passed += chunk->weight[i];
        EQP__FAIL_IF(s->passed >= EQP__WEIGHT_LIMIT, EQP_ERR_OVERFLOW);
        if ((double)s->passed > s->next) {
            code = add_cell(s, chunk->centroid + i * s->dim);
            /* an interaction heavier than the step is still one sample */
            s->next += s->step * ceil(((double)s->passed - s->next) / s->step);
        }
    }
    return code;
}

static bool after(const struct eqp__splitter *s, int64_t a, int64_t b)
{
    return s->key[a] > s->key[b] || (s->key[a] == s->key[b] && s->index[a] > s->index[b]);
}

static void swap_cells(struct eqp__splitter *s, int64_t a, int64_t b)
{
    double key = s->key[a];
    int64_t index = s->index[a];

    s->key[a] = s->key[b];
    s->key[b] = key;
    s->index[a] = s->index[b];
    s->index[b] = index;
    for (int d = 0; d < s->dim; d++) {
        double x = centroid_of(s, a)[d];
        centroid_of(s, a)[d] = centroid_of(s, b)[d];
        centroid_of(s, b)[d] = x;
    }
}

static void sift_up(struct eqp__splitter *s, int64_t at)
{
    for (; at > 0 && after(s, at, (at - 1) / 2); at = (at - 1) / 2) {
        swap_cells(s, at, (at - 1) / 2);
    }
}

static void sift_down(struct eqp__splitter *s, int64_t n)
{
    for (int64_t at = 0, child = 1; child < n; at = child, child = 2 * at + 1) {
        child += child + 1 < n && after(s, child + 1, child);
        if (!after(s, child, at)) {
            return;
        }
        swap_cells(s, at, child);
    }
}

/* Replaces the interaction with the largest key in the sample, and draws the weight to pass before the next one enters.
 * `below`: an upper bound of the new key */
static int enter(struct eqp__splitter *s, const double *centroid, int64_t weight, int64_t index, double below)
{
    uint64_t bits[2];

    eqp_random_block(s->random, (uint64_t)s->id, (uint64_t)index, bits);
    const double u = (double)(bits[0] >> 11) * 0x1p-53, v = (double)(bits[1] >> 11) * 0x1p-53;
    const double key = -log1p(u * expm1(-below * (double)weight)) / (double)weight;
    if (s->n < s->wanted) {
        EQP__CHECK(add_cell(s, centroid));
        s->key[s->n - 1] = key;
        s->index[s->n - 1] = index;
        sift_up(s, s->n - 1);
    } else {
        memcpy(s->centroid, centroid, (size_t)s->dim * sizeof(double));
        s->key[0] = key;
        s->index[0] = index;
        sift_down(s, s->n);
    }
    if (s->n == s->wanted) {
        s->next = (double)s->passed - log1p(-v) / s->key[0];
    }
    return EQP_OK;
}

/* A sample without replacement in proportion to weight, in one pass: a heap of the smallest keys, which are exponential
 * deviates divided by weights. An interaction enters if its key is below the largest in the heap. The weight passed
 * until then is an exponential deviate, too, so skipped interactions need no random numbers (P. S. Efraimidis and P. G.
 * Spirakis, Inf. Process. Lett. 97 (2006) 181, algorithm A-ExpJ). */
static int sample_random(void *context, const struct eqp__chunk *chunk)
{
    struct eqp__splitter *s = context;
    int code = EQP_OK;

    EQP__FAIL_IF(chunk->sum >= EQP__WEIGHT_LIMIT - s->passed, EQP_ERR_OVERFLOW);
    if (s->n == s->wanted && (double)(s->passed + chunk->sum) <= s->next) {
        s->passed += chunk->sum; /* none enters */
        return EQP_OK;
    }
    for (int64_t i = 0; i < chunk->n && code == EQP_OK; i++) {
        bool full = s->n == s->wanted;
        s->passed += chunk->weight[i];
        if (chunk->weight[i] > 0 && (!full || (double)s->passed > s->next)) {
            code =
                enter(s, chunk->centroid + i * s->dim, chunk->weight[i], chunk->first + i, full ? s->key[0] : INFINITY);
        }
    }
    return code;
}

/* Sorts the sample by interaction number: the last phase of a heap sort, with the index as key. */
static void sample_order(struct eqp__splitter *s)
{
    for (int64_t c = 0; c < s->n; c++) {
        s->key[c] = (double)s->index[c];
        sift_up(s, c);
    }
    for (int64_t last = s->n - 1; last > 0; last--) {
        swap_cells(s, 0, last);
        sift_down(s, last);
    }
}

static int take_samples(struct eqp__splitter *s, int64_t owner, int64_t weight, eqp_enumerate_fn enumerate, void *user)
{
    s->n = 0;
    s->sink.context = s;
    s->sink.centroids = true;
    s->sink.pins = false;
    s->random = s->seed;
    s->passed = 0;
    s->next = 0;
    switch (s->strategy) {
    case EQP_SAMPLE_RANDOM:
        s->sink.take = sample_drawn;
        eqp__draw_start(&s->draw, s->draw_seed, s->id, s->rate);
        break;
    case EQP_SAMPLE_STRIDE:
        s->sink.take = sample_stride;
        s->step = fmax(1, (double)weight / (double)s->wanted);
        s->next = s->step * eqp_random_uniform(s->seed, (uint64_t)s->id, 0);
        break;
    default:
        s->sink.take = sample_random;
        break;
    }
    int code = eqp__enumerate(&s->sink, enumerate, user, owner);
    if (code == EQP_OK && s->sink.take == sample_random) {
        sample_order(s);
    }
    return code;
}

/* --- counting, and candidates for further samples --- */

static bool splits_again(const struct eqp__splitter *s)
{
    return s->strategy == EQP_SAMPLE_ADAPTIVE || s->strategy == EQP_SAMPLE_STRIDE;
}

static int add_candidate(struct eqp__splitter *s, int64_t cell, const double *centroid)
{
    if (s->ncandidates == s->candidate_capacity) {
        int64_t room = 2 * s->candidate_capacity + 16;
        EQP__FAIL_IF(!resize((void **)&s->candidate, room, (size_t)s->dim * sizeof(double)) ||
                         !resize((void **)&s->candidate_cell, room, sizeof(int64_t)),
                     EQP_ERR_MEMORY);
        s->candidate_capacity = room;
    }
    memcpy(s->candidate + s->ncandidates * s->dim, centroid, (size_t)s->dim * sizeof(double));
    s->candidate_cell[s->ncandidates++] = cell;
    return EQP_OK;
}

enum picked { NOTHING_PICKED, FIRST_PICKED, DUE_PICKED };

/* Every stratum of `target` weight in a cell yields one candidate: the interaction that completes it (STRIDE), or the
 * interaction at a random point of its weight, so that the choice is proportional to weight (ADAPTIVE). An interaction
 * at the centroid would create an empty cell, so the next one is taken, or the first one at the end. */
static int consider(struct eqp__splitter *s, int64_t cell, const double *point, int64_t weight, int64_t index)
{
    bool here = equal(s->dim, point, centroid_of(s, cell));
    int code = EQP_OK;

    s->same[cell] += here ? weight : 0;
    s->stratum[cell] += weight;
    if (s->strategy == EQP_SAMPLE_STRIDE) {
        if (s->stratum[cell] >= s->target && !here) {
            s->stratum[cell] %= s->target;
            code = add_candidate(s, cell, point);
        }
        return code;
    }
    bool due = s->stratum[cell] > s->due[cell];
    if (!here && s->picked[cell] != DUE_PICKED && (due || s->picked[cell] == NOTHING_PICKED)) {
        memcpy(s->pick + cell * s->dim, point, (size_t)s->dim * sizeof(double));
        s->picked[cell] = due ? DUE_PICKED : FIRST_PICKED;
    }
    if (s->stratum[cell] >= s->target) {
        code = s->picked[cell] == NOTHING_PICKED ? EQP_OK : add_candidate(s, cell, s->pick + cell * s->dim);
        s->stratum[cell] = 0;
        s->picked[cell] = NOTHING_PICKED;
        s->due[cell] = (int64_t)eqp_random_below(s->random, (uint64_t)s->id, (uint64_t)index, (uint64_t)s->target);
    }
    return code;
}

static int count_take(void *context, const struct eqp__chunk *chunk)
{
    struct eqp__splitter *s = context;
    bool again = splits_again(s);
    int64_t cell_of[EQP__CHUNK];

    eqp__cells_nearest_all(s->dim, s->n, s->centroid, s->tree, chunk->n, chunk->centroid, cell_of);
    for (int64_t i = 0; i < chunk->n; i++) {
        const double *point = chunk->centroid + i * s->dim;
        const int64_t cell = cell_of[i];
        s->count[cell]++;
        s->weight[cell] += chunk->weight[i];
        EQP__FAIL_IF(s->weight[cell] >= EQP__WEIGHT_LIMIT, EQP_ERR_OVERFLOW);
        if (again) {
            EQP__CHECK(consider(s, cell, point, chunk->weight[i], chunk->first + i));
        }
        for (int p = 0; p < chunk->npins; p++) {
            int64_t id = chunk->pin[i * chunk->npins + p];
            if (id >= 0) {
                eqp__sketches_add(&s->pins, cell, id);
            }
        }
    }
    return EQP_OK;
}

static int count_cells(struct eqp__splitter *s, int64_t owner, int round, eqp_enumerate_fn enumerate, void *user)
{
    size_t bytes = (size_t)s->n * sizeof(int64_t);

    memset(s->count, 0, bytes);
    memset(s->weight, 0, bytes);
    memset(s->same, 0, bytes);
    memset(s->picked, NOTHING_PICKED, (size_t)s->n * sizeof *s->picked);
    s->ncandidates = 0;
    s->random = eqp_random_bits(s->seed, EQP__PURPOSE_SPLIT_AGAIN, (uint64_t)round);
    for (int64_t c = 0; c < s->n; c++) {
        /* A random phase, so that cells do not all sample their first interactions. */
        int64_t phase = (int64_t)eqp_random_below(s->random, (uint64_t)s->id, ~(uint64_t)c, (uint64_t)s->target);
        s->stratum[c] = s->strategy == EQP_SAMPLE_STRIDE ? phase : 0;
        s->due[c] = phase;
    }
    s->sink.take = count_take;
    s->sink.pins = s->pins.max > 0;
    int code = eqp__sketches_reset(&s->pins, s->n);
    eqp_kdtree_free(s->tree);
    s->tree = NULL;
    if (code == EQP_OK) {
        code = eqp__cells_tree(s->dim, s->n, s->centroid, &s->tree);
    }
    return code == EQP_OK ? eqp__enumerate(&s->sink, enumerate, user, owner) : code;
}

/* Additional samples for a cell: enough for pieces of the target weight, counting only the weight that can leave the
 * centroid. */
static int64_t more_wanted(const struct eqp__splitter *s, int64_t cell)
{
    if (s->weight[cell] <= s->bound || s->have[cell] == 0) {
        return 0;
    }
    double target = (double)s->target;
    double pieces = rint((double)s->weight[cell] / target) - 1;
    double divisible = rint((double)(s->weight[cell] - s->same[cell]) / target);
    double more = fmin(pieces, divisible);
    if (more < 1) {
        more = s->same[cell] <= s->bound ? 1 : 0;
    }
    return (int64_t)fmin(more, (double)s->have[cell]);
}

/* Turns candidates of heavy cells into cells, spaced evenly over each cell's strata. */
static int sample_again(struct eqp__splitter *s, bool *added)
{
    int64_t cells = s->n;

    *added = false;
    memset(s->have, 0, (size_t)cells * sizeof *s->have);
    memset(s->done, 0, (size_t)cells * sizeof *s->done);
    for (int64_t j = 0; j < s->ncandidates; j++) {
        s->have[s->candidate_cell[j]]++;
    }
    for (int64_t j = 0; j < s->ncandidates; j++) {
        int64_t cell = s->candidate_cell[j];
        int64_t wanted = more_wanted(s, cell);
        int64_t at = s->done[cell]++;
        if ((at + 1) * wanted / s->have[cell] > at * wanted / s->have[cell]) {
            EQP__CHECK(add_cell(s, s->candidate + j * s->dim));
            *added = true;
        }
    }
    return EQP_OK;
}

/* Drops empty cells, whose centroid was sampled twice. */
static bool drop_empty(struct eqp__splitter *s)
{
    int64_t kept = 0;
    int64_t before = s->n;

    for (int64_t c = 0; c < before; c++) {
        if (s->count[c] > 0) {
            memmove(centroid_of(s, kept++), centroid_of(s, c), (size_t)s->dim * sizeof(double));
        }
    }
    s->n = kept;
    return kept < before;
}

int eqp__split(struct eqp__splitter *s, int64_t owner, int64_t id, int64_t weight, int64_t wanted,
               eqp_enumerate_fn enumerate, void *user)
{
    s->id = id;
    s->wanted = wanted;
    int code = take_samples(s, owner, weight, enumerate, user);
    bool added = code == EQP_OK && s->n > 0;

    for (int round = 1; code == EQP_OK && added; round++) {
        code = count_cells(s, owner, round, enumerate, user);
        added = false;
        if (code == EQP_OK && splits_again(s) && round < MAX_ROUNDS) {
            code = sample_again(s, &added);
        }
    }
    /* Counts once more by the same search as eqp_units_find(), so that both agree. */
    while (code == EQP_OK && s->n > 0 && drop_empty(s)) {
        code = s->n > 0 ? count_cells(s, owner, MAX_ROUNDS, enumerate, user) : EQP_OK;
    }
    return code;
}
