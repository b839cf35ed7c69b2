/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces between segments, of a segment on itself and of an applied stress, against tables, quadrature and the
 * symmetries of every pair. */
#include "dd_segments.h"
#include "dd_stress.h"
#include "elastic/pairs.h"
#include "unit.h"

static const dd_medium medium = {.mu = 1, .nu = 0.3, .a = 1};

/* Kernels available on this CPU, plain first. */
static int kernels(dd_pairs_fn fn[DD_ISAS])
{
    int n = 0;

    for (int isa = DD_ISA_PLAIN; isa < DD_ISAS; isa++) {
        int code = dd_pairs_choose((dd_isa)isa, &fn[n], NULL);
        if (code == EQP_OK) {
            n++;
        } else {
            assert_int_equal(code, EQP_ERR_STATE);
        }
    }
    return n;
}

TEST(stresses_match_the_reference_table)
{
    const char *folder = getenv("EQUIPOISE_SHARED_DATA");
    char path[4096], line[4096];
    int rows = 0;

    snprintf(path, sizeof path, "%s/dislocation/segstress_reference.tsv",
             folder != NULL ? folder : PROJECT_SOURCE_ROOT "/../shared/data");
    FILE *file = fopen(path, "rb");
    SKIP_IF(file == NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        double x[22], stress[6];
        char *at = line;
        if (line[0] == '#' || line[0] == 'i') {
            continue;
        }
        for (int i = 0; i < 22; i++) {
            x[i] = strtod(at, &at);
        }
        const dd_segment s = {{x[1], x[2], x[3]}, {x[4], x[5], x[6]}, {x[7], x[8], x[9]}};
        const dd_medium m = {.mu = x[14], .nu = x[15], .a = x[13]};
        dd_stress_of_segment(&m, &s, x + 10, stress);
        dd_assert_below(dd_deviation(stress, x + 16, 6), 1e-9);
        rows++;
    }
    fclose(file);
    assert_true(rows > 5);
}

/* Gauss points in 1-D: m panels of 8. */
static double panel_point(int i, int panels, double *weight)
{
    const dd_gauss *rule = dd_gauss_for(6);
    const double width = 1.0 / panels;

    assert_int_equal(rule->n, 8);
    *weight = rule->w[i % 8] / 2 * width;
    return (i / 8 + (1 + rule->x[i % 8]) / 2) * width;
}

/* The force on the ends of a in the stress of b. */
static void force_by_quadrature(const dd_medium *m, const dd_segment *a, const dd_segment *b, int panels,
                                double force[6])
{
    memset(force, 0, 6 * sizeof *force);
    for (int i = 0; i < 8 * panels; i++) {
        double weight, x[3], stress[6], f[6];
        const double at = panel_point(i, panels, &weight);
        for (int d = 0; d < 3; d++) {
            x[d] = a->x1[d] + at * (a->x2[d] - a->x1[d]);
        }
        dd_stress_of_segment(m, b, x, stress);
        dd_peach_koehler(stress, a, f);
        for (int d = 0; d < 3; d++) {
            force[d] += 2 * f[d] * weight * (1 - at);
            force[3 + d] += 2 * f[d] * weight * at;
        }
    }
}

static void compare_with_quadrature(const dd_medium *m, const dd_segment *a, const dd_segment *b, int panels,
                                    double limit)
{
    dd_pairs_fn fn[DD_ISAS];
    double expected[12], force[12];

    force_by_quadrature(m, a, b, panels, expected);
    force_by_quadrature(m, b, a, panels, expected + 6);
    for (int k = kernels(fn) - 1; k >= 0; k--) {
        const bool parallel = dd_pair_force(fn[k], m, a, b, force);
        assert_int_equal(parallel, dd_pairs_parallel(m, a, b));
        dd_assert_below(dd_deviation(force, expected, 12), limit);
    }
}

