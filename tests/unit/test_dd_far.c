/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "elastic/far.h"
#include "failing_malloc.h"
#include "slow.h"

#include <equipoise/base.h>
#include <equipoise/random.h>

#include <math.h>
#include <stdlib.h>

static const dd_medium periodic = {54.6, 0.324, 2, 1, {800, 640, 720}};
static uint64_t draws;

static double uniform(double low, double high)
{
    return low + (high - low) * eqp_random_uniform(5, 1, draws++);
}

/* The stress of a line element at R from it: the formula as it stands in the papers, written out once more. */
static void element_stress(const dd_medium *medium, const double R[3], const double b[3], const double dx[3],
                           double s[6])
{
    static const int first[6] = {0, 1, 2, 1, 0, 0}, second[6] = {0, 1, 2, 2, 2, 1};
    const double a2 = medium->a * medium->a, Ra = sqrt(R[0] * R[0] + R[1] * R[1] + R[2] * R[2] + a2);
    const double c = medium->mu / (8 * acos(-1)), r3 = 1 / (Ra * Ra * Ra), r5 = r3 / Ra / Ra;

    for (int v = 0; v < 6; v++) {
        int p = first[v], q = second[v];
        s[v] = 0;
        for (int i = 0; i < 3; i++) {
            double lap = -R[i] * (2 * r3 + 3 * a2 * r5);
            double d3 = -((i == p) * R[q] + (p == q) * R[i] + (q == i) * R[p]) * r3 + 3 * R[i] * R[p] * R[q] * r5;
            for (int m = 0; m < 3; m++) {
                /* The permutation symbol, which is 0 for any other k. */
                const int k = (6 - i - m) % 3;
                const double e = (i - m) * (m - k) * (k - i) / 2.0;
                s[v] += c * lap * b[m] * e * ((k == p) * dx[q] + (k == q) * dx[p]);
                s[v] += 2 * c / (1 - medium->nu) * b[m] * e * (d3 - (p == q) * lap) * dx[k];
            }
        }
    }
}

/* Adds the stress of a segment, moved by `shift`, times a factor: by quadrature. */
static void add_stress(const dd_medium *medium, const dd_segment *segment, const double shift[3], const double x[3],
                       double factor, double sum[6])
{
    static const double node[4] = {-0.861136311594052575, -0.339981043584856265, 0.339981043584856265,
                                   0.861136311594052575};
    static const double weight[4] = {0.347854845137453857, 0.652145154862546143, 0.652145154862546143,
                                     0.347854845137453857};

    for (int part = 0; part < 4; part++) {
        for (int g = 0; g < 4; g++) {
            double t = (part + 0.5 + 0.5 * node[g]) / 4, R[3], dx[3], s[6];
            for (int d = 0; d < 3; d++) {
                dx[d] = (segment->x2[d] - segment->x1[d]) * weight[g] / 8;
                R[d] = x[d] - shift[d] - segment->x1[d] - t * (segment->x2[d] - segment->x1[d]);
            }
            element_stress(medium, R, segment->burgers, dx, s);
            for (int v = 0; v < 6; v++) {
                sum[v] += factor * s[v];
            }
        }
    }
}

static dd_far *far_of(const dd_medium *medium, const double edge[3], int64_t nx, int64_t ny, int64_t nz)
{
    const double low[3] = {-100, 30, 0};
    const int64_t n[3] = {nx, ny, nz};
    dd_far *far = NULL;

    assert_int_equal(dd_far_create(medium, low, edge, n, &far), EQP_OK);
    return far;
}

static double *moments_of(const dd_far *far)
{
    double *moments = NULL;

    assert_int_equal(eqp_array_create(&moments, dd_far_moments_size(far), sizeof *moments), EQP_OK);
    return moments;
}

static void centre_of(const double edge[3], const int64_t n[3], int64_t cell, double centre[3])
{
    const double low[3] = {-100, 30, 0};
    const int64_t at[3] = {cell / n[2] / n[1], cell / n[2] % n[1], cell % n[2]};

    for (int d = 0; d < 3; d++) {
        centre[d] = low[d] + ((double)at[d] + 0.5) * edge[d] / (double)n[d];
    }
}

