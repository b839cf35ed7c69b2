/* SPDX-License-Identifier: BSD-3-Clause */
#include "stealing.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* Counts that an answer has for each target. */
enum { OF_PAIR, OF_PARALLEL, OF_RUN, TARGET_COUNTS };
static const int kind_of[TARGET_COUNTS] = {DD_KIND_PAIR, DD_KIND_PARALLEL, DD_KIND_RUN};

/* Parts of a bundle, by their numbers of entries. */
enum { SEGMENTS, ITERATIONS, TOUCHES, TARGETS, RUNS, PARTS };

typedef int32_t pair[2];

size_t dd_answer_force_bytes(const dd_iteration *iteration)
{
    return 6 * sizeof(double) * (size_t)iteration->touched;
}

size_t dd_answer_bytes(const dd_iteration *iteration)
{
    return dd_answer_force_bytes(iteration) + TARGET_COUNTS * sizeof(int64_t) * (size_t)iteration->ntargets;
}

int dd_answer_counts(const dd_iteration *iteration, const void *part, int64_t target, dd_counts *counts)
{
    const char *all = (const char *)part + dd_answer_force_bytes(iteration);
    int64_t count[TARGET_COUNTS];

    memcpy(count, all + (size_t)target * sizeof count, sizeof count);
    for (int k = 0; k < TARGET_COUNTS; k++) {
        if (count[k] < 0) {
            return EQP_ERR_FORMAT;
        }
        counts->of[kind_of[k]] += count[k];
    }
    return EQP_OK;
}

/* A bundle being packed. */
typedef struct packer {
    const dd_stage *stage;
    const dd_iterations *list;
    dd_run *kept; /* touched segments; owned */
    int64_t nkept, kept_room;
    int64_t n[PARTS];
    pair *of[PARTS]; /* all parts except segments; owned */
    int64_t room[PARTS];
} packer;

static int append(packer *p, int part, int64_t a, int64_t b)
{
    int code;

    EQP_TRY(eqp_array_reserve(&p->of[part], &p->room[part], p->n[part] + 1, sizeof *p->of[part]));
    if (a > INT32_MAX || b > INT32_MAX || p->n[part] == INT32_MAX) {
        EQP_TRY(EQP_ERR_OVERFLOW);
    }
    p->of[part][p->n[part]][0] = (int32_t)a;
    p->of[part][p->n[part]++][1] = (int32_t)b;
done:
    return code;
}

static int append_run(packer *p, int part, const dd_run *run)
{
    return append(p, part, dd_runs_place(p->kept, p->nkept, run->first), run->n);
}

static int keep_touched(packer *p, int64_t first, int64_t n)
{
    int code = EQP_OK;

    for (int64_t i = first; i < first + n && code == EQP_OK; i++) {
        const dd_iteration *iteration = &p->list->of[i];
        for (int64_t t = 0; t < iteration->ntouches && code == EQP_OK; t++) {
            code = dd_runs_add(&p->kept, &p->nkept, &p->kept_room, p->list->touch[iteration->touch + t]);
        }
    }
    for (int64_t r = 0; r < p->nkept; r++) {
        p->n[SEGMENTS] += p->kept[r].n;
    }
    return code == EQP_OK && p->n[SEGMENTS] > INT32_MAX ? EQP_ERR_OVERFLOW : code;
}

static int pack_iteration(packer *p, const dd_iteration *iteration)
{
    int64_t cell = iteration->cell;
    int code = append(p, ITERATIONS, iteration->ntargets, iteration->ntouches);

    for (int64_t t = 0; t < iteration->ntouches && code == EQP_OK; t++) {
        code = append_run(p, TOUCHES, &p->list->touch[iteration->touch + t]);
    }
    for (int64_t t = 0; t < iteration->ntargets && code == EQP_OK; t++) {
        const dd_target *target = &p->stage->target[iteration->target + t];
        dd_run runs[DD_GRID_SOURCES];
        const int n = dd_iteration_runs(p->stage, target, &cell, runs);
        code = append(p, TARGETS, dd_runs_place(p->kept, p->nkept, target->local), n);
        for (int r = 0; r < n && code == EQP_OK; r++) {
            code = append_run(p, RUNS, &runs[r]);
        }
    }
    return code;
}

