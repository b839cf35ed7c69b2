/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_units.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>

/* So many pins per unit make the hypergraph know its neighbours: with 64 it leaves up to 15 % more ghosts, with 16 up
 * to 50 %. Where units are very many, all their pins together are no more than ALL_PINS, but never fewer than
 * LEAST_PINS each: the time goes with the pins. */
#define MOST_PINS 256
#define LEAST_PINS 64
#define ALL_PINS 524288.0

#define WEIGHT_BITS 10 /* of the sampler's weights, which are nanoseconds: a thousandth of one */

/* Owners below so many times a unit's weight are never cut, with PARTICLE; and those below this part of the limit not
 * even if units have become that much lighter since they were last cut. */
#define NEVER_CUT 1.25
#define SURELY 0.9

/* So many times the pins are sampled that a unit is to have, as chance gives more or fewer; up to MOST_SPARE where it
 * has several owners, which meet the same tiles. */
#define LEAST_SPARE 1.1
#define MOST_SPARE 2.0

app_rebalance_options app_rebalance_of(const app_run_settings *run)
{
    return run->choice.options;
}

static int pins_per_unit(double units)
{
    return (int)fmin(fmax(ALL_PINS / units, LEAST_PINS), MOST_PINS);
}

static eqp_units_options units_options(const app_rebalance_options *options, int nparts)
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

app_survey_detail app_rebalance_detail(const app_rebalance_options *options, int nparts, const eqp_units_totals *last)
{
    const eqp_units_options wanted = units_options(options, nparts);
    app_survey_detail detail = {.heavy = INFINITY, .pin_below = 0};
    double target, rate;

    if (!(options->method->needs & EQP_NEEDS_UNITS)) {
        return detail;
    }
    if (options->strategy == EQP_SAMPLE_RANDOM) {
        return (app_survey_detail){.heavy = 0.0, .pin_below = UINT64_MAX}; /* draws may fall into any owner */
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

int app_survey_totals(MPI_Comm comm, const app_survey *survey, const app_work_model *model, eqp_units_totals *all)
{
    eqp_units_totals mine = EQP_UNITS_TOTALS_ZERO;

    for (int64_t i = 0; i < survey->n; i++) {
        mine.owners++;
        mine.interactions += survey->owner[i].interactions;
        mine.weight += (int64_t)ldexp(app_work_weight(model, survey->owner[i].count), WEIGHT_BITS);
    }
    return MPI_Allreduce(&mine, all, EQP_UNITS_TOTALS_WORDS, MPI_INT64_T, MPI_SUM, comm) == MPI_SUCCESS ? EQP_OK
                                                                                                        : EQP_ERR_MPI;
}

static int add_totals(MPI_Comm comm, const eqp_units_options *options, const app_owners *owners, eqp_units_totals *all,
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

int app_units_make(MPI_Comm comm, const app_rebalance_options *options, int nparts, app_owners *owners,
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
        code = eqp_units_create_known(owners->n, owners->id, owners->count, owners->weight, &pins, app_owners_enumerate,
                                      owners, &wanted, all, &before, units);
        code = eqp_agree(comm, code, NULL);
    }
    return code;
}
