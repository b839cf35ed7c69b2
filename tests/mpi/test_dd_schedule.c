/* SPDX-License-Identifier: BSD-3-Clause */
/* Cell pairs that are handed out while forces are computed: the same bits by every method and whoever computes what,
 * the accounts of owners as without, for every map; ranks without work are given some; all ranks or none fail. */
#include "harness.h"

#include "slow.h"

#include "cost/timings.h"
#include "simulation.h"
#include "stealing.h"

#include "failing_ranks.h"

#include <math.h>

/* Maps: whole owners, some of them by few ranks, and owners that ranks share. */
typedef struct map_plan {
    const char *method, *extra;
    bool lopsided; /* one rank has nearly everything */
} map_plan;

static const map_plan plans[] = {
    {"none", "--cells=5", false},
    {"rcb", "--cells=3", false},
    {"sfc", "--cells=4", true},
    {"interaction", "--cells=5 --sample-rate=0.2 --imbalance-tol=0.0005", false},
    {"tiles:aspect=20", "--cells=4 --sample-rate=0.6 --imbalance-tol=0.0005", false},
    {"sectioning", "--cells=5 --rebalance=never", false},
};

static void simulation_create(MPI_Comm comm, const map_plan *plan, dd_settings *settings, dd_simulation *sim)
{
    static char words[256], share[64];
    char *argv[16] = {"test",      "--generate=chains:n=6,box=6000,maxseg=500",
                      "--steps=0", "--stress=0,0,0,5e8,5e8,0",
                      "--balance", (char *)plan->method};
    eqp_message message = {""};
    app_action action;
    int argc = 6;

    snprintf(words, sizeof words, "%s", plan->extra);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (plan->lopsided) { /* a number for each rank */
        int n = snprintf(share, sizeof share, "--share=speeds:1");
        for (int r = 1; r < mpi_test_size(comm); r++) {
            n += snprintf(share + n, sizeof share - (size_t)n, r == 1 ? ",900" : ",1");
        }
        argv[argc++] = share;
    }
    *settings = (dd_settings){.ctrl = NULL};
    CHECK_EQUAL(app_options_parse(dd_settings_table(), argc, argv, settings, settings->given, &action, &message),
                EQP_OK);
    CHECK_EQUAL(dd_settings_complete(settings, &message), EQP_OK);
    CHECK_EQUAL(dd_simulation_create(comm, settings, sim, &message), EQP_OK);
}

static void simulation_free(dd_settings *settings, dd_simulation *sim)
{
    dd_simulation_free(sim);
    app_run_settings_free(&settings->run);
}

/* What an evaluation leaves on a rank. */
typedef struct outcome {
    int64_t n;
    double (*force)[DD_MOST_ARMS][3]; /* [n] own nodes; owned */
    dd_counts *of_node;               /* [n] owned */
    dd_counts *of_share, mapped;      /* of_share: owned */
    int64_t nshares, helped, pairs;   /* pairs, helped: of all ranks */
    double largest;                   /* force, of all ranks */
} outcome;

static void outcome_take(const dd_simulation *sim, outcome *o)
{
    const dd_evaluator *e = &sim->evaluator;

    *o = (outcome){.n = sim->domain.network.n, .nshares = e->of_shares, .mapped = e->mapped};
    o->force = mpi_test_alloc(o->n, sizeof *o->force);
    o->of_node = mpi_test_alloc(o->n, sizeof *o->of_node);
    o->of_share = mpi_test_alloc(o->nshares, sizeof *o->of_share);
    for (int64_t i = 0; i < o->n; i++) {
        const dd_node *node = &sim->domain.network.node[i];
        for (int a = 0; a < node->narms; a++) {
            memcpy(o->force[i][a], node->arm[a].force, sizeof o->force[i][a]);
            for (int d = 0; d < 3; d++) {
                o->largest = fmax(o->largest, fabs(o->force[i][a][d]));
            }
        }
        o->of_node[i] = e->of_node[i];
    }
    for (int64_t s = 0; s < o->nshares; s++) {
        o->of_share[s] = e->of_share[s];
    }
    o->helped = e->helped;
    o->pairs = e->total.of[DD_KIND_PAIR] + e->total.of[DD_KIND_PARALLEL];
    MPI_Allreduce(MPI_IN_PLACE, &o->helped, 1, MPI_INT64_T, MPI_SUM, sim->comm);
    MPI_Allreduce(MPI_IN_PLACE, &o->pairs, 1, MPI_INT64_T, MPI_SUM, sim->comm);
    MPI_Allreduce(MPI_IN_PLACE, &o->largest, 1, MPI_DOUBLE, MPI_MAX, sim->comm);
}

