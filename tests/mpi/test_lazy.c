/* SPDX-License-Identifier: BSD-3-Clause */
/* Each offer is answered once, in the same step on all ranks, whichever rank makes the map and however long it
 * takes. */
#define _POSIX_C_SOURCE 200809L
#include "harness.h"
#include "late/lazy.h"

#include <equipoise/more/random.h>

enum { STEPS = 40, MOST = 100000, FAILING = 7 };

static void doze(uint64_t stream, uint64_t step, uint64_t most)
{
    const struct timespec time = {0, (long)(1000 * eqp_random_below(3, stream, step, most + 1))};

    (void)nanosleep(&time, NULL);
}

/* Size of a rank's offer in words, different for all ranks. */
static int64_t words_of(int rank, int64_t step)
{
    return rank % 4 == 3 ? 1 : 1 + (int64_t)eqp_random_below(4, (uint64_t)rank, (uint64_t)step, 3000);
}

static int64_t word_at(int rank, int64_t step, int64_t i)
{
    return i == 0 ? step : (int64_t)(eqp_random_bits((uint64_t)rank, (uint64_t)step, (uint64_t)i) >> 20);
}

static int64_t sum_of(int rank, int64_t step)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < words_of(rank, step); i++) {
        sum += word_at(rank, step, i);
    }
    return sum;
}

/* The answer to a rank: the sum over all ranks and its own number. Every FAILING-th map fails and has no answer. */
static int make(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                eqp_lazy_parcel *answer)
{
    int64_t *made = user, all = 0, heard = n;
    const bool alone = balancers == MPI_COMM_NULL;

    made[0]++;
    for (int64_t i = 0; i < n; i++) {
        const int64_t *word = offer[i].data;
        int64_t *told;
        CHECK(offer[i].bytes % 8 == 0 && offer[i].rank >= 0 && offer[i].rank < nranks);
        CHECK(i == 0 || offer[i].rank > offer[i - 1].rank);
        CHECK_EQUAL(answer[i].rank, offer[i].rank);
        told = mpi_test_alloc(3, sizeof *told);
        for (size_t k = 0; k < offer[i].bytes / 8; k++) {
            told[1] += word[k];
        }
        told[2] = word[0];
        all += told[1];
        answer[i].bytes = 3 * sizeof *told;
        answer[i].data = told;
    }
    if (!alone) {
        MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT64_T, MPI_SUM, balancers);
        MPI_Allreduce(MPI_IN_PLACE, &heard, 1, MPI_INT64_T, MPI_SUM, balancers);
    }
    CHECK_EQUAL(heard, nranks);
    for (int64_t i = 0; i < n; i++) {
        memcpy(answer[i].data, &all, sizeof all);
    }
    doze(99, (uint64_t)made[0], 800);
    return made[0] % FAILING == 0 ? EQP_ERR_DATA : EQP_OK;
}

static void check_alike(MPI_Comm comm, int64_t value)
{
    CHECK_EQUAL(eqp_agree_same(comm, value), EQP_OK);
}

static void offer(eqp_lazy *lazy, int rank, int64_t step)
{
    const int64_t n = words_of(rank, step);
    int64_t *word = mpi_test_alloc(n, sizeof *word);

    for (int64_t i = 0; i < n; i++) {
        word[i] = word_at(rank, step, i);
    }
    CHECK_EQUAL(eqp_lazy_offer(lazy, step, (size_t)n * sizeof *word, word), EQP_OK);
    CHECK_EQUAL(eqp_lazy_offer(lazy, step, (size_t)n * sizeof *word, word), EQP_ERR_STATE);
    free(word);
}

static void check_answer(const eqp_lazy_parcel *answer, int rank, int nranks, int64_t step)
{
    const int64_t *told = answer->data;
    int64_t all = 0;

    for (int r = 0; r < nranks; r++) {
        all += sum_of(r, step);
    }
    CHECK_EQUAL(answer->bytes, 3 * sizeof *told);
    CHECK_EQUAL(told[0], all);
    CHECK_EQUAL(told[1], sum_of(rank, step));
    CHECK_EQUAL(told[2], step);
}

/* Runs an application until it has taken this many maps; returns the steps at which it took them. by_itself: agreement
 * is left to eqp__lazy_look(). */
