/* SPDX-License-Identifier: BSD-3-Clause */
/* Renumbers the parts of a new assignment to match the present one. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

#include <string.h>

static int by_pair(const void *a, const void *b)
{
    const eqp_overlap *x = a, *y = b;

    if (x->fresh != y->fresh) {
        return x->fresh < y->fresh ? -1 : 1;
    }
    return (x->now > y->now) - (x->now < y->now);
}

static int by_falling_weight(const void *a, const void *b)
{
    const eqp_overlap *x = a, *y = b;

    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return by_pair(a, b);
}

/* Counting sort of the items by new part. first: [nparts + 1] zeros in, first item of each part out. */
static void order_by_part(int64_t n, const int *fresh, int nparts, int64_t *first, int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        first[fresh[i] + 1]++;
    }
    for (int p = 0; p < nparts; p++) {
        first[p + 1] += first[p];
    }
    for (int64_t i = 0; i < n; i++) {
        order[first[fresh[i]]++] = i;
    }
    memmove(first + 1, first, (size_t)nparts * sizeof *first);
    first[0] = 0;
}

/* Overlaps of one new part with the present parts. sum, seen: [nparts] zeros in and out. Returns the number written. */
static int64_t collect_part(const int64_t *item, int64_t nitems, int fresh, const int *now, const double *weight,
                            int nparts, double *sum, unsigned char *seen, eqp_overlap *out)
{
    int64_t found = 0;

    for (int64_t k = 0; k < nitems; k++) {
        int old = now[item[k]];
        if (old < 0 || old >= nparts) {
            continue;
        }
        if (!seen[old]) {
            seen[old] = 1;
            out[found++] = (eqp_overlap){fresh, old, 0};
        }
        sum[old] += weight ? weight[item[k]] : 1;
    }
    for (int64_t k = 0; k < found; k++) {
        out[k].weight = sum[out[k].now];
        sum[out[k].now] = 0;
        seen[out[k].now] = 0;
    }
    qsort(out, (size_t)found, sizeof *out, by_pair);
    return found;
}

int eqp__overlaps_collect(int64_t n, const int *fresh, const int *now, const double *weight, int nparts,
                          int64_t *noverlaps, eqp_overlap **overlaps)
{
    int64_t *first = NULL, *order = NULL, found = 0;
    double *sum = NULL;
    unsigned char *seen = NULL;
    eqp_overlap *list = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(first, (int64_t)nparts + 1), EQP__ARRAY(order, n), EQP__ARRAY(sum, nparts),
                        EQP__ARRAY(seen, nparts), EQP__ARRAY(list, n)));
    order_by_part(n, fresh, nparts, first, order);
    for (int p = 0; p < nparts; p++) {
        found +=
            collect_part(order + first[p], first[p + 1] - first[p], p, now, weight, nparts, sum, seen, list + found);
    }
    *noverlaps = found;
    *overlaps = found ? list : NULL;
    list = found ? NULL : list;
done:
    EQP__FREE(first, order, sum, seen, list);
    return code;
}

/* Sorts the overlaps and merges equal pairs. Returns the number left. */
static int64_t merge_pairs(int64_t n, eqp_overlap *overlap)
{
    int64_t kept = 0;

    qsort(overlap, (size_t)n, sizeof *overlap, by_pair);
    for (int64_t i = 0; i < n; i++) {
        if (kept && by_pair(&overlap[kept - 1], &overlap[i]) == 0) {
            overlap[kept - 1].weight += overlap[i].weight;
        } else {
            overlap[kept++] = overlap[i];
        }
    }
    return kept;
}

static int exchangeable(const double *share, int a, int b)
{
    return !share || share[a] == share[b];
}

/* Numbers parts without a matching overlap: the own number if it is free, else the lowest free one of equal share. */
static void number_the_rest(int nparts, const double *share, int *number, unsigned char *taken)
{
    for (int p = 0; p < nparts; p++) {
        if (number[p] < 0 && !taken[p]) {
            number[p] = p;
            taken[p] = 1;
        }
    }
    for (int p = 0, lowest = 0; p < nparts; p++) {
        if (number[p] >= 0) {
            continue;
        }
        while (taken[lowest]) {
            lowest++;
        }
        int q = lowest;
        while (taken[q] || !exchangeable(share, p, q)) {
            q++;
        }
        number[p] = q;
        taken[q] = 1;
    }
}

int eqp__parts_relabel(int nparts, const double *share, int64_t noverlaps, const eqp_overlap *overlaps, int *number)
{
    eqp_overlap *sorted = NULL;
    unsigned char *taken = NULL;
    int code;

    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(sorted, noverlaps), EQP__ARRAY(taken, nparts)));
    if (noverlaps) {
        memcpy(sorted, overlaps, (size_t)noverlaps * sizeof *sorted);
    }
    int64_t npairs = merge_pairs(noverlaps, sorted);
    qsort(sorted, (size_t)npairs, sizeof *sorted, by_falling_weight);
    for (int p = 0; p < nparts; p++) {
        number[p] = -1;
    }
    for (int64_t k = 0; k < npairs; k++) {
        eqp_overlap o = sorted[k];
        if (number[o.fresh] < 0 && !taken[o.now] && exchangeable(share, o.fresh, o.now)) {
            number[o.fresh] = o.now;
            taken[o.now] = 1;
        }
    }
    number_the_rest(nparts, share, number, taken);
done:
    EQP__FREE(sorted, taken);
    return code;
}

int eqp__relabel_all(MPI_Comm comm, const eqp_balance_items *items, const int *now, const eqp_balance_options *options,
                     int *part, int *number)
{
    int64_t nmine = 0, n = 0;
    eqp_overlap *mine = NULL, *all = NULL;
    int *fresh = NULL, code = eqp_array_create(&fresh, options->nparts, sizeof *fresh);

    if (code == EQP_OK && items->n > 0 && now != NULL) {
        code = eqp__overlaps_collect(items->n, part, now, items->weight, options->nparts, &nmine, &mine);
    }
    EQP_TRY(eqp__gather_records(comm, code, sizeof *mine, nmine, mine, &n, &all));
    EQP_TRY(eqp_agree(comm, eqp__parts_relabel(options->nparts, options->share, n, all, fresh), NULL));
    for (int64_t i = 0; i < items->n; i++) {
        part[i] = fresh[part[i]];
    }
    if (number != NULL) {
        memcpy(number, fresh, (size_t)options->nparts * sizeof *number);
    }
done:
    EQP__FREE(fresh, mine, all);
    return code;
}
