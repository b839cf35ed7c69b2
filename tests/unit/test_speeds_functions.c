/* SPDX-License-Identifier: BSD-3-Clause */
/* Declared speed functions, and models that learn from their own divisions of them: constant speeds, and cliffs where
 * memory runs out. */
#include "failing_malloc.h"
#include "models/speeds.h"
#include "slow.h"
#include "unit.h"

#include <locale.h>

FREES(eqp_speeds_functions, eqp_speeds_functions_free)
FREES(eqp_speeds, eqp_speeds_free)

enum { MOST_RANKS = 16, FOREVER = 1000 };

static eqp_speeds_functions *declare(const char *text)
{
    eqp_speeds_functions *functions = NULL;
    eqp_message message = {""};

    if (eqp_speeds_functions_parse(text, (int64_t)strlen(text), "declared", &functions, &message)) {
        fail_msg("%s", message.text);
    }
    return functions;
}

static double declared_seconds(const eqp_speeds_functions *functions, int rank, int64_t share)
{
    double seconds = -1.0;

    assert_ok(eqp_speeds_functions_seconds(functions, rank, (double)share, &seconds));
    return seconds;
}

TEST(points_are_read_and_joined_by_lines)
{
    FREED(eqp_speeds_functions) *f = declare("# two ranks\n\n0 100 50\r\n0\t200   25 # slower\n  1 0 1e1\n1 10 2.5e+1");

    assert_int_equal(eqp_speeds_functions_ranks(f), 2);
    assert_true(declared_seconds(f, 0, 0) == 0.0);
    assert_near(declared_seconds(f, 0, 50), 1.0, 1e-15);
    assert_near(declared_seconds(f, 0, 100), 2.0, 1e-15);
    assert_near(declared_seconds(f, 0, 150), 4.0, 1e-15);
    assert_near(declared_seconds(f, 0, 200), 8.0, 1e-15);
    assert_near(declared_seconds(f, 0, 1000), 40.0, 1e-15);
    assert_near(declared_seconds(f, 1, 4), 0.25, 1e-15);
}

TEST(questions_beyond_the_functions_are_refused)
{
    FREED(eqp_speeds_functions) *f = declare("0 1 1\n");
    double seconds = -7.0;

    assert_refused(eqp_speeds_functions_seconds(f, 1, 1, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, -1, 1, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, 0, -1, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, 0, NAN, &seconds));
    assert_refused(eqp_speeds_functions_seconds(f, 0, INFINITY, &seconds));
    assert_true(seconds == -7.0);
}