static int64_t run_application(MPI_Comm comm, eqp_lazy *lazy, bool by_itself, int64_t least)
{
    const eqp_lazy_options options = eqp__lazy_settings(lazy);
    const int rank = mpi_test_rank(comm), nranks = mpi_test_size(comm);
    int64_t offered = -1, taken = 0;
    eqp_lazy_parcel answer;

    for (int64_t step = 0; step < STEPS || (taken < least && step < MOST); step++) {
        eqp_lazy_phase news;
        if (by_itself) {
            news = eqp__lazy_look(lazy, step);
            int64_t word = eqp__lazy_word(news);
            MPI_Allreduce(MPI_IN_PLACE, &word, 1, MPI_INT64_T, MPI_MIN, comm);
            news = eqp__lazy_agreed(lazy, word);
        } else {
            CHECK_EQUAL(eqp_lazy_poll(lazy, step, &news), EQP_OK);
        }
        check_alike(comm, news);
        CHECK(news != EQP_LAZY_LOST);
        if (news == EQP_LAZY_READY) {
            const int code = eqp_lazy_take(lazy, &answer);
            taken++;
            check_alike(comm, code);
            CHECK_EQUAL(code, taken % FAILING == 0 ? EQP_ERR_DATA : EQP_OK);
            if (code == EQP_OK) {
                check_answer(&answer, rank, nranks, offered);
            }
            CHECK(options.delay < 0 || step - offered == options.delay);
            CHECK(options.wait < 0 || step - offered <= options.wait + 1);
            CHECK_EQUAL(eqp_lazy_take(lazy, &answer), EQP_ERR_STATE);
            news = EQP_LAZY_IDLE;
        }
        if (news == EQP_LAZY_IDLE) {
            offer(lazy, rank, step);
            offered = step;
        }
        doze((uint64_t)rank, (uint64_t)step, 300);
    }
    return taken;
}

/* words: options as a user types them. */
static void run_with(MPI_Comm world, const char *words, bool by_itself, int64_t least)
{
    eqp_lazy_options options;
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = NULL;
    int64_t made = 0;
    bool lost = true;

    CHECK_EQUAL(eqp_lazy_options_parse(words, &options, NULL), EQP_OK);
    CHECK_EQUAL(eqp_lazy_split(world, &options, &mine, &lazy, NULL), EQP_OK);
    if (eqp_lazy_serves(lazy)) {
        CHECK_EQUAL(eqp_lazy_serve(lazy, make, &made), EQP_OK);
    } else {
        CHECK_EQUAL(eqp_lazy_host(lazy, make, &made), EQP_OK);
        CHECK(run_application(mine, lazy, by_itself, least) >= least);
    }
    CHECK_EQUAL(eqp_lazy_leave(&lazy, &lost), EQP_OK);
    CHECK(lazy == NULL && !lost);
    eqp_comm_free(&mine);
}

MPI_TEST(balancing_ranks_answer)
{
    char words[64];

    for (int m = 1; m < mpi_test_size(comm) && m <= 4; m++) {
        for (int k = 0; k < 3; k++) {
            snprintf(words, sizeof words, "%d%s", m, k == 0 ? "" : k == 1 ? ":delay=2,spread=node" : ":wait=1");
            run_with(comm, words, m % 2 == 0, k == 0 ? 3 : STEPS / 3 - 1);
        }
    }
}

MPI_TEST(threads_and_own_ranks_answer)
{
    run_with(comm, "thread", false, 3);
    run_with(comm, "thread", true, 3);
    run_with(comm, "thread:spread=node,delay=3", true, STEPS / 4);
    run_with(comm, "thread:wait=0", false, STEPS / 2 - 1);
    run_with(comm, "0:delay=1", true, STEPS - 1);
    run_with(comm, "0:delay=5", false, STEPS / 6);
}

/* Without lazy ranks. (A map that exceeds all waiting times ends the ranks that make it, which would end this
 * test.) */
MPI_TEST(nothing_is_lazy)
{
    eqp_lazy_options options = eqp_lazy_options_defaults();
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = (eqp_lazy *)&options;
    eqp_lazy_phase news;

    CHECK_EQUAL(eqp_lazy_split(comm, &options, &mine, &lazy, NULL), EQP_OK);
    CHECK(lazy == NULL);
    CHECK_EQUAL(mpi_test_size(mine), mpi_test_size(comm));
    CHECK_EQUAL(mpi_test_rank(mine), mpi_test_rank(comm));
    CHECK(!eqp_lazy_serves(lazy) && eqp_lazy_balancers(lazy) == 0);
    CHECK_EQUAL(eqp_lazy_poll(lazy, 0, &news), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp__lazy_look(lazy, 0), EQP_LAZY_IDLE);
    CHECK_EQUAL(eqp_lazy_leave(&lazy, NULL), EQP_OK);
    eqp_comm_free(&mine);
}

