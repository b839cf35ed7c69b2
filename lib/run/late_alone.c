/* SPDX-License-Identifier: BSD-3-Clause */
#include "run/late.h"

#include <equipoise/base.h>

#include <stdlib.h>

/* Every owner lives with its part; each must have been surveyed. */
static int place(const eqp_owners *owners, const int *part, int64_t nhome, eqp_placement *placement)
{
    for (int64_t i = 0; i < nhome; i++) {
        placement[i].home = -1;
    }
    for (int64_t o = 0; o < owners->n; o++) {
        const int64_t at = owners->owner[o].at_home;
        if (at < 0 || at >= nhome || placement[at].home >= 0) {
            return EQP_ERR_DATA;
        }
        placement[at] = (eqp_placement){part[o], part[o]};
    }
    return owners->n == nhome ? EQP_OK : EQP_ERR_DATA;
}

int eqp__late_make_alone(const eqp_balancer *b, const eqp_making *making, int64_t nhome, eqp_found_map *found)
{
    const eqp_work_model model = eqp__work_model_measured(&b->model, &b->costs);
    eqp_owners owners = {.n = 0};
    int *part = NULL;
    int code;

    EQP_TRY(eqp__owners_line_up_alone(&b->survey, &model, &b->costs, &owners));
    EQP_TRY(eqp_array_create(&part, owners.n, sizeof *part));
    EQP_TRY(eqp__draft_alone(making, b->nparts, &owners, b->has_map ? b->map : NULL, part, &found->made));
    EQP_TRY(eqp_array_create(&found->placement, nhome, sizeof *found->placement));
    EQP_TRY(place(&owners, part, nhome, found->placement));
    EQP_TRY(eqp_map_create(0, NULL, NULL, NULL, &found->map));
done:
    free(part);
    eqp__owners_free(&owners);
    return code;
}
