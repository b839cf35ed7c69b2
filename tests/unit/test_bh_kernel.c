/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kernel available on this CPU: the field of a cell and of pairs within a cutoff by definition, and against the
 * plain kernel all lengths of lists, numbers of targets, scales, and numbers beyond single precision. */
#include <equipoise/more/random.h>

#include "bh_bodies.h"
#include "kernel.h"
#include "serial.h"
#include "slow.h"

#define CELLS 600
#define POINTS 1400
#define TARGETS 71

static bool (*unit_next_round)(void) = next_kernel;

/* Targets in a small box, particles in and around it, cells outside, and their field. */
typedef struct scene {
    double unit, mass, eps, G;
    bh_cell cell[CELLS + 1]; /* the first one is the root */
    double x[4][POINTS], at[3][TARGETS];
    int64_t number[CELLS], first[POINTS], count[POINTS];
    bh_tree tree;
    bh_list list;
    int64_t ntargets;
} scene;

typedef struct field {
    double a[4][TARGETS];
} field;

static double uniform(int what, int64_t i)
{
    return eqp_random_uniform(21, (uint64_t)what, (uint64_t)i);
}

/* Cells of side 0.02 to 0.1 units, 1 to 4 units from the targets, which fill a box of 0.5 units; the root cube has 16.
 * at: position of the targets. */
static void make_scene(double unit, double mass, double eps, const double at[3], scene *s)
{
    static const double root_mass = 1000;

    memset(s, 0, sizeof *s);
    *s = (scene){.unit = unit, .mass = mass, .eps = eps * unit, .G = 1.5};
    s->cell[0].moments = (bh_moments){.mass = root_mass * mass};
    for (int c = 0; c < CELLS; c++) {
        bh_moments *m = &s->cell[1 + c].moments;
        const double far = 1.2 + 2.8 * uniform(0, c), side = unit * (0.02 + 0.08 * uniform(1, c));
        for (int k = 0; k < 3; k++) {
            m->com[k] = at[k] + unit * (k == c % 3 ? (c % 2 ? far : -far) : 6 * uniform(2 + k, c) - 3);
        }
        m->mass = mass * (0.01 + uniform(5, c));
        for (int q = 0; q < 6; q++) {
            m->quad[q] = m->mass * side * side * (uniform(6 + q, c) - 0.5);
        }
        m->quad[5] = -m->quad[0] - m->quad[3];
        m->trace = m->mass * side * side * uniform(12, c);
        s->number[c] = 1 + c * 7 % CELLS;
    }
    for (int i = 0; i < POINTS; i++) {
        for (int k = 0; k < 3; k++) {
            s->x[k][i] = at[k] + unit * (2 * uniform(20 + k, i) - 1);
        }
        s->x[3][i] = mass * (0.01 + uniform(23, i));
    }
    for (int t = 0; t < TARGETS; t++) {
        for (int k = 0; k < 3; k++) { /* every third is one of the particles */
            s->at[k][t] = t % 3 == 0 ? s->x[k][t] : at[k] + 0.25 * unit * (2 * uniform(30 + k, t) - 1);
        }
    }
    s->tree = (bh_tree){.box = {{at[0], at[1], at[2]}, 16 * unit},
                        .cell = s->cell,
                        .ncells = CELLS + 1,
                        .sources = {POINTS, POINTS, POINTS, s->x[0], s->x[1], s->x[2], s->x[3]}};
    s->ntargets = TARGETS;
}

/* A list of ncells cells, and particles in runs of 0 to 20. */
static void set_list(scene *s, int64_t ncells, int64_t npoints)
{
    int64_t n = 0, next = 0;

    for (int64_t left = npoints; left > 0; n++) {
        const int64_t want = (int64_t)(21 * uniform(40, n + 100 * npoints));
        s->first[n] = next;
        s->count[n] = want < left ? want : left;
        next += s->count[n] + n % 2;
        left -= s->count[n];
    }
    s->list = (bh_list){.ncells = ncells,
                        .cell = s->number,
                        .nruns = n,
                        .run_first = s->first,
                        .run_count = s->count,
                        .nsources = npoints};
}

