/* SPDX-License-Identifier: BSD-3-Clause */
/* Random assignments, reported to an evaluation in pieces and in any order. Small worlds only. Include after
 * cmocka.h. */
#ifndef EQP_EVALUATION_WORLD_H
#define EQP_EVALUATION_WORLD_H

#include "exchange_world.h"

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
