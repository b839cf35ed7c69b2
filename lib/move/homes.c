/* SPDX-License-Identifier: BSD-3-Clause */
/* Homes of blocks, by what they make parts send. Dealing is by seconds to send, which are quick to add up; what is kept
 * is what the cheapest plan makes of it. */
#include "network.h"
#include "traffic.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct problem {
    eqp_phase phase; /* as given */
    const int64_t *fixed;
    const int *owner, *given;
    int nparts;
    const eqp_network *network;
    double message; /* seconds of a message for one block that a part needs: most travel with others */
    double *sent;   /* [nparts] seconds so far */
} problem;

typedef struct placed {
    double weight;
    int64_t block;
} placed;

/* In which order blocks are dealt. */
typedef enum order { AS_THEY_COME, MOST_NEEDED, LEAST_NEEDED, HEAVIEST, ORDERS } order;

static int64_t users_of(const problem *p, int64_t b)
{
    return p->phase.first[b + 1] - p->phase.first[b];
}

static int owner_of(const problem *p, int64_t b)
{
    return p->owner ? p->owner[b] : p->given[b];
}

static int by_weight(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return (x->block > y->block) - (x->block < y->block);
}

static void sort_blocks(const problem *p, order by, placed *list)
{
    for (int64_t b = 0; b < p->phase.nblocks; b++) {
        const double users = (double)users_of(p, b);
        const double weight[ORDERS] = {0, users, -users, users * (double)p->phase.bytes[b]};
        list[b] = (placed){weight[by], b};
    }
    if (by != AS_THEY_COME) {
        qsort(list, (size_t)p->phase.nblocks, sizeof *list, by_weight);
    }
}

/* What the owner has to send if the block lives elsewhere. */
static double cost_of_return(const problem *p, int64_t b)
{
    return p->fixed && p->fixed[b] > 0 ? p->message + p->network->beta * (double)p->fixed[b] : 0;
}

static double cost_of_sending(const problem *p, int64_t b, int64_t receivers)
{
    return (double)receivers * (p->message + p->network->beta * (double)p->phase.bytes[b]);
}

/* The user with the least to send so far, the owner's return included. */
static int least_loaded(const problem *p, int64_t b)
{
    const int owner = owner_of(p, b);
    const double back = cost_of_return(p, b);
    int best = p->given[b];
    double least = -1;

    for (int64_t i = p->phase.first[b]; i < p->phase.first[b + 1]; i++) {
        const int user = p->phase.part[i];
        const double sent = p->sent[user] + (user != owner ? back : 0);
        if (least < 0 || sent < least || (!(sent > least) && user == p->given[b])) {
            least = sent;
            best = user;
        }
    }
    return best;
}

/* Deals the blocks. A block stays where it is while its home has less than `keep` seconds to send. */
static void deal(problem *p, const placed *list, double keep, int *home)
{
    memset(p->sent, 0, (size_t)p->nparts * sizeof *p->sent);
    for (int64_t k = 0; k < p->phase.nblocks; k++) {
        const int64_t b = list[k].block, users = users_of(p, b);
        const double cost = cost_of_sending(p, b, users - 1);
        if (users == 0) {
            home[b] = p->given[b];
            continue;
        }
        home[b] = p->sent[p->given[b]] + cost > keep ? least_loaded(p, b) : p->given[b];
        p->sent[home[b]] += cost;
        if (owner_of(p, b) != home[b]) {
            p->sent[owner_of(p, b)] += cost_of_return(p, b);
        }
    }
}

/* What owners send back to other homes, as a phase of its own. */
typedef struct returns {
    int64_t n, *bytes, *first;
    int *home, *part;
} returns;

static void returns_free(returns *r)
{
    free(r->bytes);
    free(r->first);
    free(r->home);
    free(r->part);
}

static int returns_create(int64_t nblocks, returns *r)
{
    int code;

    if ((code = eqp_array_create(&r->bytes, nblocks, sizeof *r->bytes)) ||
        (code = eqp_array_create(&r->first, nblocks + 1, sizeof *r->first)) ||
        (code = eqp_array_create(&r->home, nblocks, sizeof *r->home)) ||
        (code = eqp_array_create(&r->part, nblocks, sizeof *r->part))) {
        return code; /* the caller frees what there is */
    }
    return EQP_OK;
}

static void list_returns(const problem *p, const int *home, returns *r)
{
    int64_t n = 0;

    for (int64_t b = 0; p->fixed && b < p->phase.nblocks; b++) {
        if (p->fixed[b] > 0 && home[b] != owner_of(p, b)) {
            r->bytes[n] = p->fixed[b];
            r->home[n] = home[b];
            r->part[n] = owner_of(p, b);
            n++;
            r->first[n] = n;
        }
    }
    r->n = n;
}

/* The largest time of a part for each plan of a family; the least of them if it is less than *least. */
static int try_family(const problem *p, const int *home, const returns *r, const eqp__plan_family *family,
                      double *seconds, double *least)
{
    const eqp_phase back = {1, r->n, r->bytes, r->home, r->first, r->part};
    eqp_phase out = p->phase;
    eqp_traffic traffic[EQP__LEVELS_MAX] = {{0}};
    int code;

    out.home = home;
    memset(seconds, 0, (size_t)family->nlevels * (size_t)p->nparts * sizeof *seconds);
    for (int level = 0; level < family->nlevels; level++) {
        traffic[level].seconds = seconds + (size_t)level * (size_t)p->nparts;
    }
    if ((code = eqp__traffic_count(&out, p->nparts, family, p->network, traffic)) ||
        (r->n > 0 && (code = eqp__traffic_count(&back, p->nparts, family, p->network, traffic)))) {
        return code;
    }
    for (int level = 0; level < family->nlevels; level++) {
        double largest = 0;
        for (int part = 0; part < p->nparts; part++) {
            largest = fmax(largest, traffic[level].seconds[part]);
        }
        *least = *least < 0 ? largest : fmin(*least, largest);
    }
    return EQP_OK;
}

