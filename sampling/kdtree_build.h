/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number, part 1: its memory and how it is built. kdtree.c includes this file once for
 * each type, so there is no include guard. */

/* One node, 24 bytes for double and 16 for float, in depth-first order: the left child of an inner node follows it. */
typedef struct KD_NODE {
    KD_REAL low;  /* inner: largest coordinate along the axis on the left side */
    KD_REAL high; /* inner: smallest coordinate along the axis on the right side */
    int32_t link; /* inner: the right child; leaf: the first point */
    int32_t axis; /* inner: the axis of the cut; leaf: minus the number of points */
} KD_NODE;

struct KD_TREE {
    int32_t n;
    int dim;
    int32_t leaf_size;
    int64_t stride;
    const KD_REAL *points; /* the caller's */
    KD_REAL *rows;         /* [n][dim] coordinates in the order of the leaves, NULL if not copied */
    int32_t *index;        /* [n] the caller's number of the point at each place of the leaves */
    KD_NODE *nodes;        /* [nodes_used] */
    int32_t nodes_used;
    int64_t nodes_room;
    KD_REAL low[EQP_KDTREE_DIM_MAX]; /* box of all points */
    KD_REAL high[EQP_KDTREE_DIM_MAX];
};

/* Numbers as integers of the same order, so that halving a range of them ends after as many steps as they have bits. */
static KD_KEY KD_STATIC(key_of)(KD_REAL x)
{
    const KD_KEY sign = (KD_KEY)1 << (sizeof(KD_KEY) * 8 - 1);
    KD_KEY key;

    memcpy(&key, &x, sizeof key);
    return (key & sign) != 0 ? (KD_KEY)~key : key | sign;
}

static KD_REAL KD_STATIC(value_of)(KD_KEY key)
{
    const KD_KEY sign = (KD_KEY)1 << (sizeof(KD_KEY) * 8 - 1);
    KD_REAL x;

    key = (key & sign) != 0 ? key ^ sign : (KD_KEY)~key;
    memcpy(&x, &key, sizeof x);
    return x;
}

KD_INLINE void KD_STATIC(find_box)(const KD_REAL *rows, int32_t count, const int dim, KD_REAL *low, KD_REAL *high)
{
    for (int d = 0; d < dim; d++) {
        low[d] = high[d] = rows[d];
    }
    for (int32_t i = 1; i < count; i++) {
        rows += dim;
        for (int d = 0; d < dim; d++) {
            low[d] = rows[d] < low[d] ? rows[d] : low[d];
            high[d] = rows[d] > high[d] ? rows[d] : high[d];
        }
    }
}

static int KD_STATIC(longest_axis)(const KD_REAL *low, const KD_REAL *high, int dim)
{
    int axis = 0;

    for (int d = 1; d < dim; d++) {
        if (high[d] - low[d] > high[axis] - low[axis]) {
            axis = d;
        }
    }
    return axis;
}

KD_INLINE void KD_STATIC(swap_rows)(KD_REAL *a, KD_REAL *b, const int dim)
{
    for (int d = 0; d < dim; d++) {
        const KD_REAL x = a[d];
        a[d] = b[d];
        b[d] = x;
    }
}

/* Moves the points of [first, end) with a coordinate of at most `pivot` to the front; returns one past the last. */
KD_INLINE int32_t KD_STATIC(partition)(KD_TREE *tree, int32_t first, int32_t end, const int dim, int axis,
                                       KD_REAL pivot)
{
    KD_REAL *rows = tree->rows;
    int32_t *index = tree->index;

    for (;;) {
        while (first < end && rows[(ptrdiff_t)first * dim + axis] <= pivot) {
            first++;
        }
        while (first < end && rows[(ptrdiff_t)(end - 1) * dim + axis] > pivot) {
            end--;
        }
        if (first >= end) {
            return first;
        }
        end--;
        KD_STATIC(swap_rows)(rows + (ptrdiff_t)first * dim, rows + (ptrdiff_t)end * dim, dim);
        const int32_t number = index[first];
        index[first] = index[end];
        index[end] = number;
        first++;
    }
}

static KD_REAL KD_STATIC(choose_pivot)(KD_REAL low, KD_REAL high, int round)
{
    const KD_KEY key = KD_STATIC(key_of)(low);
    const KD_REAL pivot =
        round % 2 == 0 ? low / 2 + high / 2 : KD_STATIC(value_of)(key + (KD_STATIC(key_of)(high) - key) / 2);

    return pivot >= low && pivot < high ? pivot : low;
}

