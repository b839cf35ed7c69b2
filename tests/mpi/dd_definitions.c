/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_definitions.h"

#include "balance/trace.h"
#include "stage/share.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "dd_definitions: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int by_tag(const void *left, const void *right)
{
    const dd_tag a = ((const known_node *)left)->tag, b = ((const known_node *)right)->tag;

    return (a > b) - (a < b);
}

static int by_place(const void *left, const void *right)
{
    const known_segment *a = left, *b = right;

    if (a->cell != b->cell) {
        return a->cell < b->cell ? -1 : 1;
    }
    if (a->owner != b->owner) {
        return a->owner < b->owner ? -1 : 1;
    }
    return (a->other > b->other) - (a->other < b->other);
}

static int64_t find(const known *k, dd_tag tag)
{
    const known_node key = {.tag = tag};
    const known_node *at = bsearch(&key, k->node, (size_t)k->n, sizeof key, by_tag);

    must(at != NULL, "an arm leads nowhere");
    return at - k->node;
}

int64_t define_cell(const dd_simulation *sim, int64_t node)
{
    double low[3] = {0}, high[3] = {0}, middle[3];

    for (int64_t s = 0; s < sim->stage.nown; s++) {
        if (sim->stage.own_node[s] == node) {
            const dd_segment at = dd_stage_segment(&sim->stage, sim->stage.own_local[s]);
            for (int d = 0; d < 3; d++) {
                const double box = sim->domain.box[d], along = at.x2[d] - at.x1[d];
                const double nearest = box > 0 ? along - box * rint(along / box) : along;
                low[d] = nearest < low[d] ? nearest : low[d];
                high[d] = nearest > high[d] ? nearest : high[d];
            }
        }
    }
    for (int d = 0; d < 3; d++) {
        middle[d] = sim->domain.network.node[node].x[d] + (low[d] + high[d]) / 2;
        if (sim->domain.box[d] > 0) {
            middle[d] -= sim->domain.box[d] * floor((middle[d] - sim->domain.low[d]) / sim->domain.box[d]);
        }
    }
    return dd_grid_cell(&sim->stage.grid, middle);
}

void known_gather(const dd_simulation *sim, known *k)
{
    const dd_network *network = &sim->domain.network;
    known_node *mine = calloc((size_t)network->n + 1, sizeof *mine);
    known_segment *own = calloc((size_t)sim->stage.nown + 1, sizeof *own);

    memset(k, 0, sizeof *k);
    k->map = eqp_balancer_map(sim->balancer);
    k->nparts = sim->domain.nranks;
    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        mine[i].tag = node->tag;
        mine[i].narms = node->narms;
        mine[i].placement =
            (eqp_placement){.tag = node->split < 0 ? sim->domain.rank : -1 - node->split, .home = sim->domain.rank};
        mine[i].cell = define_cell(sim, i);
        memcpy(mine[i].x, node->x, sizeof node->x);
        for (int a = 0; a < node->narms; a++) {
            mine[i].arm[a] = node->arm[a].tag;
        }
    }
    for (int64_t s = 0; s < sim->stage.nown; s++) {
        const dd_node *node = &network->node[sim->stage.own_node[s]];
        own[s] = (known_segment){.owner = node->tag,
                                 .other = node->arm[sim->stage.own_arm[s]].tag,
                                 .at = dd_stage_segment(&sim->stage, sim->stage.own_local[s])};
    }
    must(eqp_gather_records(sim->comm, sizeof *mine, network->n, mine, &k->n, &k->node) == EQP_OK, "nodes");
    must(eqp_gather_records(sim->comm, sizeof *own, sim->stage.nown, own, &k->nsegments, &k->segment) == EQP_OK,
         "segments");
    qsort(k->node, (size_t)k->n, sizeof *k->node, by_tag);
    for (int64_t s = 0; s < k->nsegments; s++) {
        k->segment[s].node = find(k, k->segment[s].owner);
        k->segment[s].cell = k->node[k->segment[s].node].cell;
    }
    qsort(k->segment, (size_t)k->nsegments, sizeof *k->segment, by_place);
    free(own);
    free(mine);
}

void known_free(known *k)
{
    free(k->node);
    free(k->segment);
    eqp_map_free(k->own);
}

