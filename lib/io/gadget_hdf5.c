/* SPDX-License-Identifier: BSD-3-Clause */
/* GADGET HDF5 snapshots, also those of the codes that took over its layout: /Header and /PartTypeN. */
#include "io/hdf5_util.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* No velocity is stored with a higher power of the scale factor. */
#define MOST_EXPONENT 10

static int damaged(const eqp__file *file, const char *what, eqp_message *message)
{
    eqp_message_set(message, "%s: %s", file->path, what);
    return EQP_ERR_FORMAT;
}

static int open_file(const eqp__file *file, hid_t *opened, eqp_message *message)
{
    *opened = H5Fopen(file->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    return *opened >= 0 ? EQP_OK : damaged(file, "HDF5 cannot open it: truncated, damaged or being written", message);
}

/* Opens the group of a type, which must be there. */
static int open_type(const eqp__file *file, hid_t opened, int type, hid_t *group, eqp_message *message)
{
    char name[32];
    int rc;

    snprintf(name, sizeof name, "PartType%d", type);
    rc = eqp__hdf5_open_group(file->path, opened, name, group, message);
    if (rc == EQP_ERR_UNKNOWN) {
        eqp_message_set(message, "%s: has no group %s, but its header counts %lld such particles", file->path, name,
                        (long long)file->header.n[type]);
        rc = EQP_ERR_FORMAT;
    }
    return rc;
}

static void close_type(hid_t opened, hid_t group)
{
    if (group >= 0) {
        H5Gclose(group);
    }
    if (opened >= 0) {
        H5Fclose(opened);
    }
}

static int get_optional_real(const eqp__file *file, hid_t at, const char *name, double *number, eqp_message *message)
{
    int rc = eqp__hdf5_get_reals(file->path, at, name, 0, 1, number, message);

    return rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
}

/* The totals: 32 bits and their upper words, or 64 bits at once; codes differ in what they leave out. */
static int load_totals(eqp__file *file, hid_t group, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t high[EQP_SNAPSHOT_TYPES] = {0};
    int rc = eqp__hdf5_get_integers(file->path, group, "NumPart_Total", h->ntypes, h->ntypes, h->total, NULL, message);

    if (rc != EQP_OK) {
        return rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
    }
    h->total_mask = UINT32_MAX;
    rc = eqp__hdf5_get_integers(file->path, group, "NumPart_Total_HighWord", h->ntypes, h->ntypes, high, NULL, message);
    if (rc == EQP_OK) {
        h->total_mask = UINT64_MAX;
    }
    for (int t = 0; t < h->ntypes; t++) {
        if (high[t] < 0 || high[t] > UINT16_MAX || h->total[t] < 0) {
            return damaged(file, "header: NumPart_Total is out of range", message);
        }
        if (h->total[t] > (int64_t)UINT32_MAX) {
            h->total_mask = UINT64_MAX;
        } else {
            h->total[t] |= high[t] << 32;
        }
    }
    return rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
}

static int load_counts(eqp__file *file, hid_t group, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t nfiles = 1;
    int rc =
        eqp__hdf5_get_integers(file->path, group, "NumPart_ThisFile", 0, EQP_SNAPSHOT_TYPES, h->n, &h->ntypes, message);

    if (rc == EQP_ERR_UNKNOWN) {
        return damaged(file, "HDF5, but no GADGET snapshot: /Header has no attribute NumPart_ThisFile", message);
    }
    if (rc == EQP_OK && h->ntypes > EQP_SNAPSHOT_TYPES) {
        return damaged(file, "header: too many particle types", message);
    }
    rc = rc != EQP_OK ? rc : load_totals(file, group, message);
    if (rc == EQP_OK) {
        rc = eqp__hdf5_get_integers(file->path, group, "NumFilesPerSnapshot", 0, 1, &nfiles, NULL, message);
        rc = rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
    }
    h->nfiles = nfiles < 0 || nfiles > INT_MAX ? -1 : (int)nfiles;
    return rc;
}

static int load_header(eqp__file *file, hid_t opened, eqp_message *message)
{
    eqp__header *h = &file->header;
    const struct {
        const char *name;
        double *to;
    } number[] = {{"Time", &h->time},     {"Redshift", &h->redshift},        {"BoxSize", &h->box_size},
                  {"Omega0", &h->omega0}, {"OmegaLambda", &h->omega_lambda}, {"HubbleParam", &h->hubble}};
    hid_t group = -1;
    int rc = eqp__hdf5_open_group(file->path, opened, "Header", &group, message);

    if (rc == EQP_ERR_UNKNOWN) {
        return damaged(file, "HDF5, but no GADGET snapshot: has no group Header", message);
    }
    rc = rc != EQP_OK ? rc : load_counts(file, group, message);
    if (rc == EQP_OK) {
        rc = eqp__hdf5_get_reals(file->path, group, "MassTable", h->ntypes, h->ntypes, h->mass, message);
        rc = rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
    }
    for (int i = 0; rc == EQP_OK && i < (int)(sizeof number / sizeof *number); i++) {
        rc = get_optional_real(file, group, number[i].name, number[i].to, message);
    }
    if (group >= 0) {
        H5Gclose(group);
    }
    snprintf(h->format, sizeof h->format, "GADGET HDF5");
    return rc != EQP_OK ? rc : eqp__header_check(file, message);
}

/* Some codes keep the cosmology, and whether there is one, among the parameters. */
static int load_parameters(eqp__file *file, hid_t opened, int *comoving, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t flag = 0;
    hid_t group = -1;
    int rc = eqp__hdf5_open_group(file->path, opened, "Parameters", &group, message);

    if (rc != EQP_OK) {
        return rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
    }
    rc = eqp__hdf5_get_integers(file->path, group, "ComovingIntegrationOn", 0, 1, &flag, NULL, NULL);
    *comoving = rc == EQP_OK ? flag != 0 : -1;
    rc = EQP_OK;
    if (h->omega0 == 0) {
        rc = get_optional_real(file, group, "Omega0", &h->omega0, message);
        rc = rc != EQP_OK ? rc : get_optional_real(file, group, "OmegaLambda", &h->omega_lambda, message);
        rc = rc != EQP_OK ? rc : get_optional_real(file, group, "HubbleParam", &h->hubble, message);
    }
    H5Gclose(group);
    return rc;
}

/* The power of a that turns stored velocities into peculiar ones, where the file tells. */
static void get_exponent(const eqp__file *file, hid_t velocities, double *exponent)
{
    static const char *const name[] = {"a_scaling", "aexp-scale-exponent", "a-scale exponent"};

    for (int i = 0; i < 3; i++) {
        double found;

        if (eqp__hdf5_get_reals(file->path, velocities, name[i], 1, 1, &found, NULL) == EQP_OK &&
            fabs(found) <= MOST_EXPONENT) {
            *exponent = found;
            return;
        }
    }
}

static int require(const eqp__file *file, int type, hid_t group, const char *name, H5T_class_t class, int width,
                   hid_t *dataset, eqp_message *message)
{
    int rc = eqp__hdf5_open_column(file->path, group, name, class, file->header.n[type], width, dataset, message);

    if (rc == EQP_ERR_UNKNOWN) {
        eqp_message_set(message, "%s: PartType%d has no dataset %s", file->path, type, name);
        rc = EQP_ERR_FORMAT;
    }
    return rc;
}

/* Opens and closes all datasets of a type: at the end it is known that every slice is there. */
static int check_type(eqp__file *file, hid_t opened, int type, bool *has_ids, double *exponent, eqp_message *message)
{
    hid_t group = -1, dataset = -1;
    int rc = open_type(file, opened, type, &group, message);

    rc = rc != EQP_OK ? rc : require(file, type, group, "Coordinates", H5T_FLOAT, 3, &dataset, message);
    if (rc == EQP_OK && eqp__hdf5_is_packed_beyond_belief(dataset, 3 * file->header.n[type])) {
        eqp_message_set(message, "%s: dataset /PartType%d/Coordinates holds fewer bytes than its shape needs",
                        file->path, type);
        rc = EQP_ERR_FORMAT;
    }
    if (dataset >= 0) {
        H5Dclose(dataset);
    }
    if (rc == EQP_OK) {
        rc = require(file, type, group, "Velocities", H5T_FLOAT, 3, &dataset, message);
    }
    if (rc == EQP_OK) {
        get_exponent(file, dataset, exponent);
        H5Dclose(dataset);
        if (file->header.mass[type] == 0) {
            rc = require(file, type, group, "Masses", H5T_FLOAT, 1, &dataset, message);
            if (rc == EQP_OK) {
                H5Dclose(dataset);
            }
        }
    }
    if (rc == EQP_OK) {
        rc = eqp__hdf5_open_column(file->path, group, "ParticleIDs", H5T_INTEGER, file->header.n[type], 1, &dataset,
                                   message);
        *has_ids = rc == EQP_OK;
        if (rc == EQP_OK) {
            H5Dclose(dataset);
        }
        rc = rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
    }
    close_type(-1, group);
    return rc;
}

static int check_types(eqp__file *file, hid_t opened, double *exponent, eqp_message *message)
{
    eqp__header *h = &file->header;
    int with = 0, without = 0;

    for (int t = 0; t < h->ntypes; t++) {
        bool has_ids = false;
        int rc = h->n[t] == 0 ? EQP_OK : check_type(file, opened, t, &has_ids, exponent, message);

        if (rc != EQP_OK) {
            return rc;
        }
        if (h->n[t] > 0) {
            with += has_ids;
            without += !has_ids;
        }
    }
    if (with > 0 && without > 0) {
        return damaged(file, "only some types of particles have ids", message);
    }
    h->has_ids = without == 0;
    return EQP_OK;
}

static int load(eqp__file *file, eqp_message *message)
{
    eqp__hdf5_quiet quiet;
    hid_t opened = -1;
    double exponent = 0.5;
    int64_t size;
    int fd, comoving = -1, rc = eqp__file_open(file->path, &fd, &size, message);

    if (rc != EQP_OK) {
        return rc;
    }
    eqp__file_close(fd);
    eqp__hdf5_enter(&quiet);
    rc = open_file(file, &opened, message);
    rc = rc != EQP_OK ? rc : load_header(file, opened, message);
    rc = rc != EQP_OK ? rc : load_parameters(file, opened, &comoving, message);
    rc = rc != EQP_OK ? rc : check_types(file, opened, &exponent, message);
    close_type(opened, -1);
    rc = rc != EQP_OK ? rc : eqp__header_check(file, message);
    if (rc == EQP_OK) {
        eqp__header_convert_velocity(&file->header, comoving, exponent);
    }
    eqp__hdf5_leave(&quiet);
    return rc;
}

static int read_dataset(const eqp__file *file, hid_t group, int type, const eqp_column *column, int64_t first,
                        int64_t n, void *const *data, eqp_message *message)
{
    H5T_class_t class = column->kind == EQP_KIND_DOUBLE ? H5T_FLOAT : H5T_INTEGER;
    hid_t dataset = -1;
    int rc = eqp__hdf5_open_column(file->path, group, column->name, class, file->header.n[type], column->width,
                                   &dataset, message);

    if (rc == EQP_ERR_UNKNOWN) {
        eqp_message_set(message, "%s: PartType%d has no dataset %s", file->path, type, column->name);
        return rc;
    }
    if (rc != EQP_OK) {
        return rc;
    }
    rc = eqp__hdf5_read_rows(dataset, column->kind, column->width, first, n, data);
    if (rc == EQP_ERR_IO) {
        eqp_message_set(message, "%s: dataset PartType%d/%s cannot be read: damaged?", file->path, type, column->name);
    }
    H5Dclose(dataset);
    return rc;
}

/* HDF5 clips numbers that do not fit: ids without sign must be read as such to keep their bits. */
static eqp_kind kind_of_ids(hid_t group)
{
    hid_t dataset = H5Dopen2(group, "ParticleIDs", H5P_DEFAULT), type = dataset >= 0 ? H5Dget_type(dataset) : -1;
    bool has_sign = type >= 0 && H5Tget_sign(type) == H5T_SGN_2;

    if (type >= 0) {
        H5Tclose(type);
    }
    if (dataset >= 0) {
        H5Dclose(dataset);
    }
    return has_sign ? EQP_KIND_INT64 : EQP_KIND_UINT64;
}

static int read_type(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                     eqp_message *message)
{
    void *const position[] = {to->x, to->y, to->z}, *const velocity[] = {to->vx, to->vy, to->vz};
    eqp__hdf5_quiet quiet;
    hid_t opened = -1, group = -1;
    int rc;

    eqp__hdf5_enter(&quiet);
    rc = open_file(file, &opened, message);
    rc = rc != EQP_OK ? rc : open_type(file, opened, type, &group, message);
    if (rc == EQP_OK && (to->x || to->y || to->z)) {
        rc = read_dataset(file, group, type, &(eqp_column){"Coordinates", EQP_KIND_DOUBLE, 3}, first, n, position,
                          message);
    }
    if (rc == EQP_OK && (to->vx || to->vy || to->vz)) {
        rc = read_dataset(file, group, type, &(eqp_column){"Velocities", EQP_KIND_DOUBLE, 3}, first, n, velocity,
                          message);
    }
    if (rc == EQP_OK && to->m) {
        rc = read_dataset(file, group, type, &(eqp_column){"Masses", EQP_KIND_DOUBLE, 1}, first, n,
                          (void *const[]){to->m}, message);
    }
    if (rc == EQP_OK && to->id) {
        rc = read_dataset(file, group, type, &(eqp_column){"ParticleIDs", kind_of_ids(group), 1}, first, n,
                          (void *const[]){to->id}, message);
    }
    close_type(opened, group);
    eqp__hdf5_leave(&quiet);
    /* It was there when the snapshot was opened. */
    return rc == EQP_ERR_UNKNOWN ? EQP_ERR_FORMAT : rc;
}

static int read_column(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_column *column,
                       void *const *data, eqp_message *message)
{
    eqp__hdf5_quiet quiet;
    hid_t opened = -1, group = -1;
    int rc;

    eqp__hdf5_enter(&quiet);
    rc = open_file(file, &opened, message);
    rc = rc != EQP_OK ? rc : open_type(file, opened, type, &group, message);
    rc = rc != EQP_OK ? rc : read_dataset(file, group, type, column, first, n, data, message);
    close_type(opened, group);
    eqp__hdf5_leave(&quiet);
    return rc;
}

static int get_attribute(const eqp__file *file, eqp_attribute *attribute, eqp_message *message)
{
    eqp__hdf5_quiet quiet;
    hid_t opened = -1, group = -1;
    int rc;

    eqp__hdf5_enter(&quiet);
    rc = open_file(file, &opened, message);
    rc = rc != EQP_OK ? rc : eqp__hdf5_open_group(file->path, opened, "Equipoise", &group, message);
    if (rc == EQP_OK && attribute->kind == EQP_KIND_DOUBLE) {
        double number;

        rc = eqp__hdf5_get_reals(file->path, group, attribute->name, 1, 1, &number, message);
        if (rc == EQP_OK && !isfinite(number)) {
            eqp_message_set(message, "%s: attribute /Equipoise/%s is not finite", file->path, attribute->name);
            rc = EQP_ERR_DATA;
        }
        attribute->real = rc == EQP_OK ? number : attribute->real;
    } else if (rc == EQP_OK) {
        rc = eqp__hdf5_get_integers(file->path, group, attribute->name, 1, 1, &attribute->integer, NULL, message);
    }
    if (rc == EQP_ERR_UNKNOWN) {
        eqp_message_set(message, "%s: has no attribute %s", file->path, attribute->name);
    }
    close_type(opened, group);
    eqp__hdf5_leave(&quiet);
    return rc;
}

const eqp__format eqp__format_gadget_hdf5 = {
    .name = "GADGET HDF5",
    .probe = eqp__hdf5_probe,
    .load = load,
    .read = read_type,
    .read_column = read_column,
    .get_attribute = get_attribute,
};
