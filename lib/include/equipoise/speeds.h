/* SPDX-License-Identifier: BSD-3-Clause */
/** \file speeds.h
 * \brief How much should each rank get? Speed as a function of size, learned from measured times.
 *
 * A rank's speed is items per second, and it depends on how many items the rank holds: beyond its caches or its memory
 * a rank is slow. A model of every rank is built from the times that the iterations of a run take anyway; sizes that
 * take the same time on every rank follow from the models. D. Clarke, A. Lastovetsky, V. Rychkov, "Dynamic load
 * balancing of parallel computational iterative routines on highly heterogeneous HPC platforms", Parallel Processing
 * Letters 21 (2011) 195 ("Clarke 2011" below).
 *
 *     eqp_speeds_create(EQP_SPEEDS_AKIMA, nranks, n, &speeds);
 *     eqp_speeds_share(speeds, share, NULL);           // nothing measured: equal shares
 *     for (every iteration) {
 *         move items to where `share` wants them; compute; gather the seconds of all ranks on all ranks
 *         eqp_speeds_spread(nranks, seconds, &spread);
 *         if (spread > 0.05) {
 *             eqp_speeds_record(speeds, share, seconds);
 *             eqp_speeds_share(speeds, share, NULL);
 *         }
 *     }
 *
 * Nothing here communicates, reads a clock or keeps state outside its objects: ranks that pass the same numbers get the
 * same shares. An object may be used by one thread at a time. */
#ifndef EQUIPOISE_SPEEDS_H
#define EQUIPOISE_SPEEDS_H

#include <equipoise/base.h>
#include <equipoise/load.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a rank's speed is thought to be between the measured sizes. */
typedef enum eqp_speeds_kind {
    EQP_SPEEDS_CONSTANT,  /**< what was measured last, at every size: the yardstick. It fails where speed depends on
                               size: shares then swing for ever (Clarke 2011, section 3) */
    EQP_SPEEDS_PIECEWISE, /**< straight pieces of a shape that every line through the origin meets once: up and concave,
                               then down (section 5) */
    EQP_SPEEDS_AKIMA      /**< Akima's spline: smooth, of any shape (section 6) */
} eqp_speeds_kind;

/** Words of the kinds, by number, separated by '|'. */
#define EQP_SPEEDS_KINDS "constant|piecewise|akima"

/** Points that the model of a rank keeps: the newest, each of another size. */
#define EQP_SPEEDS_POINTS 64

/** Most ranks for which the Jacobian of Powell's method is set up: its first factors cost O(ranks^3). With more ranks
 * the same splines are divided by bisection. */
#define EQP_SPEEDS_HYBRJ_RANKS 256

/** Most items, 2^53: beyond it a double cannot tell two counts from each other. */
#define EQP_SPEEDS_ITEMS 9007199254740992.0

/** The smallest size that is not 0, in items, which may be weights. */
#define EQP_SPEEDS_SMALLEST 1e-15

/** Speeds below 1 / EQP_SPEEDS_FASTEST or above it are refused, in items per second. */
#define EQP_SPEEDS_FASTEST 1e30

/** The models of all ranks. Opaque. */
typedef struct eqp_speeds eqp_speeds;

/** How sizes were found. */
typedef enum eqp_speeds_solver {
    EQP_SPEEDS_TRIVIAL,    /**< there is nothing to find: one rank, no items or no measurement */
    EQP_SPEEDS_PROPORTION, /**< constant speeds: sizes in proportion to them */
    EQP_SPEEDS_BISECTION,  /**< bisection of the lines through the origin (Clarke 2011, section 5.1) */
    EQP_SPEEDS_HYBRJ       /**< Powell's hybrid method (section 6.1): hybrj of MINPACK */
} eqp_speeds_solver;

/** What is known of a division. */
typedef struct eqp_speeds_result {
    eqp_speeds_solver solver; /**< how the sizes were found: EQP_SPEEDS_BISECTION of splines where hybrj gave up */
    int hybrj_info;           /**< 0: hybrj was not called; 1: it converged; 2 to 5: why it did not, as MINPACK says;
                                   -1: it came to a point that is no division */
    int evaluations;          /**< how often the times of all ranks were looked at */
    double seconds;           /**< modelled time of the slowest rank; 0 where nothing is known */
    double spread;            /**< modelled eqp_speeds_spread() before rounding. Bisection leaves some only where a
                                   spline's time does not grow with size: a rank may then finish early */
} eqp_speeds_result;

