/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include "../../../shell/run_files.h"
#include "../stage/grid.h"

#include <equipoise/more/whatif.h>

#include <limits.h>

const int dd_phase_back[DD_PHASES] = {[DD_PHASE_FORCES] = 1};
const int dd_phase_ghosts[DD_PHASES] = {[DD_PHASE_SEGMENTS] = 1};

#define NODE_BYTES 24  /* a position */
#define FORCE_BYTES 48 /* forces on both ends of a segment */
#define ARM_BYTES 24   /* a force */

typedef struct tracer {
    dd_node_pairs *node_pairs;
    int nparts;
    const eqp_map *map;
    const eqp_placement *placement;
    eqp_evaluation *evaluation;
    dd_far_parts far; /* parts of the far field */
    dd_counts *load;  /* [nparts] */
    dd_counts *
        early; /* [nparts] share of load that overlaps with the exchange of segments; NULL: no overlap, or loads only */
    dd_counts *late;   /* [nparts] share that overlaps with the exchange of moments */
    int *least;        /* [cells] smallest part with segments in the cell, then [cells] the negative of the largest */
    eqp_needs *whole;  /* cells for which a part computes all pairs of a node; NULL: loads only */
    eqp_needs *needed; /* cells whose segments a part needs */
    int *ghost_home;   /* [ghosts] new homes of neighbours; NULL: loads only */
    dd_tallies lives;  /* segments by cell and home */
    dd_tallies arms;   /* arms between parts */
} tracer;

static void add_work(dd_counts *load, const dd_counts *work)
{
    for (int k = 0; k < DD_KINDS; k++) {
        load->of[k] += work->of[k];
    }
}

/* True if the segments of a cell and of its neighbours all live on one part. */
static bool is_alone(const tracer *t, int64_t cell, int part)
{
    const dd_grid *grid = &t->node_pairs->stage->grid;
    int64_t cells[DD_GRID_SOURCES];
    const int n = dd_grid_sources(grid, cell, cells);
    bool alone = true;

    for (int c = 0; c < n && alone; c++) {
        const int least = t->least[cells[c]], most = -t->least[grid->ncells + cells[c]];
        alone = least == INT_MAX || (least == part && most == part);
    }
    return alone;
}

/* Pairs of a node's segments overlap with the exchange of segments or, if they need remote segments, with that of
 * moments. Forces on single segments come after the far field, if any. */
static void note_meanwhile(tracer *t, int64_t node, int part, const dd_counts *work)
{
    if (t->early != NULL) {
        const bool alone = is_alone(t, t->node_pairs->cell[node], part), has_far = t->far.nparts > 0;
        dd_counts *of_pairs = alone ? &t->early[part] : &t->late[part];
        for (int k = 0; k < DD_KINDS; k++) {
            of_pairs->of[k] += k == DD_KIND_SEGMENT ? 0 : work->of[k];
        }
        t->early[part].of[DD_KIND_SEGMENT] += has_far ? 0 : work->of[DD_KIND_SEGMENT];
    }
}

static int need_cell(tracer *t, eqp_needs *needs, int64_t cell, int part)
{
    return t->whole == NULL ? EQP_OK : eqp_needs_add(needs, 1, &cell, &part);
}

/* A part needs a block of segments, out and back. */
static int need_block(const tracer *t, int64_t block, int part)
{
    DD_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_SEGMENTS, block, part));
    return eqp_evaluation_need(t->evaluation, DD_PHASE_FORCES, block, part);
}

static int trace_whole(tracer *t, int64_t node)
{
    const int home = t->placement[node].home;

    add_work(&t->load[home], &t->node_pairs->of_node[node]);
    note_meanwhile(t, node, home, &t->node_pairs->of_node[node]);
    return need_cell(t, t->whole, t->node_pairs->cell[node], home);
}

/* Traces a shared node by source cell. Its home computes the forces on single segments. From the node's own cell a part
 * needs the segments at the node's home. */
