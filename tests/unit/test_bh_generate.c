/* SPDX-License-Identifier: BSD-3-Clause */
#include "bh_bodies.h"
#include "slow.h"

static double *sorted_radii(const bodies *all)
{
    double *r = malloc((size_t)all->n * sizeof *r);

    assert_non_null(r);
    for (int64_t i = 0; i < all->n; i++) {
        r[i] = sqrt(all->at[X][i] * all->at[X][i] + all->at[Y][i] * all->at[Y][i] + all->at[Z][i] * all->at[Z][i]);
    }
    qsort(r, (size_t)all->n, sizeof *r, compare_doubles);
    return r;
}

static bh_sums sums_of_some(const bodies *all, int64_t first, int64_t n, double eps)
{
    bodies some = {n, eps, {0}};

    for (int k = 0; k < COLUMNS; k++) {
        some.at[k] = all->at[k] + first;
    }
    direct_forces(&some);
    return sums_of(&some);
}

static const char *const kinds[] = {
    "plummer:n=1001",
    "hernquist:n=1000,a=0.3,seed=5",
    "disks:n=1003,ratio=0.3,inclination=75",
    "clusters:n=1000,haloes=37,slope=1",
    "clusters:n=20,haloes=300",
    "uniform:n=999,sigma=0.2",
    "uniform:n=999,sigma=0.2,cube=1",
    "plummer:n=1",
    "clusters:n=3",
    "disks:n=100,ratio=0.1,pericentre=0",
};
enum { NKINDS = sizeof kinds / sizeof kinds[0] };

TEST(slices_are_parts_of_a_whole_of_mass_one_without_momentum)
{
    for (int kind = 0; kind < NKINDS; kind++) {
        const bh_generator generator = parse(kinds[kind]);
        FREED_BY(free_bodies) bodies all = generate(kinds[kind], 0);
        HEAP double *x = malloc((size_t)all.n * sizeof *x);
        bh_generator reseeded = generator;
        FREED_BY(free_bodies) bodies other = make_bodies(all.n, 0);
        double mass = 0, momentum[3] = {0, 0, 0}, size = 0;
        int64_t same = 0, alike = 0;
        for (int64_t parts = 1; parts <= 7; parts += 3) {
            for (int64_t part = 0; part < parts; part++) {
                const int64_t first = all.n * part / parts, n = all.n * (part + 1) / parts - first;
                FREED_BY(free_bodies) bodies some = make_bodies(n, 0);
                assert_ok(slice(&generator, first, n, some.at));
                for (int k = 0; k < INPUTS; k++) {
                    assert_memory_equal(some.at[k], all.at[k] + first, (size_t)n * sizeof(double));
                }
            }
        }
        reseeded.seed++;
        assert_ok(slice(&reseeded, 0, all.n, other.at));
        for (int64_t i = 0; i < all.n; i++) {
            alike += other.at[X][i] == all.at[X][i];
            for (int k = 0; k < INPUTS; k++) {
                assert_true(isfinite(all.at[k][i]));
            }
            assert_true(all.at[M][i] > 0);
            mass += all.at[M][i];
            for (int k = 0; k < 3; k++) {
                momentum[k] += all.at[M][i] * all.at[VX + k][i];
                size += all.at[M][i] * fabs(all.at[VX + k][i]);
            }
        }
        assert_true(kind >= 7 || alike < 10); /* particles at the centre of an odd component */
        assert_near(mass, 1, 1e-12);
        for (int k = 0; k < 3; k++) {
            assert_near(momentum[k], 0, 1e-13 * size);
        }
        assert_non_null(x);
        memcpy(x, all.at[X], (size_t)all.n * sizeof *x);
        qsort(x, (size_t)all.n, sizeof *x, compare_doubles);
        for (int64_t i = 1; i < all.n; i++) {
            same += x[i] == x[i - 1];
        }
        assert_true(kind >= 7 || same <= (kind == 4 ? 20 : 0)); /* a halo of one particle has it at the center */
    }
}

/* Lagrangian radii against the truncated mass profile M(r) of the sphere. A fraction f of n random pairs has the
 * standard deviation sqrt(f (1 - f) 2 / n); four of these are allowed. */
static void check_profile(const char *text, double (*inside)(double s), double a, double limit)
{
    static const double fraction[] = {0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98};
    FREED_BY(free_bodies) bodies all = generate(text, 0);
    HEAP double *r = sorted_radii(&all);

    assert_true(r[all.n - 1] <= limit * a * (1 + 1e-12));
    for (int i = 0; i < 7; i++) {
        double f = fraction[i];
        double found = inside(r[(int64_t)(f * (double)all.n)] / a) / inside(limit);
        assert_near(found, f, 4 * sqrt(2 * f * (1 - f) / (double)all.n));
    }
}

