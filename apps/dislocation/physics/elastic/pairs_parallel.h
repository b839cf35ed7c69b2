/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces between segments that are parallel or nearly so, where the closed form of pairs_formula.h cancels: the
 * integral along B in closed form at points of A, the integral along A by quadrature. Included, like pairs_formula.h
 * and after it, once for each type of number. They define besides LANES, LOAD(p) (LANES numbers), GATHER(p, index)
 * (numbers at index[LANES]), STORE(p, x), FIRST(x) (of the first lane), SUM(x) (of all lanes), BITS(mask) (lane i in
 * bit i), EXP(x).
 *
 * Nearly all pairs need few points: they have a lane each, and take their points one by one. The rest takes LANES
 * points of one pair at a time.
 *
 * At a fixed point of A, Ra^2 = g + q^2 with q measured along B from the foot of the perpendicular. As a function of
 * the place y on A the integral has singularities at y_k +- i h_k: y_k is where the k-th end of B projects to, h_k its
 * distance from A's line (with a). Where they are near, y = y_k + h_k sinh(t) moves them to t = +- i pi/2, so that
 * Gauss points in t converge fast however long the segment is; each point is taken with the end that is nearer. One
 * more singularity is where the lines are closest, +- i sqrt(e) / s: it only adds points. */

/* The traction on a segment as polynomials of h and q, components 1 and 3 in its frame: over Ra^3 k, over Ra^5 m (times
 * 3); k[i], m[i] belong to q^i, with powers of h. */
typedef struct dd_density {
    REAL k10[2], k11, m10[3], m11[2], m12;
    REAL k30[2], k31, m30[4], m31[3], m32[2];
} dd_density;

/* Pairs in A's frame n, u, p: x1 of A at y = 0; R = (dist, r2 + y, r3) - z v with v = (0, c, s), z from B's first end;
 * dist2 = dist^2 + a^2. */
typedef struct dd_near {
    REAL c, s, dist2, r2, r3, la, lb;
    REAL centre[2], height2[2]; /* singularities of B's ends: centre +- i height, squared */
    dd_density on_a, on_b;
} dd_near;
#define DD_NEAR_FIELDS (sizeof(dd_near) / sizeof(REAL))

/* Sums of the quadrature: A's traction and y times it, B's and z times it; in the frame of each. */
typedef struct dd_near_sums {
    REAL a1, a3, ay1, ay3, b1, b3, bz1, bz3;
} dd_near_sums;

/* On a segment with Burgers vector b, from one with p, both in the frame of the first, where the tangent of the second
 * is (0, c, s); R = (dist, x2 h, x3 h) + q (0, z2, z3). With w = p x v the traction is that of dd_traction_of(). */
