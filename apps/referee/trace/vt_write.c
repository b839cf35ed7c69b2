/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a map as vt's load data. OfflineLB takes the tasks of each phase as their destinations, and does nothing if
 * two phases are equal. So the first phases have the old places. */
#include "trace.h"

#include <equipoise/more/base.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sorted {
    int64_t *first; /* [nparts + 1] into order */
    int64_t *order; /* [n] */
} sorted;

typedef struct writing {
    const rf_trace *trace;
    int64_t at;
    int nparts;
    sorted *then; /* [rows up to that of `at`] ranks of the items in these phases */
    sorted now;   /* by the map */
} writing;

static int sort_items(const writing *w, const int32_t *rank, const int *part, sorted *s)
{
    const int64_t n = w->trace->n;
    int64_t sum = 0;

    EQP_CHECK(eqp_array_create(&s->first, (int64_t)w->nparts + 1, sizeof *s->first));
    EQP_CHECK(eqp_array_create(&s->order, n, sizeof *s->order));
    for (int64_t i = 0; i < n; i++) {
        s->first[rank != NULL ? rank[i] : part[i]]++;
    }
    for (int k = 0; k <= w->nparts; k++) {
        const int64_t count = s->first[k];
        s->first[k] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) {
        s->order[s->first[rank != NULL ? rank[i] : part[i]]++] = i;
    }
    for (int k = w->nparts; k > 0; k--) {
        s->first[k] = s->first[k - 1];
    }
    s->first[0] = 0;
    return EQP_OK;
}

/* Tasks of one part in the phase of index p, written under `number`. */
static void write_tasks(FILE *stream, const rf_trace *t, const sorted *s, int part, int64_t p, int64_t number)
{
    bool begins = true;

    fprintf(stream, "%s\n{\"id\":%" PRId64 ",\"tasks\":[", p == 0 && number == t->phase[0] ? "" : ",", number);
    for (int64_t k = s->first[part]; k < s->first[part + 1]; k++) {
        const int64_t i = s->order[k];
        const double load = rf_trace_load(t, p)[i];
        if (!signbit(load)) { /* the item was present */
            fprintf(stream, "%s\n{\"entity\":%s,\"node\":%d,\"resource\":\"cpu\",\"time\":%.17g}", begins ? "" : ",",
                    t->name[i], part, load);
            begins = false;
        }
    }
    fprintf(stream, "]}");
}

int rf_vt_path(const char *pattern, int part, char **path)
{
    const char *at = strstr(pattern, "%p");
    const size_t size = strlen(pattern) + 16;

    EQP_CHECK(eqp_array_create(path, (int64_t)size, 1));
    (void)snprintf(*path, size, "%.*s%d%s", (int)(at - pattern), pattern, part, at + 2);
    return EQP_OK;
}

/* vt requires a list of phases that the file omits. */
static void write_head(FILE *stream, const rf_trace *t, int part)
{
    int64_t next = 0;
    bool begins = true;

    fprintf(stream,
            "{\"metadata\":{\"type\":\"LBDatafile\",\"rank\":%d,\"phases\":{\"identical_to_previous\":"
            "{\"list\":[],\"range\":[]},\"skipped\":{\"list\":[],\"range\":[",
            part);
    for (int64_t p = 0; p < t->nphases; p++) {
        if (t->phase[p] > next) {
            fprintf(stream, "%s[%" PRId64 ",%" PRId64 "]", begins ? "" : ",", next, t->phase[p] - 1);
            begins = false;
        }
        next = t->phase[p] + 1;
    }
    fprintf(stream, "]}}},\"phases\":[");
}

static int write_file(const writing *w, int part, const char *pattern, eqp_message *message)
{
    const rf_trace *t = w->trace;
    eqp_output *output = NULL;
    char *path = NULL;
    int code;

    EQP_TRY(rf_vt_path(pattern, part, &path));
    EQP_TRY(eqp_output_create(path, &output, message));
    FILE *stream = eqp_output_stream(output);
    write_head(stream, t, part);
    for (int64_t p = 0; p < t->nphases; p++) {
        write_tasks(stream, t, p <= w->at ? &w->then[t->row[p]] : &w->now, part, p, t->phase[p]);
    }
    if (w->at == t->nphases - 1) {
        write_tasks(stream, t, &w->now, part, w->at, t->phase[w->at] + 1);
    }
    fprintf(stream, "]}\n");
    code = eqp_output_commit(output, message);
    output = NULL;
done:
    eqp_output_discard(output);
    free(path);
    return code;
}

int rf_vt_write(const rf_trace *trace, int64_t at, const int *part, const char *pattern, eqp_message *message)
{
    writing w = {.trace = trace, .at = at, .nparts = trace->nranks};
    const int64_t nrows = trace->row[at] + 1;
    int code;

    EQP_TRY(strstr(pattern, "%p") != NULL && trace->names_are_json ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&w.then, nrows, sizeof *w.then));
    for (int64_t r = 0; r < nrows; r++) {
        EQP_TRY(sort_items(&w, trace->rank + r * trace->n, NULL, &w.then[r]));
    }
    EQP_TRY(sort_items(&w, NULL, part, &w.now));
    for (int p = 0; p < w.nparts; p++) {
        EQP_TRY(write_file(&w, p, pattern, message));
    }
done:
    for (int64_t r = 0; r < nrows && w.then != NULL; r++) {
        free(w.then[r].first);
        free(w.then[r].order);
    }
    free(w.then);
    free(w.now.first);
    free(w.now.order);
    return code;
}
