/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of work and their initial costs. */
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

/* Amounts of work of each kind. */
typedef struct bh_counts {
    int64_t of[BH_KINDS];
} bh_counts;

void bh_counts_add(bh_counts *sum, const bh_counts *counts);

/* Nominal costs in seconds; only their ratios matter. They are used before anything is measured, and for cutting work
 * units, so that units depend on the particles alone. Each rank that shares a group pays for the group (BH_ONCE) and
 * visits cells on the way to its tiles and around them: in all a third more visits than by one rank with two sharers,
 * three times as many with eight (32,768 clustered particles). These are unknown before units are assigned; afterwards
 * the weights of each share's tiles contain them. */
extern const double bh_kind_nominal[BH_KINDS];
#define BH_ONCE (1u << BH_KIND_GROUP)

#endif
