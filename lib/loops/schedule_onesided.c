/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks take work themselves: a pool is a counter in rank 0's window, moved by compare-and-swap. A rank proposes a
 * chunk from its view; if the counter has moved, it updates its view and proposes again.
 *
 * With `yield` the end of a rank's chunk is a word in its window, which other ranks shorten in the same way. The start
 * of the chunk is private and computed first; after it the rank takes more from the word, and when most of the word has
 * been stolen, it adds to it. Every change is a compare-and-swap of the whole word, so each iteration has one taker.
 * The word is constant while the rank computes its private part: if one-sided operations are messages, a thief's read
 * and swap are served between different pieces, and would always fail if each piece moved the word. */
#include "loops/schedule_loop.h"

#include "base/internal.h"

#include <math.h>

/* Polling interval in seconds, and its maximum on an idle rank. */
#define SOON 2e-5
#define LATER 1e-3
/* Fraction of its time that a computing rank serves requests, and seconds per poll. */
#define LOOKING (1.0 / 256)
#define LONGEST_LOOK 1e-4

static int swap(eqp_loop *loop, int target, MPI_Aint at, int64_t expected, int64_t wanted, int64_t *found)
{
    EQP__FAIL_IF(MPI_Compare_and_swap(&wanted, &expected, found, MPI_INT64_T, target, at, loop->words) != MPI_SUCCESS ||
                     MPI_Win_flush(target, loop->words) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

/* Atomic for each number, as other ranks may write concurrently. */
static int read_words(eqp_loop *loop, int target, MPI_Aint at, int n, MPI_Datatype type, void *values)
{
    EQP__FAIL_IF(MPI_Get_accumulate(NULL, 0, type, values, n, type, target, at, n, type, MPI_NO_OP, loop->words) !=
                         MPI_SUCCESS ||
                     MPI_Win_flush(target, loop->words) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

static bool learns_from_chunks(const eqp_loop *loop)
{
    const int learns = loop->schedule->method->learns;

    return learns >= EQP_SCHEDULE_LEARNS_CHUNKS ||
           (learns == EQP_SCHEDULE_LEARNS_FIRST && loop->schedule->options.chunk > 0);
}

/* Reads the measurements of all ranks. A share being written may be half old and half new; both halves are valid. */
static int read_shares(eqp_loop *loop)
{
    int code = read_words(loop, 0, eqp__loop_shares_at(loop), loop->nranks * EQP__SHARES, MPI_DOUBLE, loop->share);

    for (int r = 0; r < loop->nranks && !code; r++) {
        eqp__share share;
        for (int i = 0; i < EQP__SHARES; i++) {
            share.of[i] = loop->share[r * EQP__SHARES + i];
        }
        if (r != loop->rank) {
            eqp__schedule_set_share(loop->schedule, r, &share);
        }
    }
    return code;
}

static int write_share(eqp_loop *loop)
{
    const eqp__share share = eqp__schedule_share(loop->schedule, loop->rank);
    const MPI_Aint at = eqp__loop_shares_at(loop) + (MPI_Aint)loop->rank * EQP__SHARES;

    EQP__FAIL_IF(MPI_Accumulate(share.of, EQP__SHARES, MPI_DOUBLE, 0, at, EQP__SHARES, MPI_DOUBLE, MPI_REPLACE,
                                loop->words) != MPI_SUCCESS ||
                     MPI_Win_flush(0, loop->words) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

static int read_pools(eqp_loop *loop)
{
    eqp_schedule *s = loop->schedule;
    int code = read_words(loop, 0, EQP__LOOP_POOLS, s->npools, MPI_INT64_T, loop->pool);

    for (int p = 0; p < s->npools && !code; p++) {
        eqp__schedule_set_next(s, p, loop->pool[p]);
    }
    return code;
}

/* Takes a chunk from a pool. count 0: another rank was faster. */
static int take(eqp_loop *loop, int pool, int64_t count, eqp_schedule_chunk *chunk)
{
    eqp_schedule *s = loop->schedule;
    const int64_t next = s->next[pool];
    int64_t found = next;
    int code = swap(loop, 0, EQP__LOOP_POOLS + pool, next, next + count, &found);

    *chunk = (eqp_schedule_chunk){next, 0};
    if (!code && found == next) {
        eqp__schedule_take(s, loop->rank, pool, next, count);
        chunk->count = count;
    } else if (!code) {
        eqp__schedule_set_next(s, pool, found);
    }
    return code;
}

/* count 0: nothing is left for this rank. */
static int claim(eqp_loop *loop, eqp_schedule_chunk *chunk)
{
    bool looked = false;
    int64_t count;
    int pool, code = learns_from_chunks(loop) ? read_shares(loop) : EQP_OK;

    *chunk = (eqp_schedule_chunk){0, 0};
    while (!code && chunk->count == 0) {
        eqp__schedule_propose(loop->schedule, loop->rank, &pool, &count);
        if (count == 0) {
            break;
        }
        if (loop->schedule->npools > 1 && pool != loop->rank && !looked) {
            /* A helper's view of the pools is out of date. */
            looked = true;
            code = read_pools(loop);
        } else {
            code = take(loop, pool, count, chunk);
        }
    }
    return code;
}

/* A word: the stealable iterations middle to end - 1, and a bit that says if more may follow. */
static int64_t cell_of(int64_t middle, int64_t end, bool more)
{
    return (int64_t)more << 62 | middle << 31 | end;
}

static int64_t middle_of(int64_t cell)
{
    return cell >> 31 & INT32_MAX;
}

static int64_t end_of(int64_t cell)
{
    return cell & INT32_MAX;
}

static bool more_of(int64_t cell)
{
    return cell >> 62;
}

static int64_t size_of(int64_t cell)
{
    return end_of(cell) - middle_of(cell);
}

/* Iterations of this rank's chunk that are not begun: first to middle - 1 are private, middle to end - 1 can be stolen
 * in whole pieces. */
typedef struct rest {
    int64_t first, middle, end;
    int64_t grain; /* iterations of a piece */
} rest;

/* Private part of a rest: a quarter, as thieves take half of what they see and so get nearly half of the rest; at least
 * two pieces, so that the word stays constant for a while. */
static int64_t keep_of(int64_t count, int64_t grain)
{
    const int64_t quarter = count / 4 / grain * grain;

    if (count - grain <= grain) {
        return count < grain ? count : grain;
    }
    return quarter > 2 * grain ? quarter : 2 * grain;
}

/* Publishes the iterations from `middle` on; if the word has changed, adopts the change instead. Other ranks never
 * change an empty word. */
static int show(eqp_loop *loop, rest *r, int64_t middle)
{
    const int64_t wanted = cell_of(middle, r->end, middle - r->first - r->grain > r->grain);
    int64_t found;
    int code = swap(loop, loop->rank, EQP__LOOP_CELL, loop->cell, wanted, &found);

    if (!code && found == loop->cell) {
        loop->cell = wanted;
        r->middle = middle;
    } else if (!code) {
        loop->cell = found;
        r->end = end_of(found);
    }
    return code;
}

/* Starts the next piece. *count 0: the rest has been stolen, and the word says that nothing follows. */
static int begin_piece(eqp_loop *loop, rest *r, int64_t *count)
{
    int code = EQP_OK;

    while (!code && r->first == r->middle && (r->middle < r->end || more_of(loop->cell))) {
        code = show(loop, r, r->first + keep_of(r->end - r->first, r->grain));
    }
    *count = r->middle - r->first < r->grain ? r->middle - r->first : r->grain;
    r->first += *count;
    return code;
}

/* Publishes more of the private part when nearly all of the word has been stolen. */
static int show_more(eqp_loop *loop, rest *r)
{
    const int64_t mine = r->middle - r->first;
    int64_t keep;
    int code = EQP_OK;

    if (mine <= r->grain || (code = read_words(loop, loop->rank, EQP__LOOP_CELL, 1, MPI_INT64_T, &loop->cell))) {
        return code;
    }
    r->end = end_of(loop->cell);
    keep = keep_of(r->end - r->first, r->grain);
    return mine > keep && (r->middle == r->end || mine > 2 * keep) ? show(loop, r, r->first + keep) : EQP_OK;
}

/* After a failure: empties the word, so that no rank steals from it or waits for more. */
static void withdraw(eqp_loop *loop)
{
    int64_t found;

    while (!swap(loop, loop->rank, EQP__LOOP_CELL, loop->cell, 0, &found) && found != loop->cell) {
        loop->cell = found;
    }
    loop->cell = 0;
}

static int let_others_on(eqp_loop *loop, double until)
{
    int flag;

    do {
        EQP__CHECK(EQP__MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, loop->comm, &flag, MPI_STATUS_IGNORE)));
        loop->since = MPI_Wtime();
    } while (loop->since < until);
    return EQP_OK;
}

/* If one-sided operations are messages, they progress only while this rank is in MPI. Polling takes as long as a
 * short chunk, so short pieces share one poll; a long piece leaves time to answer this request and the next. */
static int look_after_others(eqp_loop *loop, rest *r, double now)
{
    double begin;
    int code;

    if ((loop->rank != 0 && !loop->options.yield) || (now >= loop->looked && now - loop->looked < SOON)) {
        return EQP_OK;
    }
    loop->looked = now;
    begin = MPI_Wtime();
    code = let_others_on(loop, begin + fmin(LOOKING * (begin - loop->since), LONGEST_LOOK));
    return code || !loop->options.yield ? code : show_more(loop, r);
}

static int learn(eqp_loop *loop, const eqp_schedule_sample *sample)
{
    return eqp__loop_learn(loop, sample) && learns_from_chunks(loop) ? write_share(loop) : EQP_OK;
}

/* Number of iterations outside this rank's part. */
static int64_t count_helped(const eqp_loop *loop, int64_t first, int64_t end)
{
    const eqp_schedule_chunk part = eqp_loop_part(loop, loop->rank);
    const int64_t from = first > part.first ? first : part.first;
    const int64_t until = end < part.first + part.count ? end : part.first + part.count;

    return end - first - (until > from ? until - from : 0);
}

static int compute_chunk(eqp_loop *loop, eqp_schedule_chunk chunk, double overhead)
{
    const bool yield = loop->options.yield;
    const bool cut = yield || loop->schedule->method->learns == EQP_SCHEDULE_LEARNS_SPREAD;
    const int64_t end = chunk.first + chunk.count;
    rest r = {chunk.first, end, end, chunk.count};
    eqp_schedule_sample sample = {0, 0.0, 0.0, overhead};
    int64_t pieces = 0, count = 0;
    int code = EQP_OK;

    r.grain = cut || loop->options.grain > 0 ? eqp__loop_grain(loop, chunk.count) : chunk.count;
    if (yield && r.grain < chunk.count) {
        code = show(loop, &r, chunk.first + keep_of(chunk.count, r.grain));
    }
    loop->result.chunks++;
    while (!code && !(code = begin_piece(loop, &r, &count)) && count > 0) {
        const double begin = eqp__loop_now(loop);
        double now;
        code = loop->work.compute(loop->work.user, r.first - count, count);
        now = eqp__loop_now(loop);
        code = code ? code : look_after_others(loop, &r, now);
        sample.count += count;
        sample.seconds += now - begin;
        sample.squares += (now - begin) * (now - begin) / (double)count;
        pieces++;
    }
    if (code) {
        withdraw(loop);
        return code;
    }
    sample.squares = eqp__loop_squares(sample.seconds, sample.squares, sample.count, pieces);
    loop->result.helped += count_helped(loop, chunk.first, chunk.first + sample.count);
    return learn(loop, &sample);
}

/* Reads the words of all other ranks. All reads are started at once, as each may take the time of a piece. */
static int read_cells(eqp_loop *loop)
{
    int64_t *cell = loop->cells;

    for (int r = 0; r < loop->nranks; r++) {
        EQP__FAIL_IF(r != loop->rank &&
                         MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &cell[r], 1, MPI_INT64_T, r, EQP__LOOP_CELL, 1,
                                            MPI_INT64_T, MPI_NO_OP, loop->words) != MPI_SUCCESS,
                     EQP_ERR_MPI);
    }
    return MPI_Win_flush_all(loop->words) != MPI_SUCCESS ? EQP_ERR_MPI : EQP_OK;
}

/* The rank with the largest word; -1: all are empty. */
static int find_longest(const eqp_loop *loop, bool *more)
{
    int64_t most = 0;
    int from = -1;

    *more = false;
    for (int r = 1; r < loop->nranks; r++) {
        const int rank = (loop->rank + r) % loop->nranks;
        *more = *more || more_of(loop->cells[rank]);
        if (size_of(loop->cells[rank]) > most) {
            most = size_of(loop->cells[rank]);
            from = rank;
        }
    }
    return from;
}

/* Steals half of a rank's word. If the word has changed, retries with the new one; it can shrink a few times only. */
static int take_shown(eqp_loop *loop, int from, eqp_schedule_chunk *chunk)
{
    int64_t cell = loop->cells[from];
    int code = EQP_OK;

    while (!code && chunk->count == 0 && size_of(cell) > 0) {
        const int64_t count = (size_of(cell) + 1) / 2;
        int64_t found;
        code = swap(loop, from, EQP__LOOP_CELL, cell, cell - count, &found);
        if (!code && found == cell) {
            *chunk = (eqp_schedule_chunk){end_of(cell) - count, count};
        }
        cell = found;
    }
    return code;
}

/* Takes half of a pool that its rank has not started, or half of the largest word. count 0: nothing is left, unless
 * more may follow. */
static int take_from_others(eqp_loop *loop, eqp_schedule_chunk *chunk, bool *more)
{
    eqp_schedule *s = loop->schedule;
    int code = s->left > 0 ? read_pools(loop) : EQP_OK, from = 0;

    *chunk = (eqp_schedule_chunk){0, 0};
    *more = false;
    for (int p = 0; p < s->npools && !code; p++) {
        while (!code && chunk->count == 0 && s->next[p] < s->end[p]) {
            code = take(loop, p, (s->end[p] - s->next[p] + 1) / 2, chunk);
        }
    }
    while (!code && chunk->count == 0 && from >= 0 && !(code = read_cells(loop))) {
        from = find_longest(loop, more);
        if (from >= 0) {
            code = take_shown(loop, from, chunk);
        }
    }
    return code;
}

/* After a failure, makes the ranks stop soon. */
static void empty_pools(eqp_loop *loop)
{
    eqp_schedule *s = loop->schedule;
    eqp_schedule_chunk chunk;
    int code = EQP_OK;

    for (int p = 0; p < s->npools && !code; p++) {
        while (!code && s->next[p] < s->end[p]) {
            code = take(loop, p, s->end[p] - s->next[p], &chunk);
        }
    }
}

int eqp__loop_help_yourselves(eqp_loop *loop)
{
    eqp_schedule_chunk chunk;
    bool helps = false, more = false;
    double pause = SOON;
    int code = EQP_OK;

    loop->since = MPI_Wtime();
    while (!code) {
        const double asked = eqp__loop_now(loop);
        code = helps ? take_from_others(loop, &chunk, &more) : claim(loop, &chunk);
        if (!code && chunk.count > 0) {
            code = compute_chunk(loop, chunk, eqp__loop_now(loop) - asked);
            loop->result.taken += helps;
            pause = SOON;
        } else if (!code && more) {
            /* Requests slow the ranks that compute, so the pauses between them grow. */
            code = let_others_on(loop, MPI_Wtime() + pause);
            pause = fmin(2.0 * pause, LATER);
        } else if (helps || !loop->options.yield) {
            break;
        }
        helps = helps || chunk.count == 0;
    }
    if (code && code != EQP_ERR_MPI) {
        empty_pools(loop);
    }
    return code;
}
