/* SPDX-License-Identifier: BSD-3-Clause */
/* The distributed dislocation code: every pair of near segments exactly once, the same network and the same forces, for
 * every rank count, method and way that data take, at the start and after steps that change the topology; no rank holds
 * everything. */
#include "fake_clock.h"
#include "slow.h"
#include "dd_definitions.h"
#include "failures.h"
#include "meet.h"

#include "signals.h"
#include "simulation.h"

#include "elastic/self.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All segments, on every rank: what the marks are counted against. */
typedef struct everybody {
    int64_t n;
    dd_segment *segment;
    int64_t *cell;
    unsigned char *marked; /* [n][n]: how often target row was computed with source column */
    int64_t unknown;       /* sources or targets that are no segment of the network */
} everybody;

/* The work of the far field is the square of the number of cells. */
#ifdef EQP_SANITIZED
#define CELLS "--cells=4 "
#else
#define CELLS "--cells=5 "
#endif

static everybody *marking;
static dd_pairs_fn computing;

static int64_t find_segment(const everybody *e, const dd_segment *segment)
{
    for (int64_t i = 0; i < e->n; i++) {
        if (memcmp(&e->segment[i], segment, sizeof *segment) == 0) {
            return i;
        }
    }
    return -1;
}

/* Stands for the kernel: marks, then computes. */
static void mark_pairs(const dd_medium *medium, const dd_segment *target, const dd_columns *sources, int nruns,
                       const dd_run *runs, double force[6], dd_pair_counts *counts)
{
    const int64_t t = find_segment(marking, target);

    for (int r = 0; r < nruns; r++) {
        for (int64_t i = runs[r].first; i < runs[r].first + runs[r].n; i++) {
            const dd_segment source = dd_columns_segment(sources, i);
            const int64_t s = find_segment(marking, &source);
            if (t < 0 || s < 0) {
                marking->unknown++;
            } else {
                marking->marked[t * marking->n + s]++;
            }
        }
    }
    computing(medium, target, sources, nruns, runs, force, counts);
}

static void everybody_create(const dd_simulation *sim, everybody *e)
{
    dd_segment *mine = calloc((size_t)sim->stage.nown + 1, sizeof *mine);
    int64_t *cell = calloc((size_t)sim->stage.nown + 1, sizeof *cell), n = 0;

    *e = (everybody){.n = 0};
    for (int64_t i = 0; i < sim->stage.nown; i++) {
        mine[i] = dd_stage_segment(&sim->stage, sim->stage.own_local[i]);
        cell[i] = define_cell(sim, sim->stage.own_node[i]);
    }
    CHECK(eqp_gather_records(sim->comm, sizeof *mine, sim->stage.nown, mine, &e->n, &e->segment) == EQP_OK, "gather");
    CHECK(eqp_gather_records(sim->comm, sizeof *cell, sim->stage.nown, cell, &n, &e->cell) == EQP_OK, "gather");
    e->marked = calloc((size_t)(e->n * e->n), 1);
    free(cell);
    free(mine);
}

/* Cells that share a corner, by the definition: independent of the grid's own neighbourhoods. */
static bool are_near(const dd_grid *grid, int64_t a, int64_t b)
{
    int64_t p[2][3];

    for (int i = 0; i < 2; i++) {
        int64_t cell = i == 0 ? a : b;
        for (int d = 2; d >= 0; d--) {
            p[i][d] = cell % grid->n[d];
            cell /= grid->n[d];
        }
    }
    for (int d = 0; d < 3; d++) {
        int64_t apart = llabs(p[0][d] - p[1][d]);
        if (grid->periodic[d] && grid->n[d] - apart < apart) {
            apart = grid->n[d] - apart;
        }
        if (apart > 1) {
            return false;
        }
    }
    return true;
}

