/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include "../../common/run_files.h"
#include "../physics/elastic/self.h"
#include "outbox.h"
#include "share.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

const char *const dd_kind_names[DD_KINDS] = {"pair", "parallel", "run", "segment", "cell"};
const double dd_kind_nominal[DD_KINDS] = {1e-7, 4e-7, 2e-7, 5e-7, 1e-7};

/* So many segments are timed together: reading the clock costs as much as some pairs. */
#define BATCH_TARGETS 32

void dd_evaluator_init(dd_evaluator *evaluator, const dd_medium *medium, dd_pairs_fn pairs)
{
    *evaluator = (dd_evaluator){.medium = *medium, .pairs = pairs};
}

void dd_evaluator_free(dd_evaluator *evaluator)
{
    dd_far_free(evaluator->far);
    free(evaluator->of_node);
    free(evaluator->memory);
    free(evaluator->chosen);
    app_timings_free(&evaluator->timings);
    *evaluator = (dd_evaluator){.pairs = NULL};
}

void dd_node_force(const dd_node *node, double force[3])
{
    force[0] = force[1] = force[2] = 0.0;
    for (int k = 0; k < node->narms; k++) {
        for (int d = 0; d < 3; d++) {
            force[d] += node->arm[k].force[d];
        }
    }
}

/* Moments of all cells, on all ranks. */
static int gather_moments(const dd_evaluator *evaluator, const dd_domain *domain, const dd_stage *stage)
{
    const int64_t n = dd_far_moments_size(evaluator->far);
    double *moments = NULL;
    int code = eqp_array_create(&moments, n, sizeof *moments);

    for (int64_t c = 0; c < stage->grid.ncells && code == EQP_OK; c++) {
        for (int64_t i = stage->cell_first[c]; i < stage->cell_first[c + 1]; i++) {
            if (stage->source[i] >= 0) {
                const dd_segment segment = dd_stage_segment(stage, i);
                dd_far_add_segment(evaluator->far, c, &segment, moments);
            }
        }
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_sum_double(domain->comm, n, moments);
    }
    if (code == EQP_OK) {
        dd_far_set_moments(evaluator->far, moments);
    }
    free(moments);
    return code;
}

static bool any_far(const dd_far *far, int64_t ncells)
{
    for (int64_t c = 0; c < ncells; c++) {
        if (dd_far_count(far, c) > 0) {
            return true;
        }
    }
    return false;
}

/* The far field needs its table for this grid, and counts per node start from none. */
static int prepare(dd_evaluator *evaluator, const dd_domain *domain, const dd_stage *stage)
{
    const int64_t n = domain->network.n;
    int code = eqp_array_reserve(&evaluator->of_node, &evaluator->node_room, n, sizeof *evaluator->of_node);

    if (code == EQP_OK && n > 0) {
        memset(evaluator->of_node, 0, (size_t)n * sizeof *evaluator->of_node);
    }
    evaluator->of_nodes = code == EQP_OK ? n : 0;
    evaluator->total = (dd_counts){{0}};
    evaluator->seconds = 0.0;
    if (code == EQP_OK && memcmp(evaluator->far_cells, stage->grid.n, sizeof evaluator->far_cells) != 0) {
        dd_far_free(evaluator->far);
        evaluator->far = NULL;
        code = dd_far_create(&evaluator->medium, domain->low, domain->edge, stage->grid.n, &evaluator->far);
        memcpy(evaluator->far_cells, stage->grid.n, sizeof evaluator->far_cells);
        evaluator->has_far = code == EQP_OK && any_far(evaluator->far, stage->grid.ncells);
    }
    if (code != EQP_OK) {
        memset(evaluator->far_cells, 0, sizeof evaluator->far_cells);
    }
    return code;
}

static void add_force(const dd_stage *stage, int64_t local, const double force[6])
{
    for (int c = 0; c < 6; c++) {
        stage->columns.force[c][local] += force[c];
    }
}

/* What acts on one segment alone. */
static void own_forces(const dd_evaluator *evaluator, const dd_stage *stage, int64_t cell, int64_t local,
                       const double *field)
{
    const dd_segment segment = dd_stage_segment(stage, local);
    double force[6];

    dd_self_force(&evaluator->medium, &segment, force);
    add_force(stage, local, force);
    dd_peach_koehler(evaluator->stress, &segment, force);
    add_force(stage, local, force);
    if (field != NULL) {
        dd_far_force(evaluator->far, cell, field, &segment, force);
        add_force(stage, local, force);
    }
}

static void all_pairs(const dd_evaluator *evaluator, const dd_stage *stage, int64_t cell, int64_t local,
                      dd_counts *counts)
{
    const dd_segment segment = dd_stage_segment(stage, local);
    dd_pair_counts pairs = {0, 0};
    dd_run runs[DD_GRID_RUNS + 1];
    double force[6] = {0.0};
    const int nruns = dd_stage_runs(stage, local, cell, runs);

    for (int r = 0; r < nruns; r++) {
        evaluator->pairs(&evaluator->medium, &segment, &stage->columns, runs[r].first, runs[r].n, force, &pairs);
    }
    counts->of[DD_KIND_RUN] += nruns;
    counts->of[DD_KIND_PAIR] += pairs.general;
    counts->of[DD_KIND_PARALLEL] += pairs.parallel;
    add_force(stage, local, force);
}

