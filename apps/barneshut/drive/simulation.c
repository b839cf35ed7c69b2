/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Time of a step without --dt: this part of the time in which the largest acceleration crosses the softening length. */
#define STEP_FRACTION 0.1

/* Costs of this rank in one step, until they become its row. */
typedef struct step_ledger {
    bh_settled settled;
    int64_t map_bytes; /* sent while a map was made */
    double balance_seconds;
    bh_evaluated evaluated;
} step_ledger;

static void tag_all(bh_particles *p, int rank)
{
    for (int64_t i = 0; i < p->n; i++) {
        p->tag[i] = rank;
    }
}

static const eqp_map *map_of(const bh_simulation *sim)
{
    return eqp_balancer_map(sim->balancer);
}

/* Homes follow the map: each group to the rank that computes it (a shared one to a rank that shares it). */
static int follow_map(bh_simulation *sim, step_ledger *ledger)
{
    bh_domain *domain = &sim->domain;
    int *rank_of_group = NULL;
    int code = eqp_array_create(&rank_of_group, domain->ngroups, sizeof *rank_of_group);

    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        rank_of_group[g] = eqp_map_own_rank(map_of(sim), domain->tag[g]);
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(bh_domain_rehome(domain, rank_of_group));
    EQP_TRY(bh_domain_settle(domain, &ledger->settled));
done:
    free(rank_of_group);
    return code;
}

/* A new map for the particles where they are; they follow it when they settle next. */
static int make_map(bh_simulation *sim, step_ledger *ledger, eqp_message *message)
{
    const double start = eqp_cpu_seconds();
    eqp_advice advice;
    int code;

    sim->problem.bytes = 0;
    EQP_TRY(eqp_balancer_renew(sim->balancer, sim->settings->run.steps - sim->now.common.step, &advice, message));
    if (advice.changed) {
        EQP_TRY(bh_domain_place(&sim->domain, advice.placement));
    }
    sim->evaluator.plan = *eqp_balancer_plan(sim->balancer);
    ledger->map_bytes = advice.bytes + sim->problem.bytes;
done:
    ledger->balance_seconds = eqp_cpu_seconds_since(start);
    return code;
}

static int settle_and_grow(bh_simulation *sim, step_ledger *ledger)
{
    int code = bh_domain_settle(&sim->domain, &ledger->settled);

    return code == EQP_OK ? bh_domain_grow(&sim->domain) : code;
}

/* The particles have moved: bring them home and grow the tree. */
static int prepare(bh_simulation *sim, step_ledger *ledger)
{
    int code;

    EQP_TRY(settle_and_grow(sim, ledger));
    if (ledger->settled.box_changed) {
        EQP_TRY(follow_map(sim, ledger));
        EQP_TRY(bh_domain_grow(&sim->domain));
    }
done:
    return code;
}

/* The relative criterion goes by accelerations, which a snapshot does not have: the geometric one gives them. So the
 * first map is made of the lists that steps have, and step 0 has them as well. */
static int find_accelerations(bh_simulation *sim)
{
    bh_evaluated unseen;
    eqp_timings *const timings = sim->evaluator.timings;
    int code;

    sim->evaluator.timings = NULL; /* nor are the costs of a step */
    code = bh_evaluate(&sim->evaluator, &sim->domain, map_of(sim), NULL, &unseen);
    sim->evaluator.timings = timings;
    return code == EQP_OK ? bh_domain_grow(&sim->domain) : code;
}

/* First homes by count, then the first map. */
static int prepare_first(bh_simulation *sim, bool balance, step_ledger *ledger, eqp_message *message)
{
    int code = bh_domain_settle(&sim->domain, &ledger->settled);

    if (code != EQP_OK) {
        return code;
    }
    tag_all(&sim->domain.particles, sim->domain.rank);
    EQP_TRY(bh_domain_grow(&sim->domain));
    if (sim->evaluator.mac.relative && sim->settings->run.restart == NULL) {
        EQP_TRY(find_accelerations(sim));
    }
    if (balance) {
        EQP_TRY(make_map(sim, ledger, message));
        EQP_TRY(settle_and_grow(sim, ledger));
    }
done:
    return code;
}

static bh_rank_row row_of(const bh_simulation *sim, const step_ledger *ledger)
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
static int conclude(bh_simulation *sim, const step_ledger *ledger, eqp_message *message)
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
static int compute_forces(bh_simulation *sim, step_ledger *ledger)
{
    bh_survey survey = {.owners = eqp_balancer_survey(sim->balancer)};
    const int code = bh_evaluate(&sim->evaluator, &sim->domain, map_of(sim), survey.owners != NULL ? &survey : NULL,
                                 &ledger->evaluated);

    bh_survey_free(&survey);
    return code;
}

