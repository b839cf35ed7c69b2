/* SPDX-License-Identifier: BSD-3-Clause */
/* A custom method is one file and one row; eqp_balance() parses its options and words, checks its input and repairs
 * its parts. */
#include "harness.h"

#include <equipoise/balance.h>

/* Two parts on either side of a wall; other parts stay empty. */
typedef struct wall_settings {
    double at;    /* 0: at 0.5 */
    int axis;     /* 0 to 2 */
    bool swapped; /* part 1 is below the wall */
} wall_settings;

static int assign_wall(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                       eqp_balance_result *result)
{
    wall_settings own;

    (void)comm;
    (void)result;
    memcpy(&own, &options->settings, sizeof own);
    for (int64_t i = 0; i < items->n; i++) {
        const int behind = items->point[3 * i + own.axis] >= (own.at > 0 ? own.at : 0.5);
        part[i] = options->nparts > 1 ? behind != own.swapped : 0;
    }
    return EQP_OK;
}

static const eqp_option wall_options[] = {
    {"at", EQP_OPTION_REAL, offsetof(wall_settings, at), 0, true, 1, NULL, "place of the wall"},
    {"axis", EQP_OPTION_CHOICE, offsetof(wall_settings, axis), 0, false, 0, "x|y|z", "what the wall is across"},
    {"swapped", EQP_OPTION_FLAG, offsetof(wall_settings, swapped), 0, false, 0, NULL, "the upper side is part 0"},
};
static const eqp_method wall = {.name = "wall",
                                .summary = "two sides of a wall",
                                .flags = EQP_NEEDS_POINTS | EQP_CAN_SPLIT,
                                .assign = assign_wall,
                                .noptions = 3,
                                .option = wall_options};
static const eqp_method *const rows[] = {&wall};
static const eqp_methods own = {rows, 1};

enum { ITEMS = 100 };

/* Items of this rank lie on a diagonal, in a direction that depends on the rank. */
static void assign_by_word(MPI_Comm comm, const char *word, int part[ITEMS])
{
    const int rank = mpi_test_rank(comm);
    double point[ITEMS][3];
    int64_t id[ITEMS];
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_balance_items items = {.n = ITEMS, .id = id, .point = point[0]};
    eqp_choice choice;
    eqp_message message = {""};

    CHECK_EQUAL(eqp_choice_parse(&own, NULL, word, &choice, &message), EQP_OK);
    for (int i = 0; i < ITEMS; i++) {
        id[i] = (int64_t)ITEMS * rank + i;
        point[i][0] = (i + 0.5) / ITEMS;
        point[i][1] = 1 - point[i][0];
        point[i][2] = 0.25;
    }
    options.nparts = 2;
    options.settings = choice.settings;
    CHECK_EQUAL(eqp_balance(comm, choice.method, &items, &options, part, NULL), EQP_OK);
}

/* Every build has sfc, and the message for a missing method names its library. */
MPI_TEST(words_of_calls_say_what_there_is)
{
    static const struct {
        const char *word, *says;
    } wrong[] = {{"no such", "'no such' is no method of a call; there are none, count, sfc, "},
                 {"auto", "'auto' is no method of a call; there are none, "},
                 {"tensor:w=2", "tensor has no option 'w'; known: x y z"},
                 {"tensor:x", "tensor: x needs a value"},
                 {"sfc:split", "sfc: split is an option of balancers"},
                 {"sfc,count", "'sfc,count' is no method of a call"}};
    const eqp_method *method = NULL;
    eqp_settings settings = {0}, set = {0};
    eqp_message message = {""};
    char says[100];

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_EQUAL(eqp_method_read(wrong[i].word, &method, &settings, &message), EQP_ERR_ARGUMENT);
        CHECK(method == NULL && strstr(message.text, wrong[i].says) == message.text);
    }
    for (int i = 0; eqp_method_lacking(i) != NULL; i++) {
        snprintf(says, sizeof says, "this build lacks %s: no ", eqp_method_lacking(i)->name);
        CHECK_EQUAL(eqp_method_read(eqp_method_lacking(i)->name, &method, &settings, &message), EQP_ERR_ARGUMENT);
        CHECK(strstr(message.text, says) == message.text && strstr(message.text, "; there are none, count, sfc, "));
    }
    CHECK_EQUAL(eqp_method_read(NULL, &method, &settings, NULL), EQP_OK);
    CHECK(method != NULL && method == eqp_method_find("sfc"));
    CHECK_EQUAL(eqp_method_set(eqp_method_find("tensor"), "x", "3", &settings, NULL), EQP_OK);
    CHECK_EQUAL(eqp_method_set(eqp_method_find("tensor"), "x", "3", &set, NULL), EQP_OK);
    CHECK_EQUAL(eqp_method_set(eqp_method_find("tensor"), "y", "2", &set, NULL), EQP_OK);
    CHECK_EQUAL(eqp_method_read("tensor:y=2", &method, &settings, NULL), EQP_OK);
    CHECK(method == eqp_method_find("tensor") && memcmp(&settings, &set, sizeof set) == 0);
}

