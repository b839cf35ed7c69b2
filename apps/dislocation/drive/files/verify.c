/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../physics/motion/tile.h"
#include "../domain.h"

#include "input.h"

#include <math.h>
#include <stdio.h>

/* Burgers vectors that differ by less than this share are equal: files hold ten digits. */
#define SAME_BURGERS 1e-4

/* An arm's data, sent to its neighbour. */
typedef struct claim {
    dd_tag node, neighbour;
    double x[3], burgers[3];
} claim;

/* The fault with the lowest tag counts, so that the result does not depend on the ranks. */
typedef struct findings {
    double longest;
    dd_tag node, neighbour; /* of the fault; DD_NO_TAG: no fault */
    const char *what;
    double limit; /* of a length, b; 0: no length at fault */
} findings;

static void refuse(const claim *c, const char *what, double limit, findings *f)
{
    if (c->node < f->node || (c->node == f->node && c->neighbour < f->neighbour)) {
        f->node = c->node;
        f->neighbour = c->neighbour;
        f->what = what;
        f->limit = limit;
    }
}

/* Half of the shortest periodic edge; infinite without periodic directions. */
static double half_box(const dd_domain *domain)
{
    double half = INFINITY;

    for (int d = 0; d < 3; d++) {
        if (domain->box[d] > 0 && domain->box[d] / 2 < half) {
            half = domain->box[d] / 2;
        }
    }
    return half;
}

/* Checks an arm on the rank of its neighbour. */
static void check_claim(const dd_domain *domain, const claim *c, findings *f)
{
    const int64_t place = dd_network_find(&domain->network, c->neighbour);
    const dd_node *node = place < 0 ? NULL : &domain->network.node[place];
    const dd_arm *back = node == NULL ? NULL : dd_node_find_arm(node, c->node);
    double offset[3], difference = 0, largest = 0, length;

    if (back == NULL) {
        refuse(c, "no arm leads back from", 0, f);
        return;
    }
    for (int d = 0; d < 3; d++) {
        difference = fmax(difference, fabs(c->burgers[d] + back->burgers[d]));
        largest = fmax(largest, fabs(c->burgers[d]));
    }
    dd_domain_offset(domain, c->x, node->x, offset);
    length = sqrt(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]);
    if (!(difference <= SAME_BURGERS * largest)) {
        refuse(c, "its Burgers vector is not the opposite of that of the arm from", 0, f);
    } else if (!(length > 0)) {
        refuse(c, "no length between it and", 0, f);
    } else if (length >= half_box(domain)) {
        refuse(c, "half the box or more lies between it and", half_box(domain), f);
    } else {
        f->longest = fmax(f->longest, length);
    }
}

/* Checks arms to neighbours on this rank at once and sends the rest. */
static void make_claims(const dd_domain *domain, dd_outbox *out, findings *f)
{
    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_node *node = &domain->network.node[i];
        for (int k = 0; k < node->narms; k++) {
            const dd_arm *arm = &node->arm[k];
            const claim c = {node->tag,
                             arm->tag,
                             {node->x[0], node->x[1], node->x[2]},
                             {arm->burgers[0], arm->burgers[1], arm->burgers[2]}};
            if (arm->home == domain->rank) {
                check_claim(domain, &c, f);
            } else {
                dd_outbox_add(out, arm->home, &c, sizeof c);
            }
        }
    }
}

