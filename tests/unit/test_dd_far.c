/* SPDX-License-Identifier: BSD-3-Clause */
/* The far field against direct sums of the stress of segments and their images. */
#include "dd_segments.h"
#include "elastic/far.h"
#include "slow.h"
#include "unit.h"

#include <equipoise/more/random.h>

static const dd_medium periodic = {54.6, 0.324, 2, 1, {800, 640, 720}};
static const double low[3] = {-100, 30, 0}, edge[3] = {800, 640, 720};
static uint64_t draws;

static double uniform(double from, double to)
{
    return from + (to - from) * eqp_random_uniform(5, 1, draws++);
}

enum { N = 5, LOOPS = 6, SEGMENTS = 3 * LOOPS, PLACES = 40 };

typedef struct scene {
    dd_medium medium;
    int64_t n[3];
    dd_far *far;
    const dd_far_sizes *sizes;
    int nsegments;
    const dd_segment *segment;
    double *field; /* [cells][nfield] */
} scene;

/* Cell of a position, and its place in the grid. */
static int64_t cell_of(const scene *s, const double x[3], int64_t at[3])
{
    for (int d = 0; d < 3; d++) {
        at[d] = (int64_t)floor((x[d] - low[d]) / edge[d] * (double)s->n[d]);
        at[d] = s->medium.box[d] > 0 ? (at[d] % s->n[d] + s->n[d]) % s->n[d] : at[d];
        assert_true(at[d] >= 0 && at[d] < s->n[d]);
    }
    return (at[0] * s->n[1] + at[1]) * s->n[2] + at[2];
}

/* Moments of all cells, as waves: [planes][columns][2][nmoments]. */
static void add_moments(const scene *s, double **plane)
{
    const dd_far_sizes *z = s->sizes;
    HEAP double *moments = calloc((size_t)(z->ncells * z->nmoments), sizeof *moments);
    HEAP double *raw = calloc((size_t)z->nraw, sizeof *raw);

    for (int64_t c = 0; c < z->nplanes * z->ncells; c++) {
        memset(raw, 0, (size_t)z->nraw * sizeof *raw);
        for (int i = 0; i < s->nsegments; i++) {
            int64_t at[3];
            if (cell_of(s, s->segment[i].x1, at) == c) {
                dd_far_add_segment(s->far, c, &s->segment[i], raw);
            }
        }
        dd_far_close(s->far, raw, moments + c % z->ncells * z->nmoments);
        if ((c + 1) % z->ncells == 0) {
            assert_ok(dd_far_plane_forward(s->far, z->nmoments, moments, plane[c / z->ncells]));
        }
    }
}

static scene make_scene(const dd_medium *medium, int64_t nx, int64_t ny, int64_t nz, int order, int nsegments,
                        const dd_segment *segment)
{
    scene s = {.medium = *medium, .n = {nx, ny, nz}, .nsegments = nsegments, .segment = segment};
    double *in[16], *out[16];

    assert_ok(dd_far_create(medium, low, edge, s.n, order, &s.far));
    const dd_far_sizes *z = s.sizes = dd_far_sizes_of(s.far);
    HEAP double *kernel = calloc((size_t)z->nkernel, sizeof *kernel);
    HEAP double *local = calloc((size_t)(z->ncells * z->nlocal), sizeof *local);
    s.field = calloc((size_t)(z->nplanes * z->ncells * z->nfield), sizeof *s.field);
    for (int64_t x = 0; x < z->nplanes; x++) {
        in[x] = calloc((size_t)(z->ncolumns * 2 * z->nmoments), sizeof *in[x]);
        out[x] = calloc((size_t)(z->ncolumns * 2 * z->nlocal), sizeof *out[x]);
    }
    add_moments(&s, in);
    const dd_far_run all_in = {0, z->nmoments, in}, all_out = {0, z->nlocal, out};
    for (int64_t c = 0; c < z->ncolumns; c++) {
        assert_ok(dd_far_kernel(s.far, c, kernel));
        assert_ok(dd_far_column(s.far, c, c, kernel, 1, &all_in, 1, &all_out));
    }
    for (int64_t x = 0; x < z->nplanes; x++) {
        assert_ok(dd_far_plane_inverse(s.far, z->nlocal, out[x], local));
        for (int64_t c = 0; c < z->ncells; c++) {
            dd_far_open(s.far, local + c * z->nlocal, s.field + (x * z->ncells + c) * z->nfield);
        }
        free(in[x]);
        free(out[x]);
    }
    return s;
}

