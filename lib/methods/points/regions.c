/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of space for the parts of an assignment; finds the part of a place. */
#include "methods/points/regions.h"
#include "base/internal.h"
#include "comm/agree.h"
#include "methods/points/points.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

void eqp_regions_free(eqp_regions *regions)
{
    if (regions != NULL) {
        EQP__FREE(regions->low, regions->high, regions->filled, regions->tree, regions->box, regions->cut);
        eqp__voronoi_free(regions->cells);
        EQP__FREE(regions->part_of, regions);
    }
}

/* The key of the place in the cube that is nearest to `place`. */
static int key_of(const eqp_regions *r, const double place[3], uint64_t *key)
{
    double x[3];

    for (int a = 0; a < 3; a++) {
        x[a] = fmin(fmax(place[a], r->corner[a]), r->corner[a] + r->side);
    }
    return eqp_hilbert_keys(1, &x[0], &x[1], &x[2], r->corner, r->side, key);
}

/* Boxes and key ranges of this rank's items, prepared for minima: r->high holds -high. first, last: [nparts] least key,
 * and least complement of a key, of each part. */
static int take_items(eqp_regions *r, const eqp_points *points, const int *part, uint64_t *first, uint64_t *last)
{
    int code = EQP_OK;

    for (int p = 0; p < r->nparts; p++) {
        first[p] = last[p] = UINT64_MAX;
        for (int a = 0; a < 3; a++) {
            r->low[3 * p + a] = r->high[3 * p + a] = INFINITY;
        }
    }
    for (int64_t i = 0; i < points->n && code == EQP_OK; i++) {
        const int p = part[i];
        double x[3];
        uint64_t key = 0;
        eqp__points_read(points, i, x);
        code = key_of(r, x, &key);
        first[p] = key < first[p] ? key : first[p];
        last[p] = ~key < last[p] ? ~key : last[p];
        for (int a = 0; a < 3; a++) {
            r->low[3 * p + a] = fmin(r->low[3 * p + a], x[a]);
            r->high[3 * p + a] = fmin(r->high[3 * p + a], -x[a]);
        }
    }
    return code;
}

