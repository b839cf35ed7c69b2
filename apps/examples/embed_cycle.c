/* SPDX-License-Identifier: BSD-3-Clause */
/* A step of two kernels, each of which all ranks end together: pairs of all items, then reactions of the burning ones.
 * One number for each item cannot express that: ranks that are even in the sum wait in both kernels. Seconds follow
 * from counts here, so that the example says the same everywhere. usage: embed_cycle [METHOD] */
#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 6000, STEPS = 10, PAIRS = 0, REACTIONS = 1, KERNELS = 2 };

static const double cost[KERNELS] = {1e-7, 4e-7}; /* seconds of one of each */

/* An item that lives on a rank: its place along a line, and the rank that computes it by the map. */
typedef struct thing {
    int64_t place, tag;
} thing;

static int rank, size, to[N];
static thing *item;
static int64_t n; /* items that live here */

/* An item's share of a kernel's work. */
static int64_t work_of(int64_t i, int kernel)
{
    const bool burns = i > N / 2 && i < N / 2 + N / 10;

    return kernel == PAIRS ? 20 + i % 7 : burns ? 30 : 0;
}

/* Both kernels come once in a step, which is a cycle of them. */
static int cycle(void *user, eqp_cycle_turns *phases)
{
    (void)user;
    *phases = (eqp_cycle_turns){KERNELS, {1.0, 1.0}};
    return EQP_OK;
}

/* An item's work of each kind in the whole step, and what of it is each kernel's. */
static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    int code = EQP_OK;

    (void)user;
    for (int64_t i = 0; i < n; i++) {
        eqp_owner owner = {
            .pin = -1, .home = rank, .at_home = i, .tag = item[i].tag, .particles = 1, .interactions = 1};
        double load[KERNELS];
        owner.key = (uint64_t)item[i].place << 40;
        owner.bytes = sizeof *item;
        for (int k = 0; k < KERNELS; k++) {
            int64_t alone[KERNELS] = {0};
            owner.count[k] = alone[k] = work_of(item[i].place, k);
            load[k] = eqp_survey_weigh(list, alone);
        }
        EQP_TRY(kind == EQP_SURVEY_WORK ? eqp_survey_add_phases(list, load) : EQP_OK);
        EQP_TRY(eqp_survey_add_owner(list, &owner));
    }
done:
    return code;
}

static int follow(const eqp_advice *advice)
{
    thing *old = item;
    int code;

    for (int64_t i = 0; i < n; i++) {
        item[i].tag = advice->placement[i].tag;
        to[i] = advice->placement[i].home;
    }
    EQP_TRY(eqp_send_records(MPI_COMM_WORLD, sizeof *item, n, to, old, &n, &item));
    free(old);
done:
    return code;
}

/* Items go to who computes them in a kernel, which is where they live unless the map says otherwise; their results
 * would come back in the same way. *work: what is done here. */
static int compute(const eqp_map *map, int kernel, int64_t *work)
{
    thing *here = NULL;
    int64_t nhere = 0;
    int code;

    for (int64_t i = 0; i < n; i++) {
        to[i] = eqp_map_own_rank(map, eqp_map_tag_in(map, item[i].tag, kernel));
    }
    EQP_TRY(eqp_send_records(MPI_COMM_WORLD, sizeof *item, n, to, item, &nhere, &here));
    for (int64_t i = 0; i < nhere; i++) {
        *work += work_of(here[i].place, kernel);
    }
done:
    free(here);
    return code;
}

/* Both kernels, and what each of them was. */
static int step(eqp_balancer *balancer, int64_t left, eqp_step *now)
{
    eqp_advice advice = {.changed = false};
    int64_t count[KERNELS] = {0}, of_kernel[KERNELS][KERNELS] = {{0}};
    double load[KERNELS];
    eqp_rank_row row = {.particles = (double)n, .balance_seconds = 1e-4};
    int code;

    EQP_TRY(eqp_balancer_advise(balancer, left, &advice, NULL));
    EQP_TRY(advice.changed ? follow(&advice) : EQP_OK);
    for (int k = 0; k < KERNELS; k++) {
        EQP_TRY(compute(eqp_balancer_map(balancer), k, &of_kernel[k][k]));
        count[k] = of_kernel[k][k];
        load[k] = cost[k] * (double)count[k];
        row.load += load[k];
    }
    const eqp_work work = {
        .row = &row, .count = count, .nphases = KERNELS, .phase_load = load, .phase_count = &of_kernel[0][0]};
    EQP_TRY(eqp_balancer_record(balancer, &work, now));
done:
    return code;
}

static int run(const char *method)
{
    const eqp_problem problem = {.nkinds = KERNELS, .nominal = cost, .survey = survey, .cycle = cycle, .apart = true};
    eqp_balancer_options options;
    eqp_balancer *balancer = NULL;
    eqp_message message = {""};
    eqp_step now = {.step = 0};
    int code;

    EQP_TRY(eqp_array_create(&item, N, sizeof *item));
    for (int64_t i = rank; i < N; i += size) {
        item[n++] = (thing){i, rank};
    }
    EQP_TRY(eqp_balancer_options_init(&options, sizeof options));
    EQP_TRY(eqp_choice_parse(NULL, NULL, method, &options.method, &message));
    EQP_TRY(eqp_balancer_create(MPI_COMM_WORLD, &problem, &options, &balancer, &message));
    for (int64_t s = 0; s < STEPS; s++) {
        EQP_TRY(step(balancer, STEPS - s, &now));
    }
    if (rank == 0) {
        printf("%s: pairs uneven by %.1f%%, reactions by %.1f%%: %.1f%% of the step is work\n", method,
               100 * now.phase_measured[PAIRS], 100 * now.phase_measured[REACTIONS], 100 * now.cycle_efficiency);
    }
    const bool even = strcmp(method, "levelled") == 0 || strcmp(method, "sfc:maps=phase") == 0;
    EQP_TRY(!even || now.cycle_efficiency > 0.95 ? EQP_OK : EQP_ERR_INTERNAL);
done:
    if (code != EQP_OK && rank == 0) {
        fprintf(stderr, "embed_cycle: %s\n", message.text[0] != '\0' ? message.text : eqp_error_text(code));
    }
    eqp_balancer_free(balancer);
    free(item);
    return code;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int code = run(argc > 1 ? argv[1] : "levelled");
    MPI_Finalize();
    return code != EQP_OK;
}
