/* SPDX-License-Identifier: BSD-3-Clause */
/* Division of work by cells: the rank that looks up pairs with a source cell, and the pieces of the far field. */
#include "far/waves.h"
#include "stage/grid.h"
#include "unit.h"

/* No two source cells within reach of a third are equally far from it: rounding would decide, and differently in the
 * next step. */
TEST(no_two_sources_are_equally_far_from_a_third)
{
    const dd_grid grid = {.n = {7, 7, 7}, .ncells = 343, .width = {50, 50, 50}, .periodic = {true, true, true}};
    const int64_t own = 3 * 49 + 3 * 7 + 3;
    int64_t cell[DD_GRID_SOURCES];
    const int n = dd_grid_sources(&grid, own, cell);
    double x[DD_GRID_SOURCES][3], least = INFINITY;

    for (int i = 0; i < n; i++) {
        dd_share_centroid(&grid, own, cell[i], x[i]);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < j && i != j; k++) {
                const double a = hypot(hypot(x[i][0] - x[j][0], x[i][1] - x[j][1]), x[i][2] - x[j][2]),
                             b = hypot(hypot(x[i][0] - x[k][0], x[i][1] - x[k][1]), x[i][2] - x[k][2]);
                least = k != i ? fmin(least, fabs(a - b)) : least;
            }
        }
    }
    assert_true(least > 1e-3);
}

/* For any number of parts every item and column belongs to one part, all components are in a chunk, and work adds up;
 * without far cells there is none. */
TEST(every_far_field_is_computed_once)
{
    static const int counts[] = {1, 2, 3, 7, 16, 60, 61, 1000, 4000};
    dd_grid grid = {.n = {8, 9, 10}, .ncells = 720, .periodic = {true, false, true}, .far_order = 6};
    dd_far_parts parts;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t item = 0, column = 0, work = 0, component = 0;
        dd_far_parts_init(&parts, &grid, counts[i]);
        assert_true(parts.nparts >= 1 && parts.nparts <= counts[i]);
        for (int p = 0; p < counts[i]; p++) {
            const dd_far_slice items = dd_far_parts_items(&parts, p), columns = dd_far_parts_columns(&parts, p);
            assert_true(p < parts.nparts || (items.n == 0 && columns.n == 0));
            for (int64_t j = 0; j < items.n; j++, item++) {
                assert_true(items.first + j == item && dd_far_parts_owner(&parts, item) == p);
            }
            assert_true(columns.n == 0 || columns.first == column);
            column += columns.n;
            for (int stage = 0; stage < DD_FAR_STAGES; stage++) {
                work += dd_far_parts_work(&parts, p, stage);
            }
        }
        for (int64_t c = 0; c < parts.nchunks; c++) {
            const dd_far_slice chunk = dd_far_parts_chunk(&parts, parts.sizes.nlocal, c);
            assert_true(chunk.first == component && chunk.n > 0);
            component += chunk.n;
        }
        assert_int_equal(item, 8 * parts.nchunks);
        assert_int_equal(column, 18 * 6);
        assert_int_equal(component, parts.sizes.nlocal);
        assert_int_equal(work, 720);
    }
    grid = (dd_grid){.n = {2, 2, 2}, .ncells = 8, .far_order = 6};
    dd_far_parts_init(&parts, &grid, 5);
    assert_true(!dd_grid_has_far(&grid) && parts.nparts == 0 && dd_far_parts_items(&parts, 0).n == 0);
    dd_far_parts_init(&parts, &(dd_grid){.ncells = 0}, 5);
    assert_true(parts.nparts == 0);
    grid = (dd_grid){.n = {3, 1, 1}, .ncells = 3};
    assert_true(dd_grid_has_far(&grid));
    grid = (dd_grid){.n = {3, 3, 3}, .ncells = 27, .periodic = {true, false, false}};
    assert_true(dd_grid_has_far(&grid));
}

/* Cell of a segment from x to y along the first direction; with z, of the two segments that share x. */
static int64_t cell_along(double x, double y, double z, bool periodic, dd_tag third)
{
    dd_arm arm[2] = {{.tag = 8}, {.tag = third}};
    dd_node node[3] = {{.tag = 7, .x = {x, 30, 50}, .narms = 2, .arm = arm},
                       {.tag = 8, .x = {y, 30, 50}},
                       {.tag = third, .x = {z, 30, 50}}};
    int64_t first[] = {0, 2, 2, 2}, place[] = {1, 2};
    const dd_halo halo = {.n = 3, .first = first, .place = place};
    const dd_domain domain = {
        .edge = {100, 100, 100}, .box = {periodic ? 100 : 0, 100, 100}, .network = {.n = 3, .node = node}};
    dd_grid grid;

    dd_grid_init(&grid, &domain, (const int64_t[]){5, 5, 5});
    const int64_t cell = dd_grid_cell_of_node(&grid, &domain, &halo, 0);
    assert_int_equal(cell % 25, 5 + 2); /* the other two directions */
    return cell / 25;
}

TEST(segments_lie_where_their_middle_is)
{
    assert_int_equal(cell_along(19, 3, 0, true, 6), 0); /* the third node's tag is lower: its segment is its own */
    assert_int_equal(cell_along(19, 35, 0, true, 6), 1);
    assert_int_equal(cell_along(95, 3, 0, true, 6), 4);    /* across the border, middle 99 */
    assert_int_equal(cell_along(95, 11, 0, true, 6), 0);   /* middle 103 */
    assert_int_equal(cell_along(5, 93, 0, true, 6), 4);    /* middle -1 */
    assert_int_equal(cell_along(95, 107, 0, false, 6), 4); /* no border: middle 101 is beyond */
    assert_int_equal(cell_along(21, 37, 9, true, 9), 1);   /* two that reach from 9 to 37: 23 */
    assert_int_equal(cell_along(21, 31, 5, true, 9), 0);   /* from 5 to 31: 18 */
    assert_int_equal(cell_along(21, 31, 39, true, 9), 1);  /* on one side: from 21 to 39 */
}
