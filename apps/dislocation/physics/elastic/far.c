/* SPDX-License-Identifier: BSD-3-Clause */
/* With T the derivatives of Ra = sqrt(R^2 + a^2), U = T_ijj.. those of its Laplacian, and e the permutation symbol, a
 * line element b_m dx_k causes the stress
 *     s_ab = mu/8pi U_i (e_ima b_m dx_b + e_imb b_m dx_a) + mu/(4pi (1 - nu)) (T_iab - d_ab U_i) e_imk b_m dx_k.
 * So everything is a sum over far cells of kernels T, U (of the offset alone) times weights (of the cell's moments
 * alone), the same 18 products for each of the 6 stresses and their 18 derivatives. */
#include "far.h"

#include <equipoise/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = 8,
    FIRST_ORDER = 3,                 /* of the derivatives T in the table */
    TABLE = 10 + 15 + 21,            /* those of orders 3, 4, 5 */
    KERNELS = TABLE + 3 + 6 + 10,    /* and U of orders 1, 2, 3 */
    WEIGHTS = 6 * 3 + 6 * 6 + 3 + 6, /* on U_i, U_il, T_iab, T_ilab */
    ON_T = 6 * 3 + 6 * 6,            /* where the weights on T begin */
    TERMS = 3 + 6 + 3 + 6            /* products of one component of the field */
};

/* Components of a symmetric tensor. */
static const int first_of[6] = {0, 1, 2, 1, 0, 0}, second_of[6] = {0, 1, 2, 2, 2, 1};

typedef struct term {
    int kernel, weight;
} term;

struct dd_far {
    dd_medium medium;
    double low[3], width[3];
    int64_t n[3], cells;
    bool periodic[3];
    int64_t columns[2];  /* |offsets| along x and y in the table */
    int64_t nz;          /* n[2] rounded up to lanes: cells beyond n[2] have no weight */
    int64_t offsets;     /* along z in the table, from -(n[2] - 1) */
    int power[TABLE][3]; /* of each T: how often by x, y, z */
    term terms[DD_FAR_FIELD][TERMS];
    double *table;  /* [columns][columns][TABLE][offsets] */
    double *weight; /* [n[0]][n[1]][WEIGHTS][nz] */
};

/* The place of a derivative, px, py, pz times by x, y, z, among those of its order: x first. */
static int place_of(const int power[3])
{
    int rest = power[1] + power[2];

    return rest * (rest + 1) / 2 + power[2];
}

static int first_of_order(int order)
{
    /* All derivatives below an order q number q (q + 1) (q + 2) / 6. */
    return (order * (order + 1) * (order + 2) - FIRST_ORDER * (FIRST_ORDER + 1) * (FIRST_ORDER + 2)) / 6;
}

static int kernel_t(const int power[3])
{
    return first_of_order(power[0] + power[1] + power[2]) + place_of(power);
}

static int kernel_u(const int power[3])
{
    static const int first[4] = {0, 0, 3, 9};

    return TABLE + first[power[0] + power[1] + power[2]] + place_of(power);
}

/* One derivative of Ra: over all ways to pair equal directions, d of order q of f(R^2 / 2) is a sum of products of R
 * and f^(q - pairs). */
static double derivative(const int power[3], const double R[3], const double f[6])
{
    /* Ways to choose so many pairs out of so many. */
    static const double ways[6][3] = {{1, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 3, 0}, {1, 6, 3}, {1, 10, 15}};
    int order = power[0] + power[1] + power[2];
    double sum = 0;

    for (int i = 0; 2 * i <= power[0]; i++) {
        for (int j = 0; 2 * j <= power[1]; j++) {
            for (int k = 0; 2 * k <= power[2]; k++) {
                int pairs[3] = {i, j, k};
                double product = f[order - i - j - k];
                for (int d = 0; d < 3; d++) {
                    product *= ways[power[d]][pairs[d]];
                    for (int m = 2 * pairs[d]; m < power[d]; m++) {
                        product *= R[d];
                    }
                }
                sum += product;
            }
        }
    }
    return sum;
}

/* The nearest image of an offset in cells; *half where the one on the other side is as near. */
static int64_t nearest(const dd_far *far, int d, int64_t offset, bool *half)
{
    int64_t n = far->n[d];

    *half = false;
    if (!far->periodic[d]) {
        return offset;
    }
    offset = (offset % n + n) % n;
    *half = 2 * offset == n;
    return 2 * offset > n ? offset - n : offset;
}

