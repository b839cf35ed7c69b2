/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/hdf5_util.h"

#include <stdlib.h>

enum { MOST_DIMENSIONS = 2 };

/* No filter that is in use shrinks data by more. */
#define MOST_COMPRESSION 4096

/* A chunk that does not fit into the cache would be unpacked again for each of our blocks. */
#define MOST_CACHE ((size_t)1 << 30)

void eqp__hdf5_enter(eqp__hdf5_quiet *quiet)
{
    quiet->known = H5Eget_auto2(H5E_DEFAULT, &quiet->print, &quiet->user) >= 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void eqp__hdf5_leave(const eqp__hdf5_quiet *quiet)
{
    if (quiet->known) {
        H5Eset_auto2(H5E_DEFAULT, quiet->print, quiet->user);
    }
}

static int bad_attribute(const char *path, const char *name, const char *what, eqp_message *message)
{
    eqp_message_set(message, "%s: attribute %s %s", path, name, what);
    return EQP_ERR_FORMAT;
}

/* Reads an attribute of numbers. The length is checked before memory for it is asked for. */
static int get_numbers(const char *path, hid_t at, const char *name, bool integers, int count, int n, void *number,
                       int *found, eqp_message *message)
{
    hid_t attribute = -1, type = -1, space = -1, integer;
    hssize_t points;
    htri_t there = H5Aexists(at, name);
    H5T_class_t class;
    int64_t *all = NULL;
    int rc = EQP_OK;

    if (there <= 0) {
        return there == 0 ? EQP_ERR_UNKNOWN : bad_attribute(path, name, "is damaged", message);
    }
    attribute = H5Aopen(at, name, H5P_DEFAULT);
    type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    if (type < 0 || space < 0) {
        rc = bad_attribute(path, name, "is damaged", message);
        goto done;
    }
    class = H5Tget_class(type);
    points = H5Sget_simple_extent_npoints(space);
    if (class != H5T_INTEGER && (integers || class != H5T_FLOAT)) {
        rc = bad_attribute(path, name, integers ? "is not of integers" : "is not of numbers", message);
        goto done;
    }
    if (points < 1 || (count > 0 && points != count) || points > 4096) {
        rc = bad_attribute(path, name, "has a wrong length", message);
        goto done;
    }
    rc = eqp_array_create(&all, points, sizeof *all);
    /* HDF5 clips what does not fit; read by their own sign, integers keep their bits. */
    integer = H5Tget_sign(type) == H5T_SGN_NONE ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    if (rc == EQP_OK && H5Aread(attribute, integers ? integer : H5T_NATIVE_DOUBLE, all) < 0) {
        rc = bad_attribute(path, name, "is damaged", message);
    }
    if (rc == EQP_OK) {
        memcpy(number, all, (size_t)(points < n ? points : n) * sizeof *all);
        if (found) {
            *found = (int)points;
        }
    }
done:
    free(all);
    if (space >= 0) {
        H5Sclose(space);
    }
    if (type >= 0) {
        H5Tclose(type);
    }
    if (attribute >= 0) {
        H5Aclose(attribute);
    }
    return rc;
}

int eqp__hdf5_get_reals(const char *path, hid_t at, const char *name, int count, int n, double *number,
                        eqp_message *message)
{
    return get_numbers(path, at, name, false, count, n, number, NULL, message);
}

int eqp__hdf5_get_integers(const char *path, hid_t at, const char *name, int count, int n, int64_t *number, int *found,
                           eqp_message *message)
{
    return get_numbers(path, at, name, true, count, n, number, found, message);
}

/* Are the bytes there that the shape promises? A dataset that was never written costs nothing in the file and would be
 * read as zeros. */
static bool is_stored(hid_t dataset, hid_t properties, int64_t bytes)
{
    hsize_t stored = H5Dget_storage_size(dataset);
    H5D_layout_t layout = H5Pget_layout(properties);

    if (layout == H5D_CHUNKED && H5Pget_nfilters(properties) > 0) {
        return stored > 0 && (int64_t)stored >= bytes / MOST_COMPRESSION;
    }
    return (layout == H5D_CONTIGUOUS || layout == H5D_COMPACT || layout == H5D_CHUNKED) &&
           H5Pget_external_count(properties) == 0 && stored >= (hsize_t)bytes;
}

static const char *what_is_wrong(hid_t dataset, H5T_class_t class, int64_t rows, int width)
{
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset), properties = H5Dget_create_plist(dataset);
    hsize_t dimension[MOST_DIMENSIONS] = {0, 1};
    int ndims = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    const char *wrong = NULL;

    if (space < 0 || type < 0 || properties < 0) {
        wrong = "is damaged";
    } else if (H5Tget_class(type) != class) {
        wrong = class == H5T_FLOAT ? "is not of floating-point numbers" : "is not of integers";
    } else if (ndims < 1 || ndims > MOST_DIMENSIONS || H5Sget_simple_extent_dims(space, dimension, NULL) < 0 ||
               dimension[0] != (hsize_t)rows || dimension[1] != (hsize_t)width) {
        wrong = "has another shape than the header says";
    } else if (!is_stored(dataset, properties, rows * width * (int64_t)H5Tget_size(type))) {
        wrong = "holds fewer bytes than its shape needs";
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    if (type >= 0) {
        H5Tclose(type);
    }
    if (properties >= 0) {
        H5Pclose(properties);
    }
    return wrong;
}

/* The cache must hold a chunk; its size is known only once the dataset is open. */
static hid_t reopen_with_cache(hid_t group, const char *name, hid_t dataset)
{
    hid_t properties = H5Dget_create_plist(dataset), type = H5Dget_type(dataset), access = -1;
    hsize_t dimension[MOST_DIMENSIONS] = {1, 1};
    size_t bytes = 0;

    if (properties >= 0 && type >= 0 && H5Pget_layout(properties) == H5D_CHUNKED &&
        H5Pget_chunk(properties, MOST_DIMENSIONS, dimension) > 0) {
        bytes = (size_t)(dimension[0] * dimension[1]) * H5Tget_size(type);
    }
    if (bytes > (size_t)1 << 19 && bytes <= MOST_CACHE / 2) {
        access = H5Pcreate(H5P_DATASET_ACCESS);
        if (access >= 0 && H5Pset_chunk_cache(access, 521, 2 * bytes, 1.0) >= 0) {
            H5Dclose(dataset);
            dataset = H5Dopen2(group, name, access);
        }
    }
    if (access >= 0) {
        H5Pclose(access);
    }
    if (type >= 0) {
        H5Tclose(type);
    }
    if (properties >= 0) {
        H5Pclose(properties);
    }
    return dataset;
}

int eqp__hdf5_open_column(const char *path, hid_t group, const char *name, H5T_class_t class, int64_t rows, int width,
                          hid_t *dataset, eqp_message *message)
{
    htri_t there = H5Lexists(group, name, H5P_DEFAULT);
    const char *wrong = NULL;
    hid_t opened;

    if (there == 0) {
        return EQP_ERR_UNKNOWN;
    }
    opened = there > 0 ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (opened >= 0) {
        wrong = what_is_wrong(opened, class, rows, width);
        opened = wrong ? opened : reopen_with_cache(group, name, opened);
    }
    if (opened < 0 || wrong) {
        eqp_message_set(message, "%s: dataset %s %s", path, name, wrong ? wrong : "is damaged");
        if (opened >= 0) {
            H5Dclose(opened);
        }
        return EQP_ERR_FORMAT;
    }
    *dataset = opened;
    return EQP_OK;
}

static hid_t memory_type(eqp_kind kind)
{
    return kind == EQP_KIND_DOUBLE ? H5T_NATIVE_DOUBLE : kind == EQP_KIND_INT64 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
}

/* Transfers `now` rows between the file and the interleaved buffer. */
static int transfer(hid_t dataset, hid_t space, int ndims, eqp_kind kind, int width, int64_t first, int64_t now,
                    bool write, void *buffer)
{
    hsize_t start[MOST_DIMENSIONS] = {(hsize_t)first, 0}, count[MOST_DIMENSIONS] = {(hsize_t)now, (hsize_t)width};
    hid_t memory = H5Screate_simple(ndims, count, NULL);
    herr_t status = -1;

    if (memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) {
        status = write ? H5Dwrite(dataset, memory_type(kind), memory, space, H5P_DEFAULT, buffer)
                       : H5Dread(dataset, memory_type(kind), memory, space, H5P_DEFAULT, buffer);
    }
    if (memory >= 0) {
        H5Sclose(memory);
    }
    return status < 0 ? EQP_ERR_IO : EQP_OK;
}

/* All numbers are 8 bytes wide, so that words can stand for them. */
int eqp__hdf5_read_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, void *const *data)
{
    hid_t space = H5Dget_space(dataset);
    int ndims = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    uint64_t *buffer = NULL;
    int rc = eqp_array_create(&buffer, (int64_t)EQP__BLOCK_ROWS * width, sizeof *buffer);

    if (rc == EQP_OK && (ndims < 1 || ndims > MOST_DIMENSIONS)) {
        rc = EQP_ERR_IO;
    }
    for (int64_t done = 0; rc == EQP_OK && done < n;) {
        int64_t now = n - done < EQP__BLOCK_ROWS ? n - done : EQP__BLOCK_ROWS;

        rc = transfer(dataset, space, ndims, kind, width, first + done, now, false, buffer);
        for (int c = 0; rc == EQP_OK && c < width; c++) {
            uint64_t *to = data[c];

            for (int64_t i = 0; to && i < now; i++) {
                to[done + i] = buffer[i * width + c];
            }
        }
        done += now;
    }
    free(buffer);
    if (space >= 0) {
        H5Sclose(space);
    }
    return rc;
}

