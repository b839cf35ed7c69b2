/* SPDX-License-Identifier: BSD-3-Clause */
#include "counted_calls.h"
#include "harness.h"
#include "methods/frame/frame.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

static uint64_t bits_of(int64_t a, int64_t b)
{
    return eqp_random_bits(5, (uint64_t)a, (uint64_t)b);
}

MPI_TEST(all_well_is_agreed)
{
    eqp_message message = {"mine"};

    CHECK_EQUAL(eqp_agree(comm, EQP_OK, &message), EQP_OK);
    CHECK(strcmp(message.text, "mine") == 0);
    CHECK_EQUAL(eqp_agree(comm, EQP_OK, NULL), EQP_OK);
}

MPI_TEST(the_lowest_failing_rank_speaks_for_all)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);

    for (int failing = 0; failing < size; failing++) {
        eqp_message message = {""};
        /* Lower ranks only heard of a failure; higher ranks fail with another code. */
        int code = rank < failing ? EQP_ERR_REMOTE : rank == failing ? EQP_ERR_FORMAT : EQP_ERR_MEMORY;
        eqp_message_set(&message, "rank %d", rank);
        char expected[32];
        snprintf(expected, sizeof expected, "rank %d", failing);
        /* The last rank wants no message. */
        int wanted = rank != size - 1;
        CHECK_EQUAL(eqp_agree(comm, code, wanted || rank == failing ? &message : NULL), EQP_ERR_FORMAT);
        CHECK(!wanted || strcmp(message.text, expected) == 0);
    }
    CHECK_EQUAL(eqp_agree(comm, rank == size - 1 ? EQP_ERR_REMOTE : EQP_OK, NULL), EQP_ERR_REMOTE);
}

MPI_TEST(a_number_that_differs_is_found)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);

    CHECK_EQUAL(eqp_agree_same(comm, INT64_MIN), EQP_OK);
    CHECK_EQUAL(eqp_agree_same(comm, -1), EQP_OK);
    CHECK_EQUAL(eqp_agree_same(comm, rank == size - 1 ? INT64_MAX : INT64_MAX - 1),
                size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
    CHECK_EQUAL(eqp_agree_same(comm, rank == 0 ? INT64_MIN : 0), size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
}

MPI_TEST(scans_add_what_lies_before)
{
    int64_t rank = mpi_test_rank(comm), size = mpi_test_size(comm), before = -1, total = -1;

    CHECK_EQUAL(eqp_scan_int64(comm, 10 + rank, &before, &total), EQP_OK);
    CHECK_EQUAL(before, 10 * rank + rank * (rank - 1) / 2);
    CHECK_EQUAL(total, 10 * size + size * (size - 1) / 2);
    before = -7;
    CHECK_EQUAL(eqp_scan_int64(comm, rank == size - 1 ? 1 : INT64_MAX, &before, NULL),
                size > 1 ? EQP_ERR_OVERFLOW : EQP_OK);
    CHECK(size == 1 || before == -7);
}

MPI_TEST(sums_have_the_same_bits_everywhere)
{
    enum { N = 37 };
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    double value[N], exact[N], root[N];
    int64_t count[N];

    for (int i = 0; i < N; i++) {
        exact[i] = 0;
        for (int r = 0; r < size; r++) {
            exact[i] += eqp_random_uniform(2, (uint64_t)r, (uint64_t)i);
        }
        value[i] = eqp_random_uniform(2, (uint64_t)rank, (uint64_t)i);
        count[i] = ((int64_t)1 << 40) + rank;
    }
    CHECK_EQUAL(eqp_sum_double(comm, N, value), EQP_OK);
    CHECK_EQUAL(eqp_sum_int64(comm, N, count), EQP_OK);
    memcpy(root, value, sizeof root);
    MPI_Bcast(root, N, MPI_DOUBLE, 0, comm);
    CHECK(memcmp(root, value, sizeof root) == 0);
    for (int i = 0; i < N; i++) {
        CHECK_NEAR(value[i], exact[i], 1e-12);
        CHECK_EQUAL(count[i], size * ((int64_t)1 << 40) + (int64_t)size * (size - 1) / 2);
    }
    CHECK_EQUAL(eqp_sum_double(comm, 0, NULL), EQP_OK);
}

/* Communication patterns: elements from rank a to rank b. */
enum { NOTHING, RING, ALL_TO_ALL, FROM_LAST, TO_FIRST, LONG_MESSAGES, PATTERNS };

static int64_t traffic(int pattern, int size, int a, int b)
{
    switch (pattern) {
    case NOTHING:
        return 0;
    case RING:
        return b == (a + 1) % size ? 5 : 0;
    case ALL_TO_ALL:
        return (int64_t)(bits_of(a, b) % 9);
    case FROM_LAST:
        return a == size - 1 ? 3 + b : 0;
    case TO_FIRST:
        return b == 0 ? 2 + a : 0;
    default: /* split into several messages */
        return b == (a + 1) % size ? 1 << 17 : b == a ? 3 : 0;
    }
}

/* Byte k of element i from rank a to rank b. */
static unsigned char byte_of(int a, int b, int64_t i, size_t k)
{
    return (unsigned char)bits_of(a * 100 + b, i * 64 + (int64_t)k);
}

static int64_t make_elements(MPI_Comm comm, int pattern, size_t bytes, int *dest, unsigned char *send)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t n = 0, before = -1;

    for (int64_t i = 0; n > before; i++) {
        before = n;
        for (int r = 0; r < size; r++) {
            for (size_t k = 0; i < traffic(pattern, size, rank, r) && k < bytes; k++) {
                send[(size_t)n * bytes + k] = byte_of(rank, r, i, k);
            }
            if (i < traffic(pattern, size, rank, r)) {
                dest[n++] = r;
            }
        }
    }
    return n;
}

