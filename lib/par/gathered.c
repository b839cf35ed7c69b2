/* SPDX-License-Identifier: BSD-3-Clause */
#include "par/gathered.h"

#include "par/pins.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>

/* More pins than this stay where they are. 24 bytes each on rank 0. */
#define MOST_PINS ((int64_t)1 << 26)

void eqp__gathered_close(eqp__gathered *g)
{
    eqp__collect_close(&g->way);
    free(g->weight);
    free(g->part);
    free(g->point);
    free(g->phase_load);
    free(g->pin_first);
    free(g->pin);
    free(g->pin_weight);
}

/* First pins of the items: numbers of pins travel, and are summed where they arrive. */
static int gather_pin_first(eqp__gathered *g, const eqp_balance_items *items)
{
    int64_t *count = NULL, sum = 0;
    int code = eqp_array_create(&count, items->n, sizeof *count);

    for (int64_t i = 0; !code && i < items->n; i++) {
        count[i] = items->pin_first[i + 1] - items->pin_first[i];
    }
    code = eqp__collect_array(&g->way, code, g->n + 1, sizeof *count, count, &g->pin_first);
    for (int64_t i = 0; !code && i <= g->n; i++) {
        int64_t here = i < g->n ? g->pin_first[i] : 0;
        g->pin_first[i] = sum;
        sum += here;
    }
    free(count);
    return code;
}

/* The pins, unless there are none or too many. Called while the numbers of items are announced. */
static int gather_pins(eqp__gathered *g, const eqp_balance_items *items)
{
    int64_t npins = items->n > 0 && items->pin_first ? items->pin_first[items->n] : 0, all;
    int64_t weighted = npins > 0 && items->pin_weight;
    int code = eqp_scan_int64(g->way.comm, npins, NULL, &all);

    if (code || all == 0 || all > MOST_PINS) {
        return code;
    }
    if ((code = eqp_sum_int64(g->way.comm, 1, &weighted)) || (code = gather_pin_first(g, items)) ||
        (code = eqp__collect_announce(&g->way, npins, &g->npins)) ||
        (code = eqp__collect_array(&g->way, EQP_OK, g->npins, sizeof *g->pin, items->pin, &g->pin))) {
        return code;
    }
    g->has_pins = true;
    return weighted
               ? eqp__collect_array(&g->way, EQP_OK, g->npins, sizeof *g->pin_weight, items->pin_weight, &g->pin_weight)
               : EQP_OK;
}

int eqp__gathered_open(MPI_Comm comm, const eqp_balance_items *items, const int *part, eqp__gathered *g)
{
    int code = eqp__collect_open(comm, &g->way);

    if (code || (code = eqp__collect_announce(&g->way, items->n, &g->n)) ||
        (code = eqp__collect_array(&g->way, EQP_OK, g->n, sizeof *g->weight, items->weight, &g->weight)) ||
        (code = eqp__collect_array(&g->way, EQP_OK, g->n, sizeof *g->part, part, &g->part)) ||
        (code = gather_pins(g, items))) {
        return code;
    }
    return EQP_OK;
}

int eqp__gathered_points(eqp__gathered *g, const eqp_balance_items *items)
{
    int64_t all = 0;
    int code = eqp__collect_announce(&g->way, items->n, &all);

    return code ? code : eqp__collect_array(&g->way, EQP_OK, all, 3 * sizeof *g->point, items->point, &g->point);
}

int eqp__gathered_phases(eqp__gathered *g, const eqp_balance_items *items, int nphases)
{
    int64_t all = 0;
    int code = eqp__collect_announce(&g->way, items->n, &all);

    return code ? code
                : eqp__collect_array(&g->way, EQP_OK, all, (size_t)nphases * sizeof *g->phase_load, items->phase_load,
                                     &g->phase_load);
}

/* Gives every hyperedge the largest cost that a pin names for it. */
static int weigh_edges(const eqp__gathered *g, eqp_hypergraph *graph)
{
    eqp__pin *list = NULL;
    int64_t *id = NULL;
    double *cost = NULL;
    int code = eqp_array_create(&list, g->npins, sizeof *list);

    code = code ? code : eqp_array_create(&id, g->npins, sizeof *id);
    code = code ? code : eqp_array_create(&cost, g->npins, sizeof *cost);
    if (code) {
        goto done;
    }
    for (int64_t k = 0; k < g->npins; k++) {
        list[k] = (eqp__pin){g->pin[k], g->pin_weight[k]};
    }
    int64_t kept = eqp__pins_unique(g->npins, list);
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

int eqp__gathered_graph(const eqp__gathered *g, eqp_hypergraph **graph)
{
    eqp_hypergraph *made = NULL;
    int code = EQP_OK;

    if (g->npins > 0) {
        code = eqp_hypergraph_create(g->n, g->weight, g->pin_first, g->pin, &made);
        code = code || !g->pin_weight ? code : weigh_edges(g, made);
    }
    if (code) {
        eqp_hypergraph_free(made);
    } else if (made) {
        *graph = made;
    }
    return code;
}

int eqp__gathered_return(eqp__gathered *g, int code, int64_t n, int *part)
{
    int64_t all = 0;

    /* The pins may have been announced last: the way back is that of the items. */
    if ((code = eqp_agree(g->way.comm, code, NULL)) || (code = eqp__collect_announce(&g->way, n, &all))) {
        return code;
    }
    return eqp__collect_return(&g->way, sizeof *part, g->part, part);
}
