/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens groups and datasets of untrusted files: links out of the file are refused, and the shape of a dataset is
 * checked against the bytes stored before memory is allocated for it. */
#include "base/internal.h"
#include "io/hdf5_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_DIMENSIONS = 2, MOST_NUMBER_BYTES = 16, WORDS = 280 };

/* Largest compression ratio accepted; no filter in use compresses coordinates further. */
#define MOST_COMPRESSION 4096

/* A compressed chunk that does not fit into the cache would be decompressed again for each block of rows. */
#define MOST_CHUNK ((hsize_t)1 << 29)

/* Chunks up to this size are accepted whatever the dataset stores. */
#define SMALL_CHUNK ((hsize_t)1 << 20)

static const char elsewhere[] = "is kept in another file, which is not read";

/* Registered numbers of filters that come as plugins. */
static const struct {
    H5Z_filter_t number;
    const char *name;
} plugins[] = {
    {307, "bzip2"}, {32000, "LZF"},       {32001, "Blosc"}, {32004, "LZ4"},       {32008, "bitshuffle"},
    {32013, "ZFP"}, {32015, "Zstandard"}, {32017, "SZ"},    {32018, "FCIDECOMP"}, {32023, "granular BitRound"},
    {32024, "SZ3"}, {32026, "Blosc2"},    {4, "szip"}};

static herr_t refuse_traversal(const char *parent_file, const char *parent_group, const char *child_file,
                               const char *child_object, unsigned *flags, hid_t access, void *user)
{
    (void)parent_file, (void)parent_group, (void)child_file, (void)child_object, (void)flags, (void)access, (void)user;
    return -1;
}

/* Access properties under which no link, at any depth, leads out of the file. */
static hid_t access_within(hid_t class)
{
    hid_t access = H5Pcreate(class);

    if (access >= 0 && H5Pset_elink_cb(access, refuse_traversal, NULL) < 0) {
        H5Pclose(access);
        access = -1;
    }
    return access;
}

