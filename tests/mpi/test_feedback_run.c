/* SPDX-License-Identifier: BSD-3-Clause */
/* Feedback-guided balancing on real ranks gives the simulated result, with data. */
#include "harness.h"

#include <equipoise/more/random.h>

#include "failing_ranks.h"
#include "methods/feedback/feedback.h"

enum { WORDS = 3 };

static uint32_t word(int64_t iteration, int i)
{
    return (uint32_t)eqp_random_bits(3, (uint64_t)iteration, (uint64_t)i);
}

static uint32_t *make_items(const eqp_feedback_share *share, int words)
{
    uint32_t *items = mpi_test_alloc((share->high - share->low) * words, sizeof *items);

    for (int64_t m = share->low; m < share->high; m++) {
        for (int i = 0; i < words; i++) {
            items[(m - share->low) * words + i] = word(m, i);
        }
    }
    return items;
}

static void check_items(const eqp_feedback_share *share, int words, const uint32_t *items)
{
    int64_t wrong = 0;

    for (int64_t m = share->low; m < share->high; m++) {
        for (int i = 0; i < words; i++) {
            wrong += items[(m - share->low) * words + i] != word(m, i);
        }
    }
    CHECK_EQUAL(wrong, 0);
}

static int64_t sum_range(const int64_t *load, const eqp_feedback_share *share)
{
    int64_t sum = 0;

    for (int64_t m = share->low; m < share->high; m++) {
        sum += load[m];
    }
    return sum;
}

/* Balances until the rule stops. Returns the steps taken. */
static int balance_all(MPI_Comm comm, const int64_t *load, int words, eqp_feedback_share *share,
                       enum eqp_feedback_verdict *verdict)
{
    uint32_t *items = words > 0 ? make_items(share, words) : NULL;
    int steps = 0;

    for (;; steps++) {
        CHECK_EQUAL(eqp_feedback_balance(comm, sum_range(load, share), (size_t)words * sizeof *items,
                                         words > 0 ? &items : NULL, share, verdict),
                    EQP_OK);
        if (words > 0) {
            check_items(share, words, items);
        }
        if (*verdict != EQP_FEEDBACK_GO_ON) {
            break;
        }
    }
    free(items);
    return steps;
}

/* All ways a run ends: at once, after a good step, after a bad step, never; oscillations. */
MPI_TEST(ranks_do_what_a_simulation_of_them_does)
{
    static const int64_t lengths[] = {0, 1, 3, 5000, 100000};
    static const int limits[] = {25, 0, 1, 2, 3};
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);

    for (int i = 0; i < 5 * EQP_FEEDBACK_FUNCTIONS * 2 * 5; i++) {
        const int64_t n = lengths[i % 5];
        const int function = 1 + i / 5 % EQP_FEEDBACK_FUNCTIONS, words = n < 100000 ? WORDS : 0;
        int64_t *load = mpi_test_alloc(n, sizeof *load), *bound = mpi_test_alloc(nranks + 1, sizeof *bound);
        eqp_feedback_options options = eqp_feedback_options_defaults();
        eqp_feedback_run run = {0};
        eqp_feedback_share share;
        enum eqp_feedback_verdict verdict;

        options.rule = i % 2 ? EQP_FEEDBACK_PAPER : EQP_FEEDBACK_GUARDED;
        options.max_steps = limits[i / (5 * EQP_FEEDBACK_FUNCTIONS * 2)];
        CHECK_EQUAL(eqp_feedback_function(function, n, nranks, load), EQP_OK);
        CHECK_EQUAL(eqp_feedback_simulate(n, load, nranks, &options, bound, NULL, &run), EQP_OK);
        CHECK_EQUAL(eqp_feedback_share_init(comm, n, &options, &share), EQP_OK);
        CHECK_EQUAL(balance_all(comm, load, words, &share, &verdict), run.steps);
        CHECK_EQUAL(verdict, run.verdict);
        CHECK_EQUAL(share.low, bound[rank]);
        CHECK_EQUAL(share.high, bound[rank + 1]);
        free(load);
        free(bound);
    }
}

/* All work on the first rank, no work at all, all work on the last rank. */
MPI_TEST(what_is_piled_up_is_spread)
{
    const eqp_feedback_options options = eqp_feedback_options_defaults();
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);
    eqp_feedback_share share, before;
    enum eqp_feedback_verdict verdict;

    CHECK_EQUAL(eqp_feedback_share_init(comm, 1000 * nranks, &options, &share), EQP_OK);
    CHECK_EQUAL(eqp_feedback_balance(comm, rank == 0 ? 777 : 0, 0, NULL, &share, &verdict), EQP_OK);
    CHECK_EQUAL(verdict, nranks > 1 ? EQP_FEEDBACK_GO_ON : EQP_FEEDBACK_WITHIN);
    CHECK(nranks == 1 || share.high <= 1000 || rank == nranks - 1);
    before = share;
    CHECK_EQUAL(eqp_feedback_balance(comm, 0, 0, NULL, &share, &verdict), EQP_OK);
    CHECK_EQUAL(verdict, EQP_FEEDBACK_WITHIN);
    CHECK(share.low == before.low && share.high == before.high);
}

static int balance_with_little_memory(MPI_Comm comm, void *user)
{
    const int64_t *load = user;
    const eqp_feedback_options options = {sizeof(eqp_feedback_options), EQP_FEEDBACK_GUARDED, 50, 0, 1};
    eqp_feedback_share share;
    enum eqp_feedback_verdict verdict = EQP_FEEDBACK_GO_ON;
    uint32_t *items = NULL;
    int code;

    failing_ranks_begin();
    code = eqp_feedback_share_init(comm, 500, &options, &share);
    failing_ranks_end();
    if (code) {
        return code;
    }
    const int64_t failures = failing_ranks_failures;
    items = make_items(&share, WORDS);
    failing_ranks_begin();
    while (!code && verdict == EQP_FEEDBACK_GO_ON) {
        code = eqp_feedback_balance(comm, sum_range(load, &share), WORDS * sizeof *items, &items, &share, &verdict);
    }
    failing_ranks_end();
    failing_ranks_failures += failures;
    check_items(&share, WORDS, items); /* a failure loses no data */
    free(items);
    return code;
}

MPI_TEST(lack_of_memory_fails_on_all_ranks_or_on_none)
{
    int64_t load[500];

    CHECK_EQUAL(eqp_feedback_function(2, 500, mpi_test_size(comm), load), EQP_OK);
    CHECK(failing_ranks_check(comm, balance_with_little_memory, load) > 0);
}
