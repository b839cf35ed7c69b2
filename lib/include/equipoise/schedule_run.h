/* SPDX-License-Identifier: BSD-3-Clause */
/** \file schedule_run.h
 * \brief Runs a parallel loop on MPI ranks, its iterations handed out by the methods of schedule.h while it runs.
 *
 * Two engines, one interface. One-sided, the default: there is no master, counters lie in a window of rank 0, and ranks
 * help themselves by MPI's one-sided operations. Where an MPI library makes messages of these, others get on only when
 * rank 0 enters MPI, and with `yield` who gives away; they do so between the pieces of their chunks
 * (eqp_loop_options::grain). Nothing is lost there, but a hand-out then takes as long as a piece or some. Master: all
 * ask rank 0, which decides and works as the others do; a rank gets iterations of its own part first, then those of the
 * rank that has most left. Either way only the thread that calls uses MPI (`MPI_THREAD_FUNNELED` suffices).
 *
 * Where iterations lie on the ranks as they happen to, any number on each, and need whatever the caller packs for them,
 * they travel as *bundles*: eqp_loop_options::bundles, eqp_loop_bundles, eqp_loop_resize(). */
#ifndef EQUIPOISE_SCHEDULE_RUN_H
#define EQUIPOISE_SCHEDULE_RUN_H

#include <equipoise/schedule.h>
#include <mpi.h>
#include <stddef.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A loop that can be run again and again. Opaque. */
typedef struct eqp_loop eqp_loop;

/** Who hands out. */
typedef enum eqp_loop_engine {
    EQP_LOOP_ONE_SIDED, /**< ranks help themselves */
    EQP_LOOP_MASTER     /**< rank 0, by messages */
} eqp_loop_engine;

/** How a loop runs; the same on all ranks, but for the clock. */
typedef struct eqp_loop_options {
    size_t size;            /**< of this struct as its caller knows it: set by eqp_loop_options_defaults() */
    size_t data_bytes;      /**< what an iteration reads and only its owner has; 0: every rank has all that it needs */
    size_t result_bytes;    /**< what an iteration writes and its owner gets; 0: nothing, or the caller sees to it */
    bool yield;             /**< ranks without a chunk take half of what another one has not begun, one-sided nearly
                               half, and below 2^31 iterations */
    int64_t grain;          /**< iterations of a piece: between pieces chunks can be given away and other ranks are
                               looked after, and each piece is timed for the spread. 0: a sixteenth of a chunk;
                               one-sided and for neither of these, the chunk */
    eqp_clock clock;        /**< what chunks take; usual: eqp_wall_seconds(), which also sees what slows a rank from
                               outside */
    eqp_loop_engine engine; /**< who hands out */
    bool bundles;           /**< each rank has as many iterations as it tells eqp_loop_resize(), and packs what others
                               need to compute them. Only by a master, without data_bytes and result_bytes */
    int64_t most_given; /**< iterations of a bundle at most, >= 0; 0: as many as the method says. A bundle is computed
                           at one go, and others are not looked after meanwhile */
} eqp_loop_options;

/** Initializer: no data travel, chunks are kept. */
static inline eqp_loop_options eqp_loop_options_defaults(void)
{
    eqp_loop_options options;

    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.engine = EQP_LOOP_ONE_SIDED;
    return options;
}

/** How iterations are computed elsewhere than where they lie. Each function returns EQP_OK, or a code that ends the
 * loop on all ranks, and then its out-arguments are not looked at; each may use MPI, but not wait for other ranks. They
 * are called by the thread that runs the loop, between two pieces of this rank's own work. Numbers of iterations are
 * those of the whole loop: eqp_loop_part(). */
typedef struct eqp_loop_bundles {
    /** Packs what another rank needs to compute iterations of this rank's part, count > 0.
     * \param[in]  user   eqp_loop_work::user
     * \param[in]  to     who will compute them
     * \param[out] data   from malloc(); the loop frees it once it is sent
     * \param[out] bytes  of it, 1 to 2^31 - 1; more ends the loop with EQP_ERR_OVERFLOW, nothing with
     * EQP_ERR_ARGUMENT */
    int (*pack)(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes);
    /** Computes iterations of another rank's part, all of a bundle, from what that rank has packed.
     * \param[in]  user          eqp_loop_work::user
     * \param[in]  owner         whose iterations they are
     * \param[in]  data          [bytes] what it has packed, aligned as by malloc() (borrowed)
     * \param[out] result        from malloc(); the loop frees it once it is sent
     * \param[out] result_bytes  of it, as of `pack` */
    int (*compute)(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes, void **result,
                   size_t *result_bytes);
    /** Takes the results of iterations of this rank's part that another one has computed. Called once for each bundle,
     * in any order.
     * \param[in] user    eqp_loop_work::user
     * \param[in] result  [bytes] what `compute` has made there, aligned as by malloc() (borrowed) */
    int (*take)(void *user, int64_t first, int64_t count, const void *result, size_t bytes);
} eqp_loop_bundles;

