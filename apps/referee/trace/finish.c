/* SPDX-License-Identifier: BSD-3-Clause */
/* From rows to the tables of a trace. */
#include "kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trace in which items and phases hardly meet would make a table of nothing. */
#define CELLS_PER_ROW 64
#define CELLS_AT_LEAST (INT64_C(1) << 20)

typedef struct numbered {
    int64_t id, index;
} numbered;

static int by_id(const void *a, const void *b)
{
    const int64_t x = ((const numbered *)a)->id, y = ((const numbered *)b)->id;

    return (x > y) - (x < y);
}

/* place [t->n]: of each among those that `keep`, by number; sorted: those; *n: how many. */
static int sort_ids(const rf_ids *t, const rf_kept_item *keep, int64_t **sorted, int64_t **place, int64_t *n)
{
    numbered *all = NULL;
    int code;

    *n = 0;
    EQP_TRY(eqp_array_create(&all, t->n, sizeof *all));
    EQP_TRY(eqp_array_create(sorted, t->n, sizeof **sorted));
    EQP_TRY(eqp_array_create(place, t->n, sizeof **place));
    for (int64_t i = 0; i < t->n; i++) {
        (*place)[i] = -1;
        if (keep == NULL || keep[i].seen) {
            all[(*n)++] = (numbered){t->id[i], i};
        }
    }
    qsort(all, (size_t)*n, sizeof *all, by_id);
    for (int64_t i = 0; i < *n; i++) {
        (*sorted)[i] = all[i].id;
        (*place)[all[i].index] = i;
    }
done:
    free(all);
    return code;
}

static int check_size(const rf_build *b, int64_t n, int64_t nphases, eqp_message *message)
{
    const double cells = (double)n * (double)nphases;

    if (b->nrows == 0) {
        eqp_message_set(message, "%.250s: there are no items", b->path[0]);
        return EQP_ERR_DATA;
    }
    if (cells > CELLS_AT_LEAST && cells > CELLS_PER_ROW * (double)b->nrows * (double)(1 + b->nrepeats)) {
        eqp_message_set(message, "%.250s: %lld items and %lld phases, but only %lld loads", b->path[0], (long long)n,
                        (long long)nphases, (long long)b->nrows);
        return EQP_ERR_DATA;
    }
    return EQP_OK;
}

/* Per item. The build's names become the trace's. */
static int fill_items(rf_build *b, const int64_t *place, rf_trace *t, eqp_message *message)
{
    int code = EQP_OK;

    EQP_TRY(b->held ? eqp_array_create(&t->fixed, t->n, sizeof *t->fixed) : EQP_OK);
    EQP_TRY(b->sized ? eqp_array_create(&t->bytes, t->n, sizeof *t->bytes) : EQP_OK);
    EQP_TRY(b->placed ? eqp_array_create(&t->centre, 3 * t->n, sizeof *t->centre) : EQP_OK);
    EQP_TRY(b->named ? eqp_array_create(&t->name, t->n, sizeof *t->name) : EQP_OK);
    for (int64_t i = 0; i < b->items.n; i++) {
        rf_kept_item *item = &b->item[i];
        const int64_t to = place[i];
        if (to < 0) {
            continue;
        }
        if (b->held) {
            t->fixed[to] = item->fixed;
        }
        if (b->sized) {
            t->bytes[to] = item->bytes != RF_NONE ? item->bytes : 0;
        }
        if (b->placed && item->centre_phase == RF_NONE && !item->fixed) {
            eqp_message_set(message, "%.250s: item %lld has no position, others have", b->path[0],
                            (long long)t->id[to]);
            EQP_TRY(EQP_ERR_DATA);
        }
        if (b->placed) {
            memcpy(t->centre + 3 * to, item->centre, sizeof item->centre);
        }
        if (b->named) {
            t->name[to] = item->name;
            item->name = NULL;
        }
    }
done:
    return code;
}

/* Who had an item in phases in which it was not there: whoever had it before, else whoever has it next. */
static void fill_ranks(rf_trace *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        int32_t last = -1;
        for (int64_t p = 0; p < t->nphases; p++) {
            int32_t *rank = &t->rank[p * t->n + i];
            last = *rank = *rank >= 0 ? *rank : last;
        }
        for (int64_t p = t->nphases - 1; p >= 0; p--) {
            int32_t *rank = &t->rank[p * t->n + i];
            last = *rank = *rank >= 0 ? *rank : last;
        }
    }
}

/* The loads of a phase that is like another one. */
static void repeat_phases(const rf_build *b, rf_trace *t)
{
    for (int64_t k = 0; k < b->nrepeats; k++) {
        const int64_t to = rf_trace_find_phase(t, b->repeat[2 * k]), of = rf_trace_find_phase(t, b->repeat[2 * k + 1]);
        if (of >= 0 && to != of) {
            memcpy(t->load + to * t->n, t->load + of * t->n, (size_t)t->n * sizeof *t->load);
            if (t->rank != NULL) {
                memcpy(t->rank + to * t->n, t->rank + of * t->n, (size_t)t->n * sizeof *t->rank);
            }
        }
    }
}

