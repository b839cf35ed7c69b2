/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/feedback.h
 * \brief Feedback-guided balancing: each rank holds a range of iterations and measures only its total load. The
 * boundaries move to where loads would be equal if the load were uniform within each rank.
 *
 * Pure: no MPI, any number of simulated ranks. Iterations are any ordered items: rows, particles along a curve. A rank
 * needs its own range and load, the loads before it (a scan) and the total (an allreduce). From these it alone finds
 * the new boundaries in its range, none to nranks - 1 of them, and the destinations of its iterations. Loads are
 * integers in a unit that the caller chooses (counts, nanoseconds), so sums are the same in any order.
 *
 * Source: R. E. Starr, Feedback guided load balancing in distributed memory environments, EPCC, 2012; equation numbers
 * below refer to it.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_FEEDBACK_H
#define EQUIPOISE_MORE_FEEDBACK_H

#include <equipoise/error.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One rank's view of the loads. Plain data. */
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
 * boundaries inside, and all ranks keep their iterations. Local, O(1), deterministic.
 * \return EQP_OK, or EQP_ERR_ARGUMENT for an invalid rank */
int eqp_feedback_inside(const eqp_feedback_rank *rank, int *first, int *count);

/** The position of boundary k, which must be inside (2.2, 2.3): floor((k total / nranks - before) / (load / (high -
 * low))) + low, limited to the range. Local, O(1), deterministic.
 * \return the first iteration of rank k and end of rank k - 1 */
int64_t eqp_feedback_bound(const eqp_feedback_rank *rank, int k);

/** Iterations sent to one rank. */
typedef struct eqp_feedback_piece {
    int rank;     /**< destination; may be the sender */
    int64_t low;  /**< first iteration */
    int64_t high; /**< one past the last; equal to low: nothing is sent */
} eqp_feedback_piece;

/** Piece i, 0 to count, of a rank's iterations: `count` boundaries inside make count + 1 pieces, which go to the ranks
 * *first - 1 to *first - 1 + count (the paper's three cases in one). Together they cover the rank's range, each
 * iteration once. Local, O(1). `first` and `count` come from eqp_feedback_inside(). */
eqp_feedback_piece eqp_feedback_piece_at(const eqp_feedback_rank *rank, int first, int count, int i);

/** One step of all ranks at once. Ranges stay in order and cover the same iterations; boundaries stay where they are if
 * the total is 0. Local, O(nranks), deterministic.
 * \param[in]  nranks  >= 1
 * \param[in]  bound   [nranks + 1] ascending from >= 0: rank r has bound[r] to bound[r + 1] - 1 (borrowed)
 * \param[in]  load    [nranks] >= 0, and 0 where the range is empty (borrowed)
 * \param[out] next    [nranks + 1] the new bounds; must not be `bound`
 * \return EQP_OK, EQP_ERR_ARGUMENT for invalid bounds or loads, EQP_ERR_OVERFLOW if the sum overflows */
int eqp_feedback_step(int nranks, const int64_t *bound, const int64_t *load, int64_t *next);

/** Equal ranges: rank r starts at floor(r n / nranks). Local, O(nranks).
 * \param[out] bound  [nranks + 1]
 * \return EQP_OK, or EQP_ERR_ARGUMENT for n < 0 or nranks < 1 */
int eqp_feedback_start(int64_t n, int nranks, int64_t *bound);

/** Converts a measured time to a load: seconds / unit, truncated. Local, O(1).
 * \param[in]  seconds  >= 0
 * \param[in]  unit     seconds of one unit of load, > 0, such as 1e-9
 * \param[out] load     at most 2^53
 * \return EQP_OK, EQP_ERR_DATA for a time that is negative or not finite, EQP_ERR_ARGUMENT for an invalid unit,
 *         EQP_ERR_OVERFLOW */
int eqp_feedback_load(double seconds, double unit, int64_t *load);

/** Stopping rules. Both use the convergence value, largest load - mean load (2.5), before each step. */
enum eqp_feedback_rule {
    EQP_FEEDBACK_GUARDED = 0, /**< continue past a bad step: see `threshold` and `patience` */
    EQP_FEEDBACK_PAPER = 1    /**< the paper's: stop as soon as the value does not fall */
};

/** Options of the stopping rules. The paper's rule reports convergence if the first step makes the balance worse, as it
 * does for a wave over few ranks. It neither stops at a sufficient balance nor detects oscillation; the guarded rule
 * has `threshold` and `patience` for these. */
typedef struct eqp_feedback_options {
    size_t size;                 /**< of this struct as its caller knows it: set by eqp_feedback_options_defaults() */
    enum eqp_feedback_rule rule; /**< stopping rule */
    int max_steps;               /**< most steps, >= 0 */
    double threshold;            /**< guarded: stop at an imbalance (largest / mean - 1) up to this, >= 0 */
    int patience;                /**< guarded: stop after this number of steps without a new best value, >= 1 */
} eqp_feedback_options;

