/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <string.h>

/* Most pins that rank 0 gathers, at up to 24 bytes each. */
#define MOST_PINS ((int64_t)1 << 26)

enum { COLUMNS = 12 };

/* The items of all ranks, on rank 0; empty arrays on other ranks. */
typedef struct gathered {
    eqp__collect way;
    eqp_balance_items items;
    int *part;
    void *owned[COLUMNS];
    int nowned;
} gathered;

/* Gathers one array into *array. total: number of elements on rank 0. Collective. */
static int bring(gathered *g, int64_t total, size_t size, const void *mine, void *array)
{
    void **const at = &g->owned[g->nowned++];
    const int code = eqp__collect_array(&g->way, EQP_OK, total, size, mine, at);

    memcpy(array, at, sizeof *at);
    return code;
}

/* Gathers pin_first: the ranks send numbers of pins, and rank 0 sums them up. Collective. */
static int bring_pin_first(gathered *g, const eqp_balance_items *items)
{
    int64_t *mine = NULL, *first = NULL, sum = 0;
    int code;

    EQP_TRY(eqp_agree(g->way.comm, eqp_array_create(&mine, items->n, sizeof *mine), NULL));
    for (int64_t i = 0; i < items->n; i++) {
        mine[i] = items->pin_first[i + 1] - items->pin_first[i];
    }
    code = eqp__collect_array(&g->way, EQP_OK, g->items.n + 1, sizeof *mine, mine, &first);
    g->owned[g->nowned++] = first;
    EQP_TRY(code);
    for (int64_t i = 0; i <= g->items.n; i++) {
        const int64_t here = i < g->items.n ? first[i] : 0;
        first[i] = sum;
        sum += here;
    }
    g->items.pin_first = first;
done:
    free(mine);
    return code;
}

static int bring_pins(gathered *g, const eqp_balance_items *items, bool weighted)
{
    const int64_t mine = items->n > 0 ? items->pin_first[items->n] : 0;
    int64_t all;

    EQP__CHECK(bring_pin_first(g, items));
    EQP__CHECK(eqp__collect_announce(&g->way, mine, &all));
    EQP__CHECK(bring(g, all, sizeof *items->pin, items->pin, &g->items.pin));
    EQP__CHECK(weighted ? bring(g, all, sizeof *items->pin_weight, items->pin_weight, &g->items.pin_weight) : EQP_OK);
    EQP__CHECK(eqp__collect_announce(&g->way, items->n, &all)); /* parts return item by item */
    return EQP_OK;
}

static int gather(gathered *g, const eqp_balance_items *t, int nphases, unsigned columns, const int *part)
{
    const bool pins = t->n > 0 && t->pin_first != NULL;
    int64_t any[4] = {pins ? t->pin_first[t->n] : 0, pins && t->pin_weight != NULL, t->n > 0 && t->size != NULL,
                      t->n > 0 && t->source != NULL};
    eqp_balance_items *const all = &g->items;

    EQP__CHECK(eqp__collect_announce(&g->way, t->n, &all->n));
    EQP__CHECK(columns & (EQP__PINS | EQP__SIZES | EQP__SOURCES) ? eqp_sum_int64(g->way.comm, 4, any) : EQP_OK);
    const bool has_pins = (columns & EQP__PINS) && any[0] > 0 && any[0] <= MOST_PINS;
    const bool has_points = (columns & EQP__POINTS) || ((columns & EQP__POINTS_WITHOUT_PINS) && !has_pins);
    const struct {
        bool wanted;
        size_t size;
        const void *mine;
        void *array;
    } column[] = {{true, sizeof *t->weight, t->weight, &all->weight},
                  {true, sizeof *part, part, &g->part},
                  {(columns & EQP__PART_NOW) != 0, sizeof *part, part, &all->part_now},
                  {(columns & EQP__IDS) != 0, sizeof *t->id, t->id, &all->id},
                  {(columns & EQP__PARTICLES) != 0, sizeof *t->particles, t->particles, &all->particles},
                  {has_points, 3 * sizeof *t->point, t->point, &all->point},
                  {(columns & EQP__SOURCES) && any[3] > 0, 3 * sizeof *t->source, t->source, &all->source},
                  {(columns & EQP__SIZES) && any[2] > 0, sizeof *t->size, t->size, &all->size},
                  {(columns & EQP__PHASES) && nphases > 1, (size_t)nphases * sizeof *t->phase_load, t->phase_load,
                   &all->phase_load}};

    for (size_t k = 0; k < sizeof column / sizeof column[0]; k++) {
        EQP__CHECK(column[k].wanted ? bring(g, all->n, column[k].size, column[k].mine, column[k].array) : EQP_OK);
    }
    return has_pins ? bring_pins(g, t, any[1] > 0) : EQP_OK;
}

