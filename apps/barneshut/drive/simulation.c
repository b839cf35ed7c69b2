/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulation.h"

#include "automatic.h"

#include "../../common/run_auto.h"

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
    app_rebalanced rebalanced;
    int64_t map_bytes; /* sent while it was made */
    bool has_rebalanced;
    double balance_seconds;
    bh_automatic automatic; /* of a map that `auto` has chosen */
    bh_evaluated evaluated;
} step_ledger;

static void tag_all(bh_particles *p, int rank)
{
    for (int64_t i = 0; i < p->n; i++) {
        p->tag[i] = rank;
    }
}

static app_renewal renewal_of(const bh_simulation *sim)
{
    return (app_renewal){&sim->settings->run, &sim->policy, sim->feedback, sim->shares};
}

/* Homes follow the map: each group to the rank that computes it (a shared one to a rank that shares it). */
static int follow_map(bh_simulation *sim, step_ledger *ledger)
{
    bh_domain *domain = &sim->domain;
    int *rank_of_group = NULL;
    int code = eqp_array_create(&rank_of_group, domain->ngroups, sizeof *rank_of_group);

    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        rank_of_group[g] = app_map_own_rank(&sim->map, domain->tag[g]);
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(bh_domain_rehome(domain, rank_of_group));
    EQP_TRY(bh_domain_settle(domain, &ledger->settled));
done:
    free(rank_of_group);
    return code;
}

/* `auto`, and methods whose maps are traced before they are used. */
static int make_by_trial(bh_simulation *sim, bool has_map, step_ledger *ledger, eqp_message *message)
{
    const app_renewal renewal = renewal_of(sim);

    return bh_rebalance_auto(&sim->domain, &sim->evaluator, &sim->settings->run, app_shares_speeds(sim->shares),
                             has_map, app_renewal_life(&renewal, sim->settings->run.steps - sim->now.common.step),
                             sim->dt, &sim->map, &sim->costs, &ledger->rebalanced, &ledger->automatic, message);
}

static int make_by_method(bh_simulation *sim, bool has_map, step_ledger *ledger, eqp_message *message)
{
    app_rebalance_options options = app_rebalance_of(&sim->settings->run);
    double *measured = NULL;
    int code;

    EQP_TRY(app_rows_loads(sim->comm, sim->domain.nranks, sim->row, sizeof *sim->row, &measured));
    options.part_load = sim->handout == NULL ? measured : NULL; /* else it says nothing of the map */
    options.speeds = app_shares_speeds(sim->shares);
    app_feedback_prepare(sim->feedback, &options);
    if (!sim->surveyed) {
        EQP_TRY(bh_rebalance_survey(&sim->domain, &sim->evaluator, &options, &sim->map, &sim->costs, &sim->survey,
                                    &ledger->map_bytes));
    }
    EQP_TRY(bh_rebalance(&sim->domain, &sim->survey, &options, has_map, &sim->map, &sim->costs, &ledger->rebalanced,
                         &ledger->map_bytes, message));
done:
    sim->totals = ledger->rebalanced.totals;
    free(measured);
    return code;
}

/* A new map for the particles where they are; they follow it when they settle next. */
static int make_map(bh_simulation *sim, bool has_map, step_ledger *ledger, eqp_message *message)
{
    const app_rebalance_options options = app_rebalance_of(&sim->settings->run);
    const bool by_trial = options.method == &app_method_auto || app_wants_trial(&options);
    const double start = eqp_cpu_seconds();
    int code;

    EQP_TRY(eqp_agree(sim->comm, app_shares_renew(sim->shares), NULL));
    EQP_TRY(by_trial ? make_by_trial(sim, has_map, ledger, message) : make_by_method(sim, has_map, ledger, message));
done:
    ledger->has_rebalanced = true;
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
    int code = bh_evaluate(&sim->evaluator, &sim->domain, &sim->map, NULL, &unseen);

    app_timings_free(&unseen.timings);
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
        EQP_TRY(make_map(sim, false, ledger, message));
        EQP_TRY(settle_and_grow(sim, ledger));
    }
done:
    return code;
}

