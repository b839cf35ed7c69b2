/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET formats 1 and 2: every variant gives the same particles, every slice those of the whole. */
#include "gadget_files.h"

TEST(every_variant_gives_the_same_particles)
{
    for (int variant = 0; variant < 32; variant++) {
        spec s = mixed;
        char name[32];

        s.format = variant & 1 ? 2 : 1;
        s.big = variant & 2;
        s.real = variant & 4 ? 8 : 4;
        s.id = variant & 8 ? 8 : 4;
        s.energy = variant & 16;
        save_spec(in_folder("a"), &s);
        FREED_BY(particles_free) particles whole = model_particles(1, TYPES, s.n, s.mass, 1, s.id == 8);
        check_slices(in_folder("a"), &whole);
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        snprintf(name, sizeof name, "GADGET format %d", s.format);
        assert_string_equal(eqp_snapshot_get_info(opened)->format, name);
        assert_true(eqp_snapshot_get_info(opened)->has_ids);
        assert_memory_equal(eqp_snapshot_get_info(opened)->type_n, s.n, sizeof s.n);
        if (variant < 4) {
            check_format(&whole, 1, false);
        }
    }
}

TEST(headers_of_gadget_4_give_the_same_particles)
{
    for (int variant = 0; variant < 48; variant++) {
        spec s = mixed;

        s.own = 1 + variant % 4;
        s.own_types = variant < 16 ? TYPES : variant < 32 ? TYPES - 1 : TYPES + 2; /* the last type is empty */
        s.format = variant & 4 ? 2 : 1;
        s.big = variant & 8;
        save_spec(in_folder("a"), &s);
        FREED_BY(particles_free) particles whole = model_particles(1, TYPES, s.n, s.mass, 1, false);
        check_slices(in_folder("a"), &whole);
        eqp_snapshot *opened = open_good(in_folder("a"));
        assert_true(eqp_snapshot_get_info(opened)->box_size == 50);
        assert_int_equal(eqp_snapshot_get_info(opened)->ntypes, s.own_types);
        eqp_snapshot_close(opened);
        if (variant < 2) {
            check_format(&whole, 7, false);
        }
    }
}

/* A mass in the header has precedence, whether the block holds all masses, the missing ones only, or none. */
TEST(masses_of_the_header_come_before_those_of_the_block)
{
    static const struct {
        double mass[MOST_TYPES];
        bool both;
    } cases[] = {{{0, 2.5, 0, 0, 8, 0}, true}, {{3, 3, 3, 3, 3, 3}, true}, {{1, 2, 0, 4, 5, 0}, false}, {{0}, false}};

    for (int k = 0; k < COUNT_OF(cases); k++) {
        spec s = mixed;
        s.format = 2;
        s.both = cases[k].both;
        memcpy(s.mass, cases[k].mass, sizeof s.mass);
        save_spec(in_folder("a"), &s);
        FREED_BY(particles_free) particles whole = model_particles(1, TYPES, s.n, s.mass, 1, false);
        check_slices(in_folder("a"), &whole);
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        assert_int_equal(strstr(eqp_snapshot_get_info(opened)->note.text, "block MASS") != NULL, s.both);
    }
}

TEST(ids_that_are_not_there_follow_the_order)
{
    spec s = mixed;
    particles whole = model_particles(1, TYPES, s.n, s.mass, 0, false);

    s.format = 2;
    s.id = 0;
    save_spec(in_folder("a"), &s);
    check_slices(in_folder("a"), &whole);
    eqp_snapshot *opened = open_good(in_folder("a"));
    assert_false(eqp_snapshot_get_info(opened)->has_ids);
    eqp_snapshot_close(opened);
    particles_free(&whole);
    s.at_rest = true;
    s.id = 4;
    save_spec(in_folder("a"), &s);
    opened = open_good(in_folder("a"));
    assert_false(eqp_snapshot_get_info(opened)->has_velocities);
    assert_string_equal(eqp_snapshot_get_info(opened)->note.text, "");
    eqp_snapshot_close(opened);
}

/* Missing velocities are 0, missing masses equal, and the note names the last block. */
TEST(last_blocks_may_be_missing)
{
    static const char *const last[] = {"POS:", "VEL:", "ID:"};
    const size_t end[] = {VEL - 4, ID - 4, MASS - 4};

    for (int variant = 0; variant < 12; variant++) {
        const int blocks = variant % 3;
        spec s = mixed;
        FREED_BY(particles_free) particles p = particles_new(10);

        s.format = variant < 6 ? 1 : 2;
        for (int t = 0; t < TYPES && variant / 3 % 2; t++) {
            s.mass[t] = 3;
        }
        bytes file = file_of(&s);
        file.n = end[blocks] + (s.format == 2 ? 16 * ((size_t)blocks + 2) : 0);
        save(in_folder("a"), &file);
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        const eqp_snapshot_info *info = eqp_snapshot_get_info(opened);
        assert_int_equal(info->has_masses, variant / 3 % 2);
        assert_int_equal(info->has_velocities, blocks > 0);
        assert_int_equal(info->has_ids, blocks > 1);
        if (blocks == 2 && info->has_masses) {
            assert_string_equal(info->note.text, "");
        } else if (s.format == 1 || blocks != 1 || !info->has_masses) {
            assert_non_null(strstr(info->note.text, last[blocks]));
        }
        read_good(opened, 0, &p);
        for (int64_t i = 0; i < p.n; i++) {
            assert_true(p.column[1][i] == model(1, i));
            assert_true(p.column[0][i] == (info->has_masses ? 3 : 0.1));
            assert_true(p.column[4][i] == (blocks > 0 ? model(4, i) : 0));
        }
        free(file.p);
    }
}