static int judge(const dd_domain *domain, const findings *f, eqp_message *message)
{
    uint64_t lowest = f->node;
    char limit[64] = "";
    int code = EQP_OK;

    if (MPI_Allreduce(MPI_IN_PLACE, &lowest, 1, MPI_UINT64_T, MPI_MIN, domain->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (lowest != DD_NO_TAG) {
        code = f->node == lowest ? EQP_ERR_DATA : EQP_ERR_REMOTE;
        if (f->limit > 0) {
            snprintf(limit, sizeof limit, ": a segment is shorter than %g b", f->limit);
        }
        eqp_message_set(message, "node %u,%u: %s %u,%u%s", DD_TAG_DOMAIN(f->node), DD_TAG_INDEX(f->node),
                        f->what != NULL ? f->what : "", DD_TAG_DOMAIN(f->neighbour), DD_TAG_INDEX(f->neighbour), limit);
    }
    return eqp_agree(domain->comm, code, message);
}

int dd_verify_arms(const dd_domain *domain, double *longest, int64_t *nsegments, eqp_message *message)
{
    findings found = {0, DD_NO_TAG, DD_NO_TAG, NULL, 0};
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    dd_outbox out = {0};
    int64_t narms = 0;

    make_claims(domain, &out, &found);
    EQP_CHECK(dd_outbox_deliver(domain->comm, &out, &in));
    for (const claim *c; (c = dd_inbox_next(&in, sizeof *c)) != NULL;) {
        check_claim(domain, c, &found);
    }
    for (int64_t i = 0; i < domain->network.n; i++) {
        narms += domain->network.node[i].narms;
    }
    EQP_CHECK(judge(domain, &found, message));
    EQP_CHECK(eqp_sum_int64(domain->comm, 1, &narms));
    if (MPI_Allreduce(MPI_IN_PLACE, &found.longest, 1, MPI_DOUBLE, MPI_MAX, domain->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    *longest = found.longest;
    *nsegments = narms / 2;
    return EQP_OK;
}

/* Plans the tags of copies from the largest domain and index of all ranks. */
static int plan(const dd_domain *domain, const int count[3], dd_tiling *tiling, eqp_message *message)
{
    uint32_t largest[2] = {0, 0};
    dd_node node = {0};
    int code;

    for (int64_t i = 0; i < domain->network.n; i++) {
        const dd_tag tag = domain->network.node[i].tag;
        largest[0] = DD_TAG_DOMAIN(tag) > largest[0] ? DD_TAG_DOMAIN(tag) : largest[0];
        largest[1] = DD_TAG_INDEX(tag) > largest[1] ? DD_TAG_INDEX(tag) : largest[1];
    }
    if (MPI_Allreduce(MPI_IN_PLACE, largest, 2, MPI_UINT32_T, MPI_MAX, domain->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    node.tag = DD_TAG(largest[0], largest[1]);
    const dd_network all = {.n = 1, .node = &node};
    code = dd_tiling_init(tiling, &all, count, domain->low, domain->box);
    if (code == EQP_ERR_ARGUMENT) {
        eqp_message_set(message, "dislocation: --tile: the box is not periodic in a direction in which it is repeated");
    } else if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --tile: the copies need more tags than there are");
    }
    return code;
}

/* Copies ghosts without arms, for their positions. */
static int add_ghosts(const dd_halo *halo, dd_network *base)
{
    for (int64_t g = 0; g < halo->nghosts; g++) {
        dd_node ghost = {.tag = halo->tag[g]};
        memcpy(ghost.x, halo->x + 3 * g, sizeof ghost.x);
        EQP_CHECK(dd_network_add(base, &ghost));
    }
    return EQP_OK;
}

static int add_tile(const dd_tiling *tiling, const dd_network *base, const dd_halo *halo, int64_t tile, int64_t total,
                    dd_network *network)
{
    const int64_t before = network->n;

    EQP_CHECK(dd_tiling_make(tiling, base, tile, 1, network));
    for (int64_t g = 0; g < halo->nghosts; g++) {
        dd_network_remove(network, dd_network_find(network, dd_tiling_tag(tiling, tile, halo->tag[g])));
    }
    for (int64_t i = before; i < network->n; i++) {
        network->node[i].order += tile * total;
    }
    return EQP_OK;
}

static int copy(dd_domain *domain, const dd_tiling *tiling, const dd_halo *halo, int64_t total)
{
    dd_network base = domain->network; /* moved */
    int code;

    dd_network_init(&domain->network);
    code = add_ghosts(halo, &base);
    for (int64_t tile = 0; tile < dd_tiling_count(tiling) && code == EQP_OK; tile++) {
        code = add_tile(tiling, &base, halo, tile, total, &domain->network);
    }
    dd_network_free(&base);
    return code;
}

int dd_tile_domain(dd_domain *domain, const int count[3], eqp_message *message)
{
    DD_FREED_BY(dd_halo_free) dd_halo halo = {0};
    int64_t total = domain->network.n;
    dd_tiling tiling;

    EQP_CHECK(eqp_sum_int64(domain->comm, 1, &total));
    EQP_CHECK(plan(domain, count, &tiling, message));
    EQP_CHECK(dd_halo_create(domain, DD_PLACES, EQP_OK, &halo));
    const int code = eqp_agree(domain->comm, copy(domain, &tiling, &halo, total), NULL);
    if (code != EQP_OK) {
        eqp_message_set(message, "dislocation: --tile: %s", eqp_error_text(code));
        return code;
    }
    dd_tiling_box(&tiling, domain->low, domain->box);
    for (int d = 0; d < 3; d++) {
        domain->edge[d] *= count[d];
    }
    return EQP_OK;
}
