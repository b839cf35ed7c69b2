/* SPDX-License-Identifier: BSD-3-Clause */
/* A Barnes-Hut tree code: self-gravitating clumps, leap-frog. Space is a grid of cells, each with a tree of its own;
 * above the cells are the upper levels of the octree, which every rank has. A rank owns some cells with their
 * particles, and gets from other ranks the parts of their trees that it may open. So forces are the same on any
 * ranks.
 * usage: tree [STEPS] */
/* Lines that end in a plus were added later, to balance it: tree [STEPS [METHOD]] */ /* + */
#include <equipoise/points.h>                                                         /* + */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Cells are the nodes of level LEVEL, M along each edge of the unit cube, numbered along a Morton curve. */
enum { LEVEL = 5, M = 1 << LEVEL, CELLS = M * M * M, N = 12000, RANKS = 1024, EVERY = 5 };
static const double theta = 0.7, soft = 3e-3, dt = 2.5e-4;

typedef struct particle {
    double x[3], v[3], f[3], m, potential;
    int id, cell;
} particle;

/* A tree is an array: a node, then all below it, `size` nodes together. A particle is a node without width. */
typedef struct node {
    double x[3], m, width;
    int size, cell;
} node;

typedef struct tree {
    node *at;
    int n, room;
} tree;

static int rank, size, owner[CELLS]; /* rank of each cell, the same on all ranks */
static particle p[N], packed[N];     /* n that live here, cell by cell */
static int n, first[CELLS + 1];      /* of each cell */
static double work[CELLS], met;      /* nodes that the particles of each cell, and of all, met in the last step */
static node top[CELLS];              /* roots of all cells */
static tree mine, sent, came, all;   /* cells of this rank; nodes to send; nodes that came; the whole
                                        tree as far as this rank needs it */
static MPI_Datatype particle_type, node_type;
static double box_of[RANKS][6]; /* low and high corner of each rank's particles */
static int counts[RANKS], at[RANKS], came_counts[RANKS], came_at[RANKS];
static double slowest[2], mean[2], ghosts; /* nodes met and CPU seconds, nodes that came: of all steps */
static const eqp_method *method;           /* + */
static double balancing;                   /* + */

