/* SPDX-License-Identifier: BSD-3-Clause */
/* Fraction of the work for each part of a run: by --share, and as learned from steps of ranks with known speeds. */

#include <equipoise/more/models.h>

#include "run/run.h"
#include "run_settings.h"
#include "unit.h"

FREES(eqp_rank_shares, eqp__rank_shares_free)

#define RANKS 4

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

static eqp_share_options choice_of(const char *text)
{
    eqp_share_options choice = {.nspeeds = 77};
    eqp_message message = {""};

    assert_ok(app_share_parse(text, &choice, &message));
    assert_string_equal(message.text, "");
    return choice;
}

static eqp_part_speeds declared(const eqp_share_options *choice)
{
    return (eqp_part_speeds){choice->nspeeds, choice->speed};
}

TEST(words_select_the_shares)
{
    eqp_share_options choice = choice_of("equal");

    assert_true(choice.kind == EQP_SHARE_EQUAL && choice.nspeeds == 0);
    assert_true(choice_of("measured").kind == EQP_SHARE_MEASURED);
    choice = choice_of("model");
    assert_true(choice.kind == EQP_SHARE_MODEL && choice.model == eqp_speeds_model(EQP_SPEEDS_PIECEWISE));
    assert_true(choice_of("model:akima").model == eqp_speeds_model(EQP_SPEEDS_AKIMA));
    choice = choice_of("speeds:1,3");
    assert_true(choice.kind == EQP_SHARE_SPEEDS && choice.nspeeds == 2);
    for (int p = 0; p < 6; p++) { /* repeated, mean 1 */
        assert_true(is_near(eqp_part_speed(declared(&choice), p), p % 2 == 0 ? 0.5 : 1.5, 1e-15));
    }
    assert_ok(app_share_check(&choice, 6, NULL));
    assert_refused(app_share_check(&choice, 7, NULL));
    app_share_free(&choice);
    assert_true(eqp_part_speed(declared(&choice), 5) == 1.0);
    choice = choice_of("speeds:1e308,1e308,1e308"); /* their sum is no number */
    assert_true(eqp_part_speed(declared(&choice), 0) == 1.0);
    app_share_free(&choice);
}

TEST(a_wrong_word_changes_nothing)
{
    static const char *const wrong[] = {"",          "speed",       "speeds",       "speeds:",      "speeds:1,,2",
                                        "speeds:-1", "speeds:0",    "speeds:1,inf", "speeds:1,nan", "speeds:1;2",
                                        "equal:1",   "measured:",   "model:",       "model:linear", "speeds:1,2000",
                                        "Equal",     "speeds:0x1p1"};

    for (int i = 0; i < COUNT_OF(wrong); i++) {
        eqp_share_options choice = {.nspeeds = 77};
        eqp_message message = {""};
        assert_refused(app_share_parse(wrong[i], &choice, &message));
        assert_true(choice.nspeeds == 77 && choice.speed == NULL && message.text[0] != '\0');
        assert_refused(app_share_parse(wrong[i], &choice, NULL));
    }
}

/* A row as eqp_balancer_record() fills it, for this rank's share of the work. */
static eqp_rank_row row_of(const eqp_rank_shares *shares, int rank, double total)
{
    const double speed = eqp_part_speed(eqp__rank_shares_speeds(shares), rank), work = total / RANKS * speed;

    return (eqp_rank_row){.work = work, .speed = speed, .predicted = work / speed};
}

/* Ranks with known seconds per work: `total` work is divided by the shares in each of `maps` maps. Returns the
 * imbalance of the ranks' times in the end. */
static double run(const char *word, double total, int maps, double (*seconds)(int rank, double work))
{
    const eqp_share_options choice = choice_of(word);
    FREED(eqp_rank_shares) *shares = NULL;
    eqp_rank_row row[RANKS];
    double spread = 0.0;

    assert_ok(eqp__rank_shares_create(&choice, true, RANKS, &shares));
    for (int m = 0; m < maps; m++) {
        double least = INFINITY, most = 0.0, sum = 0.0;
        assert_ok(eqp__rank_shares_renew(shares));
        for (int r = 0; r < RANKS; r++) {
            row[r] = row_of(shares, r, total);
            row[r].load = seconds(r, row[r].work);
            least = fmin(least, row[r].load);
            most = fmax(most, row[r].load);
            sum += row[r].speed;
        }
        assert_true(is_near(sum, RANKS, 1e-9));
        spread = most / least - 1.0;
        for (int step = 0; step < 3; step++) { /* a map lasts */
            eqp__rank_shares_learn(shares, 1, row);
        }
    }
    return spread;
}

static double constant_speeds(int rank, double work)
{
    static const double speed[RANKS] = {1.0, 0.5, 2.0, 0.25};

    return work / speed[rank];
}

/* Beyond 3 seconds of work rank 1 is slow: a cliff of memory. */
static double with_a_cliff(int rank, double work)
{
    const double slow = rank == 1 && work > 3.0 ? fmax(0.1, 1.0 - 0.45 * (work - 3.0)) : 1.0;

    return work / (rank == 0 ? 0.5 : slow);
}

TEST(speeds_are_measured)
{
    assert_true(run("equal", 8.0, 5, constant_speeds) > 6.9);
    assert_true(run("measured", 8.0, 2, constant_speeds) < 1e-12);
    assert_true(run("model", 8.0, 2, constant_speeds) < 1e-6);
    assert_true(run("model:constant", 8.0, 2, constant_speeds) < 1e-12);
    assert_true(run("model:akima", 8.0, 3, constant_speeds) < 1e-6);
}