static void add_to(const scene *s, const char *with, bh_precision in, field *got)
{
    bh_kernel *kernel;

    assert_ok(bh_kernel_create(with, in, &kernel));
    assert_ok(bh_force(kernel, &s->tree, &s->list, s->G, s->eps, s->ntargets, s->at[0], s->at[1], s->at[2], got->a[0],
                       got->a[1], got->a[2], got->a[3]));
    bh_kernel_free(kernel);
}

static void compute(const scene *s, const char *with, bh_precision in, field *got)
{
    memset(got, 0, sizeof *got);
    add_to(s, with, in, got);
}

/* Sums of magnitudes of all terms at one target: for the acceleration, the potential, and the acceleration's error due
 * to an error of `places` in distances. */
static void magnitudes(const scene *s, int64_t t, double places, double sum[3])
{
    sum[0] = sum[1] = sum[2] = 0;
    for (int64_t i = 0; i < s->list.ncells + s->list.nsources; i++) {
        static const bh_moments none;
        const bh_moments *m = i < s->list.ncells ? &s->cell[s->number[i]].moments : &none;
        double d2 = s->eps * s->eps, mass = m->mass, extent = 0;
        int64_t run = 0, p = i - s->list.ncells;
        for (; i >= s->list.ncells && p >= s->count[run]; run++) {
            p -= s->count[run];
        }
        for (int k = 0; k < 3; k++) {
            const double d = (i < s->list.ncells ? m->com[k] : s->x[k][s->first[run] + p]) - s->at[k][t];
            d2 += d * d;
        }
        for (int q = 0; q < 6; q++) {
            extent += fabs(m->quad[q]);
        }
        mass = s->G * (i < s->list.ncells ? mass + 10 * extent / d2 : s->x[3][s->first[run] + p]);
        if (d2 > 0) {
            sum[0] += mass / d2;
            sum[1] += mass / sqrt(d2);
            sum[2] += mass / d2 * places / sqrt(d2);
        }
    }
}

/* Relative to the magnitudes: rounding of terms, of sums and, in single precision, of positions. */
static void assert_close(const scene *s, const field *got, const field *wanted)
{
    const bool mixed = kernel_precision == BH_MIXED;
    const double terms = mixed ? 1e-6 : 5e-15, places = mixed ? 4 * s->unit * 0x1p-24 : 0;

    for (int64_t t = 0; t < s->ntargets; t++) {
        double sum[3];
        magnitudes(s, t, places, sum);
        for (int k = 0; k < 4; k++) {
            const double limit = k < 3 ? terms * sum[0] + 4 * sum[2] : terms * sum[1] + sum[2] * s->unit;
            if (!(fabs(got->a[k][t] - wanted->a[k][t]) <= limit)) {
                fail_msg("%s %d, %lld cells, %lld particles, target %lld, column %d: %.17g is not %.17g within %g",
                         kernel_name, kernel_precision, (long long)s->list.ncells, (long long)s->list.nsources,
                         (long long)t, k, got->a[k][t], wanted->a[k][t], limit);
            }
        }
    }
}

static void compare(const scene *s)
{
    field got, wanted;

    compute(s, "plain", BH_DOUBLE, &wanted);
    compute(s, kernel_name, kernel_precision, &got);
    assert_close(s, &got, &wanted);
}

static const double middle[3] = {0, 0, 0};

TEST(lists_of_all_lengths)
{
    static const double eps[] = {0.05, 0, 0.3};
    static scene s;

    for (int e = 0; e < 3; e++) {
        make_scene(1, 1, eps[e], middle, &s);
        for (int64_t n = 0; n <= 100; n += slow_here() ? 3 : 1) {
            s.ntargets = n % (TARGETS + 1);
            set_list(&s, n, 0);
            compare(&s);
            set_list(&s, 0, n);
            compare(&s);
            set_list(&s, n, 100 - n);
            compare(&s);
        }
    }
    make_scene(1, 1, 0.02, middle, &s);
    for (int64_t n = 0; n < 6; n++) { /* around the ends of blocks */
        const int64_t blocks = 1 + n / 3;
        set_list(&s, blocks * BH_BLOCK_BODIES - 1 + n % 3, blocks * BH_BLOCK_POINTS - 1 + n % 3);
        compare(&s);
    }
}

