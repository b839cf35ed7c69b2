/* SPDX-License-Identifier: BSD-3-Clause */
/* Text in both layouts, with comments, blank lines and further columns. */
#include "snapshot_files.h"

enum { TYPES = 6 };

static const double no_mass[TYPES];

static void put_text(bytes *b, const char *text)
{
    put_bytes(b, text, strlen(text));
}

static void put_particle(bytes *b, int64_t i, bool with_id)
{
    char line[512];

    if (with_id) {
        snprintf(line, sizeof line, "%06lld ", (long long)model_id(i, false));
        put_text(b, line);
    }
    for (int c = 0; c < 7; c++) {
        snprintf(line, sizeof line, "%s%.16E", c ? "  " : "", model(c, i));
        put_text(b, line);
    }
}

static bytes file_of(int64_t n, bool with_id)
{
    char head[64];
    bytes b = {0};

    if (with_id) {
        snprintf(head, sizeof head, "0000 \n%06lld \n0.25 \n", (long long)n);
        put_text(&b, head);
    }
    for (int64_t i = 0; i < n; i++) {
        put_particle(&b, i, with_id);
        put_text(&b, " \n");
    }
    return b;
}

TEST(both_layouts_give_the_same_particles)
{
    for (int with_id = 0; with_id < 2; with_id++) {
        const int64_t counts[TYPES] = {0, 12};
        FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, with_id, false);
        bytes file = file_of(12, with_id);

        save(in_folder("a"), &file);
        check_slices(in_folder("a"), &whole);
        FREED(eqp_snapshot) *s = open_good(in_folder("a"));
        assert_int_equal(eqp_snapshot_get_info(s)->has_ids, with_id);
        assert_true(eqp_snapshot_get_info(s)->time == (with_id ? 0.25 : 0));
        assert_string_equal(eqp_snapshot_get_info(s)->format, with_id ? "text with ids" : "text");
        if (with_id) { /* the header counts, so any truncation is found */
            check_format(&whole, 1, false);
        }
        free(file.p);
    }
}

TEST(comments_blanks_and_further_columns_are_passed_over)
{
    static const char *const between[] = {
        "\n", "\n\n  \t\n", "  # comment\n", " 8 nine \"10\"\n#\n", "\r\n", "\n   # 1 2 3 4 5 6 7 8\n", "# 8\n"};
    const int64_t counts[TYPES] = {0, 14};
    FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, 0, false);
    bytes b = {0};

    put_text(&b, "# m x y z vx vy vz, \xc3\xa4\n\n");
    for (int64_t i = 0; i < 14; i++) {
        if (i % 3 == 0) {
            put_text(&b, "\t ");
        }
        put_particle(&b, i, false);
        put_text(&b, between[i % 7]);
    }
    save(in_folder("a"), &b);
    check_slices(in_folder("a"), &whole);
    free(b.p);
}

TEST(numbers_may_have_any_usual_form)
{
    static const double want[] = {1, 0.5, -2500, 0.125, 3, 0, 1e300};
    FREED_BY(particles_free) particles p = particles_new(1);

    save_text(in_folder("a"), "+1 .5 -2.5D+03 1.25d-1 3. -0 1e300");
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    read_good(s, 0, &p);
    for (int c = 0; c < 7; c++) {
        assert_true(p.column[c][0] == want[c]);
    }
}

TEST(slices_of_many_lines_start_where_they_should)
{
    static const int64_t cut[] = {0, 1, 1023, 1024, 1025, 2048, 3000, 4100, 5000};
    const int64_t counts[TYPES] = {0, 5000};
    FREED_BY(particles_free) particles whole = model_particles(1, TYPES, counts, no_mass, 1, false);
    bytes file = file_of(5000, true);

    save(in_folder("a"), &file);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    for (int k = 7; k >= 0; k--) {
        check_slice(s, cut[k], cut[k + 1] - cut[k], &whole);
    }
    free(file.p);
}

/* Without a count, truncation is detected within a line only, and not within its last number. */
TEST(truncation_within_a_line_is_refused)
{
    bytes file = {0};
    int refused = 0;

    put_text(&file, "1 2 3 4 5 6 77\n1 2 3 4 5 6 77\n");
    for (size_t n = 0; n < file.n; n++) {
        eqp_message message = {""};
        bool whole_lines = n == 14 || n == 15 || n == 29, last_number = n == 13 || n == 28;

        save_part(in_folder("a"), file.p, n);
        int rc = open_and_read(in_folder("a"), &message);
        if (rc != (whole_lines || last_number ? EQP_OK : EQP_ERR_FORMAT)) {
            fail_msg("%d bytes: %d '%s'", (int)n, rc, message.text);
        }
        refused += rc != EQP_OK;
    }
    assert_int_equal(refused, (int)file.n - 5);
    free(file.p);
}

