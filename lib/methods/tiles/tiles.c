/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of cuts: creation from items, and the search for the part of an interaction. */
#include "methods/tiles/tiles.h"

#include "base/internal.h"
#include "methods/frame/frame.h"
#include "methods/frame/repair.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int eqp__tiles_check(const eqp_tiles_options *o)
{
    EQP__FAIL_IF(!o || o->size != sizeof *o || eqp__shares_check(o->nparts, o->share) || !(o->imbalance_tol >= 0) ||
                     !(o->aspect > 0) || !isfinite(o->aspect) ||
                     (o->shape != EQP_TILES_FREE && o->shape != EQP_TILES_JAGGED) || o->columns < 0 ||
                     o->columns > o->nparts,
                 EQP_ERR_ARGUMENT);
    return EQP_OK;
}

eqp__tile_scope eqp__tile_scope_nothing(void)
{
    return (eqp__tile_scope){.low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
}

/* Four points are twelve consecutive numbers, each with its own bounds, so that the loop vectorizes. */
enum { SCOPE_ROW = 12 };

static bool scope_points(int64_t n, const double *point, eqp__tile_scope *scope)
{
    const int64_t count = 3 * n, rows = count - count % SCOPE_ROW;
    double low[SCOPE_ROW], high[SCOPE_ROW], nothing = 0;

    for (int k = 0; k < SCOPE_ROW; k++) {
        low[k] = scope->low[k % 3];
        high[k] = scope->high[k % 3];
    }
    for (int64_t i = 0; i < count; i += SCOPE_ROW) {
        const int width = i < rows ? SCOPE_ROW : (int)(count - rows);
        for (int k = 0; k < width; k++) {
            const double x = point[i + k];
            nothing += x - x; /* 0 unless x is infinite or NaN */
            low[k] = x < low[k] ? x : low[k];
            high[k] = x > high[k] ? x : high[k];
        }
    }
    for (int k = 0; k < SCOPE_ROW; k++) {
        scope->low[k % 3] = fmin(scope->low[k % 3], low[k]);
        scope->high[k % 3] = fmax(scope->high[k % 3], high[k]);
    }
    return nothing == 0;
}

int eqp__tile_scope_add(const eqp_tiles_items *items, eqp__tile_scope *scope)
{
    eqp__tile_scope s = *scope;

    EQP__FAIL_IF(items->n < 0 || items->n > INT32_MAX || (items->n > 0 && !items->target) ||
                     !scope_points(items->n, items->target, &s) ||
                     (items->source && !scope_points(items->n, items->source, &s)),
                 EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < items->n; i++) {
        double weight = items->weight ? items->weight[i] : 1;
        EQP__FAIL_IF(!(weight >= 0) || !isfinite(weight), EQP_ERR_ARGUMENT);
        s.heaviest = weight > s.heaviest ? weight : s.heaviest;
    }
    s.n += items->n;
    *scope = s;
    return EQP_OK;
}

eqp__tile_grid eqp__tile_grid_of(const eqp__tile_scope *scope)
{
    eqp__tile_grid grid = {.scale = 0};
    double widest = 0;

    for (int k = 0; k < 3 && scope->n > 0; k++) {
        grid.low[k] = 0.5 * scope->low[k];
        widest = fmax(widest, 0.5 * scope->high[k] - grid.low[k]);
    }
    if (widest > 0) {
        grid.scale = fmin(EQP__TILE_RANGE / widest, DBL_MAX);
    }
    return grid;
}

void eqp__tiles_pack(const eqp_tiles_items *items, const eqp__tile_scope *scope, const eqp__tile_grid *grid,
                     eqp__tile_item *out)
{
    const double *source = items->source ? items->source : items->target;
    /* Sums of all weights stay below 2^62. */
    const double most = fmin(EQP__TILE_WEIGHT_MAX, floor(ldexp(1, 62) / fmax((double)scope->n, 1)));
    const double heaviest = scope->heaviest > 0 ? scope->heaviest : 1;

    for (int64_t i = 0; i < items->n; i++) {
        for (int k = 0; k < 3; k++) {
            out[i].at[k] = eqp__tile_coordinate(grid, k, items->target[3 * i + k]);
            out[i].at[k + 3] = eqp__tile_coordinate(grid, k, source[3 * i + k]);
        }
        out[i].weight = (uint32_t)((items->weight ? items->weight[i] : 1) / heaviest * most);
        out[i].order = (uint32_t)i;
    }
}

int eqp__tiles_shares(int nparts, const double *share, double **before)
{
    share = eqp__shares_reduce(nparts, share);
    if (!share) {
        return EQP_OK;
    }
    double *sum = NULL;
    int code = eqp_array_create(&sum, (int64_t)nparts + 1, sizeof *sum);
    for (int p = 0; !code && p < nparts; p++) {
        sum[p + 1] = sum[p] + share[p];
    }
    *before = sum;
    return code;
}

int eqp__tiles_strips(int nparts, int columns)
{
    int strips = (nparts + columns / 2) / columns;

    return strips > 0 ? strips : 1;
}

/* The strip of a part, and the first part of a strip. */
static int strip_of(const eqp__tile_plan *plan, int part)
{
    return (int)((((int64_t)part + 1) * plan->strips - 1) / plan->nparts);
}

static int strip_first(const eqp__tile_plan *plan, int strip)
{
    return (int)((int64_t)strip * plan->nparts / plan->strips);
}

int eqp__tiles_split(const eqp__tile_plan *plan, int first, int n, unsigned *allowed)
{
    if (plan->strips == 0) {
        *allowed = 0x1ff;
        return n / 2;
    }
    int low = strip_of(plan, first), high = strip_of(plan, first + n - 1);
    if (low == high) {
        *allowed = 0x038;
        return n / 2;
    }
    *allowed = 0x007;
    return strip_first(plan, low + (high - low + 1) / 2) - first;
}

double eqp__tiles_target(const eqp__tile_plan *plan, int first, int n, int left, int64_t total)
{
    const double *before = plan->before;

    if (!before) {
        return (double)total * left / n;
    }
    return (double)total * ((before[first + left] - before[first]) / (before[first + n] - before[first]));
}

void eqp__tiles_free(eqp_tiles *tree)
{
    if (tree) {
        EQP__FREE(tree->before, tree->share, tree->cut, tree);
    }
}

void eqp__tiles_directions(const eqp_tiles *tree, int count[9])
{
    if (!tree || !count) {
        return;
    }
    memset(count, 0, EQP__TILE_DIRECTIONS * sizeof *count);
    for (int i = 0; i < tree->plan.nparts - 1; i++) {
        count[tree->cut[i].direction]++;
    }
}

int eqp__tiles_find(const eqp_tiles *tree, const double target[3], const double source[3])
{
    EQP_REQUIRE(tree && target && source);
    eqp__tile_item t = {.weight = 0};

    for (int k = 0; k < 3; k++) {
        t.at[k] = eqp__tile_coordinate(&tree->grid, k, target[k]);
        t.at[k + 3] = eqp__tile_coordinate(&tree->grid, k, source[k]);
    }
    /* As if ordered after all items at its place. */
    return eqp__tiles_descend(tree->cut, tree->plan.nparts, &t, INT64_MAX);
}

/* Creates a tree whose cuts are still unset. */
static int tree_open(const eqp_tiles_options *options, eqp_tiles **tree)
{
    eqp_tiles *t = NULL;
    int code = eqp_array_create(&t, 1, sizeof *t);

    EQP__CHECK(code);
    t->plan = (eqp__tile_plan){.nparts = options->nparts, .aspect = options->aspect};
    code = eqp__tiles_shares(options->nparts, options->share, &t->before);
    code = code ? code : eqp_array_create(&t->cut, options->nparts, sizeof *t->cut);
    if (!code && t->before && !(code = eqp_array_create(&t->share, options->nparts, sizeof *t->share))) {
        memcpy(t->share, options->share, (size_t)options->nparts * sizeof *t->share);
    }
    t->plan.before = t->before;
    if (code) {
        eqp__tiles_free(t);
        return code;
    }
    *tree = t;
    return EQP_OK;
}

/* Sets the number of columns of jagged parts. spare: [n] work. */
static int plan_columns(const eqp_tiles_options *options, const eqp__tile_item *item, int64_t n, eqp__tile_item *spare,
                        eqp_tiles *tree)
{
    int64_t sampled = 0;
    int code = EQP_OK;

    if (options->shape != EQP_TILES_JAGGED) {
        return EQP_OK;
    }
    tree->columns = options->columns;
    if (tree->columns == 0) {
        const int64_t stride = eqp__tiles_column_stride(n);
        for (int64_t i = 0; i < n; i += stride) {
            spare[sampled++] = item[i];
        }
        code = eqp__tiles_columns(spare, sampled, options->nparts, options->aspect, &tree->columns);
    }
    if (!code) {
        tree->plan.strips = eqp__tiles_strips(options->nparts, tree->columns);
    }
    return code;
}

int eqp__tiles_finish(const eqp_tiles *tree, const eqp_tiles_items *items, double imbalance_tol, int *part,
                      eqp_tiles_result *result)
{
    eqp_repair_result repair;
    double *ones = NULL;
    int code = EQP_OK;

    if (!items->weight) {
        code = eqp_array_create(&ones, items->n, sizeof *ones);
        for (int64_t i = 0; !code && i < items->n; i++) {
            ones[i] = 1;
        }
    }
    const double *weight = items->weight ? items->weight : ones;
    if (!code && isfinite(imbalance_tol)) {
        code = eqp__parts_repair(items->n, weight, NULL, tree->plan.nparts, tree->share, imbalance_tol, part, &repair);
        result->imbalance = repair.imbalance;
        result->imbalance_unrepaired = repair.imbalance_before;
        result->repaired = repair.moved;
    } else if (!code) {
        eqp_part_loads loads;
        code = eqp__parts_load(items->n, weight, part, tree->plan.nparts, tree->share, NULL, &loads);
        result->imbalance = result->imbalance_unrepaired = loads.imbalance;
    }
    free(ones);
    return code;
}

int eqp__tiles_create(const eqp_tiles_items *items, const eqp_tiles_options *options, int *part, eqp_tiles **tree,
                      eqp_tiles_result *result)
{
    eqp__tile_item *item = NULL, *spare = NULL;
    eqp__tile_scope scope = eqp__tile_scope_nothing();
    eqp_tiles *t = NULL;
    int *found = NULL;
    eqp_tiles_result r = {0};
    int code = items ? eqp__tiles_check(options) : EQP_ERR_ARGUMENT;

    code = code ? code : eqp__tile_scope_add(items, &scope);
    if (code || (code = tree_open(options, &t)) || (code = eqp_array_create(&item, items->n, sizeof *item)) ||
        (code = eqp_array_create(&spare, items->n, sizeof *spare)) ||
        (part && (code = eqp_array_create(&found, items->n, sizeof *found)))) {
        goto done;
    }
    t->grid = eqp__tile_grid_of(&scope);
    eqp__tiles_pack(items, &scope, &t->grid, item);
    EQP_TRY(plan_columns(options, item, items->n, spare, t));
    code = eqp__tiles_bisect(&t->plan, items->n, item, spare, 0, options->nparts, t->cut, found);
    if (code || (part && (code = eqp__tiles_finish(t, items, options->imbalance_tol, found, &r)))) {
        goto done;
    }
    r.columns = t->columns;
    if (part && items->n > 0) {
        memcpy(part, found, (size_t)items->n * sizeof *part);
    }
    if (tree) {
        *tree = t;
        t = NULL;
    }
    if (result) {
        *result = r;
    }
done:
    EQP__FREE(item, spare, found);
    eqp__tiles_free(t);
    return code;
}
