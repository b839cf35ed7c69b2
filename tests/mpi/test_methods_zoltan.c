/* SPDX-License-Identifier: BSD-3-Clause */
/* Silent failures of Zoltan: the library checks its answers, repairs them if possible and otherwise refuses them on
 * all ranks. This program intercepts Zoltan's partitioner and corrupts the results. */
#include "harness.h"
#include "methods/frame/frame.h"
#include "methods/hypergraph/phg.h"

#include <equipoise/balance.h>

#include <dlfcn.h>
#include <math.h>
#include <zoltan.h>

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L) /* <dlfcn.h> declares it with _GNU_SOURCE only */
#endif

typedef enum trick {
    HONEST,
    ALL_TO_ONE,     /* everything in part 0: above any tolerance, all other parts empty */
    ONE_EMPTY,      /* the last part is empty */
    WARNING,        /* a return code that means neither success nor failure */
    FATAL,          /* failure on one rank only */
    OUT_OF_MEMORY,  /* failure on one rank only */
    PART_TOO_LARGE, /* invalid answers on one rank */
    PART_NEGATIVE,
    ITEM_TOO_LARGE,
    ITEM_TWICE,
    ITEM_MISSING,
    TRICKS
} trick;

static trick played;
static int player, calls; /* player: true on the rank that corrupts; calls: of the partitioner */

typedef int partition_fn(struct Zoltan_Struct *, int *, int *, int *, int *, ZOLTAN_ID_PTR *, ZOLTAN_ID_PTR *, int **,
                         int **, int *, ZOLTAN_ID_PTR *, ZOLTAN_ID_PTR *, int **, int **);

static void spoil(int *n, ZOLTAN_ID_PTR lid, int *part)
{
    for (int i = 0; i < *n && (played == ALL_TO_ONE || played == ONE_EMPTY); i++) {
        part[i] = played == ALL_TO_ONE ? 0 : part[i] > 1 ? part[i] - 1 : 0;
    }
    if (player && *n > 1) {
        part[1] = played == PART_TOO_LARGE ? 1000 : played == PART_NEGATIVE ? -1 : part[1];
        lid[1] = played == ITEM_TOO_LARGE ? 1000000 : played == ITEM_TWICE ? lid[0] : lid[1];
        *n -= played == ITEM_MISSING;
    }
}

int Zoltan_LB_Partition(struct Zoltan_Struct *zoltan, int *changes, int *gid_words, int *lid_words, int *nimport,
                        ZOLTAN_ID_PTR *import_gid, ZOLTAN_ID_PTR *import_lid, int **import_rank, int **import_part,
                        int *nexport, ZOLTAN_ID_PTR *export_gid, ZOLTAN_ID_PTR *export_lid, int **export_rank,
                        int **export_part)
{
    partition_fn *real;

    *(void **)&real = dlsym(RTLD_NEXT, "Zoltan_LB_Partition");
    CHECK(real != NULL);
    int status = real(zoltan, changes, gid_words, lid_words, nimport, import_gid, import_lid, import_rank, import_part,
                      nexport, export_gid, export_lid, export_rank, export_part);
    calls++;
    spoil(nexport, *export_lid, *export_part);
    return played == WARNING                   ? ZOLTAN_WARN
           : player && played == FATAL         ? ZOLTAN_FATAL
           : player && played == OUT_OF_MEMORY ? ZOLTAN_MEMERR
                                               : status;
}

enum { ITEMS = 60, PINS = 4, PARTS = 4 };

/* Items of every rank along a line; each touches itself and its neighbors. */
typedef struct line {
    int64_t id[ITEMS], pin_first[ITEMS + 1], pin[ITEMS * PINS], size[ITEMS];
    double weight[ITEMS], point[3 * ITEMS], pin_weight[ITEMS * PINS];
    int part[ITEMS], present[ITEMS];
    eqp_balance_items items;
    eqp_balance_options options;
    eqp_balance_result result;
    eqp_message message;
} line;

