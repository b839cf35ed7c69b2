/* SPDX-License-Identifier: BSD-3-Clause */
/* Owners with random interactions for tests of the sampler. An interaction is a function of its owner's id and its
 * number, so owners may be dealt to ranks or shuffled. */
#ifndef UNITS_WORLD_H
#define UNITS_WORLD_H

#include "unit.h"

#include <equipoise/more/random.h>
#include <equipoise/units.h>

FREES(eqp_units, eqp_units_free)

enum { NSTRATEGIES = EQP_SAMPLE_STRIDE + 1 };
enum { WORLD_BATCH = 64, WORLD_SEED = 77, WORLD_CLUMPS = 5 };

struct world {
    int64_t n;
    int64_t *id;        /* [n] */
    int64_t *total;     /* [n] interactions */
    int dim;            /* of the centroids */
    int batch;          /* interactions per batch, up to WORLD_BATCH */
    bool weighted;      /* weights of 0.5 to 2.5, else NULL */
    bool identical;     /* every centroid at the same place */
    int npins;          /* 0 to 4 */
    int64_t fail_owner; /* the callback fails there with fail_code, unless -1 */
    int fail_code;
    int64_t calls;   /* of the callback */
    int64_t largest; /* interactions in one batch */
};

static inline void world_centroid(const struct world *w, int64_t id, int64_t j, double *centroid)
{
    /* Clumps with a steep profile, as the partners of a particle in a clustered set. */
    uint64_t stream = (uint64_t)id * 1000003 + (uint64_t)j;
    uint64_t clump = eqp_random_below(WORLD_SEED, stream, 1, WORLD_CLUMPS);
    double scale = pow(eqp_random_uniform(WORLD_SEED, stream, 2), 3);

    for (int d = 0; d < w->dim; d++) {
        double centre = eqp_random_uniform(WORLD_SEED + 1, (uint64_t)id * WORLD_CLUMPS + clump, (uint64_t)d);
        double offset = eqp_random_uniform(WORLD_SEED + 2, stream, (uint64_t)d) - 0.5;
        centroid[d] = w->identical ? 0.25 : centre + scale * offset;
    }
}

static inline double world_weight(const struct world *w, int64_t id, int64_t j)
{
    uint64_t stream = (uint64_t)id * 1000003 + (uint64_t)j;
    return w->weighted ? 0.5 + 0.25 * (double)eqp_random_below(WORLD_SEED + 3, stream, 0, 9) : 1;
}

/* Partners are near in id, so that units which are near share pins. */
static inline int64_t world_pin(int64_t id, int64_t j, int p)
{
    uint64_t stream = (uint64_t)id * 1000003 + (uint64_t)j;
    return id / 50 * 50 + (int64_t)eqp_random_below(WORLD_SEED + 4, stream, (uint64_t)p, 120);
}

static inline int world_enumerate(void *user, int64_t owner, eqp_sink *sink)
{
    struct world *w = user;
    double centroid[WORLD_BATCH * EQP_UNITS_MAX_DIM], weight[WORLD_BATCH];
    int64_t pin[WORLD_BATCH * EQP_BATCH_MAX_PINS];

    w->calls++;
    if (owner == w->fail_owner) {
        return w->fail_code;
    }
    for (int64_t at = 0; at < w->total[owner]; at += w->batch) {
        int64_t n = w->total[owner] - at < w->batch ? w->total[owner] - at : w->batch;
        for (int64_t j = 0; j < n; j++) {
            world_centroid(w, w->id[owner], at + j, centroid + j * w->dim);
            weight[j] = world_weight(w, w->id[owner], at + j);
            for (int p = 0; p < w->npins; p++) {
                pin[j * w->npins + p] = world_pin(w->id[owner], at + j, p);
            }
        }
        eqp_batch batch = {.n = n,
                           .centroid = eqp_sink_wants_centroids(sink) ? centroid : NULL,
                           .weight = w->weighted ? weight : NULL,
                           .npins = w->npins,
                           .pin = eqp_sink_wants_pins(sink) ? pin : NULL};
        w->largest = n > w->largest ? n : w->largest;
        EQP_CHECK(eqp_sink_add(sink, &batch));
    }
    return EQP_OK;
}

/* Numbers of interactions with a power-law tail: `least` / u^0.7, at most 40 times `least`. */
static inline struct world world_create(int64_t n, int64_t least)
{
    struct world w = {.n = n, .dim = 3, .batch = 7, .npins = 2, .fail_owner = -1};

    w.id = malloc((size_t)(n + 1) * sizeof *w.id);
    w.total = malloc((size_t)(n + 1) * sizeof *w.total);
    assert_true(w.id && w.total);
    for (int64_t i = 0; i < n; i++) {
        double u = eqp_random_uniform(WORLD_SEED + 5, (uint64_t)i, 0);
        w.id[i] = 5 + 3 * i;
        w.total[i] = (int64_t)((double)least * fmin(40, pow(1 - u, -0.7)));
    }
    return w;
}

static inline void world_free(struct world *w)
{
    free(w->id);
    free(w->total);
}

static inline eqp_units_options world_options(int strategy, int64_t units)
{
    eqp_units_options options = eqp_units_options_defaults();

    options.strategy = (eqp_sample_strategy)strategy;
    options.units = units;
    return options;
}

static inline eqp_unit world_unit(const eqp_units *units, int64_t i)
{
    eqp_unit unit;

    assert_ok(eqp_units_get(units, i, &unit));
    return unit;
}

static inline eqp_units *world_units(struct world *w, const eqp_units_options *options)
{
    eqp_units *units = NULL;

    assert_ok(eqp_units_create_serial(w->n, w->id, world_enumerate, w, options, &units));
    return units;
}

static inline int64_t world_interactions(const struct world *w)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < w->n; i++) {
        sum += w->total[i];
    }
    return sum;
}

static inline eqp_sizes world_sizes(const eqp_units *units)
{
    eqp_sizes sizes;
    eqp_units_sizes(units, &sizes);
    return sizes;
}

#endif
