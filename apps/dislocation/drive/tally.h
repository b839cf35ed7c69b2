/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums over ranks of amounts by number: a cell or a part, with another part. */
#ifndef DD_TALLY_H
#define DD_TALLY_H

#include <mpi.h>
#include <stdint.h>

/* An amount, and the number of nodes that are ends in it. */
typedef struct dd_tally {
    int64_t number;
    int64_t amount, ends;
} dd_tally;

/* Zeroed: empty. */
typedef struct dd_tallies {
    int64_t n, room;
    dd_tally *of; /* owned: free() */
} dd_tallies;

/* A number made of a high part below 2^47 and a part of the map below 2^16. */
int64_t dd_tally_number(int64_t high, int part);
int64_t dd_tally_high(int64_t number);
int dd_tally_part(int64_t number);

/* Adds to the amount of a number. Amortised O(1). EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_tally_add(dd_tallies *list, int64_t number, int64_t amount, int64_t ends);

/* Sends each amount to one rank, the same rank for equal high parts, and adds amounts of equal numbers: each number
 * once, ascending. Collective. */
int dd_tallies_gather(MPI_Comm comm, dd_tallies *list);

#endif
