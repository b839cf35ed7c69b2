/* SPDX-License-Identifier: BSD-3-Clause */
#include "window.h"

/* Data of a remote segment that do not change: they travel like the six numbers of its forces. */
typedef struct bundle {
    dd_segment_key key;
    double burgers[3], unused;
} bundle;

_Static_assert(sizeof(bundle) == 6 * sizeof(double), "a bundle travels like the forces on a segment");

/* A node that is an end of segments of a block. */
typedef struct end_node {
    dd_tag tag;
    int64_t place; /* in the halo, if known */
} end_node;

/* The cells of the own segments: those of their owners. */
static int find_cells(const dd_domain *domain, const dd_halo *halo, const dd_stage *stage, int64_t **cell)
{
    EQP_CHECK(eqp_array_create(cell, stage->nown, sizeof **cell));
    for (int64_t s = 0; s < stage->nown; s++) {
        const int64_t node = stage->own[s].node;
        (*cell)[s] = s > 0 && stage->own[s - 1].node == node ? (*cell)[s - 1]
                                                             : dd_grid_cell_of_node(&stage->grid, domain, halo, node);
    }
    return EQP_OK;
}

static dd_segment_key own_key(const dd_domain *domain, const dd_stage *stage, int64_t own)
{
    return (dd_segment_key){domain->network.node[stage->own[own].node].tag, stage->own[own].arm->tag};
}

static int sort_own(const dd_domain *domain, const int64_t *cell, dd_stage *stage, dd_entry **entries)
{
    EQP_CHECK(eqp_array_create(&stage->own_local, stage->nown, sizeof *stage->own_local));
    EQP_CHECK(eqp_array_create(entries, stage->nown, sizeof **entries));
    for (int64_t s = 0; s < stage->nown; s++) {
        (*entries)[s] = (dd_entry){cell[s], own_key(domain, stage, s), s};
    }
    dd_sort(*entries, stage->nown, sizeof **entries, dd_by_3_words);
    return EQP_OK;
}

/* Sorts the ends of a block's segments into the order in which they travel, each once. Returns their number. */
static int64_t sort_ends(int64_t n, end_node *ends)
{
    int64_t kept = 0;

    dd_sort(ends, n, sizeof *ends, dd_by_word);
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || ends[i].tag != ends[kept - 1].tag) {
            ends[kept++] = ends[i];
        }
    }
    return kept;
}

/* Own cells that other ranks need. */
typedef struct listing {
    const dd_domain *domain;
    const dd_entry *entries;
    dd_blocks segments, ends;
    int64_t send_room, end_room;
    end_node *end; /* [2 own segments] scratch; owned */
} listing;

static int64_t list_ends(listing *l, int64_t first, int64_t end, dd_stage *stage)
{
    int64_t n = 0;

    for (int64_t i = first; i < end; i++) {
        const dd_own *own = &stage->own[l->entries[i].source];
        l->end[n++] = (end_node){l->entries[i].key.owner, own->node};
        l->end[n++] = (end_node){l->entries[i].key.other, own->far};
    }
    n = sort_ends(n, l->end);
    dd_blocks_fail(&l->ends,
                   eqp_array_reserve(&stage->send_end, &l->end_room, stage->nends + n, sizeof *stage->send_end));
    for (int64_t i = 0; i < n && l->ends.code == EQP_OK; i++) {
        stage->send_end[stage->nends++] = l->end[i].place;
    }
    return n;
}

static void list_block(listing *l, int64_t first, int64_t end, dd_stage *stage)
{
    const int64_t cell = l->entries[first].cell;

    dd_blocks_add(&l->segments, cell, (end - first) * (int64_t)sizeof(bundle));
    dd_blocks_fail(&l->segments,
                   eqp_array_reserve(&stage->send, &l->send_room, stage->nsend + end - first, sizeof *stage->send));
    for (int64_t i = first; i < end && l->segments.code == EQP_OK; i++) {
        stage->send[stage->nsend++] = l->entries[i].source;
    }
    dd_blocks_add(&l->ends, cell, list_ends(l, first, end, stage) * DD_END_BYTES);
}

static void list_blocks(listing *l, dd_stage *stage)
{
    const dd_domain *domain = l->domain;

    for (int64_t i = 0, end; i < stage->nown; i = end) {
        const int64_t cell = l->entries[i].cell;
        bool added = false;
        for (end = i; end < stage->nown && l->entries[end].cell == cell;) {
            end++;
        }
        for (int r = 0; r < domain->nranks; r++) {
            if (r != domain->rank && dd_needs_has(&stage->needs, r, cell)) {
                if (!added) {
                    list_block(l, i, end, stage);
                }
                added = true;
                dd_blocks_need(&l->segments, r);
                dd_blocks_need(&l->ends, r);
            }
        }
    }
}

