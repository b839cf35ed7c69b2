/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank needs to compute its share of the forces between segments: its own segments, the remote ones of the cells
 * around them, and who gets what back. Planned once a step; positions and forces then travel as often as they are
 * wanted, in blocks: the segments of one cell that live on one rank. Neighbouring segments have an end in common: nodes
 * travel, each once in a block, and who gets them knows the segments. A segment belongs to the node with the lower tag
 * of its two, and to that node's cell (dd_grid_cell_of_node()). */
#ifndef DD_STAGE_H
#define DD_STAGE_H

#include "../../physics/elastic/segment.h"
#include "../halo.h"
#include "field.h"
#include "needs.h"

/* Names of a segment: its owner's tag, then the other end's. */
typedef struct dd_segment_key {
    dd_tag owner, other;
} dd_segment_key;

/* What travels of a node that is the end of segments: its position. */
#define DD_END_BYTES (3 * (int64_t)sizeof(double))

/* A segment that this rank computes pairs of, as their owner. */
typedef struct dd_target {
    int64_t local; /* its place among the local segments */
    int64_t share; /* place of its owner's share; -1: all its pairs are computed here */
} dd_target;

typedef struct dd_stage {
    dd_grid grid;
    int code; /* of this rank alone, of which all hear by the first use */
    /* segments whose owner lives here, in the order of the nodes */
    int64_t nown;
    int64_t *own_node;     /* [nown] place of the owner */
    int *own_arm;          /* [nown] which of its arms */
    int64_t *own_local;    /* [nown] place among the local ones */
    int64_t *own_crossing; /* [nown] place among the halo's own arms across ranks; -1: both ends live here */
    /* what travels */
    eqp_route *route; /* of segments: what does not change, once, and the forces on them, back */
    eqp_route *ends;  /* of the same blocks: where the nodes are that their segments end in, each once */
    int64_t nsend, nends, nghosts, nblocks;
    int64_t *send;           /* [nsend] places among the own ones, block by block */
    int64_t *send_end;       /* [nends] places of nodes in the halo, block by block */
    int64_t *ghost_first;    /* [nblocks + 1] first remote one of each block that arrives */
    int64_t *ghost_local;    /* [nghosts] places among the local ones, in order of arrival */
    int64_t (*ghost_end)[2]; /* [nghosts] which of the nodes that arrive are its ends, the owner first */
    int64_t narrived;        /* doubles in what arrives */
    dd_field field;          /* and of far cells */
    /* own and remote ones together, by cell, then by key: the same order on every rank that has them */
    int64_t n;
    dd_segment_key *key;  /* [n] */
    int64_t *source;      /* [n] place among the own ones; or -1 - place among the remote ones, in order of arrival */
    int64_t *cell_first;  /* [cells + 1] */
    unsigned char *alone; /* [cells] whether what a cell's owners do needs own segments only */
    double *memory;       /* of the columns; owned */
    dd_columns columns;   /* [n + DD_LANES] each */
    dd_shares shares;     /* of owners that ranks share */
    dd_needs needs;       /* while the ways are planned */
    int64_t ntargets;
    dd_target *target; /* [ntargets] by place */
} dd_stage;

/* Memory for a plan, before ranks meet: its code goes along when the halo is made. Local, but that *stage is zeroed or
 * a former plan, which is freed as by dd_stage_free(). */
int dd_stage_open(const dd_domain *domain, const int64_t cells[3], dd_stage *stage);
/* Plans for the present positions, by the domain's exchange plan, with what dd_stage_open() has made on all ranks. Own
 * segments have their positions at once, remote ones after the first refresh. Collective. On error the stage is freed.
 */
int dd_stage_create(const dd_domain *domain, const dd_halo *halo, const eqp_map *map, dd_stage *stage);
/* Collective. */
void dd_stage_free(dd_stage *stage);

/* Fetches positions again after nodes have moved (and the halo was refreshed) and sets all forces to 0; cells and
 * shares stay. Own segments have theirs at once, remote ones after dd_stage_finish(); eqp_route_progress() in between
 * moves `ends` on. out: scratch [nends][3], untouched in between (borrowed). Collective. */
int dd_stage_start(const dd_domain *domain, const dd_halo *halo, dd_stage *stage, double *out);
int dd_stage_finish(const dd_domain *domain, dd_stage *stage);

/* All that at once. Collective. */
int dd_stage_refresh(const dd_domain *domain, const dd_halo *halo, dd_stage *stage);

/* Forces on remote segments to where they live, where they are added. mine: scratch [narrived], sum: [nsend][6]. code:
 * of this rank so far; all ranks return that of one that has failed. Collective. */
int dd_stage_return(dd_stage *stage, int code, double *mine, double *sum);

/* The runs of local segments with which a segment of a cell has pairs, itself not among them, where all of them are
 * local. Returns how many. Local. */
int dd_stage_runs(const dd_stage *stage, int64_t local, int64_t cell, dd_run runs[DD_GRID_RUNS + 1]);

/* Those runs of a target that are computed here. Returns how many. Local. */
int dd_stage_target_runs(const dd_stage *stage, const dd_target *target, int64_t cell, dd_run runs[DD_GRID_SOURCES]);

/* The rank that a remote segment came from, by its order of arrival. O(log blocks). */
int dd_stage_sender(const dd_stage *stage, int64_t ghost);

/* The cell of a local segment. O(log cells). */
int64_t dd_stage_cell(const dd_stage *stage, int64_t local);

/* Segment at a place of the columns. */
dd_segment dd_columns_segment(const dd_columns *columns, int64_t place);
dd_segment dd_stage_segment(const dd_stage *stage, int64_t local);

#endif
