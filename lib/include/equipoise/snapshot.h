/* SPDX-License-Identifier: BSD-3-Clause */
/** \file snapshot.h
 * \brief Snapshots of particles: read slices of files in several formats, write GADGET HDF5 slice by slice.
 *
 * All functions are local. To read, every rank opens the same path and reads its own slice. To write, one rank holds
 * the writer and receives the particles of the other ranks slice by slice, in file order (the serial HDF5 library
 * serves one process). Memory is O(slice) at any time, never O(file).
 *
 * Formats, detected from the content and never from the name:
 * - GADGET HDF5 in one or several files, any number of particle types up to #EQP_SNAPSHOT_TYPES, also with the dataset
 *   names of EAGLE, SWIFT, GIZMO, AREPO and other codes, and virtual files whose pieces are in the same folder;
 * - GADGET format 1 and 2, either byte order, one or several files, float or double, ids of 32 or 64 bits, blocks
 *   after the positions present or not (Springel 2005, MNRAS 364, 1105, and the user guide of GADGET-2), with the
 *   header of GADGET-2 or GADGET-4's own; a mass of a type in the header has precedence over the block of masses. A
 * file that ends early between two blocks is read, and its note says that it may be truncated;
 * - TIPSY, big-endian ("standard") or little-endian, also with positions, or positions and velocities, in double
 *   precision; gas, dark matter and stars become types 0, 1 and 4;
 * - text: lines `m x y z vx vy vz`, further columns ignored, `#` starts a comment; lines `x y z`; a header of two
 *   lines (number of particles, time) before lines `m x y z vx vy vz`, or of three (any integer, number of particles,
 *   time) before lines `id m x y z vx vy vz`; or columns in any order, named in the first line or in the comment above
 *   the numbers (x or pos_x, vx or velocity_x, m or mass, id, ...), separated by blanks, commas, semicolons or tabs,
 *   with or without quotes and units in brackets;
 * - LAMMPS dump and data files, XYZ and extended XYZ: positions, ids, masses and, except in data files, velocities, if
 *   there are any. Only the first of several frames is read. Scaled positions are converted; the box may be tilted.
 *
 * Particles of text formats have type 1. All formats may be compressed by gzip: every call then decompresses the file
 * from its beginning, in constant memory.
 *
 * *Order.* A snapshot has one global order: file after file, within a file by type, within a type as stored. Slices are
 * ranges of it.
 *
 * *Units.* Values are returned as stored, with one exception: cosmological GADGET files store u, and the reader returns
 * v = u a^k with a = Time; k is 1/2 unless the HDF5 dataset `Velocities` says otherwise in an attribute `a_scaling`,
 * `aexp-scale-exponent` or `a-scale exponent`. An HDF5 file is cosmological if its /Parameters attribute
 * `ComovingIntegrationOn` is not 0; without that attribute, and in formats 1 and 2, if Time = 1/(1 + Redshift) to 1e-4
 * and Redshift is not 0, or Time is 1 and Omega0 > 0 (then a = 1 and nothing changes). If the scale factor has its
 * own attribute (SWIFT, EAGLE), it is used as the time. Lengths stay comoving, and factors of h stay.
 *
 * *Missing data.* Missing velocities, of any type, are read as 0. If any type has no masses, all particles get mass
 * 1/n. Types of an HDF5 file without positions, such as tracers, are skipped.
 *
 * *Ids.* In a file without ids, the id is the index in the global order; ids in only some types or files are an error.
 * Duplicate ids are neither detected nor an error.
 *
 * *Untrusted files.* The reader opens only the named files and their folder: it rejects links to other files and
 * datasets stored in other files. A virtual file is read through its pieces, each a complete snapshot. Counts are
 * checked against the bytes actually stored, so allocations follow from the size of the file, not from its header.
 * Compressed datasets (gzip and similar) are supported, in chunks of up to 512 MiB.
 *
 * *Without HDF5.* In a build without HDF5, opening an HDF5 file or beginning to write one returns #EQP_ERR_UNKNOWN, and
 * eqp_snapshot_writable() is false.
 *
 * *Errors.* A file that cannot be found or opened, a directory, a pipe, a missing file of a set: #EQP_ERR_IO. An empty,
 * truncated, damaged or unknown file, or inconsistent counts: #EQP_ERR_FORMAT, before memory of that size is
 * allocated. NaN, infinity and negative masses: #EQP_ERR_DATA; the message names the particle (its index in the global
 * order, from 0) and the column. Messages are one line: "FILE: what and where". */
