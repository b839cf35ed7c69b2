/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank without memory makes a loop fail on all ranks, while it is prepared; running it allocates nothing. */
#include "harness.h"

#include <equipoise/schedule_run.h>

#include <unistd.h>

#include "failing_ranks.h"

static int compute(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    (void)user;
    (void)first;
    memcpy(result, data, (size_t)count * sizeof(double));
    return EQP_OK;
}

static eqp_loop_engine engine;

static int run_loop(MPI_Comm comm, void *user)
{
    eqp_loop_options options = {.data_bytes = sizeof(double), .result_bytes = sizeof(double), .yield = true};
    const double data[64] = {0};
    double result[64];
    const eqp_loop_work work = {.compute = compute, .data = data, .result = result};
    eqp_loop *loop = NULL;
    int code;

    options.engine = engine;
    failing_ranks_begin();
    code = eqp_loop_create(comm, user, 64, NULL, &options, &loop);
    CHECK((loop == NULL) == (code != EQP_OK));
    code = code ? code : eqp_loop_run(loop, &work, NULL);
    failing_ranks_end();
    eqp_loop_free(loop);
    return code;
}

static void loops_fail_on_all_ranks_or_on_none(MPI_Comm comm)
{
    static const char *const names[] = {"static", "adaptive-factoring"};

    for (int k = 0; k < 2; k++) {
        engine = EQP_LOOP_ONE_SIDED;
        CHECK(failing_ranks_check(comm, run_loop, (void *)eqp_schedule_method_find(names[k])) > 0);
        engine = EQP_LOOP_MASTER;
        CHECK(failing_ranks_check(comm, run_loop, (void *)eqp_schedule_method_find(names[k])) > 0);
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {MPI_TEST(loops_fail_on_all_ranks_or_on_none)};

    if (!failing_malloc_only_ours()) {
        printf("skipped: allocations cannot be made to fail here\n");
        return 77;
    }
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