/* Scrambles (splitmix64). */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Runs of neighbouring tags have one home, with exceptions; of every three nodes one is shared by up to 5 parts. */
void known_assign(known *k, int nparts, bool with_split, const dd_simulation *sim)
{
    int64_t *units = calloc((size_t)k->n + 1, sizeof *units), nsplit = 0, nunits = 0;
    double *centroid = calloc(15 * (size_t)k->n + 1, sizeof *centroid);
    int *rank = calloc(5 * (size_t)k->n + 1, sizeof *rank);

    k->nparts = nparts;
    for (int64_t i = 0; i < k->n; i++) {
        const uint64_t h = mix(k->node[i].tag), parts = (uint64_t)nparts;
        const int home = (int)(h % 5 == 0 ? h / 5 % parts : (uint64_t)i * parts / (uint64_t)k->n);
        k->node[i].placement = (eqp_placement){.tag = home, .home = home};
        if (with_split && h % 3 == 0) {
            units[nsplit] = 2 + (int64_t)(h / 16 % 4);
            for (int64_t u = 0; u < units[nsplit]; u++, nunits++) {
                rank[nunits] = (int)(mix(h + (uint64_t)u) % parts);
                for (int d = 0; d < 3; d++) {
                    const uint64_t r = mix(h * 31 + (uint64_t)(u * 3 + d));
                    centroid[3 * nunits + d] = ((double)(r % 1000) / 1000 - 0.5) * sim->stage.grid.width[d];
                }
            }
            k->node[i].placement.tag = -1 - nsplit++;
        }
    }
    must(eqp_map_create(nsplit, units, centroid, rank, &k->own) == EQP_OK, "map");
    k->map = k->own;
    free(units);
    free(centroid);
    free(rank);
}

eqp_placement *known_placements(const known *k, const dd_simulation *sim)
{
    eqp_placement *placement = calloc((size_t)sim->domain.network.n + 1, sizeof *placement);

    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        placement[i] = k->node[find(k, sim->domain.network.node[i].tag)].placement;
    }
    return placement;
}

/* Whether segments of cell a, as targets, meet those of cell b. */
static bool in_charge(const dd_grid *grid, int64_t a, int64_t b)
{
    dd_cells runs[DD_GRID_RUNS];
    const int n = dd_grid_forward(grid, a, runs);

    for (int r = 0; r < n; r++) {
        if (b >= runs[r].first && b <= runs[r].last) {
            return true;
        }
    }
    return a == b;
}

/* The part that computes what a node's segments do with those of a cell. */
static int worker(const known *k, const dd_simulation *sim, const known_node *node, int64_t cell)
{
    double centroid[3];

    if (node->placement.tag >= 0) {
        return node->placement.home;
    }
    dd_share_centroid(&sim->stage.grid, node->cell, cell, centroid);
    return eqp_map_rank(k->map, node->placement.tag, centroid);
}

/* Segments of cells by home: [cells][nparts]. */
static int64_t *define_lives(const known *k, const dd_simulation *sim)
{
    int64_t *lives = calloc((size_t)(sim->stage.grid.ncells * k->nparts), sizeof *lives);

    for (int64_t s = 0; s < k->nsegments; s++) {
        lives[k->segment[s].cell * k->nparts + k->node[k->segment[s].node].placement.home]++;
    }
    return lives;
}

/* Whether a segment of the same cell and home before this one has such an end. */
static bool was_there(const known *k, int64_t s, dd_tag end)
{
    const known_segment *segment = &k->segment[s];
    const int home = k->node[segment->node].placement.home;

    for (int64_t j = 0; j < s; j++) {
        const known_segment *before = &k->segment[j];
        if (before->cell == segment->cell && k->node[before->node].placement.home == home &&
            (before->owner == end || before->other == end)) {
            return true;
        }
    }
    return false;
}

/* Nodes in which these segments end, each once: [cells][nparts]. */
static int64_t *define_ends(const known *k, const dd_simulation *sim)
{
    int64_t *ends = calloc((size_t)(sim->stage.grid.ncells * k->nparts), sizeof *ends);

    for (int64_t s = 0; s < k->nsegments; s++) {
        const known_segment *segment = &k->segment[s];
        ends[segment->cell * k->nparts + k->node[segment->node].placement.home] +=
            !was_there(k, s, segment->owner) + !was_there(k, s, segment->other);
    }
    return ends;
}

