/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk from a target group to its list. */
#include "internal.h"

#include <equipoise/error.h>
#include <equipoise/random.h>

#include <math.h>
#include <stdlib.h>

/* Springel's guard: no cell acts on targets within 0.6 sides of its centre on every axis. */
#define BH_GUARD 0.6
/* The guard's corner is 0.6 sqrt(3) sides from the centre: farther than this and the offset, it needs no look. */
#define BH_GUARD_REACH 1.04

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
    if (list != NULL) {
        free(list->cell);
        free(list->run_first);
        free(list->run_count);
        free(list->absent);
        bh_list_init(list);
    }
}

static int grow(int64_t **array, int64_t capacity)
{
    int64_t *larger = realloc(*array, (size_t)capacity * sizeof(*larger));
    if (larger == NULL) {
        return EQP_ERR_MEMORY;
    }
    *array = larger;
    return EQP_OK;
}

/* Room for what one opened cell can add. */
static int list_reserve(bh_list *list)
{
    int code = EQP_OK;
    if (list->cell_capacity - list->ncells < 8) {
        const int64_t capacity = 2 * list->cell_capacity + 256;
        code = grow(&list->cell, capacity);
        if (code != EQP_OK) {
            return code;
        }
        list->cell_capacity = capacity;
    }
    if (list->run_capacity - list->nruns < 8) {
        const int64_t capacity = 2 * list->run_capacity + 256;
        code = grow(&list->run_first, capacity);
        if (code == EQP_OK) {
            code = grow(&list->run_count, capacity);
        }
        if (code != EQP_OK) {
            return code;
        }
        list->run_capacity = capacity;
    }
    if (list->absent_capacity - list->nabsent < 8) {
        const int64_t capacity = 2 * list->absent_capacity + 64;
        code = grow(&list->absent, capacity);
        if (code == EQP_OK) {
            list->absent_capacity = capacity;
        }
    }
    return code;
}

/* What a group's walk needs at every cell. */
typedef struct walker {
    const bh_tree *tree;
    const bh_group *group;
    bool relative;
    double reciprocal; /* of theta */
    double G;
    double strength; /* alpha |a| */
    double side[EQP_CURVE_BITS + 1];
    bh_tile tile; /* the one being gathered */
    int64_t leaf[8];
    uint64_t tile_place;           /* of the opened cell */
    int64_t tile_cells, tile_runs; /* where it begins in the list */
} walker;

static int walker_init(walker *w, const bh_tree *tree, const bh_group *group, const bh_mac *mac)
{
    if (!(mac->theta >= 0) || (mac->relative && !(mac->alpha >= 0))) {
        return EQP_ERR_ARGUMENT;
    }
    w->tree = tree;
    w->group = group;
    /* Closer than half a diagonal and the offset, the targets could lie inside the cell. */
    w->reciprocal = fmax(1 / mac->theta, BH_THETA_RECIPROCAL_LEAST);
    w->relative = mac->relative && group->accel > 0;
    w->G = mac->G;
    w->strength = mac->alpha * group->accel;
    for (int level = 0; level <= EQP_CURVE_BITS; level++) {
        w->side[level] = bh__side(tree, level);
    }
    w->tile.leaf = w->leaf;
    return EQP_OK;
}

/* Squared distance from a cell's centre of mass to the group's bounds. */
static double distance2(const walker *w, const bh_cell *cell)
{
    const double *lo = w->group->lo, *hi = w->group->hi, *com = cell->moments.com;
    double sum = 0;
    for (int k = 0; k < 3; k++) {
        const double below = lo[k] - com[k], above = com[k] - hi[k];
        double d = below > above ? below : above;
        d = d > 0 ? d : 0;
        sum += d * d;
    }
    return sum;
}

static bool beside(const walker *w, const bh_cell *cell, double side)
{
    double centre[3];
    bh__centre(&w->tree->box, cell->place, cell->level, side, centre);
    const double reach = BH_GUARD * side;
    for (int k = 0; k < 3; k++) {
        if (w->group->lo[k] >= centre[k] + reach || w->group->hi[k] <= centre[k] - reach) {
            return false;
        }
    }
    return true;
}

static bool acceptable(const walker *w, const bh_cell *cell)
{
    const double d2 = distance2(w, cell), side = w->side[cell->level];
    if (!w->relative) {
        const double reach = side * w->reciprocal + cell->moments.offset;
        return d2 > reach * reach;
    }
    if (!(w->G * cell->moments.mass * side * side < w->strength * d2 * d2)) {
        return false;
    }
    const double reach = BH_GUARD_REACH * side + cell->moments.offset;
    return d2 > reach * reach || !beside(w, cell, side);
}

static void tile_begin(walker *w, const bh_list *list, uint64_t key, uint64_t place, int level)
{
    w->tile_place = place;
    w->tile.key = key;
    w->tile.level = level;
    w->tile.nsources = 0;
    w->tile.nleaves = 0;
    w->tile_cells = list->ncells;
    w->tile_runs = list->nruns;
}

