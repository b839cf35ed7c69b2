/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0 decides, and works as the others do (sections 3.6 and 3.7 of the thesis, see schedule.h). Who needs work asks
 * it. Rank 0 keeps a table of chunks: what of each rank's part nobody has got yet. A rank works on its own part first;
 * then it helps where most is left: the slowest rank yields data, the helper computes and returns the results to it.
 * Everything else that ranks want of each other is looked at between the pieces of a chunk. Nobody waits for a message
 * without looking at the others, so nobody waits for ever. */
#include "par/schedule_loop.h"

#include <stdlib.h>

enum { TAG_WORDS = 1, TAG_DATA = 2, TAG_RESULT = 3 };

/* What ranks say: to rank 0; from it; to whoever yields; between ranks. */
typedef enum word_kind { REQUEST, ASSIGN, LEAVE, YIELD, SPLIT, GIFT, RESULT } word_kind;

typedef struct word {
    int kind;
    int rank;       /* ASSIGN, GIFT: the owner; YIELD, SPLIT: who gets it; REQUEST: who gave nothing, or -1 */
    int64_t first;  /* of the iterations */
    int64_t count;  /* of them; REQUEST: that were computed */
    double time[3]; /* REQUEST: seconds, squares, overhead */
    int failed;     /* REQUEST: it cannot go on; RESULT: there is none */
    int from;       /* who says it */
} word;

typedef struct slot {
    MPI_Request request;
    word word;
} slot;

/* A row of rank 0's table. */
typedef struct row {
    int64_t next, end; /* of its part, what nobody has got yet */
    int64_t count;     /* of its present chunk, as far as rank 0 knows */
    bool empty;        /* of that chunk nothing is left to give */
} row;

struct eqp__talk {
    int nslots;
    slot *slot; /* [nslots] words that are on their way */
    row *row;   /* [nranks] on rank 0 */
    int here;   /* ranks that have not been told to leave, on rank 0 */
    bool stop;  /* somebody failed */
    word answer;
    bool answered;
    int owner;              /* of the present chunk */
    int64_t at, end;        /* what of it is not begun */
    int64_t first;          /* of the chunk: where its data begin */
    const char *data;       /* of the present chunk, or NULL */
    int64_t expected;       /* results of this rank's iterations that are still to come */
    MPI_Request sending[2]; /* results, and data that were given on, out of the buffers */
};

int eqp__loop_talk_create(const eqp_loop *loop, struct eqp__talk **talk)
{
    struct eqp__talk *t = NULL;
    int code = eqp_array_create(&t, 1, sizeof *t);

    if (code) {
        return code;
    }
    t->nslots = 4 * loop->nranks + 16;
    t->sending[0] = t->sending[1] = MPI_REQUEST_NULL;
    code = eqp_array_create(&t->slot, t->nslots, sizeof *t->slot);
    code = code ? code : eqp_array_create(&t->row, loop->rank == 0 ? loop->nranks : 0, sizeof *t->row);
    if (code) {
        eqp__loop_talk_free(t);
        return code;
    }
    for (int i = 0; i < t->nslots; i++) {
        t->slot[i].request = MPI_REQUEST_NULL;
    }
    *talk = t;
    return EQP_OK;
}

void eqp__loop_talk_free(struct eqp__talk *talk)
{
    if (talk) {
        free(talk->slot);
        free(talk->row);
        free(talk);
    }
}

static int handle(eqp_loop *loop, const word *w);