static void add_counts(dd_counts *sum, const dd_counts *counts)
{
    for (int k = 0; k < DD_KINDS; k++) {
        sum->of[k] += counts->of[k];
    }
}

/* One pass over the local segments, cell by cell. */
typedef struct pass {
    dd_evaluator *evaluator;
    const dd_domain *domain;
    const dd_stage *stage;
    const app_map *map;
    double *fields;    /* [cells][DD_FAR_FIELD]; NULL: no cell is far from another */
    dd_outbox counted; /* work for owners that live elsewhere */
    double begin;      /* of the batch */
    dd_counts batch;
    int64_t in_batch;
    int64_t next; /* target */
} pass;

static int end_batch(pass *p)
{
    const double now = eqp_cpu_seconds();
    int code = EQP_OK;

    if (p->in_batch > 0) {
        code = app_timings_add(&p->evaluator->timings, DD_KINDS, p->batch.of, now - p->begin);
        add_counts(&p->evaluator->total, &p->batch);
    }
    p->batch = (dd_counts){{0}};
    p->in_batch = 0;
    p->begin = now;
    return code;
}

/* A segment's work, to its owner's account. */
typedef struct account {
    dd_tag owner;
    dd_counts counts;
} account;

static void note(pass *p, int64_t local, const dd_counts *counts)
{
    const int64_t source = p->stage->source[local];

    add_counts(&p->batch, counts);
    if (source >= 0) {
        add_counts(&p->evaluator->of_node[p->stage->own_node[source]], counts);
    } else {
        const account a = {p->stage->key[local].owner, *counts};
        dd_outbox_add(&p->counted, dd_stage_sender(p->stage, -1 - source), &a, sizeof a);
    }
}

static int one_cell(pass *p, int64_t cell)
{
    const dd_stage *stage = p->stage;
    const double *field = p->fields == NULL ? NULL : p->fields + cell * DD_FAR_FIELD;
    int code = EQP_OK;

    for (int64_t i = stage->cell_first[cell]; i < stage->cell_first[cell + 1] && code == EQP_OK; i++) {
        dd_counts counts = {{0}};
        if (stage->source[i] >= 0) {
            own_forces(p->evaluator, stage, cell, i, field);
            counts.of[DD_KIND_SEGMENT] = 1;
        }
        if (p->next < stage->ntargets && stage->target[p->next].local == i) {
            if (stage->target[p->next].split < 0) {
                all_pairs(p->evaluator, stage, cell, i, &counts);
            } else {
                code = dd_share_pairs(p->evaluator, p->domain, stage, p->map, &stage->target[p->next], cell, &counts);
            }
            p->next++;
        }
        if (counts.of[DD_KIND_SEGMENT] > 0 || counts.of[DD_KIND_RUN] > 0) {
            note(p, i, &counts);
            p->in_batch++;
        }
        if (p->in_batch >= BATCH_TARGETS && code == EQP_OK) {
            code = end_batch(p);
        }
    }
    return code;
}

/* The far field of all cells: each rank computes a run of them, so that no cell is done twice, and all get all. */
static int compute_far(pass *p)
{
    const int64_t ncells = p->stage->grid.ncells;
    const double begin = eqp_cpu_seconds();
    int64_t first, n, nall = 0, *counted = &p->batch.of[DD_KIND_CELL];
    double *mine = NULL, *all = NULL;
    int code;

    app_slice(ncells, p->domain->rank, p->domain->nranks, &first, &n);
    code = eqp_array_create(&mine, n * DD_FAR_FIELD, sizeof *mine);
    if (code == EQP_OK) {
        dd_far_stress_run(p->evaluator->far, first, n, mine);
        for (int64_t c = first; c < first + n; c++) {
            *counted += dd_far_count(p->evaluator->far, c);
        }
        p->begin = begin;
        p->in_batch = n;
        code = end_batch(p);
        p->evaluator->seconds += p->begin - begin;
    }
    code = eqp_agree(p->domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_gather_records(p->domain->comm, sizeof *mine, n * DD_FAR_FIELD, mine, &nall, &all);
    }
    free(mine);
    if (code == EQP_OK) {
        p->fields = all;
    }
    return code;
}

static int compute(pass *p)
{
    const double begin = eqp_cpu_seconds();
    int code = EQP_OK;

    p->begin = begin;
    for (int64_t c = 0; c < p->stage->grid.ncells && code == EQP_OK; c++) {
        code = one_cell(p, c);
    }
    if (code == EQP_OK) {
        code = end_batch(p);
    }
    p->evaluator->seconds += eqp_cpu_seconds() - begin;
    return eqp_agree(p->domain->comm, code, NULL);
}

