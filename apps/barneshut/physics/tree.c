/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the octree: cells below this rank's branches from sorted keys, and the top above all ranks' branches. */
#include "internal.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bh_tree_init(bh_tree *tree, int leaf_size)
{
    *tree = (bh_tree){.leaf_size = leaf_size, .root = -1};
}

void bh_tree_free(bh_tree *tree)
{
    if (tree->shared.common == NULL) {
        free(tree->cell);
        free(tree->family);
        free(tree->sources.x);
        free(tree->sources.y);
        free(tree->sources.z);
        free(tree->sources.m);
    }
    bh_tree_init(tree, tree->leaf_size);
}

void bh__tree_clear(bh_tree *tree)
{
    tree->drifted = false;
    tree->ncells = tree->nlocal_cells = tree->shared.begin.cells;
    tree->nfamilies = tree->nlocal_families = tree->ntop_families = tree->shared.begin.families;
    tree->root = -1;
    tree->nbranches = 0;
    tree->sources.n = tree->sources.nlocal = tree->shared.begin.particles;
    bh__shared_reset(tree);
}

/* Seven interleaved binary searches. The number of steps depends only on the number of keys, and no branch depends on
 * the keys, which would be unpredictable. */
void bh__split(const uint64_t *key, int64_t first, int64_t end, int level, int64_t bound[9])
{
    const uint64_t begin = bh_key_at_level(key[first], level), span = bh_span(level + 1);
    int64_t at[8], n = end - first;
    for (int w = 0; w < 8; w++) {
        at[w] = first;
    }
    while (n > 1) {
        const int64_t half = n / 2;
        for (uint64_t w = 1; w < 8; w++) {
            at[w] += half & -(int64_t)(key[at[w] + half - 1] < begin + w * span);
        }
        n -= half;
    }
    for (uint64_t w = 1; w < 8; w++) {
        bound[w] = at[w] + (key[at[w]] < begin + w * span);
    }
    bound[0] = first;
    bound[8] = end;
}

int bh__cells_reserve(bh_tree *tree, int64_t ncells)
{
    if (tree->shared.common != NULL) {
        return bh__shared_reserve(tree, (bh_room){.cells = ncells});
    }
    /* Families number cells with 32 bits. */
    return ncells > INT32_MAX ? EQP_ERR_OVERFLOW
                              : eqp_array_reserve(&tree->cell, &tree->capacity, ncells, sizeof(*tree->cell));
}

int bh__sources_reserve(bh_tree *tree, int64_t n)
{
    bh_sources *sources = &tree->sources;
    if (tree->shared.common != NULL) {
        return bh__shared_reserve(tree, (bh_room){.particles = n});
    }
    double **const array[4] = {&sources->x, &sources->y, &sources->z, &sources->m};
    int64_t capacity = sources->capacity;
    EQP_CHECK(n > INT32_MAX ? EQP_ERR_OVERFLOW : EQP_OK); /* as cells */
    for (int a = 0; a < 4; a++) {
        capacity = sources->capacity;
        EQP_CHECK(eqp_array_reserve(array[a], &capacity, n, sizeof(double)));
    }
    sources->capacity = capacity;
    return EQP_OK;
}

/* Sets all but the moments, which follow from what is below the cell. */
static void begin_cell(bh_cell *cell, uint64_t key, uint64_t place, int level, int home, int64_t first, int64_t count)
{
    cell->key = key;
    cell->place = place;
    cell->level = level;
    cell->home = home;
    cell->nchild = 0;
    cell->tight = EQP_CURVE_BITS;
    cell->family = -1;
    cell->child = BH_ABSENT;
    cell->first = first;
    cell->count = count;
}

static int append_cell(bh_tree *tree, uint64_t key, uint64_t place, int level, int home, int64_t first, int64_t count)
{
    EQP_CHECK(bh__cells_reserve(tree, tree->ncells + 1));
    begin_cell(&tree->cell[tree->ncells++], key, place, level, home, first, count);
    return EQP_OK;
}

/* Level of the largest cell that begins at `key` and ends by `end`. */
static int coarsest_level(uint64_t key, uint64_t end)
{
    int level = EQP_CURVE_BITS;
    while (level > 0 && bh_key_at_level(key, level - 1) == key && bh_span(level - 1) <= end - key) {
        level--;
    }
    return level;
}

