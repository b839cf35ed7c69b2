/* SPDX-License-Identifier: BSD-3-Clause */
/* A program compiled against older headers runs with a later library. Its structs copy the layouts of version 0.2.0,
 * truncated where an older header might have ended, so the library has more members than the program. Guards behind
 * each struct detect reads and writes beyond it. */
#include "harness.h"

#include <equipoise/equipoise.h>

#include "balancer_world.h"

enum { ITEMS = 60, GUARD = 256 };

/* Structs of the old program's headers. */
typedef struct old_points {
    size_t struct_size;
    int64_t n;
    const void *x;
    size_t stride;
    bool single;
    const double *weight;
} old_points;

typedef struct old_balance_items {
    size_t struct_size;
    int64_t n;
    const int64_t *id;
    const double *weight;
} old_balance_items;

typedef struct old_balance_options {
    size_t size;
    int nparts;
    const double *share;
    double imbalance_tol;
    uint64_t seed;
} old_balance_options;

typedef struct old_problem {
    size_t size;
    void *user;
    int nkinds;
    const double *nominal;
    unsigned once;
    int nphases;
    const int *back, *ghosts;
    const eqp_overhead *overhead;
    const eqp_memory *memory;
    double branch;
    const eqp_methods *own;
    bool apart, estimates;
    int (*cycle)(void *user, eqp_cycle_turns *phases);
    int (*turn)(void *user, int phase);
    int (*survey)(void *user, eqp_survey_kind kind, eqp_survey *survey);
} old_problem;

typedef struct old_balancer_options {
    size_t size;
    eqp_choice method;
    double imbalance_tol;
} old_balancer_options;

typedef struct old_work {
    size_t size;
    eqp_rank_row *row;
    size_t row_bytes;
    void *rows;
    const int64_t *count;
} old_work;

typedef struct old_step {
    size_t size;
    int64_t step;
    double time;
    bool rebalanced;
    double imbalance_predicted, imbalance_measured;
} old_step;

typedef struct old_comparison {
    size_t size;
    int nchoices;
    const eqp_choice *choice;
    int ncounts;
    const int64_t *parts;
} old_comparison;

typedef struct old_units_options {
    size_t size;
    enum eqp_sample_strategy strategy;
} old_units_options;

static void *guarded(const void *given, size_t size)
{
    unsigned char *at = malloc(size + GUARD);

    CHECK(at != NULL);
    memcpy(at, given, size);
    memset(at + size, 0xa5, GUARD);
    return at;
}

static void free_guarded(void *at, size_t size)
{
    for (size_t k = size; k < size + GUARD; k++) {
        CHECK_EQUAL(((unsigned char *)at)[k], 0xa5);
    }
    free(at);
}

typedef struct items {
    int64_t id[ITEMS];
    double x[ITEMS][3], weight[ITEMS];
} items;

static void fill(MPI_Comm comm, items *t)
{
    for (int i = 0; i < ITEMS; i++) {
        t->id[i] = (int64_t)ITEMS * mpi_test_rank(comm) + i;
        t->weight[i] = 1 + i % 7;
        for (int k = 0; k < 3; k++) {
            t->x[i][k] = (double)((t->id[i] * (7 + 4 * k)) % 101);
        }
    }
}

MPI_TEST(points_and_items_of_old_programs_are_divided_alike)
{
    const eqp_method *const sfc = eqp_method_find("sfc");
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_points points = eqp_points_defaults();
    eqp_balance_items list = eqp_balance_items_defaults();
    int part[ITEMS], old[ITEMS];
    items t;

    fill(comm, &t);
    options.nparts = 5;
    points.n = list.n = ITEMS;
    points.x = t.x;
    points.weight = list.weight = t.weight;
    list.id = t.id;
    const old_balance_options o = {sizeof o, 5, NULL, options.imbalance_tol, options.seed};
    const old_points p = {sizeof p, ITEMS, t.x, 0, false, t.weight};
    const old_balance_items l = {sizeof l, ITEMS, t.id, t.weight};
    void *const these = guarded(&o, sizeof o), *const those = guarded(&p, sizeof p), *const all = guarded(&l, sizeof l);
    CHECK_EQUAL(eqp_balance_points(comm, sfc, &points, &options, part, NULL), EQP_OK);
    CHECK_EQUAL(eqp_balance_points(comm, sfc, those, these, old, NULL), EQP_OK);
    CHECK(memcmp(part, old, sizeof part) == 0);
    CHECK_EQUAL(eqp_balance(comm, sfc, &list, &options, part, NULL), EQP_OK);
    CHECK_EQUAL(eqp_balance(comm, sfc, all, these, old, NULL), EQP_OK);
    CHECK(memcmp(part, old, sizeof part) == 0);
    free_guarded(these, sizeof o);
    free_guarded(those, sizeof p);
    free_guarded(all, sizeof l);
}

