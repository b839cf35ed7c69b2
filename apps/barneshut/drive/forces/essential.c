/* SPDX-License-Identifier: BSD-3-Clause */
#include "essential.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int64_t bh_request_bytes(const bh_mac *mac)
{
    return (int64_t)(mac->relative && mac->cutoff == 0 ? sizeof(bh_request) : offsetof(bh_request, accel));
}

static bh_request request_for(const bh_tasks *tasks, int64_t g)
{
    const bh_group *group = &tasks->group[g];
    bh_request request = {.tag = tasks->tag[g], .accel = group->accel};

    memcpy(request.lo, group->lo, sizeof request.lo);
    memcpy(request.hi, group->hi, sizeof request.hi);
    return request;
}

/* Requests of this rank: as messages to ranks, or as blocks of a route. */
typedef struct request_list {
    eqp_messenger *messages; /* NULL: they go by a route */
    int64_t n, nranks, capacity;
    int64_t *id, *bytes, *first; /* [n], [n], [n + 1] */
    int *rank;                   /* [nranks] */
    unsigned char *data, *end;   /* records, and where the next one goes */
    int64_t *last;               /* [ranks] 1 + the last group for which each is asked */
} request_list;

static void requests_free(request_list *list)
{
    free(list->id);
    free(list->bytes);
    free(list->first);
    free(list->rank);
    free(list->data);
    free(list->last);
}

static int requests_create(request_list *list, int64_t n, int64_t bytes, int nranks)
{
    int code;

    EQP_TRY(eqp_array_create(&list->last, nranks, sizeof *list->last));
    if (list->messages != NULL) {
        return EQP_OK;
    }
    EQP_TRY(eqp_array_create(&list->id, n, sizeof *list->id));
    EQP_TRY(eqp_array_create(&list->bytes, n, sizeof *list->bytes));
    EQP_TRY(eqp_array_create(&list->first, n + 1, sizeof *list->first));
    EQP_TRY(eqp_array_create(&list->data, n, (size_t)bytes));
done:
    list->end = list->data;
    return code;
}

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Adds a rank to the request's; a message gets a copy of it. */
static int add_rank(request_list *list, int home, const bh_request *request, int64_t bytes)
{
    unsigned char *room;
    int code;

    if (list->messages != NULL) {
        EQP_TRY(eqp_messenger_put(list->messages, home, bytes, &room));
        memcpy(room, request, (size_t)bytes);
        return EQP_OK;
    }
    EQP_TRY(eqp_array_reserve(&list->rank, &list->capacity, list->nranks + 1, sizeof *list->rank));
    list->rank[list->nranks++] = home;
done:
    return code;
}

/* One request to the homes of all cells that the walk of a group has found, except `alone`, which needs no answer. */
static int add_request(request_list *list, const bh_tree *tree, const bh_tasks *tasks, int64_t g, const bh_list *walk,
                       int alone, int64_t bytes)
{
    const int64_t begin = list->nranks;
    const bh_request request = request_for(tasks, g);
    int code = EQP_OK;

    for (int64_t i = 0; i < walk->nabsent; i++) {
        const int home = tree->cell[walk->absent[i]].home;
        if (home != alone && list->last[home] != g + 1) {
            list->last[home] = g + 1;
            EQP_TRY(add_rank(list, home, &request, bytes));
        }
    }
    if (list->nranks > begin) {
        qsort(list->rank + begin, (size_t)(list->nranks - begin), sizeof *list->rank, compare_ranks);
        memcpy(list->end, &request, (size_t)bytes);
        list->end += bytes;
        list->id[list->n] = g;
        list->bytes[list->n++] = bytes;
        list->first[list->n] = list->nranks;
    }
done:
    return code;
}

/* A position in the lists of groups sent and of tasks that stay. */
typedef struct group_place {
    int64_t sent, local; /* the next group that goes out; the next task that stays */
} group_place;

/* True if other ranks compute some of a group; groups come in order. alone: the rank that computes all of it, or -1.
 * own: this rank's task for it, or -1. */
