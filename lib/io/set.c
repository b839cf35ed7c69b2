/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds all files of a snapshot from any one of them, and checks their counts against the totals in each header. */
#include "io/internal.h"

#include "base/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The file number in a name: the last ".digits" before a dot or the end. */
typedef struct numbered {
    size_t begin, end; /* digits are path[begin .. end) */
    int number;
} numbered;

static bool find_number(const char *path, numbered *at)
{
    const char *slash = strrchr(path, '/');
    size_t length = strlen(path);

    for (size_t i = length; i-- > (slash ? (size_t)(slash - path) + 1 : 0);) {
        size_t end = i + 1;

        if (path[i] != '.') {
            continue;
        }
        while (isdigit((unsigned char)path[end])) {
            end++;
        }
        if (end > i + 1 && end - i <= 9 && (path[end] == '.' || path[end] == '\0')) {
            *at = (numbered){.begin = i + 1, .end = end, .number = atoi(path + i + 1)};
            return true;
        }
    }
    return false;
}

static int name_file(const char *path, const numbered *at, int k, char **name)
{
    const size_t room = strlen(path) + 16;
    /* Numbers with leading zeros keep their width: 000, 001. */
    const int width = path[at->begin] == '0' && at->end - at->begin > 1 ? (int)(at->end - at->begin) : 1;

    EQP__CHECK(eqp_array_create(name, (int64_t)room, 1));
    snprintf(*name, room, "%.*s%0*d%s", (int)at->begin, path, width, k, path + at->end);
    return EQP_OK;
}

bool eqp__is_cosmological(double time, double redshift, double omega0)
{
    bool agrees = time > 0 && fabs(time * (1 + redshift) - 1) < 1e-4;

    return agrees && (redshift != 0 || omega0 > 0);
}

void eqp__header_convert_velocity(eqp__header *header, int comoving, double exponent)
{
    header->cosmological =
        comoving < 0 ? eqp__is_cosmological(header->time, header->redshift, header->omega0) : comoving != 0;
    header->velocity_factor = header->cosmological && header->time > 0 ? pow(header->time, exponent) : 1;
}

int eqp__header_check(const eqp__file *file, eqp_message *message)
{
    const eqp__header *h = &file->header;
    const double value[] = {h->time, h->redshift, h->box_size, h->omega0, h->omega_lambda, h->hubble};
    static const char *const name[] = {"time", "redshift", "box size", "Omega0", "OmegaLambda", "h"};

    for (int i = 0; i < (int)(sizeof value / sizeof *value); i++) {
        EQP__FAIL_IF(!isfinite(value[i]),
                     EQP__SAY(message, EQP_ERR_FORMAT, "%s: header: %s is not finite", file->path, name[i]));
    }
    for (int t = 0; t < h->ntypes; t++) {
        EQP__FAIL_IF(h->n[t] < 0 || h->n[t] > EQP__MOST_PARTICLES,
                     EQP__SAY(message, EQP_ERR_FORMAT, "%s: header: %lld particles of type %d", file->path,
                              (long long)h->n[t], t));
        EQP__FAIL_IF(
            !isfinite(h->mass[t]) || h->mass[t] < 0,
            EQP__SAY(message, EQP_ERR_DATA, "%s: header: mass %g of particles of type %d", file->path, h->mass[t], t));
    }
    EQP__FAIL_IF(h->nfiles < 0, EQP__SAY(message, EQP_ERR_FORMAT, "%s: header: %d files", file->path, h->nfiles));
    return EQP_OK;
}

/* Loads one more file. */
static int add_file(eqp_snapshot *s, const char *path, eqp_message *message)
{
    EQP__HEAP char *copy = NULL;
    struct stat status;

    EQP__CHECK(eqp_array_reserve(&s->file, &s->capacity, s->info.nfiles + 1, sizeof *s->file));
    EQP__CHECK(eqp__path_join(path, "", &copy));
    eqp__file *file = &s->file[s->info.nfiles];
    *file = (eqp__file){.path = copy, .first = s->info.n, .size = -1, .header = {.has_masses = true}};
    EQP__CHECK(s->format->load(file, message));
    copy = NULL;
    s->info.nfiles++;
    for (int t = 0; t < file->header.ntypes; t++) {
        file->n += file->header.n[t];
        s->info.type_n[t] += file->header.n[t];
        s->left_out[t] += file->header.left_out[t];
    }
    s->info.n += file->n;
    if (file->n > 0 && s->info.n == file->n) {
        s->info.has_ids = file->header.has_ids;
    }
    s->info.bytes += stat(path, &status) == 0 ? (int64_t)status.st_size : 0;
    EQP__FAIL_IF(s->info.n > EQP__MOST_PARTICLES,
                 EQP__SAY(message, EQP_ERR_FORMAT, "%s: more than 2^48 particles", path));
    return EQP_OK;
}

