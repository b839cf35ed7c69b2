/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks of a loop with a master say to each other. Nobody waits for a message without listening to the others, so
 * nobody waits for ever. */
#ifndef EQUIPOISE_PAR_SCHEDULE_TALK_H
#define EQUIPOISE_PAR_SCHEDULE_TALK_H

#include "loops/schedule_loop.h"

enum { EQP__TAG_WORDS = 1, EQP__TAG_DATA, EQP__TAG_RESULT, EQP__TAG_HEAD };

/* To rank 0; from it; to whoever yields; between ranks. */
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
    int rank;       /* ASSIGN, GIFT: the owner; YIELD, SPLIT: who gets it; REQUEST: who gave nothing, or -1 */
    int64_t first;  /* of the iterations */
    int64_t count;  /* of them; REQUEST: that were computed */
    double time[3]; /* REQUEST: seconds, squares, overhead */
    int failed;     /* REQUEST: it cannot go on; RESULT: there is none */
    int from;       /* who says it */
} eqp__word;

typedef struct eqp__slot {
    MPI_Request request;
    eqp__word word;
} eqp__slot;

/* A row of rank 0's table. */
typedef struct eqp__row {
    int64_t next, end; /* of its part, what nobody has got yet */
    int64_t count;     /* of its present chunk, as far as rank 0 knows */
    bool empty;        /* of that chunk nothing is left to give */
} eqp__row;

/* A bundle, or what was made of it, on its way. */
typedef struct eqp__bundle {
    MPI_Request request;
    void *bytes; /* [size] owned; NULL: there was no memory for it */
    int size;
} eqp__bundle;

struct eqp__talk {
    int nslots;
    eqp__slot *slot; /* [nslots] words that are on their way */
    eqp__row *row;   /* [nranks] on rank 0 */
    int here;        /* ranks that have not been told to leave, on rank 0 */
    bool stop;       /* somebody failed, on rank 0 */
    int failed;      /* what made this rank fail */
    eqp__word answer;
    bool answered;
    int owner;              /* of the present chunk */
    int64_t at, end;        /* what of it is not begun */
    int64_t first;          /* of the chunk: where its data begin */
    const char *data;       /* of the present chunk, or NULL */
    int64_t expected;       /* results of this rank's iterations that are still to come */
    MPI_Request sending[2]; /* results, and data that were given on, out of the buffers */
    int64_t nsent, room;
    eqp__bundle *sent; /* [nsent] bundles that this rank has sent */
    /* One result comes at a time; others wait in MPI. */
    enum { EQP__QUIET, EQP__ANNOUNCED, EQP__COMING } stage;
    eqp__word head; /* what it says of itself */
    eqp__bundle coming;
};

/* A place for a message that is on its way. They are small and few; MPI only has to get on with them. */
int eqp__talk_slot(struct eqp__talk *talk, eqp__slot **found);

/* Says a word to a rank, be it this one. */
int eqp__talk_say(eqp_loop *loop, int to, eqp__word word);

/* Sees to everything that has come. Returns EQP_OK or EQP_ERR_MPI; what else goes wrong is kept. */
int eqp__talk_listen(eqp_loop *loop);

/* The first failure of this rank is what it reports in the end. */
void eqp__talk_fail(struct eqp__talk *talk, int code);

/* Rank 0: before anybody asks, and an answer to whom has nothing to do. */
void eqp__serve_begin(eqp_loop *loop);
int eqp__serve(eqp_loop *loop, const eqp__word *word);

/* Data of iterations that others will compute: those that rank 0 has them yield, and half of what this rank has not
 * begun, or nothing. */
int eqp__loop_yield(eqp_loop *loop, const eqp__word *word);
int eqp__loop_give(eqp_loop *loop, int to);

/* A result whose owner this rank is. */
int eqp__loop_receive_result(eqp_loop *loop, const eqp__word *word);

/* Most iterations that can travel at once. */
int64_t eqp__loop_most_given(const eqp_loop *loop);

/* Packs iterations of this rank's part and sends them; something is sent, even if it is only that nothing comes. */
int eqp__bundle_send(eqp_loop *loop, int to, int64_t first, int64_t count);

/* Computes the bundle of the present answer, and sends the result back. `sample` gets what it took; *empty: its owner
 * has not packed it. */
int eqp__bundle_compute(eqp_loop *loop, eqp_schedule_sample *sample, bool *empty);

/* Frees what is sent, takes results that have come. */
int eqp__bundles_see_to(eqp_loop *loop);

#endif