TEST(pairs_match_quadrature)
{
    const dd_medium copper = {.mu = 54.6e9, .nu = 0.324, .a = 3}, odd = {.mu = 2, .nu = -0.4, .a = 10};
    uint64_t draw = 1;

    for (int i = 0; i < 100; i++) {
        const dd_segment a = dd_draw_segment(&draw, 60, 60), b = dd_draw_segment(&draw, 60, 60);
        compare_with_quadrature(i % 2 == 0 ? &copper : &odd, &a, &b, 64, 1e-9);
    }
}

/* b leaves a's line at `place` of a under the given angle, `away` to the side. */
static dd_segment at_an_angle(uint64_t *draw, const dd_segment *a, double place, double angle, double away)
{
    dd_segment b = *a;
    double u[3], side[3], n[3], length;

    for (int d = 0; d < 3; d++) {
        u[d] = a->x2[d] - a->x1[d];
    }
    length = sqrt(dd_dot(u, u));
    do {
        double w[3];
        dd_draw_vector(draw, w);
        dd_cross(u, w, n);
    } while (dd_dot(n, n) < 0.01 * length * length);
    dd_cross(n, u, side);
    const double pn = away / sqrt(dd_dot(n, n)), ps = length / sqrt(dd_dot(side, side));
    dd_draw_vector(draw, b.burgers);
    for (int d = 0; d < 3; d++) {
        b.x1[d] = a->x1[d] + place * u[d] + pn * n[d];
        b.x2[d] = b.x1[d] + 0.8 * (cos(angle) * u[d] + sin(angle) * ps * side[d]);
    }
    return b;
}

static dd_segment reversed(const dd_segment *s)
{
    dd_segment r;

    for (int d = 0; d < 3; d++) {
        r.x1[d] = s->x2[d];
        r.x2[d] = s->x1[d];
        r.burgers[d] = -s->burgers[d];
    }
    return r;
}

/* Angles at which the formulas change, and 0; hinges, gaps, overlaps, both senses. */
TEST(small_angles_match_quadrature)
{
    static const double place[] = {1, 1.05, 0.3, 0, -2, -9}, away[] = {0, 0.5, 30};
    uint64_t draw = 2;
    int parallel = 0, general = 0;

    for (double angle = 0; angle<1; angle = angle> 0 ? 3 * angle : 1e-7) {
        for (int p = 0; p < 6; p++) {
            for (int w = 0; w < 3; w++) {
                dd_segment a = {{10, -20, 30}, {70, 20, 10}, {0.3, -0.9, 0.2}};
                dd_segment b = at_an_angle(&draw, &a, place[p], angle, away[w]), back = reversed(&b);
                const double limit = angle > 0.1 || angle == 0 ? 1e-9 : 1e-6;
                compare_with_quadrature(&medium, &a, w == 1 ? &back : &b, 200, limit);
                *(dd_pairs_parallel(&medium, &a, &b) ? &parallel : &general) += 1;
                assert_true(angle > 0 || dd_pairs_parallel(&medium, &a, &b));
            }
        }
    }
    assert_true(parallel > 50 && general > 50);
}

static void swap_halves(double x[], int half)
{
    for (int i = 0; i < half; i++) {
        const double kept = x[i];
        x[i] = x[half + i];
        x[half + i] = kept;
    }
}

TEST(roles_and_senses_do_not_matter)
{
    dd_pairs_fn fn[DD_ISAS];
    uint64_t draw = 4;

    for (int k = kernels(fn) - 1; k >= 0; k--) {
        for (int i = 0; i < 200; i++) {
            const dd_segment a = dd_draw_segment(&draw, 60, 60);
            const dd_segment b = i % 2 == 0 ? dd_draw_segment(&draw, 60, 60) : at_an_angle(&draw, &a, 0.5, 1e-5, 5);
            const dd_segment back = reversed(&b);
            double force[12], other[12];

            const bool parallel = dd_pair_force(fn[k], &medium, &a, &b, force);
            assert_int_equal(dd_pair_force(fn[k], &medium, &b, &a, other), parallel);
            swap_halves(other, 6);
            dd_assert_below(dd_deviation(other, force, 12), 1e-9);
            dd_pair_force(fn[k], &medium, &a, &back, other);
            swap_halves(other + 6, 3);
            dd_assert_below(dd_deviation(other, force, 12), 1e-9);
        }
    }
}

