/* SPDX-License-Identifier: BSD-3-Clause */
/* The k-d tree for one type of number, part 2: the state of a query. kdtree_one.h includes this file. */

/* Points found by a query, and its limit: it accepts points nearer than that, or equally near with a lower index. */
struct KD_SEARCH {
    KD_REAL limit;
    int32_t limit_index;
    int64_t wanted; /* k nearest: number of points to find; below it the points found, sorted or as a heap */
    int64_t found;
    int64_t *index;
    KD_REAL *dist2;
    KD_PUBLIC(visit_fn) visit;
    void *user;
};

/* Receives an accepted point; any code but EQP_OK ends the query. */
typedef int (*KD_TAKE)(KD_SEARCH *search, KD_REAL dist2, int32_t index);

static inline bool KD_STATIC(is_wanted)(const KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    return dist2 <= search->limit && (dist2 < search->limit || index < search->limit_index);
}

static inline int KD_STATIC(take_nearest)(KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    search->limit = dist2;
    search->limit_index = index;
    return EQP_OK;
}

/* Inserts a point into a heap of n at or below the free place `at`. */
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

/* Once k points are found, only points better than the worst of them, at `worst`, are accepted. */
static inline void KD_STATIC(limit_to)(KD_SEARCH *search, int64_t worst)
{
    if (search->found == search->wanted) {
        search->limit = search->dist2[worst];
        search->limit_index = (int32_t)search->index[worst];
    }
}

/* Keeps few points sorted, which is faster than a heap. */
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

static inline int KD_STATIC(take_visit)(KD_SEARCH *search, KD_REAL dist2, int32_t index)
{
    return search->visit(search->user, index, dist2);
}
