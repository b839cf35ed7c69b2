/* SPDX-License-Identifier: BSD-3-Clause */
/* Balancing within a step: new maps, the step's costs, and its collective calls: between its forces, at its record, and
 * after a failure. */
#include "simulation.h"

#include "../../report/run_record.h"
#include "../../shell/signals.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t steps_left(const bh_simulation *sim)
{
    return sim->settings->run.steps - sim->now.common.step;
}

int bh_balance_map(bh_simulation *sim, eqp_message *message)
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
    sim->costs.map_bytes = advice.bytes + sim->problem.bytes;
done:
    sim->costs.balance_seconds = eqp_cpu_seconds_since(start);
    return code;
}

int bh_balance_ask(bh_simulation *sim, eqp_message *message)
{
    eqp_advice keep;

    sim->costs = (bh_costs){.begin = eqp_busy_seconds()};
    if (eqp_balancer_due(sim->balancer)) {
        EQP_CHECK(eqp_agree(sim->comm, sim->code, NULL));
        EQP_CHECK(bh_balance_map(sim, message));
        sim->costs.begin = eqp_busy_seconds();
    } else { /* passes the length of the run, which a restart may change */
        (void)eqp_balancer_advise(sim->balancer, steps_left(sim), &keep, NULL);
    }
    return EQP_OK;
}

/* The home of a shared group is one of its ranks. */
int bh_balance_follow(bh_simulation *sim)
{
    bh_domain *domain = &sim->domain;
    eqp_placement *placement = NULL;
    int code = eqp_array_create(&placement, domain->ngroups, sizeof *placement);

    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        placement[g].home = eqp_map_own_rank(eqp_balancer_map(sim->balancer), domain->tag[g]);
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(bh_domain_rehome(domain, placement));
    code = bh_domain_migrate(domain, NULL, &sim->costs.migration, EQP_OK);
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
done:
    free(placement);
    return code;
}

static void add_substep(bh_simulation *sim, const bh_evaluated *one)
{
    const int phase = bh_rungs_phase(&sim->rungs, sim->tick);
    bh_costs *costs = &sim->costs;
    eqp_rank_row row = {.ghosts = (double)one->ghosts};

    app_row_exchanged(&row, BH_PHASES, one->phase);
    app_row_exchanged(&row, 1, &sim->domain.top);
    costs->turns[phase]++;
    costs->load[phase] += one->seconds;
    bh_counts_add(&costs->counts[phase], &one->counts);
    costs->targets[phase] = 0;
    for (int r = phase; r < sim->rungs.n; r++) {
        costs->targets[phase] += (int64_t)sim->on_rung[r];
    }
    costs->last[phase] = (bh_substep){(double)(one->counts.of[BH_KIND_PAIR] + one->counts.of[BH_KIND_CELL]),
                                      row.ghosts,
                                      row.last_messages_sent,
                                      row.last_messages_received,
                                      row.last_bytes_sent,
                                      row.last_bytes_received};
}

void bh_balance_add(bh_simulation *sim, const bh_evaluated *one)
{
    bh_costs *costs = &sim->costs;
    bh_evaluated *all = &costs->evaluated;

    all->seconds += one->seconds;
    all->all_seconds += one->all_seconds;
    bh_counts_add(&all->counts, &one->counts);
    bh_counts_add(&all->early, &one->early);
    all->targets += one->targets;
    all->ghosts += one->ghosts;
    all->handed.helped += one->handed.helped;
    all->handed.bytes_sent += one->handed.bytes_sent;
    memcpy(all->phase, one->phase, sizeof all->phase);
    costs->bytes += bh_phases_bytes(one->phase) + one->handed.bytes_sent + sim->domain.top.bytes_sent;
    costs->evaluations++;
    add_substep(sim, one);
    for (int r = 0; r < sim->rungs.n; r++) {
        costs->active[r] += bh_rung_meets(&sim->rungs, r, sim->tick) ? (int64_t)sim->on_rung[r] : 0;
    }
}

static bh_rank_row row_of(const bh_simulation *sim)
{
    const bh_costs *costs = &sim->costs;
    const bh_evaluated *e = &costs->evaluated;
    const double pairs = (double)e->counts.of[BH_KIND_PAIR], cells = (double)e->counts.of[BH_KIND_CELL];
    bh_rank_row row = {.common = {.load = e->seconds,
                                  .particles = (double)sim->domain.particles.n,
                                  .targets = (double)e->targets,
                                  .interactions = pairs + cells,
                                  .helped = (double)e->handed.helped,
                                  .ghosts = (double)e->ghosts / (double)costs->evaluations,
                                  .bytes_sent = (double)(costs->bytes + costs->migration.bytes + costs->map_bytes),
                                  .bytes_moved = (double)costs->migration.bytes,
                                  .migrated = (double)costs->migration.particles,
                                  .exchange_seconds = fmax(e->all_seconds - e->seconds, 0.0),
                                  .balance_seconds = costs->balance_seconds,
                                  .busy_seconds = costs->begin > 0 ? eqp_busy_seconds() - costs->begin : 0.0},
                       .pairs = pairs,
                       .cells = cells};

    app_row_exchanged(&row.common, BH_PHASES, e->phase);
    app_row_exchanged(&row.common, 1, &sim->domain.top);
    memcpy(row.substep, costs->last, sizeof row.substep);
    return row;
}

