/* SPDX-License-Identifier: BSD-3-Clause */
#include "far_parts.h"

#include "../../../shell/run_files.h"

/* A part with fewer cells spends more on messages than on work. */
#define LEAST_CELLS 32
/* Components transformed together. */
#define LEAST_COMPONENTS 16
/* Shares of the stages in the whole work, in sixths. */
static const int sixths[DD_FAR_STAGES] = {1, 4, 1};

static dd_far_slice slice(int64_t n, int64_t which, int64_t nslices)
{
    dd_far_slice of = {0, 0};

    if (which < nslices) {
        app_slice(n, (int)which, (int)nslices, &of.first, &of.n);
    }
    return of;
}

static int64_t nitems(const dd_far_parts *parts)
{
    return parts->sizes.nplanes * parts->nchunks;
}

void dd_far_parts_init(dd_far_parts *parts, const dd_grid *grid, int nparts)
{
    *parts = (dd_far_parts){.nparts = 0};
    if (grid->ncells > 0 && dd_grid_has_far(grid)) {
        const int64_t enough = grid->ncells < LEAST_CELLS ? 1 : grid->ncells / LEAST_CELLS;
        dd_far_count(grid->n, grid->periodic, grid->far_order, &parts->sizes);
        const int64_t most = parts->sizes.nmoments / LEAST_COMPONENTS;
        parts->nparts = enough < nparts ? (int)enough : nparts;
        const int64_t chunks = (parts->nparts + parts->sizes.nplanes - 1) / parts->sizes.nplanes;
        parts->nchunks = (int)(chunks < most ? chunks : most);
    }
}

dd_far_slice dd_far_parts_items(const dd_far_parts *parts, int part)
{
    return slice(nitems(parts), part, parts->nparts);
}

dd_far_slice dd_far_parts_columns(const dd_far_parts *parts, int part)
{
    return slice(parts->sizes.ncolumns, part, parts->nparts);
}

int dd_far_parts_owner(const dd_far_parts *parts, int64_t item)
{
    const int64_t n = nitems(parts), each = n / parts->nparts, more = n % parts->nparts, longer = more * (each + 1);

    return (int)(item < longer ? item / (each + 1) : more + (item - longer) / each);
}

dd_far_slice dd_far_parts_chunk(const dd_far_parts *parts, int64_t ncomponents, int64_t chunk)
{
    return slice(ncomponents, chunk, parts->nchunks);
}

int64_t dd_far_parts_work(const dd_far_parts *parts, int part, int stage)
{
    const int64_t cells = parts->sizes.nplanes * parts->sizes.ncells * sixths[stage];
    const dd_far_slice of =
        stage == DD_FAR_COLUMNS ? dd_far_parts_columns(parts, part) : dd_far_parts_items(parts, part);
    const int64_t all = 6 * (stage == DD_FAR_COLUMNS ? parts->sizes.ncolumns : nitems(parts));

    /* Rounded so that the sum over parts does not depend on their number. */
    return of.n == 0 ? 0 : cells * (of.first + of.n) / all - cells * of.first / all;
}
