/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include "../physics/order.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/snapshot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Particles in the order of a file, cut into one run per rank. */
typedef struct file_slice {
    bh_particles particles;
    int64_t first; /* place of its first particle in the file */
} file_slice;

/* Type above place: the order of a file that holds its types one after the other. */
static uint64_t file_key(const bh_particles *p, int64_t i, bool by_type)
{
    return (by_type ? (uint64_t)p->kind[i] << 56 : 0) | (uint64_t)p->index[i];
}

/* Which rank writes each particle: equally many in file order. */
static int choose_writers(const bh_simulation *sim, bool by_type, int64_t *order, int *writer)
{
    const bh_particles *p = &sim->domain.particles;
    uint64_t *key = NULL, *sorted = NULL;
    int code = eqp_array_create(&key, p->n, sizeof *key);

    if (code == EQP_OK) {
        code = eqp_array_create(&sorted, p->n, sizeof *sorted);
    }
    for (int64_t i = 0; i < p->n && code == EQP_OK; i++) {
        key[i] = file_key(p, i, by_type);
    }
    if (code == EQP_OK) {
        code = bh_order(p->n, key, p->index, order);
    }
    code = eqp_agree(sim->comm, code, NULL);
    for (int64_t i = 0; i < p->n && code == EQP_OK; i++) {
        sorted[i] = key[order[i]];
    }
    if (code == EQP_OK) {
        code = eqp_deal_keys(sim->comm, p->n, sorted, writer);
    }
    free(sorted);
    free(key);
    return code;
}

static int send_records(const bh_simulation *sim, const int64_t *order, const int *writer, int64_t *nreceived,
                        uint64_t **records)
{
    const bh_particles *p = &sim->domain.particles;
    uint64_t *out = NULL;
    int code = eqp_agree(sim->comm, eqp_array_create(&out, p->n * BH_PARTICLE_FIELDS, sizeof *out), NULL);

    for (int64_t i = 0; i < p->n && code == EQP_OK; i++) {
        bh_particles_pack(p, order[i], out + BH_PARTICLE_FIELDS * i);
    }
    if (code == EQP_OK) {
        code = eqp_send_records(sim->comm, BH_PARTICLE_BYTES, p->n, writer, out, nreceived, records);
    }
    free(out);
    return code;
}

