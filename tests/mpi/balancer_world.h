/* SPDX-License-Identifier: BSD-3-Clause */
/* Balancers of tests: options by words, owners on a line, runs with late maps. Include after harness.h. */
#ifndef EQP_MPI_BALANCER_WORLD_H
#define EQP_MPI_BALANCER_WORLD_H

#include <equipoise/balancer.h>
#include <equipoise/more/lazy.h>

#include <stdbool.h>

static inline eqp_choice choice_of(const char *word)
{
    eqp_choice choice;

    CHECK_EQUAL(eqp_choice_parse(NULL, NULL, word, &choice, NULL), EQP_OK);
    return choice;
}

static inline eqp_balancer_options options_of(const char *method)
{
    eqp_balancer_options options;

    CHECK_EQUAL(eqp_balancer_options_init(&options, sizeof options), EQP_OK);
    options.method = choice_of(method);
    return options;
}

static inline eqp_balancer_options options_every(const char *method, int64_t every)
{
    eqp_balancer_options options = options_of(method);

    options.calibrate = false;
    options.policy.mode = EQP_POLICY_EVERY;
    options.policy.every = every;
    return options;
}

static inline eqp_balancer *balancer_of(MPI_Comm comm, const eqp_problem *problem, const eqp_balancer_options *options)
{
    eqp_balancer *balancer = NULL;

    CHECK_EQUAL(eqp_balancer_create(comm, problem, options, &balancer, NULL), EQP_OK);
    return balancer;
}

/* An owner at a place of the line, at home on this rank, which computes it. */
static inline eqp_owner owner_at(int rank, int64_t at_home, int64_t place, int64_t work)
{
    return (eqp_owner){.key = (uint64_t)place << 30,
                       .id = place,
                       .pin = place,
                       .particles = 1,
                       .home = rank,
                       .at_home = at_home,
                       .bytes = 8,
                       .tag = rank,
                       .centre = {(double)place, 0, 0},
                       .count = {work},
                       .interactions = 1};
}

/* An application whose maps are made late. */
typedef void application(MPI_Comm mine, eqp_lazy *lazy, const void *user);

/* Divides the ranks by words of eqp_lazy_options_parse(), with `choose` set or not, runs the application and serves it.
 * No run for more balancers than ranks. */
static inline void run_late_maps(MPI_Comm comm, const char *words, bool choose, const eqp_methods *own,
                                 application *run, const void *user)
{
    eqp_lazy_options options;
    MPI_Comm mine = MPI_COMM_NULL;
    eqp_lazy *lazy = NULL;
    bool lost = true;

    CHECK_EQUAL(eqp_lazy_options_parse(words, &options, NULL), EQP_OK);
    options.choose = choose;
    if (options.mode == EQP_LAZY_BY_RANKS && options.balancers >= mpi_test_size(comm)) {
        return;
    }
    CHECK_EQUAL(eqp_lazy_split(comm, &options, &mine, &lazy, NULL), EQP_OK);
    if (eqp_lazy_serves(lazy)) {
        CHECK_EQUAL(eqp_balancer_serve(lazy, own), EQP_OK);
    } else {
        run(mine, lazy, user);
    }
    CHECK_EQUAL(eqp_lazy_leave(&lazy, &lost), EQP_OK);
    CHECK(lazy == NULL && !lost);
    eqp_comm_free(&mine);
}

#endif
