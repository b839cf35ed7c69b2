/* SPDX-License-Identifier: BSD-3-Clause */
#include "essential.h"

#include "../physics/order.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

static bool keep_mine(void *user, const double centre[3])
{
    const bh_tile_choice *choice = user;

    return bh_tile_rank(choice->map, choice->tag, choice->centre, centre) == choice->rank;
}

bh_tile_fn bh_tile_choose(bh_tile_choice *choice, const app_map *map, int64_t tag, int rank, const bh_group *group)
{
    *choice = (bh_tile_choice){.map = map, .tag = tag, .rank = rank};
    bh_group_centre(group, choice->centre);
    return tag >= 0 ? NULL : keep_mine;
}

/* One group that opens branches of a rank; which ones follows as a set of their numbers there, in an array of its own.
 */
typedef struct group_request {
    bh_group group;
    int64_t tag;
} group_request;

/* The other ranks' branches as those ranks number them, which is by key, and sets of such numbers as bits. */
typedef struct branch_numbers {
    int32_t *of;    /* [cells] of a branch */
    int64_t *words; /* [ranks] of 64 bits that a set of a rank's branches takes */
} branch_numbers;

/* What one rank is asked for. */
typedef struct request_list {
    int64_t n, capacity, nwords, words_capacity, last_work;
    group_request *request; /* [n] */
    uint64_t *words;        /* [nwords] sets of branches, one after the other */
} request_list;

/* Every message of this file: what goes to and comes from each rank. */
typedef struct mailbag {
    int nranks;
    int64_t *sent, *received; /* [nranks] */
    void *out, *in;
} mailbag;

static void mail_free(mailbag *mail)
{
    free(mail->sent);
    free(mail->received);
    free(mail->out);
    free(mail->in);
}

static int mail_create(mailbag *mail, int nranks, int64_t nout, size_t size)
{
    int code = eqp_array_create(&mail->sent, nranks, sizeof *mail->sent);

    mail->nranks = nranks;
    if (code == EQP_OK) {
        code = eqp_array_create(&mail->received, nranks, sizeof *mail->received);
    }
    if (code == EQP_OK && nout >= 0) {
        code = eqp_array_create((char **)&mail->out, nout, size);
    }
    return code;
}

static int mail_post(mailbag *mail, MPI_Comm comm, size_t size)
{
    int64_t n = 0;
    int code = eqp_exchange_counts(comm, mail->sent, mail->received, &n);

    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_array_create((char **)&mail->in, n, size), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_exchange(comm, size, mail->sent, mail->out, mail->received, mail->in);
    }
    free(mail->out);
    mail->out = NULL;
    return code;
}

/* What has been read makes room for what it leads to. */
static void mail_drop_in(mailbag *mail)
{
    free(mail->in);
    mail->in = NULL;
}

static int64_t mail_bytes(const mailbag *mail, size_t size)
{
    int64_t n = 0;
    for (int r = 0; r < mail->nranks; r++) {
        n += mail->sent[r];
    }
    return n * (int64_t)size;
}

static int64_t words_for(int64_t nbranches)
{
    return (nbranches + 63) / 64;
}

static void numbers_free(branch_numbers *numbers)
{
    free(numbers->of);
    free(numbers->words);
}

/* A tree that nothing was grafted onto knows of other ranks nothing but their branches. With grafts the numbers would
 * be wrong, but for the same works nothing is absent then, and no number is used. */
static int numbers_create(const bh_tree *tree, int me, int nranks, branch_numbers *numbers)
{
    uint64_t *key = NULL;
    int64_t *cell = NULL, *order = NULL, *count = NULL, n = 0;
    int code = eqp_array_create(&numbers->of, tree->ncells, sizeof *numbers->of);

    if (code || (code = eqp_array_create(&numbers->words, nranks, sizeof *numbers->words)) ||
        (code = eqp_array_create(&count, nranks, sizeof *count))) {
        goto done;
    }
    for (int64_t c = 0; c < tree->ncells; c++) {
        n += tree->cell[c].home >= 0 && tree->cell[c].home != me;
    }
    if ((code = eqp_array_create(&key, n, sizeof *key)) || (code = eqp_array_create(&cell, n, sizeof *cell)) ||
        (code = eqp_array_create(&order, n, sizeof *order))) {
        goto done;
    }
    n = 0;
    for (int64_t c = 0; c < tree->ncells; c++) {
        if (tree->cell[c].home >= 0 && tree->cell[c].home != me) {
            key[n] = tree->cell[c].key;
            cell[n++] = c;
        }
    }
    code = bh_order(n, key, cell, order);
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        int64_t c = cell[order[i]];
        numbers->of[c] = (int32_t)count[tree->cell[c].home]++;
    }
    for (int r = 0; r < nranks; r++) {
        numbers->words[r] = words_for(count[r]);
    }
