/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdlib.h>
#include <string.h>

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
        const int64_t node = stage->own_node[s], local = stage->own_local[s];
        const dd_node *owner = &domain->network.node[node];
        const int arm = stage->own_arm[s];
        place(domain, owner->x, dd_halo_position(domain, halo, halo->place[halo->first[node] + arm]), stage, local);
        for (int d = 0; d < 3; d++) {
            stage->columns.at[6 + d][local] = owner->arm[arm].burgers[d];
        }
    }
}

int dd_stage_start(const dd_domain *domain, const dd_halo *halo, dd_stage *stage, double *out)
{
    memset(stage->columns.force[0], 0, 6 * (size_t)(stage->n + DD_LANES) * sizeof(double));
    dd_stage_place_own(domain, halo, stage);
    for (int64_t i = 0; i < stage->nends; i++) {
        memcpy(out + 3 * i, dd_halo_position(domain, halo, stage->send_end[i]), DD_END_BYTES);
    }
    return eqp_route_start(stage->ends, out);
}

int dd_stage_finish(const dd_domain *domain, dd_stage *stage)
{
    const void *received = NULL;
    const int code = eqp_route_finish(stage->ends, &received);
    const double(*x)[3] = received;

    for (int64_t g = 0; g < stage->nghosts && code == EQP_OK; g++) {
        place(domain, x[stage->ghost_end[g][0]], x[stage->ghost_end[g][1]], stage, stage->ghost_local[g]);
    }
    return code;
}

int dd_stage_refresh(const dd_domain *domain, const dd_halo *halo, dd_stage *stage)
{
    double *out = NULL;
    int code;

    code = stage->code == EQP_OK ? eqp_array_create(&out, 3 * stage->nends, sizeof *out) : stage->code;
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(dd_stage_start(domain, halo, stage, out));
    EQP_TRY(dd_stage_finish(domain, stage));
done:
    free(out);
    return code;
}

int dd_stage_return(dd_stage *stage, int code, double *mine, double *sum)
{
    const eqp_route_view view = eqp_route_arrivals(stage->route);

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
    EQP_TRY(code == EQP_ERR_STATE ? started : code); /* nothing was sent: all ranks know why */
    for (int64_t i = 0; i < stage->nsend; i++) {
        for (int c = 0; c < 6; c++) {
            stage->columns.force[c][stage->own_local[stage->send[i]]] += sum[6 * i + c];
        }
    }
done:
    return code;
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

int dd_stage_sender(const dd_stage *stage, int64_t ghost)
{
    return eqp_route_arrivals(stage->route).home[dd_find_last(stage->ghost_first, stage->nblocks, ghost)];
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

static int compare(const void *left, const void *right)
{
    const dd_tag a = ((const dd_end *)left)->tag, b = ((const dd_end *)right)->tag;

    return (a > b) - (a < b);
}

int64_t dd_ends_sort(int64_t n, dd_end *ends)
{
    int64_t kept = 0;

    if (n > 1) {
        qsort(ends, (size_t)n, sizeof *ends, compare);
    }
    for (int64_t i = 0; i < n; i++) {
        if (kept == 0 || ends[i].tag != ends[kept - 1].tag) {
            ends[kept++] = ends[i];
        }
    }
    return kept;
}

static int64_t find(const dd_end *ends, int64_t n, dd_tag tag)
{
    const dd_end key = {.tag = tag};
    const dd_end *at = bsearch(&key, ends, (size_t)n, sizeof *ends, compare);

    return at - ends; /* found: the list was made of all ends */
}

/* Finds the ends of a block, of which the first has index `first`. Returns the number of ends. ends: room for two per
 * segment. */
static int64_t find_in_block(dd_stage *stage, int64_t block, int64_t first, dd_end *ends)
{
    const int64_t from = stage->ghost_first[block], n = stage->ghost_first[block + 1] - from;
    int64_t kept;

    for (int64_t g = 0; g < n; g++) {
        const dd_segment_key *key = &stage->key[stage->ghost_local[from + g]];
        ends[2 * g] = (dd_end){.tag = key->owner};
        ends[2 * g + 1] = (dd_end){.tag = key->other};
    }
    kept = dd_ends_sort(2 * n, ends);
    for (int64_t g = from; g < from + n; g++) {
        const dd_segment_key *key = &stage->key[stage->ghost_local[g]];
        stage->ghost_end[g][0] = first + find(ends, kept, key->owner);
        stage->ghost_end[g][1] = first + find(ends, kept, key->other);
    }
    return kept;
}

int dd_stage_find_ends(dd_stage *stage)
{
    const eqp_route_view ends = eqp_route_arrivals(stage->ends), segments = eqp_route_arrivals(stage->route);
    int64_t largest = 0;
    dd_end *room = NULL;
    int code = ends.n == stage->nblocks ? EQP_OK : EQP_ERR_INTERNAL;

    for (int64_t b = 0; b < stage->nblocks; b++) {
        const int64_t n = stage->ghost_first[b + 1] - stage->ghost_first[b];
        largest = n > largest ? n : largest;
    }
    EQP_TRY(code);
    EQP_TRY(eqp_array_create(&room, 2 * largest, sizeof *room));
    EQP_TRY(eqp_array_create(&stage->ghost_end, stage->nghosts, sizeof *stage->ghost_end));
    for (int64_t b = 0; b < stage->nblocks; b++) {
        const int64_t n = find_in_block(stage, b, ends.offset[b] / DD_END_BYTES, room);
        if (ends.id[b] != segments.id[b] || ends.home[b] != segments.home[b] || ends.bytes[b] != n * DD_END_BYTES) {
            EQP_TRY(EQP_ERR_INTERNAL);
        }
    }
done:
    free(room);
    return code;
}