/* True if the link leads to another file, which `what` then names. */
static bool leads_out(hid_t at, const char *name, size_t size, char *what)
{
    const char *file = NULL, *object;
    char value[512];
    H5L_info_t info;
    unsigned flags;

    if (H5Lget_info(at, name, &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_EXTERNAL) {
        return false;
    }
    snprintf(what, size, "%s", elsewhere);
    if (info.u.val_size <= sizeof value && H5Lget_val(at, name, value, sizeof value, H5P_DEFAULT) >= 0 &&
        H5Lunpack_elink_val(value, info.u.val_size, &flags, &file, &object) >= 0) {
        snprintf(what, size, "%s: give %.200s", elsewhere, file);
    }
    return true;
}

void eqp__hdf5_name(hid_t at, size_t size, char *name)
{
    ssize_t length = H5Iget_name(at, name, size);

    /* The root is "/"; deleted objects have no name. */
    if (length <= 1 || (size_t)length >= size) {
        name[0] = '\0';
    }
}

int eqp__hdf5_open_group(const char *path, hid_t at, const char *name, hid_t *group, eqp_message *message)
{
    const htri_t there = H5Lexists(at, name, H5P_DEFAULT);
    EQP__HID access = there > 0 ? access_within(H5P_GROUP_ACCESS) : -1;
    const hid_t opened = access >= 0 ? H5Gopen2(at, name, access) : -1;

    EQP__FAIL_IF(there == 0, EQP_ERR_UNKNOWN);
    if (opened < 0) {
        char what[WORDS] = "is damaged, or is no group";

        (void)(there > 0 && leads_out(at, name, sizeof what, what));
        return EQP__SAY(message, EQP_ERR_FORMAT, "%s: group /%s %s", path, name, what);
    }
    *group = opened;
    return EQP_OK;
}

/* Number of chunks; 0 if some were never written. Such chunks take no space in the file and would read as zeros. */
static hsize_t count_chunks(hid_t dataset, hid_t space, int ndims, const hsize_t dimension[], const hsize_t chunk[])
{
    hsize_t needed = 1, found = 0;

    for (int k = 0; k < ndims; k++) {
        needed *= (dimension[k] - 1) / chunk[k] + 1;
    }
    return H5Dget_num_chunks(dataset, space, &found) >= 0 && found >= needed ? found : 0;
}

/* Size of a chunk of `bytes` behind its filters; 0 if it depends on the contents. Filters of numbers (nbit,
 * scale-offset, szip) behind a filter of bytes are wrong: HDF5 1.10 trusts the sizes in the file and in the filter's
 * header and would access memory out of bounds. */
static bool follow_filters(hid_t properties, hsize_t *bytes)
{
    int nfilters = H5Pget_nfilters(properties);

    for (int i = 0; i < nfilters; i++) {
        unsigned flags, config;
        size_t nvalues = 0;
        H5Z_filter_t filter = H5Pget_filter2(properties, (unsigned)i, &flags, &nvalues, NULL, 0, NULL, &config);

        if (filter == H5Z_FILTER_NBIT || filter == H5Z_FILTER_SCALEOFFSET || filter == H5Z_FILTER_SZIP) {
            if (*bytes == 0) {
                return false;
            }
            *bytes = 0;
        } else if (filter == H5Z_FILTER_FLETCHER32) {
            *bytes += *bytes > 0 ? 4 : 0;
        } else if (filter != H5Z_FILTER_SHUFFLE) {
            *bytes = 0;
        }
    }
    return true;
}

/* True if the bytes stored can hold the shape and no chunk is larger than they justify. rows > 0. */
static const char *is_not_stored(hid_t dataset, hid_t properties, hid_t space, int ndims, const hsize_t dimension[],
                                 hsize_t number)
{
    static const char fewer[] = "holds fewer bytes than its shape needs";
    hsize_t stored = H5Dget_storage_size(dataset), bytes = dimension[0] * dimension[1] * number;
    hsize_t chunk[MOST_DIMENSIONS] = {1, 1}, nchunks, chunk_bytes, in_file;

    if (H5Pget_layout(properties) != H5D_CHUNKED) {
        return stored >= bytes ? NULL : fewer;
    }
    /* HDF5 limits chunks to 4 GiB, so nothing overflows here. */
    if (H5Pget_chunk(properties, MOST_DIMENSIONS, chunk) != ndims || chunk[0] < 1 || chunk[1] < 1) {
        return "is damaged";
    }
    chunk_bytes = chunk[0] * chunk[1] * number;
    nchunks = count_chunks(dataset, space, ndims, dimension, chunk);
    if (nchunks == 0) {
        return fewer;
    }
    in_file = chunk_bytes;
    if (!follow_filters(properties, &in_file)) {
        return "is packed by filters in an order that cannot be";
    }
    if (in_file > 0 && stored != nchunks * in_file) {
        return "has chunks of other sizes than it says";
    }
    if (H5Pget_nfilters(properties) > 0 &&
        (chunk_bytes > MOST_CHUNK ||
         (chunk_bytes > SMALL_CHUNK && chunk_bytes > bytes && chunk_bytes / MOST_COMPRESSION > stored))) {
        return "is packed in chunks that are too large";
    }
    return NULL;
}

/* True if the first chunk was written without this optional filter. */
static bool is_skipped(hid_t dataset, int filter)
{
    EQP__HID space = H5Dget_space(dataset);
    hsize_t offset[H5S_MAX_RANK], bytes;
    haddr_t address;
    unsigned mask = 0;

    return space >= 0 && H5Dget_chunk_info(dataset, space, 0, offset, &mask, &address, &bytes) >= 0 &&
           (mask >> filter & 1) != 0;
}

bool eqp__hdf5_lacks_filter(hid_t dataset, size_t size, char *what)
{
    EQP__HID properties = H5Dget_create_plist(dataset);
    int nfilters = properties >= 0 ? H5Pget_nfilters(properties) : 0;
    bool lacks = false;

    for (int i = 0; i < nfilters && i < 32 && !lacks; i++) {
        unsigned flags, config;
        size_t nvalues = 0;
        char name[64] = "";
        H5Z_filter_t filter =
            H5Pget_filter2(properties, (unsigned)i, &flags, &nvalues, NULL, sizeof name, name, &config);

        lacks = filter >= 0 && H5Zfilter_avail(filter) <= 0 && !is_skipped(dataset, i);
        for (size_t k = 0; k < sizeof plugins / sizeof *plugins; k++) {
            if (plugins[k].number == filter) {
                snprintf(name, sizeof name, "%s", plugins[k].name);
            }
        }
        if (lacks) {
            snprintf(what, size,
                     "cannot be read: filter %d%s%s%s is not available (set HDF5_PLUGIN_PATH, or use h5repack -f NONE)",
                     (int)filter, name[0] ? " (" : "", name, name[0] ? ")" : "");
        }
    }
    return lacks;
}

/* Virtual datasets are detected first: asking for their shape can open other files. */
static const char *what_is_wrong(hid_t dataset, H5T_class_t class, int64_t rows, int width)
{
    EQP__HID properties = H5Dget_create_plist(dataset);
    const H5D_layout_t layout = properties >= 0 ? H5Pget_layout(properties) : H5D_LAYOUT_ERROR;
    hsize_t dimension[MOST_DIMENSIONS] = {0, 1};

    EQP__FAIL_IF(layout == H5D_LAYOUT_ERROR, "is damaged");
    EQP__FAIL_IF((layout != H5D_CONTIGUOUS && layout != H5D_COMPACT && layout != H5D_CHUNKED) ||
                     H5Pget_external_count(properties) != 0,
                 elsewhere);
    EQP__HID space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    const int ndims = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    EQP__FAIL_IF(space < 0 || type < 0, "is damaged");
    EQP__FAIL_IF(H5Tget_class(type) != class,
                 class == H5T_FLOAT ? "is not of floating-point numbers" : "is not of integers");
    EQP__FAIL_IF(H5Tget_size(type) > MOST_NUMBER_BYTES, "has numbers of more than 16 bytes");
    EQP__FAIL_IF(ndims < 1 || ndims > MOST_DIMENSIONS || H5Sget_simple_extent_dims(space, dimension, NULL) < 0 ||
                     dimension[0] != (hsize_t)rows || dimension[1] != (hsize_t)width,
                 "has another shape than the header says");
    return rows > 0 ? is_not_stored(dataset, properties, space, ndims, dimension, H5Tget_size(type)) : NULL;
}

/* The cache must hold a chunk, whose size is known only once the dataset is open. */
static hid_t reopen_with_cache(hid_t group, const char *name, hid_t dataset)
{
    EQP__HID properties = H5Dget_create_plist(dataset), type = H5Dget_type(dataset), access = -1;
    hsize_t chunk[MOST_DIMENSIONS] = {1, 1}, bytes = 0;

    if (properties >= 0 && type >= 0 && H5Pget_layout(properties) == H5D_CHUNKED &&
        H5Pget_chunk(properties, MOST_DIMENSIONS, chunk) > 0) {
        bytes = chunk[0] * chunk[1] * H5Tget_size(type);
    }
    if (bytes > SMALL_CHUNK / 2 && bytes <= MOST_CHUNK) {
        access = access_within(H5P_DATASET_ACCESS);
        if (access >= 0 && H5Pset_chunk_cache(access, 521, 2 * (size_t)bytes, 1.0) >= 0) {
            H5Dclose(dataset);
            dataset = H5Dopen2(group, name, access);
        }
    }
    return dataset;
}

hid_t eqp__hdf5_open_within(hid_t group, const char *name)
{
    EQP__HID access = access_within(H5P_DATASET_ACCESS);

    return access >= 0 ? H5Dopen2(group, name, access) : -1;
}

int eqp__hdf5_open_column(const char *path, hid_t group, const char *name, H5T_class_t class, int64_t rows, int width,
                          hid_t *dataset, eqp_message *message)
{
    htri_t there = H5Lexists(group, name, H5P_DEFAULT);
    const char *wrong = NULL;
    char where[64], what[WORDS];
    hid_t opened;

    EQP__FAIL_IF(there == 0, EQP_ERR_UNKNOWN);
    opened = there > 0 ? eqp__hdf5_open_within(group, name) : -1;
    if (opened >= 0) {
        wrong = what_is_wrong(opened, class, rows, width);
        wrong = !wrong && rows > 0 && eqp__hdf5_lacks_filter(opened, sizeof what, what) ? what : wrong;
        opened = wrong ? opened : reopen_with_cache(group, name, opened);
    }
    if (opened < 0 || wrong) {
        if (!wrong) {
            wrong = there > 0 && leads_out(group, name, sizeof what, what) ? what : "is damaged, or is no dataset";
        }
        eqp__hdf5_name(group, sizeof where, where);
        eqp_message_set(message, "%s: dataset %s/%s %s", path, where, name, wrong);
        eqp__hdf5_close(&opened);
        return EQP_ERR_FORMAT;
    }
    *dataset = opened;
    return EQP_OK;
}

bool eqp__hdf5_is_packed_beyond_belief(hid_t dataset, int64_t numbers)
{
    EQP__HID type = H5Dget_type(dataset);
    const hsize_t bytes = type >= 0 ? (hsize_t)numbers * H5Tget_size(type) : 0;

    return bytes > SMALL_CHUNK && bytes / MOST_COMPRESSION > H5Dget_storage_size(dataset);
}

/* Virtual files map the datasets of other files. Each source is a complete snapshot and is read as one, with all
 * checks. Only files in the same folder or below are opened. */

enum { MOST_PIECES = 4096, NAME_BYTES = 1024 };

/* Path of the piece `name` relative to the folder of `path`; if that does not exist, its last component in that folder.
 * Owned by the caller. */
static int beside(const char *path, const char *name, char **piece)
{
    const char *last = strrchr(name, '/');
    const size_t folder = (size_t)(eqp__base_name(path) - path);
    char *joined = NULL;

    EQP__CHECK(eqp_array_create(&joined, (int64_t)(folder + strlen(name)) + 1, 1));
    memcpy(joined, path, folder);
    strcpy(joined + folder, name);
    if (last && (name[0] == '/' || strstr(name, "..") || access(joined, F_OK) != 0)) {
        strcpy(joined + folder, last + 1);
    }
    *piece = joined;
    return EQP_OK;
}

/* Types usually have the same pieces in the same order, so `guess` is looked at first. */
static bool is_known(const eqp__pieces *pieces, int64_t guess, const char *piece)
{
    bool known = guess < pieces->n && strcmp(pieces->path[guess], piece) == 0;

    for (int64_t i = 0; i < pieces->n && !known; i++) {
        known = strcmp(pieces->path[i], piece) == 0;
    }
    return known;
}

static int add_piece(const char *path, const char *name, int64_t guess, eqp__pieces *pieces, eqp_message *message)
{
    EQP__HEAP char *piece = NULL;

    /* "." is the file itself; "%b" is replaced by a running number. */
    EQP__FAIL_IF(
        name[0] == '\0' || strcmp(name, ".") == 0 || strchr(name, '%'),
        EQP__SAY(message, EQP_ERR_FORMAT,
                 "%s: is a virtual file over '%s', which is not the name of a piece: give the pieces themselves", path,
                 name));
    EQP__CHECK(beside(path, name, &piece));
    if (!is_known(pieces, guess, piece)) {
        EQP__FAIL_IF(
            pieces->n == MOST_PIECES,
            EQP__SAY(message, EQP_ERR_FORMAT, "%s: is a virtual file over more than %d pieces", path, MOST_PIECES));
        EQP__CHECK(eqp_array_reserve(&pieces->path, &pieces->capacity, pieces->n + 1, sizeof *pieces->path));
        pieces->path[pieces->n++] = piece;
        piece = NULL;
    }
    return EQP_OK;
}

bool eqp__hdf5_is_virtual(hid_t dataset)
{
    EQP__HID properties = H5Dget_create_plist(dataset);

    return properties >= 0 && H5Pget_layout(properties) == H5D_VIRTUAL;
}

int eqp__hdf5_find_pieces(const char *path, hid_t dataset, const char *name, eqp__pieces *pieces, eqp_message *message)
{
    EQP__HID properties = H5Dget_create_plist(dataset);
    size_t count = 0;

    if (properties < 0 || H5Pget_virtual_count(properties, &count) < 0) {
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        char file[NAME_BYTES], source[NAME_BYTES];
        ssize_t length = H5Pget_virtual_filename(properties, i, file, sizeof file);
        ssize_t more = H5Pget_virtual_dsetname(properties, i, source, sizeof source);

        EQP__FAIL_IF(length < 0 || length >= NAME_BYTES || more < 0 || more >= NAME_BYTES ||
                         strcmp(source[0] == '/' ? source + 1 : source, name) != 0,
                     EQP__SAY(message, EQP_ERR_FORMAT,
                              "%s: is a virtual file, but piece %zu of %s is not of that name: give the pieces", path,
                              i, name));
        EQP__CHECK(add_piece(path, file, (int64_t)i, pieces, message));
    }
    return EQP_OK;
}
