/* SPDX-License-Identifier: BSD-3-Clause */
#include "window.h"

/* Distance of two ranks' numbers of segments: a cache line. */
#define LINE 8

/* Finds the parts of the memory, or with NULL their size. parts: of the far field. */
static int64_t lay_out(dd_window *w, const dd_far_parts *parts, char *memory)
{
    const int64_t nranks = w->nranks, columns = 9 + 6 * nranks;
    const int64_t bytes[] = {nranks * LINE * (int64_t)sizeof *w->nown,
                             nranks * w->nwords * (int64_t)sizeof *w->touched,
                             w->room * (int64_t)sizeof *w->key,
                             w->room * (int64_t)sizeof *w->sent,
                             columns * (w->room + DD_LANES) * (int64_t)sizeof *w->columns,
                             nranks * w->ncells * (int64_t)sizeof *w->count,
                             w->room * (int64_t)sizeof *w->home,
                             dd_waves_shared(parts) * (int64_t)sizeof *w->far};
    char *part[8];
    int64_t at = 0;

    for (int i = 0; i < 8; i++) {
        part[i] = memory == NULL ? NULL : memory + at;
        at += (bytes[i] + 63) / 64 * 64;
    }
    w->nown = (int64_t *)(void *)part[0];
    w->touched = (uint64_t *)(void *)part[1];
    w->key = (dd_segment_key *)(void *)part[2];
    w->sent = (dd_segment_key *)(void *)part[3];
    w->columns = (double *)(void *)part[4];
    w->count = (int *)(void *)part[5];
    w->home = (int *)(void *)part[6];
    w->far = (double *)(void *)part[7];
    return at;
}

void dd_window_close(dd_window *window)
{
    eqp_node_free(window->node);
    *window = (dd_window){.lost = window->lost};
}

/* Without memory the window is lost. Collective; the same code on all ranks. */
static int make_room(dd_window *w, int64_t ncells, const dd_far_parts *parts, int64_t room)
{
    char *memory = NULL;
    int code;

    w->ncells = ncells;
    w->nwords = (ncells + 63) / 64;
    w->room = room;
    code = eqp_node_share(w->node, lay_out(w, parts, NULL), &memory);
    w->lost = code == EQP_ERR_MEMORY;
    if (code == EQP_OK) {
        (void)lay_out(w, parts, memory);
    } else {
        dd_window_close(w);
    }
    return w->lost ? EQP_OK : code;
}

int dd_window_open(eqp_node *node, dd_window *window)
{
    const eqp_node_shape *shape = eqp_node_view(node);
    const dd_far_parts none = {.nparts = 0};

    *window = (dd_window){.node = node, .nranks = shape->nranks, .rank = shape->rank};
    return make_room(window, 0, &none, 0);
}

/* Makes memory for the segments of all ranks, a quarter more than there are. n: of all. Without memory the window is
 * lost. */
static int reserve(dd_window *w, const dd_stage *stage, int code, int64_t *n)
{
    while (w->node != NULL) {
        w->nown[w->rank * LINE] = stage->nown;
        EQP_CHECK(eqp_node_meet(w->node, code));
        *n = 0;
        for (int r = 0; r < w->nranks; r++) {
            *n += w->nown[r * LINE];
        }
        if (*n <= w->room && stage->grid.ncells == w->ncells) {
            return EQP_OK;
        }
        EQP_CHECK(make_room(w, stage->grid.ncells, &stage->field.parts, *n + *n / 4));
    }
    return EQP_OK;
}

/* The place of a rank's first key in `sent`. */
static int64_t sent_from(const dd_window *w, int rank)
{
    int64_t first = 0;

    for (int r = 0; r < rank; r++) {
        first += w->nown[r * LINE];
    }
    return first;
}

/* Tells the other ranks of this rank's segments. */
static void tell(const dd_window *w, const uint64_t *touched, const dd_entry *entries, int64_t n)
{
    dd_segment_key *sent = w->sent + sent_from(w, w->rank);
    int *count = w->count + w->rank * w->ncells;

    memcpy(w->touched + w->rank * w->nwords, touched, (size_t)w->nwords * sizeof *touched);
    memset(count, 0, (size_t)w->ncells * sizeof *count);
    for (int64_t i = 0; i < n; i++) {
        count[entries[i].cell]++;
        sent[i] = entries[i].key;
    }
}

static int create_local(const dd_window *w, int64_t n, dd_stage *stage)
{
    const int64_t height = w->room + DD_LANES;

    stage->window = w;
    stage->n = n;
    stage->key = w->key;
    for (int c = 0; c < 9; c++) {
        stage->columns.at[c] = w->columns + c * height;
    }
    for (int c = 0; c < 6; c++) {
        stage->columns.force[c] = w->columns + (9 + 6 * w->rank + c) * height;
    }
    EQP_CHECK(eqp_array_create(&stage->source, n, sizeof *stage->source));
    EQP_CHECK(eqp_array_create(&stage->cell_first, w->ncells + 1, sizeof *stage->cell_first));
    return eqp_array_create(&stage->alone, w->ncells, sizeof *stage->alone);
}