TEST(huge_and_tiny_scales_far_from_the_origin)
{
    static const double unit[] = {1e18, 1e-15, 1e30, 1e-30, 1}, mass[] = {1e-20, 1e25, 1, 1e-30, 1e40};
    static const double place[] = {0, 3, -1e4};
    static scene s;

    for (int u = 0; u < 5; u++) {
        for (int p = 0; p < 3; p++) {
            for (int soft = 0; soft < 2; soft++) {
                make_scene(unit[u], mass[u], soft ? 0.05 : 0, (double[]){place[p] * unit[u], 0, unit[u]}, &s);
                set_list(&s, 70, 90);
                compare(&s);
            }
        }
    }
}

/* If squares overflow, only the plain kernel is left; the result is the same. */
TEST(coordinates_whose_squares_overflow)
{
    static scene s;
    field got, wanted;

    make_scene(1e160, 1, 0, middle, &s);
    set_list(&s, 0, 60); /* cell moments would overflow */
    compute(&s, "plain", BH_DOUBLE, &wanted);
    compute(&s, kernel_name, kernel_precision, &got);
    assert_memory_equal(&got, &wanted, sizeof got);
    for (int t = 0; t < TARGETS; t++) {
        assert_true(isfinite(got.a[0][t]) && isfinite(got.a[3][t]));
    }
}

/* Thousands of particles at one point exert no force on each other; all other forces act. */
TEST(coincident_particles)
{
    static scene s;
    field got;

    for (int soft = 0; soft < 2; soft++) {
        make_scene(1, 1, soft ? 0.01 : 0, (double[]){7, -8, 1e5}, &s);
        for (int i = 0; i < POINTS; i++) {
            for (int k = 0; k < 3 && i % 50 != 0; k++) {
                s.x[k][i] = s.x[k][1];
            }
        }
        for (int t = 0; t < TARGETS; t++) {
            for (int k = 0; k < 3; k++) {
                s.at[k][t] = s.x[k][1];
            }
        }
        set_list(&s, 20, 1300);
        compare(&s);
        set_list(&s, 0, 50); /* one of them, or some, elsewhere */
        s.first[0] = 51;
        s.list.nruns = 1;
        s.count[0] = s.list.nsources = 49;
        compute(&s, kernel_name, kernel_precision, &got);
        for (int t = 0; t < TARGETS; t++) {
            assert_true(got.a[0][t] == 0 && got.a[1][t] == 0 && got.a[2][t] == 0);
            assert_true(soft || got.a[3][t] == 0);
        }
    }
}

/* Masses that underflow in single precision attract a target that nothing else attracts; zero masses attract
 * nothing. */
TEST(masses_of_any_size)
{
    static const double mass[] = {1e-60, 1e-44, 1e-30, 0, 1e30, 1e60, 1};
    static scene s;

    for (int i = 0; i < COUNT_OF(mass); i++) {
        make_scene(1, mass[i], 0.05, middle, &s);
        s.cell[0].moments.mass = 1000;
        for (int p = 0; p < POINTS; p++) { /* in the end most are massless, and one is light */
            s.x[3][p] *= mass[i] == 1 ? (p == 17 ? 1e-50 : 0) : p == 3 && mass[i] < 1 ? 0 : 1;
        }
        set_list(&s, 40, 0);
        compare(&s);
        set_list(&s, 0, 40);
        compare(&s);
    }
}

