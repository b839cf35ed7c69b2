/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of the gravity code: the trace of a map counts the messages, the bytes and the work that an
 * evaluation with that map has, rank by rank. That it does not depend on the ranks, and counts phases of a step as
 * well, is shown from outside by tests/app/compare.sh and rungs.sh. */
#include "every_plan.h"
#include "failures.h"
#include "meet.h"

#include "simulation.h"

#include <equipoise/more/comm.h>
#include <equipoise/more/whatif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void parse(bh_settings *settings, const char *const *words, int nwords)
{
    char *argv[24] = {"test", "--steps", "1", "--rebalance", "never"};
    eqp_message message = {""};
    app_action action;
    int argc = 5, code;

    for (int i = 0; i < nwords; i++) {
        if (words[i] != NULL) {
            argv[argc++] = (char *)words[i];
        }
    }
    code = app_options_parse(bh_settings_table(), argc, argv, settings, NULL, &action, &message);
    if (code == EQP_OK) {
        code = bh_settings_complete(settings, &message);
    }
    CHECK(code == EQP_OK, "%s", message.text);
}

/* The trace of all ranks, on every rank. */
static eqp_evaluation *gather(MPI_Comm comm, int nparts, eqp_evaluation *mine, const eqp_problem *problem)
{
    eqp_evaluation *all = NULL;
    void *out = NULL;
    char *in = NULL;
    size_t size = 0;
    int64_t total = 0, bytes, *sizes = NULL, n = 0, at = 0;
    int code = eqp_evaluation_create(nparts, problem->nphases, problem->back, problem->ghosts, &all);

    code = code ? code : eqp_evaluation_pack(mine, &size, &out);
    bytes = (int64_t)size;
    code = code ? code : eqp_gather_records(comm, sizeof bytes, 1, &bytes, &n, &sizes);
    code = code ? code : eqp_gather_records(comm, 1, bytes, out, &total, &in);
    for (int64_t r = 0; r < n && code == EQP_OK; at += sizes[r++]) {
        code = eqp_evaluation_merge(all, (size_t)sizes[r], in + at);
    }
    CHECK(code == EQP_OK, "gather: %s", eqp_error_text(code));
    free(sizes);
    free(in);
    free(out);
    return all;
}

typedef struct totals {
    int64_t messages_sent, messages_received, bytes_sent, bytes_received;
    int64_t ghosts;
    int64_t ghost_messages;  /* that bring or take essential trees */
    bh_counts counts, early; /* what was computed, and what of it while essential trees travelled */
} totals;

/* Messages of one force evaluation on this rank, with the top of the tree. */
static totals run_forces(bh_simulation *sim)
{
    bh_evaluated evaluated;
    totals t = {0};
    int nranks = sim->domain.nranks;
    int64_t top = sim->domain.tree.nbranches * bh_branch_bytes(&sim->domain.tree),
            *tops = calloc((size_t)nranks, sizeof *tops);
    int64_t *columns = calloc(4 * (size_t)nranks, sizeof *columns);
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    const eqp_traffic traffic = {columns, columns + nranks, columns + 2 * nranks, columns + 3 * nranks, NULL, NULL};
    int code = bh_evaluate(&sim->evaluator, &sim->domain, eqp_balancer_map(sim->balancer), NULL, 0, EQP_OK, &evaluated);

    CHECK(code == EQP_OK, "no forces: %s", eqp_error_text(code));
    MPI_Allgather(&top, 1, MPI_INT64_T, tops, 1, MPI_INT64_T, sim->comm);
    code = eqp_exchange_count_all(tops, nranks, &network, &traffic);
    CHECK(code == EQP_OK, "count of the top: %s", eqp_error_text(code));
    t = (totals){columns[sim->domain.rank],
                 columns[nranks + sim->domain.rank],
                 columns[2 * nranks + sim->domain.rank],
                 columns[3 * nranks + sim->domain.rank],
                 evaluated.ghosts,
                 evaluated.phase[BH_PHASE_GHOSTS].messages_sent + evaluated.phase[BH_PHASE_GHOSTS].messages_received,
                 evaluated.counts,
                 evaluated.early};
    for (int p = 0; p < BH_PHASES; p++) {
        t.messages_sent += evaluated.phase[p].messages_sent;
        t.messages_received += evaluated.phase[p].messages_received;
        t.bytes_sent += evaluated.phase[p].bytes_sent;
        t.bytes_received += evaluated.phase[p].bytes_received;
    }
    free(columns);
    free(tops);
    return t;
}

