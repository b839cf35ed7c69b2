/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the tiles of a rank that shares a group can be: what keeps its walk away from cells where nothing is its own.
 */
#include "walker.h"

#include <equipoise/error.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A unit's cell is cut out by the nearest of the others' units; farther ones seldom cut off anything that these do not.
 */
#define MOST_PLANES (2 * BH_PLANES)

/* Rounding of squared distances, here and where the nearest unit is searched for, in units of the largest of them. */
#define ROUNDING (256 * DBL_EPSILON)

/* Of others' units the nearest to one of this rank's, nearest first. */
typedef struct rivals {
    int n;
    int64_t unit[MOST_PLANES];
    double distance2[MOST_PLANES];
} rivals;

static void add_rival(rivals *r, int64_t unit, double distance2)
{
    int place = r->n < MOST_PLANES ? r->n++ : MOST_PLANES - 1;

    for (; place > 0 && r->distance2[place - 1] > distance2; place--) {
        r->unit[place] = r->unit[place - 1];
        r->distance2[place] = r->distance2[place - 1];
    }
    r->unit[place] = unit;
    r->distance2[place] = distance2;
}

static void find_rivals(const bh_sharing *sharing, const double *own, rivals *r)
{
    r->n = 0;
    for (int64_t u = 0; u < sharing->n; u++) {
        const double *other = sharing->centroid + 3 * u;
        const double d[3] = {other[0] - own[0], other[1] - own[1], other[2] - own[2]};
        const double distance2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (sharing->rank[u] != sharing->me && (r->n < MOST_PLANES || distance2 < r->distance2[MOST_PLANES - 1])) {
            add_rival(r, u, distance2);
        }
    }
}

/* The plane between two centroids, for centres c of tiles measured from the group, x = c / 2 being what is near a unit:
 * |x - other|^2 - |x - own|^2 = |other|^2 - |own|^2 - c (other - own). scale2: more than any |x|^2 of a tile. */
static void put_plane(bh__planes *to, int p, const double *own, const double *other, double scale2, double slack)
{
    double normal[3], size = 0, away = 0;

    for (int k = 0; k < 3; k++) {
        normal[k] = other[k] - own[k];
        away += normal[k] * (other[k] + own[k]);
        size += fabs(normal[k]);
        scale2 += other[k] * other[k] + own[k] * own[k];
        to->normal[k][p] = normal[k];
    }
    to->doubt[p] = ROUNDING * scale2 + slack * size;
    to->away[p] = away + to->doubt[p];
    for (int octant = 0; octant < BH_FAMILY; octant++) {
        double least = 0;
        for (int k = 0; k < 3; k++) {
            const double inward = (octant >> k & 1) != 0 ? -normal[k] : normal[k];
            least += inward > 0 ? inward : 0;
        }
        to->least[octant][p] = least;
    }
}

/* Planes that cut off nothing. */
static void clear_planes(bh__planes *to)
{
    *to = (bh__planes){.doubt = {0}};
    for (int p = 0; p < BH_PLANES; p++) {
        to->away[p] = 1;
    }
}

static int region_reserve(bh_region *region, int64_t n)
{
    if (n <= region->capacity) {
        return EQP_OK;
    }
    bh__planes *larger = realloc(region->planes, (size_t)(2 * n) * sizeof(*larger));
    if (larger == NULL) {
        return EQP_ERR_MEMORY;
    }
    region->planes = larger;
    region->capacity = 2 * n;
    return EQP_OK;
}

int bh__walker_share(bh__walker *w, const bh_sharing *sharing, bh_region *region)
{
    const bh_box *box = &w->tree->box;
    const double slack = 4 * bh__rounding(box);
    double scale2 = 0;
    int64_t own = 0;

    for (int64_t u = 0; u < sharing->n; u++) {
        own += sharing->rank[u] == sharing->me;
    }
    const int64_t most = sharing->n - own < MOST_PLANES ? sharing->n - own : MOST_PLANES;
    region->n = 0;
    region->nplanes = (most + BH_PLANES - 1) / BH_PLANES;
    region->complete = sharing->n - own <= MOST_PLANES;
    const int code = region_reserve(region, own * region->nplanes);
    if (code != EQP_OK) {
        return code;
    }
    for (int k = 0; k < 3; k++) {
        region->centre[k] = sharing->centre[k];
        const double reach =
            fmax(fabs(box->corner[k] - sharing->centre[k]), fabs(box->corner[k] + box->side - sharing->centre[k]));
        scale2 += reach * reach;
    }
    for (int64_t u = 0; u < sharing->n; u++) {
        rivals r;
        if (sharing->rank[u] != sharing->me) {
            continue;
        }
        bh__planes *planes = region->planes + region->n++ * region->nplanes;
        find_rivals(sharing, sharing->centroid + 3 * u, &r);
        for (int64_t b = 0; b < region->nplanes; b++) {
            clear_planes(&planes[b]);
        }
        for (int i = 0; i < r.n; i++) {
            put_plane(&planes[i / BH_PLANES], i % BH_PLANES, sharing->centroid + 3 * u,
                      sharing->centroid + 3 * r.unit[i], scale2, slack);
        }
    }
    w->region = region;
    return EQP_OK;
}

bh__side_of bh__region_side(const bh_region *region, const double tile_centre[3])
{
    const double at[3] = {tile_centre[0] - region->centre[0], tile_centre[1] - region->centre[1],
                          tile_centre[2] - region->centre[2]};
    bool doubtful = false;

    for (int64_t piece = 0; piece < region->n; piece++) {
        bool out = false, in = region->complete;
        for (int64_t b = 0; b < region->nplanes && !out; b++) {
            const bh__planes *planes = &region->planes[piece * region->nplanes + b];
            double beyond[BH_PLANES];
            bool any = false, all = true;
            bh__planes_beyond(planes, at, beyond);
            for (int p = 0; p < BH_PLANES; p++) {
                any = any || beyond[p] > 0;
                all = all && beyond[p] < -2 * planes->doubt[p];
            }
            out = any;
            in = in && all;
        }
        if (in && !out) {
            return BH_INSIDE;
        }
        doubtful = doubtful || !out;
    }
    return doubtful ? BH_IN_DOUBT : BH_OUTSIDE;
}