/* Evaluates the present state once more and marks who meets whom. */
static void check_exactly_once(dd_simulation *sim, const char *what)
{
    everybody e;
    int64_t wrong = 0, near = 0, n;
    int code;

    everybody_create(sim, &e);
    n = e.n;
    marking = &e;
    computing = sim->evaluator.pairs;
    sim->evaluator.pairs = mark_pairs;
    code = dd_evaluate(&sim->evaluator, &sim->domain, &sim->halo, &sim->stage, EQP_OK);
    CHECK(code == EQP_OK, "%s: no forces: %s", what, eqp_error_text(code));
    sim->evaluator.pairs = computing;
    MPI_Allreduce(MPI_IN_PLACE, e.marked, (int)(n * n), MPI_UNSIGNED_CHAR, MPI_SUM, sim->comm);
    MPI_Allreduce(MPI_IN_PLACE, &e.unknown, 1, MPI_INT64_T, MPI_SUM, sim->comm);
    for (int64_t i = 0; i < n; i++) {
        wrong += e.marked[i * n + i] != 0;
        for (int64_t j = 0; j < i; j++) {
            const bool wanted = are_near(&sim->stage.grid, e.cell[i], e.cell[j]);
            wrong += e.marked[i * n + j] + e.marked[j * n + i] != (wanted ? 1 : 0);
            near += wanted;
        }
    }
    CHECK(e.unknown == 0, "%s: %lld pairs of segments that are none", what, (long long)e.unknown);
    CHECK(wrong == 0 && near > 0, "%s: %lld of %lld near pairs are not computed exactly once", what, (long long)wrong,
          (long long)near);
    free(e.segment);
    free(e.cell);
    free(e.marked);
}

/* No block of segments is here that nothing is computed with: of owners that ranks share, only what this rank does. */
static void check_nothing_is_needless(const dd_simulation *sim, const char *what)
{
    const dd_stage *stage = &sim->stage;
    const eqp_route_view view = eqp_route_arrivals(stage->route);
    unsigned char *source = calloc((size_t)stage->grid.ncells, 1);
    int64_t needless = 0;

    for (int64_t t = 0; t < stage->ntargets; t++) {
        const dd_target *target = &stage->target[t];
        const int64_t cell = dd_stage_cell(stage, target->local);
        const uint32_t given = target->share < 0 ? UINT32_MAX : stage->shares.share[target->share].sources;
        int64_t cells[DD_GRID_SOURCES];
        const int n = dd_grid_sources(&stage->grid, cell, cells);
        for (int i = 0; i < n; i++) {
            source[cells[i]] |= (given >> i & 1) != 0;
        }
    }
    for (int64_t b = 0; b < view.n; b++) {
        bool wanted =
            source[view.id[b]] != 0 || (stage->field.home != NULL && stage->field.home[view.id[b]] == sim->domain.rank);
        for (int64_t t = 0; t < stage->ntargets && !wanted; t++) {
            const int64_t ghost = -1 - stage->source[stage->target[t].local];
            wanted = ghost >= stage->ghost_first[b] && ghost < stage->ghost_first[b + 1];
        }
        needless += !wanted;
    }
    CHECK(needless == 0, "%s: rank %d: %lld of %lld blocks are not needed", what, sim->domain.rank, (long long)needless,
          (long long)view.n);
    free(source);
}

/* What one rank sends another one gets; what cells bring is what goes back. */
static void check_traffic(const dd_simulation *sim, const char *what)
{
    for (int p = 0; p < DD_PHASES; p++) {
        const eqp_route_counts *c = &sim->evaluator.traffic[p];
        int64_t sum[4] = {c->messages_sent, c->messages_received, c->bytes_sent, c->bytes_received};
        const int64_t back = sim->evaluator.traffic[DD_PHASE_FORCES].messages_received;
        CHECK(p != DD_PHASE_SEGMENTS || back == c->messages_sent, "%s: %lld messages out, %lld back", what,
              (long long)c->messages_sent, (long long)back);
        MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_INT64_T, MPI_SUM, sim->comm);
        CHECK(sum[0] == sum[1] && sum[2] == sum[3], "%s: phase %d: %lld messages sent, %lld received; %lld, %lld bytes",
              what, p, (long long)sum[0], (long long)sum[1], (long long)sum[2], (long long)sum[3]);
    }
}

