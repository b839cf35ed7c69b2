/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "balance/balance.h"
#include <math.h>

/* Longest segment as a share of a cell: a longer one reaches beyond the neighbouring cells. */
#define LONGEST 0.9

/* Near pairs must fit into neighbouring cells. Too small cells of a control file become fewer; cells of the command
 * line stay. The written parameters keep the original numbers, for ParaDiS. */
static int set_cells(dd_simulation *sim, eqp_message *message)
{
    const eqp_paradis_control *control = &sim->input.control;
    const bool fixed = dd_settings_given(sim->settings, "cells");
    const char *const from = sim->settings->ctrl != NULL ? sim->settings->ctrl : "dislocation";
    const double longest = fmax(sim->input.longest, control->max_seg);
    bool fewer = false;

    for (int d = 0; d < 3; d++) {
        const int fit = (int)fmin(control->cells[d], floor(sim->domain.edge[d] * DD_CELL_FITS / longest));
        const double width = sim->domain.edge[d] / (fixed ? control->cells[d] : 3);
        sim->cells[d] = fixed || fit < 3 ? control->cells[d] : fit;
        fewer = fewer || sim->cells[d] < control->cells[d];
        if (sim->domain.edge[d] / (double)sim->cells[d] * LONGEST >= longest) {
            continue;
        }
        if (sim->input.longest > LONGEST * width) {
            eqp_message_set(message,
                            "dislocation: a segment of the input is %g b long, more than the %g b that %g of a cell "
                            "are%s",
                            sim->input.longest, LONGEST * width, LONGEST,
                            fixed ? ": give fewer --cells" : ", of 3 in the box");
        } else {
            eqp_message_set(
                message, "%s: maxSeg: %g is more than %g of a cell (%g b wide%s): give %sa smaller --max-seg", from,
                control->max_seg, LONGEST, width, fixed ? "" : ", 3 in the box", fixed ? "fewer --cells, or " : "");
        }
        return EQP_ERR_ARGUMENT;
    }
    if (fewer) {
        eqp_message_set(dd_notes_next(&sim->input.notes),
                        "%d x %d x %d cells would be too small for segments of %g b: %lld x %lld x %lld are taken",
                        control->cells[0], control->cells[1], control->cells[2], longest, (long long)sim->cells[0],
                        (long long)sim->cells[1], (long long)sim->cells[2]);
    }
    return EQP_OK;
}

