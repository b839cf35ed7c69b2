/* SPDX-License-Identifier: BSD-3-Clause */
/* Reader of the project's HDF5 layout: /items/loads [phases][n] and optional data. See docs/traces.md. */
#include "build.h"

#include <hdf5.h>

#include <stdlib.h>
#include <string.h>

/* Upper bound on the compression ratio of all usual filters. */
#define MOST_COMPRESSION 4096

/* A dataset of integers or reals. Zeros: absent. */
typedef struct dataset {
    hid_t id; /* 0: there is none */
    const char *name;
    int ndims;
    int64_t extent[2];
} dataset;

enum { ID, LOADS, POSITIONS, RANK, BYTES, FIXED, PHASES, FROM, TO, EDGE_BYTES, EDGE_PHASE, NSETS };

typedef struct reading {
    rf_build *build;
    hid_t file;
    int64_t n, nphases;
    dataset set[NSETS];
} reading;

static int refuse(const reading *r, const char *name, const char *what)
{
    (void)rf_build_refuse_at(r->build, r->build->npaths - 1, RF_NONE, "%s: %s", name, what);
    return EQP_ERR_FORMAT;
}

/* False for links and data outside the file, which are never followed. */
static bool is_here(hid_t file, const char *name)
{
    H5L_info_t info;
    char group[16];
    const char *slash = strchr(name + 1, '/');

    if (slash != NULL) {
        (void)snprintf(group, sizeof group, "%.*s", (int)(slash - name), name);
        if (H5Lexists(file, group, H5P_DEFAULT) <= 0 || H5Lget_info(file, group, &info, H5P_DEFAULT) < 0 ||
            info.type != H5L_TYPE_HARD) {
            return false;
        }
    }
    return H5Lexists(file, name, H5P_DEFAULT) > 0 && H5Lget_info(file, name, &info, H5P_DEFAULT) >= 0 &&
           info.type == H5L_TYPE_HARD;
}

/* True for filters that HDF5 decodes safely whatever the file contains. */
static bool has_plain_filters(hid_t properties)
{
    bool plain = true;

    for (int i = 0; i < H5Pget_nfilters(properties) && plain; i++) {
        unsigned flags, config;
        size_t nvalues = 0;
        const H5Z_filter_t filter = H5Pget_filter2(properties, (unsigned)i, &flags, &nvalues, NULL, 0, NULL, &config);
        plain = filter == H5Z_FILTER_DEFLATE || filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_FLETCHER32;
    }
    return plain;
}

/* Checks that a dataset has numbers, is stored in this file, and is no larger than its bytes allow. */
static const char *look_at(dataset *d)
{
    const hid_t type = H5Dget_type(d->id), space = H5Dget_space(d->id), properties = H5Dget_create_plist(d->id);
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    hsize_t extent[2] = {1, 1}, numbers, stored = H5Dget_storage_size(d->id);
    const char *wrong = NULL;

    d->ndims = space >= 0 ? H5Sget_simple_extent_ndims(space) : -1;
    if ((class != H5T_INTEGER && class != H5T_FLOAT) || H5Tget_size(type) > 16) {
        wrong = "holds no numbers";
    } else if (d->ndims < 1 || d->ndims > 2 || H5Sget_simple_extent_dims(space, extent, NULL) != d->ndims) {
        wrong = "has neither one dimension nor two";
    } else if (properties < 0 || H5Pget_external_count(properties) != 0 || H5Pget_layout(properties) == H5D_VIRTUAL ||
               !has_plain_filters(properties)) {
        wrong = "is kept in another file, or behind a filter that is not read";
    } else if (extent[0] > INT32_MAX || extent[1] > INT32_MAX) {
        wrong = "is too large";
    } else {
        numbers = extent[0] * extent[1];
        wrong =
            numbers / MOST_COMPRESSION > stored || (numbers > 0 && stored == 0) ? "has fewer bytes than numbers" : NULL;
    }
    d->extent[0] = (int64_t)extent[0];
    d->extent[1] = (int64_t)extent[1];
    H5Pclose(properties);
    H5Sclose(space);
    H5Tclose(type);
    return wrong;
}

