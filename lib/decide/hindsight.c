/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"
#include "decide/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Consecutive steps, as totals. */
typedef struct stretch {
    double max, mean;
    double cost;     /* of all its maps */
    double aged;     /* sum of the known increments of steps with a new map */
    double risen;    /* sum of the rises of imbalance between steps of one map */
    int64_t maps;    /* made before steps of this stretch */
    int64_t unknown; /* steps with a new map whose increment is unknown */
    int64_t steps;
} stretch;

#define MOST EQP_HINDSIGHT_MOST

/* Rises below this many standard deviations may be chance. */
#define SURE 3.0

struct eqp_hindsight {
    stretch *part; /* [MOST] */
    int64_t n;
    int64_t together; /* most steps in a stretch */
    int64_t steps, maps;
    double first;     /* cost of the first map */
    double imbalance; /* of the last step */
};

void eqp__hindsight_free(eqp_hindsight *hindsight)
{
    if (hindsight != NULL) {
        EQP__FREE(hindsight->part, hindsight);
    }
}

int eqp__hindsight_create(eqp_hindsight **hindsight)
{
    eqp_hindsight *made = NULL;
    int code;

    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    EQP_TRY(eqp_array_create(&made->part, MOST, sizeof *made->part));
    made->together = 1;
    *hindsight = made;
    made = NULL;
done:
    eqp__hindsight_free(made);
    return code;
}

static double imbalance_of(const stretch *of)
{
    return of->mean > 0.0 ? fmax(of->max / of->mean - 1.0, 0.0) : 0.0;
}

static void join(stretch *to, const stretch *next)
{
    to->max += next->max;
    to->mean += next->mean;
    to->cost += next->cost;
    to->aged += next->aged;
    to->risen += next->risen;
    to->maps += next->maps;
    to->unknown += next->unknown;
    to->steps += next->steps;
}

/* Joins neighbours up to `together` steps; a stretch that begins with a map stays separate unless `across`. */
static void join_all(eqp_hindsight *h, bool across)
{
    int64_t n = 0;

    for (int64_t i = 0; i < h->n; i++) {
        const stretch next = h->part[i];
        if (n > 0 && h->part[n - 1].steps + next.steps <= h->together && (across || next.maps == 0)) {
            join(&h->part[n - 1], &next);
        } else {
            h->part[n++] = next;
        }
    }
    h->n = n;
}

/* Frees at least a quarter of the room. Stretches with maps are joined only if at least two mean intervals long, so
 * that old and fresh steps stay balanced. */
static void make_room(eqp_hindsight *h)
{
    while (h->n > MOST / 4 * 3) {
        join_all(h, false);
        if (h->n > MOST / 4 * 3 && h->maps > 0 && h->together >= 2 * (h->steps / h->maps)) {
            join_all(h, true);
        }
        h->together *= h->n > MOST / 4 * 3 ? 2 : 1;
    }
}

int eqp__hindsight_add(eqp_hindsight *hindsight, const eqp_hindsight_step *step)
{
    eqp_hindsight *h = hindsight;

    EQP__FAIL_IF(!eqp__is_amount(step->seconds_max) || !eqp__is_amount(step->seconds_mean) ||
                     step->seconds_max < step->seconds_mean ||
                     (step->rebalanced && (!eqp__is_amount(step->balance_seconds) || !isfinite(step->aged))),
                 EQP_ERR_DATA);
    stretch now = {.max = step->seconds_max, .mean = step->seconds_mean, .steps = 1};
    if (step->rebalanced) {
        now.maps = 1;
        now.cost = step->balance_seconds;
        now.unknown = step->aged < 0.0;
        now.aged = fmax(step->aged, 0.0);
    } else if (h->steps > 0) {
        now.risen = imbalance_of(&now) - h->imbalance;
    }
    if (h->n > 0 && now.maps == 0 && h->part[h->n - 1].steps < h->together) {
        join(&h->part[h->n - 1], &now);
    } else {
        if (h->n == MOST) {
            make_room(h);
        }
        h->part[h->n++] = now;
    }
    h->imbalance = imbalance_of(&now);
    h->first = h->maps == 0 ? now.cost : h->first;
    h->steps++;
    h->maps += now.maps;
    return EQP_OK;
}

/* Consecutive steps at the same level. */
typedef struct pool {
    double sum, weight; /* of imbalances times mean seconds, of mean seconds */
    int64_t end;
} pool;

