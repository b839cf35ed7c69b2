/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the parts that need each block, as a stream of 64-bit keys. Most keys repeat a recent one; a small
 * direct-mapped table of recent keys drops these. The rest fills a buffer, sorted when full; its distinct keys
 * become a run. Runs of similar length are merged, so that each key moves a logarithmic number of times and all runs
 * together are at most twice as long as the set. */
#include "needs.h"

#include "base/internal.h"

enum {
    FILTER_BITS = 14,         /* 128 KiB: fits into the second-level cache */
    BUFFER_FIRST = 1 << 8,    /* initial size of the buffer in keys, */
    BUFFER_LARGEST = 1 << 20, /* largest size: long runs make merging worthwhile */
    DIGIT_BITS = 8,
    DIGITS = 64 / DIGIT_BITS,
    DIGIT_VALUES = 1 << DIGIT_BITS,
    RUNS_MAX = 64
};

typedef struct run {
    int64_t n;
    uint64_t *key; /* ascending and distinct */
} run;

struct eqp__needs {
    int nruns;
    run runs[RUNS_MAX];                /* each at least twice as long as the next */
    uint64_t *filter, *buffer, *spare; /* spare: as large as the buffer */
    int64_t nbuffer, capacity;         /* keys in the buffer, and its capacity */
};

int eqp__needs_create(eqp__needs **needs)
{
    eqp__needs *s = NULL;
    int code;

    EQP_TRY(eqp_array_create(&s, 1, sizeof *s));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(s->filter, 1 << FILTER_BITS), EQP__ARRAY(s->buffer, BUFFER_FIRST),
                        EQP__ARRAY(s->spare, BUFFER_FIRST)));
    s->capacity = BUFFER_FIRST;
    memset(s->filter, 0xff, sizeof *s->filter << FILTER_BITS);
    *needs = s;
    s = NULL;
done:
    eqp__needs_free(s);
    return code;
}

double eqp__needs_bytes(const eqp__needs *s)
{
    double keys = (1 << FILTER_BITS) + 2.0 * (double)s->capacity;

    for (int r = 0; r < s->nruns; r++) {
        keys += (double)s->runs[r].n;
    }
    return sizeof *s + keys * sizeof(uint64_t);
}

void eqp__needs_free(eqp__needs *s)
{
    if (!s) {
        return;
    }
    for (int r = 0; r < s->nruns; r++) {
        free(s->runs[r].key);
    }
    EQP__FREE(s->filter, s->buffer, s->spare, s);
}

/* One pass of a radix sort, stable. */
static void sort_by_digit(int64_t n, int shift, int64_t *count, const uint64_t *from, uint64_t *to)
{
    int64_t place = 0;

    for (int v = 0; v < DIGIT_VALUES; v++) {
        const int64_t next = place + count[v];
        count[v] = place;
        place = next;
    }
    for (int64_t i = 0; i < n; i++) {
        to[count[from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
    }
}

static void sort_buffer(eqp__needs *s)
{
    int64_t count[DIGITS][DIGIT_VALUES] = {{0}}, kept = 0;
    const int64_t n = s->nbuffer;

    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < DIGITS; d++) {
            count[d][s->buffer[i] >> (d * DIGIT_BITS) & (DIGIT_VALUES - 1)]++;
        }
    }
    for (int d = 0; d < DIGITS; d++) {
        const int shift = d * DIGIT_BITS;
        if (n > 0 && count[d][s->buffer[0] >> shift & (DIGIT_VALUES - 1)] < n) {
            uint64_t *sorted = s->spare;
            sort_by_digit(n, shift, count[d], s->buffer, sorted);
            s->spare = s->buffer;
            s->buffer = sorted;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || s->buffer[i] != s->buffer[kept - 1]) {
            s->buffer[kept++] = s->buffer[i];
        }
    }
    s->nbuffer = kept;
}

/* Merges the last run into the previous one from the back, in the memory of both, since a third array would double the
 * peak. */
