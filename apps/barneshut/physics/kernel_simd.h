/* SPDX-License-Identifier: BSD-3-Clause */
/* The interactions for one instruction set and type of number; included by kernel_avx2.c and kernel_avx512.c for
 * double, then for float. Before both they define first_lanes() and
 *   __m256d or __m512d load_first(int64_t r, const double *x): the first r numbers, and 0 behind them;
 * before each one
 *   SINGLE (1 for float, 0 for double), VECTOR, LANES, V(add) (the intrinsic of that name),
 *   VECTOR NAME(inverse)(VECTOR s2): w = c / sqrt(s2), and NAME(inverse_bare) for double: the same, but 0 for 0,
 *   VECTOR NAME(where_below)(VECTOR w, d2, cutoff2): w where d2 < cutoff2, and 0 elsewhere,
 *   bool NAME(none_below)(VECTOR d2, cutoff2) for double: true if that is so in no lane,
 *   __m256d NAME(sum4)(VECTOR a, b, c, d): the sums of each one's lanes,
 *   OWN_SUM16 where they also define NAME(sum16)(const VECTOR x[4], y[4], z[4], p[4], __m256d sum[4]): the same for
 *   each of x, y, z, p in the same order of additions;
 * and before that for float
 *   VECTOR place_lanes(int64_t r, const double *x, double factor, double shift): x factor + shift of r targets, and 0
 *   in idle lanes,
 *   void add_lanes(int64_t r, VECTOR sum, double factor, double *to): adds r of these to r targets,
 *   PART, PART_LANES, PV(add): the vector of half as many floats, PART place_part(r, x, factor, shift) as
 *   place_lanes(), unsigned light_part(r, PART m): lanes below r whose mass is not at least BH_MIXED_LEAST_MASS.
 *
 * Usually sources are in the lanes of a vector, and BH_AT_ONCE targets share their loads. With `lanes` targets are in
 * the lanes, and BH_AT_ONCE sources at once: no sums across lanes, which would dominate short lists, but idle lanes in
 * the last vector.
 *
 * Both formulas use w = c / s for all powers of s, with the c that makes w the cheapest, and no other factor is left to
 * multiply with: with quadrupole moments stored as Q / c^2 (and the trace as -eps^2 T / c^2), g = (d.Q.d - eps^2 T) w^4
 * / c^2 is 2 c^2 times q / (2 s^4); phi sums up w (M + g / (2 c^2)) and the acceleration w^3 (M + 5 g / (2 c^2)) d -
 * w^5 Q.d / c^2; the sums are multiplied with 1 / c and 1 / c^3. Differences d are source - target here. Included
 * twice, therefore without a guard. */

#ifndef BH_INLINE
#ifdef EQP_SANITIZED
#define BH_INLINE static inline
#else
#define BH_INLINE static inline __attribute__((always_inline))
#endif
/* They need more registers than there are, but their independent operations fill the pipelines, which gains more than
 * the spills cost. Blocks are padded to a multiple. */
#define BH_AT_ONCE 4

/* All targets of a list take the same way, the one that needs fewer lanes: otherwise sums would depend on the order of
 * targets. With sources in the lanes each target also costs the sum over lanes: as much as this many vectors of
 * particles or cells. */
#define BH_POINTS_OF_A_SUM 1.5
#define BH_BODIES_OF_A_SUM 0.75

/* What is known when an interaction is compiled: sources may be at distance 0, there is a cutoff, targets are in the
 * lanes. */
enum { BARE = 1, WITHIN = 2, BY_LANES = 4 };

BH_INLINE void add_to(double *to, __m256d field)
{
    _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), field));
}
#endif

#if SINGLE
#define REAL float
#define POINTS points_mixed
#define BODIES bodies_mixed
#define MAY_BE_BARE 0
#define NAME(what) what##_mixed
/* 1 / c, 1 / c^3 and 1 / (2 c^2). */
#define OF_W 0.5
#define OF_W3 0.125
#define OF_G 0.125
#define PLACE_LANES(r, x, factor, shift) place_lanes(r, x, factor, shift)
#define ADD_LANES(r, sum, factor, to) add_lanes(r, sum, factor, to)

static inline VECTOR inverse_bare_mixed(VECTOR s2)
{
    return inverse_mixed(s2);
}

/* Always false: single precision is so fast that the test would cost up to 4 %. */
static inline bool none_below_mixed(VECTOR d2, VECTOR cutoff2)
{
    (void)d2;
    (void)cutoff2;
    return false;
}

