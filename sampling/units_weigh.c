/* SPDX-License-Identifier: BSD-3-Clause */
/* Phase 1: counts and weights of the owners, their sums, and the target size of units. */
#include "units_internal.h"

#include "memory.h"
#include <equipoise/more/random.h>

#include <math.h>
#include <string.h>

uint64_t eqp__seed(uint64_t seed, enum eqp__purpose purpose)
{
    return eqp_random_bits(seed, UINT64_MAX, (uint64_t)purpose);
}

static int check_options(const eqp_units_options *options)
{
    const eqp_units_options *o = options;

    EQP__FAIL_IF(!o || o->strategy < EQP_SAMPLE_RANDOM || o->strategy > EQP_SAMPLE_STRIDE || o->dim < 1 ||
                     o->dim > EQP_UNITS_MAX_DIM,
                 EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(o->units < 0 || !(o->rate >= 0 && o->rate <= 1) || !(o->imbalance >= 0) || !isfinite(o->imbalance) ||
                     o->nparts < 0,
                 EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(!(o->threshold >= 1.25) || !isfinite(o->threshold) || o->max_pins < 0 || o->max_pins > 65536 ||
                     !(o->weigh_rate > 0 && o->weigh_rate <= 1) || o->weight_bits < 0 || o->weight_bits > 60,
                 EQP_ERR_ARGUMENT);
    return EQP_OK;
}

const eqp_units_options *eqp__units_options_known(const eqp_units_options *options, eqp_units_options *here)
{
    *here = eqp_units_options_defaults();
    return eqp_struct_take(here, options, 0) == EQP_OK && check_options(here) == EQP_OK ? here : NULL;
}

int eqp__fix(double weight, double scale, int64_t *fixed)
{
    double quanta = weight * scale;

    EQP__FAIL_IF(!(weight >= 0) || !isfinite(weight), EQP_ERR_DATA);
    EQP__FAIL_IF(!(quanta < (double)EQP__WEIGHT_LIMIT), EQP_ERR_OVERFLOW);
    *fixed = llrint(quanta);
    return EQP_OK;
}

void eqp__draw_next(struct eqp__draw *draw)
{
    double missed = log(1 - eqp_random_uniform(draw->seed, (uint64_t)draw->id, draw->drawn++)) / draw->log_missed;

    /* NaN would need both logarithms to be 0, which rates and random numbers exclude. */
    if (missed < (double)EQP__WEIGHT_LIMIT && draw->next < EQP__WEIGHT_LIMIT) {
        draw->next += 1 + (int64_t)missed;
    } else {
        draw->next = INT64_MAX;
    }
}

void eqp__draw_start(struct eqp__draw *draw, uint64_t seed, int64_t id, double rate)
{
    *draw = (struct eqp__draw){.seed = seed, .id = id, .log_missed = log1p(-rate), .next = -1};
    eqp__draw_next(draw);
}

int64_t eqp__draws(uint64_t seed, int64_t id, int64_t count, double rate)
{
    struct eqp__draw draw;
    int64_t draws = 0;

    for (eqp__draw_start(&draw, seed, id, rate); draw.next < count; eqp__draw_next(&draw)) {
        draws++;
    }
    return draws;
}

/* Reads every interaction, every k-th, or each with a probability. */
struct weigher {
    uint64_t seed;
    int64_t id;
    bool random;
    double rate;
    struct eqp__draw draw;
    int64_t stride;
    int64_t next;
    int64_t sum; /* weights read so far, in quanta */
};

static int weigh_take(void *context, const struct eqp__chunk *chunk)
{
    struct weigher *w = context;

    if (w->stride == 1 && !w->random) {
        EQP__FAIL_IF(chunk->sum >= EQP__WEIGHT_LIMIT - w->sum, EQP_ERR_OVERFLOW);
        w->sum += chunk->sum;
        return EQP_OK;
    }
    if (w->random) {
        for (; w->draw.next < chunk->first + chunk->n; eqp__draw_next(&w->draw)) {
            w->sum += chunk->weight[w->draw.next - chunk->first];
            EQP__FAIL_IF(w->sum >= EQP__WEIGHT_LIMIT, EQP_ERR_OVERFLOW);
        }
        return EQP_OK;
    }
    for (; w->next < chunk->first + chunk->n; w->next += w->stride) {
        w->sum += chunk->weight[w->next - chunk->first];
        EQP__FAIL_IF(w->sum >= EQP__WEIGHT_LIMIT, EQP_ERR_OVERFLOW);
    }
    return EQP_OK;
}

/* First interaction to be read. With a running number the owners share one stride, whose phase comes from the seed. */
static int64_t stride_phase(const struct weigher *w, const int64_t *first_interaction, int64_t owner)
{
    if (!first_interaction) {
        return (int64_t)eqp_random_below(w->seed, (uint64_t)w->id, 0, (uint64_t)w->stride);
    }
    int64_t phase = (int64_t)eqp_random_below(w->seed, 0, 0, (uint64_t)w->stride);
    int64_t place = first_interaction[owner] % w->stride;
    return (phase - place + w->stride) % w->stride;
}

static int weigh_owner(struct eqp_sink *sink, struct weigher *w, eqp_enumerate_fn enumerate, void *user, int64_t owner,
                       int64_t *count, double *weight)
{
    w->sum = 0;
    if (w->random) {
        eqp__draw_start(&w->draw, w->seed, w->id, w->rate);
    }
    EQP__CHECK(eqp__enumerate(sink, enumerate, user, owner));
    double estimate = w->random ? rint((double)w->sum / w->rate) : (double)w->sum * (double)w->stride;
    EQP__FAIL_IF(!(estimate < (double)EQP__WEIGHT_LIMIT), EQP_ERR_OVERFLOW);
    *count = sink->seen;
    *weight = estimate / sink->scale;
    return EQP_OK;
}

int eqp_owners_weigh(int64_t n, const int64_t *id, const int64_t *first_interaction, eqp_enumerate_fn enumerate,
                     void *user, const eqp_units_options *options, int64_t *count, double *weight)
{
    eqp_units_options known;
    int code = (options = eqp__units_options_known(options, &known)) ? EQP_OK : EQP_ERR_ARGUMENT;

    EQP__FAIL_IF(code != EQP_OK || n < 0 || !enumerate || (n > 0 && (!id || !count || !weight)), EQP_ERR_ARGUMENT);
    bool exact = options->weigh_rate >= 1;
    struct weigher w = {
        .seed = eqp__seed(options->seed, EQP__PURPOSE_WEIGH),
        .random = !exact && options->strategy != EQP_SAMPLE_STRIDE,
        .rate = options->weigh_rate,
        .stride = exact                         ? 1
                  : options->weigh_rate > 1e-15 ? llrint(1 / options->weigh_rate)
                                                : (int64_t)1e15,
    };
    struct eqp_sink sink = {
        .take = weigh_take, .context = &w, .dim = options->dim, .scale = ldexp(1, options->weight_bits)};
    int64_t *new_count = eqp__malloc((size_t)n, sizeof *new_count);
    double *new_weight = eqp__malloc((size_t)n, sizeof *new_weight);
    EQP_TRY(!new_count || !new_weight ? EQP_ERR_MEMORY : EQP_OK);
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        if (first_interaction && first_interaction[i] < 0) {
            code = EQP_ERR_ARGUMENT;
            break;
        }
        w.id = id[i];
        w.next = exact ? 0 : stride_phase(&w, first_interaction, i);
        code = weigh_owner(&sink, &w, enumerate, user, i, &new_count[i], &new_weight[i]);
    }
    if (code == EQP_OK && n > 0) {
        memcpy(count, new_count, (size_t)n * sizeof *count);
        memcpy(weight, new_weight, (size_t)n * sizeof *weight);
    }
done:
    EQP__FREE(new_count, new_weight);
    return code;
}

int eqp_units_totals_add(const eqp_units_options *options, int64_t n, const int64_t *id, const int64_t *count,
                         const double *weight, eqp_units_totals *totals)
{
    eqp_units_options known;
    EQP__FAIL_IF(!(options = eqp__units_options_known(options, &known)) || n < 0 || !totals ||
                     (n > 0 && (!id || !count || !weight)) || totals->owners < 0 || totals->interactions < 0 ||
                     totals->weight < 0 || totals->draws < 0,
                 EQP_ERR_ARGUMENT);
    bool draw = options->strategy == EQP_SAMPLE_RANDOM && options->rate > 0;
    uint64_t draw_seed = eqp__seed(options->seed, EQP__PURPOSE_DRAW);
    double scale = ldexp(1, options->weight_bits);
    eqp_units_totals sum = *totals;

    for (int64_t i = 0; i < n; i++) {
        int64_t fixed;
        EQP__CHECK(eqp__fix(weight[i], scale, &fixed));
        EQP__FAIL_IF(count[i] < 0, EQP_ERR_DATA);
        EQP__FAIL_IF(count[i] > INT64_MAX - sum.interactions || fixed >= EQP__WEIGHT_LIMIT - sum.weight,
                     EQP_ERR_OVERFLOW);
        const int64_t drawn = draw ? eqp__draws(draw_seed, id[i], count[i], options->rate) : 0;
        EQP__FAIL_IF(drawn > INT64_MAX - sum.draws, EQP_ERR_OVERFLOW);
        sum.interactions += count[i];
        sum.weight += fixed;
        sum.draws += drawn;
    }
    EQP__FAIL_IF(n > INT64_MAX - sum.owners, EQP_ERR_OVERFLOW);
    sum.owners += n;
    *totals = sum;
    return EQP_OK;
}

int eqp_units_target(const eqp_units_options *options, const eqp_units_totals *all, double *target, double *rate)
{
    eqp_units_options known;
    EQP__FAIL_IF(!(options = eqp__units_options_known(options, &known)) || !all || !target || !rate ||
                     all->owners < 0 || all->interactions < 0 || all->weight < 0 || all->draws < 0,
                 EQP_ERR_ARGUMENT);
    double interactions = (double)all->interactions;
    double units = (double)all->owners * options->threshold;
    if (options->units > 0) {
        units = (double)options->units;
    } else if (options->rate > 0) {
        units = options->rate * interactions;
    } else if (options->imbalance > 0 && options->nparts > 0) {
        units = options->nparts * fmax(2, options->threshold) / options->imbalance;
    }
    /* At least one unit, at most one per interaction. */
    units = fmax(1, fmin(units, interactions));
    *target = ldexp((double)all->weight, -options->weight_bits) / units;
    *rate = interactions > 0 ? fmin(1, units / interactions) : 0;
    return EQP_OK;
}
