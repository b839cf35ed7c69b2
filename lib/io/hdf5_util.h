/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 without its prints, its slices without more memory than a block. */
#ifndef EQP_IO_HDF5_UTIL_H
#define EQP_IO_HDF5_UTIL_H

#include "io/internal.h"

#include <equipoise/file.h>

#include <hdf5.h>

/* HDF5 prints its errors by a process-wide setting that belongs to the caller: off inside our calls, then as it was. */
typedef struct eqp__hdf5_quiet {
    H5E_auto2_t print;
    void *user;
    bool known;
} eqp__hdf5_quiet;

void eqp__hdf5_enter(eqp__hdf5_quiet *quiet);
void eqp__hdf5_leave(const eqp__hdf5_quiet *quiet);

/* Attributes of an object. number [n] gets the first n of exactly `count` numbers; count 0: any count from 1 on;
 * EQP__HDF5_ARRAY: likewise, but no scalar. Missing: EQP_ERR_UNKNOWN, without message. Another class or shape:
 * EQP_ERR_FORMAT. */
#define EQP__HDF5_ARRAY (-1)
int eqp__hdf5_get_reals(const char *path, hid_t at, const char *name, int count, int n, double *number,
                        eqp_message *message);
/* As above; found, not NULL, is how many there are, at most n are taken. */
int eqp__hdf5_get_integers(const char *path, hid_t at, const char *name, int count, int n, int64_t *number, int *found,
                           eqp_message *message);

/* hdf5_packed.c. Opens a file for reading, packed by gzip or not. size: as for eqp__source_open(). */
int eqp__hdf5_open_file(const char *path, int64_t size, hid_t *file, eqp_message *message);
void eqp__hdf5_close_file(hid_t file); /* -1 is legal */

/* hdf5_open.c. Opens a group of the same file. Missing: EQP_ERR_UNKNOWN, without message. */
int eqp__hdf5_open_group(const char *path, hid_t at, const char *name, hid_t *group, eqp_message *message);

/* hdf5_open.c. Opens a dataset and checks that it is what it claims: in this file, of the class and the shape [rows] or
 * [rows][width], and with as many stored bytes as that takes. Missing: EQP_ERR_UNKNOWN, without message. */
int eqp__hdf5_open_column(const char *path, hid_t group, const char *name, H5T_class_t class, int64_t rows, int width,
                          hid_t *dataset, eqp_message *message);

/* hdf5_virtual.c. Is the dataset a virtual one? */
bool eqp__hdf5_is_virtual(hid_t dataset);

/* hdf5_virtual.c. Adds the files over which a virtual dataset is spread to pieces. In each of them it must have the
 * name `name`, as it has in this file. */
int eqp__hdf5_find_pieces(const char *path, hid_t dataset, const char *name, eqp__pieces *pieces, eqp_message *message);

/* hdf5_open.c. Opens what the link leads to within this file, -1 on error; nothing of it is checked. */
hid_t eqp__hdf5_open_within(hid_t group, const char *name);

/* hdf5_open.c. The filter that this build of HDF5 lacks to read the dataset, in words; false: there is none. */
bool eqp__hdf5_lacks_filter(hid_t dataset, size_t size, char *what);

/* hdf5_open.c. Do so many numbers not fit into what the dataset has stored, however well they are packed? */
bool eqp__hdf5_is_packed_beyond_belief(hid_t dataset, int64_t numbers);

/* hdf5_open.c. Where a message says that an object is: "/PartType1", and "" for the root. */
void eqp__hdf5_name(hid_t at, size_t size, char *name);

/* Rows [first, first + n) of [..] or [..][width], each component from or into its own array (reading: or NULL), block
 * by block. */
int eqp__hdf5_read_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, void *const *data);
int eqp__hdf5_write_rows(hid_t dataset, eqp_kind kind, int width, int64_t first, int64_t n, double factor,
                         const void *const *data);

/* hdf5_file.c. An HDF5 file that is being written. {.file = -1, .driver = -1} is none. */
typedef struct eqp__hdf5_output {
    hid_t file;         /* -1: not open */
    hid_t driver;       /* -1: none */
    eqp_output *output; /* keeps the first error: HDF5 does not learn of it */
} eqp__hdf5_output;

/* On error out is none. */
int eqp__hdf5_create(const char *path, eqp__hdf5_output *out, eqp_message *message);
/* The code of something that was written, or that the disk has refused it: the disk's own words explain whatever HDF5
 * has said after them. */
int eqp__hdf5_check(const eqp__hdf5_output *out, int code, eqp_message *message);
/* HDF5 has written all; the file waits for its name. */
int eqp__hdf5_complete(eqp__hdf5_output *out, eqp_message *message);
/* Both leave it none; on error no temporary file is left. */
int eqp__hdf5_commit(eqp__hdf5_output *out, eqp_message *message);
void eqp__hdf5_discard(eqp__hdf5_output *out);

/* hdf5_write.c: the steps that tables and snapshots share. */
int eqp__hdf5_check_columns(int n, const eqp_column *column, eqp_message *message);
int eqp__hdf5_create_column(const char *path, hid_t group, const eqp_column *column, int64_t rows,
                            eqp_message *message);
int eqp__hdf5_write_column(const char *path, hid_t group, const eqp_column *column, int64_t first, int64_t n,
                           double factor, const void *const *data, eqp_message *message);

#endif