TEST(hostile_texts_are_refused_with_a_line)
{
    static const struct {
        const char *text;
        int code;
        const char *word;
    } wrong[] = {
        {"", EQP_ERR_FORMAT, "no speed function"},
        {"# nothing\n\n", EQP_ERR_FORMAT, "no speed function"},
        {"0 1\n", EQP_ERR_FORMAT, "x:1:"},
        {"0 1 2 3\n", EQP_ERR_FORMAT, "x:1:"},
        {"0 1 1\n0 2\n", EQP_ERR_FORMAT, "x:2:"},
        {"0 1 nan\n", EQP_ERR_FORMAT, "nan"},
        {"0 inf 1\n", EQP_ERR_FORMAT, "inf"},
        {"0 0x10 1\n", EQP_ERR_FORMAT, "0x10"},
        {"0 1 1,5\n", EQP_ERR_FORMAT, "1,5"},
        {"0 1 1e\n", EQP_ERR_FORMAT, "1e"},
        {"0 1 -\n", EQP_ERR_FORMAT, "-"},
        {"0 1 0\n", EQP_ERR_DATA, "> 0"},
        {"0 1 -5\n", EQP_ERR_DATA, "> 0"},
        {"0 1 1e31\n", EQP_ERR_DATA, "1e30"},
        {"0 1 1e999\n", EQP_ERR_DATA, "1e30"},
        {"0 1 1e-400\n", EQP_ERR_DATA, "> 0"},
        {"0 -1 1\n", EQP_ERR_DATA, "2^53"},
        {"0 1e300 1\n", EQP_ERR_DATA, "2^53"},
        {"1 1 1\n", EQP_ERR_DATA, "gap"},
        {"0 1 1\n2 1 1\n", EQP_ERR_DATA, "gap"},
        {"0 1 1\n1 1 1\n0 2 1\n", EQP_ERR_DATA, "together"},
        {"-1 1 1\n", EQP_ERR_DATA, "rank"},
        {"0.5 1 1\n", EQP_ERR_DATA, "rank"},
        {"1e300 1 1\n", EQP_ERR_DATA, "rank"},
        {"65536 1 1\n", EQP_ERR_DATA, "rank"},
        {"0 1 1\n0 1 1\n", EQP_ERR_DATA, "increase"},
        {"0 2 1\n0 1 1\n", EQP_ERR_DATA, "increase"},
        {"0 1 0000000000000000000000000000000000000000000000000000000000000000001\n", EQP_ERR_FORMAT, "x:1:"},
        {"\x7f\x45LF \x01 \x02\n", EQP_ERR_FORMAT, "not a number"},
    };
    eqp_speeds_functions *functions = NULL;

    for (int i = 0; i < COUNT_OF(wrong); i++) {
        eqp_message message = {""};
        const int64_t length = (int64_t)strlen(wrong[i].text);

        assert_int_equal(eqp_speeds_functions_parse(wrong[i].text, length, "x", &functions, &message), wrong[i].code);
        assert_null(functions);
        if (!strstr(message.text, wrong[i].word) || strncmp(message.text, "x:", 2) != 0) {
            fail_msg("'%s' does not say '%s'", message.text, wrong[i].word);
        }
        assert_int_equal(eqp_speeds_functions_parse(wrong[i].text, length, "x", &functions, NULL), wrong[i].code);
    }
    assert_int_equal(eqp_speeds_functions_parse("0 1 1\n0 2 \0001\n", 13, "x", &functions, NULL), EQP_ERR_FORMAT);
    assert_refused(eqp_speeds_functions_parse("0 1 1\n", -1, "x", &functions, NULL));
    assert_null(functions);
}

TEST(numbers_do_not_depend_on_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};

    /* Any available locale with a decimal comma; else the C locale. */
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !setlocale(LC_ALL, names[i]); i++) {
    }
    FREED(eqp_speeds_functions) *f = declare("0 10.5 1.5\n");
    setlocale(LC_ALL, "C");
    assert_near(declared_seconds(f, 0, 3), 2.0, 1e-15);
}

TEST(files_are_read_or_refused)
{
    char path[] = "/tmp/equipoise-speeds-XXXXXX";
    const int file = mkstemp(path);
    eqp_speeds_functions *f = NULL;
    eqp_message message = {""};

    assert_true(file >= 0);
    assert_int_equal(write(file, "0 1 2\n", 6), 6);
    close(file);
    assert_ok(eqp_speeds_functions_read(path, &f, &message));
    assert_near(declared_seconds(f, 0, 4), 2.0, 1e-15);
    eqp_speeds_functions_free(f);
    f = NULL;
    unlink(path);
    assert_int_equal(eqp_speeds_functions_read(path, &f, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, path));
    assert_int_equal(eqp_speeds_functions_read("/tmp", &f, &message), EQP_ERR_IO);
    assert_int_equal(eqp_speeds_functions_read("/dev/zero", &f, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "is not a regular file"));
    assert_null(f);
}

TEST(reading_survives_failing_allocations)
{
    static const char text[] = "0 1 1\n0 2 1\n1 1 1\n2 1 1\n";
    int64_t k = 0;

    SKIP_IF(!failing_malloc_works);
    eqp_speeds_functions *f = NULL;
    eqp_message message = {""};
    int code;
    for (; FAILING_MALLOC(k, code = eqp_speeds_functions_parse(text, sizeof text - 1, "x", &f, &message)); k++) {
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_null(f);
        assert_true(message.text[0]);
        message.text[0] = '\0';
    }
    assert_ok(code);
    eqp_speeds_functions_free(f);
    assert_true(k >= 4);
}

