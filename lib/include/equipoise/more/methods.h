/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/methods.h
 * \brief Parts of methods for codes that do not use the balancer: the optimal cut of a line, boxes whose walls follow
 * loads, ranges whose boundaries follow measured times.
 *
 * *Cuts.* Assignment of items to parts, without MPI: arrays in, arrays out, any number of parts.
 *
 * All functions here use two terms. The *relative load* of a part is its load divided by (total load x its share); with
 * equal shares that is load/mean. The *imbalance* is the largest relative load - 1, and 0 if the total is zero.
 *
 * *Boxes.* Space cut into boxes, one per part, with walls that follow the measured load: the two balancers of ParaDiS.
 *
 * A box [low, high) is cut into n[0] x n[1] x n[2] parts. *Sections*: slabs along x, in each slab columns along y, in
 * each column boxes along z. *Bisection*: halves along x, then along y, then along z, and so on until every piece is
 * one part. Part (ix * n[1] + iy) * n[2] + iz has the indices ix, iy, iz in the logical grid of parts. Rebalancing only
 * moves walls; it needs no particles, only the cost of each part.
 *
 * Everything here is local and deterministic: ranks that pass the same loads hold the same boxes.
 * Source: the decompositions are described in O. Pearce, Load Balancing Scientific Applications (2014), section 2.6.4.
 *
 * *Feedback.* Feedback-guided balancing: each rank holds a range of iterations and measures only its total load. The
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
 * *Feedback on ranks.* Feedback-guided balancing of MPI ranks: each rank passes its measured load and gets a new range
 * and its data. more/methods.h describes the method and its stopping rules.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_METHODS_H
#define EQUIPOISE_MORE_METHODS_H

#include <equipoise/error.h>

#include <math.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Cuts n ordered items into consecutive ranges so that the largest load / (nparts x share) is as small as any cut in
 * this order can make it (chains-on-chains partitioning). It returns the optimal cut nearest to the ideal positions,
 * and with equal shares and n >= nparts no range is empty. Loads that sum to zero count as 1 each. Local,
 * deterministic, O(n + k nparts log n) with k the number of probes, in practice some tens. Exact if sums of loads are
 * exact in double (integers below 2^53), else to the rounding of a prefix sum. Source: A. Pinar and C. Aykanat,
 * Fast optimal load balancing algorithms for 1D partitioning, J. Parallel Distrib. Comput. 64 (2004), exact bisection.
 * \param[in]  n           number of items, >= 0
 * \param[in]  load        [n] cost of each item, finite, >= 0 (borrowed)
 * \param[in]  nparts      number of ranges, >= 1
 * \param[in]  share       [nparts] target fractions, each > 0, sum 1 within 1e-9; NULL: equal (borrowed)
 * \param[out] first       [nparts + 1] first item of each part
 * \param[out] bottleneck  the largest load / (nparts x share), in the unit of `load`; may be NULL
 * \return EQP_OK, EQP_ERR_MEMORY, or EQP_ERR_ARGUMENT for an invalid load or share */
int eqp_cuts_optimal(int64_t n, const double *load, int nparts, const double *share, int64_t *first,
                     double *bottleneck);

/** Kind of decomposition. The values are the same as dataDecompType in ParaDiS files. */
typedef enum eqp_boxes_kind {
    EQP_BOXES_SECTIONS = 1, /**< slabs, columns in slabs, boxes in columns */
    EQP_BOXES_BISECTION = 2 /**< halves of halves */
} eqp_boxes_kind;

/** A box cut into parts. Opaque. */
typedef struct eqp_boxes eqp_boxes;

/** Limits on the motion of walls in one call. */
typedef struct eqp_boxes_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp_boxes_options_defaults() */
    double cell[3];       /**< sections: edges of the interaction cells; 0: no limit from cells */
    double cell_fraction; /**< sections: largest motion of a wall as a fraction of a cell's edge, > 0 */
    double slab_fraction; /**< sections: largest motion as a fraction of the slab that the wall moves into, 0 to 0.5 */
    double tolerance;     /**< bisection: cutting starts at the coarsest level with an imbalance above this, >= 0 */
    double damping;       /**< bisection: fraction of the full motion for the walls of that level, 0 to 1 */
    int direction;        /**< sections: direction in which walls move, 0 to 2; -1: x, y and z in turn */
} eqp_boxes_options;

