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
static int fill(eqp_route *route, const eqp_route_blocks *blocks)
{
    int code = eqp__route_split(route);

    if (code || (code = eqp__route_inspect(route, blocks))) {
        return code;
    }
    code = create_buffers(route);
    if (route->node != MPI_COMM_NULL) {
        code = eqp_agree(route->comm, code, NULL); /* memory is shared by all of a node or by none */
    }
    code = code ? code : eqp__route_memory(route);
    return eqp__agree_least(route->comm, code, 1, &route->whole_doubles, NULL);
}

int eqp__route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, size_t largest,
                      eqp_route **route)
{
    eqp_route *made = NULL;
    eqp__stages stages;
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    if (code) {
        return code;
    }
    code = route ? eqp__stages_make(plan, nranks, &stages) : EQP_ERR_ARGUMENT;
    code = code ? code : eqp_array_create(&made, 1, sizeof *made);
    if ((code = eqp__agree_alike(comm, code, code ? 0 : number_of(plan)))) {
        free(made);
        return code;
    }
    made->comm = comm;
    made->rank = rank;
    made->nranks = nranks;
    made->plan = *plan;
    made->stages = stages;
    made->lane = made->node = MPI_COMM_NULL;
    made->window = MPI_WIN_NULL;
    made->node_request = made->told_request = MPI_REQUEST_NULL;
    made->largest = largest;
    if ((code = fill(made, blocks))) {
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
    eqp__route_end_trip(route);
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
    if (!route) {
        return (eqp_route_view){0};
    }
    return (eqp_route_view){.n = route->narrivals,
                            .id = route->arrival_id,
                            .home = route->arrival_home,
                            .bytes = route->arrival_bytes,
                            .offset = route->arrival_offset};
}

eqp_route_counts eqp_route_last_counts(const eqp_route *route)
{
    return route ? route->counts : (eqp_route_counts){0};
}
