/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool rf_memory_known(const rf_trace *trace, bool capped)
{
    return trace->memory.held != NULL || (capped && trace->bytes != NULL);
}

double rf_memory_held(const rf_trace *trace, int64_t item)
{
    return trace->memory.held != NULL ? trace->memory.held[item]
           : trace->bytes != NULL     ? (double)trace->bytes[item]
                                      : 0.0;
}

static double working_of(const rf_trace *t, int64_t item)
{
    return t->memory.working != NULL ? t->memory.working[item] : 0.0;
}

static int32_t block_of(const rf_trace *t, int64_t item)
{
    return t->memory.block != NULL ? t->memory.block[item] : -1;
}

double rf_memory_own(const rf_trace *trace, int part, int nparts)
{
    double most = 0.0;

    if (trace->memory.rank_bytes == NULL) {
        return 0.0;
    }
    if (nparts == trace->nranks) {
        return trace->memory.rank_bytes[part];
    }
    for (int r = 0; r < trace->nranks; r++) {
        most = fmax(most, trace->memory.rank_bytes[r]);
    }
    return most;
}

/* Items by block: those without one first. first: [nblocks + 2]. */
static void sort_by_block(const rf_trace *t, int64_t *first, int64_t *order)
{
    const int32_t n = t->memory.nblocks;

    memset(first, 0, (size_t)(n + 2) * sizeof *first);
    for (int64_t i = 0; i < t->n; i++) {
        first[block_of(t, i) + 1]++;
    }
    for (int64_t b = 0, sum = 0; b <= n + 1; b++) {
        const int64_t count = first[b];
        first[b] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < t->n; i++) {
        order[first[block_of(t, i) + 1]++] = i;
    }
    for (int32_t b = n + 1; b > 0; b--) {
        first[b] = first[b - 1];
    }
    first[0] = 0;
}

int rf_memory_of_parts(const rf_trace *trace, const int *part, int nparts, double *bytes)
{
    const rf_trace *const t = trace;
    int64_t *first = NULL, *order = NULL;
    int32_t *last = NULL;
    double *most = NULL;
    int code;

    EQP_TRY(eqp_array_create(&first, (int64_t)t->memory.nblocks + 2, sizeof *first));
    EQP_TRY(eqp_array_create(&order, t->n, sizeof *order));
    EQP_TRY(eqp_array_create(&last, nparts, sizeof *last));
    EQP_TRY(eqp_array_create(&most, nparts, sizeof *most));
    sort_by_block(t, first, order);
    for (int p = 0; p < nparts; p++) {
        bytes[p] = 0.0;
    }
    for (int64_t i = 0; i < t->n; i++) {
        bytes[part[i]] += rf_memory_held(t, i);
        most[part[i]] = fmax(most[part[i]], working_of(t, i));
    }
    for (int32_t b = 0; b < t->memory.nblocks; b++) {
        for (int64_t k = first[b + 1]; k < first[b + 2]; k++) {
            const int p = part[order[k]];
            bytes[p] += last[p] != b + 1 ? t->memory.block_bytes[b] : 0.0; /* the first one of the block there */
            last[p] = b + 1;
        }
    }
    const double own = rf_memory_own(t, 0, nparts);
    for (int p = 0; p < nparts; p++) {
        bytes[p] += most[p] + (nparts == t->nranks ? rf_memory_own(t, p, nparts) : own);
    }
done:
    free(first);
    free(order);
    free(last);
    free(most);
    return code;
}

/* Least total need of all parts: each block stands in one part. */
static double least_of_all(const rf_trace *t, int nparts)
{
    const double own = rf_memory_own(t, 0, nparts);
    double sum = 0.0;

    for (int p = 0; p < nparts; p++) {
        sum += nparts == t->nranks ? rf_memory_own(t, p, nparts) : own;
    }
    for (int64_t i = 0; i < t->n; i++) {
        sum += rf_memory_held(t, i);
    }
    for (int32_t b = 0; b < t->memory.nblocks; b++) {
        sum += t->memory.block_bytes[b];
    }
    return sum;
}

void rf_memory_capacity(const rf_trace *trace, const eqp_capacities *capacities, int nparts, double *bytes)
{
    const double mean = capacities->of_mean > 0 ? least_of_all(trace, nparts) / nparts : 0.0;

    for (int p = 0; p < nparts; p++) {
        bytes[p] = capacities->n > 0         ? capacities->bytes[p % capacities->n]
                   : capacities->of_mean > 0 ? capacities->of_mean * mean
                                             : INFINITY;
    }
}

void rf_memory_prove(const rf_trace *trace, const eqp_capacities *capacities, int nparts, eqp_message *proof)
{
    const rf_trace *const t = trace;
    const double all = least_of_all(t, nparts);
    double own = INFINITY, most = 0.0, sum = 0.0;

    proof->text[0] = '\0';
    if (capacities->n == 0) {
        return;
    }
    for (int p = 0; p < nparts; p++) {
        const double has = capacities->bytes[p % capacities->n];
        most = fmax(most, has);
        sum += has;
    }
    for (int p = 0; p < (nparts == t->nranks ? nparts : 1); p++) {
        own = fmin(own, rf_memory_own(t, p, nparts));
    }
    for (int64_t i = 0; i < t->n; i++) {
        const int32_t block = block_of(t, i);
        const double needs =
            own + rf_memory_held(t, i) + working_of(t, i) + (block >= 0 ? t->memory.block_bytes[block] : 0.0);
        if (needs > most) {
            eqp_message_set(proof, "item %lld alone needs %.4g bytes, and no part has more than %.4g",
                            (long long)t->id[i], needs, most);
            return;
        }
    }
    if (all > sum) {
        eqp_message_set(proof, "all items, blocks and ranks need %.4g bytes, and all parts have %.4g", all, sum);
    }
}
