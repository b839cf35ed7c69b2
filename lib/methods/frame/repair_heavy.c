/* SPDX-License-Identifier: BSD-3-Clause */
/* Second stage of a repair: places the large items of overloaded parts before small items fill the gaps. In order of
 * falling weight, an item stays in its part if larger items leave it room there. Items leave overloaded parts only. The
 * room of a destination counts larger items only, since small items can move on later. */
#include "methods/frame/repair.h"

#include "base/internal.h"

#include <math.h>

/* Lists items heavier than the smallest tolerance of any part; list: NULL counts only. Returns their number. */
static int64_t find_heavy(const eqp__repairing *m, eqp__weighed *list)
{
    double large = INFINITY;
    int64_t found = 0;

    for (int p = 0; p < m->nparts; p++) {
        large = fmin(large, m->room[p] - m->scale[p]);
    }
    for (int64_t i = 0; i < m->n; i++) {
        if (m->weight[i] > large) {
            if (list) {
                list[found] = (eqp__weighed){m->weight[i], i};
            }
            found++;
        }
    }
    return found;
}

/* Tournament tree over the parts: finds the part with the largest value; ties go to the lower part. */
typedef struct tournament {
    int nparts;
    double *most; /* [nparts] */
    int *winner;  /* [2 nparts] winner of nodes 2 k and 2 k + 1 in node k; part p is node nparts + p */
} tournament;

/* The part with the larger value; ties go to the lower part. -1: no part. */
static int better(const tournament *t, int a, int b)
{
    if (a < 0 || b < 0) {
        return a < 0 ? b : a;
    }
    if (t->most[a] != t->most[b]) {
        return t->most[a] > t->most[b] ? a : b;
    }
    return a < b ? a : b;
}

static void tournament_set(tournament *t, int p, double most)
{
    t->most[p] = most;
    for (int k = (t->nparts + p) / 2; k > 0; k /= 2) {
        t->winner[k] = better(t, t->winner[2 * k], t->winner[2 * k + 1]);
    }
}

/* The part with the largest value, excluding p; -1: no other part. */
static int tournament_best_but(const tournament *t, int p)
{
    int best = -1;

    for (int k = t->nparts + p; k > 1; k /= 2) {
        best = better(t, best, t->winner[k ^ 1]);
    }
    return best;
}

static int tournament_open(tournament *t, const eqp__repairing *m, const double *taken)
{
    t->nparts = m->nparts;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(t->most, t->nparts), EQP__ARRAY(t->winner, 2 * (int64_t)t->nparts)));
    t->winner[0] = -1;
    for (int p = 0; p < t->nparts; p++) {
        t->most[p] = m->room[p] - taken[p];
        t->winner[t->nparts + p] = p;
    }
    for (int k = t->nparts - 1; k > 0; k--) {
        t->winner[k] = better(t, t->winner[2 * k], t->winner[2 * k + 1]);
    }
    return EQP_OK;
}

static void tournament_close(tournament *t)
{
    EQP__FREE(t->most, t->winner);
}

typedef struct placing {
    eqp__repairing *m;
    double *settled;  /* [nparts] load of the heavy items placed so far */
    tournament kinds; /* room minus settled load */
    tournament all;   /* room minus load */
} placing;

/* Destination of a heavy item that must leave: the part of a neighbour along the curve, or the part with most free
 * room, if the item fits there as it is; else the part where placed heavy items leave most room. -1: none. */
static int find_place(const placing *s, eqp__weighed g)
{
    const eqp__repairing *m = s->m;
    int near[2] = {g.item > 0 ? m->part[g.item - 1] : -1, g.item < m->n - 1 ? m->part[g.item + 1] : -1};
    int from = m->part[g.item];

    for (int k = 0; k < 2; k++) {
        if (near[k] >= 0 && near[k] != from && m->load[near[k]] + g.weight <= m->room[near[k]]) {
            return near[k];
        }
    }
    const int empty = tournament_best_but(&s->all, from), kind = tournament_best_but(&s->kinds, from);
    if (empty >= 0 && s->all.most[empty] >= g.weight && s->settled[empty] + g.weight <= m->room[empty]) {
        return empty;
    }
    return kind >= 0 && s->settled[kind] + g.weight <= m->room[kind] ? kind : -1;
}

static void move_heavy(placing *s, int64_t item, int to)
{
    eqp__repairing *m = s->m;
    const int from = m->part[item];

    eqp__repair_move(m, item, to);
    tournament_set(&s->all, from, m->room[from] - m->load[from]);
    tournament_set(&s->all, to, m->room[to] - m->load[to]);
}

static void place_heavy(placing *s, eqp__weighed g)
{
    const eqp__repairing *m = s->m;
    int p = m->part[g.item];

    if (s->settled[p] + g.weight > m->room[p] && m->load[p] > m->room[p] && m->count[p] > 1) {
        const int q = find_place(s, g);
        if (q >= 0) {
            move_heavy(s, g.item, q);
            p = q;
        }
    }
    s->settled[p] += g.weight;
    tournament_set(&s->kinds, p, m->room[p] - s->settled[p]);
}

int eqp__repair_heavy(eqp__repairing *m)
{
    int64_t nheavy = find_heavy(m, NULL);
    eqp__weighed *list = NULL;
    placing s = {.m = m};
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(list, nheavy), EQP__ARRAY(s.settled, m->nparts)));
    EQP_TRY(tournament_open(&s.kinds, m, s.settled));
    EQP_TRY(tournament_open(&s.all, m, m->load));
    find_heavy(m, list);
    qsort(list, (size_t)nheavy, sizeof *list, eqp__by_falling_weight);
    for (int64_t k = 0; k < nheavy; k++) {
        place_heavy(&s, list[k]);
    }
done:
    EQP__FREE(list, s.settled);
    tournament_close(&s.kinds);
    tournament_close(&s.all);
    return code;
}
