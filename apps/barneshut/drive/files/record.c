/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *opening_name(const bh_settings *s)
{
    if (s->cutoff > 0) {
        return "none"; /* no cell acts */
    }
    return s->opening == 0 ? "geometric" : "relative";
}

int bh_record_create(void *user, const char *command, app_record **record, eqp_message *message)
{
    const bh_simulation *sim = user;
    static const char *const column[] = {"cycle eff.", "        energy", "    dE/E"};
    const bh_settings *s = sim->settings;
    const eqp_field field[] = {
        eqp_field_text("opening", opening_name(s)),
        eqp_field_real("theta", s->theta),
        eqp_field_real("alpha", s->alpha),
        eqp_field_text("precision", bh_kernel_precision(sim->evaluator.kernel) == BH_MIXED ? "mixed" : "double"),
        eqp_field_text("kernel", bh_kernel_name(sim->evaluator.kernel)),
        eqp_field_real("cutoff", s->cutoff),
        eqp_field_real("softening", s->softening),
        eqp_field_real("G", s->G),
        eqp_field_real("dt", sim->dt),
        eqp_field_count("rungs", s->rungs),
        eqp_field_real("eta", s->eta),
        eqp_field_count("leaf_size", s->leaf_size),
        s->group_size > 0 ? eqp_field_count("group_size", s->group_size) : eqp_field_text("group_size", NULL),
    };
    const app_record_head head = {.program = "barneshut",
                                  .command = command,
                                  .run = &s->run,
                                  .particles = sim->input.total,
                                  .input = sim->input.format,
                                  .nfields = (int)(sizeof field / sizeof field[0]),
                                  .field = field,
                                  .grain_size = sim->problem.ngrains > 1 ? sim->problem.size : NULL,
                                  .ncolumns = sim->rungs.n > 1 ? 3 : 2,
                                  .column = sim->rungs.n > 1 ? column : column + 1,
                                  .ends = 1};

    return app_record_create(sim->comm, &head, record, message);
}

static double energy_of(const bh_sums *sums)
{
    return sums->kinetic + sums->potential;
}

static double norm(const double v[3])
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* A sample of particles, by the rank that computes them. */
static int show(app_record *record, const bh_simulation *sim)
{
    const bh_domain *domain = &sim->domain;
    const bh_particles *p = &domain->particles;
    APP_FREED app_sample *sample = NULL;
    int64_t n = 0;

    for (int64_t i = 0; i < p->n; i++) {
        n += app_record_wants(record, sim->input.total, (uint64_t)p->id[i]);
    }
    EQP_CHECK(eqp_array_create(&sample, n, sizeof *sample));
    n = 0;
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        const int rank = eqp_map_own_rank(eqp_balancer_map(sim->balancer), domain->tag[g]);
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            if (app_record_wants(record, sim->input.total, (uint64_t)p->id[i])) {
                sample[n++] = (app_sample){.rank = rank, .x = {{p->x[i], p->y[i], p->z[i]}}};
            }
        }
    }
    return app_record_show(record, sim->now.common.step, n, sample);
}

/* The step's phases that had turns, as a cycle. *nphases: at first 0. field: [phases][PHASE_FIELDS] */
enum { PHASE_FIELDS = 10 };

static void list_phases(const bh_simulation *sim, int *nphases, eqp_field *field)
{
    for (int k = 0; k < sim->rungs.n; k++) {
        const bh_phase *phase = &sim->now.phase[k];
        const eqp_field of[PHASE_FIELDS] = {
            eqp_field_count("phase", k),
            eqp_field_count("turns", phase->turns),
            eqp_field_real("imbalance_predicted", sim->now.common.phase_predicted[k]),
            eqp_field_real("imbalance_measured", sim->now.common.phase_measured[k]),
            eqp_field_count("interactions", phase->interactions),
            eqp_field_count("ghosts_total", phase->ghosts_total),
            eqp_field_count("ghosts_max", phase->ghosts_max),
            eqp_field_count("bytes_total", phase->bytes_total),
            eqp_field_count("bytes_max", phase->bytes_max),
            eqp_field_count("messages_max", phase->messages_max),
        };
        if (phase->turns > 0) {
            memcpy(field + (ptrdiff_t)PHASE_FIELDS * (*nphases)++, of, sizeof of);
        }
    }
}

/* Fields of every step; some steps have two more. */
enum { ALWAYS = 8 };

int bh_record_step(void *user, app_record *record, eqp_message *message)
{
    const bh_simulation *sim = user;
    const bh_sums *sums = &sim->now.sums;
    const double before = energy_of(&sim->first), drift = energy_of(sums) - before;
    eqp_field phases[BH_RUNGS_MAX * PHASE_FIELDS];
    int nphases = 0, nfields = ALWAYS;

    list_phases(sim, &nphases, phases);
    eqp_field field[ALWAYS + 2] = {
        eqp_field_real("energy", energy_of(sums)),        eqp_field_real("kinetic", sums->kinetic),
        eqp_field_real("potential", sums->potential),     eqp_field_real("virial", sums->virial),
        eqp_field_real("momentum", norm(sums->momentum)), eqp_field_real("angular_momentum", norm(sums->angular)),
        eqp_field_count("substeps", sim->now.substeps),   eqp_field_counts("active", sim->rungs.n, sim->now.active),
    };
    if (sim->rungs.n > 1) {
        field[nfields++] = eqp_field_list("phases", nphases, PHASE_FIELDS, phases);
    }
    if (sim->problem.ngrains > 1) {
        field[nfields++] = eqp_field_count("group_size", sim->domain.group_size);
    }
    char energy[40], change[40], efficiency[40];
    const char *const cell[] = {efficiency, energy, change};
    const app_record_row row = {.step = &sim->now.common,
                                .rows = sim->row,
                                .row_bytes = sizeof *sim->row,
                                .nfields = nfields,
                                .field = field,
                                .cell = sim->rungs.n > 1 ? cell : cell + 1};

    snprintf(energy, sizeof energy, "%.8g", before + drift);
    snprintf(change, sizeof change, "%.1e", before != 0.0 ? drift / fabs(before) : 0.0);
    snprintf(efficiency, sizeof efficiency, "%.1f%%", 100.0 * sim->now.common.cycle_efficiency);
    EQP_CHECK(app_record_step(record, &row, message));
    return app_record_shows(record, sim->now.common.step) ? show(record, sim) : EQP_OK;
}

int bh_record_finish(void *user, app_record *record, eqp_message *message, eqp_message *note)
{
    const bh_simulation *sim = user;
    const int64_t count[] = {sim->now.pairs, sim->now.cells};
    const app_record_totals totals = {.interactions = sim->now.common.interactions,
                                      .nkinds = 2,
                                      .kind = bh_kind_names,
                                      .count = count,
                                      .costs = eqp_balancer_costs(sim->balancer),
                                      .cost_kind = bh_kind_names,
                                      .correlation = sim->now.common.correlation,
                                      .balancer = sim->balancer};

    return app_record_finish(record, &totals, message, note);
}
