/* SPDX-License-Identifier: BSD-3-Clause */
/* Block-structured adaptive mesh refinement: a blob is carried over a periodic square and diffuses. The square is a
 * grid of blocks; each has 16, 32 or 64 cells along an edge, as its contents want. A rank owns some blocks, wherever
 * they lie.
 * usage: amr [STEPS] */
/* Lines that end in a plus were added later, to balance it: amr [STEPS [METHOD]] */ /* + */
#include <equipoise/balance.h>                                                       /* + */
#include <equipoise/more/comm.h>                                                     /* + */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Blocks are numbered along a Morton curve; SIDE along each edge of the square, which is 1 long. */
enum { BITS = 4, SIDE = 1 << BITS, BLOCKS = SIDE * SIDE, COARSE = 8, FINE = 32, RANKS = 1024, EVERY = 20 };
static const double flow[2] = {1.0, 0.5}, diffusivity = 2e-4, dt = 2.5e-4, edge = 1.0 / SIDE;

typedef struct block {
    double u[FINE * FINE]; /* means over the cells; their number depends on the level */
    int number;
} block;

static int rank, size, owner[BLOCKS], level[BLOCKS]; /* of all blocks, the same on all ranks */
static int beside[BLOCKS][4];                        /* neighbours of each block: left, right, below, above */
static block *mine;                                  /* that live here */
static int nmine;
static double row[BLOCKS][4][FINE];      /* cells at the sides of blocks: of this rank's, and of neighbours */
static double slowest[2], mean[2], sent; /* cells and CPU seconds, bytes of rows: of all steps */
static const eqp_method *method;         /* + */
static double balancing, moved;          /* + */

