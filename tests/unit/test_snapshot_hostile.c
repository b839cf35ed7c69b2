/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid HDF5 files that are not valid snapshots: parts that are missing, datasets of other shapes, shapes without
 * bytes, links and datasets that lead to other files. The corpus of the fuzz target hdf5 has objects of every other
 * type. */
#include "slow.h"
#include "snapshot_hdf5_files.h"

static const double zeros[64];
static const char *const names[] = {"Coordinates", "Velocities", "Masses", "ParticleIDs", "PartType0", "Header"};
static const hsize_t shape[2] = {4, 3}, endless[2] = {H5S_UNLIMITED, 3};

/* The open file "a" and its PartType1, which has 4 particles with masses. */
static hid_t file, group;

static void open_usual(void)
{
    spec s = usual();

    s.mass[1] = 0;
    save_spec(in_folder("a"), &s);
    group = open_in("PartType1", &file);
}

static void refuse(const char *why)
{
    refuse_open(in_folder("a"), EQP_ERR_FORMAT, why);
}

/* Replaces Coordinates, with `value` or `raw` bytes as their first chunk. */
static void put_places(hid_t type, hid_t space, hid_t properties, const double *value, size_t raw)
{
    H5Ldelete(group, "Coordinates", H5P_DEFAULT);
    put_made(group, "Coordinates", type, space, properties, value, raw);
}

