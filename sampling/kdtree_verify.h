/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number, part 5: self-checks, see kdtree_check.h. kdtree_one.h includes this file. */

static bool KD_STATIC(leaf_is_right)(const KD_TREE *tree, const KD_NODE *leaf, const kd_task *task)
{
    if (leaf->link != task->first || -leaf->axis != task->count || task->count < 1) {
        return false;
    }
    for (int32_t i = 1; task->count > tree->leaf_size && i < task->count; i++) {
        for (int d = 0; d < tree->dim; d++) {
            if (KD_STATIC(coordinate)(tree, leaf, i, tree->dim, d) !=
                KD_STATIC(coordinate)(tree, leaf, i - 1, tree->dim, d)) {
                return false;
            }
        }
        if (tree->index[task->first + i] <= tree->index[task->first + i - 1]) {
            return false;
        }
    }
    return true;
}

/* True if the cut holds the largest coordinate of the left side and the smallest of the right one. */
static bool KD_STATIC(cut_is_right)(const KD_TREE *tree, int32_t id, const kd_task *task, int32_t right)
{
    const KD_NODE *node = &tree->nodes[id];
    KD_REAL low = -(KD_REAL)INFINITY;
    KD_REAL high = (KD_REAL)INFINITY;
    int32_t seen = 0;

    for (int32_t below = id + 1; below < tree->nodes_used && seen < task->count; below++) {
        const KD_NODE *leaf = &tree->nodes[below];
        for (int32_t i = 0; i < -leaf->axis; i++, seen++) {
            const KD_REAL x = KD_STATIC(coordinate)(tree, leaf, i, tree->dim, node->axis);
            if (leaf->link < right) {
                low = x > low ? x : low;
            } else {
                high = x < high ? x : high;
            }
        }
    }
    return low == node->low && high == node->high && low <= high;
}

static bool KD_STATIC(box_is_right)(const KD_TREE *tree)
{
    bool is_right = true;

    for (int d = 0; d < tree->dim; d++) {
        KD_REAL low = (KD_REAL)INFINITY;
        KD_REAL high = -(KD_REAL)INFINITY;
        for (int32_t id = 0; id < tree->nodes_used; id++) {
            for (int32_t i = 0; i < -tree->nodes[id].axis; i++) {
                const KD_REAL x = KD_STATIC(coordinate)(tree, &tree->nodes[id], i, tree->dim, d);
                low = x < low ? x : low;
                high = x > high ? x : high;
            }
        }
        is_right = is_right && low == tree->low[d] && high == tree->high[d];
    }
    return is_right;
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
        EQP__FAIL_IF(id >= tree->nodes_used || (task.is_right && tree->nodes[task.parent].link != id),
                     EQP_ERR_INTERNAL);
        const KD_NODE *node = &tree->nodes[id];
        deepest = task.depth > deepest ? task.depth : deepest;
        if (node->axis < 0) {
            EQP__FAIL_IF(!KD_STATIC(leaf_is_right)(tree, node, &task), EQP_ERR_INTERNAL);
            continue;
        }
        int32_t leaf = node->link;
        while (leaf < tree->nodes_used && tree->nodes[leaf].axis >= 0) {
            leaf++;
        }
        const int32_t right = leaf < tree->nodes_used ? tree->nodes[leaf].link : -1;
        EQP__FAIL_IF(task.depth >= EQP__KDTREE_DEPTH_MAX || right <= task.first || right >= task.first + task.count ||
                         !KD_STATIC(cut_is_right)(tree, id, &task, right),
                     EQP_ERR_INTERNAL);
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
    EQP__FAIL_IF(seen == NULL, EQP_ERR_MEMORY);
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
    code = code == EQP_OK ? KD_STATIC(check_nodes)(tree, depth) : code;
    return code == EQP_OK && !KD_STATIC(box_is_right)(tree) ? EQP_ERR_INTERNAL : code;
}

void KD_USE(KD_TREE *tree, int vectors)
{
    tree->walk = KD_STATIC(choose_walks)(vectors);
}