static bool is_sent(const bh_tasks *tasks, int64_t g, group_place *at, int *alone, int64_t *own)
{
    const bool sent = at->sent < tasks->nsent && tasks->sent_group[at->sent] == g;
    const bool here = at->local < tasks->nlocal && tasks->task[at->local].at_home == g;

    *alone = -1;
    if (sent) {
        const int64_t first = tasks->sent_first[at->sent], n = tasks->sent_first[at->sent + 1] - first;
        *alone = n == 1 && !here ? tasks->sent_rank[first] : -1;
        at->sent++;
    }
    *own = here ? at->local++ : -1;
    return sent;
}

/* Marks a share of a group, or a group from another rank, that waits for absent cells. */
static int find_wait(const bh_tree *tree, int me, bh_tasks *tasks, int64_t w, const bh_mac *mac, const eqp_map *map,
                     bh_list *list)
{
    const bh_task *task = &tasks->task[w];
    bh_tile_choice choice;
    const int code =
        bh_walk_absent(tree, &task->group, mac, bh_tile_choose(&choice, map, task->tag, me, &task->group), list);

    tasks->waits[w] = list->nabsent > 0;
    return code;
}

/* Collects the requests for every group and marks the tasks that wait for absent cells. */
static int collect_requests(const bh_tree *tree, int me, int nranks, bh_tasks *tasks, const bh_mac *mac,
                            const eqp_map *map, request_list *requests)
{
    const int64_t bytes = bh_request_bytes(mac);
    group_place at = {0, 0};
    bh_list list;
    int code = requests_create(requests, tasks->ngroups, bytes, nranks);

    bh_list_init(&list);
    for (int64_t g = 0; g < tasks->ngroups && code == EQP_OK; g++) {
        const bh_group *group = &tasks->group[g];
        int64_t own;
        int alone;
        const bool sent = is_sent(tasks, g, &at, &alone, &own);
        code = sent ? bh_walk_branches(tree, group, mac, &list) : bh_walk_absent(tree, group, mac, NULL, &list);
        code = code == EQP_OK ? add_request(requests, tree, tasks, g, &list, alone, bytes) : code;
        if (!sent) {
            tasks->waits[own] = list.nabsent > 0;
        } else if (own >= 0 && code == EQP_OK) {
            code = find_wait(tree, me, tasks, own, mac, map, &list);
        }
    }
    for (int64_t w = tasks->nlocal; w < tasks->n && code == EQP_OK; w++) {
        code = find_wait(tree, me, tasks, w, mac, map, &list);
    }
    bh_list_free(&list);
    return code;
}

/* A rank that gets the cells it needs for a group. */
typedef struct due {
    int asker;
    int64_t request; /* its number among those that arrived, then this rank's own */
} due;

typedef struct due_list {
    int64_t n, capacity;
    due *due;
} due_list;

static int add_dues(due_list *list, int64_t request, int n, const int *rank, int me)
{
    int code = eqp_array_reserve(&list->due, &list->capacity, list->n + n, sizeof *list->due);

    for (int i = 0; i < n && code == EQP_OK; i++) {
        if (rank[i] != me) {
            list->due[list->n++] = (due){rank[i], request};
        }
    }
    return code;
}

/* Sorts by ranks; requests of each stay in order. */
static int sort_dues(due_list *list, int nranks)
{
    int64_t *next = NULL;
    due *sorted = NULL;
    int code;

    EQP_TRY(eqp_array_create(&next, nranks + 1, sizeof *next));
    EQP_TRY(eqp_array_create(&sorted, list->n, sizeof *sorted));
    for (int64_t i = 0; i < list->n; i++) {
        next[list->due[i].asker + 1]++;
    }
    for (int r = 0; r < nranks; r++) {
        next[r + 1] += next[r];
    }
    for (int64_t i = 0; i < list->n; i++) {
        sorted[next[list->due[i].asker]++] = list->due[i];
    }
    free(list->due);
    list->due = sorted;
    list->capacity = list->n;
    sorted = NULL;
done:
    free(next);
    free(sorted);
    return code;
}

/* Requests that arrived, then those that this rank would send to itself. */
typedef struct asked {
    int64_t n;
    const unsigned char **at; /* [n] */
    size_t bytes;             /* of each */
    const bh_tasks *tasks;
} asked;

static bh_request request_of(const asked *in, int64_t i)
{
    bh_request request = {.tag = 0};

    if (i >= in->n) {
        return request_for(in->tasks, in->tasks->sent_group[i - in->n]);
    }
    memcpy(&request, in->at[i], in->bytes);
    return request;
}

