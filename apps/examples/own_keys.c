/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree code with keys of its own, here along a Morton curve: each rank gets an interval of keys with an even share of
 * the work, and the particles in it. Returns nonzero where work is uneven or a particle is lost. */
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 4000, LEVELS = 21 }; /* particles of each rank at first; levels of the tree */

typedef struct particle {
    double x[3], work; /* work: interactions in the last step */
    uint64_t key;
    int64_t id;
} particle;

static uint64_t morton_key(const double x[3])
{
    uint64_t key = 1; /* as tree codes do: the first bit tells the level */

    for (int level = 1; level <= LEVELS; level++) {
        for (int a = 0; a < 3; a++) {
            key = key << 1 | ((uint64_t)(x[a] * (1 << LEVELS)) >> (LEVELS - level) & 1);
        }
    }
    return key;
}

/* Particles to the ranks of their keys. */
static int balance(MPI_Comm comm, int64_t *n, particle **mine)
{
    particle *arrived = NULL;
    uint64_t *key = NULL;
    double *work = NULL;
    int *part = NULL, code;

    EQP_TRY(eqp_array_create(&key, *n, sizeof *key));
    EQP_TRY(eqp_array_create(&work, *n, sizeof *work));
    EQP_TRY(eqp_array_create(&part, *n, sizeof *part));
    for (int64_t i = 0; i < *n; i++) {
        key[i] = (*mine)[i].key;
        work[i] = (*mine)[i].work;
    }
    EQP_TRY(eqp_cut_keys(comm, *n, key, work, part, NULL));
    EQP_TRY(eqp_send_records(comm, sizeof **mine, *n, part, *mine, n, &arrived));
    free(*mine);
    *mine = arrived;
done:
    free(key);
    free(work);
    free(part);
    return code;
}

/* Tells whether all particles are still there; sum: zeros at first. */
static int check(MPI_Comm comm, int64_t n, const particle *mine, uint64_t sum[2])
{
    eqp_message message = {""};
    int64_t *id = NULL;
    int code;

    EQP_TRY(eqp_array_create(&id, n, sizeof *id));
    for (int64_t i = 0; i < n; i++) {
        id[i] = mine[i].id;
    }
    EQP_TRY(eqp_verify_records(comm, n, id, sizeof *mine, mine, sum, &message));
done:
    if (message.text[0] != '\0') {
        fprintf(stderr, "own_keys: %s\n", message.text);
    }
    free(id);
    return code;
}

int main(int argc, char **argv)
{
    particle *mine = NULL;
    uint64_t sum[2] = {0, 0};
    double load = 0, most = 0;
    int64_t n = N;
    int rank, size, code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EQP_TRY(eqp_array_create(&mine, n, sizeof *mine));
    for (int64_t i = 0; i < n; i++) {
        const uint64_t k = (uint64_t)(rank * n + i);
        for (uint64_t a = 0; a < 3; a++) {
            const double u = eqp_random_uniform(1, k, a);
            mine[i].x[a] = k % 2 == 0 ? 0.7 + 0.05 * u : u;
        }
        mine[i].work = k % 2 == 0 ? 300 : 100;
        mine[i].key = morton_key(mine[i].x);
        mine[i].id = (int64_t)k;
    }
    EQP_TRY(check(MPI_COMM_WORLD, n, mine, sum));
    EQP_TRY(balance(MPI_COMM_WORLD, &n, &mine));
    EQP_TRY(check(MPI_COMM_WORLD, n, mine, sum));
    for (int64_t i = 0; i < n; i++) {
        load += mine[i].work;
    }
    MPI_Allreduce(&load, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &load, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("imbalance %.2f%%\n", 100.0 * (most * size / load - 1.0));
    }
done:
    free(mine);
    MPI_Finalize();
    return code != EQP_OK || most * size > 1.01 * load;
}
