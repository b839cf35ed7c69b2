/* SPDX-License-Identifier: BSD-3-Clause */
/* Every writer on a disk that is full at any byte, in folders that take nothing, with memory that ends at any
 * allocation: the old file survives, no other file is left next to it, one line says why, and the next attempt works. A
 * limit on file sizes simulates the disk. Readers, too, without memory. */
#include "paradis_files.h"

#include <hdf5.h>
#include <sys/wait.h>

/* The first two are written by HDF5. SEVERAL and PAIR are more than one file. */
enum { SNAPSHOT, TABLE, XDMF, NETWORK, LINES, SERIES, KINDS, SEVERAL = KINDS, PAIR };
enum { N = 900, NODES = 400 };

static const eqp_column potential = {"Potential", EQP_KIND_DOUBLE, 1};
static const eqp_attribute step = {.name = "Step", .kind = EQP_KIND_INT64, .integer = 7};

static const network *model_network(void)
{
    static network made;

    if (made.n == 0) {
        made = network_loop(NODES);
    }
    return &made;
}

static const particles *some_particles(void)
{
    static particles made;

    if (made.n == 0) {
        made = model_particles(1, 6, (int64_t[]){0, N, 0, 0, 0, 0}, (double[]){0, 0, 0, 0, 0, 0}, 1, false);
    }
    return &made;
}

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
    const eqp_snapshot_layout l = some_layout(nfiles);
    const particles *p = some_particles();
    const eqp_snapshot_arrays arrays = particles_arrays(p);
    eqp_snapshot_writer *writer = NULL;
    int rc = eqp_snapshot_write_begin(path, &l, &writer, message);

    rc = rc != EQP_OK ? rc : eqp_snapshot_write_slice(writer, N, &arrays, (const void *const[]){p->column[1]}, message);
    if (rc == EQP_OK) {
        return eqp_snapshot_write_finish(writer, message);
    }
    eqp_snapshot_write_discard(writer);
    return rc;
}

static int write_table(const char *path, eqp_message *message)
{
    static const eqp_column column[] = {{"ids", EQP_KIND_UINT64, 1}, {"forces", EQP_KIND_DOUBLE, 3}};
    static uint64_t id[N];
    static double f[N];
    eqp_table_writer *writer = NULL;
    int rc = eqp_table_write_begin(path, N, 2, column, &writer, message);

    rc = rc != EQP_OK ? rc : eqp_table_write_rows(writer, N, (const void *const[]){id, f, f, f}, message);
    if (rc == EQP_OK) {
        return eqp_table_write_finish(writer, message);
    }
    eqp_table_write_discard(writer);
    return rc;
}

static int write_lines(const char *path, eqp_message *message)
{
    static double x[NODES][3];
    static int64_t end[NODES][2];
    const eqp_vtk_piece piece = {.npoints = NODES,
                                 .nlines = NODES,
                                 .x = (const double(*)[3])x,
                                 .end = (const int64_t(*)[2])end,
                                 .burgers = (const double(*)[3])x};
    eqp_vtk_writer *writer = NULL;
    int rc = eqp_vtk_begin(path, 1, &writer, message);

    for (int i = 0; rc == EQP_OK && i < 2; i++) {
        rc = eqp_vtk_add(writer, &piece, message);
    }
    if (rc == EQP_OK) {
        return eqp_vtk_finish(writer, message);
    }
    eqp_vtk_discard(writer);
    return rc;
}