MPI_TEST(words_reach_the_method)
{
    static const struct {
        const char *word;
        int of_first, of_last;
    } tried[] = {{"wall", 0, 1},         {"wall:axis=y", 1, 0},        {"wall:axis=z", 0, 0},
                 {"wall:swapped", 1, 0}, {"wall:at=0.2,axis=z", 1, 1}, {"wall:axis=y,swapped", 0, 1}};

    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        int part[ITEMS];
        assign_by_word(comm, tried[i].word, part);
        CHECK_EQUAL(part[0], tried[i].of_first);
        CHECK_EQUAL(part[ITEMS - 1], tried[i].of_last);
    }
}

/* eqp_balance() checks these values, so the method need not. */
MPI_TEST(values_are_checked_for_it)
{
    static const struct {
        wall_settings set;
        const char *says;
    } wrong[] = {{{.at = 7}, "balance: wall: at is out of range"},
                 {{.axis = 3}, "balance: wall: axis is out of range"}};
    const double point[3] = {0.1, 0.1, 0.1};
    const int64_t id = mpi_test_rank(comm);
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_balance_items items = {.n = 1, .id = &id, .point = point};
    eqp_message message = {""};
    int part = -7;

    options.message = &message;
    for (int k = 0; k < 2; k++) {
        if (mpi_test_rank(comm) == mpi_test_size(comm) - 1) {
            memcpy(&options.settings, &wrong[k].set, sizeof wrong[k].set);
        }
        CHECK_EQUAL(eqp_balance(comm, &wall, &items, &options, &part, NULL), EQP_ERR_ARGUMENT);
        CHECK(part == -7 && strcmp(message.text, wrong[k].says) == 0);
    }
    items.point = NULL;
    options.settings = (eqp_settings){{0}};
    CHECK_EQUAL(eqp_balance(comm, &wall, &items, &options, &part, NULL), EQP_ERR_ARGUMENT);
}

/* Divides items into equal runs along x, called with all items gathered. Returns EQP_ERR_DATA if a column is
 * missing. */
static int deal(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                eqp_balance_result *result)
{
    for (int64_t i = 0; i < items->n; i++) {
        const int64_t place = (int64_t)items->point[3 * i];
        if (items->pin_first[i + 1] - items->pin_first[i] != 1 || items->pin[i] != items->id[i] ||
            items->size[i] != items->id[i] || items->part_now[i] != (place % 2 == 0 ? -1 : (int)(place % 3))) {
            return EQP_ERR_DATA;
        }
        part[i] = (int)(place * options->nparts / items->n);
    }
    result->repaired = items->n;
    return options->seed == 9 ? EQP_ERR_STATE : EQP_OK;
}

MPI_TEST(a_pure_function_is_a_whole_method)
{
    const eqp_method row = {.name = "deal",
                            .summary = "runs along x",
                            .flags = EQP_NEEDS_POINTS | EQP_NEEDS_PINS | EQP_SHAPED,
                            .assign_alone = deal};
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm), n = rank == 1 ? 0 : ITEMS;
    const int all = ITEMS * (size - (size > 1));
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_balance_result result;
    double point[ITEMS][3] = {{0}};
    int64_t id[ITEMS], first[ITEMS + 1] = {0};
    int now[ITEMS], part[ITEMS];

    options.nparts = 3;
    for (int i = 0; i < n; i++) {
        id[i] = ITEMS * (rank - (rank > 1)) + i;
        point[i][0] = (double)(all - 1 - id[i]);
        first[i + 1] = i + 1;
        now[i] = (all - 1 - (int)id[i]) % 2 == 0 ? 7 : (all - 1 - (int)id[i]) % 3;
        part[i] = -7;
    }
    const eqp_balance_items items = {
        .n = n, .id = id, .point = point[0], .part_now = now, .size = id, .pin_first = first, .pin = id};
    options.seed = 9;
    CHECK_EQUAL(eqp_balance(comm, &row, &items, &options, part, &result), EQP_ERR_STATE);
    CHECK(n == 0 || part[0] == -7);
    options.seed = 1;
    CHECK_EQUAL(eqp_balance(comm, &row, &items, &options, part, &result), EQP_OK);
    CHECK_EQUAL(result.repaired, all);
    for (int i = 0; i < n; i++) {
        CHECK_EQUAL(part[i], (all - 1 - (int)id[i]) * 3 / all);
    }
}
