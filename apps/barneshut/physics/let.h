/* SPDX-License-Identifier: BSD-3-Clause */
/* The essential tree: which cells and particles of this rank a group elsewhere needs, as one message, and back. */
#ifndef BH_LET_H
#define BH_LET_H

#include "walk.h"

#include <stddef.h>

/* Collects what one receiver needs. Create once per built tree, reset per receiver. Grafting onto the tree meanwhile is
 * fine: only what was there at creation is ever sent. The tree is borrowed. */
typedef struct bh_let bh_let;

int bh_let_create(const bh_tree *tree, bh_let **let);
void bh_let_free(bh_let *let);
void bh_let_reset(bh_let *let); /* O(what was marked) */

/* Marks what `group` needs below the branch `branch` (this rank's number of it): every cell that its walk opens, and
 * the particles that act one by one in the tiles that keep() accepts (NULL: all). O(what the walk visits). */
int bh_let_mark(bh_let *let, int64_t branch, const bh_group *group, const bh_mac *mac, bh_tile_fn keep, void *user);

/* The marked cells and particles as bytes, appended to *buffer (realloc'd, owned by the caller). An opened cell comes
 * with all its children; particles only for leaves that act one by one. ncells, nparticles: what is in it. Appends
 * nothing if nothing is marked. On EQP_ERR_MEMORY *size is as before. */
int bh_let_pack(bh_let *let, unsigned char **buffer, size_t *size, size_t *capacity, int64_t *ncells,
                int64_t *nparticles);

/* Grafts such a message from rank `home` onto the absent branches of the tree; every walk that was marked finds then
 * what it needs below them. size 0 is an empty message. Everything is checked before the tree points to it, moments bit
 * for bit: EQP_ERR_FORMAT, and an unchanged tree, if anything does not fit or is there already. */
int bh_let_graft(bh_tree *tree, int home, const unsigned char *buffer, size_t size);

#endif
