/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks help themselves: a pool is a counter in rank 0's window that a compare-and-swap moves. A rank proposes a chunk
 * from what it knows; if the counter has moved, it learns where it is and proposes again. What is left of a rank's
 * chunk is a word in its own window, which others can make shorter in the same way. */
#include "par/schedule_loop.h"

#include <math.h>

static int swap(eqp_loop *loop, int target, MPI_Aint at, int64_t expected, int64_t wanted, int64_t *found)
{
    if (MPI_Compare_and_swap(&wanted, &expected, found, MPI_INT64_T, target, at, loop->words) != MPI_SUCCESS ||
        MPI_Win_flush(target, loop->words) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    return EQP_OK;
}

/* Atomic number by number, as nothing stops others from writing meanwhile. */
static int read_words(eqp_loop *loop, int target, MPI_Aint at, int n, MPI_Datatype type, void *values)
{
    if (MPI_Get_accumulate(NULL, 0, type, values, n, type, target, at, n, type, MPI_NO_OP, loop->words) !=
            MPI_SUCCESS ||
        MPI_Win_flush(target, loop->words) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    return EQP_OK;
}

static bool learns_from_chunks(const eqp_loop *loop)
{
    const int learns = loop->schedule->method->learns;

    return learns >= EQP_SCHEDULE_LEARNS_CHUNKS ||
           (learns == EQP_SCHEDULE_LEARNS_FIRST && loop->schedule->options.chunk > 0);
}

/* What the others have measured. A share that is being written may be half old, half new: still two speeds of a rank.
 */
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

    if (MPI_Accumulate(share.of, EQP__SHARES, MPI_DOUBLE, 0, at, EQP__SHARES, MPI_DOUBLE, MPI_REPLACE, loop->words) !=
            MPI_SUCCESS ||
        MPI_Win_flush(0, loop->words) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
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

/* Takes from a pool, unless somebody else has taken from it since. Then `chunk` has a count of 0. */
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

/* A count of 0: nothing is left for this rank. */
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
            /* Who helps has not followed what the others did. */
            looked = true;
            code = read_pools(loop);
        } else {
            code = take(loop, pool, count, chunk);
        }
    }
    return code;
}

static int64_t cell_of(int64_t first, int64_t end)
{
    return first << 31 | end;
}

static int64_t first_of(int64_t cell)
{
    return cell >> 31;
}

static int64_t end_of(int64_t cell)
{
    return cell & INT32_MAX;
}

/* Shows others what they may take. Only this rank writes a cell in which nothing is left. */
static int show(eqp_loop *loop, int64_t first, int64_t end)
{
    const int64_t empty = loop->cell;
    int64_t found;
    int code = swap(loop, loop->rank, EQP__LOOP_CELL, empty, cell_of(first, end), &found);

    loop->cell = cell_of(first, end);
    return code ? code : found == empty ? EQP_OK : EQP_ERR_INTERNAL;
}

/* Begins with the next piece of the chunk that is shown: [*first, *end) is what is left of it. *count 0: others have
 * taken all of that. */
static int begin_piece(eqp_loop *loop, int64_t first, int64_t *end, int64_t *count)
{
    for (;;) {
        const int64_t most = *end - first;
        const int64_t now = *count < most ? *count : most;
        int64_t found;
        int code =
            now > 0 ? swap(loop, loop->rank, EQP__LOOP_CELL, loop->cell, cell_of(first + now, *end), &found) : EQP_OK;
        if (code || now == 0 || found == loop->cell) {
            loop->cell = now > 0 ? cell_of(first + now, *end) : loop->cell;
            *count = now;
            return code;
        }
        loop->cell = found;
        *end = end_of(found);
    }
}

/* Where one-sided operations are messages, those of others get on only while this rank is in MPI. A look costs as much
 * as some chunks, so short pieces share one. */
static int let_others_on(eqp_loop *loop, double now)
{
    const double often = 2e-5;
    int flag;

    if ((loop->rank != 0 && !loop->options.yield) || (now >= loop->looked && now - loop->looked < often)) {
        return EQP_OK;
    }
    loop->looked = now;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, loop->comm, &flag, MPI_STATUS_IGNORE) ? EQP_ERR_MPI : EQP_OK;
}

static int learn(eqp_loop *loop, const eqp_schedule_sample *sample)
{
    return eqp__loop_learn(loop, sample) && learns_from_chunks(loop) ? write_share(loop) : EQP_OK;
}

