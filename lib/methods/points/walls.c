/* SPDX-License-Identifier: BSD-3-Clause */
/* Boxes that fill the domain, from the boxes around the items of each part. */
#include "base/internal.h"
#include "comm/agree.h"
#include "methods/points/points.h"
#include "methods/points/regions.h"
#include "methods/tensor/tensor.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <string.h>

/* ---- grids ---- */

/* Slab of a part along an axis, as by MPI_Cart_coords(). */
static int slab_of(const int grid[3], int part, int axis)
{
    return axis == 0 ? part / (grid[1] * grid[2]) : axis == 1 ? part / grid[2] % grid[1] : part % grid[2];
}

/* Finds walls that separate the slabs of an axis, wall[1] to wall[grid[axis] - 1]; false: slabs overlap. low, high:
 * [nparts] work. */
static bool tell_apart(const eqp_regions *r, const eqp__walls_wanted *wanted, const int grid[3], int axis, double *low,
                       double *high, double *wall)
{
    const int nslabs = grid[axis];
    double next = wanted->high[axis], reach = wanted->low[axis], begin = -INFINITY;
    int last = 0; /* last slab with items */

    for (int s = 0; s < nslabs; s++) {
        low[s] = INFINITY;
        high[s] = -INFINITY;
    }
    for (int p = 0; p < r->nparts; p++) {
        const int s = slab_of(grid, p, axis);
        low[s] = fmin(low[s], r->low[3 * p + axis]);
        high[s] = fmax(high[s], r->high[3 * p + axis]);
    }
    for (int s = nslabs - 1; s > 0; s--) { /* low[s] becomes the minimum over slabs >= s */
        next = fmin(next, low[s]);
        low[s] = next;
        last = last == 0 && high[s] > -INFINITY ? s : last;
    }
    for (int s = 1; s < nslabs; s++) {
        reach = fmax(reach, high[s - 1]);
        begin = high[s - 1] > -INFINITY ? fmax(begin, low[s - 1]) : begin;
        if (reach > low[s] || (reach == low[s] && begin >= reach && s <= last)) { /* slabs overlap, or have no width */
            return false;
        }
        const double middle = 0.5 * reach + 0.5 * low[s];
        wall[s] = middle > reach ? middle : low[s];
        if (r->nfilled == 0) { /* no items: equal widths */
            wall[s] = wanted->low[axis] + (wanted->high[axis] - wanted->low[axis]) * s / nslabs;
        }
    }
    return true;
}

/* Builds the subtree of the parts first to first + count - 1 along each axis. */
static void plant(eqp_regions *r, const int grid[3], double *const wall[3], int at, const int first[3],
                  const int count[3])
{
    int axis = count[1] > count[0] ? 1 : 0, upper[3], below[3], above[3];

    axis = count[2] > count[axis] ? 2 : axis;
    if (count[axis] == 1) {
        const int part = (first[0] * grid[1] + first[1]) * grid[2] + first[2];
        r->tree[at] = (eqp__regions_node){.axis = -1, .below = part};
        return;
    }
    memcpy(upper, first, sizeof upper);
    memcpy(below, count, sizeof below);
    memcpy(above, count, sizeof above);
    below[axis] = count[axis] / 2;
    above[axis] = count[axis] - below[axis];
    upper[axis] += below[axis];
    r->tree[at] = (eqp__regions_node){axis, wall[axis][upper[axis]], r->nnodes, r->nnodes + 1};
    r->nnodes += 2;
    const int child = r->tree[at].below;
    plant(r, grid, wall, child, first, below);
    plant(r, grid, wall, child + 1, upper, above);
}

/* Builds the tree of a grid; false if its slabs overlap. work, wall: [nparts] each. */
static bool is_grid(eqp_regions *r, const eqp__walls_wanted *wanted, const int grid[3], double *const work[2],
                    double *const wall[3])
{
    const int first[3] = {0, 0, 0};

    for (int axis = 0; axis < 3; axis++) {
        if (!tell_apart(r, wanted, grid, axis, work[0], work[1], wall[axis])) {
            return false;
        }
    }
    r->nnodes = 1;
    plant(r, grid, wall, 0, first, grid);
    return true;
}

