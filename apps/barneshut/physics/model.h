/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the kinds of generator: random draws, mates, spheres in equilibrium. G = 1. */
#ifndef BH_MODEL_H
#define BH_MODEL_H

#include "generate.h"

/* Indices of each kind's keys in bh_generator.value, shared by the table and the models. */
enum { BH_KEY_N = 0 };
enum { BH_SPHERE_SCALE = 1, BH_SPHERE_LIMIT };
enum { BH_UNIFORM_RADIUS = 1, BH_UNIFORM_DISPERSION, BH_UNIFORM_CUBE };
enum { BH_DISKS_SEPARATION = 1, BH_DISKS_PERICENTRE, BH_DISKS_INCLINATION, BH_DISKS_RATIO };
enum { BH_CLUSTERS_HALOES = 1, BH_CLUSTERS_SLOPE, BH_CLUSTERS_RANGE, BH_CLUSTERS_BOX, BH_CLUSTERS_DISPERSION };

typedef struct bh_particle {
    double x[3], v[3], m;
} bh_particle;

/* A kind: its preparation once per call of bh_generate(), and one particle. open and close may be NULL. */
typedef struct bh__model {
    int (*open)(const bh_generator *generator, void **state);
    void (*make)(const bh_generator *generator, const void *state, int64_t i, bh_particle *particle);
    void (*close)(void *state);
} bh__model;

#define BH_PI 3.14159265358979323846

extern const bh__model bh__plummer, bh__hernquist, bh__disks, bh__clusters, bh__uniform;

/* Draws of one object: the particle, pair of mates or halo with number `id`. */
enum bh__purpose { BH_DRAW_PARTICLE, BH_DRAW_PAIR, BH_DRAW_HALO };
typedef struct bh__draw {
    uint64_t seed, id, next;
} bh__draw;

bh__draw bh__draw_begin(const bh_generator *generator, enum bh__purpose purpose, int64_t id);
double bh__draw_uniform(bh__draw *draw); /* in (0, 1) */
double bh__draw_normal(bh__draw *draw);
void bh__draw_direction(bh__draw *draw, double length, double v[3]); /* isotropic, |v| = length */

/* The particle's place in a component whose `count` particles begin at global number `first`. */
typedef struct bh__mate {
    int64_t pair; /* global number of the pair's first particle */
    double sign;  /* +1 or -1; 0 without a mate */
} bh__mate;

bh__mate bh__mate_of(int64_t i, int64_t first, int64_t count);

/* A sphere cut off at radius `limit`; `whole` is the mass of the same sphere without the cut. */
typedef struct bh__sphere {
    bool cuspy; /* Hernquist (1990), else Plummer (1911) */
    double scale, limit, whole;
} bh__sphere;

bh__sphere bh__sphere_make(bool cuspy, double scale, double limit, double mass);

/* Mass inside r <= limit, with the cut's mass as the largest value; and the density there. */
double bh__sphere_mass(const bh__sphere *sphere, double r);
double bh__sphere_density(const bh__sphere *sphere, double r);

double bh__sphere_draw_radius(const bh__sphere *sphere, bh__draw *draw);
double bh__sphere_draw_speed(const bh__sphere *sphere, double r, bh__draw *draw);

/* A particle of such a sphere in isotropic equilibrium at the origin, except its mass. */
void bh__sphere_particle(const bh_generator *generator, const bh__sphere *sphere, int64_t i, int64_t first,
                         int64_t count, bh_particle *particle);

/* Adds the component's own position and velocity to a particle. */
void bh__particle_shift(bh_particle *particle, const double x[3], const double v[3]);

#endif
