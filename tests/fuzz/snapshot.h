/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef EQP_FUZZ_SNAPSHOT_H
#define EQP_FUZZ_SNAPSHOT_H

#include "fuzz.h"

/* Opens a file and reads it in several ways. bytes: total of all its files. */
void fuzz_snapshot(const char *path, int64_t bytes);

/* Damaged HDF5 containers trigger faults of the HDF5 library, so they are skipped; hdf5_make.h makes valid ones with
 * odd contents. */
bool fuzz_is_hdf5(const uint8_t *data, size_t size);

/* fuzz_snapshot() of a file of these bytes, unless it is an HDF5 file. */
void fuzz_snapshot_of(const uint8_t *data, size_t size);

/* A mass in a file that no reader may open. */
#define FUZZ_FORBIDDEN_MASS 0x1.23456789abcdep+37

#endif
