/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of methods: a fault on one rank is a failure on all ranks, with the same code and message. */
#include "harness.h"

#include <equipoise/balance.h>

#include <math.h>

static void methods_that_need_no_arrays_take_none(MPI_Comm comm)
{
    const int64_t id[3] = {3 * (int64_t)mpi_test_rank(comm), id[0] + 1, id[0] + 2};
    eqp_balance_items items = {.n = 3, .id = id};
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_balance_result r;
    int part[3];

    options.nparts = mpi_test_size(comm);
    for (int m = 0; m < eqp_method_count(); m++) {
        int needs = (eqp_method_at(m)->flags & (EQP_NEEDS_WEIGHTS | EQP_NEEDS_POINTS | EQP_NEEDS_PINS)) != 0;
        CHECK_EQUAL(eqp_balance(comm, eqp_method_at(m), &items, &options, part, &r), needs ? EQP_ERR_ARGUMENT : EQP_OK);
        CHECK(needs || r.imbalance == 0);
    }
}

enum fault {
    NO_WEIGHT,
    NO_POINT,
    NO_PINS,
    NO_IDS,
    NO_ITEMS,
    NO_OPTIONS,
    NO_METHOD,
    NO_PART,
    NAN_WEIGHT,
    NEGATIVE_WEIGHT,
    NEGATIVE_ID,
    INFINITE_POINT,
    NAN_SOURCE,
    FALLING_PINS,
    NEGATIVE_PIN,
    NEGATIVE_COUNT,
    INFINITE_WEIGHT,
    NEGATIVE_SIZE,
    NAN_PIN_WEIGHT,
    NEGATIVE_PIN_WEIGHT,
    TWIN_IDS,
    TWIN_OF_ANOTHER_RANK,
    PINS_NOT_FROM_0,
    PINS_WITHOUT_LIST,
    NEGATIVE_N,
    NO_PARTS,
    OTHER_PARTS,
    OTHER_TOLERANCE,
    NAN_TOLERANCE,
    OTHER_SEED,
    OTHER_SHARES,
    WRONG_SHARES,
    NAN_SHARE,
    NEGATIVE_SHARE,
    OTHER_SETTING,
    NAN_SETTING,
    NEGATIVE_SETTING,
    OTHER_METHOD,
    NO_PHASES,
    NO_PHASE_LOAD,
    NEGATIVE_PHASES,
    TOO_MANY_PHASES,
    OTHER_PHASES,
    OTHER_TIMES,
    ZERO_TIME,
    NAN_TIME,
    NAN_PHASE_LOAD,
    NEGATIVE_PHASE_LOAD,
    INFINITE_PHASE_LOAD,
    FAULTS
};

/* True if only a comparison between ranks can find the fault. */
static int is_a_difference(enum fault fault)
{
    return fault == OTHER_PARTS || fault == OTHER_TOLERANCE || fault == OTHER_SEED || fault == OTHER_SHARES ||
           fault == OTHER_SETTING || fault == OTHER_METHOD || fault == OTHER_PHASES || fault == OTHER_TIMES;
}

/* Only methods of Zoltan use ids. */
static int is_about_ids(enum fault fault)
{
    return fault == TWIN_IDS || fault == TWIN_OF_ANOTHER_RANK;
}

static int is_in_the_data(enum fault fault)
{
    return fault == NAN_WEIGHT || fault == NEGATIVE_WEIGHT || fault == NEGATIVE_ID || fault == INFINITE_POINT ||
           fault == NAN_SOURCE || fault == FALLING_PINS || fault == NEGATIVE_PIN || fault == NEGATIVE_COUNT ||
           fault == INFINITE_WEIGHT || fault == NEGATIVE_SIZE || fault == NAN_PIN_WEIGHT ||
           fault == NEGATIVE_PIN_WEIGHT || fault == NAN_PHASE_LOAD || fault == NEGATIVE_PHASE_LOAD ||
           fault == INFINITE_PHASE_LOAD || is_about_ids(fault);
}

/* A call that is valid except for one fault on one rank. */
typedef struct call {
    int64_t id[4], particles[4], size[4], pin_first[5], pin[4];
    double weight[4], point[12], source[12], pin_weight[4], share[3], phase_load[12], times[3];
    eqp_balance_items items, *items_or_null;
    eqp_balance_options options, *options_or_null;
    const eqp_method *method;
    int part[4], *part_or_null;
    eqp_message message;
} call;