/* However late anything arrives, sums are made in the same order. */
static void check_same_bits(dd_simulation *sim, const char *what)
{
    double(*before)[3] = calloc((size_t)sim->domain.network.n + 1, sizeof *before);
    int64_t different = 0;

    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        dd_node_force(&sim->domain.network.node[i], before[i]);
    }
    for (const double begin = MPI_Wtime(); sim->domain.rank == sim->domain.nranks / 2 && MPI_Wtime() < begin + 0.002;) {
        continue; /* one comes late */
    }
    CHECK(dd_evaluate(&sim->evaluator, &sim->domain, &sim->halo, &sim->stage, EQP_OK) == EQP_OK, "%s: no forces", what);
    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        double force[3];
        dd_node_force(&sim->domain.network.node[i], force);
        different += memcmp(force, before[i], sizeof force) != 0;
    }
    CHECK(different == 0, "%s: forces on %lld nodes are others the second time", what, (long long)different);
    free(before);
}

/* A node as all ranks know it. */
typedef struct state {
    dd_tag tag;
    double x[3], force[3];
    int64_t narms;
} state;

/* What a run leaves: its nodes by tag, at the start and at the end. */
typedef struct outcome {
    int64_t n[2];
    state *node[2];
    int64_t pairs[2], created, deleted;
} outcome;

static int by_tag(const void *left, const void *right)
{
    const dd_tag a = ((const state *)left)->tag, b = ((const state *)right)->tag;

    return (a > b) - (a < b);
}

static void outcome_take(const dd_simulation *sim, int when, outcome *o)
{
    state *mine = calloc((size_t)sim->domain.network.n + 1, sizeof *mine);

    for (int64_t i = 0; i < sim->domain.network.n; i++) {
        const dd_node *node = &sim->domain.network.node[i];
        mine[i] = (state){.tag = node->tag, .narms = node->narms};
        memcpy(mine[i].x, node->x, sizeof node->x);
        dd_node_force(node, mine[i].force);
    }
    CHECK(eqp_gather_records(sim->comm, sizeof *mine, sim->domain.network.n, mine, &o->n[when], &o->node[when]) ==
              EQP_OK,
          "gather");
    qsort(o->node[when], (size_t)o->n[when], sizeof(state), by_tag);
    o->pairs[when] = sim->now.common.interactions;
    free(mine);
}

static void outcome_free(outcome *o)
{
    free(o->node[0]);
    free(o->node[1]);
}

/* From rank 0 to all. */
static void outcome_share(outcome *o)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(o->n, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
    MPI_Bcast(o->pairs, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int w = 0; w < 2; w++) {
        if (rank != 0) {
            o->node[w] = calloc((size_t)o->n[w] + 1, sizeof(state));
        }
        MPI_Bcast(o->node[w], (int)(o->n[w] * (int64_t)sizeof(state)), MPI_BYTE, 0, MPI_COMM_WORLD);
    }
}

static double largest_force(const state *node, int64_t n)
{
    double most = 0.0;

    for (int64_t i = 0; i < n; i++) {
        for (int d = 0; d < 3; d++) {
            most = fmax(most, fabs(node[i].force[d]));
        }
    }
    return most;
}

/* Sums in another order differ by rounding, and steps let that grow. */
static void compare(const outcome *o, const outcome *reference, double box, const char *what)
{
    static const double tolerance[2] = {1e-11, 1e-7};

    for (int w = 0; w < 2; w++) {
        const double scale = largest_force(reference->node[w], reference->n[w]);
        double force = 0.0, place = 0.0;
        int64_t strangers = 0;
        CHECK(o->pairs[w] == reference->pairs[w], "%s: %lld pairs, %lld on one rank", what, (long long)o->pairs[w],
              (long long)reference->pairs[w]);
        CHECK(o->n[w] == reference->n[w], "%s: %lld nodes, %lld on one rank", what, (long long)o->n[w],
              (long long)reference->n[w]);
        for (int64_t i = 0; i < o->n[w] && i < reference->n[w]; i++) {
            const state *a = &o->node[w][i], *b = &reference->node[w][i];
            strangers += a->tag != b->tag || a->narms != b->narms;
            for (int d = 0; d < 3; d++) {
                const double off = fabs(a->x[d] - b->x[d]);
                place = fmax(place, fmin(off, fabs(box - off)));
                force = fmax(force, fabs(a->force[d] - b->force[d]) / scale);
            }
        }
        CHECK(strangers == 0, "%s: %lld nodes have other tags or arms", what, (long long)strangers);
        CHECK(force <= tolerance[w], "%s: forces differ by %g of the largest", what, force);
        CHECK(place <= tolerance[w] * box, "%s: positions differ by %g", what, place);
    }
}

