/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairs that another rank computes: iterations have every target once and know what they touch; what comes back has the
 * bits that would have been computed at home; a bundle has each segment once, and bytes that are none are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "failing_malloc.h"

#include "bundle.h"

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <stdbool.h>
#include <stdlib.h>

static double draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* A stage of one rank, as far as pairs need it. */
typedef struct world {
    dd_stage stage;
    dd_evaluator evaluator;
    double *memory;
} world;

/* Segments in cells of a grid, crowded in some, none in others. `every`: each so many owners are shared, and only some
 * of their pairs computed here; others are ghosts that nothing is computed of. 0: none. */
static void world_create(world *w, const int64_t cells[3], bool periodic, int64_t crowd, int every, uint64_t seed)
{
    const double edge = 100.0;
    dd_domain domain = {.rank = 0};
    dd_stage *s = &w->stage;
    dd_medium medium = {.mu = 1.0, .nu = 0.3, .a = 1.0};
    int64_t room;

    memset(w, 0, sizeof *w);
    for (int d = 0; d < 3; d++) {
        domain.edge[d] = edge * (double)cells[d];
        domain.box[d] = medium.box[d] = periodic ? domain.edge[d] : 0.0;
    }
    dd_grid_init(&s->grid, &domain, cells);
    dd_evaluator_init(&w->evaluator, &medium, dd_pairs_plain);
    assert_int_equal(eqp_timings_create(DD_KINDS, &w->evaluator.timings), EQP_OK);
    assert_int_equal(dd_pairs_choose(DD_ISA_AUTO, &w->evaluator.pairs, NULL), EQP_OK);
    s->cell_first = calloc((size_t)s->grid.ncells + 1, sizeof *s->cell_first);
    for (int64_t c = 0; c < s->grid.ncells; c++) {
        const int64_t most = draw(&seed) < 0.15 ? 4 * crowd : crowd;
        s->cell_first[c + 1] = s->cell_first[c] + (int64_t)(draw(&seed) * (double)(most + 1));
    }
    s->n = s->cell_first[s->grid.ncells];
    room = s->n + DD_LANES;
    w->memory = calloc((size_t)(15 * room), sizeof *w->memory);
    s->target = calloc((size_t)s->n + 1, sizeof *s->target);
    s->shares.share = calloc((size_t)s->n + 1, sizeof *s->shares.share);
    for (int c = 0; c < 15; c++) {
        *(c < 9 ? &s->columns.at[c] : &s->columns.force[c - 9]) = w->memory + c * room;
    }
    for (int64_t i = 0; i < s->n; i++) {
        for (int d = 0; d < 3; d++) {
            s->columns.at[d][i] = domain.edge[d] * draw(&seed);
            s->columns.at[3 + d][i] = s->columns.at[d][i] + 40.0 * (draw(&seed) - 0.5);
            s->columns.at[6 + d][i] = draw(&seed) - 0.5;
        }
        if (every > 0 && i % every == 0) {
            s->shares.share[s->shares.n].sources = (uint32_t)(draw(&seed) * (1 << DD_GRID_SOURCES));
            s->target[s->ntargets++] = (dd_target){i, s->shares.n++};
        } else if (every == 0 || i % every != 1) {
            s->target[s->ntargets++] = (dd_target){i, -1};
        }
    }
}

static void world_free(world *w)
{
    free(w->stage.cell_first);
    free(w->stage.target);
    free(w->stage.shares.share);
    free(w->memory);
    eqp_timings_free(w->evaluator.timings);
}

/* Those of the tests: dense, sparse, with free boundaries, with owners that are shared. */
enum { WORLDS = 6 };
static void world_number(world *w, int i)
{
    static const int64_t cells[WORLDS][3] = {{3, 4, 3}, {3, 3, 5}, {4, 3, 9}, {4, 4, 4}, {5, 4, 3}, {3, 3, 3}};
    static const int64_t crowd[WORLDS] = {12, 60, 2, 9, 20, 150};
    static const int every[WORLDS] = {0, 0, 0, 3, 2, 5};

    world_create(w, cells[i], i != 3, crowd[i], every[i], 77u + (unsigned)i);
}

