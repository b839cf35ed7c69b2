/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of this rank's tree: the ranks that ask for them, and their bytes. */
#include "let.h"

#include "internal.h"
#include "walker.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* A cell on the path from the root to this rank's branches, in key order, parents first. */
typedef struct stop {
    int64_t cell;
    int64_t skip; /* next stop that is not below this one */
    int place;    /* among the children of the stop above */
    bool branch;  /* one of this rank's branches: the cell is its number */
} stop;

/* Marks of a family by the last rank that asked for it. Most cells that a walk opens are marked already; this avoids
 * reading the tree for them. */
typedef struct family_mark {
    int32_t asker; /* 1 + that rank; 0: none yet */
    uint32_t leaves;
} family_mark;

/* A rank's request for a block. */
typedef struct want {
    int32_t cell;
    int32_t asker;
} want;

struct bh_let {
    const bh_tree *tree; /* borrowed */
    int64_t nstops;
    stop *stop;             /* [nstops] */
    int64_t cell0, family0; /* first cell and family below the branches, which the following arrays begin with */
    int32_t *last;   /* [cells] 1 + the last rank that asked for the cell's block; 0: none. Later the block's number */
    int32_t *askers; /* [cells] number of ranks that ask for it */
    family_mark *mark; /* [families] */
    int asker;         /* the present rank */
    int64_t nwants, capacity;
    want *want; /* [nwants] by asker */
    int64_t nblocks, nleaves;
    int32_t *cell; /* [nblocks] families first */
    int64_t *id, *bytes, *first;
    int *by_block;   /* [nwants] askers */
    int32_t *opened; /* [nstops] scratch: families of the branches that a walk opens */
    bh_list list;    /* scratch */
};

/* Children of the top's cells come after them, in key order, and so do the branches: one pass meets them all. */
static int find_stops(bh_let *let)
{
    const bh_tree *tree = let->tree;
    const int64_t first = tree->shared.begin.cells;
    int64_t stack[BH_STACK], capacity = 0, branch = first;
    int place[BH_STACK] = {0}, depth = 0;
    if (tree->root >= 0) {
        stack[depth++] = tree->root;
    }
    while (depth > 0 && branch < first + tree->nbranches) {
        const int64_t c = stack[--depth];
        const int at = place[depth];
        const bh_cell *cell = &tree->cell[c], *next = &tree->cell[branch];
        if (next->key - cell->key >= bh_span(cell->level)) {
            continue; /* none of this rank's branches is in here */
        }
        EQP_CHECK(eqp_array_reserve(&let->stop, &capacity, let->nstops + 1, sizeof(*let->stop)));
        const bool here = cell->home >= 0;
        let->stop[let->nstops++] = (stop){.cell = here ? branch++ : c, .place = at, .branch = here};
        for (int k = here ? 0 : cell->nchild; k-- > 0;) {
            place[depth] = k;
            stack[depth++] = cell->child + k;
        }
    }
    return EQP_OK;
}

/* A stop that is not opened leads to the next one that is not deeper. */
static void link_stops(bh_let *let)
{
    int64_t after[EQP_CURVE_BITS + 1];
    for (int level = 0; level <= EQP_CURVE_BITS; level++) {
        after[level] = let->nstops;
    }
    for (int64_t i = let->nstops; i-- > 0;) {
        const int level = let->tree->cell[let->stop[i].cell].level;
        let->stop[i].skip = after[level];
        for (int deeper = level; deeper <= EQP_CURVE_BITS; deeper++) {
            after[deeper] = i;
        }
    }
}

int bh_let_create(const bh_tree *tree, bh_let **let)
{
    bh_let *made = NULL;
    int code;
    EQP_TRY(eqp_array_create(&made, 1, sizeof(*made)));
    made->tree = tree;
    made->cell0 = tree->shared.begin.cells;
    made->family0 = tree->shared.begin.families;
    EQP_TRY(eqp_array_create(&made->last, tree->nlocal_cells - made->cell0, sizeof(*made->last)));
    EQP_TRY(eqp_array_create(&made->askers, tree->nlocal_cells - made->cell0, sizeof(*made->askers)));
    EQP_TRY(eqp_array_create(&made->mark, tree->nlocal_families - made->family0, sizeof(*made->mark)));
    EQP_TRY(find_stops(made));
    link_stops(made);
    EQP_TRY(eqp_array_create(&made->opened, made->nstops, sizeof(*made->opened)));
    *let = made;
    made = NULL;
done:
    bh_let_free(made);
    return code;
}

