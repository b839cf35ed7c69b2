/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots of any format: recognizes the format, finds the files of a slice, checks the values. */
#include "io/internal.h"

#include "base/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* In order of certainty. Text has no signature: any file without control characters may be text. */
static const eqp__format *const formats[] = {
    &eqp__format_gadget_hdf5,
    &eqp__format_gadget_binary,
    &eqp__format_tipsy,
    &eqp__format_text,
};

static int probe_all(const eqp__source *source, const eqp__format **found, eqp_message *message)
{
    EQP__HEAP eqp__probe *probe = NULL;
    const char *stranger;

    EQP__CHECK(eqp_array_create(&probe, 1, sizeof *probe));
    probe->source = source;
    probe->size = source->size;
    probe->length = probe->size < (int64_t)sizeof probe->head ? (size_t)probe->size : sizeof probe->head;
    EQP__CHECK(eqp__source_read(source, probe->head, probe->length, 0, message));
    stranger = eqp__source_stranger(probe->head, probe->length);
    for (int i = 0; !stranger && i < (int)(sizeof formats / sizeof *formats); i++) {
        if (formats[i]->probe(probe)) {
            *found = formats[i];
            return EQP_OK;
        }
    }
    return EQP__SAY(message, EQP_ERR_FORMAT, "%s: %s", source->path,
                    stranger ? stranger
                             : "is in no known format (GADGET HDF5, GADGET 1 or 2, TIPSY, text, LAMMPS, XYZ)");
}

static int find_format(const char *path, const eqp__format **found, eqp_message *message)
{
    EQP__SOURCE source = {.fd = -1};

    EQP__CHECK(eqp__source_open(path, -1, &source, message));
    EQP__FAIL_IF(source.size == 0, EQP__SAY(message, EQP_ERR_FORMAT, "%s: is empty", path));
    return probe_all(&source, found, message);
}

/* A missing name may be the common part of the names of several files. */
static int find_first_file(const char *path, char **found)
{
    static const char *const suffix[] = {"", ".0.hdf5", ".0.h5", ".0", ".hdf5"};
    int n = (int)(sizeof suffix / sizeof *suffix);

    for (int i = 0; i < n; i++) {
        struct stat status;
        EQP__HEAP char *name = NULL;

        EQP__CHECK(eqp__path_join(path, suffix[i], &name));
        if (stat(name, &status) == 0 || errno != ENOENT) {
            *found = name;
            name = NULL;
            return EQP_OK;
        }
    }
    return eqp__path_join(path, "", found);
}

int eqp_snapshot_open(const char *path, eqp_snapshot **snapshot, eqp_message *message)
{
    eqp_snapshot *s = NULL;
    EQP__HEAP char *name = NULL;
    int code;

    EQP__FAIL_IF(!path || !snapshot, EQP__SAY(message, EQP_ERR_ARGUMENT, "a snapshot needs a file name"));
    EQP_TRY(find_first_file(path, &name));
    EQP_TRY(eqp_array_create(&s, 1, sizeof *s));
    EQP_TRY(find_format(name, &s->format, message));
    EQP_TRY(eqp__set_load(s, name, message));
    *snapshot = s;
    s = NULL;
done:
    eqp_snapshot_close(s);
    return eqp__explain(code, path, message);
}

void eqp_snapshot_close(eqp_snapshot *snapshot)
{
    if (snapshot) {
        eqp__set_free(snapshot);
        free(snapshot);
    }
}

const eqp_snapshot_info *eqp_snapshot_get_info(const eqp_snapshot *snapshot)
{
    return snapshot ? &snapshot->info : NULL;
}

static eqp_snapshot_arrays shifted(const eqp_snapshot_arrays *a, int64_t k)
{
    return (eqp_snapshot_arrays){
        .x = a->x ? a->x + k : NULL,
        .y = a->y ? a->y + k : NULL,
        .z = a->z ? a->z + k : NULL,
        .vx = a->vx ? a->vx + k : NULL,
        .vy = a->vy ? a->vy + k : NULL,
        .vz = a->vz ? a->vz + k : NULL,
        .m = a->m ? a->m + k : NULL,
        .id = a->id ? a->id + k : NULL,
        .type = a->type ? a->type + k : NULL,
    };
}

