/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts keys that the application computed: sends each distinct key once to the rank of its range, cuts the sorted keys
 * there, and returns the parts. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/rows.h"

#include <equipoise/more/comm.h>
#include <equipoise/points.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct keyed {
    uint64_t key;
    double work;
    int64_t from; /* index of the item */
} keyed;

static int by_key(const void *left, const void *right)
{
    const keyed *a = left, *b = right;

    return (a->key > b->key) - (a->key < b->key);
}

/* Sorts items and sums the work of equal keys; returns the number of keys left. of: [n] index of each item's key. */
static int64_t merge(int64_t n, keyed *item, int64_t *of)
{
    int64_t m = 0;

    qsort(item, (size_t)n, sizeof *item, by_key);
    for (int64_t i = 0; i < n; i++) {
        const keyed next = item[i];
        if (m > 0 && item[m - 1].key == next.key) {
            item[m - 1].work += next.work;
        } else {
            item[m++] = next;
        }
        of[next.from] = m - 1;
    }
    return m;
}

static int check(int64_t n, const uint64_t *key, const double *work, const int *part, eqp_message *message)
{
    EQP__FAIL_IF(n < 0 || (n > 0 && (key == NULL || part == NULL)),
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "keys: no keys, no parts or a number of items below 0"));
    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(key[i] == UINT64_MAX,
                     EQP__SAY(message, EQP_ERR_DATA,
                              "keys: item %" PRId64 " has the key 2^64 - 1, which ends all intervals", i));
        EQP__FAIL_IF(
            work != NULL && !(work[i] >= 0 && isfinite(work[i])),
            EQP__SAY(message, EQP_ERR_DATA, "keys: item %" PRId64 " has work that is negative or not finite", i));
    }
    return EQP_OK;
}

/* Parts of keys whose ranges ascend with the rank; item: [n] in any order. Collective. */
static int cut_dealt(MPI_Comm comm, int64_t n, keyed *item, int nparts, int *part)
{
    eqp_balance_options options = eqp_balance_options_defaults();
    int64_t *of = NULL;
    double *load = NULL;
    int *part_of = NULL, code = EQP__ARRAYS(EQP__ARRAY(of, n), EQP__ARRAY(load, n), EQP__ARRAY(part_of, n));

    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int64_t i = 0; i < n; i++) {
        item[i].from = i;
    }
    const int64_t m = merge(n, item, of);
    for (int64_t k = 0; k < m; k++) {
        load[k] = item[k].work;
    }
    options.nparts = nparts;
    EQP_TRY(eqp__cut_curve(comm, m, load, &options, true, part_of));
    for (int64_t i = 0; i < n; i++) {
        part[i] = part_of[of[i]];
    }
done:
    EQP__FREE(of, load, part_of);
    return code;
}

/* Parts of this rank's distinct keys. item: [m] by ascending key. Collective. */
static int cut(MPI_Comm comm, int nranks, int64_t m, const keyed *item, int *part)
{
    eqp_move_plan *plan = NULL;
    int64_t *count = NULL, n = 0;
    uint64_t *key = NULL;
    keyed *dealt = NULL;
    int *dest = NULL, *there = NULL,
        code = EQP__ARRAYS(EQP__ARRAY(key, m), EQP__ARRAY(dest, m), EQP__ARRAY(count, nranks));

    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int64_t k = 0; k < m; k++) {
        key[k] = item[k].key;
    }
    EQP_TRY(eqp_deal_keys(comm, m, key, dest));
    code = eqp_move_plan_create(m, dest, nranks, &plan);
    EQP_TRY(eqp__move_new(comm, code, plan, sizeof *item, item, count, &n, &dealt));
    EQP_TRY(eqp_agree(comm, eqp_array_create(&there, n, sizeof *there), NULL));
    EQP_TRY(cut_dealt(comm, n, dealt, nranks, there));
    EQP_TRY(eqp_move_return(comm, plan, count, sizeof *part, there, part));
done:
    eqp_move_plan_free(plan);
    EQP__FREE(count, key, dest, dealt, there);
    return code;
}

/* Rounds work so that sums are exact. If the total is zero, sets all work to 1. Collective. */
static int weigh(MPI_Comm comm, int64_t n, double *work)
{
    double total = 0;

    EQP__CHECK(eqp__weights_round(comm, n, work));
    for (int64_t i = 0; i < n; i++) {
        total += work[i];
    }
    EQP__CHECK(eqp__sum_double(comm, 1, &total));
    EQP__CHECK(isfinite(total) ? EQP_OK : EQP_ERR_OVERFLOW);
    for (int64_t i = 0; i < n && total <= 0; i++) {
        work[i] = 1;
    }
    return EQP_OK;
}

int eqp_cut_keys(MPI_Comm comm, int64_t n, const uint64_t *key, const double *work, int *part, eqp_message *message)
{
    eqp_message why = {""};
    int64_t pair[2] = {INT64_MAX, INT64_MAX}, *of = NULL;
    keyed *item = NULL;
    double *load = NULL;
    int *part_of = NULL, rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = check(n, key, work, part, &why);
    code =
        code ? code : EQP__ARRAYS(EQP__ARRAY(item, n), EQP__ARRAY(load, n), EQP__ARRAY(of, n), EQP__ARRAY(part_of, n));
    if (n > 0) {
        eqp__put_value(pair, work != NULL);
    }
    EQP_TRY(eqp__agree_least(comm, code, 2, pair, &why));
    EQP_TRY(eqp__pair_differs(pair) ? EQP__SAY(&why, EQP_ERR_ARGUMENT, "keys: work is given on some ranks only")
                                    : EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        load[i] = work != NULL ? work[i] : 1;
    }
    EQP_TRY(weigh(comm, n, load));
    for (int64_t i = 0; i < n; i++) {
        item[i] = (keyed){key[i], load[i], i};
    }
    EQP_TRY(cut(comm, nranks, merge(n, item, of), item, part_of));
    for (int64_t i = 0; i < n; i++) {
        part[i] = part_of[of[i]];
    }
done:
    if (code != EQP_OK && message != NULL) {
        if (why.text[0] == '\0') {
            eqp_message_set(&why, "keys: %s",
                            code == EQP_ERR_OVERFLOW ? "the sum of all work is not finite" : eqp_error_text(code));
        }
        *message = why;
    }
    EQP__FREE(item, load, of, part_of);
    return code;
}
