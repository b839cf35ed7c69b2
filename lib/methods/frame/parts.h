/* SPDX-License-Identifier: BSD-3-Clause */
/* The two halves of eqp_parts_load(), between which ranks can reduce their sums. */
#ifndef EQUIPOISE_METHODS_FRAME_PARTS_H
#define EQUIPOISE_METHODS_FRAME_PARTS_H

#include <equipoise/more/assign.h>

/* Loads and item counts of the parts, in new arrays that the caller frees, also after an error. EQP_ERR_ARGUMENT for
 * invalid shares, parts or weights. */
int eqp__part_loads_add(int64_t n, const double *weight, const int *part, int nparts, const double *share,
                        double **load, int64_t **count);

/* Summary of load[nparts] and count[nparts]. */
void eqp__part_loads_finish(int nparts, const double *share, const double *load, const int64_t *count,
                            eqp_part_loads *loads);

/* Lower bound of the imbalance of any assignment: the largest item alone in the part with the largest share. */
double eqp__imbalance_floor(double largest_item, double mean, int nparts, const double *share);

#endif
