/* SPDX-License-Identifier: BSD-3-Clause */
/** \file functional.h
 * \brief Functional balancing: where the time that a program needs is known as a function of its domain, the domain is
 * cut so that every node finishes at the same moment. Cuts are roots of that function. Pure: no MPI.
 *
 * t(x) is the *cumulative* time: what everything from the domain's low end to x takes. It may come from a callback,
 * from an analytic family (fitted to samples or not), from samples themselves, or from a density of time over a domain
 * of two or three dimensions, summed across the direction of the cuts. Only its form counts: a constant factor changes
 * nothing. Nodes are ranks, threads or machines; `speed` says how fast they are beside each other.
 *
 * Source: the paper on functional load balancing in the CUG 1996 Fall Proceedings; its equations, sections and
 * appendices are named below. */
#ifndef EQUIPOISE_FUNCTIONAL_H
#define EQUIPOISE_FUNCTIONAL_H

#include <equipoise/error.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A cumulative time function. Plain data; `user` is borrowed as long as it is used. The functions have no side effects
 * and may be called with any x from low to high. */
typedef struct eqp_functional_time {
    double low;                                  /**< where the domain begins, finite */
    double high;                                 /**< where it ends, >= low; high - low is finite, too */
    double (*value)(const void *user, double x); /**< t(x), never falling; t(low) need not be 0 */
    double (*slope)(const void *user, double x); /**< t'(x), or NULL: not known */
    double (*bend)(const void *user, double x);  /**< t''(x), or NULL: not known */
    const void *user;                            /**< handed to the functions */
} eqp_functional_time;

/** Whether Newton's method is sure to find any root of t(x) - c between low and high (appendix A): t' > 0, and t'' is
 * of one sign and not 0, or 0 everywhere. Looked at in eight places; the search itself looks again at each of its
 * points.
 * Local. \return true, or false if not or not known */
bool eqp_functional_newton_converges(const eqp_functional_time *time, double low, double high);

/** A place in the domain, and how it was found. */
typedef struct eqp_functional_root {
    double x;        /**< where t(x) reaches the target */
    int evaluations; /**< of t */
    int newton;      /**< 1: by Newton's method; 0: by Brent's, or without a search */
} eqp_functional_root;

/** Solves t(x) = target in the whole domain. Newton's method from `guess` where its convergence is sure; if t(guess) is
 * on the side from which it need not converge, from the end of the domain from which it does. Wherever a condition does
 * not hold, is not known or fails on the way: Brent's method, which needs t alone. Local, deterministic; to about four
 * units in the last place of x where t is not flat.
 * \param[in]  target  t(low) to t(high)
 * \param[in]  guess   in the domain
 * \param[out] root    where
 * \return EQP_OK, EQP_ERR_ARGUMENT for a domain that is none and a target or a guess that is out of range, EQP_ERR_DATA
 *         for a t that falls, or that or whose rise is not finite, as far as it was looked at */
int eqp_functional_solve(const eqp_functional_time *time, double target, double guess, eqp_functional_root *root);

/** How cuts were found. */
typedef struct eqp_functional_search {
    double total;    /**< t(high) - t(low): the time of the whole domain on a node of speed 1 */
    int newton;      /**< cuts found by Newton's method */
    int brent;       /**< cuts found by Brent's method */
    int evaluations; /**< of t, in all */
} eqp_functional_search;

/** Cuts the domain so that every node takes the same time (1). Where the whole domain takes no time, lengths count
 * instead. Local, deterministic, some evaluations per node: all ranks that call it get the same bounds.
 * \param[in]  time    (borrowed)
 * \param[in]  nnodes  >= 1
 * \param[in]  speed   [nnodes] relative speeds, > 0; NULL: equal (borrowed)
 * \param[out] bound   [nnodes + 1] ascending: node i has bound[i] to bound[i + 1]; the ends are exactly low and high
 * \param[out] search  NULL: not wanted
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT for a domain or speeds that are none, also for a domain whose length
 *         a double cannot hold, EQP_ERR_DATA for a t that falls, or that or whose rise is not finite, as far as it was
 *         looked at */
int eqp_functional_cut(const eqp_functional_time *time, int nnodes, const double *speed, double *bound,
                       eqp_functional_search *search);

/** Whole items from cuts: first[i] is bound[i] rounded to the nearest integer. With more nodes than items some get
 * none. Local, O(nnodes).
 * \param[in]  bound  [nnodes + 1] ascending, within +-2^53, as from eqp_functional_cut()
 * \param[out] first  [nnodes + 1] node i has the items first[i] to first[i + 1] - 1
 * \return EQP_OK, EQP_ERR_ARGUMENT */
int eqp_functional_items(int nnodes, const double *bound, int64_t *first);