/* Members that only a later header has must be zero. */
MPI_TEST(members_of_later_headers_are_refused_unless_zero)
{
    struct {
        eqp_points known;
        double later;
    } points = {eqp_points_defaults(), 0};
    eqp_balance_options options = eqp_balance_options_defaults();
    int part[ITEMS];
    items t;

    fill(comm, &t);
    points.known.struct_size = sizeof points;
    points.known.n = ITEMS;
    points.known.x = t.x;
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &points.known, &options, part, NULL), EQP_OK);
    points.later = 1;
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &points.known, &options, part, NULL),
                EQP_ERR_ARGUMENT);
    points.later = 0;
    for (size_t wrong = 1; wrong < sizeof(size_t); wrong++) {
        points.known.struct_size = wrong;
        CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &points.known, &options, part, NULL),
                    EQP_ERR_ARGUMENT);
    }
    points.known.struct_size = SIZE_MAX;
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &points.known, &options, part, NULL),
                EQP_ERR_ARGUMENT);
    points.known.struct_size = 0; /* the layout of version 0.2 */
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &points.known, &options, part, NULL), EQP_OK);
    options.size = 0; /* options must be set up by their function */
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &points.known, &options, part, NULL),
                EQP_ERR_ARGUMENT);
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const int rank = *(const int *)user;
    int code = EQP_OK;

    for (int64_t i = 0; i < ITEMS && code == EQP_OK; i++) {
        const eqp_owner owner = owner_at(rank, i, rank * ITEMS + i, kind == EQP_SURVEY_WORK ? 1000 : 0);
        code = eqp_survey_add_owner(list, &owner);
    }
    return code;
}

/* Two steps of an old program on each rank, and a comparison: missing members get their defaults. */
MPI_TEST(balancers_of_old_programs_step_and_compare)
{
    int rank = mpi_test_rank(comm);
    const int64_t count[1] = {1000 * ITEMS}, parts[2] = {2, 3};
    const eqp_choice choice = choice_of("sfc");
    eqp_balancer *balancer = NULL;
    eqp_advice advice;
    eqp_compared *rows = NULL;

    const old_problem p = {.size = sizeof p, .user = &rank, .survey = survey};
    const old_balancer_options o = {sizeof o, choice, 0.1};
    void *const problem = guarded(&p, sizeof p), *const options = guarded(&o, sizeof o);
    CHECK_EQUAL(eqp_balancer_create(comm, problem, options, &balancer, NULL), EQP_OK);
    free_guarded(problem, sizeof p);
    free_guarded(options, sizeof o);
    for (int number = 0; number < 2; number++) {
        eqp_rank_row row = {.load = 1 + rank};
        const old_work w = {sizeof w, &row, 0, NULL, count};
        const old_step s = {.size = sizeof s, .step = 40 + number, .time = 7};
        void *const work = guarded(&w, sizeof w);
        old_step *const step = guarded(&s, sizeof s);
        CHECK_EQUAL(eqp_balancer_record(balancer, work, (eqp_step *)(void *)step), EQP_OK);
        CHECK(step->size == sizeof s && step->step == 40 + number && step->time == 7);
        CHECK_NEAR(step->imbalance_measured, 2.0 * mpi_test_size(comm) / (mpi_test_size(comm) + 1) - 1, 1e-9);
        free_guarded(work, sizeof w);
        free_guarded(step, sizeof s);
        CHECK_EQUAL(eqp_balancer_advise(balancer, 10, &advice, NULL), EQP_OK);
    }
    const old_comparison c = {sizeof c, 1, &choice, 2, parts};
    void *const comparison = guarded(&c, sizeof c);
    CHECK_EQUAL(eqp_balancer_compare(balancer, comparison, &rows, NULL), EQP_OK);
    CHECK(rows[0].parts == 2 && rows[1].parts == 3 && rows[1].evaluated.imbalance < 0.1);
    free_guarded(comparison, sizeof c);
    free(rows);
    eqp_balancer_free(balancer);
}

static int no_interactions(void *user, int64_t owner, eqp_sink *sink)
{
    (void)user, (void)owner, (void)sink;
    return EQP_OK;
}

MPI_TEST(samplers_of_old_programs_have_their_defaults)
{
    const int64_t id[1] = {5};
    const old_units_options o = {sizeof o, EQP_SAMPLE_RANDOM};
    void *const options = guarded(&o, sizeof o);
    eqp_units *units = NULL;

    CHECK_EQUAL(eqp_units_create_serial(1, id, no_interactions, NULL, options, &units), EQP_OK);
    eqp_units_free(units);
    free_guarded(options, sizeof o);
}