/** What a loop computes. An iteration's *owner* is the rank in whose part it is: eqp_loop_part(). */
typedef struct eqp_loop_work {
    /** Computes the iterations first to first + count - 1, count > 0. Returns EQP_OK, or a code that ends the loop on
     * all ranks. May use MPI, but not wait for other ranks. With bundles only iterations of this rank's part.
     * \param[in]  user    as below
     * \param[in]  data    [count][data_bytes] of these iterations; NULL where data_bytes is 0
     * \param[out] result  [count][result_bytes] of these iterations; NULL where result_bytes is 0 */
    int (*compute)(void *user, int64_t first, int64_t count, const void *data, void *result);
    void *user;       /**< handed to `compute` (borrowed) */
    const void *data; /**< [part][data_bytes] of the iterations that this rank owns; NULL where there are none
                         (borrowed) */
    void *result; /**< [part][result_bytes] of the iterations that this rank owns, complete after the run (borrowed) */
    const eqp_loop_bundles *bundles; /**< how others' iterations are computed: with eqp_loop_options::bundles, else NULL
                                        (borrowed) */
} eqp_loop_work;

/** What one rank has done in a run. */
typedef struct eqp_loop_result {
    int64_t chunks; /**< that it got */
    int64_t
        taken; /**< of these, ends of other ranks' chunks, or one-sided parts of others that they had not come for */
    int64_t iterations; /**< that it computed */
    int64_t refused;    /**< chunks whose times could not be used: the clock went backwards, or nowhere */
    double seconds;     /**< that its chunks took, by the clock */
    double overhead;    /**< that getting them took, by the clock; of bundles with the time in which data came */
    int64_t helped;     /**< of its iterations, those of other ranks' parts */
} eqp_loop_result;

/** Prepares a loop. Collective over `comm`, which is duplicated; fails on all ranks or on none. The window on rank 0
 * takes O(ranks), every rank O(ranks) and its share of data and results.
 * \param[in]  method   a row of eqp_schedule_method_at(); the same on all ranks (borrowed)
 * \param[in]  n        iterations, >= 0; the same on all ranks. With bundles 0: eqp_loop_resize() says how many
 * \param[in]  rules    NULL: the defaults (copied); the same on all ranks, weights included
 * \param[in]  options  NULL: the defaults (copied); the same on all ranks
 * \param[out] loop     owned by the caller; unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT also where ranks differ; EQP_ERR_MEMORY; EQP_ERR_OVERFLOW for an iteration of 2^31
 * bytes, or one-sided `yield` with 2^31 iterations; EQP_ERR_MPI */
int eqp_loop_create(MPI_Comm comm, const eqp_schedule_method *method, int64_t n, const eqp_schedule_options *rules,
                    const eqp_loop_options *options, eqp_loop **loop);

/** Says how many iterations this rank has from now on, in a loop with bundles. Parts follow each other in the order of
 * the ranks. Speeds that were learnt stay. Collective, one allgather; O(ranks).
 * \param[in] mine  >= 0; the ranks may differ
 * \return EQP_OK; EQP_ERR_ARGUMENT, also without eqp_loop_options::bundles; EQP_ERR_OVERFLOW where the sum is no int64_t;
 * EQP_ERR_MPI; on all ranks, but a NULL loop is told to its caller alone. On error parts are as they were */
int eqp_loop_resize(eqp_loop *loop, int64_t mine);

/** The iterations that a rank has: with bundles what it told eqp_loop_resize(), else as eqp_schedule_part(). Local,
 * O(1).
 * \return a count of 0 for a rank out of range */
eqp_schedule_chunk eqp_loop_part(const eqp_loop *loop, int rank);

/** Computes every iteration once: one time step. What was learnt of the ranks in earlier runs is used. Collective; a
 * rank that comes late finds less to do. A hand-out is one compare-and-swap in rank 0's window and another one for
 * every rank that came in between; methods that learn from chunks read O(ranks) numbers there, too. Which rank computes
 * what depends on times and is not the same in every run; what is computed is.
 *
 * With bundles a rank gets iterations of its own part first, from its beginning, as many as the method says and the
 * part has; then a bundle from the end of the part of whom has most left. Methods of owned parts take these for
 * theirs: `static` gives every rank its own as one chunk. With `yield` the end of a chunk of a rank's own part is
 * packed and given away in mid-chunk; bundles are not divided again. They need memory while the loop runs: a rank that
 * has none ends it.
 * \param[in]  work    each rank's own (borrowed)
 * \param[out] result  of this rank; NULL: not wanted; unchanged on error
 * \return EQP_OK; EQP_ERR_ARGUMENT; EQP_ERR_MPI; with bundles EQP_ERR_MEMORY, EQP_ERR_OVERFLOW; or what a function of
 * the caller returned on the lowest rank where one failed: then some iterations were not computed, and the loop can be
 * run again. On all ranks, but a NULL loop is told to its caller alone */
int eqp_loop_run(eqp_loop *loop, const eqp_loop_work *work, eqp_loop_result *result);

/** What the ranks' relative speeds were taken for, as eqp_schedule_weight(), by this rank. Local. */
double eqp_loop_weight(const eqp_loop *loop, int rank);

/** Frees a loop; NULL on all ranks is legal. Collective. */
void eqp_loop_free(eqp_loop *loop);

#ifdef __cplusplus
}
#endif
#endif