static inline void store4_mixed(float to[4], __m256d four)
{
    _mm_storeu_ps(to, _mm256_cvtpd_ps(four));
}

static inline bool short_list(int64_t n, int64_t nt, double sum)
{
    const int64_t vectors = (n + LANES - 1) / LANES, lanes = (nt + LANES - 1) / LANES;
    return (double)(lanes * n) < (double)nt * ((double)vectors + sum);
}
#else
#define REAL double
#define POINTS points
#define BODIES bodies
#define MAY_BE_BARE BARE
#define NAME(what) what##_double
#define OF_W BH_ROOT_TWO
#define OF_W3 (2 * BH_ROOT_TWO)
#define OF_G 1
/* Only floats go by lanes. */
#define PLACE_LANES(r, x, factor, shift) V(setzero)()
#define ADD_LANES(r, sum, factor, to) (void)(sum)
#define short_list(n, nt, sum) false

static inline void store4_double(double to[4], __m256d four)
{
    _mm256_storeu_pd(to, four);
}
#endif

#ifndef OWN_SUM16
static inline void NAME(sum16)(const VECTOR x[4], const VECTOR y[4], const VECTOR z[4], const VECTOR p[4],
                               __m256d sum[4])
{
    sum[0] = NAME(sum4)(x[0], x[1], x[2], x[3]);
    sum[1] = NAME(sum4)(y[0], y[1], y[2], y[3]);
    sum[2] = NAME(sum4)(z[0], z[1], z[2], z[3]);
    sum[3] = NAME(sum4)(p[0], p[1], p[2], p[3]);
}
#endif

typedef struct NAME(sums) {
    VECTOR x[BH_AT_ONCE], y[BH_AT_ONCE], z[BH_AT_ONCE], p[BH_AT_ONCE];
} NAME(sums);

/* Each lane is added up in the same order however many targets there are. */
BH_INLINE void NAME(add_field)(const int nt, const NAME(sums) * s, const bh_frame *frame, const bh_targets *targets,
                               int64_t t)
{
    const double a = OF_W3 * frame->acceleration, p = -OF_W * frame->potential;

    if (nt == 4) {
        const __m256d factor = _mm256_set1_pd(a);
        __m256d sum[4];
        NAME(sum16)(s->x, s->y, s->z, s->p, sum);
        add_to(targets->ax + t, _mm256_mul_pd(factor, sum[0]));
        add_to(targets->ay + t, _mm256_mul_pd(factor, sum[1]));
        add_to(targets->az + t, _mm256_mul_pd(factor, sum[2]));
        add_to(targets->pot + t, _mm256_mul_pd(_mm256_set1_pd(p), sum[3]));
        return;
    }
    for (int j = 0; j < nt; j++) {
        double field[4];
        _mm256_storeu_pd(field,
                         _mm256_mul_pd(_mm256_setr_pd(a, a, a, p), NAME(sum4)(s->x[j], s->y[j], s->z[j], s->p[j])));
        targets->ax[t + j] += field[0];
        targets->ay[t + j] += field[1];
        targets->az[t + j] += field[2];
        targets->pot[t + j] += field[3];
    }
}

/* nt targets' coordinates in the frame's units. */
BH_INLINE void NAME(place)(const int nt, const bh_frame *frame, int axis, const double *x, VECTOR place[])
{
    const double factor = frame->per_length, shift = frame->shift[axis];

    if (nt == 4) {
        REAL four[4];
        const __m256d x4 = _mm256_fmadd_pd(_mm256_loadu_pd(x), _mm256_set1_pd(factor), _mm256_set1_pd(shift));
        NAME(store4)(four, x4);
        for (int j = 0; j < 4; j++) {
            place[j] = V(set1)(four[j]);
        }
    } else {
        for (int j = 0; j < nt; j++) {
            place[j] = V(set1)((REAL)fma(x[j], factor, shift));
        }
    }
}

/* Sources and targets of one run through a block: nt targets from number t on, or r of them in the lanes. */
typedef struct NAME(span) {
    const bh_block *of;
    int64_t n;
    const bh_frame *frame;
    const bh_targets *targets;
    int64_t t, r;
} NAME(span);

