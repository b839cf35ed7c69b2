/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulation of feedback-guided balancing, and the load functions of the paper. */
#include "base/internal.h"
#include "methods/feedback/feedback.h"
#include <equipoise/more/methods.h>

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* A sine around 100 with a period of 360 x stretch iterations. */
static double wave(int64_t m, int stretch)
{
    return 100 * sin((double)m * pi / 180 / stretch) + 100;
}

/* (3.2), (3.3): the upper half of a periodic sequence with prime period. */
static double spike(int64_t m)
{
    const int64_t a = 11003, b = 10007, remainder = m % b * a % b;

    return 2 * remainder >= b ? (double)remainder / ((double)b / 10) : 0;
}

int eqp_feedback_function(int function, int64_t n, int nranks, int64_t *load)
{
    EQP_REQUIRE(n >= 0 && nranks >= 1 && (n == 0 || load));
    EQP__FAIL_IF(function < 1 || function > EQP_FEEDBACK_FUNCTIONS, EQP_ERR_UNKNOWN);
    for (int64_t m = 0; m < n; m++) {
        switch (function) {
        case 1:
            load[m] = m;
            break;
        case 2:
            load[m] = m < n / nranks ? nranks : 0;
            break;
        case 3:
            load[m] = (int64_t)wave(m, 40);
            break;
        case 4:
            load[m] = (int64_t)(wave(m, 40) + spike(m));
            break;
        default:
            load[m] = (int64_t)wave(m, 30);
        }
    }
    return EQP_OK;
}

/* Iterations per stored prefix sum: a boundary adds up at most this many loads, and the sums need little memory
 * compared with the loads. */
enum { BLOCK = 64 };

typedef struct simulation {
    int nranks;
    const int64_t *each;   /* [n] load of each iteration */
    int64_t *prefix;       /* [n / BLOCK + 1] load before each block */
    int64_t total;         /* load of all iterations */
    int64_t *bound, *next; /* [nranks + 1] */
    int64_t *best;         /* [nranks + 1] bounds with the smallest load difference */
    int64_t *load;         /* [nranks] */
    int64_t max;           /* largest load of a rank */
    eqp_feedback_run result;
} simulation;

static int sum_up(simulation *s, int64_t n)
{
    int64_t sum = 0;

    for (int64_t m = 0; m < n; m++) {
        if (m % BLOCK == 0) {
            s->prefix[m / BLOCK] = sum;
        }
        EQP__FAIL_IF(s->each[m] < 0, EQP_ERR_ARGUMENT);
        EQP__FAIL_IF(s->each[m] > INT64_MAX - sum, EQP_ERR_OVERFLOW);
        sum += s->each[m];
    }
    if (n % BLOCK == 0) {
        s->prefix[n / BLOCK] = sum;
    }
    s->total = sum;
    return EQP_OK;
}

/* Load before iteration m. */
static int64_t sum_before(const simulation *s, int64_t m)
{
    int64_t sum = s->prefix[m / BLOCK];

    for (int64_t i = m - m % BLOCK; i < m; i++) {
        sum += s->each[i];
    }
    return sum;
}

static void close_simulation(simulation *s)
{
    EQP__FREE(s->prefix, s->bound, s->next, s->best, s->load);
}

/* The caller closes the simulation, also after an error. */
static int open_simulation(simulation *s, int64_t n, const int64_t *load, int nranks)
{
    const int64_t bounds = (int64_t)nranks + 1;

    *s = (simulation){.nranks = nranks, .each = load};
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(s->prefix, n / BLOCK + 1), EQP__ARRAY(s->bound, bounds),
                           EQP__ARRAY(s->next, bounds), EQP__ARRAY(s->best, bounds), EQP__ARRAY(s->load, nranks)));
    EQP__CHECK(sum_up(s, n));
    eqp__feedback_start(n, nranks, s->bound);
    return EQP_OK;
}

static void measure(simulation *s)
{
    int64_t before = sum_before(s, s->bound[0]);

    s->max = 0;
    for (int r = 0; r < s->nranks; r++) {
        const int64_t after = sum_before(s, s->bound[r + 1]);
        s->load[r] = after - before;
        s->max = s->load[r] > s->max ? s->load[r] : s->max;
        before = after;
    }
}

/* Counts the iterations that stay on their rank, the overlaps of old and new ranges. */
static int64_t count_staying(const simulation *s)
{
    int64_t staying = 0;

    for (int r = 0; r < s->nranks; r++) {
        int64_t low = s->bound[r] > s->next[r] ? s->bound[r] : s->next[r];
        int64_t high = s->bound[r + 1] < s->next[r + 1] ? s->bound[r + 1] : s->next[r + 1];
        staying += high > low ? high - low : 0;
    }
    return staying;
}

static void take_step(simulation *s)
{
    int64_t *const former = s->bound;

    eqp__feedback_step(s->nranks, s->bound, s->load, s->next);
    s->result.moved += s->bound[s->nranks] - s->bound[0] - count_staying(s);
    s->bound = s->next;
    s->next = former;
    s->result.steps++;
}

static void run(simulation *s, eqp_feedback_state *state, double *difference)
{
    const double unit = s->total > 0 ? (double)s->total : 1;

    for (;; take_step(s)) {
        measure(s);
        s->result.verdict = eqp__feedback_check(state, s->nranks, s->max, s->total);
        if (state->best_step == s->result.steps) {
            memcpy(s->best, s->bound, ((size_t)s->nranks + 1) * sizeof *s->best);
        }
        if (difference) {
            difference[s->result.steps] = state->value / unit;
        }
        if (s->result.verdict != EQP_FEEDBACK_GO_ON) {
            break;
        }
    }
    s->result.best_step = state->best_step;
    s->result.load_difference = state->best / unit;
    s->result.load_difference_last = state->value / unit;
}

int eqp_feedback_simulate(int64_t n, const int64_t *load, int nranks, const eqp_feedback_options *options,
                          int64_t *bound, double *difference, eqp_feedback_run *result)
{
    EQP_REQUIRE(n >= 0 && n < INT64_MAX && nranks >= 1 && (n == 0 || load) && result);
    simulation s;
    eqp_feedback_state state;
    int code;

    EQP__CHECK(eqp__feedback_init(&state, options));
    EQP_TRY(open_simulation(&s, n, load, nranks));
    run(&s, &state, difference);
    *result = s.result;
    if (bound) {
        memcpy(bound, options->rule == EQP_FEEDBACK_GUARDED ? s.best : s.bound, ((size_t)nranks + 1) * sizeof *bound);
    }
done:
    close_simulation(&s);
    return code;
}
