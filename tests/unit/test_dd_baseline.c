/* SPDX-License-Identifier: BSD-3-Clause */
/* ParaDiS' sectioning against an independent implementation of its rule with plain arrays and integrals, and the cycles
 * in which walls move. tests/unit/test_boxes.c has the rules of bisection. */
#include "balance/balance.h"
#include "unit.h"

enum { MOST = 64, CYCLES = 20 };

static const double low0[3] = {-100, 0, 50}, high0[3] = {300, 300, 150};
static const int64_t cells[3] = {4, 3, 5};
static const int grids[][3] = {{2, 2, 2}, {3, 2, 1}, {4, 4, 4}, {5, 3, 2}, {1, 4, 1}, {1, 1, 1}};

/* A load field with a bump in each direction: its integral from a corner on. */
static double primitive(int d, double x)
{
    const double t = (x - low0[d]) / (high0[d] - low0[d]), centre[3] = {0.2, 0.6, 0.35}, width[3] = {0.1, 0.2, 0.15};

    return 0.3 * t + atan((t - centre[d]) / width[d]);
}

/* Boxes [parts][6], low corner first, and their loads. */
typedef struct boxed {
    int n[3], parts;
    double box[MOST][6], load[MOST];
} boxed;

static boxed equal_boxes(const int n[3])
{
    boxed b = {.n = {n[0], n[1], n[2]}, .parts = n[0] * n[1] * n[2]};

    for (int p = 0; p < b.parts; p++) {
        const int at[3] = {p / n[2] / n[1], p / n[2] % n[1], p % n[2]};
        for (int d = 0; d < 3; d++) {
            const double width = (high0[d] - low0[d]) / n[d];
            b.box[p][d] = low0[d] + at[d] * width;
            b.box[p][3 + d] = low0[d] + (at[d] + 1) * width;
        }
    }
    return b;
}

/* Returns the imbalance. */
static double set_loads(boxed *b)
{
    double most = 0, sum = 0;

    for (int p = 0; p < b->parts; p++) {
        b->load[p] = 1;
        for (int d = 0; d < 3; d++) {
            b->load[p] *= primitive(d, b->box[p][3 + d]) - primitive(d, b->box[p][d]);
        }
        most = fmax(most, b->load[p]);
        sum += b->load[p];
    }
    return most * b->parts / sum - 1;
}

/* Load between the lowest wall and x, with one density per slab. */
static double below(int n, const double *wall, const double *load, double x)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += load[i] * fmax(0, fmin(1, (x - wall[i]) / (wall[i + 1] - wall[i])));
    }
    return sum;
}

/* Above its new lower wall each slab gets an equal part of the remaining load, found by bisection; a wall moves at most
 * 5 % of the slab it moves into and at most 0.49 of a cell. */
static void move_row(int n, const double *load, double cell, double *wall)
{
    double old[MOST + 1];

    memcpy(old, wall, (size_t)(n + 1) * sizeof *old);
    for (int i = 1; i < n; i++) {
        const double begin = below(n, old, load, wall[i - 1]), all = below(n, old, load, old[n]);
        double from = old[0], to = old[n];
        for (int k = 0; k < 200; k++) {
            const double middle = (from + to) / 2;
            *(below(n, old, load, middle) < begin + (all - begin) / (n - i + 1) ? &from : &to) = middle;
        }
        wall[i] = fmin(fmax(from, old[i] - fmin(0.49 * cell, 0.05 * (old[i] - old[i - 1]))),
                       old[i] + fmin(0.49 * cell, 0.05 * (old[i + 1] - old[i])));
    }
}

/* One direction: the row of slabs, of columns in each slab, or of boxes in each column. */
static void section(boxed *b, int d)
{
    const int *n = b->n, lines = d == 0 ? 1 : d == 1 ? n[0] : n[0] * n[1];
    const int each = d == 0 ? n[1] * n[2] : d == 1 ? n[2] : 1; /* parts per slab */

    for (int line = 0; line < lines; line++) {
        const int first = line * n[d] * each;
        double wall[MOST + 1], sum[MOST] = {0};
        for (int p = first; p < first + n[d] * each; p++) {
            wall[p / each % n[d]] = b->box[p][d];
            sum[p / each % n[d]] += b->load[p];
        }
        wall[n[d]] = high0[d];
        move_row(n[d], sum, (high0[d] - low0[d]) / (double)cells[d], wall);
        for (int p = first; p < first + n[d] * each; p++) {
            b->box[p][d] = wall[p / each % n[d]];
            b->box[p][3 + d] = wall[p / each % n[d] + 1];
        }
    }
}

static void check_same(const boxed *b, const eqp_boxes *boxes, int cycle)
{
    for (int p = 0; p < b->parts; p++) {
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

/* The three directions of a round take three consecutive cycles of the DLBfreq `every`; 0 moves nothing. */
TEST(walls_follow_the_rules_of_paradis)
{
    const dd_domain domain = {.low = {low0[0], low0[1], low0[2]},
                              .edge = {high0[0] - low0[0], high0[1] - low0[1], high0[2] - low0[2]}};

    for (int run = 0; run < 5 * COUNT_OF(grids); run++) {
        const int every = run % 5;
        eqp_paradis_control control = eqp_paradis_control_defaults;
        boxed b = equal_boxes(grids[run / 5]);
        const double first = set_loads(&b);
        eqp_boxes *boxes = NULL;
        memcpy(control.domains, b.n, sizeof control.domains);
        assert_ok(dd_walls_create(&domain, b.parts, &control, false, &boxes));
        check_same(&b, boxes, 0);
        for (int cycle = 1; cycle <= CYCLES; cycle++) {
            const int turn = dd_walls_turn(false, every, cycle), phase = every > 0 ? cycle % every : CYCLES;
            assert_int_equal(turn, phase < 3 ? phase : -1);
            assert_int_equal(dd_walls_turn(true, every, cycle), phase < 1 ? phase : -1);
            if (turn >= 0) {
                (void)set_loads(&b);
                assert_ok(dd_walls_move(&domain, cells, b.load, turn, boxes));
                section(&b, turn);
            }
            check_same(&b, boxes, cycle);
        }
        assert_true(b.parts == 1 || every < 3 || set_loads(&b) < first);
        eqp_boxes_free(boxes);
    }
}
