/* SPDX-License-Identifier: BSD-3-Clause */
/* Many haloes with power-law masses, scattered over a box: the load of a cosmological volume without its history. */
#include "model.h"

#include <equipoise/error.h>

#include <math.h>
#include <stdlib.h>

/* A halo's mean density relative to the box, and the ratio of its radius to its scale: usual values. */
#define OVERDENSITY 200.0
#define CONCENTRATION 10.0

typedef struct halo {
    int64_t first, count;
    double x[3], v[3];
} halo;

typedef struct clusters {
    int64_t n;
    halo halo[];
} clusters;

/* dN/dM ~ M^-slope on [1, range], inverted. */
static double draw_mass(const bh_generator *generator, bh__draw *draw)
{
    double slope = generator->value[BH_CLUSTERS_SLOPE], range = generator->value[BH_CLUSTERS_RANGE];
    double u = bh__draw_uniform(draw);

    if (fabs(slope - 1.0) < 1e-9) {
        return pow(range, u);
    }
    return pow(1.0 + u * (pow(range, 1.0 - slope) - 1.0), 1.0 / (1.0 - slope));
}

/* Positions and velocities; subtracts the mean velocity of the particles, so that the total momentum is 0. */
static void place_haloes(const bh_generator *generator, clusters *all)
{
    double box = generator->value[BH_CLUSTERS_BOX];
    double dispersion = generator->value[BH_CLUSTERS_DISPERSION] / sqrt(box);
    double mean[3] = {0};

    for (int64_t h = 0; h < all->n; h++) {
        halo *one = &all->halo[h];
        bh__draw draw = bh__draw_begin(generator, BH_DRAW_HALO, h);
        (void)draw_mass(generator, &draw); /* a halo's first draw is its mass */
        for (int k = 0; k < 3; k++) {
            one->x[k] = box * (bh__draw_uniform(&draw) - 0.5);
            one->v[k] = dispersion * bh__draw_normal(&draw);
            mean[k] += (double)one->count / generator->value[BH_KEY_N] * one->v[k];
        }
    }
    for (int64_t h = 0; h < all->n; h++) {
        for (int k = 0; k < 3; k++) {
            all->halo[h].v[k] -= mean[k];
        }
    }
}

/* Particles have equal masses, so a halo's share of the mass is rounded to whole particles, ends of runs first. */
static int share_particles(const bh_generator *generator, clusters *all)
{
    double *end = malloc((size_t)all->n * sizeof *end);
    double total = 0.0;

    EQP_CHECK(end == NULL ? EQP_ERR_MEMORY : EQP_OK);
    for (int64_t h = 0; h < all->n; h++) {
        bh__draw draw = bh__draw_begin(generator, BH_DRAW_HALO, h);
        total += draw_mass(generator, &draw);
        end[h] = total;
    }
    for (int64_t h = 0, first = 0; h < all->n; h++) {
        int64_t last = llround(generator->value[BH_KEY_N] * (end[h] / total));
        all->halo[h].first = first;
        all->halo[h].count = last - first;
        first = last;
    }
    free(end);
    return EQP_OK;
}

static int open_clusters(const bh_generator *generator, void **state)
{
    int64_t n = (int64_t)generator->value[BH_CLUSTERS_HALOES];
    clusters *all = malloc(sizeof *all + (size_t)n * sizeof(halo));

    EQP_CHECK(all == NULL ? EQP_ERR_MEMORY : EQP_OK);
    all->n = n;
    if (share_particles(generator, all) != EQP_OK) {
        free(all);
        return EQP_ERR_MEMORY;
    }
    place_haloes(generator, all);
    *state = all;
    return EQP_OK;
}

static const halo *halo_of(const clusters *all, int64_t i)
{
    int64_t low = 0, high = all->n;

    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (all->halo[middle].first <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &all->halo[low];
}

static void make_member(const bh_generator *generator, const void *state, int64_t i, bh_particle *particle)
{
    const halo *own = halo_of(state, i);
    double mass = (double)own->count / generator->value[BH_KEY_N];
    double limit = generator->value[BH_CLUSTERS_BOX] * cbrt(3.0 * mass / (4.0 * BH_PI * OVERDENSITY));
    bh__sphere sphere = bh__sphere_make(true, limit / CONCENTRATION, limit, mass);

    bh__sphere_particle(generator, &sphere, i, own->first, own->count, particle);
    bh__particle_shift(particle, own->x, own->v);
    particle->m = 1.0 / generator->value[BH_KEY_N];
}

const bh__model bh__clusters = {open_clusters, make_member, free};
