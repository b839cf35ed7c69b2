/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop over the sources of one target, LANES pairs at a time; included after pairs_formula.h and pairs_parallel.h
 * by pairs_plain.c, pairs_avx2.c and pairs_avx512.c. They define besides ROOT(x), exact, ONLY(bits, x) (0 in other
 * lanes) and ROUNDED(x): x, which the compiler must not fuse with what follows. */

/* LANES sources, at the image that is nearest to the target's midpoint. */
typedef struct dd_sources {
    REAL x1[3], span[3], burgers[3], square, length;
} dd_sources;

/* Products are rounded, so that every instruction set has the same bits. */
DD_INLINE REAL dd_rounded_dot(const REAL a[3], const REAL b[3])
{
    return ROUNDED(a[0] * b[0]) + ROUNDED(a[1] * b[1]) + ROUNDED(a[2] * b[2]);
}

/* at: their columns. */
DD_INLINE dd_sources dd_sources_at(const dd_medium *medium, const dd_target *t, const REAL at[9])
{
    const double big = 0x1.8p52; /* adding it rounds to integers */
    dd_sources s;

    for (int d = 0; d < 3; d++) {
        const REAL x1 = at[d], x2 = at[3 + d];
        const double box = medium->box[d], per_box = box > 0 ? 1 / box : 0;
        const REAL boxes = ((x1 + x2) / 2 - t->mid[d]) * per_box;
        s.x1[d] = x1 - ROUNDED(ROUNDED(ROUNDED(boxes) + big) - big) * box;
        s.span[d] = x2 - x1;
        s.burgers[d] = at[6 + d];
    }
    s.square = dd_rounded_dot(s.span, s.span);
    s.length = ROOT(s.square);
    return s;
}

/* True if the closed form would lose too many digits, and the quadrature along A would not. With the sine s of the
 * angle and the distance rho in units of the shorter length the relative error of the closed form is about 1e-16 (1 +
 * rho^2)^2 / s^3. The quadrature converges unless lines cross within the segments: the one singularity that matters is
 * at sqrt(e) / s from there. Products are rounded so that every instruction set decides alike. */
DD_INLINE MASK dd_parallel(const dd_medium *medium, const dd_target *t, const dd_sources *b)
{
    const double *u = t->span;
    const REAL *v = b->span, target[3] = {WIDE(u[0]), WIDE(u[1]), WIDE(u[2])};
    const REAL n[3] = {ROUNDED(u[1] * v[2]) - ROUNDED(u[2] * v[1]), ROUNDED(u[2] * v[0]) - ROUNDED(u[0] * v[2]),
                       ROUNDED(u[0] * v[1]) - ROUNDED(u[1] * v[0])};
    const REAL r[3] = {t->x1[0] - b->x1[0], t->x1[1] - b->x1[1], t->x1[2] - b->x1[2]};
    const REAL mid[3] = {t->mid[0] - (b->x1[0] + v[0] / 2), t->mid[1] - (b->x1[1] + v[1] / 2),
                         t->mid[2] - (b->x1[2] + v[2] / 2)};
    const REAL nn = dd_rounded_dot(n, n), rn = dd_rounded_dot(r, n), both = b->square * t->square;
    const MASK is_longer = LESS(WIDE(t->square), b->square);
    const REAL short2 = SELECT(is_longer, WIDE(t->square), b->square);
    const REAL excess = b->length - t->length, longer = SELECT(LESS(excess, WIDE(0)), -excess, excess);
    const REAL mm = dd_rounded_dot(mid, mid), reach = ROOT(mm) - longer / 2;
    const REAL gap = SELECT(LESS(reach, WIDE(0)), WIDE(0), reach);
    const REAL gap2 = ROUNDED(gap * gap), far2 = (short2 + gap2) * (short2 + gap2), near4 = short2 * short2;
    /* s^6 and (1 + rho^2)^4, times the same */
    const REAL sine = nn * nn * nn * (near4 * near4), far = both * both * both * (far2 * far2);
    const REAL e = ROUNDED(medium->a * medium->a * nn) + ROUNDED(rn * rn);
    const REAL crossing = ROUNDED(nn * nn * short2) - ROUNDED(DD_PARALLEL_CROSSING * both * e);
    /* Distant lines do not cross within the segments. */
    const REAL crossed = SELECT(LESS(DD_PARALLEL_FAR * short2, gap2), WIDE(-1), crossing);
    /* A short segment away from a very long one: rho has no meaning, and points along the short one are exact. */
    const REAL along = SELECT(is_longer, dd_rounded_dot(mid, v), dd_rounded_dot(mid, target));
    const REAL long2 = SELECT(is_longer, b->square, WIDE(t->square));
    const REAL away = ROUNDED(mm * long2) - ROUNDED(along * along), least = ROUNDED(DD_LOPSIDED_AWAY * both);
    const REAL lopsided = SELECT(LESS(DD_LOPSIDED * short2, long2), least - away, WIDE(1));
    const REAL either = SELECT(LESS(lopsided, WIDE(0)), WIDE(INFINITY), SELECT(LESS(WIDE(0), crossed), WIDE(0), far));

    return LESS(DD_PARALLEL_LOSS * sine, either);
}

