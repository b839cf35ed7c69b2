/* SPDX-License-Identifier: BSD-3-Clause */
/* Any failing allocation makes opening or reading fail with a code and a line, without leaks. Allocations inside HDF5
 * do not fail here. */
#include "snapshot_files.h"

#include "failing_malloc.h"

static bytes gadget_file(void)
{
    bytes b = {0};

    put_word(&b, 256, 4, false);
    put_word(&b, 0, 4, false);
    put_word(&b, 2, 4, false);
    while (b.n < 260) {
        put_word(&b, 0, 4, false);
    }
    put_word(&b, 256, 4, false);
    for (int block = 0; block < 4; block++) {
        uint64_t length = block < 2 ? 24 : 8;

        put_word(&b, length, 4, false);
        for (uint64_t i = 0; i < length / 4; i++) {
            put_real(&b, 1, 4, false);
        }
        put_word(&b, length, 4, false);
    }
    return b;
}

static bytes tipsy_file(void)
{
    bytes b = {0};

    put_real(&b, 0, 8, true);
    put_word(&b, 1, 4, true);
    put_word(&b, 3, 4, true);
    put_word(&b, 0, 4, true);
    put_word(&b, 1, 4, true);
    put_word(&b, 0, 8, true);
    while (b.n < 32 + 36) {
        put_word(&b, 0, 4, true);
    }
    return b;
}

/* Fails the first allocation, then the second, and so on, until opening and reading succeed. */
static void fail_one_by_one(const char *path)
{
    double x[4], vx[4], m[4];
    int64_t id[4];
    const eqp_snapshot_arrays arrays = {.x = x, .vx = vx, .m = m, .id = id};

    SKIP_IF(!failing_malloc_works);
    for (int64_t k = 0;; k++) {
        eqp_message message = {""};
        eqp_snapshot *s = NULL;
        int code, failures;

        failing_malloc_start(k);
        code = eqp_snapshot_open(path, &s, &message);
        if (code == EQP_OK) {
            code = eqp_snapshot_read(s, 0, eqp_snapshot_get_info(s)->n, &arrays, &message);
        } else {
            assert_null(s);
        }
        failures = (int)failing_malloc_stop();
        eqp_snapshot_close(s);
        if (code == EQP_OK) {
            assert_true(k > 3);
            return;
        }
        assert_true(failures > 0);
        assert_int_equal(code, EQP_ERR_MEMORY);
        assert_non_null(strstr(message.text, "out of memory"));
    }
}

TEST(opening_and_reading_survive_failing_allocations)
{
    bytes gadget = gadget_file(), tipsy = tipsy_file();

    save(in_folder("gadget"), &gadget);
    save(in_folder("tipsy"), &tipsy);
    save_text(in_folder("text"), "1 2 3 4 5 6 7\n1 2 3 4 5 6 7\n");
    free(gadget.p);
    free(tipsy.p);
    fail_one_by_one(in_folder("gadget"));
    fail_one_by_one(in_folder("tipsy"));
    fail_one_by_one(in_folder("text"));
}

/* Four particles in two files, with one further column and one attribute. */
enum { N = 4, NFILES = 2 };

static const double ones[N] = {1, 1, 1, 1};
static const int64_t ids[N] = {3, 1, 4, 2};
static const eqp_column potential = {"Potential", EQP_KIND_DOUBLE, 1};
static const eqp_attribute step = {.name = "Step", .kind = EQP_KIND_INT64, .integer = 7};

static eqp_snapshot_layout layout_of_all(void)
{
    eqp_snapshot_layout layout = eqp_snapshot_layout_defaults();

    layout.type_n[0] = layout.type_n[1] = N / 2;
    layout.nfiles = NFILES;
    layout.ncolumns = 1;
    layout.column = &potential;
    layout.nattributes = 1;
    layout.attribute = &step;
    return layout;
}

static int write_snapshot(eqp_message *message)
{
    const eqp_snapshot_layout layout = layout_of_all();
    const eqp_snapshot_arrays arrays = {
        .x = (double *)ones, .y = (double *)ones, .z = (double *)ones, .m = (double *)ones, .id = (int64_t *)ids};
    const void *const data[] = {ones};
    eqp_snapshot_writer *writer = NULL;
    int code = eqp_snapshot_write_begin(in_folder("several"), &layout, &writer, message);

    code = code != EQP_OK ? code : eqp_snapshot_write_slice(writer, N, &arrays, data, message);
    if (code == EQP_OK) {
        return eqp_snapshot_write_finish(writer, message);
    }
    eqp_snapshot_write_discard(writer);
    return code;
}

static int read_snapshot(eqp_message *message)
{
    double x[N], p[N];
    eqp_attribute found = {.name = "Step", .kind = EQP_KIND_INT64};
    void *const data[] = {p};
    const eqp_snapshot_arrays arrays = {.x = x};
    eqp_snapshot *s = NULL;
    int code = eqp_snapshot_open(in_folder("several.0.hdf5"), &s, message);
    if (code == EQP_OK) {
        code = eqp_snapshot_read(s, 0, N, &arrays, message);
        code = code != EQP_OK ? code : eqp_snapshot_read_column(s, &potential, 0, N, data, message);
        code = code != EQP_OK ? code : eqp_snapshot_get_attribute(s, &found, message);
    } else {
        assert_null(s);
    }
    eqp_snapshot_close(s);
    return code;
}

static int write_table(eqp_message *message)
{
    const void *const data[] = {ones};
    eqp_table_writer *writer = NULL;
    int code = eqp_table_write_begin(in_folder("table"), N, 1, &potential, &writer, message);

    code = code != EQP_OK ? code : eqp_table_write_rows(writer, N, data, message);
    if (code == EQP_OK) {
        return eqp_table_write_finish(writer, message);
    }
    eqp_table_write_discard(writer);
    return code;
}

static int write_xdmf(eqp_message *message)
{
    const eqp_snapshot_layout layout = layout_of_all();
    const eqp_snapshot_frame frame = {in_folder("several"), &layout};

    return eqp_snapshot_write_xdmf(in_folder("several.xdmf"), 1, &frame, message);
}

/* HDF5 does not pass on that its driver ran out of memory, so the code is EQP_ERR_IO. */
static void fail_call_one_by_one(int (*call)(eqp_message *message))
{
    eqp_message message = {""};
    int64_t k = 0;
    int code;
    for (; FAILING_MALLOC(k, code = call(&message)); k++) {
        assert_true(code == EQP_ERR_MEMORY || code == EQP_ERR_IO);
        assert_true(message.text[0] != '\0');
        message.text[0] = '\0';
    }
    assert_ok(code);
    assert_true(k > 0);
}

TEST(hdf5_files_survive_our_failing_allocations)
{
    SKIP_IF(!failing_malloc_only_ours());
    fail_call_one_by_one(write_snapshot);
    fail_call_one_by_one(read_snapshot);
    fail_call_one_by_one(write_table);
    fail_call_one_by_one(write_xdmf);
    /* No temporary file is left: two snapshots, a table and an XDMF file. */
    assert_int_equal(files_in_folder(false), NFILES + 2);
}
