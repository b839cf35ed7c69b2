/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include "../physics/elastic/far.h"

#include "outbox.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/random.h>

#include <math.h>
#include <stdlib.h>

void dd_domain_init(dd_domain *domain, MPI_Comm comm)
{
    *domain = (dd_domain){.far_order = DD_FAR_DEFAULT_ORDER, .comm = comm, .plan = EQP_EXCHANGE_PLAN_DEFAULTS};
    MPI_Comm_rank(comm, &domain->rank);
    MPI_Comm_size(comm, &domain->nranks);
    dd_network_init(&domain->network);
}

void dd_domain_free(dd_domain *domain)
{
    dd_network_free(&domain->network);
}

void dd_domain_fold(const dd_domain *domain, double x[3])
{
    for (int d = 0; d < 3; d++) {
        const double box = domain->box[d];
        if (box > 0) {
            x[d] -= box * floor((x[d] - domain->low[d]) / box);
            if (x[d] >= domain->low[d] + box) { /* rounding */
                x[d] = domain->low[d];
            }
        }
    }
}

void dd_domain_offset(const dd_domain *domain, const double from[3], const double to[3], double offset[3])
{
    for (int d = 0; d < 3; d++) {
        offset[d] = from[d] - to[d];
        if (domain->box[d] > 0) {
            offset[d] -= domain->box[d] * rint(offset[d] / domain->box[d]);
        }
    }
}

bool dd_node_owns_segments(const dd_node *node)
{
    for (int k = 0; k < node->narms; k++) {
        if (node->tag < node->arm[k].tag) {
            return true;
        }
    }
    return false;
}

int64_t dd_node_bytes(const dd_node *node)
{
    return (int64_t)sizeof *node + node->narms * (int64_t)sizeof *node->arm;
}

/* The rank that knows the home of a tag. */
static int keeper(const dd_domain *domain, dd_tag tag)
{
    return (int)eqp_random_below(0, tag, 0, (uint64_t)domain->nranks);
}

/* The homes of the tags that this rank keeps: as a network of nodes without arms. */
static int make_directory(dd_domain *domain, dd_network *directory, eqp_message *message)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    int code;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_tag tag = domain->network.node[i].tag;
        dd_outbox_add(&out, keeper(domain, tag), &tag, sizeof tag);
    }
    code = dd_outbox_deliver(domain->comm, &out, &in);
    if (code != EQP_OK) {
        return code;
    }
    while (code == EQP_OK && !dd_inbox_empty(&in)) {
        dd_node entry = {.home = dd_inbox_sender(&in)};
        code = dd_inbox_read(&in, &entry.tag, sizeof entry.tag);
        if (code == EQP_OK) {
            code = dd_network_add(directory, &entry);
        }
        if (code == EQP_ERR_DATA) {
            eqp_message_set(message, "node %u,%u: stands twice", DD_TAG_DOMAIN(entry.tag), DD_TAG_INDEX(entry.tag));
        }
    }
    dd_inbox_free(&in);
    return eqp_agree(domain->comm, code, message);
}

/* Asks for the homes of all neighbours that do not live here. */
static int ask(dd_domain *domain, dd_inbox *questions)
{
    dd_outbox out = {0};

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms; k++) {
            if (dd_network_find(&domain->network, node->arm[k].tag) < 0) {
                dd_outbox_add(&out, keeper(domain, node->arm[k].tag), &node->arm[k].tag, sizeof(dd_tag));
            }
        }
    }
    return dd_outbox_deliver(domain->comm, &out, questions);
}

/* Homes in the order of the questions; -1: no such node. */
static int answer(const dd_domain *domain, const dd_network *directory, dd_inbox *questions, dd_inbox *answers)
{
    dd_outbox out = {0};

    while (!dd_inbox_empty(questions)) {
        const int sender = dd_inbox_sender(questions);
        int64_t place;
        dd_tag tag;
        int home = -1, code = dd_inbox_read(questions, &tag, sizeof tag);
        if (code != EQP_OK) {
            dd_outbox_fail(&out, code);
            break;
        }
        place = dd_network_find(directory, tag);
        home = place < 0 ? -1 : directory->node[place].home;
        dd_outbox_add(&out, sender, &home, sizeof home);
    }
    return dd_outbox_deliver(domain->comm, &out, answers);
}

/* Answers of a keeper are in the order of the questions to it, those of different keepers one after another. */
static int read_answers(dd_domain *domain, dd_inbox *answers, eqp_message *message)
{
    const int *home = (const int *)(const void *)answers->byte;
    int64_t *at = NULL;
    int code = eqp_array_create(&at, domain->nranks, sizeof *at);

    for (int r = 1; r < domain->nranks && code == EQP_OK; r++) {
        at[r] = at[r - 1] + answers->count[r - 1] / (int64_t)sizeof(int);
    }
    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        dd_node *node = &domain->network.node[i];
        node->home = domain->rank;
        for (int k = 0; k < node->narms && code == EQP_OK; k++) {
            dd_arm *arm = &node->arm[k];
            arm->home = domain->rank;
            if (dd_network_find(&domain->network, arm->tag) < 0) {
                arm->home = home[at[keeper(domain, arm->tag)]++];
            }
            if (arm->home < 0) {
                eqp_message_set(message, "node %u,%u: its arm leads to %u,%u, which does not exist",
                                DD_TAG_DOMAIN(node->tag), DD_TAG_INDEX(node->tag), DD_TAG_DOMAIN(arm->tag),
                                DD_TAG_INDEX(arm->tag));
                code = EQP_ERR_DATA;
            }
        }
    }
    free(at);
    return eqp_agree(domain->comm, code, message);
}

