/* SPDX-License-Identifier: BSD-3-Clause */
/* How cells act on each other, by wave number of the grid. A kernel is a slim list of derivatives of 1/R, or of these
 * times x, y or z, at every offset between cells that are not near, images included.
 *
 * With all directions periodic 1/R = erfc(beta R)/R + erf(beta R)/R: the first part is added up over offsets, the
 * second over wave numbers of the lattice, and near cells leave -erf(beta R)/R. A component that is odd along a
 * direction gives a sine there, an even one a cosine, so that the kernel is i to the power of its order times a real
 * number, and only offsets that are not negative need a table. x times a derivative has the same parts: its wave is i
 * d/dk of the other's. */
#include "far_inner.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
/* Both parts of Ewald's sum are cut where exp(-square) is 2e-12. */
#define SQUARE 27.0
#define BETA 1.2 /* per width of a cell: the table then reaches about four cells */
#define MOST_DERIVATIVES (2 * DD_FAR_MOST_ORDER + 2)

/* (1/r d/dr)^n of erfc(beta r)/r, or of 1/r for beta 0. */
static void set_radial(double beta, double square, int n, double *f)
{
    const double r = sqrt(square), more = beta > 0.0 ? exp(-beta * beta * square) / (beta * sqrt(PI)) : 0.0;
    double power = 1.0;

    f[0] = erfc(beta * r) / r;
    for (int i = 1; i <= n; i++) {
        power *= 2.0 * beta * beta;
        f[i] = -((2 * i - 1) * fabs(f[i - 1]) + power * more) / square * (i % 2 ? 1.0 : -1.0);
    }
}

/* (1/r d/dr)^n of -erf(beta r)/r, finite at 0: by Boys' function, whose recurrence is stable downwards. */
static void set_near_radial(double beta, double square, int n, double *f)
{
    const double t = beta * beta * square;
    double term = 1.0 / (2 * n + 1), boys = term, factor = -2.0 * beta / sqrt(PI);

    for (int i = 1; term > 1e-17 * boys; i++) {
        term *= 2.0 * t / (2 * n + 2 * i + 1);
        boys += term;
    }
    boys *= exp(-t);
    for (int i = n; i >= 0; i--) {
        f[i] = boys;
        boys = (2.0 * t * boys + exp(-t)) / (2 * i - 1);
    }
    for (int i = 0; i <= n; i++, factor *= -2.0 * beta * beta) {
        f[i] *= factor;
    }
}

/* Slim derivatives of a function of r at a position, from those of its radial part: L. E. McMurchie, E. R. Davidson, J.
 * Comput. Phys. 26 (1978) 218, eq. 4.6. */
static void derive(int order, const double *f, const double x[3], double *slim)
{
    double lower[MOST_DERIVATIVES * MOST_DERIVATIVES];

    slim[0] = f[order];
    for (int level = order - 1; level >= 0; level--) {
        memcpy(lower, slim, (size_t)((order - level) * (order - level)) * sizeof *lower);
        slim[0] = f[level];
        for (int n = 1; n <= order - level; n++) {
            for (int b = 0; b < n; b++) { /* once along z */
                slim[slim_at(n - 1 - b, b, 1)] = x[2] * lower[slim_at(n - 1 - b, b, 0)];
            }
            for (int b = 1; b <= n; b++) {
                slim[slim_at(n - b, b, 0)] =
                    x[1] * lower[slim_at(n - b, b - 1, 0)] + (b > 1 ? (b - 1) * lower[slim_at(n - b, b - 2, 0)] : 0.0);
            }
            slim[slim_at(n, 0, 0)] =
                x[0] * lower[slim_at(n - 1, 0, 0)] + (n > 1 ? (n - 1) * lower[slim_at(n - 2, 0, 0)] : 0.0);
        }
    }
}

static void fill_offset(const dd_far *far, const int64_t offset[3], double *kernels)
{
    const int n = far->kernel_slim;
    const bool near = offset[0] <= 1 && offset[1] <= 1 && offset[2] <= 1;
    double f[MOST_DERIVATIVES], x[3], square = 0.0;

    for (int d = 0; d < 3; d++) {
        x[d] = (double)offset[d] * far->width[d];
        square += x[d] * x[d];
    }
    if (near && far->beta == 0.0) {
        return;
    }
    if (near) {
        set_near_radial(far->beta, square, far->kernel_order, f);
    } else {
        set_radial(far->beta, square, far->kernel_order, f);
    }
    derive(far->kernel_order, f, x, kernels);
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < n; i++) {
            kernels[(1 + d) * n + i] = x[d] * kernels[i];
        }
    }
}

