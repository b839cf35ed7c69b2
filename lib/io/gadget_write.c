/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes GADGET HDF5 snapshots: header, groups of types, rows of slices. */
#include "io/hdf5_util.h"

#include "base/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST_TYPES = 6, STANDARD = 4, MOST_FILES = 1 << 14 };

/* Datasets of every particle, in this order, before the caller's columns. */
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

const eqp_snapshot_layout *eqp__layout_known(const eqp_snapshot_layout *layout, eqp_snapshot_layout *here)
{
    *here = eqp_snapshot_layout_defaults();
    return eqp_struct_take(here, layout, EQP_STRUCT_UP_TO(eqp_snapshot_layout, words)) == EQP_OK ? here : NULL;
}

int eqp__layout_check(const char *path, const eqp_snapshot_layout *l, eqp_message *message)
{
    bool good = path && path[0] && l && l->ntypes >= 1 && l->ntypes <= EQP_SNAPSHOT_TYPES && l->nfiles <= MOST_FILES &&
                l->ncolumns >= 0 && l->nattributes >= 0 && (l->ncolumns == 0 || l->column) &&
                (l->nattributes == 0 || l->attribute) && l->nwords >= 0 && (l->nwords == 0 || l->words) &&
                isfinite(l->time) && isfinite(l->redshift) && isfinite(l->box_size) && isfinite(l->omega0) &&
                isfinite(l->omega_lambda) && isfinite(l->hubble);

    for (int t = 0; good && t < l->ntypes; t++) {
        good = l->type_n[t] >= 0 && l->type_n[t] <= EQP__MOST_PARTICLES;
    }
    for (int a = 0; good && a < l->nattributes; a++) {
        good = l->attribute[a].name && l->attribute[a].name[0];
    }
    EQP__FAIL_IF(!good, EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: the layout of the snapshot has values out of range",
                                 path ? path : ""));
    for (int c = 0; c < l->ncolumns; c++) {
        for (int i = 0; l->column[c].name && i < STANDARD; i++) {
            EQP__FAIL_IF(
                strcmp(l->column[c].name, standard[i].name) == 0,
                EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: every snapshot has a column %s", path, standard[i].name));
        }
    }
    return eqp__hdf5_check_columns(l->ncolumns, l->column, message);
}

/* Writes one attribute; n 0: a scalar. */
static herr_t put(hid_t at, const char *name, int n, hid_t stored, hid_t memory, const void *value)
{
    const hsize_t dimension = (hsize_t)n;
    EQP__HID space = n == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &dimension, NULL);
    const hid_t attribute = space >= 0 ? H5Acreate2(at, name, stored, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    const herr_t status = attribute >= 0 ? H5Awrite(attribute, memory, value) : -1;

    return attribute >= 0 && H5Aclose(attribute) < 0 ? -1 : status;
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
    if (l->nwords > 0) {
        status |= put(at, EQP__NWORDS, 0, H5T_STD_I64LE, H5T_NATIVE_INT64, &l->nwords);
    }
    return status;
}

static int fill_group(const char *path, hid_t file, const char *name, const eqp_snapshot_layout *l, int k,
                      herr_t (*fill)(hid_t, const eqp_snapshot_layout *, int), eqp_message *message)
{
    EQP__HID group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    EQP__FAIL_IF(group < 0 || fill(group, l, k) < 0,
                 EQP__SAY(message, EQP_ERR_IO, "%s: HDF5 cannot write the group %s", path, name));
    return EQP_OK;
}

static int create_type(const char *path, hid_t file, const eqp_snapshot_layout *l, int type, int64_t n,
                       eqp_message *message)
{
    char name[32];

    snprintf(name, sizeof name, "PartType%d", type);
    EQP__HID group = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    EQP__FAIL_IF(group < 0, EQP__SAY(message, EQP_ERR_IO, "%s: HDF5 cannot make the group %s", path, name));
    for (int c = 0; c < STANDARD + l->ncolumns; c++) {
        EQP__CHECK(
            eqp__hdf5_create_column(path, group, c < STANDARD ? &standard[c] : &l->column[c - STANDARD], n, message));
    }
    return EQP_OK;
}

typedef struct slice {
    const eqp_snapshot_arrays *arrays;
    const void *const *data;
} slice;

struct eqp_snapshot_writer {
    eqp_snapshot_layout layout; /* its pointers are the caller's */
    char *path;
    int nfiles;
    eqp__hdf5_output *file; /* [nfiles] */
    int64_t total, written; /* in the global order */
};

