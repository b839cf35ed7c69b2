/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks of dislocations are read exactly, in blocks of any size, from one or several files, compressed or not;
 * written ones are read back bit for bit. */
#include "paradis_files.h"

#include <locale.h>

static void check_line(const network *w, int version)
{
    static const double burgers[3] = {0.6, 0, -0.5};

    assert_int_equal(w->header.version, version);
    assert_near(w->header.min[2], -10, 0);
    assert_near(w->header.max[1], 20, 0);
    assert_int_equal(w->n, 3);
    assert_int_equal(w->narms, 4);
    assert_true(w->node[0].tag == 5 && w->node[1].tag == 1 && w->node[2].tag == EQP_PARADIS_TAG(3, 2));
    assert_near(w->node[0].x[0], -4.5, 0);
    assert_near(w->node[0].x[1], 0.5, 0);
    assert_near(w->node[1].x[0], 17, 0);
    assert_int_equal(w->node[0].constraint, EQP_PARADIS_PINNED);
    assert_int_equal(w->node[1].constraint, EQP_PARADIS_FREE);
    assert_int_equal(w->node[1].narms, 2);
    assert_int_equal(w->node[1].first_arm, 1);
    assert_true(w->arm[0].tag == 1 && w->arm[1].tag == 5 && w->arm[2].tag == w->node[2].tag && w->arm[3].tag == 1);
    assert_memory_equal(w->arm[0].burgers, burgers, sizeof burgers);
    /* Normals have unit length, or none. */
    assert_near(w->arm[0].normal[1], 0.6, 1e-16);
    assert_near(w->arm[0].normal[2], 0.8, 1e-16);
    for (int d = 0; d < 3; d++) {
        assert_true(w->arm[2].normal[d] == 0 && !signbit(w->arm[2].normal[d]));
    }
}

TEST(blocks_of_any_size_give_the_same)
{
    const char *path = in_folder("net.data");

    save_text(path, LINE_TEXT);
    for (int64_t most = 1; most < 5; most++) {
        FREED_BY(network_free) network w = network_good(path, most);

        check_line(&w, 5);
        assert_int_equal(w.header.nfiles, 1);
        assert_int_equal(w.header.decomposition, 2);
        assert_int_equal(w.header.geometry[0], 1);
    }
}

TEST(lists_comments_and_semicolons_are_read)
{
    static const char text[] =
        "# first\n\nNODECOUNT=3; # three\ndataFileVersion = 5 ;\nminCoordinates=[-10,-10 -10]\nunknown = \"a # b\"\n"
        "maxCoordinates = [ 10 20\n # between\n 30 ] ;\nnodalData =\n" FIRST_TEXT "# between\n\n" SECOND_TEXT
        " 3,2 4 0.5 6 1 7 # last\n   0, 1 -0.6 0 .5 ;\r\n       0 0 0\n# end\n";

    save_text(in_folder("net"), text);
    FREED_BY(network_free) network w = network_good(in_folder("net"), 10);
    check_line(&w, 5);
    assert_int_equal(w.header.decomposition, 0);
}

TEST(domains_of_both_types_are_passed_over)
{
    static const char slabs[] = "dataDecompType = 1\ndataDecompGeometry = [ 2 1 2 ]\ndomainDecomposition =\n"
                                "-10\n  -10\n   -10\n   0\n   30\n  20\n0\n  -10\n   -10 1 30\n  20\n10\nnodalData =\n";
    static const char boxes[] = "dataDecompType = 2\ndataDecompGeometry = [ 1 1 2 ]\ndomainDecomposition =\n"
                                "0 -10 -10 -10 10 20 0 # a\n1 -10 -10 0 10 20 30\nnodalData =\n";
    const char *start = strstr(HEADER_TEXT, "dataDecompType");
    char text[4096];

    for (int k = 0; k < 2; k++) {
        snprintf(text, sizeof text, "%.*s%s%s", (int)(start - HEADER_TEXT), HEADER_TEXT, k ? slabs : boxes,
                 FIRST_TEXT SECOND_TEXT THIRD_TEXT);
        save_text(in_folder("net"), text);
        FREED_BY(network_free) network w = network_good(in_folder("net"), 10);
        check_line(&w, 5);
        assert_int_equal(w.header.decomposition, k ? 1 : 2);
    }
}

