/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/random.h>

#include "bh_sets.h"
#include "serial.h"
#include "slow.h"
#include "unit.h"

static bool box_fits(double side, const double lo[3], const double hi[3])
{
    bool fits = true;
    for (int k = 0; k < 3; k++) {
        const double corner = floor(lo[k] / (side / 4)) * (side / 4);
        fits = fits && corner <= lo[k] && hi[k] < corner + side;
    }
    return fits;
}

static void check_box(const double lo[3], const double hi[3])
{
    double largest = 0;
    int exponent;
    bh_box box;
    assert_ok(bh_box_enclosing(lo, hi, &box));
    assert_true(frexp(box.side, &exponent) == 0.5 && box_fits(box.side, lo, hi));
    for (int k = 0; k < 3; k++) {
        assert_true(box.corner[k] == floor(lo[k] / (box.side / 4)) * (box.side / 4));
        assert_true(box.corner[k] < box.corner[k] + box.side / (1 << 21) || box.corner[k] != 0);
        largest = fmax(largest, fmax(fabs(lo[k]), fabs(hi[k])));
    }
    for (double smaller = box.side / 2; largest > 1e-200 && smaller > largest * 0x1p-31; smaller /= 2) {
        assert_false(box_fits(smaller, lo, hi));
    }
}

TEST(the_box_is_the_smallest_that_fits)
{
    static const double points[][3] = {{0, 0, 0},    {1e18, -1e18, 1e18},    {-0.0, 5e-324, 0}, {1e-300, 0, 0},
                                       {-1, -1, -1}, {DBL_MIN, -DBL_MIN, 1}, {1e300, 1, -1e5},  {0.1, 1e-40, 4}};
    for (int p = 0; p < COUNT_OF(points); p++) {
        check_box(points[p], points[p]);
    }
    for (uint64_t i = 0; i < 2000; i++) {
        double lo[3], hi[3];
        const double scale = ldexp(1, (int)eqp_random_below(1, 0, i, 120) - 60);
        for (int k = 0; k < 3; k++) {
            lo[k] = scale * (eqp_random_uniform(2, (uint64_t)k, i) - 0.5);
            hi[k] = lo[k] + (i % 5 == 0 ? 0 : scale * ldexp(eqp_random_uniform(3, (uint64_t)k, i), -(int)(i % 13)));
        }
        check_box(lo, hi);
    }
}

TEST(the_box_refuses_nonsense)
{
    static const double zero[3] = {0, 0, 0}, one[3] = {1, 1, 1}, bad[] = {NAN, INFINITY, -INFINITY, DBL_MAX};
    bh_box box = {{7, 7, 7}, 7};
    assert_refused(bh_box_enclosing(one, zero, &box));
    for (int k = 0; k < 3 * COUNT_OF(bad); k++) {
        double point[3] = {0, 0, 0};
        point[k % 3] = bad[k / 3];
        assert_int_equal(bh_box_enclosing(zero, point, &box), EQP_ERR_DATA);
        assert_true(bad[k / 3] == DBL_MAX || bh_box_enclosing(point, zero, &box) == EQP_ERR_DATA);
    }
    assert_true(box.side == 7 && box.corner[2] == 7);
}

static int64_t count_keys(const bh_set *set, uint64_t key, int level)
{
    int64_t count = 0;
    for (int64_t i = 0; i < set->n; i++) {
        count += set->key[i] / bh_span(level) == key / bh_span(level);
    }
    return count;
}

/* Number of cells that the count rule makes of sorted keys [first, last) in a cell of this level. */
static int64_t cells_by_rule(const bh_set *set, int leaf_size, int64_t first, int64_t last, int level)
{
    int64_t cells = 1;
    if (last - first <= leaf_size || level == EQP_CURVE_BITS) {
        return cells;
    }
    for (int64_t i = first; i < last;) {
        int64_t j = i;
        while (j < last && set->key[j] / bh_span(level + 1) == set->key[i] / bh_span(level + 1)) {
            j++;
        }
        cells += cells_by_rule(set, leaf_size, i, j, level + 1);
        i = j;
    }
    return cells;
}

