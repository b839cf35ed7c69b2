/* SPDX-License-Identifier: BSD-3-Clause */
#include "output/report.h"
#include "unit.h"

#include "failing_malloc.h"

TEST(a_table_is_aligned)
{
    static const char *const header[] = {"method", "\xce\xbb %", "ghosts", "mixed"};
    eqp_table *table = NULL;
    HEAP char *text = NULL;

    assert_ok(eqp_table_create(4, header, &table));
    assert_ok(eqp_table_add(table, "%s\t%.1f%%\t%d\t1", "count", 123.4, 7));
    assert_ok(eqp_table_add(table, "interaction\t-\t-1000000\ta b"));
    assert_ok(eqp_table_add(table, "%s", "\xc3\xa9"));
    assert_ok(eqp_table_text(table, &text));
    assert_string_equal(text, "method          \xce\xbb %    ghosts  mixed\n"
                              "-----------  ------  --------  -----\n"
                              "count        123.4%         7  1\n"
                              "interaction       -  -1000000  a b\n"
                              "\xc3\xa9\n");
    eqp_table_free(table);
    eqp_table_free(NULL);
    free(text);
    assert_ok(eqp_table_create(2, (const char *const[]){"a", "bcd"}, &table));
    assert_ok(eqp_table_text(table, &text));
    assert_string_equal(text, "a  bcd\n-  ---\n");
    eqp_table_free(table);
}

TEST(a_table_can_be_taken_row_by_row)
{
    static const char *const header[] = {"  n", "what", "empty"};
    static const char *const lines[] = {"  n  what  empty\n---  ----  -----\n  1  a         -\n", "200  b       1.5\n",
                                        "3000  longer     -2\n   4  c\n", ""};
    eqp_table *table = NULL;
    char *text = NULL;

    assert_ok(eqp_table_create(3, header, &table));
    static const char *const cells[] = {"1\ta\t-", "200\tb\t1.5", "3000\tlonger\t-2\t4\tc"};
    for (int i = 0; i < 4; i++) {
        assert_ok(i < 3 ? eqp_table_add(table, "%s", cells[i]) : EQP_OK);
        assert_ok(eqp_table_take(table, &text));
        assert_string_equal(text, lines[i]);
        free(text);
    }
    eqp_table_free(table);
}

TEST(progress_shows_share_and_time)
{
    eqp_progress p = {12, 40, 30.0, 10, "step", "imbalance 2 %"};
    char text[200];

    eqp_progress_format(&p, sizeof text, text);
    assert_string_equal(text, "[###.......] 12/40 step, 0:30 elapsed, 1:10 left, imbalance 2 %");
    p.done = 0;
    p.note = NULL;
    eqp_progress_format(&p, sizeof text, text);
    assert_string_equal(text, "[..........] 0/40 step, 0:30 elapsed");
    p.done = 40;
    p.elapsed_seconds = 3725.0;
    eqp_progress_format(&p, sizeof text, text);
    assert_string_equal(text, "[##########] 40/40 step, 1:02:05 elapsed");
    p.done = 39;
    p.elapsed_seconds = 1e300;
    eqp_progress_format(&p, sizeof text, text);
    assert_true(strncmp(text, "[#########.] 39/40", 18) == 0);
    p.done = p.total = 0;
    p.elapsed_seconds = 0.0;
    eqp_progress_format(&p, sizeof text, text);
    assert_string_equal(text, "[##########] 0/0 step, 0:00 elapsed");
    eqp_progress_format(&p, 5, text);
    assert_string_equal(text, "[###");
}

static int whole_table(void *unused)
{
    static const char *const header[] = {"a", "b"};
    eqp_table *table = NULL;
    HEAP char *text = NULL;
    int code = eqp_table_create(2, header, &table);

    (void)unused;
    for (int i = 0; i < 40 && !code; i++) {
        code = eqp_table_add(table, "%d", i);
    }
    code = code ? code : eqp_table_text(table, &text);
    free(code ? NULL : text);
    text = NULL;
    code = code ? code : eqp_table_take(table, &text);
    if ((text != NULL) != (code == EQP_OK)) {
        code = EQP_ERR_INTERNAL;
    }
    eqp_table_free(table);
    return code;
}

TEST(a_table_needs_its_memory)
{
    assert_true(failing_malloc_sweep(whole_table, NULL, EQP_ERR_MEMORY) > 3);
}
