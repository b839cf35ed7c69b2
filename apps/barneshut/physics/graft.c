/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks blocks of other ranks' trees and grafts them onto this one. A block's data are stored after the tree's cells
 * and particles, and linked only after the whole block was checked. */
#include "let.h"

#include "internal.h"

#include <equipoise/error.h>

#include <math.h>
#include <string.h>

/* Path from the root to the last cell found, each a child of the one before. Blocks come in walk order, so the next
 * cell is mostly near. */
typedef struct descent {
    int n;
    int64_t cell[EQP_CURVE_BITS + 1];
} descent;

static int64_t find_child(const bh_tree *tree, const bh_cell *cell, uint64_t wanted)
{
    for (int64_t k = cell->child; cell->child >= 0 && k < cell->child + cell->nchild; k++) {
        if (tree->cell[k].key == wanted) {
            return k;
        }
    }
    return -1;
}

/* The cell with this key and level, or -1; parent: -1 for the root. */
static int64_t find_cell(const bh_tree *tree, uint64_t key, int level, descent *way, int64_t *parent)
{
    while (way->n > 0) {
        const bh_cell *last = &tree->cell[way->cell[way->n - 1]];
        if (last->level <= level && bh_key_at_level(key, last->level) == last->key) {
            break;
        }
        way->n--;
    }
    if (way->n == 0 && tree->root >= 0) {
        way->cell[way->n++] = tree->root;
    }
    while (way->n > 0 && tree->cell[way->cell[way->n - 1]].level < level) {
        const bh_cell *cell = &tree->cell[way->cell[way->n - 1]];
        const int64_t child = find_child(tree, cell, bh_key_at_level(key, cell->level + 1));
        if (child < 0) {
            return -1;
        }
        way->cell[way->n++] = child;
    }
    *parent = way->n > 1 ? way->cell[way->n - 2] : -1;
    const int64_t c = way->n > 0 ? way->cell[way->n - 1] : -1;
    return c >= 0 && tree->cell[c].level == level && tree->cell[c].key == key ? c : -1;
}

/* Reads children to the end of the tree's cells, which have room. */
static bool read_family(bh_tree *tree, const bh_cell *cell, const unsigned char *records)
{
    const int level = cell->level + 1;
    bh_cell *child = tree->cell + tree->ncells;
    unsigned char octant[8];
    eqp_hilbert_children(cell->key, cell->level, octant);
    for (int k = 0; k < cell->nchild; k++) {
        bh_cell *part = &child[k];
        int eighth;
        *part = (bh_cell){.level = level, .home = cell->home, .family = -1, .child = BH_ABSENT, .first = BH_ABSENT};
        records = bh__unpack_cell(records, tree, part, &eighth);
        if (eighth < 0 || eighth > 7) {
            return false;
        }
        part->key = cell->key + (uint64_t)eighth * bh_span(level);
        part->place = bh__place_of_child(cell->place, level, octant[eighth]);
        if (!tree->bare) {
            bh__moments_complete(tree, part, &part->moments);
        }
    }
    return bh__children_fit(tree, cell, child);
}

static bool same_children(const bh_cell *a, const bh_cell *b, int nchild)
{
    bool same = true;
    for (int k = 0; k < nchild && same; k++) {
        same = a[k].key == b[k].key && a[k].nchild == b[k].nchild && a[k].count == b[k].count &&
               a[k].tight == b[k].tight && memcmp(&a[k].moments, &b[k].moments, sizeof(a[k].moments)) == 0;
    }
    return same;
}

static int graft_family(bh_tree *tree, int64_t number, int64_t parent, const unsigned char *records)
{
    const int nchild = tree->cell[number].nchild;
    EQP_CHECK(bh__cells_reserve(tree, tree->ncells + nchild));
    EQP_CHECK(bh__families_reserve(tree, tree->nfamilies + 1));
    bh_cell *cell = &tree->cell[number];
    EQP_CHECK(!read_family(tree, cell, records) ? EQP_ERR_FORMAT : EQP_OK);
    if (cell->child != BH_ABSENT) {
        const bool same = same_children(tree->cell + cell->child, tree->cell + tree->ncells, nchild);
        return same ? EQP_OK : EQP_ERR_FORMAT;
    }
    cell->child = tree->ncells;
    cell->family = (int32_t)tree->nfamilies++;
    tree->ncells += nchild;
    bh__family_of(tree, number, &tree->family[cell->family]);
    if (parent >= 0) {
        bh__family_renew(tree, parent, number);
    }
    return EQP_OK;
}

