/* SPDX-License-Identifier: BSD-3-Clause */
#define _XOPEN_SOURCE 700 /* realpath */
/* Files appear complete or not at all, with concurrent writers and obstacles in their place; a lock holds a name for
 * one run while that run lives. */
#include "snapshot_files.h"

#include <equipoise/more/base.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static eqp_output *create(const char *path)
{
    eqp_message message = {""};
    eqp_output *output = NULL;

    if (eqp_output_create(path, &output, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
    return output;
}

static const char *temporary_name(void)
{
    static char found[300];
    DIR *folder = opendir(files_folder);
    struct dirent *entry;

    assert_non_null(folder);
    found[0] = '\0';
    while ((entry = readdir(folder))) {
        const char *end = strstr(entry->d_name, ".part");
        if (end) {
            snprintf(found, sizeof found, "%s", entry->d_name);
        }
    }
    closedir(folder);
    assert_true(found[0]);
    return found;
}

TEST(a_file_has_its_name_when_it_is_whole)
{
    save_text(in_folder("a"), "old");
    eqp_output *output = create(in_folder("a"));
    fputs("new", eqp_output_stream(output));
    assert_string_equal(eqp_output_path(output), in_folder("a"));
    check_text(in_folder("a"), "old");
    assert_ok(eqp_output_check(output, NULL));
    assert_ok(eqp_output_commit(output, NULL));
    check_text(in_folder("a"), "new");
    output = create(in_folder("a"));
    fputs("given up", eqp_output_stream(output));
    eqp_output_discard(output);
    check_text(in_folder("a"), "new");
    assert_int_equal(files_in_folder(false), 1);
}

TEST(two_writers_of_one_name_do_not_meet)
{
    eqp_output *one = create(in_folder("a")), *two = create(in_folder("a"));

    assert_int_equal(files_in_folder(false), 2);
    fputs("one", eqp_output_stream(one));
    fputs("two and more", eqp_output_stream(two));
    assert_ok(eqp_output_commit(two, NULL));
    check_text(in_folder("a"), "two and more");
    assert_ok(eqp_output_commit(one, NULL));
    check_text(in_folder("a"), "one");
    assert_int_equal(files_in_folder(false), 1);
}

TEST(a_published_file_grows_under_its_name)
{
    eqp_output *output = create(in_folder("a"));

    fputs("1", eqp_output_stream(output));
    assert_ok(eqp_output_publish(output, NULL));
    check_text(in_folder("a"), "1");
    fputs("2", eqp_output_stream(output));
    assert_ok(eqp_output_publish(output, NULL));
    check_text(in_folder("a"), "12");
    fputs("3", eqp_output_stream(output));
    assert_ok(eqp_output_commit(output, NULL));
    check_text(in_folder("a"), "123");
    /* Published files stay when the rest is discarded. */
    output = create(in_folder("b"));
    fputs("1", eqp_output_stream(output));
    assert_ok(eqp_output_publish(output, NULL));
    eqp_output_discard(output);
    check_text(in_folder("b"), "1");
    assert_int_equal(files_in_folder(false), 2);
}

static void write_new(const char *path, const char *text)
{
    eqp_message message = {""};
    eqp_output *output = create(path);

    fputs(text, eqp_output_stream(output));
    if (eqp_output_commit(output, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
}

static bool is_link(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* Through one or two links, to an existing or missing file, in this folder or another. */
TEST(the_file_behind_a_link_is_replaced)
{
    static const char *const text[][2] = {
        {"a", "precious"}, {"b", "a"}, {"dangling", "none"}, {"far", "folder/there"}, {"absolute", NULL}};
    static const char *const end[] = {"precious", "precious", "none", "folder/there", "folder/there"};

    save_text(in_folder("precious"), "old");
    assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
    for (int i = 0; i < 5; i++) {
        char *target = NULL, whole[2048], *there = realpath(files_folder, NULL);

        assert_non_null(there);
        snprintf(whole, sizeof whole, "%s/folder/there", there);
        free(there);
        assert_int_equal(symlink(text[i][1] ? text[i][1] : whole, in_folder(text[i][0])), 0);
        assert_ok(eqp_output_target(in_folder(text[i][0]), &target, NULL));
        assert_string_equal(target, text[i][1] ? in_folder(end[i]) : whole);
        free(target);
        write_new(in_folder(text[i][0]), text[i][0]);
        check_text(in_folder(end[i]), text[i][0]);
        assert_true(is_link(in_folder(text[i][0])) && !is_link(in_folder(end[i])));
    }
    assert_int_equal(files_in_folder(false), 8); /* and no temporary one */
    assert_int_equal(unlink(in_folder("folder/there")), 0);
}

/* A pipe, a device and the descriptors of this process get the bytes and stay what they are. */
TEST(what_is_no_file_is_written_directly)
{
    char descriptor[2][40], text[8] = "";
    struct stat status;
    eqp_output *output = NULL;
    int ends[2], regular;

    assert_int_equal(pipe(ends), 0);
    snprintf(descriptor[0], sizeof descriptor[0], "/dev/fd/%d", ends[1]);
    snprintf(descriptor[1], sizeof descriptor[1], "/proc/self/fd/%d", ends[1]);
    assert_int_equal(symlink(descriptor[1], in_folder("link")), 0);
    for (int i = 0; i < 3; i++) {
        char *target = text;

        assert_ok(eqp_output_target(i < 2 ? descriptor[i] : in_folder("link"), &target, NULL));
        assert_null(target);
        output = create(i < 2 ? descriptor[i] : in_folder("link"));
        fputs("1", eqp_output_stream(output));
        assert_int_equal(pwrite(eqp_output_descriptor(output), "23", 2, 1), 2); /* a pipe could not */
        assert_ok(eqp_output_commit(output, NULL));
        assert_int_equal(read(ends[0], text, sizeof text - 1), 3);
        assert_string_equal(text, "123");
    }
    /* An output that is discarded, or whose process dies, writes nothing. */
    output = create(descriptor[0]);
    fputs("4", eqp_output_stream(output));
    eqp_output_discard(output);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_true(read(ends[0], text, 1) < 0 && errno == EAGAIN);
    /* A pipe without a reader is an error without a signal. */
    close(ends[0]);
    eqp_message message;
    output = create(descriptor[0]);
    fputs("5", eqp_output_stream(output));
    assert_int_equal(eqp_output_commit(output, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "cannot be written: Broken pipe"));
    close(ends[1]);

    /* Standard output redirected to a file: the file keeps its name and contents and grows. */
    save_text(in_folder("log"), "first, ");
    regular = open(in_folder("log"), O_WRONLY | O_APPEND);
    assert_true(regular >= 0);
    snprintf(descriptor[0], sizeof descriptor[0], "/dev/fd/%d", regular);
    write_new(descriptor[0], "second");
    check_text(in_folder("log"), "first, second");
    close(regular);

    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    ends[0] = open(in_folder("pipe"), O_RDONLY | O_NONBLOCK);
    write_new(in_folder("pipe"), "abc");
    assert_int_equal(read(ends[0], text, sizeof text - 1), 3);
    close(ends[0]);
    assert_true(lstat(in_folder("pipe"), &status) == 0 && S_ISFIFO(status.st_mode));
    write_new("/dev/null", "gone");
    assert_true(stat("/dev/null", &status) == 0 && S_ISCHR(status.st_mode));
    if (access("/dev/full", W_OK) == 0) {
        output = create("/dev/full");
        fputs("x", eqp_output_stream(output));
        assert_int_equal(eqp_output_commit(output, &message), EQP_ERR_IO);
        assert_string_equal(message.text, "/dev/full: cannot be written: No space left on device");
    }
    assert_int_equal(files_in_folder(false), 3);
}

/* An entry that has taken the name meanwhile is replaced only if it is a file. */
TEST(only_files_are_replaced)
{
    for (int kind = 0; kind < 3; kind++) {
        eqp_message message;
        eqp_output *output = create(in_folder("a"));
        struct stat status;

        fputs("new", eqp_output_stream(output));
        assert_int_equal(kind == 0   ? mkfifo(in_folder("a"), 0600)
                         : kind == 1 ? symlink("b", in_folder("a"))
                                     : mkdir(in_folder("a"), 0700),
                         0);
        assert_int_equal(eqp_output_commit(output, &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, "is not a regular file any more"));
        assert_true(lstat(in_folder("a"), &status) == 0 && !S_ISREG(status.st_mode));
        assert_int_equal(files_in_folder(true), 1);
    }
}

static mode_t mode_of(const char *path)
{
    struct stat status;

    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

/* An older file's mode, group and access control list are kept; a new file follows the umask. */
TEST(who_may_read_a_file_stays)
{
    static const mode_t mode[] = {0600, 0640, 0666, 0444, 0000, 0755};
    static const unsigned char acl[] = {
        2, 0,   0,   0,   1,   0,  6, 0, 255, 255, 255, 255, 2,   0,  4, 0, 1, 0,   0,   0,   4,  0, 0,
        0, 255, 255, 255, 255, 16, 0, 4, 0,   255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}; /* u::rw- u:1:r--
                                                                                                       g::--- m::r--
                                                                                                       o::--- */
    const mode_t before = umask(027);
    unsigned char kept[100];
    struct stat status;

    write_new(in_folder("a"), "new");
    assert_int_equal(mode_of(in_folder("a")), 0640);
    assert_int_equal(symlink("a", in_folder("link")), 0);
    for (int i = 0; i < 12; i++) {
        assert_int_equal(chmod(in_folder("a"), mode[i % 6]), 0);
        eqp_output *output = create(in_folder(i < 6 ? "a" : "link"));
        /* The temporary file never has wider permissions than the old file. */
        assert_int_equal(mode_of(in_folder(temporary_name())), mode[i % 6] | 0600);
        assert_ok(eqp_output_publish(output, NULL));
        assert_int_equal(mode_of(in_folder("a")), mode[i % 6]);
        assert_ok(eqp_output_commit(output, NULL));
        assert_int_equal(mode_of(in_folder("a")), mode[i % 6]);
    }
    umask(before);
    if (setxattr(in_folder("a"), "system.posix_acl_access", acl, sizeof acl, 0) == 0) {
        write_new(in_folder("a"), "new");
        assert_int_equal(getxattr(in_folder("a"), "system.posix_acl_access", kept, sizeof kept), sizeof acl);
        assert_memory_equal(kept, acl, sizeof acl);
    }
    if (chown(in_folder("a"), 12345, 23456) == 0) {
        write_new(in_folder("a"), "new");
        assert_int_equal(stat(in_folder("a"), &status), 0);
        assert_true(status.st_uid == 12345 && status.st_gid == 23456);
    }
}

TEST(what_cannot_be_written_is_named)
{
    static const char *const bad[] = {"circle", "folder", "to-folder", "none/a", "folder/"};
    static const char *const why[] = {"cannot be written: Too many levels", "is a directory", "is a directory",
                                      "cannot be written: No such file", "is a directory"};
    eqp_message message;
    eqp_output *output = NULL;

    assert_int_equal(symlink("circle", in_folder("circle")), 0);
    assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
    assert_int_equal(symlink("folder", in_folder("to-folder")), 0);
    for (int i = 0; i < 5; i++) {
        char *target = NULL;
        assert_int_equal(eqp_output_create(in_folder(bad[i]), &output, &message), EQP_ERR_IO);
        assert_int_equal(eqp_output_target(in_folder(bad[i]), &target, NULL), i == 3 ? EQP_OK : EQP_ERR_IO);
        free(target);
        assert_non_null(strstr(message.text, bad[i]));
        assert_non_null(strstr(message.text, why[i]));
    }
    assert_refused(eqp_output_create("", &output, &message));
    assert_null(output);
    assert_int_equal(files_in_folder(false), 3);
    /* A name of maximum length has a temporary name, too. */
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    output = create(in_folder(longest));
    assert_int_equal(strlen(temporary_name()), 255);
    assert_ok(eqp_output_commit(output, NULL));
    assert_int_equal(access(in_folder(longest), F_OK), 0);
}

/* Through a stream or descriptor, before or after publishing: the same message, and nothing more is written. */
TEST(a_full_disk_is_told_in_one_way)
{
    struct rlimit limit, before;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 20000;
    for (int way = 0; way < 4; way++) {
        char text[1000], expected[2100];
        eqp_message message = {""};

        memset(text, 'x', sizeof text);
        save_text(in_folder("a"), "old");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        eqp_output *output = create(in_folder("a"));
        if (way == 1) {
            assert_ok(eqp_output_publish(output, NULL));
        }
        for (int i = 0; i < 100 && way < 2; i++) {
            (void)fwrite(text, 1, sizeof text, eqp_output_stream(output));
        }
        if (way >= 2) {
            assert_true(pwrite(eqp_output_descriptor(output), text, 1, 30000) < 0);
            eqp_output_note(output, errno);
            eqp_output_note(output, ENOSPC);
        }
        if (way == 3) {
            assert_int_equal(eqp_output_check(output, NULL), EQP_ERR_IO);
        }
        int code = eqp_output_commit(output, &message);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(code, EQP_ERR_IO);
        snprintf(expected, sizeof expected, "%s: cannot be written: File too large", in_folder("a"));
        assert_string_equal(message.text, expected);
        assert_int_equal(files_in_folder(false), 1);
        if (way != 1) {
            check_text(in_folder("a"), "old");
        }
    }
}

static int create_and_lock(int kind, const char *path, eqp_message *message)
{
    eqp_output *output = NULL;
    eqp_lock *lock = NULL;
    int code = eqp_output_create(path, &output, message);

    (void)kind;
    code = code == EQP_OK ? eqp_lock_take(in_folder("a.lock"), "test", &lock, message) : code;
    eqp_output_discard(output);
    eqp_lock_free(lock);
    return code;
}

static void check_empty(const char *path)
{
    (void)path;
    assert_int_equal(files_in_folder(false), 0);
}

TEST(failing_allocations_leave_nothing)
{
    check_memory(0, in_folder("a"), create_and_lock, check_empty);
}

/* Runs a function in a process that is killed once it reports ready. */
static void in_a_process_that_is_killed(void (*act)(void))
{
    int ready[2], status;
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        act();
        byte = 'r';
        (void)!write(ready[1], &byte, 1);
        for (;;) {
            pause();
        }
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void leave_parts(void)
{
    static const char *const name[] = {"run", "run.hdf5", "run_000003.data", "run-restart.hdf5", "runner"};

    for (int i = 0; i < 5; i++) {
        eqp_output *output = NULL;
        if (eqp_output_create(in_folder(name[i]), &output, NULL) != EQP_OK) {
            _exit(1);
        }
    }
}

TEST(files_of_dead_writers_are_swept_and_no_others)
{
    static const char *const kept[] = {"run.hdf5.part",        "run.eqp-abcdefgh.par", "run.eqp-ABCDEFGH.part",
                                       "run.download.part",    "run.abcdefgh.part",    "run.eqp-abcdefg.part",
                                       "runeqp-abcdefgh.part", "run_000003.data"};
    const int nkept = COUNT_OF(kept);

    in_a_process_that_is_killed(leave_parts);
    assert_int_equal(files_in_folder(false), 5);
    for (int i = 0; i < nkept; i++) {
        save_text(in_folder(kept[i]), "kept");
    }
    assert_int_equal(symlink("run_000003.data", in_folder("run.eqp-abcdefgh.part")), 0);
    eqp_output *live = create(in_folder("run.hdf5"));
    fputs("whole", eqp_output_stream(live));
    eqp_output_sweep(in_folder("run"));
    /* Files left: the outputs, the link, the live temporary file, and the one of another stem. */
    assert_int_equal(files_in_folder(false), nkept + 3);
    for (int i = 0; i < nkept; i++) {
        check_text(in_folder(kept[i]), "kept");
    }
    assert_ok(eqp_output_commit(live, NULL));
    check_text(in_folder("run.hdf5"), "whole");
    eqp_output_sweep(in_folder("none/run"));
    eqp_output_sweep(in_folder("")); /* all in the folder: the other stem's, too */
    assert_int_equal(files_in_folder(false), nkept + 2);
    /* The temporary file of a link is in the folder of the link's target: the next output into that folder sweeps
     * it. */
    assert_int_equal(symlink("b", in_folder("run")), 0);
    in_a_process_that_is_killed(leave_parts);
    write_new(in_folder("run"), "new");
    eqp_output_sweep(in_folder("run"));
    assert_int_equal(files_in_folder(false), nkept + 5); /* with both names, and runner's */
}

static void leave_lock(void)
{
    eqp_lock *lock = NULL;

    if (eqp_lock_take(in_folder("run.lock"), "dead", &lock, NULL) != EQP_OK) {
        _exit(1);
    }
}

TEST(a_lock_is_had_once_and_names_its_holder)
{
    eqp_message message = {""};
    eqp_lock *lock = NULL, *second = NULL;
    char holder[64];

    in_a_process_that_is_killed(leave_lock);
    assert_int_equal(files_in_folder(false), 1);
    assert_ok(eqp_lock_take(in_folder("run.lock"), "barneshut", &lock, NULL));
    assert_int_equal(eqp_lock_take(in_folder("run.lock"), "other", &second, &message), EQP_ERR_STATE);
    assert_null(second);
    snprintf(holder, sizeof holder, "run.lock: in use by barneshut, process %ld on ", (long)getpid());
    assert_non_null(strstr(message.text, holder));
    eqp_lock_free(lock);
    assert_int_equal(files_in_folder(false), 0);
    assert_ok(eqp_lock_take(in_folder("run.lock"), "other", &second, NULL));
    eqp_lock_free(second);
    assert_int_equal(files_in_folder(false), 0);
}

TEST(what_is_no_lock_file_is_left_alone)
{
    eqp_message message = {""};
    eqp_lock *lock = NULL;

    save_text(in_folder("a.lock"), "precious");
    assert_int_equal(eqp_lock_take(in_folder("a.lock"), "test", &lock, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "a.lock: is in the way"));
    check_text(in_folder("a.lock"), "precious");
    assert_int_equal(symlink("a.lock", in_folder("b.lock")), 0);
    assert_int_equal(eqp_lock_take(in_folder("b.lock"), "test", &lock, NULL), EQP_ERR_IO);
    assert_int_equal(mkfifo(in_folder("c.lock"), 0600), 0);
    assert_int_equal(eqp_lock_take(in_folder("c.lock"), "test", &lock, NULL), EQP_ERR_IO);
    assert_int_equal(eqp_lock_take(in_folder("none/a.lock"), "test", &lock, &message), EQP_ERR_IO);
    assert_non_null(strstr(message.text, "No such file"));
    assert_null(lock);
    check_text(in_folder("a.lock"), "precious");
    assert_int_equal(files_in_folder(false), 3);
}

/* Many processes compete for one name repeatedly: never do two hold it, and no file remains. */
TEST(a_lock_is_never_had_twice)
{
    enum { PROCESSES = 4, ROUNDS = 300 };
    const char *path = in_folder("a.lock"), *witness = in_folder("witness");
    int had = 0;

    fflush(NULL);
    for (int p = 0; p < PROCESSES; p++) {
        pid_t child = fork();

        assert_true(child >= 0);
        for (int i = 0; child == 0 && i < ROUNDS; i++) {
            eqp_lock *lock = NULL;
            if (eqp_lock_take(path, "test", &lock, NULL) == EQP_OK) {
                int fd = open(witness, O_CREAT | O_EXCL | O_WRONLY, 0600);
                if (fd < 0) {
                    _exit(1);
                }
                close(fd);
                unlink(witness);
                eqp_lock_free(lock);
            }
        }
        if (child == 0) {
            exit(0);
        }
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;

        assert_true(wait(&status) > 0);
        had += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    assert_int_equal(had, PROCESSES);
    assert_int_equal(files_in_folder(false), 0);
}
