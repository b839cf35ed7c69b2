/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include "outbox.h"

#include <equipoise/more/base.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Force on the other end of an arm. */
#define ARM_BYTES ((int64_t)(3 * sizeof(double)))

/* An arm across ranks. */
typedef struct crossing {
    int home;
    int arm;
    int64_t node;
    dd_tag own, other;
} crossing;

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_other(const void *left, const void *right)
{
    const crossing *a = left, *b = right;

    return a->home != b->home ? a->home - b->home : compare_u64(a->other, b->other);
}

static int by_own(const void *left, const void *right)
{
    const crossing *a = left, *b = right;

    return a->own != b->own ? compare_u64(a->own, b->own) : a->home - b->home;
}

static int by_segment(const void *left, const void *right)
{
    const crossing *a = left, *b = right;
    const bool a_low = a->own < a->other, b_low = b->own < b->other;
    const int low = compare_u64(a_low ? a->own : a->other, b_low ? b->own : b->other);

    if (a->home != b->home) {
        return a->home - b->home;
    }
    return low != 0 ? low : compare_u64(a_low ? a->other : a->own, b_low ? b->other : b->own);
}

static void sort(crossing *c, int64_t n, int (*compare)(const void *, const void *))
{
    if (n > 1) {
        qsort(c, (size_t)n, sizeof *c, compare);
    }
}

/* Finds neighbours that live here and lists the arms that cross. */
static int64_t split_arms(const dd_domain *domain, dd_halo *halo, crossing *cross)
{
    int64_t narms = 0, ncross = 0;

    for (int64_t i = 0; i < halo->n; i++) {
        const dd_node *node = &domain->network.node[i];
        halo->first[i] = narms;
        for (int k = 0; k < node->narms; k++, narms++) {
            if (node->arm[k].home == domain->rank) {
                halo->place[narms] = dd_network_find(&domain->network, node->arm[k].tag);
            } else {
                cross[ncross++] = (crossing){node->arm[k].home, k, i, node->tag, node->arm[k].tag};
            }
        }
    }
    halo->first[halo->n] = narms;
    return ncross;
}

static int check_places(const dd_halo *halo)
{
    for (int64_t a = 0; a < halo->first[halo->n]; a++) {
        if (halo->place[a] < 0) {
            return EQP_ERR_INTERNAL;
        }
    }
    return EQP_OK;
}

static int number_ghosts(dd_halo *halo, crossing *cross, int64_t ncross)
{
    int code;

    EQP_TRY(eqp_array_create(&halo->tag, ncross, sizeof *halo->tag));
    sort(cross, ncross, by_other);
    for (int64_t c = 0; c < ncross; c++) {
        if (c == 0 || by_other(&cross[c - 1], &cross[c]) != 0) {
            halo->tag[halo->nghosts++] = cross[c].other;
        }
        halo->place[halo->first[cross[c].node] + cross[c].arm] = halo->n + halo->nghosts - 1;
    }
    EQP_TRY(eqp_array_create(&halo->x, 3 * halo->nghosts, sizeof *halo->x));
    if (halo->numbers > 3) {
        EQP_TRY(eqp_array_create(&halo->v, 3 * halo->nghosts, sizeof *halo->v));
    }
done:
    return code;
}

/* Lists own nodes by tag, the order in which other ranks number them. */
static int list_senders(dd_halo *halo, crossing *cross, int64_t ncross, dd_blocks *blocks)
{
    int code = eqp_array_create(&halo->send, ncross, sizeof *halo->send);

    sort(cross, ncross, by_own);
    for (int64_t c = 0; c < ncross && code == EQP_OK; c++) {
        if (c == 0 || cross[c - 1].own != cross[c].own) {
            dd_blocks_add(blocks, (int64_t)cross[c].own, halo->numbers * (int64_t)sizeof(double));
            halo->send[halo->nsend++] = cross[c].node;
        }
        if (c == 0 || by_own(&cross[c - 1], &cross[c]) != 0) {
            dd_blocks_need(blocks, cross[c].home);
        }
    }
    return code == EQP_OK ? eqp_array_create(&halo->out, halo->nsend * halo->numbers, sizeof *halo->out) : code;
}

static int crossings_create(int nranks, int64_t n, dd_crossings *made)
{
    int code;

    EQP_TRY(eqp_array_create(&made->node, n, sizeof *made->node));
    EQP_TRY(eqp_array_create(&made->arm, n, sizeof *made->arm));
    EQP_TRY(eqp_array_create(&made->count, nranks, sizeof *made->count));
done:
    return code;
}

static void crossings_free(dd_crossings *of)
{
    free(of->node);
    free(of->arm);
    free(of->count);
}

static int list_arms(const dd_domain *domain, dd_halo *halo, crossing *cross, int64_t ncross, dd_blocks *blocks)
{
    int64_t nmine = 0;
    int code;

    for (int64_t c = 0; c < ncross; c++) {
        nmine += cross[c].own < cross[c].other;
    }
    EQP_TRY(crossings_create(domain->nranks, nmine, &halo->mine));
    EQP_TRY(crossings_create(domain->nranks, ncross - nmine, &halo->theirs));
done:
    sort(cross, ncross, by_segment);
    for (int64_t c = 0; c < ncross && code == EQP_OK; c++) {
        dd_crossings *side = cross[c].own < cross[c].other ? &halo->mine : &halo->theirs;
        side->node[side->n] = cross[c].node;
        side->arm[side->n++] = cross[c].arm;
        side->count[cross[c].home]++;
    }
    for (int r = 0; r < domain->nranks && code == EQP_OK; r++) {
        if (halo->mine.count[r] > 0) {
            dd_blocks_add(blocks, r, halo->mine.count[r] * ARM_BYTES);
            dd_blocks_need(blocks, r);
        }
    }
    return code;
}