/* Requests from a route. */
static int list_blocks(asked *in, const eqp_route_view *came, const unsigned char *received)
{
    const int code = eqp_array_create(&in->at, came->n, sizeof *in->at);

    for (int64_t i = 0; i < came->n && code == EQP_OK; i++) {
        in->at[in->n++] = received + came->offset[i];
    }
    return code;
}

/* Requests in messages. */
static int list_messages(asked *in, const eqp_messages_view *came)
{
    int64_t n = 0;
    int code;

    for (int i = 0; i < came->n; i++) {
        EQP_TRY(came->bytes[i] % (int64_t)in->bytes != 0 ? EQP_ERR_FORMAT : EQP_OK);
        n += came->bytes[i] / (int64_t)in->bytes;
    }
    EQP_TRY(eqp_array_create(&in->at, n, sizeof *in->at));
    for (int i = 0; i < came->n; i++) {
        const unsigned char *const begin = came->data[i];
        for (int64_t at = 0; at < came->bytes[i]; at += (int64_t)in->bytes) {
            in->at[in->n++] = begin + at;
        }
    }
done:
    return code;
}

/* The ranks to answer: for each request all that compute some of its group. Sorted by ranks, for marking. */
static int find_dues(const asked *in, int me, int nranks, const eqp_map *map, due_list *list)
{
    int *rank = NULL;
    int code = eqp_array_create(&rank, nranks, sizeof *rank);

    for (int64_t i = 0; i < in->n + in->tasks->nsent && code == EQP_OK; i++) {
        const bh_request request = request_of(in, i);
        code = add_dues(list, i, eqp_map_ranks(map, request.tag, nranks, rank), rank, me);
    }
    code = code == EQP_OK ? sort_dues(list, nranks) : code;
    free(rank);
    return code;
}

/* Marks the requested cells. let: owned by the caller. */
static int mark(const bh_tree *tree, const asked *in, const due_list *dues, const bh_mac *mac, const eqp_map *map,
                bh_let **let, bh_let_blocks *blocks)
{
    int code;

    EQP_TRY(bh_let_create(tree, let));
    for (int64_t i = 0; i < dues->n; i++) {
        const bh_request request = request_of(in, dues->due[i].request);
        const int asker = dues->due[i].asker;
        bh_group group = {.accel = request.accel};
        bh_tile_choice choice;
        memcpy(group.lo, request.lo, sizeof group.lo);
        memcpy(group.hi, request.hi, sizeof group.hi);
        EQP_TRY(bh_let_mark(*let, asker, &group, mac, bh_tile_choose(&choice, map, request.tag, asker, &group)));
    }
    EQP_TRY(bh_let_blocks_get(*let, blocks));
done:
    return code;
}

/* Marks the cells for all requests that arrived. */
static int answer(const bh_fetch *fetch, const asked *in, const bh_mac *mac, const eqp_map *map, bh_let **let,
                  bh_let_blocks *blocks)
{
    due_list dues = {0};
    int me, nranks, code;

    MPI_Comm_rank(fetch->comm, &me);
    MPI_Comm_size(fetch->comm, &nranks);
    EQP_TRY(find_dues(in, me, nranks, map, &dues));
    EQP_TRY(mark(fetch->tree, in, &dues, mac, map, let, blocks));
done:
    free(dues.due);
    return code;
}

/* ---- by routes ---- */

/* Answers the requests by blocks, which are then under way. */
static int send_blocks(bh_fetch *fetch, const eqp_exchange_plan *plan, const eqp_route *requests, const void *received,
                       const bh_tasks *tasks, const bh_mac *mac, const eqp_map *map)
{
    const eqp_route_view came = eqp_route_arrivals(requests);
    asked in = {.bytes = (size_t)bh_request_bytes(mac), .tasks = tasks};
    bh_let_blocks marked = {0};
    bh_let *let = NULL;
    int code = list_blocks(&in, &came, received);

    code = code == EQP_OK ? answer(fetch, &in, mac, map, &let, &marked) : code;
    if (code == EQP_OK && marked.size > 0) {
        fetch->data = malloc((size_t)marked.size);
        code = fetch->data == NULL ? EQP_ERR_MEMORY : EQP_OK;
    }
    if (code == EQP_OK && marked.size > 0) {
        bh_let_pack(let, fetch->data);
    }
    free(in.at);
    const eqp_route_blocks blocks = {.n = marked.n,
                                     .id = marked.id,
                                     .bytes = marked.bytes,
                                     .first = marked.first,
                                     .rank = marked.asker,
                                     .code = code};
    code = eqp_route_create(fetch->comm, plan, &blocks, &fetch->ghosts);
    bh_let_free(let);
    return code == EQP_OK ? eqp_route_start(fetch->ghosts, fetch->data) : code;
}

