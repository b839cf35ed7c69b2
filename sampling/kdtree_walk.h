/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number and one kind of vectors, part 3: the walk of all queries. kdtree_one.h includes
 * this file once for each kind, after the file with the vectors. */

/* A node to visit, and the squared distance of its box along each axis and in total. Rounding is monotonic and the
 * terms are added in the same order as for points, so the distance never exceeds that of a point inside. */
typedef struct KD_FRAME {
    KD_REAL away2[EQP_KDTREE_DIM_MAX];
    KD_REAL dist2;
    const KD_NODE *node;
} KD_FRAME;

/* Scans a leaf of equal points in the order of their numbers; the first rejected point ends it. */
KD_TARGET KD_INLINE int KD_ISA(scan_equal)(const KD_TREE *tree, const KD_NODE *leaf, const KD_REAL *query,
                                           const int dim, KD_TAKE take, KD_SEARCH *search)
{
    const int32_t *index = tree->index + leaf->link;
    KD_REAL dist2 = 0;
    int code = EQP_OK;

    for (int d = 0; d < dim; d++) {
        const KD_REAL away = KD_STATIC(coordinate)(tree, leaf, 0, dim, d) - query[d];
        dist2 += away * away;
    }
    for (int32_t i = 0; i < -leaf->axis && code == EQP_OK && KD_STATIC(is_wanted)(search, dist2, index[i]); i++) {
        code = take(search, dist2, index[i]);
    }
    return code;
}

/* Scans a leaf with the caller's coordinates, point by point. */
KD_TARGET KD_INLINE int KD_ISA(scan_points)(const KD_TREE *tree, const KD_NODE *leaf, const KD_REAL *query,
                                            const int dim, KD_TAKE take, KD_SEARCH *search)
{
    const int32_t *index = tree->index + leaf->link;

    for (int32_t i = 0; i < -leaf->axis; i++) {
        const KD_REAL *point = tree->points + index[i] * tree->stride;
        KD_REAL dist2 = 0;
        for (int d = 0; d < dim; d++) {
            const KD_REAL away = point[d] - query[d];
            dist2 += away * away;
        }
        if (KD_STATIC(is_wanted)(search, dist2, index[i])) {
            const int code = take(search, dist2, index[i]);
            EQP__CHECK(code);
        }
    }
    return EQP_OK;
}

/* Offers a block's nearest point, the lowest number among equals; no other point of the block can be the nearest of
 * all. */
KD_TARGET KD_INLINE void KD_ISA(take_from_block)(const KD_BLOCK *dist2, int32_t size, const int32_t *index,
                                                 KD_SEARCH *search)
{
    const KD_REAL least = KD_ISA(least_of)(dist2, size);
    unsigned ties = KD_ISA(up_to)(dist2, least) & ((1U << size) - 1);
    int32_t lowest = index[lowest_bit(ties)];

    for (ties &= ties - 1; ties != 0; ties &= ties - 1) {
        const int32_t other = index[lowest_bit(ties)];
        lowest = other < lowest ? other : lowest;
    }
    if (KD_STATIC(is_wanted)(search, least, lowest)) {
        KD_STATIC(take_nearest)(search, least, lowest);
    }
}

KD_TARGET KD_INLINE int KD_ISA(scan_leaf)(const KD_TREE *tree, const KD_NODE *leaf, const KD_REAL *query, const int dim,
                                          kd_wish wish, KD_TAKE take, KD_SEARCH *search)
{
    int32_t left = -leaf->axis;

    if (left > tree->leaf_size) {
        return KD_ISA(scan_equal)(tree, leaf, query, dim, take, search);
    }
    if (tree->blocks == NULL) {
        return KD_ISA(scan_points)(tree, leaf, query, dim, take, search);
    }
    for (int32_t first = leaf->link; left > 0; first += KD_LANES, left -= KD_LANES) {
        const int32_t size = left < KD_LANES ? left : KD_LANES;
        const int32_t *index = tree->index + first;
        const KD_BLOCK dist2 = KD_ISA(distances)(tree->blocks + (ptrdiff_t)first * dim, size, query, dim);
        unsigned bits = KD_ISA(up_to)(&dist2, search->limit) & ((1U << size) - 1);
        if (bits == 0) {
            continue;
        }
        if (wish == KD_NEAREST) {
            KD_ISA(take_from_block)(&dist2, size, index, search);
            continue;
        }
        KD_REAL each[KD_LANES];
        KD_ISA(store)(&dist2, each);
        for (; bits != 0; bits &= bits - 1) {
            const int i = lowest_bit(bits);
            const int code = KD_STATIC(is_wanted)(search, each[i], index[i]) ? take(search, each[i], index[i]) : EQP_OK;
            EQP__CHECK(code);
        }
    }
    return EQP_OK;
}

