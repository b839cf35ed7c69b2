/* SPDX-License-Identifier: BSD-3-Clause */
/* Items that are computed on a device of each rank, emulated here: a launch takes a while, few items take as long as
 * `wide` ones, and devices differ. So no constant speed describes one, nor do CPU seconds, of which a rank uses none.
 * The balancer is told the device's seconds, and learns what each takes for how many items. Returns nonzero where
 * devices are uneven in the end. */
#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/models.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 24000, STEPS = 30 };

typedef struct device {
    double launch; /* seconds */
    double rate;   /* items in a second, when it is full */
    double wide;   /* items that fill it */
    double now;    /* seconds that it has worked: in a program, by events on its queue */
} device;

static device device_of(int rank)
{
    return (device){.launch = 1e-3 * (1 + rank % 2), .rate = 1e6 * (1 + rank % 3), .wide = 500.0 * (1 + rank % 2)};
}

/* In a program: kernels are queued between two events, and the queue is waited for. */
static void device_run(device *d, int64_t items)
{
    d->now += items > 0 ? d->launch + fmax((double)items, d->wide) / d->rate : 0.0;
}

static double device_seconds(void *user)
{
    return ((const device *)user)->now;
}

static int rank, size, to[N];
static int64_t *item, n; /* [n] numbers of the items that live here */

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    int code = EQP_OK;

    (void)user;
    (void)kind;
    for (int64_t i = 0; i < n; i++) {
        eqp_owner owner = {.id = item[i], .pin = -1, .home = rank, .at_home = i, .tag = rank, .count = {1}};
        owner.key = (uint64_t)item[i];
        owner.bytes = sizeof *item;
        owner.particles = 1;
        owner.interactions = 1;
        EQP_TRY(eqp_survey_add_owner(list, &owner));
    }
done:
    return code;
}

static int follow(const eqp_advice *advice)
{
    int64_t *old = item;
    int code;

    for (int64_t i = 0; i < n; i++) {
        to[i] = advice->placement[i].home;
    }
    EQP_TRY(eqp_send_records(MPI_COMM_WORLD, sizeof *item, n, to, old, &n, &item));
    free(old);
done:
    return code;
}

static int step(eqp_balancer *balancer, const eqp_clock *clock, int64_t left, eqp_step *now)
{
    eqp_advice advice = {.changed = false};
    eqp_rank_row row = {.particles = (double)n};
    int code;

    EQP_TRY(eqp_balancer_advise(balancer, left, &advice, NULL));
    EQP_TRY(advice.changed ? follow(&advice) : EQP_OK);
    const double begin = clock->seconds(clock->user);
    device_run(clock->user, n);
    row.load = clock->seconds(clock->user) - begin;
    row.balance_seconds = advice.changed ? 1e-3 : 0.0;
    EQP_TRY(eqp_balancer_record(balancer, &(eqp_work){.row = &row, .count = &n}, now));
    if (rank == 0 && now->rebalanced) {
        printf("map: slowest device %.2f ms, mean %.2f ms\n", 1e3 * now->load_max, 1e3 * now->load_mean);
    }
done:
    return code;
}

static int run(void)
{
    const eqp_problem problem = {.survey = survey};
    device mine = device_of(rank);
    const eqp_clock clock = {device_seconds, &mine};
    eqp_balancer_options options;
    eqp_balancer *balancer = NULL;
    eqp_step now = {.step = 0};
    int code;

    EQP_TRY(eqp_array_create(&item, N, sizeof *item));
    for (int64_t i = rank; i < N; i += size) {
        item[n++] = i;
    }
    EQP_TRY(eqp_balancer_options_init(&options, sizeof options));
    EQP_TRY(eqp_choice_parse(NULL, NULL, "sfc", &options.method, NULL));
    options.share = (eqp_share_options){.kind = EQP_SHARE_MODEL, .model = eqp_speeds_model(EQP_SPEEDS_AKIMA)};
    EQP_TRY(eqp_balancer_create(MPI_COMM_WORLD, &problem, &options, &balancer, NULL));
    for (int64_t s = 0; s < STEPS; s++) {
        EQP_TRY(step(balancer, &clock, STEPS - s, &now));
    }
    code = now.imbalance_measured < 0.1 ? EQP_OK : EQP_ERR_INTERNAL;
done:
    eqp_balancer_free(balancer);
    free(item);
    return code;
}

int main(int argc, char **argv)
{
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    code = run();
    MPI_Finalize();
    return code != EQP_OK;
}
