/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include "../../../shell/run_files.h"
#include "../../../shell/signals.h"
#include "../stage/window.h"

#include <math.h>

const char *const dd_kind_names[DD_KINDS] = {"pair", "parallel", "run", "segment", "cell"};
const double dd_kind_nominal[DD_KINDS] = {3.4e-8, 1.15e-7, 4.5e-7, 1e-6, 3e-5};

void dd_evaluator_init(dd_evaluator *evaluator, const dd_medium *medium, dd_pairs_fn pairs)
{
    *evaluator = (dd_evaluator){.medium = *medium, .pairs = pairs};
}

void dd_evaluator_free(dd_evaluator *evaluator)
{
    dd_waves_free(evaluator->waves);
    free(evaluator->of_node);
    free(evaluator->of_share);
    eqp_timings_free(evaluator->timings);
    *evaluator = (dd_evaluator){.pairs = NULL};
}

/* Moments of the cells that this rank sums. All of their segments are here, in the same order on every rank. */
static void add_moments(const dd_evaluator *evaluator, dd_stage *stage)
{
    const dd_far *far = evaluator->waves->far;
    const dd_far_sizes *sizes = dd_far_sizes_of(far);
    double *raw = evaluator->waves->scratch;
    dd_field *field = &stage->field;

    for (int64_t m = 0; m < field->nmine; m++) {
        const int64_t c = field->mine[m];
        memset(raw, 0, (size_t)sizes->nraw * sizeof(double));
        for (int64_t i = stage->cell_first[c]; i < stage->cell_first[c + 1]; i++) {
            const dd_segment segment = dd_stage_segment(stage, i);
            dd_far_add_segment(far, c, &segment, raw);
        }
        dd_far_close(far, raw, field->moments + m * sizes->nmoments);
    }
}

static int clear_counts(int64_t n, dd_counts **counts, int64_t *room, int64_t *ncounts)
{
    *ncounts = 0;
    EQP_CHECK(eqp_array_reserve(counts, room, n, sizeof **counts));
    if (n > 0) {
        memset(*counts, 0, (size_t)n * sizeof **counts);
    }
    *ncounts = n;
    return EQP_OK;
}

/* Makes the kernels of the far field for this grid. Collective; the same code on all ranks. */
static int prepare_far(dd_evaluator *evaluator, const dd_domain *domain, const dd_stage *stage)
{
    const dd_grid *grid = &stage->grid;

    if (evaluator->waves != NULL && (memcmp(evaluator->waves->n, grid->n, sizeof grid->n) != 0 ||
                                     (evaluator->waves->node != NULL) != (stage->window != NULL))) {
        dd_waves_free(evaluator->waves);
        evaluator->waves = NULL;
    }
    if (evaluator->waves == NULL && dd_grid_has_far(grid)) {
        EQP_CHECK(dd_waves_create(domain, &evaluator->medium, grid, &evaluator->waves));
    }
    if (evaluator->waves != NULL && stage->window != NULL) {
        dd_waves_share(evaluator->waves, stage->window->far);
    }
    return EQP_OK;
}

/* Buffers for data that travel: positions out, forces back and their sums, forces on arms out and in. */
typedef struct cargo {
    double *out, *mine, *sum, *arms_out, *arms_in; /* parts of one array that starts at `out` */
} cargo;

static int cargo_create(const dd_halo *halo, const dd_stage *stage, cargo *c)
{
    const int64_t n[] = {3 * stage->nends, stage->narrived, 6 * stage->nsend, 3 * halo->ncrossings, 3 * halo->ntheirs};
    double **const part[] = {&c->out, &c->mine, &c->sum, &c->arms_out, &c->arms_in};
    double *all = NULL;

    EQP_CHECK(eqp_array_create(&all, n[0] + n[1] + n[2] + n[3] + n[4], sizeof *all));
    for (int i = 0; i < 5; i++) {
        *part[i] = all;
        all += n[i];
    }
    return EQP_OK;
}

static int prepare(dd_evaluator *evaluator, const dd_domain *domain, const dd_halo *halo, const dd_stage *stage,
                   cargo *c)
{
    evaluator->total = evaluator->mapped = (dd_counts){{0}};
    evaluator->seconds = 0.0;
    evaluator->helped = evaluator->handed_bytes = 0;
    EQP_CHECK(clear_counts(domain->network.n, &evaluator->of_node, &evaluator->node_room, &evaluator->of_nodes));
    EQP_CHECK(clear_counts(stage->shares.n, &evaluator->of_share, &evaluator->share_room, &evaluator->of_shares));
    return cargo_create(halo, stage, c);
}

