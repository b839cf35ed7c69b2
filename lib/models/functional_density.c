/* SPDX-License-Identifier: BSD-3-Clause */
/* A density of time in a box, integrated over all axes except the one that is cut. */
#include "base/internal.h"

#include <equipoise/more/models.h>

#include <math.h>
#include <stdlib.h>

enum { DIMS = 3, GAUSS = 4 };

/* Gauss and Legendre's points of the unit interval, and their weights. */
static const double gauss_place[GAUSS] = {0.06943184420297371, 0.33000947820757187, 0.66999052179242813,
                                          0.93056815579702629};
static const double gauss_weight[GAUSS] = {0.17392742256872693, 0.32607257743127307, 0.32607257743127307,
                                           0.17392742256872693};

typedef struct box {
    eqp_functional_density density;
    const void *user;
    const eqp_functional_domain *domain;
    int across[DIMS - 1]; /* the other axes */
    int nacross;
    int code;
} box;

static int choose_direction(const eqp_functional_domain *d)
{
    int longest = 0;

    for (int i = 1; i < d->dims; i++) {
        if (d->high[i] - d->low[i] > d->high[longest] - d->low[longest]) {
            longest = i;
        }
    }
    return d->direction < 0 ? longest : d->direction;
}

static int check_domain(const eqp_functional_domain *d)
{
    EQP__FAIL_IF(d->dims < 1 || d->dims > DIMS || d->direction < -1 || d->direction >= d->dims || d->cells < 1,
                 EQP_ERR_ARGUMENT);
    for (int i = 0; i < d->dims; i++) {
        EQP__FAIL_IF(!isfinite(d->high[i] - d->low[i]) || !(d->high[i] > d->low[i]), EQP_ERR_ARGUMENT);
    }
    return EQP_OK;
}

static double density_at(box *b, const double x[DIMS])
{
    const double p = b->density(b->user, x);

    if (!(p >= 0) || !isfinite(p)) {
        b->code = EQP_ERR_DATA;
    }
    return p;
}

/* Integral along one of the other axes. x: place along the cut axis and along axes before `level`. */
static double sum_along(box *b, int level, double x[DIMS]);

static double sum_across(box *b, int level, double x[DIMS])
{
    return level == b->nacross ? density_at(b, x) : sum_along(b, level, x);
}

static double sum_along(box *b, int level, double x[DIMS])
{
    const int axis = b->across[level];
    const double width = (b->domain->high[axis] - b->domain->low[axis]) / b->domain->cells;
    double sum = 0;

    for (int cell = 0; cell < b->domain->cells && !b->code; cell++) {
        for (int g = 0; g < GAUSS && !b->code; g++) {
            x[axis] = b->domain->low[axis] + (cell + gauss_place[g]) * width;
            sum += gauss_weight[g] * width * sum_across(b, level + 1, x);
        }
    }
    return sum;
}

/* Computes t, and its slope (the integral over the plane), at the ends of the cells. */
static int sum_up(box *b, int axis, double *x, double *t, double *slope)
{
    const eqp_functional_domain *d = b->domain;
    const double width = (d->high[axis] - d->low[axis]) / d->cells;
    double place[DIMS] = {0};

    for (int cell = 0; cell <= d->cells && !b->code; cell++) {
        x[cell] = place[axis] = cell < d->cells ? d->low[axis] + cell * width : d->high[axis];
        slope[cell] = sum_across(b, 0, place);
        t[cell + 1 <= d->cells ? cell + 1 : cell] = t[cell];
        for (int g = 0; g < GAUSS && cell < d->cells && !b->code; g++) {
            place[axis] = d->low[axis] + (cell + gauss_place[g]) * width;
            t[cell + 1] += gauss_weight[g] * width * sum_across(b, 0, place);
        }
        if (!b->code && !isfinite(t[cell] + slope[cell])) {
            b->code = EQP_ERR_OVERFLOW;
        }
    }
    return b->code;
}

int eqp_functional_reduce(eqp_functional_density density, const void *user, const eqp_functional_domain *domain,
                          int *direction, eqp_functional_samples **samples)
{
    double *x = NULL, *t = NULL, *slope = NULL;
    int code = density && domain && samples ? check_domain(domain) : EQP_ERR_ARGUMENT;

    EQP__CHECK(code);
    const int axis = choose_direction(domain);
    const int64_t n = (int64_t)domain->cells + 1;
    box b = {.density = density, .user = user, .domain = domain};
    for (int i = 0; i < domain->dims; i++) {
        if (i != axis) {
            b.across[b.nacross++] = i;
        }
    }
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(x, n), EQP__ARRAY(t, n), EQP__ARRAY(slope, n)));
    EQP_TRY(sum_up(&b, axis, x, t, slope));
    EQP_TRY(eqp_functional_samples_create(n, x, t, slope, samples));
    if (direction) {
        *direction = axis;
    }
done:
    EQP__FREE(x, t, slope);
    return code;
}