TEST(a_surface_of_version_4_is_one)
{
    save_text(in_folder("net"), replaced(replaced(LINE_TEXT, "=   5", "= 4"), "6 1 7", "6 1 1"));
    FREED_BY(network_free) network w = network_good(in_folder("net"), 10);
    assert_int_equal(w.node[0].constraint, EQP_PARADIS_SURFACE);
    assert_int_equal(w.node[2].constraint, EQP_PARADIS_PINNED);
}

TEST(packed_files_are_known_by_their_content)
{
    save_packed_text(in_folder("packed.data"), LINE_TEXT);
    network w = network_good(in_folder("packed.data"), 2);
    check_line(&w, 5);
    network_free(&w);
    save_text(in_folder("plain.data.gz"), LINE_TEXT);
    w = network_good(in_folder("plain.data"), 2);
    check_line(&w, 5);
    network_free(&w);
}

TEST(several_files_are_one_network)
{
    static const char *const name[] = {"net.data", "net.data.0"};

    save_text(in_folder("net.data.0"), replaced(HEADER_TEXT FIRST_TEXT, "Segments =   1", "Segments = 4"));
    save_packed_text(in_folder("net.data.1.gz"), "nodalData =\n# the second\n" SECOND_TEXT);
    save_text(in_folder("net.data.2"), "# nothing here\n");
    save_packed_text(in_folder("net.data.3"), THIRD_TEXT);
    for (int i = 0; i < 2; i++) {
        for (int64_t most = 1; most < 4; most++) {
            FREED_BY(network_free) network w = network_good(in_folder(name[i]), most);

            check_line(&w, 5);
            assert_int_equal(w.header.nfiles, 4);
        }
    }
}

TEST(what_is_written_comes_back_to_the_last_bit)
{
    static const double domain[6][6] = {{-1, -2, -3, 4, 5, 1.0 / 3}};
    network w = network_loop(60), back;
    eqp_paradis_writer *writer;
    const char *path = in_folder("net.data");

    assert_ok(network_write(path, &w, NULL, NULL, NULL));
    back = network_good(path, 7);
    assert_true(network_same(&w, &back));
    assert_int_equal(back.header.version, 5);
    assert_int_equal(back.header.nfiles, 1);
    network_free(&back);
    /* Overwrites the old file, with several domains. */
    w.header.geometry[0] = w.header.geometry[2] = 1;
    w.header.geometry[1] = 6;
    assert_ok(eqp_paradis_write_begin(path, &w.header, 6, domain, &writer, NULL));
    assert_ok(eqp_paradis_write_nodes(writer, w.n, w.node, w.arm, NULL));
    assert_ok(eqp_paradis_write_finish(writer, NULL));
    back = network_good(path, 1000);
    assert_true(network_same(&w, &back));
    assert_int_equal(back.header.geometry[1], 6);
    assert_int_equal(files_in_folder(false), 1);
    network_free(&back);
    network_free(&w);
}

/* The format, byte for byte: other codes have to read it. */
TEST(a_written_file_has_the_format)
{
    static const char want[] =
        "dataFileVersion = 5\nnumFileSegments = 1\nminCoordinates = [\n  -10\n  -10\n  -10\n  ]\nmaxCoordinates = [\n"
        "  10\n  20\n  30\n  ]\nnodeCount = 3\ndataDecompType = 2\ndataDecompGeometry = [\n  1\n  1\n  1\n  ]\n\n"
        "domainDecomposition =\n#  domain, lower corner, upper corner\n  0  -10 -10 -10  10 20 30\nnodalData =\n"
        "#  node: tag, x, y, z, arms, constraint\n#  arm: tag, Burgers vector; normal of the glide plane\n"
        " 0,5 -4.5 0.5 6 1 7\n   0,1 0.5 0 -0.5\n       0 0 1\n"
        " 0,1 17 0.5 6 2 0\n   0,5 -0.5 0 0.5\n       0 0 1\n   3,2 0.5 0 -0.5\n       0 0 0\n"
        " 3,2 4 0.5 6 1 7\n   0,1 -0.5 0 0.5\n       0 0 0\n";

    save_text(in_folder("net"), LINE_TEXT);
    FREED_BY(network_free) network w = network_good(in_folder("net"), 10);
    for (int i = 0; i < 4; i++) {
        w.arm[i].burgers[0] = i % 2 ? -0.5 : 0.5;
        w.arm[i].normal[1] = 0;
        w.arm[i].normal[2] = i < 2 ? 1 : 0;
    }
    assert_ok(network_write(in_folder("copy"), &w, NULL, NULL, NULL));
    check_text(in_folder("copy"), want);
}