/* The part that adds up the moments of a cell: the first of those with most of its segments; -1: it is empty, or no
 * cells are far. lives: of the cell, [nparts]. */
static int adder(const known *k, const dd_simulation *sim, const int64_t *lives)
{
    int best = -1;

    for (int p = 0; p < k->nparts && sim->evaluator.waves != NULL; p++) {
        if (lives[p] > (best < 0 ? 0 : lives[best])) {
            best = p;
        }
    }
    return best;
}

/* Which parts need the segments of a cell that live on a home: [cells][homes][parts]. Who computes anything of a node
 * needs the source cells, and the node: what lives with it of its cell; who computes it whole needs all of its cell;
 * and so does who adds up a cell's moments. */
static unsigned char *define_needs(const known *k, const dd_simulation *sim)
{
    const int64_t ncells = sim->stage.grid.ncells, n = k->nparts;
    unsigned char *needs = calloc((size_t)(ncells * n * n), 1);
    int64_t *lives = define_lives(k, sim);

    for (int64_t c = 0; c < ncells; c++) {
        const int part = adder(k, sim, lives + c * n);
        for (int64_t home = 0; home < n && part >= 0; home++) {
            needs[(c * n + home) * n + part] = 1;
        }
    }
    free(lives);
    for (int64_t s = 0; s < k->nsegments; s++) {
        const known_segment *target = &k->segment[s];
        const known_node *node = &k->node[target->node];
        for (int64_t c = 0; c < ncells; c++) {
            if (in_charge(&sim->stage.grid, target->cell, c)) {
                const int part = worker(k, sim, node, c);
                for (int64_t home = 0; home < n; home++) {
                    needs[(c * n + home) * n + part] = 1;
                }
                needs[(target->cell * n + node->placement.home) * n + part] = 1;
            }
        }
    }
    return needs;
}

/* How often a kernel is called for a target: once for each row of cells that has any sources, and the rest of its own
 * cell goes with the row that begins next to it; of a shared node's once for each cell. */
static void define_runs(const known *k, const dd_simulation *sim, int64_t s, dd_counts *work)
{
    const known_segment *target = &k->segment[s];
    const known_node *node = &k->node[target->node];
    dd_cells runs[DD_GRID_RUNS];
    const int n = dd_grid_forward(&sim->stage.grid, target->cell, runs);
    int row_of[DD_GRID_RUNS + 1] = {0};
    unsigned char met[DD_GRID_RUNS + 1] = {0}, *cells = calloc((size_t)sim->stage.grid.ncells, 1);

    for (int r = 0; r < n; r++) {
        row_of[r] = r == 0 && runs[0].first == target->cell + 1 ? DD_GRID_RUNS : r;
    }
    for (int64_t j = 0; j < k->nsegments; j++) {
        const int64_t cell = k->segment[j].cell;
        if (cell == target->cell && j > s) {
            met[DD_GRID_RUNS] = cells[cell] = 1;
        }
        for (int r = 0; r < n; r++) {
            if (cell >= runs[r].first && cell <= runs[r].last) {
                met[row_of[r]] = cells[cell] = 1;
            }
        }
    }
    for (int r = 0; r <= DD_GRID_RUNS && node->placement.tag >= 0; r++) {
        work[node->placement.home].of[DD_KIND_RUN] += met[r];
    }
    for (int64_t c = 0; c < sim->stage.grid.ncells && node->placement.tag < 0; c++) {
        work[worker(k, sim, node, c)].of[DD_KIND_RUN] += cells[c];
    }
    free(cells);
}

void define_work(const known *k, const dd_simulation *sim, dd_counts *work)
{
    dd_far_parts parts;

    for (int64_t s = 0; s < k->nsegments; s++) {
        const known_segment *target = &k->segment[s];
        const known_node *node = &k->node[target->node];
        work[node->placement.home].of[DD_KIND_SEGMENT]++;
        define_runs(k, sim, s, work);
        for (int64_t j = 0; j < k->nsegments; j++) {
            const known_segment *source = &k->segment[j];
            const bool pair =
                source->cell == target->cell ? j > s : in_charge(&sim->stage.grid, target->cell, source->cell);
            if (pair) {
                const bool parallel = dd_pairs_parallel(&sim->evaluator.medium, &target->at, &source->at);
                work[worker(k, sim, node, source->cell)].of[parallel ? DD_KIND_PARALLEL : DD_KIND_PAIR]++;
            }
        }
    }
    dd_far_parts_init(&parts, &sim->stage.grid, k->nparts);
    for (int p = 0; p < k->nparts; p++) {
        for (int stage = 0; stage < DD_FAR_STAGES; stage++) {
            work[p].of[DD_KIND_CELL] += dd_far_parts_work(&parts, p, stage);
        }
    }
}

