/* SPDX-License-Identifier: BSD-3-Clause */
/* Work units of lined up owners, and how much a survey must keep for them. */
#ifndef APP_RUN_UNITS_H
#define APP_RUN_UNITS_H

#include "run_owners.h"
#include "run_settings.h"

/* What a run's settings say. */
app_rebalance_options app_rebalance_of(const app_run_settings *run);

/* How much a survey for the next map is to keep; last: totals when the last map was made. Local. */
app_survey_detail app_rebalance_detail(const app_rebalance_options *options, int nparts, const eqp_units_totals *last);

/* Totals of a survey over all ranks, roughly: an owner that ranks share counts more than once. Collective. */
int app_survey_totals(MPI_Comm comm, const app_survey *survey, const app_work_model *model, eqp_units_totals *all);

/* Work units as items: what a method assigns. */
typedef struct app_units {
    eqp_units *units;
    int64_t n;                      /* of this rank */
    double *weight;                 /* [n] nanoseconds by the nominal costs */
    const int64_t *pin_first, *pin; /* [n + 1], [pin_first[n]]: of `units`, or of the arrays below */
    int64_t *own_first, *own_pin;
} app_units;

/* Units for so many parts; *all: totals of all owners, in the quanta of the units. Collective; the caller frees *units
 * with app_units_free(), and they are empty on error. Owners must have been surveyed as app_rebalance_detail() says.
 * EQP_ERR_ARGUMENT with a line (message may be NULL) where every interaction is to be a unit and there are too many. */
int app_units_make(MPI_Comm comm, const app_rebalance_options *options, int nparts, app_owners *owners,
                   eqp_units_totals *all, app_units *units, eqp_message *message);
void app_units_free(app_units *units);

#endif
