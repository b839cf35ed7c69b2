/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage.h"

#include "../outbox.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* Constant data of a remote segment. */
typedef struct bundle {
    dd_segment_key key;
    double burgers[3], unused;
} bundle;

_Static_assert(sizeof(bundle) == sizeof(dd_six), "a bundle travels like six numbers");

/* A local segment while they are sorted. */
typedef struct entry {
    dd_segment_key key;
    int64_t cell;
    int64_t source; /* as in the stage */
} entry;

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

static void sort_entries(int64_t n, entry *entries)
{
    if (n > 1) {
        qsort(entries, (size_t)n, sizeof *entries, compare_entries);
    }
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
    EQP_TRY(eqp_array_create(&stage->own_node, n, sizeof *stage->own_node));
    EQP_TRY(eqp_array_create(&stage->own_arm, n, sizeof *stage->own_arm));
    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms; k++) {
            if (node->tag < node->arm[k].tag) {
                stage->own_node[stage->nown] = i;
                stage->own_arm[stage->nown++] = k;
            }
        }
    }
    EQP_TRY(eqp_array_create(&stage->own_crossing, stage->nown, sizeof *stage->own_crossing));
    EQP_TRY(eqp_array_create(&stage->own_local, stage->nown, sizeof *stage->own_local));
done:
    return code;
}

static dd_segment_key own_key(const dd_domain *domain, const dd_stage *stage, int64_t own)
{
    const dd_node *node = &domain->network.node[stage->own_node[own]];

    return (dd_segment_key){node->tag, node->arm[stage->own_arm[own]].tag};
}

/* Lists and sorts the own segments, with the halo's arms of segments across ranks. */
static int list_all_own(const dd_domain *domain, const dd_halo *halo, dd_stage *stage, entry **entries)
{
    const dd_crossings *mine = &halo->mine;
    int64_t *crossing = NULL; /* by arm: 1 + the place among the crossings */
    int code;

    EQP_TRY(list_own(domain, stage));
    EQP_TRY(eqp_array_create(&crossing, halo->first[domain->network.n], sizeof *crossing));
    EQP_TRY(eqp_array_create(entries, stage->nown, sizeof **entries));
    for (int64_t a = 0; a < mine->n; a++) {
        crossing[halo->first[mine->node[a]] + mine->arm[a]] = a + 1;
    }
    for (int64_t s = 0; s < stage->nown; s++) {
        const int64_t node = stage->own_node[s];
        const int64_t cell = s > 0 && stage->own_node[s - 1] == node
                                 ? (*entries)[s - 1].cell
                                 : dd_grid_cell_of_node(&stage->grid, domain, halo, node);
        (*entries)[s] = (entry){own_key(domain, stage, s), cell, s};
        stage->own_crossing[s] = crossing[halo->first[node] + stage->own_arm[s]] - 1;
    }
    sort_entries(stage->nown, *entries);
done:
    free(crossing);
    return code;
}

/* Own cells that other ranks need. */
typedef struct listing {
    const dd_domain *domain;
    const dd_halo *halo;
    const dd_needs *needs;
    const entry *entries;
    dd_blocks segments, ends;
    int64_t send_room, end_room;
    dd_end *end; /* [2 own segments] scratch; owned */
} listing;

static int64_t list_ends(listing *l, int64_t first, int64_t end, dd_stage *stage)
{
    int64_t n = 0;

    for (int64_t i = first; i < end; i++) {
        const int64_t s = l->entries[i].source, node = stage->own_node[s];
        const int64_t far = l->halo->place[l->halo->first[node] + stage->own_arm[s]];
        l->end[n++] = (dd_end){l->entries[i].key.owner, node};
        l->end[n++] = (dd_end){l->entries[i].key.other, far};
    }
    n = dd_ends_sort(n, l->end);
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

    dd_blocks_add(&l->segments, cell, (end - first) * (int64_t)sizeof(dd_six));
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
            if (r != domain->rank && dd_needs_has(l->needs, r, cell)) {
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

static int make_routes(listing *l, int code, dd_stage *stage)
{
    const dd_domain *domain = l->domain;

    code = code == EQP_OK ? eqp_array_create(&l->end, 2 * stage->nown, sizeof *l->end) : code;
    l->segments.back = true;
    dd_blocks_fail(&l->segments, code);
    dd_blocks_fail(&l->ends, code);
    if (code == EQP_OK) {
        list_blocks(l, stage);
    }
    free(l->end);
    EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &l->segments, &stage->route));
    EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &l->ends, &stage->ends));
