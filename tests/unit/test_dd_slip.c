/* SPDX-License-Identifier: BSD-3-Clause */
/* The area swept by motion and operations is the change of the whole network's area, for every kind of operation,
 * wherever the faces of the box are. */
#include "dd_networks.h"
#include "unit.h"

#include "dd_area.h"
#include "failing_malloc.h"

#include "motion/loading.h"
#include "network/operations.h"

static const double corner[3] = {-50, -50, -50}, cube[3] = {100, 100, 100}, free_box[3] = {0, 0, 0};

enum { SPLIT, COLLIDE, COARSEN, REFINE, KINDS };

static void offset(const double box[3], const double from[3], const double to[3], double way[3])
{
    dd_v3_minus(to, from, way);
    for (int k = 0; k < 3; k++) {
        way[k] -= box[k] > 0.0 ? box[k] * rint(way[k] / box[k]) : 0.0;
    }
}

static void area_of(const dd_network *network, const double box[3], double area[9])
{
    HEAP dd_area_segment *segment = calloc((size_t)network->n * DD_MOST_ARMS + 1, sizeof *segment);
    int64_t n = 0;

    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        for (int a = 0; a < node->narms; a++) {
            const dd_arm *arm = &node->arm[a];
            if (arm->tag > node->tag) {
                segment[n] = (dd_area_segment){.from = node->tag, .to = arm->tag};
                dd_v3_copy(segment[n].burgers, arm->burgers);
                offset(box, node->x, dd_test_find(network, arm->tag)->x, segment[n].way);
                n++;
            }
        }
    }
    assert_true(dd_area_of(n, segment, area));
}

/* after = before - swept. */
static void assert_swept(const double before[9], const double after[9], const double swept[9], double scale)
{
    for (int k = 0; k < 9; k++) {
        assert_true(fabs(before[k] - after[k] - swept[k]) < 1e-12 * scale);
    }
}

static void drag(const void *user, const dd_node *node, const double (*to_neighbour)[3], const double force[3],
                 double velocity[3])
{
    (void)user;
    (void)to_neighbour;
    for (int k = 0; k < 3; k++) {
        velocity[k] = force[k] / node->narms;
    }
}

/* Free nodes move; swept: what their segments sweep. */
static void stir(dd_network *network, const double box[3], uint64_t seed, uint64_t *counter, double swept[9])
{
    FREED_BY(dd_network_free) dd_network before;

    dd_test_copy(&before, network);
    for (int64_t i = 0; i < network->n; i++) {
        dd_node *node = &network->node[i];
        for (int k = 0; k < 3; k++) {
            node->v[k] = node->constraint == DD_FREE ? 0.4 * dd_test_real(seed, counter) : 0.0;
            node->x[k] += node->v[k];
            node->x[k] -= box[k] > 0.0 ? box[k] * floor((node->x[k] - corner[k]) / box[k]) : 0.0;
        }
        for (int a = 0; a < node->narms; a++) {
            for (int k = 0; k < 3; k++) {
                node->arm[a].force[k] = dd_test_real(seed, counter);
            }
        }
    }
    for (int64_t i = 0; i < network->n; i++) {
        for (int a = 0; a < network->node[i].narms; a++) {
            const dd_arm *arm = &network->node[i].arm[a];
            const dd_node *old[2] = {&before.node[i], dd_test_find(&before, arm->tag)};
            const dd_node *now[2] = {&network->node[i], dd_test_find(network, arm->tag)};
            double x[2][3], y[2][3], step[3], area[3];
            for (int e = 0; e < 2 && arm->tag > network->node[i].tag; e++) {
                offset(box, old[0]->x, old[e]->x, x[e]);
                offset(box, old[e]->x, now[e]->x, step);
                dd_v3_along(x[e], 1.0, step, y[e]);
            }
            if (arm->tag > network->node[i].tag) {
                dd_swept_area(x[0], x[1], y[0], y[1], area);
                for (int k = 0; k < 9; k++) {
                    swept[k] += arm->burgers[k / 3] * area[k % 3];
                }
            }
        }
    }
}

static int operate(dd_serial *serial, int kind, const dd_mover *mover, int64_t *done)
{
    switch (kind) {
    case SPLIT:
        return dd_serial_split(serial, mover, done);
    case COLLIDE:
        return dd_serial_collide(serial, done);
    case COARSEN:
        return dd_serial_coarsen(serial, done);
    default:
        return dd_serial_refine(serial, done);
    }
}

