/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/random.h>

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WITH_AVX2 1
#endif

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

/* bits [4]: the four words of a block. */
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

static uint64_t sum_plain(int64_t n, const char *seed, uint64_t stream, uint64_t counter)
{
    uint64_t sum = 0;

    for (int64_t i = 0; i < n; i++) {
        uint64_t of;
        uint32_t word[4];

        memcpy(&of, seed + 8 * i, sizeof of);
        philox(of, stream + (uint64_t)i, counter, word);
        sum += join(word[0], word[1]);
    }
    return sum;
}

#ifdef WITH_AVX2
/* sum_plain() for several blocks at once. The words c0 and c2, which are multiplied, are in the upper halves of
 * their lanes: a round takes one shift for the product and one for the word that is added. The 32-bit products are
 * intrinsics because compilers do not find them. */
#define SUM_OF_LANES(name, isa, lanes, vector, products)                                                               \
    __attribute__((target(isa))) static uint64_t name(int64_t n, const char *seed, uint64_t stream, uint64_t counter)  \
    {                                                                                                                  \
        typedef uint64_t words __attribute__((vector_size(8 * (lanes))));                                              \
        const words none = {0}, m0 = none + PHILOX_M0, m1 = none + PHILOX_M1;                                          \
        words place, sum = none;                                                                                       \
        uint64_t total = 0;                                                                                            \
                                                                                                                       \
        for (int lane = 0; lane < (lanes); lane++) {                                                                   \
            place[lane] = stream + (uint64_t)lane;                                                                     \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i += (lanes)) {                                                                     \
            words key, c01 = none + (counter << 32 | counter >> 32), c23 = place << 32 | place >> 32;                  \
                                                                                                                       \
            memcpy(&key, seed + 8 * i, sizeof key);                                                                    \
            words k0 = key << 32, k1 = key & ~(uint64_t)UINT32_MAX;                                                    \
            for (int round = 0; round < PHILOX_ROUNDS; round++) {                                                      \
                const words p0 = (words)products((vector)(c01 >> 32), (vector)m0);                                     \
                const words p1 = (words)products((vector)(c23 >> 32), (vector)m1);                                     \
                c01 = p1 ^ c01 << 32 ^ k0;                                                                             \
                c23 = p0 ^ c23 << 32 ^ k1;                                                                             \
                k0 += (uint64_t)PHILOX_W0 << 32;                                                                       \
                k1 += (uint64_t)PHILOX_W1 << 32;                                                                       \
            }                                                                                                          \
            sum += c01 << 32 | c01 >> 32;                                                                              \
            place += (lanes);                                                                                          \
        }                                                                                                              \
        for (int lane = 0; lane < (lanes); lane++) {                                                                   \
            total += sum[lane];                                                                                        \
        }                                                                                                              \
        return total;                                                                                                  \
    }

SUM_OF_LANES(sum_fours, "avx2", 4, __m256i, _mm256_mul_epu32)
SUM_OF_LANES(sum_eights, "avx512f", 8, __m512i, _mm512_mul_epu32)
#endif

uint64_t eqp_random_sum(int64_t n, const void *seed, uint64_t stream, uint64_t counter)
{
    const char *words = seed;
    uint64_t sum = 0;
    int64_t done = 0;

    if (!seed || n <= 0) {
        return 0;
    }
#ifdef WITH_AVX2
    if (__builtin_cpu_supports("avx512f")) {
        done = n & ~(int64_t)7;
        sum = sum_eights(done, words, stream, counter);
    }
    if (__builtin_cpu_supports("avx2")) {
        const int64_t before = done;

        done = n & ~(int64_t)3;
        sum += sum_fours(done - before, words + 8 * before, stream + (uint64_t)before, counter);
    }
#endif
    return sum + sum_plain(n - done, words + 8 * done, stream + (uint64_t)done, counter);
}

double eqp_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter)
{
    return (double)(eqp_random_bits(seed, stream, counter) >> 11) * 0x1p-53;
}

/* Upper half of the 128-bit product, in pieces since ISO C has no 128-bit type. */
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
