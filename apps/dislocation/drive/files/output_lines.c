/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include "../halo.h"
#include "../outbox.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/vtk.h>

#include <stdlib.h>
#include <string.h>

#define BLOCK 16384 /* segments sent to rank 0 at a time */

/* A segment in transit. */
typedef struct line {
    double x[2][3], v[2][3], burgers[3];
} line;

/* A segment of this rank: an arm of its owner. */
typedef struct owned {
    int64_t node, neighbour; /* places as in the halo */
    int arm;
} owned;

/* A `.vtp` file being written; rank 0 has the writer and the arrays of a block. */
typedef struct lines_file {
    const dd_domain *domain;
    const dd_halo *halo;
    owned *segment; /* [n] */
    int64_t n;
    eqp_vtk_writer *writer;
    double (*x)[3], (*v)[3], (*burgers)[3]; /* [2 BLOCK], [2 BLOCK], [BLOCK] */
    int64_t (*end)[2];                      /* [BLOCK] */
    int *rank;                              /* [BLOCK] */
} lines_file;

static bool owns(const dd_node *node, int k)
{
    return node->tag < node->arm[k].tag;
}

static int list_segments(lines_file *file)
{
    const dd_network *network = &file->domain->network;
    int64_t n = 0;
    int code;

    for (int64_t i = 0; i < network->n; i++) {
        for (int k = 0; k < network->node[i].narms; k++) {
            n += owns(&network->node[i], k);
        }
    }
    code = eqp_array_create(&file->segment, n, sizeof *file->segment);
    for (int64_t i = 0; i < network->n && code == EQP_OK; i++) {
        for (int k = 0; k < network->node[i].narms; k++) {
            if (owns(&network->node[i], k)) {
                file->segment[file->n++] = (owned){i, file->halo->place[file->halo->first[i] + k], k};
            }
        }
    }
    return code;
}

static int create_block(lines_file *file)
{
    int code = eqp_array_create(&file->x, 2 * BLOCK, sizeof *file->x);

    code = code == EQP_OK ? eqp_array_create(&file->v, 2 * BLOCK, sizeof *file->v) : code;
    code = code == EQP_OK ? eqp_array_create(&file->burgers, BLOCK, sizeof *file->burgers) : code;
    code = code == EQP_OK ? eqp_array_create(&file->end, BLOCK, sizeof *file->end) : code;
    return code == EQP_OK ? eqp_array_create(&file->rank, BLOCK, sizeof *file->rank) : code;
}

static void lines_free(lines_file *file)
{
    eqp_vtk_discard(file->writer);
    free(file->segment);
    free(file->x);
    free(file->v);
    free(file->burgers);
    free(file->end);
    free(file->rank);
}

static void pack_lines(void *user, int64_t block, dd_outbox *out)
{
    const lines_file *file = user;

    for (int64_t s = block * BLOCK; s < (block + 1) * BLOCK && s < file->n; s++) {
        const owned *segment = &file->segment[s];
        const dd_node *node = &file->domain->network.node[segment->node];
        line packed;
        double back[3];
        dd_domain_offset(file->domain, node->x, dd_halo_position(file->domain, file->halo, segment->neighbour), back);
        memcpy(packed.v[1], dd_halo_velocity(file->domain, file->halo, segment->neighbour), sizeof packed.v[1]);
        memcpy(packed.v[0], node->v, sizeof packed.v[0]);
        memcpy(packed.burgers, node->arm[segment->arm].burgers, sizeof packed.burgers);
        for (int d = 0; d < 3; d++) {
            packed.x[0][d] = node->x[d];
            packed.x[1][d] = node->x[d] - back[d];
        }
        dd_outbox_add(out, 0, &packed, sizeof packed);
    }
}

static int take_lines(void *user, dd_inbox *in, eqp_message *message)
{
    lines_file *file = user;
    int64_t n = 0;
    int code = EQP_OK;

    for (; !dd_inbox_empty(in); n++) {
        line packed;
        file->rank[n] = dd_inbox_sender(in);
        EQP_TRY(dd_inbox_read(in, &packed, sizeof packed));
        memcpy(&file->x[2 * n], packed.x, sizeof packed.x);
        memcpy(&file->v[2 * n], packed.v, sizeof packed.v);
        memcpy(file->burgers[n], packed.burgers, sizeof packed.burgers);
        file->end[n][0] = 2 * n;
        file->end[n][1] = 2 * n + 1;
    }
    const eqp_vtk_piece piece = {.npoints = 2 * n,
                                 .x = file->x,
                                 .v = file->v,
                                 .nlines = n,
                                 .end = file->end,
                                 .burgers = file->burgers,
                                 .rank = file->rank};
    EQP_TRY(eqp_vtk_add(file->writer, &piece, message));
done:
    return code;
}

static int write_lines(lines_file *file, double time, const char *path, eqp_message *message)
{
    MPI_Comm comm = file->domain->comm;
    dd_relay relay = {file, 0, pack_lines, take_lines};
    int code = list_segments(file);

    if (code == EQP_OK && file->domain->rank == 0) {
        code = create_block(file);
        if (code == EQP_OK) {
            code = eqp_vtk_begin(path, time, &file->writer, message);
        }
    }
    code = eqp_agree(comm, code, message);
    if (code == EQP_OK) {
        relay.nblocks = (file->n + BLOCK - 1) / BLOCK;
        code = dd_relay_run(comm, &relay, message);
    }
    if (code == EQP_OK && file->domain->rank == 0) {
        code = eqp_vtk_finish(file->writer, message);
        file->writer = NULL;
    }
    return eqp_agree(comm, code, message);
}

int dd_output_lines(const dd_domain *domain, double time, const char *path, eqp_message *message)
{
    dd_halo halo = {0};
    lines_file file = {.domain = domain, .halo = &halo};
    eqp_message what = {""};
    int code;

    EQP_TRY(dd_halo_create_moving(domain, EQP_OK, &halo));
    EQP_TRY(write_lines(&file, time, path, &what));
done:
    if (code != EQP_OK && what.text[0] == '\0') {
        eqp_message_set(&what, "%s: %s", path, eqp_error_text(code));
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "%s", what.text);
    }
    lines_free(&file);
    dd_halo_free(&halo);
    return code;
}
