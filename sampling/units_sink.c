/* SPDX-License-Identifier: BSD-3-Clause */
/* From the application's batches to validated chunks with integer weights. */
#include "units_internal.h"

#include <math.h>

#define CHUNK 256

bool eqp_sink_wants_centroids(const eqp_sink *sink)
{
    return sink->centroids;
}

bool eqp_sink_wants_pins(const eqp_sink *sink)
{
    return sink->pins;
}

static int weights_to_quanta(const double *weight, int64_t n, double scale, int64_t *fixed)
{
    for (int64_t i = 0; i < n; i++) {
        int code = eqp__fix(weight[i], scale, &fixed[i]);
        if (code != EQP_OK) {
            return code;
        }
        if (fixed[i] == 0 && weight[i] > 0) {
            return EQP_ERR_DATA; /* the quantum is too coarse: the sums would be worthless */
        }
    }
    return EQP_OK;
}

static bool all_finite(const double *x, int64_t n)
{
    bool finite = true;

    for (int64_t i = 0; i < n; i++) {
        finite &= isfinite(x[i]) != 0;
    }
    return finite;
}

static int batch_check(const eqp_sink *sink, const eqp_batch *batch)
{
    if (!batch || batch->n < 0 || batch->npins < 0 || batch->npins > EQP_BATCH_MAX_PINS) {
        return EQP_ERR_ARGUMENT;
    }
    if (batch->n > 0 && ((sink->centroids && !batch->centroid) || (sink->pins && batch->npins > 0 && !batch->pin))) {
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

/* One chunk, starting at interaction `at` of the batch. */
static int take_chunk(eqp_sink *sink, const eqp_batch *batch, int64_t at, int64_t n, int64_t *fixed)
{
    struct eqp__chunk chunk = {.first = sink->seen, .n = n, .weight = fixed};

    if (batch->weight) {
        int code = weights_to_quanta(batch->weight + at, n, sink->scale, fixed);
        if (code != EQP_OK) {
            return code;
        }
    }
    if (sink->centroids) {
        chunk.centroid = batch->centroid + at * sink->dim;
        if (!all_finite(chunk.centroid, n * sink->dim)) {
            return EQP_ERR_DATA;
        }
    }
    if (sink->pins && batch->npins > 0) {
        chunk.npins = batch->npins;
        chunk.pin = batch->pin + at * batch->npins;
    }
    return sink->take ? sink->take(sink->context, &chunk) : EQP_OK;
}

int eqp_sink_add(eqp_sink *sink, const eqp_batch *batch)
{
    int64_t fixed[CHUNK];

    if (!sink) {
        return EQP_ERR_ARGUMENT;
    }
    if (sink->code == EQP_OK) {
        sink->code = batch_check(sink, batch);
    }
    if (sink->code == EQP_OK && !batch->weight) {
        for (int i = 0; i < CHUNK; i++) {
            fixed[i] = (int64_t)sink->scale;
        }
    }
    for (int64_t at = 0; sink->code == EQP_OK && at < batch->n; at += CHUNK) {
        int64_t n = batch->n - at < CHUNK ? batch->n - at : CHUNK;
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

int eqp_centroid(int n, int dim, const double *position, const double *origin, double *centroid)
{
    if (n < 2 || n > 4 || dim < 1 || dim > EQP_UNITS_MAX_DIM || !position || !centroid) {
        return EQP_ERR_ARGUMENT;
    }
    for (int d = 0; d < dim; d++) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            sum += position[i * dim + d];
        }
        centroid[d] = sum / n - (origin ? origin[d] : 0);
    }
    return EQP_OK;
}
