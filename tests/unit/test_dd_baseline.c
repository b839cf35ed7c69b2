/* SPDX-License-Identifier: BSD-3-Clause */
/* ParaDiS balancers against an independent implementation of their rules with plain arrays and integrals. */
#include "balance/balance.h"
#include "unit.h"

#define MOST 8   /* parts in a direction */
#define PARTS 64 /* total */
#define CYCLES 20

static const double low0[3] = {-100, 0, 50}, high0[3] = {300, 300, 150};
static const int64_t cells[3] = {4, 3, 5};
static const int grids[][3] = {{2, 2, 2}, {3, 2, 1}, {4, 4, 4}, {5, 3, 2}, {1, 4, 1}, {1, 1, 1}};
enum { NGRIDS = sizeof grids / sizeof *grids };

/* A load field with a bump in each direction, and its integral over a box. */
static double primitive(int d, double x)
{
    const double t = (x - low0[d]) / (high0[d] - low0[d]), centre[3] = {0.2, 0.6, 0.35}, width[3] = {0.1, 0.2, 0.15};

    return 0.3 * t + atan((t - centre[d]) / width[d]);
}

static double load_of(const double low[3], const double high[3])
{
    double load = 1;

    for (int d = 0; d < 3; d++) {
        load *= primitive(d, high[d]) - primitive(d, low[d]);
    }
    return load;
}

/* Bounds [parts][6], low corner first, and derived quantities. */
typedef struct boxed {
    int n[3];
    double box[PARTS][6];
} boxed;

static boxed equal_boxes(const int n[3])
{
    boxed b = {{n[0], n[1], n[2]}, {{0}}};

    for (int p = 0; p < n[0] * n[1] * n[2]; p++) {
        const int at[3] = {p / n[2] / n[1], p / n[2] % n[1], p % n[2]};
        for (int d = 0; d < 3; d++) {
            const double width = (high0[d] - low0[d]) / n[d];
            b.box[p][d] = low0[d] + at[d] * width;
            b.box[p][3 + d] = low0[d] + (at[d] + 1) * width;
        }
    }
    return b;
}

static void loads_of(const boxed *b, double *load)
{
    for (int p = 0; p < b->n[0] * b->n[1] * b->n[2]; p++) {
        load[p] = load_of(b->box[p], b->box[p] + 3);
    }
}

/* Load between the lowest wall and x, with one density per slab. */
static double below(int n, const double *wall, const double *load, double x)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        const double part = (x - wall[i]) / (wall[i + 1] - wall[i]);
        sum += load[i] * fmax(0, fmin(1, part));
    }
    return sum;
}

/* Inverse of below(), by bisection. */
static double place_of(int n, const double *wall, const double *load, double target)
{
    double from = wall[0], to = wall[n];

    for (int k = 0; k < 200; k++) {
        const double middle = (from + to) / 2;
        *(below(n, wall, load, middle) < target ? &from : &to) = middle;
    }
    return from;
}

/* Moves the walls of a row of slabs. Above its new lower wall each slab gets an equal part of the remaining load; a
 * wall moves at most 5 % of the slab it moves into and at most 0.49 of a cell. */
static void move_row(int n, const double *load, double cell, double *wall)
{
    double old[MOST + 1];

    memcpy(old, wall, (size_t)(n + 1) * sizeof *old);
    for (int i = 1; i < n; i++) {
        const double begin = below(n, old, load, wall[i - 1]), all = below(n, old, load, old[n]);
        const double place = place_of(n, old, load, begin + (all - begin) / (n - i + 1));
        wall[i] = fmin(fmax(place, old[i] - fmin(0.49 * cell, 0.05 * (old[i] - old[i - 1]))),
                       old[i] + fmin(0.49 * cell, 0.05 * (old[i + 1] - old[i])));
    }
}