typedef struct test_plan {
    const char *what, *input, *method, *extra;
} test_plan;

static void parse(dd_settings *settings, const test_plan *plan)
{
    static char words[256];
    char *argv[32] = {"test", "--generate", (char *)plan->input, "--balance", (char *)plan->method};
    eqp_message message = {""};
    app_action action;
    int argc = 5;

    snprintf(words, sizeof words, "%s", plan->extra);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    int code = app_options_parse(dd_settings_table(), argc, argv, settings, settings->given, &action, &message);

    if (code == EQP_OK) {
        code = dd_settings_complete(settings, &message);
    }
    CHECK(code == EQP_OK, "%s", message.text);
}

static void run(MPI_Comm comm, const test_plan *plan, const char *what, outcome *o)
{
    dd_settings settings;
    dd_simulation sim;
    eqp_message message = {""};
    int nranks, code;

    parse(&settings, plan);
    code = dd_simulation_create(comm, &settings, &sim, &message);
    CHECK(code == EQP_OK, "%s: %s", what, message.text);
    if (code != EQP_OK) {
        return;
    }
    outcome_take(&sim, 0, o);
    check_exactly_once(&sim, what);
    while (code == EQP_OK && sim.now.common.step < sim.input.last_step) {
        code = dd_simulation_step(&sim, &message);
        if (code == EQP_OK) {
            code = dd_topology_check(&sim.domain, &message);
        }
        o->created += sim.now.topology.created;
        o->deleted += sim.now.topology.deleted;
    }
    CHECK(code == EQP_OK, "%s: step %lld: %s", what, (long long)sim.now.common.step, message.text);
    outcome_take(&sim, 1, o);
    check_exactly_once(&sim, what);
    check_nothing_is_needless(&sim, what);
    check_traffic(&sim, what);
    check_same_bits(&sim, what);
    MPI_Comm_size(comm, &nranks);
    if (strstr(what, "split") != NULL && nranks >= 7) {
        CHECK(sim.now.common.split_owners > 0, "%s: no owner was split on %d ranks", what, nranks);
    }
    dd_simulation_free(&sim);
}

/* The first `size` ranks of the world in reverse order; MPI_COMM_NULL on the others. */
static MPI_Comm reversed(int size)
{
    int rank;
    MPI_Comm comm;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    meet();
    MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, -rank, &comm);
    return comm;
}

enum { METHODS = 5 }; /* the first so many plans of a family */

static void check_family(double box, int nplans, const test_plan *plans)
{
    static const int counts[] = {1, 2, 3, 7};
    outcome reference = {0};
    int rank, world;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (rank == 0) {
        test_plan plan = plans[0];
        plan.method = "none";
        run(MPI_COMM_SELF, &plan, "reference", &reference);
        CHECK(reference.created > 0 && reference.deleted > 0, "the topology did not change: %lld nodes made, %lld gone",
              (long long)reference.created, (long long)reference.deleted);
    }
    meet();
    outcome_share(&reference);
    for (size_t c = slow_here() ? 2 : 0; c < sizeof counts / sizeof counts[0] && counts[c] <= world; c++) {
        MPI_Comm comm = reversed(counts[c]);
        /* What comes behind the methods varies one of them: an odd number of ranks and many are enough for it. */
        const int n = counts[c] == 3 || counts[c] == 7 || nplans < METHODS ? nplans : METHODS;
        for (int i = 0; i < n && comm != MPI_COMM_NULL; i += slow_here() ? 3 : 1) {
            outcome o = {0};
            char what[160];
            snprintf(what, sizeof what, "%s, %d ranks", plans[i].what, counts[c]);
            run(comm, &plans[i], what, &o);
            compare(&o, &reference, box, what);
            outcome_free(&o);
        }
        if (comm != MPI_COMM_NULL) {
            MPI_Comm_free(&comm);
        }
    }
    outcome_free(&reference);
}

