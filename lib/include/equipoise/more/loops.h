/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/loops.h
 * \brief Dynamic loop scheduling: assigns the iterations of a parallel loop to ranks while it runs.
 *
 * A loop has n independent iterations, 0 to n - 1. An idle rank asks for work and gets a *chunk* of consecutive
 * iterations, which no other rank gets. Large chunks need few requests, small ones balance better; a method is a rule
 * for their sizes. The rules are pure: the same requests and measured times give the same chunks. Time enters as data.
 *
 * The rules and the numbers of their equations are those of M. Balasubramaniam, "Performance analysis and evaluation of
 * dynamic loop scheduling techniques in a competitive runtime environment for distributed memory architectures", MSc
 * thesis, Mississippi State University, 2003, chapter 2; AWF-B to AWF-E follow R. L. Carino and I. Banicescu, "Dynamic
 * load balancing with adaptive factoring methods in scientific applications", J. Supercomputing 44 (2008); the
 * trapezoid is that of T. H. Tzeng and L. M. Ni, IEEE Trans. Parallel Distrib. Syst. 4 (1993) 87.
 *
 * eqp_loop_run() runs a loop on MPI ranks by the same rules.
 *
 * Every rank has the data of all iterations: counters lie in a window of rank 0, and ranks take chunks by MPI's
 * one-sided operations. If an MPI library implements these by messages, requests advance only while their target is in
 * MPI: rank 0, and with `yield` the rank that gives away. These ranks enter MPI between the pieces of their chunks
 * (eqp_loop_options::grain), so a hand-out can take as long as some pieces.
 *
 * Iterations are distributed over the ranks, in any numbers, with data that the caller packs: they travel as *bundles*
 * (eqp_loop_options::bundles, eqp_loop_bundles, eqp_loop_resize()). All ranks ask rank 0, which decides and also
 * computes; a rank gets iterations of its own part first, then of the rank with the most left.
 *
 * Either way only the calling thread uses MPI (`MPI_THREAD_FUNNELED` suffices).
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_LOOPS_H
#define EQUIPOISE_MORE_LOOPS_H

#include <equipoise/error.h>
#include <equipoise/survey.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The state of a loop whose iterations are handed out. Opaque. */
typedef struct eqp_schedule eqp_schedule;

/** Use of measured times by a method. */
enum eqp_schedule_learns {
    EQP_SCHEDULE_LEARNS_NOTHING = 0,
    EQP_SCHEDULE_LEARNS_FIRST,    /**< a rank's speed, from its first chunk if options set its size */
    EQP_SCHEDULE_LEARNS_STEPS,    /**< a rank's speed, from whole time steps */
    EQP_SCHEDULE_LEARNS_CHUNKS,   /**< a rank's speed, from chunks */
    EQP_SCHEDULE_LEARNS_OVERHEAD, /**< a rank's speed, from chunks and the time that getting them took */
    EQP_SCHEDULE_LEARNS_SPREAD    /**< mean and spread of the times of a rank's iterations */
};

/** One method: a row of the table. */
typedef struct eqp_schedule_method {
    const char *name;    /**< as in `--method NAME` */
    const char *summary; /**< one line for people */
    int learns;          /**< an eqp_schedule_learns */
    bool owned;          /**< every rank starts with a part of its own; otherwise all share one pool */
    /** Proposes the next chunk of a rank: the first `count` iterations left in a pool. Local; may update its cursor,
     * but hands out no iterations. A count of 0: none for this rank. */
    void (*propose)(eqp_schedule *schedule, int rank, int *pool, int64_t *count);
} eqp_schedule_method;

/** Row i of the table; NULL if there is none. Static storage. */
const eqp_schedule_method *eqp_schedule_method_at(int i);

/** Number of rows of the table. */
static inline int eqp_schedule_method_count(void)
{
    int n = 0;

    while (eqp_schedule_method_at(n)) {
        n++;
    }
    return n;
}

/** The row of that name; NULL if there is none. Static storage. */
static inline const eqp_schedule_method *eqp_schedule_method_find(const char *name)
{
    const eqp_schedule_method *found;

    for (int i = 0; name && (found = eqp_schedule_method_at(i)) != NULL; i++) {
        if (strcmp(found->name, name) == 0) {
            return found;
        }
    }
    return NULL;
}

