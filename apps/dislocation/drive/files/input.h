/* SPDX-License-Identifier: BSD-3-Clause */
/* Input of a network: every rank takes its slice of a file or of a generator. */
#ifndef DD_INPUT_H
#define DD_INPUT_H

#include "../domain.h"
#include "../settings.h"

#include "foreign.h"

#include <equipoise/more/paradis.h>

/* Longest segment as a share of a cell: a little less than 0.9, so that rounding cannot exceed it. */
#define DD_CELL_FITS 0.8999

typedef struct dd_input {
    int64_t nodes, segments; /* over all ranks */
    double longest;          /* segment, b */
    bool dt_given;           /* the first time step comes from the user or a restart */
    char format[64];         /* for people */
    /* Complete parameters. first_step, time, plastic_strain and next_dt are the start of the run: zeros and the first
     * step, or those of a restart; with --ctrl alone a run begins at 0 whatever the file says. */
    eqp_paradis_control control;
    dd_notes notes;    /* on changed and ignored parameters */
    int64_t last_step; /* last step of the run: --steps, else first_step plus maxstep */
} dd_input;

/* Fills an empty domain: box, nodes with homes and their order in the input, next_tag; positions are folded into the
 * box and the network is verified. Nodes lie in slices of the input's order; a rank's memory is proportional to its
 * slice. Collective: all ranks fail with the same code and message, or none; the domain can be freed in any case. */
int dd_input_read(const dd_settings *settings, dd_domain *domain, dd_input *input, eqp_message *message);

/* The checksum by which parameters name their network: the sum over nodes and arms, and its text. place: of the node in
 * the file; k: index of the arm. */
uint64_t dd_input_node_checksum(int64_t place, uint64_t tag, const double x[3], int constraint);
uint64_t dd_input_arm_checksum(int64_t place, int k, uint64_t tag, const double burgers[3]);
void dd_input_checksum_text(uint64_t sum, char text[EQP_PARADIS_NAME]);

/* Replaces the network by a x b x c copies (count) and the box by theirs. Orders continue from tile to tile; call
 * dd_domain_connect() for new homes. The domain is connected and verified before. EQP_ERR_ARGUMENT for tiles along a
 * direction that is not periodic, EQP_ERR_OVERFLOW if tags do not suffice, EQP_ERR_MEMORY, with a message. Collective.
 */
int dd_tile_domain(dd_domain *domain, const int count[3], eqp_message *message);

/* Every arm has a reverse arm with the opposite Burgers vector, and a length above 0 and below half the box (else its
 * nearest image would be ambiguous). EQP_ERR_DATA with a message that begins with the node's tag. After
 * dd_domain_connect(). Collective. longest: of all segments; may be NULL; nsegments: of all ranks; may be NULL; both
 * unchanged on error. */
int dd_verify_arms(const dd_domain *domain, double *longest, int64_t *nsegments, eqp_message *message);

#endif