static int make_routes(const dd_domain *domain, const dd_entry *entries, int code, dd_stage *stage)
{
    listing l = {.domain = domain, .entries = entries, .segments = {.back = true}};

    code = code == EQP_OK ? eqp_array_create(&l.end, 2 * stage->nown, sizeof *l.end) : code;
    dd_blocks_fail(&l.segments, code);
    dd_blocks_fail(&l.ends, code);
    if (code == EQP_OK) {
        list_blocks(&l, stage);
    }
    free(l.end);
    EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &l.segments, &stage->route));
    EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &l.ends, &stage->ends));
done:
    dd_blocks_free(&l.ends);
    return code;
}

/* Puts own segments into the memory of the computer. own: code of this rank so far. */
static int place_in_window(const dd_domain *domain, const int64_t *cell, dd_entry **entries, int own, dd_stage *stage,
                           bool *placed)
{
    dd_needs *needs = &stage->needs;

    own = own == EQP_OK ? sort_own(domain, cell, stage, entries) : own;
    dd_needs_mark(domain, own == EQP_OK ? stage->nown : 0, stage->own, cell, &stage->grid, &stage->shares, true, needs);
    EQP_CHECK(dd_window_place(domain, needs->mine, *entries, own, stage, placed));
    memset(needs->mine, 0, (size_t)needs->nwords * sizeof *needs->mine);
    return EQP_OK;
}

/* Plans the routes, unless a window makes them needless; own segments are sorted while needs travel. */
static int plan_routes(const dd_domain *domain, const dd_halo *halo, const eqp_map *map, dd_entry **entries,
                       dd_stage *stage)
{
    DD_FREED int64_t *cell = NULL;
    bool placed = false;
    int own = dd_shares_find(domain, halo, &stage->grid, map, EQP_OK, &stage->shares);

    own = own == EQP_OK ? find_cells(domain, halo, stage, &cell) : own;
    if (dd_window_of(domain) != NULL) {
        EQP_CHECK(place_in_window(domain, cell, entries, own, stage, &placed));
    }
    if (placed) {
        dd_needs_free(&stage->needs);
        return EQP_OK;
    }
    const int64_t n = own == EQP_OK ? stage->nown : 0;
    EQP_CHECK(dd_needs_begin(domain, n, stage->own, cell, &stage->grid, &stage->shares, &stage->needs));
    EQP_CHECK(dd_field_begin(domain, n, cell, &stage->grid, &stage->field));
    own = own == EQP_OK && *entries == NULL ? sort_own(domain, cell, stage, entries) : own;
    const int code = dd_field_end(domain, &stage->grid, &stage->field);
    own = own == EQP_OK ? code : own;
    EQP_CHECK(dd_needs_end(&stage->grid, &stage->shares, stage->field.home, &stage->needs));
    EQP_CHECK(make_routes(domain, *entries, own, stage));
    dd_needs_free(&stage->needs);
    return EQP_OK;
}

static int count_ghosts(dd_stage *stage)
{
    const eqp_route_view view = eqp_route_arrivals(stage->route);

    EQP_CHECK(eqp_array_create(&stage->ghost_first, view.n + 1, sizeof *stage->ghost_first));
    for (int64_t b = 0; b < view.n; b++) {
        const int64_t end = (view.offset[b] + view.bytes[b]) / (int64_t)sizeof(double);
        stage->nghosts += view.bytes[b] / (int64_t)sizeof(bundle);
        stage->ghost_first[b + 1] = stage->nghosts;
        stage->narrived = end > stage->narrived ? end : stage->narrived;
    }
    stage->nblocks = view.n;
    stage->n = stage->nown + stage->nghosts;
    return EQP_OK;
}

/* Fetches the bundles of remote segments: borrowed from the route. */
static int fetch_ghosts(const dd_domain *domain, dd_stage *stage, const void **bundles)
{
    DD_FREED bundle *out = NULL;
    int code = count_ghosts(stage);

    code = code == EQP_OK ? eqp_array_create(&out, stage->nsend, sizeof *out) : code;
    for (int64_t i = 0; i < stage->nsend && code == EQP_OK; i++) {
        out[i] = (bundle){.key = own_key(domain, stage, stage->send[i])};
        memcpy(out[i].burgers, stage->own[stage->send[i]].arm->burgers, sizeof out[i].burgers);
    }
    return dd_route_send(stage->route, code, out, bundles);
}

