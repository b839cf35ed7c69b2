/* SPDX-License-Identifier: BSD-3-Clause */
#include "../domain.h"

#include "input.h"

#include <equipoise/more/io.h>

static const char *const data_endings[] = {".data", NULL}, *const data_each[] = {".ctrl", NULL};
static const char *const vtk_endings[] = {".vtp", NULL}, *const vtk_once[] = {".pvd", NULL};

static const app_naming data_naming = {data_endings, ".data", data_each, NULL};
static const app_naming vtk_naming = {vtk_endings, ".vtp", NULL, vtk_once};

bool dd_files_for_paraview(const char *path)
{
    const size_t length = strlen(path), ending = strlen(".vtp");

    return length > ending && strcmp(path + length - ending, ".vtp") == 0;
}

const app_naming *dd_files_naming(const char *path)
{
    return path != NULL && dd_files_for_paraview(path) ? &vtk_naming : &data_naming;
}

int dd_files_pair(const char *name, char **data, char **ctrl)
{
    char *first = NULL, *second = NULL;
    int code;

    EQP_TRY(app_name_with_ending(&data_naming, name, ".data", &first));
    EQP_TRY(app_name_with_ending(&data_naming, name, ".ctrl", &second));
done:
    if (code != EQP_OK) {
        free(first);
        return code;
    }
    *data = first;
    *ctrl = second;
    return EQP_OK;
}

void dd_output_explain(const char *name, int code, const eqp_message *what, eqp_message *message)
{
    if (code != EQP_OK && what->text[0] == '\0') {
        eqp_message_set(message, "%s: %s", name, eqp_error_text(code));
    } else if (code != EQP_OK) {
        *message = *what;
    }
}

int dd_output_forces(const dd_domain *domain, const char *path, eqp_message *message)
{
    const int64_t n = domain->network.n;
    app_force *force = NULL;
    eqp_message what = {""};
    int code;

    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&force, n, sizeof *force), NULL));
    for (int64_t i = 0; i < n; i++) {
        force[i].place = dd_output_place(&domain->network.node[i]);
        force[i].id = domain->network.node[i].tag;
        dd_node_force(&domain->network.node[i], force[i].force);
    }
    EQP_TRY(app_forces_write(domain->comm, path, n, force, &what));
done:
    dd_output_explain(path, code, &what, message);
    free(force);
    return code;
}

int dd_output_snapshot(const dd_domain *domain, const dd_input *input, const dd_moment *now, const char *path,
                       eqp_message *message)
{
    return dd_files_for_paraview(path) ? dd_output_lines(domain, now->time, path, message)
                                       : dd_output_restart(domain, input, now, path, message);
}

static int write_series(const char *output, const app_series *series, eqp_message *message)
{
    eqp_vtk_frame *frame = NULL;
    eqp_message what = {""};
    char *pvd = NULL;
    int code;

    EQP_TRY(app_name_with_ending(&vtk_naming, output, ".pvd", &pvd));
    EQP_TRY(eqp_array_create(&frame, series->n, sizeof *frame));
    for (int64_t i = 0; i < series->n; i++) {
        frame[i] = (eqp_vtk_frame){series->path[i], series->time[i]};
    }
    EQP_TRY(eqp_vtk_write_series(pvd, series->n, frame, &what));
done:
    dd_output_explain(output, code, &what, message);
    free(frame);
    free(pvd);
    return code;
}

int dd_output_series(const dd_domain *domain, const char *output, const app_series *series, eqp_message *message)
{
    int code = EQP_OK;

    if (domain->rank == 0 && dd_files_for_paraview(output)) {
        code = write_series(output, series, message);
    }
    return eqp_agree(domain->comm, code, message);
}

#define BLOCK 16384 /* segments sent to rank 0 at a time */

typedef struct line {
    double x[2][3], v[2][3], burgers[3];
    int64_t rank;
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

static int list_segments(lines_file *file)
{
    const dd_network *network = &file->domain->network;
    int64_t n = 0;
    int code;

    for (int64_t i = 0; i < network->n; i++) {
        for (int k = 0; k < network->node[i].narms; k++) {
            n += network->node[i].tag < network->node[i].arm[k].tag;
        }
    }
    code = eqp_array_create(&file->segment, n, sizeof *file->segment);
    for (int64_t i = 0; i < network->n && code == EQP_OK; i++) {
        for (int k = 0; k < network->node[i].narms; k++) {
            if (network->node[i].tag < network->node[i].arm[k].tag) {
                file->segment[file->n++] = (owned){i, file->halo->place[file->halo->first[i] + k], k};
            }
        }
    }
    return code;
}

static int create_block(lines_file *file)
{
    DD_CHECK(eqp_array_create(&file->x, 2 * BLOCK, sizeof *file->x));
    DD_CHECK(eqp_array_create(&file->v, 2 * BLOCK, sizeof *file->v));
    DD_CHECK(eqp_array_create(&file->burgers, BLOCK, sizeof *file->burgers));
    DD_CHECK(eqp_array_create(&file->end, BLOCK, sizeof *file->end));
    return eqp_array_create(&file->rank, BLOCK, sizeof *file->rank);
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
        line packed = {.rank = file->domain->rank};
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

    for (const line *packed; (packed = dd_inbox_next(in, sizeof *packed)) != NULL; n++) {
        file->rank[n] = (int)packed->rank;
        memcpy(&file->x[2 * n], packed->x, sizeof packed->x);
        memcpy(&file->v[2 * n], packed->v, sizeof packed->v);
        memcpy(file->burgers[n], packed->burgers, sizeof packed->burgers);
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
    return eqp_vtk_add(file->writer, &piece, message);
}

static int open_lines(lines_file *file, double time, const char *path, eqp_message *message)
{
    DD_CHECK(list_segments(file));
    if (file->domain->rank == 0) {
        DD_CHECK(create_block(file));
        DD_CHECK(eqp_vtk_begin(path, time, &file->writer, message));
    }
    return EQP_OK;
}

static int write_lines(lines_file *file, double time, const char *path, eqp_message *message)
{
    MPI_Comm comm = file->domain->comm;
    dd_relay relay = {file, 0, pack_lines, take_lines};
    int code;

    EQP_TRY(eqp_agree(comm, open_lines(file, time, path, message), message));
    relay.nblocks = (file->n + BLOCK - 1) / BLOCK;
    EQP_TRY(dd_relay_run(comm, &relay, message));
    if (file->domain->rank == 0) {
        code = eqp_vtk_finish(file->writer, message);
        file->writer = NULL;
    }
    code = eqp_agree(comm, code, message);
done:
    return code;
}

int dd_output_lines(const dd_domain *domain, double time, const char *path, eqp_message *message)
{
    dd_halo halo = {0};
    lines_file file = {.domain = domain, .halo = &halo};
    eqp_message what = {""};
    int code;

    EQP_TRY(dd_halo_create(domain, DD_MOVING, EQP_OK, &halo));
    EQP_TRY(write_lines(&file, time, path, &what));
done:
    dd_output_explain(path, code, &what, message);
    lines_free(&file);
    dd_halo_free(&halo);
    return code;
}
