/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* gethostname */
#include "base/target.h"

#include "base/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum {
    ATTEMPTS = 100,
    HELD_MOST = 400 /* bytes of a lock's text */
};

static const char held[] = "in use by ";

struct eqp_lock {
    char *path; /* owned */
    int fd;     /* -1: the file system has no locks */
};

static int cannot_lock(const char *path, int reason, eqp_message *message)
{
    eqp_message_set(message, "%s: cannot be locked: %s", path, strerror(reason));
    return EQP_ERR_IO;
}

/* Reads the text of the holder, which may not be written yet. */
static int refuse(const char *path, int fd, eqp_message *message)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    char text[HELD_MOST + 1] = "";
    ssize_t n = 0;

    for (int i = 0; i < ATTEMPTS && n <= 0; i++) {
        n = pread(fd, text, HELD_MOST, 0);
        if (n <= 0) {
            (void)nanosleep(&moment, NULL);
        }
    }
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    eqp_message_set(message, "%s: %s", path, text[0] != '\0' ? text : "in use by another run");
    return EQP_ERR_STATE;
}

/* A file of other origin must not be removed at the end. */
static bool is_ours(int fd)
{
    char text[sizeof held] = "";
    ssize_t n = pread(fd, text, sizeof held - 1, 0);

    return n == 0 || (n > 0 && strncmp(text, held, (size_t)n) == 0);
}

/* The lock also works if the disk is too full for its text. */
static void write_holder(int fd, const char *program)
{
    char text[HELD_MOST], host[128] = "";
    int length;

    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') {
        strcpy(host, "this machine");
    }
    length = snprintf(text, sizeof text, "%s%.100s, process %ld on %s\n", held, program, (long)getpid(), host);
    if (ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)length, 0) != length && ftruncate(fd, 0) != 0) {
        return;
    }
}

/* One attempt. EQP_ERR_UNKNOWN: the file was removed before it was locked; try again. */
static int take_once(const char *path, const char *program, int *locked, eqp_message *message)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    int code = EQP_OK;

    if (fd < 0) {
        return cannot_lock(path, errno, message);
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !is_ours(fd)) {
        eqp_message_set(message, "%s: is in the way: no lock file", path);
        code = EQP_ERR_IO;
    } else if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) {
            code = refuse(path, fd, message);
        } else { /* no locks here */
            if (status.st_size == 0) {
                (void)unlink(path);
            }
            (void)close(fd);
            fd = -1;
        }
    } else if (!eqp__is_same_file(fd, AT_FDCWD, path)) {
        code = EQP_ERR_UNKNOWN;
    } else {
        write_holder(fd, program);
    }
    if (code != EQP_OK) {
        (void)close(fd);
        return code;
    }
    *locked = fd;
    return EQP_OK;
}

int eqp_lock_take(const char *path, const char *program, eqp_lock **lock, eqp_message *message)
{
    eqp_lock *l = NULL;
    int code = EQP_ERR_UNKNOWN;

    EQP__FAIL_IF(!path || !path[0] || !program || !lock,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "a lock needs a name and a program"));
    EQP_TRY(eqp_array_create(&l, 1, sizeof *l));
    l->fd = -1;
    EQP_TRY(eqp_array_create(&l->path, (int64_t)strlen(path) + 1, 1));
    strcpy(l->path, path);
    code = EQP_ERR_UNKNOWN;
    for (int i = 0; i < ATTEMPTS && code == EQP_ERR_UNKNOWN; i++) {
        code = take_once(path, program, &l->fd, message);
    }
    if (code == EQP_ERR_UNKNOWN) {
        code = cannot_lock(path, EAGAIN, message);
    }
done:
    if (code == EQP_OK) {
        *lock = l;
        return EQP_OK;
    }
    if (l) {
        free(l->path);
    }
    free(l);
    if (code == EQP_ERR_MEMORY) {
        eqp_message_set(message, "%s: %s", path, eqp_error_text(code));
    }
    return code;
}

void eqp_lock_free(eqp_lock *lock)
{
    if (!lock) {
        return;
    }
    if (lock->fd >= 0) {
        /* Removes the file while it is locked, so that no newer lock file is removed. */
        if (eqp__is_same_file(lock->fd, AT_FDCWD, lock->path)) {
            (void)unlink(lock->path);
        }
        (void)close(lock->fd);
    }
    EQP__FREE(lock->path, lock);
}
