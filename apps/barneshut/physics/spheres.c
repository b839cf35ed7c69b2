/* SPDX-License-Identifier: BSD-3-Clause */
/* Random draws; Plummer and Hernquist spheres: positions from the mass profile, speeds from the exact distribution
 * function. */
#include "model.h"

#include <equipoise/more/random.h>

#include <math.h>
#include <stddef.h>

static double fraction_inside(bool cuspy, double s)
{
    return cuspy ? s * s / ((1.0 + s) * (1.0 + s)) : s * s * s / pow(1.0 + s * s, 1.5);
}

bh__sphere bh__sphere_make(bool cuspy, double scale, double limit, double mass)
{
    return (bh__sphere){cuspy, scale, limit, mass / fraction_inside(cuspy, limit / scale)};
}

double bh__sphere_mass(const bh__sphere *sphere, double r)
{
    return sphere->whole * fraction_inside(sphere->cuspy, fmin(r, sphere->limit) / sphere->scale);
}

double bh__sphere_density(const bh__sphere *sphere, double r)
{
    double s = r / sphere->scale;
    double unit = sphere->whole / (BH_PI * sphere->scale * sphere->scale * sphere->scale);

    if (r > sphere->limit) {
        return 0.0;
    }
    return sphere->cuspy ? 0.5 * unit / (s * pow(1.0 + s, 3.0)) : 0.75 * unit * pow(1.0 + s * s, -2.5);
}

double bh__sphere_draw_radius(const bh__sphere *sphere, bh__draw *draw)
{
    double u = bh__draw_uniform(draw) * fraction_inside(sphere->cuspy, sphere->limit / sphere->scale);

    if (sphere->cuspy) {
        return sphere->scale * sqrt(u) / (1.0 - sqrt(u));
    }
    return sphere->scale / sqrt(pow(u, -2.0 / 3.0) - 1.0);
}

/* Aarseth, Henon & Wielen (1974), appendix: speed / escape speed has the density x^2 (1 - x^2)^3.5, below 0.1. */
static double plummer_speed(double s, bh__draw *draw)
{
    double x, y;

    do {
        x = bh__draw_uniform(draw);
        y = 0.1 * bh__draw_uniform(draw);
    } while (y > x * x * pow(1.0 - x * x, 3.5));
    return x * sqrt(2.0) / pow(1.0 + s * s, 0.25);
}

/* The bracket of Hernquist (1990), eq. 17; it grows with q. */
static double hernquist_bracket(double q)
{
    double q2 = q * q;

    return 3.0 * asin(q) + q * sqrt(1.0 - q2) * (1.0 - 2.0 * q2) * (8.0 * q2 * q2 - 8.0 * q2 - 3.0);
}

/* Hernquist (1990), eq. 17: f is the bracket over (1 - q^2)^2.5 with q^2 the binding energy in units of M / a. With
 * x = speed / escape speed, q^2 = (1 - x^2) / (1 + s) and 1 - q^2 = (s + x^2) / (1 + s), so x^2 f is the density
 * x^2 (s + x^2)^-2.5, whose integral is invertible, times the bracket, which the rejection step takes care of. */
static double hernquist_speed(double s, bh__draw *draw)
{
    double most = hernquist_bracket(sqrt(1.0 / (1.0 + s)));
    double x, y;

    do {
        double t = cbrt(bh__draw_uniform(draw)) / sqrt(1.0 + s);
        x = fmin(sqrt(s) * t / sqrt(1.0 - t * t), 1.0);
        y = most * bh__draw_uniform(draw);
    } while (y > hernquist_bracket(sqrt((1.0 - x * x) / (1.0 + s))));
    return x * sqrt(2.0 / (1.0 + s));
}

double bh__sphere_draw_speed(const bh__sphere *sphere, double r, bh__draw *draw)
{
    double s = r / sphere->scale;
    double speed = sphere->cuspy ? hernquist_speed(s, draw) : plummer_speed(s, draw);

    return speed * sqrt(sphere->whole / sphere->scale);
}

