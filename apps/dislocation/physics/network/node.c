/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"

#include "vector.h"

#include <equipoise/error.h>
#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 2 /* most nodes have two arms */
#define FIRST_SLOTS 16

int dd_node_add_arm(dd_node *node, dd_tag tag, dd_arm **arm)
{
    if (node->narms == node->room) {
        const int room = node->room > 0 ? 2 * node->room : FIRST_ROOM;
        dd_arm *grown = realloc(node->arm, (size_t)room * sizeof *grown);
        if (grown == NULL) {
            return EQP_ERR_MEMORY;
        }
        node->arm = grown;
        node->room = room;
    }
    *arm = &node->arm[node->narms++];
    **arm = (dd_arm){.tag = tag};
    return EQP_OK;
}

dd_arm *dd_node_find_arm(const dd_node *node, dd_tag tag)
{
    for (int i = 0; i < node->narms; i++) {
        if (node->arm[i].tag == tag) {
            return &node->arm[i];
        }
    }
    return NULL;
}

void dd_node_remove_arm(dd_node *node, dd_arm *arm)
{
    const ptrdiff_t behind = node->arm + node->narms - (arm + 1);

    memmove(arm, arm + 1, (size_t)behind * sizeof *arm);
    node->narms--;
}

int dd_node_copy(dd_node *to, const dd_node *from)
{
    dd_arm *arm = NULL;
    EQP_CHECK(eqp_array_create(&arm, from->narms, sizeof *arm));
    if (from->narms > 0) {
        memcpy(arm, from->arm, (size_t)from->narms * sizeof *arm);
    }
    *to = *from;
    to->arm = arm;
    to->room = from->narms;
    return EQP_OK;
}

void dd_node_free(dd_node *node)
{
    free(node->arm);
    *node = (dd_node){0};
}

void dd_node_burgers(const dd_node *node, double sum[3])
{
    sum[0] = sum[1] = sum[2] = 0.0;
    for (int i = 0; i < node->narms; i++) {
        for (int d = 0; d < 3; d++) {
            sum[d] += node->arm[i].burgers[d];
        }
    }
}

void dd_node_force(const dd_node *node, double force[3])
{
    force[0] = force[1] = force[2] = 0.0;
    for (int k = 0; k < node->narms; k++) {
        for (int d = 0; d < 3; d++) {
            force[d] += node->arm[k].force[d];
        }
    }
}

void dd_network_init(dd_network *network)
{
    *network = (dd_network){0};
}

void dd_network_free(dd_network *network)
{
    for (int64_t i = 0; i < network->n; i++) {
        dd_node_free(&network->node[i]);
    }
    free(network->node);
    free(network->slot);
    *network = (dd_network){0};
}

/* Bijection that scatters tags, whose low bits count upwards: the finalizer of splitmix64 (S. Vigna). */
static int64_t first_slot(dd_tag tag, int64_t nslots)
{
    tag = (tag ^ tag >> 30) * 0xbf58476d1ce4e5b9U;
    tag = (tag ^ tag >> 27) * 0x94d049bb133111ebU;
    return (int64_t)((tag ^ tag >> 31) & (uint64_t)(nslots - 1));
}

/* Slot of the tag, or the empty slot for it. */
static int64_t slot_of(const dd_network *network, dd_tag tag)
{
    int64_t s = first_slot(tag, network->nslots);

    while (network->slot[s] != 0 && network->node[network->slot[s] - 1].tag != tag) {
        s = (s + 1) & (network->nslots - 1);
    }
    return s;
}

static void fill_slots(dd_network *network)
{
    memset(network->slot, 0, (size_t)network->nslots * sizeof *network->slot);
    for (int64_t i = 0; i < network->n; i++) {
        network->slot[slot_of(network, network->node[i].tag)] = i + 1;
    }
}