/* A closed triangle about a place. */
static void make_loop(const double centre[3], double size, dd_segment loop[3])
{
    double corner[3][3], b[3];

    for (int d = 0; d < 3; d++) {
        b[d] = uniform(-1, 1);
        for (int i = 0; i < 3; i++) {
            corner[i][d] = centre[d] + uniform(-size, size);
        }
    }
    for (int i = 0; i < 3; i++) {
        memcpy(loop[i].x1, corner[i], sizeof b);
        memcpy(loop[i].x2, corner[(i + 1) % 3], sizeof b);
        memcpy(loop[i].burgers, b, sizeof b);
    }
}

/* Cells of a grid of n cells in a row whose nearest images lie at an offset: 1 image, or 2 half ones. */
static int images(int64_t n, bool is_periodic, int64_t offset, int64_t image[2])
{
    image[0] = image[1] = offset;
    if (is_periodic) {
        image[0] = (offset % n + n) % n;
        image[0] -= 2 * image[0] > n ? n : 0;
        image[1] = image[0] - n;
        return 2 * image[0] == n ? 2 : 1;
    }
    return 1;
}

/* Adds what a segment of cell `from` does at x, which lies in cell `to`, from the images of that cell that act. */
static void add_images(const dd_medium *medium, const double edge[3], const int64_t n[3], int64_t from, int64_t to,
                       const dd_segment *segment, const double x[3], double sum[6])
{
    const int64_t a[3] = {from / n[2] / n[1], from / n[2] % n[1], from % n[2]};
    const int64_t b[3] = {to / n[2] / n[1], to / n[2] % n[1], to % n[2]};
    int64_t image[3][2];
    int count[3];

    for (int d = 0; d < 3; d++) {
        count[d] = images(n[d], medium->box[d] > 0, b[d] - a[d], image[d]);
    }
    for (int i = 0; i < count[0] * count[1] * count[2]; i++) {
        const int which[3] = {i % count[0], i / count[0] % count[1], i / count[0] / count[1]};
        double shift[3];
        for (int d = 0; d < 3; d++) {
            shift[d] = (double)(b[d] - a[d] - image[d][which[d]]) * edge[d] / (double)n[d];
        }
        add_stress(medium, segment, shift, x, 1.0 / (count[0] * count[1] * count[2]), sum);
    }
}

static void field_at(const double field[DD_FAR_FIELD], const double r[3], double s[6])
{
    for (int v = 0; v < 6; v++) {
        s[v] = field[v] + field[6 + v] * r[0] + field[12 + v] * r[1] + field[18 + v] * r[2];
    }
}

static double largest(const double *x, int n)
{
    double most = 0;

    for (int i = 0; i < n; i++) {
        most = fmax(most, fabs(x[i]));
    }
    return most;
}

/* Sources so small that the moments are all there is: stress and gradient are those of the line element, for both
 * moments, everywhere in a grid with periodic and free directions and with an even and an odd number of cells. */
