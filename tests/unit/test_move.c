/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <equipoise/more/move.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdlib.h>

static uint64_t draws;

static int below(int n)
{
    return (int)eqp_random_below(19, 1, draws++, (uint64_t)n);
}

static void plan_orders_stably_by_destination(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        int dest[50], nranks = 1 + below(7);
        int64_t n = below(51), at = 0;
        eqp_move_plan *plan = NULL;
        for (int64_t i = 0; i < n; i++) {
            dest[i] = below(nranks);
        }
        assert_int_equal(eqp_move_plan_create(n, dest, nranks, &plan), EQP_OK);
        eqp_move_view v = eqp_move_plan_arrays(plan);
        assert_int_equal(v.n, n);
        assert_int_equal(v.offset[0], 0);
        assert_int_equal(v.offset[nranks], n);
        for (int r = 0; r < nranks; r++) {
            assert_int_equal(v.count[r], v.offset[r + 1] - v.offset[r]);
            for (int64_t i = 0; i < n; i++) {
                if (dest[i] == r) {
                    assert_int_equal(v.order[at++], i);
                }
            }
            assert_int_equal(at, v.offset[r + 1]);
        }
        eqp_move_plan_free(plan);
    }
}

static void unpack_undoes_pack_for_any_element_size(void **state)
{
    int dest[40];
    eqp_move_plan *plan = NULL;

    (void)state;
    for (int i = 0; i < 40; i++) {
        dest[i] = below(5);
    }
    assert_int_equal(eqp_move_plan_create(40, dest, 5, &plan), EQP_OK);
    for (size_t size = 1; size <= 24; size++) {
        unsigned char in[40 * 24], packed[40 * 24], out[40 * 24];
        for (size_t k = 0; k < 40 * size; k++) {
            in[k] = (unsigned char)below(256);
        }
        eqp_move_pack(plan, size, in, packed);
        eqp_move_unpack(plan, size, packed, out);
        assert_memory_equal(in, out, 40 * size);
        int64_t first = eqp_move_plan_arrays(plan).order[0];
        assert_memory_equal(packed, in + (size_t)first * size, size);
    }
    eqp_move_plan_free(plan);
    eqp_move_plan_free(NULL);
}

static void wrong_destinations_make_no_plan(void **state)
{
    const int low[2] = {0, -1}, high[2] = {0, 3};
    eqp_move_plan *plan = NULL;

    (void)state;
    assert_int_equal(eqp_move_plan_create(2, low, 3, &plan), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_move_plan_create(2, high, 3, &plan), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_move_plan_create(-1, low, 3, &plan), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_move_plan_create(2, NULL, 3, &plan), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_move_plan_create(0, NULL, 0, &plan), EQP_ERR_ARGUMENT);
    assert_null(plan);
    assert_int_equal(eqp_move_plan_create(0, NULL, 3, &plan), EQP_OK);
    assert_int_equal(eqp_move_plan_arrays(plan).offset[3], 0);
    eqp_move_plan_free(plan);
}

enum { PARTS = 6, IDS = 30, REQUESTS = 200 };

typedef struct world {
    int64_t known[IDS];
    int home[IDS];
    int part[REQUESTS];
    int64_t id[REQUESTS];
    int needed[PARTS][IDS];
} world;

static void draw_world(world *w, int64_t n)
{
    memset(w, 0, sizeof *w);
    for (int k = 0; k < IDS; k++) {
        w->known[k] = ((int64_t)k << 50) + k * 3;
        w->home[k] = below(PARTS - 1); /* the last part owns nothing */
    }
    for (int64_t i = 0; i < n; i++) {
        int k = below(IDS);
        w->part[i] = below(PARTS);
        w->id[i] = w->known[k];
        w->needed[w->part[i]][k] = 1;
    }
}

