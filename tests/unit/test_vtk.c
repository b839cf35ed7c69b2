/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for ParaView: a reader written from the format's description finds every number. */
#include "paradis_files.h"

#include <equipoise/more/io.h>

static const double x[4][3] = {{0, 1, 2}, {0.1, -3, 1e-30}, {5, 6, 7}, {1.0 / 3, 8, 9}};
static const double v[4][3] = {{1, 2, 3}, {4, 5, 6}, {-7, 8, 9}, {0, 0, 1e300}};
static const int64_t end[3][2] = {{0, 1}, {3, 1}, {2, 0}};
static const double burgers[3][3] = {{3, 0, 4}, {-0.5, 0.5, 0}, {0, 0, 1}};
static const int rank[3] = {0, 7, 4095}, type[3] = {-1, 2, 3};

/* Decodes base64 up to the next tag. */
static size_t decode(const char *at, unsigned char *to, size_t most)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    int nbits = 0;
    size_t n = 0;

    for (; *at != '<' && *at != '='; at++) {
        const char *d = strchr(digit, *at);

        assert_non_null(*at ? at : NULL);
        if (d) {
            bits = bits << 6 | (uint32_t)(d - digit);
            nbits += 6;
        }
        if (nbits >= 8) {
            assert_true(n < most);
            nbits -= 8;
            to[n++] = (unsigned char)(bits >> nbits);
        }
    }
    return n;
}

/* Finds the array of this name behind `at` and checks its type, width and bytes. */
static void check_array(const char *at, const char *name, const char *kind, int width, const void *want, size_t n)
{
    unsigned char found[4096];
    uint64_t length;
    char tag[256];

    snprintf(tag, sizeof tag, "<DataArray type=\"%s\" Name=\"%s\"", kind, name);
    if (width > 1) {
        snprintf(tag + strlen(tag), sizeof tag - strlen(tag), " NumberOfComponents=\"%d\"", width);
    }
    strcat(tag, " format=\"binary\">\n");
    at = strstr(at, tag);
    if (!at) {
        fail_msg("there is no %s", tag);
        return;
    }
    assert_int_equal(decode(at + strlen(tag), found, sizeof found), n + sizeof length);
    memcpy(&length, found, sizeof length);
    assert_int_equal(length, n);
    assert_memory_equal(found + sizeof length, want, n);
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)); text++) {
        n++;
    }
    return n;
}

TEST(every_number_is_found_again)
{
    static const int64_t offsets[3] = {2, 4, 6};
    const double magnitude[3] = {5, sqrt(0.5), 1};
    const eqp_vtk_piece piece = {
        .npoints = 4, .x = x, .v = v, .nlines = 3, .end = end, .burgers = burgers, .rank = rank, .type = type};
    const eqp_vtk_piece small = {
        .npoints = 2, .x = x, .v = v, .nlines = 1, .end = end, .burgers = burgers, .rank = rank, .type = type};
    const char *path = in_folder("net.vtp"), *second;
    eqp_vtk_writer *writer;

    assert_ok(eqp_vtk_begin(path, 0.25, &writer, NULL));
    assert_ok(eqp_vtk_add(writer, &(eqp_vtk_piece){0}, NULL));
    assert_ok(eqp_vtk_add(writer, &piece, NULL));
    assert_ok(eqp_vtk_add(writer, &small, NULL));
    assert_ok(eqp_vtk_finish(writer, NULL));
    HEAP char *text = contents_of(path, NULL);
    assert_int_equal(count(text, "<Piece "), 2);
    assert_int_equal(count(text, "</Piece>"), 2);
    assert_non_null(strstr(text, "NumberOfPoints=\"4\" NumberOfVerts=\"0\" NumberOfLines=\"3\""));
    assert_non_null(strstr(text, "<VTKFile type=\"PolyData\" version=\"1.0\" byte_order="));
    check_array(text, "position", "Float64", 3, x, sizeof x);
    check_array(text, "velocity", "Float64", 3, v, sizeof v);
    check_array(text, "connectivity", "Int64", 1, end, sizeof end);
    check_array(text, "offsets", "Int64", 1, offsets, sizeof offsets);
    check_array(text, "Burgers vector", "Float64", 3, burgers, sizeof burgers);
    check_array(text, "Burgers magnitude", "Float64", 1, magnitude, sizeof magnitude);
    check_array(text, "rank", "Int32", 1, rank, sizeof rank);
    check_array(text, "type", "Int32", 1, type, sizeof type);
    second = strstr(strstr(text, "<Piece ") + 1, "<Piece ");
    check_array(second, "position", "Float64", 3, x, 2 * sizeof x[0]);
    check_array(second, "connectivity", "Int64", 1, end, sizeof end[0]);
}

TEST(nothing_is_a_file_too)
{
    eqp_vtk_writer *writer;

    assert_ok(eqp_vtk_begin(in_folder("net.vtp"), 0, &writer, NULL));
    assert_ok(eqp_vtk_finish(writer, NULL));
    HEAP char *text = contents_of(in_folder("net.vtp"), NULL);
    assert_int_equal(count(text, "<Piece NumberOfPoints=\"0\""), 1);
    check_array(text, "position", "Float64", 3, "", 0);
    assert_null(strstr(text, "rank"));
}

TEST(pieces_that_do_not_fit_are_refused)
{
    static const int64_t outside[1][2] = {{0, 4}}, below[1][2] = {{-1, 0}};
    eqp_vtk_piece piece = {.npoints = 4, .x = x, .nlines = 3, .end = end, .burgers = burgers};
    eqp_vtk_writer *writer;
    eqp_message message;

    assert_refused(eqp_vtk_begin(in_folder("a"), NAN, &writer, &message));
    assert_ok(eqp_vtk_begin(in_folder("a"), 0, &writer, &message));
    assert_ok(eqp_vtk_add(writer, &piece, NULL));
    piece.rank = rank;
    assert_refused(eqp_vtk_add(writer, &piece, &message));
    assert_non_null(strstr(message.text, "other arrays"));
    piece.rank = NULL;
    piece.nlines = 1;
    piece.end = outside;
    assert_refused(eqp_vtk_add(writer, &piece, &message));
    assert_non_null(strstr(message.text, "line 0 ends at point 4 of 4"));
    piece.end = below;
    assert_refused(eqp_vtk_add(writer, &piece, &message));
    eqp_vtk_discard(writer);
    assert_int_equal(files_in_folder(false), 0);
}

TEST(a_series_names_files_and_times)
{
    eqp_vtk_frame frame[2] = {{in_folder("a&\"b.vtp"), 1.0 / 3}, {in_folder("c.vtp"), 1e-9}};
    const char *path = in_folder("run.pvd");
    eqp_message message;

    assert_ok(eqp_vtk_write_series(path, 2, frame, NULL));
    char *text = contents_of(path, NULL);
    assert_non_null(strstr(text, "<DataSet timestep=\"0.33333333333333331\" part=\"0\" file=\"a&amp;&quot;b.vtp\"/>"));
    assert_non_null(strstr(text, "<DataSet timestep=\"1.0000000000000001e-09\" part=\"0\" file=\"c.vtp\"/>"));
    free(text);
    frame[1].path = "elsewhere/c.vtp";
    assert_refused(eqp_vtk_write_series(path, 2, frame, &message));
    assert_non_null(strstr(message.text, "file 1"));
}
