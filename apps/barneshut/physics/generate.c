/* SPDX-License-Identifier: BSD-3-Clause */
#include "generate.h"

#include "model.h"

#include <equipoise/error.h>

#include <stddef.h>

#define MOST_PARTICLES 1e12

#define KEY_N(least) [BH_KEY_N] = {"n", 32768, (least), MOST_PARTICLES, true, "number of particles"}
#define KEY_LIMIT(value)                                                                                               \
    [BH_SPHERE_LIMIT] = {"rmax", (value), 1, 1000, false, "radius where the sphere is cut off, in units of a"}

static const app_recipe_kind kinds[] = {
    {"plummer",
     "Plummer sphere in equilibrium; the default scale gives standard N-body units (energy -1/4)",
     &bh__plummer,
     3,
     {KEY_N(1), [BH_SPHERE_SCALE] = {"a", 3.0 * BH_PI / 16.0, 1e-6, 1e6, false, "scale length"}, KEY_LIMIT(20)}},
    {"hernquist",
     "Hernquist sphere in equilibrium: a galaxy or halo with a cusp",
     &bh__hernquist,
     3,
     {KEY_N(1), [BH_SPHERE_SCALE] = {"a", 1, 1e-6, 1e6, false, "scale length"}, KEY_LIMIT(50)}},
    {"disks",
     "two disc galaxies with bulge and halo on a parabolic orbit; lengths in disc scale lengths of the first",
     &bh__disks,
     5,
     {KEY_N(100), [BH_DISKS_SEPARATION] = {"separation", 20, 5, 1000, false, "distance of the centres at the start"},
      [BH_DISKS_PERICENTRE] = {"pericentre", 2, 0, 5, false, "smallest distance, were they point masses"},
      [BH_DISKS_INCLINATION] = {"inclination", 30, 0, 180, false, "tilt of the discs, one up, one down, in degrees"},
      [BH_DISKS_RATIO] = {"ratio", 1, 0.1, 1, false, "mass of the second galaxy over that of the first"}}},
    {"clusters",
     "many Hernquist haloes with power-law masses in a box",
     &bh__clusters,
     6,
     {KEY_N(1), [BH_CLUSTERS_HALOES] = {"haloes", 64, 1, 1e6, true, "number of haloes"},
      [BH_CLUSTERS_SLOPE] = {"slope", 1.9, 0, 4, false, "number of haloes per mass falls with mass^-slope"},
      [BH_CLUSTERS_RANGE] = {"range", 1000, 1, 1e9, false, "largest over smallest possible halo mass"},
      [BH_CLUSTERS_BOX] = {"box", 1, 1e-6, 1e6, false, "edge of the cube that holds the centres"},
      [BH_CLUSTERS_DISPERSION] = {"sigma", 0.3, 0, 10, false,
                                  "velocity dispersion of the haloes, per axis, in units of box^-1/2"}}},
    {"uniform",
     "uniform ball or cube about the origin, cold unless sigma is given",
     &bh__uniform,
     4,
     {KEY_N(1), [BH_UNIFORM_RADIUS] = {"radius", 1, 1e-6, 1e6, false, "radius of the ball, half the edge of the cube"},
      [BH_UNIFORM_DISPERSION] = {"sigma", 0, 0, 1e6, false, "velocity dispersion per axis"},
      [BH_UNIFORM_CUBE] = {"cube", 0, 0, 1, true, "1: a cube"}}},
};

const app_recipes bh_generators = {"particles", (int)(sizeof kinds / sizeof kinds[0]), kinds};

int bh_generator_parse(const char *text, bh_generator *generator, eqp_message *message)
{
    return app_recipe_parse(&bh_generators, text, generator, message);
}

int64_t bh_generator_count(const bh_generator *generator)
{
    return (int64_t)generator->value[BH_KEY_N];
}

int bh_generate(const bh_generator *generator, int64_t first, int64_t n, double *x, double *y, double *z, double *vx,
                double *vy, double *vz, double *m)
{
    void *state = NULL;

    if (!app_recipe_valid(generator) || first < 0 || n < 0 || first > bh_generator_count(generator) - n) {
        return EQP_ERR_ARGUMENT;
    }
    const bh__model *model = generator->kind->how;
    EQP_CHECK(model->open != NULL ? model->open(generator, &state) : EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        bh_particle particle;
        model->make(generator, state, first + i, &particle);
        x[i] = particle.x[0];
        y[i] = particle.x[1];
        z[i] = particle.x[2];
        vx[i] = particle.v[0];
        vy[i] = particle.v[1];
        vz[i] = particle.v[2];
        m[i] = particle.m;
    }
    if (model->close != NULL) {
        model->close(state);
    }
    return EQP_OK;
}
