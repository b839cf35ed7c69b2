/* SPDX-License-Identifier: BSD-3-Clause */
/* What is learnt about nodes, as owners of the interactions of their segments, while forces are computed. */
#ifndef DD_SURVEY_H
#define DD_SURVEY_H

#include "../evaluate.h"

#include <equipoise/survey.h>

/* Curve keys of the own nodes, in their order, in a cube around the box: owned by the caller. Local. */
int dd_keys(const dd_domain *domain, uint64_t **keys);

/* What `tiles` is to take for the cost of a source that two parts share, in shared targets, where nobody has said: a
 * target is a node with its segments, a source a cell, all of whose segments a part gets for the sake of any, and whose
 * forces it returns. So it is the mean number of nodes with segments in a cell that has any; 1 without segments.
 * O(cells). Collective. */
int dd_usual_aspect(const dd_domain *domain, const dd_stage *stage, double *aspect);

/* Adds the own nodes without their work. keys: dd_keys(). EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_survey_names(const dd_domain *domain, const uint64_t *keys, eqp_survey *survey);

/* Adds the own nodes with that detail, by what the evaluator says of each, to a survey that was cleared for it; and
 * what this rank computes of nodes that ranks share, whose tiles it keeps whatever they weigh, as it knows a part of
 * them only. A tile is all that an owner does with one source cell. keys: dd_keys(). Collective. */
int dd_survey(const dd_domain *domain, const dd_stage *stage, const dd_evaluator *evaluator, uint64_t seed,
              const uint64_t *keys, eqp_survey *survey);

#endif
