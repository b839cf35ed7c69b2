/* SPDX-License-Identifier: BSD-3-Clause */
/* What the balancer costs in steps before which no map is due, as CSV: eqp_balancer_advise() and
 * eqp_balancer_record() of steps whose loads are even, with two kinds of work and one timed batch per rank and step.
 *
 *   mpirun -n 8 --oversubscribe --bind-to none build/bench/bench_balancer [OWNERS [STEPS]]
 *
 * Arguments: owners of all ranks (100000), steps (2000). The first map, by `sfc`, is not timed. Each row is a policy
 * (`--rebalance`); they take turns, so that both share the machine's moods. Times are microseconds of one step: medians
 * over blocks of 50 steps. cpu_us: CPU time of the rank that needs most; cpu_mean_us: of the mean rank; wall_us: of the
 * clock; ranks that wait for each other burn CPU time too. allreduce_us: cpu_us of a bare MPI_Allreduce of eight bytes,
 * for comparison. */
#include "timing.h"

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 50   /* steps */
#define WARM_UP 20 /* steps, in which maps may be made: the costs are not known yet */
#define LOAD 0.1   /* seconds of each rank in each step */

/* Seconds of one interaction of each kind. */
static const double cost[2] = {1e-8, 7e-8};

typedef struct variant {
    const char *rebalance;
    int rank;
    int64_t n, step;
    int *home; /* [n] */
    eqp_balancer *balancer;
    eqp_timings *timings;
    bench_times cpu, wall;
} variant;

static variant variants[] = {{.rebalance = "never"}, {.rebalance = "auto"}};

#define VARIANTS ((int)(sizeof variants / sizeof variants[0]))

