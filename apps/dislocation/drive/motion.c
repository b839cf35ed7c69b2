/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

int dd_motion_velocities(dd_simulation *sim)
{
    const dd_halo *halo = &sim->halo;
    DD_FREED double(*along)[3] = NULL;
    int64_t room = 0;

    for (int64_t i = 0; i < halo->n; i++) {
        dd_node *node = &sim->domain.network.node[i];
        double force[3];
        EQP_CHECK(eqp_array_reserve(&along, &room, node->narms, sizeof *along));
        for (int k = 0; k < node->narms; k++) {
            dd_domain_offset(&sim->domain, dd_halo_position(&sim->domain, halo, halo->place[halo->first[i] + k]),
                             node->x, along[k]);
        }
        dd_node_force(node, force);
        dd_mobility_velocity(&sim->mobility, node, (const double(*)[3])along, force, node->v);
    }
    return EQP_OK;
}

static int create(const dd_simulation *sim, dd_motion *m)
{
    double **const column[] = {&m->x0, &m->v0, &m->x1, &m->v1, &m->guess};
    const dd_network *network = &sim->domain.network;
    const dd_stage *stage = &sim->stage;

    EQP_CHECK(eqp_array_create(&m->before, stage->nown, sizeof *m->before));
    for (int i = 0; i < 5; i++) {
        EQP_CHECK(eqp_array_create(column[i], 3 * network->n, sizeof(double)));
    }
    m->n = network->n;
    for (int64_t i = 0; i < m->n; i++) {
        memcpy(m->x0 + 3 * i, network->node[i].x, 3 * sizeof(double));
        memcpy(m->v0 + 3 * i, network->node[i].v, 3 * sizeof(double));
        dd_step_guess(&sim->stepper, 1, m->v0 + 3 * i, network->node[i].last_v, m->guess + 3 * i);
    }
    for (int64_t own = 0; own < stage->nown; own++) {
        m->before[own] = dd_stage_segment(stage, stage->own_local[own]);
    }
    return EQP_OK;
}

int dd_motion_begin(dd_simulation *sim, dd_motion *motion)
{
    *motion = (dd_motion){.stepper = sim->stepper};
    sim->failed = sim->failed == EQP_OK ? sim->stage.code : sim->failed;
    sim->failed = sim->failed == EQP_OK ? create(sim, motion) : sim->failed;
    EQP_CHECK(dd_stepper_begin(&sim->stepper, sim->fastest));
    dd_step_predict(motion->n, motion->x0, motion->guess, sim->stepper.dt, motion->x1);
    return EQP_OK;
}

void dd_motion_place(dd_simulation *sim, const dd_motion *motion)
{
    for (int64_t i = 0; i < motion->n; i++) {
        memcpy(sim->domain.network.node[i].x, motion->x1 + 3 * i, 3 * sizeof(double));
    }
}

/* The stage has the positions of the last evaluation. */
static void add_strain(const dd_simulation *sim, dd_motion *m)
{
    const double *edge = sim->domain.edge;

    memset(m->strain, 0, sizeof m->strain);
    for (int64_t own = 0; own < sim->stage.nown; own++) {
        const dd_segment after = dd_stage_segment(&sim->stage, sim->stage.own_local[own]);
        dd_strain_sweep(&m->before[own], &after, edge[0] * edge[1] * edge[2], m->strain);
    }
}

int dd_motion_judge(dd_simulation *sim, dd_motion *m, dd_verdict *verdict)
{
    const double dt = sim->stepper.dt;
    double low[2];

    for (int64_t i = 0; i < m->n; i++) {
        memcpy(m->v1 + 3 * i, sim->domain.network.node[i].v, 3 * sizeof(double));
    }
    low[0] = -dd_step_error(m->n, m->x0, m->v0, m->x1, m->v1, dt);
    low[1] = -dd_step_way(m->n, m->v0, m->v1, dt);
    if (sim->failed == EQP_OK) {
        add_strain(sim, m);
    }
    EQP_CHECK(eqp_meet(sim->comm, sim->failed, 2, low, 6, m->strain));
    EQP_CHECK(dd_stepper_judge(&sim->stepper, -low[0], -low[1], verdict));
    if (*verdict == DD_STEP_CORRECT) {
        dd_step_correct(m->n, m->x0, m->v0, m->v1, dt, m->x1);
    } else if (*verdict == DD_STEP_RETRY) {
        dd_step_predict(m->n, m->x0, m->guess, sim->stepper.dt, m->x1);
    }
    return EQP_OK;
}

void dd_motion_end(dd_simulation *sim, dd_motion *m, int code, double strain[6])
{
    dd_node *node = sim->domain.network.node;

    for (int64_t i = 0; i < m->n && code == EQP_OK; i++) {
        memcpy(node[i].last_v, m->v0 + 3 * i, 3 * sizeof(double));
    }
    for (int64_t i = 0; i < m->n && code == EQP_ERR_STOPPED; i++) {
        memcpy(node[i].x, m->x0 + 3 * i, 3 * sizeof(double));
    }
    if (code == EQP_OK) {
        memcpy(strain, m->strain, sizeof m->strain);
    } else if (code == EQP_ERR_STOPPED) {
        sim->stepper = m->stepper;
    }
    free(m->x0);
    free(m->v0);
    free(m->x1);
    free(m->v1);
    free(m->guess);
    free(m->before);
}