/* Bytes of a bundle with n entries in each part. */
static size_t bundle_bytes(const int64_t n[PARTS])
{
    size_t bytes = PARTS * sizeof *n + 9 * sizeof(double) * (size_t)n[SEGMENTS];

    for (int part = ITERATIONS; part < PARTS; part++) {
        bytes += (size_t)n[part] * sizeof(pair);
    }
    return bytes;
}

static void write_all(const packer *p, char *to)
{
    memcpy(to, p->n, sizeof p->n);
    to += sizeof p->n;
    for (int c = 0; c < 9; c++) {
        for (int64_t r = 0; r < p->nkept; r++) {
            const size_t size = (size_t)p->kept[r].n * sizeof(double);
            memcpy(to, p->stage->columns.at[c] + p->kept[r].first, size);
            to += size;
        }
    }
    for (int part = ITERATIONS; part < PARTS; part++) {
        if (p->n[part] > 0) {
            memcpy(to, p->of[part], (size_t)p->n[part] * sizeof(pair));
        }
        to += (size_t)p->n[part] * sizeof(pair);
    }
}

int dd_bundle_pack(const dd_stage *stage, const dd_iterations *list, int64_t first, int64_t n, void **data,
                   size_t *bytes)
{
    packer p = {.stage = stage, .list = list};
    char *made = NULL;
    int code;

    EQP_TRY(keep_touched(&p, first, n));
    for (int64_t i = first; i < first + n; i++) {
        EQP_TRY(pack_iteration(&p, &list->of[i]));
    }
    made = malloc(bundle_bytes(p.n));
    EQP_TRY(made == NULL ? EQP_ERR_MEMORY : EQP_OK);
    write_all(&p, made);
    *data = made;
    *bytes = bundle_bytes(p.n);
done:
    free(p.kept);
    for (int part = ITERATIONS; part < PARTS; part++) {
        free(p.of[part]);
    }
    return code;
}

/* A received bundle. */
typedef struct opened {
    int64_t n[PARTS];
    double *memory;     /* owned */
    dd_columns columns; /* forces are 0 outside an iteration */
    pair *numbers;      /* owned */
    const pair *of[PARTS];
    size_t answer_bytes;
} opened;

/* Sizes are bounded by the bytes received, so that nothing overflows. */
static int check_sizes(const void *data, size_t bytes, opened *o)
{
    if (bytes < sizeof o->n) {
        return EQP_ERR_FORMAT;
    }
    memcpy(o->n, data, sizeof o->n);
    for (int part = 0; part < PARTS; part++) {
        if (o->n[part] < 0 || (uint64_t)o->n[part] > bytes / sizeof(pair)) {
            return EQP_ERR_FORMAT;
        }
    }
    return o->n[ITERATIONS] > 0 && o->n[SEGMENTS] <= INT32_MAX && bundle_bytes(o->n) == bytes ? EQP_OK : EQP_ERR_FORMAT;
}

static int64_t sum_runs(int64_t n, const pair *run)
{
    int64_t sum = 0;

    for (int64_t r = 0; r < n; r++) {
        sum += run[r][1];
    }
    return sum;
}

static void size_answer(opened *o)
{
    const pair *touch = o->of[TOUCHES];

    for (int64_t i = 0; i < o->n[ITERATIONS]; i++) {
        const int64_t ntargets = o->of[ITERATIONS][i][0], ntouches = o->of[ITERATIONS][i][1];
        o->answer_bytes += dd_answer_bytes(&(dd_iteration){.ntargets = ntargets, .touched = sum_runs(ntouches, touch)});
        touch += ntouches;
    }
}

static int take_columns(const char *from, opened *o)
{
    const int64_t room = o->n[SEGMENTS] + DD_LANES;
    int code = eqp_array_create(&o->memory, 15 * room, sizeof *o->memory);

    for (int c = 0; c < 15 && code == EQP_OK; c++) {
        double *column = o->memory + c * room;
        *(c < 9 ? &o->columns.at[c] : &o->columns.force[c - 9]) = column;
        if (c < 9) {
            memcpy(column, from + (size_t)(c * o->n[SEGMENTS]) * sizeof *column,
                   (size_t)o->n[SEGMENTS] * sizeof *column);
        }
    }
    return code;
}

