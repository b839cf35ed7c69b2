/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/snapshot.h>

#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {".hdf5", ".h5", NULL}, *const beside[] = {".xdmf", NULL};
const app_naming bh_naming = {.ending = endings, .numbered = ".hdf5", .beside = beside};

/* A particle on its way into a file: its place, then itself. */
static int record_words(const bh_particles *p)
{
    return 1 + bh_particles_fields(p->rungs);
}

/* Type above place: a snapshot holds its types one after the other. */
static uint64_t place_of(const bh_particles *p, int64_t i)
{
    return (uint64_t)p->kind[i] << 56 | (uint64_t)p->index[i];
}

/* Particles in the order of a file, cut into one run per rank. */
static int slice_make(const bh_simulation *sim, bh_particles *slice, int64_t *first)
{
    const bh_particles *p = &sim->domain.particles;
    const int words = record_words(p);
    int64_t nreceived = 0;
    uint64_t *out = NULL, *in = NULL;
    int code = eqp_agree(sim->comm, eqp_array_create(&out, p->n * words, sizeof *out), NULL);

    bh_particles_init(slice);
    slice->rungs = p->rungs;
    for (int64_t i = 0; i < p->n && code == EQP_OK; i++) {
        out[words * i] = place_of(p, i);
        bh_particles_pack(p, i, out + words * i + 1);
    }
    if (code == EQP_OK) {
        code = app_file_order(sim->comm, (size_t)words * sizeof *out, p->n, out, &nreceived, &in, first);
    }
    free(out);
    EQP_TRY(code);
    EQP_TRY(eqp_agree(sim->comm, bh_particles_resize(slice, nreceived), NULL));
    for (int64_t i = 0; i < nreceived; i++) {
        bh_particles_unpack(slice, i, in + words * i + 1);
    }
done:
    free(in);
    return code;
}

typedef struct snapshot_file {
    const char *path;
    eqp_snapshot_layout layout;
    eqp_column column[4];
    eqp_attribute attribute[7 + BH_CELLS_ATTRIBUTES];
    eqp_snapshot_writer *writer;
} snapshot_file;

static int snapshot_begin(void *file, eqp_message *message)
{
    snapshot_file *f = file;
    return eqp_snapshot_write_begin(f->path, &f->layout, &f->writer, message);
}

/* The columns as bh_output_snapshot() gives them. */
static int snapshot_write(void *file, int64_t n, const void *const *column, eqp_message *message)
{
    void *const *c = (void *const *)column; /* only read */
    const eqp_snapshot_arrays arrays = {
        .x = c[0], .y = c[1], .z = c[2], .vx = c[3], .vy = c[4], .vz = c[5], .m = c[6], .id = c[7]};
    return eqp_snapshot_write_slice(((snapshot_file *)file)->writer, n, &arrays, column + 8, message);
}

static int snapshot_finish(void *file, eqp_message *message)
{
    snapshot_file *f = file;
    eqp_snapshot_writer *writer = f->writer;

    f->writer = NULL;
    return eqp_snapshot_write_finish(writer, message);
}

static void snapshot_discard(void *file)
{
    eqp_snapshot_write_discard(((snapshot_file *)file)->writer);
}

static int count_types(const bh_simulation *sim, int64_t type_n[EQP_SNAPSHOT_TYPES])
{
    for (int64_t i = 0; i < sim->domain.particles.n; i++) {
        type_n[sim->domain.particles.kind[i]]++;
    }
    return eqp_sum_int64(sim->comm, EQP_SNAPSHOT_TYPES, type_n);
}

static int describe_snapshot(const bh_simulation *sim, const char *path, snapshot_file *file)
{
    *file = (snapshot_file){.path = path};
    file->layout = EQP_SNAPSHOT_LAYOUT_DEFAULTS;
    file->layout.ntypes = EQP_SNAPSHOT_TYPES;
    file->layout.time = sim->now.common.time;
    file->column[0] = (eqp_column){"Acceleration", EQP_KIND_DOUBLE, 3};
    file->column[1] = (eqp_column){"Potential", EQP_KIND_DOUBLE, 1};
    file->column[2] = (eqp_column){"Rung", EQP_KIND_INT64, 1};
    file->layout.ncolumns = sim->rungs.n > 1 ? 3 : 2;
    file->layout.column = file->column;
    file->attribute[0] = (eqp_attribute){.name = "step", .kind = EQP_KIND_INT64, .integer = sim->now.common.step};
    file->attribute[1] = (eqp_attribute){.name = "dt", .kind = EQP_KIND_DOUBLE, .real = sim->dt};
    file->attribute[2] = (eqp_attribute){.name = "kick", .kind = EQP_KIND_DOUBLE, .real = sim->kick};
    file->layout.nattributes = sim->kick > 0 ? 3 : 2;
    if (sim->kick > 0 && sim->rungs.n > 1) { /* a step to be gone on with */
        file->attribute[file->layout.nattributes++] =
            (eqp_attribute){.name = "rungs", .kind = EQP_KIND_INT64, .integer = sim->rungs.n};
        file->attribute[file->layout.nattributes++] =
            (eqp_attribute){.name = "tick", .kind = EQP_KIND_INT64, .integer = sim->tick};
    }
    if (sim->problem.ngrains > 1) {
        file->attribute[file->layout.nattributes++] =
            (eqp_attribute){.name = "group_size", .kind = EQP_KIND_INT64, .integer = sim->domain.group_size};
    }
    file->layout.attribute = file->attribute;
    int code = count_types(sim, file->layout.type_n);
    while (file->layout.ntypes > 6 && file->layout.type_n[file->layout.ntypes - 1] == 0) {
        file->layout.ntypes--;
    }
    return code;
}

