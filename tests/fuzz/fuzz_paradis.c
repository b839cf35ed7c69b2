/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks of dislocations, cut into several files at each byte 1. */
#include "fuzz.h"
#include "io/paradis_text.h"

#include <equipoise/more/base.h>
#include <equipoise/more/io.h>

#include <math.h>
#include <unistd.h>

enum { FILES = 4 };

typedef struct network {
    int rc;
    int64_t n, narms, room_nodes, room_arms;
    eqp_paradis_node *node;
    eqp_paradis_arm *arm;
} network;

static void network_free(network *w)
{
    free(w->node);
    free(w->arm);
}

static void keep_block(network *w, const eqp_paradis_block *b)
{
    fuzz_require(eqp_array_reserve(&w->node, &w->room_nodes, w->n + b->n, sizeof *w->node) == EQP_OK);
    fuzz_require(eqp_array_reserve(&w->arm, &w->room_arms, w->narms + b->narms, sizeof *w->arm) == EQP_OK);
    for (int64_t i = 0; i < b->n; i++) {
        w->node[w->n + i] = b->node[i];
        w->node[w->n + i].first_arm += w->narms;
    }
    if (b->narms > 0) {
        memcpy(w->arm + w->narms, b->arm, (size_t)b->narms * sizeof *b->arm);
    }
    w->n += b->n;
    w->narms += b->narms;
}

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

/* Reads in blocks of `most`; rc is that of the first failing call. */
static network read_network(const char *path, int64_t most, eqp_paradis_header *header, int64_t bytes)
{
    eqp_paradis_reader *reader = NULL;
    eqp_message message = {""};
    network w = {0};

    w.rc = eqp_paradis_open(path, &reader, &message);
    if (w.rc == EQP_OK) {
        *header = *eqp_paradis_get_header(reader);
        fuzz_require(header->nnodes * 14 <= bytes * 1032);
    }
    while (w.rc == EQP_OK) {
        eqp_paradis_block block = {.n = -1};

        w.rc = eqp_paradis_next(reader, most, &block, &message);
        if (w.rc != EQP_OK) {
            fuzz_require(block.n == -1);
            fuzz_require(eqp_paradis_next(reader, most, &block, NULL) == EQP_ERR_STATE);
            break;
        }
        fuzz_require(block.n >= 0 && block.n <= most);
        for (int64_t i = 0; i < block.n; i++) {
            fuzz_require(block.node[i].first_arm + block.node[i].narms <= block.narms);
            require_node(&block.node[i], block.arm + block.node[i].first_arm);
        }
        keep_block(&w, &block);
        if (block.n == 0) {
            fuzz_require(w.n == header->nnodes);
            break;
        }
    }
    if (w.rc != EQP_OK) {
        fuzz_require(w.rc == EQP_ERR_IO || w.rc == EQP_ERR_FORMAT || w.rc == EQP_ERR_DATA);
        fuzz_require_line(&message);
    }
    eqp_paradis_close(reader);
    return w;
}

static void require_same(const network *a, const network *b)
{
    fuzz_require(a->rc == b->rc);
    if (a->rc != EQP_OK) {
        return; /* how many nodes are read before an error depends on the blocks */
    }
    fuzz_require(a->n == b->n && a->narms == b->narms);
    for (int64_t i = 0; i < a->n; i++) {
        fuzz_require(memcmp(&a->node[i], &b->node[i], sizeof a->node[i]) == 0);
    }
    for (int64_t i = 0; i < a->narms; i++) {
        fuzz_require(memcmp(&a->arm[i], &b->arm[i], sizeof a->arm[i]) == 0);
    }
}

static void write_network(const char *path, const eqp_paradis_header *header, const network *w)
{
    eqp_paradis_writer *writer = NULL;

    fuzz_require(eqp_paradis_write_begin(path, header, 0, NULL, &writer, NULL) == EQP_OK);
    fuzz_require(eqp_paradis_write_nodes(writer, w->n, w->node, w->arm, NULL) == EQP_OK);
    fuzz_require(eqp_paradis_write_finish(writer, NULL) == EQP_OK);
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
    eqp_paradis_header header = {0}, again;
    network one, many;

    save_files(data, size);
    one = read_network(fuzz_path("net"), 1, &header, (int64_t)size);
    many = read_network(fuzz_path("net.0"), 1000, &header, (int64_t)size);
    require_same(&one, &many);
    network_free(&one);
    if (many.rc == EQP_OK) {
        network back;

        write_network(fuzz_path("copy"), &header, &many);
        back = read_network(fuzz_path("copy"), 7, &again, 1 << 20);
        fuzz_require(memcmp(header.min, again.min, sizeof header.min) == 0);
        fuzz_require(memcmp(header.max, again.max, sizeof header.max) == 0);
        require_same(&many, &back);
        network_free(&back);
    }
    network_free(&many);
    return 0;
}
