/* SPDX-License-Identifier: BSD-3-Clause */
/* Agreement, sums, exchanges, migrations, quantiles. */
#include "counted_calls.h"
#include "harness.h"

#include <equipoise/more/base.h>
#include <equipoise/more/par.h>
#include <equipoise/more/random.h>

/* The library's own way in, to see messages cut into pieces without gigabytes of data. */
int eqp__exchange(MPI_Comm comm, int code, size_t piece, size_t element_size, const int64_t *send_count,
                  const void *send, const int64_t *recv_count, void *recv);

static uint64_t bits_of(int64_t a, int64_t b)
{
    return eqp_random_bits(5, (uint64_t)a, (uint64_t)b);
}

static void all_well_is_agreed(MPI_Comm comm)
{
    eqp_message message = {"mine"};

    CHECK_EQUAL(eqp_agree(comm, EQP_OK, &message), EQP_OK);
    CHECK(strcmp(message.text, "mine") == 0);
    CHECK_EQUAL(eqp_agree(comm, EQP_OK, NULL), EQP_OK);
}

static void the_lowest_failing_rank_speaks_for_all(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);

    for (int failing = 0; failing < size; failing++) {
        eqp_message message = {""};
        /* Ranks before it only heard of a failure; ranks after it fail in another way. */
        int code = rank < failing ? EQP_ERR_REMOTE : rank == failing ? EQP_ERR_FORMAT : EQP_ERR_MEMORY;
        eqp_message_set(&message, "rank %d", rank);
        char expected[32];
        snprintf(expected, sizeof expected, "rank %d", failing);
        /* The last rank does not want the message. */
        int wanted = rank != size - 1;
        CHECK_EQUAL(eqp_agree(comm, code, wanted || rank == failing ? &message : NULL), EQP_ERR_FORMAT);
        CHECK(!wanted || strcmp(message.text, expected) == 0);
    }
    CHECK_EQUAL(eqp_agree(comm, rank == size - 1 ? EQP_ERR_REMOTE : EQP_OK, NULL), EQP_ERR_REMOTE);
}

static void a_number_that_differs_is_found(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);

    CHECK_EQUAL(eqp_agree_same(comm, INT64_MIN), EQP_OK);
    CHECK_EQUAL(eqp_agree_same(comm, -1), EQP_OK);
    CHECK_EQUAL(eqp_agree_same(comm, rank == size - 1 ? INT64_MAX : INT64_MAX - 1),
                size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
    CHECK_EQUAL(eqp_agree_same(comm, rank == 0 ? INT64_MIN : 0), size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
}

static void scans_add_what_lies_before(MPI_Comm comm)
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

static void sums_have_the_same_bits_everywhere(MPI_Comm comm)
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
    CHECK_EQUAL(eqp_sum_double(comm, rank == size - 1 ? -1 : N, value), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_sum_double(comm, rank == 0 ? N : 3, value), size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
    CHECK_EQUAL(eqp_sum_double(comm, 0, NULL), EQP_OK);
}

/* How many elements rank a sends rank b in each kind of exchange. */
static int64_t traffic(int kind, int size, int a, int b)
{
    switch (kind) {
    case 0: /* nothing */
        return 0;
    case 1: /* neighbours in a ring only */
        return b == (a + 1) % size ? 5 : 0;
    case 2: /* everybody, different amounts */
        return (int64_t)(bits_of(a, b) % 9);
    case 3: /* one rank sends all */
        return a == size - 1 ? 3 + b : 0;
    default: /* everybody sends to one */
        return b == 0 ? 2 + a : 0;
    }
}

static unsigned char byte_of(int a, int b, int64_t element, size_t byte)
{
    return (unsigned char)bits_of(a * 100 + b, element * 64 + (int64_t)byte);
}

static void exchange_and_check(MPI_Comm comm, int kind, size_t element_size, size_t piece)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t *out = mpi_test_alloc(size, sizeof *out), *in = mpi_test_alloc(size, sizeof *in), nsend = 0, nrecv = -1;

    for (int r = 0; r < size; r++) {
        out[r] = traffic(kind, size, rank, r);
        nsend += out[r];
    }
    CHECK_EQUAL(eqp_exchange_counts(comm, out, in, &nrecv), EQP_OK);
    unsigned char *send = mpi_test_alloc(nsend, element_size), *recv = mpi_test_alloc(nrecv, element_size), *at = send;
    for (int r = 0; r < size; r++) {
        CHECK_EQUAL(in[r], traffic(kind, size, r, rank));
        for (int64_t i = 0; i < out[r]; i++) {
            for (size_t k = 0; k < element_size; k++) {
                *at++ = byte_of(rank, r, i, k);
            }
        }
    }
    int code = piece ? eqp__exchange(comm, EQP_OK, piece, element_size, out, send, in, recv)
                     : eqp_exchange(comm, element_size, out, send, in, recv);
    CHECK_EQUAL(code, EQP_OK);
    at = recv;
    for (int r = 0; r < size; r++) {
        for (int64_t i = 0; i < in[r]; i++) {
            for (size_t k = 0; k < element_size; k++) {
                CHECK_EQUAL(*at++, byte_of(r, rank, i, k));
            }
        }
    }
    free(out);
    free(in);
    free(send);
    free(recv);
}