static int write_some(int kind, const char *path, eqp_message *message)
{
    const eqp_snapshot_layout l = some_layout(1);
    eqp_snapshot_frame frame[40];
    eqp_vtk_frame series[NODES];
    char ctrl[2100];

    switch (kind) {
    case TABLE:
        return write_table(path, message);
    case XDMF:
        for (int i = 0; i < COUNT_OF(frame); i++) {
            frame[i] = (eqp_snapshot_frame){path, &l};
        }
        return eqp_snapshot_write_xdmf(path, COUNT_OF(frame), frame, message);
    case NETWORK:
        return network_write(path, model_network(), NULL, NULL, message);
    case LINES:
        return write_lines(path, message);
    case SERIES:
        for (int i = 0; i < NODES; i++) {
            series[i] = (eqp_vtk_frame){.path = path, .time = 0.1 * i};
        }
        return eqp_vtk_write_series(path, NODES, series, message);
    case PAIR: /* a network with its parameters next to it */
        snprintf(ctrl, sizeof ctrl, "%s.ctrl", path);
        return network_write(path, model_network(), ctrl, &eqp_paradis_control_defaults, message);
    default:
        return write_snapshot(path, kind == SEVERAL ? 3 : 1, message);
    }
}

TEST(the_old_file_survives_a_full_disk)
{
    check_full_disk(KINDS, write_some);
}

TEST(no_file_of_several_is_left)
{
    for (rlim_t room = 0; room < 19000; room += 1900) {
        eqp_message message = {""};

        limit_files(room);
        int rc = write_some(SEVERAL, in_folder("a"), &message);
        limit_files(RLIM_INFINITY);
        assert_int_equal(rc, EQP_ERR_IO);
        assert_int_equal(files_in_folder(false), 0);
    }
}

/* A network and its parameters are both replaced or none; and the network has its parameters with it. */
TEST(a_pair_is_replaced_as_a_whole)
{
    const char *path = in_folder("a"), *ctrl = in_folder("a.ctrl");
    char line[1000], own[1000];
    eqp_message message = {""};
    FILE *data, *control;
    off_t size = 0;
    int nsame = 0;

    assert_ok(write_some(PAIR, path, &message));
    assert_int_equal(files_in_folder(false), 2);
    data = fopen(path, "r");
    control = fopen(ctrl, "r");
    assert_true(data && control);
    while (fgets(line, sizeof line, data)) {
        size += (off_t)strlen(line);
        if (strncmp(line, "#= ", 3) == 0) {
            assert_non_null(fgets(own, sizeof own, control));
            assert_string_equal(line + 3, own);
            nsame++;
        }
    }
    assert_null(fgets(own, sizeof own, control));
    assert_true(nsame > 40);
    fclose(data);
    fclose(control);
    for (off_t room = 0; room < size; room += size / 23) {
        save_text(path, old_text);
        save_text(ctrl, old_text);
        limit_files((rlim_t)room);
        assert_int_equal(write_some(PAIR, path, &message), EQP_ERR_IO);
        limit_files(RLIM_INFINITY);
        assert_int_equal(unlink(ctrl), 0);
        check_old(path);
    }
}

/* HDF5 prints no errors at exit, and no open descriptor keeps the disk space in use. */
TEST(a_failed_write_leaves_nothing_open)
{
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
        for (int kind = 0; kind <= TABLE; kind++) {
            failures += write_some(kind, in_folder("a"), NULL) == EQP_ERR_IO;
        }
        limit_files(RLIM_INFINITY);
        exit(failures == 2 && H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL) == 0 ? 0 : 4);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    check_text(in_folder("said"), "");
}

TEST(what_cannot_be_a_file_is_refused)
{
    eqp_message message = {""};

    assert_int_equal(mkdir(in_folder("inner"), 0700), 0);
    assert_int_equal(mkdir(in_folder("closed"), 0700), 0);
    save_text(in_folder("closed/a"), old_text);
    assert_int_equal(chmod(in_folder("closed"), 0500), 0);
    for (int kind = 0; kind < KINDS; kind++) {
        assert_int_equal(write_some(kind, in_folder("inner"), &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, "inner: is a directory"));
        assert_int_equal(write_some(kind, in_folder("none/a"), &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, "No such file"));
        if (geteuid() != 0) { /* who may write everywhere */
            assert_int_equal(write_some(kind, in_folder("closed/a"), &message), EQP_ERR_IO);
            assert_non_null(strstr(message.text, "closed/a"));
            assert_non_null(strstr(message.text, "ermission"));
        }
    }
    assert_int_equal(files_in_folder(false), 2);
    assert_int_equal(chmod(in_folder("closed"), 0700), 0);
    check_text(in_folder("closed/a"), old_text);
    assert_int_equal(unlink(in_folder("closed/a")), 0);
}

