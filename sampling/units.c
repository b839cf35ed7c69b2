/* SPDX-License-Identifier: BSD-3-Clause */
/* The units object: its contents, its accessors, and the map from interactions to units. */
#include "units_internal.h"

#include "memory.h"
#include <math.h>
#include <string.h>

int eqp__units_new(int dim, int64_t n, double scale, eqp_units **units)
{
    eqp_units *u = eqp__calloc(1, sizeof *u);

    EQP__FAIL_IF(!u, EQP_ERR_MEMORY);
    u->dim = dim;
    u->n = n;
    u->scale = scale;
    u->owner_unit = eqp__malloc((size_t)n, sizeof *u->owner_unit);
    if (!u->owner_unit) {
        eqp_units_free(u);
        return EQP_ERR_MEMORY;
    }
    *units = u;
    return EQP_OK;
}

void eqp_units_free(eqp_units *units)
{
    if (!units) {
        return;
    }
    for (int64_t i = 0; i < units->nsplit; i++) {
        eqp_kdtree_free(units->split[i].tree);
        free(units->split[i].centroid);
    }
    EQP__FREE(units->owner_unit, units->unit, units->split, units->pool, units->owner_first, units->owner_list,
              units->pin_first, units->pin_list, units);
}

int eqp__units_append(eqp_units *units, int64_t id, int64_t owner, int64_t *unit)
{
    EQP__CHECK(eqp__grow((void **)&units->unit, &units->capacity, units->count + 1, sizeof *units->unit));
    units->unit[units->count] = (struct eqp__unit){.id = id, .owner = owner, .sub = -1, .split = -1};
    *unit = units->count++;
    return EQP_OK;
}

int eqp__units_append_cells(eqp_units *units, int64_t owner, int64_t n, const double *centroid, int64_t *first)
{
    size_t numbers = (size_t)n * (size_t)units->dim;
    int code = eqp__grow((void **)&units->unit, &units->capacity, units->count + n, sizeof *units->unit);

    if (code == EQP_OK) {
        code = eqp__grow((void **)&units->split, &units->split_capacity, units->nsplit + 1, sizeof *units->split);
    }
    EQP__CHECK(code);
    struct eqp__split_owner split = {.first = units->count, .count = n};
    split.centroid = eqp__malloc(numbers, sizeof *split.centroid);
    EQP__FAIL_IF(!split.centroid, EQP_ERR_MEMORY);
    memcpy(split.centroid, centroid, numbers * sizeof *centroid);
    code = eqp__cells_tree(units->dim, n, split.centroid, &split.tree);
    if (code != EQP_OK) {
        free(split.centroid);
        return code;
    }
    for (int64_t sub = 0; sub < n; sub++) {
        units->unit[units->count++] = (struct eqp__unit){.owner = owner, .sub = sub, .split = units->nsplit};
    }
    units->owner_unit[owner] = -1 - units->nsplit;
    units->split[units->nsplit++] = split;
    *first = split.first;
    return EQP_OK;
}

int eqp__units_pins_put(eqp_units *units, int64_t unit, struct eqp__sketches *sketches, int64_t cell)
{
    int code =
        eqp__grow((void **)&units->pool, &units->pool_capacity, units->npool + sketches->max, sizeof *units->pool);

    EQP__CHECK(code);
    int64_t n = eqp__sketches_read(sketches, cell, units->pool + units->npool);
    units->unit[unit].pin_at = units->npool;
    units->unit[unit].npins = n;
    units->npool += n;
    return EQP_OK;
}

static void range_of(const eqp_units *units, int64_t owner, int64_t *first, int64_t *count)
{
    int64_t unit = units->owner_unit[owner];

    if (unit >= 0) {
        *first = unit;
        *count = 1;
    } else {
        *first = units->split[-1 - unit].first;
        *count = units->split[-1 - unit].count;
    }
}

