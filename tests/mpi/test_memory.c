/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank without memory makes a call of comm.h fail on all ranks, with nothing changed, and never hangs it. */
#include "harness.h"

#include <unistd.h>

#include "failing_ranks.h"

#include <equipoise/more/par.h>

static int send_records(MPI_Comm comm, void *user)
{
    const int to[2] = {(mpi_test_rank(comm) + 1) % mpi_test_size(comm), 0};
    const double send[2] = {1, 2};
    double *recv = NULL;
    int64_t n = -7;

    (void)user;
    failing_ranks_begin();
    const int code = eqp_send_records(comm, sizeof *recv, 2, to, send, &n, &recv);
    failing_ranks_end();
    CHECK(code == EQP_OK ? n >= 1 && recv[n - 1] >= 1 : n == -7 && recv == NULL);
    free(recv);
    return code;
}

static int gather(MPI_Comm comm, void *user)
{
    int64_t count[64];
    int mine[2] = {4, 5}, all[128] = {0};

    (void)user;
    for (int r = 0; r < mpi_test_size(comm); r++) {
        count[r] = 2;
    }
    failing_ranks_begin();
    int code = eqp_gather_all(comm, sizeof mine[0], 2, mine, count, all);
    failing_ranks_end();
    CHECK_EQUAL(all[1], code == EQP_OK ? 5 : 0);
    return code;
}

/* Only the rank that cannot hold its data knows of the failure, until its next call. No rank hangs. */
static int send_sparse(MPI_Comm comm, void *user)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm), to[2] = {(rank + 1) % size, (rank + 1) % size};
    const int64_t value[2] = {10 + rank, 7};
    int64_t n = -7, all = -7, *in = NULL, *gathered = NULL;
    eqp_gatherer *gatherer = NULL;

    (void)user;
    failing_ranks_begin();
    int code = eqp_send_sparse(comm, EQP_OK, sizeof *in, 2, to, value, NULL, &n, &in);
    CHECK(code == EQP_OK ? n == 2 && in[0] == 10 + (rank + size - 1) % size : n == -7 && in == NULL);
    const int made = eqp_gatherer_create(comm, sizeof *in, &gatherer);
    if (made == EQP_OK) {
        code = eqp_gatherer_run(gatherer, code, 2, value, NULL, &all, &gathered);
        CHECK(code == EQP_OK ? all == 2 * size && gathered[1] == 7 : all == -7 && gathered == NULL);
    } else {
        code = eqp_agree(comm, code == EQP_OK ? made : code, NULL);
    }
    failing_ranks_end();
    eqp_gatherer_free(gatherer);
    free(in);
    return code;
}

static int migrate(MPI_Comm comm, void *user)
{
    int size = mpi_test_size(comm), rank = mpi_test_rank(comm), code;
    const int to[4] = {(rank + 1) % size, rank, rank, (rank + 1) % size};
    const int64_t value[4] = {10, 11, 12, 13};
    int64_t recv_count[64], nrecv = -7, arrived[4] = {0}, back[4] = {0};
    eqp_move_plan *plan = NULL;

    (void)user;
    failing_ranks_begin();
    /* The call is local, so the ranks agree on its code. */
    code = eqp_agree(comm, eqp_move_plan_create(4, to, size, &plan), NULL);
    if (code == EQP_OK) {
        code = eqp_move_counts(comm, plan, recv_count, &nrecv);
    }
    if (code == EQP_OK) {
        CHECK_EQUAL(nrecv, 4);
        code = eqp_move_apply(comm, plan, recv_count, sizeof value[0], value, arrived);
    }
    if (code == EQP_OK) {
        code = eqp_move_return(comm, plan, recv_count, sizeof value[0], arrived, back);
    }
    failing_ranks_end();
    CHECK(code != EQP_OK || memcmp(back, value, sizeof back) == 0);
    eqp_move_plan_free(plan);
    return code;
}

static int cut_keys(MPI_Comm comm, void *user)
{
    const uint64_t key[4] = {1, 5, 5, 9};
    uint64_t cut[4] = {77, 77, 77, 77};

    (void)user;
    failing_ranks_begin();
    int code = eqp_key_cuts(comm, 4, key, NULL, 3, NULL, cut);
    failing_ranks_end();
    CHECK((cut[0] == 77) == (code != EQP_OK));
    return code;
}

static int sum_loads(MPI_Comm comm, void *user)
{
    const double weight[4] = {1, 2, 3, 4};
    const int part[4] = {0, 2, 1, 2};
    double load[3] = {-7, -7, -7};
    eqp_part_loads loads;
    eqp_load_statistics statistics = {.count = -7};

    (void)user;
    failing_ranks_begin();
    int code = eqp_parts_load_all(comm, 4, weight, part, 3, NULL, load, &loads);
    CHECK((load[2] == -7) == (code != EQP_OK));
    if (code == EQP_OK) {
        code = eqp_load_statistics_all(comm, 4, weight, &statistics);
        CHECK((statistics.count == -7) == (code != EQP_OK));
    }
    failing_ranks_end();
    return code;
}

static void exchanges_fail_on_all_ranks_or_on_none(MPI_Comm comm)
{
    CHECK(failing_ranks_check(comm, send_records, NULL) > 0);
    failing_ranks_check(comm, gather, NULL);
    CHECK(failing_ranks_check(comm, migrate, NULL) > 0);
    CHECK(failing_ranks_check(comm, send_sparse, NULL) > 0);
}

static void reductions_fail_on_all_ranks_or_on_none(MPI_Comm comm)
{
    failing_ranks_check(comm, cut_keys, NULL);
    failing_ranks_check(comm, sum_loads, NULL);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(exchanges_fail_on_all_ranks_or_on_none),
        MPI_TEST(reductions_fail_on_all_ranks_or_on_none),
    };

    if (!failing_malloc_only_ours()) {
        printf("skipped: this system does not let a program fail its own allocations\n");
        return 77;
    }
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
