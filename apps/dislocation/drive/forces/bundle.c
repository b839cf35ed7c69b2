/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

/* Places of the pair counts that an answer has for each target. */
enum { OF_PAIR, OF_PARALLEL, OF_RUN, TARGET_COUNTS };
static const int kind_of[TARGET_COUNTS] = {DD_KIND_PAIR, DD_KIND_PARALLEL, DD_KIND_RUN};

typedef struct head {
    int64_t segments, rows;
} head;

size_t dd_answer_force_bytes(const dd_iteration *iteration)
{
    return 6 * sizeof(double) * (size_t)iteration->touched;
}

size_t dd_answer_bytes(const dd_iteration *iteration)
{
    return dd_answer_force_bytes(iteration) + TARGET_COUNTS * sizeof(int64_t) * (size_t)iteration->ntargets;
}

void dd_answer_counts(const dd_iteration *iteration, const void *part, int64_t target, dd_counts *counts)
{
    const char *all = (const char *)part + dd_answer_force_bytes(iteration);
    int64_t count[TARGET_COUNTS];

    memcpy(count, all + (size_t)target * sizeof count, sizeof count);
    for (int k = 0; k < TARGET_COUNTS; k++) {
        counts->of[kind_of[k]] += count[k];
    }
}

typedef struct packer {
    const dd_stage *stage;
    const dd_iterations *list;
    dd_run *kept, *row; /* touched segments; rows of the bundle; owned */
    int64_t nkept, kept_room, row_room;
    head head;
} packer;

static int append(packer *p, int64_t first, int64_t n)
{
    EQP_CHECK(eqp_array_reserve(&p->row, &p->row_room, p->head.rows + 1, sizeof *p->row));
    p->row[p->head.rows++] = (dd_run){first, n};
    return EQP_OK;
}

static int append_run(packer *p, const dd_run *run)
{
    return append(p, dd_runs_place(p->kept, p->nkept, run->first), run->n);
}

static int keep_touched(packer *p, const dd_iteration *iteration, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t t = 0; t < iteration[i].ntouches; t++) {
            EQP_CHECK(dd_runs_add(&p->kept, &p->nkept, &p->kept_room, p->list->touch[iteration[i].touch + t]));
        }
    }
    for (int64_t r = 0; r < p->nkept; r++) {
        p->head.segments += p->kept[r].n;
    }
    return EQP_OK;
}

static int pack_iteration(packer *p, const dd_iteration *iteration)
{
    int64_t cell = iteration->cell;

    EQP_CHECK(append(p, iteration->ntargets, iteration->ntouches));
    for (int64_t t = 0; t < iteration->ntouches; t++) {
        EQP_CHECK(append_run(p, &p->list->touch[iteration->touch + t]));
    }
    for (int64_t t = 0; t < iteration->ntargets; t++) {
        const dd_target *target = &p->stage->target[iteration->target + t];
        dd_run runs[DD_GRID_SOURCES];
        const int n = dd_iteration_runs(p->stage, target, &cell, runs);
        EQP_CHECK(append(p, dd_runs_place(p->kept, p->nkept, target->local), n));
        for (int r = 0; r < n; r++) {
            EQP_CHECK(append_run(p, &runs[r]));
        }
    }
    return EQP_OK;
}

static size_t bundle_bytes(const head *h)
{
    return sizeof *h + 9 * sizeof(double) * (size_t)h->segments + (size_t)h->rows * sizeof(dd_run);
}

static void write_all(const packer *p, char *to)
{
    memcpy(to, &p->head, sizeof p->head);
    to += sizeof p->head;
    for (int c = 0; c < 9; c++) {
        for (int64_t r = 0; r < p->nkept; r++) {
            const size_t size = (size_t)p->kept[r].n * sizeof(double);
            memcpy(to, p->stage->columns.at[c] + p->kept[r].first, size);
            to += size;
        }
    }
    memcpy(to, p->row, (size_t)p->head.rows * sizeof *p->row);
}

static int pack(packer *p, const dd_iteration *iteration, int64_t n, char **data)
{
    EQP_CHECK(keep_touched(p, iteration, n));
    for (int64_t i = 0; i < n; i++) {
        EQP_CHECK(pack_iteration(p, &iteration[i]));
    }
    EQP_CHECK(eqp_array_create(data, (int64_t)bundle_bytes(&p->head), 1));
    write_all(p, *data);
    return EQP_OK;
}