static double inside_plummer(double s)
{
    return pow(1 + 1 / (s * s), -1.5);
}

static double inside_hernquist(double s)
{
    return pow(s / (1 + s), 2);
}

TEST(spheres_have_their_mass_profiles)
{
    SKIP_IF(slow_here());
    check_profile("plummer:n=100000,a=2,rmax=1000", inside_plummer, 2, 1000);
    check_profile("plummer:n=100000,a=0.5,rmax=3", inside_plummer, 0.5, 3);
    check_profile("hernquist:n=100000,a=3,rmax=1000", inside_hernquist, 3, 1000);
    check_profile("hernquist:n=100000,rmax=20,seed=8", inside_hernquist, 1, 20);
}

TEST(directions_are_isotropic)
{
    SKIP_IF(slow_here());
    static const char *const text[] = {"plummer:n=50000", "hernquist:n=50000", "uniform:n=50000,sigma=1"};

    for (int i = 0; i < 3; i++) {
        FREED_BY(free_bodies) bodies all = generate(text[i], 0);
        for (int what = X; what <= VX; what += 3) {
            double mean[3] = {0}, square[3] = {0}, cross = 0;
            for (int64_t j = 0; j < all.n; j++) {
                double u[3], size = 0;
                for (int k = 0; k < 3; k++) {
                    u[k] = all.at[what + k][j];
                    size += u[k] * u[k];
                }
                for (int k = 0; k < 3; k++) {
                    mean[k] += u[k] / sqrt(size) / (double)all.n;
                    square[k] += u[k] * u[k] / size / (double)all.n;
                }
                cross += u[0] * u[1] / size / (double)all.n;
            }
            for (int k = 0; k < 3; k++) { /* deviations: 0.0026 and 0.0013, the latter larger for mates */
                assert_near(mean[k], 0, 0.013);
                assert_near(square[k], 1 / 3.0, 0.008);
            }
            assert_near(cross, 0, 0.008);
        }
    }
}

/* <v^2> at radius s a against the isotropic Jeans equation: Plummer M / (2 sqrt(r^2 + a^2)); Hernquist (1990), eq. 10.
 */
static double square_plummer(double s)
{
    return 0.5 / sqrt(1 + s * s);
}

static double square_hernquist(double s)
{
    return 0.25 * (12 * s * pow(1 + s, 3) * log1p(1 / s) - s / (1 + s) * (25 + 52 * s + 42 * s * s + 12 * s * s * s));
}

static void check_dispersion(const char *text, double (*square)(double s))
{
    FREED_BY(free_bodies) bodies all = generate(text, 0);
    double sum[3] = {0}, wanted[3] = {0}, count[3] = {0};

    for (int64_t i = 0; i < all.n; i++) {
        double r2 = 0, v2 = 0;
        for (int k = 0; k < 3; k++) {
            r2 += all.at[X + k][i] * all.at[X + k][i];
            v2 += all.at[VX + k][i] * all.at[VX + k][i];
        }
        int shell = r2 < 0.25 ? 0 : r2 < 4 ? 1 : 2;
        sum[shell] += v2;
        wanted[shell] += square(sqrt(r2));
        count[shell]++;
    }
    for (int shell = 0; shell < 3; shell++) {
        assert_true(count[shell] > 2000);
        assert_near(sum[shell] / wanted[shell], 1, 6 / sqrt(count[shell]));
    }
}

TEST(speeds_follow_from_the_jeans_equation)
{
    SKIP_IF(slow_here());
    check_dispersion("plummer:n=50000,a=1,rmax=1000", square_plummer);
    check_dispersion("hernquist:n=50000,a=1,rmax=100", square_hernquist);
}

