/* SPDX-License-Identifier: BSD-3-Clause */
/* Difficult particle sets as files: text, or GADGET format 1 where floats, ids or a box matter. Include once. */
#ifndef HARD_SCENES_H
#define HARD_SCENES_H

#include <equipoise/more/random.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HARD_FLOATS = 1, HARD_STIFF = 2, HARD_SAME_IDS = 4, HARD_BOX = 8 }; /* stiff: steps too long for the energy */

enum hard_shape { CLOUD, POINT, CLOUD_WITH_POINT, EIGHT, HALF_MASS, NO_MASS, RATIOS, PLANE, AXIS, LINE, SCALES };

typedef struct hard_scene {
    const char *name;
    int64_t n;
    unsigned flags;
    enum hard_shape shape;
    double times, away; /* factor on positions; shift of a cloud along x */
} hard_scene;

static const hard_scene hard_scenes[] = {
    {"all in one point", 2000, 0, POINT, 1, 0},
    {"thousands in one point of a cloud", 1600, 0, CLOUD_WITH_POINT, 1, 0},
    {"eight points", 400, 0, EIGHT, 1, 0},
    {"half without mass", 400, 0, HALF_MASS, 1, 0},
    {"no mass at all", 400, 0, NO_MASS, 1, 0},
    {"mass ratios of 1e6 and 1e12", 400, 0, RATIOS, 1, 0},
    {"one particle", 1, 0, CLOUD, 1, 0},
    {"two particles", 2, 0, CLOUD, 1, 0},
    {"fewer particles than ranks", 5, 0, CLOUD, 1, 0},
    {"fewer groups than ranks", 70, 0, CLOUD, 1, 0},
    {"plane", 400, 0, PLANE, 1, 0},
    {"axis", 400, 0, AXIS, 1, 0},
    {"tilted line", 400, 0, LINE, 1, 0},
    {"every scale to 1e18, floats", 400, HARD_FLOATS, SCALES, 1, 0},
    {"1e18 wide, floats", 400, HARD_FLOATS, CLOUD, 1e18, 0},     /* squares and cubes of distances overflow a float */
    {"cloud at 1e18, floats", 400, HARD_FLOATS, CLOUD, 1, 1e18}, /* all particles at one point */
    {"cloud at 1e15", 400, 0, CLOUD, 1, 1e15},                   /* many particles share few places */
    {"within 1e-30", 400, HARD_STIFF, CLOUD, 1e-30, 0},
    {"equal ids", 300, HARD_FLOATS | HARD_SAME_IDS, CLOUD, 1, 0},
    {"periodic box", 300, HARD_FLOATS | HARD_BOX, CLOUD, 1, 0},
};
enum { HARD_SCENES = sizeof hard_scenes / sizeof hard_scenes[0] };

/* A round cloud of radius 1, nearly at rest, transformed into the shape of the scene. */
static inline void hard_place(const hard_scene *s, int64_t i, double *m, double x[3], double v[3])
{
    const bool point = s->shape == POINT || (s->shape == CLOUD_WITH_POINT && i % 4 != 0);
    const bool resting = point || s->shape == EIGHT || s->times < 1;
    const double scale = s->shape == SCALES ? pow(10, -3 + 21 * eqp_random_uniform(1, 2, (uint64_t)i)) : s->times;

    *m = 1.0 / (double)s->n;
    *m *= s->shape == NO_MASS || (s->shape == HALF_MASS && i % 2 == 0) ? 0 : 1;
    *m *= s->shape != RATIOS || i % 100 > 1 ? 1 : i % 100 == 0 ? 1e6 : 1e-6;
    for (int k = 0; k < 3; k++) {
        double pair[2];
        eqp_random_normal(1, 0, (uint64_t)(3 * i + k), pair);
        x[k] = point ? 0.3 + 0.1 * k : s->shape == EIGHT ? (double)(i >> k & 1) : scale * pair[0];
        v[k] = resting ? 0 : (s->shape == SCALES ? 1e-4 : 0.1) * pair[1];
    }
    x[0] += s->away;
    x[2] -= s->away > 1e15 ? s->away : 0;
    for (int k = s->shape == PLANE ? 2 : 1; k < 3 && (s->shape == PLANE || s->shape == AXIS || s->shape == LINE); k++) {
        x[k] = s->shape == LINE ? x[0] : 0;
        v[k] = s->shape == LINE ? v[0] : 0;
    }
}

static inline bool hard_write_text(const hard_scene *s, FILE *file)
{
    bool good = true;

    for (int64_t i = 0; i < s->n && good; i++) {
        double m, x[3], v[3];
        hard_place(s, i, &m, x, v);
        good = fprintf(file, "%.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", m, x[0], x[1], x[2], v[0], v[1], v[2]) > 0;
    }
    return good;
}

static inline bool hard_write_block(FILE *file, int64_t n, const void *words)
{
    const int32_t length = (int32_t)(4 * n);

    return fwrite(&length, 4, 1, file) == 1 && fwrite(words, 4, (size_t)n, file) == (size_t)n &&
           fwrite(&length, 4, 1, file) == 1;
}

/* GADGET-2 user guide, table 4: a header of 256 bytes, then four blocks. All particles are of type 1. */
static inline bool hard_write_gadget(const hard_scene *s, FILE *file)
{
    unsigned char header[256] = {0};
    const int32_t n = (int32_t)s->n, one = 1;
    const double edge = s->flags & HARD_BOX ? 2 : 0;
    float *place = calloc((size_t)n, 7 * sizeof *place), *velocity = place + 3 * n, *mass = velocity + 3 * n;
    uint32_t *id = calloc((size_t)n, sizeof *id);

    memcpy(header + 4, &n, sizeof n);
    memcpy(header + 100, &n, sizeof n);
    memcpy(header + 124, &one, sizeof one);
    memcpy(header + 128, &edge, sizeof edge);
    for (int64_t i = 0; i < n; i++) {
        double m, x[3], v[3];
        hard_place(s, i, &m, x, v);
        for (int k = 0; k < 3; k++) {
            place[3 * i + k] = (float)x[k];
            velocity[3 * i + k] = (float)v[k];
        }
        mass[i] = (float)m;
        id[i] = s->flags & HARD_SAME_IDS ? 7 : (uint32_t)i + 1;
    }
    const bool good = hard_write_block(file, 64, header) && hard_write_block(file, 3 * (int64_t)n, place) &&
                      hard_write_block(file, 3 * (int64_t)n, velocity) && hard_write_block(file, n, id) &&
                      hard_write_block(file, n, mass);
    free(place);
    free(id);
    return good;
}

static inline bool hard_write(const hard_scene *s, FILE *file)
{
    return s->flags & HARD_FLOATS ? hard_write_gadget(s, file) : hard_write_text(s, file);
}

#endif
