/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the application's batches to validated chunks with integer weights. */
#include "units_internal.h"

#include "memory.h"

#include <math.h>
#include <string.h>

bool eqp_sink_wants_centroids(const eqp_sink *sink)
{
    return sink && sink->centroids;
}

bool eqp_sink_wants_pins(const eqp_sink *sink)
{
    return sink && sink->pins;
}

/* One weight at a time, for invalid weights and for weights too large for the fast path below. */
static int convert_one_by_one(const double *weight, int64_t n, double scale, int64_t *fixed, int64_t *sum)
{
    *sum = 0;
    for (int64_t i = 0; i < n; i++) {
        EQP__CHECK(eqp__fix(weight[i], scale, &fixed[i]));
        EQP__FAIL_IF(fixed[i] == 0 && weight[i] > 0,
                     EQP_ERR_DATA); /* the quantum is too coarse: the sums would be worthless */
        *sum = fixed[i] < EQP__WEIGHT_LIMIT - *sum ? *sum + fixed[i] : EQP__WEIGHT_LIMIT;
    }
    return EQP_OK;
}

/* Adding ROUNDER rounds a number of at most 2^51 to the nearest integer, ties to even as llrint() does, and leaves that
 * integer in the low bits. Unlike llrint() it vectorizes. */
#define ROUNDER 0x1.8p52
#define ROUNDER_BITS INT64_C(0x4338000000000000)
#define BITS_OF_MOST INT64_C(0x4320000000000000) /* 2^51 */
#define BITS_OF_HALF INT64_C(0x3FE0000000000000)

/* Non-negative numbers are ordered like their bits as integers. The loops have no branches, so that they vectorize; the
 * signs of the masks decide. */
static int weights_to_quanta(const double *weight, int64_t n, double scale, int64_t *fixed, int64_t *sum)
{
    double quanta[EQP__CHUNK];
    uint64_t unusual = 0;
    int64_t total = 0;

    for (int64_t i = 0; i < n; i++) {
        quanta[i] = weight[i] * scale;
    }
    memcpy(fixed, quanta, (size_t)n * sizeof *fixed);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = (uint64_t)fixed[i];
        const uint64_t tiny = (bits - BITS_OF_HALF - 1) & (0 - bits); /* positive, but rounded to 0 */
        unusual |= bits | (BITS_OF_MOST - bits) | tiny;
        quanta[i] += ROUNDER;
    }
    if (unusual >> 63) {
        return convert_one_by_one(weight, n, scale, fixed, sum);
    }
    memcpy(fixed, quanta, (size_t)n * sizeof *fixed);
    for (int64_t i = 0; i < n; i++) {
        fixed[i] -= ROUNDER_BITS;
        total += fixed[i];
    }
    *sum = total;
    return EQP_OK;
}

#define EXPONENT UINT64_C(0x7FF0000000000000)

/* A number that is not finite has all exponent bits set, so adding one carries into the sign. */
static bool all_finite(const double *x, int64_t n)
{
    uint64_t bits[EQP__CHUNK], any = 0;

    for (int64_t from = 0; from < n; from += EQP__CHUNK) {
        const int64_t piece = n - from < EQP__CHUNK ? n - from : EQP__CHUNK;
        memcpy(bits, x + from, (size_t)piece * sizeof *bits);
        for (int64_t i = 0; i < piece; i++) {
            any |= (bits[i] & EXPONENT) + (EXPONENT & (0 - EXPONENT));
        }
    }
    return any >> 63 == 0;
}

static int batch_check(const eqp_sink *sink, const eqp_batch *batch)
{
    EQP__FAIL_IF(!batch || batch->n < 0 || batch->npins < 0 || batch->npins > EQP_BATCH_MAX_PINS, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(batch->n > 0 &&
                     ((sink->centroids && !batch->centroid) || (sink->pins && batch->npins > 0 && !batch->pin)),
                 EQP_ERR_ARGUMENT);
    return EQP_OK;
}

/* One chunk, starting at interaction `at` of the batch. */
static int take_chunk(eqp_sink *sink, const eqp_batch *batch, int64_t at, int64_t n, int64_t *fixed)
{
    struct eqp__chunk chunk = {.first = sink->seen, .n = n, .weight = fixed};

    if (batch->weight) {
        EQP__CHECK(weights_to_quanta(batch->weight + at, n, sink->scale, fixed, &chunk.sum));
    } else {
        chunk.sum = fixed[0] < EQP__WEIGHT_LIMIT / n ? n * fixed[0] : EQP__WEIGHT_LIMIT;
    }
    if (sink->centroids) {
        chunk.centroid = batch->centroid + at * sink->dim;
        EQP__FAIL_IF(!all_finite(chunk.centroid, n * sink->dim), EQP_ERR_DATA);
    }
    if (sink->pins && batch->npins > 0) {
        chunk.npins = batch->npins;
        chunk.pin = batch->pin + at * batch->npins;
    }
    return sink->take ? sink->take(sink->context, &chunk) : EQP_OK;
}

int eqp_sink_add(eqp_sink *sink, const eqp_batch *batch)
{
    int64_t fixed[EQP__CHUNK];

    EQP__FAIL_IF(!sink, EQP_ERR_ARGUMENT);
    if (sink->code == EQP_OK) {
        sink->code = batch_check(sink, batch);
    }
    if (sink->code == EQP_OK && !batch->weight) {
        for (int i = 0; i < EQP__CHUNK; i++) {
            fixed[i] = (int64_t)sink->scale;
        }
    }
    for (int64_t at = 0; sink->code == EQP_OK && at < batch->n; at += EQP__CHUNK) {
        int64_t n = batch->n - at < EQP__CHUNK ? batch->n - at : EQP__CHUNK;
        sink->code = take_chunk(sink, batch, at, n, fixed);
        sink->seen += n;
    }
    return sink->code;
}

int eqp__enumerate(struct eqp_sink *sink, eqp_enumerate_fn enumerate, void *user, int64_t owner)
{
    sink->seen = 0;
    sink->code = EQP_OK;
    int code = enumerate(user, owner, sink);
    return sink->code != EQP_OK ? sink->code : code;
}
