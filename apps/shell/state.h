/* SPDX-License-Identifier: BSD-3-Clause */
/* The balance of a run as 64-bit words for its restart file: the balancer's bytes and the app's assignment, for this
 * number of ranks and this method. */
#ifndef APP_STATE_H
#define APP_STATE_H

#include <equipoise/balancer.h>

#include <mpi.h>

/* Words of a file. Empty if zero. */
typedef struct app_words {
    int64_t n;
    uint64_t *word; /* [n] owned */
} app_words;

void app_words_free(app_words *words);

/* A run of places along a curve, from this key to that of the next run: two numbers that hold in all of it. */
typedef struct app_run_of_keys {
    uint64_t key;
    int64_t value[2];
} app_run_of_keys;

/* The same words as lines of a text, for files of text: comments that begin with APP_WORDS_LINE, then hexadecimal
 * digits. *text: owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
#define APP_WORDS_LINE "#$ "
int app_words_print(const app_words *words, char **text);

/* The words of such a file, none where it has no such line. EQP_OK; EQP_ERR_FORMAT for lines that are damaged,
 * EQP_ERR_IO or EQP_ERR_MEMORY, with a line. Local. */
int app_words_find(const char *path, app_words *words, eqp_message *message);

/* Words to be written. own: [nown] the app's own numbers; run: [nruns] of this rank, by keys that ascend. Those of all
 * ranks are joined, sorted by their keys. Collective: the same words on all ranks. EQP_OK, or a code on all ranks. */
int app_state_make(MPI_Comm comm, const eqp_balancer *balancer, const char *method, int64_t nown, const uint64_t *own,
                   int64_t nruns, const app_run_of_keys *run, app_words *words);

/* Words that were read: borrowed parts of them. */
typedef struct app_state {
    bool fits; /* written by as many ranks and the same method: then own and run hold, else only the balancer's costs */
    int64_t nown, nruns;
    const uint64_t *own;        /* [nown] */
    const app_run_of_keys *run; /* [nruns] keys ascend */
    size_t size;
    const void *bytes; /* [size] of the balancer */
} app_state;

/* EQP_OK, or EQP_ERR_FORMAT for words that are damaged, with a line that begins with the file's name. Local. */
int app_state_read(const app_words *words, const char *path, int nranks, const char *method, app_state *state,
                   eqp_message *message);

/* The balancer goes on from it. Bytes of another version of the library say nothing: *taken is false then, and a
 * balancer without a map has all that it had. EQP_OK or EQP_ERR_MEMORY. Local; the same on all ranks. */
int app_state_take(const app_state *state, eqp_balancer *balancer, bool *taken);

/* The run that a key is in. There is at least one; keys before the first are in it. O(log runs). */
const app_run_of_keys *app_state_find(const app_state *state, uint64_t key);

#endif