static int check_values(const char *path, const char *column, int64_t first, int64_t n, const double *value,
                        bool may_be_negative, eqp_message *message)
{
    for (int64_t i = 0; value && i < n; i++) {
        EQP__FAIL_IF(!isfinite(value[i]),
                     EQP__SAY(message, EQP_ERR_DATA, "%s: particle %lld: %s is %s", path, (long long)(first + i),
                              column, isnan(value[i]) ? "not a number" : "infinite"));
        EQP__FAIL_IF(!may_be_negative && value[i] < 0,
                     EQP__SAY(message, EQP_ERR_DATA, "%s: particle %lld: %s is negative (%g)", path,
                              (long long)(first + i), column, value[i]));
    }
    return EQP_OK;
}

static int check_arrays(const char *path, int64_t first, int64_t n, const eqp_snapshot_arrays *a, eqp_message *message)
{
    const double *const column[] = {a->x, a->y, a->z, a->vx, a->vy, a->vz, a->m};
    static const char *const name[] = {"x", "y", "z", "vx", "vy", "vz", "mass"};
    int rc = EQP_OK;

    for (int c = 0; rc == EQP_OK && c < 7; c++) {
        rc = check_values(path, name[c], first, n, column[c], c < 6, message);
    }
    return rc;
}

/* Request for a run of particles of one type in one file. */
typedef struct request {
    const eqp_snapshot_arrays *arrays; /* NULL: read `column` */
    const eqp_column *column;
    void *const *data;
} request;

static int read_arrays(const eqp_snapshot *s, const eqp__file *file, int type, int64_t first, int64_t n,
                       const eqp_snapshot_arrays *to, int64_t global, eqp_message *message)
{
    const eqp__header *h = &file->header;
    double *const velocity[] = {to->vx, to->vy, to->vz};
    eqp_snapshot_arrays stored = *to;

    stored.m = h->mass[type] != 0 || !s->info.has_masses ? NULL : to->m;
    stored.id = s->info.has_ids ? to->id : NULL;
    if (h->at_rest >> type & 1) {
        stored.vx = stored.vy = stored.vz = NULL;
    }
    EQP__CHECK(s->format->read(file, type, first, n, &stored, message));
    for (int64_t i = 0; i < n; i++) {
        if (to->type) {
            to->type[i] = (int8_t)type;
        }
        if (to->id && !stored.id) {
            to->id[i] = global + i;
        }
        if (to->m && !stored.m) {
            to->m[i] = s->info.has_masses ? h->mass[type] : 1 / (double)s->info.n;
        }
    }
    for (int c = 0; c < 3; c++) {
        for (int64_t i = 0; velocity[c] && i < n && ((h->at_rest >> type & 1) || h->velocity_factor != 1); i++) {
            velocity[c][i] = h->at_rest >> type & 1 ? 0 : velocity[c][i] * h->velocity_factor;
        }
    }
    return check_arrays(file->path, global, n, to, message);
}

static int read_column(const eqp_snapshot *s, const eqp__file *file, int type, int64_t first, int64_t n,
                       const request *want, int64_t done, int64_t global, eqp_message *message)
{
    void *data[EQP_COLUMN_WIDTH];
    int rc;

    /* Every kind is 8 bytes wide. */
    for (int c = 0; c < want->column->width; c++) {
        data[c] = (char *)want->data[c] + 8 * done;
    }
    rc = s->format->read_column(file, type, first, n, want->column, data, message);
    for (int c = 0; rc == EQP_OK && want->column->kind == EQP_KIND_DOUBLE && c < want->column->width; c++) {
        rc = check_values(file->path, want->column->name, global, n, data[c], true, message);
    }
    return rc;
}

