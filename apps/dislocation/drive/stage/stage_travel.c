/* SPDX-License-Identifier: BSD-3-Clause */
#include "window.h"

/* Places the far end by the nearest periodic image, with the same bits on every rank. */
static void place(const dd_domain *domain, const double owner[3], const double other[3], const dd_stage *stage,
                  int64_t local)
{
    double along[3];

    dd_domain_offset(domain, other, owner, along);
    for (int d = 0; d < 3; d++) {
        stage->columns.at[d][local] = owner[d];
        stage->columns.at[3 + d][local] = owner[d] + along[d];
    }
}

void dd_stage_place_own(const dd_domain *domain, const dd_halo *halo, const dd_stage *stage)
{
    for (int64_t s = 0; s < stage->nown; s++) {
        const dd_own *own = &stage->own[s];
        const int64_t local = stage->own_local[s];
        place(domain, domain->network.node[own->node].x, dd_halo_position(domain, halo, own->far), stage, local);
        for (int d = 0; d < 3; d++) {
            stage->columns.at[6 + d][local] = own->arm->burgers[d];
        }
    }
}

int dd_stage_start(const dd_domain *domain, const dd_halo *halo, dd_stage *stage, double *out)
{
    dd_stage_place_own(domain, halo, stage);
    if (stage->window != NULL) {
        dd_window_clear(stage);
        return EQP_OK;
    }
    memset(stage->columns.force[0], 0, 6 * (size_t)(stage->n + DD_LANES) * sizeof(double));
    for (int64_t i = 0; i < stage->nends; i++) {
        memcpy(out + 3 * i, dd_halo_position(domain, halo, stage->send_end[i]), DD_END_BYTES);
    }
    return eqp_route_start(stage->ends, out);
}

int dd_stage_finish(const dd_domain *domain, dd_stage *stage)
{
    const void *received = NULL;

    if (stage->window != NULL) {
        return eqp_node_meet(stage->window->node, EQP_OK);
    }
    EQP_CHECK(eqp_route_finish(stage->ends, &received));
    const double(*x)[3] = received;
    for (int64_t g = 0; g < stage->nghosts; g++) {
        place(domain, x[stage->ghost_end[g][0]], x[stage->ghost_end[g][1]], stage, stage->ghost_local[g]);
    }
    return EQP_OK;
}

int dd_stage_refresh(const dd_domain *domain, const dd_halo *halo, dd_stage *stage)
{
    DD_FREED double *out = NULL;
    const int code = stage->code == EQP_OK ? eqp_array_create(&out, 3 * stage->nends, sizeof *out) : stage->code;

    EQP_CHECK(eqp_agree(domain->comm, code, NULL));
    EQP_CHECK(dd_stage_start(domain, halo, stage, out));
    return dd_stage_finish(domain, stage);
}

int dd_stage_return(dd_stage *stage, int code, double *mine, double *sum)
{
    const eqp_route_view view = eqp_route_arrivals(stage->route);

    if (stage->window != NULL) {
        return dd_window_gather(stage, code);
    }
    if (code != EQP_OK) {
        eqp_route_give_up(stage->route, code);
    }
    for (int64_t b = 0; b < view.n; b++) {
        double *to = mine + view.offset[b] / (int64_t)sizeof *mine;
        for (int64_t g = stage->ghost_first[b]; g < stage->ghost_first[b + 1]; g++) {
            for (int c = 0; c < 6; c++) {
                *to++ = stage->columns.force[c][stage->ghost_local[g]];
            }
        }
    }
    const int started = eqp_route_back_start(stage->route, mine);
    code = eqp_route_back_finish(stage->route, sum);
    EQP_CHECK(code == EQP_ERR_STATE ? started : code); /* nothing was sent: all ranks know why */
    for (int64_t i = 0; i < stage->nsend; i++) {
        for (int c = 0; c < 6; c++) {
            stage->columns.force[c][stage->own_local[stage->send[i]]] += sum[6 * i + c];
        }
    }
    return EQP_OK;
}

static int add_run(dd_run *runs, int n, int64_t first, int64_t end)
{
    if (end > first) {
        runs[n++] = (dd_run){first, end - first};
    }
    return n;
}

int dd_stage_runs(const dd_stage *stage, int64_t local, int64_t cell, dd_run runs[DD_GRID_RUNS + 1])
{
    dd_cells cells[DD_GRID_RUNS];
    const int ncells = dd_grid_forward(&stage->grid, cell, cells);
    int64_t end = stage->cell_first[cell + 1];
    int c = 0, n;

    /* The next cell of the column continues this run. */
    if (ncells > 0 && cells[0].first == cell + 1) {
        end = stage->cell_first[cells[c++].last + 1];
    }
    n = add_run(runs, 0, local + 1, end);
    for (; c < ncells; c++) {
        n = add_run(runs, n, stage->cell_first[cells[c].first], stage->cell_first[cells[c].last + 1]);
    }
    return n;
}

int dd_stage_target_runs(const dd_stage *stage, const dd_target *target, int64_t cell, dd_run runs[DD_GRID_SOURCES])
{
    int64_t sources[DD_GRID_SOURCES];
    int nsources, n = 0;

    if (target->share < 0) {
        return dd_stage_runs(stage, target->local, cell, runs);
    }
    nsources = dd_grid_sources(&stage->grid, cell, sources);
    for (int i = 0; i < nsources; i++) {
        if ((stage->shares.share[target->share].sources >> i & 1) != 0) {
            const int64_t first = i == 0 ? target->local + 1 : stage->cell_first[sources[i]];
            n = add_run(runs, n, first, stage->cell_first[sources[i] + 1]);
        }
    }
    return n;
}

int dd_stage_sender(const dd_stage *stage, int64_t source)
{
    const int64_t ghost = -1 - source;

    return stage->window != NULL
               ? (int)ghost
               : eqp_route_arrivals(stage->route).home[dd_find_last(stage->ghost_first, stage->nblocks, ghost)];
}

int64_t dd_stage_cell(const dd_stage *stage, int64_t local)
{
    return dd_find_last(stage->cell_first, stage->grid.ncells, local);
}

int dd_columns_create(int64_t n, double **memory, dd_columns *columns)
{
    const int64_t room = n + DD_LANES;
    const int code = eqp_array_create(memory, 15 * room, sizeof **memory);

    for (int c = 0; c < 15 && code == EQP_OK; c++) {
        *(c < 9 ? &columns->at[c] : &columns->force[c - 9]) = *memory + c * room;
    }
    return code;
}

dd_segment dd_columns_segment(const dd_columns *columns, int64_t place)
{
    dd_segment segment;

    for (int d = 0; d < 3; d++) {
        segment.x1[d] = columns->at[d][place];
        segment.x2[d] = columns->at[3 + d][place];
        segment.burgers[d] = columns->at[6 + d][place];
    }
    return segment;
}

dd_segment dd_stage_segment(const dd_stage *stage, int64_t local)
{
    return dd_columns_segment(&stage->columns, local);
}