TEST(dividing_survives_failing_allocations)
{
    SKIP_IF(!failing_malloc_works);
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; kind <= EQP_SPEEDS_AKIMA; kind++) {
        int64_t k = 0;

        for (;; k++) {
            int64_t share[3] = {-1, -1, -1};
            eqp_speeds *speeds = NULL;

            failing_malloc_start(k);
            int code = eqp_speeds_create(kind, 3, 100, &speeds);
            for (int r = 0; r < 3 && !code; r++) {
                code = eqp__speeds_add(speeds, r, 33, 1 + r);
            }
            code = code ? code : eqp_speeds_share(speeds, share);
            const int64_t failures = failing_malloc_stop();
            eqp_speeds_free(speeds);
            if (!failures) {
                assert_ok(code);
                break;
            }
            assert_int_equal(code, EQP_ERR_MEMORY);
            assert_true(share[0] == -1 && share[1] == -1 && share[2] == -1);
        }
        assert_true(k >= 7);
    }
}

/* True if every rank takes the common time up to one item of its share, the best possible with whole items. */
static bool is_even_but_for_rounding(const eqp_speeds_functions *functions, const int64_t *share)
{
    double latest = 0.0, earliest = INFINITY;

    for (int r = 0; r < eqp_speeds_functions_ranks(functions); r++) {
        latest = share[r] > 0 ? fmax(latest, declared_seconds(functions, r, share[r] - 1)) : latest;
        earliest = fmin(earliest, declared_seconds(functions, r, share[r] + 1));
    }
    return latest <= earliest;
}

/* Iterations until all |ti - tj| / ti are within the tolerance, or the shares are stationary and as even as whole
 * items allow; 0: not within `limit`. share: [ranks] last shares. */
static int iterations_until(const eqp_speeds_functions *functions, eqp_speeds_kind kind, int64_t n, double tolerance,
                            int limit, int64_t *share)
{
    const int nranks = eqp_speeds_functions_ranks(functions);
    double seconds[MOST_RANKS], spread = INFINITY;
    int64_t last[MOST_RANKS] = {-1};
    eqp_speeds *speeds = NULL;
    bool settled = false;
    int iteration = 0;

    assert_ok(eqp_speeds_create(kind, nranks, (double)n, &speeds));
    while (!settled && iteration++ < limit) {
        assert_ok(eqp_speeds_share(speeds, share));
        int64_t sum = 0;
        for (int r = 0; r < nranks; r++) {
            assert_true(share[r] >= 0);
            sum += share[r];
            seconds[r] = declared_seconds(functions, r, share[r]);
        }
        assert_int_equal(sum, n);
        assert_ok(eqp_speeds_spread(nranks, seconds, &spread));
        assert_ok(eqp_speeds_record(speeds, share, seconds));
        settled = spread <= tolerance || (memcmp(last, share, (size_t)nranks * sizeof *share) == 0 &&
                                          is_even_but_for_rounding(functions, share));
        memcpy(last, share, (size_t)nranks * sizeof *share);
    }
    eqp_speeds_free(speeds);
    return settled ? iteration : 0;
}

/* Four ranks that share 11,000 rows like cluster 2 of Clarke 2011, table 1: two of little memory, whose speed falls to
 * a thirtieth over a tenth of their memory; equal shares do not fit into it. */
static const char cliff[] = "0 2400 900\n0 2640 30\n"
                            "1 2300 750\n1 2530 25\n"
                            "2 5200 850\n2 5720 28\n"
                            "3 9000 840\n";
enum { ROWS = 11000 };

static int some(int n)
{
    return slow_here() ? n / 10 : n;
}

/* In small samples one or two unlucky cases weigh more. */
static int most_of(int n)
{
    return slow_here() ? n / 10 - n / 100 : n;
}

