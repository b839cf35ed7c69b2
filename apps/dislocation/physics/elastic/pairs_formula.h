/* SPDX-License-Identifier: BSD-3-Clause */
/* The closed form of the forces between two straight segments that are not parallel, for one type of number: included
 * once for each by files that define
 *   REAL, MASK, LESS(a, b) (a MASK), SELECT(mask, yes, no), WIDE(x) (a double as a REAL), INVERSE(x), INVERSE_ROOT(x),
 * LOG(x), ATAN2(y, x).
 * REAL may be a vector of doubles, one pair in each lane. No include guard: that is the point.
 *
 * Theory: Cai et al., J. Mech. Phys. Solids 54 (2006) 561. With unit tangents u of segment A and v of segment B, c =
 * u.v
 * >= 0, s = |u x v|, the distance D of the two lines and coordinates y, z along them from where they are closest,
 *   R = (D, y - c z, -s z) in A's frame (u x v / s, u, (u x v / s) x u),  Ra^2 = e + y^2 + z^2 - 2 c y z,  e = D^2 +
 * a^2. The stress of B times the Burgers vector of A crossed with u is a polynomial in y and z over Ra^3 and Ra^5; the
 * double integrals of y^i z^j / Ra^k follow from one another by partial integration:
 *   d/dy (y^i z^j / Ra^k) = i y^(i-1) z^j / Ra^k - k (y - c z) y^i z^j / Ra^(k+2), and the same for z,
 * down to the solid angle of the parallelogram of all R (times 1 / (s sqrt(e))) and logarithms along its edges. A seen
 * from B is the same with y and z exchanged. */

/* For a number > 0. */
DD_INLINE REAL dd_root(REAL x)
{
    return x * INVERSE_ROOT(x);
}

/* Double integrals of y^i z^j / Ra^3 as k[ij] and of 3 y^i z^j / Ra^5 as m[ij]. */
typedef struct dd_integrals {
    REAL k00, k10, k01, k20, k11, k02;
    REAL m00, m10, m01, m20, m11, m02, m30, m21, m12, m03, m31, m22, m13;
} dd_integrals;

/* Integrals along one edge, q = y at a fixed z or q = z at a fixed y, from the first to the second end: of 1/Ra (l), of
 * q^i / Ra^3 (i = 0, 1, 2). */
typedef struct dd_edge {
    REAL l, q0, q1, q2;
} dd_edge;

/* at: the fixed coordinate; q1, q2 the other's range, r1, r2: Ra at its ends, ir1, ir2: 1 / Ra. The difference of the
 * antiderivatives of 1/Ra^3 would cancel on the far side of the foot, so their distance to the value at infinity is
 * taken. */
DD_INLINE dd_edge dd_edge_of(REAL at, REAL q1, REAL q2, REAL r1, REAL r2, REAL ir1, REAL ir2, REAL c, REAL s2, REAL e)
{
    const REAL zero = WIDE(0), foot = c * at, g = e + s2 * at * at, t1 = q1 - foot, t2 = q2 - foot;
    const MASK down1 = LESS(t1, zero), down2 = LESS(t2, zero);
    const REAL p1 = r1 + SELECT(down1, -t1, t1), p2 = r2 + SELECT(down2, -t2, t2);
    /* one division for three */
    const REAL pp = p1 * p2, all = INVERSE(g * pp), ig = pp * all, ip1 = g * p2 * all, ip2 = g * p1 * all;
    const REAL tail1 = ir1 * ip1, tail2 = ir2 * ip2;
    const REAL i0 = SELECT(down2, tail2 - SELECT(down1, zero, 2 * ig), SELECT(down1, 2 * ig, zero) - tail2) +
                    SELECT(down1, -tail1, tail1);
    const REAL i1 = ir1 - ir2;
    const REAL l = LOG(SELECT(down2, g * ip2, p2) * SELECT(down1, p1 * ig, ip1));

    return (dd_edge){l, i0, i1 + foot * i0, l - t2 * ir2 + t1 * ir1 + foot * (2 * i1 + foot * i0)};
}

