/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* fopencookie, getentropy */
#include <equipoise/file.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LETTERS = 8,     /* random ones in a temporary name */
    TAIL = 14,       /* ".XXXXXXXX.part" */
    NAME_MOST = 255, /* bytes of a name in a folder */
    ATTEMPTS = 100,
    HELD_MOST = 400 /* bytes of a lock's text */
};

static const char letter[] = "abcdefghijklmnopqrstuvwxyz012345", ending[] = ".part", held[] = "in use by ";

struct eqp_output {
    char *path, *temporary; /* owned; temporary is NULL once the file has its name */
    FILE *stream;
    int fd;
    bool failed;
    int reason; /* errno of the first failure */
};

static int cannot_write(const char *path, int reason, eqp_message *message)
{
    eqp_message_set(message, "%s: cannot be written: %s", path,
                    reason != 0 ? strerror(reason) : "the disk does not say why");
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

/* The stream's way to the disk: stdio itself forgets why it failed. */
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

/* Writes ".XXXXXXXX.part" behind what is kept of the name, which makes the whole no longer than a name may be. */
static int make_name(const char *path, char *temporary)
{
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    size_t length = strlen(path);
    unsigned char random[LETTERS];

    if (getentropy(random, sizeof random) != 0) {
        return errno;
    }
    length = length - folder > NAME_MOST - TAIL ? folder + NAME_MOST - TAIL : length;
    memcpy(temporary, path, length);
    temporary[length++] = '.';
    for (int i = 0; i < LETTERS; i++) {
        temporary[length++] = letter[random[i] % (sizeof letter - 1)];
    }
    strcpy(temporary + length, ending);
    return 0;
}

static bool is_same(int fd, const char *path)
{
    struct stat open_one, named;

    return fstat(fd, &open_one) == 0 && lstat(path, &named) == 0 && open_one.st_dev == named.st_dev &&
           open_one.st_ino == named.st_ino;
}

/* One attempt. 0, EEXIST where another is to be made, or why not. */
static int create_once(eqp_output *o)
{
    int reason = make_name(o->path, o->temporary);

    if (reason != 0) {
        return reason;
    }
    o->fd = open(o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (o->fd < 0) {
        return errno;
    }
    /* A sweeper that came before the lock has taken the file for one of a dead run. */
    if ((flock(o->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || !is_same(o->fd, o->temporary)) {
        (void)close(o->fd);
        (void)unlink(o->temporary);
        o->fd = -1;
        return EEXIST;
    }
    return 0;
}

static int check_target(const char *path, eqp_message *message)
{
    struct stat status;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        eqp_message_set(message, S_ISDIR(status.st_mode) ? "%s: is a directory" : "%s: is not a regular file", path);
        return EQP_ERR_IO;
    }
    return EQP_OK;
}

int eqp_output_create(const char *path, eqp_output **output, eqp_message *message)
{
    static const cookie_io_functions_t through = {.write = put_all};
    eqp_output *o = NULL;
    int code, reason = EEXIST;

    if (!path || !path[0] || !output) {
        eqp_message_set(message, "a file needs a name");
        return EQP_ERR_ARGUMENT;
    }
    EQP_TRY(check_target(path, message));
    EQP_TRY(eqp_array_create(&o, 1, sizeof *o));
    o->fd = -1;
    EQP_TRY(eqp_array_create(&o->path, (int64_t)strlen(path) + 1, 1));
    EQP_TRY(eqp_array_create(&o->temporary, (int64_t)strlen(path) + TAIL + 1, 1));
    strcpy(o->path, path);
    for (int i = 0; i < ATTEMPTS && reason == EEXIST; i++) {
        reason = create_once(o);
    }
    if (reason != 0) {
        free(o->temporary);
        o->temporary = NULL;
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
    if (!output) {
        return EQP_ERR_ARGUMENT;
    }
    return output->failed || ferror(output->stream) ? cannot_write(output->path, output->reason, message) : EQP_OK;
}

static int flush(eqp_output *o, eqp_message *message)
{
    if (fflush(o->stream) != 0) {
        eqp_output_note(o, errno);
    }
    return eqp_output_check(o, message);
}

int eqp_output_publish(eqp_output *output, eqp_message *message)
{
    int code = output ? flush(output, message) : EQP_ERR_ARGUMENT;

    if (code == EQP_OK && output->temporary) {
        if (rename(output->temporary, output->path) != 0) {
            return cannot_write(output->path, errno, message);
        }
        free(output->temporary);
        output->temporary = NULL;
    }
    return code;
}

int eqp_output_commit(eqp_output *output, eqp_message *message)
{
    int code = output ? flush(output, message) : EQP_ERR_ARGUMENT;

    /* The data first: a name that points at data which never reached the disk would be a damaged file after a crash. */
    if (code == EQP_OK && fsync(output->fd) != 0) {
        code = cannot_write(output->path, errno, message);
    }
    code = code == EQP_OK ? eqp_output_publish(output, message) : code;
    eqp_output_discard(output);
    return code;
}

void eqp_output_discard(eqp_output *output)
{
    if (!output) {
        return;
    }
    if (output->temporary && output->fd >= 0) {
        (void)unlink(output->temporary);
    }
    if (output->stream) {
        (void)fclose(output->stream);
    }
    if (output->fd >= 0) {
        (void)close(output->fd);
    }
    free(output->temporary);
    free(output->path);
    free(output);
}

/* Is that the name of a temporary file of a target with that stem? */
static bool is_temporary(const char *name, const char *stem, size_t stem_length)
{
    const size_t length = strlen(name);
    const char *tail = name + length - TAIL;

    return length > stem_length + TAIL - 1 && strncmp(name, stem, stem_length) == 0 &&
           (stem_length == 0 || strchr("._-", name[stem_length])) && tail[0] == '.' &&
           strspn(tail + 1, letter) == LETTERS && strcmp(tail + 1 + LETTERS, ending) == 0;
}

static void remove_dead(const char *path)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_same(fd, path)) {
            (void)unlink(path);
        }
        (void)close(fd);
    }
}

void eqp_output_sweep(const char *stem)
{
    const char *slash = stem ? strrchr(stem, '/') : NULL, *base = slash ? slash + 1 : stem;
    const size_t folder = slash ? (size_t)(slash - stem) + 1 : 0;
    char *path = stem ? malloc(folder + NAME_MOST + 2) : NULL;
    struct dirent *entry;
    DIR *dir;

    if (!path) {
        return;
    }
    memcpy(path, stem, folder);
    strcpy(path + folder, ".");
    dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        if (strlen(entry->d_name) <= NAME_MOST && is_temporary(entry->d_name, base, strlen(base))) {
            strcpy(path + folder, entry->d_name);
            remove_dead(path);
        }
    }
    if (dir) {
        (void)closedir(dir);
    }
    free(path);
}