static void check_arrivals(MPI_Comm comm, int pattern, size_t bytes, int64_t n, const unsigned char *recv)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t expected = 0;

    for (int r = 0; r < size; r++) {
        for (int64_t i = 0; i < traffic(pattern, size, r, rank); i++, expected++) {
            for (size_t k = 0; k < bytes && expected < n; k++) {
                CHECK_EQUAL(recv[(size_t)expected * bytes + k], byte_of(r, rank, i, k));
            }
        }
    }
    CHECK_EQUAL(n, expected);
}

/* Sends the same elements by all calls, and back along the plan. */
static void send_and_return(MPI_Comm comm, int pattern, size_t bytes)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t nsend = 0, nrecv = -1, most, *from = mpi_test_alloc(size, sizeof *from);
    unsigned char *recv = NULL;
    eqp_move_plan *plan = NULL;

    for (int r = 0; r < size; r++) {
        nsend += traffic(pattern, size, rank, r);
    }
    unsigned char *send = mpi_test_alloc(nsend, bytes), *back = mpi_test_alloc(nsend, bytes);
    int *dest = mpi_test_alloc(nsend, sizeof *dest);
    CHECK_EQUAL(make_elements(comm, pattern, bytes, dest, send), nsend);

    CHECK_EQUAL(eqp_send_records(comm, bytes, nsend, dest, send, &nrecv, &recv), EQP_OK);
    check_arrivals(comm, pattern, bytes, nrecv, recv);
    free(recv);
    most = 10 * rank;
    CHECK_EQUAL(eqp_send_sparse(comm, EQP_OK, bytes, nsend, dest, send, &most, &nrecv, &recv), EQP_OK);
    check_arrivals(comm, pattern, bytes, nrecv, recv);
    CHECK_EQUAL(most, 10 * (size - 1));

    CHECK_EQUAL(eqp_move_plan_create(nsend, dest, size, &plan), EQP_OK);
    CHECK_EQUAL(eqp_move_counts(comm, plan, from, &nrecv), EQP_OK);
    memset(recv, 0, (size_t)nrecv * bytes);
    CHECK_EQUAL(eqp_move_apply(comm, plan, from, bytes, send, recv), EQP_OK);
    check_arrivals(comm, pattern, bytes, nrecv, recv);
    CHECK_EQUAL(eqp_move_return(comm, plan, from, bytes, recv, back), EQP_OK);
    CHECK(memcmp(back, send, (size_t)nsend * bytes) == 0);
    eqp_move_plan_free(plan);
    free(from);
    free(send);
    free(back);
    free(dest);
    free(recv);
}