done:
    free(order);
    free(cell);
    free(key);
    free(count);
    return code;
}

static void lists_free(request_list *lists, int nranks)
{
    for (int r = 0; r < nranks && lists != NULL; r++) {
        free(lists[r].request);
        free(lists[r].words);
    }
    free(lists);
}

/* A request for nothing yet. */
static int open_request(request_list *list, int64_t w, const bh_work *work, int64_t nwords)
{
    int code = eqp_array_reserve(&list->request, &list->capacity, list->n + 1, sizeof *list->request);

    if (code == EQP_OK) {
        code = eqp_array_reserve(&list->words, &list->words_capacity, list->nwords + nwords, sizeof *list->words);
    }
    if (code == EQP_OK) {
        list->request[list->n++] = (group_request){.group = work->group, .tag = work->tag};
        memset(list->words + list->nwords, 0, (size_t)nwords * sizeof *list->words);
        list->nwords += nwords;
        list->last_work = w;
    }
    return code;
}

static int add_request(const bh_tree *tree, int64_t w, const bh_work *work, int64_t cell, const branch_numbers *numbers,
                       request_list *lists)
{
    int home = tree->cell[cell].home, code = EQP_OK;
    request_list *list = &lists[home];
    int32_t branch = numbers->of[cell];

    if (list->n == 0 || list->last_work != w) {
        code = open_request(list, w, work, numbers->words[home]);
    }
    if (code == EQP_OK) {
        list->words[list->nwords - numbers->words[home] + branch / 64] |= (uint64_t)1 << branch % 64;
    }
    return code;
}

/* Requests to every rank, in the order of the works. lists [ranks] */
static int collect_requests(const bh_tree *tree, int me, const bh_works *works, const bh_mac *mac, const app_map *map,
                            const branch_numbers *numbers, request_list *lists)
{
    bh_list list;
    int code = EQP_OK;

    bh_list_init(&list);
    for (int64_t w = 0; w < works->n && code == EQP_OK; w++) {
        const bh_work *work = &works->work[w];
        bh_tile_choice choice;
        bh_tile_fn keep = bh_tile_choose(&choice, map, work->tag, me, &work->group);
        code = bh_walk_absent(tree, &work->group, mac, keep, &choice, &list);
        for (int64_t i = 0; i < list.nabsent && code == EQP_OK; i++) {
            code = add_request(tree, w, work, list.absent[i], numbers, lists);
        }
    }
    bh_list_free(&list);
    return code;
}

/* The lists one after the other, as messages; each is given back once it is copied. */
static int write_requests(request_list *lists, int nranks, mailbag *groups, mailbag *branches)
{
    group_request *request;
    uint64_t *words;
    int64_t n = 0, nwords = 0;
    int code;

    for (int r = 0; r < nranks; r++) {
        n += lists[r].n;
        nwords += lists[r].nwords;
    }
    code = mail_create(groups, nranks, n, sizeof *request);
    code = code ? code : mail_create(branches, nranks, nwords, sizeof *words);
    request = groups->out;
    words = branches->out;
    for (int r = 0; r < nranks && code == EQP_OK; r++) {
        request_list *list = &lists[r];
        if (list->n > 0) {
            memcpy(request, list->request, (size_t)list->n * sizeof *request);
            memcpy(words, list->words, (size_t)list->nwords * sizeof *words);
        }
        request += groups->sent[r] = list->n;
        words += branches->sent[r] = list->nwords;
        free(list->request);
        free(list->words);
        *list = (request_list){0};
    }
    return code;
}

