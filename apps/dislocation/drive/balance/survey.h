/* SPDX-License-Identifier: BSD-3-Clause */
/* Data on nodes, as owners of the interactions of their segments, collected while forces are computed. */
#ifndef DD_SURVEY_H
#define DD_SURVEY_H

#include "../forces/evaluate.h"

#include <equipoise/survey.h>

/* Curve keys of the own nodes in a cube around the box: owned by the caller. Local. */
int dd_keys(const dd_domain *domain, uint64_t **keys);

/* Default aspect of `tiles`: the cost of a source shared by two parts, in shared targets. A target is a node with its
 * segments; a source is a cell: a part receives all of its segments and whose forces it returns. So the aspect is
 * the mean number of nodes with segments in a cell that has any; 1 without segments. O(cells). Collective. */
int dd_usual_aspect(const dd_domain *domain, const dd_stage *stage, double *aspect);

/* Adds the own nodes without their work. keys: dd_keys(). EQP_OK or EQP_ERR_MEMORY. Local. */
int dd_survey_names(const dd_domain *domain, const uint64_t *keys, eqp_survey *survey);

/* Adds the own nodes with the survey's detail and the work of the last evaluation; and this rank's work on shared
 * nodes, with all of their tiles, since each rank knows only a part of them. A tile is the work of an owner with one
 * source cell. keys: dd_keys(). Collective. */
int dd_survey(const dd_domain *domain, const dd_stage *stage, const dd_evaluator *evaluator, uint64_t seed,
              const uint64_t *keys, eqp_survey *survey);

#endif