/* Descends from a node to the leaf on the place's side of every cut; the opposite sides go onto the stack. */
KD_TARGET KD_INLINE const KD_NODE *KD_ISA(descend)(const KD_TREE *tree, const KD_NODE *node, const KD_REAL *query,
                                                   const int dim, const KD_REAL *away2, KD_FRAME **stack_top)
{
    KD_FRAME *top = *stack_top;

    for (int axis; (axis = node->axis) >= 0;) {
        const KD_NODE *left = node + 1;
        const KD_NODE *right = tree->nodes + node->link;
        const KD_REAL over_low = query[axis] - node->low;
        const KD_REAL under_high = node->high - query[axis];
        KD_REAL cut;
        if (over_low < under_high) {
            cut = under_high;
            top->node = right;
            node = left;
        } else {
            cut = over_low;
            top->node = left;
            node = right;
        }
        KD_REAL sum = 0;
        for (int d = 0; d < dim; d++) {
            const KD_REAL x = d == axis ? cut * cut : away2[d];
            top->away2[d] = x;
            sum = d == 0 ? x : sum + x;
        }
        (top++)->dist2 = sum;
    }
    *stack_top = top;
    return node;
}

KD_TARGET KD_INLINE int KD_ISA(walk)(const KD_TREE *tree, const KD_REAL *query, const int dim, kd_wish wish,
                                     KD_TAKE take, KD_SEARCH *result)
{
    KD_FRAME stack[EQP__KDTREE_DEPTH_MAX + 1];
    KD_FRAME *top = stack;      /* the next free frame */
    KD_SEARCH search = *result; /* local, so that it can be in registers */
    KD_REAL away2[EQP_KDTREE_DIM_MAX];
    const KD_NODE *here = tree->nodes;
    int code = EQP_OK;

    for (int d = 0; d < dim; d++) {
        const KD_REAL away = query[d] < tree->low[d]    ? tree->low[d] - query[d]
                             : query[d] > tree->high[d] ? query[d] - tree->high[d]
                                                        : 0;
        away2[d] = away * away;
    }
    for (;;) {
        here = KD_ISA(descend)(tree, here, query, dim, away2, &top);
        code = KD_ISA(scan_leaf)(tree, here, query, dim, wish, take, &search);
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
KD_TARGET static int KD_ISA(walk_nearest)(const KD_TREE *tree, const KD_REAL *query, KD_SEARCH *search)
{
    return tree->dim == 3   ? KD_ISA(walk)(tree, query, 3, KD_NEAREST, KD_STATIC(take_nearest), search)
           : tree->dim == 2 ? KD_ISA(walk)(tree, query, 2, KD_NEAREST, KD_STATIC(take_nearest), search)
                            : KD_ISA(walk)(tree, query, tree->dim, KD_NEAREST, KD_STATIC(take_nearest), search);
}

KD_TARGET static int KD_ISA(walk_sorted)(const KD_TREE *tree, const KD_REAL *query, KD_SEARCH *search)
{
    return tree->dim == 3 ? KD_ISA(walk)(tree, query, 3, KD_SEVERAL, KD_STATIC(take_sorted), search)
                          : KD_ISA(walk)(tree, query, tree->dim, KD_SEVERAL, KD_STATIC(take_sorted), search);
}

KD_TARGET static int KD_ISA(walk_heap)(const KD_TREE *tree, const KD_REAL *query, KD_SEARCH *search)
{
    return KD_ISA(walk)(tree, query, tree->dim, KD_SEVERAL, KD_STATIC(take_heap), search);
}

KD_TARGET static int KD_ISA(walk_visit)(const KD_TREE *tree, const KD_REAL *query, KD_SEARCH *search)
{
    return tree->dim == 3 ? KD_ISA(walk)(tree, query, 3, KD_SEVERAL, KD_STATIC(take_visit), search)
                          : KD_ISA(walk)(tree, query, tree->dim, KD_SEVERAL, KD_STATIC(take_visit), search);
}

static const KD_WALKS KD_ISA(walks) = {KD_ISA(walk_nearest), KD_ISA(walk_sorted), KD_ISA(walk_heap),
                                       KD_ISA(walk_visit)};
