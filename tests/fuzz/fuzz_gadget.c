/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET formats 1 and 2 as one file or a set of two. The first byte says which, and where the set is cut. */
#include "snapshot.h"

#include <unistd.h>

enum { HEADER = 256, TYPES = 6, BLOCKS = 4 };

typedef struct mending {
    uint8_t *data;
    size_t size, at;
    bool big, labelled;
} mending;

static uint32_t get(const mending *m, size_t at)
{
    const uint8_t *p = m->data + at;

    return m->big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                  : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void put(mending *m, size_t at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        m->data[at + (size_t)(m->big ? 3 - i : i)] = (uint8_t)(value >> (8 * i));
    }
}

/* A record of this length, if there is room for it. */
static bool put_record(mending *m, size_t bytes)
{
    if (m->size - m->at < 8 || m->size - m->at - 8 < bytes) {
        return false;
    }
    put(m, m->at, (uint32_t)bytes);
    put(m, m->at + 4 + bytes, (uint32_t)bytes);
    m->at += bytes + 8;
    return true;
}

static bool put_block(mending *m, const char *label, size_t bytes)
{
    size_t at = m->at;

    if (m->labelled) {
        if (!put_record(m, 8)) {
            return false;
        }
        memcpy(m->data + at + 4, label, 4);
    }
    return put_record(m, bytes);
}

static void mend_ends(mending *m)
{
    while (m->size - m->at >= 8) {
        size_t room = m->size - m->at - 8, bytes = get(m, m->at);

        (void)put_record(m, bytes < room ? bytes : room);
    }
}

static void mend_all(mending *m, size_t real, size_t id)
{
    size_t header, n = 0, massive = 0;

    if (!put_block(m, "HEAD", HEADER)) {
        return;
    }
    header = m->at - 4 - HEADER;
    for (size_t t = 0; t < TYPES; t++) {
        static const uint8_t zero[8] = {0};
        uint32_t count = get(m, header + 4 * t) % 5;

        put(m, header + 4 * t, count);
        put(m, header + 96 + 4 * t, count);
        n += count;
        massive += memcmp(m->data + header + 24 + 8 * t, zero, sizeof zero) == 0 ? count : 0;
    }
    if (get(m, header + 124) > 2) {
        put(m, header + 124, 1);
    }
    if (put_block(m, "POS ", 3 * real * n) && put_block(m, "VEL ", 3 * real * n) && put_block(m, "ID  ", id * n) &&
        (massive == 0 || put_block(m, "MASS", real * massive))) {
        mend_ends(m);
    }
}

/* Repairs GADGET framing so that changes of the contents get past the checks of lengths. Bits of `seed` choose the
 * repairs: the second length of each record only, or also small counts and the lengths and labels of all blocks. Does
 * nothing to short input. */
static void fuzz_mend_gadget(uint8_t *data, size_t size, unsigned int seed)
{
    mending m = {.data = data, .size = size};

    if (size < 16) {
        return;
    }
    m.big = get(&m, 0) != 8 && get(&m, 0) != HEADER;
    m.labelled = memcmp(data + 4, "HEAD", 4) == 0;
    if (seed & 1) {
        mend_all(&m, seed & 2 ? 8 : 4, seed & 4 ? 8 : 4);
    } else {
        mend_ends(&m);
    }
}

/* 0: one file, otherwise a set cut at 1/256 ... 255/256. */
static size_t first_of(const uint8_t *data, size_t size)
{
    return data[0] == 0 ? size - 1 : (size - 1) * data[0] / 256;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed)
{
    size = LLVMFuzzerMutate(data, size, most);
    if (seed % 4 > 0 && size > 1) {
        size_t first = first_of(data, size);

        fuzz_mend_gadget(data + 1, first, seed / 4);
        fuzz_mend_gadget(data + 1 + first, size - 1 - first, seed / 4);
    }
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t first;

    if (size < 1) {
        return 0;
    }
    first = first_of(data, size);
    if (fuzz_is_hdf5(data + 1, first) || fuzz_is_hdf5(data + 1 + first, size - 1 - first)) {
        return 0;
    }
    if (data[0] == 0) {
        (void)unlink(fuzz_path("s.1"));
    } else {
        fuzz_save(fuzz_path("s.1"), data + 1 + first, size - 1 - first);
    }
    fuzz_save(fuzz_path("s.0"), data + 1, first);
    fuzz_snapshot(fuzz_path("s.0"), (int64_t)size);
    if (data[0] != 0) {
        fuzz_snapshot(fuzz_path("s.1"), (int64_t)size);
    }
    return 0;
}
