/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods `tiles` and `jagged`, which cut targets and sources. */
#include "methods/tiles/tiles.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "methods/frame/frame.h"
#include "methods/frame/repair.h"

#include <equipoise/more/comm.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* Up to this number of items (8 MiB) every rank gathers and bisects all items, which takes less time than the messages
 * of a distributed bisection. */
#define MOST_GATHERED ((int64_t)1 << 18)

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

int eqp__tile_scope_add(const eqp_balance_items *items, eqp__tile_scope *scope)
{
    eqp__tile_scope s = *scope;

    EQP__FAIL_IF(items->n < 0 || items->n > INT32_MAX || (items->n > 0 && !items->point) ||
                     !scope_points(items->n, items->point, &s) ||
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

/* Coordinate x on the grid of an axis. low, scale: of halved coordinates, whose differences cannot overflow. */
static uint32_t coordinate(double low, double scale, double x)
{
    double q = (0.5 * x - low) * scale;

    return !(q > 0) ? 0 : q >= EQP__TILE_RANGE ? (uint32_t)EQP__TILE_RANGE : (uint32_t)q;
}

void eqp__tiles_pack(const eqp_balance_items *items, const eqp__tile_scope *scope, int64_t first_order,
                     eqp__tile_item *out)
{
    const double *source = items->source ? items->source : items->point;
    /* Sums of all weights stay below 2^62. */
    const double most = fmin(EQP__TILE_WEIGHT_MAX, floor(ldexp(1, 62) / fmax((double)scope->n, 1)));
    const double heaviest = scope->heaviest > 0 ? scope->heaviest : 1;
    double low[3] = {0, 0, 0}, widest = 0;

    /* Cells are cubes, since extents along different axes are compared. */
    for (int k = 0; k < 3 && scope->n > 0; k++) {
        low[k] = 0.5 * scope->low[k];
        widest = fmax(widest, 0.5 * scope->high[k] - low[k]);
    }
    const double scale = widest > 0 ? fmin(EQP__TILE_RANGE / widest, DBL_MAX) : 0;
    for (int64_t i = 0; i < items->n; i++) {
        for (int k = 0; k < 3; k++) {
            out[i].at[k] = coordinate(low[k], scale, items->point[3 * i + k]);
            out[i].at[k + 3] = coordinate(low[k], scale, source[3 * i + k]);
        }
        out[i].weight = (uint32_t)((items->weight ? items->weight[i] : 1) / heaviest * most);
        out[i].order = (uint32_t)(first_order + i);
    }
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

int eqp__tile_scope_all(MPI_Comm comm, const eqp_balance_items *items, int64_t *before, eqp__tile_scope *scope)
{
    eqp__tile_scope mine = eqp__tile_scope_nothing();
    int64_t least[7], lower = 0;
    int rank, nranks;
    double all = (double)items->n;
    int code = eqp__tile_scope_add(items, &mine);

    for (int k = 0; k < 3; k++) {
        least[k] = eqp__rank_of_double(mine.low[k]);
        least[3 + k] = ~eqp__rank_of_double(mine.high[k]);
    }
    least[6] = ~eqp__rank_of_double(mine.heaviest);
    EQP_TRY(eqp__meet(comm, code, 7, least, 1, &all, NULL));
    EQP_TRY(eqp__comm_shape(comm, &rank, &nranks));
    EQP_TRY(EQP__MPI(EQP__WAITS(MPI_Exscan(&items->n, &lower, 1, MPI_INT64_T, MPI_SUM, comm))));
    for (int k = 0; k < 3; k++) {
        mine.low[k] = eqp__double_of_rank(least[k]);
        mine.high[k] = eqp__double_of_rank(~least[3 + k]);
    }
    mine.heaviest = eqp__double_of_rank(~least[6]);
    mine.n = (int64_t)all;
    *scope = mine;
    *before = rank > 0 ? lower : 0;
done:
    return code;
}

/* Every rank gathers all items and computes the same bisection. Collective. */
static int bisect_alike(MPI_Comm comm, const eqp__tile_plan *plan, int64_t n, const eqp__tile_item *item,
                        int64_t before, int *part)
{
    eqp__tile_item *all = NULL, *spare = NULL;
    eqp__tile_cut *cut = NULL;
    int64_t total = 0;
    int *found = NULL, code = eqp_gather_records(comm, sizeof *all, n, item, &total, &all);

    EQP__CHECK(code);
    code = EQP__ARRAYS(EQP__ARRAY(spare, total), EQP__ARRAY(cut, plan->nparts), EQP__ARRAY(found, total));
    code = code ? code : eqp__tiles_bisect(plan, total, all, spare, 0, plan->nparts, cut, found);
    code = eqp_agree(comm, code, NULL);
    for (int64_t i = 0; i < n && !code; i++) {
        part[i] = found[before + i];
    }
    EQP__FREE(all, spare, cut, found);
    return code;
}

/* Finds the columns that share fewest particles from a sample that every rank gathers. total: items of all ranks.
 * Collective. */
static int estimate_columns(MPI_Comm comm, const eqp__tile_plan *plan, int64_t n, const eqp__tile_item *item,
                            int64_t before, int64_t total, int *columns)
{
    const int64_t stride = eqp__tiles_column_stride(total), from = (stride - before % stride) % stride;
    eqp__tile_item *mine = NULL, *sample = NULL;
    int64_t count = 0, all = 0;
    int code = eqp_agree(comm, eqp_array_create(&mine, n / stride + 1, sizeof *mine), NULL);

    for (int64_t i = from; i < n && !code; i += stride) {
        mine[count++] = item[i];
    }
    code = code ? code : eqp_gather_records(comm, sizeof *mine, count, mine, &all, &sample);
    code = code ? code : eqp_agree(comm, eqp__tiles_columns(sample, all, plan->nparts, plan->aspect, columns), NULL);
    EQP__FREE(mine, sample);
    return code;
}

typedef struct own_settings {
    double aspect;   /* 0: DEFAULT_ASPECT */
    int64_t columns; /* 0: an estimate decides */
} own_settings;

#define MOST_COLUMNS 65536
#define DEFAULT_ASPECT 0.5

/* Prefix sums of shares [nparts + 1], owned by the caller; *before is unchanged if shares are equal. */
static int sum_shares(int nparts, const double *share, double **before)
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

/* A division to be made: its plan, and this rank's items on the grid. */
typedef struct tiling {
    eqp__tile_plan plan;
    int columns; /* parts per strip, or 0 */
    double *before;
    eqp__tile_item *item;
} tiling;

/* The caller closes the tiling, also after an error. Local. */
static int tiling_open(const eqp_balance_items *items, const eqp__tile_scope *scope, int64_t first_order,
                       const eqp_balance_options *options, tiling *t)
{
    own_settings own;

    memcpy(&own, &options->settings, sizeof own);
    *t = (tiling){.plan = {.nparts = options->nparts, .aspect = own.aspect > 0 ? own.aspect : DEFAULT_ASPECT},
                  .columns = (int)(own.columns < options->nparts ? own.columns : options->nparts)};
    EQP__CHECK(sum_shares(options->nparts, options->share, &t->before));
    EQP__CHECK(eqp_array_create(&t->item, items->n, sizeof *t->item));
    t->plan.before = t->before;
    eqp__tiles_pack(items, scope, first_order, t->item);
    return EQP_OK;
}

int eqp__tiles_cut(const eqp_balance_items *items, const eqp_balance_options *options, bool jagged, int *part)
{
    eqp__tile_scope scope = eqp__tile_scope_nothing();
    eqp__tile_item *spare = NULL;
    eqp__tile_cut *cut = NULL;
    tiling t = {.item = NULL};
    const int64_t stride = eqp__tiles_column_stride(items->n);
    int64_t sampled = 0;
    int code;

    EQP_TRY(eqp__tile_scope_add(items, &scope));
    EQP_TRY(tiling_open(items, &scope, 0, options, &t));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(spare, items->n), EQP__ARRAY(cut, options->nparts)));
    for (int64_t i = 0; jagged && i < items->n; i += stride) {
        spare[sampled++] = t.item[i];
    }
    if (jagged && t.columns == 0) {
        EQP_TRY(eqp__tiles_columns(spare, sampled, options->nparts, t.plan.aspect, &t.columns));
    }
    t.plan.strips = jagged ? eqp__tiles_strips(options->nparts, t.columns) : 0;
    EQP_TRY(eqp__tiles_bisect(&t.plan, items->n, t.item, spare, 0, options->nparts, cut, part));
done:
    EQP__FREE(t.before, t.item, spare, cut);
    return code;
}

int eqp__tiles_cut_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool jagged,
                       int64_t most_gathered, int *part)
{
    tiling t = {.item = NULL};
    eqp__tile_scope scope;
    int64_t before = 0;
    int code;

    EQP_TRY(eqp__tile_scope_all(comm, items, &before, &scope));
    EQP_TRY(scope.n > INT32_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
    if (scope.n == 0) {
        return EQP_OK;
    }
    EQP_TRY(eqp_agree(comm, tiling_open(items, &scope, before, options, &t), NULL));
    if (jagged && t.columns == 0) {
        EQP_TRY(estimate_columns(comm, &t.plan, items->n, t.item, before, scope.n, &t.columns));
    }
    t.plan.strips = jagged ? eqp__tiles_strips(t.plan.nparts, t.columns) : 0;
    code = scope.n <= most_gathered ? bisect_alike(comm, &t.plan, items->n, t.item, before, part)
                                    : eqp__tiles_bisect_all(comm, &t.plan, items->n, t.item, before, part);
done:
    EQP__FREE(t.before, t.item);
    return code;
}

static int assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool jagged,
                  int *part, eqp_balance_result *result)
{
    EQP__CHECK(eqp__tiles_cut_all(comm, items, options, jagged, MOST_GATHERED, part));
    EQP__CHECK(eqp__repair_all(comm, items, options, options->imbalance_tol, part, result));
    return eqp__relabel_all(comm, items, items->part_now, options, part, NULL);
}

