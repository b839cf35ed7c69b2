/* SPDX-License-Identifier: BSD-3-Clause */
/* The grid, moments of segments, and forces in a field. */
#include "far_inner.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

static int dft_create(int64_t n, dd_dft *dft)
{
    int64_t rest = n;

    dft->n = n;
    for (int64_t f = 4; rest > 1; f = f == 4 ? 2 : (f == 2 ? 3 : f + 2)) {
        for (; rest % f == 0; rest /= f) {
            dft->factor[dft->nfactors++] = (int)f;
        }
    }
    const int code = eqp_array_create(&dft->root, n, sizeof *dft->root);
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        dft->root[i][0] = cos(2.0 * PI * (double)i / (double)n);
        dft->root[i][1] = -sin(2.0 * PI * (double)i / (double)n);
    }
    return code;
}

/* Legendre polynomial of degree n and its derivative. */
static void legendre(int n, double x, double *value, double *slope)
{
    double before = 1.0, p = x;

    for (int k = 2; k <= n; k++) {
        const double next = ((2 * k - 1) * x * p - (k - 1) * before) / k;
        before = p;
        p = next;
    }
    *value = p;
    *slope = n * (x * p - before) / (x * x - 1.0);
}

static void set_points(dd_far *far)
{
    far->npoints = (far->order + 3) / 2; /* exact for what one order more than the expansion has */
    for (int i = 0; i < far->npoints; i++) {
        double x = cos(PI * (i + 0.75) / (far->npoints + 0.5)), value, slope;
        for (int pass = 0; pass < 20; pass++) {
            legendre(far->npoints, x, &value, &slope);
            x -= value / slope;
        }
        legendre(far->npoints, x, &value, &slope);
        far->point[i] = 0.5 * x;
        far->weight[i] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
}

static int set_lists(dd_far *far)
{
    const int p = far->order, nlocal = (p + 2) * (p + 2);
    int(*slim)[3] = NULL;
    int code = eqp_array_create(&slim, nlocal, sizeof *slim);

    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&far->pair, (int64_t)nlocal * far->nslim, sizeof *far->pair));
    EQP_TRY(eqp_array_create(&far->power, full_size(p + 1), sizeof *far->power));
    EQP_TRY(eqp_array_create(&far->up, full_size(p + 1), sizeof *far->up));
    EQP_TRY(eqp_array_create(&far->inverse, full_size(p + 1), sizeof *far->inverse));
    for (int x = 0; x <= p + 1; x++) {
        for (int y = 0; x + y <= p + 1; y++) {
            for (int z = 0; x + y + z <= p + 1; z++) {
                const int power[3] = {x, y, z};
                memcpy(far->power[full_at(x, y, z)], power, sizeof power);
                far->up[full_at(x, y, z)][0] = x > 0   ? full_at(x - 1, y, z)
                                               : y > 0 ? full_at(x, y - 1, z)
                                               : z > 0 ? full_at(x, y, z - 1)
                                                       : 0;
                far->up[full_at(x, y, z)][1] = x > 0 ? 0 : (y > 0 ? 1 : 2);
                far->inverse[full_at(x, y, z)] = 1.0 / (tgamma(x + 1) * tgamma(y + 1) * tgamma(z + 1));
                if (z < 2) {
                    memcpy(slim[slim_at(x, y, z)], power, sizeof power);
                }
            }
        }
    }
    for (int t = 0; t < nlocal; t++) {
        for (int s = 0; s < far->nslim; s++) {
            const int x = slim[t][0] + slim[s][0], y = slim[t][1] + slim[s][1], z = slim[t][2] + slim[s][2];
            far->pair[t * far->nslim + s] = (short)(z < 2 ? slim_at(x, y, z) : far->kernel_slim + third_at(x, y));
        }
    }
done:
    free(slim);
    return code;
}

void dd_far_count(const int64_t n[3], const bool periodic[3], int order, dd_far_sizes *sizes)
{
    const int64_t slim = (order + 1) * (order + 1), kernel = (2 * order + 2) * (2 * order + 2);
    int64_t m[3];

    for (int d = 0; d < 3; d++) {
        m[d] = periodic[d] ? n[d] : 2 * n[d]; /* padding against wrap-around */
    }
    *sizes = (dd_far_sizes){.nraw = (int64_t)POTENTIALS * full_size(order),
                            .nmoments = POTENTIALS * slim,
                            .nlocal = POTENTIALS * slim + 2 * order + 3,
                            .nfield = (int64_t)STRESSES * full_size(order - 1),
                            .nplanes = n[0],
                            .ncells = n[1] * n[2],
                            .ncolumns = m[1] * (m[2] / 2 + 1),
                            .nkernel = (m[0] + PACK - 1) / PACK * PACK * KERNELS * kernel};
}

