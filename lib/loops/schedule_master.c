/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop with a master, on every rank. Ranks request work from rank 0, which also computes. Messages are served between
 * the pieces of a chunk. */
#include "loops/schedule_talk.h"

#include "base/internal.h"

int eqp__loop_give(eqp_loop *loop, int to)
{
    struct eqp__talk *t = loop->talk;
    const int64_t most = eqp__loop_most_given(loop);
    /* Packing the last iteration takes longer than starting it. */
    const int64_t half = (t->end - t->at) / 2;
    eqp__word w = {.kind = EQP__GIFT, .rank = loop->rank, .count = half > most ? most : half};

    t->end -= w.count;
    w.first = t->end;
    EQP__CHECK(eqp__talk_say(loop, to, w));
    return w.count > 0 ? eqp__bundle_send(loop, to, w.first, w.count) : EQP_OK;
}

/* Polls between pieces. Polling takes as long as a short piece, so short pieces share one poll. */
static int listen_between_pieces(eqp_loop *loop)
{
    const double often = 2e-5, now = eqp_wall_seconds();

    if (now - loop->looked < often) {
        return EQP_OK;
    }
    loop->looked = now;
    return eqp__talk_listen(loop);
}

/* Computes a chunk of this rank's part in pieces, between which it may be shortened. */
static int compute_pieces(eqp_loop *loop, eqp_schedule_sample *sample)
{
    struct eqp__talk *t = loop->talk;
    const int64_t grain = eqp__loop_grain(loop, t->answer.count);
    int64_t pieces = 0;
    int code = EQP_OK;

    t->at = t->answer.first;
    t->end = t->at + t->answer.count;
    while (!code && !t->failed && t->at < t->end) {
        const int64_t first = t->at, count = grain < t->end - first ? grain : t->end - first;
        const double begin = eqp__loop_now(loop);
        double seconds;
        t->at += count;
        t->failed = loop->work.compute(loop->work.user, first, count);
        seconds = eqp__loop_now(loop) - begin;
        sample->count += count;
        sample->seconds += seconds;
        sample->squares += seconds * seconds / (double)count;
        pieces++;
        code = listen_between_pieces(loop);
    }
    if (sample->count > 0) {
        sample->squares = eqp__loop_squares(sample->seconds, sample->squares, sample->count, pieces);
    }
    t->at = t->end;
    return code;
}

static int compute_chunk(eqp_loop *loop, double overhead, eqp__word *next)
{
    struct eqp__talk *t = loop->talk;
    const bool own = t->answer.rank == loop->rank;
    eqp_schedule_sample sample = {0, 0.0, 0.0, overhead};
    bool empty = false;
    int code;

    loop->result.chunks++;
    loop->result.taken += t->answer.kind == EQP__GIFT;
    code = own ? compute_pieces(loop, &sample) : eqp__bundle_compute(loop, &sample, &empty);
    if (!code && sample.count > 0) {
        (void)eqp__loop_learn(loop, &sample);
        loop->result.helped += own ? 0 : sample.count;
    }
    *next = (eqp__word){.kind = EQP__REQUEST,
                        .rank = -1,
                        .count = sample.count,
                        .time = {sample.seconds, sample.squares, sample.overhead},
                        .failed = empty || t->failed};
    return code;
}

static void begin(eqp_loop *loop)
{
    struct eqp__talk *t = loop->talk;

    t->answered = false;
    t->failed = EQP_OK;
    t->at = t->end = t->expected = 0;
    t->stage = EQP__QUIET;
    eqp__serve_begin(loop);
}

/* Completes the remaining words, which their receivers poll for. */
static int end(eqp_loop *loop)
{
    struct eqp__talk *t = loop->talk;
    int code = EQP_OK;

    while (!code && (t->expected > 0 || t->nsent > 0 || (loop->rank == 0 && t->here > 0))) {
        code = eqp__talk_listen(loop);
    }
    for (int i = 0; i < t->nslots && !code; i++) {
        code = MPI_Wait(&t->slot[i].request, MPI_STATUS_IGNORE) ? EQP_ERR_MPI : EQP_OK;
    }
    return code;
}

int eqp__loop_ask_master(eqp_loop *loop)
{
    struct eqp__talk *t = loop->talk;
    eqp__word request = {.kind = EQP__REQUEST, .rank = -1};
    int code = EQP_OK;

    begin(loop);
    for (;;) {
        const double asked = eqp__loop_now(loop);
        t->answered = false;
        code = eqp__talk_say(loop, 0, request);
        while (!code && !t->answered) {
            code = eqp__talk_listen(loop);
        }
        if (code || t->answer.kind == EQP__LEAVE) {
            break;
        }
        if (t->answer.count == 0) {
            request = (eqp__word){.kind = EQP__REQUEST, .rank = t->answer.from};
        } else if ((code = compute_chunk(loop, eqp__loop_now(loop) - asked, &request))) {
            break;
        }
    }
    code = code ? code : end(loop);
    return code ? code : t->failed;
}