static int write_words(const char *path, hid_t file, const eqp_snapshot_layout *l, eqp_message *message)
{
    const eqp_column column = {EQP__WORDS, EQP_KIND_UINT64, 1};
    EQP__HID group = H5Gopen2(file, "Equipoise", H5P_DEFAULT);

    EQP__FAIL_IF(group < 0, EQP_ERR_IO);
    EQP__CHECK(eqp__hdf5_create_column(path, group, &column, l->nwords, message));
    return eqp__hdf5_write_column(path, group, &column, 0, l->nwords, 1, (const void *const[]){l->words}, message);
}

static int create_file(const eqp_snapshot_writer *w, int k, eqp_message *message)
{
    const eqp_snapshot_layout *l = &w->layout;
    eqp__hdf5_output *out = &w->file[k];
    EQP__HEAP char *name = NULL;
    int code;

    EQP__CHECK(eqp__layout_path(w->path, l, k, &name));
    EQP__CHECK(eqp__hdf5_create(name, out, message));
    code = fill_group(name, out->file, "Header", l, k, put_header, message);
    for (int t = 0; code == EQP_OK && t < l->ntypes; t++) {
        int64_t n = eqp__layout_first(l, t, k + 1) - eqp__layout_first(l, t, k);

        code = n == 0 ? EQP_OK : create_type(name, out->file, l, t, n, message);
    }
    return eqp__hdf5_check(out, code, message);
}

bool eqp_snapshot_writable(void)
{
    return true;
}

int eqp_snapshot_write_begin(const char *path, const eqp_snapshot_layout *given, eqp_snapshot_writer **writer,
                             eqp_message *message)
{
    eqp_snapshot_layout known;
    const eqp_snapshot_layout *const layout = eqp__layout_known(given, &known);
    EQP__QUIET_HDF5;
    eqp_snapshot_writer *w = NULL;
    int code = eqp__layout_check(path, layout, message);

    if (code != EQP_OK || !writer) {
        return code != EQP_OK ? code : EQP_ERR_ARGUMENT;
    }
    EQP_TRY(eqp_array_create(&w, 1, sizeof *w));
    w->layout = *layout;
    EQP_TRY(eqp__path_join(path, "", &w->path));
    EQP_TRY(eqp_array_create(&w->file, eqp__layout_files(layout), sizeof *w->file));
    w->nfiles = eqp__layout_files(layout);
    for (int k = 0; k < w->nfiles; k++) {
        w->file[k].file = w->file[k].driver = -1;
    }
    for (int t = 0; t < layout->ntypes; t++) {
        w->total += layout->type_n[t];
    }
    for (int k = 0; k < w->nfiles; k++) {
        EQP_TRY(create_file(w, k, message));
    }
done:
    if (code == EQP_OK) {
        *writer = w;
    } else {
        eqp_snapshot_write_discard(w);
    }
    return eqp__explain(code, path, message);
}

static int write_further(const eqp_snapshot_writer *w, const char *path, const slice *s, hid_t group, int64_t row,
                         int64_t n, int64_t done, eqp_message *message)
{
    int at = 0;

    for (int c = 0; c < w->layout.ncolumns; c++) {
        const eqp_column *column = &w->layout.column[c];
        const void *part[EQP_COLUMN_WIDTH];

        for (int i = 0; i < column->width; i++) {
            part[i] = (const char *)s->data[at + i] + 8 * done;
        }
        EQP__CHECK(eqp__hdf5_write_column(path, group, column, row, n, 1, part, message));
        at += column->width;
    }
    return EQP_OK;
}

static int write_ids(const eqp_snapshot_writer *w, const char *path, const slice *s, hid_t group, int64_t row,
                     int64_t n, int64_t done, eqp_message *message)
{
    EQP__HEAP int64_t *id = NULL;

    if (s->arrays->id) {
        return eqp__hdf5_write_column(path, group, &standard[2], row, n, 1, (const void *const[]){s->arrays->id + done},
                                      message);
    }
    EQP__CHECK(eqp_array_create(&id, n < EQP__BLOCK_ROWS ? n : EQP__BLOCK_ROWS, sizeof *id));
    for (int64_t at = 0; at < n; at += EQP__BLOCK_ROWS) {
        int64_t now = n - at < EQP__BLOCK_ROWS ? n - at : EQP__BLOCK_ROWS;

        for (int64_t i = 0; i < now; i++) {
            id[i] = w->written + done + at + i;
        }
        EQP__CHECK(
            eqp__hdf5_write_column(path, group, &standard[2], row + at, now, 1, (const void *const[]){id}, message));
    }
    return EQP_OK;
}

