/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace.h"

#include "../../common/run_files.h"
#include "share.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>

const int dd_phase_back[DD_PHASES] = {[DD_PHASE_FORCES] = 1};
const int dd_phase_ghosts[DD_PHASES] = {[DD_PHASE_SEGMENTS] = 1};

#define NODE_BYTES 48    /* position and velocity */
#define SEGMENT_BYTES 48 /* two positions, or two forces */
#define ARM_BYTES 24     /* a force */
#define MOMENT_BYTES (DD_FAR_MOMENTS * (int64_t)sizeof(double))
#define FIELD_BYTES (DD_FAR_FIELD * (int64_t)sizeof(double))

/* Blocks of segments travel out and back. */
static const int both_ways[] = {DD_PHASE_SEGMENTS, DD_PHASE_FORCES};

/* Parts in the low bits of a number, a cell or a part in the others. */
#define PART_BITS 16

/* So much of something. */
typedef struct tally {
    int64_t number;
    int64_t amount;
} tally;

typedef struct tallies {
    int64_t n, room;
    tally *of; /* owned */
} tallies;

typedef struct tracer {
    dd_census *census;
    int nparts;
    const app_map *map;
    const app_verdict *verdict;
    eqp_evaluation *evaluation;
    dd_far_parts far;  /* who computes the far field */
    dd_counts *load;   /* [nparts] */
    eqp_needs *whole;  /* cells in which parts compute all pairs of a node; NULL: loads only */
    eqp_needs *needed; /* cells whose segments parts need */
    tallies lives;     /* segments of cells by home */
    tallies arms;      /* arms across parts, by their parts */
} tracer;

static int64_t number_of(int64_t high, int part)
{
    return high << PART_BITS | part;
}

static int part_of(int64_t number)
{
    return (int)(number & (((int64_t)1 << PART_BITS) - 1));
}

static int tally_add(tallies *list, int64_t number, int64_t amount)
{
    int code = EQP_OK;

    if (list->n > 0 && list->of[list->n - 1].number == number) {
        list->of[list->n - 1].amount += amount;
        return EQP_OK;
    }
    code = eqp_array_reserve(&list->of, &list->room, list->n + 1, sizeof *list->of);
    if (code == EQP_OK) {
        list->of[list->n++] = (tally){number, amount};
    }
    return code;
}

