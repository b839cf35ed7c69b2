/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files behind <equipoise/more/lazy.h>.
 *
 * Every rank of the application is a client: one server answers it, and further servers may only hear of its offers. A
 * server is a balancing rank, or a rank of the application that hosts a thread. Clients and servers use different tags,
 * so that each side receives messages in the order in which the other sent them. */
#ifndef LAZY_LAZY_H
#define LAZY_LAZY_H

#include <equipoise/more/lazy.h>

#include <stdint.h>
#include <mpi.h>
#include <stdbool.h>

/* Begins every message; what follows are `bytes` bytes. */
typedef struct eqp__lazy_note {
    int64_t kind;       /* an eqp__lazy_kind */
    int64_t generation; /* of the offer */
    int64_t code;       /* of who has failed to make what was to follow */
    int64_t bytes;
} eqp__lazy_note;

typedef enum eqp__lazy_kind { EQP__LAZY_OFFER = 1, EQP__LAZY_ANSWER, EQP__LAZY_LEAVE, EQP__LAZY_BYE } eqp__lazy_kind;

enum { EQP__LAZY_UP = 1, EQP__LAZY_DOWN = 2 }; /* tags: to servers, to clients */

/* A message, of which MPI may still need the bytes. */
typedef struct eqp__lazy_letter {
    char *bytes; /* owned: a note and what follows; NULL: there is none */
    MPI_Request request;
} eqp__lazy_letter;

/* letter.c. Begins a letter of `bytes` bytes that begin with a note. Local. */
int eqp__lazy_begin(MPI_Comm comm, int to, int tag, int64_t bytes, char *data, MPI_Request *request);

/* Starts sending a letter with this many bytes after its note; data may be NULL. Local. */
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

/* Frees a letter that MPI is done with. */
void eqp__lazy_drop(eqp__lazy_letter *letter);

/* Sleeps for a moment, longer each time up to a millisecond. *pause: nanoseconds, 0 at first. */
void eqp__lazy_rest(long *pause);

/* thread.c: one thread that makes maps. */
typedef struct eqp__lazy_worker eqp__lazy_worker;

int eqp__lazy_worker_create(eqp__lazy_worker **worker);

/* Waits for the map under way. NULL is legal. */
void eqp__lazy_worker_free(eqp__lazy_worker *worker);

/* Starts making a map. offer, answer: [n] must not be touched until it is done. */
void eqp__lazy_worker_begin(eqp__lazy_worker *worker, eqp_lazy_make_fn make, void *user, int nranks, int64_t n,
                            const eqp_lazy_parcel *offer, eqp_lazy_parcel *answer);

/* True once, after a started map is finished. */
bool eqp__lazy_worker_done(eqp__lazy_worker *worker, int *code);

/* A client of a server. */
typedef struct eqp__lazy_source {
    int at;                         /* rank in the common communicator */
    int rank;                       /* of the application */
    bool counts;                    /* its offers are for this server */
    bool answer;                    /* the client expects an answer */
    bool left;                      /* the application */
    bool here;                      /* its offer is complete */
    eqp__lazy_letter in, held, out; /* what comes, its offer, what goes */
} eqp__lazy_source;

typedef struct eqp__lazy_server {
    int64_t n, nhere, nleft;  /* nhere: offers of this generation */
    int64_t ncoming, ngoing;  /* letters that MPI is not done with */
    eqp__lazy_source *source; /* [n] by rank of the application */
    int64_t generation;
    eqp_lazy_server state;
    eqp_lazy_parcel *offer, *answer; /* [n] those that count */
    eqp__lazy_worker *worker;        /* of a host */
} eqp__lazy_server;

typedef struct eqp__lazy_client {
    int server;                    /* rank in the common communicator */
    int64_t n;                     /* servers that hear of offers: the first is that one */
    int *to;                       /* [n] */
    bool whole;                    /* all get the bytes; else only the first does, and the others get a notice */
    eqp__lazy_letter *out;         /* [n] */
    char *room;                    /* of letters that are not under way; owned */
    int64_t room_bytes, out_bytes; /* that it has; that the first letter under way has, which is to become it again */
    eqp__lazy_letter in, answer;
    bool *leaving; /* [n] they have been told that this rank leaves */
    int64_t byes;  /* servers that know that this rank leaves */
    eqp_lazy_state state;
    bool due;               /* the map must be taken before the next step */
    bool here;              /* the answer is complete */
    bool gone;              /* this rank hears nothing more */
    int64_t generation, at; /* at: the last step that was looked at */
    double since, asked;    /* the offer; when the server was looked for: seconds of the wall clock */
    int code;               /* of the answer */
    eqp_lazy_parcel mine;   /* the answer where the application's own ranks have made it; owned */
} eqp__lazy_client;

/* A process, so that no other one with its number is taken for it. */
typedef struct eqp__lazy_process {
    int64_t pid, start, node;
} eqp__lazy_process;

struct eqp_lazy {
    eqp_lazy_options options;
    MPI_Comm talk;    /* all ranks that exchange letters; MPI_COMM_NULL if there are none */
    MPI_Comm mine;    /* the application, or the balancers */
    int rank, nranks; /* of `mine` */
    int napp, nservers;
    bool serves;
    eqp__lazy_server *server; /* of balancers and hosts, else NULL */
    eqp__lazy_client client;
    eqp__lazy_process process; /* of the server that answers this client */
    int64_t node;              /* that this rank is on */
    eqp_lazy_make_fn make;
    void *user;
    MPI_Request polling; /* of eqp_lazy_poll() */
    int64_t seen, least; /* what is reduced */
};

/* split.c: whether the process that answers this client is known to have ended. Reads a file of the system's. Local. */
bool eqp__lazy_has_ended(const eqp_lazy *lazy);

/* server.c. sources: [n] set up to `answer`, taken over. worker: of a host, taken over; NULL: none. On error nothing is
 * made or taken. */
int eqp__lazy_server_create(int64_t n, eqp__lazy_source *source, eqp__lazy_worker *worker, eqp__lazy_server **server);

/* After the last client has left. NULL is legal. */
void eqp__lazy_server_free(eqp__lazy_server *server);

/* The host's work that needs no waiting: receives letters, starts and finishes maps in its thread, answers. Local. */
int eqp__lazy_serve_some(eqp_lazy *lazy);

/* True if all clients known to the server have left and been told so; tells them when the last one leaves. Local. */
bool eqp__lazy_server_ends(eqp_lazy *lazy);

/* client.c: memory in which an offer can be written, so that it need not be copied. data: [bytes] borrowed until it is
 * offered. Local. */
int eqp__lazy_room(eqp_lazy *lazy, int64_t bytes, void **data);

/* Says that this rank leaves, as soon as it can; whether all servers have heard it. Local. */
bool eqp__lazy_says_bye(eqp_lazy *lazy);

#endif