MPI_TEST(elements_arrive_in_order_and_return)
{
    for (int pattern = 0; pattern < LONG_MESSAGES; pattern++) {
        for (size_t bytes = 1; bytes <= 24; bytes += 7) {
            send_and_return(comm, pattern, bytes);
        }
    }
    send_and_return(comm, LONG_MESSAGES, 5);
}

MPI_TEST(gathered_arrays_lie_in_rank_order)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t *count = mpi_test_alloc(size, sizeof *count), total = 0, nall = -1, *records = NULL;

    for (int r = 0; r < size; r++) {
        count[r] = r % 3 ? 4 * r : 0;
        total += count[r];
    }
    int64_t *mine = mpi_test_alloc(count[rank], sizeof *mine), *all = mpi_test_alloc(total, sizeof *all);
    for (int64_t i = 0; i < count[rank]; i++) {
        mine[i] = 1000 * rank + i;
    }
    CHECK_EQUAL(eqp_gather_all(comm, sizeof *mine, count[rank], mine, count, all), EQP_OK);
    CHECK_EQUAL(eqp_gather_records(comm, sizeof *mine, count[rank], mine, &nall, &records), EQP_OK);
    CHECK_EQUAL(nall, total);
    for (int r = 0, at = 0; r < size; r++) {
        for (int64_t i = 0; i < count[r]; i++, at++) {
            CHECK_EQUAL(all[at], 1000 * r + i);
            CHECK_EQUAL(records[at], 1000 * r + i);
        }
    }
    free(count);
    free(mine);
    free(all);
    free(records);
}

/* Numbers of both signs, tiny and huge; sums of few integers are exact. */
MPI_TEST(meetings_find_sums_and_minima)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);
    double low[4] = {rank - 1.5, -1e-300 * rank, 1e300 / (rank + 1), -0.0}, sum[2] = {1.0 / (rank + 1), -rank},
           first[2];
    int64_t large[3] = {(INT64_C(1) << 53) + 1 + rank, -1 - rank, INT64_MIN / (2 * size)};

    CHECK_EQUAL(eqp_meet(comm, EQP_OK, 4, low, 2, sum), EQP_OK);
    CHECK(low[0] == -1.5 && low[1] == -1e-300 * (size - 1) && low[2] == 1e300 / size && low[3] == 0);
    CHECK(sum[1] == -size * (size - 1) / 2);
    memcpy(first, sum, sizeof first);
    CHECK_EQUAL(MPI_Bcast(first, 2, MPI_DOUBLE, 0, comm), MPI_SUCCESS);
    CHECK(memcmp(first, sum, sizeof first) == 0);
    CHECK_EQUAL(eqp_meet(comm, EQP_OK, 0, NULL, 0, NULL), EQP_OK);
    CHECK_EQUAL(eqp_sum_int64(comm, 3, large), EQP_OK);
    CHECK_EQUAL(large[0], size * ((INT64_C(1) << 53) + 1) + size * (size - 1) / 2);
    CHECK_EQUAL(large[1], -size - size * (size - 1) / 2);
    CHECK_EQUAL(large[2], size * (INT64_MIN / (2 * size)));
}