static void make_line(MPI_Comm comm, line *l)
{
    const int64_t first = (int64_t)ITEMS * mpi_test_rank(comm), all = (int64_t)ITEMS * mpi_test_size(comm);

    memset(l, 0, sizeof *l);
    for (int64_t i = 0; i < ITEMS; i++) {
        l->id[i] = first + i;
        l->weight[i] = 1 + (double)((first + i) % 5);
        l->point[3 * i] = (double)(first + i);
        l->part[i] = -7;
        l->present[i] = (int)((first + i) * PARTS / all);
        for (int64_t k = 0; k < PINS; k++) {
            l->pin[PINS * i + k] = (first + i + k) % all;
            l->pin_weight[PINS * i + k] = 1;
        }
        l->pin_first[i + 1] = PINS * (i + 1);
    }
    l->items = (eqp_balance_items){
        .n = ITEMS, .id = l->id, .weight = l->weight, .point = l->point, .pin_first = l->pin_first, .pin = l->pin};
    l->options = eqp_balance_options_defaults();
    l->options.nparts = PARTS;
    l->options.message = &l->message;
}

static int balance(MPI_Comm comm, const char *method, line *l)
{
    calls = 0;
    return eqp_balance(comm, eqp_method_find(method), &l->items, &l->options, l->part, &l->result);
}

/* Checks the result against values recomputed from the parts. */
static void check_parts(MPI_Comm comm, const line *l)
{
    eqp_part_loads loads;

    for (int i = 0; i < ITEMS; i++) {
        CHECK(l->part[i] >= 0 && l->part[i] < l->options.nparts);
    }
    CHECK_EQUAL(eqp__parts_load_all(comm, ITEMS, l->weight, l->part, l->options.nparts, l->options.share, &loads),
                EQP_OK);
    CHECK_NEAR(loads.imbalance, l->result.imbalance, 1e-12);
    CHECK_EQUAL(loads.empty, l->result.empty_parts);
    CHECK_EQUAL(loads.empty, 0);
    CHECK_EQUAL(l->result.within, l->result.imbalance <= l->options.imbalance_tol);
}

MPI_TEST(bad_answers_are_mended)
{
    for (played = HONEST; played <= WARNING; played++) {
        line l;
        make_line(comm, &l);
        CHECK_EQUAL(balance(comm, "interaction", &l), EQP_OK);
        CHECK_EQUAL(calls, mpi_test_rank(comm) == 0);
        check_parts(comm, &l);
        CHECK(l.result.within);
        if (played == ALL_TO_ONE) {
            CHECK_NEAR(l.result.imbalance_unrepaired, PARTS - 1, 1e-12);
            CHECK(l.result.repaired > 0);
        }
        /* Bisection is not rebalanced; only empty parts are filled. */
        make_line(comm, &l);
        CHECK_EQUAL(balance(comm, "rcb", &l), EQP_OK);
        CHECK(calls == 1 || mpi_test_rank(comm) > 0);
        check_parts(comm, &l);
    }
    played = HONEST;
}

MPI_TEST(failures_of_one_rank_are_failures_of_all)
{
    static const char *const methods[] = {"interaction", "rcb"};

    for (played = FATAL; played < TRICKS; played++) {
        for (int m = 0; m < 2; m++) {
            line l;
            /* One rank partitions for all. */
            player = mpi_test_rank(comm) == 0;
            make_line(comm, &l);
            int code = balance(comm, methods[m], &l);
            CHECK_EQUAL(code, played == OUT_OF_MEMORY ? EQP_ERR_MEMORY : EQP_ERR_ZOLTAN);
            CHECK(strstr(l.message.text, methods[m]) != NULL);
            for (int i = 0; i < ITEMS; i++) {
                CHECK_EQUAL(l.part[i], -7);
            }
            player = 0;
        }
    }
    played = HONEST;
}

MPI_TEST(all_ranks_partition_what_is_too_much_for_one)
{
    for (played = HONEST; played < TRICKS; played++) {
        const int fails = played >= FATAL;
        line l;
        make_line(comm, &l);
        player = fails && mpi_test_rank(comm) == mpi_test_size(comm) - 1;
        memcpy(l.part, l.present, sizeof l.part);
        calls = 0;
        const int code = eqp__phg_partition(comm, &l.items, &l.options, "PARTITION", 0, 0, l.part);
        CHECK_EQUAL(code, !fails ? EQP_OK : played == OUT_OF_MEMORY ? EQP_ERR_MEMORY : EQP_ERR_ZOLTAN);
        CHECK_EQUAL(calls, 1);
        for (int i = 0; i < ITEMS; i++) {
            CHECK(fails ? l.part[i] == l.present[i] : l.part[i] >= 0 && l.part[i] < PARTS);
        }
    }
    player = 0;
    played = HONEST;
}

