/* SPDX-License-Identifier: BSD-3-Clause */
/* Two disc galaxies on a parabolic orbit. Each has an exponential disc, a Hernquist bulge and a Hernquist halo, set up
 * in the manner of Hernquist (1993): spheres with isotropic Gaussian velocities from the Jeans equation in the field of
 * all three, a disc with dispersions from Toomre's Q. The disc counts as spherical in the field. */
#include "model.h"

#include <equipoise/error.h>

#include <math.h>
#include <stdlib.h>

/* One galaxy in its own units: mass 1, disc scale length 1. */
#define DISC_MASS 0.16
#define BULGE_MASS 0.04
#define HALO_MASS 0.80
#define DISC_HEIGHT 0.2
#define DISC_LIMIT 8.0
#define BULGE_SCALE 0.2
#define BULGE_LIMIT 6.0
#define HALO_SCALE 4.0
#define HALO_LIMIT 20.0
#define TOOMRE_Q 1.5
#define TOOMRE_RADIUS 2.5    /* where the disc has this Q */
#define ESCAPE_FRACTION 0.95 /* no particle of a sphere is faster than this part of the escape speed */

/* Particles of a galaxy in tenths: more in the disc than its mass has, since that is what one looks at. */
#define DISC_TENTHS 4
#define BULGE_TENTHS 1

#define NODES 400 /* of the table, even in log r */
#define FIRST_NODE 1e-4

typedef struct galaxy {
    int64_t first, ndisc, nbulge, nhalo;
    double mass, length, tilt;
    double x[3], v[3];
} galaxy;

typedef struct disks {
    bh__sphere bulge, halo;
    double step;                                                          /* spacing of the nodes in log r */
    double bulge_square[NODES], halo_square[NODES], escape_square[NODES]; /* squares of dispersions and escape speed */
    double disc_dispersion;                                               /* radial, extrapolated to the centre */
    galaxy galaxy[2];
} disks;

static double disc_fraction_inside(double r)
{
    return 1.0 - (1.0 + r) * exp(-r);
}

static double mass_inside(const disks *state, double r)
{
    double disc = DISC_MASS * fmin(disc_fraction_inside(r) / disc_fraction_inside(DISC_LIMIT), 1.0);

    return disc + bh__sphere_mass(&state->bulge, r) + bh__sphere_mass(&state->halo, r);
}

static double node_radius(const disks *state, int64_t node)
{
    return FIRST_NODE * exp(state->step * (double)node);
}

/* Integrals from the outside in, trapezoidal in log r: density x sigma^2 (r) = int_r rho M / s^2 ds (Binney & Tremaine
 * 2008, eq. 4.216) and phi(r) = -int_r M / s^2 ds - M / limit. */
static void fill_table(disks *state)
{
    double bulge = 0.0, halo = 0.0, depth = mass_inside(state, HALO_LIMIT) / HALO_LIMIT;
    double last[3] = {0};

    for (int64_t node = NODES - 1; node >= 0; node--) {
        double r = node_radius(state, node);
        double pull = mass_inside(state, r) / r; /* times dlog r = times dr / r */
        double density[2] = {bh__sphere_density(&state->bulge, r), bh__sphere_density(&state->halo, r)};
        double now[3] = {density[0] * pull, density[1] * pull, pull};
        if (node < NODES - 1) {
            bulge += 0.5 * state->step * (now[0] + last[0]);
            halo += 0.5 * state->step * (now[1] + last[1]);
            depth += 0.5 * state->step * (now[2] + last[2]);
        }
        state->bulge_square[node] = density[0] > 0.0 ? bulge / density[0] : 0.0;
        state->halo_square[node] = density[1] > 0.0 ? halo / density[1] : 0.0;
        state->escape_square[node] = 2.0 * depth;
        for (int k = 0; k < 3; k++) {
            last[k] = now[k];
        }
    }
}