/* How many of consecutive iterations are not in this rank's part. */
static int64_t count_helped(const eqp_loop *loop, int64_t first, int64_t end)
{
    const eqp_schedule_chunk part = eqp_loop_part(loop, loop->rank);
    const int64_t from = first > part.first ? first : part.first;
    const int64_t until = end < part.first + part.count ? end : part.first + part.count;

    return end - first - (until > from ? until - from : 0);
}

static int compute_chunk(eqp_loop *loop, eqp_schedule_chunk chunk, double overhead)
{
    const bool cut = loop->options.yield || loop->schedule->method->learns == EQP_SCHEDULE_LEARNS_SPREAD;
    const int64_t grain = cut || loop->options.grain > 0 ? eqp__loop_grain(loop, chunk.count) : chunk.count;
    eqp_schedule_sample sample = {0, 0.0, 0.0, overhead};
    int64_t first = chunk.first, end = chunk.first + chunk.count, pieces = 0;
    int code = loop->options.yield ? show(loop, first, end) : EQP_OK;

    loop->result.chunks++;
    while (!code && first < end) {
        int64_t count = grain < end - first ? grain : end - first;
        double begin, now;
        if (loop->options.yield && ((code = begin_piece(loop, first, &end, &count)) || count == 0)) {
            break;
        }
        begin = eqp__loop_now(loop);
        code = eqp__loop_compute(loop, first, count);
        now = eqp__loop_now(loop);
        code = code ? code : let_others_on(loop, now);
        sample.count += count;
        sample.seconds += now - begin;
        sample.squares += (now - begin) * (now - begin) / (double)count;
        first += count;
        pieces++;
    }
    if (code || sample.count == 0) {
        return code;
    }
    sample.squares = eqp__loop_squares(sample.seconds, sample.squares, sample.count, pieces);
    loop->result.helped += count_helped(loop, chunk.first, chunk.first + sample.count);
    return learn(loop, &sample);
}

/* The rank that shows the longest rest of a chunk; -1: nobody has any. */
static int find_longest(eqp_loop *loop, int *from, int64_t *cell)
{
    int64_t most = 0, found = 0;
    int code = EQP_OK;

    *from = -1;
    for (int r = 1; r < loop->nranks && !code; r++) {
        const int rank = (loop->rank + r) % loop->nranks;
        code = read_words(loop, rank, EQP__LOOP_CELL, 1, MPI_INT64_T, &found);
        if (!code && end_of(found) - first_of(found) > most) {
            most = end_of(found) - first_of(found);
            *cell = found;
            *from = rank;
        }
    }
    return code;
}

/* Half of what is left of a pool whose rank has not come for it; or half of the longest rest of a chunk. */
static int take_from_others(eqp_loop *loop, eqp_schedule_chunk *chunk)
{
    eqp_schedule *s = loop->schedule;
    int code = read_pools(loop), from = 0;

    *chunk = (eqp_schedule_chunk){0, 0};
    for (int p = 0; p < s->npools && !code; p++) {
        while (!code && chunk->count == 0 && s->next[p] < s->end[p]) {
            code = take(loop, p, (s->end[p] - s->next[p] + 1) / 2, chunk);
        }
    }
    while (!code && chunk->count == 0 && from >= 0) {
        int64_t cell = 0, found, middle;
        if ((code = find_longest(loop, &from, &cell)) || from < 0) {
            break;
        }
        middle = end_of(cell) - (end_of(cell) - first_of(cell) + 1) / 2;
        code = swap(loop, from, EQP__LOOP_CELL, cell, cell_of(first_of(cell), middle), &found);
        if (!code && found == cell) {
            *chunk = (eqp_schedule_chunk){middle, end_of(cell) - middle};
        }
    }
    return code;
}

/* After a failure nobody shall go on for long. */
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
    bool helps = false;
    int code = EQP_OK;

    for (;;) {
        const double asked = eqp__loop_now(loop);
        code = helps ? take_from_others(loop, &chunk) : claim(loop, &chunk);
        if (!code && chunk.count == 0 && loop->options.yield && !helps) {
            helps = true;
            continue;
        }
        if (code || chunk.count == 0 || (code = compute_chunk(loop, chunk, eqp__loop_now(loop) - asked))) {
            break;
        }
        loop->result.taken += helps;
    }
    if (code && code != EQP_ERR_MPI) {
        empty_pools(loop);
    }
    return code;
}
