/* SPDX-License-Identifier: BSD-3-Clause */
/* Which files a trace consists of, and which reader each is for. */
#include "build.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK = 4096 };

typedef enum format { TEXT, BOXES, VT, HDF5_FILE, CHARM, NFORMATS } format;
static const char *const format_name[NFORMATS] = {[TEXT] = "table",
                                                  [BOXES] = "WarpX LoadBalanceCosts",
                                                  [VT] = "vt load data",
                                                  [HDF5_FILE] = "HDF5",
                                                  [CHARM] = "Charm++ LBDump"};

typedef struct files {
    int64_t n, room;
    char **path; /* owned */
} files;

static void files_free(files *f)
{
    for (int64_t i = 0; i < f->n; i++) {
        free(f->path[i]);
    }
    free(f->path);
}

static int add_file(files *f, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    int code;

    EQP_TRY(eqp_array_reserve(&f->path, &f->room, f->n + 1, sizeof *f->path));
    EQP_TRY(eqp_array_create(&f->path[f->n], (int64_t)size, 1));
    (void)snprintf(f->path[f->n++], size, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
done:
    return code;
}

/* Numbers in names count as numbers, as far as their lengths say: data.2.json before data.10.json. */
static int by_name(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const size_t nx = strlen(x), ny = strlen(y);

    return nx != ny ? (nx > ny) - (nx < ny) : strcmp(x, y);
}

static bool is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static int add_folder(files *f, const char *folder, eqp_message *message)
{
    const int64_t before = f->n;
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    int code = EQP_OK;

    if (dir == NULL) {
        eqp_message_set(message, "%.250s: %s", folder, strerror(errno));
        return EQP_ERR_IO;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] != '.') {
            EQP_TRY(add_file(f, folder, entry->d_name));
            if (!is_file(f->path[f->n - 1])) {
                free(f->path[--f->n]);
            }
        }
    }
    if (f->n == before) {
        eqp_message_set(message, "%.250s: a folder without files", folder);
        EQP_TRY(EQP_ERR_DATA);
    }
    qsort(f->path + before, (size_t)(f->n - before), sizeof *f->path, by_name);
done:
    (void)closedir(dir);
    return code;
}

static int list_files(int n, const char *const *paths, files *f, eqp_message *message)
{
    struct stat status;
    int code = EQP_OK;

    for (int i = 0; i < n; i++) {
        if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            EQP_TRY(add_folder(f, paths[i], message));
        } else {
            EQP_TRY(add_file(f, "", paths[i]));
        }
    }
done:
    return code;
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

static format tell(const unsigned char *bytes, size_t size)
{
    static const unsigned char charm[4] = {0x10, 0xea, 0xbd, 0xf9};
    size_t at = 0;

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
    /* WarpX: the first box's columns stand at the very beginning. */
    return at < size && bytes[at] == '#' && strstr((const char *)bytes, "cost_box_0") != NULL ? BOXES : TEXT;
}

static int look_at(const char *path, format *found, eqp_message *message)
{
    unsigned char bytes[LOOK + 1];
    FILE *stream = fopen(path, "rb");
    size_t size;
    bool broken;

    if (stream == NULL) {
        eqp_message_set(message, "%.250s: %s", path, strerror(errno));
        return EQP_ERR_IO;
    }
    errno = 0;
    size = fread(bytes, 1, LOOK, stream);
    broken = ferror(stream) != 0;
    if (broken || size == 0) {
        eqp_message_set(message, "%.250s: %s", path, broken ? strerror(errno) : "is empty");
    }
    (void)fclose(stream);
    bytes[size] = '\0';
    *found = tell(bytes, size);
    return broken ? EQP_ERR_IO : size == 0 ? EQP_ERR_FORMAT : EQP_OK;
}

static int read_file(rf_build *build, format found, const char *path, int64_t at, rf_keys *known, eqp_message *message)
{
    switch (found) {
    case BOXES:
        return rf_read_boxes(build, path, message);
    case VT:
        return rf_read_vt(build, path, message);
    case HDF5_FILE:
        return rf_read_hdf5(build, path, message);
    case CHARM:
        return rf_read_charm(build, path, at, known, message);
    case TEXT:
    case NFORMATS:
        break;
    }
    return rf_read_text(build, path, false, message);
}

static int read_files(rf_build *build, const files *f, format *kind, eqp_message *message)
{
    rf_keys known = {.n = 0};
    format found;
    int code = EQP_OK;

    for (int64_t i = 0; i < f->n; i++) {
        EQP_TRY(look_at(f->path[i], &found, message));
        *kind = i == 0 ? found : *kind;
        if (found != *kind || (i > 0 && (found == BOXES || found == HDF5_FILE))) {
            eqp_message_set(message, "%.250s: %s beside %s: not one trace", f->path[i], format_name[found],
                            found == *kind ? "another" : format_name[*kind]);
            EQP_TRY(EQP_ERR_FORMAT);
        }
        EQP_TRY(read_file(build, found, f->path[i], i, &known, message));
    }
done:
    rf_keys_free(&known);
    return code;
}

int rf_trace_read(int n, const char *const *paths, const char *edges, int64_t wanted, rf_trace **trace,
                  eqp_message *message)
{
    rf_build *build = NULL;
    rf_trace *made = NULL;
    files f = {.n = 0};
    format kind = TEXT;
    int code;

    EQP_TRY(rf_build_create(wanted, &build));
    EQP_TRY(list_files(n, paths, &f, message));
    EQP_TRY(read_files(build, &f, &kind, message));
    if (edges != NULL) {
        EQP_TRY(rf_read_text(build, edges, true, message));
    }
    EQP_TRY(rf_build_finish(build, format_name[kind], kind == VT || kind == CHARM, &made, message));
    made->names_are_json = kind == VT;
    *trace = made;
done:
    rf_build_free(build);
    files_free(&f);
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%.250s: %s", n > 0 ? paths[0] : "?", eqp_error_text(code));
    }
    return code;
}