static void compare_totals(const char *what, int nranks, int rank, const char *quantity, int64_t traced, int64_t real)
{
    CHECK(traced == real, "%s, rank %d of %d: %lld %s traced, %lld sent", what, rank, nranks, (long long)traced,
          quantity, (long long)real);
}

/* For each kind of work, with costs of a second for it and 0 for the rest: the trace counts exactly the work done. */
static void compare_work(const char *what, const bh_simulation *sim, const eqp_problem *problem,
                         const eqp_placement *placement, const bh_counts *real)
{
    const int64_t ngroups = sim->domain.ngroups;
    int64_t *tag = calloc((size_t)ngroups + 1, sizeof *tag);
    const int rank = sim->domain.rank, nranks = sim->domain.nranks;

    for (int64_t g = 0; g < ngroups; g++) {
        tag[g] = placement[g].tag;
    }
    for (int k = 0; k < BH_KINDS; k++) {
        eqp_evaluation *mine = NULL, *all;
        eqp_cost_fit one = {.nkinds = BH_KINDS};
        bh_trace trace = sim->problem.trace;
        one.cost[k] = 1.0;
        trace.costs = &one;
        int code = eqp_evaluation_create(nranks, problem->nphases, problem->back, problem->ghosts, &mine);
        code = code ? code : bh_trace_loads(&trace, nranks, eqp_balancer_map(sim->balancer), tag, mine);
        CHECK(code == EQP_OK, "%s: trace of loads: %s", what, eqp_error_text(code));
        all = gather(sim->comm, nranks, mine, problem);
        CHECK(eqp_evaluation_loads(all)[rank] == (double)real->of[k],
              "%s, rank %d of %d: %.17g of %s traced, %lld real", what, rank, nranks, eqp_evaluation_loads(all)[rank],
              bh_kind_names[k], (long long)real->of[k]);
        eqp_evaluation_free(all);
        eqp_evaluation_free(mine);
    }
    free(tag);
}

/* Seconds of this rank in addition to its load, on a network with a second for each message. overlaps: as in a run. */
static double other_seconds(const bh_simulation *sim, const eqp_problem *problem, const eqp_placement *placement,
                            const eqp_exchange_plan *plan, bool overlaps)
{
    const eqp_network network = {.alpha = 1, .node = 1};
    const int nranks = sim->domain.nranks;
    double *seconds = calloc((size_t)nranks, sizeof *seconds), found;
    const eqp_traffic traffic = {.seconds = seconds};
    eqp_evaluation *mine = NULL, *all;
    eqp_evaluated evaluated;
    bh_trace trace = sim->problem.trace;
    int code = eqp_evaluation_create(nranks, problem->nphases, problem->back, problem->ghosts, &mine);

    trace.overlaps = overlaps;
    code = code ? code : bh_trace_map(&trace, nranks, eqp_balancer_map(sim->balancer), placement, mine);
    CHECK(code == EQP_OK, "trace: %s", eqp_error_text(code));
    all = gather(sim->comm, nranks, mine, problem);
    code = eqp_evaluation_by_plan(all, &network, plan, &traffic, &evaluated);
    CHECK(code == EQP_OK, "evaluation: %s", eqp_error_text(code));
    found = seconds[sim->domain.rank];
    free(seconds);
    eqp_evaluation_free(all);
    eqp_evaluation_free(mine);
    return found;
}

