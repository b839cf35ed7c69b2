/* SPDX-License-Identifier: BSD-3-Clause */

#include "output/report.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static bool is_directory(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int eqp_report_directory(const char *dir, eqp_message *message)
{
    EQP_REQUIRE(dir);
    char *path = NULL;
    int code = EQP_OK;

    /* A link to a folder that is not there yet. */
    if (is_directory(dir) || eqp_output_target(dir, &path, NULL) || !path) {
        path = strdup(dir);
    }
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
        eqp_message_set(message, "%s: cannot make the folder: %s", dir, strerror(errno));
        code = EQP_ERR_IO;
    }
    free(path);
    return code;
}