static void add_force(const dd_stage *stage, int64_t local, const double force[6])
{
    for (int c = 0; c < 6; c++) {
        stage->columns.force[c][local] += force[c];
    }
}

static void own_forces(const dd_evaluator *evaluator, const dd_stage *stage, int64_t cell, int64_t local)
{
    const dd_segment segment = dd_stage_segment(stage, local);
    double force[6];

    dd_self_force(&evaluator->medium, &segment, force);
    add_force(stage, local, force);
    dd_peach_koehler(evaluator->stress, &segment, force);
    add_force(stage, local, force);
    if (evaluator->waves != NULL) {
        dd_far_force(evaluator->waves->far, cell, evaluator->waves->scratch, &segment, force);
        add_force(stage, local, force);
    }
}

typedef struct pass {
    dd_evaluator *evaluator;
    const dd_domain *domain;
    dd_stage *stage;
    dd_batches batches;
    int64_t next; /* target */
} pass;

static int note(pass *p, int64_t local, const dd_target *target, const dd_counts *counts)
{
    dd_account(p->evaluator, p->stage, local, target, counts);
    return dd_batches_add(&p->batches, counts);
}

static int one_cell(pass *p, int64_t cell)
{
    const dd_stage *stage = p->stage;

    while (p->next < stage->ntargets && stage->target[p->next].local < stage->cell_first[cell]) {
        p->next++;
    }
    for (; p->next < stage->ntargets && stage->target[p->next].local < stage->cell_first[cell + 1]; p->next++) {
        const dd_target *target = &stage->target[p->next];
        dd_run runs[DD_GRID_SOURCES];
        dd_counts counts = {{0}};
        const int nruns = dd_stage_target_runs(stage, target, cell, runs);
        if (nruns > 0) {
            dd_compute_pairs(p->evaluator, &stage->columns, target->local, nruns, runs, &counts);
            EQP_CHECK(note(p, target->local, target, &counts));
        }
    }
    return EQP_OK;
}

/* Computes pairs of cells that need own segments only, or of all other cells. */
static int some_cells(pass *p, bool alone)
{
    p->next = 0;
    dd_batches_begin(&p->batches);
    for (int64_t c = 0; c < p->stage->grid.ncells; c++) {
        EQP_CHECK((p->stage->alone[c] != 0) == alone ? one_cell(p, c) : EQP_OK);
    }
    return dd_batches_end(&p->batches);
}

static int own_segments(pass *p)
{
    const dd_stage *stage = p->stage;
    const dd_waves *waves = p->evaluator->waves;
    const dd_counts counts = {.of = {[DD_KIND_SEGMENT] = 1}};
    int64_t live = 0;

    dd_batches_begin(&p->batches);
    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        bool lives = false;
        for (int64_t i = stage->cell_first[c]; i < stage->cell_first[c + 1]; i++) {
            if (stage->source[i] >= 0) {
                if (!lives && waves != NULL) {
                    dd_far_open(waves->far, stage->field.local + live++ * waves->parts.sizes.nlocal, waves->scratch);
                }
                lives = true;
                own_forces(p->evaluator, stage, c, i);
                EQP_CHECK(note(p, i, NULL, &counts));
            }
        }
    }
    return dd_batches_end(&p->batches);
}

static int64_t far_work(const dd_far_parts *parts, int part)
{
    int64_t work = 0;

    for (int stage = 0; stage < DD_FAR_STAGES && parts->nparts > 0; stage++) {
        work += dd_far_parts_work(parts, part, stage);
    }
    return work;
}

void dd_evaluator_base(const dd_grid *grid, const eqp_cost_fit *costs, int nparts, double *seconds)
{
    dd_far_parts parts;

    dd_far_parts_init(&parts, grid, nparts);
    for (int p = 0; p < nparts; p++) {
        const dd_counts counts = {.of = {[DD_KIND_CELL] = far_work(&parts, p)}};
        seconds[p] += eqp_cost_fit_predict(costs, counts.of);
    }
}

