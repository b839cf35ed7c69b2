/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strndup, extended attributes */
#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_LINKS = 40,    /* as Linux follows */
    MOST_PAUSES = 1000, /* of 10 ms, for a pipe's reader */
    ACL_MOST = 8192     /* bytes of an access control list */
};

bool eqp__is_same_file(int fd, int folder, const char *name)
{
    struct stat open_one, named;

    return fstat(fd, &open_one) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* The descriptor of this process that a link in /proc names; -1 for any other link. */
static int own_descriptor(const char *link)
{
    const char *slash = strrchr(link, '/');
    struct stat folder, proc, named, open_one;
    char *end = NULL, *above = slash ? strndup(link, (size_t)(slash - link)) : NULL;
    const long number = slash && slash[1] >= '0' && slash[1] <= '9' ? strtol(slash + 1, &end, 10) : -1;
    const bool in_proc = above && number >= 0 && number <= INT_MAX && *end == '\0' && stat(above, &folder) == 0 &&
                         stat("/proc/self", &proc) == 0 && folder.st_dev == proc.st_dev;
    const bool ours = in_proc && stat(link, &named) == 0 && fstat((int)number, &open_one) == 0 &&
                      named.st_dev == open_one.st_dev && named.st_ino == open_one.st_ino;

    free(above);
    return ours ? (int)number : -1;
}

/* Replaces the name of a link by its text. 0 or an errno. */
static int follow(char **name)
{
    char text[PATH_MAX + 1], *joined;
    const ssize_t length = readlink(*name, text, sizeof text - 1);
    const char *slash = strrchr(*name, '/');
    size_t folder;

    if (length <= 0) {
        return length < 0 ? errno : ENOENT;
    }
    text[length] = '\0';
    folder = slash && text[0] != '/' ? (size_t)(slash - *name) + 1 : 0;
    joined = malloc(folder + (size_t)length + 1);
    if (!joined) {
        return ENOMEM;
    }
    memcpy(joined, *name, folder);
    strcpy(joined + folder, text);
    free(*name);
    *name = joined;
    return 0;
}

/* Looks at the end of a path, if it exists: a folder is an error; pipes and devices are written directly. */
static int look_behind(const char *path, bool *direct)
{
    struct stat status;

    if (stat(path, &status) != 0) {
        return errno == ENOENT || errno == ELOOP ? 0 : errno;
    }
    *direct = !S_ISREG(status.st_mode);
    return S_ISDIR(status.st_mode) ? EISDIR : 0;
}

int eqp__target_find(const char *path, eqp__target *target)
{
    eqp__target t = {.descriptor = -1};
    char *name = strdup(path);
    bool direct = false;
    int reason = name ? look_behind(path, &direct) : ENOMEM;

    for (int links = 0; reason == 0; links++) {
        t.exists = lstat(name, &t.old) == 0;
        if (!t.exists) {
            reason = errno == ENOENT ? 0 : errno;
            break;
        }
        if (!S_ISLNK(t.old.st_mode)) {
            break;
        }
        t.descriptor = own_descriptor(name);
        if (t.descriptor >= 0) {
            direct = true;
            break;
        }
        reason = links < MOST_LINKS ? follow(&name) : ELOOP;
    }
    if (reason == 0 && !direct && name[strlen(name) - 1] == '/') {
        reason = EISDIR;
    }
    if (reason != 0 || direct) {
        free(name);
        name = NULL;
    }
    t.name = name;
    t.exists = t.exists && !direct;
    *target = t;
    return reason;
}

int eqp__target_open(const char *path, const eqp__target *target, int *fd)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    int flags, opened = -1;

    if (target->descriptor >= 0) {
        opened = fcntl(target->descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        *fd = opened;
        return opened >= 0 ? 0 : errno;
    }
    for (int i = 0; i < MOST_PAUSES && opened < 0; i++) {
        /* without O_NONBLOCK, opening a pipe without a reader would block forever */
        opened = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (opened < 0 && errno != ENXIO && errno != EINTR) {
            break;
        }
        if (opened < 0) {
            (void)nanosleep(&pause, NULL);
            errno = ENXIO;
        }
    }
    flags = opened >= 0 ? fcntl(opened, F_GETFL) : -1;
    if (flags < 0 || fcntl(opened, F_SETFL, flags & ~O_NONBLOCK) < 0) {
        const int reason = errno;
        if (opened >= 0) {
            (void)close(opened);
        }
        return reason;
    }
    *fd = opened;
    return 0;
}

/* Copies the access control list of a file, or removes the list that the folder gave the new file. */
static bool copy_list(int fd, const char *from)
{
    static const char list[] = "system.posix_acl_access";
    char bytes[ACL_MOST];
    const ssize_t n = lgetxattr(from, list, bytes, sizeof bytes);

    if (n >= 0) {
        return fsetxattr(fd, list, bytes, (size_t)n, 0) == 0;
    }
    if (errno == ENODATA) {
        (void)fremovexattr(fd, list);
    }
    return errno != ERANGE;
}

mode_t eqp__target_take_over(int fd, const eqp__target *target)
{
    const struct stat *old = &target->old;
    const mode_t mode = old->st_mode & 01777, others = mode & 07;
    struct stat made;
    bool kept = fstat(fd, &made) == 0;

    if (kept && made.st_gid != old->st_gid) {
        kept = fchown(fd, (uid_t)-1, old->st_gid) == 0;
    }
    if (made.st_uid != old->st_uid) {
        (void)!fchown(fd, old->st_uid, (gid_t)-1); /* only root can */
    }
    kept = copy_list(fd, target->name) && kept;
    return kept ? mode : (mode & ~(mode_t)070) | (mode & (others << 3));
}
