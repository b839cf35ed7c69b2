/* SPDX-License-Identifier: BSD-3-Clause */
/* A periodic network repeated: copies of its box side by side in a box that is as many times larger. Where an arm left
 * the box it leads to the next copy. Every rank that has the base network makes its own range of tiles. */
#ifndef DD_TILE_H
#define DD_TILE_H

#include "network/node.h"

#include <equipoise/error.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct dd_tiling {
    int count[3];          /* tiles along each axis; tile number x + count[0] (y + count[1] z) */
    double low[3], box[3]; /* of the base; an edge of 0: not periodic, one tile */
    uint64_t span;         /* tags per tile, of indices or of domains */
    bool by_domain;        /* indices do not fit into 32 bits: the domain tells tiles apart */
} dd_tiling;

/* How tags of copies follow from those of the base: tile * span + index in the same domain where that fits into 32 bits
 * for all, else tile * span + domain with the same index. O(n). EQP_ERR_ARGUMENT for more than one tile along an axis
 * that is not periodic, EQP_ERR_OVERFLOW where neither fits. */
int dd_tiling_init(dd_tiling *tiling, const dd_network *base, const int count[3], const double low[3],
                   const double box[3]);

int64_t dd_tiling_count(const dd_tiling *tiling);
/* The large box, with the same centre as the base. */
void dd_tiling_box(const dd_tiling *tiling, double low[3], double box[3]);
dd_tag dd_tiling_tag(const dd_tiling *tiling, int64_t tile, dd_tag tag);

/* Adds tiles [first, first + n) to a network. Neighbours are nearest images; homes are 0, all else is copied. O(nodes).
 * base: the network of the init call, with all neighbours of the nodes; not `network` (borrowed). EQP_OK or
 * EQP_ERR_MEMORY. */
int dd_tiling_make(const dd_tiling *tiling, const dd_network *base, int64_t first, int64_t n, dd_network *network);

#endif