static int set_mobility(const eqp_paradis_control *c, dd_mobility *mobility, eqp_message *message)
{
    *mobility = (dd_mobility){.edge = c->mobility_edge,
                              .screw = c->mobility_screw,
                              .climb = c->mobility_climb,
                              .climb_junction = fmax(0, c->climb_junction),
                              .relax_total = c->relax_by_length == 0,
                              .hcp_climb = c->hcp_climb,
                              .hcp_line = c->hcp_line,
                              .c_over_a = c->c_over_a,
                              .ta_climb_edge = c->ta_climb_edge,
                              .ta_climb_screw = c->ta_climb_screw,
                              .ta_line = c->ta_line,
                              .burgers = c->burgers,
                              .temperature = c->temperature,
                              .pressure = c->pressure,
                              .modulus_0 = c->modulus_0,
                              .top_speed = c->shear_velocity / c->burgers};
    memcpy(mobility->relax, c->relax, sizeof mobility->relax);
    memcpy(mobility->hcp_edge, c->hcp_edge, sizeof mobility->hcp_edge);
    memcpy(mobility->hcp_screw, c->hcp_screw, sizeof mobility->hcp_screw);
    memcpy(mobility->ta_edge, c->ta_edge, sizeof mobility->ta_edge);
    memcpy(mobility->ta_screw, c->ta_screw, sizeof mobility->ta_screw);
    for (int i = 0; i < DD_TA_SCREWS; i++) {
        mobility->ta_fit[i] = (dd_ta_fit){.k = c->ta_k[i], .b = c->ta_b[i], .alpha = c->ta_alpha[i]};
    }
    if (dd_mobility_find(c->mobility, &mobility->law) != EQP_OK) {
        eqp_message_set(message, "dislocation: mobilityLaw: '%s' is none of %s", c->mobility, &DD_MOBILITY_NAMES[1]);
        return EQP_ERR_UNKNOWN;
    }
    const char *lacks = dd_mobility_lacks(mobility);
    if (lacks != NULL) {
        eqp_message_set(message, "dislocation: %s needs %s, a positive number%s", c->mobility, lacks,
                        strcmp(lacks, "cOVERa") == 0 ? " from 1.05 to 1.95" : "");
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

/* Crystal of a mobility law; DD_NO_CRYSTAL if its screws do not cross slip. */
static dd_crystal crystal_of(const eqp_paradis_control *c)
{
    const bool fcc = strncmp(c->mobility, "FCC", 3) == 0, bcc = strncmp(c->mobility, "BCC", 3) == 0;

    if (c->cross_slip == 0 || (c->cross_slip < 0 && !fcc)) {
        return DD_NO_CRYSTAL;
    }
    return fcc ? DD_FCC : bcc ? DD_BCC : DD_NO_CRYSTAL;
}

static int set_laws(dd_simulation *sim, eqp_message *message)
{
    const eqp_paradis_control *c = &sim->input.control;
    dd_step_rule rule = DD_STEP_RULE_DEFAULTS;

    EQP_CHECK(set_mobility(c, &sim->mobility, message));
    sim->rules = (dd_rules){.max_seg = c->max_seg,
                            .min_seg = c->min_seg,
                            .area_min = c->area_min,
                            .area_max = c->area_max,
                            .r_tol = c->tolerance,
                            .rann = c->annihilation,
                            .planes = dd_mobility_glides(sim->mobility.law),
                            .cross_slip = crystal_of(c)};
    rule.method = strcmp(c->integrator, "trapezoid") == 0 ? DD_TRAPEZOID : DD_EULER;
    rule.rtol = c->tolerance;
    rule.way_max = c->max_seg;
    rule.dt_max = c->max_dt;
    rule.dt_min = fmin(rule.dt_min, c->max_dt);
    rule.grow = c->dt_increment;
    rule.shrink = c->dt_decrement;
    dd_stepper_init(&sim->stepper, &rule, c->next_dt);
    dd_loading_init(&sim->loading, c->load_type == 1 || c->load_type == 4 ? DD_STRAIN_RATE : DD_CREEP,
                    &sim->evaluator.medium, c->strain_rate, c->direction, c->stress);
    if (c->load_type == 4) {
        dd_loading_cycle(&sim->loading, c->strain_amplitude, c->time);
    }
    memcpy(sim->loading.strain, c->plastic_strain, sizeof sim->loading.strain);
    return EQP_OK;
}

static int set_medium(dd_simulation *sim, eqp_message *message)
{
    const eqp_paradis_control *c = &sim->input.control;
    dd_medium medium = {.mu = c->shear_modulus, .nu = c->poisson, .a = c->core_radius, .core = c->core_energy};
    dd_pairs_fn pairs;
    int code = dd_pairs_choose((dd_isa)sim->settings->isa, &pairs, NULL);

    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --isa: %s does not run on this processor",
                        dd_isa_name((dd_isa)sim->settings->isa));
        return EQP_ERR_ARGUMENT;
    }
    memcpy(medium.box, sim->domain.box, sizeof medium.box);
    dd_evaluator_init(&sim->evaluator, &medium, pairs);
    return eqp_timings_create(DD_KINDS, &sim->evaluator.timings);
}

