/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology.h"

#include "../../physics/network/operations.h"
#include "../../physics/network/vector.h"
#include "transact.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Most candidates are done after two or three rounds; crowds, as when two lines touch along a length, take more. */
#define ROUNDS 6

const char *const dd_topology_names[DD_TOPOLOGY_KINDS] = {"split", "cross slip", "collide", "zip", "coarsen", "refine"};

static void move(const void *user, const dd_node *node, const double (*to_neighbour)[3], const double force[3],
                 double velocity[3])
{
    dd_mobility_velocity(user, node, to_neighbour, force, velocity);
}

dd_mover dd_topology_mover(const dd_mobility *mobility, const dd_medium *medium, double noise)
{
    return (dd_mover){move, mobility, medium, noise};
}

typedef struct topology {
    dd_domain *domain;
    const dd_rules *rules;
    const dd_mover *mover;
    bool split;
    uint64_t step;
    const dd_closes *closes;
    eqp_message *message;
    dd_halo halo;
    dd_operation *wanted; /* [n] owned */
    int64_t n, room;
    dd_topology_counts own; /* carried out by this rank; lost: of all ranks */
    dd_slip slip;
    double area[9]; /* swept by the operations */
} topology;

static void tally(dd_topology_counts *counts, int kind, const dd_patch *patch)
{
    counts->done[kind]++;
    for (int i = 0; i < patch->n; i++) {
        counts->created += patch->at[i].created && !patch->at[i].deleted;
        counts->deleted += !patch->at[i].created && patch->at[i].deleted;
    }
}

static int run(const dd_operation *operation, dd_patch *patch, void *context, bool *done, eqp_message *message)
{
    topology *t = context;
    const dd_tag *base = operation->base;
    int code = dd_slip_begin(&t->slip, patch);

    (void)message;
    EQP_TRY(code);
    switch (operation->kind) {
    case DD_TOPOLOGY_SPLIT:
        code = dd_split(patch, t->rules, t->mover, base[0], done);
        break;
    case DD_TOPOLOGY_CROSS_SLIP:
        code = dd_cross_slip(patch, t->rules, t->mover, base[0], done);
        break;
    case DD_TOPOLOGY_COLLIDE:
        code = dd_collide(patch, t->rules, base, base + 2, done);
        break;
    case DD_TOPOLOGY_ZIP:
        code = dd_collide(patch, t->rules, base, (const dd_tag[2]){base[0], base[2]}, done);
        break;
    case DD_TOPOLOGY_COARSEN:
        code = dd_coarsen(patch, t->rules, base[0], done);
        break;
    case DD_TOPOLOGY_REFINE:
        code = dd_refine(patch, base[0], base[1], done);
        break;
    default:
        code = EQP_ERR_INTERNAL;
        break;
    }
    if (code == EQP_OK && *done) {
        tally(&t->own, operation->kind, patch);
        code = dd_slip_end(&t->slip, patch, t->area);
    }
done:
    return code;
}

static int want(topology *t, dd_operation operation)
{
    int code;

    EQP_TRY(eqp_array_reserve(&t->wanted, &t->room, t->n + 1, sizeof *t->wanted));
    operation.key = dd_operation_key(t->step, &operation);
    t->wanted[t->n++] = operation;
done:
    return code;
}

/* Adds a base node to an operation: a node of this rank, or the end of its arm. */
static void add_base(const topology *t, const dd_node *node, const dd_arm *arm, dd_operation *operation)
{
    operation->base[operation->nbase] = arm == NULL ? node->tag : arm->tag;
    operation->home[operation->nbase++] = arm == NULL ? t->domain->rank : arm->home;
}

static const double *velocity_of(const topology *t, int64_t node, int arm)
{
    return dd_halo_velocity(t->domain, &t->halo, t->halo.place[t->halo.first[node] + arm]);
}

static void reach(const topology *t, int64_t node, int arm, double to[3])
{
    dd_domain_offset(t->domain, dd_halo_position(t->domain, &t->halo, t->halo.place[t->halo.first[node] + arm]),
                     t->domain->network.node[node].x, to);
}

static int want_splits(topology *t)
{
    int code = EQP_OK;

    for (int64_t p = 0; t->split && p < t->domain->network.n && code == EQP_OK; p++) {
        const dd_node *node = &t->domain->network.node[p];
        dd_operation operation = {.kind = DD_TOPOLOGY_SPLIT, .nnew = 1, .neighbours = true};
        if (dd_wants_split(node)) {
            add_base(t, node, NULL, &operation);
            code = want(t, operation);
        }
    }
    return code;
}