static void fill_row(const bh_simulation *sim, const step_ledger *ledger, bh_rank_row *row)
{
    const bh_evaluated *e = &ledger->evaluated;
    const double pairs = (double)e->counts.of[BH_KIND_PAIR], cells = (double)e->counts.of[BH_KIND_CELL];
    const int64_t bytes = bh_phases_bytes(e->phase) + e->handed.bytes_sent;

    *row = (bh_rank_row){.common = {.load = e->seconds,
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
    app_shares_fill_row(sim->shares, sim->domain.rank, app_costs_predict(&sim->costs, e->counts.of), &row->common);
}

/* Every rank sees every row, so that all draw the same conclusions. */
static int conclude_rows(bh_simulation *sim, const step_ledger *ledger)
{
    bh_step *now = &sim->now;
    bh_rank_row mine;
    double pairs = 0, cells = 0;
    int code;

    fill_row(sim, ledger, &mine);
    code = app_rows_gather(sim->comm, (int)(sizeof mine / sizeof(double)), &mine, sim->row);
    if (code != EQP_OK) {
        return code;
    }
    code = eqp_agree(sim->comm, app_step_take_rows(&now->common, sim->domain.nranks, sim->row, sizeof mine), NULL);
    app_shares_learn(sim->shares, 1, sim->row, sizeof mine);
    for (int r = 0; r < sim->domain.nranks; r++) {
        pairs += sim->row[r].pairs;
        cells += sim->row[r].cells;
    }
    now->pairs = (int64_t)pairs - sim->input.total; /* a particle and itself are no interaction */
    now->cells = (int64_t)cells;
    now->common.interactions = now->pairs + now->cells;
    return code;
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

static int conclude(bh_simulation *sim, const step_ledger *ledger, eqp_message *message)
{
    bh_step *now = &sim->now;
    app_step *common = &now->common;
    int code = check_finite(now, message);

    if (code != EQP_OK) {
        return code; /* the sums are the same on all ranks */
    }
    /* A prediction is made before its step is measured: the costs are those that the map was made with or that earlier
     * steps have shown. */
    code = conclude_rows(sim, ledger);
    if (code == EQP_OK) {
        code = app_costs_fit(&sim->costs, sim->comm, &ledger->evaluated.timings);
    }
    if (code == EQP_OK) {
        code = app_costs_correlation(&sim->costs, sim->comm, &ledger->evaluated.timings, &common->correlation);
    }
    if (code != EQP_OK) {
        return code;
    }
    common->rebalanced = ledger->has_rebalanced;
    memcpy(common->why, ledger->automatic.why, sizeof common->why);
    if (ledger->automatic.chosen[0] != '\0') {
        memcpy(common->chosen, ledger->automatic.chosen, sizeof common->chosen);
    }
    if (ledger->has_rebalanced && !ledger->automatic.kept) {
        common->imbalance_promised = ledger->rebalanced.result.imbalance;
        common->units = ledger->rebalanced.units;
        common->split_owners = ledger->rebalanced.split_owners;
        common->unit_sizes = ledger->rebalanced.sizes;
    }
    const app_renewal renewal = renewal_of(sim);
    const eqp_policy_sample sample =
        app_renewal_sample(&renewal, common, common->imbalance_predicted, ledger->automatic.kept);
    EQP_TRY(eqp_policy_record(&sim->policy, &sample));
    EQP_TRY(app_feedback_record(sim->feedback, sim->row, sizeof *sim->row, common->rebalanced));
done:
    return eqp_agree(sim->comm, code, NULL);
}

/* A map that has just been made lasts for longer than this step, unless each step is to have a new one. */
static bool every_step(const eqp_policy *policy)
{
    return policy->options.mode == EQP_POLICY_EVERY && policy->options.every == 1;
}

/* A survey is taken when the next map may be due: it costs little, but not nothing. */
static int compute_forces(bh_simulation *sim, step_ledger *ledger)
{
    const app_rebalance_options options = app_rebalance_of(&sim->settings->run);
    const bool ready = !(options.method->flags & EQP_NEEDS_UNITS) || sim->totals.interactions > 0;
    const bool due = eqp_policy_may_want(&sim->policy) && !(ledger->has_rebalanced && !every_step(&sim->policy));
    const bool weighs = app_method_weighs(options.method) && !app_wants_trial(&options) && sim->feedback == NULL;
    const bool wanted = ready && weighs && due && sim->handout == NULL; /* no rank sees all of what it hands out */
    int code = EQP_OK;

    sim->surveyed = false;
    if (wanted) {
        app_survey_detail detail = app_rebalance_detail(&options, sim->domain.nranks, &sim->totals);
        detail.cost = app_work_model_measured(&bh_work_model, &sim->costs).nominal;
        app_survey_clear(&sim->survey.owners, &detail);
    } else {
        bh_survey_free(&sim->survey); /* rather walk once more than hold it for long */
    }
    if (code == EQP_OK) {
        code = bh_evaluate(&sim->evaluator, &sim->domain, &sim->map, wanted ? &sim->survey : NULL, &ledger->evaluated);
    }
    sim->surveyed = wanted && code == EQP_OK;
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
    app_timings_free(&ledger.evaluated.timings);
    return code;
}

int bh_simulation_create(MPI_Comm comm, const bh_settings *settings, bh_simulation *sim, eqp_message *message)
{
    const bh_mac mac = {.theta = settings->theta,
                        .relative = settings->opening == 1,
                        .alpha = settings->alpha,
                        .G = settings->G,
                        .cutoff = settings->cutoff};
    bh_simulation made = {.settings = settings};
    int code = eqp_comm_create(comm, &made.comm);

    if (code != EQP_OK) {
        eqp_message_set(message, "barneshut: %s", eqp_error_text(code));
        return code;
    }
    *sim = made;
    bh_domain_init(&sim->domain, sim->comm, (int)settings->leaf_size, (int)settings->group_size, settings->cutoff > 0);
    app_map_init(&sim->map);
    code = eqp_array_create(&sim->row, sim->domain.nranks, sizeof *sim->row);
    if (code == EQP_OK) {
        code = app_shares_create("barneshut", &settings->run.share, settings->run.policy.mode == EQP_POLICY_AUTO,
                                 sim->domain.nranks, &sim->shares, message);
    }
    if (code == EQP_OK) {
        code = app_feedback_create(&settings->run, sim->domain.nranks, &sim->feedback);
    }
    if (code == EQP_OK) {
        code = bh_evaluator_create(&mac, settings->softening, bh_settings_kernel(settings),
                                   (bh_precision)settings->precision, &sim->evaluator);
        if (code == EQP_ERR_STATE || code == EQP_ERR_UNKNOWN) {
            eqp_message_set(message, "barneshut: --kernel: %s does not run on this processor",
                            bh_settings_kernel(settings));
            code = EQP_ERR_ARGUMENT;
        }
    }
    if (code == EQP_OK) {
        code = bh_costs_init(&sim->costs);
    }
    if (code == EQP_OK) {
        code = eqp_policy_init(&sim->policy, &settings->run.policy);
    }
    code = eqp_agree(sim->comm, code, message);
    if (code == EQP_OK) {
        sim->evaluator.plan = settings->run.exchange;
        code = eqp_route_fit(sim->comm, &sim->evaluator.plan);
    }
    if (code == EQP_OK && settings->run.schedule != NULL) {
        const eqp_schedule_options rules = app_shares_rules(sim->shares, &settings->run.schedule_rules);
        code = bh_handout_create(sim->comm, settings->run.schedule, &rules, &sim->handout);
        sim->evaluator.handout = sim->handout;
    }
    EQP_TRY(code);
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
    app_shares_free(sim->shares);
    app_feedback_free(sim->feedback);
    sim->feedback = NULL;
    sim->shares = NULL;
    bh_survey_free(&sim->survey);
    app_map_free(&sim->map);
    bh_handout_free(sim->handout);
    sim->handout = NULL;
    bh_evaluator_free(&sim->evaluator);
    bh_domain_free(&sim->domain);
    eqp_comm_free(&sim->comm);
}

int bh_simulation_step(bh_simulation *sim, eqp_message *message)
{
    bh_particles *p = &sim->domain.particles;
    const app_renewal renewal = renewal_of(sim);
    step_ledger ledger = {0};
    int code;

    EQP_TRY(app_renewal_wants(&renewal) ? make_map(sim, true, &ledger, message) : EQP_OK);
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
    app_timings_free(&ledger.evaluated.timings);
    return code;
}
