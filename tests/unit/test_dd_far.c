/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_stress.h"
#include "elastic/far.h"
#include "failing_malloc.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

static const dd_medium periodic = {54.6, 0.324, 2, 1, {800, 640, 720}};
static uint64_t draws;

/* All local expansions [cells][nlocal] of all moments [cells][nmoments], on one rank. */
static int solve(const dd_far *far, const double *moments, double *local)
{
    const dd_far_sizes *s = dd_far_sizes_of(far);
    const int64_t columns = s->ncolumns * 2;
    double *in = NULL, *out = NULL, **at = NULL, *kernel = NULL;
    int code;

    EQP_TRY(eqp_array_create(&in, s->nplanes * columns * s->nmoments, sizeof *in));
    EQP_TRY(eqp_array_create(&out, s->nplanes * columns * s->nlocal, sizeof *out));
    EQP_TRY(eqp_array_create(&at, 2 * s->nplanes, sizeof *at));
    EQP_TRY(eqp_array_create(&kernel, s->nkernel, sizeof *kernel));
    for (int64_t x = 0; x < s->nplanes; x++) {
        at[x] = in + x * columns * s->nmoments;
        at[s->nplanes + x] = out + x * columns * s->nlocal;
        EQP_TRY(dd_far_plane_forward(far, s->nmoments, moments + x * s->ncells * s->nmoments, at[x]));
    }
    const dd_far_run all_in = {0, s->nmoments, at}, all_out = {0, s->nlocal, at + s->nplanes};
    for (int64_t c = 0; c < s->ncolumns; c++) {
        EQP_TRY(dd_far_kernel(far, c, kernel));
        EQP_TRY(dd_far_column(far, c, c, kernel, 1, &all_in, 1, &all_out));
    }
    for (int64_t x = 0; x < s->nplanes; x++) {
        EQP_TRY(dd_far_plane_inverse(far, s->nlocal, at[s->nplanes + x], local + x * s->ncells * s->nlocal));
    }
done:
    free(in);
    free(out);
    free(at);
    free(kernel);
    return code;
}

static double uniform(double low, double high)
{
    return low + (high - low) * eqp_random_uniform(5, 1, draws++);
}

enum { N = 5, LOOPS = 6, SEGMENTS = 3 * LOOPS };

static const double low[3] = {-100, 30, 0}, edge[3] = {800, 640, 720};

typedef struct scene {
    dd_medium medium;
    int64_t n[3];
    dd_far *far;
    const dd_far_sizes *sizes;
    int nsegments;
    const dd_segment *segment;
    double *moments, *local;
} scene;

static int64_t cells_of(const scene *s)
{
    return s->n[0] * s->n[1] * s->n[2];
}

/* Cell of a segment's first end, and its grid position. */
static int64_t cell_of(const scene *s, const double x[3], int64_t at[3])
{
    for (int d = 0; d < 3; d++) {
        at[d] = (int64_t)floor((x[d] - low[d]) / edge[d] * (double)s->n[d]);
        at[d] = s->medium.box[d] > 0 ? (at[d] % s->n[d] + s->n[d]) % s->n[d] : at[d];
        assert_true(at[d] >= 0 && at[d] < s->n[d]);
    }
    return (at[0] * s->n[1] + at[1]) * s->n[2] + at[2];
}

static scene make_scene(const dd_medium *medium, int64_t nx, int64_t ny, int64_t nz, int order, int nsegments,
                        const dd_segment *segment)
{
    scene s = {.medium = *medium, .n = {nx, ny, nz}, .nsegments = nsegments, .segment = segment};
    HEAP double *raw = NULL;

    assert_ok(dd_far_create(medium, low, edge, s.n, order, &s.far));
    s.sizes = dd_far_sizes_of(s.far);
    assert_ok(eqp_array_create(&s.moments, cells_of(&s) * s.sizes->nmoments, sizeof *s.moments));
    assert_ok(eqp_array_create(&s.local, cells_of(&s) * s.sizes->nlocal, sizeof *s.local));
    assert_ok(eqp_array_create(&raw, s.sizes->nraw, sizeof *raw));
    for (int64_t c = 0; c < cells_of(&s); c++) {
        memset(raw, 0, (size_t)s.sizes->nraw * sizeof *raw);
        for (int i = 0; i < nsegments; i++) {
            int64_t at[3];
            if (cell_of(&s, segment[i].x1, at) == c) {
                dd_far_add_segment(s.far, c, &segment[i], raw);
            }
        }
        dd_far_close(s.far, raw, s.moments + c * s.sizes->nmoments);
    }
    assert_ok(solve(s.far, s.moments, s.local));
    return s;
}

