/* SPDX-License-Identifier: BSD-3-Clause */
/* Rectilinear parts: the grid, the part of a point, and bins along the axes that resolve the items. */
#include "methods/tensor/tensor.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "methods/boxes/boxes.h"
#include "methods/frame/frame.h"
#include "methods/tiles/tiles.h"

#include <equipoise/more/comm.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Walls lie between bins. An axis has BINS_PER_SLAB bins per slab if the sums over ranks then stay below 8 MiB. */
enum { BINS_PER_SLAB = 256, LEAST_BINS = 512, LEAST_PER_SLAB = 2, MOST_SUMS = 1 << 20 };

/* Bins become narrower where items are dense, by 2^9 times and more in each round, until no bin holds more than this
 * multiple of the mean load. */
#define MOST_BINS_LOAD 2.0
enum { NARROWINGS = 6 };

enum { MOST_DIVISORS = 1536 }; /* most divisors of any int */

static int list_divisors(int n, int *divisor)
{
    int count = 0;

    for (int64_t d = 1; d * d <= n; d++) {
        if (n % d == 0) {
            divisor[count++] = (int)d;
            if (d * d != n) {
                divisor[count++] = (int)(n / d);
            }
        }
    }
    return count;
}

static bool suits(const int given[3], const int grid[3])
{
    return (given[0] == 0 || given[0] == grid[0]) && (given[1] == 0 || given[1] == grid[1]) &&
           (given[2] == 0 || given[2] == grid[2]);
}

int eqp__tensor_grid(int nparts, const double edge[3], int grid[3])
{
    int divisor[MOST_DIVISORS], best[3] = {0, 0, 0}, n = list_divisors(nparts, divisor);
    double longest = fmax(fmax(edge[0], edge[1]), edge[2]), size[3], least = INFINITY;

    for (int k = 0; k < 3; k++) {
        size[k] = longest > 0 ? fmax(edge[k] / longest, 1e-3) : 1;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            const int z = divisor[i], y = divisor[j], x = nparts / z / y, this[3] = {x, y, z};
            const double a = size[0] / x, b = size[1] / y, c = size[2] / z, surface = a * b + b * c + c * a;

            if (nparts / z % y == 0 && suits(grid, this) && surface < least * (1 - 1e-12)) {
                least = surface;
                memcpy(best, this, sizeof best);
            }
        }
    }
    EQP_REQUIRE(best[0] > 0);
    memcpy(grid, best, sizeof best);
    return EQP_OK;
}

int eqp__tensor_find(const int grid[3], const double *wall, const double x[3])
{
    int part = 0, stride = 1;

    for (int k = 0; k < 3; k++) {
        part += stride * eqp__row_find(wall, grid[k], x[k]);
        stride *= grid[k];
        wall += grid[k] + 1;
    }
    return part;
}

static int choose_bins(const eqp__tensor *t, int k)
{
    const int64_t slabs = t->grid[k], wanted = slabs * BINS_PER_SLAB, room = MOST_SUMS / eqp__tensor_lanes(t, k);
    int64_t bins = wanted > LEAST_BINS ? wanted : LEAST_BINS;

    if (slabs == 1) {
        return 1;
    }
    bins = bins < room ? bins : room;
    bins = bins > LEAST_PER_SLAB * slabs ? bins : LEAST_PER_SLAB * slabs;
    return bins < INT32_MAX ? (int)bins : 0;
}

/* Rounds weights to integers small enough that sums over all items are exact in any order. */
static void round_loads(const eqp_balance_items *items, const eqp__tile_scope *scope, double *load)
{
    int of_items, of_weight;

    (void)frexp((double)scope->n, &of_items);
    (void)frexp(scope->heaviest, &of_weight);
    for (int64_t i = 0; i < items->n; i++) {
        load[i] = scope->heaviest > 0 ? floor(ldexp(items->weight[i], DBL_MANT_DIG - of_items - of_weight)) : 1;
    }
}

static int copy_shares(const int grid[3], const double *share, eqp__tensor *t)
{
    const int nparts = grid[0] * grid[1] * grid[2];

    share = eqp__shares_reduce(nparts, share);
    int code = share ? eqp_array_create(&t->share, nparts, sizeof *t->share) : EQP_OK;
    for (int p = 0; share && !code && p < nparts; p++) {
        t->share[p] = eqp__share_scale(share, nparts, p);
    }
    return code;
}

