/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank needs to compute its share of the forces between segments: its own segments, the remote ones of the cells
 * around them, and who gets what back. Planned once a step; positions and forces then travel as often as they are
 * wanted. A segment belongs to the node with the lower tag of its two, and to that node's cell. */
#ifndef DD_STAGE_H
#define DD_STAGE_H

#include "../../common/map.h"
#include "../physics/elastic/segment.h"
#include "grid.h"
#include "halo.h"

/* Names of a segment: its owner's tag, then the other end's. */
typedef struct dd_segment_key {
    dd_tag owner, other;
} dd_segment_key;

/* A segment that this rank computes pairs of, as their owner. */
typedef struct dd_target {
    int64_t local; /* its place among the local segments */
    int64_t node;  /* place of its owner in the domain; -1: that lives elsewhere */
    int64_t split; /* its owner's place in the map's table; -1: all its pairs are computed here */
} dd_target;

typedef struct dd_stage {
    dd_grid grid;
    /* segments whose owner lives here, by cell, then by key */
    int64_t nown;
    int64_t *own_node;     /* [nown] place of the owner */
    int *own_arm;          /* [nown] which of its arms */
    int64_t *own_local;    /* [nown] place among the local ones */
    int64_t *own_crossing; /* [nown] place among the halo's arms across ranks; -1: both ends live here */
    /* what travels: own segments to each rank, remote ones from each */
    int64_t nsend, nghosts;
    int64_t *send;                    /* [nsend] places among the own ones */
    int64_t *send_count, *recv_count; /* [ranks] */
    int64_t *ghost_local;             /* [nghosts] places among the local ones, in order of arrival */
    /* own and remote ones together, by cell, then by key: the same order on every rank that has them */
    int64_t n;
    dd_segment_key *key; /* [n] */
    int64_t *source;     /* [n] place among the own ones; or -1 - place among the remote ones, in order of arrival */
    int64_t *cell_first; /* [cells + 1] */
    double *memory;      /* of the columns; owned */
    dd_columns columns;  /* [n + DD_LANES] each */
    int64_t ntargets;
    dd_target *target; /* [ntargets] by place */
} dd_stage;

/* Plans for the present positions and fetches them. Collective; *stage is zeroed or a former plan, which is freed. */
int dd_stage_create(const dd_domain *domain, const dd_halo *halo, const int64_t cells[3], const app_map *map,
                    dd_stage *stage);
void dd_stage_free(dd_stage *stage);

/* Fetches positions again after nodes have moved (and the halo was refreshed) and sets all forces to 0; cells and
 * shares stay. Collective. */
int dd_stage_refresh(const dd_domain *domain, const dd_halo *halo, dd_stage *stage);

/* Forces on remote segments to where they live, where they are added. Collective. */
int dd_stage_return(const dd_domain *domain, dd_stage *stage);

/* The runs of local segments that a target has pairs with, itself not among them. Returns how many. Local. */
typedef struct dd_run {
    int64_t first, n;
} dd_run;
int dd_stage_runs(const dd_stage *stage, int64_t local, int64_t cell, dd_run runs[DD_GRID_RUNS + 1]);

/* The rank that a remote segment came from, by its order of arrival. Local, O(ranks). */
int dd_stage_sender(const dd_stage *stage, int64_t ghost);

/* The cell of a local segment. O(log cells). */
int64_t dd_stage_cell(const dd_stage *stage, int64_t local);

/* Segment at a place of the columns. */
dd_segment dd_stage_segment(const dd_stage *stage, int64_t local);

#endif
