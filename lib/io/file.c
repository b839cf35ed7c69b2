/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads regular files only. Opening never blocks, as it would on a pipe. */
#include "base/internal.h"
#include "io/internal.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

int eqp__file_open(const char *path, int *fd, int64_t *size, eqp_message *message)
{
    struct stat status;
    FILE *stream = NULL;
    int opened = -1;

    EQP__CHECK(eqp_input_open(path, &stream, message));
    opened = fcntl(fileno(stream), F_DUPFD_CLOEXEC, 0);
    if (opened < 0 || fstat(opened, &status) != 0) {
        eqp_message_set(message, "%s: %s", path, strerror(errno));
        (void)fclose(stream);
        eqp__file_close(opened);
        return EQP_ERR_IO;
    }
    (void)fclose(stream);
    *fd = opened;
    *size = (int64_t)status.st_size;
    return EQP_OK;
}

int eqp__file_read(int fd, const char *path, void *to, size_t bytes, int64_t offset, eqp_message *message)
{
    unsigned char *at = to;

    while (bytes > 0) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        EQP__FAIL_IF(got < 0,
                     EQP__SAY(message, EQP_ERR_IO, "%s: byte %lld: %s", path, (long long)offset, strerror(errno)));
        EQP__FAIL_IF(got == 0,
                     EQP__SAY(message, EQP_ERR_FORMAT, "%s: truncated: ends at byte %lld", path, (long long)offset));
        at += got;
        bytes -= (size_t)got;
        offset += got;
    }
    return EQP_OK;
}

void eqp__file_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

int eqp__explain(int rc, const char *path, eqp_message *message)
{
    if (rc == EQP_ERR_MEMORY || rc == EQP_ERR_OVERFLOW) {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(rc));
    }
    return rc;
}

int eqp__path_join(const char *path, const char *suffix, char **joined)
{
    size_t length = strlen(path), more = strlen(suffix);
    char *name = malloc(length + more + 1);

    EQP__FAIL_IF(!name, EQP_ERR_MEMORY);
    memcpy(name, path, length);
    memcpy(name + length, suffix, more + 1);
    *joined = name;
    return EQP_OK;
}

/* The signature is at offset 0, 512, 1024, 2048, ...; a user block may precede it. */
bool eqp__hdf5_probe(const eqp__probe *p)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

    for (int64_t at = 0; at + 8 <= p->size; at = at == 0 ? 512 : 2 * at) {
        unsigned char word[8];

        if (eqp__source_read(p->source, word, sizeof word, at, NULL) != EQP_OK) {
            return false;
        }
        if (memcmp(word, signature, sizeof word) == 0) {
            return true;
        }
    }
    return false;
}

/* The bytes of a file, plain or compressed by gzip. A compressed file is decompressed as it is read, in constant
 * memory. Seeking backwards restarts at the beginning, so readers should go forward. */

enum { SKIP_BYTES = 1 << 16 };

/* Signatures of files that are no snapshots, and advice for each. */
static const struct {
    size_t at, bytes;
    const char *sign, *what;
} strangers[] = {
    {0, 6,
     "\xfd"
     "7zXZ\0",
     "is compressed by xz: decompress it with 'xz -dk'"},
    {0, 3, "BZh", "is compressed by bzip2: decompress it with 'bunzip2 -k'"},
    {0, 4, "\x28\xb5\x2f\xfd", "is compressed by Zstandard: decompress it with 'zstd -d'"},
    {0, 4, "\x04\x22\x4d\x18", "is compressed by LZ4: decompress it with 'lz4 -d'"},
    {0, 4, "\x02\x21\x4c\x18", "is compressed by LZ4: decompress it with 'lz4 -d'"},
    {0, 4, "LZIP", "is compressed by lzip: decompress it with 'lzip -dk'"},
    {0, 4, "\x89LZO", "is compressed by lzop: decompress it with 'lzop -d'"},
    {0, 2, "\x1f\x9d", "is compressed by compress: decompress it with 'uncompress'"},
    {0, 4, "PK\3\4", "is a zip archive: unpack it with 'unzip'"},
    {0, 6, "7z\xbc\xaf\x27\x1c", "is a 7-Zip archive: unpack it with '7z x'"},
    {257, 5, "ustar", "is a tar archive: unpack it with 'tar xf'"},
    {0, 6, "\x93NUMPY", "is a NumPy array: save it as text with numpy.savetxt"},
    {0, 4, "CDF\1", "is a NetCDF file, which is not read"},
    {0, 4, "CDF\2", "is a NetCDF file, which is not read"},
    {0, 9, "SIMPLE  =", "is a FITS file, which is not read"},
    {0, 2, "\xff\xfe", "is text in UTF-16: save it as UTF-8"},
    {0, 2, "\xfe\xff", "is text in UTF-16: save it as UTF-8"},
    {0, 23, "version https://git-lfs", "is a pointer of Git LFS, not the file itself: get it with 'git lfs pull'"},
    {0, 14, "<!DOCTYPE html", "is a web page, not the file itself"},
    {0, 5, "<html", "is a web page, not the file itself"},
};

const char *eqp__source_stranger(const unsigned char *head, size_t length)
{
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        if (length >= strangers[i].at + strangers[i].bytes &&
            memcmp(head + strangers[i].at, strangers[i].sign, strangers[i].bytes) == 0) {
            return strangers[i].what;
        }
    }
    return NULL;
}

