/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology.h"

#include "../../physics/network/vector.h"

#include <equipoise/more/random.h>

/* Most candidates are done after two or three rounds; crowds, as when two lines touch along a length, take more. */
#define ROUNDS 6

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
    dd_halo halo;
    int phase;            /* that is listed */
    dd_operation *wanted; /* [n] owned */
    int64_t n, room;
    dd_topology_counts own; /* of this rank */
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

static int run(const dd_operation *operation, dd_patch *patch, void *context, bool *done)
{
    topology *t = context;
    const dd_tag *base = operation->base, zipped[2] = {base[0], base[2]};
    int code = EQP_ERR_INTERNAL;

    EQP_CHECK(dd_slip_begin(&t->slip, patch));
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
        code = dd_collide(patch, t->rules, base, zipped, done);
        break;
    case DD_TOPOLOGY_COARSEN:
        code = dd_coarsen(patch, t->rules, base[0], done);
        break;
    case DD_TOPOLOGY_REFINE:
        code = dd_refine(patch, base[0], base[1], done);
        break;
    }
    if (code == EQP_OK && *done) {
        tally(&t->own, operation->kind, patch);
        code = dd_slip_end(&t->slip, patch, t->area);
    }
    return code;
}

static int want(topology *t, dd_operation operation)
{
    EQP_CHECK(eqp_array_reserve(&t->wanted, &t->room, t->n + 1, sizeof *t->wanted));
    operation.phase = t->phase;
    operation.key = eqp_random_bits(t->step, (uint64_t)operation.kind, (uint64_t)operation.nbase);
    for (int b = 0; b < operation.nbase; b++) {
        operation.key = eqp_random_bits(operation.key, operation.base[b], (uint64_t)b);
    }
    t->wanted[t->n++] = operation;
    return EQP_OK;
}

/* Adds a base node to an operation: a node of this rank, or the end of its arm. */
static void add_base(const topology *t, const dd_node *node, const dd_arm *arm, dd_operation *operation)
{
    operation->base[operation->nbase] = arm == NULL ? node->tag : arm->tag;
    operation->home[operation->nbase++] = arm == NULL ? t->domain->rank : arm->home;
}

/* A node of this rank, and its neighbours. */
typedef struct candidate {
    const dd_node *node;
    const int64_t *place; /* [arms] in the halo */
} candidate;

static const double *velocity_of(const topology *t, const candidate *c, int arm)
{
    return dd_halo_velocity(t->domain, &t->halo, c->place[arm]);
}

static void reach(const topology *t, const candidate *c, int arm, double to[3])
{
    dd_halo_way(t->domain, &t->halo, c->node->x, c->place[arm], to);
}

static int want_split(topology *t, const candidate *c)
{
    dd_operation operation = {.kind = DD_TOPOLOGY_SPLIT, .nnew = 1, .neighbours = true};

    add_base(t, c->node, NULL, &operation);
    return t->split && dd_wants_split(c->node) ? want(t, operation) : EQP_OK;
}

static int want_cross_slip(topology *t, const candidate *c)
{
    const dd_node *node = c->node;
    dd_operation operation = {.kind = DD_TOPOLOGY_CROSS_SLIP, .neighbours = true};
    double to1[3], to2[3];

    if (t->rules->cross_slip == DD_NO_CRYSTAL || node->narms != 2) {
        return EQP_OK;
    }
    reach(t, c, 0, to1);
    reach(t, c, 1, to2);
    add_base(t, node, NULL, &operation);
    add_base(t, node, &node->arm[0], &operation);
    add_base(t, node, &node->arm[1], &operation);
    return dd_wants_cross_slip(t->rules->cross_slip, t->mover->medium->mu, node, to1, to2) ? want(t, operation)
                                                                                           : EQP_OK;
}

static int want_zip(topology *t, const candidate *c, int i, int j)
{
    dd_operation operation = {.kind = DD_TOPOLOGY_ZIP, .nnew = 1, .neighbours = true};
    double to_u[3], to_w[3];

    reach(t, c, i, to_u);
    reach(t, c, j, to_w);
    add_base(t, c->node, NULL, &operation);
    add_base(t, c->node, &c->node->arm[i], &operation);
    add_base(t, c->node, &c->node->arm[j], &operation);
    return dd_wants_zip(t->rules, to_u, to_w, velocity_of(t, c, i), velocity_of(t, c, j), c->node->v)
               ? want(t, operation)
               : EQP_OK;
}

static int want_zips(topology *t, const candidate *c)
{
    for (int i = 0; i < c->node->narms; i++) {
        for (int j = 0; j < i; j++) {
            EQP_CHECK(want_zip(t, c, i, j));
        }
    }
    return EQP_OK;
}

static int want_collisions(topology *t)
{
    for (int64_t i = 0; i < t->closes->n; i++) {
        dd_operation operation = {.kind = DD_TOPOLOGY_COLLIDE, .nbase = 4, .nnew = 1, .neighbours = true};
        memcpy(operation.base, t->closes->pair[i].tag, sizeof operation.base);
        memcpy(operation.home, t->closes->pair[i].home, sizeof operation.home);
        EQP_CHECK(want(t, operation));
    }
    return EQP_OK;
}

