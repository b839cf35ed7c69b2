/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces between segments, of a segment on itself and of an applied stress, against tables, quadrature and the
 * symmetries of every pair. */
#include "dd_segments.h"
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

static dd_segment shifted(const dd_segment *s, double x, double y, double z)
{
    const double shift[3] = {x, y, z};
    dd_segment r = *s;

    for (int d = 0; d < 3; d++) {
        r.x1[d] += shift[d];
        r.x2[d] += shift[d];
    }
    return r;
}

/* Forces are those of quadrature. Roles, senses, a common shift and periodic images do not matter: forces on the ends
 * swap with them. */
static void check_pair(const dd_medium *m, const dd_segment *a, const dd_segment *b, int panels, double limit)
{
    const dd_segment back = reversed(b), far = shifted(b, 5000, 0, -8000), a_there = shifted(a, 1000, -4096, 512.5),
                     b_there = shifted(b, 1000, -4096, 512.5);
    dd_medium box = *m;
    const struct {
        const dd_medium *medium;
        const dd_segment *a, *b;
        int end[4]; /* place of each end in the forces of a, b */
    } ways[] = {{m, b, a, {2, 3, 0, 1}},
                {m, a, &back, {0, 1, 3, 2}},
                {&box, a, &far, {0, 1, 2, 3}},
                {m, &a_there, &b_there, {0, 1, 2, 3}}};
    dd_pairs_fn fn[DD_ISAS];
    double expected[12], force[12], other[12], turned[12];

    box.box[0] = 5000;
    box.box[2] = 4000;
    force_by_quadrature(m, a, b, panels, expected);
    force_by_quadrature(m, b, a, panels, expected + 6);
    for (int k = kernels(fn) - 1; k >= 0; k--) {
        const bool parallel = dd_pair_force(fn[k], m, a, b, force);
        assert_int_equal(parallel, dd_pairs_parallel(m, a, b));
        dd_assert_below(dd_deviation(force, expected, 12), limit);
        for (int way = 0; way < COUNT_OF(ways); way++) {
            assert_int_equal(dd_pair_force(fn[k], ways[way].medium, ways[way].a, ways[way].b, other), parallel);
            for (int i = 0; i < 12; i++) {
                turned[i] = other[3 * ways[way].end[i / 3] + i % 3];
            }
            dd_assert_below(dd_deviation(turned, force, 12), parallel ? 1e-9 : limit);
        }
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

TEST(pairs_match_quadrature)
{
    const dd_medium copper = {.mu = 54.6e9, .nu = 0.324, .a = 3}, odd = {.mu = 2, .nu = -0.4, .a = 10};
    uint64_t draw = 1;

    for (int i = 0; i < 100; i++) {
        const dd_segment a = dd_draw_segment(&draw, 60, 60), b = dd_draw_segment(&draw, 60, 60);
        check_pair(i % 2 == 0 ? &copper : &odd, &a, &b, 64, 1e-9);
    }
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
                check_pair(&medium, &a, w == 1 ? &back : &b, 200, limit);
                *(dd_pairs_parallel(&medium, &a, &b) ? &parallel : &general) += 1;
                assert_true(angle > 0 || dd_pairs_parallel(&medium, &a, &b));
            }
        }
    }
    assert_true(parallel > 50 && general > 50);
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

/* A list adds the sum of its pairs to the previous sums; kernels differ by rounding only, and without cancellation
 * hardly. */
TEST(lists_are_sums_of_pairs_and_kernels_agree)
{
    enum { MOST = 40 };
    static dd_sources_of_test s;
    dd_segment source[MOST];
    double plain[MOST][12] = {{0}};
    dd_medium box = medium;
    dd_pairs_fn fn[DD_ISAS];
    const int nfn = kernels(fn);
    uint64_t draw = 6;

    box.box[0] = box.box[1] = 7000;
    for (int list = 0; list < 200; list++) {
        const int n = list % MOST, first = list % 3, cut = n / 3;
        const dd_run run[] = {{first + cut, n - cut}, {0, 0}, {first, cut}};
        const dd_segment target = dd_draw_segment(&draw, 60, 60);
        int64_t parallel = 0;
        for (int i = 0; i < n; i++) {
            source[i] = draw_any(&draw, &target);
            parallel += dd_pairs_parallel(&box, &target, &source[i]);
        }
        for (int k = 0; k < nfn; k++) {
            double sum[6] = {1, 2, 3, 4, 5, 6}, force[6] = {1, 2, 3, 4, 5, 6};
            dd_pair_counts counts = {100, 200};
            dd_sources_clear(&s);
            for (int i = 0; i < n; i++) {
                dd_sources_put(&s, first + i, &source[i]);
            }
            s.force[2][first] = 10;
            fn[k](&box, &target, &s.columns, 3, run, force, &counts);
            assert_int_equal(counts.general, 100 + n - parallel);
            assert_int_equal(counts.parallel, 200 + parallel);
            for (int j = 0; j < DD_MOST_SOURCES; j++) {
                const int i = j - first;
                double one[12] = {0};
                if (i >= 0 && i < n) {
                    dd_pair_force(fn[k], &box, &target, &source[i], one);
                    memcpy(plain[i], k == 0 ? one : plain[i], sizeof one);
                    dd_assert_below(dd_deviation(one, plain[i], 12), 1e-8);
                }
                for (int d = 0; d < 6; d++) {
                    sum[d] += one[d];
                    assert_true(s.force[d][j] == one[6 + d] + (n > 0 && i == 0 && d == 2 ? 10 : 0) ||
                                (n == 0 && j == first && d == 2));
                }
            }
            dd_assert_below(dd_deviation(force, sum, 6), 1e-13);
        }
    }
    for (int i = 0; i < 200; i++) {
        const dd_segment a = dd_draw_segment(&draw, 60, 60);
        const dd_segment b = at_an_angle(&draw, &a, 1 - 2 * noise(&draw), 0.5 + noise(&draw), 30 * noise(&draw));
        double force[12];
        for (int k = 0; k < nfn; k++) {
            assert_false(dd_pair_force(fn[k], &medium, &a, &b, k == 0 ? plain[0] : force));
            dd_assert_below(k == 0 ? 0 : dd_deviation(force, plain[0], 12), 1e-12);
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