static void kernels_are_those_of_a_line_element(void **state)
{
    const dd_medium mixed = {54.6, 0.324, 2, 1, {800, 0, 720}};
    const double edge[3] = {800, 640, 720};
    const int64_t n[3] = {5, 4, 6};
    dd_far *far = far_of(&mixed, edge, n[0], n[1], n[2]);
    double *moments = moments_of(far);
    (void)state;

    for (int pair = 0; pair < 2; pair++) {
        for (int64_t from = 0; from < 120; from += slow_here() ? 35 : 7) {
            double centre[3], r[3], dx[3];
            dd_segment segment[2];
            memset(moments, 0, (size_t)dd_far_moments_size(far) * sizeof *moments);
            centre_of(edge, n, from, centre);
            for (int d = 0; d < 3; d++) {
                r[d] = pair ? uniform(-0.03, 0.03) : 0;
                dx[d] = uniform(-0.03, 0.03);
                segment[0].burgers[d] = uniform(-1, 1);
                segment[1].burgers[d] = -segment[0].burgers[d];
            }
            for (int i = 0; i <= pair; i++) {
                for (int d = 0; d < 3; d++) {
                    segment[i].x1[d] = centre[d] + (i ? -1 : 1) * r[d] - dx[d] / 2;
                    segment[i].x2[d] = segment[i].x1[d] + dx[d];
                }
                dd_far_add_segment(far, from, &segment[i], moments + from * DD_FAR_MOMENTS);
            }
            dd_far_set_moments(far, moments);
            for (int64_t to = 0; to < 120; to++) {
                double field[DD_FAR_FIELD], want[DD_FAR_FIELD] = {0}, scale, x[3];
                dd_far_stress(far, to, field);
                if (dd_far_is_near(far, from, to)) {
                    assert_true(largest(field, DD_FAR_FIELD) == 0);
                    continue;
                }
                for (int p = -1; p < 3; p++) {
                    const double h = 2;
                    double minus[6] = {0}, plus[6] = {0}, minus2[6] = {0}, plus2[6] = {0};
                    for (int i = 0; i <= pair; i++) {
                        centre_of(edge, n, to, x);
                        if (p < 0) {
                            add_images(&mixed, edge, n, from, to, &segment[i], x, want);
                            continue;
                        }
                        x[p] += h;
                        add_images(&mixed, edge, n, from, to, &segment[i], x, plus);
                        x[p] += h;
                        add_images(&mixed, edge, n, from, to, &segment[i], x, plus2);
                        x[p] -= 3 * h;
                        add_images(&mixed, edge, n, from, to, &segment[i], x, minus);
                        x[p] -= h;
                        add_images(&mixed, edge, n, from, to, &segment[i], x, minus2);
                    }
                    for (int v = 0; p >= 0 && v < 6; v++) {
                        want[6 + 6 * p + v] = (8 * (plus[v] - minus[v]) - (plus2[v] - minus2[v])) / (12 * h);
                    }
                }
                scale = largest(want, 6);
                for (int v = 0; v < 6; v++) {
                    assert_true(fabs(field[v] - want[v]) < 2e-6 * fmax(scale, 200 * largest(want + 6, 18)));
                }
                scale = largest(want + 6, 18);
                for (int v = 6; v < DD_FAR_FIELD; v++) {
                    assert_true(fabs(field[v] - want[v]) < 3e-5 * fmax(scale, largest(want, 6) / 200));
                }
            }
        }
    }
    free(moments);
    dd_far_free(far);
}

/* Closed loops as large as a cell: the error against the exact sum, cell by cell, falls with the distance. */
static void loops_in_a_cell_act_with_a_small_error(void **state)
{
    enum { N = 12, LOOPS = 4, FARTHEST = 6 };
    const double edge[3] = {800, 640, 720};
    const int64_t n[3] = {N, N, N};
    double error[FARTHEST + 1] = {0}, norm[FARTHEST + 1] = {0};
    dd_far *far = far_of(&periodic, edge, N, N, N);
    double *moments = moments_of(far);
    (void)state;

    for (int trial = 0; trial < (slow_here() ? 30 : 60); trial++) {
        int64_t from = (int64_t)uniform(0, N * N * N);
        dd_segment loop[LOOPS][3];
        memset(moments, 0, (size_t)dd_far_moments_size(far) * sizeof *moments);
        for (int i = 0; i < LOOPS; i++) {
            double centre[3];
            centre_of(edge, n, from, centre);
            for (int d = 0; d < 3; d++) {
                centre[d] += uniform(-0.35, 0.35) * edge[d] / N;
            }
            make_loop(centre, 0.15 * edge[1] / N, loop[i]);
            for (int j = 0; j < 3; j++) {
                dd_far_add_segment(far, from, &loop[i][j], moments + from * DD_FAR_MOMENTS);
            }
        }
        dd_far_set_moments(far, moments);
        for (int distance = 2; distance <= FARTHEST; distance++) {
            int64_t to = (from / N / N + distance) % N * N * N + from % (N * N);
            double field[DD_FAR_FIELD], centre[3], x[3], r[3];
            dd_far_stress(far, to, field);
            centre_of(edge, n, to, centre);
            for (int k = 0; k < 8; k++) {
                double s[6], want[6] = {0};
                for (int d = 0; d < 3; d++) {
                    r[d] = uniform(-0.5, 0.5) * edge[d] / N;
                    x[d] = centre[d] + r[d];
                }
                for (int i = 0; i < 3 * LOOPS; i++) {
                    add_images(&periodic, edge, n, from, to, &loop[i / 3][i % 3], x, want);
                }
                field_at(field, r, s);
                for (int v = 0; v < 6; v++) {
                    error[distance] += (s[v] - want[v]) * (s[v] - want[v]);
                    norm[distance] += want[v] * want[v];
                }
            }
        }
    }
    for (int distance = 2; distance <= FARTHEST; distance++) {
        error[distance] = sqrt(error[distance] / norm[distance]);
        print_message("one cell, %d cells away: relative error %.3f\n", distance, error[distance]);
    }
    /* At half a box the two images nearly cancel: no measure of the kernels. */
    for (int distance = 3; distance < FARTHEST; distance++) {
        assert_true(error[distance] < error[distance - 1]);
    }
    assert_true(error[2] < 0.8 && error[FARTHEST - 1] < 0.3);
    free(moments);
    dd_far_free(far);
}