static void give_up(int condition, const char *why)
{
    if (condition) {
        fprintf(stderr, "tree: %s\n", why);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static int cell_of(const double x[3])
{
    int cell = 0;
    for (int bit = 3 * LEVEL - 1; bit >= 0; bit--) {
        cell = 2 * cell + ((int)fmin(fmax(x[2 - bit % 3] * M, 0.0), M - 1) >> bit / 3 & 1);
    }
    return cell;
}

static void corner_of(int cell, double x[3])
{
    for (int d = 0; d < 3; d++) {
        x[d] = 0.0;
        for (int bit = 0; bit < LEVEL; bit++) {
            x[d] += (double)(cell >> (3 * bit + 2 - d) & 1) * (1 << bit) / M;
        }
    }
}

static void reserve(tree *t, int many)
{
    if (many > t->room) {
        t->room = 2 * many;
        t->at = realloc(t->at, (size_t)t->room * sizeof *t->at);
        give_up(t->at == NULL, "out of memory");
    }
}

static void append(tree *t, const node *from, int many)
{
    reserve(t, t->n + many);
    memcpy(t->at + t->n, from, (size_t)many * sizeof *from);
    t->n += many;
}

/* Displacements for sending by `counts`, and for receiving; returns the number that comes. */
static int plan(void)
{
    int coming = 0;
    MPI_Alltoall(counts, 1, MPI_INT, came_counts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0, going = 0; r < size; r++) {
        at[r] = going;
        came_at[r] = coming;
        going += counts[r];
        coming += came_counts[r];
    }
    return coming;
}

/* Equally many particles for every rank, as far as whole cells along the curve allow. */
static void deal_cells(void)
{
    int held[CELLS] = {0};
    for (int i = 0; i < n; i++) {
        held[p[i].cell]++;
    }
    MPI_Allreduce(MPI_IN_PLACE, held, CELLS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int c = 0, before = 0; c < CELLS; c++) {
        owner[c] = (int)fmin((before + held[c] / 2) * (double)size / N, size - 1);
        before += held[c];
    }
}

/* Cells with particles are the items, nodes that these met are their weights: an owner for each cell. */ /* + */
static void balance(void)                                                                                 /* + */
{                                                                                                         /* + */
    static double corner[CELLS][3], weight[CELLS];                                                        /* + */
    static int cell[CELLS], part[CELLS];                                                                  /* + */
    eqp_points items = {.n = 0, .x = corner, .weight = weight, .part_now = part};                         /* + */
    eqp_balance_options options = eqp_balance_options_defaults();                                         /* + */
    MPI_Reduce(work, weight, CELLS, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);                              /* + */
    const double begin = eqp_busy_seconds();                                                              /* + */
    for (int c = 0; c < CELLS && rank == 0; c++) {                                                        /* + */
        if (weight[c] > 0.0) {                                                                            /* + */
            corner_of(c, corner[items.n]);                                                                /* + */
            weight[items.n] = weight[c];                                                                  /* + */
            part[items.n] = owner[c];                                                                     /* + */
            cell[items.n++] = c;                                                                          /* + */
        }                                                                                                 /* + */
    }                                                                                                     /* + */
    options.nparts = size;                                                                                /* + */
    const int code = eqp_balance_points(MPI_COMM_WORLD, method, &items, &options, part, NULL);            /* + */
    give_up(code != EQP_OK, eqp_error_text(code));                                                        /* + */
    for (int i = 0; i < items.n; i++) {                                                                   /* + */
        owner[cell[i]] = part[i];                                                                         /* + */
    }                                                                                                     /* + */
    balancing += eqp_busy_seconds() - begin;                                                              /* + */
    MPI_Bcast(owner, CELLS, MPI_INT, 0, MPI_COMM_WORLD);                                                  /* + */
} /* + */

static int by_cell(const void *a, const void *b)
{
    const particle *x = a, *y = b;
    return x->cell != y->cell ? (x->cell > y->cell) - (x->cell < y->cell) : (x->id > y->id) - (x->id < y->id);
}

/* Particles to the owners of their cells; there in the same order whoever had them. */
static void migrate(void)
{
    int next[RANKS];
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < n; i++) {
        counts[owner[p[i].cell]]++;
    }
    const int coming = plan();
    memcpy(next, at, sizeof next);
    for (int i = 0; i < n; i++) {
        packed[next[owner[p[i].cell]]++] = p[i];
    }
    MPI_Alltoallv(packed, counts, at, particle_type, p, came_counts, came_at, particle_type, MPI_COMM_WORLD);
    n = coming;
    qsort(p, (size_t)n, sizeof *p, by_cell);
    for (int c = 0, i = 0; c < CELLS; c++) {
        while (i < n && p[i].cell == c) {
            i++;
        }
        first[c + 1] = i;
    }
}

static void add_moments(node *sum, const double x[3], double m)
{
    for (int d = 0; d < 3; d++) {
        sum->x[d] = (sum->x[d] * sum->m + x[d] * m) / (sum->m + m);
    }
    sum->m += m;
}

/* The particles of an octant to the front; returns how many they are. */
static int take_octant(particle *q, int many, const double middle[3], int octant)
{
    int taken = 0;
    for (int i = 0; i < many; i++) {
        const double *x = q[i].x;
        if (4 * (x[0] >= middle[0]) + 2 * (x[1] >= middle[1]) + (x[2] >= middle[2]) == octant) {
            const particle found = q[i];
            q[i] = q[taken];
            q[taken++] = found;
        }
    }
    return taken;
}

/* The tree of the particles in a cube, which are brought into its order. */
static void grow(particle *q, int many, const double low[3], double width, int cell)
{
    const int here = mine.n;
    const double half = 0.5 * width, middle[3] = {low[0] + half, low[1] + half, low[2] + half};
    node sum = {.width = many > 1 && width > 1e-6 ? width : 0.0, .cell = cell};
    for (int i = 0; i < many; i++) {
        add_moments(&sum, q[i].x, q[i].m);
    }
    append(&mine, &sum, 1);
    for (int octant = 0; octant < 8 && sum.width > 0.0; octant++) {
        const double corner[3] = {low[0] + half * (octant >> 2), low[1] + half * (octant >> 1 & 1),
                                  low[2] + half * (octant & 1)};
        const int taken = take_octant(q, many, middle, octant);
        if (taken > 0) {
            grow(q, taken, corner, half, cell);
        }
        q += taken;
        many -= taken;
    }
    mine.at[here].size = mine.n - here;
}

/* Trees of this rank's cells; the roots of all cells and the boxes around all ranks' particles, on every rank. */
static void grow_trees(void)
{
    static double root[CELLS][4];
    double low[3], box[6] = {1e30, 1e30, 1e30, -1e30, -1e30, -1e30};
    memset(root, 0, sizeof root);
    mine.n = 0;
    for (int c = 0; c < CELLS; c++) {
        if (first[c + 1] > first[c]) {
            const int here = mine.n;
            corner_of(c, low);
            grow(p + first[c], first[c + 1] - first[c], low, 1.0 / M, c);
            memcpy(root[c], mine.at[here].x, 3 * sizeof(double));
            root[c][3] = mine.at[here].m;
        }
    }
    for (int i = 0; i < 3 * n; i++) {
        box[i % 3] = fmin(box[i % 3], p[i / 3].x[i % 3]);
        box[3 + i % 3] = fmax(box[3 + i % 3], p[i / 3].x[i % 3]);
    }
    MPI_Allgather(box, 6, MPI_DOUBLE, box_of, 6, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, root, 4 * CELLS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int c = 0; c < CELLS; c++) {
        top[c] = (node){.x = {root[c][0], root[c][1], root[c][2]}, .m = root[c][3], .size = 1, .cell = c};
    }
}

/* True if some particle in a box may open a node. */
static int may_open(const node *q, const double box[6])
{
    double r2 = 0.0;
    for (int d = 0; d < 3; d++) {
        const double away = fmax(fmax(box[d] - q->x[d], q->x[d] - box[3 + d]), 0.0);
        r2 += away * away;
    }
    return q->width * q->width > 0.999999 * theta * theta * r2;
}

/* A node of this rank's, and what may be opened of it. */
static void prune(int from, const double box[6])
{
    const int here = sent.n;
    append(&sent, &mine.at[from], 1);
    if (may_open(&mine.at[from], box)) {
        for (int k = from + 1; k < from + mine.at[from].size; k += mine.at[k].size) {
            prune(k, box);
        }
    }
    sent.at[here].size = sent.n - here;
}

/* To each rank the trees that it may open, as far as it may. */
static void exchange_trees(void)
{
    sent.n = came.n = 0;
    for (int r = 0; r < size; r++) {
        const int begin = sent.n;
        for (int k = 0; k < mine.n && r != rank; k += mine.at[k].size) {
            if (may_open(&mine.at[k], box_of[r])) {
                prune(k, box_of[r]);
            }
        }
        counts[r] = sent.n - begin;
    }
    const int coming = plan();
    ghosts += coming;
    reserve(&came, coming);
    came.n = coming;
    MPI_Alltoallv(sent.at, counts, at, node_type, came.at, came_counts, came_at, node_type, MPI_COMM_WORLD);
}

/* The whole tree below a node of the upper levels: cells as this rank has them, else their roots. */
static void plant(int level, int number, const node *const *cell)
{
    const int here = all.n;
    node sum = {.width = 1.0 / (1 << level), .cell = -1};
    if (level == LEVEL) {
        append(&all, cell[number], cell[number]->m > 0.0 ? cell[number]->size : 0);
        return;
    }
    append(&all, &sum, 1);
    for (int child = 8 * number; child < 8 * number + 8; child++) {
        const int below = all.n;
        plant(level + 1, child, cell);
        if (all.n > below) {
            add_moments(&sum, all.at[below].x, all.at[below].m);
        }
    }
    sum.size = all.n - here;
    all.at[here] = sum;
    all.n = sum.m > 0.0 ? all.n : here;
}

static void plant_all(void)
{
    const node *cell[CELLS];
    for (int c = 0; c < CELLS; c++) {
        cell[c] = &top[c];
    }
    for (int k = 0; k < mine.n; k += mine.at[k].size) {
        cell[mine.at[k].cell] = &mine.at[k];
    }
    for (int k = 0; k < came.n; k += came.at[k].size) {
        cell[came.at[k].cell] = &came.at[k];
    }
    all.n = 0;
    plant(0, 0, cell);
}

/* Adds the pull of one mass. */
static void pull(particle *a, const double x[3], double m)
{
    const double r[3] = {x[0] - a->x[0], x[1] - a->x[1], x[2] - a->x[2]};
    const double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    if (r2 > 0.0) {
        const double near = 1.0 / sqrt(r2 + soft * soft), f = m * near * near * near;
        for (int d = 0; d < 3; d++) {
            a->f[d] += f * r[d];
        }
        a->potential -= m * near;
    }
}

/* A step takes as long as its slowest rank: adds to the sums over the steps of that, and of the mean. */
static void add_step(double done, double taken)
{
    double most[2] = {done, taken}, sum[2] = {done, taken};
    MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < 2; k++) {
        slowest[k] += most[k];
        mean[k] += sum[k] / size;
    }
}

