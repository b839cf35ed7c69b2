/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

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

/* Requests of this rank, with their receivers. */
typedef struct request_list {
    const bh_tasks *tasks;
    const eqp_node_shape *shape;
    int64_t n, nranks, capacity, size;
    int64_t *id, *bytes, *first; /* [n], [n], [n + 1] */
    int *rank;                   /* [nranks] */
    int64_t *last;               /* [ranks] 1 + the last group requested from each */
} request_list;

static void requests_free(request_list *list)
{
    free(list->id);
    free(list->bytes);
    free(list->first);
    free(list->rank);
    free(list->last);
}

static int requests_create(request_list *list, int64_t n, int nranks)
{
    EQP_CHECK(eqp_array_create(&list->last, nranks, sizeof *list->last));
    EQP_CHECK(eqp_array_create(&list->id, n, sizeof *list->id));
    EQP_CHECK(eqp_array_create(&list->bytes, n, sizeof *list->bytes));
    return eqp_array_create(&list->first, n + 1, sizeof *list->first);
}

static void pack_request(const void *user, int64_t i, unsigned char *to)
{
    const request_list *list = user;
    const bh_request request = request_for(list->tasks, list->id[i]);

    memcpy(to, &request, (size_t)list->size);
}

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Ranks of a node need no cells from each other. shape: NULL: every rank is a node of its own. */
static int node_of(const eqp_node_shape *shape, int rank)
{
    return shape != NULL ? shape->of[rank] : rank;
}

/* The rank that gets a home's cells for all ranks of the asker's node. */
static int receiver_of(const eqp_node_shape *shape, int home, int asker)
{
    if (shape == NULL) {
        return asker;
    }
    const int node = shape->of[asker], first = shape->first[node], n = shape->first[node + 1] - first;
    return shape->member[first + shape->place[home] % n];
}

/* Adds one request to the homes of all cells found by a group's walk, except those of the node `alone`, which need no
 * answer. */
static int add_request(request_list *list, const bh_tree *tree, int64_t g, const bh_list *walk, int alone)
{
    const int64_t begin = list->nranks;

    for (int64_t i = 0; i < walk->nabsent; i++) {
        const int home = tree->cell[walk->absent[i]].home;
        if (node_of(list->shape, home) != alone && list->last[home] != g + 1) {
            list->last[home] = g + 1;
            EQP_CHECK(eqp_array_reserve(&list->rank, &list->capacity, list->nranks + 1, sizeof *list->rank));
            list->rank[list->nranks++] = home;
        }
    }
    if (list->nranks > begin) {
        qsort(list->rank + begin, (size_t)(list->nranks - begin), sizeof *list->rank, compare_ranks);
        list->id[list->n] = g;
        list->bytes[list->n++] = list->size;
        list->first[list->n] = list->nranks;
    }
    return EQP_OK;
}

typedef struct group_place {
    int64_t sent, local; /* the next group that goes out; the next task that stays */
} group_place;

/* True if other ranks compute some of a group; call in group order. alone: the node that computes all of it, or -1.
 * own: this rank's task for it, or -1. */
