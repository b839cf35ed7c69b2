/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading GADGET HDF5: variants of the layout, written here by HDF5. test_snapshot_hostile.c has the refusals. */
#include "snapshot_hdf5_files.h"

static void set_chunks(spec *s, bool packed)
{
    s->packed = packed;
    s->chunk[0] = packed ? 4 : 0;
    s->chunk[1] = 3;
}

TEST(every_variant_gives_the_same_particles)
{
    const hid_t reals[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
    const hid_t ids[] = {H5T_STD_U32LE, H5T_STD_I32BE, H5T_STD_U64BE, H5T_STD_I64LE, -1};
    const hid_t counts[] = {H5T_STD_I32LE, H5T_STD_U32BE, H5T_STD_I64LE, H5T_STD_U64LE};

    for (int variant = 0; variant < 20; variant++) {
        spec s = usual();

        s.real = reals[variant % 4];
        s.id = ids[variant % 5];
        s.count = counts[(variant + 1) % 4];
        set_chunks(&s, variant % 3 == 0);
        s.user_block = variant % 7 == 0 ? 1024 : 0;
        s.high_word = variant % 2 == 0;
        save_spec(in_folder("a"), &s);
        FREED_BY(particles_free)
        particles whole = model_particles(1, s.ntypes, s.n, s.mass, s.id >= 0, s.id >= 0 && H5Tget_size(s.id) == 8);
        check_slices(in_folder("a"), &whole);
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        assert_string_equal(eqp_snapshot_get_info(opened)->format, "GADGET HDF5");
        assert_int_equal(eqp_snapshot_get_info(opened)->has_ids, s.id >= 0);
        assert_true(eqp_snapshot_get_info(opened)->box_size == 50);
        if (variant < 2) { /* in compressed chunks, and not */
            check_format(&whole, 151, true);
        }
    }
}

TEST(the_number_of_types_is_free)
{
    static const int ntypes[] = {1, 2, 7, 8};

    for (int k = 0; k < 4; k++) {
        spec s = usual();

        s.ntypes = ntypes[k];
        for (int t = 0; t < MOST_TYPES; t++) {
            s.n[t] = t % 2 == 0 ? t + 1 : 0;
            s.total[t] = (uint64_t)s.n[t];
            s.mass[t] = 0;
        }
        save_spec(in_folder("a"), &s);
        FREED_BY(particles_free) particles whole = model_particles(1, s.ntypes, s.n, s.mass, 1, false);
        check_slices(in_folder("a"), &whole);
    }
}

TEST(all_but_the_counts_may_be_missing_in_the_header)
{
    static const double no_mass[MOST_TYPES];
    spec s = usual();
    FREED_BY(particles_free) particles whole = model_particles(1, s.ntypes, s.n, no_mass, 1, false);

    s.bare = true;
    save_spec(in_folder("a"), &s);
    check_slices(in_folder("a"), &whole);
}

static const int64_t three[3][6] = {{2, 3, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 0}, {1, 1, 0, 2, 0, 5}};

static void save_set(const char *pattern, spec s)
{
    s.nfiles = 3;
    memset(s.total, 0, sizeof s.total);
    for (int k = 0; k < 18; k++) {
        s.total[k % 6] += (uint64_t)three[k / 6][k % 6];
    }
    for (int k = 0; k < 3; k++) {
        char name[64];

        memcpy(s.n, three[k], sizeof three[k]);
        snprintf(name, sizeof name, pattern, k);
        save_spec(in_folder(name), &s);
        for (int t = 0; t < 6; t++) {
            s.first += s.n[t];
        }
    }
}

TEST(several_files_are_one_snapshot)
{
    static const char *const given[] = {"snap_007.0.hdf5", "snap_007.1.hdf5", "snap_007.2.hdf5", "snap_007"};
    spec s = usual();
    FREED_BY(particles_free) particles whole = model_particles(3, 6, three[0], s.mass, 1, false);

    save_set("snap_007.%d.hdf5", s);
    for (int k = 0; k < 4; k++) {
        check_slices(in_folder(given[k]), &whole);
    }
    save_set("snap.%03d.h5", s);
    check_slices(in_folder("snap.001.h5"), &whole);
}

TEST(ids_keep_their_bits)
{
    static const uint64_t big[4] = {UINT64_MAX, (uint64_t)1 << 63, 0, ((uint64_t)1 << 53) + 1};
    spec s = usual();
    FREED_BY(particles_free) particles p = particles_new(4);
    hid_t file;

    s.id = H5T_STD_U64LE;
    save_spec(in_folder("a"), &s);
    const hid_t group = open_in("PartType1", &file), dataset = H5Dopen2(group, "ParticleIDs", H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, big) >= 0);
    H5Dclose(dataset);
    close_in(file, group);
    FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
    read_good(opened, 3, &p);
    assert_memory_equal(p.id, big, sizeof big);
}

