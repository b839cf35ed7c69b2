/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/par.h>
#include <equipoise/more/random.h>
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

/* Rows on the way to rank 0. */
enum { BLOCK_ROWS = 1 << 16, BLOCK_TAG = 77 };

static int64_t block_of(int64_t n, int64_t at)
{
    return n - at < BLOCK_ROWS ? n - at : BLOCK_ROWS;
}

static void send_columns(MPI_Comm comm, int ncolumns, int64_t n, const void *const *column)
{
    MPI_Send(&n, 1, MPI_INT64_T, 0, BLOCK_TAG, comm);
    for (int64_t at = 0; at < n; at += BLOCK_ROWS) {
        for (int c = 0; c < ncolumns; c++) {
            MPI_Send((const uint64_t *)column[c] + at, (int)block_of(n, at), MPI_UINT64_T, 0, BLOCK_TAG, comm);
        }
    }
}

/* Takes everything of one rank in, but after an error writes no more: the sender does not know of it. */
static int take_columns(MPI_Comm comm, int from, const app_file_writer *writer, void *file, int ncolumns,
                        uint64_t *const *block, int code, eqp_message *message)
{
    int64_t n;

    MPI_Recv(&n, 1, MPI_INT64_T, from, BLOCK_TAG, comm, MPI_STATUS_IGNORE);
    for (int64_t at = 0; at < n; at += BLOCK_ROWS) {
        for (int c = 0; c < ncolumns; c++) {
            MPI_Recv(block[c], (int)block_of(n, at), MPI_UINT64_T, from, BLOCK_TAG, comm, MPI_STATUS_IGNORE);
        }
        code = code == EQP_OK ? writer->write(file, block_of(n, at), (const void *const *)block, message) : code;
    }
    return code;
}

int app_write_columns(MPI_Comm comm, const app_file_writer *writer, void *file, int ncolumns, int64_t n,
                      const void *const *column, eqp_message *message)
{
    uint64_t *block[APP_FILE_COLUMNS] = {NULL};
    int me, nranks, code = EQP_OK;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    for (int c = 0; c < ncolumns && me == 0 && nranks > 1 && code == EQP_OK; c++) {
        code = eqp_array_create(&block[c], BLOCK_ROWS, sizeof *block[c]);
    }
    code = me == 0 && code == EQP_OK ? writer->begin(file, message) : code;
    code = eqp_agree(comm, code, message);
    if (code == EQP_OK && me != 0) {
        send_columns(comm, ncolumns, n, column);
    } else if (code == EQP_OK) {
        code = writer->write(file, n, column, message);
        for (int r = 1; r < nranks; r++) {
            code = take_columns(comm, r, writer, file, ncolumns, block, code, message);
        }
        code = code == EQP_OK ? writer->finish(file, message) : code;
    }
    if (me == 0) {
        writer->discard(file);
    }
    for (int c = 0; c < ncolumns; c++) {
        free(block[c]);
    }
    return eqp_agree(comm, code, message);
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
    EQP_TRY(eqp_agree(comm, code, NULL));
    sort_by_place(size, n, records);
    for (int64_t i = 0; i < n; i++) {
        place[i] = place_of((const char *)records + (size_t)i * size);
    }
    EQP_TRY(eqp_deal_keys(comm, n, place, writer));
    EQP_TRY(eqp_send_records(comm, size, n, writer, records, &nin, &in));
    sort_by_place(size, nin, in);
    EQP_TRY(eqp_scan_int64(comm, nin, &before, NULL));
done:
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

uint64_t app_checksum_row(int64_t place, int at, int nwords, const uint64_t *word)
{
    uint64_t sum = 0;

    for (int i = 0; i < nwords; i++) {
        sum += eqp_random_bits(word[i], (uint64_t)place, (uint64_t)(at + i));
    }
    return sum;
}

uint64_t app_checksum_column(int64_t place, int at, int64_t n, const void *word)
{
    return eqp_random_sum(n, word, (uint64_t)place, (uint64_t)at);
}

uint64_t app_checksum_sum(MPI_Comm comm, uint64_t part)
{
    MPI_Allreduce(MPI_IN_PLACE, &part, 1, MPI_UINT64_T, MPI_SUM, comm);
    return part;
}

typedef struct forces_file {
    const char *path;
    int64_t rows; /* of all ranks */
    uint64_t *id;
    double *x, *y, *z;
    eqp_table_writer *writer;
} forces_file;

static int forces_begin(void *file, eqp_message *message)
{
    static const eqp_column column[2] = {{"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3}};
    forces_file *f = file;

    return eqp_table_write_begin(f->path, f->rows, 2, column, &f->writer, message);
}

static int forces_write(void *file, int64_t n, const void *const *column, eqp_message *message)
{
    return eqp_table_write_rows(((forces_file *)file)->writer, n, column, message);
}

static int forces_finish(void *file, eqp_message *message)
{
    forces_file *f = file;
    eqp_table_writer *writer = f->writer;

    f->writer = NULL;
    return eqp_table_write_finish(writer, message);
}

static void forces_discard(void *file)
{
    eqp_table_write_discard(((forces_file *)file)->writer);
}

static int forces_take(forces_file *file, int64_t n, const app_force *force)
{
    double *const *const fields[] = {&file->x, &file->y, &file->z};
    int code;

    EQP_TRY(eqp_array_create(&file->id, n, sizeof *file->id));
    EQP_TRY(eqp_array_create(&file->x, n, sizeof *file->x));
    EQP_TRY(eqp_array_create(&file->y, n, sizeof *file->y));
    EQP_TRY(eqp_array_create(&file->z, n, sizeof *file->z));
    for (int64_t i = 0; i < n; i++) {
        file->id[i] = force[i].id;
        for (int d = 0; d < 3; d++) {
            (*fields[d])[i] = force[i].force[d];
        }
    }
done:
    return code;
}

static const app_file_writer forces_writer = {forces_begin, forces_write, forces_finish, forces_discard};

int app_forces_write_rows(MPI_Comm comm, const char *path, const app_rows *rows, eqp_message *message)
{
    forces_file file = {.path = path};
    int code = eqp_scan_int64(comm, rows->n, NULL, &file.rows);

    code = code == EQP_OK ? app_write_ordered(comm, &forces_writer, &file, 4, rows, message) : code;
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    return code;
}

int app_forces_write(MPI_Comm comm, const char *path, int64_t n, app_force *force, eqp_message *message)
{
    forces_file file = {.path = path};
    app_force *slice = NULL;
    int64_t nslice = 0, first;
    int code = app_file_order(comm, sizeof *force, n, force, &nslice, &slice, &first);

    if (code == EQP_OK) {
        code = eqp_scan_int64(comm, nslice, NULL, &file.rows);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, forces_take(&file, nslice, slice), NULL);
    }
    if (code == EQP_OK) {
        code = app_write_columns(comm, &forces_writer, &file, 4, nslice,
                                 (const void *const[]){file.id, file.x, file.y, file.z}, message);
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