/* Of the phases that are wanted; blocks are numbered one after another. */
typedef struct definer {
    eqp_evaluation *evaluation;
    unsigned phases;
} definer;

static void add_block(const definer *d, int phase, int64_t block, int64_t bytes, int64_t elements, int home)
{
    if ((d->phases >> phase & 1) != 0) {
        must(eqp_evaluation_block(d->evaluation, phase, block, bytes, elements, home) == EQP_OK, "block");
    }
}

static void add_need(const definer *d, int phase, int64_t block, int part)
{
    if ((d->phases >> phase & 1) != 0) {
        must(eqp_evaluation_need(d->evaluation, phase, block, part) == EQP_OK, "need");
    }
}

static void define_nodes(const known *k, const definer *d)
{
    int64_t block = 0;

    for (int64_t i = 0; i < k->n; i++) {
        const int home = k->node[i].placement.home;
        add_block(d, DD_PHASE_NODES, i, 24, 0, home);
        for (int a = 0; a < k->node[i].narms; a++) {
            const int other = k->node[find(k, k->node[i].arm[a])].placement.home;
            add_need(d, DD_PHASE_NODES, i, other);
            if (k->node[i].tag < k->node[i].arm[a] && other != home) {
                add_block(d, DD_PHASE_ARMS, block, 24, 0, home);
                add_need(d, DD_PHASE_ARMS, block++, other);
            }
        }
    }
}

/* Of the far field: what one part has for another. Moments and local expansions go chunk by chunk between homes and the
 * owner of a plane's chunk; columns of all items between their owners and those of the columns. */
typedef struct far_message {
    int phase, from, to;
    int64_t block, bytes;
} far_message;

/* Calls `tell` for each, blocks that parts have for themselves too. */
static void each_far_message(const known *k, const dd_simulation *sim, const int64_t *lives,
                             void (*tell)(void *of, const far_message *message), void *of)
{
    const dd_grid *grid = &sim->stage.grid;
    dd_far_parts far;

    dd_far_parts_init(&far, grid, k->nparts);
    for (int64_t c = 0; c < grid->ncells && far.nparts > 0; c++) {
        const int part = adder(k, sim, lives + c * k->nparts);
        for (int64_t chunk = 0; chunk < far.nchunks && part >= 0; chunk++) {
            const int owner = dd_far_parts_owner(&far, c / (grid->n[1] * grid->n[2]) * far.nchunks + chunk);
            const int64_t block = c * far.nchunks + chunk;
            const int64_t in = 8 * dd_far_parts_chunk(&far, 490, chunk).n;
            const int64_t out = 8 * dd_far_parts_chunk(&far, 505, chunk).n;
            tell(of, &(far_message){DD_PHASE_MOMENTS, part, owner, block, in});
            for (int q = 0; q < k->nparts; q++) {
                if (lives[c * k->nparts + q] > 0) {
                    tell(of, &(far_message){DD_PHASE_FIELDS, owner, q, block, out});
                }
            }
        }
    }
    for (int64_t i = 0; i < grid->n[0] * far.nchunks; i++) {
        const int owner = dd_far_parts_owner(&far, i);
        for (int p = 0; p < far.nparts; p++) {
            const int64_t columns = 16 * dd_far_parts_columns(&far, p).n, block = i * far.nparts + p;
            const int64_t in = dd_far_parts_chunk(&far, 490, i % far.nchunks).n;
            const int64_t out = dd_far_parts_chunk(&far, 505, i % far.nchunks).n;
            tell(of, &(far_message){DD_PHASE_COLUMNS, owner, p, block, columns * in});
            tell(of, &(far_message){DD_PHASE_PLANES, p, owner, block, columns * out});
        }
    }
}

