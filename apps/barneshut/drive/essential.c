/* SPDX-License-Identifier: BSD-3-Clause */
#include "essential.h"

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

/* Blocks of this rank, as a route wants them. */
typedef struct block_list {
    int64_t n, nranks, capacity;
    int64_t *id, *bytes, *first; /* [n], [n], [n + 1] */
    int *rank;                   /* [nranks] */
    bh_request *request;         /* [n] */
} block_list;

static void list_free(block_list *list)
{
    free(list->id);
    free(list->bytes);
    free(list->first);
    free(list->rank);
    free(list->request);
}

static int list_create(block_list *list, int64_t n)
{
    int code = eqp_array_create(&list->id, n, sizeof *list->id);

    if (code == EQP_OK) {
        code = eqp_array_create(&list->bytes, n, sizeof *list->bytes);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&list->first, n + 1, sizeof *list->first);
    }
    return code == EQP_OK ? eqp_array_create(&list->request, n, sizeof *list->request) : code;
}

static int compare_ranks(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* One request to the homes of all that a work lacks. last [ranks]: 1 + the last work that has asked each. */
static int add_request(block_list *list, const bh_tree *tree, int64_t w, const bh_work *work, const bh_list *walk,
                       int64_t *last)
{
    const int64_t begin = list->nranks;
    int code = EQP_OK;

    for (int64_t i = 0; i < walk->nabsent && code == EQP_OK; i++) {
        const int home = tree->cell[walk->absent[i]].home;
        if (last[home] != w + 1) {
            last[home] = w + 1;
            code = eqp_array_reserve(&list->rank, &list->capacity, list->nranks + 1, sizeof *list->rank);
            if (code == EQP_OK) {
                list->rank[list->nranks++] = home;
            }
        }
    }
    if (code == EQP_OK) {
        qsort(list->rank + begin, (size_t)(list->nranks - begin), sizeof *list->rank, compare_ranks);
        list->id[list->n] = w;
        list->bytes[list->n] = BH_REQUEST_BYTES;
        list->request[list->n++] = (bh_request){.group = work->group, .tag = work->tag};
        list->first[list->n] = list->nranks;
    }
    return code;
}

/* What every work lacks, and whether it lacks anything. */
static int collect_requests(const bh_tree *tree, int nranks, bh_works *works, const bh_mac *mac, block_list *requests)
{
    int64_t *last = NULL;
    bh_list list;
    int code = eqp_array_create(&last, nranks, sizeof *last);

    bh_list_init(&list);
    code = code ? code : list_create(requests, works->n);
    for (int64_t w = 0; w < works->n && code == EQP_OK; w++) {
        const bh_work *work = &works->work[w];
        code = bh_walk_absent(tree, &work->group, mac, NULL, NULL, &list);
        works->waits[w] = code == EQP_OK && list.nabsent > 0;
        if (works->waits[w]) {
            code = add_request(requests, tree, w, work, &list, last);
        }
    }
    bh_list_free(&list);
    free(last);
    return code;
}

/* Marks what the requests ask for, and makes it one run of bytes (owned by the caller). The let is to be freed. */
static int answer(const bh_tree *tree, const eqp_route_view *in, const unsigned char *received, const bh_mac *mac,
                  const app_map *map, bh_let **let, bh_let_blocks *blocks, unsigned char **data)
{
    int code = bh_let_create(tree, let);

    for (int64_t i = 0; i < in->n && code == EQP_OK; i++) {
        bh_request request;
        bh_tile_choice choice;
        memcpy(&request, received + in->offset[i], sizeof request);
        bh_tile_fn keep = bh_tile_choose(&choice, map, request.tag, in->home[i], &request.group);
        code = bh_let_mark(*let, in->home[i], &request.group, mac, keep, &choice);
    }
    if (code == EQP_OK) {
        code = bh_let_blocks_get(*let, blocks);
    }
    if (code == EQP_OK && blocks->size > 0) {
        *data = malloc((size_t)blocks->size);
        code = *data == NULL ? EQP_ERR_MEMORY : EQP_OK;
    }
    if (code == EQP_OK && blocks->size > 0) {
        bh_let_pack(*let, *data);
    }
    return code;
}

/* Requests go out and are answered by blocks under way. */
static int send_ghosts(bh_fetch *fetch, const eqp_exchange_plan *plan, const eqp_route *requests, const void *received,
                       const bh_mac *mac, const app_map *map)
{
    const eqp_route_view in = eqp_route_arrivals(requests);
    bh_let_blocks marked = {0};
    bh_let *let = NULL;
    int code = eqp_agree(fetch->comm, answer(fetch->tree, &in, received, mac, map, &let, &marked, &fetch->data), NULL);

    if (code == EQP_OK) {
        const eqp_route_blocks blocks = {
            .n = marked.n, .id = marked.id, .bytes = marked.bytes, .first = marked.first, .rank = marked.asker};
        code = eqp_route_create(fetch->comm, plan, &blocks, &fetch->ghosts);
    }
    bh_let_free(let);
    return code == EQP_OK ? eqp_route_start(fetch->ghosts, fetch->data) : code;
}

static void fetch_free(bh_fetch *fetch)
{
    eqp_route_free(fetch->ghosts);
    free(fetch->data);
    *fetch = (bh_fetch){.tree = NULL};
}

int bh_essential_start(bh_fetch *fetch, bh_tree *tree, MPI_Comm comm, const eqp_exchange_plan *plan, bh_works *works,
                       const bh_mac *mac, const app_map *map, bh_traffic *traffic)
{
    block_list list = {0};
    eqp_route *requests = NULL;
    const void *received = NULL;
    int nranks, code;

    *fetch = (bh_fetch){.comm = comm, .tree = tree};
    MPI_Comm_size(comm, &nranks);
    if (nranks == 1) {
        return EQP_OK; /* everything is here */
    }
    code = eqp_agree(comm, collect_requests(tree, nranks, works, mac, &list), NULL);
    if (code == EQP_OK) {
        const eqp_route_blocks blocks = {
            .n = list.n, .id = list.id, .bytes = list.bytes, .first = list.first, .rank = list.rank};
        code = bh_trip(comm, plan, &blocks, list.request, &requests, &received, &traffic->phase[BH_PHASE_REQUESTS]);
    }
    list_free(&list);
    if (code == EQP_OK) {
        code = send_ghosts(fetch, plan, requests, received, mac, map);
    }
    eqp_route_free(requests);
    if (code != EQP_OK) {
        fetch_free(fetch);
    }
    return code;
}

int bh_essential_progress(bh_fetch *fetch)
{
    return fetch->ghosts != NULL ? eqp_route_progress(fetch->ghosts) : EQP_OK;
}

static int graft(bh_tree *tree, const eqp_route_view *in, const unsigned char *received, bh_traffic *traffic)
{
    const int64_t cells = tree->ncells, particles = tree->sources.n;
    int code = EQP_OK;

    for (int64_t i = 0; i < in->n && code == EQP_OK; i++) {
        code = bh_let_graft(tree, in->home[i], received + in->offset[i], (size_t)in->bytes[i]);
    }
    traffic->cells += tree->ncells - cells;
    traffic->particles += tree->sources.n - particles;
    return code;
}

int bh_essential_finish(bh_fetch *fetch, int mine, bh_traffic *traffic)
{
    const void *received = NULL;
    int code = EQP_OK;

    if (fetch->ghosts != NULL) {
        code = eqp_route_finish(fetch->ghosts, &received);
    }
    if (fetch->ghosts != NULL && code == EQP_OK) {
        const eqp_route_view in = eqp_route_arrivals(fetch->ghosts);
        traffic->phase[BH_PHASE_GHOSTS] = eqp_route_last_counts(fetch->ghosts);
        mine = mine == EQP_OK ? graft(fetch->tree, &in, received, traffic) : mine;
    }
    code = eqp_agree(fetch->comm, mine != EQP_OK ? mine : code, NULL);
    fetch_free(fetch);
    return code;
}

int bh_essential_fetch(bh_tree *tree, MPI_Comm comm, const eqp_exchange_plan *plan, bh_works *works, const bh_mac *mac,
                       const app_map *map, bh_traffic *traffic)
{
    bh_fetch fetch;
    int code = bh_essential_start(&fetch, tree, comm, plan, works, mac, map, traffic);

    return code == EQP_OK ? bh_essential_finish(&fetch, EQP_OK, traffic) : code;
}
