/* SPDX-License-Identifier: BSD-3-Clause */
/* Files appear whole or not at all, whoever writes beside them and whatever lies in the way; a lock keeps a name for
 * one run, and only as long as that lives. */
#include "snapshot_files.h"

#include "failing_malloc.h"

#include <equipoise/file.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void check_text(const char *path, const char *expected)
{
    char text[256] = "";
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) <= sizeof text - 1);
    fclose(file);
    assert_string_equal(text, expected);
}

static eqp_output *create(const char *path)
{
    eqp_message message = {""};
    eqp_output *output = NULL;

    if (eqp_output_create(path, &output, &message) != EQP_OK) {
        fail_msg("%s", message.text);
    }
    return output;
}

/* The only name in the folder that ends in ".part". */
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

static void a_file_has_its_name_when_it_is_whole(void **state)
{
    eqp_output *output;

    (void)state;
    save_text(in_folder("a"), "old");
    output = create(in_folder("a"));
    fputs("new", eqp_output_stream(output));
    assert_string_equal(eqp_output_path(output), in_folder("a"));
    check_text(in_folder("a"), "old");
    assert_int_equal(eqp_output_check(output, NULL), EQP_OK);
    assert_int_equal(eqp_output_commit(output, NULL), EQP_OK);
    check_text(in_folder("a"), "new");
    output = create(in_folder("a"));
    fputs("given up", eqp_output_stream(output));
    eqp_output_discard(output);
    eqp_output_discard(NULL);
    check_text(in_folder("a"), "new");
    assert_int_equal(files_in_folder(false), 1);
}

static void two_writers_of_one_name_do_not_meet(void **state)
{
    eqp_output *one = create(in_folder("a")), *two = create(in_folder("a"));

    (void)state;
    assert_int_equal(files_in_folder(false), 2);
    fputs("one", eqp_output_stream(one));
    fputs("two and more", eqp_output_stream(two));
    assert_int_equal(eqp_output_commit(two, NULL), EQP_OK);
    check_text(in_folder("a"), "two and more");
    assert_int_equal(eqp_output_commit(one, NULL), EQP_OK);
    check_text(in_folder("a"), "one");
    assert_int_equal(files_in_folder(false), 1);
}

static void a_published_file_grows_under_its_name(void **state)
{
    eqp_output *output = create(in_folder("a"));

    (void)state;
    fputs("1", eqp_output_stream(output));
    assert_int_equal(eqp_output_publish(output, NULL), EQP_OK);
    check_text(in_folder("a"), "1");
    fputs("2", eqp_output_stream(output));
    assert_int_equal(eqp_output_publish(output, NULL), EQP_OK);
    check_text(in_folder("a"), "12");
    fputs("3", eqp_output_stream(output));
    assert_int_equal(eqp_output_commit(output, NULL), EQP_OK);
    check_text(in_folder("a"), "123");
    /* What was published stays when the rest is given up. */
    output = create(in_folder("b"));
    fputs("1", eqp_output_stream(output));
    assert_int_equal(eqp_output_publish(output, NULL), EQP_OK);
    eqp_output_discard(output);
    check_text(in_folder("b"), "1");
    assert_int_equal(files_in_folder(false), 2);
}

static void links_are_replaced_and_never_followed(void **state)
{
    struct stat status;
    eqp_output *output;

    (void)state;
    save_text(in_folder("precious"), "old");
    assert_int_equal(symlink("precious", in_folder("a")), 0);
    output = create(in_folder("a"));
    assert_int_equal(lstat(in_folder(temporary_name()), &status), 0);
    assert_true(S_ISREG(status.st_mode));
    fputs("new", eqp_output_stream(output));
    assert_int_equal(eqp_output_commit(output, NULL), EQP_OK);
    check_text(in_folder("precious"), "old");
    check_text(in_folder("a"), "new");
    assert_int_equal(lstat(in_folder("a"), &status), 0);
    assert_true(S_ISREG(status.st_mode));
}

static void what_cannot_be_written_is_named(void **state)
{
    static const char *const bad[] = {"pipe", "folder", "none/a"};
    static const char *const why[] = {"is not a regular file", "is a directory", "cannot be written: No such file"};
    eqp_message message;
    eqp_output *output = NULL;

    (void)state;
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(eqp_output_create(in_folder(bad[i]), &output, &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, bad[i]));
        assert_non_null(strstr(message.text, why[i]));
    }
    assert_int_equal(eqp_output_create("", &output, &message), EQP_ERR_ARGUMENT);
    assert_int_equal(eqp_output_create(NULL, &output, NULL), EQP_ERR_ARGUMENT);
    assert_null(output);
    assert_int_equal(files_in_folder(false), 2);
    /* The longest name that a folder takes has a temporary one, too. */
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    output = create(in_folder(longest));
    assert_int_equal(strlen(temporary_name()), 255);
    assert_int_equal(eqp_output_commit(output, NULL), EQP_OK);
    assert_int_equal(access(in_folder(longest), F_OK), 0);
}

