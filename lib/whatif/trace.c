/* SPDX-License-Identifier: BSD-3-Clause */
#include "whatif/whatif.h"

#include "base/internal.h"
#include "comm/send.h"
#include "move/evaluation.h"

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

/* True if the problem traces maps; with several phases, if it can separate them. */
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

/* Traces one turn of a phase. */
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

/* Merges the traces of all ranks on one of them. *bytes: most memory that takes on this rank. */
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

/* bytes: memory of the turns before it, updated, on this rank. */
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

/* Tells rank `root` the memory used for making maps so far, if parts are ranks. */
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

/* Imbalance of the phases, from their evaluations. */
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
