/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET HDF5 files for tests, written by HDF5: valid files, and files with one part replaced. */
#ifndef EQP_TEST_SNAPSHOT_HDF5_FILES_H
#define EQP_TEST_SNAPSHOT_HDF5_FILES_H

#include "snapshot_files.h"

#include <hdf5.h>

enum { MOST_TYPES = 8 };

typedef struct spec {
    int ntypes;
    int64_t n[MOST_TYPES];
    double mass[MOST_TYPES];
    uint64_t total[MOST_TYPES];
    hid_t real, id, count; /* stored types; id -1: none */
    int nfiles;
    hsize_t chunk[2]; /* rows and columns; 0: contiguous */
    bool packed;      /* chunks are compressed */
    bool bare;        /* no optional attributes */
    bool high_word;
    double time, redshift, omega0;
    int64_t first;
    int64_t most_rows;  /* rows of a dataset that are written */
    hsize_t user_block; /* bytes before the signature */
} spec;

static inline spec usual(void)
{
    return (spec){.ntypes = 6,
                  .n = {3, 4, 0, 2, 1, 0},
                  .mass = {0, 2.5, 0, 0, 8, 0},
                  .total = {3, 4, 0, 2, 1, 0},
                  .real = H5T_IEEE_F32LE,
                  .id = H5T_STD_U32LE,
                  .count = H5T_STD_I32LE,
                  .nfiles = 1,
                  .high_word = true,
                  .most_rows = INT64_MAX};
}

/* Replaces an attribute by n numbers; 0: by a scalar. */
static inline void put_numbers(hid_t at, const char *name, int n, hid_t stored, hid_t memory, const void *value)
{
    const hsize_t dimension = (hsize_t)n;
    const hid_t space = n ? H5Screate_simple(1, &dimension, NULL) : H5Screate(H5S_SCALAR);

    if (H5Aexists(at, name) > 0) {
        H5Adelete(at, name);
    }
    const hid_t attribute = H5Acreate2(at, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, memory, value) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

static inline void put_header(const spec *s, hid_t file)
{
    const hid_t header = H5Gcreate2(file, "Header", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t real = H5T_NATIVE_DOUBLE;
    uint64_t low[MOST_TYPES], high[MOST_TYPES];

    for (int t = 0; t < MOST_TYPES; t++) {
        low[t] = s->high_word ? s->total[t] & UINT32_MAX : s->total[t];
        high[t] = s->total[t] >> 32;
    }
    put_numbers(header, "NumPart_ThisFile", s->ntypes, s->count, H5T_NATIVE_INT64, s->n);
    if (!s->bare) {
        put_numbers(header, "NumPart_Total", s->ntypes, s->high_word ? H5T_STD_U32LE : H5T_STD_U64LE, H5T_NATIVE_UINT64,
                    low);
        put_numbers(header, "NumFilesPerSnapshot", 0, H5T_STD_I32LE, H5T_NATIVE_INT, &s->nfiles);
        put_numbers(header, "MassTable", s->ntypes, H5T_IEEE_F64LE, real, s->mass);
        put_numbers(header, "Time", 0, H5T_IEEE_F64LE, real, &s->time);
        put_numbers(header, "Redshift", 1, H5T_IEEE_F64BE, real, &s->redshift);
        put_numbers(header, "BoxSize", 3, H5T_IEEE_F64LE, real, (double[]){50, 50, 50});
        put_numbers(header, "Omega0", 0, H5T_IEEE_F32LE, real, &s->omega0);
        if (s->high_word) {
            put_numbers(header, "NumPart_Total_HighWord", s->ntypes, H5T_STD_U32LE, H5T_NATIVE_UINT64, high);
        }
    }
    H5Gclose(header);
}

/* Makes a dataset and closes space and properties, but for H5P_DEFAULT; returns the dataset. */
static inline hid_t make_dataset(hid_t group, const char *name, hid_t type, hid_t space, hid_t properties)
{
    const hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);

    assert_true(dataset >= 0);
    H5Sclose(space);
    if (properties != H5P_DEFAULT) {
        H5Pclose(properties);
    }
    return dataset;
}

/* Makes a dataset with `value` as doubles, unless NULL, or with `raw` zero bytes as its first chunk. Closes space and
 * properties. */
static inline void put_made(hid_t group, const char *name, hid_t type, hid_t space, hid_t properties,
                            const double *value, size_t raw)
{
    static const char zero[64];
    const hid_t dataset = make_dataset(group, name, type, space, properties);

    if (value) {
        assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
    }
    if (raw) {
        assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, (hsize_t[]){0, 0}, raw, zero) >= 0);
    }
    H5Dclose(dataset);
}