/* Agrees on the code of `alone`, with its message, and brings rank 0's result to all ranks. Collective. */
static int share_result(const gathered *g, int code, const eqp_balance_options *options, eqp_balance_result *result)
{
    const bool root = g->way.rank == 0, known = !isnan(result->imbalance_unrepaired);
    double sum[3] = {root && known, root && known ? result->imbalance_unrepaired : 0,
                     root ? (double)result->repaired : 0};
    const int met = eqp_meet(g->way.comm, code, 0, NULL, 3, sum);

    if (met) {
        code = eqp_agree(g->way.comm, code, options->message);
        return code ? code : met;
    }
    result->imbalance_unrepaired = sum[0] > 0 ? sum[1] : (double)NAN;
    result->repaired = (int64_t)sum[2];
    return EQP_OK;
}

int eqp__gather_and_assign(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options,
                           unsigned columns, eqp__alone *alone, int *part, eqp_balance_result *result)
{
    gathered g = {.nowned = 0};
    int code;

    EQP_TRY(eqp__collect_open(comm, &g.way));
    EQP_TRY(gather(&g, items, options->nphases, columns, part));
    code = g.way.rank == 0 ? alone(&g.items, options, g.part, result) : EQP_OK;
    EQP_TRY(share_result(&g, code, options, result));
    EQP_TRY(eqp__collect_return(&g.way, sizeof *part, g.part, part));
done:
    eqp__collect_close(&g.way);
    for (int k = 0; k < g.nowned; k++) {
        free(g.owned[k]);
    }
    return code;
}

/* Sets the weight of every hyperedge to the largest weight among its pins. */
static int weigh_edges(const eqp_balance_items *items, eqp_hypergraph *graph)
{
    const int64_t npins = items->pin_first[items->n];
    eqp__pin *list = NULL;

    EQP__CHECK(eqp_array_create(&list, npins, sizeof *list));
    for (int64_t k = 0; k < npins; k++) {
        list[k] = (eqp__pin){items->pin[k], items->pin_weight[k]};
    }
    eqp__hypergraph_weigh(graph, eqp__pins_unique(npins, list), list);
    free(list);
    return EQP_OK;
}

int eqp__items_graph(const eqp_balance_items *items, eqp_hypergraph *graph)
{
    if (items->pin_first == NULL || items->pin_first[items->n] == 0) {
        return EQP_OK;
    }
    EQP__CHECK(eqp__hypergraph_create(items->n, items->pin_first, items->pin, graph));
    return items->pin_weight != NULL ? weigh_edges(items, graph) : EQP_OK;
}

static int by_id_then_weight(const void *a, const void *b)
{
    const eqp__pin *x = a, *y = b;

    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return (x->weight < y->weight) - (x->weight > y->weight);
}

int64_t eqp__pins_unique(int64_t n, eqp__pin *pin)
{
    int64_t kept = 0;

    qsort(pin, (size_t)n, sizeof *pin, by_id_then_weight);
    for (int64_t k = 0; k < n; k++) {
        if (kept == 0 || pin[kept - 1].id != pin[k].id) {
            pin[kept++] = pin[k];
        }
    }
    return kept;
}
