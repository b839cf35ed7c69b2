/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "cost/costs.h"

#include <math.h>
#include <string.h>

/* Index of each moment in eqp_cost_sums.sum. */
#define PAIRS (EQP_COST_KINDS * (EQP_COST_KINDS + 1) / 2)
#define WITH_SECONDS PAIRS
#define SECONDS_SQUARED (PAIRS + EQP_COST_KINDS)
#define SECONDS (SECONDS_SQUARED + 1)
#define SAMPLES (SECONDS_SQUARED + 2)

/* Fraction of a column that the ridge adds, as scaled columns have length 1: far above the rounding of the sums, far
 * below the accuracy of any measurement. */
#define RIDGE 1e-10
/* Gradients below this fraction of the largest one are rounding errors. It must be below RIDGE, which acts through
 * gradients. */
#define GRADIENT_NOISE 1e-14

/* Beyond this length, and below its inverse, squares could leave the range of doubles. */
#define LONGEST 1e100

/* Normal equations with columns scaled to length 1 and the ridge on the diagonal. */
typedef struct equations {
    int n;
    double matrix[EQP_COST_KINDS][EQP_COST_KINDS];
    double right[EQP_COST_KINDS];
    double scale[EQP_COST_KINDS]; /* 0: the kind was never seen */
} equations;

static int pair_index(int k, int l)
{
    return l * (l + 1) / 2 + k;
}

int eqp__cost_sums_init(eqp_cost_sums *sums, int nkinds)
{
    EQP__FAIL_IF(nkinds < 1 || nkinds > EQP_COST_KINDS, EQP_ERR_ARGUMENT);
    memset(sums, 0, sizeof *sums);
    sums->nkinds = nkinds;
    sums->relative = 1;
    return EQP_OK;
}

int eqp__cost_sums_add(eqp_cost_sums *sums, const int64_t *count, double seconds)
{
    const double weight = 1.0 / (seconds * seconds);
    double *sum = sums->sum;
    bool empty = true;

    EQP__FAIL_IF(!(seconds >= 0.0 && seconds <= LONGEST), EQP_ERR_DATA);
    for (int k = 0; k < sums->nkinds; k++) {
        EQP__FAIL_IF(count[k] < 0, EQP_ERR_DATA);
        empty = empty && count[k] == 0;
    }
    if (empty || seconds < 1.0 / LONGEST) {
        return EQP_OK;
    }
    for (int l = 0; l < sums->nkinds; l++) {
        for (int k = 0; k <= l; k++) {
            sum[pair_index(k, l)] += weight * (double)count[k] * (double)count[l];
        }
        sum[WITH_SECONDS + l] += weight * (double)count[l] * seconds;
    }
    sum[SECONDS_SQUARED] += weight * seconds * seconds;
    sum[SECONDS] += seconds;
    sum[SAMPLES] += 1.0;
    return EQP_OK;
}

static void scale_equations(const eqp_cost_sums *sums, equations *e)
{
    memset(e, 0, sizeof *e);
    e->n = sums->nkinds;
    for (int k = 0; k < e->n; k++) {
        e->scale[k] = sqrt(sums->sum[pair_index(k, k)]);
    }
    for (int l = 0; l < e->n; l++) {
        for (int k = 0; k < l; k++) {
            double product = e->scale[k] * e->scale[l];

            e->matrix[k][l] = product > 0.0 ? sums->sum[pair_index(k, l)] / product : 0.0;
            e->matrix[l][k] = e->matrix[k][l];
        }
        e->matrix[l][l] = 1.0 + RIDGE;
        e->right[l] = e->scale[l] > 0.0 ? sums->sum[WITH_SECONDS + l] / e->scale[l] : 0.0;
    }
}

/* The factor by which the expected costs fit the samples best. */
static double find_factor(const eqp_cost_sums *sums, const double *expected)
{
    double both = 0.0, squared = 0.0;

    for (int l = 0; l < sums->nkinds; l++) {
        both += expected[l] * sums->sum[WITH_SECONDS + l];
        for (int k = 0; k <= l; k++) {
            squared += (k == l ? 1.0 : 2.0) * expected[k] * expected[l] * sums->sum[pair_index(k, l)];
        }
    }
    return squared > 0.0 ? fmax(both / squared, 0.0) : 0.0;
}

/* Ridge: adds `lean` to the diagonal, so that costs without samples tend to factor x expected. */
static void lean_towards(const double *expected, double factor, double lean, equations *e)
{
    for (int k = 0; k < e->n; k++) {
        e->matrix[k][k] += lean;
        e->right[k] += lean * e->scale[k] * factor * expected[k];
    }
}

/* Solves the equations of the free unknowns by Cholesky decomposition, with all other unknowns 0. The ridge keeps every
 * pivot positive. */
static void solve_free(const equations *e, const bool *is_free, double *x)
{
    double factor[EQP_COST_KINDS][EQP_COST_KINDS];
    int row[EQP_COST_KINDS], m = 0;

    for (int k = 0; k < e->n; k++) {
        x[k] = 0.0;
        if (is_free[k]) {
            row[m++] = k;
        }
    }
    for (int i = 0; i < m; i++) {
        double right = e->right[row[i]];

        for (int j = 0; j <= i; j++) {
            double rest = e->matrix[row[i]][row[j]];

            for (int k = 0; k < j; k++) {
                rest -= factor[i][k] * factor[j][k];
            }
            factor[i][j] = i == j ? sqrt(fmax(rest, 0.5 * RIDGE)) : rest / factor[j][j];
        }
        for (int k = 0; k < i; k++) {
            right -= factor[i][k] * x[row[k]];
        }
        x[row[i]] = right / factor[i][i];
    }
    for (int i = m - 1; i >= 0; i--) {
        for (int k = i + 1; k < m; k++) {
            x[row[i]] -= factor[k][i] * x[row[k]];
        }
        x[row[i]] /= factor[i][i];
    }
}