/* The runs of a target, its cell by a search. */
static int runs_of(const dd_stage *stage, int64_t target, dd_run runs[DD_GRID_SOURCES])
{
    const dd_target *t = &stage->target[target];

    return dd_stage_target_runs(stage, t, dd_stage_cell(stage, t->local), runs);
}

static void mark(unsigned char *marks, dd_run run)
{
    for (int64_t i = run.first; i < run.first + run.n; i++) {
        marks[i] = 1;
    }
}

static void runs_are_united_as_their_segments_are(void **state)
{
    enum { PLACES = 90 };
    uint64_t seed = 5;

    (void)state;
    for (int trial = 0; trial < 300; trial++) {
        unsigned char marks[PLACES + 1] = {0};
        dd_run *runs = NULL;
        int64_t n = 0, room = 0, place = 0;
        for (int k = 0; k < 1 + trial % 25; k++) {
            const int64_t first = (int64_t)(draw(&seed) * (PLACES - 9));
            const dd_run run = {first, 1 + (int64_t)(draw(&seed) * 8)};
            assert_int_equal(dd_runs_add(&runs, &n, &room, run), EQP_OK);
            mark(marks, run);
        }
        for (int64_t i = 0; i < PLACES; i++) {
            assert_int_equal(dd_runs_place(runs, n, i), marks[i] ? place++ : -1);
        }
        for (int64_t r = 0; r < n; r++) {
            assert_true(runs[r].n > 0 && (r == 0 || runs[r].first > runs[r - 1].first + runs[r - 1].n));
        }
        free(runs);
    }
}

static void iterations_have_each_target_with_pairs_once_and_say_what_they_touch(void **state)
{
    int64_t full = 0;

    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        world w;
        dd_iterations list = {0};
        int64_t next = 0;
        world_number(&w, i);
        assert_int_equal(dd_iterations_list(&w.stage, &list), EQP_OK);
        assert_true(list.n > 1);
        for (int64_t k = 0; k < list.n; k++) {
            const dd_iteration *iteration = &list.of[k];
            unsigned char *marks = calloc((size_t)w.stage.n + 1, 1);
            unsigned char *touched = calloc((size_t)w.stage.n + 1, 1);
            int64_t sum = 0, pairs = 0;
            dd_run runs[DD_GRID_SOURCES];
            for (; next < iteration->target; next++) { /* left out */
                assert_int_equal(runs_of(&w.stage, next, runs), 0);
            }
            assert_int_equal(iteration->target, next);
            assert_int_equal(iteration->cell, dd_stage_cell(&w.stage, w.stage.target[next].local));
            assert_in_range(iteration->ntargets, 1, DD_ITERATION_TARGETS);
            for (; next < iteration->target + iteration->ntargets; next++) {
                const int n = runs_of(&w.stage, next, runs);
                mark(marks, (dd_run){w.stage.target[next].local, 1});
                assert_true(pairs < DD_ITERATION_PAIRS);
                for (int r = 0; r < n; r++) {
                    mark(marks, runs[r]);
                    pairs += runs[r].n;
                }
            }
            for (int64_t t = iteration->touch; t < iteration->touch + iteration->ntouches; t++) {
                mark(touched, list.touch[t]);
                sum += list.touch[t].n;
            }
            assert_memory_equal(marks, touched, (size_t)w.stage.n);
            assert_int_equal(iteration->touched, sum);
            assert_true(pairs > 0);
            full += pairs >= DD_ITERATION_PAIRS;
            free(marks);
            free(touched);
        }
        for (; next < w.stage.ntargets; next++) {
            dd_run runs[DD_GRID_SOURCES];
            assert_int_equal(runs_of(&w.stage, next, runs), 0);
        }
        dd_iterations_free(&list);
        world_free(&w);
    }
    assert_true(full > 0);
}

