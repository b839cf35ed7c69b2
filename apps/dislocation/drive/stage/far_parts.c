/* SPDX-License-Identifier: BSD-3-Clause */
#include "far_parts.h"

#include "../../../shell/run_files.h"
#include "../../physics/elastic/far.h"
#include "../work.h"

#include <math.h>

/* The network that divisions are compared by: that of every default. */
static const eqp_network usual = EQP_NETWORK_DEFAULTS;

static int64_t at_most(int64_t n, int64_t nparts)
{
    return (n + nparts - 1) / nparts;
}

/* A part has segments in its share of the cells and in about two beside. With log2 P stages, which are best where this
 * matters, a field passes half as many parts on its way; moments go to so many that they pass few others. */
static double cost_of(const dd_far_parts *parts, int64_t nparts, int64_t slabs, int64_t runs)
{
    const int64_t sources = at_most(parts->nrows, slabs) * (parts->ncells / parts->nrows);
    const double lives = 2.0 + (double)parts->ncells / (double)nparts;
    const double passes = fmax(1.0, 0.5 * log2((double)nparts));
    const double numbers = (double)sources * DD_FAR_MOMENTS + (double)slabs * lives * passes * DD_FAR_FIELD;

    return dd_kind_nominal[DD_KIND_CELL] * (double)(at_most(parts->ncells, runs) * sources) +
           usual.beta * (double)sizeof(double) * numbers;
}

void dd_far_parts_init(dd_far_parts *parts, const dd_grid *grid, int nparts)
{
    double least = INFINITY;

    *parts = (dd_far_parts){.ncells = grid->ncells, .nrows = grid->n[0] * grid->n[1]};
    if (!dd_grid_has_far(grid)) {
        return;
    }
    for (int slabs = 1; slabs <= nparts && slabs <= parts->nrows; slabs++) {
        const int64_t runs = nparts / slabs < grid->ncells ? nparts / slabs : grid->ncells;
        const double cost = cost_of(parts, nparts, slabs, runs);
        if (cost < least) {
            least = cost;
            parts->slabs = slabs;
            parts->runs = (int)runs;
        }
    }
}

bool dd_far_parts_piece(const dd_far_parts *parts, int part, dd_far_piece *piece)
{
    int64_t row;

    *piece = (dd_far_piece){0};
    if (part >= parts->runs * parts->slabs) { /* of a grid that is not known yet, too */
        return false;
    }
    row = parts->ncells / parts->nrows;
    app_slice(parts->ncells, part / parts->slabs, parts->runs, &piece->cell, &piece->ncells);
    app_slice(parts->nrows, part % parts->slabs, parts->slabs, &piece->row, &piece->nrows);
    piece->source = piece->row * row;
    piece->nsources = piece->nrows * row;
    return true;
}

/* Which of app_slice()'s slices an item lies in. */
static int slice_of(int64_t n, int nslices, int64_t item)
{
    const int64_t each = n / nslices, more = n % nslices, longer = more * (each + 1);

    return (int)(item < longer ? item / (each + 1) : more + (item - longer) / each);
}

int dd_far_parts_run(const dd_far_parts *parts, int64_t cell)
{
    return slice_of(parts->ncells, parts->runs, cell);
}

int dd_far_parts_slab(const dd_far_parts *parts, int64_t cell)
{
    return slice_of(parts->nrows, parts->slabs, cell / (parts->ncells / parts->nrows));
}