static int check_agreement(const eqp_snapshot *s, const eqp__file *file, eqp_message *message)
{
    const eqp__header *a = &s->file[0].header, *b = &file->header;
    bool same = a->ntypes == b->ntypes && a->nfiles == b->nfiles && a->total_mask == b->total_mask &&
                a->time == b->time && strcmp(a->format, b->format) == 0;

    for (int t = 0; same && t < a->ntypes; t++) {
        same = a->total[t] == b->total[t];
    }
    EQP__FAIL_IF(
        !same, EQP__SAY(message, EQP_ERR_FORMAT, "%s: header disagrees with that of %s", file->path, s->file[0].path));
    /* A file without particles has no ids. */
    EQP__FAIL_IF(file->n > 0 && s->info.n > file->n && b->has_ids != s->info.has_ids,
                 EQP__SAY(message, EQP_ERR_FORMAT, "%s: only some files of the set have ids", file->path));
    return EQP_OK;
}

static int check_totals(const eqp_snapshot *s, eqp_message *message)
{
    const eqp__header *h = &s->file[0].header;
    int64_t declared = 0;

    for (int t = 0; t < h->ntypes; t++) {
        declared |= h->total[t];
    }
    /* Single files of initial conditions often have totals of 0. */
    if (h->total_mask == 0 || (declared == 0 && s->info.nfiles == 1)) {
        return EQP_OK;
    }
    for (int t = 0; t < h->ntypes; t++) {
        const int64_t found = s->info.type_n[t] + s->left_out[t];

        EQP__FAIL_IF(((uint64_t)found & h->total_mask) != ((uint64_t)h->total[t] & h->total_mask),
                     EQP__SAY(message, EQP_ERR_FORMAT,
                              "%s: header says %lld particles of type %d in all, the file%s %lld", s->file[0].path,
                              (long long)h->total[t], t, s->info.nfiles > 1 ? "s hold" : " holds", (long long)found));
    }
    return EQP_OK;
}

static void set_note(eqp_snapshot *s)
{
    eqp_message *note = &s->info.note;
    uint32_t at_rest = 0;

    for (int k = 0; k < s->info.nfiles; k++) {
        at_rest |= s->file[k].header.at_rest;
    }
    for (int k = 0; k < s->info.nfiles && !note->text[0]; k++) {
        *note = s->file[k].header.note;
    }
    for (int t = 0; t < EQP_SNAPSHOT_TYPES; t++) {
        if (s->info.has_velocities && at_rest >> t & 1) {
            eqp_message_set(note, "%s%sparticles of type %d have no velocities and are at rest", note->text,
                            note->text[0] ? "; " : "", t);
        }
        if (s->left_out[t] > 0) {
            eqp_message_set(note, "%s%s%lld particles of type %d have no positions (tracers?) and are left out",
                            note->text, note->text[0] ? "; " : "", (long long)s->left_out[t], t);
        }
    }
}

/* True if some particles have velocities. */
static bool has_velocities(const eqp__file *file)
{
    bool has = false;

    for (int t = 0; t < file->header.ntypes; t++) {
        has |= file->header.n[t] > 0 && (file->header.at_rest >> t & 1) == 0;
    }
    return has;
}

static void set_info(eqp_snapshot *s)
{
    const eqp__header *h = &s->file[0].header;

    memcpy(s->info.format, h->format, sizeof s->info.format);
    s->info.ntypes = h->ntypes;
    s->info.time = h->time;
    s->info.redshift = h->redshift;
    s->info.box_size = h->box_size;
    s->info.omega0 = h->omega0;
    s->info.omega_lambda = h->omega_lambda;
    s->info.hubble = h->hubble;
    s->info.cosmological = h->cosmological;
    s->info.has_units = h->has_units;
    s->info.has_masses = true;
    for (int k = 0; k < s->info.nfiles; k++) {
        s->info.has_velocities |= has_velocities(&s->file[k]);
        s->info.has_masses &= s->file[k].header.has_masses;
    }
    set_note(s);
}

/* The number of files in the header is not trusted: files are opened one by one, and the first missing one ends the
 * loop, so memory follows the files that exist. */
