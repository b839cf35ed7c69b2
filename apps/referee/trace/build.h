/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace in the making: readers tell of items row by row, in any order. Private to this folder. */
#ifndef RF_BUILD_H
#define RF_BUILD_H

#include "keys.h"
#include "trace.h"

#include <equipoise/more/base.h>

#include <stdio.h>

/* Not specified. */
#define RF_NONE INT64_MIN

/* Memory of an item in bytes, 0 to 2^60. */
typedef struct rf_needs {
    bool known;
    double held, working; /* wherever it is, and while it is computed */
    double block_bytes;   /* of its shared block */
    int64_t block;        /* number of that block, >= 0; else there is none */
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
    rf_needs needs; /* the largest of all phases count */
} rf_row;

/* A row as it is kept. */
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

/* Properties of an item in all phases. */
typedef struct rf_kept_item {
    double centre[3];
    int64_t centre_phase; /* whose; RF_NONE: it has no position */
    rf_needs needs;
    int64_t bytes;
    char *name;
    bool seen, fixed;
} rf_kept_item;

/* Phases of a file that repeat the phase before them, with its rows of the build. */
typedef struct rf_kept_repeat {
    int64_t first, last, row, end;
} rf_kept_repeat;

/* A file and the rank that wrote it. */
typedef struct rf_kept_file {
    const char *path; /* borrowed */
    int64_t rank;     /* whose file it is; RF_NONE: not said */
} rf_kept_file;

/* Readers set `number` to the place in the file of what they read. */
typedef struct rf_build {
    int64_t wanted;
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
    bool ranked, sized, placed, named, held, needy; /* there are such rows */
    bool untimed;                                   /* there are loads of no known unit */
    int64_t nranks;                                 /* as a file declares; RF_NONE: none does */
    rf_kept_repeat *repeat;
    int64_t nrepeats, repeat_room, nrepeated, left_out;
    eqp_message note;
    int nnotes;
} rf_build;

/* wanted: as rf_trace_read(). */
int rf_build_create(int64_t wanted, rf_build **build);
void rf_build_free(rf_build *build);

/* Begins a file: path is borrowed until the build is freed. Messages begin with it and with build->number of what the
 * unit says ("line", "task"). */
int rf_build_open(rf_build *build, const char *path, const char *unit);

/* "PATH: UNIT NUMBER: WHAT" */
void rf_build_say(const char *path, const char *unit, int64_t number, const char *what, eqp_message *message);
/* The same of the present place. Returns code. */
int rf_build_refuse(const rf_build *build, int code, eqp_message *message, const char *format, ...) EQP_PRINTF(4, 5);

/* Adds a row; values are checked. index: number of the item, in the order of appearance; may be NULL. */
int rf_build_row(rf_build *build, const rf_row *row, int64_t *index, eqp_message *message);

/* A name for an item that rf_build_row() has numbered (owned by the build from now on, even on error); ignored where it
 * has one. */
int rf_build_name(rf_build *build, int64_t index, char *name);

/* An edge by the items' own numbers. phase: RF_NONE: of every phase. bytes: >= 0, or RF_NONE. */
int rf_build_edge(rf_build *build, int64_t from, int64_t to, int64_t bytes, int64_t phase, eqp_message *message);

/* Declares the number of ranks. */
int rf_build_nranks(rf_build *build, int64_t nranks, eqp_message *message);

/* Declares the unit of the loads that follow: seconds, or unknown. The same in all files. */
int rf_build_timed(rf_build *build, bool timed, eqp_message *message);

/* Makes the trace. lenient: edges to unknown items are left out and counted, not refused. nranks: declared by the user;
 * 0: not declared. */
int rf_build_finish(rf_build *build, const char *format, bool lenient, int nranks, rf_trace **trace,
                    eqp_message *message);

/* Phases first to last of the file at hand are like the one before them, which had the rows from `row` to `end`:
 * numbers of rows. */
int rf_build_repeat(rf_build *build, int64_t first, int64_t last, int64_t row, int64_t end);

/* Something for the user: trace->note. The first two count. */
void rf_build_note(rf_build *build, const char *format, ...) EQP_PRINTF(2, 3);

/* All of a file at once: owned by the caller. */
int rf_read_bytes(const char *path, char **bytes, int64_t *size, eqp_message *message);

/* One end of a message of vt. */
typedef struct rf_vt_end {
    int64_t id;                 /* RF_NONE: by its name */
    int64_t name[RF_KEY_WORDS]; /* kind, sequence number, home or -1 */
} rf_vt_end;

typedef struct rf_vt_message {
    rf_vt_end from, to;
    int64_t bytes, phase;
} rf_vt_message;

/* Names of tasks of vt in all files, and the messages that refer to them. Starts from zeros but keys.more. */
typedef struct rf_vt_names {
    rf_keys keys;
    int64_t *id; /* [keys.n] of the task, or RF_NONE */
    rf_vt_message *message;
    int64_t room, nmessages, message_room;
} rf_vt_names;

/* The readers: of a file that was told by its beginning. */
int rf_read_text(rf_build *build, const char *path, bool edges_only, eqp_message *message);
/* True if the first line that is no comment is the header of a table of items or edges. */
bool rf_is_table(const char *text);
int rf_read_boxes(rf_build *build, const char *path, eqp_message *message);
/* EQP_ERR_UNKNOWN for JSON of another kind. names: of the files before this one. */
int rf_read_vt(rf_build *build, const char *path, rf_vt_names *names, eqp_message *message);

/* Adds the messages whose ends have no number of their own, when all files are read. */
int rf_vt_resolve(rf_build *build, const rf_vt_names *names, eqp_message *message);
void rf_vt_names_free(rf_vt_names *names);
int rf_read_hdf5(rf_build *build, const char *path, eqp_message *message);
/* known: the objects of the dumps before this one. */
int rf_read_charm(rf_build *build, const char *path, int64_t phase, rf_keys *known, eqp_message *message);

#endif
