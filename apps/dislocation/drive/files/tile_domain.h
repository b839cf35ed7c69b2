/* SPDX-License-Identifier: BSD-3-Clause */
/* A distributed network repeated: every rank copies its own nodes into every tile. */
#ifndef DD_TILE_DOMAIN_H
#define DD_TILE_DOMAIN_H

#include "../domain.h"

/* Replaces the network by a x b x c copies (count) and the box by theirs. Orders continue from tile to tile; call
 * dd_domain_connect() for new homes. The domain is connected and verified before. EQP_ERR_ARGUMENT for tiles along a
 * direction that is not periodic, EQP_ERR_OVERFLOW if tags do not suffice, EQP_ERR_MEMORY, with a message. Collective.
 */
int dd_tile_domain(dd_domain *domain, const int count[3], eqp_message *message);

#endif