TEST(only_differences_of_places_matter)
{
    static const double shift[3] = {1000, -4096, 512.5};
    dd_medium box = medium;
    dd_pairs_fn fn[DD_ISAS];
    uint64_t draw = 5;

    box.box[0] = 500;
    box.box[2] = 400;
    for (int k = kernels(fn) - 1; k >= 0; k--) {
        for (int i = 0; i < 100; i++) {
            dd_segment a = dd_draw_segment(&draw, 60, 60), b = dd_draw_segment(&draw, 60, 60), far = b;
            double force[12], other[12];

            dd_pair_force(fn[k], &medium, &a, &b, force);
            for (int d = 0; d < 3; d++) {
                const double image = (i % 5 - 2) * box.box[d];
                far.x1[d] += image;
                far.x2[d] += image;
            }
            dd_pair_force(fn[k], &box, &a, &far, other);
            dd_assert_below(dd_deviation(other, force, 12), 1e-9);
            for (int d = 0; d < 3; d++) {
                a.x1[d] += shift[d];
                a.x2[d] += shift[d];
                b.x1[d] += shift[d];
                b.x2[d] += shift[d];
            }
            dd_pair_force(fn[k], &medium, &a, &b, other);
            dd_assert_below(dd_deviation(other, force, 12), 1e-9);
        }
    }
}

/* Pairs of all kinds and at the boundaries between kinds. */
static dd_segment draw_any(uint64_t *draw, const dd_segment *target)
{
    const double kind = noise(draw);

    if (kind < 0.3) {
        return at_an_angle(draw, target, 2 * noise(draw) - 1, exp(-18 * noise(draw)), 20 * noise(draw));
    }
    if (kind < 0.4) {
        return at_an_angle(draw, target, 1, 0, 0);
    }
    return dd_draw_segment(draw, kind < 0.7 ? 60 : 5000, 60);
}

TEST(kernels_agree)
{
    static dd_sources_of_test s[DD_ISAS];
    dd_medium box = medium;
    dd_pairs_fn fn[DD_ISAS];
    const int nfn = kernels(fn);
    uint64_t draw = 6;

    box.box[0] = box.box[1] = 7000;
    for (int list = 0; list < 200; list++) {
        const int n = list % 40, first = list % 3, cut = n / 3;
        const dd_run run[] = {{first + cut, n - cut}, {0, 0}, {first, cut}};
        const dd_segment target = dd_draw_segment(&draw, 60, 60);
        double force[DD_ISAS][6] = {{0}}, most = 0;
        dd_pair_counts counts[DD_ISAS] = {{0, 0}};
        int64_t parallel = 0;

        for (int k = 0; k < nfn; k++) {
            dd_sources_clear(&s[k]);
        }
        for (int i = 0; i < n; i++) {
            const dd_segment source = draw_any(&draw, &target);
            parallel += dd_pairs_parallel(&box, &target, &source);
            for (int k = 0; k < nfn; k++) {
                dd_sources_put(&s[k], first + i, &source);
            }
        }
        for (int k = 0; k < nfn; k++) {
            fn[k](&box, &target, &s[k].columns, 3, run, force[k], &counts[k]);
            assert_int_equal(counts[k].parallel, parallel);
            assert_int_equal(counts[k].general, n - parallel);
        }
        for (int i = 0; i < 6; i++) {
            most = fmax(most, dd_largest(s[0].force[i], DD_MOST_SOURCES));
        }
        for (int k = 1; k < nfn; k++) {
            for (int i = 0; i < 6; i++) {
                assert_true(fabs(force[k][i] - force[0][i]) <= 1e-8 * (most + dd_largest(force[0], 6)));
                for (int j = 0; j < DD_MOST_SOURCES; j++) {
                    assert_true(fabs(s[k].force[i][j] - s[0].force[i][j]) <= 1e-8 * most);
                    assert_true((j >= first && j < first + n) || s[k].force[i][j] == 0);
                }
            }
        }
    }
}