/* Splits [first, first + n) of the global order into runs of one type in one file. */
static int read_runs(const eqp_snapshot *s, int64_t first, int64_t n, const request *want, eqp_message *message)
{
    for (int k = 0; k < s->info.nfiles; k++) {
        const eqp__file *file = &s->file[k];
        int64_t start = file->first;

        for (int t = 0; t < file->header.ntypes && start < first + n; t++) {
            int64_t count = file->header.n[t];
            int64_t from = start < first ? first : start;
            int64_t to = start + count < first + n ? start + count : first + n;

            if (from < to) {
                int rc;

                if (want->arrays) {
                    eqp_snapshot_arrays part = shifted(want->arrays, from - first);

                    rc = read_arrays(s, file, t, from - start, to - from, &part, from, message);
                } else {
                    rc = read_column(s, file, t, from - start, to - from, want, from - first, from, message);
                }
                EQP__CHECK(rc);
            }
            start += count;
        }
    }
    return EQP_OK;
}

static int read_range(const eqp_snapshot *s, int64_t first, int64_t n, const request *want, eqp_message *message)
{
    EQP__FAIL_IF(first < 0 || n < 0 || first > s->info.n || n > s->info.n - first,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "%s: particles %lld + %lld of %lld", s->file[0].path,
                          (long long)first, (long long)n, (long long)s->info.n));
    return eqp__explain(read_runs(s, first, n, want, message), s->file[0].path, message);
}

const eqp_snapshot_arrays *eqp__arrays_known(const eqp_snapshot_arrays *arrays, eqp_snapshot_arrays *here)
{
    *here = eqp_snapshot_arrays_defaults();
    return eqp_struct_take(here, arrays, EQP_STRUCT_UP_TO(eqp_snapshot_arrays, type)) == EQP_OK ? here : NULL;
}

int eqp_snapshot_read(const eqp_snapshot *snapshot, int64_t first, int64_t n, const eqp_snapshot_arrays *given,
                      eqp_message *message)
{
    eqp_snapshot_arrays known;
    const eqp_snapshot_arrays *const arrays = eqp__arrays_known(given, &known);

    EQP__FAIL_IF(!snapshot || !arrays, EQP__SAY(message, EQP_ERR_ARGUMENT, "nothing to read"));
    return read_range(snapshot, first, n, &(request){.arrays = arrays}, message);
}

int eqp_snapshot_read_column(const eqp_snapshot *snapshot, const eqp_column *column, int64_t first, int64_t n,
                             void *const *data, eqp_message *message)
{
    EQP__FAIL_IF(
        !snapshot || !column || !column->name || !data || column->width < 1 || column->width > EQP_COLUMN_WIDTH,
        EQP__SAY(message, EQP_ERR_ARGUMENT, "a column needs a name, a width of 1 to %d and data", EQP_COLUMN_WIDTH));
    EQP__FAIL_IF(!snapshot->format->read_column,
                 EQP__SAY(message, EQP_ERR_UNKNOWN, "%s: has no column %s", snapshot->file[0].path, column->name));
    return read_range(snapshot, first, n, &(request){.column = column, .data = data}, message);
}

int eqp_snapshot_get_attribute(const eqp_snapshot *snapshot, eqp_attribute *attribute, eqp_message *message)
{
    EQP__FAIL_IF(!snapshot || !attribute || !attribute->name,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "an attribute needs a name"));
    EQP__FAIL_IF(!snapshot->format->get_attribute, EQP__SAY(message, EQP_ERR_UNKNOWN, "%s: has no attribute %s",
                                                            snapshot->file[0].path, attribute->name));
    return eqp__explain(snapshot->format->get_attribute(&snapshot->file[0], attribute, message), snapshot->file[0].path,
                        message);
}

int eqp_snapshot_get_words(const eqp_snapshot *snapshot, int64_t *nwords, uint64_t **words, eqp_message *message)
{
    EQP__FAIL_IF(!snapshot || !nwords || !words,
                 EQP__SAY(message, EQP_ERR_ARGUMENT, "words need a snapshot and places to go to"));
    EQP__FAIL_IF(!snapshot->format->get_words,
                 EQP__SAY(message, EQP_ERR_UNKNOWN, "%s: has no words", snapshot->file[0].path));
    return eqp__explain(snapshot->format->get_words(&snapshot->file[0], nwords, words, message), snapshot->file[0].path,
                        message);
}