/** The defaults of ParaDiS, without a limit from cells. */
static inline eqp_boxes_options eqp_boxes_options_defaults(void)
{
    eqp_boxes_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.cell_fraction = 0.49;
    options.slab_fraction = 0.05;
    options.tolerance = 0.05;
    options.damping = 0.3;
    options.direction = -1;
    return options;
}

/** Changes made by eqp_boxes_rebalance(). */
typedef struct eqp_boxes_change {
    int moved;      /**< walls that moved */
    int dimension;  /**< sections: direction, 0 to 2; -1: none, or bisection */
    int level;      /**< bisection: coarsest level that was recut, 0 is the first; -1: none, or sections */
    double largest; /**< largest distance that a wall moved, a length */
    double total;   /**< sum of the distances of all walls, a length */
} eqp_boxes_change;

/** Factors a number of parts into the most cubic grid: the smallest sum of its three counts, in falling order. Local,
 * O(nparts^(2/3)).
 * \param[in]  nparts  >= 1
 * \param[out] n       n[0] >= n[1] >= n[2], their product is nparts; unchanged on error
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_boxes_geometry(int nparts, int n[3]);

/** Boxes of equal size. Local, O(parts).
 * \param[in]  kind       kind of decomposition
 * \param[in]  low, high  corners, finite, low < high in each direction (copied)
 * \param[in]  n          parts per direction, >= 1 each (copied)
 * \param[out] boxes      owned by the caller; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, also for a box too thin for doubles, EQP_ERR_OVERFLOW if the number of parts
 *         exceeds an int, EQP_ERR_MEMORY */
int eqp_boxes_create(eqp_boxes_kind kind, const double low[3], const double high[3], const int n[3], eqp_boxes **boxes);

/** A deep copy. EQP_OK or EQP_ERR_MEMORY; *copy is unchanged on error, else owned by the caller. */
int eqp_boxes_copy(const eqp_boxes *boxes, eqp_boxes **copy);

/** Frees; NULL is legal. */
void eqp_boxes_free(eqp_boxes *boxes);

/** Number of parts. */
int eqp_boxes_parts(const eqp_boxes *boxes);

/** The part whose box holds a position. Boxes are half open: a wall belongs to the part above it. A position outside
 * the whole box is first moved to the nearest place inside; a NaN counts as the lowest coordinate.
 * O(log parts). */
int eqp_boxes_find(const eqp_boxes *boxes, const double x[3]);

/** Corners of a part's box. O(log parts).
 * \return EQP_OK, or EQP_ERR_ARGUMENT for a part out of range; low and high are unchanged then */
int eqp_boxes_bounds(const eqp_boxes *boxes, int part, double low[3], double high[3]);

/** Moves walls towards equal loads. Local, O(parts), deterministic.
 *
 * Sections: one direction per call, options->direction, or x, y and z in turn, skipping directions with one part. The
 * load is assumed uniform inside each slab (column, box). In ascending order, each wall aims at the place that gives
 * the slab below it the remaining load divided by the number of remaining slabs. It moves there, but at most
 * options->cell_fraction of a cell and options->slab_fraction of the slab that it moves into.
 *
 * Bisection: a level is one round of cuts along x, y and z, which divides each piece into two, four or eight. Cutting
 * starts at the coarsest level where the load of a new piece exceeds the mean of its siblings, itself included, by more
 * than options->tolerance. Walls of that level move by options->damping of the full motion, finer walls by all of it. A
 * wall aims at the place that divides the load of its piece in proportion to the numbers of parts, assuming uniform
 * load inside each old half; if a coarser wall has moved, the piece and its contents are stretched first. If the
 * numbers of parts differ between siblings, as with 3 = 1 + 2, their loads always differ, and cutting starts there at
 * every call.
 *
 * All boxes keep a positive size, at least about 1e-6 of an equal share in each direction.
 * \param[in,out] boxes    unchanged on error
 * \param[in]     load     [parts] cost of each part, >= 0, for instance CPU seconds; if all are 0 no wall moves
 * \param[in]     options  NULL: eqp_boxes_options_defaults() (borrowed)
 * \param[out]    change   NULL: not wanted; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for options out of range, EQP_ERR_DATA for loads that are negative, not finite or
 *         whose sum is not finite, EQP_ERR_MEMORY */
