/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number, part 2: queries. kdtree.c includes this file once for each type, after
 * kdtree_build.h, so there is no include guard. */

/* What a query has found so far and what it still wants: points nearer than limit, or as far with a lower index. */
typedef struct KD_SEARCH {
    KD_REAL limit;
    int32_t limit_index;
    int64_t wanted; /* k nearest: points, in a heap with the worst first until the end */
    int64_t found;
    int64_t *index;
    KD_REAL *dist2;
    KD_PUBLIC(visit_fn) visit;
    void *user;
} KD_SEARCH;

/* Takes a wanted point; anything but EQP_OK ends the query. */
typedef int (*KD_TAKE)(KD_SEARCH *search, KD_REAL dist2, int32_t index);

/* A node that is still to be looked at: how far the place is from its box, along each axis and in all. */
typedef struct KD_FRAME {
    KD_REAL away[EQP_KDTREE_DIM_MAX];
    KD_REAL dist2;
    int32_t node;
} KD_FRAME;

/* The same sum for points and boxes: rounding is monotonic, so a box is never farther than a point in it and ties are
 * exact. */
KD_INLINE KD_REAL KD_STATIC(norm2)(const KD_REAL *x, const int dim)
{
    KD_REAL sum = x[0] * x[0];

    for (int d = 1; d < dim; d++) {
        sum += x[d] * x[d];
    }
    return sum;
}

KD_INLINE int KD_STATIC(scan_leaf)(const KD_TREE *tree, const KD_NODE *leaf, const KD_REAL *query, const int dim,
                                   KD_TAKE take, KD_SEARCH *search)
{
    const int32_t count = -leaf->axis;
    const int32_t *index = tree->index + leaf->link;
    const KD_REAL *row = tree->rows != NULL ? tree->rows + (ptrdiff_t)leaf->link * dim : NULL;

    for (int32_t i = 0; i < count; i++) {
        const KD_REAL *point = row != NULL ? row + (ptrdiff_t)i * dim : tree->points + index[i] * tree->stride;
        KD_REAL away[EQP_KDTREE_DIM_MAX];
        for (int d = 0; d < dim; d++) {
            away[d] = point[d] - query[d];
        }
        const KD_REAL dist2 = KD_STATIC(norm2)(away, dim);
        if (dist2 < search->limit || (dist2 == search->limit && index[i] < search->limit_index)) {
            const int code = take(search, dist2, index[i]);
            if (code != EQP_OK) {
                return code;
            }
        } else if (count > tree->leaf_size) {
            break; /* equal points, ordered by index: the others are not wanted either */
        }
    }
    return EQP_OK;
}

KD_INLINE int KD_STATIC(walk)(const KD_TREE *tree, const KD_REAL *query, const int dim, KD_TAKE take, KD_SEARCH *search)
{
    KD_FRAME stack[EQP__KDTREE_DEPTH_MAX + 1];
    KD_FRAME here = {.node = 0};
    int waiting = 0;

    for (int d = 0; d < dim; d++) {
        here.away[d] = query[d] < tree->low[d]    ? tree->low[d] - query[d]
                       : query[d] > tree->high[d] ? query[d] - tree->high[d]
                                                  : 0;
    }
    here.dist2 = KD_STATIC(norm2)(here.away, dim);
    for (;;) {
        if (here.dist2 <= search->limit) {
            const KD_NODE *node = &tree->nodes[here.node];
            while (node->axis >= 0) {
                const int axis = node->axis;
                const KD_REAL over_low = query[axis] - node->low;
                const KD_REAL under_high = node->high - query[axis];
                const KD_NODE *right = &tree->nodes[node->link];
                const bool go_left = over_low < under_high;
                const KD_NODE *far = go_left ? right : node + 1;
                const KD_REAL away = here.away[axis];
                here.away[axis] = go_left ? under_high : over_low;
                const KD_REAL dist2 = KD_STATIC(norm2)(here.away, dim);
                if (dist2 <= search->limit) {
                    KD_FRAME *frame = &stack[waiting++];
                    for (int d = 0; d < dim; d++) {
                        frame->away[d] = here.away[d];
                    }
                    frame->dist2 = dist2;
                    frame->node = (int32_t)(far - tree->nodes);
                }
                here.away[axis] = away;
                node = go_left ? node + 1 : right;
            }
            const int code = KD_STATIC(scan_leaf)(tree, node, query, dim, take, search);
            if (code != EQP_OK) {
                return code;
            }
        }
        if (waiting == 0) {
            return EQP_OK;
        }
        const KD_FRAME *next = &stack[--waiting];
        for (int d = 0; d < dim; d++) {
            here.away[d] = next->away[d];
        }
        here.dist2 = next->dist2;
        here.node = next->node;
    }
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
    search->limit_index = index;
    return EQP_OK;
}

int KD_PUBLIC(nearest)(const KD_TREE *tree, const KD_REAL *query, int64_t *index, KD_REAL *dist2)
{
    KD_SEARCH search = {.limit = (KD_REAL)INFINITY, .limit_index = KD_NO_INDEX};
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

static inline int KD_STATIC(take_k)(KD_SEARCH *search, KD_REAL dist2, int32_t index)
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
    if (search->found == search->wanted) {
        search->limit = heap2[0];
        search->limit_index = (int32_t)heap[0];
    }
    return EQP_OK;
}

int KD_PUBLIC(nearest_k)(const KD_TREE *tree, const KD_REAL *query, int64_t k, int64_t *found, int64_t *index,
                         KD_REAL *dist2)
{
    KD_SEARCH search = {.limit = (KD_REAL)INFINITY, .limit_index = KD_NO_INDEX, .wanted = k};
    const int code = KD_STATIC(check_query)(tree, query);

    if (code != EQP_OK) {
        return code;
    }
    if (k < 0 || found == NULL || (k > 0 && (index == NULL || dist2 == NULL))) {
        return EQP_ERR_ARGUMENT;
    }
    search.index = index;
    search.dist2 = dist2;
    if (k > 0) {
        KD_STATIC(run)(tree, query, KD_STATIC(take_k), &search);
    }
    for (int64_t end = search.found; end-- > 1;) {
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
    KD_SEARCH search = {.limit = radius2, .limit_index = KD_NO_INDEX, .visit = visit, .user = user};
    const int code = KD_STATIC(check_query)(tree, query);

    if (code != EQP_OK) {
        return code;
    }
    if (!(radius2 >= 0) || visit == NULL) {
        return EQP_ERR_ARGUMENT;
    }
    return KD_STATIC(run)(tree, query, KD_STATIC(take_visit), &search);
}