/** Forms of t(x) with few parameters c[]. */
enum eqp_functional_form {
    EQP_FUNCTIONAL_POWER = 0,  /**< c0 x^c1: c0 > 0, c1 > 0, x >= 0 */
    EQP_FUNCTIONAL_PRIMES = 1, /**< c0 x^c1 / (ln x - 1.08366): work on primes up to x (4), with Legendre's density of
                                  primes; c0 > 0, c1 > 0, ln x > 1.08366 + 1 / c1, below which it falls */
    EQP_FUNCTIONAL_POLYNOMIAL = 2 /**< c0 x + c1 x^2 + c2 x^3: none negative, not all 0, x >= 0 */
};

/** One of them. Plain data. */
typedef struct eqp_functional_family {
    enum eqp_functional_form form; /**< which */
    double c[3];                   /**< its parameters */
} eqp_functional_family;

/** t(x) of a family over a domain, with both derivatives. Local.
 * \param[in]  family  (borrowed as long as `time` is used)
 * \param[out] time    refers to `family`
 * \return EQP_OK, or EQP_ERR_ARGUMENT for parameters or a domain that the form does not allow */
int eqp_functional_family_time(const eqp_functional_family *family, double low, double high, eqp_functional_time *time);

/** Fits a form to measured cumulative times, by least squares of relative errors: for the first two forms of the
 * logarithms, for polynomials with no coefficient below 0, so that the fit never falls. eqp_functional_cut() can cut a
 * fit from the first sample to the last. Local, O(n), deterministic.
 * \param[in]  n       samples, at least as many as the form has parameters
 * \param[in]  x       [n] ascending, in the form's domain, > 0 (borrowed)
 * \param[in]  t       [n] > 0, not falling (borrowed)
 * \param[out] family  the fit
 * \param[out] error   root mean square of the relative errors of t; NULL: not wanted
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for samples that are no such times or that no such form fits, also where
 *         the fit or its error would not be finite between them */
int eqp_functional_fit(enum eqp_functional_form form, int64_t n, const double *x, const double *t,
                       eqp_functional_family *family, double *error);

/** t(x) through samples: cubic pieces that rise where the samples rise, so that t never falls between them either
 * (F. N. Fritsch and R. E. Carlson, Monotone piecewise cubic interpolation, SIAM J. Numer. Anal. 17, 1980). Opaque. */
typedef struct eqp_functional_samples eqp_functional_samples;

/** Takes samples in. Local, O(n).
 * \param[in]  n        >= 2
 * \param[in]  x        [n] strictly ascending, the last minus the first finite (copied)
 * \param[in]  t        [n] cumulative times, not falling (copied)
 * \param[in]  slope    [n] t'(x) >= 0 where it is known: lowered where the pieces would fall; NULL: estimated (copied)
 * \param[out] samples  owned by the caller; eqp_functional_samples_free()
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT, EQP_ERR_DATA for times that fall, slopes that are negative, either
 *         not finite, EQP_ERR_OVERFLOW for rises so steep that a double cannot hold what lies in between */
int eqp_functional_samples_create(int64_t n, const double *x, const double *t, const double *slope,
                                  eqp_functional_samples **samples);

/** Their t(x), from the first x to the last; refers to `samples`. Local, O(1), and O(log n) per evaluation. */
eqp_functional_time eqp_functional_samples_time(const eqp_functional_samples *samples);

/** Frees; NULL is legal. */
void eqp_functional_samples_free(eqp_functional_samples *samples);

/** Nodes of one kind. */
typedef struct eqp_functional_type {
    int count;    /**< nodes, >= 0 */
    double speed; /**< R: the time that a node of speed 1 takes for something, divided by theirs; > 0 */
} eqp_functional_type;

/** Times of a heterogeneous machine (section 4). */
typedef struct eqp_functional_plan {
    double interval; /**< what each node takes: total / speedup */
    double all;      /**< that times the number of nodes */
    double speedup;  /**< beside one node of speed 1: the sum of the speeds */
    int nodes;       /**< of all types */
} eqp_functional_plan;

/** What a program takes on nodes of several types, all finishing together. Local, O(ntypes).
 * \param[in]  type   [ntypes] at least one node in all (borrowed)
 * \param[in]  total  time on one node of speed 1, >= 0
 * \param[out] share  [ntypes] interval times the nodes of each type; NULL: not wanted
 * \param[out] plan   the times
 * \return EQP_OK, EQP_ERR_ARGUMENT for types that are none, EQP_ERR_DATA for a time that is none, EQP_ERR_OVERFLOW */
int eqp_functional_types(int ntypes, const eqp_functional_type *type, double total, double *share,
                         eqp_functional_plan *plan);

/** The speed of each node, for eqp_functional_cut(): the nodes of the first type come first. Local, O(nodes).
 * \param[out] speed  [nodes] as counted by eqp_functional_types()
 * \return as eqp_functional_types() */
int eqp_functional_speeds(int ntypes, const eqp_functional_type *type, double *speed);

/** Load balance inefficiency (Tmax - Tavg) / Tmax (2) and efficiency, the rest (3): both in per cent. Nodes that take
 * no time at all are balanced. Local, O(n).
 * \param[in]  time  [n] of each node, >= 0 (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT for n < 1, EQP_ERR_DATA for a time that is negative or not finite */
