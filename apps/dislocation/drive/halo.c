/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include <assert.h>

/* Force on the other end of an arm. */
#define ARM_BYTES ((int64_t)(3 * sizeof(double)))

/* An arm across ranks. */
typedef struct crossing {
    uint64_t key[3]; /* by which it is sorted */
    int64_t node;
    int64_t place;   /* of the arm in the halo's list */
    int64_t segment; /* place among the own segments; -1: the other end owns it */
    dd_arm *arm;
    dd_tag tag; /* of the node */
} crossing;

enum { BY_OTHER, BY_NODE, BY_SEGMENT };

/* By the home and the other end; by node, then by home; or by home, then by segment (lower tag, higher tag). */
static void sort(crossing *cross, int64_t n, int by)
{
    for (int64_t c = 0; c < n; c++) {
        const dd_tag own = cross[c].tag, other = cross[c].arm->tag, home = (uint64_t)cross[c].arm->home;
        const bool low = own < other;
        const uint64_t key[][3] = {[BY_OTHER] = {home, other, own},
                                   [BY_NODE] = {own, home, other},
                                   [BY_SEGMENT] = {home, low ? own : other, low ? other : own}};
        memcpy(cross[c].key, key[by], sizeof cross[c].key);
    }
    dd_sort(cross, n, sizeof *cross, dd_by_3_words);
}

static int create_lists(const dd_domain *domain, dd_halo *halo, crossing **cross)
{
    int64_t narms = 0, nown = 0;

    for (int64_t i = 0; i < halo->n; i++) {
        narms += domain->network.node[i].narms;
        nown += dd_node_owned(&domain->network.node[i]);
    }
    EQP_CHECK(eqp_array_create(&halo->first, halo->n + 1, sizeof *halo->first));
    EQP_CHECK(eqp_array_create(&halo->place, narms, sizeof *halo->place));
    EQP_CHECK(eqp_array_create(&halo->own, nown, sizeof *halo->own));
    return eqp_array_create(cross, narms, sizeof **cross);
}

/* Finds neighbours that live here, lists the own segments and the arms that cross. */
static int split_arms(const dd_domain *domain, dd_halo *halo, crossing *cross, int64_t *ncross)
{
    const dd_network *network = &domain->network;
    int64_t narms = 0;

    for (int64_t i = 0; i < halo->n; i++) {
        const dd_node *node = &network->node[i];
        for (int k = 0; k < node->narms; k++, narms++) {
            dd_arm *arm = &node->arm[k];
            const bool own = node->tag < arm->tag, here = arm->home == domain->rank;
            const int64_t place = here ? dd_network_find(network, arm->tag) : -1;
            dd_arm *back = own && place >= 0 ? dd_node_find_arm(&network->node[place], node->tag) : NULL;
            if (here && (place < 0 || (own && back == NULL))) {
                return EQP_ERR_INTERNAL;
            }
            halo->place[narms] = place;
            if (!here) {
                cross[(*ncross)++] = (crossing){
                    .node = i, .place = narms, .segment = own ? halo->nown : -1, .arm = arm, .tag = node->tag};
            }
            if (own) {
                halo->own[halo->nown++] = (dd_own){.node = i, .far = place, .arm = arm, .back = back};
            }
        }
        halo->first[i + 1] = narms;
    }
    return EQP_OK;
}

static int number_ghosts(dd_halo *halo, crossing *cross, int64_t ncross)
{
    EQP_CHECK(eqp_array_create(&halo->tag, ncross, sizeof *halo->tag));
    sort(cross, ncross, BY_OTHER);
    for (int64_t c = 0; c < ncross; c++) {
        if (c == 0 || dd_by_2_words(&cross[c - 1], &cross[c]) != 0) {
            halo->tag[halo->nghosts++] = cross[c].arm->tag;
        }
        halo->place[cross[c].place] = halo->n + halo->nghosts - 1;
        if (cross[c].segment >= 0) {
            halo->own[cross[c].segment].far = halo->n + halo->nghosts - 1;
        }
    }
    EQP_CHECK(eqp_array_create(&halo->x, 3 * halo->nghosts, sizeof *halo->x));
    return halo->numbers > 3 ? eqp_array_create(&halo->v, 3 * halo->nghosts, sizeof *halo->v) : EQP_OK;
}

/* Lists own nodes by tag, the order in which other ranks number them. */
static int list_senders(dd_halo *halo, crossing *cross, int64_t ncross, dd_blocks *blocks)
{
    EQP_CHECK(eqp_array_create(&halo->send, ncross, sizeof *halo->send));
    sort(cross, ncross, BY_NODE);
    for (int64_t c = 0; c < ncross; c++) {
        if (c == 0 || dd_by_word(&cross[c - 1], &cross[c]) != 0) {
            dd_blocks_add(blocks, (int64_t)cross[c].tag, halo->numbers * (int64_t)sizeof(double));
            halo->send[halo->nsend++] = cross[c].node;
        }
        if (c == 0 || dd_by_2_words(&cross[c - 1], &cross[c]) != 0) {
            dd_blocks_need(blocks, cross[c].arm->home);
        }
    }
    return eqp_array_create(&halo->out, halo->nsend * halo->numbers, sizeof *halo->out);
}

static int list_arms(dd_halo *halo, crossing *cross, int64_t ncross, dd_blocks *blocks)
{
    EQP_CHECK(eqp_array_create(&halo->theirs, ncross, sizeof *halo->theirs));
    sort(cross, ncross, BY_SEGMENT);
    for (int64_t c = 0; c < ncross; c++) {
        const int home = cross[c].arm->home;
        if (cross[c].segment < 0) {
            halo->theirs[halo->ntheirs++] = cross[c].arm;
            continue;
        }
        halo->own[cross[c].segment].crossing = halo->ncrossings++;
        if (blocks->n == 0 || blocks->id[blocks->n - 1] != home) {
            dd_blocks_add(blocks, home, 0);
            dd_blocks_need(blocks, home);
            EQP_CHECK(blocks->code);
        }
        blocks->bytes[blocks->n - 1] += ARM_BYTES;
    }
    return EQP_OK;
}

