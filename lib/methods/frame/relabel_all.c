/* SPDX-License-Identifier: BSD-3-Clause */
#include "methods/frame/relabel_all.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "comm/send.h"
#include "methods/frame/parts.h"

#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

/* Gathers the overlaps of new and present parts on all ranks. code: this rank's code so far. Collective. */
static int gather_overlaps(MPI_Comm comm, int code, const eqp_balance_items *items, const int *now, int nparts,
                           const int *part, int64_t *count, int64_t *noverlaps, eqp_overlap **overlaps)
{
    int64_t nmine = 0, total = 0;
    eqp_overlap *mine = NULL, *all = NULL;
    int nranks, rank;

    code = code ? code : eqp__comm_shape(comm, &rank, &nranks);
    if (!code && items->n > 0 && now) {
        code = eqp__overlaps_collect(items->n, part, now, items->weight, nparts, &nmine, &mine);
    }
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(EQP__MPI(MPI_Allgather(&nmine, 1, MPI_INT64_T, count, 1, MPI_INT64_T, comm)));
    for (int r = 0; r < nranks; r++) {
        total += count[r];
    }
    code = eqp_array_create(&all, total, sizeof *all);
    EQP_TRY(eqp__gather_all(comm, code, sizeof *all, nmine, mine, count, all));
    *noverlaps = total;
    *overlaps = all;
    all = NULL;
done:
    EQP__FREE(mine, all);
    return code;
}

int eqp__relabel_all(MPI_Comm comm, const eqp_balance_items *items, const int *now, const eqp_balance_options *options,
                     int *part, int *number)
{
    int64_t *count = NULL, noverlaps = 0;
    eqp_overlap *overlaps = NULL;
    int *fresh = NULL, nranks, rank, code = eqp__comm_shape(comm, &rank, &nranks);

    code = code ? code : EQP__ARRAYS(EQP__ARRAY(count, nranks), EQP__ARRAY(fresh, options->nparts));
    EQP_TRY(gather_overlaps(comm, code, items, now, options->nparts, part, count, &noverlaps, &overlaps));
    code = eqp__parts_relabel(options->nparts, options->share, noverlaps, overlaps, fresh);
    if (!(code = eqp_agree(comm, code, NULL))) {
        for (int64_t i = 0; i < items->n; i++) {
            part[i] = fresh[part[i]];
        }
        if (number != NULL) {
            memcpy(number, fresh, (size_t)options->nparts * sizeof *number);
        }
    }
done:
    EQP__FREE(count, fresh, overlaps);
    return code;
}
