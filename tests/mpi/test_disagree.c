/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective function of the public headers is called with one argument different on one rank: all ranks return
 * the same code, and a correct call afterwards succeeds. This file has the functions that agree, sum and send;
 * test_disagree_*.c have the rest. tests/tools/check_disagree.py checks that every argument of every collective
 * function has a row. A watchdog ends and names a call that hangs. */
#include "disagree.h"

#include <equipoise/more/par.h>
#include <equipoise/points.h>
#include <equipoise/problem.h>

#include <math.h>

/* ---- agreement and sums ---- */

static int comm_create(const seat *s)
{
    MPI_Comm own = MPI_COMM_NULL;
    const int code = CALL(s, eqp_comm_create(s->argument, is(s, "own: NULL") ? NULL : &own));

    CHECK(code || own != MPI_COMM_NULL);
    eqp_comm_free(&own);
    return code;
}

static int comm_free(const seat *s)
{
    MPI_Comm own = MPI_COMM_NULL, none = MPI_COMM_NULL;

    CHECK_EQUAL(eqp_comm_create(s->comm, &own), EQP_OK);
    eqp_comm_free(is(s, "own: NULL") ? NULL : is(s, "own: MPI_COMM_NULL") ? &none : &own);
    eqp_comm_free(&own);
    return EQP_OK;
}

static int agree(const seat *s)
{
    eqp_message message = {""};

    return CALL(s, eqp_agree(s->argument, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK,
                             is(s, "message: NULL") ? NULL : &message));
}

static int agree_same(const seat *s)
{
    return CALL(s, eqp_agree_same(s->argument, is(s, "value: 6 for 7") ? 6 : 7));
}

static int scan_int64(const seat *s)
{
    int64_t before, total;

    return CALL(s, eqp_scan_int64(s->argument, is(s, "value: INT64_MAX") ? INT64_MAX : 1,
                                  is(s, "before: NULL") ? NULL : &before, is(s, "total: NULL") ? NULL : &total));
}

static int sum_double(const seat *s)
{
    double value[4] = {1, 2, 3, 4};

    return CALL(s, eqp_sum_double(s->argument,
                                  is(s, "n: -1")        ? -1
                                  : is(s, "n: 3 for 4") ? 3
                                                        : 4,
                                  is(s, "value: NULL") ? NULL : value));
}

static int sum_int64(const seat *s)
{
    int64_t value[4] = {1, 2, 3, 4};

    return CALL(s, eqp_sum_int64(s->argument,
                                 is(s, "n: -1")        ? -1
                                 : is(s, "n: 3 for 4") ? 3
                                                       : 4,
                                 is(s, "value: NULL") ? NULL : value));
}

static int parts_load_all(const seat *s)
{
    const double weight[2] = {1, 2}, even[2] = {0.5, 0.5}, uneven[2] = {0.25, 0.75}, thirds[3] = {0.25, 0.25, 0.5};
    const int64_t n = is(s, "n: -1") ? -1 : is(s, "n: 0") ? 0 : 2;
    const int part[2] = {0, 1}, nparts = is(s, "nparts: 3 for 2") ? 3 : is(s, "nparts: 0") ? 0 : 2;
    const double *share = is(s, "share: NULL") ? NULL : is(s, "share: uneven") ? uneven : nparts == 3 ? thirds : even;
    double load[3];
    eqp_part_loads loads;

    return CALL(s, eqp_parts_load_all(s->argument, n, is(s, "weight: NULL") ? NULL : weight,
                                      is(s, "part: NULL") ? NULL : part, nparts, share,
                                      is(s, "load: NULL") ? NULL : load, is(s, "loads: NULL") ? NULL : &loads));
}

static int load_statistics_all(const seat *s)
{
    const double load[2] = {1, is(s, "load: NAN") ? NAN : 2};
    eqp_load_statistics statistics;

    return CALL(s, eqp_load_statistics_all(s->argument,
                                           is(s, "n: -1")  ? -1
                                           : is(s, "n: 1") ? 1
                                                           : 2,
                                           is(s, "load: NULL") ? NULL : load,
                                           is(s, "statistics: NULL") ? NULL : &statistics));
}

