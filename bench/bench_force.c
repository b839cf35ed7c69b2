/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost and accuracy of a force evaluation on one rank, as CSV.
 *
 *   build/bench/bench_force plummer:n=100000 0.01 0.6 16 64 0 double > force.csv
 *   build/bench/bench_force FILE.dat 0.4 0.6 16 64 0.006 mixed avx2
 *
 * Arguments: KIND[:key=value,...] or a snapshot, softening, theta, leaf size, group size, alpha, the precision (double
 * or mixed) and the kernel (auto, plain, avx2 or avx512). With an alpha the relative criterion is
 * used, with the accelerations of the geometric one (alpha 0) as its input. Times
 * are the smallest CPU seconds of three evaluations; pair_ns and cell_ns are per target and source, gathering included.
 * Errors are of the acceleration, relative, at 2000 particles spread over all, against direct summation. */
#include "lists.h"
#include "serial.h"
#include "timing.h"

#include <equipoise/survey.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPETITIONS 3
#define SAMPLE 2000

typedef struct particles {
    int64_t n;
    double *column[7]; /* x y z vx vy vz m */
    double eps;
    bh_kernel *kernel;
} particles;

typedef struct reference {
    int64_t n, *place;
    double *a[4];
} reference;

typedef struct timing {
    double walk, pair, cell;
} timing;

static void solve(const particles *all, reference *exact)
{
    double *t[3];

    exact->n = all->n < SAMPLE ? all->n : SAMPLE;
    exact->place = bench_room(exact->n, sizeof(int64_t));
    for (int k = 0; k < 4; k++) {
        exact->a[k] = bench_room(exact->n, sizeof(double));
    }
    for (int k = 0; k < 3; k++) {
        t[k] = bench_room(exact->n, sizeof(double));
        for (int64_t i = 0; i < exact->n; i++) {
            exact->place[i] = (int64_t)((double)i / (double)exact->n * (double)all->n);
            t[k][i] = all->column[k][exact->place[i]];
        }
    }
    bh_direct(all->n, all->column[0], all->column[1], all->column[2], all->column[6], 1, all->eps, exact->n, t[0], t[1],
              t[2], exact->a[0], exact->a[1], exact->a[2], exact->a[3]);
    for (int k = 0; k < 3; k++) {
        free(t[k]);
    }
}

/* Times the walk, the pairs and the cells of every group in one evaluation. */
static void measure(const bh_serial *serial, const bh_mac *mac, bh_kernel *kernel, double eps, timing *seconds)
{
    const bh_sources *at = &serial->tree.sources;
    bh_list list;
    double *field[4];

    *seconds = (timing){0};
    bh_list_init(&list);
    for (int k = 0; k < 4; k++) {
        field[k] = bench_room(serial->n, sizeof(double));
    }
    for (int64_t g = 0; g < serial->ngroups; g++) {
        const bh_group *group = &serial->group[g];
        const int64_t i = group->first;
        double t0 = eqp_cpu_seconds();
        bench_check(bh_walk(&serial->tree, group, mac, NULL, &list), "walk failed");
        double t1 = eqp_cpu_seconds(), t2 = t1;
        for (int part = 0; part < 2; part++) {
            bh_list half = list;
            half.ncells = part == 0 ? 0 : list.ncells;
            half.nruns = part == 0 ? list.nruns : 0;
            bench_check(bh_force(kernel, &serial->tree, &half, 1, eps, group->count, at->x + i, at->y + i, at->z + i,
                                 field[0] + i, field[1] + i, field[2] + i, field[3] + i),
                        "force failed");
            t2 = part == 0 ? eqp_cpu_seconds() : t2;
        }
        seconds->walk += t1 - t0;
        seconds->pair += t2 - t1;
        seconds->cell += eqp_cpu_seconds() - t2;
    }
    for (int k = 0; k < 4; k++) {
        free(field[k]);
    }
    bh_list_free(&list);
}

/* Relative errors at the reference's particles, ascending. */
static void compare_forces(const reference *exact, double *const *a, double *error)
{
    for (int64_t i = 0; i < exact->n; i++) {
        double off2 = 0, size2 = 0;
        for (int k = 0; k < 3; k++) {
            double off = a[k][exact->place[i]] - exact->a[k][i];
            off2 += off * off;
            size2 += exact->a[k][i] * exact->a[k][i];
        }
        error[i] = sqrt(off2 / size2);
    }
    qsort(error, (size_t)exact->n, sizeof *error, bench_ascending);
}

