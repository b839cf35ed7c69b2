/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/models.h
 * \brief Shares of the ranks: speed as a function of size, learned from measured times.
 *
 * A rank's speed is items per second, and it depends on the number of items: a rank slows down when they exceed its
 * caches or its memory. A model of every rank is built from the times of a run's iterations; the models give sizes that
 * take the same time on every rank. D. Clarke, A. Lastovetsky, V. Rychkov, "Dynamic load
 * balancing of parallel computational iterative routines on highly heterogeneous HPC platforms", Parallel Processing
 * Letters 21 (2011) 195 ("Clarke 2011" below).
 *
 *     eqp_speeds_create(EQP_SPEEDS_AKIMA, nranks, n, &speeds);
 *     eqp_speeds_share(speeds, share);                 // nothing measured: equal shares
 *     for (every iteration) {
 *         move items according to `share`; compute; gather the seconds of all ranks on all ranks
 *         eqp_speeds_spread(nranks, seconds, &spread);
 *         if (spread > 0.05) {
 *             eqp_speeds_record(speeds, share, seconds);
 *             eqp_speeds_share(speeds, share);
 *         }
 *     }
 *
 * No function communicates, reads a clock or keeps state outside its objects: ranks that pass the same numbers get the
 * same shares. An object may be used by one thread at a time.
 *
 * Functional balancing: if the time of a program is known as a function of its domain, the domain is cut so that every
 * node finishes at the same moment. Cuts are roots of that function. Pure: no MPI.
 *
 * t(x) is the *cumulative* time: the time of the domain from its low end to x. It may come from a callback, from an
 * analytic family (fitted to samples or not), or from samples. A constant factor has no effect. Nodes are ranks,
 * threads or machines; `speed` gives their relative speeds.
 *
 * Source: the paper on functional load balancing in the CUG 1996 Fall Proceedings; its equations, sections and
 * appendices are named below.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_MODELS_H
#define EQUIPOISE_MORE_MODELS_H

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Interpolation of a rank's speed between the measured sizes. */
typedef enum eqp_speeds_kind {
    EQP_SPEEDS_CONSTANT,  /**< the last measured speed, at every size, for comparison. It fails if speed depends on
                               size: shares then oscillate without end (Clarke 2011, section 3) */
    EQP_SPEEDS_PIECEWISE, /**< straight pieces of a shape that every line through the origin meets once: up and concave,
                               then down (section 5) */
    EQP_SPEEDS_AKIMA      /**< Akima's spline: smooth, of any shape (section 6) */
} eqp_speeds_kind;

/** Names of the kinds, by number, separated by '|'. */
#define EQP_SPEEDS_KINDS "constant|piecewise|akima"

/** Number of points kept in the model of a rank: the newest ones with distinct sizes. */
#define EQP_SPEEDS_POINTS 64

/** Largest number of items, 2^53: the limit of exact integers in a double. */
#define EQP_SPEEDS_ITEMS 9007199254740992.0

/** Smallest nonzero size, in items, which may be weighted. */
#define EQP_SPEEDS_SMALLEST 1e-15

/** Speeds above EQP_SPEEDS_FASTEST or below 1 / EQP_SPEEDS_FASTEST are refused, in items per second. */
#define EQP_SPEEDS_FASTEST 1e30

/** The models of all ranks. Opaque. */
typedef struct eqp_speeds eqp_speeds;

/** Creates models without points. Local, O(nranks).
 * \param[in]  kind    interpolation between the points
 * \param[in]  nranks  >= 1
 * \param[in]  n       items to divide: 0, or from EQP_SPEEDS_SMALLEST to EQP_SPEEDS_ITEMS; need not be whole if items
 *                     are weighted
 * \param[out] speeds  owned by the caller: eqp_speeds_free(); unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for an argument out of its range, EQP_ERR_MEMORY */
int eqp_speeds_create(eqp_speeds_kind kind, int nranks, double n, eqp_speeds **speeds);

/** Frees the models; NULL is legal. */
void eqp_speeds_free(eqp_speeds *speeds);