TEST(what_is_wrong_is_named_with_its_line)
{
    static const struct {
        const char *text, *what;
        int code;
    } bad[] = {
        {"# only\n\n# comments\n", "no particles", EQP_ERR_FORMAT},
        {"\n", "no particles", EQP_ERR_FORMAT},
        {"Lorem ipsum dolor sit amet\n", "line 1", EQP_ERR_FORMAT},
        {"1 2 3 4 5 6\n", "line 1", EQP_ERR_FORMAT},
        {"1 2 3 4 5 6 7\n# c\n1 2 3 4 x 6 7\n", "line 3: column 5 is not a number", EQP_ERR_FORMAT},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 6\n1 2 3 4 5 6 7\n", "line 2: column 7 is not a number", EQP_ERR_FORMAT},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 6 7x\n", "line 2: column 7 is not a number", EQP_ERR_FORMAT},
        {"1 2 3 4 5 6 7\n1 2 3,4 5 6 7 8\n", "line 2: column 3 is not a number", EQP_ERR_FORMAT},
        {"1 2 3 4 5 6 7\n1 2 3 nan 5 6 7\n", "particle 1: z is not a number", EQP_ERR_DATA},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 -inf 7\n", "particle 1: vy is infinite", EQP_ERR_DATA},
        {"1 2 3 4 5 6 7\n1 2 3 4 5 6 1e999\n", "particle 1: vz is infinite", EQP_ERR_DATA},
        {"1 2 3 4 5 6 7\n-1 2 3 4 5 6 7\n", "particle 1: mass is negative", EQP_ERR_DATA},
        {"0\n", "truncated", EQP_ERR_FORMAT},
        {"0\n1\n", "truncated", EQP_ERR_FORMAT},
        {"0\n1\n0.0\n", "no particles", EQP_ERR_FORMAT},
        {"0\n1\nzero\n", "line 3", EQP_ERR_FORMAT},
        {"zero\n1\n0\n0 1 2 3 4 5 6 7\n", "line 1", EQP_ERR_FORMAT},
        {"0\n0\n0\n0 1 2 3 4 5 6 7\n", "no particles", EQP_ERR_FORMAT},
        {"0\n-1\n0\n0 1 2 3 4 5 6 7\n", "no particles", EQP_ERR_FORMAT},
        {"0\n2\n0\n0 1 2 3 4 5 6 7\n", "2 particles", EQP_ERR_FORMAT},
        {"0\n1\n0\n0 1 2 3 4 5 6 7\n1 1 2 3 4 5 6 7\n", "1 particles", EQP_ERR_FORMAT},
        {"0\n9223372036854775807\n0\n0 1 2 3 4 5 6 7\n", "9223372036854775807 particles", EQP_ERR_FORMAT},
        {"0\n9999999999999999999\n0\n0 1 2 3 4 5 6 7\n", "line 2", EQP_ERR_FORMAT},
        {"0\n1\nnan\n0 1 2 3 4 5 6 7\n", "time is not finite", EQP_ERR_FORMAT},
        {"0\n1\n0\n0.5 1 2 3 4 5 6 7\n", "line 4", EQP_ERR_FORMAT},
        {"x;y;z\n1,5;2,5;3,5\n", "line 2: column 1 is not a number: write a decimal point", EQP_ERR_FORMAT},
        {"x,y,z,x\n1,2,3,4\n", "line 1: column 4 has the name of an earlier column", EQP_ERR_FORMAT},
        {"1 2 3\r4 5 6\r", "line 1: ends with CR alone", EQP_ERR_FORMAT},
        {"0\n2\n0\n0 1 2 3 4 5 6 7\n0.5 1 2 3 4 5 6 7\n", "line 5: column 1 is not an integer", EQP_ERR_FORMAT},
    };

    for (int k = 0; k < COUNT_OF(bad); k++) {
        save_text(in_folder("a"), bad[k].text);
        refuse_read(in_folder("a"), bad[k].code, bad[k].what);
    }
}

static void put_long_line(bytes *b, int columns, const char *end)
{
    for (int i = 0; i < columns; i++) {
        put_text(b, "1 ");
    }
    put_text(b, end);
}

TEST(lines_without_end_are_refused)
{
    bytes b = {0};

    put_long_line(&b, 100000, "");
    save(in_folder("a"), &b);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "longer than");
    /* Longest lines that fit, across the borders of buffers. */
    b.n = 0;
    for (int i = 0; i < 11; i++) {
        put_long_line(&b, 32500, "\n");
    }
    save(in_folder("a"), &b);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    assert_int_equal(eqp_snapshot_get_info(s)->n, 11);
    free(b.p);
}

TEST(a_zero_byte_behind_the_start_is_refused)
{
    bytes file = file_of(200, false);

    assert_true(file.n > 5000);
    file.p[5000] = '\0';
    save(in_folder("a"), &file);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "zero byte");
    free(file.p);
}

TEST(a_file_that_shrinks_after_opening_is_an_error)
{
    bytes file = file_of(2000, false);
    eqp_snapshot_arrays none = {0};

    save(in_folder("a"), &file);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    save_part(in_folder("a"), file.p, file.n / 2);
    assert_int_equal(eqp_snapshot_read(s, 0, 2000, &none, NULL), EQP_ERR_FORMAT);
    assert_true(eqp_snapshot_read(s, 1999, 1, &none, NULL) < 0);
    unlink(in_folder("a"));
    assert_int_equal(eqp_snapshot_read(s, 0, 1, &none, NULL), EQP_ERR_IO);
    free(file.p);
}