static int want_cross_slips(topology *t)
{
    const bool slips = t->mover != NULL && t->rules->cross_slip != DD_NO_CRYSTAL;
    int code = EQP_OK;

    for (int64_t p = 0; slips && p < t->domain->network.n && code == EQP_OK; p++) {
        const dd_node *node = &t->domain->network.node[p];
        dd_operation operation = {.kind = DD_TOPOLOGY_CROSS_SLIP, .neighbours = true};
        double to1[3], to2[3];
        if (node->narms != 2) {
            continue;
        }
        reach(t, p, 0, to1);
        reach(t, p, 1, to2);
        if (dd_wants_cross_slip(t->rules->cross_slip, t->mover->medium->mu, node, to1, to2)) {
            add_base(t, node, NULL, &operation);
            add_base(t, node, &node->arm[0], &operation);
            add_base(t, node, &node->arm[1], &operation);
            code = want(t, operation);
        }
    }
    return code;
}

static int want_zip(topology *t, int64_t place, int i, int j)
{
    const dd_node *node = &t->domain->network.node[place];
    dd_operation operation = {.kind = DD_TOPOLOGY_ZIP, .nnew = 1, .neighbours = true};
    double to_u[3], to_w[3];

    reach(t, place, i, to_u);
    reach(t, place, j, to_w);
    if (!dd_wants_zip(t->rules, to_u, to_w, velocity_of(t, place, i), velocity_of(t, place, j), node->v)) {
        return EQP_OK;
    }
    add_base(t, node, NULL, &operation);
    add_base(t, node, &node->arm[i], &operation);
    add_base(t, node, &node->arm[j], &operation);
    return want(t, operation);
}

static int want_touches(topology *t)
{
    int code = EQP_OK;

    if (t->closes == NULL) {
        return code;
    }
    for (int64_t i = 0; i < t->closes->n && code == EQP_OK; i++) {
        dd_operation operation = {.kind = DD_TOPOLOGY_COLLIDE, .nbase = 4, .nnew = 1, .neighbours = true};
        memcpy(operation.base, t->closes->pair[i].tag, sizeof operation.base);
        memcpy(operation.home, t->closes->pair[i].home, sizeof operation.home);
        code = want(t, operation);
    }
    for (int64_t p = 0; p < t->domain->network.n; p++) {
        for (int i = 0; i < t->domain->network.node[p].narms; i++) {
            for (int j = 0; j < i && code == EQP_OK; j++) {
                code = want_zip(t, p, i, j);
            }
        }
    }
    return code;
}

static int want_coarsening(topology *t)
{
    int code = EQP_OK;

    for (int64_t p = 0; p < t->domain->network.n && code == EQP_OK; p++) {
        const dd_node *node = &t->domain->network.node[p];
        dd_operation operation = {.kind = DD_TOPOLOGY_COARSEN, .neighbours = true};
        double to1[3], to2[3];
        if (node->narms != 2 || node->constraint != DD_FREE) {
            continue;
        }
        reach(t, p, 0, to1);
        reach(t, p, 1, to2);
        if (dd_wants_coarsen(t->rules, node, to1, to2, velocity_of(t, p, 0), velocity_of(t, p, 1))) {
            add_base(t, node, NULL, &operation);
            code = want(t, operation);
        }
    }
    return code;
}

/* The ends of a segment do not know each other's bend, so both may ask for a cut. */
static int want_refining(topology *t)
{
    int code = EQP_OK;

    for (int64_t p = 0; p < t->domain->network.n && code == EQP_OK; p++) {
        const dd_node *node = &t->domain->network.node[p];
        double to[2][3], bend = 0;
        if (node->narms == 2) {
            reach(t, p, 0, to[0]);
            reach(t, p, 1, to[1]);
            bend = dd_bend_area(node, to[0], to[1], velocity_of(t, p, 0), velocity_of(t, p, 1));
        }
        for (int k = 0; k < node->narms && code == EQP_OK; k++) {
            dd_arm *const arm = &node->arm[k];
            dd_operation operation = {.kind = DD_TOPOLOGY_REFINE, .nnew = 1};
            double along[3];
            reach(t, p, k, along);
            add_base(t, node, node->tag < arm->tag ? NULL : arm, &operation); /* owner first, whichever end asks */
            add_base(t, node, node->tag < arm->tag ? arm : NULL, &operation);
            if (dd_wants_refine(t->rules, dd_v3_length(along), bend)) {
                code = want(t, operation);
            }
        }
    }
    return code;
}