static void exchanges_deliver_what_was_sent(MPI_Comm comm)
{
    for (int kind = 0; kind < 5; kind++) {
        for (size_t element_size = 1; element_size <= 24; element_size += 7) {
            exchange_and_check(comm, kind, element_size, 0);
        }
    }
}

static void exchanges_in_pieces_deliver_the_same(MPI_Comm comm)
{
    for (int kind = 0; kind < 5; kind++) {
        for (size_t piece = 1; piece <= 17; piece += 4) {
            exchange_and_check(comm, kind, 8, piece);
        }
    }
}

static void exchanges_that_cannot_be_fail_everywhere(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm), last = rank == size - 1;
    int64_t *out = mpi_test_alloc(size, sizeof *out), *in = mpi_test_alloc(size, sizeof *in);
    double *send = mpi_test_alloc(size, sizeof *send), *recv = mpi_test_alloc(size, sizeof *recv);

    for (int r = 0; r < size; r++) {
        out[r] = in[r] = 1;
    }
    CHECK_EQUAL(eqp_exchange(comm, sizeof *send, out, last ? NULL : send, in, recv), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_exchange(comm, last ? 0 : sizeof *send, out, send, in, recv), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp__exchange(comm, last ? EQP_ERR_MEMORY : EQP_OK, 64, 8, out, send, in, recv), EQP_ERR_MEMORY);
    in[0] -= last;
    CHECK_EQUAL(eqp_exchange(comm, sizeof *send, out, send, in, recv), EQP_ERR_ARGUMENT);
    in[0] += last;
    out[0] = last ? -1 : 1;
    CHECK_EQUAL(eqp_exchange_counts(comm, out, in, NULL), EQP_ERR_ARGUMENT);
    out[0] = last ? INT64_MAX : 1;
    out[size - 1] += last && size > 1;
    in[0] = 1;
    if (size > 1) {
        CHECK_EQUAL(eqp_exchange(comm, sizeof *send, out, send, in, recv), EQP_ERR_OVERFLOW);
    }
    free(out);
    free(in);
    free(send);
    free(recv);
}

static void gathered_arrays_lie_in_rank_order(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t *count = mpi_test_alloc(size, sizeof *count), total = 0;

    for (int r = 0; r < size; r++) {
        count[r] = r % 3 ? 4 * r : 0;
        total += count[r];
    }
    int64_t *mine = mpi_test_alloc(count[rank], sizeof *mine), *all = mpi_test_alloc(total, sizeof *all), *at = all;
    for (int64_t i = 0; i < count[rank]; i++) {
        mine[i] = 1000 * rank + i;
    }
    CHECK_EQUAL(eqp_gather_all(comm, sizeof *mine, count[rank], mine, count, all), EQP_OK);
    for (int r = 0; r < size; r++) {
        for (int64_t i = 0; i < count[r]; i++) {
            CHECK_EQUAL(*at++, 1000 * r + i);
        }
    }
    CHECK_EQUAL(eqp_gather_all(comm, sizeof *mine, count[rank] + (rank == size - 1), mine, count, all),
                EQP_ERR_ARGUMENT);
    free(count);
    free(mine);
    free(all);
}

typedef struct record {
    int64_t id;
    double x[3];
} record;

