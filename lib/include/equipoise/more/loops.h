/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/loops.h
 * \brief Inside a step: which rank computes which iterations of a parallel loop, decided while it runs.
 *
 * A loop has n independent iterations, 0 to n - 1. A rank that has nothing to do asks and gets a *chunk*: consecutive
 * iterations that nobody else gets. Large chunks cost few questions, small ones even out what was uneven; a method is a
 * rule for their sizes. The rules are pure: the same questions and the same measured times give the same chunks. Time
 * enters as data.
 *
 * The rules and the numbers of their equations are those of M. Balasubramaniam, "Performance analysis and evaluation of
 * dynamic loop scheduling techniques in a competitive runtime environment for distributed memory architectures", MSc
 * thesis, Mississippi State University, 2003, chapter 2; AWF-B to AWF-E follow R. L. Carino and I. Banicescu, "Dynamic
 * load balancing with adaptive factoring methods in scientific applications", J. Supercomputing 44 (2008); the
 * trapezoid is that of T. H. Tzeng and L. M. Ni, IEEE Trans. Parallel Distrib. Syst. 4 (1993) 87.
 *
 * more/loops.h runs a loop on MPI ranks with the same rules.
 *
 * Runs a parallel loop on MPI ranks, its iterations handed out by the methods of more/loops.h while it runs.
 *
 * Two engines, one interface. One-sided, the default: there is no master, counters lie in a window of rank 0, and ranks
 * help themselves by MPI's one-sided operations. Where an MPI library makes messages of these, others get on only when
 * rank 0 enters MPI, and with `yield` who gives away; they do so between the pieces of their chunks
 * (eqp_loop_options::grain). Nothing is lost there, but a hand-out then takes as long as a piece or some. Master: all
 * ask rank 0, which decides and works as the others do; a rank gets iterations of its own part first, then those of the
 * rank that has most left. Either way only the thread that calls uses MPI (`MPI_THREAD_FUNNELED` suffices).
 *
 * Where iterations lie on the ranks as they happen to, any number on each, and need whatever the caller packs for them,
 * they travel as *bundles*: eqp_loop_options::bundles, eqp_loop_bundles, eqp_loop_resize().
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

/** A loop that is being handed out. Opaque. */
typedef struct eqp_schedule eqp_schedule;

/** What a method learns from measured times. */
enum eqp_schedule_learns {
    EQP_SCHEDULE_LEARNS_NOTHING = 0,
    EQP_SCHEDULE_LEARNS_FIRST,    /**< a rank's speed, from its first chunk, where options say how large that is */
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
    bool owned;          /**< every rank has a part of the loop that it begins with; else there is one for all */
    /** Proposes the next chunk of a rank: so many of the first iterations that are left in a pool. Local; may remember
     * where it was, but hands out nothing. A count of 0: nothing for this rank. */
    void (*propose)(eqp_schedule *schedule, int rank, int *pool, int64_t *count);
} eqp_schedule_method;

/** Number of rows of the table. */
int eqp_schedule_method_count(void);

/** Row i of the table; NULL if there is none. Static storage. */
const eqp_schedule_method *eqp_schedule_method_at(int i);

/** The row of that name; NULL if there is none. Static storage. */
const eqp_schedule_method *eqp_schedule_method_find(const char *name);

/** How a loop is handed out. What a method has no use for is checked all the same. */
typedef struct eqp_schedule_options {
    size_t size;          /**< of this struct as its caller knows it: set by eqp_schedule_options_defaults() */
    const double *weight; /**< [nranks] relative speeds, finite and > 0, in any unit; NULL: equal (copied). `weighted`
                             keeps them, the adaptive-weighted methods begin with them */
    double factor;        /**< x of eq. 2.2: a batch is 1/x of what is left, >= 1 */
    int64_t chunk;        /**< `fixed`: the size of all chunks; `adaptive-factoring`: that of a rank's first; those with
                             weights: that of the first batch's, of weight 1, and `weighted` then takes its weights from
                             the times of each rank's first chunk, once. 0: by the formula, >= 0 */
    double overhead;      /**< `fixed`, h of eq. 2.1: seconds that handing out one chunk takes, >= 0 */
    double deviation;     /**< `fixed`, sigma of eq. 2.1: standard deviation of an iteration's seconds, >= 0 */
    int dimensions;       /**< `fractiling`: of the space whose Morton order the iterations follow, 1 to 3 */
} eqp_schedule_options;

/** Initializer: equal weights, half of what is left in a batch, a plane; what fixed-size chunks are is left open, so
 * they are as large as static ones. */
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

