/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop of 15,120 iterations on 16 simulated ranks, one iteration in five, in the middle, 24 times as expensive:
 * chunks and seconds of virtual time by every method of schedule.h. One process, no MPI. */
#include <equipoise/more/loops.h>
#include <equipoise/more/random.h>

#include <inttypes.h>
#include <stdio.h>

enum { N = 15120, RANKS = 16 };

static void make_costs(double cost[N])
{
    double sum = 0;

    for (int i = 0; i < N; i++) {
        const double place = (i + 0.5) / N;
        cost[i] = (place >= 0.4 && place < 0.6 ? 24 : 1) * (0.5 + eqp_random_uniform(1, (uint64_t)i, 0));
        sum += cost[i];
    }
    for (int i = 0; i < N; i++) {
        cost[i] *= 1e-3 * N / sum; /* a millisecond on average */
    }
}

static int simulate(const eqp_schedule_method *method, bool yield, const double cost[N])
{
    eqp_schedule_machine machine = EQP_SCHEDULE_MACHINE_DEFAULTS;
    eqp_schedule_options options = eqp_schedule_options_defaults();
    eqp_schedule *schedule = NULL;
    eqp_schedule_outcome outcome;
    int code;

    machine.yield = yield;
    options.overhead = 2.5e-6;  /* of a chunk: at the counter, and two messages */
    options.deviation = 1.7e-3; /* of an iteration */
    EQP_TRY(eqp_schedule_create(method, N, RANKS, &options, &schedule));
    EQP_TRY(eqp_schedule_simulate(schedule, cost, &machine, &outcome));
    printf("%s\t%s\t%" PRId64 "\t%.4f\t%.3f\t%.2e\n", method->name, yield ? "yes" : "no", outcome.chunks,
           outcome.makespan, outcome.cost, outcome.cov);
done:
    eqp_schedule_free(schedule);
    return code;
}

int main(void)
{
    static double cost[N];
    int code;

    make_costs(cost);
    printf("method\tyield\tchunks\tmakespan\tcost\tcov\n");
    for (int i = 0; i < eqp_schedule_method_count(); i++) {
        EQP_TRY(simulate(eqp_schedule_method_at(i), false, cost));
    }
    code = simulate(eqp_schedule_method_find("static"), true, cost);
done:
    return code != EQP_OK;
}
