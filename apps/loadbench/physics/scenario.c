/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario.h"

#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest weight, in thousandths. */
#define MOST_WEIGHT 1e12

/* Factors of cubes that fill the domain. */
#define KEY_PATCHES                                                                                                    \
    {                                                                                                                  \
        "patches", 6, 1, 64, true, "cubes along an edge of the domain"                                                 \
    }
enum { KEY_OF_PATCHES = 0 };

struct lb_scenario {
    const struct kind *kind;
    app_recipe recipe;
    int64_t step;
    int64_t m;    /* cubes along an edge */
    double *cube; /* [m^3] factor of weights in each cube; its logarithm for `walk` */
    int nranks;   /* for a record: */
    int64_t nsteps;
    double *load; /* [nsteps][nranks] mean 1 */
};

/* A kind: its changes from step to step, and the factor of a vertex. */
typedef struct kind {
    void (*begin)(lb_scenario *s);
    void (*advance)(lb_scenario *s);
    double (*factor)(const lb_scenario *s, int64_t id, int64_t n, const double centre[3]);
} kind;

static int64_t cube_at(const lb_scenario *s, const double centre[3])
{
    int64_t at = 0;

    for (int d = 0; d < 3; d++) {
        const int64_t along = (int64_t)(centre[d] * (double)s->m);
        at = at * s->m + (along < 0 ? 0 : along < s->m ? along : s->m - 1);
    }
    return at;
}

static double normal(const lb_scenario *s, int64_t cube)
{
    double deviate[2];

    eqp_random_normal(s->recipe.seed, (uint64_t)cube, (uint64_t)s->step, deviate);
    return deviate[0];
}

/* static: a log-normal factor of mean 1 for each cube. */
enum { STATIC_SIGMA = 1 };

static void begin_static(lb_scenario *s)
{
    const double sigma = s->recipe.value[STATIC_SIGMA];

    for (int64_t c = 0; c < s->m * s->m * s->m; c++) {
        s->cube[c] = exp(sigma * normal(s, c) - 0.5 * sigma * sigma);
    }
}

static double factor_static(const lb_scenario *s, int64_t id, int64_t n, const double centre[3])
{
    (void)id;
    (void)n;
    return s->cube[cube_at(s, centre)];
}

static const kind static_kind = {begin_static, NULL, factor_static};

/* front: a plane across x that moves through the domain and reenters at the other side. */
enum { FRONT_PEAK, FRONT_WIDTH, FRONT_SPEED };

static double factor_front(const lb_scenario *s, int64_t id, int64_t n, const double centre[3])
{
    const double *key = s->recipe.value, ahead = fabs(centre[0] - fmod(key[FRONT_SPEED] * (double)s->step, 1.0)),
                 distance = fmin(ahead, 1.0 - ahead) / key[FRONT_WIDTH];

    (void)id;
    (void)n;
    return 1.0 + key[FRONT_PEAK] * exp(-distance * distance);
}

static const kind front_kind = {NULL, NULL, factor_front};

/* walk: the logarithm of each cube's factor performs a random walk between two walls. */
enum { WALK_SIGMA = 1, WALK_RANGE };

static void advance_walk(lb_scenario *s)
{
    const double range = s->recipe.value[WALK_RANGE];

    for (int64_t c = 0; c < s->m * s->m * s->m; c++) {
        const double to = s->cube[c] + s->recipe.value[WALK_SIGMA] * normal(s, c);
        const double back = to > range ? 2.0 * range - to : to < -range ? -2.0 * range - to : to;
        s->cube[c] = fmax(-range, fmin(range, back));
    }
}

static double factor_walk(const lb_scenario *s, int64_t id, int64_t n, const double centre[3])
{
    (void)id;
    (void)n;
    return exp(s->cube[cube_at(s, centre)]);
}

static const kind walk_kind = {NULL, advance_walk, factor_walk};

/* jump: even for `every` steps; then, every `every` steps, vertices in another ball become heavy. */
enum { JUMP_FACTOR, JUMP_RADIUS, JUMP_EVERY };

static double factor_jump(const lb_scenario *s, int64_t id, int64_t n, const double centre[3])
{
    const double *key = s->recipe.value;
    const int64_t jump = s->step / (int64_t)key[JUMP_EVERY];
    double r2 = 0.0;

    (void)id;
    (void)n;
    for (uint64_t d = 0; d < 3; d++) {
        const double away = centre[d] - eqp_random_uniform(s->recipe.seed, (uint64_t)jump, d);
        r2 += away * away;
    }
    return jump > 0 && r2 < key[JUMP_RADIUS] * key[JUMP_RADIUS] ? key[JUMP_FACTOR] : 1.0;
}

static const kind jump_kind = {NULL, NULL, factor_jump};

static double factor_record(const lb_scenario *s, int64_t id, int64_t n, const double centre[3])
{
    const int64_t step = s->step < s->nsteps ? s->step : s->nsteps - 1;

    (void)centre;
    return s->load[step * s->nranks + id * s->nranks / n];
}

static const kind record_kind = {NULL, NULL, factor_record};

