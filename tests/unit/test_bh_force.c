/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/random.h>

#include "bh_bodies.h"
#include "failing_malloc.h"

#include "force.h"
#include "kernel.h"

#define SOURCES 2000
#define TARGETS 37

static bool next_in_double(void)
{
    return next_kernel() && (kernel_precision == BH_DOUBLE || next_kernel());
}
static bool (*unit_next_round)(void) = next_in_double;

typedef struct cloud {
    int64_t n;
    double x[SOURCES], y[SOURCES], z[SOURCES], m[SOURCES];
} cloud;

typedef struct field {
    double ax[TARGETS], ay[TARGETS], az[TARGETS], pot[TARGETS];
} field;

static double uniform(int64_t i, int what)
{
    return eqp_random_uniform(77, (uint64_t)what, (uint64_t)i);
}

static void make_cloud(int64_t n, double size, const double at[3], cloud *made)
{
    made->n = n;
    for (int64_t i = 0; i < n; i++) {
        made->x[i] = at[0] + size * (uniform(i, 0) - 0.5);
        made->y[i] = at[1] + size * (uniform(i, 1) - 0.5);
        made->z[i] = at[2] + size * (uniform(i, 2) - 0.5);
        made->m[i] = 0.1 + uniform(i, 3);
    }
}

static bh_tree tree_of(cloud *sources)
{
    return (bh_tree){
        .sources = {
            .n = sources->n, .nlocal = sources->n, .x = sources->x, .y = sources->y, .z = sources->z, .m = sources->m}};
}

/* Moments of a cloud by definition. */
static bh_moments moments_of(const cloud *of)
{
    static const int line[6] = {0, 0, 0, 1, 1, 2}, column[6] = {0, 1, 2, 1, 2, 2};
    const double *x[3] = {of->x, of->y, of->z};
    bh_moments made = {0};

    for (int64_t i = 0; i < of->n; i++) {
        made.mass += of->m[i];
        for (int k = 0; k < 3; k++) {
            made.com[k] += of->m[i] * x[k][i];
        }
    }
    for (int k = 0; k < 3; k++) {
        made.com[k] /= made.mass;
    }
    for (int64_t i = 0; i < of->n; i++) {
        double d[3], d2 = 0;
        for (int k = 0; k < 3; k++) {
            d[k] = x[k][i] - made.com[k];
            d2 += d[k] * d[k];
        }
        for (int q = 0; q < 6; q++) {
            made.quad[q] += of->m[i] * (3 * d[line[q]] * d[column[q]] - (line[q] == column[q] ? d2 : 0));
        }
    }
    return made;
}

static void force_on(const bh_tree *tree, const bh_list *list, double G, double eps, const cloud *targets, field *on)
{
    bh_kernel *kernel;

    assert_ok(bh_kernel_create(kernel_name, BH_DOUBLE, &kernel));
    assert_ok(bh_force(kernel, tree, list, G, eps, targets->n, targets->x, targets->y, targets->z, on->ax, on->ay,
                       on->az, on->pot));
    bh_kernel_free(kernel);
}

static void field_of_cell(const bh_moments *moments, double G, double eps, const double at[3], double out[4])
{
    bh_cell cell = {.moments = *moments};
    bh_tree tree = {.cell = &cell, .ncells = 1};
    int64_t number = 0;
    bh_list list = {.ncells = 1, .cell = &number};
    static cloud target;
    field on = {0};

    target.n = 1;
    target.x[0] = at[0];
    target.y[0] = at[1];
    target.z[0] = at[2];
    force_on(&tree, &list, G, eps, &target, &on);
    out[0] = on.ax[0];
    out[1] = on.ay[0];
    out[2] = on.az[0];
    out[3] = on.pot[0];
}

static const double origin[3] = {0, 0, 0};