static void free_scene(scene *s)
{
    dd_far_free(s->far);
    free(s->field);
}

/* From the forces on short segments along z and x: (stress b) x line. */
static void far_stress(const scene *s, const double x[3], double stress[6])
{
    static const int place[3][3] = {{0, 5, 4}, {5, 1, 3}, {4, 3, 2}};
    const double half = 5e-4;
    int64_t at[3];
    const int64_t cell = cell_of(s, x, at);

    for (int test = 0; test < 6; test++) {
        const int line = test % 2 == 0 ? 2 : 0, b = test / 2;
        dd_segment one = {{x[0], x[1], x[2]}, {x[0], x[1], x[2]}, {b == 0, b == 1, b == 2}};
        double f[6];
        one.x1[line] -= half;
        one.x2[line] += half;
        dd_far_force(s->far, cell, s->field + cell * s->sizes->nfield, &one, f);
        if (line == 2) {
            stress[place[b][0]] = -(f[1] + f[4]) / (2 * half);
            stress[place[b][1]] = (f[0] + f[3]) / (2 * half);
        } else {
            stress[place[b][2]] = (f[1] + f[4]) / (2 * half);
        }
    }
}

/* Adds the direct stress of segments at x, for images up to `shells` boxes away: near ones or far ones. */
static void add_images(const scene *s, const double x[3], int shells, bool near, double sum[6])
{
    int64_t to[3], from[3], most[3];

    (void)cell_of(s, x, to);
    for (int d = 0; d < 3; d++) {
        most[d] = s->medium.box[d] > 0 ? shells : 0;
    }
    for (int i = 0; i < s->nsegments; i++) {
        (void)cell_of(s, s->segment[i].x1, from);
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
        for (int c = 0; c < 9; c++) {
            corner[c / 3][c % 3] = centre[c % 3] + uniform(-size, size);
        }
        for (int c = 0; c < 3; c++) {
            memcpy(segment[3 * i + c].x1, corner[c], sizeof b);
            memcpy(segment[3 * i + c].x2, corner[(c + 1) % 3], sizeof b);
            memcpy(segment[3 * i + c].burgers, b, sizeof b);
        }
    }
}

static void draw_place(double x[3])
{
    for (int d = 0; d < 3; d++) {
        x[d] = low[d] + edge[d] * uniform(0, 1);
    }
}

/* Relative L2 error of the far stress of loops at sample points, with and without its mean. */
static double error_of(const dd_medium *medium, int64_t nx, int64_t ny, int64_t nz, int order, int shells,
                       double *without_mean)
{
    double off[PLACES][6], mean[6] = {0}, square = 0, all = 0, rest = 0;
    dd_segment segment[SEGMENTS];

    make_loops(20, segment);
    FREED_BY(free_scene) scene s = make_scene(medium, nx, ny, nz, order, SEGMENTS, segment);
    draws = 1000;
    for (int p = 0; p < PLACES; p++) {
        double x[3], want[6] = {0};
        draw_place(x);
        add_images(&s, x, shells, false, want);
        far_stress(&s, x, off[p]);
        for (int v = 0; v < 6; v++) {
            off[p][v] -= want[v];
            mean[v] += off[p][v] / PLACES;
            square += off[p][v] * off[p][v];
            all += want[v] * want[v];
        }
    }
    for (int p = 0; p < 6 * PLACES; p++) {
        rest += pow(off[p / 6][p % 6] - mean[p % 6], 2);
    }
    *without_mean = sqrt(rest / all);
    return sqrt(square / all);
}

/* In a free box the only error is that of the expansions; each two orders reduce it by more than half. */
TEST(errors_fall_with_the_order)
{
    const dd_medium medium = {54.6, 0.324, 2, 1, {0, 0, 0}};
    double before = INFINITY, rest;

    for (int order = 2; order <= 10; order += 2) {
        const double error = error_of(&medium, N, N - 1, N + 2, order, 0, &rest);
        assert_true(error < before / 2);
        before = error;
    }
    assert_true(before < 3e-3);
}

/* The sum over many shells, up to a uniform stress that depends on their outer shape. In free directions only images
 * within the documented distance count. */