/* Writes n particles of one type, from particle `done` of the slice on, to rows from `row` on of file k. */
static int write_run(const eqp_snapshot_writer *w, int k, const slice *s, int type, int64_t row, int64_t n,
                     int64_t done, eqp_message *message)
{
    const eqp_snapshot_arrays *a = s->arrays;
    const eqp_snapshot_layout *l = &w->layout;
    const void *const x[] = {a->x + done, a->y + done, a->z + done}, *const m[] = {a->m + done};
    const void *const v[] = {a->vx ? a->vx + done : NULL, a->vy ? a->vy + done : NULL, a->vz ? a->vz + done : NULL};
    double factor = eqp__is_cosmological(l->time, l->redshift, l->omega0) ? 1 / sqrt(l->time) : 1;
    const char *path = eqp_output_path(w->file[k].output);
    char name[32];

    snprintf(name, sizeof name, "PartType%d", type);
    EQP__HID group = H5Gopen2(w->file[k].file, name, H5P_DEFAULT);
    EQP__FAIL_IF(group < 0, EQP__SAY(message, EQP_ERR_IO, "%s: HDF5 cannot open the group %s", path, name));
    EQP__CHECK(eqp__hdf5_write_column(path, group, &standard[0], row, n, 1, x, message));
    EQP__CHECK(eqp__hdf5_write_column(path, group, &standard[1], row, n, factor, v, message));
    EQP__CHECK(write_ids(w, path, s, group, row, n, done, message));
    EQP__CHECK(eqp__hdf5_write_column(path, group, &standard[3], row, n, 1, m, message));
    return write_further(w, path, s, group, row, n, done, message);
}

/* Splits n particles into runs of one type in one file. */
static int write_runs(const eqp_snapshot_writer *w, const slice *s, int64_t n, eqp_message *message)
{
    const eqp_snapshot_layout *l = &w->layout;
    int64_t start = 0; /* of the type in this file, in the global order */

    for (int k = 0; k < w->nfiles; k++) {
        for (int t = 0; t < l->ntypes; t++) {
            int64_t end = start + eqp__layout_first(l, t, k + 1) - eqp__layout_first(l, t, k);
            int64_t from = start < w->written ? w->written : start;
            int64_t to = end < w->written + n ? end : w->written + n;

            if (from < to) {
                const int code = write_run(w, k, s, t, from - start, to - from, from - w->written, message);
                EQP__CHECK(eqp__hdf5_check(&w->file[k], code, message));
            }
            start = end;
        }
    }
    return EQP_OK;
}

int eqp_snapshot_write_slice(eqp_snapshot_writer *writer, int64_t n, const eqp_snapshot_arrays *given,
                             const void *const *data, eqp_message *message)
{
    eqp_snapshot_arrays known;
    const eqp_snapshot_arrays *const arrays = eqp__arrays_known(given, &known);
    const slice s = {arrays, data};
    EQP__QUIET_HDF5;
    int code;

    EQP__FAIL_IF(
        !writer || n < 0 || n > writer->total - writer->written || !arrays ||
            (n > 0 && ((writer->layout.ncolumns > 0 && !data) || !arrays->x || !arrays->y || !arrays->z || !arrays->m)),
        EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: slice %lld + %lld of %lld particles: out of range, or without data",
                 writer ? writer->path : "", writer ? (long long)writer->written : 0, (long long)n,
                 writer ? (long long)writer->total : 0));
    code = write_runs(writer, &s, n, message);
    writer->written += code == EQP_OK ? n : 0;
    return eqp__explain(code, writer->path, message);
}

int eqp_snapshot_write_finish(eqp_snapshot_writer *writer, eqp_message *message)
{
    EQP__QUIET_HDF5;
    int code = EQP_OK;

    if (!writer || writer->written < writer->total) {
        EQP_TRY(
            EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: fewer particles than were announced", writer ? writer->path : ""));
    }
    const eqp_snapshot_layout *const l = &writer->layout;
    for (int k = 0; k < writer->nfiles && l->nattributes + l->nwords > 0; k++) {
        const eqp__hdf5_output *out = &writer->file[k];
        const char *name = eqp_output_path(out->output);
        code = fill_group(name, out->file, "Equipoise", l, k, put_attributes, message);
        code = code == EQP_OK && l->nwords > 0 ? write_words(name, out->file, l, message) : code;
        EQP_TRY(eqp__hdf5_check(out, code, message));
    }
    for (int k = 0; k < writer->nfiles; k++) {
        EQP_TRY(eqp__hdf5_complete(&writer->file[k], message));
    }
    for (int k = 0; k < writer->nfiles; k++) {
        EQP_TRY(eqp__hdf5_commit(&writer->file[k], message));
    }
done:
    eqp_snapshot_write_discard(writer);
    return code;
}

void eqp_snapshot_write_discard(eqp_snapshot_writer *writer)
{
    EQP__QUIET_HDF5;

    for (int k = 0; writer && k < writer->nfiles; k++) {
        eqp__hdf5_discard(&writer->file[k]);
    }
    if (writer) {
        EQP__FREE(writer->file, writer->path, writer);
    }
}
