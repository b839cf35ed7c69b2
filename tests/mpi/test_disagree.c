/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective function of the public headers is called with one argument different on one rank: all ranks return
 * the same code, and a correct call afterwards succeeds. This file tests agreement, sums and sends, test_disagree_*.c
 * the rest. tests/tools/check_disagree.py checks that every argument of every collective function has a row. A
 * watchdog ends and names a call that hangs. */
#include "disagree.h"
#include "methods/frame/frame.h"

#include <equipoise/points.h>

/* ---- agreement and sums ---- */

static int comm_create(const seat *s)
{
    MPI_Comm own = MPI_COMM_NULL;
    const int code = CALL(s, eqp_comm_create(s->argument, OR_NULL("own", &own)));

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

    return CALL(
        s, eqp_agree(s->argument, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK, OR_NULL("message", &message)));
}

static int agree_same(const seat *s)
{
    return CALL(s, eqp_agree_same(s->argument, number(s, "value", 7)));
}

static int scan_int64(const seat *s)
{
    int64_t before, total;

    return CALL(s, eqp_scan_int64(s->argument, is(s, "value: INT64_MAX") ? INT64_MAX : 1, OR_NULL("before", &before),
                                  OR_NULL("total", &total)));
}

static int sum_double(const seat *s)
{
    double value[4] = {1, 2, 3, 4};

    return CALL(s, eqp_sum_double(s->argument, number(s, "n", 4), OR_NULL("value", value)));
}

static int sum_int64(const seat *s)
{
    int64_t value[4] = {1, 2, 3, 4};

    return CALL(s, eqp_sum_int64(s->argument, number(s, "n", 4), OR_NULL("value", value)));
}

