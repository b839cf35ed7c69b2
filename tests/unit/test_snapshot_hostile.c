/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid HDF5 files that are not valid snapshots: datasets of other shapes, shapes without bytes, links and datasets
 * that lead to other files. The corpus of the fuzz target hdf5 has objects of every other type. */
#include "slow.h"
#include "snapshot_hdf5_files.h"

static const double zeros[64];

static void save_whole(const char *path)
{
    spec s = usual();

    save_spec(path, &s);
}

/* Opens a valid file without one dataset of PartType1, which has 4 particles, to write a replacement. */
static hid_t open_without(const char *name, hid_t *file)
{
    spec s = usual();

    s.without = name;
    s.without_in = 1;
    s.mass[1] = 0;
    save_spec(in_folder("a"), &s);
    return open_in("PartType1", file);
}

static void refuse(const char *why)
{
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, why);
}

/* Replaces a dataset of PartType1 in a valid file, and closes space and properties. */
static void replace_by(const char *name, hid_t type, hid_t space, hid_t properties, const double *value, size_t raw)
{
    hid_t file, group = open_without(name, &file);

    put_made(group, name, type, space, properties, value, raw);
    close_in(file, group);
}

/* Reads all particles at once below memcheck, else all slices. */
static void check_particles(const char *path, const particles *whole)
{
    if (!memcheck_here()) {
        check_slices(path, whole);
        return;
    }
    FREED(eqp_snapshot) *s = open_good(path);
    check_slice(s, 0, whole->n, whole);
}

