/* SPDX-License-Identifier: BSD-3-Clause */
/* Server side: makes the maps. */
#include "late/lazy.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>

#include <pthread.h>
#include <signal.h>

/* A thread that makes maps. It makes no MPI calls and receives no signals. */
typedef enum worker_state { EMPTY, WORK, DONE, QUIT } worker_state;

struct eqp__lazy_worker {
    pthread_t thread;
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t change;
    worker_state state;
    eqp_lazy_make_fn make;
    void *user;
    int nranks, code;
    int64_t n;
    const eqp_lazy_parcel *offer;
    eqp_lazy_parcel *answer;
};

static void *work(void *of)
{
    eqp__lazy_worker *const w = of;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (w->state != WORK && w->state != QUIT) {
            pthread_cond_wait(&w->change, &w->lock);
        }
        if (w->state == QUIT) {
            break;
        }
        pthread_mutex_unlock(&w->lock);
        const int code = w->make(w->user, MPI_COMM_NULL, w->nranks, w->n, w->offer, w->answer);
        pthread_mutex_lock(&w->lock);
        w->code = code;
        w->state = w->state == QUIT ? QUIT : DONE;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static int worker_create(eqp__lazy_worker **worker)
{
    eqp__lazy_worker *made = NULL;
    sigset_t all, before;
    EQP_CHECK(eqp_array_create(&made, 1, sizeof *made));
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->change, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&made->thread, NULL, work, made);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        pthread_cond_destroy(&made->change);
        pthread_mutex_destroy(&made->lock);
        free(made);
        return EQP_ERR_MEMORY;
    }
    *worker = made;
    return EQP_OK;
}

static void set_state(eqp__lazy_worker *w, worker_state state)
{
    pthread_mutex_lock(&w->lock);
    w->state = state;
    pthread_cond_signal(&w->change);
    pthread_mutex_unlock(&w->lock);
}

void eqp__lazy_worker_free(eqp__lazy_worker *worker)
{
    if (worker != NULL) {
        set_state(worker, QUIT);
        pthread_join(worker->thread, NULL);
        pthread_cond_destroy(&worker->change);
        pthread_mutex_destroy(&worker->lock);
        free(worker);
    }
}

static void worker_begin(eqp__lazy_worker *worker, eqp_lazy_make_fn make, void *user, int nranks, int64_t n,
                         const eqp_lazy_parcel *offer, eqp_lazy_parcel *answer)
{
    worker->make = make; /* not read before the state is WORK */
    worker->user = user;
    worker->nranks = nranks;
    worker->n = n;
    worker->offer = offer;
    worker->answer = answer;
    set_state(worker, WORK);
}

static bool worker_done(eqp__lazy_worker *worker, int *code)
{
    bool done;

    pthread_mutex_lock(&worker->lock);
    done = worker->state == DONE;
    if (done) {
        *code = worker->code;
        worker->state = EMPTY;
    }
    pthread_mutex_unlock(&worker->lock);
    return done;
}

/* Sending a notice is retried for about a second when memory is short. */
enum { ATTEMPTS = 1000 };

int eqp__lazy_server_create(int64_t n, eqp__lazy_source *source, bool hosts, eqp__lazy_server **server)
{
    eqp__lazy_server *made = NULL;
    int code;

    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(made->offer, n), EQP__ARRAY(made->answer, n)));
    EQP_TRY(hosts ? worker_create(&made->worker) : EQP_OK);
    made->n = n;
    made->source = source;
    for (int64_t i = 0; i < n; i++) {
        source[i].in = source[i].held = source[i].out = (eqp__lazy_letter){NULL, MPI_REQUEST_NULL};
    }
    *server = made;
    made = NULL;
done:
    eqp__lazy_server_free(made);
    return code;
}

void eqp__lazy_server_free(eqp__lazy_server *server)
{
    if (server != NULL) {
        for (int64_t i = 0; i < server->n; i++) {
            EQP__FREE(server->source[i].held.bytes, server->answer[i].data);
        }
        EQP__FREE(server->offer, server->answer, server->source, server);
    }
}

static int by_place(const void *key, const void *of)
{
    const int at = *(const int *)key, other = ((const eqp__lazy_source *)of)->at;

    return (at > other) - (at < other);
}

