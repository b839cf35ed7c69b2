/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include "../../../shell/run_files.h"

#include <equipoise/more/whatif.h>

#include <limits.h>

#define NODE_BYTES 24  /* a position */
#define FORCE_BYTES 48 /* forces on both ends of a segment */
#define ARM_BYTES 24   /* a force */

#define PART_BITS 16

/* An amount, and its number of nodes that are segment ends. The number combines a high part below 2^47, such as a cell,
 * and a part of the map below 2^16. */
typedef struct tally {
    int64_t number;
    int64_t amount, ends;
} tally;

typedef struct tallies {
    int64_t n, room;
    tally *of; /* owned */
} tallies;

static int64_t number_of(int64_t high, int part)
{
    return high << PART_BITS | part;
}

static int64_t high_of(const tally *of)
{
    return of->number >> PART_BITS;
}

static int part_of(const tally *of)
{
    return (int)(of->number & (((int64_t)1 << PART_BITS) - 1));
}

static int add(tallies *list, int64_t number, int64_t amount, int64_t ends)
{
    if (list->n == 0 || list->of[list->n - 1].number != number) {
        EQP_CHECK(eqp_array_reserve(&list->of, &list->room, list->n + 1, sizeof *list->of));
        list->of[list->n++] = (tally){number, 0, 0};
    }
    list->of[list->n - 1].amount += amount;
    list->of[list->n - 1].ends += ends;
    return EQP_OK;
}

/* Adds the amounts of equal numbers: each number once, ascending. */
static void sum(tallies *list)
{
    int64_t n = 0;

    dd_sort(list->of, list->n, sizeof *list->of, dd_by_word);
    for (int64_t i = 0; i < list->n; i++) {
        if (n > 0 && list->of[n - 1].number == list->of[i].number) {
            list->of[n - 1].amount += list->of[i].amount;
            list->of[n - 1].ends += list->of[i].ends;
        } else {
            list->of[n++] = list->of[i];
        }
    }
    list->n = n;
}

/* Sums each amount on the rank of its high part. Collective. */
static int gather(const dd_domain *domain, tallies *list)
{
    DD_FREED int *rank = NULL;
    tally *in = NULL;
    int64_t n = 0;

    EQP_CHECK(eqp_agree(domain->comm, eqp_array_create(&rank, list->n, sizeof *rank), NULL));
    sum(list);
    for (int64_t i = 0; i < list->n; i++) {
        rank[i] = (int)(high_of(&list->of[i]) % domain->nranks);
    }
    EQP_CHECK(eqp_send_records(domain->comm, sizeof *in, list->n, rank, list->of, &n, &in));
    free(list->of);
    *list = (tallies){n, n, in};
    sum(list);
    return EQP_OK;
}

/* Work of a part: in all, and the shares that overlap with the exchanges of segments and of moments. */
typedef struct part_work {
    dd_counts load, early, late;
} part_work;

typedef struct tracer {
    dd_node_pairs *node_pairs;
    int nparts;
    const eqp_map *map;
    const eqp_placement *placement;
    eqp_evaluation *evaluation;
    bool loads_only;
    bool overlaps;    /* work overlaps with exchanges */
    dd_far_parts far; /* parts of the far field */
    part_work *work;  /* [nparts] */
    int *least;       /* [cells] smallest part with segments in the cell, then [cells] the negative of the largest */
    int *home;        /* [nodes + ghosts] new homes */
    tallies whole;    /* cells for which a part computes all pairs of a node */
    tallies needed;   /* cells whose segments a part needs */
    tallies lives;    /* segments by cell and home */
    tallies arms;     /* arms between parts */
} tracer;

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

/* Books work on a node for a part. Pairs of its segments overlap with the exchange of segments or, if they need remote
 * segments, with that of moments. Forces on single segments come after the far field, if any. */
static void book(tracer *t, int64_t node, int part, const dd_counts *work)
{
    part_work *of = &t->work[part];

    dd_counts_add(&of->load, work);
    if (t->overlaps) {
        const bool has_far = t->far.nparts > 0;
        dd_counts pairs = *work;
        pairs.of[DD_KIND_SEGMENT] = 0;
        dd_counts_add(is_alone(t, t->node_pairs->cell[node], part) ? &of->early : &of->late, &pairs);
        of->early.of[DD_KIND_SEGMENT] += has_far ? 0 : work->of[DD_KIND_SEGMENT];
    }
}

