/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files written by many ranks with the serial library: one rank makes the file with datasets of full size, then
 * the ranks open it in turn and write their rows, then one gives it its name. */
#include "io/hdf5_util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int cannot(const char *path, const char *what, eqp_message *message)
{
    eqp_message_set(message, "%s: HDF5 cannot %s", path, what);
    return EQP_ERR_IO;
}

int eqp__hdf5_check_columns(int n, const eqp_column *column, eqp_message *message)
{
    for (int c = 0; c < n; c++) {
        bool good = column[c].name && column[c].name[0] && !strchr(column[c].name, '/') && column[c].width >= 1 &&
                    column[c].width <= EQP_COLUMN_WIDTH && column[c].kind >= EQP_KIND_DOUBLE &&
                    column[c].kind <= EQP_KIND_UINT64;

        for (int i = 0; good && i < c; i++) {
            good = strcmp(column[i].name, column[c].name) != 0;
        }
        if (!good) {
            eqp_message_set(message, "column %d: no name, a name used before, or a wrong kind or width", c);
            return EQP_ERR_ARGUMENT;
        }
    }
    return EQP_OK;
}

/* The space is reserved now, so that a full disk shows at once where the file system reserves, and no slice moves data
 * of another. Times of creation are not kept: the same data make the same bytes. */
int eqp__hdf5_create_column(const char *path, hid_t group, const eqp_column *column, int64_t rows, eqp_message *message)
{
    static const hid_t none = -1;
    hsize_t dimension[2] = {(hsize_t)rows, (hsize_t)column->width};
    hid_t space = H5Screate_simple(column->width > 1 ? 2 : 1, dimension, NULL);
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE), dataset = none;
    hid_t type = column->kind == EQP_KIND_DOUBLE  ? H5T_IEEE_F64LE
                 : column->kind == EQP_KIND_INT64 ? H5T_STD_I64LE
                                                  : H5T_STD_U64LE;
    int rc = EQP_OK;

    if (space >= 0 && properties >= 0 && H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY) >= 0 &&
        H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) >= 0 && H5Pset_obj_track_times(properties, false) >= 0) {
        dataset = H5Dcreate2(group, column->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    }
    if (dataset < 0 || H5Dclose(dataset) < 0) {
        rc = cannot(path, "make a dataset", message);
    }
    if (properties >= 0) {
        H5Pclose(properties);
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    return rc;
}

int eqp__hdf5_write_column(const char *path, hid_t group, const eqp_column *column, int64_t first, int64_t n,
                           double factor, const void *const *data, eqp_message *message)
{
    hid_t dataset = H5Dopen2(group, column->name, H5P_DEFAULT), space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    int rc = EQP_OK;

    if (points < 0) {
        rc = cannot(path, "open a dataset", message);
    } else if (first < 0 || n < 0 || first > points / column->width || n > points / column->width - first) {
        eqp_message_set(message, "%s: rows %lld + %lld are not all in dataset %s of %lld", path, (long long)first,
                        (long long)n, column->name, (long long)(points / column->width));
        rc = EQP_ERR_ARGUMENT;
    } else {
        rc = eqp__hdf5_write_rows(dataset, column->kind, column->width, first, n, factor, data);
        if (rc == EQP_ERR_IO) {
            cannot(path, "write a dataset", message);
        }
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    if (dataset >= 0 && H5Dclose(dataset) < 0 && rc == EQP_OK) {
        rc = cannot(path, "write a dataset", message);
    }
    return rc;
}

int eqp_table_write_create(const char *path, int64_t rows, int ncolumns, const eqp_column *column, eqp_message *message)
{
    eqp__hdf5_quiet quiet;
    char *temporary = NULL;
    eqp__hdf5_output out = {.file = -1};
    bool created;
    int rc;

    if (!path || rows < 0 || rows > EQP__MOST_PARTICLES || ncolumns < 1 || !column) {
        eqp_message_set(message, "a table needs a name, columns and a number of rows");
        return EQP_ERR_ARGUMENT;
    }
    eqp__hdf5_enter(&quiet);
    rc = eqp__hdf5_check_columns(ncolumns, column, message);
    rc = rc != EQP_OK ? rc : eqp__temporary_name(path, &temporary);
    rc = rc != EQP_OK ? rc : eqp__hdf5_create_new(path, temporary, &out, message);
    created = rc == EQP_OK;
    for (int c = 0; rc == EQP_OK && c < ncolumns; c++) {
        rc = eqp__hdf5_create_column(temporary, out.file, &column[c], rows, message);
    }
    rc = eqp__hdf5_finish(temporary, &out, rc, message);
    if (rc != EQP_OK && created) {
        unlink(temporary);
    }
    eqp__hdf5_leave(&quiet);
    free(temporary);
    return eqp__explain(rc, path, message);
}

int eqp_table_write_slice(const char *path, int ncolumns, const eqp_column *column, int64_t first, int64_t n,
                          const void *const *data, eqp_message *message)
{
    eqp__hdf5_quiet quiet;
    char *temporary = NULL;
    eqp__hdf5_output out = {.file = -1};
    int rc;

    if (!path || ncolumns < 1 || !column || first < 0 || n < 0 || !data) {
        eqp_message_set(message, "a slice of a table needs a name, columns, rows and data");
        return EQP_ERR_ARGUMENT;
    }
    eqp__hdf5_enter(&quiet);
    rc = eqp__hdf5_check_columns(ncolumns, column, message);
    rc = rc != EQP_OK ? rc : eqp__temporary_name(path, &temporary);
    rc = rc != EQP_OK ? rc : eqp__hdf5_open_again(temporary, &out, message);
    for (int c = 0, at = 0; rc == EQP_OK && c < ncolumns; at += column[c++].width) {
        rc = eqp__hdf5_write_column(temporary, out.file, &column[c], first, n, 1, data + at, message);
    }
    rc = eqp__hdf5_finish(temporary, &out, rc, message);
    eqp__hdf5_leave(&quiet);
    free(temporary);
    return eqp__explain(rc, path, message);
}

int eqp_table_write_commit(const char *path, eqp_message *message)
{
    char *temporary;
    int rc;

    if (!path) {
        eqp_message_set(message, "a table needs a name");
        return EQP_ERR_ARGUMENT;
    }
    rc = eqp__temporary_name(path, &temporary);
    if (rc == EQP_OK) {
        rc = eqp__temporary_commit(path, temporary, message);
        free(temporary);
    }
    return eqp__explain(rc, path, message);
}

void eqp_table_write_discard(const char *path)
{
    char *temporary;

    if (path && eqp__temporary_name(path, &temporary) == EQP_OK) {
        unlink(temporary);
        free(temporary);
    }
}
