/* SPDX-License-Identifier: BSD-3-Clause */
/* Capacities for distributed items: if a part exceeds its capacity, rank 0 repairs the whole assignment. */
#include "methods/frame/capacity_all.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "methods/frame/capacity.h"
#include "methods/frame/gather.h"
#include "methods/frame/parts.h"

#include <equipoise/more/comm.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The part with the largest excess over its capacity, or -1. *most: its sum of sizes. */
static int fullest(const eqp_balance_options *options, const int64_t *fill, int64_t *most)
{
    int full = -1;

    for (int p = 0; p < options->nparts; p++) {
        if (fill[p] > options->capacity[p] &&
            (full < 0 || fill[p] - options->capacity[p] > *most - options->capacity[full])) {
            full = p;
            *most = fill[p];
        }
    }
    return full;
}

/* *full: true if a part exceeds its capacity. Collective. */
static int is_full(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, const int *part,
                   bool *full)
{
    int64_t *fill = NULL, most = 0;
    double sum = 0.0;
    int code;

    for (int64_t i = 0; i < items->n; i++) {
        sum += (double)items->size[i];
    }
    EQP_TRY(eqp__sum_double(comm, 1, &sum));
    EQP_TRY(sum < (double)EQP__SIZES_MAX ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&fill, options->nparts, sizeof *fill), NULL));
    for (int64_t i = 0; i < items->n; i++) {
        fill[part[i]] += items->size[i];
    }
    EQP_TRY(eqp__sum_int64(comm, options->nparts, fill));
    *full = fullest(options, fill, &most) >= 0;
done:
    free(fill);
    return code;
}

/* Reports the part with the largest excess and the reason why no assignment fits. Returns EQP_ERR_CAPACITY. */
static int refuse(const eqp_balance_items *items, const eqp_balance_options *options, const int *part,
                  const eqp_message *why)
{
    int64_t *fill = NULL, most = 0;
    int full = -1, code;

    EQP_TRY(eqp_array_create(&fill, options->nparts, sizeof *fill));
    for (int64_t i = 0; i < items->n; i++) {
        fill[part[i]] += items->size[i];
    }
    full = fullest(options, fill, &most);
    eqp_message_set(options->message, "balance: part %d gets %" PRId64 " of its capacity %" PRId64 "; %s", full, most,
                    options->capacity[full], why->text);
    code = EQP_ERR_CAPACITY;
done:
    free(fill);
    return code;
}

static eqp__capping capping_of(const eqp_balance_items *items, const eqp_balance_options *options)
{
    return (eqp__capping){.n = items->n,
                          .size = items->size,
                          .weight = items->weight,
                          .nparts = options->nparts,
                          .capacity = options->capacity,
                          .share = options->share,
                          .imbalance_tol = options->imbalance_tol};
}

static int repair(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    const eqp__capping in = capping_of(items, options);
    eqp__capped capped = {.fits = false};

    EQP__CHECK(eqp__capacity_repair(&in, part, &capped));
    result->repaired += capped.moved;
    return capped.fits ? EQP_OK : refuse(items, options, part, &capped.why);
}

/* For methods with EQP_SHAPED, whose parts cannot change: adds a proof, if there is one, that no assignment fits. */
static int prove(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                 eqp_balance_result *result)
{
    const eqp__capping in = capping_of(items, options);
    eqp__capped capped = {.fits = false};

    (void)result;
    EQP__CHECK(eqp__capacity_bounds(&in, &capped.proven, &capped.why));
    if (!capped.proven) {
        eqp_message_set(&capped.why, "the method's parts cannot be changed");
    }
    return refuse(items, options, part, &capped.why);
}

int eqp__capacity_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool mend,
                      int *part, eqp_balance_result *result)
{
    eqp_part_loads loads;
    bool full;

    EQP__CHECK(is_full(comm, items, options, part, &full));
    if (!full) {
        return EQP_OK;
    }
    EQP__CHECK(eqp__parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, NULL, &loads));
    EQP__CHECK(eqp__gather_and_assign(comm, items, options, EQP__SIZES, mend ? repair : prove, part, result));
    result->imbalance_unrepaired = isnan(result->imbalance_unrepaired) ? loads.imbalance : result->imbalance_unrepaired;
    return EQP_OK;
}
