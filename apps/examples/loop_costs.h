/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads of a loop: what each iteration costs. */
#ifndef LOOP_COSTS_H
#define LOOP_COSTS_H

#include <equipoise/base.h>

#include <stdbool.h>

/* The words for loop_costs_make(), separated by '|'. */
#define LOOP_COSTS_KINDS "uniform|front|back|centre|scatter"

/* Whether an iteration is heavy whose middle lies at `place`, a fraction of the loop. kind: number of the word. */
bool loop_costs_is_heavy(int kind, double place);

/* cost [n], owned by the caller: free(). Uniform: all the same. Else one iteration in five is heavy, 24 times as dear
 * as the others on average, each of both within half of its mean: at the front, at the back, in the middle, or in four
 * runs that begin with the quarters of the loop. That is what the c.o.v. of static chunking in tables 4.5 and 4.6 of
 * the thesis (schedule.h) says of its integrands: with two ranks at the front 1.16, with eight scattered 0.85. The mean
 * over all is `mean` seconds, exactly. EQP_OK, EQP_ERR_UNKNOWN for another word, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW. */
int loop_costs_make(const char *kind, int64_t n, double mean, uint64_t seed, double **cost);

/* Numbers >= 0 from a text file, separated by white space. Owned by the caller: free(). EQP_OK, or EQP_ERR_IO,
 * EQP_ERR_FORMAT, EQP_ERR_MEMORY with a message "FILE: ..." or "FILE:LINE: ..."; EQP_ERR_OVERFLOW. */
int loop_costs_read(const char *path, int64_t *n, double **cost, eqp_message *message);

#endif
