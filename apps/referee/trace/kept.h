/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows kept by a build: build.c fills it, finish.c makes tables of it. */
#ifndef RF_KEPT_H
#define RF_KEPT_H

#include "build.h"
#include "keys.h"

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

struct rf_build {
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
};

/* "PATH: UNIT NUMBER: WHAT" */
void rf_build_say(const char *path, const char *unit, int64_t number, const char *what, eqp_message *message);

#endif
