/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files compressed by gzip, through a driver that decompresses them as HDF5 reads. HDF5 seeks back for metadata,
 * most of which is near the beginning: the first megabyte stays in memory, so that few seeks restart the decompression.
 */
#include "io/hdf5_util.h"

#include "base/internal.h"

#include <stdlib.h>
#include <string.h>

#if H5_VERSION_GE(1, 14, 0)
#include <H5FDdevelop.h>
#endif

#define HEAD_BYTES ((size_t)1 << 20)

typedef struct properties {
    int64_t size; /* of the decompressed file, if known */
} properties;

typedef struct packed_file {
    H5FD_t common; /* HDF5's own, first */
    char *path;
    eqp__source source;
    haddr_t allocated;
    size_t nhead;
    unsigned char *head; /* [nhead] */
} packed_file;

static herr_t driver_close(H5FD_t *file)
{
    packed_file *f = (packed_file *)file;

    eqp__source_close(&f->source);
    EQP__FREE(f->path, f->head, f);
    return 0;
}

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const properties *p = H5Pget_driver_info(access);
    packed_file *f = calloc(1, sizeof *f);

    (void)flags;
    (void)most;
    if (!p || !f) {
        free(f);
        return NULL;
    }
    f->source.fd = -1;
    if (eqp__path_join(name, "", &f->path) != EQP_OK ||
        eqp__source_open(f->path, p->size, &f->source, NULL) != EQP_OK || !f->source.packed) {
        driver_close(&f->common);
        return NULL;
    }
    f->nhead = f->source.size < (int64_t)HEAD_BYTES ? (size_t)f->source.size : HEAD_BYTES;
    if (eqp_array_create(&f->head, (int64_t)f->nhead, 1) != EQP_OK ||
        eqp__source_read(&f->source, f->head, f->nhead, 0, NULL) != EQP_OK) {
        driver_close(&f->common);
        return NULL;
    }
    return &f->common;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
    (void)file;
    *flags = H5FD_FEAT_DATA_SIEVE;
    return 0;
}

static haddr_t driver_get_allocated(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return ((const packed_file *)file)->allocated;
}

static herr_t driver_set_allocated(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((packed_file *)file)->allocated = address;
    return 0;
}

static haddr_t driver_get_end(const H5FD_t *file, H5FD_mem_t type)
{
    (void)type;
    return (haddr_t)((const packed_file *)file)->source.size;
}

/* Bytes after the end of the file read as zeros, as in HDF5's own driver. */
static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes, void *buffer)
{
    const packed_file *f = (const packed_file *)file;
    const haddr_t size = (haddr_t)f->source.size;
    unsigned char *to = buffer;
    size_t there = address >= size ? 0 : size - address < bytes ? (size_t)(size - address) : bytes, known = 0;

    (void)type;
    (void)transfer;
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
static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t bytes,
                           const void *buffer)
{
    (void)file, (void)type, (void)transfer, (void)address, (void)bytes, (void)buffer;
    return -1;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 14, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)601, /* of the range that is free for drivers outside HDF5 */
#endif
    .name = "equipoise-gzip",
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
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

static hid_t open_packed(const char *path, int64_t size)
{
    const properties p = {.size = size};
    hid_t id = H5FDregister(&driver), access = id >= 0 ? H5Pcreate(H5P_FILE_ACCESS) : -1, file = -1;

    if (access >= 0 && H5Pset_driver(access, id, &p) >= 0) {
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
    }
    EQP__HDF5_CLOSE(access);
    if (id >= 0) {
        H5FDunregister(id); /* the access properties of an open file keep it */
    }
    return file;
}

int eqp__hdf5_open_file(const char *path, int64_t size, hid_t *file, eqp_message *message)
{
    eqp__source source = {.fd = -1};
    bool packed;

    EQP__CHECK(eqp__source_open(path, size, &source, message));
    size = source.size;
    packed = source.packed;
    eqp__source_close(&source);
    *file = packed ? open_packed(path, size) : H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    EQP__FAIL_IF(*file < 0, EQP__SAY(message, EQP_ERR_FORMAT,
                                     "%s: HDF5 cannot open it: truncated, damaged or being written", path));
    return EQP_OK;
}

/* HDF5 1.10 releases the driver before the driver closes the file, so the access properties are closed last. */
void eqp__hdf5_close_file(hid_t file)
{
    hid_t access = file >= 0 ? H5Fget_access_plist(file) : -1;

    if (file >= 0) {
        H5Fclose(file);
    }
    EQP__HDF5_CLOSE(access);
}