static bool is_near(const int64_t offset[3])
{
    return llabs(offset[0]) <= 1 && llabs(offset[1]) <= 1 && llabs(offset[2]) <= 1;
}

/* Derivatives for one offset into table[TABLE], `stride` apart; zeros for a near one. */
static void fill_entry(const dd_far *far, const int64_t cells[3], double *table, int64_t stride)
{
    int64_t offset[3];
    bool half[3];
    double R[3], f[6], Ra = far->medium.a * far->medium.a;

    for (int d = 0; d < 3; d++) {
        offset[d] = nearest(far, d, cells[d], &half[d]);
        R[d] = (double)offset[d] * far->width[d];
        Ra += R[d] * R[d];
    }
    if (is_near(offset)) {
        return;
    }
    f[0] = sqrt(Ra);
    f[1] = 1 / f[0];
    for (int i = 2; i < 6; i++) {
        f[i] = -(2 * i - 3) * f[i - 1] / Ra;
    }
    for (int t = 0; t < TABLE; t++) {
        bool odd = false;
        for (int d = 0; d < 3; d++) {
            odd |= half[d] && far->power[t][d] % 2;
        }
        /* What is odd in a direction cancels between the images on both sides. */
        table[t * stride] = odd ? 0 : derivative(far->power[t], R, f);
    }
}

static double *table_of(const dd_far *far, int64_t x, int64_t y)
{
    return far->table + (x * far->columns[1] + y) * TABLE * far->offsets;
}

static void fill_table(dd_far *far)
{
    for (int64_t x = 0; x < far->columns[0]; x++) {
        for (int64_t y = 0; y < far->columns[1]; y++) {
            for (int64_t z = 1 - far->n[2]; z < far->n[2]; z++) {
                const int64_t cells[3] = {x, y, z};
                fill_entry(far, cells, table_of(far, x, y) + z + far->n[2] - 1, far->offsets);
            }
        }
    }
}

static void list_powers(dd_far *far)
{
    for (int order = FIRST_ORDER; order <= FIRST_ORDER + 2; order++) {
        for (int px = order; px >= 0; px--) {
            for (int py = order - px; py >= 0; py--) {
                const int power[3] = {px, py, order - px - py};
                memcpy(far->power[kernel_t(power)], power, sizeof power);
            }
        }
    }
}

/* Which kernels meet which weights in component v of the stress, differentiated by p (-1: not). */
static void list_terms(term *terms, int v, int p)
{
    for (int on_t = 0; on_t < 2; on_t++) {
        for (int i = 0; i < 3 + 6; i++) {
            int power[3] = {0, 0, 0};
            term *entry = &terms[on_t * (3 + 6) + i];
            power[i < 3 ? i : first_of[i - 3]]++;
            if (i >= 3) {
                power[second_of[i - 3]]++;
            }
            if (p >= 0) {
                power[p]++;
            }
            if (on_t) {
                power[first_of[v]]++;
                power[second_of[v]]++;
                entry->kernel = kernel_t(power);
                entry->weight = ON_T + i;
            } else {
                entry->kernel = kernel_u(power);
                entry->weight = i < 3 ? 3 * v + i : 18 + 6 * v + i - 3;
            }
        }
    }
}

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
    code = create_block(&far->table, far->columns[0], far->columns[1], TABLE * far->offsets);
    if (code == EQP_OK) {
        code = create_block(&far->weight, n[0], n[1], WEIGHTS * far->nz);
    }
    if (code) {
        dd_far_free(far);
        return code;
    }
    far->cells = n[0] * n[1] * n[2];
    list_powers(far);
    for (int v = 0; v < DD_FAR_FIELD; v++) {
        list_terms(far->terms[v], v % 6, v / 6 - 1);
    }
    fill_table(far);
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

static void place_of_cell(const dd_far *far, int64_t cell, int64_t at[3])
{
    at[0] = cell / far->n[2] / far->n[1];
    at[1] = cell / far->n[2] % far->n[1];
    at[2] = cell % far->n[2];
}