static void define_far_message(void *of, const far_message *m)
{
    add_block(of, m->phase, m->block, m->bytes, 0, m->from);
    add_need(of, m->phase, m->block, m->to);
}

void define_exchange(const known *k, const dd_simulation *sim, unsigned phases, eqp_evaluation *evaluation)
{
    definer d = {evaluation, phases};
    unsigned char *needs = define_needs(k, sim);
    int64_t *lives = define_lives(k, sim), *ends = define_ends(k, sim);

    for (int64_t b = 0; b < sim->stage.grid.ncells * k->nparts; b++) {
        for (int i = 0; i < 2 && lives[b] > 0; i++) {
            const int phase = i == 0 ? DD_PHASE_SEGMENTS : DD_PHASE_FORCES;
            add_block(&d, phase, b, i == 0 ? 24 * ends[b] : 48 * lives[b], lives[b], (int)(b % k->nparts));
            for (int p = 0; p < k->nparts; p++) {
                if (needs[b * k->nparts + p]) {
                    add_need(&d, phase, b, p);
                }
            }
        }
    }
    define_nodes(k, &d);
    each_far_message(k, sim, lives, define_far_message, &d);
    free(ends);
    free(lives);
    free(needs);
}

/* Of all that the far field sends. */
typedef struct far_sum {
    int64_t nparts;
    direct *sent;
    unsigned char *met; /* [phases][from][to] */
} far_sum;

static void add_far_message(void *of, const far_message *m)
{
    far_sum *f = of;
    const int64_t pair = (int64_t)m->from * f->nparts + m->to;

    if (m->from != m->to && m->bytes > 0) {
        unsigned char *met = &f->met[m->phase * f->nparts * f->nparts + pair];
        f->sent->messages[pair] += *met == 0;
        f->sent->bytes[pair] += m->bytes;
        *met = 1;
    }
}

void define_direct(const known *k, const dd_simulation *sim, direct *sent)
{
    const int64_t nparts = k->nparts, ncells = sim->stage.grid.ncells;
    unsigned char *needs = define_needs(k, sim);
    int64_t *lives = define_lives(k, sim), *ends = define_ends(k, sim);
    far_sum far = {nparts, sent, calloc((size_t)(DD_PHASES * nparts * nparts), 1)};

    sent->messages = calloc((size_t)(nparts * nparts), sizeof *sent->messages);
    sent->bytes = calloc((size_t)(nparts * nparts), sizeof *sent->bytes);
    for (int64_t from = 0; from < nparts; from++) {
        for (int64_t to = 0; to < nparts; to++) {
            int64_t segments = 0, ended = 0, nodes = 0, arms = 0;
            for (int64_t c = 0; c < ncells; c++) {
                segments += needs[(c * nparts + from) * nparts + to] ? lives[c * nparts + from] : 0;
                ended += needs[(c * nparts + from) * nparts + to] ? ends[c * nparts + from] : 0;
            }
            for (int64_t i = 0; i < k->n; i++) {
                bool needed = false;
                for (int a = 0; a < k->node[i].narms && k->node[i].placement.home == from; a++) {
                    const bool there = k->node[find(k, k->node[i].arm[a])].placement.home == to;
                    needed = needed || there;
                    arms += there && k->node[i].tag < k->node[i].arm[a];
                }
                nodes += needed;
            }
            if (from != to) {
                sent->messages[from * nparts + to] += (nodes > 0) + (segments > 0) + (arms > 0);
                sent->messages[to * nparts + from] += segments > 0;
                sent->bytes[from * nparts + to] += 24 * nodes + 24 * ended + 24 * arms;
                sent->bytes[to * nparts + from] += 48 * segments;
            }
        }
    }
    each_far_message(k, sim, lives, add_far_message, &far);
    free(far.met);
    free(ends);
    free(lives);
    free(needs);
}

int compute_again(dd_simulation *sim)
{
    int code;

    dd_halo_free(&sim->halo);
    EQP_TRY(dd_halo_create(&sim->domain, dd_stage_open(&sim->domain, sim->cells, &sim->stage), &sim->halo));
    EQP_TRY(dd_stage_create(&sim->domain, &sim->halo, eqp_balancer_map(sim->balancer), &sim->stage));
    EQP_TRY(dd_evaluate(&sim->evaluator, &sim->domain, &sim->halo, &sim->stage, EQP_OK));
done:
    return code;
}
