/* SPDX-License-Identifier: BSD-3-Clause */
/* A step: kick, drift, tree, forces, kick. With rungs, particles with shorter steps repeat this until all steps end
 * together. */
#include "simulation.h"

#include <math.h>
#include <stdlib.h>

void bh_step_kick(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;
    const double *const a[] = {p->ax, p->ay, p->az};
    double *const v[] = {p->vx, p->vy, p->vz};

    bh_rungs_kick(&sim->rungs, sim->tick, p->n, a, p->rung, v);
}

void bh_step_choose_rungs(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;
    const double *const a[] = {p->ax, p->ay, p->az};

    if (p->rungs) {
        bh_rungs_choose(&sim->rungs, sim->tick, p->n, a, p->rung);
    }
}

/* All particles drift to the next tick at which some step ends. */
static void drift(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;
    const int deepest = bh_rungs_deepest(&sim->rungs, sim->on_rung);

    bh_drift(p->n, ldexp(sim->rungs.dt, -deepest), p->vx, p->vy, p->vz, p->x, p->y, p->z);
    sim->tick += bh_rung_ticks(&sim->rungs, deepest);
}

/* Moves every particle to its home and builds the tree. */
static void build_tree(bh_simulation *sim)
{
    bh_domain *domain = &sim->domain;
    bh_migration *migration = &sim->costs.migration;

    migration->box_changed = false;
    domain->drifted = false;
    sim->code = bh_domain_migrate(domain, sim->bounded ? sim->bound : NULL, migration, sim->code);
    sim->code = bh_domain_build_tree(domain, sim->code);
    if (migration->box_changed) { /* on all ranks: homes no longer match the map */
        sim->code = eqp_agree(sim->comm, sim->code, NULL);
        sim->code = sim->code == EQP_OK ? bh_balance_follow(sim) : sim->code;
        sim->code = sim->code == EQP_OK ? bh_domain_build_tree(domain, EQP_OK) : sim->code;
    }
}

/* Forces by the relative criterion depend on those of the previous tick, which a stopped run must be able to write. */
static void keep_forces(bh_simulation *sim)
{
    free(sim->kept);
    sim->kept = NULL;
    if (sim->code == EQP_OK && sim->settings->opening == 1) {
        sim->code = bh_forces_keep(&sim->domain.particles, &sim->kept);
    }
}

void bh_step_forces(bh_simulation *sim)
{
    const int phase = bh_rungs_phase(&sim->rungs, sim->tick);
    /* With rungs a survey needs lists that the step does not make. */
    eqp_survey *survey = sim->rungs.n == 1 ? eqp_balancer_survey(sim->balancer) : NULL;
    bh_evaluated one;

    sim->code =
        bh_evaluate(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer), survey, phase, sim->code, &one);
    bh_balance_add(sim, &one);
}

void bh_step_finish(bh_simulation *sim)
{
    for (;;) {
        keep_forces(sim);
        bh_step_forces(sim);
        if (sim->tick == bh_rung_ticks(&sim->rungs, 0)) {
            return;
        }
        bh_agree_on_rungs(sim);
        if (sim->code != EQP_OK) { /* on all ranks */
            return;
        }
        bh_step_kick(sim);
        bh_step_choose_rungs(sim);
        bh_step_kick(sim);
        drift(sim);
        if (bh_tree_may_drift(sim)) {
            sim->code = bh_domain_drift_tree(&sim->domain, sim->code);
        } else {
            build_tree(sim);
        }
    }
}

int bh_simulation_step(bh_simulation *sim, eqp_message *message)
{
    int code;

    sim->code = sim->failed;
    EQP_TRY(bh_balance_ask(sim, message));
    sim->tick = 0;
    bh_step_kick(sim);
    drift(sim);
    build_tree(sim);
    bh_step_finish(sim);
    EQP_TRY(bh_agree_on_record(sim, message));
    bh_step_kick(sim);
    bh_step_choose_rungs(sim);
done:
    code = code == EQP_OK ? code : bh_agree_on_failure(sim, code, message);
    sim->failed = EQP_OK;
    return code;
}