static int append_branches(bh_tree *tree, int64_t n, const uint64_t *key, bh_interval interval, int rank)
{
    const int64_t begin = tree->shared.begin.particles;
    int64_t first = bh_order_lower(n, key, interval.begin);
    uint64_t at = interval.begin;
    while (at < interval.end && first < n && key[first] < interval.end) {
        const int level = coarsest_level(at, interval.end);
        const uint64_t next = at + bh_span(level);
        const int64_t last = first + bh_order_lower(n - first, key + first, next);
        EQP_CHECK(last > first ? append_cell(tree, at, bh__place(at, level), level, rank, begin + first, last - first)
                               : EQP_OK);
        first = last;
        at = next;
    }
    return EQP_OK;
}

/* Appends the nonempty children of a cell, side by side. Room is there for eight. */
static void divide(bh_tree *tree, const uint64_t *key, int64_t parent)
{
    bh_cell *cell = &tree->cell[parent];
    const int level = cell->level + 1;
    const uint64_t begin = cell->key;
    const int64_t first = tree->shared.begin.particles;
    int64_t bound[9];
    unsigned char octant[8];
    bh__split(key, cell->first - first, cell->first - first + cell->count, cell->level, bound);
    eqp_hilbert_children(begin, cell->level, octant);
    cell->child = tree->ncells;
    cell->family = (int32_t)tree->nfamilies++;
    for (int w = 0; w < 8; w++) {
        if (bound[w + 1] > bound[w]) {
            begin_cell(&tree->cell[tree->ncells++], begin + (uint64_t)w * bh_span(level),
                       bh__place_of_child(cell->place, level, octant[w]), level, cell->home, first + bound[w],
                       bound[w + 1] - bound[w]);
        }
    }
    cell->nchild = (int16_t)(tree->ncells - cell->child);
}

/* Depth first, so that cells near in space are near in memory. */
static int divide_below(bh_tree *tree, const uint64_t *key, int64_t branch)
{
    int64_t stack[BH_STACK];
    int depth = 0;
    stack[depth++] = branch;
    while (depth > 0) {
        const int64_t c = stack[--depth];
        bh_cell *cell = &tree->cell[c];
        if (bh__is_leaf(tree, cell->count, cell->level)) {
            bh__moments_of_particles(tree, cell, cell->first, &cell->moments);
            continue;
        }
        EQP_CHECK(bh__cells_reserve(tree, tree->ncells + 8));
        divide(tree, key, c);
        for (int k = tree->cell[c].nchild; k-- > 0;) {
            stack[depth++] = tree->cell[c].child + k;
        }
    }
    return EQP_OK;
}

static void take_places(bh_tree *tree, const double *x, const double *y, const double *z)
{
    const bh_sources *sources = &tree->sources;
    const int64_t first = tree->shared.begin.particles;
    const size_t bytes = (size_t)(sources->nlocal - first) * sizeof(double);
    if (bytes > 0) {
        memcpy(sources->x + first, x, bytes);
        memcpy(sources->y + first, y, bytes);
        memcpy(sources->z + first, z, bytes);
    }
}

/* Room for n particles and, in most trees, for their cells. What a shared tree lacks is known at once. */
static int reserve_all(bh_tree *tree, int64_t n)
{
    const int64_t cells = n / tree->leaf_size * 4 + 8;
    const int particles = bh__sources_reserve(tree, tree->shared.begin.particles + n);
    const int code = bh__cells_reserve(tree, tree->shared.begin.cells + cells);
    if (tree->shared.common != NULL) {
        EQP_CHECK(bh__families_reserve(tree, tree->shared.begin.families + cells / 2));
    }
    return particles != EQP_OK ? particles : code;
}

