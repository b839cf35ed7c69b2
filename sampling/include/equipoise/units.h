/* SPDX-License-Identifier: BSD-3-Clause */
/** \file units.h
 * \brief Work units: groups of an N-body code's interactions, few enough for a partitioner.
 *
 * An *owner* is an object with an interaction list (a particle, a target group, a segment). The application gives its
 * owners in the order of a space-filling curve and enumerates one owner's interactions at a time into a sink. A *work
 * unit* is either a run of whole owners along the curve, if they are lighter than the target, or, for a heavier owner,
 * its interactions inside one Voronoi cell of a sampled centroid. Interactions are never stored: memory is O(owners +
 * units), and owners that are split are enumerated again.
 *
 *     eqp_owners_weigh(...)         interactions and weight of every owner
 *     eqp_units_totals_add(...)     this rank's sums
 *        (MPI_Allreduce and MPI_Exscan of the sums)
 *     eqp_units_create(...)         the units
 *     eqp_units_find(...)           the unit of an interaction
 *
 * A serial program calls eqp_units_create_serial() instead of the first three. This header does not use MPI: the
 * caller adds up the sums, as arrays of int64_t. Every result is a function of the seed, the owners' global ids, their
 * order along the curve and their interactions. It does not depend on the distribution of the owners over ranks.
 *
 * Source: O. Pearce, Load Balancing Scientific Applications, 2014, section 4.1 (Algorithm 6 and section 4.1.1.1). */
#ifndef EQUIPOISE_UNITS_H
#define EQUIPOISE_UNITS_H

#include <equipoise/error.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Greatest dimension of a centroid. */
#define EQP_UNITS_MAX_DIM 8

/** Largest number of particles that an interaction touches in addition to its owner. */
#define EQP_BATCH_MAX_PINS 4

/** A unit's global id is (position along the curve << EQP_UNIT_SUB_BITS) | s, with s = 0 for whole owners that share
 * a unit and s = 1 + sub for the units of an owner that is heavy enough to stand alone. */
#define EQP_UNIT_SUB_BITS 24

/** How interactions are sampled. The strategies place the samples differently; see \ref eqp_units_create. */
typedef enum eqp_sample_strategy {
    EQP_SAMPLE_RANDOM,   /**< every interaction is drawn with probability `rate`; sizes have a long right tail */
    EQP_SAMPLE_PARTICLE, /**< every heavy owner gets samples in proportion to its weight */
    EQP_SAMPLE_ADAPTIVE, /**< Algorithm 6 complete: in proportion, then units over `threshold` are split again */
    EQP_SAMPLE_STRIDE    /**< samples at equal distances along the enumeration, then split again like ADAPTIVE */
} eqp_sample_strategy;

/** Options of the sampling. The first member set out of `units`, `rate`, and `imbalance` with `nparts` determines the
 * size of the units; by default it is the mean weight of an owner divided by `threshold` (line 4 of Algorithm 6). The
 * same on all ranks. */
typedef struct eqp_units_options {
    size_t size; /**< size of this struct in the caller's version: set by eqp_units_options_defaults() */
    eqp_sample_strategy strategy; /**< placement of the samples */
    uint64_t seed;                /**< seed of every random choice */
    int dim;                      /**< dimension of the centroids, 1 to EQP_UNITS_MAX_DIM */
    int64_t units;                /**< target number of units over all ranks; 0: not given */
    double rate;                  /**< target units per interaction, 0 < rate <= 1; 0: not given */
    double imbalance;             /**< target max / mean - 1 of the loads of `nparts` parts, > 0; 0: not given */
    int nparts;                   /**< parts that the units will be assigned to, >= 1; 0: not given */
    double threshold;             /**< s: units heavier than s x the target weight are split again, >= 1.25 */
    int max_pins;                 /**< pins kept per unit, 0 to 65536; 0 saves enumerating owners that are not split */
    double weigh_rate; /**< share of the interactions that eqp_owners_weigh looks at, 0 < weigh_rate <= 1; 1: all */
    int weight_bits;   /**< weights are added as multiples of 2^-weight_bits (quanta), 0 to 60: in integers, so that
                            sums do not depend on their order. The default suits weights of about 1; take more bits for
                            seconds */
} eqp_units_options;