/** What a chunk took. */
typedef struct eqp_schedule_sample {
    int64_t count;   /**< iterations that were computed, >= 0 */
    double seconds;  /**< of all of them, finite and >= 0; 0 says that the clock is too coarse */
    double squares;  /**< sum of the squares of each iteration's seconds, finite and >= 0; 0: not known, and they count
                        as alike */
    double overhead; /**< seconds from asking for the chunk to beginning with it, finite and >= 0 */
} eqp_schedule_sample;

/** Begins a loop. Local, O(nranks); a loop of owned parts too.
 * \param[in]  method    a row of the table (borrowed for the life of the schedule)
 * \param[in]  n         iterations, >= 0
 * \param[in]  nranks    ranks that ask, >= 1; more than n are welcome
 * \param[in]  options   NULL: the defaults (copied)
 * \param[out] schedule  owned by the caller; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for anything out of its range (NaN too), EQP_ERR_MEMORY, EQP_ERR_OVERFLOW */
int eqp_schedule_create(const eqp_schedule_method *method, int64_t n, int nranks, const eqp_schedule_options *options,
                        eqp_schedule **schedule);

/** Frees a schedule; NULL is legal. */
void eqp_schedule_free(eqp_schedule *schedule);

/** Hands the next chunk to a rank. Every iteration is handed out once, whoever asks in whatever order, as long as every
 * rank asks until it gets nothing. Local; O(1) on average, O(log n) for the factoring kin, O(nranks) for a rank that
 * helps in `fractiling`.
 * \param[in]  rank   0 to nranks - 1
 * \param[out] chunk  count 0: nothing is left for this rank; unchanged on error
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_schedule_next(eqp_schedule *schedule, int rank, eqp_schedule_chunk *chunk);

/** Takes in what a rank's chunk has taken. Nothing depends on its being called, but what a method learns. A rank whose
 * times sum to 0 counts as not measured. Local, O(log nranks).
 * \return EQP_OK; EQP_ERR_ARGUMENT for a rank or a count out of range; EQP_ERR_DATA for times that are negative or not
 * finite, or too small or too large to compute with. On error nothing has changed and nothing is lost: what was handed
 * out stays so, and chunks follow from the samples before */
int eqp_schedule_record(eqp_schedule *schedule, int rank, const eqp_schedule_sample *sample);

/** Gives the end of a rank's last chunk to another one, which has nothing left: for chunks that take longer than was
 * thought. What is moved is from now on the last chunk of the other rank. Local, O(1).
 * \param[in]  from   who gives
 * \param[in]  to     who takes, another rank
 * \param[in]  first  first iteration that moves; not before the first of the chunk of `from`, and before its end
 * \param[out] chunk  what moves: `first` to the end of the chunk; unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT for ranks out of range or alike, EQP_ERR_STATE if `first` is not in that chunk */
int eqp_schedule_yield(eqp_schedule *schedule, int from, int to, int64_t first, eqp_schedule_chunk *chunk);

/** The same loop once more, with n iterations: the next time step. Speeds that were measured stay; for
 * `adaptive-weighted-factoring` this is when they take effect (eq. 2.4 to 2.10). `adaptive-factoring` begins anew, with
 * the first step of its section 2.1.7. What was not handed out is forgotten.
 * Local, O(nranks log nranks).
 * \return EQP_OK or EQP_ERR_ARGUMENT */
int eqp_schedule_restart(eqp_schedule *schedule, int64_t n);

/** The part of a rank when n iterations are divided as evenly as can be, in order: what `static` gives it. Local, O(1).
 * \param[in] n       iterations, >= 0
 * \param[in] nranks  >= 1
 * \param[in] rank    0 to nranks - 1; a count of 0 for arguments out of their range */
eqp_schedule_chunk eqp_schedule_part(int64_t n, int nranks, int rank);

/** Iterations that nobody has got yet. */
int64_t eqp_schedule_left(const eqp_schedule *schedule);

/** What the method takes a rank's relative speed for: 1 on average over the ranks. Local, O(1).
 * \return the weight, or 0 for a rank out of range */
double eqp_schedule_weight(const eqp_schedule *schedule, int rank);

/** The chunk size of eq. 2.1 (C. Kruskal and A. Weiss, IEEE Trans. Software Eng. 11 (1985) 1001), not rounded:
 * (sqrt(2) n h / (sigma P sqrt(ln P)))^(2/3), but at least 1 and at most n / P (or 1, where that is less). One rank,
 * no deviation: n / P. Local, O(1).
 * \param[in] n          iterations, >= 0
 * \param[in] nranks     P >= 1
 * \param[in] overhead   h: seconds for handing out one chunk, >= 0
 * \param[in] deviation  sigma: standard deviation of an iteration's seconds, >= 0 */
double eqp_schedule_fixed_size(int64_t n, int nranks, double overhead, double deviation);