typedef struct piece {
    int64_t cell;
    dd_segment segment;
} piece;

/* Loops in every cell. */
static int make_loops(const double edge[3], const int64_t n[3], piece *pieces)
{
    int count = 0;

    for (int64_t c = 0; c < n[0] * n[1] * n[2]; c++) {
        for (int i = 0; i < 6; i++) {
            dd_segment loop[3];
            double centre[3];
            centre_of(edge, n, c, centre);
            for (int d = 0; d < 3; d++) {
                centre[d] += uniform(-0.5, 0.5) * edge[d] / (double)n[d];
            }
            make_loop(centre, 0.3 * edge[1] / (double)n[1], loop);
            for (int j = 0; j < 3; j++, count++) {
                pieces[count].cell = c;
                pieces[count].segment = loop[j];
            }
        }
    }
    return count;
}

/* Lines through the whole box, in all three directions, that wander from side to side and close at its other end. */
static int make_lines(const double edge[3], const int64_t n[3], piece *pieces)
{
    enum { LINES = 60, STEPS = 24 };
    int count = 0;

    for (int line = 0; line < LINES; line++) {
        double start[3], x[3], b[3];
        for (int d = 0; d < 3; d++) {
            x[d] = start[d] = uniform(0.3, 0.7) * edge[d] + (d == 0 ? -100 : d == 1 ? 30 : 0);
            b[d] = uniform(-1, 1);
        }
        for (int step = 0; step < STEPS; step++, count++) {
            dd_segment *segment = &pieces[count].segment;
            int64_t at[3];
            memcpy(segment->x1, x, sizeof x);
            for (int d = 0; d < 3; d++) {
                double forward = d == line % 3 ? edge[d] / STEPS : uniform(-0.05, 0.05) * edge[d];
                x[d] = step < STEPS - 1 ? x[d] + forward : start[d] + (d == line % 3 ? edge[d] : 0);
            }
            memcpy(segment->x2, x, sizeof x);
            memcpy(segment->burgers, b, sizeof b);
            /* Into the box, so that its cell is its own and not an image. */
            for (int d = 0; d < 3; d++) {
                double low = d == 0 ? -100 : d == 1 ? 30 : 0, middle = (segment->x1[d] + segment->x2[d]) / 2;
                double shift = -edge[d] * floor((middle - low) / edge[d]);
                segment->x1[d] += shift;
                segment->x2[d] += shift;
                at[d] = (int64_t)((middle + shift - low) / edge[d] * (double)n[d]) % n[d];
            }
            pieces[count].cell = (at[0] * n[1] + at[1]) * n[2] + at[2];
        }
    }
    return count;
}

/* The field of all far cells against the sum over all far segments, and as part of all stress. */
static void the_field_of_a_network_is_accurate(void **state)
{
    const double edge[3] = {800, 640, 720};
    const int64_t n[3] = {6, 5, 6};
    enum { CELLS = 180, POINTS = 60 };
    static piece pieces[CELLS * 18];
    (void)state;

    for (int lines = 0; lines < (slow_here() ? 1 : 2); lines++) {
        dd_far *far = far_of(&periodic, edge, n[0], n[1], n[2]);
        double *moments = moments_of(far), error = 0, norm = 0, all = 0;
        int count = (lines ? make_lines : make_loops)(edge, n, pieces);
        for (int i = 0; i < count; i++) {
            dd_far_add_segment(far, pieces[i].cell, &pieces[i].segment, moments + pieces[i].cell * DD_FAR_MOMENTS);
        }
        dd_far_set_moments(far, moments);
        for (int k = 0; k < (slow_here() ? POINTS / 6 : POINTS); k++) {
            int64_t to = (int64_t)uniform(0, CELLS);
            double field[DD_FAR_FIELD], centre[3], x[3], r[3], s[6], want[6] = {0}, near[6] = {0};
            dd_far_stress(far, to, field);
            centre_of(edge, n, to, centre);
            for (int d = 0; d < 3; d++) {
                r[d] = uniform(-0.5, 0.5) * edge[d] / (double)n[d];
                x[d] = centre[d] + r[d];
            }
            for (int i = 0; i < count; i++) {
                double *sum = dd_far_is_near(far, pieces[i].cell, to) ? near : want;
                add_images(&periodic, edge, n, pieces[i].cell, to, &pieces[i].segment, x, sum);
            }
            field_at(field, r, s);
            for (int v = 0; v < 6; v++) {
                error += (s[v] - want[v]) * (s[v] - want[v]);
                norm += want[v] * want[v];
                all += (want[v] + near[v]) * (want[v] + near[v]);
            }
        }
        print_message("%s: relative error %.3f of the far stress, %.4f of all stress; far / all = %.3f\n",
                      lines ? "lines" : "loops", sqrt(error / norm), sqrt(error / all), sqrt(norm / all));
        assert_true(sqrt(error / norm) < (lines ? 0.3 : 0.8));
        assert_true(sqrt(error / all) < 0.1);
        free(moments);
        dd_far_free(far);
    }
}