TEST(cells_follow_the_count_rule)
{
    static const int leaf_sizes[] = {1, 3, 16, 1000};
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        BH_SET(set, kind, 400, 2);
        for (size_t s = 0; s < sizeof(leaf_sizes) / sizeof(*leaf_sizes); s++) {
            int64_t leaves = 0;
            BH_TREE(tree, &set, leaf_sizes[s]);
            assert_int_equal(tree.ncells, cells_by_rule(&set, leaf_sizes[s], 0, set.n, 0));
            for (int64_t c = 0; c < tree.ncells; c++) {
                const bh_cell *cell = &tree.cell[c];
                assert_int_equal(cell->count, count_keys(&set, cell->key, cell->level));
                leaves += cell->nchild == 0 ? cell->count : 0;
                for (int k = 0; k < cell->nchild; k++) {
                    const bh_cell *child = &tree.cell[cell->child + k];
                    assert_true(child->level == cell->level + 1 && child->key >= cell->key);
                    assert_true(k == 0 || child->key > child[-1].key);
                }
            }
            assert_int_equal(leaves, set.n);
        }
    }
}

static void check_moments(const bh_tree *tree, const bh_cell *cell)
{
    const bh_sources *s = &tree->sources;
    double mass = 0, com[3] = {0, 0, 0}, quad[6] = {0}, centre[3], rounding = 0;
    const double side = tree->box.side, half = side / (2 << cell->level);
    double expected[3];
    bh_set_centre(&tree->box, cell->key, cell->level, expected);
    bh_cell_centre(tree, cell, centre);
    assert_memory_equal(centre, expected, sizeof(centre));
    for (int64_t i = cell->first; i < cell->first + cell->count; i++) {
        const double p[3] = {s->x[i], s->y[i], s->z[i]};
        mass += s->m[i];
        for (int k = 0; k < 3; k++) {
            com[k] += s->m[i] * p[k];
            rounding = fmax(rounding, 1e-14 * fabs(p[k]));
            assert_true(fabs(p[k] - centre[k]) <= half + rounding);
        }
    }
    for (int k = 0; k < 3; k++) {
        com[k] /= mass;
        assert_true(fabs(com[k] - cell->moments.com[k]) <= 1e-13 * side + rounding);
    }
    for (int64_t i = cell->first; i < cell->first + cell->count; i++) {
        const double d[3] = {s->x[i] - com[0], s->y[i] - com[1], s->z[i] - com[2]};
        const double d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        static const int row[6] = {0, 0, 0, 1, 1, 2}, column[6] = {0, 1, 2, 1, 2, 2};
        for (int q = 0; q < 6; q++) {
            quad[q] += s->m[i] * (3 * d[row[q]] * d[column[q]] - (row[q] == column[q] ? d2 : 0));
        }
    }
    assert_true(fabs(mass - cell->moments.mass) <= 1e-13 * mass);
    for (int q = 0; q < 6; q++) {
        assert_true(fabs(quad[q] - cell->moments.quad[q]) <=
                    mass * (1e-12 * side * side + rounding * rounding + 8 * side * rounding));
    }
    double offset2 = 0;
    for (int k = 0; k < 3; k++) {
        offset2 += (com[k] - centre[k]) * (com[k] - centre[k]);
    }
    assert_true(fabs(sqrt(offset2) - cell->moments.offset) <= 1e-13 * side + rounding);
}

TEST(moments_agree_with_brute_force)
{
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        BH_SET(set, kind, 500, 4);
        BH_TREE(tree, &set, 3);
        for (int64_t c = 0; c < tree.ncells; c++) {
            check_moments(&tree, &tree.cell[c]);
        }
    }
}

