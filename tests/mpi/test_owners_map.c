/* SPDX-License-Identifier: BSD-3-Clause */
/* From owners to a new map: units of heavy owners on several ranks, placements at home, failing allocations. */
#include "harness.h"

#include "map/assignment.h"
#include "map/items.h"

#include <math.h>

#define FAILING_RANKS_MOST 2
#include "failing_ranks.h"
#include "owners_world.h"

typedef struct result {
    eqp_map *map;
    eqp_placement *placement;
    eqp_map_made summary;
} result;

static void result_free(result *of)
{
    eqp_map_free(of->map);
    free(of->placement);
}

static const eqp_choice_options usual = {.strategy = EQP_SAMPLE_STRIDE, .threshold = 2.0};

static eqp_map_options run_options(const eqp_choice *choice)
{
    const eqp_map_options run = {.imbalance_tol = 0.02, .seed = 1};

    return eqp__map_options_with(&run, choice);
}

/* Makes the units of one form of `interaction`. */
static int make_units(MPI_Comm comm, const char *word, const int64_t *interactions, eqp_owners *owners,
                      eqp_work_units *units, eqp_message *message)
{
    const world w = make_world(comm);
    eqp_survey survey = {.n = 0};
    eqp_choice choice;
    eqp_units_totals all;
    int code = eqp_choice_parse(NULL, &usual, word, &choice, NULL);

    code = code == EQP_OK ? take_survey(&w, true, false, &survey) : code;
    for (int64_t i = 0; i < survey.n && interactions != NULL; i++) {
        survey.owner[i].interactions = *interactions;
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = line_up(comm, &survey, owners);
    }
    if (code == EQP_OK) {
        const eqp_map_options options = run_options(&choice);
        code = eqp__work_units_make(comm, &options, w.size, owners, &all, units, message);
    }
    eqp__survey_release(&survey);
    return code;
}

static double sum_of(MPI_Comm comm, double mine)
{
    CHECK_EQUAL(eqp_sum_double(comm, 1, &mine), EQP_OK);
    return mine;
}

/* Every tile of the heavy owner is a unit with its own pins and weight; light owners have one interaction each. At a
 * low rate all owners of all ranks are one unit, which is now where most of its work is. */
MPI_TEST(every_interaction_can_be_a_unit)
{
    const world w = make_world(comm);
    eqp_owners owners = {.n = 0};
    eqp_work_units units = {.units = NULL};
    eqp_items items = {.id = NULL};
    eqp_map *old = NULL;
    double weight = 0, all = 0, ntiles = 0;

    CHECK_EQUAL(make_units(comm, "interaction:full", NULL, &owners, &units, NULL), EQP_OK);
    CHECK_EQUAL(sum_of(comm, (double)units.n), (double)(w.n - 1 + TILES + 1));
    for (int64_t u = 0; u < units.n; u++) {
        eqp_unit unit;
        CHECK_EQUAL(eqp_units_get(units.units, u, &unit), EQP_OK);
        weight += units.weight[u];
        if (unit.sub >= 0 && (unit.centroid[0] != 0 || unit.centroid[1] != 0)) {
            ntiles++;
            CHECK(fabs(units.weight[u] - 200000.0 / TILES) < 1e-6);
            CHECK_EQUAL(units.pin_first[u + 1] - units.pin_first[u], HEAVY == owners.id[unit.owner] ? 1 : 2);
        }
    }
    for (int64_t o = 0; o < owners.n; o++) {
        all += owners.weight[o];
    }
    CHECK_EQUAL(sum_of(comm, ntiles), TILES);
    CHECK(fabs(sum_of(comm, weight) - sum_of(comm, all)) < 1e-6 * sum_of(comm, all));
    eqp__work_units_free(&units);
    eqp__owners_free(&owners);
    CHECK_EQUAL(make_units(comm, "interaction:rate=1e-9", NULL, &owners, &units, NULL), EQP_OK);
    CHECK_EQUAL(sum_of(comm, (double)units.n), 1);
    CHECK_EQUAL(eqp_map_create(0, NULL, NULL, NULL, &old), EQP_OK);
    for (int64_t o = 0; o < owners.n; o++) {
        owners.owner[o].tag = owners.id[o] == place_of(&w, HEAVY) ? w.size - 1 : o % w.size;
    }
    CHECK_EQUAL(eqp__items_fill(&items, &owners, &units, old), EQP_OK);
    CHECK(units.n == 0 || items.part_now[0] == w.size - 1);
    eqp__items_free(&items);
    eqp_map_free(old);
    eqp__work_units_free(&units);
    eqp__owners_free(&owners);
}

