/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET HDF5 snapshots: header, groups of types, rows of slices. */
#include "io/hdf5_util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LEAST_TYPES = 6, STANDARD = 4, MOST_FILES = 1 << 14 };

/* Every particle has these, in this order, before the further columns. */
static const eqp_column standard[STANDARD] = {{"Coordinates", EQP_KIND_DOUBLE, 3},
                                              {"Velocities", EQP_KIND_DOUBLE, 3},
                                              {"ParticleIDs", EQP_KIND_UINT64, 1},
                                              {"Masses", EQP_KIND_DOUBLE, 1}};

int eqp__layout_files(const eqp_snapshot_layout *layout)
{
    return layout->nfiles > 1 ? layout->nfiles : 1;
}

int64_t eqp__layout_first(const eqp_snapshot_layout *layout, int type, int k)
{
    int nfiles = eqp__layout_files(layout);
    int64_t n = layout->type_n[type], each = n / nfiles, more = n % nfiles;

    return each * k + (k < more ? k : more);
}

int eqp__layout_path(const char *path, const eqp_snapshot_layout *layout, int k, char **name)
{
    char suffix[32] = "";

    if (layout->nfiles > 1) {
        snprintf(suffix, sizeof suffix, ".%d.hdf5", k);
    }
    return eqp__path_join(path, suffix, name);
}

static int layout_names(const char *path, const eqp_snapshot_layout *layout, int k, char **name, char **temporary)
{
    int rc = eqp__layout_path(path, layout, k, name);

    if (rc == EQP_OK) {
        rc = eqp__temporary_name(*name, temporary);
        if (rc != EQP_OK) {
            free(*name);
            *name = NULL;
        }
    }
    return rc;
}

static int check_layout(const char *path, const eqp_snapshot_layout *l, eqp_message *message)
{
    bool good = path && path[0] && l && l->ntypes >= 1 && l->ntypes <= EQP_SNAPSHOT_TYPES && l->nfiles <= MOST_FILES &&
                l->ncolumns >= 0 && l->nattributes >= 0 && (l->ncolumns == 0 || l->column) &&
                (l->nattributes == 0 || l->attribute) && isfinite(l->time) && isfinite(l->redshift) &&
                isfinite(l->box_size) && isfinite(l->omega0) && isfinite(l->omega_lambda) && isfinite(l->hubble);

    for (int t = 0; good && t < l->ntypes; t++) {
        good = l->type_n[t] >= 0 && l->type_n[t] <= EQP__MOST_PARTICLES;
    }
    for (int a = 0; good && a < l->nattributes; a++) {
        good = l->attribute[a].name && l->attribute[a].name[0];
    }
    if (!good) {
        eqp_message_set(message, "%s: the layout of the snapshot has values out of range", path ? path : "");
        return EQP_ERR_ARGUMENT;
    }
    for (int c = 0; c < l->ncolumns; c++) {
        for (int i = 0; l->column[c].name && i < STANDARD; i++) {
            if (strcmp(l->column[c].name, standard[i].name) == 0) {
                eqp_message_set(message, "%s: every snapshot has a column %s", path, standard[i].name);
                return EQP_ERR_ARGUMENT;
            }
        }
    }
    return eqp__hdf5_check_columns(l->ncolumns, l->column, message);
}

/* Writes one attribute; n 0: a scalar. */
static herr_t put(hid_t at, const char *name, int n, hid_t stored, hid_t memory, const void *value)
{
    hsize_t dimension = (hsize_t)n;
    hid_t space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &dimension, NULL);
    hid_t attribute = space >= 0 ? H5Acreate2(at, name, stored, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    herr_t status = attribute >= 0 ? H5Awrite(attribute, memory, value) : -1;

    if (attribute >= 0 && H5Aclose(attribute) < 0) {
        status = -1;
    }
    if (space >= 0) {
        H5Sclose(space);
    }
    return status;
}

