/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files for writing, on a disk that may be full. HDF5 (1.10) cannot close a file that it could not write: it keeps
 * it open, and crashes or loops when the program ends. So this driver of its own tells HDF5 that all went well, keeps
 * the first error, and eqp__hdf5_finish() reports it. Otherwise it does what HDF5's usual driver does. */
#include "io/hdf5_util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

/* What HDF5 carries from the access properties to the open file. */
typedef struct properties {
    int *error; /* errno of the first failure; 0: none (borrowed) */
} properties;

typedef struct open_file {
    H5FD_t common; /* HDF5's own, first */
    int fd;
    int *error;
    haddr_t allocated, end; /* as far as HDF5 has given space away, and as far as there are bytes */
} open_file;

static void note(open_file *f)
{
    if (*f->error == 0) {
        *f->error = errno != 0 ? errno : EIO;
    }
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const properties *p = H5Pget_driver_info(access);
    open_file *f = calloc(1, sizeof *f);
    int mode = (flags & H5F_ACC_RDWR ? O_RDWR : O_RDONLY) | (flags & H5F_ACC_TRUNC ? O_TRUNC : 0) |
               (flags & H5F_ACC_CREAT ? O_CREAT : 0) | (flags & H5F_ACC_EXCL ? O_EXCL : 0);
    struct stat status;

    (void)most;
    if (!p || !f) {
        free(f);
        return NULL;
    }
    f->error = p->error;
    f->fd = open(name, mode | O_CLOEXEC, 0666);
    if (f->fd < 0 || fstat(f->fd, &status) != 0) {
        note(f);
        eqp__file_close(f->fd);
        free(f);
        return NULL;
    }
    f->end = (haddr_t)status.st_size;
    return &f->common;
}

static herr_t driver_close(H5FD_t *file)
{
    open_file *f = (open_file *)file;

    if (close(f->fd) != 0) {
        note(f);
    }
    free(f);
    return 0;
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

/* What was never written, or could not be, reads as zeros. */
static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes, void *buffer)
{
    const open_file *f = (const open_file *)file;
    unsigned char *to = buffer;

    (void)type;
    (void)transfer;
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

    (void)type;
    (void)transfer;
    if (address + bytes > f->end) {
        f->end = address + bytes;
    }
    while (bytes > 0 && *f->error == 0) {
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

/* Space that was given away and not written yet becomes part of the file. */
static herr_t driver_truncate(H5FD_t *file, hid_t transfer, hbool_t closing)
{
    open_file *f = (open_file *)file;

    (void)transfer;
    (void)closing;
    if (f->allocated != f->end) {
        if (*f->error == 0 && ftruncate(f->fd, (off_t)f->allocated) != 0) {
            note(f);
        }
        f->end = f->allocated;
    }
    return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 14, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)600, /* of the range that is free for drivers outside HDF5 */
#endif
    .name = "equipoise",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .fapl_size = sizeof(properties),
    .open = driver_open,
    .close = driver_close,
    .query = driver_query,
    .get_eoa = driver_get_allocated,
    .set_eoa = driver_set_allocated,
    .get_eof = driver_get_end,
    .read = driver_read,
    .write = driver_write,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Access properties with the driver; -1: it cannot be had. */
static hid_t begin(eqp__hdf5_output *out)
{
    const properties p = {&out->error};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    *out = (eqp__hdf5_output){.file = -1, .driver = H5FDregister(&driver)};
    if (access >= 0 && (out->driver < 0 || H5Pset_driver(access, out->driver, &p) < 0)) {
        H5Pclose(access);
        access = -1;
    }
    return access;
}

/* The last thing: HDF5 closes a file by way of its driver, and does not hold on to it while it does. */
static void end(eqp__hdf5_output *out)
{
    if (out->driver >= 0) {
        H5FDunregister(out->driver);
    }
    out->file = out->driver = -1;
}

static int cannot(const char *path, const char *what, const eqp__hdf5_output *out, eqp_message *message)
{
    if (out->error != 0) {
        eqp_message_set(message, "%s: cannot be written: %s", path, strerror(out->error));
    } else {
        eqp_message_set(message, "%s: HDF5 cannot %s it", path, what);
    }
    return EQP_ERR_IO;
}

int eqp__hdf5_create_new(const char *path, const char *temporary, eqp__hdf5_output *out, eqp_message *message)
{
    int rc = eqp__temporary_create(path, temporary, message);
    hid_t access;

    if (rc != EQP_OK) {
        return rc;
    }
    access = begin(out);
    if (access >= 0) {
        out->file = H5Fcreate(temporary, H5F_ACC_TRUNC, H5P_DEFAULT, access);
        H5Pclose(access);
    }
    if (out->file < 0) {
        end(out);
        unlink(temporary);
        return cannot(temporary, "create", out, message);
    }
    return EQP_OK;
}

int eqp__hdf5_open_again(const char *temporary, eqp__hdf5_output *out, eqp_message *message)
{
    hid_t access = begin(out);

    if (access >= 0) {
        out->file = H5Fopen(temporary, H5F_ACC_RDWR, access);
        H5Pclose(access);
    }
    if (out->file < 0) {
        end(out);
        return cannot(temporary, "open", out, message);
    }
    return EQP_OK;
}

int eqp__hdf5_finish(const char *temporary, eqp__hdf5_output *out, int rc, eqp_message *message)
{
    bool flushed, closed;

    if (out->file < 0) {
        return rc;
    }
    flushed = H5Fflush(out->file, H5F_SCOPE_LOCAL) >= 0;
    closed = H5Fclose(out->file) >= 0;
    end(out);
    /* The disk's own words explain whatever HDF5 has said after them. */
    if (out->error != 0 || (rc == EQP_OK && !(flushed && closed))) {
        rc = cannot(temporary, "write", out, message);
    }
    return rc;
}
