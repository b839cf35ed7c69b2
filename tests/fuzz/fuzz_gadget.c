/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET format 1 and 2, alone or as a set of two files: the first byte says which, and for a set how much of the rest
 * is the first of them. */
#include "gadget_mend.h"
#include "snapshot.h"

#include <unistd.h>

/* 0: a file. Otherwise a set, cut at 1/256 ... 255/256. */
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
