/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces between segments that are parallel or nearly so, where the closed form of pairs_formula.h cancels: the
 * integral along B in closed form at points of A, the one along A by quadrature. Included, like pairs_formula.h and
 * after it, once for each type of number; here lanes are points of one pair. They define besides LANES, LOAD(p) (LANES
 * numbers), SUM(x) (of all lanes), EXP(x).
 *
 * At a fixed point of A, Ra^2 = g + q^2 with q measured along B from the foot of the perpendicular. As a function of
 * the place y on A the integral has singularities at y_k +- i h_k: y_k is where the k-th end of B projects to, h_k its
 * distance from A's line (with a). y = y_k + h_k sinh(t) moves them to t = +- i pi/2, so that Gauss points in t
 * converge fast however long the segment is; each point is taken with the end that is nearer. One more singularity is
 * where the lines are closest, +- i sqrt(e) / s: it only adds points. */

/* The pair in A's frame n, u, p: x1 of A at y = 0; R = (dist, r2 + y, r3) - z v with v = (0, c, s), z from B's first
 * end. */
typedef struct dd_near {
    double c, s, dist, r2, r3, la, lb, a2, k1, k2;
    double crossing, up; /* where the lines are closest and, times i, how far the singularity is from there */
    double ba_a[3], bb_a[3], ba_b[3], bb_b[3]; /* Burgers vectors of A and B in the frames of A and B (-n, v, q) */
} dd_near;

/* What the quadrature adds up: A's traction and y times it, B's and z times it; in the frame of each. */
typedef struct dd_near_sums {
    REAL a1, a3, ay1, ay3, b1, b3, bz1, bz3;
} dd_near_sums;

/* A product of polynomials in q with the integrals. */
DD_INLINE REAL dd_over3(const dd_line *l, REAL f0, REAL f1)
{
    return f0 * l->k0 + f1 * l->k1;
}

DD_INLINE REAL dd_over5(const dd_line *l, REAL f0, REAL f1, REAL f2)
{
    return f0 * l->m0 + f1 * l->m1 + f2 * l->m2;
}

/* The traction on A at y, per length of A. */
DD_INLINE void dd_near_on_a(const dd_near *n, const dd_line *l, REAL h, REAL *s1, REAL *s3)
{
    const double *b = n->ba_a, *p = n->bb_a;
    const double c = n->c, s = n->s, dist = n->dist, a2 = n->a2, k1 = n->k1, k2 = n->k2;
    const double w1 = s * p[1] - c * p[2], w2 = -s * p[0], w3 = c * p[0];
    const double bv = c * b[1] + s * b[2], wb = w1 * b[0] + w2 * b[1] + w3 * b[2];
    const double m1 = p[1] * b[2] - p[2] * b[1], m2 = p[2] * b[0] - p[0] * b[2], m3 = p[0] * b[1] - p[1] * b[0];
    /* R = (dist, s h, -c h) - q v */
    const REAL ra2 = s * h, ra3 = -c * h;
    const REAL wr = dist * w1 + ra2 * w2 + ra3 * w3, br = dist * b[0] + ra2 * b[1] + ra3 * b[2];
    const REAL t10 = -k1 * bv * (ra2 * p[2] - ra3 * p[1]);
    const double t11 = -k1 * bv * w1;
    const REAL t30 = -k1 * (bv * (dist * p[1] - ra2 * p[0]) + s * (dist * m1 + ra2 * m2 + ra3 * m3));
    const double t31 = -k1 * (bv * w3 + s * wb);
    const REAL cubic = k2 * wr;

    *s1 = dd_over3(l, 2 * t10 + k2 * (wr * b[0] - w1 * br - dist * wb), WIDE(2 * t11 + k2 * w1 * bv)) +
          dd_over5(l, a2 * (t10 + cubic * b[0]) + cubic * br * dist, a2 * t11 - cubic * dist * bv, WIDE(0));
    *s3 = dd_over3(l, 2 * t30 + k2 * (wr * b[2] - w3 * br - ra3 * wb), WIDE(2 * t31 + k2 * (w3 * bv + s * wb))) +
          dd_over5(l, a2 * (t30 + cubic * b[2]) + cubic * br * ra3, a2 * t31 - cubic * (br * s + bv * ra3),
                   cubic * bv * s);
}