int dd_bundle_pack(const dd_stage *stage, const dd_iterations *list, int64_t first, int64_t n, void **data,
                   size_t *bytes)
{
    packer p = {.stage = stage, .list = list};
    char *made = NULL;
    const int code = pack(&p, list->of + first, n, &made);

    free(p.kept);
    free(p.row);
    if (code == EQP_OK) {
        *data = made;
        *bytes = bundle_bytes(&p.head);
    }
    return code;
}

typedef struct opened {
    head head;
    double *memory;     /* owned */
    dd_columns columns; /* forces are 0 outside an iteration */
    const dd_run *row, *end;
    size_t answer_bytes;
} opened;

/* Reads the rows of an iteration and returns those of the next one. */
static const dd_run *read_iteration(const dd_run *row, dd_iteration *iteration)
{
    *iteration = (dd_iteration){.ntargets = row->first, .ntouches = row->n};
    row++;
    for (int64_t t = 0; t < iteration->ntouches; t++, row++) {
        iteration->touched += row->n;
    }
    for (int64_t t = 0; t < iteration->ntargets; t++) {
        row += row->n + 1;
    }
    return row;
}

static int open_bundle(const void *data, opened *o)
{
    const char *columns = (const char *)data + sizeof o->head;

    memcpy(&o->head, data, sizeof o->head);
    const int64_t n = o->head.segments;
    o->row = (const dd_run *)(const void *)(columns + 9 * sizeof(double) * (size_t)n);
    o->end = o->row + o->head.rows;
    for (const dd_run *row = o->row; row < o->end;) {
        dd_iteration iteration;
        row = read_iteration(row, &iteration);
        o->answer_bytes += dd_answer_bytes(&iteration);
    }
    EQP_CHECK(dd_columns_create(n, &o->memory, &o->columns));
    for (int k = 0; k < 9; k++) {
        memcpy(o->columns.at[k], columns + (size_t)(k * n) * sizeof(double), (size_t)n * sizeof(double));
    }
    return EQP_OK;
}

/* Moves the forces on an iteration's touched segments into the answer and clears them. */
static void write_forces(const opened *o, int64_t n, const dd_run *touch, char *to)
{
    for (int c = 0; c < 6; c++) {
        for (int64_t t = 0; t < n; t++) {
            double *force = o->columns.force[c] + touch[t].first;
            const size_t size = (size_t)touch[t].n * sizeof *force;
            memcpy(to, force, size);
            memset(force, 0, size);
            to += size;
        }
    }
}

static int compute_target(dd_batches *batches, const opened *o, const dd_run *target, char *to)
{
    int64_t count[TARGET_COUNTS];
    dd_counts counts = {{0}};

    dd_compute_pairs(batches->evaluator, &o->columns, target->first, (int)target->n, target + 1, &counts);
    for (int k = 0; k < TARGET_COUNTS; k++) {
        count[k] = counts.of[kind_of[k]];
    }
    memcpy(to, count, sizeof count);
    return target->n > 0 ? dd_batches_add(batches, &counts) : EQP_OK;
}

static int compute_all(dd_batches *batches, const opened *o, char *to)
{
    for (const dd_run *row = o->row; row < o->end;) {
        const dd_run *touch = row + 1, *target = touch + row->n;
        dd_iteration iteration;
        row = read_iteration(row, &iteration);
        char *counted = to + dd_answer_force_bytes(&iteration);
        dd_batches_begin(batches);
        for (; target < row; target += target->n + 1, counted += TARGET_COUNTS * sizeof(int64_t)) {
            EQP_CHECK(compute_target(batches, o, target, counted));
        }
        EQP_CHECK(dd_batches_end(batches));
        write_forces(o, iteration.ntouches, touch, to);
        to = counted;
    }
    return EQP_OK;
}

int dd_bundle_compute(dd_batches *batches, const void *data, void **answer, size_t *answer_bytes)
{
    opened o = {.memory = NULL};
    char *made = NULL;
    int code;

    EQP_TRY(open_bundle(data, &o));
    EQP_TRY(eqp_array_create(&made, (int64_t)o.answer_bytes, 1));
    EQP_TRY(compute_all(batches, &o, made));
    *answer = made;
    *answer_bytes = o.answer_bytes;
    made = NULL;
done:
    free(o.memory);
    free(made);
    return code;
}
