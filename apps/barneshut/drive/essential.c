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

    return bh_map_tile_rank(choice->map, choice->tag, choice->centre, centre) == choice->rank;
}

bh_tile_fn bh_tile_choose(bh_tile_choice *choice, const bh_map *map, int64_t tag, int rank, const bh_group *group)
{
    *choice = (bh_tile_choice){.map = map, .tag = tag, .rank = rank};
    bh_group_centre(group, choice->centre);
    return tag >= 0 ? NULL : keep_mine;
}

/* One group that opens `nbranches` of a rank's branches; their keys follow in an array of their own. */
typedef struct group_request {
    bh_group group;
    int64_t tag;
    int64_t nbranches;
} group_request;

typedef struct branch_want {
    int home;
    int64_t work;
    uint64_t branch; /* key */
} branch_want;

typedef struct want_list {
    int64_t n, capacity;
    branch_want *want;
} want_list;

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
    return code;
}

static int64_t mail_bytes(const mailbag *mail, size_t size)
{
    int64_t n = 0;
    for (int r = 0; r < mail->nranks; r++) {
        n += mail->sent[r];
    }
    return n * (int64_t)size;
}

/* By home; as they were collected, by work, for each. */
static int sort_wants(want_list *wants, int nranks)
{
    branch_want *sorted = NULL;
    int64_t *place = NULL;
    int code = eqp_array_create(&sorted, wants->n, sizeof *sorted);

    if (code == EQP_OK) {
        code = eqp_array_create(&place, nranks + 1, sizeof *place);
    }
    if (code != EQP_OK) {
        free(sorted);
        return code;
    }
    for (int64_t i = 0; i < wants->n; i++) {
        place[wants->want[i].home + 1]++;
    }
    for (int r = 0; r < nranks; r++) {
        place[r + 1] += place[r];
    }
    for (int64_t i = 0; i < wants->n; i++) {
        sorted[place[wants->want[i].home]++] = wants->want[i];
    }
    free(place);
    free(wants->want);
    wants->want = sorted;
    wants->capacity = wants->n;
    return EQP_OK;
}

static int collect_wants(const bh_tree *tree, int me, const bh_works *works, const bh_mac *mac, const bh_map *map,
                         want_list *wants)
{
    bh_list list;
    int code = EQP_OK;

    bh_list_init(&list);
    for (int64_t w = 0; w < works->n && code == EQP_OK; w++) {
        bh_tile_choice choice;
        bh_tile_fn keep = bh_tile_choose(&choice, map, works->work[w].tag, me, &works->work[w].group);
        code = bh_walk_absent(tree, &works->work[w].group, mac, keep, &choice, &list);
        if (code == EQP_OK) {
            code = eqp_array_reserve(&wants->want, &wants->capacity, wants->n + list.nabsent, sizeof(branch_want));
        }
        for (int64_t i = 0; i < list.nabsent && code == EQP_OK; i++) {
            const bh_cell *cell = &tree->cell[list.absent[i]];
            wants->want[wants->n++] = (branch_want){cell->home, w, cell->key};
        }
    }
    bh_list_free(&list);
    return code;
}

static int write_requests(const want_list *wants, const bh_works *works, int nranks, mailbag *groups, mailbag *branches)
{
    group_request *out;
    uint64_t *key;
    int64_t n = -1;
    int code = mail_create(groups, nranks, wants->n, sizeof(group_request));

    if (code == EQP_OK) {
        code = mail_create(branches, nranks, wants->n, sizeof(uint64_t));
    }
    if (code != EQP_OK) {
        return code;
    }
    out = groups->out;
    key = branches->out;
    for (int64_t i = 0; i < wants->n; i++) {
        const branch_want *want = &wants->want[i];
        if (i == 0 || want->work != want[-1].work || want->home != want[-1].home) {
            const bh_work *work = &works->work[want->work];
            out[++n] = (group_request){.group = work->group, .tag = work->tag};
            groups->sent[want->home]++;
        }
        out[n].nbranches++;
        key[i] = want->branch;
        branches->sent[want->home]++;
    }
    return EQP_OK;
}

/* This rank's branch that begins at a key; -1 if there is none. */
static int64_t find_branch(const bh_tree *tree, uint64_t key)
{
    int64_t low = 0, high = tree->nbranches;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (tree->cell[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < tree->nbranches && tree->cell[low].key == key ? low : -1;
}

static int mark_request(bh_let *let, const bh_tree *tree, const group_request *request, const uint64_t *key,
                        const bh_mac *mac, const bh_map *map, int asker)
{
    bh_tile_choice choice;
    bh_tile_fn keep = bh_tile_choose(&choice, map, request->tag, asker, &request->group);

    for (int64_t b = 0; b < request->nbranches; b++) {
        int64_t branch = find_branch(tree, key[b]);
        int code = branch < 0 ? EQP_ERR_INTERNAL : bh_let_mark(let, branch, &request->group, mac, keep, &choice);
        if (code != EQP_OK) {
            return code;
        }
    }
    return EQP_OK;
}

/* Answers every rank's requests with the marked part of this rank's tree. */
static int answer(const bh_tree *tree, const mailbag *groups, const mailbag *branches, const bh_mac *mac,
                  const bh_map *map, mailbag *trees)
{
    const group_request *in = groups->in;
    const uint64_t *key = branches->in;
    size_t size = 0, capacity = 0;
    bh_let *let = NULL;
    int code = bh_let_create(tree, &let);

    for (int r = 0; r < groups->nranks && code == EQP_OK; r++) {
        int64_t ncells = 0, nparticles = 0;
        size_t before = size;
        bh_let_reset(let);
        for (int64_t i = 0; i < groups->received[r] && code == EQP_OK; i++, in++) {
            code = mark_request(let, tree, in, key, mac, map, r);
            key += in->nbranches;
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

int bh_essential_fetch(bh_tree *tree, MPI_Comm comm, const bh_works *works, const bh_mac *mac, const bh_map *map,
                       bh_traffic *traffic)
{
    want_list wants = {0};
    mailbag groups = {0}, branches = {0}, trees = {0};
    int me, nranks, code;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    if (nranks == 1) {
        return EQP_OK; /* everything is here */
    }
    code = collect_wants(tree, me, works, mac, map, &wants);
    if (code == EQP_OK) {
        code = sort_wants(&wants, nranks);
    }
    if (code == EQP_OK) {
        code = write_requests(&wants, works, nranks, &groups, &branches);
    }
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
    free(wants.want);
    return code;
}
