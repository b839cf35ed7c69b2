/* SPDX-License-Identifier: BSD-3-Clause */
/* Short-range molecular dynamics: a Lennard-Jones droplet in its vapour, in a periodic box of link cells. A rank owns
 * a brick of cells and their particles.
 * usage: md [STEPS] */
/* Lines that end in a plus were added later, to balance it: md [STEPS [METHOD]] */ /* + */
#include <equipoise/points.h>                                                       /* + */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* M cells along each edge of the box; most particles, ranks and steps. Lengths are in sigma, energies in epsilon. */
enum { M = 14, CELLS = M * M * M, MOST = 12000, RANKS = 1024, EVERY = 10 };
static const double width = 2.6, box = 2.6 * M, reach = 2.5, dt = 0.002;

typedef struct particle {
    double x[3], v[3], f[3];
    int cell;
} particle;

static int rank, size, owner[CELLS];        /* rank of each cell, the same on all ranks */
static particle p[MOST], packed[13 * MOST]; /* n that live here, then copies of remote ones */
static int n, ncopies, from[13 * MOST];     /* which particle was packed as k-th */
static int sends[RANKS], send_at[RANKS], receives[RANKS], receive_at[RANKS];
static int first[CELLS + 1], order[MOST];   /* particles and copies, cell by cell */
static double work[CELLS];                  /* pairs that each cell has looked at in the last step */
static double slowest[2], mean[2], sums[3]; /* pairs and CPU seconds of all steps; of the last one: */
enum { PAIRS, POTENTIAL, KINETIC };
static MPI_Datatype record;
static const eqp_method *method; /* + */
static double balancing;         /* + */

static void give_up(int condition, const char *why)
{
    if (condition) {
        fprintf(stderr, "md: %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Neighbour k of 27. A cell looks at itself (13) and at the later ones, so each pair of cells is looked at once. */
static int neighbour(int cell, int k)
{
    const int x = (cell / (M * M) + k / 9 - 1 + M) % M, y = (cell / M % M + k / 3 % 3 - 1 + M) % M;
    return (x * M + y) * M + (cell % M + k % 3 - 1 + M) % M;
}

static int cell_of(const double x[3])
{
    int cell = 0;
    for (int d = 0; d < 3; d++) {
        cell = cell * M + (int)fmin(x[d] / width, M - 1);
    }
    return cell;
}

/* Turns the counts in sends[] into displacements, those of receives too; returns the number that comes. */
static int plan(void)
{
    int coming = 0;
    MPI_Alltoall(sends, 1, MPI_INT, receives, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0, going = 0; r < size; r++) {
        send_at[r] = going;
        receive_at[r] = coming;
        going += sends[r];
        coming += receives[r];
    }
    return coming;
}

/* Particles to the owners of their cells. */
static void migrate(void)
{
    int at[RANKS];
    memset(sends, 0, sizeof sends);
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            p[i].x[d] -= box * floor(p[i].x[d] / box);
        }
        p[i].cell = cell_of(p[i].x);
        sends[owner[p[i].cell]]++;
    }
    const int coming = plan();
    give_up(coming > MOST, "too many particles");
    memcpy(at, send_at, sizeof at);
    for (int i = 0; i < n; i++) {
        packed[at[owner[p[i].cell]]++] = p[i];
    }
    MPI_Alltoallv(packed, sends, send_at, record, p, receives, receive_at, record, MPI_COMM_WORLD);
    n = coming;
}

/* True if neighbour k of a cell is the first one among 0 to 12 that this other rank owns. */
static int wanted(int cell, int k)
{
    const int other = owner[neighbour(cell, k)];
    for (int j = 0; j < k; j++) {
        if (owner[neighbour(cell, j)] == other) {
            return 0;
        }
    }
    return other != rank;
}

/* Sends copies of particles to ranks whose cells look at their cells. */
static void send_copies(void)
{
    int at[RANKS];
    memset(sends, 0, sizeof sends);
    for (int i = 0; i < 13 * n; i++) {
        sends[owner[neighbour(p[i / 13].cell, i % 13)]] += wanted(p[i / 13].cell, i % 13);
    }
    ncopies = plan();
    give_up(n + ncopies > MOST, "too many copies");
    memcpy(at, send_at, sizeof at);
    for (int i = 0; i < 13 * n; i++) {
        if (wanted(p[i / 13].cell, i % 13)) {
            const int k = at[owner[neighbour(p[i / 13].cell, i % 13)]]++;
            packed[k] = p[i / 13];
            from[k] = i / 13;
        }
    }
    MPI_Alltoallv(packed, sends, send_at, record, p + n, receives, receive_at, record, MPI_COMM_WORLD);
}

/* Returns forces on copies to the original particles. */
static void return_forces(void)
{
    MPI_Alltoallv(p + n, receives, receive_at, record, packed, sends, send_at, record, MPI_COMM_WORLD);
    for (int k = 0; k < send_at[size - 1] + sends[size - 1]; k++) {
        for (int d = 0; d < 3; d++) {
            p[from[k]].f[d] += packed[k].f[d];
        }
    }
}

static void sort_into_cells(void)
{
    memset(first, 0, sizeof first);
    for (int i = 0; i < n + ncopies; i++) {
        first[p[i].cell]++;
        memset(p[i].f, 0, sizeof p[i].f);
    }
    for (int c = 0; c < CELLS; c++) {
        first[c + 1] += first[c];
    }
    for (int i = n + ncopies - 1; i >= 0; i--) {
        order[--first[p[i].cell]] = i;
    }
}

static void pair(particle *a, particle *b)
{
    double r[3], r2 = 0.0;
    for (int d = 0; d < 3; d++) {
        r[d] = a->x[d] - b->x[d];
        r[d] -= box * rint(r[d] / box);
        r2 += r[d] * r[d];
    }
    if (r2 < reach * reach) {
        const double s6 = 1.0 / (r2 * r2 * r2), c6 = 1.0 / pow(reach, 6), f = 24.0 * (2.0 * s6 - 1.0) * s6 / r2;
        for (int d = 0; d < 3; d++) {
            a->f[d] += f * r[d];
            b->f[d] -= f * r[d];
        }
        sums[POTENTIAL] += 4.0 * ((s6 - 1.0) * s6 - (c6 - 1.0) * c6);
        sums[PAIRS]++;
    }
}

/* A step takes as long as its slowest rank: adds to the sums over the steps of that, and of the mean. */
static void add_step(double done, double taken)
{
    double most[2] = {done, taken}, all[2] = {done, taken};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++) {
        slowest[k] += most[k];
        mean[k] += all[k] / size;
    }
}

