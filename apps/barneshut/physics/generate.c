/* SPDX-License-Identifier: BSD-3-Clause */
#include "generate.h"

#include "model.h"

#include <equipoise/error.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PARTICLES 1e12
#define MOST_SEED 9007199254740992.0 /* 2^53: every seed is written and read exactly */

#define KEY_N(least) [BH_KEY_N] = {"n", 32768, (least), MOST_PARTICLES, true, "number of particles"}
#define KEY_LIMIT(value)                                                                                               \
    [BH_SPHERE_LIMIT] = {"rmax", (value), 1, 1000, false, "radius where the sphere is cut off, in units of a"}

static const bh_generator_kind table[] = {
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

#define NKINDS ((int)(sizeof table / sizeof table[0]))

const bh_generator_kind *bh_generator_table(int *nkinds)
{
    *nkinds = NKINDS;
    return table;
}

static const bh_generator_key seed_key = {"seed", 0, 0, MOST_SEED, true, "random seed"};

static bool in_range(const bh_generator_key *key, double value)
{
    return value >= key->least && value <= key->most && !(key->whole && value != floor(value));
}

/* The row of a name, or NULL. */
static const bh_generator_kind *find_kind(const char *text, size_t length)
{
    for (int i = 0; i < NKINDS; i++) {
        if (strlen(table[i].name) == length && memcmp(table[i].name, text, length) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* The number of a key of the kind; nkeys for seed; -1 if there is none. */
static int find_key(const bh_generator_kind *kind, const char *text, size_t length)
{
    for (int i = 0; i <= kind->nkeys; i++) {
        const char *name = i < kind->nkeys ? kind->key[i].name : seed_key.name;
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* Precision argument of printf's %.*s: long nonsense is cut, the message says enough without it. */
static int shown(size_t length)
{
    return length < 40 ? (int)length : 40;
}

static int read_value(const bh_generator_kind *kind, const bh_generator_key *key, const char *text, size_t length,
                      double *value, eqp_message *message)
{
    char *end;
    double number = length > 0 && strchr(" \t\n\v\f\r", text[0]) == NULL ? strtod(text, &end) : NAN;

    if (isnan(number) || end != text + length) {
        eqp_message_set(message, "%s: '%.*s' is no number for %s", kind->name, shown(length), text, key->name);
        return EQP_ERR_ARGUMENT;
    }
    if (!in_range(key, number)) {
        eqp_message_set(message, "%s: %s=%.*s is not a %snumber from %g to %g", kind->name, key->name, shown(length),
                        text, key->whole ? "whole " : "", key->least, key->most);
        return EQP_ERR_ARGUMENT;
    }
    *value = number;
    return EQP_OK;
}

/* One `key=value` of the given length. */
static int read_item(bh_generator *generator, unsigned *said, const char *item, size_t length, eqp_message *message)
{
    const bh_generator_kind *kind = generator->kind;
    const char *equals = memchr(item, '=', length);
    const size_t name = equals == NULL ? length : (size_t)(equals - item);
    const int number = find_key(kind, item, name);
    double value;

    if (number < 0) {
        eqp_message_set(message, "%s has no key '%.*s'", kind->name, shown(name), item);
        return EQP_ERR_UNKNOWN;
    }
    const bh_generator_key *key = number < kind->nkeys ? &kind->key[number] : &seed_key;
    if (equals == NULL || (*said & 1U << number) != 0) {
        eqp_message_set(message, "%s: %s %s", kind->name, key->name, equals == NULL ? "has no value" : "stands twice");
        return EQP_ERR_ARGUMENT;
    }
    *said |= 1U << number;
    int code = read_value(kind, key, equals + 1, length - name - 1, &value, message);
    if (code != EQP_OK) {
        return code;
    }
    if (key == &seed_key) {
        generator->seed = (uint64_t)value;
        generator->seeded = true;
    } else {
        generator->value[number] = value;
    }
    return EQP_OK;
}

int bh_generator_parse(const char *text, bh_generator *generator, eqp_message *message)
{
    const size_t name = strcspn(text, ":");
    bh_generator made = {.kind = find_kind(text, name)};
    unsigned said = 0;

    if (made.kind == NULL) {
        eqp_message_set(message, "no kind of particles is called '%.*s'", shown(name), text);
        return EQP_ERR_UNKNOWN;
    }
    for (int i = 0; i < made.kind->nkeys; i++) {
        made.value[i] = made.kind->key[i].value;
    }
    for (const char *at = text + name; *at != '\0';) {
        at++; /* the colon or comma */
        size_t length = strcspn(at, ",");
        int code = read_item(&made, &said, at, length, message);
        if (code != EQP_OK) {
            return code;
        }
        at += length;
    }
    *generator = made;
    return EQP_OK;
}

int64_t bh_generator_count(const bh_generator *generator)
{
    return (int64_t)generator->value[BH_KEY_N];
}

static bool is_valid(const bh_generator *generator)
{
    for (int i = 0; i < generator->kind->nkeys; i++) {
        if (!in_range(&generator->kind->key[i], generator->value[i])) {
            return false;
        }
    }
    return true;
}

int bh_generate(const bh_generator *generator, int64_t first, int64_t n, double *x, double *y, double *z, double *vx,
                double *vy, double *vz, double *m)
{
    void *state = NULL;

    if (!is_valid(generator) || first < 0 || n < 0 || first > bh_generator_count(generator) - n) {
        return EQP_ERR_ARGUMENT;
    }
    const bh__model *model = generator->kind->model;
    int code = model->open != NULL ? model->open(generator, &state) : EQP_OK;
    if (code != EQP_OK) {
        return code;
    }
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