static int start_by_routes(bh_fetch *fetch, const eqp_exchange_plan *plan, const request_list *list,
                           const bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic)
{
    const eqp_route_blocks blocks = {
        .n = list->n, .id = list->id, .bytes = list->bytes, .first = list->first, .rank = list->rank, .code = code};
    eqp_route *requests = NULL;
    const void *received = NULL;

    code = bh_trip(fetch->comm, plan, &blocks, list->data, &requests, &received, &traffic->phase[BH_PHASE_REQUESTS]);
    if (code == EQP_OK) {
        code = send_blocks(fetch, plan, requests, received, tasks, mac, map);
    }
    eqp_route_free(requests);
    return code;
}

/* ---- by messages ---- */

/* Packs each block once for all ranks that get it. */
static int put_blocks(eqp_messenger *messages, const bh_let *let, const bh_let_blocks *blocks)
{
    int code = EQP_OK;

    for (int64_t b = 0; b < blocks->n; b++) {
        const size_t bytes = (size_t)blocks->bytes[b];
        unsigned char *first = NULL, *room;
        for (int64_t k = blocks->first[b]; k < blocks->first[b + 1]; k++) {
            EQP_TRY(eqp_messenger_put(messages, blocks->asker[k], blocks->bytes[b], &room));
            if (first == NULL) {
                first = room;
                bh_let_pack_block(let, b, room);
            } else {
                memcpy(room, first, bytes);
            }
        }
    }
done:
    return code;
}

/* Every rank that has sent a request gets an answer and expects one; with tasks away from home other ranks get some,
 * too. */
static int send_messages(bh_fetch *fetch, bh_messengers *messengers, const bh_tasks *tasks, const bh_mac *mac,
                         const eqp_map *map, int code)
{
    const eqp_messages_view came = eqp_messenger_came(messengers->requests);
    asked in = {.bytes = (size_t)bh_request_bytes(mac), .tasks = tasks};
    bh_let_blocks marked = {0};
    bh_let *let = NULL;

    code = code == EQP_OK ? list_messages(&in, &came) : code;
    code = code == EQP_OK ? answer(fetch, &in, mac, map, &let, &marked) : code;
    code = code == EQP_OK ? put_blocks(messengers->ghosts, let, &marked) : code;
    bh_let_free(let);
    free(in.at);
    const int sent = tasks->messengers != NULL ? eqp_messenger_send(messengers->ghosts, code)
                                               : eqp_messenger_answer(messengers->ghosts, code, came.n, came.rank,
                                                                      messengers->nasked, messengers->asked);
    fetch->messages = sent == EQP_OK ? messengers->ghosts : NULL;
    return code == EQP_OK ? sent : code;
}

static int start_by_messages(bh_fetch *fetch, bh_messengers *messengers, const request_list *list,
                             const bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, int code,
                             bh_traffic *traffic)
{
    int nranks;

    MPI_Comm_size(fetch->comm, &nranks);
    messengers->nasked = 0;
    for (int r = 0; r < nranks && code == EQP_OK; r++) {
        if (list->last[r] > 0) {
            messengers->asked[messengers->nasked++] = r;
        }
    }
    EQP_TRY(eqp_messenger_send(messengers->requests, code));
    code = eqp_messenger_finish(messengers->requests);
    traffic->phase[BH_PHASE_REQUESTS] = eqp_messenger_last_counts(messengers->requests);
    if (eqp_messenger_came(messengers->requests).rank != NULL) { /* on all ranks */
        code = send_messages(fetch, messengers, tasks, mac, map, code);
    }
done:
    return code;
}