static void outcome_free(outcome *o)
{
    free(o->force);
    free(o->of_node);
    free(o->of_share);
}

/* What is the same whoever computes. */
static void check_accounts(const outcome *a, const outcome *b)
{
    CHECK_EQUAL(a->n, b->n);
    CHECK_EQUAL(a->nshares, b->nshares);
    CHECK_EQUAL(a->pairs, b->pairs);
    CHECK(memcmp(&a->mapped, &b->mapped, sizeof a->mapped) == 0);
    CHECK(memcmp(a->of_node, b->of_node, (size_t)a->n * sizeof *a->of_node) == 0);
    CHECK(memcmp(a->of_share, b->of_share, (size_t)a->nshares * sizeof *a->of_share) == 0);
}

static bool same_bits(const outcome *a, const outcome *b)
{
    return memcmp(a->force, b->force, (size_t)a->n * sizeof *a->force) == 0;
}

static double deviation(const outcome *a, const outcome *b)
{
    double most = 0.0;

    for (int64_t i = 0; i < a->n; i++) {
        for (int k = 0; k < DD_MOST_ARMS * 3; k++) {
            most = fmax(most, fabs(a->force[i][k / 3][k % 3] - b->force[i][k / 3][k % 3]));
        }
    }
    return most / b->largest;
}

static int evaluate(dd_simulation *sim)
{
    eqp_timings_clear(sim->evaluator.timings);
    return dd_evaluate(&sim->evaluator, &sim->domain, &sim->halo, &sim->stage, EQP_OK);
}

static void check_plan(MPI_Comm comm, const map_plan *plan)
{
    static dd_settings settings;
    dd_simulation sim;
    outcome without, first = {0};
    int64_t helped = 0;

    simulation_create(comm, plan, &settings, &sim);
    outcome_take(&sim, &without);
    CHECK_EQUAL(without.helped, 0);
    for (int m = 0; m < eqp_schedule_method_count(); m += slow_here() ? 3 : 1) {
        CHECK_EQUAL(dd_loop_create(sim.comm, eqp_schedule_method_at(m), NULL, &sim.evaluator.loop), EQP_OK);
        for (int again = 0; again < 2; again++) { /* the second time ranks are known */
            outcome o;
            CHECK_EQUAL(evaluate(&sim), EQP_OK);
            outcome_take(&sim, &o);
            check_accounts(&o, &without);
            CHECK_NEAR(deviation(&o, &without), 0, 1e-13);
            helped += o.helped;
            if (m == 0 && again == 0) {
                first = o;
            } else {
                CHECK(same_bits(&o, &first));
                outcome_free(&o);
            }
        }
        eqp_loop_free(sim.evaluator.loop);
        sim.evaluator.loop = NULL;
    }
    CHECK(mpi_test_size(comm) > 1 || helped == 0);
    CHECK(mpi_test_size(comm) == 1 || !plan->lopsided || helped > 0);
    outcome_free(&first);
    outcome_free(&without);
    simulation_free(&settings, &sim);
}

