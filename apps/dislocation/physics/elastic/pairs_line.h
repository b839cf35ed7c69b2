/* SPDX-License-Identifier: BSD-3-Clause */
/* Integrals along a straight line, in closed form, for one type of number: see pairs_formula.h for the macros (REAL,
 * MASK, LESS, SELECT, WIDE, INVERSE, INVERSE_ROOT, LOG). No include guard. */

/* Integrals of q^i / Ra^3 and 3 q^i / Ra^5. */
typedef struct dd_line {
    REAL k0, k1, k2, m0, m1, m2, m3;
} dd_line;

/* From q1 to q2, with the inverse roots of g + q1^2, g + q2^2; as distances to the values at infinity, which do not
 * cancel. k2 is without the logarithm of the ratio. */
DD_INLINE dd_line dd_line_without_log(REAL q1, REAL q2, REAL g, REAL ir1, REAL ir2, REAL *ratio)
{
    const REAL zero = WIDE(0), r1 = (g + q1 * q1) * ir1, r2 = (g + q2 * q2) * ir2;
    const MASK down1 = LESS(q1, zero), down2 = LESS(q2, zero);
    const REAL o1 = SELECT(down1, WIDE(-1), WIDE(1)), o2 = SELECT(down2, WIDE(-1), WIDE(1));
    const REAL p1 = r1 + o1 * q1, p2 = r2 + o2 * q2, pp = p1 * p2,
               per_gpp = INVERSE(g * pp); /* one division for three */
    const REAL ig = pp * per_gpp, ip1 = g * p2 * per_gpp, ip2 = g * p1 * per_gpp;
    const REAL t1 = ir1 * ip1, t2 = ir2 * ip2, x1 = o1 * q1 * ir1, x2 = o2 * q2 * ir2, all = (o2 - o1) * ig;
    const REAL i1 = ir1 * ir1, i2 = ir2 * ir2, i3 = i1 * ir1 - i2 * ir2;

    *ratio = SELECT(down2, g * ip2, p2) * SELECT(down1, p1 * ig, ip1);
    return (dd_line){
        all + o1 * t1 - o2 * t2,
        ir1 - ir2,
        q1 * ir1 - q2 * ir2,
        2 * ig * all + o1 * t1 * (t1 + i1) - o2 * t2 * (t2 + i2),
        i3,
        all + o1 * t1 * (1 + x1 + x1 * x1) - o2 * t2 * (1 + x2 + x2 * x2),
        3 * (ir1 - ir2) - g * i3,
    };
}

DD_INLINE dd_line dd_line_of(REAL q1, REAL q2, REAL g)
{
    REAL ratio;
    dd_line line = dd_line_without_log(q1, q2, g, INVERSE_ROOT(g + q1 * q1), INVERSE_ROOT(g + q2 * q2), &ratio);

    line.k2 += LOG(ratio);
    return line;
}
