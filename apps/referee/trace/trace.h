/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded run of any code: costs, positions, communication and ranks of its items in each phase. Readers of five
 * formats create it; it does not use MPI. */
#ifndef RF_TRACE_H
#define RF_TRACE_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Most ranks of a trace, and most parts. */
#define RF_MOST_RANKS 65536

/* A message from item to item in a phase. */
typedef struct rf_edge {
    int64_t from, to; /* items, as numbered here */
    int64_t bytes;    /* -1: not said; then what is sent are the bytes of `from` */
} rf_edge;

/* Memory of items. A rank needs its own bytes, those that its items hold, the largest working set of one item, and each
 * block that its items share once. */
typedef struct rf_memory {
    double *held;        /* [n] bytes of an item on any rank; NULL: the trace has no memory */
    double *working;     /* [n] bytes while it is computed */
    int32_t *block;      /* [n] shared block, or -1 */
    int32_t nblocks;     /* blocks */
    double *block_bytes; /* [nblocks] */
    double *rank_bytes;  /* [nranks] of a rank itself; NULL: not said */
} rf_memory;

/* A file, by whatever name. */
typedef struct rf_source {
    dev_t device;
    ino_t inode;
} rf_source;

typedef struct rf_trace {
    const char *format; /* static */
    int64_t n;          /* items */
    int64_t *id;        /* [n] as the trace numbers them, ascending */
    char **name;        /* [n] what else they are called (owned), or NULL */
    bool *fixed;        /* [n] no method may move it; NULL: all may move */
    double *centre;     /* [n][3] or NULL: the trace has no positions */
    int64_t *bytes;     /* [n] that move with an item; NULL: not said */
    int64_t nphases;    /* >= 1 */
    int64_t *phase;     /* [nphases] as the trace numbers them, ascending */
    int64_t *like;      /* [nphases] first phase with the same loads, ranks and edges: itself, or one before */
    int64_t nrows;      /* phases that are like themselves */
    int64_t *row;       /* [nphases] of load and rank */
    double *load;       /* [nrows][n] -0.0 where an item was not there: rf_trace_load() */
    bool timed;         /* loads are seconds; else the trace does not say their unit */
    int32_t *rank;      /* [nrows][n] who computed it: rf_trace_rank(); NULL: not said */
    int nranks;         /* as declared, or as far as ranks occur; 0: not said */
    rf_memory memory;
    int64_t ncommon;     /* edges of every phase: the first ones */
    int64_t *edge_first; /* [nphases + 1] into edge, from ncommon on: those of one phase */
    rf_edge *edge;
    int64_t left_out;    /* messages that are no edges between items */
    bool names_are_json; /* names are vt's entities */
    eqp_message note;    /* what was not read, for the user; empty: all was */
    int64_t nsources;    /* files that were read */
    rf_source *source;   /* [nsources] */
} rf_trace;

/* Facts about a trace that the caller supplies. */
typedef struct rf_trace_known {
    const char *edges; /* a text file of edges, or NULL */
    int64_t phase;     /* phase whose positions are kept; -1: the first one */
    int nranks;        /* declared number of ranks; 0: not declared */
} rf_trace_known;

/* Reads the files of one trace; a folder means all files in it. The content decides the format. paths: [n] n >= 1.
 * EQP_OK, or a code with a line that begins with the place. */
int rf_trace_read(int n, const char *const *paths, const rf_trace_known *known, rf_trace **trace, eqp_message *message);

/* Loads and ranks of the phase of an index: [n]. */
static inline const double *rf_trace_load(const rf_trace *trace, int64_t phase)
{
    return trace->load + trace->row[phase] * trace->n;
}

static inline const int32_t *rf_trace_rank(const rf_trace *trace, int64_t phase)
{
    return trace->rank + trace->row[phase] * trace->n;
}

/* True if a path leads to a file that the trace was read from. */
bool rf_trace_reads(const rf_trace *trace, const char *path);

/* NULL is legal. */
void rf_trace_free(rf_trace *trace);

/* The index of a phase's number, or -1. */
int64_t rf_trace_find_phase(const rf_trace *trace, int64_t number);

/* Writes a map as vt's files of load data, one for each part, so that vt's OfflineLB follows it: tasks of the phases up
 * to `at` stay where they were, those of later ones are with their part. Where the trace ends with `at`, one phase more
 * is written. pattern: a path with %p in it, which the number of the part replaces. part: [n] 0 to nranks - 1. Every
 * file appears whole or not at all. EQP_OK, or a code with a line. */
int rf_vt_write(const rf_trace *trace, int64_t at, const int *part, const char *pattern, eqp_message *message);

/* The name of one part's file. Owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
int rf_vt_path(const char *pattern, int part, char **path);

#endif
