/* SPDX-License-Identifier: BSD-3-Clause */
/* Feedback-guided balancing: each rank holds a range of iterations and measures only its total load. The boundaries
 * move to where loads would be equal if the load were uniform within each rank. */
#ifndef EQUIPOISE_METHODS_FEEDBACK_FEEDBACK_H
#define EQUIPOISE_METHODS_FEEDBACK_FEEDBACK_H

#include <equipoise/more/methods.h>

#include <stdint.h>

/** One rank's view of the loads. */
typedef struct eqp_feedback_rank {
    int nranks;     /**< >= 1 */
    int rank;       /**< 0 to nranks - 1 */
    int64_t low;    /**< its first iteration, >= 0 */
    int64_t high;   /**< one past its last, >= low */
    int64_t load;   /**< of its iterations, >= 0; 0 if it has none */
    int64_t before; /**< sum of the loads of all lower ranks */
    int64_t total;  /**< sum of all loads, at least before + load */
} eqp_feedback_rank;

/** Finds the new boundaries inside a rank's range (2.1). Boundary k, 1 to nranks - 1, is where rank k begins and rank
 * k - 1 ends; it belongs to the one rank with before <= k total / nranks < before + load. Boundaries *first to *first +
 * *count - 1 are inside. With a count of 0 all iterations go to rank *first - 1 (2.4). With a total of 0 no rank has
 * boundaries inside, and all ranks keep their iterations. Local, O(1), deterministic. */
void eqp__feedback_inside(const eqp_feedback_rank *rank, int *first, int *count);

/** The position of boundary k, which must be inside (2.2, 2.3): floor((k total / nranks - before) / (load / (high -
 * low))) + low, limited to the range. Local, O(1), deterministic.
 * \return the first iteration of rank k and end of rank k - 1 */
int64_t eqp__feedback_bound(const eqp_feedback_rank *rank, int k);

typedef struct eqp_feedback_piece {
    int rank;     /**< destination; may be the sender */
    int64_t low;  /**< first iteration */
    int64_t high; /**< one past the last; equal to low: nothing is sent */
} eqp_feedback_piece;

/** Piece i, 0 to count, of a rank's iterations: `count` boundaries inside make count + 1 pieces, which go to the ranks
 * *first - 1 to *first - 1 + count (the paper's three cases in one). Together they cover the rank's range, each
 * iteration once. Local, O(1). `first` and `count` come from eqp__feedback_inside(). */
eqp_feedback_piece eqp__feedback_piece_at(const eqp_feedback_rank *rank, int first, int count, int i);

/** One step of all ranks at once. Ranges stay in order and cover the same iterations; boundaries stay where they are if
 * the total is 0. Local, O(nranks), deterministic.
 * \param[in]  bound   [nranks + 1] ascending from >= 0: rank r has bound[r] to bound[r + 1] - 1 (borrowed)
 * \param[in]  load    [nranks] >= 0, and 0 where the range is empty (borrowed)
 * \param[out] next    [nranks + 1] the new bounds; must not be `bound` */
void eqp__feedback_step(int nranks, const int64_t *bound, const int64_t *load, int64_t *next);

/** Equal ranges: rank r starts at floor(r n / nranks). bound: [nranks + 1]. Local, O(nranks). */
void eqp__feedback_start(int64_t n, int nranks, int64_t *bound);

/** Initializes the state of a rule. Local.
 * \return EQP_OK, or EQP_ERR_ARGUMENT for an option out of its range; unchanged on error */
int eqp__feedback_init(eqp_feedback_state *state, const eqp_feedback_options *options);

/** Records the loads of the present bounds and decides whether to take another step. Local, O(1), deterministic.
 * max: largest load of a rank, >= 0; total: sum of all loads, >= max. Returns EQP_FEEDBACK_GO_ON, or the reason to
 * stop. */
enum eqp_feedback_verdict eqp__feedback_check(eqp_feedback_state *state, int nranks, int64_t max, int64_t total);

#endif
