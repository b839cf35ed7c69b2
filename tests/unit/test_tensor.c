/* SPDX-License-Identifier: BSD-3-Clause */
/* Rectilinear parts: grids, walls, and the part of a point. */

#include <equipoise/more/methods.h>
#include <equipoise/more/random.h>

#include "failing_malloc.h"
#include "methods/tensor/tensor.h"
#include "unit.h"

enum { MOST = 3000, MOST_PARTS = 64, MOST_WALLS = MOST_PARTS + 6 };

enum kind { SPREAD, CLUMP, LATTICE, ONE_PLACE, ONE_PLANE, FAR_APART, KINDS };
enum weights { RANDOM, EQUAL, ZERO, ONE_GIANT, TINY, WEIGHTS };

typedef struct world {
    int64_t n;
    eqp_balance_items items;
    eqp__tile_scope scope;
    double point[3 * MOST], weight[MOST];
    double wall[MOST_WALLS], sum[MOST_PARTS]; /* of the last cut */
} world;

static world w;

static double uniform(int64_t i, int k)
{
    return eqp_random_uniform(17, (uint64_t)i, (uint64_t)k);
}

static double place(enum kind kind, int64_t i, int k)
{
    const double u = uniform(i, k);

    switch (kind) {
    case CLUMP:
        return i % 8 ? 0.3 + 1e-5 * u : u;
    case LATTICE:
        return (double)(i * (7 + 2 * k) % 16);
    case ONE_PLACE:
        return -3;
    case ONE_PLANE:
        return k == 1 ? 1e6 : u;
    case FAR_APART:
        return i % 2 ? DBL_MAX * (1 - u) : -DBL_MAX * (1 - u);
    default:
        return u * (k + 1);
    }
}

static double weigh(enum weights weights, int64_t i)
{
    switch (weights) {
    case EQUAL:
        return 1;
    case ZERO:
        return 0;
    case ONE_GIANT:
        return i == 5 ? 1e9 : 1;
    case TINY:
        return 5e-324 * (double)(1 + i % 3);
    default:
        return 0.5 + uniform(i, 9);
    }
}

static void make_world(int64_t n, enum kind kind, enum weights weights)
{
    w.n = n;
    w.items = (eqp_balance_items){.n = n, .point = w.point, .weight = w.weight};
    w.scope = eqp__tile_scope_nothing();
    for (int64_t i = 0; i < n; i++) {
        w.weight[i] = weigh(weights, i);
        for (int k = 0; k < 3; k++) {
            w.point[3 * i + k] = place(kind, i, k);
        }
    }
    assert_ok(eqp__tile_scope_add(&w.items, &w.scope));
}

static int cut(const int grid[3], const double *share)
{
    eqp__tensor t;
    int code = eqp__tensor_open(MPI_COMM_NULL, &w.items, &w.scope, grid, share, &t);

    code = code ? code : eqp__tensor_cut(&t, &w.items, w.wall);
    eqp__tensor_close(&t);
    return code;
}

/* The largest relative load for some walls; zero weights count as 1 each. */
static double largest_load(const int grid[3], const double *wall, const double *share)
{
    const int nparts = grid[0] * grid[1] * grid[2];
    double most = 0;

    memset(w.sum, 0, sizeof w.sum);
    for (int64_t i = 0; i < w.n; i++) {
        const int part = eqp__tensor_find(grid, wall, w.point + 3 * i);
        assert_in_range(part, 0, nparts - 1);
        w.sum[part] += w.scope.heaviest > 0 ? w.weight[i] : 1;
    }
    for (int p = 0; p < nparts; p++) {
        most = fmax(most, share ? w.sum[p] / (share[p] * nparts) : w.sum[p]);
    }
    return most;
}

static const int grids[][3] = {{1, 1, 1}, {2, 2, 2}, {13, 1, 1}, {1, 1, 8}, {4, 1, 3}, {4, 4, 4}};
enum { GRIDS = sizeof grids / sizeof grids[0] };

