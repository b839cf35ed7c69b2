/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a walk (see walker.h) for one instruction set. The including file defines BH_TARGET, the attribute of
 * all functions for that set, and
 * - criterion and criterion_of(w): what the test needs, ready for use;
 * - far_lanes(c, relative, family): the bits of the children that the criterion lets act as one body, any for no child;
 * - put_open(to, family, lanes): family->below of these lanes, side by side;
 * - put_chain(to, first): first, first + 1 and so on, eight of them;
 * - put_numbers(to, first, lanes): first + k for these lanes k, side by side;
 * - put_values(to, values, lanes): values[k] for these lanes k, side by side;
 * - distances and distances_of(planes, at): how far a place is beyond each of eight planes, see walker.h;
 * - any_above(distances, factor, limit): whether one of eight is above factor times its limit.
 * All may write eight values, however many lanes there are. */
#include "walker.h"

#include <equipoise/error.h>

#include <stddef.h>

/* Selects without a branch, which would be unpredictable. */
static inline int64_t choose(bool which, int64_t yes, int64_t no)
{
    const int64_t mask = -(int64_t)which;
    return (yes & mask) | (no & ~mask);
}

/* Appends the children to open, which come right after cell i in the order of the list. */
BH_TARGET static inline int64_t push_open(bh_frontier *f, int64_t n, int64_t i, const bh_family *family, unsigned open)
{
    const int count = __builtin_popcount(open);
    const int32_t after = f->next[i];

    put_open(f->family + n, family, open);
    put_chain(f->next + n, (int32_t)n + 1);
    f->next[i] = (int32_t)n;
    f->next[choose(count > 0, n + count - 1, i)] = after;
    return n + count;
}

/* The octant of a child in its cell: x + 2 y + 4 z. */
static inline unsigned octant_of(const bh_family *family, int k)
{
    return (unsigned)(family->upper[0] >> k & 1) | (unsigned)(family->upper[1] >> k & 1) << 1 |
           (unsigned)(family->upper[2] >> k & 1) << 2;
}

/* Centre of a cell, absolute and relative to the group. */
static inline void place_cell(const bh__walker *w, const bh_family *family, double centre[3], double at[3])
{
    const int level = family->level - 1;

    bh__centre(&w->tree->box, family->place, level, w->side[level], centre);
    for (int k = 0; k < 3; k++) {
        at[k] = centre[k] - w->region->centre[k];
    }
}

BH_TARGET __attribute__((noinline)) static unsigned step_reach(const bh__walker *w, const bh_family *family,
                                                               unsigned lanes)
{
    const bh_region *region = w->region;
    const double side = w->side[family->level];
    unsigned reached = 0;
    double centre[3], at[3];

    place_cell(w, family, centre, at);
    for (int64_t piece = 0; piece < region->n; piece++) {
        unsigned open = lanes & ~reached;
        for (int64_t b = 0; b < region->nplanes && open != 0; b++) {
            const bh__planes *planes = &region->planes[piece * region->nplanes + b];
            const distances d = distances_of(planes, at);
            for (unsigned left = open; left != 0; left &= left - 1) {
                const int k = __builtin_ctz(left);
                const bool cut = any_above(d, side, planes->least[octant_of(family, k)]);
                open &= ~((unsigned)cut << k);
            }
        }
        reached |= open;
    }
    return reached;
}

/* Position of a tile. Inside the region it is this rank's, outside another's. */
typedef enum whereabouts { OUTSIDE, INSIDE, IN_DOUBT } whereabouts;

BH_TARGET static inline whereabouts find_tile(const bh_region *region, const double at[3])
{
    static const double zeros[BH_PLANES];
    whereabouts found = OUTSIDE;

    for (int64_t piece = 0; piece < region->n && found != INSIDE; piece++) {
        bool out = false, in = region->complete;
        for (int64_t b = 0; b < region->nplanes && !out; b++) {
            const bh__planes *planes = &region->planes[piece * region->nplanes + b];
            const distances d = distances_of(planes, at);
            out = any_above(d, 0, zeros);
            in = in && !any_above(d, -2, planes->doubt);
        }
        found = out ? found : in ? INSIDE : IN_DOUBT;
    }
    return found;
}