/* Two galaxies, each bound and near equilibrium, on a mutual parabola, spinning. */
TEST(disks_are_two_galaxies_on_a_parabola)
{
    SKIP_IF(slow_here());
    FREED_BY(free_bodies) bodies all = generate("disks:n=9000,ratio=0.5,separation=30,pericentre=3,inclination=40", 0);
    bh_sums one = sums_of_some(&all, 0, 6000, 0.02), two = sums_of_some(&all, 6000, 3000, 0.02);
    double d = 0, v2 = 0, dx[3], dv[3];

    assert_near(one.mass, 2 / 3.0, 1e-12);
    assert_near(two.mass, 1 / 3.0, 1e-12);
    for (int k = 0; k < 3; k++) {
        dx[k] = one.moment[k] / one.mass - two.moment[k] / two.mass;
        dv[k] = one.momentum[k] / one.mass - two.momentum[k] / two.mass;
        d += dx[k] * dx[k];
        v2 += dv[k] * dv[k];
    }
    d = sqrt(d);
    assert_near(d, 30, 0.7);
    assert_near(v2, 2 / 30.0, 1e-10);
    assert_true(dx[0] * dv[0] + dx[1] * dv[1] + dx[2] * dv[2] < 0); /* they approach */
    double spin = 30 * dv[1];                                       /* exact positions differ by (30, 0, 0) */
    assert_near(spin * spin / 2, 3, 1e-10);
    /* The bulk motion is subtracted: it adds to the kinetic energy, and only rounding to x.a. */
    double inner = one.kinetic - 0.5 *
                                     (one.momentum[0] * one.momentum[0] + one.momentum[1] * one.momentum[1] +
                                      one.momentum[2] * one.momentum[2]) /
                                     one.mass;
    assert_near(-2 * inner / one.virial, 1, 0.12);
}

/* The first 40 % of a galaxy are its disc: thin, exponential, rotating. Ratio 1 and inclination 0: in the plane z =
 * 0. */
TEST(discs_are_thin_exponential_and_rotate)
{
    SKIP_IF(slow_here());
    FREED_BY(free_bodies) bodies all = generate("disks:n=50000,inclination=0,separation=1000,pericentre=0", 0);
    const int64_t n = 10000;
    HEAP double *radius = malloc(n * sizeof *radius);
    double height = 0, spin = 0, speed = 0;

    assert_non_null(radius);
    for (int64_t i = 0; i < n; i++) {
        double x = all.at[X][i] - 500, y = all.at[Y][i], z = all.at[Z][i];
        double vx = all.at[VX][i] + 0.5 * sqrt(2 / 1000.0), vy = all.at[VY][i];
        radius[i] = hypot(x, y);
        height += z * z / (double)n;
        spin += (x * vy - y * vx) / radius[i] / (double)n;
        speed += hypot(vx, vy) / (double)n;
    }
    qsort(radius, (size_t)n, sizeof *radius, compare_doubles);
    assert_near(radius[n / 2], 1.678, 0.06);        /* (1 + r) exp(-r) = 1/2 */
    assert_near(height, 0.04 * 9.8696 / 12, 0.002); /* of sech^2(z / 0.2) */
    assert_true(spin > 0.9 * speed);
}

/* Particles of a halo are consecutive; a jump wider than any halo begins the next one. */
static int64_t halo_masses(const char *text, double *mass, int64_t most)
{
    FREED_BY(free_bodies) bodies all = generate(text, 0);
    int64_t n = 0, begin = 0;

    for (int64_t i = 1; i <= all.n; i++) {
        double jump = i == all.n ? INFINITY
                                 : hypot(hypot(all.at[X][i] - all.at[X][i - 1], all.at[Y][i] - all.at[Y][i - 1]),
                                         all.at[Z][i] - all.at[Z][i - 1]);
        if (jump > 0.05) {
            assert_true(n < most);
            mass[n++] = (double)(i - begin) / (double)all.n;
            begin = i;
        }
    }
    return n;
}

/* Maximum likelihood for a power law between limits: the mean of log M has its expected value. */
TEST(cluster_masses_follow_the_power_law)
{
    SKIP_IF(slow_here());
    static const double slope[] = {1.9, 1.0, 2.5};
    static double mass[5100];

    for (int i = 0; i < 3; i++) {
        char text[128];
        snprintf(text, sizeof text, "clusters:n=400000,haloes=5000,range=30,slope=%g,seed=3", slope[i]);
        int64_t n = halo_masses(text, mass, 5100);
        assert_true(n > 4970 && n <= 5000); /* consecutive haloes may touch */
        double least = INFINITY, mean = 0, square = 0;
        for (int64_t h = 0; h < n; h++) {
            least = fmin(least, mass[h]);
        }
        for (int64_t h = 0; h < n; h++) {
            mean += log(mass[h] / least) / (double)n;
        }
        /* y = log M has the density exp((1 - slope) y) on [0, log 30]; its mean and a bound of the deviation. */
        double top = log(30), rate = slope[i] - 1;
        double wanted = rate == 0 ? top / 2 : 1 / rate - top * exp(-rate * top) / (1 - exp(-rate * top));
        square = fmin(top * top / 12, rate == 0 ? INFINITY : 1 / (rate * rate));
        assert_near(mean, wanted, 3.5 * sqrt(square / (double)n) + 0.03);
    }
}

