/* SPDX-License-Identifier: BSD-3-Clause */
/* What must be true of a network that was just read, beyond what each node shows by itself. */
#ifndef DD_VERIFY_H
#define DD_VERIFY_H

#include "../domain.h"

/* Every arm has a reverse one with the opposite Burgers vector, and a length above 0 and below half the box (or its
 * nearest image would be a matter of taste). EQP_ERR_DATA with a line that begins with the node's tag. After
 * dd_domain_connect(). Collective.
 * longest: of all segments; may be NULL; nsegments: of all ranks; may be NULL; both unchanged on error. */
int dd_verify_arms(const dd_domain *domain, double *longest, int64_t *nsegments, eqp_message *message);

#endif
