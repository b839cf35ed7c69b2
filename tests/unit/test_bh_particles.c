/* SPDX-License-Identifier: BSD-3-Clause */
/* The particles of a rank, sorted along the curve: each keeps all its values. */
#include "domain/particles.h"
#include "unit.h"

#include <equipoise/more/random.h>

/* Particles of which the first are in order, some taken out and put behind them: each keeps all its values. */
static void check_sorted(int64_t n, int64_t nsorted, int64_t every)
{
    bh_particles p;
    int64_t place[64], nplaces = 0, wrong = 0;

    bh_particles_init(&p);
    assert_int_equal(bh_particles_resize(&p, n), EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        p.index[i] = i;
        p.key[i] = i < nsorted ? (uint64_t)(i / 3) : eqp_random_bits(1, (uint64_t)i, 0) % (uint64_t)(nsorted + 1);
        p.x[i] = p.pot[i] = (double)i;
        p.tag[i] = -i;
    }
    assert_int_equal(bh_particles_sort(&p), EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        wrong += i > 0 && (p.key[i] < p.key[i - 1] || (p.key[i] == p.key[i - 1] && p.index[i] < p.index[i - 1]));
        wrong += p.x[i] != (double)p.index[i] || p.pot[i] != p.x[i] || p.tag[i] != -p.index[i];
    }
    for (int64_t i = every; every > 0 && i < n && nplaces < 64; i += every) {
        place[nplaces++] = i;
    }
    assert_int_equal(bh_particles_part(&p, nplaces, place), EQP_OK);
    assert_int_equal(p.n, n);
    for (int64_t i = 1; i < n; i++) {
        wrong +=
            i != n - nplaces && (p.key[i] < p.key[i - 1] || (p.key[i] == p.key[i - 1] && p.index[i] < p.index[i - 1]));
        wrong += p.x[i] != (double)p.index[i] || p.pot[i] != p.x[i] || p.tag[i] != -p.index[i];
    }
    assert_int_equal(bh_particles_sort(&p), EQP_OK);
    for (int64_t i = 1; i < n; i++) {
        wrong += p.key[i] < p.key[i - 1] || (p.key[i] == p.key[i - 1] && p.index[i] < p.index[i - 1]);
    }
    for (int64_t i = every; every > 0 && i < n; i += 17) { /* strays, up and down */
        p.key[i] = i % 2 > 0 ? 0 : (uint64_t)(n + i);
    }
    assert_int_equal(bh_particles_sort(&p), EQP_OK);
    for (int64_t i = 0; i < n; i++) {
        wrong += i > 0 && (p.key[i] < p.key[i - 1] || (p.key[i] == p.key[i - 1] && p.index[i] < p.index[i - 1]));
        wrong += p.x[i] != (double)p.index[i] || p.pot[i] != p.x[i] || p.tag[i] != -p.index[i];
    }
    assert_int_equal(wrong, 0);
    bh_particles_free(&p);
}

TEST(any_order_is_sorted)
{
    static const int64_t cases[][3] = {{0, 0, 0},     {1, 1, 0},     {1, 0, 0},     {2, 1, 1},      {40, 39, 2},
                                       {500, 490, 9}, {500, 500, 1}, {500, 0, 100}, {500, 470, 499}};

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        check_sorted(cases[k][0], cases[k][1], cases[k][2]);
    }
}
