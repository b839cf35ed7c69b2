/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-up of a run: its parts, first homes, first map, first forces. */
#include "files/output.h"
#include "simulation.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Default step: this fraction of the time in which the largest acceleration crosses the softening length. */
#define STEP_FRACTION 0.1

static void tag_all(bh_particles *p, int rank)
{
    for (int64_t i = 0; i < p->n; i++) {
        p->tag[i] = rank;
    }
}

static int migrate(bh_simulation *sim)
{
    return eqp_agree(sim->comm, bh_domain_migrate(&sim->domain, NULL, &sim->costs.migration, EQP_OK), NULL);
}

static int build_tree(bh_simulation *sim)
{
    return eqp_agree(sim->comm, bh_domain_build_tree(&sim->domain, EQP_OK), NULL);
}

/* The relative criterion needs accelerations, which a snapshot lacks: forces by the geometric criterion provide them.
 * So the first map and step 0 have the same lists as later steps. */
static int find_accelerations(bh_simulation *sim)
{
    bh_evaluated unseen;
    eqp_timings *const timings = sim->evaluator.timings;
    int code;

    sim->evaluator.timings = NULL; /* not the costs of a step */
    code = bh_evaluate(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer), NULL, 0, EQP_OK, &unseen);
    sim->evaluator.timings = timings;
    EQP_TRY(eqp_agree(sim->comm, code, NULL));
    EQP_TRY(build_tree(sim));
done:
    return code;
}

