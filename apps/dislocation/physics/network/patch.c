/* SPDX-License-Identifier: BSD-3-Clause */
#include "patch.h"

#include "vector.h"

#include <equipoise/error.h>

#include <math.h>

void dd_patch_init(dd_patch *patch, const double low[3], const double box[3])
{
    patch->n = 0;
    patch->nnew = 0;
    for (int i = 0; i < DD_PATCH_NEW; i++) {
        patch->new_tag[i] = DD_NO_TAG;
    }
    dd_v3_copy(patch->low, low);
    dd_v3_copy(patch->box, box);
}

void dd_patch_free(dd_patch *patch)
{
    for (int i = 0; i < patch->n; i++) {
        dd_node_free(&patch->at[i].node);
    }
    patch->n = 0;
    patch->nnew = 0;
}

dd_patch_node *dd_patch_find(dd_patch *patch, dd_tag tag)
{
    for (int i = 0; i < patch->n; i++) {
        if (patch->at[i].node.tag == tag && !patch->at[i].deleted) {
            return &patch->at[i];
        }
    }
    return NULL;
}

int dd_patch_add(dd_patch *patch, const dd_node *node)
{
    dd_patch_node *at = &patch->at[patch->n];
    int code;

    if (patch->n == DD_PATCH_NODES) {
        return EQP_ERR_OVERFLOW;
    }
    *at = (dd_patch_node){.changed = false};
    EQP_TRY(dd_node_copy(&at->node, node));
    patch->n++;
done:
    return code;
}

void dd_patch_offset(const dd_patch *patch, const double from[3], const double to[3], double offset[3])
{
    for (int k = 0; k < 3; k++) {
        offset[k] = to[k] - from[k];
        if (patch->box[k] > 0.0) {
            offset[k] -= patch->box[k] * rint(offset[k] / patch->box[k]);
        }
    }
}