int bh_tree_build(bh_tree *tree, const bh_box *box, int64_t n, const uint64_t *key, const double *x, const double *y,
                  const double *z, const double *m, int nintervals, const bh_interval *interval, int rank)
{
    int64_t nbranches;
    int code;
    bh__tree_clear(tree);
    tree->box = *box;
    tree->rank = rank;
    EQP_TRY(reserve_all(tree, n));
    tree->sources.n = tree->sources.nlocal = tree->shared.begin.particles + n;
    take_places(tree, x, y, z);
    if (n > 0) {
        memcpy(tree->sources.m + tree->shared.begin.particles, m, (size_t)n * sizeof(double));
    }
    for (int k = 0; k < nintervals; k++) {
        EQP_TRY(append_branches(tree, n, key, interval[k], rank));
    }
    nbranches = tree->ncells - tree->shared.begin.cells;
    for (int64_t b = 0; b < nbranches; b++) {
        EQP_TRY(divide_below(tree, key, tree->shared.begin.cells + b));
    }
    EQP_TRY(bh__families_reserve(tree, tree->nfamilies));
done:
    if (code != EQP_OK) {
        const bh_room lacks = tree->shared.lacks;
        bh__tree_clear(tree);
        tree->shared.lacks = lacks;
        return code;
    }
    tree->nbranches = nbranches;
    tree->nlocal_cells = tree->ncells;
    tree->nlocal_families = tree->nfamilies;
    tree->ntop_families = tree->nfamilies;
    for (int64_t c = tree->ncells; c-- > tree->shared.begin.cells;) { /* children come after their parents */
        bh_cell *cell = &tree->cell[c];
        if (cell->nchild > 0) {
            bh__moments_of_children(tree, cell, tree->cell + cell->child, &cell->moments);
            bh__family_of(tree, c, &tree->family[cell->family]);
        }
    }
    return EQP_OK;
}

/* Removes the top and what was grafted. */
static void cut_back(bh_tree *tree)
{
    tree->ncells = tree->nlocal_cells;
    tree->nfamilies = tree->nlocal_families;
    tree->ntop_families = tree->nlocal_families;
    tree->root = -1;
    tree->sources.n = tree->sources.nlocal;
    bh__shared_reset(tree);
}

int bh_tree_drift(bh_tree *tree, const double *x, const double *y, const double *z, int64_t *loose)
{
    int64_t found = 0;
    cut_back(tree);
    tree->drifted = true;
    take_places(tree, x, y, z);
    for (int64_t c = tree->ncells; c-- > tree->shared.begin.cells;) { /* children come after their parents */
        bh_cell *cell = &tree->cell[c];
        if (cell->nchild == 0) {
            cell->tight = (int16_t)bh__tight_of_particles(tree, cell, cell->first);
            found += bh__is_loose(cell) ? cell->count : 0;
            bh__moments_of_particles(tree, cell, cell->first, &cell->moments);
        } else {
            cell->tight = (int16_t)bh__tight_of_children(cell, tree->cell + cell->child);
            bh__moments_of_children(tree, cell, tree->cell + cell->child, &cell->moments);
            bh__family_drift(tree, c, &tree->family[cell->family]);
        }
    }
    *loose = found;
    return EQP_OK;
}

/* Branches must be disjoint, in key order, possible cells, and this rank's must be exactly this tree's. */
static int check_branches(const bh_tree *tree, int64_t nbranches, const bh_cell *branch, int rank)
{
    uint64_t end = 0;
    int64_t own = 0;
    for (int64_t b = 0; b < nbranches; b++) {
        const bh_cell *cell = &branch[b];
        if (cell->level < 0 || cell->level > EQP_CURVE_BITS || cell->key < end || cell->key >= EQP_CURVE_END ||
            cell->key != bh_key_at_level(cell->key, cell->level) || cell->count < 1 || cell->home < 0 ||
            bh__is_leaf(tree, cell->count, cell->level) != (cell->nchild == 0) || cell->nchild < 0 ||
            cell->nchild > 8) {
            return EQP_ERR_ARGUMENT;
        }
        end = cell->key + bh_span(cell->level);
        if (cell->home == rank) {
            const bh_cell *mine = &tree->cell[tree->shared.begin.cells + own];
            if (own == tree->nbranches || mine->key != cell->key || mine->level != cell->level ||
                mine->count != cell->count) {
                return EQP_ERR_ARGUMENT;
            }
            own++;
        }
    }
    return own == tree->nbranches ? EQP_OK : EQP_ERR_ARGUMENT;
}

