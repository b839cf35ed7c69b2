/* SPDX-License-Identifier: BSD-3-Clause */
/* A code's own keys are cut as evenly as possible for any distribution of items; records follow their parts in one
 * call; lost, duplicated and changed records are detected. */
#include "harness.h"

#include <equipoise/more/methods.h>
#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <float.h>
#include <math.h>

#include "failing_ranks.h"

enum { ITEMS = 300, UNSET = -7 };

static double uniform(int i, int k)
{
    return eqp_random_uniform(31, (uint64_t)i, (uint64_t)k);
}

/* ---- keys ---- */

/* Kinds of keys: random, few different ones, all equal, the largest. */
static uint64_t key_of(int kind, int i)
{
    const uint64_t bits = eqp_random_bits(5, 1, (uint64_t)i);

    return kind == 0 ? bits >> 1 : kind == 1 ? bits % 20 : kind == 2 ? 77 : UINT64_MAX - 1 - (uint64_t)i % 90;
}

static double work_of(int kind, int i)
{
    return kind == 3 ? 0.0 : i % 60 == 5 ? 20.0 : 0.1 + uniform(i, 2);
}

/* Parts of all items. spread: by number, shuffled, all on the last rank. */
static void cut(MPI_Comm comm, int kind, int spread, bool weighs, int *part)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    uint64_t key[ITEMS];
    double work[ITEMS];
    int number[ITEMS], mine[ITEMS];
    int64_t n = 0;

    for (int k = 0; k < ITEMS; k++) {
        const int i = spread == 1 ? (k * 7919 + 11) % ITEMS : k;
        const int home = spread == 0 ? i * size / ITEMS : spread == 1 ? (int)(uniform(i, 4) * size) : size - 1;
        if (home == rank) {
            number[n] = i;
            key[n] = key_of(kind, i);
            work[n] = work_of(kind, i);
            mine[n++] = UNSET;
        }
    }
    CHECK_EQUAL(eqp_cut_keys(comm, n, key, weighs ? work : NULL, mine, NULL), EQP_OK);
    memset(part, 0, ITEMS * sizeof *part);
    for (int64_t k = 0; k < n; k++) {
        part[number[k]] = mine[k];
    }
    MPI_Allreduce(MPI_IN_PLACE, part, ITEMS, MPI_INT, MPI_MAX, comm);
}

typedef struct keyed {
    uint64_t key;
    double work;
    int part;
} keyed;

static int by_key(const void *left, const void *right)
{
    const keyed *a = left, *b = right;

    return (a->key > b->key) - (a->key < b->key);
}

/* Parts ascend with the keys, equal keys share a part, and the heaviest part is that of the optimal cut. */
static void check_cut(int kind, bool weighs, int nparts, const int *part)
{
    keyed all[ITEMS];
    double load[ITEMS] = {0}, given[64] = {0}, most = 0, best = 0;
    int64_t first[64 + 1], n = 0;

    for (int i = 0; i < ITEMS; i++) {
        const double work = weighs && kind != 3 ? work_of(kind, i) : 1;
        all[i] = (keyed){key_of(kind, i), work, part[i]};
        given[part[i]] += work;
    }
    qsort(all, ITEMS, sizeof *all, by_key);
    for (int i = 0; i < ITEMS; i++) {
        CHECK(i == 0 || all[i - 1].part <= all[i].part);
        CHECK(i == 0 || all[i - 1].key != all[i].key || all[i - 1].part == all[i].part);
        n += i == 0 || all[i - 1].key != all[i].key;
        load[n - 1] += all[i].work;
    }
    CHECK_EQUAL(eqp_cuts_optimal(n, load, nparts, NULL, first, NULL), EQP_OK);
    for (int p = 0; p < nparts; p++) {
        double sum = 0;
        for (int64_t k = first[p]; k < first[p + 1]; k++) {
            sum += load[k];
        }
        best = fmax(best, sum);
        most = fmax(most, given[p]);
    }
    CHECK_NEAR(most, best, 1e-9);
}

MPI_TEST(own_keys_are_cut_at_their_best_for_any_ranks)
{
    for (int kind = 0; kind < 4; kind++) {
        for (int weighs = 0; weighs < 2; weighs++) {
            int part[ITEMS], again[ITEMS];
            cut(comm, kind, 0, weighs, part);
            check_cut(kind, weighs, mpi_test_size(comm), part);
            for (int spread = 1; spread < 3; spread++) {
                cut(comm, kind, spread, weighs, again);
                CHECK(memcmp(part, again, sizeof part) == 0);
            }
        }
    }
}

