/* SPDX-License-Identifier: BSD-3-Clause */
/* Drivers of HDF5. One writes through the descriptor of an eqp_output, also on a full disk. HDF5 1.10 cannot close a
 * file after a failed write: it keeps the file open, and crashes or loops at exit. This driver therefore reports
 * success to HDF5 and keeps the first error in the output, whose commit returns it. Otherwise it works as HDF5's
 * default driver.
 *
 * The other reads files compressed by gzip and decompresses them as HDF5 reads. HDF5 seeks back for metadata, most of
 * which is near the beginning: the first megabyte stays in memory, so that few seeks restart the decompression. */
#include "io/hdf5_util.h"

#include "base/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* Passed by HDF5 from the access properties to the open file. */
typedef struct properties {
    eqp_output *output; /* (borrowed) */
    int64_t size;       /* of a decompressed file, if known */
} properties;

typedef struct open_file {
    H5FD_t common;          /* HDF5's own, first */
    haddr_t allocated, end; /* end of the space that HDF5 allocated; end of the bytes written */
    eqp_output *output;
    int fd; /* the output's */
    /* for a compressed file: */
    char *path;
    eqp__source source;
    size_t nhead;
    unsigned char *head; /* [nhead] */
} open_file;

#define HEAD_BYTES ((size_t)1 << 20)

static void note(open_file *f)
{
    eqp_output_note(f->output, errno);
}

static herr_t driver_close(H5FD_t *file)
{
    open_file *f = (open_file *)file;

    eqp__source_close(&f->source);
    EQP__FREE(f->path, f->head, f);
    return 0;
}

/* The file is open already; the name is for HDF5's messages. */
static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const properties *p = H5Pget_driver_info(access);
    open_file *f = calloc(1, sizeof *f);
    struct stat status;

    (void)name, (void)flags, (void)most;
    if (!p || !f) {
        free(f);
        return NULL;
    }
    f->source.fd = -1;
    f->output = p->output;
    f->fd = eqp_output_descriptor(p->output);
    if (fstat(f->fd, &status) != 0) {
        note(f);
        driver_close(&f->common);
        return NULL;
    }
    f->end = (haddr_t)status.st_size;
    return &f->common;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t driver_get_allocated(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const open_file *)file)->allocated;
}

static herr_t driver_set_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((open_file *)file)->allocated = address;
    return 0;
}

static haddr_t driver_get_end(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const open_file *)file)->end;
}

/* Bytes that were not written read as zeros. */
static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes, void *buffer)
{
    const open_file *f = (const open_file *)file;
    unsigned char *to = buffer;

    (void)type, (void)transfer;
    while (bytes > 0) {
        ssize_t got = pread(f->fd, to, bytes, (off_t)address);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -1;
        }
        if (got == 0) {
            memset(to, 0, bytes);
            return 0;
        }
        to += got;
        address += (haddr_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes,
                           const void *buffer)
{
    open_file *f = (open_file *)file;
    const unsigned char *from = buffer;

    (void)type, (void)transfer;
    if (address + bytes > f->end) {
        f->end = address + bytes;
    }
    while (bytes > 0 && eqp_output_check(f->output, NULL) == EQP_OK) {
        ssize_t put;

        errno = 0;
        put = pwrite(f->fd, from, bytes, (off_t)address);
        if (put > 0) {
            from += put;
            address += (haddr_t)put;
            bytes -= (size_t)put;
        } else if (errno != EINTR) {
            note(f);
        }
    }
    return 0;
}

/* Extends the file over space that was allocated and not written. */
static herr_t driver_truncate(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    open_file *f = (open_file *)file;

    (void)transfer, (void)closing;
    if (f->allocated != f->end) {
        if (eqp_output_check(f->output, NULL) == EQP_OK && ftruncate(f->fd, (off_t)f->allocated) != 0) {
            note(f);
        }
        f->end = f->allocated;
    }
    return 0;
}

#if H5_VERSION_GE(1, 14, 0)
#define DRIVER_NUMBER(n) .version = H5FD_CLASS_VERSION, .value = (H5FD_class_value_t)(n),
#else
#define DRIVER_NUMBER(n)
#endif
/* Numbers from 600 on are free for drivers outside HDF5. */
#define DRIVER(n, its_name)                                                                                            \
    DRIVER_NUMBER(n).name = (its_name), .maxaddr = INT64_MAX, .fc_degree = H5F_CLOSE_WEAK,                             \
    .fapl_size = sizeof(properties), .get_eoa = driver_get_allocated, .set_eoa = driver_set_allocated,                 \
    .get_eof = driver_get_end, .fl_map = H5FD_FLMAP_DICHOTOMY

static const H5FD_class_t driver = {
    DRIVER(600, "equipoise"), .open = driver_open,   .close = driver_close,       .query = driver_query,
    .read = driver_read,      .write = driver_write, .truncate = driver_truncate,
};

/* Access properties with the driver; -1 on error. */
static hid_t access_properties(hid_t driver_id, const properties *p)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    if (access >= 0 && (driver_id < 0 || H5Pset_driver(access, driver_id, p) < 0)) {
        H5Pclose(access);
        access = -1;
    }
    return access;
}

