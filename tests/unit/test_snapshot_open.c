/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are not snapshots, and real snapshots. */
#include "snapshot_files.h"

TEST(what_is_no_file_is_refused)
{
    eqp_snapshot *s = NULL;
    struct stat status;

    assert_int_equal(eqp_snapshot_open("", &s, NULL), EQP_ERR_IO);
    refuse_open(in_folder("missing"), EQP_ERR_IO, "missing: No such file");
    refuse_open(in_folder("missing/missing"), EQP_ERR_IO, "No such file");
    refuse_open(in_folder(""), EQP_ERR_IO, "is a directory");
    if (stat("/dev/zero", &status) == 0 && symlink("/dev/zero", in_folder("zero")) == 0) {
        refuse_open(in_folder("zero"), EQP_ERR_IO, "not a regular file");
    }
    assert_null(s);
}

/* The pipe has no writer: a blocking open would run into the time limit of the test. */
TEST(a_pipe_is_refused_without_waiting)
{
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
    refuse_open(in_folder("pipe"), EQP_ERR_IO, "not a regular file");
    assert_int_equal(mkfifo(in_folder("snap.0"), 0600), 0);
    refuse_open(in_folder("snap"), EQP_ERR_IO, "not a regular file");
}

TEST(a_folder_in_place_of_a_file_of_a_set_is_refused)
{
    assert_int_equal(mkdir(in_folder("snap.0.hdf5"), 0700), 0);
    refuse_open(in_folder("snap"), EQP_ERR_IO, "is a directory");
}

TEST(an_unreadable_file_is_refused)
{
    if (geteuid() == 0) {
        print_message("root may read everything\n");
        skip();
    }
    save_text(in_folder("a"), "1 2 3 4 5 6 7\n");
    assert_int_equal(chmod(in_folder("a"), 0), 0);
    refuse_open(in_folder("a"), EQP_ERR_IO, "ermission");
}

TEST(an_empty_file_is_refused)
{
    save_text(in_folder("a"), "");
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "empty");
}

/* Random bytes of every length up to beyond all headers. */
TEST(unknown_bytes_are_refused)
{
    unsigned char junk[700];
    uint32_t word = 12345;

    for (int i = 0; i < (int)sizeof junk; i++) {
        word = word * 1664525 + 1013904223;
        junk[i] = (unsigned char)(word >> 24);
    }
    for (size_t n = 1; n <= sizeof junk; n += n < 64 ? 1 : 7) {
        save_part(in_folder("a"), junk, n);
        refuse_open(in_folder("a"), EQP_ERR_FORMAT, "");
    }
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "no known format");
}

TEST(the_name_says_nothing)
{
    static const char *const name[] = {"a.hdf5", "b.dat", "c.tipsy", "d", "e.0", "f g"};

    for (int k = 0; k < 6; k++) {
        save_text(in_folder(name[k]), "1 2 3 4 5 6 7\n");
        FREED(eqp_snapshot) *s = open_good(in_folder(name[k]));
        assert_string_equal(eqp_snapshot_get_info(s)->format, "text");
    }
}

TEST(a_name_with_control_characters_gives_one_line)
{
    refuse_open(in_folder("a\nb\x1b[31m"), EQP_ERR_IO, "a?b?[31m: No such file");
}

TEST(what_other_formats_do_not_have_is_unknown)
{
    double value[1];
    eqp_attribute attribute = {.name = "step", .kind = EQP_KIND_INT64, .integer = 77};
    eqp_column column = {"Potential", EQP_KIND_DOUBLE, 1};

    save_text(in_folder("a"), "1 2 3 4 5 6 7\n");
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));
    assert_int_equal(eqp_snapshot_get_attribute(s, &attribute, NULL), EQP_ERR_UNKNOWN);
    assert_int_equal(attribute.integer, 77);
    assert_int_equal(eqp_snapshot_read_column(s, &column, 0, 1, (void *const[]){value}, NULL), EQP_ERR_UNKNOWN);
}

/* Total masses: exactly rounded sums of the stored numbers, computed once by another program, from the masses of the
 * header if there are any. */
static const struct {
    const char *name, *format;
    int64_t n;
    double mass;
    int64_t type_n[6];
    double first_x, last_z; /* of the first and the last particle, as stored */
} real_files[] = {
    {"g2_galaxy_littleendian.dat",
     "GADGET format 1",
     60000,
     46.50394228519872,
     {0, 40000, 20000, 0, 0, 0},
     -94.13385009765625,
     6.769761085510254},
    {"g2_gassphere_littleendian.dat", "GADGET format 1", 1472, 1.0000000186264515, {1472, 0, 0, 0, 0, 0}, NAN, NAN},
    {"bonsai_model3_child_compact.tipsy",
     "TIPSY little-endian",
     22000,
     97.27809019386768,
     {0, 20000, 0, 0, 2000, 0},
     NAN,
     NAN},
    {"amuse_plummer16k.in",
     "text with ids",
     16384,
     1,
     {0, 16384, 0, 0, 0, 0},
     -5.8787755654398621E-01,
     -6.5173738161936123E-01},
};

static void check_real_file(const char *path, int k)
{
    FREED(eqp_snapshot) *s = open_good(path);
    const eqp_snapshot_info *info = eqp_snapshot_get_info(s);
    FREED_BY(particles_free) particles whole = particles_new(info->n);
    double mass = 0;

    assert_int_equal(info->n, real_files[k].n);
    assert_string_equal(info->format, real_files[k].format);
    for (int t = 0; t < 6; t++) {
        assert_int_equal(info->type_n[t], real_files[k].type_n[t]);
    }
    read_good(s, 0, &whole);
    for (int64_t i = 0; i < whole.n; i++) {
        mass += whole.column[0][i];
    }
    assert_true(fabs(mass / real_files[k].mass - 1) < 1e-12);
    assert_true(isnan(real_files[k].first_x) || whole.column[1][0] == real_files[k].first_x);
    assert_true(isnan(real_files[k].last_z) || whole.column[3][whole.n - 1] == real_files[k].last_z);
    for (int parts = 3, p = 0; p < parts; p++) {
        int64_t first = whole.n * p / parts;
        check_slice(s, first, whole.n * (p + 1) / parts - first, &whole);
    }
}

TEST(real_files_have_the_particles_and_masses_they_should)
{
    const char *data = getenv("EQUIPOISE_SHARED_DATA");
    int found = 0;

    for (int k = 0; k < COUNT_OF(real_files); k++) {
        char path[4096];

        snprintf(path, sizeof path, "%s/nbody/%s", data ? data : PROJECT_SOURCE_ROOT "/../shared/data",
                 real_files[k].name);
        if (access(path, F_OK) != 0) {
            print_message("not there, not tested: %s\n", path);
            continue;
        }
        found++;
        check_real_file(path, k);
    }
    if (found == 0) {
        skip();
    }
}