static void link_out(const char *to, hid_t at, const char *name)
{
    assert_true(H5Lcreate_external("other", to, at, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void link_within(const char *to, hid_t at, const char *name)
{
    assert_true(H5Lcreate_soft(to, at, name, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

/* Each function below does damage k to the open file. The target of a link out of it is a valid snapshot,
 * which would be read if the link were followed. */

static void leave(int k)
{
    const hid_t at = k < 4 ? group : file;
    char place[64];

    snprintf(place, sizeof place, k < 4 ? "/PartType0/%s" : "/%s", names[k]);
    H5Ldelete(at, names[k], H5P_DEFAULT);
    link_out(place, at, names[k]);
}

/* A link within the file may lead through one that leaves it. */
static void leave_by_two_links(int k)
{
    const hid_t at = k < 4 ? group : file;

    H5Ldelete(at, names[k], H5P_DEFAULT);
    link_out("/", file, "over");
    link_within(k < 4 ? "/over/PartType1/Coordinates" : "/over/Header", at, names[k]);
}

static void link_to_nothing(int k)
{
    H5Ldelete(group, "Coordinates", H5P_DEFAULT);
    link_within(k ? "/elsewhere" : "/PartType1/Coordinates", group, "Coordinates");
}

/* 0: in a file of bytes, otherwise in a virtual dataset. */
static void store_elsewhere(int k)
{
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, shape, k == 2 ? endless : NULL);

    if (k == 0) {
        save_part(in_folder("raw"), (const unsigned char *)zeros, 96);
        assert_true(H5Pset_external(properties, "raw", 0, 96) >= 0);
    } else {
        if (k == 2) {
            H5Sselect_hyperslab(space, H5S_SELECT_SET, (hsize_t[]){0, 0}, NULL, (hsize_t[]){1, 1},
                                (hsize_t[]){H5S_UNLIMITED, 3});
        }
        assert_true(H5Pset_virtual(properties, space, "other", "/PartType1/Coordinates", space) >= 0);
        H5Sselect_all(space);
    }
    put_places(H5T_IEEE_F64LE, space, properties, NULL, 0);
}

static const struct {
    int name, ndims; /* -1: a null space */
    hsize_t dimension[4];
} shapes[] = {{0, 1, {4}},    {0, 1, {12}},   {0, 1, {0}},       {0, 2, {0, 3}},    {0, 2, {4, 0}},      {0, 2, {3, 4}},
              {0, 2, {4, 1}}, {0, 2, {3, 3}}, {0, 2, {5, 3}},    {0, 2, {4, 2}},    {1, 2, {4, 4}},      {3, 1, {3}},
              {0, 0, {0}},    {0, -1, {0}},   {0, 3, {4, 3, 1}}, {0, 3, {1, 4, 3}}, {0, 4, {2, 2, 3, 1}}};

static void reshape(int k)
{
    const char *name = names[shapes[k].name];
    const hid_t space = shapes[k].ndims > 0 ? H5Screate_simple(shapes[k].ndims, shapes[k].dimension, NULL)
                                            : H5Screate(shapes[k].ndims < 0 ? H5S_NULL : H5S_SCALAR);

    H5Ldelete(group, name, H5P_DEFAULT);
    put_made(group, name, shapes[k].name == 3 ? H5T_STD_I64LE : H5T_IEEE_F64LE, space, H5P_DEFAULT,
             shapes[k].ndims > 0 ? zeros : NULL, 0);
}

/* Of another class, or too wide. */
static void retype(int k)
{
    const hid_t wide = H5Tcopy(H5T_IEEE_F64LE), type = k == 0 ? H5T_STD_I32LE : k == 1 ? wide : H5T_IEEE_F64LE;

    H5Ldelete(group, names[k], H5P_DEFAULT);
    assert_true(H5Tset_size(wide, 17) >= 0);
    put_made(group, names[k], type, H5Screate_simple(k == 3 ? 1 : 2, shape, NULL), H5P_DEFAULT, NULL, 0);
    H5Tclose(wide);
}

/* A group, a type, a dataset. */
static void change_kind(int k)
{
    const hid_t at = k < 4 ? group : file;

    H5Ldelete(at, names[k], H5P_DEFAULT);
    if (k == 0) {
        H5Gclose(H5Gcreate2(at, names[k], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    } else if (k < 4) {
        const hid_t type = H5Tcopy(H5T_IEEE_F64LE);
        assert_true(H5Tcommit2(at, names[k], type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
        H5Tclose(type);
    } else {
        put_made(at, names[k], H5T_IEEE_F64LE, H5Screate(H5S_SCALAR), H5P_DEFAULT, NULL, 0);
    }
}

static void remove_part(int k)
{
    static const char *const place[] = {"PartType3", "Header", "PartType3/ParticleIDs"};

    assert_true(H5Ldelete(file, place[k], H5P_DEFAULT) >= 0);
}

static void delete_counts(int k)
{
    (void)k;
    assert_true(H5Adelete_by_name(file, "Header", "NumPart_ThisFile", H5P_DEFAULT) >= 0);
}

/* Attributes of other lengths, and counts that neither the datasets nor the totals hold. */
static const struct {
    const char *name;
    int n;
    int64_t of_type_1;
} numbers[] = {{"NumPart_ThisFile", 0, 0},
               {"MassTable", 2, 0},
               {"NumPart_ThisFile", 6, INT64_MAX},
               {"NumPart_ThisFile", 6, -1},
               {"NumPart_ThisFile", 6, (int64_t)1 << 31},
               {"NumPart_ThisFile", 6, (int64_t)1 << 40},
               {"NumPart_ThisFile", 6, 5},
               {"NumPart_ThisFile", 6, 3},
               {"NumPart_Total", 6, 77},
               {"NumPart_Total", 6, 4 + ((int64_t)1 << 32)},
               {"NumPart_Total_HighWord", 6, 1}};

static void change_number(int k)
{
    const bool upper = strcmp(numbers[k].name, "NumPart_Total_HighWord") == 0;
    const int64_t usual_counts[] = {3, 4, 0, 2, 1, 0}, zero[6] = {0};
    const hid_t header = H5Gopen2(file, "Header", H5P_DEFAULT);
    int64_t value[6];

    memcpy(value, upper ? zero : usual_counts, sizeof value);
    value[1] = numbers[k].of_type_1;
    put_numbers(header, numbers[k].name, numbers[k].n, H5T_STD_I64LE, H5T_NATIVE_INT64, value);
    H5Gclose(header);
}

static hid_t chunks_of(hsize_t rows)
{
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_chunk(properties, 2, (hsize_t[]){rows, 3});
    return properties;
}

/* The test writes no data: HDF5 would write out of bounds. */
static void swap_filters(int k)
{
    const hid_t properties = chunks_of(4);

    H5Pset_deflate(properties, 1);
    (void)(k == 0 ? H5Pset_nbit(properties) : H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 3));
    put_places(H5T_IEEE_F32LE, H5Screate_simple(2, shape, NULL), properties, NULL, 64);
}

/* Bytes enough for the 4 particles, and not for the 100 rows of the chunk. */
static void shorten_chunk(int k)
{
    const hid_t properties = chunks_of(100);

    (void)(k == 1 ? H5Pset_shuffle(properties) : k == 2 ? H5Pset_fletcher32(properties) : 0);
    put_places(H5T_IEEE_F32LE, H5Screate_simple(2, shape, endless), properties, NULL, 64);
}

/* HDF5 would decompress a chunk of 1.5 GiB for 4 particles, and take as much memory to compress it here. */
static void enlarge_chunk(int k)
{
    const hid_t properties = chunks_of(k ? 1 << 26 : 1 << 16);

    H5Pset_deflate(properties, 1);
    put_places(H5T_IEEE_F64LE, H5Screate_simple(2, shape, endless), properties, NULL, 64);
}

/* A chunk compressed by a filter that is not there. */
static void filter_by(int number)
{
    const hid_t properties = chunks_of(4);

    assert_true(H5Pset_filter(properties, number, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
    put_places(H5T_IEEE_F32LE, H5Screate_simple(2, shape, NULL), properties, NULL, 5);
}

TEST(damage_is_named)
{
    static const struct {
        void (*make)(int k);
        int first, last;
        const char *why;
    } damage[] = {
        {leave, 0, 5, "is kept in another file, which is not read: give other"},
        {leave_by_two_links, 0, 0, "/PartType1/Coordinates is damaged"},
        {leave_by_two_links, 5, 5, "/Header is damaged"},
        {link_to_nothing, 0, 1, "Coordinates is damaged"},
        {store_elsewhere, 0, 2, "is kept in another file"},
        {reshape, 0, COUNT_OF(shapes) - 1, " has another shape"},
        {retype, 0, 0, "floating-point"},
        {retype, 1, 1, "has numbers of more than 16 bytes"},
        {retype, 3, 3, "integers"},
        {change_kind, 0, 0, "/PartType1/Coordinates is damaged, or is no dataset"},
        {change_kind, 2, 2, "/PartType1/Masses is damaged, or is no dataset"},
        {change_kind, 4, 4, "/PartType0 is damaged"},
        {change_kind, 5, 5, "/Header is damaged"},
        {remove_part, 0, 0, "no group PartType3"},
        {remove_part, 1, 1, "no group Header"},
        {remove_part, 2, 2, "only some types"},
        {delete_counts, 0, 0, "NumPart_ThisFile"},
        {change_number, 0, 0, "NumPart_ThisFile is no array"},
        {change_number, 1, 1, "MassTable has a wrong length: 2 numbers instead of 6"},
        {change_number, 2, 3, "particles of type 1"},
        {change_number, 4, 7, "shape"},
        {change_number, 8, 8, "77"},
        {change_number, 9, 10, "4294967300"},
        {swap_filters, 0, 1, "in an order that cannot be"},
        {shorten_chunk, 0, 2, "has chunks of other sizes"},
        {enlarge_chunk, 0, 1, "too large"},
        {filter_by, 32015, 32015, "filter 32015 (Zstandard) is not available"},
        {filter_by, 32001, 32001, "filter 32001 (Blosc)"},
        {filter_by, 399, 399, "filter 399 is not available"},
    };
    const spec s = usual();

    save_spec(in_folder("other"), &s);
    for (int i = 0; i < COUNT_OF(damage); i++) {
        for (int k = damage[i].first; k <= damage[i].last; k += memcheck_here() ? 3 : 1) {
            open_usual();
            damage[i].make(k);
            close_in(file, group);
            refuse(damage[i].why);
        }
    }
}

/* Reads all particles at once below memcheck, else all slices. */
static void check_particles(const particles *whole)
{
    FREED(eqp_snapshot) *s = open_good(in_folder("a"));

    check_slice(s, 0, whole->n, whole);
    if (!memcheck_here()) {
        check_slices(in_folder("a"), whole);
    }
}

/* A link within the file, and every usual filter. */
TEST(a_link_within_and_usual_filters_are_read)
{
    spec s = usual();
    double x[12];

    s.mass[1] = 0;
    FREED_BY(particles_free) particles whole = model_particles(1, s.ntypes, s.n, s.mass, 1, false);
    for (int i = 0; i < 12; i++) {
        x[i] = model(1 + i % 3, 3 + i / 3);
    }
    for (int k = 0; k < 6; k++) {
        open_usual();
        if (k == 5) {
            assert_true(H5Lmove(group, "Coordinates", file, "elsewhere", H5P_DEFAULT, H5P_DEFAULT) >= 0);
            link_within("/elsewhere", group, "Coordinates");
        } else {
            const hid_t properties = chunks_of(k == 0 ? 1000 : 3);
            (void)(k == 1   ? H5Pset_shuffle(properties)
                   : k == 2 ? H5Pset_fletcher32(properties)
                   : k == 3 ? H5Pset_nbit(properties)
                   : k == 4 ? H5Pset_scaleoffset(properties, H5Z_SO_FLOAT_DSCALE, 6)
                            : 0);
            (void)(k <= 1 ? H5Pset_deflate(properties, 9) : 0);
            put_places(H5T_IEEE_F64LE, H5Screate_simple(2, shape, endless), properties, x, 0);
        }
        close_in(file, group);
        check_particles(&whole);
    }
}

/* n particles of type 1, of which few rows are stored. */
static void save_claim(int64_t n, int64_t rows, hsize_t chunk, hsize_t width, bool packed)
{
    const spec s = {.ntypes = 6,
                    .n = {0, n},
                    .total = {0, (uint64_t)n},
                    .real = H5T_IEEE_F64LE,
                    .id = H5T_STD_I64LE,
                    .count = H5T_STD_I64LE,
                    .nfiles = 1,
                    .chunk = {chunk, width},
                    .packed = packed,
                    .high_word = true,
                    .most_rows = rows};

    save_spec(in_folder("a"), &s);
}

/* Header and shape agree, but the bytes are not stored. */
TEST(shapes_without_bytes_are_refused)
{
    static const int64_t claim[] = {5, 1000, (int64_t)1 << 31, (int64_t)1 << 40};

    for (int k = 0; k < 12; k += memcheck_here() ? 5 : 1) {
        struct stat status;

        save_claim(claim[k / 3], 0, k % 3 ? 1 << 16 : 0, 3, k % 3 > 1);
        assert_int_equal(stat(in_folder("a"), &status), 0);
        assert_true(status.st_size < 16384);
        refuse("Coordinates holds fewer bytes");
    }
}

/* Wide chunks hold more bytes than the shape needs, and yet one chunk is missing. */
TEST(a_missing_chunk_is_found)
{
    for (int packed = 0; packed < 2; packed++) {
        save_claim(8, 4, 4, 9, packed);
        refuse("Coordinates holds fewer bytes");
        save_claim(4, 4, 4, 9, packed);
        eqp_snapshot_close(open_good(in_folder("a")));
    }
}