DD_INLINE dd_integrals dd_integrate(REAL y1, REAL y2, REAL z1, REAL z2, REAL c, REAL s, REAL is, REAL dist, REAL a2)
{
    const REAL zero = WIDE(0), s2 = s * s, is2 = is * is, e = dist * dist + a2, ie = INVERSE(e), root_e = dd_root(e),
               c2 = 2 * c;
    const REAL s11 = e + (y1 - c2 * z1) * y1 + z1 * z1, s12 = e + (y1 - c2 * z2) * y1 + z2 * z2;
    const REAL s21 = e + (y2 - c2 * z1) * y2 + z1 * z1, s22 = e + (y2 - c2 * z2) * y2 + z2 * z2;
    const REAL i11 = INVERSE_ROOT(s11), i12 = INVERSE_ROOT(s12), i21 = INVERSE_ROOT(s21), i22 = INVERSE_ROOT(s22);
    const REAL r11 = s11 * i11, r12 = s12 * i12, r21 = s21 * i21, r22 = s22 * i22;
    const dd_edge ya = dd_edge_of(z1, y1, y2, r11, r21, i11, i21, c, s2, e);
    const dd_edge yb = dd_edge_of(z2, y1, y2, r12, r22, i12, i22, c, s2, e);
    const dd_edge za = dd_edge_of(y1, z1, z2, r11, r12, i11, i12, c, s2, e);
    const dd_edge zb = dd_edge_of(y2, z1, z2, r21, r22, i21, i22, c, s2, e);
    dd_integrals i;

    /* The solid angle: the sum of two differences of angles between 0 and pi, which is between 0 and 2 pi. */
    const REAL se = s * root_e, ce = c * e;
    const REAL x11 = s2 * y1 * z1 + ce, x12 = s2 * y1 * z2 + ce, x21 = s2 * y2 * z1 + ce, x22 = s2 * y2 * z2 + ce;
    const REAL h11 = se * r11, h12 = se * r12, h21 = se * r21, h22 = se * r22;
    const REAL up2 = h21 * x22 - h22 * x21, on2 = x22 * x21 + h22 * h21;
    const REAL up1 = h12 * x11 - h11 * x12, on1 = x12 * x11 + h12 * h11;
    const REAL up = up1 * on2 + up2 * on1, least = SELECT(LESS(up1, up2), up1, up2);
    const REAL turn = SELECT(LESS(up, zero), SELECT(LESS(zero, least), WIDE(2 * DD_PI), zero), zero);
    i.k00 = (ATAN2(up, on1 * on2 - up1 * up2) + turn) * is * root_e * ie;

    const REAL h00 = y2 * zb.l - y1 * za.l + z2 * yb.l - z1 * ya.l - e * i.k00;
    const REAL ly = yb.l - ya.l, lz = zb.l - za.l;
    i.k01 = -(ly + c * lz) * is2;
    i.k10 = c * i.k01 - lz;
    const REAL r4 = r22 - r21 - r12 + r11;
    const REAL a10 = h00 - y2 * zb.l + y1 * za.l, b10 = -(r4 + c * (z2 * yb.l - z1 * ya.l));
    const REAL b01 = h00 - z2 * yb.l + z1 * ya.l;
    i.k11 = (b10 + c * a10) * is2;
    i.k20 = a10 + c * i.k11;
    i.k02 = b01 + c * i.k11;

    i.m00 = (i.k00 + y2 * zb.q0 - y1 * za.q0 + z2 * yb.q0 - z1 * ya.q0) * ie;
    const REAL z0 = zb.q0 - za.q0, y0 = yb.q0 - ya.q0;
    i.m01 = -(y0 + c * z0) * is2;
    i.m10 = c * i.m01 - z0;
    const REAL yz0 = y2 * zb.q0 - y1 * za.q0, zy0 = z2 * yb.q0 - z1 * ya.q0;
    const REAL q10 = i.k00 - yz0, p10 = -(yb.q1 - ya.q1);
    const REAL p01 = i.k00 - zy0;
    i.m11 = (p10 + c * q10) * is2;
    i.m20 = q10 + c * i.m11;
    i.m02 = p01 + c * i.m11;
    const REAL q11 = i.k01 - (y2 * zb.q1 - y1 * za.q1), p11 = i.k10 - (z2 * yb.q1 - z1 * ya.q1);
    i.m21 = (q11 + c * p11) * is2;
    i.m12 = (p11 + c * q11) * is2;
    i.m30 = 2 * i.k10 - (y2 * y2 * zb.q0 - y1 * y1 * za.q0) + c * i.m21;
    i.m03 = 2 * i.k01 - (z2 * z2 * yb.q0 - z1 * z1 * ya.q0) + c * i.m12;
    const REAL q21 = 2 * i.k11 - (y2 * y2 * zb.q1 - y1 * y1 * za.q1), p21 = i.k20 - (z2 * yb.q2 - z1 * ya.q2);
    const REAL p12 = 2 * i.k11 - (z2 * z2 * yb.q1 - z1 * z1 * ya.q1);
    i.m22 = (p21 + c * q21) * is2;
    i.m31 = q21 + c * i.m22;
    i.m13 = p12 + c * i.m22;
    return i;
}