static double **evaluate(const particles *all, const bh_serial *serial, const bh_mac *mac, bh_serial_work *work)
{
    double **a = bench_room(4, sizeof *a);

    for (int k = 0; k < 4; k++) {
        a[k] = bench_room(all->n, sizeof(double));
    }
    bench_check(bh_serial_force(serial, all->kernel, mac, 1, all->eps, a[0], a[1], a[2], a[3], work),
                "cannot evaluate the forces");
    return a;
}

static void discard(double **a)
{
    for (int k = 0; k < 4; k++) {
        free(a[k]);
    }
    free(a);
}

static void build(const particles *all, const double *accel, int leaf, int group, bh_serial *serial)
{
    double *const *p = all->column;

    bench_check(bh_serial_build(serial, all->n, p[0], p[1], p[2], p[6], accel, leaf, group), "cannot build the tree");
}

/* Rebuilds the tree with accelerations by the geometric criterion. */
static void build_again(const particles *all, double theta, int leaf, int group, bh_serial *serial)
{
    const bh_mac mac = {.theta = theta, .G = 1};
    bh_serial_work work;
    double **a = evaluate(all, serial, &mac, &work);

    for (int64_t i = 0; i < all->n; i++) {
        a[3][i] = sqrt(a[0][i] * a[0][i] + a[1][i] * a[1][i] + a[2][i] * a[2][i]);
    }
    bh_serial_free(serial);
    build(all, a[3], leaf, group, serial);
    discard(a);
}

static void row(const particles *all, const reference *exact, double theta, int leaf, int group, double alpha)
{
    const bh_mac mac = {.theta = theta, .relative = alpha > 0, .alpha = alpha, .G = 1};
    bh_serial serial;
    bh_serial_work work;
    timing best = {0}, now;
    double *error = bench_room(exact->n, sizeof(double));

    build(all, NULL, leaf, group, &serial);
    if (mac.relative) {
        build_again(all, theta, leaf, group, &serial);
    }
    for (int i = 0; i < REPETITIONS; i++) {
        measure(&serial, &mac, all->kernel, all->eps, &now);
        if (i == 0 || now.walk + now.pair + now.cell < best.walk + best.pair + best.cell) {
            best = now;
        }
    }
    double **a = evaluate(all, &serial, &mac, &work);
    compare_forces(exact, a, error);
    printf("%g,%d,%d,%lld,%lld,%lld,%.4f,%.4f,%.4f,%.3e,%.3e,%g,%lld,%.4f,%s,%s\n", theta, leaf, group,
           (long long)work.pairs, (long long)work.cells, (long long)work.visits, best.walk,
           1e9 * best.pair / (double)work.pairs, 1e9 * best.cell / (double)(work.cells > 0 ? work.cells : 1),
           error[exact->n / 2], error[exact->n - 1 - exact->n / 100], alpha, (long long)serial.ngroups,
           best.walk + best.pair + best.cell, bh_kernel_precision(all->kernel) == BH_MIXED ? "mixed" : "double",
           bh_kernel_name(all->kernel));
    fflush(stdout);
    discard(a);
    free(error);
    bh_serial_free(&serial);
}

int main(int argc, char **argv)
{
    particles all = {0};
    reference exact;

    if (argc < 8 || !(atof(argv[3]) > 0) || atoi(argv[4]) < 1 || atoi(argv[5]) < 1) {
        bench_die("KIND|SNAPSHOT SOFTENING THETA LEAF GROUP ALPHA double|mixed [KERNEL]");
    }
    bench_check(
        bh_kernel_create(argc > 8 ? argv[8] : NULL, strcmp(argv[7], "mixed") == 0 ? BH_MIXED : BH_DOUBLE, &all.kernel),
        "no such kernel on this CPU");
    all.n = bench_load_particles(argv[1], all.column);
    all.eps = strtod(argv[2], NULL);
    solve(&all, &exact);
    puts("theta,leaf,group,pairs,cells,visits,walk_s,pair_ns,cell_ns,median_err,p99_err,alpha,groups,total_s,"
         "precision,kernel");
    row(&all, &exact, atof(argv[3]), atoi(argv[4]), atoi(argv[5]), atof(argv[6]));
    for (int k = 0; k < 7; k++) {
        free(all.column[k]);
    }
    for (int k = 0; k < 4; k++) {
        free(exact.a[k]);
    }
    free(exact.place);
    bh_kernel_free(all.kernel);
    return 0;
}
