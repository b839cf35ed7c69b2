/* SPDX-License-Identifier: BSD-3-Clause */
#include "move/network.h"
#include "base/internal.h"
#include "move/traffic.h"

#include <equipoise/balancer.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define TRIPS 21
#define LARGE_TRIPS 9
#define WARM_UP 3
#define TAG 1

/* Message sizes: from zero to far beyond the start-up cost. */
static const int message_bytes[] = {0, 64, 1 << 10, 1 << 13, 1 << 16, 1 << 20};

/* Bytes per rank in an allgather, and the limit for all ranks. */
static const int gathered_bytes[] = {8, 128, 1 << 11, 1 << 15};
#define MOST_GATHERED (1 << 22)

/* Bytes of a reduction: a few numbers. */
#define REDUCED 64

enum {
    MESSAGES = sizeof message_bytes / sizeof message_bytes[0],
    GATHERS = sizeof gathered_bytes / sizeof gathered_bytes[0]
};

/* Lower limit on the time of an MPI call, against coarse clocks. */
#define LEAST_SECONDS 1e-9

typedef struct pair {
    MPI_Comm comm;
    int partner; /* -1: none */
    bool serves; /* it sends first */
    bool counts; /* messages cross between nodes, if those of any pair do */
} pair;

/* The smallest rank of this rank's node. */
static int find_node(MPI_Comm comm, int rank, int *node)
{
    MPI_Comm shared = MPI_COMM_NULL;
    int code = EQP_OK;

    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared) != MPI_SUCCESS ||
        MPI_Allreduce(&rank, node, 1, MPI_INT, MPI_MIN, shared) != MPI_SUCCESS) {
        code = EQP_ERR_MPI;
    }
    if (shared != MPI_COMM_NULL) {
        MPI_Comm_free(&shared);
    }
    return code;
}

static int find_pair(MPI_Comm comm, pair *p)
{
    int *node = NULL, *partner;
    int rank, size, own = 0, code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&node, 2 * (int64_t)size, sizeof *node), NULL));
    EQP_TRY(eqp_agree(comm, find_node(comm, rank, &own), NULL));
    EQP_TRY(EQP__MPI(MPI_Allgather(&own, 1, MPI_INT, node, 1, MPI_INT, comm)));
    partner = node + size;
    const bool apart = eqp__network_pairs(size, node, partner);
    const int other = partner[rank];
    *p = (pair){comm, other, rank < other, other >= 0 && (!apart || node[other] != node[rank])};
done:
    free(node);
    return code;
}

static int send(const pair *p, int bytes, char *buffer)
{
    return EQP__MPI(MPI_Send(buffer, bytes, MPI_BYTE, p->partner, TAG, p->comm));
}

static int receive(const pair *p, int bytes, char *buffer)
{
    return EQP__MPI(MPI_Recv(buffer, bytes, MPI_BYTE, p->partner, TAG, p->comm, MPI_STATUS_IGNORE));
}

static int compare_seconds(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(int n, double *value)
{
    qsort(value, (size_t)n, sizeof *value, compare_seconds);
    return n % 2 != 0 ? value[n / 2] : 0.5 * (value[n / 2 - 1] + value[n / 2]);
}

/* Seconds of a one-way message; NaN on a rank that does not count. */
static int time_trips(const pair *p, int trips, int bytes, char *buffer, double *seconds)
{
    double of_trip[TRIPS];
    int code = EQP_OK;

    *seconds = NAN;
    for (int t = -WARM_UP; t < trips && p->partner >= 0 && code == EQP_OK; t++) {
        const double begin = eqp_wall_seconds();
        code = p->serves ? send(p, bytes, buffer) : receive(p, bytes, buffer);
        code = code ? code : p->serves ? receive(p, bytes, buffer) : send(p, bytes, buffer);
        if (t >= 0) {
            of_trip[t] = 0.5 * (eqp_wall_seconds() - begin);
        }
    }
    if (code == EQP_OK && p->counts) {
        *seconds = median(trips, of_trip);
    }
    return code;
}

/* Seconds of an allreduce, or of an allgather of this many bytes per rank. from, to: scratch. */
static int time_calls(MPI_Comm comm, bool reduces, int bytes, char *from, char *to, double *seconds)
{
    double of_call[TRIPS];

    for (int t = -WARM_UP; t < TRIPS; t++) {
        const double begin = eqp_wall_seconds();
        const int mpi = reduces ? MPI_Allreduce(from, to, bytes, MPI_BYTE, MPI_BOR, comm)
                                : MPI_Allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm);
        EQP__FAIL_IF(mpi != MPI_SUCCESS, EQP_ERR_MPI);
        if (t >= 0) {
            of_call[t] = eqp_wall_seconds() - begin;
        }
    }
    *seconds = median(TRIPS, of_call);
    return EQP_OK;
}