static void check(int code, const char *what)
{
    if (code != EQP_OK) {
        fprintf(stderr, "bench_balancer: %s: %s\n", what, eqp_error_text(code));
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

/* Owners on a line, all alike. */
static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const variant *v = user;
    const int64_t work = kind == EQP_SURVEY_WORK ? 100 : 0;
    int64_t at_home = 0;
    int code = EQP_OK;

    for (int64_t i = 0; i < v->n && code == EQP_OK; i++) {
        const eqp_owner owner = {.key = (uint64_t)i << 30,
                                 .id = i,
                                 .pin = i,
                                 .particles = 1,
                                 .home = v->rank,
                                 .at_home = at_home,
                                 .bytes = 64,
                                 .tag = v->rank,
                                 .centre = {(double)i, 0, 0},
                                 .count = {work, work / 10},
                                 .interactions = 1};
        if (v->home[i] == v->rank) {
            code = eqp_survey_add_owner(list, &owner);
            at_home++;
        }
    }
    return code;
}

static void start(variant *v, int64_t n)
{
    const eqp_problem problem = {.user = v, .nkinds = 2, .survey = survey};
    eqp_balancer_options options;
    int nranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &v->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    v->n = n;
    check(eqp_array_create(&v->home, n, sizeof *v->home), "owners");
    for (int64_t i = 0; i < n; i++) {
        v->home[i] = (int)(i * nranks / n);
    }
    check(eqp_timings_create(2, &v->timings), "timings");
    check(eqp_balancer_options_init(&options, sizeof options), "options");
    check(eqp_choice_parse(NULL, NULL, "sfc", &options.method, NULL), "method");
    check(eqp_policy_options_parse(v->rebalance, &options.policy), "policy");
    check(eqp_balancer_create(MPI_COMM_WORLD, &problem, &options, &v->balancer, NULL), "balancer");
}

/* Owners to where the advice says. */
static void move(variant *v, const eqp_advice *advice)
{
    int64_t at_home = 0;

    for (int64_t i = 0; i < v->n; i++) {
        v->home[i] = v->home[i] == v->rank ? advice->placement[at_home++].home : 0;
    }
    MPI_Allreduce(MPI_IN_PLACE, v->home, (int)v->n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A step; returns whether a map was looked for. */
static bool run_step(variant *v)
{
    const int64_t some = 100000 + 1000 * ((7 * v->step + 3 * v->rank) % 40); /* kinds in another mixture each time */
    const int64_t count[2] = {(int64_t)((LOAD - cost[1] * (double)some) / cost[0]), some};
    const double begin = eqp_cpu_seconds();
    eqp_rank_row row = {.load = LOAD, .interactions = (double)(count[0] + count[1])};
    const eqp_work work = {.row = &row, .count = count, .timings = v->timings};
    eqp_advice advice;
    eqp_step step;

    check(eqp_balancer_advise(v->balancer, 1000, &advice, NULL), "advice");
    if (advice.changed) {
        move(v, &advice);
    }
    row.balance_seconds = eqp_cpu_seconds_since(begin);
    check(eqp_timings_add(v->timings, count, LOAD), "timings");
    check(eqp_balancer_record(v->balancer, &work, &step), "record");
    v->step++;
    return advice.action != EQP_KEEP;
}

static void run_block(variant *v)
{
    bool renewed = false;

    MPI_Barrier(MPI_COMM_WORLD);
    const double cpu = eqp_cpu_seconds(), wall = eqp_wall_seconds();
    for (int s = 0; s < BLOCK; s++) {
        renewed = run_step(v) || renewed;
    }
    bench_times_add(&v->cpu, eqp_cpu_seconds_since(cpu) / BLOCK);
    bench_times_add(&v->wall, (eqp_wall_seconds() - wall) / BLOCK);
    check(renewed ? EQP_ERR_STATE : EQP_OK, "a map was due");
}

static void run_allreduces(bench_times *times)
{
    int64_t one = 1, all;

    MPI_Barrier(MPI_COMM_WORLD);
    const double cpu = eqp_cpu_seconds();
    for (int s = 0; s < BLOCK; s++) {
        MPI_Allreduce(&one, &all, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    }
    bench_times_add(times, eqp_cpu_seconds_since(cpu) / BLOCK);
}

static double most_us(const bench_times *times)
{
    const double mine = 1e6 * bench_median(times);
    double most = 0.0;

    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static double mean_us(const bench_times *times, int nranks)
{
    const double mine = 1e6 * bench_median(times);
    double sum = 0.0;

    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum / nranks;
}

int main(int argc, char **argv)
{
    const long owners = argc > 1 ? atol(argv[1]) : 100000, steps = argc > 2 ? atol(argv[2]) : 2000;
    bench_times bare = {0};
    int rank, nranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    if (owners < 1 || owners > 100000000 || steps < BLOCK || steps > (long)BLOCK * BENCH_MOST_TIMES) {
        bench_die("bench_balancer", "give a number of owners and of steps, 50 to 12800");
    }
    for (int i = 0; i < VARIANTS; i++) {
        start(&variants[i], owners);
        for (int s = 0; s < WARM_UP; s++) {
            (void)run_step(&variants[i]);
        }
        check(eqp_balancer_knows_costs(variants[i].balancer) ? EQP_OK : EQP_ERR_STATE, "no costs");
    }
    for (long s = 0; s < steps; s += BLOCK) {
        for (int i = 0; i < VARIANTS; i++) {
            run_block(&variants[i]);
        }
        run_allreduces(&bare);
    }
    const double allreduce = most_us(&bare);
    if (rank == 0) {
        printf("rebalance,ranks,owners,steps,cpu_us,cpu_mean_us,wall_us,allreduce_us\n");
    }
    for (int i = 0; i < VARIANTS; i++) {
        variant *v = &variants[i];
        const double cpu = most_us(&v->cpu), mean = mean_us(&v->cpu, nranks), wall = most_us(&v->wall);
        if (rank == 0) {
            printf("%s,%d,%ld,%ld,%.2f,%.2f,%.2f,%.2f\n", v->rebalance, nranks, owners, steps, cpu, mean, wall,
                   allreduce);
        }
        eqp_balancer_free(v->balancer);
        eqp_timings_free(v->timings);
        free(v->home);
    }
    MPI_Finalize();
    return 0;
}
