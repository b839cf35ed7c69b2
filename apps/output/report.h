/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of a run for programs (JSON, CSV) and for people (tables, progress).
 *
 * Files are written under a temporary name and renamed when they are complete, so a reader never sees half a file.
 * Rows go to the file as they come: a run of any number of steps needs no more memory than a short one. Everything here
 * is local: one rank writes. */
#ifndef EQUIPOISE_REPORT_H
#define EQUIPOISE_REPORT_H

#include <equipoise/more/base.h>

#include <stdbool.h>
#include <stddef.h>

/* The `schema` of report.json. */
#define EQP_REPORT_SCHEMA 1

typedef enum eqp_field_type {
    EQP_FIELD_COUNT, /* int64_t */
    EQP_FIELD_REAL,
    EQP_FIELD_TEXT,
    EQP_FIELD_BOOL,
    EQP_FIELD_COUNTS, /* int64_t [n] */
    EQP_FIELD_LIST    /* objects [n] */
} eqp_field_type;

/* A named value: a key or column. Functions that keep a text copy it. Texts should be UTF-8; JSON gets U+FFFD for each
 * invalid byte. */
typedef struct eqp_field {
    const char *name;
    eqp_field_type type;
    union {
        int64_t count;
        double real;
        const char *text;
        bool flag;
        struct {
            int64_t n;
            const int64_t *at; /* [n] (borrowed) */
        } counts;
        struct {
            int n, nfields;             /* objects, and fields of each */
            const struct eqp_field *at; /* [n][nfields] no lists among them (borrowed) */
        } list;
    } value;
} eqp_field;

static inline eqp_field eqp_field_count(const char *name, int64_t value)
{
    return (eqp_field){name, EQP_FIELD_COUNT, {.count = value}};
}

/* A number; one that is not finite is written as null (JSON) or as nothing (CSV). */
static inline eqp_field eqp_field_real(const char *name, double value)
{
    return (eqp_field){name, EQP_FIELD_REAL, {.real = value}};
}

/* A text; NULL is written as null (JSON) or as nothing (CSV). */
static inline eqp_field eqp_field_text(const char *name, const char *value)
{
    return (eqp_field){name, EQP_FIELD_TEXT, {.text = value}};
}

static inline eqp_field eqp_field_bool(const char *name, bool value)
{
    return (eqp_field){name, EQP_FIELD_BOOL, {.flag = value}};
}

/* Whole numbers: an array (JSON), or with blanks between them (CSV). */
static inline eqp_field eqp_field_counts(const char *name, int64_t n, const int64_t *at)
{
    return (eqp_field){name, EQP_FIELD_COUNTS, {.counts = {n, at}}};
}

/* Objects of as many fields each: an array of them (JSON), or nothing (CSV). */
static inline eqp_field eqp_field_list(const char *name, int n, int nfields, const eqp_field *at)
{
    return (eqp_field){name, EQP_FIELD_LIST, {.list = {n, nfields, at}}};
}

/* Makes a folder and its parents, unless they exist. EQP_OK, EQP_ERR_IO with the path in the message, EQP_ERR_MEMORY.
 */
int eqp_report_directory(const char *dir, eqp_message *message);

/* dir/name; owned by the caller. NULL without memory. */
char *eqp__report_file_join(const char *dir, const char *name);

/* Characters in `text`; a byte that is not UTF-8 counts as one. */
size_t eqp__utf8_count(const char *text);

/* A copy with U+FFFD in place of each byte that is not UTF-8; owned by the caller. NULL without memory. */
char *eqp__utf8_repair(const char *text);

/* A report.json that is being written. */
typedef struct eqp_report eqp_report;

/* Starts a report in a folder, made where needed: schema, name of the program, this library's version; every other key
 * of the schema is there and null or empty. An older report.json stays until eqp_report_finish(). EQP_OK, EQP_ERR_IO
 * with the path in the message, EQP_ERR_MEMORY. */
int eqp_report_create(const char *app, const char *dir, eqp_report **report, eqp_message *message);

/* A report that was not finished leaves no file. NULL is legal. */
void eqp_report_free(eqp_report *report);

/* Sets a key of the whole run; again: overwrites. These functions return EQP_OK or EQP_ERR_MEMORY. */
int eqp_report_set(eqp_report *report, eqp_field field);

/* interactions_by_kind[kind], which does not touch `interactions`; cost_seconds_by_kind[kind], CPU seconds of one
 * interaction. */
