/* SPDX-License-Identifier: BSD-3-Clause */
/* Single trials of a network, with boxes, a base and a plan that are told, and comparisons of many. */
#include "failures.h"

#include "balance/walls.h"
#include "dd_definitions.h"
#include "dd_whatif.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>

/* Where a node is to live. */
typedef struct settled {
    double x[3];
    int part;
} settled;

/* What nodes do, part by part, [nparts]; placement: NULL for as many equal boxes. */
static double *loads_of(dd_simulation *sim, bool bisection, int nparts, const eqp_placement *placement)
{
    dd_node_pairs node_pairs = {.n = 0};
    eqp_boxes *boxes = NULL;
    double *load = calloc((size_t)nparts, sizeof *load);
    int code = dd_node_pairs_take(&sim->domain, &sim->halo, &sim->stage, &sim->evaluator, &node_pairs);

    CHECK(code == EQP_OK, "node_pairs: %s", eqp_error_text(code));
    code = dd_walls_create(&sim->domain, nparts, &sim->input.control, bisection, &boxes);
    CHECK(code == EQP_OK, "boxes: %s", eqp_error_text(code));
    for (int64_t i = 0; i < node_pairs.n; i++) {
        const int part = placement != NULL ? placement[i].home : eqp_boxes_find(boxes, sim->domain.network.node[i].x);
        load[part] += eqp_cost_fit_predict(nominal_costs(), node_pairs.of_node[i].of);
    }
    CHECK(eqp_sum_double(sim->comm, nparts, load) == EQP_OK, "sum");
    eqp_boxes_free(boxes);
    dd_node_pairs_free(&node_pairs);
    return load;
}

static double heaviest(dd_simulation *sim, bool bisection, int nparts, const eqp_placement *placement)
{
    double *load = loads_of(sim, bisection, nparts, placement), most = 0.0;

    dd_evaluator_base(&sim->stage.grid, nominal_costs(), nparts, load); /* walls take it into account */
    for (int p = 0; p < nparts; p++) {
        most = fmax(most, load[p]);
    }
    free(load);
    return most;
}

/* Parts are boxes: no two overlap. */
static void check_apart(const char *what, int nparts, int64_t n, const settled *at)
{
    double(*low)[3] = calloc((size_t)nparts, sizeof *low), (*high)[3] = calloc((size_t)nparts, sizeof *high);
    int overlaps = 0, used = 0;

    for (int p = 0; p < nparts; p++) {
        for (int d = 0; d < 3; d++) {
            low[p][d] = INFINITY;
            high[p][d] = -INFINITY;
        }
        for (int64_t i = 0; i < n; i++) {
            for (int d = 0; d < 3 && at[i].part == p; d++) {
                low[p][d] = fmin(low[p][d], at[i].x[d]);
                high[p][d] = fmax(high[p][d], at[i].x[d]);
            }
        }
        used += low[p][0] <= high[p][0];
        for (int q = 0; q < p; q++) {
            bool apart = false;
            for (int d = 0; d < 3; d++) {
                apart = apart || high[p][d] < low[q][d] || high[q][d] < low[p][d];
            }
            overlaps += !apart;
        }
    }
    CHECK(overlaps == 0, "%s: %d of the boxes overlap", what, overlaps);
    CHECK(used > 1, "%s: all nodes in %d boxes", what, used);
    free(low);
    free(high);
}

