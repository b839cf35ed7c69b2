/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/hypergraph.h"

#include "unit.h"

#include <equipoise/more/random.h>

#define UNITS 30
#define IDS 25

static uint64_t draws;

static int64_t below(int64_t n)
{
    return (int64_t)eqp_random_below(11, 1, draws++, (uint64_t)n);
}

/* Ids spread over 63 bits, so that every digit of the sort matters. */
static int64_t id_of(int64_t k)
{
    return (int64_t)(eqp_random_bits(3, 3, (uint64_t)k) >> 1 >> (k % 3 ? 0 : 40));
}

typedef struct units {
    int64_t first[UNITS + 1];
    int64_t pin[UNITS * 8];
    int touches[UNITS][IDS];
} units;

static void draw_units(units *u, int64_t n)
{
    memset(u, 0, sizeof *u);
    for (int64_t i = 0; i < n; i++) {
        int64_t count = below(9);
        u->first[i + 1] = u->first[i] + count;
        for (int64_t k = u->first[i]; k < u->first[i + 1]; k++) {
            int64_t which = below(IDS);
            u->pin[k] = id_of(which);
            u->touches[i][which] = 1;
        }
    }
}

static int64_t users_of(const units *u, int64_t n, int64_t which)
{
    int64_t users = 0;

    for (int64_t i = 0; i < n; i++) {
        users += u->touches[i][which];
    }
    return users;
}

static int64_t which_id(int64_t id)
{
    for (int64_t k = 0; k < IDS; k++) {
        if (id_of(k) == id) {
            return k;
        }
    }
    fail_msg("an id that nobody gave");
    return -1;
}

/* Both directions hold the same pins. */
TEST(edges_are_the_ids_that_two_units_share)
{
    for (int round = 0; round < 300; round++) {
        units u;
        FREED_BY(eqp__hypergraph_free) eqp_hypergraph g = {0};
        int64_t n = below(UNITS + 1), shared = 0, pins = 0;
        draw_units(&u, n);
        assert_ok(eqp__hypergraph_create(n, u.first, u.pin, &g));
        for (int64_t k = 0; k < IDS; k++) {
            int64_t users = users_of(&u, n, k);
            shared += users > 1;
            pins += users > 1 ? users : 0;
        }
        assert_int_equal(g.nvertices, n);
        assert_int_equal(g.nedges, shared);
        assert_int_equal(g.npins, pins);
        assert_int_equal(g.edge_first[g.nedges], pins);
        for (int64_t e = 0; e < g.nedges; e++) {
            assert_true(e == 0 || g.edge_id[e - 1] < g.edge_id[e]);
            assert_true(g.edge_weight[e] == 1);
            for (int64_t j = g.edge_first[e]; j < g.edge_first[e + 1]; j++) {
                assert_true(j == g.edge_first[e] || g.edge_vertex[j - 1] < g.edge_vertex[j]);
                assert_true(u.touches[g.edge_vertex[j]][which_id(g.edge_id[e])]);
            }
        }
        assert_int_equal(g.vertex_first[0], 0);
        assert_int_equal(g.vertex_first[n], g.npins);
        for (int64_t v = 0; v < n; v++) {
            for (int64_t k = g.vertex_first[v]; k < g.vertex_first[v + 1]; k++) {
                int64_t e = g.vertex_edge[k], found = 0;
                assert_true(k == g.vertex_first[v] || g.vertex_edge[k - 1] < e);
                for (int64_t j = g.edge_first[e]; j < g.edge_first[e + 1]; j++) {
                    found += g.edge_vertex[j] == v;
                }
                assert_int_equal(found, 1);
            }
        }
    }
}

enum { MANY = 40000, PER_UNIT = 20, SPREADS = 6 };

/* Hard ids for a sort: equal, consecutive, hashes, of every size, close together and far apart, alternating bits. */
static int64_t spread_id(int spread, uint64_t k)
{
    const uint64_t r = eqp_random_bits(8, (uint64_t)spread, k);

    switch (spread) {
    case 0:
        return 77;
    case 1:
        return (int64_t)(r % 9000);
    case 2:
        return (int64_t)(eqp_random_bits(9, 0, r % 9000) >> 1);
    case 3:
        return (int64_t)(((uint64_t)1 << r % 63) + (r >> 20) % 4);
    case 4:
        return r % 5 == 0 ? INT64_MAX - (int64_t)(r >> 60) : (int64_t)((r >> 8) % 3000);
    default:
        return (int64_t)(r & UINT64_C(0x1041041041041041) & INT64_MAX);
    }
}

typedef struct touch {
    int64_t id, unit;
} touch;

static int compare_touches(const void *a, const void *b)
{
    const touch *x = a, *y = b;

    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->unit > y->unit) - (x->unit < y->unit);
}

TEST(any_spread_of_ids_makes_the_same_graph_as_a_plain_sort)
{
    static int64_t pin[MANY], first[MANY / PER_UNIT + 1];
    static touch list[MANY];

    for (int spread = 0; spread < SPREADS; spread++) {
        const int64_t n = MANY / PER_UNIT;
        int64_t e = 0, at = 0, kept = 0;
        FREED_BY(eqp__hypergraph_free) eqp_hypergraph g = {0};
        for (int64_t k = 0; k < MANY; k++) {
            first[k / PER_UNIT + 1] = k + 1;
            pin[k] = spread_id(spread, (uint64_t)k);
            list[k] = (touch){pin[k], k / PER_UNIT};
        }
        assert_ok(eqp__hypergraph_create(n, first, pin, &g));
        qsort(list, MANY, sizeof list[0], compare_touches);
        for (int64_t k = 0; k < MANY; k++) { /* each once */
            if (kept == 0 || compare_touches(&list[k], &list[kept - 1]) != 0) {
                list[kept++] = list[k];
            }
        }
        for (int64_t k = 0, end; k < kept; k = end) {
            for (end = k; end < kept && list[end].id == list[k].id; end++) {
            }
            if (end - k < 2) {
                continue;
            }
            assert_true(e < g.nedges && g.edge_id[e] == list[k].id && g.edge_first[e] == at);
            for (int64_t j = k; j < end; j++) {
                assert_int_equal(g.edge_vertex[at++], list[j].unit);
            }
            e++;
        }
        assert_int_equal(e, g.nedges);
        assert_int_equal(at, g.npins);
        assert_int_equal(g.edge_first[e], at);
    }
}

TEST(edges_get_the_weights_of_their_ids)
{
    eqp__pin table[IDS];

    for (int64_t k = 0; k < IDS; k++) {
        int64_t at = k;
        for (; at > 0 && table[at - 1].id > id_of(k); at--) {
            table[at] = table[at - 1];
        }
        table[at] = (eqp__pin){id_of(k), (double)(k + 2)};
    }
    for (int round = 0; round < 300; round++) {
        units u;
        FREED_BY(eqp__hypergraph_free) eqp_hypergraph g = {0};
        int64_t n = below(UNITS + 1);
        draw_units(&u, n);
        assert_ok(eqp__hypergraph_create(n, u.first, u.pin, &g));
        eqp__hypergraph_weigh(&g, IDS - 1, table); /* the last id is not in the table */
        for (int64_t e = 0; e < g.nedges; e++) {
            const bool last = g.edge_id[e] == table[IDS - 1].id;
            assert_true(g.edge_weight[e] == (last ? 1 : (double)(which_id(g.edge_id[e]) + 2)));
        }
    }
}
