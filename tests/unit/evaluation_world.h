/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges simulated message by message: parts hold copies of blocks with their destinations and forward them stage
 * by stage. And random assignments, reported to an evaluation in pieces and in any order. Small worlds only. */
#ifndef EQP_EVALUATION_WORLD_H
#define EQP_EVALUATION_WORLD_H

#include "move/evaluation.h"
#include "unit.h"
#include <equipoise/more/random.h>
#include <equipoise/more/whatif.h>

enum { WORLD_PARTS = 40, WORLD_BLOCKS = 30, WORLD_STAGES = 17 };

typedef struct world {
    int nparts, nblocks;
    int64_t bytes[WORLD_BLOCKS], first[WORLD_BLOCKS + 1];
    int home[WORLD_BLOCKS], part[WORLD_BLOCKS * WORLD_PARTS];
    int needs[WORLD_BLOCKS][WORLD_PARTS];
} world;

typedef struct world_traffic {
    int64_t messages_sent[WORLD_PARTS], messages_received[WORLD_PARTS], bytes_sent[WORLD_PARTS],
        bytes_received[WORLD_PARTS];
    double seconds[WORLD_PARTS];
} world_traffic;

/* One copy of a block in transit or delivered. */
typedef struct world_copy {
    int here, wanted[WORLD_PARTS]; /* wanted: by the nodes behind this one */
} world_copy;

static uint64_t world_draws;

static inline int below(int n)
{
    return (int)eqp_random_below(23, 1, world_draws++, (uint64_t)n);
}

/* Blocks needed by few, many or all parts, some empty. */
static inline void world_make(int nparts, int nblocks, world *w)
{
    int64_t n = 0;

    memset(w, 0, sizeof *w);
    w->nparts = nparts;
    w->nblocks = nblocks;
    for (int b = 0; b < nblocks; b++) {
        const int chance = below(4) == 0 ? 100 : below(60);
        w->bytes[b] = below(5) == 0 ? 0 : 8 * (1 + below(50));
        w->home[b] = below(nparts);
        w->first[b] = n;
        for (int p = 0; p < nparts; p++) {
            w->needs[b][p] = below(100) < chance;
            if (w->needs[b][p]) {
                w->part[n++] = p;
            }
        }
    }
    w->first[nblocks] = n;
}

/* Stride of each stage, as defined in exchange.h. */
static inline int world_strides(eqp_stages kind, int nnodes, int *stride)
{
    int n = 0, far = 1;

    if (kind == EQP_STAGES_LOG) {
        while (far * 2 < nnodes) {
            far *= 2;
        }
        for (; far > 1; far /= 2) {
            stride[n++] = far;
        }
    } else if (kind == EQP_STAGES_TWO) {
        while (far * far < nnodes) {
            far++;
        }
        stride[n++] = far;
    }
    stride[n++] = 1;
    return n;
}

typedef struct world_step {
    int stage, from, to, block;
} world_step;

static world_step world_steps[WORLD_STAGES * WORLD_BLOCKS * WORLD_PARTS];

/* Forwards all copies of one block in one stage and records each transfer as a step. */
static inline int64_t world_hand_on(const world *w, int node, int stage, int stride, int b, world_copy *copy,
                                    int64_t nsteps)
{
    const int nnodes = w->nparts / node;
    world_copy next[WORLD_PARTS];

    memset(next, 0, sizeof next);
    for (int p = 0; p < w->nparts; p++) {
        for (int user = 0; user < nnodes && copy[p].here; user++) {
            if (copy[p].wanted[user]) {
                const int left = (user - p / node + nnodes) % nnodes;
                const int to = (p / node + left / stride * stride) % nnodes * node + p % node;
                if (to != p && !next[to].here) {
                    world_steps[nsteps++] = (world_step){stage, p, to, b};
                }
                next[to].here = 1;
                next[to].wanted[user] = 1;
            }
        }
    }
    memcpy(copy, next, sizeof next);
    return nsteps;
}

/* Sends all blocks that are not hot in stages and returns the number of steps. Every part that needs a block receives
 * it. */