/* The force of A's element at y on B, and the integral of q times its density. */
DD_INLINE void dd_near_on_b(const dd_near *n, const dd_line *l, REAL h, REAL *s1, REAL *s3, REAL *q1, REAL *q3)
{
    const double *b = n->bb_b, *p = n->ba_b;
    const double c = n->c, s = n->s, dist = n->dist, a2 = n->a2, k1 = n->k1, k2 = n->k2;
    const double w1 = s * p[1] - c * p[2], w2 = -s * p[0], w3 = c * p[0];
    const double bu = c * b[1] + s * b[2], wb = w1 * b[0] + w2 * b[1] + w3 * b[2];
    const double m1 = p[1] * b[2] - p[2] * b[1], m2 = p[2] * b[0] - p[0] * b[2], m3 = p[0] * b[1] - p[1] * b[0];
    /* R = (dist, q, -h) */
    const REAL wr = dist * w1 - h * w3, br = dist * b[0] - h * b[2];
    const REAL t10 = -k1 * bu * p[1] * h, t30 = -k1 * (bu * dist * p[1] + s * (dist * m1 - h * m3));
    const double t11 = -k1 * bu * p[2], t31 = k1 * (bu * p[0] - s * m2);
    const REAL c0 = k2 * wr * br, c1 = k2 * (w2 * br + wr * b[1]);
    const double c2 = k2 * w2 * b[1];
    const REAL f10 = 2 * t10 + k2 * (wr * b[0] - w1 * br - dist * wb);
    const REAL f11 = WIDE(2 * t11 + k2 * (w2 * b[0] - w1 * b[1]));
    const REAL f30 = 2 * t30 + k2 * (wr * b[2] - w3 * br + h * wb);
    const REAL f31 = WIDE(2 * t31 + k2 * (w2 * b[2] - w3 * b[1]));
    const REAL g10 = a2 * (t10 + k2 * wr * b[0]) + c0 * dist, g11 = a2 * (t11 + k2 * w2 * b[0]) + c1 * dist;
    const REAL g30 = a2 * (t30 + k2 * wr * b[2]) - c0 * h, g31 = a2 * (t31 + k2 * w2 * b[2]) - c1 * h;

    *s1 = f10 * l->k0 + f11 * l->k1 + g10 * l->m0 + g11 * l->m1 + c2 * dist * l->m2;
    *s3 = f30 * l->k0 + f31 * l->k1 + g30 * l->m0 + g31 * l->m1 - c2 * h * l->m2;
    *q1 = f10 * l->k1 + f11 * l->k2 + g10 * l->m1 + g11 * l->m2 + c2 * dist * l->m3;
    *q3 = f30 * l->k1 + f31 * l->k2 + g30 * l->m1 + g31 * l->m2 - c2 * h * l->m3;
}

/* Adds LANES points of A with their weights. */
DD_INLINE void dd_near_add(const dd_near *n, REAL y, REAL weight, dd_near_sums *sum)
{
    const REAL r2 = n->r2 + y, foot = n->c * r2 + n->s * n->r3, h = n->s * r2 - n->c * n->r3;
    const dd_line l = dd_line_of(-foot, n->lb - foot, n->dist * n->dist + n->a2 + h * h);
    REAL s1, s3, q1, q3;

    dd_near_on_a(n, &l, h, &s1, &s3);
    s1 *= weight;
    s3 *= weight;
    sum->a1 += s1;
    sum->a3 += s3;
    sum->ay1 += s1 * y;
    sum->ay3 += s3 * y;
    dd_near_on_b(n, &l, h, &s1, &s3, &q1, &q3);
    sum->b1 += s1 * weight;
    sum->b3 += s3 * weight;
    sum->bz1 += (q1 + s1 * foot) * weight;
    sum->bz3 += (q3 + s3 * foot) * weight;
}

/* A's part from lo to hi, whose nearest singularity is at centre +- i height. */
DD_INLINE void dd_near_range(const dd_near *n, double lo, double hi, double centre, double height, dd_near_sums *sum)
{
    if (hi <= lo) {
        return;
    }
    const double t1 = asinh((lo - centre) / height), t2 = asinh((hi - centre) / height), up2 = DD_PI * DD_PI / 4;
    double sum_of_ends = (sqrt(t1 * t1 + up2) + sqrt(t2 * t2 + up2)) / (t2 - t1);
    if (n->up < DD_NEAR_CROSSING * n->la) {
        sum_of_ends = fmin(sum_of_ends, dd_sum_of(n->crossing, n->up, centre, height, t1, t2));
    }
    const dd_gauss *rule = dd_gauss_for(sum_of_ends);
    const double mid = (t1 + t2) / 2, half = (t2 - t1) / 2;

    for (int i = 0; i < rule->n; i += LANES) {
        const REAL up = EXP(mid + half * LOAD(rule->x + i)), down = 1 / up;
        dd_near_add(n, centre + height / 2 * (up - down), height * half / 2 * LOAD(rule->w + i) * (up + down), sum);
    }
}

