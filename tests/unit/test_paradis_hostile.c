/* SPDX-License-Identifier: BSD-3-Clause */
/* Each damaged network is refused with a message that names the file, the line and the node. */
#include "paradis_files.h"

/* The first that fails ends the reading. */
static void check_refused(const char *text, int code, const char *says)
{
    for (int64_t most = 1; most < 5; most += 3) {
        const char *path = in_folder("net");
        eqp_message message = {""};
        network w;

        save_text(path, text);
        int rc = network_read(path, most, &w, &message);
        if (rc != code || !strstr(message.text, says) || strncmp(message.text, path, strlen(path)) != 0) {
            fail_msg("wanted %d with '%s', got %d '%s' of\n%s", code, says, rc, message.text, text);
        }
    }
}

static void change(const char *old, const char *new, int code, const char *says)
{
    check_refused(replaced(LINE_TEXT, old, new), code, says);
}

TEST(bad_headers_name_the_line)
{
    change("Version =   5", "Version = 3", EQP_ERR_FORMAT, "line 1: dataFileVersion: 3");
    change("Version =   5", "Version = 5.0", EQP_ERR_FORMAT, "line 1: dataFileVersion");
    change("dataFileVersion", "dataVersion", EQP_ERR_FORMAT, "dataFileVersion is missing");
    change("nodeCount", "count", EQP_ERR_FORMAT, "nodeCount is missing");
    change("minCoord", "Coord", EQP_ERR_FORMAT, "minCoordinates is missing");
    change("Count =   3", "Count = -3", EQP_ERR_DATA, "line 13: nodeCount: -3");
    change("Count =   3", "Count = 99999999999999999999", EQP_ERR_DATA, "line 13: nodeCount");
    change("Count =   3", "Count = 100000000", EQP_ERR_FORMAT, "nodeCount: 100000000 nodes are more than fit");
    change("Count =   3", "Count = 3 3", EQP_ERR_FORMAT, "line 13: nodeCount: several values");
    change("Segments =   1", "Segments = 0", EQP_ERR_DATA, "line 2: numFileSegments");
    change("Segments =   1", "Segments = 2", EQP_ERR_IO, "net.1: is missing");
    change("  10\n  20", "  -1.0e+01\n  20", EQP_ERR_FORMAT, "in x has no width");
    change("  20\n", "  -11\n", EQP_ERR_FORMAT, "in y has no width");
    change("  20\n", "  nan\n", EQP_ERR_DATA, "line 12: maxCoordinates: 'nan' is not a finite number");
    change("  20\n", "  1e999\n", EQP_ERR_DATA, "maxCoordinates: '1e999'");
    change("  20\n", "", EQP_ERR_FORMAT, "maxCoordinates: 2 values instead of 3");
    change("Type =   2", "Type = 7", EQP_ERR_DATA, "dataDecompType: 7");
    change("  1\n  1\n  1\n", "1 0 1\n", EQP_ERR_DATA, "dataDecompGeometry: 0");
    change("  1\n  1\n  1\n", "1 2 1\n", EQP_ERR_FORMAT, "7 are still to come");
    change("dataDecompType", "other", EQP_ERR_FORMAT, "domainDecomposition comes before");
    change("10 20 30\n", "10 20\n", EQP_ERR_FORMAT, "1 are still to come");
    change("10 20 30\n", "10 20 30 40\n", EQP_ERR_FORMAT, "line 27: domainDecomposition: more than its 7");
    change("10 20 30\n", "10 20 inf\n", EQP_ERR_DATA, "domainDecomposition");
    change("nodalData = ", "nodalData = 4", EQP_ERR_FORMAT, "line 28: something follows");
    change("nodeCount =", "nodeCount", EQP_ERR_FORMAT, "line 13: nodeCount: no '=' follows");
    change("  10\n  20", "  10\n  \x01", EQP_ERR_FORMAT, "maxCoordinates: '?' is not a number");
    check_refused("", EQP_ERR_FORMAT, "ends before nodalData: empty");
}