static void interleave(uint64_t *buffer, int64_t now, int width, int c, const void *from, int64_t done, double factor)
{
    const char *at = (const char *)from + 8 * done;

    for (int64_t i = 0; i < now; i++) {
        memcpy(&buffer[i * width + c], at + 8 * i, 8);
        if (factor != 1) {
            double value;

            memcpy(&value, at + 8 * i, 8);
            value *= factor;
            memcpy(&buffer[i * width + c], &value, 8);
        }
    }
}

int eqp__hdf5_write_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, double factor,
                         const void *const *data)
{
    hid_t space = H5Dget_space(dataset);
    uint64_t *buffer = NULL;
    int rc = eqp_array_create(&buffer, (int64_t)EQP__BLOCK_ROWS * width, sizeof *buffer);

    if (rc == EQP_OK && space < 0) {
        rc = EQP_ERR_IO;
    }
    for (int64_t done = 0; rc == EQP_OK && done < n;) {
        int64_t now = n - done < EQP__BLOCK_ROWS ? n - done : EQP__BLOCK_ROWS;

        for (int c = 0; c < width; c++) {
            if (data[c]) {
                interleave(buffer, now, width, c, data[c], done, factor);
            }
        }
        rc = transfer(dataset, space, width > 1 ? 2 : 1, kind, width, first + done, now, true, buffer);
        done += now;
    }
    free(buffer);
    if (space >= 0) {
        H5Sclose(space);
    }
    return rc;
}
