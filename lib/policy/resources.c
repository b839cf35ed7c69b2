/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a map is made, and on how many ranks: Pearce 2014, chapter 5.4. */
#include <equipoise/lazy.h>

#include <math.h>
#include <stddef.h>

#define TERMS 3

static bool is_amount(double x)
{
    return isfinite(x) && x >= 0.0;
}

static bool is_fit(const eqp_seconds_fit *fit)
{
    return is_amount(fit->fixed) && is_amount(fit->divided) && is_amount(fit->per_rank);
}

double eqp_seconds_at(const eqp_seconds_fit *fit, double n)
{
    return fit && n > 0.0 ? fit->fixed + fit->divided / n + fit->per_rank * n : 0.0;
}

/* Of equals the first is taken: fewer terms before more, of divided, fixed, per_rank. */
static const int subsets[][TERMS] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};

/* Sums of products of the three columns 1/n, 1, n and of the right side, each scaled to length 1. */
typedef struct normal_sums {
    double scale[TERMS];
    double product[TERMS][TERMS];
    double right[TERMS];
} normal_sums;

static void columns_of(int ranks, double weight, double column[TERMS])
{
    column[0] = weight / ranks;
    column[1] = weight;
    column[2] = weight * ranks;
}

/* unit: seconds by which a sample is divided so that errors are relative. */
static double unit_of(double seconds, double shortest)
{
    return seconds > 0.0 ? seconds : shortest;
}

static void add_up(int n, const int *ranks, const double *seconds, double shortest, normal_sums *sums)
{
    double column[TERMS];

    *sums = (normal_sums){.scale = {0.0}};
    for (int i = 0; i < n; i++) {
        columns_of(ranks[i], shortest / unit_of(seconds[i], shortest), column);
        for (int k = 0; k < TERMS; k++) {
            sums->scale[k] += column[k] * column[k];
        }
    }
    for (int k = 0; k < TERMS; k++) {
        sums->scale[k] = sqrt(sums->scale[k]);
    }
    for (int i = 0; i < n; i++) {
        columns_of(ranks[i], shortest / unit_of(seconds[i], shortest), column);
        for (int k = 0; k < TERMS; k++) {
            for (int l = 0; l < TERMS; l++) {
                sums->product[k][l] += column[k] / sums->scale[k] * (column[l] / sums->scale[l]);
            }
            sums->right[k] += column[k] / sums->scale[k] * (seconds[i] / unit_of(seconds[i], shortest));
        }
    }
}

/* The least squares of a subset by Gauss-Jordan with diagonal pivots, which suffices for a matrix of this kind. False
 * where the samples do not tell its terms apart. */
static bool solve(const normal_sums *sums, const int subset[TERMS], double x[TERMS])
{
    double a[TERMS][TERMS + 1];

    for (int k = 0; k < TERMS; k++) {
        for (int l = 0; l < TERMS; l++) {
            a[k][l] = subset[k] && subset[l] ? sums->product[k][l] : k == l;
        }
        a[k][TERMS] = subset[k] ? sums->right[k] : 0.0;
    }
    for (int k = 0; k < TERMS; k++) {
        if (!(a[k][k] > 1e-9)) {
            return false;
        }
        for (int l = 0; l < TERMS; l++) {
            const double times = a[l][k] / a[k][k];
            for (int c = k; c <= TERMS && l != k; c++) {
                a[l][c] -= times * a[k][c];
            }
        }
    }
    for (int k = 0; k < TERMS; k++) {
        x[k] = a[k][TERMS] / a[k][k] / sums->scale[k];
    }
    return true;
}

static double error_of(int n, const int *ranks, const double *seconds, double shortest, const double x[TERMS])
{
    double column[TERMS], sum = 0.0;

    for (int i = 0; i < n; i++) {
        const double unit = unit_of(seconds[i], shortest);
        columns_of(ranks[i], shortest / unit, column);
        const double off = x[0] * column[0] + x[1] * column[1] + x[2] * column[2] - seconds[i] / unit;
        sum += off * off;
    }
    return sum;
}

