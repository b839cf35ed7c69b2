/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files that the HDF5 library itself has made, from bytes that say what is in them: which groups, attributes and
 * datasets, of which types, shapes, layouts and values. Flipped bits in the container find faults of the HDF5 library
 * (1.10.8 reads beyond a heap block in H5Aexists, for one); these files find ours. */
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
