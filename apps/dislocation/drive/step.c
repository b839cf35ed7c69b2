/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "balance/balance.h"

/* A speed counts as zero if the node moves less than this share of rTol in a step (ParaDiS' splitMultiNodeAlpha). */
#define NOISE 1e-3

int dd_forces(dd_simulation *sim)
{
    memcpy(sim->evaluator.stress, sim->loading.stress, sizeof sim->evaluator.stress);
    EQP_CHECK(dd_evaluate(&sim->evaluator, &sim->domain, &sim->halo, &sim->stage, sim->failed));
    dd_work_add(&sim->work, &sim->evaluator);
    sim->failed = dd_motion_velocities(sim);
    return EQP_OK;
}

/* Time integration: nodes move with their velocities; the time step shrinks until the error is small enough. */
static int move_nodes(dd_simulation *sim, double strain[6])
{
    dd_verdict verdict = DD_STEP_RETRY;
    dd_motion motion;
    int code;

    EQP_TRY(dd_motion_begin(sim, &motion));
    while (verdict != DD_STEP_ACCEPT) {
        dd_motion_place(sim, &motion);
        EQP_TRY(dd_forces(sim));
        EQP_TRY(dd_motion_judge(sim, &motion, &verdict));
    }
    sim->now.dt = sim->stepper.done;
done:
    dd_motion_end(sim, &motion, code, strain);
    return code;
}

static void fold_into_box(dd_simulation *sim)
{
    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        dd_domain_fold(&sim->domain, sim->domain.network.node[i].x);
    }
}

/* Nodes split, screws cross slip, segments collide, lines are remeshed, in this order (see topology.h). strain: gets
 * the topology's share. */
static int change_topology(dd_simulation *sim, double strain[6], eqp_message *message)
{
    const dd_mover mover =
        dd_topology_mover(&sim->mobility, &sim->evaluator.medium, NOISE * sim->rules.r_tol / sim->now.dt);
    const bool split = (sim->now.common.step + 1) % sim->input.control.split_every == 0;
    const double *edge = sim->domain.edge;
    double area[9];
    dd_closes closes = {0};
    int code;

    sim->failed = dd_close_find(&sim->domain, &sim->stage, sim->rules.rann, &closes);
    dd_unplan(sim); /* the topology needs the memory */
    fold_into_box(sim);
    EQP_TRY(dd_topology_step(&sim->domain, &sim->failed, &sim->rules, &mover, split, sim->now.common.step, &closes,
                             &sim->now.topology, area, message));
    dd_strain_slip(area, edge[0] * edge[1] * edge[2], strain);
done:
    dd_closes_free(&closes);
    return code;
}

/* Forces on the new network for the next step. After a signal the step counts, and a restart computes the forces. */
static int complete(dd_simulation *sim)
{
    int code;

    dd_balance_follow(sim);
    EQP_TRY(dd_plan(sim));
    EQP_TRY(dd_forces(sim));
done:
    if (code == EQP_OK || code == EQP_ERR_STOPPED) {
        sim->now.common.step++;
        sim->now.common.time += sim->now.dt;
    }
    return code;
}

/* Gives all ranks the message of the rank that failed. */
static int explain(dd_simulation *sim, int code, eqp_message *message)
{
    const int told = eqp_agree(sim->comm, sim->failed != EQP_OK ? sim->failed : EQP_ERR_REMOTE, message);

    sim->failed = EQP_OK;
    if (message->text[0] == '\0') {
        eqp_message_set(message, "dislocation: step %lld: %s", (long long)sim->now.common.step + 1,
                        eqp_error_text(told == EQP_ERR_REMOTE ? code : told));
    }
    return told == EQP_ERR_REMOTE ? code : told;
}

int dd_simulation_step(dd_simulation *sim, eqp_message *message)
{
    double strain[6];
    int code;

    EQP_TRY(dd_balance(sim, message));
    EQP_TRY(move_nodes(sim, strain));
    EQP_TRY(change_topology(sim, strain, message));
    dd_loading_advance(&sim->loading, sim->now.dt, strain);
    EQP_TRY(complete(sim));
    EQP_TRY(dd_balance_record(sim));
done:
    sim->owed = code == EQP_ERR_STOPPED;
    return code == EQP_OK ? code : explain(sim, code, message);
}

int dd_simulation_drift(dd_simulation *sim, eqp_message *message)
{
    const dd_work work = sim->work; /* of the step that asks */
    double strain[6], low;
    int code;

    EQP_TRY(move_nodes(sim, strain));
    dd_loading_advance(&sim->loading, sim->now.dt, strain);
    fold_into_box(sim);
    EQP_TRY(dd_plan(sim));
    EQP_TRY(dd_forces(sim));
    low = -dd_fastest(sim);
    EQP_TRY(eqp_meet(sim->comm, sim->failed, 1, &low, 0, NULL));
    sim->fastest = -low;
done:
    sim->work = work;
    sim->failed = EQP_OK; /* all ranks have it in code */
    eqp_timings_clear(sim->evaluator.timings);
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: moving on: %s", eqp_error_text(code));
    }
    return code;
}