/* A part needs a block of segments, out and back. */
static int need_block(const tracer *t, int64_t block, int part)
{
    EQP_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_SEGMENTS, block, part));
    return eqp_evaluation_need(t->evaluation, DD_PHASE_FORCES, block, part);
}

static int trace_whole(tracer *t, int64_t node)
{
    const int home = t->placement[node].home;

    book(t, node, home, &t->node_pairs->of_node[node]);
    return t->loads_only ? EQP_OK : add(&t->whole, number_of(t->node_pairs->cell[node], home), 0, 0);
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
    EQP_CHECK(dd_node_pairs_meet(node_pairs, node, &meeting));
    book(t, node, home, &(dd_counts){.of = {[DD_KIND_SEGMENT] = node_pairs->of_node[node].of[DD_KIND_SEGMENT]}});
    for (int c = 0; c < n; c++) {
        book(t, node, part[c],
             &(dd_counts){.of = {[DD_KIND_PAIR] = meeting[c].pair,
                                 [DD_KIND_PARALLEL] = meeting[c].parallel,
                                 [DD_KIND_RUN] = meeting[c].runs}});
        if (!t->loads_only) {
            EQP_CHECK(add(&t->needed, number_of(cells[c], part[c]), 0, 0));
            EQP_CHECK(part[c] != home ? need_block(t, number_of(cell, home), part[c]) : EQP_OK);
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
            EQP_CHECK(t->placement[i].tag < 0 ? trace_split(t, i) : trace_whole(t, i));
        }
        if (nsegments > 0 && !t->loads_only) {
            EQP_CHECK(add(&t->lives, number_of(node_pairs->cell[i], t->placement[i].home), nsegments, 0));
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
            t->work[p].load.of[DD_KIND_CELL] += dd_far_parts_work(&t->far, (int)p, stage);
        }
    }
}

static int declare_loads(const tracer *t, const eqp_cost_fit *costs)
{
    for (int p = 0; p < t->nparts; p++) {
        const part_work *of = &t->work[p];
        EQP_CHECK(eqp_evaluation_load(t->evaluation, p, eqp_cost_fit_predict(costs, of->load.of)));
        if (t->overlaps) {
            EQP_CHECK(eqp_evaluation_meanwhile(t->evaluation, DD_PHASE_SEGMENTS, p,
                                               eqp_cost_fit_predict(costs, of->early.of)));
            EQP_CHECK(
                eqp_evaluation_meanwhile(t->evaluation, DD_PHASE_MOMENTS, p, eqp_cost_fit_predict(costs, of->late.of)));
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
    EQP_CHECK(eqp_agree(node_pairs->domain->comm, code, NULL));
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
    return MPI_Allreduce(MPI_IN_PLACE, t->least, (int)(2 * ncells), MPI_INT, MPI_MIN, node_pairs->domain->comm) ==
                   MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

/* A node computed whole needs its own cell and the forward neighbours. */
static int spread_whole(tracer *t)
{
    sum(&t->whole);
    for (int64_t i = 0; i < t->whole.n; i++) {
        int64_t cells[DD_GRID_SOURCES];
        const int n = dd_grid_sources(&t->node_pairs->stage->grid, high_of(&t->whole.of[i]), cells);
        for (int c = 0; c < n; c++) {
            EQP_CHECK(add(&t->needed, number_of(cells[c], part_of(&t->whole.of[i])), 0, 0));
        }
    }
    return EQP_OK;
}

/* Segment ends travel to the parts that compute pairs of the cell; forces come back. needed: [n] of this cell. */
static int declare_block(const tracer *t, const tally *lives, int64_t n, const tally *needed)
{
    const int home = part_of(lives);

    EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_SEGMENTS, lives->number, DD_END_BYTES * lives->ends,
                                   lives->amount, home));
    EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_FORCES, lives->number, FORCE_BYTES * lives->amount,
                                   lives->amount, home));
    for (int64_t i = 0; i < n; i++) {
        EQP_CHECK(part_of(&needed[i]) != home ? need_block(t, lives->number, part_of(&needed[i])) : EQP_OK);
    }
    return EQP_OK;
}

/* A chunk of a cell's moments goes to the part that transforms it; a chunk of the local expansion goes to all parts
 * with segments in the cell. lives: [n]. */
