/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* syscall */
/* The sampler in several threads, each with its own objects and all with a shared tree and shared units. Every thread
 * gets the result of a single thread. Meetings of threads in the place of a node's ranks. Also linked with a
 * ThreadSanitizer build of the sampler, which detects races that change no result. */
#include "../../lib/comm/meeting.h"

#include "units_world.h"

#include <equipoise/more/curve.h>
#include <equipoise/more/kdtree.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 4, POINTS = 3000, QUERIES = 300, NEAREST = 8, OWNERS = 60 };

struct shared {
    double point[3][POINTS], of_point[POINTS][3];
    eqp_kdtree *tree;
    struct world world;
    eqp_units *units;
};

static struct shared shared;

struct result {
    pthread_t thread;
    uint64_t digest;
    int code;
};

/* FNV-1a */
static void take(struct result *r, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++) {
        r->digest = (r->digest ^ at[i]) * UINT64_C(0x100000001b3);
    }
}

static void note(struct result *r, int code)
{
    r->code = r->code == EQP_OK ? code : r->code;
}

static int visit(void *user, int64_t index, double dist2)
{
    take(user, &index, sizeof index);
    take(user, &dist2, sizeof dist2);
    return 0;
}

static void query_trees(struct result *r, const eqp_kdtree *tree)
{
    for (int i = 0; i < QUERIES; i++) {
        int64_t index[NEAREST] = {0}, found = 0;
        double dist2[NEAREST] = {0};

        note(r, eqp_kdtree_nearest_k(tree, shared.of_point[i], NEAREST, &found, index, dist2));
        take(r, index, sizeof index);
        take(r, dist2, sizeof dist2);
        note(r, eqp_kdtree_nearest(tree, shared.of_point[i], index, dist2));
        take(r, index, sizeof *index);
        note(r, eqp_kdtree_radius(tree, shared.of_point[i], 0.005, visit, r));
    }
}

/* The unit of every interaction, and what the units are. */
static void query_units(struct result *r, const eqp_units *units, const struct world *world)
{
    for (int64_t i = 0; i < world->n; i++) {
        for (int64_t j = 0; j < world->total[i]; j++) {
            double centroid[3];
            world_centroid(world, world->id[i], j, centroid);
            const int64_t unit = eqp_units_find(units, i, centroid);
            take(r, &unit, sizeof unit);
        }
    }
    for (int64_t u = 0; u < eqp_units_count(units); u++) {
        eqp_unit unit;
        note(r, eqp_units_get(units, u, &unit));
        take(r, &unit.id, sizeof unit.id);
        take(r, &unit.weight, sizeof unit.weight);
    }
}

static int make_units(struct world *world, eqp_units **units)
{
    eqp_units_options options = eqp_units_options_defaults();

    options.nparts = 8;
    options.imbalance = 0.02;
    return eqp_units_create_serial(world->n, world->id, world_enumerate, world, &options, units);
}

/* Trees, units and keys of its own, then the shared ones. */
static void *work(void *user)
{
    const double corner[3] = {0, 0, 0};
    struct result *r = user;
    struct world world = shared.world; /* the callback counts its calls in it */
    uint64_t *key = calloc(POINTS, sizeof *key);
    eqp_kdtree *tree = NULL;
    eqp_units *units = NULL;

    r->digest = UINT64_C(0xcbf29ce484222325);
    note(r, key ? eqp_hilbert_keys(POINTS, shared.point[0], shared.point[1], shared.point[2], corner, 1, key)
                : EQP_ERR_MEMORY);
    note(r, eqp_kdtree_create(POINTS, 3, shared.of_point[0], NULL, &tree));
    note(r, make_units(&world, &units));
    if (r->code == EQP_OK) {
        take(r, key, POINTS * sizeof *key);
        query_trees(r, tree);
        query_units(r, units, &world);
        query_trees(r, shared.tree);
        query_units(r, shared.units, &world);
    }
    eqp_units_free(units);
    eqp_kdtree_free(tree);
    free(key);
    return NULL;
}

static int make_shared(void)
{
    for (int i = 0; i < POINTS; i++) {
        for (int k = 0; k < 3; k++) {
            shared.of_point[i][k] = eqp_random_uniform(1, (uint64_t)i, (uint64_t)k);
            shared.point[k][i] = shared.of_point[i][k];
        }
    }
    shared.world = world_create(OWNERS, 30);
    shared.world.batch = WORLD_BATCH; /* enough to look at several interactions at a time */
    const int code = eqp_kdtree_create(POINTS, 3, shared.of_point[0], NULL, &shared.tree);
    return code == EQP_OK ? make_units(&shared.world, &shared.units) : code;
}

TEST(every_thread_gets_the_result_of_one)
{
    struct result alone = {0}, result[THREADS] = {{0}};

    note(&alone, make_shared());
    if (alone.code == EQP_OK) {
        (void)work(&alone);
    }
    assert_ok(alone.code);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_create(&result[t].thread, NULL, work, &result[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(result[t].thread, NULL), 0);
        assert_true(result[t].code == EQP_OK && result[t].digest == alone.digest);
    }
    eqp_units_free(shared.units);
    eqp_kdtree_free(shared.tree);
    world_free(&shared.world);
}

enum { MEETINGS = 3000 };

static struct {
    eqp__meeting meeting;
    int value[THREADS];     /* written without atomic operations */
    int expected[MEETINGS]; /* code of each meeting */
} node;

typedef struct participant {
    pthread_t thread;
    int rank, wrong;
} participant;

/* Most meetings have no failure; in the others some ranks fail, or have only heard of a failure. */
static int code_of(int rank, int k)
{
    static const int code[] = {EQP_ERR_REMOTE, EQP_ERR_MEMORY, EQP_ERR_FORMAT, EQP_OK};
    const unsigned draw = (unsigned)k * 2654435761u >> 20;

    return draw % 5 == 0 ? code[(draw / 5 + (unsigned)rank * (draw >> 6)) % 4] : EQP_OK;
}

static int expected(int k)
{
    int remote = EQP_OK;

    for (int r = 0; r < THREADS; r++) {
        if (code_of(r, k) != EQP_OK && code_of(r, k) != EQP_ERR_REMOTE) {
            return code_of(r, k);
        }
        remote = code_of(r, k) != EQP_OK ? EQP_ERR_REMOTE : remote;
    }
    return remote;
}

static void *participate(void *user)
{
    participant *p = user;

    for (int k = 0; k < MEETINGS; k++) {
        node.value[p->rank] = k;
        p->wrong += eqp__meeting_hold(&node.meeting, THREADS, p->rank, code_of(p->rank, k)) != node.expected[k];
        for (int r = 0; r < THREADS; r++) {
            p->wrong += node.value[r] != k;
        }
        p->wrong += eqp__meeting_hold(&node.meeting, THREADS, p->rank, EQP_OK) != EQP_OK;
    }
    return NULL;
}

TEST(a_meeting_shows_all_what_each_wrote_before)
{
    participant p[THREADS];
    int failures = 0;

    for (int k = 0; k < MEETINGS; k++) {
        node.expected[k] = expected(k);
        failures += node.expected[k] != EQP_OK;
    }
    assert_true(failures > MEETINGS / 20);
    for (int r = 0; r < THREADS; r++) {
        p[r] = (participant){.rank = r};
        assert_int_equal(pthread_create(&p[r].thread, NULL, participate, &p[r]), 0);
    }
    for (int r = 0; r < THREADS; r++) {
        assert_int_equal(pthread_join(p[r].thread, NULL), 0);
        assert_int_equal(p[r].wrong, 0);
    }
}