DD_INLINE dd_density dd_density_of(REAL c, REAL s, REAL dist, REAL x2, REAL x3, REAL z2, REAL z3, const REAL b[3],
                                   const REAL p[3], REAL a2, REAL k1, REAL k2)
{
    const REAL w1 = s * p[1] - c * p[2], w2 = -s * p[0], w3 = c * p[0];
    const REAL bv = c * b[1] + s * b[2], wb = w1 * b[0] + w2 * b[1] + w3 * b[2];
    const REAL m1 = p[1] * b[2] - p[2] * b[1], m2 = p[2] * b[0] - p[0] * b[2], m3 = p[0] * b[1] - p[1] * b[0];
    /* w.R and b.R */
    const REAL w0 = dist * w1, wh = x2 * w2 + x3 * w3, wq = z2 * w2 + z3 * w3;
    const REAL b0 = dist * b[0], bh = x2 * b[1] + x3 * b[2], bq = z2 * b[1] + z3 * b[2];
    /* their product times k2 */
    const REAL p00 = k2 * w0 * b0, p10 = k2 * (w0 * bh + wh * b0), p20 = k2 * wh * bh, p01 = k2 * (w0 * bq + wq * b0),
               p11 = k2 * (wh * bq + wq * bh), p02 = k2 * wq * bq;
    /* screw terms */
    const REAL t1h = -k1 * bv * (x2 * p[2] - x3 * p[1]), t1q = -k1 * bv * (z2 * p[2] - z3 * p[1]);
    const REAL t30 = -k1 * dist * (bv * p[1] + s * m1), t3h = k1 * (bv * x2 * p[0] - s * (x2 * m2 + x3 * m3)),
               t3q = k1 * (bv * z2 * p[0] - s * (z2 * m2 + z3 * m3));

    return (dd_density){
        .k10 = {-k2 * dist * wb, 2 * t1h + k2 * (wh * b[0] - w1 * bh)},
        .k11 = 2 * t1q + k2 * (wq * b[0] - w1 * bq),
        .m10 = {a2 * k2 * w0 * b[0] + dist * p00, a2 * (t1h + k2 * wh * b[0]) + dist * p10, dist * p20},
        .m11 = {a2 * (t1q + k2 * wq * b[0]) + dist * p01, dist * p11},
        .m12 = dist * p02,
        .k30 = {2 * t30 + k2 * (w0 * b[2] - w3 * b0), 2 * t3h + k2 * (wh * b[2] - w3 * bh - x3 * wb)},
        .k31 = 2 * t3q + k2 * (wq * b[2] - w3 * bq - z3 * wb),
        .m30 = {a2 * (t30 + k2 * w0 * b[2]), a2 * (t3h + k2 * wh * b[2]) + x3 * p00, x3 * p10, x3 * p20},
        .m31 = {a2 * (t3q + k2 * wq * b[2]) + z3 * p00, x3 * p01 + z3 * p10, x3 * p11 + z3 * p20},
        .m32 = {z3 * p01, x3 * p02 + z3 * p11},
    };
}

typedef struct dd_factors {
    REAL k10, k11, m10, m11, m12, k30, k31, m30, m31, m32;
} dd_factors;

DD_INLINE dd_factors dd_factors_at(const dd_density *d, REAL h)
{
    return (dd_factors){
        .k10 = d->k10[0] + h * d->k10[1],
        .k11 = d->k11,
        .m10 = d->m10[0] + h * (d->m10[1] + h * d->m10[2]),
        .m11 = d->m11[0] + h * d->m11[1],
        .m12 = d->m12,
        .k30 = d->k30[0] + h * d->k30[1],
        .k31 = d->k31,
        .m30 = d->m30[0] + h * (d->m30[1] + h * (d->m30[2] + h * d->m30[3])),
        .m31 = d->m31[0] + h * (d->m31[1] + h * d->m31[2]),
        .m32 = d->m32[0] + h * d->m32[1],
    };
}

typedef struct dd_near_point {
    REAL y, weight;
} dd_near_point;
#define DD_NEAR_POINTS (DD_GAUSS_MOST / LANES)

typedef struct dd_near_line {
    REAL foot, h, ratio;
    dd_line line;
} dd_near_line;

DD_INLINE void dd_near_add(const dd_near *n, const dd_near_point *at, const dd_near_line *seen, dd_near_sums *sum)
{
    const dd_line l = seen->line;
    const REAL y = at->y, weight = at->weight, foot = seen->foot;
    const dd_factors a = dd_factors_at(&n->on_a, seen->h), b = dd_factors_at(&n->on_b, seen->h);
    const REAL a1 = weight * (a.k10 * l.k0 + a.k11 * l.k1 + a.m10 * l.m0 + a.m11 * l.m1 + a.m12 * l.m2);
    const REAL a3 = weight * (a.k30 * l.k0 + a.k31 * l.k1 + a.m30 * l.m0 + a.m31 * l.m1 + a.m32 * l.m2);
    const REAL b1 = b.k10 * l.k0 + b.k11 * l.k1 + b.m10 * l.m0 + b.m11 * l.m1 + b.m12 * l.m2;
    const REAL b3 = b.k30 * l.k0 + b.k31 * l.k1 + b.m30 * l.m0 + b.m31 * l.m1 + b.m32 * l.m2;
    const REAL q1 = b.k10 * l.k1 + b.k11 * l.k2 + b.m10 * l.m1 + b.m11 * l.m2 + b.m12 * l.m3;
    const REAL q3 = b.k30 * l.k1 + b.k31 * l.k2 + b.m30 * l.m1 + b.m31 * l.m2 + b.m32 * l.m3;

    sum->a1 += a1;
    sum->a3 += a3;
    sum->ay1 += a1 * y;
    sum->ay3 += a3 * y;
    sum->b1 += b1 * weight;
    sum->b3 += b3 * weight;
    sum->bz1 += (q1 + b1 * foot) * weight;
    sum->bz3 += (q3 + b3 * foot) * weight;
}

