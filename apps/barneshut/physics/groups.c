/* SPDX-License-Identifier: BSD-3-Clause */
/* Target groups follow from the keys alone, so they do not depend on the depth of the tree. */
#include "internal.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <stdlib.h>

typedef struct group_maker {
    const bh_tree *tree;
    const uint64_t *key;
    const double *accel;
    int group_size;
    int64_t n, capacity;
    bh_group *group;
} group_maker;

static void find_bounds(int64_t n, const double *x, double *lo, double *hi)
{
    double least = x[0], most = x[0];
    for (int64_t i = 1; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    *lo = least;
    *hi = most;
}

void bh_group_bounds(int64_t count, const double *x, const double *y, const double *z, double lo[3], double hi[3])
{
    const double *const coordinate[3] = {x, y, z};
    for (int k = 0; k < 3; k++) {
        find_bounds(count, coordinate[k], &lo[k], &hi[k]);
    }
}

static int add_group(group_maker *maker, int64_t first, int64_t count, int64_t part)
{
    EQP_CHECK(part > INT32_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
    EQP_CHECK(eqp_array_reserve(&maker->group, &maker->capacity, maker->n + 1, sizeof(*maker->group)));
    const bh_sources *s = &maker->tree->sources;
    const int64_t at = maker->tree->shared.begin.particles + first;
    bh_group group = {.key = maker->key[first], .part = (int32_t)part, .count = (int32_t)count, .first = first};
    bh_group_bounds(count, s->x + at, s->y + at, s->z + at, group.lo, group.hi);
    if (maker->accel != NULL) {
        group.accel = maker->accel[first];
        for (int64_t i = first + 1; i < first + count; i++) {
            group.accel = maker->accel[i] < group.accel ? maker->accel[i] : group.accel;
        }
    }
    maker->group[maker->n++] = group;
    return EQP_OK;
}

typedef struct key_cell {
    int64_t first, count;
    int level;
} key_cell;

/* Cuts a deepest cell with too many particles into runs. */
static int add_runs(group_maker *maker, key_cell cell)
{
    for (int64_t part = 0; part * maker->group_size < cell.count; part++) {
        const int64_t skip = part * maker->group_size, left = cell.count - skip;
        EQP_CHECK(add_group(maker, cell.first + skip, left < maker->group_size ? left : maker->group_size, part));
    }
    return EQP_OK;
}

static int add_groups_below(group_maker *maker, key_cell branch)
{
    key_cell stack[BH_STACK];
    int depth = 0;
    stack[depth++] = branch;
    while (depth > 0) {
        const key_cell cell = stack[--depth];
        if (cell.count <= maker->group_size || cell.level == EQP_CURVE_BITS) {
            EQP_CHECK(add_runs(maker, cell));
            continue;
        }
        int64_t bound[9];
        bh__split(maker->key, cell.first, cell.first + cell.count, cell.level, bound);
        for (int w = 8; w-- > 0;) {
            if (bound[w + 1] > bound[w]) {
                stack[depth++] = (key_cell){bound[w], bound[w + 1] - bound[w], cell.level + 1};
            }
        }
    }
    return EQP_OK;
}

int bh_groups_make(const bh_tree *tree, const uint64_t *key, int group_size, const double *accel, int64_t *ngroups,
                   bh_group **group)
{
    group_maker maker = {.tree = tree, .key = key, .accel = accel, .group_size = group_size};
    int code = EQP_OK;
    for (int64_t b = 0; b < tree->nbranches && code == EQP_OK; b++) {
        const bh_cell *cell = &tree->cell[tree->shared.begin.cells + b];
        code =
            add_groups_below(&maker, (key_cell){cell->first - tree->shared.begin.particles, cell->count, cell->level});
    }
    if (code != EQP_OK) {
        free(maker.group);
        return code;
    }
    *ngroups = maker.n;
    *group = maker.group;
    return EQP_OK;
}
