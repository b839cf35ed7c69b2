/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5 snapshots in the layout of GADGET, /Header and /PartTypeN, as many codes write them. */
#include "io/hdf5_util.h"

#include "base/internal.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* No velocity is stored with a higher power of the scale factor. */
#define MOST_EXPONENT 10

enum { PLACES, VELOCITIES, MASSES, IDS, QUANTITIES, MOST_NAMES = 8 };

/* Names of each quantity; the first one present is used: GADGET, AREPO, GIZMO and SWIFT; OWLS and EAGLE (singular);
 * SWIFT's black holes; tools that write initial conditions. */
static const struct {
    const char *name[MOST_NAMES];
    H5T_class_t class;
    int width;
} quantities[QUANTITIES] = {
    [PLACES] = {{"Coordinates", "Coordinate", "Positions", "Position", "Pos", "coordinates", "position", "pos"},
                H5T_FLOAT,
                3},
    [VELOCITIES] = {{"Velocities", "Velocity", "Vel", "velocities", "velocity", "vel"}, H5T_FLOAT, 3},
    [MASSES] = {{"Masses", "Mass", "DynamicalMasses", "DynamicalMass", "masses", "mass"}, H5T_FLOAT, 1},
    [IDS] = {{"ParticleIDs", "ParticleID", "ParticleIds", "IDs", "ID", "ids", "id"}, H5T_INTEGER, 1},
};

/* The name of a quantity in this group; GADGET's name if it is missing. */
static const char *find_name(hid_t group, int quantity)
{
    for (int i = 0; i < MOST_NAMES && quantities[quantity].name[i]; i++) {
        if (H5Lexists(group, quantities[quantity].name[i], H5P_DEFAULT) != 0) {
            return quantities[quantity].name[i];
        }
    }
    return quantities[quantity].name[0];
}

static int damaged(const eqp__file *file, const char *what, eqp_message *message)
{
    return EQP__SAY(message, EQP_ERR_FORMAT, "%s: %s", file->path, what);
}

/* Opens the group of a type; a missing group is an error. */
static int open_type(const eqp__file *file, hid_t opened, int type, hid_t *group, eqp_message *message)
{
    char name[32];
    int rc;

    snprintf(name, sizeof name, "PartType%d", type);
    rc = eqp__hdf5_open_group(file->path, opened, name, group, message);
    EQP__FAIL_IF(rc == EQP_ERR_UNKNOWN,
                 EQP__SAY(message, EQP_ERR_FORMAT, "%s: has no group %s, but its header counts %lld such particles",
                          file->path, name, (long long)file->header.n[type]));
    return rc;
}

/* Opens a file and a group of it; type -1: the group of the caller's attributes. */
static int open_group(const eqp__file *file, int type, hid_t *opened, hid_t *group, eqp_message *message)
{
    EQP__CHECK(eqp__hdf5_open_file(file->path, file->size, opened, message));
    return type >= 0 ? open_type(file, *opened, type, group, message)
                     : eqp__hdf5_open_group(file->path, *opened, "Equipoise", group, message);
}

/* The code of a call for something that may be missing. */
static int optional(int rc)
{
    return rc == EQP_ERR_UNKNOWN ? EQP_OK : rc;
}

static int get_optional_real(const eqp__file *file, hid_t at, const char *name, double *number, eqp_message *message)
{
    return optional(eqp__hdf5_get_reals(file->path, at, name, 0, 1, number, message));
}

/* Reads the totals: 32 bits and their upper words, or 64 bits. Codes differ in which attributes they write. */
static int load_totals(eqp__file *file, hid_t group, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t high[EQP_SNAPSHOT_TYPES] = {0};
    int rc = eqp__hdf5_get_integers(file->path, group, "NumPart_Total", h->ntypes, h->ntypes, h->total, NULL, message);

    if (rc != EQP_OK) {
        return optional(rc);
    }
    rc = eqp__hdf5_get_integers(file->path, group, "NumPart_Total_HighWord", h->ntypes, h->ntypes, high, NULL, message);
    h->total_mask = rc == EQP_OK ? UINT64_MAX : UINT32_MAX;
    for (int t = 0; t < h->ntypes; t++) {
        EQP__FAIL_IF(high[t] < 0 || high[t] > UINT16_MAX || h->total[t] < 0,
                     damaged(file, "header: NumPart_Total is out of range", message));
        if (h->total[t] > (int64_t)UINT32_MAX) {
            h->total_mask = UINT64_MAX;
        } else {
            h->total[t] |= high[t] << 32;
        }
    }
    return optional(rc);
}

