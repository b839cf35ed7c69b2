/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluations as bytes, in native byte order: a header of five numbers, loads, common bytes, elements held; for
 * every phase the seconds that parts compute meanwhile, the numbers of blocks and needs, and one column each of
 * block numbers (ascending, so that equal evaluations give equal bytes), bytes, elements, homes, users, and the
 * users' parts; then a checksum. */
#include "evaluation.h"

#include "base/internal.h"

#include <math.h>

static const int64_t magic = INT64_C(0x34304c4156455145); /* "EQEVAL04" */

enum {
    HEADER = 5, /* magic, parts, phases, which are back, which count ghosts */
    BLOCK_BYTES = 3 * (int)sizeof(int64_t) + 2 * (int)sizeof(int32_t),
    NEED_BYTES = (int)sizeof(uint16_t),
    OF_PART = (int)sizeof(double) + 2 * (int)sizeof(int64_t)
};

static void put(unsigned char **at, const void *value, size_t size)
{
    memcpy(*at, value, size);
    *at += size;
}

#define PUT(at, type, value) put((at), &(type){(value)}, sizeof(type))

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
    EQP__CHECK(eqp_array_create(list, phase->nblocks, sizeof **list));
    EQP__CHECK(eqp_array_create(first, phase->nblocks + 1, sizeof **first));
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

static int put_phase(unsigned char **at, const eqp__evaluated_phase *phase, int nparts, int64_t nkeys,
                     const uint64_t *key)
{
    numbered *list = NULL;
    int64_t *first = NULL;
    int code;

    EQP_TRY(sort_blocks(phase, nkeys, key, &list, &first));
    put(at, phase->meanwhile, (size_t)nparts * sizeof *phase->meanwhile);
    PUT(at, int64_t, phase->nblocks);
    PUT(at, int64_t, nkeys);
    for (int column = 0; column < 5; column++) {
        for (int64_t b = 0; b < phase->nblocks; b++) {
            const int64_t index = list[b].index;
            const eqp__block *block = &phase->block[index];
            if (column < 3) {
                PUT(at, int64_t, column == 0 ? block->number : column == 1 ? block->bytes : block->elements);
            } else {
                PUT(at, int32_t, column == 3 ? block->home : (int32_t)(first[index + 1] - first[index]));
            }
        }
    }
    for (int64_t b = 0; b < phase->nblocks; b++) {
        for (int64_t i = first[list[b].index]; i < first[list[b].index + 1]; i++) {
            PUT(at, uint16_t, (uint16_t)eqp__key_part(key[i]));
        }
    }
done:
    EQP__FREE(list, first);
    return code;
}

int eqp__evaluation_pack(eqp_evaluation *e, size_t *size, void **bytes)
{
    const uint64_t *key[EQP_PHASES_MAX];
    int64_t nkeys[EQP_PHASES_MAX];
    size_t total;
    unsigned char *packed = NULL, *at;
    int code = EQP_OK;

    EQP__FAIL_IF(!e || !size || !bytes, EQP_ERR_ARGUMENT);
    total = HEADER * sizeof(int64_t) + (size_t)e->nparts * OF_PART + EQP__SEAL;
    for (int k = 0; k < e->nphases; k++) {
        EQP__CHECK(eqp__needs_keys(e->phase[k].needs, &nkeys[k], &key[k]));
        total += (size_t)e->nparts * sizeof(double) + 2 * sizeof(int64_t) + (size_t)e->phase[k].nblocks * BLOCK_BYTES +
                 (size_t)nkeys[k] * NEED_BYTES;
    }
    EQP__CHECK(eqp_array_create(&packed, (int64_t)total, 1));
    at = packed;
    PUT(&at, int64_t, magic);
    PUT(&at, int64_t, e->nparts);
    PUT(&at, int64_t, e->nphases);
    PUT(&at, int64_t, flags_of(e, 0));
    PUT(&at, int64_t, flags_of(e, 1));
    put(&at, e->load, (size_t)e->nparts * sizeof *e->load);
    put(&at, e->common, (size_t)e->nparts * sizeof *e->common);
    put(&at, e->held, (size_t)e->nparts * sizeof *e->held);
    for (int k = 0; k < e->nphases; k++) {
        EQP_TRY(put_phase(&at, &e->phase[k], e->nparts, nkeys[k], key[k]));
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

/* Entry i of a column of this type. */
#define ENTRY_OF(name, type)                                                                                           \
    static type name(const unsigned char *column, int64_t i)                                                           \
    {                                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, column + i * (int64_t)sizeof value, sizeof value);                                              \
        return value;                                                                                                  \
    }
ENTRY_OF(count_at, int64_t)
ENTRY_OF(small_at, int32_t)
ENTRY_OF(seconds_at, double)
ENTRY_OF(part_at, uint16_t)

static eqp__block block_at(const columns *c, int64_t b)
{
    return (eqp__block){count_at(c->number, b), count_at(c->bytes, b), count_at(c->elements, b), small_at(c->home, b)};
}

/* Finds the columns of a phase and advances past them. */
static int find_columns(int nparts, size_t *size, const unsigned char **at, columns *c)
{
    const size_t times = (size_t)nparts * sizeof(double), head = times + 2 * sizeof(int64_t);
    size_t left;

    EQP__FAIL_IF(*size < head, EQP_ERR_FORMAT);
    c->meanwhile = *at;
    c->nblocks = count_at(*at + times, 0);
    c->nneeds = count_at(*at + times, 1);
    left = *size - head;
    EQP__FAIL_IF(c->nblocks < 0 || c->nneeds < 0 || (uint64_t)c->nblocks > left / BLOCK_BYTES ||
                     (uint64_t)c->nneeds > (left - (size_t)c->nblocks * BLOCK_BYTES) / NEED_BYTES,
                 EQP_ERR_FORMAT);
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
        EQP__FAIL_IF(part >= nparts || (i > 0 && part <= part_at(c->part, first + i - 1)), EQP_ERR_FORMAT);
    }
    return EQP_OK;
}

