/* SPDX-License-Identifier: BSD-3-Clause */
#include "rebalance.h"

#include "newmap.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Costs are sampled on so many runs of groups of a rank before the first forces are known. */
#define COST_SAMPLE_RUNS 32

/* So many pins per unit make the hypergraph know its neighbours: with 64 it leaves up to 15 % more ghosts, with 16 up
 * to 50 %. Where units are very many, all their pins together are no more than ALL_PINS, but never fewer than
 * LEAST_PINS each: the time goes with the pins. */
#define MOST_PINS 256
#define LEAST_PINS 64
#define ALL_PINS 524288.0

#define WEIGHT_BITS 10 /* of the sampler's weights, which are nanoseconds: a thousandth of one */

/* Groups below so many times a unit's weight are never cut, with PARTICLE; and those below this part of the limit not
 * even if units have become that much lighter since they were last cut. */
#define NEVER_CUT 1.25
#define SURELY 0.9

/* So many times the pins are sampled that a unit is to have, as chance gives more or fewer; up to MOST_SPARE where it
 * has several groups, which meet the same tiles. */
#define LEAST_SPARE 1.1
#define MOST_SPARE 2.0

static int pins_per_unit(double units)
{
    return (int)fmin(fmax(ALL_PINS / units, LEAST_PINS), MOST_PINS);
}

static eqp_units_options units_options(const bh_rebalance_options *options, int nparts)
{
    eqp_units_options wanted = EQP_UNITS_OPTIONS_DEFAULTS;

    wanted.strategy = options->strategy;
    wanted.seed = options->seed;
    wanted.rate = options->sample_rate;
    wanted.imbalance = options->imbalance_tol > 0 ? options->imbalance_tol : 0.001;
    wanted.nparts = nparts;
    wanted.threshold = options->sample_threshold;
    wanted.weight_bits = WEIGHT_BITS;
    return wanted;
}

bh_survey_detail bh_rebalance_detail(const bh_rebalance_options *options, int nparts, const eqp_units_totals *last)
{
    const eqp_units_options wanted = units_options(options, nparts);
    bh_survey_detail detail = {.heavy = INFINITY, .pin_below = 0};
    double target, rate;

    if (!(options->method->needs & EQP_NEEDS_UNITS)) {
        return detail;
    }
    if (options->strategy == EQP_SAMPLE_RANDOM) {
        return (bh_survey_detail){.heavy = 0.0, .pin_below = UINT64_MAX}; /* draws may fall into any group */
    }
    if (eqp_units_target(&wanted, last, &target, &rate) == EQP_OK && target > 0) {
        const double units = ldexp((double)last->weight, -WEIGHT_BITS) / target;
        const double spare = fmin(fmax(sqrt((double)last->owners / units), LEAST_SPARE), MOST_SPARE);
        const double share = spare * pins_per_unit(units) * units / (double)last->interactions;
        detail.heavy =
            SURELY * target * (options->strategy == EQP_SAMPLE_PARTICLE ? NEVER_CUT : fmin(2.0, wanted.threshold));
        detail.pin_below = share < 1.0 ? (uint64_t)(share * ldexp(1.0, 63)) : UINT64_MAX;
    }
    return detail;
}

/* Measures what a pair, a cell, a look cost, on a few groups, unless a force evaluation has told already. */
static int learn_costs(bh_domain *domain, bh_evaluator *evaluator, const bh_map *map, bh_works *works, app_costs *costs)
{
    app_timings timings = {0};
    int code;

    if (costs->known) {
        return EQP_OK;
    }
    code = bh_evaluate_sample(evaluator, &domain->tree, map, domain->rank, works, COST_SAMPLE_RUNS, &timings);
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = app_costs_fit(costs, domain->comm, &timings);
    }
    app_timings_free(&timings);
    return code;
}

static int survey_groups(const bh_domain *domain, bh_survey *survey)
{
    int code = EQP_OK;

    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        code = bh_survey_add_group(survey, &domain->group[g], domain->tag[g], domain->rank, g);
    }
    return eqp_agree(domain->comm, code, NULL);
}

/* Roughly: a group that ranks share counts more than once. */
static int survey_totals(MPI_Comm comm, const bh_survey *survey, eqp_units_totals *all)
{
    eqp_units_totals mine = EQP_UNITS_TOTALS_ZERO;

    for (int64_t i = 0; i < survey->n; i++) {
        mine.owners++;
        mine.interactions += survey->group[i].interactions;
        mine.weight += (int64_t)ldexp(bh_survey_weight(survey, &survey->group[i].counts), WEIGHT_BITS);
    }
    return MPI_Allreduce(&mine, all, EQP_UNITS_TOTALS_WORDS, MPI_INT64_T, MPI_SUM, comm) == MPI_SUCCESS ? EQP_OK
                                                                                                        : EQP_ERR_MPI;
}

