/* SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include "gather.h"
#include "newmap.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/random.h>

#include <stdlib.h>
#include <string.h>

/* Costs are sampled on so many runs of groups of a rank before the first forces are known. */
#define COST_SAMPLE_RUNS 32

/* So many pins per unit make the hypergraph know its neighbours: with 16 it leaves a third more ghosts. */
#define MOST_PINS 256

/* The sampler's weights are nanoseconds, so that a tile weighs some hundreds. */
#define NANOSECONDS 1e9
#define WEIGHT_BITS 10 /* a thousandth of one */

/* The groups, in curve order over the ranks: homes may be scattered along the curve, owners must not. */
static int line_up(bh_domain *domain, bh_works *works, int64_t **order, int64_t *bytes)
{
    int64_t n = domain->ngroups;
    uint64_t *key = NULL;
    int *only = NULL;
    int code = eqp_array_create(&key, n, sizeof *key);

    if (code == EQP_OK) {
        code = eqp_array_create(&only, n, sizeof *only);
    }
    code = eqp_agree(domain->comm, code, NULL);
    for (int64_t g = 0; g < n && code == EQP_OK; g++) {
        key[g] = domain->group[g].key;
    }
    if (code == EQP_OK) {
        code = bh_deal(domain->comm, n, key, only);
    }
    if (code == EQP_OK) {
        const bh_route route = {.tag = domain->tag, .only = only};
        code = bh_works_send(works, domain->comm, &domain->particles, n, domain->group, &route, bytes);
    }
    if (code == EQP_OK) {
        code = eqp_agree(domain->comm, bh_owners_order(works, order), NULL);
    }
    free(only);
    free(key);
    return code;
}

/* What enumerates a group's interactions: one per tile. */
typedef struct enumerator {
    const bh_tree *tree;
    const bh_mac *mac;
    const bh_owners *owners;
    bh_costs nominal;
    bh_list list;
    /* of the group at hand */
    eqp_sink *sink;
    const bh_group *group;
    bh_counts *counts; /* its work so far */
    double centre[3];
} enumerator;

static int offer(enumerator *e, const double *centroid, const bh_counts *work, int npins, const int64_t *pin)
{
    double weight = NANOSECONDS * bh_costs_predict(&e->nominal, work);

    bh_counts_add(e->counts, work);
    return eqp_sink_add(e->sink,
                        &(eqp_batch){.n = 1, .centroid = centroid, .weight = &weight, .npins = npins, .pin = pin});
}

static int offer_tile(void *user, const bh_tile *tile)
{
    enumerator *e = user;
    const bh_counts work = {.of = {[BH_KIND_PAIR] = tile->nsources * e->group->count,
                                   [BH_KIND_CELL] = tile->ncells * e->group->count,
                                   [BH_KIND_LISTED] = tile->nsources + tile->ncells,
                                   [BH_KIND_VISIT] = tile->nleaves + tile->ncells}};
    int64_t pin = (int64_t)(eqp_random_bits(0, (uint64_t)tile->level, tile->key) >> 1);
    double centroid[3];

    bh_tile_centroid(e->centre, tile->centre, centroid);
    return offer(e, centroid, &work, 1, &pin);
}

/* The tiles, and one interaction at the group's own centre for what belongs to none: looks at cells that were opened,
 * and the group's fixed cost. */
static int enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    static const double own_centre[3] = {0.0, 0.0, 0.0};
    enumerator *e = user;
    bh_counts rest = {.of = {[BH_KIND_GROUP] = 1}};
    int code;

    e->sink = sink;
    e->group = &e->owners->works.work[e->owners->order[owner]].group;
    e->counts = &e->owners->counts[owner];
    *e->counts = (bh_counts){{0}};
    bh_group_centre(e->group, e->centre);
    code = bh_walk(e->tree, e->tree->root, e->group, e->mac, NULL, offer_tile, e, &e->list);
    if (code != EQP_OK) {
        return code;
    }
    rest.of[BH_KIND_VISIT] = e->list.nvisits - e->counts->of[BH_KIND_VISIT];
    return offer(e, own_centre, &rest, 0, NULL);
}

/* Measures what a pair, a cell, a look cost, on a few groups, unless a force evaluation has told already. */
static int learn_costs(bh_domain *domain, bh_evaluator *evaluator, bh_works *works, bh_costs *costs)
{
    bh_timings timings = {0};
    int code;

    if (costs->known) {
        return EQP_OK;
    }
    code = bh_evaluate_sample(evaluator, &domain->tree, works, COST_SAMPLE_RUNS, &timings);
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = bh_costs_fit(costs, domain->comm, &timings);
    }
    bh_timings_free(&timings);
    return code;
}