/** Options of a loop. Options that a method does not use are checked, too. */
typedef struct eqp_schedule_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp_schedule_options_defaults() */
    const double *weight; /**< [nranks] relative speeds, finite and > 0, in any unit; NULL: equal (copied). `weighted`
                             keeps them, the adaptive-weighted methods begin with them */
    double factor;        /**< x of eq. 2.2: a batch is 1/x of the iterations left, >= 1 */
    int64_t chunk;        /**< `fixed`: the size of all chunks; `adaptive-factoring`: of a rank's first chunk; methods
                             with weights: of the chunks of the first batch at weight 1, and `weighted` then takes its
                             weights from the times of each rank's first chunk, once. 0: by the formula, >= 0 */
    double overhead;      /**< `fixed`, h of eq. 2.1: seconds that handing out one chunk takes, >= 0 */
    double deviation;     /**< `fixed`, sigma of eq. 2.1: standard deviation of an iteration's seconds, >= 0 */
    int dimensions;       /**< `fractiling`: of the space whose Morton order the iterations follow, 1 to 3 */
} eqp_schedule_options;

/** Initializer: equal weights, half of the remaining iterations in a batch, a plane. The size of fixed chunks is not
 * set, so they are as large as static ones. */
static inline eqp_schedule_options eqp_schedule_options_defaults(void)
{
    eqp_schedule_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.factor = 2.0;
    options.dimensions = 2;
    return options;
}

/** Consecutive iterations: first to first + count - 1. */
typedef struct eqp_schedule_chunk {
    int64_t first; /**< 0 to n */
    int64_t count; /**< 0: no iterations */
} eqp_schedule_chunk;

/** Measured times of a chunk. */
typedef struct eqp_schedule_sample {
    int64_t count;  /**< computed iterations, >= 0 */
    double seconds; /**< of all of them, finite and >= 0; 0: the clock is too coarse */
    double squares; /**< sum of the squares of each iteration's seconds, finite and >= 0; 0: unknown, and all iterations
                      count as equal */
    double overhead; /**< seconds from asking for the chunk to beginning with it, finite and >= 0 */
} eqp_schedule_sample;

/** Creates a schedule. Local, O(nranks).
 * \param[in]  method    a row of the table (borrowed for the life of the schedule)
 * \param[in]  n         iterations, >= 0
 * \param[in]  nranks    ranks, >= 1; may exceed n
 * \param[in]  options   NULL: the defaults (copied)
 * \param[out] schedule  owned by the caller; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for anything out of its range (NaN too), EQP_ERR_MEMORY, EQP_ERR_OVERFLOW */
int eqp_schedule_create(const eqp_schedule_method *method, int64_t n, int nranks, const eqp_schedule_options *options,
                        eqp_schedule **schedule);

/** Frees a schedule; NULL is legal. */
void eqp_schedule_free(eqp_schedule *schedule);

/** Hands the next chunk to a rank. Every iteration is handed out once, for any order of requests, provided that every
 * rank asks until it gets an empty chunk. Local; O(1) on average, O(log n) for factoring methods, O(nranks) for a
 * helper in `fractiling`.
 * \param[in]  rank   0 to nranks - 1
 * \param[out] chunk  count 0: none is left for this rank; unchanged on error
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_schedule_next(eqp_schedule *schedule, int rank, eqp_schedule_chunk *chunk);

/** Kinds of events in a simulation. */
typedef enum eqp_schedule_event_kind {
    EQP_SCHEDULE_HANDED, /**< a rank gets a chunk from the loop */
    EQP_SCHEDULE_GIVEN,  /**< a rank gets the end of another one's chunk */
    EQP_SCHEDULE_DONE    /**< a rank has computed the rest of its chunk */
} eqp_schedule_event_kind;

/** One event. */
typedef struct eqp_schedule_event {
    eqp_schedule_event_kind kind; /**< the kind */
    int rank;                     /**< the rank */
    eqp_schedule_chunk chunk;     /**< the iterations */
    double seconds;               /**< time of the end for EQP_SCHEDULE_DONE, otherwise of the beginning of the chunk */
} eqp_schedule_event;

/** The machine of a simulation. */
typedef struct eqp_schedule_machine {
    const double *speed; /**< [nranks] finite and > 0: an iteration takes cost / speed; NULL: 1 (borrowed) */
    double overhead;     /**< seconds to hand out a chunk, one chunk at a time, >= 0 */
    double latency;      /**< seconds of a message; a chunk takes two, >= 0 */
    bool yield;          /**< idle ranks take half of the iterations that the slowest has not begun */
    /** Called for every event, in the order of decisions; may be NULL. */
    void (*event)(void *user, const eqp_schedule_event *event);
    void *user;  /**< handed to `event` (borrowed) */
    bool master; /**< a rank's own part first, then the end of the part with the most left, as with bundles;
                    otherwise the front of the remaining iterations */
} eqp_schedule_machine;

/** Initializer: equal ranks that start together, 0.5 microseconds for each chunk and 1 microsecond for a message, as
 * between ranks of one node. */
