/* SPDX-License-Identifier: BSD-3-Clause */
/* The results of an evaluation by each plan. */
#include "evaluation.h"
#include "network.h"
#include "traffic.h"

#include <math.h>

static void traffic_free(eqp_traffic *t)
{
    EQP__FREE(t->messages_sent, t->messages_received, t->bytes_sent, t->bytes_received, t->seconds);
}

static int traffic_create(int nparts, eqp_traffic *t)
{
    return EQP__ARRAYS(EQP__ARRAY(t->messages_sent, nparts), EQP__ARRAY(t->messages_received, nparts),
                       EQP__ARRAY(t->bytes_sent, nparts), EQP__ARRAY(t->bytes_received, nparts),
                       EQP__ARRAY(t->seconds, nparts));
}

/* Seconds of collective calls and of messages that announce messages. */
static double meeting_seconds(const eqp_evaluation *e, const eqp_network *network, const eqp_traffic *t, int p)
{
    const eqp_overhead *o = &e->overhead;
    const double others = (double)o->gathered * (e->nparts - 1);
    double seconds =
        network->alpha * (double)o->handshakes * (double)eqp__larger(t->messages_sent[p], t->messages_received[p]);

    seconds += o->calls * eqp__network_reduction(network, e->nparts);
    if (o->gathers > 0) {
        seconds += eqp__network_gathering(network, e->nparts, others) +
                   (o->gathers - 1) * eqp__network_gathering(network, e->nparts, 0);
    }
    return seconds;
}

static double overhead_of(const eqp_evaluation *e, const eqp_traffic *t, int p)
{
    const eqp_overhead *o = &e->overhead;

    return o->held * (double)e->held[p] + o->ghost * (double)e->ghosts[p] + o->byte * (double)t->bytes_sent[p] +
           o->part;
}

/* Bytes that a part needs. Message buffers and memory for making a map are never needed at the same time. */
static double memory_of(const eqp_evaluation *e, const eqp_traffic *t, int p)
{
    const eqp_memory *m = &e->memory;
    const double messages = m->byte * ((double)t->bytes_sent[p] + (double)t->bytes_received[p]);

    return m->fixed + m->held * (double)e->held[p] + m->ghost * (double)e->ghosts[p] +
           (e->own ? fmax(messages, e->own[p]) : messages);
}

static void summarise_memory(const eqp_evaluation *e, const eqp_traffic *t, eqp_evaluated *r)
{
    for (int p = 0; p < e->nparts; p++) {
        const double need = memory_of(e, t, p);
        r->memory_max = fmax(r->memory_max, need);
        r->memory_mean += need / e->nparts;
        r->memory_use = e->capacity ? fmax(r->memory_use, need / e->capacity[p]) : 0;
    }
    if (e->of_mean > 0 && r->memory_mean > 0) {
        r->memory_use = r->memory_max / (e->of_mean * r->memory_mean);
    }
}

typedef struct besides {
    double *overhead; /* [parts] of work that does not follow the map */
    double *hidden;   /* [levels][parts] message time hidden behind loads */
    double *before;   /* [parts] scratch */
} besides;

static double at_speed(const eqp_evaluation *e, int p, double seconds)
{
    return e->speed ? seconds / e->speed[p] : seconds;
}

/* Adds the overhead of a step to t->seconds and subtracts hidden time. */
static void add_overhead(const eqp_evaluation *e, const eqp_network *network, const eqp_traffic *t, double *overhead,
                         const double *hidden)
{
    for (int p = 0; p < e->nparts; p++) {
        overhead[p] = at_speed(e, p, overhead_of(e, t, p));
        t->seconds[p] += meeting_seconds(e, network, t, p) + overhead[p] - hidden[p];
    }
}

