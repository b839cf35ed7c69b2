/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <equipoise/more/base.h>
#include <equipoise/more/curve.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Own words: the cube, the number of homes, then each home's begin and rank. */
enum { BOX_WORDS = 4, HOMES_AT = BOX_WORDS + 1 };

static int own_words(const bh_simulation *sim, int64_t *n, uint64_t **own)
{
    const bh_homes *homes = &sim->domain.homes;
    const bh_box *box = &sim->domain.box;
    const double cube[BOX_WORDS] = {box->corner[0], box->corner[1], box->corner[2], box->side};
    uint64_t *made = NULL;

    EQP_CHECK(eqp_array_create(&made, HOMES_AT + 2 * homes->n, sizeof *made));
    memcpy(made, cube, sizeof cube);
    made[BOX_WORDS] = (uint64_t)homes->n;
    for (int64_t i = 0; i < homes->n; i++) {
        made[HOMES_AT + 2 * i] = homes->begin[i];
        made[HOMES_AT + 2 * i + 1] = (uint64_t)homes->rank[i];
    }
    *n = HOMES_AT + 2 * homes->n;
    *own = made;
    return EQP_OK;
}

/* Runs of this rank's particles with the same tag, cut at the ends of homes. */
static int tag_runs(const bh_domain *domain, int64_t *n, app_run_of_keys **runs)
{
    const bh_particles *p = &domain->particles;
    app_run_of_keys *made = NULL;
    int64_t capacity = 0, nmade = 0, home = -1;
    uint64_t end = 0;
    int code = EQP_OK;

    for (int64_t i = 0; i < p->n; i++) {
        const int64_t before = home;
        if (p->key[i] >= end) {
            home = bh_homes_find(&domain->homes, p->key[i]);
            end = domain->homes.begin[home + 1];
        }
        if (nmade > 0 && home == before && made[nmade - 1].value[0] == p->tag[i]) {
            continue;
        }
        EQP_TRY(eqp_array_reserve(&made, &capacity, nmade + 1, sizeof *made));
        made[nmade++] = (app_run_of_keys){p->key[i], {p->tag[i], domain->rank}};
    }
    *n = nmade;
    *runs = made;
    made = NULL;
done:
    free(made);
    return code;
}

int bh_resume_write(const bh_simulation *sim, app_words *words)
{
    app_run_of_keys *runs = NULL;
    uint64_t *own = NULL;
    int64_t nown = 0, nruns = 0;
    int code = own_words(sim, &nown, &own);

    code = code == EQP_OK ? tag_runs(&sim->domain, &nruns, &runs) : code;
    EQP_TRY(eqp_agree(sim->comm, code, NULL));
    EQP_TRY(app_state_make(sim->comm, sim->balancer, sim->settings->run.choice.word, nown, own, nruns, runs, words));
done:
    free(runs);
    free(own);
    return code;
}

static bool can_be_runs(const app_state *state, int nranks)
{
    bool can_be = state->nruns >= 1;

    for (int64_t i = 0; i < state->nruns && can_be; i++) {
        can_be = state->run[i].value[0] < nranks && state->run[i].key < EQP_CURVE_END;
    }
    return can_be;
}

/* Takes the root cube, on any ranks and for any map: forces depend on it. False if it is invalid. */
static bool take_box(bh_domain *domain, const app_state *state)
{
    double cube[BOX_WORDS] = {0};

    memcpy(cube, state->own, state->nown > BOX_WORDS ? sizeof cube : 0);
    domain->has_box = cube[3] > 0 && isfinite(cube[0] + cube[1] + cube[2] + cube[3]);
    domain->box = (bh_box){.corner = {cube[0], cube[1], cube[2]}, .side = cube[3]};
    return domain->has_box;
}

/* Takes homes; false if they are invalid. */
static int take_homes(bh_domain *domain, const app_state *state, bool *taken)
{
    const int64_t n = state->nown > BOX_WORDS ? (int64_t)state->own[BOX_WORDS] : 0;
    bh_home_run *runs = NULL;
    int code = EQP_OK;

    *taken = n >= 1 && n <= state->nown && state->nown == HOMES_AT + 2 * n && can_be_runs(state, domain->nranks);
    if (!*taken) {
        return EQP_OK;
    }
    EQP_TRY(eqp_array_create(&runs, n, sizeof *runs));
    for (int64_t i = 0; i < n && *taken; i++) {
        const uint64_t *word = &state->own[HOMES_AT + 2 * i];
        *taken = word[0] < EQP_CURVE_END && word[1] < (uint64_t)domain->nranks;
        runs[i] = (bh_home_run){word[0], (int64_t)word[1]};
    }
    if (*taken) {
        EQP_TRY(bh_homes_set(&domain->homes, n, runs));
        domain->has_homes = true;
    }
done:
    free(runs);
    return code;
}

int bh_resume_take(bh_simulation *sim, eqp_message *message)
{
    const app_run_settings *run = &sim->settings->run;
    bool taken = false;

    if (sim->input.words.n == 0 || run->ncompare > 0) {
        return EQP_OK;
    }
    EQP_CHECK(
        app_state_read(&sim->input.words, run->restart, sim->domain.nranks, run->choice.word, &sim->state, message));
    EQP_CHECK(app_state_take(&sim->state, sim->balancer, &taken));
    if (take_box(&sim->domain, &sim->state) && taken && sim->state.fits) {
        EQP_CHECK(take_homes(&sim->domain, &sim->state, &sim->resumes));
        sim->evaluator.plan = *eqp_balancer_plan(sim->balancer);
    }
    return EQP_OK;
}

void bh_resume_tags(const bh_simulation *sim)
{
    const bh_particles *p = &sim->domain.particles;

    for (int64_t i = 0; i < p->n; i++) {
        p->tag[i] = app_state_find(&sim->state, p->key[i])->value[0];
    }
}

int bh_resume_again(bh_simulation *sim)
{
    bool taken;

    return app_state_take(&sim->state, sim->balancer, &taken);
}
