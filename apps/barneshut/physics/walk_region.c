/* SPDX-License-Identifier: BSD-3-Clause */
/* The region of a sharing rank's tiles in a group, which keeps its walk away from cells without any. */
#include "walker.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <float.h>
#include <math.h>

/* The nearest units of other ranks bound a unit's cell; farther ones seldom cut off anything more. A rank with more
 * units than this has most of the group, and testing each of them costs more than it saves. */
#define MOST_PLANES (2 * BH_PLANES)
#define MOST_PIECES 4

/* Rounding error of squared distances, here and in the search for the nearest unit, in units of the largest of them. */
#define ROUNDING (256 * DBL_EPSILON)

/* The units of other ranks nearest to one of this rank's, nearest first. */
typedef struct rivals {
    int n;
    int64_t unit[MOST_PLANES];
    double distance2[MOST_PLANES];
} rivals;

static void add_rival(rivals *r, int most, int64_t unit, double distance2)
{
    int place = r->n < most ? r->n++ : most - 1;

    for (; place > 0 && r->distance2[place - 1] > distance2; place--) {
        r->unit[place] = r->unit[place - 1];
        r->distance2[place] = r->distance2[place - 1];
    }
    r->unit[place] = unit;
    r->distance2[place] = distance2;
}

static void find_rivals(const bh_sharing *sharing, const double *own, int most, rivals *r)
{
    r->n = 0;
    for (int64_t u = 0; u < sharing->n; u++) {
        const double *other = sharing->centroid + 3 * u;
        const double d[3] = {other[0] - own[0], other[1] - own[1], other[2] - own[2]};
        const double distance2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (sharing->rank[u] != sharing->me && (r->n < most || distance2 < r->distance2[most - 1])) {
            add_rival(r, most, u, distance2);
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

static void clear_plane(bh__planes *to, int p)
{
    to->normal[0][p] = to->normal[1][p] = to->normal[2][p] = to->doubt[p] = 0;
    to->away[p] = 1;
    for (int octant = 0; octant < BH_FAMILY; octant++) {
        to->least[octant][p] = 0;
    }
}

/* More than the square of any tile's centroid. */
static double find_scale2(const bh_box *box, const double centre[3])
{
    double scale2 = 0;

    for (int k = 0; k < 3; k++) {
        const double low = fabs(box->corner[k] - centre[k]), high = fabs(box->corner[k] + box->side - centre[k]);
        const double reach = low > high ? low : high;
        scale2 += reach * reach;
    }
    return scale2;
}

/* The places nearer to one of this rank's units than to the nearest units of other ranks. */
static void put_piece(const bh_sharing *sharing, const double *own, double scale2, double slack, int64_t nplanes,
                      bh__planes *planes)
{
    rivals r;

    find_rivals(sharing, own, (int)nplanes * BH_PLANES, &r);
    for (int i = 0; i < nplanes * BH_PLANES; i++) {
        if (i < r.n) {
            put_plane(&planes[i / BH_PLANES], i % BH_PLANES, own, sharing->centroid + 3 * r.unit[i], scale2, slack);
        } else {
            clear_plane(&planes[i / BH_PLANES], i % BH_PLANES);
        }
    }
}

int bh__walker_share(bh__walker *w, const bh_sharing *sharing, bh_region *region)
{
    const double scale2 = find_scale2(&w->tree->box, sharing->centre), slack = 4 * bh__rounding(&w->tree->box);
    int64_t own = 0;

    for (int64_t u = 0; u < sharing->n; u++) {
        own += sharing->rank[u] == sharing->me;
    }
    if (own > MOST_PIECES) {
        return EQP_OK;
    }
    const int64_t others = sharing->n - own, most = own > 1 ? BH_PLANES : MOST_PLANES;
    *region = (bh_region){.n = 0,
                          .nplanes = ((others < most ? others : most) + BH_PLANES - 1) / BH_PLANES,
                          .complete = others <= most,
                          .centre = {sharing->centre[0], sharing->centre[1], sharing->centre[2]},
                          .capacity = region->capacity,
                          .planes = region->planes};
    const int code =
        eqp_array_reserve(&region->planes, &region->capacity, own * region->nplanes, sizeof(*region->planes));
    for (int64_t u = 0; u < sharing->n && code == EQP_OK; u++) {
        if (sharing->rank[u] == sharing->me) {
            if (region->nplanes > 0) {
                put_piece(sharing, sharing->centroid + 3 * u, scale2, slack, region->nplanes,
                          region->planes + region->n * region->nplanes);
            }
            region->n++;
        }
    }
    w->region = code == EQP_OK ? region : NULL;
    return code;
}
