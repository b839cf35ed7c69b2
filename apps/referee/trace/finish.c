/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts rows into the tables of a trace. */
#include "build.h"

#include <stdlib.h>
#include <string.h>

/* Limits the table of a trace in which few items occur in a phase. */
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

/* place [t->n]: rank of each kept item by number; sorted: the kept items; *n: their count. */
static int sort_ids(const rf_keys *t, const rf_kept_item *keep, int64_t **sorted, int64_t **place, int64_t *n)
{
    RF_FREED numbered *all = NULL;

    *n = 0;
    EQP_CHECK(eqp_array_create(&all, t->n, sizeof *all));
    EQP_CHECK(eqp_array_create(sorted, t->n, sizeof **sorted));
    EQP_CHECK(eqp_array_create(place, t->n, sizeof **place));
    for (int64_t i = 0; i < t->n; i++) {
        (*place)[i] = -1;
        if (keep == NULL || keep[i].seen) {
            all[(*n)++] = (numbered){t->word[i], i};
        }
    }
    qsort(all, (size_t)*n, sizeof *all, by_id);
    for (int64_t i = 0; i < *n; i++) {
        (*sorted)[i] = all[i].id;
        (*place)[all[i].index] = i;
    }
    return EQP_OK;
}

/* Number of loads that copy_rows() will copy. */
static int64_t count_copies(const rf_build *b, const int64_t *own, const rf_trace *t);

static int check_size(const rf_build *b, const int64_t *own, const rf_trace *t)
{
    const double cells = (double)t->n * (double)t->nrows;

    if (b->nrows == 0) {
        return rf_build_refuse_at(b, 0, RF_NONE, "there are no items");
    }
    if (cells > CELLS_AT_LEAST && cells > CELLS_PER_ROW * ((double)b->nrows + (double)count_copies(b, own, t))) {
        return rf_build_refuse_at(b, 0, RF_NONE, "%lld items and %lld phases, but only %lld loads", (long long)t->n,
                                  (long long)t->nrows, (long long)b->nrows);
    }
    return EQP_OK;
}

/* Fills data per item and moves the build's names into the trace. */
static int fill_items(rf_build *b, const int64_t *place, rf_trace *t)
{
    EQP_CHECK(b->held ? eqp_array_create(&t->fixed, t->n, sizeof *t->fixed) : EQP_OK);
    EQP_CHECK(b->sized ? eqp_array_create(&t->bytes, t->n, sizeof *t->bytes) : EQP_OK);
    EQP_CHECK(b->placed ? eqp_array_create(&t->centre, 3 * t->n, sizeof *t->centre) : EQP_OK);
    EQP_CHECK(b->named ? eqp_array_create(&t->name, t->n, sizeof *t->name) : EQP_OK);
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
            EQP_CHECK(rf_build_refuse_at(b, 0, RF_NONE, "item %lld has no position, but some items have",
                                         (long long)t->id[to]));
        }
        if (b->placed) {
            memcpy(t->centre + 3 * to, item->centre, sizeof item->centre);
        }
        if (b->named) {
            t->name[to] = item->name;
            item->name = NULL;
        }
    }
    return EQP_OK;
}

/* In phases without an item its rank is that of the previous phase, else of the next one. */
static void fill_ranks(rf_trace *t)
{
    for (int64_t i = 0; i < t->n; i++) {
        int32_t last = -1;
        for (int64_t r = 0; r < t->nrows; r++) {
            int32_t *rank = &t->rank[r * t->n + i];
            last = *rank = *rank >= 0 ? *rank : last;
        }
        for (int64_t r = t->nrows - 1; r >= 0; r--) {
            int32_t *rank = &t->rank[r * t->n + i];
            last = *rank = *rank >= 0 ? *rank : last;
        }
    }
}

