/* SPDX-License-Identifier: BSD-3-Clause */
#include "hdf5_make.h"

#include "snapshot.h"

#include <hdf5.h>

enum { TYPES = 16, MOST_POINTS = 4096, MOST_CHUNK_POINTS = 1 << 16 };

enum { MISSING = 1, OTHER_TYPE = 2, OTHER_SHAPE = 4, OTHER_LAYOUT = 8, OTHER_VALUES = 16, OTHER_KIND = 32 };

typedef struct maker {
    fuzz_bytes in;
    hid_t file;
    int ntypes;
    int64_t n[TYPES];
    bool fragile; /* the next dataset has filters whose decoders cannot handle bytes that no encoder wrote, which would
                     test HDF5, not the reader */
} maker;

/* The flags of the next object's oddities. */
static int next_strange(maker *m)
{
    int byte = fuzz_byte(&m->in);

    return byte & 0x80 ? byte & 0x3f : 0;
}

enum { TEXT, LONG_TEXT, RECORD, ENUMERATION, OPAQUE, ARRAY, LISTS, FEW_BITS, FEW_BITS_BIG, HALF, WIDE, DERIVED };

/* Returns a stored type, owned by the caller. */
static hid_t choose_type(maker *m)
{
    const hid_t plain[] = {H5T_STD_I8LE,    H5T_STD_U8BE,   H5T_STD_I16BE,  H5T_STD_U32LE,
                           H5T_STD_I32BE,   H5T_STD_I64LE,  H5T_STD_U64BE,  H5T_STD_U64LE,
                           H5T_IEEE_F32LE,  H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE,
                           H5T_STD_REF_OBJ, H5T_STD_B32LE,  H5T_UNIX_D64LE, H5T_NATIVE_LDOUBLE};
    const hid_t copied[DERIVED] = {[TEXT] = H5T_C_S1,
                                   [LONG_TEXT] = H5T_C_S1,
                                   [FEW_BITS] = H5T_STD_U32LE,
                                   [FEW_BITS_BIG] = H5T_STD_I64BE,
                                   [HALF] = H5T_IEEE_F32LE};
    const int nplain = (int)(sizeof plain / sizeof *plain), k = fuzz_below(&m->in, nplain + DERIVED) - nplain;

    if (k < 0) {
        return H5Tcopy(plain[k + nplain]);
    }
    const hid_t type = k == RECORD        ? H5Tcreate(H5T_COMPOUND, 8)
                       : k == ENUMERATION ? H5Tenum_create(H5T_NATIVE_INT8)
                       : k == OPAQUE      ? H5Tcreate(H5T_OPAQUE, 8)
                       : k == ARRAY       ? H5Tarray_create2(H5T_IEEE_F64LE, 1, (hsize_t[]){3})
                       : k == LISTS       ? H5Tvlen_create(H5T_IEEE_F64LE)
                       : k == WIDE        ? H5Tcopy(fuzz_below(&m->in, 2) ? H5T_IEEE_F64LE : H5T_STD_I64LE)
                                          : H5Tcopy(copied[k]);

    if (k == TEXT) {
        H5Tset_size(type, 1 + (size_t)fuzz_byte(&m->in));
    } else if (k == LONG_TEXT) {
        H5Tset_size(type, H5T_VARIABLE);
    } else if (k == RECORD) {
        H5Tinsert(type, "x", 0, H5T_IEEE_F64LE);
    } else if (k == ENUMERATION) {
        H5Tenum_insert(type, "FALSE", &(int8_t){0});
        H5Tenum_insert(type, "TRUE", &(int8_t){1});
    } else if (k == FEW_BITS || k == FEW_BITS_BIG) {
        H5Tset_precision(type, 1 + (size_t)fuzz_below(&m->in, k == FEW_BITS ? 20 : 50));
        H5Tset_offset(type, (size_t)fuzz_below(&m->in, 12));
    } else if (k == HALF) {
        H5Tset_fields(type, 15, 10, 5, 0, 10);
        H5Tset_precision(type, 16);
        H5Tset_size(type, 2);
        H5Tset_ebias(type, 15);
    } else if (k == WIDE) {
        H5Tset_size(type, 9 + (size_t)fuzz_word(&m->in, 2));
    }
    return type;
}