#define EQP_SCHEDULE_MACHINE_DEFAULTS                                                                                  \
    {                                                                                                                  \
        NULL, 5e-7, 1e-6, false, NULL, NULL, false                                                                     \
    }

/** Result of a simulation. */
typedef struct eqp_schedule_outcome {
    int64_t chunks;  /**< handed out, including given ones */
    int64_t given;   /**< ends of chunks that a rank gave to another */
    double makespan; /**< seconds until the last rank has computed its last iteration */
    double cost;     /**< nranks x makespan: section 4.4.1 of the thesis */
    double mean;     /**< mean over the ranks of the time of the last iteration, from 0; 0 for a rank without
                        iterations */
    double cov;      /**< standard deviation of these times (with nranks - 1) / mean: section 4.4.3; 0 for one rank or a
                        mean of 0 */
} eqp_schedule_outcome;

/** Runs a loop in virtual time, by the same rules as on real ranks. Simultaneous requests are served in the order of
 * the ranks. Times are recorded iteration by iteration. Local, deterministic, O(n + chunks
 * log nranks), plus the cost of the method, plus O(nranks log n) for each end of a chunk that is given away.
 * \param[in,out] schedule  not begun; completely handed out afterwards
 * \param[in]     cost      [n] seconds of each iteration at speed 1, finite and >= 0 (borrowed)
 * \param[in]     machine   NULL: the defaults (borrowed)
 * \param[out]    outcome   unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for a cost out of range or a sum that is not finite, EQP_ERR_STATE for
 * a loop that has begun, EQP_ERR_MEMORY; the loop has not begun after any of these */
int eqp_schedule_simulate(eqp_schedule *schedule, const double *cost, const eqp_schedule_machine *machine,
                          eqp_schedule_outcome *outcome);

/** A loop that can be run again and again. Opaque. */
typedef struct eqp_loop eqp_loop;

/** Options of a run, the same on all ranks except for the clock. */
typedef struct eqp_loop_options {
    size_t size;        /**< of this struct as its caller knows it: set by eqp_loop_options_defaults() */
    bool yield;         /**< ranks without a chunk take half of another rank's unbegun iterations (without bundles:
                           nearly half, and below 2^31 iterations) */
    int64_t grain;      /**< iterations of a piece. Between pieces a rank gives iterations away and serves other
                           ranks; each piece is timed for the spread. 0: a sixteenth of a chunk, or the whole chunk
                           without bundles, `yield` and spread */
    eqp_clock clock;    /**< clock for chunks; usually eqp_wall_seconds(), which also sees external slowdowns */
    bool bundles;       /**< each rank sets its number of iterations by eqp_loop_resize(), and packs data for
                           helpers; otherwise every rank has the input of all iterations */
    int64_t most_given; /**< largest number of iterations in a bundle, >= 0; 0: set by the method. A bundle is computed
                           without a break to serve other ranks */
} eqp_loop_options;

/** Initializer: no bundles, chunks are not given away. */
static inline eqp_loop_options eqp_loop_options_defaults(void)
{
    eqp_loop_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    return options;
}

/** Callbacks for iterations that another rank computes. Each returns EQP_OK, or a code that ends the loop on all ranks,
 * and then its out-arguments are not read. Each may use MPI, but not wait for other ranks. The thread that runs the
 * loop calls them between two pieces of this rank's own work. Iterations are numbered over the whole loop:
 * eqp_loop_part(). */
typedef struct eqp_loop_bundles {
    /** Packs the data of iterations of this rank's part for another rank, count > 0.
     * \param[in]  user   eqp_loop_work::user
     * \param[in]  to     the rank that will compute them
     * \param[out] data   from malloc(); the loop frees it once it is sent
     * \param[out] bytes  size of data, 1 to 2^31 - 1; more ends the loop with EQP_ERR_OVERFLOW, 0 with
     * EQP_ERR_ARGUMENT */
    int (*pack)(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes);
    /** Computes all iterations of a bundle from the packed data of their owner.
     * \param[in]  user          eqp_loop_work::user
     * \param[in]  owner         owner of the iterations
     * \param[in]  data          [bytes] packed data, aligned as by malloc() (borrowed)
     * \param[out] result        from malloc(); the loop frees it once it is sent
     * \param[out] result_bytes  size of result, with the limits of `pack` */
    int (*compute)(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes, void **result,
                   size_t *result_bytes);
    /** Stores the results of iterations of this rank's part that another rank has computed. Called once for each
     * bundle, in any order.
     * \param[in] user    eqp_loop_work::user
     * \param[in] result  [bytes] output of `compute`, aligned as by malloc() (borrowed) */
    int (*take)(void *user, int64_t first, int64_t count, const void *result, size_t bytes);
} eqp_loop_bundles;

