/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs as a balancer sees them, step by step: for studies in virtual time. Errors end the program. */
#ifndef BENCH_HISTORY_H
#define BENCH_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* The owners of a step in the order of the curve. What they consist of has numbers that last: particles, nodes. */
typedef struct bench_frame {
    int64_t n;      /* owners */
    int64_t *first; /* [n + 1] of its items */
    int32_t *item;  /* [first[n]] */
    double *weight; /* [n] nanoseconds */
    double *point;  /* [n][3] */
    double *source; /* [n][3] mean place of what it interacts with */
    int64_t nsources;
    int32_t *home;      /* [nsources] the owner with whom it lives; of a cell of a tree its first owner */
    int32_t *last;      /* [nsources] of a cell its last owner */
    int32_t *above;     /* [nsources] the cell above a cell, or -1 */
    int32_t *bytes;     /* [nsources] that travel to a part that needs it */
    int64_t *pin_first; /* [n + 1] */
    int32_t *pin;       /* [pin_first[n]] sources, each once */
    int64_t pin_room;
} bench_frame;

typedef struct bench_history {
    int64_t nitems; /* numbers that were given out */
    int nframes;
    bench_frame *frame; /* [nframes] */
} bench_history;

/* Particles of a generator of barneshut that move under their gravity: groups of up to 16 own what is done for them, a
 * pair weighs 0.29 ns and a cell 0.65 ns. */
void bench_follow_particles(const char *generator, int nframes, bench_history *history);

/* Nodes of a run of dislocation with these options, on this rank alone; their segments' work is weighed by the app's
 * model with its initial costs. */
void bench_follow_network(int argc, char **argv, int nframes, bench_history *history);

void bench_history_free(bench_history *history);

/* Where the run of owners with the same part begins, for every owner: [n] owned by the caller, free(). */
int64_t *bench_pieces(const bench_frame *frame, const int *part);

/* True if all owners of a source have one part; else it belongs to the top of the tree. */
static inline bool bench_is_below(const bench_frame *f, const int64_t *piece, int64_t source)
{
    return piece[f->last[source]] <= f->home[source];
}

/* True if it lies right below the top, so that all parts have it. */
static inline bool bench_is_branch(const bench_frame *f, const int64_t *piece, int64_t source)
{
    return f->above[source] >= 0 && bench_is_below(f, piece, source) && !bench_is_below(f, piece, f->above[source]);
}

/* For those who make frames: room for all but pins, and one more pin of the last owner that has any. */
void bench_frame_make(bench_frame *frame, int64_t n, int64_t nitems, int64_t nsources);
void bench_frame_pin(bench_frame *frame, int64_t source);

#endif