/* A segment's vector, and its middle from the cell's centre, each by the nearest image. */
static void place_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double dx[3], double middle[3])
{
    int64_t at[3];

    place_of_cell(far, cell, at);
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

void dd_far_add_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double *moments)
{
    double *moment = moments + cell * DD_FAR_MOMENTS, dx[3], middle[3];

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

static double *weights_of(const dd_far *far, int64_t x, int64_t y)
{
    return far->weight + (x * far->n[1] + y) * WEIGHTS * far->nz;
}

void dd_far_set_moments(dd_far *far, const double *moments)
{
    for (int64_t cell = 0; cell < far->cells; cell++) {
        int64_t at[3];
        place_of_cell(far, cell, at);
        weigh(far, moments + cell * DD_FAR_MOMENTS, weights_of(far, at[0], at[1]) + at[2], far->nz);
    }
}

bool dd_far_is_near(const dd_far *far, int64_t a, int64_t b)
{
    int64_t from[3], to[3], offset[3];

    place_of_cell(far, a, from);
    place_of_cell(far, b, to);
    for (int d = 0; d < 3; d++) {
        bool half;
        offset[d] = nearest(far, d, to[d] - from[d], &half);
    }
    return is_near(offset);
}

int64_t dd_far_count(const dd_far *far, int64_t cell)
{
    int64_t at[3], near = 1;

    place_of_cell(far, cell, at);
    for (int d = 0; d < 3; d++) {
        bool low = far->periodic[d] || at[d] > 0, high = far->periodic[d] || at[d] < far->n[d] - 1;
        near *= 1 + low + high;
    }
    return far->cells - near;
}

/* Kernels for some lanes out of the table: the sign of an offset along x or y is that of odd derivatives. */
static void load_kernels(const dd_far *far, const double *table, const double *sign, double kernel[KERNELS][LANES])
{
    static const int squares[3][3] = {{2, 0, 0}, {0, 2, 0}, {0, 0, 2}};

    for (int t = 0; t < TABLE; t++) {
        for (int i = 0; i < LANES; i++) {
            kernel[t][i] = sign[t] * table[t * far->offsets + i];
        }
    }
    for (int order = 1, u = TABLE; order <= 3; order++) {
        for (int t = 0; t < (order + 1) * (order + 2) / 2; t++, u++) {
            /* The same enumeration as that of T: undo place_of(). */
            int rest = t < 1 ? 0 : t < 3 ? 1 : t < 6 ? 2 : 3, pz = t - rest * (rest + 1) / 2;
            const double *from[3];
            for (int d = 0; d < 3; d++) {
                const int power[3] = {order - rest + squares[d][0], rest - pz + squares[d][1], pz + squares[d][2]};
                from[d] = kernel[kernel_t(power)];
            }
            for (int i = 0; i < LANES; i++) {
                kernel[u][i] = from[0][i] + from[1][i] + from[2][i];
            }
        }
    }
}

static void add_lanes(const dd_far *far, const double kernel[KERNELS][LANES], const double *weight,
                      double sum[DD_FAR_FIELD][LANES])
{
    for (int v = 0; v < DD_FAR_FIELD; v++) {
        double lanes[LANES] = {0};
        for (int t = 0; t < TERMS; t++) {
            const double *k = kernel[far->terms[v][t].kernel], *w = weight + far->terms[v][t].weight * far->nz;
            for (int i = 0; i < LANES; i++) {
                lanes[i] += k[i] * w[i];
            }
        }
        for (int i = 0; i < LANES; i++) {
            sum[v][i] += lanes[i];
        }
    }
}

void dd_far_stress(const dd_far *far, int64_t cell, double field[DD_FAR_FIELD])
{
    double sum[DD_FAR_FIELD][LANES] = {{0}}, kernel[KERNELS][LANES], sign[TABLE];
    int64_t at[3];

    place_of_cell(far, cell, at);
    for (int64_t x = 0; x < far->n[0]; x++) {
        for (int64_t y = 0; y < far->n[1]; y++) {
            bool half;
            /* From the source to the target. */
            int64_t dx = nearest(far, 0, at[0] - x, &half), dy = nearest(far, 1, at[1] - y, &half);
            const double *table = table_of(far, llabs(dx), llabs(dy)) + far->n[2] - 1 - at[2];
            const double *weight = weights_of(far, x, y);
            for (int t = 0; t < TABLE; t++) {
                bool odd = (dx < 0 && far->power[t][0] % 2) != (dy < 0 && far->power[t][1] % 2);
                /* The table runs along z from the target to the source. */
                sign[t] = odd != (far->power[t][2] % 2 == 1) ? -1 : 1;
            }
            for (int64_t z = 0; z < far->n[2]; z += LANES) {
                load_kernels(far, table + z, sign, kernel);
                add_lanes(far, (const double(*)[LANES])kernel, weight + z, sum);
            }
        }
    }
    for (int v = 0; v < DD_FAR_FIELD; v++) {
        field[v] = 0;
        for (int i = 0; i < LANES; i++) {
            field[v] += sum[v][i];
        }
    }
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
