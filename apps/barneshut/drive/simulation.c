/* SPDX-License-Identifier: BSD-3-Clause */
#include "step.h"

#include "../../report/run_record.h"

#include <shell/signals.h>

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* A new map for the particles where they are; they follow it when they settle next. */
int bh_step_make_map(bh_simulation *sim, bh_ledger *ledger, eqp_message *message)
{
    const double start = eqp_cpu_seconds();
    eqp_advice advice;
    int code;

    sim->problem.bytes = 0;
    EQP_TRY(eqp_balancer_advise(sim->balancer, sim->settings->run.steps - sim->now.common.step, &advice, message));
    if (advice.changed) {
        EQP_TRY(bh_domain_place(&sim->domain, advice.placement));
    }
    sim->evaluator.plan = *eqp_balancer_plan(sim->balancer);
    ledger->map_bytes = advice.bytes + sim->problem.bytes;
done:
    ledger->balance_seconds = eqp_cpu_seconds_since(start);
    return code;
}

int bh_step_settle(bh_simulation *sim, bh_ledger *ledger)
{
    int code = bh_domain_settle(&sim->domain, &ledger->settled);

    return code == EQP_OK ? bh_domain_grow(&sim->domain) : code;
}

/* The particles have moved: brings them home and grows the tree. code: of this rank so far; returns the same. */
static int prepare(bh_simulation *sim, bh_ledger *ledger, int code)
{
    code = bh_domain_settle_own(&sim->domain, sim->bound, &ledger->settled, code);
    code = bh_domain_grow_own(&sim->domain, code);
    if (ledger->settled.box_changed) { /* on all ranks */
        EQP_TRY(eqp_agree(sim->comm, code, NULL));
        EQP_TRY(follow_map(sim, ledger));
        code = bh_domain_grow_own(&sim->domain, EQP_OK);
    }
done:
    return code;
}

static bh_rank_row row_of(const bh_simulation *sim, const bh_ledger *ledger)
{
    const bh_evaluated *e = &ledger->evaluated;
    const double pairs = (double)e->counts.of[BH_KIND_PAIR], cells = (double)e->counts.of[BH_KIND_CELL];
    const int64_t bytes = bh_phases_bytes(e->phase) + e->handed.bytes_sent + sim->domain.top.bytes_sent;
    bh_rank_row row = {.common = {.load = e->seconds,
                                  .particles = (double)sim->domain.particles.n,
                                  .targets = (double)e->targets,
                                  .interactions = pairs + cells,
                                  .helped = (double)e->handed.helped,
                                  .ghosts = (double)e->ghosts,
                                  .bytes_sent = (double)(bytes + ledger->settled.bytes + ledger->map_bytes),
                                  .bytes_moved = (double)ledger->settled.bytes,
                                  .migrated = (double)ledger->settled.migrated,
                                  .exchange_seconds = fmax(e->all_seconds - e->seconds, 0.0),
                                  .balance_seconds = ledger->balance_seconds,
                                  .busy_seconds = ledger->begin > 0 ? eqp_busy_seconds() - ledger->begin : 0.0},
                       .pairs = pairs,
                       .cells = cells};

    app_row_exchanged(&row.common, BH_PHASES, e->phase);
    app_row_exchanged(&row.common, 1, &sim->domain.top);
    return row;
}

/* Of this rank. kick: that the velocities lack. */
static void make_sums(const bh_simulation *sim, double kick, bh_sums *sums)
{
    const bh_particles *p = &sim->domain.particles;

    bh_sums_make(p->n, p->m, p->x, p->y, p->z, p->vx, p->vy, p->vz, p->ax, p->ay, p->az, p->pot, kick, NULL, sums);
}

/* Of this rank: where its particles are after the next drift, and minus the signal that it has had. */
static void make_lows(const bh_simulation *sim, double kick, double low[7])
{
    const bh_particles *p = &sim->domain.particles;
    const double *const at[] = {p->x, p->y, p->z}, *const v[] = {p->vx, p->vy, p->vz},
                        *const a[] = {p->ax, p->ay, p->az};

    const bh_rungs one = {.n = 1, .dt = sim->dt};

    bh_rungs_bounds(&one, 1, kick, p->n, at, v, a, NULL, low);
    low[6] = -app_signals_pending();
}

/* Numbers that have left the range of a double make everything after them worthless. */
static int check_finite(const bh_step *now, eqp_message *message)
{
    const bh_sums *sums = &now->sums;

    if (isfinite(sums->kinetic) && isfinite(sums->potential) && isfinite(sums->virial)) {
        return EQP_OK;
    }
    eqp_message_set(message,
                    "barneshut: step %lld: energies overflow: masses, velocities, G or dt are out of proportion",
                    (long long)now->common.step);
    return EQP_ERR_DATA;
}