static void migrations_keep_every_item_and_its_order(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t n = rank % 3 == 1 ? 0 : 40 + 10 * rank, nrecv = -1, expected = 0;
    int *dest = mpi_test_alloc(n, sizeof *dest);
    record *item = mpi_test_alloc(n, sizeof *item);
    int64_t *recv_count = mpi_test_alloc(size, sizeof *recv_count);
    eqp_move_plan *plan = NULL;

    for (int64_t i = 0; i < n; i++) {
        item[i] = (record){1000 * rank + i, {(double)i, (double)rank, 0.5}};
        dest[i] = (int)(bits_of(rank, i) % (uint64_t)size);
    }
    CHECK_EQUAL(eqp_move_plan_create(n, dest, size, &plan), EQP_OK);
    CHECK_EQUAL(eqp_move_counts(comm, plan, recv_count, &nrecv), EQP_OK);
    record *arrived = mpi_test_alloc(nrecv, sizeof *arrived);
    CHECK_EQUAL(eqp_move_apply(comm, plan, recv_count, sizeof *item, item, arrived), EQP_OK);
    for (int r = 0; r < size; r++) {
        int64_t sent = r % 3 == 1 ? 0 : 40 + 10 * r;
        for (int64_t i = 0; i < sent; i++) {
            if ((int)(bits_of(r, i) % (uint64_t)size) == rank) {
                CHECK(expected < nrecv);
                CHECK_EQUAL(arrived[expected].id, 1000 * r + i);
                CHECK_EQUAL(arrived[expected++].x[1], r);
            }
        }
    }
    CHECK_EQUAL(expected, nrecv);
    double *answer = mpi_test_alloc(nrecv, sizeof *answer), *back = mpi_test_alloc(n, sizeof *back);
    for (int64_t i = 0; i < nrecv; i++) {
        answer[i] = 2.0 * (double)arrived[i].id;
    }
    CHECK_EQUAL(eqp_move_return(comm, plan, recv_count, sizeof *answer, answer, back), EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        CHECK_EQUAL(back[i], 2.0 * (double)item[i].id);
    }
    CHECK_EQUAL(eqp_move_apply(comm, rank == size - 1 ? NULL : plan, recv_count, sizeof *item, item, arrived),
                EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_move_counts(comm, rank == size - 1 ? NULL : plan, recv_count, &nrecv), EQP_ERR_ARGUMENT);
    eqp_move_plan_free(plan);
    free(dest);
    free(item);
    free(recv_count);
    free(arrived);
    free(answer);
    free(back);
}

static void records_arrive_without_counts(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t n = rank % 3 == 1 ? 0 : 5 + 2 * rank, nall = -1, nin = -1, expected = 0;
    int *dest = mpi_test_alloc(n, sizeof *dest);
    record *mine = mpi_test_alloc(n, sizeof *mine), *all = NULL, *in = NULL;

    for (int64_t i = 0; i < n; i++) {
        mine[i] = (record){1000 * rank + i, {(double)i, 0, -1}};
        dest[i] = (int)(bits_of(rank, i) % (uint64_t)size);
    }
    CHECK_EQUAL(eqp_gather_records(comm, sizeof *mine, n, mine, &nall, &all), EQP_OK);
    for (int r = 0; r < size; r++) {
        int64_t theirs = r % 3 == 1 ? 0 : 5 + 2 * r;
        for (int64_t i = 0; i < theirs && expected + i < nall; i++) {
            CHECK_EQUAL(all[expected + i].id, 1000 * r + i);
            CHECK(all[expected + i].x[0] == (double)i);
        }
        expected += theirs;
    }
    CHECK_EQUAL(nall, expected);
    /* What is to arrive is what everybody's records say, in rank order, then in the sender's. */
    CHECK_EQUAL(eqp_send_records(comm, sizeof *mine, n, dest, mine, &nin, &in), EQP_OK);
    int64_t at = 0;
    for (int64_t k = 0; k < nall; k++) {
        if ((int)(bits_of(all[k].id / 1000, all[k].id % 1000) % (uint64_t)size) == rank) {
            CHECK(at < nin && in[at].id == all[k].id);
            at += at < nin;
        }
    }
    CHECK_EQUAL(at, nin);
    free(all);
    free(in);
    free(dest);
    free(mine);
}

/* Of numbers of both signs, tiny and huge; sums of few integers are exact. */
static void meetings_find_sums_and_minima(MPI_Comm comm)
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