static bool is_sent(const bh_tasks *tasks, const eqp_node_shape *shape, int me, int64_t g, group_place *at, int *alone,
                    int64_t *own)
{
    const bool sent = at->sent < tasks->nsent && tasks->sent_group[at->sent] == g;
    const bool here = at->local < tasks->nlocal && tasks->task[at->local].at_home == g;

    *alone = -1;
    if (sent) {
        const int64_t first = tasks->sent_first[at->sent], end = tasks->sent_first[at->sent + 1];
        *alone = node_of(shape, here ? me : tasks->sent_rank[first]);
        for (int64_t i = first; i < end; i++) {
            *alone = node_of(shape, tasks->sent_rank[i]) == *alone ? *alone : -1;
        }
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

/* Collects the requests for every group and marks the tasks that wait. */
static int collect_requests(const bh_tree *tree, int me, int nranks, bh_tasks *tasks, const bh_mac *mac,
                            const eqp_map *map, request_list *requests)
{
    group_place at = {0, 0};
    bh_list list;
    int code = requests_create(requests, tasks->ngroups, nranks);

    bh_list_init(&list);
    for (int64_t g = 0; g < tasks->ngroups && code == EQP_OK; g++) {
        const bh_group *group = &tasks->group[g];
        int64_t own;
        int alone;
        const bool sent = is_sent(tasks, requests->shape, me, g, &at, &alone, &own);
        code = sent ? bh_walk_branches(tree, group, mac, &list) : bh_walk_absent(tree, group, mac, NULL, &list);
        code = code == EQP_OK ? add_request(requests, tree, g, &list, alone) : code;
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

/* A rank that receives the cells it needs for a group. */
typedef struct due {
    int asker;
    int receiver;  /* of the cells: the asker, or a rank of its node */
    int64_t place; /* in the list, before it is sorted */
    bh_request request;
} due;

typedef struct due_list {
    const eqp_node_shape *shape;
    int64_t n, capacity;
    due *due;
    int *rank; /* [ranks] scratch */
} due_list;

static int compare_dues(const void *a, const void *b)
{
    const due *p = a, *q = b;

    return p->receiver != q->receiver ? (p->receiver > q->receiver) - (p->receiver < q->receiver)
                                      : (p->place > q->place) - (p->place < q->place);
}

/* All other ranks that compute some of a request's group. */
static int add_dues(due_list *list, const bh_request *request, int me, int nranks, const eqp_map *map)
{
    const int n = eqp_map_ranks(map, request->tag, nranks, list->rank);

    EQP_CHECK(eqp_array_reserve(&list->due, &list->capacity, list->n + n, sizeof *list->due));
    for (int i = 0; i < n; i++) {
        const int asker = list->rank[i];
        if (node_of(list->shape, asker) != node_of(list->shape, me)) {
            list->due[list->n] = (due){asker, receiver_of(list->shape, me, asker), list->n, *request};
            list->n++;
        }
    }
    return EQP_OK;
}

/* Lists the ranks to answer, sorted by rank: those of the requests that arrived, and this rank if it asks itself. */
static int find_dues(const bh_parcels *came, size_t bytes, const bh_tasks *tasks, int me, int nranks,
                     const eqp_map *map, due_list *list)
{
    EQP_CHECK(eqp_array_create(&list->rank, nranks, sizeof *list->rank));
    for (int64_t i = 0; i < bh_parcels_pieces(came); i++) {
        const bh_piece piece = bh_parcels_piece(came, i);
        EQP_CHECK(piece.bytes % (int64_t)bytes != 0 ? EQP_ERR_FORMAT : EQP_OK);
        for (int64_t at = 0; at < piece.bytes; at += (int64_t)bytes) {
            bh_request request = {.tag = 0};
            memcpy(&request, piece.data + at, bytes);
            EQP_CHECK(add_dues(list, &request, me, nranks, map));
        }
    }
    for (int64_t s = 0; s < tasks->nsent; s++) {
        const bh_request request = request_for(tasks, tasks->sent_group[s]);
        EQP_CHECK(add_dues(list, &request, me, nranks, map));
    }
    if (list->n > 0) {
        qsort(list->due, (size_t)list->n, sizeof *list->due, compare_dues);
    }
    return EQP_OK;
}

static int mark(bh_let *let, const due *of, const bh_mac *mac, const eqp_map *map)
{
    bh_group group = {.accel = of->request.accel};
    bh_tile_choice choice;

    memcpy(group.lo, of->request.lo, sizeof group.lo);
    memcpy(group.hi, of->request.hi, sizeof group.hi);
    return bh_let_mark(let, of->receiver, &group, mac,
                       bh_tile_choose(&choice, map, of->request.tag, of->asker, &group));
}

static int answer(const bh_tree *tree, MPI_Comm comm, const eqp_node_shape *shape, const bh_parcels *came,
                  const bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, bh_let **let, bh_let_blocks *blocks)
{
    due_list list = {.shape = shape};
    int me, nranks, code;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    EQP_TRY(find_dues(came, (size_t)bh_request_bytes(mac), tasks, me, nranks, map, &list));
    EQP_TRY(bh_let_create(tree, let));
    for (int64_t i = 0; i < list.n; i++) {
        EQP_TRY(mark(*let, &list.due[i], mac, map));
    }
    EQP_TRY(bh_let_blocks_get(*let, blocks));
done:
    free(list.rank);
    free(list.due);
    return code;
}

static void pack_ghosts(const void *let, int64_t block, unsigned char *to)
{
    bh_let_pack_block(let, block, to);
}

static const eqp_node_shape *shape_of(const bh_messengers *m)
{
    return m->neighbours != NULL ? bh_neighbours_shape(m->neighbours) : NULL;
}

/* A home answers the receivers of the nodes that have asked it, and receives what the ranks of this node have asked
 * for, also after a failure. Returns the code of the node. */
static int find_partners(const bh_messengers *m, const eqp_node_shape *shape, const eqp_messages_view *came, int code,
                         bh_partners *partners)
{
    int me, nranks, *to, *from;

    MPI_Comm_rank(m->comm, &me);
    MPI_Comm_size(m->comm, &nranks);
    bh_neighbours_ask(m->neighbours, m->nasked, m->asked);
    code = eqp_node_meet(m->neighbours->node, code);
    to = m->partner + nranks;
    from = to + nranks;
    for (int i = 0; i < came->n; i++) {
        m->partner[i] = receiver_of(shape, me, came->rank[i]);
    }
    *partners = (bh_partners){.nto = bh_list_ranks(came->n, m->partner, nranks, to), .to = to, .from = from};
    for (int home = 0; home < nranks; home++) {
        if (receiver_of(shape, home, me) == me && bh_neighbours_asked(m->neighbours, home)) {
            from[partners->nfrom++] = home;
        }
    }
    return code;
}

/* Starts to answer the requests with blocks. With messages every rank that has sent a request gets an answer and
 * expects one; with tasks away from home other ranks get some too. */
static int send_ghosts(bh_fetch *fetch, bh_messengers *m, const eqp_exchange_plan *plan, const bh_parcels *requests,
                       const bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, int code)
{
    const eqp_messages_view came = eqp_messenger_came(requests->messages);
    const eqp_node_shape *shape = shape_of(m);
    bh_partners partners = {came.n, m->nasked, came.rank, m->asked};
    bh_let_blocks marked = {0};
    bh_let *let = NULL;

    if (shape != NULL && requests->messages != NULL && !tasks->returns) {
        code = find_partners(m, shape, &came, code, &partners);
    }
    code = code == EQP_OK ? answer(fetch->tree, m->comm, shape, requests, tasks, mac, map, &let, &marked) : code;
    const eqp_route_blocks blocks = {.n = marked.n,
                                     .id = marked.id,
                                     .bytes = marked.bytes,
                                     .first = marked.first,
                                     .rank = marked.asker,
                                     .code = code};
    code = bh_parcels_start(&fetch->ghosts, m->comm, plan, requests->messages != NULL ? m->ghosts : NULL, &blocks,
                            pack_ghosts, let, tasks->returns ? NULL : &partners);
    bh_let_free(let);
    return code;
}

int bh_essential_start(bh_fetch *fetch, bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan,
                       bh_tasks *tasks, const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic)
{
    const eqp_node_shape *shape = shape_of(messengers);
    request_list list = {.tasks = tasks, .shape = shape, .size = bh_request_bytes(mac)};
    bh_parcels requests = {.messages = NULL};
    bool open = false;
    int me, nranks;

    *fetch = (bh_fetch){.tree = tree};
    MPI_Comm_rank(messengers->comm, &me);
    MPI_Comm_size(messengers->comm, &nranks);
    if (nranks == 1 || (shape != NULL && shape->nnodes == 1)) {
        return code; /* nothing is absent */
    }
    fetch->neighbours = shape != NULL ? messengers->neighbours : NULL;
    const int opened = bh_messengers_open(messengers, plan, &open);
    if (opened != EQP_OK) { /* on all ranks */
        return opened;
    }
    code = code == EQP_OK ? collect_requests(tree, me, nranks, tasks, mac, map, &list) : code;
    if (open) {
        messengers->nasked = code == EQP_OK ? bh_list_ranks(list.nranks, list.rank, nranks, messengers->asked) : 0;
    }
    const eqp_route_blocks blocks = {
        .n = list.n, .id = list.id, .bytes = list.bytes, .first = list.first, .rank = list.rank, .code = code};
    code = bh_parcels_start(&requests, messengers->comm, plan, open ? messengers->requests : NULL, &blocks,
                            pack_request, &list, NULL);
    code = bh_parcels_finish(&requests, code, &traffic->phase[BH_PHASE_REQUESTS]);
    if (requests.delivered) { /* on all ranks */
        code = send_ghosts(fetch, messengers, plan, &requests, tasks, mac, map, code);
    }
    bh_parcels_free(&requests);
    requests_free(&list);
    return code;
}

static int graft(bh_fetch *fetch, bh_traffic *traffic)
{
    const int64_t cells = fetch->tree->ncells, particles = fetch->tree->sources.n;
    int code = EQP_OK;

    for (int64_t i = 0; code == EQP_OK && i < bh_parcels_pieces(&fetch->ghosts); i++) {
        const bh_piece piece = bh_parcels_piece(&fetch->ghosts, i);
        code = bh_let_graft_all(fetch->tree, piece.rank, piece.data, (size_t)piece.bytes);
    }
    traffic->cells += fetch->tree->ncells - cells;
    traffic->particles += fetch->tree->sources.n - particles;
    return code;
}

/* Grafts what came to this rank onto the tree of the node, and waits for what came to the others. */
static int graft_together(bh_fetch *fetch, int code, bh_traffic *traffic)
{
    bool waits = true, again = true;
    int64_t bytes = 0;

    for (int64_t i = 0; code == EQP_OK && i < bh_parcels_pieces(&fetch->ghosts); i++) {
        bytes += bh_parcels_piece(&fetch->ghosts, i).bytes;
    }
    while (again) {
        int mine = code;
        fetch->tree->shared.lacks = (bh_room){0};
        if (mine == EQP_OK && waits) {
            mine = bh_shared_take(fetch->tree, bytes);
            waits = mine != EQP_OK;
            mine = mine == EQP_OK ? graft(fetch, traffic) : mine;
        }
        code = bh_neighbours_arrive(fetch->neighbours, fetch->tree, mine, &again);
        again = again && code == EQP_OK;
    }
    return code;
}

int bh_essential_finish(bh_fetch *fetch, int mine, bh_traffic *traffic)
{
    mine = bh_parcels_finish(&fetch->ghosts, mine, &traffic->phase[BH_PHASE_GHOSTS]);
    if (fetch->neighbours != NULL) {
        mine = graft_together(fetch, mine, traffic);
    } else if (mine == EQP_OK) {
        mine = graft(fetch, traffic);
    }
    bh_parcels_free(&fetch->ghosts);
    return mine;
}

int bh_essential_fetch(bh_tree *tree, bh_messengers *messengers, const eqp_exchange_plan *plan, bh_tasks *tasks,
                       const bh_mac *mac, const eqp_map *map, int code, bh_traffic *traffic)
{
    bh_fetch fetch;

    code = bh_essential_start(&fetch, tree, messengers, plan, tasks, mac, map, code, traffic);
    return eqp_agree(messengers->comm, bh_essential_finish(&fetch, code, traffic), NULL);
}
