/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree's self-check. */
#include "internal.h"

#include <equipoise/error.h>

#include <stdlib.h>
#include <string.h>

static bool leaf_fits(const bh_tree *tree, const bh_cell *cell)
{
    if (cell->first == BH_ABSENT) {
        return true;
    }
    if (cell->first < 0 || cell->count > tree->sources.n - cell->first) {
        return false;
    }
    bh_moments moments;
    bh__moments_of_particles(tree, cell, cell->first, &moments);
    return bh__tight_of_particles(tree, cell, cell->first) == cell->tight &&
           memcmp(&moments, &cell->moments, sizeof(moments)) == 0;
}

/* Checks that the family agrees with its cells. A branch and its copy in the top share one, which names either. */
static bool family_fits(const bh_tree *tree, const bh_cell *cell)
{
    if (cell->family < 0 || cell->family >= tree->nfamilies) {
        return false;
    }
    const bh_family *family = &tree->family[cell->family];
    if (family->cell < 0 || family->cell >= tree->ncells) {
        return false;
    }
    const bh_cell *named = &tree->cell[family->cell];
    bh_family expected;
    bh__family_of(tree, family->cell, &expected);
    return named->key == cell->key && named->level == cell->level && named->child == cell->child &&
           memcmp(family, &expected, sizeof(expected)) == 0;
}

/* Children inside the array, fitting the cell, at the same home, and with particles side by side where they are here.
 */
static bool inner_fits(const bh_tree *tree, const bh_cell *cell)
{
    if (cell->child == BH_ABSENT) {
        return cell->home >= 0 && cell->family < 0;
    }
    if (cell->child < 0 || cell->child > tree->ncells - cell->nchild) {
        return false;
    }
    const bh_cell *child = tree->cell + cell->child;
    int64_t first = cell->first;
    for (int c = 0; c < cell->nchild; c++) {
        if (cell->home >= 0 && child[c].home != cell->home) {
            return false;
        }
        if (first != BH_ABSENT) {
            if (child[c].first != first) {
                return false;
            }
            first += child[c].count;
        }
    }
    return bh__children_fit(tree, cell, child) && family_fits(tree, cell);
}

/* From one cell down. Levels grow by one from parent to child and end at the deepest, so this ends on any input. */
static bool below_fits(const bh_tree *tree, int64_t start)
{
    int64_t stack[BH_STACK];
    int depth = 0;
    stack[depth++] = start;
    while (depth > 0) {
        const bh_cell *cell = &tree->cell[stack[--depth]];
        if (cell->level < 0 || cell->level > EQP_CURVE_BITS || cell->nchild < 0 || cell->nchild > 8 ||
            cell->count < 1 || cell->home < -1 || cell->key >= EQP_CURVE_END ||
            cell->key != bh_key_at_level(cell->key, cell->level) || cell->place != bh__place(cell->key, cell->level) ||
            bh__is_leaf(tree, cell->count, cell->level) != (cell->nchild == 0)) {
            return false;
        }
        if (cell->nchild == 0 && cell->family >= 0) {
            return false;
        }
        if (cell->nchild == 0 ? !leaf_fits(tree, cell) : !inner_fits(tree, cell)) {
            return false;
        }
        for (int c = cell->nchild; c-- > 0 && cell->child != BH_ABSENT;) {
            stack[depth++] = cell->child + c;
        }
    }
    return true;
}

int bh_tree_check(const bh_tree *tree)
{
    const bh_sources *s = &tree->sources;
    uint64_t end = 0;
    int64_t first = 0;
    for (int64_t b = 0; b < tree->nbranches; b++) {
        const bh_cell *cell = &tree->cell[b];
        if (!below_fits(tree, b) || cell->key < end || cell->first != first || cell->home < 0) {
            return EQP_ERR_INTERNAL;
        }
        end = cell->key + bh_span(cell->level);
        first += cell->count;
    }
    EQP_CHECK(first != s->nlocal ? EQP_ERR_INTERNAL : EQP_OK);
    if (tree->root < 0) {
        return EQP_OK;
    }
    return tree->cell[tree->root].level == 0 && below_fits(tree, tree->root) ? EQP_OK : EQP_ERR_INTERNAL;
}
