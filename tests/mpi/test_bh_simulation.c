/* SPDX-License-Identifier: BSD-3-Clause */
/* The distributed gravity code: every interaction exactly once and the same forces, for every rank count, method and
 * exchange plan, on the first step and after ten steps with an old map; no rank holds everything. */
#include "../unit/slow.h"
#include "bh_run.h"
#include "failures.h"
#include "meet.h"

#include "order.h"

#include <equipoise/more/curve.h>
#include <equipoise/more/whatif.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All particles in the global order, on every rank: what the marks are counted against. */
typedef struct everybody {
    int64_t n;
    uint64_t *key;         /* [n] ascending */
    double *x, *y, *z;     /* [n] in the same order */
    unsigned char *marked; /* [n][n]: how often target row has met source column */
    int group_size;
    double cutoff;
} everybody;

static void everybody_create(const bh_simulation *sim, everybody *e)
{
    const bh_particles *p = &sim->domain.particles;
    int64_t n = sim->input.total, *order = malloc((size_t)n * sizeof *order),
            *index = malloc((size_t)n * sizeof *index);
    double *x = by_index(sim, p->x), *y = by_index(sim, p->y), *z = by_index(sim, p->z);
    uint64_t *key = malloc((size_t)n * sizeof *key);

    *e = (everybody){.n = n, .group_size = sim->domain.group_size, .cutoff = sim->evaluator.mac.cutoff};
    e->key = malloc((size_t)n * sizeof *key);
    e->x = malloc((size_t)n * sizeof *x);
    e->y = malloc((size_t)n * sizeof *y);
    e->z = malloc((size_t)n * sizeof *z);
    e->marked = calloc((size_t)(n * n), 1);
    eqp_hilbert_keys(n, x, y, z, sim->domain.box.corner, sim->domain.box.side, key);
    for (int64_t i = 0; i < n; i++) {
        index[i] = i;
    }
    bh_order(n, key, index, order);
    for (int64_t i = 0; i < n; i++) {
        e->key[i] = key[order[i]];
        e->x[i] = x[order[i]];
        e->y[i] = y[order[i]];
        e->z[i] = z[order[i]];
    }
    free(key);
    free(x);
    free(y);
    free(z);
    free(index);
    free(order);
}

static void everybody_free(everybody *e)
{
    free(e->key);
    free(e->x);
    free(e->y);
    free(e->z);
    free(e->marked);
}

static void mark_cell(everybody *e, int64_t ntargets, const int64_t *target, const bh_cell *cell)
{
    uint64_t size = (uint64_t)1 << (3 * (EQP_CURVE_BITS - cell->level));
    int64_t begin = bh_order_lower(e->n, e->key, cell->key), end = bh_order_lower(e->n, e->key, cell->key + size);

    CHECK(end - begin == cell->count, "a cell says %lld particles, there are %lld", (long long)cell->count,
          (long long)(end - begin));
    for (int64_t t = 0; t < ntargets; t++) {
        for (int64_t s = begin; s < end; s++) {
            e->marked[target[t] * e->n + s]++;
        }
    }
}

static int mark_tile(void *user, const bh_tree *tree, const bh_tasks *tasks, int64_t w, const bh_tile *tile)
{
    everybody *e = user;
    const bh_group *group = &tasks->task[w].group;
    const bh_task_targets targets = bh_tasks_targets(tasks, w);
    const double *x = targets.x, *y = targets.y, *z = targets.z;
    int64_t target[1024];
    uint64_t key;

    eqp_hilbert_keys(1, x, y, z, tree->box.corner, tree->box.side, &key);
    int64_t at = bh_order_lower(e->n, e->key, key) + (int64_t)group->part * e->group_size;
    for (int64_t i = 0; i < group->count; i++, at++) {
        CHECK(at < e->n && e->x[at] == x[i] && e->y[at] == y[i] && e->z[at] == z[i],
              "target %lld of a group is not where the order has it", (long long)i);
        target[i] = at < e->n ? at : 0;
    }
    for (int64_t i = 0; i < tile->ncells; i++) {
        mark_cell(e, group->count, target, &tree->cell[tile->cell[i]]);
    }
    for (int64_t i = 0; i < tile->nleaves; i++) {
        mark_cell(e, group->count, target, &tree->cell[tile->leaf[i]]);
    }
    return EQP_OK;
}