int eqp__tensor_open(MPI_Comm comm, const eqp_balance_items *items, const eqp__tile_scope *scope, const int grid[3],
                     const double *share, eqp__tensor *t)
{
    int64_t sums = 0, bins = 0;
    int code = EQP_OK, slabs = 1;

    *t = (eqp__tensor){.comm = comm, .n = items->n, .grid = {grid[0], grid[1], grid[2]}};
    for (int k = 0; k < 3; k++) {
        t->high[k] = scope->high[k];
        t->nbins[k] = choose_bins(t, k);
        EQP_TRY(t->nbins[k] > 0 ? EQP_OK : EQP_ERR_OVERFLOW);
        EQP_TRY(EQP__ARRAYS(EQP__ARRAY(t->bin[k], t->n), EQP__ARRAY(t->edge[k], (int64_t)t->nbins[k] + 1),
                            EQP__ARRAY(t->slab[k], t->nbins[k]), EQP__ARRAY(t->first[k], (int64_t)grid[k] + 1)));
        for (int i = 0; i < t->nbins[k]; i++) {
            const double at = (double)i / t->nbins[k];
            t->edge[k][i] = fmax(scope->low[k], fmin(scope->high[k], scope->low[k] * (1 - at) + scope->high[k] * at));
        }
        /* The last edge lies above all items, so a slab that begins there is empty. */
        t->edge[k][t->nbins[k]] = nextafter(scope->high[k], INFINITY);
        t->first[k][grid[k]] = t->nbins[k];
        slabs = grid[k] > slabs ? grid[k] : slabs;
        bins += t->nbins[k];
        const int64_t these = ((int64_t)t->nbins[k] + 1) * eqp__tensor_lanes(t, k);
        sums = these > sums ? these : sums;
    }
    EQP_TRY(eqp_array_create(&t->back, (int64_t)slabs + 1, sizeof *t->back));
    /* Narrowing needs room for the loads of all axes' bins and for the former edges. */
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(t->sum, sums > 2 * bins + 3 ? sums : 2 * bins + 3), EQP__ARRAY(t->load, t->n)));
    EQP_TRY(copy_shares(grid, share, t));
    round_loads(items, scope, t->load);
done:
    return code;
}

void eqp__tensor_close(eqp__tensor *t)
{
    for (int k = 0; k < 3; k++) {
        EQP__FREE(t->bin[k], t->edge[k], t->slab[k], t->first[k]);
    }
    EQP__FREE(t->share, t->back, t->sum, t->load);
}

/* Sums the loads of the bins of all axes, one axis after another, into t->sum. Collective. */
static int sum_bins(eqp__tensor *t, const eqp_balance_items *items)
{
    double *load = t->sum;

    memset(load, 0, ((size_t)t->nbins[0] + (size_t)t->nbins[1] + (size_t)t->nbins[2]) * sizeof *load);
    for (int k = 0; k < 3; k++) {
        for (int64_t i = 0; i < t->n; i++) {
            t->bin[k][i] = eqp__row_find(t->edge[k], t->nbins[k], items->point[3 * i + k]);
            load[t->bin[k][i]] += t->load[i];
        }
        load += t->nbins[k];
    }
    return eqp__tensor_add(t, load - t->sum, t->sum);
}

/* Sets bins of equal load, assuming uniform load inside each former bin. former: [n + 1] work */
static void narrow(double *edge, double *former, const double *load, int n, double high)
{
    double total = 0, before = 0;
    int j = 0;

    memcpy(former, edge, ((size_t)n + 1) * sizeof *edge);
    for (int i = 0; i < n; i++) {
        total += load[i];
    }
    for (int i = 1; i < n; i++) {
        const double target = total * i / n;
        while (j < n - 1 && before + load[j] < target) {
            before += load[j++];
        }
        const double at = load[j] > 0 ? fmin((target - before) / load[j], 1) : 0;
        const double from = former[j], to = fmin(former[j + 1], high);
        edge[i] = fmax(edge[i - 1], fmin(to, from * (1 - at) + to * at));
    }
}

static bool is_narrow(const double *load, int n)
{
    double total = 0, most = 0;

    for (int i = 0; i < n; i++) {
        total += load[i];
        most = fmax(most, load[i]);
    }
    return most <= MOST_BINS_LOAD * total / n;
}

int eqp__tensor_resolve(eqp__tensor *t, const eqp_balance_items *items)
{
    double *former = t->sum + t->nbins[0] + t->nbins[1] + t->nbins[2];
    int code = sum_bins(t, items);
    bool done = false;

    for (int round = 0; round < NARROWINGS && !code && !done; round++) {
        const double *load = t->sum;
        done = true;
        for (int k = 0; k < 3; k++) {
            if (!is_narrow(load, t->nbins[k])) {
                narrow(t->edge[k], former, load, t->nbins[k], t->high[k]);
                done = false;
            }
            load += t->nbins[k];
        }
        code = done ? EQP_OK : sum_bins(t, items);
    }
    return code;
}

/* The method `tensor`: walls that cross the whole domain. */

