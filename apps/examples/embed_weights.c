/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights only: items with a place and measured work get a rank each, and go there: by a method of the table, then by
 * keys of the code's own, here along a Morton curve. Returns nonzero where the work of ranks is uneven. */
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 5000, LEVELS = 21 }; /* items of each rank at first; levels of the curve */

typedef struct item {
    float x[3];
    double seconds; /* of the last step */
} item;

static item items[N];
static double weight[N];
static uint64_t key[N];
static int part[N], rank, size;

/* A clump in a thin background; items in the clump take longer. */
static void make_items(void)
{
    for (int i = 0; i < N; i++) {
        for (int a = 0; a < 3; a++) {
            const double u = eqp_random_uniform(1, (uint64_t)(rank * N + i), (uint64_t)a);
            items[i].x[a] = (float)(i % 2 == 0 ? 0.7 + 0.05 * u : u);
        }
        items[i].seconds = weight[i] = i % 2 == 0 ? 3e-6 : 1e-6;
        for (int bit = 3 * LEVELS - 1; bit >= 0; bit--) {
            key[i] = key[i] << 1 | ((uint64_t)(items[i].x[2 - bit % 3] * (1 << LEVELS)) >> bit / 3 & 1);
        }
    }
}

/* Collective: sends items to the ranks of part[], adds up what arrives, and frees it. */
static int move(const char *how, double *imbalance)
{
    double load = 0, most;
    item *mine = NULL;
    int64_t n = 0;
    int code;

    EQP_TRY(eqp_send_records(MPI_COMM_WORLD, sizeof *items, N, part, items, &n, &mine));
    for (int64_t i = 0; i < n; i++) {
        load += mine[i].seconds;
    }
    MPI_Allreduce(&load, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &load, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    *imbalance = most * size / load - 1;
    if (rank == 0) {
        printf("%s: imbalance %.2f%%\n", how, 100 * *imbalance);
    }
done:
    free(mine);
    return code;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "sfc";
    const eqp_points points = {.n = N, .x = items[0].x, .stride = sizeof *items, .single = true, .weight = weight};
    eqp_balance_options options = eqp_balance_options_defaults();
    const eqp_method *method = NULL;
    eqp_message message = {""};
    double imbalance[2] = {0, 0};
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_items();
    options.nparts = size;
    EQP_TRY(eqp_method_read(name, &method, &options.settings, &message));
    EQP_TRY(eqp_balance_points(MPI_COMM_WORLD, method, &points, &options, part, NULL));
    EQP_TRY(move(name, &imbalance[0]));
    EQP_TRY(eqp_cut_keys(MPI_COMM_WORLD, N, key, weight, part, NULL));
    EQP_TRY(move("keys", &imbalance[1]));
done:
    if (rank == 0 && code != EQP_OK) {
        fprintf(stderr, "embed_weights: %s\n", method == NULL ? message.text : eqp_error_text(code));
    }
    MPI_Finalize();
    return code != EQP_OK || imbalance[0] > 0.021 || imbalance[1] > 0.01;
}
