/* SPDX-License-Identifier: BSD-3-Clause */
/* The children of a cell side by side, as walks look at them. */
#include "internal.h"

#include <equipoise/error.h>

#include <stdlib.h>
#include <string.h>

int bh__families_reserve(bh_tree *tree, int64_t nfamilies)
{
    if (nfamilies <= tree->family_capacity) {
        return EQP_OK;
    }
    const int64_t capacity = nfamilies + nfamilies / 4 + 64;
    const int64_t kept = tree->nfamilies < tree->family_capacity ? tree->nfamilies : tree->family_capacity;
    if (nfamilies > INT32_MAX) {
        return EQP_ERR_OVERFLOW;
    }
    /* realloc() does not keep the alignment. */
    bh_family *larger = aligned_alloc(_Alignof(bh_family), (size_t)capacity * sizeof(*larger));
    if (larger == NULL) {
        return EQP_ERR_MEMORY;
    }
    if (kept > 0) {
        memcpy(larger, tree->family, (size_t)kept * sizeof(*larger));
    }
    free(tree->family);
    tree->family = larger;
    tree->family_capacity = capacity;
    return EQP_OK;
}

static void put_moments(bh_family *family, int k, const bh_cell *child)
{
    family->x[k] = child->moments.com[0];
    family->y[k] = child->moments.com[1];
    family->z[k] = child->moments.com[2];
    family->offset[k] = child->moments.offset;
    family->mass[k] = child->moments.mass;
    if ((child->nchild > 0 || child->count > BH_DIRECT_MAX) && !bh__is_loose(child)) {
        family->bodies |= (uint8_t)(1u << k);
    }
}

static void put_child(bh_family *family, int k, const bh_cell *child)
{
    const unsigned bit = 1u << k;
    put_moments(family, k, child);
    if (child->nchild > 0) {
        family->inner |= (uint8_t)bit;
        family->below[k] = child->family;
    } else {
        family->first[k] = (int32_t)child->first;
        family->count[k] = (int32_t)child->count;
        family->absent |= (uint8_t)(child->first == BH_ABSENT ? bit : 0);
    }
}

void bh__family_of(const bh_tree *tree, int64_t number, bh_family *family)
{
    const bh_cell *cell = &tree->cell[number];
    memset(family, 0, sizeof(*family));
    family->pin = bh_cell_pin(cell->key, cell->level);
    family->cell = (int32_t)number;
    family->child = (int32_t)cell->child;
    family->level = (uint8_t)(cell->level + 1);
    family->place = cell->place;
    family->nchild = (uint8_t)cell->nchild;
    for (int k = 0; k < cell->nchild; k++) {
        const bh_cell *child = &tree->cell[cell->child + k];
        put_child(family, k, child);
        for (int axis = 0; axis < 3; axis++) {
            const int half = (axis + 1) * EQP_CURVE_BITS - family->level; /* the bit of the place that tells the half */
            family->upper[axis] |= (uint8_t)((child->place >> half & 1) << k);
        }
        if (child->nchild > 0 && child->child == BH_ABSENT) {
            family->below[k] = (int32_t)(-1 - (cell->child + k));
        }
    }
}

void bh__family_drift(const bh_tree *tree, int64_t number, bh_family *family)
{
    const bh_cell *cell = &tree->cell[number];
    family->bodies = 0;
    for (int k = 0; k < cell->nchild; k++) {
        put_moments(family, k, &tree->cell[cell->child + k]);
    }
}

void bh__family_renew(bh_tree *tree, int64_t parent, int64_t number)
{
    const bh_cell *child = &tree->cell[number];
    bh_family *family = &tree->family[tree->cell[parent].family];
    const int64_t k = number - family->child;
    if (child->nchild > 0) {
        family->below[k] = child->family;
    } else {
        family->first[k] = (int32_t)child->first;
        family->absent &= (uint8_t) ~(1u << k);
    }
}