/** Models without a point. Local, O(nranks).
 * \param[in]  kind    what lies between the points
 * \param[in]  nranks  >= 1
 * \param[in]  n       items to divide: 0, or from EQP_SPEEDS_SMALLEST to EQP_SPEEDS_ITEMS; not whole where items are
 *                     weighted
 * \param[out] speeds  owned by the caller: eqp_speeds_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for an argument out of its range, EQP_ERR_MEMORY */
int eqp_speeds_create(eqp_speeds_kind kind, int nranks, double n, eqp_speeds **speeds);

/** Frees the models; NULL is legal. */
void eqp_speeds_free(eqp_speeds *speeds);

/** Changes how many items there are; the points stay. Returns EQP_OK or EQP_ERR_ARGUMENT. */
int eqp_speeds_resize(eqp_speeds *speeds, double n);

/** Adds a measurement to one rank's model. A point of the same size is replaced; of more than EQP_SPEEDS_POINTS points
 * the oldest is forgotten. No items in no time say nothing and are left out. Local, O(EQP_SPEEDS_POINTS).
 * \param[in] rank     from 0
 * \param[in] size     items that the rank computed: 0, or from EQP_SPEEDS_SMALLEST to EQP_SPEEDS_ITEMS
 * \param[in] seconds  what that took, > 0 for size > 0
 * \return EQP_OK, EQP_ERR_ARGUMENT for a rank or a size out of its range, EQP_ERR_DATA for seconds that are negative,
 *         not finite, or zero for a size that is not, or that make a speed beyond EQP_SPEEDS_FASTEST; the model is
 *         unchanged on error */
int eqp_speeds_add(eqp_speeds *speeds, int rank, double size, double seconds);

/** Adds one iteration: eqp_speeds_add() for every rank, or for none if one of them fails. Local,
 * O(nranks EQP_SPEEDS_POINTS).
 * \param[in] share    [nranks] items of each rank, >= 0 (borrowed)
 * \param[in] seconds  [nranks] (borrowed)
 * \return the codes of eqp_speeds_add() */
int eqp_speeds_record(eqp_speeds *speeds, const int64_t *share, const double *seconds);

/** Points in a rank's model; 0 for a rank that is none. */
int eqp_speeds_points(const eqp_speeds *speeds, int rank);

/** A rank's modelled speed. A rank without a point is thought to be as fast as the mean of the newest points of the
 * others. Before the first and beyond the last point speed is constant. Piecewise models pass through the newest point;
 * an older one that does not fit its shape together with newer ones is moved by as little as fits. Where speed falls by
 * more than a third from one point to the next, a plateau on either side is thought to go on for a quarter of the way,
 * or an eighth where the other side slopes: so the next shares halve what is not known of a cliff, and do not creep
 * along it. Local,
 * O(EQP_SPEEDS_POINTS^2), O(nranks) more for a rank without a point.
 * \param[in]  size   items, >= 0
 * \param[out] speed  items per second, > 0; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_STATE where no rank has a point */
int eqp_speeds_speed(const eqp_speeds *speeds, int rank, double size, double *speed);

/** A rank's modelled time: size / speed at that size. Arguments and codes as eqp_speeds_speed().
 * \param[out] seconds  0 for size 0; unchanged on error */
int eqp_speeds_seconds(const eqp_speeds *speeds, int rank, double size, double *seconds);

/** Sizes that take the same time on every rank by the models: Clarke 2011, eq. 1. Without a point on any rank they are
 * equal. Local, deterministic. Constant: O(nranks). Piecewise: O(nranks EQP_SPEEDS_POINTS^2). Akima: hybrj from equal
 * sizes with the Jacobian of eq. 5, O(nranks^3); where it does not converge, or for more than EQP_SPEEDS_HYBRJ_RANKS
 * ranks, or in a build without cminpack, bisection of the same splines, and `result` says so.
 * \param[out] size    [nranks] items, > 0 unless there are none, their sum is n but for rounding; unchanged on error
 * \param[out] result  may be NULL; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY */
int eqp_speeds_divide(const eqp_speeds *speeds, double *size, eqp_speeds_result *result);

/** Whole shares: eqp_speeds_divide() and eqp_speeds_round(). Where the slowest rank was rounded up to a share that it
 * has had before, its one item more may be the one that does not fit: it goes to a rank that was rounded down, if that
 * one is done earlier. So no share is off its size by one or more. With fewer items than ranks some ranks get none.
 * \param[out] share   [nranks] items, >= 0, their sum is exactly n; unchanged on error
 * \param[out] result  of the division; may be NULL; unchanged on error
 * \return the codes of both, and EQP_ERR_STATE where the number of items is not whole */
int eqp_speeds_share(const eqp_speeds *speeds, int64_t *share, eqp_speeds_result *result);