TEST(bad_nodes_name_the_line_and_the_tag)
{
    change("17.0", "NaN", EQP_ERR_DATA, "line 33: node 0,1: a coordinate is not finite");
    change("17.0", "1e999", EQP_ERR_DATA, "line 33: node 0,1: a coordinate");
    change("17.0", "-inf", EQP_ERR_DATA, "line 33: node 0,1: a coordinate");
    change("17.0", "17.0x", EQP_ERR_FORMAT, "line 33: node 0,1: a coordinate is missing or no number");
    change("17.0 ", "", EQP_ERR_FORMAT, "node 0,1");
    change("6 2 0", "6 2", EQP_ERR_FORMAT, "node 0,1: the constraint is missing");
    change("6 2 0", "6 2 0 1", EQP_ERR_FORMAT, "line 33: node 0,1: something follows");
    change("6 2 0", "6 -2 0", EQP_ERR_DATA, "node 0,1: the number of arms");
    change("6 2 0", "6 25 0", EQP_ERR_DATA, "node 0,1: the number of arms");
    change("6 2 0", "6 99999999999999999999 0", EQP_ERR_DATA, "node 0,1: the number of arms");
    change("6 2 0", "6 2.5 0", EQP_ERR_FORMAT, "node 0,1: the number of arms");
    change("6 2 0", "6 3 0", EQP_ERR_FORMAT, "node 0,1");
    change("6 2 0", "6 2 16", EQP_ERR_DATA, "node 0,1: the constraint");
    change(" 0,1 17", " -1,1 17", EQP_ERR_DATA, "line 33: the tag of a node");
    change(" 0,1 17", " 0,2147483648 17", EQP_ERR_DATA, "line 33: the tag of a node");
    change(" 0,1 17", " 0 1 17", EQP_ERR_FORMAT, "line 33: the tag of a node");
    change("3,2 0.6", "4294967296,2 0.6", EQP_ERR_DATA, "line 36: node 0,1: the tag of a neighbour");
    change("3,2 0.6 0 -0.5", "3,2 0.6 0", EQP_ERR_FORMAT, "line 36: node 0,1: a Burgers vector is missing");
    change("3,2 0.6 0 -0.5", "3,2 0.6 0 nan", EQP_ERR_DATA, "line 36: node 0,1: a Burgers vector is not finite");
    change("0 0 -0.0", "0 0 -0.0 1", EQP_ERR_FORMAT, "line 37: node 0,1: something follows");
    change("0 0 -0.0", "0 0 inf", EQP_ERR_DATA, "line 37: node 0,1: a normal is not finite");
    change(" 0,1 17", "#velocity 1 2\n 0,1 17", EQP_ERR_FORMAT, "line 34: node 0,1: a velocity is missing");
    change(" 0,1 17", "#velocity 1 nan 2\n 0,1 17", EQP_ERR_DATA, "line 34: node 0,1: a velocity is not finite");
    change(" 0,1 17", "#velocity 1 2 3 4\n 0,1 17", EQP_ERR_FORMAT, "line 34: node 0,1: something follows");
}

TEST(networks_that_cannot_be_name_the_tag)
{
    change("   3,2 0.6", "   0,1 0.6", EQP_ERR_FORMAT, "node 0,1: is its own neighbour");
    change("   3,2 0.6", "   0,5 0.6", EQP_ERR_FORMAT, "node 0,1: has two arms towards 0,5");
    change("3,2 0.6 0 -0.5", "3,2 0 0 0", EQP_ERR_FORMAT, "node 0,1: the Burgers vector is 0 towards 3,2");
    change("3,2 0.6 0 -0.5", "3,2 0.6 0.1 -0.5", EQP_ERR_FORMAT, "node 0,1: its Burgers vectors do not sum to 0");
    change("6 1 7", "6 1 0", EQP_ERR_FORMAT, "line 32: node 0,5: a line ends here");
    change("6 1 7", "6 1 3", EQP_ERR_FORMAT, "line 32: node 0,5: a line ends here");
    change("6 1 7", "6 1 1", EQP_ERR_FORMAT, "line 32: node 0,5: a line ends here");
}

