/* SPDX-License-Identifier: BSD-3-Clause */
/* Trees of the ranks of a node in one memory: what the ranks have in common, then families, cells, and x, y, z and m of
 * the particles. */
#include "internal.h"

#include <equipoise/error.h>

#include <stdatomic.h>
#include <string.h>

/* Multiples of 8 elements, so that all arrays begin at a cache line. */
static int64_t rounded(int64_t n)
{
    return (n + 7) / 8 * 8;
}

static bh_room room_of(const bh_room *slot, const bh_room *behind, int nranks)
{
    return (bh_room){nranks * rounded(slot->cells) + rounded(behind->cells),
                     nranks * rounded(slot->families) + rounded(behind->families),
                     nranks * rounded(slot->particles) + rounded(behind->particles)};
}

int64_t bh_shared_bytes(const bh_room *slot, const bh_room *behind, int nranks)
{
    const bh_room room = room_of(slot, behind, nranks);
    return (int64_t)sizeof(bh_common) + room.families * (int64_t)sizeof(bh_family) +
           room.cells * (int64_t)sizeof(bh_cell) + 4 * room.particles * (int64_t)sizeof(double);
}

static void place_arrays(bh_tree *tree, void *memory, const bh_room *room)
{
    double *particle;
    tree->shared.common = memory;
    tree->shared.end = *room;
    tree->family = (bh_family *)(tree->shared.common + 1);
    tree->cell = (bh_cell *)(tree->family + room->families);
    particle = (double *)(tree->cell + room->cells);
    tree->sources.x = particle;
    tree->sources.y = particle + room->particles;
    tree->sources.z = particle + 2 * room->particles;
    tree->sources.m = particle + 3 * room->particles;
}

void bh_tree_share(bh_tree *tree, void *memory, const bh_room *slot, const bh_room *behind, int nranks, int rank)
{
    const bh_room size = {rounded(slot->cells), rounded(slot->families), rounded(slot->particles)};
    const bh_room room = room_of(slot, behind, nranks);
    const bool bare = tree->bare;
    bh_tree_free(tree);
    tree->bare = bare;
    place_arrays(tree, memory, &room);
    tree->shared.slot = size;
    tree->shared.begin = (bh_room){rank * size.cells, rank * size.families, rank * size.particles};
    tree->shared.elsewhere = (bh_room){nranks * size.cells, nranks * size.families, nranks * size.particles};
    bh__tree_clear(tree);
}

void bh_tree_moved(bh_tree *tree, void *memory, const bh_room *behind, int nranks)
{
    const bh_room room = room_of(&tree->shared.slot, behind, nranks);
    place_arrays(tree, memory, &room);
}

void bh_shared_move(const bh_tree *tree, void *memory, const bh_room *behind, int nranks)
{
    const bh_common *used = tree->shared.common;
    const size_t particles = (size_t)used->particles * sizeof(double);
    bh_tree to = *tree;
    bh_tree_moved(&to, memory, behind, nranks);
    to.shared.common->cells = used->cells;
    to.shared.common->families = used->families;
    to.shared.common->particles = used->particles;
    memcpy(to.family, tree->family, (size_t)used->families * sizeof(bh_family));
    memcpy(to.cell, tree->cell, (size_t)used->cells * sizeof(bh_cell));
    memcpy(to.sources.x, tree->sources.x, particles);
    memcpy(to.sources.y, tree->sources.y, particles);
    memcpy(to.sources.z, tree->sources.z, particles);
    memcpy(to.sources.m, tree->sources.m, particles);
}

void bh__shared_reset(bh_tree *tree)
{
    bh_shared *s = &tree->shared;
    s->limit = (bh_room){s->begin.cells + s->slot.cells, s->begin.families + s->slot.families,
                         s->begin.particles + s->slot.particles};
    s->lacks = (bh_room){0};
    s->behind = false;
}

static int64_t beyond(int64_t end, int64_t limit, int64_t begin)
{
    return end > limit ? end - begin : 0;
}

int bh__shared_reserve(bh_tree *tree, bh_room end)
{
    bh_shared *s = &tree->shared;
    const bh_room *begin = s->behind ? &s->elsewhere : &s->begin;
    const bh_room lacks = {beyond(end.cells, s->limit.cells, begin->cells),
                           beyond(end.families, s->limit.families, begin->families),
                           beyond(end.particles, s->limit.particles, begin->particles)};
    s->lacks.cells = lacks.cells > 0 ? lacks.cells : s->lacks.cells;
    s->lacks.families = lacks.families > 0 ? lacks.families : s->lacks.families;
    s->lacks.particles = lacks.particles > 0 ? lacks.particles : s->lacks.particles;
    return end.cells > INT32_MAX || end.families > INT32_MAX || end.particles > INT32_MAX ? EQP_ERR_OVERFLOW
           : lacks.cells > 0 || lacks.families > 0 || lacks.particles > 0                 ? EQP_ERR_MEMORY
                                                                                          : EQP_OK;
}

/* From now on the tree fills these numbers up to the limit. */
static void fill_from(bh_tree *tree, const bh_room *begin, const bh_room *limit)
{
    tree->ncells = begin->cells;
    tree->nfamilies = begin->families;
    tree->sources.n = begin->particles;
    tree->shared.limit = *limit;
    tree->shared.lacks = (bh_room){0};
    tree->shared.behind = true;
}

int bh_shared_open(bh_tree *tree, int64_t nbranches)
{
    const bh_room *begin = &tree->shared.elsewhere;
    fill_from(tree, begin, &tree->shared.end);
    bh_shared_close(tree);
    return bh__shared_reserve(tree, (bh_room){begin->cells + 2 * nbranches, begin->families + nbranches, 0});
}

void bh_shared_close(bh_tree *tree)
{
    bh_common *common = tree->shared.common;
    common->cells = tree->ncells;
    common->families = tree->nfamilies;
    common->particles = tree->sources.n;
}

int bh_shared_take(bh_tree *tree, int64_t bytes)
{
    /* Every cell and every particle of a block has a record, every family at least one cell besides its number. */
    bh_common *common = tree->shared.common;
    const int64_t record = (int64_t)bh__packed_bytes(tree->bare);
    const bh_room room = {bytes / record, bytes / (record + (int64_t)sizeof(int64_t)),
                          bytes / (int64_t)sizeof(bh__block_particle)};
    const bh_room begin = {atomic_fetch_add(&common->cells, room.cells),
                           atomic_fetch_add(&common->families, room.families),
                           atomic_fetch_add(&common->particles, room.particles)};
    const bh_room limit = {begin.cells + room.cells, begin.families + room.families, begin.particles + room.particles};
    fill_from(tree, &begin, &tree->shared.end);
    const int code = bh__shared_reserve(tree, limit);
    if (code != EQP_OK) { /* the numbers are taken again when there is more room */
        atomic_fetch_sub(&common->cells, room.cells);
        atomic_fetch_sub(&common->families, room.families);
        atomic_fetch_sub(&common->particles, room.particles);
        return code;
    }
    tree->shared.limit = limit;
    return EQP_OK;
}

void bh_tree_follow(bh_tree *tree, int64_t root, int64_t ntop_families)
{
    tree->root = root;
    tree->ntop_families = ntop_families;
}