/* The least squares without negative terms are the plain ones of the subset of terms that are not zero. */
int eqp_seconds_fit_compute(int n, const int *ranks, const double *seconds, eqp_seconds_fit *fit)
{
    double best[TERMS] = {0.0}, least = INFINITY, shortest = INFINITY;
    normal_sums sums;

    EQP_REQUIRE(n >= 1 && ranks && seconds && fit);
    for (int i = 0; i < n; i++) {
        EQP_REQUIRE(ranks[i] >= 1);
        if (!is_amount(seconds[i])) {
            return EQP_ERR_DATA;
        }
        shortest = seconds[i] > 0.0 ? fmin(shortest, seconds[i]) : shortest;
    }
    if (shortest == INFINITY) {
        *fit = (eqp_seconds_fit){0.0, 0.0, 0.0};
        return EQP_OK;
    }
    add_up(n, ranks, seconds, shortest, &sums);
    for (size_t s = 0; s < sizeof subsets / sizeof subsets[0]; s++) {
        double x[TERMS];
        if (!solve(&sums, subsets[s], x) || x[0] < 0.0 || x[1] < 0.0 || x[2] < 0.0) {
            continue;
        }
        const double error = error_of(n, ranks, seconds, shortest, x);
        if (error < least - 1e-12 * (1.0 + n)) {
            least = error;
            for (int k = 0; k < TERMS; k++) {
                best[k] = x[k];
            }
        }
    }
    const eqp_seconds_fit made = {
        .divided = shortest * best[0], .fixed = shortest * best[1], .per_rank = shortest * best[2]};
    if (!is_fit(&made)) {
        return EQP_ERR_DATA;
    }
    *fit = made;
    return EQP_OK;
}

/* 5.2 and 5.3: f cancels. */
static int64_t counted_steps(const eqp_lazy_model *model)
{
    const double until = model->drift > 0.0 ? log1p(model->tolerance) / log1p(model->drift) : INFINITY;

    return until < (double)model->steps ? (until > 1.0 ? (int64_t)until : 1) : model->steps;
}

/* Zero times infinity is zero. */
static double product(double x, double y)
{
    return x == 0.0 || y == 0.0 ? 0.0 : x * y;
}

/* Whole steps until a map comes that takes so many seconds, no more than t. */
static int64_t whole(double seconds, double step, int64_t t)
{
    const double u = seconds > 0.0 ? ceil(seconds / step) : 1.0;

    return u < (double)t ? (u > 1.0 ? (int64_t)u : 1) : t;
}

/* A kind of balancing on so many ranks: seconds of all steps, steps until the map comes. */
typedef struct option {
    double seconds;
    int balancers;
    int64_t late;
} option;

/* 5.4 and the second line of 5.5: n ranks compute, a map takes so many seconds beside them. */
static option beside(const eqp_lazy_model *model, int64_t t, int n, int m)
{
    const double f = eqp_seconds_at(&model->step, n), alpha = model->imbalance;
    const double map = eqp_seconds_at(&model->map, m) + eqp_seconds_at(&model->talk, (double)n / m);

    if (model->as_printed) {
        return (option){(double)t * f + map, m, whole(map, alpha * f, t)};
    }
    const int64_t u = whole(map, (1.0 + alpha) * f, t);
    const double old = expm1((double)u * log1p(model->drift));
    const double steps = (double)t + (double)u * alpha + product((double)(t - u), old);
    return (option){product(steps, f), m, u};
}

static void keep_cheaper(eqp_lazy_choice *choice, eqp_lazy_kind kind, option found)
{
    if (found.seconds < choice->seconds[kind]) {
        choice->seconds[kind] = found.seconds;
        choice->balancers[kind] = found.balancers;
        choice->late[kind] = found.late;
    }
}

int eqp_lazy_choose(const eqp_lazy_model *model, int nranks, eqp_lazy_choice *choice)
{
    eqp_lazy_choice made = {.kind = EQP_LAZY_INLINE};

    EQP_REQUIRE(model && choice && nranks >= 1 && nranks <= EQP_LAZY_RANKS_MAX && model->steps >= 1);
    if (!is_fit(&model->step) || !is_fit(&model->map) || !is_fit(&model->talk) || !is_amount(model->imbalance) ||
        !is_amount(model->drift) || !is_amount(model->tolerance)) {
        return EQP_ERR_DATA;
    }
    made.steps = counted_steps(model);
    const double balanced = (double)made.steps * eqp_seconds_at(&model->step, nranks);
    for (int k = 0; k < EQP_LAZY_KINDS; k++) {
        made.seconds[k] = INFINITY;
    }
    keep_cheaper(&made, EQP_LAZY_INLINE, (option){balanced + eqp_seconds_at(&model->map, nranks), nranks, 0});
    for (int m = 1; m <= nranks; m++) {
        const double map = eqp_seconds_at(&model->map, m) + eqp_seconds_at(&model->talk, (double)nranks / m);
        keep_cheaper(&made, EQP_LAZY_DECOUPLED, (option){balanced + map, m, 0});
        if (m < nranks) {
            keep_cheaper(&made, EQP_LAZY_BESIDE, beside(model, made.steps, nranks - m, m));
        }
    }
    if (model->spare) {
        keep_cheaper(&made, EQP_LAZY_THREAD, beside(model, made.steps, nranks, 1));
    }
    for (int k = 0; k < EQP_LAZY_KINDS; k++) {
        if (made.seconds[k] < made.seconds[made.kind]) {
            made.kind = (eqp_lazy_kind)k;
        }
    }
    *choice = made;
    return EQP_OK;
}
