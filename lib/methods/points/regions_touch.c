/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the parts whose regions a box or a ball touches. */
#include "base/internal.h"
#include "comm/agree.h"
#include "methods/points/regions.h"

#include <equipoise/more/curve.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A query, and the parts found so far. */
typedef struct query {
    const eqp_regions *r;
    eqp__reach in;
    double most; /* the reach plus a margin for rounding */
    bool *seen;  /* [parts] */
    int *stack;  /* [nodes of the tree] */
    int *part, n;
} query;

static void take(void *user, int part)
{
    query *const q = user;

    if (!q->seen[part]) {
        q->seen[part] = true;
        q->part[q->n++] = part;
    }
}

/* True if the query touches a box. Rounding may add a box, but never drops one. */
static bool touches(const query *q, const double low[3], const double high[3])
{
    double sum = 0.0;

    for (int a = 0; a < 3; a++) {
        const double from = fmax(low[a], q->in.floor[a]), to = fmin(high[a], q->in.ceiling[a]);
        const double gap = fmax(fmax(from - q->in.high[a], q->in.low[a] - to), 0.0);
        if (from > to || (gap > 0 && !(gap <= q->most))) {
            return false;
        }
        sum += gap > 0 ? gap / q->in.reach * (gap / q->in.reach) : 0.0;
    }
    return sum <= 1.0 + 8 * DBL_EPSILON;
}

static void walk_tree(query *q)
{
    int n = 0;

    q->stack[n++] = 0;
    while (n > 0) {
        const eqp__regions_node *node = &q->r->tree[q->stack[--n]];
        const int a = node->axis;
        if (a < 0) {
            if (touches(q, q->r->box[node->below], q->r->box[node->below] + 3)) {
                take(q, node->below);
            }
            continue;
        }
        if (!(q->in.low[a] - node->wall > q->most)) {
            q->stack[n++] = node->below;
        }
        if (!(node->wall - q->in.high[a] > q->most)) {
            q->stack[n++] = node->above;
        }
    }
}

/* The interval of the curve that contains a key. */
static int interval_of(const eqp_regions *r, uint64_t key)
{
    int low = 0, high = r->nfilled;

    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        low = r->cut[middle] <= key ? middle : low;
        high = r->cut[middle] <= key ? high : middle;
    }
    return low;
}

/* Walks the octree cell of this level whose least key is `key`. Descends only into cells that a cut divides, at most
 * one per cut and level. */
static void walk_curve(query *q, int level, uint64_t key)
{
    const eqp_regions *r = q->r;
    const int below = EQP_CURVE_BITS - level;
    const uint32_t cells = (uint32_t)1 << EQP_CURVE_BITS, width = (uint32_t)1 << below;
    const uint64_t keys = (uint64_t)1 << (3 * below);
    uint32_t at[3];
    double low[3], high[3];

    eqp_hilbert_cell(key, &at[0], &at[1], &at[2]);
    for (int a = 0; a < 3; a++) {
        const uint32_t first = at[a] / width * width;
        const double from = (double)first / cells, until = (double)(first + width) / cells;
        /* The margin covers the rounding of keys. Products and sums stay below DBL_MAX if places do. */
        const double margin = 4 * DBL_EPSILON * fabs(r->corner[a]) + 4 * DBL_EPSILON * r->side + 4 * DBL_TRUE_MIN;
        low[a] = first == 0 ? -INFINITY : r->corner[a] + r->side * from - margin;
        high[a] = first + width == cells ? INFINITY : r->corner[a] + r->side * until + margin;
    }
    if (!touches(q, low, high)) {
        return;
    }
    const int first = interval_of(r, key), last = interval_of(r, key + (keys - 1));
    if (first == last) {
        take(q, r->filled[first]);
        return;
    }
    for (uint64_t k = 0; k < 8; k++) {
        walk_curve(q, level + 1, key + k * (keys / 8));
    }
}

static void walk(query *q)
{
    if (q->r->tree != NULL) {
        walk_tree(q);
    } else if (q->r->cells != NULL) {
        eqp__cells_touch(q->r, &q->in, take, q);
    } else {
        walk_curve(q, 0, 0);
    }
}

/* Walks the query, shifted into the periodic domain, and its neighbouring images. */
static void walk_images(query *q, const double *domain)
{
    double low[3], high[3], period[3];
    int images[3];

    for (int a = 0; a < 3; a++) {
        period[a] = domain != NULL ? domain[3 + a] - domain[a] : 0.0;
        images[a] = period[a] > 0 ? 1 : 0;
        q->in.floor[a] = period[a] > 0 ? domain[a] : -INFINITY;
        q->in.ceiling[a] = period[a] > 0 ? domain[3 + a] : INFINITY;
        if (period[a] > 0 && q->in.high[a] - q->in.low[a] >= period[a]) { /* covers the whole period */
            images[a] = 0;
            q->in.low[a] = domain[a];
            q->in.high[a] = domain[3 + a];
        } else if (period[a] > 0) {
            const double shift = period[a] * floor((q->in.low[a] - domain[a]) / period[a]);
            q->in.low[a] -= shift;
            q->in.high[a] -= shift;
        }
        low[a] = q->in.low[a];
        high[a] = q->in.high[a];
    }
    for (int x = -images[0]; x <= images[0]; x++) {
        for (int y = -images[1]; y <= images[1]; y++) {
            for (int z = -images[2]; z <= images[2]; z++) {
                const int image[3] = {x, y, z};
                for (int a = 0; a < 3; a++) {
                    q->in.low[a] = image[a] != 0 ? low[a] + image[a] * period[a] : low[a];
                    q->in.high[a] = image[a] != 0 ? high[a] + image[a] * period[a] : high[a];
                }
                walk(q);
            }
        }
    }
}

static int by_number(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;

    return (a > b) - (a < b);
}

int eqp_regions_touch(const eqp_regions *regions, const double low[3], const double high[3], double reach,
                      const double *domain, int *part, int *n)
{
    EQP_REQUIRE(regions && low && high && part && n);
    query q = {.r = regions, .in.reach = reach, .part = part};
    int code = reach >= 0 && isfinite(reach) ? EQP_OK : EQP_ERR_ARGUMENT;

    for (int a = 0; a < 3; a++) {
        if (!isfinite(low[a]) || !isfinite(high[a]) || low[a] > high[a] ||
            (domain != NULL && !(isfinite(domain[3 + a] - domain[a]) && domain[a] <= domain[3 + a]))) {
            code = EQP_ERR_ARGUMENT;
        }
        q.in.low[a] = low[a];
        q.in.high[a] = high[a];
    }
    EQP_TRY(code);
    q.most = reach * (1 + 4 * DBL_EPSILON);
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(q.seen, regions->nparts), EQP__ARRAY(q.stack, regions->nnodes)));
    if (regions->nfilled > 0 || regions->nnodes > 0) {
        walk_images(&q, domain);
    }
    qsort(part, (size_t)q.n, sizeof *part, by_number);
    *n = q.n;
done:
    EQP__FREE(q.seen, q.stack);
    return code;
}