/* Adds n points of A in each lane. One loop for each of the long chains of operations of a point: a processor then has
 * several points in work at a time. */
static void dd_near_points(const dd_near *n, int npoints, const dd_near_point *point, dd_near_sums *sums)
{
    dd_near_line seen[DD_NEAR_POINTS];
    REAL root[DD_NEAR_POINTS][2];
    dd_near_sums sum = *sums;

    for (int i = 0; i < npoints; i++) {
        const REAL r2 = n->r2 + point[i].y, foot = n->c * r2 + n->s * n->r3, h = n->s * r2 - n->c * n->r3;
        const REAL g = n->dist2 + h * h, past = n->lb - foot;
        seen[i].foot = foot;
        seen[i].h = h;
        root[i][0] = g + foot * foot;
        root[i][1] = g + past * past;
    }
    for (int i = 0; i < npoints; i++) {
        root[i][0] = INVERSE_ROOT(root[i][0]);
        root[i][1] = INVERSE_ROOT(root[i][1]);
    }
    for (int i = 0; i < npoints; i++) {
        const REAL foot = seen[i].foot, h = seen[i].h, g = n->dist2 + h * h;
        seen[i].line = dd_line_without_log(-foot, n->lb - foot, g, root[i][0], root[i][1], &seen[i].ratio);
    }
    for (int i = 0; i < npoints; i++) {
        seen[i].line.k2 += LOG(seen[i].ratio);
    }
    for (int i = 0; i < npoints; i++) {
        dd_near_add(n, &point[i], &seen[i], &sum);
    }
    *sums = sum;
}

/* One pair's places: the first lane of the argument of dd_points_of_one(). */
typedef struct dd_near_place {
    double la, centre[2], height[2];
    double crossing, up; /* where the lines are closest and, times i, how far the singularity is from there */
    bool crosses;
} dd_near_place;

/* A's part from lo to hi, whose nearest singularity is at centre +- i height. */
DD_INLINE void dd_near_range(const dd_near *n, const dd_near_place *at, double lo, double hi, int end,
                             dd_near_sums *sum)
{
    const double centre = at->centre[end], height = at->height[end];
    dd_near_point point[DD_NEAR_POINTS];

    if (hi <= lo) {
        return;
    }
    const double t1 = asinh((lo - centre) / height), t2 = asinh((hi - centre) / height), up2 = DD_PI * DD_PI / 4;
    double sum_of_ends = (sqrt(t1 * t1 + up2) + sqrt(t2 * t2 + up2)) / (t2 - t1);
    if (at->crosses) {
        sum_of_ends = fmin(sum_of_ends, dd_sum_of(at->crossing, at->up, centre, height, t1, t2));
    }
    const dd_gauss *rule = dd_gauss_for(sum_of_ends);
    const double mid = (t1 + t2) / 2, half = (t2 - t1) / 2;

    for (int i = 0; i < rule->n; i += LANES) {
        const REAL up = EXP(mid + half * LOAD(rule->x + i)), down = INVERSE(up);
        point[i / LANES].y = centre + height / 2 * (up - down);
        point[i / LANES].weight = height * half / 2 * LOAD(rule->w + i) * (up + down);
    }
    dd_near_points(n, rule->n / LANES, point, sum);
}

