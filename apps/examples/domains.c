/* SPDX-License-Identifier: BSD-3-Clause */
/* A code whose ranks own boxes of a periodic cube: walls that balance it, atoms to the ranks whose boxes they are in,
 * copies to all ranks within the cut-off. Returns nonzero where an atom is lost or a pair is missed. */
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>
#include <equipoise/points.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1200 }; /* atoms */
static const double cutoff = 0.06, cube[6] = {0, 0, 0, 1, 1, 1};

typedef struct atom {
    double x[3];
    int64_t id;
} atom;

static int rank, size;

/* A box for each rank; grid[] is what MPI_Cart_create() takes. */
static int make_walls(int64_t n, const atom *atoms, int grid[3], eqp_regions **boxes)
{
    const eqp_points points = {.n = n, .x = n > 0 ? atoms[0].x : NULL, .stride = sizeof *atoms}; /* .weight: 1 each */
    eqp_balance_options options = eqp_balance_options_defaults();
    eqp_walls_options how = eqp_walls_options_defaults();

    for (int a = 0; a < 3; a++) {
        how.high[a] = cube[3 + a];
        how.least[a] = cutoff;
    }
    options.nparts = size;
    return eqp_walls(MPI_COMM_WORLD, eqp_method_find("tensor"), &points, &options, &how, grid, boxes);
}

/* Atoms to the ranks whose boxes they are in. */
static int migrate(const eqp_regions *boxes, int64_t *n, atom **atoms)
{
    atom *arrived = NULL;
    int *dest = NULL, code;

    EQP_TRY(eqp_array_create(&dest, *n, sizeof *dest));
    for (int64_t i = 0; i < *n; i++) {
        dest[i] = eqp_regions_find(boxes, (*atoms)[i].x);
    }
    EQP_TRY(eqp_send_records(MPI_COMM_WORLD, sizeof **atoms, *n, dest, *atoms, n, &arrived));
    free(*atoms);
    *atoms = arrived;
done:
    free(dest);
    return code;
}

/* Copies of atoms to all ranks that have places within the cut-off. */
static int send_copies(const eqp_regions *boxes, int64_t n, const atom *atoms, int64_t *ncopies, atom **copies)
{
    atom *going = NULL;
    int *dest = NULL, *near = NULL, nnear = 0, code;
    int64_t ngoing = 0;

    EQP_TRY(eqp_array_create(&near, size, sizeof *near));
    EQP_TRY(eqp_array_create(&dest, n * size, sizeof *dest));
    EQP_TRY(eqp_array_create(&going, n * size, sizeof *going));
    for (int64_t i = 0; i < n; i++) {
        EQP_TRY(eqp_regions_touch(boxes, atoms[i].x, atoms[i].x, cutoff, cube, near, &nnear));
        for (int k = 0; k < nnear; k++) {
            dest[ngoing] = near[k];
            going[ngoing] = atoms[i];
            ngoing += near[k] != rank;
        }
    }
    EQP_TRY(eqp_send_records(MPI_COMM_WORLD, sizeof *going, ngoing, dest, going, ncopies, copies));
done:
    free(near);
    free(dest);
    free(going);
    return code;
}

/* Counts atoms of b within the cut-off of atoms of a, without self pairs. */
static int64_t count_pairs(int64_t na, const atom *a, int64_t nb, const atom *b)
{
    int64_t count = 0;

    for (int64_t k = 0; k < na * nb; k++) {
        double r2 = 0;
        for (int d = 0; d < 3; d++) {
            const double r = a[k / nb].x[d] - b[k % nb].x[d];
            r2 += (r - rint(r)) * (r - rint(r));
        }
        count += r2 <= cutoff * cutoff && a[k / nb].id != b[k % nb].id;
    }
    return count;
}

static int run(void)
{
    atom *all = NULL, *atoms = NULL, *copies = NULL;
    int64_t n = 0, ncopies = 0, count[2] = {0, 0};
    eqp_regions *boxes = NULL;
    int grid[3], code;

    EQP_TRY(eqp_array_create(&all, N, sizeof *all));
    EQP_TRY(eqp_array_create(&atoms, N, sizeof *atoms));
    for (uint64_t i = 0; i < N; i++) { /* denser towards a corner */
        const double u[3] = {eqp_random_uniform(1, i, 0), eqp_random_uniform(1, i, 1), eqp_random_uniform(1, i, 2)};
        all[i] = (atom){{u[0] * u[0], u[1] * u[1], u[2]}, (int64_t)i};
        if ((int)i % size == rank) {
            atoms[n++] = all[i];
        }
    }
    EQP_TRY(make_walls(n, atoms, grid, &boxes));
    EQP_TRY(migrate(boxes, &n, &atoms));
    EQP_TRY(send_copies(boxes, n, atoms, &ncopies, &copies));
    count[0] = n;
    count[1] = count_pairs(n, atoms, n, atoms) + count_pairs(n, atoms, ncopies, copies);
    EQP_TRY(eqp_sum_int64(MPI_COMM_WORLD, 2, count));
    const int64_t expected = count_pairs(N, all, N, all);
    if (rank == 0) {
        printf("%d x %d x %d boxes, %lld pairs of %lld\n", grid[0], grid[1], grid[2], (long long)count[1],
               (long long)expected);
    }
    code = count[0] == N && count[1] == expected ? EQP_OK : EQP_ERR_INTERNAL;
done:
    eqp_regions_free(boxes);
    free(all);
    free(atoms);
    free(copies);
    return code;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int code = run();
    MPI_Finalize();
    return code != EQP_OK;
}