/* Near and far cells are all cells, each once. */
static void every_cell_is_near_or_far(void **state)
{
    static const struct {
        int64_t n[3];
        double box[3];
    } grid[] = {{{3, 3, 3}, {800, 640, 720}},
                {{4, 5, 9}, {800, 640, 720}},
                {{1, 2, 17}, {0, 0, 0}},
                {{6, 3, 4}, {0, 640, 0}},
                {{5, 1, 8}, {800, 0, 720}}};
    const double edge[3] = {800, 640, 720};
    (void)state;

    for (size_t g = 0; g < sizeof grid / sizeof *grid; g++) {
        dd_medium medium = periodic;
        const int64_t *n = grid[g].n, cells = n[0] * n[1] * n[2];
        dd_far *far;
        double *moments;
        if (slow_here() && cells > 40) {
            continue;
        }
        memcpy(medium.box, grid[g].box, sizeof medium.box);
        far = far_of(&medium, edge, n[0], n[1], n[2]);
        assert_int_equal(dd_far_moments_size(far), cells * DD_FAR_MOMENTS);
        moments = moments_of(far);
        for (int64_t a = 0; a < cells; a++) {
            const double one[3] = {1, 0.5, -0.25};
            int64_t count = 0;
            dd_segment segment;
            centre_of(edge, n, a, segment.x1);
            memcpy(segment.burgers, one, sizeof one);
            for (int d = 0; d < 3; d++) {
                segment.x2[d] = segment.x1[d] + 1 + d;
            }
            memset(moments, 0, (size_t)dd_far_moments_size(far) * sizeof *moments);
            dd_far_add_segment(far, a, &segment, moments + a * DD_FAR_MOMENTS);
            dd_far_set_moments(far, moments);
            for (int64_t b = 0; b < cells; b++) {
                double field[DD_FAR_FIELD];
                dd_far_stress(far, b, field);
                count += largest(field, DD_FAR_FIELD) > 0;
                assert_int_equal(largest(field, DD_FAR_FIELD) > 0, !dd_far_is_near(far, a, b));
                assert_int_equal(dd_far_is_near(far, a, b), dd_far_is_near(far, b, a));
            }
            assert_int_equal(count, dd_far_count(far, a));
            for (int64_t row = 0; row < n[0] * n[1]; row++) {
                count -= dd_far_count_rows(far, a, row, 1);
            }
            assert_int_equal(count, 0);
            assert_int_equal(dd_far_count_rows(far, a, 0, n[0] * n[1]), dd_far_count(far, a));
        }
        assert_true(g != 0 || dd_far_count(far, 13) == 0);
        free(moments);
        dd_far_free(far);
    }
}