MPI_TEST(impossible_divisions_are_refused)
{
    const int balancers[] = {mpi_test_size(comm), mpi_test_rank(comm), 0}; /* too many; others on each rank; no delay */
    eqp_lazy *lazy = NULL;

    for (int i = 0; i < 4; i++) {
        eqp_lazy_options options = eqp_lazy_options_defaults();
        MPI_Comm mine = MPI_COMM_NULL;
        eqp_message message = {""};
        options.mode = i < 3 ? EQP_LAZY_BY_RANKS : options.mode;
        options.balancers = i < 3 ? balancers[i] : 0;
        options.patience = i == 3 ? 0.0 : options.patience;
        CHECK_EQUAL(eqp_lazy_split(comm, &options, &mine, &lazy, &message), EQP_ERR_ARGUMENT);
        CHECK(mine == MPI_COMM_NULL && lazy == NULL && (i > 0 || strstr(message.text, "leave none") != NULL));
    }
}

MPI_TEST(words_are_read)
{
    static const char *const wrong[] = {
        "",   "two",      "1:delay=0", "none:wait=1",      "0",  "1:wait",   "1:wait=1,",  "1:patience=0",
        "2:", "1:wait=x", "1:sleep=1", "1:delay=1,wait=2", "-1", "1:delay=", "1:repair=0", "thread:spread=far"};
    eqp_lazy_options options = eqp_lazy_options_defaults();
    eqp_message message;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        message.text[0] = '\0';
        CHECK_EQUAL(eqp_lazy_options_parse(wrong[i], &options, &message), EQP_ERR_ARGUMENT);
        CHECK(message.text[0] != '\0');
        CHECK_EQUAL(options.mode, EQP_LAZY_NONE);
    }
    CHECK_EQUAL(eqp_lazy_options_parse("3:wait=4,repair=5,patience=0.5,spread=node", &options, NULL), EQP_OK);
    CHECK(options.mode == EQP_LAZY_BY_RANKS && options.balancers == 3 && options.wait == 4 && options.delay == -1);
    CHECK(options.repair == 5 && options.patience == 0.5 && options.spread);
    CHECK_EQUAL(eqp_lazy_options_parse("auto:repair=never", &options, NULL), EQP_OK);
    CHECK(options.mode == EQP_LAZY_AUTO && options.repair == 0 && options.wait == -1 && !options.spread);
}

/* `auto` follows the model: a cheap map is made in line, an expensive one where it delays no rank. */
MPI_TEST(auto_follows_the_model)
{
    eqp_lazy_model model = {.step = {.divided = 0.4}, .imbalance = 0.1, .drift = 0.005, .steps = 50};
    eqp_lazy_options options = eqp_lazy_options_defaults();
    eqp_message why = {""};

    model.map.fixed = 1e-5;
    CHECK_EQUAL(eqp_lazy_decide(&model, 8, true, &options, &why), EQP_OK);
    CHECK_EQUAL(options.mode, EQP_LAZY_NONE);
    CHECK(strstr(why.text, "in line") != NULL);
    model.map.fixed = 0.02;
    model.spare = true;
    CHECK_EQUAL(eqp_lazy_decide(&model, 8, true, &options, &why), EQP_OK);
    CHECK_EQUAL(options.mode, EQP_LAZY_BY_THREAD);
    model.map = (eqp_seconds_fit){.divided = 0.3, .per_rank = 0.01};
    CHECK_EQUAL(eqp_lazy_decide(&model, 64, false, &options, NULL), EQP_OK);
    CHECK(options.mode == EQP_LAZY_BY_RANKS && options.balancers >= 1 && options.balancers < 8);
    model.drift = -1;
    CHECK_EQUAL(eqp_lazy_decide(&model, 64, false, &options, NULL), EQP_ERR_DATA);
    CHECK_EQUAL(options.mode, EQP_LAZY_BY_RANKS);
}
