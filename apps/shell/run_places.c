/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_files.h"
#include "signals.h"

#include "output/report.h"
#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/snapshot.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run as far as its files are concerned. */
typedef struct looking {
    const char *program;
    const app_run_settings *run;
    const app_naming *naming;
    eqp_message *message;
} looking;

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

static int check_file(const looking *l, const char *option, const char *path)
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
        eqp_message_set(l->message, "%s: --%s: %s: is a directory", l->program, option, path);
        code = EQP_ERR_IO;
    } else if (!is_folder(folder) || access(folder, W_OK) != 0) {
        eqp_message_set(l->message, "%s: --%s: %s: cannot write to folder %s", l->program, option, path, folder);
        code = EQP_ERR_IO;
    }
    free(folder);
    return code;
}

/* A report's folder is made with those above it: the nearest one that is there must take it. */
static int check_report(const looking *l)
{
    const char *path = l->run->report;
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
        eqp_message_set(l->message, "%s: --report: %s: cannot make this folder or write to it", l->program, path);
    }
    free(at);
    return code;
}

/* A file that a run reads or writes. */
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

/* Whether an existing file is, by its name, one of those that the input consists of: another file of a set, or what is
 * found where the input gives only what the names have in common. */
static bool of_one_set(const app_naming *naming, const char *path, const char *input)
{
    const set_name name = set_name_of(naming, path), other = set_name_of(naming, input);
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
    int code = path == NULL || text != NULL ? EQP_OK : EQP_ERR_MEMORY;

    if (text != NULL) {
        code = eqp_array_reserve(&list->of, &list->capacity, list->n + 1, sizeof *list->of);
    }
    if (text != NULL && code == EQP_OK) {
        list->of[list->n++] = (place){what, strcat(strcpy(text, path), ending)};
        text = NULL;
    }
    free(text);
    return code;
}

/* The files that have the output's name with other endings. */
static int add_beside(place_list *list, const looking *l, const char *const *ending)
{
    int code = EQP_OK;

    for (int i = 0; ending != NULL && ending[i] != NULL && code == EQP_OK; i++) {
        char *name = NULL;
        code = app_name_beside(l->naming, l->run->output, ending[i], &name);
        code = code == EQP_OK ? add_place(list, "--output", name, "") : code;
        free(name);
    }
    return code;
}

static int add_output(place_list *list, const looking *l)
{
    int code = EQP_OK;

    if (l->run->output == NULL) {
        return EQP_OK;
    }
    if (l->run->output_every == 0) {
        code = add_place(list, "--output", l->run->output, "");
        code = code == EQP_OK ? add_beside(list, l, l->naming->each) : code;
    }
    return code == EQP_OK ? add_beside(list, l, l->naming->beside) : code;
}

static int add_report(place_list *list, const looking *l)
{
    static const char *const inside[] = {"",           "/report.json",   "/loads.csv",     "/loads.png",
                                         "/loads.svg", "/imbalance.png", "/imbalance.svg", "/plots.gp",
                                         "/run.html",  "/samples.bin",   "/traffic.csv",   "/hindsight.csv"};
    int code = EQP_OK;

    for (size_t i = 0; i < sizeof inside / sizeof inside[0] && code == EQP_OK; i++) {
        code = add_place(list, "--report", l->run->report, inside[i]);
    }
    return code;
}

/* Whether `path` is the file of that step with that ending. */
static bool is_of_step(const looking *l, const char *path, int64_t step, const char *ending)
{
    char *numbered = NULL;
    bool same = false;

    if (app_name_numbered(l->naming, l->run->output, step, ending, &numbered) == EQP_OK) {
        same = same_file(numbered, path);
        free(numbered);
    }
    return same;
}

/* The step in a numbered name of the output's series; -1 for other names. */
static int64_t step_in_series(const looking *l, const char *path)
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

/* Whether a run that begins at step 0 writes a numbered snapshot of that name, or for a restart may do so. */
static bool is_numbered(const looking *l, const char *path)
{
    const app_run_settings *run = l->run;
    int64_t step = run->output == NULL || run->output_every == 0 ? -1 : step_in_series(l, path);

    return step > 0 && step <= run->steps && (step % run->output_every == 0 || step == run->steps);
}

