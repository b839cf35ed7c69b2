/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage.h"

#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

/* A segment on its way to where it is needed. */
typedef struct parcel {
    dd_segment_key key;
    dd_segment segment;
    int64_t cell, split;
} parcel;

/* A local segment while the order is found. */
typedef struct entry {
    dd_segment_key key;
    int64_t cell, split;
    int64_t own, ghost; /* place among those; the other is -1 */
} entry;

/* A split owner's cell, for the ranks that share it. */
typedef struct notice {
    int64_t split, cell;
} notice;

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;

    if (a->cell != b->cell) {
        return a->cell < b->cell ? -1 : 1;
    }
    if (a->key.owner != b->key.owner) {
        return a->key.owner < b->key.owner ? -1 : 1;
    }
    return (a->key.other > b->key.other) - (a->key.other < b->key.other);
}

static dd_segment own_segment(const dd_domain *domain, const dd_halo *halo, int64_t node, int arm)
{
    const dd_node *owner = &domain->network.node[node];
    const double *far = dd_halo_position(domain, halo, halo->place[halo->first[node] + arm]);
    dd_segment segment;
    double along[3];

    dd_domain_offset(domain, far, owner->x, along);
    for (int d = 0; d < 3; d++) {
        segment.x1[d] = owner->x[d];
        segment.x2[d] = owner->x[d] + along[d];
        segment.burgers[d] = owner->arm[arm].burgers[d];
    }
    return segment;
}

static int list_own(const dd_domain *domain, dd_stage *stage)
{
    int64_t n = 0;
    int code;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms; k++) {
            n += node->tag < node->arm[k].tag;
        }
    }
    code = eqp_array_create(&stage->own_node, n, sizeof *stage->own_node);
    if (code == EQP_OK) {
        code = eqp_array_create(&stage->own_arm, n, sizeof *stage->own_arm);
    }
    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms; k++) {
            if (node->tag < node->arm[k].tag) {
                stage->own_node[stage->nown] = i;
                stage->own_arm[stage->nown++] = k;
            }
        }
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&stage->own_crossing, stage->nown, sizeof *stage->own_crossing);
    }
    return code == EQP_OK ? eqp_array_create(&stage->own_local, stage->nown, sizeof *stage->own_local) : code;
}

/* Which of the halo's arms each own segment is: by a table from (node, arm), as the halo's order is another. */
static int find_crossings(const dd_domain *domain, const dd_halo *halo, dd_stage *stage)
{
    int64_t *crossing = NULL;
    int code = eqp_array_create(&crossing, halo->first[domain->network.n], sizeof *crossing);

    for (int64_t a = 0; a < halo->narms && code == EQP_OK; a++) {
        crossing[halo->first[halo->arm_node[a]] + halo->arm_of[a]] = a + 1;
    }
    for (int64_t s = 0; s < stage->nown && code == EQP_OK; s++) {
        stage->own_crossing[s] = crossing[halo->first[stage->own_node[s]] + stage->own_arm[s]] - 1;
    }
    free(crossing);
    return code;
}

static int64_t own_cell(const dd_domain *domain, const dd_stage *stage, int64_t own)
{
    return dd_grid_cell(&stage->grid, domain->network.node[stage->own_node[own]].x);
}

/* A bit per cell. */
static int64_t words(const dd_stage *stage)
{
    return (stage->grid.ncells + 63) / 64;
}

static void mark(const dd_stage *stage, uint64_t *bits, int64_t cell)
{
    dd_cells runs[DD_GRID_RUNS];
    const int nruns = dd_grid_forward(&stage->grid, cell, runs);

    bits[cell / 64] |= (uint64_t)1 << cell % 64;
    for (int r = 0; r < nruns; r++) {
        for (int64_t c = runs[r].first; c <= runs[r].last; c++) {
            bits[c / 64] |= (uint64_t)1 << c % 64;
        }
    }
}

/* Cells in which this rank computes pairs of split owners that live elsewhere. */
static int mark_shared(const dd_domain *domain, const dd_stage *stage, const app_map *map, uint64_t *bits)
{
    notice *mine = NULL, *all = NULL;
    int64_t n = 0, ntotal = 0, before = -1;
    int *ranks = NULL;
    int code = eqp_array_create(&mine, stage->nown, sizeof *mine);

    for (int64_t s = 0; s < stage->nown && code == EQP_OK; s++) {
        const dd_node *node = &domain->network.node[stage->own_node[s]];
        if (node->split >= 0 && stage->own_node[s] != before) {
            mine[n++] = (notice){node->split, own_cell(domain, stage, s)};
            before = stage->own_node[s];
        }
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&ranks, domain->nranks, sizeof *ranks);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_gather_records(domain->comm, sizeof *mine, n, mine, &ntotal, (void **)&all);
    }
    for (int64_t i = 0; i < ntotal && code == EQP_OK; i++) {
        const int nranks = app_map_ranks(map, -1 - all[i].split, domain->nranks, ranks);
        for (int r = 0; r < nranks; r++) {
            if (ranks[r] == domain->rank) {
                mark(stage, bits, all[i].cell);
            }
        }
    }
    free(all);
    free(ranks);
    free(mine);
    return code;
}

