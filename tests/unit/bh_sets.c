/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <equipoise/error.h>
#include <equipoise/more/random.h>

#include "bh_sets.h"
#include "tree.h"

static double uniform(uint64_t seed, int64_t i, int what)
{
    return eqp_random_uniform(seed, (uint64_t)what, (uint64_t)i);
}

static void place(enum bh_set_kind kind, int64_t n, int64_t i, uint64_t seed, double p[3])
{
    for (int k = 0; k < 3; k++) {
        p[k] = 10 * uniform(seed, i, k) - 3;
    }
    if (kind == BH_CLUSTERED) { /* clumps of very different sizes */
        const int64_t clump = i % 7;
        const double radius = 1.0 / (double)(1 << (3 * clump));
        for (int k = 0; k < 3; k++) {
            const double u = uniform(seed, i, k) - 0.5;
            p[k] = 10 * uniform(seed, clump, k + 5) - 3 + radius * u * u * u;
        }
    } else if (kind == BH_PLANAR) {
        p[2] = 1.25;
    } else if (kind == BH_LINEAR) {
        p[1] = p[0], p[2] = -2;
    } else if (kind == BH_FAR) { /* so far away that doubles are 128 apart */
        for (int k = 0; k < 3; k++) {
            p[k] = (k == 1 ? -1e18 : 1e18) + 1e9 * p[k];
        }
    } else if (kind == BH_REPEATED) { /* many particles at each point */
        const int64_t nplaces = n / 37 + 1;
        for (int k = 0; k < 3; k++) {
            p[k] = uniform(seed, i % nplaces, k + 5);
        }
    } else if (kind == BH_COINCIDENT) {
        p[0] = 0.3, p[1] = -0.7, p[2] = 11;
    }
}

void bh_set_centre(const bh_box *box, uint64_t key, int level, double centre[3])
{
    uint32_t grid[3];
    const double side = box->side / (double)(1 << level);
    eqp_hilbert_cell(key, &grid[0], &grid[1], &grid[2]);
    for (int k = 0; k < 3; k++) {
        centre[k] = box->corner[k] + (grid[k] / (1u << (EQP_CURVE_BITS - level)) + 0.5) * side;
    }
}

static double *doubles(int64_t n)
{
    double *array = calloc((size_t)n + 1, sizeof(*array));
    assert_non_null(array);
    return array;
}

static void allocate(bh_set *set, int64_t n)
{
    *set = (bh_set){.n = n};
    for (int a = 0; a < BH_SET_COLUMNS; a++) {
        set->column[a] = doubles(n);
    }
}

/* By key, equal keys by place. */
static void sort(bh_set *set)
{
    int32_t *order = calloc((size_t)set->n + 1, sizeof(*order));
    assert_non_null(order);
    assert_int_equal(bh_order(set->n, set->key, NULL, order), EQP_OK);
    for (int a = 0; a < BH_SET_COLUMNS; a++) {
        double *old = set->column[a];
        set->column[a] = doubles(set->n);
        for (int64_t i = 0; i < set->n; i++) {
            memcpy(&set->column[a][i], &old[order[i]], sizeof(*old));
        }
        free(old);
    }
    free(order);
}

void bh_set_make(enum bh_set_kind kind, int64_t n, uint64_t seed, bh_set *set)
{
    double lo[3] = {0, 0, 0}, hi[3] = {0, 0, 0};
    allocate(set, n);
    for (int64_t i = 0; i < n; i++) {
        double p[3];
        place(kind, n, i, seed, p);
        set->m[i] = 0.1 + uniform(seed, i, 3);
        set->accel[i] = 0.5 + uniform(seed, i, 4);
        for (int k = 0; k < 3; k++) {
            set->column[k][i] = p[k];
            lo[k] = i == 0 || p[k] < lo[k] ? p[k] : lo[k];
            hi[k] = i == 0 || p[k] > hi[k] ? p[k] : hi[k];
        }
    }
    assert_int_equal(bh_box_enclosing(lo, hi, &set->box), EQP_OK);
    assert_int_equal(eqp_hilbert_keys(n, set->x, set->y, set->z, set->box.corner, set->box.side, set->key), EQP_OK);
    sort(set);
}

void bh_set_free(bh_set *set)
{
    for (int a = 0; a < BH_SET_COLUMNS; a++) {
        free(set->column[a]);
    }
}

int64_t bh_set_drift(const bh_set *set, double drift, bh_tree *tree)
{
    double *to[3];
    int64_t loose = -1;
    for (int k = 0; k < 3; k++) {
        to[k] = doubles(set->n);
        for (int64_t i = 0; i < set->n; i++) {
            uint64_t place; /* differs for coincident particles, the same in every part */
            memcpy(&place, &set->accel[i], sizeof(place));
            const double u = 2 * eqp_random_uniform(31, (uint64_t)k, place) - 1;
            to[k][i] = set->column[k][i] + drift * set->box.side * pow(u, 15);
        }
    }
    assert_int_equal(bh_tree_drift(tree, to[0], to[1], to[2], &loose), EQP_OK);
    for (int k = 0; k < 3; k++) {
        free(to[k]);
    }
    return loose;
}