/** Adds one iteration: a point for every rank, or for none if one of them is not usable. Local,
 * O(nranks EQP_SPEEDS_POINTS).
 * \param[in] share    [nranks] items of each rank, >= 0 (borrowed)
 * \param[in] seconds  [nranks] (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA */
int eqp_speeds_record(eqp_speeds *speeds, const int64_t *share, const double *seconds);

/** Whole shares for which all ranks take equally long. If the slowest rank was rounded up to a share that it has
 * had before, its extra item may exceed a limit of the rank: the item goes to a rank that was rounded down, if that
 * rank finishes earlier. Every share differs from its size by less than one. With fewer items than ranks some ranks get
 * none.
 * \param[out] share   [nranks] items, >= 0, with sum exactly n; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_STATE if the number of items is not whole */
int eqp_speeds_share(const eqp_speeds *speeds, int64_t *share);

/** Spread of times: the largest |t_i - t_j| / t_i, which is (max - min) / min (Clarke 2011, section 3). Ranks with time
 * 0 have no work and are ignored. Local, O(nranks).
 * \param[in]  nranks   >= 1
 * \param[in]  seconds  [nranks] >= 0 (borrowed)
 * \param[out] spread   a fraction; 0 with fewer than two nonzero times; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for nranks, EQP_ERR_DATA for a time that is negative or not finite */
static inline int eqp_speeds_spread(int nranks, const double *seconds, double *spread)
{
    EQP_REQUIRE(seconds && spread);
    double least = INFINITY, most = 0.0;

    if (nranks < 1) {
        return EQP_ERR_ARGUMENT;
    }
    for (int r = 0; r < nranks; r++) {
        if (!(seconds[r] >= 0.0) || !isfinite(seconds[r])) {
            return EQP_ERR_DATA;
        }
        if (seconds[r] > 0.0) {
            least = fmin(least, seconds[r]);
            most = fmax(most, seconds[r]);
        }
    }
    *spread = most > least ? most / least - 1.0 : 0.0;
    return EQP_OK;
}

/** The kind with a name of EQP_SPEEDS_KINDS. Returns EQP_OK, or EQP_ERR_UNKNOWN and `kind` is unchanged. */
int eqp_speeds_kind_parse(const char *text, eqp_speeds_kind *kind);

/** The name of a kind; static storage, NULL for an invalid number. */
const char *eqp_speeds_kind_name(eqp_speeds_kind kind);

/** Declared speed functions, one per rank. They emulate ranks of different speed, so that a test has the same result on
 * any machine. Opaque. */
typedef struct eqp_speeds_functions eqp_speeds_functions;

/** Largest size of a file of speed functions, bytes. */
#define EQP_SPEEDS_FILE_BYTES (INT64_C(64) << 20)

/** Largest number of ranks in such a file. */
#define EQP_SPEEDS_FILE_RANKS 65536

/** Reads speed functions from a text: a line `RANK SIZE SPEED` for each point, in words separated by blanks or tabs.
 * Ranks count from 0 without a gap, at most EQP_SPEEDS_FILE_RANKS; the points of a rank are consecutive, their sizes
 * (items, 0 to EQP_SPEEDS_ITEMS) increase; speeds are items per second, 1 / EQP_SPEEDS_FASTEST to EQP_SPEEDS_FASTEST.
 * Speed is linear between points and constant outside. `#` begins a comment. Numbers have a decimal point in any
 * locale. Local, O(length).
 * \param[in]  text       [length], need not end in 0 (borrowed)
 * \param[in]  length     bytes, >= 0
 * \param[in]  name       begins the message: "name:line: what is wrong" (borrowed)
 * \param[out] functions  owned by the caller: eqp_speeds_functions_free(); unchanged on error
 * \param[out] message    may be NULL
 * \return EQP_OK, EQP_ERR_ARGUMENT for a negative length, EQP_ERR_FORMAT for another format, EQP_ERR_DATA for a
 *         number out of its range, EQP_ERR_MEMORY */