/* Reduces boxes and key ranges over all ranks, and lists the parts with items. Collective. */
static int gather_ends(MPI_Comm comm, eqp_regions *r, const eqp_points *points, const int *part, uint64_t *first,
                       uint64_t *last)
{
    EQP__CHECK(eqp_agree(comm, take_items(r, points, part, first, last), NULL));
    EQP__CHECK(MPI_Allreduce(MPI_IN_PLACE, r->low, 3 * r->nparts, MPI_DOUBLE, MPI_MIN, comm) != MPI_SUCCESS ||
                       MPI_Allreduce(MPI_IN_PLACE, r->high, 3 * r->nparts, MPI_DOUBLE, MPI_MIN, comm) != MPI_SUCCESS ||
                       MPI_Allreduce(MPI_IN_PLACE, first, r->nparts, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS ||
                       MPI_Allreduce(MPI_IN_PLACE, last, r->nparts, MPI_UINT64_T, MPI_MIN, comm) != MPI_SUCCESS
                   ? EQP_ERR_MPI
                   : EQP_OK);
    for (int p = 0; p < r->nparts; p++) {
        last[p] = ~last[p];
        for (int a = 0; a < 3; a++) {
            r->high[3 * p + a] = -r->high[3 * p + a];
        }
        if (first[p] != UINT64_MAX) {
            r->filled[r->nfilled++] = p;
        }
    }
    return EQP_OK;
}

/* The extent of a part along an axis or the curve. */
typedef struct begin {
    double at, until;
    uint64_t key;
    int part;
} begin;

static int by_begin(const void *left, const void *right)
{
    const begin *a = left, *b = right;

    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return a->until != b->until ? (a->until < b->until ? -1 : 1) : (a->part > b->part) - (a->part < b->part);
}

static void order_parts(const eqp_regions *r, int axis, int n, const int *part, begin *list)
{
    for (int i = 0; i < n; i++) {
        list[i] = (begin){r->low[3 * part[i] + axis], r->high[3 * part[i] + axis], 0, part[i]};
    }
    qsort(list, (size_t)n, sizeof *list, by_begin);
}

/* The wall across an axis that cuts no part, has places of every lower part below it, and divides n parts most evenly.
 * list: [n] sorted by begin. Returns the number of parts below the wall; 0: no such wall. */
static int find_wall(int n, const begin *list, double *wall)
{
    double reach = -INFINITY;
    int best = 0;

    for (int i = 1; i < n; i++) {
        reach = fmax(reach, list[i - 1].until);
        const bool parted = reach < list[i].at || (reach == list[i].at && list[i - 1].at < reach);
        if (parted && abs(2 * i - n) < abs(2 * best - n)) {
            const double middle = 0.5 * reach + 0.5 * list[i].at;
            *wall = middle > reach ? middle : list[i].at;
            best = i;
        }
    }
    return best;
}

/* A set of parts still to be separated, and its node. */
typedef struct task {
    int first, n, node;
} task;

/* Builds the tree of walls; EQP_ERR_STATE if some parts cannot be separated. list, stack: [nfilled] work. */
static int grow(eqp_regions *r, begin *list, task *stack)
{
    int nstack = 0;

    r->nnodes = 0;
    if (r->nfilled == 0) {
        return EQP_OK;
    }
    stack[nstack++] = (task){0, r->nfilled, r->nnodes++};
    while (nstack > 0) {
        const task now = stack[--nstack];
        int *const part = r->filled + now.first, below = 0, axis = -1;
        double wall = 0.0;
        if (now.n == 1) {
            r->tree[now.node] = (eqp__regions_node){.axis = -1, .below = part[0]};
            continue;
        }
        for (int a = 0; a < 3; a++) {
            double found = 0.0;
            order_parts(r, a, now.n, part, list);
            const int n = find_wall(now.n, list, &found);
            if (n > 0 && (axis < 0 || abs(2 * n - now.n) < abs(2 * below - now.n))) {
                axis = a;
                below = n;
                wall = found;
            }
        }
        EQP__FAIL_IF(axis < 0, EQP_ERR_STATE);
        order_parts(r, axis, now.n, part, list);
        for (int i = 0; i < now.n; i++) {
            part[i] = list[i].part;
        }
        r->tree[now.node] = (eqp__regions_node){axis, wall, r->nnodes, r->nnodes + 1};
        stack[nstack++] = (task){now.first, below, r->nnodes++};
        stack[nstack++] = (task){now.first + below, now.n - below, r->nnodes++};
    }
    return EQP_OK;
}

/* Makes the parts intervals of the curve; EQP_ERR_STATE if their key ranges overlap. */
static int cut_curve(eqp_regions *r, const uint64_t *first, const uint64_t *last, begin *list)
{
    for (int i = 0; i < r->nfilled; i++) {
        list[i] = (begin){0.0, 0.0, first[r->filled[i]], r->filled[i]};
    }
    qsort(list, (size_t)r->nfilled, sizeof *list, by_begin);
    for (int i = 0; i < r->nfilled; i++) {
        const uint64_t before = i > 0 ? last[list[i - 1].part] : 0;
        EQP__FAIL_IF(before > list[i].key, EQP_ERR_STATE);
        r->cut[i] = list[i].key - (list[i].key - before) / 2;
    }
    for (int i = 0; i < r->nfilled; i++) {
        r->filled[i] = list[i].part;
    }
    free(r->tree);
    r->tree = NULL;
    return EQP_OK;
}

/* Builds walls if they separate the parts; else uses the curve, unless walls are requested. Local. */
static int divide(eqp_regions *r, const uint64_t *first, const uint64_t *last, const eqp__walls_wanted *wanted,
                  int grid[3])
{
    begin *list = NULL;
    task *stack = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(list, r->nfilled), EQP__ARRAY(stack, r->nfilled),
                        EQP__ARRAY(r->tree, 2 * (int64_t)r->nparts), EQP__ARRAY(r->cut, r->nfilled)));
    code = wanted != NULL ? eqp__walls_grid(r, wanted, grid) : EQP_ERR_STATE;
    if (code == EQP_ERR_STATE && (wanted == NULL || r->nfilled == r->nparts)) {
        code = grow(r, list, stack);
    }
    if (code == EQP_ERR_STATE && wanted == NULL) {
        code = cut_curve(r, first, last, list);
    }
    EQP_TRY(code);
    EQP_TRY(r->tree != NULL ? eqp__walls_stand(r, wanted) : EQP_OK);
done:
    EQP__FREE(list, stack);
    return code;
}

