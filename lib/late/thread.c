/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that makes maps. It makes no MPI calls and receives no signals. */
#include "late/lazy.h"

#include <equipoise/more/base.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

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

int eqp__lazy_worker_create(eqp__lazy_worker **worker)
{
    eqp__lazy_worker *made = NULL;
    sigset_t all, before;
    int code = eqp_array_create(&made, 1, sizeof *made);

    if (code != EQP_OK) {
        return code;
    }
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

void eqp__lazy_worker_begin(eqp__lazy_worker *worker, eqp_lazy_make_fn make, void *user, int nranks, int64_t n,
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

bool eqp__lazy_worker_done(eqp__lazy_worker *worker, int *code)
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
