/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of block time steps: kick, drift, forces of those whose step ends, again and again until all steps end. One
 * rung makes one round of it. */
#include "step.h"
#include "forces/targets.h"

#include "../../report/run_record.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A tree drifts where fewer than this part of all particles are active, and while fewer than that have left their
 * leaves. Up to a quarter, what a drifted tree saves shows beside the forces. */
#define DRIFT_ACTIVE 0.25
#define DRIFT_LOOSE 0.0625

/* Homes follow the map: each group to the rank that computes it (a shared one to a rank that shares it). */
static int follow_map(bh_simulation *sim, bh_ledger *ledger)
{
    bh_domain *domain = &sim->domain;
    int *rank_of_group = NULL;
    int code = eqp_array_create(&rank_of_group, domain->ngroups, sizeof *rank_of_group);

    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        rank_of_group[g] = eqp_map_own_rank(eqp_balancer_map(sim->balancer), domain->tag[g]);
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(bh_domain_rehome(domain, rank_of_group));
    EQP_TRY(bh_domain_settle(domain, &ledger->settled));
done:
    free(rank_of_group);
    return code;
}

/* The particles have moved: brings them home and grows the tree. code: of this rank so far; returns the same. */
static int prepare(bh_simulation *sim, bh_ledger *ledger, int code)
{
    ledger->settled.box_changed = false;
    sim->domain.drifted = false;
    code = bh_domain_settle_own(&sim->domain, sim->bounded ? sim->bound : NULL, &ledger->settled, code);
    code = bh_domain_grow_own(&sim->domain, code);
    if (ledger->settled.box_changed) { /* on all ranks */
        EQP_TRY(eqp_agree(sim->comm, code, NULL));
        EQP_TRY(follow_map(sim, ledger));
        code = bh_domain_grow_own(&sim->domain, EQP_OK);
    }
done:
    return code;
}

static int64_t end_of(const bh_simulation *sim)
{
    return bh_rung_ticks(&sim->rungs, 0);
}

/* It was a turn of some phase. */
static void add_turn(const bh_simulation *sim, bh_ledger *ledger, const bh_evaluated *one)
{
    const int phase = bh_rungs_phase(&sim->rungs, sim->tick);
    eqp_rank_row row = {.ghosts = (double)one->ghosts};

    app_row_exchanged(&row, BH_PHASES, one->phase);
    app_row_exchanged(&row, 1, &sim->domain.top);
    ledger->turns[phase]++;
    ledger->load[phase] += one->seconds;
    bh_counts_add(&ledger->counts[phase], &one->counts);
    ledger->targets[phase] = 0;
    for (int r = phase; r < sim->rungs.n; r++) {
        ledger->targets[phase] += (int64_t)sim->on_rung[r];
    }
    ledger->last_turn[phase] = (bh_turn){(double)(one->counts.of[BH_KIND_PAIR] + one->counts.of[BH_KIND_CELL]),
                                         row.ghosts,
                                         row.last_messages_sent,
                                         row.last_messages_received,
                                         row.last_bytes_sent,
                                         row.last_bytes_received};
}

/* One evaluation more. */
static void add_evaluated(const bh_simulation *sim, bh_ledger *ledger, const bh_evaluated *one)
{
    bh_evaluated *all = &ledger->evaluated;

    all->seconds += one->seconds;
    all->all_seconds += one->all_seconds;
    bh_counts_add(&all->counts, &one->counts);
    bh_counts_add(&all->early, &one->early);
    all->targets += one->targets;
    all->ghosts += one->ghosts;
    all->handed.helped += one->handed.helped;
    all->handed.bytes_sent += one->handed.bytes_sent;
    memcpy(all->phase, one->phase, sizeof all->phase);
    ledger->bytes += bh_phases_bytes(one->phase) + one->handed.bytes_sent + sim->domain.top.bytes_sent;
    ledger->evaluations++;
    add_turn(sim, ledger, one);
    for (int r = 0; r < sim->rungs.n; r++) {
        ledger->active[r] += bh_rung_meets(&sim->rungs, r, sim->tick) ? (int64_t)sim->on_rung[r] : 0;
    }
}

int bh_step_forces(bh_simulation *sim, bh_ledger *ledger, int code)
{
    const int phase = bh_rungs_phase(&sim->rungs, sim->tick);
    /* With rungs a survey takes lists of phases that the step has not made: it is no by-product. */
    bh_survey survey = {.owners = sim->rungs.n == 1 ? eqp_balancer_survey(sim->balancer) : NULL};
    bool *active = NULL;
    bh_evaluated one;

    code = code == EQP_OK && phase > 0 ? bh_targets_mark(&sim->domain.particles, phase, &active) : code;
    code = bh_evaluate_own(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer),
                           survey.owners != NULL ? &survey : NULL, phase, active, code, &one);
    add_evaluated(sim, ledger, &one);
    bh_survey_free(&survey);
    free(active);
    return code;
}