/** Stride, three dimensions, units for two percent of imbalance as soon as `nparts` is set. */
static inline eqp_units_options eqp_units_options_defaults(void)
{
    eqp_units_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.strategy = EQP_SAMPLE_STRIDE;
    options.seed = 1;
    options.dim = 3;
    options.imbalance = 0.02;
    options.threshold = 2;
    options.max_pins = 16;
    options.weigh_rate = 1;
    options.weight_bits = 20;
    return options;
}

/** Receives interactions while an owner is enumerated. */
typedef struct eqp_sink eqp_sink;

/** One batch of an owner's interactions (all arrays borrowed for the call). */
typedef struct eqp_batch {
    int64_t n;              /**< interactions in the batch, >= 0 */
    const double *centroid; /**< [n][dim] centroids, best relative to the owner so that they move with it; may be NULL
                                 while eqp_sink_wants_centroids() is false */
    const double *weight;   /**< [n] costs, >= 0, about 1 for a typical interaction; or NULL: 1 each */
    int npins;              /**< pins of an interaction without its owner, 0 to EQP_BATCH_MAX_PINS */
    const int64_t *pin;     /**< [n][npins] their global ids, negative: none here; may be NULL while
                                 eqp_sink_wants_pins() is false */
} eqp_batch;

/** Hands over one batch. Local, O(n) (and a nearest search each while a split owner is counted). The sink remembers
 * the first error, so a callback that ignores the code cannot hide it.
 * \return EQP_OK; EQP_ERR_ARGUMENT for a negative n, npins out of range or a wanted array that is NULL; EQP_ERR_DATA
 * for a centroid that is not finite, a weight that is negative, not finite, or positive and rounded to nothing (see
 * `weight_bits`); EQP_ERR_OVERFLOW; EQP_ERR_MEMORY. The callback should return the code. */
int eqp_sink_add(eqp_sink *sink, const eqp_batch *batch);

/** True if this enumeration reads centroids. Constant during one call of the callback. Local, O(1). */
bool eqp_sink_wants_centroids(const eqp_sink *sink);

/** True if this enumeration reads pins. Constant during one call of the callback. Local, O(1). */
bool eqp_sink_wants_pins(const eqp_sink *sink);

/** Enumerates all interactions of owner number `owner` (0 .. n - 1 of the owners given) into the sink, always in the
 * same order. May be called several times for one owner. Returns EQP_OK or the code that ends the call; any other value
 * is handed to the caller as it is. */
typedef int (*eqp_enumerate_fn)(void *user, int64_t owner, eqp_sink *sink);

/** Centroid of an interaction: the midpoint of two particles, the mean of the corners of a triangle or tetrahedron.
 * Local, O(n dim). Source: Pearce 2014, section 4.1.1.
 * \param[in]  n         particles, 2 to 4
 * \param[in]  dim       1 to EQP_UNITS_MAX_DIM
 * \param[in]  position  [n][dim] (borrowed)
 * \param[in]  origin    [dim] subtracted from the result, as a rule the owner's position (borrowed); NULL: the origin
 * \param[out] centroid  [dim]
 * \return EQP_OK, or EQP_ERR_ARGUMENT for n or dim out of range */
static inline int eqp_centroid(int n, int dim, const double *position, const double *origin, double *centroid)
{
    EQP_REQUIRE(n >= 2 && n <= 4 && dim >= 1 && dim <= EQP_UNITS_MAX_DIM && position && centroid);
    for (int d = 0; d < dim; d++) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            sum += position[i * dim + d];
        }
        centroid[d] = sum / n - (origin ? origin[d] : 0);
    }
    return EQP_OK;
}

