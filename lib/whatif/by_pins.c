/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluates a map by the survey alone: the rank that computes an owner has its load and needs its pins. Exact if the
 * survey gives all pins and pins are owners; if they are not, senders are unknown and only loads are evaluated. */
#include "base/internal.h"
#include "map/placement.h"
#include "whatif/whatif.h"

#include <math.h>
#include <stdlib.h>

/* True if pins are owners. */
static int find_whose(eqp_whatif_state *state)
{
    int any = 0;

    for (int64_t o = 0; o < state->pinned.n; o++) {
        any = any || state->pinned.owner[o].pin >= 0;
    }
    EQP__CHECK(EQP__MPI(MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, state->comm)));
    state->pinned_owners = any != 0;
    return EQP_OK;
}

/* Surveys the owners with all pins, and with their tiles if some may be shared. */
static int learn(eqp_whatif_state *state, bool tiles)
{
    const eqp_survey_detail all = {.heavy = tiles ? 0.0 : INFINITY, .pin_below = UINT64_MAX};

    if (state->pinned_known && (state->pinned_tiles || !tiles)) {
        return EQP_OK;
    }
    eqp__owners_free(&state->pinned);
    state->pinned_known = false;
    EQP__CHECK(eqp__whatif_learn(state, EQP_SURVEY_WORK, &all, &state->pinned, NULL));
    state->pinned_known = true;
    state->pinned_tiles = tiles;
    return find_whose(state);
}

/* Gets the placements of owners in curve order from their homes. */
static int fetch_placements(const eqp_whatif_state *state, const eqp_placement *at_home, eqp_placement **placement)
{
    const eqp_owners *owners = &state->pinned;
    eqp__address *address = NULL;
    int code = EQP__ARRAYS(EQP__ARRAY(address, owners->n), EQP__ARRAY(*placement, owners->n));

    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        address[o] = (eqp__address){owners->owner[o].home, owners->owner[o].at_home};
    }
    EQP_TRY(eqp__placements_fetch(state->comm, code, owners->n, address, state->what->nhome, at_home, *placement));
done:
    free(address);
    return code;
}

static int need(eqp_evaluation *evaluation, bool blocks, int64_t pin, int part)
{
    return !blocks || pin < 0 ? EQP_OK : eqp_evaluation_need(evaluation, 0, pin, part);
}

/* Traces an owner shared by several parts, tile by tile; the remainder is computed at the owner's own place. */
static int trace_shared(const eqp_owners *owners, int64_t o, double seconds, const eqp_map *map, int64_t tag,
                        bool blocks, eqp_evaluation *evaluation)
{
    const double scale = owners->weight[o] > 0 ? seconds / owners->weight[o] : 0.0;
    double rest = owners->weight[o];
    int code = EQP_OK;

    for (int64_t t = owners->tile_first[o]; t < owners->tile_first[o + 1] && code == EQP_OK; t++) {
        const int part = eqp_map_rank(map, tag, owners->tile_centroid + 3 * t);
        rest -= owners->tile_weight[t];
        EQP_TRY(eqp_evaluation_load(evaluation, part, scale * owners->tile_weight[t]));
        EQP_TRY(need(evaluation, blocks, owners->owner[o].pin, part));
        for (int p = 0; p < EQP_TILE_PINS; p++) {
            EQP_TRY(need(evaluation, blocks, owners->tile_pin[EQP_TILE_PINS * t + p], part));
        }
    }
    EQP_TRY(eqp_evaluation_load(evaluation, eqp_map_own_rank(map, tag), scale * fmax(rest, 0.0)));
done:
    return code;
}

static int trace_whole(const eqp_owners *owners, int64_t o, double seconds, int part, bool blocks,
                       eqp_evaluation *evaluation)
{
    EQP__CHECK(eqp_evaluation_load(evaluation, part, seconds));
    EQP__CHECK(need(evaluation, blocks, owners->owner[o].pin, part));
    for (int64_t p = owners->pin_first[o]; p < owners->pin_first[o + 1]; p++) {
        EQP__CHECK(need(evaluation, blocks, owners->pin[p], part));
    }
    return EQP_OK;
}

/* Seconds of an owner in one turn. */
static double seconds_of(const eqp_owners *owners, int64_t o, int phase)
{
    return owners->phases.n > 0 ? owners->phase[o * owners->phases.n + phase] : owners->seconds[o];
}

/* A part without work in a turn needs nothing for it. */
static int trace_owners(const eqp_owners *owners, int phase, const eqp_map *map, const eqp_placement *placement,
                        bool blocks, eqp_evaluation *evaluation)
{
    for (int64_t o = 0; o < owners->n; o++) {
        const eqp_owner *owner = &owners->owner[o];
        const double seconds = seconds_of(owners, o, phase);
        const int64_t tag = eqp_map_tag_in(map, placement[o].tag, phase);
        EQP__CHECK(eqp_evaluation_held(evaluation, placement[o].home, owner->particles));
        if (owner->pin >= 0 && blocks) {
            EQP__CHECK(
                eqp_evaluation_block(evaluation, 0, owner->pin, owner->bytes, owner->particles, placement[o].home));
        }
        if (owners->phases.n > 0 && !(seconds > 0.0)) {
            continue;
        }
        EQP__CHECK(tag >= 0 ? trace_whole(owners, o, seconds, (int)tag, blocks, evaluation)
                            : trace_shared(owners, o, seconds, map, tag, blocks, evaluation));
    }
    return EQP_OK;
}

/* Seconds of the parts that do not depend on the map, per turn. */
static int add_base(const eqp_problem *problem, int nparts, double turns, eqp_evaluation *evaluation)
{
    double *base = NULL;
    int code = problem->base != NULL ? eqp_array_create(&base, nparts, sizeof *base) : EQP_OK;

    if (code == EQP_OK && base != NULL) {
        problem->base(problem->user, nparts, base);
    }
    for (int p = 0; p < nparts && code == EQP_OK && base != NULL; p++) {
        code = eqp_evaluation_load(evaluation, p, base[p] / turns);
    }
    free(base);
    return code;
}

int eqp__trace_by_pins(eqp_whatif_state *state, const eqp_trial *trial, int phase, bool loads_only,
                       eqp_evaluation *evaluation)
{
    eqp_placement *placement = NULL;
    double turns = 0.0;
    int code;

    for (int k = 0; k < state->phases.n; k++) {
        turns += state->phases.times[k];
    }

    EQP_TRY(learn(state, eqp_map_shared(trial->map) > eqp_map_phased(trial->map, NULL, NULL)));
    EQP_TRY(fetch_placements(state, trial->placements, &placement));
    EQP_TRY(
        trace_owners(&state->pinned, phase, trial->map, placement, state->pinned_owners && !loads_only, evaluation));
    if (state->rank == 0) {
        EQP_TRY(add_base(state->what->problem, trial->nparts, turns, evaluation));
    }
done:
    free(placement);
    return code;
}
