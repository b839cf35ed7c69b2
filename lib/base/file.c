/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* fopencookie, getentropy, O_PATH */
#include "base/target.h"

#include "base/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    LETTERS = 8,     /* random characters in a temporary name */
    TAIL = 18,       /* ".eqp-XXXXXXXX.part" */
    NAME_MOST = 255, /* bytes of a name in a folder */
    ATTEMPTS = 100
};

static const char letter[] = "abcdefghijklmnopqrstuvwxyz012345", mark[] = ".eqp-", ending[] = ".part";

/* Output for a pipe or a device is kept in an unnamed file until it is published. It can be written in any order, and a
 * run that fails writes none. */
struct eqp_output {
    char *path;                    /* as given by the caller; owned */
    eqp__target target;            /* the file, pipe or device that the path leads to */
    int folder;                    /* folder of the target, held open so that no other folder can replace it */
    char name[NAME_MOST + 1];      /* name of the target in the folder */
    char temporary[NAME_MOST + 1]; /* temporary name in the folder; "" after publication and if none is needed */
    mode_t mode;                   /* mode of the file to be replaced, if any */
    FILE *stream;
    int fd;
    int direct;      /* the pipe or device; -1: none */
    off_t delivered; /* bytes passed on to it */
    bool failed;
    int reason; /* errno of the first failure */
};

static int cannot_write(const char *path, int reason, eqp_message *message)
{
    EQP__FAIL_IF(reason == EISDIR, EQP__SAY(message, EQP_ERR_IO, "%s: is a directory", path));
    eqp_message_set(message, "%s: cannot be written: %s", path,
                    reason == ENXIO ? "nobody reads this pipe, or there is no such device"
                    : reason != 0   ? strerror(reason)
                                    : "the disk does not say why");
    return reason == ENOMEM ? EQP_ERR_MEMORY : EQP_ERR_IO;
}

static int no_memory(const char *path, eqp_message *message)
{
    eqp_message_set(message, "%s: %s", path, eqp_error_text(EQP_ERR_MEMORY));
    return EQP_ERR_MEMORY;
}

void eqp_output_note(eqp_output *output, int reason)
{
    if (output && !output->failed) {
        output->failed = true;
        output->reason = reason;
    }
}

/* Writes for the stream, as stdio does not keep the errno of a failure. */
static ssize_t put_all(void *cookie, const char *data, size_t bytes)
{
    eqp_output *o = cookie;
    size_t done = 0;

    while (done < bytes && !o->failed) {
        ssize_t put = write(o->fd, data + done, bytes - done);

        if (put > 0) {
            done += (size_t)put;
        } else if (put == 0 || errno != EINTR) {
            eqp_output_note(o, put == 0 ? ENOSPC : errno);
        }
    }
    return o->failed ? 0 : (ssize_t)bytes;
}

/* Appends ".eqp-XXXXXXXX.part" to the name, which is cut to keep the result within the limit for names. */
static int make_name(const char *name, char *temporary)
{
    const size_t length = strlen(name);
    unsigned char random[LETTERS];
    char text[LETTERS + 1] = "";

    if (getentropy(random, sizeof random) != 0) {
        return errno;
    }
    for (int i = 0; i < LETTERS; i++) {
        text[i] = letter[random[i] % (sizeof letter - 1)];
    }
    (void)snprintf(temporary, NAME_MOST + 1, "%.*s%s%s%s", (int)(length > NAME_MOST - TAIL ? NAME_MOST - TAIL : length),
                   name, mark, text, ending);
    return 0;
}

/* One attempt: 0, EEXIST to try again, or another errno. */
static int create_once(eqp_output *o, mode_t mode)
{
    int reason = make_name(o->name, o->temporary);

    if (reason != 0) {
        return reason;
    }
    o->fd = openat(o->folder, o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (o->fd < 0) {
        return errno;
    }
    /* A sweeper has removed the file before it was locked, taking it for one of a dead run. */
    if ((flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) ||
        !eqp__is_same_file(o->fd, o->folder, o->temporary)) {
        (void)close(o->fd);
        (void)unlinkat(o->folder, o->temporary, 0);
        o->fd = -1;
        return EEXIST;
    }
    return 0;
}

/* Creates the temporary file of `path`. 0 or an errno. */
static int create_file(eqp_output *o, const char *path, mode_t mode)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
    int reason = folder ? strlen(name) > NAME_MOST ? ENAMETOOLONG : EEXIST : ENOMEM;

    if (reason == EEXIST) {
        strcpy(o->name, name);
        o->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        reason = o->folder < 0 ? errno : EEXIST;
    }
    for (int i = 0; i < ATTEMPTS && reason == EEXIST; i++) {
        reason = create_once(o, mode);
    }
    free(folder);
    return reason;
}

