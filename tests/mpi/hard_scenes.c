/* SPDX-License-Identifier: BSD-3-Clause */
#include "hard_scenes.h"

#include <equipoise/more/random.h>

#include <math.h>
#include <string.h>

enum { POSITION_STREAM, VELOCITY_STREAM, SCALE_STREAM };

/* A round cloud of radius about 1 that nearly rests. */
static void cloud(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    *m = 1.0 / (double)n;
    for (int k = 0; k < 3; k++) {
        double pair[2];
        eqp_random_normal(1, POSITION_STREAM, (uint64_t)(3 * i + k), pair);
        x[k] = pair[0];
        v[k] = 0.1 * pair[1];
    }
}

static void one_point(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    (void)i;
    *m = 1.0 / (double)n;
    for (int k = 0; k < 3; k++) {
        x[k] = 0.3 + 0.1 * k;
        v[k] = 0;
    }
}

static void cloud_with_point(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    (i % 4 == 0 ? cloud : one_point)(i, n, m, x, v);
}

static void eight_points(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    for (int k = 0; k < 3; k++) {
        x[k] = (double)(i >> k & 1);
        v[k] = 0;
    }
}

static void half_without_mass(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    *m *= (double)(i % 2);
}

static void no_mass(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    *m = 0;
}

static void mass_ratios(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    *m *= i % 100 == 0 ? 1e6 : i % 100 == 1 ? 1e-6 : 1;
}

static void plane(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    x[2] = v[2] = 0;
}

static void tilted_line(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    x[1] = x[2] = x[0];
    v[1] = v[2] = v[0];
}

static void axis(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    x[1] = x[2] = v[1] = v[2] = 0;
}

/* Distances from 1e-3 to 1e18, all equally likely in their logarithm. */
static void every_scale(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    double scale = pow(10, -3 + 21 * eqp_random_uniform(1, SCALE_STREAM, (uint64_t)i));

    cloud(i, n, m, x, v);
    for (int k = 0; k < 3; k++) {
        x[k] *= scale;
        v[k] *= 1e-3;
    }
}

/* So wide that squares of distances leave the range of a float, cubes too. */
static void wide(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    for (int k = 0; k < 3; k++) {
        x[k] *= 1e18;
    }
}

/* The digits of a position tell nothing any more: one point again, far away. */
static void far_cloud(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    x[0] += 1e18;
    x[2] -= 1e18;
}

/* Some digits are left: many particles share few places. */
static void coarse_cloud(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    x[1] += 1e15;
}

static void atom(int64_t i, int64_t n, double *m, double x[3], double v[3])
{
    cloud(i, n, m, x, v);
    for (int k = 0; k < 3; k++) {
        x[k] *= 1e-30;
        v[k] = 0;
    }
}

const hard_scene hard_scenes[] = {
    {"all in one point", 2000, 0, one_point},
    {"thousands in one point of a cloud", 1600, 0, cloud_with_point},
    {"eight points", 400, 0, eight_points},
    {"half without mass", 400, 0, half_without_mass},
    {"no mass at all", 400, 0, no_mass},
    {"mass ratios of 1e6 and 1e12", 400, 0, mass_ratios},
    {"one particle", 1, 0, cloud},
    {"two particles", 2, 0, cloud},
    {"fewer particles than ranks", 5, 0, cloud},
    {"fewer groups than ranks", 70, 0, cloud},
    {"plane", 400, 0, plane},
    {"axis", 400, 0, axis},
    {"tilted line", 400, 0, tilted_line},
    {"every scale to 1e18, floats", 400, HARD_FLOATS, every_scale},
    {"1e18 wide, floats", 400, HARD_FLOATS, wide},
    {"cloud at 1e18, floats", 400, HARD_FLOATS, far_cloud},
    {"cloud at 1e15", 400, 0, coarse_cloud},
    {"within 1e-30", 400, HARD_STIFF, atom},
    {"equal ids", 300, HARD_FLOATS | HARD_SAME_IDS, cloud},
    {"periodic box", 300, HARD_FLOATS | HARD_BOX, cloud},
};
const int hard_scenes_count = sizeof hard_scenes / sizeof hard_scenes[0];

static int write_text(const hard_scene *scene, FILE *file)
{
    for (int64_t i = 0; i < scene->n; i++) {
        double m, x[3], v[3];
        scene->place(i, scene->n, &m, x, v);
        if (fprintf(file, "%.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", m, x[0], x[1], x[2], v[0], v[1], v[2]) < 0) {
            return 0;
        }
    }
    return 1;
}

static int write_words(FILE *file, size_t n, const void *words)
{
    return fwrite(words, 4, n, file) == n;
}

/* The 256 bytes that begin a file of format 1 (user guide of GADGET-2, table 4): all particles are of type 1. */
static int write_header(const hard_scene *scene, FILE *file)
{
    unsigned char header[256] = {0};
    const int32_t length = sizeof header, n = (int32_t)scene->n, one = 1;
    const double edge = scene->flags & HARD_BOX ? 2 : 0;

    memcpy(header + 4, &n, sizeof n);
    memcpy(header + 100, &n, sizeof n);
    memcpy(header + 124, &one, sizeof one);
    memcpy(header + 128, &edge, sizeof edge);
    return write_words(file, 1, &length) && write_words(file, sizeof header / 4, header) &&
           write_words(file, 1, &length);
}

enum gadget_block { POSITIONS, VELOCITIES, IDS, MASSES, GADGET_BLOCKS };

/* Writes the data of a particle in a block: one to three 32-bit words. */
static int write_particle(const hard_scene *scene, FILE *file, enum gadget_block block, int64_t i)
{
    double m, x[3], v[3];

    scene->place(i, scene->n, &m, x, v);
    if (block == IDS) {
        const uint32_t id = scene->flags & HARD_SAME_IDS ? 7 : (uint32_t)i + 1;
        return write_words(file, 1, &id);
    }
    const float of_vector[3] = {(float)(block == POSITIONS ? x : v)[0], (float)(block == POSITIONS ? x : v)[1],
                                (float)(block == POSITIONS ? x : v)[2]};
    const float of_mass = (float)m;
    return block == MASSES ? write_words(file, 1, &of_mass) : write_words(file, 3, of_vector);
}

static int write_gadget(const hard_scene *scene, FILE *file)
{
    int good = write_header(scene, file);

    for (int block = 0; block < GADGET_BLOCKS && good; block++) {
        const int32_t length = (int32_t)scene->n * (block == POSITIONS || block == VELOCITIES ? 12 : 4);
        good = write_words(file, 1, &length);
        for (int64_t i = 0; i < scene->n && good; i++) {
            good = write_particle(scene, file, (enum gadget_block)block, i);
        }
        good = good && write_words(file, 1, &length);
    }
    return good;
}

int hard_scene_write(const hard_scene *scene, FILE *file)
{
    return scene->flags & HARD_FLOATS ? write_gadget(scene, file) : write_text(scene, file);
}