void bh_set_tree(const bh_set *set, int leaf_size, bh_tree *tree)
{
    const bh_interval all = {0, EQP_CURVE_END};
    bh_tree_init(tree, leaf_size);
    tree->bare = set->bare;
    assert_int_equal(bh_tree_build(tree, &set->box, set->n, set->key, set->x, set->y, set->z, set->m, 1, &all, 0),
                     EQP_OK);
    if (set->drift > 0) {
        bh_set_drift(set, set->drift, tree);
    }
    assert_int_equal(bh_tree_top(tree, tree->nbranches, tree->cell, 0), EQP_OK);
    assert_int_equal(bh_tree_check(tree), EQP_OK);
}

static int compare_cells(const void *a, const void *b)
{
    const bh_cell *p = a, *q = b;
    return (p->key > q->key) - (p->key < q->key);
}

/* Possible cuts: the beginning of every small cell with a large parent. */
static int64_t places_to_cut(const bh_set *set, int size, bh_cell **cut)
{
    int64_t ncuts = 0;
    BH_TREE(tree, set, size);
    *cut = calloc((size_t)tree.ncells + 1, sizeof(**cut));
    assert_non_null(*cut);
    for (int64_t c = 0; c < tree.ncells; c++) {
        if (tree.cell[c].nchild == 0) {
            (*cut)[ncuts++] = tree.cell[c];
        }
    }
    qsort(*cut, (size_t)ncuts, sizeof(**cut), compare_cells);
    return ncuts;
}

static void deal(const bh_set *set, int64_t ncuts, const bh_cell *cut, int nranks, int pieces, bh_part *parts)
{
    const int64_t nintervals = (int64_t)nranks * pieces;
    int64_t at = 0;
    for (int r = 0; r < nranks; r++) {
        parts[r].interval = calloc((size_t)pieces, sizeof(*parts[r].interval));
        assert_non_null(parts[r].interval);
        allocate(&parts[r].set, set->n);
        parts[r].set.n = 0;
        parts[r].set.box = set->box;
    }
    for (int64_t i = 0; i < nintervals; i++) {
        bh_part *part = &parts[i % nranks];
        const uint64_t begin = i == 0 || ncuts == 0 ? 0 : cut[ncuts * i / nintervals].key;
        const uint64_t end = i + 1 == nintervals ? EQP_CURVE_END
                             : ncuts == 0        ? 0
                                                 : cut[ncuts * (i + 1) / nintervals].key;
        part->interval[part->nintervals++] = (bh_interval){begin, end};
        for (; at < set->n && set->key[at] < end; at++) {
            const int64_t to = part->set.n++;
            for (int a = 0; a < BH_SET_COLUMNS; a++) {
                memcpy(&part->set.column[a][to], &set->column[a][at], sizeof(double));
            }
        }
    }
    assert_int_equal(at, set->n);
}

/* The branches of all ranks in key order, from the bytes sent. */
static bh_cell *gather_branches(int nranks, const bh_part *parts, int64_t nbranches)
{
    const size_t size = (size_t)bh_branch_bytes(&parts[0].tree);
    bh_cell *branch = calloc((size_t)nbranches + 1, sizeof(*branch));
    unsigned char *bytes = malloc((size_t)nbranches * size + 1);
    int64_t n = 0;
    assert_true(branch != NULL && bytes != NULL && size % 8 == 0);
    for (int r = 0; r < nranks; r++) {
        bh_branches_pack(&parts[r].tree, parts[r].tree.nbranches, parts[r].tree.cell, bytes + (size_t)n * size);
        n += parts[r].tree.nbranches;
    }
    assert_int_equal(bh_branches_unpack(&parts[0].tree, n, bytes, branch), EQP_OK);
    free(bytes);
    qsort(branch, (size_t)n, sizeof(*branch), compare_cells);
    return branch;
}

void bh_parts_make(const bh_set *set, int leaf_size, int group_size, int nranks, int pieces, bh_part **parts)
{
    bh_cell *cut;
    const int64_t ncuts = places_to_cut(set, leaf_size > group_size ? leaf_size : group_size, &cut);
    bh_part *made = calloc((size_t)nranks, sizeof(*made));
    assert_non_null(made);
    deal(set, ncuts, cut, nranks, pieces, made);
    free(cut);
    int64_t nbranches = 0;
    for (int r = 0; r < nranks; r++) {
        const bh_set *s = &made[r].set;
        made[r].nranks = nranks;
        bh_tree_init(&made[r].tree, leaf_size);
        made[r].tree.bare = set->bare;
        assert_int_equal(bh_tree_build(&made[r].tree, &s->box, s->n, s->key, s->x, s->y, s->z, s->m, made[r].nintervals,
                                       made[r].interval, r),
                         EQP_OK);
        if (set->drift > 0) {
            bh_set_drift(s, set->drift, &made[r].tree);
        }
        nbranches += made[r].tree.nbranches;
    }
    bh_cell *branch = gather_branches(nranks, made, nbranches);
    for (int r = 0; r < nranks; r++) {
        assert_int_equal(bh_tree_top(&made[r].tree, nbranches, branch, r), EQP_OK);
        assert_int_equal(bh_tree_check(&made[r].tree), EQP_OK);
        assert_int_equal(bh_groups_make(&made[r].tree, made[r].set.key, group_size, made[r].set.accel, &made[r].ngroups,
                                        &made[r].group),
                         EQP_OK);
    }
    free(branch);
    *parts = made;
}

void bh_parts_free(bh_part *parts)
{
    for (int r = 0, nranks = parts[0].nranks; r < nranks; r++) {
        bh_set_free(&parts[r].set);
        free(parts[r].interval);
        bh_tree_free(&parts[r].tree);
        free(parts[r].group);
    }
    free(parts);
}