/* This rank's part of the far field. computed: this rank's code so far. Collective. */
static int make_far(pass *p, int *computed)
{
    static const int phase[] = {[DD_FAR_FORWARD] = DD_PHASE_COLUMNS, [DD_FAR_COLUMNS] = DD_PHASE_PLANES};
    dd_evaluator *evaluator = p->evaluator;
    dd_waves *waves = evaluator->waves;

    for (int stage = 0; stage < DD_FAR_STAGES; stage++) {
        const int64_t work = dd_far_parts_work(&waves->parts, p->domain->rank, stage);
        dd_batches_begin(&p->batches);
        *computed = *computed == EQP_OK ? dd_waves_compute(waves, stage) : *computed;
        p->batches.batch.of[DD_KIND_CELL] = p->batches.in_batch = work;
        evaluator->mapped.of[DD_KIND_CELL] += work;
        *computed = *computed == EQP_OK ? dd_batches_end(&p->batches) : *computed;
        if (stage < DD_FAR_BACK) {
            const int code = dd_waves_exchange(waves, stage);
            evaluator->traffic[phase[stage]] =
                eqp_route_last_counts(stage == DD_FAR_FORWARD ? waves->to_columns : waves->to_planes);
            EQP_CHECK(code);
        }
    }
    return EQP_OK;
}

/* The far field of all cells with own segments. Collective. */
static int finish_far(pass *p, int *computed)
{
    dd_evaluator *evaluator = p->evaluator;
    dd_field *field = &p->stage->field;

    EQP_CHECK(dd_field_take_moments(field, evaluator->waves));
    evaluator->traffic[DD_PHASE_MOMENTS] = eqp_route_last_counts(field->out);
    EQP_CHECK(make_far(p, computed));
    EQP_CHECK(dd_field_exchange(field, evaluator->waves));
    evaluator->traffic[DD_PHASE_FIELDS] = eqp_route_last_counts(field->back);
    return EQP_OK;
}

/* Sends forces of own segments to the arms at both ends; the far end may live elsewhere. Collective. */
static int give_to_arms(const dd_halo *halo, const dd_stage *stage, const cargo *c)
{
    for (int64_t s = 0; s < stage->nown; s++) {
        const dd_own *own = &stage->own[s];
        double force[6], *far = own->back != NULL ? own->back->force : c->arms_out + 3 * own->crossing;
        for (int k = 0; k < 6; k++) {
            force[k] = stage->columns.force[k][stage->own_local[s]];
        }
        memcpy(own->arm->force, force, sizeof own->arm->force);
        memcpy(far, force + 3, sizeof own->arm->force);
    }
    EQP_CHECK(dd_halo_give(halo, EQP_OK, c->arms_out, c->arms_in));
    for (int64_t a = 0; a < halo->ntheirs; a++) {
        memcpy(halo->theirs[a]->force, c->arms_in + 3 * a, sizeof halo->theirs[a]->force);
    }
    return EQP_OK;
}

/* Fetches positions of remote segments and meanwhile computes everything that needs none. computed: this rank's code of
 * that. */
static int fetch(pass *p, const dd_halo *halo, const cargo *c, int *computed)
{
    EQP_CHECK(dd_stage_start(p->domain, halo, p->stage, c->out));
    p->batches.travelling = p->stage->ends;
    if (p->evaluator->loop == NULL) {
        *computed = some_cells(p, true);
    }
    if (*computed == EQP_OK && p->evaluator->waves == NULL) {
        *computed = own_segments(p);
    }
    p->batches.travelling = NULL;
    const int code = dd_stage_finish(p->domain, p->stage);
    p->evaluator->traffic[DD_PHASE_SEGMENTS] = eqp_route_last_counts(p->stage->ends);
    return code;
}

/* Computes all other pairs (all pairs if they are handed out) while moments travel, then the far field. */
static int compute(pass *p, int *computed)
{
    const bool has_far = p->evaluator->waves != NULL;

    if (has_far) {
        add_moments(p->evaluator, p->stage);
        EQP_CHECK(dd_field_give_moments(&p->stage->field, p->evaluator->waves));
        p->batches.travelling = p->stage->field.out;
    }
    if (p->evaluator->loop != NULL) {
        *computed = dd_hand_out(&p->batches, p->domain, p->stage, *computed);
    } else if (*computed == EQP_OK) {
        *computed = some_cells(p, false);
    }
    p->batches.travelling = NULL;
    if (has_far) {
        EQP_CHECK(finish_far(p, computed));
        *computed = *computed == EQP_OK ? own_segments(p) : *computed;
    }
    return EQP_OK;
}

