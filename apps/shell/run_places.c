/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_clashes.h"
#include "signals.h"

#include "output/report.h"
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/snapshot.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Replaces a path by the nearest existing folder above it; returns the number of steps. NULL without memory. */
static int climb(char **at)
{
    int steps = 0;

    for (; *at != NULL && access(*at, F_OK) != 0; steps++) {
        char *above = app__folder_of(*at);
        free(*at);
        *at = above;
    }
    return steps;
}

/* Checks that an output can be written: the pipe or device itself, or the folder of a file. */
static int check_file(const app__looking *l, const char *option, const char *path, bool several)
{
    APP_FREED char *target = NULL, *folder = NULL;
    eqp_message inner = {""};

    if (path == NULL) {
        return EQP_OK;
    }
    const int code = eqp_output_target(path, &target, &inner);
    APP_REFUSE_IF(code != EQP_OK, l->message, code, "%s: --%s: %s", l->program, option, inner.text);
    APP_REFUSE_IF(target == NULL && (several || access(path, W_OK) != 0), l->message, EQP_ERR_IO, "%s: --%s: %s: %s",
                  l->program, option, path,
                  several ? "is not a regular file, and the output is several files" : "cannot be written");
    folder = target == NULL ? NULL : app__folder_of(target);
    EQP_CHECK(target != NULL && folder == NULL ? EQP_ERR_MEMORY : EQP_OK);
    APP_REFUSE_IF(target != NULL && (!is_folder(folder) || access(folder, W_OK) != 0), l->message, EQP_ERR_IO,
                  "%s: --%s: %s: cannot write to folder %s", l->program, option, path, folder);
    return EQP_OK;
}

/* Folder of --report, or the target of a link to a folder that does not exist yet. Owned by the caller; NULL without
 * memory. */
static char *report_folder(const char *path)
{
    char *target = NULL;

    if (is_folder(path) || eqp_output_target(path, &target, NULL) != EQP_OK || target == NULL) {
        target = strdup(path);
    }
    return target;
}

/* A report's folder is made with its parents, so the nearest existing one must be writable. */
static int check_report(const app__looking *l)
{
    const char *report = l->run->report;
    APP_FREED char *at = report == NULL ? NULL : report_folder(report);

    EQP_CHECK(report != NULL && at == NULL ? EQP_ERR_MEMORY : EQP_OK);
    climb(&at);
    APP_REFUSE_IF(at != NULL && (!is_folder(at) || access(at, W_OK) != 0), l->message, EQP_ERR_IO,
                  "%s: --report: %s: cannot make this folder or write to it", l->program, report);
    return EQP_OK;
}

