/* SPDX-License-Identifier: BSD-3-Clause */
#include "places.h"

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

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;

    if (a == NULL || b == NULL) {
        return false;
    }
    if (strcmp(a, b) == 0) {
        return true;
    }
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static int check_clashes(const bh_settings *s, eqp_message *message)
{
    const char *input = s->snapshot != NULL ? s->snapshot : s->restart;

    if (same_file(s->output, s->forces)) {
        eqp_message_set(message, "barneshut: --output and --forces: %s: one file cannot be both", s->output);
        return EQP_ERR_ARGUMENT;
    }
    if (same_file(s->output, input) || same_file(s->forces, input)) {
        eqp_message_set(message, "barneshut: %s: the input would be overwritten", input);
        return EQP_ERR_ARGUMENT;
    }
    return EQP_OK;
}

int bh_places_check(MPI_Comm comm, const bh_settings *settings, eqp_message *message)
{
    int rank, code = EQP_OK;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        code = check_clashes(settings, message);
        code = code == EQP_OK ? check_file("output", settings->output, message) : code;
        code = code == EQP_OK ? check_file("forces", settings->forces, message) : code;
        code = code == EQP_OK ? check_report(settings->report, message) : code;
    }
    return eqp_agree(comm, code, message);
}
