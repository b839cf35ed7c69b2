/* SPDX-License-Identifier: BSD-3-Clause */
/* A full disk, at any byte: the old file survives, no other file is left, one line says so, and the next attempt
 * works. A limit on file sizes simulates the disk. The same writers, and a reader, without memory. */
#include "snapshot_files.h"

#include <hdf5.h>
#include <sys/wait.h>

enum { N = 900 };

static const eqp_column potential = {"Potential", EQP_KIND_DOUBLE, 1};
static const eqp_attribute step = {.name = "Step", .kind = EQP_KIND_INT64, .integer = 7};

static eqp_snapshot_layout some_layout(int nfiles)
{
    eqp_snapshot_layout l = eqp_snapshot_layout_defaults();

    l.type_n[1] = N;
    l.nfiles = nfiles;
    l.ncolumns = l.nattributes = 1;
    l.column = &potential;
    l.attribute = &step;
    return l;
}

/* As a caller does it: discards the file at the first error. */
static int write_snapshot(const char *path, int nfiles, eqp_message *message)
{
    eqp_snapshot_layout l = some_layout(nfiles);
    particles p = model_particles(1, 6, (int64_t[]){0, N, 0, 0, 0, 0}, (double[]){0, 0, 0, 0, 0, 0}, 1, false);
    eqp_snapshot_arrays arrays = particles_arrays(&p);
    eqp_snapshot_writer *writer = NULL;
    int rc = eqp_snapshot_write_begin(path, &l, &writer, message);

    rc = rc != EQP_OK ? rc : eqp_snapshot_write_slice(writer, N, &arrays, (const void *const[]){p.column[1]}, message);
    if (rc == EQP_OK) {
        rc = eqp_snapshot_write_finish(writer, message);
    } else {
        eqp_snapshot_write_discard(writer);
    }
    particles_free(&p);
    return rc;
}

static int write_table(const char *path, eqp_message *message)
{
    static const eqp_column column[] = {{"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3}};
    static uint64_t id[N];
    static double f[N];
    const void *const data[] = {id, f, f, f};
    eqp_table_writer *writer = NULL;
    int rc = eqp_table_write_begin(path, N, 2, column, &writer, message);

    rc = rc != EQP_OK ? rc : eqp_table_write_rows(writer, N, data, message);
    if (rc == EQP_OK) {
        return eqp_table_write_finish(writer, message);
    }
    eqp_table_write_discard(writer);
    return rc;
}

static int write_series(const char *path, eqp_message *message)
{
    eqp_snapshot_layout l = some_layout(1);
    eqp_snapshot_frame frame[40];

    for (int i = 0; i < 40; i++) {
        frame[i] = (eqp_snapshot_frame){path, &l};
    }
    return eqp_snapshot_write_xdmf(path, 40, frame, message);
}

static int write_some(int what, const char *path, eqp_message *message)
{
    return what == 0   ? write_snapshot(path, 1, message)
           : what == 1 ? write_table(path, message)
                       : write_series(path, message);
}

TEST(the_old_file_survives_a_full_disk)
{
    check_full_disk(3, write_some);
}

TEST(no_file_of_several_is_left)
{
    for (rlim_t room = 0; room < 19000; room += 1900) {
        eqp_message message = {""};

        limit_files(room);
        int rc = write_snapshot(in_folder("a"), 3, &message);
        limit_files(RLIM_INFINITY);
        assert_int_equal(rc, EQP_ERR_IO);
        assert_int_equal(files_in_folder(false), 0);
    }
}

/* HDF5 prints no errors at exit, and no open descriptor keeps the disk space in use. */
TEST(a_failed_write_leaves_nothing_open)
{
    struct stat status;
    int result;

    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int failures = 0;

        if (!freopen(in_folder("said"), "w", stderr)) {
            _exit(3);
        }
        limit_files(10000);
        for (int what = 0; what < 2; what++) {
            failures += write_some(what, in_folder("a"), NULL) == EQP_ERR_IO;
        }
        limit_files(RLIM_INFINITY);
        exit(failures == 2 && H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) == 0 ? 0 : 4);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    assert_int_equal(stat(in_folder("said"), &status), 0);
    assert_int_equal(status.st_size, 0);
}

TEST(a_folder_that_takes_nothing_is_named)
{
    eqp_message message = {""};
    const char *folder = in_folder("closed"), *path = in_folder("closed/a");

    if (geteuid() == 0) {
        print_message("root may write everywhere\n");
        skip();
    }
    assert_int_equal(mkdir(folder, 0700), 0);
    save_text(path, old_text);
    assert_int_equal(chmod(folder, 0500), 0);
    for (int what = 0; what < 2; what++) {
        assert_int_equal(write_some(what, path, &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, "closed/a"));
        assert_non_null(strstr(message.text, "ermission"));
    }
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(unlink(path), 0);
}

static int read_snapshot(const char *path, eqp_message *message)
{
    static double x[N], p[N];
    eqp_attribute found = {.name = "Step", .kind = EQP_KIND_INT64};
    const eqp_snapshot_arrays arrays = {.x = x};
    eqp_snapshot *s = NULL;
    int code = eqp_snapshot_open(path, &s, message);

    assert_true((s != NULL) == (code == EQP_OK));
    code = code ? code : eqp_snapshot_read(s, 0, N, &arrays, message);
    code = code ? code : eqp_snapshot_read_column(s, &potential, 0, N, (void *const[]){p}, message);
    code = code ? code : eqp_snapshot_get_attribute(s, &found, message);
    eqp_snapshot_close(s);
    return code;
}

/* HDF5 does not pass on that its driver ran out of memory, so the code may be EQP_ERR_IO. Models of particles are
 * allocated by the test. */
TEST(hdf5_files_survive_our_failing_allocations)
{
    static const char *const name[] = {"a", "table", "series", "a"};

    SKIP_IF(!failing_malloc_only_ours());
    for (int what = 0; what < 4; what++) {
        eqp_message message = {""};
        int64_t k = what == 0 ? 9 : 0; /* those of the model */
        int code;

        for (; FAILING_MALLOC(k, code = what < 3 ? write_some(what, in_folder(name[what]), &message)
                                                 : read_snapshot(in_folder("a"), &message));
             k++) {
            assert_true((code == EQP_ERR_MEMORY || code == EQP_ERR_IO) && message.text[0] != '\0');
            message.text[0] = '\0';
        }
        assert_ok(code);
        assert_true(k > 0);
        assert_int_equal(files_in_folder(false), what < 3 ? what + 1 : 3); /* no temporary file */
    }
}