/* The same elements as by eqp_send_records(), to few and to many, in pieces, and to nobody. */
static void sparse_records_are_the_same(MPI_Comm comm)
{
    const int size = mpi_test_size(comm), rank = mpi_test_rank(comm);

    for (int round = 0; round < 6; round++) {
        const int64_t n = round == 0 ? 0 : round == 5 ? 30000 : 10 * (rank + round);
        int64_t *mine = mpi_test_alloc(n, sizeof *mine), nin = -1, nsparse = -1, most = n;
        int64_t *in = NULL, *sparse = NULL;
        int *dest = mpi_test_alloc(n, sizeof *dest);
        for (int64_t i = 0; i < n; i++) {
            mine[i] = 100000 * rank + i;
            dest[i] = round % 2 == 0 ? (rank + round) % size : (int)(eqp_random_bits(round, (uint64_t)i, 7) % size);
        }
        CHECK_EQUAL(eqp_send_records(comm, sizeof *mine, n, dest, mine, &nin, &in), EQP_OK);
        CHECK_EQUAL(eqp_send_sparse(comm, EQP_OK, sizeof *mine, n, dest, mine, &most, &nsparse, &sparse), EQP_OK);
        CHECK_EQUAL(nsparse, nin);
        CHECK_EQUAL(most, round == 0 ? 0 : round == 5 ? 30000 : 10 * (size - 1 + round));
        CHECK(nin == 0 || memcmp(in, sparse, (size_t)nin * sizeof *in) == 0);
        free(mine);
        free(dest);
        free(in);
        free(sparse);
    }
}

/* Arrays that grow and shrink from call to call; a rank that has failed. */
static void gatherers_grow_with_what_comes(MPI_Comm comm)
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

static void records_that_cannot_travel_change_nothing(MPI_Comm comm)
{
    int last = mpi_test_rank(comm) == mpi_test_size(comm) - 1, dest[2] = {0, last ? mpi_test_size(comm) : 0};
    int64_t value[2] = {1, 2}, n = -5;
    int64_t *got = value;

    CHECK_EQUAL(eqp_send_records(comm, sizeof *value, 2, dest, value, &n, &got), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_send_records(comm, sizeof *value, 2, last ? NULL : dest, value, &n, &got), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_gather_records(comm, sizeof *value, last ? -1 : 2, value, &n, &got), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_gather_records(comm, sizeof *value, 2, last ? NULL : value, &n, &got), EQP_ERR_ARGUMENT);
    CHECK(n == -5 && got == value);
}

static void keys_are_dealt_evenly_and_in_order(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm), dest[12];
    uint64_t key[12];
    int64_t *count = mpi_test_alloc(size, sizeof *count);

    /* Keys 0, 1, 2, ... are spread in turn, so that no rank has a run of them. */
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
    dest[0] = -3;
    key[0] = rank == size - 1 ? 8 : 7; /* not ascending */
    CHECK_EQUAL(eqp_deal_keys(comm, 12, key, dest), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(dest[0], -3);
    free(count);
}

static void loads_are_those_of_all_items(MPI_Comm comm)
{
    enum { PARTS = 5, EACH = 20 };
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm), part[EACH];
    double weight[EACH], load[PARTS], all_load[PARTS];
    int *all_part = mpi_test_alloc((int64_t)size * EACH, sizeof *all_part);
    double *all_weight = mpi_test_alloc((int64_t)size * EACH, sizeof *all_weight);
    eqp_part_loads one, all;
    eqp_load_statistics mine, together;

    for (int i = 0; i < EACH * size; i++) {
        all_weight[i] = eqp_random_uniform(9, 1, (uint64_t)i);
        all_part[i] = (int)(bits_of(4, i) % (PARTS - 1));
    }
    memcpy(part, all_part + (ptrdiff_t)EACH * rank, sizeof part);
    memcpy(weight, all_weight + (ptrdiff_t)EACH * rank, sizeof weight);
    CHECK_EQUAL(eqp_parts_load_all(comm, EACH, weight, part, PARTS, NULL, load, &one), EQP_OK);
    CHECK_EQUAL(eqp_parts_load((int64_t)EACH * size, all_weight, all_part, PARTS, NULL, all_load, &all), EQP_OK);
    for (int p = 0; p < PARTS; p++) {
        CHECK_NEAR(load[p], all_load[p], 1e-12);
    }
    CHECK_NEAR(one.imbalance, all.imbalance, 1e-12);
    CHECK_EQUAL(one.heaviest, all.heaviest);
    CHECK_EQUAL(one.empty, all.empty);
    CHECK_EQUAL(eqp_load_statistics_all(comm, EACH, weight, &mine), EQP_OK);
    CHECK_EQUAL(eqp_load_statistics_compute((int64_t)EACH * size, all_weight, &together), EQP_OK);
    CHECK_EQUAL(mine.count, together.count);
    CHECK_EQUAL(mine.max, together.max);
    CHECK_EQUAL(mine.min, together.min);
    CHECK_NEAR(mine.mean, together.mean, 1e-12);
    CHECK_NEAR(mine.standard_deviation, together.standard_deviation, 1e-12);
    CHECK_NEAR(mine.kurtosis, together.kurtosis, 1e-9);
    part[0] = rank == size - 1 ? PARTS : 0;
    CHECK_EQUAL(eqp_parts_load_all(comm, EACH, weight, part, PARTS, NULL, load, &one), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_load_statistics_all(comm, 0, NULL, &mine), EQP_ERR_ARGUMENT);
    /* Ranks without a load of their own are welcome. */
    CHECK_EQUAL(eqp_load_statistics_all(comm, rank == 0, weight, &mine), EQP_OK);
    CHECK_EQUAL(mine.count, 1);
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

