/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs of a loop's iterations from a file, and the loop itself: by every method each iteration is computed once. */
#include "fuzz.h"

#include "loop_costs.h"

#include <equipoise/schedule.h>

#include <math.h>

enum { RANKS = 3, MOST = 300 };

typedef struct computed {
    int64_t n, of;
    bool seen[MOST];
} computed;

static void take(void *user, const eqp_schedule_event *event)
{
    computed *done = user;

    for (int64_t i = 0; event->kind == EQP_SCHEDULE_DONE && i < event->chunk.count; i++) {
        const int64_t iteration = event->chunk.first + i;

        fuzz_require(iteration >= 0 && iteration < done->of && !done->seen[iteration]);
        done->seen[iteration] = true;
        done->n++;
    }
}

static void simulate(const eqp_schedule_method *method, int64_t n, const double *cost)
{
    eqp_schedule_machine machine = EQP_SCHEDULE_MACHINE_DEFAULTS;
    eqp_schedule_outcome outcome = {.chunks = -7};
    eqp_schedule *schedule = NULL;
    computed done = {.of = n};
    int code;

    machine.event = take;
    machine.user = &done;
    fuzz_require(eqp_schedule_create(method, n, RANKS, NULL, &schedule) == EQP_OK);
    code = eqp_schedule_simulate(schedule, cost, &machine, &outcome);
    if (code == EQP_OK) {
        fuzz_require(done.n == n && outcome.chunks >= (n > 0) && outcome.chunks <= n);
        fuzz_require(isfinite(outcome.makespan) && outcome.makespan >= outcome.mean && outcome.mean >= 0);
    } else {
        fuzz_require(code == EQP_ERR_DATA && done.n == 0 && outcome.chunks == -7);
    }
    eqp_schedule_free(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("costs");
    eqp_message message = {""};
    double *cost = NULL;
    int64_t n = -7;
    int code;

    fuzz_save(path, data, size);
    code = loop_costs_read(path, &n, &cost, &message);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_FORMAT && n == -7 && cost == NULL);
        fuzz_require_line(&message);
        fuzz_require(strncmp(message.text, path, strlen(path)) == 0);
        return 0;
    }
    fuzz_require(n >= 0 && (size_t)n <= size);
    for (int64_t i = 0; i < n; i++) {
        fuzz_require(isfinite(cost[i]) && cost[i] >= 0);
    }
    for (int m = 0; m < eqp_schedule_method_count() && n <= MOST; m++) {
        simulate(eqp_schedule_method_at(m), n, cost);
    }
    free(cost);
    return 0;
}
