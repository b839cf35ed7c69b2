/* SPDX-License-Identifier: BSD-3-Clause */
/* A handful of nodes that one operation on the network's topology changes, and the operations. Pure: the same patch
 * gives the same result on any rank. Around a patch nothing else changes: an operation that may change a node's arms
 * gets all nodes at both ends of every arm that it may change. */
#ifndef DD_PATCH_H
#define DD_PATCH_H

#include "node.h"

#include <stdbool.h>

typedef struct dd_patch_node {
    dd_node node; /* owned copy */
    bool changed; /* position, arms: to be written back */
    bool deleted;
    bool created; /* its tag is one of dd_patch.new_tag */
} dd_patch_node;

/* Most nodes of a patch: four with all their neighbours, and new ones. */
#define DD_PATCH_NODES (4 * (DD_MOST_ARMS + 1) + 4)
#define DD_PATCH_NEW 4

typedef struct dd_patch {
    int n;
    dd_patch_node at[DD_PATCH_NODES]; /* those that the operation was asked for come first, in its order */
    dd_tag new_tag[DD_PATCH_NEW];     /* for nodes that the operation creates, in this order */
    int nnew;                         /* used of them */
    double box[3];                    /* periodic edges; 0: free */
    double low[3];                    /* lower corner of the box: positions are folded to [low, low + box) */
} dd_patch;

void dd_patch_init(dd_patch *patch, const double low[3], const double box[3]);
void dd_patch_free(dd_patch *patch);
/* The node of a tag; NULL: not in the patch, or deleted. */
dd_patch_node *dd_patch_find(dd_patch *patch, dd_tag tag);
/* Adds a copy. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW when it is full. */
int dd_patch_add(dd_patch *patch, const dd_node *node);
/* from - to by the nearest periodic image. */
void dd_patch_offset(const dd_patch *patch, const double from[3], const double to[3], double offset[3]);

#endif