/* Sectioning in one direction: the row of slabs, of columns in each slab, or of boxes in each column. */
static void section(boxed *b, const double *load, int d)
{
    const int *n = b->n, lines = d == 0 ? 1 : d == 1 ? n[0] : n[0] * n[1];
    const int each = d == 0 ? n[1] * n[2] : d == 1 ? n[2] : 1; /* parts per slab */

    for (int line = 0; line < lines; line++) {
        double wall[MOST + 1], sum[MOST] = {0};
        for (int i = 0; i < n[d]; i++) {
            const int first = (line * n[d] + i) * each;
            wall[i] = b->box[first][d];
            wall[i + 1] = b->box[first][3 + d];
            for (int p = first; p < first + each; p++) {
                sum[i] += load[p];
            }
        }
        move_row(n[d], sum, (high0[d] - low0[d]) / (double)cells[d], wall);
        for (int p = line * n[d] * each; p < (line + 1) * n[d] * each; p++) {
            const int i = p / each % n[d];
            b->box[p][d] = wall[i];
            b->box[p][3 + d] = wall[i + 1];
        }
    }
}

/* A range of the grid of parts: a piece in bisection. */
typedef struct range {
    int first[3], count[3];
} range;

/* Number of its first part, or of the last one. */
static int part_of(const int n[3], const range *r, bool last)
{
    int at[3];

    for (int d = 0; d < 3; d++) {
        at[d] = r->first[d] + (last ? r->count[d] - 1 : 0);
    }
    return (at[0] * n[1] + at[1]) * n[2] + at[2];
}

static double load_in(const int n[3], const double *load, const range *r)
{
    double sum = 0;

    for (int p = 0; p < n[0] * n[1] * n[2]; p++) {
        const int at[3] = {p / n[2] / n[1], p / n[2] % n[1], p % n[2]};
        bool is_in = true;
        for (int d = 0; d < 3; d++) {
            is_in = is_in && at[d] >= r->first[d] && at[d] < r->first[d] + r->count[d];
        }
        sum += is_in ? load[p] : 0;
    }
    return sum;
}

static range half_of(const range *r, int d, int side)
{
    range half = *r;
    const int nlow = r->count[d] / 2;

    half.first[d] += side ? nlow : 0;
    half.count[d] = side ? r->count[d] - nlow : nlow;
    return half;
}

/* Coarsest level with an octant above 1.05 times the mean octant of its piece. */
static int level_out_of_balance(const int n[3], const double *load, const range *r, int level, int found)
{
    double most = 0, sum = 0;
    int count = 0;

    for (int o = 0; o < 8; o++) {
        range octant = *r;
        bool exists = true;
        for (int d = 0; d < 3; d++) {
            exists = exists && (r->count[d] > 1 || !(o >> d & 1));
            octant = r->count[d] > 1 ? half_of(&octant, d, o >> d & 1) : octant;
        }
        if (exists && memcmp(&octant, r, sizeof octant) != 0) {
            const double its = load_in(n, load, &octant);
            found = level_out_of_balance(n, load, &octant, level + 1, found);
            most = fmax(most, its);
            sum += its;
            count++;
        }
    }
    return count > 0 && most / (sum / count) - 1 > 0.05 && level < found ? level : found;
}

/* Cuts a piece along d, its halves along the following directions, then the octants. now, old: extent in d. */
static void bisect(boxed *b, const boxed *old, const double *load, const range *r, int d, int level, int begin,
                   double extent[6])
{
    double was[2], wall, wanted, low, high;
    range half[2];

    if (d == 3) {
        if (r->count[0] * r->count[1] * r->count[2] == 1) {
            memcpy(b->box[part_of(b->n, r, false)], extent, 6 * sizeof *extent);
        } else {
            bisect(b, old, load, r, 0, level + 1, begin, extent);
        }
        return;
    }
    if (r->count[d] == 1) {
        bisect(b, old, load, r, d + 1, level, begin, extent);
        return;
    }
    half[0] = half_of(r, d, 0);
    half[1] = half_of(r, d, 1);
    /* In a row along d the piece's wall is that of its first part, the middle wall that of the upper half's first
     * part. */
    was[0] = old->box[part_of(b->n, r, false)][d];
    wall = old->box[part_of(b->n, &half[1], false)][d];
    was[1] = old->box[part_of(b->n, r, true)][3 + d];
    low = extent[d];
    high = extent[3 + d];
    if (level >= begin) {
        const double walls[3] = {was[0], wall, was[1]};
        const double loads[2] = {load_in(b->n, load, &half[0]), load_in(b->n, load, &half[1])};
        const double place = place_of(2, walls, loads, (loads[0] + loads[1]) * half[0].count[d] / r->count[d]);
        wanted = low + (place - was[0]) / (was[1] - was[0]) * (high - low);
        wall = level == begin ? wall + 0.3 * (wanted - wall) : wanted;
    }
    for (int side = 0; side < 2; side++) {
        double its[6];
        memcpy(its, extent, sizeof its);
        its[side ? d : 3 + d] = wall;
        bisect(b, old, load, &half[side], d + 1, level, begin, its);
    }
}

