/* SPDX-License-Identifier: BSD-3-Clause */
/* Last stage of a repair: where items are too large for plain moves, swaps of a heavy item for a light one lower the
 * largest relative load. Local search; each step changes only the worst part and one of the lightest parts. */
#include "base/internal.h"
#include "methods/frame/repair.h"

#include <math.h>

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

/* Third stage of a repair: every overloaded part gives items away, to neighbours first. No receiver is filled beyond
 * its room, so the number of overloaded parts never rises. */

/* Larger edges are ignored: they say little about the best part for an item and take long to read. */
#define LARGE_EDGE 256

typedef struct shed {
    eqp__repairing *m;
    eqp__weighed *heap; /* [nparts] heap of parts by free room, the most on top */
    double *affinity;   /* [nparts] hyperedge weight that an item shares with each part */
    int *touched;       /* [nparts] parts with affinity */
    int64_t *edge_mark; /* [nparts] last edge that counted for a part */
} shed;

static int overloaded(const eqp__repairing *m, int p)
{
    return m->load[p] > m->room[p];
}

static double free_room(const eqp__repairing *m, int p)
{
    return m->room[p] - m->load[p];
}

static int fits(const eqp__repairing *m, int64_t item, int to)
{
    return m->load[to] + m->weight[item] <= m->room[to];
}

/* True if an item of part p may leave: it has load, and is not the part's only item. */
static int may_leave(const eqp__repairing *m, int64_t item, int p)
{
    return m->part[item] == p && m->weight[item] > 0 && m->count[p] > 1;
}

/* Moves items at the ends of the part's runs to the adjacent part; the next item of the run is then at its end. */
static void shed_along_curve(eqp__repairing *m, int p)
{
    int64_t n = eqp__repair_members(m, p, m->member);

    for (int64_t k = 0; k < n && overloaded(m, p); k++) {
        int64_t i = m->member[k];
        int q = i > 0 ? m->part[i - 1] : p;
        if (q != p && may_leave(m, i, p) && fits(m, i, q)) {
            eqp__repair_move(m, i, q);
        }
    }
    for (int64_t k = n - 1; k >= 0 && overloaded(m, p); k--) {
        int64_t i = m->member[k];
        int q = i < m->n - 1 ? m->part[i + 1] : p;
        if (q != p && may_leave(m, i, p) && fits(m, i, q)) {
            eqp__repair_move(m, i, q);
        }
    }
}

/* Hyperedge weight that an item shares with each part; returns the number of parts touched. */
static int find_affinity(shed *s, int64_t item)
{
    const eqp_hypergraph *g = &s->m->graph;
    int ntouched = 0;

    for (int64_t k = g->vertex_first[item]; k < g->vertex_first[item + 1]; k++) {
        int64_t e = g->vertex_edge[k];
        if (g->edge_first[e + 1] - g->edge_first[e] > LARGE_EDGE) {
            continue;
        }
        for (int64_t j = g->edge_first[e]; j < g->edge_first[e + 1]; j++) {
            int64_t v = g->edge_vertex[j];
            int q = s->m->part[v];
            if (v == item || (s->affinity[q] > 0 && s->edge_mark[q] == e)) {
                continue;
            }
            if (!(s->affinity[q] > 0)) {
                s->touched[ntouched++] = q;
            }
            s->affinity[q] += g->edge_weight[e] > 0 ? g->edge_weight[e] : 1e-300;
            s->edge_mark[q] = e;
        }
    }
    return ntouched;
}

