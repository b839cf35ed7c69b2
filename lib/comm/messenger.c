/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages to partners that mostly stay the same from exchange to exchange. Each rank remembers the ranks to which it
 * sends and from which it receives. A partner gets a message in every exchange, possibly an empty one, and can post its
 * receive without asking. Messages to new partners travel by nonblocking consensus (T. Hoefler, C. Siebert,
 * A. Lumsdaine: Scalable communication protocols for dynamic sparse data exchange, PPoPP 2010): a rank enters a
 * nonblocking allreduce once its synchronous sends are complete, and when the allreduce completes no message can still
 * arrive. The allreduce also carries the ranks' codes.
 *
 * Messages are cut into pieces of bounded size, so that a rank without memory can receive and drop them. */
#include "comm/messenger.h"

#include "base/internal.h"
#include "comm/agree.h"

#include <limits.h>

/* Tags of a messenger: first pieces from partners, later pieces, and first pieces from new partners. The last tag
 * alternates between two values, as a rank may begin the next exchange while another still listens in this one. */
enum { FIRST, REST, NEW };

enum { PIECE = 1 << 18 };

/* After this many empty messages in a row a partner is dropped. */
enum { PATIENCE = 2 };

typedef struct head {
    int64_t bytes; /* that follow the header */
    int32_t code;  /* of the sender */
    int32_t last;  /* 1: the sender drops the receiver as a partner */
} head;

typedef struct buffer {
    char *data;
    int64_t n, capacity;
} buffer;

typedef enum progress { WAITS, COMES, IS_THERE } progress;

typedef struct partner {
    buffer out, in;     /* with their heads */
    head came;          /* header of the received message */
    progress progress;  /* of the message from this rank */
    int64_t at;         /* bytes received so far */
    MPI_Request coming; /* the next piece */
    bool told;          /* it expects messages from this rank */
    bool lost;          /* its message was dropped because memory ran out */
    int idle;           /* consecutive exchanges without data for it */
} partner;

typedef enum phase { OPEN, SENT, ANSWERED } phase;

struct eqp_messenger {
    MPI_Comm comm, own; /* own: MPI_COMM_NULL where comm is borrowed */
    int tag;            /* the first of EQP__MESSENGER_TAGS */
    bool watched;       /* messages count for eqp_traffic_watch() */
    int rank, nranks;
    phase state;
    partner *partner;      /* [nranks] */
    int nto, nfrom, nsent; /* partners; ranks that get data in this exchange */
    int *to, *from, *sent; /* [nranks] each */
    int nawaited;          /* of this exchange */
    int *awaited;          /* [nranks] */
    int code, alone;       /* code: this rank's code when it sent; alone: failure to store received messages */
    head failure;          /* message of a failed rank: a header only */
    char *sink;            /* [PIECE] */
    eqp_route_counts counts;
    int64_t nexpected, nrequests, capacity; /* requests of messages to partners come first */
    MPI_Request *request;
    int turn;                       /* 0 or 1 */
    int nleast;                     /* numbers in the agreement */
    int64_t least[EQP__AGREE_MOST]; /* of this rank */
    bool agreeing;                  /* the agreement has begun */
    eqp__agreement agreement;
    eqp_messages_view came;
    int *rank_of;
    int64_t *bytes_of;
    const void **data_of; /* [nranks] each */
};

int eqp__messenger_open(MPI_Comm comm, int tag, bool watched, eqp_messenger **messenger)
{
    eqp_messenger *m = NULL;
    int code, n;

    EQP_TRY(eqp_array_create(&m, 1, sizeof *m));
    m->own = MPI_COMM_NULL;
    EQP_TRY(eqp__comm_shape(comm, &m->rank, &n));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(m->partner, n), EQP__ARRAY(m->to, n), EQP__ARRAY(m->from, n), EQP__ARRAY(m->sent, n),
                        EQP__ARRAY(m->awaited, n), EQP__ARRAY(m->rank_of, n), EQP__ARRAY(m->bytes_of, n),
                        EQP__ARRAY(m->data_of, n), {&m->sink, PIECE, 1}));
    EQP_TRY(eqp_array_reserve(&m->request, &m->capacity, n, sizeof *m->request)); /* a header for every rank */
    m->comm = comm;
    m->tag = tag;
    m->watched = watched;
    m->nranks = n;
    *messenger = m;
    m = NULL;