static const app_recipe_kind kinds[] = {
    {"static",
     "uneven from place to place, the same in all steps: a log-normal factor for each cube",
     &static_kind,
     2,
     {[KEY_OF_PATCHES] = KEY_PATCHES, [STATIC_SIGMA] = {"sigma", 1, 0, 3, false, "of the logarithm; 0: even"}}},
    {"front",
     "a front moves through, across x; it comes in again behind",
     &front_kind,
     3,
     {[FRONT_PEAK] = {"peak", 9, 0, 1000, false, "by how much weights are larger there"},
      [FRONT_WIDTH] = {"width", 0.1, 0.001, 1, false, "of the front, in edges of the domain"},
      [FRONT_SPEED] = {"speed", 0.01, 0, 1, false, "edges of the domain in a step"}}},
    {"walk",
     "the logarithm of a factor for each cube walks at random",
     &walk_kind,
     3,
     {[KEY_OF_PATCHES] = KEY_PATCHES,
      [WALK_SIGMA] = {"sigma", 0.1, 0, 1, false, "of a step"},
      [WALK_RANGE] = {"range", 1.5, 0.01, 5, false, "the walk stays between minus this and this"}}},
    {"jump",
     "even, then suddenly heavy in a ball, and later in another one",
     &jump_kind,
     3,
     {[JUMP_FACTOR] = {"factor", 10, 0, 1000, false, "of the weights in the ball"},
      [JUMP_RADIUS] = {"radius", 0.3, 0.001, 2, false, "of the ball, in edges of the domain"},
      [JUMP_EVERY] = {"every", 10, 1, 1e9, true,
                      "steps from one ball to the next; before the first, weights are even"}}},
};

const app_recipes lb_scenarios = {"weights", (int)(sizeof kinds / sizeof kinds[0]), kinds};

int lb_scenario_create(const app_recipe *recipe, lb_scenario **scenario)
{
    lb_scenario *made = NULL;
    int code = EQP_OK;

    EQP_TRY(app_recipe_valid(recipe) ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    made->kind = recipe->kind->how;
    made->recipe = *recipe;
    if (strcmp(recipe->kind->key[KEY_OF_PATCHES].name, "patches") == 0) {
        made->m = (int64_t)recipe->value[KEY_OF_PATCHES];
    }
    EQP_TRY(eqp_array_create(&made->cube, made->m * made->m * made->m, sizeof *made->cube));
    if (made->kind->begin != NULL) {
        made->kind->begin(made);
    }
    *scenario = made;
    made = NULL;
done:
    lb_scenario_free(made);
    return code;
}

int lb_scenario_replay(int nranks, int64_t nsteps, const double *load, lb_scenario **scenario)
{
    lb_scenario *made = NULL;
    double total = 0.0;
    int code = EQP_OK;

    EQP_TRY(nranks >= 1 && nsteps >= 1 && load != NULL ? EQP_OK : EQP_ERR_ARGUMENT);
    for (int64_t i = 0; i < nsteps * nranks; i++) {
        EQP_TRY(isfinite(load[i]) && load[i] >= 0 ? EQP_OK : EQP_ERR_ARGUMENT);
        total += load[i] / ((double)nsteps * nranks);
    }
    EQP_TRY(total > 0 && isfinite(total) ? EQP_OK : EQP_ERR_ARGUMENT);
    EQP_TRY(eqp_array_create(&made, 1, sizeof *made));
    made->kind = &record_kind;
    made->nranks = nranks;
    made->nsteps = nsteps;
    EQP_TRY(eqp_array_create(&made->load, nsteps * nranks, sizeof *made->load));
    for (int64_t i = 0; i < nsteps * nranks; i++) {
        made->load[i] = load[i] / total;
    }
    *scenario = made;
    made = NULL;
done:
    lb_scenario_free(made);
    return code;
}

void lb_scenario_free(lb_scenario *scenario)
{
    if (scenario != NULL) {
        free(scenario->cube);
        free(scenario->load);
        free(scenario);
    }
}

void lb_scenario_go(lb_scenario *scenario, int64_t step)
{
    while (scenario->step < step) {
        scenario->step++;
        if (scenario->kind->advance != NULL) {
            scenario->kind->advance(scenario);
        }
    }
}

int64_t lb_scenario_weight(const lb_scenario *scenario, int64_t id, int64_t n, const double centre[3], double base)
{
    return llround(fmin(MOST_WEIGHT, LB_THOUSAND * base * scenario->kind->factor(scenario, id, n, centre)));
}

int lb_work_create(int64_t bytes, lb_work *work)
{
    lb_work made = {.bits = 1};

    EQP_CHECK(bytes >= 16 ? EQP_OK : EQP_ERR_ARGUMENT);
    while (made.bits < 40 && (INT64_C(16) << made.bits) <= bytes) {
        made.bits++;
    }
    EQP_CHECK(eqp_array_create(&made.array, INT64_C(1) << made.bits, sizeof *made.array));
    for (int64_t i = 0; i < INT64_C(1) << made.bits; i++) {
        made.array[i] = eqp_random_bits(0, 0, (uint64_t)i);
    }
    *work = made;
    return EQP_OK;
}

void lb_work_free(lb_work *work)
{
    free(work->array);
    work->array = NULL;
}

/* The upper bits of a linear congruential generator (Knuth's constant) select the next access. */
uint64_t lb_work_do(const lb_work *work, int64_t accesses, uint64_t start)
{
    const int shift = 64 - work->bits;
    uint64_t state = start;

    for (int64_t i = 0; i < accesses; i++) {
        state = state * UINT64_C(6364136223846793005) + work->array[state >> shift];
    }
    return state;
}
