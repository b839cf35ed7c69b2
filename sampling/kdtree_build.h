/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number, part 1: memory and construction. kdtree_one.h includes this file. */

/* One node, 24 bytes for double and 16 for float, in depth-first order: the left child of an inner node follows it. */
typedef struct KD_NODE {
    KD_REAL low;  /* inner: largest coordinate along the axis on the left side */
    KD_REAL high; /* inner: smallest coordinate along the axis on the right side */
    int32_t link; /* inner: the right child; leaf: the first point */
    int32_t axis; /* inner: the axis of the cut; leaf: minus the number of points */
} KD_NODE;

/* The walks of the queries with the machine's vectors; see kdtree_walk.h. */
typedef int (*KD_WALK)(const KD_TREE *tree, const KD_REAL *query, KD_SEARCH *search);

typedef struct KD_WALKS {
    KD_WALK nearest;
    KD_WALK sorted; /* the k nearest, few of them */
    KD_WALK heap;   /* many of them */
    KD_WALK visit;
} KD_WALKS;

struct KD_TREE {
    int32_t n;
    int dim;
    int32_t leaf_size;
    int64_t stride;
    const KD_REAL *points; /* the caller's */
    KD_REAL *blocks;       /* [n * dim + KD_LANES] coordinates in the order of make_blocks(), NULL if not copied */
    int32_t *index;        /* [n] the caller's number of the point at each place of the leaves */
    KD_NODE *nodes;        /* [nodes_used] */
    int32_t nodes_used;
    int64_t nodes_room;
    KD_WALKS walk;
    KD_REAL low[EQP_KDTREE_DIM_MAX]; /* box of all points */
    KD_REAL high[EQP_KDTREE_DIM_MAX];
};

static KD_WALKS KD_STATIC(choose_walks)(int vectors);

/* Numbers as integers in the same order, so that bisection of a range ends after as many steps as they have bits. */
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

#if defined(KD_HAVE_SSE2)
/* The box of at least KD_SSE_LANES points in three dimensions; three vectors hold that many. */
static void KD_STATIC(find_box_3)(const KD_REAL *rows, int32_t count, KD_REAL *low, KD_REAL *high)
{
    const int32_t last = count - KD_SSE_LANES; /* the last vectors may overlap earlier ones */
    KD_SSE_VECTOR least[3];
    KD_SSE_VECTOR most[3];
    KD_REAL ends[2][3 * KD_SSE_LANES];

    for (int k = 0; k < 3; k++) {
        least[k] = most[k] = KD_SSE(loadu)(rows + (ptrdiff_t)last * 3 + k * KD_SSE_LANES);
    }
    for (int32_t i = 0; i < last; i += KD_SSE_LANES, rows += 3 * KD_SSE_LANES) {
        for (int k = 0; k < 3; k++) {
            const KD_SSE_VECTOR x = KD_SSE(loadu)(rows + k * KD_SSE_LANES);
            least[k] = KD_SSE(min)(least[k], x);
            most[k] = KD_SSE(max)(most[k], x);
        }
    }
    for (int k = 0; k < 3; k++) {
        KD_SSE(storeu)(ends[0] + k * KD_SSE_LANES, least[k]);
        KD_SSE(storeu)(ends[1] + k * KD_SSE_LANES, most[k]);
    }
    for (int d = 0; d < 3; d++) {
        low[d] = ends[0][d];
        high[d] = ends[1][d];
        for (int i = d + 3; i < 3 * KD_SSE_LANES; i += 3) {
            low[d] = ends[0][i] < low[d] ? ends[0][i] : low[d];
            high[d] = ends[1][i] > high[d] ? ends[1][i] : high[d];
        }
    }
}
#endif

/* Smallest and largest coordinate along the axes `first` to `end` - 1. */
KD_INLINE void KD_STATIC(find_ends)(const KD_REAL *rows, int32_t count, const int dim, const int first, const int end,
                                    KD_REAL *low, KD_REAL *high)
{
    for (int d = first; d < end; d++) {
        low[d] = high[d] = rows[d];
    }
    for (int32_t i = 1; i < count; i++) {
        rows += dim;
        for (int d = first; d < end; d++) {
            low[d] = rows[d] < low[d] ? rows[d] : low[d];
            high[d] = rows[d] > high[d] ? rows[d] : high[d];
        }
    }
}