BH_TARGET static void step_drop(const bh__walker *w, const bh_choice *choice, bh_list *list)
{
    const bh_frontier f = list->frontier;

    for (int64_t i = 0; i < f.n; i++) {
        if (f.taken[i] == 0) {
            continue;
        }
        const bh_family *family = &w->tree->family[f.family[i]];
        double centre[3], at[3];
        whereabouts found = IN_DOUBT;
        if (w->region != NULL) {
            place_cell(w, family, centre, at);
            found = find_tile(w->region, at);
        } else {
            bh__centre(&w->tree->box, family->place, family->level - 1, w->side[family->level - 1], centre);
        }
        const bool kept = found == INSIDE || (found == IN_DOUBT && choice->keep(choice->user, centre));
        f.taken[i] = kept ? f.taken[i] : 0;
    }
}

BH_TARGET __attribute__((always_inline)) static inline void open_with(const bh__walker *w, bh__rule rule, bool shared,
                                                                      bh_list *list)
{
    const criterion c = criterion_of(w);
    const bh_family *families = w->tree->family;
    const uint32_t least = (uint32_t)w->families, count = (uint32_t)w->end - least;
    bh_frontier f = list->frontier;
    int64_t nvisits = 0, n = f.n;

    for (int64_t i = 0; i < n; i++) {
        const int32_t number = f.family[i];
        if ((uint32_t)number - least >= count) { /* absent (negative), or of no interest */
            f.taken[i] = 0;
            continue;
        }
        const bh_family *family = &families[number];
        const bool cut = rule == BH_CUTOFF;
        const unsigned accepted = cut ? 0 : far_lanes(&c, rule == BH_RELATIVE, family) & family->bodies;
        const unsigned all = cut ? bh__near_lanes(w, family) : (1u << family->nchild) - 1;
        const unsigned inner = cut ? family->inner & all : family->inner;
        f.taken[i] = (uint16_t)(accepted | (all & ~inner & ~accepted) << BH_FAMILY);
        nvisits += family->nchild;
        const unsigned open = inner & ~accepted;
        n = push_open(&f, n, i, family, shared && open != 0 ? step_reach(w, family, open) : open);
    }
    list->frontier.n = n;
    list->nvisits += nvisits;
}

/* One loop for each rule, with and without a region: walks pay only for the tests they need. */
BH_TARGET static void step_open(const bh__walker *w, bh_list *list)
{
    const bool shared = w->region != NULL;

    if (w->rule == BH_GEOMETRIC && shared) {
        open_with(w, BH_GEOMETRIC, true, list);
    } else if (w->rule == BH_GEOMETRIC) {
        open_with(w, BH_GEOMETRIC, false, list);
    } else if (w->rule == BH_RELATIVE && shared) {
        open_with(w, BH_RELATIVE, true, list);
    } else if (w->rule == BH_RELATIVE) {
        open_with(w, BH_RELATIVE, false, list);
    } else if (shared) {
        open_with(w, BH_CUTOFF, true, list);
    } else {
        open_with(w, BH_CUTOFF, false, list);
    }
}

/* The leaves whose particles are absent, which are rare. */
__attribute__((noinline, cold)) static int collect_absent(const bh_family *family, unsigned leaves, bh_list *list)
{
    int code = EQP_OK;

    for (; leaves != 0 && code == EQP_OK; leaves &= leaves - 1) {
        code = bh__put_absent(list, family->child + __builtin_ctz(leaves));
    }
    return code;
}

BH_TARGET static int step_collect(const bh__walker *w, bh_list *list)
{
    const bh_family *families = w->tree->family;
    const bh_frontier f = list->frontier;
    int64_t *cell = list->cell, *first = list->run_first, *count = list->run_count;
    int64_t ntiles = 0;
    int code = EQP_OK;

    for (int32_t i = 0; i >= 0 && code == EQP_OK; i = f.next[i]) {
        const int32_t number = f.family[i];
        const unsigned taken = f.taken[i];
        if (number < 0) {
            code = bh__put_absent(list, -1 - number);
            continue;
        }
        const bh_family *family = &families[number];
        const unsigned accepted = taken & BH_TAKEN_CELLS, here = taken >> BH_FAMILY & ~(unsigned)family->absent;
        put_numbers(cell, family->child, accepted);
        put_values(first, family->first, here);
        put_values(count, family->count, here);
        if ((taken >> BH_FAMILY & family->absent) != 0) {
            code = collect_absent(family, taken >> BH_FAMILY & family->absent, list);
        }
        ntiles += taken != 0;
        cell += __builtin_popcount(accepted);
        first += __builtin_popcount(here);
        count += __builtin_popcount(here);
    }
    list->ncells = cell - list->cell;
    list->nruns = first - list->run_first;
    list->ntiles = ntiles;
    for (int64_t r = 0; r < list->nruns; r++) {
        list->nsources += list->run_count[r];
    }
    return code;
}
