/* SPDX-License-Identifier: BSD-3-Clause */
#include "places.h"

#include "output.h"

#include <equipoise/par.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The folder that a path is in: owned by the caller, NULL without memory. */
static char *folder_of(const char *path)
{
    size_t length = strlen(path);
    char *folder = malloc(length + 2);

    if (folder == NULL) {
        return NULL;
    }
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    memcpy(folder, path, length);
    strcpy(folder + length, length == 0 ? "." : "");
    return folder;
}

static int check_file(const char *option, const char *path, eqp_message *message)
{
    char *folder = path == NULL ? NULL : folder_of(path);
    int code = EQP_OK;

    if (path == NULL) {
        return EQP_OK;
    }
    if (folder == NULL) {
        return EQP_ERR_MEMORY;
    }
    if (is_folder(path)) {
        eqp_message_set(message, "barneshut: --%s: %s: is a directory", option, path);
        code = EQP_ERR_IO;
    } else if (!is_folder(folder) || access(folder, W_OK) != 0) {
        eqp_message_set(message, "barneshut: --%s: %s: cannot write to folder %s", option, path, folder);
        code = EQP_ERR_IO;
    }
    free(folder);
    return code;
}

/* A report's folder is made with those above it: the nearest one that is there must take it. */
static int check_report(const char *path, eqp_message *message)
{
    char *at = path == NULL ? NULL : folder_of(path);
    int code = EQP_OK;

    if (path == NULL) {
        return EQP_OK;
    }
    if (is_folder(path)) {
        free(at);
        at = NULL;
        code = access(path, W_OK) == 0 ? EQP_OK : EQP_ERR_IO;
    } else if (access(path, F_OK) == 0) {
        code = EQP_ERR_IO;
    }
    while (code == EQP_OK && at != NULL && access(at, F_OK) != 0) {
        char *above = folder_of(at);
        free(at);
        at = above;
    }
    if (code == EQP_OK && at != NULL && (!is_folder(at) || access(at, W_OK) != 0)) {
        code = EQP_ERR_IO;
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "barneshut: --report: %s: cannot make this folder or write to it", path);
    }
    free(at);
    return code;
}

/* A file that a run reads or writes. */
typedef struct place {
    const char *what; /* option, or NULL for the input */
    char *path;       /* owned */
} place;

/* One file and its temporary of every kind: those of --output, its XDMF, --forces, and what a report consists of. */
enum { MOST_PLACES = 24 };

typedef struct place_list {
    int n;
    place of[MOST_PLACES];
} place_list;

