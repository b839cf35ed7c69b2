/* SPDX-License-Identifier: BSD-3-Clause */
/* Generated networks, and copies of networks side by side. */
#include "dd_check.h"
#include "failing_malloc.h"
#include "unit.h"

#include "motion/generate.h"
#include "motion/tile.h"

#define PI 3.14159265358979323846

static dd_generator parse(const char *text)
{
    dd_generator made;
    eqp_message message = {""};

    if (dd_generator_parse(text, &made, &message) != EQP_OK) {
        fail_msg("%s: %s", text, message.text);
    }
    return made;
}

/* A network in a box. */
typedef struct input {
    dd_network network;
    double low[3], box[3], maxseg;
} input;

static void free_input(input *base)
{
    dd_network_free(&base->network);
}

static double offset_of(const input *of, const dd_node *node, const dd_arm *arm, double offset[3])
{
    const dd_node *to = &of->network.node[dd_network_find(&of->network, arm->tag)];

    for (int i = 0; i < 3; i++) {
        offset[i] = to->x[i] - node->x[i];
        offset[i] -= of->box[i] * round(offset[i] / of->box[i]);
    }
    return dd_v3_length(offset);
}

/* The network is sound, arms are no longer than maxseg and lie in their glide planes with their Burgers vectors of
 * length 1, nodes with one arm are pinned, positions lie in the box. Returns the total length. */
