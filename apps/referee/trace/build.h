/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace under construction: readers add items row by row, in any order. Private to this folder. */
#ifndef RF_BUILD_H
#define RF_BUILD_H

#include "trace.h"

#include <equipoise/more/base.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Frees a local array at the end of its block; NULL is legal. */
#define RF_FREED __attribute__((cleanup(rf_array_free)))
static inline void rf_array_free(void *address)
{
    void *array;

    memcpy(&array, address, sizeof array);
    free(array);
}

/* ---- Keys: integers, or tuples of integers, numbered from 0 in order of appearance ---- */

enum { RF_KEY_WORDS = 4 }; /* of a tuple */

/* Start from zeros. */
typedef struct rf_keys {
    int more; /* words of a key beyond its first: 0, or RF_KEY_WORDS - 1 */
    int64_t n, room;
    int64_t *word;  /* [n][1 + more] */
    int64_t *slot;  /* [size] number + 1, or 0 */
    int64_t size;   /* a power of two, or 0 */
    int64_t newest; /* number of the last lookup */
    uint64_t seed;  /* of the hash: random, so that no file can be made to collide; 0: not set */
    int64_t probes; /* slots probed so far */
} rf_keys;

/* Number of a key, added if it is new. Amortised O(1). EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for more than 2^31 -
 * 1. */
int rf_keys_take(rf_keys *keys, const int64_t *word, int64_t *number);
/* Number of a key, or -1. */
int64_t rf_keys_find(const rf_keys *keys, const int64_t *word);
void rf_keys_free(rf_keys *keys);

/* ---- The build ---- */

/* Not specified. */
#define RF_NONE INT64_MIN

/* Memory of an item in bytes, 0 to 2^60. */
typedef struct rf_needs {
    bool known;
    double held, working; /* at all times, and while it is computed */
    double block_bytes;   /* of its shared block */
    int64_t block;        /* number of that block, >= 0; negative: none */
    double rank_bytes;    /* of its rank itself */
} rf_needs;

/* A row: an item in a phase. */
typedef struct rf_row {
    int64_t item;     /* any number >= 0 */
    int64_t phase;    /* >= 0 */
    double load;      /* finite, >= 0 */
    int64_t rank;     /* 0 to RF_MOST_RANKS - 1, or RF_NONE */
    int64_t bytes;    /* >= 0, or RF_NONE */
    double centre[3]; /* finite */
    bool placed;      /* centre is known */
    bool fixed;
    rf_needs needs; /* the largest values of all phases count */
} rf_row;

typedef struct rf_kept_row {
    int32_t item, phase, rank;
    double load;
    int64_t number; /* in its file */
    int32_t path;
} rf_kept_row;

typedef struct rf_kept_edge {
    int32_t from, to, phase; /* phase -1: every one */
    int64_t bytes;
    int64_t number;
    int32_t path;
} rf_kept_edge;

typedef struct rf_kept_item {
    double centre[3];
    int64_t centre_phase; /* phase of the position; RF_NONE: no position */
    rf_needs needs;
    int64_t bytes;
    char *name;
    bool seen, fixed;
} rf_kept_item;

/* Phases of a file that repeat the previous phase, with that phase's rows of the build. */
typedef struct rf_kept_repeat {
    int64_t first, last, row, end;
} rf_kept_repeat;

/* A file and the rank that wrote it. */
typedef struct rf_kept_file {
    const char *path; /* borrowed */
    int64_t rank;     /* of the file; RF_NONE: unknown */
} rf_kept_file;

/* Readers set `number` to their position in the file. */
typedef struct rf_build {
    int64_t wanted;
    eqp_message *message; /* of the first error; borrowed */
    rf_keys items, phases, blocks;
    double *block_bytes; /* [blocks.n] */
    double *rank_bytes;  /* [rank_room] */
    rf_kept_item *item;
    rf_kept_row *row;
    rf_kept_edge *edge;
    int64_t item_room, nrows, row_room, nedges, edge_room, block_room, rank_room;
    rf_kept_file *file;
    int64_t npaths, path_room;
    const char *unit;
    int64_t number;
    bool ranked, sized, placed, named, held, needy; /* some rows have these */
    bool untimed;                                   /* some loads have no known unit */
    int64_t nranks;                                 /* declared by a file; RF_NONE: undeclared */
    rf_kept_repeat *repeat;
    int64_t nrepeats, repeat_room, nrepeated, left_out;
    eqp_message note;
    int nnotes;
} rf_build;

/* wanted, message: as rf_trace_read(). */
int rf_build_create(int64_t wanted, eqp_message *message, rf_build **build);
void rf_build_free(rf_build *build);

/* Begins a file; path is borrowed until the build is freed. Messages begin with the path and build->number, in units
 * such as "line" or "task". */
int rf_build_open(rf_build *build, const char *path, const char *unit);