/* First phase with a number >= the given one. */
static int64_t first_phase(const rf_trace *t, int64_t number)
{
    int64_t low = 0, high = t->nphases;

    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (t->phase[middle] < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Phases that only repeat their predecessor share its row. own: [nphases + 1] number of earlier phases with rows of
 * their own. */
static int share_rows(const rf_build *b, const int64_t *phase, rf_trace *t, int64_t **own)
{
    RF_FREED bool *told = NULL;

    EQP_CHECK(eqp_array_create(&told, t->nphases, sizeof *told));
    EQP_CHECK(eqp_array_create(&t->like, t->nphases, sizeof *t->like));
    EQP_CHECK(eqp_array_create(&t->row, t->nphases, sizeof *t->row));
    EQP_CHECK(eqp_array_create(own, t->nphases + 1, sizeof **own));
    for (int64_t r = 0; r < b->nrows; r++) {
        told[phase[b->row[r].phase]] = true;
    }
    for (int64_t e = 0; e < b->nedges; e++) {
        if (b->edge[e].phase >= 0) {
            told[phase[b->edge[e].phase]] = true;
        }
    }
    for (int64_t p = 0; p < t->nphases; p++) {
        const bool new = p == 0 || told[p];
        t->like[p] = new ? p : t->like[p - 1];
        t->row[p] = new ? t->nrows : t->row[p - 1];
        t->nrows += new;
        (*own)[p + 1] = t->nrows;
    }
    return EQP_OK;
}

/* Next phase with its own row that the file repeats from its predecessor; p: the last one, initially -1. */
static int64_t next_copy(const rf_trace *t, const int64_t *own, const rf_kept_repeat *repeat, int64_t p)
{
    const int64_t end = first_phase(t, repeat->last + 1);

    p = p < 0 ? first_phase(t, repeat->first) : p + 1;
    if (p < end && own[end] == own[p]) {
        return -1; /* all of them only repeat */
    }
    while (p < end && t->like[p] != p) {
        p++;
    }
    return p < end ? p : -1;
}

static int64_t count_copies(const rf_build *b, const int64_t *own, const rf_trace *t)
{
    int64_t copies = 0;

    for (int64_t k = 0; k < b->nrepeats; k++) {
        const rf_kept_repeat *repeat = &b->repeat[k];
        for (int64_t p = next_copy(t, own, repeat, -1); p >= 0; p = next_copy(t, own, repeat, p)) {
            copies += repeat->end - repeat->row;
        }
    }
    return copies;
}

static void take_load(const rf_build *b, const int64_t *item, const rf_kept_row *row, int64_t phase, rf_trace *t)
{
    const int64_t c = t->row[phase] * t->n + item[row->item];

    if (t->load[c] < 0) {
        t->load[c] = row->load;
        if (b->ranked) {
            t->rank[c] = row->rank;
        }
    }
}

/* Copies rows of files that repeat a phase in which other files have new rows. */
static void copy_rows(const rf_build *b, const int64_t *item, const int64_t *own, rf_trace *t)
{
    for (int64_t k = 0; k < b->nrepeats; k++) {
        const rf_kept_repeat *repeat = &b->repeat[k];
        for (int64_t p = next_copy(t, own, repeat, -1); p >= 0; p = next_copy(t, own, repeat, p)) {
            for (int64_t r = repeat->row; r < repeat->end; r++) {
                take_load(b, item, &b->row[r], p, t);
            }
        }
    }
}

typedef struct owned {
    int64_t rank, file;
} owned;

static int by_rank(const void *a, const void *b)
{
    const owned *x = a, *y = b;

    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) : (x->file > y->file) - (x->file < y->file);
}

static int declared_ranks(const rf_build *b, int nranks)
{
    return nranks > 0 ? nranks : b->nranks != RF_NONE ? (int)b->nranks : 0;
}

/* Each file belongs to one rank. Two files of one rank are two traces, and a rank without a file is known to be idle
 * only if ranks were declared. */
static int check_files(rf_build *b, int nranks, rf_trace *t)
{
    const int declared = declared_ranks(b, nranks);
    RF_FREED owned *files = NULL;
    int64_t n = 0, missing = -1;

    EQP_CHECK(eqp_array_create(&files, b->npaths, sizeof *files));
    for (int64_t f = 0; f < b->npaths; f++) {
        if (b->file[f].rank != RF_NONE) {
            files[n++] = (owned){b->file[f].rank, f};
        }
    }
    qsort(files, (size_t)n, sizeof *files, by_rank);
    for (int64_t k = 0; k < n; k++) {
        if (k > 0 && files[k].rank == files[k - 1].rank) {
            EQP_CHECK(rf_build_refuse_at(b, files[k].file, RF_NONE,
                                         "is of rank %lld, as is %.200s: give the files of one trace",
                                         (long long)files[k].rank, b->file[files[k - 1].file].path));
        }
        missing = missing < 0 && files[k].rank != k ? k : missing;
    }
    t->nranks = n > 0 && files[n - 1].rank >= t->nranks ? (int)files[n - 1].rank + 1 : t->nranks;
    missing = missing < 0 && n > 0 && n < declared ? n : missing;
    if (missing >= 0 && declared == 0) {
        EQP_CHECK(rf_build_refuse_at(b, files[n - 1].file, RF_NONE,
                                     "of rank %lld, but there is no file of rank %lld (--ranks N: it was idle)",
                                     (long long)files[n - 1].rank, (long long)missing));
    }
    if (missing >= 0) {
        rf_build_note(b, "there is no file of rank %lld: taken as idle", (long long)missing);
    }
    return EQP_OK;
}

static int fill_loads(const rf_build *b, const int64_t *item, const int64_t *phase, const int64_t *own, rf_trace *t)
{
    const int64_t cells = t->n * t->nrows;

    EQP_CHECK(eqp_array_create(&t->load, cells, sizeof *t->load));
    EQP_CHECK(b->ranked ? eqp_array_create(&t->rank, cells, sizeof *t->rank) : EQP_OK);
    for (int64_t c = 0; c < cells; c++) {
        t->load[c] = -1;
        if (b->ranked) {
            t->rank[c] = -1;
        }
    }
    for (int64_t r = 0; r < b->nrows; r++) {
        const rf_kept_row *row = &b->row[r];
        if (t->load[t->row[phase[row->phase]] * t->n + item[row->item]] >= 0) {
            EQP_CHECK(rf_build_refuse_at(b, row->path, row->number, "item %lld stands twice in phase %lld",
                                         (long long)b->items.word[row->item], (long long)b->phases.word[row->phase]));
        }
        take_load(b, item, row, phase[row->phase], t);
        t->nranks = row->rank >= t->nranks ? row->rank + 1 : t->nranks;
    }
    copy_rows(b, item, own, t);
    for (int64_t c = 0; c < cells; c++) {
        t->load[c] = t->load[c] < 0 ? -0.0 : t->load[c];
    }
    if (b->ranked) {
        fill_ranks(t);
    }
    return EQP_OK;
}

static int fill_nranks(const rf_build *b, int nranks, rf_trace *t)
{
    const int declared = declared_ranks(b, nranks);

    if (b->nranks != RF_NONE && b->nranks != declared) {
        return rf_build_refuse_at(b, 0, RF_NONE, "says that there are %lld ranks, not %d as --ranks says",
                                  (long long)b->nranks, declared);
    }
    if (declared > 0 && t->nranks > declared) {
        return rf_build_refuse_at(b, 0, RF_NONE, "rank %d occurs, but there are %d ranks as declared", t->nranks - 1,
                                  declared);
    }
    t->nranks = declared > 0 && b->ranked ? declared : t->nranks;
    return EQP_OK;
}

static int fill_memory(rf_build *b, const int64_t *place, rf_trace *t)
{
    rf_memory *m = &t->memory;
    double most = 0.0;

    if (!b->needy) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_array_create(&m->held, t->n, sizeof *m->held));
    EQP_CHECK(eqp_array_create(&m->working, t->n, sizeof *m->working));
    EQP_CHECK(eqp_array_create(&m->block, t->n, sizeof *m->block));
    for (int64_t i = 0; i < b->items.n; i++) {
        const rf_needs *needs = &b->item[i].needs;
        if (place[i] >= 0) {
            m->held[place[i]] = needs->held;
            m->working[place[i]] = needs->working;
            m->block[place[i]] = (int32_t)needs->block;
        }
    }
    m->nblocks = (int32_t)b->blocks.n;
    m->block_bytes = b->block_bytes;
    b->block_bytes = NULL;
    EQP_CHECK(b->rank_room > 0 ? eqp_array_create(&m->rank_bytes, t->nranks, sizeof *m->rank_bytes) : EQP_OK);
    for (int64_t r = 0; r < b->rank_room; r++) {
        most = b->rank_bytes[r] > most ? b->rank_bytes[r] : most;
    }
    for (int64_t r = 0; r < t->nranks && m->rank_bytes != NULL; r++) {
        /* Idle ranks do not state theirs. */
        m->rank_bytes[r] = r < b->rank_room && b->rank_bytes[r] > 0 ? b->rank_bytes[r] : most;
    }
    return EQP_OK;
}

