/* SPDX-License-Identifier: BSD-3-Clause */
#include "dd_valid.h"
#include "failing_malloc.h"
#include "unit.h"

#include "motion/generate.h"
#include "motion/tile.h"

typedef struct input {
    dd_network network;
    double low[3], box[3], maxseg;
} input;

static void free_input(input *base)
{
    dd_network_free(&base->network);
}

static input generate(const char *text)
{
    dd_generator generator;
    input made;

    assert_ok(dd_generator_parse(text, &generator, NULL));
    dd_network_init(&made.network);
    assert_ok(dd_generator_make(&generator, 0, dd_generator_count(&generator), &made.network));
    dd_generator_box(&generator, made.low, made.box);
    made.maxseg = dd_generator_maxseg(&generator);
    return made;
}

static void add_node(dd_network *network, dd_tag tag, double x, dd_tag before, dd_tag after)
{
    dd_node node = {.tag = tag, .x = {x, 3.0, 0.0}, .v = {7, 8, 9}};
    dd_arm *arm;

    assert_ok(dd_node_add_arm(&node, before, &arm));
    arm->burgers[0] = -1.0;
    arm->normal[2] = 1.0;
    assert_ok(dd_node_add_arm(&node, after, &arm));
    arm->burgers[0] = 1.0;
    arm->normal[2] = 1.0;
    assert_ok(dd_network_add(network, &node));
}

/* A line of four nodes along x that closes through a box. */
static input line(dd_tag a, dd_tag b, dd_tag c, dd_tag d)
{
    input made = {.low = {0, 0, -10}, .box = {100, 64, 70}, .maxseg = 30};

    dd_network_init(&made.network);
    add_node(&made.network, a, 5.0, d, b);
    add_node(&made.network, b, 30.0, a, c);
    add_node(&made.network, c, 60.0, b, d);
    add_node(&made.network, d, 85.0, c, a);
    return made;
}

static dd_tiling tile(const input *base, int a, int b, int c)
{
    const int count[3] = {a, b, c};
    dd_tiling tiling;

    assert_ok(dd_tiling_init(&tiling, &base->network, count, base->low, base->box));
    assert_int_equal(dd_tiling_count(&tiling), a * b * c);
    return tiling;
}

/* All tiles, in ranges generated from last to first, and all invariants. */
static dd_network check(const input *base, const dd_tiling *tiling, int nranks)
{
    const int64_t tiles = dd_tiling_count(tiling);
    double low[3], box[3];
    dd_network made;

    dd_network_init(&made);
    for (int rank = nranks - 1; rank >= 0; rank--) {
        int64_t first = tiles * rank / nranks, next = tiles * (rank + 1) / nranks;
        assert_ok(dd_tiling_make(tiling, &base->network, first, next - first, &made));
    }
    assert_int_equal(made.n, tiles * base->network.n);
    dd_tiling_box(tiling, low, box);
    for (int i = 0; i < 3; i++) {
        assert_near(box[i], tiling->count[i] * base->box[i], 0.0);
        assert_near(low[i] + 0.5 * box[i], base->low[i] + 0.5 * base->box[i], 1e-9);
    }
    double one = check_network(&base->network, base->low, base->box, base->maxseg, 1e-9);
    double all = check_network(&made, low, box, base->maxseg, 1e-9);
    assert_near(all / ((double)tiles * one), 1.0, 1e-12);
    return made;
}

TEST(chains_repeat)
{
    static const char *const text[] = {"chains:n=3,box=2000,maxseg=150", "loops:n=5,box=4000,radius=900,maxseg=300",
                                       "lines:n=2,box=900,along112=1,maxseg=200",
                                       "frank-read:n=3,length=3000,box=5000"};
    static const int count[5][3] = {{1, 1, 1}, {2, 1, 1}, {2, 2, 2}, {3, 1, 4}, {1, 5, 2}};

    for (size_t t = 0; t < sizeof text / sizeof text[0]; t++) {
        FREED_BY(free_input) input base = generate(text[t]);
        for (int k = 0; k < 5; k++) {
            dd_tiling tiling = tile(&base, count[k][0], count[k][1], count[k][2]);
            FREED_BY(dd_network_free) dd_network one = check(&base, &tiling, 1), many = check(&base, &tiling, 3);
            for (int64_t n = 0; n < one.n; n++) {
                const dd_node *a = &one.node[n], *b = &many.node[dd_network_find(&many, a->tag)];
                assert_memory_equal(a->x, b->x, sizeof a->x);
                assert_int_equal(a->narms, b->narms);
                assert_memory_equal(a->arm, b->arm, (size_t)a->narms * sizeof *a->arm);
            }
        }
    }
}