/* Follows from the forces alone, so that the step is the same for every number of ranks. */
static int choose_dt(bh_simulation *sim, eqp_message *message)
{
    const bh_particles *p = &sim->domain.particles;
    double largest = 0.0;

    for (int64_t i = 0; i < p->n; i++) {
        largest = fmax(largest, bh_acceleration(p, i));
    }
    if (MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, sim->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    sim->dt = 0.01;
    if (largest > 0 && sim->settings->softening > 0) {
        /* Keeps twelve bits, without the last digits, in which rank counts may differ. */
        int exponent;
        double mantissa = frexp(STEP_FRACTION * sqrt(sim->settings->softening / largest), &exponent);
        sim->dt = ldexp(floor(mantissa * 4096.0) / 4096.0, exponent + sim->rungs.n - 1);
    }
    if (!(sim->dt > 0) || !isfinite(sim->dt)) {
        eqp_message_set(message, "barneshut: largest acceleration %g leaves no time step; give --dt", largest);
        return EQP_ERR_DATA;
    }
    return EQP_OK;
}

static int find_dt(bh_simulation *sim, eqp_message *message)
{
    const bh_settings *s = sim->settings;

    sim->dt = s->run.dt > 0 ? s->run.dt : sim->input.dt;
    EQP_CHECK(sim->dt > 0 ? EQP_OK : choose_dt(sim, message));
    sim->rungs.dt = sim->dt;
    return EQP_OK;
}

/* The particles of all ranks on each rung. */
static int count_rungs(bh_simulation *sim)
{
    const bh_particles *p = &sim->domain.particles;
    int64_t on[BH_RUNGS_MAX] = {0};

    for (int64_t i = 0; i < p->n; i++) {
        on[p->rung[i]]++;
    }
    EQP_CHECK(eqp_sum_int64(sim->comm, sim->rungs.n, on));
    for (int r = 0; r < sim->rungs.n; r++) {
        sim->on_rung[r] = (double)on[r];
    }
    return EQP_OK;
}

/* Finds the rungs of the first step, for which the first map is made. A stopped step keeps its rungs. */
static int find_rungs(bh_simulation *sim, eqp_message *message)
{
    bh_particles *p = &sim->domain.particles;
    const double *const a[] = {p->ax, p->ay, p->az};

    EQP_CHECK(find_dt(sim, message));
    if (sim->input.kick == 0) {
        bh_rungs_choose(&sim->rungs, sim->tick, p->n, a, p->rung);
    }
    return count_rungs(sim);
}

/* First homes by count, then the first map; or those of a restart file. */
static int prepare_first(bh_simulation *sim, bool balance, eqp_message *message)
{
    EQP_CHECK(migrate(sim));
    if (sim->resumes) {
        bh_resume_tags(sim);
    } else {
        tag_all(&sim->domain.particles, sim->domain.rank);
    }
    EQP_CHECK(build_tree(sim));
    if ((sim->evaluator.mac.relative || sim->rungs.n > 1) && sim->settings->run.restart == NULL) {
        EQP_CHECK(find_accelerations(sim));
    }
    if (sim->rungs.n > 1) {
        EQP_CHECK(find_rungs(sim, message));
    }
    if (balance && !sim->resumes) {
        EQP_CHECK(bh_balance_map(sim, message));
        EQP_CHECK(migrate(sim));
        EQP_CHECK(build_tree(sim));
    }
    return EQP_OK;
}

/* Completes a stopped step from its tick on, with its own length. */
static int complete_step(bh_simulation *sim)
{
    const double next = sim->rungs.dt;
    int code;

    sim->tick = sim->input.tick;
    sim->rungs.dt = sim->input.dt;
    bh_step_finish(sim);
    EQP_TRY(eqp_agree(sim->comm, sim->code, NULL));
    bh_step_kick(sim);
done:
    sim->rungs.dt = next;
    free(sim->kept);
    sim->kept = NULL;
    return code;
}

/* Evaluates forces for their statistics only: the particles keep their present forces. */
static int compute_again(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;
    double *kept = NULL;
    int code;

    EQP_TRY(eqp_agree(sim->comm, bh_forces_keep(p, &kept), NULL));
    bh_step_forces(sim);
    code = eqp_agree(sim->comm, sim->code, NULL);
    bh_forces_swap(p, kept);
done:
    free(kept);
    return code;
}

/* A restart keeps its file's forces: by the relative criterion they depend on the step before, so new ones would not
 * have the same bits. A run stopped within a step completes that step. */
static int compute_first(bh_simulation *sim)
{
    bh_particles *p = &sim->domain.particles;

    if (sim->settings->run.restart != NULL && sim->input.kick == 0) {
        return compute_again(sim);
    }
    if (sim->settings->run.ncompare > 0 && sim->evaluator.mac.relative) { /* comparisons use the first lists */
        EQP_CHECK(eqp_agree(sim->comm, bh_forces_keep(p, &sim->problem.first), NULL));
    }
    if (sim->input.kick > 0 && sim->rungs.n > 1) {
        return complete_step(sim);
    }
    bh_step_forces(sim);
    EQP_CHECK(eqp_agree(sim->comm, sim->code, NULL));
    bh_kick(p->n, sim->input.kick, p->ax, p->ay, p->az, p->vx, p->vy, p->vz);
    return EQP_OK;
}

static int start(bh_simulation *sim, eqp_message *message)
{
    const bh_settings *s = sim->settings;
    bool open;

    sim->on_rung[0] = (double)sim->input.total;
    EQP_CHECK(prepare_first(sim, !(s->run.method->flags & EQP_KEEPS), message));
    EQP_CHECK(compute_first(sim));
    if (sim->domain.nranks > 1 && s->run.steps > sim->input.step) { /* not in the step that first needs them */
        EQP_CHECK(bh_messengers_open(&sim->domain.messengers, &sim->evaluator.plan, &open));
    }
    EQP_CHECK(sim->dt > 0 ? EQP_OK : find_dt(sim, message));
    sim->now.common.step = sim->input.step;
    sim->now.common.time = sim->input.time;
    EQP_CHECK(bh_balance_record(sim, 0.0, message));
    sim->first = sim->now.sums;
    if (sim->resumes && sim->input.kick == 0) { /* with a kick left, the record was of a completed step */
        EQP_CHECK(eqp_agree(sim->comm, bh_resume_again(sim), NULL));
    }
    app_words_free(&sim->input.words);
    bh_step_choose_rungs(sim);
    return EQP_OK;
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

static int create_balancer(bh_simulation *sim, eqp_message *message)
{
    const app_run_settings *run = &sim->settings->run;
    const eqp_balancer_options options = app_run_balancing(run);
    eqp_schedule_options rules = run->schedule_rules;

    sim->problem = (bh_problem){.domain = &sim->domain,
                                .evaluator = &sim->evaluator,
                                .dt = &sim->dt,
                                .rungs = &sim->rungs,
                                .on_rung = sim->on_rung,
                                .ngrains = sim->settings->group_size == 0 ? BH_NGROUP_SIZES : 0,
                                .size = BH_GROUP_SIZES};
    const eqp_problem functions = bh_problem_functions(&sim->problem);
    EQP_CHECK(app_run_balancer_create("barneshut", sim->comm, &functions, &options, &sim->balancer, message));
    sim->problem.balancer = sim->balancer;
    sim->evaluator.plan = *eqp_balancer_plan(sim->balancer);
    if (run->schedule != NULL) {
        rules.weight = run->share.kind == EQP_SHARE_SPEEDS ? eqp_balancer_speeds(sim->balancer) : NULL;
        EQP_CHECK(bh_stealing_create(sim->comm, run->schedule, &rules, &sim->stealing));
        sim->evaluator.stealing = sim->stealing;
    }
    return EQP_OK;
}

/* Ranks of one computer walk each other's trees in place. */
static int join_neighbours(bh_simulation *sim)
{
    eqp_node *node = NULL;
    int code = app_run_node(&sim->settings->run, sim->comm, &node, &sim->domain.neighbours.lost);

    if (code == EQP_OK && node != NULL) {
        code = bh_neighbours_join(&sim->domain, node);
    }
    return code == EQP_ERR_MEMORY ? EQP_OK : code;
}

/* With --group-size auto a restart begins with the last size, a comparison with the largest. */
static void begin_with_group_size(bh_simulation *sim)
{
    bh_problem *problem = &sim->problem;

    for (int i = 1; i < problem->ngrains && sim->settings->run.ncompare == 0; i++) {
        if (problem->size[i] == sim->input.group_size) {
            if (!sim->resumes) { /* otherwise the balancer's state has the size's number */
                problem->size[i] = problem->size[0];
                problem->size[0] = (int)sim->input.group_size;
            }
            sim->domain.group_size = (int)sim->input.group_size;
        }
    }
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
    const int group_size = settings->group_size > 0 ? (int)settings->group_size : BH_DEFAULT_GROUP_SIZE;
    bh_domain_init(&sim->domain, sim->comm, (int)settings->leaf_size, group_size, settings->cutoff > 0);
    sim->rungs = (bh_rungs){.n = (int)settings->rungs, .limit = 2.0 * settings->eta * settings->softening};
    sim->tick = bh_rung_ticks(&sim->rungs, 0);
    sim->domain.particles.rungs = sim->rungs.n > 1;
    EQP_TRY(create_parts(sim, message));
    EQP_TRY(create_balancer(sim, message));
    EQP_TRY(join_neighbours(sim));
    EQP_TRY(bh_input_read(sim->comm, settings, &sim->domain.particles, &sim->input, message));
    sim->domain.box = sim->input.cells;
    sim->domain.drifted = sim->input.cells.side > 0;
    EQP_TRY(eqp_agree(sim->comm, bh_resume_take(sim, message), message));
    begin_with_group_size(sim);
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
    app_words_free(&sim->input.words);
    free(sim->row);
    sim->row = NULL;
    free(sim->kept);
    sim->kept = NULL;
    bh_stealing_free(sim->stealing);
    sim->stealing = NULL;
    eqp_balancer_free(sim->balancer);
    sim->balancer = NULL;
    eqp_timings_free(sim->evaluator.timings);
    bh_problem_forget(&sim->problem);
    free(sim->problem.first);
    sim->problem.first = NULL;
    bh_evaluator_free(&sim->evaluator);
    bh_domain_free(&sim->domain);
    eqp_comm_free(&sim->comm);
}