/* Checks that arrivals match this side's lists: nodes by home and tag, arms by rank. */
static int check_arrivals(const dd_domain *domain, const dd_halo *halo)
{
    const eqp_route_view nodes = eqp_route_arrivals(halo->nodes), arms = eqp_route_arrivals(halo->arms);
    int64_t a = 0;

    if (nodes.n != halo->nghosts) {
        return EQP_ERR_INTERNAL;
    }
    for (int64_t g = 0; g < nodes.n; g++) {
        if ((dd_tag)nodes.id[g] != halo->tag[g]) {
            return EQP_ERR_INTERNAL;
        }
    }
    for (int r = 0; r < domain->nranks; r++) {
        if (halo->theirs.count[r] > 0) {
            if (a == arms.n || arms.home[a] != r || arms.bytes[a] != halo->theirs.count[r] * ARM_BYTES) {
                return EQP_ERR_INTERNAL;
            }
            a++;
        }
    }
    return a == arms.n ? EQP_OK : EQP_ERR_INTERNAL;
}

/* Lists everything that crosses. Local. */
static int list_all(const dd_domain *domain, dd_halo *halo, dd_blocks *nodes, dd_blocks *arms)
{
    crossing *cross = NULL;
    int64_t narms = 0, ncross;
    int code;

    for (int64_t i = 0; i < halo->n; i++) {
        narms += domain->network.node[i].narms;
    }
    EQP_TRY(eqp_array_create(&halo->first, halo->n + 1, sizeof *halo->first));
    EQP_TRY(eqp_array_create(&halo->place, narms, sizeof *halo->place));
    EQP_TRY(eqp_array_create(&cross, narms, sizeof *cross));
    ncross = split_arms(domain, halo, cross);
    EQP_TRY(number_ghosts(halo, cross, ncross));
    EQP_TRY(check_places(halo));
    EQP_TRY(list_senders(halo, cross, ncross, nodes));
    EQP_TRY(list_arms(domain, halo, cross, ncross, arms));
done:
    free(cross);
    return code;
}

int dd_halo_create(const dd_domain *domain, int numbers, int code, dd_halo *halo)
{
    dd_halo made = {.n = domain->network.n, .numbers = numbers};
    dd_blocks nodes = {.n = 0}, arms = {.n = 0};

    dd_blocks_fail(&nodes, code == EQP_OK ? list_all(domain, &made, &nodes, &arms) : code);
    dd_blocks_fail(&arms, nodes.code);
    EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &nodes, &made.nodes));
    EQP_TRY(dd_blocks_route(domain->comm, &domain->plan, &arms, &made.arms));
    EQP_TRY(dd_halo_refresh(domain, &made, check_arrivals(domain, &made)));
    *halo = made;
    return EQP_OK;
done:
    dd_blocks_free(&arms);
    dd_halo_free(&made);
    return code;
}

void dd_halo_free(dd_halo *halo)
{
    eqp_route_free(halo->nodes);
    eqp_route_free(halo->arms);
    crossings_free(&halo->mine);
    crossings_free(&halo->theirs);
    free(halo->first);
    free(halo->place);
    free(halo->tag);
    free(halo->x);
    free(halo->v);
    free(halo->send);
    free(halo->out);
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
    code = dd_route_send(halo->nodes, code, halo->out, &received);
    for (int64_t g = 0; g < view.n && code == EQP_OK; g++) {
        const char *from = (const char *)received + view.offset[g];
        memcpy(halo->x + 3 * g, from, 3 * sizeof(double));
        if (halo->numbers > 3) {
            memcpy(halo->v + 3 * g, from + 3 * sizeof(double), 3 * sizeof(double));
        }
    }
    return code;
}

int dd_halo_spread(const dd_halo *halo, const int *own, int *ghost)
{
    const eqp_route_view view = eqp_route_arrivals(halo->nodes);
    const void *received = NULL;
    int code;

    for (int64_t s = 0; s < halo->nsend; s++) {
        memcpy(halo->out + s * halo->numbers, &own[halo->send[s]], sizeof *own);
    }
    code = dd_route_send(halo->nodes, EQP_OK, halo->out, &received);
    for (int64_t g = 0; g < view.n && code == EQP_OK; g++) {
        memcpy(&ghost[g], (const char *)received + view.offset[g], sizeof *ghost);
    }
    return code;
}

int dd_halo_give(const dd_halo *halo, int code, const double *out, double *in)
{
    const eqp_route_view view = eqp_route_arrivals(halo->arms);
    const void *received = NULL;

    code = dd_route_send(halo->arms, code, out, &received);
    for (int64_t b = 0; b < view.n && code == EQP_OK; b++) { /* in the order of theirs */
        memcpy(in, (const char *)received + view.offset[b], (size_t)view.bytes[b]);
        in += view.bytes[b] / (int64_t)sizeof *in;
    }
    return code;
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