/* By stream and by descriptor, before and after publishing: the same words, and nothing more is written. */
static void a_full_disk_is_told_in_one_way(void **state)
{
    struct rlimit limit, before;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 20000;
    for (int way = 0; way < 4; way++) {
        char text[1000], expected[2100];
        eqp_message message = {""};
        eqp_output *output;
        int code;

        memset(text, 'x', sizeof text);
        save_text(in_folder("a"), "old");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        output = create(in_folder("a"));
        if (way == 1) {
            assert_int_equal(eqp_output_publish(output, NULL), EQP_OK);
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
        code = eqp_output_commit(output, &message);
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

static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    if (!failing_malloc_works) {
        skip();
    }
    for (int64_t k = 0;; k++) {
        eqp_message message = {""};
        eqp_output *output = NULL;
        eqp_lock *lock = NULL;
        int code, failures;

        failing_malloc_start(k);
        code = eqp_output_create(in_folder("a"), &output, &message);
        code = code == EQP_OK ? eqp_lock_take(in_folder("a.lock"), "test", &lock, &message) : code;
        failures = (int)failing_malloc_stop();
        eqp_output_discard(output);
        eqp_lock_free(lock);
        assert_int_equal(files_in_folder(false), 0);
        if (!failures) {
            assert_int_equal(code, EQP_OK);
            assert_true(k > 3);
            return;
        }
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_non_null(strstr(message.text, "out of memory"));
    }
}

/* Runs one of these in a process that is killed when it says that it is ready. */
static void in_a_process_that_is_killed(void (*act)(void))
{
    int ready[2], status;
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
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

static void files_of_dead_writers_are_swept_and_no_others(void **state)
{
    static const char *const kept[] = {"run.hdf5.part", "run.abcdefgh.par", "run.ABCDEFGH.part", "run_000003.data"};
    eqp_output *live;

    (void)state;
    in_a_process_that_is_killed(leave_parts);
    assert_int_equal(files_in_folder(false), 5);
    for (int i = 0; i < 4; i++) {
        save_text(in_folder(kept[i]), "kept");
    }
    assert_int_equal(symlink("run_000003.data", in_folder("run.abcdefgh.part")), 0);
    live = create(in_folder("run.hdf5"));
    fputs("whole", eqp_output_stream(live));
    eqp_output_sweep(in_folder("run"));
    /* Left: the four, the link, the live one, and that of another stem. */
    assert_int_equal(files_in_folder(false), 7);
    for (int i = 0; i < 4; i++) {
        check_text(in_folder(kept[i]), "kept");
    }
    assert_int_equal(eqp_output_commit(live, NULL), EQP_OK);
    check_text(in_folder("run.hdf5"), "whole");
    eqp_output_sweep(in_folder("none/run"));
    eqp_output_sweep(in_folder("")); /* all in the folder: the other stem's, too */
    assert_int_equal(files_in_folder(false), 6);
    eqp_output_sweep(NULL);
}

static void leave_lock(void)
{
    eqp_lock *lock = NULL;

    if (eqp_lock_take(in_folder("run.lock"), "dead", &lock, NULL) != EQP_OK) {
        _exit(1);
    }
}

static void a_lock_is_had_once_and_names_its_holder(void **state)
{
    eqp_message message = {""};
    eqp_lock *lock = NULL, *second = NULL;
    char holder[64];

    (void)state;
    in_a_process_that_is_killed(leave_lock);
    assert_int_equal(files_in_folder(false), 1);
    assert_int_equal(eqp_lock_take(in_folder("run.lock"), "barneshut", &lock, NULL), EQP_OK);
    assert_int_equal(eqp_lock_take(in_folder("run.lock"), "other", &second, &message), EQP_ERR_STATE);
    assert_null(second);
    snprintf(holder, sizeof holder, "run.lock: in use by barneshut, process %ld on ", (long)getpid());
    assert_non_null(strstr(message.text, holder));
    eqp_lock_free(lock);
    eqp_lock_free(NULL);
    assert_int_equal(files_in_folder(false), 0);
    assert_int_equal(eqp_lock_take(in_folder("run.lock"), "other", &second, NULL), EQP_OK);
    eqp_lock_free(second);
    assert_int_equal(files_in_folder(false), 0);
}

static void what_is_no_lock_file_is_left_alone(void **state)
{
    eqp_message message = {""};
    eqp_lock *lock = NULL;

    (void)state;
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
    assert_int_equal(eqp_lock_take(NULL, "test", &lock, NULL), EQP_ERR_ARGUMENT);
    assert_null(lock);
    check_text(in_folder("a.lock"), "precious");
    assert_int_equal(files_in_folder(false), 3);
}

/* Many processes fight for one name again and again: never do two have it, and in the end no file is left. */
static void a_lock_is_never_had_twice(void **state)
{
    enum { PROCESSES = 4, ROUNDS = 300 };
    const char *path = in_folder("a.lock"), *witness = in_folder("witness");
    int had = 0;

    (void)state;
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
            _exit(0);
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

static int setup(void **state)
{
    signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
    return files_setup(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_file_has_its_name_when_it_is_whole, files_clear),
        cmocka_unit_test_setup(two_writers_of_one_name_do_not_meet, files_clear),
        cmocka_unit_test_setup(a_published_file_grows_under_its_name, files_clear),
        cmocka_unit_test_setup(links_are_replaced_and_never_followed, files_clear),
        cmocka_unit_test_setup(what_cannot_be_written_is_named, files_clear),
        cmocka_unit_test_setup(a_full_disk_is_told_in_one_way, files_clear),
        cmocka_unit_test_setup(failing_allocations_leave_nothing, files_clear),
        cmocka_unit_test_setup(files_of_dead_writers_are_swept_and_no_others, files_clear),
        cmocka_unit_test_setup(a_lock_is_had_once_and_names_its_holder, files_clear),
        cmocka_unit_test_setup(what_is_no_lock_file_is_left_alone, files_clear),
        cmocka_unit_test_setup(a_lock_is_never_had_twice, files_clear),
    };
    return cmocka_run_group_tests(tests, setup, files_teardown);
}
