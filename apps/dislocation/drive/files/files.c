/* SPDX-License-Identifier: BSD-3-Clause */
#include "files.h"

#include <stdlib.h>
#include <string.h>

static const char *const data_endings[] = {".data", NULL}, *const data_each[] = {".ctrl", NULL};
static const char *const vtk_endings[] = {".vtp", NULL}, *const vtk_once[] = {".pvd", NULL};

static const app_naming data_naming = {data_endings, ".data", data_each, NULL};
static const app_naming vtk_naming = {vtk_endings, ".vtp", NULL, vtk_once};

bool dd_files_for_paraview(const char *path)
{
    const size_t length = strlen(path), ending = strlen(".vtp");

    return length > ending && strcmp(path + length - ending, ".vtp") == 0;
}

const app_naming *dd_files_naming(const char *path)
{
    return path != NULL && dd_files_for_paraview(path) ? &vtk_naming : &data_naming;
}

int dd_files_pair(const char *name, char **data, char **ctrl)
{
    char *first = NULL, *second = NULL;
    int code;

    EQP_TRY(app_name_with_ending(&data_naming, name, ".data", &first));
    EQP_TRY(app_name_with_ending(&data_naming, name, ".ctrl", &second));
done:
    if (code != EQP_OK) {
        free(first);
        return code;
    }
    *data = first;
    *ctrl = second;
    return EQP_OK;
}

int dd_files_series(const char *path, char **pvd)
{
    return app_name_with_ending(&vtk_naming, path, ".pvd", pvd);
}