static int take_lock(const app__looking *l, const char *option, const char *target, const char *path,
                     app_places *places)
{
    eqp_message inner = {""};
    int code;

    /* Two names of this run may share a lock. */
    for (int i = 0; i < places->nlocks; i++) {
        if (app_same_inode(path, places->path[i])) {
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

static int take_stem(const app__looking *l, const char *option, const char *path, const char *name, app_places *places)
{
    APP_FREED char *stem = NULL, *lock = NULL;

    EQP_CHECK(app_name_with_ending(l->naming, name, "", &stem));
    EQP_CHECK(app_name_with_ending(l->naming, name, ".lock", &lock));
    const int code = take_lock(l, option, path, lock, places);
    EQP_CHECK(code == EQP_ERR_STATE ? EQP_ERR_IO : code);
    eqp_output_sweep(stem);
    return EQP_OK;
}

/* Locks the name itself and, if it is a link, the name of its target. Pipes and devices are not locked. */
static int take_stems(const app__looking *l, const char *option, const char *path, app_places *places)
{
    APP_FREED char *target = NULL;

    if (path == NULL) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_output_target(path, &target, l->message));
    if (target != NULL) {
        EQP_CHECK(take_stem(l, option, path, path, places));
        EQP_CHECK(strcmp(target, path) != 0 ? take_stem(l, option, path, target, places) : EQP_OK);
    }
    return EQP_OK;
}

/* Makes the report's folder now, since it holds its lock; a run that leaves it empty removes it. */
static int take_report(const app__looking *l, app_places *places)
{
    APP_FREED char *report = NULL, *at = NULL, *inside = NULL;

    if (l->run->report == NULL) {
        return EQP_OK;
    }
    report = report_folder(l->run->report);
    EQP_CHECK(report != NULL ? EQP_OK : EQP_ERR_MEMORY);
    EQP_CHECK(eqp_array_create(&inside, (int64_t)strlen(report) + 16, 1));
    places->made = strdup(report);
    at = strdup(report);
    places->nmade = climb(&at);
    EQP_CHECK(eqp_report_directory(report, l->message));
    strcat(strcpy(inside, report), "/");
    eqp_output_sweep(inside);
    const int code = take_lock(l, "--report", l->run->report, strcat(inside, "report.lock"), places);
    return code == EQP_ERR_STATE ? EQP_ERR_IO : code;
}

/* Name number i of a restart file; concurrent runs in one folder have one each. */
static void name_restart(const char *restart, int i, char name[APP_RESTART_NAME])
{
    const char *ending = strrchr(restart, '.');
    char number[16] = "";

    if (i > 0) {
        snprintf(number, sizeof number, "-%d", i + 1);
    }
    snprintf(name, APP_RESTART_NAME, "%.*s%s%s", (int)(ending - restart), restart, number, ending);
}

/* Lock of name number i; name: the stem. */
static void name_restart_lock(const char *restart, int i, char name[APP_RESTART_NAME], char lock[APP_RESTART_NAME + 8])
{
    name_restart(restart, i, name);
    *strrchr(name, '.') = '\0';
    snprintf(lock, APP_RESTART_NAME + 8, "%s.lock", name);
}

/* An unwritable folder matters only after a signal, so nothing is reported. */
static int take_restart(const app__looking *l, const char *restart, app_places *places, int *number)
{
    const app__looking quiet = {l->program, l->run, l->naming, NULL};
    char name[APP_RESTART_NAME], lock[APP_RESTART_NAME + 8];
    int code = EQP_ERR_STATE;

    for (int i = 0; i < 1000 && code == EQP_ERR_STATE; i++) {
        name_restart(restart, i, name);
        if (!app__leads_to_another(l, name)) {
            name_restart_lock(restart, i, name, lock);
            code = take_lock(&quiet, "restart file", restart, lock, places);
            *number = i;
        }
    }
    if (code == EQP_OK) {
        eqp_output_sweep(name);
    }
    /* Dead runs may have left locks of higher numbers, which no other run would ever take. */
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

static int check_hdf5(const app__looking *l)
{
    const char *path = l->run->forces != NULL ? l->run->forces : l->run->output;

    if (eqp_snapshot_writable() || path == NULL || (path == l->run->output && !is_hdf5(l->naming->numbered))) {
        return EQP_OK;
    }
    eqp_message_set(l->message, "%s: --%s: %s: this build is without HDF5", l->program,
                    path == l->run->forces ? "forces" : "output", path);
    return EQP_ERR_UNKNOWN;
}

static int check_all(const app__looking *l)
{
    const bool several = l->run->output_every > 0 || l->naming->each != NULL;
    EQP_CHECK(app__check_clashes(l));

    EQP_CHECK(check_hdf5(l));
    EQP_CHECK(check_file(l, "output", l->run->output, several));
    EQP_CHECK(check_file(l, "forces", l->run->forces, false));
    /* With %p a map is several files, perhaps in several folders. */
    if (l->run->map != NULL && strstr(l->run->map, "%p") == NULL) {
        EQP_CHECK(check_file(l, "map", l->run->map, false));
    }
    return check_report(l);
}

int app_places_take(MPI_Comm comm, const char *program, const app_run_settings *run, const app_naming *naming,
                    const char *restart, app_places *places, eqp_message *message)
{
    const app__looking l = {program, run, naming, message};
    int rank, number = 0, code = EQP_OK;

    *places = (app_places){.nlocks = 0};
    MPI_Comm_rank(comm, &rank);
    app_signals_keep();
    if (rank == 0) {
        code = check_all(&l);
        code = code == EQP_OK ? take_stems(&l, "--output", run->output, places) : code;
        code = code == EQP_OK ? take_stems(&l, "--forces", run->forces, places) : code;
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
        char *above = app__folder_of(places->made);
        free(places->made);
        places->made = above;
    }
    free(places->made);
    *places = (app_places){.nlocks = 0};
}
