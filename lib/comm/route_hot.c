/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks broadcast to all ranks of a lane, and their sums back. */
#include "comm/route_tables.h"

#include "base/internal.h"

static int64_t hot_bytes(const eqp_route *route, int r)
{
    return route->hot_first[r + 1] - route->hot_first[r];
}

static int64_t hot_total(const eqp_route *route)
{
    return route->hot_first[route->stages.nnodes];
}

/* True if one collective call can count all bytes; otherwise every rank's part travels in pieces. */
static int is_small(const eqp_route *route)
{
    return (size_t)hot_total(route) <= route->largest;
}

int64_t eqp__hot_requests(const eqp_route *route)
{
    int64_t n = route->has_hot;

    if (route->has_hot && !is_small(route)) {
        n = 0;
        for (int r = 0; r < route->stages.nnodes; r++) {
            n += hot_bytes(route, r) / (int64_t)route->largest + 1;
        }
    }
    return n;
}

/* Counts a collective call as eqp__traffic_count() does. */
static void count_hot(eqp_route *route)
{
    const int64_t bytes = hot_total(route) - hot_bytes(route, route->me);

    for (int64_t reached = 1; reached < route->stages.nnodes; reached *= 2) {
        route->counting.messages_sent++;
        route->counting.messages_received++;
    }
    route->counting.bytes_sent += bytes;
    route->counting.bytes_received += bytes;
}

static void set_counts(eqp_route *route, int64_t size)
{
    for (int r = 0; r < route->stages.nnodes; r++) {
        route->hot_count[r] = (int)(hot_bytes(route, r) / size);
        route->hot_start[r] = (int)(route->hot_first[r] / size);
    }
}

/* Posts the calls in the same order on all ranks of the lane. back: sums to the home, otherwise copies from it */
static int post_pieces(eqp_route *route, int back)
{
    for (int r = 0; r < route->stages.nnodes; r++) {
        int64_t at = route->hot_first[r];
        while (at < route->hot_first[r + 1]) {
            const int64_t left = route->hot_first[r + 1] - at;
            const int64_t bytes = left < (int64_t)route->largest ? left : (int64_t)route->largest;
            MPI_Request *request = &route->hot_request[route->nhot_requests++];
            double *sum =
                back && r == route->me ? route->hot_sum + (at - route->hot_first[r]) / (int64_t)sizeof(double) : NULL;
            const int status =
                back ? MPI_Ireduce(route->adding + route->hot_at + at, sum, (int)(bytes / (int64_t)sizeof(double)),
                                   MPI_DOUBLE, MPI_SUM, r, route->lane, request)
                     : MPI_Ibcast(route->segment + route->hot_at + at, (int)bytes, MPI_BYTE, r, route->lane, request);
            EQP__FAIL_IF(status != MPI_SUCCESS, EQP_ERR_MPI);
            at += bytes;
        }
    }
    return EQP_OK;
}

int eqp__hot_out(eqp_route *route)
{
    route->nhot_requests = 0;
    if (!route->has_hot) {
        return EQP_OK;
    }
    for (int64_t i = 0; i < route->to_hot.n; i++) {
        const eqp__span *s = &route->to_hot.list[i];
        if (s->bytes > 0 && route->data) {
            memcpy(route->segment + s->to, route->data + s->from, (size_t)s->bytes);
        }
    }
    count_hot(route);
    if (!is_small(route)) {
        return post_pieces(route, 0);
    }
    set_counts(route, 1);
    route->nhot_requests = 1;
    return EQP__MPI(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, route->segment + route->hot_at,
                                    route->hot_count, route->hot_start, MPI_BYTE, route->lane, &route->hot_request[0]));
}

int eqp__hot_back(eqp_route *route)
{
    route->nhot_requests = 0;
    if (!route->has_hot) {
        return EQP_OK;
    }
    count_hot(route);
    if (!is_small(route)) {
        return post_pieces(route, 1);
    }
    set_counts(route, (int64_t)sizeof(double));
    route->nhot_requests = 1;
    return EQP__MPI(MPI_Ireduce_scatter(route->adding + route->hot_at, route->hot_sum, route->hot_count, MPI_DOUBLE,
                                        MPI_SUM, route->lane, &route->hot_request[0]));
}