static int declare_chunk(const tracer *t, int64_t cell, int64_t chunk, int home, int64_t n, const tally *lives)
{
    const dd_far_parts *far = &t->far;
    const int64_t block = cell * far->nchunks + chunk;
    const int owner = dd_far_parts_owner(far, cell / far->sizes.ncells * far->nchunks + chunk);
    const int64_t in = dd_far_parts_chunk(far, far->sizes.nmoments, chunk).n * (int64_t)sizeof(double);
    const int64_t out = dd_far_parts_chunk(far, far->sizes.nlocal, chunk).n * (int64_t)sizeof(double);

    EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_MOMENTS, block, in, 0, home));
    EQP_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_MOMENTS, block, owner));
    EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_FIELDS, block, out, 0, owner));
    for (int64_t i = 0; i < n; i++) {
        EQP_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_FIELDS, block, part_of(&lives[i])));
    }
    return EQP_OK;
}

/* The first part with the most segments in a cell sums its moments. lives: [n] parts with segments in it, ascending. */
static int declare_far(const tracer *t, int64_t cell, int64_t n, const tally *lives)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n; i++) {
        best = lives[i].amount > lives[best].amount ? i : best;
    }
    for (int64_t i = 0; i < n; i++) {
        EQP_CHECK(i != best ? need_block(t, lives[i].number, part_of(&lives[best])) : EQP_OK);
    }
    for (int64_t c = 0; c < t->far.nchunks; c++) {
        EQP_CHECK(declare_chunk(t, cell, c, part_of(&lives[best]), n, lives));
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
            EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_COLUMNS, block, bytes * in, 0, owner));
            EQP_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_COLUMNS, block, p));
            EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_PLANES, block, bytes * out, 0, p));
            EQP_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_PLANES, block, owner));
        }
    }
    return EQP_OK;
}

static int64_t end_of_cell(const tallies *list, int64_t i, int64_t cell)
{
    while (i < list->n && high_of(&list->of[i]) == cell) {
        i++;
    }
    return i;
}

/* The cells that this rank collects: cells with segments and cells that are needed, both ascending. */
static int declare_cells(const tracer *t)
{
    for (int64_t i = 0, b = 0; i < t->lives.n; i++) {
        const int64_t cell = high_of(&t->lives.of[i]);
        while (b < t->needed.n && high_of(&t->needed.of[b]) < cell) {
            b++;
        }
        EQP_CHECK(declare_block(t, &t->lives.of[i], end_of_cell(&t->needed, b, cell) - b, t->needed.of + b));
    }
    for (int64_t i = 0, end; i < t->lives.n && t->far.nparts > 0; i = end) {
        const int64_t cell = high_of(&t->lives.of[i]);
        end = end_of_cell(&t->lives, i, cell);
        EQP_CHECK(declare_far(t, cell, end - i, t->lives.of + i));
    }
    return declare_columns(t);
}

static int fetch_homes(tracer *t)
{
    const dd_node_pairs *node_pairs = t->node_pairs;
    const int code = eqp_array_create(&t->home, node_pairs->n + node_pairs->halo->nghosts, sizeof *t->home);

    for (int64_t i = 0; i < node_pairs->n && code == EQP_OK; i++) {
        t->home[i] = t->placement[i].home;
    }
    EQP_CHECK(eqp_agree(node_pairs->domain->comm, code, NULL));
    return dd_halo_spread(node_pairs->halo, t->home, t->home + node_pairs->n);
}

/* Blocks with a node as an end, each once: its own segments, and segments of neighbours that end in it. */
static int trace_ends(tracer *t, int64_t i)
{
    const dd_node_pairs *node_pairs = t->node_pairs;
    const dd_node *node = &node_pairs->domain->network.node[i];
    int64_t block[DD_MOST_ARMS + 1];
    int n = 0;

    if (node_pairs->first[i + 1] > node_pairs->first[i]) {
        block[n++] = number_of(node_pairs->cell[i], t->home[i]);
    }
    for (int k = 0; k < node->narms; k++) {
        if (node->arm[k].tag < node->tag) {
            const int64_t place = node_pairs->halo->place[node_pairs->halo->first[i] + k];
            block[n++] = number_of(node_pairs->cell[place], t->home[place]);
        }
    }
    for (int b = 0; b < n; b++) {
        bool again = false;
        for (int before = 0; before < b; before++) {
            again = again || block[before] == block[b];
        }
        EQP_CHECK(again ? EQP_OK : add(&t->lives, block[b], 0, 1));
    }
    return EQP_OK;
}

