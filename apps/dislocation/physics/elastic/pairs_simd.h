/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop over the sources of one target, LANES pairs at a time; included after pairs_formula.h and pairs_parallel.h
 * by pairs_plain.c, pairs_avx2.c and pairs_avx512.c. They define besides STORE(p, x), BITS(mask) (lane i in bit i),
 * ONLY(bits, x) (0 in other lanes), ROUNDED(x): x, which the compiler must not fuse with what follows. */

/* LANES sources, at the image that is nearest to the target's midpoint. */
typedef struct dd_sources {
    REAL x1[3], span[3], burgers[3];
} dd_sources;

/* The target, as all its pairs need it. */
typedef struct dd_target {
    double x1[3], span[3], mid[3], burgers[3], tangent[3], length, square;
} dd_target;

DD_INLINE dd_target dd_target_of(const dd_segment *segment)
{
    dd_target t;

    for (int d = 0; d < 3; d++) {
        t.x1[d] = segment->x1[d];
        t.span[d] = segment->x2[d] - segment->x1[d];
        t.mid[d] = (segment->x1[d] + segment->x2[d]) / 2;
        t.burgers[d] = segment->burgers[d];
    }
    t.square = t.span[0] * t.span[0] + t.span[1] * t.span[1] + t.span[2] * t.span[2];
    t.length = sqrt(t.square);
    for (int d = 0; d < 3; d++) {
        t.tangent[d] = t.span[d] / t.length;
    }
    return t;
}

DD_INLINE dd_sources dd_sources_at(const dd_medium *medium, const dd_target *t, const dd_columns *c, int64_t i)
{
    const double big = 0x1.8p52; /* adding it rounds to integers */
    dd_sources s;

    for (int d = 0; d < 3; d++) {
        const REAL x1 = LOAD(c->at[d] + i), x2 = LOAD(c->at[3 + d] + i);
        const double box = medium->box[d], per_box = box > 0 ? 1 / box : 0;
        const REAL boxes = ((x1 + x2) / 2 - t->mid[d]) * per_box;
        s.x1[d] = x1 - ROUNDED(ROUNDED(ROUNDED(boxes) + big) - big) * box;
        s.span[d] = x2 - x1;
        s.burgers[d] = LOAD(c->at[6 + d] + i);
    }
    return s;
}

/* Products are rounded so that every instruction set decides alike. */
DD_INLINE MASK dd_parallel(const dd_target *t, const REAL span[3])
{
    const double *u = t->span;
    const REAL x = ROUNDED(u[1] * span[2]) - ROUNDED(u[2] * span[1]);
    const REAL y = ROUNDED(u[2] * span[0]) - ROUNDED(u[0] * span[2]);
    const REAL z = ROUNDED(u[0] * span[1]) - ROUNDED(u[1] * span[0]);
    const REAL sine = ROUNDED(x * x) + ROUNDED(y * y) + ROUNDED(z * z);
    const REAL square = ROUNDED(span[0] * span[0]) + ROUNDED(span[1] * span[1]) + ROUNDED(span[2] * span[2]);

    return LESS(sine, ROUNDED(square * t->square) * DD_PARALLEL_SQUARE);
}

/* One nearly parallel pair: lane of the sources at i. */
static void dd_one_parallel(const dd_medium *medium, const dd_target *t, const dd_sources *s, const dd_columns *c,
                            int64_t i, int lane, double k1, double k2, double force[6])
{
    double lanes[LANES], r[3], v[3], b[3], fa[6], fb[6];

    for (int d = 0; d < 3; d++) {
        STORE(lanes, s->x1[d]);
        r[d] = t->x1[d] - lanes[lane];
        v[d] = c->at[3 + d][i + lane] - c->at[d][i + lane];
        b[d] = c->at[6 + d][i + lane];
    }
    const double length = sqrt(dd_dot(v, v));
    for (int d = 0; d < 3; d++) {
        v[d] /= length;
    }
    dd_nearly_parallel(r, t->tangent, t->length, v, length, t->burgers, b, medium->a * medium->a, k1, k2, fa, fb);
    for (int d = 0; d < 6; d++) {
        force[d] += fa[d];
        c->force[d][i + lane] += fb[d];
    }
}

static void dd_pairs(const dd_medium *medium, const dd_segment *target, const dd_columns *sources, int64_t first,
                     int64_t n, double force[6], dd_pair_counts *counts)
{
    const double k1 = medium->mu / (8 * DD_PI), k2 = 2 * k1 / (1 - medium->nu);
    const dd_target t = dd_target_of(target);
    const REAL u[3] = {WIDE(t.tangent[0]), WIDE(t.tangent[1]), WIDE(t.tangent[2])};
    const REAL ba[3] = {WIDE(t.burgers[0]), WIDE(t.burgers[1]), WIDE(t.burgers[2])};
    REAL sum[6] = {WIDE(0), WIDE(0), WIDE(0), WIDE(0), WIDE(0), WIDE(0)};

    for (int64_t i = first, left = n; left > 0; i += LANES, left -= LANES) {
        const dd_sources s = dd_sources_at(medium, &t, sources, i);
        const unsigned all = left >= LANES ? (1u << LANES) - 1 : (1u << left) - 1;
        const unsigned parallel = BITS(dd_parallel(&t, s.span)) & all, general = all & ~parallel;
        if (general != 0) {
            const REAL length = ROOT(dd_dot3(s.span, s.span)), per_length = 1 / length;
            const REAL r[3] = {t.x1[0] - s.x1[0], t.x1[1] - s.x1[1], t.x1[2] - s.x1[2]};
            const REAL v[3] = {s.span[0] * per_length, s.span[1] * per_length, s.span[2] * per_length};
            REAL fa[6], fb[6];

            dd_general(r, u, WIDE(t.length), v, length, ba, s.burgers, WIDE(medium->a * medium->a), WIDE(k1), WIDE(k2),
                       fa, fb);
            for (int d = 0; d < 6; d++) {
                double *to = sources->force[d] + i;
                sum[d] += ONLY(general, fa[d]);
                STORE(to, LOAD(to) + ONLY(general, fb[d]));
            }
        }
        for (unsigned rest = parallel; rest != 0; rest &= rest - 1) {
            dd_one_parallel(medium, &t, &s, sources, i, __builtin_ctz(rest), k1, k2, force);
        }
        counts->general += __builtin_popcount(general);
        counts->parallel += __builtin_popcount(parallel);
    }
    for (int d = 0; d < 6; d++) {
        force[d] += SUM(sum[d]);
    }
}