/** The guarded rule, with at most 25 steps as in the paper. */
static inline eqp_feedback_options eqp_feedback_options_defaults(void)
{
    eqp_feedback_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.rule = EQP_FEEDBACK_GUARDED;
    options.max_steps = 25;
    options.patience = 4;
    return options;
}

/** Verdict of a rule. */
enum eqp_feedback_verdict {
    EQP_FEEDBACK_GO_ON = 0,     /**< take a step */
    EQP_FEEDBACK_CONVERGED = 1, /**< the paper's rule: the value no longer falls */
    EQP_FEEDBACK_WITHIN = 2,    /**< guarded: the imbalance is within the threshold */
    EQP_FEEDBACK_SWINGS = 3, /**< guarded: no new best value for `patience` steps; the best bounds are from best_step */
    EQP_FEEDBACK_LAST_STEP = 4 /**< max_steps were taken; guarded: the best bounds are from best_step */
};

/** State of a rule. Plain data. Ranks that pass the same reduced loads reach the same verdicts. */
typedef struct eqp_feedback_state {
    eqp_feedback_options options; /**< as given */
    int checks;                   /**< calls of eqp_feedback_check(): one more than steps taken */
    double value;                 /**< convergence value of the last loads */
    double best;                  /**< smallest value so far */
    int best_step;                /**< steps that had been taken when the value was smallest */
} eqp_feedback_state;

/** Initializes the state of a rule. Local.
 * \return EQP_OK, or EQP_ERR_ARGUMENT for an option out of its range; unchanged on error */
int eqp_feedback_init(eqp_feedback_state *state, const eqp_feedback_options *options);

/** Records the loads of the present bounds and decides whether to take another step. Local, O(1), deterministic.
 * \param[in]  max      largest load of a rank, >= 0
 * \param[in]  total    sum of all loads, >= max
 * \param[out] verdict  EQP_FEEDBACK_GO_ON, or the reason to stop
 * \return EQP_OK, or EQP_ERR_ARGUMENT for invalid loads; unchanged on error */
int eqp_feedback_check(eqp_feedback_state *state, int nranks, int64_t max, int64_t total,
                       enum eqp_feedback_verdict *verdict);

/** Number of load functions, which are numbered from 1. */
#define EQP_FEEDBACK_FUNCTIONS 5

/** The paper's load functions, truncated to integers: 1 load m of iteration m; 2 the load nranks in each iteration of
 * the first of nranks equal ranges and none elsewhere; 3 a sine of period 14,400 around 100 (3.1); 4 the same with
 * pseudo-random spikes up to 10 (3.2, 3.3); 5 a sine of period 10,800 (3.4). Local, O(n), deterministic.
 * \param[in]  function  1 to EQP_FEEDBACK_FUNCTIONS
 * \param[in]  n         iterations, >= 0
 * \param[in]  nranks    of function 2, >= 1
 * \param[out] load      [n]
 * \return EQP_OK, EQP_ERR_UNKNOWN for no such function, EQP_ERR_ARGUMENT */
int eqp_feedback_function(int function, int64_t n, int nranks, int64_t *load);

/** Results of a simulation. A *load difference* is (largest load - mean) / total; 0 if the total is 0. */
typedef struct eqp_feedback_run {
    int steps;                         /**< steps taken */
    int best_step;                     /**< steps taken up to the smallest load difference */
    double load_difference;            /**< smallest of all steps */
    double load_difference_last;       /**< after the last step */
    int64_t moved;                     /**< iterations that changed rank, summed over the steps */
    enum eqp_feedback_verdict verdict; /**< reason to stop */
} eqp_feedback_run;

/** Simulates ranks that start with equal ranges and balance until the rule stops them. Local,
 * O(n + steps x nranks), deterministic: 4096 ranks take milliseconds. Memory in addition to `load`: n / 8 bytes, and 32
 * bytes per rank.
 * \param[in]  n           iterations, >= 0
 * \param[in]  load        [n] load of each iteration, >= 0 (borrowed)
 * \param[in]  options     (borrowed)
 * \param[out] bound       [nranks + 1] final bounds; guarded: the bounds of best_step. NULL: not wanted
 * \param[out] difference  [options->max_steps + 1] load differences after 0 to run->steps steps. NULL: not wanted
 * \param[out] run         results
 * \return EQP_OK, EQP_ERR_ARGUMENT for an invalid load or option, EQP_ERR_OVERFLOW if the sum overflows,
 *         EQP_ERR_MEMORY */
int eqp_feedback_simulate(int64_t n, const int64_t *load, int nranks, const eqp_feedback_options *options,
                          int64_t *bound, double *difference, eqp_feedback_run *run);

#ifdef __cplusplus
}
#endif
#endif