static int load_counts(eqp__file *file, hid_t group, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t nfiles = 1;
    int rc = eqp__hdf5_get_integers(file->path, group, "NumPart_ThisFile", EQP__HDF5_ARRAY, EQP_SNAPSHOT_TYPES, h->n,
                                    &h->ntypes, message);

    EQP__FAIL_IF(rc == EQP_ERR_UNKNOWN,
                 damaged(file, "HDF5, but no GADGET snapshot: /Header has no attribute NumPart_ThisFile", message));
    EQP__CHECK(rc);
    EQP__FAIL_IF(h->ntypes > EQP_SNAPSHOT_TYPES, damaged(file, "header: too many particle types", message));
    EQP__CHECK(load_totals(file, group, message));
    EQP__CHECK(
        optional(eqp__hdf5_get_integers(file->path, group, "NumFilesPerSnapshot", 0, 1, &nfiles, NULL, message)));
    h->nfiles = nfiles < 0 || nfiles > INT_MAX ? -1 : (int)nfiles;
    return EQP_OK;
}

static int load_header(eqp__file *file, hid_t opened, eqp_message *message)
{
    eqp__header *h = &file->header;
    const struct {
        const char *name;
        double *to;
    } number[] = {{"Time", &h->time},     {"Redshift", &h->redshift},        {"BoxSize", &h->box_size},
                  {"Omega0", &h->omega0}, {"OmegaLambda", &h->omega_lambda}, {"HubbleParam", &h->hubble}};
    EQP__HID group = -1;
    const int code = eqp__hdf5_open_group(file->path, opened, "Header", &group, message);

    EQP__FAIL_IF(code == EQP_ERR_UNKNOWN, damaged(file, "HDF5, but no GADGET snapshot: has no group Header", message));
    EQP__CHECK(code);
    EQP__CHECK(load_counts(file, group, message));
    EQP__CHECK(optional(eqp__hdf5_get_reals(file->path, group, "MassTable", h->ntypes, h->ntypes, h->mass, message)));
    for (int i = 0; i < (int)(sizeof number / sizeof *number); i++) {
        EQP__CHECK(get_optional_real(file, group, number[i].name, number[i].to, message));
    }
    snprintf(h->format, sizeof h->format, "GADGET HDF5");
    return eqp__header_check(file, message);
}

/* Attributes of the cosmology in GIZMO, in GADGET-4 and AREPO, and in SWIFT. */
static const struct {
    const char *group, *comoving, *omega0, *omega_lambda, *hubble;
} cosmologies[] = {{"Header", "ComovingIntegrationOn", "Omega_Matter", "Omega_Lambda", "HubbleParam"},
                   {"Parameters", "ComovingIntegrationOn", "Omega0", "OmegaLambda", "HubbleParam"},
                   {"Cosmology", "Cosmological run", "Omega_m", "Omega_lambda", "h"}};

static int load_cosmology(eqp__file *file, hid_t opened, int which, int *comoving, eqp_message *message)
{
    eqp__header *h = &file->header;
    int64_t flag = 0;
    EQP__HID group = -1;
    const int code = eqp__hdf5_open_group(file->path, opened, cosmologies[which].group, &group, message);

    if (code != EQP_OK) {
        return optional(code);
    }
    if (eqp__hdf5_get_integers(file->path, group, cosmologies[which].comoving, 0, 1, &flag, NULL, NULL) == EQP_OK) {
        *comoving = flag != 0;
    }
    if (h->omega0 == 0 && *comoving != 0) {
        EQP__CHECK(get_optional_real(file, group, cosmologies[which].omega0, &h->omega0, message));
        EQP__CHECK(get_optional_real(file, group, cosmologies[which].omega_lambda, &h->omega_lambda, message));
        EQP__CHECK(get_optional_real(file, group, cosmologies[which].hubble, &h->hubble, message));
    }
    return EQP_OK;
}