static int take_numbers(const char *from, opened *o)
{
    int64_t all = 0;
    int code;

    for (int part = ITERATIONS; part < PARTS; part++) {
        all += o->n[part];
    }
    EQP_TRY(eqp_array_create(&o->numbers, all, sizeof *o->numbers));
    memcpy(o->numbers, from, (size_t)all * sizeof *o->numbers);
    all = 0;
    for (int part = ITERATIONS; part < PARTS; part++) {
        o->of[part] = (const pair *)(o->numbers + all);
        all += o->n[part];
    }
done:
    return code;
}

static int open_bundle(const void *data, size_t bytes, opened *o)
{
    int code;

    EQP_TRY(check_sizes(data, bytes, o));
    const char *columns = (const char *)data + sizeof o->n;
    EQP_TRY(take_numbers(columns + 9 * sizeof(double) * (size_t)o->n[SEGMENTS], o));
    size_answer(o);
    EQP_TRY(take_columns(columns, o));
done:
    return code;
}

/* Moves the forces on the segments that an iteration touches into the answer and clears them. */
static void write_forces(const opened *o, int64_t n, const pair *touch, char *to)
{
    for (int c = 0; c < 6; c++) {
        for (int64_t t = 0; t < n; t++) {
            double *force = o->columns.force[c] + touch[t][0];
            const size_t size = (size_t)touch[t][1] * sizeof *force;
            memcpy(to, force, size);
            memset(force, 0, size);
            to += size;
        }
    }
}

static void write_counts(const dd_counts *counts, char *to)
{
    int64_t count[TARGET_COUNTS];

    for (int k = 0; k < TARGET_COUNTS; k++) {
        count[k] = counts->of[kind_of[k]];
    }
    memcpy(to, count, sizeof count);
}

/* Runs of a target in the form that kernels take. */
static int runs_of(const pair target, const pair *run, dd_run runs[DD_GRID_SOURCES])
{
    for (int r = 0; r < target[1]; r++) {
        runs[r] = (dd_run){run[r][0], run[r][1]};
    }
    return target[1];
}

static int compute_all(dd_batches *batches, const opened *o, char *to)
{
    const pair *touch = o->of[TOUCHES], *target = o->of[TARGETS], *run = o->of[RUNS];
    int code = EQP_OK;

    for (int64_t i = 0; i < o->n[ITERATIONS] && code == EQP_OK; i++) {
        const int64_t ntargets = o->of[ITERATIONS][i][0], ntouches = o->of[ITERATIONS][i][1];
        const int64_t touched = sum_runs(ntouches, touch);
        char *counted = to + dd_answer_force_bytes(&(dd_iteration){.touched = touched});
        dd_batches_begin(batches);
        for (int64_t t = 0; t < ntargets && code == EQP_OK; t++, target++) {
            dd_counts counts = {{0}};
            dd_run runs[DD_GRID_SOURCES];
            const int n = runs_of(*target, run, runs);
            dd_compute_pairs(batches->evaluator, &o->columns, (*target)[0], n, runs, &counts);
            write_counts(&counts, counted + (size_t)t * TARGET_COUNTS * sizeof(int64_t));
            run += n;
            code = n > 0 ? dd_batches_add(batches, &counts) : EQP_OK;
        }
        if (code == EQP_OK) {
            code = dd_batches_end(batches);
        }
        write_forces(o, ntouches, touch, to);
        touch += ntouches;
        to = counted + (size_t)ntargets * TARGET_COUNTS * sizeof(int64_t);
    }
    return code;
}

int dd_bundle_compute(dd_batches *batches, const void *data, size_t bytes, void **answer, size_t *answer_bytes)
{
    opened o = {.memory = NULL};
    char *made = NULL;
    int code;

    EQP_TRY(open_bundle(data, bytes, &o));
    made = malloc(o.answer_bytes);
    EQP_TRY(made == NULL ? EQP_ERR_MEMORY : EQP_OK);
    EQP_TRY(compute_all(batches, &o, made));
done:
    free(o.memory);
    free(o.numbers);
    if (code != EQP_OK) {
        free(made);
        return code;
    }
    *answer = made;
    *answer_bytes = o.answer_bytes;
    return EQP_OK;
}
