/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of work, and what they cost at first. */
#ifndef BH_COSTS_H
#define BH_COSTS_H

#include <stdint.h>

/* Kinds of work that the cost model knows, as in the report. */
enum {
    BH_KIND_PAIR,   /* a target and a source particle, the target itself among them */
    BH_KIND_CELL,   /* a target and a cell */
    BH_KIND_LISTED, /* an entry of a group's list, cell or particle: fetched once for all its targets */
    BH_KIND_VISIT,  /* a cell that a walk looked at */
    BH_KIND_GROUP,  /* a group */
    BH_KINDS
};
extern const char *const bh_kind_names[BH_KINDS];

/* How much work of each kind. */
typedef struct bh_counts {
    int64_t of[BH_KINDS];
} bh_counts;

void bh_counts_add(bh_counts *sum, const bh_counts *counts);

/* Nominal costs in seconds, of which only the ratios matter: what holds before anything is measured, and what work
 * units are cut by, so that these depend on the particles alone. Ranks that share a group each have it as a group
 * (BH_ONCE). Each looks at the cells that may be its own: on the way there and at its borders also at what others look
 * at, in all a third more than one rank alone with two sharers, three times as much with eight (32,768 clustered
 * particles). How much is not known before units are dealt out; afterwards it is part of what the tiles of each share
 * weigh. */
extern const double bh_kind_nominal[BH_KINDS];
#define BH_ONCE (1u << BH_KIND_GROUP)

#endif
