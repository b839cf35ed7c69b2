/* SPDX-License-Identifier: BSD-3-Clause */
/* What a route knows after its inspector: tables by which the executor moves bytes without looking at blocks.
 *
 * Every rank has one *segment* of memory, which its node reads where memory is shared:
 *   pool    blocks that arrive here, by stage, sender and the sender's order: messages land where they stay
 *   own     this rank's blocks that others of its node need (not hot)
 *   hot     all broadcast blocks of this lane, by home
 * Back trips add up in an array of the same layout. */
#ifndef EQUIPOISE_COMM_ROUTE_TABLES_H
#define EQUIPOISE_COMM_ROUTE_TABLES_H

#include "comm/agree.h"
#include "move/stages.h"

#include <equipoise/more/route.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that go from one place to another. */
typedef struct eqp__span {
    int64_t from, to, bytes;
    int who; /* rank of the node in whose segment or contributions `from` lies; EQP__OWN: in this rank's blocks */
} eqp__span;

#define EQP__OWN (-1)

typedef struct eqp__spans {
    int64_t n, capacity;
    eqp__span *list;
} eqp__spans;

/* One message of a trip out; a trip back sends the same ones the other way. */
typedef struct eqp__message {
    int partner;                /* rank of the lane */
    int64_t bytes, at;          /* where it lies in the pool (received) or among all packed ones (sent) */
    int64_t piece, npieces;     /* blocks in it: into `pieces`; sent ones only */
    int64_t request, nrequests; /* pieces that MPI can count, into the requests of its side */
} eqp__message;

typedef struct eqp__messages {
    int64_t n, capacity;
    eqp__message *list;                 /* by stage, then partner */
    int64_t first[EQP__STAGES_MAX + 1]; /* of each stage */
    int64_t bytes, nrequests;           /* of all */
} eqp__messages;

typedef enum eqp__trip { EQP__TRIP_NONE, EQP__TRIP_OUT, EQP__TRIP_BACK } eqp__trip;

/* What all ranks know of a route: whether all blocks are whole doubles, and can come back; whether none travels. */
enum { EQP__WHOLE, EQP__IDLE };

struct eqp_route {
    MPI_Comm comm; /* all ranks, borrowed */
    MPI_Comm lane; /* this rank's lane: `comm` where no memory is shared */
    MPI_Comm node; /* ranks that share memory; MPI_COMM_NULL: none */
    MPI_Win window;
    int rank, nranks;
    int me, node_rank; /* in the lane; in the node */
    eqp_exchange_plan plan;
    eqp__stages stages;
    eqp__agreement made; /* on its way while `opening`: whether all ranks have all tables and memory */
    int opening, broken; /* broken: the code of a route that some rank could not make */
    size_t largest;      /* bytes of the largest single message */
    int64_t own_bytes;   /* of all blocks that live here */
    int64_t all[2];      /* of all ranks, once the route is open */

    eqp__messages sent, received;
    eqp__spans pieces;        /* blocks in what is sent, in its order: from own blocks or the pool */
    eqp__spans to_own;        /* own blocks into the segment's part for them */
    eqp__spans to_hot;        /* own hot blocks into the segment */
    eqp__spans arrivals;      /* from the segments of the node to what arrives */
    eqp__spans contributions; /* from what the ranks of the node contribute into the segment; by rank of the node */
    int64_t own_at, hot_at, segment_bytes;
    int has_hot;                /* whether anybody in the lane broadcasts */
    int64_t *hot_first;         /* [lane + 1] bytes from hot_at of each rank's hot blocks */
    int *hot_count, *hot_start; /* [lane] the same as MPI wants them, for the trip on its way */

    int64_t narrivals, arrived_bytes;
    int64_t *arrival_id, *arrival_bytes, *arrival_offset;
    int *arrival_home;

    char *segment;     /* this rank's; in the window where memory is shared */
    char **segments;   /* [node] */
    char *packed;      /* messages sent, or received on the way back; by `at` of each */
    char *arrived;     /* what arrives; NULL: it lies in the segment as it is given */
    char *adding;      /* sums on the way back, laid out like the segment; NULL before the first trip back */
    double *hot_sum;   /* of own hot blocks */
    int adding_is_own; /* whether `adding` is to be freed */

    eqp__trip trip;
    int stage;                                    /* that is waited for */
    int contributed;                              /* back: whether all contributions of the node are added up */
    const char *data;                             /* out: own blocks; back: contributions of this rank */
    MPI_Request *sent_request, *received_request; /* of the messages' pieces */
    MPI_Request *hot_request;
    int64_t nhot_requests;
    MPI_Request node_request;
    MPI_Request told_request; /* of what all ranks know of the trip's start in the end */
    int given_up;             /* code with which this rank's next trip is to start */
    int failed;               /* code of this rank's start, then of all ranks' */
    eqp_route_counts counting, counts;
};

/* route_plan.c: fills the tables. Collective: returns a code of all ranks. plan: a pair of eqp__put_value().
 * *alone: of this rank, which nobody else has heard of */
int eqp__route_inspect(eqp_route *route, const eqp_route_blocks *blocks, int64_t plan[2], int *alone);

/* The first meeting of the ranks, for one that has failed before it has a route, and for plans with nodes. */
int eqp__route_meet_first(MPI_Comm comm, int code, int64_t plan[2]);

/* route.c: waits until all ranks have made the route, once. Collective; returns a code of all ranks. */
int eqp__route_open(eqp_route *route);

/* route_node.c: lanes, nodes, shared memory. The communicators, where nodes share memory, come before the tables;
 * memory after, which is collective with nodes only. */
int eqp__route_split(eqp_route *route);
int eqp__route_memory(eqp_route *route);
void eqp__route_unsplit(eqp_route *route);

/* Lets the ranks of a node see what each has written. Collective in the node. */
int eqp__route_meet(eqp_route *route);

/* route_trip.c: memory for sums, which routes that only go out do without. Where what arrived was copied out of the
 * segment, that is free for it. Local; EQP_OK or EQP_ERR_MEMORY. */
int eqp__route_sums(eqp_route *route);

/* route.c: frees it. */
void eqp__route_drop_sums(eqp_route *route);

/* route_trip.c: waits for the end of a trip that was begun; its result is lost. Collective if there is one. */
void eqp__route_end_trip(eqp_route *route);

/* route_hot.c: broadcast and its reverse. */
int64_t eqp__hot_requests(const eqp_route *route);
int eqp__hot_out(eqp_route *route);
int eqp__hot_back(eqp_route *route);

/* eqp_route_create() with messages of at most `largest` bytes. */
int eqp__route_create(MPI_Comm comm, const eqp_exchange_plan *plan, const eqp_route_blocks *blocks, size_t largest,
                      eqp_route **route);

#endif
