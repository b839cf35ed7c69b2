/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <equipoise/more/base.h>
#include <equipoise/snapshot.h>

#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {".hdf5", ".h5", NULL}, *const once[] = {".xdmf", NULL};
const app_naming bh_naming = {.ending = endings, .numbered = ".hdf5", .once = once};

/* Columns in the order of the snapshot's writer; KIND follows the stored ones. */
enum { X, Y, Z, VX, VY, VZ, MASS, ID, AX, AY, AZ, POT, RUNG, KEY, KIND, COLUMNS };

typedef struct snapshot_file {
    const char *path;
    bh_input moment;
    int stored;        /* columns */
    int64_t rows;      /* so far */
    uint64_t checksum; /* of these rows */
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

static int snapshot_write(void *file, int64_t n, const void *const *column, eqp_message *message)
{
    snapshot_file *f = file;
    void *const *c = (void *const *)column; /* read only */
    const eqp_snapshot_arrays arrays = {
        .x = c[X], .y = c[Y], .z = c[Z], .vx = c[VX], .vy = c[VY], .vz = c[VZ], .m = c[MASS], .id = c[ID]};
    const void *const word[BH_CHECKED] = {c[ID], c[f->stored], c[MASS], c[X],  c[Y],   c[Z],    c[VX], c[VY],
                                          c[VZ], c[AX],        c[AY],   c[AZ], c[POT], c[RUNG], c[KEY]};

    f->checksum += bh_input_checksum_rows(&f->moment, f->rows, n, word);
    f->rows += n;
    return eqp_snapshot_write_slice(f->writer, n, &arrays, column + AX, message);
}

/* The checksum is the last attribute. */
static int snapshot_finish(void *file, eqp_message *message)
{
    snapshot_file *f = file;
    eqp_snapshot_writer *writer = f->writer;

    f->attribute[f->layout.nattributes - 1].integer = (int64_t)(f->checksum + bh_input_checksum_moment(&f->moment));
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
    file->layout = eqp_snapshot_layout_defaults();
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
    if (sim->kick > 0 && sim->rungs.n > 1) { /* the step is not complete */
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
    EQP_CHECK(count_types(sim, file->layout.type_n));
    while (file->layout.ntypes > 6 && file->layout.type_n[file->layout.ntypes - 1] == 0) {
        file->layout.ntypes--;
    }
    return EQP_OK;
}

/* Cells of an incomplete step that some particles have left; the tree follows from the keys. */
static void add_cells(const bh_box *cells, snapshot_file *file)
{
    const double value[] = {cells->corner[0], cells->corner[1], cells->corner[2], cells->side};

    file->column[file->layout.ncolumns++] = (eqp_column){"Key", EQP_KIND_UINT64, 1};
    for (int a = 0; a < BH_CELLS_ATTRIBUTES; a++) {
        file->attribute[file->layout.nattributes++] =
            (eqp_attribute){.name = bh_cells_attribute[a], .kind = EQP_KIND_DOUBLE, .real = value[a]};
    }
}

int bh_output_snapshot(void *user, const char *path, eqp_message *message)
{
    bh_simulation *sim = user;
    static const app_file_writer writer = {snapshot_begin, snapshot_write, snapshot_finish, snapshot_discard};
    const bh_particles *p = &sim->domain.particles;
    const void *column[COLUMNS] = {p->x,  p->y,  p->z,  p->vx, p->vy,  p->vz,   p->m,
                                   p->id, p->ax, p->ay, p->az, p->pot, p->rung, p->key};
    const app_rows rows = {p->n, p->kind, p->index, column};
    snapshot_file file;
    app_words words = {.n = 0};
    int code = describe_snapshot(sim, path, &file);

    code = code == EQP_OK ? bh_resume_write(sim, &words) : code;
    if (code == EQP_OK) {
        file.moment = (bh_input){.step = sim->now.common.step,
                                 .dt = sim->dt,
                                 .time = sim->now.common.time,
                                 .tick = sim->kick > 0 && sim->rungs.n > 1 ? sim->tick : 0,
                                 .kick = sim->kick > 0 ? sim->kick : 0.0,
                                 .group_size = sim->problem.ngrains > 1 ? sim->domain.group_size : 0,
                                 .words = words};
        file.layout.nwords = words.n;
        file.layout.words = words.word;
        if (file.moment.tick > 0 && sim->domain.drifted) {
            file.moment.cells = sim->domain.box;
            add_cells(&file.moment.cells, &file);
        }
        file.attribute[file.layout.nattributes++] = (eqp_attribute){.name = "checksum", .kind = EQP_KIND_UINT64};
        file.stored = 10 + file.layout.ncolumns;
        column[file.stored] = p->kind;
        code = app_write_ordered(sim->comm, &writer, &file, file.stored + 1, &rows, message);
    }
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    app_words_free(&words);
    return code;
}

int bh_output_forces(void *user, const char *path, eqp_message *message)
{
    const bh_simulation *sim = user;
    const bh_particles *p = &sim->domain.particles;
    const void *const column[] = {p->id, p->ax, p->ay, p->az};

    return app_forces_write_rows(sim->comm, path, &(app_rows){p->n, NULL, p->index, column}, message);
}

int bh_output_xdmf(void *user, const app_series *series, eqp_message *message)
{
    const bh_simulation *sim = user;
    const char *output = sim->settings->run.output;
    snapshot_file like;
    eqp_snapshot_frame *frame = NULL;
    eqp_snapshot_layout *layout = NULL;
    char *path = NULL;
    int code;

    EQP_TRY(describe_snapshot(sim, output, &like));
    EQP_TRY(app_name_with_ending(&bh_naming, output, once[0], &path));
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
