/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* syscall */
/* Ranks that share memory. */
#include "base/internal.h"
#include "comm/agree.h"
#include "comm/meeting.h"

#include <equipoise/more/comm.h>

#include <string.h>

enum { LINE = 64 }; /* bytes */

typedef struct window {
    MPI_Win window;
    void *base; /* at a cache line */
} window;

struct eqp_node {
    MPI_Comm comm; /* borrowed */
    MPI_Comm near; /* this node's ranks */
    eqp_node_shape shape;
    int *of, *place, *first, *member; /* of the shape */
    window meetings, memory;
};

/* The lowest rank of a node has all of the memory, which the kernel gives page by page to the rank that first writes
 * there. */
static int open_window(const eqp_node *node, int64_t bytes, window *w)
{
    MPI_Aint size = node->shape.rank == 0 ? (MPI_Aint)bytes + LINE : 0;
    void *mine;
    int unit;

    if (MPI_Win_allocate_shared(size, 1, MPI_INFO_NULL, node->near, &mine, &w->window) != MPI_SUCCESS) {
        w->window = MPI_WIN_NULL;
        return EQP_ERR_MEMORY;
    }
    EQP__CHECK(EQP__MPI(MPI_Win_shared_query(w->window, 0, &size, &unit, &mine)));
    w->base = (char *)mine + (LINE - (uintptr_t)mine % LINE) % LINE; /* pages are as far from it in all processes */
    return EQP_OK;
}

static void close_window(window *w)
{
    if (w->window != MPI_WIN_NULL) {
        (void)MPI_Win_free(&w->window);
    }
    *w = (window){.window = MPI_WIN_NULL};
}

/* leader: [ranks] the lowest rank of the node of each. */
static int split(eqp_node *node, int rank, int most, int *leader)
{
    MPI_Comm all = MPI_COMM_NULL;
    int place = 0, mine = rank;

    EQP__CHECK(EQP__MPI(MPI_Comm_split_type(node->comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &all)));
    const bool failed = MPI_Comm_rank(all, &place) != MPI_SUCCESS ||
                        MPI_Comm_split(all, most > 0 ? place / most : 0, rank, &node->near) != MPI_SUCCESS;
    EQP__FAIL_IF(MPI_Comm_free(&all) != MPI_SUCCESS || failed ||
                     MPI_Comm_set_errhandler(node->near, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
                     MPI_Bcast(&mine, 1, MPI_INT, 0, node->near) != MPI_SUCCESS ||
                     MPI_Allgather(&mine, 1, MPI_INT, leader, 1, MPI_INT, node->comm) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return eqp__comm_shape(node->near, &node->shape.rank, &node->shape.nranks);
}

/* Numbers the nodes by their lowest ranks. */
static void number(eqp_node *node, int rank, int nranks, const int *leader)
{
    int n = 0;

    for (int r = 0; r < nranks; r++) {
        node->of[r] = leader[r] == r ? n++ : node->of[leader[r]];
        node->first[node->of[r] + 1]++;
    }
    for (int k = 0; k < n; k++) {
        node->first[k + 1] += node->first[k];
    }
    for (int r = nranks; r-- > 0;) { /* from the end of each node's part, which thereby becomes its beginning */
        node->member[--node->first[node->of[r] + 1]] = r;
    }
    memmove(node->first, node->first + 1, (size_t)n * sizeof *node->first);
    node->first[n] = nranks;
    for (int i = 0; i < nranks; i++) {
        node->place[node->member[i]] = i - node->first[node->of[node->member[i]]];
    }
    node->shape.nnodes = n;
    node->shape.node = node->of[rank];
}

static int fill(eqp_node *node, int rank, int nranks, int most)
{
    int *leader = NULL;
    int code = EQP__ARRAYS(EQP__ARRAY(leader, nranks), EQP__ARRAY(node->of, nranks), EQP__ARRAY(node->place, nranks),
                           EQP__ARRAY(node->member, nranks), EQP__ARRAY(node->first, nranks + 1));

    EQP_TRY(eqp_agree(node->comm, code, NULL));
    EQP_TRY(split(node, rank, most, leader));
    number(node, rank, nranks, leader);
    node->shape.of = node->of;
    node->shape.place = node->place;
    node->shape.first = node->first;
    node->shape.member = node->member;
    code = open_window(node, sizeof(eqp__meeting), &node->meetings);
    if (!code && node->shape.rank == 0) {
        memset(node->meetings.base, 0, sizeof(eqp__meeting));
    }
    EQP_TRY(eqp_agree(node->comm, code, NULL)); /* also the end of the zeroing */
done:
    free(leader);
    return code;
}

int eqp_node_create(MPI_Comm comm, int most, eqp_node **node)
{
    eqp_node *made = NULL;
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = most < 0 || !node ? EQP_ERR_ARGUMENT : eqp_array_create(&made, 1, sizeof *made);
    if (made) {
        made->comm = comm;
        made->near = MPI_COMM_NULL;
        made->meetings.window = made->memory.window = MPI_WIN_NULL;
    }
    EQP_TRY(eqp__agree_alike(comm, code, most));
    EQP_TRY(fill(made, rank, nranks, most));
    *node = made;
    made = NULL;
done:
    eqp_node_free(made);
    return code;
}

void eqp_node_free(eqp_node *node)
{
    if (node) {
        close_window(&node->memory);
        close_window(&node->meetings);
        if (node->near != MPI_COMM_NULL) {
            (void)MPI_Comm_free(&node->near);
        }
        EQP__FREE(node->of, node->place, node->first, node->member, node);
    }
}

const eqp_node_shape *eqp_node_view(const eqp_node *node)
{
    return node ? &node->shape : NULL;
}

int eqp_node_share(eqp_node *node, int64_t bytes, void *memory)
{
    int code;

    EQP__FAIL_IF(!node, EQP_ERR_ARGUMENT);
    code = bytes < 0 || (node->shape.rank == 0 && bytes > PTRDIFF_MAX - LINE) || !memory ? EQP_ERR_ARGUMENT : EQP_OK;
    EQP_TRY(eqp_agree(node->near, code, NULL));
    close_window(&node->memory);
    EQP_TRY(eqp_agree(node->near, open_window(node, bytes, &node->memory), NULL));
    memcpy(memory, &node->memory.base, sizeof node->memory.base);
done:
    return code;
}

int eqp_node_meet(eqp_node *node, int code)
{
    EQP__FAIL_IF(!node, EQP_ERR_ARGUMENT);
    eqp_wait_begin();
    code = eqp__meeting_hold(node->meetings.base, node->shape.nranks, node->shape.rank, code);
    eqp_wait_end();
    return code;
}
