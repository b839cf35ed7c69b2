/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of a network that was just read that need both ends of an arm. */
#ifndef DD_VERIFY_H
#define DD_VERIFY_H

#include "../domain.h"

/* Every arm has a reverse arm with the opposite Burgers vector, and a length above 0 and below half the box (else its
 * nearest image would be ambiguous). EQP_ERR_DATA with a message that begins with the node's tag. After
 * dd_domain_connect(). Collective. longest: of all segments; may be NULL; nsegments: of all ranks; may be NULL; both
 * unchanged on error. */
int dd_verify_arms(const dd_domain *domain, double *longest, int64_t *nsegments, eqp_message *message);

#endif
