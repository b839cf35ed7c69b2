/* SPDX-License-Identifier: BSD-3-Clause */
#include "io/hdf5_util.h"

#include "base/internal.h"

#include <equipoise/more/base.h>

#include <stdio.h>
#include <stdlib.h>

enum { MOST_DIMENSIONS = 2, MOST_NUMBERS = 4096, MOST_NUMBER_BYTES = 16 };

eqp__hdf5_quiet eqp__hdf5_enter(void)
{
    eqp__hdf5_quiet quiet = {.known = false};

    quiet.known = H5Eget_auto2(H5E_DEFAULT, &quiet.print, &quiet.user) >= 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return quiet;
}

void eqp__hdf5_leave(const eqp__hdf5_quiet *quiet)
{
    if (quiet->known) {
        H5Eset_auto2(H5E_DEFAULT, quiet->print, quiet->user);
    }
}

/* HDF5 1.10 releases the driver before the driver closes the file, so a file's access properties are closed last. */
void eqp__hdf5_close(const hid_t *id)
{
    const H5I_type_t type = *id >= 0 ? H5Iget_type(*id) : H5I_BADID;
    const hid_t access = type == H5I_FILE ? H5Fget_access_plist(*id) : -1;

    if (*id >= 0) {
        (void)(type == H5I_FILE ? H5Fclose(*id) : type == H5I_DATASET ? H5Dclose(*id) : H5Idec_ref(*id));
    }
    if (access >= 0) {
        H5Pclose(access);
    }
}

static int bad_attribute(const char *path, hid_t at, const char *name, const char *what, eqp_message *message)
{
    char where[64];

    eqp__hdf5_name(at, sizeof where, where);
    eqp_message_set(message, "%s: attribute %s/%s %s", path, where, name, what);
    return EQP_ERR_FORMAT;
}

static int bad_length(const char *path, hid_t at, const char *name, hid_t space, int count, eqp_message *message)
{
    const hssize_t points = H5Sget_simple_extent_npoints(space);
    char what[96];

    if (count != 0 && H5Sget_simple_extent_type(space) == H5S_SCALAR) {
        snprintf(what, sizeof what, "is no array, but a single number");
    } else if (count > 0) {
        snprintf(what, sizeof what, "has a wrong length: %lld numbers instead of %d", (long long)points, count);
    } else {
        snprintf(what, sizeof what, "has a wrong length: %lld numbers", (long long)points);
    }
    return bad_attribute(path, at, name, what, message);
}