/* As in the paper: an owner and the other end of one of its interactions. */
MPI_TEST(units_can_have_two_pins)
{
    const world w = make_world(comm);
    eqp_owners owners = {.n = 0};
    eqp_work_units units = {.units = NULL};
    double ntiles = 0;

    CHECK_EQUAL(make_units(comm, "interaction:pins=2", NULL, &owners, &units, NULL), EQP_OK);
    for (int64_t u = 0; u < units.n; u++) {
        const int64_t *pin = units.pin + units.pin_first[u], n = units.pin_first[u + 1] - units.pin_first[u];
        bool is_owner = false, is_other = false;
        eqp_unit unit;
        CHECK_EQUAL(eqp_units_get(units.units, u, &unit), EQP_OK);
        CHECK(n >= 1 && n <= 2);
        for (int64_t o = unit.owner; o < unit.owner + unit.owners; o++) {
            is_owner = is_owner || pin[0] == owners.own_pin[o];
            is_other = is_other || (n == 2 && unit.sub < 0 && pin[1] == (owners.id[o] + 1) % w.n);
        }
        CHECK(is_owner && (unit.sub >= 0 || is_other)); /* for whole owners the pin follows */
        ntiles += unit.sub >= 0 && n == 2 && pin[1] == HEAVY;
    }
    CHECK(sum_of(comm, ntiles) > 1); /* every tile of the heavy owner touches it */
    eqp__work_units_free(&units);
    eqp__owners_free(&owners);
}

MPI_TEST(too_many_interactions_are_no_units)
{
    const int64_t each = (int64_t)1 << 20;
    eqp_owners owners = {.n = 0};
    eqp_work_units units = {.units = NULL};
    eqp_message message = {""};

    CHECK_EQUAL(make_units(comm, "interaction:full", &each, &owners, &units, &message), EQP_ERR_ARGUMENT);
    CHECK(strncmp(message.text, "interaction:full: ", 18) == 0 && units.units == NULL && units.weight == NULL);
    eqp__owners_free(&owners);
}

static int make_map(MPI_Comm comm, const char *method, const eqp_map *old, bool shares, int64_t nhome, result *made)
{
    const world w = make_world(comm);
    eqp_choice choice;
    eqp_survey survey = {.n = 0};
    eqp_owners owners = {.n = 0};
    eqp_message message = {""};
    int code;

    *made = (result){.placement = NULL};
    CHECK_EQUAL(eqp_choice_parse(NULL, &usual, method, &choice, NULL), EQP_OK);
    code = eqp_agree(comm, take_survey(&w, true, shares, &survey), NULL);
    if (code == EQP_OK) {
        code = line_up(comm, &survey, &owners);
    }
    if (code == EQP_OK) {
        const eqp_map_options options = run_options(&choice);
        code = eqp__assignment_make(comm, &options, &owners, old, nhome, &made->map, &made->placement, &made->summary,
                                    &message);
    }
    eqp__owners_free(&owners);
    eqp__survey_release(&survey);
    return code;
}

MPI_TEST(whole_owners_have_one_rank)
{
    const world w = make_world(comm);
    double *part = mpi_test_alloc(w.size, sizeof *part), all = 0;
    result made;

    CHECK_EQUAL(make_map(comm, "sfc", NULL, true, PER_RANK, &made), EQP_OK);
    CHECK(eqp_map_shared(made.map) == 0 && made.summary.split_owners == 0 && made.summary.units == w.n);
    for (int i = 0; i < PER_RANK; i++) {
        CHECK(made.placement[i].tag >= 0 && made.placement[i].tag < w.size);
        CHECK_EQUAL(made.placement[i].home, made.placement[i].tag);
        part[made.placement[i].home] += (double)pairs_of((int64_t)w.rank * PER_RANK + i);
    }
    CHECK_EQUAL(eqp_sum_double(comm, w.size, part), EQP_OK);
    for (int r = 0; r < w.size; r++) {
        all += part[r];
    }
    for (int r = 0; r < w.size; r++) {
        CHECK(part[r] <= all / w.size + 201000); /* ranges of owners exceed the mean by at most the heaviest */
    }
    free(part);
    result_free(&made);
}

/* A wrong number of placements on any rank is an internal error, and no rank gets a map. */
MPI_TEST(every_home_must_get_a_placement)
{
    const world w = make_world(comm);
    result made;

    CHECK_EQUAL(make_map(comm, "sfc", NULL, false, w.rank == w.size - 1 ? PER_RANK - 1 : PER_RANK, &made),
                EQP_ERR_INTERNAL);
    CHECK(made.placement == NULL && made.map == NULL);
}

