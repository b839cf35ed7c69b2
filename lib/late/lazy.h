/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files behind <equipoise/more/lazy.h>.
 * Every rank of the application is a client: one server answers it; further servers may hear of its offers. A server
 * is a balancing rank, or a rank of the application that hosts a thread. Clients and servers use different tags, so
 * that each side receives messages in the order in which the other sent them. */
#ifndef LAZY_LAZY_H
#define LAZY_LAZY_H

#include "decide/lazy_state.h"

#include <equipoise/more/lazy.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/** The options as given; the defaults for NULL. Local. */
eqp_lazy_options eqp__lazy_settings(const eqp_lazy *lazy);

/* Seconds of all steps with maps made in line, by dedicated ranks and by a thread, INFINITY where that is impossible.
 */
typedef struct eqp__lazy_choice {
    double in_line, dedicated, thread;
    int balancers; /* dedicated ranks */
} eqp__lazy_choice;

/* options.c: the best of each way (after 5.2 to 5.5). On p ranks, t steps with a map every k steps take
 * S(f, c) = t f ((1 + i)^k - 1) / (i k) + (t/k - 1) c seconds: the first step with a map lasts f, and each map adds c.
 * Each way uses its best k from 1 to t - 1:
 * - in line: S(f(p), g(p)), or the present map for all t steps
 * - dedicated, n = p - m >= 1: S(f(n), own) with k >= u; the map arrives after u = (g(m) + h(n/m)) / ((1 + alpha)
 *   f(n)) steps; a map is taken between two steps, so u is rounded up, to at least 1. Without `mended` it is then u
 * steps old: S((1 + i)^u f(n), own). A map that arrives after t - 1 steps or later does not count.
 * - thread: the same with n = p and m = 1
 *
 * As printed, the model counts one map over the steps in which the drift reaches a tolerance, lets a step before the
 * map arrives last alpha f instead of (1 + alpha) f, and ignores that the map is u steps old on arrival. Local,
 * O(nranks log steps). EQP_OK, EQP_ERR_ARGUMENT for impossible ranks or steps, EQP_ERR_DATA for a number that is
 * negative or not finite; unchanged on error. */
int eqp__lazy_choose(const eqp_lazy_model *model, int nranks, eqp__lazy_choice *choice);

/** State of the offer on this rank: EQP_LAZY_READY when its answer has arrived, or, once all ranks are known to have
 * their answers, when the map is due; EQP_LAZY_LOST when the balancers do not answer. Waits only if `wait` or `delay`
 * require it, and no longer than `patience`. For applications with their own reduction: see eqp__lazy_agreed().
 * \param[in] step  the application's number of steps so far
 * \return EQP_LAZY_IDLE without an offer and for NULL. Local */
eqp_lazy_phase eqp__lazy_look(eqp_lazy *lazy, int64_t step);

/** A word of eqp__lazy_look()'s result, whose least on all ranks tells if any rank has lost its server, or all are
 * ready. Local. */
int64_t eqp__lazy_word(eqp_lazy_phase seen);

/** Passes on the least word of all ranks. Local.
 * \return state of the offer for all ranks: EQP_LAZY_READY if they must take the map before the next step; NULL:
 * EQP_LAZY_IDLE */
eqp_lazy_phase eqp__lazy_agreed(eqp_lazy *lazy, int64_t least);

/* Start of every message, followed by `bytes` bytes. */
typedef struct eqp__lazy_note {
    int64_t kind;       /* an eqp__lazy_kind */
    int64_t generation; /* of the offer */
    int64_t code;       /* error of the sender, instead of the data */
    int64_t bytes;
} eqp__lazy_note;

typedef enum eqp__lazy_kind { EQP__LAZY_OFFER = 1, EQP__LAZY_ANSWER, EQP__LAZY_LEAVE, EQP__LAZY_BYE } eqp__lazy_kind;

enum { EQP__LAZY_UP = 1, EQP__LAZY_DOWN = 2 }; /* tags: to servers, to clients */

/* A message; MPI may still be using its bytes. */
typedef struct eqp__lazy_letter {
    char *bytes; /* owned: a note and its data; NULL: no message */
    MPI_Request request;
} eqp__lazy_letter;

/* letter.c. Starts sending `bytes` bytes that begin with a note. Local. */
int eqp__lazy_begin(MPI_Comm comm, int to, int tag, int64_t bytes, char *data, MPI_Request *request);

/* The same for a note and its `bytes` bytes of data, which are copied; data may be NULL. Local. */
int eqp__lazy_send(MPI_Comm comm, int to, int tag, const eqp__lazy_note *note, const void *data,
                   eqp__lazy_letter *letter);

/* Starts to receive a letter if one has arrived. *from: the sender. Letters that are too short are ignored; one for
 * which there is no room waits for the next call. Local. */
int eqp__lazy_receive(MPI_Comm comm, int from, int tag, eqp__lazy_letter *letter, int *sender);