static void free_scene(scene *s)
{
    dd_far_free(s->far);
    free(s->moments);
    free(s->local);
}

static void far_stress(const scene *s, const double x[3], double stress[6])
{
    int64_t at[3];
    const int64_t cell = cell_of(s, x, at);
    double *field = NULL, from[3];

    assert_ok(eqp_array_create(&field, s->sizes->nfield, sizeof *field));
    for (int d = 0; d < 3; d++) {
        from[d] = x[d] - low[d] - ((double)at[d] + 0.5) * edge[d] / (double)s->n[d];
        from[d] -= s->medium.box[d] > 0 ? edge[d] * rint(from[d] / edge[d]) : 0.0;
    }
    dd_far_open(s->far, s->local + cell * s->sizes->nlocal, field);
    dd_far_stress(s->far, field, from, stress);
    free(field);
}

/* Adds the direct stress of segments at x, for images up to `shells` boxes away: near ones or far ones. */
static void add_images(const scene *s, const double x[3], int shells, bool near, double sum[6])
{
    int64_t to[3];

    (void)cell_of(s, x, to);
    for (int i = 0; i < s->nsegments; i++) {
        int64_t from[3], most[3];
        (void)cell_of(s, s->segment[i].x1, from);
        for (int d = 0; d < 3; d++) {
            most[d] = s->medium.box[d] > 0 ? shells : 0;
        }
        for (int64_t image = 0; image < (2 * most[0] + 1) * (2 * most[1] + 1) * (2 * most[2] + 1); image++) {
            const int64_t k[3] = {image % (2 * most[0] + 1) - most[0],
                                  image / (2 * most[0] + 1) % (2 * most[1] + 1) - most[1],
                                  image / (2 * most[0] + 1) / (2 * most[1] + 1) - most[2]};
            dd_segment moved = s->segment[i];
            double stress[6];
            bool is_near = true;
            for (int d = 0; d < 3; d++) {
                /* A segment's cell is near by its image in its own cell. */
                const double first = s->segment[i].x1[d] - low[d];
                const double shift = edge[d] * ((double)k[d] - (s->medium.box[d] > 0 ? floor(first / edge[d]) : 0.0));
                moved.x1[d] += shift;
                moved.x2[d] += shift;
                is_near = is_near && llabs(from[d] + k[d] * s->n[d] - to[d]) <= 1;
            }
            dd_stress_of_segment(&s->medium, &moved, x, stress);
            for (int v = 0; is_near == near && v < 6; v++) {
                sum[v] += stress[v];
            }
        }
    }
}

/* Triangles about random positions in the middle of the box, so no segment extends far beyond its cell. */
static void make_loops(double size, dd_segment segment[SEGMENTS])
{
    draws = 0;
    for (int i = 0; i < LOOPS; i++) {
        double centre[3], corner[3][3], b[3];
        for (int d = 0; d < 3; d++) {
            centre[d] = low[d] + edge[d] * uniform(0.1, 0.9);
            b[d] = uniform(-1, 1);
        }
        for (int c = 0; c < 3; c++) {
            for (int d = 0; d < 3; d++) {
                corner[c][d] = centre[d] + uniform(-size, size);
            }
        }
        for (int c = 0; c < 3; c++) {
            memcpy(segment[3 * i + c].x1, corner[c], sizeof b);
            memcpy(segment[3 * i + c].x2, corner[(c + 1) % 3], sizeof b);
            memcpy(segment[3 * i + c].burgers, b, sizeof b);
        }
    }
}

enum { PLACES = 40 };

