/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include <equipoise/more/base.h>

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

double rf_memory_working(const rf_trace *trace, int64_t item)
{
    return trace->memory.working != NULL ? trace->memory.working[item] : 0.0;
}

int32_t rf_memory_block(const rf_trace *trace, int64_t item)
{
    return trace->memory.block != NULL ? trace->memory.block[item] : -1;
}

void rf_memory_own(const rf_trace *trace, int nparts, double *bytes)
{
    const double *of = trace->memory.rank_bytes;
    double most = 0.0;

    for (int r = 0; r < trace->nranks && of != NULL; r++) {
        most = fmax(most, of[r]);
    }
    for (int p = 0; p < nparts; p++) {
        bytes[p] = of != NULL && nparts == trace->nranks ? of[p] : most;
    }
}

/* Sorts items by block; items without a block come first. first: [nblocks + 2]. */
static void sort_by_block(const rf_trace *t, int64_t *first, int64_t *order)
{
    const int32_t n = t->memory.nblocks;

    memset(first, 0, (size_t)(n + 2) * sizeof *first);
    for (int64_t i = 0; i < t->n; i++) {
        first[rf_memory_block(t, i) + 1]++;
    }
    for (int64_t b = 0, sum = 0; b <= n + 1; b++) {
        const int64_t count = first[b];
        first[b] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < t->n; i++) {
        order[first[rf_memory_block(t, i) + 1]++] = i;
    }
    for (int32_t b = n + 1; b > 0; b--) {
        first[b] = first[b - 1];
    }
    first[0] = 0;
}

int rf_memory_of_parts(const rf_trace *t, const int *part, int nparts, double *bytes)
{
    APP_FREED int64_t *first = NULL, *order = NULL;
    APP_FREED int32_t *last = NULL;
    APP_FREED double *most = NULL;

    EQP_CHECK(eqp_array_create(&first, (int64_t)t->memory.nblocks + 2, sizeof *first));
    EQP_CHECK(eqp_array_create(&order, t->n, sizeof *order));
    EQP_CHECK(eqp_array_create(&last, nparts, sizeof *last));
    EQP_CHECK(eqp_array_create(&most, nparts, sizeof *most));
    sort_by_block(t, first, order);
    rf_memory_own(t, nparts, bytes);
    for (int64_t i = 0; i < t->n; i++) {
        bytes[part[i]] += rf_memory_held(t, i);
        most[part[i]] = fmax(most[part[i]], rf_memory_working(t, i));
    }
    for (int32_t b = 0; b < t->memory.nblocks; b++) {
        for (int64_t k = first[b + 1]; k < first[b + 2]; k++) {
            const int p = part[order[k]];
            bytes[p] += last[p] != b + 1 ? t->memory.block_bytes[b] : 0.0; /* first item of the block in this part */
            last[p] = b + 1;
        }
    }
    for (int p = 0; p < nparts; p++) {
        bytes[p] += most[p];
    }
    return EQP_OK;
}

/* Least total need of all parts, with each block in one part. least: smallest of the ranks' own bytes. */
static int least_of_all(const rf_trace *t, int nparts, double *sum, double *least)
{
    APP_FREED double *own = NULL;

    EQP_CHECK(eqp_array_create(&own, nparts, sizeof *own));
    rf_memory_own(t, nparts, own);
    *sum = 0.0;
    *least = INFINITY;
    for (int p = 0; p < nparts; p++) {
        *sum += own[p];
        *least = fmin(*least, own[p]);
    }
    for (int64_t i = 0; i < t->n; i++) {
        *sum += rf_memory_held(t, i);
    }
    for (int32_t b = 0; b < t->memory.nblocks; b++) {
        *sum += t->memory.block_bytes[b];
    }
    return EQP_OK;
}

int rf_memory_capacity(const rf_trace *trace, const eqp_capacities *capacities, int nparts, double *bytes)
{
    double sum, own;

    EQP_CHECK(least_of_all(trace, nparts, &sum, &own));
    for (int p = 0; p < nparts; p++) {
        bytes[p] = capacities->n > 0         ? capacities->bytes[p % capacities->n]
                   : capacities->of_mean > 0 ? fmax(capacities->of_mean * sum / nparts, 1.0)
                                             : INFINITY;
    }
    return EQP_OK;
}

int rf_memory_prove(const rf_trace *t, const eqp_capacities *capacities, int nparts, eqp_message *proof)
{
    double all, own, most = 0.0, sum = 0.0;

    proof->text[0] = '\0';
    if (capacities->n == 0) {
        return EQP_OK;
    }
    EQP_CHECK(least_of_all(t, nparts, &all, &own));
    for (int p = 0; p < nparts; p++) {
        most = fmax(most, capacities->bytes[p % capacities->n]);
        sum += capacities->bytes[p % capacities->n];
    }
    if (all > sum) {
        eqp_message_set(proof, "all items, blocks and ranks need %.4g bytes, and all parts have %.4g", all, sum);
    }
    for (int64_t i = 0; i < t->n && proof->text[0] == '\0'; i++) {
        const int32_t block = rf_memory_block(t, i);
        const double needs =
            own + rf_memory_held(t, i) + rf_memory_working(t, i) + (block >= 0 ? t->memory.block_bytes[block] : 0.0);
        if (needs > most) {
            eqp_message_set(proof, "item %lld alone needs %.4g bytes, and no part has more than %.4g",
                            (long long)t->id[i], needs, most);
        }
    }
    return EQP_OK;
}
