/* SPDX-License-Identifier: BSD-3-Clause */
/* Bodies in columns, generated sets and direct sums for tests of gravity. */
#ifndef BH_BODIES_H
#define BH_BODIES_H

#include "force.h"
#include "generate.h"
#include "motion.h"
#include "unit.h"

/* Generators fill the first INPUTS columns. */
enum { X, Y, Z, VX, VY, VZ, M, AX, AY, AZ, POT, ACCEL, COLUMNS, INPUTS = AX };

typedef struct bodies {
    int64_t n;
    double eps;
    double *at[COLUMNS]; /* [n] */
} bodies;

static inline bodies make_bodies(int64_t n, double eps)
{
    bodies made = {n, eps, {0}};

    for (int k = 0; k < COLUMNS; k++) {
        made.at[k] = calloc((size_t)n + 1, sizeof(double));
        assert_non_null(made.at[k]);
    }
    return made;
}

static inline void free_bodies(bodies *of)
{
    for (int k = 0; k < COLUMNS; k++) {
        free(of->at[k]);
    }
}

static inline bh_generator parse(const char *text)
{
    bh_generator made;
    eqp_message message = {""};

    if (bh_generator_parse(text, &made, &message) != EQP_OK) {
        fail_msg("%s: %s", text, message.text);
    }
    return made;
}

static inline int slice(const bh_generator *generator, int64_t first, int64_t n, double *const at[INPUTS])
{
    return bh_generate(generator, first, n, at[X], at[Y], at[Z], at[VX], at[VY], at[VZ], at[M]);
}

static inline bodies generate(const char *text, double eps)
{
    const bh_generator generator = parse(text);
    bodies made = make_bodies(bh_generator_count(&generator), eps);

    assert_ok(slice(&generator, 0, made.n, made.at));
    return made;
}

static inline void direct_forces(bodies *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        s->at[AX][i] = s->at[AY][i] = s->at[AZ][i] = s->at[POT][i] = 0;
    }
    bh_direct(s->n, s->at[X], s->at[Y], s->at[Z], s->at[M], 1, s->eps, s->n, s->at[X], s->at[Y], s->at[Z], s->at[AX],
              s->at[AY], s->at[AZ], s->at[POT]);
    for (int64_t i = 0; i < s->n; i++) {
        s->at[POT][i] -= bh_potential_self(1, s->at[M][i], s->eps);
    }
}

static inline bh_sums sums_of(const bodies *s)
{
    bh_sums made;

    bh_sums_make(s->n, s->at[M], s->at[X], s->at[Y], s->at[Z], s->at[VX], s->at[VY], s->at[VZ], s->at[AX], s->at[AY],
                 s->at[AZ], s->at[POT], 0, NULL, &made);
    return made;
}

static inline int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Rounds of tests: each kernel available on this CPU, in both precisions. */
static const char *kernel_name;
static bh_precision kernel_precision;

static inline bool next_kernel(void)
{
    static int round;
    bool runs_here = false;

    for (; (kernel_name = bh_kernel_list(round / 2, &runs_here)) != NULL && !runs_here; round++) {
    }
    kernel_precision = round++ % 2 == 0 ? BH_DOUBLE : BH_MIXED;
    return kernel_name != NULL;
}

#endif
