/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights only: items with a place and measured work get a rank each, and go there. */
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 5000 }; /* items of each rank at first */
typedef struct item {
    float x[3];
    double seconds; /* that it took in the last step */
} item;

/* A clump in a thin background; what lies in the clump takes longer. */
static void make_items(int rank, item *items, double *weight)
{
    for (int i = 0; i < N; i++) {
        for (int a = 0; a < 3; a++) {
            const double u = eqp_random_uniform(1, (uint64_t)(rank * N + i), (uint64_t)a);
            items[i].x[a] = (float)(i % 2 == 0 ? 0.7 + 0.05 * u : u);
        }
        items[i].seconds = weight[i] = i % 2 == 0 ? 3e-6 : 1e-6;
    }
}

int main(int argc, char **argv)
{
    static item items[N], *mine;
    static double weight[N];
    static int part[N];
    double load[2] = {0, 0};
    int rank, size, code;
    eqp_balance_options options = eqp_balance_options_defaults();
    const eqp_method *method = NULL;
    eqp_message message = {""};
    int64_t n = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_items(rank, items, weight);
    const eqp_points points = {.n = N, .x = items[0].x, .stride = sizeof *items, .single = true, .weight = weight};
    options.nparts = size;
    (void)eqp_method_read(argc > 1 ? argv[1] : "sfc", &method, &options.settings, &message);
    code = eqp_balance_points(MPI_COMM_WORLD, method, &points, &options, part, NULL);
    if (code == EQP_OK) {
        code = eqp_send_records(MPI_COMM_WORLD, sizeof *items, N, part, items, &n, &mine);
    }

    for (int64_t i = 0; i < n; i++) {
        load[0] += mine[i].seconds;
    }
    MPI_Allreduce(load, load + 1, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, load, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("imbalance %.2f%%\n", 100.0 * (load[1] * size / load[0] - 1.0));
    }
    if (rank == 0 && code != EQP_OK) {
        fprintf(stderr, "embed_weights: %s\n", method == NULL ? message.text : eqp_error_text(code));
    }
    free(mine);
    MPI_Finalize();
    return code != EQP_OK || load[1] * size > 1.021 * load[0];
}