/* Bin of edge e: 0 for every phase, 1 + phase, or -1 if one of its items is not in the trace. */
static int64_t bin_of(const rf_kept_edge *e, const int64_t *item, const int64_t *phase)
{
    return item[e->from] < 0 || item[e->to] < 0 ? -1 : e->phase < 0 ? 0 : 1 + phase[e->phase];
}

static int fill_edges(rf_build *b, const int64_t *item, const int64_t *phase, bool lenient, rf_trace *t)
{
    RF_FREED int64_t *next = NULL;
    int64_t at = 0;

    EQP_CHECK(eqp_array_create(&next, t->nphases + 1, sizeof *next));
    EQP_CHECK(eqp_array_create(&t->edge_first, t->nphases + 1, sizeof *t->edge_first));
    for (int64_t e = 0; e < b->nedges; e++) {
        const rf_kept_edge *edge = &b->edge[e];
        const int64_t bin = bin_of(edge, item, phase);
        if (bin >= 0) {
            next[bin]++;
        } else if (lenient) {
            t->left_out++;
        } else {
            EQP_CHECK(rf_build_refuse_at(b, edge->path, edge->number,
                                         "an edge to item %lld, which is not among the items",
                                         (long long)b->items.word[item[edge->from] < 0 ? edge->from : edge->to]));
        }
    }
    for (int64_t k = 0; k <= t->nphases; k++) {
        const int64_t count = next[k];
        next[k] = at;
        at += count;
        t->edge_first[k] = at;
    }
    t->ncommon = t->edge_first[0];
    EQP_CHECK(eqp_array_create(&t->edge, at, sizeof *t->edge));
    for (int64_t e = 0; e < b->nedges; e++) {
        const rf_kept_edge *edge = &b->edge[e];
        const int64_t bin = bin_of(edge, item, phase);
        if (bin >= 0) {
            t->edge[next[bin]++] = (rf_edge){item[edge->from], item[edge->to], edge->bytes};
        }
    }
    return EQP_OK;
}

