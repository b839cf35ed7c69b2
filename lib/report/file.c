/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/file.h"

#include <equipoise/report.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *eqp__report_file_join(const char *dir, const char *name)
{
    size_t length = strlen(dir);
    size_t size = length + strlen(name) + 2;
    char *path = malloc(size);

    if (path) {
        const char *slash = length > 0 && dir[length - 1] == '/' ? "" : "/";

        (void)snprintf(path, size, "%s%s%s", dir, slash, name);
    }
    return path;
}

static int fail(const char *path, const char *what, eqp_message *message)
{
    int reason = errno;

    eqp_message_set(message, "%s: cannot %s: %s", path, what, strerror(reason));
    return reason == ENOMEM ? EQP_ERR_MEMORY : EQP_ERR_IO;
}

static void forget(eqp__file *file)
{
    free(file->path);
    free(file->temporary);
    memset(file, 0, sizeof *file);
}

int eqp__report_file_open(eqp__file *file, const char *path, eqp_message *message)
{
    size_t size = strlen(path) + 40;

    memset(file, 0, sizeof *file);
    file->path = strdup(path);
    file->temporary = malloc(size);
    if (!file->path || !file->temporary) {
        forget(file);
        return EQP_ERR_MEMORY;
    }
    (void)snprintf(file->temporary, size, "%s.%lld.part", path, (long long)getpid());
    file->stream = fopen(file->temporary, "w");
    if (!file->stream) {
        int code = fail(path, "write", message);

        forget(file);
        return code;
    }
    return EQP_OK;
}

int eqp__report_file_commit(eqp__file *file, eqp_message *message)
{
    int code = EQP_OK;
    bool broken = ferror(file->stream);

    errno = broken ? EIO : 0;
    /* Short circuits nothing: the stream has to be closed in any case, and its first error is the one to tell. */
    if (broken || fflush(file->stream)) {
        code = fail(file->path, "write", message);
        (void)fclose(file->stream);
    } else if (fclose(file->stream)) {
        code = fail(file->path, "write", message);
    } else if (rename(file->temporary, file->path)) {
        code = fail(file->path, "replace", message);
    }
    if (code) {
        (void)unlink(file->temporary);
    }
    forget(file);
    return code;
}

void eqp__report_file_discard(eqp__file *file)
{
    if (file->stream) {
        (void)fclose(file->stream);
        (void)unlink(file->temporary);
    }
    forget(file);
}

static bool is_directory(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int eqp_report_directory(const char *dir, eqp_message *message)
{
    char *path = strdup(dir);
    int code = EQP_OK;

    if (!path) {
        return EQP_ERR_MEMORY;
    }
    /* Folders above it first, each time up to the next slash; a leading slash names no folder. */
    for (char *slash = path[0] ? strchr(path + 1, '/') : NULL; slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    if (mkdir(path, 0777) && !is_directory(path)) {
        code = fail(dir, "make the folder", message);
    }
    free(path);
    return code;
}