/* Opens a dataset, if present, with rows x columns numbers; -1: any number; columns 0: one dimension. */
static int open_dataset(const reading *r, const char *name, int64_t rows, int64_t columns, dataset *d)
{
    const char *wrong;

    d->name = name;
    if (!is_here(r->file, name)) {
        return EQP_OK;
    }
    const hid_t id = H5Dopen2(r->file, name, H5P_DEFAULT);
    if (id < 0) {
        return refuse(r, name, "is damaged, or is no dataset");
    }
    d->id = id;
    wrong = look_at(d);
    if (wrong == NULL && ((rows >= 0 && d->extent[0] != rows) || (columns == 0 && d->ndims != 1) ||
                          (columns > 0 && (d->ndims != 2 || d->extent[1] != columns)))) {
        wrong = "has another shape than /items/loads wants";
    }
    return wrong == NULL ? EQP_OK : refuse(r, name, wrong);
}

/* Row `row` of a two-dimensional dataset; -1, or one dimension: all of it. type: of `into`. */
static int read_row(const reading *r, const dataset *d, int64_t row, hid_t type, void *into)
{
    const bool all = d->ndims == 1 || row < 0;
    const hsize_t start[2] = {(hsize_t)row, 0}, count[2] = {1, (hsize_t)d->extent[1]};
    const hsize_t length = (hsize_t)(all ? d->extent[0] * d->extent[1] : d->extent[1]);
    const hid_t file = H5Dget_space(d->id), memory = H5Screate_simple(1, &length, NULL);
    bool done = file >= 0 && memory >= 0;

    done = done && (all || H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    done = done && (length == 0 || H5Dread(d->id, type, memory, file, H5P_DEFAULT, into) >= 0);
    H5Sclose(memory);
    H5Sclose(file);
    return done ? EQP_OK : refuse(r, d->name, "cannot be read");
}

/* Reads a one-dimensional dataset; NULL if absent. */
static int read_ints(const reading *r, const dataset *d, int64_t **values)
{
    if (d->id > 0) {
        EQP_CHECK(eqp_array_create(values, d->extent[0], sizeof **values));
        EQP_CHECK(read_row(r, d, 0, H5T_NATIVE_INT64, *values));
    }
    return EQP_OK;
}

static int open_all(reading *r)
{
    EQP_CHECK(open_dataset(r, "/items/loads", -1, -1, &r->set[LOADS]));
    EQP_CHECK(r->set[LOADS].id > 0 ? EQP_OK : refuse(r, "/items/loads", "is missing: not a trace"));
    r->nphases = r->set[LOADS].ndims == 1 ? 1 : r->set[LOADS].extent[0];
    r->n = r->set[LOADS].ndims == 1 ? r->set[LOADS].extent[0] : r->set[LOADS].extent[1];
    EQP_CHECK(open_dataset(r, "/items/id", r->n, 0, &r->set[ID]));
    EQP_CHECK(open_dataset(r, "/items/positions", r->n, 3, &r->set[POSITIONS]));
    EQP_CHECK(open_dataset(r, "/items/rank", -1, -1, &r->set[RANK]));
    if (r->set[RANK].id > 0 &&
        !(r->set[RANK].ndims == 1 ? r->set[RANK].extent[0] == r->n
                                  : r->set[RANK].extent[0] == r->nphases && r->set[RANK].extent[1] == r->n)) {
        EQP_CHECK(refuse(r, "/items/rank", "has another shape than /items/loads wants"));
    }
    EQP_CHECK(open_dataset(r, "/items/bytes", r->n, 0, &r->set[BYTES]));
    EQP_CHECK(open_dataset(r, "/items/fixed", r->n, 0, &r->set[FIXED]));
    EQP_CHECK(open_dataset(r, "/phases", r->nphases, 0, &r->set[PHASES]));
    EQP_CHECK(open_dataset(r, "/edges/from", -1, 0, &r->set[FROM]));
    if (r->set[FROM].id > 0) {
        EQP_CHECK(open_dataset(r, "/edges/to", r->set[FROM].extent[0], 0, &r->set[TO]));
        EQP_CHECK(r->set[TO].id > 0 ? EQP_OK : refuse(r, "/edges/to", "is missing"));
        EQP_CHECK(open_dataset(r, "/edges/bytes", r->set[FROM].extent[0], 0, &r->set[EDGE_BYTES]));
        EQP_CHECK(open_dataset(r, "/edges/phase", r->set[FROM].extent[0], 0, &r->set[EDGE_PHASE]));
    }
    return EQP_OK;
}

static int read_edges(const reading *r)
{
    RF_FREED int64_t *from = NULL, *to = NULL, *bytes = NULL, *phase = NULL;

    EQP_CHECK(read_ints(r, &r->set[FROM], &from));
    EQP_CHECK(read_ints(r, &r->set[TO], &to));
    EQP_CHECK(read_ints(r, &r->set[EDGE_BYTES], &bytes));
    EQP_CHECK(read_ints(r, &r->set[EDGE_PHASE], &phase));
    for (int64_t e = 0; from != NULL && e < r->set[FROM].extent[0]; e++) {
        r->build->number = e;
        EQP_CHECK(rf_build_edge(r->build, from[e], to[e], bytes != NULL ? bytes[e] : RF_NONE,
                                phase != NULL ? phase[e] : RF_NONE));
    }
    return EQP_OK;
}

static int read_items(const reading *r)
{
    RF_FREED int64_t *id = NULL, *rank = NULL, *bytes = NULL, *fixed = NULL, *phase = NULL;
    RF_FREED double *load = NULL, *centre = NULL;

    EQP_CHECK(eqp_array_create(&load, r->n, sizeof *load));
    EQP_CHECK(r->set[RANK].id > 0 ? eqp_array_create(&rank, r->n, sizeof *rank) : EQP_OK);
    EQP_CHECK(read_ints(r, &r->set[ID], &id));
    EQP_CHECK(read_ints(r, &r->set[BYTES], &bytes));
    EQP_CHECK(read_ints(r, &r->set[FIXED], &fixed));
    EQP_CHECK(read_ints(r, &r->set[PHASES], &phase));
    if (r->set[POSITIONS].id > 0) {
        EQP_CHECK(eqp_array_create(&centre, 3 * r->n, sizeof *centre));
        EQP_CHECK(read_row(r, &r->set[POSITIONS], -1, H5T_NATIVE_DOUBLE, centre));
    }
    for (int64_t p = 0; p < r->nphases; p++) {
        EQP_CHECK(read_row(r, &r->set[LOADS], p, H5T_NATIVE_DOUBLE, load));
        if (rank != NULL && (p == 0 || r->set[RANK].ndims == 2)) {
            EQP_CHECK(read_row(r, &r->set[RANK], p, H5T_NATIVE_INT64, rank));
        }
        for (int64_t i = 0; i < r->n; i++) {
            rf_row row = {.item = id != NULL ? id[i] : i,
                          .phase = phase != NULL ? phase[p] : p,
                          .load = load[i],
                          .rank = rank != NULL ? rank[i] : RF_NONE,
                          .bytes = bytes != NULL ? bytes[i] : RF_NONE,
                          .placed = centre != NULL,
                          .fixed = fixed != NULL && fixed[i] != 0};
            r->build->number = i;
            if (centre != NULL) {
                memcpy(row.centre, centre + 3 * i, sizeof row.centre);
            }
            if (row.fixed && rank == NULL) {
                EQP_CHECK(refuse(r, "/items/fixed", "items are fixed, but have no rank"));
            }
            EQP_CHECK(rf_build_row(r->build, &row, NULL));
        }
    }
    return EQP_OK;
}

int rf_read_hdf5(rf_build *build, const char *path)
{
    reading r = {.build = build};
    H5E_auto2_t print = NULL;
    void *user = NULL;
    int code;

    /* Suppresses HDF5's own error output. */
    (void)H5Eget_auto2(H5E_DEFAULT, &print, &user);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    EQP_TRY(rf_build_open(build, path, "item"));
    r.file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (r.file < 0) {
        (void)rf_build_refuse_at(build, build->npaths - 1, RF_NONE, "HDF5, but damaged");
        EQP_TRY(EQP_ERR_FORMAT);
    }
    EQP_TRY(rf_build_timed(build, false));
    EQP_TRY(open_all(&r));
    EQP_TRY(read_items(&r));
    EQP_TRY(read_edges(&r));
done:
    for (int k = 0; k < NSETS; k++) {
        if (r.set[k].id > 0) {
            H5Dclose(r.set[k].id);
        }
    }
    if (r.file > 0) {
        H5Fclose(r.file);
    }
    (void)H5Eset_auto2(H5E_DEFAULT, print, user);
    return code;
}
