/* SPDX-License-Identifier: BSD-3-Clause */
/* The method `tensor`: walls that cross the whole domain. */
#include "methods/tensor/tensor.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "methods/frame/rows.h"
#include "methods/tiles/tiles_all.h"

#include <equipoise/more/comm.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Settings of the method: numbers of slabs, 0: chosen; cart: parts are numbered along z first. */
typedef struct own_settings {
    int64_t slabs[3];
    bool cart;
} own_settings;

#define MOST_SLABS 65536

/* Reports the given numbers of slabs, which no grid has. */
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

static int add_over_ranks(void *user, int64_t n, double *value)
{
    return eqp__sum_exact(*(MPI_Comm *)user, n, value);
}

/* Parts are neither renumbered nor repaired: codes that use this method find neighbours by number and items by the
 * walls. */
static int assign_tensor(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                         eqp_balance_result *result)
{
    const eqp_tiles_items mine = {items->n, items->point, NULL, items->weight};
    const eqp__tensor_sum sum = {add_over_ranks, &comm};
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
    code = code ? code : eqp__tensor_open(&mine, &scope, grid, share, &t);
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp__tensor_cut(&t, &mine, &sum, wall));
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