/* New nodes continue from the largest tag of all ranks. */
static int find_next_tag(dd_domain *domain, eqp_message *message)
{
    uint64_t largest = 0;
    int code = EQP_OK;

    for (int64_t i = 0; i < domain->network.n; i++) {
        largest = domain->network.node[i].tag > largest ? domain->network.node[i].tag : largest;
    }
    if (MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_UINT64_T, MPI_MAX, domain->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    /* Ids are signed 64-bit numbers elsewhere, and new nodes need room. */
    if (largest >= (uint64_t)INT64_MAX - ((uint64_t)1 << 40)) {
        eqp_message_set(message, "node %u,%u: no room for new tags behind it", DD_TAG_DOMAIN(largest),
                        DD_TAG_INDEX(largest));
        code = EQP_ERR_DATA;
    } else {
        domain->next_tag = largest + 1;
    }
    return code;
}

int dd_domain_connect(dd_domain *domain, eqp_message *message)
{
    dd_network directory;
    dd_inbox questions = {0}, answers = {0};
    int code;

    dd_network_init(&directory);
    EQP_TRY(make_directory(domain, &directory, message));
    EQP_TRY(ask(domain, &questions));
    EQP_TRY(answer(domain, &directory, &questions, &answers));
    EQP_TRY(read_answers(domain, &answers, message));
    EQP_TRY(find_next_tag(domain, message));
done:
    dd_inbox_free(&answers);
    dd_inbox_free(&questions);
    dd_network_free(&directory);
    return code;
}

/* Tells a neighbour's arm the new home of a node. */
typedef struct news {
    dd_tag neighbour, moved;
    int home;
} news;

static int hear(dd_domain *domain, const news *heard)
{
    const int64_t place = dd_network_find(&domain->network, heard->neighbour);
    dd_arm *arm = place < 0 ? NULL : dd_node_find_arm(&domain->network.node[place], heard->moved);

    if (arm == NULL) {
        return EQP_ERR_INTERNAL;
    }
    arm->home = heard->home;
    return EQP_OK;
}

/* bytes: of messages to other ranks */
static int tell_neighbours(dd_domain *domain, const int *dest, int64_t *bytes)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    int code;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms && dest[i] != domain->rank; k++) {
            const news told = {node->arm[k].tag, node->tag, dest[i]};
            dd_outbox_add(&out, node->arm[k].home, &told, sizeof told);
            *bytes += node->arm[k].home != domain->rank ? (int64_t)sizeof told : 0;
        }
    }
    code = dd_outbox_deliver(domain->comm, &out, &in);
    if (code != EQP_OK) {
        return code;
    }
    while (code == EQP_OK && !dd_inbox_empty(&in)) {
        news heard;
        code = dd_inbox_read(&in, &heard, sizeof heard);
        if (code == EQP_OK) {
            code = hear(domain, &heard);
        }
    }
    dd_inbox_free(&in);
    return eqp_agree(domain->comm, code, NULL);
}

int dd_domain_migrate(dd_domain *domain, const int *dest, dd_moved *moved)
{
    dd_outbox out = {0};
    dd_inbox in = {0};
    int64_t kept = 0;
    dd_moved leaving = {0, 0};
    dd_network *network = &domain->network, rest;
    int code = tell_neighbours(domain, dest, &leaving.bytes);

    if (code != EQP_OK) {
        return code;
    }
    dd_network_init(&rest);
    for (int64_t i = 0; i < network->n; i++) {
        if (dest[i] != domain->rank) {
            dd_outbox_add_node(&out, dest[i], &network->node[i]);
            leaving.nodes++;
        }
    }
    leaving.bytes += out.n;
    code = dd_outbox_deliver(domain->comm, &out, &in);
    for (int64_t i = 0; i < network->n && code == EQP_OK; i++) {
        if (dest[i] != domain->rank) {
            dd_node_free(&network->node[i]);
        } else {
            network->node[kept++] = network->node[i];
        }
    }
    if (code == EQP_OK) {
        dd_node *node = network->node;
        rest = (dd_network){.n = kept, .room = network->room, .node = node};
        free(network->slot);
        *network = rest;
        code = dd_network_index(network);
        while (code == EQP_OK && !dd_inbox_empty(&in)) {
            dd_node arrived;
            code = dd_inbox_read_node(&in, &arrived);
            if (code == EQP_OK) {
                arrived.home = domain->rank;
                code = dd_network_add(network, &arrived);
                if (code != EQP_OK) {
                    dd_node_free(&arrived);
                }
            }
        }
    }
    dd_inbox_free(&in);
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        dd_network_sort(network);
        moved->nodes += leaving.nodes;
        moved->bytes += leaving.bytes;
    }
    return code;
}

int dd_domain_place(dd_domain *domain, const eqp_placement *placement, dd_moved *moved)
{
    int *dest = NULL;
    int code;

    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&dest, domain->network.n, sizeof *dest), NULL));
    for (int64_t i = 0; i < domain->network.n; i++) {
        dest[i] = placement[i].home;
        domain->network.node[i].split = placement[i].tag >= 0 ? -1 : -1 - placement[i].tag;
    }
    EQP_TRY(dd_domain_migrate(domain, dest, moved));
done:
    free(dest);
    return code;
}