/** The work of a loop. The *owner* of an iteration is the rank whose part contains it: eqp_loop_part(). */
typedef struct eqp_loop_work {
    /** Computes the iterations first to first + count - 1, count > 0. Returns EQP_OK, or a code that ends the loop on
     * all ranks. May use MPI, but not wait for other ranks. With bundles only iterations of this rank's part. */
    int (*compute)(void *user, int64_t first, int64_t count);
    void *user;                      /**< handed to all callbacks (borrowed) */
    const eqp_loop_bundles *bundles; /**< callbacks with eqp_loop_options::bundles, otherwise NULL (borrowed) */
} eqp_loop_work;

/** Work of one rank in a run. */
typedef struct eqp_loop_result {
    int64_t chunks; /**< its chunks */
    int64_t
        taken; /**< chunks that were ends of other ranks' chunks or, without bundles, of other ranks' unbegun parts */
    int64_t iterations; /**< its iterations */
    int64_t refused;    /**< chunks with unusable times: the clock stood still or went backwards */
    double seconds;     /**< computing its chunks, by the clock */
    double overhead;    /**< getting its chunks, by the clock, including the transfer of bundles */
    int64_t helped;     /**< its iterations from other ranks' parts */
} eqp_loop_result;

/** Prepares a loop. Collective over `comm`, which is duplicated; fails on all ranks or on none. The window on rank 0
 * takes O(ranks), as does every rank.
 * \param[in]  method   a row of eqp_schedule_method_at(); the same on all ranks (borrowed)
 * \param[in]  n        iterations, >= 0; the same on all ranks. With bundles 0: eqp_loop_resize() sets them
 * \param[in]  rules    NULL: the defaults (copied); the same on all ranks, weights included
 * \param[in]  options  NULL: the defaults (copied); the same on all ranks
 * \param[out] loop     owned by the caller; unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT, also if ranks differ; EQP_ERR_MEMORY; EQP_ERR_OVERFLOW for `yield` with
 * 2^31 iterations without bundles; EQP_ERR_MPI */
int eqp_loop_create(MPI_Comm comm, const eqp_schedule_method *method, int64_t n, const eqp_schedule_options *rules,
                    const eqp_loop_options *options, eqp_loop **loop);

/** Sets the number of this rank's iterations in a loop with bundles. Parts are consecutive in the order of the ranks.
 * Measured speeds are kept. Collective, one allgather; O(ranks).
 * \param[in] mine  >= 0; the ranks may differ
 * \return EQP_OK; EQP_ERR_ARGUMENT, also without eqp_loop_options::bundles; EQP_ERR_OVERFLOW if the sum exceeds
 * int64_t; EQP_ERR_MPI; on all ranks, except for a NULL loop. On error the parts are unchanged */
int eqp_loop_resize(eqp_loop *loop, int64_t mine);

/** The part of a rank: with bundles as set by eqp_loop_resize(), otherwise an equal share in order. Local, O(1).
 * \return a count of 0 for a rank out of range */
eqp_schedule_chunk eqp_loop_part(const eqp_loop *loop, int rank);

/** Computes every iteration once: one time step, using the speeds measured in earlier runs. Collective; a late rank
 * finds less work. A hand-out takes one compare-and-swap in rank 0's window, and another for every rank that came
 * first; methods that learn from chunks also read O(ranks) numbers there. The distribution of iterations depends on
 * times and differs between runs; the results do not.
 *
 * With bundles a rank gets iterations of its own part first, from the beginning, in chunks of the method's size; then a
 * bundle from the end of the part with the most left. Methods with owned parts use these parts: `static` gives every
 * rank its part as one chunk. With `yield` the end of a chunk of a rank's own part is packed and given away during the
 * chunk; bundles are not divided again. Bundles need memory during the run; a rank without memory ends the loop.
 * \param[in]  work    each rank's own (borrowed)
 * \param[out] result  of this rank; may be NULL; unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_MPI; with bundles EQP_ERR_MEMORY, EQP_ERR_OVERFLOW; or what a function of
 * the caller returned on the lowest rank that failed: then some iterations were not computed, and the loop can be run
 * again. The same on all ranks, except for a NULL loop */
int eqp_loop_run(eqp_loop *loop, const eqp_loop_work *work, eqp_loop_result *result);

/** Frees a loop; NULL on all ranks is legal. Collective. */
void eqp_loop_free(eqp_loop *loop);

#ifdef __cplusplus
}
#endif
#endif