/* An exponent in the file has precedence over 1/2, a comoving flag over the comparison of time and redshift. */
TEST(velocities_of_cosmological_files_are_peculiar)
{
    static const struct {
        const char *exponent;
        double value;
        int comoving; /* -1: not in the file */
        double factor;
    } c[] = {{NULL, 0, -1, 0.5},
             {"a_scaling", 1, -1, 0.25},
             {"aexp-scale-exponent", 0.5, -1, 0.5},
             {"a-scale exponent", 0, -1, 1},
             {NULL, 0, 0, 1},
             {NULL, 0, 1, 0.5}};

    for (int k = 0; k < 6; k++) {
        spec s = usual();
        FREED_BY(particles_free) particles p = particles_new(10);

        s.time = 0.25;
        s.redshift = 3;
        memcpy(s.n, (int64_t[]){0, 10, 0, 0, 0, 0}, 6 * sizeof *s.n);
        memcpy(s.total, s.n, 6 * sizeof *s.n);
        save_spec(in_folder("a"), &s);
        if (c[k].exponent) {
            add_number("PartType1/Velocities", c[k].exponent, H5T_IEEE_F64LE, c[k].value);
        }
        if (c[k].comoving >= 0) {
            add_number("Parameters", "ComovingIntegrationOn", H5T_STD_I32LE, c[k].comoving);
        }
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        read_good(opened, 0, &p);
        for (int64_t i = 0; i < p.n; i++) {
            assert_true(p.column[5][i] == model(5, i) * c[k].factor);
        }
        assert_int_equal(eqp_snapshot_get_info(opened)->cosmological, c[k].comoving != 0);
    }
}

/* A different file of the same name has not been checked. */
TEST(a_file_that_changes_after_opening_is_an_error)
{
    spec s = usual();
    FREED_BY(particles_free) particles p = particles_new(10);
    eqp_snapshot_arrays arrays = particles_arrays(&p);

    save_spec(in_folder("a"), &s);
    FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
    s.n[1] = 1;
    s.total[1] = 1;
    unlink(in_folder("a"));
    save_spec(in_folder("a"), &s);
    assert_int_equal(eqp_snapshot_read(opened, 0, 10, &arrays, NULL), EQP_ERR_FORMAT);
}

static herr_t count_calls(hid_t stack, void *user)
{
    (void)stack;
    ++*(int *)user;
    return 0;
}

/* Error printing is off inside calls and restored afterwards. */
TEST(the_callers_error_reports_stay_as_they_were)
{
    H5E_auto2_t before;
    void *user;
    int calls = 0;

    H5Eget_auto2(H5E_DEFAULT, &before, &user);
    H5Eset_auto2(H5E_DEFAULT, count_calls, &calls);
    save_text(in_folder("a"), "\x89HDF\r\n\x1a\n and no more");
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "truncated");
    assert_int_equal(calls, 0);
    assert_true(H5Fopen(in_folder("a"), H5F_ACC_RDONLY, H5P_DEFAULT) < 0);
    assert_true(calls > 0);
    H5Eset_auto2(H5E_DEFAULT, before, user);
}

TEST(large_chunks_are_read_in_slices)
{
    static const double no_mass[6];
    const int64_t n = 100000;
    spec s = {.ntypes = 6, .n = {0, n}, .total = {0, n}, .real = H5T_IEEE_F64LE, .id = H5T_STD_U32LE};
    FREED_BY(particles_free) particles whole = model_particles(1, 6, s.n, no_mass, 1, false);

    s.count = H5T_STD_I32LE;
    s.nfiles = 1;
    s.high_word = s.packed = true;
    s.chunk[0] = (hsize_t)n;
    s.chunk[1] = 3;
    s.most_rows = n;
    save_spec(in_folder("a"), &s);
    FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
    for (int64_t first = 0; first < n; first += 30001) {
        check_slice(opened, first, first + 30001 < n ? 30001 : n - first, &whole);
    }
}