KD_INLINE void KD_STATIC(find_box)(const KD_REAL *rows, int32_t count, const int dim, KD_REAL *low, KD_REAL *high)
{
#if defined(KD_HAVE_SSE2)
    if (dim == 3 && count >= KD_SSE_LANES) {
        KD_STATIC(find_box_3)(rows, count, low, high);
        return;
    }
#endif
    KD_STATIC(find_ends)(rows, count, dim, 0, dim, low, high);
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

KD_INLINE void KD_STATIC(swap_points)(KD_TREE *tree, ptrdiff_t a, ptrdiff_t b, const int dim)
{
    const int32_t number = tree->index[a];

    tree->index[a] = tree->index[b];
    tree->index[b] = number;
    for (int d = 0; d < dim; d++) {
        const KD_REAL x = tree->blocks[a * dim + d];
        tree->blocks[a * dim + d] = tree->blocks[b * dim + d];
        tree->blocks[b * dim + d] = x;
    }
}

/* partition() for at most 2 * KD_SIDE points, which are dealt to both ends of a copy. */
KD_INLINE int32_t KD_STATIC(partition_few)(KD_TREE *tree, int32_t first, int32_t end, const int dim, int axis,
                                           KD_REAL pivot)
{
    const size_t count = (size_t)(end - first);
    KD_REAL *rows = tree->blocks + (ptrdiff_t)first * dim;
    int32_t *index = tree->index + first;
    KD_REAL dealt[2 * KD_SIDE * EQP_KDTREE_DIM_MAX];
    int32_t dealt_index[2 * KD_SIDE];
    int32_t left = 0;

    for (int32_t i = 0, free_places = end - first; free_places-- > 0; i++) {
        const int32_t is_right = rows[i * dim + axis] > pivot;
        const int32_t place = left + (-is_right & free_places);
        for (int d = 0; d < dim; d++) {
            dealt[place * dim + d] = rows[i * dim + d];
        }
        dealt_index[place] = index[i];
        left += 1 - is_right;
    }
    memcpy(rows, dealt, sizeof *rows * count * (size_t)dim);
    memcpy(index, dealt_index, sizeof *index * count);
    return first + left;
}

/* Moves the points of [first, end) with a coordinate of at most `pivot` to the front; returns one past the last.
 * Misplaced points among KD_SIDE at each end are listed, then swapped. No branch depends on a coordinate, as half of
 * such branches would be mispredicted (S. Edelkamp, A. Weiss, "BlockQuicksort", ESA 2016). */
KD_INLINE int32_t KD_STATIC(partition)(KD_TREE *tree, int32_t first, int32_t end, const int dim, int axis,
                                       KD_REAL pivot)
{
    uint8_t wrong_left[KD_SIDE];
    uint8_t wrong_right[KD_SIDE];
    int at_left = 0;
    int at_right = 0;
    int left = 0; /* listed and not yet swapped */
    int right = 0;

    while (end - first > 2 * KD_SIDE) {
        if (left == 0) {
            const KD_REAL *x = tree->blocks + (ptrdiff_t)first * dim + axis;
            at_left = 0;
            for (int i = 0; i < KD_SIDE; i++, x += dim) {
                wrong_left[left] = (uint8_t)i;
                left += *x > pivot;
            }
        }
        if (right == 0) {
            const KD_REAL *x = tree->blocks + (ptrdiff_t)(end - 1) * dim + axis;
            at_right = 0;
            for (int i = 0; i < KD_SIDE; i++, x -= dim) {
                wrong_right[right] = (uint8_t)i;
                right += *x <= pivot;
            }
        }
        const int swaps = left < right ? left : right;
        for (int i = 0; i < swaps; i++) {
            KD_STATIC(swap_points)(tree, first + wrong_left[at_left + i], end - 1 - wrong_right[at_right + i], dim);
        }
        at_left += swaps;
        at_right += swaps;
        left -= swaps;
        right -= swaps;
        first += left == 0 ? KD_SIDE : 0;
        end -= right == 0 ? KD_SIDE : 0;
    }
    return KD_STATIC(partition_few)(tree, first, end, dim, axis, pivot);
}

static KD_REAL KD_STATIC(choose_pivot)(KD_REAL low, KD_REAL high, int round)
{
    const KD_KEY key = KD_STATIC(key_of)(low);
    const KD_REAL pivot =
        round % 2 == 0 ? low / 2 + high / 2 : KD_STATIC(value_of)(key + (KD_STATIC(key_of)(high) - key) / 2);

    return pivot >= low && pivot < high ? pivot : low;
}

/* Splits the points of a task by a cut across `axis`; returns the number of points in front. The cut starts in the
 * middle of the range and moves to the middle of the side with the median until neither side is too small. Every second
 * step halves the range of representable numbers instead of the length, so 128 steps suffice for any coordinates;
 * usually one or two do. As sides have at least 1/4 of the points from KD_DEPTH_LOPSIDED on, 2^30 points stay above
 * depth 32 + ln(2^30) / ln(4/3) + 3 < EQP__KDTREE_DEPTH_MAX. */
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
        low = high = tree->blocks[(ptrdiff_t)first * dim + axis];
        for (int32_t i = first + 1; i < end; i++) {
            const KD_REAL x = tree->blocks[(ptrdiff_t)i * dim + axis];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    }
    /* All points of [first, end) have the same coordinate, so any of them can be on either side. */
    return middle - task->first;
}

