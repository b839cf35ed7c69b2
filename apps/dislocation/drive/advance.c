/* SPDX-License-Identifier: BSD-3-Clause */
#include "advance.h"

#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int dd_advance_velocities(const dd_motion *motion)
{
    const dd_halo *halo = motion->halo;
    double(*along)[3] = NULL;
    int64_t room = 0;
    int code = EQP_OK;

    for (int64_t i = 0; i < halo->n && code == EQP_OK; i++) {
        dd_node *node = &motion->domain->network.node[i];
        double force[3];
        code = eqp_array_reserve(&along, &room, node->narms, sizeof *along);
        for (int k = 0; k < node->narms && code == EQP_OK; k++) {
            dd_domain_offset(motion->domain, dd_halo_position(motion->domain, halo, halo->place[halo->first[i] + k]),
                             node->x, along[k]);
        }
        if (code == EQP_OK) {
            dd_node_force(node, force);
            dd_mobility_velocity(motion->mobility, node, (const double(*)[3])along, force, node->v);
        }
    }
    free(along);
    return code;
}

/* States of the own nodes. */
typedef struct states {
    int64_t n;
    double *x0, *v0, *x1, *v1, *guess; /* [n][3] */
    dd_segment *before;                /* own segments at the start */
} states;

static void states_free(states *s)
{
    free(s->x0);
    free(s->v0);
    free(s->x1);
    free(s->v1);
    free(s->guess);
    free(s->before);
}

static int states_create(const dd_motion *motion, states *s)
{
    double **const column[] = {&s->x0, &s->v0, &s->x1, &s->v1, &s->guess};
    int code = eqp_array_create(&s->before, motion->stage->nown, sizeof *s->before);

    s->n = motion->domain->network.n;
    for (int i = 0; i < 5 && code == EQP_OK; i++) {
        code = eqp_array_create(column[i], 3 * s->n, sizeof(double));
    }
    for (int64_t i = 0; i < s->n && code == EQP_OK; i++) {
        memcpy(s->x0 + 3 * i, motion->domain->network.node[i].x, 3 * sizeof(double));
        memcpy(s->v0 + 3 * i, motion->domain->network.node[i].v, 3 * sizeof(double));
        dd_step_guess(motion->stepper, 1, s->v0 + 3 * i, motion->domain->network.node[i].last_v, s->guess + 3 * i);
    }
    for (int64_t own = 0; own < motion->stage->nown && code == EQP_OK; own++) {
        s->before[own] = dd_stage_segment(motion->stage, motion->stage->own_local[own]);
    }
    return code;
}

/* What a try of all ranks has come to. own: code of this rank so far; returns that of all. */
static int judge(const dd_motion *motion, const states *s, int own, dd_verdict *verdict)
{
    const double dt = motion->stepper->dt;
    double low[2] = {-dd_step_error(s->n, s->x0, s->v0, s->x1, s->v1, dt), -dd_step_way(s->n, s->v0, s->v1, dt)};
    int code;

    EQP_TRY(eqp_meet(motion->domain->comm, own, 2, low, 0, NULL));
    code = dd_stepper_judge(motion->stepper, -low[0], -low[1], verdict);
done:
    return code;
}

/* Forces and velocities at x1. *own: this rank's code so far, then that of the velocities. */
static int evaluate_at(const dd_motion *motion, states *s, dd_evaluated_fn evaluated, void *user, int *own)
{
    int code;

    for (int64_t i = 0; i < s->n; i++) {
        memcpy(motion->domain->network.node[i].x, s->x1 + 3 * i, 3 * sizeof(double));
    }
    EQP_TRY(dd_evaluate(motion->evaluator, motion->domain, motion->halo, motion->stage, *own));
    evaluated(user);
    *own = dd_advance_velocities(motion);
    for (int64_t i = 0; i < s->n; i++) {
        memcpy(s->v1 + 3 * i, motion->domain->network.node[i].v, 3 * sizeof(double));
    }
done:
    return code;
}

/* own: this rank's code so far. */
static int integrate(const dd_motion *motion, states *s, double fastest, dd_evaluated_fn evaluated, void *user, int own)
{
    dd_stepper *stepper = motion->stepper;
    dd_verdict verdict = DD_STEP_RETRY;
    int code;

    EQP_TRY(dd_stepper_begin(stepper, fastest));
    dd_step_predict(s->n, s->x0, s->guess, stepper->dt, s->x1);
    while (verdict != DD_STEP_ACCEPT) {
        const double dt = stepper->dt;
        EQP_TRY(evaluate_at(motion, s, evaluated, user, &own));
        EQP_TRY(judge(motion, s, own, &verdict));
        if (verdict == DD_STEP_CORRECT) {
            dd_step_correct(s->n, s->x0, s->v0, s->v1, dt, s->x1);
        }
        if (verdict == DD_STEP_RETRY) {
            dd_step_predict(s->n, s->x0, s->guess, stepper->dt, s->x1);
        }
    }
    for (int64_t i = 0; i < s->n; i++) {
        memcpy(motion->domain->network.node[i].last_v, s->v0 + 3 * i, 3 * sizeof(double));
    }
done:
    return code;
}

/* The stage has the positions of the last evaluation, which are those that were accepted. */
static void add_strain(const dd_motion *motion, const states *s, double strain[9])
{
    const dd_stage *stage = motion->stage;
    const double *edge = motion->domain->edge;

    memset(strain, 0, 9 * sizeof *strain);
    for (int64_t own = 0; own < stage->nown; own++) {
        const dd_segment after = dd_stage_segment(stage, stage->own_local[own]);
        dd_strain_sweep(1, &s->before[own], &after, edge[0] * edge[1] * edge[2], strain, strain + 6);
    }
}

int dd_advance(const dd_motion *motion, int code, double fastest, dd_evaluated_fn evaluated, void *user,
               double strain[9])
{
    const dd_stepper before = *motion->stepper;
    states s = {.n = 0};

    code = code == EQP_OK ? motion->stage->code : code;
    code = code == EQP_OK ? states_create(motion, &s) : code;
    s.n = code == EQP_OK ? s.n : 0;
    EQP_TRY(integrate(motion, &s, fastest, evaluated, user, code));
    add_strain(motion, &s, strain);
done:
    if (code == EQP_ERR_STOPPED) {
        *motion->stepper = before;
        for (int64_t i = 0; i < s.n; i++) {
            memcpy(motion->domain->network.node[i].x, s.x0 + 3 * i, 3 * sizeof(double));
        }
    }
    states_free(&s);
    return code;
}
