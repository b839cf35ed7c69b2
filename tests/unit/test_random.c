/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <equipoise/more/random.h>

/* The published known-answer vectors of Philox4x32-10 (Random123, file kat_vectors). */
TEST(matches_published_vectors)
{
    static const struct {
        uint64_t seed, stream, counter, bits[2];
    } known[] = {
        {0, 0, 0, {UINT64_C(0xe169c58d6627e8d5), UINT64_C(0x9b00dbd8bc57ac4c)}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {UINT64_C(0x41c83b0e408f276d), UINT64_C(0x6d5451fda20bc7c6)}},
        {UINT64_C(0x299f31d0a4093822),
         UINT64_C(0x0370734413198a2e),
         UINT64_C(0x85a308d3243f6a88),
         {UINT64_C(0x94fdccebd16cfe09), UINT64_C(0x24126ea15001e420)}},
    };

    for (int i = 0; i < COUNT_OF(known); i++) {
        uint64_t bits[2] = {0, 0};
        eqp_random_block(known[i].seed, known[i].stream, known[i].counter, bits);
        assert_int_equal(bits[0], known[i].bits[0]);
        assert_int_equal(bits[1], known[i].bits[1]);
        assert_int_equal(eqp_random_bits(known[i].seed, known[i].stream, known[i].counter), known[i].bits[0]);
    }
}

/* A number depends on its position only, not on previous calls. */
TEST(is_independent_of_order)
{
    enum { N = 500 };
    uint64_t forward[N];
    double normal[N][2];

    for (uint64_t i = 0; i < N; i++) {
        forward[i] = eqp_random_bits(7, i % 5, i);
        eqp_random_normal(7, i % 5, i, normal[i]);
    }
    for (uint64_t i = N; i-- > 0;) {
        double again[2];
        eqp_random_normal(7, i % 5, i, again);
        assert_true(again[0] == normal[i][0] && again[1] == normal[i][1]);
        assert_int_equal(eqp_random_bits(7, i % 5, i), forward[i]);
    }
}

/* Flipping one bit of seed, stream or counter flips about half of the output bits. */
TEST(every_input_bit_matters)
{
    for (int which = 0; which < 3; which++) {
        for (int bit = 0; bit < 64; bit++) {
            int flipped = 0;
            for (uint64_t i = 0; i < 64; i++) {
                const uint64_t flip = (uint64_t)1 << bit;
                uint64_t difference = eqp_random_bits(i, 2 * i, 3 * i) ^
                                      eqp_random_bits(i ^ (which == 0 ? flip : 0), (2 * i) ^ (which == 1 ? flip : 0),
                                                      (3 * i) ^ (which == 2 ? flip : 0));
                for (; difference != 0; difference &= difference - 1) {
                    flipped++;
                }
            }
            /* 4096 fair coins: mean 2048, standard deviation 32. */
            assert_in_range(flipped, 2048 - 6 * 32, 2048 + 6 * 32);
        }
    }
}

/* chi^2 of `count` over `cells` equally likely cells, minus its mean, in its standard deviations. */
static double chi_square_sigmas(const int *count, int cells, int total)
{
    const double expected = (double)total / cells;
    double chi = 0.0;

    for (int i = 0; i < cells; i++) {
        chi += (count[i] - expected) * (count[i] - expected) / expected;
    }
    return (chi - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

TEST(uniform_fills_the_interval)
{
    enum { N = 200000, CELLS = 256 };

    /* Along a stream and across streams, one after the other and in pairs. */
    for (int across = 0; across < 2; across++) {
        static int count[CELLS], pair[CELLS];
        double before = 0.0, mean = 0.0;
        for (int i = 0; i < CELLS; i++) {
            count[i] = pair[i] = 0;
        }
        for (uint64_t i = 0; i < N; i++) {
            const double u = eqp_random_uniform(3, across ? i : 5, across ? 5 : i);
            assert_true(u >= 0.0 && u < 1.0);
            count[(int)(u * CELLS)]++;
            if (i % 2 == 1) {
                pair[(int)(before * 16) * 16 + (int)(u * 16)]++;
            }
            before = u;
            mean += u / N;
        }
        assert_true(fabs(mean - 0.5) < 6.0 / sqrt(12.0 * N));
        assert_true(fabs(chi_square_sigmas(count, CELLS, N)) < 6.0);
        assert_true(fabs(chi_square_sigmas(pair, CELLS, N / 2)) < 6.0);
    }
}

TEST(below_is_fair_and_in_range)
{
    enum { N = 60000 };

    assert_int_equal(eqp_random_below(1, 2, 3, 0), 0);
    assert_int_equal(eqp_random_below(1, 2, 3, 1), 0);
    for (int n = 2; n <= 37; n += 7) {
        int count[64] = {0};
        for (uint64_t i = 0; i < N; i++) {
            const uint64_t value = eqp_random_below(11, (uint64_t)n, i, (uint64_t)n);
            assert_true(value < (uint64_t)n);
            count[value]++;
        }
        assert_true(fabs(chi_square_sigmas(count, n, N)) < 6.0);
    }
    /* A power of two takes the upper bits, so the 128-bit product can be checked exactly. */
    for (uint64_t i = 0; i < 1000; i++) {
        for (int shift = 1; shift < 64; shift += 9) {
            assert_int_equal(eqp_random_below(11, 1, i, (uint64_t)1 << shift),
                             eqp_random_bits(11, 1, i) >> (64 - shift));
        }
        /* floor(b (2^64 - 1) / 2^64) = b - 1 for b > 0. */
        assert_int_equal(eqp_random_below(11, 1, i, UINT64_MAX), eqp_random_bits(11, 1, i) - 1);
    }
}

TEST(normal_has_the_right_moments)
{
    enum { N = 200000 };
    double m1 = 0.0, m2 = 0.0, m3 = 0.0, m4 = 0.0, product = 0.0;

    for (uint64_t i = 0; i < N / 2; i++) {
        double z[2];
        eqp_random_normal(9, 4, i, z);
        for (int j = 0; j < 2; j++) {
            assert_true(fabs(z[j]) < 8.6);
            m1 += z[j] / N;
            m2 += z[j] * z[j] / N;
            m3 += z[j] * z[j] * z[j] / N;
            m4 += z[j] * z[j] * z[j] * z[j] / N;
        }
        product += z[0] * z[1] / (N / 2);
    }
    /* Six standard deviations of each estimate. */
    assert_true(fabs(m1) < 6.0 * sqrt(1.0 / N));
    assert_true(fabs(m2 - 1.0) < 6.0 * sqrt(2.0 / N));
    assert_true(fabs(m3) < 6.0 * sqrt(15.0 / N));
    assert_true(fabs(m4 - 3.0) < 6.0 * sqrt(96.0 / N));
    assert_true(fabs(product) < 6.0 * sqrt(2.0 / N));
}

TEST(a_sum_is_that_of_its_words)
{
    double word[101];
    uint64_t expected = 0;

    for (uint64_t i = 0; i < 101; i++) {
        uint64_t bits;
        word[i] = -1.5 * (double)i;
        memcpy(&bits, &word[i], sizeof bits);
        assert_true(eqp_random_sum((int64_t)i, word, UINT64_MAX - 50, 7) == expected);
        expected += eqp_random_bits(bits, UINT64_MAX - 50 + i, 7);
    }
    assert_true(eqp_random_sum(3, NULL, 1, 2) == 0 && eqp_random_sum(-3, word, 1, 2) == 0);
}