/* One edge joins every second item; light edges join neighbors. By default Zoltan drops edges with more than a quarter
 * of the items; a partitioner that drops the large edge cuts it. */
MPI_TEST(large_edges_are_not_dropped)
{
    const int64_t all = (int64_t)ITEMS * mpi_test_size(comm);
    line l;

    make_line(comm, &l);
    for (int64_t i = 0; i < ITEMS; i++) {
        int64_t *pin = l.pin + PINS * i;
        double *weight = l.pin_weight + PINS * i;
        l.weight[i] = 1;
        pin[0] = l.id[i];
        pin[1] = (l.id[i] + 1) % all;
        pin[2] = pin[3] = l.id[i] % 2 == 0 ? all : all + 1;
        weight[0] = weight[1] = 1;
        weight[2] = weight[3] = 10000;
    }
    l.items.pin_weight = l.pin_weight;
    l.items.size = l.size;
    l.items.part_now = l.present;
    l.options.nparts = 2;
    for (int64_t i = 0; i < ITEMS; i++) {
        l.present[i] = (int)(l.id[i] * 2 / all);
    }
    CHECK_EQUAL(eqp_method_set(eqp_method_find("interaction"), "fresh", "1000", &l.options.settings, NULL), EQP_OK);
    CHECK_EQUAL(balance(comm, "interaction", &l), EQP_OK);
    int64_t here[2] = {0, 0};
    for (int64_t i = 0; i < ITEMS; i++) {
        here[l.part[i]] += l.id[i] % 2 == 0;
    }
    CHECK_EQUAL(eqp_sum_int64(comm, 2, here), EQP_OK);
    CHECK(here[0] == 0 || here[1] == 0);
}

MPI_TEST(extremes_come_out_right)
{
    static const double extreme[] = {1e300, 1e-300, 1e39, 1e-46, 0};
    const eqp_method *method;

    for (int m = 0; (method = eqp_method_at(m)) != NULL; m++) {
        const int evens = (method->flags & EQP_NEEDS_PINS) || strcmp(method->name, "sfc") == 0;
        const int bisects = strcmp(method->name, "rcb") == 0 || strcmp(method->name, "rib") == 0;
        for (int e = 0; e < 5 && (evens || bisects); e++) {
            line l;
            make_line(comm, &l);
            for (int i = 0; i < ITEMS; i++) {
                l.weight[i] *= extreme[e];
                l.point[3 * i] *= extreme[e];
                l.size[i] = INT64_MAX / 2 / (ITEMS * mpi_test_size(comm));
            }
            for (int k = 0; k < ITEMS * PINS; k++) {
                l.pin_weight[k] = extreme[e];
            }
            l.items.pin_weight = l.pin_weight;
            l.items.size = l.size;
            CHECK_EQUAL(balance(comm, method->name, &l), EQP_OK);
            check_parts(comm, &l);
            CHECK(extreme[e] == 0 || bisects || l.result.within);
        }
    }
}

/* The total weight overflows a double: same error code on all ranks, no deadlock. */
MPI_TEST(weights_that_overflow_are_refused)
{
    for (int m = 0; m < eqp_method_count(); m++) {
        line l;
        make_line(comm, &l);
        for (int i = 0; i < ITEMS; i++) {
            l.weight[i] = 1.7e308;
        }
        int code = balance(comm, eqp_method_at(m)->name, &l);
        CHECK_EQUAL(code, EQP_ERR_OVERFLOW);
        CHECK_EQUAL(l.part[0], -7);
    }
}

/* One item with nearly all the weight, all weights but one zero, or all points equal. */
MPI_TEST(lopsided_weights_fill_every_part)
{
    static const char *const methods[] = {"interaction", "rcb", "sfc", "count", "rib", "hypergraph", "metis"};

    for (int m = 0; m < 7; m++) {
        if (eqp_method_find(methods[m]) == NULL) { /* not built */
            continue;
        }
        for (int kind = 0; kind < 3; kind++) {
            line l;
            make_line(comm, &l);
            for (int i = 0; i < ITEMS; i++) {
                l.weight[i] = kind == 1 ? 0 : 1e-9;
                l.point[3 * i] = kind == 2 ? 0 : l.point[3 * i];
            }
            l.weight[ITEMS / 2] = mpi_test_rank(comm) == 0 ? 1e6 : l.weight[0];
            CHECK_EQUAL(balance(comm, methods[m], &l), EQP_OK);
            check_parts(comm, &l);
        }
    }
}