/* Replaces a number by its median over the ranks that have one. */
static int agree_seconds(MPI_Comm comm, double *seconds)
{
    double *all = NULL;
    int size, n = 0;
    int code;

    MPI_Comm_size(comm, &size);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&all, size, sizeof *all), NULL));
    EQP_TRY(EQP__MPI(MPI_Allgather(seconds, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, comm)));
    for (int r = 0; r < size; r++) {
        if (!isnan(all[r])) {
            all[n++] = all[r];
        }
    }
    *seconds = fmax(median(n, all), LEAST_SECONDS);
done:
    free(all);
    return code;
}

static int measure_messages(const pair *p, char *buffer, eqp_network *network)
{
    double bytes[MESSAGES], seconds[MESSAGES];
    int code;

    for (int i = 0; i < MESSAGES; i++) {
        bytes[i] = message_bytes[i];
        code = time_trips(p, message_bytes[i] < 1 << 16 ? TRIPS : LARGE_TRIPS, message_bytes[i], buffer, &seconds[i]);
        EQP_TRY(eqp_agree(p->comm, code, NULL));
        EQP_TRY(agree_seconds(p->comm, &seconds[i]));
    }
    eqp__network_fit(MESSAGES, bytes, seconds, &network->alpha, &network->beta);
done:
    return code;
}

static int measure_calls(MPI_Comm comm, int size, int levels, char *buffer, eqp_network *network)
{
    char *const to = buffer + gathered_bytes[GATHERS - 1];
    double bytes[GATHERS], seconds[GATHERS], reduction, first = 0, per_byte = 0;
    int n = 0;

    EQP_CHECK(eqp_agree(comm, time_calls(comm, true, REDUCED, buffer, to, &reduction), NULL));
    EQP_CHECK(agree_seconds(comm, &reduction));
    for (int i = 0; i < GATHERS && (int64_t)gathered_bytes[i] * size <= MOST_GATHERED; i++) {
        bytes[n] = (double)gathered_bytes[i] * (size - 1);
        EQP_CHECK(eqp_agree(comm, time_calls(comm, false, gathered_bytes[i], buffer, to, &seconds[n]), NULL));
        EQP_CHECK(agree_seconds(comm, &seconds[n]));
        n++;
    }
    eqp__network_fit(n, bytes, seconds, &first, &per_byte);
    network->reduce = reduction / levels;
    network->gather = fmax(first, LEAST_SECONDS) / levels; /* 0 would mean alpha */
    network->gather_byte = per_byte;
    return EQP_OK;
}

int eqp_network_measure(MPI_Comm comm, eqp_network *network)
{
    pair p;
    char *buffer = NULL;
    eqp_network found = EQP_NETWORK_DEFAULTS;
    MPI_Comm own = MPI_COMM_NULL; /* the caller's messages must not interfere */
    int size, code = eqp_comm_create(comm, &own);

    EQP__CHECK(code);
    MPI_Comm_size(own, &size);
    code = eqp_agree(own, network == NULL ? EQP_ERR_ARGUMENT : EQP_OK, NULL);
    if (size == 1) {
        goto done;
    }
    EQP_TRY(code);
    EQP_TRY(eqp_agree(own, eqp_array_create(&buffer, MOST_GATHERED + gathered_bytes[GATHERS - 1], 1), NULL));
    EQP_TRY(find_pair(own, &p));
    EQP_TRY(measure_messages(&p, buffer, &found));
    EQP_TRY(measure_calls(own, size, eqp__log2_ceil(size), buffer, &found));
    found.node = network->node;
    *network = found;
done:
    free(buffer);
    eqp_comm_free(&own);
    return code;
}
