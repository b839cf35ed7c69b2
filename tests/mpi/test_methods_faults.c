/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of methods: a fault on one rank fails on all ranks with the same code and message. */
#include "harness.h"

#include <equipoise/balance.h>

#include <math.h>
#include <stddef.h>

MPI_TEST(methods_that_need_no_arrays_take_none)
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

/* A call that is valid except for one fault on one rank. */
typedef struct call {
    int64_t id[4], particles[4], size[4], pin_first[5], pin[4];
    double weight[4], point[12], source[12], pin_weight[4], share[3], phase_load[12], times[3], part_load[3];
    eqp_balance_items items;
    eqp_balance_options options;
    int part[4];
    eqp_message message;
} call;

static void make_call(call *c, int rank)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 4; i++) {
        c->id[i] = 4 * rank + i;
        c->pin_first[i + 1] = i + 1;
        c->pin[i] = i;
        c->particles[i] = 1;
        c->weight[i] = c->pin_weight[i] = 1;
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
    c->options.part_load = c->part_load;
}

/* A member of a call and its wrong value. Wrong data are EQP_ERR_DATA, the rest EQP_ERR_ARGUMENT. Missing arrays and
 * options that differ are in test_disagree_methods.c. */
typedef struct fault {
    enum { WORD, INT, REAL, TWO } kind; /* TWO: the next real compensates this one */
    size_t at;
    double value;
    enum {
        DATA = 1,
        IDS = 2,    /* only Zoltan's methods read ids */
        SETTING = 4 /* all bits set: no legal value of a number or a choice */
    } is;
} fault;

#define AT(member) offsetof(call, member)

static const fault faults[] = {
    {WORD, AT(pin_first[0]), 1, 0},
    {WORD, AT(pin_first[2]), 0, DATA},
    {WORD, AT(pin[1]), -1, DATA},
    {WORD, AT(particles[1]), -1, DATA},
    {WORD, AT(size[0]), -1, DATA},
    {WORD, AT(id[2]), -1, DATA},
    {WORD, AT(id[1]), 2, DATA | IDS}, /* duplicates an id of another rank or of its own */
    {REAL, AT(weight[2]), NAN, DATA},
    {REAL, AT(weight[2]), -1, DATA},
    {REAL, AT(weight[2]), INFINITY, DATA},
    {REAL, AT(point[5]), INFINITY, DATA},
    {REAL, AT(source[11]), NAN, DATA},
    {REAL, AT(pin_weight[3]), NAN, DATA},
    {REAL, AT(pin_weight[3]), -1, DATA},
    {REAL, AT(phase_load[7]), NAN, DATA},
    {REAL, AT(phase_load[7]), -1, DATA},
    {REAL, AT(phase_load[7]), INFINITY, DATA},
    {INT, AT(options.nphases), 0, 0},
    {INT, AT(options.nphases), -1, 0},
    {REAL, AT(options.imbalance_tol), NAN, 0},
    {REAL, AT(times[1]), 0, 0},
    {REAL, AT(times[1]), NAN, 0},
    {REAL, AT(share[0]), 0.6, 0},
    {REAL, AT(share[0]), NAN, 0},
    {TWO, AT(share[0]), -0.5, 0},
    {REAL, AT(part_load[1]), NAN, 0},
    {REAL, AT(part_load[1]), -1, 0},
    {REAL, AT(part_load[1]), INFINITY, 0},
    {WORD, AT(options.settings), -1, SETTING},
};

static void spoil(call *c, const fault *f)
{
    char *const at = (char *)c + f->at;
    const int64_t word = f->kind == WORD ? (int64_t)f->value : 0;
    const int number = f->kind == INT ? (int)f->value : 0;
    const double rest = 0.75 - f->value;

    memcpy(at,
           f->kind == WORD  ? (const void *)&word
           : f->kind == INT ? (const void *)&number
                            : &f->value,
           f->kind == INT ? sizeof number : sizeof word);
    if (f->kind == TWO) {
        memcpy(at + sizeof rest, &rest, sizeof rest);
    }
}

/* True if a method cannot notice the fault, because it does not read the ids or has no options. */
static bool is_harmless(const eqp_method *method, const fault *f, int nranks)
{
    const bool zoltan = strcmp(method->name, "rcb") == 0 || strcmp(method->name, "rib") == 0 ||
                        strcmp(method->name, "interaction") == 0 || strcmp(method->name, "hypergraph") == 0;

    return f->is & IDS ? !zoltan : f->is & SETTING ? nranks == 1 && method->noptions == 0 : false;
}

/* Results are unchanged and all ranks have the same message. */
static void check_fault(MPI_Comm comm, const eqp_method *method, const fault *f)
{
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);
    eqp_message first;
    call c;

    make_call(&c, rank);
    if (rank == nranks - 1) {
        spoil(&c, f);
    }
    const int code = eqp_balance(comm, method, &c.items, &c.options, c.part, NULL);
    CHECK_EQUAL(code, f->is & DATA ? EQP_ERR_DATA : EQP_ERR_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        CHECK_EQUAL(c.part[i], -7);
    }
    first = c.message;
    MPI_Bcast(&first, (int)sizeof first, MPI_BYTE, 0, comm);
    CHECK(c.message.text[0] != '\0' && strcmp(first.text, c.message.text) == 0);
}

MPI_TEST(faults_on_one_rank_fail_on_all)
{
    for (int m = 0; m < eqp_method_count(); m++) {
        for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
            mpi_test_case = eqp_method_at(m)->name;
            if (!is_harmless(eqp_method_at(m), &faults[f], mpi_test_size(comm))) {
                check_fault(comm, eqp_method_at(m), &faults[f]);
            }
        }
    }
}

MPI_TEST(every_row_is_found_by_its_name)
{
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