/* Arrays grow and shrink from call to call; one rank fails. */
MPI_TEST(gatherers_grow_with_what_comes)
{
    static const int64_t longest[] = {0, 3, 1, 200, 0, 7};
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm), last = rank == size - 1;
    eqp_gatherer *gatherer = NULL;

    CHECK_EQUAL(eqp_gatherer_create(comm, 3, &gatherer), EQP_OK);
    for (size_t round = 0; round < sizeof longest / sizeof longest[0]; round++) {
        const int64_t n = longest[round] * (rank + 1) / size;
        unsigned char mine[3 * 200], *all = NULL;
        int64_t nall = -1, at = 0, most = -n;
        for (int64_t i = 0; i < n; i++) {
            memcpy(mine + 3 * i, (unsigned char[3]){(unsigned char)rank, (unsigned char)i, (unsigned char)round}, 3);
        }
        CHECK_EQUAL(eqp_gatherer_run(gatherer, last ? EQP_ERR_DATA : EQP_OK, n, mine, &most, &nall, &all),
                    EQP_ERR_DATA);
        CHECK(nall == -1 && all == NULL && most == -n);
        CHECK_EQUAL(eqp_gatherer_run(gatherer, EQP_OK, n, mine, &most, &nall, &all), EQP_OK);
        CHECK_EQUAL(most, -(longest[round] / size));
        for (int r = 0; r < size; r++) {
            for (int64_t i = 0; i < longest[round] * (r + 1) / size; i++, at++) {
                CHECK(at < nall && all[3 * at] == r && all[3 * at + 1] == i && all[3 * at + 2] == round);
            }
        }
        CHECK_EQUAL(nall, at);
    }
    eqp_gatherer_free(gatherer);
}

MPI_TEST(keys_are_dealt_evenly_and_in_order)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm), dest[12];
    uint64_t key[12];
    int64_t *count = mpi_test_alloc(size, sizeof *count);

    /* Keys 0, 1, 2, ... are dealt in turn, so no rank has a run of them. */
    for (int i = 0; i < 12; i++) {
        key[i] = (uint64_t)(size * i + rank);
    }
    CHECK_EQUAL(eqp_deal_keys(comm, 12, key, dest), EQP_OK);
    for (int i = 0; i < 12; i++) {
        CHECK_EQUAL(dest[i], (int)(key[i] / 12));
        count[dest[i]]++;
    }
    CHECK_EQUAL(eqp_sum_int64(comm, size, count), EQP_OK);
    for (int r = 0; r < size; r++) {
        CHECK_EQUAL(count[r], 12);
    }
    for (int i = 0; i < 12; i++) {
        key[i] = 7;
    }
    CHECK_EQUAL(eqp_deal_keys(comm, 12, key, dest), EQP_OK);
    for (int i = 1; i < 12; i++) {
        CHECK_EQUAL(dest[i], dest[0]);
    }
    free(count);
}

MPI_TEST(loads_are_those_of_all_items)
{
    enum { PARTS = 5, EACH = 20 };
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm), part[EACH];
    double weight[EACH];
    int *all_part = mpi_test_alloc((int64_t)size * EACH, sizeof *all_part);
    double *all_weight = mpi_test_alloc((int64_t)size * EACH, sizeof *all_weight);
    eqp_part_loads one, all;

    for (int i = 0; i < EACH * size; i++) {
        all_weight[i] = eqp_random_uniform(9, 1, (uint64_t)i);
        all_part[i] = (int)(bits_of(4, i) % (PARTS - 1));
    }
    memcpy(part, all_part + (ptrdiff_t)EACH * rank, sizeof part);
    memcpy(weight, all_weight + (ptrdiff_t)EACH * rank, sizeof weight);
    CHECK_EQUAL(eqp__parts_load_all(comm, EACH, weight, part, PARTS, NULL, &one), EQP_OK);
    CHECK_EQUAL(eqp__parts_load((int64_t)EACH * size, all_weight, all_part, PARTS, NULL, NULL, &all), EQP_OK);
    CHECK_NEAR(one.total, all.total, 1e-12);
    CHECK_NEAR(one.imbalance, all.imbalance, 1e-12);
    CHECK_EQUAL(one.heaviest, all.heaviest);
    CHECK_EQUAL(one.empty, all.empty);
    free(all_part);
    free(all_weight);
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static int64_t count_below(int64_t n, const uint64_t *key, uint64_t bound)
{
    int64_t below = 0;

    for (int64_t i = 0; i < n; i++) {
        below += key[i] < bound;
    }
    return below;
}

