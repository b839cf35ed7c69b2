/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded run of any code: costs, positions, communication and ranks of its items in each phase. Readers of five
 * formats create it, without MPI. */
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
    int64_t bytes;    /* -1: unknown; then the bytes of `from` are sent */
} rf_edge;

/* Memory of items. A rank needs its own bytes, the bytes of its items, the largest working set of one item, and each
 * shared block of its items once. */
typedef struct rf_memory {
    double *held;        /* [n] bytes of an item on any rank; NULL: the trace has no memory */
    double *working;     /* [n] bytes while it is computed */
    int32_t *block;      /* [n] shared block, or -1 */
    int32_t nblocks;     /* blocks */
    double *block_bytes; /* [nblocks] */
    double *rank_bytes;  /* [nranks] of a rank itself; NULL: unknown */
} rf_memory;

/* Identifies a file independent of its name. */
typedef struct rf_source {
    dev_t device;
    ino_t inode;
} rf_source;

typedef struct rf_trace {
    const char *format; /* static */
    int64_t n;          /* items */
    int64_t *id;        /* [n] in the trace's numbers, ascending */
    char **name;        /* [n] names (owned), or NULL */
    bool *fixed;        /* [n] true for items that no method may move; NULL: all may move */
    double *centre;     /* [n][3] or NULL: the trace has no positions */
    int64_t *bytes;     /* [n] that move with an item; NULL: unknown */
    int64_t nphases;    /* >= 1 */
    int64_t *phase;     /* [nphases] in the trace's numbers, ascending */
    int64_t *like;      /* [nphases] first phase with the same loads, ranks and edges */
    int64_t nrows;      /* phases with their own row */
    int64_t *row;       /* [nphases] index of the row of load and rank */
    double *load;       /* [nrows][n] -0.0 for absent items: rf_trace_load() */
    bool timed;         /* loads are in seconds; else in an unknown unit */
    int32_t *rank;      /* [nrows][n] rank that computed it: rf_trace_rank(); NULL: unknown */
    int nranks;         /* as declared, else as recorded; 0: unknown */
    rf_memory memory;
    int64_t ncommon;     /* edges of every phase, which come first */
    int64_t *edge_first; /* [nphases + 1] into edge, from ncommon on, by phase */
    rf_edge *edge;
    int64_t left_out;    /* messages that are not between items */
    bool names_are_json; /* names are vt's entities */
    eqp_message note;    /* parts that were not read, for the user; empty: all was read */
    int64_t nsources;    /* files that were read */
    rf_source *source;   /* [nsources] */
} rf_trace;

/* Data about a trace from the caller. */
typedef struct rf_trace_known {
    const char *edges; /* a text file of edges, or NULL */
    int64_t phase;     /* phase whose positions are kept; -1: the first one */
    int nranks;        /* declared number of ranks; 0: undeclared */
} rf_trace_known;

/* Reads the files of one trace; a folder means all of its files. The content determines the format. paths: [n], n >= 1.
 * EQP_OK, or a code with a message that begins with the position. */
int rf_trace_read(int n, const char *const *paths, const rf_trace_known *known, rf_trace **trace, eqp_message *message);

/* Loads and ranks of a phase, by its index: [n]. */
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

/* NULL allowed. */
void rf_trace_free(rf_trace *trace);

/* Index of a phase by its number, or -1. */
int64_t rf_trace_find_phase(const rf_trace *trace, int64_t number);

/* Writes a map as vt's load data, one file per part, for vt's OfflineLB. Tasks stay in place in the phases up to `at`
 * and are on their parts in later ones. If the trace ends with `at`, one more phase is written. pattern: a path in
 * which %p is replaced by the part. part: [n] 0 to nranks - 1. Files are written atomically. EQP_OK, or a code with a
 * message. */
int rf_vt_write(const rf_trace *trace, int64_t at, const int *part, const char *pattern, eqp_message *message);

/* Name of a part's file. Owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
int rf_vt_path(const char *pattern, int part, char **path);

#endif
