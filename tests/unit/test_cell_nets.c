/* SPDX-License-Identifier: BSD-3-Clause */

#include "methods/hypergraph/cell_nets.h"
#include "unit.h"

#include <equipoise/more/random.h>

#define ITEMS 60
#define SETS 40

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Keys on all levels, close together, or few different ones; later sets use fewer bits. */
static void draw_keys(uint64_t set, uint64_t key[ITEMS])
{
    const int bits = 3 + (int)(set % 20) * 3;

    for (uint64_t i = 0; i < ITEMS; i++) {
        key[i] = eqp_random_bits(set, i, 0) >> (64 - bits) << (set % 3 ? 63 - bits : 0);
    }
    qsort(key, ITEMS, sizeof *key, by_key);
}

/* Mostly the part of the previous item. */
static void draw_parts(uint64_t set, int part[ITEMS])
{
    for (uint64_t i = 0; i < ITEMS; i++) {
        const int same = i > 0 && eqp_random_below(set, i, 1, 4) > 0;
        part[i] = same ? part[i - 1] : (int)eqp_random_below(set, i, 2, 3);
    }
}

/* Counts branches in a tree with every level, from its root down. */
static int64_t count_branches(const uint64_t *key, const int *part, int64_t first, int64_t end, int shift)
{
    int64_t i = first + 1, n = 0;

    while (i < end && part[i] == part[first]) {
        i++;
    }
    if (i >= end || shift == 0) {
        return end > first;
    }
    while (first < end) {
        for (i = first; i < end && key[i] >> (shift - 3) == key[first] >> (shift - 3); i++) {
        }
        n += count_branches(key, part, first, i, shift - 3);
        first = i;
    }
    return n;
}

static int is_cut(const int *part, int64_t first, int64_t n)
{
    for (int64_t i = first; i < first + n; i++) {
        if (part[i] != part[first]) {
            return 1;
        }
    }
    return 0;
}

TEST(cut_nets_are_the_branches_but_one)
{
    for (uint64_t set = 0; set < SETS; set++) {
        uint64_t key[ITEMS];
        int part[ITEMS];
        int64_t branches = 1;
        draw_keys(set, key);
        draw_parts(set, part);
        for (int64_t i = 1; i < ITEMS; i++) { /* items with equal keys cannot be separated */
            part[i] = key[i] == key[i - 1] ? part[i - 1] : part[i];
        }
        for (int64_t i = 0; i < ITEMS; i++) {
            eqp__cell_net net[EQP__CELLS_MOST];
            const int n = eqp__cell_nets(ITEMS, key, i, ITEMS, net);
            for (int k = 0; k < n; k++) { /* each cell once, at its first item */
                branches += net[k].first == i && is_cut(part, net[k].first, net[k].n) ? net[k].children - 1 : 0;
            }
        }
        assert_int_equal(branches, count_branches(key, part, 0, ITEMS, 3 * EQP_CURVE_BITS));
    }
}

TEST(items_of_a_cell_name_it_alike_and_no_other)
{
    for (uint64_t set = 0; set < SETS; set++) {
        eqp__cell_net net[ITEMS][EQP__CELLS_MOST];
        uint64_t key[ITEMS];
        int n[ITEMS];
        draw_keys(set, key);
        for (int64_t i = 0; i < ITEMS; i++) {
            n[i] = eqp__cell_nets(ITEMS, key, i, ITEMS, net[i]);
        }
        for (int i = 0; i < ITEMS; i++) {
            for (int k = 0; k < n[i]; k++) {
                const eqp__cell_net *cell = &net[i][k];
                assert_true(cell->id >= 0 && cell->first <= i && i < cell->first + cell->n);
                assert_true(cell->children >= 2 && cell->children <= 8 && cell->n >= cell->children);
                assert_true(k == 0 || cell->n > cell[-1].n);
                for (int j = 0; j < ITEMS; j++) {
                    int named = 0;
                    for (int l = 0; l < n[j]; l++) {
                        named += net[j][l].id == cell->id;
                    }
                    assert_int_equal(named, j >= cell->first && j < cell->first + cell->n);
                }
            }
        }
    }
}

TEST(cells_with_too_many_items_are_left_out)
{
    for (uint64_t set = 0; set < SETS; set++) {
        eqp__cell_net all[EQP__CELLS_MOST], some[EQP__CELLS_MOST];
        uint64_t key[ITEMS];
        draw_keys(set, key);
        for (int64_t i = 0; i < ITEMS; i++) {
            for (int64_t most = 0; most <= ITEMS; most += 7) {
                const int n = eqp__cell_nets(ITEMS, key, i, ITEMS, all);
                int fit = 0;
                while (fit < n && all[fit].n <= most) {
                    fit++;
                }
                assert_int_equal(eqp__cell_nets(ITEMS, key, i, most, some), fit);
                for (int k = 0; k < fit; k++) {
                    assert_true(some[k].id == all[k].id && some[k].n == all[k].n);
                }
            }
        }
    }
}

TEST(the_ends_of_the_curve_are_in_cells)
{
    const uint64_t key[] = {0, 0, 1, EQP_CURVE_END - 1};
    eqp__cell_net net[EQP__CELLS_MOST];

    assert_int_equal(eqp__cell_nets(4, key, 3, 4, net), 1); /* the root */
    assert_true(net[0].first == 0 && net[0].n == 4 && net[0].children == 2);
    assert_int_equal(eqp__cell_nets(4, key, 0, 4, net), 2);
    assert_true(net[0].first == 0 && net[0].n == 3 && net[0].children == 2);
    assert_int_equal(eqp__cell_nets(1, key, 0, 1, net), 0);
}
