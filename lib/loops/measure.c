/* SPDX-License-Identifier: BSD-3-Clause */
/* Measured times of the adaptive methods: eq. 2.4 to 2.12 of the thesis. Sums over the ranks are kept in a tree, so
 * that a replaced value leaves no rounding error. */
#include "rules.h"

#include "base/internal.h"

#include <math.h>

eqp__share eqp__schedule_share(const eqp_schedule *s, int rank)
{
    return s->share[s->leaves + rank];
}

void eqp__schedule_set_share(eqp_schedule *s, int rank, const eqp__share *share)
{
    int k = s->leaves + rank;

    s->share[k] = *share;
    for (k /= 2; k >= 1; k /= 2) {
        for (int i = 0; i < EQP__SHARES; i++) {
            s->share[k].of[i] = s->share[2 * k].of[i] + s->share[2 * k + 1].of[i];
        }
    }
}

double eqp__schedule_weight(const eqp_schedule *s, int rank)
{
    const eqp__share *sum = &s->share[1], mine = eqp__schedule_share(s, rank);
    const double measured = sum->of[EQP__MEASURED];

    if (!(mine.of[EQP__MEASURED] > 0.0) || s->method->learns == EQP_SCHEDULE_LEARNS_SPREAD) {
        return s->rank[rank].given;
    }
    /* Times compare measured ranks with each other only. These share the sum of their initial weights, which replaces P
     * in eq. 2.9, and a rank without measurements keeps its weight. Once all are measured, the sum is P. */
    const double shared = measured < s->nranks ? sum->of[EQP__GIVEN] : s->nranks;
    /* Eq. 2.5, 2.6 and 2.8. */
    const double mean = sum->of[EQP__FIRST] / measured;
    return mean * mine.of[EQP__INVERSE] * shared / (mean * sum->of[EQP__INVERSE]);
}

/* Adds a time step or a chunk to eq. 2.4. */
static eqp__rank fold(const eqp__rank *rank, double seconds, double items)
{
    eqp__rank now = *rank;

    now.folds += 1.0;
    now.seconds += now.folds * seconds;
    now.items += now.folds * items;
    return now;
}

static eqp__share share_of_speed(const eqp__rank *rank)
{
    const double wap = rank->items > 0.0 ? rank->seconds / rank->items : 0.0;

    return wap > 0.0 ? (eqp__share){{1.0, wap, 1.0 / wap, rank->given}} : (eqp__share){{0.0}};
}

static eqp__rank add_iterations(const eqp__rank *rank, const eqp_schedule_sample *sample)
{
    eqp__rank now = *rank;
    /* The spread is >= 0; a smaller value is rounding. */
    const double least = sample->count > 0 ? sample->seconds / (double)sample->count * sample->seconds : 0.0;

    now.seconds += sample->seconds;
    now.items += (double)sample->count;
    now.squares += fmax(sample->squares, least);
    return now;
}

static eqp__share share_of_spread(const eqp__rank *rank)
{
    const double mean = rank->items > 0.0 ? rank->seconds / rank->items : 0.0;
    const double variance =
        rank->items > 1.0 ? fmax(rank->squares - rank->items * mean * mean, 0.0) / (rank->items - 1.0) : 0.0;

    return mean > 0.0 ? (eqp__share){{1.0, variance / mean, 1.0 / mean, rank->given}} : (eqp__share){{0.0}};
}

static bool can_be_used(const eqp__rank *rank, const eqp__share *share, int nranks)
{
    /* Limits that keep the sums over the ranks and the squares and products in the rules finite. */
    const double most = 1e150 / nranks;

    return rank->seconds <= most && rank->squares <= most && rank->step_seconds <= most &&
           share->of[EQP__FIRST] <= most && share->of[EQP__INVERSE] <= most;
}

static bool is_time(double seconds)
{
    return isfinite(seconds) && seconds >= 0.0;
}

int eqp__schedule_record(eqp_schedule *schedule, int rank, const eqp_schedule_sample *sample)
{
    EQP__FAIL_IF(!is_time(sample->seconds) || !is_time(sample->squares) || !is_time(sample->overhead), EQP_ERR_DATA);
    eqp__rank now = schedule->rank[rank];
    eqp__share share = eqp__schedule_share(schedule, rank);

    switch (schedule->method->learns) {
    case EQP_SCHEDULE_LEARNS_STEPS:
        now.step_seconds += sample->seconds;
        now.step_items += (double)sample->count;
        break;
    case EQP_SCHEDULE_LEARNS_CHUNKS:
    case EQP_SCHEDULE_LEARNS_OVERHEAD:
        now = fold(
            &now, sample->seconds + (schedule->method->learns == EQP_SCHEDULE_LEARNS_OVERHEAD ? sample->overhead : 0.0),
            (double)sample->count);
        share = share_of_speed(&now);
        break;
    case EQP_SCHEDULE_LEARNS_FIRST:
        if (schedule->options.chunk == 0 || share.of[EQP__MEASURED] > 0.0) {
            return EQP_OK;
        }
        now = fold(&now, sample->seconds, (double)sample->count);
        share = share_of_speed(&now);
        break;
    case EQP_SCHEDULE_LEARNS_SPREAD:
        now = add_iterations(&now, sample);
        share = share_of_spread(&now);
        break;
    default:
        return EQP_OK;
    }
    EQP__FAIL_IF(!can_be_used(&now, &share, schedule->nranks), EQP_ERR_DATA);
    schedule->rank[rank] = now;
    eqp__schedule_set_share(schedule, rank, &share);
    return EQP_OK;
}

void eqp__schedule_fold_step(eqp_schedule *schedule)
{
    const eqp__share nothing = {{0.0}};

    for (int r = 0; r < schedule->nranks; r++) {
        eqp__rank *rank = &schedule->rank[r];
        if (schedule->method->learns == EQP_SCHEDULE_LEARNS_SPREAD) {
            /* Repeats step 1 of section 2.1.7: times belong to iterations, which start over. */
            rank->seconds = rank->items = rank->squares = 0.0;
            eqp__schedule_set_share(schedule, r, &nothing);
        } else if (rank->step_items > 0.0) {
            const eqp__rank now = fold(rank, rank->step_seconds, rank->step_items);
            const eqp__share share = share_of_speed(&now);
            /* Ignores a step whose sums would overflow. */
            if (can_be_used(&now, &share, schedule->nranks)) {
                *rank = now;
                eqp__schedule_set_share(schedule, r, &share);
            }
            rank->step_seconds = rank->step_items = 0.0;
        }
    }
}