TEST(walls_ascend_around_all_items)
{
    for (int c = 0; c < KINDS * WEIGHTS * GRIDS; c++) {
        const int *grid = grids[c % GRIDS];
        make_world(c % 7 == 0 ? 1 : MOST / 4, (enum kind)(c / GRIDS % KINDS), (enum weights)(c / GRIDS / KINDS));
        assert_ok(cut(grid, NULL));
        const double *wall = w.wall;
        for (int k = 0; k < 3; k++) {
            for (int s = 0; s < grid[k]; s++) {
                assert_true(wall[s] <= wall[s + 1]);
            }
            assert_true(wall[0] <= w.scope.low[k] && wall[grid[k]] > w.scope.high[k]);
            wall += grid[k] + 1;
        }
    }
}

/* Slabs found one after another, without bisection. */
static int find_slowly(const int grid[3], const double *wall, const double *x)
{
    int at[3];

    for (int k = 0; k < 3; k++) {
        at[k] = 0;
        for (int s = 1; s < grid[k]; s++) {
            at[k] = x[k] >= wall[s] ? s : at[k];
        }
        wall += grid[k] + 1;
    }
    return at[0] + grid[0] * (at[1] + grid[1] * at[2]);
}

TEST(every_point_lies_in_the_part_that_is_found)
{
    static const double outside[][3] = {{-9, -9, -9}, {9, 9, 9}, {-INFINITY, 0, INFINITY}};

    for (int g = 0; g < GRIDS; g++) {
        make_world(MOST / 4, (enum kind)(g % 3), RANDOM);
        assert_ok(cut(grids[g], NULL));
        for (int64_t i = 0; i < w.n; i++) {
            const double *x = w.point + 3 * i;
            assert_int_equal(eqp__tensor_find(grids[g], w.wall, x), find_slowly(grids[g], w.wall, x));
        }
        for (int i = 0; i < 3; i++) {
            assert_int_equal(eqp__tensor_find(grids[g], w.wall, outside[i]), find_slowly(grids[g], w.wall, outside[i]));
        }
        /* A point on a wall belongs to the part above it. */
        const double corner[3] = {w.wall[grids[g][0] - 1], w.wall[grids[g][0] + 1],
                                  w.wall[grids[g][0] + grids[g][1] + 2]};
        assert_int_equal(eqp__tensor_find(grids[g], w.wall, corner), find_slowly(grids[g], w.wall, corner));
    }
}

/* The part behind a face has a number that differs by the stride of the axis. */
TEST(faces_meet_face_to_face)
{
    const int grid[3] = {4, 3, 2}, stride[3] = {1, 4, 12};

    make_world(MOST, CLUMP, RANDOM);
    assert_ok(cut(grid, NULL));
    for (int64_t i = 0; i < w.n; i++) {
        const double *wall = w.wall;
        const int part = eqp__tensor_find(grid, w.wall, w.point + 3 * i);
        for (int k = 0; k < 3; k++) {
            const int at = part / stride[k] % grid[k];
            double x[3] = {w.point[3 * i], w.point[3 * i + 1], w.point[3 * i + 2]};
            x[k] = wall[at + 1];
            const int behind = eqp__tensor_find(grid, w.wall, x);
            assert_true(at == grid[k] - 1 ? behind == part : behind == part + stride[k]);
            wall += grid[k] + 1;
        }
    }
}

/* A problem with t->sum only: random loads in bins and lanes. */
static eqp__tensor open_bins(int bins, const int grid[3], const double *share)
{
    eqp__tensor t;
    const int64_t lanes = (int64_t)grid[1] * grid[2];

    make_world(1, SPREAD, EQUAL);
    assert_ok(eqp__tensor_open(MPI_COMM_NULL, &w.items, &w.scope, grid, share, &t));
    t.nbins[0] = bins;
    t.first[0][grid[0]] = bins;
    for (int s = 0; s < grid[0]; s++) {
        t.first[0][s] = bins * s / grid[0];
    }
    for (int64_t c = 0; c < bins * lanes; c++) {
        t.sum[c + lanes] = t.sum[c] + floor(uniform(c, bins) * uniform(c, 2) * 50);
    }
    return t;
}

static double slab_of(const eqp__tensor *t, int slab, int i, int j)
{
    const int64_t lanes = (int64_t)t->grid[1] * t->grid[2];
    double most = 0;

    for (int64_t l = 0; l < lanes; l++) {
        const double load = t->sum[j * lanes + l] - t->sum[i * lanes + l];
        most = fmax(most, t->share ? load / t->share[slab + t->grid[0] * l] : load);
    }
    return most;
}

