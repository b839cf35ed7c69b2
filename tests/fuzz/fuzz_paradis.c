/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks of dislocations, cut into several files at each byte 1. */
#include "fuzz.h"
#include "io/paradis_text.h"

#include "../unit/contents.h"

#include <math.h>
#include <unistd.h>

enum { FILES = 4 };

static void require_vector(const double v[3])
{
    fuzz_require(isfinite(v[0]) && isfinite(v[1]) && isfinite(v[2]));
}

static void require_node(const eqp_paradis_node *node, const eqp_paradis_arm *arm)
{
    fuzz_require(node->narms >= 0 && node->narms <= EQP_PARADIS_MOST_ARMS);
    fuzz_require(node->constraint >= 0 && node->constraint < 16);
    fuzz_require(EQP_PARADIS_DOMAIN(node->tag) <= INT32_MAX && EQP_PARADIS_INDEX(node->tag) <= INT32_MAX);
    require_vector(node->x);
    for (int i = 0; i < node->narms; i++) {
        const double *n = arm[i].normal;
        double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);

        require_vector(arm[i].burgers);
        fuzz_require(length == 0 || fabs(length - 1) < 1e-14);
    }
    fuzz_require(eqp__paradis_check_node(node, arm, NULL) == EQP_OK);
}

/* Reads in blocks of `most`; returns the code of the first failing call. */
static int read_network(const char *path, int64_t most, int64_t bytes, network *w)
{
    eqp_paradis_reader *reader = NULL;
    eqp_message message = {""};
    int rc = eqp_paradis_open(path, &reader, &message);

    *w = (network){0};
    if (rc == EQP_OK) {
        w->header = *eqp_paradis_get_header(reader);
        fuzz_require(w->header.nnodes * 14 <= bytes * 1032);
    }
    while (rc == EQP_OK) {
        eqp_paradis_block block = {.n = -1};

        rc = eqp_paradis_next(reader, most, &block, &message);
        if (rc != EQP_OK) {
            fuzz_require(block.n == -1);
            fuzz_require(eqp_paradis_next(reader, most, &block, NULL) == EQP_ERR_STATE);
            break;
        }
        fuzz_require(block.n >= 0 && block.n <= most);
        for (int64_t i = 0; i < block.n; i++) {
            fuzz_require(block.node[i].first_arm + block.node[i].narms <= block.narms);
            require_node(&block.node[i], block.arm + block.node[i].first_arm);
        }
        fuzz_require(network_append(w, &block) == EQP_OK);
        if (block.n == 0) {
            fuzz_require(w->n == w->header.nnodes);
            break;
        }
    }
    if (rc != EQP_OK) {
        fuzz_require(rc == EQP_ERR_IO || rc == EQP_ERR_FORMAT || rc == EQP_ERR_DATA);
        fuzz_require_line(&message);
    }
    eqp_paradis_close(reader);
    return rc;
}

static void save_files(const uint8_t *data, size_t size)
{
    static const char *const name[FILES] = {"net.0", "net.1", "net.2", "net.3"};

    for (int k = 0; k < FILES; k++) {
        const uint8_t *stop = size > 0 && k < FILES - 1 ? memchr(data, 1, size) : NULL;
        size_t length = stop ? (size_t)(stop - data) : size;

        fuzz_save(fuzz_path(name[k]), data, length);
        data += length + (stop ? 1 : 0);
        size -= length + (stop ? 1 : 0);
        if (!stop) {
            for (k++; k < FILES; k++) {
                (void)unlink(fuzz_path(name[k]));
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    network one, many, back;

    save_files(data, size);
    const int rc = read_network(fuzz_path("net"), 1, (int64_t)size, &one);
    fuzz_require(read_network(fuzz_path("net.0"), 1000, (int64_t)size, &many) == rc);
    if (rc == EQP_OK) { /* how many nodes are read before an error depends on the blocks */
        fuzz_require(network_same(&one, &many));
        fuzz_require(network_write(fuzz_path("copy"), &many, NULL, NULL, NULL) == EQP_OK);
        fuzz_require(read_network(fuzz_path("copy"), 7, 1 << 20, &back) == EQP_OK);
        fuzz_require(network_same(&many, &back));
        network_free(&back);
    }
    network_free(&one);
    network_free(&many);
    return 0;
}