int eqp_speeds_functions_parse(const char *text, int64_t length, const char *name, eqp_speeds_functions **functions,
                               eqp_message *message);

/** Reads such a text from a file. Local. Arguments and codes as eqp_speeds_functions_parse(), and EQP_ERR_IO; a file of
 * more than EQP_SPEEDS_FILE_BYTES is EQP_ERR_FORMAT. */
int eqp_speeds_functions_read(const char *path, eqp_speeds_functions **functions, eqp_message *message);

/** Frees speed functions; NULL is legal. */
void eqp_speeds_functions_free(eqp_speeds_functions *functions);

/** Number of ranks with a function: ranks 0 to this number - 1. */
int eqp_speeds_functions_ranks(const eqp_speeds_functions *functions);

/** Time of a rank for some items: size / speed at that size. Local, O(log points).
 * \param[in]  size     items, >= 0, finite
 * \param[out] seconds  0 for size 0; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for a rank or a size out of its range */
int eqp_speeds_functions_seconds(const eqp_speeds_functions *functions, int rank, double size, double *seconds);

/** The functions of a kind of model, for the shares of a balancer (balancer.h). Local; static. NULL for an invalid
 * kind. */
const eqp_speed_model *eqp_speeds_model(eqp_speeds_kind kind);

/** A cumulative time function. Plain data; `user` is borrowed as long as it is used. The functions have no side effects
 * and may be called with any x from low to high. */
typedef struct eqp_functional_time {
    double low;                                  /**< low end of the domain, finite */
    double high;                                 /**< high end, >= low; high - low is finite, too */
    double (*value)(const void *user, double x); /**< t(x), never falling; t(low) need not be 0 */
    double (*slope)(const void *user, double x); /**< t'(x), or NULL: unknown */
    double (*bend)(const void *user, double x);  /**< t''(x), or NULL: unknown */
    const void *user;                            /**< passed to the functions */
} eqp_functional_time;

/** Statistics of the search for cuts. */
typedef struct eqp_functional_search {
    double total;    /**< t(high) - t(low): the time of the whole domain on a node of speed 1 */
    int newton;      /**< cuts found by Newton's method */
    int brent;       /**< cuts found by Brent's method */
    int evaluations; /**< total evaluations of t */
} eqp_functional_search;

/** Cuts the domain so that every node takes the same time (1). If the time of the domain is 0, the nodes get equal
 * lengths instead, in proportion to their speeds. Local, deterministic, some evaluations per node: all ranks get the
 * same bounds.
 * \param[in]  time    (borrowed)
 * \param[in]  nnodes  >= 1
 * \param[in]  speed   [nnodes] relative speeds, > 0; NULL: equal (borrowed)
 * \param[out] bound   [nnodes + 1] ascending: node i has bound[i] to bound[i + 1]; the ends are exactly low and high
 * \param[out] search  NULL: not needed
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT for an invalid domain or speeds, also for a domain whose length
 *         overflows a double, EQP_ERR_DATA for a t that falls, is not finite or has an infinite rise at an evaluated
 *         point */
int eqp_functional_cut(const eqp_functional_time *time, int nnodes, const double *speed, double *bound,
                       eqp_functional_search *search);

/** Whole items from cuts: first[i] is bound[i] rounded to the nearest integer. With more nodes than items some nodes
 * get none. Local, O(nnodes).
 * \param[in]  bound  [nnodes + 1] ascending, within +-2^53, as from eqp_functional_cut()
 * \param[out] first  [nnodes + 1] node i has the items first[i] to first[i + 1] - 1
 * \return EQP_OK, EQP_ERR_ARGUMENT */
static inline int eqp_functional_items(int nnodes, const double *bound, int64_t *first)
{
    const double most = 9007199254740992.0;

    if (nnodes < 1 || !bound || !first) {
        return EQP_ERR_ARGUMENT;
    }
    for (int i = 0; i <= nnodes; i++) {
        if (!(fabs(bound[i]) <= most) || (i > 0 && bound[i] < bound[i - 1])) {
            return EQP_ERR_ARGUMENT;
        }
    }
    for (int i = 0; i <= nnodes; i++) {
        first[i] = (int64_t)floor(bound[i] + 0.5);
    }
    return EQP_OK;
}