/* A tangle of a third of the box, so that no line goes around it; shifted, some cross its faces. */
static void live(uint64_t seed, const double box[3], double shift, int64_t done[KINDS])
{
    const dd_medium medium = {.mu = 0.1, .nu = 0.3, .a = 1, .core = 0.1};
    const dd_mover mover = {drag, NULL, &medium, 0};
    dd_rules rules = {.max_seg = 8, .min_seg = 3, .rann = 0.8};
    uint64_t counter = 0;
    FREED_BY(dd_network_free) dd_network network;
    dd_serial serial;
    double first[9], total[9] = {0.0};

    assert_int_equal(dd_rules_complete(&rules), EQP_OK);
    dd_test_random(&network, seed, 30, 20, free_box);
    for (int64_t i = 0; i < network.n; i++) {
        for (int k = 0; k < 3; k++) {
            double *x = &network.node[i].x[k];
            *x = *x / 3.0 + shift;
            *x -= box[k] > 0.0 ? box[k] * floor((*x - corner[k]) / box[k]) : 0.0;
        }
    }
    dd_serial_init(&serial, &network, corner, box, &rules, 0);
    area_of(&network, box, first);
    const double scale = 1e3 + dd_v3_length(first) + dd_v3_length(first + 3) + dd_v3_length(first + 6);
    for (int step = 0; step < 5; step++) {
        double before[9], after[9];
        stir(&network, box, seed, &counter, total);
        for (int kind = 0; kind < KINDS; kind++) {
            double swept[9];
            area_of(&network, box, before);
            memcpy(swept, serial.area, sizeof swept);
            assert_int_equal(operate(&serial, kind, &mover, &done[kind]), EQP_OK);
            area_of(&network, box, after);
            for (int k = 0; k < 9; k++) {
                swept[k] = serial.area[k] - swept[k];
            }
            assert_swept(before, after, swept, scale);
        }
    }
    double last[9];
    area_of(&network, box, last);
    for (int k = 0; k < 9; k++) {
        total[k] += serial.area[k];
    }
    assert_swept(first, last, total, scale);
}

TEST(operations_sweep_the_change_of_area)
{
    int64_t done[KINDS] = {0};
    for (uint64_t seed = 700; seed < 704; seed++) {
        live(seed, free_box, 0.0, done);
        live(seed, cube, 0.0, done);
        live(seed, cube, 45.0, done);
    }
    for (int kind = 0; kind < KINDS; kind++) {
        assert_true(done[kind] > 20);
    }
}

/* A bow of two segments that is cut short: half base times height, by the sense of dd_swept_area(). */
static void make_bow(dd_patch *patch)
{
    static const double b[3] = {0, 0, 2};
    FREED_BY(dd_network_free) dd_network network;

    dd_network_init(&network);
    dd_test_node(&network, 1, 48, 0, 0, DD_FREE);
    dd_test_node(&network, 2, -49, 1, 0, DD_FREE); /* across the face */
    dd_test_node(&network, 3, -46, 0, 0, DD_FREE);
    dd_test_join(&network, 1, 2, b, NULL);
    dd_test_join(&network, 2, 3, b, NULL);
    dd_patch_init(patch, corner, cube);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(dd_patch_add(patch, dd_test_find(&network, (dd_tag[]){2, 1, 3}[i])), EQP_OK);
    }
}

static void straighten(dd_patch *patch)
{
    dd_arm *arm = &patch->at[1].node.arm[0], *back = &patch->at[2].node.arm[0];

    patch->at[0].deleted = true;
    arm->tag = 3;
    back->tag = 1;
}

TEST(a_bow_that_is_cut_sweeps_its_triangle)
{
    FREED_BY(dd_patch_free) dd_patch patch;
    FREED_BY(dd_slip_free) dd_slip slip = {0};
    double area[9] = {0.0};
    make_bow(&patch);
    assert_int_equal(dd_slip_begin(&slip, &patch), EQP_OK);
    straighten(&patch);
    assert_int_equal(dd_slip_end(&slip, &patch, area), EQP_OK);
    /* The node goes down by 1 where the line goes right: (right) x (down) is -z; base 6, height 1. */
    for (int k = 0; k < 9; k++) {
        assert_true(fabs(area[k] - (k == 8 ? 2 * -3.0 : 0.0)) < 1e-12);
    }
    /* Nothing changes: nothing at all, not even rounding. */
    memset(area, 0, sizeof area);
    assert_int_equal(dd_slip_begin(&slip, &patch), EQP_OK);
    assert_int_equal(dd_slip_end(&slip, &patch, area), EQP_OK);
    for (int k = 0; k < 9; k++) {
        assert_true(area[k] == 0.0);
    }
}

TEST(lack_of_memory_is_told)
{
    SKIP_IF(!failing_malloc_works);
    for (int64_t k = 0, failures = 1; failures; k++) {
        FREED_BY(dd_patch_free) dd_patch patch;
        FREED_BY(dd_slip_free) dd_slip slip = {0};
        double area[9] = {0.0};
        make_bow(&patch);
        failing_malloc_start(k);
        int code = dd_slip_begin(&slip, &patch);
        if (code == EQP_OK) {
            straighten(&patch);
            code = dd_slip_end(&slip, &patch, area);
        }
        failures = failing_malloc_stop();
        assert_int_equal(code, failures ? EQP_ERR_MEMORY : EQP_OK);
        assert_true((area[8] == 0.0) == (failures > 0));
        assert_true(failures || k > 2);
    }
}