static void compute_forces(void)
{
    double looked = 0.0;
    send_copies();
    const clock_t begin = clock();
    sort_into_cells();
    memset(work, 0, sizeof work);
    sums[PAIRS] = sums[POTENTIAL] = 0.0;
    for (int c = 0; c < CELLS; c++) {
        for (int k = 13; k < 27 && owner[c] == rank; k++) {
            const int other = neighbour(c, k);
            for (int i = first[c]; i < first[c + 1]; i++) {
                const int j0 = k == 13 ? i + 1 : first[other];
                for (int j = j0; j < first[other + 1]; j++) {
                    pair(&p[order[i]], &p[order[j]]);
                }
                work[c] += first[other + 1] - j0;
            }
        }
        looked += work[c];
    }
    add_step(looked, (double)(clock() - begin) / CLOCKS_PER_SEC);
    return_forces();
}

static void kick(void)
{
    sums[KINETIC] = 0.0;
    for (int i = 0; i < 3 * n; i++) {
        p[i / 3].v[i % 3] += 0.5 * dt * p[i / 3].f[i % 3];
        sums[KINETIC] += 0.5 * p[i / 3].v[i % 3] * p[i / 3].v[i % 3];
    }
}

static double uniform(unsigned k)
{
    k = (k ^ (k >> 16)) * 0x45d9f3bu;
    k = (k ^ (k >> 16)) * 0x45d9f3bu;
    return (k ^ (k >> 16)) / 4294967296.0;
}

