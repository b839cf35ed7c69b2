/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include "../forces/evaluate.h"

#include <equipoise/more/base.h>
#include <equipoise/more/curve.h>

#include <stdlib.h>

#define NOWHERE (-1) /* home of a cell of the top */

typedef struct tracing {
    const bh_trace *trace;
    int nparts;
    const eqp_map *map;
    eqp_evaluation *evaluation;
    bool loads_only;
    bh_targets targets;
    bh_homes homes; /* by parts */
    bh_list list;
    int *ranks;     /* [nparts] parts that compute the current group */
    int64_t *asked; /* [nparts] 1 + the last request that went there */
    bool waits;     /* the current share needs cells of another part */
} tracing;

/* The part below whose branches a cell lies; NOWHERE for the top. */
static int home_of(const tracing *t, uint64_t key, int level)
{
    const int64_t i = bh_homes_find(&t->homes, key);

    return key + bh_span(level) <= t->homes.begin[i + 1] ? t->homes.rank[i] : NOWHERE;
}

/* Declares a cell's block, and its share of the common top if it is a branch. */
static int declare_cell(tracing *t, const bh_cell *cell, int home, bool is_branch)
{
    const bh_tree *tree = &t->trace->domain->tree;
    const bool inner = cell->nchild > 0;
    const int64_t bytes = inner ? bh_let_family_bytes(tree->bare, cell->nchild) : bh_let_leaf_bytes(cell->count);

    EQP_CHECK(is_branch ? eqp_evaluation_common(t->evaluation, home, bh_branch_bytes(tree)) : EQP_OK);
    return eqp_evaluation_block(t->evaluation, BH_PHASE_GHOSTS, bh_block_id(cell->key, cell->level), bytes,
                                inner ? cell->nchild : cell->count, home);
}

typedef struct pending {
    int64_t cell;
    bool below; /* its parent lies below branches */
} pending;

/* Declares every cell once over all ranks: at its home, or on rank 0 for the present top. */
static int declare_cells(tracing *t)
{
    const bh_domain *domain = t->trace->domain;
    const bh_tree *tree = &domain->tree;
    pending *stack = NULL;
    int64_t n = 0, capacity = 0;
    int code = eqp_array_reserve(&stack, &capacity, 1, sizeof *stack);

    if (code == EQP_OK && tree->root >= 0) {
        stack[n++] = (pending){tree->root, false};
    }
    while (n > 0 && code == EQP_OK) {
        const pending at = stack[--n];
        const bh_cell *cell = &tree->cell[at.cell];
        const int home = home_of(t, cell->key, cell->level);
        if (cell->home == domain->rank || (cell->home < 0 && domain->rank == 0)) {
            code = home == NOWHERE ? EQP_OK : declare_cell(t, cell, home, !at.below);
        }
        if ((cell->home >= 0 && cell->home != domain->rank) || cell->nchild == 0) {
            continue;
        }
        code = code == EQP_OK ? eqp_array_reserve(&stack, &capacity, n + cell->nchild, sizeof *stack) : code;
        for (int k = 0; k < cell->nchild && code == EQP_OK; k++) {
            stack[n++] = (pending){cell->child + k, home != NOWHERE};
        }
    }
    free(stack);
    return code;
}

static int need_cell(tracing *t, uint64_t key, int level, int part)
{
    const int home = home_of(t, key, level);

    if (home == NOWHERE || home == part) {
        return EQP_OK;
    }
    t->waits = true;
    return eqp_evaluation_need(t->evaluation, BH_PHASE_GHOSTS, bh_block_id(key, level), part);
}

static int need_leaves(tracing *t, const bh_opened *opened, int part)
{
    const bh_tree *tree = &t->trace->domain->tree;

    for (int k = 0; k < opened->nleaves; k++) {
        const bh_cell *leaf = &tree->cell[opened->leaf[k]];
        EQP_CHECK(need_cell(t, leaf->key, leaf->level, part));
    }
    return EQP_OK;
}

/* The home of a group asks every home with branches that the walk opens, unless that home computes the whole group. */
static int ask(tracing *t, int64_t request, uint64_t key, int level, int asker, int alone)
{
    const int home = home_of(t, key, level);

    if (home == NOWHERE || home == asker || home == alone || t->asked[home] == request + 1) {
        return EQP_OK;
    }
    t->asked[home] = request + 1;
    return eqp_evaluation_need(t->evaluation, BH_PHASE_REQUESTS, request, home);
}

static int ask_for(tracing *t, int64_t group, int asker, int n)
{
    const bh_tree *tree = &t->trace->domain->tree;
    const int64_t request = t->trace->first_group + group, nopened = bh_opened_count(&t->list);
    const int alone = n == 1 ? t->ranks[0] : NOWHERE;
    int code =
        eqp_evaluation_block(t->evaluation, BH_PHASE_REQUESTS, request, bh_request_bytes(t->trace->mac), 0, asker);

    for (int64_t i = 0; i < nopened && code == EQP_OK; i++) {
        bh_opened opened;
        bh_opened_get(tree, &t->list, i, &opened);
        if (opened.cell >= 0) {
            const bh_cell *cell = &tree->cell[opened.cell];
            code = ask(t, request, cell->key, cell->level, asker, alone);
        }
        for (int k = 0; k < opened.nleaves && code == EQP_OK; k++) {
            const bh_cell *leaf = &tree->cell[opened.leaf[k]];
            code = ask(t, request, leaf->key, leaf->level, asker, alone);
        }
    }
    return code;
}

