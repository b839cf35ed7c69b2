/* SPDX-License-Identifier: BSD-3-Clause */
/* TIPSY in either byte order. */
#include "snapshot.h"

enum { HEADER = 32, KINDS = 3 };

static const uint32_t record_bytes[KINDS] = {48, 36, 44};

static void put_u32(uint8_t *at, uint32_t value, bool big)
{
    for (int i = 0; i < 4; i++) {
        at[big ? 3 - i : i] = (uint8_t)(value >> (8 * i));
    }
}

/* Makes the header fit the length: a few particles of each kind, then dark ones. The rest is cut. */
static size_t make_fit(uint8_t *data, size_t size, unsigned int seed)
{
    bool big = seed & 1;
    uint32_t kind[KINDS] = {seed >> 1 & 1, 0, seed >> 2 & 1}, n = 0;
    const uint32_t doubles = 12 * (seed >> 3 & 3) % 36; /* extra bytes per record */
    size_t needed = HEADER + kind[0] * (record_bytes[0] + doubles) + kind[2] * (record_bytes[2] + doubles);

    if (size < needed) {
        return size;
    }
    kind[1] = (uint32_t)((size - needed) / (record_bytes[1] + doubles));
    for (int k = 0; k < KINDS; k++) {
        put_u32(data + 16 + 4 * k, kind[k], big);
        n += kind[k];
    }
    put_u32(data + 8, n, big);
    put_u32(data + 12, 3, big);
    return needed + kind[1] * (record_bytes[1] + doubles);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    return seed % 4 == 0 ? make_fit(data, size, seed / 4) : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_snapshot_of(data, size);
    return 0;
}