static void set_sizes(dd_far *far)
{
    const int p = far->order;

    dd_far_count(far->n, far->periodic, p, &far->sizes);
    far->nslim = (p + 1) * (p + 1);
    far->kernel_order = 2 * p + 1;
    far->kernel_slim = (far->kernel_order + 1) * (far->kernel_order + 1);
    far->kernel_all = far->kernel_slim + far->kernel_order * (far->kernel_order - 1) / 2;
    for (int d = 0; d < 3; d++) {
        far->m[d] = far->periodic[d] ? far->n[d] : 2 * far->n[d];
    }
    far->half = far->m[2] / 2 + 1;
    far->packs = (far->m[0] + PACK - 1) / PACK;
}

int dd_far_create(const dd_medium *medium, const double low[3], const double edge[3], const int64_t n[3], int order,
                  dd_far **result)
{
    dd_far *far = NULL;
    int code;

    EQP_CHECK(eqp_array_create(&far, 1, sizeof *far));
    far->medium = *medium;
    far->order = order;
    far->whole = true;
    for (int d = 0; d < 3; d++) {
        far->low[d] = low[d];
        far->n[d] = n[d];
        far->periodic[d] = medium->box[d] > 0;
        far->whole = far->whole && far->periodic[d];
    }
    far->unit = cbrt(edge[0] / (double)n[0] * (edge[1] / (double)n[1]) * (edge[2] / (double)n[2]));
    far->core = medium->a / far->unit;
    for (int d = 0; d < 3; d++) {
        far->width[d] = edge[d] / (double)n[d] / far->unit;
    }
    far->trace = far->whole ? 4.0 * PI / (double)(n[0] * n[1] * n[2]) : 0.0; /* a cell has the volume 1 */
    set_sizes(far);
    set_points(far);
    for (int d = 0; d < 3; d++) {
        EQP_TRY(dft_create(far->m[d], &far->dft[d]));
    }
    EQP_TRY(set_lists(far));
    EQP_TRY(dd_far_fill(far));
done:
    if (code) {
        dd_far_free(far);
        return code;
    }
    *result = far;
    return EQP_OK;
}

void dd_far_free(dd_far *far)
{
    if (far) {
        for (int d = 0; d < 3; d++) {
            free(far->dft[d].root);
        }
        free(far->pair);
        free(far->power);
        free(far->up);
        free(far->inverse);
        free(far->table);
        free(far);
    }
}

const dd_far_sizes *dd_far_sizes_of(const dd_far *far)
{
    return &far->sizes;
}

/* A segment's vector, and its middle relative to the cell's centre, by nearest images. */
INLINE void place_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double dx[3], double middle[3])
{
    const int64_t at[3] = {cell / far->n[2] / far->n[1], cell / far->n[2] % far->n[1], cell % far->n[2]};

    for (int d = 0; d < 3; d++) {
        const double box = far->medium.box[d];
        dx[d] = segment->x2[d] - segment->x1[d];
        if (far->periodic[d]) {
            dx[d] -= box * rint(dx[d] / box);
        }
        middle[d] = segment->x1[d] + 0.5 * dx[d] - far->low[d];
        middle[d] -= ((double)at[d] + 0.5) * far->width[d] * far->unit;
        if (far->periodic[d]) {
            middle[d] -= box * rint(middle[d] / box);
        }
        dx[d] /= far->unit;
        middle[d] /= far->unit;
    }
}

/* Powers of a position, in a full list. */
INLINE void set_powers(const dd_far *far, int order, const double x[3], double *powers)
{
    powers[0] = 1.0;
    for (int i = 1; i < full_size(order); i++) {
        powers[i] = x[far->up[i][1]] * powers[far->up[i][0]];
    }
}

/* The axial vector of a 3 x 3 matrix: e_imk M_mk. */
INLINE double axial(const double M[9], int i)
{
    const int j = (i + 1) % 3, k = (i + 2) % 3;

    return M[3 * j + k] - M[3 * k + j];
}