static int cannot(const char *path, const char *what, eqp_message *message)
{
    eqp_message_set(message, "%s: HDF5 cannot %s it", path, what);
    return EQP_ERR_IO;
}

/* HDF5 does not keep a reference to the driver while the driver closes the file. */
static bool close_file(eqp__hdf5_output *out)
{
    bool closed = out->file < 0 || (H5Fflush(out->file, H5F_SCOPE_LOCAL) >= 0 && H5Fclose(out->file) >= 0);

    if (out->driver >= 0) {
        H5FDunregister(out->driver);
    }
    out->file = out->driver = -1;
    return closed;
}

int eqp__hdf5_create(const char *path, eqp__hdf5_output *out, eqp_message *message)
{
    int code = eqp_output_create(path, &out->output, message);

    out->file = out->driver = -1;
    EQP__CHECK(code);
    out->driver = H5FDregister(&driver);
    EQP__HID access = access_properties(out->driver, &(properties){.output = out->output});
    out->file = access >= 0 ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : -1;
    if (out->file < 0) {
        code = eqp__hdf5_check(out, cannot(path, "create", message), message);
        eqp__hdf5_discard(out);
    }
    return code;
}

int eqp__hdf5_check(const eqp__hdf5_output *out, int code, eqp_message *message)
{
    int written = eqp_output_check(out->output, message);

    return written == EQP_OK ? code : written;
}

int eqp__hdf5_complete(eqp__hdf5_output *out, eqp_message *message)
{
    const bool closed = close_file(out);

    return eqp__hdf5_check(out, closed ? EQP_OK : cannot(eqp_output_path(out->output), "write", message), message);
}

int eqp__hdf5_commit(eqp__hdf5_output *out, eqp_message *message)
{
    int code = eqp__hdf5_complete(out, message);

    if (code == EQP_OK) {
        code = eqp_output_commit(out->output, message);
        out->output = NULL;
    }
    eqp__hdf5_discard(out);
    return code;
}

void eqp__hdf5_discard(eqp__hdf5_output *out)
{
    eqp_output_note(out->output, 0); /* nothing more needs to be written */
    close_file(out);
    eqp_output_discard(out->output);
    out->output = NULL;
}

static H5FD_t *packed_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const properties *p = H5Pget_driver_info(access);
    open_file *f = calloc(1, sizeof *f);

    (void)flags, (void)most;
    if (!p || !f) {
        free(f);
        return NULL;
    }
    f->source.fd = -1;
    if (eqp__path_join(name, "", &f->path) == EQP_OK &&
        eqp__source_open(f->path, p->size, &f->source, NULL) == EQP_OK && f->source.packed) {
        f->end = (haddr_t)f->source.size;
        f->nhead = f->source.size < (int64_t)HEAD_BYTES ? (size_t)f->source.size : HEAD_BYTES;
        if (eqp_array_create(&f->head, (int64_t)f->nhead, 1) == EQP_OK &&
            eqp__source_read(&f->source, f->head, f->nhead, 0, NULL) == EQP_OK) {
            return &f->common;
        }
    }
    driver_close(&f->common);
    return NULL;
}

static herr_t packed_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

/* Bytes after the end of the file read as zeros, as in HDF5's own driver. */
static herr_t packed_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes, void *buffer)
{
    const open_file *f = (const open_file *)file;
    const haddr_t size = f->end;
    unsigned char *to = buffer;
    size_t there = address >= size ? 0 : size - address < bytes ? (size_t)(size - address) : bytes, known = 0;

    (void)type, (void)transfer;
    memset(to + there, 0, bytes - there);
    if (there > 0 && address < f->nhead) {
        known = f->nhead - (size_t)address < there ? f->nhead - (size_t)address : there;
        memcpy(to, f->head + address, known);
    }
    return there == known ||
                   eqp__source_read(&f->source, to + known, there - known, (int64_t)(address + known), NULL) == EQP_OK
               ? 0
               : -1;
}

/* HDF5 refuses a driver without this function. */
static herr_t packed_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes,
                           const void *buffer)
{
    (void)file, (void)type, (void)transfer, (void)address, (void)bytes, (void)buffer;
    return -1;
}

static const H5FD_class_t packed_driver = {
    DRIVER(601, "equipoise-gzip"), .open = packed_open, .close = driver_close,
    .query = packed_query,         .read = packed_read, .write = packed_write,
};

static hid_t open_packed(const char *path, int64_t size)
{
    const hid_t id = H5FDregister(&packed_driver);
    EQP__HID access = access_properties(id, &(properties){.size = size});
    const hid_t file = access >= 0 ? H5Fopen(path, H5F_ACC_RDONLY, access) : -1;

    if (id >= 0) {
        H5FDunregister(id); /* the access properties of an open file keep it */
    }
    return file;
}

int eqp__hdf5_open_file(const char *path, int64_t size, hid_t *file, eqp_message *message)
{
    EQP__SOURCE source = {.fd = -1};

    EQP__CHECK(eqp__source_open(path, size, &source, message));
    *file = source.packed ? open_packed(path, source.size) : H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    EQP__FAIL_IF(*file < 0, EQP__SAY(message, EQP_ERR_FORMAT,
                                     "%s: HDF5 cannot open it: truncated, damaged or being written", path));
    return EQP_OK;
}