static void check_group(const bh_set *set, const bh_group *group, int group_size)
{
    const double *coordinate[3] = {set->x, set->y, set->z};
    double accel = INFINITY;
    assert_true(group->count >= 1 && group->count <= group_size);
    assert_true(group->key == set->key[group->first]);
    for (int k = 0; k < 3; k++) {
        double lo = INFINITY, hi = -INFINITY;
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            lo = fmin(lo, coordinate[k][i]);
            hi = fmax(hi, coordinate[k][i]);
        }
        assert_true(lo == group->lo[k] && hi == group->hi[k]);
    }
    for (int64_t i = group->first; i < group->first + group->count; i++) {
        accel = fmin(accel, set->accel[i]);
    }
    assert_true(accel == group->accel);
    int level = 0;
    while (level < EQP_CURVE_BITS && count_keys(set, group->key, level) > group_size) {
        level++;
    }
    const int64_t in_cell = count_keys(set, group->key, level);
    if (in_cell <= group_size) {
        assert_true(group->count == in_cell && group->part == 0);
    } else {
        const int64_t left = in_cell - (int64_t)group->part * group_size;
        assert_int_equal(group->count, left < group_size ? left : group_size);
    }
}

TEST(groups_are_the_largest_small_cells)
{
    static const int sizes[][2] = {{8, 8}, {1, 20}, {30, 5}, {4, 1}};
    for (int kind = 0; kind < BH_SET_KINDS; kind++) {
        BH_SET(set, kind, 300, 6);
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
            bh_group *group;
            int64_t ngroups, next = 0;
            BH_TREE(tree, &set, sizes[s][0]);
            assert_ok(bh_groups_make(&tree, set.key, sizes[s][1], set.accel, &ngroups, &group));
            for (int64_t g = 0; g < ngroups; g++) {
                assert_int_equal(group[g].first, next);
                check_group(&set, &group[g], sizes[s][1]);
                next += group[g].count;
            }
            assert_int_equal(next, set.n);
            free(group);
        }
    }
}

static int build(bh_tree *tree, const bh_set *set, int nintervals, const bh_interval *interval)
{
    return bh_tree_build(tree, &set->box, set->n, set->key, set->x, set->y, set->z, set->m, nintervals, interval, 0);
}

TEST(wrong_branches_are_refused)
{
    BH_SET(set, BH_UNIFORM, 100, 8);
    const uint64_t end = EQP_CURVE_END;
    const bh_interval all = {0, end};
    FREED_BY(bh_tree_free) bh_tree tree;
    bh_tree_init(&tree, 4);
    assert_ok(build(&tree, &set, 1, &all));
    bh_cell branch = tree.cell[0];
    branch.count++;
    assert_refused(bh_tree_top(&tree, 1, &branch, 0));
    assert_refused(bh_tree_top(&tree, 0, NULL, 0));
    assert_ok(bh_tree_top(&tree, 1, tree.cell, 0));
    const bh_interval halves[2] = {{0, end / 2}, {end / 2, end}};
    tree.leaf_size = 100;
    assert_ok(build(&tree, &set, 2, halves));
    const int64_t ncells = tree.ncells;
    HEAP bh_cell *copy = calloc((size_t)tree.nbranches, sizeof(*copy));
    assert_non_null(copy);
    memcpy(copy, tree.cell, (size_t)tree.nbranches * sizeof(*copy));
    assert_refused(bh_tree_top(&tree, tree.nbranches, copy, 0)); /* a small cell would be above the branches */
    assert_true(tree.ncells == ncells && tree.root == -1);
}

