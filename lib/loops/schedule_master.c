/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop with a master, on every rank. Ranks request work from rank 0, which also computes. A helper gets data from the
 * slowest rank and returns the results to it. Messages are served between the pieces of a chunk. */
#include "loops/schedule_talk.h"

#include "base/internal.h"

/* Sends data of iterations that another rank will compute. This rank's data are sent in place; data in the buffer must
 * be sent before the buffer is reused. */
static int send_data(eqp_loop *loop, int to, const char *data, int64_t count, bool buffered)
{
    const int bytes = (int)(count * (int64_t)loop->options.data_bytes);
    MPI_Request *request = &loop->talk->sending[1];
    eqp__slot *s = NULL;
    int code = EQP_OK;

    if (bytes == 0) {
        return EQP_OK;
    }
    if (!buffered) {
        code = eqp__talk_slot(loop->talk, &s);
        request = code ? NULL : &s->request;
    } else if (MPI_Wait(request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return code                                                                       ? code
           : MPI_Isend(data, bytes, MPI_BYTE, to, EQP__TAG_DATA, loop->comm, request) ? EQP_ERR_MPI
                                                                                      : EQP_OK;
}

static const char *own_data(const eqp_loop *loop, int64_t first)
{
    const int64_t at = first - eqp_loop_part(loop, loop->rank).first;

    return loop->options.data_bytes > 0 ? (const char *)loop->work.data + at * (int64_t)loop->options.data_bytes : NULL;
}

static char *own_result(const eqp_loop *loop, int64_t first)
{
    const int64_t at = first - eqp_loop_part(loop, loop->rank).first;

    return loop->options.result_bytes > 0 ? (char *)loop->work.result + at * (int64_t)loop->options.result_bytes : NULL;
}

static void expect(eqp_loop *loop, int64_t count)
{
    loop->talk->expected += loop->options.result_bytes > 0 ? count : 0;
}

/* Gives half of the iterations not begun, or none. One transfer out of the buffer is in flight at a time. An owner can
 * get its iterations back. */
int eqp__loop_give(eqp_loop *loop, int to)
{
    struct eqp__talk *t = loop->talk;
    const bool buffered = t->owner != loop->rank;
    const int64_t most = eqp__loop_most_given(loop);
    /* Packing the last iteration takes longer than starting it. */
    const int64_t rest = t->end - t->at, half = loop->options.bundles ? rest / 2 : rest - rest / 2;
    eqp__word w = {.kind = EQP__GIFT, .rank = t->owner, .count = half};
    int done = 1, code;

    EQP__FAIL_IF(buffered && MPI_Test(&t->sending[1], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS, EQP_ERR_MPI);
    w.count = !done ? 0 : w.count > most ? most : w.count;
    t->end -= w.count;
    w.first = t->end;
    if (!buffered) {
        expect(loop, w.count);
    }
    if ((code = eqp__talk_say(loop, to, w)) || w.count == 0) {
        return code;
    }
    if (loop->options.bundles) {
        return eqp__bundle_send(loop, to, w.first, w.count);
    }
    return !t->data || to == t->owner
               ? EQP_OK
               : send_data(loop, to, t->data + (w.first - t->first) * (int64_t)loop->options.data_bytes, w.count,
                           buffered);
}

int eqp__loop_yield(eqp_loop *loop, const eqp__word *w)
{
    if (loop->options.bundles) {
        return eqp__bundle_send(loop, w->rank, w->first, w->count);
    }
    expect(loop, w->count);
    return send_data(loop, w->rank, own_data(loop, w->first), w->count, false);
}

int eqp__loop_receive_result(eqp_loop *loop, const eqp__word *w)
{
    const int bytes = (int)(w->count * (int64_t)loop->options.result_bytes);

    loop->talk->expected -= w->count;
    return !w->failed && MPI_Recv(own_result(loop, w->first), bytes, MPI_BYTE, w->from, EQP__TAG_RESULT, loop->comm,
                                  MPI_STATUS_IGNORE) != MPI_SUCCESS
               ? EQP_ERR_MPI
               : EQP_OK;
}

/* Waits until the buffers have been sent and can be reused. */
static int empty_buffers(eqp_loop *loop)
{
    int gone = 0, code = EQP_OK;

    while (!code && !gone) {
        code = MPI_Testall(2, loop->talk->sending, &gone, MPI_STATUSES_IGNORE) ? EQP_ERR_MPI : EQP_OK;
        code = code || gone ? code : eqp__talk_listen(loop);
    }
    return code;
}

static int receive_data(eqp_loop *loop, int from, int64_t count)
{
    const int bytes = (int)(count * (int64_t)loop->options.data_bytes);
    MPI_Request request;
    int there = 0, code = EQP_OK;

    if (bytes == 0) {
        return EQP_OK;
    }
    EQP__CHECK(EQP__MPI(MPI_Irecv(loop->data, bytes, MPI_BYTE, from, EQP__TAG_DATA, loop->comm, &request)));
    while (!code && !there) {
        code = MPI_Test(&request, &there, MPI_STATUS_IGNORE) ? EQP_ERR_MPI : EQP_OK;
        code = code || there ? code : eqp__talk_listen(loop);
    }
    return code;
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

/* Computes the present chunk in pieces, between which it may be shortened. */
static int compute_pieces(eqp_loop *loop, char *result, eqp_schedule_sample *sample)
{
    struct eqp__talk *t = loop->talk;
    const int64_t grain = eqp__loop_grain(loop, t->end - t->at), data_bytes = (int64_t)loop->options.data_bytes;
    int64_t pieces = 0;
    int code = EQP_OK;

    while (!code && !t->failed && t->at < t->end) {
        const int64_t first = t->at, count = grain < t->end - first ? grain : t->end - first;
        const double begin = eqp__loop_now(loop);
        double seconds;
        t->at += count;
        t->failed = loop->work.compute(
            loop->work.user, first, count, t->data ? t->data + (first - t->first) * data_bytes : NULL,
            result ? result + (first - t->first) * (int64_t)loop->options.result_bytes : NULL);
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
    return code;
}

static int return_results(eqp_loop *loop, int owner, int64_t first, int64_t count, int failed)
{
    const int bytes = (int)(count * (int64_t)loop->options.result_bytes);
    int code;

    if (bytes == 0) {
        return EQP_OK;
    }
    code = eqp__talk_say(loop, owner,
                         (eqp__word){.kind = EQP__RESULT, .first = first, .count = count, .failed = failed != EQP_OK});
    if (!code && !failed &&
        MPI_Isend(loop->back, bytes, MPI_BYTE, owner, EQP__TAG_RESULT, loop->comm, &loop->talk->sending[0]) !=
            MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return code;
}

/* Computes the chunk of the answer piece by piece. */
static int compute_divisible(eqp_loop *loop, eqp_schedule_sample *sample)
{
    struct eqp__talk *t = loop->talk;
    const eqp__word a = t->answer;
    const bool own = a.rank == loop->rank;
    char *result = loop->options.result_bytes == 0 ? NULL : own ? own_result(loop, a.first) : loop->back;
    int code = own ? EQP_OK : empty_buffers(loop);

    if (code || (!own && (code = receive_data(loop, a.kind == EQP__GIFT ? a.from : a.rank, a.count)))) {
        return code;
    }
    if (own && a.kind == EQP__GIFT) {
        expect(loop, -a.count);
    }
    t->owner = a.rank;
    t->first = t->at = a.first;
    t->end = a.first + a.count;
    t->data = loop->options.data_bytes == 0 ? NULL : own ? own_data(loop, a.first) : loop->data;
    code = compute_pieces(loop, result, sample);
    if (!code && !own) {
        /* After a failure, results for iterations not begun are reported too, as the owner waits for all that it gave.
         */
        code = return_results(loop, a.rank, a.first, t->end - a.first, t->failed);
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
    code =
        loop->options.bundles && !own ? eqp__bundle_compute(loop, &sample, &empty) : compute_divisible(loop, &sample);
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
    t->data = NULL;
    t->owner = loop->rank;
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
    code = code ? code : empty_buffers(loop);
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
