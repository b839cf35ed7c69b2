/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/items.h"

#include "base/internal.h"
#include "methods/hypergraph/cell_nets.h"

#include <equipoise/more/comm.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A cell is cut in any case if it has more owners than this many parts hold. */
#define CELL_PARTS 4

void eqp__items_free(eqp_items *items)
{
    EQP__FREE(items->id, items->particles, items->size, items->pin_first, items->pin, items->pin_weight, items->weight,
              items->point, items->source, items->part_now, items->part, items->phase);
}

static int items_create(eqp_items *items, int64_t n, int nphases)
{
    int code;

    EQP_TRY(nphases > 0 ? eqp_array_create(&items->phase, n * nphases, sizeof *items->phase) : EQP_OK);
    code = EQP__ARRAYS(EQP__ARRAY(items->weight, n), EQP__ARRAY(items->point, 3 * n), EQP__ARRAY(items->source, 3 * n),
                       EQP__ARRAY(items->id, n), EQP__ARRAY(items->particles, n), EQP__ARRAY(items->size, n),
                       EQP__ARRAY(items->part_now, n), EQP__ARRAY(items->part, n));
done:
    items->view = (eqp_balance_items){.n = n,
                                      .id = items->id,
                                      .weight = items->weight,
                                      .phase_load = items->phase,
                                      .particles = items->particles,
                                      .point = items->point,
                                      .source = items->source,
                                      .part_now = items->part_now,
                                      .size = items->size};
    return code;
}

/* Adds an owner to an item: its particles, and its contribution to the item's position. */
static void add_owner(eqp_items *items, int64_t item, const eqp_owner *owner, bool with_particles)
{
    for (int a = 0; a < 3; a++) {
        items->point[3 * item + a] += owner->centre[a];
    }
    if (with_particles) {
        items->particles[item] += owner->particles;
        items->size[item] += owner->bytes;
    }
}

/* Adds this fraction of an owner's load in each phase. */
static void add_phases(eqp_items *items, int64_t item, const eqp_owners *owners, int64_t o, double part)
{
    const int n = owners->phases.n;

    for (int k = 0; k < n; k++) {
        items->phase[item * n + k] += part * owners->phase[o * n + k];
    }
}

static void fill_from_owners(eqp_items *items, const eqp_owners *owners, const eqp_map *old)
{
    for (int64_t o = 0; o < owners->n; o++) {
        const eqp_owner *owner = &owners->owner[o];
        items->weight[o] = owners->seconds[o];
        add_phases(items, o, owners, o, 1.0);
        items->part_now[o] = old != NULL ? eqp_map_own_rank(old, owner->tag) : -1;
        add_owner(items, o, owner, true);
        memcpy(items->source + 3 * o, owner->centre, sizeof owner->centre);
    }
}

/* The present part with most of a unit's work, since its owners may be in different parts. */
static int present_part(const eqp_owners *owners, const eqp_unit *unit, const int64_t *owner, int64_t n,
                        const eqp_map *old, eqp__vote *votes)
{
    int64_t nvotes = 0, best = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t tag = owners->owner[owner[i]].tag;
        int part = unit->sub < 0 ? eqp_map_own_rank(old, tag) : eqp_map_rank(old, tag, unit->centroid);
        const int64_t v = eqp__votes_add(votes, &nvotes, part, owners->seconds[owner[i]]);
        best = votes[v].seconds > votes[best].seconds ? v : best;
    }
    return votes[best].part;
}

static void fill_unit(eqp_items *items, int64_t u, const eqp_unit *unit, double weight, const eqp_owners *owners,
                      const int64_t *owner, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        /* the unit's fraction of a split owner's seconds */
        const double whole = owners->weight[owner[i]], part = unit->sub < 0 || !(whole > 0) ? 1.0 : weight / whole;
        items->weight[u] += part * owners->seconds[owner[i]];
        add_phases(items, u, owners, owner[i], part);
        add_owner(items, u, &owners->owner[owner[i]], unit->sub <= 0);
    }
    for (int a = 0; a < 3; a++) {
        items->point[3 * u + a] /= (double)n;
        /* a centroid is the midpoint of an owner's centre and a source */
        items->source[3 * u + a] = items->point[3 * u + a] + (unit->sub < 0 ? 0.0 : 2.0 * unit->centroid[a]);
    }
}

static int fill_from_units(eqp_items *items, const eqp_owners *owners, const eqp_work_units *made, const eqp_map *old)
{
    const int64_t *first, *owner;
    eqp__vote *votes = NULL;
    int code = eqp_array_create(&votes, owners->n, sizeof *votes);

    eqp_units_owners(made->units, &first, &owner);
    for (int64_t u = 0; u < made->n && code == EQP_OK; u++) {
        const int64_t *of_unit = owner + first[u], n = first[u + 1] - first[u];
        eqp_unit unit;
        code = eqp_units_get(made->units, u, &unit);
        fill_unit(items, u, &unit, made->weight[u], owners, of_unit, n);
        items->part_now[u] = old == NULL ? -1 : present_part(owners, &unit, of_unit, n, old, votes);
    }
    items->view.pin_first = made->pin_first;
    items->view.pin = made->pin;
    free(votes);
    return code;
}

