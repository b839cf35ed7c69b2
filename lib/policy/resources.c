/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a map is made, and on how many ranks: Pearce 2014, chapter 5.4. */
#include <equipoise/more/lazy_model.h>

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

/* How much longer than its first step the mean one of so many steps with a map is. */
static double growth(double drift, int64_t steps)
{
    const double grown = drift > 0.0 ? expm1((double)steps * log1p(drift)) : 0.0;

    return grown == INFINITY ? INFINITY : drift > 0.0 ? grown / ((double)steps * drift) : 1.0;
}

/* A kind of balancing on so many ranks: seconds of all steps, steps until the map comes and from one map to the next.
 */
typedef struct option {
    double seconds;
    int balancers;
    int64_t late, every;
} option;

/* t steps of f seconds if they are even, a map every so many of them. */
static double with_maps(double drift, int64_t t, double f, double price, int64_t every)
{
    const double steps = (double)t;

    return product(product(steps, f), growth(drift, every)) + (steps / (double)every - 1.0) * price;
}

/* The best number of steps from map to map, from `least` to t - 1. The seconds are convex in it: what steps get longer,
 * and what maps cost, are. */
static option at_best(const eqp_lazy_model *model, double f, double price, int m, int64_t late)
{
    const int64_t t = model->steps;
    int64_t low = late > 1 ? late : 1, high = t - 1;

    if (low > high) {
        return (option){INFINITY, 0, 0, 0};
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (with_maps(model->drift, t, f, price, middle) <= with_maps(model->drift, t, f, price, middle + 1)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return (option){with_maps(model->drift, t, f, price, low), m, late, low};
}

static double price_on(const eqp_lazy_model *model, int m, double ratio)
{
    return eqp_seconds_at(&model->map, m) + eqp_seconds_at(&model->talk, ratio);
}

/* n ranks compute, a map is made beside them. */
static option beside(const eqp_lazy_model *model, int64_t t, int n, int m)
{
    const double f = eqp_seconds_at(&model->step, n), map = price_on(model, m, (double)n / m);

    if (model->as_printed) {
        return (option){(double)t * f + map, m, whole(map, model->imbalance * f, t), t};
    }
    const int64_t u = whole(map, (1.0 + model->imbalance) * f, t);
    const double age = model->mended ? 1.0 : exp((double)u * log1p(model->drift));
    return at_best(model, product(f, age), model->own, m, u);
}

static option waited_for(const eqp_lazy_model *model, int64_t t, int nranks, double price, int m)
{
    const double f = eqp_seconds_at(&model->step, nranks);

    return model->as_printed ? (option){product((double)t, f) + price, m, 0, t} : at_best(model, f, price, m, 0);
}

static void keep_cheaper(eqp_lazy_choice *choice, eqp_lazy_kind kind, option found)
{
    if (found.seconds < choice->seconds[kind]) {
        choice->seconds[kind] = found.seconds;
        choice->balancers[kind] = found.balancers;
        choice->late[kind] = found.late;
        choice->every[kind] = found.every;
    }
}

int eqp_lazy_choose(const eqp_lazy_model *model, int nranks, eqp_lazy_choice *choice)
{
    eqp_lazy_choice made = {.kind = EQP_LAZY_INLINE};

    EQP_REQUIRE(model && choice && nranks >= 1 && nranks <= EQP_LAZY_RANKS_MAX && model->steps >= 1);
    if (!is_fit(&model->step) || !is_fit(&model->map) || !is_fit(&model->talk) || !is_amount(model->own) ||
        !is_amount(model->imbalance) || !is_amount(model->drift) || !is_amount(model->tolerance)) {
        return EQP_ERR_DATA;
    }
    const int64_t t = model->as_printed ? counted_steps(model) : model->steps;
    made.steps = t;
    for (int k = 0; k < EQP_LAZY_KINDS; k++) {
        made.seconds[k] = INFINITY;
    }
    if (!model->as_printed) {
        const double f = eqp_seconds_at(&model->step, nranks);
        keep_cheaper(&made, EQP_LAZY_INLINE, (option){with_maps(model->drift, t, f, 0.0, t), nranks, 0, t});
    }
    keep_cheaper(&made, EQP_LAZY_INLINE, waited_for(model, t, nranks, eqp_seconds_at(&model->map, nranks), nranks));
    for (int m = 1; m <= nranks; m++) {
        keep_cheaper(&made, EQP_LAZY_DECOUPLED,
                     waited_for(model, t, nranks, price_on(model, m, (double)nranks / m), m));
        if (m < nranks) {
            keep_cheaper(&made, EQP_LAZY_BESIDE, beside(model, t, nranks - m, m));
        }
    }
    if (model->spare) {
        keep_cheaper(&made, EQP_LAZY_THREAD, beside(model, t, nranks, 1));
    }
    for (int k = 0; k < EQP_LAZY_KINDS; k++) {
        if (made.seconds[k] < made.seconds[made.kind]) {
            made.kind = (eqp_lazy_kind)k;
        }
    }
    *choice = made;
    return EQP_OK;
}