BH_INLINE void NAME(begin)(const int nt, const int how, const NAME(span) * at, VECTOR tx[], VECTOR ty[], VECTOR tz[],
                           NAME(sums) * s)
{
    const double *const x[3] = {at->targets->x + at->t, at->targets->y + at->t, at->targets->z + at->t};
    VECTOR *const to[3] = {tx, ty, tz};

    for (int k = 0; k < 3; k++) {
        if (how & BY_LANES) {
            const VECTOR place = PLACE_LANES(at->r, x[k], at->frame->per_length, at->frame->shift[k]);
            for (int j = 0; j < nt; j++) {
                to[k][j] = place;
            }
        } else {
            NAME(place)(nt, at->frame, k, x[k], to[k]);
        }
    }
    for (int j = 0; j < nt; j++) {
        s->x[j] = s->y[j] = s->z[j] = s->p[j] = V(setzero)();
    }
}

static inline VECTOR NAME(sum_of)(const VECTOR of[BH_AT_ONCE])
{
    return V(add)(V(add)(of[0], of[1]), V(add)(of[2], of[3]));
}

BH_INLINE void NAME(end)(const int nt, const int how, const NAME(span) * at, const NAME(sums) * s)
{
    const bh_frame *frame = at->frame;
    const bh_targets *to = at->targets;

    if (how & BY_LANES) {
        ADD_LANES(at->r, NAME(sum_of)(s->x), OF_W3 * frame->acceleration, to->ax + at->t);
        ADD_LANES(at->r, NAME(sum_of)(s->y), OF_W3 * frame->acceleration, to->ay + at->t);
        ADD_LANES(at->r, NAME(sum_of)(s->z), OF_W3 * frame->acceleration, to->az + at->t);
        ADD_LANES(at->r, NAME(sum_of)(s->p), -OF_W * frame->potential, to->pot + at->t);
    } else {
        NAME(add_field)(nt, s, frame, to, at->t);
    }
}

/* Of the sources from i on: a vector of them, or one for each j. */
#define SOURCE(array, j) (how & BY_LANES ? V(set1)((array)[i + (j)]) : V(load)((array) + i))

BH_INLINE void NAME(points_at)(const int nt, const int how, const NAME(span) * at)
{
    const REAL *bx = at->of->POINTS.x, *by = at->of->POINTS.y, *bz = at->of->POINTS.z, *bm = at->of->POINTS.m;
    const VECTOR eps2 = V(set1)((REAL)at->frame->eps2), cutoff2 = V(set1)((REAL)at->frame->cutoff2);
    VECTOR tx[BH_AT_ONCE], ty[BH_AT_ONCE], tz[BH_AT_ONCE];
    NAME(sums) s;

    NAME(begin)(nt, how, at, tx, ty, tz, &s);
    for (int64_t i = 0; i < at->n; i += how & BY_LANES ? BH_AT_ONCE : LANES) {
        VECTOR dx[BH_AT_ONCE], dy[BH_AT_ONCE], dz[BH_AT_ONCE], d2[BH_AT_ONCE], w[BH_AT_ONCE];

        for (int j = 0; j < nt; j++) {
            dx[j] = V(sub)(SOURCE(bx, j), tx[j]);
            dy[j] = V(sub)(SOURCE(by, j), ty[j]);
            dz[j] = V(sub)(SOURCE(bz, j), tz[j]);
            if (how & WITHIN) {
                d2[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(mul)(dz[j], dz[j])));
                w[j] = V(add)(d2[j], eps2);
            } else {
                w[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(fmadd)(dz[j], dz[j], eps2)));
            }
        }
        if (how & WITHIN) {
            VECTOR nearest = d2[0];
            for (int j = 1; j < nt; j++) {
                nearest = V(min)(nearest, d2[j]);
            }
            if (NAME(none_below)(nearest, cutoff2)) {
                continue;
            }
        }
        for (int j = 0; j < nt; j++) {
            w[j] = how & BARE ? NAME(inverse_bare)(w[j]) : NAME(inverse)(w[j]);
            w[j] = how & WITHIN ? NAME(where_below)(w[j], d2[j], cutoff2) : w[j];
        }
        for (int j = 0; j < nt; j++) {
            const VECTOR potential = V(mul)(SOURCE(bm, j), w[j]), weight = V(mul)(potential, V(mul)(w[j], w[j]));
            s.p[j] = V(add)(s.p[j], potential);
            s.x[j] = V(fmadd)(weight, dx[j], s.x[j]);
            s.y[j] = V(fmadd)(weight, dy[j], s.y[j]);
            s.z[j] = V(fmadd)(weight, dz[j], s.z[j]);
        }
    }
    NAME(end)(nt, how, at, &s);
}

