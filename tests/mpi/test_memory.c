/* SPDX-License-Identifier: BSD-3-Clause */
/* A failed allocation on one rank makes a collective call fail on all ranks, without effect and without a deadlock. */
#include "harness.h"

#include <equipoise/more/loops.h>

#define FAILING_RANKS_MOST 4 /* two nodes of two */
#include "failing_ranks.h"
#include "methods/frame/frame.h"

/* ---- comm.h ---- */

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

/* Only the rank that cannot store its data knows of the failure, until its next call. */
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
    eqp_part_loads loads = {.empty = -7};

    (void)user;
    failing_ranks_begin();
    int code = eqp__parts_load_all(comm, 4, weight, part, 3, NULL, &loads);
    CHECK((loads.empty == -7) == (code != EQP_OK));
    failing_ranks_end();
    return code;
}

MPI_TEST(exchanges_fail_on_all_ranks_or_on_none)
{
    CHECK(failing_ranks_check(comm, send_records, NULL) > 0);
    failing_ranks_check(comm, gather, NULL);
    CHECK(failing_ranks_check(comm, migrate, NULL) > 0);
    CHECK(failing_ranks_check(comm, send_sparse, NULL) > 0);
}

MPI_TEST(reductions_fail_on_all_ranks_or_on_none)
{
    failing_ranks_check(comm, cut_keys, NULL);
    failing_ranks_check(comm, sum_loads, NULL);
}

/* ---- routes: planning, the first trip, the first trip back ---- */

static int travel(MPI_Comm comm, void *user)
{
    const eqp_exchange_plan *plan = user;
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    const int64_t id[3] = {7, 8, 9}, bytes[3] = {8, 16, 8}, first[4] = {0, size, size + 1, size + 1};
    const double data[4] = {1, 2, 3, 4}, mine[4 * 64] = {0};
    double sum[4] = {-7, -7, -7, -7};
    int to[65];
    const eqp_route_blocks blocks = {
        .n = 3, .id = id, .bytes = bytes, .first = first, .rank = to, .back = plan->stages != EQP_STAGES_TWO};
    const void *received = NULL;
    eqp_route *route = NULL;

    CHECK(size <= 64);
    for (int r = 0; r < size; r++) {
        to[r] = r;
    }
    to[size] = (rank + size / 2) % size;
    failing_ranks_begin();
    int code = eqp_route_create(comm, plan, &blocks, &route);
    CHECK((route == NULL) == (code != EQP_OK));
    if (code == EQP_OK && (code = eqp_route_start(route, data)) == EQP_OK) {
        CHECK_EQUAL(eqp_route_finish(route, &received), EQP_OK);
        code = eqp_route_back_start(route, mine);
        CHECK(!blocks.back || code == EQP_OK); /* it has its memory since the route was made */
        CHECK_EQUAL(code == EQP_OK ? eqp_route_back_finish(route, sum) : EQP_OK, EQP_OK);
        CHECK_EQUAL(sum[3], code == EQP_OK ? 0 : -7);
    } else if (route != NULL) { /* creation failed on some rank, and every later call reports that */
        CHECK_EQUAL(eqp_route_start(route, data), code);
        CHECK_EQUAL(eqp_route_back_start(route, mine), code);
        CHECK_EQUAL(eqp_route_finish(route, &received), EQP_ERR_STATE);
    }
    failing_ranks_end();
    eqp_route_free(route);
    return code;
}

MPI_TEST(routes_fail_on_all_ranks_or_on_none)
{
    static const eqp_exchange_plan plans[] = {
        {EQP_STAGES_LOG, 2, 2}, {EQP_STAGES_DIRECT, 0, 1}, {EQP_STAGES_TWO, 0, 1}};

    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        eqp_exchange_plan plan = plans[i];
        CHECK_EQUAL(eqp_route_fit(comm, &plan), EQP_OK);
        CHECK(failing_ranks_check(comm, travel, &plan) > 0);
    }
}

static int fit(MPI_Comm comm, void *user)
{
    eqp_exchange_plan plan = {EQP_STAGES_LOG, 2, 2};

    (void)user;
    failing_ranks_begin();
    const int code = eqp_route_fit(comm, &plan);
    failing_ranks_end();
    return code;
}

MPI_TEST(plans_are_fitted_on_all_ranks_or_on_none)
{
    CHECK(failing_ranks_check(comm, fit, NULL) > 0);
}

