/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number, part 2: queries. kdtree.c includes this file once for each type, after
 * kdtree_build.h, so there is no include guard. */

/* What a query has found so far and what it still wants: points nearer than limit, or as far with a lower index. */
typedef struct KD_SEARCH {
    KD_REAL limit;
    KD_REAL reach; /* see reach_of() */
    int32_t limit_index;
    int64_t wanted; /* k nearest: points to find, and below those found, sorted or as a heap */
    int64_t found;
    int64_t *index;
    KD_REAL *dist2;
    KD_PUBLIC(visit_fn) visit;
    void *user;
} KD_SEARCH;

/* Takes a wanted point; anything but EQP_OK ends the query. */
typedef int (*KD_TAKE)(KD_SEARCH *search, KD_REAL dist2, int32_t index);

/* What is left to do: look at a node, whose box is `dist2` away in all and `away2` along `axis`; or, if the node is
 * KD_LEAVE, put the old `away2` of the axis back, because everything below such a node has been seen. */
typedef struct KD_FRAME {
    KD_REAL dist2;
    KD_REAL away2;
    int32_t node;
    int32_t axis;
} KD_FRAME;

/* Boxes nearer than this must be looked at. The sums over the axes are updated on the way down, at most
 * EQP__KDTREE_DEPTH_MAX times, each time with three roundings: the slack makes up for these many times over, so that no
 * point is lost and ties are exact. The small number does the same where squares underflow. */
static KD_REAL KD_STATIC(reach_of)(KD_REAL limit)
{
    return limit + limit * (2048 * KD_EPSILON) + 2048 * KD_SMALLEST;
}

KD_INLINE KD_REAL KD_STATIC(distance2)(const KD_REAL *a, const KD_REAL *b, const int dim)
{
    KD_REAL sum = 0;

    for (int d = 0; d < dim; d++) {
        const KD_REAL away = a[d] - b[d];
        sum += away * away;
    }
    return sum;
}

static inline bool KD_STATIC(is_wanted)(const KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    return dist2 <= search->limit && (dist2 < search->limit || index < search->limit_index);
}

/* A leaf of equal points ordered by index: if one is not wanted, neither are those after it. */
static int KD_STATIC(scan_equal)(const KD_TREE *tree, const KD_NODE *leaf, const KD_REAL *query, KD_TAKE take,
                                 KD_SEARCH *search)
{
    const KD_REAL dist2 = KD_STATIC(distance2)(KD_STATIC(point_at)(tree, leaf->link), query, tree->dim);
    int code = EQP_OK;

    for (int32_t i = leaf->link; i < leaf->link - leaf->axis && code == EQP_OK; i++) {
        if (!KD_STATIC(is_wanted)(search, dist2, tree->index[i])) {
            break;
        }
        code = take(search, dist2, tree->index[i]);
    }
    return code;
}

KD_INLINE int KD_STATIC(scan_leaf)(const KD_TREE *tree, const KD_NODE *leaf, const KD_REAL *query, const int dim,
                                   KD_TAKE take, KD_SEARCH *search)
{
    const int32_t count = -leaf->axis;
    const int32_t *index = tree->index + leaf->link;
    const KD_REAL *row = tree->rows != NULL ? tree->rows + (ptrdiff_t)leaf->link * dim : NULL;

    if (count > tree->leaf_size) {
        return KD_STATIC(scan_equal)(tree, leaf, query, take, search);
    }
    for (int32_t i = 0; i < count; i++) {
        const KD_REAL *point = row != NULL ? row + (ptrdiff_t)i * dim : tree->points + index[i] * tree->stride;
        const KD_REAL dist2 = KD_STATIC(distance2)(point, query, dim);
        if (KD_STATIC(is_wanted)(search, dist2, index[i])) {
            const int code = take(search, dist2, index[i]);
            if (code != EQP_OK) {
                return code;
            }
        }
    }
    return EQP_OK;
}