TEST(numbers_have_a_point_in_every_locale)
{
    static const char *const name[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "fr_FR"};
    network w = network_loop(5), back;
    bool found = false;

    for (int i = 0; i < 4 && !found; i++) {
        found = setlocale(LC_NUMERIC, name[i]) != NULL;
    }
    assert_ok(network_write(in_folder("net"), &w, NULL, NULL, NULL));
    back = network_good(in_folder("net"), 3);
    setlocale(LC_NUMERIC, "C");
    assert_true(network_same(&w, &back));
    network_free(&back);
    back = network_good(in_folder("net"), 3);
    assert_true(network_same(&w, &back));
    network_free(&back);
    network_free(&w);
}

TEST(what_a_file_cannot_hold_is_not_written)
{
    FREED_BY(network_free) network w = network_loop(4);
    eqp_message message;
    eqp_paradis_writer *writer = NULL;

    save_text(in_folder("net"), "old");
    w.node[2].x[1] = NAN;
    assert_refused(network_write(in_folder("net"), &w, NULL, NULL, &message));
    assert_non_null(strstr(message.text, "node 2,14"));
    w.node[2].x[1] = 0;
    w.arm[5].burgers[0] = INFINITY;
    assert_refused(network_write(in_folder("net"), &w, NULL, NULL, &message));
    w.arm[5].burgers[0] = 1;
    w.node[3].tag = EQP_PARADIS_TAG(UINT32_MAX, 0);
    assert_refused(network_write(in_folder("net"), &w, NULL, NULL, &message));
    w.node[3].tag = 0;
    w.header.nnodes = 5;
    assert_refused(network_write(in_folder("net"), &w, NULL, NULL, &message));
    assert_non_null(strstr(message.text, "4 nodes of 5"));
    w.header.nnodes = 3;
    assert_refused(network_write(in_folder("net"), &w, NULL, NULL, &message));
    assert_non_null(strstr(message.text, "more than the 3"));
    w.header.max[0] = w.header.min[0];
    assert_refused(eqp_paradis_write_begin(in_folder("net"), &w.header, 0, NULL, &writer, NULL));
    assert_null(writer);
    assert_int_equal(files_in_folder(false), 1);
}

/* Nodes, arms and version of every real file. */
TEST(real_files_are_read)
{
    static const struct {
        const char *name;
        int version, nodes, arms;
    } real[] = {{"180chains_16.10e.data", 4, 5055, 11860},
                {"Copper.data", 4, 2304, 4608},
                {"Tantalum.data", 4, 464, 928},
                {"copper_x8.data", 4, 274, 524},
                {"fcc_900chains_95k.data", 5, 95400, 190800},
                {"form_binaryjunc.data", 4, 6, 8},
                {"frank_read_src.data", 4, 3, 4}};
    const char *data = getenv("EQUIPOISE_SHARED_DATA");
    int found = 0;

    for (int i = 0; i < COUNT_OF(real); i++) {
        char path[2048], packed[2100];
        network w, back;

        snprintf(path, sizeof path, "%s/dislocation/%s", data ? data : PROJECT_SOURCE_ROOT "/../shared/data",
                 real[i].name);
        snprintf(packed, sizeof packed, "%s.gz", path);
        if (access(path, R_OK) != 0 && access(packed, R_OK) != 0) {
            continue;
        }
        found++;
        w = network_good(path, 1000);
        assert_int_equal(w.header.version, real[i].version);
        assert_int_equal(w.n, real[i].nodes);
        assert_int_equal(w.narms, real[i].arms);
        assert_ok(network_write(in_folder("copy"), &w, NULL, NULL, NULL));
        back = network_good(in_folder("copy"), 997);
        assert_true(network_same(&w, &back));
        network_free(&back);
        network_free(&w);
    }
    if (found == 0) {
        print_message("no real networks here\n");
        skip();
    }
}
