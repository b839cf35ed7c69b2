/* SPDX-License-Identifier: BSD-3-Clause */
/* Steady heat on a square by Jacobi's method: one edge is hot, the opposite one cold, and every node between gets the
 * mean of its neighbours, again and again. The nodes of each sweep are handed out to the ranks of the program. Returns
 * nonzero where the temperatures differ by a bit from those that one rank computes alone. */
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/loops.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, N = SIDE * SIDE, SWEEPS = 200 };

static double mean_of_neighbours(const double *t, int64_t i)
{
    const int64_t x = i % SIDE, y = i / SIDE;

    if (y == 0 || y == SIDE - 1) {
        return t[i];
    }
    return 0.25 *
           (t[i - SIDE] + t[i + SIDE] + t[x > 0 ? i - 1 : i + SIDE - 1] + t[x < SIDE - 1 ? i + 1 : i - SIDE + 1]);
}

static int compute(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    (void)data;
    for (int64_t i = first; i < first + count; i++) {
        ((double *)result)[i - first] = mean_of_neighbours(user, i);
    }
    return EQP_OK;
}

static void compute_alone(double t[N])
{
    double next[N];

    for (int s = 0; s < SWEEPS; s++) {
        (void)compute(t, 0, N, NULL, next);
        memcpy(t, next, sizeof next);
    }
}

/* Collective: all sweeps; every rank gets all temperatures. */
static int sweep_all(MPI_Comm comm, eqp_loop *loop, double t[N], int64_t *chunks)
{
    double *mine = NULL, next[N];
    int64_t *count = NULL;
    eqp_loop_result done;
    int rank, size, code;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    code = eqp_array_create(&count, size, sizeof *count);
    code = code ? code : eqp_array_create(&mine, eqp_loop_part(loop, rank).count, sizeof *mine);
    EQP_TRY(eqp_agree(comm, code, NULL));
    for (int r = 0; r < size; r++) {
        count[r] = eqp_loop_part(loop, r).count;
    }
    const eqp_loop_work work = {.compute = compute, .user = t, .result = mine};
    for (int s = 0; s < SWEEPS; s++) {
        EQP_TRY(eqp_loop_run(loop, &work, &done));
        EQP_TRY(eqp_gather_all(comm, sizeof *mine, count[rank], mine, count, next));
        memcpy(t, next, sizeof next);
        *chunks += done.chunks;
    }
    EQP_TRY(eqp_sum_int64(comm, 1, chunks));
done:
    free(mine);
    free(count);
    return code;
}

int main(int argc, char **argv)
{
    static double t[N], alone[N];
    static const char *const methods[] = {"factoring", "adaptive-weighted-factoring"};
    eqp_loop_options how = eqp_loop_options_defaults();
    int rank, code, wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    how.result_bytes = sizeof(double);
    for (int k = 0; k < SIDE; k++) {
        alone[k] = 1;
    }
    compute_alone(alone);
    for (int k = 0; k < 4; k++) {
        eqp_loop *loop = NULL;
        int64_t chunks = 0;

        memset(t, 0, sizeof t);
        for (int i = 0; i < SIDE; i++) {
            t[i] = 1;
        }
        how.engine = k < 2 ? EQP_LOOP_ONE_SIDED : EQP_LOOP_MASTER;
        how.yield = how.engine == EQP_LOOP_MASTER;
        EQP_TRY(eqp_loop_create(MPI_COMM_WORLD, eqp_schedule_method_find(methods[k % 2]), N, NULL, &how, &loop));
        code = sweep_all(MPI_COMM_WORLD, loop, t, &chunks);
        eqp_loop_free(loop);
        EQP_TRY(code);
        wrong += memcmp(t, alone, sizeof t) != 0;
        if (rank == 0) {
            printf("%s, %s: %.1f chunks a sweep\n", methods[k % 2], k < 2 ? "one-sided" : "master",
                   (double)chunks / SWEEPS);
        }
    }
done:
    MPI_Finalize();
    return code != EQP_OK || wrong > 0;
}
