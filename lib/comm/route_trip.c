/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor of a route: trips along the tables of the inspector. */
#include "comm/route_tables.h"

#include "base/internal.h"
#include "comm/messenger.h"

#define TAG_OUT 74
#define TAG_BACK 75

/* Posts one message, possibly empty, in pieces that MPI can count. */
static int post(eqp_route *route, const eqp__message *m, char *data, int sends, int tag, MPI_Request *request)
{
    int64_t left = m->bytes;

    for (int64_t i = 0; i < m->nrequests; i++) {
        const int piece = (int)(left < (int64_t)route->largest ? left : (int64_t)route->largest);
        EQP__CHECK(EQP__MPI(
            (sends ? MPI_Isend(data, piece, MPI_BYTE, m->partner, tag, route->lane, &request[m->request + i])
                   : MPI_Irecv(data, piece, MPI_BYTE, m->partner, tag, route->lane, &request[m->request + i]))));
        data += piece;
        left -= piece;
    }
    if (sends) {
        route->counting.messages_sent += m->nrequests > 0;
        route->counting.bytes_sent += m->bytes;
        eqp__traffic_add(route->comm, m->partner * route->stages.node + route->rank % route->stages.node, m->bytes);
    } else {
        route->counting.messages_received += m->nrequests > 0;
        route->counting.bytes_received += m->bytes;
    }
    return EQP_OK;
}

static int post_receives(eqp_route *route, const eqp__messages *side, char *base, int tag, MPI_Request *request)
{
    for (int64_t i = 0; i < side->n; i++) {
        const eqp__message *m = &side->list[i];
        EQP__FAIL_IF(post(route, m, base + m->at, 0, tag, request), EQP_ERR_MPI);
    }
    return EQP_OK;
}