/* What the step has shown, to the balancer and into the record. */
int bh_step_conclude(bh_simulation *sim, const bh_ledger *ledger, double kick, int code, eqp_message *message)
{
    bh_step *now = &sim->now;
    bh_rank_row mine;
    double sum[BH_SUMS_DOUBLES], low[7], pairs = 0, cells = 0;
    const eqp_work work = {.row = &mine.common,
                           .row_bytes = sizeof mine,
                           .rows = sim->row,
                           .count = ledger->evaluated.counts.of,
                           .timings = sim->evaluator.timings,
                           .code = code,
                           .nsums = BH_SUMS_DOUBLES,
                           .sum = sum,
                           .nlows = 7,
                           .low = low};
    bh_sums sums;

    make_sums(sim, kick, &sums);
    memcpy(sum, &sums, sizeof sum);
    make_lows(sim, kick, low);
    mine = row_of(sim, ledger);
    EQP_TRY(eqp_balancer_record(sim->balancer, &work, &now->common));
    memcpy(&now->sums, sum, sizeof sum);
    memcpy(sim->bound, low, sizeof sim->bound);
    sim->signal = (int)-low[6];
    EQP_TRY(check_finite(now, message)); /* the sums are the same on all ranks */
    for (int r = 0; r < sim->domain.nranks; r++) {
        pairs += sim->row[r].pairs;
        cells += sim->row[r].cells;
    }
    now->pairs = (int64_t)pairs - sim->input.total; /* a particle and itself are no interaction */
    now->cells = (int64_t)cells;
    now->common.interactions = now->pairs + now->cells;
done:
    return code;
}

/* With a survey, where the balancer wants one for the next map. */
int bh_step_forces(bh_simulation *sim, bh_ledger *ledger, int code)
{
    bh_survey survey = {.owners = eqp_balancer_survey(sim->balancer)};

    code = bh_evaluate_own(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer),
                           survey.owners != NULL ? &survey : NULL, NULL, code, &ledger->evaluated);
    bh_survey_free(&survey);
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

/* All ranks hear of failures when the step is concluded; until then those that have failed go along. */
static int take_step(bh_simulation *sim, bh_ledger *ledger, int code, eqp_message *message)
{
    bh_particles *p = &sim->domain.particles;
    const double half = 0.5 * sim->dt;
    const bool keeps = sim->settings->opening == 1; /* forces by the relative criterion need those of the step before */
    double *kept = NULL;

    bh_kick(p->n, half, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    bh_drift(p->n, sim->dt, p->vx, p->vy, p->vz, p->x, p->y, p->z);
    code = prepare(sim, ledger, code);
    code = code == EQP_OK && keeps ? bh_forces_keep(p, &kept) : code;
    code = bh_step_forces(sim, ledger, code);
    sim->now.common.step++;
    sim->now.common.time += sim->dt;
    code = bh_step_conclude(sim, ledger, half, code, message);
    if (code == EQP_OK) {
        bh_kick(p->n, half, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    } else if (code == EQP_ERR_STOPPED) {
        /* The step is left to the run that goes on: half a kick is owed then. */
        sim->kick = half;
        if (kept != NULL) {
            bh_forces_swap(p, kept);
        } else if (keeps) {
            sim->failed = EQP_ERR_MEMORY;
        }
    } else {
        sim->now.common.step--;
        sim->now.common.time -= sim->dt;
    }
    free(kept);
    return code;
}

int bh_simulation_step(bh_simulation *sim, eqp_message *message)
{
    bh_ledger ledger = {.begin = eqp_busy_seconds()};
    int code = sim->failed;

    if (eqp_balancer_due(sim->balancer)) {
        code = eqp_agree(sim->comm, code, NULL);
        EQP_TRY(code == EQP_OK ? bh_step_make_map(sim, &ledger, message) : code);
        ledger.begin = eqp_busy_seconds();
    }
    code = take_step(sim, &ledger, code, message);
done:
    if (code != EQP_OK) { /* on all ranks: one that failed before the step, or at its end, tells how */
        const int told = eqp_agree(sim->comm, sim->failed != EQP_OK ? sim->failed : EQP_ERR_REMOTE, message);
        code = told == EQP_ERR_REMOTE ? code : told;
    }
    sim->failed = EQP_OK;
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: step %lld: %s", (long long)sim->now.common.step + 1, eqp_error_text(code));
    }
    return code;
}
