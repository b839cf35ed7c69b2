/* SPDX-License-Identifier: BSD-3-Clause */
/* What an assignment to any number of parts makes of a network: the same, seen from any number of ranks, as double
 * loops over all segments say; on the next positions too; and what real ranks send. */
#include "every_plan.h"
#include "failures.h"

#include "balance/trace.h"
#include "dd_definitions.h"
#include "dd_whatif.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/whatif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static eqp_evaluation *new_evaluation(int nparts)
{
    eqp_evaluation *evaluation = NULL;

    CHECK(eqp_evaluation_create(nparts, DD_PHASES, dd_phase_back, dd_phase_ghosts, &evaluation) == EQP_OK,
          "no evaluation for %d parts", nparts);
    return evaluation;
}

/* What all ranks have traced, on all of them. */
static eqp_evaluation *join(MPI_Comm comm, int nparts, eqp_evaluation *mine)
{
    eqp_evaluation *all = new_evaluation(nparts);
    int64_t *sizes = NULL, size, n = 0;
    size_t bytes = 0;
    char *packed = NULL, *in = NULL, *piece;
    int nranks;

    MPI_Comm_size(comm, &nranks);
    CHECK(eqp_evaluation_pack(mine, &bytes, (void **)&packed) == EQP_OK, "pack");
    size = (int64_t)bytes;
    CHECK(eqp_gather_records(comm, sizeof size, 1, &size, &n, &sizes) == EQP_OK, "gather");
    CHECK(eqp_gather_records(comm, 1, size, packed, &n, &in) == EQP_OK, "gather");
    piece = in;
    for (int r = 0; r < nranks; r++) {
        CHECK(eqp_evaluation_merge(all, (size_t)sizes[r], piece) == EQP_OK, "merge");
        piece += sizes[r];
    }
    free(in);
    free(sizes);
    free(packed);
    eqp_evaluation_free(mine);
    return all;
}

/* Traffic of all parts by a plan: messages sent and received, bytes sent and received, one after another. */
typedef struct sent {
    int64_t *count; /* [4 nparts] */
    eqp_evaluated result;
} sent;

static sent plan_of(eqp_evaluation *evaluation, int nparts, const eqp_exchange_plan *plan)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    sent s = {.count = calloc(4 * (size_t)nparts, sizeof *s.count)};
    const eqp_traffic traffic = {.messages_sent = s.count,
                                 .messages_received = s.count + nparts,
                                 .bytes_sent = s.count + 2 * (int64_t)nparts,
                                 .bytes_received = s.count + 3 * (int64_t)nparts};
    const int code = eqp_evaluation_by_plan(evaluation, &network, plan, &traffic, &s.result);

    CHECK(code == EQP_OK, "%d parts: no evaluation: %s", nparts, eqp_error_text(code));
    return s;
}

static void compare_plans(const char *what, int nparts, eqp_evaluation *traced, eqp_evaluation *defined)
{
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
    const int n = eqp_exchange_plans(nparts, &network, plan);

    for (int i = 0; i < n; i++) {
        char name[EQP_EXCHANGE_NAME_SIZE];
        const sent a = plan_of(traced, nparts, &plan[i]), b = plan_of(defined, nparts, &plan[i]);
        int64_t different = 0;
        eqp_exchange_plan_name(&plan[i], name);
        for (int64_t c = 0; c < 4 * (int64_t)nparts; c++) {
            different += a.count[c] != b.count[c];
        }
        CHECK(different == 0, "%s, %s: %lld numbers of messages and bytes differ", what, name, (long long)different);
        CHECK(a.result.ghosts_total == b.result.ghosts_total && a.result.ghosts_max == b.result.ghosts_max,
              "%s, %s: %lld ghosts, not %lld", what, name, (long long)a.result.ghosts_total,
              (long long)b.result.ghosts_total);
        CHECK(a.result.neighbours_max == b.result.neighbours_max, "%s, %s: %d neighbours, not %d", what, name,
              a.result.neighbours_max, b.result.neighbours_max);
        free(a.count);
        free(b.count);
    }
}

static void compare_direct(const char *what, const known *k, const dd_simulation *sim, eqp_evaluation *traced)
{
    const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;
    const int n = k->nparts;
    const sent s = plan_of(traced, n, &plan);
    int64_t different = 0;
    direct d;

    define_direct(k, sim, &d);
    for (int p = 0; p < n; p++) {
        int64_t count[4] = {0, 0, 0, 0};
        for (int q = 0; q < n; q++) {
            count[0] += d.messages[p * n + q];
            count[1] += d.messages[q * n + p];
            count[2] += d.bytes[p * n + q];
            count[3] += d.bytes[q * n + p];
        }
        for (int c = 0; c < 4; c++) {
            different += count[c] != s.count[c * n + p];
        }
    }
    CHECK(different == 0, "%s: %lld numbers of direct messages and bytes differ", what, (long long)different);
    free(d.messages);
    free(d.bytes);
    free(s.count);
}