static int find_clash(const looking *l, const place_list *list)
{
    const place *input = list->n > 0 && list->of[0].what == NULL ? &list->of[0] : NULL;

    for (int64_t i = 0; i < list->n; i++) {
        const place *a = &list->of[i];
        /* A run that goes on from a snapshot of its own series writes the later ones. */
        bool numbered = a == input ? l->run->restart == NULL && is_numbered(l, a->path) : is_numbered(l, a->path);
        if (numbered && a != input) {
            eqp_message_set(l->message, "%s: --output and %s: %s: one file cannot be both", l->program, a->what,
                            a->path);
            return EQP_ERR_ARGUMENT;
        }
        if (numbered || (input != NULL && a != input &&
                         (same_file(a->path, input->path) || of_one_set(l->naming, a->path, input->path)))) {
            eqp_message_set(l->message, "%s: %s: the input would be overwritten", l->program, input->path);
            return EQP_ERR_ARGUMENT;
        }
        for (int64_t k = 0; k < i; k++) {
            const place *b = &list->of[k];
            if (b != input && strcmp(a->what, b->what) != 0 && same_file(a->path, b->path)) {
                eqp_message_set(l->message, "%s: %s and %s: %s: one file cannot be both", l->program, b->what, a->what,
                                a->path);
                return EQP_ERR_ARGUMENT;
            }
        }
    }
    return EQP_OK;
}

static int check_clashes(const looking *l)
{
    place_list list = {0};
    int code = add_place(&list, NULL, app_run_input_path(l->run), "");

    code = code == EQP_OK ? add_output(&list, l) : code;
    code = code == EQP_OK ? add_place(&list, "--forces", l->run->forces, "") : code;
    code = code == EQP_OK ? add_report(&list, l) : code;
    code = code == EQP_OK ? find_clash(l, &list) : code;
    list_free(&list);
    return code;
}

/* target: what the lock is for. */
static int take_lock(const looking *l, const char *option, const char *target, const char *path, app_places *places)
{
    eqp_message inner = {""};
    int code;

    /* Two of this run's own names may have one lock. */
    for (int i = 0; i < places->nlocks; i++) {
        if (same_inode(path, places->path[i])) {
            return EQP_OK;
        }
    }
    code = eqp_lock_take(path, l->program, &places->lock[places->nlocks], &inner);
    if (code != EQP_OK) {
        eqp_message_set(l->message, "%s: %s: %s: %s", l->program, option, target, inner.text);
        return code;
    }
    places->path[places->nlocks] = strdup(path);
    return places->path[places->nlocks++] == NULL ? EQP_ERR_MEMORY : EQP_OK;
}

/* The stem of a name: locked, and clear of what dead runs have left. */
static int take_stem(const looking *l, const char *option, const char *path, app_places *places)
{
    char *stem = NULL, *lock = NULL;
    int code = EQP_OK;

    if (path == NULL) {
        return EQP_OK;
    }
    EQP_TRY(app_name_beside(l->naming, path, "", &stem));
    EQP_TRY(app_name_beside(l->naming, path, ".lock", &lock));
    EQP_TRY(take_lock(l, option, path, lock, places));
    eqp_output_sweep(stem);
done:
    free(lock);
    free(stem);
    return code == EQP_ERR_STATE ? EQP_ERR_IO : code;
}

/* The report's folder is made now, since its lock lies in it; a run that leaves nothing there takes it away again. */
static int take_report(const looking *l, app_places *places)
{
    const char *report = l->run->report;
    char *at = NULL, *inside = NULL;
    int code = EQP_OK;

    if (report == NULL) {
        return EQP_OK;
    }
    EQP_TRY(eqp_array_create(&inside, (int64_t)strlen(report) + 16, 1));
    places->made = strdup(report);
    for (at = strdup(report); at != NULL && access(at, F_OK) != 0; places->nmade++) {
        char *above = folder_of(at);
        free(at);
        at = above;
    }
    free(at);
    EQP_TRY(eqp_report_directory(report, l->message));
    strcat(strcpy(inside, report), "/");
    eqp_output_sweep(inside);
    EQP_TRY(take_lock(l, "--report", report, strcat(inside, "report.lock"), places));
done:
    free(inside);
    return code == EQP_ERR_STATE ? EQP_ERR_IO : code;
}

/* Name number i of a restart file: runs side by side in one folder have one each. */
static void name_restart(const char *restart, int i, char name[APP_RESTART_NAME])
{
    const char *ending = strrchr(restart, '.');
    char number[16] = "";

    if (i > 0) {
        snprintf(number, sizeof number, "-%d", i + 1);
    }
    snprintf(name, APP_RESTART_NAME, "%.*s%s%s", (int)(ending - restart), restart, number, ending);
}

