/* SPDX-License-Identifier: BSD-3-Clause */
/* From surveys to owners: owners in curve order, shared ones merged; the survey's contents; the pins of whole
 * owners. */
#include "harness.h"

#include "map/assignment.h"
#include "map/items.h"

#include <math.h>

#include "owners_world.h"

/* Compares the phases of an owner, summed over all ranks, with its seconds. */
static void check_phases(const eqp_owners *owners, int64_t o, int64_t number)
{
    const double *phase = owners->phase + 3 * o, seconds = owners->seconds[o], each = number % 2 != 0 ? 0.5 : 1.0;

    if (number == 1) { /* the same for each of four turns */
        CHECK_NEAR(phase[0], 0.25 * seconds, 1e-12 * seconds);
        CHECK(phase[1] == phase[0] && phase[2] == phase[0]);
        return;
    }
    CHECK_NEAR(phase[0], each * seconds, 1e-12 * seconds);
    CHECK(phase[1] == (number % 2 != 0 ? phase[0] : 0.0) && phase[2] == 0.0);
}

static void check_owner(const world *w, const eqp_owners *owners, int64_t o)
{
    const int64_t number = owner_at(w, owners->id[o]);
    const eqp_owner *owner = &owners->owner[o], expected = describe(w, number);
    const int64_t shares = is_shared(number) ? w->size - 1 : 0;
    const int64_t npins = owners->pin_first[o + 1] - owners->pin_first[o];
    const int64_t ntiles = owners->tile_first[o + 1] - owners->tile_first[o];
    int64_t own = 0;

    CHECK_EQUAL(owner->key, expected.key);
    CHECK_EQUAL(owner->id, expected.id);
    CHECK_EQUAL(owners->own_pin[o], is_heavy(number) ? owners->id[o] : 7 * w->n + owners->id[o]);
    CHECK_EQUAL(owner->home, expected.home);
    CHECK_EQUAL(owner->at_home, expected.at_home);
    CHECK_EQUAL(owner->count[0], expected.count[0] + shares);
    CHECK_EQUAL(owner->count[1], expected.count[1]);
    CHECK_EQUAL(owner->count[2], 1); /* counted once, whichever rank visits */
    CHECK_EQUAL(owners->count[o], expected.interactions + shares);
    /* Weights are seconds in quanta of 2^-24 of the largest cost, 100 ns. */
    CHECK_NEAR(owners->weight[o], 1e9 * owners->seconds[o], ldexp(100.0 * (double)(owner->count[0] + 15), -24));
    CHECK_NEAR(owners->weight[o], (double)(owner->count[0] + 15 + 100), 1e-6);
    CHECK_EQUAL(npins, 1 + shares);
    for (int64_t p = owners->pin_first[o]; p < owners->pin_first[o + 1]; p++) {
        CHECK(owners->pin[p] < w->n || owners->pin[p] != 1000 + expected.home);
        own += owners->pin[p] == (owners->id[o] + 1) % w->n;
    }
    CHECK_EQUAL(own, 1);
    CHECK_EQUAL(ntiles, is_heavy(number) ? TILES : 0);
    if (owners->phases.n > 0) {
        check_phases(owners, o, number);
    }
    for (int64_t t = owners->tile_first[o]; t < owners->tile_first[o + 1]; t++) {
        CHECK(owners->tile_pin[EQP_TILE_PINS * t] == number && owners->tile_pin[EQP_TILE_PINS * t + 1] == -1);
    }
}

/* Surveys the world with all its detail, and brings its owners into curve order. as: NULL: without a cycle or detail.
 */
static void survey_world(MPI_Comm comm, const eqp_work_model *as, eqp_survey *survey, eqp_owners *owners)
{
    const eqp_survey_detail all = {.heavy = 0.0, .pin_below = UINT64_MAX};
    const world w = make_world(comm);

    *survey = (eqp_survey){.n = 0};
    if (as != NULL) {
        eqp__survey_clear(survey, as, &all);
    }
    CHECK_EQUAL(take_survey(&w, as != NULL, true, survey), EQP_OK);
    CHECK_EQUAL(line_up(comm, survey, owners), EQP_OK);
}

/* Every owner is on one rank, in curve order, with all its data. */
static void check_owners(MPI_Comm comm, const eqp_owners *owners)
{
    const world w = make_world(comm);
    int64_t before = -1, total = -1;

    CHECK_EQUAL(eqp_scan_int64(comm, owners->n, &before, &total), EQP_OK);
    CHECK_EQUAL(total, w.n);
    for (int64_t o = 0; o < owners->n; o++) {
        CHECK_EQUAL(owners->id[o], before + o);
        check_owner(&w, owners, o);
    }
}

