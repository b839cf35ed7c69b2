/* SPDX-License-Identifier: BSD-3-Clause */
/* Recut of a tree for other items: only branches that hold an overloaded part are cut again. */
#include "methods/tiles/tiles.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A branch is recut by itself if its mean overload is at most this fraction of the tolerance. The rest of the tolerance
 * is left for the granularity of items. */
#define BRANCH_SLACK 0.5

typedef struct recutting {
    const eqp_tiles *tree;
    eqp__tile_cut *cut; /* [nparts - 1] the new ones */
    double tolerance;
    int64_t n, total;
    eqp__tile_item *item;  /* [n] */
    int *part;             /* [n] */
    int64_t *before;       /* [nparts + 1] load of the parts before each */
    int *root;             /* [nparts] first part of the branch that is recut; -1: none */
    int64_t *first;        /* [nparts + 1] first item in `moved` of the branch with this root */
    eqp__tile_item *moved; /* [n] */
    int moved_cuts;
} recutting;

static int recutting_open(recutting *c)
{
    const int nparts = c->tree->plan.nparts;

    EQP__CHECK(eqp_array_create(&c->cut, nparts, sizeof *c->cut));
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(c->item, c->n), EQP__ARRAY(c->moved, c->n), EQP__ARRAY(c->part, c->n),
                           EQP__ARRAY(c->before, (int64_t)nparts + 1), EQP__ARRAY(c->root, nparts),
                           EQP__ARRAY(c->first, (int64_t)nparts + 1)));
    memcpy(c->cut, c->tree->cut, (size_t)(nparts - 1) * sizeof *c->cut);
    return EQP_OK;
}

/* Finds the part of every item under the present cuts, and the loads. */
static void find_loads(recutting *c)
{
    const int nparts = c->tree->plan.nparts;
    int64_t total = 0;

    for (int64_t i = 0; i < c->n; i++) {
        total += c->item[i].weight;
    }
    for (int64_t i = 0; i < c->n; i++) {
        c->part[i] = eqp__tiles_descend(c->cut, nparts, &c->item[i], i);
        c->before[c->part[i] + 1] += total > 0 ? c->item[i].weight : 1;
    }
    for (int p = 0; p < nparts; p++) {
        c->before[p + 1] += c->before[p];
    }
    c->total = c->before[nparts];
}

/* Relative overload of parts [first, first + n). */
static double overload(const recutting *c, int first, int n)
{
    const double *before = c->tree->before;
    double share = before ? before[first + n] - before[first] : (double)n / c->tree->plan.nparts;
    double load = (double)(c->before[first + n] - c->before[first]);

    return c->total > 0 ? load / ((double)c->total * share) - 1 : 0;
}

static bool any_overload(const recutting *c, int first, int n)
{
    for (int p = first; p < first + n; p++) {
        if (overload(c, p, 1) > c->tolerance) {
            return true;
        }
    }
    return false;
}

/* Marks the branches of parts [first, first + n) to recut. */
static void mark(recutting *c, int first, int n, const eqp__tile_cut *cut)
{
    if (n == 1 || !any_overload(c, first, n)) {
        return;
    }
    const int start[2] = {first, first + cut->left}, length[2] = {cut->left, n - cut->left};
    bool apart = true;
    for (int side = 0; side < 2; side++) {
        bool fits = overload(c, start[side], length[side]) <= c->tolerance * (length[side] > 1 ? BRANCH_SLACK : 1);
        apart = apart && (fits || !any_overload(c, start[side], length[side]));
    }
    if (apart) {
        mark(c, start[0], length[0], cut + 1);
        mark(c, start[1], length[1], cut + cut->left);
        return;
    }
    for (int p = first; p < first + n; p++) {
        c->root[p] = first;
    }
    c->moved_cuts += n - 1;
}

/* Collects the items of each marked branch, in their order. */
static void gather_branches(recutting *c)
{
    const int nparts = c->tree->plan.nparts;
    int64_t sum = 0;

    for (int64_t i = 0; i < c->n; i++) {
        if (c->root[c->part[i]] >= 0) {
            c->first[c->root[c->part[i]]]++;
        }
    }
    for (int p = 0; p <= nparts; p++) {
        int64_t here = c->first[p];
        c->first[p] = sum;
        sum += here;
    }
    for (int64_t i = 0; i < c->n; i++) {
        int root = c->root[c->part[i]];
        if (root >= 0) {
            c->moved[c->first[root]++] = c->item[i];
        }
    }
    /* Each entry has advanced to the beginning of the next branch. */
    for (int p = nparts; p > 0; p--) {
        c->first[p] = c->first[p - 1];
    }
    c->first[0] = 0;
}

/* Recuts the marked branches of parts [first, first + n). */
static int cut_branches(recutting *c, int first, int n, eqp__tile_cut *cut)
{
    if (n == 1) {
        return EQP_OK;
    }
    int length = 1;
    while (length < n && c->root[first] == first && c->root[first + length] == first) {
        length++;
    }
    if (length == n && c->root[first] == first) {
        int64_t from = c->first[first];
        return eqp__tiles_bisect(&c->tree->plan, c->first[first + 1] - from, c->moved + from, c->item + from, true,
                                 first, n, cut, c->part);
    }
    int code = cut_branches(c, first, cut->left, cut + 1);
    return code ? code : cut_branches(c, first + cut->left, n - cut->left, cut + cut->left);
}

static int recut(recutting *c, const eqp_tiles_items *items)
{
    const int nparts = c->tree->plan.nparts;
    eqp__tile_scope scope = eqp__tile_scope_nothing();
    int code = eqp__tile_scope_add(items, &scope);

    EQP__CHECK(code);
    EQP__CHECK(recutting_open(c));
    eqp__tiles_pack(items, &scope, &c->tree->grid, c->item);
    find_loads(c);
    for (int p = 0; p < nparts; p++) {
        c->root[p] = -1;
    }
    mark(c, 0, nparts, c->cut);
    if (c->moved_cuts > 0) {
        gather_branches(c);
        code = cut_branches(c, 0, nparts, c->cut);
    }
    return code;
}

int eqp_tiles_recut(eqp_tiles *tree, const eqp_tiles_items *items, double imbalance_tol, int *part,
                    eqp_tiles_result *result)
{
    recutting c = {.tree = tree, .tolerance = imbalance_tol};
    eqp_tiles_result r = {0};
    int code = !tree || !items || !(imbalance_tol >= 0) ? EQP_ERR_ARGUMENT : EQP_OK;

    EQP__CHECK(code);
    c.n = items->n;
    if ((code = recut(&c, items)) || (part && (code = eqp__tiles_finish(tree, items, imbalance_tol, c.part, &r)))) {
        goto done;
    }
    memcpy(tree->cut, c.cut, (size_t)(tree->plan.nparts - 1) * sizeof *c.cut);
    if (part && c.n > 0) {
        memcpy(part, c.part, (size_t)c.n * sizeof *part);
    }
    r.columns = tree->columns;
    r.moved_cuts = c.moved_cuts;
    if (result) {
        *result = r;
    }
done:
    EQP__FREE(c.cut, c.item, c.moved, c.part, c.before, c.root, c.first);
    return code;
}