static inline int64_t world_send_out(const world *w, const eqp_exchange_plan *plan, const int *is_hot)
{
    const int node = plan->node, nnodes = w->nparts / node;
    int stride[WORLD_STAGES];
    const int nstages = world_strides(plan->stages, nnodes, stride);
    int64_t nsteps = 0;

    for (int b = 0; b < w->nblocks; b++) {
        world_copy copy[WORLD_PARTS];
        memset(copy, 0, sizeof copy);
        for (int p = 0; p < w->nparts && !is_hot[b]; p++) {
            if (w->needs[b][p] && p / node != w->home[b] / node) {
                copy[w->home[b]].here = 1;
                copy[w->home[b]].wanted[p / node] = 1;
            }
        }
        for (int j = 0; j < nstages; j++) {
            nsteps = world_hand_on(w, node, j, stride[j], b, copy, nsteps);
        }
        for (int n = 0; n < nnodes && !is_hot[b]; n++) {
            int wanted = 0;
            for (int p = n * node; p < (n + 1) * node; p++) {
                wanted |= w->needs[b][p] && n != w->home[b] / node;
            }
            assert_int_equal(copy[n * node + w->home[b] % node].wanted[n], wanted);
        }
    }
    return nsteps;
}

/* Contributions take the steps in reverse; all reach the home. */
static inline void world_bring_back(const world *w, int node, int64_t nsteps, const int *is_hot)
{
    for (int b = 0; b < w->nblocks; b++) {
        double sum[WORLD_PARTS] = {0}, all = 0;
        for (int p = 0; p < w->nparts && !is_hot[b]; p++) {
            if (w->needs[b][p]) { /* summed in the lane's memory of the node */
                sum[p / node * node + w->home[b] % node] += 1 << p % 20;
                all += 1 << p % 20;
            }
        }
        for (int64_t s = nsteps - 1; s >= 0; s--) {
            if (world_steps[s].block == b) {
                sum[world_steps[s].from] += sum[world_steps[s].to];
                sum[world_steps[s].to] = 0;
            }
        }
        assert_true(is_hot[b] || sum[w->home[b]] == all);
    }
}

static inline void world_add(world_traffic *t, const eqp_network *network, int p, int64_t sent, int64_t received,
                             int64_t bytes_sent, int64_t bytes_received)
{
    t->messages_sent[p] += sent;
    t->messages_received[p] += received;
    t->bytes_sent[p] += bytes_sent;
    t->bytes_received[p] += bytes_received;
    t->seconds[p] += network->alpha * (double)(sent > received ? sent : received) +
                     network->beta * (double)(bytes_sent > bytes_received ? bytes_sent : bytes_received);
}

static inline void world_count_stage(const world *w, int back, int stage, int64_t nsteps, const eqp_network *network,
                                     world_traffic *t)
{
    static int pair[WORLD_PARTS][WORLD_PARTS];
    int64_t count[4][WORLD_PARTS];

    memset(pair, 0, sizeof pair);
    memset(count, 0, sizeof count);
    for (int64_t s = 0; s < nsteps; s++) {
        const int from = back ? world_steps[s].to : world_steps[s].from;
        const int to = back ? world_steps[s].from : world_steps[s].to;
        if (world_steps[s].stage == stage) {
            count[0][from] += !pair[from][to];
            count[1][to] += !pair[from][to];
            count[2][from] += w->bytes[world_steps[s].block];
            count[3][to] += w->bytes[world_steps[s].block];
            pair[from][to] = 1;
        }
    }
    for (int p = 0; p < w->nparts; p++) {
        world_add(t, network, p, count[0][p], count[1][p], count[2][p], count[3][p]);
    }
}

/* An allgather, or its reverse, among the parts of one lane. gives: parts that contribute. */
static inline void world_count_all(int nparts, int lane, int node, const int64_t *bytes, const eqp_network *network,
                                   world_traffic *t)
{
    int messages = 0;

    for (int reach = 1; reach < nparts / node; reach *= 2) {
        messages++;
    }
    for (int p = lane; p < nparts; p += node) {
        int64_t others = 0;
        for (int q = lane; q < nparts; q += node) {
            others += q == p ? 0 : bytes[q];
        }
        world_add(t, network, p, messages, messages, others, others);
    }
}

/* Adds one phase under one plan to *t. */
static inline void world_count(const world *w, int back, const eqp_exchange_plan *plan, const eqp_network *network,
                               world_traffic *t)
{
    int is_hot[WORLD_BLOCKS] = {0}, lane_is_hot[WORLD_PARTS] = {0};
    int64_t hot[WORLD_PARTS] = {0}, nsteps;

    for (int b = 0; b < w->nblocks; b++) {
        int others = 0;
        for (int p = 0; p < w->nparts; p++) {
            others += w->needs[b][p] && p != w->home[b];
        }
        if (plan->broadcast > 0 && others > w->nparts / (double)plan->broadcast) {
            is_hot[b] = 1;
            hot[w->home[b]] += w->bytes[b];
            lane_is_hot[w->home[b] % plan->node] = 1;
        }
    }
    nsteps = world_send_out(w, plan, is_hot);
    if (back) {
        world_bring_back(w, plan->node, nsteps, is_hot);
    }
    for (int j = 0; j < WORLD_STAGES; j++) {
        world_count_stage(w, back, j, nsteps, network, t);
    }
    for (int lane = 0; lane < plan->node; lane++) {
        if (lane_is_hot[lane]) {
            world_count_all(w->nparts, lane, plan->node, hot, network, t);
        }
    }
}