INLINE void add_segment(const dd_far *far, int64_t cell, const dd_segment *segment, double *raw)
{
    const int n = full_size(far->order);
    double dx[3], middle[3], sum[MOST_FULL] = {0}, sum_g[MOST_FULL] = {0}, M[9];

    place_segment(far, cell, segment, dx, middle);
    for (int c = 0; c < 9; c++) {
        M[c] = segment->burgers[c / 3] * dx[c % 3];
    }
    for (int q = 0; q < far->npoints; q++) {
        double x[3], powers[MOST_FULL], g = 0.0;
        for (int d = 0; d < 3; d++) {
            x[d] = middle[d] + far->point[q] * dx[d];
            g += axial(M, d) * x[d];
        }
        set_powers(far, far->order, x, powers);
        for (int i = 0; i < n; i++) {
            const double part = far->weight[q] * powers[i];
            sum[i] += part;
            sum_g[i] -= g * part;
        }
    }
    for (int c = 0; c < POTENTIALS; c++) {
        const double factor = c < J ? M[c] : 1.0, *from = c < J ? sum : sum_g;
        for (int i = 0; i < n; i++) {
            raw[c * n + i] += factor * from[i];
        }
    }
}

/* The core adds to J: a^2 / 2 times the divergence of G. */
static void add_core(const dd_far *far, int n, double *raw)
{
    const double half = 0.5 * far->core * far->core;

    for (int i = 0; i < full_size(far->order - 1); i++) {
        const int *p = far->power[i];
        for (int d = 0; d < 3; d++) {
            const int j = (d + 1) % 3, k = (d + 2) % 3;
            raw[J * n + full_at(p[0] + (d == 0), p[1] + (d == 1), p[2] + (d == 2))] +=
                half * (raw[(3 * j + k) * n + i] - raw[(3 * k + j) * n + i]);
        }
    }
}

void dd_far_close(const dd_far *far, double *raw, double *moments)
{
    const int n = full_size(far->order);

    for (int i = 0; i < n; i++) {
        const int *p = far->power[i];
        const double factor = (p[0] + p[1] + p[2]) % 2 ? -far->inverse[i] : far->inverse[i];
        for (int c = 0; c < POTENTIALS; c++) {
            raw[c * n + i] *= factor;
        }
    }
    add_core(far, n, raw);
    for (int i = n - 1; i >= 0; i--) {
        const int *p = far->power[i];
        for (int c = 0; c < POTENTIALS; c++) {
            double *of = raw + c * n;
            if (p[2] > 1) { /* twice along z is minus twice along x and along y */
                of[full_at(p[0] + 2, p[1], p[2] - 2)] -= of[i];
                of[full_at(p[0], p[1] + 2, p[2] - 2)] -= of[i];
            } else {
                moments[slim_at(p[0], p[1], p[2]) * POTENTIALS + c] = of[i];
            }
        }
    }
}

/* One potential's Taylor series out of its slim derivatives, `stride` apart. background: of the second derivatives
 * along z [4]: a constant one, and those that grow with x, y, z. */
static void taylor(const dd_far *far, int order, const double *slim, const double *more, const double background[4],
                   double *series)
{
    for (int i = 0; i < full_size(order); i++) {
        const int *p = far->power[i];
        if (p[2] < 2) {
            const int at = slim_at(p[0], p[1], p[2]);
            series[i] = i == 0 ? 0.0 : (at < far->nslim ? slim[at * POTENTIALS] : more[at - far->nslim]);
        } else {
            series[i] = -series[full_at(p[0] + 2, p[1], p[2] - 2)] - series[full_at(p[0], p[1] + 2, p[2] - 2)];
        }
    }
    series[full_at(0, 0, 2)] += background[0];
    if (order > 2) {
        series[full_at(1, 0, 2)] += background[1];
        series[full_at(0, 1, 2)] += background[2];
        series[full_at(0, 0, 3)] += background[3];
    }
    for (int i = 0; i < full_size(order); i++) {
        series[i] *= far->inverse[i];
    }
}

/* Coefficient of a series at an index, differentiated along d. */
static double derived(const double *series, const int p[3], int d)
{
    return (p[d] + 1) * series[full_at(p[0] + (d == 0), p[1] + (d == 1), p[2] + (d == 2))];
}

static double derived_twice(const double *series, const int p[3], int a, int b)
{
    const int q[3] = {p[0] + (a == 0), p[1] + (a == 1), p[2] + (a == 2)};

    return (p[a] + 1) * derived(series, q, b);
}

