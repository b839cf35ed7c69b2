/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a block: a head, then records of children or particles. Numbers are in the machine's own format: the
 * ranks of one run are alike. */
#ifndef BH_LET_FORMAT_H
#define BH_LET_FORMAT_H

#include "internal.h"

typedef enum bh__block_kind { BH_BLOCK_FAMILY = 0x66, BH_BLOCK_LEAF = 0x6c } bh__block_kind;

typedef struct bh__block_head {
    int64_t id; /* bh_block_id() of the opened cell, or of the leaf */
    int32_t kind;
    int32_t count; /* of records */
} bh__block_head;

typedef struct bh__block_child {
    int64_t count; /* particles */
    int32_t nchild;
    int32_t place; /* 0 to 7: which eighth of its parent's keys it has */
    bh_moments moments;
} bh__block_child;

typedef struct bh__block_particle {
    double x, y, z, m;
} bh__block_particle;

#endif