static int add_totals(MPI_Comm comm, const eqp_units_options *options, const bh_owners *owners, eqp_units_totals *all,
                      eqp_units_totals *before)
{
    eqp_units_totals mine = EQP_UNITS_TOTALS_ZERO;
    int rank, code;

    *before = mine;
    code = eqp_units_totals_add(options, owners->n, owners->id, owners->count, owners->weight, &mine);
    code = eqp_agree(comm, code, NULL);
    if (code != EQP_OK) {
        return code;
    }
    MPI_Comm_rank(comm, &rank);
    if (MPI_Allreduce(&mine, all, EQP_UNITS_TOTALS_WORDS, MPI_INT64_T, MPI_SUM, comm) != MPI_SUCCESS ||
        MPI_Exscan(&mine, before, EQP_UNITS_TOTALS_WORDS, MPI_INT64_T, MPI_SUM, comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (rank == 0) {
        *before = (eqp_units_totals)EQP_UNITS_TOTALS_ZERO;
    }
    return EQP_OK;
}

static int select_units(MPI_Comm comm, const bh_rebalance_options *options, int nparts, bh_owners *owners,
                        enumerator *e, eqp_units **units)
{
    eqp_units_options wanted = EQP_UNITS_OPTIONS_DEFAULTS;
    eqp_units_totals all, before;
    double target, rate;
    int code;

    wanted.strategy = options->strategy;
    wanted.seed = options->seed;
    wanted.rate = options->sample_rate;
    wanted.imbalance = options->imbalance_tol > 0 ? options->imbalance_tol : 0.001;
    wanted.nparts = nparts;
    wanted.max_pins = MOST_PINS;
    wanted.threshold = options->sample_threshold;
    wanted.weight_bits = WEIGHT_BITS;
    code = add_totals(comm, &wanted, owners, &all, &before);
    if (code == EQP_OK && wanted.strategy == EQP_SAMPLE_RANDOM && wanted.rate <= 0) {
        code = eqp_agree(comm, eqp_units_target(&wanted, &all, &target, &rate), NULL);
        if (code == EQP_OK && rate > 0) {
            wanted.rate = rate;
            code = add_totals(comm, &wanted, owners, &all, &before);
        }
    }
    if (code == EQP_OK) {
        code = eqp_units_create(owners->n, owners->id, owners->count, owners->weight, enumerate, e, &wanted, &all,
                                &before, units);
        code = eqp_agree(comm, code, NULL);
    }
    return code;
}

/* Exact weights of the owners: their lists are walked anyway. Methods that ignore weights do without. */
static int weigh(bh_domain *domain, bh_evaluator *evaluator, const bh_rebalance_options *options, bh_owners *owners,
                 enumerator *e, bh_costs *costs, bh_traffic *traffic)
{
    eqp_units_options plain = EQP_UNITS_OPTIONS_DEFAULTS;
    int code;

    if (!(options->method->needs & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS))) {
        return EQP_OK;
    }
    plain.weight_bits = WEIGHT_BITS;
    code = bh_essential_fetch(&domain->tree, domain->comm, &owners->works, &evaluator->mac, NULL, traffic);
    if (code == EQP_OK) {
        code = learn_costs(domain, evaluator, &owners->works, costs);
    }
    if (code == EQP_OK) {
        code = eqp_owners_weigh(owners->n, owners->id, NULL, enumerate, e, &plain, owners->count, owners->weight);
        code = eqp_agree(domain->comm, code, NULL);
    }
    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        owners->seconds[o] = bh_costs_predict(costs, &owners->counts[o]);
    }
    return code;
}

int bh_rebalance(bh_domain *domain, bh_evaluator *evaluator, const bh_rebalance_options *options, bool has_map,
                 bh_map *map, bh_costs *costs, bh_rebalanced *rebalanced, eqp_message *message)
{
    bh_owners owners = {0};
    bh_traffic traffic = {0};
    eqp_units *units = NULL;
    enumerator e = {.tree = &domain->tree, .mac = &evaluator->mac, .owners = &owners};
    int code;

    bh_works_init(&owners.works);
    bh_list_init(&e.list);
    memset(rebalanced, 0, sizeof *rebalanced);
    code = bh_costs_init(&e.nominal);
    if (code == EQP_OK) {
        code = line_up(domain, &owners.works, &owners.order, &traffic.bytes);
    }
    if (code == EQP_OK) {
        code = bh_owners_create(&owners, domain->comm);
    }
    if (code == EQP_OK) {
        code = weigh(domain, evaluator, options, &owners, &e, costs, &traffic);
    }
    if (code == EQP_OK && (options->method->needs & EQP_NEEDS_UNITS)) {
        code = select_units(domain->comm, options, domain->nranks, &owners, &e, &units);
    }
    if (code == EQP_OK) {
        code = bh_newmap_make(domain, &owners, units, options, has_map, map, rebalanced, message);
    }
    rebalanced->bytes += traffic.bytes;
    bh_list_free(&e.list);
    eqp_units_free(units);
    bh_owners_free(&owners);
    return code;
}