/* Relative L2 error of the far stress at sample points, with and without its mean. */
static double error_of(const scene *s, int shells, double *without_mean)
{
    double off[PLACES][6], mean[6] = {0}, square = 0, all = 0, rest = 0;

    draws = 1000;
    for (int p = 0; p < PLACES; p++) {
        double x[3], want[6] = {0};
        for (int d = 0; d < 3; d++) {
            x[d] = low[d] + edge[d] * uniform(0, 1);
        }
        add_images(s, x, shells, false, want);
        far_stress(s, x, off[p]);
        for (int v = 0; v < 6; v++) {
            off[p][v] -= want[v];
            mean[v] += off[p][v] / PLACES;
            square += off[p][v] * off[p][v];
            all += want[v] * want[v];
        }
    }
    for (int p = 0; p < PLACES; p++) {
        for (int v = 0; v < 6; v++) {
            rest += (off[p][v] - mean[v]) * (off[p][v] - mean[v]);
        }
    }
    *without_mean = sqrt(rest / all);
    return sqrt(square / all);
}

/* In a free box the only error is that of the expansions; each two orders reduce it by more than half. */
TEST(errors_fall_with_the_order)
{
    const dd_medium medium = {54.6, 0.324, 2, 1, {0, 0, 0}};
    dd_segment segment[SEGMENTS];
    double before = INFINITY, rest;

    make_loops(20, segment);
    for (int order = 2; order <= 10; order += 2) {
        FREED_BY(free_scene) scene s = make_scene(&medium, N, N - 1, N + 2, order, SEGMENTS, segment);
        const double error = error_of(&s, 0, &rest);
        assert_true(error < before / 2);
        before = error;
    }
    assert_true(before < 3e-3);
}

/* The sum over many shells, up to a uniform stress that depends on their outer shape. */
TEST(periodic_fields_are_those_of_many_shells)
{
    dd_segment segment[SEGMENTS];
    double rest;
    FREED_BY(free_scene) scene s;

    make_loops(20, segment);
    s = make_scene(&periodic, N + 1, N, N + 2, 12, SEGMENTS, segment);
    (void)error_of(&s, slow_here() ? 1 : 5, &rest);
    assert_true(rest < 3e-3);
}

/* In free directions only images within the documented distance count. */
TEST(free_directions_have_no_images)
{
    dd_segment segment[SEGMENTS];
    double rest;

    make_loops(20, segment);
    for (int d = 0; d < 3 && !slow_here(); d++) {
        dd_medium medium = periodic;
        medium.box[d] = medium.box[(d + 1) % 3] = 0;
        FREED_BY(free_scene) scene s = make_scene(&medium, N, N, N, 8, SEGMENTS, segment);
        assert_true(error_of(&s, 5, &rest) < 2e-2);
    }
}

/* Near plus far stress is independent of the cells, also if lines across the box have a net Burgers vector with a
 * neutralizing background. */
TEST(stress_does_not_depend_on_cells)
{
    static const int64_t n[] = {3, 4, 5, 7};
    enum { PIECES = 16 };
    dd_segment line[2 * PIECES];
    double want[PLACES][6], scale = 0, worst = 0;

    for (int i = 0; i < 2 * PIECES; i++) {
        const int along = i < PIECES ? 0 : 2;
        const double b[3] = {0.3, along == 0 ? 0.8 : -0.1, 0.5};
        for (int d = 0; d < 3; d++) {
            const int k = i % PIECES;
            line[i].x1[d] = line[i].x2[d] = low[d] + edge[d] * (0.3 + 0.1 * d + (i < PIECES ? 0 : 0.25));
            if (d == along) {
                line[i].x1[d] = low[d] + edge[d] * k / PIECES;
                line[i].x2[d] = low[d] + edge[d] * (k + 1) / PIECES;
            }
            line[i].burgers[d] = b[d];
        }
    }
    for (int g = 0; g < 4; g++) {
        FREED_BY(free_scene) scene s = make_scene(&periodic, n[g], n[g], n[g], 10, 2 * PIECES, line);
        draws = 500;
        for (int p = 0; p < PLACES; p++) {
            double x[3], stress[6], near[6] = {0};
            for (int d = 0; d < 3; d++) {
                x[d] = low[d] + edge[d] * uniform(0, 1);
            }
            far_stress(&s, x, stress);
            add_images(&s, x, 1, true, near);
            for (int v = 0; v < 6; v++) {
                stress[v] += near[v];
                scale = fmax(scale, g == 0 ? fabs(stress[v]) : 0);
                worst = fmax(worst, g == 0 ? 0 : fabs(stress[v] - want[p][v]));
                want[p][v] = g == 0 ? stress[v] : want[p][v];
            }
        }
    }
    assert_true(worst < 1e-3 * scale);
}