/* Orders the points of a task so that the first ones lie on one side of a cut across `axis`, the others on the other,
 * and returns how many are first. The middle is tried, then the middle of what holds the median, and so on until
 * neither side is too small. Every second time the range of numbers is halved instead of the length, so 128 rounds are
 * enough for whatever the coordinates are; nearly always one or two do. Sides of at least 1/4 from KD_DEPTH_LOPSIDED on
 * keep 2^30 points above depth 32 + ln(2^30) / ln(4/3) + 3 < EQP__KDTREE_DEPTH_MAX. */
KD_INLINE int32_t KD_STATIC(split)(KD_TREE *tree, const kd_task *task, const int dim, int axis, KD_REAL low,
                                   KD_REAL high)
{
    const int32_t least = task->depth < KD_DEPTH_LOPSIDED ? 1 : task->count / KD_BALANCED;
    const int32_t middle = task->first + task->count / 2;
    int32_t first = task->first;
    int32_t end = task->first + task->count;

    for (int round = 0; low < high; round++) {
        const KD_REAL pivot = KD_STATIC(choose_pivot)(low, high, round);
        const int32_t cut = KD_STATIC(partition)(tree, first, end, dim, axis, pivot);
        if (cut - task->first >= least && task->first + task->count - cut >= least) {
            return cut - task->first;
        }
        if (cut <= middle) {
            first = cut;
        } else {
            end = cut;
        }
        low = high = tree->rows[(ptrdiff_t)first * dim + axis];
        for (int32_t i = first + 1; i < end; i++) {
            const KD_REAL x = tree->rows[(ptrdiff_t)i * dim + axis];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    }
    /* All of [first, end) have one coordinate, so the cut may go anywhere between them. */
    return middle - task->first;
}

static int KD_STATIC(new_node)(KD_TREE *tree)
{
    if (tree->nodes_used == tree->nodes_room) {
        const int64_t room = tree->nodes_room + tree->nodes_room / 2 + 16;
        KD_NODE *moved = eqp__realloc(tree->nodes, (size_t)room, sizeof *moved);
        if (moved == NULL) {
            return EQP_ERR_MEMORY;
        }
        tree->nodes = moved;
        tree->nodes_room = room;
    }
    tree->nodes_used++;
    return EQP_OK;
}

/* The parent of a node learns its box along the parent's axis, and where its right child is. */
static void KD_STATIC(tell_parent)(KD_TREE *tree, const kd_task *task, int32_t id, const KD_REAL *low,
                                   const KD_REAL *high)
{
    KD_NODE *parent = &tree->nodes[task->parent];

    if (task->is_right) {
        parent->link = id;
        parent->high = low[parent->axis];
    } else {
        parent->low = high[parent->axis];
    }
}

KD_INLINE int KD_STATIC(build_nodes)(KD_TREE *tree, const int dim)
{
    kd_task stack[EQP__KDTREE_DEPTH_MAX + 1];
    int waiting = 0;

    stack[waiting++] = (kd_task){.first = 0, .count = tree->n, .parent = -1};
    while (waiting > 0) {
        const kd_task task = stack[--waiting];
        const int32_t id = tree->nodes_used;
        KD_REAL low[EQP_KDTREE_DIM_MAX];
        KD_REAL high[EQP_KDTREE_DIM_MAX];

        KD_STATIC(find_box)(tree->rows + (ptrdiff_t)task.first * dim, task.count, dim, low, high);
        if (KD_STATIC(new_node)(tree) != EQP_OK) {
            return EQP_ERR_MEMORY;
        }
        if (task.parent >= 0) {
            KD_STATIC(tell_parent)(tree, &task, id, low, high);
        } else {
            memcpy(tree->low, low, sizeof(KD_REAL) * (size_t)dim);
            memcpy(tree->high, high, sizeof(KD_REAL) * (size_t)dim);
        }
        const int axis = KD_STATIC(longest_axis)(low, high, dim);
        if (task.count <= tree->leaf_size || !(low[axis] < high[axis])) {
            tree->nodes[id] = (KD_NODE){.link = task.first, .axis = -task.count};
            if (task.count > tree->leaf_size) {
                sort_indices(tree->index + task.first, task.count);
            }
            continue;
        }
        const int32_t left = KD_STATIC(split)(tree, &task, dim, axis, low[axis], high[axis]);
        const int16_t depth = (int16_t)(task.depth + 1);
        tree->nodes[id] = (KD_NODE){.axis = axis};
        stack[waiting++] = (kd_task){task.first + left, task.count - left, id, depth, true};
        stack[waiting++] = (kd_task){task.first, left, id, depth, false};
    }
    return EQP_OK;
}

static int KD_STATIC(gather)(KD_TREE *tree)
{
    KD_REAL *row = tree->rows;

    for (int32_t i = 0; i < tree->n; i++) {
        const KD_REAL *point = tree->points + i * tree->stride;
        for (int d = 0; d < tree->dim; d++) {
            if (!isfinite(point[d])) {
                return EQP_ERR_DATA;
            }
            *row++ = point[d];
        }
        tree->index[i] = i;
    }
    return EQP_OK;
}

static int KD_STATIC(build)(KD_TREE *tree, bool copy_points)
{
    /* About as many nodes as cuts at the middle of random points make; the rest is given back at the end. */
    tree->nodes_room = tree->leaf_size == 1 ? 2 * (int64_t)tree->n - 1 : 3 * (int64_t)(tree->n / tree->leaf_size) + 16;
    tree->rows = eqp__malloc((size_t)tree->n * (size_t)tree->dim, sizeof *tree->rows);
    tree->index = eqp__malloc((size_t)tree->n, sizeof *tree->index);
    tree->nodes = eqp__malloc((size_t)tree->nodes_room, sizeof *tree->nodes);
    if (tree->rows == NULL || tree->index == NULL || tree->nodes == NULL) {
        return EQP_ERR_MEMORY;
    }
    int code = KD_STATIC(gather)(tree);
    if (code == EQP_OK) {
        code = tree->dim == 3   ? KD_STATIC(build_nodes)(tree, 3)
               : tree->dim == 2 ? KD_STATIC(build_nodes)(tree, 2)
                                : KD_STATIC(build_nodes)(tree, tree->dim);
    }
    if (code != EQP_OK) {
        return code;
    }
    KD_NODE *smaller = eqp__realloc(tree->nodes, (size_t)tree->nodes_used, sizeof *smaller);
    if (smaller != NULL) {
        tree->nodes = smaller;
        tree->nodes_room = tree->nodes_used;
    }
    if (copy_points) {
        tree->points = NULL;
    } else {
        eqp__free(tree->rows);
        tree->rows = NULL;
    }
    return EQP_OK;
}

int KD_PUBLIC(create)(int64_t n, int dim, const KD_REAL *points, const eqp_kdtree_options *options, KD_TREE **tree)
{
    const eqp_kdtree_options defaults = EQP_KDTREE_DEFAULTS;
    int code = EQP_OK;

    if (options == NULL) {
        options = &defaults;
    }
    if (n < 0 || dim < 1 || dim > EQP_KDTREE_DIM_MAX || (n > 0 && points == NULL) || tree == NULL ||
        !options_are_valid(options, dim)) {
        return EQP_ERR_ARGUMENT;
    }
    if (n > EQP_KDTREE_POINTS_MAX) {
        return EQP_ERR_OVERFLOW;
    }
    KD_TREE *made = eqp__calloc(1, sizeof *made);
    if (made == NULL) {
        return EQP_ERR_MEMORY;
    }
    made->n = (int32_t)n;
    made->dim = dim;
    made->leaf_size = options->leaf_size;
    made->stride = options->stride != 0 ? options->stride : dim;
    made->points = points;
    if (n > 0) {
        code = KD_STATIC(build)(made, options->copy_points);
    }
    if (code != EQP_OK) {
        KD_PUBLIC(free)(made);
        return code;
    }
    *tree = made;
    return EQP_OK;
}

void KD_PUBLIC(free)(KD_TREE *tree)
{
    if (tree != NULL) {
        eqp__free(tree->rows);
        eqp__free(tree->index);
        eqp__free(tree->nodes);
        eqp__free(tree);
    }
}

int64_t KD_PUBLIC(count)(const KD_TREE *tree)
{
    return tree->n;
}

int KD_PUBLIC(dim)(const KD_TREE *tree)
{
    return tree->dim;
}

/* Coordinates of the point at a place of the leaves. */
static const KD_REAL *KD_STATIC(point_at)(const KD_TREE *tree, int32_t place)
{
    return tree->rows != NULL ? tree->rows + (ptrdiff_t)place * tree->dim
                              : tree->points + tree->index[place] * tree->stride;
}

static bool KD_STATIC(leaf_is_right)(const KD_TREE *tree, const KD_NODE *leaf, const kd_task *task)
{
    if (leaf->link != task->first || -leaf->axis != task->count || task->count < 1) {
        return false;
    }
    for (int32_t i = task->first + 1; task->count > tree->leaf_size && i < task->first + task->count; i++) {
        for (int d = 0; d < tree->dim; d++) {
            if (KD_STATIC(point_at)(tree, i)[d] != KD_STATIC(point_at)(tree, i - 1)[d]) {
                return false;
            }
        }
        if (tree->index[i] <= tree->index[i - 1]) {
            return false;
        }
    }
    return true;
}

/* Whether the largest coordinate of the left side and the smallest of the right one are those of the cut. */
static bool KD_STATIC(cut_is_right)(const KD_TREE *tree, const KD_NODE *node, const kd_task *task, int32_t right)
{
    KD_REAL low = -(KD_REAL)INFINITY;
    KD_REAL high = (KD_REAL)INFINITY;

    for (int32_t i = task->first; i < task->first + task->count; i++) {
        const KD_REAL x = KD_STATIC(point_at)(tree, i)[node->axis];
        if (i < right) {
            low = x > low ? x : low;
        } else {
            high = x < high ? x : high;
        }
    }
    return low == node->low && high == node->high && low <= high;
}

static int KD_STATIC(check_nodes)(const KD_TREE *tree, int *depth)
{
    kd_task stack[EQP__KDTREE_DEPTH_MAX + 1];
    int waiting = 0;
    int32_t id = 0;
    int deepest = 0;

    stack[waiting++] = (kd_task){.first = 0, .count = tree->n};
    for (; waiting > 0; id++) {
        const kd_task task = stack[--waiting];
        if (id >= tree->nodes_used || (task.is_right && tree->nodes[task.parent].link != id)) {
            return EQP_ERR_INTERNAL;
        }
        const KD_NODE *node = &tree->nodes[id];
        deepest = task.depth > deepest ? task.depth : deepest;
        if (node->axis < 0) {
            if (!KD_STATIC(leaf_is_right)(tree, node, &task)) {
                return EQP_ERR_INTERNAL;
            }
            continue;
        }
        int32_t leaf = node->link;
        while (leaf < tree->nodes_used && tree->nodes[leaf].axis >= 0) {
            leaf++;
        }
        const int32_t right = leaf < tree->nodes_used ? tree->nodes[leaf].link : -1;
        if (task.depth >= EQP__KDTREE_DEPTH_MAX || right <= task.first || right >= task.first + task.count ||
            !KD_STATIC(cut_is_right)(tree, node, &task, right)) {
            return EQP_ERR_INTERNAL;
        }
        const int16_t below = (int16_t)(task.depth + 1);
        stack[waiting++] = (kd_task){right, task.first + task.count - right, id, below, true};
        stack[waiting++] = (kd_task){task.first, right - task.first, id, below, false};
    }
    *depth = deepest;
    return id == tree->nodes_used ? EQP_OK : EQP_ERR_INTERNAL;
}

int KD_CHECK(const KD_TREE *tree, int *depth)
{
    if (tree->n == 0) {
        *depth = 0;
        return tree->nodes_used == 0 ? EQP_OK : EQP_ERR_INTERNAL;
    }
    bool *seen = eqp__calloc((size_t)tree->n, sizeof *seen);
    if (seen == NULL) {
        return EQP_ERR_MEMORY;
    }
    int code = EQP_OK;
    for (int32_t i = 0; i < tree->n && code == EQP_OK; i++) {
        const int32_t index = tree->index[i];
        if (index < 0 || index >= tree->n || seen[index]) {
            code = EQP_ERR_INTERNAL;
        } else {
            seen[index] = true;
        }
    }
    eqp__free(seen);
    return code == EQP_OK ? KD_STATIC(check_nodes)(tree, depth) : code;
}
