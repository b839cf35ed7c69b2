/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a walk in plain C, the reference for all other versions. */
#define BH_TARGET
#include "walk_one.h"

typedef const bh__walker *criterion;

static inline criterion criterion_of(const bh__walker *w)
{
    return w;
}

static inline unsigned far_lanes(const criterion *c, bool relative, const bh_family *family)
{
    const bh__walker *w = *c;
    const double side = w->side[family->level];
    const bh_cell *child = &w->tree->cell[family->child];
    unsigned lanes = 0;

    for (int k = 0; k < family->nchild; k++) {
        const double d2 = bh__distance2(w->group, family->x[k], family->y[k], family->z[k]);
        const bool far = relative ? bh__far_relative(w, d2, family->offset[k], family->mass[k], &child[k])
                                  : bh__far_geometric(w, d2, family->offset[k], side);
        lanes |= (unsigned)far << k;
    }
    return lanes;
}

typedef struct distances {
    double of[BH_PLANES];
} distances;

static inline distances distances_of(const bh__planes *planes, const double at[3])
{
    distances d;

    for (int p = 0; p < BH_PLANES; p++) {
        d.of[p] = planes->normal[0][p] * at[0] + planes->normal[1][p] * at[1] + planes->normal[2][p] * at[2] -
                  planes->away[p];
    }
    return d;
}

static inline bool any_above(distances d, double factor, const double *limit)
{
    int above = 0;

    for (int p = 0; p < BH_PLANES; p++) {
        above |= d.of[p] > factor * limit[p];
    }
    return above != 0;
}

#include "walk_steps.h"

static bool always(void)
{
    return true;
}

const bh__walk_row bh__walk_plain = {"plain", always, step_open, step_collect, step_drop, step_reach};
