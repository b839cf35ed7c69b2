/* SPDX-License-Identifier: BSD-3-Clause */
/* Divisions by random models: shares sum to n, none is negative, times are equal; curves between the points. */
#include "models/speeds.h"
#include "slow.h"
#include "unit.h"

FREES(eqp_speeds, eqp_speeds_free)

enum { MODELS = 1000, MOST_RANKS = 16 };

static int64_t sum_of(int n, const int64_t *share)
{
    int64_t sum = 0;

    for (int r = 0; r < n; r++) {
        assert_true(share[r] >= 0);
        sum += share[r];
    }
    return sum;
}

static int some(int n)
{
    return slow_here() ? n / 10 : n;
}

/* A random model of every rank: some points, of any shape, over five orders of speed. */
static eqp_speeds *make_random(eqp_speeds_kind kind, int nranks, double n, uint64_t *seed)
{
    eqp_speeds *speeds = NULL;

    assert_ok(eqp_speeds_create(kind, nranks, n, &speeds));
    for (int r = 0; r < nranks; r++) {
        const int npoints = 1 + (int)(noise(seed) * 12.0);
        const double level = exp(12.0 * noise(seed) - 6.0);

        for (int i = 0; i < npoints; i++) {
            const double size = floor(n * noise(seed) * noise(seed)) + 1.0;
            assert_ok(eqp__speeds_add(speeds, r, size, size / (level * exp(3.0 * noise(seed)))));
        }
    }
    return speeds;
}

/* All ranks take equal times. One rank may finish early at a peak of a spline's time, where no size takes the common
 * time. */
static void assert_equal_times(const eqp_speeds *speeds, int nranks, const double *size)
{
    double seconds[MOST_RANKS], most = 0.0;
    int early = 0;

    for (int r = 0; r < nranks; r++) {
        double speed;

        assert_ok(eqp__speeds_speed(speeds, r, size[r], &speed));
        seconds[r] = size[r] / speed;
        most = fmax(most, seconds[r]);
    }
    for (int r = 0; r < nranks; r++) {
        early += seconds[r] < most * (1.0 - 2e-6);
    }
    assert_in_range(early, 0, speeds->kind == EQP_SPEEDS_AKIMA);
}

static void divide_random_models(eqp_speeds_kind kind)
{
    uint64_t seed = 1;
    double size[MOST_RANKS];
    int64_t share[MOST_RANKS];

    for (int i = 0; i < some(MODELS); i++) {
        const int nranks = 2 + (int)(noise(&seed) * (MOST_RANKS - 2));
        const double n = floor(exp(10.0 * noise(&seed) + 3.0));
        FREED(eqp_speeds) *speeds = make_random(kind, nranks, n, &seed);
        double sum = 0.0;

        assert_ok(eqp__speeds_divide(speeds, size));
        for (int r = 0; r < nranks; r++) {
            assert_true(size[r] > 0.0);
            sum += size[r];
        }
        assert_near(sum, n, 1e-9 * n);
        assert_equal_times(speeds, nranks, size);
        assert_ok(eqp_speeds_share(speeds, share));
        assert_true(sum_of(nranks, share) == (int64_t)n);
        for (int r = 0; r < nranks; r++) {
            assert_true(fabs((double)share[r] - size[r]) < 1.0 + 1e-9 * n);
        }
    }
}

TEST(models_take_equal_times)
{
    for (eqp_speeds_kind kind = EQP_SPEEDS_CONSTANT; kind <= EQP_SPEEDS_AKIMA; kind++) {
        divide_random_models(kind);
    }
}

static void shuffle(uint64_t *seed, int n, eqp__speed_point *point)
{
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)(noise(seed) * (i + 1));
        const eqp__speed_point swap = point[i];
        point[i] = point[j];
        point[j] = swap;
    }
}

/* A function of the shape of section 5.2 from random increments, concave up to its top, and the knots in random
 * order. */