/* A share's work, which overlaps with the exchange of ghosts if it needs none. */
static int add_load(tracing *t, const bh_counts *counts, int part)
{
    const double seconds = eqp_cost_fit_predict(t->trace->costs, counts->of);

    EQP_CHECK(eqp_evaluation_load(t->evaluation, part, seconds));
    if (!t->loads_only && !t->waits && t->trace->overlaps) {
        EQP_CHECK(eqp_evaluation_meanwhile(t->evaluation, BH_PHASE_GHOSTS, part, seconds));
    }
    return EQP_OK;
}

/* Work and needs of one part for a group, by the same walk as on that part. choice: NULL for all tiles. */
static int trace_share(tracing *t, const bh_group *group, const bh_choice *choice, int part)
{
    const bh_tree *tree = &t->trace->domain->tree;
    int code = bh_walk(tree, group, t->trace->mac, choice, &t->list);
    const int64_t n = t->loads_only || code != EQP_OK ? 0 : bh_opened_count(&t->list);
    const bh_counts counts = {.of = {[BH_KIND_PAIR] = t->list.nsources * group->count,
                                     [BH_KIND_CELL] = t->list.ncells * group->count,
                                     [BH_KIND_LISTED] = t->list.nsources + t->list.ncells,
                                     [BH_KIND_VISIT] = t->list.nvisits,
                                     [BH_KIND_GROUP] = 1}};

    if (code == EQP_OK && t->list.nabsent > 0) {
        code = EQP_ERR_INTERNAL; /* the essential tree should have been fetched */
    }
    t->waits = false;
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        bh_opened opened;
        bh_opened_get(tree, &t->list, i, &opened);
        if (opened.cell >= 0) {
            code = need_cell(t, tree->cell[opened.cell].key, tree->cell[opened.cell].level, part);
        }
        code = code == EQP_OK ? need_leaves(t, &opened, part) : code;
    }
    return code == EQP_OK ? add_load(t, &counts, part) : code;
}

/* Traces a group whose tiles belong to several parts, t->ranks[0] to t->ranks[n - 1]. */
static int trace_split(tracing *t, const bh_group *group, int64_t tag, int n)
{
    const bh_tree *tree = &t->trace->domain->tree;

    for (int r = 0; r < n; r++) {
        bh_tile_choice choice;
        EQP_CHECK(trace_share(t, group, bh_tile_choose(&choice, t->map, tag, t->ranks[r], group), t->ranks[r]));
    }
    if (!t->loads_only) { /* the whole list, for requests */
        EQP_CHECK(bh_walk(tree, group, t->trace->mac, NULL, &t->list));
    }
    return EQP_OK;
}

/* A group goes to all parts that compute some of it, and its forces return, unless its home computes it alone. */
static int send_group(tracing *t, int64_t g, int home, int n)
{
    const bh_group *group = &t->targets.group[g];
    const int64_t block = t->trace->first_group + g;

    if (n == 1 && t->ranks[0] == home) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_evaluation_block(t->evaluation, BH_PHASE_TASKS, block,
                                   bh_task_bytes(group->count, t->targets.particles.rungs), group->count, home));
    EQP_CHECK(
        eqp_evaluation_block(t->evaluation, BH_PHASE_FORCES, block, bh_result_bytes(group->count), group->count, home));
    for (int r = 0; r < n; r++) {
        if (t->ranks[r] != home) {
            EQP_CHECK(eqp_evaluation_need(t->evaluation, BH_PHASE_TASKS, block, t->ranks[r]));
            EQP_CHECK(eqp_evaluation_need(t->evaluation, BH_PHASE_FORCES, block, t->ranks[r]));
        }
    }
    return EQP_OK;
}

static int trace_group(tracing *t, int64_t g, int64_t placed)
{
    const int64_t tag = eqp_map_tag_in(t->map, placed, t->trace->phase);
    const bh_group *group = &t->targets.group[g];
    const int n = eqp_map_ranks(t->map, tag, t->nparts, t->ranks);
    EQP_CHECK(tag >= 0 ? trace_share(t, group, NULL, t->ranks[0]) : trace_split(t, group, tag, n));

    if (!t->loads_only) {
        const int home = bh_homes_rank(&t->homes, group->key);
        EQP_CHECK(send_group(t, g, home, n));
        EQP_CHECK(ask_for(t, g, home, n));
    }
    return EQP_OK;
}

/* Declares all cells, and what each part holds: in every substep it drifts, sorts and inserts all of its particles,
 * active or not. */
static int declare_all(tracing *t)
{
    const bh_domain *domain = t->trace->domain;

    EQP_CHECK(declare_cells(t));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        EQP_CHECK(eqp_evaluation_held(t->evaluation, bh_homes_rank(&t->homes, group->key), group->count));
    }
    return EQP_OK;
}

int bh_trace_map(const bh_trace *trace, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    tracing t = {.trace = trace, .nparts = nparts, .map = map, .evaluation = evaluation, .loads_only = loads_only};
    int code;

    EQP_TRY(loads_only ? EQP_OK : bh_domain_plan_homes(trace->domain, placement, &t.homes));
    code = eqp_array_create(&t.ranks, nparts, sizeof *t.ranks);
    code = code == EQP_OK ? eqp_array_create(&t.asked, nparts, sizeof *t.asked) : code;
    code = code == EQP_OK ? bh_targets_find(&t.targets, trace->domain, trace->phase) : code;
    code = code == EQP_OK && !loads_only ? declare_all(&t) : code;
    for (int64_t k = 0; k < t.targets.ngroups && code == EQP_OK; k++) {
        const int64_t g = t.targets.numbers != NULL ? t.targets.numbers[k] : k;
        code = trace_group(&t, k, placement[g].tag);
    }
    code = eqp_agree(trace->domain->comm, code, NULL);
done:
    bh_list_free(&t.list);
    bh_homes_free(&t.homes);
    bh_targets_free(&t.targets);
    free(t.ranks);
    free(t.asked);
    return code;
}
