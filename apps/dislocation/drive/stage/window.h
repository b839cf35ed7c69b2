/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments of all ranks of one computer, in memory that these share: by cell, then by key, as in a stage. Each rank
 * writes its own segments, reads the segments of all in place, and adds forces in columns of its own; then each adds up
 * the forces on its own segments. Ranks meet in between and send nothing. */
#ifndef DD_WINDOW_H
#define DD_WINDOW_H

#include "stage.h"

typedef struct dd_window {
    eqp_node *node; /* owned; NULL: segments of other ranks come by messages */
    bool lost;      /* there was no memory */
    int nranks, rank;
    int64_t ncells, nwords; /* of the grid */
    int64_t room;           /* segments of all ranks */
    /* in the shared memory */
    int64_t *nown;              /* [nranks] segments of a rank */
    uint64_t *touched;          /* [nranks][nwords] a bit for each cell in which a rank has segments or adds forces */
    dd_segment_key *key, *sent; /* [room] of all segments; and each rank's, one rank after another */
    double *columns;            /* [9 + 6 nranks][room + DD_LANES] as in dd_columns; forces by each rank */
    int *count;                 /* [nranks][ncells] segments of a rank in a cell */
    int *home;                  /* [room] the rank of a segment */
    double *far;                /* numbers of the far field: see dd_waves_share() */
} dd_window;

/* From now on segments are in the memory of this node, to which all ranks belong; without memory the window is lost.
 * Takes the node in any case. Collective; the same code on all ranks. */
int dd_window_open(eqp_node *node, dd_window *window);
/* Collective. */
void dd_window_close(dd_window *window);

/* The window of a domain; NULL if it has none or has lost it. Local. */
static inline dd_window *dd_window_of(const dd_domain *domain)
{
    return domain->window != NULL && domain->window->node != NULL ? domain->window : NULL;
}

/* Places this rank's segments, given as sorted entries of source and key, among those of all ranks, and counts them in
 * stage->field. touched: [nwords] as above. The ranks may not use their last stages any more. *placed: false if there
 * is no memory, on all ranks, and from then on no node. code: of this rank so far. Collective; the same code on all
 * ranks. */
int dd_window_place(const dd_domain *domain, const uint64_t *touched, const dd_entry *entries, int code,
                    dd_stage *stage, bool *placed);

/* Sets the forces by this rank to 0. Local. */
void dd_window_clear(const dd_stage *stage);

/* Waits for the forces by all ranks and adds them to those of this rank, on own segments. code: of this rank so far.
 * Collective. */
int dd_window_gather(const dd_stage *stage, int code);

#endif