int eqp__regions_make(MPI_Comm comm, eqp_regions *r, const eqp_points *points, const eqp__points_scope *scope,
                      const int *part, const eqp__walls_wanted *wanted, int grid[3])
{
    uint64_t *first = NULL, *last = NULL;
    int code = EQP__ARRAYS(EQP__ARRAY(r->low, 3 * (int64_t)r->nparts), EQP__ARRAY(r->high, 3 * (int64_t)r->nparts),
                           EQP__ARRAY(r->filled, r->nparts), EQP__ARRAY(first, r->nparts), EQP__ARRAY(last, r->nparts));

    EQP_TRY(eqp_agree(comm, code, NULL));
    memcpy(r->corner, scope->low, sizeof r->corner);
    r->side = scope->side;
    EQP_TRY(gather_ends(comm, r, points, part, first, last));
    EQP_TRY(r->cells == NULL ? eqp_agree(comm, divide(r, first, last, wanted, grid), NULL) : EQP_OK);
done:
    EQP__FREE(first, last);
    return code;
}

const char *eqp__regions_reason(int code)
{
    return code != EQP_ERR_STATE
               ? eqp_error_text(code)
               : "no walls along the axes tell the parts apart, and they are no intervals of a Hilbert curve; cells of "
                 "voronoi come with its parts only (eqp_balance_options.regions)";
}

static int check(const eqp_points *points, const int *part, int nparts, eqp_regions **regions, eqp_message *message)
{
    EQP__FAIL_IF(regions == NULL || points == NULL || (points->n > 0 && part == NULL),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "regions: no points, no parts or no place for the result"));
    EQP__FAIL_IF(
        nparts < 1 || nparts > EQP_REGIONS_PARTS,
        EQP__SAY(message, EQP_ERR_ARGUMENT, "regions: %d parts, 1 to %d are possible", nparts, EQP_REGIONS_PARTS));
    for (int64_t i = 0; i < points->n; i++) {
        EQP__FAIL_IF(
            part[i] < 0 || part[i] >= nparts,
            EQP__SAY(message, EQP_ERR_ARGUMENT, "regions: item %" PRId64 " has part %d of %d", i, part[i], nparts));
    }
    return EQP_OK;
}

int eqp_regions_create(MPI_Comm comm, const eqp_points *points, const int *part, int nparts, eqp_regions **regions,
                       eqp_message *message)
{
    MPI_Comm own = MPI_COMM_NULL;
    eqp_message why = {""};
    eqp_regions *made = NULL;
    const eqp__same same = {nparts, "the number of parts"};
    eqp__points_scope scope;
    eqp_points mine;
    int code = eqp__comm_dup(comm, &own);

    EQP__CHECK(code);
    points = eqp__points_known(points, &mine);
    code = check(points, part, nparts, regions, &why);
    code = code == EQP_OK ? eqp__regions_open(nparts, &made) : code;
    EQP_TRY(eqp__points_meet(own, code, points, 1, &same, &scope, &why));
    EQP_TRY(eqp__regions_make(own, made, points, &scope, part, NULL, NULL));
    *regions = made;
    made = NULL;
done:
    if (code != EQP_OK && why.text[0] == '\0') {
        eqp_message_set(&why, "regions: %s", eqp__regions_reason(code));
    }
    if (code != EQP_OK && message != NULL) {
        *message = why;
    }
    eqp_regions_free(made);
    eqp_comm_free(&own);
    return code;
}

static int find_in_tree(const eqp_regions *r, const double x[3])
{
    int at = 0;

    while (r->tree[at].axis >= 0) {
        at = x[r->tree[at].axis] < r->tree[at].wall ? r->tree[at].below : r->tree[at].above;
    }
    return r->tree[at].below;
}

int eqp_regions_find(const eqp_regions *regions, const double place[3])
{
    uint64_t key = 0;
    int cell = 0;

    if (regions == NULL || (regions->nfilled == 0 && regions->nnodes == 0) || place == NULL || !isfinite(place[0]) ||
        !isfinite(place[1]) || !isfinite(place[2])) {
        return -1;
    }
    if (regions->tree != NULL) {
        return find_in_tree(regions, place);
    }
    if (regions->cells != NULL) {
        eqp__voronoi_parts(regions->cells, 1, place, &cell);
        return regions->part_of[cell];
    }
    return key_of(regions, place, &key) == EQP_OK ? regions->filled[eqp__regions_interval(regions, key)] : -1;
}

int eqp_regions_box(const eqp_regions *regions, int part, double low[3], double high[3])
{
    EQP_REQUIRE(regions && low && high);
    EQP__FAIL_IF(part < 0 || part >= regions->nparts, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(regions->low[3 * part] > regions->high[3 * part], EQP_ERR_UNKNOWN);
    memcpy(low, regions->low + 3 * (size_t)part, 3 * sizeof *low);
    memcpy(high, regions->high + 3 * (size_t)part, 3 * sizeof *high);
    return EQP_OK;
}