/* overhead, hidden: [parts] of t->seconds. */
static int summarise(const eqp_evaluation *e, const eqp_exchange_plan *plan, const eqp_traffic *t,
                     const double *overhead, const double *hidden, eqp_evaluated *result)
{
    eqp_evaluated r = {.plan = *plan,
                       .ghosts_total = e->ghosts_total,
                       .ghosts_max = e->ghosts_max,
                       .neighbours_max = e->neighbours_max,
                       .step_seconds = -1};
    double held = 0;

    for (int p = 0; p < e->nparts; p++) {
        const double load = at_speed(e, p, e->load[p]), step = load + t->seconds[p];
        r.load_mean += e->load[p] / e->nparts;
        held += e->overhead.held * (double)e->held[p] / e->nparts;
        r.load_max = load > r.load_max ? load : r.load_max;
        r.messages_max = eqp__larger(r.messages_max, eqp__larger(t->messages_sent[p], t->messages_received[p]));
        r.bytes_max = eqp__larger(r.bytes_max, eqp__larger(t->bytes_sent[p], t->bytes_received[p]));
        if (t->bytes_sent[p] > INT64_MAX - r.bytes_total) { /* a broadcast counts once per part */
            return EQP_ERR_OVERFLOW;
        }
        r.bytes_total += t->bytes_sent[p];
        if (step > r.step_seconds) {
            r.step_seconds = step;
            r.overhead_seconds = overhead[p];
            r.hidden_seconds = hidden[p];
            r.exchange_seconds = t->seconds[p] - overhead[p] + hidden[p];
        }
    }
    summarise_memory(e, t, &r);
    r.step_seconds_ideal = r.load_mean + held;
    /* a rounded mean may exceed loads that are all equal */
    r.imbalance = r.load_max > r.load_mean ? r.load_max / r.load_mean - 1 : 0;
    *result = r;
    return EQP_OK;
}

static void add_traffic(const eqp_evaluation *e, const eqp_traffic *from, const eqp_traffic *to)
{
    for (int p = 0; p < e->nparts; p++) {
        eqp__add_if(to->messages_sent, p, from->messages_sent[p]);
        eqp__add_if(to->messages_received, p, from->messages_received[p]);
        eqp__add_if(to->bytes_sent, p, from->bytes_sent[p]);
        eqp__add_if(to->bytes_received, p, from->bytes_received[p]);
        if (to->seconds) {
            to->seconds[p] += from->seconds[p];
        }
        if (to->memory) {
            to->memory[p] += memory_of(e, from, p);
        }
    }
}

/* Counts a phase, and the part of its seconds that is hidden behind work. */
static int count_phase(const eqp_evaluation *e, const eqp__evaluated_phase *counted, const eqp_network *network,
                       const eqp__plan_family *family, const eqp_traffic *sum, const besides *b)
{
    const eqp__ordered *o = &counted->ordered;
    const eqp_phase phase = {counted->back, o->n, o->bytes, o->home, o->first, o->part};
    const size_t bytes = (size_t)e->nparts * sizeof *b->before;

    for (int level = 0; level < family->nlevels; level++) {
        memcpy(b->before + (int64_t)level * e->nparts, sum[level].seconds, bytes);
    }
    EQP__CHECK(eqp__traffic_count(&phase, e->nparts, family, network, sum));
    for (int level = 0; level < family->nlevels; level++) {
        for (int p = 0; p < e->nparts; p++) {
            const int64_t at = (int64_t)level * e->nparts + p;
            b->hidden[at] += fmin(sum[level].seconds[p] - b->before[at], at_speed(e, p, counted->meanwhile[p]));
        }
    }
    return EQP_OK;
}