/* Joins own and remote segments: entries by cell, and the bundles in the order of arrival. */
static int merge(dd_stage *stage, const void *received, dd_entry **entries, bundle **bundles)
{
    const eqp_route_view view = eqp_route_arrivals(stage->route);
    int64_t room = stage->nown;

    EQP_CHECK(eqp_array_create(bundles, stage->nghosts, sizeof **bundles));
    EQP_CHECK(eqp_array_reserve(entries, &room, stage->n, sizeof **entries));
    for (int64_t b = 0; b < view.n; b++) {
        memcpy(*bundles + stage->ghost_first[b], (const char *)received + view.offset[b], (size_t)view.bytes[b]);
        for (int64_t g = stage->ghost_first[b]; g < stage->ghost_first[b + 1]; g++) {
            (*entries)[stage->nown + g] = (dd_entry){view.id[b], (*bundles)[g].key, -1 - g};
        }
    }
    if (stage->nghosts > 0) {
        dd_sort(*entries, stage->n, sizeof **entries, dd_by_3_words);
    }
    return EQP_OK;
}

static int create_local(dd_stage *stage)
{
    EQP_CHECK(eqp_array_create(&stage->key, stage->n, sizeof *stage->key));
    EQP_CHECK(eqp_array_create(&stage->source, stage->n, sizeof *stage->source));
    EQP_CHECK(eqp_array_create(&stage->cell_first, stage->grid.ncells + 1, sizeof *stage->cell_first));
    EQP_CHECK(eqp_array_create(&stage->alone, stage->grid.ncells, sizeof *stage->alone));
    EQP_CHECK(eqp_array_create(&stage->ghost_local, stage->nghosts, sizeof *stage->ghost_local));
    EQP_CHECK(eqp_array_create(&stage->ghost_end, stage->nghosts, sizeof *stage->ghost_end));
    return dd_columns_create(stage->n, &stage->memory, &stage->columns);
}

static void fill_local(const dd_domain *domain, const dd_halo *halo, const dd_entry *entries, const bundle *bundles,
                       dd_stage *stage)
{
    for (int64_t i = 0; i < stage->n; i++) {
        const dd_entry *e = &entries[i];
        stage->key[i] = e->key;
        stage->source[i] = e->source;
        stage->cell_first[e->cell + 1] = i + 1;
        if (e->source >= 0) {
            stage->own_local[e->source] = i;
            continue;
        }
        stage->ghost_local[-1 - e->source] = i;
        for (int d = 0; d < 3; d++) {
            stage->columns.at[6 + d][i] = bundles[-1 - e->source].burgers[d];
        }
    }
    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        if (stage->cell_first[c + 1] < stage->cell_first[c]) {
            stage->cell_first[c + 1] = stage->cell_first[c];
        }
    }
    dd_stage_place_own(domain, halo, stage);
}

/* The share of an owner in a cell; -1: none. Call in the order of the segments. */
static int64_t share_of(const dd_shares *shares, int64_t cell, dd_tag owner, int64_t *next)
{
    const uint64_t at[2] = {(uint64_t)cell, owner};

    while (*next < shares->n && dd_by_2_words(&shares->share[*next], at) < 0) {
        ++*next;
    }
    return *next < shares->n && shares->share[*next].owner == owner ? *next : -1;
}

/* Lists the segments whose pairs this rank computes. */
static int list_targets(const dd_domain *domain, dd_stage *stage)
{
    int64_t next = 0, room = 0;

    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        const int64_t end = dd_stage_has(stage, c) ? stage->cell_first[c + 1] : 0;
        for (int64_t i = stage->cell_first[c]; i < end; i++) {
            const int64_t share = share_of(&stage->shares, c, stage->key[i].owner, &next), own = stage->source[i];
            if (share >= 0 || (own >= 0 && domain->network.node[stage->own[own].node].split < 0)) {
                EQP_CHECK(eqp_array_reserve(&stage->target, &room, stage->ntargets + 1, sizeof *stage->target));
                stage->target[stage->ntargets++] = (dd_target){i, share};
            }
        }
    }
    return EQP_OK;
}

static void find_alone(dd_stage *stage)
{
    const dd_grid *grid = &stage->grid;

    memset(stage->alone, 1, (size_t)grid->ncells);
    for (int64_t c = 0; c < grid->ncells; c++) {
        int64_t sources[DD_GRID_SOURCES];
        const bool empty = stage->cell_first[c] == stage->cell_first[c + 1];
        const int n = empty ? 0 : dd_grid_sources(grid, c, sources);
        for (int s = 0; s < n && stage->alone[c] != 0; s++) {
            for (int64_t i = stage->cell_first[sources[s]]; i < stage->cell_first[sources[s] + 1]; i++) {
                stage->alone[c] = stage->source[i] < 0 ? 0 : stage->alone[c];
            }
        }
    }
}