/** Counts and weighs every owner's interactions: phase 1. Local, one enumeration of each owner. Callers that know
 * counts and weights from elsewhere skip it.
 *
 * Counts are exact. Weights are exact with `weigh_rate` 1, and estimates otherwise. With EQP_SAMPLE_STRIDE every k-th
 * interaction is read, with k = 1 / weigh_rate rounded, and counts k times; with the remaining strategies each one is
 * read with probability weigh_rate. The stride starts at a random phase in each owner, or, where `first_interaction`
 * is given, runs on from owner to owner. The latter has by far the least noise: the error of any run of owners
 * comes only from its two ends. Weights that repeat with the stride's period bias the stride, but not random draws.
 * \param[in]  n                  owners of this rank, >= 0
 * \param[in]  id                 [n] their global ids (borrowed)
 * \param[in]  first_interaction  [n] interactions of all owners before this one along the curve, on all ranks, for
 *                                example the running sum of the last step's counts (borrowed); or NULL
 * \param[in]  enumerate          the application's callback
 * \param[in]  user               its first argument
 * \param[in]  options            strategy, seed, weigh_rate and weight_bits are used (borrowed)
 * \param[out] count              [n] interactions
 * \param[out] weight             [n] sums of weights, multiples of 2^-weight_bits
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_MEMORY; EQP_ERR_OVERFLOW for a weight of 2^62 quanta or more; a code of
 * eqp_sink_add() or of the callback. count and weight are unchanged on error */
int eqp_owners_weigh(int64_t n, const int64_t *id, const int64_t *first_interaction, eqp_enumerate_fn enumerate,
                     void *user, const eqp_units_options *options, int64_t *count, double *weight);

/** Sums over owners: int64_t only, so that they are the same in any order. As an array of EQP_UNITS_TOTALS_WORDS
 * int64_t, MPI_Allreduce with MPI_SUM gives the totals of all ranks, and MPI_Exscan with MPI_SUM the totals before this
 * rank's owners (zero on rank 0, whose MPI_Exscan result is undefined). Ranks hold the owners in curve order: all of
 * rank r before all of rank r + 1. */
typedef struct eqp_units_totals {
    int64_t owners;       /**< number of owners */
    int64_t interactions; /**< number of their interactions */
    int64_t weight;       /**< in multiples of 2^-weight_bits; the sum over all ranks must stay below 2^62 */
    int64_t draws;        /**< EQP_SAMPLE_RANDOM: interactions drawn; otherwise 0 */
} eqp_units_totals;

/** Length of eqp_units_totals as an array of int64_t. */
#define EQP_UNITS_TOTALS_WORDS 4

/** All zero. */
#define EQP_UNITS_TOTALS_ZERO                                                                                          \
    {                                                                                                                  \
        0, 0, 0, 0                                                                                                     \
    }

/** Adds owners to sums. Local, O(n); with EQP_SAMPLE_RANDOM O(n + draws).
 *
 * EQP_SAMPLE_RANDOM needs `rate`: a caller that has `units` or `imbalance` instead adds up once without (`draws`
 * stays 0), asks eqp_units_target() for the rate, sets it and adds up again. All other strategies need one reduction.
 * \param[in]     options  (borrowed)
 * \param[in]     n        owners, >= 0
 * \param[in]     id       [n] global ids (borrowed)
 * \param[in]     count    [n] interactions, >= 0 (borrowed)
 * \param[in]     weight   [n] weights, >= 0 (borrowed)
 * \param[in,out] totals   unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_DATA for a negative count or a weight that is negative or not finite;
 * EQP_ERR_OVERFLOW */
int eqp_units_totals_add(const eqp_units_options *options, int64_t n, const int64_t *id, const int64_t *count,
                         const double *weight, eqp_units_totals *totals);