/* The inverse transform of planes of any length returns them times their size. */
TEST(planes_come_back)
{
    static const int64_t lengths[][2] = {{3, 4}, {5, 6}, {7, 8}, {9, 11}, {13, 16}, {25, 10}, {67, 3}, {3, 134}};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        enum { COMPONENTS = 21 };
        const int64_t n[3] = {3, lengths[i][0], lengths[i][1]}, ncells = n[1] * n[2];
        dd_far *far = NULL;
        assert_ok(dd_far_create(&periodic, low, edge, n, 2, &far));
        const size_t ncolumns = (size_t)dd_far_sizes_of(far)->ncolumns;
        double *in = calloc((size_t)ncells * COMPONENTS, sizeof *in),
               *out = calloc((size_t)ncells * COMPONENTS, sizeof *in);
        double *columns = calloc(ncolumns * 2 * COMPONENTS, sizeof *columns), sum = 0;
        for (int64_t j = 0; j < ncells * COMPONENTS; j++) {
            in[j] = uniform(-1, 1);
            sum += j % COMPONENTS == 4 ? in[j] : 0;
        }
        assert_ok(dd_far_plane_forward(far, COMPONENTS, in, columns));
        assert_true(fabs(columns[4] - sum) < 1e-10 * (double)ncells); /* wave number 0 */
        assert_ok(dd_far_plane_inverse(far, COMPONENTS, columns, out));
        for (int64_t j = 0; j < ncells * COMPONENTS; j++) {
            assert_true(fabs(out[j] - (double)ncells * in[j]) < 1e-10 * (double)ncells);
        }
        free(in);
        free(out);
        free(columns);
        dd_far_free(far);
    }
}

/* Forces integrate the stress along the segment and are equal for its images. */
TEST(forces_are_the_integral_of_the_stress)
{
    enum { PARTS = 2000 };
    dd_segment segment[SEGMENTS];
    const dd_segment target = {{-60, 90, 30}, {-20, 130, 75}, {0.3, -0.5, 0.7}};
    dd_segment image = target;
    double want[6] = {0}, force[2][6], *field;
    FREED_BY(free_scene) scene s;

    make_loops(20, segment);
    s = make_scene(&periodic, N, N, N, 6, SEGMENTS, segment);
    field = malloc((size_t)s.sizes->nfield * sizeof *field);
    dd_far_open(s.far, s.local, field);
    for (int i = 0; i < PARTS; i++) {
        const double t = (i + 0.5) / PARTS, *b = target.burgers;
        double x[3], dx[3], sigma[6];
        for (int d = 0; d < 3; d++) {
            dx[d] = (target.x2[d] - target.x1[d]) / PARTS;
            x[d] = target.x1[d] + t * PARTS * dx[d] - low[d] - 0.5 * edge[d] / N;
        }
        dd_far_stress(s.far, field, x, sigma);
        const double sb[3] = {sigma[0] * b[0] + sigma[5] * b[1] + sigma[4] * b[2],
                              sigma[5] * b[0] + sigma[1] * b[1] + sigma[3] * b[2],
                              sigma[4] * b[0] + sigma[3] * b[1] + sigma[2] * b[2]};
        for (int d = 0; d < 3; d++) {
            const double f = sb[(d + 1) % 3] * dx[(d + 2) % 3] - sb[(d + 2) % 3] * dx[(d + 1) % 3];
            want[d] += (1 - t) * f;
            want[3 + d] += t * f;
        }
    }
    for (int d = 0; d < 3; d++) {
        image.x1[d] += edge[d];
        image.x2[d] -= edge[d];
    }
    dd_far_force(s.far, 0, field, &target, force[0]);
    dd_far_force(s.far, 0, field, &image, force[1]);
    for (int c = 0; c < 6; c++) {
        assert_true(fabs(force[0][c] - want[c]) < 1e-7);
        assert_true(fabs(force[1][c] - want[c]) < 1e-7);
    }
    free(field);
}

static int create_and_free(void *n)
{
    dd_far *far = NULL;
    const int code = dd_far_create(&periodic, low, edge, n, 4, &far);

    assert_true((far != NULL) == (code == EQP_OK));
    dd_far_free(far);
    return code;
}

TEST(failing_allocations_are_reported)
{
    assert_true(failing_malloc_sweep(create_and_free, (int64_t[]){4, 4, 4}, EQP_ERR_MEMORY) > 0);
}