#ifndef EQUIPOISE_SNAPSHOT_H
#define EQUIPOISE_SNAPSHOT_H

#include <equipoise/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest number of particle types in a file. */
#define EQP_SNAPSHOT_TYPES 16

/** Largest number of components of an additional column. */
#define EQP_COLUMN_WIDTH 9

/** An open snapshot: the locations of its data in its files. It keeps no file open between calls. */
typedef struct eqp_snapshot eqp_snapshot;

/** Header of a snapshot. */
typedef struct eqp_snapshot_info {
    char format[32];                    /**< "GADGET HDF5", "GADGET format 1", "TIPSY big-endian", "text", ... */
    int64_t n;                          /**< particles in all files, > 0 */
    int ntypes;                         /**< number of types in the format */
    int64_t type_n[EQP_SNAPSHOT_TYPES]; /**< particles of each type in all files */
    double time;                        /**< as stored; 0 if the format has none */
    double redshift;                    /**< as stored; 0 if the format has none */
    double box_size;                    /**< edge of the periodic box, 0: none or unknown */
    double omega0;                      /**< as stored; 0 if the format has none */
    double omega_lambda;                /**< as stored; 0 if the format has none */
    double hubble;                      /**< h, as stored; 0 if the format has none */
    bool cosmological;                  /**< velocities are converted from u, see above */
    bool has_units;                     /**< true if the file names its units; values are still returned as stored */
    bool has_ids;                       /**< if false, ids are 0 .. n - 1 in the global order */
    bool has_velocities; /**< true if at least some particles have velocities; missing ones are read as 0 */
    bool has_masses;     /**< true if all particles have masses; otherwise all are read as 1 / n */
    eqp_message note;    /**< skipped data and assumptions, as text for the user; empty: none */
    int nfiles;          /**< files that hold the particles */
    int64_t bytes; /**< total size of these files. Compressed datasets may expand a thousandfold: a large n per byte is
                      a warning sign */
} eqp_snapshot_info;

/** Columns of a slice: structure of arrays, each [n] or NULL (when reading: neither read nor checked; when
 * writing: see eqp_snapshot_write_slice()). */
typedef struct eqp_snapshot_arrays {
    size_t size;  /**< of this struct in the caller's version; 0: of version 0.2 */
    double *x;    /**< position */
    double *y;    /**< position */
    double *z;    /**< position */
    double *vx;   /**< velocity */
    double *vy;   /**< velocity */
    double *vz;   /**< velocity */
    double *m;    /**< mass, >= 0 */
    int64_t *id;  /**< unsigned 64-bit ids of a file keep their bits */
    int8_t *type; /**< 0 .. EQP_SNAPSHOT_TYPES - 1 */
} eqp_snapshot_arrays;

/** No column: `eqp_snapshot_arrays arrays = eqp_snapshot_arrays_defaults();` Local. */
static inline eqp_snapshot_arrays eqp_snapshot_arrays_defaults(void)
{
    eqp_snapshot_arrays arrays;

    memset(&arrays, 0, sizeof arrays);
    arrays.size = sizeof arrays;
    return arrays;
}