/* What the images of all cells do to an own segment: test_dd_far has looked at it. */
static void add_images(const dd_simulation *sim, int64_t local, const dd_segment *segment, double sum[6])
{
    const dd_field *field = &sim->stage.field;
    const dd_far *far = sim->evaluator.waves->far;
    const int64_t cell = dd_stage_cell(&sim->stage, local);
    double force[6] = {0.0};

    for (int64_t l = 0; l < field->nlive; l++) {
        if (field->live[l] == cell) {
            dd_far_open(far, field->local + l * dd_far_sizes_of(far)->nlocal, sim->evaluator.waves->scratch);
            dd_far_force(far, cell, sim->evaluator.waves->scratch, segment, force);
        }
    }
    for (int c = 0; c < 6; c++) {
        sum[c] += force[c];
    }
}

/* In a grid of 3 x 3 x 3 cells every pair is near: what nodes feel is the sum over all pairs, computed one by one, and
 * of further images. */
static void check_against_direct_sum(void)
{
    static const test_plan plan = {"direct", "chains:n=3,box=3000,maxseg=300", "sfc",
                                   "--steps=0 --cells=3 --stress=1e8,0,0,0,2e8,3e8"};
    dd_settings settings;
    dd_simulation sim;
    everybody e;
    eqp_message message = {""};
    dd_pairs_fn plain;
    double worst = 0.0, scale = 0.0;

    parse(&settings, &plan);
    CHECK(dd_simulation_create(MPI_COMM_WORLD, &settings, &sim, &message) == EQP_OK, "%s", message.text);
    CHECK(dd_pairs_choose(DD_ISA_PLAIN, &plain, NULL) == EQP_OK, "no plain kernel");
    everybody_create(&sim, &e);
    for (int64_t i = 0; i < sim.stage.nown; i++) {
        const int64_t local = sim.stage.own_local[i];
        const dd_segment own = dd_stage_segment(&sim.stage, local);
        double sum[6] = {0.0};
        for (int64_t j = 0; j < e.n; j++) {
            double column[15][1 + DD_LANES] = {{0.0}};
            dd_columns one;
            dd_pair_counts counts = {0, 0};
            if (memcmp(&own, &e.segment[j], sizeof own) == 0) {
                continue;
            }
            for (int c = 0; c < 15; c++) {
                *(c < 9 ? &one.at[c] : &one.force[c - 9]) = column[c];
            }
            for (int d = 0; d < 3; d++) {
                column[d][0] = e.segment[j].x1[d];
                column[3 + d][0] = e.segment[j].x2[d];
                column[6 + d][0] = e.segment[j].burgers[d];
            }
            plain(&sim.evaluator.medium, &own, &one, 1, &(dd_run){0, 1}, sum, &counts);
        }
        double alone[6];
        add_images(&sim, local, &own, sum);
        dd_self_force(&sim.evaluator.medium, &own, alone);
        for (int c = 0; c < 6; c++) {
            sum[c] += alone[c];
        }
        dd_peach_koehler(sim.evaluator.stress, &own, alone);
        for (int c = 0; c < 6; c++) {
            sum[c] += alone[c];
            scale = fmax(scale, fabs(sum[c]));
            worst = fmax(worst, fabs(sum[c] - sim.stage.columns.force[c][local]));
        }
    }
    /* Each pair is computed here from both sides, there from one: closed forms round differently. */
    CHECK(worst <= 1e-9 * scale, "forces differ by %g of %g from a sum over all pairs", worst, scale);
    CHECK(sim.evaluator.stress[5] == 3e8, "the applied stress is %g", sim.evaluator.stress[5]);
    free(e.segment);
    free(e.cell);
    free(e.marked);
    dd_simulation_free(&sim);
}

/* A rank of seven holds a part of the nodes and of the segments, ghosts included. */
static void check_nobody_holds_everything(void)
{
    static const test_plan plan = {"large", "chains:n=60,box=20000,maxseg=600", "sfc", "--steps=0 --cells=10"};
    dd_settings settings;
    dd_simulation sim;
    eqp_message message = {""};
    int world;

    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (world <= 4) {
        return;
    }
    parse(&settings, &plan);
    CHECK(dd_simulation_create(MPI_COMM_WORLD, &settings, &sim, &message) == EQP_OK, "%s", message.text);
    if (failures == 0) {
        CHECK(4 * sim.domain.network.n < sim.now.nodes, "%lld of %lld nodes on one rank",
              (long long)sim.domain.network.n, (long long)sim.now.nodes);
        CHECK(3 * sim.stage.n < 2 * sim.now.segments, "%lld of %lld segments on one rank", (long long)sim.stage.n,
              (long long)sim.now.segments);
    }
    dd_simulation_free(&sim);
}