int dd_far_fill(dd_far *far)
{
    int64_t noffsets = 1;
    int code = EQP_OK;

    far->beta = far->whole ? BETA : 0.0;
    for (int d = 0; d < 3; d++) {
        far->reach[d] = far->whole         ? (int64_t)ceil(sqrt(SQUARE) / far->beta / far->width[d])
                        : far->periodic[d] ? (far->n[d] > DD_FAR_IMAGE_CELLS ? far->n[d] : DD_FAR_IMAGE_CELLS)
                                           : far->n[d] - 1;
        code = code == EQP_OK && noffsets > INT64_MAX / 65536 / (far->reach[d] + 1) ? EQP_ERR_OVERFLOW : code;
        noffsets *= code == EQP_OK ? far->reach[d] + 1 : 1;
    }
    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&far->table, noffsets * KERNELS * far->kernel_slim, sizeof *far->table));
    double *at = far->table;
    for (int64_t x = 0; x <= far->reach[0]; x++) {
        for (int64_t y = 0; y <= far->reach[1]; y++) {
            for (int64_t z = 0; z <= far->reach[2]; z++, at += KERNELS * far->kernel_slim) {
                const int64_t offset[3] = {x, y, z};
                fill_offset(far, offset, at);
            }
        }
    }
done:
    return code;
}

/* Components that are odd along x, y and z, [KERNELS][kernel_slim] as bits, and the sign that remains of i's powers. */
static void set_parities(const dd_far *far, unsigned char *odd, signed char *sign)
{
    for (int kernel = 0; kernel < KERNELS; kernel++) {
        for (int x = 0; x <= far->kernel_order; x++) {
            for (int y = 0; x + y <= far->kernel_order; y++) {
                for (int z = 0; z < 2 && x + y + z <= far->kernel_order; z++) {
                    const int at = kernel * far->kernel_slim + slim_at(x, y, z);
                    const int p[3] = {x + (kernel == 1), y + (kernel == 2), z + (kernel == 3)};
                    const int nodd = p[0] % 2 + p[1] % 2 + p[2] % 2;
                    odd[at] = (unsigned char)(p[0] % 2 + 2 * (p[1] % 2) + 4 * (p[2] % 2));
                    /* (-i)^nodd / i^order */
                    sign[at] = (nodd + (p[0] + p[1] + p[2] - nodd) / 2) % 2 ? -1 : 1;
                }
            }
        }
    }
}

/* Adds a layer of offsets, seen by a wave along d, to what is left of it. */
static void add_layer(int n, const unsigned char *odd, int d, int64_t offset, double phase, const double *from,
                      double *to)
{
    const double twice = offset == 0 ? 1.0 : 2.0; /* includes the negative one */
    const double factor[2] = {twice * cos(phase * (double)offset), twice * sin(phase * (double)offset)};

    for (int i = 0; i < n; i++) {
        to[i] += factor[odd[i] >> d & 1] * from[i];
    }
}

/* Term of Ewald's sum over wave numbers at one wave number. */
static void add_wave(const dd_far *far, const double k[3], double factor, double *kernels)
{
    const int n = far->kernel_slim, order = far->kernel_order;
    const double square = k[0] * k[0] + k[1] * k[1] + k[2] * k[2], quarter = 0.25 / (far->beta * far->beta);
    const double on_k = factor * 4.0 * PI * exp(-square * quarter) / square;
    const double on_x = -2.0 * on_k * (1.0 / square + quarter);
    double powers[2][MOST_DERIVATIVES + 1];

    powers[0][0] = powers[1][0] = 1.0;
    for (int i = 1; i <= order; i++) {
        powers[0][i] = k[0] * powers[0][i - 1];
        powers[1][i] = k[1] * powers[1][i - 1];
    }
    for (int total = 0; total <= order; total++) {
        for (int z = 0; z < 2 && z <= total; z++) {
            for (int y = 0; y <= total - z; y++) {
                const int x = total - z - y, at = slim_at(x, y, z);
                const double px = powers[0][x], py = powers[1][y], pz = z > 0 ? k[2] : 1.0, all = px * py * pz;
                kernels[at] += on_k * all;
                kernels[n + at] += on_x * k[0] * all + (x > 0 ? x * on_k * powers[0][x - 1] * py * pz : 0.0);
                kernels[2 * n + at] += on_x * k[1] * all + (y > 0 ? y * on_k * px * powers[1][y - 1] * pz : 0.0);
                kernels[3 * n + at] += on_x * k[2] * all + (z > 0 ? on_k * px * py : 0.0);
            }
        }
    }
}