int eqp_report_set_interactions(eqp_report *report, const char *kind, int64_t count);
int eqp_report_set_cost(eqp_report *report, const char *kind, double seconds);

/* An object of its own among the keys of a run; the one of the cost model. */
int eqp_report_set_group(eqp_report *report, const char *name, int n, const eqp_field *field);
int eqp_report_set_model(eqp_report *report, double rmse, double rank_correlation);

/* Appends a row to `steps`: a line of the file, nothing in memory; or to `compare`, which stays in memory. Errors of
 * the disk show up in eqp_report_finish(). */
int eqp_report_add_step(eqp_report *report, int n, const eqp_field *field);
int eqp_report_add_compare(eqp_report *report, int n, const eqp_field *field);

/* Completes report.json and gives it its name, once; where there are rows to compare, also writes compare.csv, whose
 * columns are all the fields of the rows but lists, in the order in which they first appear. EQP_OK, EQP_ERR_IO with
 * the path in the message, EQP_ERR_MEMORY. */
int eqp_report_finish(eqp_report *report, eqp_message *message);

/* A CSV file in the making: a header, then rows; comma, RFC 4180 quotes, line feeds, reals with 17 digits. */
typedef struct eqp_csv eqp_csv;

/* Starts a file that will be named dir/name (dir NULL: name), with its header, the line of columns (NULL: none); an
 * older file stays until eqp_csv_publish() or eqp_csv_finish(). EQP_OK, EQP_ERR_IO with the path in the message,
 * EQP_ERR_MEMORY. */
int eqp_csv_create(const char *dir, const char *name, const char *header, eqp_csv **csv, eqp_message *message);

/* Appends a row, a field for each column. EQP_OK: errors of the disk show up in eqp_csv_finish(). */
int eqp_csv_add(eqp_csv *csv, int n, const eqp_field *field);

/* Gives the file its name now, if it has not got it, and writes all rows that were added: for files that are read
 * while they grow, or that must be there when the program is killed. O(rows since the last call). EQP_OK, or EQP_ERR_IO
 * with the path in the message: then the rows since the last call are not in the file, and no more will be. */
int eqp_csv_publish(eqp_csv *csv, eqp_message *message);

/* Completes the file and gives it its name, once. EQP_OK, or EQP_ERR_IO with the path in the message. */
int eqp_csv_finish(eqp_csv *csv, eqp_message *message);

/* A file that was neither published nor finished is removed. NULL is legal. */
void eqp_csv_free(eqp_csv *csv);

/* Frees a local eqp_csv * at the end of its block. */
#define EQP_CSV_FREED __attribute__((cleanup(eqp_csv_drop)))
static inline void eqp_csv_drop(eqp_csv **csv)
{
    eqp_csv_free(*csv);
}

/* A table for people. */
typedef struct eqp_table eqp_table;

int eqp_table_create(int ncolumns, const char *const *header, eqp_table **table);

/* Appends cells, separated by tabs, row by row from left to right; "" is an empty one. EQP_OK or EQP_ERR_MEMORY. */
int eqp_table_add(eqp_table *table, const char *format, ...) EQP_PRINTF(2, 3);

/* The table as lines: the header, a rule, the rows, all columns aligned; columns that hold only numbers (with a unit
 * or a percent sign, or "-" for none) to the right. An incomplete last row is filled with empty cells. text: owned by
 * the caller. */
int eqp_table_text(const eqp_table *table, char **text);

/* The rows since the last call as lines, and forgets them: a table that is printed while it grows. The first call puts
 * header and rule before them and decides which columns stand to the right. Columns become wider for a longer cell from
 * then on; leading blanks in a header keep room for it. text: as eqp_table_text(); the table is unchanged on error. */
int eqp_table_take(eqp_table *table, char **text);

void eqp_table_free(eqp_table *table);

/* How far a run is. */
typedef struct eqp_progress {
    int64_t done, total;    /* steps of the run */
    double elapsed_seconds; /* wall seconds that `done` took */
    int width;              /* characters of the bar, 1 to 100 */
    const char *unit;       /* "step" (borrowed) */
    const char *note;       /* short text at the end, or NULL (borrowed) */
} eqp_progress;

/* Formats one line without its end: `[#####.....] 12/40 step, 0:07 elapsed, 0:16 left, note`; a longer one is cut. */
void eqp_progress_format(const eqp_progress *progress, size_t size, char *text);

#endif
