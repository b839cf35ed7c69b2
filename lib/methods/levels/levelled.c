/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts of the curve of each bin of a cycle, so that every phase is even. */
#include "methods/levels/levelled.h"

#include "base/internal.h"
#include "methods/frame/frame.h"

#include <string.h>

/* Runs of a bin: run j has places begin[j] to end[j] - 1 of the curve and belongs to part[j]. */
typedef struct runs {
    int64_t *begin, *end; /* [nparts] */
    int *part;            /* [nparts] */
} runs;

typedef struct levels {
    const eqp__levelling *in;
    int64_t nactive[EQP_CYCLE_PHASES];
    int phase[EQP_CYCLE_PHASES];         /* phases, the shallowest first */
    int64_t first[EQP_CYCLE_PHASES + 1]; /* of each bin in `item` */
    int64_t *item;                       /* [n] items of each bin, in curve order */
    double *have;                        /* [nparts][nphases] loads assigned so far */
    int64_t *count;                      /* [nparts] items */
    runs run[EQP_CYCLE_PHASES];          /* of each bin */
    double *load;                        /* [n] work: load of a bin's items in its phase */
    double *before;                      /* [nparts] work: load that the part of each run already has in that phase */
    int64_t *cut;                        /* [nparts + 1] work */
    int *part;                           /* [n] */
} levels;

static double load_of(const levels *v, int64_t i, int k)
{
    return v->in->items->phase_load[i * v->in->options->nphases + k];
}

static void order_phases(levels *v)
{
    const int nphases = v->in->options->nphases;

    for (int64_t i = 0; i < v->in->items->n; i++) {
        for (int k = 0; k < nphases; k++) {
            v->nactive[k] += load_of(v, i, k) > 0;
        }
    }
    for (int k = 0; k < nphases; k++) {
        int at = k;
        while (at > 0 && v->nactive[v->phase[at - 1]] < v->nactive[k]) {
            v->phase[at] = v->phase[at - 1];
            at--;
        }
        v->phase[at] = k;
    }
}

/* The bin of an item, that of its deepest phase with load; items without load are in bin 0. */
static int bin_of(const levels *v, int64_t i)
{
    int bin = v->in->options->nphases - 1;

    while (bin > 0 && !(load_of(v, i, v->phase[bin]) > 0)) {
        bin--;
    }
    return bin;
}

static void fill_bins(levels *v)
{
    int64_t next[EQP_CYCLE_PHASES];

    for (int64_t i = 0; i < v->in->items->n; i++) {
        v->part[i] = bin_of(v, i);
        v->first[v->part[i] + 1]++;
    }
    for (int b = 0; b < v->in->options->nphases; b++) {
        next[b] = v->first[b];
        v->first[b + 1] += v->first[b];
    }
    for (int64_t i = 0; i < v->in->items->n; i++) {
        v->item[next[v->part[i]]++] = i;
    }
}

static int levels_open(const eqp__levelling *in, levels *v)
{
    v->in = in;
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(v->item, in->items->n),
                           EQP__ARRAY(v->have, (int64_t)in->options->nparts * in->options->nphases),
                           EQP__ARRAY(v->count, in->options->nparts), EQP__ARRAY(v->load, in->items->n),
                           EQP__ARRAY(v->before, in->options->nparts),
                           EQP__ARRAY(v->cut, (int64_t)in->options->nparts + 1), EQP__ARRAY(v->part, in->items->n)));
    for (int b = 0; b < in->options->nphases; b++) {
        EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(v->run[b].begin, in->options->nparts),
                               EQP__ARRAY(v->run[b].end, in->options->nparts),
                               EQP__ARRAY(v->run[b].part, in->options->nparts)));
    }
    order_phases(v);
    fill_bins(v);
    return EQP_OK;
}

static void levels_close(levels *v)
{
    EQP__FREE(v->item, v->have, v->count, v->load, v->before, v->cut, v->part);
    for (int b = 0; b < EQP_CYCLE_PHASES; b++) {
        EQP__FREE(v->run[b].begin, v->run[b].end, v->run[b].part);
    }
}

