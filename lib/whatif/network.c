/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/whatif.h>

#include <equipoise/par.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define LARGE (1 << 20) /* bytes: far more than what starting a message costs */
#define SMALL_TRIPS 41
#define LARGE_TRIPS 9
#define WARM_UP 3
#define TAG 1

/* The other rank of this rank's pair; the last one of an odd number has none. */
typedef struct pair {
    MPI_Comm comm;
    int partner; /* -1: none */
    bool serves; /* begins */
} pair;

static pair find_pair(MPI_Comm comm)
{
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (rank >= size / 2 * 2) {
        return (pair){comm, -1, false};
    }
    return (pair){comm, rank < size / 2 ? rank + size / 2 : rank - size / 2, rank < size / 2};
}

static int send(const pair *p, int bytes, char *buffer)
{
    return MPI_Send(buffer, bytes, MPI_BYTE, p->partner, TAG, p->comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
}

static int receive(const pair *p, int bytes, char *buffer)
{
    return MPI_Recv(buffer, bytes, MPI_BYTE, p->partner, TAG, p->comm, MPI_STATUS_IGNORE) == MPI_SUCCESS ? EQP_OK
                                                                                                         : EQP_ERR_MPI;
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

/* Seconds of one way of a message; NaN on a rank without a partner. */
static int time_trips(const pair *p, int trips, int bytes, char *buffer, double *seconds)
{
    double of_trip[SMALL_TRIPS];
    int code = EQP_OK;

    *seconds = NAN;
    for (int t = -WARM_UP; t < trips && p->partner >= 0 && code == EQP_OK; t++) {
        const double begin = eqp_wall_seconds();
        code = p->serves ? send(p, bytes, buffer) : receive(p, bytes, buffer);
        if (code == EQP_OK) {
            code = p->serves ? receive(p, bytes, buffer) : send(p, bytes, buffer);
        }
        if (t >= 0) {
            of_trip[t] = 0.5 * (eqp_wall_seconds() - begin);
        }
    }
    if (code == EQP_OK && p->partner >= 0) {
        *seconds = median(trips, of_trip);
    }
    return code;
}

/* The median of all pairs. */
static int agree_seconds(MPI_Comm comm, double *seconds)
{
    double *all = NULL;
    int size, n = 0;
    int code;

    MPI_Comm_size(comm, &size);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&all, size, sizeof *all), NULL));
    if (MPI_Allgather(seconds, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, comm) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    for (int r = 0; r < size; r++) {
        if (!isnan(all[r])) {
            all[n++] = all[r];
        }
    }
    *seconds = median(n, all);
done:
    free(all);
    return code;
}

int eqp_network_measure(MPI_Comm comm, eqp_network *network)
{
    pair p;
    char *buffer = NULL;
    double small = NAN, large = NAN;
    MPI_Comm own = MPI_COMM_NULL; /* messages of the caller's are none of ours */
    int size, code = eqp_comm_create(comm, &own);

    if (code != EQP_OK) {
        return code;
    }
    MPI_Comm_size(own, &size);
    code = eqp_agree(own, network == NULL ? EQP_ERR_ARGUMENT : EQP_OK, NULL);
    if (size == 1) {
        goto done;
    }
    EQP_TRY(code);
    p = find_pair(own);
    code = eqp_agree(own, eqp_array_create(&buffer, LARGE, 1), NULL);
    if (code == EQP_OK) {
        code = time_trips(&p, SMALL_TRIPS, 0, buffer, &small);
        code = code == EQP_OK ? time_trips(&p, LARGE_TRIPS, LARGE, buffer, &large) : code;
        code = eqp_agree(own, code, NULL);
    }
    EQP_TRY(code);
    EQP_TRY(agree_seconds(own, &small));
    EQP_TRY(agree_seconds(own, &large));
    network->alpha = small;
    network->beta = fmax(large - small, 0.0) / LARGE;
done:
    free(buffer);
    eqp_comm_free(&own);
    return code;
}