static inline int64_t rows_written(const spec *s, int64_t n)
{
    return n < s->most_rows ? n : s->most_rows;
}

static inline void put_dataset(const spec *s, hid_t group, const char *name, int64_t rows, int width, hid_t stored,
                               hid_t memory, const void *value)
{
    const int ndims = width > 1 ? 2 : 1;
    const hsize_t dimension[2] = {(hsize_t)rows, (hsize_t)width}, endless[2] = {H5S_UNLIMITED, H5S_UNLIMITED};
    const hsize_t chunk[2] = {s->chunk[0] * (width > 1 ? 1 : s->chunk[1]), s->chunk[1]};
    const hsize_t first[2] = {0, 0}, written[2] = {(hsize_t)rows_written(s, rows), (hsize_t)width};
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);

    if (chunk[0] > 0) {
        assert_true(H5Pset_chunk(properties, ndims, chunk) >= 0);
    }
    if (s->packed) {
        assert_true(H5Pset_shuffle(properties) >= 0);
        assert_true(H5Pset_deflate(properties, 6) >= 0);
    }
    const hid_t dataset = make_dataset(group, name, stored,
                                       H5Screate_simple(ndims, dimension, chunk[0] > 0 ? endless : NULL), properties);
    const hid_t space = H5Dget_space(dataset), part = H5Screate_simple(ndims, written, NULL);
    if (written[0] > 0) {
        assert_true(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, written, NULL) >= 0);
        assert_true(H5Dwrite(dataset, memory, part, space, H5P_DEFAULT, value) >= 0);
    }
    H5Sclose(part);
    H5Sclose(space);
    H5Dclose(dataset);
}

static inline void put_type(const spec *s, hid_t file, int type, int64_t first)
{
    const int64_t n = s->n[type], written = rows_written(s, n);
    HEAP double *number = calloc((size_t)(3 * written + 1), sizeof *number);
    HEAP int64_t *id = calloc((size_t)written + 1, sizeof *id);
    char name[32];

    assert_true(number && id);
    snprintf(name, sizeof name, "PartType%d", type);
    const hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < 3 * written; i++) {
            number[i] = model(1 + 3 * k + (int)(i % 3), first + i / 3);
        }
        put_dataset(s, group, k ? "Velocities" : "Coordinates", n, 3, s->real, H5T_NATIVE_DOUBLE, number);
    }
    for (int64_t i = 0; i < written; i++) {
        number[i] = model(0, first + i);
        id[i] = model_id(first + i, s->id >= 0 && H5Tget_size(s->id) == 8);
    }
    if (s->mass[type] == 0 || s->bare) {
        put_dataset(s, group, "Masses", n, 1, s->real, H5T_NATIVE_DOUBLE, number);
    }
    if (s->id >= 0) {
        put_dataset(s, group, "ParticleIDs", n, 1, s->id, H5T_NATIVE_INT64, id);
    }
    H5Gclose(group);
}

static inline void save_spec(const char *path, const spec *s)
{
    const hid_t properties = H5Pcreate(H5P_FILE_CREATE);
    int64_t first = s->first;

    H5Pset_userblock(properties, s->user_block);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, properties, H5P_DEFAULT);
    assert_true(file >= 0);
    put_header(s, file);
    for (int t = 0; t < s->ntypes; t++) {
        if (s->n[t] > 0) {
            put_type(s, file, t, first);
        }
        first += s->n[t];
    }
    H5Pclose(properties);
    assert_true(H5Fclose(file) >= 0);
}

/* Opens a group of the file "a". */
static inline hid_t open_in(const char *name, hid_t *file)
{
    *file = H5Fopen(in_folder("a"), H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(*file >= 0);
    const hid_t group = H5Gopen2(*file, name, H5P_DEFAULT);
    assert_true(group >= 0);
    return group;
}

static inline void close_in(hid_t file, hid_t group)
{
    assert_true(H5Gclose(group) >= 0);
    assert_true(H5Fclose(file) >= 0);
}

/* Adds a number to an object of "a"; a missing object becomes a group. */
static inline void add_number(const char *at, const char *name, hid_t stored, double value)
{
    const hid_t file = H5Fopen(in_folder("a"), H5F_ACC_RDWR, H5P_DEFAULT);
    const bool is_new = strchr(at, '/') == NULL && H5Lexists(file, at, H5P_DEFAULT) == 0;
    const hid_t object =
        is_new ? H5Gcreate2(file, at, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) : H5Oopen(file, at, H5P_DEFAULT);

    assert_true(object >= 0);
    put_numbers(object, name, 1, stored, H5T_NATIVE_DOUBLE, &value);
    H5Oclose(object);
    assert_true(H5Fclose(file) >= 0);
}

#endif
