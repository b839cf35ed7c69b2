/* SPDX-License-Identifier: BSD-3-Clause */
/* Transforms of planes and columns, and the product with the kernels. Lanes never mix and no operation is fused, so
 * that every instruction set gives the same bits. */
#include "far_inner.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

enum { LANES = 2 }; /* packs of components that are transformed at a time */

/* A complex number for each of several components. */
typedef struct item {
    pack re[LANES], im[LANES];
} item;

INLINE void add_turned(item *to, const item *a, double re, double im)
{
    for (int l = 0; l < LANES; l++) {
        to->re[l] += a->re[l] * re - a->im[l] * im;
        to->im[l] += a->re[l] * im + a->im[l] * re;
    }
}

INLINE item turned(const item *a, double re, double im)
{
    item to;

    for (int l = 0; l < LANES; l++) {
        to.re[l] = a->re[l] * re - a->im[l] * im;
        to.im[l] = a->re[l] * im + a->im[l] * re;
    }
    return to;
}

INLINE void sum_and_difference(const item *a, const item *b, item *sum, item *difference)
{
    for (int l = 0; l < LANES; l++) {
        const pack are = a->re[l], aim = a->im[l], bre = b->re[l], bim = b->im[l];
        sum->re[l] = are + bre;
        sum->im[l] = aim + bim;
        difference->re[l] = are - bre;
        difference->im[l] = aim - bim;
    }
}

/* a + i s b and a - i s b. */
INLINE void sum_and_difference_i(const item *a, const item *b, double s, item *sum, item *difference)
{
    for (int l = 0; l < LANES; l++) {
        const pack are = a->re[l], aim = a->im[l], bre = s * b->re[l], bim = s * b->im[l];
        sum->re[l] = are - bim;
        sum->im[l] = aim + bre;
        difference->re[l] = are + bim;
        difference->im[l] = aim - bre;
    }
}

/* Transforms r items, `apart` from each other, into out[r], followed by room for r more. sign: -1 back. */
INLINE void butterfly(const dd_dft *dft, int r, double sign, const item *in, int64_t apart, item *out)
{
    if (r == 2) {
        sum_and_difference(in, in + apart, &out[0], &out[1]);
    } else if (r == 4) {
        item even[2], odd[2];
        sum_and_difference(in, in + 2 * apart, &even[0], &even[1]);
        sum_and_difference(in + apart, in + 3 * apart, &odd[0], &odd[1]);
        sum_and_difference(&even[0], &odd[0], &out[0], &out[2]);
        sum_and_difference_i(&even[1], &odd[1], -sign, &out[1], &out[3]);
    } else {
        const int64_t step = dft->n / r;
        item *sum = out + r - 1, *difference = sum + r / 2; /* from 1 on */
        out[0] = in[0];
        for (int k = 1; 2 * k < r; k++) {
            sum_and_difference(in + k * apart, in + (r - k) * apart, &sum[k], &difference[k]);
            add_turned(&out[0], &sum[k], 1.0, 0.0);
        }
        for (int j = 1; 2 * j < r; j++) {
            item even = in[0], odd = {{{0}}, {{0}}};
            for (int k = 1; 2 * k < r; k++) {
                const double *root = dft->root[(int64_t)j * k % r * step];
                for (int l = 0; l < LANES; l++) {
                    even.re[l] += root[0] * sum[k].re[l];
                    even.im[l] += root[0] * sum[k].im[l];
                    odd.re[l] += root[1] * difference[k].re[l];
                    odd.im[l] += root[1] * difference[k].im[l];
                }
            }
            sum_and_difference_i(&even, &odd, sign, &out[j], &out[r - j]);
        }
    }
}

static int64_t scratch_of(const dd_dft *dft)
{
    int largest = 0;

    for (int f = 0; f < dft->nfactors; f++) {
        largest = dft->factor[f] > largest ? dft->factor[f] : largest;
    }
    return dft->n + 2 * (int64_t)largest;
}

/* In-place transform in Stockham's order of stages. sign: 1 forward, -1 back. scratch: [scratch_of()]. */
INLINE void transform(const dd_dft *dft, double sign, item *line, item *scratch)
{
    item *from = line, *to = scratch, *out = scratch + dft->n;
    int64_t rest = dft->n, done = 1;

    for (int f = 0; f < dft->nfactors; f++) {
        const int r = dft->factor[f];
        const int64_t m = rest / r;
        for (int64_t p = 0; p < m; p++) {
            for (int64_t q = 0; q < done; q++) {
                butterfly(dft, r, sign, from + q + done * p, done * m, out);
                for (int j = 0; j < r; j++) {
                    const double *root = dft->root[p * j * done % dft->n];
                    to[q + done * (r * p + j)] = p * j == 0 ? out[j] : turned(&out[j], root[0], sign * root[1]);
                }
            }
        }
        rest = m;
        done *= r;
        item *swap = from;
        from = to;
        to = swap;
    }
    if (from != line) {
        memcpy(line, from, (size_t)dft->n * sizeof *line);
    }
}