/* The check used by other tests finds wrong cells. */
TEST(the_check_finds_every_damaged_cell)
{
    BH_SET(set, BH_UNIFORM, 300, 12);
    BH_TREE(tree, &set, 5);
    for (int64_t c = 0; c < tree.ncells; c++) {
        const bh_cell good = tree.cell[c];
        bh_cell bad[10];
        for (int i = 0; i < 10; i++) {
            bad[i] = good;
        }
        bad[0].key ^= bh_span(good.level > 0 ? good.level : 1);
        bad[1].level++;
        bad[2].home = -2;
        bad[3].nchild = good.nchild == 0 ? 3 : good.nchild - 1;
        bad[4].first++;
        bad[5].count++;
        bad[6].moments.mass *= 1 + 1e-15;
        bad[7].moments.offset = NAN;
        bad[8].place ^= 1;
        bad[9].tight--;
        for (int i = 0; i < 10; i++) {
            tree.cell[c] = bad[i];
            assert_int_equal(bh_tree_check(&tree), EQP_ERR_INTERNAL);
        }
        tree.cell[c] = good;
    }
    assert_ok(bh_tree_check(&tree));
    tree.sources.x[17] = nextafter(tree.sources.x[17], INFINITY) + 1e-9;
    assert_int_equal(bh_tree_check(&tree), EQP_ERR_INTERNAL);
}

/* A cell's particles lie within its cube plus a tenth of its side, unless it is loose. */
static void check_drifted(const bh_tree *tree, const bh_cell *cell)
{
    const double side = tree->box.side / (1 << cell->level);
    double centre[3], mass = 0, moment[3] = {0}, beyond = 0;
    bh_cell_centre(tree, cell, centre);
    for (int64_t i = cell->first; i < cell->first + cell->count; i++) {
        const double at[3] = {tree->sources.x[i], tree->sources.y[i], tree->sources.z[i]};
        mass += tree->sources.m[i];
        for (int k = 0; k < 3; k++) {
            moment[k] += tree->sources.m[i] * (at[k] - centre[k]);
            beyond = fmax(beyond, fabs(at[k] - centre[k]) - 0.5 * side);
        }
    }
    assert_true(cell->level > cell->tight || beyond <= 0.1 * side);
    assert_true(cell->nchild > 0 || cell->level <= cell->tight || beyond > 0.1 * side);
    for (int k = 0; k < 3; k++) {
        assert_true(fabs(cell->moments.com[k] - centre[k] - moment[k] / mass) <= 1e-13 * tree->box.side);
    }
}

TEST(a_drifted_tree_bounds_its_particles)
{
    static const enum bh_set_kind kinds[] = {BH_UNIFORM, BH_CLUSTERED, BH_PLANAR};
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
        int64_t nloose = 0, ncells = 0, loose;
        BH_SET(set, kinds[kind], 700, 21);
        BH_TREE(fresh, &set, 5);
        BH_TREE(tree, &set, 5);
        loose = bh_set_drift(&set, 0.1, &tree);
        assert_true(tree.root < 0 && tree.ncells == fresh.ncells);
        assert_ok(bh_tree_top(&tree, tree.nbranches, tree.cell, 0));
        assert_ok(bh_tree_check(&tree));
        for (int64_t c = 0; c < tree.ncells; c++) {
            const bh_cell *cell = &tree.cell[c];
            check_drifted(&tree, cell);
            nloose += cell->nchild == 0 && cell->level > cell->tight ? cell->count : 0;
            ncells += cell->level > cell->tight;
        }
        assert_int_equal(loose, nloose);
        assert_true(ncells > 10 && ncells < tree.ncells - 10);
        /* Drift depends on positions, not on the path. */
        assert_int_equal(bh_set_drift(&set, 0, &tree), 0);
        assert_memory_equal(tree.cell, fresh.cell, (size_t)fresh.ncells * sizeof(*fresh.cell));
        assert_memory_equal(tree.family, fresh.family, (size_t)fresh.nfamilies * sizeof(*fresh.family));
    }
}