static void list_free(place_list *list)
{
    for (int i = 0; i < list->n; i++) {
        free(list->of[i].path);
    }
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static bool same_inode(const char *a, const char *b)
{
    struct stat first, second;

    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Whether two paths lead to one file, be it there already (perhaps by links) or still to be made. */
static bool same_file(const char *a, const char *b)
{
    char *folder_a = folder_of(a), *folder_b = folder_of(b);
    bool same = same_inode(a, b);

    if (folder_a != NULL && folder_b != NULL && strcmp(name_of(a), name_of(b)) == 0) {
        same = same || same_inode(folder_a, folder_b);
    }
    free(folder_a);
    free(folder_b);
    return same;
}

/* The parts of a snapshot's name: snap_007, its number among several files, if it has one, and .hdf5. */
typedef struct set_name {
    size_t length; /* of what the files of one set have in common */
    bool numbered;
    const char *ending; /* "" if it has none that is known */
} set_name;

static set_name set_name_of(const char *path)
{
    static const char *const endings[] = {".hdf5", ".h5"};
    set_name name = {.length = strlen(path), .ending = ""};
    size_t digits;

    for (int i = 0; i < 2 && name.ending[0] == '\0'; i++) {
        const size_t ending = strlen(endings[i]);
        if (name.length > ending && strcmp(path + name.length - ending, endings[i]) == 0) {
            name.length -= ending;
            name.ending = endings[i];
        }
    }
    digits = name.length;
    while (digits > 0 && path[digits - 1] >= '0' && path[digits - 1] <= '9') {
        digits--;
    }
    name.numbered = digits > 1 && digits < name.length && path[digits - 1] == '.';
    name.length = name.numbered ? digits - 1 : name.length;
    return name;
}

/* Whether an existing file is, by its name, one of those that the input consists of: another file of a set, or what is
 * found where the input gives only what the names have in common. */
static bool of_one_set(const char *path, const char *input)
{
    const set_name name = set_name_of(path), other = set_name_of(input);
    const bool alike = access(input, F_OK) == 0
                           ? name.numbered && other.numbered && strcmp(name.ending, other.ending) == 0
                           : name.numbered || name.ending[0] != '\0';
    char *a = strdup(path), *b = strdup(input);
    bool same = false;

    if (alike && a != NULL && b != NULL && access(path, F_OK) == 0) {
        a[name.length] = b[other.length] = '\0';
        same = same_file(a, b);
    }
    free(a);
    free(b);
    return same;
}

/* Adds `path` and `ending` put together; where path is NULL, nothing. */
static int add_place(place_list *list, const char *what, const char *path, const char *ending)
{
    char *text = path == NULL ? NULL : malloc(strlen(path) + strlen(ending) + 1);

    if (text != NULL) {
        list->of[list->n++] = (place){what, strcat(strcpy(text, path), ending)};
    }
    return path == NULL || text != NULL ? EQP_OK : EQP_ERR_MEMORY;
}

/* Everything is written under a temporary name first. */
static int add_both(place_list *list, const char *what, const char *path)
{
    int code = add_place(list, what, path, "");
    return code == EQP_OK ? add_place(list, what, path, ".part") : code;
}

static int add_output(place_list *list, const bh_settings *s)
{
    char *xdmf = NULL;
    int code = s->run.output == NULL ? EQP_OK : bh_series_xdmf(s->run.output, &xdmf);

    if (code == EQP_OK && s->run.output_every == 0) {
        code = add_both(list, "--output", s->run.output);
    }
    code = code == EQP_OK ? add_both(list, "--output", xdmf) : code;
    free(xdmf);
    return code;
}

static int add_report(place_list *list, const bh_settings *s)
{
    static const char *const inside[] = {"",           "/report.json",   "/loads.csv",     "/loads.png",
                                         "/loads.svg", "/imbalance.png", "/imbalance.svg", "/plots.gp"};
    int code = EQP_OK;

    for (size_t i = 0; i < sizeof inside / sizeof inside[0] && code == EQP_OK; i++) {
        code = add_place(list, "--report", s->run.report, inside[i]);
    }
    return code;
}

/* The step in a numbered name of the series `output`; -1 for other names. */
static int64_t step_in_series(const char *path, const char *output)
{
    const char *digits = strrchr(path, '_');
    int64_t step = 0;
    char *numbered = NULL;
    bool same = false;

    for (const char *d = digits == NULL ? "" : digits + 1; *d >= '0' && *d <= '9' && step < INT64_MAX / 20; d++) {
        step = 10 * step + (*d - '0');
    }
    if (bh_series_path(output, step, &numbered) == EQP_OK) {
        same = same_file(numbered, path);
        free(numbered);
    }
    return same ? step : -1;
}

/* Whether a run that begins at step 0 writes a numbered snapshot of that name, or for a restart may do so. */
static bool is_numbered(const char *path, const bh_settings *s)
{
    int64_t step = s->run.output == NULL || s->run.output_every == 0 ? -1 : step_in_series(path, s->run.output);

    return step > 0 && step <= s->run.steps && (step % s->run.output_every == 0 || step == s->run.steps);
}

static int find_clash(const place_list *list, const bh_settings *s, eqp_message *message)
{
    const place *input = list->n > 0 && list->of[0].what == NULL ? &list->of[0] : NULL;

    for (int i = 0; i < list->n; i++) {
        const place *a = &list->of[i];
        /* A run that goes on from a snapshot of its own series writes the later ones. */
        bool numbered = a == input ? s->run.restart == NULL && is_numbered(a->path, s) : is_numbered(a->path, s);
        if (numbered && a != input) {
            eqp_message_set(message, "barneshut: --output and %s: %s: one file cannot be both", a->what, a->path);
            return EQP_ERR_ARGUMENT;
        }
        if (numbered ||
            (input != NULL && a != input && (same_file(a->path, input->path) || of_one_set(a->path, input->path)))) {
            eqp_message_set(message, "barneshut: %s: the input would be overwritten", input->path);
            return EQP_ERR_ARGUMENT;
        }
        for (int k = 0; k < i; k++) {
            const place *b = &list->of[k];
            if (b != input && strcmp(a->what, b->what) != 0 && same_file(a->path, b->path)) {
                eqp_message_set(message, "barneshut: %s and %s: %s: one file cannot be both", b->what, a->what,
                                a->path);
                return EQP_ERR_ARGUMENT;
            }
        }
    }
    return EQP_OK;
}

static int check_clashes(const bh_settings *s, eqp_message *message)
{
    place_list list = {0};
    int code = add_place(&list, NULL, s->run.snapshot != NULL ? s->run.snapshot : s->run.restart, "");

    code = code == EQP_OK ? add_output(&list, s) : code;
    code = code == EQP_OK ? add_both(&list, "--forces", s->run.forces) : code;
    code = code == EQP_OK ? add_report(&list, s) : code;
    code = code == EQP_OK ? find_clash(&list, s, message) : code;
    list_free(&list);
    return code;
}

int bh_places_check(MPI_Comm comm, const bh_settings *settings, eqp_message *message)
{
    int rank, code = EQP_OK;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        code = check_clashes(settings, message);
        code = code == EQP_OK ? check_file("output", settings->run.output, message) : code;
        code = code == EQP_OK ? check_file("forces", settings->run.forces, message) : code;
        code = code == EQP_OK ? check_report(settings->run.report, message) : code;
    }
    return eqp_agree(comm, code, message);
}
