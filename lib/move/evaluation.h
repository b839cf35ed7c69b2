/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of an evaluation, for the files that fill and read it. */
#ifndef EQUIPOISE_MOVE_EVALUATION_H
#define EQUIPOISE_MOVE_EVALUATION_H

#include "needs.h"

#include <stddef.h>
#include <stdint.h>

/** Largest number of plans of eqp__exchange_plans(). */
#define EQP_EXCHANGE_PLANS_MAX 18

/** Lists the plans worth trying for a number of parts and a network: every number of stages with broadcast 0, 4 and 16,
 * each with and without shared memory if `node` > 1 divides the parts. plan: [EQP_EXCHANGE_PLANS_MAX]. Simpler plans
 * come first; of plans that coincide for few parts only the simplest is listed. Local. Returns the number of plans, at
 * least 1, or EQP_ERR_ARGUMENT unless there are 1 to 65,536 parts. */
int eqp__exchange_plans(int nparts, const eqp_network *network, eqp_exchange_plan *plan);

/** One phase of an exchange: blocks, their homes and sizes, and the parts that need them or contribute to them. */
typedef struct eqp_phase {
    int back; /**< 0: out; 1: back */
    int64_t nblocks;
    const int64_t *bytes; /**< [nblocks] >= 0 (borrowed) */
    const int *home;      /**< [nblocks] part, ascending (borrowed) */
    const int64_t *first; /**< [nblocks + 1] into part (borrowed) */
    const int *part; /**< parts that need or contribute to each block, ascending; its home may be listed at no cost */
} eqp_phase;

/** Traffic of every part in one phase. */
typedef struct eqp_traffic {
    int64_t *messages_sent;     /**< [nparts] */
    int64_t *messages_received; /**< [nparts] */
    int64_t *bytes_sent;        /**< [nparts] */
    int64_t *bytes_received;    /**< [nparts] */
    double *seconds; /**< [nparts] sum over the stages of alpha max(messages) + beta max(bytes), of sent and received;
                          the seconds of an allgather if a stage is one */
    double *memory;  /**< [nparts] bytes that each part needs by eqp_evaluation_memory(); filled only by
                          eqp__evaluation_by_plan() */
} eqp_traffic;

/** Counts an allgather whose result every part keeps, such as the top of a tree. Adds to *traffic: ceil(log2 P)
 * messages out and in, and all bytes except the part's own as received and as sent; nothing if the total is 0 bytes.
 * Local, O(nparts).
 * \param[in]  bytes  [nparts] >= 0 (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_OVERFLOW */
int eqp__exchange_count_all(const int64_t *bytes, int nparts, const eqp_network *network, const eqp_traffic *traffic);

/** Sets the speeds of the parts: with speed 2 a load takes half its seconds. Loads stay as they were added; from now on
 * `load_max`, `step_seconds` and `imbalance` refer to load / speed, and `load_mean` is the time of an even division:
 * the sum of loads over the sum of speeds. Local, O(nparts).
 * \param[in] speed  [nparts] finite and > 0, relative to their mean (copied); NULL: all equal
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for a speed out of its range; unchanged on error */
int eqp__evaluation_speeds(eqp_evaluation *evaluation, const double *speed);

/** Sets the overhead of a step in addition to loads and phases; default none. Speeds apply to it as to loads. Not
 * packed. Local, O(1).
 * \param[in] overhead  (copied); NULL: none
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for costs or counts out of their range; unchanged on error */
int eqp__evaluation_overhead(eqp_evaluation *evaluation, const eqp_overhead *overhead);

/** The loads so far: [nparts], borrowed. Local. */
const double *eqp__evaluation_loads(const eqp_evaluation *evaluation);

/** Evaluates one plan. If `traffic` is not NULL, it also adds every part's traffic to its arrays; `seconds` then
 * include overhead and exclude hidden seconds. Local, O(needs x stages). The evaluation may be extended afterwards.
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_UNKNOWN for a needed block that was not declared */
int eqp__evaluation_by_plan(eqp_evaluation *evaluation, const eqp_network *network, const eqp_exchange_plan *plan,
                            const eqp_traffic *traffic, eqp_evaluated *result);

/** Packs the evaluation into bytes, for eqp__evaluation_merge() on another rank. *bytes: owned by the caller, free().
 * Equal evaluations give equal bytes, however they were filled; the bytes end with a checksum. Local, O(needs + blocks
 * log blocks).
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY */
int eqp__evaluation_pack(eqp_evaluation *evaluation, size_t *size, void **bytes);

/** Adds a packed evaluation: loads, overlapped seconds, elements held and common bytes add up; blocks and needs are
 * merged. A block declared in both must be the same in both. Local.
 * \return EQP_OK; EQP_ERR_FORMAT for bytes that are damaged or not from an evaluation, EQP_ERR_ARGUMENT for other
 * parts or phases, EQP_ERR_DATA for blocks that differ, all with nothing changed; or EQP_ERR_MEMORY, after which the
 * same bytes may be merged again */
int eqp__evaluation_merge(eqp_evaluation *evaluation, size_t size, const void *bytes);

/* A block of a phase; needs refer to it by its index in the phase. */
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
    eqp__needs *needs;
    double *meanwhile; /* [parts] seconds of work that does not depend on it */
    eqp__ordered ordered;
} eqp__evaluated_phase;

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