struct eqp_lock {
    char *path; /* owned */
    int fd;     /* -1: the file system has no locks */
};

static int cannot_lock(const char *path, int reason, eqp_message *message)
{
    eqp_message_set(message, "%s: cannot be locked: %s", path, strerror(reason));
    return EQP_ERR_IO;
}

/* What the holder writes; it may just be about to. */
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

/* A file that no run of ours has written must not be removed at the end. */
static bool is_ours(int fd)
{
    char text[sizeof held] = "";
    ssize_t n = pread(fd, text, sizeof held - 1, 0);

    return n == 0 || (n > 0 && strncmp(text, held, (size_t)n) == 0);
}

/* A disk that is too full for a line does not make the lock a worse one. */
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

/* One attempt. EQP_ERR_UNKNOWN: the file was removed before it was locked; make another one. */
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
    } else if (!is_same(fd, path)) {
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

    if (!path || !path[0] || !program || !lock) {
        eqp_message_set(message, "a lock needs a name and a program");
        return EQP_ERR_ARGUMENT;
    }
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
    return code == EQP_ERR_MEMORY ? no_memory(path, message) : code;
}

void eqp_lock_free(eqp_lock *lock)
{
    if (!lock) {
        return;
    }
    if (lock->fd >= 0) {
        /* While it is locked, so that nobody's newer file is removed. */
        if (is_same(lock->fd, lock->path)) {
            (void)unlink(lock->path);
        }
        (void)close(lock->fd);
    }
    free(lock->path);
    free(lock);
}
