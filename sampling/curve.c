/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory.h"
#include "units_internal.h"
#include "versions.h"
#include <equipoise/error.h>
#include <equipoise/more/curve.h>

#include <math.h>
#include <stddef.h>

/* In an octree cell the curve visits the eight children along a Gray code that starts in one corner and leaves along
 * one edge. The start corner e and the direction d of the edge determine the order; the curve uses 12 of the 24 pairs,
 * its states. With rol for the rotation of three bits and gray(i) = i ^ i >> 1, the child at place w of state (e, d) is
 * rol(gray(w), d + 1) ^ e, and the child's state is e' = e ^ rol(gray(2 floor((w - 1) / 2)), d + 1), d' = (d + t(w) +
 * 1) mod 3, with e' = e and t(w) = 0 for w = 0; otherwise t(w) is the number of trailing one bits of w (odd w) or w - 1
 * (even w), mod 3 (C. H. Hamilton, A. Rau-Chaplin, Inf. Process. Lett. 105 (2008) 155, sections 2 and 3). The tables
 * follow from state 0 = (0, 0), with states numbered in order of discovery. Children are numbered 4 x + 2 y + z by
 * their upper halves. */
#define STATES 12
#define TO(state, number) (8 * (state) + (number))

/* [state][child] -> next state and place */
static const uint8_t place_of_child[STATES][8] = {
    {TO(1, 0), TO(2, 7), TO(3, 1), TO(4, 6), TO(5, 3), TO(5, 4), TO(3, 2), TO(4, 5)},
    {TO(3, 0), TO(6, 3), TO(7, 7), TO(6, 4), TO(0, 1), TO(0, 2), TO(8, 6), TO(8, 5)},
    {TO(9, 4), TO(4, 7), TO(9, 3), TO(10, 0), TO(0, 5), TO(0, 6), TO(8, 2), TO(8, 1)},
    {TO(0, 0), TO(1, 1), TO(10, 3), TO(1, 2), TO(11, 7), TO(9, 6), TO(10, 4), TO(9, 5)},
    {TO(2, 6), TO(0, 7), TO(2, 5), TO(7, 4), TO(6, 1), TO(11, 0), TO(6, 2), TO(7, 3)},
    {TO(7, 2), TO(10, 5), TO(0, 3), TO(0, 4), TO(7, 1), TO(10, 6), TO(9, 0), TO(6, 7)},
    {TO(11, 2), TO(11, 1), TO(5, 5), TO(5, 6), TO(1, 3), TO(4, 0), TO(1, 4), TO(10, 7)},
    {TO(4, 4), TO(1, 5), TO(8, 7), TO(1, 6), TO(4, 3), TO(9, 2), TO(5, 0), TO(9, 1)},
    {TO(7, 6), TO(10, 1), TO(1, 7), TO(2, 0), TO(7, 5), TO(10, 2), TO(11, 4), TO(11, 3)},
    {TO(11, 6), TO(11, 5), TO(5, 1), TO(5, 2), TO(3, 7), TO(2, 4), TO(7, 0), TO(2, 3)},
    {TO(2, 2), TO(3, 3), TO(2, 1), TO(8, 0), TO(6, 5), TO(3, 4), TO(6, 6), TO(5, 7)},
    {TO(8, 4), TO(8, 3), TO(3, 5), TO(4, 2), TO(9, 7), TO(6, 0), TO(3, 6), TO(4, 1)},
};