void bh_let_free(bh_let *let)
{
    if (let != NULL) {
        bh_list_free(&let->list);
        free(let->stop);
        free(let->opened);
        free(let->last);
        free(let->askers);
        free(let->mark);
        free(let->want);
        free(let->cell);
        free(let->id);
        free(let->bytes);
        free(let->first);
        free(let->by_block);
        free(let);
    }
}

static inline bool is_wanted(const bh_let *let, int64_t cell)
{
    return let->last[cell - let->cell0] == let->asker + 1;
}

static int add_new(bh_let *let, int64_t cell)
{
    if (let->nwants == let->capacity) {
        EQP_CHECK(eqp_array_reserve(&let->want, &let->capacity, let->nwants + 256, sizeof(*let->want)));
    }
    if (let->askers[cell - let->cell0]++ == 0) {
        let->nblocks++;
        let->nleaves += let->tree->cell[cell].nchild == 0;
    }
    let->want[let->nwants++] = (want){(int32_t)cell, let->asker};
    let->last[cell - let->cell0] = let->asker + 1;
    return EQP_OK;
}

static inline int add_want(bh_let *let, int64_t cell)
{
    return is_wanted(let, cell) ? EQP_OK : add_new(let, cell);
}

/* Marks the unmarked part of a family, and its leaves that act one by one. */
__attribute__((noinline)) static int mark_family(bh_let *let, int32_t number, unsigned leaves)
{
    const bh_family *family = &let->tree->family[number];
    family_mark *mark = &let->mark[number - let->family0];
    if (mark->asker != let->asker + 1) {
        *mark = (family_mark){.asker = let->asker + 1};
        EQP_CHECK(add_new(let, family->cell));
    }
    leaves &= ~mark->leaves;
    mark->leaves |= leaves;
    for (; leaves != 0; leaves &= leaves - 1) {
        EQP_CHECK(add_new(let, family->child + __builtin_ctz(leaves)));
    }
    return EQP_OK;
}

/* Marks everything that the walk has opened, and the leaves it has taken. */
static int mark_opened(bh_let *let)
{
    const bh_frontier *frontier = &let->list.frontier;
    const int32_t asker = let->asker + 1;
    for (int64_t i = 0; i < frontier->n; i++) {
        const int32_t number = frontier->family[i];
        const unsigned leaves = frontier->taken[i] >> BH_FAMILY;
        const family_mark *mark = &let->mark[number - let->family0];
        if (mark->asker != asker || (leaves & ~mark->leaves) != 0) {
            EQP_CHECK(mark_family(let, number, leaves));
        }
    }
    return EQP_OK;
}

/* A branch that is itself such a leaf belongs to the tile of the cell above it. */
static int mark_leaf(bh_let *let, int64_t branch, const bh_choice *choice)
{
    if (choice->keep == NULL || is_wanted(let, branch)) {
        return add_want(let, branch);
    }
    const bh_cell *leaf = &let->tree->cell[branch];
    const int level = leaf->level > 0 ? leaf->level - 1 : 0;
    double centre[3];
    const uint64_t place = bh__place(bh_key_at_level(leaf->key, level), level);
    bh__centre(&let->tree->box, place, level, bh__side(let->tree, level), centre);
    return choice->keep(choice->user, centre) ? add_want(let, branch) : EQP_OK;
}

/* The branches that the walk opens: let->opened [*nopened]. Those that are leaves are marked. */
static int find_opened(bh_let *let, const bh__walker *w, const bh_choice *choice, int64_t *nopened)
{
    unsigned reached[EQP_CURVE_BITS + 2] = {1}; /* by level: the region's part of the last stop's children */
    for (int64_t i = 0; i < let->nstops;) {
        const stop *at = &let->stop[i];
        const bh_cell *cell = &let->tree->cell[at->cell];
        const bool leaf = at->branch && cell->nchild == 0;
        /* All ranks open the root. */
        const bool foreign = w->region != NULL && !leaf && (reached[cell->level] >> at->place & 1) == 0;
        const bool skipped = foreign || bh__acts_whole(w, cell);
        if (!skipped && !at->branch && w->region != NULL) {
            const unsigned all = (1u << cell->nchild) - 1;
            reached[cell->level + 1] = bh__walk_best()->reach(w, &let->tree->family[cell->family], all);
        }
        if (!skipped && leaf) {
            EQP_CHECK(mark_leaf(let, at->cell, choice));
        } else if (!skipped && at->branch) {
            let->opened[(*nopened)++] = cell->family;
        }
        i = skipped ? at->skip : i + 1;
    }
    return EQP_OK;
}

