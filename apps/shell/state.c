/* SPDX-License-Identifier: BSD-3-Clause */
#include "state.h"

#include "run_files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[8] = "EQPAPP1";

/* Begins the words; own numbers, runs and the balancer's bytes follow. */
typedef struct head {
    char magic[8];
    uint64_t checksum; /* of all words but this one */
    int64_t nranks, nown, nruns, size;
    char method[EQP_WORD_SIZE];
} head;

enum { HEAD_WORDS = sizeof(head) / sizeof(uint64_t), RUN_WORDS = sizeof(app_run_of_keys) / sizeof(uint64_t) };
enum { CHECKSUM_WORD = 1 };
_Static_assert(offsetof(head, checksum) == CHECKSUM_WORD * sizeof(uint64_t), "where it is");
_Static_assert(sizeof(head) % sizeof(uint64_t) == 0 && sizeof(app_run_of_keys) % sizeof(uint64_t) == 0, "words");

void app_words_free(app_words *words)
{
    free(words->word);
    *words = (app_words){.n = 0};
}

/* Words in a line of text, and the digits of each. */
enum { LINE_WORDS = 4, DIGITS = 16 };

int app_words_print(const app_words *words, char **text)
{
    const int64_t nlines = (words->n + LINE_WORDS - 1) / LINE_WORDS;
    const size_t room = (size_t)(DIGITS * words->n + nlines * (int64_t)sizeof APP_WORDS_LINE) + 1;
    size_t at = 0;
    char *made = NULL;

    EQP_CHECK(eqp_array_create(&made, (int64_t)room, 1));
    for (int64_t i = 0; i < words->n; i++) {
        at += (size_t)snprintf(made + at, room - at, "%s%016llx%s", i % LINE_WORDS == 0 ? APP_WORDS_LINE : "",
                               (unsigned long long)words->word[i],
                               i % LINE_WORDS == LINE_WORDS - 1 || i == words->n - 1 ? "\n" : "");
    }
    *text = made;
    return EQP_OK;
}

/* A line's words behind those that there are. */
static int take_line(const char *line, int64_t *capacity, app_words *words)
{
    char digits[DIGITS + 1] = "";

    for (const char *at = line; *at != '\0' && *at != '\n'; at += DIGITS) {
        memcpy(digits, at, strnlen(at, DIGITS));
        EQP_CHECK(strspn(digits, "0123456789abcdef") != DIGITS ? EQP_ERR_FORMAT : EQP_OK);
        EQP_CHECK(eqp_array_reserve(&words->word, capacity, words->n + 1, sizeof *words->word));
        words->word[words->n++] = strtoull(digits, NULL, 16);
    }
    return EQP_OK;
}

int app_words_find(const char *path, app_words *words, eqp_message *message)
{
    const size_t mark = strlen(APP_WORDS_LINE);
    app_words found = {.n = 0};
    int64_t capacity = 0;
    size_t room = 0;
    char *line = NULL;
    FILE *file = fopen(path, "r");
    int code = file != NULL ? EQP_OK : EQP_ERR_IO;

    while (code == EQP_OK && getline(&line, &room, file) >= 0) {
        code = strncmp(line, APP_WORDS_LINE, mark) == 0 ? take_line(line + mark, &capacity, &found) : EQP_OK;
    }
    code = code == EQP_OK && ferror(file) ? EQP_ERR_IO : code;
    if (file != NULL) {
        (void)fclose(file);
    }
    free(line);
    if (code == EQP_ERR_FORMAT) {
        eqp_message_set(message, "%s: is damaged: a line %sof what it says of the balance", path, APP_WORDS_LINE);
    } else if (code != EQP_OK) {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    if (code != EQP_OK) {
        app_words_free(&found);
        return code;
    }
    *words = found;
    return EQP_OK;
}

static int64_t words_of(int64_t bytes)
{
    return bytes / (int64_t)sizeof(uint64_t) + (bytes % (int64_t)sizeof(uint64_t) > 0);
}

/* Checksum of all words except itself. */
static uint64_t checksum_of(const app_words *words)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < words->n; i++) {
        sum += i != CHECKSUM_WORD ? app_checksum_row(i, 0, 1, words->word + i) : 0;
    }
    return sum;
}

static int by_key(const void *left, const void *right)
{
    const app_run_of_keys *a = left, *b = right;

    return (a->key > b->key) - (a->key < b->key);
}

