/* SPDX-License-Identifier: BSD-3-Clause */
/** \file more/random.h
 * \brief Random numbers as pure functions of (seed, stream, counter).
 *
 * No generator object and no state: the number for (seed, stream, counter) is the same on every rank, in every order of
 * calls and in every repetition. Use a global id as the stream and count the draws of that id.
 *
 * Generator: Philox4x32 with 10 rounds (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers:
 * as easy as 1, 2, 3", SC'11, section 3.3), the seed as key, the counter and the stream as the two halves of its
 * 128-bit counter. Integers and uniform numbers are the same to the last bit on every platform. All functions are
 * local, O(1) unless they say otherwise, cannot fail and may be called from any thread.
 *
 * Tier 2: this header may change with each minor version. */
#ifndef EQUIPOISE_MORE_RANDOM_H
#define EQUIPOISE_MORE_RANDOM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The whole 128-bit block of Philox4x32-10 for this place of the stream.
 * \param[in]  seed     key: low word first
 * \param[in]  stream   words 2 and 3 of the Philox counter, low word first
 * \param[in]  counter  words 0 and 1 of the Philox counter, low word first
 * \param[out] bits     [2] output words 0 and 1, then 2 and 3, low word first */
void eqp_random_block(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t bits[2]);

/** 64 random bits: the first half of eqp_random_block(). */
uint64_t eqp_random_bits(uint64_t seed, uint64_t stream, uint64_t counter);

/** The sum of eqp_random_bits(seed[i], stream + i, counter), modulo 2^64: a checksum of the 8-byte words at places
 * stream, stream + 1, ... of a column, in a third of the time of n calls. Checksums of parts add up to that of the
 * whole. O(n).
 * \param[in] seed  [n] words of any type (borrowed); NULL: the sum is 0 */
uint64_t eqp_random_sum(int64_t n, const void *seed, uint64_t stream, uint64_t counter);

/** A number of [0, 1), a multiple of 2^-53, all equally likely: the upper 53 bits of eqp_random_bits(). */
double eqp_random_uniform(uint64_t seed, uint64_t stream, uint64_t counter);

/** An integer of [0, n), or 0 for n = 0. Multiply and shift (D. Lemire, ACM TOMACS 29 (2019) 3, without rejection): no
 * value's probability is off by more than 2^-64. */
uint64_t eqp_random_below(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t n);

/** Two independent deviates of the normal distribution with mean 0 and variance 1 (G. E. P. Box, M. E. Muller, Ann.
 * Math. Stat. 29 (1958) 610). Never larger than 8.6 in magnitude. Uses log, sin and cos of the C library: where these
 * round differently, so does the last bit. \param[out] deviate  [2] */
void eqp_random_normal(uint64_t seed, uint64_t stream, uint64_t counter, double deviate[2]);

#ifdef __cplusplus
}
#endif
#endif