TEST(one_tile_changes_nothing)
{
    FREED_BY(free_input) input base = line(7, DD_TAG(3, 1), 9, 10);
    dd_tiling tiling = tile(&base, 1, 1, 1);
    FREED_BY(dd_network_free) dd_network made = check(&base, &tiling, 1);

    for (int64_t n = 0; n < made.n; n++) {
        assert_true(made.node[n].tag == base.network.node[n].tag);
        assert_memory_equal(made.node[n].x, base.network.node[n].x, sizeof made.node[n].x);
        assert_memory_equal(made.node[n].v, base.network.node[n].v, sizeof made.node[n].v);
        assert_memory_equal(made.node[n].arm, base.network.node[n].arm, 2 * sizeof(dd_arm));
    }
}

/* Two copies along the line are one line of twice the length; two across are two lines. */
TEST(lines_go_on_in_the_next_tile)
{
    FREED_BY(free_input) input base = line(0, 1, 2, 3);
    base.network.node[0].home = base.network.node[0].arm[0].home = 5; /* of another run: not the copies' */
    dd_tiling along = tile(&base, 2, 1, 1), across = tile(&base, 1, 2, 1);
    FREED_BY(dd_network_free) dd_network one = check(&base, &along, 1), two = check(&base, &across, 1);

    for (int k = 0; k < 2; k++) {
        const dd_network *made = k == 0 ? &one : &two;
        dd_tag at = 0;
        int steps = 0;
        do {
            at = made->node[dd_network_find(made, at)].arm[1].tag;
            steps++;
        } while (at != 0 && steps < 100);
        assert_int_equal(steps, k == 0 ? 8 : 4);
    }
    for (int64_t n = 0; n < one.n; n++) {
        assert_true(one.node[n].home == 0 && one.node[n].arm[0].home == 0);
    }
    assert_near(one.node[0].x[0], -45.0, 1e-12);
    assert_near(one.node[dd_network_find(&one, 4)].x[0], 55.0, 1e-12);
}

TEST(large_tags_fit_or_are_refused)
{
    static const struct {
        dd_tag tag[4], last; /* the tag of the last node in tile 5 */
        bool by_domain;
    } cases[] = {{{1, 2, UINT32_MAX - 1, DD_TAG(2, 5)}, DD_TAG(17, 5), true},
                 {{1, 2, 3, DD_TAG(2, 5)}, DD_TAG(2, 35), false}};
    dd_tiling tiling;

    for (int i = 0; i < COUNT_OF(cases); i++) {
        FREED_BY(free_input) input base = line(cases[i].tag[0], cases[i].tag[1], cases[i].tag[2], cases[i].tag[3]);
        tiling = tile(&base, 2, 3, 1);
        assert_int_equal(tiling.by_domain, cases[i].by_domain);
        assert_true(!tiling.by_domain || tiling.span == 3);
        FREED_BY(dd_network_free) dd_network made = check(&base, &tiling, 2);
        assert_true(dd_tiling_tag(&tiling, 5, DD_TAG(2, 5)) == cases[i].last);
    }
    FREED_BY(free_input) input base = line(1, 2, UINT32_MAX - 1, DD_TAG(5000, 5));
    assert_int_equal(dd_tiling_init(&tiling, &base.network, (int[]){1000, 1000, 1}, base.low, base.box),
                     EQP_ERR_OVERFLOW);
}

TEST(errors)
{
    FREED_BY(free_input) input base = line(0, 1, 2, 3);
    const int two[3] = {1, 1, 2}, none[3] = {1, 0, 1};
    const double open[3] = {100, 64, 0};
    dd_tiling tiling;
    FREED_BY(dd_network_free) dd_network made;
    dd_network_init(&made);
    assert_refused(dd_tiling_init(&tiling, &base.network, two, base.low, open));
    assert_refused(dd_tiling_init(&tiling, &base.network, none, base.low, base.box));
    tiling = tile(&base, 1, 1, 2);
    assert_refused(dd_tiling_make(&tiling, &base.network, 1, 2, &made));
    assert_refused(dd_tiling_make(&tiling, &base.network, -1, 1, &made));
    assert_ok(dd_tiling_make(&tiling, &base.network, 1, 1, &made));
    assert_int_equal(dd_tiling_make(&tiling, &base.network, 0, 2, &made), EQP_ERR_DATA);
    assert_int_equal(made.n, 4);
    dd_network_remove(&base.network, 0);
    assert_int_equal(dd_tiling_make(&tiling, &base.network, 0, 1, &made), EQP_ERR_DATA);
    assert_int_equal(made.n, 4);
}

static int make_tiles(void *base)
{
    const dd_tiling tiling = tile(base, 2, 2, 1);
    FREED_BY(dd_network_free) dd_network made;
    dd_network_init(&made);
    const int code = dd_tiling_make(&tiling, &((input *)base)->network, 0, 4, &made);
    assert_true(code == EQP_OK || made.n == 0);
    return code;
}

TEST(failing_allocations)
{
    FREED_BY(free_input) input base = line(0, 1, 2, 3);
    assert_true(failing_malloc_sweep(make_tiles, &base, EQP_ERR_MEMORY) > 0);
}