static void release(eqp_survey *survey, eqp_owners *owners)
{
    eqp__owners_free(owners);
    eqp__survey_release(survey);
}

MPI_TEST(owners_come_into_curve_order_and_once)
{
    for (int k = 0; k < 2; k++) {
        eqp_survey survey;
        eqp_owners owners;
        survey_world(comm, k ? &cycle_model : &model, &survey, &owners);
        CHECK(mpi_test_size(comm) == 1 || owners.n < make_world(comm).n); /* no rank has the owners of all */
        check_owners(comm, &owners);
        release(&survey, &owners);
    }
}

/* Owners of one interval, of any length, are gathered on one rank. */
MPI_TEST(owners_of_one_interval_come_to_one_rank)
{
    const int64_t length[] = {1, 7, PER_RANK + 3, INT64_MAX};

    for (int l = 0; l < 4; l++) {
        eqp_survey survey;
        eqp_owners owners;
        int64_t *interval, ends[2] = {-1, -1}, n = 0, *all = NULL;
        survey_world(comm, l % 2 == 0 ? &model : &cycle_model, &survey, &owners);
        interval = mpi_test_alloc(owners.n + 1, sizeof *interval);
        for (int64_t o = 0; o < owners.n; o++) {
            interval[o] = owners.id[o] / length[l];
        }
        CHECK_EQUAL(eqp__owners_join(comm, interval, &owners), EQP_OK);
        check_owners(comm, &owners);
        if (owners.n > 0) {
            ends[0] = owners.id[0] / length[l];
            ends[1] = owners.id[owners.n - 1] / length[l];
        }
        CHECK_EQUAL(eqp_gather_records(comm, sizeof *all, 2, ends, &n, &all), EQP_OK);
        for (int64_t i = 2, last = all[1]; i < n; i += 2) { /* among ranks with owners */
            CHECK(all[i] < 0 || all[i] > last);
            last = all[i] < 0 ? last : all[i + 1];
        }
        free(all);
        free(interval);
        release(&survey, &owners);
    }
}

MPI_TEST(a_survey_without_owners_is_one)
{
    const eqp_survey_detail detail = {.heavy = 1.0, .pin_below = 7};
    eqp_survey survey = {.n = 0};
    eqp_owners owners;
    eqp_costs costs;
    int64_t bytes = 5;

    CHECK_EQUAL(eqp__costs_init(&costs, KINDS, nominal), EQP_OK);
    CHECK_EQUAL(eqp_survey_add_pin(&survey, 3), EQP_OK);
    eqp__survey_clear(&survey, &model, &detail);
    CHECK_EQUAL(eqp__owners_line_up(comm, &survey, &model, &costs, 0, NULL, &owners, &bytes), EQP_OK);
    CHECK(owners.n == 0 && bytes == 5 && survey.npins == 0 && survey.detail.pin_below == 7);
    release(&survey, &owners);
}

/* Contents of the survey; each owner with pins has its own. */
MPI_TEST(whole_owners_have_their_pins)
{
    const eqp_work_units none = {.units = NULL};
    eqp_survey survey;
    eqp_owners owners;
    eqp_items items = {.id = NULL};

    survey_world(comm, NULL, &survey, &owners);
    CHECK_EQUAL(eqp__items_fill(&items, &owners, &none, NULL), EQP_OK);
    CHECK(items.view.pin_first == NULL);
    CHECK_EQUAL(eqp__items_take_pins(comm, &items, &owners, 0.0, 1, EQP_OK), EQP_OK);
    CHECK(items.view.pin_weight == NULL);
    CHECK_EQUAL(items.view.pin_first[0], 0);
    for (int64_t o = 0; o < owners.n; o++) {
        const int64_t kept = owners.pin_first[o + 1] - owners.pin_first[o], own = owners.owner[o].pin >= 0;
        const int64_t *pin = items.view.pin + items.view.pin_first[o];
        CHECK_EQUAL(items.view.pin_first[o + 1] - items.view.pin_first[o], kept + own);
        CHECK(memcmp(pin, owners.pin + owners.pin_first[o], (size_t)kept * sizeof *pin) == 0);
        CHECK(own == 0 || pin[kept] == owners.owner[o].pin);
    }
    eqp__items_free(&items);
    release(&survey, &owners);
}