/* Wherever the images of a segment's ends are, it is the same segment. */
static void periodic_images_are_the_same(void **state)
{
    const double edge[3] = {800, 640, 720};
    dd_far *far = far_of(&periodic, edge, 4, 4, 5);
    double *moments = moments_of(far), field[DD_FAR_FIELD], force[2][6];
    dd_segment segment = {{-99, 31, 2}, {-120, 20, 30}, {0.5, -1, 0.3}};
    (void)state;

    for (int v = 0; v < DD_FAR_FIELD; v++) {
        field[v] = uniform(-1, 1);
    }
    for (int image = 0; image < 2; image++) {
        /* The other cell sees the nearest image, not the one of cell 0. */
        dd_far_force(far, image ? 79 : 0, field, &segment, force[0]);
        for (int d = 0; d < 3; d++) {
            segment.x1[d] += edge[d];
        }
        dd_far_force(far, image ? 79 : 0, field, &segment, force[1]);
        for (int i = 0; i < 6; i++) {
            assert_true(fabs(force[0][i] - force[1][i]) < 1e-9 * largest(force[0], 6));
        }
    }
    for (int image = 0; image < 2; image++) {
        dd_far_add_segment(far, 0, &segment, moments);
        segment.x2[1] -= 3 * edge[1];
        for (int i = 0; i < 3; i++) {
            segment.burgers[i] *= -1;
        }
    }
    assert_true(largest(moments, DD_FAR_MOMENTS) < 1e-9);
    free(moments);
    dd_far_free(far);
}

/* Nodal forces against the integral of shape function times (s.b) x t. */
static void forces_are_the_integral_of_a_linear_stress(void **state)
{
    const double edge[3] = {800, 640, 720};
    const int64_t n[3] = {4, 4, 4};
    dd_far *far = far_of(&periodic, edge, 4, 4, 4);
    double field[DD_FAR_FIELD], force[6], want[6] = {0}, centre[3], dx[3];
    dd_segment segment;
    (void)state;

    centre_of(edge, n, 21, centre);
    for (int v = 0; v < DD_FAR_FIELD; v++) {
        field[v] = uniform(-1, 1);
    }
    for (int d = 0; d < 3; d++) {
        segment.x1[d] = centre[d] + uniform(-90, 90);
        segment.x2[d] = centre[d] + uniform(-90, 90);
        segment.burgers[d] = uniform(-1, 1);
        dx[d] = segment.x2[d] - segment.x1[d];
    }
    for (int g = 0; g < 2; g++) {
        double t = 0.5 + (g ? 0.5 : -0.5) / sqrt(3.0), r[3], s[6], sb[3];
        for (int d = 0; d < 3; d++) {
            r[d] = segment.x1[d] + t * dx[d] - centre[d];
        }
        field_at(field, r, s);
        sb[0] = s[0] * segment.burgers[0] + s[5] * segment.burgers[1] + s[4] * segment.burgers[2];
        sb[1] = s[5] * segment.burgers[0] + s[1] * segment.burgers[1] + s[3] * segment.burgers[2];
        sb[2] = s[4] * segment.burgers[0] + s[3] * segment.burgers[1] + s[2] * segment.burgers[2];
        for (int d = 0; d < 3; d++) {
            double f = (sb[(d + 1) % 3] * dx[(d + 2) % 3] - sb[(d + 2) % 3] * dx[(d + 1) % 3]) / 2;
            want[d] += f * (1 - t);
            want[3 + d] += f * t;
        }
    }
    dd_far_force(far, 21, field, &segment, force);
    for (int i = 0; i < 6; i++) {
        assert_true(fabs(force[i] - want[i]) < 1e-12 * largest(want, 6));
    }
    dd_far_free(far);
}

/* The same moments give the same bits, whichever object, in whatever order, and after other moments. */
static void fields_have_the_same_bits_everywhere(void **state)
{
    const double edge[3] = {800, 640, 720};
    dd_far *far[2] = {far_of(&periodic, edge, 5, 6, 7), far_of(&periodic, edge, 5, 6, 7)};
    static double run[205][DD_FAR_FIELD];
    double *moments = moments_of(far[0]), *other = moments_of(far[1]);
    (void)state;

    for (int64_t i = 0; i < dd_far_moments_size(far[0]); i++) {
        moments[i] = uniform(-1, 1);
        other[i] = uniform(-1, 1);
    }
    dd_far_set_moments(far[1], other);
    for (int f = 0; f < 2; f++) {
        dd_far_set_moments(far[f], moments);
    }
    dd_far_stress_run(far[0], 3, 205, run[0]);
    for (int64_t c = 0; c < 210; c++) {
        double field[3][DD_FAR_FIELD];
        dd_far_stress(far[0], c, field[0]);
        dd_far_stress(far[1], 209 - c, field[2]);
        dd_far_stress(far[1], c, field[1]);
        assert_memory_equal(field[0], field[1], sizeof field[0]);
        if (c >= 3 && c < 208) {
            assert_memory_equal(field[0], run[c - 3], sizeof field[0]);
        }
    }
    free(moments);
    free(other);
    dd_far_free(far[0]);
    dd_far_free(far[1]);
}

