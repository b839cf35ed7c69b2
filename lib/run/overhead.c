/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/overhead.h"

#include "base/internal.h"

#include <math.h>

enum { HELD, GHOST, BYTE, PART, KINDS };

/* Nominal costs for problems without any: those of barneshut; only their ratios matter. */
static const double expected[KINDS] = {2e-7, 1e-7, 1e-9, 5e-4};

/* Weight of a sample after one more step, and weight of the nominal ratios, as for costs of work. */
#define FADING 0.9
#define LEAN 0.01

/* Weight of the assumption of no scatter, in steps, and the largest scatter a single step may count for. */
#define CALM_STEPS 0.5
#define MOST_SCATTER 0.5

/* Counts are exact in a double below this. */
#define MOST 0x1p53

int eqp__overheads_init(eqp_overheads *o, const eqp_overhead *nominal)
{
    eqp_overheads made = {.nominal = nominal != NULL ? *nominal : (eqp_overhead){.held = 0.0}};
    const double given[KINDS] = {made.nominal.held, made.nominal.ghost, made.nominal.byte, made.nominal.part};
    bool can_be = made.nominal.calls >= 0 && made.nominal.gathers >= 0 && made.nominal.gathered >= 0 &&
                  made.nominal.handshakes >= 0,
         all = true;

    for (int k = 0; k < KINDS; k++) {
        can_be = can_be && given[k] >= 0 && isfinite(given[k]);
        all = all && given[k] > 0;
    }
    EQP__CHECK(can_be ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP__CHECK(eqp__costs_init(&made.costs, KINDS, all ? given : expected));
    *o = made;
    return EQP_OK;
}

eqp_overhead eqp__overheads_now(const eqp_overheads *o)
{
    eqp_overhead now = o->nominal;

    if (o->costs.known) {
        const double *cost = o->costs.fit.cost;
        now.held = cost[HELD];
        now.ghost = cost[GHOST];
        now.byte = cost[BYTE];
        now.part = cost[PART];
    }
    return now;
}

static int64_t count_of(double x)
{
    return x >= MOST ? (int64_t)MOST : x > 0 ? (int64_t)x : 0; /* rows come from the caller and may hold any double */
}

/* Particles and ghosts are counted once per evaluation; a row's bytes are those of all evaluations. */
static void count(const eqp_rank_row *row, int64_t evaluations, int64_t n[KINDS])
{
    n[HELD] = count_of(row->particles * (double)evaluations);
    n[GHOST] = count_of(row->ghosts * (double)evaluations);
    n[BYTE] = count_of(row->bytes_sent);
    n[PART] = evaluations;
}

double eqp__overheads_predict(const eqp_overheads *o, const eqp_rank_row *row, int64_t evaluations)
{
    const eqp_overhead now = eqp__overheads_now(o);
    int64_t n[KINDS];

    count(row, evaluations, n);
    return now.held * (double)n[HELD] + now.ghost * (double)n[GHOST] + now.byte * (double)n[BYTE] +
           now.part * (double)n[PART];
}

int eqp__overheads_learn(eqp_overheads *o, int nranks, const eqp_rank_row *rows, int64_t evaluations)
{
    eqp_cost_fit fit;
    int64_t n[KINDS];
    int code = EQP_OK;

    if (o->costs.fixed) {
        return EQP_OK;
    }
    for (int i = 0; i < EQP_COST_SUMS; i++) {
        o->costs.samples.sum[i] *= FADING;
    }
    for (int r = 0; r < nranks && code == EQP_OK; r++) {
        const double overhead = rows[r].busy_seconds - rows[r].load;
        if (rows[r].busy_seconds > 0 && overhead > 0) {
            count(&rows[r], evaluations, n);
            code = eqp__cost_sums_add(&o->costs.samples, n, overhead);
        }
    }
    code = code == EQP_OK ? eqp__cost_fit_near(&o->costs.samples, o->costs.nominal, LEAN, &fit) : code;
    if (code != EQP_OK) {
        return code == EQP_ERR_STATE ? EQP_OK : code; /* no sample yet */
    }
    if (fit.samples >= KINDS) {
        for (int k = 0; k < KINDS; k++) {
            fit.cost[k] = fit.seen[k] ? fit.cost[k] : fit.factor * o->costs.nominal[k];
        }
        o->costs.fit = fit;
        o->costs.known = true;
    }
    return EQP_OK;
}

double eqp__overheads_factor(const eqp_overheads *o)
{
    return exp(o->scatter / (o->steps + CALM_STEPS));
}

void eqp__overheads_scatter(eqp_overheads *o, double measured, double foretold)
{
    const double ratio = measured > 0 && foretold > 0 ? log(measured / foretold) : NAN;

    if (isfinite(ratio)) {
        o->scatter = FADING * o->scatter + fmin(fmax(ratio, -MOST_SCATTER), MOST_SCATTER);
        o->steps = FADING * o->steps + 1;
    }
}
