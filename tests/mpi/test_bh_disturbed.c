/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals in the middle of a step, and clocks that go back. */
#include "fake_clock.h"
#include "bh_run.h"
#include "meet.h"

#include "files/output.h"
#include "signals.h"

#include <signal.h>
#include <unistd.h>

/* Raises a signal in the first forces after a tick, when they read the clock; forces go on when all ranks know of it.
 */
static struct {
    const bh_simulation *sim;
    int64_t tick;
    bool began; /* between steps the tick is that of the end */
    bool raised;
} alarm_clock;

static void raise_signal(void)
{
    alarm_clock.began = alarm_clock.began || alarm_clock.sim->tick <= alarm_clock.tick;
    if (alarm_clock.began && alarm_clock.sim->tick > alarm_clock.tick && !alarm_clock.raised) {
        alarm_clock.raised = true;
        (void)raise(SIGTERM);
        while (app_signals_stop() == EQP_OK) {
        }
    }
}

/* One rank gets a signal in the second step's forces, the first ones after that tick, those of tick `stop`: all stop,
 * and the run that goes on has the bits of one that was never stopped. drifted: with a tree that has drifted. Few
 * particles are active then, so every rank gets the signal. */
static void check_stopped_within_a_step(const char *opening, int64_t tick, int64_t stop, bool drifted)
{
    bh_settings settings;
    bh_simulation whole, part, rest;
    eqp_message message = {""};
    char path[64], extra[96];
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "stopped-%d-%d-%s.hdf5", size, (int)tick, strrchr(opening, '-') + 1);
    snprintf(extra, sizeof extra, "%s --group-size=16", opening); /* the last rank has several groups */
    parse(&settings, "disks:n=800", "sfc", extra);
    CHECK(bh_simulation_create(MPI_COMM_WORLD, &settings, &whole, &message) == EQP_OK, "%s", message.text);
    CHECK(bh_simulation_create(MPI_COMM_WORLD, &settings, &part, &message) == EQP_OK, "%s", message.text);
    for (int i = 0; i < 2; i++) {
        CHECK(bh_simulation_step(&whole, &message) == EQP_OK, "%s", message.text);
    }
    CHECK(bh_simulation_step(&part, &message) == EQP_OK, "%s", message.text);
    CHECK(app_signals_install() == EQP_OK, "signals");
    app_signals_share(MPI_COMM_WORLD);
    alarm_clock.sim = &part;
    alarm_clock.tick = tick;
    alarm_clock.began = tick == 0; /* no forces in between */
    alarm_clock.raised = false;
    fake_clock_hook = drifted || rank == size - 1 ? raise_signal : NULL;
    CHECK(bh_simulation_step(&part, &message) == EQP_ERR_STOPPED, "%s: a step goes on after a signal", opening);
    fake_clock_hook = NULL;
    CHECK(app_signals_pending() == SIGTERM, "%s: a rank does not know of the signal", opening);
    app_signals_restore();
    CHECK(part.now.common.step == 2 && part.kick == 0.5 * part.dt && part.tick > tick,
          "%s: step %lld, kick %g, tick %lld", opening, (long long)part.now.common.step, part.kick,
          (long long)part.tick);
    CHECK(part.tick == stop && part.domain.drifted == drifted, "%s: stopped at tick %lld", opening,
          (long long)part.tick);
    CHECK(bh_output_snapshot(&part, path, &message) == EQP_OK, "%s", message.text);
    settings.run.generate = NULL;
    settings.run.restart = path;
    CHECK(bh_simulation_create(MPI_COMM_WORLD, &settings, &rest, &message) == EQP_OK, "%s", message.text);
    if (failures == 0) {
        const double *const is[] = {rest.domain.particles.x, rest.domain.particles.vx, rest.domain.particles.ax};
        const double *const was[] = {whole.domain.particles.x, whole.domain.particles.vx, whole.domain.particles.ax};
        CHECK(rest.now.common.step == 2 && rest.now.common.time == whole.now.common.time, "%s: goes on at step %lld",
              opening, (long long)rest.now.common.step);
        for (int f = 0; f < 3; f++) {
            double *a = by_index(&rest, is[f]), *b = by_index(&whole, was[f]);
            CHECK(memcmp(a, b, (size_t)whole.input.total * sizeof *a) == 0, "%s: field %d has other bits", opening, f);
            free(a);
            free(b);
        }
    }
    bh_simulation_free(&rest);
    bh_simulation_free(&part);
    bh_simulation_free(&whole);
    if (rank == 0) {
        (void)unlink(path);
    }
}

/* The clock of CPU time goes back now and then, differently on each rank: runs go on, and loads are not negative. */
static void check_clocks_that_go_back(void)
{
    static const char *const plan[][2] = {{"interaction", "--rebalance=auto --share=measured"},
                                          {"feedback", "--rebalance=1"},
                                          {"auto", "--rebalance=2"},
                                          {"sfc", "--schedule=adaptive-weighted-factoring"}};
    bh_settings settings;
    bh_simulation sim;
    eqp_message message = {""};
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof plan / sizeof plan[0]; i++) {
        int code;
        parse(&settings, "clusters:n=1000", plan[i][0], plan[i][1]);
        fake_clock_every = 2 + rank % 3;
        fake_clock_readings = 0;
        code = bh_simulation_create(MPI_COMM_WORLD, &settings, &sim, &message);
        CHECK(code == EQP_OK, "%s: %s", plan[i][0], message.text);
        for (int step = 0; step < 4 && code == EQP_OK; step++) {
            code = bh_simulation_step(&sim, &message);
            CHECK(code == EQP_OK, "%s: %s", plan[i][0], message.text);
            for (int r = 0; r < sim.domain.nranks; r++) {
                const eqp_rank_row *row = &sim.row[r].common;
                CHECK(row->load >= 0 && row->exchange_seconds >= 0 && row->balance_seconds >= 0, "%s: rank %d",
                      plan[i][0], r);
            }
        }
        CHECK(fake_clock_readings >= fake_clock_every, "%s: the clock is not read", plan[i][0]);
        if (code == EQP_OK) {
            bh_simulation_free(&sim);
        }
        fake_clock_every = 0;
    }
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_clocks_that_go_back();
    check_stopped_within_a_step("--opening=relative", 0, 1, false);
    check_stopped_within_a_step("--opening=geometric", 0, 1, false);
    check_stopped_within_a_step("--rungs=3 --eta=0.0005 --opening=relative", 1, 2, false);
    check_stopped_within_a_step("--rungs=3 --eta=0.0005 --opening=geometric", 1, 2, false);
    check_stopped_within_a_step("--rungs=3 --eta=0.0005 --opening=relative", 3, 4, false);
    check_stopped_within_a_step("--rungs=6 --eta=0.0005 --dt=0.01 --opening=relative", 4, 8, true);
    check_stopped_within_a_step("--rungs=6 --eta=0.0005 --dt=0.01 --opening=geometric", 20, 24, true);
    meet();
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d failures\n", failures);
    }
    MPI_Finalize();
    return failures != 0;
}
