/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the network comes from: every rank takes its slice of a file or of a generator. */
#ifndef DD_INPUT_H
#define DD_INPUT_H

#include "../domain.h"
#include "../settings.h"

#include "foreign.h"

#include <equipoise/more/paradis.h>

/* Of a cell, the longest segment: a little less than 0.9, so that rounding cannot make it too long. */
#define DD_CELL_FITS 0.8999

typedef struct dd_input {
    int64_t nodes, segments; /* of all ranks */
    double longest;          /* segment, b */
    bool dt_given;           /* the first time step is the user's or a restart's, not a default */
    char format[64];         /* for people */
    /* Parameters, complete. first_step, time, plastic_strain and next_dt are where the run begins: zeros and the first
     * step, or those of a restart; with --ctrl alone a run begins at 0 whatever the file says. */
    eqp_paradis_control control;
    dd_notes notes;    /* what is changed or passed over of them */
    int64_t last_step; /* at which the run ends: --steps, else maxstep more than first_step */
} dd_input;

/* Fills an empty domain: box, nodes with homes and their order in the input, next_tag; positions are folded into the
 * box and the network is verified. Nodes lie in slices of the input's order; memory of a rank is in proportion to its
 * slice. Collective: all ranks fail with the same code and line, or none; the domain can be freed in any case. */
int dd_input_read(const dd_settings *settings, dd_domain *domain, dd_input *input, eqp_message *message);

/* The checksum by which parameters name their network: the sum over nodes and arms, and its text. place: of the node in
 * the file; k: of the arm in the node. */
uint64_t dd_input_node_checksum(int64_t place, uint64_t tag, const double x[3], int constraint);
uint64_t dd_input_arm_checksum(int64_t place, int k, uint64_t tag, const double burgers[3]);
void dd_input_checksum_text(uint64_t sum, char text[EQP_PARADIS_NAME]);

#endif
