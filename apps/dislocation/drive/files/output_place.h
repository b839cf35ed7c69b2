/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of nodes in files. */
#ifndef DD_OUTPUT_PLACE_H
#define DD_OUTPUT_PLACE_H

#include "../../physics/network/node.h"

/* Nodes of the input in its order, then later nodes by tag. Unique; with gaps. */
static inline uint64_t dd_output_place(const dd_node *node)
{
    return node->order >= 0 ? (uint64_t)node->order : (uint64_t)1 << 63 | node->tag;
}

#endif