int eqp__walls_grid(eqp_regions *r, const eqp__walls_wanted *wanted, int grid[3])
{
    double *all = NULL, edge[3];
    int found[3] = {0, 0, 0}, code;

    EQP_TRY(eqp_array_create(&all, 5 * (int64_t)r->nparts, sizeof *all));
    double *const work[2] = {all, all + r->nparts};
    double *const wall[3] = {all + 2 * (int64_t)r->nparts, all + 3 * (int64_t)r->nparts, all + 4 * (int64_t)r->nparts};
    for (int a = 0; a < 3; a++) {
        edge[a] = 0.5 * wanted->high[a] - 0.5 * wanted->low[a];
    }
    EQP_TRY(eqp__tensor_grid(r->nparts, edge, found)); /* first guess; decides if empty parts permit several grids */
    bool is = is_grid(r, wanted, found, work, wall);
    for (int x = 1; x <= r->nparts && !is; x++) {
        for (int y = 1; r->nparts % x == 0 && y <= r->nparts / x && !is; y++) {
            if (r->nparts / x % y == 0) {
                memcpy(found, (int[3]){x, y, r->nparts / x / y}, sizeof found);
                is = is_grid(r, wanted, found, work, wall);
            }
        }
    }
    memcpy(grid, is ? found : (int[3]){0, 0, 0}, sizeof found);
    code = is ? EQP_OK : EQP_ERR_STATE;
done:
    free(all);
    return code;
}

/* ---- widths ---- */

/* need: [nnodes][3] least edges of the box of each node. */
static void add_up_needs(const eqp_regions *r, const eqp__walls_wanted *wanted, double (*need)[3])
{
    for (int at = r->nnodes - 1; at >= 0; at--) {
        const eqp__regions_node *node = &r->tree[at];
        for (int a = 0; a < 3; a++) {
            if (node->axis < 0) {
                need[at][a] = wanted != NULL ? wanted->least[a] : 0.0;
            } else {
                const double below = need[node->below][a], above = need[node->above][a];
                need[at][a] = node->axis == a ? below + above : fmax(below, above);
            }
        }
    }
}

/* Places the wall of a node in its box, and sets the boxes of both children. moves: the wall may move. */
static void stand(eqp__regions_node *node, double (*box)[6], const double (*need)[3], int at, bool moves)
{
    const int a = node->axis;

    if (moves) {
        const double lowest = box[at][a] + need[node->below][a], highest = box[at][3 + a] - need[node->above][a];
        node->wall = fmax(fmin(node->wall, highest), fmin(lowest, highest));
    }
    memcpy(box[node->below], box[at], sizeof box[at]);
    memcpy(box[node->above], box[at], sizeof box[at]);
    box[node->below][3 + a] = node->wall;
    box[node->above][a] = node->wall;
}

int eqp__walls_stand(eqp_regions *r, const eqp__walls_wanted *wanted)
{
    double(*need)[3] = NULL, (*box)[6] = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(r->box, r->nparts), EQP__ARRAY(need, r->nnodes), EQP__ARRAY(box, r->nnodes)));
    for (int64_t k = 0; k < 6 * (int64_t)r->nparts; k++) {
        r->box[k / 6][k % 6] = NAN;
    }
    add_up_needs(r, wanted, need);
    for (int a = 0; a < 3 && r->nnodes > 0; a++) {
        box[0][a] = wanted != NULL ? wanted->low[a] : -INFINITY;
        box[0][3 + a] = wanted != NULL ? wanted->high[a] : INFINITY;
        /* Tolerates the rounding of sums of widths. */
        EQP_TRY(wanted == NULL || need[0][a] * (1 - 1e-12) <= wanted->high[a] - wanted->low[a] ? EQP_OK
                                                                                               : EQP_ERR_CAPACITY);
    }
    for (int at = 0; at < r->nnodes; at++) {
        if (r->tree[at].axis < 0) {
            memcpy(r->box[r->tree[at].below], box[at], sizeof box[at]);
        } else {
            stand(&r->tree[at], box, (const double(*)[3])need, at, wanted != NULL);
        }
    }
done:
    EQP__FREE(need, box);
    return code;
}

