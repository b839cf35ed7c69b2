/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating, describing and freeing routes. route_plan.c decides what travels where; route_trip.c makes the trips. */
#include "comm/route_tables.h"

#include "base/internal.h"
#include "comm/send.h"

#include <limits.h>

/* Identifies the plan and the flag for trips back. */
static int64_t number_of(const eqp_exchange_plan *plan, const eqp_route_blocks *blocks)
{
    return (int64_t)plan->stages + 4 * (int64_t)plan->broadcast + ((int64_t)plan->node << 40) +
           ((int64_t)(blocks && blocks->back) << 62);
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

/* True if the arrivals can be returned in place, as they lie in the segment. */
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

/* Collective. Without shared memory no rank waits here for allocations on other ranks; eqp__route_open() waits. */
static int fill(eqp_route *route, const eqp_route_blocks *blocks, int64_t plan[2])
{
    int alone, code = eqp__route_inspect(route, blocks, plan, &alone);

    EQP_TRY(code);
    alone = alone ? alone : create_buffers(route);
    if (route->node != MPI_COMM_NULL) {
        EQP_TRY(eqp_agree(route->comm, alone, NULL)); /* either all ranks of a node share memory or none does */
    }
    alone = alone ? alone : eqp__route_memory(route);
    alone = alone || !blocks->back ? alone : eqp__route_sums(route);
    if (route->node != MPI_COMM_NULL) {
        return eqp__agree_least(route->comm, alone, 2, route->all, NULL);
    }
    EQP_TRY(eqp__agree_begin(route->comm, alone, 2, route->all, &route->made));
    route->opening = 1;
done:
    return code;
}

int eqp__route_open(eqp_route *route)
{
    if (route->opening) {
        route->opening = 0;
        route->broken = eqp__agree_end(&route->made, route->all);
    }
    return route->broken;
}

int eqp__route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, size_t largest,
                      eqp_route **route)
{
    int64_t number[2] = {INT64_MAX, INT64_MAX};
    eqp_route *made = NULL;
    eqp__stages stages;
    int rank, nranks, code = eqp__comm_shape(comm, &rank, &nranks);

    EQP__CHECK(code);
    code = route ? eqp__stages_make(plan, nranks, &stages) : EQP_ERR_ARGUMENT;
    if ((code = code ? code : eqp_array_create(&made, 1, sizeof *made))) {
        return eqp__route_meet_first(comm, code, number);
    }
    eqp__put_value(number, number_of(plan, blocks));
    made->comm = comm;
    made->rank = rank;
    made->nranks = nranks;
    made->plan = *plan;
    made->stages = stages;
    made->me = rank / stages.node;
    made->lane = stages.node == 1 ? comm : MPI_COMM_NULL;
    made->node = MPI_COMM_NULL;
    made->window = MPI_WIN_NULL;
    made->node_request = made->told_request = MPI_REQUEST_NULL;
    made->largest = largest;
    if ((code = fill(made, blocks, number))) {
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

void eqp__route_drop_sums(eqp_route *route)
{
    EQP__FREE(route->adding_is_own ? route->adding : NULL, route->hot_sum);
    route->adding = NULL;
    route->hot_sum = NULL;
}

void eqp_route_free(eqp_route *route)
{
    if (!route) {
        return;
    }
    eqp__route_end_trip(route);
    if (route->opening) {
        (void)MPI_Wait(&route->made.request, MPI_STATUS_IGNORE);
    }
    eqp__route_unsplit(route);
    EQP__FREE(route->sent.list, route->received.list, route->pieces.list, route->to_own.list, route->to_hot.list,
              route->arrivals.list, route->contributions.list, route->hot_first, route->hot_count, route->hot_start,
              route->arrival_id, route->arrival_bytes, route->arrival_offset, route->arrival_home, route->packed,
              route->arrived);
    eqp__route_drop_sums(route);
    EQP__FREE(route->sent_request, route->received_request, route->hot_request, route);
}

int eqp_route_ready(eqp_route *route)
{
    return route ? eqp__route_open(route) : EQP_ERR_ARGUMENT;
}

bool eqp_route_idle(eqp_route *route)
{
    return route && !eqp__route_open(route) && route->all[EQP__IDLE];
}

eqp_route_view eqp_route_arrivals(const eqp_route *route)
{
    if (!route || route->broken || !route->segments) { /* an allocation failed on this rank or another one */
        return (eqp_route_view){0};
    }
    return (eqp_route_view){.n = route->narrivals,
                            .id = route->arrival_id,
                            .home = route->arrival_home,
                            .bytes = route->arrival_bytes,
                            .offset = route->arrival_offset};
}

void eqp_route_give_up(eqp_route *route, int code)
{
    if (route) {
        route->given_up = code < 0 ? code : EQP_ERR_ARGUMENT;
    }
}

eqp_route_counts eqp_route_last_counts(const eqp_route *route)
{
    return route ? route->counts : (eqp_route_counts){0};
}