static int assign_tiles(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    return assign(comm, items, options, false, part, result);
}

static int assign_jagged(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                         eqp_balance_result *result)
{
    return assign(comm, items, options, true, part, result);
}

static int relabel_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part)
{
    eqp_overlap *overlap = NULL;
    int64_t n = 0;
    int *number = NULL;
    int code;

    EQP_TRY(eqp_array_create(&number, options->nparts, sizeof *number));
    EQP_TRY(eqp__overlaps_collect(items->n, part, items->part_now, items->weight, options->nparts, &n, &overlap));
    EQP_TRY(eqp__parts_relabel(options->nparts, options->share, n, overlap, number));
    for (int64_t i = 0; i < items->n; i++) {
        part[i] = number[part[i]];
    }
done:
    EQP__FREE(number, overlap);
    return code;
}

static int assign_alone(const eqp_balance_items *items, const eqp_balance_options *options, bool jagged, int *part,
                        eqp_balance_result *result)
{
    eqp_repair_result repaired;

    EQP__CHECK(eqp__tiles_cut(items, options, jagged, part));
    EQP__CHECK(eqp__parts_repair(items->n, items->weight, NULL, options->nparts, options->share, options->imbalance_tol,
                                 part, &repaired));
    result->imbalance_unrepaired = repaired.imbalance_before;
    result->repaired = repaired.moved;
    return items->part_now != NULL ? relabel_alone(items, options, part) : EQP_OK;
}