MPI_TEST(rows_of_sums)
{
    static const calls all[] = {
        {"eqp_comm_create", comm_create, "ALONE comm: NULL; WRONG own: NULL"},
        {"eqp_comm_free", comm_free, "FINE own: NULL; own: MPI_COMM_NULL"},
        {"eqp_agree", agree, "FINE message: NULL; ALONE comm: NULL; DATA code: EQP_ERR_DATA"},
        {"eqp_agree_same", agree_same, "ALONE comm: NULL; SAME value: 6 for 7"},
        {"eqp_scan_int64", scan_int64, "FINE before: NULL; total: NULL; ALONE comm: NULL; TOO_LARGE value: INT64_MAX"},
        {"eqp_sum_double", sum_double, "ALONE comm: NULL; WRONG n: -1; value: NULL; SAME n: 3 for 4"},
        {"eqp_sum_int64", sum_int64, "ALONE comm: NULL; WRONG n: -1; value: NULL; SAME n: 3 for 4"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}

/* ---- data that travel ---- */

/* Counts with one more element for the next rank, or one moved from the next rank to the rank after it. */
static void shift(const seat *s, int64_t *count, const char *more, const char *other)
{
    const int next = (s->rank + 1) % s->size, after = (s->rank + 2) % s->size;

    count[next] += is(s, more) - (is(s, other) && s->size > 2);
    count[after] += is(s, other) && s->size > 2;
}

static int gather_all(const seat *s)
{
    int64_t count[MOST_RANKS], mine[2] = {s->rank, 1}, all[3 * MOST_RANKS];
    const size_t size = number(s, "element_size", 8);

    for (int r = 0; r < s->size; r++) {
        count[r] = 2;
    }
    count[(s->rank + 1) % s->size] += is(s, "count: other numbers");
    count[s->rank] -= is(s, "count: -1") ? 3 : 0;
    return CALL(s, eqp_gather_all(s->argument, size, number(s, "n", 2), OR_NULL("send", mine), OR_NULL("count", count),
                                  OR_NULL("recv", all)));
}

/* A plan with two elements for each rank; "not of this many ranks": for one rank more. */
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
    const int code = CALL(
        s, eqp_move_counts(s->argument, OR_NULL("plan", plan), OR_NULL("recv_count", count), OR_NULL("nrecv", &n)));

    eqp_move_plan_free(plan);
    return code;
}

typedef int mover(MPI_Comm comm, const eqp_move_plan *plan, const int64_t *recv_count, size_t element_size,
                  const void *send, void *recv);

static int move_by(const seat *s, mover *move)
{
    eqp_move_plan *plan = plan_of(s);
    int64_t count[MOST_RANKS], send[2 * MOST_RANKS + 2] = {0}, recv[2 * MOST_RANKS + 2];
    const size_t size = number(s, "element_size", 8);

    for (int r = 0; r < s->size; r++) {
        count[r] = 2;
    }
    shift(s, count, "recv_count: one more", "recv_count: another rank's");
    const int code = CALL(s, move(s->argument, OR_NULL("plan", plan), OR_NULL("recv_count", count), size,
                                  OR_NULL("send", send), OR_NULL("recv", recv)));

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
    const size_t size = number(s, "element_size", 8);
    const int code = CALL(s, eqp_gather_records(s->argument, size, number(s, "n", 2), OR_NULL("send", mine),
                                                OR_NULL("nrecv", &n), OR_NULL("recv", (void *)&all)));

    CHECK(!code || (n == -1 && !all));
    free(all);
    return code;
}

static int send_records(const seat *s)
{
    int64_t mine[2] = {s->rank, 1}, n = -1, *all = NULL;
    const int dest[2] = {0, is(s, "dest: no rank") ? s->size : s->size - 1};
    const size_t size = number(s, "element_size", 8);
    const int code =
        CALL(s, eqp_send_records(s->argument, size, number(s, "n", 2), OR_NULL("dest", dest), OR_NULL("send", mine),
                                 OR_NULL("nrecv", &n), OR_NULL("recv", (void *)&all)));

    CHECK(!code || (n == -1 && !all));
    free(all);
    return code;
}

static int cut_keys(const seat *s)
{
    const uint64_t key[2] = {9, is(s, "key: too large") ? UINT64_MAX : 3};
    const double work[2] = {1, number(s, "work", 2)};
    eqp_message message = {""};
    int part[2] = {-7, -7};
    const int code = CALL(s, eqp_cut_keys(s->argument, number(s, "n", 2), OR_NULL("key", key), OR_NULL("work", work),
                                          OR_NULL("part", part), OR_NULL("message", &message)));

    CHECK(!code || part[0] == -7);
    CHECK(!code || s->alone || is(s, "message: NULL") || strstr(message.text, "keys: ") == message.text);
    return code;
}

static int verify_records(const seat *s)
{
    const int64_t id[2] = {2 * s->rank, 2 * s->rank + 1};
    uint64_t sum[2] = {0, is(s, "sum: another") ? 5 : 0};
    eqp_message message = {""};

    return CALL(s, eqp_verify_records(s->argument, number(s, "n", 2), OR_NULL("id", id), number(s, "element_size", 8),
                                      OR_NULL("record", id), OR_NULL("sum", sum), OR_NULL("message", &message)));
}

static int meet_all(const seat *s)
{
    double low[2] = {s->rank, 1}, sum[2] = {s->rank, 1};
    const int code =
        CALL(s, eqp_meet(s->argument, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK, number(s, "nlows", 2),
                         OR_NULL("low", low), is(s, "nsums: too many") ? EQP_MEET_SUMS + 1 : number(s, "nsums", 2),
                         OR_NULL("sum", sum)));

    CHECK(sum[1] == (code ? 1 : s->size) && low[0] == (code ? s->rank : 0));
    return code;
}

static int send_sparse(const seat *s)
{
    int64_t mine[2] = {s->rank, 1}, n = -1, most = s->rank, *all = NULL;
    const int dest[2] = {0, is(s, "dest: no rank") ? s->size : s->size - 1};
    const size_t size = number(s, "element_size", 8);
    const int code =
        CALL(s, eqp_send_sparse(s->argument, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK, size,
                                number(s, "n", 2), OR_NULL("dest", dest), OR_NULL("send", mine), OR_NULL("most", &most),
                                OR_NULL("nrecv", &n), OR_NULL("recv", (void *)&all)));

    CHECK(!code || (n == -1 && !all && most == (s->alone ? s->rank : INT64_MIN)));
    free(all);
    return code;
}

static int gatherer_create(const seat *s)
{
    const size_t size = number(s, "element_size", 8);
    eqp_gatherer *gatherer = NULL;
    const int code = CALL(s, eqp_gatherer_create(s->argument, size, OR_NULL("gatherer", &gatherer)));

    CHECK((gatherer == NULL) == (code != EQP_OK));
    eqp_gatherer_free(gatherer);
    return code;
}

static int gatherer_run(const seat *s)
{
    int64_t mine[2] = {s->rank, 1}, most = s->rank, n = -1, *all = NULL;
    eqp_gatherer *gatherer = NULL;

    CHECK_EQUAL(eqp_gatherer_create(s->comm, 8, &gatherer), EQP_OK);
    if (is(s, "gatherer: NULL")) { /* returns at once, so it may make the right call */
        CHECK_EQUAL(eqp_gatherer_run(NULL, EQP_OK, 2, mine, NULL, &n, (void *)&all), EQP_ERR_ARGUMENT);
    }
    const int code = CALL(s, eqp_gatherer_run(gatherer, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK,
                                              number(s, "n", 2), OR_NULL("send", mine), OR_NULL("most", &most),
                                              OR_NULL("nrecv", &n), OR_NULL("recv", (void *)&all)));

    CHECK(!code || (n == -1 && !all && most == s->rank));
    eqp_gatherer_free(gatherer);
    return code;
}

static int node_create(const seat *s)
{
    const int most = (int)number(s, "most", 0);
    eqp_node *node = NULL;
    const int code = CALL(s, eqp_node_create(s->argument, most, OR_NULL("node", &node)));

    CHECK((node == NULL) == (code != EQP_OK));
    eqp_node_free(node);
    return code;
}

/* All ranks of the test are on one computer. */
static int node_use(const seat *s)
{
    eqp_node *node = NULL;
    int *memory = NULL;

    CHECK_EQUAL(eqp_node_create(s->comm, 0, &node), EQP_OK);
    if (is(s, "node: NULL")) { /* returns at once, so it may make the right call */
        CHECK_EQUAL(eqp_node_share(NULL, 8, &memory), EQP_ERR_ARGUMENT);
        CHECK_EQUAL(eqp_node_meet(NULL, EQP_OK), EQP_ERR_ARGUMENT);
        eqp_node_free(NULL);
    }
    int code = CALL(s, eqp_node_share(node, number(s, "bytes", 8), OR_NULL("memory", (void *)&memory)));
    CHECK((memory == NULL) == (code != EQP_OK));
    code = code ? code : eqp_node_meet(node, is(s, "code: EQP_ERR_DATA") ? EQP_ERR_DATA : EQP_OK);
    eqp_node_free(node);
    return code;
}

static int key_cuts(const seat *s)
{
    const uint64_t key[2] = {10, is(s, "key: descending") ? 5 : 20};
    const int64_t weight[2] = {1, number(s, "weight", 2)};
    const int nparts = number(s, "nparts", 2);
    const double even[2] = {0.5, 0.5}, uneven[2] = {0.25, 0.75}, thirds[3] = {0.25, 0.25, 0.5};
    const double *share = is(s, "share: NULL") ? NULL : is(s, "share: uneven") ? uneven : nparts == 3 ? thirds : even;
    uint64_t cut[4];

    return CALL(s, eqp_key_cuts(s->argument, number(s, "n", 2), OR_NULL("key", key), OR_NULL("weight", weight), nparts,
                                share, OR_NULL("cut", cut)));
}

static int deal_keys(const seat *s)
{
    const uint64_t key[2] = {10, is(s, "key: descending") ? 5 : 20};
    int dest[2] = {-3, -3};
    const int code = CALL(s, eqp_deal_keys(s->argument, number(s, "n", 2), OR_NULL("key", key), OR_NULL("dest", dest)));

    CHECK(!code || dest[0] == -3);
    return code;
}

MPI_TEST(rows_of_travel)
{
    static const calls all[] = {
        {"eqp_gather_all", gather_all,
         "ALONE comm: NULL; WRONG element_size: 0; n: -1; n: 1 for 2; send: NULL; count: NULL; count: -1; count: other "
         "numbers; recv: NULL; SAME element_size: 4 for 8"},
        {"eqp_move_counts", move_counts,
         "FINE nrecv: NULL; ALONE comm: NULL; WRONG plan: NULL; plan: of more ranks; recv_count: NULL"},
        {"eqp_move_apply", move_apply,
         "ALONE comm: NULL; WRONG plan: NULL; plan: of more ranks; recv_count: NULL; recv_count: one more; "
         "element_size: 0; send: NULL; recv: NULL; SAME element_size: 4 for 8; OF_THREE recv_count: another rank's"},
        {"eqp_move_return", move_return,
         "ALONE comm: NULL; WRONG plan: NULL; plan: of more ranks; recv_count: NULL; recv_count: one more; "
         "element_size: 0; send: NULL; recv: NULL; SAME element_size: 4 for 8; OF_THREE recv_count: another rank's"},
        {"eqp_gather_records", gather_records,
         "FINE n: 1; ALONE comm: NULL; WRONG element_size: 0; n: -1; send: NULL; nrecv: NULL; recv: NULL; SAME "
         "element_size: 4 for 8"},
        {"eqp_meet", meet_all,
         "ALONE comm: NULL; WRONG nlows: -1; low: NULL; nsums: too many; sum: NULL; SAME nlows: 1 for 2; nsums: 1 for "
         "2; DATA code: EQP_ERR_DATA"},
        {"eqp_send_sparse", send_sparse,
         "FINE n: 1; most: NULL; ALONE comm: NULL; WRONG element_size: 0; n: -1; dest: NULL; dest: no rank; send: "
         "NULL; nrecv: NULL; recv: NULL; SAME element_size: 4 for 8; DATA code: EQP_ERR_DATA"},
        {"eqp_gatherer_create", gatherer_create,
         "ALONE comm: NULL; WRONG element_size: 0; gatherer: NULL; SAME element_size: 4 for 8"},
        {"eqp_gatherer_run", gatherer_run,
         "FINE gatherer: NULL; n: 1; most: NULL; WRONG n: -1; send: NULL; nrecv: NULL; recv: NULL; DATA code: "
         "EQP_ERR_DATA"},
        {"eqp_node_create", node_create, "ALONE comm: NULL; WRONG most: -1; node: NULL; SAME most: 1 for 0"},
        {"eqp_node_share", node_use, "FINE node: NULL; WRONG bytes: -1; memory: NULL"},
        {"eqp_node_meet", node_use, "FINE node: NULL; DATA code: EQP_ERR_DATA"},
        {"eqp_node_free", node_use, "FINE node: NULL"},
        {"eqp_send_records", send_records,
         "FINE n: 1; ALONE comm: NULL; WRONG element_size: 0; n: -1; dest: NULL; dest: no rank; send: NULL; nrecv: "
         "NULL; recv: NULL; SAME element_size: 4 for 8"},
        {"eqp_cut_keys", cut_keys,
         "FINE n: 1; message: NULL; ALONE comm: NULL; WRONG n: -1; key: NULL; part: NULL; SAME work: NULL; DATA key: "
         "too large; work: -1"},
        {"eqp_verify_records", verify_records,
         "FINE n: 1; message: NULL; ALONE comm: NULL; WRONG n: -1; id: NULL; record: NULL; sum: NULL; SAME "
         "element_size: 4 for 8; NEEDED sum: another"},
        {"eqp_key_cuts", key_cuts,
         "FINE n: 1; ALONE comm: NULL; WRONG n: -1; key: NULL; key: descending; weight: -1; nparts: 0; cut: NULL; SAME "
         "weight: NULL; nparts: 3 for 2; share: NULL; share: uneven"},
        {"eqp_deal_keys", deal_keys,
         "FINE n: 1; ALONE comm: NULL; WRONG n: -1; key: NULL; key: descending; dest: NULL"},
    };
    run_calls(comm, all, sizeof all / sizeof all[0]);
}