/* Lists everything that crosses. Local. */
static int list_all(const dd_domain *domain, dd_halo *halo, dd_blocks *nodes, dd_blocks *arms)
{
    DD_FREED crossing *cross = NULL;
    int64_t ncross = 0;

    EQP_CHECK(create_lists(domain, halo, &cross));
    EQP_CHECK(split_arms(domain, halo, cross, &ncross));
    EQP_CHECK(number_ghosts(halo, cross, ncross));
    EQP_CHECK(list_senders(halo, cross, ncross, nodes));
    return halo->numbers > 3 ? EQP_OK : list_arms(halo, cross, ncross, arms);
}

/* Checks that arrivals match this side's lists. */
static int check_arrivals(const dd_halo *halo)
{
    const eqp_route_view nodes = eqp_route_arrivals(halo->nodes);
    const eqp_route_view arms = halo->arms != NULL ? eqp_route_arrivals(halo->arms) : (eqp_route_view){.n = 0};
    int64_t narms = 0;
    bool match = nodes.n == halo->nghosts;

    for (int64_t g = 0; g < nodes.n && match; g++) {
        match = (dd_tag)nodes.id[g] == halo->tag[g];
    }
    for (int64_t a = 0; a < arms.n; a++) {
        narms += arms.bytes[a] / ARM_BYTES;
    }
    return match && narms == halo->ntheirs ? EQP_OK : EQP_ERR_INTERNAL;
}

int dd_halo_create(const dd_domain *domain, int numbers, int code, dd_halo *halo)
{
    dd_halo made = {.n = domain->network.n, .numbers = numbers};
    dd_blocks nodes = {.n = 0}, arms = {.n = 0};

    dd_blocks_fail(&nodes, code == EQP_OK ? list_all(domain, &made, &nodes, &arms) : code);
    dd_blocks_fail(&arms, nodes.code);
    EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &nodes, &made.nodes));
    if (numbers == DD_PLACES) {
        EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &arms, &made.arms));
    }
    EQP_TRY(dd_halo_refresh(domain, &made, check_arrivals(&made)));
    *halo = made;
    return EQP_OK;
done:
    dd_blocks_free(&arms);
    dd_halo_free(&made);
    return code;
}

void dd_halo_free(dd_halo *halo)
{
    void *owned[] = {halo->first, halo->place, halo->tag, halo->x,     halo->v,
                     halo->send,  halo->out,   halo->own, halo->theirs};

    eqp_route_free(halo->nodes);
    eqp_route_free(halo->arms);
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    *halo = (dd_halo){0};
}

int dd_halo_refresh(const dd_domain *domain, dd_halo *halo, int code)
{
    const eqp_route_view view = eqp_route_arrivals(halo->nodes);
    const void *received = NULL;

    for (int64_t s = 0; s < halo->nsend; s++) {
        const dd_node *node = &domain->network.node[halo->send[s]];
        double *to = halo->out + s * halo->numbers;
        memcpy(to, node->x, sizeof node->x);
        if (halo->numbers > 3) {
            memcpy(to + 3, node->v, sizeof node->v);
        }
    }
    EQP_CHECK(dd_route_send(halo->nodes, code, halo->out, &received));
    for (int64_t g = 0; g < view.n; g++) {
        const char *from = (const char *)received + view.offset[g];
        memcpy(halo->x + 3 * g, from, 3 * sizeof(double));
        if (halo->numbers > 3) {
            memcpy(halo->v + 3 * g, from + 3 * sizeof(double), 3 * sizeof(double));
        }
    }
    return EQP_OK;
}

int dd_halo_spread(const dd_halo *halo, const int *own, int *ghost)
{
    const eqp_route_view view = eqp_route_arrivals(halo->nodes);
    const void *received = NULL;

    for (int64_t s = 0; s < halo->nsend; s++) {
        memcpy(halo->out + s * halo->numbers, &own[halo->send[s]], sizeof *own);
    }
    EQP_CHECK(dd_route_send(halo->nodes, EQP_OK, halo->out, &received));
    for (int64_t g = 0; g < view.n; g++) {
        memcpy(&ghost[g], (const char *)received + view.offset[g], sizeof *ghost);
    }
    return EQP_OK;
}

int dd_halo_give(const dd_halo *halo, int code, const double *out, double *in)
{
    const eqp_route_view view = eqp_route_arrivals(halo->arms);
    const void *received = NULL;

    EQP_CHECK(dd_route_send(halo->arms, code, out, &received));
    for (int64_t b = 0; b < view.n; b++) { /* in the order of theirs */
        memcpy(in, (const char *)received + view.offset[b], (size_t)view.bytes[b]);
        in += view.bytes[b] / (int64_t)sizeof *in;
    }
    return EQP_OK;
}

const double *dd_halo_position(const dd_domain *domain, const dd_halo *halo, int64_t place)
{
    return place < halo->n ? domain->network.node[place].x : halo->x + 3 * (place - halo->n);
}

const double *dd_halo_velocity(const dd_domain *domain, const dd_halo *halo, int64_t place)
{
    assert(halo->numbers > 3);
    return place < halo->n ? domain->network.node[place].v : halo->v + 3 * (place - halo->n);
}

void dd_halo_way(const dd_domain *domain, const dd_halo *halo, const double from[3], int64_t place, double way[3])
{
    dd_domain_offset(domain, dd_halo_position(domain, halo, place), from, way);
}