static int make_shaped(uint64_t *seed, eqp__speed_point *point)
{
    const int n = 3 + (int)(noise(seed) * 20.0), top = (int)(noise(seed) * n);
    double slope = 5.0 * noise(seed);

    point[0] = (eqp__speed_point){10.0 + 10.0 * noise(seed), 200.0};
    for (int i = 1; i < n; i++) {
        const double h = 1.0 + 9.0 * noise(seed);
        slope = i <= top ? slope * noise(seed) : -point[i - 1].speed / h * 0.5 * noise(seed);
        point[i].size = point[i - 1].size + h;
        point[i].speed = point[i - 1].speed + slope * h;
    }
    shuffle(seed, n, point);
    return n;
}

TEST(points_of_the_right_shape_are_never_moved)
{
    uint64_t seed = 11;
    eqp__speed_point point[EQP_SPEEDS_POINTS];
    eqp__curve curve;

    for (int i = 0; i < some(2000); i++) {
        const int n = make_shaped(&seed, point);

        eqp__curve_piecewise(&curve, n, point);
        for (int k = 0; k < n; k++) {
            assert_near(eqp__curve_speed(&curve, point[k].size), point[k].speed, 1e-9 * point[k].speed);
        }
    }
}

static void assert_shape(const eqp__curve *c)
{
    bool falls = false;
    double before = INFINITY;

    for (int j = 0; j + 1 < c->n; j++) {
        const double slope = (c->s[j + 1] - c->s[j]) / (c->x[j + 1] - c->x[j]), slack = 1e-9 * c->s[j] / c->x[j];

        assert_true(c->s[j] > 0.0 && c->s[j + 1] > 0.0 && c->x[j + 1] > c->x[j]);
        /* Time grows with size, so a line through the origin meets the curve once. */
        assert_true(c->x[j + 1] / c->s[j + 1] > c->x[j] / c->s[j]);
        if (falls) {
            assert_true(slope <= slack);
        } else if (slope > slack) {
            assert_true(slope <= before * (1.0 + 1e-9) + slack);
        }
        falls = falls || slope < -slack;
        before = slope;
    }
}

TEST(points_of_any_shape_are_moved_into_the_right_one)
{
    uint64_t seed = 12;
    eqp__speed_point point[EQP_SPEEDS_POINTS];
    eqp__curve curve;

    for (int i = 0; i < some(2000); i++) {
        const int n = 1 + (int)(noise(&seed) * EQP_SPEEDS_POINTS);

        for (int k = 0; k < n; k++) {
            point[k] = (eqp__speed_point){1.0 + k + 0.9 * noise(&seed), exp(6.0 * noise(&seed))};
        }
        shuffle(&seed, n, point);
        eqp__curve_piecewise(&curve, n, point);
        assert_int_equal(curve.n, n);
        assert_shape(&curve);
        /* The newest point is a knot. */
        assert_true(eqp__curve_speed(&curve, point[n - 1].size) == point[n - 1].speed);
    }
}

/* True if the curve still passes through its knots. */
static void assert_knots_stay(const eqp__curve *before, const eqp__curve *after)
{
    assert_in_range(after->n, before->n, before->n + EQP__CURVE_PLATEAUS);
    assert_true(after->n <= EQP__CURVE_KNOTS);
    for (int j = 0; j < before->n; j++) {
        assert_near(eqp__curve_speed(after, before->x[j]), before->s[j], 1e-9 * before->s[j]);
    }
}

/* Points that fall in steps, with many plateaus: the shape of section 5.2 is kept. */
TEST(plateaus_go_on_within_the_shape)
{
    uint64_t seed = 15;
    eqp__speed_point point[EQP_SPEEDS_POINTS];
    eqp__curve curve;
    int longer = 0, full = 0;

    for (int i = 0; i < some(2000); i++) {
        const int n = 1 + (int)(noise(&seed) * EQP_SPEEDS_POINTS);

        for (int k = 0; k < n; k++) {
            const double level = noise(&seed) < 0.3 ? 0.6 * noise(&seed) : 1.0 - 0.002 * noise(&seed);
            point[k].size = 1.0 + k + 0.9 * noise(&seed);
            point[k].speed = k > 0 ? point[k - 1].speed * level : 1000.0;
        }
        eqp__curve_piecewise(&curve, n, point);
        const eqp__curve before = curve;
        eqp__curve_extend_plateaus(&curve);
        assert_knots_stay(&before, &curve);
        assert_shape(&curve);
        longer += curve.n > before.n;
        full += curve.n >= before.n + EQP__CURVE_PLATEAUS - 1;
    }
    assert_true(longer > some(1000) && full > some(100));
}