KD_INLINE int KD_STATIC(walk)(const KD_TREE *tree, const KD_REAL *query, const int dim, KD_TAKE take, KD_SEARCH *search)
{
    const KD_NODE *nodes = tree->nodes;
    KD_FRAME stack[EQP__KDTREE_DEPTH_MAX + 2];
    KD_FRAME *top = stack; /* the next free one */
    KD_REAL away2[EQP_KDTREE_DIM_MAX];
    KD_REAL dist2 = 0;

    for (int d = 0; d < dim; d++) {
        const KD_REAL away = query[d] < tree->low[d]    ? tree->low[d] - query[d]
                             : query[d] > tree->high[d] ? query[d] - tree->high[d]
                                                        : 0;
        away2[d] = away * away;
        dist2 += away2[d];
    }
    *top++ = (KD_FRAME){dist2, away2[0], 0, 0};
    while (top > stack) {
        KD_FRAME *frame = top - 1;
        if (frame->node == KD_LEAVE) {
            away2[frame->axis] = frame->away2;
            top--;
            continue;
        }
        if (frame->dist2 > search->reach) {
            top--;
            continue;
        }
        int32_t here = frame->node;
        const KD_REAL before = away2[frame->axis];
        dist2 = frame->dist2;
        away2[frame->axis] = frame->away2;
        frame->away2 = before;
        frame->node = KD_LEAVE;
        while (nodes[here].axis >= 0) {
            const KD_NODE *node = &nodes[here];
            const KD_REAL over_low = query[node->axis] - node->low;
            const KD_REAL under_high = node->high - query[node->axis];
            const bool go_left = over_low < under_high;
            const KD_REAL cut = go_left ? under_high : over_low;
            const KD_REAL cut2 = cut * cut;
            *top = (KD_FRAME){dist2 - away2[node->axis] + cut2, cut2, go_left ? node->link : here + 1, node->axis};
            top += !(top->dist2 > search->reach); /* not <=: infinities may have made it no number */
            here = go_left ? here + 1 : node->link;
        }
        const int code = KD_STATIC(scan_leaf)(tree, &nodes[here], query, dim, take, search);
        if (code != EQP_OK) {
            return code;
        }
    }
    return EQP_OK;
}

/* Compiles the walk for the usual dimensions. */
KD_INLINE int KD_STATIC(run)(const KD_TREE *tree, const KD_REAL *query, KD_TAKE take, KD_SEARCH *search)
{
    return tree->n == 0     ? EQP_OK
           : tree->dim == 3 ? KD_STATIC(walk)(tree, query, 3, take, search)
           : tree->dim == 2 ? KD_STATIC(walk)(tree, query, 2, take, search)
                            : KD_STATIC(walk)(tree, query, tree->dim, take, search);
}

static int KD_STATIC(check_query)(const KD_TREE *tree, const KD_REAL *query)
{
    if (tree == NULL || query == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    for (int d = 0; d < tree->dim; d++) {
        if (!isfinite(query[d])) {
            return EQP_ERR_DATA;
        }
    }
    return EQP_OK;
}

static inline int KD_STATIC(take_nearest)(KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    search->limit = dist2;
    search->reach = KD_STATIC(reach_of)(dist2);
    search->limit_index = index;
    return EQP_OK;
}

int KD_PUBLIC(nearest)(const KD_TREE *tree, const KD_REAL *query, int64_t *index, KD_REAL *dist2)
{
    KD_SEARCH search = {.limit = (KD_REAL)INFINITY, .reach = (KD_REAL)INFINITY, .limit_index = KD_NO_INDEX};
    const int code = KD_STATIC(check_query)(tree, query);

    if (code != EQP_OK || index == NULL) {
        return code != EQP_OK ? code : EQP_ERR_ARGUMENT;
    }
    if (tree->n == 0) {
        return EQP_ERR_STATE;
    }
    KD_STATIC(run)(tree, query, KD_STATIC(take_nearest), &search);
    *index = search.limit_index;
    if (dist2 != NULL) {
        *dist2 = search.limit;
    }
    return EQP_OK;
}

/* Places a point into the heap of n, of which the place `at` is free and may be too high for it. */
static void KD_STATIC(sink)(int64_t *index, KD_REAL *dist2, int64_t at, int64_t n, int64_t new_index, KD_REAL new_dist2)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        const int64_t other = child + 1;
        if (other < n &&
            (dist2[other] > dist2[child] || (dist2[other] == dist2[child] && index[other] > index[child]))) {
            child = other;
        }
        if (dist2[child] < new_dist2 || (dist2[child] == new_dist2 && index[child] < new_index)) {
            break;
        }
        index[at] = index[child];
        dist2[at] = dist2[child];
    }
    index[at] = new_index;
    dist2[at] = new_dist2;
}