TEST(a_cells_acceleration_is_the_gradient_of_its_potential)
{
    static cloud lump;
    const double h = 1e-3;

    make_cloud(20, 1, (double[]){0.3, -0.2, 0.1}, &lump);
    bh_moments moments = moments_of(&lump);
    for (int i = 0; i < 60; i++) {
        double eps = i % 3 == 0 ? 0.0 : 0.4 * (i % 3);
        double at[3], here[4], side[4][4];
        for (int k = 0; k < 3; k++) {
            at[k] = 6 * uniform(i, 10 + k) - 3;
        }
        double d2 = 0;
        for (int k = 0; k < 3; k++) {
            d2 += (at[k] - moments.com[k]) * (at[k] - moments.com[k]);
        }
        if (d2 < 1) {
            continue; /* too steep for the finite differences below */
        }
        field_of_cell(&moments, 2.0, eps, at, here);
        for (int k = 0; k < 3; k++) {
            for (int s = 0; s < 4; s++) {
                static const double shift[4] = {-2, -1, 1, 2};
                double moved[3] = {at[0], at[1], at[2]};
                moved[k] += shift[s] * h;
                field_of_cell(&moments, 2.0, eps, moved, side[s]);
            }
            double slope = (side[0][3] - 8 * side[1][3] + 8 * side[2][3] - side[3][3]) / (12 * h);
            assert_near(here[k], -slope, 1e-9 * fabs(here[3]));
        }
    }
}

/* Masses m at +-h: on their axis phi = -2 m (1/d + h^2/d^3 + h^4/d^5 + ...). */
TEST(the_quadrupole_is_the_second_term_of_the_series)
{
    static cloud pair = {.n = 2, .x = {-0.5, 0.5}, .m = {3, 3}};
    bh_moments moments = moments_of(&pair);
    double on_axis[4], across[4], d = 2.5;

    field_of_cell(&moments, 1, 0, (double[]){d, 0, 0}, on_axis);
    assert_near(on_axis[3], -6 * (1 / d + 0.25 / pow(d, 3)), 1e-14);
    assert_near(on_axis[0], -6 * (1 / (d * d) + 3 * 0.25 / pow(d, 4)), 1e-14);
    assert_near(on_axis[1], 0, 1e-15);
    field_of_cell(&moments, 1, 0, (double[]){0, d, 0}, across);
    assert_near(across[3], -6 * (1 / d - 0.125 / pow(d, 3)), 1e-14);
    assert_near(across[1], -6 * (1 / (d * d) - 3 * 0.125 / pow(d, 4)), 1e-14);
}

/* With monopole and quadrupole the acceleration error falls as d^-5: to 1/32 at twice the distance. */
TEST(a_cells_error_falls_as_the_octupole)
{
    static cloud lump;
    double error[2] = {0, 0};

    make_cloud(12, 1, origin, &lump);
    bh_moments moments = moments_of(&lump);
    for (int i = 0; i < 50; i++) {
        double z = 2 * uniform(i, 20) - 1, angle = 6.2831853 * uniform(i, 21), across = sqrt(1 - z * z);
        for (int far = 0; far < 2; far++) {
            double d = far == 1 ? 16 : 8, exact[4] = {0}, got[4];
            double at[3] = {d * across * cos(angle), d * across * sin(angle), d * z};
            bh_direct(lump.n, lump.x, lump.y, lump.z, lump.m, 1, 0, 1, &at[0], &at[1], &at[2], &exact[0], &exact[1],
                      &exact[2], &exact[3]);
            field_of_cell(&moments, 1, 0, at, got);
            for (int k = 0; k < 3; k++) {
                error[far] += (got[k] - exact[k]) * (got[k] - exact[k]);
            }
        }
    }
    double ratio = sqrt(error[0] / error[1]);
    assert_true(ratio > 26 && ratio < 40);
}