TEST(the_constant_model_swings_for_ever_at_the_cliff)
{
    FREED(eqp_speeds_functions) *functions = declare(cliff);
    int64_t share[4], first[4], second[4], third[4];

    assert_int_equal(iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER, share), 0);
    /* The model depends on the last shares only: once they repeat, they always do. */
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER - 2, first);
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER - 1, second);
    (void)iterations_until(functions, EQP_SPEEDS_CONSTANT, ROWS, 0.05, FOREVER, third);
    assert_memory_equal(first, third, sizeof first);
    assert_true(second[0] > 4 * first[0] || first[0] > 4 * second[0]);
}

TEST(both_partial_models_settle_at_the_cliff)
{
    FREED(eqp_speeds_functions) *functions = declare(cliff);
    int64_t share[4];

    for (eqp_speeds_kind kind = EQP_SPEEDS_PIECEWISE; kind <= EQP_SPEEDS_AKIMA; kind++) {
        const int iterations = iterations_until(functions, kind, ROWS, 0.05, FOREVER, share);

        print_message("%s: %d iterations\n", eqp_speeds_kind_name(kind), iterations);
        assert_in_range(iterations, 2, 10);
    }
}

TEST(without_the_cliff_all_models_settle_at_once)
{
    FREED(eqp_speeds_functions) *functions = declare(cliff);
    int64_t share[3][4];

    /* 8,000 rows fit into every memory, so the first measurement suffices. */
    for (int kind = 0; kind < 3; kind++) {
        assert_int_equal(iterations_until(functions, (eqp_speeds_kind)kind, 8000, 0.05, FOREVER, share[kind]), 2);
        assert_memory_equal(share[kind], share[0], sizeof share[0]);
    }
}

/* Random flat functions: the three models give the same shares in every iteration. */
TEST(models_agree_where_speed_is_flat)
{
    uint64_t seed = 21;
    int64_t share[3][MOST_RANKS];

    for (int i = 0; i < some(200); i++) {
        const int nranks = 1 + (int)(noise(&seed) * MOST_RANKS);
        const int64_t n = (int64_t)(noise(&seed) * 1e5);
        char text[MOST_RANKS * 40];
        size_t length = 0;

        for (int r = 0; r < nranks; r++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%d 0 %.6g\n", r, exp(4.0 * noise(&seed)));
        }
        FREED(eqp_speeds_functions) *functions = declare(text);
        for (int iterations = 1; iterations <= 4; iterations++) {
            for (int kind = 0; kind < 3; kind++) {
                (void)iterations_until(functions, (eqp_speeds_kind)kind, n, 0.0, iterations, share[kind]);
                for (int r = 0; r < nranks; r++) {
                    /* Two remainders may differ by less than a solver's last digits. */
                    assert_in_range(share[kind][r] - share[0][r] + 1, 0, 2);
                }
            }
        }
    }
}

/* Random cliffs: speed falls to between a fifth and a twentieth over a part of the memory, from `narrow` to
 * narrow + 0.1. */
static eqp_speeds_functions *make_cliff(uint64_t *seed, int nranks, double n, double narrow)
{
    char text[MOST_RANKS * 120];
    size_t length = 0;

    for (int r = 0; r < nranks; r++) {
        const double speed = 100.0 * exp(1.4 * noise(seed)), limit = n / nranks * (0.6 + 0.5 * noise(seed));
        const double width = limit * (narrow + 0.1 * noise(seed)), drop = 5.0 * exp(1.4 * noise(seed));
        const bool small = r == 0 || (r + 1 < nranks && noise(seed) < 0.4);

        if (small) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%d %.9g %.9g\n%d %.9g %.9g\n", r, limit,
                                       speed, r, limit + width, speed / drop);
        } else {
            length += (size_t)snprintf(text + length, sizeof text - length, "%d 0 %.9g\n", r, speed);
        }
    }
    return declare(text);
}

enum { CLIFFS = 300, LIMIT = 50 };

/* By model: the random cliffs at which it settles within ten iterations, and within LIMIT. */
typedef struct tally {
    int within_ten[3], at_all[3];
} tally;

