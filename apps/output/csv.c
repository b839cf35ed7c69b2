/* SPDX-License-Identifier: BSD-3-Clause */
#include "output/report.h"
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct eqp_csv {
    eqp_output *file; /* NULL: finished */
    off_t published;  /* bytes under the final name; 0: it has none yet */
};

static void write_text(FILE *stream, const char *text)
{
    if (!text) {
        return;
    }
    if (!strpbrk(text, ",\"\r\n")) {
        (void)fputs(text, stream);
        return;
    }
    (void)fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"') {
            (void)fputc('"', stream);
        }
        (void)fputc(*text, stream);
    }
    (void)fputc('"', stream);
}

static void write_real(FILE *stream, double value)
{
    char text[40];

    if (!isfinite(value)) {
        return;
    }
    (void)snprintf(text, sizeof text, "%.17g", value);
    /* The program's locale may write another decimal point, which is the only character that is not plain. */
    for (char *c = text; *c; c++) {
        if (!strchr("0123456789+-e", *c)) {
            *c = '.';
        }
    }
    (void)fputs(text, stream);
}

static void write_field(FILE *stream, const eqp_field *field)
{
    switch (field->type) {
    case EQP_FIELD_COUNT:
        (void)fprintf(stream, "%lld", (long long)field->value.count);
        break;
    case EQP_FIELD_REAL:
        write_real(stream, field->value.real);
        break;
    case EQP_FIELD_TEXT:
        write_text(stream, field->value.text);
        break;
    case EQP_FIELD_BOOL:
        (void)fputs(field->value.flag ? "true" : "false", stream);
        break;
    case EQP_FIELD_COUNTS:
        for (int64_t i = 0; i < field->value.counts.n; i++) {
            (void)fprintf(stream, "%s%lld", i > 0 ? " " : "", (long long)field->value.counts.at[i]);
        }
        break;
    case EQP_FIELD_LIST:
        break;
    }
}

int eqp_csv_create(const char *dir, const char *name, const char *header, eqp_csv **csv, eqp_message *message)
{
    char *path = dir != NULL ? eqp__report_file_join(dir, name) : strdup(name);
    eqp_csv *c = NULL;
    int code = path != NULL ? EQP_OK : EQP_ERR_MEMORY;

    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&c, 1, sizeof *c));
    EQP_TRY(eqp_output_create(path, &c->file, message));
    (void)(header != NULL && fprintf(eqp_output_stream(c->file), "%s\n", header));
    *csv = c;
    c = NULL;
done:
    eqp_csv_free(c);
    free(path);
    return code;
}

int eqp_csv_add(eqp_csv *csv, int n, const eqp_field *field)
{
    for (int i = 0; i < n; i++) {
        write_field(eqp_output_stream(csv->file), &field[i]);
        (void)fputc(i + 1 < n ? ',' : '\n', eqp_output_stream(csv->file));
    }
    return EQP_OK;
}

int eqp_csv_publish(eqp_csv *csv, eqp_message *message)
{
    const int fd = eqp_output_descriptor(csv->file), code = eqp_output_publish(csv->file, message);

    if (code == EQP_OK) {
        csv->published = lseek(fd, 0, SEEK_CUR);
    } else if (csv->published > 0 && ftruncate(fd, csv->published) != 0) {
        return code; /* half a row stays: there is nothing else that could be done */
    }
    return code;
}

int eqp_csv_finish(eqp_csv *csv, eqp_message *message)
{
    eqp_output *file = csv->file;

    csv->file = NULL;
    return eqp_output_commit(file, message);
}

void eqp_csv_free(eqp_csv *csv)
{
    if (csv) {
        eqp_output_discard(csv->file);
        free(csv);
    }
}
