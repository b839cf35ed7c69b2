/* SPDX-License-Identifier: BSD-3-Clause */
#include "balance.h"

#include "../files/input.h"
#include "problem.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>

/* A node's place along the curve, with its index in the map's table of owners (-1: none) and its home. */
static int node_runs(const dd_simulation *sim, app_run_of_keys **runs)
{
    const dd_network *network = &sim->domain.network;
    app_run_of_keys *made = NULL;
    uint64_t *key = NULL;
    int code;

    EQP_TRY(dd_keys(&sim->domain, &key));
    EQP_TRY(eqp_array_create(&made, network->n, sizeof *made));
    for (int64_t i = 0; i < network->n; i++) {
        made[i] = (app_run_of_keys){key[i], {network->node[i].split, sim->domain.rank}};
    }
    *runs = made;
done:
    free(key);
    return code;
}

int dd_resume_write(const dd_simulation *sim, char **lines)
{
    const uint64_t own[] = {sim->owed};
    app_run_of_keys *runs = NULL;
    app_words words = {.n = 0};
    int code;

    if (sim->boxes != NULL) {
        return EQP_OK;
    }
    EQP_TRY(eqp_agree(sim->comm, node_runs(sim, &runs), NULL));
    EQP_TRY(app_state_make(sim->comm, sim->balancer, sim->settings->run.choice.word, 1, own, sim->domain.network.n,
                           runs, &words));
    EQP_TRY(eqp_agree(sim->comm, app_words_print(&words, lines), NULL));
done:
    app_words_free(&words);
    free(runs);
    return code;
}

static bool can_be_state(const dd_simulation *sim)
{
    const app_state *state = &sim->state;
    const int64_t nshared = eqp_map_shared(eqp_balancer_map(sim->balancer));
    bool can_be = state->nown == 1 && state->nruns >= 1;

    for (int64_t i = 0; i < state->nruns && can_be; i++) {
        const int64_t *value = state->run[i].value;
        can_be = value[0] >= -1 && value[0] < nshared && value[1] >= 0 && value[1] < sim->domain.nranks;
    }
    return can_be;
}

int dd_resume_take(dd_simulation *sim, eqp_message *message)
{
    const app_run_settings *run = &sim->settings->run;
    char *data = NULL, *ctrl = NULL;
    bool taken = false;
    int code = EQP_OK;

    if (run->restart == NULL || run->ncompare > 0 || sim->boxes != NULL) {
        return EQP_OK;
    }
    EQP_TRY(dd_files_pair(run->restart, &data, &ctrl));
    EQP_TRY(app_words_find(ctrl, &sim->words, message));
    if (sim->words.n > 0) {
        EQP_TRY(app_state_read(&sim->words, ctrl, sim->domain.nranks, run->choice.word, &sim->state, message));
        EQP_TRY(app_state_take(&sim->state, sim->balancer, &taken));
        sim->resumes = taken && sim->state.fits && can_be_state(sim);
        sim->domain.plan = *eqp_balancer_plan(sim->balancer);
    }
done:
    free(data);
    free(ctrl);
    return code;
}

int dd_resume_homes(dd_simulation *sim, dd_moved *moved)
{
    const int64_t n = sim->domain.network.n;
    uint64_t *key = NULL;
    int *dest = NULL, code = dd_keys(&sim->domain, &key);

    EQP_TRY(eqp_agree(sim->comm, code == EQP_OK ? eqp_array_create(&dest, n, sizeof *dest) : code, NULL));
    for (int64_t i = 0; i < n; i++) {
        const app_run_of_keys *run = app_state_find(&sim->state, key[i]);
        sim->domain.network.node[i].split = (int)run->value[0];
        dest[i] = (int)run->value[1];
    }
    EQP_TRY(dd_domain_migrate(&sim->domain, dest, moved));
done:
    free(dest);
    free(key);
    return code;
}

int dd_resume_again(dd_simulation *sim)
{
    bool taken;
    const int code =
        sim->resumes && sim->state.own[0] == 0 ? app_state_take(&sim->state, sim->balancer, &taken) : EQP_OK;

    app_words_free(&sim->words);
    return code;
}
