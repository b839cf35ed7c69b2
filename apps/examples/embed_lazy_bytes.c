/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes out, bytes back: the weights of a loop's iterations go to the last rank, or to a thread, and cuts of the loop
 * come back some steps later. No balancer. usage: embed_lazy_bytes [WHO_MAKES_MAPS] */
#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/lazy.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4000, STEPS = 40 };

/* The heavy iterations move. */
static double weight_of(int64_t i, int64_t step)
{
    const double far = ((double)i - 5.0 * (double)step) / 300.0;

    return 1.0 + 20.0 * exp(-far * far);
}

/* The offers of all ranks are here, by rank: there is one balancer, or a thread. Each is told the cuts. */
static int make(void *user, MPI_Comm balancers, int nranks, int64_t n, const eqp_lazy_parcel *offer,
                eqp_lazy_parcel *answer)
{
    const size_t bytes = ((size_t)nranks + 1) * sizeof(int64_t);
    double weight[N];
    size_t at = 0;
    int code = EQP_OK;

    (void)user;
    (void)balancers;
    for (int64_t r = 0; r < n; at += offer[r++].bytes) {
        memcpy((char *)weight + at, offer[r].data, offer[r].bytes);
    }
    for (int64_t r = 0; r < n; r++) {
        EQP_TRY(eqp_array_create(&answer[r].data, 1, bytes));
        answer[r].bytes = bytes;
        EQP_TRY(eqp_cuts_optimal(N, weight, nranks, NULL, answer[r].data, NULL));
    }
done:
    return code;
}

/* A step of this rank: the weights of its iterations, and their sum. */
static double work(int64_t begin, int64_t end, int64_t step, double *weight)
{
    double sum = 0.0;

    for (int64_t i = begin; i < end; i++) {
        weight[i - begin] = weight_of(i, step);
        sum += weight[i - begin];
    }
    return sum;
}

static int run(MPI_Comm comm, eqp_lazy *lazy)
{
    eqp_lazy_phase news;
    eqp_lazy_parcel answer;
    double weight[N], load[2];
    int64_t begin, end;
    int rank, size, ntaken = 0, code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    begin = (int64_t)N * rank / size;
    end = (int64_t)N * (rank + 1) / size;
    EQP_TRY(eqp_lazy_host(lazy, make, NULL)); /* for a thread */
    for (int64_t step = 0; step < STEPS; step++) {
        EQP_TRY(eqp_lazy_poll(lazy, step, &news));
        if (news == EQP_LAZY_READY) {
            EQP_TRY(eqp_lazy_take(lazy, &answer));
            begin = ((const int64_t *)answer.data)[rank];
            end = ((const int64_t *)answer.data)[rank + 1];
            news = EQP_LAZY_IDLE;
            ntaken++;
        }
        load[0] = work(begin, end, step, weight);
        if (news == EQP_LAZY_IDLE) {
            EQP_TRY(eqp_lazy_offer(lazy, step, (size_t)(end - begin) * sizeof *weight, weight));
        }
    }
    load[1] = load[0];
    MPI_Allreduce(MPI_IN_PLACE, load, 1, MPI_DOUBLE, MPI_MAX, comm);
    MPI_Allreduce(MPI_IN_PLACE, load + 1, 1, MPI_DOUBLE, MPI_SUM, comm);
    load[0] *= size / load[1];
    (void)(rank == 0 && printf("%d maps taken, imbalance %.1f%%\n", ntaken, 100.0 * (load[0] - 1.0)));
    EQP_TRY(ntaken > 0 && load[0] < 1.1 ? EQP_OK : EQP_ERR_INTERNAL);
done:
    return code;
}

int main(int argc, char **argv)
{
    eqp_lazy_options options;
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = NULL;
    bool lost = false;
    int size, given, code;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EQP_TRY(eqp_lazy_options_parse(argc > 1 ? argv[1] : size > 1 ? "1:delay=3" : "thread:delay=3", &options, NULL));
    EQP_TRY(eqp_lazy_split(MPI_COMM_WORLD, &options, &mine, &lazy, NULL));
    code = eqp_lazy_serves(lazy) ? eqp_lazy_serve(lazy, make, NULL) : run(mine, lazy);
done:
    (void)eqp_lazy_leave(&lazy, &lost);
    eqp_comm_free(&mine);
    if (!lost) { /* else it would wait for a rank that is dead */
        MPI_Finalize();
    }
    return code != EQP_OK;
}
