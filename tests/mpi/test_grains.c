/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners in several granularities: an owner is a run of atoms on a line, with a constant overhead. Few parts work best
 * with large owners, many parts with small ones; the test knows the best. */
#include "harness.h"

#include "balancer_world.h"

enum { ATOMS = 12, GRAINS = 3, COUNTS = 4, WORDS = 2 };

static const int size_of[GRAINS] = {6, 1, 3};

/* An atom takes one second, or two once the atoms have moved. Ranks are identical except in `fails`. */
typedef struct world {
    MPI_Comm comm;
    int rank, nranks, grain, calls;
    int fails; /* this call of grain() fails on the last rank; 0: none */
    bool moved;
    int64_t tag[ATOMS];
    double beside; /* overhead per owner in seconds */
    int nrows, nmaps, last_grain;
    eqp_balancer *balancer;
} world;

static int owners_of(int grain)
{
    return ATOMS / size_of[grain];
}

static double seconds_of(const world *w)
{
    return w->beside + size_of[w->grain] * (w->moved ? 2.0 : 1.0);
}

/* Owners are dealt to ranks in turn. */
static int64_t here(const world *w)
{
    return (owners_of(w->grain) + w->nranks - 1 - w->rank) / w->nranks;
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const world *w = user;
    const int size = size_of[w->grain];

    for (int64_t i = 0; i < here(w); i++) {
        const int64_t o = i * w->nranks + w->rank;
        eqp_owner owner =
            owner_at(w->rank, i, o * size, kind == EQP_SURVEY_WORK ? (int64_t)(100.0 * seconds_of(w)) : 0);
        owner.pin = o;
        owner.particles = size;
        owner.tag = w->tag[o * size + size / 2];
        EQP_CHECK(eqp_survey_add_owner(list, &owner));
    }
    return EQP_OK;
}

static int trace(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const world *w = user;

    (void)nparts, (void)loads_only;
    for (int64_t i = 0; i < here(w); i++) {
        EQP_CHECK(eqp_evaluation_load(evaluation, eqp_map_own_rank(map, placement[i].tag), seconds_of(w)));
    }
    return EQP_OK;
}

static int advance(void *user, eqp_message *message)
{
    (void)message;
    ((world *)user)->moved = true;
    return EQP_OK;
}

static int set_grain(void *user, int grain)
{
    world *w = user;

    CHECK(grain >= 0 && grain < GRAINS);
    w->grain = grain;
    w->moved = false;
    return ++w->calls == w->fails && w->rank == w->nranks - 1 ? EQP_ERR_MEMORY : EQP_OK;
}

static const double nominal[] = {0.01};

static void make_world(MPI_Comm comm, const char *method, world *w)
{
    *w = (world){.comm = comm, .rank = mpi_test_rank(comm), .nranks = mpi_test_size(comm), .beside = 0.25};
    const eqp_problem problem = {.user = w,
                                 .nominal = nominal,
                                 .survey = survey,
                                 .trace = trace,
                                 .advance = advance,
                                 .ngrains = GRAINS,
                                 .grain = set_grain};
    eqp_balancer_options options = options_of(method);

    options.policy.mode = EQP_POLICY_NEVER;
    options.fixed_costs = true;
    options.network = (eqp_network){.node = 1};
    w->balancer = balancer_of(comm, &problem, &options);
}

/* Step time if all owners are alike. */
static double step_by_hand(int grain, int nparts, double beside, double atom)
{
    const int most = (owners_of(grain) + nparts - 1) / nparts;

    return most * (beside + size_of[grain] * atom);
}

static int best_by_hand(int nparts, double beside, double atom)
{
    int best = 0;

    for (int g = 1; g < GRAINS; g++) {
        best = step_by_hand(g, nparts, beside, atom) < step_by_hand(best, nparts, beside, atom) ? g : best;
    }
    return best;
}

static void count_rows(void *user, int n, const eqp_compared *rows)
{
    (void)rows;
    ((world *)user)->nrows += n;
}

/* The map of a row matches the granularity of the row. */
static int look(void *user, const eqp_compared *row, const eqp_map *map, const eqp_placement *placement)
{
    world *w = user;
    double load[ATOMS] = {0}, most = 0.0;

    CHECK_EQUAL(w->grain, row->grain);
    CHECK(row->grain >= w->last_grain);
    for (int64_t i = 0; i < here(w); i++) {
        load[eqp_map_own_rank(map, placement[i].tag)] += w->beside + size_of[w->grain];
    }
    MPI_Allreduce(MPI_IN_PLACE, load, ATOMS, MPI_DOUBLE, MPI_SUM, w->comm);
    for (int p = 0; p < row->parts; p++) {
        most = fmax(most, load[p]);
    }
    CHECK_NEAR(most, row->evaluated.load_max, 1e-12);
    w->last_grain = row->grain;
    w->nmaps++;
    return EQP_OK;
}

