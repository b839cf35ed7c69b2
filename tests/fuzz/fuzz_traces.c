/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of any format that equipoise-compare reads. If the first byte exceeds 127, everything after a line "===" goes
 * into a file of edges. HDF5 containers are skipped, see hdf5_make.h. */
#include "fuzz.h"

#include "trace.h"

#include <math.h>

static void check(const rf_trace *t)
{
    fuzz_require(t->n >= 1 && t->nphases >= 1 && t->nranks >= 0 && t->nranks <= RF_MOST_RANKS);
    for (int64_t i = 0; i < t->n; i++) {
        fuzz_require(t->id[i] >= 0 && (i == 0 || t->id[i - 1] < t->id[i]));
        fuzz_require(t->bytes == NULL || t->bytes[i] >= 0);
        for (int d = 0; d < 3 && t->centre != NULL; d++) {
            fuzz_require(isfinite(t->centre[3 * i + d]));
        }
    }
    for (int64_t p = 0; p < t->nphases; p++) {
        fuzz_require(t->phase[p] >= 0 && (p == 0 || t->phase[p - 1] < t->phase[p]));
        fuzz_require(rf_trace_find_phase(t, t->phase[p]) == p);
    }
    for (int64_t p = 0; p < t->nphases; p++) {
        fuzz_require(t->like[p] >= 0 && t->like[p] <= p && t->row[p] == t->row[t->like[p]] && t->row[p] < t->nrows);
    }
    for (int64_t i = 0; i < t->n && t->memory.held != NULL; i++) {
        fuzz_require(t->memory.held[i] >= 0 && t->memory.working[i] >= 0 && t->memory.block[i] < t->memory.nblocks);
    }
    for (int64_t c = 0; c < t->n * t->nrows; c++) {
        fuzz_require(isfinite(t->load[c]) && t->load[c] >= 0);
        fuzz_require(t->rank == NULL || (t->rank[c] >= 0 && t->rank[c] < t->nranks));
    }
    fuzz_require(t->ncommon >= 0 && t->edge_first[0] == t->ncommon);
    for (int64_t p = 0; p < t->nphases; p++) {
        fuzz_require(t->edge_first[p] <= t->edge_first[p + 1]);
    }
    for (int64_t e = 0; e < t->edge_first[t->nphases]; e++) {
        const rf_edge *edge = &t->edge[e];
        fuzz_require(edge->from >= 0 && edge->from < t->n && edge->to >= 0 && edge->to < t->n && edge->bytes >= -1);
    }
}

static const uint8_t *find(const uint8_t *data, size_t size, const void *what, size_t length)
{
    for (size_t i = 0; i + length <= size; i++) {
        if (memcmp(data + i, what, length) == 0) {
            return data + i;
        }
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t border[] = {'\n', '=', '=', '=', '\n'};
    static const uint8_t hdf5[] = {0x89, 'H', 'D', 'F'};
    const char *path = fuzz_path("trace"), *edges = NULL;
    const uint8_t *cut = NULL;
    rf_trace *trace = NULL;
    eqp_message message = {""};
    int code;

    if (size == 0 || find(data, size, hdf5, sizeof hdf5) != NULL) {
        return 0;
    }
    if (data[0] > 127) {
        cut = find(data, size, border, sizeof border);
    }
    data++;
    size--;
    if (cut != NULL && cut >= data) {
        edges = fuzz_path("edges");
        fuzz_save(edges, cut + sizeof border, (size_t)(data + size - cut) - sizeof border);
        size = (size_t)(cut - data);
    }
    fuzz_save(path, data, size);
    code = rf_trace_read(1, &path, &(rf_trace_known){.edges = edges, .phase = 1}, &trace, &message);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_FORMAT || code == EQP_ERR_DATA || code == EQP_ERR_OVERFLOW);
        fuzz_require(trace == NULL);
        fuzz_require_line(&message);
        fuzz_require(strncmp(message.text, path, strlen(path)) == 0 ||
                     (edges != NULL && strncmp(message.text, edges, strlen(edges)) == 0));
        return 0;
    }
    check(trace);
    rf_trace_free(trace);
    return 0;
}
