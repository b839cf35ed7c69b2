/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the files of a trace and selects their readers. */
#include "build.h"

#include <equipoise/more/base.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK = 4096 };

typedef enum format { TEXT, BOXES, VT, HDF5_FILE, CHARM, STRANGER, NFORMATS } format;
static const char *const format_name[NFORMATS] = {
    [TEXT] = "table",     [BOXES] = "WarpX LoadBalanceCosts", [VT] = "vt load data",
    [HDF5_FILE] = "HDF5", [CHARM] = "Charm++ LBDump",         [STRANGER] = "no trace"};

/* A file named by the user, or found in a folder, where it may not belong to the trace. */
typedef struct file {
    char *path; /* owned */
    bool met;
    format format;
} file;

typedef struct files {
    int64_t n, room;
    file *file;
} files;

static int add_file(files *f, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;

    EQP_CHECK(eqp_array_reserve(&f->file, &f->room, f->n + 1, sizeof *f->file));
    f->file[f->n] = (file){.met = folder[0] != '\0'};
    EQP_CHECK(eqp_array_create(&f->file[f->n].path, (int64_t)size, 1));
    (void)snprintf(f->file[f->n++].path, size, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    return EQP_OK;
}

/* Orders numbers in names by value: data.2.json before data.10.json. */
static int by_name(const void *a, const void *b)
{
    const char *x = ((const file *)a)->path, *y = ((const file *)b)->path;
    const size_t nx = strlen(x), ny = strlen(y);

    return nx != ny ? (nx > ny) - (nx < ny) : strcmp(x, y);
}

static int add_folder(files *f, const char *folder, eqp_message *message)
{
    const int64_t before = f->n;
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    struct stat status;
    int code = EQP_OK;

    if (dir == NULL) {
        eqp_message_set(message, "%.250s: %s", folder, strerror(errno));
        return EQP_ERR_IO;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            EQP_TRY(add_file(f, folder, entry->d_name));
            if (stat(f->file[f->n - 1].path, &status) != 0 || !S_ISREG(status.st_mode)) {
                free(f->file[--f->n].path);
            }
        }
    }
    if (f->n == before) {
        eqp_message_set(message, "%.250s: a folder without files", folder);
        EQP_TRY(EQP_ERR_DATA);
    }
    qsort(f->file + before, (size_t)(f->n - before), sizeof *f->file, by_name);
done:
    (void)closedir(dir);
    return code;
}

static int list_files(int n, const char *const *paths, files *f, eqp_message *message)
{
    struct stat status;

    for (int i = 0; i < n; i++) {
        if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            EQP_CHECK(add_folder(f, paths[i], message));
        } else {
            EQP_CHECK(add_file(f, "", paths[i]));
        }
    }
    return EQP_OK;
}

static bool has_hdf5_signature(const unsigned char *bytes, size_t size)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    bool has = false;

    for (size_t at = 0; at + sizeof signature <= size && !has; at = at == 0 ? 512 : 2 * at) {
        has = memcmp(bytes + at, signature, sizeof signature) == 0;
    }
    return has;
}

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), tail = strlen(ending);

    return length >= tail && strcmp(path + length - tail, ending) == 0;
}

/* Text has no other control characters. */
static bool is_binary(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] < ' ' && !isspace(bytes[i])) {
            return true;
        }
    }
    return false;
}

/* Names the command that unpacks a compressed file. Brotli has no signature: vt uses it by default and names the files
 * .json or .json.br. */
static const char *unpack_command(const char *path, const unsigned char *bytes, size_t size)
{
    static const struct {
        const char *signature, *command;
    } packed[] = {{"\x1f\x8b", "gzip -dc"},
                  {"\x28\xb5\x2f\xfd", "zstd -dc"},
                  {"\xfd\x37zXZ", "xz -dc"},
                  {"BZh", "bzip2 -dc"},
                  {"PK\x03\x04", "unzip -p"}};

    for (size_t k = 0; k < sizeof packed / sizeof packed[0]; k++) {
        const size_t length = strlen(packed[k].signature);
        if (size >= length && memcmp(bytes, packed[k].signature, length) == 0) {
            return packed[k].command;
        }
    }
    return ends_with(path, ".br") || (ends_with(path, ".json") && is_binary(bytes, size)) ? "brotli -dc" : NULL;
}

static bool has_mark(const unsigned char *bytes, size_t size)
{
    return size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
}

static format tell(const unsigned char *bytes, size_t size)
{
    static const unsigned char charm[4] = {0x10, 0xea, 0xbd, 0xf9};
    size_t at = has_mark(bytes, size) ? 3 : 0;

    if (has_hdf5_signature(bytes, size)) {
        return HDF5_FILE;
    }
    if (size >= sizeof charm && memcmp(bytes, charm, sizeof charm) == 0) {
        return CHARM;
    }
    while (at < size && isspace(bytes[at])) {
        at++;
    }
    if (at < size && bytes[at] == '{') {
        return VT;
    }
    /* WarpX: the first box's columns are at the beginning of the header. */
    return at < size && bytes[at] == '#' && strstr((const char *)bytes, "cost_box_0") != NULL ? BOXES : TEXT;
}

