/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the ranks of a step meet: between its forces, when it is recorded, and when it has failed. */
#include "step.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* A tree drifts while less than this part of all particles is active, and less than that part has left its leaves.
 * Beyond a quarter the forces take so long that building a tree no longer shows. */
#define DRIFT_ACTIVE 0.25
#define DRIFT_LOOSE 0.0625

void bh_predict(const bh_simulation *sim, double kick, double low[6], double *on_rung)
{
    const bh_particles *p = &sim->domain.particles;
    const double *const at[] = {p->x, p->y, p->z}, *const v[] = {p->vx, p->vy, p->vz},
                        *const a[] = {p->ax, p->ay, p->az};

    if (low != NULL) {
        bh_rungs_bounds(&sim->rungs, sim->tick, kick, p->n, at, v, a, p->rung, low);
    }
    if (p->rungs) {
        bh_rungs_count(&sim->rungs, sim->tick, p->n, a, p->rung, on_rung);
    }
}

/* With many active particles the tree is built anew, which costs less than their forces; and where many have left their
 * leaves, as loose cells must be opened. */
static bool may_drift(const bh_simulation *sim, int64_t tick, double loose)
{
    const double all = (double)sim->input.total;
    double active = 0;

    for (int r = bh_rungs_phase(&sim->rungs, tick); r < sim->rungs.n; r++) {
        active += sim->on_rung[r];
    }
    return !sim->domain.tree.bare && active < DRIFT_ACTIVE * all && loose < DRIFT_LOOSE * all;
}

bool bh_tree_may_drift(const bh_simulation *sim)
{
    return may_drift(sim, sim->tick, sim->loose);
}

/* Bounds are for a new tree: they are not found if the tree will drift with the rungs of now. If the new rungs do not
 * let it drift, the domain finds the box itself. */
void bh_agree_on_rungs(bh_simulation *sim)
{
    const int nrungs = sim->rungs.n, deepest = bh_rungs_deepest(&sim->rungs, sim->on_rung);
    const bool bounds = !may_drift(sim, sim->tick + bh_rung_ticks(&sim->rungs, deepest), 0.0);
    double low[6], sum[BH_RUNGS_MAX + 1];

    bh_predict(sim, 0.5 * sim->rungs.dt, bounds ? low : NULL, sum);
    sum[nrungs] = (double)sim->domain.loose;
    sim->code = eqp_meet(sim->comm, sim->code, bounds ? 6 : 0, low, nrungs + 1, sum);
    if (sim->code == EQP_OK) {
        sim->bounded = bounds;
        memcpy(sim->bound, low, bounds ? sizeof low : 0);
        memcpy(sim->on_rung, sum, (size_t)nrungs * sizeof *sum);
        sim->loose = sum[nrungs];
    }
}

/* A restart completes the step: velocities miss its last kick, and forces are those of the tick before. */
static void leave_step(bh_simulation *sim)
{
    sim->kick = 0.5 * sim->dt;
    if (sim->kept != NULL) {
        bh_forces_swap(&sim->domain.particles, sim->kept);
    } else if (sim->settings->opening == 1) {
        sim->failed = EQP_ERR_MEMORY;
    }
}

int bh_agree_on_record(bh_simulation *sim, eqp_message *message)
{
    eqp_step *now = &sim->now.common;
    const double before = now->time;

    now->step++;
    now->time += sim->dt;
    const int code = bh_balance_record(sim, 0.5 * sim->dt, message);
    if (code == EQP_ERR_STOPPED) {
        leave_step(sim);
    } else if (code != EQP_OK) {
        now->step--;
        now->time = before;
    }
    free(sim->kept);
    sim->kept = NULL;
    return code;
}

int bh_agree_on_failure(bh_simulation *sim, int code, eqp_message *message)
{
    const int told = eqp_agree(sim->comm, sim->failed != EQP_OK ? sim->failed : EQP_ERR_REMOTE, message);

    code = told == EQP_ERR_REMOTE ? code : told;
    if (message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: step %lld: %s", (long long)sim->now.common.step + 1, eqp_error_text(code));
    }
    return code;
}