/** Rounds sizes to whole shares that add up exactly: each is rounded down, then the largest remainders get one item
 * more, the lower rank first where two are the same (Hamilton's method; Clarke 2011, section 6.1). No share is off its
 * quota n size / (sum of sizes) by one or more. Local, O(nranks log nranks).
 * \param[in]  n       items, from 0 to EQP_SPEEDS_ITEMS
 * \param[in]  nranks  >= 1
 * \param[in]  size    [nranks] proportions, >= 0 (borrowed)
 * \param[out] share   [nranks] >= 0, their sum is n; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for nranks or n out of its range, EQP_ERR_DATA for a size that is negative or not
 *         finite, or where all are 0 but n is not, EQP_ERR_MEMORY */
int eqp_speeds_round(int64_t n, int nranks, const double *size, int64_t *share);

/** How unequal times are: the largest |t_i - t_j| / t_i, which is (max - min) / min (Clarke 2011, section 3). Ranks of
 * time 0 have nothing to do and are left out. Local, O(nranks).
 * \param[in]  nranks   >= 1
 * \param[in]  seconds  [nranks] >= 0 (borrowed)
 * \param[out] spread   a fraction; 0 with fewer than two times that are not 0; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for nranks, EQP_ERR_DATA for a time that is negative or not finite */
int eqp_speeds_spread(int nranks, const double *seconds, double *spread);

/** The kind of a word of EQP_SPEEDS_KINDS. Returns EQP_OK, or EQP_ERR_UNKNOWN and `kind` is unchanged. */
int eqp_speeds_kind_parse(const char *text, eqp_speeds_kind *kind);

/** The word of a kind; static storage, NULL for a number that is none. */
const char *eqp_speeds_kind_name(eqp_speeds_kind kind);

/** Declared speed functions: one per rank, known beforehand. They emulate ranks of different speed, so that a test
 * has the same result on any machine. Opaque. */
typedef struct eqp_speeds_functions eqp_speeds_functions;

/** Largest file of speed functions, bytes. */
#define EQP_SPEEDS_FILE_BYTES (INT64_C(64) << 20)

/** Most ranks in such a file. */
#define EQP_SPEEDS_FILE_RANKS 65536

/** Reads speed functions from a text: a line `RANK SIZE SPEED` for each point, in words separated by blanks or tabs.
 * Ranks count from 0 without a gap, at most EQP_SPEEDS_FILE_RANKS; the points of a rank stand together, their sizes
 * (items, 0 to EQP_SPEEDS_ITEMS) increase; speeds are items per second, 1 / EQP_SPEEDS_FASTEST to EQP_SPEEDS_FASTEST.
 * Speed is linear between points and constant outside. `#` begins a comment. Numbers have a decimal point whatever the
 * locale says. Local, O(length).
 * \param[in]  text       [length], need not end in 0 (borrowed)
 * \param[in]  length     bytes, >= 0
 * \param[in]  name       begins the message: "name:line: what is wrong" (borrowed)
 * \param[out] functions  owned by the caller: eqp_speeds_functions_free(); unchanged on error
 * \param[out] message    may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative length, EQP_ERR_FORMAT for what is no such text, EQP_ERR_DATA for a
 *         number out of its range, EQP_ERR_MEMORY */
int eqp_speeds_functions_parse(const char *text, int64_t length, const char *name, eqp_speeds_functions **functions,
                               eqp_message *message);

/** Reads such a text from a file. Local. Arguments and codes as eqp_speeds_functions_parse(), and EQP_ERR_IO; a file of
 * more than EQP_SPEEDS_FILE_BYTES is EQP_ERR_FORMAT. */
int eqp_speeds_functions_read(const char *path, eqp_speeds_functions **functions, eqp_message *message);

/** Frees speed functions; NULL is legal. */
void eqp_speeds_functions_free(eqp_speeds_functions *functions);

/** Ranks that have a function: 0 to this number - 1. */
int eqp_speeds_functions_ranks(const eqp_speeds_functions *functions);

/** What a rank takes for some items: size / speed at that size. Local, O(log points).
 * \param[in]  size     items, >= 0, finite
 * \param[out] seconds  0 for size 0; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for a rank or a size out of its range */
int eqp_speeds_functions_seconds(const eqp_speeds_functions *functions, int rank, double size, double *seconds);

/** The functions of a kind of model, for the shares of a balancer (balancer.h). Local; static. NULL for a kind that is
 * none. */
const eqp_speed_model *eqp_speeds_model(eqp_speeds_kind kind);

#ifdef __cplusplus
}
#endif
#endif