TEST(splines_stay_positive_where_plateaus_go_on)
{
    uint64_t seed = 16;
    eqp__speed_point point[EQP_SPEEDS_POINTS];
    eqp__curve curve;

    for (int i = 0; i < some(1000); i++) {
        const int n = 1 + (int)(noise(&seed) * 30.0);

        for (int k = 0; k < n; k++) {
            point[k] = (eqp__speed_point){1.0 + k + 0.8 * noise(&seed), exp(5.0 * noise(&seed) * noise(&seed))};
        }
        eqp__curve_akima(&curve, n, point, 40.0 * noise(&seed));
        const eqp__curve before = curve;
        eqp__curve_extend_plateaus(&curve);
        assert_knots_stay(&before, &curve);
        for (double x = 0.0; x < 45.0; x += 0.01) {
            assert_true(eqp__curve_speed(&curve, x) > 0.0);
        }
    }
}

/* Plateaus grow into falls: between two plateaus the middle half is left, next to a slope 7/8, of a gentle fall all. */
TEST(plateaus_go_on_beside_falls_only)
{
    eqp__curve curve;

    eqp__curve_piecewise(&curve, 2, (const eqp__speed_point[]){{100, 50}, {180, 10}});
    eqp__curve_extend_plateaus(&curve);
    assert_near(eqp__curve_speed(&curve, 120), 50.0, 1e-12);
    assert_near(eqp__curve_speed(&curve, 140), 30.0, 1e-12);
    assert_near(eqp__curve_speed(&curve, 160), 10.0, 1e-12);
    eqp__curve_piecewise(&curve, 3, (const eqp__speed_point[]){{100, 50}, {140, 20}, {180, 10}});
    eqp__curve_extend_plateaus(&curve);
    assert_near(eqp__curve_speed(&curve, 105), 50.0, 1e-12);
    assert_near(eqp__curve_speed(&curve, 122.5), 35.0, 1e-12);
    assert_near(eqp__curve_speed(&curve, 157.5), 15.0, 1e-12);
    assert_near(eqp__curve_speed(&curve, 175), 10.0, 1e-12);
    eqp__curve_piecewise(&curve, 2, (const eqp__speed_point[]){{100, 50}, {180, 40}});
    eqp__curve_extend_plateaus(&curve);
    assert_int_equal(curve.n, 2);
    /* Neighbouring doubles as sizes. */
    eqp__curve_piecewise(&curve, 2, (const eqp__speed_point[]){{1.0, 50}, {nextafter(1.0, 2.0), 10}});
    eqp__curve_extend_plateaus(&curve);
    assert_int_equal(curve.n, 2);
}

/* Noise on a slow plateau, where the larger size is faster: points measured before the fall stay. */
TEST(noise_of_a_plateau_moves_no_older_point)
{
    const eqp__speed_point point[] = {{1000, 300}, {3000, 50.2}, {2000, 50.0}};
    eqp__curve curve;

    eqp__curve_piecewise(&curve, 3, point);
    assert_near(eqp__curve_speed(&curve, 1000), 300.0, 1e-12);
    assert_near(eqp__curve_speed(&curve, 2000), 50.0, 1e-12);
    assert_near(eqp__curve_speed(&curve, 3000), 50.0, 1e-12);
}

TEST(splines_pass_through_their_points_smooth_and_positive)
{
    uint64_t seed = 13;
    eqp__speed_point point[EQP_SPEEDS_POINTS];
    eqp__curve curve;

    for (int i = 0; i < some(200); i++) {
        const int n = 1 + (int)(noise(&seed) * 20.0);
        const double items = 30.0 * noise(&seed);

        for (int k = 0; k < n; k++) {
            point[k] = (eqp__speed_point){1.0 + k + 0.8 * noise(&seed), exp(12.0 * noise(&seed))};
        }
        eqp__curve_akima(&curve, n, point, items);
        for (int k = 0; k < n; k++) {
            const double x = point[k].size, h = 1e-6, at = eqp__curve_speed(&curve, x);

            assert_near(eqp__curve_speed(&curve, point[k].size), point[k].speed, 1e-9 * point[k].speed);
            /* One slope on both sides; slopes are of the order of the largest speed. */
            assert_near((eqp__curve_speed(&curve, x + h) - at) / h, (at - eqp__curve_speed(&curve, x - h)) / h,
                        1e-3 * exp(12.0));
        }
        for (double x = 0.0; x < 35.0; x += 0.05) {
            assert_true(eqp__curve_speed(&curve, x) > 0.0);
        }
    }
}