/* True if the leaf's particles from `first` on lie in its cube. */
static bool lie_in(const bh_tree *tree, const bh_cell *leaf, int64_t first)
{
    const bh_sources *s = &tree->sources;
    bool inside = true;
    for (int64_t i = first; i < first + leaf->count && inside; i++) {
        uint64_t key;
        inside = isfinite(s->x[i]) && isfinite(s->y[i]) && isfinite(s->z[i]) &&
                 eqp_hilbert_keys(1, &s->x[i], &s->y[i], &s->z[i], tree->box.corner, tree->box.side, &key) == EQP_OK &&
                 bh_key_at_level(key, leaf->level) == leaf->key;
    }
    return inside;
}

/* Reads particles to the end of the tree's, which have room. */
static bool read_leaf(bh_tree *tree, const bh_cell *leaf, const unsigned char *records)
{
    bh_sources *s = &tree->sources;
    bh_moments moments;
    for (int64_t i = 0; i < leaf->count; i++) {
        bh__block_particle particle;
        memcpy(&particle, records + (size_t)i * sizeof(particle), sizeof(particle));
        s->x[s->n + i] = particle.x;
        s->y[s->n + i] = particle.y;
        s->z[s->n + i] = particle.z;
        s->m[s->n + i] = particle.m;
    }
    if (tree->bare) {
        return lie_in(tree, leaf, s->n);
    }
    bh__moments_of_particles(tree, leaf, s->n, &moments);
    return bh__tight_of_particles(tree, leaf, s->n) == leaf->tight &&
           memcmp(&moments, &leaf->moments, sizeof(moments)) == 0;
}

static bool same_particles(const bh_sources *s, int64_t a, int64_t b, int64_t count)
{
    const double *const field[] = {s->x, s->y, s->z, s->m};
    bool same = true;
    for (int f = 0; f < 4 && same; f++) {
        same = memcmp(field[f] + a, field[f] + b, (size_t)count * sizeof(double)) == 0;
    }
    return same;
}

static int graft_leaf(bh_tree *tree, int64_t number, int64_t parent, const unsigned char *records)
{
    bh_cell *leaf = &tree->cell[number];
    bh_sources *s = &tree->sources;
    EQP_CHECK(bh__sources_reserve(tree, s->n + leaf->count));
    EQP_CHECK(!read_leaf(tree, leaf, records) ? EQP_ERR_FORMAT : EQP_OK);
    if (leaf->first != BH_ABSENT) {
        return same_particles(s, leaf->first, s->n, leaf->count) ? EQP_OK : EQP_ERR_FORMAT;
    }
    leaf->first = s->n;
    s->n += leaf->count;
    if (parent >= 0) {
        bh__family_renew(tree, parent, number);
    }
    return EQP_OK;
}

/* Finds the cell of a block from its bytes, and the block's required size. */
static int find_block(const bh_tree *tree, const void *block, size_t bytes, descent *way, int64_t *number,
                      int64_t *parent, size_t *size)
{
    uint64_t key;
    int64_t id;
    int level;
    EQP_CHECK(bytes < sizeof(id) ? EQP_ERR_FORMAT : EQP_OK);
    memcpy(&id, block, sizeof(id));
    EQP_CHECK(!bh__address_of(id, &key, &level) ? EQP_ERR_FORMAT : EQP_OK);
    *number = find_cell(tree, key, level, way, parent);
    EQP_CHECK(*number < 0 || tree->cell[*number].home < 0 ? EQP_ERR_FORMAT : EQP_OK);
    *size = (size_t)bh__block_bytes(tree, &tree->cell[*number]);
    return bytes < *size ? EQP_ERR_FORMAT : EQP_OK;
}

static int graft_block(bh_tree *tree, int64_t number, int64_t parent, const void *block)
{
    const unsigned char *records = (const unsigned char *)block + sizeof(int64_t);
    return tree->cell[number].nchild > 0 ? graft_family(tree, number, parent, records)
                                         : graft_leaf(tree, number, parent, records);
}

int bh_let_graft(bh_tree *tree, int home, const void *block, size_t size)
{
    int64_t number, parent;
    size_t fits;
    descent way = {0};
    const int code = find_block(tree, block, size, &way, &number, &parent, &fits);
    EQP_CHECK(code != EQP_OK || size != fits || tree->cell[number].home != home ? EQP_ERR_FORMAT : EQP_OK);
    return graft_block(tree, number, parent, block);
}

int bh_let_graft_all(bh_tree *tree, int home, const void *blocks, size_t size)
{
    const unsigned char *at = blocks;
    descent way = {0};
    int code = EQP_OK;
    while (size > 0 && code == EQP_OK) {
        int64_t number, parent;
        size_t bytes = 0;
        code = find_block(tree, at, size, &way, &number, &parent, &bytes);
        if (code == EQP_OK) {
            code = home < 0 || tree->cell[number].home == home ? graft_block(tree, number, parent, at) : EQP_ERR_FORMAT;
        }
        at += bytes;
        size -= bytes;
    }
    return code;
}
