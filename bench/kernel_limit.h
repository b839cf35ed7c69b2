/* SPDX-License-Identifier: BSD-3-Clause */
/* Least cost of an interaction's arithmetic: bare loops over sources in the L1 cache. */
#ifndef BENCH_KERNEL_LIMIT_H
#define BENCH_KERNEL_LIMIT_H

#include <stdbool.h>

#define LIMIT_SOURCES 512 /* of a particle each; half as many cells */
#define LIMIT_TARGETS 48

/* Sources: x y z m, then the six second moments and the trace of cells. Targets: x y z, then their field. */
typedef struct limit_data {
    _Alignas(64) double source[11][LIMIT_SOURCES];
    _Alignas(64) float source_single[11][LIMIT_SOURCES];
    double target[3][LIMIT_TARGETS], field[4][LIMIT_TARGETS];
    float target_single[3][LIMIT_TARGETS];
} limit_data;

/* Computes all interactions once, softened with eps2. */
typedef void (*limit_loop)(limit_data *data, double eps2);

/* The same with different numbers of targets at a time; the fastest is the limit. NULL-terminated. */
#define LIMIT_SHAPES 4
typedef struct limit_row {
    const char *name;
    bool (*runs_here)(void);
    limit_loop pair[2][LIMIT_SHAPES]; /* double, single */
    limit_loop cell[2][LIMIT_SHAPES];
} limit_row;

extern const limit_row limit_table[];
extern const int limit_table_size;

#endif