/* Copies an owner's surveyed pins and its own pin to `at`. */
static int64_t take_own_pins(eqp_items *items, const eqp_owners *owners, int64_t o, int64_t at)
{
    for (int64_t p = owners->pin_first[o]; p < owners->pin_first[o + 1]; p++) {
        items->pin[at++] = owners->pin[p];
    }
    if (owners->owner[o].pin >= 0) { /* otherwise pins are not owners */
        items->pin[at++] = owners->owner[o].pin;
    }
    return at;
}

static int fill_pins(eqp_items *items, const eqp_owners *owners)
{
    int64_t at = 0;

    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(items->pin_first, owners->n + 1),
                           EQP__ARRAY(items->pin, owners->pin_first[owners->n] + owners->n)));
    for (int64_t o = 0; o < owners->n; o++) {
        at = take_own_pins(items, owners, o, at);
        items->pin_first[o + 1] = at;
    }
    items->view.pin_first = items->pin_first;
    items->view.pin = items->pin;
    return EQP_OK;
}

/* Curve keys of all owners, and this rank's range of them. */
typedef struct all_keys {
    int64_t n, first;
    uint64_t *key;
} all_keys;

static int gather_keys(MPI_Comm comm, const eqp_owners *owners, all_keys *all)
{
    uint64_t *key = NULL;
    int code;

    EQP_TRY(eqp_agree(comm, eqp_array_create(&key, owners->n, sizeof *key), NULL));
    for (int64_t o = 0; o < owners->n; o++) {
        key[o] = owners->owner[o].key;
    }
    EQP_TRY(eqp_scan_int64(comm, owners->n, &all->first, NULL));
    EQP_TRY(eqp_gather_records(comm, sizeof *key, owners->n, key, &all->n, &all->key));
done:
    free(key);
    return code;
}

/* Number of cells that contain owners. */
static int64_t count_cells(const eqp_owners *owners, const all_keys *all, int64_t most)
{
    eqp__cell_net net[EQP__CELLS_MOST];
    int64_t n = 0;

    for (int64_t o = 0; o < owners->n; o++) {
        n += eqp__cell_nets(all->n, all->key, all->first + o, most, net);
    }
    return n;
}

/* Pins of weight 1, and the cells of each owner, weighted by the branches added if they are cut. */
static int fill_weighted(eqp_items *items, const eqp_owners *owners, const all_keys *all, double branch, int64_t most)
{
    const int64_t room = owners->pin_first[owners->n] + owners->n + count_cells(owners, all, most);
    eqp__cell_net net[EQP__CELLS_MOST];
    int64_t at = 0;

    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(items->pin_first, owners->n + 1), EQP__ARRAY(items->pin, room),
                           EQP__ARRAY(items->pin_weight, room)));
    for (int64_t o = 0; o < owners->n; o++) {
        const int64_t first = at, last = take_own_pins(items, owners, o, at);
        const int ncells = eqp__cell_nets(all->n, all->key, all->first + o, most, net);
        for (at = first; at < last; at++) {
            items->pin_weight[at] = 1.0;
        }
        for (int k = 0; k < ncells; k++, at++) {
            items->pin[at] = net[k].id;
            items->pin_weight[at] = branch * (net[k].children - 1);
        }
        items->pin_first[o + 1] = at;
    }
    items->view.pin_first = items->pin_first;
    items->view.pin = items->pin;
    items->view.pin_weight = items->pin_weight;
    return EQP_OK;
}

int eqp__items_take_pins(MPI_Comm comm, eqp_items *items, const eqp_owners *owners, double branch, int nparts, int code)
{
    all_keys all = {.n = 0};

    if (!(branch > 0)) { /* the same on all ranks */
        return code == EQP_OK ? fill_pins(items, owners) : code;
    }
    const int failed = gather_keys(comm, owners, &all);
    code = code == EQP_OK ? failed : code;
    code = code ? code : fill_weighted(items, owners, &all, branch, CELL_PARTS * (all.n / nparts + 1));
    free(all.key);
    return code;
}

int eqp__items_fill(eqp_items *items, const eqp_owners *owners, const eqp_work_units *units, const eqp_map *old)
{
    int code = items_create(items, units->units == NULL ? owners->n : units->n, owners->phases.n);

    if (code == EQP_OK && units->units == NULL) {
        fill_from_owners(items, owners, old);
    }
    if (code == EQP_OK && units->units != NULL) {
        code = fill_from_units(items, owners, units, old);
    }
    return code;
}