static void add_cliffs(double narrow, uint64_t seed, tally *sum)
{
    int64_t share[MOST_RANKS];

    for (int i = 0; i < some(CLIFFS); i++) {
        const int nranks = 2 + (int)(noise(&seed) * 7.0);
        const int64_t n = nranks * (int64_t)(1000.0 + 9000.0 * noise(&seed));
        FREED(eqp_speeds_functions) *functions = make_cliff(&seed, nranks, (double)n, narrow);
        for (int kind = 0; kind < 3; kind++) {
            const int iterations = iterations_until(functions, (eqp_speeds_kind)kind, n, 0.05, LIMIT, share);
            sum->within_ten[kind] += iterations > 0 && iterations <= 10;
            sum->at_all[kind] += iterations > 0;
        }
    }
    print_message(
        "cliffs that are %g to %g of the memory wide; within ten iterations: %d, %d, %d; within %d: %d, %d, %d\n",
        narrow, narrow + 0.1, sum->within_ten[0], sum->within_ten[1], sum->within_ten[2], LIMIT, sum->at_all[0],
        sum->at_all[1], sum->at_all[2]);
}

TEST(partial_models_settle_at_random_cliffs)
{
    tally sum = {0};

    add_cliffs(0.1, 22, &sum);
    assert_int_equal(sum.at_all[EQP_SPEEDS_PIECEWISE], some(CLIFFS));
    assert_int_equal(sum.at_all[EQP_SPEEDS_AKIMA], some(CLIFFS));
    assert_true(sum.within_ten[EQP_SPEEDS_PIECEWISE] >= most_of(299));
    assert_true(sum.within_ten[EQP_SPEEDS_AKIMA] >= most_of(300));
    assert_true(sum.at_all[EQP_SPEEDS_CONSTANT] < some(CLIFFS) / 2);
}

/* Steeper falls need more iterations, as each one halves the unknown range. Several seeds are used, since a rule may
 * suit one by chance. */
TEST(most_partial_models_settle_at_steep_cliffs)
{
    tally sum = {0};

    add_cliffs(0.01, 22, &sum);
    assert_true(sum.within_ten[EQP_SPEEDS_PIECEWISE] >= most_of(284));
    assert_true(sum.within_ten[EQP_SPEEDS_AKIMA] >= most_of(293));
    add_cliffs(0.01, 23, &sum);
    add_cliffs(0.01, 24, &sum);
    assert_int_equal(sum.at_all[EQP_SPEEDS_PIECEWISE], 3 * some(CLIFFS));
    assert_int_equal(sum.at_all[EQP_SPEEDS_AKIMA], 3 * some(CLIFFS));
    assert_true(sum.within_ten[EQP_SPEEDS_PIECEWISE] >= most_of(860));
    assert_true(sum.within_ten[EQP_SPEEDS_AKIMA] >= most_of(881));
}

/* A fall within one item: no shares take equal times. Both models try the item that does not fit, and then avoid it. */
TEST(an_item_that_does_not_fit_is_left_to_others)
{
    FREED(eqp_speeds_functions) *functions = declare("0 1000 100\n0 1001 5\n1 1 100\n");
    int64_t share[2];

    for (eqp_speeds_kind kind = EQP_SPEEDS_PIECEWISE; kind <= EQP_SPEEDS_AKIMA; kind++) {
        assert_in_range(iterations_until(functions, kind, 3000, 0.05, LIMIT, share), 2, 20);
        assert_true(share[0] == 1000 && share[1] == 2000);
    }
}

/* Another job slows a rank with many points: the model follows at once. */
TEST(a_rank_that_becomes_slow_is_believed)
{
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; kind <= EQP_SPEEDS_AKIMA; kind++) {
        FREED(eqp_speeds) *speeds = NULL;
        double speed;

        assert_ok(eqp_speeds_create(kind, 2, 1000, &speeds));
        for (int i = 1; i <= 9; i++) {
            assert_ok(eqp__speeds_add(speeds, 0, 100 * i, i));
        }
        assert_ok(eqp__speeds_add(speeds, 0, 450, 45));
        assert_ok(eqp__speeds_speed(speeds, 0, 450, &speed));
        assert_near(speed, 10.0, 1e-12);
    }
}