/* The best of all walls of slabs from one on that begin at bin i. */
static double best_of_all(const eqp__tensor *t, int slab, int i)
{
    double best = INFINITY;

    if (slab == t->grid[0] - 1) {
        return slab_of(t, slab, i, t->nbins[0]);
    }
    for (int j = i; j <= t->nbins[0]; j++) {
        best = fmin(best, fmax(slab_of(t, slab, i, j), best_of_all(t, slab + 1, j)));
    }
    return best;
}

TEST(walls_of_one_axis_are_the_best_there_are)
{
    for (int c = 0; c < 60; c++) {
        const int grid[3] = {2 + c % 3, 1 + c / 3 % 3, 1 + c / 9 % 2}, nparts = grid[0] * grid[1] * grid[2];
        double share[MOST_PARTS], total = 0;
        for (int p = 0; p < nparts; p++) {
            total += share[p] = 1 + p % 3;
        }
        for (int p = 0; p < nparts; p++) {
            share[p] /= total;
        }
        eqp__tensor t = open_bins(3 + c % 11, grid, c % 2 ? share : NULL);
        const double found = eqp__tensor_place(&t, 0), best = best_of_all(&t, 0, 0);
        double most = 0;
        for (int s = 0; s < grid[0]; s++) {
            assert_true(t.first[0][s] <= t.first[0][s + 1]);
            most = fmax(most, slab_of(&t, s, t.first[0][s], t.first[0][s + 1]));
        }
        assert_true(found == best && most == best);
        eqp__tensor_close(&t);
    }
}

TEST(along_a_line_no_cut_of_the_bins_is_better)
{
    const int grid[3] = {1, 7, 1};
    double load[512 * 4] = {0}, bottleneck;
    int64_t first[8];
    eqp__tensor t;

    make_world(MOST, CLUMP, EQUAL);
    assert_ok(eqp__tensor_open(MPI_COMM_NULL, &w.items, &w.scope, grid, NULL, &t));
    assert_ok(eqp__tensor_cut(&t, &w.items, w.wall));
    assert_true(t.nbins[1] <= 512 * 4);
    for (int64_t i = 0; i < w.n; i++) {
        load[t.bin[1][i]] += 1;
    }
    assert_ok(eqp_cuts_optimal(t.nbins[1], load, 7, NULL, first, &bottleneck));
    assert_true(largest_load(grid, w.wall, NULL) == bottleneck);
    /* The clump is resolved: an unresolved clump would put 7 / 8 of the items in one part. */
    assert_true(bottleneck < 1.05 * MOST / 7);
    eqp__tensor_close(&t);
}

/* On a lattice of 16 x 16 places, every pair of walls through it. */
TEST(small_grids_come_near_the_best_of_all_walls)
{
    const int grid[3] = {2, 2, 1};
    double best = INFINITY, middle;

    make_world(MOST / 10, LATTICE, RANDOM);
    for (int x = 0; x < 17; x++) {
        for (int y = 0; y < 17; y++) {
            const double wall[] = {0, x, 16, 0, y, 16, 0, 16};
            best = fmin(best, largest_load(grid, wall, NULL));
        }
    }
    middle = largest_load(grid, (const double[]){0, 8, 16, 0, 8, 16, 0, 16}, NULL);
    assert_ok(cut(grid, NULL));
    const double found = largest_load(grid, w.wall, NULL);
    assert_true(found >= best * (1 - 1e-12));
    assert_true(found <= 1.1 * best && found <= 1.02 * middle);
}

TEST(rounds_make_no_part_heavier)
{
    for (int c = 0; c < 18; c++) {
        const int *grid = grids[1 + c % (GRIDS - 1)];
        double start[MOST_WALLS], *wall = start;
        eqp__tensor t;

        make_world(MOST, (enum kind)(c % 3), RANDOM);
        assert_ok(eqp__tensor_open(MPI_COMM_NULL, &w.items, &w.scope, grid, NULL, &t));
        assert_ok(eqp__tensor_resolve(&t, &w.items));
        eqp__tensor_begin(&t);
        for (int k = 0; k < 3; k++) {
            for (int s = 0; s <= grid[k]; s++) {
                *wall++ = t.edge[k][t.first[k][s]];
            }
        }
        eqp__tensor_close(&t);
        const double before = largest_load(grid, start, NULL);
        assert_ok(cut(grid, NULL));
        assert_true(largest_load(grid, w.wall, NULL) <= before * (1 + 1e-9));
    }
}