static void give_up(int condition, const char *why)
{
    if (condition) {
        fprintf(stderr, "amr: %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int cells(int b)
{
    return COARSE << level[b];
}

/* Cell k along a side of a block with m x m cells. */
static int at_side(int side, int k, int m)
{
    return side < 2 ? side * (m - 1) * m + k : k * m + (side - 2) * (m - 1);
}

static int place(int b, int axis)
{
    int x = 0;
    for (int bit = 0; bit < BITS; bit++) {
        x += (b >> (2 * bit + 1 - axis) & 1) << bit;
    }
    return x;
}

/* Equally many blocks for every rank, along the curve. */
static void deal_blocks(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        owner[b] = (int)((long)b * size / BLOCKS);
        for (int c = 0; c < BLOCKS; c++) {
            for (int axis = 0; axis < 2; axis++) {
                if (place(b, !axis) == place(c, !axis) && (place(b, axis) + 1) % SIDE == place(c, axis)) {
                    beside[b][2 * axis + 1] = c;
                    beside[c][2 * axis] = b;
                }
            }
        }
    }
}

/* A disk, in the finest cells. */
static void make_blocks(void)
{
    mine = calloc(BLOCKS, sizeof *mine);
    give_up(mine == NULL, "out of memory");
    for (int b = 0; b < BLOCKS; b++) {
        level[b] = 2;
        for (int k = 0; k < FINE * FINE && owner[b] == rank; k++) {
            const double x = edge * (place(b, 0) + (k / FINE + 0.5) / FINE) - 0.3;
            const double y = edge * (place(b, 1) + (k % FINE + 0.5) / FINE) - 0.3;
            mine[nmine].u[k] = x * x + y * y < 0.15 * 0.15;
            mine[nmine].number = b;
        }
        nmine += owner[b] == rank;
    }
}

/* Cells at the sides of blocks to the owners of their neighbours. */
static void exchange_rows(void)
{
    static MPI_Request request[8 * BLOCKS];
    int nrequests = 0;
    for (int i = 0; i < 4 * nmine; i++) {
        const int b = mine[i / 4].number, m = cells(b);
        for (int k = 0; k < m; k++) {
            row[b][i % 4][k] = mine[i / 4].u[at_side(i % 4, k, m)];
        }
    }
    for (int i = 0; i < 4 * BLOCKS; i++) {
        const int b = i / 4, from = owner[b], to = owner[beside[b][i % 4]];
        if (from != to && from == rank) {
            MPI_Isend(row[b][i % 4], cells(b), MPI_DOUBLE, to, i, MPI_COMM_WORLD, &request[nrequests++]);
            sent += cells(b) * (double)sizeof(double);
        } else if (from != to && to == rank) {
            MPI_Irecv(row[b][i % 4], cells(b), MPI_DOUBLE, from, i, MPI_COMM_WORLD, &request[nrequests++]);
        }
    }
    MPI_Waitall(nrequests, request, MPI_STATUSES_IGNORE);
}

/* From a to b: what is carried, upwind, and what diffuses. */
static double flux(double a, double b, double speed, double distance)
{
    return speed * (speed > 0.0 ? a : b) + diffusivity * (a - b) / distance;
}

/* A step of one block. Where a side is finer beyond, it has the finer faces, on both sides: so nothing is lost. */
static void advance(block *it)
{
    const int b = it->number, m = cells(b);
    const double h = edge / m;
    double out[FINE * FINE] = {0.0};
    for (int k = 0; k < m * m; k++) {
        for (int axis = 0; axis < 2; axis++) {
            const int next = axis == 0 ? k + m : k + 1;
            if (axis == 0 ? next < m * m : next % m != 0) {
                const double f = h * flux(it->u[k], it->u[next], flow[axis], h);
                out[k] += f;
                out[next] -= f;
            }
        }
    }
    for (int side = 0; side < 4; side++) {
        const int n = cells(beside[b][side]), faces = m > n ? m : n;
        for (int f = 0; f < faces; f++) {
            const int k = at_side(side, f * m / faces, m);
            const double beyond = row[beside[b][side]][side ^ 1][f * n / faces];
            out[k] += edge / faces *
                      flux(it->u[k], beyond, side % 2 ? flow[side / 2] : -flow[side / 2], 0.5 * (h + edge / n));
        }
    }
    for (int k = 0; k < m * m; k++) {
        it->u[k] -= dt / (h * h) * out[k];
    }
}

/* A block of m x m cells anew with n x n: copies or means. */
static void resize(block *it, int m, int n)
{
    double u[FINE * FINE] = {0.0};
    const int most = m > n ? m : n;
    for (int k = 0; k < most * most; k++) {
        const int x = k / most, y = k % most, to = x * n / most * n + y * n / most;
        u[to] += it->u[x * m / most * m + y * m / most] * n * n / (most * most);
    }
    memcpy(it->u, u, sizeof u);
}

/* Levels by the range of values in a block; neighbours differ by one at most. */
static void regrid(void)
{
    int want[BLOCKS] = {0};
    for (int i = 0; i < nmine; i++) {
        const int m = cells(mine[i].number);
        double low = mine[i].u[0], high = low;
        for (int k = 0; k < m * m; k++) {
            low = fmin(low, mine[i].u[k]);
            high = fmax(high, mine[i].u[k]);
        }
        want[mine[i].number] = (high - low > 0.002) + (high - low > 0.05);
    }
    MPI_Allreduce(MPI_IN_PLACE, want, BLOCKS, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int b = 0; b < BLOCKS; b++) {
        const int before = cells(b);
        level[b] = want[b];
        for (int side = 0; side < 4; side++) {
            level[b] = want[beside[b][side]] - 1 > level[b] ? want[beside[b][side]] - 1 : level[b];
        }
        for (int i = 0; i < nmine; i++) {
            if (mine[i].number == b && cells(b) != before) {
                resize(&mine[i], before, cells(b));
            }
        }
    }
}

/* Each block to its next owner. */                                                                          /* + */
static void follow(const int *next)                                                                          /* + */
{                                                                                                            /* + */
    int64_t narrived = 0;                                                                                    /* + */
    block *arrived = NULL;                                                                                   /* + */
    static int dest[BLOCKS];                                                                                 /* + */
    for (int i = 0; i < nmine; i++) {                                                                        /* + */
        dest[i] = next[mine[i].number];                                                                      /* + */
        moved += dest[i] != rank;                                                                            /* + */
    }                                                                                                        /* + */
    const int code = eqp_send_records(MPI_COMM_WORLD, sizeof *mine, nmine, dest, mine, &narrived, &arrived); /* + */
    give_up(code != EQP_OK, eqp_error_text(code));                                                           /* + */
    memcpy(owner, next, sizeof owner);                                                                       /* + */
    free(mine);                                                                                              /* + */
    mine = arrived;                                                                                          /* + */
    nmine = (int)narrived;                                                                                   /* + */
} /* + */

/* Blocks are the items, their cells the weights, sides of blocks the edges: an owner for each block. */ /* + */
static void balance(void)                                                                                /* + */
{                                                                                                        /* + */
    static int64_t id[BLOCKS], bytes[BLOCKS], first[BLOCKS + 1], side[4 * BLOCKS];                       /* + */
    static double weight[BLOCKS], centre[BLOCKS][3], side_bytes[4 * BLOCKS];                             /* + */
    static int next[BLOCKS];                                                                             /* + */
    eqp_balance_items items = {.n = rank == 0 ? BLOCKS : 0, .id = id, .weight = weight, .size = bytes};  /* + */
    eqp_balance_options options = eqp_balance_options_defaults();                                        /* + */
    for (int b = 0; b < BLOCKS; b++) {                                                                   /* + */
        id[b] = b;                                                                                       /* + */
        bytes[b] = sizeof(block);                                                                        /* + */
        weight[b] = cells(b) * cells(b);                                                                 /* + */
        centre[b][0] = place(b, 0), centre[b][1] = place(b, 1);                                          /* + */
        first[b + 1] = 4 * (b + 1);                                                                      /* + */
        for (int s = 0; s < 4; s++) {                                                                    /* + */
            side[4 * b + s] = 2 * (s % 2 ? b : beside[b][s]) + s / 2;                                    /* + */
            side_bytes[4 * b + s] = 8 * (cells(b) + cells(beside[b][s]));                                /* + */
        }                                                                                                /* + */
    }                                                                                                    /* + */
    items.point = centre[0];                                                                             /* + */
    items.part_now = owner;                                                                              /* + */
    items.pin_first = first;                                                                             /* + */
    items.pin = side;                                                                                    /* + */
    items.pin_weight = side_bytes;                                                                       /* + */
    options.nparts = size;                                                                               /* + */
    const double begin = eqp_busy_seconds();                                                             /* + */
    const int code = eqp_balance(MPI_COMM_WORLD, method, &items, &options, next, NULL);                  /* + */
    give_up(code != EQP_OK, eqp_error_text(code));                                                       /* + */
    balancing += eqp_busy_seconds() - begin;                                                             /* + */
    MPI_Bcast(next, BLOCKS, MPI_INT, 0, MPI_COMM_WORLD);                                                 /* + */
    follow(next);                                                                                        /* + */
} /* + */

/* Mass and its square, added block by block in the same order on any ranks, and the bounds. */
static void print(int step)
{
    double sum[2 * BLOCKS] = {0.0}, total[2] = {0.0, 0.0}, bound[2] = {-1.0, -1.0};
    for (int i = 0; i < nmine; i++) {
        const int b = mine[i].number, m = cells(b);
        for (int k = 0; k < m * m; k++) {
            const double u = mine[i].u[k];
            sum[2 * b] += u * edge * edge / (m * m);
            sum[2 * b + 1] += u * u * edge * edge / (m * m);
            bound[0] = fmax(bound[0], -u);
            bound[1] = fmax(bound[1], u);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, 2 * BLOCKS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, bound, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int b = 0; b < 2 * BLOCKS; b++) {
        total[b % 2] += sum[b];
    }
    if (rank == 0) {
        printf("step %d: mass %.15f, of the square %.15f, from %.12f to %.12f\n", step, total[0], total[1],
               0.0 - bound[0], bound[1]);
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

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 200;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    give_up(size > RANKS, "more than 1024 ranks");
    method = argc > 2 ? eqp_method_find(argv[2]) : NULL;                /* + */
    give_up(argc > 2 && method == NULL, "METHOD is none of the table"); /* + */
    deal_blocks();
    make_blocks();
    for (int step = 0; step < steps; step++) {
        if (step % EVERY == 0) {
            regrid();
            if (method != NULL) { /* + */
                balance();        /* + */
            }                     /* + */
        }
        if (step % 50 == 0) {
            print(step);
        }
        exchange_rows();
        double done = 0.0;
        const clock_t begin = clock();
        for (int i = 0; i < nmine; i++) {
            advance(&mine[i]);
            done += cells(mine[i].number) * cells(mine[i].number);
        }
        add_step(done, (double)(clock() - begin) / CLOCKS_PER_SEC);
    }
    print(steps);
    MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* + */
    if (rank == 0) {
        printf(
            "imbalance %.1f%% by cells; steps %.3f CPU s on the slowest rank, %.3f on average; %.0f bytes per step\n",
            100.0 * (slowest[0] / mean[0] - 1.0), slowest[1], mean[1], sent / steps);
        printf("balancing %.3f CPU s on rank 0; %.0f blocks moved\n", balancing, moved); /* + */
    }
    free(mine);
    MPI_Finalize();
    return 0;
}