/* Whether target t must meet source s; beyond a cutoff it may, too. */
static bool must_meet(const everybody *e, int64_t t, int64_t s)
{
    const double dx = e->x[s] - e->x[t], dy = e->y[s] - e->y[t], dz = e->z[s] - e->z[t];

    return e->cutoff == 0 || dx * dx + dy * dy + dz * dz < e->cutoff * e->cutoff;
}

/* Evaluates the present state once more and marks who meets whom. pairs, cells: how many, over all ranks. */
static void check_exactly_once(bh_simulation *sim, const char *what, int64_t *pairs, int64_t *cells)
{
    everybody e;
    bh_evaluated evaluated;
    int64_t wrong = 0, sum[2];
    int code;

    everybody_create(sim, &e);
    code = bh_domain_build_tree(&sim->domain, EQP_OK);
    CHECK(code == EQP_OK, "%s: the tree does not grow: %s", what, eqp_error_text(code));
    sim->evaluator.computed = mark_tile;
    sim->evaluator.computed_user = &e;
    code = bh_evaluate(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer), NULL, 0, EQP_OK, &evaluated);
    CHECK(code == EQP_OK, "%s: no forces: %s", what, eqp_error_text(code));
    sim->evaluator.computed = NULL;
    MPI_Allreduce(MPI_IN_PLACE, e.marked, (int)(e.n * e.n), MPI_UNSIGNED_CHAR, MPI_SUM, sim->comm);
    for (int64_t t = 0; t < e.n; t++) {
        for (int64_t s = 0; s < e.n; s++) {
            const unsigned char marked = e.marked[t * e.n + s];
            wrong += marked != 1 && (marked > 1 || must_meet(&e, t, s));
        }
    }
    sum[0] = evaluated.counts.of[BH_KIND_PAIR];
    sum[1] = evaluated.counts.of[BH_KIND_CELL];
    MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPI_INT64_T, MPI_SUM, sim->comm);
    *pairs = sum[0];
    *cells = sum[1];
    CHECK(wrong == 0, "%s: %lld of %lld pairs are not covered exactly once", what, (long long)wrong,
          (long long)(e.n * e.n));
    eqp_timings_clear(sim->evaluator.timings); /* no step: its costs are not learnt */
    everybody_free(&e);
}

/* One plan of each kind; where ranks do not divide by a node's, as many as do. */
static const char *const exchanges[] = {
    "direct",
    "two-stage",
    "log",
    "direct+broadcast/4",
    "two-stage+broadcast/16+node/2",
    "log+node/4",
    "direct+broadcast/2+node/8",
};
enum { EXCHANGES = sizeof exchanges / sizeof exchanges[0] };

/* Everything that is sent arrives, and the bytes that arrive are whole blocks. */
static void check_phases(const bh_simulation *sim, const char *what, const bh_evaluated *evaluated)
{
    int64_t sum[BH_PHASES][4];

    for (int p = 0; p < BH_PHASES; p++) {
        const eqp_route_counts *c = &evaluated->phase[p];
        sum[p][0] = c->messages_sent - c->messages_received;
        sum[p][1] = c->bytes_sent - c->bytes_received;
        sum[p][2] = c->bytes_received % 8;
        sum[p][3] = c->bytes_received;
    }
    MPI_Allreduce(MPI_IN_PLACE, sum, BH_PHASES * 4, MPI_INT64_T, MPI_SUM, sim->comm);
    for (int p = 0; p < BH_PHASES; p++) {
        CHECK(sum[p][0] == 0 && sum[p][1] == 0 && sum[p][2] == 0, "%s: phase %d: %lld messages, %lld bytes are lost",
              what, p, (long long)sum[p][0], (long long)sum[p][1]);
        /* One node needs no messages. */
        CHECK((sum[p][3] > 0) == (sim->domain.nranks > sim->evaluator.plan.node), "%s: phase %d: %lld bytes", what, p,
              (long long)sum[p][3]);
    }
}

