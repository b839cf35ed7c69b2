/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints the imbalance and the parts that the C interface gives to each rank's items. Every binding must print the
 * same. */
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 300 };
typedef struct item {
    int64_t id;
    float x[3];
    double weight;
} item;

static int say(MPI_Comm comm, const char *method, const eqp_points *points)
{
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_balance_result result;
    int part[N], rank, code, *all = NULL;
    int64_t nall = 0;

    MPI_Comm_rank(comm, &rank);
    options.nparts = 7;
    EQP_TRY(eqp_balance_points(comm, eqp_method_find(method), points, &options, part, &result));
    EQP_TRY(eqp_gather_records(comm, sizeof *part, points->n, part, &nall, &all));
    for (int64_t i = 0; i < nall && rank == 0; i++) {
        printf("%s %d\n", method, all[i]);
    }
    if (rank == 0) {
        printf("%s %.12e\n", method, result.imbalance);
    }
done:
    free(all);
    return code;
}

int main(int argc, char **argv)
{
    static item items[N];
    static double weight[N];
    int rank, code = EQP_OK;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++) {
        items[i].id = rank * N + i;
        for (int a = 0; a < 3; a++) {
            items[i].x[a] = (float)eqp_random_uniform(3, (uint64_t)items[i].id, (uint64_t)a);
        }
        weight[i] = items[i].weight = 1.0 + i % 5;
    }
    const eqp_points points = {
        .n = rank == 1 ? 0 : N, .x = items[0].x, .stride = sizeof *items, .single = true, .weight = weight};
    EQP_TRY(say(MPI_COMM_WORLD, "rcb", &points));
    EQP_TRY(say(MPI_COMM_WORLD, "sfc", &points));
done:
    MPI_Finalize();
    return code != EQP_OK;
}
