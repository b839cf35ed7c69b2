/* SPDX-License-Identifier: BSD-3-Clause */
/* Work units of owners in curve order, and the detail of survey that they need. */
#ifndef MAP_WORK_UNITS_H
#define MAP_WORK_UNITS_H

#include "map/options.h"
#include "map/owners.h"

/* Detail of the survey for the next map; last: totals when the last map was made. Local. */
eqp_survey_detail eqp__map_options_detail(const eqp_map_options *options, int nparts, const eqp_units_totals *last);

/* Approximate totals of a survey over all ranks: a shared owner counts once per sharer. Collective. */
int eqp__survey_totals(MPI_Comm comm, const eqp_survey *survey, const eqp_work_model *model, eqp_units_totals *all);

/* Work units as items: what a method assigns. */
typedef struct eqp_work_units {
    eqp_units *units;
    int64_t n;                      /* of this rank */
    double *weight;                 /* [n] nanoseconds by the nominal costs */
    const int64_t *pin_first, *pin; /* [n + 1], [pin_first[n]]: of `units`, or of the arrays below */
    int64_t *own_first, *own_pin;
} eqp_work_units;

/* Makes units for this many parts; *all: totals of all owners, in the quanta of the units. Owners must have been
 * surveyed with eqp__map_options_detail(). EQP_ERR_ARGUMENT, with a message (may be NULL), if every interaction
 * should be a unit and there are too many. Collective; the caller frees *units with eqp__work_units_free(); they are
 * empty on error. */
int eqp__work_units_make(MPI_Comm comm, const eqp_map_options *options, int nparts, eqp_owners *owners,
                         eqp_units_totals *all, eqp_work_units *units, eqp_message *message);
void eqp__work_units_free(eqp_work_units *units);

/* A part that computes some of an owner or a unit, and the amount. */
typedef struct eqp__vote {
    int part;
    double seconds;
} eqp__vote;

/* Adds a part's amount to votes [n]; returns its index there. */
static inline int64_t eqp__votes_add(eqp__vote *votes, int64_t *n, int part, double seconds)
{
    int64_t v = 0;

    while (v < *n && votes[v].part != part) {
        v++;
    }
    if (v == *n) {
        votes[(*n)++] = (eqp__vote){part, 0.0};
    }
    votes[v].seconds += seconds;
    return v;
}

#endif