/* Which cells each rank needs: [ranks][words]. */
static int gather_needs(const dd_domain *domain, const dd_stage *stage, const app_map *map, uint64_t **needs)
{
    const int64_t nwords = words(stage);
    uint64_t *mine = NULL;
    int code = eqp_array_create(&mine, nwords, sizeof *mine);

    if (code == EQP_OK) {
        code = eqp_array_create(needs, nwords * domain->nranks, sizeof **needs);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        for (int64_t s = 0; s < stage->nown; s++) {
            /* Also of split owners: who speaks for them at the next map looks at all their pairs. */
            mark(stage, mine, own_cell(domain, stage, s));
        }
        if (map->nsplit > 0) {
            code = mark_shared(domain, stage, map, mine);
        }
    }
    if (code == EQP_OK && MPI_Allgather(mine, (int)nwords, MPI_UINT64_T, *needs, (int)nwords, MPI_UINT64_T,
                                        domain->comm) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    free(mine);
    return code;
}

/* Own segments by receiving rank. */
static int list_sends(const dd_domain *domain, dd_stage *stage, const uint64_t *needs)
{
    const int64_t nwords = words(stage);
    int64_t room = 0;
    int code = EQP_OK;

    for (int r = 0; r < domain->nranks && code == EQP_OK; r++) {
        for (int64_t s = 0; s < stage->nown && r != domain->rank && code == EQP_OK; s++) {
            const int64_t cell = own_cell(domain, stage, s);
            if ((needs[r * nwords + cell / 64] >> cell % 64 & 1) != 0) {
                code = eqp_array_reserve(&stage->send, &room, stage->nsend + 1, sizeof *stage->send);
                if (code == EQP_OK) {
                    stage->send[stage->nsend++] = s;
                    stage->send_count[r]++;
                }
            }
        }
    }
    return code;
}

static int fetch_ghosts(const dd_domain *domain, const dd_halo *halo, dd_stage *stage, parcel **ghosts)
{
    parcel *out = NULL;
    int code = eqp_array_create(&out, stage->nsend, sizeof *out);

    for (int64_t i = 0; i < stage->nsend && code == EQP_OK; i++) {
        const int64_t s = stage->send[i];
        const dd_node *node = &domain->network.node[stage->own_node[s]];
        out[i] = (parcel){{node->tag, node->arm[stage->own_arm[s]].tag},
                          own_segment(domain, halo, stage->own_node[s], stage->own_arm[s]),
                          own_cell(domain, stage, s),
                          node->split};
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_exchange_counts(domain->comm, stage->send_count, stage->recv_count, &stage->nghosts);
    }
    if (code == EQP_OK) {
        code = eqp_agree(domain->comm, eqp_array_create(ghosts, stage->nghosts, sizeof **ghosts), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_exchange(domain->comm, sizeof *out, stage->send_count, out, stage->recv_count, *ghosts);
    }
    free(out);
    return code;
}

static int create_columns(dd_stage *stage)
{
    const int64_t room = stage->n + DD_LANES;
    int code = eqp_array_create(&stage->memory, 15 * room, sizeof *stage->memory);

    for (int c = 0; c < 15 && code == EQP_OK; c++) {
        *(c < 9 ? &stage->columns.at[c] : &stage->columns.force[c - 9]) = stage->memory + c * room;
    }
    return code;
}

static void put(const dd_stage *stage, int64_t local, const dd_segment *segment)
{
    for (int d = 0; d < 3; d++) {
        stage->columns.at[d][local] = segment->x1[d];
        stage->columns.at[3 + d][local] = segment->x2[d];
        stage->columns.at[6 + d][local] = segment->burgers[d];
    }
}

/* Own and remote segments in one order. */
static int merge(const dd_domain *domain, dd_stage *stage, const parcel *ghosts, entry **entries)
{
    int code;

    stage->n = stage->nown + stage->nghosts;
    code = eqp_array_create(entries, stage->n, sizeof **entries);
    for (int64_t s = 0; s < stage->nown && code == EQP_OK; s++) {
        const dd_node *node = &domain->network.node[stage->own_node[s]];
        (*entries)[s] =
            (entry){{node->tag, node->arm[stage->own_arm[s]].tag}, own_cell(domain, stage, s), node->split, s, -1};
    }
    for (int64_t g = 0; g < stage->nghosts && code == EQP_OK; g++) {
        (*entries)[stage->nown + g] = (entry){ghosts[g].key, ghosts[g].cell, ghosts[g].split, -1, g};
    }
    if (code == EQP_OK && stage->n > 1) {
        qsort(*entries, (size_t)stage->n, sizeof **entries, compare_entries);
    }
    return code;
}

static int create_local(dd_stage *stage)
{
    int code = eqp_array_create(&stage->key, stage->n, sizeof *stage->key);

    if (code == EQP_OK) {
        code = eqp_array_create(&stage->source, stage->n, sizeof *stage->source);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&stage->cell_first, stage->grid.ncells + 1, sizeof *stage->cell_first);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&stage->ghost_local, stage->nghosts, sizeof *stage->ghost_local);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&stage->target, stage->n, sizeof *stage->target);
    }
    return code == EQP_OK ? create_columns(stage) : code;
}

