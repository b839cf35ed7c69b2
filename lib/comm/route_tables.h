/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of a route, made by its inspector. The executor moves bytes by them and does not look at blocks.
 *
 * Every rank has one *segment* of memory, which the ranks of its node read if they share memory:
 *   pool    blocks that arrive here, by stage, sender and the sender's order: messages are received in place
 *   own     this rank's blocks (not hot) that its node needs
 *   hot     all broadcast blocks of this lane, by home
 * Trips back add up in an array of the same layout. */
#ifndef EQUIPOISE_COMM_ROUTE_TABLES_H
#define EQUIPOISE_COMM_ROUTE_TABLES_H

#include "comm/agree.h"
#include "move/stages.h"

#include <equipoise/more/comm.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

typedef struct eqp__span {
    int64_t from, to, bytes;
    int who; /* rank of the node whose segment or contributions hold `from`; EQP__OWN: this rank's blocks */
} eqp__span;

#define EQP__OWN (-1)

typedef struct eqp__spans {
    int64_t n, capacity;
    eqp__span *list;
} eqp__spans;

/* One message of a trip out; a trip back sends the same messages in reverse. */
typedef struct eqp__message {
    int partner;                /* rank of the lane */
    int64_t bytes, at;          /* its place in the pool (received) or in the packed messages (sent) */
    int64_t piece, npieces;     /* blocks in it, into `pieces`; sent messages only */
    int64_t request, nrequests; /* its pieces for MPI, in the requests of its side */
} eqp__message;

typedef struct eqp__messages {
    int64_t n, capacity;
    eqp__message *list;                 /* by stage, then partner */
    int64_t first[EQP__STAGES_MAX + 1]; /* of each stage */
    int64_t bytes, nrequests;           /* of all */
} eqp__messages;

typedef enum eqp__trip { EQP__TRIP_NONE, EQP__TRIP_OUT, EQP__TRIP_BACK } eqp__trip;

/* Properties over all ranks: all blocks consist of whole doubles, so sums can come back; no block travels. */
enum { EQP__WHOLE, EQP__IDLE };

struct eqp_route {
    MPI_Comm comm; /* all ranks, borrowed */
    MPI_Comm lane; /* this rank's lane; `comm` without shared memory */
    MPI_Comm node; /* ranks that share memory; MPI_COMM_NULL: none */
    MPI_Win window;
    int rank, nranks;
    int me, node_rank; /* in the lane; in the node */
    eqp_exchange_plan plan;
    eqp__stages stages;
    eqp__agreement made; /* while `opening`: the agreement that all ranks have their tables and memory */
    int opening, broken; /* broken: the code if a rank failed to create the route */
    size_t largest;      /* bytes of the largest single message */
    int64_t own_bytes;   /* of all blocks that live here */
    int64_t all[2];      /* of all ranks, once the route is open */

    eqp__messages sent, received;
    eqp__spans pieces;        /* blocks of the sent messages in their order, from own blocks or the pool */
    eqp__spans to_own;        /* from own blocks into the segment */
    eqp__spans to_hot;        /* from own hot blocks into the segment */
    eqp__spans arrivals;      /* from the segments of the node to the arrivals */
    eqp__spans contributions; /* from the contributions of the node's ranks into the segment; by rank of the node */
    int64_t own_at, hot_at, segment_bytes;
    int has_hot;                /* true if a rank of the lane broadcasts */
    int64_t *hot_first;         /* [lane + 1] bytes from hot_at of each rank's hot blocks */
    int *hot_count, *hot_start; /* [lane] counts and offsets for MPI in the present trip */

    int64_t narrivals, arrived_bytes;
    int64_t *arrival_id, *arrival_bytes, *arrival_offset;
    int *arrival_home;

    char *segment;     /* this rank's; in the window if memory is shared */
    char **segments;   /* [node] */
    char *packed;      /* messages sent, or received on a trip back, at `at` of each */
    char *arrived;     /* arrivals; NULL: they are returned in place, in the segment */
    char *adding;      /* sums of a trip back, laid out like the segment; NULL before the first one */
    double *hot_sum;   /* of own hot blocks */
    int adding_is_own; /* true if `adding` must be freed */