static void compute_forces(void)
{
    met = 0.0;
    grow_trees();
    exchange_trees();
    plant_all();
    const clock_t begin = clock();
    memset(work, 0, sizeof work);
    for (int i = 0; i < n; i++) {
        particle *a = &p[i];
        a->f[0] = a->f[1] = a->f[2] = a->potential = 0.0;
        for (int k = 0; k < all.n; work[a->cell]++) {
            const node *q = &all.at[k];
            const double r[3] = {q->x[0] - a->x[0], q->x[1] - a->x[1], q->x[2] - a->x[2]};
            if (q->width * q->width > theta * theta * (r[0] * r[0] + r[1] * r[1] + r[2] * r[2])) {
                k++;
            } else {
                pull(a, q->x, q->m);
                k += q->size;
            }
        }
    }
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    for (int c = 0; c < CELLS; c++) {
        met += work[c];
    }
    add_step(met, seconds);
}

static void move(double kick, double drift)
{
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            p[i].v[d] += kick * p[i].f[d];
            p[i].x[d] += drift * p[i].v[d];
        }
        p[i].cell = cell_of(p[i].x);
    }
}

static double uniform(unsigned k)
{
    k = (k ^ (k >> 16)) * 0x45d9f3bu;
    k = (k ^ (k >> 16)) * 0x45d9f3bu;
    return (k ^ (k >> 16)) / 4294967296.0;
}