static int trace_split(tracer *t, int64_t node)
{
    dd_node_pairs *node_pairs = t->node_pairs;
    const dd_grid *grid = &node_pairs->stage->grid;
    const int home = t->placement[node].home;
    const int64_t cell = node_pairs->cell[node];
    int64_t cells[DD_GRID_SOURCES];
    int part[DD_GRID_SOURCES];
    const int n = dd_grid_sources(grid, cell, cells);
    const dd_meeting *meeting;

    (void)dd_share_ranks(grid, t->map, -1 - t->placement[node].tag, cell, part);
    DD_CHECK(dd_node_pairs_meet(node_pairs, node, &meeting));
    const dd_counts own = {.of = {[DD_KIND_SEGMENT] = node_pairs->of_node[node].of[DD_KIND_SEGMENT]}};
    add_work(&t->load[home], &own);
    note_meanwhile(t, node, home, &own);
    for (int c = 0; c < n; c++) {
        const dd_counts work = {.of = {[DD_KIND_PAIR] = meeting[c].pair,
                                       [DD_KIND_PARALLEL] = meeting[c].parallel,
                                       [DD_KIND_RUN] = meeting[c].runs}};
        add_work(&t->load[part[c]], &work);
        note_meanwhile(t, node, part[c], &work);
        DD_CHECK(need_cell(t, t->needed, cells[c], part[c]));
        if (t->whole != NULL && part[c] != home) {
            DD_CHECK(need_block(t, dd_tally_number(cell, home), part[c]));
        }
    }
    return EQP_OK;
}

/* Work of this rank's nodes, and the homes of their segments. */
static int trace_nodes(tracer *t)
{
    const dd_node_pairs *node_pairs = t->node_pairs;

    for (int64_t i = 0; i < node_pairs->n; i++) {
        const int64_t nsegments = node_pairs->first[i + 1] - node_pairs->first[i];
        if (nsegments > 0) { /* else its neighbours own all of its segments */
            DD_CHECK(t->placement[i].tag < 0 ? trace_split(t, i) : trace_whole(t, i));
        }
        if (nsegments > 0 && t->whole != NULL) {
            const int64_t number = dd_tally_number(node_pairs->cell[i], t->placement[i].home);
            DD_CHECK(dd_tally_add(&t->lives, number, nsegments, 0));
        }
    }
    return EQP_OK;
}

/* Work of the far field. This rank traces a range of the parts. */
static void trace_far(tracer *t)
{
    const dd_node_pairs *node_pairs = t->node_pairs;
    int64_t first, n;

    app_slice(t->nparts, node_pairs->domain->rank, node_pairs->domain->nranks, &first, &n);
    for (int64_t p = first; p < first + n; p++) {
        for (int stage = 0; stage < DD_FAR_STAGES && t->far.nparts > 0; stage++) {
            t->load[p].of[DD_KIND_CELL] += dd_far_parts_work(&t->far, (int)p, stage);
        }
    }
}

static int declare_loads(const tracer *t, const eqp_cost_fit *costs)
{
    for (int p = 0; p < t->nparts; p++) {
        DD_CHECK(eqp_evaluation_load(t->evaluation, p, eqp_cost_fit_predict(costs, t->load[p].of)));
        if (t->early != NULL) {
            DD_CHECK(eqp_evaluation_meanwhile(t->evaluation, DD_PHASE_SEGMENTS, p,
                                              eqp_cost_fit_predict(costs, t->early[p].of)));
            DD_CHECK(eqp_evaluation_meanwhile(t->evaluation, DD_PHASE_MOMENTS, p,
                                              eqp_cost_fit_predict(costs, t->late[p].of)));
        }
    }
    return EQP_OK;
}