static int by_number(const void *left, const void *right)
{
    const tally *a = left, *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

static void tally_up(tallies *list)
{
    int64_t n = 0;

    if (list->n > 1) {
        qsort(list->of, (size_t)list->n, sizeof *list->of, by_number);
    }
    for (int64_t i = 0; i < list->n; i++) {
        if (n > 0 && list->of[n - 1].number == list->of[i].number) {
            list->of[n - 1].amount += list->of[i].amount;
        } else {
            list->of[n++] = list->of[i];
        }
    }
    list->n = n;
}

/* All that has the same number to one rank. */
static int tallies_gather(MPI_Comm comm, tallies *list)
{
    tally *in = NULL;
    int64_t n = 0;
    int *rank = NULL, nranks;
    int code = eqp_agree(comm, eqp_array_create(&rank, list->n, sizeof *rank), NULL);

    MPI_Comm_size(comm, &nranks);
    if (code == EQP_OK) {
        tally_up(list);
        for (int64_t i = 0; i < list->n; i++) {
            rank[i] = (int)((list->of[i].number >> PART_BITS) % nranks);
        }
        code = eqp_send_records(comm, sizeof *in, list->n, rank, list->of, &n, &in);
    }
    free(rank);
    if (code == EQP_OK) {
        free(list->of);
        *list = (tallies){n, n, in};
        tally_up(list);
    }
    return code;
}

static void add_work(dd_counts *load, const dd_counts *work)
{
    for (int k = 0; k < DD_KINDS; k++) {
        load->of[k] += work->of[k];
    }
}

static int need_cell(tracer *t, eqp_needs *needs, int64_t cell, int part)
{
    return t->whole == NULL ? EQP_OK : eqp_needs_add(needs, 1, &cell, &part);
}

/* A node that one part computes whole: where it lives. */
static int trace_whole(tracer *t, int64_t node)
{
    const int home = t->verdict[node].home;

    add_work(&t->load[home], &t->census->of_node[node]);
    return need_cell(t, t->whole, t->census->cell[node], home);
}

/* A part gets a node's own cell for the node's sake: as much of it as lives where the node does. */
static int need_own_cell(tracer *t, int64_t node, int part)
{
    const int home = t->verdict[node].home;
    int code = EQP_OK;

    for (int way = 0; way < 2 && code == EQP_OK; way++) {
        if (t->whole != NULL && part != home) {
            code = eqp_evaluation_need(t->evaluation, both_ways[way], number_of(t->census->cell[node], home), part);
        }
    }
    return code;
}

/* A node that parts share, source cell by source cell. What its segments do alone is done at home. */
static int trace_split(tracer *t, int64_t node)
{
    dd_census *census = t->census;
    const dd_grid *grid = &census->stage->grid;
    int64_t cells[DD_GRID_SOURCES];
    int part[DD_GRID_SOURCES];
    const int n = dd_grid_sources(grid, census->cell[node], cells);
    const dd_meeting *meeting;
    int code = dd_census_meet(census, node, &meeting);

    (void)dd_share_ranks(grid, t->map, -1 - t->verdict[node].tag, census->cell[node], part);
    t->load[t->verdict[node].home].of[DD_KIND_SEGMENT] += census->of_node[node].of[DD_KIND_SEGMENT];
    for (int c = 0; c < n && code == EQP_OK; c++) {
        dd_counts *load = &t->load[part[c]];
        load->of[DD_KIND_PAIR] += meeting[c].pair;
        load->of[DD_KIND_PARALLEL] += meeting[c].parallel;
        load->of[DD_KIND_RUN] += meeting[c].runs;
        code = need_cell(t, t->needed, cells[c], part[c]);
        if (code == EQP_OK) {
            code = need_own_cell(t, node, part[c]);
        }
    }
    return code;
}

/* What this rank's nodes are to compute, and where their segments live. */
static int trace_nodes(tracer *t)
{
    const dd_census *census = t->census;
    int code = EQP_OK;

    for (int64_t i = 0; i < census->n && code == EQP_OK; i++) {
        const int64_t nsegments = census->first[i + 1] - census->first[i];
        if (nsegments > 0) { /* others own all of its segments and do their pairs */
            code = t->verdict[i].tag < 0 ? trace_split(t, i) : trace_whole(t, i);
            if (code == EQP_OK && t->whole != NULL) {
                code = tally_add(&t->lives, number_of(census->cell[i], t->verdict[i].home), nsegments);
            }
        }
    }
    return code;
}

/* The far field of all cells. This rank speaks for a run of the parts. */
static void trace_far(tracer *t)
{
    const dd_census *census = t->census;
    int64_t first, n;

    app_slice(t->nparts, census->domain->rank, census->domain->nranks, &first, &n);
    for (int64_t p = first; p < first + n; p++) {
        t->load[p].of[DD_KIND_CELL] += dd_evaluator_far_cells(census->evaluator, &t->far, (int)p);
    }
}

static int declare_loads(const tracer *t, const app_costs *costs)
{
    int code = EQP_OK;

    for (int p = 0; p < t->nparts && code == EQP_OK; p++) {
        code = eqp_evaluation_load(t->evaluation, p, app_costs_predict(costs, t->load[p].of));
    }
    return code;
}

/* A whole owner needs its own cell and those around it. */
static int spread_whole(tracer *t)
{
    eqp_needs_view at;
    int code = eqp_needs_view_get(t->whole, &at);

    for (int64_t b = 0; code == EQP_OK && b < at.nblocks; b++) {
        int64_t cells[DD_GRID_SOURCES];
        const int n = dd_grid_sources(&t->census->stage->grid, at.block[b], cells);
        for (int64_t i = at.first[b]; i < at.first[b + 1]; i++) {
            for (int c = 0; c < n && code == EQP_OK; c++) {
                code = eqp_needs_add(t->needed, 1, &cells[c], &at.part[i]);
            }
        }
    }
    return code;
}

/* Needs as numbers of cell and part, and the rank that speaks for each cell. */
static int list_needs(const tracer *t, int64_t *n, int64_t **number, int **rank)
{
    eqp_needs_view view;
    int code = eqp_needs_view_get(t->needed, &view);

    *n = code == EQP_OK ? view.first[view.nblocks] : 0;
    if (code == EQP_OK) {
        code = eqp_array_create(number, *n, sizeof **number);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(rank, *n, sizeof **rank);
    }
    for (int64_t b = 0; code == EQP_OK && b < view.nblocks; b++) {
        for (int64_t i = view.first[b]; i < view.first[b + 1]; i++) {
            (*number)[i] = number_of(view.block[b], view.part[i]);
            (*rank)[i] = (int)(view.block[b] % t->census->domain->nranks);
        }
    }
    return code;
}

/* All needs of a cell to the rank that speaks for it. */
static int gather_needs(tracer *t)
{
    const MPI_Comm comm = t->census->domain->comm;
    int64_t *out = NULL, *in = NULL, n = 0, nin = 0;
    int *rank = NULL;
    int code = eqp_agree(comm, list_needs(t, &n, &out, &rank), NULL);

    eqp_needs_free(t->needed);
    t->needed = NULL;
    if (code == EQP_OK) {
        code = eqp_send_records(comm, sizeof *out, n, rank, out, &nin, &in);
    }
    free(rank);
    free(out);
    if (code == EQP_OK) {
        code = eqp_needs_create(t->nparts, &t->needed);
        for (int64_t i = 0; i < nin && code == EQP_OK; i++) {
            const int64_t cell = in[i] >> PART_BITS;
            const int part = part_of(in[i]);
            code = eqp_needs_add(t->needed, 1, &cell, &part);
        }
        code = eqp_agree(comm, code, NULL);
    }
    free(in);
    return code;
}

/* A block of segments goes to those who compute pairs of its cell, and forces come back from them. */
static int declare_block(const tracer *t, const tally *lives, int64_t nparts, const int *part)
{
    const int home = part_of(lives->number);
    int code = EQP_OK;

    for (int way = 0; way < 2 && code == EQP_OK; way++) {
        code = eqp_evaluation_block(t->evaluation, both_ways[way], lives->number, SEGMENT_BYTES * lives->amount,
                                    lives->amount, home);
        for (int64_t i = 0; i < nparts && code == EQP_OK; i++) {
            if (part[i] != home) {
                code = eqp_evaluation_need(t->evaluation, both_ways[way], lives->number, part[i]);
            }
        }
    }
    return code;
}

/* The parts in which a cell's segments live, ascending. */
typedef struct cell_homes {
    const tally *of;
    int64_t n;
} cell_homes;

/* The one that adds its moments up: of those with most of its segments the first. */
static int choose_home(const cell_homes *lives)
{
    int64_t best = 0;

    for (int64_t i = 1; i < lives->n; i++) {
        best = lives->of[i].amount > lives->of[best].amount ? i : best;
    }
    return part_of(lives->of[best].number);
}

/* The home gets all of the cell's segments; its moments go to every run of targets, and from each slab of sources the
 * field in it to all who have segments there. */
static int declare_far(const tracer *t, int64_t cell, const cell_homes *lives)
{
    const dd_far_parts *far = &t->far;
    const int home = choose_home(lives), slab = dd_far_parts_slab(far, cell), run = dd_far_parts_run(far, cell);
    int code = eqp_evaluation_block(t->evaluation, DD_PHASE_MOMENTS, cell, MOMENT_BYTES, 0, home);

    for (int64_t i = 0; i < lives->n && code == EQP_OK; i++) {
        for (int way = 0; way < 2 && part_of(lives->of[i].number) != home && code == EQP_OK; way++) {
            code = eqp_evaluation_need(t->evaluation, both_ways[way], lives->of[i].number, home);
        }
    }
    for (int r = 0; r < far->runs && code == EQP_OK; r++) {
        code = eqp_evaluation_need(t->evaluation, DD_PHASE_MOMENTS, cell, r * far->slabs + slab);
    }
    for (int s = 0; s < far->slabs && code == EQP_OK; s++) {
        const int64_t block = number_of(cell, s);
        code = eqp_evaluation_block(t->evaluation, DD_PHASE_FIELDS, block, FIELD_BYTES, 0, run * far->slabs + s);
        for (int64_t i = 0; i < lives->n && code == EQP_OK; i++) {
            code = eqp_evaluation_need(t->evaluation, DD_PHASE_FIELDS, block, part_of(lives->of[i].number));
        }
    }
    return code;
}

static int declare_far_cells(const tracer *t)
{
    int code = EQP_OK;

    for (int64_t i = 0, end; i < t->lives.n && t->far.runs > 0 && code == EQP_OK; i = end) {
        const int64_t cell = t->lives.of[i].number >> PART_BITS;
        for (end = i; end < t->lives.n && t->lives.of[end].number >> PART_BITS == cell;) {
            end++;
        }
        code = declare_far(t, cell, &(cell_homes){t->lives.of + i, end - i});
    }
    return code;
}

/* The cells that this rank speaks for: those that have segments and those that are needed, both ascending. */
static int declare_segments(const tracer *t)
{
    eqp_needs_view view;
    int64_t b = 0;
    int code = eqp_needs_view_get(t->needed, &view);

    for (int64_t i = 0; i < t->lives.n && code == EQP_OK; i++) {
        const int64_t cell = t->lives.of[i].number >> PART_BITS;
        while (b < view.nblocks && view.block[b] < cell) {
            b++;
        }
        const bool needed = b < view.nblocks && view.block[b] == cell;
        code = declare_block(t, &t->lives.of[i], needed ? view.first[b + 1] - view.first[b] : 0,
                             needed ? view.part + view.first[b] : NULL);
    }
    return code;
}

static int trace_segments(tracer *t)
{
    const MPI_Comm comm = t->census->domain->comm;
    int code = eqp_agree(comm, spread_whole(t), NULL);

    eqp_needs_free(t->whole);
    t->whole = NULL;
    if (code == EQP_OK) {
        code = gather_needs(t);
    }
    if (code == EQP_OK) {
        code = tallies_gather(comm, &t->lives);
    }
    if (code == EQP_OK) {
        code = declare_segments(t);
        if (code == EQP_OK) {
            code = declare_far_cells(t);
        }
        code = eqp_agree(comm, code, NULL);
    }
    return code;
}

/* Where the neighbours of own nodes are to live: those that live elsewhere now tell. */
static int fetch_homes(const tracer *t, int **homes)
{
    const dd_domain *domain = t->census->domain;
    const dd_halo *halo = t->census->halo;
    int *own = NULL, *ghost = NULL;
    int code = eqp_array_create(&own, t->census->n, sizeof *own);

    if (code == EQP_OK) {
        code = eqp_array_create(&ghost, halo->nghosts, sizeof *ghost);
    }
    code = eqp_agree(domain->comm, code, NULL);
    for (int64_t i = 0; i < t->census->n && code == EQP_OK; i++) {
        own[i] = t->verdict[i].home;
    }
    if (code == EQP_OK) {
        code = dd_halo_spread(halo, own, ghost);
    }
    free(own);
    if (code != EQP_OK) {
        free(ghost);
        return code;
    }
    *homes = ghost;
    return EQP_OK;
}

/* A node's position goes to the homes of its neighbours, and forces on the far ends of its own segments too. */
static int declare_node(tracer *t, int64_t i, int64_t block, const int *ghost_home)
{
    const dd_node *node = &t->census->domain->network.node[i];
    const dd_halo *halo = t->census->halo;
    const int home = t->verdict[i].home;
    bool declared = false;
    int code = EQP_OK;

    for (int k = 0; k < node->narms && code == EQP_OK; k++) {
        const int64_t place = halo->place[halo->first[i] + k];
        const int other = place < halo->n ? t->verdict[place].home : ghost_home[place - halo->n];
        if (other == home) {
            continue;
        }
        if (!declared) {
            code = eqp_evaluation_block(t->evaluation, DD_PHASE_NODES, block, NODE_BYTES, 0, home);
            declared = true;
        }
        if (code == EQP_OK) {
            code = eqp_evaluation_need(t->evaluation, DD_PHASE_NODES, block, other);
        }
        if (code == EQP_OK && node->tag < node->arm[k].tag) {
            code = tally_add(&t->arms, number_of(home, other), ARM_BYTES);
        }
    }
    return code;
}

static int trace_arms(tracer *t)
{
    const dd_domain *domain = t->census->domain;
    int64_t before = 0;
    int *ghost_home = NULL;
    int code = eqp_scan_int64(domain->comm, t->census->n, &before, NULL);

    if (code == EQP_OK) {
        code = fetch_homes(t, &ghost_home);
    }
    if (code == EQP_OK) {
        for (int64_t i = 0; i < t->census->n && code == EQP_OK; i++) {
            code = declare_node(t, i, before + i, ghost_home);
        }
        code = eqp_agree(domain->comm, code, NULL);
    }
    free(ghost_home);
    if (code == EQP_OK) {
        code = tallies_gather(domain->comm, &t->arms);
    }
    if (code == EQP_OK) {
        for (int64_t i = 0; i < t->arms.n && code == EQP_OK; i++) {
            const int64_t number = t->arms.of[i].number;
            code = eqp_evaluation_block(t->evaluation, DD_PHASE_ARMS, number, t->arms.of[i].amount, 0,
                                        (int)(number >> PART_BITS));
            if (code == EQP_OK) {
                code = eqp_evaluation_need(t->evaluation, DD_PHASE_ARMS, number, part_of(number));
            }
        }
        code = eqp_agree(domain->comm, code, NULL);
    }
    return code;
}

int dd_trace(dd_census *census, const app_costs *costs, int nparts, const app_map *map, const app_verdict *verdict,
             bool loads_only, eqp_evaluation *evaluation)
{
    tracer t = {.census = census, .nparts = nparts, .map = map, .verdict = verdict, .evaluation = evaluation};
    int code = eqp_array_create(&t.load, nparts, sizeof *t.load);

    dd_far_parts_init(&t.far, &census->stage->grid, nparts);
    if (code == EQP_OK && !loads_only) {
        code = eqp_needs_create(nparts, &t.whole);
    }
    if (code == EQP_OK && !loads_only) {
        code = eqp_needs_create(nparts, &t.needed);
    }
    if (code == EQP_OK) {
        code = trace_nodes(&t);
    }
    if (code == EQP_OK) {
        trace_far(&t);
        code = declare_loads(&t, costs);
    }
    code = eqp_agree(census->domain->comm, code, NULL);
    if (code == EQP_OK && !loads_only) {
        code = trace_segments(&t);
    }
    if (code == EQP_OK && !loads_only) {
        code = trace_arms(&t);
    }
    free(t.load);
    free(t.lives.of);
    free(t.arms.of);
    eqp_needs_free(t.whole);
    eqp_needs_free(t.needed);
    return code;
}
