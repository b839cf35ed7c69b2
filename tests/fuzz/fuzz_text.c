/* SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_snapshot_of(data, size);
    return 0;
}
