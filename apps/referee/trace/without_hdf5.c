/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the HDF5 reader in a build without HDF5. */
#include "build.h"

int rf_read_hdf5(rf_build *build, const char *path)
{
    eqp_message_set(build->message, "%.250s: HDF5, which this build does not read", path);
    return EQP_ERR_FORMAT;
}