TEST(a_speed_that_depends_on_size_takes_a_model)
{
    assert_true(run("model", 16.0, 12, with_a_cliff) < 0.05);
    assert_true(run("model:akima", 16.0, 12, with_a_cliff) < 0.05);
    for (int maps = 10; maps < 14; maps++) { /* for ever */
        assert_true(run("measured", 16.0, maps, with_a_cliff) > 0.2);
    }
}

/* Maps made over some steps of a run whose policy never requests one. swing: amplitude of a rank's speed from step to
 * step. */
static int count_maps(const char *word, bool automatic, int steps, double swing)
{
    const eqp_share_options choice = choice_of(word);
    FREED(eqp_rank_shares) *shares = NULL;
    eqp_rank_row row[RANKS];
    int maps = 0;

    assert_ok(eqp__rank_shares_create(&choice, automatic, RANKS, &shares));
    for (int s = 0; s < steps; s++) {
        if (eqp__rank_shares_want(shares)) {
            assert_ok(eqp__rank_shares_renew(shares));
            maps++;
        }
        for (int r = 0; r < RANKS; r++) {
            row[r] = row_of(shares, r, 8.0);
            row[r].load = swing > 0 ? row[r].work / (1.0 + swing * ((s + r) % 2)) : constant_speeds(r, row[r].work);
        }
        eqp__rank_shares_learn(shares, 1, row);
    }
    return maps;
}

TEST(a_map_is_due_when_speeds_differ)
{
    assert_int_equal(count_maps("measured", true, 50, 0.0), 1); /* the first one knew nothing */
    assert_int_equal(count_maps("model", true, 50, 0.0), 1);
    assert_int_equal(count_maps("measured", false, 50, 0.0), 0);
    assert_int_equal(count_maps("equal", true, 50, 0.0), 0);
    assert_int_equal(count_maps("measured", true, 500, 0.1), 0);     /* noise */
    assert_in_range(count_maps("measured", true, 5000, 0.9), 1, 40); /* speeds change too fast to follow */
}

/* A size is the work of one evaluation, however many a step takes. */
TEST(sizes_are_per_evaluation)
{
    const eqp_share_options choice = choice_of("model");
    eqp_rank_shares *shares[2] = {NULL, NULL};
    eqp_rank_row row[RANKS];

    for (int k = 0; k < 2; k++) {
        assert_ok(eqp__rank_shares_create(&choice, true, RANKS, &shares[k]));
        for (int map = 0; map < 6; map++) {
            const int64_t evaluations = k == 0 ? 1 : 1 + 3 * (map % 2);
            for (int r = 0; r < RANKS; r++) {
                row[r] = row_of(shares[k], r, 16.0);
                row[r].load = (double)evaluations * with_a_cliff(r, row[r].work);
                row[r].work *= (double)evaluations;
            }
            eqp__rank_shares_learn(shares[k], evaluations, row);
            assert_ok(eqp__rank_shares_renew(shares[k]));
        }
    }
    for (int r = 0; r < RANKS; r++) {
        assert_true(is_near(eqp_part_speed(eqp__rank_shares_speeds(shares[0]), r),
                            eqp_part_speed(eqp__rank_shares_speeds(shares[1]), r), 1e-12));
    }
    eqp__rank_shares_free(shares[0]);
    eqp__rank_shares_free(shares[1]);
}

/* Rows without information leave the speeds unchanged and valid. */
TEST(invalid_times_are_ignored)
{
    static const double odd[] = {0.0, -1.0, NAN, INFINITY, 1e-300, DBL_MAX};
    const eqp_share_options choice = choice_of("measured");

    for (int i = 0; i < COUNT_OF(odd); i++) {
        for (int which = 0; which < 2; which++) {
            eqp_rank_row row[RANKS] = {{0}};
            FREED(eqp_rank_shares) *shares = NULL;
            assert_ok(eqp__rank_shares_create(&choice, true, RANKS, &shares));
            for (int r = 0; r < RANKS; r++) {
                row[r].load = r == 2 && which == 0 ? odd[i] : 2.0;
                row[r].work = r == 2 && which == 1 ? odd[i] : 1.0;
            }
            eqp__rank_shares_learn(shares, 1, row);
            assert_ok(eqp__rank_shares_renew(shares));
            for (int r = 0; r < RANKS; r++) {
                const double speed = eqp_part_speed(eqp__rank_shares_speeds(shares), r);
                assert_true(speed > 0 && isfinite(speed));
            }
        }
    }
}

TEST(equal_shares_learn_nothing)
{
    eqp_share_options choice = choice_of("speeds:1,3");
    eqp_rank_row row[RANKS] = {{0}};
    FREED(eqp_rank_shares) *shares = NULL;
    eqp_message message = {""};

    assert_refused(eqp__rank_shares_create(&choice, true, 3, &shares));
    assert_refused(app_share_check(&choice, 3, &message));
    assert_string_equal(message.text, "2 speeds do not divide 3 parts");
    assert_null(shares);
    assert_ok(eqp__rank_shares_create(&choice, true, RANKS, &shares));
    for (int r = 0; r < RANKS; r++) {
        row[r] = (eqp_rank_row){.work = 1, .load = 1};
    }
    eqp__rank_shares_learn(shares, 1, row);
    assert_ok(eqp__rank_shares_renew(shares));
    assert_true(is_near(eqp_part_speed(eqp__rank_shares_speeds(shares), 3), 1.5, 1e-15));
    app_share_free(&choice);
}