static void check_same(const boxed *b, const eqp_boxes *boxes, int cycle)
{
    for (int p = 0; p < b->n[0] * b->n[1] * b->n[2]; p++) {
        double corner[6];
        assert_ok(eqp_boxes_bounds(boxes, p, corner, corner + 3));
        for (int e = 0; e < 6; e++) {
            if (!(fabs(corner[e] - b->box[p][e]) < 1e-9)) {
                fail_msg("%d x %d x %d, cycle %d, part %d: corner %d is at %.17g, not %.17g", b->n[0], b->n[1], b->n[2],
                         cycle, p, e, corner[e], b->box[p][e]);
            }
        }
    }
}

static double imbalance(const boxed *b)
{
    const int parts = b->n[0] * b->n[1] * b->n[2];
    double load[PARTS], most = 0, sum = 0;

    loads_of(b, load);
    for (int p = 0; p < parts; p++) {
        most = fmax(most, load[p]);
        sum += load[p];
    }
    return most * parts / sum - 1;
}

/* One run of CYCLES cycles with the DLBfreq `every`. */
static void follow(const int n[3], bool bisection, int every)
{
    const dd_domain domain = {.low = {low0[0], low0[1], low0[2]},
                              .edge = {high0[0] - low0[0], high0[1] - low0[1], high0[2] - low0[2]}};
    eqp_paradis_control control = eqp_paradis_control_defaults;
    boxed b = equal_boxes(n);
    const double first = imbalance(&b);
    eqp_boxes *boxes = NULL;

    memcpy(control.domains, n, sizeof control.domains);
    assert_ok(dd_walls_create(&domain, n[0] * n[1] * n[2], &control, bisection, &boxes));
    check_same(&b, boxes, 0);
    for (int cycle = 1; cycle <= CYCLES; cycle++) {
        const int turn = dd_walls_turn(bisection, every, cycle), phase = every > 0 ? cycle % every : CYCLES;
        const range all = {{0}, {n[0], n[1], n[2]}};
        double load[PARTS], extent[6];
        loads_of(&b, load);
        assert_int_equal(turn, phase < (bisection ? 1 : 3) ? phase : -1);
        if (turn >= 0) {
            assert_ok(dd_walls_move(&domain, cells, load, turn, boxes));
        }
        if (turn >= 0 && !bisection) {
            section(&b, load, phase);
        } else if (turn >= 0 && level_out_of_balance(n, load, &all, 0, MOST) < MOST) {
            const boxed old = b;
            memcpy(extent, low0, sizeof low0);
            memcpy(extent + 3, high0, sizeof high0);
            bisect(&b, &old, load, &all, 0, 0, level_out_of_balance(n, load, &all, 0, MOST), extent);
        }
        check_same(&b, boxes, cycle);
    }
    assert_true(n[0] * n[1] * n[2] == 1 || every < 3 || imbalance(&b) < first);
    eqp_boxes_free(boxes);
}

/* The three directions of a round take three consecutive cycles; DLBfreq 0 moves nothing. */
TEST(walls_follow_the_rules_of_paradis)
{
    for (int run = 0; run < 2 * 5 * NGRIDS; run++) {
        follow(grids[run / 10], run % 2 == 1, run / 2 % 5);
    }
}