/* The same with y and z exchanged. */
DD_INLINE dd_integrals dd_exchanged(dd_integrals i)
{
    return (dd_integrals){i.k00, i.k01, i.k10, i.k02, i.k11, i.k20, i.m00, i.m01, i.m10, i.m02,
                          i.m11, i.m20, i.m03, i.m12, i.m21, i.m30, i.m13, i.m22, i.m31};
}

/* Integrals of (stress of B).b, its components 1 and 3 in A's frame, and of y times them. */
typedef struct dd_traction {
    REAL s1, s3, y1, y3;
} dd_traction;

/* b, p: Burgers vectors of A and B in A's frame. k1 = mu / 8 pi, k2 = mu / (4 pi (1 - nu)). */
DD_INLINE dd_traction dd_traction_of(const dd_integrals *i, REAL c, REAL s, REAL dist, REAL a2, const REAL b[3],
                                     const REAL p[3], REAL k1, REAL k2)
{
    /* w = p x v; R x p = (y p3 + z w1, ., dist p2 - y p1 + z w3); (R x p).b = dist m1 + y m2 + z w.b. */
    const REAL w1 = s * p[1] - c * p[2], w2 = -s * p[0], w3 = c * p[0];
    const REAL bv = c * b[1] + s * b[2], wb = w1 * b[0] + w2 * b[1] + w3 * b[2];
    const REAL m1 = p[1] * b[2] - p[2] * b[1], m2 = p[2] * b[0] - p[0] * b[2];
    /* screw terms: t = t0 + ty y + tz z for both components */
    const REAL ty1 = -k1 * bv * p[2], tz1 = -k1 * bv * w1;
    const REAL t03 = -k1 * dist * (p[1] * bv + s * m1), ty3 = k1 * (p[0] * bv - s * m2), tz3 = -k1 * (w3 * bv + s * wb);
    /* over Ra^3 */
    const REAL f01 = -k2 * dist * wb, fy1 = 2 * ty1 + k2 * (w2 * b[0] - w1 * b[1]), fz1 = 2 * tz1 + k2 * w1 * bv;
    const REAL f03 = 2 * t03 + k2 * dist * (w1 * b[2] - w3 * b[0]), fy3 = 2 * ty3 + k2 * (w2 * b[2] - w3 * b[1]),
               fz3 = 2 * tz3 + k2 * (w3 * bv + s * wb);
    /* 3 / Ra^5: (g0 + gy y + gz z) from a^2 and (w.R)(b.R) times dist or -s z */
    const REAL wd = dist * w1, bd = dist * b[0];
    const REAL n00 = k2 * wd * bd, n10 = k2 * (wd * b[1] + w2 * bd), n20 = k2 * w2 * b[1], n01 = -k2 * wd * bv,
               n11 = -k2 * w2 * bv;
    const REAL g01 = a2 * k2 * wd * b[0] + dist * n00, gy1 = a2 * (ty1 + k2 * w2 * b[0]) + dist * n10,
               gz1 = a2 * tz1 + dist * n01, gyy1 = dist * n20, gyz1 = dist * n11;
    const REAL g03 = a2 * (t03 + k2 * wd * b[2]), gy3 = a2 * (ty3 + k2 * w2 * b[2]), gz3 = a2 * tz3 - s * n00;
    const REAL gyz3 = -s * n10, gyyz3 = -s * n20, gzz3 = -s * n01, gyzz3 = -s * n11;

    return (dd_traction){
        f01 * i->k00 + fy1 * i->k10 + fz1 * i->k01 + g01 * i->m00 + gy1 * i->m10 + gz1 * i->m01 + gyy1 * i->m20 +
            gyz1 * i->m11,
        f03 * i->k00 + fy3 * i->k10 + fz3 * i->k01 + g03 * i->m00 + gy3 * i->m10 + gz3 * i->m01 + gyz3 * i->m11 +
            gzz3 * i->m02 + gyyz3 * i->m21 + gyzz3 * i->m12,
        f01 * i->k10 + fy1 * i->k20 + fz1 * i->k11 + g01 * i->m10 + gy1 * i->m20 + gz1 * i->m11 + gyy1 * i->m30 +
            gyz1 * i->m21,
        f03 * i->k10 + fy3 * i->k20 + fz3 * i->k11 + g03 * i->m10 + gy3 * i->m20 + gz3 * i->m11 + gyz3 * i->m21 +
            gzz3 * i->m12 + gyyz3 * i->m31 + gyzz3 * i->m22,
    };
}

