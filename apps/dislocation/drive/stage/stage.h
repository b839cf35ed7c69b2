/* SPDX-License-Identifier: BSD-3-Clause */
/* Data with which a rank computes its share of the forces: its own segments, the remote segments of the cells around
 * them, and the routes of forces back. Planned once a step; positions and forces then travel in blocks, as often as
 * needed. A block is the segments of one cell on one rank. Neighbouring segments share an end: a block sends each end
 * once, and the receiver knows the segments. A segment belongs to the node with the lower of its two tags, and to that
 * node's cell (dd_grid_cell_of_node()). */
#ifndef DD_STAGE_H
#define DD_STAGE_H

#include "../../physics/elastic/pairs.h"
#include "../domain.h"
#include "../far/waves.h"

#include "grid.h"

/* Identifies a segment: its owner's tag, then the other end's. */
typedef struct dd_segment_key {
    dd_tag owner, other;
} dd_segment_key;

#define DD_END_BYTES (3 * (int64_t)sizeof(double))

/* A local segment while they are sorted: by cell, then by key. */
typedef struct dd_entry {
    int64_t cell;
    dd_segment_key key;
    int64_t source; /* as in the stage */
} dd_entry;

/* A segment with pairs that this rank computes. */
typedef struct dd_target {
    int64_t local; /* place among the local segments */
    int64_t share; /* place of its owner's share; -1: all of its pairs are computed here */
} dd_target;

typedef struct dd_stage {
    dd_grid grid;
    int code; /* of this rank alone; the first use returns it on all ranks */
    int64_t nown;
    const dd_own *own;  /* [nown] of the halo (borrowed) */
    int64_t *own_local; /* [nown] place among the local segments */
    /* exchange */
    eqp_route *route; /* of segments: keys and Burgers vectors, once, and the forces on them, back */
    eqp_route *ends;  /* of the same blocks: positions of their ends, each once */
    int64_t nsend, nends, nghosts, nblocks;
    int64_t *send;           /* [nsend] places among the own segments, block by block */
    int64_t *send_end;       /* [nends] places of nodes in the halo, block by block */
    int64_t *ghost_first;    /* [nblocks + 1] first remote one of each block that arrives */
    int64_t *ghost_local;    /* [nghosts] places among the local segments, in order of arrival */
    int64_t (*ghost_end)[2]; /* [nghosts] indices of its ends among the received positions, the owner first */
    int64_t narrived;        /* doubles received */
    dd_field field;          /* moments and fields of far cells */
    /* own and remote segments together, by cell, then by key: the same order on every rank */
    const struct dd_window *window; /* has all segments of the computer (borrowed); NULL: remote ones are copies */
    int64_t n;
    dd_segment_key *key;  /* [n] of the window, if there is one, as the columns */
    int64_t *source;      /* [n] place among the own segments; or -1 - place among the remote ones, in order of arrival;
                             in a window -1 - rank */
    int64_t *cell_first;  /* [cells + 1] */
    unsigned char *alone; /* [cells] 1: the pairs of the cell's owners need own segments only */
    double *memory;       /* of the columns; owned */
    dd_columns columns;   /* [n + DD_LANES] each */
    dd_shares shares;     /* of shared owners */
    dd_needs needs;       /* while routes are planned */
    int64_t ntargets;
    dd_target *target; /* [ntargets] by place */
} dd_stage;

/* Allocates memory for a plan before collective calls; pass its code to dd_halo_create(). *stage: zeroed, or a former
 * plan, which is freed. Otherwise local. */
int dd_stage_open(const dd_domain *domain, const int64_t cells[3], dd_stage *stage);
/* Plans for the present positions by the domain's exchange plan, after dd_stage_open() on all ranks. The halo must not
 * change while the stage is in use. Own segments have positions at once, remote ones after the first refresh. On error
 * the stage is freed. Collective. */
int dd_stage_create(const dd_domain *domain, const dd_halo *halo, const eqp_map *map, dd_stage *stage);
/* Collective. */
void dd_stage_free(dd_stage *stage);

/* Fetches positions after nodes have moved and the halo was refreshed, and sets all forces to 0; cells and shares stay.
 * Own segments have positions at once, remote ones after dd_stage_finish(); eqp_route_progress() in between advances
 * `ends`. out: scratch [nends][3], untouched until then (borrowed). Collective. */
int dd_stage_start(const dd_domain *domain, const dd_halo *halo, dd_stage *stage, double *out);
int dd_stage_finish(const dd_domain *domain, dd_stage *stage);

int dd_stage_refresh(const dd_domain *domain, const dd_halo *halo, dd_stage *stage);

/* Returns forces on remote segments to their homes, which add them. mine: scratch [narrived]; sum: [nsend][6].
 * Collective. */
int dd_stage_return(dd_stage *stage, int code, double *mine, double *sum);

/* The runs of local segments that pair with a segment of a cell, itself excluded, if all of them are local. Returns
 * their number. Local. */
int dd_stage_runs(const dd_stage *stage, int64_t local, int64_t cell, dd_run runs[DD_GRID_RUNS + 1]);

/* The runs of a target that are computed here. Returns their number. Local. */
int dd_stage_target_runs(const dd_stage *stage, const dd_target *target, int64_t cell, dd_run runs[DD_GRID_SOURCES]);

/* The rank of a remote segment by its source. O(log blocks). */
int dd_stage_sender(const dd_stage *stage, int64_t source);

/* True if the local segments of a cell matter to this rank: it has some of them or computes pairs with them. Local. */
bool dd_stage_has(const dd_stage *stage, int64_t cell);

/* The cell of a local segment. O(log cells). */
int64_t dd_stage_cell(const dd_stage *stage, int64_t local);

/* Columns of zeros for n segments, in *memory: owned by the caller. EQP_OK or EQP_ERR_MEMORY. */
int dd_columns_create(int64_t n, double **memory, dd_columns *columns);
/* Segment at a place of the columns. */
dd_segment dd_columns_segment(const dd_columns *columns, int64_t place);
dd_segment dd_stage_segment(const dd_stage *stage, int64_t local);

/* Copies own segments into the columns at their present positions. Local. */
void dd_stage_place_own(const dd_domain *domain, const dd_halo *halo, const dd_stage *stage);

#endif
