/* SPDX-License-Identifier: BSD-3-Clause */
/* What plans make of an evaluation. */
#include "evaluation.h"
#include "traffic.h"

#include <equipoise/base.h>

#include <stdlib.h>

static void traffic_free(eqp_traffic *t)
{
    free(t->messages_sent);
    free(t->messages_received);
    free(t->bytes_sent);
    free(t->bytes_received);
    free(t->seconds);
}

static int traffic_create(int nparts, eqp_traffic *t)
{
    int code;

    if ((code = eqp_array_create(&t->messages_sent, nparts, sizeof *t->messages_sent)) ||
        (code = eqp_array_create(&t->messages_received, nparts, sizeof *t->messages_received)) ||
        (code = eqp_array_create(&t->bytes_sent, nparts, sizeof *t->bytes_sent)) ||
        (code = eqp_array_create(&t->bytes_received, nparts, sizeof *t->bytes_received)) ||
        (code = eqp_array_create(&t->seconds, nparts, sizeof *t->seconds))) {
        return code; /* the caller frees what there is */
    }
    return EQP_OK;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Meetings of all parts, and messages about messages. */
static double meeting_seconds(const eqp_evaluation *e, const eqp_network *network, const eqp_traffic *t, int p)
{
    int levels = 0;

    while (levels < 16 && 1 << levels < e->nparts) {
        levels++;
    }
    return network->alpha *
           ((double)e->overhead.calls * levels +
            (double)e->overhead.handshakes * (double)larger(t->messages_sent[p], t->messages_received[p]));
}

static double overhead_of(const eqp_evaluation *e, const eqp_traffic *t, int p)
{
    const eqp_overhead *o = &e->overhead;
    const double seconds =
        o->held * (double)e->held[p] + o->ghost * (double)e->ghosts[p] + o->byte * (double)t->bytes_sent[p] + o->part;

    return e->speed ? seconds / e->speed[p] : seconds;
}

/* Adds what a step costs beside loads and phases to t->seconds; the overhead alone goes to `overhead` [parts]. */
static void add_overhead(const eqp_evaluation *e, const eqp_network *network, const eqp_traffic *t, double *overhead)
{
    for (int p = 0; p < e->nparts; p++) {
        overhead[p] = overhead_of(e, t, p);
        t->seconds[p] += meeting_seconds(e, network, t, p) + overhead[p];
    }
}

/* overhead: [parts] of t->seconds. */
static int summarise(const eqp_evaluation *e, const eqp_exchange_plan *plan, const eqp_traffic *t,
                     const double *overhead, eqp_evaluated *result)
{
    eqp_evaluated r = {.plan = *plan,
                       .ghosts_total = e->ghosts_total,
                       .ghosts_max = e->ghosts_max,
                       .neighbours_max = e->neighbours_max,
                       .step_seconds = -1};
    double held = 0;

    for (int p = 0; p < e->nparts; p++) {
        const double load = e->speed ? e->load[p] / e->speed[p] : e->load[p], step = load + t->seconds[p];
        r.load_mean += e->load[p] / e->nparts;
        held += e->overhead.held * (double)e->held[p] / e->nparts;
        r.load_max = load > r.load_max ? load : r.load_max;
        r.messages_max = larger(r.messages_max, larger(t->messages_sent[p], t->messages_received[p]));
        r.bytes_max = larger(r.bytes_max, larger(t->bytes_sent[p], t->bytes_received[p]));
        if (t->bytes_sent[p] > INT64_MAX - r.bytes_total) { /* a broadcast counts for every part */
            return EQP_ERR_OVERFLOW;
        }
        r.bytes_total += t->bytes_sent[p];
        if (step > r.step_seconds) {
            r.step_seconds = step;
            r.overhead_seconds = overhead[p];
            r.exchange_seconds = t->seconds[p] - overhead[p];
        }
    }
    r.step_seconds_ideal = r.load_mean + held;
    /* A mean that is rounded may lie above loads that are all alike. */
    r.imbalance = r.load_max > r.load_mean ? r.load_max / r.load_mean - 1 : 0;
    *result = r;
    return EQP_OK;
}

static void add_traffic(int nparts, const eqp_traffic *from, const eqp_traffic *to)
{
    for (int p = 0; p < nparts; p++) {
        if (to->messages_sent) {
            to->messages_sent[p] += from->messages_sent[p];
        }
        if (to->messages_received) {
            to->messages_received[p] += from->messages_received[p];
        }
        if (to->bytes_sent) {
            to->bytes_sent[p] += from->bytes_sent[p];
        }
        if (to->bytes_received) {
            to->bytes_received[p] += from->bytes_received[p];
        }
        if (to->seconds) {
            to->seconds[p] += from->seconds[p];
        }
    }
}

/* Counts all phases and what is common for a family of plans: result[level], and the traffic of the first. */
static int evaluate(const eqp_evaluation *e, const eqp_network *network, const eqp__plan_family *family,
                    const eqp_traffic *traffic, eqp_evaluated *result)
{
    eqp_traffic sum[EQP__LEVELS_MAX] = {{0}};
    double *overhead = NULL;
    int code = eqp_array_create(&overhead, e->nparts, sizeof *overhead);

    for (int level = 0; code == EQP_OK && level < family->nlevels; level++) {
        if ((code = traffic_create(e->nparts, &sum[level]))) {
            break;
        }
        code = eqp_exchange_count_all(e->common, e->nparts, network, &sum[level]);
    }
    for (int k = 0; code == EQP_OK && k < e->nphases; k++) {
        const eqp__ordered *o = &e->phase[k].ordered;
        const eqp_phase phase = {e->phase[k].back, o->n, o->bytes, o->home, o->first, o->part};
        code = eqp__traffic_count(&phase, e->nparts, family, network, sum);
    }
    for (int level = 0; code == EQP_OK && level < family->nlevels; level++) {
        const eqp_exchange_plan plan = {family->stages, family->broadcast[level], family->node};
        add_overhead(e, network, &sum[level], overhead);
        code = summarise(e, &plan, &sum[level], overhead, &result[level]);
    }
    if (code == EQP_OK && traffic) {
        add_traffic(e->nparts, &sum[0], traffic);
    }
    free(overhead);
    for (int level = 0; level < EQP__LEVELS_MAX; level++) {
        traffic_free(&sum[level]);
    }
    return code;
}

static int is_network(const eqp_network *network)
{
    return network && network->alpha >= 0 && network->beta >= 0 && network->node >= 1;
}

int eqp_evaluation_by_plan(eqp_evaluation *e, const eqp_network *network, const eqp_exchange_plan *plan,
                           const eqp_traffic *traffic, eqp_evaluated *result)
{
    eqp__stages stages;
    int code;

    if (!e || !is_network(network) || !result || eqp__stages_make(plan, e->nparts, &stages)) {
        return EQP_ERR_ARGUMENT;
    }
    const eqp__plan_family family = {plan->stages, plan->node, 1, {plan->broadcast}};
    if ((code = eqp__evaluation_order(e)) || (traffic && (code = eqp__traffic_check(traffic, e->nparts)))) {
        return code;
    }
    return evaluate(e, network, &family, traffic, result);
}

int eqp_evaluation_best(eqp_evaluation *e, const eqp_network *network, eqp_evaluated *result)
{
    eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
    eqp_evaluated found[EQP_EXCHANGE_PLANS_MAX];
    int nplans, best = 0, code;

    if (!e || !is_network(network) || !result) {
        return EQP_ERR_ARGUMENT;
    }
    if ((code = eqp__evaluation_order(e))) {
        return code;
    }
    nplans = eqp_exchange_plans(e->nparts, network, plan);
    for (int i = 0; i < nplans; i++) {
        int index[EQP__LEVELS_MAX];
        eqp_evaluated level[EQP__LEVELS_MAX];
        if (plan[i].broadcast > 0) {
            continue;
        }
        const eqp__plan_family family = eqp__plan_family_of(nplans, plan, i, index);
        if ((code = evaluate(e, network, &family, NULL, level))) {
            return code;
        }
        for (int k = 0; k < family.nlevels; k++) {
            found[index[k]] = level[k];
        }
    }
    /* Of plans that cost the same the simplest, which comes first. */
    for (int i = 1; i < nplans; i++) {
        best = found[i].step_seconds < found[best].step_seconds ? i : best;
    }
    *result = found[best];
    return EQP_OK;
}