DD_INLINE REAL dd_dot3(const REAL a[3], const REAL b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

DD_INLINE void dd_cross3(const REAL a[3], const REAL b[3], REAL c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* Forces on the ends of A and B. r = A's first end - B's first end; u, v, la, lb: tangents and lengths; ba, bb: Burgers
 * vectors. fa, fb [6] are set. */
DD_INLINE void dd_general(const REAL r[3], const REAL u[3], REAL la, const REAL v_given[3], REAL lb, const REAL ba[3],
                          const REAL bb_given[3], REAL a2, REAL k1, REAL k2, REAL fa[6], REAL fb[6])
{
    const REAL c_given = dd_dot3(u, v_given);
    /* B backwards has the opposite Burgers vector: then c >= 0, which the solid angle relies on. */
    const MASK back = LESS(c_given, WIDE(0));
    const REAL sign = SELECT(back, WIDE(-1), WIDE(1)), c = sign * c_given;
    const REAL v[3] = {sign * v_given[0], sign * v_given[1], sign * v_given[2]};
    const REAL bb[3] = {sign * bb_given[0], sign * bb_given[1], sign * bb_given[2]};
    REAL n[3], p[3], q[3];

    dd_cross3(u, v, n);
    const REAL is = INVERSE_ROOT(dd_dot3(n, n)), s = dd_dot3(n, n) * is;
    for (int d = 0; d < 3; d++) {
        n[d] *= is;
    }
    dd_cross3(n, u, p); /* A's frame is n, u, p; B's is -n, v, q */
    dd_cross3(v, n, q);
    const REAL dist = dd_dot3(r, n), ru = dd_dot3(r, u), rv = dd_dot3(r, v), is2 = is * is;
    /* r = y u - z v + dist n; B's first end, backwards, is at its larger z. */
    const REAL y1 = (ru - c * rv) * is2, y2 = y1 + la;
    const REAL at = (c * ru - rv) * is2, z1 = SELECT(back, at - lb, at), z2 = SELECT(back, at, at + lb);
    const dd_integrals i = dd_integrate(y1, y2, z1, z2, c, s, is, dist, a2), j = dd_exchanged(i);
    const REAL ba_a[3] = {dd_dot3(ba, n), dd_dot3(ba, u), dd_dot3(ba, p)};
    const REAL bb_a[3] = {dd_dot3(bb, n), dd_dot3(bb, u), dd_dot3(bb, p)};
    const REAL ba_b[3] = {-ba_a[0], dd_dot3(ba, v), dd_dot3(ba, q)};
    const REAL bb_b[3] = {-bb_a[0], dd_dot3(bb, v), dd_dot3(bb, q)};
    const dd_traction ta = dd_traction_of(&i, c, s, dist, a2, ba_a, bb_a, k1, k2);
    const dd_traction tb = dd_traction_of(&j, c, s, dist, a2, bb_b, ba_b, k1, k2);
    const REAL ila = INVERSE(la), ilb = INVERSE(lb);
    /* S x u = S1 p - S3 n; the share of the second end is (y - y1) / la. */
    const REAL a2p = (ta.y1 - y1 * ta.s1) * ila, a2n = (ta.y3 - y1 * ta.s3) * ila;
    const REAL b2q = (tb.y1 - z1 * tb.s1) * ilb, b2n = (tb.y3 - z1 * tb.s3) * ilb;
    const REAL b1q = tb.s1 - b2q, b1n = tb.s3 - b2n;

    for (int d = 0; d < 3; d++) {
        const REAL at_first = b1q * q[d] + b1n * n[d], at_second = b2q * q[d] + b2n * n[d];
        fa[d] = (ta.s1 - a2p) * p[d] - (ta.s3 - a2n) * n[d];
        fa[3 + d] = a2p * p[d] - a2n * n[d];
        fb[d] = SELECT(back, at_second, at_first);
        fb[3 + d] = SELECT(back, at_first, at_second);
    }
}
