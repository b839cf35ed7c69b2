/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "comm/send.h"
#include "map/placement.h"
#include "move/evaluation.h"
#include "whatif/whatif.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

void eqp__trials_free(int n, eqp_trial *trials)
{
    for (int i = 0; i < n; i++) {
        eqp_map_free(trials[i].map);
        trials[i].map = NULL;
        free(trials[i].placements);
        trials[i].placements = NULL;
    }
}

/* True if the problem traces maps and, with several phases, can separate them. */
static bool by_problem(const eqp_whatif_state *state)
{
    const eqp_problem *problem = state->what->problem;

    return problem->trace != NULL && (state->phases.n == 1 || problem->turn != NULL);
}

static int create_evaluation(const eqp_whatif_state *state, int nparts, eqp_evaluation **evaluation)
{
    static const int out[1] = {0}, ghosts[1] = {1};
    const eqp_problem *problem = state->what->problem;

    return by_problem(state)
               ? eqp_evaluation_create(nparts, problem->nphases, problem->back, problem->ghosts, evaluation)
               : eqp_evaluation_create(nparts, 1, out, ghosts, evaluation);
}

static int trace(eqp_whatif_state *state, const eqp_trial *trial, int phase, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const eqp_problem *problem = state->what->problem;
    int code = EQP_OK;

    if (!by_problem(state)) {
        code = eqp__trace_by_pins(state, trial, phase, loads_only, evaluation);
        return eqp_agree(state->comm, code, NULL);
    }
    code = problem->turn != NULL ? problem->turn(problem->user, phase) : EQP_OK;
    EQP_TRY(eqp_agree(state->comm, code, NULL));
    code = problem->trace(problem->user, trial->nparts, trial->map, trial->placements, loads_only, evaluation);
    EQP_TRY(eqp_agree(state->comm, code, NULL));
done:
    return code;
}

static int set_speeds(eqp_part_speeds speeds, int nparts, eqp_evaluation *evaluation)
{
    double *speed = NULL;
    int code;

    EQP_TRY(eqp_array_create(&speed, nparts, sizeof *speed));
    for (int p = 0; p < nparts; p++) {
        speed[p] = eqp_part_speed(speeds, p);
    }
    EQP_TRY(eqp__evaluation_speeds(evaluation, speed));
done:
    free(speed);
    return code;
}

static int set_memory(const eqp_part_memory *memory, int nparts, eqp_evaluation *evaluation)
{
    double *capacity = NULL;
    int code = EQP_OK;

    if (memory->n > 0) {
        EQP_TRY(eqp_array_create(&capacity, nparts, sizeof *capacity));
        for (int p = 0; p < nparts; p++) {
            capacity[p] = memory->bytes[p % memory->n];
        }
    }
    EQP_TRY(eqp_evaluation_memory(evaluation, &memory->model, capacity, memory->of_mean));
done:
    free(capacity);
    return code;
}

/* Merges all ranks' traces on `root`. *bytes: peak memory of that on this rank. */
static int gather(const eqp_whatif_state *state, int root, eqp_evaluation *evaluation, double *bytes)
{
    void *out = NULL;
    char *in = NULL;
    size_t size = 0;
    int64_t *sent = NULL, *received = NULL, total = 0;
    int code = EQP__ARRAYS(EQP__ARRAY(sent, state->nranks), EQP__ARRAY(received, state->nranks));

    if (code == EQP_OK && state->rank != root) {
        code = eqp__evaluation_pack(evaluation, &size, &out);
        sent[root] = (int64_t)size;
    }
    EQP_TRY(eqp__send(state->comm, code, 1, sent, out, received, &total, &in));
    for (int64_t r = 0, at = 0; r < state->nranks && code == EQP_OK; at += received[r], r++) {
        code = received[r] > 0 ? eqp__evaluation_merge(evaluation, (size_t)received[r], in + at) : EQP_OK;
    }
    code = eqp_agree(state->comm, code, NULL);
done:
    *bytes = eqp__evaluation_bytes(evaluation) + (double)size + (double)total;
    EQP__FREE(in, out, received, sent);
    return code;
}

/* owners exist twice: in curve order, and as items */
static void note_own(eqp_whatif_state *state, double traced)
{
    state->own =
        fmax(state->own, 2.0 * (eqp__owners_bytes(&state->owners) + eqp__owners_bytes(&state->pinned)) + traced);
}

void eqp__traced_free(eqp__traced *traced)
{
    for (int k = 0; k < EQP_CYCLE_PHASES; k++) {
        eqp_evaluation_free(traced->turn[k]);
        traced->turn[k] = NULL;
    }
}