/** The size of units that the options ask for. Local, O(1), the same on all ranks.
 *
 * From an imbalance: let L be the mean load of a part and t the weight of the heaviest unit. Fill the parts one after
 * the other, and end each at the unit that carries the running sum over the next multiple of L: every part's load is
 * within t of L, an imbalance of at most t / L. A partitioner that looks harder does better, so t = imbalance x L
 * suffices. Units of light owners weigh at most twice the target, divisible ones at most `threshold` times, so
 * target = imbalance x L / max(2, threshold): 50 units per part for 4 %, 100 for 2 %.
 * \param[in]  options  (borrowed)
 * \param[in]  all      totals of all ranks (borrowed)
 * \param[out] target   wanted weight of a unit; 0 where there is no weight at all
 * \param[out] rate     the same as units per interaction, at most 1; 0 where there are no interactions
 * \return EQP_OK, or EQP_ERR_ARGUMENT for options out of range or negative totals */
int eqp_units_target(const eqp_units_options *options, const eqp_units_totals *all, double *target, double *rate);

/** Work units of this rank's owners, and the map from interactions to them. Opaque. */
typedef struct eqp_units eqp_units;

/** Selects work units: phase 2. Local; owners that are split are enumerated once for the samples and once for every
 * round of counting (usually two or three, at most 10 unless centroids coincide), whole owners once if max_pins > 0 and
 * otherwise not at all. Memory O(owners + units (dim + max_pins)).
 *
 * Where they are cut. Let g be the target weight. An owner of weight <= g is *light*. Lay all owners on the line in
 * curve order: the light ones whose middle falls into the same interval [b g, (b + 1) g) make one unit, which weighs
 * at most 2 g. A heavier owner is *heavy* and gets max(1, round(weight / g)) samples (line 4 of Algorithm 6), each
 * the centre of a Voronoi cell of centroids that is a unit. PARTICLE and ADAPTIVE draw them at random, an interaction
 * in proportion to its weight; STRIDE takes them at equal distances of summed weight along the enumeration. ADAPTIVE
 * and STRIDE leave owners of at most min(2, `threshold`) x g whole, which are no heavier than units of light owners
 * can be, and sample again inside the cells that weigh more than `threshold` x g, until no such cell is left that more
 * samples can divide (line 15). Centroids of earlier rounds stay, so cells only shrink. Intervals follow
 * from sums of integers, so nothing depends on the ranks; a unit of light owners may lie across two ranks, and then
 * each has its piece of it under the same id.
 *
 * RANDOM is the paper's simplest sampling, for comparison: every interaction is drawn with probability `rate`. An
 * owner with several draws is split at them. An owner without one joins the unit of the owner before it, if that one
 * has one draw or none; behind an owner that is split, and before the first draw of all, they make a unit of their
 * own.
 *
 * Weights and interactions of units of whole owners are the sums of what the caller gave; those of a split owner's
 * units are counted, and add up to exactly what eqp_owners_weigh() gives with weigh_rate 1. No unit of a split owner
 * is empty.
 * \param[in]  n          owners of this rank in curve order, >= 0
 * \param[in]  id         [n] global ids, different (borrowed)
 * \param[in]  count      [n] interactions, >= 0 (borrowed)
 * \param[in]  weight     [n] weights, >= 0 (borrowed)
 * \param[in]  enumerate  the application's callback
 * \param[in]  user       its first argument
 * \param[in]  options    (borrowed)
 * \param[in]  all        totals of all ranks (borrowed); NULL: these are all the owners there are
 * \param[in]  before     totals of the ranks before this one (borrowed); NULL together with `all`
 * \param[out] units      owned by the caller, eqp_units_free(); unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT, also for totals that do not fit the owners; EQP_ERR_DATA; EQP_ERR_MEMORY;
 * EQP_ERR_OVERFLOW for 2^39 intervals or 2^24 - 1 units of one owner; a code of eqp_sink_add() or of the callback */