static bool shares(const app_map *map, int64_t split, const dd_domain *domain, int *ranks)
{
    const int n = app_map_ranks(map, -1 - split, domain->nranks, ranks);

    for (int r = 0; r < n; r++) {
        if (ranks[r] == domain->rank) {
            return true;
        }
    }
    return false;
}

static int fill_local(const dd_domain *domain, const dd_halo *halo, const app_map *map, dd_stage *stage,
                      const parcel *ghosts, const entry *entries)
{
    int *ranks = NULL;
    int code = eqp_array_create(&ranks, domain->nranks, sizeof *ranks);

    for (int64_t i = 0; i < stage->n && code == EQP_OK; i++) {
        const entry *e = &entries[i];
        const int64_t node = e->own < 0 ? -1 : stage->own_node[e->own];
        stage->key[i] = e->key;
        stage->source[i] = e->own >= 0 ? e->own : -1 - e->ghost;
        stage->cell_first[e->cell + 1] = i + 1;
        if (e->own >= 0) {
            const dd_segment segment = own_segment(domain, halo, node, stage->own_arm[e->own]);
            stage->own_local[e->own] = i;
            put(stage, i, &segment);
        } else {
            stage->ghost_local[e->ghost] = i;
            put(stage, i, &ghosts[e->ghost].segment);
        }
        if (e->split < 0 ? e->own >= 0 : shares(map, e->split, domain, ranks)) {
            stage->target[stage->ntargets++] = (dd_target){i, node, e->split};
        }
    }
    for (int64_t c = 0; c < stage->grid.ncells && code == EQP_OK; c++) {
        if (stage->cell_first[c + 1] < stage->cell_first[c]) {
            stage->cell_first[c + 1] = stage->cell_first[c];
        }
    }
    free(ranks);
    return code;
}

int dd_stage_create(const dd_domain *domain, const dd_halo *halo, const int64_t cells[3], const app_map *map,
                    dd_stage *stage)
{
    dd_stage made = {0};
    uint64_t *needs = NULL;
    parcel *ghosts = NULL;
    entry *entries = NULL;
    int code;

    dd_stage_free(stage);
    dd_grid_init(&made.grid, domain, cells);
    code = list_own(domain, &made);
    if (code == EQP_OK) {
        code = find_crossings(domain, halo, &made);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&made.send_count, domain->nranks, sizeof *made.send_count);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&made.recv_count, domain->nranks, sizeof *made.recv_count);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = gather_needs(domain, &made, map, &needs);
    }
    if (code == EQP_OK) {
        code = eqp_agree(domain->comm, list_sends(domain, &made, needs), NULL);
    }
    free(needs);
    if (code == EQP_OK) {
        code = fetch_ghosts(domain, halo, &made, &ghosts);
    }
    if (code == EQP_OK) {
        code = merge(domain, &made, ghosts, &entries);
        if (code == EQP_OK) {
            code = create_local(&made);
        }
        if (code == EQP_OK) {
            code = fill_local(domain, halo, map, &made, ghosts, entries);
        }
        code = eqp_agree(domain->comm, code, NULL);
    }
    free(entries);
    free(ghosts);
    if (code != EQP_OK) {
        dd_stage_free(&made);
        return code;
    }
    *stage = made;
    return EQP_OK;
}