/* Keys of one of several kinds: all bits, many duplicates, all equal, none. Every rank knows all of them. */
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

    /* Dealt out like cards, most of them to rank 0. */
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
    CHECK(calls <= 1 + (63 + 10) / 11 && (calls > 0 || size == 1)); /* 11 bits of 63 at a time */
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

static void key_cuts_are_the_nearest_and_the_same_for_any_ranks(MPI_Comm comm)
{
    const double share[KEY_PARTS] = {0.05, 0.3, 0.15, 0.1, 0.2, 0.2};

    for (int kind = 0; kind < 5; kind++) {
        check_key_cuts(comm, kind, NULL);
        check_key_cuts(comm, kind, share);
    }
}

static void key_cuts_follow_weights(MPI_Comm comm)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    uint64_t key[10], cut[4];
    int64_t weight[10], zero[10] = {0};

    /* Keys 0, 1, 2, ... over all ranks; one key weighs as much as all others. */
    for (int i = 0; i < 10; i++) {
        key[i] = (uint64_t)(10 * rank + i);
        weight[i] = key[i] == 4 ? 10 * size - 1 : 1;
    }
    CHECK_EQUAL(eqp_key_cuts(comm, 10, key, weight, 2, NULL, cut), EQP_OK);
    CHECK(cut[1] == 4 || cut[1] == 5);
    CHECK_EQUAL(eqp_key_cuts(comm, 10, key, zero, 2, NULL, cut), EQP_OK);
    CHECK_EQUAL(cut[1], (uint64_t)(5 * size));
    weight[0] = rank == size - 1 ? -1 : 1;
    CHECK_EQUAL(eqp_key_cuts(comm, 10, key, weight, 2, NULL, cut), EQP_ERR_ARGUMENT);
    key[3] = rank == size - 1 ? 0 : key[3];
    CHECK_EQUAL(eqp_key_cuts(comm, 10, key, zero, 2, NULL, cut), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp_key_cuts(comm, 0, NULL, NULL, rank == 0 ? 3 : 2, NULL, cut), size > 1 ? EQP_ERR_ARGUMENT : EQP_OK);
    CHECK_EQUAL(eqp_key_cuts(comm, 0, NULL, NULL, 0, NULL, cut), EQP_ERR_ARGUMENT);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(all_well_is_agreed),
        MPI_TEST(the_lowest_failing_rank_speaks_for_all),
        MPI_TEST(a_number_that_differs_is_found),
        MPI_TEST(scans_add_what_lies_before),
        MPI_TEST(sums_have_the_same_bits_everywhere),
        MPI_TEST(exchanges_deliver_what_was_sent),
        MPI_TEST(exchanges_in_pieces_deliver_the_same),
        MPI_TEST(exchanges_that_cannot_be_fail_everywhere),
        MPI_TEST(gathered_arrays_lie_in_rank_order),
        MPI_TEST(migrations_keep_every_item_and_its_order),
        MPI_TEST(records_arrive_without_counts),
        MPI_TEST(meetings_find_sums_and_minima),
        MPI_TEST(sparse_records_are_the_same),
        MPI_TEST(gatherers_grow_with_what_comes),
        MPI_TEST(records_that_cannot_travel_change_nothing),
        MPI_TEST(keys_are_dealt_evenly_and_in_order),
        MPI_TEST(loads_are_those_of_all_items),
        MPI_TEST(key_cuts_are_the_nearest_and_the_same_for_any_ranks),
        MPI_TEST(key_cuts_follow_weights),
    };
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
