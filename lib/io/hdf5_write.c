/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes HDF5 files of known size: creates all datasets, then writes their rows in order. */
#include "io/hdf5_util.h"

#include "base/internal.h"

#include <stdlib.h>
#include <string.h>

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
        EQP__FAIL_IF(!good, EQP__SAY(message, EQP_ERR_ARGUMENT,
                                     "column %d: no name, a name used before, or a wrong kind or width", c));
    }
    return EQP_OK;
}

/* Space is allocated early, so that file systems that reserve report a full disk at once and slices do not move data.
 * Creation times are not stored: the same data give the same bytes. */
int eqp__hdf5_create_column(const char *path, hid_t group, const eqp_column *column, int64_t rows, eqp_message *message)
{
    const hsize_t dimension[2] = {(hsize_t)rows, (hsize_t)column->width};
    EQP__HID space = H5Screate_simple(column->width > 1 ? 2 : 1, dimension, NULL);
    EQP__HID properties = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t type = column->kind == EQP_KIND_DOUBLE  ? H5T_IEEE_F64LE
                       : column->kind == EQP_KIND_INT64 ? H5T_STD_I64LE
                                                        : H5T_STD_U64LE;
    const bool good = space >= 0 && properties >= 0 && H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY) >= 0 &&
                      H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) >= 0 &&
                      H5Pset_obj_track_times(properties, false) >= 0;
    const hid_t dataset =
        good ? H5Dcreate2(group, column->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT) : -1;

    return dataset < 0 || H5Dclose(dataset) < 0 ? cannot(path, "make a dataset", message) : EQP_OK;
}

int eqp__hdf5_write_column(const char *path, hid_t group, const eqp_column *column, int64_t first, int64_t n,
                           double factor, const void *const *data, eqp_message *message)
{
    const hid_t dataset = H5Dopen2(group, column->name, H5P_DEFAULT);
    EQP__HID space = dataset >= 0 ? H5Dget_space(dataset) : -1;
    const hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1, rows = points / column->width;
    int rc;

    if (points < 0) {
        rc = cannot(path, "open a dataset", message);
    } else if (first < 0 || n < 0 || first > rows || n > rows - first) {
        rc = EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: rows %lld + %lld are not all in dataset %s of %lld", path,
                      (long long)first, (long long)n, column->name, (long long)rows);
    } else {
        rc = eqp__hdf5_write_rows(dataset, column->kind, column->width, first, n, factor, data);
        rc = rc == EQP_ERR_IO ? cannot(path, "write a dataset", message) : rc;
    }
    return dataset >= 0 && H5Dclose(dataset) < 0 && rc == EQP_OK ? cannot(path, "write a dataset", message) : rc;
}

struct eqp_table_writer {
    eqp__hdf5_output out;
    int64_t rows, written;
    int ncolumns;
    eqp_column *column; /* [ncolumns] names are borrowed */
};

int eqp_table_write_begin(const char *path, int64_t rows, int ncolumns, const eqp_column *column,
                          eqp_table_writer **writer, eqp_message *message)
{
    EQP__QUIET_HDF5;
    eqp_table_writer *w = NULL;
    int code;

    EQP__FAIL_IF(!path || rows < 0 || rows > EQP__MOST_PARTICLES || ncolumns < 1 || !column || !writer,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "a table needs a name, columns and a number of rows"));
    EQP_TRY(eqp__hdf5_check_columns(ncolumns, column, message));
    EQP_TRY(eqp_array_create(&w, 1, sizeof *w));
    w->out.file = w->out.driver = -1;
    EQP_TRY(eqp_array_create(&w->column, ncolumns, sizeof *w->column));
    memcpy(w->column, column, (size_t)ncolumns * sizeof *column);
    w->ncolumns = ncolumns;
    w->rows = rows;
    EQP_TRY(eqp__hdf5_create(path, &w->out, message));
    for (int c = 0; code == EQP_OK && c < ncolumns; c++) {
        code = eqp__hdf5_create_column(path, w->out.file, &column[c], rows, message);
    }
    code = eqp__hdf5_check(&w->out, code, message);
done:
    if (code == EQP_OK) {
        *writer = w;
    } else {
        eqp_table_write_discard(w);
    }
    return eqp__explain(code, path, message);
}

int eqp_table_write_rows(eqp_table_writer *writer, int64_t n, const void *const *data, eqp_message *message)
{
    EQP__QUIET_HDF5;
    const char *path = writer ? eqp_output_path(writer->out.output) : "";
    int code = EQP_OK;

    EQP__FAIL_IF(!writer || n < 0 || n > writer->rows - writer->written || !data,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: more rows than were announced, or none", path));
    for (int c = 0, at = 0; code == EQP_OK && c < writer->ncolumns; at += writer->column[c++].width) {
        code = eqp__hdf5_write_column(path, writer->out.file, &writer->column[c], writer->written, n, 1, data + at,
                                      message);
    }
    code = eqp__hdf5_check(&writer->out, code, message);
    writer->written += code == EQP_OK ? n : 0;
    return eqp__explain(code, path, message);
}

int eqp_table_write_finish(eqp_table_writer *writer, eqp_message *message)
{
    EQP__QUIET_HDF5;
    const bool whole = writer && writer->written == writer->rows;
    const int code = whole ? eqp__hdf5_commit(&writer->out, message)
                           : EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: fewer rows than were announced",
                                      writer ? eqp_output_path(writer->out.output) : "");

    eqp_table_write_discard(writer);
    return code;
}

void eqp_table_write_discard(eqp_table_writer *writer)
{
    EQP__QUIET_HDF5;

    if (writer) {
        eqp__hdf5_discard(&writer->out);
        EQP__FREE(writer->column, writer);
    }
}
