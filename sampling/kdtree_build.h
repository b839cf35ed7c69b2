/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree's construction. kdtree.c includes this file. */

/* Numbers as integers in the same order, so that bisection of a range ends after as many steps as they have bits. */
static uint64_t key_of(double x)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t key;

    memcpy(&key, &x, sizeof key);
    return (key & sign) != 0 ? ~key : key | sign;
}

static double value_of(uint64_t key)
{
    const uint64_t sign = (uint64_t)1 << 63;
    double x;

    key = (key & sign) != 0 ? key ^ sign : ~key;
    memcpy(&x, &key, sizeof x);
    return x;
}

#if defined(KD_HAVE_AVX2)
/* The box of at least 2 points in three dimensions; three vectors hold that many. */
static void find_box_3(const double *rows, int32_t count, double *low, double *high)
{
    const int32_t last = count - 2; /* the last vectors may overlap earlier ones */
    __m128d least[3], most[3];
    double ends[2][6];

    for (int k = 0; k < 3; k++) {
        least[k] = most[k] = _mm_loadu_pd(rows + (ptrdiff_t)last * 3 + k * 2);
    }
    for (int32_t i = 0; i < last; i += 2, rows += 6) {
        for (int k = 0; k < 3; k++) {
            const __m128d x = _mm_loadu_pd(rows + k * 2);
            least[k] = _mm_min_pd(least[k], x);
            most[k] = _mm_max_pd(most[k], x);
        }
    }
    for (int k = 0; k < 3; k++) {
        _mm_storeu_pd(ends[0] + k * 2, least[k]);
        _mm_storeu_pd(ends[1] + k * 2, most[k]);
    }
    for (int d = 0; d < 3; d++) {
        low[d] = ends[0][d + 3] < ends[0][d] ? ends[0][d + 3] : ends[0][d];
        high[d] = ends[1][d + 3] > ends[1][d] ? ends[1][d + 3] : ends[1][d];
    }
}
#endif

/* Smallest and largest coordinate along the axes `first` to `end` - 1. */
KD_INLINE void find_ends(const double *rows, int32_t count, const int dim, const int first, const int end, double *low,
                         double *high)
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

KD_INLINE void find_box(const double *rows, int32_t count, const int dim, double *low, double *high)
{
#if defined(KD_HAVE_AVX2)
    if (dim == 3 && count >= 2) {
        find_box_3(rows, count, low, high);
        return;
    }
#endif
    find_ends(rows, count, dim, 0, dim, low, high);
}

static int longest_axis(const double *low, const double *high, int dim)
{
    int axis = 0;

    for (int d = 1; d < dim; d++) {
        if (high[d] - low[d] > high[axis] - low[axis]) {
            axis = d;
        }
    }
    return axis;
}

KD_INLINE void swap_points(eqp_kdtree *tree, ptrdiff_t a, ptrdiff_t b, const int dim)
{
    const int32_t number = tree->index[a];

    tree->index[a] = tree->index[b];
    tree->index[b] = number;
    for (int d = 0; d < dim; d++) {
        const double x = tree->blocks[a * dim + d];
        tree->blocks[a * dim + d] = tree->blocks[b * dim + d];
        tree->blocks[b * dim + d] = x;
    }
}

