/* SPDX-License-Identifier: BSD-3-Clause */
/* Cells and blocks as sent, without anything a receiver can derive. */
#include "internal.h"

#include <equipoise/error.h>

#include <string.h>

int64_t bh_let_family_bytes(bool bare, int nchild)
{
    return (int64_t)(sizeof(int64_t) + (size_t)nchild * bh__packed_bytes(bare));
}

int64_t bh_let_leaf_bytes(int64_t count)
{
    return (int64_t)sizeof(int64_t) + count * (int64_t)sizeof(bh__block_particle);
}

int64_t bh_block_id(uint64_t key, int level)
{
    const int unused = 3 * (EQP_CURVE_BITS - level);
    return (int64_t)(key >> unused | (uint64_t)1 << (3 * level));
}

bool bh__address_of(int64_t id, uint64_t *key, int *level)
{
    const int top = id != 0 ? 63 - __builtin_clzll((unsigned long long)id) : 1;
    if (top % 3 != 0) {
        return false;
    }
    *level = top / 3;
    *key = ((uint64_t)id ^ (uint64_t)1 << top) << (3 * (EQP_CURVE_BITS - *level));
    return true;
}

size_t bh__packed_bytes(bool bare)
{
    return bare ? sizeof(uint64_t) : sizeof(uint64_t) + sizeof(bh__packed_moments);
}

unsigned char *bh__pack_cell(unsigned char *to, const bh_tree *tree, const bh_cell *cell, int rest)
{
    const uint64_t word = (uint64_t)cell->count | (uint64_t)cell->nchild << BH_COUNT_BITS |
                          (uint64_t)(cell->tight + 1) << (BH_COUNT_BITS + BH_NCHILD_BITS) |
                          (uint64_t)rest << BH_REST_SHIFT;
    const bh_moments *m = &cell->moments;
    memcpy(to, &word, sizeof(word));
    to += sizeof(word);
    if (!tree->bare) {
        bh__packed_moments packed = {.mass = m->mass, .trace = m->trace};
        memcpy(packed.com, m->com, sizeof(packed.com));
        memcpy(packed.quad, m->quad, sizeof(packed.quad));
        memcpy(to, &packed, sizeof(packed));
        to += sizeof(packed);
    }
    return to;
}

const unsigned char *bh__unpack_cell(const unsigned char *from, const bh_tree *tree, bh_cell *cell, int *rest)
{
    uint64_t word;
    memcpy(&word, from, sizeof(word));
    from += sizeof(word);
    cell->count = (int64_t)(word & (((uint64_t)1 << BH_COUNT_BITS) - 1));
    cell->nchild = (int16_t)(word >> BH_COUNT_BITS & ((1u << BH_NCHILD_BITS) - 1));
    cell->tight = (int16_t)((int)(word >> (BH_COUNT_BITS + BH_NCHILD_BITS) & ((1u << BH_TIGHT_BITS) - 1)) - 1);
    *rest = (int)(word >> BH_REST_SHIFT);
    cell->moments = (bh_moments){0};
    if (!tree->bare) {
        bh__packed_moments packed;
        memcpy(&packed, from, sizeof(packed));
        from += sizeof(packed);
        cell->moments.mass = packed.mass;
        cell->moments.trace = packed.trace;
        memcpy(cell->moments.com, packed.com, sizeof(packed.com));
        memcpy(cell->moments.quad, packed.quad, sizeof(packed.quad));
    }
    return from;
}

int64_t bh__block_bytes(const bh_tree *tree, const bh_cell *cell)
{
    return cell->nchild > 0 ? bh_let_family_bytes(tree->bare, cell->nchild) : bh_let_leaf_bytes(cell->count);
}

static unsigned char *put_family(unsigned char *to, const bh_tree *tree, const bh_cell *cell)
{
    for (int64_t c = cell->child; c < cell->child + cell->nchild; c++) {
        const bh_cell *child = &tree->cell[c];
        to = bh__pack_cell(to, tree, child, (int)((child->key - cell->key) / bh_span(child->level)));
    }
    return to;
}

static unsigned char *put_leaf(unsigned char *to, const bh_sources *s, const bh_cell *leaf)
{
    for (int64_t i = leaf->first; i < leaf->first + leaf->count; i++) {
        const bh__block_particle particle = {s->x[i], s->y[i], s->z[i], s->m[i]};
        memcpy(to, &particle, sizeof(particle));
        to += sizeof(particle);
    }
    return to;
}

unsigned char *bh__block_pack(unsigned char *to, const bh_tree *tree, const bh_cell *cell)
{
    const int64_t id = bh_block_id(cell->key, cell->level);
    memcpy(to, &id, sizeof(id));
    to += sizeof(id);
    return cell->nchild > 0 ? put_family(to, tree, cell) : put_leaf(to, &tree->sources, cell);
}

int64_t bh_branch_bytes(const bh_tree *tree)
{
    return (int64_t)(sizeof(int64_t) + bh__packed_bytes(tree->bare));
}

void bh_branches_pack(const bh_tree *tree, int64_t n, const bh_cell *branch, void *bytes)
{
    unsigned char *to = bytes;
    for (int64_t b = 0; b < n; b++) {
        const bh_cell *cell = &branch[b];
        const int64_t id = bh_block_id(cell->key, cell->level);
        memcpy(to, &id, sizeof(id));
        to = bh__pack_cell(to + sizeof(id), tree, cell, cell->home);
    }
}

int bh_branches_unpack(const bh_tree *tree, int64_t n, const void *bytes, bh_cell *branch)
{
    const unsigned char *from = bytes;
    for (int64_t b = 0; b < n; b++) {
        bh_cell cell = {.family = -1, .child = BH_ABSENT, .first = BH_ABSENT};
        int64_t id;
        int home, level;
        memcpy(&id, from, sizeof(id));
        EQP_CHECK(!bh__address_of(id, &cell.key, &level) ? EQP_ERR_FORMAT : EQP_OK);
        cell.level = level;
        cell.place = bh__place(cell.key, level);
        from = bh__unpack_cell(from + sizeof(id), tree, &cell, &home);
        cell.home = home;
        if (cell.tight > EQP_CURVE_BITS || (cell.tight < EQP_CURVE_BITS && !tree->drifted) || cell.nchild > BH_FAMILY ||
            bh__is_leaf(tree, cell.count, level) != (cell.nchild == 0)) {
            return EQP_ERR_FORMAT;
        }
        if (!tree->bare) {
            bh__moments_complete(tree, &cell, &cell.moments);
        }
        branch[b] = cell;
    }
    return EQP_OK;
}