static int ranks_that_hide;

/* The trace hides the seconds that the run computes while essential trees are sent, on ranks that send or get any. */
static void compare_hidden(const char *what, const bh_simulation *sim, const eqp_problem *problem,
                           const eqp_placement *placement, const totals *real)
{
    const eqp_exchange_plan *plan = &sim->evaluator.plan;
    const double hidden =
        other_seconds(sim, problem, placement, plan, false) - other_seconds(sim, problem, placement, plan, true);
    const double early =
        real->ghost_messages > 0 ? eqp_cost_fit_predict(eqp_balancer_costs(sim->balancer), real->early.of) : 0.0;

    CHECK(fabs(hidden - early) <= 1e-9, "%s, rank %d of %d: %g s hidden, %g s computed early", what, sim->domain.rank,
          sim->domain.nranks, hidden, early);
    ranks_that_hide += early > 1e-8;
}

/* One method and one plan: a real evaluation, then the trace of the same map. */
static void check_traffic(MPI_Comm comm, const char *what, const char *const *words, int nwords)
{
    bh_settings settings = {.cutoff = 0};
    bh_simulation sim;
    eqp_message message = {""};
    const eqp_network network = EQP_NETWORK_DEFAULTS;
    eqp_exchange_plan plan;
    eqp_evaluation *mine = NULL, *all;
    eqp_evaluated evaluated;
    eqp_placement *placement;
    int64_t *columns;
    totals real;
    double load;
    int code, rank, nranks;

    parse(&settings, words, nwords);
    code = bh_simulation_create(comm, &settings, &sim, &message);
    CHECK(code == EQP_OK, "%s: %s", what, message.text);
    if (code != EQP_OK) {
        return;
    }
    plan = sim.evaluator.plan;
    rank = sim.domain.rank;
    nranks = sim.domain.nranks;
    code = bh_domain_build_tree(&sim.domain, EQP_OK);
    CHECK(code == EQP_OK, "%s: %s", what, eqp_error_text(code));
    real = run_forces(&sim);
    placement = calloc((size_t)sim.domain.ngroups + 1, sizeof *placement);
    for (int64_t g = 0; g < sim.domain.ngroups; g++) {
        placement[g] = (eqp_placement){sim.domain.tag[g], rank};
    }
    const eqp_problem problem = bh_problem_functions(&sim.problem);
    code = problem.open(problem.user, true);
    CHECK(code == EQP_OK, "%s: %s", what, eqp_error_text(code));
    code = eqp_evaluation_create(nranks, problem.nphases, problem.back, problem.ghosts, &mine);
    code = code ? code : problem.trace(problem.user, nranks, eqp_balancer_map(sim.balancer), placement, false, mine);
    CHECK(code == EQP_OK, "%s: trace: %s", what, eqp_error_text(code));
    all = gather(sim.comm, nranks, mine, &problem);
    columns = calloc(4 * (size_t)nranks, sizeof *columns);
    const eqp_traffic traffic = {columns, columns + nranks, columns + 2 * nranks, columns + 3 * nranks, NULL, NULL};
    code = eqp_evaluation_by_plan(all, &network, &plan, &traffic, &evaluated);
    CHECK(code == EQP_OK, "%s: evaluation: %s", what, eqp_error_text(code));
    load = eqp_cost_fit_predict(eqp_balancer_costs(sim.balancer), real.counts.of);
    CHECK(fabs(eqp_evaluation_loads(all)[rank] - load) <= 1e-12 * load,
          "%s, rank %d of %d: a load of %g s traced, %g s real", what, rank, nranks, eqp_evaluation_loads(all)[rank],
          load);
    compare_work(what, &sim, &problem, placement, &real.counts);
    if (nranks > 1) {
        compare_hidden(what, &sim, &problem, placement, &real);
    }
    compare_totals(what, nranks, rank, "messages out", columns[rank], real.messages_sent);
    compare_totals(what, nranks, rank, "messages in", columns[nranks + rank], real.messages_received);
    compare_totals(what, nranks, rank, "bytes out", columns[2 * nranks + rank], real.bytes_sent);
    compare_totals(what, nranks, rank, "bytes in", columns[3 * nranks + rank], real.bytes_received);
    if (nranks > 1) {
        CHECK(evaluated.bytes_total > 0, "%s: nothing travels", what);
    }
    free(columns);
    free(placement);
    eqp_evaluation_free(all);
    eqp_evaluation_free(mine);
    problem.close(problem.user);
    bh_simulation_free(&sim);
    app_run_settings_free(&settings.run);
}