static int merge_last(eqp__needs *s)
{
    run *a = &s->runs[s->nruns - 2], *b = a + 1;
    int64_t i = a->n, j = b->n, w = a->n + b->n;
    const int64_t end = w;
    uint64_t *key = realloc(a->key, (size_t)end * sizeof *key);

    EQP__FAIL_IF(!key, EQP_ERR_MEMORY);
    while (i > 0 && j > 0) {
        const uint64_t x = key[i - 1], y = b->key[j - 1];
        key[--w] = x > y ? x : y;
        i -= x >= y;
        j -= y >= x;
    }
    while (j > 0) {
        key[--w] = b->key[--j];
    }
    /* the rest of the first run is already in place, after the gap that equal keys have left */
    memmove(key + i, key + w, (size_t)(end - w) * sizeof *key);
    a->n = i + end - w;
    a->key = key;
    key = realloc(a->key, (size_t)a->n * sizeof *key);
    a->key = key ? key : a->key; /* failing to shrink is no error */
    free(b->key);
    s->nruns--;
    return EQP_OK;
}

static int push_run(eqp__needs *s)
{
    run *r = &s->runs[s->nruns];

    if (s->nbuffer == 0) {
        return EQP_OK;
    }
    r->key = malloc((size_t)s->nbuffer * sizeof *r->key);
    EQP__FAIL_IF(!r->key, EQP_ERR_MEMORY);
    memcpy(r->key, s->buffer, (size_t)s->nbuffer * sizeof *r->key);
    r->n = s->nbuffer;
    s->nruns++;
    s->nbuffer = 0;
    return EQP_OK;
}

static int grow_buffer(eqp__needs *s)
{
    uint64_t *larger = realloc(s->buffer, (size_t)s->capacity * 4 * sizeof *larger), *spare;

    EQP__FAIL_IF(!larger, EQP_ERR_MEMORY);
    s->buffer = larger;
    spare = realloc(s->spare, (size_t)s->capacity * 4 * sizeof *spare);
    EQP__FAIL_IF(!spare, EQP_ERR_MEMORY);
    s->spare = spare;
    s->capacity *= 4;
    return EQP_OK;
}

static int make_room(eqp__needs *s)
{
    sort_buffer(s);
    if (s->nbuffer <= s->capacity / 2) {
        return EQP_OK;
    }
    if (s->capacity < BUFFER_LARGEST) {
        return grow_buffer(s);
    }
    /* failed merges may have left extra runs */
    while (s->nruns >= 2 && (s->nruns == RUNS_MAX || s->runs[s->nruns - 2].n < 2 * s->runs[s->nruns - 1].n)) {
        EQP__CHECK(merge_last(s));
    }
    return push_run(s);
}

int eqp__needs_add(eqp__needs *needs, int64_t block, int part)
{
    const uint64_t key = (uint64_t)block << EQP__PART_BITS | (uint64_t)part;
    uint64_t *recent = &needs->filter[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - FILTER_BITS)];

    if (*recent != key) {
        EQP__CHECK(needs->nbuffer == needs->capacity ? make_room(needs) : EQP_OK);
        needs->buffer[needs->nbuffer++] = key;
        *recent = key;
    }
    return EQP_OK;
}

/* Merges everything into one run, if there is any. */
static int gather(eqp__needs *s)
{
    sort_buffer(s);
    EQP__CHECK(s->nruns == RUNS_MAX ? merge_last(s) : EQP_OK);
    EQP__CHECK(push_run(s));
    while (s->nruns > 1) {
        EQP__CHECK(merge_last(s));
    }
    return EQP_OK;
}

int eqp__needs_keys(eqp__needs *needs, int64_t *n, const uint64_t **keys)
{
    EQP__CHECK(gather(needs));
    *n = needs->nruns > 0 ? needs->runs[0].n : 0;
    *keys = needs->nruns > 0 ? needs->runs[0].key : NULL;
    return EQP_OK;
}