void dd_far_open(const dd_far *far, const double *local, double *field)
{
    static const int first_of[6] = {0, 1, 2, 1, 2, 0}, second_of[6] = {0, 1, 2, 2, 0, 1};
    const int order = far->order;
    const double *more = local + (int64_t)POTENTIALS * far->nslim;
    const double to_stress = far->medium.mu / (4.0 * PI * far->unit), on_psi = 1.0 / (1.0 - far->medium.nu);
    double phi[9][MOST_FULL], psi[MOST_FULL], G[3][MOST_FULL];
    const double of_psi[4] = {0.0, -axial(local, 0), -axial(local, 1), -axial(local, 2)};

    for (int c = 0; c < 9; c++) {
        /* A potential's value is unused: its slot has the Laplacian of the neutral background. */
        taylor(far, order, local + c, NULL, (double[4]){local[c]}, phi[c]);
    }
    taylor(far, order + 1, local + J, more, of_psi, psi);
    for (int i = 0; i < full_size(order); i++) {
        const int *p = far->power[i];
        for (int d = 0; d < 3; d++) {
            const int j = (d + 1) % 3, k = (d + 2) % 3;
            G[d][i] = phi[3 * j + k][i] - phi[3 * k + j][i];
            psi[full_at(p[0] + (d == 0), p[1] + (d == 1), p[2] + (d == 2))] += G[d][i];
        }
    }
    for (int i = 0; i < full_size(order - 1); i++) {
        const int *p = far->power[i];
        const double divergence = derived(G[0], p, 0) + derived(G[1], p, 1) + derived(G[2], p, 2);
        for (int v = 0; v < 6; v++) {
            const int a = first_of[v], b = second_of[v];
            double s = on_psi * (derived_twice(psi, p, a, b) - (a == b ? 2.0 * divergence : 0.0));
            for (int k = 1; k < 3; k++) { /* e_ima with (i, m, a) or (m, i, a) in order */
                const int ma = (a + k) % 3, ia = (a + 3 - k) % 3, mb = (b + k) % 3, ib = (b + 3 - k) % 3;
                const double sign = k == 2 ? 1.0 : -1.0;
                s += sign * (derived(phi[3 * ma + b], p, ia) + derived(phi[3 * mb + a], p, ib));
            }
            field[i * STRESSES + v] = to_stress * s;
        }
        field[i * STRESSES + 6] = field[i * STRESSES + 7] = 0.0;
    }
}

INLINE void stress_at(const dd_far *far, const double *field, const double x[3], double stress[STRESSES])
{
    double powers[MOST_FULL];
    pack sum = {0};

    set_powers(far, far->order - 1, x, powers);
    for (int i = 0; i < full_size(far->order - 1); i++) {
        pack of;
        memcpy(&of, field + i * STRESSES, sizeof of);
        sum += powers[i] * of;
    }
    memcpy(stress, &sum, sizeof sum);
}

INLINE void force_on(const dd_far *far, int64_t cell, const double *field, const dd_segment *segment, double force[6])
{
    double dx[3], middle[3];

    place_segment(far, cell, segment, dx, middle);
    memset(force, 0, 6 * sizeof *force);
    for (int q = 0; q < far->npoints; q++) {
        const double *b = segment->burgers, t = far->point[q], w = far->weight[q] * far->unit;
        double x[3], s[STRESSES];
        for (int d = 0; d < 3; d++) {
            x[d] = middle[d] + t * dx[d];
        }
        stress_at(far, field, x, s);
        const double sb[3] = {s[0] * b[0] + s[5] * b[1] + s[4] * b[2], s[5] * b[0] + s[1] * b[1] + s[3] * b[2],
                              s[4] * b[0] + s[3] * b[1] + s[2] * b[2]};
        for (int d = 0; d < 3; d++) {
            const int j = (d + 1) % 3, k = (d + 2) % 3;
            const double f = w * (sb[j] * dx[k] - sb[k] * dx[j]);
            force[d] += (0.5 - t) * f;
            force[3 + d] += (0.5 + t) * f;
        }
    }
}

BEST(void dd_far_add_segment, add_segment, (const dd_far *far, int64_t cell, const dd_segment *segment, double *raw),
     (far, cell, segment, raw))
BEST(void dd_far_force, force_on,
     (const dd_far *far, int64_t cell, const double *field, const dd_segment *segment, double force[6]),
     (far, cell, field, segment, force))
