/* SPDX-License-Identifier: BSD-3-Clause */
/* A distributed network repeated: every rank copies the nodes that it has, into every tile. */
#ifndef DD_TILE_DOMAIN_H
#define DD_TILE_DOMAIN_H

#include "../domain.h"

/* Replaces the network by a, b, c copies (count) and the box by theirs. Orders count on from tile to tile; homes are to
 * be found anew with dd_domain_connect(). The domain has been connected and verified. EQP_ERR_ARGUMENT for tiles in a
 * direction that is not periodic, EQP_ERR_OVERFLOW where tags do not suffice, EQP_ERR_MEMORY, with one line.
 * Collective. */
int dd_tile_domain(dd_domain *domain, const int count[3], eqp_message *message);

#endif
