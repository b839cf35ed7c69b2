/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files written by the HDF5 library from bytes that describe groups, attributes and datasets with their types,
 * shapes, layouts and values. Flipping bits in the container finds faults of HDF5 (1.10.8 reads beyond a heap block in
 * H5Aexists); these files find ours. */
#ifndef EQP_FUZZ_HDF5_MAKE_H
#define EQP_FUZZ_HDF5_MAKE_H

#include "fuzz.h"

/* Makes a file named `name` in the folder of fuzz_path(); links may lead to a file "other" in the same
 * folder, which must not be read (its masses are FUZZ_FORBIDDEN_MASS). Returns the bytes of the file.
 *
 * The bytes: flags of the file (1 latest format, 2 user block, 4 restart groups), number of types - 1, particles of
 * each type, then one byte for each object in the order of the file. Below 0x80 the object is a usual one; otherwise
 * the low bits say what is strange (see hdf5_make.c) and more bytes follow. At the end of the bytes everything is
 * usual. */
int64_t fuzz_make_hdf5(const char *name, const uint8_t *data, size_t size);

#endif