BH_INLINE void NAME(bodies_at)(const int nt, const int how, const NAME(span) * at)
{
    const VECTOR eps2 = V(set1)((REAL)at->frame->eps2);
    VECTOR tx[BH_AT_ONCE], ty[BH_AT_ONCE], tz[BH_AT_ONCE];
    NAME(sums) s;

    NAME(begin)(nt, how, at, tx, ty, tz, &s);
    for (int64_t i = 0; i < at->n; i += how & BY_LANES ? BH_AT_ONCE : LANES) {
        VECTOR dx[BH_AT_ONCE], dy[BH_AT_ONCE], dz[BH_AT_ONCE], w[BH_AT_ONCE];
        VECTOR qx[BH_AT_ONCE], qy[BH_AT_ONCE], qz[BH_AT_ONCE];
#define LOAD(what) SOURCE(at->of->BODIES.what, j)
        for (int j = 0; j < nt; j++) {
            dx[j] = V(sub)(LOAD(x), tx[j]);
            dy[j] = V(sub)(LOAD(y), ty[j]);
            dz[j] = V(sub)(LOAD(z), tz[j]);
            w[j] = V(fmadd)(dx[j], dx[j], V(fmadd)(dy[j], dy[j], V(fmadd)(dz[j], dz[j], eps2)));
        }
        for (int j = 0; j < nt; j++) {
            w[j] = how & BARE ? NAME(inverse_bare)(w[j]) : NAME(inverse)(w[j]);
        }
        for (int j = 0; j < nt; j++) {
            qx[j] = V(fmadd)(LOAD(qxz), dz[j], V(fmadd)(LOAD(qxy), dy[j], V(mul)(LOAD(qxx), dx[j])));
            qy[j] = V(fmadd)(LOAD(qyz), dz[j], V(fmadd)(LOAD(qyy), dy[j], V(mul)(LOAD(qxy), dx[j])));
            qz[j] = V(fmadd)(LOAD(qzz), dz[j], V(fmadd)(LOAD(qyz), dy[j], V(mul)(LOAD(qxz), dx[j])));
        }
        for (int j = 0; j < nt; j++) {
            const VECTOR w2 = V(mul)(w[j], w[j]), w3 = V(mul)(w2, w[j]), w5 = V(mul)(w3, w2);
            const VECTOR q = V(fmadd)(dx[j], qx[j], V(fmadd)(dy[j], qy[j], V(fmadd)(dz[j], qz[j], LOAD(trace))));
            const VECTOR g = V(mul)(q, V(mul)(w2, w2));
            const VECTOR weight = V(mul)(w3, V(fmadd)(V(set1)(5 * (REAL)OF_G), g, LOAD(m)));
            s.p[j] = V(fmadd)(w[j], V(fmadd)(V(set1)((REAL)OF_G), g, LOAD(m)), s.p[j]);
            s.x[j] = V(fnmadd)(w5, qx[j], V(fmadd)(weight, dx[j], s.x[j]));
            s.y[j] = V(fnmadd)(w5, qy[j], V(fmadd)(weight, dy[j], s.y[j]));
            s.z[j] = V(fnmadd)(w5, qz[j], V(fmadd)(weight, dz[j], s.z[j]));
        }
#undef LOAD
    }
    NAME(end)(nt, how, at, &s);
}
#undef SOURCE

BH_INLINE void NAME(field_at)(const bool bodies, const int nt, const int how, NAME(span) * at, int64_t r)
{
    at->r = r;
    if (bodies) {
        NAME(bodies_at)(nt, how, at);
    } else {
        NAME(points_at)(nt, how, at);
    }
    at->t += r;
}

BH_INLINE void NAME(field)(const bool bodies, const int how, const bh_block *of, int64_t n, const bh_frame *frame,
                           const bh_targets *targets)
{
    const int64_t each = how & BY_LANES ? LANES : BH_AT_ONCE;
    NAME(span) at = {.of = of, .n = n, .frame = frame, .targets = targets};

    while (at.t + each <= targets->n) {
        NAME(field_at)(bodies, BH_AT_ONCE, how, &at, each);
    }
    if (how & BY_LANES) {
        if (at.t < targets->n) {
            NAME(field_at)(bodies, BH_AT_ONCE, how, &at, targets->n - at.t);
        }
        return;
    }
    if (at.t + 2 <= targets->n) {
        NAME(field_at)(bodies, 2, how, &at, 2);
    }
    if (at.t < targets->n) {
        NAME(field_at)(bodies, 1, how, &at, 1);
    }
}