static inline int world_is_near(double a, double b)
{
    const double gap = a > b ? a - b : b - a;

    return gap <= 1e-12 * (a > b ? a : b);
}

/* The cheapest plan's result. */
static inline int evaluate_best(eqp_evaluation *e, const eqp_network *network, eqp_evaluated *result)
{
    return eqp_evaluation_cycle(1, (const double[]){1}, &e, network, NULL, NULL, result);
}

enum { PHASES = 3 };

static const int is_back[PHASES] = {0, 0, 1}, is_ghosts[PHASES] = {1, 0, 1};

typedef struct assignment {
    int nparts;
    double load[WORLD_PARTS], meanwhile[PHASES][WORLD_PARTS];
    int64_t common[WORLD_PARTS], held[WORLD_PARTS], number[PHASES][WORLD_BLOCKS], elements[PHASES][WORLD_BLOCKS];
    world phase[PHASES];
} assignment;

static inline void assignment_make(int nparts, assignment *a)
{
    memset(a, 0, sizeof *a);
    a->nparts = nparts;
    for (int p = 0; p < nparts; p++) {
        a->load[p] = below(100) / 1048576.0; /* sums are exact in any order */
        a->common[p] = below(3) * below(1000);
        a->held[p] = below(1000);
        for (int k = 0; k < PHASES; k++) { /* none, some, or more than any phase uses */
            a->meanwhile[k][p] = below(3) * below(64) / 1048576.0;
        }
    }
    for (int k = 0; k < PHASES; k++) {
        const int64_t step = (INT64_MAX - 1000) / WORLD_BLOCKS;
        world_make(nparts, below(nparts % 3 ? 10 : WORLD_BLOCKS + 1), &a->phase[k]);
        for (int b = 0; b < a->phase[k].nblocks; b++) {
            /* Arbitrary numbers: large, small, shared by phases. */
            a->number[k][b] = k == 1 ? b : (WORLD_BLOCKS - b) * step + below(1000);
            a->elements[k][b] = below(20);
        }
    }
}

/* Reports the share of teller `who` of `tellers` in an order of its own, with needs repeated. */
static inline void tell(const assignment *a, int who, int tellers, eqp_evaluation *e)
{
    for (int p = who; p < a->nparts; p += tellers) {
        assert_ok(eqp_evaluation_load(e, p, a->load[p] / 2));
        assert_ok(eqp_evaluation_load(e, p, a->load[p] / 2));
        assert_ok(eqp_evaluation_common(e, p, a->common[p]));
        assert_ok(eqp_evaluation_held(e, p, a->held[p]));
        for (int k = 0; k < 2 * PHASES; k++) {
            assert_ok(eqp_evaluation_meanwhile(e, k / 2, p, a->meanwhile[k / 2][p] / 2));
        }
    }
    for (int k = 0; k < PHASES; k++) {
        const world *w = &a->phase[k];
        const int from = w->nblocks ? below(w->nblocks) : 0, early = below(2);
        for (int i = 0; i < w->nblocks; i++) {
            const int b = (i + from) % w->nblocks, declares = b % tellers == who || below(3) == 0;
            for (int turn = 0; turn < 2; turn++) {
                if (turn != early && declares) {
                    assert_ok(eqp_evaluation_block(e, k, a->number[k][b], w->bytes[b], a->elements[k][b], w->home[b]));
                }
                for (int p = turn; p < a->nparts; p++) {
                    if (w->needs[b][p] && ((p + b) % tellers == who || below(5) == 0)) {
                        assert_ok(eqp_evaluation_need(e, k, a->number[k][b], p));
                    }
                }
            }
        }
    }
}

static inline eqp_evaluation *evaluation_of(const assignment *a, int who, int tellers)
{
    eqp_evaluation *e = NULL;

    assert_ok(eqp_evaluation_create(a->nparts, PHASES, is_back, is_ghosts, &e));
    tell(a, who, tellers, e);
    return e;
}

#endif