/* Moves the components from c on, of n, into an item, and back. NULL: zeros. */
INLINE void load(const double *re, const double *im, int64_t n, int64_t c, item *to)
{
    const int64_t some = n - c < LANES * PACK ? n - c : LANES * PACK;

    *to = (item){{{0}}, {{0}}};
    if (re != NULL) {
        memcpy(to->re, re + c, (size_t)some * sizeof *re);
    }
    if (im != NULL) {
        memcpy(to->im, im + c, (size_t)some * sizeof *im);
    }
}

INLINE void store(const item *from, int64_t n, int64_t c, double *re, double *im)
{
    const int64_t some = n - c < LANES * PACK ? n - c : LANES * PACK;

    memcpy(re + c, from->re, (size_t)some * sizeof *re);
    if (im != NULL) {
        memcpy(im + c, from->im, (size_t)some * sizeof *im);
    }
}

INLINE void forward_some(const dd_far *far, int64_t n, int64_t c, const double *cells, item *plane, item *line,
                         item *scratch, double *columns)
{
    const int64_t ny = far->n[1], nz = far->n[2], my = far->m[1], mz = far->m[2], half = far->half;

    for (int64_t y = 0; y < ny; y++) {
        for (int64_t z = 0; z < mz; z++) {
            load(z < nz ? cells + (y * nz + z) * n : NULL, NULL, n, c, &line[z]);
        }
        transform(&far->dft[2], 1.0, line, scratch);
        memcpy(plane + y * half, line, (size_t)half * sizeof *plane);
    }
    for (int64_t z = 0; z < half; z++) {
        for (int64_t y = 0; y < my; y++) {
            line[y] = y < ny ? plane[y * half + z] : (item){{{0}}, {{0}}};
        }
        transform(&far->dft[1], 1.0, line, scratch);
        for (int64_t y = 0; y < my; y++) {
            double *to = columns + (y * half + z) * 2 * n;
            store(&line[y], n, c, to, to + n);
        }
    }
}

INLINE void inverse_some(const dd_far *far, int64_t n, int64_t c, const double *columns, item *plane, item *line,
                         item *scratch, double *cells)
{
    const int64_t ny = far->n[1], nz = far->n[2], my = far->m[1], mz = far->m[2], half = far->half;

    for (int64_t z = 0; z < half; z++) {
        for (int64_t y = 0; y < my; y++) {
            const double *from = columns + (y * half + z) * 2 * n;
            load(from, from + n, n, c, &line[y]);
        }
        transform(&far->dft[1], -1.0, line, scratch);
        for (int64_t y = 0; y < ny; y++) {
            plane[y * half + z] = line[y];
        }
    }
    for (int64_t y = 0; y < ny; y++) {
        for (int64_t z = 0; z < mz; z++) { /* real input has conjugate waves on the other side */
            const item *from = &plane[y * half + (z < half ? z : mz - z)];
            line[z] = *from;
            for (int l = 0; l < LANES && z >= half; l++) {
                line[z].im[l] = -from->im[l];
            }
        }
        transform(&far->dft[2], -1.0, line, scratch);
        for (int64_t z = 0; z < nz; z++) {
            store(&line[z], n, c, cells + (y * nz + z) * n, NULL);
        }
    }
}

/* A complex number for each of PACK wave numbers. */
typedef struct wave {
    pack re, im;
} wave;

INLINE wave times_i(wave a, int power)
{
    switch (power % 4) {
    case 1:
        return (wave){-a.im, a.re};
    case 2:
        return (wave){-a.re, -a.im};
    case 3:
        return (wave){a.im, -a.re};
    default:
        return a;
    }
}

/* A kernel's derivatives twice along z, from its derivatives along x and y. */
INLINE void complete_kernel(const dd_far *far, const pack *slim, pack *all)
{
    memcpy(all, slim, (size_t)far->kernel_slim * sizeof *all);
    for (int n = 0; n <= far->kernel_order - 2; n++) {
        for (int y = 0; y <= n; y++) {
            all[far->kernel_slim + third_at(n - y, y)] =
                -slim[slim_at(n - y + 2, y, 0)] - slim[slim_at(n - y, y + 2, 0)];
        }
    }
}

/* Adds the neutral background to them, at wave number 0. */
INLINE void add_background(const dd_far *far, pack *kernels)
{
    double *at = (double *)(void *)kernels;

    at[(far->kernel_slim + third_at(0, 0)) * PACK] -= far->trace;
    at[(far->kernel_all + far->kernel_slim + third_at(1, 0)) * PACK] -= far->trace;
    at[(2 * far->kernel_all + far->kernel_slim + third_at(0, 1)) * PACK] -= far->trace;
}

