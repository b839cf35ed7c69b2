/* SPDX-License-Identifier: BSD-3-Clause */
/* Whatever allocation fails, opening and reading fail as a whole, with a code, a line and nothing kept. HDF5's own
 * allocations are not ours to test. */
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

/* Opens and reads with ever more allocations that succeed, until all do. */
static void fail_one_by_one(const char *path)
{
    double x[4], vx[4], m[4];
    int64_t id[4];
    const eqp_snapshot_arrays arrays = {.x = x, .vx = vx, .m = m, .id = id};

    if (!failing_malloc_works) {
        skip();
    }
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

static void opening_and_reading_survive_failing_allocations(void **state)
{
    bytes gadget = gadget_file(), tipsy = tipsy_file();

    (void)state;
    save(in_folder("gadget"), &gadget);
    save(in_folder("tipsy"), &tipsy);
    save_text(in_folder("text"), "1 2 3 4 5 6 7\n1 2 3 4 5 6 7\n");
    free(gadget.p);
    free(tipsy.p);
    fail_one_by_one(in_folder("gadget"));
    fail_one_by_one(in_folder("tipsy"));
    fail_one_by_one(in_folder("text"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_and_reading_survive_failing_allocations),
    };
    return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
