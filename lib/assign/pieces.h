/* SPDX-License-Identifier: BSD-3-Clause */
/* Many pieces of one curve, dealt out so that several loads come out even. */
#ifndef EQUIPOISE_ASSIGN_PIECES_H
#define EQUIPOISE_ASSIGN_PIECES_H

#include <stdint.h>

/* Cuts the curve into `pieces` pieces for each part (fewer if items are) of similar combined cost, which is the sum of
 * an item's loads as fractions of what all items have of each. The most expensive piece first, each goes to the part
 * in which it adds least to the sum of the squares of all relative loads. Source: V. Springel, R. Pakmor, O. Zier and
 * M. Reinecke, Simulating cosmic structure formation with the GADGET-4 code, MNRAS 506 (2021), domain decomposition:
 * the idea, with the loads of every time bin and memory as columns; how the loads of a part are combined is ours.
 * Local, deterministic, O(n ncolumns + pieces nparts^2 ncolumns).
 * load: [n][ncolumns] finite, >= 0; share: [nparts] or NULL; part: [n] unchanged on error
 * EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW or EQP_ERR_ARGUMENT. */
int eqp__pieces_assign(int64_t n, const double *load, int ncolumns, int nparts, const double *share, int64_t pieces,
                       int *part);

#endif
