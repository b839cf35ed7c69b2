/* SPDX-License-Identifier: BSD-3-Clause */
#include "walls.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>

int dd_walls_create(const dd_domain *domain, int nparts, const eqp_paradis_control *control, bool bisection,
                    eqp_boxes **boxes)
{
    int n[3] = {control->domains[0], control->domains[1], control->domains[2]};
    double high[3];
    int code = EQP_OK;

    for (int d = 0; d < 3; d++) {
        high[d] = domain->low[d] + domain->edge[d];
    }
    if ((int64_t)n[0] * n[1] * n[2] != nparts) {
        code = eqp_boxes_geometry(nparts, n);
    }
    return code == EQP_OK
               ? eqp_boxes_create(bisection ? EQP_BOXES_BISECTION : EQP_BOXES_SECTIONS, domain->low, high, n, boxes)
               : code;
}

int dd_walls_turn(bool bisection, int64_t every, int64_t step)
{
    const int64_t phase = every > 0 ? step % every : 3;

    return phase < (bisection ? 1 : 3) ? (int)phase : -1;
}

int dd_walls_move(const dd_domain *domain, const int64_t cells[3], const double *loads, int turn, eqp_boxes *boxes)
{
    eqp_boxes_options options = eqp_boxes_options_defaults();

    options.direction = turn;
    for (int d = 0; d < 3; d++) {
        options.cell[d] = domain->edge[d] / (double)cells[d];
    }
    return eqp_boxes_rebalance(boxes, loads, &options, NULL);
}

int dd_walls_rebalance(const dd_domain *domain, const int64_t cells[3], double load, int turn, eqp_boxes *boxes)
{
    double *loads = NULL;
    int code;

    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&loads, domain->nranks, sizeof *loads), NULL));
    if (MPI_Allgather(&load, 1, MPI_DOUBLE, loads, 1, MPI_DOUBLE, domain->comm) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    EQP_TRY(eqp_agree(domain->comm, dd_walls_move(domain, cells, loads, turn, boxes), NULL));
done:
    free(loads);
    return code;
}

int dd_walls_settle(dd_domain *domain, const eqp_boxes *boxes, dd_moved *moved)
{
    int *dest = NULL;
    int code;

    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&dest, domain->network.n, sizeof *dest), NULL));
    for (int64_t i = 0; i < domain->network.n; i++) {
        dest[i] = eqp_boxes_find(boxes, domain->network.node[i].x);
    }
    EQP_TRY(dd_domain_migrate(domain, dest, moved));
done:
    free(dest);
    return code;
}
