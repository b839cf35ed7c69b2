/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 files of various codes: other names, types without positions, missing datasets, virtual and compressed files. */
#include "snapshot_hdf5_files.h"

/* Renames a link of "a" in every type, or in one; NULL: deletes it. */
static void rename_all(int only, const char *from, const char *to)
{
    hid_t file, header = open_in("Header", &file);

    for (int t = 0; t < MOST_TYPES; t++) {
        char group[32], old[64], new[64];

        snprintf(group, sizeof group, "PartType%d", t);
        snprintf(old, sizeof old, "%s/%s", group, from);
        snprintf(new, sizeof new, "%s/%s", group, to ? to : "");
        if ((only >= 0 && only != t) || H5Lexists(file, group, H5P_DEFAULT) <= 0 ||
            H5Lexists(file, old, H5P_DEFAULT) <= 0) {
            continue;
        }
        assert_true(
            (to ? H5Lmove(file, old, file, new, H5P_DEFAULT, H5P_DEFAULT) : H5Ldelete(file, old, H5P_DEFAULT)) >= 0);
    }
    close_in(file, header);
}

TEST(the_names_of_other_codes_are_read)
{
    static const char *const names[][4] = {{"Coordinates", "Velocity", "Mass", "ParticleIDs"},
                                           {"Coordinates", "Velocities", "DynamicalMasses", "ParticleIDs"},
                                           {"Position", "Velocity", "Mass", "ParticleID"},
                                           {"pos", "vel", "mass", "ids"},
                                           {"Pos", "Vel", "Masses", "ID"}};
    static const char *const usual_name[] = {"Coordinates", "Velocities", "Masses", "ParticleIDs"};
    spec s = usual();
    FREED_BY(particles_free) particles whole = model_particles(1, 6, s.n, s.mass, 1, false);

    for (int k = 0; k < COUNT_OF(names); k++) {
        save_spec(in_folder("a"), &s);
        for (int q = 0; q < 4; q++) {
            if (strcmp(usual_name[q], names[k][q]) != 0) {
                rename_all(-1, usual_name[q], names[k][q]);
            }
        }
        check_slices(in_folder("a"), &whole);
    }
}

/* Types 0, 1, 3 and 4 of usual() have particles. */
TEST(types_without_places_are_left_out)
{
    spec s = usual();
    const int64_t left[6] = {3, 4, 0, 0, 1, 0};
    FREED_BY(particles_free) particles whole = model_particles(1, 6, s.n, s.mass, 1, false);
    FREED_BY(particles_free) particles p = particles_new(8);

    save_spec(in_folder("a"), &s);
    rename_all(3, "Coordinates", NULL);
    rename_all(3, "ParticleIDs", "TracerID");
    rename_all(3, "Masses", NULL);
    eqp_snapshot *opened = open_good(in_folder("a"));
    assert_int_equal(eqp_snapshot_get_info(opened)->n, 8);
    assert_memory_equal(eqp_snapshot_get_info(opened)->type_n, left, sizeof left);
    assert_non_null(strstr(eqp_snapshot_get_info(opened)->note.text, "2 particles of type 3"));
    assert_true(eqp_snapshot_get_info(opened)->has_masses && eqp_snapshot_get_info(opened)->has_velocities);
    read_good(opened, 0, &p);
    for (int c = 0; c < 7; c++) {
        assert_memory_equal(p.column[c], whole.column[c], 7 * sizeof(double));
        assert_true(p.column[c][7] == whole.column[c][9]);
    }
    eqp_snapshot_close(opened);
    rename_all(-1, "Coordinates", NULL);
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, "no type of particles has a dataset Coordinates");
}

TEST(velocities_and_masses_may_be_missing)
{
    for (int k = 1; k < 4; k++) {
        const bool no_velocities = k & 1, no_masses = k & 2;
        spec s = usual();
        FREED_BY(particles_free) particles p = particles_new(10);

        save_spec(in_folder("a"), &s);
        if (no_velocities) {
            rename_all(k == 1 ? 1 : -1, "Velocities", NULL);
        }
        if (no_masses) {
            rename_all(3, "Masses", NULL);
        }
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        assert_true(eqp_snapshot_get_info(opened)->has_velocities == (k != 3));
        assert_true(!strstr(eqp_snapshot_get_info(opened)->note.text, "type 1 have no velocities") == (k != 1));
        assert_true(eqp_snapshot_get_info(opened)->has_masses == !no_masses);
        read_good(opened, 0, &p);
        for (int64_t i = 0; i < 10; i++) {
            assert_true(p.column[1][i] == model(1, i) && p.id[i] == model_id(i, false));
            assert_true(p.column[4][i] == (k == 3 || (k == 1 && p.type[i] == 1) ? 0 : model(4, i)));
            assert_true(!no_masses || p.column[0][i] == 0.1);
        }
    }
}

/* The second file of a set may hold tracers only. */
TEST(a_file_of_tracers_belongs_to_its_set)
{
    for (int k = 0; k < 2; k++) {
        spec s = usual();

        memset(s.n, 0, sizeof s.n);
        s.n[k ? 3 : 1] = 2;
        s.total[0] = s.total[4] = 0;
        s.total[1] = s.total[3] = 2;
        s.nfiles = 2;
        save_spec(in_folder(k ? "a" : "s.0"), &s);
    }
    rename_all(3, "Coordinates", NULL);
    assert_int_equal(rename(in_folder("a"), in_folder("s.1")), 0);
    FREED(eqp_snapshot) *opened = open_good(in_folder("s"));
    assert_int_equal(eqp_snapshot_get_info(opened)->n, 2);
    assert_non_null(strstr(eqp_snapshot_get_info(opened)->note.text, "2 particles of type 3"));
}

