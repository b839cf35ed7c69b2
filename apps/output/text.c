/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts and folders of what is written: UTF-8, bars of progress, paths. */
#include "output/report.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WIDEST_BAR 100

size_t eqp__utf8_count(const char *text)
{
    size_t count = 0;

    while (*text) {
        size_t length = eqp_utf8_length(text);

        text += length ? length : 1;
        count++;
    }
    return count;
}

char *eqp__utf8_repair(const char *text)
{
    static const char replacement[] = "\xEF\xBF\xBD";
    char *copy = malloc(3 * strlen(text) + 1);
    char *end = copy;

    while (copy && *text) {
        size_t length = eqp_utf8_length(text);

        if (length) {
            memcpy(end, text, length);
            end += length;
            text += length;
        } else {
            memcpy(end, replacement, sizeof replacement - 1);
            end += sizeof replacement - 1;
            text++;
        }
    }
    if (copy) {
        *end = '\0';
    }
    return copy;
}

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
    char *path = NULL;
    int code = EQP_OK;

    /* A link to a folder that is not there yet. */
    if (is_directory(dir) || eqp_output_target(dir, &path, NULL) || !path) {
        path = strdup(dir);
    }
    EQP_CHECK(!path ? EQP_ERR_MEMORY : EQP_OK);
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

static void format_time(double seconds, size_t size, char *text)
{
    /* More than a few thousand years are not worth an overflow. */
    long long s = (long long)fmin(seconds + 0.5, 1e11);

    if (s >= 3600) {
        (void)snprintf(text, size, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
    } else {
        (void)snprintf(text, size, "%lld:%02lld", s / 60, s % 60);
    }
}

void eqp_progress_format(const eqp_progress *progress, size_t size, char *text)
{
    const double fraction = progress->total > 0 ? (double)progress->done / (double)progress->total : 1.0;
    const double seconds = fmax(0.0, progress->elapsed_seconds); /* clocks may go back */
    const int full = progress->done == progress->total ? progress->width : (int)(fraction * progress->width);
    char bar[WIDEST_BAR + 1], elapsed[40], left[48] = "", ahead[40];

    memset(bar, '.', (size_t)progress->width);
    memset(bar, '#', (size_t)full);
    bar[progress->width] = '\0';
    format_time(seconds, sizeof elapsed, elapsed);
    if (progress->done > 0 && progress->done < progress->total) {
        format_time(seconds * (1.0 / fraction - 1.0), sizeof ahead, ahead);
        (void)snprintf(left, sizeof left, ", %s left", ahead);
    }
    (void)snprintf(text, size, "[%s] %lld/%lld %s, %s elapsed%s%s%s", bar, (long long)progress->done,
                   (long long)progress->total, progress->unit, elapsed, left, progress->note ? ", " : "",
                   progress->note ? progress->note : "");
}