int eqp_functional_efficiency(int n, const double *time, double *inefficiency, double *efficiency);

/** How far apart the nodes' times are: (Tmax - Tmin) / Tavg (section 6); 0 if all are 0. Local, O(n).
 * \return as eqp_functional_efficiency() */
int eqp_functional_spread(int n, const double *time, double *spread);

/** Time per volume at a point of a domain, >= 0: p(V). */
typedef double (*eqp_functional_density)(const void *user, const double x[3]);

/** A box of one to three dimensions that is cut into slabs (section 5). */
typedef struct eqp_functional_domain {
    int dims;       /**< 1 to 3 */
    double low[3];  /**< lower corner; the first `dims` count */
    double high[3]; /**< upper corner, above it */
    int direction;  /**< of the cuts, 0 to dims - 1; -1: along the longest edge, where the cuts' faces are smallest */
    int cells;      /**< pieces of each edge for the sums, >= 1: in each of them four Gauss points */
} eqp_functional_domain;

/** Sums a density across a domain, so that t(x) of the one direction is left. Exact for densities that are polynomials
 * of degree 1 along the cuts' direction and 7 across it in each cell. Local, O((4 cells)^dims), deterministic.
 * \param[in]  density    of time (borrowed)
 * \param[in]  user       handed to it
 * \param[out] direction  the one that was taken; NULL: not wanted
 * \param[out] samples    t(x) from low[direction] to high[direction]; owned by the caller
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT for a domain that is none or more cells than doubles can tell apart,
 *         EQP_ERR_DATA for a density that is negative or not finite, EQP_ERR_OVERFLOW for sums of it that are not,
 *         and as eqp_functional_samples_create() */
int eqp_functional_reduce(eqp_functional_density density, const void *user, const eqp_functional_domain *domain,
                          int *direction, eqp_functional_samples **samples);

/** A running profile of the time density along one direction, in cells that each hold several items: where a program's
 * time goes while it runs (section 6). Opaque. */
typedef struct eqp_functional_profile eqp_functional_profile;

/** How it is kept. */
typedef struct eqp_functional_profile_options {
    double low;       /**< where the domain begins */
    double high;      /**< where it ends, > low */
    int64_t cells;    /**< >= 1: many for the balance, few for the memory */
    double keep;      /**< part of the past that stays after each pass, 0 to 1 */
    int every;        /**< passes between two looks at the balance, >= 1 */
    double threshold; /**< a spread (Tmax - Tmin) / Tavg above this asks for new cuts, >= 0 */
} eqp_functional_profile_options;

/** Looks at every tenth pass for times that are a tenth apart, as the source does; set the domain. */
#define EQP_FUNCTIONAL_PROFILE_DEFAULTS                                                                                \
    {                                                                                                                  \
        0.0, 1.0, 256, 0.5, 10, 0.1                                                                                    \
    }

/** An empty profile. Local, O(cells).
 * \param[out] profile  owned by the caller; eqp_functional_profile_free()
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT, also for more cells than doubles can tell apart in the domain */
int eqp_functional_profile_create(const eqp_functional_profile_options *options, eqp_functional_profile **profile);

/** Adds the time of what lies between two places, spread evenly over it. Local, O(cells between them).
 * \param[in] from,to  in the domain, from <= to; equal: all goes to the cell there
 * \return EQP_OK, EQP_ERR_ARGUMENT for a place that is not in the domain, EQP_ERR_DATA for seconds that are negative or
 *         not finite; unchanged on error */
int eqp_functional_profile_add(eqp_functional_profile *profile, double from, double to, double seconds);

/** The times of the present pass, for ranks that sum theirs with an allreduce before eqp_functional_profile_pass().
 * \param[out] cells  how many
 * \return [cells] borrowed from the profile; may be written */
double *eqp_functional_profile_cells(eqp_functional_profile *profile, int64_t *cells);

/** Ends a pass: its times join the past, which fades. Every `every` passes the nodes' times are looked at. Local,
 * O(cells + n), deterministic.
 * \param[in]  n      nodes, >= 1
 * \param[in]  time   [n] of this pass (borrowed)
 * \param[out] recut  1 if it is time for new cuts, else 0
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for a time that is negative or not finite; unchanged on error */
int eqp_functional_profile_pass(eqp_functional_profile *profile, int n, const double *time, int *recut);

/** t(x) as profiled in the passes so far. Local, O(cells).
 * \param[out] samples  owned by the caller; unchanged on error
 * \return EQP_OK, EQP_ERR_MEMORY, EQP_ERR_ARGUMENT, EQP_ERR_OVERFLOW where the times sum up to more than a double
 *         can hold, or as eqp_functional_samples_create(), EQP_ERR_DATA for cells in which the caller has
 *         written what is no time */
int eqp_functional_profile_time(const eqp_functional_profile *profile, eqp_functional_samples **samples);

/** Frees; NULL is legal. */
void eqp_functional_profile_free(eqp_functional_profile *profile);

#ifdef __cplusplus
}
#endif
#endif