static int list_owners(eqp_units *u)
{
    int64_t first, count;

    for (int64_t i = 0; i < u->count; i++) {
        u->unit[i].owners = 0;
    }
    for (int64_t owner = 0; owner < u->n; owner++) {
        range_of(u, owner, &first, &count);
        for (int64_t i = first; i < first + count; i++) {
            u->unit[i].owners++;
        }
    }
    u->owner_first = eqp__malloc((size_t)u->count + 1, sizeof *u->owner_first);
    EQP__FAIL_IF(!u->owner_first, EQP_ERR_MEMORY);
    u->owner_first[0] = 0;
    for (int64_t i = 0; i < u->count; i++) {
        u->owner_first[i + 1] = u->owner_first[i] + u->unit[i].owners;
        u->unit[i].owners = 0;
    }
    u->owner_list = eqp__malloc((size_t)u->owner_first[u->count], sizeof *u->owner_list);
    EQP__FAIL_IF(!u->owner_list, EQP_ERR_MEMORY);
    for (int64_t owner = 0; owner < u->n; owner++) {
        range_of(u, owner, &first, &count);
        for (int64_t i = first; i < first + count; i++) {
            u->owner_list[u->owner_first[i] + u->unit[i].owners++] = owner;
        }
    }
    return EQP_OK;
}

/* A heavy owner in the middle of a unit of light owners is closed first, so the pool is not in the order of units. */
static int list_pins(eqp_units *u)
{
    bool in_order = u->pool != NULL;

    u->pin_first = eqp__malloc((size_t)u->count + 1, sizeof *u->pin_first);
    EQP__FAIL_IF(!u->pin_first, EQP_ERR_MEMORY);
    u->pin_first[0] = 0;
    for (int64_t i = 0; i < u->count; i++) {
        in_order &= u->unit[i].pin_at == u->pin_first[i];
        u->pin_first[i + 1] = u->pin_first[i] + u->unit[i].npins;
    }
    if (in_order) {
        u->pin_list = u->pool;
        u->pool = NULL;
        return EQP_OK;
    }
    u->pin_list = eqp__malloc((size_t)u->npool, sizeof *u->pin_list);
    EQP__FAIL_IF(!u->pin_list, EQP_ERR_MEMORY);
    for (int64_t i = 0; i < u->count && u->npool > 0; i++) {
        memcpy(u->pin_list + u->pin_first[i], u->pool + u->unit[i].pin_at, (size_t)u->unit[i].npins * sizeof *u->pool);
    }
    free(u->pool);
    u->pool = NULL;
    return EQP_OK;
}

int eqp__units_finish(eqp_units *units)
{
    int code = list_owners(units);

    return code == EQP_OK ? list_pins(units) : code;
}

/* --- rebuilding --- */

static int rebuild_check(int dim, int64_t n, const int64_t *first, const int64_t *unit_id, const double *centroid)
{
    EQP__FAIL_IF(dim < 1 || dim > EQP_UNITS_MAX_DIM || n < 0 || !first || first[0] != 0 || (n > 0 && !unit_id),
                 EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < n; i++) {
        int64_t count = first[i + 1] - first[i];
        EQP__FAIL_IF(count < 1 || (count > 1 && !centroid), EQP_ERR_ARGUMENT);
        for (int64_t j = first[i] * dim; count > 1 && j < first[i + 1] * dim; j++) {
            EQP__FAIL_IF(!isfinite(centroid[j]), EQP_ERR_DATA);
        }
    }
    for (int64_t j = 0; j < first[n]; j++) {
        EQP__FAIL_IF(unit_id[j] < 0, EQP_ERR_ARGUMENT);
    }
    return EQP_OK;
}