/* Number of child cells with owners in the cell of that level around a key; *n: owners in the cell. key: [all]. */
static int children_around(int64_t all, const uint64_t *key, uint64_t at, int shift, int64_t *n)
{
    bool has[8] = {false};
    int children = 0;

    *n = 0;
    for (int64_t i = 0; i < all; i++) {
        if (key[i] >> shift == at >> shift) {
            has[key[i] >> (shift - 3) & 7] = true;
            ++*n;
        }
    }
    for (int w = 0; w < 8; w++) {
        children += has[w];
    }
    return children;
}

/* Compared with all owners, on whichever rank they are. */
MPI_TEST(cells_are_pins_that_weigh_their_branches)
{
    const world w = make_world(comm);
    const eqp_work_units none = {.units = NULL};
    uint64_t *key = mpi_test_alloc(w.n, sizeof *key);
    eqp_survey survey;
    eqp_owners owners;
    eqp_items items = {.id = NULL};

    survey_world(comm, NULL, &survey, &owners);
    CHECK_EQUAL(eqp__items_fill(&items, &owners, &none, NULL), EQP_OK);
    CHECK_EQUAL(eqp__items_take_pins(comm, &items, &owners, 0.5, 1, EQP_OK), EQP_OK);
    for (int64_t place = 0; place < w.n; place++) {
        key[place] = describe(&w, owner_at(&w, place)).key;
    }
    for (int64_t o = 0; o < owners.n; o++) {
        const int64_t kept = owners.pin_first[o + 1] - owners.pin_first[o] + (owners.owner[o].pin >= 0);
        const double *weight = items.view.pin_weight + items.view.pin_first[o];
        int64_t at = kept, n = 0;
        for (int64_t k = 0; k < kept; k++) {
            CHECK(weight[k] == 1.0);
        }
        for (int shift = 3; shift <= 63; shift += 3) {
            const int children = children_around(w.n, key, owners.owner[o].key, shift, &n);
            if (children > 1) {
                CHECK(items.view.pin_first[o] + at < items.view.pin_first[o + 1]);
                CHECK(weight[at++] == 0.5 * (children - 1));
            }
        }
        CHECK(n == w.n && at > kept);
        CHECK_EQUAL(items.view.pin_first[o + 1] - items.view.pin_first[o], at);
    }
    eqp__items_free(&items);
    release(&survey, &owners);
    free(key);
}

MPI_TEST(totals_say_what_a_survey_keeps)
{
    const world w = make_world(comm);
    eqp_map_options options = {.method = eqp_method_find("interaction"),
                               .imbalance_tol = 0.02,
                               .how = {.strategy = EQP_SAMPLE_STRIDE, .threshold = 2.0}};
    eqp_survey survey = {.n = 0};
    eqp_units_totals totals;

    CHECK_EQUAL(take_survey(&w, false, false, &survey), EQP_OK);
    CHECK_EQUAL(eqp__survey_totals(comm, &survey, &model, &totals), EQP_OK);
    CHECK_EQUAL(totals.owners, w.n);
    CHECK_EQUAL(totals.interactions, w.n * (TILES + 1));
    eqp_survey_detail detail = eqp__map_options_detail(&options, w.size, &totals);
    CHECK(detail.heavy > 0 && detail.heavy < INFINITY && detail.pin_below > 0);
    CHECK(eqp__map_options_detail(&options, 100 * w.size, &totals).heavy < detail.heavy);
    options.how.pins = 2;
    CHECK(eqp__map_options_detail(&options, w.size, &totals).pin_below == UINT64_MAX); /* all owners are listed */
    options.how.pins = 0;
    options.how.full = true;
    detail = eqp__map_options_detail(&options, w.size, &totals);
    CHECK(detail.heavy == 0 && detail.pin_below == UINT64_MAX);
    totals.interactions = (int64_t)1 << 40;
    CHECK(isinf(eqp__map_options_detail(&options, w.size, &totals).heavy)); /* refused later, so nothing is listed */
    options.how.full = false;
    options.how.strategy = EQP_SAMPLE_RANDOM;
    detail = eqp__map_options_detail(&options, w.size, &totals);
    CHECK(detail.heavy == 0 && detail.pin_below == UINT64_MAX);
    options.method = eqp_method_find("hypergraph");
    detail = eqp__map_options_detail(&options, w.size, &totals);
    CHECK(isinf(detail.heavy) && detail.pin_below == UINT64_MAX);
    options.method = eqp_method_find("sfc");
    detail = eqp__map_options_detail(&options, w.size, &totals);
    CHECK(isinf(detail.heavy) && detail.pin_below == 0);
    eqp__survey_release(&survey);
}
