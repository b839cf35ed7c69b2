/* SPDX-License-Identifier: BSD-3-Clause */
#include "model.h"

#include <equipoise/more/random.h>

#include <math.h>

/* Ids stay below this bit (see the range of n). The bits above separate the draws of different purposes from each other
 * and from streams of the same seed that are numbered by the id alone. */
#define PURPOSE_SHIFT 48

bh__draw bh__draw_begin(const bh_generator *generator, enum bh__purpose purpose, int64_t id)
{
    return (bh__draw){generator->seed, ((uint64_t)purpose + 1) << PURPOSE_SHIFT | (uint64_t)id, 0};
}

double bh__draw_uniform(bh__draw *draw)
{
    /* Logarithms and negative powers follow: never 0. */
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