TEST(spread_items_are_divided_evenly)
{
    const int grid[3] = {2, 2, 2}, line[3] = {4, 1, 1};
    const double share[4] = {0.1, 0.2, 0.3, 0.4};

    for (int weights = RANDOM; weights <= ZERO; weights++) {
        make_world(MOST, SPREAD, (enum weights)weights);
        assert_ok(cut(grid, NULL));
        const double most = largest_load(grid, w.wall, NULL);
        double total = 0;
        for (int p = 0; p < 8; p++) {
            total += w.sum[p];
        }
        assert_true(most <= 1.15 * total / 8);
        assert_ok(cut(line, share));
        assert_true(largest_load(line, w.wall, share) <= 1.02 * total / 4);
    }
}

TEST(the_order_of_items_changes_no_bit)
{
    double wall[MOST_WALLS];

    make_world(MOST, CLUMP, RANDOM);
    assert_ok(cut(grids[5], NULL));
    memcpy(wall, w.wall, sizeof wall);
    for (int64_t i = 0; i < MOST / 2; i++) {
        for (int k = 0; k < 4; k++) {
            double *a = k < 3 ? &w.point[3 * i + k] : &w.weight[i];
            double *b = k < 3 ? &w.point[3 * (MOST - 1 - i) + k] : &w.weight[MOST - 1 - i];
            const double swap = *a;
            *a = *b;
            *b = swap;
        }
    }
    assert_ok(cut(grids[5], NULL));
    assert_memory_equal(wall, w.wall, (4 + 1) * 3 * sizeof *wall);
}

TEST(grids_follow_the_shape_of_the_box)
{
    static const struct {
        int nparts;
        double edge[3];
        int grid[3];
    } row[] = {{1, {1, 1, 1}, {1, 1, 1}}, {4, {0, 0, 0}, {2, 2, 1}},  {13, {1, 1, 9}, {1, 1, 13}},
               {2, {1, 1, 1}, {2, 1, 1}}, {12, {1, 1, 1}, {3, 2, 2}}, {9, {DBL_MAX, DBL_MAX, 0}, {3, 3, 1}},
               {8, {1, 1, 1}, {2, 2, 2}}, {16, {1, 0, 1}, {4, 1, 4}}, {2147483647, {1, 2, 1}, {1, 2147483647, 1}},
               {8, {1, 1, 8}, {1, 1, 8}}};
    int grid[3] = {0, 5, 0};

    assert_ok(eqp__tensor_grid(30, row[0].edge, grid));
    assert_true(grid[0] * grid[2] == 6 && grid[1] == 5);
    for (int i = 0; i < COUNT_OF(row); i++) {
        memset(grid, 0, sizeof grid);
        assert_ok(eqp__tensor_grid(row[i].nparts, row[i].edge, grid));
        assert_memory_equal(grid, row[i].grid, sizeof grid);
    }
}

TEST(what_is_no_grid_is_refused)
{
    static const int bad[][3] = {{3, 0, 0}, {2, 2, 1}, {0, 16, 0}, {-1, 0, 0}, {2, 2, 4}};
    static const double cube[3] = {1, 1, 1};
    int grid[3];

    for (int i = 0; i < COUNT_OF(bad); i++) {
        memcpy(grid, bad[i], sizeof grid);
        assert_refused(eqp__tensor_grid(8, cube, grid));
        assert_memory_equal(grid, bad[i], sizeof grid);
    }
}

static int cut_shares(void *user)
{
    static const int grid[3] = {2, 2, 1};
    static const double share[4] = {0.1, 0.2, 0.3, 0.4};

    (void)user;
    return cut(grid, share);
}

TEST(failing_allocations_leave_nothing_behind)
{
    make_world(100, SPREAD, RANDOM);
    assert_true(failing_malloc_sweep(cut_shares, NULL, EQP_ERR_MEMORY) > 0);
}