/* Counts all phases and common data for a family of plans: result[level], and the traffic of the first. */
static int evaluate(const eqp_evaluation *e, const eqp_network *network, const eqp__plan_family *family,
                    const eqp_traffic *traffic, eqp_evaluated *result)
{
    eqp_traffic sum[EQP__LEVELS_MAX] = {{0}};
    const int64_t slab = (int64_t)e->nparts * family->nlevels;
    besides b = {0};
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(b.overhead, e->nparts), EQP__ARRAY(b.hidden, slab), EQP__ARRAY(b.before, slab)));
    for (int level = 0; level < family->nlevels; level++) {
        EQP_TRY(traffic_create(e->nparts, &sum[level]));
        EQP_TRY(eqp__exchange_count_all(e->common, e->nparts, network, &sum[level]));
    }
    for (int k = 0; k < e->nphases; k++) {
        EQP_TRY(count_phase(e, &e->phase[k], network, family, sum, &b));
    }
    for (int level = 0; level < family->nlevels; level++) {
        const eqp_exchange_plan plan = {family->stages, family->broadcast[level], family->node};
        const double *hidden = b.hidden + (int64_t)level * e->nparts;
        add_overhead(e, network, &sum[level], b.overhead, hidden);
        EQP_TRY(summarise(e, &plan, &sum[level], b.overhead, hidden, &result[level]));
    }
    if (traffic) {
        add_traffic(e, &sum[0], traffic);
    }
done:
    EQP__FREE(b.overhead, b.hidden, b.before);
    for (int level = 0; level < EQP__LEVELS_MAX; level++) {
        traffic_free(&sum[level]);
    }
    return code;
}

int eqp__evaluation_by_plan(eqp_evaluation *e, const eqp_network *network, const eqp_exchange_plan *plan,
                            const eqp_traffic *traffic, eqp_evaluated *result)
{
    eqp__stages stages;

    EQP__FAIL_IF(!e || !network || !eqp__network_valid(network) || !result ||
                     eqp__stages_make(plan, e->nparts, &stages),
                 EQP_ERR_ARGUMENT);
    const eqp__plan_family family = {plan->stages, plan->node, 1, {plan->broadcast}};
    EQP__CHECK(eqp__evaluation_order(e));
    EQP__CHECK(traffic ? eqp__traffic_check(traffic, e->nparts) : EQP_OK);
    return evaluate(e, network, &family, traffic, result);
}

/* Evaluates nplans plans; plans that differ only in the broadcast level are counted together. */
static int evaluate_each(eqp_evaluation *e, const eqp_network *network, int nplans, const eqp_exchange_plan *plan,
                         eqp_evaluated *found)
{
    EQP__CHECK(eqp__evaluation_order(e));
    for (int i = 0; i < nplans; i++) {
        int index[EQP__LEVELS_MAX];
        eqp_evaluated level[EQP__LEVELS_MAX];
        if (plan[i].broadcast > 0) {
            continue;
        }
        const eqp__plan_family family = eqp__plan_family_of(nplans, plan, i, index);
        EQP__CHECK(evaluate(e, network, &family, NULL, level));
        for (int k = 0; k < family.nlevels; k++) {
            found[index[k]] = level[k];
        }
    }
    return EQP_OK;
}

/* n times a count, saturating. */
static int64_t times_count(double n, int64_t count)
{
    return n == 1.0 ? count : (int64_t)fmin(rint(n * (double)count), 0x1p62);
}

/* Adds the turns of a phase, `times` per cycle. */
static int add_turns(double times, const eqp_evaluated *turn, eqp_evaluated *sum)
{
    const int64_t ghosts = times_count(times, turn->ghosts_total), bytes = times_count(times, turn->bytes_total);

    EQP__FAIL_IF(ghosts > INT64_MAX - sum->ghosts_total || bytes > INT64_MAX - sum->bytes_total, EQP_ERR_OVERFLOW);
    sum->plan = turn->plan;
    sum->ghosts_total += ghosts;
    sum->bytes_total += bytes;
    sum->ghosts_max = eqp__larger(sum->ghosts_max, turn->ghosts_max);
    sum->neighbours_max = (int)eqp__larger(sum->neighbours_max, turn->neighbours_max);
    sum->messages_max = eqp__larger(sum->messages_max, turn->messages_max);
    sum->bytes_max = eqp__larger(sum->bytes_max, turn->bytes_max);
    sum->memory_max = fmax(sum->memory_max, turn->memory_max);
    sum->memory_mean = fmax(sum->memory_mean, turn->memory_mean);
    sum->memory_use = fmax(sum->memory_use, turn->memory_use);
    sum->load_max += times * turn->load_max;
    sum->load_mean += times * turn->load_mean;
    sum->step_seconds += times * turn->step_seconds;
    sum->step_seconds_ideal += times * turn->step_seconds_ideal;
    sum->exchange_seconds += times * turn->exchange_seconds;
    sum->hidden_seconds += times * turn->hidden_seconds;
    sum->overhead_seconds += times * turn->overhead_seconds;
    return EQP_OK;
}