/* Adds all wave numbers of the lattice that are aliases of this one on the grid. */
static void add_waves(const dd_far *far, const int64_t wave[3], double *kernels)
{
    const double factor = 1.0 / (double)(far->n[0] * far->n[1] * far->n[2]);
    const double most = 4.0 * far->beta * far->beta * SQUARE;
    int64_t most_of[3];

    for (int d = 0; d < 3; d++) {
        most_of[d] = (int64_t)ceil(sqrt(most) * far->width[d] / (2.0 * PI)) + 1;
    }
    for (int64_t x = -most_of[0]; x <= most_of[0]; x++) {
        for (int64_t y = -most_of[1]; y <= most_of[1]; y++) {
            for (int64_t z = -most_of[2]; z <= most_of[2]; z++) {
                const int64_t alias[3] = {x, y, z};
                double k[3], square = 0.0;
                for (int d = 0; d < 3; d++) {
                    k[d] = 2.0 * PI * ((double)wave[d] / (double)far->n[d] + (double)alias[d]) / far->width[d];
                    square += k[d] * k[d];
                }
                if (square > 0.0 && square < most) {
                    add_wave(far, k, factor, kernels);
                }
            }
        }
    }
}

int dd_far_kernel(const dd_far *far, int64_t column, double *kernel)
{
    const int n = KERNELS * far->kernel_slim;
    const int64_t wave_y = column / far->half, wave_z = column % far->half;
    const double norm = 1.0 / (double)(far->m[0] * far->m[1] * far->m[2]);
    double *layers = NULL, *rows;
    unsigned char *odd = NULL;
    signed char *sign = NULL;
    int code = eqp_array_create(&layers, (far->reach[0] + 3) * n, sizeof *layers);

    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&odd, n, sizeof *odd));
    EQP_TRY(eqp_array_create(&sign, n, sizeof *sign));
    set_parities(far, odd, sign);
    rows = layers + (far->reach[0] + 1) * n;
    const double *at = far->table;
    for (int64_t x = 0; x <= far->reach[0]; x++) {
        for (int64_t y = 0; y <= far->reach[1]; y++) {
            memset(rows, 0, (size_t)n * sizeof *rows);
            for (int64_t z = 0; z <= far->reach[2]; z++, at += n) {
                add_layer(n, odd, 2, z, 2.0 * PI * (double)wave_z / (double)far->m[2], at, rows);
            }
            add_layer(n, odd, 1, y, 2.0 * PI * (double)wave_y / (double)far->m[1], rows, layers + x * n);
        }
    }
    memset(kernel, 0, (size_t)far->sizes.nkernel * sizeof *kernel);
    for (int64_t wave_x = 0; wave_x < far->m[0]; wave_x++) {
        const int64_t wave[3] = {wave_x, wave_y, wave_z};
        double *sum = rows, *waves = rows + n;
        memset(sum, 0, 2 * (size_t)n * sizeof *sum);
        for (int64_t x = 0; x <= far->reach[0]; x++) {
            add_layer(n, odd, 0, x, 2.0 * PI * (double)wave_x / (double)far->m[0], layers + x * n, sum);
        }
        if (far->whole) {
            add_waves(far, wave, waves);
        }
        for (int i = 0; i < n; i++) {
            /* Of N cells: the lattice's wave counts N times. */
            kernel[(wave_x / PACK * n + i) * PACK + wave_x % PACK] = norm * sign[i] * sum[i] + waves[i];
        }
    }
done:
    free(layers);
    free(odd);
    free(sign);
    return code;
}