TEST(the_self_potential_is_what_a_lone_particle_gets)
{
    static const double softening[] = {0, 1e-100, 1e-3, 0.4, 12};
    static cloud lone = {.n = 1, .x = {0.3}, .y = {-4}, .z = {1e5}, .m = {2.5}};
    int64_t first = 0, count = 1;
    bh_list list = {.nruns = 1, .run_first = &first, .run_count = &count, .nsources = 1};
    bh_tree tree = tree_of(&lone);

    for (size_t i = 0; i < sizeof softening / sizeof softening[0]; i++) {
        field got = {0}, direct = {0};
        double self = bh_potential_self(3, 2.5, softening[i]);
        force_on(&tree, &list, 3, softening[i], &lone, &got);
        bh_direct(1, lone.x, lone.y, lone.z, lone.m, 3, softening[i], 1, lone.x, lone.y, lone.z, direct.ax, direct.ay,
                  direct.az, direct.pot);
        assert_true(got.ax[0] == 0 && got.ay[0] == 0 && got.az[0] == 0);
        assert_near(got.pot[0], self, 4 * DBL_EPSILON * fabs(self));
        assert_near(direct.pot[0], self, 4 * DBL_EPSILON * fabs(self));
    }
    assert_near(bh_potential_self(3, 2.5, 0.5), -15, 1e-14);
}

TEST(an_empty_list_changes_nothing_and_fields_are_added_to)
{
    static cloud sources, targets;
    int64_t first = 0, count = 5;
    bh_list empty = {0}, list = {.nruns = 1, .run_first = &first, .run_count = &count, .nsources = 5};
    field once = {0}, twice = {0};

    make_cloud(5, 1, origin, &sources);
    make_cloud(TARGETS, 4, origin, &targets);
    bh_tree tree = tree_of(&sources);
    force_on(&tree, &list, 1, 0.1, &targets, &once);
    field kept = once;
    force_on(&tree, &empty, 1, 0.1, &targets, &once);
    assert_memory_equal(&kept, &once, sizeof kept);
    force_on(&tree, &list, 1, 0.1, &targets, &twice);
    force_on(&tree, &list, 1, 0.1, &targets, &twice);
    for (int t = 0; t < TARGETS; t++) {
        assert_true(twice.ax[t] == 2 * once.ax[t] && twice.pot[t] == 2 * once.pot[t]);
    }
}

TEST(bits_do_not_depend_on_how_runs_are_cut_or_targets_grouped)
{
    static cloud sources, targets, one;
    int64_t whole_first = 0, whole_count = SOURCES, first[SOURCES], count[SOURCES], n = 0;
    bh_list whole = {.nruns = 1, .run_first = &whole_first, .run_count = &whole_count, .nsources = SOURCES};
    bh_list cut = {.run_first = first, .run_count = count, .nsources = SOURCES};
    field a = {0}, b = {0};

    make_cloud(SOURCES, 2, origin, &sources);
    make_cloud(TARGETS, 2, origin, &targets);
    for (int64_t i = 0; i < SOURCES; i += count[n++]) {
        first[n] = i;
        count[n] = 1 + (int64_t)eqp_random_below(5, 0, (uint64_t)n, 40);
        count[n] = count[n] < SOURCES - i ? count[n] : SOURCES - i;
    }
    cut.nruns = n;
    bh_tree tree = tree_of(&sources);
    force_on(&tree, &whole, 1, 0.02, &targets, &a);
    force_on(&tree, &cut, 1, 0.02, &targets, &b);
    assert_memory_equal(&a, &b, sizeof a);
    for (int t = 0; t < TARGETS; t++) {
        field alone = {0};
        one = (cloud){.n = 1, .x = {targets.x[t]}, .y = {targets.y[t]}, .z = {targets.z[t]}};
        force_on(&tree, &whole, 1, 0.02, &one, &alone);
        assert_true(alone.ax[0] == a.ax[t] && alone.ay[0] == a.ay[t] && alone.az[0] == a.az[t]);
        assert_true(alone.pot[0] == a.pot[t]);
    }
}

static int create_kernel(void *unused)
{
    bh_kernel *kernel = NULL;
    const int code = bh_kernel_create(kernel_name, BH_DOUBLE, &kernel);

    (void)unused;
    assert_true((kernel != NULL) == (code == EQP_OK));
    bh_kernel_free(kernel);
    return code;
}

TEST(a_failing_allocation_is_reported)
{
    assert_true(failing_malloc_sweep(create_kernel, NULL, EQP_ERR_MEMORY) > 0);
}