/* The same forces by every exchange plan; what comes in as ghosts does not depend on it. */
static void check_exchanges(bh_simulation *sim, const char *what)
{
    const bh_particles *p = &sim->domain.particles;
    const eqp_exchange_plan mine = sim->evaluator.plan;
    double *first = calloc((size_t)p->n + 1, sizeof *first);
    int64_t ghosts = 0;

    for (int e = 0; e < EXCHANGES; e++) {
        bh_evaluated evaluated;
        double worst = 0.0;
        eqp_exchange_plan_parse(exchanges[e], &sim->evaluator.plan);
        int code = eqp_route_fit(sim->comm, &sim->evaluator.plan);
        code = code == EQP_OK ? bh_domain_build_tree(&sim->domain, EQP_OK) : code;
        code = code == EQP_OK ? bh_evaluate(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer), NULL, 0,
                                            EQP_OK, &evaluated)
                              : code;
        CHECK(code == EQP_OK, "%s: no forces by %s: %s", what, exchanges[e], eqp_error_text(code));
        check_phases(sim, what, &evaluated);
        for (int64_t i = 0; i < p->n; i++) {
            first[i] = e == 0 ? p->ax[i] : first[i];
            worst = fmax(worst, fabs(p->ax[i] - first[i]) / fmax(1.0, fabs(first[i])));
        }
        ghosts = e == 0 ? evaluated.ghosts : ghosts;
        CHECK(worst <= 1e-12, "%s: forces by %s differ by %g", what, exchanges[e], worst);
        CHECK(evaluated.ghosts == ghosts, "%s: %lld ghosts by %s, %lld directly", what, (long long)evaluated.ghosts,
              exchanges[e], (long long)ghosts);
        eqp_timings_clear(sim->evaluator.timings); /* no step: its costs are not learnt */
    }
    sim->evaluator.plan = mine;
    free(first);
}

/* What has been fetched already changes nothing when it is fetched again. */
static void check_fetched_twice(bh_simulation *sim, const char *what)
{
    bh_domain *domain = &sim->domain;
    const bh_evaluator *evaluator = &sim->evaluator;
    const eqp_map *map = eqp_balancer_map(sim->balancer);
    int64_t ncells[2] = {0, 1}, nsources[2] = {0, 1};
    bh_tasks tasks;
    int code = bh_domain_build_tree(domain, EQP_OK);

    bh_tasks_init(&tasks);
    for (int round = 0; round < 2 && code == EQP_OK; round++) {
        bh_traffic traffic = {.cells = 0};
        code = bh_tasks_send(&tasks, &domain->post, &evaluator->plan, &domain->particles, domain->ngroups,
                             domain->group, domain->tag, domain->away, map, 0, EQP_OK, &traffic.phase[BH_PHASE_TASKS]);
        code = bh_essential_fetch(&domain->tree, &domain->post, &evaluator->plan, &tasks, &evaluator->mac, map, code,
                                  &traffic);
        ncells[round] = domain->tree.ncells;
        nsources[round] = domain->tree.sources.n;
    }
    CHECK(code == EQP_OK && ncells[0] == ncells[1] && nsources[0] == nsources[1],
          "%s: fetched again, %lld cells become %lld, %lld particles %lld: %s", what, (long long)ncells[0],
          (long long)ncells[1], (long long)nsources[0], (long long)nsources[1], eqp_error_text(code));
    bh_tasks_free(&tasks);
}

/* What a run leaves to compare: interactions and forces on the first and the last step. */
enum { FIRST, LAST, OUTCOMES };
typedef struct outcome {
    int64_t n;
    int64_t pairs[OUTCOMES], cells[OUTCOMES];
    double *a[OUTCOMES][3];
} outcome;

static void outcome_take(const bh_simulation *sim, int which, outcome *o)
{
    const bh_particles *p = &sim->domain.particles;

    o->n = sim->input.total;
    o->pairs[which] = sim->now.pairs;
    o->cells[which] = sim->now.cells;
    o->a[which][0] = by_index(sim, p->ax);
    o->a[which][1] = by_index(sim, p->ay);
    o->a[which][2] = by_index(sim, p->az);
}

