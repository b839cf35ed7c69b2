/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the operations on an undivided network, in the order of tags; candidates by brute force. */
#ifndef DD_SERIAL_H
#define DD_SERIAL_H

#include "network/node.h"
#include "network/operations.h"

typedef struct dd_serial {
    dd_network *network; /* borrowed */
    double low[3], box[3];
    dd_rules rules;
    uint32_t domain; /* of new tags */
    uint32_t next;   /* index of the next new tag */
    double area[9];  /* swept by the operations so far: dd_slip_end() */
} dd_serial;

/* Borrows the network; new tags are those of `domain` behind its last. */
void dd_serial_init(dd_serial *serial, dd_network *network, const double low[3], const double box[3],
                    const dd_rules *rules, uint32_t domain);

/* Fills an initialised patch with copies of nodes by tag (each once, also where a tag is repeated), then of all their
 * neighbours if wished. Tags without a node are left out. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW: the patch holds a
 * part and is good for dd_patch_free() only. */
int dd_serial_gather(const dd_serial *serial, const dd_tag *tag, int n, bool neighbours, dd_patch *patch);
/* Writes the changes of a patch back and takes its nodes over. EQP_OK, or EQP_ERR_MEMORY: nothing has changed. */
int dd_serial_apply(dd_serial *serial, dd_patch *patch);

/* One pass over the segments (nodes, pairs) there are at the start. done: operations that did something, added. On
 * error the operations before it are done. EQP_OK, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW, EQP_ERR_ARGUMENT for an
 * inconsistent network. */
int dd_serial_refine(dd_serial *serial, int64_t *done);
int dd_serial_coarsen(dd_serial *serial, int64_t *done);
/* O(segments^2). */
int dd_serial_collide(dd_serial *serial, int64_t *done);
int dd_serial_split(dd_serial *serial, const dd_mover *mover, int64_t *done);
int dd_serial_cross_slip(dd_serial *serial, const dd_mover *mover, int64_t *done);

#endif