int eqp_units_create(int64_t n, const int64_t *id, const int64_t *count, const double *weight,
                     eqp_enumerate_fn enumerate, void *user, const eqp_units_options *options,
                     const eqp_units_totals *all, const eqp_units_totals *before, eqp_units **units);

/** Pins of the owners, for callers that record them during the computation (all arrays borrowed). */
typedef struct eqp_owner_pins {
    const int64_t *first; /**< [n + 1] ascending from 0: the pins of owner i are first[i] .. first[i + 1] - 1 */
    const int64_t *pin;   /**< [first[n]] global ids in any order, repeated or not, negative: none here; without the
                               owners' own ids */
} eqp_owner_pins;

/** Selects work units like eqp_units_create(), with the pins of whole owners from arrays. The callback is called only
 * for owners that are split. Local; O(owners + pins) in addition to the split owners.
 *
 * The array's pins of a split owner are ignored: each of its cells needs the pins of its own interactions, which the
 * callback enumerates. With ADAPTIVE and STRIDE only owners heavier than min(2, `threshold`) times the target
 * (eqp_units_target()) are split, with PARTICLE only owners heavier than 1.25 times the target, with RANDOM any owner.
 *
 * With all ids that the owners' interactions name, the result equals that of eqp_units_create(). The `max_pins` ids
 * with the smallest eqp_pin_key() of each owner are enough; further ids have no effect. If a caller gives only ids with
 * keys below a bound, the same for all owners, units have fewer pins, which agree between units as before.
 * \param[in]  n          owners of this rank in curve order, >= 0
 * \param[in]  id         [n] global ids, different (borrowed)
 * \param[in]  count      [n] interactions, >= 0 (borrowed)
 * \param[in]  weight     [n] weights, >= 0 (borrowed)
 * \param[in]  pins       of the owners (borrowed), ignored if max_pins is 0; NULL: enumerate, as eqp_units_create() does
 * \param[in]  enumerate  the application's callback
 * \param[in]  user       its first argument
 * \param[in]  options    (borrowed)
 * \param[in]  all        totals of all ranks (borrowed); NULL: these are all the owners there are
 * \param[in]  before     totals of the ranks before this one (borrowed); NULL together with `all`
 * \param[out] units      owned by the caller, eqp_units_free(); unchanged on error
 * \return as eqp_units_create(); EQP_ERR_ARGUMENT also for a `first` that is not ascending from 0 */
int eqp_units_create_known(int64_t n, const int64_t *id, const int64_t *count, const double *weight,
                           const eqp_owner_pins *pins, eqp_enumerate_fn enumerate, void *user,
                           const eqp_units_options *options, const eqp_units_totals *all,
                           const eqp_units_totals *before, eqp_units **units);

/** Finds the interval of the line for each owner. A unit of light owners consists of owners of one interval (see
 * eqp_units_create()). If each interval's owners are brought to the first rank that has any, every unit is whole and
 * the units do not depend on the number of ranks. Local, O(n); with EQP_SAMPLE_RANDOM O(n + draws).
 * \param[in]  n         owners of this rank in curve order, >= 0
 * \param[in]  id        [n] global ids, different (borrowed)
 * \param[in]  count     [n] interactions, >= 0 (borrowed)
 * \param[in]  weight    [n] weights, >= 0 (borrowed)
 * \param[in]  options   (borrowed)
 * \param[in]  all       totals of all ranks (borrowed); NULL: these are all the owners there are
 * \param[in]  before    totals of the ranks before this one (borrowed); NULL together with `all`
 * \param[out] interval  [n] ascending, also over the ranks; unchanged on error
 * \return as eqp_units_create() */
int eqp_units_intervals(int64_t n, const int64_t *id, const int64_t *count, const double *weight,
                        const eqp_units_options *options, const eqp_units_totals *all, const eqp_units_totals *before,
                        int64_t *interval);

/** Weighs the owners and selects the units of a program that holds all of them. Local. Arguments, cost and codes as
 * eqp_owners_weigh() without first_interaction and eqp_units_create(). */
