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

/* cost [n], owned by the caller: free(). Uniform: all the same. Else one iteration in five is heavy, 24 times as expensive
 * as the others on average, each of both within half of its mean: at the front, at the back, in the middle, or in four
 * runs that end with the quarters of the loop. That is what tables 4.5 to 4.7 of the thesis (schedule.h) say of its
 * integrands. The c.o.v. of static chunking with two ranks at the front is 1.16; scattered with eight 0.85, with two
 * 0.03, so there are about four runs. Guided scheduling gains 23 % with 16 ranks, so none of them is at the beginning:
 * its first chunk is that of static chunking. Parameters in nested loops, the integrand's difficulty the inner one, lie
 * so. The mean over all is `mean` seconds, exactly. EQP_OK, EQP_ERR_UNKNOWN for another word, EQP_ERR_MEMORY,
 * EQP_ERR_OVERFLOW. */
int loop_costs_make(const char *kind, int64_t n, double mean, uint64_t seed, double **cost);

/* Numbers >= 0 from a text file, separated by white space. Owned by the caller: free(). EQP_OK, or EQP_ERR_IO,
 * EQP_ERR_FORMAT, EQP_ERR_MEMORY with a message "FILE: ..." or "FILE:LINE: ..."; EQP_ERR_OVERFLOW. */
int loop_costs_read(const char *path, int64_t *n, double **cost, eqp_message *message);

#endif
