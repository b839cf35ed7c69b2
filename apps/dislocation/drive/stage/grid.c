/* SPDX-License-Identifier: BSD-3-Clause */
#include "grid.h"

#include <math.h>
#include <stdlib.h>

void dd_grid_init(dd_grid *grid, const dd_domain *domain, const int64_t n[3])
{
    grid->ncells = 1;
    grid->far_order = domain->far_order;
    for (int d = 0; d < 3; d++) {
        grid->n[d] = n[d];
        grid->ncells *= n[d];
        grid->low[d] = domain->low[d];
        grid->width[d] = domain->edge[d] / (double)n[d];
        grid->periodic[d] = domain->box[d] > 0;
    }
}

bool dd_grid_has_far(const dd_grid *grid)
{
    bool far = false;

    for (int d = 0; d < 3; d++) {
        far = far || grid->periodic[d] || grid->n[d] > 2;
    }
    return far;
}

static int64_t number(const dd_grid *grid, const int64_t at[3])
{
    return (at[0] * grid->n[1] + at[1]) * grid->n[2] + at[2];
}

int64_t dd_grid_cell(const dd_grid *grid, const double x[3])
{
    int64_t at[3];

    for (int d = 0; d < 3; d++) {
        const double c = floor((x[d] - grid->low[d]) / grid->width[d]);
        at[d] = (int64_t)fmin(fmax(c, 0.0), (double)(grid->n[d] - 1));
    }
    return number(grid, at);
}

int64_t dd_grid_cell_of_node(const dd_grid *grid, const dd_domain *domain, const dd_halo *halo, int64_t node)
{
    const dd_node *of = &domain->network.node[node];
    double low[3] = {0.0}, high[3] = {0.0}, middle[3];

    for (int k = 0; k < of->narms; k++) {
        if (of->tag < of->arm[k].tag) {
            double along[3];
            dd_domain_offset(domain, dd_halo_position(domain, halo, halo->place[halo->first[node] + k]), of->x, along);
            for (int d = 0; d < 3; d++) {
                low[d] = fmin(low[d], along[d]);
                high[d] = fmax(high[d], along[d]);
            }
        }
    }
    for (int d = 0; d < 3; d++) {
        middle[d] = of->x[d] + 0.5 * (low[d] + high[d]);
    }
    dd_domain_fold(domain, middle);
    return dd_grid_cell(grid, middle);
}

/* A neighbour's coordinate; false: outside the grid. */
static bool step_to(const dd_grid *grid, int d, int64_t from, int by, int64_t *to)
{
    *to = from + by;
    if (*to < 0 || *to >= grid->n[d]) {
        *to = *to < 0 ? *to + grid->n[d] : *to - grid->n[d];
        return grid->periodic[d];
    }
    return true;
}

/* Cells of one column from z + low to z + 1, joined where they are consecutive. */
static int add_column(const dd_grid *grid, int64_t x, int64_t y, int64_t z, int low, dd_cells *runs)
{
    int n = 0;

    for (int dz = low; dz <= 1; dz++) {
        int64_t at[3] = {x, y, 0};
        if (step_to(grid, 2, z, dz, &at[2])) {
            const int64_t cell = number(grid, at);
            if (n > 0 && runs[n - 1].last + 1 == cell) {
                runs[n - 1].last = cell;
            } else {
                runs[n++] = (dd_cells){cell, cell};
            }
        }
    }
    return n;
}

int dd_grid_forward(const dd_grid *grid, int64_t cell, dd_cells runs[DD_GRID_RUNS])
{
    const int64_t x = cell / (grid->n[1] * grid->n[2]), y = cell / grid->n[2] % grid->n[1], z = cell % grid->n[2];
    int64_t there, aside;
    int n = add_column(grid, x, y, z, 1, runs);

    if (step_to(grid, 1, y, 1, &there)) {
        n += add_column(grid, x, there, z, -1, runs + n);
    }
    if (step_to(grid, 0, x, 1, &there)) {
        for (int dy = -1; dy <= 1; dy++) {
            if (step_to(grid, 1, y, dy, &aside)) {
                n += add_column(grid, there, aside, z, -1, runs + n);
            }
        }
    }
    return n;
}

int dd_grid_sources(const dd_grid *grid, int64_t cell, int64_t sources[DD_GRID_SOURCES])
{
    dd_cells runs[DD_GRID_RUNS];
    const int nruns = dd_grid_forward(grid, cell, runs);
    int n = 0;

    sources[n++] = cell;
    for (int r = 0; r < nruns; r++) {
        for (int64_t c = runs[r].first; c <= runs[r].last; c++) {
            sources[n++] = c;
        }
    }
    return n;
}

void dd_grid_steps(const dd_grid *grid, int64_t from, int64_t to, int64_t steps[3])
{
    for (int d = 2; d >= 0; d--) {
        steps[d] = to % grid->n[d] - from % grid->n[d];
        if (grid->periodic[d] && 2 * llabs(steps[d]) > grid->n[d]) {
            steps[d] += steps[d] < 0 ? grid->n[d] : -grid->n[d];
        }
        from /= grid->n[d];
        to /= grid->n[d];
    }
}