/* Forces that nobody needs but for what their evaluation shows: the particles keep those that they have. */
int bh_step_forces_beside(bh_simulation *sim, bh_ledger *ledger)
{
    bh_particles *p = &sim->domain.particles;
    double *kept = NULL;
    int code;

    EQP_TRY(eqp_agree(sim->comm, bh_forces_keep(p, &kept), NULL));
    code = eqp_agree(sim->comm, bh_step_forces(sim, ledger, EQP_OK), NULL);
    bh_forces_swap(p, kept);
done:
    free(kept);
    return code;
}

void bh_step_look_ahead(const bh_simulation *sim, double kick, double low[6], double *on_rung)
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

void bh_step_kick(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;
    const double *const a[] = {p->ax, p->ay, p->az};
    double *const v[] = {p->vx, p->vy, p->vz};

    bh_rungs_kick(&sim->rungs, sim->tick, p->n, a, p->rung, v);
}

void bh_step_choose(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;
    const double *const a[] = {p->ax, p->ay, p->az};

    if (p->rungs) {
        bh_rungs_choose(&sim->rungs, sim->tick, p->n, a, p->rung);
    }
}

void bh_step_advance(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;
    const int deepest = bh_rungs_deepest(&sim->rungs, sim->on_rung);

    bh_step_choose(sim);
    bh_step_kick(sim);
    bh_drift(p->n, ldexp(sim->rungs.dt, -deepest), p->vx, p->vy, p->vz, p->x, p->y, p->z);
    sim->tick += bh_rung_ticks(&sim->rungs, deepest);
}

/* Whether homes, groups and the tree's cells can stay what they are for the forces of a tick. With all active, or many,
 * they are made anew, which costs less than forces; and where many of all particles have left their leaves, as nothing
 * acts as one body there. loose: such particles of all ranks at the tick before. All of it is the same on any ranks. */
static bool may_drift(const bh_simulation *sim, int64_t tick, double loose)
{
    const double all = (double)sim->input.total;
    double active = 0;

    for (int r = bh_rungs_phase(&sim->rungs, tick); r < sim->rungs.n; r++) {
        active += sim->on_rung[r];
    }
    return !sim->domain.tree.bare && active < DRIFT_ACTIVE * all && loose < DRIFT_LOOSE * all;
}

/* From the forces of one tick to the places of the next one, and whether the tree may drift there. All ranks hear of
 * failures, and stay where they are then. Bounds are for new cells: nobody looks for them where the tree will drift if
 * rungs stay what they are; if it does not, the box is found as without bounds. */
static int turn(bh_simulation *sim, int code, bool *drifts)
{
    const int nrungs = sim->rungs.n, deepest = bh_rungs_deepest(&sim->rungs, sim->on_rung);
    const bool bounds = !may_drift(sim, sim->tick + bh_rung_ticks(&sim->rungs, deepest), 0.0);
    double low[6], sum[BH_RUNGS_MAX + 1];

    bh_step_look_ahead(sim, 0.5 * sim->rungs.dt, bounds ? low : NULL, sum);
    sum[nrungs] = (double)sim->domain.loose;
    code = eqp_meet(sim->comm, code, bounds ? 6 : 0, low, nrungs + 1, sum);
    if (code != EQP_OK) {
        return code;
    }
    sim->bounded = bounds;
    memcpy(sim->bound, low, bounds ? sizeof low : 0);
    memcpy(sim->on_rung, sum, (size_t)nrungs * sizeof *sum);
    bh_step_kick(sim);
    bh_step_advance(sim);
    *drifts = may_drift(sim, sim->tick, sum[nrungs]);
    return EQP_OK;
}

int bh_step_cycle(bh_simulation *sim, bh_ledger *ledger, bool placed, int code)
{
    const bool keeps = sim->settings->opening == 1; /* forces by the relative criterion need those of the step before */
    bool drifts = false;                            /* first homes may follow another map */

    for (;; placed = false) {
        code = placed ? code : drifts ? bh_domain_drift_own(&sim->domain, code) : prepare(sim, ledger, code);
        free(sim->kept);
        sim->kept = NULL;
        code = code == EQP_OK && keeps ? bh_forces_keep(&sim->domain.particles, &sim->kept) : code;
        code = bh_step_forces(sim, ledger, code);
        if (sim->tick == end_of(sim)) {
            return code;
        }
        code = turn(sim, code, &drifts);
        if (code != EQP_OK) {
            return code;
        }
    }
}