static void outcome_free(outcome *o)
{
    for (int i = 0; i < 3 * OUTCOMES; i++) {
        free(o->a[i / 3][i % 3]);
    }
}

/* Sends the reference from the first rank to those that were not in its run. */
static void outcome_share(outcome *o)
{
    MPI_Bcast(o, (int)offsetof(outcome, a), MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < 3 * OUTCOMES; i++) {
        double **a = &o->a[i / 3][i % 3];
        if (*a == NULL) {
            *a = malloc((size_t)o->n * sizeof **a);
        }
        MPI_Bcast(*a, (int)o->n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }
}

static double worst_deviation(const outcome *o, const outcome *reference, int which)
{
    double worst = 0.0;

    for (int64_t i = 0; i < o->n; i++) {
        double difference = 0.0, length = 0.0;
        for (int k = 0; k < 3; k++) {
            double a = reference->a[which][k][i], d = o->a[which][k][i] - a;
            difference += d * d;
            length += a * a;
        }
        worst = fmax(worst, sqrt(difference / length));
    }
    return worst;
}

/* Ten steps with the first map. */
static void run(MPI_Comm comm, const bh_settings *settings, const char *what, outcome *o)
{
    bh_simulation sim;
    eqp_message message = {""};
    int64_t pairs, cells;
    int nranks, code = bh_simulation_create(comm, settings, &sim, &message);

    CHECK(code == EQP_OK, "%s: %s", what, message.text);
    if (code != EQP_OK) {
        return;
    }
    outcome_take(&sim, FIRST, o);
    check_exactly_once(&sim, what, &pairs, &cells);
    for (int64_t s = 0; s < settings->run.steps && code == EQP_OK; s++) {
        code = bh_simulation_step(&sim, &message);
    }
    CHECK(code == EQP_OK, "%s: %s", what, message.text);
    outcome_take(&sim, LAST, o);
    check_exactly_once(&sim, what, &pairs, &cells);
    MPI_Comm_size(comm, &nranks);
    if (strstr(what, "split") != NULL && nranks >= 7) {
        CHECK(sim.now.common.split_owners > 0, "%s: no owner was split on %d ranks", what, nranks);
        check_exchanges(&sim, what);
        check_fetched_twice(&sim, what);
    }
    bh_simulation_free(&sim);
}

typedef struct test_plan {
    const char *what, *input, *method, *extra;
} test_plan;

static void check_plan(const test_plan *plan, const char *exchange, MPI_Comm comm, int nranks, const outcome *reference)
{
    bh_settings settings;
    outcome o = {0};
    char what[160], extra[128];

    snprintf(what, sizeof what, "%s on %d ranks, %s", plan->what, nranks, exchange);
    snprintf(extra, sizeof extra, "--exchange=%s %s", exchange, plan->extra == NULL ? "" : plan->extra);
    parse(&settings, plan->input, plan->method, extra);
    run(comm, &settings, what, &o);
    for (int which = 0; which < OUTCOMES && o.n > 0; which++) {
        double deviation = worst_deviation(&o, reference, which);
        CHECK(o.pairs[which] == reference->pairs[which] && o.cells[which] == reference->cells[which],
              "%s: %lld + %lld interactions instead of %lld + %lld", what, (long long)o.pairs[which],
              (long long)o.cells[which], (long long)reference->pairs[which], (long long)reference->cells[which]);
        /* Ten steps let the last digits grow: a factor of ten or so per crossing of a close pair. */
        CHECK(deviation <= (which == LAST ? 1e-9 : 1e-12), "%s: forces deviate by %g", what, deviation);
    }
    outcome_free(&o);
}

/* The first `nranks` ranks in reverse, so that rank 0 of the world is not rank 0 of the run. */
static MPI_Comm reversed(int nranks)
{
    MPI_Comm comm;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    meet();
    MPI_Comm_split(MPI_COMM_WORLD, rank < nranks ? 0 : MPI_UNDEFINED, -rank, &comm);
    return comm;
}

enum { METHODS = 5 }; /* the first so many plans of a family */

static void check_family(int nplans, const test_plan *plans)
{
    static const int counts[] = {1, 2, 3, 7};
    int rank, world;
    outcome reference = {0};

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (rank == 0) {
        bh_settings settings;
        parse(&settings, plans[0].input, "none", plans[0].extra);
        run(MPI_COMM_SELF, &settings, "reference", &reference);
    }
    meet();
    outcome_share(&reference);
    for (size_t c = slow_here() ? 2 : 0; c < sizeof counts / sizeof counts[0] && counts[c] <= world; c++) {
        MPI_Comm comm = reversed(counts[c]);
        /* What comes behind the methods varies one of them: an odd number of ranks and many are enough for it. */
        const int n = counts[c] == 3 || counts[c] == 7 || nplans < METHODS ? nplans : METHODS;
        for (int i = 0; i < n && comm != MPI_COMM_NULL; i += slow_here() ? 3 : 1) {
            check_plan(&plans[i], exchanges[((size_t)i + c) % EXCHANGES], comm, counts[c], &reference);
        }
        if (comm != MPI_COMM_NULL) {
            MPI_Comm_free(&comm);
        }
    }
    outcome_free(&reference);
}

/* A rank of seven holds a part of the particles and of the tree, ghosts included. */
static void check_nobody_holds_everything(void)
{
    bh_settings whole, part;
    bh_simulation one, many;
    eqp_message message = {""};
    int world;

    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (world <= 4) {
        return;
    }
    parse(&whole, "plummer:n=30000", "none", NULL);
    parse(&part, "plummer:n=30000", "sfc", NULL);
    CHECK(bh_simulation_create(MPI_COMM_SELF, &whole, &one, &message) == EQP_OK, "%s", message.text);
    CHECK(bh_simulation_create(MPI_COMM_WORLD, &part, &many, &message) == EQP_OK, "%s", message.text);
    if (failures == 0) {
        CHECK(2 * many.domain.tree.sources.n < one.domain.tree.sources.n, "%lld of %lld particles on one rank",
              (long long)many.domain.tree.sources.n, (long long)one.domain.tree.sources.n);
        CHECK(4 * many.domain.tree.ncells < 3 * one.domain.tree.ncells, "%lld of %lld cells on one rank",
              (long long)many.domain.tree.ncells, (long long)one.domain.tree.ncells);
    }
    bh_simulation_free(&many);
    bh_simulation_free(&one);
}

/* The groups of a size that both runs are given now: the same ones, in which each interaction is there once. */
static void check_size(bh_simulation *many, bh_simulation *one, int size)
{
    int64_t pairs[2], cells[2], groups[2];
    char what[40];

    snprintf(what, sizeof what, "groups of %d", many->problem.size[size]);
    const eqp_problem of_many = bh_problem_functions(&many->problem), of_one = bh_problem_functions(&one->problem);
    CHECK(of_many.grain(of_many.user, size) == EQP_OK && of_one.grain(of_one.user, size) == EQP_OK, "%s", what);
    check_exactly_once(many, what, &pairs[0], &cells[0]);
    check_exactly_once(one, what, &pairs[1], &cells[1]);
    groups[0] = many->domain.ngroups;
    groups[1] = one->domain.ngroups;
    MPI_Allreduce(MPI_IN_PLACE, groups, 1, MPI_INT64_T, MPI_SUM, many->comm);
    CHECK(many->domain.group_size == many->problem.size[size] && groups[0] == groups[1], "%s: %lld instead of %lld",
          what, (long long)groups[0], (long long)groups[1]);
    CHECK(pairs[0] == pairs[1] && cells[0] == cells[1], "%s: %lld + %lld interactions instead of %lld + %lld", what,
          (long long)pairs[0], (long long)cells[0], (long long)pairs[1], (long long)cells[1]);
}

/* Groups of any size are made of the particles as they are, and the same ones again; a look ahead is taken back. */
static void check_sizes_of_groups(void)
{
    static const int sizes[] = {0, 3, 1, 0, 2};
    bh_settings settings;
    bh_simulation one, many;
    eqp_message message = {""};
    int64_t n = 0;

    parse(&settings, "clusters:n=800", "sfc", "--opening=geometric --group-size=16");
    CHECK(bh_simulation_create(MPI_COMM_SELF, &settings, &one, &message) == EQP_OK, "%s", message.text);
    CHECK(bh_simulation_create(MPI_COMM_WORLD, &settings, &many, &message) == EQP_OK, "%s", message.text);
    const eqp_problem problem = bh_problem_functions(&many.problem);
    double *before = by_index(&many, many.domain.particles.x), *after;
    many.problem.ngrains = BH_NGROUP_SIZES;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_size(&many, &one, sizes[i]);
        CHECK(sizes[i] > 0 || n == 0 || n == many.domain.particles.n, "particles live elsewhere than before");
        n = sizes[i] == 0 ? many.domain.particles.n : n;
    }
    CHECK(problem.open(problem.user, true) == EQP_OK && problem.advance(problem.user, &message) == EQP_OK, "%s",
          message.text);
    problem.close(problem.user);
    after = by_index(&many, many.domain.particles.x);
    CHECK(memcmp(before, after, 800 * sizeof *before) != 0, "nothing has moved");
    free(after);
    check_size(&many, &one, 0);
    after = by_index(&many, many.domain.particles.x);
    CHECK(memcmp(before, after, 800 * sizeof *before) == 0 && n == many.domain.particles.n, "what moved is not back");
    free(after);
    free(before);
    bh_simulation_free(&many);
    bh_simulation_free(&one);
}

