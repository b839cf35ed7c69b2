/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of vectors, lane by lane, for files that define what pairs_formula.h and pairs_simd.h ask for. Errors of
 * three units in the last place. Polynomials interpolate at Chebyshev nodes, computed with 60 digits. */

typedef uint64_t dd_bits __attribute__((vector_size(8 * LANES)));

#define DD_LN2 0.69314718055994531
#define DD_ONE_BITS 0x3ff0000000000000u
#define DD_MANTISSA_BITS 0x000fffffffffffffu

/* c[0] + c[1] x + ... */
DD_INLINE REAL dd_polynomial(REAL x, const double *c, int n)
{
    REAL sum = WIDE(c[n - 1]);

    for (int i = n - 2; i >= 0; i--) {
        sum = sum * x + c[i];
    }
    return sum;
}

/* Of normal numbers > 0: x = 2^k m, m between the roots of 1/2 and of 2, ln m = 2 artanh((m - 1) / (m + 1)). */
DD_INLINE REAL dd_log(REAL x)
{
    static const double c[] = {0.33333333333333348,  0.19999999999949722,  0.14285714313001635, 0.11111105565129939,
                               0.090914447278374735, 0.076658553091053863, 0.073082927124443114};
    const uint64_t root_half = 0x3fe6a09e667f3bcdu;
    const dd_bits bits = (dd_bits)x + (DD_ONE_BITS - root_half);
    const REAL k = (REAL)((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023); /* bits of 2^52 + an integer */
    const REAL m = (REAL)((bits & DD_MANTISSA_BITS) + root_half);
    const REAL t = (m - 1) * INVERSE(m + 1), z = t * t;

    return k * DD_LN2 + (2 * t + 2 * t * z * dd_polynomial(z, c, 7));
}

/* Of numbers whose exponential is normal. */
DD_INLINE REAL dd_exp(REAL x)
{
    static const double c[] = {1,
                               0.50000000000000056,
                               0.16666666666666671,
                               0.041666666666572219,
                               0.0083333333333260699,
                               0.0013888888932811632,
                               0.00019841269875048905,
                               2.4801503937674839e-05,
                               2.7557255110978891e-06,
                               2.7626527425824333e-07,
                               2.5105337244665212e-08};
    const REAL shifted = x * (1 / DD_LN2) + 0x1.8p52, k = shifted - 0x1.8p52;
    const REAL r = x - k * 0x1.62e42fefap-1 - k * 0x1.cf79abc9e3b3ap-40;

    return (1 + r * dd_polynomial(r, c, 11)) * (REAL)(((dd_bits)shifted << 52) + DD_ONE_BITS);
}

/* Of x + i y, from -pi to pi. */
DD_INLINE REAL dd_atan2(REAL y, REAL x)
{
    static const double c[] = {-0.33333333333333331,  0.19999999999995516,  -0.14285714284665682,  0.11111111015187018,
                               -0.090909045753064896, 0.076921831253768919, -0.066645105255089362, 0.058581409048663283,
                               -0.050854078345894838, 0.039230447784793086, -0.019175404711104925};
    const REAL zero = WIDE(0);
    const MASK down = LESS(y, zero), left = LESS(x, zero);
    const REAL ay = SELECT(down, -y, y), ax = SELECT(left, -x, x);
    const MASK steep = LESS(ax, ay);
    const REAL low = SELECT(steep, ax, ay), high = SELECT(steep, ay, ax);
    const MASK turned = LESS(0.41421356237309503 * high, low); /* by an eighth of a circle */
    const REAL t = SELECT(turned, low - high, low) * INVERSE(SELECT(turned, low + high, high)), z = t * t;
    const REAL first = t + t * z * dd_polynomial(z, c, 11) + SELECT(turned, WIDE(DD_PI / 4), zero);
    const REAL second = SELECT(steep, DD_PI / 2 - first, first), third = SELECT(left, DD_PI - second, second);

    return SELECT(down, -third, third);
}