static int64_t calls, stop_at; /* of the kernel by this rank in a step; which of them gets a signal, -1: none */

/* Stands for the kernel: one of its calls gets a signal, and returns when all ranks know of it. */
static void raise_signal(const dd_medium *medium, const dd_segment *target, const dd_columns *sources, int nruns,
                         const dd_run *runs, double force[6], dd_pair_counts *counts)
{
    if (calls++ == stop_at) {
        (void)raise(SIGTERM);
        while (app_signals_stop() == EQP_OK) {
        }
    }
    computing(medium, target, sources, nruns, runs, force, counts);
}

/* A run of two steps; in the second the last rank gets a signal in a call of its kernel. The state after it. */
static int run_stopped(int64_t call, outcome *o, double *next_dt, int64_t *step)
{
    const test_plan plan = {"stopped", "chains:n=6,box=6000,maxseg=500", "count",
                            CELLS "--steps=6 --r-tol=20 --rann=60 --stress=0,0,0,5e8,5e8,0 --rebalance=never"};
    dd_settings settings;
    dd_simulation sim;
    eqp_message message = {""};
    int code;

    parse(&settings, &plan);
    code = dd_simulation_create(MPI_COMM_WORLD, &settings, &sim, &message);
    CHECK(code == EQP_OK, "%s", message.text);
    if (code != EQP_OK) {
        return code;
    }
    code = dd_simulation_step(&sim, &message);
    CHECK(code == EQP_OK, "%s", message.text);
    outcome_take(&sim, 0, o);
    *next_dt = sim.stepper.dt;
    CHECK(app_signals_install() == EQP_OK, "signals");
    app_signals_share(MPI_COMM_WORLD);
    computing = sim.evaluator.pairs;
    sim.evaluator.pairs = raise_signal;
    calls = 0;
    stop_at = sim.domain.rank == sim.domain.nranks - 1 ? call : -1;
    code = dd_simulation_step(&sim, &message);
    outcome_take(&sim, 1, o);
    app_signals_restore();
    *step = sim.now.common.step;
    if (call == 0) {
        CHECK(sim.stepper.dt == *next_dt, "the next step would be %g instead of %g long", sim.stepper.dt, *next_dt);
    }
    dd_simulation_free(&sim);
    return code;
}

static void check_places(const outcome *a, int when_a, const outcome *b, int when_b, const char *what)
{
    CHECK(a->n[when_a] == b->n[when_b], "%s: other nodes", what);
    for (int64_t i = 0; i < a->n[when_a] && i < b->n[when_b]; i++) {
        const state *left = &a->node[when_a][i], *right = &b->node[when_b][i];
        CHECK(left->tag == right->tag && left->narms == right->narms && memcmp(left->x, right->x, sizeof left->x) == 0,
              "%s: node %llx is elsewhere", what, (unsigned long long)left->tag);
    }
}

/* A step that a signal ends leaves the network as it was before it, or as it is after it: both can be gone on from. */
static void check_stopped_within_a_step(void)
{
    outcome whole = {.n = {0}}, early = {.n = {0}}, late = {.n = {0}};
    double dt;
    int64_t step;
    int64_t last;

    CHECK(run_stopped(-1, &whole, &dt, &step) == EQP_OK && step == 2, "a step that nobody stops");
    last = calls - 1;
    CHECK(run_stopped(0, &early, &dt, &step) == EQP_ERR_STOPPED && step == 1, "stopped early: at step %lld",
          (long long)step);
    check_places(&early, 1, &whole, 0, "stopped early");
    CHECK(run_stopped(last > 0 ? last - 1 : 0, &late, &dt, &step) == EQP_ERR_STOPPED && step == 2,
          "stopped late: at step %lld", (long long)step);
    check_places(&late, 1, &whole, 1, "stopped late");
    outcome_free(&whole);
    outcome_free(&early);
    outcome_free(&late);
}