done:
    eqp_messenger_free(m);
    return code;
}

int eqp_messenger_create(MPI_Comm comm, eqp_messenger **messenger)
{
    eqp_messenger *made = NULL;
    MPI_Comm own = MPI_COMM_NULL;
    int code;

    EQP__CHECK(eqp_comm_create(comm, &own));
    code = messenger ? eqp__messenger_open(own, 0, true, &made) : EQP_ERR_ARGUMENT;
    if ((code = eqp_agree(own, code, NULL))) {
        eqp_messenger_free(made);
        eqp_comm_free(&own);
        return code;
    }
    made->own = own;
    *messenger = made;
    return EQP_OK;
}

void eqp_messenger_free(eqp_messenger *messenger)
{
    eqp_messenger *const m = messenger;

    if (!m) {
        return;
    }
    if (m->state != OPEN) {
        (void)eqp_messenger_finish(m);
    }
    for (int r = 0; m->partner && r < m->nranks; r++) {
        EQP__FREE(m->partner[r].out.data, m->partner[r].in.data);
    }
    EQP__FREE(m->partner, m->to, m->from, m->sent, m->awaited, m->rank_of, m->bytes_of, m->data_of, m->sink,
              m->request);
    eqp_comm_free(&m->own);
    free(m);
}

static void trim(buffer *b, int64_t most)
{
    if (b->capacity > most) {
        free(b->data);
        *b = (buffer){.data = NULL};
    }
}

void eqp__messenger_trim(eqp_messenger *m, int64_t most)
{
    m->came = (eqp_messages_view){.n = 0};
    for (int i = 0; i < m->nto; i++) {
        trim(&m->partner[m->to[i]].out, most);
    }
    for (int i = 0; i < m->nfrom; i++) {
        trim(&m->partner[m->from[i]].in, most);
    }
}

static bool is_other(const eqp_messenger *m, int rank)
{
    return rank >= 0 && rank < m->nranks && rank != m->rank;
}

/* Keeps the contents if memory runs out. */
static int reserve(buffer *b, int64_t n)
{
    return eqp_array_reserve(&b->data, &b->capacity, n, 1);
}

