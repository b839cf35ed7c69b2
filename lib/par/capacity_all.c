/* SPDX-License-Identifier: BSD-3-Clause */
/* Capacities of items that are spread over the ranks: where a part is above its own, rank 0 repairs for all. */
#include "par/capacity_all.h"

#include "assign/capacity.h"
#include "comm/agree.h"
#include "comm/collect.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/par.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The part that is most above its capacity, or -1. *most: sizes that it has. */
static int find_full(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, const int *part,
                     int *full, int64_t *most)
{
    int64_t *fill = NULL;
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
    *full = -1;
    for (int p = 0; p < options->nparts; p++) {
        if (fill[p] > options->capacity[p] &&
            (*full < 0 || fill[p] - options->capacity[p] > *most - options->capacity[*full])) {
            *full = p;
            *most = fill[p];
        }
    }
done:
    free(fill);
    return code;
}

/* Items of all ranks on rank 0. */
typedef struct gathered {
    int64_t n, *size;
    double *weight;
    int *part;
} gathered;

static int gather(const eqp_balance_items *items, const int *part, eqp__collect *way, gathered *g)
{
    int code;

    EQP_TRY(eqp__collect_announce(way, items->n, &g->n));
    EQP_TRY(eqp__collect_array(way, EQP_OK, g->n, sizeof *g->size, items->size, &g->size));
    EQP_TRY(eqp__collect_array(way, EQP_OK, g->n, sizeof *g->weight, items->weight, &g->weight));
    EQP_TRY(eqp__collect_array(way, EQP_OK, g->n, sizeof *part, part, &g->part));
done:
    return code;
}

/* On rank 0. */
static int repair_here(const gathered *g, const eqp_balance_options *options, bool mend, int full, int64_t most,
                       int64_t *moved)
{
    const eqp__capping in = {.n = g->n,
                             .size = g->size,
                             .weight = g->weight,
                             .nparts = options->nparts,
                             .capacity = options->capacity,
                             .share = options->share,
                             .imbalance_tol = options->imbalance_tol};
    eqp__capped capped = {.fits = false};
    int code;

    if (mend) {
        EQP_TRY(eqp__capacity_repair(&in, g->part, &capped));
    } else {
        EQP_TRY(eqp__capacity_bounds(&in, &capped.proven, &capped.why));
        if (!capped.proven) {
            eqp_message_set(&capped.why, "the method's parts cannot be changed");
        }
    }
    *moved = capped.moved;
    if (!capped.fits) {
        eqp_message_set(options->message, "balance: part %d gets %" PRId64 " of its capacity %" PRId64 "; %s", full,
                        most, options->capacity[full], capped.why.text);
        code = EQP_ERR_CAPACITY;
    }
done:
    return code;
}

int eqp__capacity_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool mend,
                      int *part, eqp_balance_result *result)
{
    eqp__collect way = {.comm = comm};
    gathered g = {.n = 0};
    eqp_part_loads loads;
    int64_t most = 0, moved = 0;
    int full, code;

    EQP_TRY(find_full(comm, items, options, part, &full, &most));
    if (full < 0) {
        return EQP_OK;
    }
    EQP_TRY(eqp_parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, NULL, &loads));
    EQP_TRY(eqp__collect_open(comm, &way));
    EQP_TRY(gather(items, part, &way, &g));
    code = way.rank == 0 ? repair_here(&g, options, mend, full, most, &moved) : EQP_OK;
    EQP_TRY(eqp_agree(comm, code, options->message));
    EQP_TRY(eqp__collect_return(&way, sizeof *part, g.part, part));
    EQP_TRY(MPI_Bcast(&moved, 1, MPI_INT64_T, 0, comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
    result->repaired += moved;
    result->imbalance_unrepaired = isnan(result->imbalance_unrepaired) ? loads.imbalance : result->imbalance_unrepaired;
done:
    eqp__collect_close(&way);
    free(g.size);
    free(g.weight);
    free(g.part);
    return code;
}
