/* SPDX-License-Identifier: BSD-3-Clause */
/* One cell at a time: the root cube, centres, moments, and the children side by side, as walks look at them. */
#include "internal.h"

#include <equipoise/error.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The grid of 2^21 cells per axis should not be finer than what a double can tell apart: side >= 2^-31 |coordinate|. */
#define BH_BOX_RESOLUTION 0x1p-30

static bool box_holds(double side, const double lo[3], const double hi[3], bh_box *box)
{
    const double step = side / 4;
    box->side = side;
    for (int k = 0; k < 3; k++) {
        box->corner[k] = floor(lo[k] / step) * step;
        if (!(hi[k] < box->corner[k] + side)) {
            return false;
        }
    }
    return true;
}

int bh_box_enclosing(const double lo[3], const double hi[3], bh_box *box)
{
    double extent = 0, magnitude = 0;
    for (int k = 0; k < 3; k++) {
        EQP_CHECK(!isfinite(lo[k]) || !isfinite(hi[k]) ? EQP_ERR_DATA : EQP_OK);
        if (lo[k] > hi[k]) {
            return EQP_ERR_ARGUMENT;
        }
        extent = fmax(extent, hi[k] - lo[k]);
        magnitude = fmax(magnitude, fmax(fabs(lo[k]), fabs(hi[k])));
    }
    const double least = fmax(extent, magnitude * BH_BOX_RESOLUTION);
    EQP_CHECK(least > DBL_MAX / 16 ? EQP_ERR_DATA : EQP_OK);
    int exponent = 1;
    if (least > 0) {
        /* 2^exponent > least >= 2^(exponent - 1); far below that even a quarter of a deepest cell would underflow. */
        frexp(fmax(least, DBL_MIN * 0x1p60), &exponent);
    }
    bh_box found;
    double side = ldexp(1.0, exponent - 1);
    while (!box_holds(side, lo, hi, &found)) {
        side *= 2; /* ends: the corner is less than side / 4 below lo */
    }
    *box = found;
    return EQP_OK;
}

uint64_t bh__place(uint64_t key, int level)
{
    uint32_t grid[3];
    eqp_hilbert_cell(key, &grid[0], &grid[1], &grid[2]);
    uint64_t place = 0;
    for (int k = 0; k < 3; k++) {
        /* The first key of a cell need not be in its lowest corner. */
        const uint64_t lowest = grid[k] >> (EQP_CURVE_BITS - level) << (EQP_CURVE_BITS - level);
        place |= lowest << (k * EQP_CURVE_BITS);
    }
    return place;
}

void bh_cell_centre(const bh_tree *tree, const bh_cell *cell, double centre[3])
{
    bh__centre(&tree->box, cell->place, cell->level, bh__side(tree, cell->level), centre);
}

void bh__moments_complete(const bh_tree *tree, const bh_cell *cell, bh_moments *moments)
{
    double centre[3], offset2 = 0;
    bh__centre(&tree->box, cell->place, cell->level, bh__side(tree, cell->level), centre);
    for (int k = 0; k < 3; k++) {
        const double d = moments->com[k] - centre[k];
        offset2 += d * d;
    }
    moments->offset = sqrt(offset2);
    moments->quad[5] = 0 - (moments->quad[0] + moments->quad[3]);
}

static void add_second_moments(bh_moments *to, double mass, const double d[3])
{
    const double d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    double *quad = to->quad;
    quad[0] += mass * (3 * d[0] * d[0] - d2);
    quad[1] += mass * (3 * d[0] * d[1]);
    quad[2] += mass * (3 * d[0] * d[2]);
    quad[3] += mass * (3 * d[1] * d[1] - d2);
    quad[4] += mass * (3 * d[1] * d[2]);
    to->trace += mass * d2;
}

/* Sets com from sum, the first mass moment about the centre: less cancellation than about the origin. A cell without
 * mass has its centre for com, which keeps distances meaningful. */
static void set_com(bh_moments *moments, const double centre[3], const double sum[3])
{
    for (int k = 0; k < 3; k++) {
        moments->com[k] = centre[k] + (moments->mass > 0 ? sum[k] / moments->mass : 0);
    }
}

/* One pass: the second moments about the centre (order xx xy xz yy yz zz), moved to the centre of mass afterwards. The
 * two are less than a diagonal apart, so that little cancels. */
void bh__moments_of_particles(const bh_tree *tree, const bh_cell *cell, int64_t first, bh_moments *moments)
{
    const double *x = tree->sources.x + first, *y = tree->sources.y + first, *z = tree->sources.z + first;
    const double *m = tree->sources.m + first;
    double centre[3], mass = 0, sum[3] = {0}, square[6] = {0};
    if (tree->bare) {
        *moments = (bh_moments){0};
        return;
    }
    bh__centre(&tree->box, cell->place, cell->level, bh__side(tree, cell->level), centre);
    for (int64_t i = 0; i < cell->count; i++) {
        const double dx = x[i] - centre[0], dy = y[i] - centre[1], dz = z[i] - centre[2];
        const double mx = m[i] * dx, my = m[i] * dy, mz = m[i] * dz;
        mass += m[i];
        sum[0] += mx;
        sum[1] += my;
        sum[2] += mz;
        square[0] += mx * dx;
        square[1] += mx * dy;
        square[2] += mx * dz;
        square[3] += my * dy;
        square[4] += my * dz;
        square[5] += mz * dz;
    }
    moments->mass = mass; /* member by member: copying the struct would wait until all of it is stored */
    set_com(moments, centre, sum);
    const double d[3] = {moments->com[0] - centre[0], moments->com[1] - centre[1], moments->com[2] - centre[2]};
    static const int row[6] = {0, 0, 0, 1, 1, 2}, column[6] = {0, 1, 2, 1, 2, 2};
    for (int q = 0; q < 6; q++) {
        square[q] -= mass * d[row[q]] * d[column[q]];
    }
    const double trace = square[0] + square[3] + square[5];
    moments->trace = trace;
    for (int q = 0; q < BH_QUAD_TRAVELS; q++) {
        moments->quad[q] = row[q] == column[q] ? 3 * square[q] - trace : 3 * square[q];
    }
    bh__moments_complete(tree, cell, moments);
}

