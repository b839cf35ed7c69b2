/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of a node. Each rank builds the cells below its own branches in its slot of the shared memory. The first
 * rank puts the top onto the branches of all ranks; those of other nodes it gathers from the first ranks there. The
 * ranks of a node meet three times: when none walks the last tree any more, when all parts are built, and when the top
 * is. */
#include "domain.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* A rank's part of the tree; the last notice is of the whole tree. Ranks still read the others when that is written. */
typedef struct bh_notice {
    _Alignas(64) int64_t nbranches;
    int64_t away, root, ntop_families;
    bh_room lacks;
} bh_notice;

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A quarter more than needed. */
static bh_room enlarged(const bh_room *room, const bh_room *need)
{
    return (bh_room){larger(room->cells, need->cells + need->cells / 4),
                     larger(room->families, need->families + need->families / 4),
                     larger(room->particles, need->particles + need->particles / 4)};
}

static bool is_any(const bh_room *room)
{
    return room->cells > 0 || room->families > 0 || room->particles > 0;
}

const eqp_node_shape *bh_neighbours_shape(const bh_neighbours *n)
{
    return eqp_node_view(n->node);
}

/* Bytes of what lies before the arrays of the tree. */
static int64_t head_bytes(const bh_neighbours *n)
{
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    const int64_t asked = (int64_t)shape->nranks * shape->first[shape->nnodes];

    return (shape->nranks + 1) * (int64_t)sizeof *n->notice + (asked + 63) / 64 * 64;
}

/* Another memory; what was in the last one is lost, on errors too. Collective; the same code on all ranks of the node.
 */
static int share(bh_neighbours *n, char **arrays)
{
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    char *memory = NULL;

    n->notice = NULL;
    EQP_CHECK(eqp_node_share(n->node, head_bytes(n) + bh_shared_bytes(&n->slot, &n->behind, shape->nranks), &memory));
    n->notice = (bh_notice *)memory;
    n->asked = (unsigned char *)(n->notice + shape->nranks + 1);
    *arrays = memory + head_bytes(n);
    return EQP_OK;
}

/* Larger slots; the trees are lost. Collective; the same code on all ranks of the node. */
static int enlarge_slots(bh_domain *domain, const bh_room *need)
{
    bh_neighbours *n = &domain->neighbours;
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    char *arrays = NULL;

    n->slot = enlarged(&n->slot, need);
    EQP_CHECK(share(n, &arrays));
    bh_tree_share(&domain->tree, arrays, &n->slot, &n->behind, shape->nranks, shape->rank);
    return EQP_OK;
}

/* More room behind the slots; the trees stay. Collective; the same code on all ranks of the node. */
static int enlarge_behind(bh_neighbours *n, bh_tree *tree, const bh_room *need)
{
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    const bh_room behind = enlarged(&n->behind, need);
    char *kept = NULL, *arrays = NULL;
    int code = EQP_OK;

    if (shape->rank == 0) {
        kept = aligned_alloc(64, (size_t)(bh_shared_bytes(&n->slot, &behind, shape->nranks) + 63) / 64 * 64);
        code = kept == NULL ? EQP_ERR_MEMORY : EQP_OK;
    }
    if (kept != NULL) {
        bh_shared_move(tree, kept, &behind, shape->nranks);
    }
    EQP_TRY(eqp_node_meet(n->node, code));
    n->behind = behind;
    EQP_TRY(share(n, &arrays));
    if (kept != NULL) {
        bh_tree_moved(tree, kept, &behind, shape->nranks);
        bh_shared_move(tree, arrays, &behind, shape->nranks);
    }
    bh_tree_moved(tree, arrays, &behind, shape->nranks);
    EQP_TRY(eqp_node_meet(n->node, EQP_OK));
done:
    free(kept);
    return code;
}

void bh_neighbours_free(bh_neighbours *n)
{
    eqp_gatherer_free(n->tops);
    eqp_comm_free(&n->leaders);
    eqp_node_free(n->node);
    *n = (bh_neighbours){.leaders = MPI_COMM_NULL};
}

/* Back to a tree of this rank's own. */
static void leave(bh_domain *domain)
{
    const bool bare = domain->tree.bare;

    bh_tree_free(&domain->tree);
    domain->tree.bare = bare;
    bh_neighbours_free(&domain->neighbours);
    domain->neighbours.lost = true;
}