/* What an iteration does at home, as an answer has it: owned by the caller. */
static char *answer_at_home(world *w, const dd_iterations *list, const dd_iteration *iteration)
{
    char *answer = malloc(dd_answer_bytes(iteration)), *to = answer;
    int64_t cell = iteration->cell;

    memset(w->stage.columns.force[0], 0, (size_t)(6 * (w->stage.n + DD_LANES)) * sizeof(double));
    for (int64_t t = 0; t < iteration->ntargets; t++) {
        dd_run runs[DD_GRID_SOURCES];
        dd_counts counts = {{0}};
        const dd_target *target = &w->stage.target[iteration->target + t];
        const int n = dd_iteration_runs(&w->stage, target, &cell, runs);
        dd_compute_pairs(&w->evaluator, &w->stage.columns, target->local, n, runs, &counts);
        const int64_t count[3] = {counts.of[DD_KIND_PAIR], counts.of[DD_KIND_PARALLEL], counts.of[DD_KIND_RUN]};
        memcpy(answer + dd_answer_force_bytes(iteration) + (size_t)t * sizeof count, count, sizeof count);
    }
    for (int c = 0; c < 6; c++) {
        for (int64_t t = iteration->touch; t < iteration->touch + iteration->ntouches; t++) {
            const size_t size = (size_t)list->touch[t].n * sizeof(double);
            memcpy(to, w->stage.columns.force[c] + list->touch[t].first, size);
            to += size;
        }
    }
    return answer;
}

/* Different segments that iterations touch. */
static int64_t count_touched(const world *w, const dd_iterations *list, int64_t first, int64_t n)
{
    unsigned char *marks = calloc((size_t)w->stage.n + 1, 1);
    int64_t count = 0;

    for (int64_t i = first; i < first + n; i++) {
        for (int64_t t = 0; t < list->of[i].ntouches; t++) {
            mark(marks, list->touch[list->of[i].touch + t]);
        }
    }
    for (int64_t i = 0; i < w->stage.n; i++) {
        count += marks[i];
    }
    free(marks);
    return count;
}

static void check_bundle(world *w, const dd_iterations *list, int64_t first, int64_t n)
{
    dd_batches batches = {.evaluator = &w->evaluator};
    void *data = NULL, *answer = NULL;
    size_t bytes = 0, answer_bytes = 0, at = 0;
    int64_t segments, total = 0;

    w->evaluator.total = (dd_counts){{0}};
    assert_int_equal(dd_bundle_pack(&w->stage, list, first, n, &data, &bytes), EQP_OK);
    memcpy(&segments, data, sizeof segments);
    assert_int_equal(segments, count_touched(w, list, first, n));
    assert_int_equal(dd_bundle_compute(&batches, data, bytes, &answer, &answer_bytes), EQP_OK);
    for (int64_t i = first; i < first + n; i++) {
        const dd_iteration *iteration = &list->of[i];
        const char *part = (char *)answer + at;
        char *home = answer_at_home(w, list, iteration);
        at += dd_answer_bytes(iteration);
        assert_true(at <= answer_bytes);
        assert_memory_equal(part, home, dd_answer_bytes(iteration));
        for (int64_t t = 0; t < iteration->ntargets; t++) {
            dd_counts counts = {{0}};
            assert_int_equal(dd_answer_counts(iteration, part, t, &counts), EQP_OK);
            total += counts.of[DD_KIND_PAIR] + counts.of[DD_KIND_PARALLEL];
        }
        free(home);
    }
    assert_int_equal(at, answer_bytes);
    assert_int_equal(total, w->evaluator.total.of[DD_KIND_PAIR] + w->evaluator.total.of[DD_KIND_PARALLEL]);
    free(data);
    free(answer);
}

static void answers_have_the_bits_of_home(void **state)
{
    (void)state;
    for (int i = 0; i < WORLDS; i++) {
        world w;
        dd_iterations list = {0};
        world_number(&w, i);
        assert_int_equal(dd_iterations_list(&w.stage, &list), EQP_OK);
        for (int64_t first = 0, n = 1; first < list.n; first += n, n = 1 + (first * 7) % 5) {
            check_bundle(&w, &list, first, first + n > list.n ? list.n - first : n);
        }
        check_bundle(&w, &list, 0, list.n);
        dd_iterations_free(&list);
        world_free(&w);
    }
}

