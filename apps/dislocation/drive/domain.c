/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include "../physics/elastic/far.h"

#include <math.h>

void dd_domain_init(dd_domain *domain, MPI_Comm comm)
{
    *domain = (dd_domain){.far_order = DD_FAR_DEFAULT_ORDER, .comm = comm, .plan = EQP_EXCHANGE_PLAN_DEFAULTS};
    MPI_Comm_rank(comm, &domain->rank);
    MPI_Comm_size(comm, &domain->nranks);
    dd_network_init(&domain->network);
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

int dd_node_owned(const dd_node *node)
{
    int n = 0;

    for (int k = 0; k < node->narms; k++) {
        n += node->tag < node->arm[k].tag;
    }
    return n;
}

int64_t dd_node_bytes(const dd_node *node)
{
    return (int64_t)sizeof *node + node->narms * (int64_t)sizeof *node->arm;
}

/* home: [asked] of the neighbours on other ranks, in order. */
static int set_homes(dd_domain *domain, const int *home, eqp_message *message)
{
    for (int64_t i = 0; i < domain->network.n; i++) {
        dd_node *node = &domain->network.node[i];
        node->home = domain->rank;
        for (int k = 0; k < node->narms; k++) {
            dd_arm *arm = &node->arm[k];
            arm->home = dd_network_find(&domain->network, arm->tag) < 0 ? *home++ : domain->rank;
            if (arm->home < 0) {
                eqp_message_set(message, "node %u,%u: its arm leads to %u,%u, which does not exist",
                                DD_TAG_DOMAIN(node->tag), DD_TAG_INDEX(node->tag), DD_TAG_DOMAIN(arm->tag),
                                DD_TAG_INDEX(arm->tag));
                return EQP_ERR_DATA;
            }
        }
    }
    return EQP_OK;
}

/* Tags of all nodes [n], then of all neighbours on other ranks [asked]. */
static int list_tags(const dd_domain *domain, int64_t **tag, int64_t *asked, int **home)
{
    const dd_network *network = &domain->network;
    int64_t narms = 0, at = network->n;

    for (int64_t i = 0; i < network->n; i++) {
        narms += network->node[i].narms;
    }
    EQP_CHECK(eqp_array_create(tag, network->n + narms, sizeof **tag));
    EQP_CHECK(eqp_array_create(home, narms, sizeof **home));
    for (int64_t i = 0; i < network->n; i++) {
        const dd_node *node = &network->node[i];
        (*tag)[i] = (int64_t)node->tag;
        for (int k = 0; k < node->narms; k++) {
            if (dd_network_find(network, node->arm[k].tag) < 0) {
                (*tag)[at++] = (int64_t)node->arm[k].tag;
            }
        }
    }
    *asked = at - network->n;
    return EQP_OK;
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
    /* File formats store ids as signed 64-bit numbers, and new nodes need room. */
    if (largest >= (uint64_t)INT64_MAX - ((uint64_t)1 << 40)) {
        eqp_message_set(message, "node %u,%u: no room for new tags behind it", DD_TAG_DOMAIN(largest),
                        DD_TAG_INDEX(largest));
        code = EQP_ERR_DATA;
    } else {
        domain->next_tag = largest + 1;
    }
    return code;
}

/* Names a tag that occurs twice. Collects all tags, since the run ends anyway. Collective. */
static void name_twins(const dd_domain *domain, const int64_t *tag, eqp_message *message)
{
    DD_FREED dd_tag *all = NULL;
    int64_t n = 0;

    (void)eqp_gather_records(domain->comm, sizeof *all, domain->network.n, tag, &n, &all);
    dd_sort(all, n, sizeof *all, dd_by_word);
    for (int64_t i = 1; i < n; i++) {
        if (all[i] == all[i - 1]) {
            eqp_message_set(message, "node %u,%u: stands twice", DD_TAG_DOMAIN(all[i]), DD_TAG_INDEX(all[i]));
        }
    }
}

int dd_domain_connect(dd_domain *domain, eqp_message *message)
{
    eqp_directory *directory = NULL;
    int64_t *tag = NULL, asked = 0;
    int *home = NULL, code;

    EQP_TRY(eqp_agree(domain->comm, list_tags(domain, &tag, &asked, &home), message));
    code = eqp_directory_create(domain->comm, domain->network.n, tag, &directory);
    if (code == EQP_ERR_DATA) {
        name_twins(domain, tag, message);
    }
    EQP_TRY(code);
    EQP_TRY(eqp_directory_find(directory, asked, tag + domain->network.n, home));
    EQP_TRY(eqp_agree(domain->comm, set_homes(domain, home, message), message));
    EQP_TRY(find_next_tag(domain, message));
done:
    eqp_directory_free(directory);
    free(tag);
    free(home);
    return code;
}

typedef struct news {
    dd_tag neighbour, moved;
    int home;
} news;

static int hear_news(dd_domain *domain, dd_inbox *in)
{
    for (const news *heard; (heard = dd_inbox_next(in, sizeof *heard)) != NULL;) {
        const int64_t place = dd_network_find(&domain->network, heard->neighbour);
        dd_arm *arm = place < 0 ? NULL : dd_node_find_arm(&domain->network.node[place], heard->moved);
        if (arm == NULL) {
            return EQP_ERR_INTERNAL;
        }
        arm->home = heard->home;
    }
    return EQP_OK;
}

/* bytes: sent to other ranks */
static int tell_neighbours(dd_domain *domain, int code, const int *dest, int64_t *bytes)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    dd_outbox out = {.code = code};

    for (int64_t i = 0; i < domain->network.n && code == EQP_OK; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms && dest[i] != domain->rank; k++) {
            const news told = {node->arm[k].tag, node->tag, dest[i]};
            dd_outbox_add(&out, node->arm[k].home, &told, sizeof told);
            *bytes += node->arm[k].home != domain->rank ? (int64_t)sizeof told : 0;
        }
    }
    EQP_CHECK(dd_outbox_deliver_own(domain->comm, &out, NULL, &in));
    return hear_news(domain, &in);
}

