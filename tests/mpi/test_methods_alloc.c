/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank runs out of memory, in each of the library's allocations in turn: every rank returns, with that code, and
 * what the caller owns is untouched. */
#include "../unit/failing_malloc.h"
#include "harness.h"

#include <equipoise/balance.h>

enum { ITEMS = 24, PINS = 3 };

typedef struct cloud {
    int64_t id[ITEMS], pin_first[ITEMS + 1], pin[ITEMS * PINS];
    double weight[ITEMS], point[3 * ITEMS], pin_weight[ITEMS * PINS];
    int part[ITEMS];
} cloud;

static void make_cloud(MPI_Comm comm, cloud *c)
{
    const int64_t first = (int64_t)ITEMS * mpi_test_rank(comm);

    memset(c, 0, sizeof *c);
    for (int64_t i = 0; i < ITEMS; i++) {
        c->id[i] = first + i;
        /* Uneven: the repair has something to do. */
        c->weight[i] = i % 7 == 0 ? 5 : 1;
        c->point[3 * i] = (double)(first + i);
        c->part[i] = -7;
        for (int64_t k = 0; k < PINS; k++) {
            c->pin[PINS * i + k] = first + i + k;
            c->pin_weight[PINS * i + k] = 8;
        }
        c->pin_first[i + 1] = PINS * (i + 1);
    }
}

/* Lets the allocations of `victim` fail from number k on. Returns whether any was left to fail. */
static int starve(MPI_Comm comm, const eqp_method *method, int victim, int64_t k)
{
    eqp_message message = {""};
    cloud c;
    int64_t failures = 0;

    make_cloud(comm, &c);
    const eqp_balance_items items = {.n = ITEMS,
                                     .id = c.id,
                                     .weight = c.weight,
                                     .point = c.point,
                                     .pin_first = c.pin_first,
                                     .pin = c.pin,
                                     .pin_weight = c.pin_weight};
    eqp_balance_options options = EQP_BALANCE_OPTIONS_DEFAULTS;
    options.nparts = 5;
    options.imbalance_tol = 0.001;
    options.message = &message;
    if (mpi_test_rank(comm) == victim) {
        failing_malloc_start(k);
    }
    int code = eqp_balance(comm, method, &items, &options, c.part, NULL);
    if (mpi_test_rank(comm) == victim) {
        failures = failing_malloc_stop();
    }
    MPI_Bcast(&failures, 1, MPI_INT64_T, victim, comm);
    CHECK_EQUAL(code, failures > 0 ? EQP_ERR_MEMORY : EQP_OK);
    CHECK(failures == 0 || strstr(message.text, method->name) != NULL);
    for (int i = 0; i < ITEMS; i++) {
        CHECK(failures > 0 ? c.part[i] == -7 : c.part[i] >= 0);
    }
    return failures > 0;
}

static void one_rank_without_memory_fails_on_all(MPI_Comm comm)
{
    const int victims[] = {0, mpi_test_size(comm) - 1};

    for (int m = 0; m < eqp_method_count(); m++) {
        for (int v = 0; v < 2; v++) {
            int64_t k = 0;
            while (starve(comm, eqp_method_at(m), victims[v], k)) {
                k++;
            }
            CHECK(k > 0);
        }
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {MPI_TEST(one_rank_without_memory_fails_on_all)};

    /* MPI and Zoltan always get what they ask for: they end the program otherwise. */
    return failing_malloc_only_ours() ? mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]) : 77;
}