/* Three clumps whose density rises towards their centres; a quarter of the particles lies anywhere. */
static void make_particles(void)
{
    static const double centre[3][3] = {{0.3, 0.35, 0.3}, {0.7, 0.3, 0.6}, {0.4, 0.75, 0.7}};
    static const double radius[3] = {0.1, 0.15, 0.12}, speed[3] = {1.5, 0.6, 0.7};
    for (int id = rank; id < N; id += size) {
        particle *a = &p[n++];
        const int clump = (int[]){0, 0, 0, 0, 1, 2, 3, 3}[id % 8];
        double u[7];
        for (int k = 0; k < 7; k++) {
            u[k] = uniform(8u * (unsigned)id + (unsigned)k);
        }
        const double away = clump < 3 ? radius[clump] * sqrt(u[6]) : 0.0, turn = 6.283185307179586 * u[1];
        const double z = 2.0 * u[0] - 1.0, side = sqrt(1.0 - z * z);
        const double from[3] = {away * side * cos(turn), away * side * sin(turn), away * z};
        for (int d = 0; d < 3; d++) {
            a->x[d] = clump < 3 ? centre[clump][d] + from[d] : u[d];
            a->v[d] = clump < 3 ? speed[clump] * (2.0 * u[3 + d] - 1.0) : 0.0;
        }
        a->id = id;
        a->m = 1.0 / N;
        a->cell = cell_of(a->x);
    }
}

/* Sums over the ranks. */
static void print(int step)
{
    double sum[4] = {0.0, 0.0, n, met};
    for (int i = 0; i < n; i++) {
        sum[0] += 0.5 * p[i].m * p[i].potential;
        for (int d = 0; d < 3; d++) {
            sum[0] += 0.5 * p[i].m * p[i].v[d] * p[i].v[d];
            sum[1] += fabs(p[i].f[d]);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("step %d: %.0f particles, %.0f nodes met, energy %.12f, forces %.9f\n", step, sum[2], sum[3], sum[0],
               sum[1]);
    }
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 20;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    give_up(size > RANKS, "more than 1024 ranks");
    method = argc > 2 ? eqp_method_find(argv[2]) : NULL;                /* + */
    give_up(argc > 2 && method == NULL, "METHOD is none of the table"); /* + */
    MPI_Type_contiguous(sizeof(particle), MPI_BYTE, &particle_type);
    MPI_Type_commit(&particle_type);
    MPI_Type_contiguous(sizeof(node), MPI_BYTE, &node_type);
    MPI_Type_commit(&node_type);
    make_particles();
    deal_cells();
    migrate();
    compute_forces();
    print(0);
    for (int step = 1; step <= steps; step++) {
        move(0.5 * dt, dt);
        if (step % EVERY == 1) {
            if (method != NULL) { /* + */
                balance();        /* + */
            } else {              /* + */
                deal_cells();
            } /* + */
        }
        migrate();
        compute_forces();
        move(0.5 * dt, 0.0);
        if (step % 5 == 0) {
            print(step);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &ghosts, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf(
            "imbalance %.1f%% by nodes met; forces %.3f CPU s on the slowest rank, %.3f on average; %.0f nodes came\n",
            100.0 * (slowest[0] / mean[0] - 1.0), slowest[1], mean[1], ghosts / (steps + 1));
        printf("balancing %.3f CPU s on rank 0\n", balancing); /* + */
    }
    free(mine.at);
    free(sent.at);
    free(came.at);
    free(all.at);
    MPI_Type_free(&particle_type);
    MPI_Type_free(&node_type);
    MPI_Finalize();
    return 0;
}
