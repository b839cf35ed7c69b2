/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number, part 4: the public queries. kdtree_one.h includes this file. */

/* True for finite coordinates: x - x is 0 unless x is infinite or NaN. */
KD_INLINE bool KD_STATIC(is_finite)(const KD_REAL *query, const int dim)
{
    KD_REAL sum = 0;

    for (int d = 0; d < dim; d++) {
        sum += query[d] - query[d];
    }
    return sum == 0;
}

KD_INLINE int KD_STATIC(check_query)(const KD_TREE *tree, const KD_REAL *query)
{
    EQP__FAIL_IF(tree == NULL || query == NULL, EQP_ERR_ARGUMENT);
    const bool is_finite = tree->dim == 3 ? KD_STATIC(is_finite)(query, 3) : KD_STATIC(is_finite)(query, tree->dim);
    return is_finite ? EQP_OK : EQP_ERR_DATA;
}

int KD_PUBLIC(nearest)(const KD_TREE *tree, const KD_REAL *query, int64_t *index, KD_REAL *dist2)
{
    KD_SEARCH search = {.limit = (KD_REAL)INFINITY, .limit_index = KD_NO_INDEX};
    const int code = KD_STATIC(check_query)(tree, query);

    if (code != EQP_OK || index == NULL) {
        return code != EQP_OK ? code : EQP_ERR_ARGUMENT;
    }
    EQP__FAIL_IF(tree->n == 0, EQP_ERR_STATE);
    (void)tree->walk.nearest(tree, query, &search);
    *index = search.limit_index;
    if (dist2 != NULL) {
        *dist2 = search.limit;
    }
    return EQP_OK;
}

int KD_PUBLIC(nearest_k)(const KD_TREE *tree, const KD_REAL *query, int64_t k, int64_t *found, int64_t *index,
                         KD_REAL *dist2)
{
    KD_SEARCH search = {.limit = (KD_REAL)INFINITY, .limit_index = KD_NO_INDEX, .wanted = k};
    const int code = KD_STATIC(check_query)(tree, query);

    EQP__CHECK(code);
    EQP__FAIL_IF(k < 0 || found == NULL || (k > 0 && (index == NULL || dist2 == NULL)), EQP_ERR_ARGUMENT);
    search.index = index;
    search.dist2 = dist2;
    if (k > 0 && tree->n > 0) {
        (void)(k <= KD_SORTED_MAX ? tree->walk.sorted : tree->walk.heap)(tree, query, &search);
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

int KD_PUBLIC(radius)(const KD_TREE *tree, const KD_REAL *query, KD_REAL radius2, KD_PUBLIC(visit_fn) visit, void *user)
{
    KD_SEARCH search = {.limit = radius2, .limit_index = KD_NO_INDEX, .visit = visit, .user = user};
    const int code = KD_STATIC(check_query)(tree, query);

    EQP__CHECK(code);
    EQP__FAIL_IF(!(radius2 >= 0) || visit == NULL, EQP_ERR_ARGUMENT);
    return tree->n > 0 ? tree->walk.visit(tree, query, &search) : EQP_OK;
}
