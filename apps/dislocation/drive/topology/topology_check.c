/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology.h"

#include "../../physics/network/check.h"
#include "../outbox.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

static int refuse(eqp_message *message, dd_tag tag, const char *what)
{
    eqp_message_set(message, "node %u,%u: %s", DD_TAG_DOMAIN(tag), DD_TAG_INDEX(tag), what);
    return EQP_ERR_DATA;
}

/* Remote neighbours are asked for where the arms say that they live. */
static int ask(const dd_domain *domain, dd_inbox *asked, eqp_message *message)
{
    dd_outbox out = {0};
    int code = EQP_OK;

    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms && code == EQP_OK; k++) {
            const dd_arm *arm = &node->arm[k];
            if (arm->home < 0 || arm->home >= domain->nranks) {
                code = refuse(message, node->tag, "has an arm to a rank that does not exist");
            } else if (arm->home != domain->rank) {
                dd_outbox_add(&out, arm->home, &arm->tag, sizeof arm->tag);
            }
        }
    }
    code = eqp_agree(domain->comm, code, message);
    if (code != EQP_OK) {
        dd_outbox_free(&out);
        return code;
    }
    return dd_outbox_deliver(domain->comm, &out, asked);
}

/* Sends what is there. */
static int answer(const dd_domain *domain, dd_inbox *asked, dd_inbox *answers)
{
    dd_outbox out = {0};

    while (!dd_inbox_empty(asked)) {
        const int sender = dd_inbox_sender(asked);
        dd_tag tag;
        const int code = dd_inbox_read(asked, &tag, sizeof tag);
        const int64_t place = code == EQP_OK ? dd_network_find(&domain->network, tag) : -1;
        dd_outbox_fail(&out, code);
        if (code != EQP_OK) {
            break;
        }
        if (place >= 0) {
            dd_outbox_add_node(&out, sender, &domain->network.node[place]);
        }
    }
    return dd_outbox_deliver(domain->comm, &out, answers);
}

static int read_ghosts(dd_inbox *in, dd_network *ghosts)
{
    int code = EQP_OK;

    while (code == EQP_OK && !dd_inbox_empty(in)) {
        const int sender = dd_inbox_sender(in);
        dd_node node = {0};
        code = dd_inbox_read_node(in, &node);
        node.home = sender;
        if (code == EQP_OK && dd_network_find(ghosts, node.tag) < 0) {
            code = dd_network_add(ghosts, &node);
        }
        dd_node_free(&node);
    }
    return code;
}

static int check_node(const dd_domain *domain, const dd_network *ghosts, const dd_node *node, eqp_message *message)
{
    const dd_node *neighbour[DD_MOST_ARMS] = {NULL};

    if (node->home != domain->rank) {
        return refuse(message, node->tag, "does not know where it lives");
    }
    if (node->tag >= domain->next_tag) {
        return refuse(message, node->tag, "has a tag that new nodes will get");
    }
    for (int k = 0; k < node->narms && k < DD_MOST_ARMS; k++) {
        const dd_arm *arm = &node->arm[k], *back;
        const dd_network *where = arm->home == domain->rank ? &domain->network : ghosts;
        const int64_t place = dd_network_find(where, arm->tag);
        neighbour[k] = place >= 0 ? &where->node[place] : NULL;
        if (place < 0 || neighbour[k]->home != arm->home) {
            return refuse(message, node->tag, "has an arm to a node that does not live where the arm says");
        }
        back = dd_node_find_arm(neighbour[k], node->tag);
        if (back != NULL && back->home != domain->rank) {
            return refuse(message, node->tag, "lives elsewhere for one of its neighbours");
        }
    }
    return dd_node_check(node, neighbour, domain->box, message);
}

int dd_topology_check(const dd_domain *domain, eqp_message *message)
{
    dd_inbox asked = {0}, answers = {0};
    dd_network ghosts;
    int code = eqp_agree_same(domain->comm, (int64_t)domain->next_tag);

    dd_network_init(&ghosts);
    if (code == EQP_OK) {
        code = ask(domain, &asked, message);
    } else if (code == EQP_ERR_ARGUMENT) {
        eqp_message_set(message, "ranks do not agree on the next tag");
        code = EQP_ERR_DATA;
    }
    if (code == EQP_OK) {
        code = answer(domain, &asked, &answers);
    }
    if (code == EQP_OK) {
        code = read_ghosts(&answers, &ghosts);
        for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
            code = check_node(domain, &ghosts, &domain->network.node[i], message);
        }
        code = eqp_agree(domain->comm, code, message);
    }
    dd_network_free(&ghosts);
    dd_inbox_free(&answers);
    dd_inbox_free(&asked);
    return code;
}