static int add_up_cycle(int nphases, const double *times, const eqp_evaluated *turn, eqp_evaluated *result)
{
    eqp_evaluated sum = {.load_max = 0.0};

    for (int k = 0; k < nphases; k++) {
        EQP__CHECK(add_turns(times[k], &turn[k], &sum));
    }
    EQP__FAIL_IF(!isfinite(sum.step_seconds) || !isfinite(sum.load_max), EQP_ERR_OVERFLOW);
    sum.imbalance = sum.load_max > sum.load_mean ? sum.load_max / sum.load_mean - 1.0 : 0.0;
    *result = sum;
    return EQP_OK;
}

static bool can_be_cycle(int nphases, const double *times, eqp_evaluation *const *evaluation)
{
    bool can_be = nphases >= 1 && times && evaluation && evaluation[0];

    for (int k = 0; can_be && k < nphases; k++) {
        can_be = evaluation[k] && evaluation[k]->nparts == evaluation[0]->nparts && times[k] > 0 && isfinite(times[k]);
    }
    return can_be;
}

/* The cheapest plan; the first, simplest one of equals. turn: [nplans][nphases]. */
static int find_cheapest(int nphases, const double *times, int nplans, const eqp_evaluated *turn, int *best)
{
    eqp_evaluated least = {.step_seconds = INFINITY}, cycle;

    *best = 0;
    for (int i = 0; i < nplans; i++) {
        EQP__CHECK(add_up_cycle(nphases, times, turn + (size_t)i * (size_t)nphases, &cycle));
        *best = cycle.step_seconds < least.step_seconds ? i : *best;
        least = cycle.step_seconds < least.step_seconds ? cycle : least;
    }
    return EQP_OK;
}

/* Evaluates a cycle by the plan with the best total. turn: [EQP_EXCHANGE_PLANS_MAX][nphases]. */
static int evaluate_cycle(int nphases, const double *times, eqp_evaluation *const *e, const eqp_network *network,
                          const eqp_exchange_plan *wanted, eqp_evaluated *turn, int *best)
{
    eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
    eqp_evaluated of_plan[EQP_EXCHANGE_PLANS_MAX];
    const int nplans = wanted ? 1 : eqp__exchange_plans(e[0]->nparts, network, plan);
    for (int k = 0; k < nphases; k++) {
        EQP__CHECK(wanted ? eqp__evaluation_by_plan(e[k], network, wanted, NULL, of_plan)
                          : evaluate_each(e[k], network, nplans, plan, of_plan));
        for (int i = 0; i < nplans; i++) {
            turn[i * nphases + k] = of_plan[i];
        }
    }
    return find_cheapest(nphases, times, nplans, turn, best);
}

int eqp_evaluation_cycle(int nphases, const double *times, eqp_evaluation *const *evaluation,
                         const eqp_network *network, const eqp_exchange_plan *plan, eqp_evaluated *turn,
                         eqp_evaluated *result)
{
    eqp_evaluated *room = NULL;
    int best, code;

    EQP__FAIL_IF(!can_be_cycle(nphases, times, evaluation) || !network || !eqp__network_valid(network) || !result,
                 EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&room, EQP_EXCHANGE_PLANS_MAX * (int64_t)nphases, sizeof *room));
    EQP_TRY(evaluate_cycle(nphases, times, evaluation, network, plan, room, &best));
    EQP_TRY(add_up_cycle(nphases, times, room + (size_t)best * (size_t)nphases, result));
    if (turn) {
        memcpy(turn, room + (size_t)best * (size_t)nphases, (size_t)nphases * sizeof *turn);
    }
done:
    free(room);
    return code;
}