int rf_build_finish(rf_build *b, const char *format, bool lenient, int nranks, rf_trace **trace)
{
    int64_t *item = NULL, *phase = NULL, *own = NULL;
    rf_trace *t = NULL;
    int code;

    EQP_TRY(eqp_array_create(&t, 1, sizeof *t));
    t->format = format;
    t->left_out = b->left_out;
    t->timed = !b->untimed;
    EQP_TRY(sort_ids(&b->items, b->item, &t->id, &item, &t->n));
    EQP_TRY(sort_ids(&b->phases, NULL, &t->phase, &phase, &t->nphases));
    EQP_TRY(share_rows(b, phase, t, &own));
    EQP_TRY(check_size(b, own, t));
    EQP_TRY(fill_items(b, item, t));
    EQP_TRY(check_files(b, nranks, t));
    EQP_TRY(fill_loads(b, item, phase, own, t));
    EQP_TRY(fill_nranks(b, nranks, t));
    EQP_TRY(fill_memory(b, item, t));
    free(b->row); /* the remaining arrays are smaller than the rows */
    b->row = NULL;
    EQP_TRY(fill_edges(b, item, phase, lenient, t));
    t->note = b->note;
    *trace = t;
    t = NULL;
done:
    free(item);
    free(phase);
    free(own);
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
    const rf_memory *m = &trace->memory;
    void *const array[] = {trace->id,   trace->name,    trace->fixed,  trace->centre,     trace->bytes, trace->phase,
                           trace->like, trace->row,     trace->load,   trace->rank,       m->held,      m->working,
                           m->block,    m->block_bytes, m->rank_bytes, trace->edge_first, trace->edge,  trace->source};
    for (size_t k = 0; k < sizeof array / sizeof array[0]; k++) {
        free(array[k]);
    }
    free(trace);
}

int64_t rf_trace_find_phase(const rf_trace *trace, int64_t number)
{
    const int64_t at = first_phase(trace, number);

    return at < trace->nphases && trace->phase[at] == number ? at : -1;
}