static void make_call(call *c, int rank)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 4; i++) {
        c->id[i] = 4 * rank + i;
        c->particles[i] = 1;
        c->pin_first[i + 1] = i + 1;
        c->pin[i] = i;
        c->weight[i] = 1;
        c->pin_weight[i] = 1;
        c->part[i] = -7;
    }
    for (int j = 0; j < 12; j++) {
        c->phase_load[j] = j % 3 <= j / 3;
        c->times[j % 3] = 1 + j % 3;
    }
    c->share[0] = 0.5;
    c->share[1] = c->share[2] = 0.25;
    c->items = (eqp_balance_items){.n = 4,
                                   .id = c->id,
                                   .weight = c->weight,
                                   .particles = c->particles,
                                   .point = c->point,
                                   .source = c->source,
                                   .size = c->size,
                                   .pin_first = c->pin_first,
                                   .pin = c->pin,
                                   .pin_weight = c->pin_weight,
                                   .phase_load = c->phase_load};
    c->options = eqp_balance_options_defaults();
    c->options.nparts = 3;
    c->options.share = c->share;
    c->options.message = &c->message;
    c->options.nphases = 3;
    c->options.times = c->times;
    c->items_or_null = &c->items;
    c->options_or_null = &c->options;
    c->part_or_null = c->part;
}

static void spoil_items(call *c, enum fault fault)
{
    c->weight[2] = fault == NAN_WEIGHT        ? NAN
                   : fault == NEGATIVE_WEIGHT ? -1
                   : fault == INFINITE_WEIGHT ? INFINITY
                                              : c->weight[2];
    c->pin_weight[3] = fault == NAN_PIN_WEIGHT ? NAN : fault == NEGATIVE_PIN_WEIGHT ? -1 : c->pin_weight[3];
    c->phase_load[7] = fault == NAN_PHASE_LOAD        ? NAN
                       : fault == NEGATIVE_PHASE_LOAD ? -1
                       : fault == INFINITE_PHASE_LOAD ? INFINITY
                                                      : c->phase_load[7];
    c->items.phase_load = fault == NO_PHASE_LOAD ? NULL : c->items.phase_load;
    c->size[0] = fault == NEGATIVE_SIZE ? -1 : c->size[0];
    c->id[1] = fault == TWIN_IDS ? c->id[3] : fault == TWIN_OF_ANOTHER_RANK ? 2 : c->id[1];
    c->pin_first[0] = fault == PINS_NOT_FROM_0 ? 1 : c->pin_first[0];
    c->items.pin = fault == PINS_WITHOUT_LIST ? NULL : c->items.pin;
    c->items.n = fault == NEGATIVE_N ? -1 : c->items.n;
    c->items.weight = fault == NO_WEIGHT ? NULL : c->items.weight;
    c->items.point = fault == NO_POINT ? NULL : c->items.point;
    c->items.pin_first = fault == NO_PINS ? NULL : c->items.pin_first;
    c->items.id = fault == NO_IDS ? NULL : c->items.id;
    c->items_or_null = fault == NO_ITEMS ? NULL : c->items_or_null;
    c->part_or_null = fault == NO_PART ? NULL : c->part_or_null;
    c->id[2] = fault == NEGATIVE_ID ? -1 : c->id[2];
    c->point[5] = fault == INFINITE_POINT ? INFINITY : c->point[5];
    c->source[11] = fault == NAN_SOURCE ? NAN : c->source[11];
    c->pin_first[2] = fault == FALLING_PINS ? 0 : c->pin_first[2];
    c->pin[1] = fault == NEGATIVE_PIN ? -1 : c->pin[1];
    c->particles[1] = fault == NEGATIVE_COUNT ? -1 : c->particles[1];
}