/* Moments times kernels: for one derivative of all potentials, or of J alone. g: [nslim][3] axial vectors. */
INLINE void multiply(const dd_far *far, const pack *kernels, const short *pair, int first, const wave *in,
                     const wave *g, wave out[POTENTIALS])
{
    wave sum[POTENTIALS] = {{{0}, {0}}}, through = {{0}, {0}};

    for (int s = 0; s < far->nslim; s++) {
        const pack k = kernels[pair[s]];
        const wave *of = in + s * POTENTIALS;
        for (int c = first; c < POTENTIALS; c++) {
            sum[c].re += k * of[c].re;
            sum[c].im += k * of[c].im;
        }
    }
    for (int d = 0; d < 3; d++) {
        const pack *of = kernels + (1 + d) * far->kernel_all;
        for (int s = 0; s < far->nslim; s++) {
            through.re += of[pair[s]] * g[3 * s + d].re;
            through.im += of[pair[s]] * g[3 * s + d].im;
        }
    }
    through = times_i(through, 1);
    sum[J].re += through.re;
    sum[J].im += through.im;
    memcpy(out, sum, sizeof sum);
}

/* Local expansions of PACK wave numbers. in, g: moments times i to the power of their order. zero: the first one is
 * wave number 0. */
INLINE void solve_pack(const dd_far *far, const pack *kernel, bool zero, const wave *in, const wave *g, pack *kernels,
                       wave *out)
{
    const int nlocal = (far->order + 2) * (far->order + 2);
    int order = 0;

    for (int k = 0; k < KERNELS; k++) {
        complete_kernel(far, kernel + k * far->kernel_slim, kernels + k * far->kernel_all);
    }
    if (zero) {
        add_background(far, kernels);
    }
    for (int t = 0; t < nlocal; t++) {
        const int first = t < far->nslim ? 0 : J;
        wave sum[POTENTIALS];
        order += (order + 1) * (order + 1) <= t;
        multiply(far, kernels, far->pair + t * far->nslim, first, in, g, sum);
        for (int c = first; c < POTENTIALS; c++) {
            out[first == 0 ? t * POTENTIALS + c : far->nslim * (POTENTIALS - 1) + t] = times_i(sum[c], order);
        }
    }
    memset(out, 0, POTENTIALS * sizeof *out); /* no stress depends on a potential's value: see dd_far_open() */
    for (int c = 0; c < J && zero; c++) {
        out[c].re[0] = far->trace * in[c].re[0];
    }
}

typedef struct column {
    item *line, *scratch;
    wave *in, *out; /* [packs][components] */
    wave *g;        /* [nslim][3] */
    pack *kernels;  /* [KERNELS][kernel_all] */
} column;

INLINE void gather(const dd_far *far, int64_t column_at, const dd_far_run *run, column *c)
{
    for (int64_t i = 0; i < run->n; i += LANES * PACK) {
        for (int64_t x = 0; x < far->m[0]; x++) {
            const double *from = x < far->n[0] ? run->at[x] + column_at * 2 * run->n : NULL;
            load(from, from == NULL ? NULL : from + run->n, run->n, i, &c->line[x]);
        }
        transform(&far->dft[0], 1.0, c->line, c->scratch);
        for (int64_t x = 0; x < far->m[0]; x++) {
            const double *re = (const double *)c->line[x].re, *im = (const double *)c->line[x].im;
            for (int64_t l = 0; l < LANES * PACK && i + l < run->n; l++) {
                wave *to = &c->in[x / PACK * far->sizes.nmoments + run->first + i + l];
                to->re[x % PACK] = re[l];
                to->im[x % PACK] = im[l];
            }
        }
    }
}

INLINE void scatter(const dd_far *far, int64_t column_at, const dd_far_run *run, column *c)
{
    for (int64_t i = 0; i < run->n; i += LANES * PACK) {
        for (int64_t x = 0; x < far->m[0]; x++) {
            double *re = (double *)c->line[x].re, *im = (double *)c->line[x].im;
            for (int64_t l = 0; l < LANES * PACK && i + l < run->n; l++) {
                const wave *from = &c->out[x / PACK * far->sizes.nlocal + run->first + i + l];
                re[l] = from->re[x % PACK];
                im[l] = from->im[x % PACK];
            }
        }
        transform(&far->dft[0], -1.0, c->line, c->scratch);
        for (int64_t x = 0; x < far->n[0]; x++) {
            double *to = run->at[x] + column_at * 2 * run->n;
            store(&c->line[x], run->n, i, to, to + run->n);
        }
    }
}