/* Once k points are found, only better ones than the worst of them, at place `worst`, are wanted. */
static inline void KD_STATIC(limit_to)(KD_SEARCH *search, int64_t worst)
{
    if (search->found == search->wanted) {
        search->limit = search->dist2[worst];
        search->reach = KD_STATIC(reach_of)(search->limit);
        search->limit_index = (int32_t)search->index[worst];
    }
}

/* For few points: they are kept sorted, which is quicker than a heap. */
static inline int KD_STATIC(take_sorted)(KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    int64_t at = search->found < search->wanted ? search->found++ : search->wanted - 1;

    for (; at > 0; at--) {
        const KD_REAL before = search->dist2[at - 1];
        if (before < dist2 || (before == dist2 && search->index[at - 1] < index)) {
            break;
        }
        search->dist2[at] = before;
        search->index[at] = search->index[at - 1];
    }
    search->dist2[at] = dist2;
    search->index[at] = index;
    KD_STATIC(limit_to)(search, search->wanted - 1);
    return EQP_OK;
}

static inline int KD_STATIC(take_heap)(KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    int64_t *heap = search->index;
    KD_REAL *heap2 = search->dist2;

    if (search->found < search->wanted) {
        int64_t at = search->found++;
        for (int64_t up; at > 0; at = up) {
            up = (at - 1) / 2;
            if (heap2[up] > dist2 || (heap2[up] == dist2 && heap[up] > index)) {
                break;
            }
            heap[at] = heap[up];
            heap2[at] = heap2[up];
        }
        heap[at] = index;
        heap2[at] = dist2;
    } else {
        KD_STATIC(sink)(heap, heap2, 0, search->found, index, dist2);
    }
    KD_STATIC(limit_to)(search, 0);
    return EQP_OK;
}

int KD_PUBLIC(nearest_k)(const KD_TREE *tree, const KD_REAL *query, int64_t k, int64_t *found, int64_t *index,
                         KD_REAL *dist2)
{
    KD_SEARCH search = {
        .limit = (KD_REAL)INFINITY, .reach = (KD_REAL)INFINITY, .limit_index = KD_NO_INDEX, .wanted = k};
    const int code = KD_STATIC(check_query)(tree, query);

    if (code != EQP_OK) {
        return code;
    }
    if (k < 0 || found == NULL || (k > 0 && (index == NULL || dist2 == NULL))) {
        return EQP_ERR_ARGUMENT;
    }
    search.index = index;
    search.dist2 = dist2;
    if (k > 0 && k <= KD_SORTED_MAX) {
        KD_STATIC(run)(tree, query, KD_STATIC(take_sorted), &search);
    } else if (k > 0) {
        KD_STATIC(run)(tree, query, KD_STATIC(take_heap), &search);
    }
    for (int64_t end = k > KD_SORTED_MAX ? search.found : 0; end-- > 1;) {
        const int64_t worst = index[0];
        const KD_REAL worst2 = dist2[0];
        KD_STATIC(sink)(index, dist2, 0, end, index[end], dist2[end]);
        index[end] = worst;
        dist2[end] = worst2;
    }
    *found = search.found;
    return EQP_OK;
}

static inline int KD_STATIC(take_visit)(KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    return search->visit(search->user, index, dist2);
}

int KD_PUBLIC(radius)(const KD_TREE *tree, const KD_REAL *query, KD_REAL radius2, KD_PUBLIC(visit_fn) visit, void *user)
{
    KD_SEARCH search = {.limit = radius2,
                        .reach = KD_STATIC(reach_of)(radius2),
                        .limit_index = KD_NO_INDEX,
                        .visit = visit,
                        .user = user};
    const int code = KD_STATIC(check_query)(tree, query);

    if (code != EQP_OK) {
        return code;
    }
    if (!(radius2 >= 0) || visit == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    return KD_STATIC(run)(tree, query, KD_STATIC(take_visit), &search);
}
