/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static char folder[1024];

static void remove_folder(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (entry->d_name[0] != '.') {
            (void)unlink(fuzz_path(entry->d_name));
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
    (void)rmdir(folder);
}

const char *fuzz_path(const char *name)
{
    static char path[4][2048];
    static int next;

    if (!folder[0]) {
        const char *base = getenv("TMPDIR");

        (void)snprintf(folder, sizeof folder, "%s/equipoise-fuzz-XXXXXX", base && base[0] ? base : ".");
        fuzz_require(mkdtemp(folder));
        (void)atexit(remove_folder);
    }
    next = (next + 1) % 4;
    (void)snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
    return path[next];
}

void fuzz_save(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    fuzz_require(fd >= 0);
    fuzz_require(write(fd, data, size) == (ssize_t)size);
    fuzz_require(close(fd) == 0);
}
