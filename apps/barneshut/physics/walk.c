/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk from a target group to its list. */
#include "walker.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

int64_t bh_cell_pin(uint64_t key, int level)
{
    return (int64_t)(eqp_random_bits(0, (uint64_t)level, key) >> 1);
}

void bh_list_init(bh_list *list)
{
    *list = (bh_list){0};
}

void bh_list_free(bh_list *list)
{
    free(list->cell);
    free(list->run_first);
    free(list->run_count);
    free(list->absent);
    free(list->frontier.family);
    free(list->frontier.next);
    free(list->frontier.taken);
    free(list->region.planes);
    bh_list_init(list);
}

/* Reserves room for n cells and n runs, and for one more family, whose lanes are stored all at once. */
static int list_reserve(bh_list *list, int64_t n)
{
    if (n + BH_FAMILY <= list->capacity) {
        return EQP_OK;
    }
    int64_t room[3] = {list->capacity, list->capacity, list->capacity};
    EQP_CHECK(eqp_array_reserve(&list->cell, &room[0], n + n / 2 + 256, sizeof(*list->cell)));
    EQP_CHECK(eqp_array_reserve(&list->run_first, &room[1], n + n / 2 + 256, sizeof(*list->run_first)));
    EQP_CHECK(eqp_array_reserve(&list->run_count, &room[2], n + n / 2 + 256, sizeof(*list->run_count)));
    list->capacity = room[2];
    return EQP_OK;
}

/* Reserves room for n opened cells and one more family. */
static int frontier_reserve(bh_frontier *f, int64_t n)
{
    if (n + BH_FAMILY <= f->capacity) {
        return EQP_OK;
    }
    int64_t room[3] = {f->capacity, f->capacity, f->capacity};
    EQP_CHECK(eqp_array_reserve(&f->family, &room[0], n + n / 4 + 256, sizeof(*f->family)));
    EQP_CHECK(eqp_array_reserve(&f->next, &room[1], n + n / 4 + 256, sizeof(*f->next)));
    EQP_CHECK(eqp_array_reserve(&f->taken, &room[2], n + n / 4 + 256, sizeof(*f->taken)));
    f->capacity = room[2];
    return EQP_OK;
}

int bh__put_absent(bh_list *list, int64_t cell)
{
    EQP_CHECK(eqp_array_reserve(&list->absent, &list->absent_capacity, list->nabsent + 1, sizeof(*list->absent)));
    list->absent[list->nabsent++] = cell;
    return EQP_OK;
}

double bh__rounding(const bh_box *box)
{
    double rounding = 0;
    for (int k = 0; k < 3; k++) {
        rounding += 8 * DBL_EPSILON * (fabs(box->corner[k]) + box->side);
    }
    return rounding;
}

void bh__walker_init(bh__walker *w, const bh_tree *tree, const bh_group *group, const bh_mac *mac)
{
    const double reach = mac->cutoff + bh__rounding(&tree->box);

    w->tree = tree;
    w->group = group;
    /* Closer than half a diagonal and the offset, the targets could lie inside the cell, or among particles that have
     * drifted out of it. */
    w->reciprocal = fmax(1 / mac->theta, tree->drifted ? BH_GUARD_REACH : BH_THETA_RECIPROCAL_LEAST);
    w->rule = mac->cutoff > 0 ? BH_CUTOFF : mac->relative && group->accel > 0 ? BH_RELATIVE : BH_GEOMETRIC;
    w->reach2 = reach * reach;
    w->G = mac->G;
    w->strength = mac->alpha * group->accel;
    w->families = 0;
    w->end = INT32_MAX;
    w->region = NULL;
    w->side[0] = tree->box.side;
    for (int level = 1; level <= EQP_CURVE_BITS; level++) {
        w->side[level] = 0.5 * w->side[level - 1]; /* exact, as bh__side() */
    }
}

/* True if the tile of the cell at this place belongs to the list. */
static bool is_kept(const bh__walker *w, const bh_choice *choice, uint64_t place, int level)
{
    double centre[3];
    if (choice == NULL || choice->keep == NULL) {
        return true;
    }
    bh__centre(&w->tree->box, place, level, w->side[level], centre);
    return choice->keep(choice->user, centre);
}

static int put_leaf(const bh__walker *w, int64_t number, bh_list *list)
{
    const bh_cell *leaf = &w->tree->cell[number];
    if (leaf->first == BH_ABSENT) {
        return bh__put_absent(list, number);
    }
    list->run_first[list->nruns] = leaf->first;
    list->run_count[list->nruns++] = leaf->count;
    list->nsources += leaf->count;
    return EQP_OK;
}

/* A root that need not be opened, alone in its tile. */
static int put_root(const bh__walker *w, const bh_choice *choice, bool whole, bh_list *list)
{
    if (!is_kept(w, choice, 0, 0)) {
        return EQP_OK;
    }
    list->ntiles = 1;
    list->ncells = whole;
    list->cell[0] = w->tree->root;
    return whole ? EQP_OK : put_leaf(w, w->tree->root, list);
}