int eqp_boxes_rebalance(eqp_boxes *boxes, const double *load, const eqp_boxes_options *options,
                        eqp_boxes_change *change);

/** Converts a measured time to a load: seconds / unit, truncated. Local, O(1).
 * \param[in]  seconds  >= 0
 * \param[in]  unit     seconds of one unit of load, > 0, such as 1e-9
 * \param[out] load     at most 2^53
 * \return EQP_OK, EQP_ERR_DATA for a time that is negative or not finite, EQP_ERR_ARGUMENT for an invalid unit,
 *         EQP_ERR_OVERFLOW */
static inline int eqp_feedback_load(double seconds, double unit, int64_t *load)
{
    const double most = 9007199254740992.0; /* 2^53: a double above it has no fraction to truncate */

    if (!load || !(unit > 0) || !isfinite(unit)) {
        return EQP_ERR_ARGUMENT;
    }
    if (!(seconds >= 0) || !isfinite(seconds)) {
        return EQP_ERR_DATA;
    }
    if (!(seconds / unit <= most)) {
        return EQP_ERR_OVERFLOW;
    }
    *load = (int64_t)(seconds / unit);
    return EQP_OK;
}

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
    int checks;                   /**< checks: one more than steps taken */
    double value;                 /**< convergence value of the last loads */
    double best;                  /**< smallest value so far */
    int best_step;                /**< steps that had been taken when the value was smallest */
} eqp_feedback_state;

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

/** A rank's range and the state of its stopping rule. Plain data of one rank; the ranges of all ranks are contiguous in
 * rank order. */
typedef struct eqp_feedback_share {
    int64_t low;              /**< its first iteration */
    int64_t high;             /**< one past its last */
    eqp_feedback_state state; /**< the same on all ranks */
    int64_t best_low;         /**< first iteration of its range at the best balance so far */
    int64_t best_high;        /**< end of that range */
} eqp_feedback_share;

/** Starts with equal ranges: rank r starts at floor(r n / nranks). Collective, fails on all ranks or on none.
 * \param[in]  n        iterations, the same on all ranks
 * \param[in]  options  the same on all ranks (borrowed)
 * \param[out] share    this rank's; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_MPI, EQP_ERR_ARGUMENT for iterations or options that are invalid or differ
 *         between ranks */
int eqp_feedback_share_init(MPI_Comm comm, int64_t n, const eqp_feedback_options *options, eqp_feedback_share *share);

/** Records the measured costs of the ranges and, if the rule says so, moves boundaries and data: one step.
 * Communication is a reduction and an allgather. Each new boundary goes from the rank whose range holds it to the two
 * ranks that it divides, and data go directly from rank to rank. If the guarded rule detects oscillation or has taken
 * its last step, the ranges return to the best ones so far. Collective, fails on all ranks or on none.
 *
 * Call it after every step of the program until the verdict is not EQP_FEEDBACK_GO_ON.
 * \param[in]     load       cost of this rank's range, >= 0; without iterations it counts as 0
 * \param[in]     item_size  bytes of one iteration's data, the same on all ranks; 0: no data
 * \param[in,out] data       address of a pointer to [high - low] items, which is freed and replaced by a new array
 *                           (malloc) if the range changes; NULL if item_size is 0
 * \param[in,out] share      gets the new range; unchanged on error, as are the data. The state must be the same on all
 *                           ranks; present ranges must be contiguous in rank order, and so must best ranges
 * \param[out]    verdict    EQP_FEEDBACK_GO_ON if a step was taken, else the reason to stop; the same on all ranks
 * \return EQP_OK, EQP_ERR_ARGUMENT also if ranks differ, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW for a total load beyond 64
 *         bits, EQP_ERR_MPI; on all ranks */
int eqp_feedback_balance(MPI_Comm comm, int64_t load, size_t item_size, void *data, eqp_feedback_share *share,
                         enum eqp_feedback_verdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