/* Finds the parts that hold the segments of every cell, by the nodes of all ranks. */
static int find_lives(tracer *t)
{
    const dd_node_pairs *node_pairs = t->node_pairs;
    const int64_t ncells = node_pairs->stage->grid.ncells;
    int code = ncells <= INT_MAX / 2 ? EQP_OK : EQP_ERR_OVERFLOW;

    code = code == EQP_OK ? eqp_array_create(&t->least, 2 * ncells, sizeof *t->least) : code;
    code = code == EQP_OK ? eqp_array_create(&t->early, t->nparts, sizeof *t->early) : code;
    code = code == EQP_OK ? eqp_array_create(&t->late, t->nparts, sizeof *t->late) : code;
    EQP_TRY(eqp_agree(node_pairs->domain->comm, code, NULL));
    for (int64_t c = 0; c < 2 * ncells; c++) {
        t->least[c] = INT_MAX;
    }
    for (int64_t i = 0; i < node_pairs->n; i++) {
        const int home = t->placement[i].home;
        const int64_t c = node_pairs->cell[i];
        if (node_pairs->first[i + 1] > node_pairs->first[i]) {
            t->least[c] = home < t->least[c] ? home : t->least[c];
            t->least[ncells + c] = -home < t->least[ncells + c] ? -home : t->least[ncells + c];
        }
    }
    if (MPI_Allreduce(MPI_IN_PLACE, t->least, (int)(2 * ncells), MPI_INT, MPI_MIN, node_pairs->domain->comm) !=
        MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
done:
    return code;
}

/* A node computed whole needs its own cell and the forward neighbours. */
static int spread_whole(tracer *t)
{
    eqp_needs_view at;

    DD_CHECK(eqp_needs_view_get(t->whole, &at));
    for (int64_t b = 0; b < at.nblocks; b++) {
        int64_t cells[DD_GRID_SOURCES];
        const int n = dd_grid_sources(&t->node_pairs->stage->grid, at.block[b], cells);
        for (int64_t i = at.first[b]; i < at.first[b + 1]; i++) {
            for (int c = 0; c < n; c++) {
                DD_CHECK(eqp_needs_add(t->needed, 1, &cells[c], &at.part[i]));
            }
        }
    }
    return EQP_OK;
}

static int gather_needs(tracer *t)
{
    const dd_domain *domain = t->node_pairs->domain;
    dd_outbox out = {0};
    dd_inbox in = {0};
    eqp_needs_view view = {.nblocks = 0};
    int code = eqp_needs_view_get(t->needed, &view);

    dd_outbox_fail(&out, code);
    for (int64_t b = 0; b < view.nblocks; b++) {
        for (int64_t i = view.first[b]; i < view.first[b + 1]; i++) {
            const int64_t number = dd_tally_number(view.block[b], view.part[i]);
            dd_outbox_add(&out, (int)(view.block[b] % domain->nranks), &number, sizeof number);
        }
    }
    eqp_needs_free(t->needed);
    t->needed = NULL;
    EQP_TRY(dd_outbox_deliver(domain->comm, &out, &in));
    code = eqp_needs_create(t->nparts, &t->needed);
    for (const int64_t *number; code == EQP_OK && (number = dd_inbox_next(&in, sizeof *number)) != NULL;) {
        const int64_t cell = dd_tally_high(*number);
        const int part = dd_tally_part(*number);
        code = eqp_needs_add(t->needed, 1, &cell, &part);
    }
    code = eqp_agree(domain->comm, code, NULL);
done:
    dd_inbox_free(&in);
    return code;
}

/* Segment ends travel to the parts that compute pairs of the cell; forces come back. */
static int declare_block(const tracer *t, const dd_tally *lives, int64_t nparts, const int *part)
{
    const int home = dd_tally_part(lives->number);

    DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_SEGMENTS, lives->number, DD_END_BYTES * lives->ends,
                                  lives->amount, home));
    DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_FORCES, lives->number, FORCE_BYTES * lives->amount,
                                  lives->amount, home));
    for (int64_t i = 0; i < nparts; i++) {
        DD_CHECK(part[i] != home ? need_block(t, lives->number, part[i]) : EQP_OK);
    }
    return EQP_OK;
}

/* The parts in which a cell's segments live, ascending. */
typedef struct cell_homes {
    const dd_tally *of;
    int64_t n;
} cell_homes;

/* The part that sums a cell's moments: the first one with the most segments in it. */
static int choose_home(const cell_homes *lives)
{
    int64_t best = 0;

    for (int64_t i = 1; i < lives->n; i++) {
        best = lives->of[i].amount > lives->of[best].amount ? i : best;
    }
    return dd_tally_part(lives->of[best].number);
}

/* A chunk of a cell's moments goes to the part that transforms it; a chunk of the local expansion goes to all parts
 * with segments in the cell. */
static int declare_chunk(const tracer *t, int64_t cell, int64_t chunk, int home, const cell_homes *lives)
{
    const dd_far_parts *far = &t->far;
    const int64_t block = cell * far->nchunks + chunk;
    const int owner = dd_far_parts_owner(far, cell / far->sizes.ncells * far->nchunks + chunk);
    const int64_t in = dd_far_parts_chunk(far, far->sizes.nmoments, chunk).n * (int64_t)sizeof(double);
    const int64_t out = dd_far_parts_chunk(far, far->sizes.nlocal, chunk).n * (int64_t)sizeof(double);

    DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_MOMENTS, block, in, 0, home));
    DD_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_MOMENTS, block, owner));
    DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_FIELDS, block, out, 0, owner));
    for (int64_t i = 0; i < lives->n; i++) {
        DD_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_FIELDS, block, dd_tally_part(lives->of[i].number)));
    }
    return EQP_OK;
}

static int declare_far(const tracer *t, int64_t cell, const cell_homes *lives)
{
    const int home = choose_home(lives);

    for (int64_t i = 0; i < lives->n; i++) {
        const int64_t number = lives->of[i].number;
        DD_CHECK(dd_tally_part(number) != home ? need_block(t, number, home) : EQP_OK);
    }
    for (int64_t c = 0; c < t->far.nchunks; c++) {
        DD_CHECK(declare_chunk(t, cell, c, home, lives));
    }
    return EQP_OK;
}

