/* SPDX-License-Identifier: BSD-3-Clause */
/* Grid, moments, and forces in a field. */
#include "far_table.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>

/* Components of a symmetric tensor. */
static const int first_of[6] = {0, 1, 2, 1, 0, 0}, second_of[6] = {0, 1, 2, 2, 2, 1};

static int check(const dd_medium *medium, const double low[3], const double edge[3], const int64_t n[3])
{
    if (!(medium->mu > 0 && medium->nu > -1 && medium->nu < 0.5 && medium->a > 0) || !isfinite(medium->mu) ||
        !isfinite(medium->a)) {
        return EQP_ERR_ARGUMENT;
    }
    for (int d = 0; d < 3; d++) {
        if (!isfinite(low[d]) || !isfinite(edge[d]) || !(edge[d] > 0) || n[d] < 1 || !(medium->box[d] >= 0)) {
            return EQP_ERR_ARGUMENT;
        }
        if (medium->box[d] > 0 && (n[d] < 3 || fabs(medium->box[d] - edge[d]) > 1e-9 * edge[d])) {
            return EQP_ERR_ARGUMENT;
        }
    }
    for (int d = 0; d < 3; d++) {
        /* Beyond this the tables would not fit anyway; below it no product of two counts overflows. */
        if (n[d] > 1000000) {
            return EQP_ERR_OVERFLOW;
        }
    }
    return EQP_OK;
}

/* An array of a x b x c doubles. */
static int create_block(double **array, int64_t a, int64_t b, int64_t c)
{
    size_t bytes;
    int code = eqp_array_bytes(a * b, sizeof **array, &bytes);

    if (code == EQP_OK && a * b > INT64_MAX / c) {
        code = EQP_ERR_OVERFLOW;
    }
    return code ? code : eqp_array_create(array, a * b * c, sizeof **array);
}

int dd_far_create(const dd_medium *medium, const double low[3], const double edge[3], const int64_t n[3],
                  dd_far **result)
{
    dd_far *far = NULL;
    int code = check(medium, low, edge, n);

    if (code == EQP_OK) {
        code = eqp_array_create(&far, 1, sizeof *far);
    }
    if (code) {
        return code;
    }
    far->medium = *medium;
    for (int d = 0; d < 3; d++) {
        far->low[d] = low[d];
        far->n[d] = n[d];
        far->width[d] = edge[d] / (double)n[d];
        far->periodic[d] = medium->box[d] > 0;
    }
    for (int d = 0; d < 2; d++) {
        far->columns[d] = far->periodic[d] ? n[d] / 2 + 1 : n[d];
    }
    far->nz = (n[2] + LANES - 1) / LANES * LANES;
    far->offsets = n[2] - 1 + far->nz;
    EQP_TRY(create_block(&far->table, far->columns[0], far->columns[1], TABLE * far->offsets));
    EQP_TRY(create_block(&far->weight, n[0], n[1], WEIGHTS * far->nz));
done:
    if (code) {
        dd_far_free(far);
        return code;
    }
    far->cells = n[0] * n[1] * n[2];
    dd_far_fill(far);
    *result = far;
    return EQP_OK;
}

void dd_far_free(dd_far *far)
{
    if (far) {
        free(far->table);
        free(far->weight);
        free(far);
    }
}

int64_t dd_far_moments_size(const dd_far *far)
{
    return far->cells * DD_FAR_MOMENTS;
}

/* A segment's vector, and its middle from the cell's centre, each by the nearest image. */
static void place_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double dx[3], double middle[3])
{
    int64_t at[3];

    dd_far_place(far, cell, at);
    for (int d = 0; d < 3; d++) {
        double box = far->medium.box[d];
        dx[d] = segment->x2[d] - segment->x1[d];
        if (far->periodic[d]) {
            dx[d] -= box * rint(dx[d] / box);
        }
        middle[d] = segment->x1[d] + 0.5 * dx[d] - (far->low[d] + ((double)at[d] + 0.5) * far->width[d]);
        if (far->periodic[d]) {
            middle[d] -= box * rint(middle[d] / box);
        }
    }
}

void dd_far_add_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double moment[DD_FAR_MOMENTS])
{
    double dx[3], middle[3];

    place_segment(far, cell, segment, dx, middle);
    for (int m = 0; m < 3; m++) {
        for (int k = 0; k < 3; k++) {
            double product = segment->burgers[m] * dx[k];
            moment[3 * m + k] += product;
            for (int l = 0; l < 3; l++) {
                moment[9 + 9 * m + 3 * k + l] += product * middle[l];
            }
        }
    }
}

/* e_imk M_mk of a 3 x 3 moment. */
static double curl(const double M[3][3], int i)
{
    int j = (i + 1) % 3, k = (i + 2) % 3;

    return M[j][k] - M[k][j];
}

/* e_ima M_mb. */
static double cross(const double M[3][3], int i, int a, int b)
{
    int m = 3 - i - a;

    return i == a ? 0 : (m == (i + 1) % 3 ? M[m][b] : -M[m][b]);
}

/* What multiplies U_i in component v of the stress, and T_iab in any, for one moment. */
static double weight_on_u(const dd_far *far, const double M[3][3], int v, int i)
{
    const double c1 = far->medium.mu / (8 * acos(-1)), c2 = 2 * c1 / (1 - far->medium.nu);
    int a = first_of[v], b = second_of[v];

    return c1 * (cross(M, i, a, b) + cross(M, i, b, a)) - (a == b ? c2 * curl(M, i) : 0);
}

