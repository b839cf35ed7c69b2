/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "balance/balance.h"
#include "balance/resume.h"
#include "forces/stealing.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

int dd_plan(dd_simulation *sim)
{
    int code;

    dd_halo_free(&sim->halo);
    code = dd_stage_open(&sim->domain, sim->cells, &sim->stage);
    EQP_TRY(dd_halo_create(&sim->domain, code, &sim->halo));
    EQP_TRY(dd_stage_create(&sim->domain, &sim->halo, eqp_balancer_map(sim->balancer), &sim->stage));
done:
    return code;
}

void dd_unplan(dd_simulation *sim)
{
    dd_stage_free(&sim->stage);
    dd_halo_free(&sim->halo);
}

double dd_fastest(const dd_simulation *sim)
{
    double fastest = 0.0;

    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        fastest = fmax(fastest, dd_step_largest(1, sim->domain.network.node[i].v));
    }
    return fastest;
}

/* Unless the user gives the first time step, no node moves farther than rTol in it. */
static int choose_dt(dd_simulation *sim)
{
    const eqp_paradis_control *c = &sim->input.control;
    double fastest = dd_fastest(sim);

    if (MPI_Allreduce(MPI_IN_PLACE, &fastest, 1, MPI_DOUBLE, MPI_MAX, sim->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (!sim->input.dt_given && fastest * sim->stepper.dt > c->tolerance) {
        sim->stepper.dt = c->tolerance / fastest;
    }
    return EQP_OK;
}

/* Forces that all ranks have. */
static int first_forces(dd_simulation *sim)
{
    int code;

    EQP_TRY(dd_forces(sim));
    EQP_TRY(eqp_agree(sim->comm, sim->failed, NULL));
done:
    return code;
}

static int start(dd_simulation *sim, eqp_message *message)
{
    bool again = false;
    int code;

    EQP_TRY(dd_balance_begin(sim, message));
    EQP_TRY(dd_plan(sim));
    EQP_TRY(first_forces(sim));
    EQP_TRY(dd_balance_weigh(sim, &again, message));
    EQP_TRY(again ? first_forces(sim) : EQP_OK);
    EQP_TRY(choose_dt(sim));
    EQP_TRY(dd_balance_record(sim));
    EQP_TRY(eqp_agree(sim->comm, dd_resume_again(sim), NULL));
done:
    return code;
}

static int create_loop(dd_simulation *sim)
{
    const app_run_settings *run = &sim->settings->run;
    eqp_schedule_options rules = run->schedule_rules;

    rules.weight = run->share.kind == EQP_SHARE_SPEEDS ? eqp_balancer_speeds(sim->balancer) : NULL;
    return run->schedule == NULL ? EQP_OK : dd_loop_create(sim->comm, run->schedule, &rules, &sim->evaluator.loop);
}

int dd_simulation_create(MPI_Comm comm, const dd_settings *settings, dd_simulation *sim, eqp_message *message)
{
    dd_simulation made = {.settings = settings};
    int code = eqp_comm_create(comm, &made.comm);

    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: %s", eqp_error_text(code));
        return code;
    }
    *sim = made;
    dd_domain_init(&sim->domain, sim->comm);
    sim->domain.far_order = (int)settings->far_order;
    EQP_TRY(eqp_agree(sim->comm, eqp_array_create(&sim->row, sim->domain.nranks, sizeof *sim->row), message));
    EQP_TRY(dd_balance_create(sim, message));
    EQP_TRY(dd_input_read(settings, &sim->domain, &sim->input, message));
    EQP_TRY(eqp_agree(sim->comm, dd_setup(sim, message), message));
    EQP_TRY(create_loop(sim));
    EQP_TRY(eqp_agree(sim->comm, dd_resume_take(sim, message), message));
    EQP_TRY(start(sim, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "dislocation: first forces: %s", eqp_error_text(code));
    }
    if (code != EQP_OK) {
        dd_simulation_free(sim);
    }
    return code;
}

void dd_simulation_free(dd_simulation *sim)
{
    app_words_free(&sim->words);
    free(sim->row);
    sim->row = NULL;
    eqp_balancer_free(sim->balancer);
    sim->balancer = NULL;
    eqp_paradis_control_free(&sim->input.control);
    eqp_boxes_free(sim->boxes);
    dd_unplan(sim);
    eqp_loop_free(sim->evaluator.loop);
    dd_evaluator_free(&sim->evaluator);
    dd_domain_free(&sim->domain);
    eqp_comm_free(&sim->comm);
}

dd_moment dd_simulation_moment(const dd_simulation *sim)
{
    dd_moment now = {.step = sim->now.common.step,
                     .time = sim->now.common.time,
                     .next_dt = sim->stepper.dt,
                     .rate = sim->loading.rate};

    memcpy(now.stress, sim->loading.stress, sizeof now.stress);
    memcpy(now.plastic_strain, sim->loading.strain, sizeof now.plastic_strain);
    return now;
}