TEST(several_files_are_one_snapshot)
{
    static const char *const given[] = {"snap_007.0", "snap_007.2", "snap_007"};
    FREED_BY(particles_free) particles whole = model_particles(3, TYPES, three[0], mixed.mass, 1, false);

    save_set("snap_007.%d");
    for (int k = 0; k < 3; k++) {
        check_slices(in_folder(given[k]), &whole);
        FREED(eqp_snapshot) *s = open_good(in_folder(given[k]));
        assert_int_equal(eqp_snapshot_get_info(s)->nfiles, 3);
        assert_true(eqp_snapshot_get_info(s)->bytes > 3 * 256);
        assert_int_equal(eqp_snapshot_get_info(s)->type_n[1], 4);
    }
}

TEST(velocities_of_cosmological_files_are_peculiar)
{
    static const struct {
        double time, redshift, omega0, factor;
    } c[] = {{0.25, 3, 0.3, 0.5}, {0.25, 3, 0, 0.5}, {0.25, 0, 0.3, 1}, {1, 0, 0.3, 1}, {2, 0, 0, 1}, {0, 0, 0.3, 1}};

    for (int k = 0; k < 6; k++) {
        spec s = mixed;
        FREED_BY(particles_free) particles p = particles_new(10);

        s.time = c[k].time;
        s.redshift = c[k].redshift;
        s.omega0 = c[k].omega0;
        save_spec(in_folder("a"), &s);
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        read_good(opened, 0, &p);
        for (int64_t i = 0; i < p.n; i++) {
            assert_true(p.column[5][i] == model(5, i) * c[k].factor);
            assert_true(p.column[2][i] == model(2, i));
        }
        assert_int_equal(eqp_snapshot_get_info(opened)->cosmological, k < 2 || k == 3);
        assert_true(eqp_snapshot_get_info(opened)->time == s.time);
        assert_true(eqp_snapshot_get_info(opened)->box_size == 50);
        assert_true(eqp_snapshot_get_info(opened)->hubble == 0.6);
    }
}

TEST(more_particles_than_a_buffer_holds)
{
    static const int64_t cut[] = {0, 1, 16383, 16384, 16385, 30000, 40000, 40001};
    spec s = mixed;

    memcpy(s.n, (int64_t[MOST_TYPES]){20000, 0, 20001}, sizeof s.n);
    memcpy(s.total, s.n, sizeof s.n);
    save_spec(in_folder("a"), &s);
    FREED_BY(particles_free) particles whole = model_particles(1, TYPES, s.n, s.mass, 1, false);
    FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
    for (int k = 0; k < 7; k++) {
        check_slice(opened, cut[k], cut[k + 1] - cut[k], &whole);
    }
}

static void put_at(FILE *file, off_t at, uint64_t value, int width)
{
    bytes b = {0};

    put_word(&b, value, width, false);
    assert_int_equal(fseeko(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(b.p, 1, b.n, file), b.n);
    free(b.p);
}

/* Lengths beyond 32 bits. The file is sparse and takes no disk space. */
TEST(records_beyond_4_gigabytes_are_found)
{
    const int64_t n = 360000000, lengths[] = {12 * n, 12 * n, 4 * n};
    spec s = {.n = {0, n}, .mass = {0, 1}, .total = {0, n}, .nfiles = 1};
    bytes header = header_of(&s), head = {0};
    FILE *file = fopen(in_folder("a"), "wb");
    off_t at = 264;
    particles p = particles_new(1);

    assert_non_null(file);
    s.format = 1;
    put_record(&head, &s, "HEAD", &header);
    assert_int_equal(fwrite(head.p, 1, head.n, file), head.n);
    free(head.p);
    if (fflush(file) != 0 || ftruncate(fileno(file), at + 28 * n + 24) != 0) {
        fclose(file);
        particles_free(&p);
        print_message("no files with holes of this size here\n");
        skip();
    }
    for (int block = 0; block < 3; block++) {
        put_at(file, at, (uint64_t)lengths[block] & UINT32_MAX, 4);
        at += 4 + lengths[block];
        put_at(file, at - 4, block == 0 ? 0x40400000 : 7, 4);
        put_at(file, at, (uint64_t)lengths[block] & UINT32_MAX, 4);
        at += 4;
    }
    assert_int_equal(fclose(file), 0);
    FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
    assert_int_equal(eqp_snapshot_get_info(opened)->n, n);
    read_good(opened, n - 1, &p);
    assert_true(p.column[3][0] == 3);
    assert_true(p.column[2][0] == 0);
    assert_int_equal(p.id[0], 7);
    particles_free(&p);
}

/* Equal ids, and floats whose squares overflow. */
TEST(equal_ids_and_large_numbers_are_read_as_they_stand)
{
    bytes file = file_of(&mixed), number = {0};
    FREED_BY(particles_free) particles p = particles_new(10);

    for (int i = 0; i < 10; i++) {
        memcpy(file.p + ID + 4 * i, "\7\0\0", 4);
    }
    put_real(&number, 1e18, 4, false);
    put_real(&number, -3e38, 4, false);
    memcpy(file.p + POS + 12 * 9 + 4, number.p, 8);
    save(in_folder("a"), &file);
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    read_good(s, 0, &p);
    assert_true(p.column[2][9] == (double)1e18f && p.column[3][9] == (double)-3e38f);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(p.id[i], 7);
    }
    free(number.p);
    free(file.p);
}
