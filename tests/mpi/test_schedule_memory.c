/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank without memory makes a loop fail on all ranks. Running allocates nothing, except for bundles, where packing,
 * sending, receiving and computing can fail. */
#include "harness.h"

#include <equipoise/more/loops.h>

#include <time.h>
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
    eqp_loop_options options = {
        .size = sizeof(eqp_loop_options), .data_bytes = sizeof(double), .result_bytes = sizeof(double), .yield = true};
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

/* Beyond the eager limit. */
enum { LARGE = 200000, ITERATIONS = 12 };

static int new_bundle(void **bundle, size_t *bytes)
{
    *bundle = malloc(LARGE);
    *bytes = LARGE;
    return *bundle ? EQP_OK : EQP_ERR_MEMORY;
}

/* The owner waits until a bundle has been requested. */
static int compute_slowly(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    const struct timespec pause = {.tv_nsec = *(const int *)user > 0 ? 1000 : 5000 * 1000};

    (void)first;
    (void)count;
    (void)data;
    (void)result;
    (void)nanosleep(&pause, NULL);
    return EQP_OK;
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    int code = new_bundle(data, bytes);

    (void)to;
    *(int *)user += 1;
    if (!code) {
        memset(*data, (int)(first + count), *bytes);
    }
    return code;
}

static int compute_bundle(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                          void **result, size_t *result_bytes)
{
    int code = new_bundle(result, result_bytes);

    (void)user;
    (void)owner;
    CHECK(bytes == LARGE && ((const char *)data)[LARGE - 1] == (char)(first + count));
    if (!code) {
        memcpy(*result, data, LARGE);
    }
    return code;
}

static int take(void *user, int64_t first, int64_t count, const void *result, size_t bytes)
{
    (void)user;
    CHECK(bytes == LARGE && ((const char *)result)[LARGE - 1] == (char)(first + count));
    return EQP_OK;
}

/* One rank has all iterations. */
static int owner;

static int run_bundles(MPI_Comm comm, void *user)
{
    static const eqp_loop_bundles bundles = {pack, compute_bundle, take};
    const eqp_loop_options options = {
        .size = sizeof(eqp_loop_options), .engine = EQP_LOOP_MASTER, .bundles = true, .grain = 1, .most_given = 1};
    int packed = mpi_test_size(comm) == 1, code;
    const eqp_loop_work work = {.compute = compute_slowly, .user = &packed, .bundles = &bundles};
    eqp_loop *loop = NULL;

    failing_ranks_begin();
    code = eqp_loop_create(comm, user, 0, NULL, &options, &loop);
    code = code ? code : eqp_loop_resize(loop, mpi_test_rank(comm) == owner ? ITERATIONS : 0);
    code = code ? code : eqp_loop_run(loop, &work, NULL);
    failing_ranks_end();
    eqp_loop_free(loop);
    return code;
}

static void bundles_fail_on_all_ranks_or_on_none(MPI_Comm comm)
{
    const eqp_schedule_method *self = eqp_schedule_method_find("self");

    for (owner = 0; owner < mpi_test_size(comm); owner++) {
        CHECK(failing_ranks_check(comm, run_bundles, (void *)self) > 0);
    }
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {MPI_TEST(loops_fail_on_all_ranks_or_on_none),
                                     MPI_TEST(bundles_fail_on_all_ranks_or_on_none)};

    if (!failing_malloc_only_ours()) {
        printf("skipped: allocations cannot be made to fail here\n");
        return 77;
    }
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