MPI_TEST(keys_that_cannot_be_are_refused_everywhere)
{
    const bool odd = mpi_test_rank(comm) == mpi_test_size(comm) - 1;
    const uint64_t key[2] = {odd ? UINT64_MAX : 3, 4}, good[2] = {1, 2};
    const double work[2] = {1, odd ? -1 : 1}, huge[2] = {DBL_MAX, DBL_MAX};
    eqp_message message = {""};
    int part[2] = {UNSET, UNSET};

    CHECK_EQUAL(eqp_cut_keys(comm, 2, key, NULL, part, &message), EQP_ERR_DATA);
    CHECK(strstr(message.text, "2^64 - 1") != NULL);
    CHECK_EQUAL(eqp_cut_keys(comm, 2, good, work, part, &message), EQP_ERR_DATA);
    CHECK(strstr(message.text, "negative") != NULL);
    CHECK_EQUAL(eqp_cut_keys(comm, 2, good, huge, part, &message), EQP_ERR_OVERFLOW);
    CHECK(strstr(message.text, "sum") != NULL);
    CHECK_EQUAL(part[0], UNSET);
    CHECK_EQUAL(eqp_cut_keys(comm, 0, NULL, NULL, NULL, NULL), EQP_OK);
}

/* ---- balance and send ---- */

typedef struct atom {
    double x[3], work;
    int64_t id;
    char name[3]; /* followed by padding */
} atom;

static int64_t make_atoms(MPI_Comm comm, atom *atoms, float *charge)
{
    const int rank = mpi_test_rank(comm), size = mpi_test_size(comm);
    int64_t n = 0;

    memset(atoms, 0, ITEMS * sizeof *atoms);
    for (int i = 0; i < ITEMS; i++) {
        if (i * i % size == rank) {
            atoms[n] = (atom){{uniform(i, 0), uniform(i, 1), uniform(i, 2)}, 0.5 + uniform(i, 3), 1000 + i, "He"};
            charge[n++] = (float)i;
        }
    }
    return n;
}

static eqp_points points_of(int64_t n, const atom *atoms)
{
    return (eqp_points){.n = n, .x = atoms[0].x, .stride = sizeof *atoms};
}

MPI_TEST(items_follow_their_parts_in_one_call)
{
    static atom atoms[ITEMS];
    static float charge[ITEMS];
    const int64_t n = make_atoms(comm, atoms, charge);
    const eqp_points points = points_of(n, atoms);
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_point_column column[2] = {{sizeof *atoms, atoms, NULL}, {sizeof *charge, charge, NULL}};
    eqp_balance_result result;
    uint64_t sum[2] = {0, 0};
    int64_t there = UNSET, id[ITEMS], expected = 0;
    int part[ITEMS];

    options.nparts = mpi_test_size(comm);
    CHECK_EQUAL(eqp_balance_points(comm, eqp_method_find("sfc"), &points, &options, part, NULL), EQP_OK);
    int64_t *const count = mpi_test_alloc(options.nparts, sizeof *count);
    for (int64_t i = 0; i < n; i++) {
        id[i] = atoms[i].id;
        count[part[i]]++;
    }
    CHECK_EQUAL(eqp_sum_int64(comm, options.nparts, count), EQP_OK);
    expected = count[mpi_test_rank(comm)];
    free(count);
    CHECK_EQUAL(eqp_verify_records(comm, n, id, sizeof *atoms, atoms, sum, NULL), EQP_OK);
    CHECK_EQUAL(eqp_balance_send(comm, eqp_method_find("sfc"), &points, &options, 2, column, &there, &result), EQP_OK);
    CHECK_EQUAL(there, expected);
    CHECK_EQUAL(result.items, ITEMS);
    const atom *const mine = column[0].recv;
    for (int64_t i = 0; i < there; i++) {
        id[i] = mine[i].id;
        CHECK(((float *)column[1].recv)[i] == (float)(id[i] - 1000));
    }
    CHECK_EQUAL(eqp_verify_records(comm, there, id, sizeof *mine, mine, sum, NULL), EQP_OK);
    free(column[0].recv);
    free(column[1].recv);
}

/* ---- transfer errors ---- */

/* One rank's records before and after its mistake. */
typedef struct cargo {
    int64_t n, id[8], value[8];
} cargo;

enum mistake { NONE, MOVED, LOST, DOUBLED, LOST_AND_DOUBLED, ANOTHER, SWAPPED, MISTAKES };