/* Speeds at opposite limits at neighbouring knots: every division terminates, and no speed is 0. */
TEST(speeds_may_be_orders_apart)
{
    uint64_t seed = 17;

    for (int world = 0; world < some(2000); world++) {
        const int nranks = 1 + (int)(noise(&seed) * 4.0), npoints = 1 + (int)(noise(&seed) * 8.0);
        const double decades = 59.0 * noise(&seed), n = 1.0 + floor(1000.0 * noise(&seed));
        double size[4], sum = 0.0, speed = 0.0;
        FREED(eqp_speeds) *speeds = NULL;

        assert_ok(eqp_speeds_create(world % 2 ? EQP_SPEEDS_AKIMA : EQP_SPEEDS_PIECEWISE, nranks, n, &speeds));
        for (int p = 0; p < nranks * npoints; p++) {
            const double items = 1.0 + floor(100.0 * noise(&seed));
            speed = pow(10.0, (noise(&seed) - 0.5) * decades);
            assert_ok(eqp__speeds_add(speeds, p % nranks, items, items / speed));
        }
        assert_ok(eqp__speeds_divide(speeds, size));
        for (int r = 0; r < nranks; r++) {
            assert_true(size[r] > 0.0 && isfinite(size[r]));
            sum += size[r];
            for (double at = 0.5; at < 110.0; at += 0.5) {
                assert_ok(eqp__speeds_speed(speeds, r, at, &speed));
                assert_true(speed > 0.0 && isfinite(speed));
            }
        }
        assert_near(sum, n, 1e-9 * n);
    }
}

/* Akima 1970: where the slopes of the two pieces on one side are equal, the curve takes that slope; the spline is local
 * and does not overshoot next to two flat pieces. */
TEST(a_spline_is_straight_where_its_points_are)
{
    const eqp__speed_point point[] = {{1, 10}, {2, 12}, {3, 14}, {4, 16}, {5, 3}, {6, 3}, {7, 3}, {8, 3}};
    eqp__curve curve;

    eqp__curve_akima(&curve, 8, point, 9);
    for (double u = 0.0; u <= 1.0; u += 0.125) {
        assert_near(eqp__curve_speed(&curve, 2.0 + u), 12.0 + 2.0 * u, 1e-12);
        assert_near(eqp__curve_speed(&curve, 6.0 + u), 3.0, 1e-12);
        assert_near(eqp__curve_speed(&curve, 8.0 + 2.0 * u), 3.0, 1e-12);
    }
}

/* Brute force: the first size on a fine grid that takes the time. */
TEST(the_size_of_a_time_is_the_first_one)
{
    uint64_t seed = 14;
    eqp__speed_point point[8];
    eqp__curve curve;

    for (int i = 0; i < some(200); i++) {
        for (int k = 0; k < 8; k++) {
            point[k] = (eqp__speed_point){1.0 + k, exp(3.0 * noise(&seed))};
        }
        if (i % 2) {
            eqp__curve_akima(&curve, 8, point, 10.0);
        } else {
            eqp__curve_piecewise(&curve, 8, point);
        }
        const double wanted = 4.0 * noise(&seed) + 0.01, step = 2e-3, size = eqp__curve_size(&curve, wanted);
        double x = 0.0;

        assert_near(eqp__curve_seconds(&curve, size), wanted, 1e-9 * wanted);
        while (eqp__curve_seconds(&curve, x + step) < wanted) {
            x += step;
        }
        assert_in_range((int64_t)((size - x) / step * 1000.0 + 1000.0), 999, 2001);
    }
}