/* A small bundle of a world with shared owners. */
static void small_bundle(world *w, void **data, size_t *bytes)
{
    static const int64_t cells[3] = {3, 3, 3};
    dd_iterations list = {0};

    world_create(w, cells, true, 3, 3, 9);
    assert_int_equal(dd_iterations_list(&w->stage, &list), EQP_OK);
    assert_int_equal(dd_bundle_pack(&w->stage, &list, 0, list.n, data, bytes), EQP_OK);
    dd_iterations_free(&list);
}

/* Computes from a copy that ends where its bytes do, so that sanitizers see who reads beyond. */
static int try_bundle(world *w, const void *data, size_t bytes)
{
    dd_batches batches = {.evaluator = &w->evaluator};
    char *copy = malloc(bytes > 0 ? bytes : 1);
    void *answer = NULL;
    size_t answer_bytes = 0;

    memcpy(copy, data, bytes);
    const int code = dd_bundle_compute(&batches, copy, bytes, &answer, &answer_bytes);
    assert_true((code == EQP_OK) == (answer != NULL) && (code == EQP_OK) == (answer_bytes > 0));
    free(copy);
    free(answer);
    return code;
}

static void truncated_bundles_are_refused(void **state)
{
    world w;
    char *data = NULL, *longer;
    size_t bytes = 0;

    (void)state;
    small_bundle(&w, (void **)&data, &bytes);
    assert_int_equal(try_bundle(&w, data, bytes), EQP_OK);
    for (size_t b = 0; b < bytes; b++) {
        assert_int_equal(try_bundle(&w, data, b), EQP_ERR_FORMAT);
    }
    longer = calloc(bytes + 8, 1);
    memcpy(longer, data, bytes);
    for (size_t b = bytes + 1; b <= bytes + 8; b++) {
        assert_int_equal(try_bundle(&w, longer, b), EQP_ERR_FORMAT);
    }
    free(longer);
    free(data);
    world_free(&w);
}

static void sizes_that_lie_are_refused(void **state)
{
    enum { PARTS = 5 };
    static const int64_t wrong[] = {-1, 0, INT64_MIN, INT64_MAX, INT64_MAX / 8, INT64_C(1) << 32};
    world w;
    char *data = NULL;
    size_t bytes = 0;
    int64_t n[PARTS], good[PARTS];

    (void)state;
    small_bundle(&w, (void **)&data, &bytes);
    memcpy(good, data, sizeof good);
    for (int part = 0; part < PARTS; part++) {
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            memcpy(n, good, sizeof n);
            n[part] = wrong[k];
            memcpy(data, n, sizeof n);
            assert_int_equal(try_bundle(&w, data, bytes), EQP_ERR_FORMAT);
        }
        for (int other = 1; other < PARTS && part > 0; other++) { /* the same number of bytes */
            memcpy(n, good, sizeof n);
            n[part]++;
            n[other]--;
            memcpy(data, n, sizeof n);
            assert_int_equal(try_bundle(&w, data, bytes), part == other ? EQP_OK : EQP_ERR_FORMAT);
        }
    }
    /* Nine numbers of pairs for one segment. */
    memcpy(n, good, sizeof n);
    n[0]++;
    n[4] -= 9;
    memcpy(data, n, sizeof n);
    assert_int_equal(try_bundle(&w, data, bytes), EQP_ERR_FORMAT);
    free(data);
    world_free(&w);
}