int main(int argc, char **argv)
{
    static const test_plan clusters[] = {
        {"none", "clusters:n=1000", "none", NULL},
        {"count", "clusters:n=1000", "count", NULL},
        {"sfc", "clusters:n=1000", "sfc", NULL},
        {"rcb", "clusters:n=1000", "rcb", NULL},
        {"interaction", "clusters:n=1000", "interaction", NULL},
        {"split, stride", "clusters:n=1000", "interaction", "--sample-rate=0.05 --imbalance-tol=0.0005"},
        {"split, tiles", "clusters:n=1000", "tiles:aspect=20",
         "--sample-rate=0.05 --imbalance-tol=0.0005 --rebalance=4"},
        {"sfc, renewed", "clusters:n=1000", "sfc", "--rebalance=4"},
        {"units along the curve, even, renewed", "clusters:n=1000", "sfc:split,even=step",
         "--imbalance-tol=0.0005 --rebalance=3"},
        {"feedback, renewed", "clusters:n=1000", "feedback", "--rebalance=2"},
        {"interaction, renewed", "clusters:n=1000", "interaction", "--rebalance=4"},
        {"adaptive", "clusters:n=1000", "interaction", "--sample-strategy=adaptive"},
        {"random", "clusters:n=1000", "interaction", "--sample-strategy=random"},
    };
    static const test_plan geometric[] = {
        {"geometric", "disks:n=800", "interaction", "--opening=geometric"},
        {"geometric, sfc", "disks:n=800", "sfc", "--opening=geometric"},
        {"geometric, rcb", "disks:n=800", "rcb", "--opening=geometric"},
    };
    static const test_plan within[] = {
        {"cutoff, none", "clusters:n=600", "none", "--cutoff=0.2"},
        {"cutoff, count", "clusters:n=600", "count", "--cutoff=0.2"},
        {"cutoff, sfc", "clusters:n=600", "sfc", "--cutoff=0.2"},
        {"cutoff, rcb", "clusters:n=600", "rcb", "--cutoff=0.2"},
        {"cutoff, split", "clusters:n=600", "interaction", "--cutoff=0.2 --sample-rate=0.05 --imbalance-tol=0.0005"},
        {"cutoff, jagged", "clusters:n=600", "jagged:columns=2", "--cutoff=0.2"},
    };
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_family((int)(sizeof clusters / sizeof clusters[0]), clusters);
    check_family((int)(sizeof geometric / sizeof geometric[0]), geometric);
    check_family((int)(sizeof within / sizeof within[0]), within);
    check_nobody_holds_everything();
    check_sizes_of_groups();
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
