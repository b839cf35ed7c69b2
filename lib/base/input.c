/* SPDX-License-Identifier: BSD-3-Clause */
#include <equipoise/more/base.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int eqp_input_open(const char *path, FILE **stream, eqp_message *message)
{
    struct stat status;
    FILE *opened = NULL;
    int fd, reason;

    EQP_REQUIRE(path && stream);
    /* Checked before opening, as opening a device can have effects, and again after it, as the file may have been
     * replaced. */
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        eqp_message_set(message, S_ISDIR(status.st_mode) ? "%.300s: is a directory" : "%.300s: is not a regular file",
                        path);
        errno = EINVAL;
        return EQP_ERR_IO;
    }
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    reason = fd < 0 ? errno : fstat(fd, &status) != 0 ? errno : !S_ISREG(status.st_mode) ? EINVAL : 0;
    if (reason == 0 && (opened = fdopen(fd, "rb")) == NULL) {
        reason = errno;
    }
    if (reason != 0) {
        eqp_message_set(message, "%.300s: %s", path, strerror(reason));
        if (fd >= 0) {
            (void)close(fd);
        }
        errno = reason;
        return reason == ENOMEM ? EQP_ERR_MEMORY : EQP_ERR_IO;
    }
    *stream = opened;
    return EQP_OK;
}
