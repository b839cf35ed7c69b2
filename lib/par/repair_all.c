/* SPDX-License-Identifier: BSD-3-Clause */
/* Repair of a distributed assignment: few items move, so one rank does it for all. */
#include "par/repair_all.h"

#include "assign/shares.h"
#include "par/collect.h"
#include "par/methods.h"
#include "par/pins.h"

#include <equipoise/assign.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

/* More pins than this stay where they are; the repair then follows the curve alone. 24 bytes each on rank 0. */
#define MOST_PINS ((int64_t)1 << 26)

/* Everything that rank 0 collects; on other ranks the arrays are empty. */
typedef struct collection {
    eqp__collect way;
    int64_t n, npins;   /* items and pins here */
    double *weight;     /* [n] */
    int *part;          /* [n] */
    int64_t *pin_first; /* [n + 1] */
    int64_t *pin;       /* [npins] */
    double *pin_weight; /* [npins] or NULL */
} collection;

static void collection_close(collection *c)
{
    eqp__collect_close(&c->way);
    free(c->weight);
    free(c->part);
    free(c->pin_first);
    free(c->pin);
    free(c->pin_weight);
}

/* First pins of the collected items: numbers of pins travel, and are summed where they arrive. */
static int collect_pin_first(collection *c, const eqp_balance_items *items)
{
    int64_t *count = NULL, sum = 0;
    int code = eqp_array_create(&count, items->n, sizeof *count);

    for (int64_t i = 0; !code && i < items->n; i++) {
        count[i] = items->pin_first[i + 1] - items->pin_first[i];
    }
    code = eqp_agree(c->way.comm, code, NULL);
    code = code ? code : eqp__collect_array(&c->way, c->n + 1, sizeof *count, count, &c->pin_first);
    for (int64_t i = 0; !code && i <= c->n; i++) {
        int64_t here = i < c->n ? c->pin_first[i] : 0;
        c->pin_first[i] = sum;
        sum += here;
    }
    free(count);
    return code;
}

/* The pins, unless there are none or too many. Called while the numbers of items are announced. */
static int collect_pins(collection *c, const eqp_balance_items *items)
{
    int64_t npins = items->n > 0 && items->pin_first ? items->pin_first[items->n] : 0, all;
    int64_t weighted = npins > 0 && items->pin_weight;
    int code = eqp_scan_int64(c->way.comm, npins, NULL, &all);

    if (code || all == 0 || all > MOST_PINS) {
        return code;
    }
    if ((code = eqp_sum_int64(c->way.comm, 1, &weighted)) || (code = collect_pin_first(c, items)) ||
        (code = eqp__collect_announce(&c->way, npins, &c->npins)) ||
        (code = eqp__collect_array(&c->way, c->npins, sizeof *c->pin, items->pin, &c->pin))) {
        return code;
    }
    return weighted ? eqp__collect_array(&c->way, c->npins, sizeof *c->pin_weight, items->pin_weight, &c->pin_weight)
                    : EQP_OK;
}

static int collection_open(MPI_Comm comm, collection *c, const eqp_balance_items *items, const int *part)
{
    int code = eqp__collect_open(comm, &c->way);

    if (code || (code = eqp__collect_announce(&c->way, items->n, &c->n)) ||
        (code = eqp__collect_array(&c->way, c->n, sizeof *c->weight, items->weight, &c->weight)) ||
        (code = eqp__collect_array(&c->way, c->n, sizeof *c->part, part, &c->part)) ||
        (code = collect_pins(c, items))) {
        return code;
    }
    return EQP_OK;
}

/* Gives every hyperedge the largest cost that a pin names for it. */
static int weigh_edges(const collection *c, eqp_hypergraph *graph)
{
    eqp__pin *list = NULL;
    int64_t *id = NULL;
    double *cost = NULL;
    int code = eqp_array_create(&list, c->npins, sizeof *list);

    code = code ? code : eqp_array_create(&id, c->npins, sizeof *id);
    code = code ? code : eqp_array_create(&cost, c->npins, sizeof *cost);
    if (code) {
        goto done;
    }
    for (int64_t k = 0; k < c->npins; k++) {
        list[k] = (eqp__pin){c->pin[k], c->pin_weight[k]};
    }
    int64_t kept = eqp__pins_unique(c->npins, list);
    for (int64_t k = 0; k < kept; k++) {
        id[k] = list[k].id;
        cost[k] = list[k].weight;
    }
    code = eqp_hypergraph_weigh(graph, kept, id, cost);
done:
    free(list);
    free(id);
    free(cost);
    return code;
}

/* The repair itself, on rank 0. */
static int repair_here(collection *c, const eqp_balance_options *o, double imbalance_tol, int64_t *moved)
{
    eqp_hypergraph *graph = NULL;
    eqp_repair_result result;
    int code = EQP_OK;

    if (c->npins > 0) {
        code = eqp_hypergraph_create(c->n, c->weight, c->pin_first, c->pin, &graph);
        code = code || !c->pin_weight ? code : weigh_edges(c, graph);
    }
    code = code ? code : eqp_repair(c->n, c->weight, graph, o->nparts, o->share, imbalance_tol, c->part, &result);
    if (!code) {
        *moved = result.moved;
    }
    eqp_hypergraph_free(graph);
    return code;
}

static int repair_collected(MPI_Comm comm, collection *c, const eqp_balance_items *items,
                            const eqp_balance_options *options, double imbalance_tol, int *part, int64_t *moved)
{
    int64_t all = 0;
    int code = collection_open(comm, c, items, part);

    if (code) {
        return code;
    }
    /* The pins may have been announced last: the way back is that of the items. */
    if ((code = eqp__collect_announce(&c->way, items->n, &all))) {
        return code;
    }
    code = c->way.rank == 0 ? repair_here(c, options, imbalance_tol, moved) : EQP_OK;
    if ((code = eqp_agree(c->way.comm, code, NULL))) {
        return code;
    }
    if (MPI_Bcast(moved, 1, MPI_INT64_T, 0, c->way.comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    return eqp__collect_return(&c->way, sizeof *part, c->part, part);
}

int eqp__repair_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                    double imbalance_tol, int *part, eqp_balance_result *result)
{
    collection c = {.n = 0};
    eqp_part_loads loads;
    int64_t total;
    int code = eqp_parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, NULL, &loads);

    if (code || (code = eqp_scan_int64(comm, items->n, NULL, &total))) {
        return code;
    }
    result->imbalance_unrepaired = loads.imbalance;
    result->repaired = 0;
    int fillable = loads.empty > 0 && total > options->nparts - loads.empty;
    if (fillable || loads.imbalance > imbalance_tol + EQP__IMBALANCE_SLACK) {
        code = repair_collected(comm, &c, items, options, imbalance_tol, part, &result->repaired);
        collection_close(&c);
    }
    return code;
}

/* The present parts, with as few items moved as the tolerance takes; the curve's where they are not known. */
static int assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    int known = 0;
    int code = eqp__parts_are_known(comm, items, options->nparts, &known);

    if (code == EQP_OK && known && items->n > 0) {
        memcpy(part, items->part_now, (size_t)items->n * sizeof *part);
    }
    if (code == EQP_OK && !known) {
        code = eqp__cut_curve(comm, items->n, items->weight, options, 1, part);
    }
    return code ? code : eqp__repair_all(comm, items, options, options->imbalance_tol, part, result);
}

const eqp_method eqp__method_repair = {.name = "repair",
                                       .summary = "the present parts, mended by moving a few items",
                                       .flags = EQP_NEEDS_WEIGHTS,
                                       .assign = assign};