/* Sends forces to the homes of the segments, and from there to their ends. */
static int deliver(dd_evaluator *evaluator, const dd_halo *halo, dd_stage *stage, const cargo *c, int computed)
{
    int code = dd_stage_return(stage, computed, c->mine, c->sum);

    evaluator->traffic[DD_PHASE_FORCES] = eqp_route_last_counts(stage->route);
    code = code == EQP_OK ? give_to_arms(halo, stage, c) : code;
    evaluator->traffic[DD_PHASE_ARMS] = eqp_route_last_counts(halo->arms);
    evaluator->bytes = evaluator->handed_bytes;
    for (int p = 0; p < DD_PHASES; p++) {
        evaluator->bytes += evaluator->traffic[p].bytes_sent;
    }
    return code;
}

int dd_evaluate(dd_evaluator *evaluator, dd_domain *domain, dd_halo *halo, dd_stage *stage, int code)
{
    pass p = {.evaluator = evaluator, .domain = domain, .stage = stage, .batches = {.evaluator = evaluator}};
    cargo c = {.out = NULL};
    const double begin = eqp_cpu_seconds();
    int computed = EQP_OK;

    code = code == EQP_OK ? stage->code : code;
    code = dd_halo_refresh(domain, halo, code == EQP_OK ? prepare(evaluator, domain, halo, stage, &c) : code);
    evaluator->traffic[DD_PHASE_NODES] = eqp_route_last_counts(halo->nodes);
    EQP_TRY(code);
    EQP_TRY(prepare_far(evaluator, domain, stage));
    EQP_TRY(fetch(&p, halo, &c, &computed));
    EQP_TRY(compute(&p, &computed));
    EQP_TRY(deliver(evaluator, halo, stage, &c, computed));
done:
    free(c.out);
    evaluator->exchange_seconds = fmax(eqp_cpu_seconds_since(begin) - evaluator->seconds, 0.0);
    return code;
}

void dd_counts_add(dd_counts *sum, const dd_counts *counts)
{
    for (int k = 0; k < DD_KINDS; k++) {
        sum->of[k] += counts->of[k];
    }
}

void dd_batches_begin(dd_batches *batches)
{
    batches->batch = (dd_counts){{0}};
    batches->in_batch = 0;
    batches->begin = eqp_cpu_seconds();
}

int dd_batches_end(dd_batches *batches)
{
    dd_evaluator *evaluator = batches->evaluator;
    const double seconds = eqp_cpu_seconds_since(batches->begin);
    int code = EQP_OK;

    if (batches->in_batch > 0) {
        code = eqp_timings_add(evaluator->timings, batches->batch.of, seconds);
        dd_counts_add(&evaluator->total, &batches->batch);
    }
    evaluator->seconds += seconds;
    if (batches->travelling != NULL && code == EQP_OK) {
        code = eqp_route_progress(batches->travelling);
    }
    dd_batches_begin(batches);
    return code;
}

int dd_batches_add(dd_batches *batches, const dd_counts *counts)
{
    int code = app_signals_stop();

    dd_counts_add(&batches->batch, counts);
    if (code == EQP_OK && ++batches->in_batch >= DD_BATCH_TARGETS) {
        code = dd_batches_end(batches);
    }
    return code;
}

void dd_account(dd_evaluator *evaluator, const dd_stage *stage, int64_t local, const dd_target *target,
                const dd_counts *counts)
{
    const int64_t source = stage->source[local];

    dd_counts_add(&evaluator->mapped, counts);
    if (source >= 0) {
        dd_counts_add(&evaluator->of_node[stage->own[source].node], counts);
    } else {
        dd_counts_add(&evaluator->of_share[target->share], counts);
    }
}

void dd_compute_pairs(const dd_evaluator *evaluator, const dd_columns *columns, int64_t place, int nruns,
                      const dd_run *runs, dd_counts *counts)
{
    const dd_segment segment = dd_columns_segment(columns, place);
    dd_pair_counts pairs = {0, 0};
    double force[6] = {0.0};

    evaluator->pairs(&evaluator->medium, &segment, columns, nruns, runs, force, &pairs);
    counts->of[DD_KIND_RUN] += nruns;
    counts->of[DD_KIND_PAIR] += pairs.general;
    counts->of[DD_KIND_PARALLEL] += pairs.parallel;
    for (int c = 0; c < 6; c++) {
        columns->force[c][place] += force[c];
    }
}