/* Columns of wave numbers between parts. This rank declares every nranks-th item. */
static int declare_columns(const tracer *t)
{
    const dd_far_parts *far = &t->far;
    const int64_t nitems = far->nparts == 0 ? 0 : far->sizes.nplanes * far->nchunks;

    for (int64_t i = t->node_pairs->domain->rank; i < nitems; i += t->node_pairs->domain->nranks) {
        const int owner = dd_far_parts_owner(far, i);
        const int64_t in = dd_far_parts_chunk(far, far->sizes.nmoments, i % far->nchunks).n;
        const int64_t out = dd_far_parts_chunk(far, far->sizes.nlocal, i % far->nchunks).n;
        for (int p = 0; p < far->nparts; p++) {
            const int64_t block = i * far->nparts + p;
            const int64_t bytes = dd_far_parts_columns(far, p).n * 2 * (int64_t)sizeof(double);
            DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_COLUMNS, block, bytes * in, 0, owner));
            DD_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_COLUMNS, block, p));
            DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_PLANES, block, bytes * out, 0, p));
            DD_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_PLANES, block, owner));
        }
    }
    return EQP_OK;
}

static int declare_far_cells(const tracer *t)
{
    int code = EQP_OK;

    for (int64_t i = 0, end; i < t->lives.n && t->far.nparts > 0 && code == EQP_OK; i = end) {
        const int64_t cell = dd_tally_high(t->lives.of[i].number);
        for (end = i; end < t->lives.n && dd_tally_high(t->lives.of[end].number) == cell;) {
            end++;
        }
        code = declare_far(t, cell, &(cell_homes){t->lives.of + i, end - i});
    }
    return code;
}

/* The cells that this rank collects: cells with segments and cells that are needed, both ascending. */
static int declare_segments(const tracer *t)
{
    eqp_needs_view view;
    int64_t b = 0;
    int code = eqp_needs_view_get(t->needed, &view);

    for (int64_t i = 0; i < t->lives.n && code == EQP_OK; i++) {
        const int64_t cell = dd_tally_high(t->lives.of[i].number);
        while (b < view.nblocks && view.block[b] < cell) {
            b++;
        }
        const bool needed = b < view.nblocks && view.block[b] == cell;
        code = declare_block(t, &t->lives.of[i], needed ? view.first[b + 1] - view.first[b] : 0,
                             needed ? view.part + view.first[b] : NULL);
    }
    return code;
}

static int fetch_homes(tracer *t)
{
    const dd_halo *halo = t->node_pairs->halo;
    int *own = NULL, code;

    EQP_TRY(eqp_array_create(&own, t->node_pairs->n, sizeof *own));
    EQP_TRY(eqp_array_create(&t->ghost_home, halo->nghosts, sizeof *t->ghost_home));
    for (int64_t i = 0; i < t->node_pairs->n; i++) {
        own[i] = t->placement[i].home;
    }
done:
    code = eqp_agree(t->node_pairs->domain->comm, code, NULL);
    code = code == EQP_OK ? dd_halo_spread(halo, own, t->ghost_home) : code;
    free(own);
    return code;
}

static int home_at(const tracer *t, int64_t place)
{
    const int64_t n = t->node_pairs->halo->n;

    return place < n ? t->placement[place].home : t->ghost_home[place - n];
}

/* Blocks with a node as an end, each once: its own segments, and segments of neighbours that end in it. */
static int trace_ends(tracer *t, int64_t i)
{
    const dd_node_pairs *node_pairs = t->node_pairs;
    const dd_node *node = &node_pairs->domain->network.node[i];
    int64_t block[DD_MOST_ARMS + 1];
    int n = 0, code = EQP_OK;

    if (node_pairs->first[i + 1] > node_pairs->first[i]) {
        block[n++] = dd_tally_number(node_pairs->cell[i], t->placement[i].home);
    }
    for (int k = 0; k < node->narms; k++) {
        if (node->arm[k].tag < node->tag) {
            const int64_t place = node_pairs->halo->place[node_pairs->halo->first[i] + k];
            block[n++] = dd_tally_number(node_pairs->cell[place], home_at(t, place));
        }
    }
    for (int b = 0; b < n && code == EQP_OK; b++) {
        bool again = false;
        for (int before = 0; before < b; before++) {
            again = again || block[before] == block[b];
        }
        code = again ? EQP_OK : dd_tally_add(&t->lives, block[b], 0, 1);
    }
    return code;
}