static int cut_bin(levels *v, int bin)
{
    const int k = v->phase[bin], nparts = v->in->options->nparts, nphases = v->in->options->nphases;
    const int64_t *item = v->item + v->first[bin], n = v->first[bin + 1] - v->first[bin];
    const runs *run = &v->run[bin];
    double *share = NULL, sum = 0;
    int code;

    for (int64_t j = 0; j < n; j++) {
        v->load[j] = load_of(v, item[j], k);
        sum += v->load[j];
    }
    for (int j = 0; j < nparts; j++) {
        v->before[j] = sum > 0 ? v->have[(int64_t)run->part[j] * nphases + k] : (double)v->count[run->part[j]];
    }
    if (v->in->options->share) {
        EQP_TRY(eqp_array_create(&share, nparts, sizeof *share));
        for (int j = 0; j < nparts; j++) {
            share[j] = v->in->options->share[run->part[j]];
        }
    }
    EQP_TRY(eqp__cuts_beside(n, v->load, nparts, share, v->before, v->cut, NULL));
    for (int j = 0; j < nparts; j++) {
        const int any = v->cut[j + 1] > v->cut[j];
        run->begin[j] = any ? item[v->cut[j]] : 0;
        run->end[j] = any ? item[v->cut[j + 1] - 1] + 1 : 0;
    }
done:
    free(share);
    return code;
}

/* Lists the overlaps between the runs of a bin and the runs of a deeper bin, as fractions of the sum of both lengths.
 * Both are in curve order. Returns the number of overlaps, at most 2 nparts. */
static int64_t overlap(const runs *fresh, const runs *deep, int nparts, eqp_overlap *overlaps)
{
    int64_t n = 0;

    for (int i = 0, j = 0; i < nparts && j < nparts;) {
        const int64_t begin = fresh->begin[i] > deep->begin[j] ? fresh->begin[i] : deep->begin[j];
        const int64_t end = fresh->end[i] < deep->end[j] ? fresh->end[i] : deep->end[j];
        const int64_t both = fresh->end[i] - fresh->begin[i] + deep->end[j] - deep->begin[j];
        if (end > begin) {
            overlaps[n++] = (eqp_overlap){i, deep->part[j], (double)(end - begin) / (double)both};
        }
        if (fresh->end[i] <= deep->end[j]) {
            i++;
        } else {
            j++;
        }
    }
    return n;
}

/* Matches each run of a bin with a part whose runs in deeper bins overlap it, if there is one. */
static int match_runs(levels *v, int bin)
{
    const int nparts = v->in->options->nparts;
    eqp_overlap *overlaps = NULL;
    int64_t n = 0;
    int code;

    EQP_TRY(eqp_array_create(&overlaps, (int64_t)2 * nparts * v->in->options->nphases, sizeof *overlaps));
    for (int b = bin + 1; b < v->in->options->nphases; b++) {
        n += overlap(&v->run[bin], &v->run[b], nparts, overlaps + n);
    }
    EQP_TRY(eqp__parts_relabel(nparts, NULL, n, overlaps, v->run[bin].part));
done:
    free(overlaps);
    return code;
}

static void give_runs(levels *v, int bin)
{
    const int64_t *item = v->item + v->first[bin];
    const int nphases = v->in->options->nphases;

    for (int j = 0; j < v->in->options->nparts; j++) {
        const int p = v->run[bin].part[j];
        v->count[p] += v->cut[j + 1] - v->cut[j];
        for (int64_t at = v->cut[j]; at < v->cut[j + 1]; at++) {
            v->part[item[at]] = p;
            for (int k = 0; k < nphases; k++) {
                v->have[(int64_t)p * nphases + k] += load_of(v, item[at], k);
            }
        }
    }
}

/* Cuts a bin twice. The first cut uses the order of parts of the previous bin; its runs are then matched with parts.
 * The load that a part still needs depends on its run, so the bin is cut again in the new order. */