static __attribute__((noinline)) void NAME(points_within)(const bh_block *of, int64_t n, const bh_frame *frame,
                                                          const bh_targets *targets)
{
    NAME(field)(false, MAY_BE_BARE | WITHIN, of, n, frame, targets);
}

static void NAME(points)(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    if (frame->cutoff2 > 0) {
        NAME(points_within)(of, n, frame, targets);
    } else if (short_list(n, targets->n, BH_POINTS_OF_A_SUM)) {
        NAME(field)(false, BY_LANES, of, n, frame, targets);
    } else if (MAY_BE_BARE && frame->bare) {
        NAME(field)(false, BARE, of, n, frame, targets);
    } else {
        NAME(field)(false, 0, of, n, frame, targets);
    }
}

static void NAME(bodies)(const bh_block *of, int64_t n, const bh_frame *frame, const bh_targets *targets)
{
    if (short_list(n, targets->n, BH_BODIES_OF_A_SUM)) {
        NAME(field)(true, BY_LANES, of, n, frame, targets);
    } else if (MAY_BE_BARE && frame->bare) {
        NAME(field)(true, BARE, of, n, frame, targets);
    } else {
        NAME(field)(true, 0, of, n, frame, targets);
    }
}

#if SINGLE
static int64_t put_points_mixed(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                bh_cursor *at, bool *fits)
{
    bh_points_mixed *to = &block->points_mixed;
    const bh_cursor begin = *at;
    const double l = frame->per_length;
    const PART sign = PV(set1)(-0.0f);
    PART length = PV(setzero)(), most_mass = length;
    run_reader reader = read_runs(list, at);
    int64_t first, count, place;
    unsigned light = 0;

    while (next_run(&reader, &first, &count, &place)) {
        for (int64_t i = 0; i < count; i += PART_LANES) {
            const PART x = place_part(count - i, from->x + first + i, l, frame->shift[0]);
            const PART y = place_part(count - i, from->y + first + i, l, frame->shift[1]);
            const PART z = place_part(count - i, from->z + first + i, l, frame->shift[2]);
            const PART m = place_part(count - i, from->m + first + i, frame->per_mass, 0);
            PV(storeu)(to->x + place + i, x);
            PV(storeu)(to->y + place + i, y);
            PV(storeu)(to->z + place + i, z);
            PV(storeu)(to->m + place + i, m);
            length = PV(max)(PV(max)(length, PV(andnot)(sign, x)), PV(max)(PV(andnot)(sign, y), PV(andnot)(sign, z)));
            most_mass = PV(max)(most_mass, m);
            light |= light_part(count - i, m);
        }
    }
    float *const of[4] = {to->x, to->y, to->z, to->m};
    for (int k = 0; k < 4; k++) {
        V(storeu)(of[k] + reader.filled, V(setzero)());
    }
    const int large = PV(movemask)(PV(cmp)(length, PV(set1)(BH_MIXED_MOST_LENGTH), _CMP_NLE_UQ)) |
                      PV(movemask)(PV(cmp)(most_mass, PV(set1)(BH_MIXED_MOST_MASS), _CMP_NLE_UQ));
    *fits = *fits && large == 0 && (light == 0 || masses_fit(frame, from, list, &begin));
    return read_end(&reader, at);
}
#else
/* Copies particles as they are, in whole vectors: what is behind a run is overwritten by the next or by 0. */
static int64_t put_points_double(bh_block *block, const bh_frame *frame, const bh_sources *from, const bh_list *list,
                                 bh_cursor *at, bool *fits)
{
    const double *const source[4] = {from->x, from->y, from->z, from->m};
    double *const to[4] = {block->points.x, block->points.y, block->points.z, block->points.m};
    run_reader reader = read_runs(list, at);
    int64_t first, count, place;

    (void)frame;
    (void)fits;
    while (next_run(&reader, &first, &count, &place)) {
        for (int64_t i = 0; i < count; i += LANES) {
            for (int k = 0; k < 4; k++) {
                V(storeu)(to[k] + place + i, load_first(count - i, source[k] + first + i));
            }
        }
    }
    for (int k = 0; k < 4; k++) {
        V(storeu)(to[k] + reader.filled, V(setzero)());
    }
    return read_end(&reader, at);
}

#undef SINGLE
#undef VECTOR
#undef LANES
#undef V
#undef REAL
#undef POINTS
#undef BODIES
#undef MAY_BE_BARE
#undef NAME
#undef OF_W
#undef OF_W3
#undef OF_G
#undef PLACE_LANES
#undef ADD_LANES
#undef short_list
#endif