/* Sectioning and bisection for any number of parts. */
static void check_boxes(dd_simulation *sim, eqp_whatif_state *state, bool bisection, int nparts)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    const eqp_choice choice = {.word = "boxes", .method = bisection ? &dd_bisection : &dd_sectioning};
    eqp_trial trial = {.choice = &choice, .nparts = nparts};
    eqp_message message = {""};
    settled *mine = calloc((size_t)sim->domain.network.n + 1, sizeof *mine), *all = NULL;
    int64_t n = 0;
    char what[80];
    int code = eqp__whatif_try(state, 1, &trial, &network, &message);

    snprintf(what, sizeof what, "%s, %d ranks, %d parts", choice.method->name, sim->domain.nranks, nparts);
    CHECK(code == EQP_OK, "%s: %s", what, message.text);
    for (int64_t i = 0; i < sim->domain.network.n && code == EQP_OK; i++) {
        memcpy(mine[i].x, sim->domain.network.node[i].x, sizeof mine[i].x);
        mine[i].part = trial.placements[i].home;
        CHECK(trial.placements[i].tag == mine[i].part, "%s: a node is shared", what);
    }
    CHECK(eqp_gather_records(sim->comm, sizeof *mine, sim->domain.network.n, mine, &n, &all) == EQP_OK, "gather");
    check_apart(what, nparts, n, all);
    if (nparts <= 8) { /* where boxes hold more than a node or two, moving their walls pays */
        const double before = heaviest(sim, bisection, nparts, NULL),
                     after = heaviest(sim, bisection, nparts, trial.placements);
        CHECK(after <= before, "%s: the load of the heaviest box has grown from %g to %g", what, before, after);
    }
    eqp__trials_free(1, &trial);
    free(all);
    free(mine);
}

/* A plan that is told is the one that counts, and not cheaper than the cheapest. */
static void check_plan_told(const eqp_whatif *what, const eqp_choice *choice, int nparts)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    const eqp_exchange_plan plan = {EQP_STAGES_LOG, 4, 1};
    eqp_whatif how[2] = {*what, *what};
    eqp_trial trial[2] = {{.choice = choice, .nparts = nparts}, {.choice = choice, .nparts = nparts}};
    eqp_message message = {""};

    how[1].plan = &plan;
    for (int i = 0; i < 2; i++) {
        eqp_whatif_state state;
        eqp__whatif_open(&how[i], &state);
        CHECK(eqp__whatif_try(&state, 1, &trial[i], &network, &message) == EQP_OK, "%s", message.text);
        eqp__whatif_close(&state);
    }
    const eqp_evaluated *best = &trial[0].row.evaluated, *told = &trial[1].row.evaluated;
    CHECK(told->plan.stages == plan.stages && told->plan.broadcast == plan.broadcast && told->plan.node == plan.node,
          "%d parts: another plan than the one told", nparts);
    CHECK(told->step_seconds >= best->step_seconds * (1 - 1e-12), "%d parts: %.17g is cheaper than %.17g", nparts,
          told->step_seconds, best->step_seconds);
    eqp__trials_free(2, trial);
}

/* The second part of three does something beside what is assigned. */
static const double aside = 1e-4;

static void add_aside(void *user, int nparts, double *seconds)
{
    (void)user;
    seconds[1] += nparts == 3 ? aside : 0.0;
}

/* Who does something beside what is assigned gets so much less of that. */
static void check_base(dd_simulation *sim, const eqp_whatif *what, const eqp_choice *choice)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    eqp_trial trial = {.choice = choice, .nparts = 3};
    eqp_problem with_aside = *what->problem;
    eqp_whatif how = *what;
    eqp_whatif_state state;
    eqp_message message = {""};
    double *load;

    with_aside.base = add_aside;
    how.problem = &with_aside;
    eqp__whatif_open(&how, &state);
    CHECK(eqp__whatif_try(&state, 1, &trial, &network, &message) == EQP_OK, "%s", message.text);
    load = loads_of(sim, false, 3, trial.placements);
    /* Nodes do some 1e-5 s each. */
    CHECK(fabs(load[1] + aside - load[0]) < 0.5 * aside && fabs(load[1] + aside - load[2]) < 0.5 * aside,
          "loads %g, %g + %g, %g", load[0], load[1], aside, load[2]);
    free(load);
    eqp__trials_free(1, &trial);
    eqp__whatif_close(&state);
}

