/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* asprintf */
#include "run_clashes.h"

#include "output/report.h"
#include <equipoise/more/base.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *app__folder_of(const char *path)
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

typedef struct place {
    const char *what; /* option, or NULL for the input */
    char *path;       /* owned */
} place;

typedef struct place_list {
    int64_t n, capacity;
    place *of; /* [n] owned */
} place_list;

static void list_free(place_list *list)
{
    for (int64_t i = 0; i < list->n; i++) {
        free(list->of[i].path);
    }
    free(list->of);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

bool app_same_inode(const char *a, const char *b)
{
    struct stat first, second;

    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Final target of a path: owned by the caller; NULL without memory. */
static char *end_of(const char *path)
{
    char *target = NULL;

    (void)eqp_output_target(path, &target, NULL);
    return target != NULL ? target : strdup(path);
}

static bool is_device(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISCHR(status.st_mode);
}

/* True if two paths lead to one file, existing (links included) or new. Devices such as /dev/null do not count. */
static bool same_file(const char *a, const char *b)
{
    APP_FREED char *end_a = end_of(a), *end_b = end_of(b);
    APP_FREED char *folder_a = end_a != NULL ? app__folder_of(end_a) : NULL,
                   *folder_b = end_b != NULL ? app__folder_of(end_b) : NULL;

    return !is_device(a) && (app_same_inode(a, b) ||
                             (folder_a != NULL && folder_b != NULL && strcmp(name_of(end_a), name_of(end_b)) == 0 &&
                              app_same_inode(folder_a, folder_b)));
}

static bool is_link(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

/* True for equal names, and for two names of one file that is not a link. */
static bool same_name(const char *a, const char *b)
{
    struct stat first, second;

    return lstat(a, &first) == 0 && lstat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* Parts of a snapshot's name: stem such as snap_007, its number in a set of files if any, and .hdf5. */
typedef struct set_name {
    size_t length; /* of the part common to all files of a set */
    bool numbered;
    const char *ending; /* "" if unknown */
} set_name;

static set_name set_name_of(const app_naming *naming, const char *path)
{
    set_name name = {.length = strlen(path), .ending = ""};
    size_t digits;

    for (int i = 0; naming->ending[i] != NULL && name.ending[0] == '\0'; i++) {
        const size_t ending = strlen(naming->ending[i]);
        if (name.length > ending && strcmp(path + name.length - ending, naming->ending[i]) == 0) {
            name.length -= ending;
            name.ending = naming->ending[i];
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

/* True if an existing file belongs to the input by its name: another file of the same set, or a file with the stem that
 * was given as input. */
static bool of_one_set(const app_naming *naming, const char *path, const char *input)
{
    const set_name name = set_name_of(naming, path), other = set_name_of(naming, input);
    const bool alike = access(input, F_OK) == 0
                           ? name.numbered && other.numbered && strcmp(name.ending, other.ending) == 0
                           : name.numbered || name.ending[0] != '\0';
    APP_FREED char *a = strdup(path), *b = strdup(input);

    if (!alike || a == NULL || b == NULL || access(path, F_OK) != 0) {
        return false;
    }
    a[name.length] = b[other.length] = '\0';
    return same_file(a, b);
}

/* Adds `path` followed by `ending`; nothing if path is NULL. */
static int add_place(place_list *list, const char *what, const char *path, const char *ending)
{
    char *text = NULL;

    if (path == NULL) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_array_reserve(&list->of, &list->capacity, list->n + 1, sizeof *list->of));
    EQP_CHECK(asprintf(&text, "%s%s", path, ending) < 0 ? EQP_ERR_MEMORY : EQP_OK);
    list->of[list->n++] = (place){what, text};
    return EQP_OK;
}

/* Adds files with the output's name and other endings. */
static int add_files(place_list *list, const app__looking *l, const char *const *ending)
{
    for (int i = 0; ending != NULL && ending[i] != NULL; i++) {
        APP_FREED char *name = NULL;
        EQP_CHECK(app_name_with_ending(l->naming, l->run->output, ending[i], &name));
        EQP_CHECK(add_place(list, "--output", name, ""));
    }
    return EQP_OK;
}

static int add_report(place_list *list, const app__looking *l)
{
    static const char *const inside[] = {"",
                                         "/report.json",
                                         "/loads.csv",
                                         "/run.html",
                                         "/samples.bin",
                                         "/traffic.csv",
                                         "/hindsight.csv",
                                         "/compare.csv",
                                         "/phases.csv"};

    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        EQP_CHECK(add_place(list, "--report", l->run->report, inside[i]));
    }
    return EQP_OK;
}

/* True if `path` is the file of that step with that ending. */
static bool is_of_step(const app__looking *l, const char *path, int64_t step, const char *ending)
{
    char *numbered = NULL;
    bool same = false;

    if (app_name_numbered(l->naming, l->run->output, step, ending, &numbered) == EQP_OK) {
        same = same_file(numbered, path);
        free(numbered);
    }
    return same;
}

/* Step in a numbered name of the output's series; -1 for other names. */
static int64_t step_in_series(const app__looking *l, const char *path)
{
    const char *digits = strrchr(path, '_');
    const char *const *each = l->naming->each;
    int64_t step = 0;
    bool same;

    for (const char *d = digits == NULL ? "" : digits + 1; *d >= '0' && *d <= '9' && step < INT64_MAX / 20; d++) {
        step = 10 * step + (*d - '0');
    }
    same = is_of_step(l, path, step, l->naming->numbered);
    for (int i = 0; each != NULL && each[i] != NULL && !same; i++) {
        same = is_of_step(l, path, step, each[i]);
    }
    return same ? step : -1;
}

/* True if a run from step 0, or a restart, may write a numbered snapshot of that name. */
static bool is_numbered(const app__looking *l, const char *path)
{
    const app_run_settings *run = l->run;
    int64_t step = run->output == NULL || run->output_every == 0 ? -1 : step_in_series(l, path);

    return step > 0 && step <= run->steps && (step % run->output_every == 0 || step == run->steps);
}

/* Adds numbered names that are links, since the run writes to their targets. */
static int add_links(place_list *list, const app__looking *l)
{
    const char *input = app_run_input_path(l->run);
    char *folder = app__folder_of(l->run->output), *path = NULL;
    DIR *dir = folder == NULL ? NULL : opendir(folder);
    const struct dirent *entry;
    int code = folder == NULL ? EQP_ERR_MEMORY : EQP_OK;

    while (code == EQP_OK && dir != NULL && (entry = readdir(dir)) != NULL) {
        code = asprintf(&path, "%s/%s", folder, entry->d_name) < 0 ? EQP_ERR_MEMORY : EQP_OK;
        if (code == EQP_OK) {
            /* A run that continues from one of them writes only later ones. */
            if (is_link(path) && is_numbered(l, path) && (l->run->restart == NULL || !same_name(path, input))) {
                code = add_place(list, "--output", path, "");
            }
            free(path);
        }
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    free(folder);
    return code;
}

static int add_output(place_list *list, const app__looking *l)
{
    if (l->run->output == NULL) {
        return EQP_OK;
    }
    if (l->run->output_every == 0) {
        EQP_CHECK(add_place(list, "--output", l->run->output, ""));
        EQP_CHECK(add_files(list, l, l->naming->each));
    } else {
        EQP_CHECK(add_links(list, l));
    }
    return add_files(list, l, l->naming->once);
}

static int find_clash(const app__looking *l, const place_list *list)
{
    const place *input = list->n > 0 && list->of[0].what == NULL ? &list->of[0] : NULL;

    for (int64_t i = 0; i < list->n; i++) {
        const place *a = &list->of[i];
        /* A run that continues from a snapshot of its own series writes only later ones. */
        const bool of_output = a != input && strcmp(a->what, "--output") == 0;
        bool numbered = !of_output && (a != input || l->run->restart == NULL) && is_numbered(l, a->path);
        APP_REFUSE_IF(numbered && a != input, l->message, EQP_ERR_ARGUMENT,
                      "%s: --output and %s: %s: one file cannot be both", l->program, a->what, a->path);
        APP_REFUSE_IF(numbered || (input != NULL && a != input &&
                                   (same_file(a->path, input->path) || of_one_set(l->naming, a->path, input->path))),
                      l->message, EQP_ERR_ARGUMENT, "%s: %s: the input would be overwritten", l->program, input->path);
        for (int64_t k = 0; k < i; k++) {
            const place *b = &list->of[k];
            APP_REFUSE_IF(b != input && strcmp(a->what, b->what) != 0 && same_file(a->path, b->path), l->message,
                          EQP_ERR_ARGUMENT, "%s: %s and %s: %s: one file cannot be both", l->program, b->what, a->what,
                          a->path);
        }
    }
    return EQP_OK;
}

static int list_places(const app__looking *l, place_list *list)
{
    EQP_CHECK(add_place(list, NULL, app_run_input_path(l->run), ""));

    EQP_CHECK(add_output(list, l));
    EQP_CHECK(add_place(list, "--forces", l->run->forces, ""));
    EQP_CHECK(add_place(list, "--map", l->run->map, ""));
    EQP_CHECK(add_place(list, "--network", l->run->network.file, ""));
    return add_report(list, l);
}

int app__check_clashes(const app__looking *l)
{
    place_list list = {0};
    int code = list_places(l, &list);

    code = code == EQP_OK ? find_clash(l, &list) : code;
    list_free(&list);
    return code;
}

int app_places_spare(const char *program, const app_run_settings *run, const app_naming *naming,
                     bool (*reads)(const void *user, const char *path), const void *user, eqp_message *message)
{
    const app__looking l = {program, run, naming, message};
    place_list list = {0};
    int code;

    EQP_TRY(list_places(&l, &list));
    for (int64_t i = 0; i < list.n; i++) {
        if (list.of[i].what != NULL && reads(user, list.of[i].path)) {
            eqp_message_set(message, "%s: %s: the input would be overwritten", program, list.of[i].path);
            EQP_TRY(EQP_ERR_ARGUMENT);
        }
    }
done:
    list_free(&list);
    return code;
}

bool app__leads_to_another(const app__looking *l, const char *name)
{
    place_list list = {0};
    bool taken = is_link(name) && is_numbered(l, name);

    if (is_link(name) && list_places(l, &list) == EQP_OK) {
        for (int64_t i = 0; i < list.n && !taken; i++) {
            /* A run that continues from its restart file may replace it. */
            taken = same_file(list.of[i].path, name) && (list.of[i].what != NULL || !same_name(list.of[i].path, name));
        }
    }
    list_free(&list);
    return taken;
}