void dd_stage_free(dd_stage *stage)
{
    void *owned[] = {stage->own_node,   stage->own_arm,    stage->own_local,   stage->own_crossing, stage->send,
                     stage->send_count, stage->recv_count, stage->ghost_local, stage->key,          stage->source,
                     stage->cell_first, stage->memory,     stage->target};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    *stage = (dd_stage){0};
}

/* Six numbers of each travelling segment. */
typedef struct six {
    double of[6];
} six;

static int create_six(const dd_domain *domain, const dd_stage *stage, six **own, six **ghost)
{
    int code = eqp_array_create(own, stage->nsend, sizeof **own);

    if (code == EQP_OK) {
        code = eqp_array_create(ghost, stage->nghosts, sizeof **ghost);
    }
    return eqp_agree(domain->comm, code, NULL);
}

int dd_stage_refresh(const dd_domain *domain, const dd_halo *halo, dd_stage *stage)
{
    six *own = NULL, *ghost = NULL;
    int code = create_six(domain, stage, &own, &ghost);

    if (code == EQP_OK) {
        memset(stage->columns.force[0], 0, 6 * (size_t)(stage->n + DD_LANES) * sizeof(double));
        for (int64_t s = 0; s < stage->nown; s++) {
            const dd_segment segment = own_segment(domain, halo, stage->own_node[s], stage->own_arm[s]);
            put(stage, stage->own_local[s], &segment);
        }
        for (int64_t i = 0; i < stage->nsend; i++) {
            for (int c = 0; c < 6; c++) {
                own[i].of[c] = stage->columns.at[c][stage->own_local[stage->send[i]]];
            }
        }
        code = eqp_exchange(domain->comm, sizeof *own, stage->send_count, own, stage->recv_count, ghost);
    }
    for (int64_t g = 0; g < stage->nghosts && code == EQP_OK; g++) {
        for (int c = 0; c < 6; c++) {
            stage->columns.at[c][stage->ghost_local[g]] = ghost[g].of[c];
        }
    }
    free(ghost);
    free(own);
    return code;
}

int dd_stage_return(const dd_domain *domain, dd_stage *stage)
{
    six *own = NULL, *ghost = NULL;
    int code = create_six(domain, stage, &own, &ghost);

    if (code == EQP_OK) {
        for (int64_t g = 0; g < stage->nghosts; g++) {
            for (int c = 0; c < 6; c++) {
                ghost[g].of[c] = stage->columns.force[c][stage->ghost_local[g]];
            }
        }
        code = eqp_exchange(domain->comm, sizeof *own, stage->recv_count, ghost, stage->send_count, own);
    }
    for (int64_t i = 0; i < stage->nsend && code == EQP_OK; i++) {
        for (int c = 0; c < 6; c++) {
            stage->columns.force[c][stage->own_local[stage->send[i]]] += own[i].of[c];
        }
    }
    free(ghost);
    free(own);
    return code;
}

static int add_run(dd_run *runs, int n, int64_t first, int64_t end)
{
    if (end > first) {
        runs[n++] = (dd_run){first, end - first};
    }
    return n;
}

int dd_stage_runs(const dd_stage *stage, int64_t local, int64_t cell, dd_run runs[DD_GRID_RUNS + 1])
{
    dd_cells cells[DD_GRID_RUNS];
    const int ncells = dd_grid_forward(&stage->grid, cell, cells);
    int64_t end = stage->cell_first[cell + 1];
    int c = 0, n;

    /* The next cell of the column goes on where this one ends. */
    if (ncells > 0 && cells[0].first == cell + 1) {
        end = stage->cell_first[cells[c++].last + 1];
    }
    n = add_run(runs, 0, local + 1, end);
    for (; c < ncells; c++) {
        n = add_run(runs, n, stage->cell_first[cells[c].first], stage->cell_first[cells[c].last + 1]);
    }
    return n;
}

int dd_stage_sender(const dd_stage *stage, int64_t ghost)
{
    int64_t end = stage->recv_count[0];
    int rank = 0;

    while (ghost >= end) {
        end += stage->recv_count[++rank];
    }
    return rank;
}

int64_t dd_stage_cell(const dd_stage *stage, int64_t local)
{
    int64_t low = 0, high = stage->grid.ncells;

    /* The last cell that begins at or before it. */
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (stage->cell_first[middle] <= local) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

dd_segment dd_stage_segment(const dd_stage *stage, int64_t local)
{
    dd_segment segment;

    for (int d = 0; d < 3; d++) {
        segment.x1[d] = stage->columns.at[d][local];
        segment.x2[d] = stage->columns.at[3 + d][local];
        segment.burgers[d] = stage->columns.at[6 + d][local];
    }
    return segment;
}