static int make_requests(const bh_tree *tree, int me, int nranks, const bh_works *works, const bh_mac *mac,
                         const app_map *map, mailbag *groups, mailbag *branches)
{
    branch_numbers numbers = {0};
    request_list *lists = NULL;
    int code = numbers_create(tree, me, nranks, &numbers);

    code = code ? code : eqp_array_create(&lists, nranks, sizeof *lists);
    code = code ? code : collect_requests(tree, me, works, mac, map, &numbers, lists);
    code = code ? code : write_requests(lists, nranks, groups, branches);
    lists_free(lists, nranks);
    numbers_free(&numbers);
    return code;
}

/* words: the set of branches */
static int mark_request(bh_let *let, const bh_tree *tree, const group_request *request, const uint64_t *words,
                        const bh_mac *mac, const app_map *map, int asker)
{
    bh_tile_choice choice;
    bh_tile_fn keep = bh_tile_choose(&choice, map, request->tag, asker, &request->group);

    for (int64_t branch = 0; branch < tree->nbranches; branch++) {
        if (words[branch / 64] >> branch % 64 & 1) {
            int code = bh_let_mark(let, branch, &request->group, mac, keep, &choice);
            if (code != EQP_OK) {
                return code;
            }
        }
    }
    return EQP_OK;
}

/* Answers every rank's requests with the marked part of this rank's tree. */
static int answer(const bh_tree *tree, const mailbag *groups, const mailbag *branches, const bh_mac *mac,
                  const app_map *map, mailbag *trees)
{
    const group_request *in = groups->in;
    const int64_t nwords = words_for(tree->nbranches);
    const uint64_t *words = branches->in;
    size_t size = 0, capacity = 0;
    bh_let *let = NULL;
    int code = bh_let_create(tree, &let);

    for (int r = 0; r < groups->nranks && code == EQP_OK; r++) {
        int64_t ncells = 0, nparticles = 0;
        size_t before = size;
        if (branches->received[r] != groups->received[r] * nwords) {
            code = EQP_ERR_INTERNAL; /* the asker knows of other branches than there are */
            break;
        }
        bh_let_reset(let);
        for (int64_t i = 0; i < groups->received[r] && code == EQP_OK; i++, in++, words += nwords) {
            code = mark_request(let, tree, in, words, mac, map, r);
        }
        if (code == EQP_OK && groups->received[r] > 0) {
            code = bh_let_pack(let, (unsigned char **)&trees->out, &size, &capacity, &ncells, &nparticles);
        }
        trees->sent[r] = (int64_t)(size - before);
    }
    bh_let_free(let);
    return code;
}

static int graft(bh_tree *tree, const mailbag *trees, bh_traffic *traffic)
{
    const unsigned char *in = trees->in;
    int64_t cells = tree->ncells, particles = tree->sources.n;

    for (int r = 0; r < trees->nranks; r++) {
        if (trees->received[r] > 0) {
            int code = bh_let_graft(tree, r, in, (size_t)trees->received[r]);
            if (code != EQP_OK) {
                return code;
            }
        }
        in += trees->received[r];
    }
    traffic->cells += tree->ncells - cells;
    traffic->particles += tree->sources.n - particles;
    return EQP_OK;
}

int bh_essential_fetch(bh_tree *tree, MPI_Comm comm, const bh_works *works, const bh_mac *mac, const app_map *map,
                       bh_traffic *traffic)
{
    mailbag groups = {0}, branches = {0}, trees = {0};
    int me, nranks, code;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    if (nranks == 1) {
        return EQP_OK; /* everything is here */
    }
    code = make_requests(tree, me, nranks, works, mac, map, &groups, &branches);
    if (code == EQP_OK) {
        code = mail_create(&trees, nranks, -1, 1);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = mail_post(&groups, comm, sizeof(group_request));
    }
    if (code == EQP_OK) {
        code = mail_post(&branches, comm, sizeof(uint64_t));
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, answer(tree, &groups, &branches, mac, map, &trees), NULL);
    }
    mail_drop_in(&groups);
    mail_drop_in(&branches);
    if (code == EQP_OK) {
        code = mail_post(&trees, comm, 1);
    }
    if (code == EQP_OK) {
        traffic->bytes += mail_bytes(&groups, sizeof(group_request)) + mail_bytes(&branches, sizeof(uint64_t)) +
                          mail_bytes(&trees, 1);
        code = eqp_agree(comm, graft(tree, &trees, traffic), NULL);
    }
    mail_free(&trees);
    mail_free(&branches);
    mail_free(&groups);
    return code;
}