static void every_remote_need_is_met_once(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        world w;
        int64_t n = below(REQUESTS + 1), expected = 0;
        int met[PARTS][IDS] = {{0}};
        eqp_ghost_plan *plan = NULL;
        draw_world(&w, n);
        assert_int_equal(eqp_ghost_plan_create(n, w.part, w.id, IDS, w.known, w.home, PARTS, &plan), EQP_OK);
        eqp_ghost_view v = eqp_ghost_plan_arrays(plan);
        for (int64_t k = 0; k < v.npairs; k++) {
            assert_true(v.to[k] != v.from[k]);
            assert_true(v.first[k] < v.first[k + 1]);
            for (int64_t i = v.first[k]; i < v.first[k + 1]; i++) {
                int64_t which = v.id[i] >> 50;
                assert_true(i == v.first[k] || v.id[i - 1] < v.id[i]);
                assert_int_equal(w.home[which], v.from[k]);
                met[v.to[k]][which]++;
            }
        }
        for (int p = 0; p < PARTS; p++) {
            for (int k = 0; k < IDS; k++) {
                int remote = w.needed[p][k] && w.home[k] != p;
                assert_int_equal(met[p][k], remote);
                expected += remote;
            }
        }
        assert_int_equal(v.nghosts, expected);
        eqp_ghost_plan_free(plan);
    }
}

static void both_sides_list_the_same_pairs(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        world w;
        int64_t n = below(REQUESTS + 1), ghosts_max = 0, sent_max = 0;
        int neighbours_max = 0;
        eqp_ghost_plan *plan = NULL;
        draw_world(&w, n);
        assert_int_equal(eqp_ghost_plan_create(n, w.part, w.id, IDS, w.known, w.home, PARTS, &plan), EQP_OK);
        eqp_ghost_view v = eqp_ghost_plan_arrays(plan);
        assert_int_equal(v.recv_pair[PARTS], v.npairs);
        assert_int_equal(v.send_pair[PARTS], v.npairs);
        for (int p = 0; p < PARTS; p++) {
            int64_t received = 0, sent = 0;
            for (int64_t k = v.recv_pair[p]; k < v.recv_pair[p + 1]; k++) {
                assert_int_equal(v.to[k], p);
                assert_true(k == v.recv_pair[p] || v.from[k - 1] < v.from[k]);
                received += v.first[k + 1] - v.first[k];
            }
            for (int64_t j = v.send_pair[p]; j < v.send_pair[p + 1]; j++) {
                int64_t k = v.by_sender[j];
                assert_int_equal(v.from[k], p);
                assert_true(j == v.send_pair[p] || v.to[v.by_sender[j - 1]] < v.to[k]);
                sent += v.first[k + 1] - v.first[k];
            }
            int neighbours = (int)(v.recv_pair[p + 1] - v.recv_pair[p]);
            assert_int_equal(v.ghosts[p], received);
            assert_int_equal(v.sent[p], sent);
            ghosts_max = received > ghosts_max ? received : ghosts_max;
            sent_max = sent > sent_max ? sent : sent_max;
            neighbours_max = neighbours > neighbours_max ? neighbours : neighbours_max;
        }
        assert_int_equal(v.ghosts_max, ghosts_max);
        assert_int_equal(v.sent_max, sent_max);
        assert_int_equal(v.neighbours_max, neighbours_max);
        eqp_ghost_plan_free(plan);
    }
}

static void wrong_needs_make_no_plan(void **state)
{
    const int64_t known[2] = {3, 5}, unordered[2] = {5, 3}, id[1] = {4};
    const int home[2] = {0, 1}, far[2] = {0, 9}, part[1] = {1}, outside[1] = {2};
    eqp_ghost_plan *plan = NULL;

    (void)state;
    assert_int_equal(eqp_ghost_plan_create(1, part, id, 2, known, home, 2, &plan), EQP_ERR_UNKNOWN);
    assert_int_equal(eqp_ghost_plan_create(1, part, known, 2, unordered, home, 2, &plan), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_ghost_plan_create(1, part, known, 2, known, far, 2, &plan), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_ghost_plan_create(1, outside, known, 2, known, home, 2, &plan), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_ghost_plan_create(1, part, known, 2, known, home, 0, &plan), EQP_ERR_ARGUMENT);
    assert_null(plan);
    assert_int_equal(eqp_ghost_plan_create(0, NULL, NULL, 0, NULL, NULL, 3, &plan), EQP_OK);
    assert_int_equal(eqp_ghost_plan_arrays(plan).nghosts, 0);
    eqp_ghost_plan_free(plan);
    eqp_ghost_plan_free(NULL);
}

