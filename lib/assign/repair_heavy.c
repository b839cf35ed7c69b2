/* SPDX-License-Identifier: BSD-3-Clause */
/* Before small items fill every gap, the large ones of overloaded parts look for places of their own. Largest first,
 * each stays where it is if the larger ones there leave it room. That never takes an item from a part that is not
 * overloaded, and counts only items as large against the room of the others: what is small can move on later. */
#include "assign/repair.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>

/* Items too large to be shed freely: heavier than the tolerance of the smallest part. */
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

/* Where a heavy item that must leave goes: to a neighbour along the curve or else the emptiest part, as long as nothing
 * else has to leave for it; else where its kind leaves most room. -1: nowhere. settled: load of the heavy items that
 * have a place. */
static int find_place(const eqp__repairing *m, const double *settled, eqp__weighed g)
{
    int near[2] = {g.item > 0 ? m->part[g.item - 1] : -1, g.item < m->n - 1 ? m->part[g.item + 1] : -1};
    int from = m->part[g.item], free_best = -1, kind_best = -1;

    for (int k = 0; k < 2; k++) {
        if (near[k] >= 0 && near[k] != from && m->load[near[k]] + g.weight <= m->room[near[k]]) {
            return near[k];
        }
    }
    for (int q = 0; q < m->nparts; q++) {
        if (q == from || settled[q] + g.weight > m->room[q]) {
            continue;
        }
        double kind = m->room[q] - settled[q], all = m->room[q] - m->load[q];
        if (kind_best < 0 || kind > m->room[kind_best] - settled[kind_best]) {
            kind_best = q;
        }
        if (all >= g.weight && (free_best < 0 || all > m->room[free_best] - m->load[free_best])) {
            free_best = q;
        }
    }
    return free_best >= 0 ? free_best : kind_best;
}

int eqp__repair_heavy(eqp__repairing *m)
{
    int64_t nheavy = find_heavy(m, NULL);
    eqp__weighed *list = NULL;
    double *settled = NULL;
    int code;

    if ((code = eqp_array_create(&list, nheavy, sizeof *list)) ||
        (code = eqp_array_create(&settled, m->nparts, sizeof *settled))) {
        goto done;
    }
    find_heavy(m, list);
    qsort(list, (size_t)nheavy, sizeof *list, eqp__by_falling_weight);
    for (int64_t k = 0; k < nheavy; k++) {
        int p = m->part[list[k].item];
        if (settled[p] + list[k].weight > m->room[p] && m->load[p] > m->room[p] && m->count[p] > 1) {
            int q = find_place(m, settled, list[k]);
            if (q >= 0) {
                eqp__repair_move(m, list[k].item, q);
                p = q;
            }
        }
        settled[p] += list[k].weight;
    }
done:
    free(list);
    free(settled);
    return code;
}
