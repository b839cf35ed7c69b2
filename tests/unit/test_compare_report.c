/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables and verdicts of comparisons from fixed rows. tests/app/compare.sh and referee.sh test the reports. */
#include "compare.h"
#include "failing_malloc.h"
#include "unit.h"

/* A step of the given milliseconds; work: the ideal. */
static eqp_compared row_of(const char *method, int parts, double step, double work, double imbalance, int64_t ghosts)
{
    eqp_compared row = {.method = method,
                        .parts = parts,
                        .units = 100,
                        .split_owners = 3,
                        .sample_rate = 0.25,
                        .balance_seconds = 0.125,
                        .imbalance_next = 2 * imbalance,
                        .step_next = 2e-3 * step,
                        .evaluated = {.load_max = 1e-3 * work * (1 + imbalance),
                                      .load_mean = 1e-3 * work,
                                      .imbalance = imbalance,
                                      .ghosts_total = ghosts,
                                      .ghosts_max = ghosts / parts,
                                      .neighbours_max = 5,
                                      .messages_max = 6,
                                      .bytes_total = 100 * ghosts,
                                      .bytes_max = 7,
                                      .step_seconds = 1e-3 * step,
                                      .step_seconds_ideal = 1e-3 * work,
                                      .exchange_seconds = 1e-3 * (step - work),
                                      .hidden_seconds = 0.25,
                                      .overhead_seconds = 0.5,
                                      .memory_max = 3e6,
                                      .memory_use = 0.75,
                                      .plan = {EQP_STAGES_TWO, 16, 1}}};

    return row;
}

static char *table_of(int n, const eqp_compared *rows)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    assert_ok(app_compare_table(stream, n, rows, NULL));
    fclose(stream);
    return text;
}

static char *verdict_of(int n, const eqp_compared *rows)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);

    app_compare_verdict(stream, n, rows, NULL);
    fclose(stream);
    assert_ptr_equal(strchr(text, '\n'), text + size - 1);
    text[size - 1] = '\0';
    return text;
}

TEST(winners_are_marked_and_gains_are_told)
{
    const eqp_compared rows[] = {
        row_of("count", 8, 20, 8, 0.5, 100), row_of("sfc", 8, 10, 8, 0.01, 100),  row_of("rcb", 8, 12, 8, 0.02, 90),
        row_of("rcb", 64, 4, 1, 0.5, 300),   row_of("tiles", 64, 2, 1, 0.5, 400),
    };
    HEAP char *text = table_of(5, rows), *none = table_of(0, NULL);
    char *line[12];
    int n = 0;

    for (char *at = text; at != NULL && *at && n < 12; n++) {
        line[n] = at;
        at = strchr(at, '\n');
        *at++ = '\0';
    }
    assert_int_equal(n, 2 + 3 + 1 + 2 + 3); /* header, rule, a group, a blank line, a group, the legend */
    assert_string_equal(line[5], "");
    assert_true(strstr(line[2], "50.00%*") == NULL && strchr(line[2], '*') == NULL);
    assert_non_null(strstr(line[3], "1.00%*"));
    assert_non_null(strstr(line[3], " 10*"));
    assert_non_null(strstr(line[3], "80.0%"));
    assert_non_null(strstr(line[3], "+50.0%"));
    assert_non_null(strstr(line[4], "90*"));
    assert_non_null(strstr(line[4], "+40.0%"));
    assert_non_null(strstr(line[4], "-20.0%"));
    /* count and sfc were not compared at 64 parts; both of two equal ones win. */
    assert_null(strstr(line[6], " +"));
    assert_null(strstr(line[7], " +"));
    assert_non_null(strstr(line[6], "50.00%*"));
    assert_non_null(strstr(line[7], "50.00%*"));
    assert_non_null(strstr(line[7], " 2*"));
    assert_non_null(strstr(line[0], "memory"));
    assert_non_null(strstr(line[3], "3 MB "));
    assert_non_null(strstr(none, "vs sfc"));
}

TEST(a_cycle_has_an_efficiency)
{
    eqp_compared rows[] = {row_of("sfc", 8, 20, 8, 0.5, 100), row_of("levelled", 8, 10, 8, 0.25, 100)};

    rows[1].phases = (eqp_cycle_turns){2, {1, 4}};
    rows[1].cycle = (eqp_cycle){0.75, 0.5, 1, {0.25, 0.5}};
    HEAP char *without = table_of(1, rows), *with = table_of(2, rows);
    assert_null(strstr(without, "cycle eff."));
    assert_non_null(strstr(with, "imbalance  cycle eff.     next"));
    assert_non_null(strstr(with, "25.00%*       75.0%   50.00%"));
}

