/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_valid.h"
#include "failing_malloc.h"
#include "unit.h"

#include "motion/generate.h"

static dd_generator parse(const char *text)
{
    dd_generator made;
    eqp_message message = {""};

    if (dd_generator_parse(text, &made, &message) != EQP_OK) {
        fail_msg("%s: %s", text, message.text);
    }
    return made;
}

static dd_network make(const dd_generator *generator)
{
    dd_network made;

    dd_network_init(&made);
    assert_ok(dd_generator_make(generator, 0, dd_generator_count(generator), &made));
    assert_int_equal(made.n, dd_generator_count(generator) * dd_generator_nodes(generator));
    return made;
}

/* Generates the network of a text, checks all its promises and returns its total length. */
static double check(const char *text)
{
    dd_generator generator = parse(text);
    FREED_BY(dd_network_free) dd_network network = make(&generator);
    double low[3], box[3];

    dd_generator_box(&generator, low, box);
    double length = check_network(&network, low, box, dd_generator_maxseg(&generator), 1e-9);
    for (int64_t n = 0; n < network.n; n++) {
        const dd_node *node = &network.node[n];
        for (int j = 0; j < node->narms; j++) {
            const double *b = node->arm[j].burgers;
            const double *m = node->arm[j].normal;
            assert_near(b[0] * b[0] + b[1] * b[1] + b[2] * b[2], 1.0, 1e-12);
            assert_near(m[0] * m[0] + m[1] * m[1] + m[2] * m[2], 1.0, 1e-12);
        }
    }
    return length;
}

static void check_111(const char *text)
{
    dd_generator generator = parse(text);
    FREED_BY(dd_network_free) dd_network network = make(&generator);

    for (int64_t n = 0; n < network.n; n++) {
        for (int j = 0; j < network.node[n].narms; j++) {
            for (int i = 0; i < 3; i++) {
                assert_near(fabs(network.node[n].arm[j].normal[i]), 1.0 / sqrt(3.0), 1e-12);
            }
        }
    }
}

TEST(every_kind_is_valid)
{
    const int nkinds = dd_generators.nkinds;
    const app_recipe_kind *table = dd_generators.kind;

    for (int k = 0; k < nkinds; k++) {
        char text[200];
        snprintf(text, sizeof text, "%s", table[k].name);
        check(text);
        snprintf(text, sizeof text, "%s:seed=7,n=9,box=1000,maxseg=77,%s=%g", table[k].name,
                 table[k].key[DD_KEY_OWN].name, fmin(table[k].key[DD_KEY_OWN].most, 200.0));
        if (table[k].key[DD_KEY_OWN].most <= 64) {
            snprintf(text, sizeof text, "%s:seed=7,n=9,box=1000,maxseg=77", table[k].name);
        }
        check(text);
        /* A box with few segments, and a maximum length above every object. */
        snprintf(text, sizeof text, "%s:n=9,box=50000,maxseg=1e9", table[k].name);
        check(text);
        snprintf(text, sizeof text, "%s:n=9,box=50000,maxseg=313", table[k].name);
        check(text);
    }
    for (int sides = 3; sides <= 64; sides += sides == 3 ? 1 : 5) {
        char text[200];
        snprintf(text, sizeof text, "loops:sides=%d", sides);
        check(text);
    }
    check("lines:along112=1");
    check("chains:corners=1");
    check("chains:corners=64,spread=2");
    check("frank-read:angle=0");
    check("frank-read:angle=63");
    check_111("frank-read");
    check_111("loops");
    check_111("lines");
    check_111("lines:along112=1");
    check_111("chains");
}