TEST(a_packed_file_that_is_cut_is_refused)
{
    spec s = usual();
    size_t size;

    save_spec(in_folder("a"), &s);
    HEAP char *image = contents_of(in_folder("a"), &size);
    save_packed(in_folder("b"), image, size - 1);
    refuse_open(in_folder("b"), EQP_ERR_FORMAT, "HDF5 cannot open it");
}

/* Any of the codes' attributes tells that the file has units, unless the unit is 1. */
TEST(units_of_length_are_known_by_many_names)
{
    static const char *const name[][2] = {
        {"Header", "UnitLength_in_cm"}, {"Parameters", "UnitLength_In_CGS"}, {"Units", "UnitLength_in_cm"}};

    for (int k = 0; k < 6; k++) {
        const spec s = usual();
        save_spec(in_folder("a"), &s);
        add_number(name[k / 2][0], name[k / 2][1], H5T_IEEE_F64LE, k % 2 ? 3.08567758e21 : 1);
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        assert_int_equal(eqp_snapshot_get_info(opened)->has_units, k % 2);
    }
}

/* SWIFT: Time is the age, the scale factor is a separate attribute, a flag marks cosmological runs, and velocities are
 * peculiar. */
TEST(the_scale_factor_may_stand_beside_the_time)
{
    for (int comoving = 0; comoving < 2; comoving++) {
        spec s = usual();
        const double a = 0.25, omega = 0.3;

        s.time = 77;
        s.redshift = 3;
        save_spec(in_folder("a"), &s);
        add_number("Header", "Scale-factor", H5T_IEEE_F64LE, a);
        add_number("Cosmology", "Cosmological run", H5T_STD_I32LE, comoving);
        add_number("Cosmology", "Omega_m", H5T_IEEE_F64LE, omega);
        add_number("Units", "Unit length in cgs (U_L)", H5T_IEEE_F64LE, 3.08567758e21);
        FREED(eqp_snapshot) *opened = open_good(in_folder("a"));
        assert_true(eqp_snapshot_get_info(opened)->has_units);
        assert_true(eqp_snapshot_get_info(opened)->cosmological == (comoving == 1));
        assert_true(eqp_snapshot_get_info(opened)->time == (comoving ? a : 77));
        assert_true(eqp_snapshot_get_info(opened)->omega0 == (comoving ? omega : 0));
    }
}

/* A virtual file "whole" that maps the datasets of usual() in p.0 and p.1. */
static void save_virtual(const spec *s, const char *source)
{
    static const char *const name[] = {"Coordinates", "Velocities", "ParticleIDs"};
    hid_t file = H5Fcreate(in_folder("whole"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), group;
    spec both = *s;

    both.n[1] *= 2;
    both.total[1] *= 2;
    put_header(&both, file);
    group = H5Gcreate2(file, "PartType1", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int q = 0; q < 3; q++) {
        const hsize_t all[] = {8, 3}, half[] = {4, 3};
        const int rank = q < 2 ? 2 : 1;
        hid_t properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(rank, all, NULL);
        hid_t part = H5Screate_simple(rank, half, NULL);

        for (int k = 0; k < 2; k++) {
            char piece[64], dataset_name[64];

            /* A path of another machine does not exist here: the base name counts. */
            snprintf(piece, sizeof piece, k ? "/elsewhere/p.%d" : "p.%d", k);
            snprintf(dataset_name, sizeof dataset_name, "%s/%s", source, name[q]);
            H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){4 * (hsize_t)k, 0}, NULL, half, NULL);
            assert_true(H5Pset_virtual(properties, space, piece, dataset_name, part) >= 0);
        }
        H5Sselect_all(space);
        put_made(group, name[q], q < 2 ? s->real : s->id, space, properties, NULL, 0);
        H5Sclose(part);
    }
    H5Gclose(group);
    H5Fclose(file);
}

static spec piece_of(int k)
{
    spec s = usual();

    memset(s.n, 0, sizeof s.n);
    s.n[1] = 4;
    memcpy(s.total, s.n, sizeof s.total);
    s.first = 4 * k;
    return s;
}

TEST(a_virtual_file_is_read_through_its_pieces)
{
    const int64_t counts[6] = {0, 8};
    const double mass[6] = {0, 2.5};
    FREED_BY(particles_free) particles whole = model_particles(1, 6, counts, mass, 1, false);
    spec s;

    for (int k = 0; k < 2; k++) {
        s = piece_of(k);
        save_spec(in_folder(k ? "p.1" : "p.0"), &s);
    }
    save_virtual(&s, "/PartType1");
    check_slices(in_folder("whole"), &whole);
    /* Datasets of other names are refused, as their contents are unknown. */
    save_virtual(&s, "PartType2");
    refuse_open(in_folder("whole"), EQP_ERR_FORMAT, "is not of that name");
    save_virtual(&s, "PartType1");
    s.n[1] = 3;
    save_spec(in_folder("p.1"), &s);
    refuse_open(in_folder("whole"), EQP_ERR_FORMAT, "its pieces hold 7");
    unlink(in_folder("p.1"));
    refuse_open(in_folder("whole"), EQP_ERR_IO, "p.1: No such file");
}
