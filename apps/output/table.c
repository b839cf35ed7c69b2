/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* vasprintf */
#include "output/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A column's width and on which side its cells stand. */
typedef struct layout {
    size_t width;
    bool right;
} layout;

struct eqp_table {
    int ncolumns;
    int64_t ncells, capacity; /* the header's cells come first */
    char **cell;
    layout *columns; /* [ncolumns] of the rows that were taken; NULL: none were */
};

int eqp_table_create(int ncolumns, const char *const *header, eqp_table **table)
{
    eqp_table *t = NULL;
    int code = eqp_array_create(&t, 1, sizeof *t);

    if (code) {
        return code;
    }
    t->ncolumns = ncolumns;
    for (int i = 0; i < ncolumns && !code; i++) {
        code = eqp_table_add(t, "%s", header[i]);
    }
    if (code) {
        eqp_table_free(t);
        return code;
    }
    *table = t;
    return EQP_OK;
}

int eqp_table_add(eqp_table *table, const char *format, ...)
{
    char *cells = NULL;
    va_list arguments;
    int code = EQP_OK;

    va_start(arguments, format);
    const int length = vasprintf(&cells, format, arguments);
    va_end(arguments);
    EQP_CHECK(length < 0 ? EQP_ERR_MEMORY : EQP_OK);
    for (char *rest = cells, *cell; (cell = strsep(&rest, "\t")) != NULL;) {
        EQP_TRY(eqp_array_reserve(&table->cell, &table->capacity, table->ncells + 1, sizeof *table->cell));
        table->cell[table->ncells] = strdup(cell);
        EQP_TRY(table->cell[table->ncells] == NULL ? EQP_ERR_MEMORY : EQP_OK);
        eqp_text_clean(table->cell[table->ncells++]);
    }
done:
    free(cells);
    return code;
}

static bool looks_like_number(const char *text)
{
    if (strcmp(text, "") == 0 || strcmp(text, "-") == 0 || strcmp(text, "nan") == 0 || strcmp(text, "inf") == 0) {
        return true;
    }
    text += *text == '-' || *text == '+';
    text += *text == '.';
    return *text >= '0' && *text <= '9';
}

static const char *cell_text(const eqp_table *table, int64_t row, int column)
{
    int64_t i = row * table->ncolumns + column;

    return i < table->ncells ? table->cell[i] : "";
}

static void find_layout(const eqp_table *table, int64_t nrows, layout *columns)
{
    for (int c = 0; c < table->ncolumns; c++) {
        if (table->columns) {
            columns[c] = table->columns[c];
        } else {
            columns[c].right = nrows > 1;
        }
        for (int64_t r = 0; r < nrows; r++) {
            size_t width = eqp__utf8_count(cell_text(table, r, c));

            columns[c].width = width > columns[c].width ? width : columns[c].width;
            columns[c].right =
                columns[c].right && (table->columns || r == 0 || looks_like_number(cell_text(table, r, c)));
        }
    }
}

static void put_many(FILE *stream, char c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)fputc(c, stream);
    }
}

/* Blanks are owed until something follows them, so no line ends in blanks. */
static void put_row(const eqp_table *table, int64_t row, const layout *columns, FILE *stream)
{
    size_t owed = 0;

    for (int c = 0; c < table->ncolumns; c++) {
        const char *text = cell_text(table, row, c);
        size_t fill = columns[c].width - eqp__utf8_count(text);

        owed += columns[c].right ? fill : 0;
        if (*text) {
            put_many(stream, ' ', owed);
            owed = 0;
            (void)fputs(text, stream);
        }
        owed += (columns[c].right ? 0 : fill) + 2;
    }
    (void)fputc('\n', stream);
}

static void put_rule(const eqp_table *table, const layout *columns, FILE *stream)
{
    for (int c = 0; c < table->ncolumns; c++) {
        put_many(stream, '-', columns[c].width);
        (void)fputs(c + 1 < table->ncolumns ? "  " : "\n", stream);
    }
}

/* columns: [ncolumns] zeros; on success those of the lines. */
static int make_lines(const eqp_table *table, layout *columns, char **text)
{
    int64_t nrows = (table->ncells + table->ncolumns - 1) / table->ncolumns;
    char *lines = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&lines, &size);
    int code;

    EQP_CHECK(!stream ? EQP_ERR_MEMORY : EQP_OK);
    find_layout(table, nrows, columns);
    if (!table->columns) {
        put_row(table, 0, columns, stream);
        put_rule(table, columns, stream);
    }
    for (int64_t r = 1; r < nrows; r++) {
        put_row(table, r, columns, stream);
    }
    /* All are asked: the stream is closed in any case, and closing it without memory leaves no text and no error. */
    code = ferror(stream) ? EQP_ERR_MEMORY : EQP_OK;
    code = fclose(stream) || !lines ? EQP_ERR_MEMORY : code;
    if (code) {
        free(lines);
        return code;
    }
    *text = lines;
    return EQP_OK;
}

int eqp_table_text(const eqp_table *table, char **text)
{
    layout *columns = NULL;
    int code = eqp_array_create(&columns, table->ncolumns, sizeof *columns);

    code = code ? code : make_lines(table, columns, text);
    free(columns);
    return code;
}

int eqp_table_take(eqp_table *table, char **text)
{
    layout *columns = NULL;
    int code = eqp_array_create(&columns, table->ncolumns, sizeof *columns);

    code = code ? code : make_lines(table, columns, text);
    if (code) {
        free(columns);
        return code;
    }
    while (table->ncells > table->ncolumns) {
        free(table->cell[--table->ncells]);
    }
    free(table->columns);
    table->columns = columns;
    return EQP_OK;
}

void eqp_table_free(eqp_table *table)
{
    if (!table) {
        return;
    }
    for (int64_t i = 0; i < table->ncells; i++) {
        free(table->cell[i]);
    }
    free(table->columns);
    free(table->cell);
    free(table);
}