/* [state][place] -> next state and child */
static const uint8_t child_at_place[STATES][8] = {
    {TO(1, 0), TO(3, 2), TO(3, 6), TO(5, 4), TO(5, 5), TO(4, 7), TO(4, 3), TO(2, 1)},
    {TO(3, 0), TO(0, 4), TO(0, 5), TO(6, 1), TO(6, 3), TO(8, 7), TO(8, 6), TO(7, 2)},
    {TO(10, 3), TO(8, 7), TO(8, 6), TO(9, 2), TO(9, 0), TO(0, 4), TO(0, 5), TO(4, 1)},
    {TO(0, 0), TO(1, 1), TO(1, 3), TO(10, 2), TO(10, 6), TO(9, 7), TO(9, 5), TO(11, 4)},
    {TO(11, 5), TO(6, 4), TO(6, 6), TO(7, 7), TO(7, 3), TO(2, 2), TO(2, 0), TO(0, 1)},
    {TO(9, 6), TO(7, 4), TO(7, 0), TO(0, 2), TO(0, 3), TO(10, 1), TO(10, 5), TO(6, 7)},
    {TO(4, 5), TO(11, 1), TO(11, 0), TO(1, 4), TO(1, 6), TO(5, 2), TO(5, 3), TO(10, 7)},
    {TO(5, 6), TO(9, 7), TO(9, 5), TO(4, 4), TO(4, 0), TO(1, 1), TO(1, 3), TO(8, 2)},
    {TO(2, 3), TO(10, 1), TO(10, 5), TO(11, 7), TO(11, 6), TO(7, 4), TO(7, 0), TO(1, 2)},
    {TO(7, 6), TO(5, 2), TO(5, 3), TO(2, 7), TO(2, 5), TO(11, 1), TO(11, 0), TO(3, 4)},
    {TO(8, 3), TO(2, 2), TO(2, 0), TO(3, 1), TO(3, 5), TO(6, 4), TO(6, 6), TO(5, 7)},
    {TO(6, 5), TO(4, 7), TO(4, 3), TO(8, 1), TO(8, 0), TO(3, 2), TO(3, 6), TO(9, 4)},
};

/* Puts two zero bits after each of the lower 21 bits. */
static uint64_t spread(uint64_t bits)
{
    bits &= UINT64_C(0x1fffff);
    bits = (bits | bits << 32) & UINT64_C(0x001f00000000ffff);
    bits = (bits | bits << 16) & UINT64_C(0x001f0000ff0000ff);
    bits = (bits | bits << 8) & UINT64_C(0x100f00f00f00f00f);
    bits = (bits | bits << 4) & UINT64_C(0x10c30c30c30c30c3);
    bits = (bits | bits << 2) & UINT64_C(0x1249249249249249);
    return bits;
}

/* Inverse of spread(). */
static uint32_t gather(uint64_t bits)
{
    bits &= UINT64_C(0x1249249249249249);
    bits = (bits | bits >> 2) & UINT64_C(0x10c30c30c30c30c3);
    bits = (bits | bits >> 4) & UINT64_C(0x100f00f00f00f00f);
    bits = (bits | bits >> 8) & UINT64_C(0x001f0000ff0000ff);
    bits = (bits | bits >> 16) & UINT64_C(0x001f00000000ffff);
    bits = (bits | bits >> 32) & UINT64_C(0x1fffff);
    return (uint32_t)bits;
}

/* Replaces each group of three bits, from the highest on, by the table's entry for the current state. */
static uint64_t translate(const uint8_t table[STATES][8], uint64_t from)
{
    unsigned state = 0;
    uint64_t to = 0;

    for (int shift = 3 * (EQP_CURVE_BITS - 1); shift >= 0; shift -= 3) {
        const unsigned entry = table[state][from >> shift & 7];
        to = to << 3 | (entry & 7);
        state = entry >> 3;
    }
    return to;
}

uint64_t eqp__hilbert_key(uint32_t x, uint32_t y, uint32_t z)
{
    return translate(place_of_child, spread(x) << 2 | spread(y) << 1 | spread(z));
}

void eqp_hilbert_cell(uint64_t key, uint32_t *x, uint32_t *y, uint32_t *z)
{
    if (!x || !y || !z) {
        return;
    }
    const uint64_t children = translate(child_at_place, key);

    *x = gather(children >> 2);
    *y = gather(children >> 1);
    *z = gather(children);
}

void eqp_hilbert_children(uint64_t key, int level, unsigned char child[8])
{
    if (!child) {
        return;
    }
    unsigned state = 0;

    for (int l = 0; l < level; l++) {
        state = child_at_place[state][key >> (3 * (EQP_CURVE_BITS - 1 - l)) & 7] >> 3;
    }
    for (int place = 0; place < 8; place++) {
        child[place] = child_at_place[state][place] & 7;
    }
}

