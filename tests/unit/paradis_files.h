/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks for tests: a small text with replaceable pieces, and arrays to write and read back. */
#ifndef EQP_TEST_PARADIS_FILES_H
#define EQP_TEST_PARADIS_FILES_H

#include "snapshot_files.h"

/* A line of three nodes with pinned ends. */
#define HEADER_TEXT                                                                                                    \
    "dataFileVersion =   5\nnumFileSegments =   1\nminCoordinates = [\n  -1.0e+01\n  -10\n  -10.\n  ]\n"               \
    "maxCoordinates = [\n  10\n  20\n  30\n  ]\nnodeCount =   3\ndataDecompType =   2\n"                               \
    "dataDecompGeometry = [\n  1\n  1\n  1\n  ]\n\n#\n#  END\n#\n\ndomainDecomposition = \n# bounds\n"                 \
    "  0  -10 -10 -10   10 20 30\nnodalData = \n#  lines\n"
#define FIRST_TEXT " 0,5 -4.5 .5 6 1 7\n   0,1 0.6 0 -.5\n       0. 3. 4.\n"
#define SECOND_TEXT " 0,1 17.0 0.5 6 2 0\n   0,5 -0.6 0 5e-1\n       0. 3. 4.\n   3,2 0.6 0 -0.5\n       0 0 -0.0\n"
#define THIRD_TEXT " 3,2 4 0.5 6 1 7\n   0,1 -0.6 0 .5\n       0 0 0\n"
#define LINE_TEXT HEADER_TEXT FIRST_TEXT SECOND_TEXT THIRD_TEXT

/* `text` with the first `old` replaced; valid until the fourth next call. */
static inline const char *replaced(const char *text, const char *old, const char *new)
{
    static char result[4][1 << 12];
    static int next;
    const char *at = strstr(text, old);
    char *to = result[next = (next + 1) % 4];

    assert_non_null(at);
    assert_true(strlen(text) + strlen(new) < sizeof result[0]);
    memcpy(to, text, (size_t)(at - text));
    strcpy(to + (at - text), new);
    strcat(to, at + strlen(old));
    return to;
}

static inline int network_read(const char *path, int64_t most, network *w, eqp_message *message)
{
    eqp_paradis_reader *reader = NULL;
    int rc = eqp_paradis_open(path, &reader, message);

    *w = (network){0};
    if (rc == EQP_OK) {
        w->header = *eqp_paradis_get_header(reader);
    }
    while (rc == EQP_OK) {
        eqp_paradis_block b;

        rc = eqp_paradis_next(reader, most, &b, message);
        if (rc != EQP_OK || b.n == 0) {
            break;
        }
        assert_true(b.n <= most);
        rc = network_append(w, &b);
    }
    eqp_paradis_close(reader);
    if (rc != EQP_OK) {
        network_free(w);
    }
    return rc;
}

static inline network network_good(const char *path, int64_t most)
{
    eqp_message message = {"unchanged"};
    network w;
    int rc = network_read(path, most, &w, &message);

    if (rc != EQP_OK) {
        fail_msg("%s: %d '%s'", path, rc, message.text);
    }
    assert_string_equal(message.text, "unchanged");
    assert_int_equal(w.n, w.header.nnodes);
    return w;
}

/* A closed line of n free nodes whose numbers need all digits. */
static inline network network_loop(int64_t n)
{
    network w = {.header = {.min = {-1, -2, -1e5 / 3}, .max = {1e5 / 7, 2, 4}, .nnodes = n}, .n = n, .narms = 2 * n};

    assert_ok(eqp_array_create(&w.node, n, sizeof *w.node));
    assert_ok(eqp_array_create(&w.arm, 2 * n, sizeof *w.arm));
    for (int64_t i = 0; i < n; i++) {
        int64_t near[2] = {(i + 1) % n, (i + n - 1) % n};

        w.node[i] = (eqp_paradis_node){.velocity = {(double)(i % 2) * 1e9 / 3, 0, i % 2 ? -7e-9 : 0},
                                       .tag = EQP_PARADIS_TAG(i % 5, 7 * i),
                                       .x = {1.0 / (double)(i + 3), -1e-300 * (double)i, 1e3 / 7 * (double)i},
                                       .narms = 2,
                                       .first_arm = 2 * i,
                                       .constraint = (int)(i % 9) % 3 ? 0 : (int)(i % 9)};
        for (int e = 0; e < 2; e++) {
            double sign = e ? -1 : 1;

            w.arm[2 * i + e] = (eqp_paradis_arm){.tag = EQP_PARADIS_TAG(near[e] % 5, 7 * near[e]),
                                                 .burgers = {sign / 3, sign * 1e-17, sign / 7},
                                                 .normal = {0, i % 2 ? 1 : 0.6, i % 2 ? 0 : 0.8}};
        }
    }
    return w;
}

#endif