static hsize_t choose_length(maker *m, hsize_t usual)
{
    static const hsize_t strange[] = {0, 1, 2, 3, 4, 7, 64, 4097, (hsize_t)1 << 31, (hsize_t)1 << 40};
    const int k = fuzz_below(&m->in, 13);

    return k < 10 ? strange[k] : k == 10 ? usual : k == 11 ? usual + 1 : usual - (usual > 0);
}

/* Chooses a shape of up to 4 dimensions. H5S_NULL: *ndims = -1. */
static void choose_shape(maker *m, int *ndims, hsize_t dimension[4])
{
    hsize_t usual[4] = {dimension[0], *ndims > 1 ? dimension[1] : 3, 1, 1};
    const int k = fuzz_below(&m->in, 6);

    *ndims = k == 5 ? -1 : k;
    for (int i = 0; i < *ndims; i++) {
        dimension[i] = choose_length(m, usual[i]);
    }
}

static hid_t make_space(int ndims, const hsize_t *dimension, bool grows)
{
    const hsize_t most[4] = {H5S_UNLIMITED, H5S_UNLIMITED, H5S_UNLIMITED, H5S_UNLIMITED};

    return ndims < 0    ? H5Screate(H5S_NULL)
           : ndims == 0 ? H5Screate(H5S_SCALAR)
                        : H5Screate_simple(ndims, dimension, grows ? most : NULL);
}

static hsize_t count_points(int ndims, const hsize_t *dimension)
{
    hsize_t points = ndims < 0 ? 0 : 1;

    for (int i = 0; i < ndims; i++) {
        points = dimension[i] > 0 && points > (hsize_t)-1 / dimension[i] ? (hsize_t)-1 : points * dimension[i];
    }
    return points;
}

/* Values of 8 bytes: the usual ones repeated, or values from the input. */
static uint64_t *make_values(maker *m, hsize_t points, int usual_n, const void *usual, bool other)
{
    static const double real[] = {0, -1, 1e18, 1e308, -1e308, 5e-324};
    static const int64_t integer[] = {
        0, -1, 1, 2, INT32_MAX, (int64_t)1 << 31, UINT32_MAX, (int64_t)1 << 40, INT64_MAX, INT64_MIN};
    uint64_t *value = calloc(points + 1, sizeof *value);

    fuzz_require(value);
    for (hsize_t i = 0; i < points && usual_n > 0; i++) {
        memcpy(&value[i], (const char *)usual + 8 * (i % (hsize_t)usual_n), 8);
    }
    for (int left = other && points > 0 ? 1 + fuzz_below(&m->in, 4) : 0; left > 0; left--) {
        uint64_t *to = &value[fuzz_word(&m->in, 2) % points];
        const int k = fuzz_below(&m->in, 20);
        const uint64_t word = k < 16 ? 0 : fuzz_word(&m->in, k < 18 ? 1 : 8);

        memcpy(to, k < 6 ? (const void *)&real[k] : k < 16 ? (const void *)&integer[k - 6] : &word, 8);
    }
    return value;
}

static void close_object(hid_t id)
{
    if (id >= 0) {
        (void)(H5Iget_type(id) == H5I_DATASET ? H5Dclose(id) : H5Idec_ref(id));
    }
}

static bool is_number(hid_t type)
{
    H5T_class_t class = H5Tget_class(type);

    return (class == H5T_INTEGER || class == H5T_FLOAT) && H5Tget_size(type) <= 16;
}