static double table_at(const disks *state, const double table[NODES], double r)
{
    double at = fmin(fmax(log(r / FIRST_NODE) / state->step, 0.0), (double)(NODES - 1));
    int64_t node = at < NODES - 2 ? (int64_t)at : NODES - 2;

    return table[node] + (at - (double)node) * (table[node + 1] - table[node]);
}

/* Circular and epicyclic frequencies squared, in the spherical field: Omega^2 = M / r^3, kappa^2 = Omega^2 + M' / r^2.
 */
static void frequencies(const disks *state, double r, double *omega2, double *kappa2)
{
    double disc = r < DISC_LIMIT ? DISC_MASS * r * exp(-r) / disc_fraction_inside(DISC_LIMIT) : 0.0;
    double density = bh__sphere_density(&state->bulge, r) + bh__sphere_density(&state->halo, r);

    *omega2 = mass_inside(state, r) / (r * r * r);
    *kappa2 = *omega2 + disc / (r * r) + 4.0 * BH_PI * density;
}

static double disc_surface_density(double r)
{
    return DISC_MASS / disc_fraction_inside(DISC_LIMIT) * exp(-r) / (2.0 * BH_PI);
}

/* The two galaxies as point masses on a parabola: speed^2 = 2 M / d, angular momentum^2 = 2 M pericentre. */
static void place_galaxies(const bh_generator *generator, disks *state)
{
    const double d = generator->value[BH_DISKS_SEPARATION], ratio = generator->value[BH_DISKS_RATIO];
    const double across = sqrt(2.0 * generator->value[BH_DISKS_PERICENTRE]) / d;
    const double along = -sqrt(2.0 / d - across * across);
    const double tilt = generator->value[BH_DISKS_INCLINATION] * BH_PI / 180.0;
    const int64_t n = bh_generator_count(generator), n0 = llround((double)n / (1.0 + ratio));

    for (int k = 0; k < 2; k++) {
        galaxy *one = &state->galaxy[k];
        int64_t count = k == 0 ? n0 : n - n0;
        double part = (k == 0 ? ratio : -1.0) / (1.0 + ratio); /* of the separation, from the centre of mass */
        one->first = k == 0 ? 0 : n0;
        one->ndisc = count * DISC_TENTHS / 10;
        one->nbulge = (count * BULGE_TENTHS + 9) / 10;
        one->nhalo = count - one->ndisc - one->nbulge;
        one->mass = (k == 0 ? 1.0 : ratio) / (1.0 + ratio);
        one->length = k == 0 ? 1.0 : sqrt(ratio);
        one->tilt = k == 0 ? tilt : -tilt;
        one->x[0] = part * d;
        one->v[0] = part * along;
        one->v[1] = part * across;
        one->x[1] = one->x[2] = one->v[2] = 0.0;
    }
}

static int open_disks(const bh_generator *generator, void **out)
{
    disks *state = malloc(sizeof *state);
    double omega2, kappa2;

    EQP_CHECK(state == NULL ? EQP_ERR_MEMORY : EQP_OK);
    state->bulge = bh__sphere_make(true, BULGE_SCALE, BULGE_LIMIT, BULGE_MASS);
    state->halo = bh__sphere_make(true, HALO_SCALE, HALO_LIMIT, HALO_MASS);
    state->step = log(HALO_LIMIT / FIRST_NODE) / (NODES - 1);
    fill_table(state);
    frequencies(state, TOOMRE_RADIUS, &omega2, &kappa2);
    state->disc_dispersion = TOOMRE_Q * 3.36 * disc_surface_density(TOOMRE_RADIUS) / sqrt(kappa2);
    state->disc_dispersion *= exp(0.5 * TOOMRE_RADIUS); /* it falls with exp(-r / 2), as the root of the density */
    place_galaxies(generator, state);
    *out = state;
    return EQP_OK;
}