/* ---- loops: running allocates nothing, except for bundles ---- */

static int compute(void *user, int64_t first, int64_t count)
{
    (void)user, (void)first, (void)count;
    return EQP_OK;
}

static int run_loop(MPI_Comm comm, void *user)
{
    const eqp_loop_options options = {.size = sizeof(eqp_loop_options), .yield = true};
    const eqp_loop_work work = {.compute = compute};
    eqp_loop *loop = NULL;
    int code;

    failing_ranks_begin();
    code = eqp_loop_create(comm, user, 64, NULL, &options, &loop);
    CHECK((loop == NULL) == (code != EQP_OK));
    code = code ? code : eqp_loop_run(loop, &work, NULL);
    failing_ranks_end();
    eqp_loop_free(loop);
    return code;
}

MPI_TEST(loops_fail_on_all_ranks_or_on_none)
{
    static const char *const names[] = {"static", "adaptive-factoring"};

    for (int k = 0; k < 2; k++) {
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
static int compute_slowly(void *user, int64_t first, int64_t count)
{
    const struct timespec pause = {.tv_nsec = *(const int *)user > 0 ? 1000 : 5000 * 1000};

    (void)first, (void)count;
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

static int owner;

static int run_bundles(MPI_Comm comm, void *user)
{
    static const eqp_loop_bundles bundles = {pack, compute_bundle, take};
    const eqp_loop_options options = {.size = sizeof(eqp_loop_options), .bundles = true, .grain = 1, .most_given = 1};
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

MPI_TEST(bundles_fail_on_all_ranks_or_on_none)
{
    const eqp_schedule_method *self = eqp_schedule_method_find("self");

    for (owner = 0; owner < mpi_test_size(comm); owner++) {
        CHECK(failing_ranks_check(comm, run_bundles, (void *)self) > 0);
    }
}

/* ---- methods: each allocation of the library in turn ---- */

enum { ITEMS = 24, PINS = 3, PHASES = 2 };

typedef struct cloud {
    int64_t id[ITEMS], size[ITEMS], pin_first[ITEMS + 1], pin[ITEMS * PINS];
    double weight[ITEMS], point[3 * ITEMS], pin_weight[ITEMS * PINS], phase_load[ITEMS * PHASES];
    int part[ITEMS], now[ITEMS];
} cloud;

static void make_cloud(MPI_Comm comm, cloud *c)
{
    const int64_t first = (int64_t)ITEMS * mpi_test_rank(comm);

    memset(c, 0, sizeof *c);
    for (int64_t i = 0; i < ITEMS; i++) {
        c->id[i] = first + i;
        /* Uneven, so the repair has work. */
        c->weight[i] = i % 7 == 0 ? 5 : 1;
        c->size[i] = 1;
        c->phase_load[PHASES * i] = 1;
        c->phase_load[PHASES * i + 1] = i % 7 == 0 ? 4 : 0;
        c->point[3 * i] = (double)(first + i);
        c->part[i] = -7;
        c->now[i] = (int)(i % 5); /* new parts get the names of old ones */
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
                                     .part_now = with_pins ? c.now : NULL,
                                     .pin_first = with_pins ? c.pin_first : NULL,
                                     .pin = c.pin,
                                     .pin_weight = c.pin_weight,
                                     .size = c.size,
                                     .phase_load = with_pins ? c.phase_load : NULL};
    eqp_balance_options options = eqp_balance_options_defaults();
    int64_t capacity[5], n = ITEMS * (int64_t)mpi_test_size(comm);
    for (int p = 0; p < 5; p++) {
        capacity[p] = p == 0 ? n / 8 : n / 4; /* too little for an equal share, enough for all */
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

static int balance(MPI_Comm comm, void *user)
{
    return balance_cloud(comm, user, 1);
}

static int balance_without_pins(MPI_Comm comm, void *user)
{
    return balance_cloud(comm, user, 0);
}

MPI_TEST(methods_fail_on_all_ranks_or_on_none)
{
    for (int m = 0; m < eqp_method_count(); m++) {
        mpi_test_case = eqp_method_at(m)->name;
        CHECK(failing_ranks_check(comm, balance, (void *)eqp_method_at(m)) > 0);
    }
    /* Without pins, neighbors are spatial. */
    CHECK(failing_ranks_check(comm, balance_without_pins, (void *)eqp_method_find("diffusion")) > 0);
}