static int slice_make(bh_simulation *sim, bool by_type, file_slice *slice)
{
    int64_t n = sim->domain.particles.n, nreceived = 0, *order = NULL;
    uint64_t *records = NULL;
    int *writer = NULL;
    int code = eqp_array_create(&order, n, sizeof *order);

    bh_particles_init(&slice->particles);
    if (code == EQP_OK) {
        code = eqp_array_create(&writer, n, sizeof *writer);
    }
    code = eqp_agree(sim->comm, code, NULL);
    if (code == EQP_OK) {
        code = choose_writers(sim, by_type, order, writer);
    }
    if (code == EQP_OK) {
        code = send_records(sim, order, writer, &nreceived, &records);
    }
    if (code == EQP_OK) {
        code = eqp_agree(sim->comm, bh_particles_resize(&slice->particles, nreceived), NULL);
    }
    for (int64_t i = 0; i < nreceived && code == EQP_OK; i++) {
        bh_particles_unpack(&slice->particles, i, records + BH_PARTICLE_FIELDS * i);
        slice->particles.key[i] = file_key(&slice->particles, i, by_type);
    }
    if (code == EQP_OK) {
        code = eqp_agree(sim->comm, bh_particles_sort(&slice->particles), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_scan_int64(sim->comm, nreceived, &slice->first, NULL);
    }
    free(records);
    free(writer);
    free(order);
    return code;
}

/* The serial HDF5 library serves one rank at a time: rank 0 creates, all write in turn, rank 0 commits. */
typedef struct file_writer {
    int (*create)(void *file, eqp_message *message);
    int (*write)(void *file, const file_slice *slice, eqp_message *message);
    int (*commit)(void *file, eqp_message *message);
    void (*discard)(void *file);
} file_writer;

static int write_in_turn(bh_simulation *sim, const file_writer *writer, void *file, const file_slice *slice,
                         eqp_message *message)
{
    int me = sim->domain.rank;
    int code = me == 0 ? writer->create(file, message) : EQP_OK;

    code = eqp_agree(sim->comm, code, message);
    if (code != EQP_OK) {
        return code;
    }
    for (int r = 0; r < sim->domain.nranks && code == EQP_OK; r++) {
        code = r == me ? writer->write(file, slice, message) : EQP_OK;
        code = eqp_agree(sim->comm, code, message);
    }
    if (code == EQP_OK) {
        code = me == 0 ? writer->commit(file, message) : EQP_OK;
        code = eqp_agree(sim->comm, code, message);
    }
    if (code != EQP_OK && me == 0) {
        writer->discard(file);
    }
    return code;
}

typedef struct snapshot_file {
    const char *path;
    eqp_snapshot_layout layout;
    eqp_column column[2];
    eqp_attribute attribute[2];
} snapshot_file;

static int snapshot_create(void *file, eqp_message *message)
{
    const snapshot_file *f = file;
    return eqp_snapshot_write_create(f->path, &f->layout, message);
}

static int snapshot_write(void *file, const file_slice *slice, eqp_message *message)
{
    const snapshot_file *f = file;
    const bh_particles *p = &slice->particles;
    const eqp_snapshot_arrays arrays = {
        .x = p->x, .y = p->y, .z = p->z, .vx = p->vx, .vy = p->vy, .vz = p->vz, .m = p->m, .id = p->id};
    const void *const data[] = {p->ax, p->ay, p->az, p->pot};
    return eqp_snapshot_write_slice(f->path, &f->layout, slice->first, p->n, &arrays, data, message);
}

static int snapshot_commit(void *file, eqp_message *message)
{
    const snapshot_file *f = file;
    return eqp_snapshot_write_commit(f->path, &f->layout, message);
}

static void snapshot_discard(void *file)
{
    const snapshot_file *f = file;
    eqp_snapshot_write_discard(f->path, &f->layout);
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
    file->path = path;
    file->layout = EQP_SNAPSHOT_LAYOUT_DEFAULTS;
    file->layout.ntypes = EQP_SNAPSHOT_TYPES;
    file->layout.time = sim->now.time;
    file->column[0] = (eqp_column){"Acceleration", EQP_KIND_DOUBLE, 3};
    file->column[1] = (eqp_column){"Potential", EQP_KIND_DOUBLE, 1};
    file->layout.ncolumns = 2;
    file->layout.column = file->column;
    file->attribute[0] = (eqp_attribute){.name = "step", .kind = EQP_KIND_INT64, .integer = sim->now.step};
    file->attribute[1] = (eqp_attribute){.name = "dt", .kind = EQP_KIND_DOUBLE, .real = sim->dt};
    file->layout.nattributes = 2;
    file->layout.attribute = file->attribute;
    int code = count_types(sim, file->layout.type_n);
    while (file->layout.ntypes > 6 && file->layout.type_n[file->layout.ntypes - 1] == 0) {
        file->layout.ntypes--;
    }
    return code;
}

int bh_output_snapshot(bh_simulation *sim, const char *path, eqp_message *message)
{
    static const file_writer snapshot_writer = {snapshot_create, snapshot_write, snapshot_commit, snapshot_discard};
    snapshot_file file;
    file_slice slice;
    int code = slice_make(sim, true, &slice);

    if (code == EQP_OK) {
        code = describe_snapshot(sim, path, &file);
    }
    if (code == EQP_OK) {
        code = write_in_turn(sim, &snapshot_writer, &file, &slice, message);
    } else {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    bh_particles_free(&slice.particles);
    return code;
}

typedef struct forces_file {
    const char *path;
    int64_t rows;
} forces_file;

static const eqp_column forces_columns[2] = {{"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3}};

static int forces_create(void *file, eqp_message *message)
{
    const forces_file *f = file;
    return eqp_table_write_create(f->path, f->rows, 2, forces_columns, message);
}

static int forces_write(void *file, const file_slice *slice, eqp_message *message)
{
    const forces_file *f = file;
    const bh_particles *p = &slice->particles;
    const void *const data[] = {p->id, p->ax, p->ay, p->az};
    return eqp_table_write_slice(f->path, 2, forces_columns, slice->first, p->n, data, message);
}

static int forces_commit(void *file, eqp_message *message)
{
    const forces_file *f = file;
    return eqp_table_write_commit(f->path, message);
}

static void forces_discard(void *file)
{
    const forces_file *f = file;
    eqp_table_write_discard(f->path);
}

int bh_output_forces(bh_simulation *sim, const char *path, eqp_message *message)
{
    static const file_writer forces_writer = {forces_create, forces_write, forces_commit, forces_discard};
    forces_file file = {path, sim->input.total};
    file_slice slice;
    int code = slice_make(sim, false, &slice);

    if (code == EQP_OK) {
        code = write_in_turn(sim, &forces_writer, &file, &slice, message);
    } else {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    bh_particles_free(&slice.particles);
    return code;
}

/* Length of a name without its ending .hdf5 or .h5. */
static int stem_length(const char *name)
{
    static const char *const endings[] = {".hdf5", ".h5"};
    size_t length = strlen(name);

    for (int i = 0; i < 2; i++) {
        size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(name + length - ending, endings[i]) == 0) {
            return (int)(length - ending);
        }
    }
    return (int)length;
}

int bh_series_path(const char *output, int64_t step, char **path)
{
    size_t room = strlen(output) + 32;
    char *text = malloc(room);

    if (text == NULL) {
        return EQP_ERR_MEMORY;
    }
    snprintf(text, room, "%.*s_%06lld.hdf5", stem_length(output), output, (long long)step);
    *path = text;
    return EQP_OK;
}

int bh_series_xdmf(const char *output, char **path)
{
    size_t room = strlen(output) + 8;
    char *text = malloc(room);

    if (text == NULL) {
        return EQP_ERR_MEMORY;
    }
    snprintf(text, room, "%.*s.xdmf", stem_length(output), output);
    *path = text;
    return EQP_OK;
}

void bh_series_free(bh_series *series)
{
    for (int64_t i = 0; i < series->n; i++) {
        free(series->path[i]);
    }
    free(series->path);
    free(series->time);
    memset(series, 0, sizeof *series);
}

/* Takes over path. */
static int series_add(bh_series *series, char *path, double time)
{
    int64_t capacity = series->capacity;
    int code = eqp_array_reserve(&series->path, &capacity, series->n + 1, sizeof(char *));

    capacity = series->capacity;
    if (code == EQP_OK) {
        code = eqp_array_reserve(&series->time, &capacity, series->n + 1, sizeof(double));
    }
    if (code != EQP_OK) {
        return code;
    }
    series->capacity = capacity;
    series->path[series->n] = path;
    series->time[series->n++] = time;
    return EQP_OK;
}

static int write_xdmf(const bh_series *series, bh_simulation *sim, const char *output, eqp_message *message)
{
    snapshot_file like;
    eqp_snapshot_frame *frame = NULL;
    eqp_snapshot_layout *layout = NULL;
    char *path = NULL;
    int code = describe_snapshot(sim, output, &like);

    if (code == EQP_OK) {
        code = bh_series_xdmf(output, &path);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&frame, series->n, sizeof *frame);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&layout, series->n, sizeof *layout);
    }
    for (int64_t i = 0; i < series->n && code == EQP_OK; i++) {
        layout[i] = like.layout;
        layout[i].time = series->time[i];
        frame[i] = (eqp_snapshot_frame){series->path[i], &layout[i]};
    }
    if (code == EQP_OK && sim->domain.rank == 0) {
        code = eqp_snapshot_write_xdmf(path, (int)series->n, frame, message);
    }
    free(layout);
    free(frame);
    free(path);
    return eqp_agree(sim->comm, code, message);
}

int bh_series_write(bh_series *series, bh_simulation *sim, const char *output, bool numbered, eqp_message *message)
{
    char *path = NULL;
    int code = EQP_OK;

    if (numbered) {
        code = bh_series_path(output, sim->now.step, &path);
    } else {
        code = eqp_array_create(&path, (int64_t)strlen(output) + 1, 1);
        if (code == EQP_OK) {
            strcpy(path, output);
        }
    }
    code = eqp_agree(sim->comm, code, NULL);
    if (code == EQP_OK) {
        code = bh_output_snapshot(sim, path, message);
    }
    if (code == EQP_OK) {
        code = series_add(series, path, sim->now.time);
        path = code == EQP_OK ? NULL : path; /* the series has it now, whatever the others say */
        code = eqp_agree(sim->comm, code, NULL);
    }
    free(path);
    return code == EQP_OK ? write_xdmf(series, sim, output, message) : code;
}