static int explain(const eqp__source *s, eqp_message *message)
{
    int code = Z_OK;

    (void)gzerror(s->packed, &code);
    EQP__FAIL_IF(code == Z_MEM_ERROR, EQP_ERR_MEMORY);
    EQP__FAIL_IF(code == Z_ERRNO, EQP__SAY(message, EQP_ERR_IO, "%s: %s", s->path, strerror(errno)));
    return EQP__SAY(message, EQP_ERR_FORMAT, "%s: compressed by gzip: %s after byte %lld of its contents", s->path,
                    code == Z_BUF_ERROR || code == Z_OK ? "truncated" : "damaged", (long long)gztell(s->packed));
}

/* Reads up to `bytes` bytes; *got is smaller only at the end of the file. */
static int unpack(const eqp__source *s, unsigned char *to, size_t bytes, size_t *got, eqp_message *message)
{
    *got = 0;
    while (*got < bytes) {
        size_t left = bytes - *got;
        int n = gzread(s->packed, to + *got, left < SKIP_BYTES ? (unsigned)left : SKIP_BYTES), code;

        (void)gzerror(s->packed, &code);
        EQP__FAIL_IF(n < 0 || (code != Z_OK && code != Z_STREAM_END), explain(s, message));
        if (n == 0) {
            break;
        }
        *got += (size_t)n;
    }
    return EQP_OK;
}

/* The size in gzip's trailer is kept modulo 2^32 and can lie, so the file is decompressed once to measure it. */
static int measure(eqp__source *s, eqp_message *message)
{
    EQP__HEAP unsigned char *skipped = NULL;
    size_t got = SKIP_BYTES;

    EQP__CHECK(eqp_array_create(&skipped, SKIP_BYTES, 1));
    for (s->size = 0; got == SKIP_BYTES; s->size += (int64_t)got) {
        EQP__CHECK(unpack(s, skipped, SKIP_BYTES, &got, message));
    }
    return EQP_OK;
}

int eqp__source_open(const char *path, int64_t size, eqp__source *source, eqp_message *message)
{
    eqp__source s = {.path = path, .fd = -1};
    unsigned char sign[3] = {0};
    int code;

    EQP_TRY(eqp__file_open(path, &s.fd, &s.size, message));
    EQP_TRY(s.size >= 18 ? eqp__file_read(s.fd, path, sign, sizeof sign, 0, message) : EQP_OK);
    if (sign[0] == 0x1f && sign[1] == 0x8b && sign[2] == 8) {
        s.packed = gzdopen(s.fd, "rb");
        EQP_TRY(s.packed ? EQP_OK : EQP_ERR_MEMORY);
        s.size = size;
        EQP_TRY(size < 0 ? measure(&s, message) : EQP_OK);
    }
    *source = s;
    return EQP_OK;
done:
    eqp__source_close(&s);
    return code;
}

int eqp__source_read(const eqp__source *s, void *to, size_t bytes, int64_t offset, eqp_message *message)
{
    size_t got = 0;

    if (!s->packed) {
        return eqp__file_read(s->fd, s->path, to, bytes, offset, message);
    }
    EQP__FAIL_IF(gztell(s->packed) != offset && gzseek(s->packed, (z_off_t)offset, SEEK_SET) < 0, explain(s, message));
    EQP__CHECK(unpack(s, to, bytes, &got, message));
    EQP__FAIL_IF(got < bytes, EQP__SAY(message, EQP_ERR_FORMAT, "%s: truncated: its contents end at byte %lld", s->path,
                                       (long long)(offset + (int64_t)got)));
    return EQP_OK;
}

void eqp__source_close(eqp__source *s)
{
    if (s->packed) {
        (void)gzclose(s->packed); /* closes the descriptor as well */
    } else {
        eqp__file_close(s->fd);
    }
    *s = (eqp__source){.fd = -1};
}

static void take_field(const eqp__field *f, const unsigned char *rows, int row, bool big, int64_t done, int64_t n)
{
    const unsigned char *p = rows + f->at;

    for (int64_t i = 0; f->id && i < n; i++, p += row) {
        f->id[done + i] = f->width == 4 ? (int64_t)eqp__get_u32(p, big) : (int64_t)eqp__get_u64(p, big);
    }
    for (int64_t i = 0; f->real && i < n; i++, p += row) {
        f->real[done + i] = f->width == 4 ? eqp__get_f32(p, big) : eqp__get_f64(p, big);
    }
}

int eqp__source_fields(const eqp__source *s, bool big, int64_t offset, int row, int nfields, const eqp__field *field,
                       int64_t n, eqp_message *message)
{
    EQP__HEAP unsigned char *rows = NULL;
    bool wanted = false;

    for (int f = 0; f < nfields; f++) {
        wanted = wanted || field[f].real || field[f].id;
    }
    if (!wanted) {
        return EQP_OK;
    }
    EQP__CHECK(eqp_array_create(&rows, n < EQP__BLOCK_ROWS ? n : EQP__BLOCK_ROWS, (size_t)row));
    for (int64_t done = 0; done < n; done += EQP__BLOCK_ROWS) {
        const int64_t now = n - done < EQP__BLOCK_ROWS ? n - done : EQP__BLOCK_ROWS;

        EQP__CHECK(eqp__source_read(s, rows, (size_t)(now * row), offset + done * row, message));
        for (int f = 0; f < nfields; f++) {
            take_field(&field[f], rows, row, big, done, now);
        }
    }
    return EQP_OK;
}