bool bh__acts_whole(const bh__walker *w, const bh_cell *cell)
{
    const bh_moments *moments = &cell->moments;
    if (w->rule == BH_CUTOFF) {
        return !bh__near(w, cell);
    }
    const double d2 = bh__distance2(w->group, moments->com[0], moments->com[1], moments->com[2]);
    if ((cell->nchild == 0 && cell->count <= BH_DIRECT_MAX) || bh__is_loose(cell)) {
        return false;
    }
    return w->rule == BH_RELATIVE ? bh__far_relative(w, d2, moments->offset, moments->mass, cell)
                                  : bh__far_geometric(w, d2, moments->offset, w->side[cell->level]);
}

/* Opens what must be opened from the root down. The frontier stays empty if the root is not. */
static int open_all(const bh__walker *w, const bh__walk_row *row, bool *whole, bh_list *list)
{
    const bh_cell *cell = &w->tree->cell[w->tree->root];
    *whole = bh__acts_whole(w, cell);
    list->nvisits = 1;
    if (*whole || cell->nchild == 0) {
        return EQP_OK;
    }
    EQP_CHECK(frontier_reserve(&list->frontier, bh__cells_reached(w->tree)));
    list->frontier.family[0] = cell->child == BH_ABSENT ? (int32_t)(-1 - w->tree->root) : cell->family;
    list->frontier.next[0] = -1;
    list->frontier.n = 1;
    row->open(w, list);
    return EQP_OK;
}

const bh__walk_row *const bh__walk_table[] = {
#ifdef BH_WALK_X86
    &bh__walk_avx512,
    &bh__walk_avx2,
#endif
    &bh__walk_plain,
};
const int bh__walk_table_size = sizeof(bh__walk_table) / sizeof(bh__walk_table[0]);

const bh__walk_row *bh__walk_best(void)
{
    const bh__walk_row *const *row = bh__walk_table;
    while (!(*row)->runs_here()) {
        row++; /* ends: the last row runs everywhere */
    }
    return *row;
}

static void list_clear(bh_list *list)
{
    list->ncells = list->nruns = list->nsources = list->ntiles = list->nvisits = list->nabsent = 0;
    list->frontier.n = 0;
}

int bh__walk_open(const bh__walker *w, int64_t n, const int32_t *family, bh_list *list)
{
    bh_frontier *frontier = &list->frontier;
    list_clear(list);
    EQP_CHECK(frontier_reserve(frontier, bh__cells_reached(w->tree)));
    if (n == 0) {
        return EQP_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        frontier->family[i] = family[i];
        frontier->next[i] = (int32_t)(i + 1);
    }
    frontier->next[n - 1] = -1;
    frontier->n = n;
    bh__walk_best()->open(w, list);
    return EQP_OK;
}

int bh__walk(const bh__walk_row *row, const bh_tree *tree, const bh_group *group, const bh_mac *mac,
             const bh_choice *choice, bh_list *list)
{
    bool whole = false;
    list_clear(list);
    list->root = tree->root;
    if (tree->root < 0) {
        return EQP_OK;
    }
    bh__walker w;
    bh__walker_init(&w, tree, group, mac);
    if (choice != NULL && choice->sharing != NULL) {
        EQP_CHECK(bh__walker_share(&w, choice->sharing, &list->region));
    }
    EQP_CHECK(open_all(&w, row, &whole, list));
    EQP_CHECK(list_reserve(list, list->nvisits)); /* each cell becomes one or the other */
    list->cutoff = mac->cutoff;
    if (list->frontier.n > 0) {
        if (choice != NULL && choice->keep != NULL) {
            row->drop(&w, choice, list);
        }
        return row->collect(&w, list);
    }
    return whole && w.rule == BH_CUTOFF ? EQP_OK : put_root(&w, choice, whole, list);
}

int bh_walk(const bh_tree *tree, const bh_group *group, const bh_mac *mac, const bh_choice *choice, bh_list *list)
{
    return bh__walk(bh__walk_best(), tree, group, mac, choice, list);
}

int64_t bh_list_pins(const bh_tree *tree, const bh_list *list, uint64_t pin_below, int64_t *pin)
{
    const bh_frontier *frontier = &list->frontier;
    int64_t n = 0;
    for (int64_t i = 0; i < frontier->n; i++) {
        const int32_t family = frontier->family[i];
        if (family >= 0 && frontier->taken[i] != 0) {
            pin[n] = tree->family[family].pin;
            n += (uint64_t)pin[n] < pin_below;
        }
    }
    if (frontier->n == 0 && list->ntiles > 0) { /* the root alone, in a tile of its own */
        pin[0] = bh_cell_pin(tree->cell[tree->root].key, 0);
        n = (uint64_t)pin[0] < pin_below;
    }
    return n;
}

int64_t bh_opened_count(const bh_list *list)
{
    return list->root < 0 ? 0 : list->frontier.n > 0 ? list->frontier.n : 1;
}