/** Places of a grid in Morton order: so `fractiling` wants its iterations, that its chunks be tiles. Local,
 * O(n log n).
 * \param[in]  width   cells along x, 0 to 2^31 - 1
 * \param[in]  height  cells along y, likewise
 * \param[out] cell    [width height] y width + x of the cell that comes at each place
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_MEMORY, EQP_ERR_OVERFLOW; unchanged on error */
int eqp_schedule_morton(int64_t width, int64_t height, int64_t *cell);

/** A time in which a simulated rank does nothing. */
typedef struct eqp_schedule_stall {
    int rank;       /**< 0 to nranks - 1 */
    double at;      /**< begins, seconds from the start, finite and >= 0 */
    double seconds; /**< lasts, finite and >= 0 */
} eqp_schedule_stall;

/** What happens in a simulation. */
typedef enum eqp_schedule_event_kind {
    EQP_SCHEDULE_HANDED, /**< a rank gets a chunk from the loop */
    EQP_SCHEDULE_GIVEN,  /**< a rank gets the end of another one's chunk */
    EQP_SCHEDULE_DONE    /**< a rank has computed what is left of its chunk */
} eqp_schedule_event_kind;

/** One event. */
typedef struct eqp_schedule_event {
    eqp_schedule_event_kind kind; /**< what happens */
    int rank;                     /**< to whom */
    eqp_schedule_chunk chunk;     /**< the iterations */
    double seconds;               /**< when: of the others, when it begins to compute */
} eqp_schedule_event;

/** The machine of a simulation. */
typedef struct eqp_schedule_machine {
    const double *speed; /**< [nranks] finite and > 0: an iteration takes cost / speed; NULL: 1 (borrowed) */
    const double *start; /**< [nranks] when each asks first, finite and >= 0; NULL: 0 (borrowed) */
    int64_t nstalls;     /**< >= 0 */
    const eqp_schedule_stall *stall; /**< [nstalls] in any order; they may overlap (borrowed) */
    double overhead;                 /**< seconds that handing out a chunk takes; one is handed out at a time, >= 0 */
    double latency;                  /**< seconds of a message; a chunk takes two, >= 0 */
    bool yield;                      /**< a rank that gets nothing takes half of what the slowest has not begun */
    /** Told of every event in the order of their deciding; NULL: nobody is. */
    void (*event)(void *user, const eqp_schedule_event *event);
    void *user;  /**< handed to `event` (borrowed) */
    bool master; /**< iterations of a rank's own part first, then from the end of the part that most is left of, as by
                    EQP_LOOP_MASTER of more/loops.h; else from the front of what is left */
} eqp_schedule_machine;

/** Initializer: equal ranks that start together, 0.5 microseconds for each chunk and 1 microsecond for a message, as
 * between ranks of one node. */
#define EQP_SCHEDULE_MACHINE_DEFAULTS                                                                                  \
    {                                                                                                                  \
        NULL, NULL, 0, NULL, 5e-7, 1e-6, false, NULL, NULL, false                                                      \
    }

/** What came out of a simulation. */
typedef struct eqp_schedule_outcome {
    int64_t chunks;  /**< handed out, those that were given included */
    int64_t given;   /**< ends of chunks that a rank gave to another */
    double makespan; /**< seconds until the last rank has computed its last iteration */
    double cost;     /**< nranks x makespan: section 4.4.1 of the thesis */
    double mean;     /**< mean over the ranks of when each has computed its last iteration; it counts from 0, and for
                        a rank without any iterations it is 0 */
    double cov;      /**< standard deviation of these (with nranks - 1) / mean: section 4.4.3; 0 for one rank or a mean
                        of 0 */
} eqp_schedule_outcome;

/** Runs a loop in virtual time, with the rules that real ranks use. Two ranks that ask at the same time get their
 * chunks in the order of their numbers. Times are recorded as eqp_schedule_record() wants them, iteration by
 * iteration. Local, deterministic, O(n + chunks log nranks), what the method costs, and O(nranks log n) for each end of
 * a chunk that is given away.
 * \param[in,out] schedule  nothing of it was handed out yet; all of it is afterwards
 * \param[in]     cost      [n] seconds of each iteration at speed 1, finite and >= 0 (borrowed)
 * \param[in]     machine   NULL: the defaults (borrowed)
 * \param[out]    outcome   unchanged on error
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_DATA for a cost out of range or a sum that is not finite, EQP_ERR_STATE for
 * a loop that has begun, EQP_ERR_MEMORY; the loop has not begun after any of these */
int eqp_schedule_simulate(eqp_schedule *schedule, const double *cost, const eqp_schedule_machine *machine,
                          eqp_schedule_outcome *outcome);

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