int bh_let_mark(bh_let *let, int asker, const bh_group *group, const bh_mac *mac, const bh_choice *choice)
{
    static const bh_choice all = {.keep = NULL};
    bh__walker w;
    int64_t nopened = 0;
    choice = choice != NULL ? choice : &all;
    bh__walker_init(&w, let->tree, group, mac);
    EQP_CHECK(choice->sharing != NULL ? bh__walker_share(&w, choice->sharing, &let->list.region) : EQP_OK);
    let->asker = asker;
    EQP_CHECK(find_opened(let, &w, choice, &nopened));
    EQP_CHECK(bh__walk_open(&w, nopened, let->opened, &let->list));
    if (choice->keep != NULL) {
        bh__walk_best()->drop(&w, choice, &let->list);
    }
    return mark_opened(let);
}

/* Blocks below a branch: families from *family on, leaves from *leaf on. What is above a marked cell is marked. */
static void list_branch(bh_let *let, int64_t branch, int64_t *family, int64_t *leaf)
{
    const bh_cell *cells = let->tree->cell;
    int64_t stack[BH_STACK];
    int depth = 0;
    stack[depth++] = branch;
    while (depth > 0) {
        const int64_t c = stack[--depth];
        if (let->askers[c - let->cell0] == 0) {
            continue;
        }
        let->cell[cells[c].nchild > 0 ? (*family)++ : (*leaf)++] = (int32_t)c;
        for (int k = cells[c].nchild; k-- > 0;) {
            stack[depth++] = cells[c].child + k;
        }
    }
}

/* Sorts the ranks that ask for each block; requests come by rank and keep that order within a block. */
static void sort_wants(bh_let *let)
{
    for (int64_t b = 0; b < let->nblocks; b++) {
        let->first[b + 1] = let->first[b] + let->askers[let->cell[b] - let->cell0];
        let->last[let->cell[b] - let->cell0] = (int32_t)b;
    }
    for (int64_t i = 0; i < let->nwants; i++) {
        const int32_t cell = let->want[i].cell;
        let->by_block[let->first[let->last[cell - let->cell0] + 1] - let->askers[cell - let->cell0]--] =
            let->want[i].asker;
    }
}

static int list_blocks(bh_let *let)
{
    int64_t family = 0, leaf = let->nblocks - let->nleaves;
    EQP_CHECK(eqp_array_create(&let->cell, let->nblocks, sizeof(*let->cell)));
    EQP_CHECK(eqp_array_create(&let->id, let->nblocks, sizeof(*let->id)));
    EQP_CHECK(eqp_array_create(&let->bytes, let->nblocks, sizeof(*let->bytes)));
    EQP_CHECK(eqp_array_create(&let->first, let->nblocks + 1, sizeof(*let->first)));
    EQP_CHECK(eqp_array_create(&let->by_block, let->nwants, sizeof(*let->by_block)));
    for (int64_t i = 0; i < let->nstops; i++) {
        if (let->stop[i].branch) {
            list_branch(let, let->stop[i].cell, &family, &leaf);
        }
    }
    for (int64_t b = 0; b < let->nblocks; b++) {
        const bh_cell *cell = &let->tree->cell[let->cell[b]];
        let->id[b] = bh_block_id(cell->key, cell->level);
        let->bytes[b] = bh__block_bytes(let->tree, cell);
    }
    sort_wants(let);
    return EQP_OK;
}

int bh_let_blocks_get(bh_let *let, bh_let_blocks *blocks)
{
    EQP_CHECK(list_blocks(let));
    *blocks = (bh_let_blocks){
        .n = let->nblocks, .id = let->id, .bytes = let->bytes, .first = let->first, .asker = let->by_block};
    for (int64_t b = 0; b < let->nblocks; b++) {
        blocks->size += let->bytes[b];
    }
    return EQP_OK;
}

void bh_let_pack_block(const bh_let *let, int64_t block, void *bytes)
{
    bh__block_pack(bytes, let->tree, &let->tree->cell[let->cell[block]]);
}