/* A place for a message that is on its way. They are small and few; MPI only has to get on with them. */
static int find_slot(struct eqp__talk *t, slot **found)
{
    for (;;) {
        for (int i = 0; i < t->nslots; i++) {
            int free_again;
            if (MPI_Test(&t->slot[i].request, &free_again, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
                return EQP_ERR_MPI;
            }
            if (free_again) {
                *found = &t->slot[i];
                return EQP_OK;
            }
        }
    }
}

static int say(eqp_loop *loop, int to, word w)
{
    slot *s;
    int code;

    w.from = loop->rank;
    if (to == loop->rank) {
        return handle(loop, &w);
    }
    if ((code = find_slot(loop->talk, &s))) {
        return code;
    }
    s->word = w;
    return MPI_Isend(&s->word, (int)sizeof s->word, MPI_BYTE, to, TAG_WORDS, loop->comm, &s->request) ? EQP_ERR_MPI
                                                                                                      : EQP_OK;
}

/* --- rank 0 --- */

/* Whose part most is left of; its own first. */
static int find_source(const eqp_loop *loop, int rank)
{
    const row *r = loop->talk->row;
    int best = rank;

    for (int k = 0; k < loop->nranks && r[rank].next == r[rank].end; k++) {
        best = r[k].end - r[k].next > r[best].end - r[best].next ? k : best;
    }
    return best;
}

/* Whose chunk is longest, of those that have something to give; -1: nobody's. */
static int find_longest(const eqp_loop *loop, int rank)
{
    const row *r = loop->talk->row;
    int best = -1;

    for (int k = 0; k < loop->nranks && loop->options.yield; k++) {
        if (k != rank && r[k].count > 1 && !r[k].empty && (best < 0 || r[k].count > r[best].count)) {
            best = k;
        }
    }
    return best;
}

static int hand_chunk(eqp_loop *loop, int rank, int pool, int64_t count)
{
    const bool travels = loop->options.data_bytes > 0 || loop->options.result_bytes > 0;
    const int source = find_source(loop, rank);
    row *part = &loop->talk->row[source];
    word w = {.kind = ASSIGN, .rank = source};
    int code = EQP_OK;

    w.count = count < part->end - part->next ? count : part->end - part->next;
    w.count = source != rank && travels && w.count > loop->piece ? loop->piece : w.count;
    eqp__schedule_take(loop->schedule, rank, pool, loop->schedule->next[pool], w.count);
    if (source == rank) {
        w.first = part->next;
        part->next += w.count;
    } else {
        part->end -= w.count;
        w.first = part->end;
    }
    loop->talk->row[rank].count = w.count;
    if (source != rank && travels) {
        code = say(loop, source, (word){.kind = YIELD, .rank = rank, .first = w.first, .count = w.count});
    }
    return code ? code : say(loop, rank, w);
}

/* Somebody has nothing to do. */
static int serve(eqp_loop *loop, const word *w)
{
    struct eqp__talk *t = loop->talk;
    const eqp_schedule_sample sample = {w->count, w->time[0], w->time[1], w->time[2]};
    int64_t count = 0;
    int pool = 0, longest;

    t->stop = t->stop || w->failed;
    t->row[w->from].count = 0;
    t->row[w->from].empty = false;
    if (w->rank >= 0) {
        t->row[w->rank].empty = true;
    }
    if (w->from != loop->rank && w->count > 0) {
        (void)eqp_schedule_record(loop->schedule, w->from, &sample);
    }
    if (!t->stop) {
        eqp__schedule_propose(loop->schedule, w->from, &pool, &count);
    }
    if (count > 0) {
        return hand_chunk(loop, w->from, pool, count);
    }
    longest = t->stop ? -1 : find_longest(loop, w->from);
    if (longest >= 0) {
        t->row[w->from].count = t->row[longest].count / 2;
        t->row[longest].count -= t->row[w->from].count;
        return say(loop, longest, (word){.kind = SPLIT, .rank = w->from});
    }
    t->here--;
    return say(loop, w->from, (word){.kind = LEAVE});
}

/* --- every rank --- */

/* Data of iterations that somebody else will compute. Those of this rank stay where they are; those in the buffer have
 * to be sent before it is used again. */
static int send_data(eqp_loop *loop, int to, const char *data, int64_t count, bool buffered)
{
    const int bytes = (int)(count * (int64_t)loop->options.data_bytes);
    MPI_Request *request = &loop->talk->sending[1];
    slot *s = NULL;
    int code = EQP_OK;

    if (bytes == 0) {
        return EQP_OK;
    }
    if (!buffered) {
        code = find_slot(loop->talk, &s);
        request = code ? NULL : &s->request;
    } else if (MPI_Wait(request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return code ? code : MPI_Isend(data, bytes, MPI_BYTE, to, TAG_DATA, loop->comm, request) ? EQP_ERR_MPI : EQP_OK;
}

static const char *own_data(const eqp_loop *loop, int64_t first)
{
    const int64_t at = first - eqp__loop_part(loop, loop->rank).first;

    return loop->options.data_bytes > 0 ? (const char *)loop->work.data + at * (int64_t)loop->options.data_bytes : NULL;
}

static char *own_result(const eqp_loop *loop, int64_t first)
{
    const int64_t at = first - eqp__loop_part(loop, loop->rank).first;

    return loop->options.result_bytes > 0 ? (char *)loop->work.result + at * (int64_t)loop->options.result_bytes : NULL;
}

static void expect(eqp_loop *loop, int64_t count)
{
    loop->talk->expected += loop->options.result_bytes > 0 ? count : 0;
}

/* Half of what this rank has not begun, or nothing. Data out of the buffer go one at a time. An owner can get its own
 * iterations back. */
static int give(eqp_loop *loop, int to)
{
    struct eqp__talk *t = loop->talk;
    const bool buffered = t->owner != loop->rank, travels = loop->options.data_bytes + loop->options.result_bytes > 0;
    word w = {.kind = GIFT, .rank = t->owner, .count = (t->end - t->at + 1) / 2};
    int busy = 0, done = 1, code;

    if (buffered && MPI_Test(&t->sending[1], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    busy = !done;
    w.count = busy ? 0 : travels && w.count > loop->piece ? loop->piece : w.count;
    t->end -= w.count;
    w.first = t->end;
    if (!buffered) {
        expect(loop, w.count);
    }
    if ((code = say(loop, to, w)) || w.count == 0 || !t->data || to == t->owner) {
        return code;
    }
    return send_data(loop, to, t->data + (w.first - t->first) * (int64_t)loop->options.data_bytes, w.count, buffered);
}

static int receive_result(eqp_loop *loop, const word *w)
{
    const int bytes = (int)(w->count * (int64_t)loop->options.result_bytes);

    loop->talk->expected -= w->count;
    return !w->failed && MPI_Recv(own_result(loop, w->first), bytes, MPI_BYTE, w->from, TAG_RESULT, loop->comm,
                                  MPI_STATUS_IGNORE) != MPI_SUCCESS
               ? EQP_ERR_MPI
               : EQP_OK;
}

static int handle(eqp_loop *loop, const word *w)
{
    switch (w->kind) {
    case REQUEST:
        return serve(loop, w);
    case YIELD:
        expect(loop, w->count);
        return send_data(loop, w->rank, own_data(loop, w->first), w->count, false);
    case SPLIT:
        return give(loop, w->rank);
    case RESULT:
        return receive_result(loop, w);
    default:
        loop->talk->answer = *w;
        loop->talk->answered = true;
        return EQP_OK;
    }
}

/* Everything that has come. */
static int listen(eqp_loop *loop)
{
    for (;;) {
        MPI_Status status;
        word w;
        int there, code;
        if (MPI_Iprobe(MPI_ANY_SOURCE, TAG_WORDS, loop->comm, &there, &status) != MPI_SUCCESS) {
            return EQP_ERR_MPI;
        }
        if (!there) {
            return EQP_OK;
        }
        if (MPI_Recv(&w, (int)sizeof w, MPI_BYTE, status.MPI_SOURCE, TAG_WORDS, loop->comm, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS) {
            return EQP_ERR_MPI;
        }
        if ((code = handle(loop, &w))) {
            return code;
        }
    }
}

/* The buffers can be used again when what was sent out of them is gone. */
static int empty_buffers(eqp_loop *loop)
{
    int gone = 0, code = EQP_OK;

    while (!code && !gone) {
        code = MPI_Testall(2, loop->talk->sending, &gone, MPI_STATUSES_IGNORE) ? EQP_ERR_MPI : EQP_OK;
        code = code || gone ? code : listen(loop);
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
    if (MPI_Irecv(loop->data, bytes, MPI_BYTE, from, TAG_DATA, loop->comm, &request) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    while (!code && !there) {
        code = MPI_Test(&request, &there, MPI_STATUS_IGNORE) ? EQP_ERR_MPI : EQP_OK;
        code = code || there ? code : listen(loop);
    }
    return code;
}

/* The pieces of the present chunk, between which others may shorten it. *failed: what `compute` returned. */
static int compute_pieces(eqp_loop *loop, char *result, eqp_schedule_sample *sample, int *failed)
{
    struct eqp__talk *t = loop->talk;
    const int64_t grain = eqp__loop_grain(loop, t->end - t->at), data_bytes = (int64_t)loop->options.data_bytes;
    int64_t pieces = 0;
    int code = EQP_OK;

    while (!code && !*failed && t->at < t->end) {
        const int64_t first = t->at, count = grain < t->end - first ? grain : t->end - first;
        const double begin = eqp__loop_now(loop);
        double seconds;
        t->at += count;
        *failed = loop->work.compute(loop->work.user, first, count,
                                     t->data ? t->data + (first - t->first) * data_bytes : NULL,
                                     result ? result + (first - t->first) * (int64_t)loop->options.result_bytes : NULL);
        seconds = eqp__loop_now(loop) - begin;
        sample->count += count;
        sample->seconds += seconds;
        sample->squares += seconds * seconds / (double)count;
        pieces++;
        code = listen(loop);
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
    code = say(loop, owner, (word){.kind = RESULT, .first = first, .count = count, .failed = failed != EQP_OK});
    if (!code && !failed &&
        MPI_Isend(loop->back, bytes, MPI_BYTE, owner, TAG_RESULT, loop->comm, &loop->talk->sending[0]) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return code;
}

/* The chunk of the answer. */
static int compute_chunk(eqp_loop *loop, double overhead, word *next, int *failed)
{
    struct eqp__talk *t = loop->talk;
    const word a = t->answer;
    const bool own = a.rank == loop->rank;
    eqp_schedule_sample sample = {0, 0.0, 0.0, overhead};
    int code = own ? EQP_OK : empty_buffers(loop);

    if (code || (!own && (code = receive_data(loop, a.kind == GIFT ? a.from : a.rank, a.count)))) {
        return code;
    }
    if (own && a.kind == GIFT) {
        expect(loop, -a.count);
    }
    t->owner = a.rank;
    t->first = t->at = a.first;
    t->end = a.first + a.count;
    t->data = loop->options.data_bytes == 0 ? NULL : own ? own_data(loop, a.first) : loop->data;
    loop->result.chunks++;
    loop->result.taken += a.kind == GIFT;
    code = compute_pieces(loop,
                          loop->options.result_bytes == 0 ? NULL
                          : own                           ? own_result(loop, a.first)
                                                          : (char *)loop->back,
                          &sample, failed);
    if (!code && !own) {
        /* After a failure also for what was not begun: the owner waits for as many as it has given. */
        code = return_results(loop, a.rank, a.first, t->end - a.first, *failed);
    }
    t->at = t->end;
    if (!code && sample.count > 0) {
        (void)eqp__loop_learn(loop, &sample);
    }
    *next = (word){.kind = REQUEST,
                   .rank = -1,
                   .count = sample.count,
                   .time = {sample.seconds, sample.squares, sample.overhead},
                   .failed = *failed != EQP_OK};
    return code;
}

static void begin(eqp_loop *loop)
{
    struct eqp__talk *t = loop->talk;

    t->here = loop->nranks;
    t->stop = t->answered = false;
    t->at = t->end = t->expected = 0;
    t->data = NULL;
    t->owner = loop->rank;
    for (int r = 0; r < loop->nranks && loop->rank == 0; r++) {
        const eqp_schedule_chunk part = eqp__loop_part(loop, r);
        t->row[r] = (row){part.first, part.first + part.count, 0, false};
    }
}

/* Words that nobody waits for any more are on their way to ranks that listen until they have them. */
static int end(eqp_loop *loop)
{
    struct eqp__talk *t = loop->talk;
    int code = EQP_OK;

    while (!code && (t->expected > 0 || (loop->rank == 0 && t->here > 0))) {
        code = listen(loop);
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
    word request = {.kind = REQUEST, .rank = -1};
    int failed = EQP_OK, code = EQP_OK;

    begin(loop);
    for (;;) {
        const double asked = eqp__loop_now(loop);
        t->answered = false;
        code = say(loop, 0, request);
        while (!code && !t->answered) {
            code = listen(loop);
        }
        if (code || t->answer.kind == LEAVE) {
            break;
        }
        if (t->answer.count == 0) {
            request = (word){.kind = REQUEST, .rank = t->answer.from};
        } else if ((code = compute_chunk(loop, eqp__loop_now(loop) - asked, &request, &failed))) {
            break;
        }
    }
    code = code ? code : end(loop);
    return code ? code : failed;
}
