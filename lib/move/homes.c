/* SPDX-License-Identifier: BSD-3-Clause */
/* Homes of blocks, by what they make parts send. */
#include "traffic.h"

#include <equipoise/base.h>

#include <stdlib.h>
#include <string.h>

typedef struct problem {
    eqp_phase phase; /* as given; its homes are not looked at once `given` is set */
    const int64_t *fixed;
    const int *owner, *given;
    int nparts;
    const eqp_network *network;
    double message; /* seconds of a message for one block that a part needs: most travel with others */
    double *sent;   /* [nparts] seconds so far */
} problem;

typedef struct placed {
    int64_t weight, block;
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
        const int64_t users = users_of(p, b);
        const int64_t weight[ORDERS] = {0, users, -users, users * p->phase.bytes[b]};
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
    int64_t *bytes, *first;
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
        returns_free(r);
        return code;
    }
    return EQP_OK;
}

static int add_returns(const problem *p, const int *home, const eqp__plan_family *direct, const eqp_traffic *traffic)
{
    returns r = {0};
    int64_t n = 0;
    int code = returns_create(p->phase.nblocks, &r);

    if (code) {
        return code;
    }
    for (int64_t b = 0; b < p->phase.nblocks; b++) {
        if (p->fixed[b] > 0 && home[b] != owner_of(p, b)) {
            r.bytes[n] = p->fixed[b];
            r.home[n] = home[b];
            r.part[n] = owner_of(p, b);
            n++;
            r.first[n] = n;
        }
    }
    const eqp_phase phase = {1, n, r.bytes, r.home, r.first, r.part};
    code = eqp__traffic_count(&phase, p->nparts, direct, p->network, traffic);
    returns_free(&r);
    return code;
}

/* The largest time of a part, by direct messages; and how many messages there are. */
static int evaluate(const problem *p, const int *home, double *largest, int64_t *messages)
{
    const eqp__plan_family direct = {EQP_STAGES_DIRECT, 1, 1, {0}};
    eqp_phase phase = p->phase;
    eqp_traffic traffic = {0};
    int code;

    phase.home = home;
    if ((code = eqp_array_create(&traffic.seconds, p->nparts, sizeof *traffic.seconds)) ||
        (code = eqp_array_create(&traffic.messages_sent, p->nparts, sizeof *traffic.messages_sent)) ||
        (code = eqp__traffic_count(&phase, p->nparts, &direct, p->network, &traffic)) ||
        (p->fixed && (code = add_returns(p, home, &direct, &traffic)))) {
        goto done;
    }
    *largest = 0;
    *messages = 0;
    for (int part = 0; part < p->nparts; part++) {
        *largest = traffic.seconds[part] > *largest ? traffic.seconds[part] : *largest;
        *messages += traffic.messages_sent[part];
    }
done:
    free(traffic.seconds);
    free(traffic.messages_sent);
    return code;
}

static int check(const problem *p)
{
    const eqp_network *network = p->network;
    const int code = eqp__phase_check(&p->phase, p->nparts);

    if (code || !network || !(network->alpha >= 0) || !(network->beta >= 0)) {
        return EQP_ERR_ARGUMENT;
    }
    for (int64_t b = 0; b < p->phase.nblocks; b++) {
        if ((p->fixed && p->fixed[b] < 0) || (p->owner && (p->owner[b] < 0 || p->owner[b] >= p->nparts))) {
            return EQP_ERR_ARGUMENT;
        }
    }
    return EQP_OK;
}

/* Sets what the messages of the homes given cost for each part that needs a block; returns what a part sends on
 * average. */
static double set_message_cost(problem *p, int64_t messages)
{
    double needs = 0, total = 0;

    for (int64_t b = 0; b < p->phase.nblocks; b++) {
        needs += (double)users_of(p, b);
    }
    p->message = needs > 0 ? p->network->alpha * (double)messages / needs : 0;
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
    int64_t messages;
    int code = evaluate(p, p->given, &least, &messages);

    if (code) {
        return code;
    }
    mean = set_message_cost(p, messages);
    for (int k = 0; k < 2 * ORDERS; k++) {
        if (k % 2 == 0) {
            sort_blocks(p, (order)(k / 2), list);
        }
        deal(p, list, k % 2 ? mean : -1, trial);
        if ((code = evaluate(p, trial, &seconds, &messages))) {
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