/* The first of the branches [first, end), which ascend, that does not begin below `key`; end: none. */
static int64_t branch_from(const bh_cell *branch, int64_t first, int64_t end, uint64_t key)
{
    while (first < end) {
        const int64_t middle = first + (end - first) / 2;
        if (branch[middle].key < key) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

/* The top's copy of a branch: it points to the branch's children and particles, or to nothing if the branch is
 * on another rank whose cells are not here. */
static bh_cell branch_copy(const bh_tree *tree, const bh_cell *branch, int rank)
{
    if (branch->home == rank) {
        const int64_t first = tree->shared.begin.cells;
        return tree->cell[branch_from(tree->cell, first, first + tree->nbranches, branch->key)];
    }
    bh_cell copy = *branch;
    if (tree->shared.common != NULL) {
        return copy;
    }
    copy.family = -1;
    copy.child = BH_ABSENT;
    copy.first = BH_ABSENT;
    return copy;
}

/* Children of a cell of the top. While the top grows, first and count of its cells number the branches below them. */
static int divide_top(bh_tree *tree, int64_t parent, const bh_cell *branch, int rank)
{
    const bh_cell cell = tree->cell[parent];
    const int level = cell.level + 1;
    const int64_t child = tree->ncells, end = cell.first + cell.count;
    unsigned char octant[8];
    eqp_hilbert_children(cell.key, cell.level, octant);
    for (int64_t b = cell.first; b < end;) {
        const uint64_t key = bh_key_at_level(branch[b].key, level);
        const uint64_t place = bh__place_of_child(cell.place, level, octant[(key - cell.key) / bh_span(level)]);
        const int64_t last = branch_from(branch, b + 1, end, key + bh_span(level));
        EQP_CHECK(append_cell(tree, key, place, level, -1, b, last - b));
        if (branch[b].level == level) {
            tree->cell[tree->ncells - 1] = branch_copy(tree, &branch[b], rank);
        }
        b = last;
    }
    tree->cell[parent].child = child;
    tree->cell[parent].nchild = (int16_t)(tree->ncells - child);
    tree->cell[parent].family = (int32_t)tree->nfamilies++;
    return EQP_OK;
}

static int grow_top(bh_tree *tree, int64_t nbranches, const bh_cell *branch, int rank)
{
    int code = append_cell(tree, 0, 0, 0, -1, 0, nbranches);
    int64_t stack[BH_STACK];
    int depth = 0;
    stack[depth++] = tree->ncells - 1;
    while (code == EQP_OK && depth > 0) {
        const int64_t c = stack[--depth];
        code = divide_top(tree, c, branch, rank);
        for (int k = code == EQP_OK ? tree->cell[c].nchild : 0; k-- > 0;) {
            if (tree->cell[tree->cell[c].child + k].home < 0) {
                stack[depth++] = tree->cell[c].child + k;
            }
        }
    }
    return code;
}

/* Counts and moments of the top's cells, from `begin` on. */
static int finish_top(bh_tree *tree, int64_t begin)
{
    for (int64_t c = tree->ncells; c-- > begin;) { /* children come after their parents */
        bh_cell *cell = &tree->cell[c];
        if (cell->home >= 0) {
            continue;
        }
        const bh_cell *child = tree->cell + cell->child;
        cell->first = BH_ABSENT;
        cell->count = 0;
        for (int k = 0; k < cell->nchild; k++) {
            cell->count += child[k].count;
        }
        EQP_CHECK(bh__is_leaf(tree, cell->count, cell->level) ? EQP_ERR_ARGUMENT : EQP_OK);
        cell->tight = (int16_t)bh__tight_of_children(cell, child);
        bh__moments_of_children(tree, cell, child, &cell->moments);
        bh__family_of(tree, c, &tree->family[cell->family]);
    }
    return EQP_OK;
}

int bh_tree_top(bh_tree *tree, int64_t nbranches, const bh_cell *branch, int rank)
{
    const int64_t begin = tree->ncells, families = tree->nfamilies;
    int code;
    EQP_TRY(check_branches(tree, nbranches, branch, rank));
    if (nbranches > 1 || (nbranches == 1 && branch[0].level > 0)) {
        EQP_TRY(grow_top(tree, nbranches, branch, rank));
        EQP_TRY(bh__families_reserve(tree, tree->nfamilies));
        EQP_TRY(finish_top(tree, begin));
    } else if (nbranches == 1 && branch[0].home != rank) {
        EQP_TRY(bh__cells_reserve(tree, begin + 1));
        tree->cell[tree->ncells++] = branch_copy(tree, &branch[0], rank);
    }
done:
    if (code != EQP_OK) {
        tree->ncells = begin;
        tree->nfamilies = families;
    }
    if (code != EQP_OK || nbranches == 0) {
        return code;
    }
    tree->root = tree->ncells > begin ? begin : tree->shared.begin.cells;
    tree->ntop_families = tree->nfamilies;
    return EQP_OK;
}