/* Sets medium, kernel, mobility, rules, time step, loading, cells and boxes of a simulation with its input. Local. */
static int setup(dd_simulation *sim, eqp_message *message)
{
    const eqp_method *method = sim->settings->run.method;
    int code;

    EQP_TRY(set_medium(sim, message));
    EQP_TRY(set_laws(sim, message));
    EQP_TRY(set_cells(sim, message));
    if (method == &dd_sectioning || method == &dd_bisection) {
        EQP_TRY(dd_walls_create(&sim->domain, sim->domain.nranks, &sim->input.control, method == &dd_bisection,
                                &sim->boxes));
    }
done:
    sim->now.common.step = sim->input.control.first_step;
    sim->now.common.time = sim->input.control.time;
    return code;
}

int dd_plan(dd_simulation *sim)
{
    dd_halo_free(&sim->halo);
    const int code = sim->failed == EQP_OK ? dd_stage_open(&sim->domain, sim->cells, &sim->stage) : sim->failed;
    EQP_CHECK(dd_halo_create(&sim->domain, DD_PLACES, code, &sim->halo));
    return dd_stage_create(&sim->domain, &sim->halo, eqp_balancer_map(sim->balancer), &sim->stage);
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

static int first_forces(dd_simulation *sim)
{
    EQP_CHECK(dd_forces(sim));
    return eqp_agree(sim->comm, sim->failed, NULL);
}

static int start(dd_simulation *sim, eqp_message *message)
{
    bool again = false;

    EQP_CHECK(dd_balance_begin(sim, message));
    EQP_CHECK(dd_plan(sim));
    EQP_CHECK(first_forces(sim));
    EQP_CHECK(dd_balance_weigh(sim, &again, message));
    EQP_CHECK(again ? first_forces(sim) : EQP_OK);
    EQP_CHECK(choose_dt(sim));
    EQP_CHECK(dd_balance_record(sim));
    return eqp_agree(sim->comm, dd_resume_again(sim), NULL);
}

static int create_loop(dd_simulation *sim)
{
    const app_run_settings *run = &sim->settings->run;
    eqp_schedule_options rules = run->schedule_rules;

    rules.weight = run->share.kind == EQP_SHARE_SPEEDS ? eqp_balancer_speeds(sim->balancer) : NULL;
    return run->schedule == NULL ? EQP_OK : dd_loop_create(sim->comm, run->schedule, &rules, &sim->evaluator.loop);
}

/* Ranks of one computer read each other's segments in place. */
static int open_window(dd_simulation *sim)
{
    eqp_node *node = NULL;

    EQP_CHECK(app_run_node(&sim->settings->run, sim->comm, &node, &sim->window.lost));
    sim->domain.window = &sim->window;
    if (node != NULL && eqp_node_view(node)->nnodes > 1) { /* the same on all ranks */
        eqp_node_free(node);
        node = NULL;
    }
    return node == NULL ? EQP_OK : dd_window_open(node, &sim->window);
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
    EQP_TRY(eqp_agree(sim->comm, setup(sim, message), message));
    EQP_TRY(create_loop(sim));
    EQP_TRY(open_window(sim));
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
    dd_window_close(&sim->window);
    eqp_loop_free(sim->evaluator.loop);
    dd_evaluator_free(&sim->evaluator);
    dd_network_free(&sim->domain.network);
    eqp_comm_free(&sim->comm);
}

eqp_paradis_control dd_simulation_control(const dd_simulation *sim)
{
    eqp_paradis_control control = sim->input.control;

    control.first_step = sim->now.common.step;
    control.steps = sim->input.last_step > control.first_step ? sim->input.last_step - control.first_step : 0;
    control.time = sim->now.common.time;
    control.strain_rate = sim->loading.rate;
    if (sim->stepper.dt > 0) {
        control.next_dt = sim->stepper.dt;
    }
    memcpy(control.stress, sim->loading.stress, sizeof control.stress);
    memcpy(control.plastic_strain, sim->loading.strain, sizeof control.plastic_strain);
    return control;
}