static int level_bin(levels *v, int bin, const int *order)
{
    memcpy(v->run[bin].part, order, (size_t)v->in->options->nparts * sizeof *order);
    EQP__CHECK(cut_bin(v, bin));
    EQP__CHECK(match_runs(v, bin));
    EQP__CHECK(cut_bin(v, bin));
    give_runs(v, bin);
    return EQP_OK;
}

static int level_bins(levels *v)
{
    const int *order = NULL;
    int *numbers = NULL, code;

    EQP_TRY(eqp_array_create(&numbers, v->in->options->nparts, sizeof *numbers));
    for (int p = 0; p < v->in->options->nparts; p++) {
        numbers[p] = p;
    }
    order = numbers;
    for (int b = v->in->options->nphases - 1; b >= 0; b--) {
        if (v->first[b + 1] > v->first[b]) {
            EQP_TRY(level_bin(v, b, order));
            order = v->run[b].part;
        }
    }
done:
    free(numbers);
    return code;
}

static int measure(const eqp__levelling *in, const int *part, double *efficiency)
{
    const eqp_balance_options *o = in->options;
    eqp_cycle cycle = {.efficiency = 0};
    const int code = eqp__cycle_measure(in->items->n, in->items->phase_load, part, o->nphases, o->times, o->nparts,
                                        o->share, &cycle);

    *efficiency = cycle.efficiency;
    return code;
}

int eqp__levelled_assign(const eqp__levelling *in, int *part, int64_t *moved)
{
    levels v = {.in = NULL};
    eqp_cycle cycle;
    double levelled, curve;
    int *rival = NULL, code;

    EQP_TRY(levels_open(in, &v));
    EQP_TRY(level_bins(&v));
    EQP_TRY(eqp__cycle_of_parts(in->options->nparts, v.have, in->options->nphases, in->options->times,
                                in->options->share, &cycle));
    levelled = cycle.efficiency;
    EQP_TRY(eqp__levelled_repair(in, v.part, moved));
    EQP_TRY(*moved > 0 ? measure(in, v.part, &levelled) : EQP_OK);
    EQP_TRY(eqp_array_create(&rival, in->items->n, sizeof *rival));
    EQP_TRY(eqp__method_sfc.assign_alone(in->items, in->options, rival, NULL));
    EQP_TRY(measure(in, rival, &curve));
    *moved = curve > levelled ? 0 : *moved;
    if (in->items->n > 0) {
        memcpy(part, curve > levelled ? rival : v.part, (size_t)in->items->n * sizeof *part);
    }
done:
    free(rival);
    levels_close(&v);
    return code;
}

/* The method `levelled`, and the repair of given parts. One rank computes both for all ranks, so the parts do not
 * depend on the distribution of items. */

/* With one phase the method is the weighted curve. */
static int levelled_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                          eqp_balance_result *result)
{
    if (options->nphases < 2) {
        return eqp__method_sfc.assign_alone(items, options, part, result);
    }
    return eqp__levelled_assign(&(eqp__levelling){items, options}, part, &result->repaired);
}

static int assign_levelled(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                           eqp_balance_result *result)
{
    if (options->nphases < 2) {
        return eqp__method_sfc.assign(comm, items, options, part, result);
    }
    EQP__CHECK(eqp__gather_and_assign(comm, items, options, EQP__PHASES, levelled_alone, part, result));
    return eqp__relabel_all(comm, items, items->part_now, options, part, NULL);
}

const eqp_method eqp__method_levelled = {.name = "levelled",
                                         .summary = "equal work in every phase: each bin's curve is cut for what lacks",
                                         .flags = EQP_NEEDS_WEIGHTS | EQP_SCATTERS,
                                         .assign = assign_levelled,
                                         .assign_alone = levelled_alone};

static int repair_alone(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                        eqp_balance_result *result)
{
    const eqp__levelling in = {items, options};
    double efficiency;

    EQP__CHECK(measure(&in, part, &efficiency));
    result->imbalance_unrepaired = 1.0 / efficiency - 1.0;
    return eqp__levelled_repair(&in, part, &result->repaired);
}

int eqp__repair_cycle(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                      eqp_balance_result *result)
{
    return eqp__gather_and_assign(comm, items, options, EQP__PHASES, repair_alone, part, result);
}