/* A close pair in a wide group, which single precision cannot separate. */
TEST(near_things_in_wide_groups)
{
    static const double eps[] = {0, 1e-9, 1e-6, 1e-4};
    static scene s;
    field got, wanted;

    for (int e = 0; e < 4; e++) {
        make_scene(1, 1, eps[e], (double[]){3, 4, 5}, &s);
        for (int k = 0; k < 3; k++) {
            s.at[k][1] = s.x[k][2] = s.at[k][0] + (k == 1 ? 1e-9 : 0);
            s.cell[1].moments.com[k] = s.at[k][2] + (k == 2 ? 1e-7 : 0);
        }
        memset(s.cell[1].moments.quad, 0, sizeof s.cell[1].moments.quad);
        s.cell[1].moments.trace = 0;
        s.number[0] = 1;
        set_list(&s, 1, 40);
        compute(&s, "plain", BH_DOUBLE, &wanted);
        compute(&s, kernel_name, kernel_precision, &got);
        for (int t = 0; t < 3; t++) {
            for (int k = 0; k < 3; k++) {
                const double size = fabs(wanted.a[0][t]) + fabs(wanted.a[1][t]) + fabs(wanted.a[2][t]);
                assert_true(fabs(got.a[k][t] - wanted.a[k][t]) <= 2e-3 * size);
            }
        }
    }
}

/* Each target gets the same bits in any batch of the same group; in double precision alone as well, and however the
 * runs of the list are cut. Fields are added to. */
TEST(bits_depend_on_the_list_and_the_group_alone)
{
    static scene s, turned, alone;
    field got, back, one;

    make_scene(1, 1, 0.02, middle, &s);
    for (int length = 0; length < 2; length++) {
        set_list(&s, length == 0 ? 20 : 300, length == 0 ? 30 : 700);
        turned = s;
        for (int t = 0; t < TARGETS; t++) {
            for (int k = 0; k < 3; k++) {
                turned.at[k][t] = s.at[k][TARGETS - 1 - t];
            }
        }
        compute(&s, kernel_name, kernel_precision, &got);
        compute(&turned, kernel_name, kernel_precision, &back);
        for (int t = 0; t < TARGETS; t++) {
            alone = s;
            alone.ntargets = 1;
            for (int k = 0; k < 3; k++) {
                alone.at[k][0] = s.at[k][t];
            }
            compute(&alone, kernel_name, kernel_precision, &one);
            for (int k = 0; k < 4; k++) {
                assert_true(got.a[k][t] == back.a[k][TARGETS - 1 - t]);
                assert_true(got.a[k][t] == one.a[k][0] || kernel_precision == BH_MIXED);
            }
        }
    }
    set_list(&s, 0, 1000);
    s.list.nruns = 1;
    s.count[0] = 1000;
    compute(&s, kernel_name, kernel_precision, &got);
    s.list.nruns = 0;
    for (int64_t at = 0; at < 1000; at += s.count[s.list.nruns++]) {
        s.first[s.list.nruns] = at;
        s.count[s.list.nruns] = at % 37 + 1 < 1000 - at ? at % 37 + 1 : 1000 - at;
    }
    compute(&s, kernel_name, kernel_precision, &back);
    assert_memory_equal(&got, &back, sizeof got);
    add_to(&s, kernel_name, kernel_precision, &back);
    s.list.nruns = s.list.nsources = 0;
    add_to(&s, kernel_name, kernel_precision, &back);
    for (int t = 0; t < TARGETS; t++) {
        assert_near(back.a[0][t], 2 * got.a[0][t], 1e-14 * fabs(got.a[3][t]));
        assert_near(back.a[3][t], 2 * got.a[3][t], 1e-14 * fabs(got.a[3][t]));
    }
}

/* Sums over the particles within the cutoff by definition, and magnitudes of force and potential: of all these, and of
 * particles nearer to the cutoff than a share of it, for which single precision may decide either way. */
static void sum_within(const scene *s, int t, double cutoff, double blur, double sum[4], double doubt[2],
                       double size[2])
{
    memset(sum, 0, 4 * sizeof *sum);
    doubt[0] = doubt[1] = size[0] = size[1] = 0;
    for (int i = 0; i < POINTS; i++) {
        const double d[3] = {s->x[0][i] - s->at[0][t], s->x[1][i] - s->at[1][t], s->x[2][i] - s->at[2][t]};
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2], soft = sqrt(r2 + s->eps * s->eps);
        const double potential = soft > 0 ? s->G * s->x[3][i] / soft : 0, force = soft > 0 ? potential / soft : 0;
        if (r2 > 0 && fabs(sqrt(r2) - cutoff) < blur * cutoff) {
            doubt[0] += force;
            doubt[1] += potential;
        }
        if (r2 < cutoff * cutoff || r2 == 0) {
            for (int k = 0; k < 3; k++) {
                sum[k] += soft > 0 ? force * d[k] / soft : 0;
            }
            sum[3] -= potential;
            size[0] += force;
            size[1] += potential;
        }
    }
}