/* SWIFT and EAGLE store the age as Time and have a separate scale factor, which converts velocities. */
static int load_scale_factor(eqp__file *file, hid_t opened, int comoving, eqp_message *message)
{
    static const char *const name[] = {"Scale-factor", "ExpansionFactor"};
    eqp__header *h = &file->header;
    EQP__HID group = -1;

    EQP__CHECK(eqp__hdf5_open_group(file->path, opened, "Header", &group, message));
    for (int i = 0; i < 2; i++) {
        double a = 0;

        EQP__CHECK(get_optional_real(file, group, name[i], &a, message));
        if (comoving != 0 && eqp__is_cosmological(a, h->redshift, h->omega0)) {
            h->time = a;
        }
    }
    return EQP_OK;
}

/* Attributes with the unit of length in GADGET-4 and AREPO, GIZMO, EAGLE, SWIFT. */
static void find_units(eqp__file *file, hid_t opened)
{
    static const char *const names[][2] = {{"Header", "UnitLength_in_cm"},     {"Header", "UnitLength_In_CGS"},
                                           {"Parameters", "UnitLength_in_cm"}, {"Parameters", "UnitLength_In_CGS"},
                                           {"Units", "UnitLength_in_cm"},      {"Units", "Unit length in cgs (U_L)"}};

    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        EQP__HID group = -1;
        double unit;

        file->header.has_units |= eqp__hdf5_open_group(file->path, opened, names[i][0], &group, NULL) == EQP_OK &&
                                  eqp__hdf5_get_reals(file->path, group, names[i][1], 0, 1, &unit, NULL) == EQP_OK &&
                                  unit != 1;
    }
}

/* Reads k, if the file has it: peculiar velocity = stored velocity x a^k. */
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

/* Opens and closes an optional dataset to check that all its rows are stored. */
static int check_dataset(eqp__file *file, int type, hid_t group, int quantity, bool *there, double *exponent,
                         eqp_message *message)
{
    const char *name = find_name(group, quantity);
    const int64_t n = file->header.n[type];
    EQP__HID dataset = -1;
    const int rc = eqp__hdf5_open_column(file->path, group, name, quantities[quantity].class, n,
                                         quantities[quantity].width, &dataset, message);

    *there = rc == EQP_OK;
    EQP__FAIL_IF(rc == EQP_OK && quantity == PLACES && eqp__hdf5_is_packed_beyond_belief(dataset, 3 * n),
                 EQP__SAY(message, EQP_ERR_FORMAT, "%s: dataset /PartType%d/%s holds fewer bytes than its shape needs",
                          file->path, type, name));
    if (rc == EQP_OK && quantity == VELOCITIES) {
        get_exponent(file, dataset, exponent);
    }
    return optional(rc);
}

/* there [QUANTITIES]: set if the type has the dataset. */
static int check_type(eqp__file *file, hid_t opened, int type, bool *there, double *exponent, eqp_message *message)
{
    const bool has_mass = file->header.mass[type] != 0;
    EQP__HID group = -1;

    EQP__CHECK(open_type(file, opened, type, &group, message));
    for (int q = 0; q < QUANTITIES && (q == PLACES || there[PLACES]); q++) {
        there[q] = q == MASSES && has_mass;
        EQP__CHECK(there[q] ? EQP_OK : check_dataset(file, type, group, q, &there[q], exponent, message));
    }
    return EQP_OK;
}

/* Tracers move with the gas and have no positions. */
static int check_types(eqp__file *file, hid_t opened, double *exponent, eqp_message *message)
{
    eqp__header *h = &file->header;
    int with[QUANTITIES] = {0};

    for (int t = 0; t < h->ntypes; t++) {
        bool there[QUANTITIES] = {false};

        EQP__CHECK(h->n[t] == 0 ? EQP_OK : check_type(file, opened, t, there, exponent, message));
        for (int q = 0; q < QUANTITIES; q++) {
            with[q] += there[q];
        }
        h->at_rest |= there[PLACES] && !there[VELOCITIES] ? UINT32_C(1) << t : 0;
        if (!there[PLACES]) {
            h->left_out[t] = h->n[t];
            h->n[t] = 0;
        }
    }
    EQP__FAIL_IF(with[IDS] > 0 && with[IDS] < with[PLACES],
                 damaged(file, "only some types of particles have ids", message));
    h->has_ids = with[IDS] == with[PLACES];
    h->has_masses = with[MASSES] == with[PLACES];
    return EQP_OK;
}

