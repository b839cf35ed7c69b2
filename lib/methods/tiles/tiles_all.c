/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods `tiles` and `jagged`, which cut targets and sources. */
#include "methods/tiles/tiles.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Up to this number of items (8 MiB) every rank gathers and bisects all items, which takes less time than the messages
 * of a distributed bisection. */
#define MOST_GATHERED ((int64_t)1 << 18)

int eqp__tile_scope_all(MPI_Comm comm, const eqp_tiles_items *items, int64_t *before, eqp__tile_scope *scope)
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
    double aspect;   /* 0: the default of eqp_tiles_options */
    int64_t columns; /* 0: an estimate decides */
} own_settings;

#define MOST_COLUMNS 65536

static int cut_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                   enum eqp_tiles_shape shape, int64_t most_gathered, int *part)
{
    const eqp_tiles_items mine = {items->n, items->point, items->source, items->weight};
    const eqp_tiles_options usual = eqp__tiles_options_defaults();
    own_settings own;
    eqp__tile_plan plan = {.nparts = options->nparts, .aspect = usual.aspect};
    eqp__tile_item *item = NULL;
    eqp__tile_scope scope;
    int columns;
    double *shares = NULL;
    int64_t before = 0;
    int code = eqp__tile_scope_all(comm, &mine, &before, &scope);

    code = code ? code : scope.n > INT32_MAX ? EQP_ERR_OVERFLOW : EQP_OK;

    memcpy(&own, &options->settings, sizeof own);
    plan.aspect = own.aspect > 0 ? own.aspect : plan.aspect;
    columns = (int)(own.columns < options->nparts ? own.columns : options->nparts);
    if (code || scope.n == 0) {
        return code;
    }
    code = eqp__tiles_shares(options->nparts, options->share, &shares);
    code = code ? code : eqp_array_create(&item, items->n, sizeof *item);
    if (!(code = eqp_agree(comm, code, NULL))) {
        const eqp__tile_grid grid = eqp__tile_grid_of(&scope);
        plan.before = shares;
        eqp__tiles_pack(&mine, &scope, &grid, item);
        for (int64_t i = 0; i < items->n; i++) {
            item[i].order = (uint32_t)(before + i);
        }
        if (shape == EQP_TILES_JAGGED && columns == 0) {
            code = estimate_columns(comm, &plan, items->n, item, before, scope.n, &columns);
        }
        plan.strips = shape == EQP_TILES_JAGGED && !code ? eqp__tiles_strips(plan.nparts, columns) : 0;
        code = code                       ? code
               : scope.n <= most_gathered ? bisect_alike(comm, &plan, items->n, item, before, part)
                                          : eqp__tiles_bisect_all(comm, &plan, items->n, item, before, part);
    }
    EQP__FREE(shares, item);
    return code;
}

int eqp__tiles_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                      enum eqp_tiles_shape shape, int64_t most_gathered, int *part, eqp_balance_result *result)
{
    int code = cut_all(comm, items, options, shape, most_gathered, part);

    code = code ? code : eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
    return code ? code : eqp__relabel_all(comm, items, items->part_now, options, part, NULL);
}

static int assign_tiles(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    return eqp__tiles_assign(comm, items, options, EQP_TILES_FREE, MOST_GATHERED, part, result);
}

static int assign_jagged(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                         eqp_balance_result *result)
{
    return eqp__tiles_assign(comm, items, options, EQP_TILES_JAGGED, MOST_GATHERED, part, result);
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

static int tile_alone(const eqp_balance_items *items, const eqp_balance_options *options, enum eqp_tiles_shape shape,
                      int *part, eqp_balance_result *result)
{
    const eqp_tiles_items mine = {items->n, items->point, items->source, items->weight};
    eqp_tiles_options wanted = eqp__tiles_options_defaults();
    eqp_tiles_result made;
    own_settings own;

    memcpy(&own, &options->settings, sizeof own);
    wanted.nparts = options->nparts;
    wanted.share = options->share;
    wanted.imbalance_tol = options->imbalance_tol;
    wanted.aspect = own.aspect > 0 ? own.aspect : wanted.aspect;
    wanted.shape = shape;
    wanted.columns = (int)(own.columns < options->nparts ? own.columns : options->nparts);
    EQP__CHECK(eqp__tiles_create(&mine, &wanted, part, NULL, &made));
    result->imbalance_unrepaired = made.imbalance_unrepaired;
    result->repaired = made.repaired;
    return items->part_now != NULL ? relabel_alone(items, options, part) : EQP_OK;
}

static int tiles_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result)
{
    return tile_alone(items, options, EQP_TILES_FREE, part, result);
}

static int jagged_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    return tile_alone(items, options, EQP_TILES_JAGGED, part, result);
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
