/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces the HDF5 sources in builds without HDF5: HDF5 files are recognized and refused, and nothing is written. */
#include "io/internal.h"

#include <equipoise/more/base.h>

static const char without[] = "this build is without HDF5";

static int load(eqp__file *file, eqp_message *message)
{
    eqp_message_set(message, "%s: is an HDF5 file, and %s", file->path, without);
    return EQP_ERR_UNKNOWN;
}

const eqp__format eqp__format_gadget_hdf5 = {.probe = eqp__hdf5_probe, .load = load};

bool eqp_snapshot_writable(void)
{
    return false;
}

/* good: the arguments are valid. */
static int refuse(bool good, const char *path, eqp_message *message)
{
    eqp_message_set(message, "%s: is not written: %s", path ? path : "", without);
    return good ? EQP_ERR_UNKNOWN : EQP_ERR_ARGUMENT;
}

int eqp_snapshot_write_begin(const char *path, const eqp_snapshot_layout *layout, eqp_snapshot_writer **writer,
                             eqp_message *message)
{
    return refuse(path && layout && writer, path, message);
}

int eqp_snapshot_write_xdmf(const char *path, int nframes, const eqp_snapshot_frame *frame, eqp_message *message)
{
    return refuse(path && nframes >= 1 && frame, path, message);
}

int eqp_table_write_begin(const char *path, int64_t rows, int ncolumns, const eqp_column *column,
                          eqp_table_writer **writer, eqp_message *message)
{
    return refuse(path && rows >= 0 && ncolumns >= 1 && column && writer, path, message);
}

/* No writer exists in this build. */

int eqp_snapshot_write_slice(eqp_snapshot_writer *writer, int64_t n, const eqp_snapshot_arrays *arrays,
                             const void *const *data, eqp_message *message)
{
    (void)writer, (void)n, (void)arrays, (void)data;
    return refuse(false, NULL, message);
}

int eqp_snapshot_write_finish(eqp_snapshot_writer *writer, eqp_message *message)
{
    (void)writer;
    return refuse(false, NULL, message);
}

void eqp_snapshot_write_discard(eqp_snapshot_writer *writer)
{
    (void)writer;
}

int eqp_table_write_rows(eqp_table_writer *writer, int64_t n, const void *const *data, eqp_message *message)
{
    (void)writer, (void)n, (void)data;
    return refuse(false, NULL, message);
}

int eqp_table_write_finish(eqp_table_writer *writer, eqp_message *message)
{
    (void)writer;
    return refuse(false, NULL, message);
}

void eqp_table_write_discard(eqp_table_writer *writer)
{
    (void)writer;
}