/* A step that follows from the forces alone, so that it is the same for every number of ranks. */
static int choose_dt(bh_simulation *sim, eqp_message *message)
{
    const bh_particles *p = &sim->domain.particles;
    double largest = 0.0;

    for (int64_t i = 0; i < p->n; i++) {
        largest = fmax(largest, sqrt(p->ax[i] * p->ax[i] + p->ay[i] * p->ay[i] + p->az[i] * p->az[i]));
    }
    if (MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, sim->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    sim->dt = 0.01;
    if (largest > 0 && sim->settings->softening > 0) {
        /* Twelve bits are enough, and hide the last digits, in which rank counts may differ. */
        int exponent;
        double mantissa = frexp(STEP_FRACTION * sqrt(sim->settings->softening / largest), &exponent);
        sim->dt = ldexp(floor(mantissa * 4096.0) / 4096.0, exponent);
    }
    if (!(sim->dt > 0) || !isfinite(sim->dt)) {
        eqp_message_set(message, "barneshut: largest acceleration %g leaves no time step; give --dt", largest);
        return EQP_ERR_DATA;
    }
    return EQP_OK;
}

/* Forces while those that the particles have are kept aside. They come back where `back` says so, and where a signal
 * has ended the evaluation. */
static int compute_beside(bh_simulation *sim, step_ledger *ledger, bool back)
{
    bh_particles *p = &sim->domain.particles;
    double *const field[] = {p->ax, p->ay, p->az, p->pot};
    double *kept = NULL;
    int code = eqp_agree(sim->comm, eqp_array_create(&kept, 4 * p->n, sizeof *kept), NULL);

    for (int f = 0; f < 4 && p->n > 0 && code == EQP_OK; f++) {
        memcpy(kept + f * p->n, field[f], (size_t)p->n * sizeof *kept);
    }
    if (code == EQP_OK) {
        code = compute_forces(sim, ledger);
        back = code == EQP_OK ? back : code == EQP_ERR_STOPPED;
        for (int f = 0; f < 4 && p->n > 0 && back; f++) {
            memcpy(field[f], kept + f * p->n, (size_t)p->n * sizeof *kept);
        }
    }
    free(kept);
    return code;
}

/* A run that goes on does so with the forces of its restart file: those of the relative criterion depend on the step
 * before, so that new ones would not have the same bits. One that was stopped within a step has no others, and
 * completes that step. */
static int compute_first(bh_simulation *sim, step_ledger *ledger)
{
    bh_particles *p = &sim->domain.particles;
    int code;

    if (sim->settings->run.restart != NULL && sim->input.kick == 0) {
        return compute_beside(sim, ledger, true);
    }
    EQP_TRY(compute_forces(sim, ledger));
    bh_kick(p->n, sim->input.kick, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
done:
    return code;
}

/* The particles have moved. A signal that ends the evaluation leaves the step to the run that goes on: half a kick is
 * owed then, and forces by the relative criterion need those of the step before. */
static int compute_step(bh_simulation *sim, step_ledger *ledger)
{
    int code = sim->settings->opening == 1 ? compute_beside(sim, ledger, false) : compute_forces(sim, ledger);

    if (code == EQP_ERR_STOPPED) {
        sim->kick = 0.5 * sim->dt;
        sim->now.common.step++;
        sim->now.common.time += sim->dt;
    }
    return code;
}

static int start(bh_simulation *sim, eqp_message *message)
{
    const bh_settings *s = sim->settings;
    step_ledger ledger = {0};
    int code;

    EQP_TRY(prepare_first(sim, !(s->run.method->flags & EQP_KEEPS), &ledger, message));
    EQP_TRY(compute_first(sim, &ledger));
    sim->dt = s->run.dt > 0 ? s->run.dt : sim->input.dt;
    EQP_TRY(sim->dt > 0 ? EQP_OK : choose_dt(sim, message));
    EQP_TRY(add_sums(sim, &sim->now.sums));
    sim->now.common.step = sim->input.step;
    sim->now.common.time = sim->input.time;
    EQP_TRY(conclude(sim, &ledger, message));
done:
    return code;
}

static int create_evaluator(bh_simulation *sim, eqp_message *message)
{
    const bh_settings *s = sim->settings;
    const bh_mac mac = {
        .theta = s->theta, .relative = s->opening == 1, .alpha = s->alpha, .G = s->G, .cutoff = s->cutoff};
    const int code =
        bh_evaluator_create(&mac, s->softening, bh_settings_kernel(s), (bh_precision)s->precision, &sim->evaluator);

    if (code == EQP_ERR_STATE || code == EQP_ERR_UNKNOWN) {
        eqp_message_set(message, "barneshut: --kernel: %s does not run on this processor", bh_settings_kernel(s));
        return EQP_ERR_ARGUMENT;
    }
    return code;
}

static int create_parts(bh_simulation *sim, eqp_message *message)
{
    const app_run_settings *run = &sim->settings->run;
    int code;

    EQP_TRY(app_run_check_ranks("barneshut", run, sim->domain.nranks, message));
    EQP_TRY(eqp_array_create(&sim->row, sim->domain.nranks, sizeof *sim->row));
    EQP_TRY(create_evaluator(sim, message));
    EQP_TRY(eqp_timings_create(BH_KINDS, &sim->evaluator.timings));
done:
    return eqp_agree(sim->comm, code, message);
}

static int create_balancer(bh_simulation *sim)
{
    const app_run_settings *run = &sim->settings->run;
    const eqp_balancer_options options = app_run_balancing(run);
    eqp_schedule_options rules = run->schedule_rules;
    int code;

    sim->problem = (bh_problem){.domain = &sim->domain, .evaluator = &sim->evaluator, .dt = &sim->dt};
    const eqp_problem functions = bh_problem_functions(&sim->problem);
    EQP_TRY(eqp_balancer_create(sim->comm, &functions, &options, &sim->balancer, NULL));
    sim->problem.balancer = sim->balancer;
    sim->evaluator.plan = *eqp_balancer_plan(sim->balancer);
    if (run->schedule != NULL) {
        rules.weight = run->share.kind == EQP_SHARE_SPEEDS ? eqp_balancer_speeds(sim->balancer) : NULL;
        EQP_TRY(bh_handout_create(sim->comm, run->schedule, &rules, &sim->handout));
        sim->evaluator.handout = sim->handout;
    }
done:
    return code;
}

int bh_simulation_create(MPI_Comm comm, const bh_settings *settings, bh_simulation *sim, eqp_message *message)
{
    bh_simulation made = {.settings = settings};
    int code = eqp_comm_create(comm, &made.comm);

    if (code != EQP_OK) {
        eqp_message_set(message, "barneshut: %s", eqp_error_text(code));
        return code;
    }
    *sim = made;
    bh_domain_init(&sim->domain, sim->comm, (int)settings->leaf_size, (int)settings->group_size, settings->cutoff > 0);
    EQP_TRY(create_parts(sim, message));
    EQP_TRY(create_balancer(sim));
    EQP_TRY(bh_input_read(sim->comm, settings, &sim->domain.particles, &sim->input, message));
    EQP_TRY(start(sim, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: first forces: %s", eqp_error_text(code));
    }
    if (code != EQP_OK) {
        bh_simulation_free(sim);
    }
    return code;
}

void bh_simulation_free(bh_simulation *sim)
{
    free(sim->row);
    sim->row = NULL;
    bh_handout_free(sim->handout);
    sim->handout = NULL;
    eqp_balancer_free(sim->balancer);
    sim->balancer = NULL;
    eqp_timings_free(sim->evaluator.timings);
    bh_evaluator_free(&sim->evaluator);
    bh_domain_free(&sim->domain);
    eqp_comm_free(&sim->comm);
}

int bh_simulation_step(bh_simulation *sim, eqp_message *message)
{
    bh_particles *p = &sim->domain.particles;
    step_ledger ledger = {0};
    int code;

    EQP_TRY(eqp_balancer_due(sim->balancer) ? make_map(sim, &ledger, message) : EQP_OK);
    bh_kick(p->n, 0.5 * sim->dt, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    bh_drift(p->n, sim->dt, p->vx, p->vy, p->vz, p->x, p->y, p->z);
    EQP_TRY(prepare(sim, &ledger));
    EQP_TRY(compute_step(sim, &ledger));
    bh_kick(p->n, 0.5 * sim->dt, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    EQP_TRY(add_sums(sim, &sim->now.sums));
    sim->now.common.step++;
    sim->now.common.time += sim->dt;
    EQP_TRY(conclude(sim, &ledger, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "barneshut: step %lld: %s", (long long)sim->now.common.step + 1, eqp_error_text(code));
    }
    return code;
}
