/* SPDX-License-Identifier: BSD-3-Clause */
/* Any failing allocation makes opening or reading fail with a code and a line, without leaks. */
#include "gadget_files.h"

#include "failing_malloc.h"

static void save_tipsy(const char *path)
{
    bytes b = {0};

    put_real(&b, 0, 8, true);
    for (int k = 0; k < 6; k++) {
        put_word(&b, k == 0 || k == 3 ? 1 : k == 1 ? 3 : 0, 4, true);
    }
    while (b.n < 32 + 36) {
        put_word(&b, 0, 4, true);
    }
    save(path, &b);
    free(b.p);
}

TEST(opening_and_reading_survive_failing_allocations)
{
    static const char *const name[] = {"gadget", "tipsy", "text"};

    SKIP_IF(!failing_malloc_works);
    save_spec(in_folder("gadget"), &mixed);
    save_tipsy(in_folder("tipsy"));
    save_text(in_folder("text"), "1 2 3 4 5 6 7\n1 2 3 4 5 6 7\n");
    for (int i = 0; i < COUNT_OF(name); i++) {
        double x[10], vx[10], m[10];
        int64_t id[10], k = 0;
        const eqp_snapshot_arrays arrays = {.x = x, .vx = vx, .m = m, .id = id};
        int code = EQP_ERR_MEMORY;

        for (; code != EQP_OK; k++) {
            eqp_message message = {""};
            eqp_snapshot *s = NULL;

            failing_malloc_start(k);
            code = eqp_snapshot_open(in_folder(name[i]), &s, &message);
            assert_true((s != NULL) == (code == EQP_OK));
            code = code ? code : eqp_snapshot_read(s, 0, eqp_snapshot_get_info(s)->n, &arrays, &message);
            const int64_t failures = failing_malloc_stop();
            eqp_snapshot_close(s);
            if (code != EQP_OK && (failures == 0 || code != EQP_ERR_MEMORY || !strstr(message.text, "out of memory"))) {
                fail_msg("%s, allocation %lld: %d '%s'", name[i], (long long)k, code, message.text);
            }
        }
        assert_true(k > 4);
    }
}
