/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk of all queries. kdtree.c includes this file once for each kind of vectors, with KD_ISA and KD_TARGET. */

/* Offers a block's nearest point, the lowest number among equals; no other point of the block can be the nearest of
 * all. */
KD_TARGET KD_INLINE void KD_ISA(take_from_block)(const KD_ISA(block) * dist2, int32_t size, const int32_t *index,
                                                 kd_search *search)
{
    const double least = KD_ISA(least_of)(dist2, size);
    unsigned ties = KD_ISA(up_to)(dist2, least) & ((1U << size) - 1);
    int32_t lowest = index[lowest_bit(ties)];

    for (ties &= ties - 1; ties != 0; ties &= ties - 1) {
        const int32_t other = index[lowest_bit(ties)];
        lowest = other < lowest ? other : lowest;
    }
    if (is_wanted(search, least, lowest)) {
        take_nearest(search, least, lowest);
    }
}

KD_TARGET KD_INLINE int KD_ISA(scan_leaf)(const eqp_kdtree *tree, const kd_node *leaf, const double *query,
                                          const int dim, kd_take take, kd_search *search)
{
    int32_t left = -leaf->axis;

    if (left > tree->leaf_size) {
        return scan_equal(tree, leaf, query, dim, take, search);
    }
    for (int32_t first = leaf->link; left > 0; first += KD_LANES, left -= KD_LANES) {
        const int32_t size = left < KD_LANES ? left : KD_LANES;
        const int32_t *index = tree->index + first;
        const KD_ISA(block) dist2 = KD_ISA(distances)(tree->blocks + (ptrdiff_t)first * dim, size, query, dim);
        unsigned bits = KD_ISA(up_to)(&dist2, search->limit) & ((1U << size) - 1);
        if (bits == 0) {
            continue;
        }
        if (take == take_nearest) {
            KD_ISA(take_from_block)(&dist2, size, index, search);
            continue;
        }
        double each[KD_LANES];
        KD_ISA(store)(&dist2, each);
        for (; bits != 0; bits &= bits - 1) {
            const int i = lowest_bit(bits);
            EQP__CHECK(is_wanted(search, each[i], index[i]) ? take(search, each[i], index[i]) : EQP_OK);
        }
    }
    return EQP_OK;
}

KD_TARGET KD_INLINE int KD_ISA(walk)(const eqp_kdtree *tree, const double *query, const int dim, kd_take take,
                                     kd_search *result)
{
    kd_frame stack[EQP__KDTREE_DEPTH_MAX + 1];
    kd_frame *top = stack;      /* the next free frame */
    kd_search search = *result; /* local, so that it can be in registers */
    double away2[EQP_KDTREE_DIM_MAX];
    const kd_node *here = tree->nodes;
    int code = EQP_OK;

    for (int d = 0; d < dim; d++) {
        const double away = query[d] < tree->low[d]    ? tree->low[d] - query[d]
                            : query[d] > tree->high[d] ? query[d] - tree->high[d]
                                                       : 0;
        away2[d] = away * away;
    }
    for (;;) {
        here = descend(tree, here, query, dim, away2, &top);
        code = KD_ISA(scan_leaf)(tree, here, query, dim, take, &search);
        if (code != EQP_OK) {
            break;
        }
        while (top > stack && top[-1].dist2 > search.limit) {
            top--;
        }
        if (top == stack) {
            break;
        }
        top--;
        here = top->node;
        for (int d = 0; d < dim; d++) {
            away2[d] = top->away2[d];
        }
    }
    *result = search;
    return code;
}

/* Compiles the walk for the most frequent queries. */
KD_TARGET static int KD_ISA(walk_nearest)(const eqp_kdtree *tree, const double *query, kd_search *search)
{
    return tree->dim == 3   ? KD_ISA(walk)(tree, query, 3, take_nearest, search)
           : tree->dim == 2 ? KD_ISA(walk)(tree, query, 2, take_nearest, search)
                            : KD_ISA(walk)(tree, query, tree->dim, take_nearest, search);
}

KD_TARGET static int KD_ISA(walk_sorted)(const eqp_kdtree *tree, const double *query, kd_search *search)
{
    return tree->dim == 3 ? KD_ISA(walk)(tree, query, 3, take_sorted, search)
                          : KD_ISA(walk)(tree, query, tree->dim, take_sorted, search);
}

KD_TARGET static int KD_ISA(walk_visit)(const eqp_kdtree *tree, const double *query, kd_search *search)
{
    return tree->dim == 3 ? KD_ISA(walk)(tree, query, 3, take_visit, search)
                          : KD_ISA(walk)(tree, query, tree->dim, take_visit, search);
}

static const kd_walks KD_ISA(walks) = {KD_ISA(walk_nearest), KD_ISA(walk_sorted), KD_ISA(walk_visit)};
