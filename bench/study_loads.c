/* SPDX-License-Identifier: BSD-3-Clause */
/* The load of each rank by several models, as CSV: some steps of barneshut or dislocation with one map.
 *
 *   mpirun -n 8 build/preload/equipoise-lazy -n 0 --report cpu.csv -- \
 *       build/bench/study_loads gravity 2 10 --generate clusters:n=32768 --balance sfc
 *
 * Arguments: gravity or network, steps before, steps that are measured, then options of barneshut or dislocation (not
 * --steps or --rebalance). The library below the program measures the load itself: CPU seconds outside MPI, in the
 * same steps, which are told by MPI_Pcontrol. It takes calls that never wait for work of the program; here they are
 * polled while a rank waits, so their seconds have columns of their own, to be subtracted. Columns:
 *   polling     CPU seconds in MPI_Iprobe, MPI_Test and MPI_Testall
 *   molecules   particles or nodes that the rank holds
 *   barriers    CPU seconds in the evaluation of forces: in forces, exchange of their data and waiting in it
 *   forces      CPU seconds in forces
 *   predicted   the cost model's seconds of the rank's interactions
 *   neighbours  ranks that hold one of the NEAREST nearest particles of a particle of this rank, or the other way
 *               round, images in a periodic box left out; and the ranks before and after it, so that load can get
 *               from everywhere to everywhere */
#include "timing.h"

#include "../apps/barneshut/drive/simulation.h"
#include "../apps/dislocation/drive/simulation.h"

#include <equipoise/more/kdtree.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 64, NEAREST = 8 };

/* An app as this program needs it. */
typedef struct app {
    const char *name;
    int (*open)(int argc, char **argv, eqp_message *message);
    int (*step)(eqp_message *message);
    const eqp_rank_row *(*row)(int rank);
    int64_t (*count)(void);
    void (*point)(int64_t i, double x[3]);
    void (*close)(void);
} app;

static double polling; /* on this rank */

/* A call of MPI that polls, with its seconds added up. */
#define POLLS(name, parameters, ...)                                                                                   \
    __attribute__((visibility("default"))) int MPI_##name parameters                                                   \
    {                                                                                                                  \
        const double begin = eqp_cpu_seconds();                                                                        \
        const int code = PMPI_##name(__VA_ARGS__);                                                                     \
                                                                                                                       \
        polling += eqp_cpu_seconds_since(begin);                                                                       \
        return code;                                                                                                   \
    }

POLLS(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), source, tag, comm, flag, status)
POLLS(Test, (MPI_Request * request, int *flag, MPI_Status *status), request, flag, status)
POLLS(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]), count, requests, flag, statuses)