/* Puts one cell into the tile, or says that it must be opened. */
static bool take(walker *w, bh_list *list, int64_t c)
{
    const bh_cell *cell = &w->tree->cell[c];
    const bool few = cell->nchild == 0 && cell->count <= BH_DIRECT_MAX;
    list->nvisits++;
    if (!few && acceptable(w, cell)) {
        list->cell[list->ncells++] = c;
        return true;
    }
    if (cell->nchild > 0) {
        return false;
    }
    w->leaf[w->tile.nleaves++] = c;
    w->tile.nsources += cell->count;
    if (cell->first != BH_ABSENT) {
        list->run_first[list->nruns] = cell->first;
        list->run_count[list->nruns++] = cell->count;
    }
    return true;
}

/* Asks whether the gathered tile is wanted, and keeps or drops it. */
static int tile_end(walker *w, const bh__visitor *visitor, bh_list *list)
{
    bh_tile *tile = &w->tile;
    tile->ncells = list->ncells - w->tile_cells;
    if (tile->ncells + tile->nleaves == 0) {
        return EQP_OK;
    }
    if (visitor->keep != NULL || visitor->seen != NULL) {
        bh__centre(&w->tree->box, w->tile_place, tile->level, w->side[tile->level], tile->centre);
    }
    if (visitor->keep != NULL && !visitor->keep(visitor->keep_user, tile->centre)) {
        list->ncells = w->tile_cells;
        list->nruns = w->tile_runs;
        return EQP_OK;
    }
    list->ntiles++;
    for (int64_t r = w->tile_runs; r < list->nruns; r++) {
        list->nsources += list->run_count[r];
    }
    for (int64_t l = 0; l < tile->nleaves; l++) {
        if (w->tree->cell[w->leaf[l]].first == BH_ABSENT) {
            list->absent[list->nabsent++] = w->leaf[l];
        }
    }
    tile->cell = list->cell + w->tile_cells;
    if (visitor->seen == NULL) {
        return EQP_OK;
    }
    tile->pin = bh_cell_pin(tile->key, tile->level);
    return (uint64_t)tile->pin < visitor->pin_below ? visitor->seen(visitor->seen_user, tile) : EQP_OK;
}

/* Looks at the children of an opened cell. Those to be opened in turn go to next, in key order. */
static int open_cell(walker *w, int64_t c, const bh__visitor *visitor, bh_list *list, int64_t next[8], int *nnext)
{
    const bh_cell *cell = &w->tree->cell[c];
    int code = list_reserve(list);
    *nnext = 0;
    if (code == EQP_OK && visitor->opened != NULL) {
        code = visitor->opened(visitor->seen_user, c);
    }
    if (code != EQP_OK) {
        return code;
    }
    if (cell->child == BH_ABSENT) {
        list->absent[list->nabsent++] = c;
        return EQP_OK;
    }
    tile_begin(w, list, cell->key, cell->place, cell->level);
    for (int k = 0; k < cell->nchild; k++) {
        if (!take(w, list, cell->child + k)) {
            next[(*nnext)++] = cell->child + k;
        }
    }
    return tile_end(w, visitor, list);
}

int bh__walk(const bh_tree *tree, int64_t root, const bh_group *group, const bh_mac *mac, const bh__visitor *visitor,
             bh_list *list)
{
    list->ncells = list->nruns = list->nsources = list->ntiles = list->nvisits = list->nabsent = 0;
    if (root < 0) {
        return EQP_OK;
    }
    walker w;
    int code = root >= tree->ncells ? EQP_ERR_ARGUMENT : walker_init(&w, tree, group, mac);
    if (code == EQP_OK) {
        code = list_reserve(list);
    }
    if (code != EQP_OK) {
        return code;
    }
    const bh_cell *cell = &tree->cell[root];
    const int level = cell->level > 0 ? cell->level - 1 : 0;
    const uint64_t key = bh__key_at_level(cell->key, level);
    tile_begin(&w, list, key, bh__place(key, level), level);
    if (take(&w, list, root)) {
        return tile_end(&w, visitor, list);
    }
    int64_t stack[BH_STACK], next[8];
    int depth = 0, nnext;
    stack[depth++] = root;
    while (depth > 0) {
        code = open_cell(&w, stack[--depth], visitor, list, next, &nnext);
        if (code != EQP_OK) {
            return code;
        }
        while (nnext > 0) {
            stack[depth++] = next[--nnext];
        }
    }
    return EQP_OK;
}

int bh_walk(const bh_tree *tree, int64_t root, const bh_group *group, const bh_mac *mac, bh_tile_fn keep,
            bh_tile_seen_fn seen, void *user, bh_list *list)
{
    return bh_walk_sampled(tree, root, group, mac, keep, user, UINT64_MAX, seen, user, list);
}

int bh_walk_sampled(const bh_tree *tree, int64_t root, const bh_group *group, const bh_mac *mac, bh_tile_fn keep,
                    void *keep_user, uint64_t pin_below, bh_tile_seen_fn seen, void *seen_user, bh_list *list)
{
    const bh__visitor visitor = {.keep = keep,
                                 .keep_user = keep_user,
                                 .pin_below = pin_below,
                                 .seen = pin_below > 0 ? seen : NULL,
                                 .seen_user = seen_user};
    return bh__walk(tree, root, group, mac, &visitor, list);
}