done:
    dd_blocks_free(&l->ends);
    return code;
}

/* Plans the routes; own segments are listed and sorted while needs travel. */
static int plan_routes(const dd_domain *domain, const dd_halo *halo, const eqp_map *map, entry **entries,
                       dd_stage *stage)
{
    listing l = {.domain = domain, .halo = halo, .needs = &stage->needs};
    int own = dd_shares_find(domain, halo, &stage->grid, map, EQP_OK, &stage->shares), code;

    EQP_TRY(dd_needs_begin(domain, halo, &stage->grid, &stage->shares, &stage->needs));
    EQP_TRY(dd_field_begin(domain, halo, &stage->grid, &stage->field));
    own = own == EQP_OK ? list_all_own(domain, halo, stage, entries) : own;
    code = dd_field_end(domain, &stage->grid, &stage->field);
    own = own == EQP_OK ? code : own;
    EQP_TRY(dd_needs_end(&stage->grid, &stage->shares, stage->field.home, &stage->needs));
    l.entries = *entries;
    EQP_TRY(make_routes(&l, own, stage));
done:
    dd_needs_free(&stage->needs);
    return code;
}

static int count_ghosts(dd_stage *stage)
{
    const eqp_route_view view = eqp_route_arrivals(stage->route);
    int code = eqp_array_create(&stage->ghost_first, view.n + 1, sizeof *stage->ghost_first);

    for (int64_t b = 0; b < view.n && code == EQP_OK; b++) {
        const int64_t end = (view.offset[b] + view.bytes[b]) / (int64_t)sizeof(double);
        stage->nghosts += view.bytes[b] / (int64_t)sizeof(dd_six);
        stage->ghost_first[b + 1] = stage->nghosts;
        stage->narrived = end > stage->narrived ? end : stage->narrived;
    }
    stage->nblocks = view.n;
    stage->n = stage->nown + stage->nghosts;
    return code;
}

/* Fetches the constant data of remote segments: borrowed from the route. */
static int fetch_ghosts(const dd_domain *domain, dd_stage *stage, const void **bundles)
{
    bundle *out = NULL;
    int code = count_ghosts(stage);

    if (code == EQP_OK) {
        code = eqp_array_create(&out, stage->nsend, sizeof *out);
    }
    for (int64_t i = 0; i < stage->nsend && code == EQP_OK; i++) {
        const int64_t s = stage->send[i];
        out[i] = (bundle){.key = own_key(domain, stage, s)};
        memcpy(out[i].burgers, domain->network.node[stage->own_node[s]].arm[stage->own_arm[s]].burgers,
               sizeof out[i].burgers);
    }
    code = dd_route_send(stage->route, code, out, bundles);
    free(out);
    return code;
}

static int merge(dd_stage *stage, const void *bundles, entry **entries)
{
    const eqp_route_view view = eqp_route_arrivals(stage->route);
    int64_t room = stage->nown;
    int code = eqp_array_reserve(entries, &room, stage->n, sizeof **entries);

    for (int64_t b = 0; b < view.n && code == EQP_OK; b++) {
        const dd_six *from = dd_stage_block(&view, bundles, b);
        for (int64_t g = stage->ghost_first[b]; g < stage->ghost_first[b + 1]; g++, from++) {
            bundle arrived;
            memcpy(&arrived, from, sizeof arrived);
            (*entries)[stage->nown + g] = (entry){arrived.key, view.id[b], -1 - g};
        }
    }
    if (code == EQP_OK && stage->nghosts > 0) {
        sort_entries(stage->n, *entries);
    }
    return code;
}

static int create_local(dd_stage *stage)
{
    int code;

    EQP_TRY(eqp_array_create(&stage->key, stage->n, sizeof *stage->key));
    EQP_TRY(eqp_array_create(&stage->source, stage->n, sizeof *stage->source));
    EQP_TRY(eqp_array_create(&stage->cell_first, stage->grid.ncells + 1, sizeof *stage->cell_first));
    EQP_TRY(eqp_array_create(&stage->alone, stage->grid.ncells, sizeof *stage->alone));
    EQP_TRY(eqp_array_create(&stage->ghost_local, stage->nghosts, sizeof *stage->ghost_local));
    EQP_TRY(dd_columns_create(stage->n, &stage->memory, &stage->columns));
done:
    return code;
}