static void link_out(const char *to, hid_t at, const char *name)
{
    assert_true(H5Lcreate_external("other", to, at, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void link_within(const char *to, hid_t at, const char *name)
{
    assert_true(H5Lcreate_soft(to, at, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

/* The target of each link is a valid snapshot, which would be read if the link were followed. */
TEST(links_out_of_the_file_are_not_followed)
{
    static const char *const name[] = {"Coordinates", "Velocities", "Masses", "ParticleIDs"};
    static const char *const groups[] = {"PartType0", "Header"};
    hid_t file, group;
    char place[64];

    save_whole(in_folder("other"));
    for (int k = 0; k < 4; k += memcheck_here() ? 3 : 1) {
        snprintf(place, sizeof place, "/PartType0/%s", name[k]);
        group = open_without(name[k], &file);
        link_out(place, group, name[k]);
        close_in(file, group);
        refuse("is kept in another file");
    }
    for (int k = 0; k < 2; k++) {
        save_whole(in_folder("a"));
        group = open_in("PartType1", &file);
        assert_true(H5Ldelete(file, groups[k], H5P_DEFAULT) >= 0);
        snprintf(place, sizeof place, "/%s", groups[k]);
        link_out(place, file, groups[k]);
        close_in(file, group);
        refuse("is kept in another file");
    }
}

/* A link within the file may lead through one that leaves it. */
TEST(links_over_links_out_of_the_file_are_not_followed)
{
    hid_t file, group;

    save_whole(in_folder("other"));
    group = open_without("Coordinates", &file);
    link_out("/", file, "over");
    link_within("/over/PartType1/Coordinates", group, "Coordinates");
    close_in(file, group);
    refuse("/PartType1/Coordinates is damaged");
    save_whole(in_folder("a"));
    group = open_in("PartType1", &file);
    assert_true(H5Ldelete(file, "Header", H5P_DEFAULT) >= 0);
    link_out("/", file, "over");
    link_within("/over/Header", file, "Header");
    close_in(file, group);
    refuse("/Header is damaged");
}

TEST(links_within_the_file_are_followed)
{
    hid_t file, group;
    spec s = usual();
    FREED_BY(particles_free) particles whole = model_particles(1, s.ntypes, s.n, s.mass, 1, false);

    save_whole(in_folder("a"));
    group = open_in("PartType1", &file);
    assert_true(H5Lmove(group, "Coordinates", file, "elsewhere", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    link_within("/elsewhere", group, "Coordinates");
    close_in(file, group);
    check_particles(in_folder("a"), &whole);
    group = open_in("PartType1", &file);
    assert_true(H5Ldelete(file, "elsewhere", H5P_DEFAULT) >= 0);
    close_in(file, group);
    refuse("Coordinates is damaged");
    group = open_in("PartType1", &file);
    assert_true(H5Ldelete(group, "Coordinates", H5P_DEFAULT) >= 0);
    link_within("/PartType1/Coordinates", group, "Coordinates");
    close_in(file, group);
    refuse("Coordinates is damaged");
}

static const hsize_t shape[2] = {4, 3}, endless[2] = {H5S_UNLIMITED, 3};

TEST(numbers_in_other_files_are_not_read)
{
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);

    save_part(in_folder("raw"), (const unsigned char *)zeros, 96);
    assert_true(H5Pset_external(properties, "raw", 0, 96) >= 0);
    replace_by("Coordinates", H5T_IEEE_F64LE, H5Screate_simple(2, shape, NULL), properties, NULL, 0);
    refuse("is kept in another file");
    save_whole(in_folder("other"));
    for (int k = 0; k < 2; k++) {
        const hid_t space = H5Screate_simple(2, shape, k ? endless : NULL);
        properties = H5Pcreate(H5P_DATASET_CREATE);
        if (k) {
            H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){0, 0}, NULL, (hsize_t[]){1, 1},
                                (hsize_t[]){H5S_UNLIMITED, 3});
        }
        assert_true(H5Pset_virtual(properties, space, "other", "/PartType1/Coordinates", space) >= 0);
        H5Sclose(space);
        replace_by("Coordinates", H5T_IEEE_F32LE, H5Screate_simple(2, shape, k ? endless : NULL), properties, NULL, 0);
        refuse("is kept in another file");
    }
}

TEST(every_other_shape_of_dataset_is_refused)
{
    static const struct {
        int ndims;
        hsize_t dimension[4];
    } other[] = {{1, {4}},    {1, {12}},   {1, {0}},       {2, {0, 3}},    {2, {4, 0}},
                 {2, {3, 4}}, {2, {4, 1}}, {3, {4, 3, 1}}, {3, {1, 4, 3}}, {4, {2, 2, 3, 1}}};

    for (int k = 0; k < COUNT_OF(other); k += memcheck_here() ? 3 : 1) {
        replace_by("Coordinates", H5T_IEEE_F64LE, H5Screate_simple(other[k].ndims, other[k].dimension, NULL),
                   H5P_DEFAULT, zeros, 0);
        refuse("/PartType1/Coordinates has another shape");
    }
    for (int k = 0; k < 2; k++) {
        replace_by("Coordinates", H5T_IEEE_F64LE, H5Screate(k ? H5S_NULL : H5S_SCALAR), H5P_DEFAULT, NULL, 0);
        refuse("shape");
    }
}

TEST(objects_of_another_kind_are_refused)
{
    hid_t file, group = open_without("Coordinates", &file);

    H5Gclose(H5Gcreate2(group, "Coordinates", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    close_in(file, group);
    refuse("/PartType1/Coordinates is damaged, or is no dataset");
    group = open_without("Masses", &file);
    const hid_t type = H5Tcopy(H5T_IEEE_F64LE);
    assert_true(H5Tcommit2(group, "Masses", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Tclose(type);
    close_in(file, group);
    refuse("/PartType1/Masses is damaged, or is no dataset");
    for (int k = 0; k < 2; k++) {
        const char *const name = k ? "Header" : "PartType3";
        const hid_t space = H5Screate(H5S_SCALAR);
        save_whole(in_folder("a"));
        group = open_in("PartType1", &file);
        H5Ldelete(file, name, H5P_DEFAULT);
        H5Dclose(H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Sclose(space);
        close_in(file, group);
        refuse(k ? "/Header is damaged" : "/PartType3 is damaged");
    }
}

/* Sparse datasets: header and shape agree, but the bytes are not stored. */
static void save_claim(int64_t n, hid_t properties, bool first_chunk_only)
{
    static const char *const name[] = {"Coordinates", "Velocities", "ParticleIDs", "Masses"};
    spec s = usual();
    hid_t file, group;

    s.count = H5T_STD_I64LE;
    memset(s.n, 0, sizeof s.n);
    memset(s.total, 0, sizeof s.total);
    memset(s.mass, 0, sizeof s.mass);
    s.n[1] = n;
    s.total[1] = (uint64_t)n;
    file = H5Fcreate(in_folder("a"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put_header(&s, file);
    group = H5Gcreate2(file, "PartType1", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int k = 0; k < 4; k++) {
        int ndims = k < 2 ? 2 : 1;
        hsize_t dimension[2] = {(hsize_t)n, 3}, most[2] = {H5S_UNLIMITED, H5S_UNLIMITED};
        hid_t mine = H5Pcopy(properties), space, dataset;

        if (H5Pget_layout(mine) == H5D_CHUNKED) {
            hsize_t chunk[2] = {1, 1};

            H5Pget_chunk(mine, 2, chunk);
            chunk[0] *= ndims == 1 ? chunk[1] : 1;
            H5Pset_chunk(mine, ndims, chunk);
        }
        space = H5Screate_simple(ndims, dimension, H5Pget_layout(mine) == H5D_CHUNKED ? most : NULL);
        dataset =
            H5Dcreate2(group, name[k], k == 2 ? H5T_STD_I64LE : H5T_IEEE_F64LE, space, H5P_DEFAULT, mine, H5P_DEFAULT);
        assert_true(dataset >= 0);
        if (first_chunk_only) {
            hid_t memory = H5Screate_simple(ndims, (hsize_t[]){4, 3}, NULL);

            H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){0, 0}, NULL, (hsize_t[]){4, 3}, NULL);
            assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, zeros) >= 0);
            H5Sclose(memory);
        }
        H5Dclose(dataset);
        H5Sclose(space);
        H5Pclose(mine);
    }
    H5Gclose(group);
    assert_true(H5Fclose(file) >= 0);
}

TEST(shapes_without_bytes_are_refused)
{
    static const int64_t claim[] = {5, 1000, (int64_t)1 << 31, (int64_t)1 << 40};

    for (int k = 0; k < 12; k += memcheck_here() ? 5 : 1) {
        hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
        struct stat status;

        if (k % 3 > 0) {
            H5Pset_chunk(properties, 2, (hsize_t[]){1 << 16, 3});
        }
        if (k % 3 > 1) {
            H5Pset_deflate(properties, 1);
        }
        save_claim(claim[k / 3], properties, false);
        H5Pclose(properties);
        assert_int_equal(stat(in_folder("a"), &status), 0);
        assert_true(status.st_size < 16384);
        refuse("Coordinates holds fewer bytes");
    }
}

/* Wide chunks hold more bytes than the shape needs, and yet one chunk is missing. */
TEST(a_missing_chunk_is_found)
{
    for (int k = 0; k < 2; k++) {
        hid_t properties = H5Pcreate(H5P_DATASET_CREATE);

        H5Pset_chunk(properties, 2, (hsize_t[]){4, 9});
        if (k > 0) {
            H5Pset_deflate(properties, 1);
        }
        save_claim(8, properties, true);
        refuse("Coordinates holds fewer bytes");
        save_claim(4, properties, true);
        eqp_snapshot_close(open_good(in_folder("a")));
        H5Pclose(properties);
    }
}

static hid_t chunks_of(hsize_t rows)
{
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_chunk(properties, 2, (hsize_t[]){rows, 3});
    return properties;
}

/* The test writes no data: HDF5 would write out of bounds. */
TEST(filters_in_a_wrong_order_are_refused)
{
    for (int k = 0; k < 2; k++) {
        const hid_t properties = chunks_of(4);
        H5Pset_deflate(properties, 1);
        if (k == 0) {
            H5Pset_nbit(properties);
        } else {
            H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 3);
        }
        replace_by("Coordinates", H5T_IEEE_F32LE, H5Screate_simple(2, shape, NULL), properties, NULL, 64);
        refuse("in an order that cannot be");
    }
}

/* Bytes enough for the 4 particles, and not for the 100 rows of the chunk. */
TEST(chunks_shorter_than_they_should_be_are_refused)
{
    for (int k = 0; k < 3; k++) {
        const hid_t properties = chunks_of(100);
        if (k == 1) {
            H5Pset_shuffle(properties);
        }
        if (k == 2) {
            H5Pset_fletcher32(properties);
        }
        replace_by("Coordinates", H5T_IEEE_F32LE, H5Screate_simple(2, shape, endless), properties, NULL, 64);
        refuse("has chunks of other sizes");
    }
}

/* HDF5 would decompress a chunk of 1.5 GiB for 4 particles, and take as much memory to compress it here. */
TEST(chunks_far_larger_than_the_file_are_refused)
{
    for (int k = 0; k < 2; k++) {
        const hid_t properties = chunks_of(k ? 1 << 26 : 1 << 16);
        H5Pset_deflate(properties, 1);
        replace_by("Coordinates", H5T_IEEE_F64LE, H5Screate_simple(2, shape, endless), properties, NULL, 64);
        refuse("too large");
    }
}

TEST(every_usual_filter_is_read)
{
    spec s = usual();
    double x[12];

    s.mass[1] = 0;
    FREED_BY(particles_free) particles whole = model_particles(1, s.ntypes, s.n, s.mass, 1, false);
    for (int i = 0; i < 12; i++) {
        x[i] = model(1 + i % 3, 3 + i / 3);
    }
    for (int k = 0; k < 5; k++) {
        const hid_t properties = chunks_of(k == 0 ? 1000 : 3);
        if (k == 1) {
            H5Pset_shuffle(properties);
        }
        if (k <= 1) {
            H5Pset_deflate(properties, 9);
        }
        if (k == 2) {
            H5Pset_fletcher32(properties);
        }
        if (k == 3) {
            H5Pset_nbit(properties);
        }
        if (k == 4) {
            H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 6);
        }
        replace_by("Coordinates", H5T_IEEE_F64LE, H5Screate_simple(2, shape, endless), properties, x, 0);
        check_particles(in_folder("a"), &whole);
    }
}