static int complete(const eqp__messages *side, int stage, MPI_Request *request, int wait, int *done)
{
    const int64_t begin = side->first[stage], end = side->first[stage + 1];
    int n = 0;

    *done = 1;
    if (begin == end) {
        return EQP_OK;
    }
    MPI_Request *first = request + side->list[begin].request;
    n = (int)(side->list[end - 1].request + side->list[end - 1].nrequests - side->list[begin].request);
    return (wait ? MPI_Waitall(n, first, MPI_STATUSES_IGNORE) : MPI_Testall(n, first, done, MPI_STATUSES_IGNORE)) ==
                   MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

static int wait_all(eqp_route *route, const eqp__messages *sent, MPI_Request *request)
{
    return MPI_Waitall((int)sent->nrequests, request, MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
                   MPI_Waitall((int)route->nhot_requests, route->hot_request, MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
                   MPI_Wait(&route->told_request, MPI_STATUS_IGNORE) == MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

/* Lets MPI make progress on pending calls. */
static int poke(eqp_route *route)
{
    int done;

    return MPI_Testall((int)route->nhot_requests, route->hot_request, &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
                   MPI_Test(&route->told_request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

/* A rank that has failed makes the trip without data, so that no rank waits for it forever. Its code travels in an
 * allreduce; all codes are negative. */
static int begin_trip(eqp_route *route, eqp__trip trip, const void *data, int code)
{
    route->trip = trip;
    route->data = data;
    route->counting = (eqp_route_counts){0};
    route->nhot_requests = 0;
    route->failed = code;
    route->given_up = EQP_OK;
    return MPI_Iallreduce(MPI_IN_PLACE, &route->failed, 1, MPI_INT, MPI_MIN, route->comm, &route->told_request) ==
                   MPI_SUCCESS
               ? EQP_OK
               : EQP_ERR_MPI;
}

/* After an error of MPI, pending calls cannot be completed. */
static int leave(eqp_route *route, int code)
{
    route->trip = code == EQP_ERR_MPI ? EQP__TRIP_NONE : route->trip;
    return code;
}

/* Returns the code of all ranks. */
static int end_trip(eqp_route *route)
{
    route->trip = EQP__TRIP_NONE;
    route->data = NULL;
    if (route->failed == EQP_OK) {
        route->counts = route->counting;
    }
    return route->failed;
}

static void copy_bytes(char *to, const char *from, int64_t bytes)
{
    if (bytes > 0) {
        memcpy(to, from, (size_t)bytes);
    }
}

/* Copies from this rank's blocks, if it has data. */
static void copy_own(const eqp_route *route, char *to, const eqp__span *s)
{
    if (route->data) {
        copy_bytes(to, route->data + s->from, s->bytes);
    }
}

/* ---- out ---- */

static int send_stage(eqp_route *route, int stage)
{
    if (stage == route->stages.n) {
        return EQP_OK;
    }
    for (int64_t i = route->sent.first[stage]; i < route->sent.first[stage + 1]; i++) {
        const eqp__message *m = &route->sent.list[i];
        char *to = route->packed + m->at;

        for (int64_t k = m->piece; k < m->piece + m->npieces; k++) {
            const eqp__span *s = &route->pieces.list[k];
            if (s->who == EQP__OWN) {
                copy_own(route, to, s);
            } else {
                copy_bytes(to, route->segment + s->from, s->bytes);
            }
            to += s->bytes;
        }
        EQP__FAIL_IF(post(route, m, route->packed + m->at, 1, TAG_OUT, route->sent_request), EQP_ERR_MPI);
    }
    return EQP_OK;
}

/* Forwards arrived messages, stage by stage. */
static int advance_out(eqp_route *route, int wait)
{
    int done = 1, code = EQP_OK;

    while (!code && done && route->stage < route->stages.n) {
        code = complete(&route->received, route->stage, route->received_request, wait, &done);
        if (!code && done) {
            code = send_stage(route, ++route->stage);
        }
    }
    return code;
}

int eqp_route_start(eqp_route *route, const void *data)
{
    int code;

    EQP__FAIL_IF(!route, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(route->trip != EQP__TRIP_NONE, EQP_ERR_STATE);
    EQP__CHECK(eqp__route_open(route));
    code = route->given_up ? route->given_up : route->own_bytes > 0 && !data ? EQP_ERR_ARGUMENT : EQP_OK;
    data = code ? NULL : data;
    route->stage = 0;
    if (begin_trip(route, EQP__TRIP_OUT, data, code) ||
        post_receives(route, &route->received, route->segment, TAG_OUT, route->received_request) ||
        send_stage(route, 0)) {
        return leave(route, EQP_ERR_MPI);
    }
    for (int64_t i = 0; i < route->to_own.n; i++) {
        const eqp__span *s = &route->to_own.list[i];
        copy_own(route, route->segment + s->to, s);
    }
    return leave(route, eqp__hot_out(route) ? EQP_ERR_MPI : code);
}

/* Copies the arrivals out of the segments of the node, which may change afterwards. */
static int take_arrivals(eqp_route *route)
{
    EQP__FAIL_IF(eqp__route_meet(route), EQP_ERR_MPI);
    for (int64_t i = 0; i < route->arrivals.n && route->arrived; i++) {
        const eqp__span *s = &route->arrivals.list[i];
        copy_bytes(route->arrived + s->to, route->segments[s->who] + s->from, s->bytes);
    }
    return eqp__route_meet(route);
}

int eqp_route_finish(eqp_route *route, const void **received)
{
    int code;

    EQP__FAIL_IF(!route, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(route->trip != EQP__TRIP_OUT, EQP_ERR_STATE);
    eqp_wait_begin();
    code = advance_out(route, 1);
    code = code ? code : wait_all(route, &route->sent, route->sent_request);
    eqp_wait_end();
    if (code || (code = take_arrivals(route)) || (code = end_trip(route))) {
        return leave(route, code);
    }
    if (received) {
        *received = route->arrived ? route->arrived : route->segment;
    }
    return EQP_OK;
}

/* ---- back ---- */

static void add_doubles(char *to, const char *from, int64_t bytes)
{
    double *sum = (double *)to;
    const double *term = (const double *)from;

    for (int64_t i = 0; i < bytes / (int64_t)sizeof(double); i++) {
        sum[i] += term[i];
    }
}

int eqp__route_sums(eqp_route *route)
{
    const int64_t hot = route->has_hot ? route->hot_first[route->me + 1] - route->hot_first[route->me] : 0;
    char *adding = NULL;
    double *hot_sum = NULL;
    int code = eqp_array_create(&hot_sum, hot / (int64_t)sizeof(double), sizeof *hot_sum);

    route->adding_is_own = !route->arrived || route->node != MPI_COMM_NULL;
    if (!code && route->adding_is_own) {
        code = eqp_array_create(&adding, route->segment_bytes, 1);
    }
    if (code) {
        EQP__FREE(adding, hot_sum);
        return code;
    }
    route->adding = route->adding_is_own ? adding : route->segment;
    route->hot_sum = hot_sum;
    return EQP_OK;
}

/* eqp__route_sums() for the first trip back, on all ranks or none. Collective. */
static int open_sums(eqp_route *route)
{
    const int code = eqp_agree(route->comm, eqp__route_sums(route), NULL);

    if (code) {
        eqp__route_drop_sums(route);
    }
    return code;
}

static int send_stage_back(eqp_route *route, int stage)
{
    if (stage < 0) {
        return EQP_OK;
    }
    for (int64_t i = route->received.first[stage]; i < route->received.first[stage + 1]; i++) {
        const eqp__message *m = &route->received.list[i];
        EQP__FAIL_IF(post(route, m, route->adding + m->at, 1, TAG_BACK, route->received_request), EQP_ERR_MPI);
    }
    return EQP_OK;
}

/* Adds the contributions of the node's ranks in their order, and sends the sums. */
static int contribute(eqp_route *route)
{
    memset(route->adding, 0, (size_t)route->segment_bytes);
    for (int64_t i = 0; i < route->contributions.n; i++) {
        const eqp__span *s = &route->contributions.list[i];
        const char *from = route->node == MPI_COMM_NULL ? route->data : route->segments[s->who];
        if (from) {
            add_doubles(route->adding + s->to, from + s->from, s->bytes);
        }
    }
    route->contributed = 1;
    route->stage = route->stages.n - 1;
    return eqp__hot_back(route) ? EQP_ERR_MPI : send_stage_back(route, route->stage);
}

/* Adds the sums that a stage has brought to blocks that travel on (sum NULL), or to own blocks. */
static void add_stage(eqp_route *route, int stage, char *sum)
{
    for (int64_t i = route->sent.first[stage]; i < route->sent.first[stage + 1]; i++) {
        const eqp__message *m = &route->sent.list[i];
        const char *from = route->packed + m->at;

        for (int64_t k = m->piece; k < m->piece + m->npieces; k++) {
            const eqp__span *s = &route->pieces.list[k];
            if ((s->who == EQP__OWN) == (sum != NULL)) {
                add_doubles((sum ? sum : route->adding) + s->from, from, s->bytes);
            }
            from += s->bytes;
        }
    }
}

static int advance_back(eqp_route *route, int wait)
{
    int done = 1, code = EQP_OK;

    if (!route->contributed) {
        EQP__CHECK(EQP__MPI((wait ? MPI_Wait(&route->node_request, MPI_STATUS_IGNORE)
                                  : MPI_Test(&route->node_request, &done, MPI_STATUS_IGNORE))));
        if (!done) {
            return EQP_OK;
        }
        EQP__FAIL_IF(route->node != MPI_COMM_NULL && MPI_Win_sync(route->window) != MPI_SUCCESS, EQP_ERR_MPI);
        code = contribute(route);
    }
    while (!code && done && route->stage >= 0) {
        code = complete(&route->sent, route->stage, route->sent_request, wait, &done);
        if (!code && done) {
            add_stage(route, route->stage, NULL);
            code = send_stage_back(route, --route->stage);
        }
    }
    return code;
}

int eqp_route_back_start(eqp_route *route, const void *mine)
{
    int code;

    EQP__FAIL_IF(!route, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(route->trip != EQP__TRIP_NONE, EQP_ERR_STATE);
    code = eqp__route_open(route);
    if (code || !route->all[EQP__WHOLE]) {
        return code ? code : EQP_ERR_ARGUMENT;
    }
    if (!route->adding && (code = open_sums(route))) {
        return code;
    }
    code = route->given_up ? route->given_up : route->arrived_bytes > 0 && !mine ? EQP_ERR_ARGUMENT : EQP_OK;
    mine = code ? NULL : mine;
    route->contributed = 0;
    if (begin_trip(route, EQP__TRIP_BACK, mine, code) ||
        post_receives(route, &route->sent, route->packed, TAG_BACK, route->sent_request)) {
        return leave(route, EQP_ERR_MPI);
    }
    if (route->node == MPI_COMM_NULL) {
        return leave(route, contribute(route) ? EQP_ERR_MPI : code);
    }
    copy_bytes(route->segment, mine, mine ? route->arrived_bytes : 0);
    if (MPI_Win_sync(route->window) != MPI_SUCCESS || MPI_Ibarrier(route->node, &route->node_request) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    return leave(route, code);
}

/* Collects the sums of own blocks, stage by stage in a fixed order. */
static void collect_sums(eqp_route *route, double *sum)
{
    if (route->own_bytes > 0) {
        memset(sum, 0, (size_t)route->own_bytes);
    }
    for (int stage = route->stages.n - 1; stage >= 0; stage--) {
        add_stage(route, stage, (char *)sum);
    }
    for (int64_t i = 0; i < route->to_own.n; i++) {
        const eqp__span *s = &route->to_own.list[i];
        add_doubles((char *)sum + s->from, route->adding + s->to, s->bytes);
    }
    for (int64_t i = 0; i < route->to_hot.n; i++) {
        const eqp__span *s = &route->to_hot.list[i];
        const int64_t at = s->to - route->hot_at - route->hot_first[route->me];
        copy_bytes((char *)sum + s->from, (const char *)route->hot_sum + at, s->bytes);
    }
}

int eqp_route_back_finish(eqp_route *route, double *sum)
{
    int code;

    EQP__FAIL_IF(!route, EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(route->trip != EQP__TRIP_BACK, EQP_ERR_STATE);
    eqp_wait_begin();
    code = advance_back(route, 1);
    code = code ? code : wait_all(route, &route->received, route->received_request);
    /* No rank may overwrite contributions that another rank of the node still reads. */
    code = code ? code : eqp__route_meet(route);
    eqp_wait_end();
    if (code || (code = end_trip(route))) {
        return leave(route, code);
    }
    if (sum) {
        collect_sums(route, sum);
    }
    return EQP_OK;
}

void eqp__route_end_trip(eqp_route *route)
{
    if (route->trip == EQP__TRIP_OUT) {
        (void)eqp_route_finish(route, NULL);
    } else if (route->trip == EQP__TRIP_BACK) {
        (void)eqp_route_back_finish(route, NULL);
    }
}

int eqp_route_progress(eqp_route *route)
{
    int code;

    EQP__FAIL_IF(!route, EQP_ERR_ARGUMENT);
    if (route->trip == EQP__TRIP_NONE) {
        return EQP_OK;
    }
    code = route->trip == EQP__TRIP_OUT ? advance_out(route, 0) : advance_back(route, 0);
    return leave(route, code ? code : poke(route));
}