/* The unknown at 0 whose growth would lower the error most, or -1. */
static int find_steepest(const equations *e, const bool *is_free, const bool *rejected, const double *x)
{
    double best = 0.0;
    int steepest = -1;

    for (int k = 0; k < e->n; k++) {
        best = fmax(best, GRADIENT_NOISE * fabs(e->right[k]));
    }
    for (int k = 0; k < e->n; k++) {
        double gradient = e->right[k];

        for (int l = 0; l < e->n; l++) {
            gradient -= e->matrix[k][l] * x[l];
        }
        if (!is_free[k] && !rejected[k] && e->scale[k] > 0.0 && gradient > best) {
            best = gradient;
            steepest = k;
        }
    }
    return steepest;
}

/* Moves x towards the unconstrained solution z of the free unknowns until one of them reaches 0, which is then no
 * longer free. True if z was reached. */
static bool step_towards(const equations *e, bool *is_free, double *x, const double *z)
{
    double fraction = 1.0;
    int blocking = -1;

    for (int k = 0; k < e->n; k++) {
        if (is_free[k] && z[k] <= 0.0 && x[k] <= fraction * (x[k] - z[k])) {
            fraction = x[k] > z[k] ? x[k] / (x[k] - z[k]) : 0.0;
            blocking = k;
        }
    }
    for (int k = 0; k < e->n; k++) {
        x[k] = is_free[k] ? fmax(x[k] + fraction * (z[k] - x[k]), 0.0) : 0.0;
    }
    if (blocking < 0) {
        return true;
    }
    x[blocking] = 0.0;
    for (int k = 0; k < e->n; k++) {
        is_free[k] = is_free[k] && x[k] > 0.0;
    }
    return false;
}

/* Lawson and Hanson's algorithm NNLS on normal equations. In exact arithmetic no set of free unknowns occurs twice,
 * and there are 2^n; with rounding the limit makes the loop end. */
static void solve_nonnegative(const equations *e, double *x)
{
    bool is_free[EQP_COST_KINDS] = {false}, rejected[EQP_COST_KINDS] = {false};
    double z[EQP_COST_KINDS];
    int next;

    memset(x, 0, EQP_COST_KINDS * sizeof *x);
    for (int round = 0; round < 1 << EQP_COST_KINDS; round++) {
        next = find_steepest(e, is_free, rejected, x);
        if (next < 0) {
            return;
        }
        is_free[next] = true;
        solve_free(e, is_free, z);
        if (z[next] <= 0.0) {
            /* its gradient was rounding */
            is_free[next] = false;
            rejected[next] = true;
            continue;
        }
        memset(rejected, 0, sizeof rejected);
        while (!step_towards(e, is_free, x, z)) {
            solve_free(e, is_free, z);
        }
    }
}

/* Sum of weighted squared errors; rounding below 0 is cut off. */
static double find_error(const eqp_cost_sums *sums, const double *cost)
{
    double error = sums->sum[SECONDS_SQUARED];

    for (int l = 0; l < sums->nkinds; l++) {
        for (int k = 0; k <= l; k++) {
            error += (k == l ? 1.0 : 2.0) * cost[k] * cost[l] * sums->sum[pair_index(k, l)];
        }
        error -= 2.0 * cost[l] * sums->sum[WITH_SECONDS + l];
    }
    return fmax(error, 0.0);
}

int eqp__cost_fit_near(const eqp_cost_sums *sums, const double *expected, double lean, eqp_cost_fit *fit)
{
    eqp_cost_fit f = {.nkinds = sums->nkinds, .samples = sums->sum[SAMPLES]};
    equations e;
    double x[EQP_COST_KINDS];

    for (int i = 0; i < EQP_COST_SUMS; i++) {
        EQP__FAIL_IF(!isfinite(sums->sum[i]), EQP_ERR_DATA);
    }
    EQP__FAIL_IF(f.samples < 1.0, EQP_ERR_STATE);
    scale_equations(sums, &e);
    f.factor = find_factor(sums, expected);
    lean_towards(expected, f.factor, lean, &e);
    solve_nonnegative(&e, x);
    for (int k = 0; k < f.nkinds; k++) {
        f.seen[k] = e.scale[k] > 0.0;
        f.cost[k] = f.seen[k] ? x[k] / e.scale[k] : 0.0;
    }
    f.rmse = sqrt(find_error(sums, f.cost) / f.samples);
    memcpy(fit, &f, sizeof f);
    return EQP_OK;
}

double eqp_cost_fit_predict(const eqp_cost_fit *fit, const int64_t *count)
{
    if (!fit || !count || fit->nkinds > EQP_COST_KINDS) {
        return 0.0;
    }
    double seconds = 0.0;

    for (int k = 0; k < fit->nkinds; k++) {
        seconds += fit->cost[k] * (double)count[k];
    }
    return seconds;
}