static void spoil_options(call *c, enum fault fault)
{
    c->options_or_null = fault == NO_OPTIONS ? NULL : c->options_or_null;
    c->options.nparts = fault == NO_PARTS ? 0 : fault == OTHER_PARTS ? 1 : c->options.nparts;
    c->options.share = fault == OTHER_PARTS || fault == OTHER_SHARES ? NULL : c->options.share;
    c->options.seed = fault == OTHER_SEED ? 99 : c->options.seed;
    c->options.nphases = fault == NO_PHASES         ? 0
                         : fault == NEGATIVE_PHASES ? -1
                         : fault == TOO_MANY_PHASES ? EQP_CYCLE_PHASES + 1
                         : fault == OTHER_PHASES    ? 2
                                                    : c->options.nphases;
    c->times[1] = fault == OTHER_TIMES ? 7 : fault == ZERO_TIME ? 0 : fault == NAN_TIME ? NAN : c->times[1];
    c->share[0] = fault == WRONG_SHARES ? 0.6 : fault == NAN_SHARE ? NAN : c->share[0];
    if (fault == NEGATIVE_SHARE) {
        c->share[0] = -0.5;
        c->share[1] = 1.25;
    }
    if (fault == OTHER_SETTING || fault == NAN_SETTING || fault == NEGATIVE_SETTING) {
        const double setting = fault == OTHER_SETTING ? 3 : fault == NAN_SETTING ? NAN : -1;
        /* The first option of every method with options is a real number. */
        memcpy(&c->options.settings, &setting, sizeof setting);
    }
    if (fault == OTHER_TOLERANCE || fault == NAN_TOLERANCE) {
        c->options.imbalance_tol = fault == NAN_TOLERANCE ? NAN : 0.5;
    }
    if (fault == OTHER_METHOD) {
        c->method = eqp_method_at(c->method == eqp_method_at(0));
    }
    c->method = fault == NO_METHOD ? NULL : c->method;
}

/* True if a method cannot notice the fault, because it does not read the array. */
static int is_harmless(const eqp_method *method, enum fault fault, int nranks)
{
    if (is_a_difference(fault)) {
        return nranks == 1;
    }
    if (is_about_ids(fault)) {
        static const char *const zoltan[] = {"rcb", "rib", "interaction", "hypergraph"};
        for (int i = 0; i < 4; i++) {
            if (strcmp(method->name, zoltan[i]) == 0) {
                return 0;
            }
        }
        return 1;
    }
    if (fault == NAN_SETTING || fault == NEGATIVE_SETTING) {
        return nranks == 1 && method->noptions == 0;
    }
    return nranks == 1 && (fault == NO_WEIGHT || /* the sum of the phases */
                           (fault == NO_POINT && !(method->flags & EQP_NEEDS_POINTS)) ||
                           (fault == NO_PINS && !(method->flags & EQP_NEEDS_PINS)));
}

static void check_fault(MPI_Comm comm, const eqp_method *method, enum fault fault)
{
    int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm), last = rank == nranks - 1;
    eqp_message first;
    call c;

    make_call(&c, rank);
    c.method = method;
    if (last) {
        spoil_items(&c, fault);
        spoil_options(&c, fault);
    }
    if (is_harmless(method, fault, nranks)) {
        return;
    }
    int code = eqp_balance(comm, c.method, c.items_or_null, c.options_or_null, c.part_or_null, NULL);
    CHECK_EQUAL(code, is_in_the_data(fault) ? EQP_ERR_DATA : EQP_ERR_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(c.part[i], -7);
    }
    first = c.message;
    MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, comm);
    CHECK((last && !c.options_or_null) || (nranks == 1 && fault == NO_OPTIONS) || c.message.text[0] != '\0');
    CHECK((last && !c.options_or_null) || strcmp(first.text, c.message.text) == 0);
}

static void faults_on_one_rank_fail_on_all(MPI_Comm comm)
{
    for (int m = 0; m < eqp_method_count(); m++) {
        for (int fault = 0; fault < FAULTS; fault++) {
            check_fault(comm, eqp_method_at(m), (enum fault)fault);
        }
    }
}

static void every_row_is_found_by_its_name(MPI_Comm comm)
{
    (void)comm;
    CHECK(eqp_method_count() >= 5);
    for (int m = 0; m < eqp_method_count(); m++) {
        CHECK(eqp_method_find(eqp_method_at(m)->name) == eqp_method_at(m));
        CHECK(strlen(eqp_method_at(m)->summary) > 10);
    }
    CHECK(eqp_method_find("no such method") == NULL);
    CHECK(eqp_method_find(NULL) == NULL);
    CHECK(eqp_method_at(-1) == NULL);
    CHECK(eqp_method_at(eqp_method_count()) == NULL);
    for (int m = 0; eqp_method_lacking(m) != NULL; m++) {
        CHECK(!eqp_method_assigns(eqp_method_lacking(m)) && eqp_method_find(eqp_method_lacking(m)->name) == NULL);
    }
    CHECK(eqp_method_lacking(-1) == NULL);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(every_row_is_found_by_its_name),
        MPI_TEST(methods_that_need_no_arrays_take_none),
        MPI_TEST(faults_on_one_rank_fail_on_all),
    };
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