void bh__sphere_particle(const bh_generator *generator, const bh__sphere *sphere, int64_t i, int64_t first,
                         int64_t count, bh_particle *particle)
{
    bh__mate mate = bh__mate_of(i, first, count);
    bh__draw shared = bh__draw_begin(generator, BH_DRAW_PAIR, mate.pair);
    bh__draw own = bh__draw_begin(generator, BH_DRAW_PARTICLE, i);
    double r = bh__sphere_draw_radius(sphere, &shared);

    bh__draw_direction(&own, mate.sign == 0.0 ? 0.0 : r, particle->x);
    bh__draw_direction(&shared, mate.sign * bh__sphere_draw_speed(sphere, r, &shared), particle->v);
}

static void make_sphere(const bh_generator *generator, const void *state, int64_t i, bh_particle *particle)
{
    const double scale = generator->value[BH_SPHERE_SCALE];
    const bool cuspy = generator->kind->how == &bh__hernquist;
    bh__sphere sphere = bh__sphere_make(cuspy, scale, scale * generator->value[BH_SPHERE_LIMIT], 1.0);

    (void)state;
    bh__sphere_particle(generator, &sphere, i, 0, bh_generator_count(generator), particle);
    particle->m = 1.0 / generator->value[BH_KEY_N];
}

/* Uniform in a ball or a cube about the origin. */
static void make_uniform(const bh_generator *generator, const void *state, int64_t i, bh_particle *particle)
{
    const double radius = generator->value[BH_UNIFORM_RADIUS];
    const double dispersion = generator->value[BH_UNIFORM_DISPERSION];
    bh__mate mate = bh__mate_of(i, 0, bh_generator_count(generator));
    bh__draw shared = bh__draw_begin(generator, BH_DRAW_PAIR, mate.pair);
    bh__draw own = bh__draw_begin(generator, BH_DRAW_PARTICLE, i);

    (void)state;
    if (generator->value[BH_UNIFORM_CUBE] != 0.0) {
        for (int k = 0; k < 3; k++) {
            particle->x[k] = radius * (2.0 * bh__draw_uniform(&own) - 1.0);
        }
    } else {
        bh__draw_direction(&own, radius * cbrt(bh__draw_uniform(&own)), particle->x);
    }
    for (int k = 0; k < 3; k++) {
        particle->v[k] = mate.sign * dispersion * bh__draw_normal(&shared);
        particle->x[k] *= fabs(mate.sign);
    }
    particle->m = 1.0 / generator->value[BH_KEY_N];
}

const bh__model bh__plummer = {NULL, make_sphere, NULL};
const bh__model bh__hernquist = {NULL, make_sphere, NULL};
const bh__model bh__uniform = {NULL, make_uniform, NULL};

/* Ids stay below this bit (see the range of n). The bits above separate the draws of different purposes from each other
 * and from streams of the same seed that are numbered by the id alone. */
#define PURPOSE_SHIFT 48

bh__draw bh__draw_begin(const bh_generator *generator, enum bh__purpose purpose, int64_t id)
{
    return (bh__draw){generator->seed, ((uint64_t)purpose + 1) << PURPOSE_SHIFT | (uint64_t)id, 0};
}

double bh__draw_uniform(bh__draw *draw)
{
    /* Never 0, since logarithms and negative powers follow. */
    return fmax(eqp_random_uniform(draw->seed, draw->id, draw->next++), 0x1p-54);
}

double bh__draw_normal(bh__draw *draw)
{
    double deviate[2];

    eqp_random_normal(draw->seed, draw->id, draw->next++, deviate);
    return deviate[0];
}

void bh__draw_direction(bh__draw *draw, double length, double v[3])
{
    double z = 2.0 * bh__draw_uniform(draw) - 1.0;
    double angle = 2.0 * BH_PI * bh__draw_uniform(draw);
    double across = sqrt(1.0 - z * z);

    v[0] = length * across * cos(angle);
    v[1] = length * across * sin(angle);
    v[2] = length * z;
}

bh__mate bh__mate_of(int64_t i, int64_t first, int64_t count)
{
    int64_t place = i - first;
    bool alone = place == count - 1 && place % 2 == 0;

    return (bh__mate){i - place % 2, alone ? 0.0 : place % 2 == 0 ? 1.0 : -1.0};
}

void bh__particle_shift(bh_particle *particle, const double x[3], const double v[3])
{
    for (int k = 0; k < 3; k++) {
        particle->x[k] += x[k];
        particle->v[k] += v[k];
    }
}