    eqp__trip trip;
    int stage;                                    /* the stage waited for */
    int contributed;                              /* back: true once all contributions of the node are added */
    const char *data;                             /* out: own blocks; back: contributions of this rank */
    MPI_Request *sent_request, *received_request; /* of the messages' pieces */
    MPI_Request *hot_request;
    int64_t nhot_requests;
    MPI_Request node_request;
    MPI_Request told_request; /* agreement on the codes of the start */
    int given_up;             /* code of the start of this rank's next trip */
    int failed;               /* code of this rank's start, then of all ranks */
    eqp_route_counts counting, counts;
};

/* route_plan.c: fills the tables. Collective; returns the code of all ranks. plan: a pair of eqp__put_value(). *alone:
 * this rank's failure, unknown to the other ranks */
int eqp__route_inspect(eqp_route *route, const eqp_route_blocks *blocks, int64_t plan[2], int *alone);

/* The first meeting of the ranks, for one that has failed before it has a route, and for plans with nodes. */
int eqp__route_meet_first(MPI_Comm comm, int code, int64_t plan[2]);

/* route.c: waits until all ranks have made the route, once. Collective; returns a code of all ranks. */
int eqp__route_open(eqp_route *route);

/* route_node.c: lanes, nodes, shared memory. Communicators are created before the tables, memory after them; the latter
 * is collective with nodes only. */
int eqp__route_split(eqp_route *route);
int eqp__route_memory(eqp_route *route);
void eqp__route_unsplit(eqp_route *route);

/* Makes the writes of a node's ranks visible to each other. Collective in the node. */
int eqp__route_meet(eqp_route *route);

/* route_trip.c: memory for sums, needed for trips back only. If arrivals are copied out of the segment, sums use the
 * segment. Local; EQP_OK or EQP_ERR_MEMORY. */
int eqp__route_sums(eqp_route *route);

/* route.c: frees it. */
void eqp__route_drop_sums(eqp_route *route);

/* route_trip.c: waits for the end of a trip, if one was begun, and drops its result. Collective in that case. */
void eqp__route_end_trip(eqp_route *route);

/* route_hot.c: broadcast, and its reverse on trips back. */
int64_t eqp__hot_requests(const eqp_route *route);
int eqp__hot_out(eqp_route *route);
int eqp__hot_back(eqp_route *route);

/* eqp_route_create() with messages of at most `largest` bytes. */
int eqp__route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, size_t largest,
                      eqp_route **route);

/* ---- the inspector: route_plan.c passes descriptions from stage to stage, route_keep.c handles blocks that stay in a
 * node ---- */

/* A block at this rank that this or further ranks still need. */
typedef struct eqp__traveller {
    int64_t id, bytes, seq; /* seq: its place among its home's blocks */
    int64_t at;             /* in own blocks or the pool */
    int64_t user, nusers;   /* into inspector.user: ranks that it has not been sent towards, nearest node first */
    int home, own;
} eqp__traveller;

/* A broadcast block, followed by one bit per rank, set for its users. */
typedef struct eqp__hot {
    int64_t id, bytes, seq;
    int64_t home;
} eqp__hot;

typedef struct eqp__inspector {
    eqp_route *route;
    eqp__traveller *travellers;
    int64_t n, capacity;
    int *user;
    int64_t nusers, users_capacity;
    uint64_t *hot; /* [nhot][hot_words] records */
    int64_t nhot, hot_capacity, hot_words;
    int64_t pool; /* bytes so far */
} eqp__inspector;

/* Sets first[nkeys + 1] and order[n] so that items first[k] to first[k + 1] of the order have key k; stable. */
void eqp__order_by(int64_t n, const int *key, int nkeys, int64_t *first, int64_t *order);

/* Adds to a number of bytes: EQP_OK or EQP_ERR_OVERFLOW. */
int eqp__add_bytes(int64_t *sum, int64_t bytes);

/* Appends; EQP_OK or EQP_ERR_MEMORY. */
int eqp__span_add(eqp__spans *spans, int64_t from, int64_t to, int64_t bytes, int who);

/* Lists blocks that stay after the last stage: memory, arrivals, contributions. For plans with nodes or broadcast it is
 * collective and returns the code of all ranks; otherwise it is local. *alone: this rank's code, before and after */
int eqp__route_keep(eqp__inspector *in, int *alone);

#endif