int eqp_units_create_serial(int64_t n, const int64_t *id, eqp_enumerate_fn enumerate, void *user,
                            const eqp_units_options *options, eqp_units **units);

/** Rebuilds the map for any owners, on any rank, from the results of the accessors on another rank: for owners that
 * move, and for ranks that compute units which another rank sampled. The units have ids, owners and centroids, but no
 * weights, interactions or pins. Local, O(n + cells log cells).
 * \param[in]  dim       1 to EQP_UNITS_MAX_DIM
 * \param[in]  n         owners, >= 0
 * \param[in]  first     [n + 1] ascending from 0: the units of owner i are first[i] .. first[i + 1] - 1, at least one
 *                       (borrowed)
 * \param[in]  unit_id   [first[n]] their global ids; neighbours with the same single unit share it (copied)
 * \param[in]  centroid  [first[n]][dim], read for owners with several units (copied); NULL if no owner has several
 * \param[out] units     owned by the caller, eqp_units_free(); unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_DATA for a centroid that is not finite; EQP_ERR_MEMORY */
int eqp_units_rebuild(int dim, int64_t n, const int64_t *first, const int64_t *unit_id, const double *centroid,
                      eqp_units **units);

/** Releases units. NULL is legal. */
void eqp_units_free(eqp_units *units);

/** Number of units on this rank; they are numbered from 0 in the order in which the curve meets them. Local, O(1). */
int64_t eqp_units_count(const eqp_units *units);

/** One unit. */
typedef struct eqp_unit {
    int64_t id;             /**< global id, >= 0; see EQP_UNIT_SUB_BITS */
    double weight;          /**< of its interactions on this rank */
    int64_t interactions;   /**< on this rank */
    int64_t owner;          /**< its first owner, 0 .. n - 1 */
    int64_t owners;         /**< number of its owners on this rank, >= 1 */
    int64_t sub;            /**< number of its cell in a split owner, from 0; -1 for a unit of whole owners */
    const double *centroid; /**< [dim] its sampled centroid, or NULL for a unit of whole owners (borrowed from units) */
} eqp_unit;

/** Reads one unit. Local, O(1).
 * \param[in]  units
 * \param[in]  unit    0 .. eqp_units_count() - 1
 * \param[out] result  unchanged on error
 * \return EQP_OK, or EQP_ERR_ARGUMENT */
int eqp_units_get(const eqp_units *units, int64_t unit, eqp_unit *result);

/** The owners of every unit, ascending: consecutive, but for a heavy owner that may stand between light ones.
 * Local, O(1).
 * \param[in]  units
 * \param[out] first  [count + 1] into owner (borrowed from units)
 * \param[out] owner  [first[count]] owner numbers (borrowed from units) */
void eqp_units_owners(const eqp_units *units, const int64_t **first, const int64_t **owner);

/** A sample of what every unit touches: its hyperedges (Pearce 2014, Algorithm 7). Kept are the `max_pins` smallest
 * by eqp_pin_key() of all ids that its interactions name and of its owners' ids, each once, ascending by key; an owner
 * that is split is always among the pins of its units. Since all units keep by the same key they keep the same ids,
 * and two units that share much share pins (coordinated bottom-k sampling: Cohen and Kaplan, "Summarizing data using
 * bottom-k sketches", PODC 2007). Pieces of one unit on two ranks: the `max_pins` smallest keys of both. Local, O(1).
 * \param[in]  units
 * \param[out] first  [count + 1] into pin (borrowed from units)
 * \param[out] pin    [first[count]] global ids (borrowed from units) */
void eqp_units_pins(const eqp_units *units, const int64_t **first, const int64_t **pin);

/** The key of an id: units keep the pins with the smallest keys. For every seed the keys are a permutation of the
 * 64-bit numbers, spread evenly, so no two ids share one. Local, O(1), some nanoseconds. */