/* A communicator of the first ranks of the nodes, with errors that return. */
static int open_leaders(bh_domain *domain)
{
    bh_neighbours *n = &domain->neighbours;
    MPI_Comm first = MPI_COMM_NULL;
    int code = EQP_OK;

    if (MPI_Comm_split(domain->comm, bh_neighbours_shape(n)->rank == 0 ? 0 : MPI_UNDEFINED, domain->rank, &first) !=
        MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (first != MPI_COMM_NULL) {
        code = eqp_comm_create(first, &n->leaders);
        code = MPI_Comm_free(&first) != MPI_SUCCESS ? EQP_ERR_MPI : code;
        code =
            code == EQP_OK ? eqp_gatherer_create(n->leaders, (size_t)bh_branch_bytes(&domain->tree), &n->tops) : code;
    }
    return code;
}

int bh_neighbours_join(bh_domain *domain, eqp_node *node)
{
    const bh_room none = {0};
    int code = EQP_OK;

    domain->neighbours = (bh_neighbours){.node = node, .leaders = MPI_COMM_NULL};
    if (bh_neighbours_shape(&domain->neighbours)->nnodes > 1) {
        EQP_TRY(eqp_agree(domain->comm, open_leaders(domain), NULL));
    }
    EQP_TRY(eqp_agree(domain->comm, enlarge_slots(domain, &none), NULL));
done:
    if (code != EQP_OK) {
        leave(domain);
    }
    return code;
}

/* Tells the other ranks of a part or of the whole. code: of its building; returns that of all, EQP_OK if only room
 * lacks. */
static int announce(bh_domain *domain, bh_notice *notice, int64_t away, int code)
{
    const bh_tree *tree = &domain->tree;

    *notice = (bh_notice){.nbranches = tree->nbranches,
                          .away = away,
                          .root = tree->root,
                          .ntop_families = tree->ntop_families,
                          .lacks = tree->shared.lacks};
    return eqp_node_meet(domain->neighbours.node, is_any(&notice->lacks) ? EQP_OK : code);
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
    return is_any(need);
}

/* Branches of the ranks of this node: [*count], owned by the caller. */
static int near_branches(const bh_domain *domain, int64_t *count, bh_cell **branch)
{
    const bh_neighbours *n = &domain->neighbours;
    const bh_tree *tree = &domain->tree;
    const int nranks = bh_neighbours_shape(n)->nranks;
    int64_t all = 0;

    for (int r = 0; r < nranks; r++) {
        all += n->notice[r].nbranches;
    }
    EQP_CHECK(eqp_array_create(branch, all, sizeof **branch));
    *count = 0;
    for (int r = 0; r < nranks; r++) {
        memcpy(*branch + *count, tree->cell + r * tree->shared.slot.cells,
               (size_t)n->notice[r].nbranches * sizeof **branch);
        *count += n->notice[r].nbranches;
    }
    return EQP_OK;
}

/* As eqp__exchange_count_all() counts; n: branches of all nodes. */
static eqp_route_counts count_top(const bh_domain *domain, int64_t n, int64_t near)
{
    const int nnodes = bh_neighbours_shape(&domain->neighbours)->nnodes;
    const int64_t bytes = (n - near) * bh_branch_bytes(&domain->tree);
    int64_t levels = 0;

    while (nnodes > INT64_C(1) << levels) {
        levels++;
    }
    return (eqp_route_counts){levels, levels, bytes, bytes};
}

/* Replaces the branches of this node by those of all nodes. away: of the node, then of all. code: of the node so far;
 * returns that of all. Collective over the first ranks. */
static int gather_far(bh_domain *domain, int code, int64_t *count, bh_cell **branch, int64_t *away)
{
    bh_neighbours *n = &domain->neighbours;
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    bh_tree *tree = &domain->tree;
    const int64_t near = *count;
    unsigned char *mine = NULL, *all = NULL;
    bh_cell *far = NULL;
    int64_t nall = 0, mine_at = 0;

    code = code == EQP_OK ? eqp_array_create(&mine, near, (size_t)bh_branch_bytes(tree)) : code;
    if (code == EQP_OK) {
        bh_branches_pack(tree, near, *branch, mine);
    }
    EQP_TRY(eqp_gatherer_run(n->tops, code, code == EQP_OK ? near : 0, mine, away, &nall, &all));
    domain->top = count_top(domain, nall, near);
    EQP_TRY(eqp_array_create(&far, nall, sizeof *far));
    EQP_TRY(bh_branches_unpack(tree, nall, all, far));
    while (mine_at < nall && shape->of[far[mine_at].home] != shape->node) {
        mine_at++;
    }
    if (near > 0) { /* what is below them is here */
        memcpy(far + mine_at, *branch, (size_t)near * sizeof *far);
    }
    *count = nall;
    free(*branch);
    *branch = far;
    far = NULL;
done:
    free(mine);
    free(far);
    return code;
}

/* The top of the node's tree, behind the slots. */
static int put_top(bh_domain *domain, int code, int64_t count, const bh_cell *branch)
{
    EQP_CHECK(code);
    EQP_CHECK(bh_shared_open(&domain->tree, count));
    EQP_CHECK(bh_tree_top(&domain->tree, count, branch, domain->rank));
    bh_shared_close(&domain->tree);
    return EQP_OK;
}

/* By the first rank: all branches in key order. */
static int find_branches(bh_domain *domain, int code, int64_t *count, bh_cell **branch)
{
    const bh_neighbours *n = &domain->neighbours;
    const int nranks = bh_neighbours_shape(n)->nranks;
    int64_t away = 0;

    for (int r = 0; r < nranks && code == EQP_OK; r++) {
        away = larger(away, n->notice[r].away);
    }
    code = code == EQP_OK ? near_branches(domain, count, branch) : code;
    if (n->tops != NULL) {
        code = gather_far(domain, code, count, branch, &away);
    }
    if (code == EQP_OK) {
        bh_branches_sort(*count, *branch);
        domain->away = away > 0;
    }
    return code;
}

/* The top by the first rank, and its root for all. code: of the node so far; returns that of all its ranks. */
static int build_top(bh_domain *domain, int code)
{
    bh_neighbours *n = &domain->neighbours;
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    bh_notice *whole = NULL;
    bh_cell *branch = NULL;
    bh_room need;
    int64_t count = 0;

    domain->top = (eqp_route_counts){0};
    code = shape->rank == 0 ? find_branches(domain, code, &count, &branch) : code;
    do {
        whole = n->notice != NULL ? n->notice + shape->nranks : NULL;
        code = shape->rank == 0 ? put_top(domain, code, count, branch) : code;
        EQP_TRY(shape->rank == 0 && whole != NULL ? announce(domain, whole, domain->away, code)
                                                  : eqp_node_meet(n->node, code));
        if (!find_lacks(1, whole, &need)) {
            bh_tree_follow(&domain->tree, whole->root, whole->ntop_families);
            domain->away = whole->away > 0;
            break;
        }
        code = enlarge_behind(n, &domain->tree, &need);
    } while (code == EQP_OK);
done:
    free(branch);
    return code;
}

int bh_neighbours_build(bh_domain *domain, bh_build_fn *build, int code, bool *done)
{
    bh_neighbours *n = &domain->neighbours;
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    bh_room need;

    *done = false;
    code = eqp_node_meet(n->node, code); /* from here on the code is the same on all ranks of the node */
    if (code == EQP_OK) {
        code = build(domain);
        code = announce(domain, n->notice + shape->rank, bh_domain_has_away(domain), code);
    }
    if (code == EQP_OK && find_lacks(shape->nranks, n->notice, &need)) {
        code = enlarge_slots(domain, &need);
        if (code == EQP_OK) {
            return EQP_OK;
        }
    }
    code = build_top(domain, code);
    if (code == EQP_ERR_MEMORY && n->notice == NULL && shape->nnodes == 1) { /* the memory is lost, on all ranks */
        leave(domain);
        return EQP_OK;
    }
    *done = true;
    return code;
}

void bh_neighbours_ask(bh_neighbours *n, int nasked, const int *asked)
{
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    const size_t nranks = (size_t)shape->first[shape->nnodes];
    unsigned char *row = n->asked + (size_t)shape->rank * nranks;

    memset(row, 0, nranks);
    for (int i = 0; i < nasked; i++) {
        row[asked[i]] = 1;
    }
}

bool bh_neighbours_asked(const bh_neighbours *n, int home)
{
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    const size_t nranks = (size_t)shape->first[shape->nnodes];
    bool asked = false;

    for (int r = 0; r < shape->nranks && !asked; r++) {
        asked = n->asked[(size_t)r * nranks + (size_t)home] != 0;
    }
    return asked;
}

int bh_neighbours_arrive(bh_neighbours *n, bh_tree *tree, int code, bool *again)
{
    const eqp_node_shape *shape = bh_neighbours_shape(n);
    const bh_room lacks = tree->shared.lacks;
    bh_room need;

    *again = false;
    if (n->notice == NULL) { /* lost when the tree was built, so that the code is a failure */
        return eqp_node_meet(n->node, code);
    }
    n->notice[shape->rank].lacks = lacks;
    EQP_CHECK(eqp_node_meet(n->node, is_any(&lacks) ? EQP_OK : code));
    *again = find_lacks(shape->nranks, n->notice, &need);
    return *again ? enlarge_behind(n, tree, &need) : EQP_OK;
}