/* Moments times i to the power of their order, and their axial vectors. */
INLINE void turn_moments(const dd_far *far, wave *in, wave *g)
{
    int order = 0;

    for (int s = 0; s < far->nslim; s++) {
        order += (order + 1) * (order + 1) <= s;
        for (int c = 0; c < POTENTIALS; c++) {
            in[s * POTENTIALS + c] = times_i(in[s * POTENTIALS + c], order);
        }
        for (int d = 0; d < 3; d++) {
            const wave *a = &in[s * POTENTIALS + 3 * ((d + 1) % 3) + (d + 2) % 3];
            const wave *b = &in[s * POTENTIALS + 3 * ((d + 2) % 3) + (d + 1) % 3];
            g[3 * s + d] = (wave){a->re - b->re, a->im - b->im};
        }
    }
}

INLINE void solve_column(const dd_far *far, bool zero, const double *kernel, column *c)
{
    for (int64_t p = 0; p < far->packs; p++) {
        wave *in = c->in + p * far->sizes.nmoments;
        turn_moments(far, in, c->g);
        solve_pack(far, (const pack *)(const void *)kernel + p * KERNELS * far->kernel_slim, zero && p == 0, in, c->g,
                   c->kernels, c->out + p * far->sizes.nlocal);
    }
}

INLINE void solve_all(const dd_far *far, bool zero, int64_t place, const double *kernel, int64_t nin,
                      const dd_far_run *in, int64_t nout, const dd_far_run *out, column *c)
{
    for (int64_t r = 0; r < nin; r++) {
        gather(far, place, &in[r], c);
    }
    solve_column(far, zero, kernel, c);
    for (int64_t r = 0; r < nout; r++) {
        scatter(far, place, &out[r], c);
    }
}

typedef void plane_function(const dd_far *far, int64_t n, int64_t c, const double *from, item *plane, item *line,
                            item *scratch, double *to);

BEST(static void forward, forward_some,
     (const dd_far *far, int64_t n, int64_t c, const double *from, item *plane, item *line, item *scratch, double *to),
     (far, n, c, from, plane, line, scratch, to))
BEST(static void inverse, inverse_some,
     (const dd_far *far, int64_t n, int64_t c, const double *from, item *plane, item *line, item *scratch, double *to),
     (far, n, c, from, plane, line, scratch, to))
BEST(static void solve, solve_all,
     (const dd_far *far, bool zero, int64_t place, const double *kernel, int64_t nin, const dd_far_run *in,
      int64_t nout, const dd_far_run *out, column *c),
     (far, zero, place, kernel, nin, in, nout, out, c))

/* Transforms a plane forward or back, some components at a time. */
static int transform_plane(const dd_far *far, plane_function *function, int64_t n, const double *from, double *to)
{
    const int64_t longest = far->m[1] > far->m[2] ? far->m[1] : far->m[2], size = far->m[1] * far->half;
    const int64_t y = scratch_of(&far->dft[1]), z = scratch_of(&far->dft[2]);
    item *plane = NULL;
    const int code = eqp_array_create(&plane, size + longest + (y > z ? y : z), sizeof *plane);

    for (int64_t c = 0; c < n && code == EQP_OK; c += LANES * PACK) {
        function(far, n, c, from, plane, plane + size, plane + size + longest, to);
    }
    free(plane);
    return code;
}

int dd_far_plane_forward(const dd_far *far, int64_t n, const double *cells, double *columns)
{
    return transform_plane(far, forward, n, cells, columns);
}

int dd_far_plane_inverse(const dd_far *far, int64_t n, const double *columns, double *cells)
{
    return transform_plane(far, inverse, n, columns, cells);
}

int dd_far_column(const dd_far *far, int64_t wave_number, int64_t place, const double *kernel, int64_t nin,
                  const dd_far_run *in, int64_t nout, const dd_far_run *out)
{
    column c = {.line = NULL};
    int code;

    EQP_TRY(eqp_array_create(&c.line, far->m[0], sizeof *c.line));
    EQP_TRY(eqp_array_create(&c.scratch, scratch_of(&far->dft[0]), sizeof *c.scratch));
    EQP_TRY(eqp_array_create(&c.in, far->packs * far->sizes.nmoments, sizeof *c.in));
    EQP_TRY(eqp_array_create(&c.out, far->packs * far->sizes.nlocal, sizeof *c.out));
    EQP_TRY(eqp_array_create(&c.g, 3 * (int64_t)far->nslim, sizeof *c.g));
    EQP_TRY(eqp_array_create(&c.kernels, KERNELS * (int64_t)far->kernel_all, sizeof *c.kernels));
    solve(far, wave_number == 0, place, kernel, nin, in, nout, out, &c);
done:
    free(c.line);
    free(c.scratch);
    free(c.in);
    free(c.out);
    free(c.g);
    free(c.kernels);
    return code;
}
