/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* asprintf */
#include "run_files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>
#include <equipoise/snapshot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const no_endings[] = {NULL};
const app_naming app_no_output = {.ending = no_endings, .numbered = ""};

/* Length of a name without its known ending. */
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

int app_name_with_ending(const app_naming *naming, const char *path, const char *ending, char **name)
{
    return asprintf(name, "%.*s%s", stem_length(naming, path), path, ending) < 0 ? EQP_ERR_MEMORY : EQP_OK;
}

int app_name_numbered(const app_naming *naming, const char *path, int64_t step, const char *ending, char **name)
{
    const int length = stem_length(naming, path);

    return asprintf(name, "%.*s_%06lld%s", length, path, (long long)step, ending) < 0 ? EQP_ERR_MEMORY : EQP_OK;
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
    enum { INDEX, ID, X, Y, Z, COLUMNS };
    app_force *slice = NULL;
    int64_t *word = NULL, nslice = 0, first;
    int code;

    EQP_TRY(app_file_order(comm, sizeof *force, n, force, &nslice, &slice, &first));
    EQP_TRY(eqp_agree(comm, eqp_array_create(&word, COLUMNS * nslice, sizeof *word), NULL));
    for (int64_t i = 0; i < nslice; i++) {
        word[i] = first + i;
        memcpy(&word[ID * nslice + i], &slice[i].id, sizeof *word);
        for (int d = 0; d < 3; d++) {
            memcpy(&word[(X + d) * nslice + i], &slice[i].force[d], sizeof *word);
        }
    }
    const void *const column[] = {word + ID * nslice, word + X * nslice, word + Y * nslice, word + Z * nslice};
    EQP_TRY(app_forces_write_rows(comm, path, &(app_rows){nslice, NULL, word, column}, message));
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    free(word);
    free(slice);
    return code;
}