static void make_sums(const bh_simulation *sim, double kick, bh_sums *sums)
{
    const bh_particles *p = &sim->domain.particles;

    bh_sums_make(p->n, p->m, p->x, p->y, p->z, p->vx, p->vy, p->vz, p->ax, p->ay, p->az, p->pot, kick, p->rung, sums);
}

/* Values beyond the range of a double make all later results worthless. */
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

/* Rows arrive with one substep per phase; here each gets room for all. */
static void spread_rows(int n, bh_rank_row *row, size_t bytes)
{
    for (int r = n - 1; r >= 0; r--) {
        memmove(&row[r], (const char *)row + (size_t)r * bytes, bytes);
        memset((char *)&row[r] + bytes, 0, sizeof *row - bytes);
    }
}

/* targets: of the phase's last substep; a particle with itself is no interaction. */
static bh_phase phase_of(int n, const bh_rank_row *row, int phase, int64_t turns, int64_t targets)
{
    bh_substep sum = {0}, most = {0};

    for (int r = 0; r < n; r++) {
        const bh_substep *one = &row[r].substep[phase];
        sum.interactions += one->interactions;
        sum.ghosts += one->ghosts;
        sum.bytes_sent += one->bytes_sent;
        most.ghosts = fmax(most.ghosts, one->ghosts);
        most.bytes_sent = fmax(most.bytes_sent, fmax(one->bytes_sent, one->bytes_received));
        most.messages_sent = fmax(most.messages_sent, fmax(one->messages_sent, one->messages_received));
    }
    return (bh_phase){.turns = turns,
                      .interactions = (int64_t)sum.interactions - targets,
                      .ghosts_total = (int64_t)sum.ghosts,
                      .ghosts_max = (int64_t)most.ghosts,
                      .bytes_total = (int64_t)sum.bytes_sent,
                      .bytes_max = (int64_t)most.bytes_sent,
                      .messages_max = (int64_t)most.messages_sent};
}

static void sum_rows(bh_simulation *sim, int nphases)
{
    const bh_costs *costs = &sim->costs;
    bh_step *now = &sim->now;
    double pairs = 0, cells = 0;

    for (int r = 0; r < sim->domain.nranks; r++) {
        pairs += sim->row[r].pairs;
        cells += sim->row[r].cells;
    }
    now->substeps = costs->evaluations;
    now->pairs = (int64_t)pairs;
    for (int r = 0; r < sim->rungs.n; r++) {
        now->active[r] = costs->active[r];
        now->pairs -= now->active[r]; /* a particle with itself is no interaction */
    }
    for (int k = 0; k < nphases; k++) {
        now->phase[k] = phase_of(sim->domain.nranks, sim->row, k, costs->turns[k], costs->targets[k]);
    }
    now->cells = (int64_t)cells;
    now->common.interactions = now->pairs + now->cells;
}

/* One allreduce for costs, conserved sums, the rungs and bounds of the next tick, signals and failures. */
int bh_balance_record(bh_simulation *sim, double kick, eqp_message *message)
{
    bh_step *now = &sim->now;
    bh_rank_row mine;
    const int nrungs = sim->domain.particles.rungs ? sim->rungs.n : 0;
    double sum[BH_SUMS_DOUBLES + BH_RUNGS_MAX], low[7];
    const size_t row_bytes = BH_ROW_BYTES + (size_t)nrungs * sizeof(bh_substep);
    const eqp_work work = {.row = &mine.common,
                           .row_bytes = row_bytes,
                           .rows = sim->row,
                           .count = sim->costs.evaluated.counts.of,
                           .timings = sim->evaluator.timings,
                           .evaluations = nrungs > 0 ? sim->costs.evaluations : 0,
                           .nphases = nrungs,
                           .phase_load = sim->costs.load,
                           .phase_count = sim->costs.counts[0].of,
                           .code = sim->code,
                           .nsums = BH_SUMS_DOUBLES + nrungs,
                           .sum = sum,
                           .nlows = 7,
                           .low = low};
    bh_sums sums;

    make_sums(sim, kick, &sums);
    memcpy(sum, &sums, sizeof sums);
    bh_predict(sim, kick, low, sum + BH_SUMS_DOUBLES);
    low[6] = -app_signals_pending();
    mine = row_of(sim);
    EQP_CHECK(eqp_balancer_record(sim->balancer, &work, &now->common));
    memcpy(&now->sums, sum, sizeof now->sums);
    memcpy(sim->on_rung, sum + BH_SUMS_DOUBLES, (size_t)nrungs * sizeof *sum);
    memcpy(sim->bound, low, sizeof sim->bound);
    sim->bounded = true;
    sim->signal = (int)-low[6];
    EQP_CHECK(check_finite(now, message)); /* the sums are the same on all ranks */
    spread_rows(sim->domain.nranks, sim->row, row_bytes);
    sum_rows(sim, nrungs);
    return EQP_OK;
}

/* A tree drifts while fewer than these shares of all particles are active and have left their leaves. Above a quarter,
 * building a tree is cheap compared to the forces. */
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

/* With many active particles a new tree costs less than their forces; with many outside their leaves, loose cells would
 * have to be opened. */
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

/* Bounds serve a new tree, so they are skipped if the tree will drift with the present rungs. If the new rungs do not
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

/* A restart completes the step: velocities lack its last kick, and forces are those of the tick before. */
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
