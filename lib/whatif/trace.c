/* SPDX-License-Identifier: BSD-3-Clause */
#include "whatif/whatif.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

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

static int create_evaluation(const eqp_whatif_state *state, int nparts, eqp_evaluation **evaluation)
{
    static const int out[1] = {0}, ghosts[1] = {1};
    const eqp_problem *problem = state->what->problem;

    return problem->trace != NULL
               ? eqp_evaluation_create(nparts, problem->nphases, problem->back, problem->ghosts, evaluation)
               : eqp_evaluation_create(nparts, 1, out, ghosts, evaluation);
}

static int trace(eqp_whatif_state *state, const eqp_trial *trial, bool loads_only, eqp_evaluation *evaluation)
{
    const eqp_problem *problem = state->what->problem;
    const int code = problem->trace != NULL ? problem->trace(problem->user, trial->nparts, trial->map,
                                                             trial->placements, loads_only, evaluation)
                                            : eqp__trace_by_pins(state, trial, loads_only, evaluation);

    return eqp_agree(state->comm, code, NULL);
}

static int set_speeds(eqp_part_speeds speeds, int nparts, eqp_evaluation *evaluation)
{
    double *speed = NULL;
    int code;

    EQP_TRY(eqp_array_create(&speed, nparts, sizeof *speed));
    for (int p = 0; p < nparts; p++) {
        speed[p] = eqp_part_speed(speeds, p);
    }
    EQP_TRY(eqp_evaluation_speeds(evaluation, speed));
done:
    free(speed);
    return code;
}

/* Adds up what the ranks have traced, on one of them. */
static int gather(const eqp_whatif_state *state, int root, eqp_evaluation *evaluation)
{
    void *out = NULL;
    char *in = NULL;
    size_t size = 0;
    int64_t *sent = NULL, *received = NULL, total = 0;
    int code = eqp_array_create(&sent, state->nranks, sizeof *sent);

    if (code == EQP_OK) {
        code = eqp_array_create(&received, state->nranks, sizeof *received);
    }
    if (code == EQP_OK && state->rank != root) {
        code = eqp_evaluation_pack(evaluation, &size, &out);
        sent[root] = (int64_t)size;
    }
    code = eqp_agree(state->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_exchange_counts(state->comm, sent, received, &total);
    }
    if (code == EQP_OK) {
        code = eqp_agree(state->comm, eqp_array_create(&in, total, 1), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_exchange(state->comm, 1, sent, out, received, in);
    }
    if (code == EQP_OK) {
        const char *piece = in;
        for (int r = 0; r < state->nranks && code == EQP_OK; r++) {
            code = received[r] > 0 ? eqp_evaluation_merge(evaluation, (size_t)received[r], piece) : EQP_OK;
            piece += received[r];
        }
        code = eqp_agree(state->comm, code, NULL);
    }
    free(in);
    free(out);
    free(received);
    free(sent);
    return code;
}

int eqp__whatif_trace(eqp_whatif_state *state, const eqp_trial *trial, int root, eqp_evaluation **evaluation)
{
    const eqp_whatif *what = state->what;
    eqp_evaluation *made = NULL;
    int code;

    EQP_TRY(eqp_agree(state->comm, create_evaluation(state, trial->nparts, &made), NULL));
    EQP_TRY(trace(state, trial, false, made));
    EQP_TRY(gather(state, root, made));
    if (what->speeds.n > 0) {
        EQP_TRY(eqp_agree(state->comm, set_speeds(what->speeds, trial->nparts, made), NULL));
    }
    EQP_TRY(eqp_evaluation_overhead(made, &what->overhead)); /* the same on all ranks */
    if (state->rank == root) {
        *evaluation = made;
        made = NULL;
    }
done:
    eqp_evaluation_free(made);
    return code;
}

int eqp__whatif_loads(eqp_whatif_state *state, const eqp_trial *trial, double *loads)
{
    eqp_evaluation *evaluation = NULL;
    int code;

    EQP_TRY(eqp_agree(state->comm, create_evaluation(state, trial->nparts, &evaluation), NULL));
    EQP_TRY(trace(state, trial, true, evaluation));
    memcpy(loads, eqp_evaluation_loads(evaluation), (size_t)trial->nparts * sizeof *loads);
    EQP_TRY(eqp_sum_double(state->comm, trial->nparts, loads));
done:
    eqp_evaluation_free(evaluation);
    return code;
}

int eqp__whatif_evaluate(const eqp_whatif_state *state, eqp_evaluation *evaluation, const eqp_network *network,
                         eqp_evaluated *result)
{
    const eqp_exchange_plan *plan = state->what->plan;

    return plan == NULL ? eqp_evaluation_best(evaluation, network, result)
                        : eqp_evaluation_by_plan(evaluation, network, plan, NULL, result);
}