void bh_opened_get(const bh_tree *tree, const bh_list *list, int64_t i, bh_opened *opened)
{
    if (list->frontier.n == 0) {
        const bh_cell *root = &tree->cell[list->root];
        *opened = (bh_opened){.cell = -1, .pin = bh_cell_pin(root->key, 0), .ncells = (int32_t)list->ncells};
        opened->nleaves = (int32_t)list->ntiles - opened->ncells;
        opened->nsources = opened->nleaves * root->count;
        opened->leaf[0] = list->root;
        bh_cell_centre(tree, root, opened->centre);
        return;
    }
    const bh_family *family = &tree->family[list->frontier.family[i]];
    const unsigned taken = list->frontier.taken[i];
    const int level = family->level - 1;
    opened->cell = family->cell;
    opened->pin = family->pin;
    opened->nchild = family->nchild;
    opened->ncells = __builtin_popcount(taken & BH_TAKEN_CELLS);
    opened->nleaves = 0;
    opened->nsources = 0;
    for (unsigned left = taken >> BH_FAMILY; left != 0; left &= left - 1) {
        const int k = __builtin_ctz(left);
        opened->leaf[opened->nleaves++] = family->child + k;
        opened->nsources += family->count[k];
    }
    bh__centre(&tree->box, family->place, level, bh__side(tree, level), opened->centre);
}

/* The leaves of the i-th opened cell that are absent, if its tile is kept. */
static int put_absent_leaves(const bh__walker *w, const bh_choice *choice, int64_t i, bh_list *list)
{
    const bh_family *family = &w->tree->family[list->frontier.family[i]];
    unsigned leaves = list->frontier.taken[i] >> BH_FAMILY & family->absent;
    if (leaves == 0 || !is_kept(w, choice, family->place, family->level - 1)) {
        return EQP_OK;
    }
    for (; leaves != 0; leaves &= leaves - 1) {
        EQP_CHECK(bh__put_absent(list, family->child + __builtin_ctz(leaves)));
    }
    return EQP_OK;
}

static int collect_absent(const bh__walker *w, const bh_choice *choice, bh_list *list)
{
    const bh_frontier *frontier = &list->frontier;
    for (int32_t i = 0; i >= 0; i = frontier->next[i]) {
        const int32_t family = frontier->family[i];
        EQP_CHECK(family < 0 ? bh__put_absent(list, -1 - family) : put_absent_leaves(w, choice, i, list));
    }
    return EQP_OK;
}

/* The walk over what is not below this rank's branches, up to the families from `end` on. */
static int open_elsewhere(bh__walker *w, const bh_tree *tree, const bh_group *group, const bh_mac *mac,
                          const bh_sharing *sharing, int64_t end, bool *whole, bh_list *list)
{
    bh__walker_init(w, tree, group, mac);
    if (sharing != NULL) {
        EQP_CHECK(bh__walker_share(w, sharing, &list->region));
    }
    w->families = (int32_t)(tree->shared.common != NULL ? tree->shared.elsewhere.families : tree->nlocal_families);
    w->end = (int32_t)end;
    return open_all(w, bh__walk_best(), whole, list);
}

int bh_walk_absent(const bh_tree *tree, const bh_group *group, const bh_mac *mac, const bh_choice *choice,
                   bh_list *list)
{
    bool whole = false;
    bh__walker w;
    list_clear(list);
    if (tree->root < 0) {
        return EQP_OK;
    }
    EQP_CHECK(open_elsewhere(&w, tree, group, mac, choice != NULL ? choice->sharing : NULL, INT32_MAX, &whole, list));
    if (list->frontier.n > 0) {
        return collect_absent(&w, choice, list);
    }
    EQP_CHECK(list_reserve(list, 1));
    return whole ? EQP_OK : put_root(&w, choice, false, list);
}

/* A branch of another rank. */
static int put_foreign(const bh_tree *tree, int64_t branch, bh_list *list)
{
    return tree->cell[branch].home == tree->rank ? EQP_OK : bh__put_absent(list, branch);
}

int bh_walk_branches(const bh_tree *tree, const bh_group *group, const bh_mac *mac, bh_list *list)
{
    const bh_frontier *frontier = &list->frontier;
    bool whole = false;
    bh__walker w;
    list_clear(list);
    if (tree->root < 0) {
        return EQP_OK;
    }
    EQP_CHECK(open_elsewhere(&w, tree, group, mac, NULL, tree->ntop_families, &whole, list));
    if (frontier->n == 0) {
        return whole ? EQP_OK : put_foreign(tree, tree->root, list);
    }
    for (int32_t i = 0; i >= 0; i = frontier->next[i]) {
        const int32_t number = frontier->family[i];
        if (number < w.families || number >= w.end) { /* absent, of a branch that is here, or grafted */
            EQP_CHECK(put_foreign(tree, number < 0 ? -1 - number : tree->family[number].cell, list));
            continue;
        }
        const bh_family *family = &tree->family[number];
        for (unsigned leaves = frontier->taken[i] >> BH_FAMILY; leaves != 0; leaves &= leaves - 1) {
            EQP_CHECK(put_foreign(tree, family->child + __builtin_ctz(leaves), list));
        }
    }
    return EQP_OK;
}