static double check(const input *of)
{
    eqp_message message = {""};
    double total = 0.0;

    if (dd_network_check(&of->network, of->box, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
    for (int64_t n = 0; n < of->network.n; n++) {
        const dd_node *node = &of->network.node[n];
        for (int i = 0; i < 3; i++) {
            assert_true(node->x[i] >= of->low[i] && node->x[i] < of->low[i] + of->box[i]);
        }
        assert_true(node->narms > 1 || node->constraint == DD_PINNED);
        for (int j = 0; j < node->narms; j++) {
            const double *normal = node->arm[j].normal, *burgers = node->arm[j].burgers;
            double offset[3];
            const double length = offset_of(of, node, &node->arm[j], offset);
            assert_true(length <= of->maxseg * (1.0 + 1e-9));
            assert_near(dd_v3_dot(normal, offset), 0, 1e-9 * length);
            assert_near(dd_v3_dot(normal, burgers), 0, 1e-9);
            assert_near(dd_v3_dot(burgers, burgers), 1.0, 1e-12);
            assert_near(dd_v3_dot(normal, normal), 1.0, 1e-12);
            total += 0.5 * length;
        }
    }
    return total;
}

static input make(const char *text)
{
    const dd_generator generator = parse(text);
    input made = {.maxseg = dd_generator_maxseg(&generator)};

    dd_network_init(&made.network);
    assert_ok(dd_generator_make(&generator, 0, dd_generator_count(&generator), &made.network));
    assert_int_equal(made.network.n, dd_generator_count(&generator) * dd_generator_nodes(&generator));
    dd_generator_box(&generator, made.low, made.box);
    return made;
}

static double length_of(const char *text)
{
    FREED_BY(free_input) input made = make(text);

    return check(&made);
}

TEST(every_kind_is_valid)
{
    static const char *const more[] = {"lines:along112=1",   "chains:corners=1",    "chains:corners=64,spread=2",
                                       "frank-read:angle=0", "frank-read:angle=63", "loops:sides=3",
                                       "loops:sides=5",      "loops:sides=63",      "loops:sides=64"};
    /* The defaults, a maximum length above every object, a box with few segments, short objects. */
    static const char *const keys[] = {"", ":n=9,box=50000,maxseg=1e9", ":n=9,box=50000,maxseg=313",
                                       ":seed=7,n=9,box=1000,maxseg=77"};
    char text[200], own[60];

    for (int i = 0; i < 4 * dd_generators.nkinds; i++) {
        const app_recipe_kind *kind = &dd_generators.kind[i / 4];
        const bool is_short = i % 4 == 3 && kind->key[DD_KEY_OWN].most > 64;
        snprintf(own, sizeof own, ",%s=200", kind->key[DD_KEY_OWN].name);
        snprintf(text, sizeof text, "%s%s%s", kind->name, keys[i % 4], is_short ? own : "");
        length_of(text);
    }
    for (int i = 0; i < COUNT_OF(more); i++) {
        length_of(more[i]);
    }
}

TEST(lengths_and_planes_are_known)
{
    const struct {
        const char *text;
        double length;
        bool oblique; /* planes other than {111} */
    } cases[] = {
        {"frank-read:n=5,length=3000", 15000, false},
        {"loops:n=5,radius=500,sides=6", 15000, true},
        {"loops:n=5,radius=500,sides=4", 20 * 500 * sqrt(2), false},
        {"loops:n=5,radius=500,sides=64", 5 * 500 * 128 * sin(PI / 64), true},
        {"lines:n=5,box=10000", 5e4 * sqrt(2), false},
        {"lines:n=5,box=10000,along112=1", 5e4 * sqrt(6), false},
        {"chains:n=5,box=10000,spread=0", 5e4 * sqrt(2), false},
    };

    for (int i = 0; i < COUNT_OF(cases); i++) {
        FREED_BY(free_input) input made = make(cases[i].text);
        assert_near(check(&made) / cases[i].length, 1.0, 1e-9);
        for (int64_t n = 0; n < made.network.n && !cases[i].oblique; n++) {
            for (int j = 0; j < 3 * made.network.node[n].narms; j++) {
                assert_near(fabs(made.network.node[n].arm[j / 3].normal[j % 3]), 1.0 / sqrt(3.0), 1e-12);
            }
        }
    }
    assert_true(length_of("chains:n=5,box=10000,spread=1") > 1.05 * 5e4 * sqrt(2.0));
    /* The size of a published network of 900 lines, 95400 nodes and segments of at most 800. */
    const dd_generator real = parse("chains:n=900,box=58824,maxseg=800,spread=0,corners=1");
    assert_in_range(dd_generator_count(&real) * dd_generator_nodes(&real), 90000, 100000);
}

/* A source has free nodes between pinned ends, and the requested angle. */
TEST(sources_have_their_character)
{
    for (int angle = 0; angle <= 180; angle += 30) {
        char text[80];
        snprintf(text, sizeof text, "frank-read:n=20,maxseg=1e9,angle=%d", angle);
        FREED_BY(free_input) input made = make(text);
        int pinned = 0;
        for (int64_t n = 0; n < made.network.n; n++) {
            const dd_node *node = &made.network.node[n];
            double offset[3];
            pinned += node->constraint == DD_PINNED;
            if (node->constraint == DD_PINNED && node->tag % (dd_tag)(made.network.n / 20) == 0) {
                const double length = offset_of(&made, node, &node->arm[0], offset);
                assert_near(dd_v3_dot(node->arm[0].burgers, offset) / length, cos(angle * PI / 180.0), 1e-9);
            }
        }
        assert_true(pinned == 40 && made.network.n > 40);
    }
}

/* Seeds and objects matter: all slip systems occur. */
TEST(networks_are_random)
{
    FREED_BY(free_input) input a = make("lines:n=400,seed=1"), b = make("lines:n=400,seed=2");
    int systems[4][27] = {{0}}, nsystems = 0;

    assert_memory_not_equal(a.network.node[0].x, b.network.node[0].x, sizeof a.network.node[0].x);
    for (int64_t n = 0; n < a.network.n; n++) {
        const dd_arm *arm = &a.network.node[n].arm[1];
        int plane = (arm->normal[0] < 0.0) + 2 * (arm->normal[1] < 0.0), burgers = 0;
        for (int i = 0; i < 3; i++) {
            burgers = 3 * burgers + (arm->burgers[i] > 0.1) - (arm->burgers[i] < -0.1) + 1;
        }
        nsystems += systems[plane][burgers]++ == 0;
    }
    assert_int_equal(nsystems, 12);
}

TEST(texts_are_checked)
{
    static const struct {
        const char *text;
        int code;
    } bad[] = {{"loop", EQP_ERR_UNKNOWN}, /* other mistakes: test_bh_generate */
               {"loops:n=0", EQP_ERR_ARGUMENT},
               {"loops:sides=2", EQP_ERR_ARGUMENT},
               {"loops:sides=65", EQP_ERR_ARGUMENT},
               {"loops:radius=1001,box=4000", EQP_ERR_ARGUMENT},
               {"frank-read:length=4001,box=4000", EQP_ERR_ARGUMENT},
               {"lines:n=1e9,box=1e9,maxseg=1", EQP_ERR_ARGUMENT}};
    dd_generator generator = parse("chains:n=3,box=700,corners=4,spread=0.5,maxseg=99,seed=12"),
                 small = parse("lines:box=100,maxseg=1000");

    assert_string_equal(generator.kind->name, "chains");
    assert_int_equal(dd_generator_count(&generator), 3);
    assert_near(dd_generator_maxseg(&generator), 99.0, 0.0);
    assert_near(dd_generator_maxseg(&small), 25.0, 0.0);
    assert_true(generator.seeded && generator.seed == 12);
    for (int i = 0; i < COUNT_OF(bad); i++) {
        const dd_generator before = generator;
        eqp_message message = {""};
        assert_int_equal(dd_generator_parse(bad[i].text, &generator, &message), bad[i].code);
        assert_true(strlen(message.text) > 0);
        assert_int_equal(dd_generator_parse(bad[i].text, &generator, NULL), bad[i].code);
        assert_memory_equal(&before, &generator, sizeof before);
    }
}

/* A line of four nodes along x that closes through a box. */
static input line(dd_tag a, dd_tag b, dd_tag c, dd_tag d)
{
    const dd_tag tag[4] = {a, b, c, d};
    static const double x[4] = {5, 30, 60, 85};
    input made = {.low = {0, 0, -10}, .box = {100, 64, 70}, .maxseg = 30};

    dd_network_init(&made.network);
    for (int k = 0; k < 4; k++) {
        dd_node node = {.tag = tag[k], .x = {x[k], 3.0, 0.0}, .v = {7, 8, 9}};
        for (int side = 0; side < 2; side++) {
            dd_arm *arm;
            assert_ok(dd_node_add_arm(&node, tag[(k + (side == 0 ? 3 : 1)) % 4], &arm));
            arm->burgers[0] = side == 0 ? -1.0 : 1.0;
            arm->normal[2] = 1.0;
        }
        assert_ok(dd_network_add(&made.network, &node));
    }
    return made;
}

static dd_tiling tiling_of(const input *base, int a, int b, int c)
{
    dd_tiling tiling;

    assert_ok(dd_tiling_init(&tiling, &base->network, (int[]){a, b, c}, base->low, base->box));
    assert_int_equal(dd_tiling_count(&tiling), a * b * c);
    return tiling;
}

/* All tiles, in ranges generated from last to first, and all invariants. */
static input tile(const input *base, const dd_tiling *tiling, int nranks)
{
    const int64_t tiles = dd_tiling_count(tiling);
    input made = {.maxseg = base->maxseg};

    dd_network_init(&made.network);
    for (int rank = nranks - 1; rank >= 0; rank--) {
        const int64_t first = tiles * rank / nranks, next = tiles * (rank + 1) / nranks;
        assert_ok(dd_tiling_make(tiling, &base->network, first, next - first, &made.network));
    }
    assert_int_equal(made.network.n, tiles * base->network.n);
    dd_tiling_box(tiling, made.low, made.box);
    for (int i = 0; i < 3; i++) {
        assert_near(made.box[i], tiling->count[i] * base->box[i], 0.0);
        assert_near(made.low[i] + 0.5 * made.box[i], base->low[i] + 0.5 * base->box[i], 1e-9);
    }
    assert_near(check(&made) / ((double)tiles * check(base)), 1.0, 1e-12);
    return made;
}

static void assert_same(const dd_network *one, const dd_network *other)
{
    for (int64_t n = 0; n < one->n; n++) {
        const dd_node *a = &one->node[n], *b = &other->node[dd_network_find(other, a->tag)];
        assert_memory_equal(a->x, b->x, sizeof a->x);
        assert_memory_equal(a->v, b->v, sizeof a->v);
        assert_int_equal(a->narms, b->narms);
        assert_memory_equal(a->arm, b->arm, (size_t)a->narms * sizeof *a->arm);
    }
}

/* On any ranks; a single tile is the network itself. */
TEST(networks_repeat)
{
    static const char *const text[] = {"chains:n=3,box=2000,maxseg=150", "loops:n=5,box=4000,radius=900,maxseg=300",
                                       "lines:n=2,box=900,along112=1,maxseg=200",
                                       "frank-read:n=3,length=3000,box=5000"};
    static const int count[5][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 2}, {3, 1, 4}, {1, 5, 2}};

    for (int t = 0; t <= COUNT_OF(text); t++) {
        FREED_BY(free_input) input base = t < COUNT_OF(text) ? make(text[t]) : line(7, DD_TAG(3, 1), 9, 10);
        for (int k = 0; k < 5; k++) {
            const dd_tiling tiling = tiling_of(&base, count[k][0], count[k][1], count[k][2]);
            FREED_BY(free_input) input one = tile(&base, &tiling, 1), many = tile(&base, &tiling, 3);
            assert_same(&one.network, &many.network);
            assert_same(&one.network, k == 0 ? &base.network : &one.network);
        }
    }
}

/* Two copies along the line are one line of twice the length; two across are two lines. */
TEST(lines_go_on_in_the_next_tile)
{
    FREED_BY(free_input) input base = line(0, 1, 2, 3);

    base.network.node[0].home = base.network.node[0].arm[0].home = 5; /* of another run: not the copies' */
    for (int k = 0; k < 2; k++) {
        const dd_tiling tiling = tiling_of(&base, k == 0 ? 2 : 1, k == 0 ? 1 : 2, 1);
        FREED_BY(free_input) input made = tile(&base, &tiling, 1);
        const dd_node *node = made.network.node;
        dd_tag at = 0;
        int steps = 0;
        do {
            at = node[dd_network_find(&made.network, at)].arm[1].tag;
            steps++;
        } while (at != 0 && steps < 100);
        assert_int_equal(steps, k == 0 ? 8 : 4);
        assert_true(node[0].home == 0 && node[0].arm[0].home == 0);
        assert_near(node[0].x[0], k == 0 ? -45.0 : 5.0, 1e-12);
        assert_near(node[dd_network_find(&made.network, 4)].x[0], k == 0 ? 55.0 : 5.0, 1e-12);
    }
}

TEST(large_tags_fit_or_are_refused)
{
    static const struct {
        dd_tag tag[4], last; /* the tag of the last node in tile 5 */
        bool by_domain;
    } cases[] = {{{1, 2, UINT32_MAX - 1, DD_TAG(2, 5)}, DD_TAG(17, 5), true},
                 {{1, 2, 3, DD_TAG(2, 5)}, DD_TAG(2, 35), false}};
    FREED_BY(free_input) input large = line(1, 2, UINT32_MAX - 1, DD_TAG(5000, 5));
    dd_tiling tiling;

    for (int i = 0; i < COUNT_OF(cases); i++) {
        const dd_tag *tag = cases[i].tag;
        FREED_BY(free_input) input base = line(tag[0], tag[1], tag[2], tag[3]);
        tiling = tiling_of(&base, 2, 3, 1);
        assert_int_equal(tiling.by_domain, cases[i].by_domain);
        FREED_BY(free_input) input made = tile(&base, &tiling, 2);
        assert_true(dd_tiling_tag(&tiling, 5, DD_TAG(2, 5)) == cases[i].last);
    }
    assert_int_equal(dd_tiling_init(&tiling, &large.network, (int[]){1000, 1000, 1}, large.low, large.box),
                     EQP_ERR_OVERFLOW);
    assert_refused(dd_tiling_init(&tiling, &large.network, (int[]){1, 1, 2}, large.low,
                                  (double[]){100, 64, 0})); /* not periodic */
}

static int tile_all(void *base)
{
    const dd_tiling tiling = tiling_of(base, 2, 2, 1);
    FREED_BY(dd_network_free) dd_network tiles;

    dd_network_init(&tiles);
    return dd_tiling_make(&tiling, &((input *)base)->network, 0, 4, &tiles);
}

TEST(failing_allocations)
{
    FREED_BY(free_input) input base = line(0, 1, 2, 3);

    assert_true(failing_malloc_sweep(tile_all, &base, EQP_ERR_MEMORY) > 0);
}