TEST(periodic_fields_are_those_of_many_shells)
{
    double rest;

    (void)error_of(&periodic, N + 1, N, N + 2, 12, slow_here() ? 1 : 5, &rest);
    assert_true(rest < 3e-3);
    for (int d = 0; d < 3 && !slow_here(); d++) {
        dd_medium medium = periodic;
        medium.box[d] = medium.box[(d + 1) % 3] = 0;
        assert_true(error_of(&medium, N, N, N, 8, 5, &rest) < 2e-2);
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
        line[i] = (dd_segment){.burgers = {0.3, along == 0 ? 0.8 : -0.1, 0.5}};
        for (int d = 0; d < 3; d++) {
            line[i].x1[d] = line[i].x2[d] = low[d] + edge[d] * (0.3 + 0.1 * d + (i < PIECES ? 0 : 0.25));
        }
        line[i].x1[along] = low[along] + edge[along] * (i % PIECES) / PIECES;
        line[i].x2[along] = low[along] + edge[along] * (i % PIECES + 1) / PIECES;
    }
    for (int g = 0; g < 4; g++) {
        FREED_BY(free_scene) scene s = make_scene(&periodic, n[g], n[g], n[g], 10, 2 * PIECES, line);
        draws = 500;
        for (int p = 0; p < PLACES; p++) {
            double x[3], stress[6], near[6] = {0};
            draw_place(x);
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
    enum { COMPONENTS = 21 };

    for (int i = 0; i < COUNT_OF(lengths); i++) {
        const int64_t n[3] = {3, lengths[i][0], lengths[i][1]}, size = n[1] * n[2] * COMPONENTS;
        const double by = 1e-10 * (double)(n[1] * n[2]);
        dd_far *far = NULL;
        assert_ok(dd_far_create(&periodic, low, edge, n, 2, &far));
        HEAP double *in = calloc((size_t)size, sizeof *in), *out = calloc((size_t)size, sizeof *out);
        HEAP double *columns = calloc((size_t)dd_far_sizes_of(far)->ncolumns * 2 * COMPONENTS, sizeof *columns);
        double sum = 0;
        for (int64_t j = 0; j < size; j++) {
            in[j] = uniform(-1, 1);
            sum += j % COMPONENTS == 4 ? in[j] : 0;
        }
        assert_ok(dd_far_plane_forward(far, COMPONENTS, in, columns));
        assert_near(columns[4], sum, by); /* wave number 0 */
        assert_ok(dd_far_plane_inverse(far, COMPONENTS, columns, out));
        for (int64_t j = 0; j < size; j++) {
            assert_near(out[j], (double)(n[1] * n[2]) * in[j], by);
        }
        dd_far_free(far);
    }
}

/* Forces on pieces of a segment are those on its ends by the law of the lever, and equal for its images. */
TEST(forces_add_up_along_a_segment)
{
    enum { PIECES = 3 };
    const dd_segment whole = {{-60, 90, 30}, {-20, 130, 75}, {0.3, -0.5, 0.7}};
    dd_segment segment[SEGMENTS], piece = whole, image = whole;
    double want[6] = {0}, force[2][6];

    make_loops(20, segment);
    FREED_BY(free_scene) scene s = make_scene(&periodic, N, N, N, 6, SEGMENTS, segment);
    for (int i = 0; i < PIECES; i++) {
        const double from = (double)i / PIECES, to = (i + 1.0) / PIECES;
        for (int d = 0; d < 3; d++) {
            piece.x1[d] = whole.x1[d] + from * (whole.x2[d] - whole.x1[d]);
            piece.x2[d] = whole.x1[d] + to * (whole.x2[d] - whole.x1[d]);
            image.x1[d] = whole.x1[d] + edge[d];
            image.x2[d] = whole.x2[d] - edge[d];
        }
        dd_far_force(s.far, 0, s.field, &piece, force[0]);
        for (int c = 0; c < 6; c++) {
            want[c] += force[0][c % 3] * (c < 3 ? 1 - from : from) + force[0][3 + c % 3] * (c < 3 ? 1 - to : to);
        }
    }
    dd_far_force(s.far, 0, s.field, &whole, force[0]);
    dd_far_force(s.far, 0, s.field, &image, force[1]);
    for (int c = 0; c < 12; c++) {
        assert_near(force[c / 6][c % 6], want[c % 6], 1e-12);
    }
}