/* Points are processed in blocks, which the compiler vectorizes. */
#define BLOCK 256

/* The division is exact for points on the faces of octree cells; a product with 1 / side would not be. */
static inline uint32_t grid_coordinate(double x, double corner, double side)
{
    const double cells = (double)((uint32_t)1 << EQP_CURVE_BITS);
    double t = (x - corner) / side * cells;

    t = t > 0.0 ? t : 0.0;
    t = t < cells ? t : cells - 1.0;
    return (uint32_t)(int32_t)t;
}

/* The children that hold each point, three bits a level from the highest on. The loops contain no product and sum that
 * could be fused, so all versions give the same numbers. */
EQP__VERSIONS("avx512f", "avx2", "default")
static void find_children(int n, const double *const x[3], const double corner[3], double side, uint64_t *children)
{
    uint32_t grid[3][BLOCK];

    for (int k = 0; k < 3; k++) {
        const double *at = x[k], low = corner[k];
        for (int i = 0; i < n; i++) {
            grid[k][i] = grid_coordinate(at[i], low, side);
        }
    }
    for (int i = 0; i < n; i++) {
        children[i] = spread(grid[0][i]) << 2 | spread(grid[1][i]) << 1 | spread(grid[2][i]);
    }
}

/* Three levels at a time, for point counts that pay for the larger table. */
#define STEP 3
#define STEP_CHILDREN (1 << 3 * STEP)
#define MANY_POINTS 2000

_Static_assert(STEP == 3 && EQP_CURVE_BITS % STEP == 0, "whole steps of three levels");

/* [state][children] -> next state and places */
typedef uint16_t step_table[STATES][STEP_CHILDREN];

static void make_steps(step_table table)
{
    uint16_t *to = table[0];

    for (int begin = 0; begin < STATES; begin++) {
        for (int i = 0; i < 64; i++) {
            const unsigned first = place_of_child[begin][i >> 3], second = place_of_child[first >> 3][i & 7];
            for (int child = 0; child < 8; child++) {
                const unsigned third = place_of_child[second >> 3][child];
                *to++ = (uint16_t)((third >> 3) * STEP_CHILDREN + ((first & 7) << 6 | (second & 7) << 3 | (third & 7)));
            }
        }
    }
}

/* translate() with the larger table. */
static uint64_t translate_steps(step_table table, uint64_t children)
{
    const uint16_t *entries = table[0];
    unsigned state = 0; /* times STEP_CHILDREN */
    uint64_t places = 0;

    for (int shift = 3 * (EQP_CURVE_BITS - STEP); shift >= 0; shift -= 3 * STEP) {
        const unsigned entry = entries[state + (children >> shift & (STEP_CHILDREN - 1))];
        places = places << (3 * STEP) | (entry & (STEP_CHILDREN - 1));
        state = entry & ~(unsigned)(STEP_CHILDREN - 1);
    }
    return places;
}

int eqp_hilbert_keys(int64_t n, const double *x, const double *y, const double *z, const double corner[3], double side,
                     uint64_t *key)
{
    step_table table;

    EQP__FAIL_IF(n < 0 || !(side > 0.0) || !isfinite(side), EQP_ERR_ARGUMENT);
    EQP__FAIL_IF(n > 0 && (x == NULL || y == NULL || z == NULL || corner == NULL || key == NULL), EQP_ERR_ARGUMENT);
    if (n >= MANY_POINTS) {
        make_steps(table);
    }
    for (int64_t first = 0; first < n; first += BLOCK) {
        const double *const block[3] = {x + first, y + first, z + first};
        const int count = n - first < BLOCK ? (int)(n - first) : BLOCK;
        find_children(count, block, corner, side, key + first);
        for (int64_t i = first; i < first + count; i++) {
            key[i] = n >= MANY_POINTS ? translate_steps(table, key[i]) : translate(place_of_child, key[i]);
        }
    }
    return EQP_OK;
}