TEST(lengths_are_known)
{
    const double pi = 3.14159265358979323846;

    assert_near(check("frank-read:n=5,length=3000") / 15000.0, 1.0, 1e-9);
    assert_near(check("loops:n=5,radius=500,sides=6") / 15000.0, 1.0, 1e-9);
    assert_near(check("loops:n=5,radius=500,sides=4") / (20.0 * 500.0 * sqrt(2.0)), 1.0, 1e-9);
    assert_near(check("loops:n=5,radius=500,sides=64") / (5.0 * 500.0 * 128.0 * sin(pi / 64.0)), 1.0, 1e-9);
    assert_near(check("lines:n=5,box=10000") / (5e4 * sqrt(2.0)), 1.0, 1e-9);
    assert_near(check("lines:n=5,box=10000,along112=1") / (5e4 * sqrt(6.0)), 1.0, 1e-9);
    assert_near(check("chains:n=5,box=10000,spread=0") / (5e4 * sqrt(2.0)), 1.0, 1e-9);
    assert_true(check("chains:n=5,box=10000,spread=1") > 1.05 * 5e4 * sqrt(2.0));
    /* The size of a published network of 900 lines, 95400 nodes and segments of at most 800. */
    dd_generator real = parse("chains:n=900,box=58824,maxseg=800,spread=0,corners=1");
    int64_t nodes = dd_generator_count(&real) * dd_generator_nodes(&real);
    assert_in_range(nodes, 90000, 100000);
}

/* A source has free nodes between pinned ends, and the requested angle. */
TEST(sources_have_their_character)
{
    for (int angle = 0; angle <= 180; angle += 30) {
        char text[80];
        snprintf(text, sizeof text, "frank-read:n=20,maxseg=1e9,angle=%d", angle);
        dd_generator generator = parse(text);
        FREED_BY(dd_network_free) dd_network network = make(&generator);
        double low[3], box[3], offset[3];
        int pinned = 0;

        dd_generator_box(&generator, low, box);
        for (int64_t n = 0; n < network.n; n++) {
            const dd_node *node = &network.node[n];
            pinned += node->constraint == DD_PINNED;
            if (node->constraint == DD_PINNED && network.node[n].tag % (dd_tag)dd_generator_nodes(&generator) == 0) {
                const dd_arm *arm = &node->arm[0];
                const dd_node *to = &network.node[dd_network_find(&network, arm->tag)];
                double length = check_offset(node->x, to->x, box, offset);
                double cosine =
                    (arm->burgers[0] * offset[0] + arm->burgers[1] * offset[1] + arm->burgers[2] * offset[2]) / length;
                assert_near(cosine, cos(angle * 3.14159265358979323846 / 180.0), 1e-9);
            }
        }
        assert_int_equal(pinned, 40);
        assert_true(network.n > 40);
    }
}

/* Seeds and objects matter: all slip systems occur. */
TEST(networks_are_random)
{
    dd_generator one = parse("lines:n=400,seed=1"), two = parse("lines:n=400,seed=2");
    FREED_BY(dd_network_free) dd_network a = make(&one), b = make(&two);
    int systems[4][27] = {{0}}, nsystems = 0;

    assert_memory_not_equal(a.node[0].x, b.node[0].x, sizeof a.node[0].x);
    for (int64_t n = 0; n < a.n; n++) {
        const dd_arm *arm = &a.node[n].arm[1];
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
    dd_generator generator = parse("chains:n=3,box=700,corners=4,spread=0.5,maxseg=99,seed=12");

    assert_string_equal(generator.kind->name, "chains");
    assert_int_equal(dd_generator_count(&generator), 3);
    assert_near(dd_generator_maxseg(&generator), 99.0, 0.0);
    assert_true(generator.seeded && generator.seed == 12);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        dd_generator before = generator;
        eqp_message message = {""};
        if (dd_generator_parse(bad[i].text, &generator, &message) != bad[i].code) {
            fail_msg("'%s' is read", bad[i].text);
        }
        assert_true(strlen(message.text) > 0);
        assert_int_equal(dd_generator_parse(bad[i].text, &generator, NULL), bad[i].code);
        assert_memory_equal(&before, &generator, sizeof before);
    }
    dd_generator small = parse("lines:box=100,maxseg=1000");
    assert_near(dd_generator_maxseg(&small), 25.0, 0.0);
}

static int make_sources(void *generator)
{
    FREED_BY(dd_network_free) dd_network network;
    dd_network_init(&network);
    const int code = dd_generator_make(generator, 0, 4, &network);
    assert_true(code == EQP_OK || network.n == 0);
    return code;
}

TEST(failing_allocations)
{
    dd_generator generator = parse("frank-read:n=4");

    assert_true(failing_malloc_sweep(make_sources, &generator, EQP_ERR_MEMORY) > 0);
}