/* Without cancellation kernels differ by rounding only. */
TEST(kernels_agree_closely_about_general_pairs)
{
    dd_pairs_fn fn[DD_ISAS];
    const int nfn = kernels(fn);
    uint64_t draw = 9;

    for (int i = 0; i < 200; i++) {
        dd_segment a = dd_draw_segment(&draw, 60, 60);
        const dd_segment b = at_an_angle(&draw, &a, 1 - 2 * noise(&draw), 0.5 + noise(&draw), 30 * noise(&draw));
        double expected[12], force[12];

        assert_false(dd_pair_force(fn[0], &medium, &a, &b, expected));
        for (int k = 1; k < nfn; k++) {
            dd_pair_force(fn[k], &medium, &a, &b, force);
            dd_assert_below(dd_deviation(force, expected, 12), 1e-12);
        }
    }
}

/* A list adds the sum of its pairs to the previous sums. */
TEST(lists_are_sums_of_pairs)
{
    static dd_sources_of_test s;
    dd_pairs_fn fn[DD_ISAS];
    uint64_t draw = 7;

    for (int k = kernels(fn) - 1; k >= 0; k--) {
        const dd_segment target = dd_draw_segment(&draw, 60, 60);
        const dd_run run[] = {{0, 5}, {20, 17}, {5, 15}};
        double sum[6] = {1, 2, 3, 4, 5, 6}, force[6] = {1, 2, 3, 4, 5, 6};
        dd_pair_counts counts = {100, 200};

        dd_sources_clear(&s);
        for (int i = 0; i < 37; i++) {
            const dd_segment source = draw_any(&draw, &target);
            dd_sources_put(&s, i, &source);
        }
        for (int i = 0; i < 6; i++) {
            s.force[i][36] = 10;
        }
        fn[k](&medium, &target, &s.columns, 3, run, force, &counts);
        assert_int_equal(counts.general + counts.parallel, 337);
        for (int i = 0; i < 37; i++) {
            const dd_segment source = {{s.at[0][i], s.at[1][i], s.at[2][i]},
                                       {s.at[3][i], s.at[4][i], s.at[5][i]},
                                       {s.at[6][i], s.at[7][i], s.at[8][i]}};
            double one[12];
            dd_pair_force(fn[k], &medium, &target, &source, one);
            for (int d = 0; d < 6; d++) {
                sum[d] += one[d];
                assert_true(s.force[d][i] == one[6 + d] + (i == 36 ? 10 : 0));
            }
        }
        dd_assert_below(dd_deviation(force, sum, 6), 1e-13);
    }
}

static void put_loop(double node[][3], int n, const double burgers[3], dd_segment loop[])
{
    for (int i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            loop[i].x1[d] = node[i][d];
            loop[i].x2[d] = node[(i + 1) % n][d];
            loop[i].burgers[d] = burgers[d];
        }
    }
}

TEST(closed_loops_push_each_other_equally)
{
    enum { A = 6, B = 5 };
    dd_pairs_fn fn[DD_ISAS];
    uint64_t draw = 8;

    for (int k = kernels(fn) - 1; k >= 0; k--) {
        for (int round = 0; round < 10; round++) {
            double node[A + B][3], burgers[2][3], total[3] = {0}, most = 0;
            dd_segment a[A], b[B];

            for (int i = 0; i < A + B; i++) {
                dd_draw_vector(&draw, node[i]);
                for (int d = 0; d < 3; d++) {
                    node[i][d] = 50 * node[i][d] + (i < A ? 0 : 20);
                }
            }
            dd_draw_vector(&draw, burgers[0]);
            dd_draw_vector(&draw, burgers[1]);
            put_loop(node, A, burgers[0], a);
            put_loop(node + A, B, burgers[1], b);
            for (int i = 0; i < A; i++) {
                for (int j = 0; j < B; j++) {
                    double force[12];
                    dd_pair_force(fn[k], &medium, &a[i], &b[j], force);
                    for (int d = 0; d < 12; d++) {
                        total[d % 3] += force[d];
                    }
                    most = fmax(most, dd_largest(force, 12));
                }
            }
            dd_assert_below(dd_largest(total, 3) / most, 1e-12);
        }
    }
}

