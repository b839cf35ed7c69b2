/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET HDF5: files with strange contents, see hdf5_make.h. */
#include "hdf5_make.h"
#include "snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t bytes = fuzz_make_hdf5("s", data, size);

    fuzz_snapshot(fuzz_path("s"), bytes);
    return 0;
}