/* Neighbours with the same numbers are one. */
static int64_t join_runs(int64_t n, app_run_of_keys *run)
{
    int64_t kept = 0;

    if (n > 1) {
        qsort(run, (size_t)n, sizeof *run, by_key);
    }
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || memcmp(run[kept - 1].value, run[i].value, sizeof run->value) != 0) {
            run[kept++] = run[i];
        }
    }
    return kept;
}

static int fill(const head *h, const uint64_t *own, const app_run_of_keys *run, const void *bytes, app_words *words)
{
    const int64_t nwords = HEAD_WORDS + h->nown + RUN_WORDS * h->nruns + words_of(h->size);
    uint64_t *at;

    EQP_CHECK(eqp_array_create(&words->word, nwords, sizeof *words->word));
    words->n = nwords;
    at = words->word + HEAD_WORDS;
    memcpy(words->word, h, sizeof *h);
    memcpy(at, own, (size_t)h->nown * sizeof *own);
    memcpy(at + h->nown, run, (size_t)h->nruns * sizeof *run);
    memcpy(at + h->nown + RUN_WORDS * h->nruns, bytes, (size_t)h->size);
    words->word[CHECKSUM_WORD] = checksum_of(words);
    return EQP_OK;
}

int app_state_make(MPI_Comm comm, const eqp_balancer *balancer, const char *method, int64_t nown, const uint64_t *own,
                   int64_t nruns, const app_run_of_keys *run, app_words *words)
{
    head h = {.nown = nown};
    app_run_of_keys *all = NULL;
    app_words made = {.n = 0};
    void *bytes = NULL;
    size_t size = 0;
    int nranks, code;

    MPI_Comm_size(comm, &nranks);
    memcpy(h.magic, magic, sizeof magic);
    strncpy(h.method, method, sizeof h.method - 1);
    h.nranks = nranks;
    EQP_TRY(eqp_gather_records(comm, sizeof *run, nruns, run, &h.nruns, &all));
    h.nruns = join_runs(h.nruns, all);
    code = eqp_balancer_pack(balancer, &size, &bytes);
    h.size = (int64_t)size;
    code = code == EQP_OK ? fill(&h, own, all, bytes, &made) : code;
    EQP_TRY(eqp_agree(comm, code, NULL));
    *words = made;
    made = (app_words){.n = 0};
done:
    app_words_free(&made);
    free(bytes);
    free(all);
    return code;
}

/* True if the counts match the number of words. */
static bool can_be(const head *h, int64_t nwords)
{
    int64_t left = nwords - HEAD_WORDS;
    bool can_be = memcmp(h->magic, magic, sizeof magic) == 0 && h->nown >= 0 && h->nown <= left;

    left -= can_be ? h->nown : 0;
    can_be = can_be && h->nruns >= 0 && h->nruns <= left / RUN_WORDS;
    left -= can_be ? h->nruns * RUN_WORDS : 0;
    return can_be && h->size >= 0 && words_of(h->size) == left;
}

int app_state_read(const app_words *words, const char *path, int nranks, const char *method, app_state *state,
                   eqp_message *message)
{
    head h = {.nranks = 0};

    if (words->n >= HEAD_WORDS) {
        memcpy(&h, words->word, sizeof h);
    }
    APP_REFUSE_IF(words->n < HEAD_WORDS || !can_be(&h, words->n) || checksum_of(words) != h.checksum, message,
                  EQP_ERR_FORMAT, "%s: is damaged: what it says of the balance has another checksum", path);
    h.method[sizeof h.method - 1] = '\0';
    const uint64_t *const at = words->word + HEAD_WORDS;
    *state = (app_state){.fits = h.nranks == nranks && strcmp(h.method, method) == 0,
                         .nown = h.nown,
                         .nruns = h.nruns,
                         .own = at,
                         .run = (const app_run_of_keys *)(at + h.nown),
                         .size = (size_t)h.size,
                         .bytes = at + h.nown + RUN_WORDS * h.nruns};
    return EQP_OK;
}

int app_state_take(const app_state *state, eqp_balancer *balancer, bool *taken)
{
    const int code = eqp_balancer_unpack(balancer, state->size, state->bytes);

    *taken = code == EQP_OK;
    return code == EQP_ERR_FORMAT ? EQP_OK : code;
}

const app_run_of_keys *app_state_find(const app_state *state, uint64_t key)
{
    int64_t low = 0, high = state->nruns;

    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (state->run[middle].key <= key) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &state->run[low];
}
