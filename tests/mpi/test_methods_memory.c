/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank runs out of memory in each allocation of the library in turn: every rank returns that code, and the caller's
 * data are unchanged. */
#include "harness.h"

#include <unistd.h>

#include "failing_ranks.h"

#include <equipoise/balance.h>

enum { ITEMS = 24, PINS = 3, PHASES = 2 };

typedef struct cloud {
    int64_t id[ITEMS], size[ITEMS], pin_first[ITEMS + 1], pin[ITEMS * PINS];
    double weight[ITEMS], point[3 * ITEMS], pin_weight[ITEMS * PINS], phase_load[ITEMS * PHASES];
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
        c->size[i] = 1;
        c->phase_load[PHASES * i] = 1;
        c->phase_load[PHASES * i + 1] = i % 7 == 0 ? 4 : 0;
        c->point[3 * i] = (double)(first + i);
        c->part[i] = -7;
        for (int64_t k = 0; k < PINS; k++) {
            c->pin[PINS * i + k] = first + i + k;
            c->pin_weight[PINS * i + k] = 8;
        }
        c->pin_first[i + 1] = PINS * (i + 1);
    }
}

static int balance_cloud(MPI_Comm comm, const eqp_method *method, int with_pins)
{
    eqp_message message = {""};
    cloud c;

    make_cloud(comm, &c);
    const eqp_balance_items items = {.n = ITEMS,
                                     .id = c.id,
                                     .weight = c.weight,
                                     .point = c.point,
                                     .pin_first = with_pins ? c.pin_first : NULL,
                                     .pin = c.pin,
                                     .pin_weight = c.pin_weight,
                                     .size = c.size,
                                     .phase_load = with_pins ? c.phase_load : NULL};
    eqp_balance_options options = eqp_balance_options_defaults();
    int64_t capacity[5], n = ITEMS * (int64_t)mpi_test_size(comm);
    for (int p = 0; p < 5; p++) {
        capacity[p] = p == 0 ? n / 8 : n / 4; /* too little for an equal share, and enough for all */
    }
    options.capacity = with_pins && strcmp(method->name, "sfc") == 0 ? capacity : NULL;
    options.nparts = 5;
    options.nphases = with_pins ? PHASES : 0;
    options.imbalance_tol = 0.001;
    options.message = &message;
    failing_ranks_begin();
    int code = eqp_balance(comm, method, &items, &options, c.part, NULL);
    failing_ranks_end();
    CHECK(code == EQP_OK || strstr(message.text, method->name) != NULL);
    for (int i = 0; i < ITEMS; i++) {
        CHECK(code == EQP_OK ? c.part[i] >= 0 : c.part[i] == -7);
    }
    return code;
}

/* user: the method */
static int balance(MPI_Comm comm, void *user)
{
    return balance_cloud(comm, user, 1);
}

static int balance_without_pins(MPI_Comm comm, void *user)
{
    return balance_cloud(comm, user, 0);
}

static void methods_fail_on_all_ranks_or_on_none(MPI_Comm comm)
{
    for (int m = 0; m < eqp_method_count(); m++) {
        CHECK(failing_ranks_check(comm, balance, (void *)eqp_method_at(m)) > 0);
    }
    /* Without pins, neighbors are neighbors in space. */
    CHECK(failing_ranks_check(comm, balance_without_pins, (void *)eqp_method_find("diffusion")) > 0);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {MPI_TEST(methods_fail_on_all_ranks_or_on_none)};

    if (!failing_malloc_only_ours()) {
        printf("skipped: this system does not let a program fail its own allocations\n");
        return 77;
    }
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