static int trace_all_ends(tracer *t)
{
    for (int64_t i = 0; i < t->node_pairs->n; i++) {
        EQP_CHECK(trace_ends(t, i));
    }
    return EQP_OK;
}

static int trace_segments(tracer *t)
{
    const dd_domain *domain = t->node_pairs->domain;

    EQP_CHECK(fetch_homes(t));
    EQP_CHECK(eqp_agree(domain->comm, trace_all_ends(t), NULL));
    EQP_CHECK(eqp_agree(domain->comm, spread_whole(t), NULL));
    EQP_CHECK(gather(domain, &t->needed)); /* by the ranks that declare the cells */
    EQP_CHECK(gather(domain, &t->lives));
    return eqp_agree(domain->comm, declare_cells(t), NULL);
}

/* A node's position goes to the homes of its neighbours; so do forces on the far ends of its own segments. */
static int declare_node(tracer *t, int64_t i, int64_t block)
{
    const dd_node *node = &t->node_pairs->domain->network.node[i];
    const dd_halo *halo = t->node_pairs->halo;
    const int home = t->home[i];
    bool declared = false;

    EQP_CHECK(eqp_evaluation_held(t->evaluation, home, 1));
    for (int k = 0; k < node->narms; k++) {
        const int other = t->home[halo->place[halo->first[i] + k]];
        if (other == home) {
            continue;
        }
        if (!declared) {
            EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_NODES, block, NODE_BYTES, 0, home));
            declared = true;
        }
        EQP_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_NODES, block, other));
        if (node->tag < node->arm[k].tag) {
            EQP_CHECK(add(&t->arms, number_of(home, other), ARM_BYTES, 0));
        }
    }
    return EQP_OK;
}

/* Forces on arms between parts that this rank has summed. */
static int declare_arms(const tracer *t)
{
    for (int64_t i = 0; i < t->arms.n; i++) {
        const tally *of = &t->arms.of[i];
        EQP_CHECK(eqp_evaluation_block(t->evaluation, DD_PHASE_ARMS, of->number, of->amount, 0, (int)high_of(of)));
        EQP_CHECK(eqp_evaluation_need(t->evaluation, DD_PHASE_ARMS, of->number, part_of(of)));
    }
    return EQP_OK;
}

static int trace_arms(tracer *t)
{
    const dd_domain *domain = t->node_pairs->domain;
    int64_t before = 0;
    int code = EQP_OK;

    EQP_CHECK(eqp_scan_int64(domain->comm, t->node_pairs->n, &before, NULL));
    for (int64_t i = 0; i < t->node_pairs->n && code == EQP_OK; i++) {
        code = declare_node(t, i, before + i);
    }
    EQP_CHECK(eqp_agree(domain->comm, code, NULL));
    EQP_CHECK(gather(domain, &t->arms));
    return eqp_agree(domain->comm, declare_arms(t), NULL);
}

static int trace_loads(tracer *t, const eqp_cost_fit *costs)
{
    int code = eqp_array_create(&t->work, t->nparts, sizeof *t->work);

    if (t->overlaps) {
        const int found = find_lives(t);
        code = code == EQP_OK ? found : code;
    }
    EQP_CHECK(code);
    EQP_CHECK(trace_nodes(t));
    trace_far(t);
    return declare_loads(t, costs);
}

int dd_trace(dd_node_pairs *node_pairs, const eqp_cost_fit *costs, int nparts, const eqp_map *map,
             const eqp_placement *placement, bool loads_only, eqp_evaluation *evaluation)
{
    tracer t = {.node_pairs = node_pairs,
                .nparts = nparts,
                .map = map,
                .placement = placement,
                .evaluation = evaluation,
                .loads_only = loads_only,
                /* pairs that are handed out wait for all data */
                .overlaps = !loads_only && node_pairs->evaluator->loop == NULL};
    int code;

    dd_far_parts_init(&t.far, &node_pairs->stage->grid, nparts);
    EQP_TRY(eqp_agree(node_pairs->domain->comm, trace_loads(&t, costs), NULL));
    if (!loads_only) {
        EQP_TRY(trace_segments(&t));
        EQP_TRY(trace_arms(&t));
    }
done:
    free(t.work);
    free(t.least);
    free(t.home);
    free(t.whole.of);
    free(t.needed.of);
    free(t.lives.of);
    free(t.arms.of);
    return code;
}