/* Owners of segments in each occupied cell: what tiles go by where people name no aspect. */
static void check_aspect(const dd_simulation *sim, const eqp_problem *problem)
{
    double aspect = 0.0;
    int64_t owners = 0, occupied = 0;
    known k;

    known_gather(sim, &k);
    for (int64_t s = 0; s < k.nsegments; s++) { /* by cell, then by owner */
        occupied += s == 0 || k.segment[s].cell != k.segment[s - 1].cell;
        owners += s == 0 || k.segment[s].owner != k.segment[s - 1].owner;
    }
    CHECK(problem->aspect(problem->user, &aspect) == EQP_OK, "no aspect");
    CHECK(fabs(aspect * (double)occupied - (double)owners) < 1e-9 * (double)owners, "aspect %g, not %lld / %lld",
          aspect, (long long)owners, (long long)occupied);
    known_free(&k);
}

/* Single trials, with boxes, a base and a plan that no comparison has; the network stays where it is. */
static void check_trials(dd_simulation *sim, const eqp_choice *choice)
{
    eqp_balancer *b = sim->balancer;
    const eqp_problem problem = dd_problem_functions(&sim->problem);
    eqp_whatif what = {.comm = sim->comm,
                       .problem = &problem,
                       .model = b->model,
                       .costs = &b->costs,
                       .options = {.imbalance_tol = b->options.imbalance_tol, .seed = b->options.seed}};
    eqp_whatif_state state;
    eqp_names home = {.n = 0};

    CHECK(eqp__take_names(b, &home) == EQP_OK, "no names");
    what.nhome = home.n;
    what.key = home.key;
    CHECK(problem.open(problem.user, true) == EQP_OK, "no node_pairs");
    check_aspect(sim, &problem);
    check_base(sim, &what, choice);
    eqp__whatif_open(&what, &state);
    for (int nparts = 2; nparts <= 32; nparts *= 4) {
        check_boxes(sim, &state, false, nparts);
        check_boxes(sim, &state, true, nparts);
    }
    eqp__whatif_close(&state);
    check_plan_told(&what, choice, 9);
    problem.close(problem.user);
    eqp__names_free(&home);
}

/* Every method, and what the assignments are worth after the next step. */
static void check_comparison(MPI_Comm comm)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    dd_settings settings;
    dd_simulation sim;
    eqp_compared *rows = NULL;
    eqp_message message = {""};
    int code;

    parse(&settings, "sfc", "--steps=0 --cells=5 --stress=0,0,0,5e8,5e8,0 --compare=count,sfc,interaction --parts=2,9");
    CHECK(dd_simulation_create(comm, &settings, &sim, &message) == EQP_OK, "%s", message.text);
    CHECK(eqp__costs_init(&sim.balancer->costs, DD_KINDS, dd_kind_nominal) == EQP_OK, "no costs");
    check_trials(&sim, &settings.run.compare[1]);
    CHECK(compute_again(&sim) == EQP_OK, "no forces");
    const eqp_comparison comparison = {.nchoices = settings.run.ncompare,
                                       .choice = settings.run.compare,
                                       .ncounts = settings.run.nparts_list,
                                       .parts = settings.run.parts,
                                       .network = &network};
    code = eqp_balancer_compare(sim.balancer, &comparison, &rows, &message);
    CHECK(code == EQP_OK, "%s", message.text);
    for (int i = 0; i < 6 && code == EQP_OK; i++) {
        const eqp_compared *row = &rows[i];
        CHECK(fabs(row->evaluated.load_mean * row->parts - rows[0].evaluated.load_mean * rows[0].parts) <=
                      1e-12 * rows[0].evaluated.load_mean ||
                  row->split_owners > 0,
              "%s, %d parts: the work is not what it was", row->method, row->parts);
        CHECK(row->imbalance_next >= 0 && row->imbalance_next < row->parts,
              "%s, %d parts: imbalance of the next step %g", row->method, row->parts, row->imbalance_next);
        CHECK(row->step_next > 0 && row->step_next < row->parts * row->evaluated.step_seconds,
              "%s, %d parts: next step %g", row->method, row->parts, row->step_next);
    }
    free(rows);
    dd_simulation_free(&sim);
    app_run_settings_free(&settings.run);
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 3, 8};
    int rank, world;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0] && counts[c] <= world; c++) {
        MPI_Comm comm = reversed(counts[c]);
        if (comm != MPI_COMM_NULL) {
            check_comparison(comm);
            MPI_Comm_free(&comm);
        }
    }
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