static int KD_STATIC(new_node)(KD_TREE *tree)
{
    if (tree->nodes_used == tree->nodes_room) {
        const int64_t room = tree->nodes_room + tree->nodes_room / 2 + 16;
        KD_NODE *moved = eqp__realloc(tree->nodes, (size_t)room, sizeof *moved);
        EQP__FAIL_IF(moved == NULL, EQP_ERR_MEMORY);
        tree->nodes = moved;
        tree->nodes_room = room;
    }
    tree->nodes_used++;
    return EQP_OK;
}

/* Stores the box along the parent's axis in the parent, and the place of the right child. */
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

/* Computes the box of a task's points, stores it in the parent, and returns the longest edge, or -1 for a leaf. A leaf
 * needs only the edge along its parent's axis. */
KD_INLINE int KD_STATIC(measure)(KD_TREE *tree, const kd_task *task, int32_t id, const int dim, KD_REAL *low,
                                 KD_REAL *high)
{
    const KD_REAL *rows = tree->blocks + (ptrdiff_t)task->first * dim;

    if (task->parent >= 0 && task->count <= tree->leaf_size) {
        const int axis = tree->nodes[task->parent].axis;
        KD_STATIC(find_ends)(rows, task->count, dim, axis, axis + 1, low, high);
        KD_STATIC(tell_parent)(tree, task, id, low, high);
        return -1;
    }
    KD_STATIC(find_box)(rows, task->count, dim, low, high);
    if (task->parent >= 0) {
        KD_STATIC(tell_parent)(tree, task, id, low, high);
    } else {
        memcpy(tree->low, low, sizeof(KD_REAL) * (size_t)dim);
        memcpy(tree->high, high, sizeof(KD_REAL) * (size_t)dim);
    }
    const int axis = KD_STATIC(longest_axis)(low, high, dim);
    return task->count > tree->leaf_size && low[axis] < high[axis] ? axis : -1;
}

/* Turns rows of coordinates into blocks of KD_LANES points (the last may have fewer). A block holds all coordinates
 * along the first axis, then the second and so on, as vectors need them. */