/* The largest time of a part by the cheapest plan. */
static int evaluate(const problem *p, const int *home, double *least)
{
    eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
    const int nplans = eqp_exchange_plans(p->nparts, p->network, plan);
    double *seconds = NULL, found = -1;
    returns r = {0};
    int code = returns_create(p->fixed ? p->phase.nblocks : 0, &r);

    if (code || (code = eqp_array_create(&seconds, (int64_t)EQP__LEVELS_MAX * p->nparts, sizeof *seconds))) {
        goto done;
    }
    list_returns(p, home, &r);
    for (int i = 0; i < nplans; i++) {
        int index[EQP__LEVELS_MAX];
        if (plan[i].broadcast > 0) {
            continue;
        }
        const eqp__plan_family family = eqp__plan_family_of(nplans, plan, i, index);
        if ((code = try_family(p, home, &r, &family, seconds, &found))) {
            goto done;
        }
    }
    *least = found;
done:
    returns_free(&r);
    free(seconds);
    return code;
}

static int check(const problem *p)
{
    const eqp_network *network = p->network;
    const int code = eqp__phase_check(&p->phase, p->nparts);
    int64_t sum = 0;

    if (code || !network || !eqp__network_valid(network)) {
        return code ? code : EQP_ERR_ARGUMENT;
    }
    for (int64_t b = 0; b < p->phase.nblocks; b++) {
        if ((p->fixed && p->fixed[b] < 0) || (p->owner && (p->owner[b] < 0 || p->owner[b] >= p->nparts))) {
            return EQP_ERR_ARGUMENT;
        }
        if (p->fixed && eqp__traffic_add(&sum, p->fixed[b], 1)) {
            return EQP_ERR_OVERFLOW;
        }
    }
    return EQP_OK;
}

/* Sets what a message costs for each part that needs a block: as many as travel together from the homes given,
 * directly. */
static int set_message_cost(problem *p)
{
    const eqp__plan_family direct = {EQP_STAGES_DIRECT, 1, 1, {0}};
    eqp_traffic traffic = {0};
    double needs = 0, messages = 0;
    int code;

    if ((code = eqp_array_create(&traffic.messages_sent, p->nparts, sizeof *traffic.messages_sent)) ||
        (code = eqp__traffic_count(&p->phase, p->nparts, &direct, p->network, &traffic))) {
        goto done;
    }
    for (int part = 0; part < p->nparts; part++) {
        messages += (double)traffic.messages_sent[part];
    }
    for (int64_t b = 0; b < p->phase.nblocks; b++) {
        needs += (double)users_of(p, b);
    }
    p->message = needs > 0 ? p->network->alpha * messages / needs : 0;
done:
    free(traffic.messages_sent);
    return code;
}

/* What a part has to send on average if all blocks live with users. */
static double mean_to_send(const problem *p)
{
    double total = 0;

    for (int64_t b = 0; b < p->phase.nblocks; b++) {
        total += users_of(p, b) > 0 ? cost_of_sending(p, b, users_of(p, b) - 1) : 0;
    }
    return total / p->nparts;
}

/* Tries all orders, each without and with a liking for the homes given; *best is the best, *found whether it is better
 * than those. */
static int try_orders(problem *p, placed *list, int *trial, int *best, int *found)
{
    double least, seconds, mean;
    int code;

    if ((code = evaluate(p, p->given, &least)) || (code = set_message_cost(p))) {
        return code;
    }
    mean = mean_to_send(p);
    for (int k = 0; k < 2 * ORDERS; k++) {
        if (k % 2 == 0) {
            sort_blocks(p, (order)(k / 2), list);
        }
        deal(p, list, k % 2 ? mean : -1, trial);
        if ((code = evaluate(p, trial, &seconds))) {
            return code;
        }
        if (seconds < least) {
            least = seconds;
            *found = 1;
            memcpy(best, trial, (size_t)p->phase.nblocks * sizeof *best);
        }
    }
    return EQP_OK;
}

int eqp_homes_choose(int64_t nblocks, const int64_t *bytes, const int64_t *first, const int *part, const int64_t *fixed,
                     const int *owner, int nparts, const eqp_network *network, int *home)
{
    problem p = {.phase = {0, nblocks, bytes, home, first, part},
                 .fixed = fixed,
                 .owner = owner,
                 .given = home,
                 .nparts = nparts,
                 .network = network};
    placed *list = NULL;
    int *trial = NULL, *best = NULL, found = 0;
    int code = check(&p);

    if (code || nblocks == 0) {
        return code;
    }
    if ((code = eqp_array_create(&list, nblocks, sizeof *list)) ||
        (code = eqp_array_create(&trial, nblocks, sizeof *trial)) ||
        (code = eqp_array_create(&best, nblocks, sizeof *best)) ||
        (code = eqp_array_create(&p.sent, nparts, sizeof *p.sent)) ||
        (code = try_orders(&p, list, trial, best, &found))) {
        goto done;
    }
    if (found) {
        memcpy(home, best, (size_t)nblocks * sizeof *home);
    }
done:
    free(list);
    free(trial);
    free(best);
    free(p.sent);
    return code;
}