static double weight_on_t(const dd_far *far, const double M[3][3], int i)
{
    return far->medium.mu / (4 * acos(-1) * (1 - far->medium.nu)) * curl(M, i);
}

/* The weights of a cell, `stride` apart. The source at centre + r acts from the offset R - r: hence the sign of the
 * first moments. */
static void weigh(const dd_far *far, const double *moment, double *weight, int64_t stride)
{
    double M[4][3][3]; /* the moment, and those with r_l */

    for (int m = 0; m < 3; m++) {
        for (int k = 0; k < 3; k++) {
            M[3][m][k] = moment[3 * m + k];
            for (int l = 0; l < 3; l++) {
                M[l][m][k] = -moment[9 + 9 * m + 3 * k + l];
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        for (int v = 0; v < 6; v++) {
            weight[(3 * v + i) * stride] = weight_on_u(far, M[3], v, i);
        }
        weight[(ON_T + i) * stride] = weight_on_t(far, M[3], i);
    }
    for (int il = 0; il < 6; il++) {
        int i = first_of[il], l = second_of[il];
        for (int v = 0; v < 6; v++) {
            weight[(18 + 6 * v + il) * stride] =
                weight_on_u(far, M[l], v, i) + (i == l ? 0 : weight_on_u(far, M[i], v, l));
        }
        weight[(ON_T + 3 + il) * stride] = weight_on_t(far, M[l], i) + (i == l ? 0 : weight_on_t(far, M[i], l));
    }
}

void dd_far_set_run(dd_far *far, int64_t cell, int64_t count, const double *moments)
{
    for (int64_t c = 0; c < count; c++) {
        int64_t at[3];
        dd_far_place(far, cell + c, at);
        weigh(far, moments + c * DD_FAR_MOMENTS, dd_far_weights(far, at[0], at[1]) + at[2], far->nz);
    }
}

void dd_far_set_moments(dd_far *far, const double *moments)
{
    dd_far_set_run(far, 0, far->cells, moments);
}

bool dd_far_is_near(const dd_far *far, int64_t a, int64_t b)
{
    int64_t from[3], to[3], offset[3];

    dd_far_place(far, a, from);
    dd_far_place(far, b, to);
    for (int d = 0; d < 3; d++) {
        bool half;
        offset[d] = dd_far_nearest(far, d, to[d] - from[d], &half);
    }
    return dd_far_touch(offset);
}

int64_t dd_far_count(const dd_far *far, int64_t cell)
{
    int64_t at[3], near = 1;

    dd_far_place(far, cell, at);
    for (int d = 0; d < 3; d++) {
        bool low = far->periodic[d] || at[d] > 0, high = far->periodic[d] || at[d] < far->n[d] - 1;
        near *= 1 + low + high;
    }
    return far->cells - near;
}

int64_t dd_far_count_rows(const dd_far *far, int64_t cell, int64_t row, int64_t nrows)
{
    int64_t at[3], near[3][3], count = nrows * far->n[2];
    int nnear[3] = {0, 0, 0};

    dd_far_place(far, cell, at);
    for (int d = 0; d < 3; d++) {
        for (int64_t to = at[d] - 1; to <= at[d] + 1; to++) {
            if (far->periodic[d] || (to >= 0 && to < far->n[d])) {
                near[d][nnear[d]++] = (to + far->n[d]) % far->n[d];
            }
        }
    }
    for (int x = 0; x < nnear[0]; x++) {
        for (int y = 0; y < nnear[1]; y++) {
            const int64_t there = near[0][x] * far->n[1] + near[1][y];
            count -= there >= row && there < row + nrows ? nnear[2] : 0;
        }
    }
    return count;
}

/* (s.b) x dx at a place from the cell's centre. */
static void peach_koehler(const double field[DD_FAR_FIELD], const double x[3], const double b[3], const double dx[3],
                          double force[3])
{
    double s[6], t[3];

    for (int v = 0; v < 6; v++) {
        s[v] = field[v] + field[6 + v] * x[0] + field[12 + v] * x[1] + field[18 + v] * x[2];
    }
    t[0] = s[0] * b[0] + s[5] * b[1] + s[4] * b[2];
    t[1] = s[5] * b[0] + s[1] * b[1] + s[3] * b[2];
    t[2] = s[4] * b[0] + s[3] * b[1] + s[2] * b[2];
    force[0] = t[1] * dx[2] - t[2] * dx[1];
    force[1] = t[2] * dx[0] - t[0] * dx[2];
    force[2] = t[0] * dx[1] - t[1] * dx[0];
}

void dd_far_force(const dd_far *far, int64_t cell, const double field[DD_FAR_FIELD], const dd_segment *segment,
                  double force[6])
{
    double dx[3], middle[3], x1[3], x2[3], at1[3], at2[3];

    place_segment(far, cell, segment, dx, middle);
    for (int d = 0; d < 3; d++) {
        x1[d] = middle[d] - 0.5 * dx[d];
        x2[d] = middle[d] + 0.5 * dx[d];
    }
    peach_koehler(field, x1, segment->burgers, dx, at1);
    peach_koehler(field, x2, segment->burgers, dx, at2);
    for (int d = 0; d < 3; d++) {
        force[d] = at1[d] / 3 + at2[d] / 6;
        force[3 + d] = at1[d] / 6 + at2[d] / 3;
    }
}
