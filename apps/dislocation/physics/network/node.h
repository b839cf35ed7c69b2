/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes of a dislocation network and their arms. A segment joins two nodes and is an arm of both: an arm's Burgers
 * vector is for the sense from its node to the neighbour, so the reverse arm has its negative. The node with the lower
 * tag *owns* the segment. */
#ifndef DD_NODE_H
#define DD_NODE_H

#include <stdbool.h>
#include <stdint.h>

/* domain x 2^32 + index, as in ParaDiS files; only a name. */
typedef uint64_t dd_tag;
#define DD_NO_TAG UINT64_MAX
#define DD_TAG_DOMAIN(tag) ((uint32_t)((tag) >> 32))
#define DD_TAG_INDEX(tag) ((uint32_t)(tag))
#define DD_TAG(domain, index) ((dd_tag)(uint32_t)(domain) << 32 | (uint32_t)(index))

/* Bits of dd_node.constraint: ParaDiS' version 5. */
enum { DD_FREE = 0, DD_PINNED_X = 1, DD_PINNED_Y = 2, DD_PINNED_Z = 4, DD_PINNED = 7, DD_SURFACE = 8 };

/* Operations never make more arms than this; files with more are refused. */
#define DD_MOST_ARMS 24

typedef struct dd_arm {
    dd_tag tag;        /* the neighbour */
    double burgers[3]; /* in units of b, from the node to the neighbour */
    double normal[3];  /* of the glide plane: unit length, or 0 0 0 without a plane */
    double force[3];   /* on the node, by everything that acts on this segment */
    int home;          /* rank on which the neighbour lives; 0 in a serial network */
} dd_arm;

typedef struct dd_node {
    dd_tag tag;
    double x[3];      /* in units of b, inside the box where that is periodic */
    double v[3];      /* b / s */
    double last_v[3]; /* v at the start of the last step, for the next prediction; 0 0 0: none */
    int64_t order;    /* in the input; -1: a later node */
    int64_t split;    /* place in the map's table of shared owners; -1: its home computes it whole */
    int64_t label;    /* set at the last offer of a map; 0: no offer yet */
    int constraint;
    int home;        /* rank on which it lives */
    int narms, room; /* arms in use, arms that fit */
    dd_arm *arm;     /* [room] owned */
} dd_node;

/* EQP_OK or EQP_ERR_MEMORY (and the node is unchanged). The new arm is zeroed but for its tag. */
int dd_node_add_arm(dd_node *node, dd_tag tag, dd_arm **arm);
/* The arm towards a neighbour; NULL: none. */
dd_arm *dd_node_find_arm(const dd_node *node, dd_tag tag);
/* Removes an arm; the others keep their order. */
void dd_node_remove_arm(dd_node *node, dd_arm *arm);
/* Deep copy of `from` into *to, which must be zeroed or freed. EQP_OK or EQP_ERR_MEMORY. */
int dd_node_copy(dd_node *to, const dd_node *from);
void dd_node_free(dd_node *node);
void dd_node_burgers(const dd_node *node, double sum[3]);
void dd_node_force(const dd_node *node, double force[3]);

/* Nodes by tag. Places change when nodes are removed: the last one moves into the gap. */
typedef struct dd_network {
    int64_t n, room;
    dd_node *node;  /* [room] owned, each with its arms */
    int64_t *slot;  /* hash table: place + 1, 0: empty; owned */
    int64_t nslots; /* a power of 2, or 0 */
} dd_network;

void dd_network_init(dd_network *network);
void dd_network_free(dd_network *network);
/* Place of a node; -1: none. O(1). */
int64_t dd_network_find(const dd_network *network, dd_tag tag);
/* Takes over the node and its arms (*node is zeroed). EQP_OK, EQP_ERR_MEMORY, EQP_ERR_DATA for an existing tag; on
 * error the caller keeps the node. */
int dd_network_add(dd_network *network, dd_node *node);
void dd_network_remove(dd_network *network, int64_t place);
/* Rebuilds the hash table for nodes that were written into the array. EQP_OK or EQP_ERR_MEMORY. */
int dd_network_index(dd_network *network);
/* Sorts the nodes by tag. O(n log n). */
void dd_network_sort(dd_network *network);

/* ---- A handful of nodes that one operation on the network's topology changes, and the operations. Pure: the same
 * patch gives the same result on any rank. Around a patch nothing else changes: an operation that may change a node's
 * arms gets all nodes at both ends of every arm that it may change. */

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
    dd_patch_node at[DD_PATCH_NODES]; /* the operation's base nodes come first, in its order */
    dd_tag new_tag[DD_PATCH_NEW];     /* for nodes that the operation creates, in this order */
    int nnew;                         /* used of them */
    double box[3];                    /* periodic edges; 0: free */
    double low[3];                    /* lower corner of the box: positions are folded to [low, low + box) */
} dd_patch;

void dd_patch_init(dd_patch *patch, const double low[3], const double box[3]);
void dd_patch_free(dd_patch *patch);
/* The node of a tag; NULL: not in the patch, or deleted. */
dd_patch_node *dd_patch_find(dd_patch *patch, dd_tag tag);
/* from - to by the nearest periodic image. */
void dd_patch_offset(const dd_patch *patch, const double from[3], const double to[3], double offset[3]);

#endif