/* Sweeps do not look in the folder of a link's target. */
static void sweep_behind(const eqp_output *o)
{
    if (strcmp(o->path, o->target.name) != 0) {
        eqp_output_sweep(o->target.name);
    }
}

/* Opens the temporary file of a regular target. Only the owner can read it until it is published. */
static int open_replacement(eqp_output *o)
{
    const bool exists = o->target.exists;
    int reason;

    sweep_behind(o);
    reason = create_file(o, o->target.name, exists ? 0600 : 0666);
    if (reason == 0 && exists) {
        o->mode = eqp__target_take_over(o->fd, &o->target);
        reason = fchmod(o->fd, o->mode | 0600) != 0 ? errno : 0;
    }
    return reason;
}

/* Opens an unnamed file for a pipe, device or descriptor, whose folder cannot hold a temporary one. */
static int open_direct(eqp_output *o)
{
    const char *folder = getenv("TMPDIR");
    char *path = NULL;
    int reason = eqp__target_open(o->path, &o->target, &o->direct);

    if (reason == 0 && asprintf(&path, "%s/equipoise", folder && folder[0] ? folder : P_tmpdir) < 0) {
        reason = ENOMEM;
    }
    reason = reason == 0 ? create_file(o, path, 0600) : reason;
    if (reason == 0) {
        (void)unlinkat(o->folder, o->temporary, 0);
        o->temporary[0] = '\0';
    }
    free(path);
    return reason;
}

int eqp_output_create(const char *path, eqp_output **output, eqp_message *message)
{
    static const cookie_io_functions_t through = {.write = put_all};
    eqp_output *o = NULL;
    int code, reason;

    EQP__FAIL_IF(!path || !path[0] || !output, EQP__SAY(message, EQP_ERR_ARGUMENT, "a file needs a name"));
    EQP_TRY(eqp_array_create(&o, 1, sizeof *o));
    o->fd = o->folder = o->direct = -1;
    EQP_TRY(eqp_array_create(&o->path, (int64_t)strlen(path) + 1, 1));
    strcpy(o->path, path);
    reason = eqp__target_find(path, &o->target);
    if (reason == 0) {
        reason = o->target.name ? open_replacement(o) : open_direct(o);
    }
    if (reason != 0) {
        code = cannot_write(path, reason, message);
        goto done;
    }
    o->stream = fopencookie(o, "w", through);
    code = o->stream ? EQP_OK : EQP_ERR_MEMORY;
done:
    if (code == EQP_OK) {
        *output = o;
        return EQP_OK;
    }
    eqp_output_discard(o);
    return code == EQP_ERR_MEMORY ? no_memory(path, message) : code;
}

FILE *eqp_output_stream(eqp_output *output)
{
    return output ? output->stream : NULL;
}

int eqp_output_descriptor(const eqp_output *output)
{
    return output ? output->fd : -1;
}

const char *eqp_output_path(const eqp_output *output)
{
    return output ? output->path : NULL;
}

int eqp_output_check(const eqp_output *output, eqp_message *message)
{
    EQP__FAIL_IF(!output, EQP_ERR_ARGUMENT);
    return output->failed || ferror(output->stream) ? cannot_write(output->path, output->reason, message) : EQP_OK;
}

static int flush(eqp_output *o, eqp_message *message)
{
    if (fflush(o->stream) != 0) {
        eqp_output_note(o, errno);
    }
    return eqp_output_check(o, message);
}

/* Writes bytes to a pipe or device, even a nonblocking one. 0 or an errno. */
static int put_direct(int fd, const char *bytes, size_t n)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};

    while (n > 0) {
        const ssize_t put = write(fd, bytes, n);

        if (put < 0 && errno == EAGAIN) {
            (void)poll(&ready, 1, -1);
        } else if (put == 0 || (put < 0 && errno != EINTR)) {
            return put == 0 ? ENOSPC : errno;
        } else if (put > 0) {
            bytes += put;
            n -= (size_t)put;
        }
    }
    return 0;
}

/* Passes on the bytes written since the last call. */
static void deliver(eqp_output *o)
{
    char block[16384];
    int reason = 0;

    while (reason == 0) {
        const ssize_t n = pread(o->fd, block, sizeof block, o->delivered);

        if (n == 0) {
            return;
        }
        if (n > 0) {
            reason = put_direct(o->direct, block, (size_t)n);
            o->delivered += n;
        } else if (errno != EINTR) {
            reason = errno;
        }
    }
    eqp_output_note(o, reason);
}

