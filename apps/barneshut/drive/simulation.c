/* SPDX-License-Identifier: BSD-3-Clause */
#include "step.h"

#include "../../report/run_record.h"

#include <shell/signals.h>

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t steps_left(const bh_simulation *sim)
{
    return sim->settings->run.steps - sim->now.common.step;
}

/* A new map for the particles where they are; they follow it when they settle next. */
int bh_step_make_map(bh_simulation *sim, bh_ledger *ledger, eqp_message *message)
{
    const double start = eqp_cpu_seconds();
    eqp_advice advice;
    int code;

    sim->problem.bytes = 0;
    code = eqp_balancer_advise(sim->balancer, steps_left(sim), &advice, message);
    bh_problem_forget(&sim->problem);
    EQP_TRY(code);
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

static bh_rank_row row_of(const bh_simulation *sim, const bh_ledger *ledger)
{
    const bh_evaluated *e = &ledger->evaluated;
    const double pairs = (double)e->counts.of[BH_KIND_PAIR], cells = (double)e->counts.of[BH_KIND_CELL];
    bh_rank_row row = {.common = {.load = e->seconds,
                                  .particles = (double)sim->domain.particles.n,
                                  .targets = (double)e->targets,
                                  .interactions = pairs + cells,
                                  .helped = (double)e->handed.helped,
                                  .ghosts = (double)e->ghosts / (double)ledger->evaluations,
                                  .bytes_sent = (double)(ledger->bytes + ledger->settled.bytes + ledger->map_bytes),
                                  .bytes_moved = (double)ledger->settled.bytes,
                                  .migrated = (double)ledger->settled.migrated,
                                  .exchange_seconds = fmax(e->all_seconds - e->seconds, 0.0),
                                  .balance_seconds = ledger->balance_seconds,
                                  .busy_seconds = ledger->begin > 0 ? eqp_busy_seconds() - ledger->begin : 0.0},
                       .pairs = pairs,
                       .cells = cells};

    app_row_exchanged(&row.common, BH_PHASES, e->phase);
    app_row_exchanged(&row.common, 1, &sim->domain.top);
    memcpy(row.turn, ledger->last_turn, sizeof row.turn);
    return row;
}

/* Of this rank. kick: that the velocities lack. */
static void make_sums(const bh_simulation *sim, double kick, bh_sums *sums)
{
    const bh_particles *p = &sim->domain.particles;

    bh_sums_make(p->n, p->m, p->x, p->y, p->z, p->vx, p->vy, p->vz, p->ax, p->ay, p->az, p->pot, kick, p->rung, sums);
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

/* Rows as they have travelled, one behind another, go where each has room for the turns of all phases. */
static void spread_rows(int n, bh_rank_row *row, size_t bytes)
{
    for (int r = n - 1; r >= 0; r--) {
        memmove(&row[r], (const char *)row + (size_t)r * bytes, bytes);
        memset((char *)&row[r] + bytes, 0, sizeof *row - bytes);
    }
}

/* A phase from the rows of all ranks. targets: of its last turn; a particle and itself are no interaction. */
static bh_cycle_phase phase_of(int n, const bh_rank_row *row, int phase, int64_t turns, int64_t targets)
{
    bh_turn sum = {0}, most = {0};

    for (int r = 0; r < n; r++) {
        const bh_turn *turn = &row[r].turn[phase];
        sum.interactions += turn->interactions;
        sum.ghosts += turn->ghosts;
        sum.bytes_sent += turn->bytes_sent;
        most.ghosts = fmax(most.ghosts, turn->ghosts);
        most.bytes_sent = fmax(most.bytes_sent, fmax(turn->bytes_sent, turn->bytes_received));
        most.messages_sent = fmax(most.messages_sent, fmax(turn->messages_sent, turn->messages_received));
    }
    return (bh_cycle_phase){.turns = turns,
                            .interactions = (int64_t)sum.interactions - targets,
                            .ghosts_total = (int64_t)sum.ghosts,
                            .ghosts_max = (int64_t)most.ghosts,
                            .bytes_total = (int64_t)sum.bytes_sent,
                            .bytes_max = (int64_t)most.bytes_sent,
                            .messages_max = (int64_t)most.messages_sent};
}

/* What the step has shown, to the balancer and into the record. */
int bh_step_conclude(bh_simulation *sim, const bh_ledger *ledger, double kick, int code, eqp_message *message)
{
    bh_step *now = &sim->now;
    bh_rank_row mine;
    const int nrungs = sim->domain.particles.rungs ? sim->rungs.n : 0;
    double sum[BH_SUMS_DOUBLES + BH_RUNGS_MAX], low[7], pairs = 0, cells = 0;
    const size_t row_bytes = BH_ROW_BYTES + (size_t)nrungs * sizeof(bh_turn);
    const eqp_work work = {.row = &mine.common,
                           .row_bytes = row_bytes,
                           .rows = sim->row,
                           .count = ledger->evaluated.counts.of,
                           .timings = sim->evaluator.timings,
                           .evaluations = nrungs > 0 ? ledger->evaluations : 0,
                           .nphases = nrungs,
                           .phase_load = ledger->load,
                           .phase_count = ledger->counts[0].of,
                           .code = code,
                           .nsums = BH_SUMS_DOUBLES + nrungs,
                           .sum = sum,
                           .nlows = 7,
                           .low = low};
    bh_sums sums;

    make_sums(sim, kick, &sums);
    memcpy(sum, &sums, sizeof sums);
    bh_step_look_ahead(sim, kick, low, sum + BH_SUMS_DOUBLES);
    low[6] = -app_signals_pending();
    mine = row_of(sim, ledger);
    EQP_TRY(eqp_balancer_record(sim->balancer, &work, &now->common));
    memcpy(&now->sums, sum, sizeof now->sums);
    memcpy(sim->on_rung, sum + BH_SUMS_DOUBLES, (size_t)nrungs * sizeof *sum);
    memcpy(sim->bound, low, sizeof sim->bound);
    sim->bounded = true;
    sim->signal = (int)-low[6];
    EQP_TRY(check_finite(now, message)); /* the sums are the same on all ranks */
    spread_rows(sim->domain.nranks, sim->row, row_bytes);
    for (int r = 0; r < sim->domain.nranks; r++) {
        pairs += sim->row[r].pairs;
        cells += sim->row[r].cells;
    }
    now->substeps = ledger->evaluations;
    now->pairs = (int64_t)pairs;
    for (int r = 0; r < sim->rungs.n; r++) {
        now->active[r] = ledger->active[r];
        now->pairs -= now->active[r]; /* a particle and itself are no interaction */
    }
    for (int k = 0; k < nrungs; k++) {
        now->phase[k] = phase_of(sim->domain.nranks, sim->row, k, ledger->turns[k], ledger->targets[k]);
    }
    now->cells = (int64_t)cells;
    now->common.interactions = now->pairs + now->cells;
done:
    return code;
}

/* All ranks hear of failures at the end of each round; until then those that have failed go along. */
static int take_step(bh_simulation *sim, bh_ledger *ledger, int code, eqp_message *message)
{
    const bool keeps = sim->settings->opening == 1;
    const double half = 0.5 * sim->dt;

    sim->tick = 0;
    bh_step_advance(sim);
    code = bh_step_cycle(sim, ledger, false, code);
    sim->now.common.step++;
    sim->now.common.time += sim->dt;
    code = bh_step_conclude(sim, ledger, half, code, message);
    if (code == EQP_OK) {
        bh_step_kick(sim);
        bh_step_choose(sim); /* a map before the next step goes by its rungs */
    } else if (code == EQP_ERR_STOPPED) {
        /* The step is left to the run that goes on: kicks are owed then, and what comes after this tick. */
        sim->kick = half;
        if (sim->kept != NULL) {
            bh_forces_swap(&sim->domain.particles, sim->kept);
        } else if (keeps) {
            sim->failed = EQP_ERR_MEMORY;
        }
    } else {
        sim->now.common.step--;
        sim->now.common.time -= sim->dt;
    }
    free(sim->kept);
    sim->kept = NULL;
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
    } else { /* it hears how long the run is: a restart may have another end */
        eqp_advice keep;
        (void)eqp_balancer_advise(sim->balancer, steps_left(sim), &keep, NULL);
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
