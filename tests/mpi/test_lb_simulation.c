/* SPDX-License-Identifier: BSD-3-Clause */
/* The load-balance benchmark: every step leaves all vertices with the values that one rank alone gives them, whatever
 * the method, the policy, the start, the graph and the weights; and a rank without memory ends it on all ranks. */
#include "harness.h"

#include "simulation.h"

#include "failing_ranks.h"

enum { STEPS = 3 };

static void parse(lb_settings *settings, int argc, const char *const *argv)
{
    app_action action;
    eqp_message message = {""};

    CHECK_EQUAL(app_options_parse(lb_settings_table(), argc, (char **)argv, settings, NULL, &action, &message), EQP_OK);
    CHECK_EQUAL(lb_settings_complete(settings, &message), EQP_OK);
}

/* Steps by some method, each compared with those of one rank. */
static void compare_runs(MPI_Comm comm, const char *graph, const char *weights, const char *method, const char *policy,
                         const char *start)
{
    const char *const argv[] = {"test", "--generate", graph,  "--scenario",  weights, "--balance",
                                method, "--unit",     "1e-9", "--rebalance", policy,  "--start",
                                start,  "--array",    "4096", "--steps",     "3"};
    lb_settings settings;
    lb_simulation sim, alone;
    eqp_message message = {""};
    int64_t sum;

    parse(&settings, 17, argv);
    CHECK_EQUAL(lb_simulation_create(comm, &settings, &sim, &message), EQP_OK);
    CHECK_EQUAL(lb_simulation_create(MPI_COMM_SELF, &settings, &alone, &message), EQP_OK);
    sum = alone.now.sum;
    for (int step = 0; step <= STEPS; step++) {
        CHECK(sim.now.checksum == alone.now.checksum);
        CHECK_EQUAL(sim.now.sum, sum);
        CHECK_EQUAL(sim.now.common.interactions, alone.now.common.interactions);
        CHECK_EQUAL(sim.now.common.split_owners, 0);
        if (step < STEPS) {
            const uint64_t before = sim.now.checksum;
            CHECK_EQUAL(lb_simulation_step(&sim, &message), EQP_OK);
            CHECK_EQUAL(lb_simulation_step(&alone, &message), EQP_OK);
            CHECK(sim.now.checksum != before);
        }
    }
    lb_simulation_free(&sim);
    lb_simulation_free(&alone);
    app_run_settings_free(&settings.run);
}

static void every_method_gives_the_values_of_one_rank(MPI_Comm comm)
{
    static const char *const start[] = {"scatter", "slabs", "first", "curve"}, *const policy[] = {"1", "auto", "repair",
                                                                                                  "never", "2"};
    const eqp_method *method;

    for (int i = 0; (method = eqp_methods_at(NULL, i)) != NULL; i++) {
        compare_runs(comm, "octree:n=200,edge=5", "walk:sigma=0.5", method->name, policy[i % 5], start[i % 4]);
    }
    compare_runs(comm, "octree:n=200,edge=5", "walk:sigma=0.5", "sfc:split", "1", "first");
}

static void every_graph_and_scenario_gives_the_values_of_one_rank(MPI_Comm comm)
{
    compare_runs(comm, "grid:n=150", "front:peak=50,width=0.05,speed=0.2", "rcb", "1", "curve");
    compare_runs(comm, "triangles:n=150,edge=3", "static", "tiles", "repair", "slabs");
    compare_runs(comm, "particles:n=150", "jump:every=2", "sfc", "auto", "scatter");
    compare_runs(comm, "grid:n=2", "front", "sfc", "1", "first"); /* more ranks than vertices */
    compare_runs(comm, "grid:n=1", "front:peak=1000", "interaction", "1", "first");
}

static const eqp_exchange_plan plan = EQP_EXCHANGE_PLAN_DEFAULTS;

static int fill(MPI_Comm comm, void *user)
{
    lb_domain domain;

    lb_domain_init(&domain, comm);
    failing_ranks_begin();
    int code = lb_domain_fill(&domain, user, LB_START_SLABS, 1);
    code = code == EQP_OK ? lb_domain_connect(&domain, &plan) : code;
    failing_ranks_end();
    lb_domain_free(&domain);
    return code;
}

static int migrate(MPI_Comm comm, void *user)
{
    eqp_placement to[64];
    int64_t migrated = 0, bytes = 0;
    lb_domain domain;

    lb_domain_init(&domain, comm);
    CHECK_EQUAL(lb_domain_fill(&domain, user, LB_START_SLABS, 1), EQP_OK);
    CHECK(domain.n <= 64);
    for (int64_t v = 0; v < domain.n; v++) {
        to[v].home = (int)(v % domain.nranks);
    }
    failing_ranks_begin();
    int code = lb_domain_migrate(&domain, to, &migrated, &bytes);
    code = code == EQP_OK ? lb_domain_connect(&domain, &plan) : code;
    failing_ranks_end();
    lb_domain_free(&domain);
    return code;
}

static void lack_of_memory_ends_it_on_all_ranks(MPI_Comm comm)
{
    lb_generator generator;

    if (mpi_test_size(comm) != 2 || !failing_malloc_only_ours()) {
        return;
    }
    CHECK_EQUAL(lb_generator_parse("grid:n=40", &generator, NULL), EQP_OK);
    CHECK(failing_ranks_check(comm, fill, &generator) > mpi_test_size(comm));
    CHECK(failing_ranks_check(comm, migrate, &generator) > mpi_test_size(comm));
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(every_method_gives_the_values_of_one_rank),
        MPI_TEST(every_graph_and_scenario_gives_the_values_of_one_rank),
        MPI_TEST(lack_of_memory_ends_it_on_all_ranks),
    };

    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