/* Phases in order; each works on the network that the previous one leaves. */
static int (*const phases[])(topology *t) = {want_splits, want_cross_slips, want_touches, want_coarsening,
                                             want_refining};
enum { PHASES = sizeof phases / sizeof phases[0] };

/* Lists the operations of the phases from `from` on for the present network; fetches neighbours first. first: [PHASES +
 * 1] into the list; any: of all ranks. code: of this rank so far. sum: [nsums] summed over ranks on the way. */
static int look(topology *t, int code, int from, int64_t *first, double *any, int nsums, double *sum)
{
    double number[EQP_MEET_SUMS] = {0.0};

    dd_halo_free(&t->halo);
    EQP_TRY(dd_halo_create(t->domain, DD_MOVING, code, &t->halo));
    t->n = 0;
    for (int p = from; p < PHASES; p++) {
        first[p] = t->n;
        code = code == EQP_OK ? phases[p](t) : code;
        first[p + 1] = t->n;
        number[p] = (double)(first[p + 1] - first[p]);
    }
    for (int i = 0; i < nsums; i++) {
        number[PHASES + i] = sum[i];
    }
    EQP_TRY(eqp_meet(t->domain->comm, code, 0, NULL, PHASES + nsums, number));
    memcpy(any, number, PHASES * sizeof *any);
    for (int i = 0; i < nsums; i++) {
        sum[i] = number[PHASES + i];
    }
done:
    return code;
}

/* Carries out listed operations up to the first phase that changes anything; *from is the next phase. */
static int carry_out(topology *t, int *from, const int64_t *first, const double *any, bool *changed)
{
    dd_transact_counts counts = {.done = 0};
    int code = EQP_OK;

    for (*changed = false; *from < PHASES && !*changed && code == EQP_OK; ++*from) {
        const int p = *from;
        if (any[p] > 0) {
            code = dd_transact(t->domain, first[p + 1] - first[p], t->n > 0 ? t->wanted + first[p] : NULL, ROUNDS, run,
                               t, &counts, t->message);
            t->own.lost += code == EQP_OK ? counts.lost : 0;
            *changed = code == EQP_OK && counts.done > 0;
        }
    }
    return code;
}

/* Counts are whole numbers that a double holds exactly. */
static int sum_up(const topology *t, dd_topology_counts *counts, double area[9])
{
    double sum[DD_TOPOLOGY_KINDS + 2 + 9];
    int code;

    for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
        sum[k] = (double)t->own.done[k];
    }
    sum[DD_TOPOLOGY_KINDS] = (double)t->own.created;
    sum[DD_TOPOLOGY_KINDS + 1] = (double)t->own.deleted;
    memcpy(sum + DD_TOPOLOGY_KINDS + 2, t->area, sizeof t->area);
    EQP_TRY(eqp_sum_double(t->domain->comm, DD_TOPOLOGY_KINDS + 2 + 9, sum));
    for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
        counts->done[k] = (int64_t)sum[k];
    }
    counts->created = (int64_t)sum[DD_TOPOLOGY_KINDS];
    counts->deleted = (int64_t)sum[DD_TOPOLOGY_KINDS + 1];
    counts->lost = t->own.lost;
    memcpy(area, sum + DD_TOPOLOGY_KINDS + 2, sizeof t->area);
done:
    return code;
}

int dd_topology_step(dd_domain *domain, int code, const dd_rules *rules, const dd_mover *mover, bool split,
                     int64_t step, const dd_closes *closes, int nsums, double *sum, dd_topology_counts *counts,
                     double area[9], eqp_message *message)
{
    topology t = {.domain = domain,
                  .rules = rules,
                  .mover = mover,
                  .split = split && mover != NULL,
                  .step = (uint64_t)step,
                  .closes = closes,
                  .message = message};
    int64_t first[PHASES + 1] = {0};
    double any[PHASES];
    bool ever = false, changed = true;

    for (int from = 0; from < PHASES && changed; nsums = 0) {
        EQP_TRY(look(&t, code, from, first, any, nsums, sum));
        EQP_TRY(carry_out(&t, &from, first, any, &changed));
        ever = ever || changed;
    }
    *counts = (dd_topology_counts){.lost = t.own.lost};
    memset(area, 0, sizeof t.area);
    EQP_TRY(ever ? sum_up(&t, counts, area) : EQP_OK);
    if (ever) {
        dd_network_sort(&domain->network);
    }
done:
    dd_halo_free(&t.halo);
    dd_slip_free(&t.slip);
    free(t.wanted);
    return code;
}