/* The run by stretches; arrays are [n]. */
typedef struct view {
    int64_t n;
    const stretch *part;
    double *row;     /* seconds of the steps from s on with a map made before s: row[s] to row[n - 1] */
    double *fresh;   /* imbalance of a map made before the stretch */
    double *rise;    /* increment */
    double *noise;   /* residual imbalance, which every map would have had */
    double *cost;    /* cost of a map made before the stretch */
    pool *pool;      /* scratch */
    double variance; /* of the noise */
} view;

static double level_of(const pool *p)
{
    return p->weight > 0.0 ? p->sum / p->weight : 0.0;
}

static void pour(pool *into, const pool *next)
{
    into->sum += next->sum;
    into->weight += next->weight;
    into->end = next->end;
}

/* Nondecreasing least-squares fit to the imbalances from `begin` to `end`, by pooling neighbours that decrease,
 * weighted by mean seconds so that the residuals sum to zero. Returns the number of pools. */
static int64_t pool_falls(const view *v, int64_t begin, int64_t end)
{
    int64_t n = 0;

    for (int64_t i = begin; i < end; i++) {
        const double weight = v->part[i].mean;
        v->pool[n++] = (pool){weight * imbalance_of(&v->part[i]), weight, i + 1};
        while (n > 1 && level_of(&v->pool[n - 2]) >= level_of(&v->pool[n - 1])) {
            pour(&v->pool[n - 2], &v->pool[n - 1]);
            n--;
        }
    }
    return n;
}

/* Joins neighbouring pools that differ by less than SURE standard deviations, least certain pair first: increases
 * that may be chance are not rises. */
static int64_t pool_chances(const view *v, int64_t begin, int64_t n)
{
    for (;;) {
        double least = SURE * SURE * v->variance;
        int64_t at = -1;

        for (int64_t p = 0; p + 1 < n; p++) {
            const double first = (double)(v->pool[p].end - (p > 0 ? v->pool[p - 1].end : begin));
            const double second = (double)(v->pool[p + 1].end - v->pool[p].end);
            const double gap = level_of(&v->pool[p + 1]) - level_of(&v->pool[p]);
            const double sure = gap * gap / (1.0 / first + 1.0 / second);
            if (sure < least) {
                least = sure;
                at = p;
            }
        }
        if (at < 0) {
            return n;
        }
        pour(&v->pool[at], &v->pool[at + 1]);
        memmove(&v->pool[at + 1], &v->pool[at + 2], (size_t)(n - at - 2) * sizeof *v->pool);
        n--;
    }
}

static void fit_rises(const view *v, int64_t begin, int64_t end, double *fit)
{
    const int64_t n = pool_chances(v, begin, pool_falls(v, begin, end));

    for (int64_t p = 0, i = begin; p < n; p++) {
        for (; i < v->pool[p].end; i++) {
            fit[i] = level_of(&v->pool[p]);
        }
    }
}

/* Variance of the noise, from each stretch's deviation from the midpoint of its neighbours with the same map. */
static double find_variance(int64_t n, const stretch *part)
{
    double sum = 0.0;
    int64_t count = 0;

    for (int64_t i = 1; i + 1 < n; i++) {
        if (part[i].maps == 0 && part[i + 1].maps == 0) {
            const double middle = (imbalance_of(&part[i - 1]) + imbalance_of(&part[i + 1])) / 2.0;
            sum += pow(imbalance_of(&part[i]) - middle, 2.0);
            count++;
        }
    }
    return count > 0 ? sum / (1.5 * (double)count) : 0.0;
}

/* Handles the steps from one map to the next. usual: increase per step between the previous two maps; returns the
 * one between these. A rise within the first stretch is not part of the fit. */
static double view_cycle(const view *v, int64_t begin, int64_t end, double usual)
{
    double *fit = v->noise;
    const stretch *first = &v->part[begin];
    int64_t steps = first->steps - first->maps;

    fit_rises(v, begin, end, fit);
    const double fresh = fit[begin], within = fmax(first->risen, 0.0), risen = within + fit[end - 1] - fresh;
    for (int64_t i = begin; i < end; i++) {
        v->fresh[i] = fresh;
        v->rise[i] = i > begin ? fit[i] - fit[i - 1] : 0.0;
        steps += i > begin ? v->part[i].steps : 0;
    }
    /* rise[] needs the fit of the previous stretch, so noise is stored last */
    for (int64_t i = begin; i < end; i++) {
        v->noise[i] = imbalance_of(&v->part[i]) - fit[i];
    }
    v->rise[begin] = within + first->aged + usual * (double)first->unknown;
    return steps > 0 ? risen / (double)steps : usual;
}

