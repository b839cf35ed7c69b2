/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/random.h>

#include <math.h>
#include <string.h>

/* Multipliers and key increments of Philox4x32 (Salmon et al. 2011, section 3.3). */
#define PHILOX_M0 UINT64_C(0xD2511F53)
#define PHILOX_M1 UINT64_C(0xCD9E8D57)
#define PHILOX_W0 UINT32_C(0x9E3779B9)
#define PHILOX_W1 UINT32_C(0xBB67AE85)
#define PHILOX_ROUNDS 10

#define TWO_PI 6.283185307179586476925286766559

static uint64_t join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* bits [4]: the four words of a block. Inlined so that loops over it are vectorized. */
static inline void philox(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t bits[4])
{
    uint32_t c0 = (uint32_t)counter;
    uint32_t c1 = (uint32_t)(counter >> 32);
    uint32_t c2 = (uint32_t)stream;
    uint32_t c3 = (uint32_t)(stream >> 32);
    uint32_t k0 = (uint32_t)seed;
    uint32_t k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        const uint64_t p0 = PHILOX_M0 * c0;
        const uint64_t p1 = PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    bits[0] = c0;
    bits[1] = c1;
    bits[2] = c2;
    bits[3] = c3;
}

void eqp_random_block(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t bits[2])
{
    uint32_t word[4];

    if (!bits) {
        return;
    }
    philox(seed, stream, counter, word);
    bits[0] = join(word[0], word[1]);
    bits[1] = join(word[2], word[3]);
}

uint64_t eqp_random_bits(uint64_t seed, uint64_t stream, uint64_t counter)
{
    uint64_t bits[2];

    eqp_random_block(seed, stream, counter, bits);
    return bits[0];
}

uint64_t eqp_random_sum(int64_t n, const void *seed, uint64_t stream, uint64_t counter)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < n && seed; i++) {
        uint64_t of;
        uint32_t word[4];

        memcpy(&of, (const char *)seed + 8 * i, sizeof of);
        philox(of, stream + (uint64_t)i, counter, word);
        sum += join(word[0], word[1]);
    }
    return sum;
}

double eqp_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return (double)(eqp_random_bits(seed, stream, counter) >> 11) * 0x1p-53;
}

/* Upper half of the 128-bit product, in pieces because ISO C has no type of 128 bits. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    const uint64_t a0 = a & UINT32_MAX;
    const uint64_t a1 = a >> 32;
    const uint64_t b0 = b & UINT32_MAX;
    const uint64_t b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t cross = a0 * b1 + (middle & UINT32_MAX);

    return a1 * b1 + (middle >> 32) + (cross >> 32);
}

uint64_t eqp_random_below(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t n)
{
    return multiply_high(eqp_random_bits(seed, stream, counter), n);
}

void eqp_random_normal(uint64_t seed, uint64_t stream, uint64_t counter, double deviate[2])
{
    if (!deviate) {
        return;
    }
    uint64_t bits[2];

    eqp_random_block(seed, stream, counter, bits);
    /* In (0, 1], so that the logarithm is finite. */
    const double u = (double)((bits[0] >> 11) + 1) * 0x1p-53;
    const double angle = TWO_PI * ((double)(bits[1] >> 11) * 0x1p-53);
    const double radius = sqrt(-2.0 * log(u));
    deviate[0] = radius * cos(angle);
    deviate[1] = radius * sin(angle);
}