/* Reads an attribute of numbers. Its length is checked before memory is allocated. */
static int get_numbers(const char *path, hid_t at, const char *name, bool integers, int count, int n, void *number,
                       int *found, eqp_message *message)
{
    const htri_t there = H5Aexists(at, name);
    EQP__HID attribute = there > 0 ? H5Aopen(at, name, H5P_DEFAULT) : -1;
    EQP__HID type = attribute >= 0 ? H5Aget_type(attribute) : -1;
    EQP__HID space = attribute >= 0 ? H5Aget_space(attribute) : -1;
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    const hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    EQP__HEAP int64_t *all = NULL;
    const char *wrong;

    EQP__FAIL_IF(there == 0, EQP_ERR_UNKNOWN);
    wrong = type < 0 || space < 0 ? "is damaged"
            : class != H5T_INTEGER && (integers || class != H5T_FLOAT)
                ? (integers ? "is not of integers" : "is not of numbers")
            : H5Tget_size(type) > MOST_NUMBER_BYTES ? "has numbers of more than 16 bytes"
                                                    : NULL;
    EQP__FAIL_IF(wrong, bad_attribute(path, at, name, wrong, message));
    EQP__FAIL_IF(points < 1 || (count > 0 && points != count) || points > MOST_NUMBERS ||
                     (count == EQP__HDF5_ARRAY && H5Sget_simple_extent_type(space) == H5S_SCALAR),
                 bad_length(path, at, name, space, count, message));
    EQP__CHECK(eqp_array_create(&all, points, sizeof *all));
    /* HDF5 clips numbers that do not fit. Integers read with their own sign keep their bits. */
    const hid_t integer = H5Tget_sign(type) == H5T_SGN_NONE ? H5T_NATIVE_UINT64 : H5T_NATIVE_INT64;
    EQP__FAIL_IF(H5Aread(attribute, integers ? integer : H5T_NATIVE_DOUBLE, all) < 0,
                 bad_attribute(path, at, name, "is damaged", message));
    memcpy(number, all, (size_t)(points < n ? points : n) * sizeof *all);
    if (found) {
        *found = (int)points;
    }
    return EQP_OK;
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

static hid_t memory_type(eqp_kind kind)
{
    return kind == EQP_KIND_DOUBLE ? H5T_NATIVE_DOUBLE : kind == EQP_KIND_INT64 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
}

/* Transfers `now` rows between the file and the interleaved buffer. */
static int transfer(hid_t dataset, hid_t space, eqp_kind kind, int width, int64_t first, int64_t now, bool write,
                    void *buffer)
{
    hsize_t start[MOST_DIMENSIONS] = {(hsize_t)first, 0}, count[MOST_DIMENSIONS] = {(hsize_t)now, (hsize_t)width};
    EQP__HID memory = H5Screate_simple(H5Sget_simple_extent_ndims(space), count, NULL);
    herr_t status = -1;

    if (memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0) {
        status = write ? H5Dwrite(dataset, memory_type(kind), memory, space, H5P_DEFAULT, buffer)
                       : H5Dread(dataset, memory_type(kind), memory, space, H5P_DEFAULT, buffer);
    }
    return status < 0 ? EQP_ERR_IO : EQP_OK;
}

/* All numbers are 8 bytes wide and are copied as words. */
static void separate(const uint64_t *buffer, int64_t now, int width, uint64_t *to)
{
    for (int64_t i = 0; i < now; i++) {
        to[i] = buffer[i * width];
    }
}

static void interleave(uint64_t *buffer, int64_t now, int width, const uint64_t *from, double factor)
{
    for (int64_t i = 0; i < now; i++) {
        buffer[i * width] = from[i];
        if (factor != 1) {
            double value;

            memcpy(&value, &from[i], 8);
            value *= factor;
            memcpy(&buffer[i * width], &value, 8);
        }
    }
}

static int transfer_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, double factor,
                         void *const *data, bool write)
{
    const int64_t most = n < EQP__BLOCK_ROWS ? n : EQP__BLOCK_ROWS;
    EQP__HID space = H5Dget_space(dataset);
    const int ndims = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    EQP__HEAP uint64_t *buffer = NULL;

    EQP__CHECK(eqp_array_create(&buffer, most * width, sizeof *buffer));
    EQP__FAIL_IF(ndims < 1 || ndims > MOST_DIMENSIONS, EQP_ERR_IO);
    for (int64_t done = 0; done < n; done += most) {
        int64_t now = n - done < most ? n - done : most;

        for (int c = 0; write && c < width; c++) {
            if (data[c]) {
                interleave(buffer + c, now, width, (const uint64_t *)data[c] + done, factor);
            }
        }
        EQP__CHECK(transfer(dataset, space, kind, width, first + done, now, write, buffer));
        for (int c = 0; !write && c < width; c++) {
            if (data[c]) {
                separate(buffer + c, now, width, (uint64_t *)data[c] + done);
            }
        }
    }
    return EQP_OK;
}

int eqp__hdf5_read_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, void *const *data)
{
    return transfer_rows(dataset, kind, width, first, n, 1, data, false);
}

int eqp__hdf5_write_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, double factor,
                         const void *const *data)
{
    return transfer_rows(dataset, kind, width, first, n, factor, (void *const *)data, true);
}