/* Requests of images, and bits of the images that each part needs of each id. */
typedef struct periodic_world {
    world w;
    int image[REQUESTS];
    uint32_t needed[PARTS][IDS];
} periodic_world;

static void draw_periodic_world(periodic_world *p, int64_t n)
{
    memset(p, 0, sizeof *p);
    draw_world(&p->w, n);
    for (int64_t i = 0; i < n; i++) {
        p->image[i] = below(EQP_IMAGES);
        p->needed[p->w.part[i]][p->w.id[i] >> 50] |= UINT32_C(1) << p->image[i];
    }
}

static eqp_ghost_plan *plan_images(const periodic_world *p, int64_t n)
{
    eqp_ghost_plan *plan = NULL;

    assert_int_equal(
        eqp_ghost_plan_create_periodic(n, p->w.part, p->w.id, p->image, IDS, p->w.known, p->w.home, PARTS, &plan),
        EQP_OK);
    return plan;
}

static void every_image_is_wanted_of_a_ghost_that_travels_once(void **state)
{
    (void)state;
    for (int round = 0; round < 200; round++) {
        periodic_world p;
        const int64_t n = below(REQUESTS + 1);
        int64_t expected = 0;
        draw_periodic_world(&p, n);
        eqp_ghost_plan *plan = plan_images(&p, n);
        const eqp_ghost_view v = eqp_ghost_plan_arrays(plan);
        for (int part = 0; part < PARTS; part++) {
            for (int k = 0; k < IDS; k++) {
                p.needed[part][k] = p.w.home[k] == part ? 0 : p.needed[part][k];
                expected += p.needed[part][k] != 0;
            }
        }
        assert_int_equal(v.nghosts, expected);
        for (int64_t k = 0; k < v.npairs; k++) {
            for (int64_t i = v.first[k]; i < v.first[k + 1]; i++) {
                assert_true(i == v.first[k] || v.id[i - 1] < v.id[i]);
                assert_int_equal(p.w.home[v.id[i] >> 50], v.from[k]);
                assert_int_equal(v.images[i], p.needed[v.to[k]][v.id[i] >> 50]);
            }
        }
        eqp_ghost_plan_free(plan);
    }
}

static void same_plan(const eqp_ghost_view *a, const eqp_ghost_view *b)
{
    assert_int_equal(a->npairs, b->npairs);
    assert_int_equal(a->nghosts, b->nghosts);
    assert_memory_equal(a->to, b->to, (size_t)a->npairs * sizeof *a->to);
    assert_memory_equal(a->from, b->from, (size_t)a->npairs * sizeof *a->from);
    assert_memory_equal(a->first, b->first, (size_t)(a->npairs + 1) * sizeof *a->first);
    assert_memory_equal(a->id, b->id, (size_t)a->nghosts * sizeof *a->id);
    assert_memory_equal(a->images, b->images, (size_t)a->nghosts * sizeof *a->images);
}

static void the_order_of_requests_does_not_matter(void **state)
{
    periodic_world p;

    (void)state;
    draw_periodic_world(&p, REQUESTS);
    eqp_ghost_plan *plan = plan_images(&p, REQUESTS);
    const eqp_ghost_view before = eqp_ghost_plan_arrays(plan);
    for (int round = 0; round < 20; round++) {
        for (int i = REQUESTS - 1; i > 0; i--) {
            const int j = below(i + 1), part = p.w.part[i], image = p.image[i];
            const int64_t id = p.w.id[i];
            p.w.part[i] = p.w.part[j];
            p.w.id[i] = p.w.id[j];
            p.image[i] = p.image[j];
            p.w.part[j] = part;
            p.w.id[j] = id;
            p.image[j] = image;
        }
        eqp_ghost_plan *again = plan_images(&p, REQUESTS);
        const eqp_ghost_view after = eqp_ghost_plan_arrays(again);
        same_plan(&before, &after);
        eqp_ghost_plan_free(again);
    }
    eqp_ghost_plan_free(plan);
}

