/* SPDX-License-Identifier: BSD-3-Clause */
/* From the parts of owners and units to a map that all ranks know, and to what the owners' homes are told. */
#ifndef APP_RUN_VERDICTS_H
#define APP_RUN_VERDICTS_H

#include "map.h"
#include "run_units.h"

/* What an owner's home is told: who computes it (see map.h) and where it should live. */
typedef struct app_verdict {
    int64_t tag;
    int home;
} app_verdict;

/* part: of every owner, or of every unit where there are any. An owner whose units several parts compute lives with one
 * of them. burden: NULL: owners along the curve live together as far as they can, else with who has most of them; or
 * [nparts] what each part has to do, in any unit, the same on all ranks: they live with who has least. *made holds
 * nothing and gets the table of split owners, of which there are *nsplit; verdicts: one for each of the nhome owners
 * whose home is this rank, in the order of their numbers (at_home), owned by the caller. Collective; on error neither
 * is made. */
int app_verdicts_make(MPI_Comm comm, const app_owners *owners, const app_units *units, const int *part, int nparts,
                      const double *burden, int64_t nhome, app_map *made, int64_t *nsplit, app_verdict **verdicts);

#endif
