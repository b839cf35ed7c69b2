/* SPDX-License-Identifier: BSD-3-Clause */
/* Routes: made, described, freed. The work is in route_plan.c (what goes where) and route_trip.c (trips). */
#include "par/route_tables.h"

#include "par/comm.h"
#include "par/exchange.h"

#include <equipoise/par.h>

#include <limits.h>
#include <stdlib.h>

/* A number for each plan that ranks can follow: nodes have at most as many parts as there are. */
static int64_t number_of(const eqp_exchange_plan *plan)
{
    return (int64_t)plan->stages + 4 * (int64_t)plan->broadcast + ((int64_t)plan->node << 40);
}

/* The same plan on all ranks, and one that they can follow. Collective. */
static int open_plan(eqp_route *route, const eqp_exchange_plan *plan)
{
    int code = eqp__comm_shape(route->comm, &route->rank, &route->nranks);

    if (code) {
        return code;
    }
    if ((code = eqp_agree(route->comm, eqp__stages_make(plan, route->nranks, &route->stages), NULL)) ||
        (code = eqp_agree_same(route->comm, number_of(plan)))) {
        return code;
    }
    route->plan = *plan;
    return EQP_OK;
}

/* Numbers the requests of a side. */
static int count_requests(const eqp_route *route, eqp__messages *side)
{
    int64_t n = 0;

    for (int64_t i = 0; i < side->n; i++) {
        eqp__message *m = &side->list[i];
        m->request = n;
        m->nrequests = m->bytes == 0 ? 1 : (m->bytes - 1) / (int64_t)route->largest + 1;
        n += m->nrequests;
    }
    side->nrequests = n;
    return n > INT_MAX ? EQP_ERR_OVERFLOW : EQP_OK;
}

static int create_requests(MPI_Request **request, int64_t n)
{
    int code = eqp_array_create(request, n, sizeof **request);

    for (int64_t i = 0; i < n && !code; i++) {
        (*request)[i] = MPI_REQUEST_NULL;
    }
    return code;
}

/* Whether what arrives can be given as it lies in the segment. */
static int lies_in_place(const eqp_route *route)
{
    for (int64_t i = 0; i < route->arrivals.n; i++) {
        if (route->arrivals.list[i].from != route->arrivals.list[i].to) {
            return 0;
        }
    }
    return route->node == MPI_COMM_NULL;
}

static int create_buffers(eqp_route *route)
{
    int code = count_requests(route, &route->sent);

    code = code ? code : count_requests(route, &route->received);
    code = code ? code : create_requests(&route->sent_request, route->sent.nrequests);
    code = code ? code : create_requests(&route->received_request, route->received.nrequests);
    code = code ? code : create_requests(&route->hot_request, eqp__hot_requests(route));
    code = code ? code : eqp_array_create(&route->packed, route->sent.bytes, 1);
    if (!code && !lies_in_place(route)) {
        code = eqp_array_create(&route->arrived, route->arrived_bytes, 1);
    }
    return code;
}

/* Collective. */
static int fill(eqp_route *route, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks)
{
    int code = open_plan(route, plan);

    if (code || (code = eqp__route_split(route)) || (code = eqp__route_inspect(route, blocks))) {
        return code;
    }
    code = create_buffers(route);
    if (route->node != MPI_COMM_NULL) {
        code = eqp_agree(route->comm, code, NULL); /* memory is shared by all of a node or by none */
    }
    if ((code = eqp_agree(route->comm, code ? code : eqp__route_memory(route), NULL))) {
        return code;
    }
    return MPI_Allreduce(MPI_IN_PLACE, &route->whole_doubles, 1, MPI_INT64_T, MPI_MIN, route->comm) == MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

int eqp__route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, size_t largest,
                      eqp_route **route)
{
    eqp_route *made = NULL;
    int code = route ? eqp_array_create(&made, 1, sizeof *made) : EQP_ERR_ARGUMENT;

    if ((code = eqp_agree(comm, code, NULL))) {
        free(made);
        return code;
    }
    made->comm = comm;
    made->lane = made->node = MPI_COMM_NULL;
    made->window = MPI_WIN_NULL;
    made->node_request = MPI_REQUEST_NULL;
    made->largest = largest;
    if ((code = fill(made, plan, blocks))) {
        eqp_route_free(made);
        return code;
    }
    *route = made;
    return EQP_OK;
}

int eqp_route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, eqp_route **route)
{
    return eqp__route_create(comm, plan, blocks, EQP__MESSAGE_BYTES, route);
}

void eqp_route_free(eqp_route *route)
{
    if (!route) {
        return;
    }
    eqp__route_unsplit(route);
    free(route->sent.list);
    free(route->received.list);
    free(route->pieces.list);
    free(route->to_own.list);
    free(route->to_hot.list);
    free(route->arrivals.list);
    free(route->contributions.list);
    free(route->hot_first);
    free(route->hot_count);
    free(route->hot_start);
    free(route->arrival_id);
    free(route->arrival_bytes);
    free(route->arrival_offset);
    free(route->arrival_home);
    free(route->packed);
    free(route->arrived);
    free(route->adding_is_own ? route->adding : NULL);
    free(route->hot_sum);
    free(route->sent_request);
    free(route->received_request);
    free(route->hot_request);
    free(route);
}

eqp_route_view eqp_route_arrivals(const eqp_route *route)
{
    return (eqp_route_view){.n = route->narrivals,
                            .id = route->arrival_id,
                            .home = route->arrival_home,
                            .bytes = route->arrival_bytes,
                            .offset = route->arrival_offset};
}

eqp_route_counts eqp_route_last_counts(const eqp_route *route)
{
    return route->counts;
}
