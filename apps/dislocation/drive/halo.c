/* SPDX-License-Identifier: BSD-3-Clause */
#include "halo.h"

#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

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

    return a->home != b->home ? a->home - b->home : compare_u64(a->own, b->own);
}

static dd_tag low(const crossing *c)
{
    return c->own < c->other ? c->own : c->other;
}

static dd_tag high(const crossing *c)
{
    return c->own < c->other ? c->other : c->own;
}

static int by_segment(const void *left, const void *right)
{
    const crossing *a = left, *b = right;

    if (a->home != b->home) {
        return a->home - b->home;
    }
    return low(a) != low(b) ? compare_u64(low(a), low(b)) : compare_u64(high(a), high(b));
}

static void sort(crossing *c, int64_t n, int (*compare)(const void *, const void *))
{
    if (n > 1) {
        qsort(c, (size_t)n, sizeof *c, compare);
    }
}

/* Own places at once; what crosses is collected. */
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

/* Ghosts by home and tag, each once. */
static int number_ghosts(dd_halo *halo, crossing *cross, int64_t ncross)
{
    int code = eqp_array_create(&halo->tag, ncross, sizeof *halo->tag);

    sort(cross, ncross, by_other);
    for (int64_t c = 0; c < ncross && code == EQP_OK; c++) {
        if (c == 0 || by_other(&cross[c - 1], &cross[c]) != 0) {
            halo->recv_count[cross[c].home]++;
            halo->tag[halo->nghosts++] = cross[c].other;
        }
        halo->place[halo->first[cross[c].node] + cross[c].arm] = halo->n + halo->nghosts - 1;
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&halo->x, 3 * halo->nghosts, sizeof *halo->x);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&halo->v, 3 * halo->nghosts, sizeof *halo->v);
    }
    return code;
}

static int list_senders(dd_halo *halo, crossing *cross, int64_t ncross)
{
    int code = eqp_array_create(&halo->send, ncross, sizeof *halo->send);

    sort(cross, ncross, by_own);
    for (int64_t c = 0; c < ncross && code == EQP_OK; c++) {
        if (c == 0 || by_own(&cross[c - 1], &cross[c]) != 0) {
            halo->send_count[cross[c].home]++;
            halo->send[halo->nsend++] = cross[c].node;
        }
    }
    return code;
}

static int list_arms(dd_halo *halo, crossing *cross, int64_t ncross)
{
    int code = eqp_array_create(&halo->arm_node, ncross, sizeof *halo->arm_node);

    if (code == EQP_OK) {
        code = eqp_array_create(&halo->arm_of, ncross, sizeof *halo->arm_of);
    }
    sort(cross, ncross, by_segment);
    for (int64_t c = 0; c < ncross && code == EQP_OK; c++) {
        halo->arm_node[c] = cross[c].node;
        halo->arm_of[c] = cross[c].arm;
        halo->arm_count[cross[c].home]++;
    }
    halo->narms = ncross;
    return code;
}

static int create_counts(const dd_domain *domain, dd_halo *halo)
{
    int code = eqp_array_create(&halo->first, halo->n + 1, sizeof *halo->first);

    if (code == EQP_OK) {
        code = eqp_array_create(&halo->send_count, domain->nranks, sizeof *halo->send_count);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&halo->recv_count, domain->nranks, sizeof *halo->recv_count);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&halo->arm_count, domain->nranks, sizeof *halo->arm_count);
    }
    return code;
}

int dd_halo_create(const dd_domain *domain, dd_halo *halo)
{
    dd_halo made = {.n = domain->network.n};
    crossing *cross = NULL;
    int64_t narms = 0, ncross = 0;
    int code = create_counts(domain, &made);

    for (int64_t i = 0; i < made.n; i++) {
        narms += domain->network.node[i].narms;
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&made.place, narms, sizeof *made.place);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&cross, narms, sizeof *cross);
    }
    if (code == EQP_OK) {
        ncross = split_arms(domain, &made, cross);
        code = number_ghosts(&made, cross, ncross);
    }
    if (code == EQP_OK) {
        code = check_places(&made);
    }
    if (code == EQP_OK) {
        code = list_senders(&made, cross, ncross);
    }
    if (code == EQP_OK) {
        code = list_arms(&made, cross, ncross);
    }
    free(cross);
    code = eqp_agree(domain->comm, code, NULL);
    if (code != EQP_OK) {
        dd_halo_free(&made);
        return code;
    }
    *halo = made;
    return EQP_OK;
}

void dd_halo_free(dd_halo *halo)
{
    free(halo->first);
    free(halo->place);
    free(halo->tag);
    free(halo->x);
    free(halo->v);
    free(halo->send);
    free(halo->send_count);
    free(halo->recv_count);
    free(halo->arm_node);
    free(halo->arm_of);
    free(halo->arm_count);
    *halo = (dd_halo){0};
}

int dd_halo_refresh(const dd_domain *domain, dd_halo *halo)
{
    double(*out)[6] = NULL, (*in)[6] = NULL;
    int code = eqp_array_create(&out, halo->nsend, sizeof *out);

    if (code == EQP_OK) {
        code = eqp_array_create(&in, halo->nghosts, sizeof *in);
    }
    for (int64_t s = 0; s < halo->nsend && code == EQP_OK; s++) {
        const dd_node *node = &domain->network.node[halo->send[s]];
        memcpy(out[s], node->x, sizeof node->x);
        memcpy(out[s] + 3, node->v, sizeof node->v);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_exchange(domain->comm, sizeof *out, halo->send_count, out, halo->recv_count, in);
    }
    for (int64_t g = 0; g < halo->nghosts && code == EQP_OK; g++) {
        memcpy(halo->x + 3 * g, in[g], 3 * sizeof(double));
        memcpy(halo->v + 3 * g, in[g] + 3, 3 * sizeof(double));
    }
    free(in);
    free(out);
    return code;
}

int dd_halo_swap(const dd_domain *domain, const dd_halo *halo, const double *out, double *in)
{
    return eqp_exchange(domain->comm, 3 * sizeof *out, halo->arm_count, out, halo->arm_count, in);
}

const double *dd_halo_position(const dd_domain *domain, const dd_halo *halo, int64_t place)
{
    return place < halo->n ? domain->network.node[place].x : halo->x + 3 * (place - halo->n);
}

const double *dd_halo_velocity(const dd_domain *domain, const dd_halo *halo, int64_t place)
{
    return place < halo->n ? domain->network.node[place].v : halo->v + 3 * (place - halo->n);
}