static void put_attribute(maker *m, hid_t at, const char *name, int n, hid_t stored, hid_t memory, const void *usual)
{
    const int strange = next_strange(m);
    const hid_t type = strange & OTHER_TYPE ? choose_type(m) : H5Tcopy(stored);
    hsize_t dimension[4] = {(hsize_t)n, 1, 1, 1};
    int ndims = n > 0;

    if (strange & OTHER_SHAPE) {
        choose_shape(m, &ndims, dimension);
    }
    const hsize_t points = count_points(ndims, dimension);
    if (!(strange & MISSING) && type >= 0 && points <= MOST_POINTS) {
        uint64_t *value = make_values(m, points, n > 0 ? n : 1, usual, strange & OTHER_VALUES);
        const hid_t space = make_space(ndims, dimension, false);
        const hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

        if (attribute >= 0 && is_number(type) && points > 0) {
            (void)H5Awrite(attribute, memory, value);
        }
        close_object(attribute);
        close_object(space);
        free(value);
    }
    close_object(type);
}

static void put_real(maker *m, hid_t at, const char *name, double value)
{
    put_attribute(m, at, name, 0, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

/* Number filters come first: in another order HDF5 itself writes beyond its memory. */
static void choose_filters(maker *m, hid_t properties)
{
    const int filters = fuzz_byte(&m->in);

    m->fragile = (filters & (8 | 16)) != 0;
    if (filters & 8) {
        H5Pset_nbit(properties);
    } else if (filters & 16) {
        H5Pset_scaleoffset(properties, H5Z_SO_INT, 0);
    }
    if (filters & 1) {
        H5Pset_shuffle(properties);
    }
    if (filters & 2) {
        H5Pset_deflate(properties, 1);
    }
    if (filters & 4) {
        H5Pset_fletcher32(properties);
    }
    if (filters & 32) {
        H5Pset_filter(properties, 307, H5Z_FLAG_OPTIONAL, 0, NULL); /* a filter that does not exist */
    }
}

/* Chooses chunks, filters, external files. grows: the shape must have no upper limits. */
static hid_t choose_layout(maker *m, int ndims, const hsize_t *dimension, bool *grows)
{
    static const hsize_t edge[] = {1, 2, 3, 4, 5, 100, 1000, 16384};
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const int k = fuzz_below(&m->in, 8);
    hsize_t chunk[4] = {1, 1, 1, 1};

    if (k == 0 || ndims < 1) {
        H5Pset_layout(properties, H5D_COMPACT);
    } else if (k == 1) {
        H5Pset_external(properties, "other", 0, H5F_UNLIMITED);
    } else if (k == 2) {
        const hid_t space = make_space(ndims, dimension, false);

        H5Pset_virtual(properties, space, "other", "/PartType0/Coordinates", space);
        H5Sclose(space);
    }
    if (k < 3 || ndims < 1) {
        return properties;
    }
    for (int i = 0; i < ndims; i++) {
        chunk[i] = edge[fuzz_below(&m->in, 8)];
        if (count_points(ndims, chunk) > MOST_CHUNK_POINTS) {
            chunk[i] = 1;
        }
    }
    H5Pset_chunk(properties, ndims, chunk);
    *grows = true;
    choose_filters(m, properties);
    return properties;
}

/* True if a dataset or group is left out, or replaced by a link, a group or a type. */
static bool is_replaced(maker *m, int strange, hid_t at, const char *name)
{
    if ((strange & (MISSING | OTHER_KIND)) != OTHER_KIND) {
        return (strange & MISSING) != 0;
    }
    const int k = fuzz_below(&m->in, 7);
    const hid_t type = H5Tcopy(H5T_IEEE_F64LE);

    if (k < 2) {
        (void)H5Lcreate_external("other", k ? "/" : "/PartType0/Coordinates", at, name, H5P_DEFAULT, H5P_DEFAULT);
    } else if (k < 4) {
        (void)H5Lcreate_soft(k == 2 ? "/nowhere" : "/PartType0/Coordinates", at, name, H5P_DEFAULT, H5P_DEFAULT);
    } else if (k == 4) {
        (void)H5Lcreate_hard(m->file, "/", at, name, H5P_DEFAULT, H5P_DEFAULT);
    } else if (k == 5) {
        (void)H5Tcommit2(at, name, type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    } else {
        close_object(H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    close_object(type);
    return true;
}

static void put_dataset(maker *m, hid_t at, const char *name, int64_t rows, int width, hid_t stored, hid_t memory)
{
    static const double usual_real[] = {1, 0.5, 0.25, 3, 7, 0.125, 2};
    static const int64_t usual_integer[] = {7, 9, 8, 11};
    const int strange = next_strange(m);
    const bool real = H5Tget_class(memory) == H5T_FLOAT, other = strange & OTHER_VALUES;
    hsize_t dimension[4] = {(hsize_t)rows, (hsize_t)width, 1, 1};
    int ndims = width > 1 ? 2 : 1;
    bool grows = false;

    if (is_replaced(m, strange, at, name)) {
        return;
    }
    const hid_t type = strange & OTHER_TYPE ? choose_type(m) : H5Tcopy(stored);
    if (strange & OTHER_SHAPE) {
        choose_shape(m, &ndims, dimension);
    }
    m->fragile = false;
    const hid_t properties =
        strange & OTHER_LAYOUT ? choose_layout(m, ndims, dimension, &grows) : H5Pcreate(H5P_DATASET_CREATE);
    const hid_t space = make_space(ndims, dimension, grows);
    const hsize_t points = count_points(ndims, dimension);
    const hid_t dataset = type >= 0 ? H5Dcreate2(at, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT) : -1;
    if (dataset >= 0 && points <= MOST_POINTS && H5Pget_external_count(properties) == 0 &&
        H5Pget_layout(properties) != H5D_VIRTUAL) {
        uint64_t *value = make_values(m, points, real ? 7 : 4, real ? (const void *)usual_real : usual_integer, other);

        /* Writes all values, or raw bytes as a chunk that readers will try to unfilter. */
        if (other && fuzz_below(&m->in, 8) == 0 && H5Pget_layout(properties) == H5D_CHUNKED && !m->fragile) {
            const hsize_t first[4] = {0, 0, 0, 0};

            (void)H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, first, 8 * (points < 8 ? points : 8), value);
        } else if (is_number(type) && points > 0) {
            (void)H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, value);
        }
        free(value);
    }
    if (dataset >= 0 && strcmp(name, "Velocities") == 0 && fuzz_below(&m->in, 16) == 15) {
        put_real(m, dataset, "a_scaling", 0.5);
    }
    const hid_t open[] = {dataset, space, properties, type};
    for (int i = 0; i < 4; i++) {
        close_object(open[i]);
    }
}

static hid_t put_group(maker *m, const char *name)
{
    return is_replaced(m, next_strange(m), m->file, name)
               ? -1
               : H5Gcreate2(m->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

static void put_header(maker *m)
{
    static const double mass[TYPES] = {0, 2.5, 0, 0.5};
    static const int64_t high[TYPES] = {0};
    static const struct {
        const char *name;
        double value;
    } real[] = {{"Time", 0.5},   {"Redshift", 0},      {"BoxSize", 50},
                {"Omega0", 0.3}, {"OmegaLambda", 0.7}, {"HubbleParam", 0.7}};
    const hid_t group = put_group(m, "Header");

    if (group < 0) {
        return;
    }
    put_attribute(m, group, "NumPart_ThisFile", m->ntypes, H5T_STD_I64LE, H5T_NATIVE_INT64, m->n);
    put_attribute(m, group, "NumPart_Total", m->ntypes, H5T_STD_U32LE, H5T_NATIVE_INT64, m->n);
    put_attribute(m, group, "NumPart_Total_HighWord", m->ntypes, H5T_STD_U32LE, H5T_NATIVE_INT64, high);
    put_attribute(m, group, "MassTable", m->ntypes, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, mass);
    put_attribute(m, group, "NumFilesPerSnapshot", 0, H5T_STD_I32LE, H5T_NATIVE_INT64, &(int64_t){1});
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        put_real(m, group, real[i].name, real[i].value);
    }
    close_object(group);
}

static void put_type(maker *m, int t)
{
    static const char *const name[] = {"Coordinates", "Velocities",   "ParticleIDs",
                                       "Masses",      "Acceleration", "Potential"};
    static const int width[] = {3, 3, 1, 1, 3, 1};
    const hid_t stored[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_U64LE,
                            H5T_IEEE_F64LE, H5T_IEEE_F64LE, H5T_IEEE_F64LE};
    char type[32];

    (void)snprintf(type, sizeof type, "PartType%d", t);
    const hid_t group = put_group(m, type);
    for (int i = 0; group >= 0 && i < 6; i++) {
        put_dataset(m, group, name[i], m->n[t], width[i], stored[i], i == 2 ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE);
    }
    close_object(group);
}

/* A group with an integer and a real attribute. */
static void put_pair(maker *m, const char *name, const char *integer, int64_t i, const char *real, double x)
{
    const hid_t group = put_group(m, name);

    if (group >= 0) {
        put_attribute(m, group, integer, 0, H5T_STD_I32LE, H5T_NATIVE_INT64, &i);
        put_real(m, group, real, x);
        close_object(group);
    }
}

/* Builds the file in memory, then writes it to disk. */
static int64_t save_image(const char *path, hid_t file)
{
    ssize_t size;
    void *image;

    (void)H5Fflush(file, H5F_SCOPE_GLOBAL);
    size = H5Fget_file_image(file, NULL, 0);
    fuzz_require(size > 0);
    image = malloc((size_t)size);
    fuzz_require(image && H5Fget_file_image(file, image, (size_t)size) == size);
    fuzz_save(path, image, (size_t)size);
    free(image);
    return (int64_t)size;
}

/* Makes the complete snapshot of one particle that must not be read. */
static void make_other(void)
{
    static bool made;
    maker m = {.ntypes = 1, .n = {4}};

    if (made) {
        return;
    }
    made = true;
    m.file = H5Fcreate(fuzz_path("other"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    fuzz_require(m.file >= 0);
    put_header(&m);
    put_type(&m, 0);
    const double mass[4] = {FUZZ_FORBIDDEN_MASS, FUZZ_FORBIDDEN_MASS, FUZZ_FORBIDDEN_MASS, FUZZ_FORBIDDEN_MASS};
    const hid_t dataset = H5Dopen2(m.file, "/PartType0/Masses", H5P_DEFAULT);
    fuzz_require(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, mass) >= 0);
    close_object(dataset);
    fuzz_require(H5Fclose(m.file) >= 0);
}

int64_t fuzz_make_hdf5(const char *name, const uint8_t *data, size_t size)
{
    maker m = {.in = {data, size}};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
    H5E_auto2_t print;
    void *user;
    int flags = fuzz_byte(&m.in);
    int64_t bytes;

    H5Eget_auto2(H5E_DEFAULT, &print, &user);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    make_other();
    H5Pset_fapl_core(access, 1 << 16, false);
    if (flags & 1) {
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    }
    if (flags & 2) {
        H5Pset_userblock(creation, 512);
    }
    m.file = H5Fcreate(fuzz_path(name), H5F_ACC_TRUNC, creation, access);
    fuzz_require(m.file >= 0);
    m.ntypes = 1 + fuzz_below(&m.in, TYPES);
    for (int t = 0; t < m.ntypes; t++) {
        m.n[t] = fuzz_below(&m.in, 6);
    }
    put_header(&m);
    if (flags & 4) {
        put_pair(&m, "Equipoise", "step", 3, "dt", 0.01);
        put_pair(&m, "Parameters", "ComovingIntegrationOn", 0, "Omega0", 0.3);
        put_pair(&m, "Cosmology", "Cosmological run", 0, "Omega_m", 0.3);
    }
    for (int t = 0; t < m.ntypes; t++) {
        if (m.n[t] > 0) {
            put_type(&m, t);
        }
    }
    bytes = save_image(fuzz_path(name), m.file);
    fuzz_require(H5Fclose(m.file) >= 0);
    H5Pclose(creation);
    H5Pclose(access);
    H5Eset_auto2(H5E_DEFAULT, print, user);
    return bytes;
}