/* How far a problem scales, with which method, and if a new map pays. */
TEST(verdicts)
{
    static const struct {
        struct {
            const char *method;
            int parts;
            double step, work;
        } row[9];
        const char *chosen[9]; /* methods that `auto` rows chose */
        const char *verdict;   /* end of the verdict, if it begins with ... */
    } cases[] = {
        {.row = {{"count", 8, 20, 8},
                 {"sfc", 8, 8.4, 8},
                 {"tiles", 8, 9, 8},
                 {"count", 64, 2, 1},
                 {"sfc", 64, 1.75, 1},
                 {"tiles", 64, 1.5, 1},
                 {"count", 512, 2, 0.1},
                 {"sfc", 512, 1.2, 0.1},
                 {"tiles", 512, 0.9, 0.1}},
         .verdict = "This problem scales to 64 parts: 67% of a step is work there, 11% at 512 parts. Use tiles there, "
                    "14.3% less "
                    "time than with sfc, 25.0% less time than with count. The shortest step, 0.9 ms, is at 512 parts "
                    "with tiles; "
                    "only 11% of it is work."},
        {.row = {{"count", 8, 20, 8},
                 {"sfc", 8, 9, 8},
                 {"tiles", 8, 8.95, 8},
                 {"count", 64, 2, 1},
                 {"sfc", 64, 1.5, 1},
                 {"tiles", 64, 1.7, 1}},
         .verdict = "This problem scales to 64 parts, the most that were compared, if not to more: 67% of a step is "
                    "work there. "
                    "Use sfc there, 25.0% less time than with count; nothing that was compared is more than 1% faster. "
                    "No step is "
                    "shorter: 1.5 ms."},
        {.row = {{"rcb", 8, 20, 8}, {"auto", 8, 20, 8}, {"rcb", 16, 30, 4}, {"auto", 16, 25, 4}},
         .chosen = {[1] = "rcb", [3] = "tiles"},
         .verdict = "This problem scales to fewer than 8 parts, the fewest that were compared: only 40% of a step is "
                    "work there "
                    "with rcb. The shortest step, 20 ms, is at 8 parts with rcb; only 40% of it is work."},
        {.row = {{"rcb", 16, 30, 4}, {"auto", 16, 25, 4}},
         .chosen = {[1] = "tiles"},
         .verdict = "...is work there with auto (tiles)."},
        {.row = {{"sfc", 1, 4, 4}}, .verdict = "Nothing to balance: there is one part."},
        {.row = {{"sfc", 4, 0, 0}}, .verdict = "Nothing to balance: nothing has a load."},
    };

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        eqp_compared rows[9];
        const char *want = cases[c].verdict;
        int n = 0;

        for (; n < 9 && cases[c].row[n].method != NULL; n++) {
            rows[n] = row_of(cases[c].row[n].method, cases[c].row[n].parts, cases[c].row[n].step, cases[c].row[n].work,
                             0.5, 100);
            strcpy(rows[n].chosen, cases[c].chosen[n] != NULL ? cases[c].chosen[n] : "");
        }
        HEAP char *text = verdict_of(n, rows);
        if (want[0] == '.') {
            assert_non_null(strstr(text, want + 3));
        } else {
            assert_string_equal(text, want);
        }
    }
}

TEST(the_map_of_a_run_is_a_row_of_its_own)
{
    eqp_compared rows[] = {row_of("count", 4, 9, 4, 0.5, 30), row_of("rcb", 4, 6, 4, 0.2, 20),
                           row_of(APP_COMPARE_AS_RUN, 8, 4, 2, 1.0, 50), row_of("count", 8, 5, 2, 0.9, 60),
                           row_of("rcb", 8, 3, 2, 0.3, 40)};
    HEAP char *pays = verdict_of(5, rows);

    assert_non_null(strstr(pays, "Use rcb there, 40.0% less time than with count, 25.0% less time than as-run."));
    assert_ptr_equal(app_compare_winner(5, rows, NULL), &rows[1]); /* of 4 parts */
    assert_ptr_equal(app_compare_winner(3, rows + 2, NULL), &rows[4]);
    assert_ptr_equal(app_compare_winner(2, rows + 2, NULL), &rows[2]); /* the run was better than count */
    rows[4].evaluated = rows[2].evaluated; /* and no worse than rcb: there is nothing to gain */
    HEAP char *keeps = verdict_of(3, rows + 2);
    assert_non_null(
        strstr(keeps, ". Keep the map of the run, 20.0% less time than with count; nothing that was compared is"));
    rows[4].evaluated.memory_use = 1.25; /* the fastest does not fit */
    assert_ptr_equal(app_compare_winner(3, rows + 2, NULL), &rows[2]);
    assert_null(app_compare_winner(0, rows, NULL));
    const eqp_compared close[] = {row_of("sfc", 4, 4020, 4000, 0.005, 30), row_of("rcb", 4, 4000, 4000, 0.0, 20)};
    assert_ptr_equal(app_compare_winner(2, close, NULL), &close[0]); /* within the margin; traces have none */
    assert_ptr_equal(app_compare_winner(2, close, &(app_compare_look){.exact = true}), &close[1]);
}

static int print(void *stream)
{
    const eqp_compared rows[] = {row_of("sfc", 8, 9, 8, 0.01, 100), row_of("sfc", 16, 9, 8, 0.01, 100)};

    return app_compare_table(stream, 2, rows, NULL);
}

TEST(too_little_memory_is_told)
{
    FILE *stream = fopen("/dev/null", "w");

    setvbuf(stream, NULL, _IONBF, 0); /* its own buffer may not fail */
    assert_true(failing_malloc_sweep(print, stream, EQP_ERR_MEMORY) > 0);
    fclose(stream);
}