/* partition() for at most 2 * KD_SIDE points, which are dealt to both ends of a copy. */
KD_INLINE int32_t partition_few(eqp_kdtree *tree, int32_t first, int32_t end, const int dim, int axis, double pivot)
{
    const size_t count = (size_t)(end - first);
    double *rows = tree->blocks + (ptrdiff_t)first * dim;
    int32_t *index = tree->index + first;
    double dealt[2 * KD_SIDE * EQP_KDTREE_DIM_MAX];
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
KD_INLINE int32_t partition(eqp_kdtree *tree, int32_t first, int32_t end, const int dim, int axis, double pivot)
{
    uint8_t wrong_left[KD_SIDE];
    uint8_t wrong_right[KD_SIDE];
    int at_left = 0;
    int at_right = 0;
    int left = 0; /* listed and not yet swapped */
    int right = 0;

    while (end - first > 2 * KD_SIDE) {
        if (left == 0) {
            const double *x = tree->blocks + (ptrdiff_t)first * dim + axis;
            at_left = 0;
            for (int i = 0; i < KD_SIDE; i++, x += dim) {
                wrong_left[left] = (uint8_t)i;
                left += *x > pivot;
            }
        }
        if (right == 0) {
            const double *x = tree->blocks + (ptrdiff_t)(end - 1) * dim + axis;
            at_right = 0;
            for (int i = 0; i < KD_SIDE; i++, x -= dim) {
                wrong_right[right] = (uint8_t)i;
                right += *x <= pivot;
            }
        }
        const int swaps = left < right ? left : right;
        for (int i = 0; i < swaps; i++) {
            swap_points(tree, first + wrong_left[at_left + i], end - 1 - wrong_right[at_right + i], dim);
        }
        at_left += swaps;
        at_right += swaps;
        left -= swaps;
        right -= swaps;
        first += left == 0 ? KD_SIDE : 0;
        end -= right == 0 ? KD_SIDE : 0;
    }
    return partition_few(tree, first, end, dim, axis, pivot);
}

static double choose_pivot(double low, double high, int round)
{
    const uint64_t key = key_of(low);
    const double pivot = round % 2 == 0 ? low / 2 + high / 2 : value_of(key + (key_of(high) - key) / 2);

    return pivot >= low && pivot < high ? pivot : low;
}

/* Splits the points of a task by a cut across `axis`; returns the number of points in front. The cut starts in the
 * middle of the range and moves to the middle of the side with the median until neither side is too small. Every second
 * step halves the range of representable numbers instead of the length, so 128 steps suffice for any coordinates;
 * usually one or two do. As sides have at least 1/4 of the points from KD_DEPTH_LOPSIDED on, 2^30 points stay above
 * depth 32 + ln(2^30) / ln(4/3) + 3 < EQP__KDTREE_DEPTH_MAX. */
KD_INLINE int32_t split(eqp_kdtree *tree, const kd_task *task, const int dim, int axis, double low, double high)
{
    const int32_t least = task->depth < KD_DEPTH_LOPSIDED ? 1 : task->count / KD_BALANCED;
    const int32_t middle = task->first + task->count / 2;
    int32_t first = task->first;
    int32_t end = task->first + task->count;

    for (int round = 0; low < high; round++) {
        const double pivot = choose_pivot(low, high, round);
        const int32_t cut = partition(tree, first, end, dim, axis, pivot);
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
            const double x = tree->blocks[(ptrdiff_t)i * dim + axis];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
    }
    /* All points of [first, end) have the same coordinate, so any of them can be on either side. */
    return middle - task->first;
}

static int new_node(eqp_kdtree *tree)
{
    if (tree->nodes_used == tree->nodes_room) {
        const int64_t room = tree->nodes_room + tree->nodes_room / 2 + 16;
        kd_node *moved = eqp__realloc(tree->nodes, (size_t)room, sizeof *moved);
        EQP__FAIL_IF(moved == NULL, EQP_ERR_MEMORY);
        tree->nodes = moved;
        tree->nodes_room = room;
    }
    tree->nodes_used++;
    return EQP_OK;
}

/* Stores the box along the parent's axis in the parent, and the place of the right child. */
static void tell_parent(eqp_kdtree *tree, const kd_task *task, int32_t id, const double *low, const double *high)
{
    kd_node *parent = &tree->nodes[task->parent];

    if (task->is_right) {
        parent->link = id;
        parent->high = low[parent->axis];
    } else {
        parent->low = high[parent->axis];
    }
}

/* Computes the box of a task's points, stores it in the parent, and returns the longest edge, or -1 for a leaf. A leaf
 * needs only the edge along its parent's axis. */
KD_INLINE int measure(eqp_kdtree *tree, const kd_task *task, int32_t id, const int dim, double *low, double *high)
{
    const double *rows = tree->blocks + (ptrdiff_t)task->first * dim;

    if (task->parent >= 0 && task->count <= tree->leaf_size) {
        const int axis = tree->nodes[task->parent].axis;
        find_ends(rows, task->count, dim, axis, axis + 1, low, high);
        tell_parent(tree, task, id, low, high);
        return -1;
    }
    find_box(rows, task->count, dim, low, high);
    if (task->parent >= 0) {
        tell_parent(tree, task, id, low, high);
    } else {
        memcpy(tree->low, low, sizeof(double) * (size_t)dim);
        memcpy(tree->high, high, sizeof(double) * (size_t)dim);
    }
    const int axis = longest_axis(low, high, dim);
    return task->count > tree->leaf_size && low[axis] < high[axis] ? axis : -1;
}

/* Restores a heap (largest first) after the element at `at` has become smaller. */
static void sift_index_down(int32_t *index, int32_t at, int32_t n)
{
    const int32_t value = index[at];

    for (int32_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && index[child + 1] > index[child];
        if (index[child] <= value) {
            break;
        }
        index[at] = index[child];
    }
    index[at] = value;
}

static void sort_indices(int32_t *index, int32_t n)
{
    for (int32_t i = n / 2; i-- > 0;) {
        sift_index_down(index, i, n);
    }
    for (int32_t end = n; end-- > 1;) {
        const int32_t largest = index[0];
        index[0] = index[end];
        index[end] = largest;
        sift_index_down(index, 0, end);
    }
}

/* Turns rows of coordinates into blocks of KD_LANES points (the last may have fewer). A block holds all coordinates
 * along the first axis, then the second and so on, as vectors need them. */
KD_INLINE void make_blocks(double *row, int32_t count, const int dim)
{
    for (int32_t first = 0; first < count; first += KD_LANES) {
        const int32_t size = count - first < KD_LANES ? count - first : KD_LANES;
        double copy[KD_LANES * EQP_KDTREE_DIM_MAX];
        memcpy(copy, row, sizeof *row * (size_t)(size * dim));
        for (int d = 0; d < dim; d++) {
            for (int32_t i = 0; i < size; i++) {
                *row++ = copy[i * dim + d];
            }
        }
    }
}

KD_INLINE int build_nodes(eqp_kdtree *tree, const int dim)
{
    kd_task stack[EQP__KDTREE_DEPTH_MAX + 1];
    int waiting = 0;

    stack[waiting++] = (kd_task){.first = 0, .count = tree->n, .parent = -1};
    while (waiting > 0) {
        const kd_task task = stack[--waiting];
        const int32_t id = tree->nodes_used;
        double low[EQP_KDTREE_DIM_MAX];
        double high[EQP_KDTREE_DIM_MAX];

        EQP__FAIL_IF(new_node(tree) != EQP_OK, EQP_ERR_MEMORY);
        const int axis = measure(tree, &task, id, dim, low, high);
        if (axis < 0) {
            tree->nodes[id] = (kd_node){.link = task.first, .axis = -task.count};
            if (task.count > tree->leaf_size) {
                sort_indices(tree->index + task.first, task.count);
            }
            make_blocks(tree->blocks + (ptrdiff_t)task.first * dim, task.count, dim);
            continue;
        }
        const int32_t left = split(tree, &task, dim, axis, low[axis], high[axis]);
        const int16_t depth = (int16_t)(task.depth + 1);
        tree->nodes[id] = (kd_node){.axis = axis};
        stack[waiting++] = (kd_task){task.first + left, task.count - left, id, depth, true};
        stack[waiting++] = (kd_task){task.first, left, id, depth, false};
    }
    return EQP_OK;
}

static int gather(eqp_kdtree *tree, const double *points, int64_t stride)
{
    double *row = tree->blocks;

    for (int32_t i = 0; i < tree->n; i++) {
        for (int d = 0; d < tree->dim; d++) {
            const double x = points[i * stride + d];
            EQP__FAIL_IF(!isfinite(x), EQP_ERR_DATA);
            *row++ = x;
        }
        tree->index[i] = i;
    }
    return EQP_OK;
}

static int build(eqp_kdtree *tree, const double *points, int64_t stride)
{
    const size_t numbers = (size_t)tree->n * (size_t)tree->dim;

    /* The expected number of nodes for random points; unused memory is released at the end. */
    tree->nodes_room = tree->leaf_size == 1 ? 2 * (int64_t)tree->n - 1 : 3 * (int64_t)(tree->n / tree->leaf_size) + 16;
    tree->blocks = eqp__malloc(numbers + KD_LANES, sizeof *tree->blocks);
    tree->index = eqp__malloc((size_t)tree->n, sizeof *tree->index);
    tree->nodes = eqp__malloc((size_t)tree->nodes_room, sizeof *tree->nodes);
    EQP__FAIL_IF(tree->blocks == NULL || tree->index == NULL || tree->nodes == NULL, EQP_ERR_MEMORY);
    memset(tree->blocks + numbers, 0, KD_LANES * sizeof *tree->blocks);
    int code = gather(tree, points, stride);
    if (code == EQP_OK) {
        code = tree->dim == 3   ? build_nodes(tree, 3)
               : tree->dim == 2 ? build_nodes(tree, 2)
                                : build_nodes(tree, tree->dim);
    }
    EQP__CHECK(code);
    kd_node *smaller = eqp__realloc(tree->nodes, (size_t)tree->nodes_used, sizeof *smaller);
    if (smaller != NULL) {
        tree->nodes = smaller;
        tree->nodes_room = tree->nodes_used;
    }
    return EQP_OK;
}