static int64_t find_end(const end_node *ends, int64_t n, dd_tag tag)
{
    const end_node *at = bsearch(&tag, ends, (size_t)n, sizeof *ends, dd_by_word);

    return at - ends; /* found: the list was made of all ends */
}

/* Finds the ends of a block, of which the first has index `first`. Returns the number of ends. ends: room for two per
 * segment. */
static int64_t find_in_block(dd_stage *stage, int64_t block, int64_t first, end_node *ends)
{
    const int64_t from = stage->ghost_first[block], n = stage->ghost_first[block + 1] - from;
    int64_t kept;

    for (int64_t g = 0; g < n; g++) {
        const dd_segment_key *key = &stage->key[stage->ghost_local[from + g]];
        ends[2 * g] = (end_node){.tag = key->owner};
        ends[2 * g + 1] = (end_node){.tag = key->other};
    }
    kept = sort_ends(2 * n, ends);
    for (int64_t g = from; g < from + n; g++) {
        const dd_segment_key *key = &stage->key[stage->ghost_local[g]];
        stage->ghost_end[g][0] = first + find_end(ends, kept, key->owner);
        stage->ghost_end[g][1] = first + find_end(ends, kept, key->other);
    }
    return kept;
}

/* Finds the ends of all remote segments among the received positions. EQP_ERR_INTERNAL if they do not match. */
static int find_ends(dd_stage *stage)
{
    const eqp_route_view ends = eqp_route_arrivals(stage->ends), segments = eqp_route_arrivals(stage->route);
    DD_FREED end_node *room = NULL;

    EQP_CHECK(ends.n == stage->nblocks ? EQP_OK : EQP_ERR_INTERNAL);
    EQP_CHECK(eqp_array_create(&room, 2 * stage->nghosts, sizeof *room));
    for (int64_t b = 0; b < stage->nblocks; b++) {
        const int64_t n = find_in_block(stage, b, ends.offset[b] / DD_END_BYTES, room);
        if (ends.id[b] != segments.id[b] || ends.home[b] != segments.home[b] || ends.bytes[b] != n * DD_END_BYTES) {
            return EQP_ERR_INTERNAL;
        }
    }
    return EQP_OK;
}

static int take_in(const dd_domain *domain, const dd_halo *halo, const void *received, dd_entry **entries,
                   dd_stage *stage)
{
    DD_FREED bundle *bundles = NULL;

    EQP_CHECK(merge(stage, received, entries, &bundles));
    EQP_CHECK(create_local(stage));
    fill_local(domain, halo, *entries, bundles, stage);
    find_alone(stage);
    EQP_CHECK(list_targets(domain, stage));
    return find_ends(stage);
}

int dd_stage_open(const dd_domain *domain, const int64_t cells[3], dd_stage *stage)
{
    dd_stage_free(stage);
    dd_grid_init(&stage->grid, domain, cells);
    EQP_CHECK(dd_needs_open(domain, &stage->grid, &stage->needs));
    return dd_field_open(domain, &stage->grid, &stage->field);
}

int dd_stage_create(const dd_domain *domain, const dd_halo *halo, const eqp_map *map, dd_stage *stage)
{
    DD_FREED dd_entry *entries = NULL;
    const void *received = NULL;
    int code;

    stage->nown = halo->nown;
    stage->own = halo->own;
    EQP_TRY(plan_routes(domain, halo, map, &entries, stage));
    if (stage->window != NULL) {
        dd_stage_place_own(domain, halo, stage);
        stage->code = dd_field_create_numbers(&stage->field);
        stage->code = stage->code == EQP_OK ? list_targets(domain, stage) : stage->code;
    } else {
        EQP_TRY(dd_field_plan(domain, &stage->field));
        EQP_TRY(fetch_ghosts(domain, stage, &received));
        stage->code = take_in(domain, halo, received, &entries, stage);
    }
done:
    if (code != EQP_OK) {
        dd_stage_free(stage);
    }
    return code;
}

void dd_stage_free(dd_stage *stage)
{
    dd_segment_key *key = stage->window == NULL ? stage->key : NULL;
    void *owned[] = {stage->own_local, stage->send,     stage->ghost_first, stage->ghost_local, key,
                     stage->source,    stage->memory,   stage->cell_first,  stage->alone,       stage->target,
                     stage->send_end,  stage->ghost_end};

    eqp_route_free(stage->route);
    eqp_route_free(stage->ends);
    dd_needs_free(&stage->needs);
    dd_field_free(&stage->field);
    dd_shares_free(&stage->shares);
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    *stage = (dd_stage){0};
}