static MPI_Comm first_ranks(int nranks)
{
    MPI_Comm comm;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    meet();
    MPI_Comm_split(MPI_COMM_WORLD, rank < nranks ? 0 : MPI_UNDEFINED, rank, &comm);
    return comm;
}

static void check_plans(MPI_Comm comm)
{
    static const struct {
        const char *what, *method, *extra, *exchange;
    } cases[] = {
        {"sfc, direct", "sfc", NULL, "direct"},
        {"sfc, two stages", "sfc", NULL, "two-stage"},
        {"sfc, log, hot blocks", "sfc", NULL, "log+broadcast/4"},
        {"count, hot blocks", "count", NULL, "direct+broadcast/16"},
        {"rcb, nodes", "rcb", NULL, "direct+node/2"},
        {"interaction", "interaction", NULL, "two-stage+broadcast/4"},
        {"split", "interaction", "--sample-rate=0.05", "direct"},
        {"split, log", "interaction", "--sample-rate=0.05", "log"},
        {"split, nodes", "interaction", "--sample-rate=0.05", "two-stage+broadcast/4+node/2"},
        {"tiles", "tiles", "--sample-rate=0.05", "log+node/2"},
        {"tiles, direct", "tiles", "--sample-rate=0.05", "direct"},
        {"tiles, small theta", "tiles", "--theta=0.3", "direct"},
        {"jagged, cutoff", "jagged", "--cutoff=0.3", "direct"},
        {"tiles, cutoff", "tiles", "--cutoff=0.1", "two-stage"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *words[] = {"--generate", "clusters:n=1500", "--balance",   cases[i].method,
                               "--exchange", cases[i].exchange, cases[i].extra};
        check_traffic(comm, cases[i].what, words, 7);
    }
}

/* Every method by every plan with few particles: whole owners, and as many shared ones as possible. */
static void check_product(MPI_Comm comm)
{
    eqp_exchange_plan plan[EVERY_PLAN];
    char name[EQP_EXCHANGE_NAME_SIZE], what[128];

    every_plan(plan);
    for (int m = 0; eqp_methods_at(NULL, m) != NULL; m++) {
        const eqp_method *method = eqp_methods_at(NULL, m);
        const bool units = (method->flags & EQP_NEEDS_UNITS) != 0;
        for (int i = 0; i < EVERY_PLAN; i++) {
            eqp_exchange_plan_name(&plan[i], name);
            snprintf(what, sizeof what, "%s, %s", method->name, name);
            const char *words[] = {"--generate",
                                   "clusters:n=400",
                                   "--balance",
                                   method->name,
                                   "--exchange",
                                   name,
                                   units ? "--sample-rate=0.05" : NULL};
            check_traffic(comm, what, words, 7);
        }
    }
}

/* The quick run. */
static void check_some(int world)
{
    static const int counts[] = {1, 2, 3, 4, 8};

    for (size_t c = 0; c < sizeof counts / sizeof counts[0] && counts[c] <= world; c++) {
        MPI_Comm comm = first_ranks(counts[c]);
        if (comm != MPI_COMM_NULL) {
            check_plans(comm);
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
        MPI_Allreduce(MPI_IN_PLACE, &ranks_that_hide, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(ranks_that_hide > 0, "nothing is ever hidden");
    }
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
