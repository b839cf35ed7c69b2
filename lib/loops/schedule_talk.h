/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the ranks of a loop with a master. A rank that waits for a message serves requests meanwhile, which
 * excludes deadlock. */
#ifndef EQUIPOISE_LOOPS_SCHEDULE_TALK_H
#define EQUIPOISE_LOOPS_SCHEDULE_TALK_H

#include "loops/schedule_loop.h"

enum { EQP__TAG_WORDS = 1, EQP__TAG_DATA, EQP__TAG_RESULT, EQP__TAG_HEAD };

/* Kinds of words: to rank 0; from it; to the rank that yields; between ranks. */
typedef enum eqp__word_kind {
    EQP__REQUEST,
    EQP__ASSIGN,
    EQP__LEAVE,
    EQP__YIELD,
    EQP__SPLIT,
    EQP__GIFT,
    EQP__RESULT
} eqp__word_kind;

typedef struct eqp__word {
    int kind;
    int rank;       /* ASSIGN, GIFT: owner; YIELD, SPLIT: receiver; REQUEST: rank that gave nothing, or -1 */
    int64_t first;  /* of the iterations */
    int64_t count;  /* number of iterations; REQUEST: number computed */
    double time[3]; /* REQUEST: seconds, squares, overhead */
    int failed;     /* REQUEST: the rank cannot continue; RESULT: none */
    int from;       /* sender */
} eqp__word;

typedef struct eqp__slot {
    MPI_Request request;
    eqp__word word;
} eqp__slot;

/* A row of rank 0's table. */
typedef struct eqp__row {
    int64_t next, end; /* unassigned iterations of its part */
    int64_t count;     /* size of its present chunk, as known to rank 0 */
    bool empty;        /* its chunk cannot be divided further */
} eqp__row;

/* A bundle or a result in flight. */
typedef struct eqp__bundle {
    MPI_Request request;
    void *bytes; /* [size] owned; NULL: out of memory */
    int size;
} eqp__bundle;

struct eqp__talk {
    int nslots;
    eqp__slot *slot; /* [nslots] words in flight */
    eqp__row *row;   /* [nranks] on rank 0 */
    int here;        /* on rank 0: ranks not yet told to leave */
    bool stop;       /* on rank 0: a rank failed */
    int failed;      /* error code of this rank */
    eqp__word answer;
    bool answered;
    int64_t at, end;  /* iterations of the chunk not begun */
    int64_t expected; /* outstanding results of this rank's iterations */
    int64_t nsent, room;
    eqp__bundle *sent; /* [nsent] bundles sent by this rank */
    /* One result is received at a time. */
    enum { EQP__QUIET, EQP__ANNOUNCED, EQP__COMING } stage;
    eqp__word head; /* its announcement */
    eqp__bundle coming;
};

/* A slot for a word in flight. Words are small and few and only need progress in MPI. */
int eqp__talk_slot(struct eqp__talk *talk, eqp__slot **found);

int eqp__talk_say(eqp_loop *loop, int to, eqp__word word);

/* Serves all messages that have arrived. Returns EQP_OK or EQP_ERR_MPI; other errors are kept in failed. */
int eqp__talk_listen(eqp_loop *loop);

/* Keeps the first failure of this rank, which is returned at the end. */
void eqp__talk_fail(struct eqp__talk *talk, int code);

/* Rank 0: initial state, and the answer to a rank without work. */
void eqp__serve_begin(eqp_loop *loop);
int eqp__serve(eqp_loop *loop, const eqp__word *word);

/* Gives half of the iterations that this rank has not begun, or none. */
int eqp__loop_give(eqp_loop *loop, int to);

/* Largest number of iterations in a bundle. */
int64_t eqp__loop_most_given(const eqp_loop *loop);

/* Packs iterations of this rank's part and sends them. On failure an empty message is sent. */
int eqp__bundle_send(eqp_loop *loop, int to, int64_t first, int64_t count);

/* Computes the bundle of the present answer and sends the result back. `sample`: its time; *empty: the owner failed to
 * pack it. */
int eqp__bundle_compute(eqp_loop *loop, eqp_schedule_sample *sample, bool *empty);

/* Frees sent bundles and takes results that have arrived. */
int eqp__bundles_see_to(eqp_loop *loop);

#endif
