/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/internal.h"

/* Each round is a bijection of the state and of the word, so words that differ leave states that differ. */
static uint64_t mix(uint64_t state, uint64_t word)
{
    state = (state ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ state >> 32;
}

/* Checksum of n bytes and of n. */
static uint64_t checksum(const unsigned char *bytes, size_t n)
{
    uint64_t state = mix(UINT64_C(0x45515053), n), word;

    for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        state = mix(state, word);
    }
    word = 0;
    memcpy(&word, bytes, n);
    return mix(mix(state, word), 0);
}

void eqp__seal(void *bytes, size_t size)
{
    const size_t n = size - EQP__SEAL;
    const uint64_t sum = checksum(bytes, n);

    memcpy((unsigned char *)bytes + n, &sum, sizeof sum);
}

bool eqp__sealed(const void *bytes, size_t size)
{
    uint64_t said;

    if (bytes == NULL || size < EQP__SEAL) {
        return false;
    }
    memcpy(&said, (const unsigned char *)bytes + size - EQP__SEAL, sizeof said);
    return said == checksum(bytes, size - EQP__SEAL);
}