static void make_cargo(MPI_Comm comm, enum mistake mistake, cargo *c)
{
    const int rank = mpi_test_rank(comm);

    *c = (cargo){.n = 4};
    for (int64_t i = 0; i < 4; i++) {
        c->id[i] = 4 * rank + i - 2;
        c->value[i] = 100 + c->id[i];
    }
    if (mistake == MOVED) { /* moved to the next rank, in another order */
        const int size = mpi_test_size(comm);
        for (int64_t i = 0; i < 4; i++) {
            c->id[i] = 4 * ((rank + 1) % size) + (3 - i) - 2;
            c->value[i] = 100 + c->id[i];
        }
    } else if (rank == 0 && mistake != NONE) {
        c->n += mistake == DOUBLED ? 1 : mistake == LOST ? -1 : 0;
        c->id[4] = c->id[0];
        c->value[4] = c->value[0];
        c->id[1] = mistake == LOST_AND_DOUBLED ? c->id[2] : mistake == ANOTHER ? 12345 : c->id[1];
        c->value[1] = mistake == LOST_AND_DOUBLED ? c->value[2] : mistake == SWAPPED ? c->value[2] : c->value[1];
        c->value[2] = mistake == SWAPPED ? c->value[2] - 1 : c->value[2];
    }
}

static void check_mistake(MPI_Comm comm, enum mistake mistake, bool contents)
{
    const size_t size = contents ? sizeof(int64_t) : 0;
    const bool right = mistake <= MOVED || (mistake == SWAPPED && !contents);
    uint64_t sum[2] = {0, 0}, kept[2];
    eqp_message message = {"none"};
    cargo c;

    make_cargo(comm, NONE, &c);
    CHECK_EQUAL(eqp_verify_records(comm, c.n, c.id, size, contents ? c.value : NULL, sum, &message), EQP_OK);
    CHECK(strcmp(message.text, "none") == 0);
    CHECK_EQUAL(sum[0], 4 * (uint64_t)mpi_test_size(comm));
    memcpy(kept, sum, sizeof sum);
    make_cargo(comm, mistake, &c);
    CHECK_EQUAL(eqp_verify_records(comm, c.n, c.id, size, contents ? c.value : NULL, sum, &message),
                right ? EQP_OK : EQP_ERR_DATA);
    CHECK(memcmp(kept, sum, sizeof sum) == 0);
    CHECK(mistake != LOST || strstr(message.text, "1 fewer") != NULL);
    CHECK(mistake != DOUBLED || strstr(message.text, "1 more") != NULL);
    CHECK(mistake != LOST_AND_DOUBLED || strstr(message.text, "not the same") != NULL);
}

MPI_TEST(records_that_are_lost_doubled_or_changed_are_found)
{
    uint64_t sum[2] = {0, 0};
    const int64_t id = 1;

    for (int k = 0; k < 2 * MISTAKES; k++) {
        check_mistake(comm, (enum mistake)(k / 2), k % 2);
    }
    CHECK_EQUAL(eqp_verify_records(comm, 0, NULL, 0, NULL, sum, NULL), EQP_OK); /* no records have a checksum, too */
    CHECK_EQUAL(eqp_verify_records(comm, mpi_test_rank(comm) == 0, &id, 0, NULL, sum, NULL), EQP_ERR_DATA);
}

/* user: not used */
static int without_memory(MPI_Comm comm, void *user)
{
    static atom atoms[ITEMS];
    static float charge[ITEMS];
    const int64_t n = make_atoms(comm, atoms, charge) / 20;
    const eqp_points points = points_of(n, atoms);
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_point_column column = {sizeof *charge, charge, NULL};
    uint64_t key[ITEMS];
    int64_t there = UNSET;
    int part[ITEMS] = {UNSET};

    (void)user;
    options.nparts = mpi_test_size(comm);
    for (int64_t i = 0; i < n; i++) {
        key[i] = (uint64_t)atoms[i].id;
    }
    failing_ranks_begin();
    int code = eqp_balance_send(comm, eqp_method_find("sfc"), &points, &options, 1, &column, &there, NULL);
    CHECK((there == UNSET) == (code != EQP_OK) && (column.recv == NULL || code == EQP_OK));
    code = code == EQP_OK ? eqp_cut_keys(comm, n, key, NULL, part, NULL) : code;
    failing_ranks_end();
    CHECK(n == 0 || (part[0] == UNSET) == (code != EQP_OK));
    free(column.recv);
    return code;
}

MPI_TEST(calls_fail_on_all_ranks_or_on_none)
{
    CHECK(failing_ranks_check(comm, without_memory, NULL) > 0);
}
