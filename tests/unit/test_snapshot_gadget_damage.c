/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET formats 1 and 2: every damage is refused and named. */
#include "gadget_files.h"

/* A file of `mixed` with another number at this place. */
static void save_changed(size_t at, double value)
{
    bytes file = file_of(&mixed), number = {0};

    put_real(&number, value, 4, false);
    memcpy(file.p + at, number.p, 4);
    save(in_folder("a"), &file);
    free(number.p);
    free(file.p);
}

TEST(a_set_that_does_not_fit_together_is_refused)
{
    spec s = mixed;

    save_set("a.%d");
    unlink(in_folder("a.1"));
    refuse_open(in_folder("a.2"), EQP_ERR_IO, "a.1");
    save_set("b.%d");
    s.nfiles = 3;
    memcpy(s.n, three[1], sizeof three[1]);
    s.total[1]++;
    save_spec(in_folder("b.1"), &s);
    refuse_open(in_folder("b.0"), EQP_ERR_FORMAT, "disagrees");
    s = mixed;
    s.nfiles = 2;
    save_spec(in_folder("nonumber"), &s);
    refuse_open(in_folder("nonumber"), EQP_ERR_FORMAT, "no file number");
    save_spec(in_folder("c.5"), &s);
    refuse_open(in_folder("c.5"), EQP_ERR_FORMAT, "number 5");
    s.nfiles = INT32_MAX;
    save_spec(in_folder("d.0"), &s);
    refuse_open(in_folder("d.0"), EQP_ERR_IO, "d.1");
}

TEST(damaged_records_are_refused)
{
    bytes file = file_of(&mixed);

    /* The length after the header, after the positions, before the velocities. */
    for (int k = 0; k < 3; k++) {
        size_t at = k == 0 ? 260 : k == 1 ? 264 + 4 + 120 : 264 + 128;

        file.p[at] ^= 0x10;
        save(in_folder("a"), &file);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, "");
        file.p[at] ^= 0x10;
    }
    save(in_folder("a"), &file);
    eqp_snapshot_close(open_good(in_folder("a")));
    free(file.p);
}

TEST(counts_that_lie_are_refused)
{
    static const int64_t lie[] = {2, 4, INT32_MAX, (int64_t)1 << 31, UINT32_MAX};

    for (int k = 0; k < 5; k++) {
        spec s = mixed;
        bytes file = file_of(&s), header;

        s.n[1] = lie[k] == 4 ? 5 : lie[k];
        s.total[1] = s.n[1];
        for (int all = 0; all < 2; all++) { /* in one type, and in all six */
            for (int t = 0; t < TYPES && all; t++) {
                s.n[t] = s.n[1];
            }
            header = header_of(&s);
            memcpy(file.p + 4, header.p, 256);
            save(in_folder("a"), &file);
            refuse_open(in_folder("a"), EQP_ERR_FORMAT, "POS");
            free(header.p);
        }
        free(file.p);
    }
}

TEST(values_that_cannot_be_used_are_named)
{
    static const struct {
        size_t at;
        float value;
        const char *what;
    } bad[] = {{POS + 12 * 4, NAN, "particle 4: x is not a number"},
               {POS + 12 * 9 + 8, -INFINITY, "particle 9: z is infinite"},
               {VEL + 4, INFINITY, "particle 0: vy is infinite"},
               {VEL + 12 * 7 + 8, NAN, "particle 7: vz is not a number"},
               {MASS + 4 * 2, NAN, "particle 2: mass is not a number"},
               {MASS + 4 * 3, -1, "particle 7: mass is negative"}};

    for (int k = 0; k < 6; k++) {
        save_changed(bad[k].at, (double)bad[k].value);
        refuse_read(in_folder("a"), EQP_ERR_DATA, bad[k].what);
    }
}

TEST(a_slice_beside_a_bad_value_is_good)
{
    FREED_BY(particles_free) particles p = particles_new(4);
    eqp_snapshot_arrays arrays = particles_arrays(&p);

    save_changed(POS + 12 * 4, (double)NAN);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    read_good(s, 0, &p);
    read_good(s, 5, &p);
    assert_int_equal(eqp_snapshot_read(s, 1, 4, &arrays, NULL), EQP_ERR_DATA);
    arrays.x = NULL;
    assert_ok(eqp_snapshot_read(s, 1, 4, &arrays, NULL));
}

TEST(millions_of_empty_blocks_are_refused)
{
    bytes file = file_of(&mixed);

    for (int i = 0; i < 5000; i++) {
        put_word(&file, 0, 8, false);
    }
    save(in_folder("a"), &file);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "more than 4096 blocks");
    free(file.p);
}

/* A header without totals is valid. */
TEST(a_header_with_impossible_numbers_is_refused)
{
    static const struct {
        double time, mass;
        int nfiles;
        int64_t total;
        int code;
        const char *why;
    } bad[] = {{NAN, 2.5, 1, 4, EQP_ERR_FORMAT, "time"},
               {0, -1, 1, 4, EQP_ERR_DATA, "mass"},
               {0, 2.5, -1, 4, EQP_ERR_FORMAT, "files"},
               {0, 2.5, 1, 77, EQP_ERR_FORMAT, "77"}};
    spec s = mixed;

    for (int k = 0; k < COUNT_OF(bad); k++) {
        s.time = bad[k].time;
        s.mass[1] = bad[k].mass;
        s.nfiles = bad[k].nfiles;
        s.total[1] = bad[k].total;
        save_spec(in_folder("a"), &s);
        refuse_open(in_folder("a"), bad[k].code, bad[k].why);
    }
    s = mixed;
    memset(s.total, 0, sizeof s.total);
    s.nfiles = 0;
    save_spec(in_folder("a"), &s);
    eqp_snapshot_close(open_good(in_folder("a")));
}