static int look_at(file *f, eqp_message *message)
{
    unsigned char bytes[LOOK + 1];
    FILE *stream = NULL;
    const char *command;
    size_t size;
    bool broken;
    EQP_CHECK(eqp_input_open(f->path, &stream, message));
    errno = 0;
    size = fread(bytes, 1, LOOK, stream);
    broken = ferror(stream) != 0;
    if (broken || size == 0) {
        eqp_message_set(message, "%.250s: %s", f->path, broken ? strerror(errno) : "is empty");
    }
    (void)fclose(stream);
    bytes[size] = '\0';
    f->format = tell(bytes, size);
    command = f->format == TEXT ? unpack_command(f->path, bytes, size) : NULL;
    if (command != NULL) {
        eqp_message_set(message, "%.200s: is compressed; unpack it first: %s FILE >UNPACKED%s", f->path, command,
                        strcmp(command, "brotli -dc") == 0 ? " (or run vt with --vt_lb_data_compress=false)" : "");
        return EQP_ERR_FORMAT;
    }
    if (f->met && size > 0 && f->format == TEXT &&
        !rf_is_table((const char *)bytes + (has_mark(bytes, size) ? 3 : 0))) {
        f->format = STRANGER;
    }
    return broken ? EQP_ERR_IO : size == 0 ? EQP_ERR_FORMAT : EQP_OK;
}

/* State shared by all files of a trace. */
typedef struct spanning {
    rf_keys known; /* Charm++'s objects */
    rf_vt_names names;
} spanning;

static int read_file(rf_build *build, const file *f, int64_t at, spanning *all)
{
    switch (f->format) {
    case BOXES:
        return rf_read_boxes(build, f->path);
    case VT:
        return rf_read_vt(build, f->path, &all->names);
    case HDF5_FILE:
        return rf_read_hdf5(build, f->path);
    case CHARM:
        return rf_read_charm(build, f->path, at, &all->known);
    case TEXT:
    case STRANGER:
    case NFORMATS:
        break;
    }
    return rf_read_text(build, f->path, false);
}

/* Reads a file; skips a file found in a folder that does not belong to the trace. */
static int take_file(rf_build *build, file *f, int64_t at, spanning *all)
{
    int code = f->format == STRANGER ? EQP_ERR_UNKNOWN : read_file(build, f, at, all);

    if (code == EQP_ERR_UNKNOWN && f->met) {
        const char *slash = strrchr(f->path, '/');
        rf_build_note(build, "%.80s is passed over: it is no trace", slash != NULL ? slash + 1 : f->path);
        build->message->text[0] = '\0';
        f->format = STRANGER;
        return EQP_OK;
    }
    return code == EQP_ERR_UNKNOWN ? EQP_ERR_FORMAT : code;
}

static int read_files(rf_build *build, files *f, format *kind, eqp_message *message)
{
    spanning all = {.known = {.more = RF_KEY_WORDS - 1}, .names = {.keys = {.more = RF_KEY_WORDS - 1}}};
    int64_t taken = 0;
    int code = EQP_OK;

    for (int64_t i = 0; i < f->n; i++) {
        file *one = &f->file[i];
        EQP_TRY(look_at(one, message));
        if (taken > 0 && one->format != STRANGER &&
            (one->format != *kind || one->format == BOXES || one->format == HDF5_FILE)) {
            eqp_message_set(message, "%.250s: %s and %s in one trace", one->path, format_name[one->format],
                            one->format == *kind ? "another" : format_name[*kind]);
            EQP_TRY(EQP_ERR_FORMAT);
        }
        EQP_TRY(take_file(build, one, taken, &all));
        *kind = taken == 0 && one->format != STRANGER ? one->format : *kind;
        taken += one->format != STRANGER;
    }
    if (taken == 0) {
        eqp_message_set(message,
                        "%.250s: none of its files is a trace: a table with a header such as 'item,x,y,z,load', "
                        "HDF5, load data of vt, dumps of Charm++, WarpX's LoadBalanceCosts",
                        f->file[0].path);
        EQP_TRY(EQP_ERR_FORMAT);
    }
    EQP_TRY(rf_vt_resolve(build, &all.names));
done:
    rf_keys_free(&all.known);
    rf_vt_names_free(&all.names);
    return code;
}

/* Includes skipped files, so that no output replaces one. */
static int note_sources(const files *f, const char *edges, rf_trace *trace)
{
    struct stat status;

    EQP_CHECK(eqp_array_create(&trace->source, f->n + 1, sizeof *trace->source));
    for (int64_t i = 0; i <= f->n; i++) {
        const char *path = i < f->n ? f->file[i].path : edges;
        if (path != NULL && stat(path, &status) == 0) {
            trace->source[trace->nsources++] = (rf_source){status.st_dev, status.st_ino};
        }
    }
    return EQP_OK;
}

bool rf_trace_reads(const rf_trace *trace, const char *path)
{
    struct stat status;
    const bool there = stat(path, &status) == 0;
    bool found = false;

    for (int64_t i = 0; there && i < trace->nsources && !found; i++) {
        found = trace->source[i].device == status.st_dev && trace->source[i].inode == status.st_ino;
    }
    return found;
}

int rf_trace_read(int n, const char *const *paths, const rf_trace_known *known, rf_trace **trace, eqp_message *message)
{
    rf_build *build = NULL;
    rf_trace *made = NULL;
    files f = {.n = 0};
    format kind = TEXT;
    int code;

    EQP_TRY(rf_build_create(known->phase, message, &build));
    EQP_TRY(list_files(n, paths, &f, message));
    EQP_TRY(read_files(build, &f, &kind, message));
    if (known->edges != NULL) {
        EQP_TRY(rf_read_text(build, known->edges, true));
    }
    EQP_TRY(rf_build_finish(build, format_name[kind], kind == VT || kind == CHARM, known->nranks, &made));
    made->names_are_json = kind == VT;
    EQP_TRY(note_sources(&f, known->edges, made));
    *trace = made;
    made = NULL;
done:
    rf_trace_free(made);
    rf_build_free(build);
    for (int64_t i = 0; i < f.n; i++) {
        free(f.file[i].path);
    }
    free(f.file);
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%.250s: %s", n > 0 ? paths[0] : "?", eqp_error_text(code));
    }
    return code;
}