/* Nodes that stay close ranks; those that arrive are added. */
static int exchange_nodes(dd_domain *domain, const int *dest, dd_inbox *in)
{
    dd_network *network = &domain->network;
    int64_t kept = 0;

    for (int64_t i = 0; i < network->n; i++) {
        if (dest[i] != domain->rank) {
            dd_node_free(&network->node[i]);
        } else {
            network->node[kept++] = network->node[i];
        }
    }
    network->n = kept;
    EQP_CHECK(dd_network_index(network));
    while (!dd_inbox_empty(in)) {
        DD_FREED_BY(dd_node_free) dd_node arrived = {0};
        EQP_CHECK(dd_inbox_read_node(in, &arrived));
        arrived.home = domain->rank;
        EQP_CHECK(dd_network_add(network, &arrived));
    }
    return EQP_OK;
}

int dd_domain_migrate(dd_domain *domain, int code, const int *dest, dd_moved *moved)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    dd_moved leaving = {0, 0};
    dd_outbox out = {.code = tell_neighbours(domain, code, dest, &leaving.bytes)};

    for (int64_t i = 0; i < domain->network.n && out.code == EQP_OK; i++) {
        if (dest[i] != domain->rank) {
            dd_outbox_add_node(&out, dest[i], &domain->network.node[i]);
            leaving.nodes++;
        }
    }
    leaving.bytes += out.n * (int64_t)sizeof *out.word;
    EQP_CHECK(dd_outbox_deliver_own(domain->comm, &out, NULL, &in));
    EQP_CHECK(exchange_nodes(domain, dest, &in));
    dd_network_sort(&domain->network);
    moved->nodes += leaving.nodes;
    moved->bytes += leaving.bytes;
    return EQP_OK;
}
