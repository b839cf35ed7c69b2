/* SPDX-License-Identifier: BSD-3-Clause */
/* A disk that is full at any byte, memory that ends at any allocation: the old file survives, no other file is
 * left next to it, one line says why. The limit on the size of files replaces the disk. */
#include "paradis_files.h"

#include <equipoise/more/io.h>

enum { DATA, LINES, SERIES, KINDS, PAIR = KINDS, NODES = 400 };

static const network *model_network(void)
{
    static network made;

    if (made.n == 0) {
        made = network_loop(NODES);
    }
    return &made;
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
    eqp_vtk_writer *writer;
    int rc = eqp_vtk_begin(path, 1, &writer, message);

    if (rc != EQP_OK) {
        return rc;
    }
    rc = eqp_vtk_add(writer, &piece, message);
    rc = rc != EQP_OK ? rc : eqp_vtk_add(writer, &piece, message);
    if (rc != EQP_OK) {
        eqp_vtk_discard(writer);
        return rc;
    }
    return eqp_vtk_finish(writer, message);
}

static int write_series(const char *path, eqp_message *message)
{
    eqp_vtk_frame frame[NODES];

    for (int i = 0; i < NODES; i++) {
        frame[i] = (eqp_vtk_frame){.path = path, .time = 0.1 * i};
    }
    return eqp_vtk_write_series(path, NODES, frame, message);
}

/* A network at `path` with its parameters next to it. */
static int write_pair(const char *path, eqp_message *message)
{
    char ctrl[2100];

    snprintf(ctrl, sizeof ctrl, "%s.ctrl", path);
    return network_write(path, model_network(), ctrl, &eqp_paradis_control_defaults, message);
}

static int write_some(int kind, const char *path, eqp_message *message)
{
    switch (kind) {
    case PAIR:
        return write_pair(path, message);
    case DATA:
        return network_write(path, model_network(), NULL, NULL, message);
    case LINES:
        return write_lines(path, message);
    default:
        return write_series(path, message);
    }
}

TEST(the_old_file_survives_a_full_disk)
{
    check_full_disk(KINDS, write_some);
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

    assert_ok(write_pair(path, &message));
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
        assert_int_equal(write_pair(path, &message), EQP_ERR_IO);
        limit_files(RLIM_INFINITY);
        assert_int_equal(unlink(ctrl), 0);
        check_old(path);
    }
}

TEST(what_cannot_be_a_file_is_refused)
{
    eqp_message message = {""};

    assert_int_equal(mkdir(in_folder("inner"), 0700), 0);
    for (int kind = 0; kind < KINDS; kind++) {
        assert_int_equal(write_some(kind, in_folder("inner"), &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, "inner: is a directory"));
        assert_int_equal(write_some(kind, in_folder("none/a"), &message), EQP_ERR_IO);
        assert_non_null(strstr(message.text, "No such file"));
    }
    assert_int_equal(files_in_folder(false), 1);
    assert_int_equal(rmdir(in_folder("inner")), 0);
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
    for (int kind = 0; kind <= PAIR; kind++) {
        files_in_folder(true);
        save_text(in_folder("a"), old_text);
        check_memory(kind, in_folder("a"), write_some, check_old);
    }
}

static int read_some(int control, const char *path, eqp_message *message)
{
    eqp_paradis_control found = eqp_paradis_control_defaults;
    network w;

    if (control) {
        return eqp_paradis_control_read(path, &found, NULL, NULL, message);
    }
    const int rc = network_read(path, 1, &w, message);
    if (rc == EQP_ERR_MEMORY && message->text[0] == '\0') {
        eqp_message_set(message, "the test is out of memory");
    }
    network_free(&w);
    return rc;
}

TEST(readers_survive_failing_allocations)
{
    save_text(in_folder("net.0"), replaced(HEADER_TEXT FIRST_TEXT SECOND_TEXT, "Segments =   1", "Segments = 2"));
    save_packed_text(in_folder("net.1.gz"), THIRD_TEXT);
    save_text(in_folder("ctrl"), "rc = 1\n");
    check_memory(0, in_folder("net"), read_some, NULL);
    check_memory(1, in_folder("ctrl"), read_some, NULL);
}
