/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes, nodes and the memory that a node shares. */
#include "comm/route_tables.h"

#include "base/internal.h"

/* The ranks of comm that share memory with this one. */
static int split_shared(MPI_Comm comm, int rank, MPI_Comm *shared)
{
    return EQP__MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, shared));
}

int eqp__route_split(eqp_route *route)
{
    const int node = route->stages.node;
    MPI_Comm shared = MPI_COMM_NULL;
    int size = 0;

    EQP__FAIL_IF(split_shared(route->comm, route->rank, &shared), EQP_ERR_MPI);
    EQP__FAIL_IF(MPI_Comm_split(shared, route->rank / node, route->rank, &route->node) != MPI_SUCCESS ||
                     MPI_Comm_free(&shared) != MPI_SUCCESS || eqp__comm_shape(route->node, &route->node_rank, &size) ||
                     MPI_Comm_split(route->comm, route->rank % node, route->rank, &route->lane) != MPI_SUCCESS ||
                     MPI_Comm_set_errhandler(route->node, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
                     MPI_Comm_set_errhandler(route->lane, MPI_ERRORS_RETURN) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return eqp_agree(route->comm, size == node ? EQP_OK : EQP_ERR_ARGUMENT, NULL);
}

/* Addresses of the node's segments in this process. */
static int query_segments(eqp_route *route)
{
    MPI_Aint bytes;
    int unit;

    for (int x = 0; x < route->stages.node; x++) {
        EQP__CHECK(EQP__MPI(MPI_Win_shared_query(route->window, x, &bytes, &unit, &route->segments[x])));
    }
    return EQP_OK;
}

/* A segment also holds this rank's contributions while it holds no blocks. */
static int share_memory(eqp_route *route)
{
    int64_t bytes = route->segment_bytes > route->arrived_bytes ? route->segment_bytes : route->arrived_bytes;

    bytes = (bytes / 64 + 1) * 64; /* never empty; all begin at a cache line */
    if (MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, route->node, &route->segment, &route->window) !=
        MPI_SUCCESS) {
        route->window = MPI_WIN_NULL;
        return EQP_ERR_MPI;
    }
    EQP__FAIL_IF(query_segments(route) || MPI_Win_lock_all(MPI_MODE_NOCHECK, route->window) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

int eqp__route_memory(eqp_route *route)
{
    int code = eqp_array_create(&route->segments, route->stages.node, sizeof *route->segments);

    if (route->node != MPI_COMM_NULL) {
        code = eqp_agree(route->comm, code, NULL);
        return code ? code : share_memory(route);
    }
    code = code ? code : eqp_array_create(&route->segment, route->segment_bytes, 1);
    if (!code) {
        route->segments[0] = route->segment;
    }
    return code;
}

void eqp__route_unsplit(eqp_route *route)
{
    if (route->window != MPI_WIN_NULL) {
        (void)MPI_Win_unlock_all(route->window);
        (void)MPI_Win_free(&route->window);
    } else if (route->node == MPI_COMM_NULL) {
        free(route->segment);
    }
    if (route->node != MPI_COMM_NULL) {
        (void)MPI_Comm_free(&route->node);
    }
    if (route->lane != MPI_COMM_NULL && route->lane != route->comm) {
        (void)MPI_Comm_free(&route->lane);
    }
    free(route->segments);
}

int eqp__route_meet(eqp_route *route)
{
    if (route->node == MPI_COMM_NULL) {
        return EQP_OK;
    }
    return MPI_Win_sync(route->window) == MPI_SUCCESS && MPI_Barrier(route->node) == MPI_SUCCESS &&
                   MPI_Win_sync(route->window) == MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

/* True if each group of `node` consecutive ranks shares memory. leader: [nranks] lowest rank that shares memory with
 * each */
static int fits(int node, int nranks, const int *leader)
{
    for (int r = 0; r < nranks; r++) {
        if (leader[r] != leader[r / node * node]) {
            return 0;
        }
    }
    return 1;
}

/* Collective. */
static int find_leaders(MPI_Comm comm, int rank, int *leader)
{
    MPI_Comm shared = MPI_COMM_NULL;
    int mine = rank;

    EQP__FAIL_IF(split_shared(comm, rank, &shared) || MPI_Bcast(&mine, 1, MPI_INT, 0, shared) != MPI_SUCCESS ||
                     MPI_Comm_free(&shared) != MPI_SUCCESS ||
                     MPI_Allgather(&mine, 1, MPI_INT, leader, 1, MPI_INT, comm) != MPI_SUCCESS,
                 EQP_ERR_MPI);
    return EQP_OK;
}

int eqp_route_fit(MPI_Comm comm, eqp_exchange_plan *plan)
{
    int rank, nranks, node, *leader = NULL;
    int code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = !plan || plan->node < 1 ? EQP_ERR_ARGUMENT : eqp_array_create(&leader, nranks, sizeof *leader);
    EQP_TRY(eqp__agree_alike(comm, code, code ? 0 : plan->node));
    EQP_TRY(find_leaders(comm, rank, leader));
    node = plan->node < nranks ? plan->node : nranks;
    while (node > 1 && (nranks % node != 0 || !fits(node, nranks, leader))) {
        node--;
    }
    plan->node = node;
done:
    free(leader);
    return code;
}