void bh__moments_of_children(const bh_tree *tree, const bh_cell *cell, const bh_cell *child, bh_moments *moments)
{
    double centre[3], sum[3] = {0, 0, 0};
    if (tree->bare) {
        *moments = (bh_moments){0};
        return;
    }
    bh__centre(&tree->box, cell->place, cell->level, bh__side(tree, cell->level), centre);
    bh_moments sums = {0};
    for (int c = 0; c < cell->nchild; c++) {
        const bh_moments *part = &child[c].moments;
        sums.mass += part->mass;
        for (int k = 0; k < 3; k++) {
            sum[k] += part->mass * (part->com[k] - centre[k]);
        }
    }
    set_com(&sums, centre, sum);
    for (int c = 0; c < cell->nchild; c++) {
        const bh_moments *part = &child[c].moments;
        double d[3];
        for (int k = 0; k < 3; k++) {
            d[k] = part->com[k] - sums.com[k];
        }
        for (int q = 0; q < BH_QUAD_TRAVELS; q++) {
            sums.quad[q] += part->quad[q];
        }
        sums.trace += part->trace;
        add_second_moments(&sums, part->mass, d);
    }
    bh__moments_complete(tree, cell, &sums);
    *moments = sums;
}

int bh__tight_of_particles(const bh_tree *tree, const bh_cell *cell, int64_t first)
{
    const double *x = tree->sources.x + first, *y = tree->sources.y + first, *z = tree->sources.z + first;
    double centre[3], side = bh__side(tree, cell->level), farthest = 0;
    int level = cell->level;
    if (!tree->drifted) {
        return EQP_CURVE_BITS;
    }
    bh__centre(&tree->box, cell->place, cell->level, side, centre);
    for (int64_t i = 0; i < cell->count; i++) {
        const double dx = fabs(x[i] - centre[0]), dy = fabs(y[i] - centre[1]), dz = fabs(z[i] - centre[2]);
        const double d = dx > dy ? dx : dy, far = d > dz ? d : dz;
        farthest = far > farthest ? far : farthest;
    }
    const double beyond = farthest - 0.5 * side;
    for (; level >= 0 && beyond > BH_DRIFT_REACH * side; level--) {
        side *= 2;
    }
    return level < cell->level ? level : EQP_CURVE_BITS;
}

int bh__tight_of_children(const bh_cell *cell, const bh_cell *child)
{
    int tight = EQP_CURVE_BITS;
    for (int c = 0; c < cell->nchild; c++) {
        tight = child[c].tight < tight ? child[c].tight : tight;
    }
    return tight;
}

bool bh__children_fit(const bh_tree *tree, const bh_cell *cell, const bh_cell *child)
{
    const int level = cell->level + 1;
    if (cell->nchild < 1 || cell->nchild > 8 || level > EQP_CURVE_BITS) {
        return false;
    }
    uint64_t from = cell->key;
    int64_t left = cell->count;
    for (int c = 0; c < cell->nchild; c++) {
        const bh_cell *part = &child[c];
        if (part->level != level || part->key != bh_key_at_level(part->key, level) || part->key < from ||
            part->key - cell->key >= bh_span(cell->level)) {
            return false;
        }
        const bool leaf = bh__is_leaf(tree, part->count, level);
        if (part->tight > EQP_CURVE_BITS || part->count < 1 || part->count > left || part->nchild < 0 ||
            part->nchild > 8 || leaf != (part->nchild == 0)) {
            return false;
        }
        from = part->key + bh_span(level);
        left -= part->count;
    }
    bh_moments moments;
    bh__moments_of_children(tree, cell, child, &moments);
    return left == 0 && bh__tight_of_children(cell, child) == cell->tight &&
           memcmp(&moments, &cell->moments, sizeof(moments)) == 0;
}

int bh__families_reserve(bh_tree *tree, int64_t nfamilies)
{
    if (tree->shared.common != NULL) {
        return bh__shared_reserve(tree, (bh_room){.families = nfamilies});
    }
    if (nfamilies <= tree->family_capacity) {
        return EQP_OK;
    }
    const int64_t capacity = nfamilies + nfamilies / 4 + 64;
    const int64_t kept = tree->nfamilies < tree->family_capacity ? tree->nfamilies : tree->family_capacity;
    EQP_CHECK(nfamilies > INT32_MAX ? EQP_ERR_OVERFLOW : EQP_OK);
    /* realloc() does not keep the alignment. */
    bh_family *larger = aligned_alloc(_Alignof(bh_family), (size_t)capacity * sizeof(*larger));
    EQP_CHECK(larger == NULL ? EQP_ERR_MEMORY : EQP_OK);
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
        /* Another rank of the node may graft a sibling meanwhile. */
        (void)__atomic_fetch_and(&family->absent, (uint8_t) ~(1u << k), __ATOMIC_RELAXED);
    }
}