static void rows_of_sums(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_comm_create", comm_create, "comm: NULL", ALONE},
        {"eqp_comm_create", comm_create, "own: NULL", WRONG},
        {"eqp_comm_free", comm_free, "own: NULL", EQP_OK},
        {"eqp_comm_free", comm_free, "own: MPI_COMM_NULL", EQP_OK},
        {"eqp_agree", agree, "comm: NULL", ALONE},
        {"eqp_agree", agree, "code: EQP_ERR_DATA", EQP_ERR_DATA},
        {"eqp_agree", agree, "message: NULL", EQP_OK},
        {"eqp_agree_same", agree_same, "comm: NULL", ALONE},
        {"eqp_agree_same", agree_same, "value: 6 for 7", SAME},
        {"eqp_scan_int64", scan_int64, "comm: NULL", ALONE},
        {"eqp_scan_int64", scan_int64, "value: INT64_MAX", TOO_LARGE},
        {"eqp_scan_int64", scan_int64, "before: NULL", EQP_OK},
        {"eqp_scan_int64", scan_int64, "total: NULL", EQP_OK},
        {"eqp_sum_double", sum_double, "comm: NULL", ALONE},
        {"eqp_sum_double", sum_double, "n: -1", WRONG},
        {"eqp_sum_double", sum_double, "n: 3 for 4", SAME},
        {"eqp_sum_double", sum_double, "value: NULL", WRONG},
        {"eqp_sum_int64", sum_int64, "comm: NULL", ALONE},
        {"eqp_sum_int64", sum_int64, "n: -1", WRONG},
        {"eqp_sum_int64", sum_int64, "n: 3 for 4", SAME},
        {"eqp_sum_int64", sum_int64, "value: NULL", WRONG},
        {"eqp_parts_load_all", parts_load_all, "comm: NULL", ALONE},
        {"eqp_parts_load_all", parts_load_all, "n: -1", WRONG},
        {"eqp_parts_load_all", parts_load_all, "n: 0", EQP_OK},
        {"eqp_parts_load_all", parts_load_all, "weight: NULL", WRONG},
        {"eqp_parts_load_all", parts_load_all, "part: NULL", WRONG},
        {"eqp_parts_load_all", parts_load_all, "nparts: 3 for 2", SAME},
        {"eqp_parts_load_all", parts_load_all, "nparts: 0", WRONG},
        {"eqp_parts_load_all", parts_load_all, "share: NULL", SAME},
        {"eqp_parts_load_all", parts_load_all, "share: uneven", SAME},
        {"eqp_parts_load_all", parts_load_all, "load: NULL", EQP_OK},
        {"eqp_parts_load_all", parts_load_all, "loads: NULL", WRONG},
        {"eqp_load_statistics_all", load_statistics_all, "comm: NULL", ALONE},
        {"eqp_load_statistics_all", load_statistics_all, "n: -1", WRONG},
        {"eqp_load_statistics_all", load_statistics_all, "n: 1", EQP_OK},
        {"eqp_load_statistics_all", load_statistics_all, "load: NULL", WRONG},
        {"eqp_load_statistics_all", load_statistics_all, "load: NAN", EQP_ERR_DATA},
        {"eqp_load_statistics_all", load_statistics_all, "statistics: NULL", WRONG},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

/* ---- data that travel ---- */

/* Counts with one element more for the next rank, or one of the next rank's for the rank after it. */
static void shift(const seat *s, int64_t *count, const char *more, const char *other)
{
    const int next = (s->rank + 1) % s->size, after = (s->rank + 2) % s->size;

    count[next] += is(s, more) - (is(s, other) && s->size > 2);
    count[after] += is(s, other) && s->size > 2;
}

static int gather_all(const seat *s)
{
    int64_t count[MOST_RANKS], mine[2] = {s->rank, 1}, all[3 * MOST_RANKS];
    const size_t size = is(s, "element_size: 4 for 8") ? 4 : is(s, "element_size: 0") ? 0 : 8;

    for (int r = 0; r < s->size; r++) {
        count[r] = 2;
    }
    count[(s->rank + 1) % s->size] += is(s, "count: other numbers");
    count[s->rank] -= is(s, "count: -1") ? 3 : 0;
    return CALL(s, eqp_gather_all(s->argument, size,
                                  is(s, "n: -1")        ? -1
                                  : is(s, "n: 1 for 2") ? 1
                                                        : 2,
                                  is(s, "send: NULL") ? NULL : mine, is(s, "count: NULL") ? NULL : count,
                                  is(s, "recv: NULL") ? NULL : all));
}

/* A plan that sends two elements to each rank; not of this many ranks: to one rank more. */
static eqp_move_plan *plan_of(const seat *s)
{
    const int more = is(s, "plan: of more ranks");
    int dest[2 * MOST_RANKS + 2];
    eqp_move_plan *plan = NULL;

    for (int i = 0; i < 2 * (s->size + more); i++) {
        dest[i] = i / 2;
    }
    CHECK_EQUAL(eqp_move_plan_create(2 * (s->size + (int64_t)more), dest, s->size + more, &plan), EQP_OK);
    return plan;
}

static int move_counts(const seat *s)
{
    eqp_move_plan *plan = plan_of(s);
    int64_t count[MOST_RANKS], n;
    const int code =
        CALL(s, eqp_move_counts(s->argument, is(s, "plan: NULL") ? NULL : plan,
                                is(s, "recv_count: NULL") ? NULL : count, is(s, "nrecv: NULL") ? NULL : &n));

    eqp_move_plan_free(plan);
    return code;
}

typedef int mover(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                  const void *send, void *recv);

static int move_by(const seat *s, mover *move)
{
    eqp_move_plan *plan = plan_of(s);
    int64_t count[MOST_RANKS], send[2 * MOST_RANKS + 2] = {0}, recv[2 * MOST_RANKS + 2];
    const size_t size = is(s, "element_size: 4 for 8") ? 4 : is(s, "element_size: 0") ? 0 : 8;

    for (int r = 0; r < s->size; r++) {
        count[r] = 2;
    }
    shift(s, count, "recv_count: one more", "recv_count: another rank's");
    const int code =
        CALL(s, move(s->argument, is(s, "plan: NULL") ? NULL : plan, is(s, "recv_count: NULL") ? NULL : count, size,
                     is(s, "send: NULL") ? NULL : send, is(s, "recv: NULL") ? NULL : recv));

    eqp_move_plan_free(plan);
    return code;
}

static int move_apply(const seat *s)
{
    return move_by(s, eqp_move_apply);
}

static int move_return(const seat *s)
{
    return move_by(s, eqp_move_return);
}

static int gather_records(const seat *s)
{
    int64_t mine[2] = {s->rank, 1}, n = -1, *all = NULL;
    const size_t size = is(s, "element_size: 4 for 8") ? 4 : is(s, "element_size: 0") ? 0 : 8;
    const int code = CALL(s, eqp_gather_records(s->argument, size,
                                                is(s, "n: -1")  ? -1
                                                : is(s, "n: 1") ? 1
                                                                : 2,
                                                is(s, "send: NULL") ? NULL : mine, is(s, "nrecv: NULL") ? NULL : &n,
                                                is(s, "recv: NULL") ? NULL : (void *)&all));

    CHECK(!code || (n == -1 && !all));
    free(all);
    return code;
}

static int send_records(const seat *s)
{
    int64_t mine[2] = {s->rank, 1}, n = -1, *all = NULL;
    const int dest[2] = {0, is(s, "dest: no rank") ? s->size : s->size - 1};
    const size_t size = is(s, "element_size: 4 for 8") ? 4 : is(s, "element_size: 0") ? 0 : 8;
    const int code =
        CALL(s, eqp_send_records(s->argument, size,
                                 is(s, "n: -1")  ? -1
                                 : is(s, "n: 1") ? 1
                                                 : 2,
                                 is(s, "dest: NULL") ? NULL : dest, is(s, "send: NULL") ? NULL : mine,
                                 is(s, "nrecv: NULL") ? NULL : &n, is(s, "recv: NULL") ? NULL : (void *)&all));

    CHECK(!code || (n == -1 && !all));
    free(all);
    return code;
}

static int cut_keys(const seat *s)
{
    const uint64_t key[2] = {9, is(s, "key: too large") ? UINT64_MAX : 3};
    const double work[2] = {1, is(s, "work: -1") ? -1 : 2};
    eqp_message message = {""};
    int part[2] = {-7, -7};
    const int code = CALL(s, eqp_cut_keys(s->argument,
                                          is(s, "n: -1")  ? -1
                                          : is(s, "n: 1") ? 1
                                                          : 2,
                                          is(s, "key: NULL") ? NULL : key, is(s, "work: NULL") ? NULL : work,
                                          is(s, "part: NULL") ? NULL : part, is(s, "message: NULL") ? NULL : &message));

    CHECK(!code || part[0] == -7);
    CHECK(!code || s->alone || is(s, "message: NULL") || strstr(message.text, "keys: ") == message.text);
    return code;
}

static int verify_records(const seat *s)
{
    const int64_t id[2] = {2 * s->rank, 2 * s->rank + 1};
    uint64_t sum[2] = {0, is(s, "sum: another") ? 5 : 0};
    eqp_message message = {""};

    return CALL(s, eqp_verify_records(s->argument,
                                      is(s, "n: -1")  ? -1
                                      : is(s, "n: 1") ? 1
                                                      : 2,
                                      is(s, "id: NULL") ? NULL : id, is(s, "element_size: 4 for 8") ? 4 : 8,
                                      is(s, "record: NULL") ? NULL : id, is(s, "sum: NULL") ? NULL : sum,
                                      is(s, "message: NULL") ? NULL : &message));
}

static int meet_all(const seat *s)
{
    double low[2] = {s->rank, 1}, sum[2] = {s->rank, 1};
    const int code = CALL(s, eqp_meet(s->argument, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK,
                                      is(s, "nlows: -1")        ? -1
                                      : is(s, "nlows: 1 for 2") ? 1
                                                                : 2,
                                      is(s, "low: NULL") ? NULL : low,
                                      is(s, "nsums: too many")  ? EQP_MEET_SUMS + 1
                                      : is(s, "nsums: 1 for 2") ? 1
                                                                : 2,
                                      is(s, "sum: NULL") ? NULL : sum));

    CHECK(sum[1] == (code ? 1 : s->size) && low[0] == (code ? s->rank : 0));
    return code;
}

static int send_sparse(const seat *s)
{
    int64_t mine[2] = {s->rank, 1}, n = -1, most = s->rank, *all = NULL;
    const int dest[2] = {0, is(s, "dest: no rank") ? s->size : s->size - 1};
    const size_t size = is(s, "element_size: 4 for 8") ? 4 : is(s, "element_size: 0") ? 0 : 8;
    const int code = CALL(s, eqp_send_sparse(s->argument, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK, size,
                                             is(s, "n: -1")  ? -1
                                             : is(s, "n: 1") ? 1
                                                             : 2,
                                             is(s, "dest: NULL") ? NULL : dest, is(s, "send: NULL") ? NULL : mine,
                                             is(s, "most: NULL") ? NULL : &most, is(s, "nrecv: NULL") ? NULL : &n,
                                             is(s, "recv: NULL") ? NULL : (void *)&all));

    CHECK(!code || (n == -1 && !all && most == s->rank));
    free(all);
    return code;
}

static int gatherer_create(const seat *s)
{
    const size_t size = is(s, "element_size: 4 for 8") ? 4 : is(s, "element_size: 0") ? 0 : 8;
    eqp_gatherer *gatherer = NULL;
    const int code = CALL(s, eqp_gatherer_create(s->argument, size, is(s, "gatherer: NULL") ? NULL : &gatherer));

    CHECK((gatherer == NULL) == (code != EQP_OK));
    eqp_gatherer_free(gatherer);
    return code;
}

static int gatherer_run(const seat *s)
{
    int64_t mine[2] = {s->rank, 1}, most = s->rank, n = -1, *all = NULL;
    eqp_gatherer *gatherer = NULL;

    CHECK_EQUAL(eqp_gatherer_create(s->comm, 8, &gatherer), EQP_OK);
    if (is(s, "gatherer: NULL")) { /* returns at once and may then make the right call */
        CHECK_EQUAL(eqp_gatherer_run(NULL, EQP_OK, 2, mine, NULL, &n, (void *)&all), EQP_ERR_ARGUMENT);
    }
    const int code =
        CALL(s, eqp_gatherer_run(gatherer, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK,
                                 is(s, "n: -1")  ? -1
                                 : is(s, "n: 1") ? 1
                                                 : 2,
                                 is(s, "send: NULL") ? NULL : mine, is(s, "most: NULL") ? NULL : &most,
                                 is(s, "nrecv: NULL") ? NULL : &n, is(s, "recv: NULL") ? NULL : (void *)&all));

    CHECK(!code || (n == -1 && !all && most == s->rank));
    eqp_gatherer_free(gatherer);
    return code;
}

static int key_cuts(const seat *s)
{
    const uint64_t key[2] = {10, is(s, "key: descending") ? 5 : 20};
    const int64_t weight[2] = {1, is(s, "weight: -1") ? -1 : 2};
    const int nparts = is(s, "nparts: 3 for 2") ? 3 : is(s, "nparts: 0") ? 0 : 2;
    const double even[2] = {0.5, 0.5}, uneven[2] = {0.25, 0.75}, thirds[3] = {0.25, 0.25, 0.5};
    const double *share = is(s, "share: NULL") ? NULL : is(s, "share: uneven") ? uneven : nparts == 3 ? thirds : even;
    uint64_t cut[4];

    return CALL(s, eqp_key_cuts(s->argument,
                                is(s, "n: -1")  ? -1
                                : is(s, "n: 1") ? 1
                                                : 2,
                                is(s, "key: NULL") ? NULL : key, is(s, "weight: NULL") ? NULL : weight, nparts, share,
                                is(s, "cut: NULL") ? NULL : cut));
}

static int deal_keys(const seat *s)
{
    const uint64_t key[2] = {10, is(s, "key: descending") ? 5 : 20};
    int dest[2];

    return CALL(s, eqp_deal_keys(s->argument,
                                 is(s, "n: -1")  ? -1
                                 : is(s, "n: 1") ? 1
                                                 : 2,
                                 is(s, "key: NULL") ? NULL : key, is(s, "dest: NULL") ? NULL : dest));
}

static void rows_of_travel(MPI_Comm comm)
{
    static const row rows[] = {
        {"eqp_gather_all", gather_all, "comm: NULL", ALONE},
        {"eqp_gather_all", gather_all, "element_size: 4 for 8", SAME},
        {"eqp_gather_all", gather_all, "element_size: 0", WRONG},
        {"eqp_gather_all", gather_all, "n: -1", WRONG},
        {"eqp_gather_all", gather_all, "n: 1 for 2", WRONG},
        {"eqp_gather_all", gather_all, "send: NULL", WRONG},
        {"eqp_gather_all", gather_all, "count: NULL", WRONG},
        {"eqp_gather_all", gather_all, "count: -1", WRONG},
        {"eqp_gather_all", gather_all, "count: other numbers", WRONG},
        {"eqp_gather_all", gather_all, "recv: NULL", WRONG},
        {"eqp_move_counts", move_counts, "comm: NULL", ALONE},
        {"eqp_move_counts", move_counts, "plan: NULL", WRONG},
        {"eqp_move_counts", move_counts, "plan: of more ranks", WRONG},
        {"eqp_move_counts", move_counts, "recv_count: NULL", WRONG},
        {"eqp_move_counts", move_counts, "nrecv: NULL", EQP_OK},
        {"eqp_move_apply", move_apply, "comm: NULL", ALONE},
        {"eqp_move_apply", move_apply, "plan: NULL", WRONG},
        {"eqp_move_apply", move_apply, "plan: of more ranks", WRONG},
        {"eqp_move_apply", move_apply, "recv_count: NULL", WRONG},
        {"eqp_move_apply", move_apply, "recv_count: one more", WRONG},
        {"eqp_move_apply", move_apply, "recv_count: another rank's", OF_THREE},
        {"eqp_move_apply", move_apply, "element_size: 4 for 8", SAME},
        {"eqp_move_apply", move_apply, "element_size: 0", WRONG},
        {"eqp_move_apply", move_apply, "send: NULL", WRONG},
        {"eqp_move_apply", move_apply, "recv: NULL", WRONG},
        {"eqp_move_return", move_return, "comm: NULL", ALONE},
        {"eqp_move_return", move_return, "plan: NULL", WRONG},
        {"eqp_move_return", move_return, "plan: of more ranks", WRONG},
        {"eqp_move_return", move_return, "recv_count: NULL", WRONG},
        {"eqp_move_return", move_return, "recv_count: one more", WRONG},
        {"eqp_move_return", move_return, "recv_count: another rank's", OF_THREE},
        {"eqp_move_return", move_return, "element_size: 4 for 8", SAME},
        {"eqp_move_return", move_return, "element_size: 0", WRONG},
        {"eqp_move_return", move_return, "send: NULL", WRONG},
        {"eqp_move_return", move_return, "recv: NULL", WRONG},
        {"eqp_gather_records", gather_records, "comm: NULL", ALONE},
        {"eqp_gather_records", gather_records, "element_size: 4 for 8", SAME},
        {"eqp_gather_records", gather_records, "element_size: 0", WRONG},
        {"eqp_gather_records", gather_records, "n: -1", WRONG},
        {"eqp_gather_records", gather_records, "n: 1", EQP_OK},
        {"eqp_gather_records", gather_records, "send: NULL", WRONG},
        {"eqp_gather_records", gather_records, "nrecv: NULL", WRONG},
        {"eqp_gather_records", gather_records, "recv: NULL", WRONG},
        {"eqp_meet", meet_all, "comm: NULL", ALONE},
        {"eqp_meet", meet_all, "code: EQP_ERR_DATA", EQP_ERR_DATA},
        {"eqp_meet", meet_all, "nlows: 1 for 2", SAME},
        {"eqp_meet", meet_all, "nlows: -1", WRONG},
        {"eqp_meet", meet_all, "low: NULL", WRONG},
        {"eqp_meet", meet_all, "nsums: 1 for 2", SAME},
        {"eqp_meet", meet_all, "nsums: too many", WRONG},
        {"eqp_meet", meet_all, "sum: NULL", WRONG},
        {"eqp_send_sparse", send_sparse, "comm: NULL", ALONE},
        {"eqp_send_sparse", send_sparse, "code: EQP_ERR_DATA", EQP_ERR_DATA},
        {"eqp_send_sparse", send_sparse, "element_size: 4 for 8", SAME},
        {"eqp_send_sparse", send_sparse, "element_size: 0", WRONG},
        {"eqp_send_sparse", send_sparse, "n: -1", WRONG},
        {"eqp_send_sparse", send_sparse, "n: 1", EQP_OK},
        {"eqp_send_sparse", send_sparse, "dest: NULL", WRONG},
        {"eqp_send_sparse", send_sparse, "dest: no rank", WRONG},
        {"eqp_send_sparse", send_sparse, "send: NULL", WRONG},
        {"eqp_send_sparse", send_sparse, "most: NULL", EQP_OK},
        {"eqp_send_sparse", send_sparse, "nrecv: NULL", WRONG},
        {"eqp_send_sparse", send_sparse, "recv: NULL", WRONG},
        {"eqp_gatherer_create", gatherer_create, "comm: NULL", ALONE},
        {"eqp_gatherer_create", gatherer_create, "element_size: 4 for 8", SAME},
        {"eqp_gatherer_create", gatherer_create, "element_size: 0", WRONG},
        {"eqp_gatherer_create", gatherer_create, "gatherer: NULL", WRONG},
        {"eqp_gatherer_run", gatherer_run, "gatherer: NULL", EQP_OK},
        {"eqp_gatherer_run", gatherer_run, "code: EQP_ERR_DATA", EQP_ERR_DATA},
        {"eqp_gatherer_run", gatherer_run, "n: -1", WRONG},
        {"eqp_gatherer_run", gatherer_run, "n: 1", EQP_OK},
        {"eqp_gatherer_run", gatherer_run, "send: NULL", WRONG},
        {"eqp_gatherer_run", gatherer_run, "most: NULL", EQP_OK},
        {"eqp_gatherer_run", gatherer_run, "nrecv: NULL", WRONG},
        {"eqp_gatherer_run", gatherer_run, "recv: NULL", WRONG},
        {"eqp_send_records", send_records, "comm: NULL", ALONE},
        {"eqp_send_records", send_records, "element_size: 4 for 8", SAME},
        {"eqp_send_records", send_records, "element_size: 0", WRONG},
        {"eqp_send_records", send_records, "n: -1", WRONG},
        {"eqp_send_records", send_records, "n: 1", EQP_OK},
        {"eqp_send_records", send_records, "dest: NULL", WRONG},
        {"eqp_send_records", send_records, "dest: no rank", WRONG},
        {"eqp_send_records", send_records, "send: NULL", WRONG},
        {"eqp_send_records", send_records, "nrecv: NULL", WRONG},
        {"eqp_send_records", send_records, "recv: NULL", WRONG},
        {"eqp_cut_keys", cut_keys, "comm: NULL", ALONE},
        {"eqp_cut_keys", cut_keys, "n: -1", WRONG},
        {"eqp_cut_keys", cut_keys, "n: 1", EQP_OK},
        {"eqp_cut_keys", cut_keys, "key: NULL", WRONG},
        {"eqp_cut_keys", cut_keys, "key: too large", EQP_ERR_DATA},
        {"eqp_cut_keys", cut_keys, "work: NULL", SAME},
        {"eqp_cut_keys", cut_keys, "work: -1", EQP_ERR_DATA},
        {"eqp_cut_keys", cut_keys, "part: NULL", WRONG},
        {"eqp_cut_keys", cut_keys, "message: NULL", EQP_OK},
        {"eqp_verify_records", verify_records, "comm: NULL", ALONE},
        {"eqp_verify_records", verify_records, "n: -1", WRONG},
        {"eqp_verify_records", verify_records, "n: 1", EQP_OK},
        {"eqp_verify_records", verify_records, "id: NULL", WRONG},
        {"eqp_verify_records", verify_records, "element_size: 4 for 8", SAME},
        {"eqp_verify_records", verify_records, "record: NULL", WRONG},
        {"eqp_verify_records", verify_records, "sum: NULL", WRONG},
        {"eqp_verify_records", verify_records, "sum: another", NEEDED},
        {"eqp_verify_records", verify_records, "message: NULL", EQP_OK},
        {"eqp_key_cuts", key_cuts, "comm: NULL", ALONE},
        {"eqp_key_cuts", key_cuts, "n: -1", WRONG},
        {"eqp_key_cuts", key_cuts, "n: 1", EQP_OK},
        {"eqp_key_cuts", key_cuts, "key: NULL", WRONG},
        {"eqp_key_cuts", key_cuts, "key: descending", WRONG},
        {"eqp_key_cuts", key_cuts, "weight: NULL", SAME},
        {"eqp_key_cuts", key_cuts, "weight: -1", WRONG},
        {"eqp_key_cuts", key_cuts, "nparts: 3 for 2", SAME},
        {"eqp_key_cuts", key_cuts, "nparts: 0", WRONG},
        {"eqp_key_cuts", key_cuts, "share: NULL", SAME},
        {"eqp_key_cuts", key_cuts, "share: uneven", SAME},
        {"eqp_key_cuts", key_cuts, "cut: NULL", WRONG},
        {"eqp_deal_keys", deal_keys, "comm: NULL", ALONE},
        {"eqp_deal_keys", deal_keys, "n: -1", WRONG},
        {"eqp_deal_keys", deal_keys, "n: 1", EQP_OK},
        {"eqp_deal_keys", deal_keys, "key: NULL", WRONG},
        {"eqp_deal_keys", deal_keys, "key: descending", WRONG},
        {"eqp_deal_keys", deal_keys, "dest: NULL", WRONG},
    };
    run_rows(comm, rows, sizeof rows / sizeof rows[0]);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(rows_of_sums),
        MPI_TEST(rows_of_travel),
    };
    only_row = argc > 2 ? argv[2] : NULL;
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