/* Sites of a lattice: all of them within the droplet, some outside. */
static void make_particles(void)
{
    const int sites = (int)(box / 1.12);
    for (int s = 0; s < sites * sites * sites; s++) {
        const int site[3] = {s / (sites * sites), s / sites % sites, s % sites};
        double r2 = 0.0;
        for (int d = 0; d < 3; d++) {
            p[n].x[d] = (site[d] + 0.5) * box / sites;
            p[n].v[d] = 2.0 * (uniform(4u * (unsigned)s + (unsigned)d) - 0.5);
            r2 += (p[n].x[d] - 0.35 * box) * (p[n].x[d] - 0.35 * box);
        }
        n += owner[cell_of(p[n].x)] == rank && (r2 < 100.0 || uniform(4u * (unsigned)s + 3u) < 0.03);
        give_up(n == MOST, "too many particles");
    }
}

/* Bricks of cells, as equal as they can be. */
static void make_bricks(void)
{
    int bricks[3] = {0, 0, 0};
    MPI_Dims_create(size, 3, bricks);
    for (int c = 0; c < CELLS; c++) {
        const int x = c / (M * M) * bricks[0] / M, y = c / M % M * bricks[1] / M, z = c % M * bricks[2] / M;
        owner[c] = (x * bricks[1] + y) * bricks[2] + z;
    }
}

/* Cells are the items, and the pairs that they have looked at are their weights: an owner for each cell. */ /* + */
static void balance(void)                                                                                    /* + */
{                                                                                                            /* + */
    static double centre[CELLS][3], weight[CELLS];                                                           /* + */
    const eqp_points cells = {.n = rank == 0 ? CELLS : 0, .x = centre, .weight = weight, .part_now = owner}; /* + */
    eqp_balance_options options = eqp_balance_options_defaults();                                            /* + */
    for (int c = 0; c < CELLS; c++) {                                                                        /* + */
        centre[c][0] = c / (M * M), centre[c][1] = c / M % M, centre[c][2] = c % M;                          /* + */
    }                                                                                                        /* + */
    options.nparts = size;                                                                                   /* + */
    MPI_Reduce(work, weight, CELLS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);                                 /* + */
    const double begin = eqp_busy_seconds();                                                                 /* + */
    const int code = eqp_balance_points(MPI_COMM_WORLD, method, &cells, &options, owner, NULL);              /* + */
    give_up(code != EQP_OK, eqp_error_text(code));                                                           /* + */
    balancing += eqp_busy_seconds() - begin;                                                                 /* + */
    MPI_Bcast(owner, CELLS, MPI_INT, 0, MPI_COMM_WORLD);                                                     /* + */
} /* + */

/* Sums over the ranks. */
static void print(int step)
{
    double all[4] = {sums[PAIRS], sums[POTENTIAL], sums[KINETIC], n};
    MPI_Allreduce(MPI_IN_PLACE, all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("step %d: %.0f particles, %.0f pairs, energy %.6f\n", step, all[3], all[0], all[1] + all[2]);
    }
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 100;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    give_up(size > RANKS, "more than 1024 ranks");
    method = argc > 2 ? eqp_method_find(argv[2]) : NULL;                /* + */
    give_up(argc > 2 && method == NULL, "METHOD is none of the table"); /* + */
    MPI_Type_contiguous(sizeof(particle), MPI_BYTE, &record);
    MPI_Type_commit(&record);
    make_bricks();
    make_particles();
    migrate();
    compute_forces();
    kick();
    print(0);
    for (int step = 1; step <= steps; step++) {
        if (method != NULL && step % EVERY == 1) { /* + */
            balance();                             /* + */
        }                                          /* + */
        kick();
        for (int i = 0; i < 3 * n; i++) {
            p[i / 3].x[i % 3] += dt * p[i / 3].v[i % 3];
        }
        migrate();
        compute_forces();
        kick();
        if (step % 20 == 0) {
            print(step);
        }
    }
    if (rank == 0) {
        printf("imbalance %.1f%% by pairs; forces %.3f CPU s on the slowest rank, %.3f on average\n",
               100.0 * (slowest[0] / mean[0] - 1.0), slowest[1], mean[1]);
        printf("balancing %.3f CPU s on rank 0\n", balancing); /* + */
    }
    MPI_Type_free(&record);
    MPI_Finalize();
    return 0;
}