/** Opens a snapshot: finds its format, reads the headers of all its files and checks them against the sizes of the
 * files and of the datasets. Local. Reads O(files) headers; text is scanned once, which takes O(bytes) time and
 * O(lines / 1024) memory.
 *
 * \param[in]  path      a file, any one file of several, or the common part of their names: for `snap_007` the file
 *                       itself and then `snap_007.0.hdf5`, `snap_007.0.h5`, `snap_007.0` and `snap_007.hdf5` are
 *                       tried (copied)
 * \param[out] snapshot  free with eqp_snapshot_close(); unchanged on error
 * \param[out] message   the error and its place; may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for a NULL path, EQP_ERR_IO, EQP_ERR_FORMAT, EQP_ERR_MEMORY */
int eqp_snapshot_open(const char *path, eqp_snapshot **snapshot, eqp_message *message);

/** Frees a snapshot; NULL is legal. */
void eqp_snapshot_close(eqp_snapshot *snapshot);

/** The header of a snapshot (borrowed: lives as long as the snapshot). Never NULL for a snapshot. O(1). */
const eqp_snapshot_info *eqp_snapshot_get_info(const eqp_snapshot *snapshot);

/** Reads particles [first, first + n) of the global order. Local; opens the files that hold them and closes them again.
 * O(n) time and O(1) memory of its own: a block of 16384 rows, plus a few chunks of compressed datasets.
 * \param[in]  snapshot  (borrowed)
 * \param[in]  first     >= 0
 * \param[in]  n         >= 0, first + n at most the number of particles
 * \param[out] arrays    arrays for the columns; contents are undefined after an error
 * \param[out] message   the error and its place; may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for a range outside the snapshot, EQP_ERR_IO, EQP_ERR_FORMAT, EQP_ERR_DATA for NaN,
 * infinity and negative masses in the requested columns, EQP_ERR_MEMORY */
int eqp_snapshot_read(const eqp_snapshot *snapshot, int64_t first, int64_t n, const eqp_snapshot_arrays *arrays,
                      eqp_message *message);

/** Type of the numbers in an additional column or attribute. */
typedef enum eqp_kind {
    EQP_KIND_DOUBLE, /**< double */
    EQP_KIND_INT64,  /**< int64_t */
    EQP_KIND_UINT64  /**< stored as unsigned; in memory uint64_t or int64_t with the same bits */
} eqp_kind;

/** An additional dataset: rows of `width` numbers of one kind. Its data are `width` arrays, one per component, each
 * [rows]; on disk it is [rows] or, if width > 1, [rows][width]. */
typedef struct eqp_column {
    const char *name; /**< without '/' (borrowed) */
    eqp_kind kind;    /**< of every number */
    int width;        /**< 1 .. EQP_COLUMN_WIDTH */
} eqp_column;

/** An additional number in a file. */
typedef struct eqp_attribute {
    const char *name; /**< (borrowed) */
    eqp_kind kind;    /**< EQP_KIND_DOUBLE: `real`, otherwise `integer` */
    double real;      /**< the number, if EQP_KIND_DOUBLE */
    int64_t integer;  /**< the number, otherwise; EQP_KIND_UINT64 keeps its bits */
} eqp_attribute;

/** Reads a number stored by eqp_snapshot_write_begin(). Local.
 * \param[in]     snapshot   (borrowed)
 * \param[in,out] attribute  name and kind in, `real` or `integer` out; unchanged on error
 * \param[out]    message    may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_UNKNOWN if there is no such name (always so in formats other than GADGET HDF5),
 * EQP_ERR_FORMAT if it is not a single number of that kind, EQP_ERR_DATA for NaN and infinity, EQP_ERR_IO */
int eqp_snapshot_get_attribute(const eqp_snapshot *snapshot, eqp_attribute *attribute, eqp_message *message);