static void take_letter(eqp__lazy_server *server, eqp__lazy_source *source)
{
    const eqp__lazy_note note = eqp__lazy_read(&source->in);

    server->ncoming--;
    if (note.kind == EQP__LAZY_OFFER && !source->here) {
        source->here = true;
        source->held = source->in;
        source->in = (eqp__lazy_letter){NULL, MPI_REQUEST_NULL};
        server->nhere++;
        server->generation = note.generation;
        return;
    }
    if (note.kind == EQP__LAZY_LEAVE && !source->left) {
        source->left = true;
        server->nleft++;
    }
    eqp__lazy_drop(&source->in);
}

/* A second letter from the same sender waits until the first is processed. */
static int begin_letters(eqp_lazy *lazy, bool *moved)
{
    eqp__lazy_server *const server = lazy->server;

    for (;;) {
        eqp__lazy_letter letter = {NULL, MPI_REQUEST_NULL};
        int from = -1;
        EQP_CHECK(eqp__lazy_receive(lazy->talk, MPI_ANY_SOURCE, EQP__LAZY_UP, &letter, &from));
        if (letter.bytes == NULL) {
            break;
        }
        eqp__lazy_source *source = bsearch(&from, server->source, (size_t)server->n, sizeof *server->source, by_place);
        if (source == NULL) { /* not a client of this server */
            return EQP_ERR_INTERNAL;
        }
        if (source->in.bytes != NULL) {
            EQP_CHECK(MPI_Wait(&source->in.request, MPI_STATUS_IGNORE) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI);
            take_letter(server, source);
        }
        source->in = letter;
        server->ncoming++;
        *moved = true;
    }
    return EQP_OK;
}

static int end_letters(eqp__lazy_server *server, bool *moved)
{
    bool done;

    for (int64_t i = 0; i < server->n && server->ncoming > 0; i++) {
        if (server->source[i].in.bytes != NULL) {
            EQP_CHECK(eqp__lazy_done(&server->source[i].in, &done));
            if (done) {
                take_letter(server, &server->source[i]);
                *moved = true;
            }
        }
    }
    for (int64_t i = 0; i < server->n && server->ngoing > 0; i++) {
        if (server->source[i].out.bytes != NULL) {
            EQP_CHECK(eqp__lazy_done(&server->source[i].out, &done));
            if (done) {
                eqp__lazy_drop(&server->source[i].out);
                server->ngoing--;
            }
        }
    }
    return EQP_OK;
}

/* Collects the counted offers; returns their number, and an error code if one has failed. */
static int64_t gather_offers(eqp__lazy_server *server, int *code)
{
    int64_t n = 0;

    *code = EQP_OK;
    for (int64_t i = 0; i < server->n; i++) {
        eqp__lazy_source *source = &server->source[i];
        const eqp__lazy_note note = eqp__lazy_read(&source->held);
        *code = *code == EQP_OK ? (int)note.code : *code;
        if (source->counts) {
            server->offer[n] = (eqp_lazy_parcel){source->rank, (size_t)note.bytes, eqp__lazy_data(&source->held)};
            server->answer[n++] = (eqp_lazy_parcel){source->rank, 0, NULL};
        }
    }
    return n;
}

/* Sends an answer. A client may leave before reading it, but does not offer again before, so its slot is free. */
static void post(eqp_lazy *lazy, eqp__lazy_source *source, const eqp__lazy_note *note, const void *data)
{
    eqp__lazy_server *const server = lazy->server;

    if (source->out.bytes != NULL) {
        (void)MPI_Wait(&source->out.request, MPI_STATUS_IGNORE);
        eqp__lazy_drop(&source->out);
        server->ngoing--;
    }
    const eqp__lazy_note failed = {note->kind, note->generation, note->bytes > 0 ? EQP_ERR_MEMORY : note->code, 0};
    int code = eqp__lazy_send(lazy->talk, source->at, EQP__LAZY_DOWN, note, data, &source->out);
    long pause = 0;
    for (int i = 0; i < ATTEMPTS && code == EQP_ERR_MEMORY; i++) { /* a notice at least */
        eqp__lazy_rest(&pause);
        code = eqp__lazy_send(lazy->talk, source->at, EQP__LAZY_DOWN, &failed, NULL, &source->out);
    }
    server->ngoing += code == EQP_OK;
}

