/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_files.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/snapshot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Length of a name without the ending that it has. */
static int stem_length(const app_naming *naming, const char *name)
{
    size_t length = strlen(name);

    for (int i = 0; naming->ending[i] != NULL; i++) {
        size_t ending = strlen(naming->ending[i]);
        if (length > ending && strcmp(name + length - ending, naming->ending[i]) == 0) {
            return (int)(length - ending);
        }
    }
    return (int)length;
}

int app_name_beside(const app_naming *naming, const char *path, const char *ending, char **name)
{
    size_t room = strlen(path) + strlen(ending) + 1;
    char *text = malloc(room);

    if (text == NULL) {
        return EQP_ERR_MEMORY;
    }
    snprintf(text, room, "%.*s%s", stem_length(naming, path), path, ending);
    *name = text;
    return EQP_OK;
}

int app_name_numbered(const app_naming *naming, const char *path, int64_t step, const char *ending, char **name)
{
    size_t room = strlen(path) + strlen(ending) + 32;
    char *text = malloc(room);

    if (text == NULL) {
        return EQP_ERR_MEMORY;
    }
    snprintf(text, room, "%.*s_%06lld%s", stem_length(naming, path), path, (long long)step, ending);
    *name = text;
    return EQP_OK;
}

int app_series_add(app_series *series, const char *path, double time)
{
    int64_t capacity = series->capacity;
    char *copy = strdup(path);
    int code = copy == NULL ? EQP_ERR_MEMORY : EQP_OK;

    if (code == EQP_OK) {
        code = eqp_array_reserve(&series->path, &capacity, series->n + 1, sizeof(char *));
    }
    capacity = series->capacity;
    if (code == EQP_OK) {
        code = eqp_array_reserve(&series->time, &capacity, series->n + 1, sizeof(double));
    }
    if (code != EQP_OK) {
        free(copy);
        return code;
    }
    series->capacity = capacity;
    series->path[series->n] = copy;
    series->time[series->n++] = time;
    return EQP_OK;
}

void app_series_free(app_series *series)
{
    for (int64_t i = 0; i < series->n; i++) {
        free(series->path[i]);
    }
    free(series->path);
    free(series->time);
    memset(series, 0, sizeof *series);
}

void app_slice(int64_t n, int rank, int nranks, int64_t *first, int64_t *count)
{
    int64_t each = n / nranks, more = n % nranks;

    *first = each * rank + (rank < more ? rank : more);
    *count = each + (rank < more);
}

int app_write_in_turn(MPI_Comm comm, const app_file_writer *writer, void *file, eqp_message *message)
{
    int me, nranks, code;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    code = me == 0 ? writer->create(file, message) : EQP_OK;
    code = eqp_agree(comm, code, message);
    if (code != EQP_OK) {
        return code;
    }
    for (int r = 0; r < nranks && code == EQP_OK; r++) {
        code = r == me ? writer->write(file, message) : EQP_OK;
        code = eqp_agree(comm, code, message);
    }
    if (code == EQP_OK) {
        code = me == 0 ? writer->commit(file, message) : EQP_OK;
        code = eqp_agree(comm, code, message);
    }
    if (code != EQP_OK && me == 0) {
        writer->discard(file);
    }
    return code;
}

static uint64_t place_of(const void *record)
{
    uint64_t place;

    memcpy(&place, record, sizeof place);
    return place;
}

static int by_place(const void *a, const void *b)
{
    const uint64_t first = place_of(a), second = place_of(b);
    return (first > second) - (first < second);
}

static void sort_by_place(size_t size, int64_t n, void *records)
{
    if (n > 1) {
        qsort(records, (size_t)n, size, by_place);
    }
}

int app_file_order(MPI_Comm comm, size_t size, int64_t n, void *records, int64_t *nslice, void *slice, int64_t *first)
{
    uint64_t *place = NULL;
    int *writer = NULL;
    char *in = NULL;
    int64_t nin = 0, before = 0;
    int code = eqp_array_create(&place, n, sizeof *place);

    if (code == EQP_OK) {
        code = eqp_array_create(&writer, n, sizeof *writer);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        sort_by_place(size, n, records);
        for (int64_t i = 0; i < n; i++) {
            place[i] = place_of((const char *)records + (size_t)i * size);
        }
        code = eqp_deal_keys(comm, n, place, writer);
    }
    if (code == EQP_OK) {
        code = eqp_send_records(comm, size, n, writer, records, &nin, &in);
    }
    if (code == EQP_OK) {
        sort_by_place(size, nin, in);
        code = eqp_scan_int64(comm, nin, &before, NULL);
    }
    free(writer);
    free(place);
    if (code != EQP_OK) {
        free(in);
        return code;
    }
    *nslice = nin;
    memcpy(slice, &in, sizeof in);
    *first = before;
    return EQP_OK;
}

typedef struct forces_file {
    const char *path;
    int64_t rows, first, n; /* of all, and this rank's slice of them */
    uint64_t *id;
    double *x, *y, *z;
} forces_file;

static const eqp_column forces_columns[2] = {{"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3}};

static int forces_create(void *file, eqp_message *message)
{
    const forces_file *f = file;
    return eqp_table_write_create(f->path, f->rows, 2, forces_columns, message);
}

static int forces_write(void *file, eqp_message *message)
{
    const forces_file *f = file;
    const void *const data[] = {f->id, f->x, f->y, f->z};
    return eqp_table_write_slice(f->path, 2, forces_columns, f->first, f->n, data, message);
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

static int forces_take(forces_file *file, int64_t n, const app_force *force)
{
    double *const *const fields[] = {&file->x, &file->y, &file->z};
    int code = eqp_array_create(&file->id, n, sizeof *file->id);

    if (code == EQP_OK) {
        code = eqp_array_create(&file->x, n, sizeof *file->x);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&file->y, n, sizeof *file->y);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&file->z, n, sizeof *file->z);
    }
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        file->id[i] = force[i].id;
        for (int d = 0; d < 3; d++) {
            (*fields[d])[i] = force[i].force[d];
        }
    }
    file->n = n;
    return code;
}

int app_forces_write(MPI_Comm comm, const char *path, int64_t n, app_force *force, eqp_message *message)
{
    static const app_file_writer writer = {forces_create, forces_write, forces_commit, forces_discard};
    forces_file file = {.path = path};
    app_force *slice = NULL;
    int64_t nslice = 0;
    int code = app_file_order(comm, sizeof *force, n, force, &nslice, &slice, &file.first);

    if (code == EQP_OK) {
        code = eqp_scan_int64(comm, nslice, NULL, &file.rows);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, forces_take(&file, nslice, slice), NULL);
    }
    if (code == EQP_OK) {
        code = app_write_in_turn(comm, &writer, &file, message);
    } else {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    free(slice);
    free(file.id);
    free(file.x);
    free(file.y);
    free(file.z);
    return code;
}