/* Loads and ranks of all phases. */
static int fill_loads(const rf_build *b, const int64_t *item, const int64_t *phase, rf_trace *t, eqp_message *message)
{
    const int64_t cells = t->n * t->nphases;
    int code;

    EQP_TRY(eqp_array_create(&t->load, cells, sizeof *t->load));
    EQP_TRY(b->ranked ? eqp_array_create(&t->rank, cells, sizeof *t->rank) : EQP_OK);
    for (int64_t c = 0; c < cells; c++) {
        t->load[c] = -1;
        if (b->ranked) {
            t->rank[c] = -1;
        }
    }
    for (int64_t r = 0; r < b->nrows; r++) {
        const rf_kept_row *row = &b->row[r];
        const int64_t c = phase[row->phase] * t->n + item[row->item];
        if (t->load[c] >= 0) {
            char what[100];
            snprintf(what, sizeof what, "item %lld stands twice in phase %lld", (long long)b->items.id[row->item],
                     (long long)b->phases.id[row->phase]);
            rf_build_say(b->path[row->path], b->unit, row->number, what, message);
            EQP_TRY(EQP_ERR_DATA);
        }
        t->load[c] = row->load;
        if (b->ranked) {
            t->rank[c] = row->rank;
            t->nranks = row->rank >= t->nranks ? row->rank + 1 : t->nranks;
        }
    }
    for (int64_t c = 0; c < cells; c++) {
        t->load[c] = t->load[c] < 0 ? -0.0 : t->load[c];
    }
    repeat_phases(b, t);
    if (b->ranked) {
        fill_ranks(t);
    }
done:
    return code;
}

/* Where edge e belongs: 0 for those of every phase, 1 + phase, or -1 where it is left out. */
static int place_edge(const rf_build *b, const rf_kept_edge *e, const int64_t *item, const int64_t *phase, bool lenient,
                      int64_t *bin, eqp_message *message)
{
    *bin = item[e->from] < 0 || item[e->to] < 0 ? -1 : e->phase < 0 ? 0 : 1 + phase[e->phase];
    if (*bin < 0 && !lenient) {
        char what[100];
        snprintf(what, sizeof what, "an edge to item %lld, which is not among the items",
                 (long long)b->items.id[item[e->from] < 0 ? e->from : e->to]);
        rf_build_say(b->path[e->path], b->unit, e->number, what, message);
        return EQP_ERR_DATA;
    }
    return EQP_OK;
}

static int fill_edges(rf_build *b, const int64_t *item, const int64_t *phase, bool lenient, rf_trace *t,
                      eqp_message *message)
{
    int64_t *next = NULL, bin, at = 0;
    int code;

    EQP_TRY(eqp_array_create(&next, t->nphases + 1, sizeof *next));
    EQP_TRY(eqp_array_create(&t->edge_first, t->nphases + 1, sizeof *t->edge_first));
    for (int64_t e = 0; e < b->nedges; e++) {
        EQP_TRY(place_edge(b, &b->edge[e], item, phase, lenient, &bin, message));
        t->left_out += bin < 0;
        if (bin >= 0) {
            next[bin]++;
        }
    }
    for (int64_t k = 0; k <= t->nphases; k++) {
        const int64_t count = next[k];
        next[k] = at;
        at += count;
        t->edge_first[k] = at;
    }
    t->ncommon = t->edge_first[0];
    EQP_TRY(eqp_array_create(&t->edge, at, sizeof *t->edge));
    for (int64_t e = 0; e < b->nedges; e++) {
        const rf_kept_edge *edge = &b->edge[e];
        (void)place_edge(b, edge, item, phase, true, &bin, message);
        if (bin >= 0) {
            t->edge[next[bin]++] = (rf_edge){item[edge->from], item[edge->to], edge->bytes};
        }
    }
done:
    free(next);
    return code;
}

int rf_build_finish(rf_build *build, const char *format, bool lenient, rf_trace **trace, eqp_message *message)
{
    rf_build *const b = build;
    int64_t *item = NULL, *phase = NULL;
    rf_trace *t = NULL;
    int code;

    EQP_TRY(eqp_array_create(&t, 1, sizeof *t));
    t->format = format;
    t->left_out = b->left_out;
    EQP_TRY(sort_ids(&b->items, b->item, &t->id, &item, &t->n));
    EQP_TRY(sort_ids(&b->phases, NULL, &t->phase, &phase, &t->nphases));
    EQP_TRY(check_size(b, t->n, t->nphases, message));
    EQP_TRY(fill_items(b, item, t, message));
    EQP_TRY(fill_loads(b, item, phase, t, message));
    free(b->row); /* what is left is smaller than the rows */
    b->row = NULL;
    EQP_TRY(fill_edges(b, item, phase, lenient, t, message));
    t->note = b->note;
    *trace = t;
    t = NULL;
done:
    free(item);
    free(phase);
    rf_trace_free(t);
    return code;
}

void rf_trace_free(rf_trace *trace)
{
    if (trace == NULL) {
        return;
    }
    for (int64_t i = 0; i < trace->n && trace->name != NULL; i++) {
        free(trace->name[i]);
    }
    free(trace->id);
    free(trace->name);
    free(trace->fixed);
    free(trace->centre);
    free(trace->bytes);
    free(trace->phase);
    free(trace->load);
    free(trace->rank);
    free(trace->edge_first);
    free(trace->edge);
    free(trace);
}

int64_t rf_trace_find_phase(const rf_trace *trace, int64_t number)
{
    int64_t low = 0, high = trace->nphases;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (trace->phase[middle] < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < trace->nphases && trace->phase[low] == number ? low : -1;
}
