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

/* Units for so many parts; *all: totals of all owners, in the quanta of the units. Collective; the caller frees *units
 * with eqp_units_free(). */
int app_units_make(MPI_Comm comm, const app_rebalance_options *options, int nparts, app_owners *owners,
                   eqp_units_totals *all, eqp_units **units);

#endif