/* All of A, singularities at centre[k] +- i height[k]: as it is where they are far away. */
DD_INLINE void dd_near_all(const dd_near *n, const double centre[2], const double height[2], dd_near_sums *sum)
{
    double least = INFINITY;

    for (int k = 0; k < 2; k++) {
        const double up2 = height[k] * height[k], past = n->la - centre[k];
        least = fmin(least, sqrt(centre[k] * centre[k] + up2) + sqrt(past * past + up2));
    }
    if (n->up < DD_NEAR_CROSSING * n->la) {
        const double past = n->la - n->crossing, up2 = n->up * n->up;
        least = fmin(least, sqrt(n->crossing * n->crossing + up2) + sqrt(past * past + up2));
    }
    const dd_gauss *rule = dd_gauss_for(least / n->la);
    if (rule->n <= 16) {
        const double half = n->la / 2;
        for (int i = 0; i < rule->n; i += LANES) {
            dd_near_add(n, half + half * LOAD(rule->x + i), half * LOAD(rule->w + i), sum);
        }
    } else {
        const double between = (centre[0] + centre[1]) / 2, cut = fmin(fmax(between, 0), n->la);
        dd_near_range(n, 0, cut, centre[0], height[0], sum);
        dd_near_range(n, cut, n->la, centre[1], height[1], sum);
    }
}

/* The same arguments as dd_general(), of one pair; points on A. */
static void dd_points_on_a(const double r[3], const double u[3], double la, const double v_given[3], double lb,
                           const double ba[3], const double bb_given[3], double a2, double k1, double k2, double fa[6],
                           double fb[6])
{
    double v[3], q[3], bb[3], from[3];
    dd_frame frame;
    const bool back = dd_frame_of(r, u, v_given, &frame);
    const double sign = back ? -1 : 1;
    dd_near n = {.c = frame.c, .s = frame.s, .la = la, .lb = lb, .a2 = a2, .k1 = k1, .k2 = k2};

    for (int d = 0; d < 3; d++) {
        v[d] = frame.c * u[d] + frame.s * frame.p[d];
        q[d] = frame.s * u[d] - frame.c * frame.p[d];
        bb[d] = sign * bb_given[d];
        from[d] = r[d] - (back ? lb * v_given[d] : 0); /* from B's first end in the sense of v */
    }
    n.dist = dd_dot(from, frame.n);
    n.r2 = dd_dot(from, u);
    n.r3 = dd_dot(from, frame.p);
    const double in_a[2][3] = {{dd_dot(ba, frame.n), dd_dot(ba, u), dd_dot(ba, frame.p)},
                               {dd_dot(bb, frame.n), dd_dot(bb, u), dd_dot(bb, frame.p)}};
    const double in_b[2][3] = {{-in_a[0][0], dd_dot(ba, v), dd_dot(ba, q)},
                               {-in_a[1][0], dd_dot(bb, v), dd_dot(bb, q)}};
    for (int d = 0; d < 3; d++) {
        n.ba_a[d] = in_a[0][d];
        n.bb_a[d] = in_a[1][d];
        n.ba_b[d] = in_b[0][d];
        n.bb_b[d] = in_b[1][d];
    }
    /* the ends of B seen from A */
    const double e = n.dist * n.dist + a2, off = n.r3 - n.s * lb;
    const double centre[2] = {-n.r2, n.c * lb - n.r2}, height[2] = {sqrt(e + n.r3 * n.r3), sqrt(e + off * off)};
    n.crossing = n.c * n.r3 / n.s - n.r2;
    n.up = n.s > 0 ? sqrt(e) / n.s : INFINITY;
    const REAL zero = WIDE(0);
    dd_near_sums sum = {zero, zero, zero, zero, zero, zero, zero, zero};

    dd_near_all(&n, centre, height, &sum);
    const double a1 = SUM(sum.a1), a3 = SUM(sum.a3), b1 = SUM(sum.b1), b3 = SUM(sum.b3);
    const double a12 = SUM(sum.ay1) / la, a32 = SUM(sum.ay3) / la, b12 = SUM(sum.bz1) / lb, b32 = SUM(sum.bz3) / lb;
    for (int d = 0; d < 3; d++) {
        fa[d] = (a1 - a12) * frame.p[d] - (a3 - a32) * frame.n[d];
        fa[3 + d] = a12 * frame.p[d] - a32 * frame.n[d];
        fb[d] = (b1 - b12) * q[d] + (b3 - b32) * frame.n[d];
        fb[3 + d] = b12 * q[d] + b32 * frame.n[d];
    }
    for (int d = 0; back && d < 3; d++) {
        const double second_end = fb[d];
        fb[d] = fb[3 + d];
        fb[3 + d] = second_end;
    }
}

/* The same with points on the shorter segment. */
static void dd_nearly_parallel(const double r[3], const double u[3], double la, const double v[3], double lb,
                               const double ba[3], const double bb[3], double a2, double k1, double k2, double fa[6],
                               double fb[6])
{
    if (la <= lb) {
        dd_points_on_a(r, u, la, v, lb, ba, bb, a2, k1, k2, fa, fb);
    } else {
        const double back[3] = {-r[0], -r[1], -r[2]};
        dd_points_on_a(back, v, lb, u, la, bb, ba, a2, k1, k2, fb, fa);
    }
}