static void fetch_free(bh_fetch *fetch)
{
    eqp_route_free(fetch->ghosts);
    free(fetch->data);
    fetch->ghosts = NULL;
    fetch->messages = NULL;
    fetch->data = NULL;
}

int bh_essential_start(bh_fetch *fetch, bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan,
                       bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic)
{
    request_list list = {0};
    bool open = false;
    int me, nranks;

    *fetch = (bh_fetch){.comm = messengers->comm, .tree = tree};
    MPI_Comm_rank(messengers->comm, &me);
    MPI_Comm_size(messengers->comm, &nranks);
    if (nranks == 1) {
        return code; /* everything is here */
    }
    const int opened = bh_messengers_open(messengers, plan, &open);
    if (opened != EQP_OK) { /* on all ranks */
        return opened;
    }
    list.messages = open ? messengers->requests : NULL;
    code = code == EQP_OK ? collect_requests(tree, me, nranks, tasks, mac, map, &list) : code;
    code = list.messages != NULL ? start_by_messages(fetch, messengers, &list, tasks, mac, map, code, traffic)
                                 : start_by_routes(fetch, plan, &list, tasks, mac, map, code, traffic);
    requests_free(&list);
    if (code != EQP_OK && fetch->messages == NULL) {
        fetch_free(fetch);
    }
    return code;
}

int bh_essential_progress(bh_fetch *fetch)
{
    if (fetch->messages != NULL) {
        return eqp_messenger_progress(fetch->messages);
    }
    return fetch->ghosts != NULL ? eqp_route_progress(fetch->ghosts) : EQP_OK;
}

static int graft_blocks(bh_tree *tree, const eqp_route_view *in, const unsigned char *received)
{
    int code = EQP_OK;

    for (int64_t i = 0; i < in->n && code == EQP_OK; i++) {
        code = bh_let_graft(tree, in->home[i], received + in->offset[i], (size_t)in->bytes[i]);
    }
    return code;
}

static int graft_messages(bh_tree *tree, const eqp_messages_view *in)
{
    int code = EQP_OK;

    for (int i = 0; i < in->n && code == EQP_OK; i++) {
        code = bh_let_graft_all(tree, in->rank[i], in->data[i], (size_t)in->bytes[i]);
    }
    return code;
}

/* mine: of this rank so far, which it returns unless this is the first to fail. */
static int finish_route(bh_fetch *fetch, int mine, bh_traffic *traffic)
{
    const void *received = NULL;
    const int code = eqp_route_finish(fetch->ghosts, &received);

    if (code == EQP_OK) {
        const eqp_route_view in = eqp_route_arrivals(fetch->ghosts);
        traffic->phase[BH_PHASE_GHOSTS] = eqp_route_last_counts(fetch->ghosts);
        mine = mine == EQP_OK ? graft_blocks(fetch->tree, &in, received) : mine;
    }
    return mine != EQP_OK ? mine : code;
}

static int finish_messages(bh_fetch *fetch, int mine, bh_traffic *traffic)
{
    const int code = eqp_messenger_finish(fetch->messages);
    const eqp_messages_view in = eqp_messenger_came(fetch->messages);

    if (mine != EQP_OK || code != EQP_OK) {
        return mine != EQP_OK ? mine : code;
    }
    traffic->phase[BH_PHASE_GHOSTS] = eqp_messenger_last_counts(fetch->messages);
    return graft_messages(fetch->tree, &in);
}

int bh_essential_finish(bh_fetch *fetch, int mine, bh_traffic *traffic)
{
    const int64_t cells = fetch->tree->ncells, particles = fetch->tree->sources.n;

    mine = fetch->messages != NULL ? finish_messages(fetch, mine, traffic)
           : fetch->ghosts != NULL ? finish_route(fetch, mine, traffic)
                                   : mine;
    traffic->cells += fetch->tree->ncells - cells;
    traffic->particles += fetch->tree->sources.n - particles;
    fetch_free(fetch);
    return mine;
}

int bh_essential_fetch(bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan, bh_tasks *tasks,
                       const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic)
{
    bh_fetch fetch;

    code = bh_essential_start(&fetch, tree, messengers, plan, tasks, mac, map, code, traffic);
    return eqp_agree(messengers->comm, bh_essential_finish(&fetch, code, traffic), NULL);
}