static void check_split(const world *w, const result *made, const eqp_placement *placement)
{
    int *ranks = mpi_test_alloc(w->size + 1, sizeof *ranks);
    const int n = eqp_map_ranks(made->map, placement->tag, w->size, ranks);
    bool home = false;

    CHECK(-1 - placement->tag < eqp_map_shared(made->map) && n > 1);
    for (int i = 0; i < n; i++) {
        CHECK(ranks[i] >= 0 && ranks[i] < w->size && (i == 0 || ranks[i] > ranks[i - 1]));
        home = home || ranks[i] == placement->home;
    }
    CHECK(home);
    for (uint64_t t = 0; t < TILES; t++) {
        double x[3];
        bool known = false;
        for (uint64_t a = 0; a < 3; a++) {
            x[a] = eqp_random_uniform(5, t, a) - 0.5;
        }
        for (int i = 0; i < n; i++) {
            known = known || ranks[i] == eqp_map_rank(made->map, placement->tag, x);
        }
        CHECK(known);
    }
    free(ranks);
}

/* Every entry of the table has one owner, and all ranks hold the same table. */
static void check_entries(MPI_Comm comm, const char *method)
{
    const world w = make_world(comm);
    const int64_t most = w.n + 1;
    double *named = mpi_test_alloc(most, sizeof *named), *seen = mpi_test_alloc(most, sizeof *seen);
    result made;

    CHECK_EQUAL(make_map(comm, method, NULL, false, PER_RANK, &made), EQP_OK);
    CHECK_EQUAL(eqp_map_shared(made.map), made.summary.split_owners);
    CHECK(made.summary.units > 0 && made.summary.sizes.n == made.summary.units);
    CHECK_EQUAL(eqp_map_shared(made.map), w.size > 1);
    for (int i = 0; i < PER_RANK; i++) {
        const eqp_placement *placement = &made.placement[i];
        if (placement->tag >= 0) {
            CHECK_EQUAL(placement->home, placement->tag);
            continue;
        }
        CHECK(is_heavy((int64_t)w.rank * PER_RANK + i)); /* lighter owners fit into one unit */
        check_split(&w, &made, placement);
        named[-1 - placement->tag] += 1;
    }
    CHECK_EQUAL(eqp_sum_double(comm, (int)most, named), EQP_OK);
    for (int64_t s = 0; s < eqp_map_shared(made.map); s++) {
        static const double corner[3] = {0.5, -0.5, 0.25};
        CHECK_EQUAL(named[s], 1);
        seen[s] = eqp_map_rank(made.map, -1 - s, corner);
    }
    CHECK(named[eqp_map_shared(made.map)] == 0);
    memcpy(named, seen, (size_t)most * sizeof *named);
    CHECK_EQUAL(eqp_sum_double(comm, (int)most, named), EQP_OK);
    for (int64_t s = 0; s < eqp_map_shared(made.map); s++) {
        CHECK_EQUAL(named[s], w.size * seen[s]);
    }
    free(seen);
    free(named);
    result_free(&made);
}

MPI_TEST(split_owners_have_an_entry_each)
{
    check_entries(comm, "interaction");
    check_entries(comm, "interaction:full");
    check_entries(comm, "interaction:pins=2");
    check_entries(comm, "interaction:start=rcb");
}

/* Methods that keep parts start from the present map; tags tell who computes now. */
MPI_TEST(parts_that_are_kept_are_those_of_the_old_map)
{
    const world w = make_world(comm);
    eqp_map *old = NULL;
    result made;

    CHECK_EQUAL(eqp_map_create(0, NULL, NULL, NULL, &old), EQP_OK);
    CHECK_EQUAL(make_map(comm, "none", old, true, PER_RANK, &made), EQP_OK);
    for (int i = 0; i < PER_RANK; i++) {
        CHECK(made.placement[i].tag == w.rank && made.placement[i].home == w.rank);
    }
    eqp_map_free(old);
    result_free(&made);
}

static int without_memory(MPI_Comm comm, void *user)
{
    result made;

    failing_ranks_begin();
    int code = make_map(comm, user, NULL, true, PER_RANK, &made);
    failing_ranks_end();
    CHECK(code == EQP_OK || (made.placement == NULL && made.map == NULL));
    result_free(&made);
    return code;
}

MPI_TEST(maps_are_made_on_all_ranks_or_on_none)
{
    char word[][36] = {"sfc", "interaction", "interaction:full", "interaction:pins=2,strategy=random", "hypergraph"};

    for (int k = 0; k < 5; k++) {
        CHECK(failing_ranks_check(comm, without_memory, word[k]) > mpi_test_size(comm));
    }
}