/** Forms of t(x) with few parameters c[]. */
enum eqp_functional_form {
    EQP_FUNCTIONAL_POWER = 0,  /**< c0 x^c1: c0 > 0, c1 > 0, x >= 0 */
    EQP_FUNCTIONAL_PRIMES = 1, /**< c0 x^c1 / (ln x - 1.08366): work on primes up to x (4), with Legendre's density of
                                  primes; c0 > 0, c1 > 0, ln x > 1.08366 + 1 / c1, below which t falls */
    EQP_FUNCTIONAL_POLYNOMIAL = 2 /**< c0 x + c1 x^2 + c2 x^3: coefficients >= 0 and not all 0, x >= 0 */
};

/** A form with its parameters. Plain data. */
typedef struct eqp_functional_family {
    enum eqp_functional_form form; /**< the form */
    double c[3];                   /**< its parameters */
} eqp_functional_family;

/** t(x) of a family over a domain, with both derivatives. Local.
 * \param[in]  family  (borrowed as long as `time` is used)
 * \param[out] time    refers to `family`
 * \return EQP_OK, or EQP_ERR_ARGUMENT for parameters or a domain that the form does not allow */
int eqp_functional_family_time(const eqp_functional_family *family, double low, double high, eqp_functional_time *time);

/** Fits a form, but no polynomial, to measured cumulative times, by least squares of the logarithms.
 * eqp_functional_cut() can cut a fit from the first sample to the last. Local, O(n), deterministic.
 * \param[in]  n       samples, >= 2
 * \param[in]  x       [n] ascending, in the form's domain, > 0 (borrowed)
 * \param[in]  t       [n] > 0, not falling (borrowed)
 * \param[out] family  the fit
 * \param[out] error   root mean square of the relative errors of t; NULL: not needed
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for invalid samples or samples that the form cannot fit, also if the
 *         fit or its error would not be finite between them */
int eqp_functional_fit(enum eqp_functional_form form, int64_t n, const double *x, const double *t,
                       eqp_functional_family *family, double *error);

/** t(x) through samples: cubic pieces that rise where the samples rise, so that t never falls between them either
 * (F. N. Fritsch and R. E. Carlson, Monotone piecewise cubic interpolation, SIAM J. Numer. Anal. 17, 1980). Opaque. */
typedef struct eqp_functional_samples eqp_functional_samples;

/** Interpolates samples. Local, O(n).
 * \param[in]  n        >= 2
 * \param[in]  x        [n] strictly ascending, the last minus the first finite (copied)
 * \param[in]  t        [n] cumulative times, not falling (copied)
 * \param[in]  slope    [n] t'(x) >= 0, reduced if the pieces would fall; NULL: estimated (copied)
 * \param[out] samples  owned by the caller; eqp_functional_samples_free()
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT, EQP_ERR_DATA for times that fall, slopes that are negative, either
 *         not finite, EQP_ERR_OVERFLOW for rises so steep that the interpolation overflows */
int eqp_functional_samples_create(int64_t n, const double *x, const double *t, const double *slope,
                                  eqp_functional_samples **samples);

/** Their t(x), from the first x to the last; refers to `samples`. Local, O(1), and O(log n) per evaluation. */
eqp_functional_time eqp_functional_samples_time(const eqp_functional_samples *samples);

/** Frees; NULL is legal. */
void eqp_functional_samples_free(eqp_functional_samples *samples);

/** Load balance inefficiency (Tmax - Tavg) / Tmax (2) and efficiency, the rest (3): both in per cent. If all
 * times are 0, the nodes are balanced. Local, O(n).
 * \param[in]  time  [n] of each node, >= 0 (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT for n < 1, EQP_ERR_DATA for a time that is negative or not finite */
int eqp_functional_efficiency(int n, const double *time, double *inefficiency, double *efficiency);

#ifdef __cplusplus
}
#endif
#endif