static void compare_loads(const char *what, int nparts, const eqp_evaluation *traced, const dd_counts *work)
{
    const double *load = eqp_evaluation_loads(traced);
    double worst = 0.0, most = 0.0;

    for (int p = 0; p < nparts; p++) {
        const double wanted = eqp_cost_fit_predict(nominal_costs(), work[p].of);
        worst = fmax(worst, fabs(load[p] - wanted));
        most = fmax(most, wanted);
    }
    CHECK(most > 0 && worst <= 1e-12 * most, "%s: loads differ by %g of %g", what, worst, most);
}

/* A trace against the definitions. */
static void compare_trace(const char *what, const dd_simulation *sim, dd_node_pairs *node_pairs, const known *k)
{
    eqp_evaluation *traced = new_evaluation(k->nparts), *loads = new_evaluation(k->nparts),
                   *defined = new_evaluation(k->nparts);
    dd_counts *work = calloc((size_t)k->nparts, sizeof *work);
    eqp_placement *placement = known_placements(k, sim);
    int code = dd_trace(node_pairs, nominal_costs(), k->nparts, k->map, placement, false, traced);

    CHECK(code == EQP_OK, "%s: %s", what, eqp_error_text(code));
    code = dd_trace(node_pairs, nominal_costs(), k->nparts, k->map, placement, true, loads);
    CHECK(code == EQP_OK, "%s, loads: %s", what, eqp_error_text(code));
    traced = join(sim->comm, k->nparts, traced);
    loads = join(sim->comm, k->nparts, loads);
    define_work(k, sim, work);
    compare_loads(what, k->nparts, traced, work);
    compare_loads(what, k->nparts, loads, work);
    define_exchange(k, sim, DD_ALL_PHASES, defined);
    compare_plans(what, k->nparts, traced, defined);
    if (k->nparts <= 40) {
        compare_direct(what, k, sim, traced);
    }
    free(placement);
    free(work);
    eqp_evaluation_free(traced);
    eqp_evaluation_free(loads);
    eqp_evaluation_free(defined);
}

static void check_trace(const dd_simulation *sim, dd_node_pairs *node_pairs, int nparts, bool with_split,
                        const char *when)
{
    char what[120];
    known k;

    snprintf(what, sizeof what, "%s, %d ranks, %d parts%s", when, sim->domain.nranks, nparts,
             with_split ? ", shared" : "");
    known_gather(sim, &k);
    known_assign(&k, nparts, with_split, sim);
    CHECK(!with_split || eqp_map_shared(k.map) > 0, "%s: nobody shares anything", what);
    compare_trace(what, sim, node_pairs, &k);
    known_free(&k);
}

/* More parts than nodes, one part, some; for a network that some ranks share or not; and after it has moved. */
static void check_traces(MPI_Comm comm, const char *method, const char *extra, int ncounts, const int *counts)
{
    dd_settings settings;
    dd_simulation sim;
    eqp_message message = {""};
    int code;

    parse(&settings, method, extra);
    code = dd_simulation_create(comm, &settings, &sim, &message);
    CHECK(code == EQP_OK, "%s", message.text);
    const eqp_problem problem = dd_problem_functions(&sim.problem);
    const int64_t n = sim.domain.network.n;
    const dd_tag first = n > 0 ? sim.domain.network.node[0].tag : 0;
    code = problem.open(problem.user, true);
    CHECK(code == EQP_OK, "node_pairs: %s", eqp_error_text(code));
    for (int c = 0; c < ncounts; c++) {
        check_trace(&sim, &sim.problem.node_pairs, counts[c], false, "at first");
        check_trace(&sim, &sim.problem.node_pairs, counts[c], true, "at first");
    }
    code = problem.advance(problem.user, &message);
    CHECK(code == EQP_OK, "moving on: %s %s", eqp_error_text(code), message.text);
    CHECK(sim.domain.network.n == n, "%lld nodes, not %lld", (long long)sim.domain.network.n, (long long)n);
    CHECK(n == 0 || sim.domain.network.node[0].tag == first, "nodes have changed places");
    check_trace(&sim, &sim.problem.node_pairs, 8, true, "moved");
    problem.close(problem.user);
    dd_simulation_free(&sim);
    app_run_settings_free(&settings.run);
}

