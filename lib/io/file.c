/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads regular files only. Opening never blocks, as it would on a pipe. */
#include "io/internal.h"

#include "base/internal.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int eqp__file_open(const char *path, int *fd, int64_t *size, eqp_message *message)
{
    struct stat status;
    FILE *stream = NULL;
    int opened = -1;
    const int code = eqp_input_open(path, &stream, message);

    EQP__CHECK(code);
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