static void check_cutoff(scene *s, double cutoff, double blur)
{
    const double precise = kernel_precision == BH_MIXED ? 2e-6 : 1e-13;
    field got;

    s->count[0] = s->list.nsources = POINTS;
    s->first[0] = 0;
    s->list.nruns = 1;
    s->list.cutoff = cutoff;
    compute(s, kernel_name, kernel_precision, &got);
    for (int t = 0; t < TARGETS; t++) {
        double sum[4], doubt[2], size[2];
        sum_within(s, t, cutoff, blur, sum, doubt, size);
        for (int k = 0; k < 4; k++) {
            const double limit = precise * size[k == 3] + doubt[k == 3];
            if (!(fabs(got.a[k][t] - sum[k]) <= limit)) {
                fail_msg("%s %d, cutoff %g, target %d, column %d: %.17g is not %.17g within %g", kernel_name,
                         kernel_precision, cutoff, t, k, got.a[k][t], sum[k], limit);
            }
        }
    }
}

/* Coincident particles are within any cutoff. */
TEST(only_pairs_within_the_cutoff_act)
{
    static const double cutoff[] = {1e-300, 0.01, 0.1, 0.4, 0.9, 100, 1e200, INFINITY}, unit[] = {1, 1e15, 1e-20};
    static scene s;

    for (int i = 0; i < 6; i++) {
        make_scene(unit[i / 2], 1, i % 2 ? 0.05 : 0, middle, &s);
        for (int c = 0; c < COUNT_OF(cutoff); c++) {
            set_list(&s, 0, 1);
            check_cutoff(&s, cutoff[c] * unit[i / 2], kernel_precision == BH_MIXED ? 1e-5 : 0);
        }
    }
}

/* On a lattice distances are exact in both precisions: a particle at the cutoff does not act, the next nearer one
 * does. */
TEST(a_particle_at_the_cutoff_does_not_act)
{
    static const double cutoff[] = {1, 2, 3, 5}; /* 5 also occurs as 3 and 4 along two axes */
    static scene s;

    make_scene(16, 1, 0.02, middle, &s);
    for (int i = 0; i < POINTS; i++) {
        s.x[0][i] = i / 121 - 5;
        s.x[1][i] = i / 11 % 11 - 5;
        s.x[2][i] = i % 11 - 5;
        s.x[3][i] = 1;
    }
    for (int t = 0; t < TARGETS; t++) {
        for (int k = 0; k < 3; k++) {
            s.at[k][t] = s.x[k][t * 19];
        }
    }
    for (int c = 0; c < 4; c++) {
        set_list(&s, 0, 1);
        check_cutoff(&s, cutoff[c], 0);
    }
}

/* With monopole and quadrupole the error of the acceleration falls as d^-5, to 1/32 at twice the distance, and that of
 * the potential as d^-4; with a softening of half the distance, too: the trace of the second moments counts then. */