static herr_t put_real(hid_t at, const char *name, double value)
{
    return put(at, name, 0, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

static herr_t put_flag(hid_t at, const char *name, int value)
{
    return put(at, name, 0, H5T_STD_I32LE, H5T_NATIVE_INT, &value);
}

static herr_t put_counts(hid_t at, const eqp_snapshot_layout *l, int k)
{
    int ntypes = l->ntypes < LEAST_TYPES ? LEAST_TYPES : l->ntypes;
    uint64_t here[EQP_SNAPSHOT_TYPES] = {0}, low[EQP_SNAPSHOT_TYPES] = {0}, high[EQP_SNAPSHOT_TYPES] = {0};
    double mass[EQP_SNAPSHOT_TYPES] = {0};
    hid_t wide = H5T_STD_U32LE;
    herr_t status = 0;

    for (int t = 0; t < l->ntypes; t++) {
        here[t] = (uint64_t)(eqp__layout_first(l, t, k + 1) - eqp__layout_first(l, t, k));
        low[t] = (uint64_t)l->type_n[t] & UINT32_MAX;
        high[t] = (uint64_t)l->type_n[t] >> 32;
        if (here[t] > UINT32_MAX) {
            wide = H5T_STD_U64LE;
        }
    }
    status |= put(at, "NumPart_ThisFile", ntypes, wide, H5T_NATIVE_UINT64, here);
    status |= put(at, "NumPart_Total", ntypes, H5T_STD_U32LE, H5T_NATIVE_UINT64, low);
    status |= put(at, "NumPart_Total_HighWord", ntypes, H5T_STD_U32LE, H5T_NATIVE_UINT64, high);
    status |= put(at, "MassTable", ntypes, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, mass);
    return status;
}

static herr_t put_header(hid_t at, const eqp_snapshot_layout *l, int k)
{
    static const char *const off[] = {"Flag_Sfr",    "Flag_Cooling",  "Flag_StellarAge",
                                      "Flag_Metals", "Flag_Feedback", "Flag_Entropy_ICs"};
    herr_t status = put_counts(at, l, k);

    status |= put_flag(at, "NumFilesPerSnapshot", eqp__layout_files(l));
    status |= put_real(at, "Time", l->time);
    status |= put_real(at, "Redshift", l->redshift);
    status |= put_real(at, "BoxSize", l->box_size);
    status |= put_real(at, "Omega0", l->omega0);
    status |= put_real(at, "OmegaLambda", l->omega_lambda);
    status |= put_real(at, "HubbleParam", l->hubble);
    for (int i = 0; i < (int)(sizeof off / sizeof *off); i++) {
        status |= put_flag(at, off[i], 0);
    }
    status |= put_flag(at, "Flag_DoublePrecision", 1);
    return status;
}

static herr_t put_attributes(hid_t at, const eqp_snapshot_layout *l, int k)
{
    herr_t status = 0;

    (void)k;
    for (int i = 0; i < l->nattributes; i++) {
        const eqp_attribute *a = &l->attribute[i];
        hid_t stored = a->kind == EQP_KIND_INT64 ? H5T_STD_I64LE : H5T_STD_U64LE;
        hid_t memory = a->kind == EQP_KIND_INT64 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;

        status |= a->kind == EQP_KIND_DOUBLE ? put_real(at, a->name, a->real)
                                             : put(at, a->name, 0, stored, memory, &a->integer);
    }
    return status;
}

static int fill_group(const char *path, hid_t file, const char *name, const eqp_snapshot_layout *l, int k,
                      herr_t (*fill)(hid_t, const eqp_snapshot_layout *, int), eqp_message *message)
{
    hid_t group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t status = group >= 0 ? fill(group, l, k) : -1;

    if (group >= 0) {
        H5Gclose(group);
    }
    if (status < 0) {
        eqp_message_set(message, "%s: HDF5 cannot write the group %s", path, name);
        return EQP_ERR_IO;
    }
    return EQP_OK;
}

static int create_type(const char *path, hid_t file, const eqp_snapshot_layout *l, int type, int64_t n,
                       eqp_message *message)
{
    char name[32];
    hid_t group;
    int rc = EQP_OK;

    snprintf(name, sizeof name, "PartType%d", type);
    group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0) {
        eqp_message_set(message, "%s: HDF5 cannot make the group %s", path, name);
        return EQP_ERR_IO;
    }
    for (int c = 0; rc == EQP_OK && c < STANDARD + l->ncolumns; c++) {
        const eqp_column *column = c < STANDARD ? &standard[c] : &l->column[c - STANDARD];

        rc = eqp__hdf5_create_column(path, group, column, n, message);
    }
    H5Gclose(group);
    return rc;
}

static int create_file(const char *path, const eqp_snapshot_layout *l, int k, eqp_message *message)
{
    char *name = NULL, *temporary = NULL;
    eqp__hdf5_output out = {.file = -1};
    int rc = layout_names(path, l, k, &name, &temporary);

    rc = rc != EQP_OK ? rc : eqp__hdf5_create_new(name, temporary, &out, message);
    rc = rc != EQP_OK ? rc : fill_group(temporary, out.file, "Header", l, k, put_header, message);
    if (rc == EQP_OK && l->nattributes > 0) {
        rc = fill_group(temporary, out.file, "Equipoise", l, k, put_attributes, message);
    }
    for (int t = 0; rc == EQP_OK && t < l->ntypes; t++) {
        int64_t n = eqp__layout_first(l, t, k + 1) - eqp__layout_first(l, t, k);

        rc = n == 0 ? EQP_OK : create_type(temporary, out.file, l, t, n, message);
    }
    rc = eqp__hdf5_finish(temporary, &out, rc, message);
    free(temporary);
    free(name);
    return rc;
}

int eqp_snapshot_write_create(const char *path, const eqp_snapshot_layout *layout, eqp_message *message)
{
    eqp__hdf5_quiet quiet;
    int rc = check_layout(path, layout, message);

    if (rc != EQP_OK) {
        return rc;
    }
    eqp__hdf5_enter(&quiet);
    for (int k = 0; rc == EQP_OK && k < eqp__layout_files(layout); k++) {
        rc = create_file(path, layout, k, message);
    }
    eqp__hdf5_leave(&quiet);
    if (rc != EQP_OK) {
        eqp_snapshot_write_discard(path, layout);
    }
    return eqp__explain(rc, path, message);
}

/* A slice and where its next run of one type starts. */
typedef struct slice {
    const char *path; /* of the temporary file */
    const eqp_snapshot_layout *layout;
    const eqp_snapshot_arrays *arrays;
    const void *const *data;
    int64_t first, n; /* global order */
} slice;

static int write_further(const slice *s, hid_t group, int64_t row, int64_t n, int64_t done, eqp_message *message)
{
    int at = 0, rc = EQP_OK;

    for (int c = 0; rc == EQP_OK && c < s->layout->ncolumns; c++) {
        const eqp_column *column = &s->layout->column[c];
        const void *part[EQP_COLUMN_WIDTH];

        for (int i = 0; i < column->width; i++) {
            part[i] = (const char *)s->data[at + i] + 8 * done;
        }
        rc = eqp__hdf5_write_column(s->path, group, column, row, n, 1, part, message);
        at += column->width;
    }
    return rc;
}

static int write_ids(const slice *s, hid_t group, int64_t row, int64_t n, int64_t done, eqp_message *message)
{
    int64_t *id = NULL;
    int rc = EQP_OK;

    if (s->arrays->id) {
        return eqp__hdf5_write_column(s->path, group, &standard[2], row, n, 1,
                                      (const void *const[]){s->arrays->id + done}, message);
    }
    rc = eqp_array_create(&id, n < EQP__BLOCK_ROWS ? n : EQP__BLOCK_ROWS, sizeof *id);
    for (int64_t at = 0; rc == EQP_OK && at < n; at += EQP__BLOCK_ROWS) {
        int64_t now = n - at < EQP__BLOCK_ROWS ? n - at : EQP__BLOCK_ROWS;

        for (int64_t i = 0; i < now; i++) {
            id[i] = s->first + done + at + i;
        }
        rc = eqp__hdf5_write_column(s->path, group, &standard[2], row + at, now, 1, (const void *const[]){id}, message);
    }
    free(id);
    return rc;
}

/* n particles of one type that start `done` particles into the slice, to rows from `row` on. */
static int write_run(const slice *s, hid_t file, int type, int64_t row, int64_t n, int64_t done, eqp_message *message)
{
    const eqp_snapshot_arrays *a = s->arrays;
    const eqp_snapshot_layout *l = s->layout;
    const void *const x[] = {a->x + done, a->y + done, a->z + done}, *const m[] = {a->m + done};
    const void *const v[] = {a->vx ? a->vx + done : NULL, a->vy ? a->vy + done : NULL, a->vz ? a->vz + done : NULL};
    double factor = eqp__is_cosmological(l->time, l->redshift, l->omega0) ? 1 / sqrt(l->time) : 1;
    char name[32];
    hid_t group;
    int rc;

    snprintf(name, sizeof name, "PartType%d", type);
    group = H5Gopen2(file, name, H5P_DEFAULT);
    if (group < 0) {
        eqp_message_set(message, "%s: HDF5 cannot open the group %s", s->path, name);
        return EQP_ERR_IO;
    }
    rc = eqp__hdf5_write_column(s->path, group, &standard[0], row, n, 1, x, message);
    rc = rc != EQP_OK ? rc : eqp__hdf5_write_column(s->path, group, &standard[1], row, n, factor, v, message);
    rc = rc != EQP_OK ? rc : write_ids(s, group, row, n, done, message);
    rc = rc != EQP_OK ? rc : eqp__hdf5_write_column(s->path, group, &standard[3], row, n, 1, m, message);
    rc = rc != EQP_OK ? rc : write_further(s, group, row, n, done, message);
    H5Gclose(group);
    return rc;
}

/* The runs of a slice in file k, whose particles start at `*start` in the global order; moves it to the next file. */
static int write_file(slice *s, const char *path, int k, int64_t *start, eqp_message *message)
{
    const eqp_snapshot_layout *l = s->layout;
    char *name = NULL, *temporary = NULL;
    eqp__hdf5_output out = {.file = -1};
    int rc = layout_names(path, l, k, &name, &temporary);

    s->path = temporary;
    for (int t = 0; rc == EQP_OK && t < l->ntypes; t++) {
        int64_t count = eqp__layout_first(l, t, k + 1) - eqp__layout_first(l, t, k);
        int64_t from = *start < s->first ? s->first : *start;
        int64_t to = *start + count < s->first + s->n ? *start + count : s->first + s->n;

        if (from < to && out.file < 0) {
            rc = eqp__hdf5_open_again(temporary, &out, message);
        }
        if (rc == EQP_OK && from < to) {
            rc = write_run(s, out.file, t, from - *start, to - from, from - s->first, message);
        }
        *start += count;
    }
    rc = eqp__hdf5_finish(temporary, &out, rc, message);
    free(temporary);
    free(name);
    return rc;
}

int eqp_snapshot_write_slice(const char *path, const eqp_snapshot_layout *layout, int64_t first, int64_t n,
                             const eqp_snapshot_arrays *arrays, const void *const *data, eqp_message *message)
{
    slice s = {.layout = layout, .arrays = arrays, .data = data, .first = first, .n = n};
    eqp__hdf5_quiet quiet;
    int64_t all = 0, start = 0;
    int rc = check_layout(path, layout, message);

    if (rc != EQP_OK) {
        return rc;
    }
    for (int t = 0; t < layout->ntypes; t++) {
        all += layout->type_n[t];
    }
    if (first < 0 || n < 0 || first > all || n > all - first || !arrays || (layout->ncolumns > 0 && !data && n > 0) ||
        (n > 0 && (!arrays->x || !arrays->y || !arrays->z || !arrays->m))) {
        eqp_message_set(message, "%s: slice %lld + %lld of %lld particles: out of range, or without data", path,
                        (long long)first, (long long)n, (long long)all);
        return EQP_ERR_ARGUMENT;
    }
    if (n == 0) {
        return EQP_OK;
    }
    eqp__hdf5_enter(&quiet);
    for (int k = 0; rc == EQP_OK && k < eqp__layout_files(layout) && start < first + n; k++) {
        rc = write_file(&s, path, k, &start, message);
    }
    eqp__hdf5_leave(&quiet);
    return eqp__explain(rc, path, message);
}

int eqp_snapshot_write_commit(const char *path, const eqp_snapshot_layout *layout, eqp_message *message)
{
    int rc = check_layout(path, layout, message);

    for (int k = 0; rc == EQP_OK && k < eqp__layout_files(layout); k++) {
        char *name, *temporary;

        rc = layout_names(path, layout, k, &name, &temporary);
        if (rc == EQP_OK) {
            rc = eqp__temporary_commit(name, temporary, message);
            free(temporary);
            free(name);
        }
    }
    return eqp__explain(rc, path, message);
}

void eqp_snapshot_write_discard(const char *path, const eqp_snapshot_layout *layout)
{
    for (int k = 0; path && layout && k < eqp__layout_files(layout); k++) {
        char *name, *temporary;

        if (layout_names(path, layout, k, &name, &temporary) == EQP_OK) {
            unlink(temporary);
            free(temporary);
            free(name);
        }
    }
}
