/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluations as bytes, in native byte order: a header of five numbers, loads, common bytes, elements held; for
 * every phase the seconds that parts compute meanwhile, the numbers of blocks and needs, and one column each of
 * block numbers (ascending, so that equal evaluations give equal bytes), bytes, elements, homes, users, and the
 * users' parts; then a checksum. */
#include "evaluation.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t magic = INT64_C(0x34304c4156455145); /* "EQEVAL04" */

enum {
    HEADER = 5, /* magic, parts, phases, which are back, which count ghosts */
    BLOCK_BYTES = 3 * (int)sizeof(int64_t) + 2 * (int)sizeof(int32_t),
    NEED_BYTES = (int)sizeof(uint16_t),
    OF_PART = (int)sizeof(double) + 2 * (int)sizeof(int64_t),
    CHUNK = 256
};

typedef struct writer {
    unsigned char *at;
} writer;

static void put(writer *w, const void *value, size_t size)
{
    memcpy(w->at, value, size);
    w->at += size;
}

static void put_count(writer *w, int64_t value)
{
    put(w, &value, sizeof value);
}

static void put_small(writer *w, int32_t value)
{
    put(w, &value, sizeof value);
}

static int64_t flags_of(const eqp_evaluation *e, int ghosts)
{
    int64_t flags = 0;

    for (int k = 0; k < e->nphases; k++) {
        flags |= (int64_t)(ghosts ? e->phase[k].ghosts : e->phase[k].back) << k;
    }
    return flags;
}

typedef struct numbered {
    int64_t number, index;
} numbered;

static int by_number(const void *a, const void *b)
{
    const numbered *x = a, *y = b;

    return (x->number > y->number) - (x->number < y->number);
}

/* Blocks by number, with the start of each block's keys. */
static int sort_blocks(const eqp__evaluated_phase *phase, int64_t nkeys, const uint64_t *key, numbered **list,
                       int64_t **first)
{
    int code;

    if ((code = eqp_array_create(list, phase->nblocks, sizeof **list)) ||
        (code = eqp_array_create(first, phase->nblocks + 1, sizeof **first))) {
        return code;
    }
    for (int64_t i = 0; i < nkeys; i++) {
        (*first)[eqp__key_block(key[i]) + 1]++;
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        (*list)[b] = (numbered){phase->block[b].number, b};
        (*first)[b + 1] += (*first)[b];
    }
    qsort(*list, (size_t)phase->nblocks, sizeof **list, by_number);
    return EQP_OK;
}

static int put_phase(writer *w, const eqp__evaluated_phase *phase, int nparts, int64_t nkeys, const uint64_t *key)
{
    numbered *list = NULL;
    int64_t *first = NULL;
    int code = sort_blocks(phase, nkeys, key, &list, &first);

    if (code) {
        goto done;
    }
    put(w, phase->meanwhile, (size_t)nparts * sizeof *phase->meanwhile);
    put_count(w, phase->nblocks);
    put_count(w, nkeys);
    for (int64_t b = 0; b < phase->nblocks; b++) {
        put_count(w, list[b].number);
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        put_count(w, phase->block[list[b].index].bytes);
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        put_count(w, phase->block[list[b].index].elements);
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        put_small(w, phase->block[list[b].index].home);
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        put_small(w, (int32_t)(first[list[b].index + 1] - first[list[b].index]));
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        for (int64_t i = first[list[b].index]; i < first[list[b].index + 1]; i++) {
            const uint16_t part = (uint16_t)eqp__key_part(key[i]);
            put(w, &part, sizeof part);
        }
    }
done:
    free(list);
    free(first);
    return code;
}

int eqp__evaluation_pack(eqp_evaluation *e, size_t *size, void **bytes)
{
    const uint64_t *key[EQP_PHASES_MAX];
    int64_t nkeys[EQP_PHASES_MAX];
    size_t total;
    unsigned char *packed = NULL;
    writer w;
    int code = EQP_OK;

    if (!e || !size || !bytes) {
        return EQP_ERR_ARGUMENT;
    }
    total = HEADER * sizeof(int64_t) + (size_t)e->nparts * OF_PART + EQP__SEAL;
    for (int k = 0; k < e->nphases; k++) {
        if ((code = eqp__needs_keys(e->phase[k].needs, &nkeys[k], &key[k]))) {
            return code;
        }
        total += (size_t)e->nparts * sizeof(double) + 2 * sizeof(int64_t) + (size_t)e->phase[k].nblocks * BLOCK_BYTES +
                 (size_t)nkeys[k] * NEED_BYTES;
    }
    if ((code = eqp_array_create(&packed, (int64_t)total, 1))) {
        return code;
    }
    w.at = packed;
    put_count(&w, magic);
    put_count(&w, e->nparts);
    put_count(&w, e->nphases);
    put_count(&w, flags_of(e, 0));
    put_count(&w, flags_of(e, 1));
    put(&w, e->load, (size_t)e->nparts * sizeof *e->load);
    put(&w, e->common, (size_t)e->nparts * sizeof *e->common);
    put(&w, e->held, (size_t)e->nparts * sizeof *e->held);
    EQP_TRY(code);
    for (int k = 0; k < e->nphases; k++) {
        EQP_TRY(put_phase(&w, &e->phase[k], e->nparts, nkeys[k], key[k]));
    }
    eqp__seal(packed, total);
    *size = total;
    *bytes = packed;
    packed = NULL;
done:
    free(packed);
    return code;
}