/* The lock of name number i, and in `name` the stem. */
static void name_restart_lock(const char *restart, int i, char name[APP_RESTART_NAME], char lock[APP_RESTART_NAME + 8])
{
    name_restart(restart, i, name);
    *strrchr(name, '.') = '\0';
    snprintf(lock, APP_RESTART_NAME + 8, "%s.lock", name);
}

/* A folder that takes no files matters only if there will be a signal. */
static int take_restart(const looking *l, const char *restart, app_places *places, int *number)
{
    const looking quiet = {l->program, l->run, l->naming, NULL};
    char name[APP_RESTART_NAME], lock[APP_RESTART_NAME + 8];
    int code = EQP_ERR_STATE;

    for (int i = 0; i < 1000 && code == EQP_ERR_STATE; i++) {
        name_restart_lock(restart, i, name, lock);
        code = take_lock(&quiet, "restart file", restart, lock, places);
        *number = i;
    }
    if (code == EQP_OK) {
        eqp_output_sweep(name);
    }
    /* Dead runs may have left locks of higher numbers, which nobody else would ever take. */
    for (int i = *number + 1; i < *number + 10; i++) {
        eqp_lock *stale = NULL;
        name_restart_lock(restart, i, name, lock);
        if (access(lock, F_OK) == 0 && eqp_lock_take(lock, l->program, &stale, NULL) == EQP_OK) {
            eqp_lock_free(stale);
        }
    }
    return code == EQP_ERR_STATE || code == EQP_ERR_IO ? EQP_OK : code;
}

static bool is_hdf5(const char *name)
{
    const char *ending = name == NULL ? NULL : strrchr(name, '.');

    return ending != NULL && strcmp(ending, ".hdf5") == 0;
}

/* A build may be without HDF5. */
static int check_hdf5(const looking *l)
{
    const char *path = l->run->forces != NULL ? l->run->forces : l->run->output;

    if (eqp_snapshot_writable() || path == NULL || (path == l->run->output && !is_hdf5(l->naming->numbered))) {
        return EQP_OK;
    }
    eqp_message_set(l->message, "%s: --%s: %s: this build is without HDF5", l->program,
                    path == l->run->forces ? "forces" : "output", path);
    return EQP_ERR_UNKNOWN;
}

static int check_all(const looking *l)
{
    int code = check_clashes(l);

    code = code == EQP_OK ? check_hdf5(l) : code;
    code = code == EQP_OK ? check_file(l, "output", l->run->output) : code;
    code = code == EQP_OK ? check_file(l, "forces", l->run->forces) : code;
    return code == EQP_OK ? check_report(l) : code;
}

int app_places_take(MPI_Comm comm, const char *program, const app_run_settings *run, const app_naming *naming,
                    const char *restart, app_places *places, eqp_message *message)
{
    const looking l = {program, run, naming, message};
    int rank, number = 0, code = EQP_OK;

    *places = (app_places){.nlocks = 0};
    MPI_Comm_rank(comm, &rank);
    app_signals_keep();
    if (rank == 0) {
        code = check_all(&l);
        code = code == EQP_OK ? take_stem(&l, "--output", run->output, places) : code;
        code = code == EQP_OK ? take_stem(&l, "--forces", run->forces, places) : code;
        code = code == EQP_OK ? take_report(&l, places) : code;
        code = code == EQP_OK && restart != NULL ? take_restart(&l, restart, places, &number) : code;
    }
    code = eqp_agree(comm, code, message);
    if (code == EQP_OK) {
        MPI_Bcast(&number, 1, MPI_INT, 0, comm);
        if (restart != NULL) {
            name_restart(restart, number, places->restart);
        }
        app_signals_clear_away(places->nlocks, places->path, places->nmade > 0 ? places->made : NULL);
        app_signals_expendable();
    } else {
        app_places_free(places);
    }
    return code;
}

void app_places_free(app_places *places)
{
    app_signals_keep();
    app_signals_clear_away(0, NULL, NULL);
    for (int i = 0; i < places->nlocks; i++) {
        eqp_lock_free(places->lock[i]);
        free(places->path[i]);
    }
    for (int i = 0; i < places->nmade && places->made != NULL && rmdir(places->made) == 0; i++) {
        char *above = folder_of(places->made);
        free(places->made);
        places->made = above;
    }
    free(places->made);
    *places = (app_places){.nlocks = 0};
}
