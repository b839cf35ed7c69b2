/* SPDX-License-Identifier: BSD-3-Clause */
/* Tree forces with default options against direct summation. */
#include <equipoise/more/random.h>
#include <equipoise/snapshot.h>

#include "bh_bodies.h"
#include "defaults.h"
#include "serial.h"
#include "slow.h"
#include "unit.h"

#define MOST_SAMPLES 1000

/* Sampled particles in order, and their exact forces. */
typedef struct sample {
    int64_t n, place[MOST_SAMPLES];
    double at[3][MOST_SAMPLES], field[4][MOST_SAMPLES];
} sample;

/* One random particle from each of `n` equal runs of the order, so every kind is represented. */
static void take_sample(const bodies *all, int64_t n, sample *taken)
{
    *taken = (sample){.n = n};
    for (int64_t i = 0; i < n; i++) {
        int64_t begin = all->n * i / n, end = all->n * (i + 1) / n;
        taken->place[i] = begin + (int64_t)eqp_random_below(3, 0, (uint64_t)i, (uint64_t)(end - begin));
        for (int k = 0; k < 3; k++) {
            taken->at[k][i] = all->at[k][taken->place[i]];
        }
    }
    bh_direct(all->n, all->at[X], all->at[Y], all->at[Z], all->at[M], 1, all->eps, n, taken->at[0], taken->at[1],
              taken->at[2], taken->field[0], taken->field[1], taken->field[2], taken->field[3]);
    for (int64_t i = 0; i < n; i++) {
        taken->field[3][i] -= bh_potential_self(1, all->at[M][taken->place[i]], all->eps);
    }
}

static void evaluate(bodies *all, bh_precision precision, bool relative, double theta)
{
    const bh_mac mac = {.theta = theta, .relative = relative, .alpha = BH_DEFAULT_ALPHA, .G = 1};
    FREED_BY(bh_serial_free) bh_serial serial;
    bh_serial_work work;
    bh_kernel *kernel;

    assert_ok(bh_kernel_create(NULL, precision, &kernel));
    assert_ok(bh_serial_build(&serial, all->n, all->at[X], all->at[Y], all->at[Z], all->at[M],
                              relative ? all->at[ACCEL] : NULL, BH_DEFAULT_LEAF_SIZE, BH_DEFAULT_GROUP_SIZE));
    assert_ok(bh_tree_check(&serial.tree));
    assert_ok(bh_serial_force(&serial, kernel, &mac, 1, all->eps, all->at[AX], all->at[AY], all->at[AZ], all->at[POT],
                              &work));
    assert_true(work.pairs >= all->n && work.visits >= serial.ngroups);
    bh_kernel_free(kernel);
    for (int64_t i = 0; i < all->n; i++) {
        all->at[ACCEL][i] =
            sqrt(all->at[AX][i] * all->at[AX][i] + all->at[AY][i] * all->at[AY][i] + all->at[AZ][i] * all->at[AZ][i]);
    }
}

static void errors_of(const bodies *all, const sample *exact, double error[MOST_SAMPLES])
{
    for (int64_t i = 0; i < exact->n; i++) {
        double off2 = 0, size2 = 0;
        for (int k = 0; k < 3; k++) {
            double off = all->at[AX + k][exact->place[i]] - exact->field[k][i];
            off2 += off * off;
            size2 += exact->field[k][i] * exact->field[k][i];
        }
        error[i] = sqrt(off2 / size2);
    }
}

/* Bounds the median and 99th percentile of relative acceleration errors, and all potential errors: in both precisions,
 * by the geometric criterion and where wanted by the relative one. */
static void check(const char *what, bodies *all, int64_t nsamples, bool relative, double median, double p99)
{
    static sample exact;
    double error[MOST_SAMPLES];

    take_sample(all, nsamples, &exact);
    for (int way = 0; way < 4; way += relative ? 1 : 2) {
        double worst = 0;
        evaluate(all, way < 2 ? BH_DOUBLE : BH_MIXED, way % 2 == 1, BH_DEFAULT_THETA);
        errors_of(all, &exact, error);
        qsort(error, (size_t)exact.n, sizeof *error, compare_doubles);
        for (int64_t i = 0; i < exact.n; i++) {
            const double pot = exact.field[3][i];
            worst = fmax(worst, fabs((all->at[POT][exact.place[i]] - pot) / pot));
        }
        const double got_median = error[exact.n / 2], got_p99 = error[exact.n - 1 - exact.n / 100];
        print_message("%s, %s, %s: median %.2e, 99%% %.2e, worst potential %.2e\n", what, way < 2 ? "double" : "mixed",
                      way % 2 == 1 ? "relative" : "geometric", got_median, got_p99, worst);
        if (!(got_median <= median && got_p99 <= p99 && worst <= p99)) {
            fail_msg("%s: more than %g, %g", what, median, p99);
        }
    }
}

TEST(a_plummer_sphere_of_100000)
{
    FREED_BY(free_bodies)
    bodies all = generate(slow_here() ? "plummer:n=4000,seed=1" : "plummer:n=100000,seed=1", 0.01);

    check("plummer", &all, MOST_SAMPLES, true, 5e-4, 2e-3);
}

TEST(a_real_galaxy_with_two_kinds_of_particles)
{
    static const char name[] = "nbody/g2_galaxy_littleendian.dat";
    const char *folder = getenv("EQUIPOISE_SHARED_DATA");
    char path[4096];
    eqp_snapshot *snapshot;
    eqp_message message = {""};

    SKIP_IF(slow_here());
    if (folder != NULL) {
        snprintf(path, sizeof path, "%s/%s", folder, name);
    } else {
        snprintf(path, sizeof path, "%s/../shared/data/%s", PROJECT_SOURCE_ROOT, name);
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        print_message("%s is not there\n", name);
        skip();
    }
    fclose(file);
    assert_ok(eqp_snapshot_open(path, &snapshot, &message));
    FREED_BY(free_bodies) bodies all = make_bodies(eqp_snapshot_get_info(snapshot)->n, 0.4);
    eqp_snapshot_arrays arrays = {.x = all.at[X], .y = all.at[Y], .z = all.at[Z], .m = all.at[M]};
    assert_ok(eqp_snapshot_read(snapshot, 0, all.n, &arrays, &message));
    eqp_snapshot_close(snapshot);
    assert_true(all.at[M][0] != all.at[M][all.n - 1]); /* halo and disc */
    check("galaxy", &all, MOST_SAMPLES, true, 5e-4, 3.5e-3);
}

TEST(every_kind_of_input)
{
    static const char *const text[] = {"hernquist:n=20000", "disks:n=20000", "clusters:n=20000", "clusters:n=20000",
                                       "uniform:n=20000,cube=1"};
    /* Clusters again with a softening of half their haloes' radius: smaller cells must be accurate, too. */
    static const double softening[] = {0.01, 0.05, 2e-4, 0.01, 0.01};

    for (int i = 0; i < 5; i += slow_here() ? 4 : 1) {
        FREED_BY(free_bodies) bodies all = generate(text[i], softening[i]);
        check(text[i], &all, 500, false, 7e-4, 4e-3);
    }
}
