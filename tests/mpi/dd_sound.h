/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks a distributed network: dd_network_check(), and each node is on one rank, which all of its neighbors name. */
#ifndef DD_SOUND_H
#define DD_SOUND_H

#include "../unit/dd_check.h"
#include "domain.h"
#include "outbox.h"

#include <equipoise/more/comm.h>

static inline int dd_check_homes(const dd_network *all, eqp_message *message)
{
    for (int64_t i = 0; i < all->n; i++) {
        for (int k = 0; k < all->node[i].narms; k++) {
            const dd_arm *arm = &all->node[i].arm[k];
            const int64_t place = dd_network_find(all, arm->tag);
            if (place < 0 || all->node[place].home != arm->home) {
                eqp_message_set(message, "an arm of node %d does not know where its neighbour lives", (int)i);
                return EQP_ERR_DATA;
            }
        }
    }
    return EQP_OK;
}

/* Collective; with a line on all ranks. */
static inline int dd_check_sound(const dd_domain *domain, eqp_message *message)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    dd_network all;
    int code;

    dd_network_init(&all);
    for (int64_t i = 0; i < domain->network.n; i++) {
        dd_outbox_add_node(&out, 0, &domain->network.node[i]);
    }
    code = dd_outbox_deliver(domain->comm, &out, &in);
    while (code == EQP_OK && !dd_inbox_empty(&in)) {
        dd_node node = {0};
        code = dd_inbox_read_node(&in, &node);
        code = code == EQP_OK ? dd_network_add(&all, &node) : code;
    }
    code = code == EQP_OK ? dd_check_homes(&all, message) : code;
    code = code == EQP_OK ? dd_network_check(&all, domain->box, message) : code;
    dd_inbox_free(&in);
    dd_network_free(&all);
    return eqp_agree(domain->comm, code, message);
}

#endif