/** Reads the words of eqp_snapshot_layout. Local, O(words).
 * \param[in]  snapshot  (borrowed)
 * \param[out] nwords    their number, at least 1; unchanged on error
 * \param[out] words     [*nwords] owned by the caller: free(); unchanged on error
 * \param[out] message   may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_UNKNOWN if there are no words (always in formats other than GADGET HDF5),
 * EQP_ERR_FORMAT if the dataset has another shape or type, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_snapshot_get_words(const eqp_snapshot *snapshot, int64_t *nwords, uint64_t **words, eqp_message *message);

/** Reads an additional dataset of the particles [first, first + n) of the global order, as eqp_snapshot_read() does.
 * Local.
 * \param[in]  snapshot  (borrowed)
 * \param[in]  column    name in every group PartTypeN, kind and width (borrowed)
 * \param[in]  first, n  a range of the snapshot
 * \param[out] data      [column->width] arrays [n] of the kind
 * \param[out] message   may be NULL; unchanged on success
 * \return as eqp_snapshot_read() (NaN and infinity are errors here too), or EQP_ERR_UNKNOWN if no column has that name
 */
int eqp_snapshot_read_column(const eqp_snapshot *snapshot, const eqp_column *column, int64_t first, int64_t n,
                             void *const *data, eqp_message *message);

/** Contents of a new snapshot. All pointers are borrowed until the writer is freed. */
typedef struct eqp_snapshot_layout {
    size_t size;                        /**< of this struct in the caller's version; 0: of version 0.2 */
    int ntypes;                         /**< 1 .. EQP_SNAPSHOT_TYPES; fewer than 6 are stored as 6 */
    int64_t type_n[EQP_SNAPSHOT_TYPES]; /**< particles of each type, over all ranks */
    double time;                        /**< of the snapshot; the scale factor in a cosmological one */
    double redshift;                    /**< 0 unless cosmological */
    double box_size;                    /**< edge of the periodic box, 0: none */
    double omega0;                      /**< density of matter, 0: none */
    double omega_lambda;                /**< density of the cosmological constant, 0: none */
    double hubble;                      /**< h */
    int nfiles;   /**< > 1: files `path.0.hdf5` and so on with equal shares of every type; <= 1: the file `path` */
    int ncolumns; /**< additional datasets of every particle, besides x, v, id and m */
    const eqp_column *column;       /**< [ncolumns], e.g. {"Potential", EQP_KIND_DOUBLE, 1} */
    int nattributes;                /**< number of additional attributes */
    const eqp_attribute *attribute; /**< [nattributes], stored as attributes of the group /Equipoise */
    int64_t nwords;                 /**< 64-bit words of the caller, stored in the dataset /Equipoise/Words; 0: none */
    const uint64_t *words;          /**< [nwords] bits are kept */
} eqp_snapshot_layout;

/** No particles, one file, six types, h = 1: `eqp_snapshot_layout layout = eqp_snapshot_layout_defaults();` Local. */
static inline eqp_snapshot_layout eqp_snapshot_layout_defaults(void)
{
    eqp_snapshot_layout layout;

    memset(&layout, 0, sizeof layout);
    layout.size = sizeof layout;
    layout.ntypes = 6;
    layout.hubble = 1;
    layout.nfiles = 1;
    return layout;
}

/** True if this build has HDF5 and can write snapshots and tables. */
bool eqp_snapshot_writable(void);

/** A snapshot that is being written. */
typedef struct eqp_snapshot_writer eqp_snapshot_writer;

/** Begins a GADGET HDF5 file (or several) with datasets of full size, under a temporary name (see more/base.h). An
 * existing file of the target's name is not touched. Local; one rank. O(1) except for reserving the space. Particles
 * are in reading order: with one file all particles of type 0, then type 1, and so on. If redshift and time make the
 * file cosmological (see above), velocities are stored as u = v / sqrt(time).
 *
 * \param[in]  path     target (copied)
 * \param[in]  layout   (copied; memory that it points to is borrowed until the writer is freed; attribute values may
 *                       be set until eqp_snapshot_write_finish())
 * \param[out] writer   free with eqp_snapshot_write_finish() or eqp_snapshot_write_discard(); unchanged on error
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO (then no temporary file is left), EQP_ERR_MEMORY */
int eqp_snapshot_write_begin(const char *path, const eqp_snapshot_layout *layout, eqp_snapshot_writer **writer,
                             eqp_message *message);

