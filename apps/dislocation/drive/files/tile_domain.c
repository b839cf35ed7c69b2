/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include "../halo.h"

#include "../../physics/motion/tile.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <string.h>

/* Plans the tags of copies, from the largest domain and the largest index of all ranks. */
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

/* Ghosts are copied along without arms, for their positions. */
static int add_ghosts(const dd_halo *halo, dd_network *base)
{
    int code = EQP_OK;

    for (int64_t g = 0; g < halo->nghosts && code == EQP_OK; g++) {
        dd_node ghost = {.tag = halo->tag[g]};
        memcpy(ghost.x, halo->x + 3 * g, sizeof ghost.x);
        code = dd_network_add(base, &ghost);
    }
    return code;
}

static int add_tile(const dd_tiling *tiling, const dd_network *base, const dd_halo *halo, int64_t tile, int64_t total,
                    dd_network *network)
{
    const int64_t before = network->n;
    int code = dd_tiling_make(tiling, base, tile, 1, network);

    if (code != EQP_OK) {
        return code;
    }
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
    int64_t total = domain->network.n;
    dd_tiling tiling;
    dd_halo halo = {0};
    int code = eqp_sum_int64(domain->comm, 1, &total);

    if (code == EQP_OK) {
        code = plan(domain, count, &tiling, message);
    }
    if (code == EQP_OK) {
        code = dd_halo_create(domain, EQP_OK, &halo);
    }
    if (code == EQP_OK) {
        code = eqp_agree(domain->comm, copy(domain, &tiling, &halo, total), NULL);
        if (code != EQP_OK) {
            eqp_message_set(message, "dislocation: --tile: %s", eqp_error_text(code));
        }
    }
    dd_halo_free(&halo);
    if (code == EQP_OK) {
        dd_tiling_box(&tiling, domain->low, domain->box);
        for (int d = 0; d < 3; d++) {
            domain->edge[d] *= count[d];
        }
    }
    return code;
}