/* The clock of CPU time goes back now and then, on ranks that differ: runs do not end. */
static void check_clocks_that_go_back(void)
{
#define SOME CELLS "--r-tol=20 --rann=60 --steps=6 "
    static const test_plan plan[] = {
        {"auto, clock", "chains:n=6,box=6000,maxseg=500", "interaction", SOME "--share=measured"},
        {"bisection, clock", "chains:n=6,box=6000,maxseg=500", "bisection", SOME "--rebalance=1"},
        {"feedback, clock", "chains:n=6,box=6000,maxseg=500", "feedback", SOME "--rebalance=1"},
    };
    dd_settings settings;
    dd_simulation sim;
    eqp_message message = {""};
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof plan / sizeof plan[0]; i++) {
        int code;
        parse(&settings, &plan[i]);
        fake_clock_every = 2 + rank % 3;
        fake_clock_readings = 0;
        code = dd_simulation_create(MPI_COMM_WORLD, &settings, &sim, &message);
        CHECK(code == EQP_OK, "%s: %s", plan[i].what, message.text);
        for (int step = 0; step < 3 && code == EQP_OK; step++) {
            code = dd_simulation_step(&sim, &message);
            CHECK(code == EQP_OK, "%s: %s", plan[i].what, message.text);
        }
        CHECK(fake_clock_readings >= fake_clock_every, "%s: nobody reads this clock", plan[i].what);
        if (code == EQP_OK) {
            dd_simulation_free(&sim);
        }
        fake_clock_every = 0;
    }
}

int main(int argc, char **argv)
{
#define CHAINS "chains:n=6,box=6000,maxseg=500"
#define STEPS CELLS "--steps=6 --r-tol=20 --rann=60 --stress=0,0,0,5e8,5e8,0 "
#define SPLIT "--sample-rate=0.2 --imbalance-tol=0.0005 "
    static const test_plan plans[] = {
        {"none", CHAINS, "none", STEPS},
        {"count, two-stage", CHAINS, "count", STEPS "--exchange=two-stage"},
        {"sfc", CHAINS, "sfc", STEPS "--rebalance=2"},
        {"rcb, log", CHAINS, "rcb", STEPS "--exchange=log"},
        {"interaction", CHAINS, "interaction", STEPS},
        {"sectioning, broadcast", CHAINS, "sectioning", STEPS "--rebalance=1 --exchange=direct+broadcast/2"},
        {"bisection, node", CHAINS, "bisection", STEPS "--rebalance=1 --exchange=direct+node/2"},
        {"split, stride", CHAINS, "interaction", STEPS SPLIT},
        {"split, two-stage, broadcast", CHAINS, "interaction",
         STEPS SPLIT "--rebalance=2 --exchange=two-stage+broadcast/2"},
        {"split, log, broadcast, node", CHAINS, "interaction",
         STEPS SPLIT "--rebalance=2 --exchange=log+broadcast/4+node/4"},
        {"split, tiles", CHAINS, "tiles:aspect=20", STEPS SPLIT "--sample-rate=0.6 --rebalance=2"},
        {"jagged, two-stage", CHAINS, "jagged:columns=2", STEPS "--exchange=two-stage"},
        {"units along the curve, even", CHAINS, "sfc:split,even=step", STEPS SPLIT "--rebalance=2 --exchange=log"},
        {"feedback", CHAINS, "feedback", STEPS "--rebalance=1"},
        {"handed out", CHAINS, "none", STEPS "--schedule=adaptive-weighted-factoring"},
        {"handed out, split, tiles, two-stage", CHAINS, "tiles:aspect=20",
         STEPS SPLIT "--sample-rate=0.6 --rebalance=2 --exchange=two-stage --schedule=self"},
        {"handed out, bisection", CHAINS, "bisection", STEPS "--rebalance=1 --schedule=awf-c"},
        {"random", CHAINS, "interaction", STEPS "--sample-strategy=random --rebalance=3"},
    };
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_family(6000.0, (int)(sizeof plans / sizeof plans[0]), plans);
    check_against_direct_sum();
    check_nobody_holds_everything();
    check_clocks_that_go_back();
    check_stopped_within_a_step();
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