/* RMS relative error of accelerations with the relative criterion. */
static double error_of_forces(const bh_set *set, const bh_tree *tree)
{
    const bh_sources *s = &tree->sources;
    const bh_mac mac = {.theta = 0.6, .relative = true, .alpha = 0.006, .G = 1};
    const int64_t n = s->n;
    HEAP double *exact = calloc((size_t)(8 * n), sizeof(*exact));
    HEAP int32_t *order = calloc((size_t)n, sizeof(*order));
    bh_serial serial = {.n = n, .order = order, .tree = *tree};
    double *got = exact + 4 * n, sum = 0;
    assert_true(exact != NULL && order != NULL);
    bh_direct(n, s->x, s->y, s->z, s->m, 1, 0.01, n, s->x, s->y, s->z, exact, exact + n, exact + 2 * n, exact + 3 * n);
    for (int64_t i = 0; i < n; i++) {
        order[i] = (int32_t)i;
        set->accel[i] = sqrt(pow(exact[i], 2) + pow(exact[n + i], 2) + pow(exact[2 * n + i], 2));
    }
    assert_ok(bh_groups_make(tree, set->key, 32, set->accel, &serial.ngroups, &serial.group));
    assert_ok(bh_serial_force(&serial, NULL, &mac, 1, 0.01, got, got + n, got + 2 * n, got + 3 * n, NULL));
    for (int64_t i = 0; i < 3 * n; i++) {
        sum += pow((got[i] - exact[i]) / set->accel[i % n], 2);
    }
    free(serial.group);
    return sqrt(sum / (double)n);
}

TEST(a_drifted_tree_gives_forces_as_exact_as_a_new_one)
{
    for (int kind = slow_here() ? BH_CLUSTERED : BH_UNIFORM; kind <= BH_CLUSTERED; kind++) {
        BH_SET(set, kind, 3000, 23);
        BH_TREE(tree, &set, 16);
        const double fresh = error_of_forces(&set, &tree);
        assert_true(fresh > 1e-5 && fresh < 2e-3);
        for (int i = slow_here() ? 2 : 0; i < 3; i++) {
            static const double drift[] = {0.01, 0.1, 0.5};
            bh_set_drift(&set, drift[i], &tree);
            assert_ok(bh_tree_top(&tree, tree.nbranches, tree.cell, 0));
            const double error = error_of_forces(&set, &tree);
            assert_true(error < 1.25 * fresh);
        }
    }
}

TEST(branches_travel_whole_or_not_at_all)
{
    for (int bare = 0; bare < 2; bare++) {
        BH_SET(set, BH_CLUSTERED, 400, 43);
        set.bare = bare;
        BH_PARTS(parts, &set, 4, 8, 3, 2);
        for (int r = 0; r < 3; r++) {
            const bh_tree *tree = &parts[r].tree;
            const size_t size = (size_t)bh_branch_bytes(tree);
            HEAP bh_cell *read = calloc((size_t)tree->nbranches, sizeof(*read));
            HEAP unsigned char *bytes = malloc((size_t)tree->nbranches * size);
            assert_true(read != NULL && bytes != NULL && tree->nbranches > 1);
            assert_int_equal(size, bare ? 16 : 96);
            bh_branches_pack(tree, tree->nbranches, tree->cell, bytes);
            assert_ok(bh_branches_unpack(tree, tree->nbranches, bytes, read));
            for (int64_t b = 0; b < tree->nbranches; b++) {
                const bh_cell *cell = &tree->cell[b];
                assert_true(read[b].key == cell->key && read[b].level == cell->level && read[b].home == r &&
                            read[b].nchild == cell->nchild && read[b].count == cell->count &&
                            read[b].place == cell->place);
                assert_memory_equal(&read[b].moments, &cell->moments, sizeof(cell->moments));
            }
            const int64_t wrong[] = {0, 2, 4, 1 << 7};
            for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) { /* no cell has this number */
                memcpy(bytes, &wrong[i], 8);
                assert_int_equal(bh_branches_unpack(tree, 1, bytes, read), EQP_ERR_FORMAT);
            }
            bh_branches_pack(tree, tree->nbranches, tree->cell, bytes);
            bytes[12] = (unsigned char)((bytes[12] & 0xf0) | (tree->cell[0].nchild > 0 ? 0 : 2)); /* leaf or not */
            assert_int_equal(bh_branches_unpack(tree, 1, bytes, read), EQP_ERR_FORMAT);
        }
    }
}