/** Writes the next n particles of the global order. Types follow from the layout, arrays->type is not used. O(n) time,
 * O(1) memory.
 *
 * \param[in,out] writer   after an error other than EQP_ERR_ARGUMENT it can only be discarded
 * \param[in]     n        >= 0, no more than are left
 * \param[in]     arrays   columns [n], only read; id NULL: the global order; velocities NULL: zeros (borrowed)
 * \param[in]     data     the arrays of the additional columns: one for each component of column 0, then of column 1,
 *                         ...; NULL if there are none (borrowed)
 * \param[out]    message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_snapshot_write_slice(eqp_snapshot_writer *writer, int64_t n, const eqp_snapshot_arrays *arrays,
                             const void *const *data, eqp_message *message);

/** Gives the finished file(s) the target's name, after the data have reached the disk. Frees the writer in any case; on
 * error no temporary file is left, and an older file of that name is intact. Several files are renamed one by one.
 *
 * \param[in]  writer   (owned: taken)
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT for fewer particles than the layout has, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_snapshot_write_finish(eqp_snapshot_writer *writer, eqp_message *message);

/** Removes the temporary file(s) and frees the writer; NULL is legal. The target is not touched. */
void eqp_snapshot_write_discard(eqp_snapshot_writer *writer);

/** One time of an XDMF series. */
typedef struct eqp_snapshot_frame {
    const char *path;                  /**< a snapshot's target, as given to eqp_snapshot_write_begin() */
    const eqp_snapshot_layout *layout; /**< its layout */
} eqp_snapshot_frame;

/** Writes an XDMF 2 file through which ParaView and VisIt open snapshots: points, velocities, masses, ids and all
 * additional columns. The snapshots must be in the folder of the XDMF file, which refers to them by name only. An older
 * file is replaced completely or not at all. Local, one rank.
 *
 * \param[in]  path     the XDMF file
 * \param[in]  nframes  >= 1; more than one make a time series
 * \param[in]  frame    [nframes] in order of time (borrowed)
 * \param[out] message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT (another folder, no frames), EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_snapshot_write_xdmf(const char *path, int nframes, const eqp_snapshot_frame *frame, eqp_message *message);

/** A table that is being written. */
typedef struct eqp_table_writer eqp_table_writer;

/** Begins an HDF5 file with datasets in its root group, as eqp_snapshot_write_begin() does. Local; one rank.
 * \param[in]  path      target (copied)
 * \param[in]  rows      rows of every dataset, >= 0
 * \param[in]  ncolumns  datasets, >= 1
 * \param[in]  column    [ncolumns] for example {"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3} (copied; the
 *                       names are borrowed until the writer is freed)
 * \param[out] writer    free with eqp_table_write_finish() or eqp_table_write_discard(); unchanged on error
 * \param[out] message   may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO (then no temporary file is left), EQP_ERR_MEMORY */
int eqp_table_write_begin(const char *path, int64_t rows, int ncolumns, const eqp_column *column,
                          eqp_table_writer **writer, eqp_message *message);

/** Writes the next n rows of every column. O(n) time, O(1) memory of its own.
 * \param[in,out] writer   after an error other than EQP_ERR_ARGUMENT it can only be discarded
 * \param[in]     n        >= 0, no more than are left
 * \param[in]     data     the columns' arrays [n], one per component, one column after the other (borrowed)
 * \param[out]    message  may be NULL; unchanged on success
 * \return EQP_OK, EQP_ERR_ARGUMENT, EQP_ERR_IO, EQP_ERR_MEMORY */
int eqp_table_write_rows(eqp_table_writer *writer, int64_t n, const void *const *data, eqp_message *message);

/** As eqp_snapshot_write_finish(), for a table. */
int eqp_table_write_finish(eqp_table_writer *writer, eqp_message *message);

/** As eqp_snapshot_write_discard(), for a table. */
void eqp_table_write_discard(eqp_table_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