int eqp_regions_walls(const eqp_regions *regions, int part, double low[3], double high[3])
{
    EQP_REQUIRE(regions && low && high);
    EQP__FAIL_IF(part < 0 || part >= regions->nparts, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(regions->tree == NULL, EQP_ERR_STATE);
    EQP__FAIL_IF(isnan(regions->box[part][0]), EQP_ERR_UNKNOWN);
    memcpy(low, regions->box[part], 3 * sizeof *low);
    memcpy(high, regions->box[part] + 3, 3 * sizeof *high);
    return EQP_OK;
}

/* ---- entry point ---- */

/* The domain: as requested, else the box around all items, else a unit cube. Collective. */
static int find_domain(MPI_Comm comm, const eqp_points *points, const eqp__points_scope *scope,
                       const eqp_walls_options *how, eqp__walls_wanted *wanted)
{
    bool given = false, outside = false;

    for (int a = 0; a < 3; a++) {
        given = given || how->low[a] != 0 || how->high[a] != 0;
    }
    memcpy(wanted->low, given ? how->low : scope->low, sizeof wanted->low);
    memcpy(wanted->high, given ? how->high : scope->high, sizeof wanted->high);
    memcpy(wanted->least, how->least, sizeof wanted->least);
    for (int64_t i = 0; i < points->n && given; i++) {
        double x[3];
        eqp__points_read(points, i, x);
        for (int a = 0; a < 3; a++) {
            outside = outside || !(how->low[a] <= x[a] && x[a] <= how->high[a]);
        }
    }
    return eqp_agree(comm, outside ? EQP_ERR_DATA : EQP_OK, NULL);
}

static int check(const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
                 const eqp_walls_options *how, const int *grid, eqp_regions **regions)
{
    EQP__FAIL_IF(method == NULL || points == NULL || options == NULL || how == NULL || grid == NULL ||
                     regions == NULL || options->nparts < 1 || options->nparts > EQP_REGIONS_PARTS,
                 EQP_ERR_ARGUMENT);
    for (int a = 0; a < 3; a++) {
        EQP__FAIL_IF(!isfinite(how->low[a]) || !(how->high[a] >= how->low[a]) ||
                         !isfinite(how->high[a] - how->low[a]) || !(how->least[a] >= 0) || !isfinite(how->least[a]),
                     EQP_ERR_ARGUMENT);
    }
    return EQP_OK;
}

static const char *reason(int code)
{
    switch (code) {
    case EQP_ERR_STATE:
        return "no walls tell its parts apart, or some are empty: tensor and rcb make boxes";
    case EQP_ERR_CAPACITY:
        return "the domain has no room for so many parts of the least width";
    case EQP_ERR_ARGUMENT:
        return "a domain, least widths or a number of parts that cannot be, or that differ between ranks";
    case EQP_ERR_DATA:
        return "an item outside the domain, or a value that is not finite";
    default:
        return eqp_error_text(code);
    }
}

/* Assigns parts by the method, and builds the walls between them. Collective. */
static int build(MPI_Comm comm, const eqp_method *method, const eqp_points *points, const eqp__points_scope *scope,
                 const eqp_balance_options *options, const eqp_walls_options *how, int grid[3], eqp_regions **made)
{
    eqp_balance_options these = *options;
    eqp__walls_wanted wanted;
    int *part = NULL, code = EQP__ARRAYS(EQP__ARRAY(part, points->n), EQP__ARRAY(*made, 1));

    EQP_TRY(eqp_agree(comm, code, NULL));
    (*made)->nparts = options->nparts;
    (void)eqp_method_set(method, "cart", NULL, &these.settings, NULL); /* ignored by methods without this option */
    EQP_TRY(find_domain(comm, points, scope, how, &wanted));
    EQP_TRY(eqp_balance_points(comm, method, points, &these, part, NULL));
    EQP_TRY(eqp__regions_make(comm, *made, points, scope, part, &wanted, grid));
done:
    free(part);
    return code;
}

int eqp_walls(MPI_Comm comm, const eqp_method *method, const eqp_points *points, const eqp_balance_options *options,
              const eqp_walls_options *how, int grid[3], eqp_regions **regions)
{
    eqp_walls_options these_walls = eqp_walls_options_defaults();
    eqp_balance_options asked;
    eqp_points mine;
    MPI_Comm own = MPI_COMM_NULL;
    eqp_message message = {""};
    eqp_regions *made = NULL;
    eqp__points_scope scope;
    eqp__same same = {0, "the number of parts or the options of walls"};
    int found[3] = {0, 0, 0}, code = eqp__comm_dup(comm, &own);

    EQP__CHECK(code);
    points = eqp__points_known(points, &mine);
    options = eqp__balance_options_known(options, &asked);
    how = how == NULL || eqp_struct_take(&these_walls, how, 0) == EQP_OK ? &these_walls : NULL;
    code = check(method, points, options, how, grid, regions);
    if (code == EQP_OK) {
        same.value = eqp_fingerprint(options->nparts, sizeof *how / sizeof(int64_t), how);
    }
    EQP_TRY(eqp__points_meet(own, code, points, 1, &same, &scope, &message));
    eqp_balance_options these = *options;
    these.message = &message;
    these.regions = NULL;
    EQP_TRY(build(own, method, points, &scope, &these, how, found, &made));
    memcpy(grid, found, sizeof found);
    *regions = made;
    made = NULL;
done:
    if (code != EQP_OK && options != NULL && options->message != NULL) {
        if (message.text[0] == '\0') {
            eqp_message_set(&message, "balance: walls of %s: %s",
                            method != NULL && method->name != NULL ? method->name : "no method", reason(code));
        }
        *options->message = message;
    }
    eqp_regions_free(made);
    eqp_comm_free(&own);
    return code;
}