/* Near-parallel pairs of a target, collected until every lane has one. */
typedef struct dd_waiting {
    int64_t source[LANES];
    int n;
} dd_waiting;

/* Computes the waiting pairs; forces on the target are added lane by lane. */
static void dd_waiting_end(dd_waiting *waiting, const dd_medium *medium, const dd_target *t, const dd_columns *c,
                           REAL k1, REAL k2, REAL sum[6])
{
    const unsigned used = (1u << waiting->n) - 1;
    double on_source[6][LANES];
    REAL at[9], r[3], u[3], v[3], ba[3], fa[6], fb[6];

    for (int lane = waiting->n; lane < LANES; lane++) {
        waiting->source[lane] = waiting->source[0];
    }
    for (int k = 0; k < 9; k++) {
        at[k] = GATHER(c->at[k], waiting->source);
    }
    dd_sources s = dd_sources_at(medium, t, at);
    const REAL per_length = INVERSE(s.length);
    for (int d = 0; d < 3; d++) {
        r[d] = t->x1[d] - s.x1[d];
        u[d] = WIDE(t->tangent[d]);
        v[d] = s.span[d] * per_length;
        ba[d] = WIDE(t->burgers[d]);
    }
    dd_nearly_parallel(r, u, WIDE(t->length), v, s.length, ba, s.burgers, WIDE(medium->a * medium->a), k1, k2, fa, fb,
                       used);
    for (int d = 0; d < 6; d++) {
        sum[d] += ONLY(used, fa[d]);
        STORE(on_source[d], fb[d]);
        for (int lane = 0; lane < waiting->n; lane++) {
            c->force[d][waiting->source[lane]] += on_source[d][lane];
        }
    }
    waiting->n = 0;
}

/* Adds the general pairs of those of the LANES sources from i on that are in the bits. */
DD_INLINE void dd_general_add(const dd_medium *medium, const dd_target *t, const dd_columns *c, int64_t i,
                              const dd_sources *s, unsigned bits, REAL k1, REAL k2, REAL sum[6])
{
    const REAL u[3] = {WIDE(t->tangent[0]), WIDE(t->tangent[1]), WIDE(t->tangent[2])};
    const REAL ba[3] = {WIDE(t->burgers[0]), WIDE(t->burgers[1]), WIDE(t->burgers[2])};
    const REAL per_length = INVERSE(s->length);
    const REAL r[3] = {t->x1[0] - s->x1[0], t->x1[1] - s->x1[1], t->x1[2] - s->x1[2]};
    const REAL v[3] = {s->span[0] * per_length, s->span[1] * per_length, s->span[2] * per_length};
    REAL fa[6], fb[6];

    dd_general(r, u, WIDE(t->length), v, s->length, ba, s->burgers, WIDE(medium->a * medium->a), k1, k2, fa, fb);
    for (int d = 0; d < 6; d++) {
        double *to = c->force[d] + i;
        sum[d] += ONLY(bits, fa[d]);
        STORE(to, LOAD(to) + ONLY(bits, fb[d]));
    }
}

static void dd_pairs(const dd_medium *medium, const dd_segment *target, const dd_columns *sources, int nruns,
                     const dd_run *runs, double force[6], dd_pair_counts *counts)
{
    const double mu8 = medium->mu / (8 * DD_PI);
    const REAL k1 = WIDE(mu8), k2 = WIDE(2 * mu8 / (1 - medium->nu));
    const dd_target t = dd_target_of(target);
    REAL sum[6] = {WIDE(0), WIDE(0), WIDE(0), WIDE(0), WIDE(0), WIDE(0)};
    dd_waiting waiting;

    waiting.n = 0;
    for (int r = 0; r < nruns; r++) {
        for (int64_t i = runs[r].first, left = runs[r].n; left > 0; i += LANES, left -= LANES) {
            REAL at[9];
            for (int k = 0; k < 9; k++) {
                at[k] = LOAD(sources->at[k] + i);
            }
            const dd_sources s = dd_sources_at(medium, &t, at);
            const unsigned all = left >= LANES ? (1u << LANES) - 1 : (1u << left) - 1;
            const unsigned parallel = BITS(dd_parallel(medium, &t, &s)) & all, general = all & ~parallel;
            if (general != 0) {
                dd_general_add(medium, &t, sources, i, &s, general, k1, k2, sum);
            }
            for (unsigned rest = parallel; rest != 0; rest &= rest - 1) {
                waiting.source[waiting.n] = i + __builtin_ctz(rest);
                if (++waiting.n == LANES) {
                    dd_waiting_end(&waiting, medium, &t, sources, k1, k2, sum);
                }
            }
            counts->general += __builtin_popcount(general);
            counts->parallel += __builtin_popcount(parallel);
        }
    }
    if (waiting.n > 0) {
        dd_waiting_end(&waiting, medium, &t, sources, k1, k2, sum);
    }
    for (int d = 0; d < 6; d++) {
        force[d] += SUM(sum[d]);
    }
}