/* Sets the message to "PATH: UNIT NUMBER: WHAT", or for number RF_NONE to "PATH: WHAT". Returns EQP_ERR_DATA. */
int rf_build_refuse_at(const rf_build *build, int64_t file, int64_t number, const char *format, ...) EQP_PRINTF(4, 5);
/* The same for the present position, with another code. */
int rf_build_refuse(const rf_build *build, int code, const char *format, ...) EQP_PRINTF(3, 4);

/* Refuses a value in a function with nothing to free. */
#define RF_REFUSE_IF(condition, build, ...)                                                                            \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            return rf_build_refuse(build, __VA_ARGS__);                                                                \
        }                                                                                                              \
    } while (0)

/* Adds a row and checks its values. index: number of the item, in order of appearance; NULL allowed. */
int rf_build_row(rf_build *build, const rf_row *row, int64_t *index);

/* Names an item numbered by rf_build_row(). The build owns the name, even on error; ignored if the item has one. */
int rf_build_name(rf_build *build, int64_t index, char *name);

/* Adds an edge between items by their own numbers. phase: RF_NONE: every phase. bytes: >= 0, or RF_NONE. */
int rf_build_edge(rf_build *build, int64_t from, int64_t to, int64_t bytes, int64_t phase);

int rf_build_nranks(rf_build *build, int64_t nranks);

/* Declares the unit of the following loads: seconds, or unknown. It must be the same in all files. */
int rf_build_timed(rf_build *build, bool timed);

/* Makes the trace. lenient: edges to unknown items are omitted and counted, not refused. nranks: declared by the user;
 * 0: undeclared. */
int rf_build_finish(rf_build *build, const char *format, bool lenient, int nranks, rf_trace **trace);

/* Declares that phases first to last of the present file equal the previous phase, which had the rows from `row` to
 * `end`. */
int rf_build_repeat(rf_build *build, int64_t first, int64_t last, int64_t row, int64_t end);

/* Adds a note for the user to trace->note; only the first two are kept. */
void rf_build_note(rf_build *build, const char *format, ...) EQP_PRINTF(2, 3);

/* Reads a whole file: owned by the caller. */
int rf_read_bytes(const char *path, char **bytes, int64_t *size, eqp_message *message);

/* One end of a vt message. */
typedef struct rf_vt_end {
    int64_t id;                 /* RF_NONE: by its name */
    int64_t name[RF_KEY_WORDS]; /* kind, sequence number, home or -1 */
} rf_vt_end;

typedef struct rf_vt_message {
    rf_vt_end from, to;
    int64_t bytes, phase;
} rf_vt_message;

/* Names of vt's tasks in all files, and messages that refer to them. Start from zeros except keys.more. */
typedef struct rf_vt_names {
    rf_keys keys;
    int64_t *id; /* [keys.n] of the task, or RF_NONE */
    rf_vt_message *message;
    int64_t room, nmessages, message_room;
} rf_vt_names;

/* ---- Lines of text, their fields, and numbers in fields ---- */

/* A file that is read line by line. Zeros: none. */
typedef struct rf_lines {
    FILE *stream;
    char *line; /* without its line end; initially NULL */
    size_t room;
    int64_t number;
} rf_lines;

/* Begins a file of the build. */
int rf_lines_open(rf_build *build, const char *path, rf_lines *lines);
void rf_lines_close(rf_lines *lines);

/* Reads the next line; *end is set at the end of the file. Passes its number to the build. EQP_OK, EQP_ERR_IO,
 * EQP_ERR_FORMAT for binary data. */
int rf_lines_next(rf_lines *lines, rf_build *build, bool *end);

/* Cuts off the first field at a separator (' ': any run of blanks), without surrounding blanks and quotes; NULL after
 * the last one. */
char *rf_field_next(char **rest, char separator);

/* Separator of a header: tab, semicolon or comma, else blanks. */
char rf_separator_of(const char *header);

/* Parses a field as a number; name: of the column. */
int rf_field_int(const rf_build *build, const char *field, const char *name, int64_t *value);
int rf_field_real(const rf_build *build, const char *field, const char *name, double *value);

/* ---- Readers, selected by the beginning of a file ---- */
int rf_read_text(rf_build *build, const char *path, bool edges_only);
/* True if the first non-comment line is the header of a table of items or edges. */
bool rf_is_table(const char *text);
int rf_read_boxes(rf_build *build, const char *path);
/* EQP_ERR_UNKNOWN for other JSON. names: of the previous files. */
int rf_read_vt(rf_build *build, const char *path, rf_vt_names *names);

/* Adds the messages whose ends are known by name only, after all files were read. */
int rf_vt_resolve(rf_build *build, const rf_vt_names *names);
void rf_vt_names_free(rf_vt_names *names);
int rf_read_hdf5(rf_build *build, const char *path);
/* known: objects of the previous dumps. */
int rf_read_charm(rf_build *build, const char *path, int64_t phase, rf_keys *known);

#endif
