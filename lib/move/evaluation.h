/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of an evaluation, for the files that fill and read it. */
#ifndef EQUIPOISE_MOVE_EVALUATION_H
#define EQUIPOISE_MOVE_EVALUATION_H

#include "needs.h"

/* A block of a phase; the set of needs knows it by its index in the phase. */
typedef struct eqp__block {
    int64_t number, bytes, elements;
    int home; /* -1: not declared yet */
} eqp__block;

typedef struct eqp__slot {
    int64_t number, index; /* index -1: empty */
} eqp__slot;

/* A phase by homes: only blocks needed away from their home, without the homes themselves. */
typedef struct eqp__ordered {
    int64_t n;
    int64_t *bytes, *elements, *first;
    int *home, *part;
} eqp__ordered;

typedef struct eqp__evaluated_phase {
    int back, ghosts;
    int64_t nblocks, capacity;
    eqp__block *block;
    int slot_bits;
    eqp__slot *slot; /* [2^slot_bits] open addressing */
    eqp_needs *needs;
    double *meanwhile; /* [parts] seconds of work that does not depend on it */
    eqp__ordered ordered;
} eqp__evaluated_phase;

/* A recently added need. */
typedef struct eqp__recent {
    int64_t number;
    int phase, part;
} eqp__recent;

struct eqp_evaluation {
    int nparts, nphases;
    double *load;
    double *speed; /* [nparts] mean 1; NULL: all equal */
    int64_t *common, *held;
    eqp_overhead overhead;
    eqp_memory memory;
    double *capacity; /* [nparts] bytes; NULL: unknown */
    double of_mean;   /* capacity of each part, relative to the mean need; 0: unknown */
    double *own;      /* [nparts] bytes needed for making maps, on the ranks that are these parts; NULL: unknown */
    eqp__recent *recent;
    eqp__evaluated_phase phase[EQP_PHASES_MAX];
    int is_ordered;  /* true if the members below and the orders of the phases are up to date */
    int64_t *ghosts; /* [nparts] */
    int64_t ghosts_total, ghosts_max;
    int neighbours_max;
};

/* Bytes of memory, including the order. Local. */
double eqp__evaluation_bytes(const eqp_evaluation *evaluation);

/* Sets memory needed in addition to eqp_evaluation_memory(): bytes [nparts]. Local. */
int eqp__evaluation_own(eqp_evaluation *evaluation, const double *bytes);

/* Index of a block, or -1. */
int64_t eqp__evaluation_find(const eqp__evaluated_phase *phase, int64_t number);

/* Index of a block, added if new. EQP_OK or EQP_ERR_MEMORY. */
int eqp__evaluation_index(eqp__evaluated_phase *phase, int64_t number, int64_t *index);

/* True if two declarations agree; a missing one agrees with all. */
int eqp__blocks_agree(const eqp__block *a, const eqp__block *b);

/* Orders the phases by homes and counts everything that does not depend on the plan. EQP_OK, EQP_ERR_UNKNOWN for a
 * needed block without home, EQP_ERR_MEMORY. */
int eqp__evaluation_order(eqp_evaluation *evaluation);

void eqp__evaluation_forget_order(eqp_evaluation *evaluation);

#endif