/* Begins a map if all offers of a generation have arrived. */
static bool begins(eqp__lazy_server *server)
{
    const bool begin = !server->making && !server->ended && server->nhere == server->n;

    server->making = server->making || begin;
    return begin;
}

/* Sends the answers and starts the next generation. */
static void answer_all(eqp_lazy *lazy, int code)
{
    eqp__lazy_server *const server = lazy->server;
    int64_t n = 0;

    for (int64_t i = 0; i < server->n; i++) {
        eqp__lazy_source *source = &server->source[i];
        eqp_lazy_parcel *answer = source->counts ? &server->answer[n++] : NULL;
        if (answer != NULL && source->answer) {
            const bool sends = code == EQP_OK && answer->data != NULL;
            const eqp__lazy_note note = {EQP__LAZY_ANSWER, server->generation, code,
                                         sends ? (int64_t)answer->bytes : 0};
            post(lazy, source, &note, answer->data);
        }
        if (answer != NULL) {
            free(answer->data);
            answer->data = NULL;
        }
        eqp__lazy_drop(&source->held);
        source->here = false;
    }
    server->nhere = 0;
    server->making = false;
}

int eqp__lazy_serve_some(eqp_lazy *lazy)
{
    eqp__lazy_server *const server = lazy->server;
    bool moved = false;
    int made;

    EQP_CHECK(begin_letters(lazy, &moved));
    EQP_CHECK(end_letters(server, &moved));
    if (server->making && worker_done(server->worker, &made)) {
        answer_all(lazy, made);
    }
    if (server->nleft == 0 && begins(server)) {
        const int64_t n = gather_offers(server, &made);
        if (made == EQP_OK && lazy->make != NULL) {
            worker_begin(server->worker, lazy->make, lazy->user, lazy->napp, n, server->offer, server->answer);
        } else {
            answer_all(lazy, made != EQP_OK ? made : EQP_ERR_STATE);
        }
    }
    return EQP_OK;
}

bool eqp__lazy_server_ends(eqp_lazy *lazy)
{
    eqp__lazy_server *const server = lazy->server;
    const eqp__lazy_note bye = {EQP__LAZY_BYE, 0, EQP_OK, 0};
    bool moved = false;

    if (server->nleft == server->n && !server->ended) {
        server->ended = true;
        server->making = false;
        eqp__lazy_worker_free(server->worker);
        server->worker = NULL;
        for (int64_t i = 0; i < server->n; i++) {
            post(lazy, &server->source[i], &bye, NULL);
        }
    }
    return server->ended && (server->ngoing == 0 || end_letters(server, &moved) != EQP_OK || server->ngoing == 0);
}

static int make_one(eqp_lazy *lazy, eqp_lazy_make_fn make, void *user)
{
    eqp__lazy_server *const server = lazy->server;
    int code;
    const int64_t n = gather_offers(server, &code);

    code = eqp_agree(lazy->mine, code, NULL);
    code = code == EQP_OK ? make(user, lazy->mine, lazy->napp, n, server->offer, server->answer) : code;
    answer_all(lazy, code);
    return EQP_OK;
}

int eqp_lazy_serve(eqp_lazy *lazy, eqp_lazy_make_fn make, void *user)
{
    long pause = 0;

    EQP__FAIL_IF(lazy == NULL || make == NULL || !lazy->serves, EQP_ERR_ARGUMENT);
    for (bool moved = false; moved || !eqp__lazy_server_ends(lazy);) { /* offers are processed before the leave that
                                                                          follows */
        moved = false;
        EQP_CHECK(begin_letters(lazy, &moved));
        EQP_CHECK(end_letters(lazy->server, &moved));
        if (begins(lazy->server)) {
            EQP_CHECK(make_one(lazy, make, user));
            moved = true;
        }
        pause = moved ? 0 : pause;
        if (!moved) {
            eqp__lazy_rest(&pause);
        }
    }
    return EQP_OK;
}