/* Blocks SIGPIPE, which would end the program; the write returns an error instead. */
static void deliver_quietly(eqp_output *o)
{
    const struct timespec now = {0};
    sigset_t broken, before, pending;

    (void)sigemptyset(&broken);
    (void)sigaddset(&broken, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &broken, &before);
    deliver(o);
    if (o->reason == EPIPE && !sigismember(&pending, SIGPIPE)) {
        (void)sigtimedwait(&broken, NULL, &now);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Only a regular file is replaced, even if the name has changed meanwhile. */
static int give_name(eqp_output *o, eqp_message *message)
{
    struct stat named;

    EQP__FAIL_IF(fstatat(o->folder, o->name, &named, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(named.st_mode),
                 EQP__SAY(message, EQP_ERR_IO, "%s: is not a regular file any more", o->path));
    if ((o->target.exists && fchmod(o->fd, o->mode) != 0) ||
        renameat(o->folder, o->temporary, o->folder, o->name) != 0) {
        return cannot_write(o->path, errno, message);
    }
    o->temporary[0] = '\0';
    return EQP_OK;
}

int eqp_output_publish(eqp_output *output, eqp_message *message)
{
    int code = output ? flush(output, message) : EQP_ERR_ARGUMENT;

    if (code == EQP_OK && output->direct >= 0) {
        deliver_quietly(output);
        code = eqp_output_check(output, message);
    } else if (code == EQP_OK && output->temporary[0] != '\0') {
        code = give_name(output, message);
    }
    return code;
}

int eqp_output_commit(eqp_output *output, eqp_message *message)
{
    int code = output ? flush(output, message) : EQP_ERR_ARGUMENT;

    /* Syncs the data before the rename: otherwise a crash could leave a damaged file under the name. */
    if (code == EQP_OK && output->direct < 0 && fsync(output->fd) != 0) {
        code = cannot_write(output->path, errno, message);
    }
    code = code == EQP_OK ? eqp_output_publish(output, message) : code;
    eqp_output_discard(output);
    return code;
}

static void close_if_open(int fd)
{
    if (fd >= 0) {
        (void)close(fd);
    }
}

void eqp_output_discard(eqp_output *output)
{
    if (!output) {
        return;
    }
    if (output->temporary[0] != '\0' && output->fd >= 0) {
        (void)unlinkat(output->folder, output->temporary, 0);
    }
    if (output->stream) {
        (void)fclose(output->stream);
    }
    close_if_open(output->fd);
    close_if_open(output->direct);
    close_if_open(output->folder);
    EQP__FREE(output->target.name, output->path, output);
}

/* True for a temporary file name of a target with that stem. */
static bool is_temporary(const char *name, const char *stem, size_t stem_length)
{
    const size_t length = strlen(name);
    const char *tail = length >= stem_length + TAIL ? name + length - TAIL : NULL;

    return tail && strncmp(name, stem, stem_length) == 0 && (stem_length == 0 || strchr("._-", name[stem_length])) &&
           strncmp(tail, mark, sizeof mark - 1) == 0 && strspn(tail + sizeof mark - 1, letter) == LETTERS &&
           strcmp(tail + TAIL - (sizeof ending - 1), ending) == 0;
}

static void remove_dead(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;

    if (fd >= 0) {
        if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
            eqp__is_same_file(fd, folder, name)) {
            (void)unlinkat(folder, name, 0);
        }
        (void)close(fd);
    }
}

void eqp_output_sweep(const char *stem)
{
    const char *slash = stem ? strrchr(stem, '/') : NULL, *base = slash ? slash + 1 : stem;
    char *folder = !stem ? NULL : slash ? strndup(stem, (size_t)(slash - stem) + 1) : strdup(".");
    DIR *dir = folder ? opendir(folder) : NULL;
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (is_temporary(entry->d_name, base, strlen(base))) {
            remove_dead(dirfd(dir), entry->d_name);
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
    free(folder);
}

int eqp_output_target(const char *path, char **target, eqp_message *message)
{
    eqp__target found;
    int reason;

    EQP_REQUIRE(path && path[0] && target);
    reason = eqp__target_find(path, &found);
    if (reason != 0) {
        return cannot_write(path, reason, message);
    }
    *target = found.name;
    return EQP_OK;
}

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