/* Settings of the method: numbers of slabs, 0: chosen; cart: parts are numbered along z first. */
typedef struct own_settings {
    int64_t slabs[3];
    bool cart;
} own_settings;

#define MOST_SLABS 65536

/* Reports numbers of slabs that no grid of nparts parts has. */
static int refuse(const eqp_balance_options *options, const own_settings *own)
{
    char given[3][32] = {"", "", ""};

    for (int k = 0; k < 3; k++) {
        if (own->slabs[k] > 0) {
            snprintf(given[k], sizeof given[k], " %c=%d", "xyz"[k], (int)(own->slabs[k]));
        }
    }
    eqp_message_set(options->message, "balance: tensor: no grid of %d parts has%s%s%s", options->nparts, given[0],
                    given[1], given[2]);
    return EQP_ERR_ARGUMENT;
}

static int choose_grid(const eqp__tile_scope *scope, const eqp_balance_options *options, int grid[3])
{
    double edge[3] = {0, 0, 0};
    own_settings own;

    memcpy(&own, &options->settings, sizeof own);
    for (int k = 0; k < 3; k++) {
        grid[k] = (int)own.slabs[k];
        if (scope->n > 0) {
            /* Half of the edge, since the edge itself could overflow. */
            edge[k] = 0.5 * scope->high[k] - 0.5 * scope->low[k];
        }
    }
    return eqp__tensor_grid(options->nparts, edge, grid) ? refuse(options, &own) : EQP_OK;
}

/* Converts a part number of tensor.h to the number by MPI_Cart_rank(). */
static int cart_number(const int grid[3], int part)
{
    return (part % grid[0] * grid[1] + part / grid[0] % grid[1]) * grid[2] + part / grid[0] / grid[1];
}

/* Shares in the part order of tensor.h; NULL: equal. *own: the sorted copy if one is needed, owned by the caller. */
static int sort_shares(const int grid[3], const eqp_balance_options *options, bool cart, double **own,
                       const double **share)
{
    int code = EQP_OK;

    *share = options->share;
    if (cart && *share != NULL && (code = eqp_array_create(own, options->nparts, sizeof **own)) == EQP_OK) {
        for (int p = 0; p < options->nparts; p++) {
            (*own)[p] = options->share[cart_number(grid, p)];
        }
        *share = *own;
    }
    return code;
}

/* Parts are neither renumbered nor repaired: codes that use this method find neighbours by number and items by the
 * walls. */
static int assign_tensor(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                         eqp_balance_result *result)
{
    const eqp_balance_items mine = {.n = items->n, .point = items->point, .weight = items->weight};
    eqp__tensor t = {.n = 0};
    eqp__tile_scope scope;
    own_settings own;
    const double *share = NULL;
    double *wall = NULL, *sorted = NULL;
    int64_t before;
    int grid[3], code;

    (void)result;
    memcpy(&own, &options->settings, sizeof own);
    EQP_TRY(eqp__tile_scope_all(comm, &mine, &before, &scope));
    EQP_TRY(choose_grid(&scope, options, grid));
    if (scope.n == 0) {
        goto done;
    }
    code = eqp_array_create(&wall, (int64_t)grid[0] + grid[1] + grid[2] + 3, sizeof *wall);
    code = code ? code : sort_shares(grid, options, own.cart, &sorted, &share);
    code = code ? code : eqp__tensor_open(comm, &mine, &scope, grid, share, &t);
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__tensor_cut(&t, &mine, wall));
    for (int64_t i = 0; i < items->n; i++) {
        const int found = eqp__tensor_find(grid, wall, items->point + 3 * i);
        part[i] = own.cart ? cart_number(grid, found) : found;
    }
done:
    EQP__FREE(sorted, wall);
    eqp__tensor_close(&t);
    return code;
}

#define SLABS(axis, i)                                                                                                 \
    {                                                                                                                  \
        axis, EQP_OPTION_INT, offsetof(own_settings, slabs) + (i) * sizeof(int64_t), 1, false, MOST_SLABS, NULL,       \
            "slabs along " axis "; without it those of the grid whose parts have least surface"                        \
    }

static const eqp_option own_options[] = {
    SLABS("x", 0),
    SLABS("y", 1),
    SLABS("z", 2),
    {"cart", EQP_OPTION_FLAG, offsetof(own_settings, cart), 0, false, 0, NULL,
     "parts are numbered as by MPI_Cart_rank(), along z first; without it along x"}};

const eqp_method eqp__method_tensor = {.name = "tensor",
                                       .summary = "equal work between planes across the whole domain: six neighbours",
                                       .flags = EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_SHAPED | EQP_ANY_ORDER,
                                       .assign = assign_tensor,
                                       .noptions = 4,
                                       .option = own_options};