KD_INLINE void KD_STATIC(make_blocks)(KD_REAL *row, int32_t count, const int dim)
{
    for (int32_t first = 0; first < count; first += KD_LANES) {
        const int32_t size = count - first < KD_LANES ? count - first : KD_LANES;
        KD_REAL copy[KD_LANES * EQP_KDTREE_DIM_MAX];
        memcpy(copy, row, sizeof *row * (size_t)(size * dim));
        for (int d = 0; d < dim; d++) {
            for (int32_t i = 0; i < size; i++) {
                *row++ = copy[i * dim + d];
            }
        }
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

        EQP__FAIL_IF(KD_STATIC(new_node)(tree) != EQP_OK, EQP_ERR_MEMORY);
        const int axis = KD_STATIC(measure)(tree, &task, id, dim, low, high);
        if (axis < 0) {
            tree->nodes[id] = (KD_NODE){.link = task.first, .axis = -task.count};
            if (task.count > tree->leaf_size) {
                sort_indices(tree->index + task.first, task.count);
            }
            KD_STATIC(make_blocks)(tree->blocks + (ptrdiff_t)task.first * dim, task.count, dim);
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
    KD_REAL *row = tree->blocks;

    for (int32_t i = 0; i < tree->n; i++) {
        const KD_REAL *point = tree->points + i * tree->stride;
        for (int d = 0; d < tree->dim; d++) {
            EQP__FAIL_IF(!isfinite(point[d]), EQP_ERR_DATA);
            *row++ = point[d];
        }
        tree->index[i] = i;
    }
    return EQP_OK;
}

static int KD_STATIC(build)(KD_TREE *tree, bool copy_points)
{
    const size_t numbers = (size_t)tree->n * (size_t)tree->dim;

    /* The expected number of nodes for random points; unused memory is released at the end. */
    tree->nodes_room = tree->leaf_size == 1 ? 2 * (int64_t)tree->n - 1 : 3 * (int64_t)(tree->n / tree->leaf_size) + 16;
    tree->blocks = eqp__malloc(numbers + KD_LANES, sizeof *tree->blocks);
    tree->index = eqp__malloc((size_t)tree->n, sizeof *tree->index);
    tree->nodes = eqp__malloc((size_t)tree->nodes_room, sizeof *tree->nodes);
    EQP__FAIL_IF(tree->blocks == NULL || tree->index == NULL || tree->nodes == NULL, EQP_ERR_MEMORY);
    memset(tree->blocks + numbers, 0, KD_LANES * sizeof *tree->blocks);
    int code = KD_STATIC(gather)(tree);
    if (code == EQP_OK) {
        code = tree->dim == 3   ? KD_STATIC(build_nodes)(tree, 3)
               : tree->dim == 2 ? KD_STATIC(build_nodes)(tree, 2)
                                : KD_STATIC(build_nodes)(tree, tree->dim);
    }
    EQP__CHECK(code);
    KD_NODE *smaller = eqp__realloc(tree->nodes, (size_t)tree->nodes_used, sizeof *smaller);
    if (smaller != NULL) {
        tree->nodes = smaller;
        tree->nodes_room = tree->nodes_used;
    }
    if (copy_points) {
        tree->points = NULL;
    } else {
        eqp__free(tree->blocks);
        tree->blocks = NULL;
    }
    return EQP_OK;
}

int KD_PUBLIC(create)(int64_t n, int dim, const KD_REAL *points, const eqp_kdtree_options *options, KD_TREE **tree)
{
    const eqp_kdtree_options defaults = eqp_kdtree_options_defaults();
    int code = EQP_OK;

    if (options == NULL) {
        options = &defaults;
    }
    EQP__FAIL_IF(n < 0 || dim < 1 || dim > EQP_KDTREE_DIM_MAX || (n > 0 && points == NULL) || tree == NULL ||
                     !options_are_valid(options, dim),
                 EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(n > EQP_KDTREE_POINTS_MAX, EQP_ERR_OVERFLOW);
    KD_TREE *made = eqp__calloc(1, sizeof *made);
    EQP__FAIL_IF(made == NULL, EQP_ERR_MEMORY);
    made->n = (int32_t)n;
    made->dim = dim;
    made->leaf_size = options->leaf_size;
    made->stride = options->stride != 0 ? options->stride : dim;
    made->points = points;
    made->walk = KD_STATIC(choose_walks)(EQP__KDTREE_BEST);
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
        eqp__free(tree->blocks);
        eqp__free(tree->index);
        eqp__free(tree->nodes);
        eqp__free(tree);
    }
}

KD_INLINE KD_REAL KD_STATIC(coordinate)(const KD_TREE *tree, const KD_NODE *leaf, int32_t i, const int dim, int d)
{
    const int32_t first = i / KD_LANES * KD_LANES;
    const int32_t size = -leaf->axis - first < KD_LANES ? -leaf->axis - first : KD_LANES;

    return tree->blocks != NULL ? tree->blocks[(ptrdiff_t)(leaf->link + first) * dim + size * d + i - first]
                                : tree->points[tree->index[leaf->link + i] * tree->stride + d];
}