/* Columns of a packed phase, possibly unaligned. */
typedef struct columns {
    int64_t nblocks, nneeds;
    const unsigned char *meanwhile, *number, *bytes, *elements, *home, *users, *part;
} columns;

static int64_t count_at(const unsigned char *column, int64_t i)
{
    int64_t value;

    memcpy(&value, column + i * (int64_t)sizeof value, sizeof value);
    return value;
}

static int32_t small_at(const unsigned char *column, int64_t i)
{
    int32_t value;

    memcpy(&value, column + i * (int64_t)sizeof value, sizeof value);
    return value;
}

static double seconds_at(const unsigned char *column, int64_t i)
{
    double value;

    memcpy(&value, column + i * (int64_t)sizeof value, sizeof value);
    return value;
}

static int part_at(const unsigned char *column, int64_t i)
{
    uint16_t value;

    memcpy(&value, column + i * (int64_t)sizeof value, sizeof value);
    return value;
}

static eqp__block block_at(const columns *c, int64_t b)
{
    return (eqp__block){count_at(c->number, b), count_at(c->bytes, b), count_at(c->elements, b), small_at(c->home, b)};
}

/* Finds the columns of a phase and advances past them. */
static int find_columns(int nparts, size_t *size, const unsigned char **at, columns *c)
{
    const size_t times = (size_t)nparts * sizeof(double), head = times + 2 * sizeof(int64_t);
    size_t left;

    if (*size < head) {
        return EQP_ERR_FORMAT;
    }
    c->meanwhile = *at;
    c->nblocks = count_at(*at + times, 0);
    c->nneeds = count_at(*at + times, 1);
    left = *size - head;
    if (c->nblocks < 0 || c->nneeds < 0 || (uint64_t)c->nblocks > left / BLOCK_BYTES ||
        (uint64_t)c->nneeds > (left - (size_t)c->nblocks * BLOCK_BYTES) / NEED_BYTES) {
        return EQP_ERR_FORMAT;
    }
    c->number = *at + head;
    c->bytes = c->number + (size_t)c->nblocks * sizeof(int64_t);
    c->elements = c->bytes + (size_t)c->nblocks * sizeof(int64_t);
    c->home = c->elements + (size_t)c->nblocks * sizeof(int64_t);
    c->users = c->home + (size_t)c->nblocks * sizeof(int32_t);
    c->part = c->users + (size_t)c->nblocks * sizeof(int32_t);
    *at = c->part + (size_t)c->nneeds * NEED_BYTES;
    *size = left - (size_t)c->nblocks * BLOCK_BYTES - (size_t)c->nneeds * NEED_BYTES;
    return EQP_OK;
}

static int check_parts(const columns *c, int64_t first, int64_t n, int nparts)
{
    for (int64_t i = 0; i < n; i++) {
        const int part = part_at(c->part, first + i);
        if (part >= nparts || (i > 0 && part <= part_at(c->part, first + i - 1))) {
            return EQP_ERR_FORMAT;
        }
    }
    return EQP_OK;
}

static int check_columns(const eqp_evaluation *e, const eqp__evaluated_phase *phase, const columns *c)
{
    int64_t needs = 0, index;

    for (int p = 0; p < e->nparts; p++) {
        const double seconds = seconds_at(c->meanwhile, p);
        if (!(seconds >= 0) || !isfinite(phase->meanwhile[p] + seconds)) {
            return EQP_ERR_FORMAT;
        }
    }
    for (int64_t b = 0; b < c->nblocks; b++) {
        const eqp__block block = block_at(c, b);
        const int32_t users = small_at(c->users, b);
        if ((b > 0 && block.number <= count_at(c->number, b - 1)) || block.bytes < 0 || block.elements < 0 ||
            block.home < -1 || block.home >= e->nparts || users < 0 || users > c->nneeds - needs ||
            check_parts(c, needs, users, e->nparts)) {
            return EQP_ERR_FORMAT;
        }
        needs += users;
    }
    if (needs != c->nneeds) {
        return EQP_ERR_FORMAT;
    }
    for (int64_t b = 0; b < c->nblocks; b++) {
        const eqp__block block = block_at(c, b);
        index = eqp__evaluation_find(phase, block.number);
        if (index >= 0 && !eqp__blocks_agree(&phase->block[index], &block)) {
            return EQP_ERR_DATA;
        }
    }
    return EQP_OK;
}

