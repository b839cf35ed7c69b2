/* SPDX-License-Identifier: BSD-3-Clause */
#include "opened.h"

#include "walker.h"

#include <string.h>

int64_t bh_opened_count(const bh_tree *tree, const bh_list *list)
{
    return tree->root < 0 ? 0 : list->frontier.n > 0 ? list->frontier.n : 1;
}

/* The root, as one body or as a leaf, in the tile of the root cube. */
static void get_root(const bh_tree *tree, const bh_list *list, bh_opened *opened)
{
    *opened = (bh_opened){.cell = -1, .ncells = (int32_t)list->ncells, .nleaves = (int32_t)list->nruns};
    opened->nsources = list->nsources;
    opened->leaf[0] = tree->root;
    bh_cell_centre(tree, &tree->cell[tree->root], opened->centre);
}

void bh_opened_get(const bh_tree *tree, const bh_list *list, int64_t i, bh_opened *opened)
{
    if (list->frontier.n == 0) {
        get_root(tree, list, opened);
        return;
    }
    const bh_family *family = &tree->family[list->frontier.family[i]];
    const unsigned taken = list->frontier.taken[i];

    *opened = (bh_opened){.cell = family->cell, .nchild = family->nchild};
    opened->ncells = __builtin_popcount(taken & BH_TAKEN_CELLS);
    for (unsigned left = taken >> BH_FAMILY; left != 0; left &= left - 1) {
        const int k = __builtin_ctz(left);
        opened->leaf[opened->nleaves++] = family->child + k;
        opened->nsources += family->count[k];
    }
    bh_cell_centre(tree, &tree->cell[family->cell], opened->centre);
}