/* All of A for the pair that fills all lanes of n: as it is where the rule has few points. */
static void dd_points_of_one(const dd_near *n, const dd_near_place *at, const dd_gauss *rule, dd_near_sums *sum)
{
    if (rule->n <= 16) {
        const double half = at->la / 2;
        dd_near_point point[DD_NEAR_POINTS];
        for (int i = 0; i < rule->n; i += LANES) {
            point[i / LANES].y = half + half * LOAD(rule->x + i);
            point[i / LANES].weight = half * LOAD(rule->w + i);
        }
        dd_near_points(n, rule->n / LANES, point, sum);
    } else {
        const double between = (at->centre[0] + at->centre[1]) / 2, cut = fmin(fmax(between, 0), at->la);
        dd_near_range(n, at, 0, cut, 0, sum);
        dd_near_range(n, at, cut, at->la, 1, sum);
    }
}

/* The pair of one lane takes all of them; its sums go to that lane. */
static void dd_near_one(const dd_near *n, int lane, const dd_gauss *rule, dd_near_sums *sums)
{
    double from[DD_NEAR_FIELDS][LANES], to[8][LANES];
    REAL wide[DD_NEAR_FIELDS], added[8];
    dd_near one;
    const REAL zero = WIDE(0);
    dd_near_sums sum = {zero, zero, zero, zero, zero, zero, zero, zero};

    memcpy(from, n, sizeof from);
    for (size_t k = 0; k < DD_NEAR_FIELDS; k++) {
        wide[k] = WIDE(from[k][lane]);
    }
    memcpy(&one, wide, sizeof one);
    const double s = FIRST(one.s);
    dd_near_place at = {.la = FIRST(one.la),
                        .crossing = FIRST(one.c) * FIRST(one.r3) / s - FIRST(one.r2),
                        .up = s > 0 ? sqrt(FIRST(one.dist2)) / s : INFINITY};
    at.crosses = at.up < DD_NEAR_CROSSING * at.la;
    for (int k = 0; k < 2; k++) {
        at.centre[k] = FIRST(one.centre[k]);
        at.height[k] = sqrt(FIRST(one.height2[k]));
    }
    dd_points_of_one(&one, &at, rule, &sum);
    memcpy(added, &sum, sizeof added);
    memcpy(to, sums, sizeof to);
    for (int k = 0; k < 8; k++) {
        to[k][lane] = SUM(added[k]);
    }
    memcpy(sums, to, sizeof to);
}

DD_INLINE REAL dd_least(REAL a, REAL b)
{
    return SELECT(LESS(b, a), b, a);
}

/* The square of the distance of at +- i up from the middle of A. Twice the distance is at most the sum of the distances
 * from both ends of A, and hardly less if few points are enough. */
DD_INLINE REAL dd_near_square(const dd_near *n, REAL at, REAL up2)
{
    const REAL off = at - n->la / 2;

    return off * off + up2;
}

/* That of the nearest singularity. */
DD_INLINE REAL dd_near_least(const dd_near *n)
{
    const REAL reach = DD_NEAR_CROSSING * n->la * n->s;
    const MASK crosses = LESS(n->dist2, reach * reach);
    REAL least =
        dd_least(dd_near_square(n, n->centre[0], n->height2[0]), dd_near_square(n, n->centre[1], n->height2[1]));

    if (BITS(crosses) != 0) {
        const REAL per_s = 1 / n->s;
        const REAL at = n->c * n->r3 * per_s - n->r2, there = dd_near_square(n, at, n->dist2 * per_s * per_s);
        least = SELECT(crosses, dd_least(least, there), least);
    }
    return least;
}

