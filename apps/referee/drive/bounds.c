/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int upwards(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Smallest possible largest load if `work` is divided at will over parts with base loads. base: [nparts] ascending. */
static double level_of(double work, int nparts, const double *base)
{
    double sum = work;

    for (int p = 0; p < nparts; p++) {
        sum += base[p];
        if (p == nparts - 1 || sum / (p + 1) <= base[p + 1]) {
            return fmax(sum / (p + 1), base[nparts - 1]);
        }
    }
    return 0.0;
}

/* Pigeonhole bound: some part has k + 1 of the k P + 1 heaviest items. load: [n] ascending. */
static double bound_of_items(int64_t n, const double *load, int nparts, bool *several)
{
    double best = 0.0;

    for (int64_t k = 0; k * nparts + 1 <= n; k++) {
        double sum = 0.0;
        for (int64_t i = 0; i <= k; i++) { /* the lightest of them */
            sum += load[n - 1 - k * nparts + i];
        }
        *several = sum > best ? k > 0 : *several;
        best = fmax(best, sum);
        if (k >= 64) { /* beyond this the even share is as good */
            break;
        }
    }
    return best;
}

/* load: [nmoving] ascending, base: [nparts] ascending, both of one phase. */
static rf_bound bound_of_phase(int64_t n, const double *load, int nparts, const double *base, bool whole)
{
    double work = 0.0;
    bool several = false;
    rf_bound bound = {.why = "even share"};

    for (int64_t i = 0; i < n; i++) {
        work += load[i];
    }
    bound.load = level_of(work, nparts, base);
    bound.load = whole ? ceil(bound.load * (1 - 1e-15)) : bound.load;
    if (base[nparts - 1] > 0 && bound.load <= base[nparts - 1]) {
        bound.why = "fixed items of one part";
    }
    const double items = bound_of_items(n, load, nparts, &several) + base[0];
    if (items > bound.load * (1 + 1e-12)) {
        bound = (rf_bound){items, several ? "heaviest items, of which some part has several" : "heaviest item"};
    }
    return bound;
}

static bool is_whole(const rf_trace *t, const double *load)
{
    for (int64_t i = 0; i < t->n; i++) {
        if (load[i] != floor(load[i]) || load[i] > 0x1p40) {
            return false;
        }
    }
    return true;
}

int rf_bound_find(const rf_problem *p, int nparts, rf_bound *bound)
{
    const rf_trace *t = p->trace;
    APP_FREED double *load = NULL, *base = NULL;
    rf_bound sum = {0.0, NULL};

    EQP_CHECK(eqp_array_create(&load, t->n, sizeof *load));
    EQP_CHECK(eqp_array_create(&base, nparts, sizeof *base));
    for (int64_t phase = p->at; phase < p->at + p->ncycle; phase++) {
        const double *of = rf_trace_load(t, phase);
        int64_t n = 0;
        memset(base, 0, (size_t)nparts * sizeof *base);
        for (int64_t i = 0; i < t->n; i++) {
            if (p->place[i] >= 0) {
                load[n++] = of[i];
            } else {
                base[rf_problem_fixed_part(t, phase, i, nparts)] += of[i];
            }
        }
        qsort(load, (size_t)n, sizeof *load, upwards);
        qsort(base, (size_t)nparts, sizeof *base, upwards);
        const rf_bound one = bound_of_phase(n, load, nparts, base, is_whole(t, of));
        sum.load += one.load;
        sum.why = sum.why == NULL || sum.why == one.why ? one.why : "the bounds of its phases";
    }
    *bound = sum;
    return EQP_OK;
}

/* Loads of items summed over a cycle, and the parts of fixed items. */
static void fill(const rf_problem *p, int nparts, double *load, int *pinned)
{
    const rf_trace *t = p->trace;

    for (int64_t i = 0; i < t->n; i++) {
        pinned[i] = p->place[i] >= 0 ? -1 : rf_problem_fixed_part(t, p->at, i, nparts);
        load[i] = 0.0;
        for (int64_t phase = p->at; phase < p->at + p->ncycle; phase++) {
            load[i] += rf_trace_load(t, phase)[i];
        }
    }
}

int rf_bound_assign(void *user, const eqp_method *method, int nparts, const double *speed, int64_t n,
                    const double *centre, const double *seconds, int *part)
{
    const rf_problem *p = user;
    const rf_trace *t = p->trace;
    double *load = NULL, *capacity = NULL;
    int *pinned = NULL, *all = NULL;
    int64_t before = 0, count;
    rf_bound bound;
    int code;

    (void)method, (void)speed, (void)centre, (void)seconds;
    code = eqp_scan_int64(p->comm, n, &before, &count);
    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&load, t->n, sizeof *load));
    EQP_TRY(eqp_array_create(&pinned, t->n, sizeof *pinned));
    EQP_TRY(eqp_array_create(&all, t->n, sizeof *all));
    EQP_TRY(p->capped ? eqp_array_create(&capacity, nparts, sizeof *capacity) : EQP_OK);
    fill(p, nparts, load, pinned);
    if (capacity != NULL) {
        EQP_TRY(rf_memory_capacity(t, &p->capacities, nparts, capacity));
    }
    EQP_TRY(rf_bound_find(p, nparts, &bound));
    EQP_TRY(rf_pack(&(rf_packing){.trace = t,
                                  .load = load,
                                  .pinned = pinned,
                                  .nparts = nparts,
                                  .capacity = capacity,
                                  .bound = bound.load,
                                  .seed = p->seed},
                    all));
    for (int64_t k = 0; k < n; k++) { /* owners are in curve order */
        part[k] = all[p->item[before + k]];
    }
done:
    free(load);
    free(capacity);
    free(pinned);
    free(all);
    return code;
}