/* Weights are known only when all lists have been walked; which groups keep their tiles depends on the weights. So the
 * lists are walked twice where units are wanted. */
static int survey_twice(bh_domain *domain, bh_evaluator *evaluator, const bh_rebalance_options *options,
                        const bh_map *map, bh_works *works, bh_survey *survey)
{
    const bh_survey_detail rough = {.heavy = INFINITY, .pin_below = 0};
    eqp_units_totals totals;
    int code;

    bh_survey_clear(survey, &rough);
    code = bh_evaluate_survey(evaluator, &domain->tree, map, domain->rank, works, survey);
    code = eqp_agree(domain->comm, code, NULL);
    if (code != EQP_OK || !(options->method->needs & EQP_NEEDS_UNITS)) {
        return code;
    }
    code = survey_totals(domain->comm, survey, &totals);
    if (code == EQP_OK) {
        const bh_survey_detail detail = bh_rebalance_detail(options, domain->nranks, &totals);
        bh_survey_clear(survey, &detail);
        code = bh_evaluate_survey(evaluator, &domain->tree, map, domain->rank, works, survey);
        code = eqp_agree(domain->comm, code, NULL);
    }
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

int bh_rebalance_units(MPI_Comm comm, const bh_rebalance_options *options, int nparts, bh_owners *owners,
                       eqp_units_totals *all, eqp_units **units)
{
    const eqp_owner_pins pins = {owners->pin_first, owners->pin};
    eqp_units_options wanted = units_options(options, nparts);
    eqp_units_totals before;
    double target, rate;
    int code = add_totals(comm, &wanted, owners, all, &before);

    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_units_target(&wanted, all, &target, &rate), NULL);
    }
    if (code == EQP_OK) {
        wanted.max_pins = pins_per_unit(target > 0 ? ldexp((double)all->weight, -WEIGHT_BITS) / target : 1.0);
    }
    if (code == EQP_OK && wanted.strategy == EQP_SAMPLE_RANDOM && wanted.rate <= 0 && rate > 0) {
        wanted.rate = rate;
        code = add_totals(comm, &wanted, owners, all, &before);
    }
    if (code == EQP_OK) {
        code = eqp_units_create_known(owners->n, owners->id, owners->count, owners->weight, &pins, bh_owners_enumerate,
                                      owners, &wanted, all, &before, units);
        code = eqp_agree(comm, code, NULL);
    }
    return code;
}

int bh_rebalance_survey(bh_domain *domain, bh_evaluator *evaluator, const bh_rebalance_options *options,
                        const bh_map *map, app_costs *costs, bh_survey *survey, int64_t *bytes)
{
    bh_traffic traffic = {0};
    bh_works works;
    int code;

    if (!(options->method->needs & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_UNITS))) {
        const bh_survey_detail nothing = {.heavy = INFINITY, .pin_below = 0};
        bh_survey_clear(survey, &nothing);
        return survey_groups(domain, survey);
    }
    bh_works_init(&works);
    code = bh_works_send(&works, domain->comm, &domain->particles, domain->ngroups, domain->group, domain->tag, map,
                         &traffic.bytes);
    if (code == EQP_OK) {
        code = bh_essential_fetch(&domain->tree, domain->comm, &works, &evaluator->mac, map, &traffic);
    }
    if (code == EQP_OK) {
        code = learn_costs(domain, evaluator, map, &works, costs);
    }
    if (code == EQP_OK) {
        code = survey_twice(domain, evaluator, options, map, &works, survey);
    }
    *bytes += traffic.bytes;
    bh_works_free(&works);
    return code;
}

int bh_rebalance(bh_domain *domain, const bh_survey *survey, const bh_rebalance_options *options, bool has_map,
                 bh_map *map, const app_costs *costs, bh_rebalanced *rebalanced, eqp_message *message)
{
    bh_owners owners = {0};
    eqp_units *units = NULL;
    uint64_t *key = NULL;
    int code;

    memset(rebalanced, 0, sizeof *rebalanced);
    code = eqp_agree(domain->comm, eqp_array_create(&key, domain->ngroups, sizeof *key), NULL);
    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        key[g] = domain->group[g].key;
    }
    if (code == EQP_OK) {
        code = bh_owners_line_up(domain->comm, survey, costs, domain->ngroups, key, &owners, &rebalanced->bytes);
    }
    if (code == EQP_OK && (options->method->needs & EQP_NEEDS_UNITS)) {
        code = bh_rebalance_units(domain->comm, options, domain->nranks, &owners, &rebalanced->totals, &units);
    }
    if (code == EQP_OK) {
        code = bh_newmap_make(domain, &owners, units, options, has_map, map, rebalanced, message);
    }
    eqp_units_free(units);
    bh_owners_free(&owners);
    free(key);
    return code;
}