static int trace_all_ends(tracer *t)
{
    int code;

    EQP_TRY(fetch_homes(t));
    for (int64_t i = 0; i < t->node_pairs->n && code == EQP_OK; i++) {
        code = trace_ends(t, i);
    }
    code = eqp_agree(t->node_pairs->domain->comm, code, NULL);
done:
    return code;
}

static int declare_cells(const tracer *t)
{
    DD_CHECK(declare_segments(t));
    DD_CHECK(declare_far_cells(t));
    return declare_columns(t);
}

static int trace_segments(tracer *t)
{
    const MPI_Comm comm = t->node_pairs->domain->comm;

    DD_CHECK(eqp_agree(comm, spread_whole(t), NULL));
    eqp_needs_free(t->whole);
    t->whole = NULL;
    DD_CHECK(gather_needs(t));
    DD_CHECK(dd_tallies_gather(comm, &t->lives));
    return eqp_agree(comm, declare_cells(t), NULL);
}

/* A node's position goes to the homes of its neighbours; so do forces on the far ends of its own segments. */
static int declare_node(tracer *t, int64_t i, int64_t block)
{
    const dd_node *node = &t->node_pairs->domain->network.node[i];
    const dd_halo *halo = t->node_pairs->halo;
    const int home = t->placement[i].home;
    bool declared = false;

    DD_CHECK(eqp_evaluation_held(t->evaluation, home, 1));
    for (int k = 0; k < node->narms; k++) {
        const int other = home_at(t, halo->place[halo->first[i] + k]);
        if (other == home) {
            continue;
        }
        if (!declared) {
            DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_NODES, block, NODE_BYTES, 0, home));
            declared = true;
        }
        DD_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_NODES, block, other));
        if (node->tag < node->arm[k].tag) {
            DD_CHECK(dd_tally_add(&t->arms, dd_tally_number(home, other), ARM_BYTES, 0));
        }
    }
    return EQP_OK;
}

/* Forces on arms between parts that this rank has summed. */
static int declare_arms(const tracer *t)
{
    for (int64_t i = 0; i < t->arms.n; i++) {
        const int64_t number = t->arms.of[i].number;
        DD_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_ARMS, number, t->arms.of[i].amount, 0,
                                      (int)dd_tally_high(number)));
        DD_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_ARMS, number, dd_tally_part(number)));
    }
    return EQP_OK;
}

static int trace_arms(tracer *t)
{
    const MPI_Comm comm = t->node_pairs->domain->comm;
    int64_t before = 0;
    int code;

    EQP_TRY(eqp_scan_int64(comm, t->node_pairs->n, &before, NULL));
    for (int64_t i = 0; i < t->node_pairs->n && code == EQP_OK; i++) {
        code = declare_node(t, i, before + i);
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(dd_tallies_gather(comm, &t->arms));
    EQP_TRY(eqp_agree(comm, declare_arms(t), NULL));
done:
    return code;
}

static int trace_loads(tracer *t, const eqp_cost_fit *costs, bool loads_only)
{
    int code = eqp_array_create(&t->load, t->nparts, sizeof *t->load);

    if (!loads_only && t->node_pairs->evaluator->loop == NULL) { /* pairs that are handed out wait for all data */
        const int found = find_lives(t);
        code = code == EQP_OK ? found : code;
    }
    EQP_TRY(code);
    if (!loads_only) {
        EQP_TRY(eqp_needs_create(t->nparts, &t->whole));
        EQP_TRY(eqp_needs_create(t->nparts, &t->needed));
    }
    EQP_TRY(trace_nodes(t));
    trace_far(t);
    EQP_TRY(declare_loads(t, costs));
done:
    return code;
}

int dd_trace(dd_node_pairs *node_pairs, const eqp_cost_fit *costs, int nparts, const eqp_map *map,
             const eqp_placement *placement, bool loads_only, eqp_evaluation *evaluation)
{
    tracer t = {
        .node_pairs = node_pairs, .nparts = nparts, .map = map, .placement = placement, .evaluation = evaluation};
    int code;

    dd_far_parts_init(&t.far, &node_pairs->stage->grid, nparts);
    EQP_TRY(eqp_agree(node_pairs->domain->comm, trace_loads(&t, costs, loads_only), NULL));
    if (!loads_only) {
        EQP_TRY(trace_all_ends(&t));
        EQP_TRY(trace_segments(&t));
        EQP_TRY(trace_arms(&t));
    }
done:
    free(t.load);
    free(t.early);
    free(t.late);
    free(t.least);
    free(t.ghost_home);
    free(t.lives.of);
    free(t.arms.of);
    eqp_needs_free(t.whole);
    eqp_needs_free(t.needed);
    return code;
}