static int tiles_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result)
{
    return assign_alone(items, options, false, part, result);
}

static int jagged_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    return assign_alone(items, options, true, part, result);
}

enum { FLAGS = EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_NEEDS_SOURCES | EQP_NEEDS_UNITS | EQP_CAN_EVEN };

/* `tiles` has the first option, `jagged` both. */
static const eqp_option own_options[] = {{"aspect", EQP_OPTION_REAL, offsetof(own_settings, aspect), 0, true, INFINITY,
                                          NULL, "cost of a source that two parts share, in shared targets"},
                                         {"columns", EQP_OPTION_INT, offsetof(own_settings, columns), 1, false,
                                          MOST_COLUMNS, NULL,
                                          "parts per strip; without it those that share least by an estimate"}};

const eqp_method eqp__method_tiles = {.name = "tiles",
                                      .summary = "equal work by bisection of targets, sources and what lies between",
                                      .flags = FLAGS,
                                      .assign = assign_tiles,
                                      .assign_alone = tiles_alone,
                                      .noptions = 1,
                                      .option = own_options};

const eqp_method eqp__method_jagged = {.name = "jagged",
                                       .summary = "equal work in strips of targets, each cut along its sources",
                                       .flags = FLAGS,
                                       .assign = assign_jagged,
                                       .assign_alone = jagged_alone,
                                       .noptions = 2,
                                       .option = own_options};