/* Messages and bytes of this rank by the definitions, phase by phase, against what it has counted. */
static void compare_counted(const char *what, const known *k, const dd_simulation *sim, const eqp_exchange_plan *plan)
{
    char name[EQP_EXCHANGE_NAME_SIZE];

    eqp_exchange_plan_name(plan, name);
    for (int phase = 0; phase < DD_PHASES; phase++) {
        const eqp_route_counts *counted = &sim->evaluator.traffic[phase];
        eqp_evaluation *defined = new_evaluation(k->nparts);
        define_exchange(k, sim, 1U << phase, defined);
        const sent s = plan_of(defined, k->nparts, plan);
        const int64_t *mine = s.count + sim->domain.rank, n = k->nparts;
        CHECK(mine[0] == counted->messages_sent && mine[n] == counted->messages_received &&
                  mine[2 * n] == counted->bytes_sent && mine[3 * n] == counted->bytes_received,
              "%s, %s, phase %d, rank %d: %lld messages and %lld bytes sent, %lld and %lld received; not %lld, %lld, "
              "%lld, %lld",
              what, name, phase, sim->domain.rank, (long long)counted->messages_sent, (long long)counted->bytes_sent,
              (long long)counted->messages_received, (long long)counted->bytes_received, (long long)mine[0],
              (long long)mine[2 * n], (long long)mine[n], (long long)mine[3 * n]);
        free(s.count);
        eqp_evaluation_free(defined);
    }
}

/* A trace of the map that a run has made against what the run's ranks send, by every plan that is worth trying or, if
 * `all`, by every one; and the work. */
static void check_run(MPI_Comm comm, const char *method, const char *extra, bool all)
{
    const eqp_network network = {.alpha = 1e-6, .beta = 1e-9, .node = 2};
    eqp_exchange_plan plan[EQP_EXCHANGE_PLANS_MAX];
    dd_settings settings;
    dd_simulation sim;
    dd_node_pairs node_pairs = {.n = 0};
    eqp_message message = {""};
    char what[80];
    known k;
    int code, nplans;

    parse(&settings, method, extra);
    code = dd_simulation_create(comm, &settings, &sim, &message);
    CHECK(code == EQP_OK, "%s", message.text);
    known_gather(&sim, &k);
    CHECK(strcmp(method, "interaction") != 0 || k.nparts < 8 || eqp_map_shared(k.map) > 0, "nobody shares anything");
    nplans = all ? EVERY_PLAN : eqp_exchange_plans(k.nparts, &network, plan);
    if (all) {
        every_plan(plan);
    }
    snprintf(what, sizeof what, "%s, %d ranks", method, k.nparts);
    code = dd_node_pairs_take(&sim.domain, &sim.halo, &sim.stage, &sim.evaluator, &node_pairs);
    CHECK(code == EQP_OK, "%s: node_pairs: %s", what, eqp_error_text(code));
    compare_trace(what, &sim, &node_pairs, &k);
    dd_node_pairs_free(&node_pairs);
    for (int i = 0; i < nplans; i++) {
        sim.domain.plan = plan[i];
        code = eqp_route_fit(sim.comm, &sim.domain.plan);
        CHECK(code == EQP_OK && sim.domain.plan.node == plan[i].node, "%s: nodes of %d ranks: %s", what, plan[i].node,
              eqp_error_text(code));
        code = compute_again(&sim);
        CHECK(code == EQP_OK, "%s: evaluation: %s", what, eqp_error_text(code));
        compare_counted(what, &k, &sim, &plan[i]);
    }
    known_free(&k);
    dd_simulation_free(&sim);
    app_run_settings_free(&settings.run);
}

#define STRESS "--stress=0,0,0,5e8,5e8,0"
#define SHARED "--steps=0 --cells=3,4,3 --sample-rate=0.2 --imbalance-tol=0.0005 " STRESS

/* Every method by every plan. */
static void check_product(MPI_Comm comm)
{
    for (int m = 0; eqp_methods_at(&dd_methods, m) != NULL; m++) {
        check_run(comm, eqp_methods_at(&dd_methods, m)->name, SHARED, true);
    }
}

/* What the quick run looks at. */
static void check_some(int world)
{
    static const int counts[] = {1, 2, 3, 4, 7, 8}, parts[] = {1, 5, 130};
    static const char *const methods[] = {"sfc", "rcb", "interaction", "tiles"};

    for (size_t c = 0; c < sizeof counts / sizeof counts[0] && counts[c] <= world; c++) {
        MPI_Comm comm = reversed(counts[c]);
        if (comm != MPI_COMM_NULL) {
            check_traces(comm, "sfc", "--steps=0 --cells=5 " STRESS, 3, parts);
            check_traces(comm, "interaction", SHARED, 1, parts + 1);
            for (int m = 0; counts[c] % 2 == 0 && m < 4; m++) {
                if (eqp_method_find(methods[m]) != NULL) {
                    check_run(comm, methods[m], SHARED, false);
                }
            }
            MPI_Comm_free(&comm);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, world;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    if (argc > 1 && strcmp(argv[1], "product") == 0) {
        check_product(MPI_COMM_WORLD);
    } else {
        check_some(world);
    }
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