/* bytes: memory of earlier turns on this rank, updated. */
static int trace_turn(eqp_whatif_state *state, const eqp_trial *trial, int phase, int root, eqp_evaluation **evaluation,
                      double *bytes)
{
    const eqp_whatif *what = state->what;
    eqp_evaluation *made = NULL;
    double most = 0.0;
    int code;

    EQP_TRY(eqp_agree(state->comm, create_evaluation(state, trial->nparts, &made), NULL));
    EQP_TRY(trace(state, trial, phase, false, made));
    EQP_TRY(gather(state, root, made, &most));
    if (state->keeps && state->rank == root) {
        most += *bytes + eqp__evaluation_bytes(made);
    }
    note_own(state, *bytes + most);
    if (what->speeds.n > 0) {
        EQP_TRY(eqp_agree(state->comm, set_speeds(what->speeds, trial->nparts, made), NULL));
    }
    EQP_TRY(eqp__evaluation_overhead(made, &what->overhead)); /* the same on all ranks */
    if (what->options.memory.known) {
        EQP_TRY(eqp_agree(state->comm, set_memory(&what->options.memory, trial->nparts, made), NULL));
    }
    if (state->rank == root) {
        *bytes += eqp__evaluation_bytes(made);
        *evaluation = made;
        made = NULL;
    }
done:
    eqp_evaluation_free(made);
    return code;
}

/* Tells rank `root` the memory used so far for making maps, if parts are ranks. */
static int tell_own(const eqp_whatif_state *state, int root, const eqp__traced *traced)
{
    double *own = NULL;
    int code;

    EQP_TRY(eqp_agree(state->comm, eqp_array_create(&own, state->nranks, sizeof *own), NULL));
    EQP_TRY(EQP__MPI(MPI_Gather(&state->own, 1, MPI_DOUBLE, own, 1, MPI_DOUBLE, root, state->comm)));
    for (int k = 0; k < state->phases.n && state->rank == root && code == EQP_OK; k++) {
        code = eqp__evaluation_own(traced->turn[k], own);
    }
    code = eqp_agree(state->comm, code, NULL);
done:
    free(own);
    return code;
}

int eqp__whatif_trace(eqp_whatif_state *state, const eqp_trial *trial, int root, eqp__traced *traced)
{
    double bytes = 0.0;

    for (int k = 0; k < state->phases.n; k++) {
        EQP__CHECK(trace_turn(state, trial, k, root, &traced->turn[k], &bytes));
    }
    state->ntraced++;
    if (state->what->in_run && state->what->options.memory.known) {
        EQP__CHECK(tell_own(state, root, traced));
    }
    return EQP_OK;
}

int eqp__whatif_loads(eqp_whatif_state *state, const eqp_trial *trial, double *loads)
{
    eqp_evaluation *evaluation = NULL;
    int code = EQP_OK;

    memset(loads, 0, (size_t)trial->nparts * sizeof *loads);
    for (int k = 0; k < state->phases.n; k++) {
        EQP_TRY(eqp_agree(state->comm, create_evaluation(state, trial->nparts, &evaluation), NULL));
        EQP_TRY(trace(state, trial, k, true, evaluation));
        for (int p = 0; p < trial->nparts; p++) {
            loads[p] += state->phases.times[k] * eqp__evaluation_loads(evaluation)[p];
        }
        eqp_evaluation_free(evaluation);
        evaluation = NULL;
    }
    EQP_TRY(eqp_sum_double(state->comm, trial->nparts, loads));
done:
    eqp_evaluation_free(evaluation);
    return code;
}

static eqp_cycle cycle_of(const eqp_compared *row)
{
    eqp_cycle cycle = {.efficiency = 1.0 / (1.0 + row->evaluated.imbalance)};

    for (int k = 0; k < row->phases.n; k++) {
        cycle.imbalance[k] = row->phase[k].imbalance;
        cycle.worst_phase = cycle.imbalance[k] > cycle.worst ? k : cycle.worst_phase;
        cycle.worst = fmax(cycle.worst, cycle.imbalance[k]);
    }
    return cycle;
}

int eqp__whatif_evaluate_by(const eqp_whatif_state *state, const eqp__traced *traced, const eqp_network *network,
                            const eqp_exchange_plan *plan, eqp_compared *row)
{
    row->phases = state->phases;
    EQP__CHECK(eqp_evaluation_cycle(state->phases.n, state->phases.times, traced->turn, network, plan, row->phase,
                                    &row->evaluated));
    row->cycle = cycle_of(row);
    return EQP_OK;
}

int eqp__whatif_evaluate(const eqp_whatif_state *state, const eqp__traced *traced, const eqp_network *network,
                         eqp_compared *row)
{
    return eqp__whatif_evaluate_by(state, traced, network, state->what->plan, row);
}

int eqp__whatif_tell(const eqp_whatif_state *state, int root, eqp_compared *row)
{
    eqp_compared told = *row;

    EQP__CHECK(EQP__MPI(MPI_Bcast(&told, (int)sizeof told, MPI_BYTE, root, state->comm)));
    row->evaluated = told.evaluated;
    row->phases = told.phases;
    row->cycle = told.cycle;
    memcpy(row->phase, told.phase, sizeof row->phase);
    return EQP_OK;
}

/* Evaluates a map by the survey alone: the rank that computes an owner has its load and needs its pins. Exact if the
 * survey gives all pins and pins are owners; otherwise senders are unknown and only loads are evaluated. */

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

/* Surveys the owners with all pins, and with tiles if owners may be shared. */
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

/* Traces an owner shared by several parts, tile by tile; the rest is computed at the owner's own place. */
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

/* Adds each part's seconds that do not depend on the map, per turn. */
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