/* A step to be gone on with in cells that particles have left in part: those of its tree follow from the keys. */
static void add_cells(const bh_box *cells, snapshot_file *file)
{
    const double value[] = {cells->corner[0], cells->corner[1], cells->corner[2], cells->side};

    file->column[file->layout.ncolumns++] = (eqp_column){"Key", EQP_KIND_UINT64, 1};
    for (int a = 0; a < BH_CELLS_ATTRIBUTES; a++) {
        file->attribute[file->layout.nattributes++] =
            (eqp_attribute){.name = bh_cells_attribute[a], .kind = EQP_KIND_DOUBLE, .real = value[a]};
    }
}

int bh_output_snapshot(bh_simulation *sim, const char *path, eqp_message *message)
{
    static const app_file_writer writer = {snapshot_begin, snapshot_write, snapshot_finish, snapshot_discard};
    snapshot_file file;
    bh_particles slice;
    int64_t first;
    int code = slice_make(sim, &slice, &first);

    if (code == EQP_OK) {
        code = describe_snapshot(sim, path, &file);
    }
    if (code == EQP_OK) {
        const bh_particles *p = &slice;
        bh_input moment = {.step = sim->now.common.step,
                           .dt = sim->dt,
                           .time = sim->now.common.time,
                           .tick = sim->kick > 0 && sim->rungs.n > 1 ? sim->tick : 0};
        if (moment.tick > 0 && sim->domain.drifted) {
            moment.cells = sim->domain.box;
            add_cells(&moment.cells, &file);
        }
        const uint64_t checksum = bh_input_checksum(sim->comm, p, first, &moment);
        file.attribute[file.layout.nattributes++] =
            (eqp_attribute){.name = "checksum", .kind = EQP_KIND_UINT64, .integer = (int64_t)checksum};
        const void *const column[] = {p->x,  p->y,  p->z,  p->vx, p->vy,  p->vz,   p->m,
                                      p->id, p->ax, p->ay, p->az, p->pot, p->rung, p->key};
        code = app_write_columns(sim->comm, &writer, &file, 10 + file.layout.ncolumns, p->n, column, message);
    } else {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    bh_particles_free(&slice);
    return code;
}

int bh_output_forces(bh_simulation *sim, const char *path, eqp_message *message)
{
    const bh_particles *p = &sim->domain.particles;
    app_force *force = NULL;
    int code = eqp_agree(sim->comm, eqp_array_create(&force, p->n, sizeof *force), NULL);

    for (int64_t i = 0; i < p->n && code == EQP_OK; i++) {
        force[i] = (app_force){(uint64_t)p->index[i], (uint64_t)p->id[i], {p->ax[i], p->ay[i], p->az[i]}};
    }
    if (code == EQP_OK) {
        code = app_forces_write(sim->comm, path, p->n, force, message);
    } else {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    free(force);
    return code;
}

int bh_output_xdmf(bh_simulation *sim, const app_series *series, const char *output, eqp_message *message)
{
    snapshot_file like;
    eqp_snapshot_frame *frame = NULL;
    eqp_snapshot_layout *layout = NULL;
    char *path = NULL;
    int code;

    EQP_TRY(describe_snapshot(sim, output, &like));
    EQP_TRY(app_name_beside(&bh_naming, output, beside[0], &path));
    EQP_TRY(eqp_array_create(&frame, series->n, sizeof *frame));
    EQP_TRY(eqp_array_create(&layout, series->n, sizeof *layout));
    for (int64_t i = 0; i < series->n; i++) {
        layout[i] = like.layout;
        layout[i].time = series->time[i];
        frame[i] = (eqp_snapshot_frame){series->path[i], &layout[i]};
    }
    if (sim->domain.rank == 0) {
        EQP_TRY(eqp_snapshot_write_xdmf(path, (int)series->n, frame, message));
    }
done:
    free(layout);
    free(frame);
    free(path);
    return eqp_agree(sim->comm, code, message);
}
