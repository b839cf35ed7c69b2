/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells that a walk has opened and what each contributes: the needs of a list. */
#ifndef BH_OPENED_H
#define BH_OPENED_H

#include "walk.h"

/* An opened cell and its tile. */
typedef struct bh_opened {
    int64_t cell;            /* its number; -1: nothing was opened, and the root alone acts */
    double centre[3];        /* of the tile, as keep() would get it */
    int32_t nchild;          /* of the cell */
    int32_t ncells, nleaves; /* in the list: that act as one body, and leaves that act one by one */
    int64_t nsources;        /* particles in these leaves */
    int64_t leaf[BH_FAMILY]; /* [nleaves] numbers of these leaves */
} bh_opened;

/* Number of opened cells of the list that a walk from the tree's root has just made: at least 1, unless there is no
 * root. O(1). */
int64_t bh_opened_count(const bh_tree *tree, const bh_list *list);

/* One of them, a parent before its children. All must be present: the list has nothing absent. O(1). */
void bh_opened_get(const bh_tree *tree, const bh_list *list, int64_t i, bh_opened *opened);

#endif