/* The functions that differ in the prefix of their names only. */
#define APP(prefix)                                                                                                    \
    static struct {                                                                                                    \
        prefix##_settings settings;                                                                                    \
        prefix##_simulation sim;                                                                                       \
    } prefix;                                                                                                          \
                                                                                                                       \
    static int open_##prefix(int argc, char **argv, eqp_message *message)                                              \
    {                                                                                                                  \
        prefix##_settings *s = &prefix.settings;                                                                       \
        app_action action;                                                                                             \
        int code;                                                                                                      \
                                                                                                                       \
        EQP_TRY(app_options_parse(prefix##_settings_table(), argc, argv, s, &action, message));                        \
        EQP_TRY(prefix##_settings_complete(s, message));                                                               \
        EQP_TRY(prefix##_simulation_create(MPI_COMM_WORLD, s, &prefix.sim, message));                                  \
    done:                                                                                                              \
        return code;                                                                                                   \
    }                                                                                                                  \
    static int step_##prefix(eqp_message *message)                                                                     \
    {                                                                                                                  \
        return prefix##_simulation_step(&prefix.sim, message);                                                         \
    }                                                                                                                  \
    static const eqp_rank_row *row_##prefix(int rank)                                                                  \
    {                                                                                                                  \
        return &prefix.sim.row[rank].common;                                                                           \
    }                                                                                                                  \
    static void close_##prefix(void)                                                                                   \
    {                                                                                                                  \
        prefix##_simulation_free(&prefix.sim);                                                                         \
        app_run_settings_free(&prefix.settings.run);                                                                   \
    }

APP(bh)
APP(dd)

static int64_t count_bh(void)
{
    return bh.sim.domain.particles.n;
}

static void point_bh(int64_t i, double x[3])
{
    const bh_particles *p = &bh.sim.domain.particles;

    memcpy(x, (double[]){p->x[i], p->y[i], p->z[i]}, 3 * sizeof *x);
}

static int64_t count_dd(void)
{
    return dd.sim.domain.network.n;
}

static void point_dd(int64_t i, double x[3])
{
    memcpy(x, dd.sim.domain.network.node[i].x, 3 * sizeof *x);
}

static const app apps[] = {{"gravity", open_bh, step_bh, row_bh, count_bh, point_bh, close_bh},
                           {"network", open_dd, step_dd, row_dd, count_dd, point_dd, close_dd}};

/* A rank in a step. */
typedef struct load {
    double polling, molecules, barriers, forces, predicted;
} load;

/* Calls of MPI_Pcontrol enclose the counted steps; level 0 ends them. of: [steps][nranks] */
static void run(const app *a, int before, int steps, int nranks, load *of)
{
    double *mine = bench_room(steps, sizeof *mine), *all = bench_room((int64_t)steps * nranks, sizeof *all);
    eqp_message message = {""};

    for (int s = 0; s < before; s++) {
        bench_check(a->step(&message), message.text);
    }
    polling = 0.0;
    MPI_Pcontrol(1);
    for (int s = 0; s < steps; s++) {
        bench_check(a->step(&message), message.text);
        mine[s] = polling;
        polling = 0.0;
        MPI_Pcontrol(s + 1 < steps);
        for (int r = 0; r < nranks; r++) {
            const eqp_rank_row *row = a->row(r);
            of[s * nranks + r] = (load){.molecules = row->particles,
                                        .barriers = row->load + row->exchange_seconds,
                                        .forces = row->load,
                                        .predicted = row->predicted};
        }
    }
    MPI_Allgather(mine, steps, MPI_DOUBLE, all, steps, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < steps * nranks; i++) {
        of[i].polling = all[i % nranks * steps + i / nranks];
    }
    free(mine);
    free(all);
}

/* Gathers all particles on rank 0 in rank order. first: [nranks + 1] first particle of each rank, on rank 0. */
static double *gather(const app *a, int nranks, int64_t *first)
{
    const int n = (int)a->count();
    int *counts = bench_room(nranks, sizeof *counts), *starts = bench_room(nranks, sizeof *starts);
    double *mine = bench_room(3 * (int64_t)n, sizeof *mine);

    for (int i = 0; i < n; i++) {
        a->point(i, mine + 3 * i);
    }
    MPI_Gather(&n, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int r = 0; r < nranks; r++) {
        first[r + 1] = first[r] + counts[r];
        starts[r] = 3 * (int)first[r];
        counts[r] *= 3;
    }
    double *points = bench_room(3 * first[nranks], sizeof *points);
    MPI_Gatherv(mine, 3 * n, MPI_DOUBLE, points, counts, starts, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(mine);
    free(counts);
    free(starts);
    return points;
}

static int rank_of(const int64_t *first, int64_t i)
{
    int r = 0;

    while (first[r + 1] <= i) {
        r++;
    }
    return r;
}

/* near: [nranks][nranks] true for ranks with neighbouring particles. */
static void find_neighbours(const double *points, const int64_t *first, int nranks, bool *near)
{
    eqp_kdtree *tree;

    bench_check(eqp_kdtree_create(first[nranks], 3, points, NULL, &tree), NULL);
    for (int64_t i = 0; i < first[nranks]; i++) {
        const int mine = rank_of(first, i);
        int64_t found, index[NEAREST + 1]; /* the particle itself is among them */
        double dist2[NEAREST + 1];
        bench_check(eqp_kdtree_nearest_k(tree, points + 3 * i, NEAREST + 1, &found, index, dist2), NULL);
        for (int64_t k = 0; k < found; k++) {
            const int other = rank_of(first, index[k]);
            near[mine * nranks + other] = near[other * nranks + mine] = true;
        }
    }
    eqp_kdtree_free(tree);
}

static void print(const load *of, int steps, const bool *near, int nranks)
{
    printf("step,part,polling,molecules,barriers,forces,predicted,neighbours\n");
    for (int i = 0; i < steps * nranks; i++) {
        const int r = i % nranks;
        printf("%d,%d,%.9g,%.0f,%.9g,%.9g,%.9g,", i / nranks, r, of[i].polling, of[i].molecules, of[i].barriers,
               of[i].forces, of[i].predicted);
        const char *between = "";
        for (int k = 0; k < nranks; k++) {
            if (k != r && (near[r * nranks + k] || abs(k - r) == 1)) {
                printf("%s%d", between, k);
                between = " ";
            }
        }
        printf("\n");
    }
}

static void measure(const app *a, int before, int steps, int argc, char **argv)
{
    eqp_message message = {""};
    int rank, nranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    load *of = bench_room((int64_t)steps * nranks, sizeof *of);
    int64_t *first = bench_room(nranks + 1, sizeof *first);
    bool *near = bench_room((int64_t)nranks * nranks, sizeof *near);
    bench_check(a->open(argc, argv, &message), message.text);
    run(a, before, steps, nranks, of);
    double *points = gather(a, nranks, first);
    if (rank == 0) {
        find_neighbours(points, first, nranks, near);
        print(of, steps, near, nranks);
    }
    a->close();
    free(points);
    free(first);
    free(near);
    free(of);
}

int main(int argc, char **argv)
{
    char *words[MOST_ARGUMENTS] = {"study_loads", "--quiet", "--rebalance", "never", "--steps", "1000000"};
    int n = 6;

    MPI_Init(&argc, &argv);
    const int before = argc > 3 ? atoi(argv[2]) : -1, steps = argc > 3 ? atoi(argv[3]) : 0;
    const int which = argc > 1 && strcmp(argv[1], apps[1].name) == 0;
    if (before < 0 || steps < 1 || strcmp(argv[1], apps[which].name) != 0) {
        bench_die("give gravity or network, steps before, steps measured, then options of the app");
    }
    for (int i = 4; i < argc && n < MOST_ARGUMENTS; i++) {
        words[n++] = argv[i];
    }
    measure(&apps[which], before, steps, n, words);
    MPI_Finalize();
    return 0;
}