TEST(a_cells_error_falls_as_the_octupole)
{
    static double x[3][20], m[20];
    FREED_BY(bh_serial_free) bh_serial lump;
    bh_kernel *kernel;

    for (int i = 0; i < 20; i++) {
        m[i] = 0.1 + uniform(53, i);
        for (int k = 0; k < 3; k++) {
            x[k][i] = 0.1 * k + uniform(50 + k, i) - 0.5;
        }
    }
    assert_ok(bh_serial_build(&lump, 20, x[0], x[1], x[2], m, NULL, 20, 20));
    const double *com = lump.tree.cell[lump.tree.root].moments.com;
    const bh_list list = {.ncells = 1, .cell = &lump.tree.root};
    assert_ok(bh_kernel_create(kernel_name, BH_DOUBLE, &kernel));
    for (int soft = 0; soft < 2; soft++) {
        double error[2][2] = {{0}};
        for (int i = 0; i < 100; i++) {
            const double z = 2 * uniform(70, i / 2) - 1, angle = 6.2831853 * uniform(71, i / 2);
            const double d = i % 2 ? 16 : 8, across = d * sqrt(1 - z * z);
            const double at[3] = {com[0] + across * cos(angle), com[1] + across * sin(angle), com[2] + d * z};
            double exact[4] = {0}, got[4] = {0};
            bh_direct(20, x[0], x[1], x[2], m, 2, soft * d / 2, 1, at, at + 1, at + 2, exact, exact + 1, exact + 2,
                      exact + 3);
            assert_ok(bh_force(kernel, &lump.tree, &list, 2, soft * d / 2, 1, at, at + 1, at + 2, got, got + 1, got + 2,
                               got + 3));
            for (int k = 0; k < 4; k++) {
                error[k == 3][i % 2] += (got[k] - exact[k]) * (got[k] - exact[k]);
            }
        }
        const double force = sqrt(error[0][0] / error[0][1]), potential = sqrt(error[1][0] / error[1][1]);
        assert_true(force > 26 && force < 40);
        assert_true(potential > 13 && potential < 20);
    }
    bh_kernel_free(kernel);
}

TEST(the_self_potential_is_what_a_lone_particle_gets)
{
    static const double softening[] = {0, 1e-100, 1e-3, 0.4, 12};
    static scene s;
    field got;

    for (int i = 0; i < COUNT_OF(softening); i++) {
        make_scene(1, 1, softening[i], middle, &s);
        const double self = bh_potential_self(s.G, s.x[3][0], softening[i]);
        double direct[4] = {0};
        s.ntargets = 1;
        s.list = (bh_list){.nruns = 1, .run_first = s.first, .run_count = s.count, .nsources = 1};
        s.count[0] = 1;
        compute(&s, kernel_name, BH_DOUBLE, &got);
        bh_direct(1, s.x[0], s.x[1], s.x[2], s.x[3], s.G, s.eps, 1, s.at[0], s.at[1], s.at[2], direct, direct + 1,
                  direct + 2, direct + 3);
        assert_true(got.a[0][0] == 0 && got.a[1][0] == 0 && got.a[2][0] == 0);
        assert_near(got.a[3][0], self, 4 * DBL_EPSILON * fabs(self));
        assert_near(direct[3], self, 4 * DBL_EPSILON * fabs(self));
    }
    assert_near(bh_potential_self(3, 2.5, 0.5), -15, 1e-14);
}

TEST(kernels_have_names)
{
    bh_kernel *kernel = NULL;
    bool runs_here;

    assert_int_equal(bh_kernel_create("AVX2", BH_DOUBLE, &kernel), EQP_ERR_UNKNOWN);
    assert_int_equal(bh_kernel_create("", BH_MIXED, &kernel), EQP_ERR_UNKNOWN);
    assert_null(kernel);
    assert_string_equal(bh_kernel_list(0, NULL), "plain");
    assert_null(bh_kernel_list(-1, NULL));
    const char *best = NULL, *listed;
    for (int i = 0; (listed = bh_kernel_list(i, &runs_here)) != NULL; i++) {
        assert_int_equal(bh_kernel_create(listed, BH_MIXED, &kernel), runs_here ? EQP_OK : EQP_ERR_STATE);
        if (runs_here) {
            best = bh_kernel_name(kernel);
            assert_true(best == listed && bh_kernel_precision(kernel) == BH_MIXED);
            bh_kernel_free(kernel);
        }
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(bh_kernel_create(i == 0 ? NULL : "auto", BH_DOUBLE, &kernel));
        assert_true(bh_kernel_name(kernel) == best && bh_kernel_precision(kernel) == BH_DOUBLE);
        bh_kernel_free(kernel);
    }
}