static int add_needs(eqp_needs *needs, int64_t index, const columns *c, int64_t first, int64_t n)
{
    int64_t block[CHUNK];
    int part[CHUNK], code = EQP_OK;

    while (code == EQP_OK && n > 0) {
        const int64_t some = n < CHUNK ? n : CHUNK;
        for (int64_t i = 0; i < some; i++) {
            block[i] = index;
            part[i] = part_at(c->part, first + i);
        }
        code = eqp_needs_add(needs, some, block, part);
        first += some;
        n -= some;
    }
    return code;
}

static int add_columns(eqp__evaluated_phase *phase, const columns *c)
{
    int64_t first = 0, index;
    int code;

    for (int64_t b = 0; b < c->nblocks; b++) {
        const eqp__block block = block_at(c, b);
        const int32_t users = small_at(c->users, b);
        if ((code = eqp__evaluation_index(phase, block.number, &index)) ||
            (code = add_needs(phase->needs, index, c, first, users))) {
            return code;
        }
        if (block.home >= 0) {
            phase->block[index] = block;
        }
        first += users;
    }
    return EQP_OK;
}

/* Checks the header and the data of every part. */
static int check_head(const eqp_evaluation *e, size_t size, const unsigned char *at)
{
    if (size < HEADER * sizeof(int64_t) || count_at(at, 0) != magic) {
        return EQP_ERR_FORMAT;
    }
    if (count_at(at, 1) != e->nparts || count_at(at, 2) != e->nphases || count_at(at, 3) != flags_of(e, 0) ||
        count_at(at, 4) != flags_of(e, 1)) {
        return EQP_ERR_ARGUMENT;
    }
    if ((size - HEADER * sizeof(int64_t)) / OF_PART < (size_t)e->nparts) {
        return EQP_ERR_FORMAT;
    }
    for (int p = 0; p < e->nparts; p++) {
        const int64_t common = count_at(at, HEADER + (int64_t)e->nparts + p);
        const int64_t held = count_at(at, HEADER + 2 * (int64_t)e->nparts + p);
        const double load = seconds_at(at, HEADER + p);
        if (!(load >= 0) || !isfinite(e->load[p] + load) || common < 0 || common > INT64_MAX - e->common[p] ||
            held < 0 || held > INT64_MAX - e->held[p]) {
            return EQP_ERR_FORMAT;
        }
    }
    return EQP_OK;
}

int eqp__evaluation_merge(eqp_evaluation *e, size_t size, const void *bytes)
{
    const unsigned char *head = bytes, *at;
    columns c[EQP_PHASES_MAX];
    int code;

    if (!e || (size > 0 && !bytes)) {
        return EQP_ERR_ARGUMENT;
    }
    if (!eqp__sealed(bytes, size)) {
        return EQP_ERR_FORMAT;
    }
    size -= EQP__SEAL;
    if ((code = check_head(e, size, head))) {
        return code;
    }
    at = head + HEADER * sizeof(int64_t) + (size_t)e->nparts * OF_PART;
    size -= (size_t)(at - head);
    for (int k = 0; k < e->nphases; k++) {
        if ((code = find_columns(e->nparts, &size, &at, &c[k])) || (code = check_columns(e, &e->phase[k], &c[k]))) {
            return code;
        }
    }
    if (size > 0) {
        return EQP_ERR_FORMAT;
    }
    e->is_ordered = 0;
    for (int k = 0; k < e->nphases; k++) {
        if ((code = add_columns(&e->phase[k], &c[k]))) {
            return code;
        }
    }
    for (int p = 0; p < e->nparts; p++) {
        for (int k = 0; k < e->nphases; k++) {
            e->phase[k].meanwhile[p] += seconds_at(c[k].meanwhile, p);
        }
        e->load[p] += seconds_at(head, HEADER + p);
        e->common[p] += count_at(head, HEADER + (int64_t)e->nparts + p);
        e->held[p] += count_at(head, HEADER + 2 * (int64_t)e->nparts + p);
    }
    return EQP_OK;
}