/* Places this rank's segments of a cell among those of all ranks. first: of all of them. next: [nranks] the first key
 * of each rank in this cell. own: the first entry. */
static void place_in_cell(const dd_window *w, int64_t cell, int64_t first, const dd_segment_key *const *next,
                          const dd_entry *own, const dd_stage *stage)
{
    const int *count = w->count + cell; /* of rank r: count[r * ncells] */
    const int n = count[w->rank * w->ncells];

    for (int i = 0; i < n; i++) {
        stage->own_local[own[i].source] = first + i;
    }
    for (int r = 0; r < w->nranks; r++) {
        for (int i = 0, before = 0; r != w->rank && count[r * w->ncells] > 0 && i < n; i++) {
            while (before < count[r * w->ncells] && dd_by_2_words(&next[r][before], &own[i].key) < 0) {
                before++;
            }
            stage->own_local[own[i].source] += before;
        }
    }
    for (int i = 0; i < n; i++) {
        const int64_t local = stage->own_local[own[i].source];
        w->key[local] = own[i].key;
        w->home[local] = w->rank;
    }
}

static int place_all(const dd_domain *domain, int64_t n, const dd_entry *own, dd_stage *stage)
{
    const dd_window *w = domain->window;
    DD_FREED const dd_segment_key **next = NULL;
    int64_t first = 0;

    EQP_CHECK(create_local(w, n, stage));
    EQP_CHECK(eqp_array_create(&next, w->nranks, sizeof *next));
    for (int r = 0; r < w->nranks; r++) {
        next[r] = w->sent + sent_from(w, r);
    }
    for (int64_t c = 0; c < w->ncells; c++) {
        place_in_cell(w, c, first, next, own, stage);
        own += w->count[w->rank * w->ncells + c];
        for (int r = 0; r < w->nranks; r++) {
            next[r] += w->count[r * w->ncells + c];
            first += w->count[r * w->ncells + c];
        }
        stage->cell_first[c + 1] = first;
    }
    return dd_field_count(domain, &stage->grid, w->count, &stage->field);
}

int dd_window_place(const dd_domain *domain, const uint64_t *touched, const dd_entry *entries, int code,
                    dd_stage *stage, bool *placed)
{
    dd_window *w = domain->window;
    int64_t n = 0;

    *placed = false;
    EQP_CHECK(reserve(w, stage, code, &n));
    if (w->node == NULL) {
        return EQP_OK;
    }
    tell(w, touched, entries, stage->nown);
    EQP_CHECK(eqp_node_meet(w->node, EQP_OK));
    EQP_CHECK(eqp_node_meet(w->node, place_all(domain, n, entries, stage)));
    for (int64_t i = 0; i < n; i++) {
        stage->source[i] = -1 - w->home[i];
    }
    for (int64_t s = 0; s < stage->nown; s++) {
        stage->source[stage->own_local[s]] = s;
    }
    *placed = true;
    return EQP_OK;
}

static bool touches(const dd_window *w, int rank, int64_t cell)
{
    return (w->touched[rank * w->nwords + cell / 64] >> cell % 64 & 1) != 0;
}

bool dd_stage_has(const dd_stage *stage, int64_t cell)
{
    return stage->window == NULL || touches(stage->window, stage->window->rank, cell);
}

void dd_window_clear(const dd_stage *stage)
{
    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        const int64_t first = stage->cell_first[c], n = stage->cell_first[c + 1] - first;
        for (int k = 0; k < 6 && n > 0 && dd_stage_has(stage, c); k++) {
            memset(stage->columns.force[k] + first, 0, (size_t)n * sizeof(double));
        }
    }
}

/* Adds the forces by the other ranks on consecutive own segments of a cell. */
static void add_forces(const dd_stage *stage, int64_t cell, int64_t first, int64_t end)
{
    const dd_window *w = stage->window;

    for (int r = 0; r < w->nranks; r++) {
        for (int k = 0; k < 6 && r != w->rank && touches(w, r, cell); k++) {
            const double *theirs = w->columns + (9 + 6 * r + k) * (w->room + DD_LANES);
            double *mine = stage->columns.force[k];
            for (int64_t i = first; i < end; i++) {
                mine[i] += theirs[i];
            }
        }
    }
}

int dd_window_gather(const dd_stage *stage, int code)
{
    const dd_window *w = stage->window;

    EQP_CHECK(eqp_node_meet(w->node, code));
    for (int64_t c = 0; c < w->ncells; c++) {
        const int64_t last = w->count[w->rank * w->ncells + c] > 0 ? stage->cell_first[c + 1] : 0;
        for (int64_t i = stage->cell_first[c], end; i < last; i = end) {
            for (end = i + 1; end < last && (stage->source[end] >= 0) == (stage->source[i] >= 0);) {
                end++;
            }
            if (stage->source[i] >= 0) {
                add_forces(stage, c, i, end);
            }
        }
    }
    return EQP_OK;
}
