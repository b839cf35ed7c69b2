/* SPDX-License-Identifier: BSD-3-Clause */
/* The exact memory of parts: the bytes of their items, the largest working set of one item, each shared block once, and
 * the rank's own bytes. Local. */
#ifndef RF_DRIVE_MEMORY_H
#define RF_DRIVE_MEMORY_H

#include "../trace/trace.h"

#include <equipoise/balancer.h>

/* True if the trace tells what items need, or, with a cap, at least their bytes. */
bool rf_memory_known(const rf_trace *trace, bool capped);

/* Bytes that an item holds on any part. */
double rf_memory_held(const rf_trace *trace, int64_t item);

/* Bytes of each part without items: [nparts]. If nparts differs from the number of ranks, every part gets the largest
 * value of a rank. */
void rf_memory_own(const rf_trace *trace, int nparts, double *bytes);

/* Bytes that each part needs. part: [n] of each item. bytes: [nparts] EQP_OK, EQP_ERR_MEMORY. O(n + nparts). */
int rf_memory_of_parts(const rf_trace *trace, const int *part, int nparts, double *bytes);

/* Capacities of the parts: [nparts] bytes. A multiple of the mean need is taken of the least possible need, with each
 * block in one part. EQP_OK, EQP_ERR_MEMORY. */
int rf_memory_capacity(const rf_trace *trace, const eqp_capacities *capacities, int nparts, double *bytes);

/* Sets *proof to the lower bound that no map can meet; "" if no bound is broken. EQP_OK, EQP_ERR_MEMORY. */
int rf_memory_prove(const rf_trace *trace, const eqp_capacities *capacities, int nparts, eqp_message *proof);

#endif
