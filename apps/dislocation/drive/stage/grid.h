/* SPDX-License-Identifier: BSD-3-Clause */
/* The regular grid of cells that defines near segments: those in a cell and its 26 neighbours. */
#ifndef DD_GRID_H
#define DD_GRID_H

#include "../domain.h"

#include <equipoise/problem.h>

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

/* The cell of a position; positions beyond a free boundary belong to the cells next to it. */
int64_t dd_grid_cell(const dd_grid *grid, const double x[3]);

/* The cell of an own node and of the segments it owns: the cell at the middle of the box around them. Segments reach
 * beyond it by half their length, or by all of it if the node owns two in opposite directions. Local. */
int64_t dd_grid_cell_of_node(const dd_grid *grid, const dd_domain *domain, const dd_halo *halo, int64_t node);

/* True if some cell, or an image of one, is neither identical to another nor its neighbour. */
bool dd_grid_has_far(const dd_grid *grid);

/* Forward neighbours: 13 of a cell's 26 neighbours, so that of any two neighbours one is the forward neighbour of the
 * other. Disjoint runs of consecutive cells. Returns their number. */
int dd_grid_forward(const dd_grid *grid, int64_t cell, dd_cells runs[DD_GRID_RUNS]);

/* Source cells of a cell: itself, then its forward neighbours in the order of their runs. Returns their number. */
#define DD_GRID_SOURCES 14
int dd_grid_sources(const dd_grid *grid, int64_t cell, int64_t sources[DD_GRID_SOURCES]);

/* The last of n ascending numbers not above a value; 0 if there is none. O(log n). */
int64_t dd_find_last(const int64_t *first, int64_t n, int64_t value);

/* ---- Owners shared by ranks. A shared owner's interactions with all segments of a source cell go to one rank. So the
 * map is asked once for each source cell; a rank needs only the segments of the cells assigned to it and passes whole
 * runs of them to the kernel. */

typedef struct dd_share {
    int64_t cell; /* of the owner */
    dd_tag owner;
    int64_t at_home; /* the owner's place at home */
    int64_t split;   /* the owner's place in the map's table */
    int64_t bytes;   /* that move with the owner */
    int32_t home;
    uint32_t sources; /* bit i: the i-th of the cell's dd_grid_sources() */
} dd_share;

typedef struct dd_shares {
    int64_t n;
    dd_share *share; /* [n] computed by this rank, by cell, then by owner; owned */
    int64_t nsent;
    dd_share *sent; /* [nsent] of own nodes, for the ranks that compute them; owned */
    int *sent_to;   /* [nsent] ranks; owned */
} dd_shares;

/* Centroid of an owner's interactions with all segments of a source cell, relative to the owner: half the way from
 * the middle of its cell to that of the source. Constant while the owner stays in its cell. Backward steps are
 * slightly shorter than forward ones, and directions differ slightly, so that no two cells are equally far from a
 * third. Local. */
void dd_share_centroid(const dd_grid *grid, int64_t own, int64_t cell, double centroid[3]);

/* The rank that computes the interactions of an owner in a cell with each of dd_grid_sources(). Returns their number.
 * Local. */
int dd_share_ranks(const dd_grid *grid, const eqp_map *map, int64_t split, int64_t cell, int ranks[DD_GRID_SOURCES]);

/* Tells the sharers of an owner their shares. The home decides by the present positions, so that all agree. *shares is
 * zeroed. A returned code may be this rank's alone. Collective; the caller frees *shares in any case. */
int dd_shares_find(const dd_domain *domain, const dd_halo *halo, const dd_grid *grid, const eqp_map *map, int code,
                   dd_shares *shares);
void dd_shares_free(dd_shares *shares);

typedef struct dd_needs {
    int64_t nwords;
    uint64_t *bits; /* [ranks][nwords] a bit for each cell; owned */
    uint64_t *mine; /* [nwords] this rank's; owned */
    MPI_Request request;
} dd_needs;

/* Allocates memory. Local; the caller frees it in any case. */
int dd_needs_open(const dd_domain *domain, const dd_grid *grid, dd_needs *needs);

/* Marks the cells that this rank needs (see dd_needs_begin()). all: also the cells of own segments and of shares.
 * Local. */
void dd_needs_mark(const dd_domain *domain, int64_t n, const dd_own *own, const int64_t *cell, const dd_grid *grid,
                   const dd_shares *shares, bool all, dd_needs *needs);

/* The cells that a rank needs: for owners that it computes whole, their cells and the forward neighbours; for shared
 * owners, the source cells assigned to it and the part of the owner's cell at the owner's home, which only the home
 * knows; and the cells whose moments it sums (home [cells] as in a dd_field, or NULL). cell: [n] of the own segments.
 * Ranks exchange needs between begin and end and wait only in end. Collective. */
int dd_needs_begin(const dd_domain *domain, int64_t n, const dd_own *own, const int64_t *cell, const dd_grid *grid,
                   const dd_shares *shares, dd_needs *needs);
int dd_needs_end(const dd_grid *grid, const dd_shares *shares, const int *home, dd_needs *needs);
void dd_needs_free(dd_needs *needs);

/* True if a rank needs the segments of a cell that live here. Local. */
bool dd_needs_has(const dd_needs *needs, int rank, int64_t cell);

#endif