MPI_TEST(each_number_of_parts_has_its_best_granularity)
{
    static const int64_t parts[COUNTS] = {1, 2, 4, 12};
    static const int by_hand[COUNTS] = {0, 0, 2, 1};
    const eqp_choice choice[WORDS] = {choice_of("sfc"), choice_of("count")};
    eqp_compared *rows = NULL;
    world w;

    make_world(comm, "sfc", &w);
    const eqp_comparison wanted = {.nchoices = WORDS,
                                   .choice = choice,
                                   .ncounts = COUNTS,
                                   .parts = parts,
                                   .on_rows = count_rows,
                                   .on_map = look,
                                   .user = &w};
    CHECK_EQUAL(eqp_balancer_compare(w.balancer, &wanted, &rows, NULL), EQP_OK);
    for (int i = 0; i < COUNTS * WORDS; i++) {
        const int p = (int)parts[i / WORDS], grain = by_hand[i / WORDS];
        CHECK_EQUAL(best_by_hand(p, w.beside, 2.0), grain);
        CHECK_EQUAL(rows[i].grain, grain);
        CHECK_NEAR(rows[i].evaluated.step_seconds, step_by_hand(grain, p, w.beside, 1.0), 1e-12);
        CHECK_NEAR(rows[i].step_next, step_by_hand(grain, p, w.beside, 2.0), 1e-12);
    }
    CHECK(w.nrows == COUNTS * WORDS && w.nmaps == COUNTS * WORDS);
    CHECK(w.grain == 0 && !w.moved); /* the granularity is restored */
    free(rows);
    eqp_balancer_free(w.balancer);
}

/* Takes the map without moving owners. */
static void take(world *w, const eqp_advice *advice)
{
    int64_t tag[ATOMS] = {0};

    CHECK_EQUAL(advice->nplacements, here(w));
    for (int64_t i = 0; i < here(w); i++) {
        const int size = size_of[w->grain];
        for (int a = 0; a < size; a++) {
            tag[(i * w->nranks + w->rank) * size + a] = advice->placement[i].tag;
        }
    }
    MPI_Allreduce(tag, w->tag, ATOMS, MPI_INT64_T, MPI_SUM, w->comm);
}

/* Records a step whose time depends on the tags only. */
static void record(world *w)
{
    int64_t count[1] = {0};
    eqp_rank_row row = {.load = 0.0};

    for (int o = 0; o < owners_of(w->grain); o++) {
        const bool mine = w->tag[o * size_of[w->grain]] == w->rank;
        row.load += mine ? seconds_of(w) : 0.0;
        count[0] += mine ? (int64_t)(100.0 * seconds_of(w)) : 0;
    }
    CHECK_EQUAL(eqp_balancer_record(w->balancer, &(eqp_work){.row = &row, .count = count}, NULL), EQP_OK);
}

static void renew(world *w)
{
    eqp_advice advice;

    CHECK_EQUAL(eqp_balancer_renew(w->balancer, 1000000, &advice, NULL), EQP_OK);
    if (advice.changed) {
        take(w, &advice);
    }
    record(w);
}

MPI_TEST(a_new_map_may_change_the_granularity)
{
    static const char *const words[] = {"sfc", "count", "auto"};

    for (int i = 0; i < 3; i++) {
        const bool weighs = i != 1; /* otherwise no granularity is tried */
        world w;
        make_world(comm, words[i], &w);
        renew(&w);
        CHECK_EQUAL(w.grain, weighs ? best_by_hand(w.nranks, w.beside, 1.0) : 0);
        w.beside = 5.0;
        for (int k = 0; k < 4 && i == 0; k++) { /* trials pause after one without success */
            renew(&w);
            CHECK(k < 2 || w.grain == best_by_hand(w.nranks, w.beside, 1.0));
        }
        CHECK_EQUAL(w.calls == 0, !weighs);
        eqp_balancer_free(w.balancer);
    }
}

/* All ranks learn of the failure and return to the previous granularity. */
MPI_TEST(a_failed_granularity_is_taken_back)
{
    const int64_t parts[1] = {4};
    const eqp_choice choice = choice_of("sfc");
    eqp_compared *rows = NULL;

    const eqp_comparison wanted = {.nchoices = 1, .choice = &choice, .ncounts = 1, .parts = parts};
    for (int call = 1; call <= 2; call++) {
        eqp_advice advice;
        world w;
        make_world(comm, "sfc", &w);
        w.fails = call;
        CHECK(eqp_balancer_renew(w.balancer, 1000000, &advice, NULL) != EQP_OK);
        CHECK_EQUAL(w.grain, 0);
        w.fails = w.calls + call;
        CHECK(eqp_balancer_compare(w.balancer, &wanted, &rows, NULL) != EQP_OK);
        CHECK(w.grain == 0 && rows == NULL);
        renew(&w);
        CHECK_EQUAL(w.grain, best_by_hand(w.nranks, w.beside, 1.0));
        eqp_balancer_free(w.balancer);
    }
}