enum { KEYS = 700, KEY_PARTS = 6 };

/* Keys of one kind: all bits, many duplicates, all equal, none. Every rank has all keys. */
static int64_t draw_keys(int kind, uint64_t *key)
{
    for (int64_t i = 0; i < KEYS; i++) {
        uint64_t r = bits_of(77, i) >> 1;
        key[i] = kind == 0 ? r : kind == 1 ? r % 9 : kind == 2 ? 12345 : r >> 50;
    }
    return kind == 4 ? 0 : KEYS;
}

static void check_key_cuts(MPI_Comm comm, int kind, const double *share)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    uint64_t all[KEYS], mine[KEYS], cut[KEY_PARTS + 1], serial[KEY_PARTS + 1];
    int64_t total = draw_keys(kind, all), n = 0;
    double before = 0;

    /* Dealt at random, most of them to rank 0. */
    for (int64_t i = 0; i < total; i++) {
        int owner = i % 2 ? 0 : (int)(i / 2 % size);
        if (owner == rank) {
            mine[n++] = all[i];
        }
    }
    qsort(mine, (size_t)n, sizeof *mine, compare_keys);
    qsort(all, (size_t)total, sizeof *all, compare_keys);
    const long before_calls = counted_blocking + counted_others;
    CHECK_EQUAL(eqp_key_cuts(comm, n, mine, NULL, KEY_PARTS, share, cut), EQP_OK);
    const long calls = counted_blocking + counted_others - before_calls;
    CHECK(calls <= 1 + (63 + 10) / 11 && (calls > 0 || size == 1)); /* 11 of the 63 bits per call */
    CHECK_EQUAL(eqp_key_cuts(MPI_COMM_SELF, total, all, NULL, KEY_PARTS, share, serial), EQP_OK);
    CHECK(memcmp(cut, serial, sizeof cut) == 0);
    CHECK(cut[0] == 0 && cut[KEY_PARTS] == UINT64_MAX);
    for (int p = 1; p < KEY_PARTS; p++) {
        before += share ? share[p - 1] : 1.0 / KEY_PARTS;
        double target = (double)total * before, best = target;
        for (int64_t i = 0; i < total; i++) {
            double miss = (double)count_below(total, all, all[i] + 1) - target;
            best = miss * miss < best * best ? miss : best;
        }
        double miss = (double)count_below(total, all, cut[p]) - target;
        CHECK(cut[p - 1] <= cut[p]);
        CHECK_NEAR(miss * miss, best * best, 1e-6);
    }
}

MPI_TEST(key_cuts_are_the_nearest_and_the_same_for_any_ranks)
{
    const double share[KEY_PARTS] = {0.05, 0.3, 0.15, 0.1, 0.2, 0.2};

    for (int kind = 0; kind < 5; kind++) {
        check_key_cuts(comm, kind, NULL);
        check_key_cuts(comm, kind, share);
    }
}

MPI_TEST(key_cuts_follow_weights)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    uint64_t key[10], cut[4];
    int64_t weight[10], zero[10] = {0};

    /* Keys 0, 1, 2, ... over all ranks; one key has half of the total weight. */
    for (int i = 0; i < 10; i++) {
        key[i] = (uint64_t)(10 * rank + i);
        weight[i] = key[i] == 4 ? 10 * size - 1 : 1;
    }
    CHECK_EQUAL(eqp_key_cuts(comm, 10, key, weight, 2, NULL, cut), EQP_OK);
    CHECK(cut[1] == 4 || cut[1] == 5);
    CHECK_EQUAL(eqp_key_cuts(comm, 10, key, zero, 2, NULL, cut), EQP_OK);
    CHECK_EQUAL(cut[1], (uint64_t)(5 * size));
}
