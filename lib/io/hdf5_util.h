/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 without error messages, and slices in memory of one block. */
#ifndef EQP_IO_HDF5_UTIL_H
#define EQP_IO_HDF5_UTIL_H

#include "io/internal.h"

#include <equipoise/more/base.h>

#include <hdf5.h>

/* HDF5's printing of errors is process-wide and belongs to the caller: switched off here and restored afterwards. */
typedef struct eqp__hdf5_quiet {
    H5E_auto2_t print;
    void *user;
    bool known;
} eqp__hdf5_quiet;

eqp__hdf5_quiet eqp__hdf5_enter(void);
void eqp__hdf5_leave(const eqp__hdf5_quiet *quiet);
/* HDF5 prints nothing up to the end of the block. */
#define EQP__QUIET_HDF5 EQP__AT_END(eqp__hdf5_leave) const eqp__hdf5_quiet quiet_hdf5 = eqp__hdf5_enter()

/* Closes a file, group, dataset, attribute, type, space or properties; -1: none. EQP__HID id = ...: at the end of the
 * block. */
void eqp__hdf5_close(const hid_t *id);
#define EQP__HID EQP__AT_END(eqp__hdf5_close) hid_t

/* Reads the first n of `count` numbers of an attribute. count 0: any count from 1 on; EQP__HDF5_ARRAY: any count, but
 * no scalar. EQP_ERR_UNKNOWN, without message, if it is missing; EQP_ERR_FORMAT for another class or shape. */
#define EQP__HDF5_ARRAY (-1)
int eqp__hdf5_get_reals(const char *path, hid_t at, const char *name, int count, int n, double *number,
                        eqp_message *message);
/* As above. found: the number of integers in the attribute, of which at most n are read. Not NULL. */
int eqp__hdf5_get_integers(const char *path, hid_t at, const char *name, int count, int n, int64_t *number, int *found,
                           eqp_message *message);

/* Opens a file for reading, compressed by gzip or not. size: as for eqp__source_open(). */
int eqp__hdf5_open_file(const char *path, int64_t size, hid_t *file, eqp_message *message);

/* hdf5_open.c. Opens a group of the same file. EQP_ERR_UNKNOWN, without message, if it is missing. */
int eqp__hdf5_open_group(const char *path, hid_t at, const char *name, hid_t *group, eqp_message *message);

/* hdf5_open.c. Opens a dataset of the same file and checks its class, its shape [rows] or [rows][width] and that the
 * bytes stored can hold it. EQP_ERR_UNKNOWN, without message, if it is missing. */
int eqp__hdf5_open_column(const char *path, hid_t group, const char *name, H5T_class_t class, int64_t rows, int width,
                          hid_t *dataset, eqp_message *message);

/* hdf5_open.c. True if the dataset is virtual. */
bool eqp__hdf5_is_virtual(hid_t dataset);

/* hdf5_open.c. Adds the source files of a virtual dataset to pieces. The dataset must have the same name in each. */
int eqp__hdf5_find_pieces(const char *path, hid_t dataset, const char *name, eqp__pieces *pieces, eqp_message *message);

/* hdf5_open.c. Opens the object behind a link within this file, unchecked; -1 on error. */
hid_t eqp__hdf5_open_within(hid_t group, const char *name);

/* hdf5_open.c. Describes the first filter of the dataset that this build of HDF5 does not have; false: it has all. */
bool eqp__hdf5_lacks_filter(hid_t dataset, size_t size, char *what);

/* hdf5_open.c. True if the dataset stores too few bytes for this shape at any plausible compression. */
bool eqp__hdf5_is_packed_beyond_belief(hid_t dataset, int64_t numbers);

/* hdf5_open.c. Name of an object for messages: "/PartType1", "" for the root. */
void eqp__hdf5_name(hid_t at, size_t size, char *name);

/* Transfers rows [first, first + n) of [..] or [..][width] block by block, each component from or into its own array.
 * Reading skips NULL arrays. */
int eqp__hdf5_read_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, void *const *data);
int eqp__hdf5_write_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, double factor,
                         const void *const *data);

/* hdf5_file.c. An HDF5 file being written; {.file = -1, .driver = -1}: none. */
typedef struct eqp__hdf5_output {
    hid_t file;         /* -1: not open */
    hid_t driver;       /* -1: none */
    eqp_output *output; /* keeps the first error, which HDF5 does not see */
} eqp__hdf5_output;

/* out is none on error. */
int eqp__hdf5_create(const char *path, eqp__hdf5_output *out, eqp_message *message);
/* Returns code, or the error of the disk if there was one, which explains the errors that HDF5 reports after it. */
int eqp__hdf5_check(const eqp__hdf5_output *out, int code, eqp_message *message);
/* Lets HDF5 write everything; the file still has its temporary name. */
int eqp__hdf5_complete(eqp__hdf5_output *out, eqp_message *message);
/* Both leave out none. On error the temporary file is removed. */
int eqp__hdf5_commit(eqp__hdf5_output *out, eqp_message *message);
void eqp__hdf5_discard(eqp__hdf5_output *out);

/* hdf5_write.c: steps shared by tables and snapshots. */
int eqp__hdf5_check_columns(int n, const eqp_column *column, eqp_message *message);
int eqp__hdf5_create_column(const char *path, hid_t group, const eqp_column *column, int64_t rows,
                            eqp_message *message);
int eqp__hdf5_write_column(const char *path, hid_t group, const eqp_column *column, int64_t first, int64_t n,
                           double factor, const void *const *data, eqp_message *message);

#endif