/* The segment's own stress integrated along it; many panels, since it is sharp near the ends. */
TEST(elastic_self_force_is_that_of_the_own_stress)
{
    const dd_medium m = {.mu = 5, .nu = 0.2, .a = 2, .core = 1};
    uint64_t draw = 1;

    for (int i = 0; i < 20; i++) {
        const dd_segment s = dd_draw_segment(&draw, 50, 40);
        double expected[6], force[6];
        force_by_quadrature(&m, &s, &s, 60, expected);
        dd_self_elastic(&m, &s, force);
        dd_assert_below(dd_deviation(force, expected, 6), 1e-9);
    }
}

/* The core's energy is core * L (bs^2 + be^2 / (1 - nu)). */
static double core_energy(const dd_medium *m, const dd_segment *s)
{
    double t[3];

    for (int d = 0; d < 3; d++) {
        t[d] = s->x2[d] - s->x1[d];
    }
    const double length = sqrt(dd_dot(t, t)), screw = dd_dot(s->burgers, t) / length;
    const double edge2 = dd_dot(s->burgers, s->burgers) - screw * screw;
    return m->core * length * (screw * screw + edge2 / (1 - m->nu));
}

TEST(core_force_is_the_derivative_of_its_energy)
{
    const dd_medium m = {.mu = 5, .nu = 0.2, .a = 2, .core = 0.7};
    uint64_t draw = 2;

    for (int i = 0; i < 20; i++) {
        dd_segment s = dd_draw_segment(&draw, 50, 40);
        double elastic[6], whole[6], core[6], expected[6];

        dd_self_elastic(&m, &s, elastic);
        dd_self_force(&m, &s, whole);
        for (int k = 0; k < 6; k++) {
            double *x = k < 3 ? &s.x1[k] : &s.x2[k - 3];
            const double kept = *x, h = 1e-3;
            *x = kept + h;
            const double up = core_energy(&m, &s);
            *x = kept - h;
            expected[k] = (core_energy(&m, &s) - up) / (2 * h);
            *x = kept;
            core[k] = whole[k] - elastic[k];
        }
        dd_assert_below(dd_deviation(core, expected, 6), 1e-6);
    }
}

/* A screw along z in shears of yz and zx, and an edge, which climbs. */
TEST(applied_stress_pushes_both_ends_alike)
{
    static const struct {
        dd_segment segment;
        double stress[6], force[3];
    } of[] = {{{{1, 2, 3}, {1, 2, 13}, {0, 0, 2}}, {0, 0, 0, 0.5, 0, 0}, {5, 0, 0}},
              {{{1, 2, 3}, {1, 2, 13}, {0, 0, 2}}, {0, 0, 0, 0, 0.5, 0}, {0, -5, 0}},
              {{{0, 0, 0}, {0, 0, 4}, {3, 0, 0}}, {1, 0, 0, 0, 0, 0}, {0, -6, 0}}};

    for (int i = 0; i < COUNT_OF(of); i++) {
        double force[6];
        dd_peach_koehler(of[i].stress, &of[i].segment, force);
        dd_assert_below(dd_deviation(force, of[i].force, 3), 1e-15);
        dd_assert_below(dd_deviation(force + 3, of[i].force, 3), 1e-15);
    }
}

TEST(names_are_known)
{
    dd_isa isa = DD_ISA_AVX2;
    dd_pairs_fn fn = NULL;

    assert_string_equal(dd_isa_name(DD_ISA_AVX512), "avx512");
    assert_null(dd_isa_name((dd_isa)DD_ISAS));
    assert_refused(dd_pairs_choose((dd_isa)DD_ISAS, &fn, NULL));
    assert_null(fn);
    assert_ok(dd_pairs_choose(DD_ISA_AUTO, &fn, &isa));
    assert_non_null(fn);
    assert_int_not_equal(isa, DD_ISA_AUTO);
}