int eqp_messenger_put(eqp_messenger *messenger, int to, int64_t bytes, void *room)
{
    eqp_messenger *const m = messenger;

    EQP__FAIL_IF(!m || !is_other(m, to) || bytes < 0 || !room, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(m->state != OPEN, EQP_ERR_STATE);
    buffer *b = &m->partner[to].out;
    const int64_t old = b->n > 0 ? b->n : (int64_t)sizeof(head);
    EQP__FAIL_IF(bytes > INT64_MAX / 4 - old, EQP_ERR_OVERFLOW);
    const int code = reserve(b, old + bytes);
    EQP__CHECK(code);
    if (b->n == 0) {
        m->sent[m->nsent++] = to;
    }
    b->n = old + bytes;
    char *at = b->data + old;
    memcpy(room, &at, sizeof at);
    return EQP_OK;
}

/* ---- sending ---- */

/* Makes room for the requests of all pieces, and for the header to each of n partners. */
static int make_room(eqp_messenger *m, int n, const int *to)
{
    int64_t pieces = m->nranks;
    int code = EQP_OK;

    for (int i = 0; i < m->nsent; i++) {
        pieces += (m->partner[m->sent[i]].out.n + PIECE - 1) / PIECE;
    }
    for (int i = 0; i < n && !code; i++) {
        code = reserve(&m->partner[to[i]].out, sizeof(head));
    }
    code = code ? code : pieces > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK;
    return code ? code : eqp_array_reserve(&m->request, &m->capacity, pieces, sizeof *m->request);
}

/* Posts a message; it is a header only if there are no data or this rank has failed. */
static int post(eqp_messenger *m, int to, int tag, bool told_when_taken, bool last)
{
    buffer *b = &m->partner[to].out;
    const int64_t n = m->code || b->n == 0 ? (int64_t)sizeof(head) : b->n;
    const head h = {n - (int64_t)sizeof h, EQP_OK, last};
    char *data = m->code ? (char *)&m->failure : b->data;

    if (!m->code) {
        memcpy(data, &h, sizeof h);
        m->counts.messages_sent += h.bytes > 0;
        m->counts.bytes_sent += h.bytes;
        if (m->watched) {
            eqp__traffic_add(m->comm, to, h.bytes);
        }
    }
    for (int64_t at = 0; at < n; at += PIECE, m->nrequests++) {
        const int piece = n - at < PIECE ? (int)(n - at) : PIECE, this_tag = m->tag + (at == 0 ? tag : REST);
        const bool synchronous = at == 0 && told_when_taken;
        EQP__CHECK(EQP__MPI((synchronous ? MPI_Issend : MPI_Isend)(data + at, piece, MPI_BYTE, to, this_tag, m->comm,
                                                                   &m->request[m->nrequests])));
    }
    return EQP_OK;
}

static void await(eqp_messenger *m, int n, const int *from)
{
    for (int i = 0; i < n; i++) {
        partner *p = &m->partner[from[i]];
        m->awaited[m->nawaited++] = from[i];
        p->progress = WAITS;
        p->lost = false;
        p->at = 0;
    }
}

static void begin(eqp_messenger *m, phase next, int code, int nto, const int *to, int nfrom, const int *from)
{
    m->state = next;
    m->code = code > 0 ? EQP_ERR_ARGUMENT : code;
    m->code = m->code ? m->code : make_room(m, nto, to);
    m->failure = (head){.code = m->code};
    m->alone = EQP_OK;
    m->nawaited = 0;
    m->nrequests = 0;
    m->came = (eqp_messages_view){.n = 0};
    m->counts = (eqp_route_counts){0};
    await(m, nfrom, from);
}

/* Ends the exchange after a failure of MPI. */
static int give_up(eqp_messenger *m)
{
    m->state = OPEN;
    return EQP_ERR_MPI;
}

static int post_unexpected(eqp_messenger *m)
{
    for (int i = 0; i < m->nsent && !m->code; i++) {
        partner *p = &m->partner[m->sent[i]];
        if (!p->told) {
            p->told = true;
            p->idle = 0;
            m->to[m->nto++] = m->sent[i];
            EQP__FAIL_IF(post(m, m->sent[i], NEW + m->turn, true, false), EQP_ERR_MPI);
        }
    }
    return EQP_OK;
}

/* Begins the agreement if all messages to new partners have been received. */
static int agree(eqp_messenger *m)
{
    int through = 1;

    if (m->agreeing) {
        return EQP_OK;
    }
    EQP__CHECK(EQP__MPI(
        MPI_Testall((int)(m->nrequests - m->nexpected), m->request + m->nexpected, &through, MPI_STATUSES_IGNORE)));
    m->agreeing = through != 0;
    return through ? eqp__agree_begin(m->comm, m->code, m->nleast, m->least, &m->agreement) : EQP_OK;
}

static int begin_send(eqp_messenger *m, int code, int nleast, const int64_t *least)
{
    begin(m, SENT, code, m->nto, m->to, m->nfrom, m->from);
    m->turn = !m->turn;
    m->agreeing = false;
    m->nleast = nleast;
    for (int k = 0; k < nleast; k++) {
        m->least[k] = least[k];
    }
    for (int i = 0; i < m->nto; i++) {
        partner *p = &m->partner[m->to[i]];
        p->idle = m->code ? 0 : p->out.n > 0 ? 0 : p->idle + 1;
        EQP__FAIL_IF(post(m, m->to[i], FIRST, false, p->idle >= PATIENCE), give_up(m));
    }
    m->nexpected = m->nrequests;
    return post_unexpected(m) || agree(m) ? give_up(m) : EQP_OK;
}

int eqp_messenger_send(eqp_messenger *messenger, int code)
{
    EQP__FAIL_IF(!messenger, EQP_ERR_ARGUMENT);
    return messenger->state == OPEN ? begin_send(messenger, code, 0, NULL) : EQP_ERR_STATE;
}

/* True if the list ascends and does not contain this rank. */
static bool are_others(const eqp_messenger *m, int n, const int *rank)
{
    bool right = n == 0 || (n > 0 && rank);

    for (int i = 0; right && i < n; i++) {
        right = is_other(m, rank[i]) && (i == 0 || rank[i] > rank[i - 1]);
    }
    return right;
}

int eqp_messenger_answer(eqp_messenger *messenger, int code, int nto, const int *to, int nfrom, const int *from)
{
    eqp_messenger *const m = messenger;
    int expected = 0;

    EQP__FAIL_IF(!m || !are_others(m, nto, to) || !are_others(m, nfrom, from), EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(m->state != OPEN, EQP_ERR_STATE);
    for (int i = 0; i < nto; i++) {
        expected += m->partner[to[i]].out.n > 0;
    }
    begin(m, ANSWERED, expected < m->nsent && !code ? EQP_ERR_ARGUMENT : code, nto, to, nfrom, from);
    for (int i = 0; i < nto; i++) {
        EQP__FAIL_IF(post(m, to[i], FIRST, false, false), give_up(m));
    }
    return EQP_OK;
}

/* ---- receiving ---- */

/* Accounts for a piece that has arrived; `data` is the beginning of the message. */
static void take_piece(partner *p, const char *data, int piece)
{
    if (p->at == 0) {
        memcpy(&p->came, data, sizeof p->came);
        p->in.n = (int64_t)sizeof(head) + p->came.bytes;
    }
    p->at += piece;
    p->progress = p->at == p->in.n ? IS_THERE : COMES;
}

/* Receives the rest of a message and drops it. first: its first piece, or MPI_MESSAGE_NULL */
static int throw_away(eqp_messenger *m, int from, MPI_Message *first, int piece)
{
    partner *p = &m->partner[from];

    p->lost = true;
    m->alone = EQP_ERR_MEMORY;
    if (*first != MPI_MESSAGE_NULL) {
        EQP__CHECK(EQP__MPI(MPI_Mrecv(m->sink, piece, MPI_BYTE, first, MPI_STATUS_IGNORE)));
        take_piece(p, m->sink, piece);
    }
    while (p->progress != IS_THERE) {
        piece = p->in.n - p->at < PIECE ? (int)(p->in.n - p->at) : PIECE;
        EQP__CHECK(EQP__MPI(MPI_Recv(m->sink, piece, MPI_BYTE, from, m->tag + REST, m->comm, MPI_STATUS_IGNORE)));
        take_piece(p, m->sink, piece);
    }
    return EQP_OK;
}

/* Posts the receive of the first piece, which a probe has found. */
static int take_first(eqp_messenger *m, int from, MPI_Message *first, const MPI_Status *status)
{
    partner *p = &m->partner[from];
    int piece = 0;

    EQP__CHECK(EQP__MPI(MPI_Get_count(status, MPI_BYTE, &piece)));
    if (reserve(&p->in, piece)) {
        return throw_away(m, from, first, piece);
    }
    p->in.n = piece; /* until the header is known */
    p->progress = COMES;
    return EQP__MPI(MPI_Imrecv(p->in.data, piece, MPI_BYTE, first, &p->coming));
}

/* Posts the receive of the piece after the one that has arrived. */
static int take_next(eqp_messenger *m, int from)
{
    partner *p = &m->partner[from];
    MPI_Message none = MPI_MESSAGE_NULL;
    const int64_t left = p->in.n - p->at;

    take_piece(p, p->in.data, left < PIECE ? (int)left : PIECE);
    if (p->progress == IS_THERE) {
        return EQP_OK;
    }
    if (reserve(&p->in, p->in.n)) {
        return throw_away(m, from, &none, 0);
    }
    const int piece = p->in.n - p->at < PIECE ? (int)(p->in.n - p->at) : PIECE;
    return EQP__MPI(MPI_Irecv(p->in.data + p->at, piece, MPI_BYTE, from, m->tag + REST, m->comm, &p->coming));
}

/* Receives the pieces of a rank's message that have arrived, or waits for all of them. */
static int receive(eqp_messenger *m, int from, bool wait)
{
    partner *p = &m->partner[from];
    MPI_Message first = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = 1;

    if (p->progress == WAITS) {
        EQP__FAIL_IF((wait ? MPI_Mprobe(from, m->tag + FIRST, m->comm, &first, &status)
                           : MPI_Improbe(from, m->tag + FIRST, m->comm, &flag, &first, &status)) != MPI_SUCCESS ||
                         (flag && take_first(m, from, &first, &status)),
                     EQP_ERR_MPI);
    }
    while (p->progress == COMES && flag) {
        EQP__FAIL_IF((wait ? MPI_Wait(&p->coming, MPI_STATUS_IGNORE)
                           : MPI_Test(&p->coming, &flag, MPI_STATUS_IGNORE)) != MPI_SUCCESS ||
                         (flag && take_next(m, from)),
                     EQP_ERR_MPI);
    }
    return EQP_OK;
}

/* Receives a message from a new partner if one has arrived. */
static int take_unexpected(eqp_messenger *m)
{
    MPI_Message first = MPI_MESSAGE_NULL;
    MPI_Status status;
    int flag = 0;

    EQP__CHECK(EQP__MPI(MPI_Improbe(MPI_ANY_SOURCE, m->tag + NEW + m->turn, m->comm, &flag, &first, &status)));
    if (!flag) {
        return EQP_OK;
    }
    const int from = status.MPI_SOURCE;
    await(m, 1, &from);
    m->from[m->nfrom++] = from;
    return take_first(m, from, &first, &status);
}

/* *done: no message can still arrive. */
static int listen(eqp_messenger *m, int *done)
{
    *done = 0;
    EQP__FAIL_IF(take_unexpected(m) || agree(m), EQP_ERR_MPI);
    return m->agreeing && MPI_Test(&m->agreement.request, done, MPI_STATUS_IGNORE) != MPI_SUCCESS ? EQP_ERR_MPI
                                                                                                  : EQP_OK;
}

static int take_in(eqp_messenger *m)
{
    int code = EQP_OK;

    for (int i = 0; !code && i < m->nawaited; i++) {
        code = receive(m, m->awaited[i], false);
    }
    return code;
}

int eqp_messenger_progress(eqp_messenger *messenger)
{
    eqp_messenger *const m = messenger;
    int done;

    if (!m || m->state == OPEN) {
        return m ? EQP_OK : EQP_ERR_ARGUMENT;
    }
    EQP__FAIL_IF(MPI_Testall((int)m->nrequests, m->request, &done, MPI_STATUSES_IGNORE) != MPI_SUCCESS ||
                     (m->state == SENT && listen(m, &done)) || take_in(m),
                 give_up(m));
    return EQP_OK;
}

/* ---- the end ---- */

/* Drops idle partners on both sides; their last messages were empty. */
static void drop_partners(eqp_messenger *m)
{
    int kept = 0;

    for (int i = 0; i < m->nto; i++) {
        partner *p = &m->partner[m->to[i]];
        p->told = p->idle < PATIENCE;
        p->idle = p->told ? p->idle : 0;
        trim(&p->out, p->told ? INT64_MAX : -1);
        m->to[kept] = m->to[i];
        kept += p->told;
    }
    m->nto = kept;
    kept = 0;
    for (int i = 0; i < m->nfrom; i++) {
        partner *p = &m->partner[m->from[i]];
        trim(&p->in, p->came.last ? -1 : INT64_MAX);
        m->from[kept] = m->from[i];
        kept += !p->came.last;
    }
    m->nfrom = kept;
}

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Lists the messages with data; returns the first code of a sender. */
static int make_view(eqp_messenger *m)
{
    int n = 0, code = EQP_OK;

    qsort(m->awaited, (size_t)m->nawaited, sizeof *m->awaited, compare_ranks);
    for (int i = 0; i < m->nawaited; i++) {
        const partner *p = &m->partner[m->awaited[i]];
        code = code ? code : p->came.code;
        if (p->came.bytes > 0) {
            m->rank_of[n] = m->awaited[i];
            m->bytes_of[n] = p->came.bytes;
            m->data_of[n++] = p->lost ? NULL : p->in.data + sizeof(head);
            m->counts.messages_received++;
            m->counts.bytes_received += p->came.bytes;
        }
    }
    m->came = (eqp_messages_view){.n = n, .rank = m->rank_of, .bytes = m->bytes_of, .data = m->data_of};
    return code;
}

/* Returns this rank's EQP_OK or EQP_ERR_MPI; *all: the code of all ranks after a send. */
static int end_exchange(eqp_messenger *m, int64_t *least, int *all)
{
    int done = m->state != SENT;

    while (!done) {
        EQP_CHECK(listen(m, &done));
        EQP_CHECK(take_in(m));
    }
    for (int i = 0; i < m->nawaited; i++) {
        EQP_CHECK(receive(m, m->awaited[i], true));
    }
    *all = m->state == SENT ? eqp__agree_end(&m->agreement, least) : EQP_OK;
    return EQP__MPI(MPI_Waitall((int)m->nrequests, m->request, MPI_STATUSES_IGNORE));
}

static int finish(eqp_messenger *m, int64_t *least, int *alone)
{
    const bool sent = m->state == SENT;
    int code, all;

    eqp_wait_begin();
    code = end_exchange(m, least, &all);
    eqp_wait_end();
    if (!code) {
        const int told = make_view(m);
        code = sent ? all : m->code ? m->code : told;
        if (sent) {
            drop_partners(m);
        }
    }
    if (code && sent) {
        m->came = (eqp_messages_view){.n = 0};
    }
    for (int i = 0; i < m->nsent; i++) {
        m->partner[m->sent[i]].out.n = 0;
    }
    m->nsent = 0;
    m->state = OPEN;
    *alone = m->alone;
    return code;
}

int eqp__messenger_exchange(eqp_messenger *messenger, int code, int nleast, int64_t *least, int *alone)
{
    *alone = EQP_OK;
    EQP_TRY(begin_send(messenger, code, nleast, least));
    EQP_TRY(finish(messenger, least, alone));
done:
    return code;
}

int eqp_messenger_finish(eqp_messenger *messenger)
{
    int alone = EQP_OK;

    EQP__FAIL_IF(!messenger, EQP_ERR_ARGUMENT);
    const int code = messenger->state == OPEN ? EQP_ERR_STATE : finish(messenger, NULL, &alone);
    return code ? code : alone;
}

eqp_messages_view eqp_messenger_came(const eqp_messenger *messenger)
{
    return messenger ? messenger->came : (eqp_messages_view){.n = 0};
}

eqp_route_counts eqp_messenger_last_counts(const eqp_messenger *messenger)
{
    return messenger ? messenger->counts : (eqp_route_counts){0};
}