/* All points of all pairs; lanes that are not used take the fewest. */
DD_INLINE dd_near_sums dd_near_all(const dd_near *n, REAL per_a, unsigned used)
{
    const REAL zero = WIDE(0), half = n->la / 2, sum_of_ends = 2 * per_a * dd_root(dd_near_least(n));
    dd_near_sums sum = {zero, zero, zero, zero, zero, zero, zero, zero};
    double sums[LANES];
    int64_t rule[LANES] = {0};
    dd_near_point point[DD_NEAR_POINTS];
    unsigned many = 0;
    int most = DD_GAUSS_FEW_LEAST;

    for (int k = 0; k < DD_GAUSS_FEW_RULES; k++) {
        many = BITS(LESS(sum_of_ends, WIDE(dd_gauss_few_sum[k]))) & used;
        for (int lane = 0; lane < LANES; lane++) {
            rule[lane] += many >> lane & 1;
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        const int points = DD_GAUSS_FEW_LEAST + (int)rule[lane];
        most = points > most && points <= DD_GAUSS_FEW ? points : most;
    }
    for (int i = 0; i < most; i++) {
        point[i].y = half + half * GATHER(dd_gauss_few_x[i], rule);
        point[i].weight = half * GATHER(dd_gauss_few_w[i], rule);
    }
    dd_near_points(n, most, point, &sum);
    STORE(sums, sum_of_ends);
    for (; many != 0; many &= many - 1) {
        const int lane = __builtin_ctz(many);
        dd_near_one(n, lane, dd_gauss_for(sums[lane]), &sum);
    }
    return sum;
}

/* A's frame: n, u, p = n x u orthonormal and right-handed, v = +-(c u + s p) with c >= 0. r: from one line to the
 * other, which tells n where u and v are parallel, and any normal does where they are one line. */
DD_INLINE void dd_near_frame(const REAL r[3], const REAL u[3], const REAL v[3], REAL sign, REAL n[3], REAL p[3])
{
    const REAL along = dd_dot3(r, u), zero = WIDE(0), one = WIDE(1);
    const MASK steep = LESS(u[0] * u[0], WIDE(0.36));
    REAL side[3] = {r[0] - along * u[0], r[1] - along * u[1], r[2] - along * u[2]}, other[3], cross[3];

    const MASK aside = LESS(1e-20 * dd_dot3(r, r) + 1e-30, dd_dot3(side, side)); /* 1e-15 b is no distance */
    side[0] = SELECT(aside, side[0], SELECT(steep, one, zero));
    side[1] = SELECT(aside, side[1], SELECT(steep, zero, one));
    side[2] = SELECT(aside, side[2], zero);
    dd_cross3(u, v, cross);
    dd_cross3(u, side, other);
    const MASK turned = LESS(WIDE(1e-26), dd_dot3(cross, cross));
    for (int d = 0; d < 3; d++) {
        n[d] = SELECT(turned, sign * cross[d], other[d]);
    }
    /* Rounding turns n by 1 / s of its size; made normal to u again, that leaves v.n at rounding. Its square becomes 1
     * - 1e-6 at most. */
    const REAL per_size = INVERSE_ROOT(dd_dot3(n, n)), lean = dd_dot3(n, u) * per_size;
    for (int d = 0; d < 3; d++) {
        n[d] = n[d] * per_size - lean * u[d];
    }
    const REAL excess = dd_dot3(n, n) - 1, last = 1 + excess * (0.375 * excess - 0.5);
    for (int d = 0; d < 3; d++) {
        n[d] *= last;
    }
    dd_cross3(n, u, p);
}

/* The same arguments as dd_general(), and the lanes that matter; points on A. */
DD_INLINE void dd_points_on_a(const REAL r[3], const REAL u[3], REAL la, const REAL v_given[3], REAL lb,
                              const REAL ba[3], const REAL bb_given[3], REAL a2, REAL k1, REAL k2, REAL fa[6],
                              REAL fb[6], unsigned used)
{
    const REAL zero = WIDE(0);
    const MASK back = LESS(dd_dot3(u, v_given), zero);
    const REAL sign = SELECT(back, WIDE(-1), WIDE(1)), behind = SELECT(back, lb, zero);
    REAL normal[3], p[3], v[3], q[3], bb[3], from[3];

    dd_near_frame(r, u, v_given, sign, normal, p);
    const REAL c = sign * dd_dot3(v_given, u), s = sign * dd_dot3(v_given, p);
    for (int d = 0; d < 3; d++) {
        v[d] = c * u[d] + s * p[d];
        q[d] = s * u[d] - c * p[d];
        bb[d] = sign * bb_given[d];
        from[d] = r[d] - behind * v_given[d]; /* from B's first end in the sense of v */
    }
    const REAL dist = dd_dot3(from, normal), r2 = dd_dot3(from, u), r3 = dd_dot3(from, p), ba_n = dd_dot3(ba, normal),
               bb_n = dd_dot3(bb, normal);
    /* the ends of B seen from A */
    const REAL e = dist * dist + a2, off = r3 - s * lb, per_a = INVERSE(la), per_b = INVERSE(lb);
    const REAL ba_a[3] = {ba_n, dd_dot3(ba, u), dd_dot3(ba, p)}, bb_a[3] = {bb_n, dd_dot3(bb, u), dd_dot3(bb, p)};
    const REAL ba_b[3] = {-ba_n, dd_dot3(ba, v), dd_dot3(ba, q)}, bb_b[3] = {-bb_n, dd_dot3(bb, v), dd_dot3(bb, q)};
    const dd_near n = {.c = c,
                       .s = s,
                       .dist2 = e,
                       .r2 = r2,
                       .r3 = r3,
                       .la = la,
                       .lb = lb,
                       .centre = {-r2, c * lb - r2},
                       .height2 = {e + r3 * r3, e + off * off},
                       .on_a = dd_density_of(c, s, dist, s, -c, -c, -s, ba_a, bb_a, a2, k1, k2),
                       .on_b = dd_density_of(c, s, dist, zero, WIDE(-1), WIDE(1), zero, bb_b, ba_b, a2, k1, k2)};
    const dd_near_sums sum = dd_near_all(&n, per_a, used);
    const REAL a12 = sum.ay1 * per_a, a32 = sum.ay3 * per_a, b12 = sum.bz1 * per_b, b32 = sum.bz3 * per_b;

    for (int d = 0; d < 3; d++) {
        const REAL at_first = (sum.b1 - b12) * q[d] + (sum.b3 - b32) * normal[d];
        const REAL at_second = b12 * q[d] + b32 * normal[d];
        fa[d] = (sum.a1 - a12) * p[d] - (sum.a3 - a32) * normal[d];
        fa[3 + d] = a12 * p[d] - a32 * normal[d];
        fb[d] = SELECT(back, at_second, at_first);
        fb[3 + d] = SELECT(back, at_first, at_second);
    }
}

DD_INLINE void dd_swap_where(MASK mask, REAL *x, REAL *y)
{
    const REAL first = SELECT(mask, *y, *x);

    *y = SELECT(mask, *x, *y);
    *x = first;
}

/* The same with points on the shorter segment; the arguments are lost. */
DD_INLINE void dd_nearly_parallel(REAL r[3], REAL u[3], REAL la, REAL v[3], REAL lb, REAL ba[3], REAL bb[3], REAL a2,
                                  REAL k1, REAL k2, REAL fa[6], REAL fb[6], unsigned used)
{
    const MASK swapped = LESS(lb, la);

    dd_swap_where(swapped, &la, &lb);
    for (int d = 0; d < 3; d++) {
        r[d] = SELECT(swapped, -r[d], r[d]);
        dd_swap_where(swapped, &u[d], &v[d]);
        dd_swap_where(swapped, &ba[d], &bb[d]);
    }
    dd_points_on_a(r, u, la, v, lb, ba, bb, a2, k1, k2, fa, fb, used);
    for (int d = 0; d < 6; d++) {
        dd_swap_where(swapped, &fa[d], &fb[d]);
    }
}