static void view_costs(const eqp_hindsight *h, const view *v)
{
    double sum = 0.0;

    for (int64_t i = 0; i < v->n; i++) {
        sum += v->part[i].cost;
    }
    /* without a map its cost is unknown */
    const double later = h->maps > 1 ? (sum - h->first) / (double)(h->maps - 1) : h->first;
    const double usual = h->maps > 0 ? later : INFINITY;
    for (int64_t i = 0; i < v->n; i++) {
        v->cost[i] = v->part[i].maps > 0 || i == 0 ? v->part[i].cost : usual;
    }
}

static void fill_row(const view *v, int64_t s)
{
    double imbalance = v->fresh[s];

    for (int64_t t = s; t < v->n; t++) {
        imbalance += t > s ? v->rise[t] : 0.0;
        v->row[t] = v->part[t].mean * fmax(1.0 + imbalance + v->noise[t], 1.0);
    }
}

/* rest[s]: the fewest seconds of the steps from s on, with a map before s; until[s]: where its next map is made. */
static double find_schedule(const view *v, double *rest, int64_t *until)
{
    rest[v->n] = 0.0;
    for (int64_t s = v->n - 1; s >= 0; s--) {
        double sum = 0.0;

        fill_row(v, s);
        rest[s] = INFINITY;
        until[s] = v->n;
        for (int64_t t = s; t < v->n; t++) {
            sum += v->row[t];
            if (sum + rest[t + 1] <= rest[s]) {
                rest[s] = sum + rest[t + 1];
                until[s] = t + 1;
            }
        }
        rest[s] += v->cost[s];
    }
    return rest[0];
}

static void view_all(const eqp_hindsight *h, const view *v)
{
    double usual = 0.0;

    for (int64_t begin = 0, end; begin < v->n; begin = end) {
        for (end = begin + 1; end < v->n && v->part[end].maps == 0; end++) {
        }
        usual = view_cycle(v, begin, end, usual);
    }
    view_costs(h, v);
}

static int conclude(const eqp_hindsight *h, double best, const int64_t *until, eqp_regret *regret)
{
    eqp_regret made = {.steps = h->steps, .maps = h->maps};

    for (int64_t i = 0; i < h->n; i++) {
        made.seconds += h->part[i].max + h->part[i].cost;
    }
    for (int64_t s = 0; s < h->n; s = until[s]) {
        made.should += h->part[s].maps > 1 ? h->part[s].maps : s > 0 || h->part[s].maps > 0;
    }
    EQP__FAIL_IF(!isfinite(made.seconds), EQP_ERR_OVERFLOW);
    made.best = fmin(best, made.seconds);
    made.regret = made.seconds > 0.0 ? 1.0 - made.best / made.seconds : 0.0;
    *regret = made;
    return EQP_OK;
}

/* The best schedule, stretch by stretch. until: [n] as in find_schedule. */
static void tell_schedule(const view *v, const int64_t *until, eqp_hindsight_stretch *schedule)
{
    int64_t first = 0;

    for (int64_t s = 0; s < v->n; s = until[s]) {
        fill_row(v, s);
        for (int64_t t = s; t < until[s]; t++) {
            const struct stretch *part = &v->part[t];
            schedule[t] = (eqp_hindsight_stretch){first, part->steps, part->max, v->row[t], part->maps > 0, t == s};
            first += part->steps;
        }
    }
}

int eqp__hindsight_regret(const eqp_hindsight *hindsight, eqp_regret *regret, int64_t *n,
                          eqp_hindsight_stretch **schedule)
{
    const eqp_hindsight *const h = hindsight;
    double *room = NULL;
    pool *pools = NULL;
    int64_t *until = NULL;
    eqp_hindsight_stretch *made = NULL;
    eqp_regret found;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(room, 6 * h->n + 1), EQP__ARRAY(until, h->n), EQP__ARRAY(pools, h->n),
                        EQP__ARRAY(made, h->n)));
    const view v = {.n = h->n,
                    .part = h->part,
                    .row = room,
                    .fresh = room + h->n,
                    .rise = room + 2 * h->n,
                    .noise = room + 3 * h->n,
                    .cost = room + 4 * h->n,
                    .pool = pools,
                    .variance = find_variance(h->n, h->part)};
    view_all(h, &v);
    EQP_TRY(conclude(h, find_schedule(&v, room + 5 * h->n, until), until, &found));
    if (regret != NULL) {
        *regret = found;
    }
    if (schedule != NULL) {
        tell_schedule(&v, until, made);
        *n = h->n;
        *schedule = made;
        made = NULL;
    }
done:
    EQP__FREE(made, until, pools, room);
    return code;
}
