/* SPDX-License-Identifier: BSD-3-Clause */
/* The regular grid of cells that defines near segments: those in a cell and its 26 neighbours. */
#ifndef DD_GRID_H
#define DD_GRID_H

#include "../halo.h"

typedef struct dd_grid {
    int64_t n[3], ncells; /* at least 3 cells in a periodic direction */
    double low[3], width[3];
    bool periodic[3];
    int far_order; /* of the domain */
} dd_grid;

/* Consecutive cells. */
typedef struct dd_cells {
    int64_t first, last; /* both inclusive */
} dd_cells;

/* A row of three cells may consist of two runs at a periodic boundary. */
#define DD_GRID_RUNS 10

void dd_grid_init(dd_grid *grid, const dd_domain *domain, const int64_t n[3]);

/* The cell of a position; positions beyond a free boundary belong to the cells at it. */
int64_t dd_grid_cell(const dd_grid *grid, const double x[3]);

/* The cell of an own node and of the segments it owns: that of the middle of the box around them. Segments reach beyond
 * the cell by half their length, or by all of it if the node owns two in opposite directions. Local. */
int64_t dd_grid_cell_of_node(const dd_grid *grid, const dd_domain *domain, const dd_halo *halo, int64_t node);

/* True if any cell, or an image of one, is neither the same as another nor its neighbour. */
bool dd_grid_has_far(const dd_grid *grid);

/* Forward neighbours: 13 of a cell's 26 neighbours, so that of two neighbours exactly one has the other as a forward
 * neighbour. Disjoint runs of consecutive cells. Returns their number. */
int dd_grid_forward(const dd_grid *grid, int64_t cell, dd_cells runs[DD_GRID_RUNS]);

/* Source cells of a cell: itself, then its forward neighbours in the order of their runs. Returns their number. */
#define DD_GRID_SOURCES 14
int dd_grid_sources(const dd_grid *grid, int64_t cell, int64_t sources[DD_GRID_SOURCES]);

/* Cells from one to another in each direction, by the nearest image. */
void dd_grid_steps(const dd_grid *grid, int64_t from, int64_t to, int64_t steps[3]);

#endif