TEST(uniform_bodies_are_uniform)
{
    FREED_BY(free_bodies)
    bodies ball = generate("uniform:n=40000,radius=2", 0),
           cube = generate("uniform:n=40000,radius=2,cube=1,sigma=0.5", 0);
    double *r = sorted_radii(&ball), inside = 0, v2 = 0;

    assert_true(r[39999] <= 2);
    for (int i = 1; i < 10; i++) {
        assert_near(pow(r[4000 * i] / 2, 3), 0.1 * i, 0.012);
    }
    for (int64_t i = 0; i < cube.n; i++) {
        bool in = true;
        for (int k = 0; k < 3; k++) {
            assert_true(fabs(cube.at[X + k][i]) <= 2);
            in = in && fabs(cube.at[X + k][i]) <= 1;
            v2 += cube.at[VX + k][i] * cube.at[VX + k][i] / (double)(3 * cube.n);
            assert_true(ball.at[VX + k][i] == 0);
        }
        inside += in;
    }
    assert_near(inside / (double)cube.n, 0.125, 0.007);
    assert_near(v2, 0.25, 0.006);
    free(r);
}

/* Keys have defaults within their ranges, and values beyond these are refused. */
TEST(kinds_have_keys_with_defaults_and_ranges)
{
    for (int i = 0; i < bh_generators.nkinds; i++) {
        const app_recipe_kind *kind = &bh_generators.kind[i];
        const bh_generator made = parse(kind->name);
        assert_true(made.kind == kind && !made.seeded);
        assert_true(strlen(kind->help) > 10 && strcmp(kind->key[0].name, "n") == 0);
        for (int k = 0; k < kind->nkeys; k++) {
            const app_recipe_key *key = &kind->key[k];
            const double value[4] = {key->least, key->most, key->least - 1, 1.1 * key->most + 1};
            assert_true(made.value[k] == key->value && strlen(key->help) > 3);
            assert_true(key->value >= key->least && key->value <= key->most);
            for (int other = 0; other < k; other++) {
                assert_string_not_equal(key->name, kind->key[other].name);
            }
            for (int v = 0; v < 4; v++) {
                char text[128];
                bh_generator read = made;
                eqp_message message = {""};
                snprintf(text, sizeof text, "%s:%s=%.17g", kind->name, key->name, value[v]);
                assert_int_equal(bh_generator_parse(text, &read, &message), v < 2 ? EQP_OK : EQP_ERR_ARGUMENT);
                assert_true(v < 2 || (memcmp(&made, &read, sizeof made) == 0 && strstr(message.text, key->name)));
            }
        }
    }
    const bh_generator made = parse("clusters:slope=2.5,n=1e4,seed=9007199254740992,box=0x10");
    assert_int_equal(bh_generator_count(&made), 10000);
    assert_true(made.seeded && made.seed == (uint64_t)1 << 53);
    assert_true(made.value[2] == 2.5 && made.value[4] == 16);
}

TEST(nonsense_is_refused_with_one_line)
{
    static const char *const unknown[] = {
        "",        "plummer:=3",   ":",        "plummer,n=3",   "plumme",   "plummer:n=3,",
        "Plummer", "plummer:,n=3", "plummers", "plummer:box=3", "plummer:", "\n\x01very-long-very-long-very-long"};
    static const char *const wrong[] = {
        "plummer:n",       "plummer:n=",       "plummer:n= 3",          "plummer:n=3 ",
        "plummer:n=3:a=1", "plummer:n=3.5",    "plummer:n=nan",         "plummer:a=inf",
        "plummer:n=3,n=3", "plummer:seed=-1",  "plummer:seed=0.5",      "plummer:n=99999999999999999999",
        "disks:n=99",      "uniform:cube=0.5", "plummer:seed=1,seed=1",
    };

    for (int i = 0; i < COUNT_OF(unknown) + COUNT_OF(wrong); i++) {
        const bool known = i >= COUNT_OF(unknown);
        const char *text = known ? wrong[i - COUNT_OF(unknown)] : unknown[i];
        bh_generator made = {0};
        eqp_message message = {""};
        if (bh_generator_parse(text, &made, &message) != (known ? EQP_ERR_ARGUMENT : EQP_ERR_UNKNOWN)) {
            fail_msg("'%s' is not refused", text);
        }
        assert_null(made.kind);
        assert_true(message.text[0] != '\0' && strchr(message.text, '\n') == NULL);
    }
}
