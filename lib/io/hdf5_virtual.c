/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual files map the datasets of other files. Each source is a complete snapshot and is read as one, with all
 * checks. Only files in the same folder or below are opened. */
#include "io/hdf5_util.h"

#include "base/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_PIECES = 4096, NAME_BYTES = 1024 };

static int join(const char *path, size_t folder, const char *name, char **piece)
{
    size_t bytes = folder + strlen(name) + 1;
    char *made = malloc(bytes);

    EQP__FAIL_IF(!made, EQP_ERR_MEMORY);
    snprintf(made, bytes, "%.*s%s", (int)folder, path, name);
    *piece = made;
    return EQP_OK;
}

/* Path of the piece `name` relative to the folder of `path`; if that does not exist, its last component in that folder.
 * Owned by the caller. */
static int beside(const char *path, const char *name, char **piece)
{
    const char *slash = strrchr(path, '/'), *last = strrchr(name, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;

    if (last && name[0] != '/' && !strstr(name, "..")) {
        int rc = join(path, folder, name, piece);

        if (rc != EQP_OK || access(*piece, F_OK) == 0) {
            return rc;
        }
        free(*piece);
    }
    return join(path, folder, last ? last + 1 : name, piece);
}

/* Types usually have the same pieces in the same order. */
static bool is_known(const eqp__pieces *pieces, int64_t guess, const char *piece)
{
    if (guess < pieces->n && strcmp(pieces->path[guess], piece) == 0) {
        return true;
    }
    for (int64_t i = 0; i < pieces->n; i++) {
        if (strcmp(pieces->path[i], piece) == 0) {
            return true;
        }
    }
    return false;
}

static int add_piece(const char *path, const char *name, int64_t guess, eqp__pieces *pieces, eqp_message *message)
{
    char *piece = NULL;
    int rc = EQP_OK;

    /* "." is the file itself; "%b" is replaced by a running number. */
    EQP__FAIL_IF(
        name[0] == '\0' || strcmp(name, ".") == 0 || strchr(name, '%'),
        EQP__SAY(message, EQP_ERR_FORMAT,
                 "%s: is a virtual file over '%s', which is not the name of a piece: give the pieces themselves", path,
                 name));
    rc = beside(path, name, &piece);
    if (rc == EQP_OK && !is_known(pieces, guess, piece)) {
        if (pieces->n >= MOST_PIECES) {
            eqp_message_set(message, "%s: is a virtual file over more than %d pieces", path, MOST_PIECES);
            rc = EQP_ERR_FORMAT;
        }
        rc = rc != EQP_OK ? rc
                          : eqp_array_reserve(&pieces->path, &pieces->capacity, pieces->n + 1, sizeof *pieces->path);
        if (rc == EQP_OK) {
            pieces->path[pieces->n++] = piece;
            piece = NULL;
        }
    }
    free(piece);
    return rc;
}

bool eqp__hdf5_is_virtual(hid_t dataset)
{
    hid_t properties = H5Dget_create_plist(dataset);
    bool is = properties >= 0 && H5Pget_layout(properties) == H5D_VIRTUAL;

    EQP__HDF5_CLOSE(properties);
    return is;
}

int eqp__hdf5_find_pieces(const char *path, hid_t dataset, const char *name, eqp__pieces *pieces, eqp_message *message)
{
    hid_t properties = H5Dget_create_plist(dataset);
    size_t count = 0;
    int rc = EQP_OK;

    if (properties < 0 || H5Pget_virtual_count(properties, &count) < 0) {
        count = 0;
    }
    for (size_t i = 0; rc == EQP_OK && i < count; i++) {
        char file[NAME_BYTES], source[NAME_BYTES];
        ssize_t length = H5Pget_virtual_filename(properties, i, file, sizeof file);
        ssize_t more = H5Pget_virtual_dsetname(properties, i, source, sizeof source);

        if (length < 0 || length >= NAME_BYTES || more < 0 || more >= NAME_BYTES ||
            strcmp(source[0] == '/' ? source + 1 : source, name) != 0) {
            eqp_message_set(message, "%s: is a virtual file, but piece %zu of %s is not of that name: give the pieces",
                            path, i, name);
            rc = EQP_ERR_FORMAT;
        } else {
            rc = add_piece(path, file, (int64_t)i, pieces, message);
        }
    }
    EQP__HDF5_CLOSE(properties);
    return rc;
}