/* The sum is asked of free nodes only, up to what few digits leave; surfaces may end lines. */
TEST(networks_that_can_be_are_taken)
{
    const char *const good[] = {replaced(replaced(LINE_TEXT, "6 2 0", "6 2 7"), "3,2 0.6 0 -0.5", "3,2 0.6 0.1 -0.5"),
                                replaced(LINE_TEXT, "3,2 0.6 0 -0.5", "3,2 0.60001 0 -0.5"),
                                replaced(LINE_TEXT, "6 1 7", "6 1 8")};

    for (int i = 0; i < COUNT_OF(good); i++) {
        save_text(in_folder("net"), good[i]);
        FREED_BY(network_free) network w = network_good(in_folder("net"), 2);
    }
}

TEST(wrong_counts_are_found)
{
    change("Count =   3", "Count = 2", EQP_ERR_FORMAT, "line 38: more than the 2 nodes of nodeCount");
    change("Count =   3", "Count = 0", EQP_ERR_FORMAT, "line 30: more than the 0 nodes of nodeCount");
    change("Count =   3", "Count = 4", EQP_ERR_FORMAT, "the file ends after 3 of 4 nodes");
    change("0 0 0\n", "0 0 0\n7\n", EQP_ERR_FORMAT, "line 41: more than the 3 nodes");
}

/* Truncation before the last newline: a line may resemble another node's, but the count disagrees. */
TEST(a_truncated_file_is_never_whole)
{
    const char *whole = LINE_TEXT;

    for (size_t n = 0; n < strlen(whole); n++) {
        eqp_message message = {""};
        network w;

        save_part(in_folder("net"), (const unsigned char *)whole, n);
        if (network_read(in_folder("net"), 2, &w, &message) != EQP_ERR_FORMAT) {
            fail_msg("%zu of %zu bytes: '%s'", n, strlen(whole), message.text);
        }
        assert_true(message.text[0] != '\0');
    }
}

TEST(a_truncated_packed_file_is_never_whole)
{
    const char *path = in_folder("net");
    eqp_message message;
    network w;
    size_t size;

    save_packed_text(path, LINE_TEXT);
    HEAP unsigned char *packed = (unsigned char *)contents_of(path, &size);
    for (size_t n = 0; n < size; n++) {
        save_part(path, packed, n);
        assert_int_equal(network_read(path, 2, &w, NULL), EQP_ERR_FORMAT);
        save_part(path, packed, size);
    }
    /* The check sum that stands at the end. */
    packed[size - 6] ^= 1;
    save_part(path, packed, size);
    assert_int_equal(network_read(path, 2, &w, &message), EQP_ERR_FORMAT);
    assert_non_null(strstr(message.text, "compressed by gzip: damaged"));
}

TEST(files_that_are_none_are_refused)
{
    static const struct {
        const char *name, *says;
        int code;
    } bad[] = {{"none", "none: No such file", EQP_ERR_IO},
               {"folder", "is a directory", EQP_ERR_IO},
               {"pipe", "is not a regular file", EQP_ERR_IO},
               {"zero", "line 1: holds a zero byte", EQP_ERR_FORMAT},
               {"long", "line 1: is longer than", EQP_ERR_FORMAT}};
    eqp_paradis_reader *reader = NULL;

    assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    save_part(in_folder("zero"), (const unsigned char *)"dataFile\0Version = 5\n", 21);
    save_text(in_folder("long"), ""); /* a line of 100 MB: a hole */
    assert_int_equal(truncate(in_folder("long"), 100000000), 0);
    for (int i = 0; i < COUNT_OF(bad); i++) {
        eqp_message message = {""};

        assert_int_equal(eqp_paradis_open(in_folder(bad[i].name), &reader, &message), bad[i].code);
        assert_non_null(strstr(message.text, bad[i].says));
    }
    assert_null(reader);
}

TEST(after_an_error_nothing_is_read)
{
    eqp_paradis_reader *reader;
    eqp_paradis_block block = {.n = 77};

    save_text(in_folder("net"), replaced(LINE_TEXT, "17.0", "nan"));
    assert_ok(eqp_paradis_open(in_folder("net"), &reader, NULL));
    assert_refused(eqp_paradis_next(reader, 0, &block, NULL));
    assert_int_equal(eqp_paradis_next(reader, 3, &block, NULL), EQP_ERR_DATA);
    assert_int_equal(block.n, 77);
    assert_int_equal(eqp_paradis_next(reader, 3, &block, NULL), EQP_ERR_STATE);
    eqp_paradis_close(reader);
}