static void places_that_lie_are_refused(void **state)
{
    static const int32_t wrong[] = {-1, INT32_MAX, INT32_MIN};
    world w;
    char *data = NULL;
    size_t bytes = 0, begin;
    int64_t n[5];
    uint64_t seed = 3;
    int refused = 0;

    (void)state;
    small_bundle(&w, (void **)&data, &bytes);
    memcpy(n, data, sizeof n);
    begin = sizeof n + 9 * sizeof(double) * (size_t)n[0];
    for (size_t at = begin; at < bytes; at += sizeof(int32_t)) {
        int32_t good;
        memcpy(&good, data + at, sizeof good);
        for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
            memcpy(data + at, &wrong[k], sizeof good);
            assert_int_equal(try_bundle(&w, data, bytes), EQP_ERR_FORMAT);
        }
        /* Another place may be one that can be; nothing is read or written elsewhere then. */
        for (int k = 0; k < 4; k++) {
            const int32_t other = (int32_t)(draw(&seed) * (double)(n[0] + 2));
            memcpy(data + at, &other, sizeof other);
            const int code = try_bundle(&w, data, bytes);
            assert_true(code == EQP_OK || code == EQP_ERR_FORMAT);
            refused += code == EQP_ERR_FORMAT;
        }
        memcpy(data + at, &good, sizeof good);
    }
    assert_true(refused > 100);
    assert_int_equal(try_bundle(&w, data, bytes), EQP_OK);
    free(data);
    world_free(&w);
}

static void counts_of_an_answer_are_not_negative(void **state)
{
    const dd_iteration iteration = {.ntargets = 2, .touched = 1};
    int64_t words[6 + 6] = {0};
    dd_counts counts = {{0}};

    (void)state;
    assert_int_equal(dd_answer_bytes(&iteration), sizeof words);
    words[9] = 5;
    words[11] = 7;
    assert_int_equal(dd_answer_counts(&iteration, words, 1, &counts), EQP_OK);
    assert_int_equal(counts.of[DD_KIND_PAIR], 5);
    assert_int_equal(counts.of[DD_KIND_PARALLEL], 0);
    assert_int_equal(counts.of[DD_KIND_RUN], 7);
    words[10] = -1;
    assert_int_equal(dd_answer_counts(&iteration, words, 1, &counts), EQP_ERR_FORMAT);
    assert_int_equal(dd_answer_counts(&iteration, words, 0, &counts), EQP_OK);
}

static int list_pack_and_compute(world *w)
{
    dd_batches batches = {.evaluator = &w->evaluator};
    dd_iterations list = {0};
    void *data = NULL, *answer = NULL;
    size_t bytes = 0, answer_bytes = 0;
    int code = dd_iterations_list(&w->stage, &list);

    if (code == EQP_OK) {
        code = dd_bundle_pack(&w->stage, &list, 0, list.n, &data, &bytes);
    }
    if (code == EQP_OK) {
        code = dd_bundle_compute(&batches, data, bytes, &answer, &answer_bytes);
    }
    dd_iterations_free(&list);
    free(data);
    free(answer);
    return code;
}

static void bundles_survive_failing_allocations(void **state)
{
    world w;

    (void)state;
    if (!failing_malloc_works) {
        skip();
    }
    world_number(&w, 3);
    for (int64_t k = 0;; k++) {
        eqp_timings_free(w.evaluator.timings);
        assert_int_equal(eqp_timings_create(DD_KINDS, &w.evaluator.timings), EQP_OK);
        failing_malloc_start(k);
        const int code = list_pack_and_compute(&w);
        if (failing_malloc_stop() == 0) {
            assert_int_equal(code, EQP_OK);
            assert_true(k > 5);
            break;
        }
        assert_int_equal(code, EQP_ERR_MEMORY);
    }
    world_free(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_united_as_their_segments_are),
        cmocka_unit_test(iterations_have_each_target_with_pairs_once_and_say_what_they_touch),
        cmocka_unit_test(answers_have_the_bits_of_home),
        cmocka_unit_test(truncated_bundles_are_refused),
        cmocka_unit_test(sizes_that_lie_are_refused),
        cmocka_unit_test(places_that_lie_are_refused),
        cmocka_unit_test(counts_of_an_answer_are_not_negative),
        cmocka_unit_test(bundles_survive_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
