/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns all owners at once, without communication. */
#include "base/internal.h"
#include "map/assignment.h"
#include "map/items.h"
#include "methods/frame/frame.h"

#include <math.h>
#include <stdlib.h>

/* Items as in eqp__assignment_open(), and the sum of their weights. */
static int make_items(const eqp_map_options *options, const eqp_owners *owners, const eqp_map *old, eqp_items *items,
                      double *sum)
{
    const eqp_work_units none = {.units = NULL};
    int code = eqp__items_fill(items, owners, &none, old);

    *sum = 0.0;
    for (int64_t i = 0; i < owners->n && code == EQP_OK; i++) {
        const double *factor = items->part_now[i] >= 0 ? options->factor : NULL;
        items->id[i] = i;
        items->weight[i] *= factor != NULL ? factor[items->part_now[i]] : 1.0;
        *sum += items->weight[i];
    }
    return code;
}

static int make_shares(const eqp_map_options *options, int nparts, double sum, double **shares)
{
    if ((options->base != NULL || options->speeds.n > 0) && (sum > 0 || options->speeds.n > 0)) {
        EQP__CHECK(eqp_array_create(shares, nparts, sizeof **shares));
        eqp__assignment_share_out(nparts, sum, options->base, options->speeds, *shares);
    }
    return EQP_OK;
}

static int assign(const eqp_map_options *options, int nparts, const eqp_owners *owners, const eqp_items *items,
                  const double *share, int *part, eqp_balance_result *result)
{
    eqp_balance_options wanted = eqp__assignment_wanted(options, nparts, owners, true);
    eqp_part_loads loads;

    wanted.share = share;
    EQP__CHECK(options->method->assign_alone(&items->view, &wanted, part, result));
    EQP__CHECK(eqp__parts_load(items->view.n, items->weight, part, nparts, share, NULL, &loads));
    result->imbalance = loads.imbalance;
    result->load_max = loads.max;
    result->load_mean = loads.mean;
    result->empty_parts = loads.empty;
    result->items = items->view.n;
    result->within = loads.imbalance <= wanted.imbalance_tol;
    return EQP_OK;
}

int eqp__assign_alone(const eqp_map_options *options, int nparts, const eqp_owners *owners, const eqp_map *old,
                      int *part, eqp_map_made *summary)
{
    eqp_items items = {0};
    double *share = NULL, sum;
    int code;

    *summary = (eqp_map_made){.units = owners->n};
    EQP_TRY(options->method->assign_alone != NULL ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP_TRY(make_items(options, owners, old, &items, &sum));
    EQP_TRY(make_shares(options, nparts, sum, &share));
    EQP_TRY(assign(options, nparts, owners, &items, share, part, &summary->result));
done:
    free(share);
    eqp__items_free(&items);
    return code;
}