/* Moves items to the part with the largest affinity. only_gains: only items whose affinity does not fall. */
static void shed_along_edges(shed *s, int p, int only_gains)
{
    eqp__repairing *m = s->m;
    int64_t n = eqp__repair_members(m, p, m->member);

    for (int64_t k = 0; k < n && overloaded(m, p); k++) {
        int64_t i = m->member[k];
        if (!may_leave(m, i, p)) {
            continue;
        }
        int ntouched = find_affinity(s, i), best = -1;
        for (int t = 0; t < ntouched; t++) {
            int q = s->touched[t];
            if (q != p && fits(m, i, q) &&
                (best < 0 || s->affinity[q] > s->affinity[best] || (s->affinity[q] == s->affinity[best] && q < best))) {
                best = q;
            }
        }
        if (best >= 0 && (!only_gains || s->affinity[best] >= s->affinity[p])) {
            eqp__repair_move(m, i, best);
        }
        for (int t = 0; t < ntouched; t++) {
            s->affinity[s->touched[t]] = 0;
        }
    }
}

static void weighed_sink(eqp__weighed *heap, int64_t n, int64_t at)
{
    for (;;) {
        int64_t best = at;
        for (int64_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
            best = eqp__by_falling_weight(&heap[child], &heap[best]) < 0 ? child : best;
        }
        if (best == at) {
            return;
        }
        const eqp__weighed swap = heap[at];
        heap[at] = heap[best];
        heap[best] = swap;
        at = best;
    }
}

/* Moves items, heavy ones first, to the part with most free room; an item that does not fit there fits nowhere. A heap
 * replaces sorting, since few items are usually examined. */
static int shed_anywhere(shed *s, int p)
{
    eqp__repairing *m = s->m;
    eqp__weighed *list = NULL;
    int64_t n = eqp__repair_members(m, p, m->member);

    EQP__CHECK(eqp_array_create(&list, n, sizeof *list));
    for (int64_t k = 0; k < n; k++) {
        list[k] = (eqp__weighed){m->weight[m->member[k]], m->member[k]};
    }
    for (int64_t at = n / 2; at >= 0; at--) {
        weighed_sink(list, n, at);
    }
    for (int q = 0; q < m->nparts; q++) {
        s->heap[q] = (eqp__weighed){free_room(m, q), q};
    }
    for (int at = m->nparts / 2; at >= 0; at--) {
        weighed_sink(s->heap, m->nparts, at);
    }
    while (n > 0 && overloaded(m, p)) {
        const int64_t heaviest = list[0].item;
        const int q = (int)s->heap[0].item;
        if (q != p && may_leave(m, heaviest, p) && fits(m, heaviest, q)) {
            eqp__repair_move(m, heaviest, q);
            s->heap[0].weight = free_room(m, q);
            weighed_sink(s->heap, m->nparts, 0);
        }
        list[0] = list[--n];
        weighed_sink(list, n, 0);
    }
    free(list);
    return EQP_OK;
}

static int shed_part(shed *s, int p)
{
    shed_along_curve(s->m, p);
    for (int only_gains = 1; only_gains >= 0 && s->m->graph.nvertices > 0; only_gains--) {
        if (overloaded(s->m, p)) {
            shed_along_edges(s, p, only_gains);
        }
    }
    return overloaded(s->m, p) ? shed_anywhere(s, p) : EQP_OK;
}

/* Lists the overloaded parts, the worst first, so that it finds the most room. Returns their number. */
static int order_parts(const eqp__repairing *m, eqp__weighed *list)
{
    int found = 0;

    for (int p = 0; p < m->nparts; p++) {
        if (overloaded(m, p)) {
            list[found++] = (eqp__weighed){eqp__repair_relative(m, p), p};
        }
    }
    qsort(list, (size_t)found, sizeof *list, eqp__by_falling_weight);
    return found;
}

int eqp__repair_shed(eqp__repairing *m)
{
    shed s = {.m = m};
    eqp__weighed *order = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(s.heap, m->nparts), EQP__ARRAY(s.affinity, m->nparts),
                        EQP__ARRAY(s.touched, m->nparts), EQP__ARRAY(s.edge_mark, m->nparts),
                        EQP__ARRAY(order, m->nparts)));
    int norder = order_parts(m, order);
    for (int k = 0; k < norder && !code; k++) {
        code = shed_part(&s, (int)order[k].item);
    }
done:
    EQP__FREE(s.heap, s.affinity, s.touched, s.edge_mark, order);
    return code;
}