/* True if MPI has completed a pending letter; its request is then set to null. Local. */
int eqp__lazy_done(eqp__lazy_letter *letter, bool *done);
eqp__lazy_note eqp__lazy_read(const eqp__lazy_letter *letter);
static inline void *eqp__lazy_data(const eqp__lazy_letter *letter)
{
    return letter->bytes + sizeof(eqp__lazy_note);
}

void eqp__lazy_drop(eqp__lazy_letter *letter);

/* Sleeps for a moment, longer each time up to a millisecond. *pause: nanoseconds, 0 at first. */
void eqp__lazy_rest(long *pause);

/* server.c: one thread that makes maps. */
typedef struct eqp__lazy_worker eqp__lazy_worker;

/* Waits for the map under way. NULL is legal. */
void eqp__lazy_worker_free(eqp__lazy_worker *worker);

typedef struct eqp__lazy_source {
    int at;                         /* rank in the common communicator */
    int rank;                       /* rank in the application */
    bool counts;                    /* its offers are for this server */
    bool answer;                    /* the client expects an answer */
    bool left;                      /* the application */
    bool here;                      /* its offer is complete */
    eqp__lazy_letter in, held, out; /* incoming, its offer, outgoing */
} eqp__lazy_source;

typedef struct eqp__lazy_server {
    int64_t n, nhere, nleft;  /* nhere: complete offers of this generation */
    int64_t ncoming, ngoing;  /* letters in progress */
    eqp__lazy_source *source; /* [n] by rank of the application */
    int64_t generation;
    bool making, ended;              /* a map is under way; all clients have left */
    eqp_lazy_parcel *offer, *answer; /* [n] by counted client */
    eqp__lazy_worker *worker;        /* of a host */
} eqp__lazy_server;

typedef struct eqp__lazy_client {
    int server;            /* rank in the common communicator */
    int64_t n;             /* servers told of offers; the first one answers */
    int *to;               /* [n] their ranks */
    bool whole;            /* true: all servers get the bytes; false: only the first one, the rest get a notice */
    eqp__lazy_letter *out; /* [n] */
    char *room;            /* memory for offers, not in use by a letter; owned */
    int64_t room_bytes, out_bytes; /* size of `room`; size of the first letter under way, whose memory is reused */
    eqp__lazy_letter in, answer;
    bool *leaving; /* [n] server i knows that this rank leaves */
    int64_t byes;  /* number of these servers */
    eqp_lazy_state state;
    bool here;              /* the answer is complete */
    bool gone;              /* true: this rank receives nothing more */
    int64_t generation, at; /* at: the last step checked */
    double since, asked;    /* wall-clock seconds of the offer, and of the last check on the server */
    int code;               /* of the answer */
    eqp_lazy_parcel mine;   /* the answer, if this rank made it; owned */
} eqp__lazy_client;

/* A process id may be reused, so the start time and node are compared as well. */
typedef struct eqp__lazy_process {
    int64_t pid, start, node;
} eqp__lazy_process;

struct eqp_lazy {
    eqp_lazy_options options;
    MPI_Comm talk;    /* all ranks that exchange letters, or MPI_COMM_NULL */
    MPI_Comm mine;    /* the application, or the balancers */
    int rank, nranks; /* of `mine` */
    int napp, nservers;
    bool serves;
    eqp__lazy_server *server; /* of balancers and hosts, else NULL */
    eqp__lazy_client client;
    eqp__lazy_process process; /* of the answering server */
    int64_t node;
    eqp_lazy_make_fn make;
    void *user;
    MPI_Request polling; /* of eqp_lazy_poll() */
    int64_t seen, least; /* input and result of the reduction */
};

/* split.c: true if the process that answers this client has ended. Reads a file of /proc. Local. */
bool eqp__lazy_has_ended(const eqp_lazy *lazy);

/* source: [n] with members up to `answer` set, taken over. hosts: with a thread. On error nothing is created or taken
 * over. */
int eqp__lazy_server_create(int64_t n, eqp__lazy_source *source, bool hosts, eqp__lazy_server **server);

/* To be called after the last client has left. NULL is legal. */
void eqp__lazy_server_free(eqp__lazy_server *server);

/* Serves as a host without waiting: receives letters, starts and finishes maps in its thread, answers. Local. */
int eqp__lazy_serve_some(eqp_lazy *lazy);

/* True if all clients known to the server have left and been told so; tells them when the last one leaves. Local. */
bool eqp__lazy_server_ends(eqp_lazy *lazy);

/* client.c: memory in which an offer can be written without a copy. data: [bytes] borrowed until it is offered.
 * Local. */
int eqp__lazy_room(eqp_lazy *lazy, int64_t bytes, void **data);

/* Tells the servers that this rank leaves, as soon as possible; true once all know. Local. */
bool eqp__lazy_says_bye(eqp_lazy *lazy);

#endif
