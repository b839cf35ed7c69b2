/* SPDX-License-Identifier: BSD-3-Clause */
/* The interaction-to-rank map: whole owners, owners shared by position of interactions, and paths through the phases
 * of a cycle. */
#include "map/phased.h"

#include "unit.h"

#include <equipoise/problem.h>

enum { SHARED = 2, PHASES = 3, WAYS = 2 };

static const int64_t nunits[SHARED] = {2, 3};
static const double centroid[5][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, 0.1}};
static const int rank[5] = {4, 0, 2, 7, 2};
static const int way[WAYS][PHASES] = {{0, 1, 5}, {3, 3, 0}};

static eqp_map *make(void)
{
    eqp_map *map = NULL;

    assert_ok(eqp_map_create(SHARED, nunits, &centroid[0][0], rank, &map));
    assert_int_equal(eqp_map_shared(map), SHARED);
    assert_ok(eqp__map_add_phased(map, WAYS, PHASES, &way[0][0]));
    return map;
}

TEST(owners_are_whole_or_shared_by_place)
{
    static const double left[3] = {-0.2, 0, 0}, up[3] = {0, 3, 0};
    const double *units;
    const int *ranks;
    int several[3];
    eqp_map *map = make();

    assert_int_equal(eqp_map_rank(map, 6, NULL), 6);
    assert_int_equal(eqp_map_own_rank(NULL, 6), 6);
    assert_int_equal(eqp_map_rank(map, -1, left), 4);
    assert_int_equal(eqp_map_rank(map, -2, up), 7);
    assert_int_equal(eqp_map_own_rank(map, -2), 2);
    assert_int_equal(eqp_map_rank(map, -1, NULL), -1);
    assert_int_equal(eqp_map_ranks(map, -2, 3, several), 2);
    assert_true(several[0] == 2 && several[1] == 7);
    assert_int_equal(eqp_map_units(map, -2, &units, &ranks), 3);
    assert_memory_equal(units, centroid[2], sizeof centroid[2]);
    eqp_map_free(map);
}

/* Each way has a rank in every phase; later phases use the last; without a phase the first is used. */
TEST(ways_have_a_rank_in_each_phase)
{
    static const double place[3] = {1, 2, 3};
    const int *ranks = NULL;
    const double *units;
    int several[1], nphases = 0;
    eqp_map *map = make();

    assert_int_equal(eqp_map_shared(map), SHARED + WAYS);
    assert_int_equal(eqp_map_phased(map, &nphases, &ranks), WAYS);
    assert_int_equal(nphases, PHASES);
    assert_memory_equal(ranks, way, sizeof way);
    for (int w = 0; w < WAYS; w++) {
        const int64_t tag = -1 - SHARED - w;
        for (int k = 0; k < EQP_CYCLE_PHASES; k++) {
            assert_int_equal(eqp_map_tag_in(map, tag, k), way[w][k < PHASES ? k : PHASES - 1]);
        }
        assert_int_equal(eqp_map_own_rank(map, tag), way[w][0]);
        assert_int_equal(eqp_map_rank(map, tag, place), way[w][0]);
        assert_int_equal(eqp_map_ranks(map, tag, 1, several), 1);
        assert_int_equal(several[0], way[w][0]);
        assert_int_equal(eqp_map_units(map, tag, &units, &ranks), 0);
    }
    for (int64_t tag = -SHARED; tag < 9; tag++) {
        assert_int_equal(eqp_map_tag_in(map, tag, 1), tag); /* the same in all phases */
    }
    eqp_map_free(map);
}

TEST(invalid_ways_are_refused)
{
    static const int64_t none[] = {-1 - SHARED - WAYS, INT64_MIN};
    int several[4], nphases = 7;
    eqp_map *map = make(), *plain = NULL;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(eqp_map_tag_in(map, none[i], 1), none[i]);
        assert_int_equal(eqp_map_own_rank(map, none[i]), -1);
        assert_int_equal(eqp_map_ranks(map, none[i], 4, several), -1);
    }
    assert_int_equal(eqp_map_tag_in(map, -1 - SHARED, -1), -1 - SHARED);
    assert_int_equal(eqp_map_tag_in(NULL, -5, 0), -5);
    assert_int_equal(eqp_map_phased(NULL, &nphases, NULL), 0);
    assert_int_equal(nphases, 0);
    assert_ok(eqp_map_create(0, NULL, NULL, NULL, &plain));
    assert_ok(eqp__map_add_phased(plain, 0, 2, NULL));
    assert_int_equal(eqp_map_shared(plain), 0);
    eqp_map_free(plain);
    eqp_map_free(map);
}
