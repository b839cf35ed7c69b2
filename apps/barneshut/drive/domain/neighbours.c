/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a node. Each rank builds the cells below its own branches in its slot of the shared memory; the first
 * rank puts the top onto the branches of all. Ranks meet three times: when no rank walks the last tree any more, when
 * all parts are built, and when the top is. */
#include "domain.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* A rank's part of the tree; the last notice is of the whole tree. Ranks still read the others when that is written. */
typedef struct bh_notice {
    _Alignas(64) int64_t nbranches;
    int64_t ncells, away, root;
    bh_room lacks;
} bh_notice;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Makes slots with a quarter more room than needed. Collective; the same code on all ranks. */
static int make_room(bh_domain *domain, const bh_room *need)
{
    bh_neighbours *n = &domain->neighbours;
    const eqp_node_shape *shape = eqp_node_view(n->node);
    const bh_room room = {larger(n->room.cells, need->cells + need->cells / 4),
                          larger(n->room.families, need->families + need->families / 4),
                          larger(n->room.particles, need->particles + need->particles / 4)};
    const int64_t notices = (shape->nranks + 1) * (int64_t)sizeof *n->notice;
    char *memory = NULL;

    EQP_CHECK(eqp_node_share(n->node, notices + bh_shared_bytes(&room, shape->nranks), &memory));
    n->notice = (bh_notice *)memory;
    n->room = room;
    bh_tree_share(&domain->tree, memory + notices, &room, shape->nranks, shape->rank);
    return EQP_OK;
}

/* Back to a tree of this rank's own. */
static void leave(bh_domain *domain)
{
    const bool bare = domain->tree.bare;

    bh_tree_free(&domain->tree);
    domain->tree.bare = bare;
    eqp_node_free(domain->neighbours.node);
    domain->neighbours = (bh_neighbours){.lost = true};
}

int bh_neighbours_join(bh_domain *domain, eqp_node *node)
{
    const bh_room none = {0};
    int code;

    domain->neighbours = (bh_neighbours){.node = node};
    code = make_room(domain, &none);
    if (code != EQP_OK) {
        leave(domain);
    }
    return code;
}

/* Tells the other ranks of a part or of the whole. code: of its building; returns that of all, EQP_OK if only room
 * lacks. */
static int announce(bh_domain *domain, bh_notice *notice, int code)
{
    bh_neighbours *n = &domain->neighbours;
    const bh_tree *tree = &domain->tree;
    const bool lacks = tree->lacks.cells > 0 || tree->lacks.families > 0 || tree->lacks.particles > 0;

    *notice = (bh_notice){.nbranches = tree->nbranches,
                          .ncells = tree->ncells - tree->begin.cells,
                          .away = bh_domain_has_away(domain),
                          .root = tree->root,
                          .lacks = tree->lacks};
    return eqp_node_meet(n->node, lacks ? EQP_OK : code);
}

/* The most that one of these notices lacks. True if anything. */
static bool find_lacks(int count, const bh_notice *notice, bh_room *need)
{
    *need = (bh_room){0};
    for (int i = 0; i < count; i++) {
        const bh_room *lacks = &notice[i].lacks;
        *need = (bh_room){larger(need->cells, lacks->cells), larger(need->families, lacks->families),
                          larger(need->particles, lacks->particles)};
    }
    return need->cells > 0 || need->families > 0 || need->particles > 0;
}

/* The top of the node's tree, in the slot of the first rank. */
static int put_top(bh_domain *domain)
{
    const bh_neighbours *n = &domain->neighbours;
    const int nranks = eqp_node_view(n->node)->nranks;
    bh_tree *tree = &domain->tree;
    const int64_t slot = tree->end.cells - tree->begin.cells;
    bh_cell *branch = NULL;
    int64_t all = 0;
    int code;

    for (int r = 0; r < nranks; r++) {
        all += n->notice[r].nbranches;
    }
    EQP_TRY(eqp_array_create(&branch, all, sizeof *branch));
    all = 0;
    for (int r = 0; r < nranks; r++) {
        memcpy(branch + all, tree->cell + r * slot, (size_t)n->notice[r].nbranches * sizeof *branch);
        all += n->notice[r].nbranches;
    }
    qsort(branch, (size_t)all, sizeof *branch, bh_branches_compare);
    EQP_TRY(bh_tree_top(tree, all, branch, domain->rank));
done:
    free(branch);
    return code;
}

/* All ranks get the root that the first one has announced. */
static void follow(bh_domain *domain)
{
    const bh_neighbours *n = &domain->neighbours;
    const int nranks = eqp_node_view(n->node)->nranks;
    int64_t cells = n->notice[nranks].ncells;

    domain->away = false;
    for (int r = 0; r < nranks; r++) {
        cells += n->notice[r].ncells;
        domain->away = domain->away || n->notice[r].away > 0;
    }
    bh_tree_follow(&domain->tree, n->notice[nranks].root, cells);
    domain->top = (eqp_route_counts){0};
}

int bh_neighbours_build(bh_domain *domain, bh_build_fn *build, int code, bool *done)
{
    bh_neighbours *n = &domain->neighbours;
    const int rank = eqp_node_view(n->node)->rank, nranks = eqp_node_view(n->node)->nranks;
    bh_notice *whole = n->notice + nranks;
    bh_room need;

    *done = false;
    EQP_CHECK(eqp_node_meet(n->node, code)); /* from here on the code is the same on all ranks */
    EQP_CHECK(announce(domain, n->notice + rank, build(domain)));
    if (!find_lacks(nranks, n->notice, &need)) {
        EQP_CHECK(rank == 0 ? announce(domain, whole, put_top(domain)) : eqp_node_meet(n->node, EQP_OK));
        if (!find_lacks(1, whole, &need)) {
            follow(domain);
            *done = true;
            return EQP_OK;
        }
    }
    code = make_room(domain, &need);
    if (code == EQP_ERR_MEMORY) {
        leave(domain);
        return EQP_OK;
    }
    return code;
}