static void fill_local(const dd_domain *domain, const dd_halo *halo, const entry *entries, const void *bundles,
                       dd_stage *stage)
{
    const eqp_route_view view = eqp_route_arrivals(stage->route);

    for (int64_t i = 0; i < stage->n; i++) {
        const entry *e = &entries[i];
        stage->key[i] = e->key;
        stage->source[i] = e->source;
        stage->cell_first[e->cell + 1] = i + 1;
        if (e->source >= 0) {
            stage->own_local[e->source] = i;
        } else {
            stage->ghost_local[-1 - e->source] = i;
        }
    }
    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        if (stage->cell_first[c + 1] < stage->cell_first[c]) {
            stage->cell_first[c + 1] = stage->cell_first[c];
        }
    }
    dd_stage_place_own(domain, halo, stage);
    for (int64_t b = 0; b < view.n; b++) {
        const dd_six *from = dd_stage_block(&view, bundles, b);
        for (int64_t g = stage->ghost_first[b]; g < stage->ghost_first[b + 1]; g++, from++) {
            bundle arrived;
            memcpy(&arrived, from, sizeof arrived);
            for (int d = 0; d < 3; d++) {
                stage->columns.at[6 + d][stage->ghost_local[g]] = arrived.burgers[d];
            }
        }
    }
}

/* The share of a local segment's owner; -1: none. Call in the order of the segments. */
static int64_t share_of(const dd_shares *shares, const entry *e, int64_t *next)
{
    while (*next < shares->n && (shares->share[*next].cell < e->cell ||
                                 (shares->share[*next].cell == e->cell && shares->share[*next].owner < e->key.owner))) {
        ++*next;
    }
    return *next < shares->n && shares->share[*next].owner == e->key.owner ? *next : -1;
}

/* Lists the segments whose pairs this rank computes and returns their number. target: NULL: count only. */
static int64_t list_targets(const dd_domain *domain, const entry *entries, const dd_stage *stage, dd_target *target)
{
    int64_t n = 0, next = 0;

    for (int64_t i = 0; i < stage->n; i++) {
        const int64_t share = share_of(&stage->shares, &entries[i], &next), own = entries[i].source;
        if (share >= 0 || (own >= 0 && domain->network.node[stage->own_node[own]].split < 0)) {
            if (target != NULL) {
                target[n] = (dd_target){i, share};
            }
            n++;
        }
    }
    return n;
}

static int create_targets(const dd_domain *domain, const entry *entries, dd_stage *stage)
{
    int code;

    stage->ntargets = list_targets(domain, entries, stage, NULL);
    EQP_TRY(eqp_array_create(&stage->target, stage->ntargets, sizeof *stage->target));
    (void)list_targets(domain, entries, stage, stage->target);
done:
    return code;
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

static int take_in(const dd_domain *domain, const dd_halo *halo, const void *bundles, entry **entries, dd_stage *stage)
{
    int code;

    EQP_TRY(merge(stage, bundles, entries));
    EQP_TRY(create_local(stage));
    fill_local(domain, halo, *entries, bundles, stage);
    find_alone(stage);
    EQP_TRY(create_targets(domain, *entries, stage));
    EQP_TRY(dd_stage_find_ends(stage));
done:
    return code;
}

int dd_stage_open(const dd_domain *domain, const int64_t cells[3], dd_stage *stage)
{
    int code;

    dd_stage_free(stage);
    dd_grid_init(&stage->grid, domain, cells);
    EQP_TRY(dd_needs_open(domain, &stage->grid, &stage->needs));
    EQP_TRY(dd_field_open(domain, &stage->grid, &stage->field));
done:
    return code;
}

int dd_stage_create(const dd_domain *domain, const dd_halo *halo, const eqp_map *map, dd_stage *stage)
{
    const void *bundles = NULL;
    entry *entries = NULL;
    int code;

    EQP_TRY(plan_routes(domain, halo, map, &entries, stage));
    EQP_TRY(dd_field_plan(domain, &stage->field));
    EQP_TRY(fetch_ghosts(domain, stage, &bundles));
    stage->code = take_in(domain, halo, bundles, &entries, stage);
done:
    free(entries);
    if (code != EQP_OK) {
        dd_stage_free(stage);
    }
    return code;
}

void dd_stage_free(dd_stage *stage)
{
    void *owned[] = {stage->own_node,    stage->own_arm,     stage->own_local, stage->own_crossing, stage->send,
                     stage->ghost_first, stage->ghost_local, stage->key,       stage->source,       stage->cell_first,
                     stage->alone,       stage->memory,      stage->target,    stage->send_end,     stage->ghost_end};

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
