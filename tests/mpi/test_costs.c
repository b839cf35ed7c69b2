/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of work and of messages, measured on all ranks. */
#include "harness.h"

#include "cost/costs.h"

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/random.h>

#include <math.h>

static void add_timings(MPI_Comm comm, const double real[3], eqp_timings *timings)
{
    int rank = mpi_test_rank(comm), size = mpi_test_size(comm);

    for (int i = rank; i < 40; i += size) {
        int64_t count[3];
        double seconds = 0;
        for (int k = 0; k < 3; k++) {
            count[k] = 1 + (int64_t)(eqp_random_bits(9, (uint64_t)i, (uint64_t)k) % 1000);
            seconds += real[k] * (double)count[k];
        }
        CHECK_EQUAL(eqp_timings_add(timings, count, seconds), EQP_OK);
    }
}

MPI_TEST(costs_are_learnt_from_all_ranks)
{
    /* Estimates are biased towards the nominal proportions, which the real costs have. */
    static const double nominal[3] = {1, 4, 25}, real[3] = {2e-7, 8e-7, 5e-6};
    eqp_timings *timings = NULL;
    eqp_costs costs;
    double correlation = 7;

    CHECK_EQUAL(eqp_timings_create(3, &timings), EQP_OK);
    CHECK_EQUAL(eqp__costs_init(&costs, 3, nominal), EQP_OK);
    CHECK_EQUAL(eqp__costs_init(&costs, EQP_COST_KINDS + 1, nominal), EQP_ERR_ARGUMENT);
    CHECK_EQUAL(eqp__costs_init(&costs, 3, nominal), EQP_OK);
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK(!costs.known && costs.fit.cost[2] == 25 && correlation == 0);
    add_timings(comm, real, timings);
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK(costs.known && costs.fit.rmse < 1e-6);
    CHECK_NEAR(correlation, 1, 0.2); /* by the nominal costs */
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK_NEAR(correlation, 1, 1e-12);
    eqp_timings_clear(timings);
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK_EQUAL(correlation, 0); /* no timings again */
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(costs.fit.cost[k], real[k], 1e-6 * real[k]);
    }
    const int64_t some[3] = {10, 0, 1};
    CHECK_NEAR(eqp__costs_predict(&costs, some), 7e-6, 1e-10);
    eqp_timings_free(timings);
}

MPI_TEST(wrong_nominal_costs_hardly_count_where_samples_tell)
{
    static const double nominal[3] = {1, 1, 1}, real[3] = {2e-7, 8e-7, 3e-6};
    eqp_timings *timings = NULL;
    eqp_costs costs;
    double correlation;

    CHECK_EQUAL(eqp_timings_create(3, &timings), EQP_OK);
    CHECK_EQUAL(eqp__costs_init(&costs, 3, nominal), EQP_OK);
    add_timings(comm, real, timings);
    CHECK_EQUAL(eqp__costs_learn(&costs, comm, timings, &correlation), EQP_OK);
    CHECK(costs.known && costs.fit.rmse < 0.05);
    for (int k = 1; k < 3; k++) {
        CHECK_NEAR(costs.fit.cost[k], real[k], 0.1 * real[k]);
    }
    eqp_timings_free(timings);
}

/* All ranks take the same numbers; one rank alone has nothing to measure. */
MPI_TEST(a_network_is_measured_alike_on_all_ranks)
{
    const eqp_network usual = EQP_NETWORK_DEFAULTS;
    eqp_network network = {.alpha = usual.alpha, .beta = usual.beta, .node = 3};
    double least[5], most[5];

    CHECK_EQUAL(eqp_network_measure(comm, &network), EQP_OK);
    CHECK_EQUAL(network.node, 3);
    if (mpi_test_size(comm) == 1) {
        CHECK(network.alpha == usual.alpha && network.beta == usual.beta);
        return;
    }
    CHECK(isfinite(network.alpha) && network.alpha >= 0 && isfinite(network.beta) && network.beta >= 0);
    CHECK(network.alpha + network.beta > 0 && network.reduce > 0 && network.gather > 0 && network.gather_byte >= 0);
    const double mine[] = {network.alpha, network.beta, network.reduce, network.gather, network.gather_byte};
    MPI_Allreduce(mine, least, 5, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(mine, most, 5, MPI_DOUBLE, MPI_MAX, comm);
    for (int k = 0; k < 5; k++) {
        CHECK(least[k] == most[k]);
    }
}