static int rebuild_owner(eqp_units *u, int64_t owner, int64_t count, const int64_t *unit_id, const double *centroid,
                         int64_t *last)
{
    int64_t at;
    int code = EQP_OK;

    if (count > 1) {
        code = eqp__units_append_cells(u, owner, count, centroid, &at);
        for (int64_t sub = 0; sub < count && code == EQP_OK; sub++) {
            u->unit[at + sub].id = unit_id[sub];
        }
        return code;
    }
    /* a heavy owner may lie between light ones that share a unit */
    if (*last < 0 || u->unit[*last].id != unit_id[0]) {
        code = eqp__units_append(u, unit_id[0], owner, last);
    }
    if (code == EQP_OK) {
        u->owner_unit[owner] = *last;
    }
    return code;
}

int eqp_units_rebuild(int dim, int64_t n, const int64_t *first, const int64_t *unit_id, const double *centroid,
                      eqp_units **units)
{
    eqp_units *u = NULL;
    int64_t last = -1;
    int code = rebuild_check(dim, n, first, unit_id, centroid);

    if (code != EQP_OK || !units) {
        return code != EQP_OK ? code : EQP_ERR_ARGUMENT;
    }
    EQP_TRY(eqp__units_new(dim, n, 1, &u));
    for (int64_t i = 0; i < n; i++) {
        int64_t count = first[i + 1] - first[i];
        EQP_TRY(rebuild_owner(u, i, count, unit_id + first[i], count > 1 ? centroid + first[i] * dim : NULL, &last));
    }
    EQP_TRY(eqp__units_finish(u));
done:
    if (code != EQP_OK) {
        eqp_units_free(u);
        return code;
    }
    *units = u;
    return EQP_OK;
}

/* --- reading --- */

int64_t eqp_units_count(const eqp_units *units)
{
    return units ? units->count : 0;
}

double eqp__units_target_weight(const eqp_units *units)
{
    return units ? units->target : 0.0;
}

int eqp_units_get(const eqp_units *units, int64_t unit, eqp_unit *result)
{
    EQP__FAIL_IF(!units || !result || unit < 0 || unit >= units->count, EQP_ERR_ARGUMENT);
    const struct eqp__unit *u = &units->unit[unit];
    *result = (eqp_unit){
        .id = u->id,
        .weight = (double)u->weight / units->scale,
        .interactions = u->interactions,
        .owner = u->owner,
        .owners = u->owners,
        .sub = u->sub,
        .centroid = u->split >= 0 ? units->split[u->split].centroid + u->sub * units->dim : NULL,
    };
    return EQP_OK;
}

void eqp_units_owners(const eqp_units *units, const int64_t **first, const int64_t **owner)
{
    if (!units || !first || !owner) {
        return;
    }
    *first = units->owner_first;
    *owner = units->owner_list;
}

void eqp_units_pins(const eqp_units *units, const int64_t **first, const int64_t **pin)
{
    if (!units || !first || !pin) {
        return;
    }
    *first = units->pin_first;
    *pin = units->pin_list;
}

int eqp_units_of_owner(const eqp_units *units, int64_t owner, int64_t *first, int64_t *count)
{
    EQP__FAIL_IF(!units || !first || !count || owner < 0 || owner >= units->n, EQP_ERR_ARGUMENT);
    range_of(units, owner, first, count);
    return EQP_OK;
}

int64_t eqp_units_find(const eqp_units *units, int64_t owner, const double *centroid)
{
    if (!units || owner < 0 || owner >= units->n) {
        return units ? -1 : 0;
    }
    int64_t unit = units->owner_unit[owner];

    if (unit >= 0) {
        return unit;
    }
    if (!centroid) {
        return -1;
    }
    const struct eqp__split_owner *split = &units->split[-1 - unit];
    return split->first + eqp__cells_nearest(units->dim, split->count, split->centroid, split->tree, centroid);
}

void eqp_units_sizes(const eqp_units *units, eqp_sizes *sizes)
{
    if (!units || !sizes) {
        return;
    }
    *sizes = (eqp_sizes){0};
    for (int64_t i = 0; i < units->count; i++) {
        double weight = (double)units->unit[i].weight / units->scale;
        eqp_sizes_add(sizes, 1, &weight);
    }
}