static void every_method_gives_the_same_bits(MPI_Comm comm)
{
    for (size_t p = 0; p < sizeof plans / sizeof plans[0]; p += slow_here() ? 2 : 1) {
        check_plan(comm, &plans[p]);
    }
}

/* Of what a rank computes for others time and work are its own, and of what it gives away they are not. */
static void work_is_that_of_who_computes(MPI_Comm comm)
{
    static dd_settings settings;
    dd_simulation sim;
    int64_t given[2] = {0, 0};

    simulation_create(comm, &plans[2], &settings, &sim);
    CHECK_EQUAL(dd_loop_create(sim.comm, eqp_schedule_method_find("factoring"), NULL, &sim.evaluator.loop), EQP_OK);
    for (int i = 0; i < 20 && given[0] == 0; i++) {
        int64_t timed = 0, computed = 0, mapped = 0;
        CHECK_EQUAL(evaluate(&sim), EQP_OK);
        const dd_evaluator *e = &sim.evaluator;
        for (int k = 0; k <= DD_KIND_RUN; k++) {
            computed += e->total.of[k];
            mapped += e->mapped.of[k];
            for (int64_t t = 0; t < e->timings->n; t++) {
                timed += e->timings->timing[t].count[k];
            }
        }
        CHECK_EQUAL(timed, computed);
        CHECK(e->seconds >= 0 && e->exchange_seconds >= 0);
        CHECK(e->helped > 0 || computed <= mapped);
        CHECK((e->handed_bytes > 0) == (e->helped > 0 || computed < mapped));
        CHECK_EQUAL(e->total.of[DD_KIND_SEGMENT], e->mapped.of[DD_KIND_SEGMENT]);
        CHECK_EQUAL(e->total.of[DD_KIND_CELL], e->mapped.of[DD_KIND_CELL]);
        given[0] = e->helped;
        given[1] = computed - mapped;
        MPI_Allreduce(MPI_IN_PLACE, given, 2, MPI_INT64_T, MPI_SUM, sim.comm);
        CHECK_EQUAL(given[1], 0);
    }
    CHECK((given[0] > 0) == (mpi_test_size(comm) > 1));
    eqp_loop_free(sim.evaluator.loop);
    sim.evaluator.loop = NULL;
    simulation_free(&settings, &sim);
}

static int evaluate_without_memory(MPI_Comm comm, void *user)
{
    int code;

    (void)comm;
    failing_ranks_begin();
    code = evaluate(user);
    failing_ranks_end();
    return code;
}

static void all_fail_where_one_has_no_memory(MPI_Comm comm)
{
    static const map_plan small = {"sfc", "--cells=3", true};
    static dd_settings settings;
    dd_simulation sim;
    outcome before, after;

    if (!failing_malloc_works) {
        return;
    }
    simulation_create(comm, &small, &settings, &sim);
    CHECK_EQUAL(dd_loop_create(sim.comm, eqp_schedule_method_find("self"), NULL, &sim.evaluator.loop), EQP_OK);
    CHECK_EQUAL(evaluate(&sim), EQP_OK);
    outcome_take(&sim, &before);
    CHECK(failing_ranks_check(comm, evaluate_without_memory, &sim) > 5);
    CHECK_EQUAL(evaluate(&sim), EQP_OK);
    outcome_take(&sim, &after);
    CHECK(same_bits(&before, &after));
    check_accounts(&after, &before);
    outcome_free(&before);
    outcome_free(&after);
    eqp_loop_free(sim.evaluator.loop);
    sim.evaluator.loop = NULL;
    simulation_free(&settings, &sim);
}

int main(int argc, char **argv)
{
    static const mpi_test tests[] = {
        MPI_TEST(every_method_gives_the_same_bits),
        MPI_TEST(work_is_that_of_who_computes),
        MPI_TEST(all_fail_where_one_has_no_memory),
    };

    (void)failing_malloc_only_ours();
    return mpi_test_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