/* Objects that know the moments of some rows only make the whole field together. */
static void fields_of_rows_add_up(void **state)
{
    const double edge[3] = {800, 640, 720};
    static const int64_t first[] = {0, 7, 8, 19, 30};
    dd_far *whole = far_of(&periodic, edge, 5, 6, 7);
    static double field[210][DD_FAR_FIELD], sum[210][DD_FAR_FIELD], part[210][DD_FAR_FIELD];
    double *moments = moments_of(whole), worst = 0;
    int64_t count[210] = {0};
    (void)state;

    for (int64_t i = 0; i < dd_far_moments_size(whole); i++) {
        moments[i] = uniform(-1, 1);
    }
    dd_far_set_moments(whole, moments);
    dd_far_stress_run(whole, 0, 210, field[0]);
    for (int s = 0; s < 4; s++) {
        const int64_t rows = first[s + 1] - first[s];
        dd_far *far = far_of(&periodic, edge, 5, 6, 7);
        dd_far_set_run(far, 7 * first[s], 7 * rows, moments + 7 * first[s] * DD_FAR_MOMENTS);
        dd_far_stress_rows(far, first[s], rows, 0, 210, part[0]);
        for (int64_t c = 0; c < 210; c++) {
            for (int v = 0; v < DD_FAR_FIELD; v++) {
                sum[c][v] += part[c][v];
            }
            count[c] += dd_far_count_rows(far, c, first[s], rows);
        }
        dd_far_free(far);
    }
    for (int64_t c = 0; c < 210; c++) {
        for (int v = 0; v < DD_FAR_FIELD; v++) {
            worst = fmax(worst, fabs(sum[c][v] - field[c][v]) / largest(field[c] + v / 6 * 6, 6));
        }
        assert_int_equal(count[c], dd_far_count(whole, c));
    }
    assert_true(worst < 1e-12);
    free(moments);
    dd_far_free(whole);
}

static void bad_arguments_are_refused(void **state)
{
    const double low[3] = {0, 0, 0}, edge[3] = {800, 640, 720}, other[3] = {800, 641, 720}, none[3] = {800, 640, 0};
    const int64_t n[3] = {4, 4, 4}, few[3] = {4, 2, 4}, zero[3] = {4, 4, 0}, many[3] = {4, 4, 1000001};
    dd_medium medium = periodic;
    dd_far *far = NULL;
    (void)state;

    assert_int_equal(dd_far_create(&periodic, low, other, n, &far), EQP_ERR_ARGUMENT);
    assert_int_equal(dd_far_create(&periodic, low, none, n, &far), EQP_ERR_ARGUMENT);
    assert_int_equal(dd_far_create(&periodic, low, edge, few, &far), EQP_ERR_ARGUMENT);
    assert_int_equal(dd_far_create(&periodic, low, edge, zero, &far), EQP_ERR_ARGUMENT);
    assert_int_equal(dd_far_create(&periodic, low, edge, many, &far), EQP_ERR_OVERFLOW);
    medium.a = 0;
    assert_int_equal(dd_far_create(&medium, low, edge, n, &far), EQP_ERR_ARGUMENT);
    medium = periodic;
    medium.nu = NAN;
    assert_int_equal(dd_far_create(&medium, low, edge, n, &far), EQP_ERR_ARGUMENT);
    assert_null(far);
    dd_far_free(NULL);
    if (failing_malloc_works) {
        int code;
        for (int64_t i = 0;; i++) {
            failing_malloc_start(i);
            code = dd_far_create(&periodic, low, edge, n, &far);
            if (!failing_malloc_stop()) {
                break;
            }
            assert_int_equal(code, EQP_ERR_MEMORY);
            assert_null(far);
        }
        assert_int_equal(code, EQP_OK);
        dd_far_free(far);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_those_of_a_line_element),
        cmocka_unit_test(loops_in_a_cell_act_with_a_small_error),
        cmocka_unit_test(the_field_of_a_network_is_accurate),
        cmocka_unit_test(every_cell_is_near_or_far),
        cmocka_unit_test(periodic_images_are_the_same),
        cmocka_unit_test(forces_are_the_integral_of_a_linear_stress),
        cmocka_unit_test(fields_have_the_same_bits_everywhere),
        cmocka_unit_test(fields_of_rows_add_up),
        cmocka_unit_test(bad_arguments_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