/* Hernquist (1993), section 2.2.3: asymmetric drift and the dispersions of a disc particle. */
static void make_disc(const disks *state, double sign, bh__draw *draw, bh_particle *particle)
{
    double r, omega2, kappa2;

    do {
        r = -log(bh__draw_uniform(draw) * bh__draw_uniform(draw));
    } while (r > DISC_LIMIT);
    frequencies(state, r, &omega2, &kappa2);
    double radial = state->disc_dispersion * exp(-0.5 * r);
    double shape = kappa2 / (4.0 * omega2);
    double stream2 = omega2 * r * r + radial * radial * (1.0 - shape - 2.0 * r);
    double height = sqrt(BH_PI * DISC_HEIGHT * disc_surface_density(r));
    double angle = 2.0 * BH_PI * bh__draw_uniform(draw);
    double vr = radial * bh__draw_normal(draw);
    double vt = sqrt(fmax(stream2, 0.0)) + radial * sqrt(shape) * bh__draw_normal(draw);
    double up = DISC_HEIGHT * atanh(2.0 * bh__draw_uniform(draw) - 1.0);

    particle->x[0] = sign * r * cos(angle);
    particle->x[1] = sign * r * sin(angle);
    particle->x[2] = sign * up;
    particle->v[0] = sign * (vr * cos(angle) - vt * sin(angle));
    particle->v[1] = sign * (vr * sin(angle) + vt * cos(angle));
    particle->v[2] = sign * height * bh__draw_normal(draw);
}

static void make_spherical(const disks *state, bool is_bulge, double sign, bh__draw *own, bh__draw *shared,
                           bh_particle *particle)
{
    double r = bh__sphere_draw_radius(is_bulge ? &state->bulge : &state->halo, shared);
    double sigma = sqrt(table_at(state, is_bulge ? state->bulge_square : state->halo_square, r));
    double most2 = ESCAPE_FRACTION * ESCAPE_FRACTION * table_at(state, state->escape_square, r);
    double v2;

    do {
        v2 = 0.0;
        for (int k = 0; k < 3; k++) {
            double v = sigma * bh__draw_normal(shared);
            particle->v[k] = sign * v;
            v2 += v * v;
        }
    } while (v2 > most2);
    bh__draw_direction(own, fabs(sign) * r, particle->x);
}

/* From the galaxy's units and its own plane to the common frame: scaled, turned about the x axis, moved. */
static void into_orbit(const galaxy *home, bh_particle *particle)
{
    double c = cos(home->tilt), s = sin(home->tilt), speed = sqrt(home->mass / home->length);

    for (int turn = 0; turn < 2; turn++) {
        double *of = turn == 0 ? particle->x : particle->v;
        double unit = turn == 0 ? home->length : speed;
        double y = of[1], z = of[2];
        of[0] *= unit;
        of[1] = unit * (c * y - s * z);
        of[2] = unit * (s * y + c * z);
    }
    bh__particle_shift(particle, home->x, home->v);
}

static void make_member(const bh_generator *generator, const void *from, int64_t i, bh_particle *particle)
{
    const disks *state = from;
    const galaxy *home = &state->galaxy[i >= state->galaxy[1].first ? 1 : 0];
    const int64_t end_of_disc = home->first + home->ndisc, end_of_bulge = end_of_disc + home->nbulge;
    const bool in_disc = i < end_of_disc, in_bulge = !in_disc && i < end_of_bulge;
    const int64_t first = in_disc ? home->first : in_bulge ? end_of_disc : end_of_bulge;
    const int64_t count = in_disc ? home->ndisc : in_bulge ? home->nbulge : home->nhalo;
    const double mass = in_disc ? DISC_MASS : in_bulge ? BULGE_MASS : HALO_MASS;
    bh__mate mate = bh__mate_of(i, first, count);
    bh__draw shared = bh__draw_begin(generator, BH_DRAW_PAIR, mate.pair);
    bh__draw own = bh__draw_begin(generator, BH_DRAW_PARTICLE, i);

    if (in_disc) {
        make_disc(state, mate.sign, &shared, particle);
    } else {
        make_spherical(state, in_bulge, mate.sign, &own, &shared, particle);
    }
    into_orbit(home, particle);
    particle->m = mass * home->mass / (double)count;
}

const bh__model bh__disks = {open_disks, make_member, free};