static void without_images_the_particle_itself_is_wanted(void **state)
{
    world w;
    eqp_ghost_plan *plan = NULL, *periodic = NULL;

    (void)state;
    draw_world(&w, REQUESTS);
    assert_int_equal(eqp_ghost_plan_create(REQUESTS, w.part, w.id, IDS, w.known, w.home, PARTS, &plan), EQP_OK);
    assert_int_equal(
        eqp_ghost_plan_create_periodic(REQUESTS, w.part, w.id, NULL, IDS, w.known, w.home, PARTS, &periodic), EQP_OK);
    const eqp_ghost_view v = eqp_ghost_plan_arrays(plan), p = eqp_ghost_plan_arrays(periodic);
    same_plan(&v, &p);
    assert_true(v.nghosts > 0);
    for (int64_t i = 0; i < v.nghosts; i++) {
        assert_int_equal(v.images[i], UINT32_C(1) << 13);
    }
    eqp_ghost_plan_free(plan);
    eqp_ghost_plan_free(periodic);
}

static void images_outside_the_range_are_refused(void **state)
{
    const int64_t known[2] = {3, 5};
    const int home[2] = {0, 1}, part[2] = {1, 1}, image[2][2] = {{0, -1}, {EQP_IMAGES, 26}};
    const double box[3] = {1, 2, 4};
    double shift[3] = {7, 7, 7};
    eqp_ghost_plan *plan = NULL;

    (void)state;
    for (int k = 0; k < 2; k++) { /* at home and not */
        assert_int_equal(eqp_ghost_plan_create_periodic(2, part, known, image[k], 2, known, home, 2, &plan),
                         EQP_ERR_ARGUMENT);
    }
    assert_null(plan);
    assert_int_equal(eqp_image_shift(-1, box, shift), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_image_shift(EQP_IMAGES, box, shift), EQP_ERR_ARGUMENT);
    assert_true(shift[0] == 7 && shift[1] == 7 && shift[2] == 7);
}

static void images_are_shifted_by_lengths_of_the_box(void **state)
{
    const double box[3] = {1.5, 2, 0.25}, open[3] = {INFINITY, NAN, 3};
    double shift[3];

    (void)state;
    for (int z = -1, image = 0; z <= 1; z++) {
        for (int y = -1; y <= 1; y++) {
            for (int x = -1; x <= 1; x++, image++) {
                assert_int_equal(eqp_image_shift(image, box, shift), EQP_OK);
                assert_true(shift[0] == x * box[0] && shift[1] == y * box[1] && shift[2] == z * box[2]);
            }
        }
    }
    assert_int_equal(eqp_image_shift(EQP_IMAGE_SELF - 9, open, shift), EQP_OK);
    assert_true(shift[0] == 0 && shift[1] == 0 && shift[2] == -3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_orders_stably_by_destination),
        cmocka_unit_test(unpack_undoes_pack_for_any_element_size),
        cmocka_unit_test(wrong_destinations_make_no_plan),
        cmocka_unit_test(every_remote_need_is_met_once),
        cmocka_unit_test(both_sides_list_the_same_pairs),
        cmocka_unit_test(wrong_needs_make_no_plan),
        cmocka_unit_test(every_image_is_wanted_of_a_ghost_that_travels_once),
        cmocka_unit_test(the_order_of_requests_does_not_matter),
        cmocka_unit_test(without_images_the_particle_itself_is_wanted),
        cmocka_unit_test(images_outside_the_range_are_refused),
        cmocka_unit_test(images_are_shifted_by_lengths_of_the_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
