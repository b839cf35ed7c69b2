/* SPDX-License-Identifier: BSD-3-Clause */
/* Who computes what of cells: where pairs with a source cell are looked up, and the pieces of the far field. */
#include "stage/far_parts.h"
#include "stage/share.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of all source cells that owners meet, no two are equally far from a third: what rounding decides, the next step would
 * change. */
static void no_two_sources_are_equally_far_from_a_third(void **state)
{
    const dd_grid grid = {.n = {7, 7, 7}, .ncells = 343, .width = {50, 50, 50}, .periodic = {true, true, true}};
    const int64_t own = 3 * 49 + 3 * 7 + 3;
    int64_t cell[DD_GRID_SOURCES];
    const int n = dd_grid_sources(&grid, own, cell);
    double x[DD_GRID_SOURCES][3], least = INFINITY;

    (void)state;
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

/* Of a cell and a source of its far field: who computes it. */
static void check_piece(const dd_far_parts *parts, int nparts, int64_t cell, int64_t source)
{
    const int expected = dd_far_parts_run(parts, cell) * parts->slabs + dd_far_parts_slab(parts, source);
    int found = 0;

    for (int p = 0; p < nparts; p++) {
        dd_far_piece piece;
        (void)dd_far_parts_piece(parts, p, &piece);
        if (cell >= piece.cell && cell < piece.cell + piece.ncells && source >= piece.source &&
            source < piece.source + piece.nsources) {
            assert_int_equal(p, expected);
            found++;
        }
    }
    assert_int_equal(found, 1);
}

/* Every cell's field from every cell is computed once, by any number of parts; none where no cells are far. */
static void every_far_field_is_computed_once(void **state)
{
    static const int counts[] = {1, 2, 3, 7, 16, 60, 61, 1000, 4000};
    dd_grid grid = {.n = {3, 4, 5}, .ncells = 60, .periodic = {true, true, true}};
    dd_far_parts parts;
    dd_far_piece piece;

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        dd_far_parts_init(&parts, &grid, counts[i]);
        assert_true(parts.runs * parts.slabs <= counts[i]);
        for (int64_t cell = 0; cell < grid.ncells; cell += 7) {
            for (int64_t source = 0; source < grid.ncells; source++) {
                check_piece(&parts, counts[i], cell, source);
            }
        }
    }
    grid = (dd_grid){.n = {3, 3, 2}, .ncells = 18, .periodic = {true, true, false}};
    dd_far_parts_init(&parts, &grid, 5);
    assert_true(!dd_grid_has_far(&grid) && !dd_far_parts_piece(&parts, 0, &piece));
    dd_far_parts_init(&parts, &(dd_grid){.ncells = 0}, 5);
    assert_true(!dd_far_parts_piece(&parts, 0, &piece) && piece.ncells == 0);
    grid = (dd_grid){.n = {3, 3, 3}, .ncells = 27, .periodic = {true, true, false}};
    assert_true(dd_grid_has_far(&grid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_sources_are_equally_far_from_a_third),
        cmocka_unit_test(every_far_field_is_computed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