uint64_t eqp_pin_key(uint64_t seed, int64_t id);

/** The units of one owner: first to first + count - 1. Several for a split owner, else one. Local, O(1).
 * \param[in]  units
 * \param[in]  owner  0 .. n - 1
 * \param[out] first
 * \param[out] count  >= 1
 * \return EQP_OK, or EQP_ERR_ARGUMENT */
int eqp_units_of_owner(const eqp_units *units, int64_t owner, int64_t *first, int64_t *count);

/** The unit of an interaction, which need not have existed when the sample was taken: the owner's unit, or in a split
 * owner the unit with the nearest centroid (the first among equals). Local: no search for an owner
 * with one unit, linear in up to 64 centroids, else a k-d tree. Any number of threads may search at the same time.
 * \param[in] units
 * \param[in] owner     0 .. n - 1
 * \param[in] centroid  [dim] as in eqp_batch; may be NULL for an owner with one unit
 * \return the unit's number, 0 .. eqp_units_count() - 1; -1 for an owner out of range or a missing centroid */
int64_t eqp_units_find(const eqp_units *units, int64_t owner, const double *centroid);

/** Bins of a histogram of unit sizes: four per factor of two, as in the paper's logarithmic figures. */
#define EQP_SIZES_BINS 256

/** Statistics of unit sizes that can be added up: sums of pieces (ranks) are the statistics of the whole, with the
 * largest and smallest by maximum and minimum. */
typedef struct eqp_sizes {
    int64_t n;                   /**< sizes */
    int64_t zeros;               /**< of them 0 */
    double sum;                  /**< of the sizes */
    double sum_squares;          /**< of the sizes */
    double sum_logs;             /**< of the natural logarithms of sizes > 0 */
    double min;                  /**< smallest; 0 for no sizes */
    double max;                  /**< largest; 0 for no sizes */
    int64_t bin[EQP_SIZES_BINS]; /**< counts of sizes > 0, see eqp_sizes_bin_start() */
} eqp_sizes;

/** Adds sizes to statistics that were zeroed (`= {0}`) at first. Local, O(n).
 * \param[in,out] sizes  unchanged on error
 * \param[in]     n      >= 0
 * \param[in]     size   [n], >= 0 and finite (borrowed)
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_OVERFLOW, or EQP_ERR_DATA */
int eqp_sizes_add(eqp_sizes *sizes, int64_t n, const double *size);

/** Adds another piece. Local, O(1). Returns EQP_OK, EQP_ERR_ARGUMENT for invalid counts, or EQP_ERR_OVERFLOW. */
int eqp_sizes_merge(eqp_sizes *sizes, const eqp_sizes *piece);

/** Statistics of the weights of this rank's units. A unit that lies across two ranks counts as two. Local, O(units). */
void eqp_units_sizes(const eqp_units *units, eqp_sizes *sizes);

/** Smallest size of a bin: 2^(bin / 4 - 16); sizes below the first bin are in it, sizes above the last in the last.
 * Local, O(1). */
static inline double eqp_sizes_bin_start(int bin)
{
    return exp2(bin / 4.0 - 16);
}

/** Fits P(x) = x^(k-1) e^(-x/theta) / (theta^k Gamma(k)) to the sizes > 0 by maximum likelihood, started from the
 * moments. Local, O(1). Source: Pearce 2014, eq. 4.1; T. Minka, "Estimating a Gamma distribution", 2002, for the
 * iteration.
 * \param[in]  sizes  (borrowed)
 * \param[out] k      shape, > 0
 * \param[out] theta  scale, in the unit of the sizes
 * \return EQP_OK, EQP_ERR_ARGUMENT, or EQP_ERR_DATA if there are fewer than two sizes > 0 or all are equal: then no
 * gamma distribution fits best */
int eqp_sizes_fit_gamma(const eqp_sizes *sizes, double *k, double *theta);

#ifdef __cplusplus
}
#endif
#endif