/* all: set if every dataset of the type is virtual. */
static int find_pieces_of_type(const eqp__file *file, hid_t group, int type, eqp__pieces *pieces, bool *all,
                               eqp_message *message)
{
    for (int q = 0; q < QUANTITIES; q++) {
        const char *name = find_name(group, q);
        EQP__HID dataset = H5Lexists(group, name, H5P_DEFAULT) > 0 ? eqp__hdf5_open_within(group, name) : -1;
        char whole[64];

        *all = *all && (dataset < 0 || eqp__hdf5_is_virtual(dataset));
        if (dataset >= 0 && *all) {
            snprintf(whole, sizeof whole, "PartType%d/%s", type, name);
            EQP__CHECK(eqp__hdf5_find_pieces(file->path, dataset, whole, pieces, message));
        }
    }
    return EQP_OK;
}

/* Other errors are reported when the file is loaded. */
static int find_pieces(const eqp__file *file, eqp__header *header, eqp__pieces *pieces, bool *is_virtual,
                       eqp_message *message)
{
    EQP__QUIET_HDF5;
    eqp__file counts = {.path = file->path};
    EQP__HID opened = -1;
    bool all = true;

    if (eqp__hdf5_open_file(file->path, file->size, &opened, NULL) == EQP_OK &&
        load_header(&counts, opened, NULL) == EQP_OK) {
        for (int t = 0; t < counts.header.ntypes; t++) {
            EQP__HID group = -1;

            if (counts.header.n[t] > 0 && open_type(&counts, opened, t, &group, NULL) == EQP_OK) {
                EQP__CHECK(find_pieces_of_type(file, group, t, pieces, &all, message));
            }
        }
    }
    *header = counts.header;
    *is_virtual = all && pieces->n > 0;
    return EQP_OK;
}

static int load(eqp__file *file, eqp_message *message)
{
    EQP__QUIET_HDF5;
    EQP__HID opened = -1;
    double exponent = 0.5;
    EQP__SOURCE source = {.fd = -1};
    int comoving = -1;

    EQP__CHECK(eqp__source_open(file->path, -1, &source, message));
    file->size = source.size;
    EQP__CHECK(eqp__hdf5_open_file(file->path, file->size, &opened, message));
    EQP__CHECK(load_header(file, opened, message));
    for (int i = 0; i < (int)(sizeof cosmologies / sizeof *cosmologies); i++) {
        EQP__CHECK(load_cosmology(file, opened, i, &comoving, message));
    }
    EQP__CHECK(load_scale_factor(file, opened, comoving, message));
    find_units(file, opened);
    EQP__CHECK(check_types(file, opened, &exponent, message));
    EQP__CHECK(eqp__header_check(file, message));
    eqp__header_convert_velocity(&file->header, comoving, exponent);
    return EQP_OK;
}

static int read_dataset(const eqp__file *file, hid_t group, int type, const eqp_column *column, int64_t first,
                        int64_t n, void *const *data, eqp_message *message)
{
    H5T_class_t class = column->kind == EQP_KIND_DOUBLE ? H5T_FLOAT : H5T_INTEGER;
    EQP__HID dataset = -1;
    int rc = eqp__hdf5_open_column(file->path, group, column->name, class, file->header.n[type], column->width,
                                   &dataset, message);

    EQP__FAIL_IF(rc == EQP_ERR_UNKNOWN,
                 EQP__SAY(message, rc, "%s: PartType%d has no dataset %s", file->path, type, column->name));
    EQP__CHECK(rc);
    rc = eqp__hdf5_read_rows(dataset, column->kind, column->width, first, n, data);
    EQP__FAIL_IF(rc == EQP_ERR_IO, EQP__SAY(message, rc, "%s: dataset PartType%d/%s cannot be read: damaged?",
                                            file->path, type, column->name));
    return rc;
}

/* HDF5 clips numbers that do not fit, so unsigned ids are read as unsigned to keep their bits. */
static eqp_kind kind_of_ids(hid_t group)
{
    EQP__HID dataset = eqp__hdf5_open_within(group, find_name(group, IDS));
    EQP__HID type = dataset >= 0 ? H5Dget_type(dataset) : -1;

    return type >= 0 && H5Tget_sign(type) == H5T_SGN_2 ? EQP_KIND_INT64 : EQP_KIND_UINT64;
}

