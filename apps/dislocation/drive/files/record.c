/* SPDX-License-Identifier: BSD-3-Clause */
#include "../simulation.h"

#include <stdio.h>

int dd_record_create(void *user, const char *command, app_record **record, eqp_message *message)
{
    const dd_simulation *sim = user;
    static const char *const column[] = {"   nodes", "      pairs", "      dt", "    strain", "    stress"};
    const dd_medium *medium = &sim->evaluator.medium;
    dd_isa isa = DD_ISA_AUTO;
    dd_pairs_fn pairs;
    const bool known = dd_pairs_choose((dd_isa)sim->settings->isa, &pairs, &isa) == EQP_OK;
    const eqp_field field[] = {
        eqp_field_count("segments", sim->now.segments),
        eqp_field_text("isa", known ? dd_isa_name(isa) : NULL),
        eqp_field_text("mobility", sim->input.control.mobility),
        eqp_field_text("integrator", sim->input.control.integrator),
        eqp_field_text("loading", sim->loading.kind == DD_CREEP ? "creep" : "strain rate"),
        eqp_field_count("cells_x", sim->cells[0]),
        eqp_field_count("cells_y", sim->cells[1]),
        eqp_field_count("cells_z", sim->cells[2]),
        eqp_field_real("shear_modulus", medium->mu),
        eqp_field_real("poisson", medium->nu),
        eqp_field_real("core_radius", medium->a),
        eqp_field_real("max_seg", sim->rules.max_seg),
        eqp_field_real("min_seg", sim->rules.min_seg),
        eqp_field_real("r_tol", sim->rules.r_tol),
        eqp_field_real("rann", sim->rules.rann),
    };
    const app_record_head head = {.program = "dislocation",
                                  .command = command,
                                  .run = &sim->settings->run,
                                  .particles = sim->now.nodes,
                                  .input = sim->input.format,
                                  .nfields = (int)(sizeof field / sizeof field[0]),
                                  .field = field,
                                  .ncolumns = (int)(sizeof column / sizeof column[0]),
                                  .column = column,
                                  .ends = 2};

    return app_record_create(sim->comm, &head, record, message);
}

/* Samples a segment from an arm of its owner; false if it is not shown, or if the other end owns it. */
static bool take_segment(const app_record *record, const dd_simulation *sim, int64_t i, int k, app_sample *sample)
{
    const dd_domain *domain = &sim->domain;
    const dd_node *node = &domain->network.node[i];
    double back[3];

    if (node->tag > node->arm[k].tag ||
        !app_record_wants(record, sim->now.segments, node->tag * UINT64_C(0x9e3779b97f4a7c15) ^ node->arm[k].tag)) {
        return false;
    }
    const int64_t place = sim->halo.place[sim->halo.first[i] + k];
    dd_domain_offset(domain, node->x, dd_halo_position(domain, &sim->halo, place), back);
    sample->rank = domain->rank;
    for (int d = 0; d < 3; d++) {
        sample->x[0][d] = node->x[d];
        sample->x[1][d] = node->x[d] - back[d];
    }
    return true;
}

/* A sample of segments, by the rank of their owner. */
static int show(app_record *record, const dd_simulation *sim)
{
    const dd_network *network = &sim->domain.network;
    APP_FREED app_sample *sample = NULL;
    int64_t n = 0, room = 0;

    for (int64_t i = 0; i < network->n; i++) {
        for (int k = 0; k < network->node[i].narms; k++) {
            EQP_CHECK(eqp_array_reserve(&sample, &room, n + 1, sizeof *sample));
            n += take_segment(record, sim, i, k, &sample[n]);
        }
    }
    return app_record_show(record, sim->now.common.step, n, sample);
}

int dd_record_step(void *user, app_record *record, eqp_message *message)
{
    const dd_simulation *sim = user;
    const dd_step *now = &sim->now;
    const double volume = sim->domain.edge[0] * sim->domain.edge[1] * sim->domain.edge[2];
    const double b = sim->input.control.burgers;
    const dd_topology_counts *t = &now->topology;
    const eqp_field field[] = {
        eqp_field_real("dt", now->dt),
        eqp_field_count("evaluations", now->evaluations),
        eqp_field_count("nodes", now->nodes),
        eqp_field_count("segments", now->segments),
        eqp_field_count("pairs", now->count[DD_KIND_PAIR]),
        eqp_field_count("parallel_pairs", now->count[DD_KIND_PARALLEL]),
        eqp_field_real("imbalance_work", now->common.imbalance_work),
        eqp_field_real("plastic_strain", now->strain),
        eqp_field_real("stress", now->stress),
        eqp_field_real("density", now->length / (volume * b * b)),
        eqp_field_count("split", t->done[DD_TOPOLOGY_SPLIT]),
        eqp_field_count("cross_slipped", t->done[DD_TOPOLOGY_CROSS_SLIP]),
        eqp_field_count("collided", t->done[DD_TOPOLOGY_COLLIDE]),
        eqp_field_count("zipped", t->done[DD_TOPOLOGY_ZIP]),
        eqp_field_count("coarsened", t->done[DD_TOPOLOGY_COARSEN]),
        eqp_field_count("refined", t->done[DD_TOPOLOGY_REFINE]),
        eqp_field_count("deferred", t->lost),
    };
    char nodes[32], pairs[32], dt[32], strain[32], stress[32];
    const char *const cell[] = {nodes, pairs, dt, strain, stress};
    const app_record_row row = {.step = &now->common,
                                .rows = sim->row,
                                .row_bytes = sizeof *sim->row,
                                .nfields = (int)(sizeof field / sizeof field[0]),
                                .field = field,
                                .cell = cell};

    snprintf(nodes, sizeof nodes, "%lld", (long long)now->nodes);
    snprintf(pairs, sizeof pairs, "%lld", (long long)now->common.interactions);
    snprintf(dt, sizeof dt, "%.2e", now->dt);
    snprintf(strain, sizeof strain, "%.3e", now->strain);
    snprintf(stress, sizeof stress, "%.4g", now->stress);
    EQP_CHECK(app_record_step(record, &row, message));
    return app_record_shows(record, now->common.step) ? show(record, sim) : EQP_OK;
}

int dd_record_finish(void *user, app_record *record, eqp_message *message, eqp_message *note)
{
    const dd_simulation *sim = user;
    const app_record_totals totals = {.interactions = sim->now.common.interactions,
                                      .nkinds = DD_KIND_PARALLEL + 1,
                                      .kind = dd_kind_names,
                                      .count = sim->now.count,
                                      .costs = eqp_balancer_costs(sim->balancer),
                                      .cost_kind = dd_kind_names,
                                      .correlation = sim->now.common.correlation,
                                      .balancer = sim->balancer};

    return app_record_finish(record, &totals, message, note);
}