/* A write that was begun and given up. */
TEST(what_is_discarded_leaves_nothing)
{
    eqp_paradis_writer *data;
    eqp_vtk_writer *lines;

    save_text(in_folder("a"), old_text);
    assert_ok(eqp_paradis_write_begin(in_folder("a"), &model_network()->header, 0, NULL, &data, NULL));
    eqp_paradis_write_discard(data);
    check_old(in_folder("a"));
    assert_ok(eqp_vtk_begin(in_folder("a"), 0, &lines, NULL));
    eqp_vtk_discard(lines);
    check_old(in_folder("a"));
}

TEST(writers_survive_failing_allocations)
{
    (void)model_network(); /* before anything fails */
    for (int kind = NETWORK; kind <= PAIR; kind++) {
        if (kind != SEVERAL) {
            files_in_folder(true);
            save_text(in_folder("a"), old_text);
            check_memory(kind, in_folder("a"), write_some, check_old);
        }
    }
}

enum { OF_NETWORK, OF_CONTROL, OF_SNAPSHOT };

static int read_some(int kind, const char *path, eqp_message *message)
{
    static double x[N], p[N];
    const eqp_snapshot_arrays arrays = {.x = x};
    eqp_paradis_control control = eqp_paradis_control_defaults;
    eqp_attribute found = {.name = "Step", .kind = EQP_KIND_INT64};
    eqp_snapshot *s = NULL;
    network w;
    int rc;

    if (kind == OF_CONTROL) {
        return eqp_paradis_control_read(path, &control, NULL, NULL, message);
    }
    if (kind == OF_NETWORK) {
        rc = network_read(path, 1, &w, message);
        if (rc == EQP_ERR_MEMORY && message->text[0] == '\0') {
            eqp_message_set(message, "the test is out of memory");
        }
        network_free(&w);
        return rc;
    }
    rc = eqp_snapshot_open(path, &s, message);
    assert_true((s != NULL) == (rc == EQP_OK));
    rc = rc ? rc : eqp_snapshot_read(s, 0, N, &arrays, message);
    rc = rc ? rc : eqp_snapshot_read_column(s, &potential, 0, N, (void *const[]){p}, message);
    rc = rc ? rc : eqp_snapshot_get_attribute(s, &found, message);
    eqp_snapshot_close(s);
    return rc;
}

TEST(readers_survive_failing_allocations)
{
    save_text(in_folder("net.0"), replaced(HEADER_TEXT FIRST_TEXT SECOND_TEXT, "Segments =   1", "Segments = 2"));
    save_packed_text(in_folder("net.1.gz"), THIRD_TEXT);
    save_text(in_folder("ctrl"), "rc = 1\n");
    check_memory(OF_NETWORK, in_folder("net"), read_some, NULL);
    check_memory(OF_CONTROL, in_folder("ctrl"), read_some, NULL);
}

/* HDF5 does not pass on that its driver ran out of memory, so the code may be EQP_ERR_IO. */
TEST(hdf5_files_survive_our_failing_allocations)
{
    static const char *const name[] = {"a", "table", "series", "a"};

    SKIP_IF(!failing_malloc_only_ours());
    (void)some_particles();
    for (int kind = SNAPSHOT; kind <= XDMF + 1; kind++) {
        const char *path = in_folder(name[kind]);
        eqp_message message = {""};
        int64_t k = 0;
        int code;

        for (; FAILING_MALLOC(k, code = kind <= XDMF ? write_some(kind, path, &message)
                                                     : read_some(OF_SNAPSHOT, path, &message));
             k++) {
            assert_true((code == EQP_ERR_MEMORY || code == EQP_ERR_IO) && message.text[0] != '\0');
            message.text[0] = '\0';
        }
        assert_ok(code);
        assert_true(k > 0);
        assert_int_equal(files_in_folder(false), kind <= XDMF ? kind + 1 : 3); /* no temporary file */
    }
}