static int want_coarsening(topology *t, const candidate *c)
{
    dd_operation operation = {.kind = DD_TOPOLOGY_COARSEN, .neighbours = true};
    double to1[3], to2[3];

    if (c->node->narms != 2 || c->node->constraint != DD_FREE) {
        return EQP_OK;
    }
    reach(t, c, 0, to1);
    reach(t, c, 1, to2);
    add_base(t, c->node, NULL, &operation);
    return dd_wants_coarsen(t->rules, c->node, to1, to2, velocity_of(t, c, 0), velocity_of(t, c, 1))
               ? want(t, operation)
               : EQP_OK;
}

/* The ends of a segment do not know each other's bend, so both may ask for a cut. */
static int want_refining(topology *t, const candidate *c)
{
    const dd_node *node = c->node;
    double to[2][3], bend = 0;

    if (node->narms == 2) {
        reach(t, c, 0, to[0]);
        reach(t, c, 1, to[1]);
        bend = dd_bend_area(node, to[0], to[1], velocity_of(t, c, 0), velocity_of(t, c, 1));
    }
    for (int k = 0; k < node->narms; k++) {
        const dd_arm *arm = &node->arm[k];
        dd_operation operation = {.kind = DD_TOPOLOGY_REFINE, .nnew = 1};
        double along[3];
        reach(t, c, k, along);
        add_base(t, node, node->tag < arm->tag ? NULL : arm, &operation); /* owner first, whichever end asks */
        add_base(t, node, node->tag < arm->tag ? arm : NULL, &operation);
        EQP_CHECK(dd_wants_refine(t->rules, dd_v3_length(along), bend) ? want(t, operation) : EQP_OK);
    }
    return EQP_OK;
}

/* Phases in order; each works on the network that the previous one leaves. */
static const struct {
    int (*once)(topology *t); /* NULL: none */
    int (*node)(topology *t, const candidate *c);
} phases[] = {{NULL, want_split},
              {NULL, want_cross_slip},
              {want_collisions, want_zips},
              {NULL, want_coarsening},
              {NULL, want_refining}};
enum { PHASES = sizeof phases / sizeof phases[0] };

static int list_phase(topology *t)
{
    EQP_CHECK(phases[t->phase].once != NULL ? phases[t->phase].once(t) : EQP_OK);
    for (int64_t p = 0; p < t->domain->network.n; p++) {
        const candidate one = {&t->domain->network.node[p], t->halo.place + t->halo.first[p]};
        EQP_CHECK(phases[t->phase].node(t, &one));
    }
    return EQP_OK;
}

/* Lists the operations of the phases from `from` on for the present network; fetches neighbours first. Collective;
 * returns this rank's code, or one of all ranks. */
static int look(topology *t, int code, int from)
{
    t->n = 0;
    dd_halo_free(&t->halo);
    EQP_CHECK(dd_halo_create(t->domain, DD_MOVING, code, &t->halo));
    for (t->phase = from; t->phase < PHASES; t->phase++) {
        EQP_CHECK(list_phase(t));
    }
    return EQP_OK;
}

/* The meeting of a step. Counts are whole numbers that a double holds exactly. */
static int sum_up(const topology *t, int code, dd_topology_counts *counts, double area[9])
{
    enum { CREATED = DD_TOPOLOGY_KINDS, DELETED, LOST, AREA, ALL = AREA + 9 };
    double all[ALL] = {
        [CREATED] = (double)t->own.created, [DELETED] = (double)t->own.deleted, [LOST] = (double)t->own.lost};

    for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
        all[k] = (double)t->own.done[k];
    }
    memcpy(all + AREA, t->area, sizeof t->area);
    EQP_CHECK(eqp_meet(t->domain->comm, code, 0, NULL, ALL, all));
    for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
        counts->done[k] = (int64_t)all[k];
    }
    counts->created = (int64_t)all[CREATED];
    counts->deleted = (int64_t)all[DELETED];
    counts->lost = (int64_t)all[LOST];
    memcpy(area, all + AREA, sizeof t->area);
    return EQP_OK;
}

int dd_topology_step(dd_domain *domain, int *alone, const dd_rules *rules, const dd_mover *mover, bool split,
                     int64_t step, const dd_closes *closes, dd_topology_counts *counts, double area[9],
                     eqp_message *message)
{
    topology t = {
        .domain = domain, .rules = rules, .mover = mover, .split = split, .step = (uint64_t)step, .closes = closes};
    dd_transact_counts made = {.changed = true, .phase = -1};
    dd_topology_counts all = {.lost = 0};
    bool ever = false;
    int64_t done = 0;
    int code = *alone;

    while (made.changed && made.phase + 1 < PHASES) {
        code = look(&t, code, made.phase + 1);
        code = dd_transact(domain, code, t.n, t.wanted, ROUNDS, run, &t, &made, message);
        t.own.lost += made.lost;
        ever = ever || made.changed || made.failed;
    }
    memset(area, 0, sizeof t.area);
    if (ever) {
        code = sum_up(&t, code, &all, area);
        *alone = message->text[0] != '\0' ? code : *alone;
        EQP_TRY(code);
    } else {
        *alone = code;
        code = EQP_OK;
    }
    for (int k = 0; k < DD_TOPOLOGY_KINDS; k++) {
        done += all.done[k];
    }
    if (done > 0) {
        dd_network_sort(&domain->network);
    }
    *counts = all;
done:
    dd_halo_free(&t.halo);
    dd_slip_free(&t.slip);
    free(t.wanted);
    return code;
}