static int add_set(eqp_snapshot *s, const char *path, int nfiles, eqp_message *message)
{
    numbered at;

    EQP__FAIL_IF(
        !find_number(path, &at),
        EQP__SAY(message, EQP_ERR_FORMAT, "%s: is one of %d files, but its name has no file number", path, nfiles));
    EQP__FAIL_IF(
        at.number >= nfiles,
        EQP__SAY(message, EQP_ERR_FORMAT, "%s: has number %d, but its header says %d files", path, at.number, nfiles));
    for (int k = 0; k < nfiles; k++) {
        EQP__HEAP char *name = NULL;

        EQP__CHECK(name_file(path, &at, k, &name));
        EQP__CHECK(add_file(s, name, message));
        EQP__CHECK(check_agreement(s, &s->file[k], message));
    }
    return EQP_OK;
}

static void free_pieces(eqp__pieces *pieces)
{
    for (int64_t i = 0; i < pieces->n; i++) {
        free(pieces->path[i]);
    }
    free(pieces->path);
}

/* Loads the pieces of a virtual file and checks their counts against its header. */
static int add_pieces(eqp_snapshot *s, const char *path, const eqp__header *header, const eqp__pieces *pieces,
                      eqp_message *message)
{
    for (int64_t i = 0; i < pieces->n; i++) {
        eqp_message why = {""};
        const int rc = add_file(s, pieces->path[i], &why);

        EQP__FAIL_IF(rc != EQP_OK, EQP__SAY(message, rc, "%s: is a virtual file, of which a piece cannot be read: %s",
                                            path, why.text[0] ? why.text : eqp_error_text(rc)));
        EQP__FAIL_IF(s->file[i].header.ntypes != header->ntypes || s->file[i].header.time != s->file[0].header.time ||
                         (s->file[i].n > 0 && s->file[i].header.has_ids != s->info.has_ids),
                     EQP__SAY(message, EQP_ERR_FORMAT, "%s: header disagrees with that of %s", s->file[i].path,
                              s->file[0].path));
    }
    for (int t = 0; t < header->ntypes; t++) {
        EQP__FAIL_IF(s->info.type_n[t] + s->left_out[t] != header->n[t],
                     EQP__SAY(message, EQP_ERR_FORMAT,
                              "%s: header says %lld particles of type %d, its pieces hold %lld", path,
                              (long long)header->n[t], t, (long long)(s->info.type_n[t] + s->left_out[t])));
    }
    return EQP_OK;
}

/* Loads a virtual file through its pieces. found: set if it is virtual. */
static int load_virtual(eqp_snapshot *s, const char *path, bool *found, eqp_message *message)
{
    EQP__AT_END(free_pieces) eqp__pieces pieces = {.n = 0};
    EQP__HEAP char *copy = NULL;
    eqp__header header = {.ntypes = 0};

    *found = false;
    if (!s->format->find_pieces) {
        return EQP_OK;
    }
    EQP__CHECK(eqp__path_join(path, "", &copy));
    EQP__CHECK(s->format->find_pieces(&(eqp__file){.path = copy, .size = -1}, &header, &pieces, found, message));
    return *found ? add_pieces(s, path, &header, &pieces, message) : EQP_OK;
}

static int load_files(eqp_snapshot *s, const char *path, eqp_message *message)
{
    EQP__CHECK(add_file(s, path, message));
    const int nfiles = s->file[0].header.nfiles;
    if (nfiles > 1) {
        eqp__set_free(s);
        EQP__CHECK(add_set(s, path, nfiles, message));
    }
    return check_totals(s, message);
}

int eqp__set_load(eqp_snapshot *s, const char *path, eqp_message *message)
{
    bool is_virtual;
    int64_t left_out = 0;

    EQP__CHECK(load_virtual(s, path, &is_virtual, message));
    EQP__CHECK(is_virtual ? EQP_OK : load_files(s, path, message));
    for (int t = 0; t < EQP_SNAPSHOT_TYPES; t++) {
        left_out |= s->left_out[t];
    }
    EQP__FAIL_IF(s->info.n == 0,
                 EQP__SAY(message, EQP_ERR_FORMAT, "%s: %s", path,
                          left_out > 0 ? "no type of particles has a dataset Coordinates" : "holds no particles"));
    set_info(s);
    return EQP_OK;
}

void eqp__set_free(eqp_snapshot *s)
{
    for (int k = 0; k < s->info.nfiles; k++) {
        if (s->format->release) {
            s->format->release(s->file[k].detail);
        }
        free(s->file[k].path);
    }
    free(s->file);
    s->file = NULL;
    s->capacity = 0;
    memset(s->left_out, 0, sizeof s->left_out);
    s->info = (eqp_snapshot_info){.n = 0};
}