static int read_type(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_snapshot_arrays *to,
                     eqp_message *message)
{
    void *const wanted[QUANTITIES][3] = {[PLACES] = {to->x, to->y, to->z},
                                         [VELOCITIES] = {to->vx, to->vy, to->vz},
                                         [MASSES] = {to->m},
                                         [IDS] = {to->id}};
    EQP__QUIET_HDF5;
    EQP__HID opened = -1, group = -1;

    EQP__CHECK(open_group(file, type, &opened, &group, message));
    for (int q = 0; q < QUANTITIES; q++) {
        if (wanted[q][0] || wanted[q][1] || wanted[q][2]) {
            const eqp_column column = {find_name(group, q), q == IDS ? kind_of_ids(group) : EQP_KIND_DOUBLE,
                                       quantities[q].width};
            const int rc = read_dataset(file, group, type, &column, first, n, wanted[q], message);

            /* The dataset was present when the snapshot was opened. */
            EQP__CHECK(rc == EQP_ERR_UNKNOWN ? EQP_ERR_FORMAT : rc);
        }
    }
    return EQP_OK;
}

static int read_column(const eqp__file *file, int type, int64_t first, int64_t n, const eqp_column *column,
                       void *const *data, eqp_message *message)
{
    EQP__QUIET_HDF5;
    EQP__HID opened = -1, group = -1;

    EQP__CHECK(open_group(file, type, &opened, &group, message));
    return read_dataset(file, group, type, column, first, n, data, message);
}

static int get_attribute(const eqp__file *file, eqp_attribute *attribute, eqp_message *message)
{
    EQP__QUIET_HDF5;
    EQP__HID opened = -1, group = -1;
    double number = 0;
    int rc = open_group(file, -1, &opened, &group, message);

    if (rc == EQP_OK && attribute->kind == EQP_KIND_DOUBLE) {
        rc = eqp__hdf5_get_reals(file->path, group, attribute->name, 1, 1, &number, message);
        EQP__FAIL_IF(
            rc == EQP_OK && !isfinite(number),
            EQP__SAY(message, EQP_ERR_DATA, "%s: attribute /Equipoise/%s is not finite", file->path, attribute->name));
        attribute->real = rc == EQP_OK ? number : attribute->real;
    } else if (rc == EQP_OK) {
        rc = eqp__hdf5_get_integers(file->path, group, attribute->name, 1, 1, &attribute->integer, NULL, message);
    }
    return rc == EQP_ERR_UNKNOWN ? EQP__SAY(message, rc, "%s: has no attribute %s", file->path, attribute->name) : rc;
}

static int read_words(const eqp__file *file, hid_t group, int64_t *nwords, uint64_t **words, eqp_message *message)
{
    EQP__HEAP uint64_t *made = NULL;
    EQP__HID dataset = -1;
    int64_t n = 0;

    EQP__CHECK(eqp__hdf5_get_integers(file->path, group, EQP__NWORDS, 1, 1, &n, NULL, message));
    const int code = n > 0 ? eqp__hdf5_open_column(file->path, group, EQP__WORDS, H5T_INTEGER, n, 1, &dataset, message)
                           : EQP_ERR_FORMAT;
    EQP__FAIL_IF(code == EQP_ERR_FORMAT || code == EQP_ERR_UNKNOWN,
                 EQP__SAY(message, EQP_ERR_FORMAT, "%s: /Equipoise/%s is not what %s says", file->path, EQP__WORDS,
                          EQP__NWORDS));
    EQP__CHECK(code);
    EQP__CHECK(eqp_array_create(&made, n, sizeof *made));
    EQP__CHECK(eqp__hdf5_read_rows(dataset, EQP_KIND_UINT64, 1, 0, n, (void *const[]){made}));
    *nwords = n;
    *words = made;
    made = NULL;
    return EQP_OK;
}

static int get_words(const eqp__file *file, int64_t *nwords, uint64_t **words, eqp_message *message)
{
    EQP__QUIET_HDF5;
    EQP__HID opened = -1, group = -1;
    int rc = open_group(file, -1, &opened, &group, message);

    rc = rc != EQP_OK ? rc : read_words(file, group, nwords, words, message);
    return rc == EQP_ERR_UNKNOWN ? EQP__SAY(message, rc, "%s: has no words", file->path) : rc;
}

const eqp__format eqp__format_gadget_hdf5 = {
    .probe = eqp__hdf5_probe,
    .find_pieces = find_pieces,
    .load = load,
    .read = read_type,
    .read_column = read_column,
    .get_attribute = get_attribute,
    .get_words = get_words,
};
