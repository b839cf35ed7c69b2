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
    DD_FREED char *first = NULL;

    EQP_CHECK(app_name_with_ending(&data_naming, name, ".data", &first));
    EQP_CHECK(app_name_with_ending(&data_naming, name, ".ctrl", ctrl));
    *data = first;
    first = NULL;
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

static int write_forces(const dd_domain *domain, const char *path, eqp_message *message)
{
    const int64_t n = domain->network.n;
    DD_FREED app_force *force = NULL;

    EQP_CHECK(eqp_agree(domain->comm, eqp_array_create(&force, n, sizeof *force), NULL));
    for (int64_t i = 0; i < n; i++) {
        force[i].place = dd_output_place(&domain->network.node[i]);
        force[i].id = domain->network.node[i].tag;
        dd_node_force(&domain->network.node[i], force[i].force);
    }
    return app_forces_write(domain->comm, path, n, force, message);
}

int dd_output_forces(const dd_domain *domain, const char *path, eqp_message *message)
{
    eqp_message what = {""};
    const int code = write_forces(domain, path, &what);

    dd_output_explain(path, code, &what, message);
    return code;
}

static int write_series(const char *output, const app_series *series, eqp_message *message)
{
    DD_FREED eqp_vtk_frame *frame = NULL;
    DD_FREED char *pvd = NULL;

    EQP_CHECK(app_name_with_ending(&vtk_naming, output, ".pvd", &pvd));
    EQP_CHECK(eqp_array_create(&frame, series->n, sizeof *frame));
    for (int64_t i = 0; i < series->n; i++) {
        frame[i] = (eqp_vtk_frame){series->path[i], series->time[i]};
    }
    return eqp_vtk_write_series(pvd, series->n, frame, message);
}

int dd_output_series(const dd_domain *domain, const char *output, const app_series *series, eqp_message *message)
{
    eqp_message what = {""};
    int code = EQP_OK;

    if (domain->rank == 0 && dd_files_for_paraview(output)) {
        code = write_series(output, series, &what);
        dd_output_explain(output, code, &what, message);
    }
    return eqp_agree(domain->comm, code, message);
}

#define BLOCK 16384 /* segments sent to rank 0 at a time */

typedef struct line {
    double x[2][3], v[2][3], burgers[3];
    int64_t rank;
} line;

/* A `.vtp` file being written; rank 0 has the writer and the arrays of a block. */
typedef struct lines_file {
    const dd_domain *domain;
    const dd_halo *halo;
    eqp_vtk_writer *writer;
    double (*x)[3], (*v)[3], (*burgers)[3]; /* [2 BLOCK], [2 BLOCK], [BLOCK] */
    int64_t (*end)[2];                      /* [BLOCK] */
    int *rank;                              /* [BLOCK] */
} lines_file;

static int create_block(lines_file *file)
{
    EQP_CHECK(eqp_array_create(&file->x, 2 * BLOCK, sizeof *file->x));
    EQP_CHECK(eqp_array_create(&file->v, 2 * BLOCK, sizeof *file->v));
    EQP_CHECK(eqp_array_create(&file->burgers, BLOCK, sizeof *file->burgers));
    EQP_CHECK(eqp_array_create(&file->end, BLOCK, sizeof *file->end));
    return eqp_array_create(&file->rank, BLOCK, sizeof *file->rank);
}

static void pack_lines(void *user, int64_t block, dd_outbox *out)
{
    const lines_file *file = user;

    for (int64_t s = block * BLOCK; s < (block + 1) * BLOCK && s < file->halo->nown; s++) {
        const dd_own *own = &file->halo->own[s];
        const dd_node *node = &file->domain->network.node[own->node];
        line packed = {.rank = file->domain->rank};
        double along[3];
        dd_halo_way(file->domain, file->halo, node->x, own->far, along);
        memcpy(packed.v[1], dd_halo_velocity(file->domain, file->halo, own->far), sizeof packed.v[1]);
        memcpy(packed.v[0], node->v, sizeof packed.v[0]);
        memcpy(packed.burgers, own->arm->burgers, sizeof packed.burgers);
        for (int d = 0; d < 3; d++) {
            packed.x[0][d] = node->x[d];
            packed.x[1][d] = node->x[d] + along[d];
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

static int write_lines(lines_file *file, double time, const char *path, eqp_message *message)
{
    const MPI_Comm comm = file->domain->comm;
    const bool writes = file->domain->rank == 0;
    const dd_relay relay = {file, (file->halo->nown + BLOCK - 1) / BLOCK, pack_lines, take_lines};
    int code = writes ? create_block(file) : EQP_OK;

    code = writes && code == EQP_OK ? eqp_vtk_begin(path, time, &file->writer, message) : code;
    EQP_CHECK(eqp_agree(comm, code, message));
    EQP_CHECK(dd_relay_run(comm, &relay, message));
    if (writes) {
        code = eqp_vtk_finish(file->writer, message);
        file->writer = NULL;
    }
    return eqp_agree(comm, code, message);
}

int dd_output_lines(const dd_domain *domain, double time, const char *path, eqp_message *message)
{
    DD_FREED_BY(dd_halo_free) dd_halo halo = {0};
    lines_file file = {.domain = domain, .halo = &halo};
    eqp_message what = {""};
    int code = dd_halo_create(domain, DD_MOVING, EQP_OK, &halo);

    code = code == EQP_OK ? write_lines(&file, time, path, &what) : code;
    dd_output_explain(path, code, &what, message);
    eqp_vtk_discard(file.writer);
    free(file.x);
    free(file.v);
    free(file.burgers);
    free(file.end);
    free(file.rank);
    return code;
}
