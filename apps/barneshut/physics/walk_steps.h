/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of a walk (see walker.h) for one instruction set. Who includes this defines BH_TARGET, the attribute of all
 * functions for that set, and
 *   far_lanes(w, family)           the bits of the children that the criterion lets act as one body; any for no child
 *   put_open(to, family, lanes)    family->below of these lanes, side by side; may write all 8
 *   put_chain(to, first)           first, first + 1, ... 8 of them
 *   put_numbers(to, first, lanes)  first + k for these lanes k, side by side; may write all 8
 *   put_values(to, values, lanes)  values[k] for these lanes k, side by side; may write all 8 */
#include "walker.h"

#include <equipoise/error.h>

#include <stddef.h>

/* Appends those to be opened, which come right after cell i in the order of the list. */
BH_TARGET static inline int64_t push_open(bh_frontier *f, int64_t n, int64_t i, const bh_family *family, unsigned open)
{
    const int count = __builtin_popcount(open);
    const int32_t after = f->next[i];
    const int64_t last = count > 0 ? n + count - 1 : i;

    put_open(f->family + n, family, open);
    put_chain(f->next + n, (int32_t)n + 1);
    f->next[i] = (int32_t)n;
    f->next[last] = after;
    return n + count;
}

BH_TARGET static int step_open(const bh__walker *walker, bh_list *list)
{
    const bh__walker w = *walker;
    const bh_family *families = w.tree->family;
    bh_frontier f = list->frontier;
    int64_t ncells = 0, nruns = 0, ntiles = 0, nvisits = 0, n = f.n;

    for (int64_t i = 0; i < n; i++) {
        const int32_t number = f.family[i];
        if (number < w.families) { /* absent, or of no interest */
            f.taken[i] = 0;
            continue;
        }
        if (n + BH_FAMILY > f.capacity) {
            const int code = bh__frontier_reserve(&list->frontier, n);
            if (code != EQP_OK) {
                return code;
            }
            f = list->frontier;
        }
        const bh_family *family = &families[number];
        const unsigned accepted = far_lanes(&w, family) & family->bodies;
        const unsigned inner = family->inner, all = (1u << family->nchild) - 1;
        const unsigned leaves = all & ~inner & ~accepted;
        f.taken[i] = (uint16_t)(accepted | leaves << BH_FAMILY);
        ncells += __builtin_popcount(accepted);
        nruns += __builtin_popcount(leaves);
        ntiles += (accepted | leaves) != 0;
        nvisits += family->nchild;
        n = push_open(&f, n, i, family, inner & ~accepted);
    }
    list->frontier.n = n;
    list->ncells += ncells;
    list->nruns += nruns;
    list->ntiles += ntiles;
    list->nvisits += nvisits;
    return EQP_OK;
}

/* The leaves whose particles are absent, and the tile if it is watched: both are rare. */
static int collect_rare(const bh__walker *w, const bh__visitor *visitor, const bh_family *family, unsigned taken,
                        bool watched, const int64_t *cells, bh_list *list)
{
    int code = EQP_OK;

    for (unsigned left = taken >> BH_FAMILY & family->absent; left != 0 && code == EQP_OK; left &= left - 1) {
        code = bh__put_absent(list, family->child + __builtin_ctz(left));
    }
    return code == EQP_OK && watched ? bh__show_family(w, visitor, family, taken, cells) : code;
}

BH_TARGET static int step_collect(const bh__walker *w, const bh__visitor *visitor, bh_list *list)
{
    const bh_family *families = w->tree->family;
    const bh_frontier f = list->frontier;
    const uint64_t pin_below = visitor->seen != NULL ? visitor->pin_below : 0;
    int64_t *cell = list->cell, *first = list->run_first, *count = list->run_count;
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
        const bool watched = (uint64_t)family->pin < pin_below && taken != 0;
        put_numbers(cell, family->child, accepted);
        put_values(first, family->first, here);
        put_values(count, family->count, here);
        if (watched || (taken >> BH_FAMILY & family->absent) != 0) {
            code = collect_rare(w, visitor, family, taken, watched, cell, list);
        }
        cell += __builtin_popcount(accepted);
        first += __builtin_popcount(here);
        count += __builtin_popcount(here);
    }
    list->ncells = cell - list->cell;
    list->nruns = first - list->run_first;
    for (int64_t r = 0; r < list->nruns; r++) {
        list->nsources += list->run_count[r];
    }
    return code;
}
