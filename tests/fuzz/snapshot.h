/* SPDX-License-Identifier: BSD-3-Clause */
/* Promises of the readers of snapshots for any file. */
#ifndef EQP_FUZZ_SNAPSHOT_H
#define EQP_FUZZ_SNAPSHOT_H

#include "fuzz.h"

/* Opens and reads it in several ways. bytes: of all its files together. */
void fuzz_snapshot(const char *path, int64_t bytes);

/* Damaged containers of HDF5 are a test of the HDF5 library, which has faults of its own there: they are left out, and
 * hdf5_make.h makes whole ones with strange contents instead. */
bool fuzz_is_hdf5(const uint8_t *data, size_t size);

/* fuzz_snapshot() of a file of these bytes, unless it is an HDF5 file. */
void fuzz_snapshot_of(const uint8_t *data, size_t size);

/* The one mass of a snapshot that no reader may come across. */
#define FUZZ_FORBIDDEN_MASS 0x1.23456789abcdep+37

#endif
