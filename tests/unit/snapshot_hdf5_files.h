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
    bool packed; /* chunked and compressed */
    bool bare;   /* no optional attributes */
    bool high_word;
    double time, redshift, omega0;
    int64_t first;
    const char *without; /* dataset or attribute left out */
    int without_in;      /* of this type only; -1: of all types */
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
                  .without_in = -1};
}

static inline bool left_out(const spec *s, const char *name, int type)
{
    return s->without && strcmp(s->without, name) == 0 && (s->without_in < 0 || s->without_in == type);
}

static inline void put_numbers(const spec *s, hid_t at, const char *name, int n, hid_t stored, hid_t memory,
                               const void *value)
{
    hsize_t dimension = (hsize_t)n;
    hid_t space, attribute;

    if (left_out(s, name, -1)) {
        return;
    }
    space = n ? H5Screate_simple(1, &dimension, NULL) : H5Screate(H5S_SCALAR);
    attribute = H5Acreate2(at, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(attribute >= 0);
    assert_true(H5Awrite(attribute, memory, value) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

static inline void put_header(const spec *s, hid_t file)
{
    hid_t header = H5Gcreate2(file, "Header", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    uint64_t low[MOST_TYPES], high[MOST_TYPES];
    double box = 50;

    for (int t = 0; t < MOST_TYPES; t++) {
        low[t] = s->high_word ? s->total[t] & UINT32_MAX : s->total[t];
        high[t] = s->total[t] >> 32;
    }
    put_numbers(s, header, "NumPart_ThisFile", s->ntypes, s->count, H5T_NATIVE_INT64, s->n);
    if (!s->bare) {
        put_numbers(s, header, "NumPart_Total", s->ntypes, s->high_word ? H5T_STD_U32LE : H5T_STD_U64LE,
                    H5T_NATIVE_UINT64, low);
        put_numbers(s, header, "NumFilesPerSnapshot", 0, H5T_STD_I32LE, H5T_NATIVE_INT, &s->nfiles);
        put_numbers(s, header, "MassTable", s->ntypes, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, s->mass);
        put_numbers(s, header, "Time", 0, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &s->time);
        put_numbers(s, header, "Redshift", 1, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, &s->redshift);
        put_numbers(s, header, "BoxSize", 3, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, (double[]){box, box, box});
        put_numbers(s, header, "Omega0", 0, H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, &s->omega0);
        if (s->high_word) {
            put_numbers(s, header, "NumPart_Total_HighWord", s->ntypes, H5T_STD_U32LE, H5T_NATIVE_UINT64, high);
        }
    }
    H5Gclose(header);
}

static inline void put_dataset(const spec *s, hid_t group, int type, const char *name, hsize_t rows, int width,
                               hid_t stored, hid_t memory, const void *value)
{
    hsize_t dimension[2] = {rows, (hsize_t)width}, chunk[2] = {rows < 4 ? rows : 4, (hsize_t)width};
    hid_t space = H5Screate_simple(width > 1 ? 2 : 1, dimension, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t dataset;

    if (!left_out(s, name, type)) {
        if (s->packed) {
            assert_true(H5Pset_chunk(properties, width > 1 ? 2 : 1, chunk) >= 0);
            assert_true(H5Pset_shuffle(properties) >= 0);
            assert_true(H5Pset_deflate(properties, 6) >= 0);
        }
        dataset = H5Dcreate2(group, name, stored, space, H5P_DEFAULT, properties, H5P_DEFAULT);
        assert_true(dataset >= 0);
        if (value) {
            assert_true(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
        }
        H5Dclose(dataset);
    }
    H5Pclose(properties);
    H5Sclose(space);
}

static inline void put_type(const spec *s, hid_t file, int type, int64_t first)
{
    int64_t n = s->n[type];
    HEAP double *number = calloc((size_t)(3 * n), sizeof *number);
    HEAP int64_t *id = calloc((size_t)n, sizeof *id);
    char name[32];

    assert_non_null(number);
    assert_non_null(id);
    snprintf(name, sizeof name, "PartType%d", type);
    hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < 3 * n; i++) {
            number[i] = model(1 + 3 * k + (int)(i % 3), first + i / 3);
        }
        put_dataset(s, group, type, k ? "Velocities" : "Coordinates", (hsize_t)n, 3, s->real, H5T_NATIVE_DOUBLE,
                    number);
    }
    for (int64_t i = 0; i < n; i++) {
        number[i] = model(0, first + i);
        id[i] = model_id(first + i, s->id >= 0 && H5Tget_size(s->id) == 8);
    }
    if (s->mass[type] == 0 || s->bare) {
        put_dataset(s, group, type, "Masses", (hsize_t)n, 1, s->real, H5T_NATIVE_DOUBLE, number);
    }
    if (s->id >= 0) {
        put_dataset(s, group, type, "ParticleIDs", (hsize_t)n, 1, s->id, H5T_NATIVE_INT64, id);
    }
    H5Gclose(group);
}

static inline void save_spec(const char *path, const spec *s)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    int64_t first = s->first;

    assert_true(file >= 0);
    put_header(s, file);
    for (int t = 0; t < s->ntypes; t++) {
        if (s->n[t] > 0) {
            put_type(s, file, t, first);
        }
        first += s->n[t];
    }
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

/* Makes a dataset with `value` as doubles, unless NULL, or with `raw` zero bytes as its first chunk. Closes space and
 * properties. */
static inline void put_made(hid_t group, const char *name, hid_t type, hid_t space, hid_t properties,
                            const double *value, size_t raw)
{
    static const char zero[64];
    const hid_t dataset = H5Dcreate2(group, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);

    assert_true(dataset >= 0);
    if (value) {
        assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0);
    }
    if (raw) {
        assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, (hsize_t[]){0, 0}, raw, zero) >= 0);
    }
    H5Dclose(dataset);
    H5Sclose(space);
    if (properties != H5P_DEFAULT) {
        H5Pclose(properties);
    }
}

/* Adds an attribute to an object of "a", which is created if is_new. */
static inline void add_numbers(const char *at, bool is_new, const char *name, int n, hid_t stored, hid_t memory,
                               const void *value)
{
    static const spec nothing_left_out;
    const hid_t file = H5Fopen(in_folder("a"), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t object =
        is_new ? H5Gcreate2(file, at, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) : H5Oopen(file, at, H5P_DEFAULT);

    assert_true(object >= 0);
    put_numbers(&nothing_left_out, object, name, n, stored, memory, value);
    H5Oclose(object);
    assert_true(H5Fclose(file) >= 0);
}

/* Replaces a dataset of PartType1 (4 particles) in "a". */
static inline void replace(const spec *s, const char *name, hsize_t rows, int width, hid_t stored, const void *value)
{
    hid_t file, group = open_in("PartType1", &file);

    H5Ldelete(group, name, H5P_DEFAULT);
    put_dataset(s, group, 1, name, rows, width, stored, H5T_NATIVE_DOUBLE, value);
    close_in(file, group);
}

static inline void delete_link(const char *name)
{
    const hid_t file = H5Fopen(in_folder("a"), H5F_ACC_RDWR, H5P_DEFAULT);

    assert_true(H5Ldelete(file, name, H5P_DEFAULT) >= 0);
    assert_true(H5Fclose(file) >= 0);
}

#endif