/* Work of shared owners, to where they live. */
static int settle_accounts(pass *p)
{
    dd_inbox in = {0};
    int code;

    if (p->map->nsplit == 0) { /* the same on all ranks */
        dd_outbox_free(&p->counted);
        return EQP_OK;
    }
    code = dd_outbox_deliver(p->domain->comm, &p->counted, &in);
    while (code == EQP_OK && !dd_inbox_empty(&in)) {
        account a;
        code = dd_inbox_read(&in, &a, sizeof a);
        if (code == EQP_OK) {
            const int64_t place = dd_network_find(&p->domain->network, a.owner);
            code = place < 0 ? EQP_ERR_INTERNAL : EQP_OK;
            if (code == EQP_OK) {
                add_counts(&p->evaluator->of_node[place], &a.counts);
            }
        }
    }
    dd_inbox_free(&in);
    return eqp_agree(p->domain->comm, code, NULL);
}

static void set_arm(dd_domain *domain, int64_t node, int arm, const double force[3])
{
    memcpy(domain->network.node[node].arm[arm].force, force, 3 * sizeof *force);
}

/* Forces of own segments to both ends' arms; the far end may live elsewhere. */
static int give_to_arms(dd_domain *domain, const dd_halo *halo, const dd_stage *stage)
{
    double(*out)[3] = NULL, (*in)[3] = NULL;
    int code = eqp_array_create(&out, halo->narms, sizeof *out);

    if (code == EQP_OK) {
        code = eqp_array_create(&in, halo->narms, sizeof *in);
    }
    code = eqp_agree(domain->comm, code, NULL);
    for (int64_t s = 0; s < stage->nown && code == EQP_OK; s++) {
        const int64_t i = stage->own_local[s], node = stage->own_node[s];
        const int64_t far = halo->place[halo->first[node] + stage->own_arm[s]];
        double force[6];
        for (int c = 0; c < 6; c++) {
            force[c] = stage->columns.force[c][i];
        }
        set_arm(domain, node, stage->own_arm[s], force);
        if (far < halo->n) {
            dd_node *other = &domain->network.node[far];
            dd_arm *back = dd_node_find_arm(other, domain->network.node[node].tag);
            if (back == NULL) {
                code = EQP_ERR_INTERNAL;
                break;
            }
            memcpy(back->force, force + 3, sizeof back->force);
        } else {
            memcpy(out[stage->own_crossing[s]], force + 3, sizeof *out);
        }
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = dd_halo_swap(domain, halo, (const double *)out, (double *)in);
    }
    for (int64_t a = 0; a < halo->narms && code == EQP_OK; a++) {
        const dd_node *node = &domain->network.node[halo->arm_node[a]];
        if (node->tag > node->arm[halo->arm_of[a]].tag) { /* the other end owns it and has sent */
            set_arm(domain, halo->arm_node[a], halo->arm_of[a], in[a]);
        }
    }
    free(in);
    free(out);
    return code;
}

static int64_t bytes_of(const dd_domain *domain, const dd_halo *halo, const dd_stage *stage)
{
    return (int64_t)sizeof(double) * (6 * halo->nsend + 3 * halo->narms + 6 * stage->nsend + 6 * stage->nghosts +
                                      (domain->nranks > 1 ? (DD_FAR_MOMENTS + DD_FAR_FIELD) * stage->grid.ncells : 0));
}

int dd_evaluate(dd_evaluator *evaluator, dd_domain *domain, dd_halo *halo, dd_stage *stage, const app_map *map)
{
    pass p = {.evaluator = evaluator, .domain = domain, .stage = stage, .map = map};
    double begin = eqp_cpu_seconds();
    int code = eqp_agree(domain->comm, prepare(evaluator, domain, stage), NULL);

    if (code == EQP_OK) {
        code = dd_halo_refresh(domain, halo);
    }
    if (code == EQP_OK) {
        code = dd_stage_refresh(domain, halo, stage);
    }
    if (code == EQP_OK && evaluator->has_far) {
        code = gather_moments(evaluator, domain, stage);
        if (code == EQP_OK) {
            code = compute_far(&p);
        }
    }
    evaluator->exchange_seconds = eqp_cpu_seconds() - begin - evaluator->seconds;
    if (code == EQP_OK) {
        code = compute(&p);
    }
    begin = eqp_cpu_seconds();
    if (code == EQP_OK) {
        code = settle_accounts(&p);
    }
    if (code == EQP_OK) {
        code = dd_stage_return(domain, stage);
    }
    if (code == EQP_OK) {
        code = give_to_arms(domain, halo, stage);
    }
    dd_outbox_free(&p.counted);
    free(p.fields);
    evaluator->exchange_seconds += eqp_cpu_seconds() - begin;
    evaluator->bytes = bytes_of(domain, halo, stage);
    return code;
}