static int check_columns(const eqp_evaluation *e, const eqp__evaluated_phase *phase, const columns *c)
{
    int64_t needs = 0, index;

    for (int p = 0; p < e->nparts; p++) {
        const double seconds = seconds_at(c->meanwhile, p);
        EQP__FAIL_IF(!(seconds >= 0) || !isfinite(phase->meanwhile[p] + seconds), EQP_ERR_FORMAT);
    }
    for (int64_t b = 0; b < c->nblocks; b++) {
        const eqp__block block = block_at(c, b);
        const int32_t users = small_at(c->users, b);
        EQP__FAIL_IF((b > 0 && block.number <= count_at(c->number, b - 1)) || block.bytes < 0 || block.elements < 0 ||
                         block.home < -1 || block.home >= e->nparts || users < 0 || users > c->nneeds - needs ||
                         check_parts(c, needs, users, e->nparts),
                     EQP_ERR_FORMAT);
        needs += users;
    }
    EQP__FAIL_IF(needs != c->nneeds, EQP_ERR_FORMAT);
    for (int64_t b = 0; b < c->nblocks; b++) {
        const eqp__block block = block_at(c, b);
        index = eqp__evaluation_find(phase, block.number);
        EQP__FAIL_IF(index >= 0 && !eqp__blocks_agree(&phase->block[index], &block), EQP_ERR_DATA);
    }
    return EQP_OK;
}

static int add_columns(eqp__evaluated_phase *phase, const columns *c)
{
    int64_t first = 0, index;

    for (int64_t b = 0; b < c->nblocks; b++) {
        const eqp__block block = block_at(c, b);
        const int32_t users = small_at(c->users, b);
        EQP__CHECK(eqp__evaluation_index(phase, block.number, &index));
        for (int32_t i = 0; i < users; i++) {
            EQP__CHECK(eqp__needs_add(phase->needs, index, part_at(c->part, first + i)));
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
    EQP__FAIL_IF(size < HEADER * sizeof(int64_t) || count_at(at, 0) != magic, EQP_ERR_FORMAT);
    EQP__FAIL_IF(count_at(at, 1) != e->nparts || count_at(at, 2) != e->nphases || count_at(at, 3) != flags_of(e, 0) ||
                     count_at(at, 4) != flags_of(e, 1),
                 EQP_ERR_ARGUMENT);
    EQP__FAIL_IF((size - HEADER * sizeof(int64_t)) / OF_PART < (size_t)e->nparts, EQP_ERR_FORMAT);
    for (int p = 0; p < e->nparts; p++) {
        const int64_t common = count_at(at, HEADER + (int64_t)e->nparts + p);
        const int64_t held = count_at(at, HEADER + 2 * (int64_t)e->nparts + p);
        const double load = seconds_at(at, HEADER + p);
        EQP__FAIL_IF(!(load >= 0) || !isfinite(e->load[p] + load) || common < 0 || common > INT64_MAX - e->common[p] ||
                         held < 0 || held > INT64_MAX - e->held[p],
                     EQP_ERR_FORMAT);
    }
    return EQP_OK;
}

int eqp__evaluation_merge(eqp_evaluation *e, size_t size, const void *bytes)
{
    const unsigned char *head = bytes, *at;
    columns c[EQP_PHASES_MAX];

    EQP__FAIL_IF(!e || (size > 0 && !bytes), EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!eqp__sealed(bytes, size), EQP_ERR_FORMAT);
    size -= EQP__SEAL;
    EQP__CHECK(check_head(e, size, head));
    at = head + HEADER * sizeof(int64_t) + (size_t)e->nparts * OF_PART;
    size -= (size_t)(at - head);
    for (int k = 0; k < e->nphases; k++) {
        EQP__CHECK(find_columns(e->nparts, &size, &at, &c[k]));
        EQP__CHECK(check_columns(e, &e->phase[k], &c[k]));
    }
    EQP__FAIL_IF(size > 0, EQP_ERR_FORMAT);
    e->is_ordered = 0;
    for (int k = 0; k < e->nphases; k++) {
        EQP__CHECK(add_columns(&e->phase[k], &c[k]));
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