/* Keeps at least half of the slots empty. */
static int reserve_slots(dd_network *network, int64_t n)
{
    int64_t nslots = network->nslots > 0 ? network->nslots : FIRST_SLOTS;
    int64_t *slot;

    if (2 * n <= network->nslots) {
        return EQP_OK;
    }
    while (nslots < 2 * n) {
        nslots *= 2;
    }
    slot = calloc((size_t)nslots, sizeof *slot);
    if (slot == NULL) {
        return EQP_ERR_MEMORY;
    }
    free(network->slot);
    network->slot = slot;
    network->nslots = nslots;
    fill_slots(network);
    return EQP_OK;
}

int dd_network_index(dd_network *network)
{
    const int64_t nslots = network->nslots;
    int code = reserve_slots(network, network->n);

    if (code == EQP_OK && nslots == network->nslots && nslots > 0) {
        fill_slots(network);
    }
    return code;
}

int64_t dd_network_find(const dd_network *network, dd_tag tag)
{
    return network->nslots == 0 ? -1 : network->slot[slot_of(network, tag)] - 1;
}

int dd_network_add(dd_network *network, dd_node *node)
{
    int64_t s;
    int code;

    EQP_TRY(eqp_array_reserve(&network->node, &network->room, network->n + 1, sizeof *network->node));
    EQP_TRY(reserve_slots(network, network->n + 1));
done:
    if (code != EQP_OK) {
        return code;
    }
    s = slot_of(network, node->tag);
    if (network->slot[s] != 0) {
        return EQP_ERR_DATA;
    }
    network->node[network->n] = *node;
    network->slot[s] = ++network->n;
    *node = (dd_node){0};
    return EQP_OK;
}

/* Empties a slot and moves later entries that could not be found any more (linear probing). */
static void empty_slot(dd_network *network, int64_t s)
{
    const int64_t mask = network->nslots - 1;

    network->slot[s] = 0;
    for (int64_t t = (s + 1) & mask; network->slot[t] != 0; t = (t + 1) & mask) {
        const int64_t wanted = first_slot(network->node[network->slot[t] - 1].tag, network->nslots);
        if (((t - wanted) & mask) >= ((t - s) & mask)) {
            network->slot[s] = network->slot[t];
            network->slot[t] = 0;
            s = t;
        }
    }
}

void dd_network_remove(dd_network *network, int64_t place)
{
    const int64_t last = network->n - 1;

    empty_slot(network, slot_of(network, network->node[place].tag));
    dd_node_free(&network->node[place]);
    if (place != last) {
        const int64_t s = slot_of(network, network->node[last].tag);
        network->node[place] = network->node[last];
        network->slot[s] = place + 1;
    }
    network->n--;
}

static int compare_tags(const void *left, const void *right)
{
    const dd_tag a = ((const dd_node *)left)->tag, b = ((const dd_node *)right)->tag;

    return (a > b) - (a < b);
}

void dd_network_sort(dd_network *network)
{
    if (network->n > 1) {
        qsort(network->node, (size_t)network->n, sizeof *network->node, compare_tags);
        fill_slots(network);
    }
}

void dd_patch_init(dd_patch *patch, const double low[3], const double box[3])
{
    patch->n = 0;
    patch->nnew = 0;
    for (int i = 0; i < DD_PATCH_NEW; i++) {
        patch->new_tag[i] = DD_NO_TAG;
    }
    dd_v3_copy(patch->low, low);
    dd_v3_copy(patch->box, box);
}

void dd_patch_free(dd_patch *patch)
{
    for (int i = 0; i < patch->n; i++) {
        dd_node_free(&patch->at[i].node);
    }
    patch->n = 0;
    patch->nnew = 0;
}

dd_patch_node *dd_patch_find(dd_patch *patch, dd_tag tag)
{
    for (int i = 0; i < patch->n; i++) {
        if (patch->at[i].node.tag == tag && !patch->at[i].deleted) {
            return &patch->at[i];
        }
    }
    return NULL;
}

void dd_patch_offset(const dd_patch *patch, const double from[3], const double to[3], double offset[3])
{
    for (int k = 0; k < 3; k++) {
        offset[k] = to[k] - from[k];
        if (patch->box[k] > 0.0) {
            offset[k] -= patch->box[k] * rint(offset[k] / patch->box[k]);
        }
    }
}
