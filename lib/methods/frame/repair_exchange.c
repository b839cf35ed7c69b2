/* SPDX-License-Identifier: BSD-3-Clause */
/* Last stage of a repair: if items are too large for plain moves, swaps of a heavy item for a light one lower the
 * largest relative load. Local search: each step changes only the worst part and one of the lightest parts. */
#include "methods/frame/repair.h"

#include "base/internal.h"

#include <math.h>
#include <stdlib.h>

/* Lightest parts tried as partners of the worst part in each step. */
#define PARTNERS 16

typedef struct step {
    double worst; /* larger relative load of the two parts after the step */
    int64_t give; /* item that leaves the worst part */
    int64_t take; /* item that the worst part gets in return, or -1 */
    int partner;
} step;

static int by_rising_weight(const void *a, const void *b)
{
    return eqp__by_falling_weight(b, a);
}

/* Lists the items of a part by rising weight; returns their number. */
static int64_t weigh_members(const eqp__repairing *m, int p, int64_t *list, eqp__weighed *out)
{
    int64_t n = eqp__repair_members(m, p, list);

    for (int64_t k = 0; k < n; k++) {
        out[k] = (eqp__weighed){m->weight[list[k]], list[k]};
    }
    qsort(out, (size_t)n, sizeof *out, by_rising_weight);
    return n;
}

static void consider(const eqp__repairing *m, int p, int q, eqp__weighed give, eqp__weighed take, step *best)
{
    double moved = give.weight - take.weight;
    double worst = fmax((m->load[p] - moved) / m->scale[p], (m->load[q] + moved) / m->scale[q]);

    if (worst < best->worst) {
        *best = (step){worst, give.item, take.item, q};
    }
}

/* The best step between p and q. For each item of p the best counterpart is the one closest to the weight that makes
 * both relative loads equal. That weight rises with the weight of p's item, so one pass through both sorted lists finds
 * all counterparts. */
static void best_between(const eqp__repairing *m, int p, int q, int64_t np, const eqp__weighed *of_p, int64_t nq,
                         const eqp__weighed *of_q, step *best)
{
    const eqp__weighed nothing = {0, -1};
    double sum = m->scale[p] + m->scale[q];
    double wanted = (m->load[p] * m->scale[q] - m->load[q] * m->scale[p]) / sum;

    for (int64_t i = 0, j = 0; i < np; i++) {
        while (j < nq && of_q[j].weight < of_p[i].weight - wanted) {
            j++;
        }
        if (m->count[p] > 1) {
            consider(m, p, q, of_p[i], nothing, best);
        }
        if (j > 0) {
            consider(m, p, q, of_p[i], of_q[j - 1], best);
        }
        if (j < nq) {
            consider(m, p, q, of_p[i], of_q[j], best);
        }
    }
}

/* The lightest parts other than p; returns their number. */
static int find_partners(const eqp__repairing *m, int p, int *partner)
{
    int n = 0;

    for (int q = 0; q < m->nparts; q++) {
        double r = eqp__repair_relative(m, q);
        if (q == p || (n == PARTNERS && r >= eqp__repair_relative(m, partner[n - 1]))) {
            continue;
        }
        int k = n < PARTNERS ? n++ : n - 1;
        for (; k > 0 && r < eqp__repair_relative(m, partner[k - 1]); k--) {
            partner[k] = partner[k - 1];
        }
        partner[k] = q;
    }
    return n;
}

static int heaviest_part(const eqp__repairing *m)
{
    int worst = 0;

    for (int p = 1; p < m->nparts; p++) {
        worst = eqp__repair_relative(m, p) > eqp__repair_relative(m, worst) ? p : worst;
    }
    return worst;
}

/* Makes the best step; false if no step lowers the worst part. */
static int improve(eqp__repairing *m, int p, eqp__weighed *of_p, eqp__weighed *of_q)
{
    int partner[PARTNERS];
    int npartners = find_partners(m, p, partner);
    int64_t np = weigh_members(m, p, m->member, of_p);
    /* Smaller gains are rounding errors, with which the search might not end. */
    step best = {.worst = eqp__repair_relative(m, p) * (1 - 1e-12), .give = -1};

    for (int k = 0; k < npartners && best.worst * m->scale[p] > m->room[p]; k++) {
        int64_t nq = weigh_members(m, partner[k], m->other, of_q);
        best_between(m, p, partner[k], np, of_p, nq, of_q, &best);
    }
    if (best.give < 0) {
        return 0;
    }
    eqp__repair_move(m, best.give, best.partner);
    if (best.take >= 0) {
        eqp__repair_move(m, best.take, p);
    }
    return 1;
}

int eqp__repair_exchange(eqp__repairing *m)
{
    eqp__weighed *of_p = NULL, *of_q = NULL;
    int p = heaviest_part(m), code = EQP_OK;
    /* A safeguard: a repair takes far fewer steps and ends when no step helps. */
    int64_t steps = 64 + 16 * (int64_t)m->nparts;

    if (m->load[p] <= m->room[p]) {
        return EQP_OK;
    }
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(of_p, m->n), EQP__ARRAY(of_q, m->n)));
    while (steps-- > 0 && m->load[p] > m->room[p] && improve(m, p, of_p, of_q)) {
        p = heaviest_part(m);
    }
done:
    EQP__FREE(of_p, of_q);
    return code;
}
