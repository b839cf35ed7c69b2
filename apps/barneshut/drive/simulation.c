/* SPDX-License-Identifier: BSD-3-Clause */
#include "step.h"

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

/* The particles have moved: bring them home and grow the tree. */
static int prepare(bh_simulation *sim, bh_ledger *ledger)
{
    int code;

    EQP_TRY(bh_step_settle(sim, ledger));
    if (ledger->settled.box_changed) {
        EQP_TRY(follow_map(sim, ledger));
        EQP_TRY(bh_domain_grow(&sim->domain));
    }
done:
    return code;
}

static bh_rank_row row_of(const bh_simulation *sim, const bh_ledger *ledger)
{
    const bh_evaluated *e = &ledger->evaluated;
    const double pairs = (double)e->counts.of[BH_KIND_PAIR], cells = (double)e->counts.of[BH_KIND_CELL];
    const int64_t bytes = bh_phases_bytes(e->phase) + e->handed.bytes_sent;

    return (bh_rank_row){.common = {.load = e->seconds,
                                    .particles = (double)sim->domain.particles.n,
                                    .targets = (double)e->targets,
                                    .interactions = pairs + cells,
                                    .helped = (double)e->handed.helped,
                                    .ghosts = (double)e->ghosts,
                                    .bytes_sent = (double)(bytes + ledger->settled.bytes + ledger->map_bytes),
                                    .migrated = (double)ledger->settled.migrated,
                                    .exchange_seconds = fmax(e->all_seconds - e->seconds, 0.0),
                                    .balance_seconds = ledger->balance_seconds},
                         .pairs = pairs,
                         .cells = cells};
}

static int add_sums(bh_simulation *sim, bh_sums *sums)
{
    const bh_particles *p = &sim->domain.particles;
    double values[BH_SUMS_DOUBLES];
    int code;

    bh_sums_make(p->n, p->m, p->x, p->y, p->z, p->vx, p->vy, p->vz, p->ax, p->ay, p->az, p->pot, sums);
    memcpy(values, sums, sizeof values);
    EQP_TRY(eqp_sum_double(sim->comm, BH_SUMS_DOUBLES, values));
    memcpy(sums, values, sizeof values);
done:
    return code;
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
int bh_step_conclude(bh_simulation *sim, const bh_ledger *ledger, eqp_message *message)
{
    bh_step *now = &sim->now;
    bh_rank_row mine = row_of(sim, ledger);
    const eqp_work work = {.row = &mine.common,
                           .row_bytes = sizeof mine,
                           .rows = sim->row,
                           .count = ledger->evaluated.counts.of,
                           .timings = sim->evaluator.timings};
    double pairs = 0, cells = 0;
    int code;

    EQP_TRY(add_sums(sim, &now->sums));
    EQP_TRY(check_finite(now, message)); /* the sums are the same on all ranks */
    EQP_TRY(eqp_balancer_record(sim->balancer, &work, &now->common));
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
int bh_step_forces(bh_simulation *sim, bh_ledger *ledger)
{
    bh_survey survey = {.owners = eqp_balancer_survey(sim->balancer)};
    const int code = bh_evaluate(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer),
                                 survey.owners != NULL ? &survey : NULL, &ledger->evaluated);

    bh_survey_free(&survey);
    return code;
}

/* Forces while those that the particles have are kept aside. They come back where `back` says so, and where a signal
 * has ended the evaluation. */
int bh_step_forces_beside(bh_simulation *sim, bh_ledger *ledger, bool back)
{
    bh_particles *p = &sim->domain.particles;
    double *const field[] = {p->ax, p->ay, p->az, p->pot};
    double *kept = NULL;
    int code = eqp_agree(sim->comm, eqp_array_create(&kept, 4 * p->n, sizeof *kept), NULL);

    for (int f = 0; f < 4 && p->n > 0 && code == EQP_OK; f++) {
        memcpy(kept + f * p->n, field[f], (size_t)p->n * sizeof *kept);
    }
    if (code == EQP_OK) {
        code = bh_step_forces(sim, ledger);
        back = code == EQP_OK ? back : code == EQP_ERR_STOPPED;
        for (int f = 0; f < 4 && p->n > 0 && back; f++) {
            memcpy(field[f], kept + f * p->n, (size_t)p->n * sizeof *kept);
        }
    }
    free(kept);
    return code;
}

/* The particles have moved. A signal that ends the evaluation leaves the step to the run that goes on: half a kick is
 * owed then, and forces by the relative criterion need those of the step before. */
static int compute_step(bh_simulation *sim, bh_ledger *ledger)
{
    int code = sim->settings->opening == 1 ? bh_step_forces_beside(sim, ledger, false) : bh_step_forces(sim, ledger);

    if (code == EQP_ERR_STOPPED) {
        sim->kick = 0.5 * sim->dt;
        sim->now.common.step++;
        sim->now.common.time += sim->dt;
    }
    return code;
}

int bh_simulation_step(bh_simulation *sim, eqp_message *message)
{
    bh_particles *p = &sim->domain.particles;
    bh_ledger ledger = {0};
    int code;

    EQP_TRY(eqp_balancer_due(sim->balancer) ? bh_step_make_map(sim, &ledger, message) : EQP_OK);
    bh_kick(p->n, 0.5 * sim->dt, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    bh_drift(p->n, sim->dt, p->vx, p->vy, p->vz, p->x, p->y, p->z);
    EQP_TRY(prepare(sim, &ledger));
    EQP_TRY(compute_step(sim, &ledger));
    bh_kick(p->n, 0.5 * sim->dt, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    sim->now.common.step++;
    sim->now.common.time += sim->dt;
    EQP_TRY(bh_step_conclude(sim, &ledger, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: step %lld: %s", (long long)sim->now.common.step + 1, eqp_error_text(code));
    }
    return code;
}
