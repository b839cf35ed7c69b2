/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact evaluation: a code says, message by message, what a map would make of its step. Its cells lie on a grid; each
 * needs its four neighbours, and gives back what it has computed for two of them, which no pins can say. */
#include <equipoise/balancer.h>
#include <equipoise/more/curve.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 32, CELLS = M * M, PHASES = 2, BYTES = 640, PARTS = 64 };

/* Positions go out, forces come back. */
static const int back[PHASES] = {0, 1}, ghosts[PHASES] = {1, 0};

static int rank, size;

/* This rank's cells: a stretch of rows. */
static int first_cell(int r)
{
    return r * M / size * M;
}

/* Neighbours 0 and 1 come after a cell, which computes the pairs with these; 2 and 3 come before it. */
static int64_t neighbour(int64_t cell, int k)
{
    const int64_t step[4] = {1, M, CELLS - 1, CELLS - M};
    return (cell + step[k]) % CELLS;
}

/* A hill of work in the middle. */
static int64_t work_of(int64_t cell)
{
    const int64_t x = cell % M - M / 2, y = cell / M - M / 2;
    return 100 + 4000 / (4 + x * x + y * y);
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const double corner[3] = {0, 0, 0}, z = 0.0;
    int code = EQP_OK;

    (void)user;
    for (int64_t c = first_cell(rank); c < first_cell(rank + 1); c++) {
        eqp_owner owner = {.id = c, .pin = c, .home = rank, .tag = rank, .count = {work_of(c)}, .interactions = 5};
        owner.at_home = c - first_cell(rank);
        owner.centre[0] = (double)(c % M);
        owner.centre[1] = (double)c / M;
        owner.particles = 10;
        owner.bytes = BYTES;
        EQP_TRY(eqp_hilbert_keys(1, &owner.centre[0], &owner.centre[1], &z, corner, M, &owner.key));
        for (int k = 0; k < 2 && kind == EQP_SURVEY_WORK; k++) {
            EQP_TRY(eqp_survey_add_pin(list, neighbour(c, k)));
        }
        EQP_TRY(eqp_survey_add_owner(list, &owner));
    }
done:
    return code;
}

/* Whole cells only: who computes a cell is who it lives with. */
static int trace(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    const eqp_cost_fit *costs = eqp_balancer_costs(*(eqp_balancer *const *)user);
    int code = EQP_OK;

    (void)nparts;
    (void)map;
    for (int64_t c = first_cell(rank); c < first_cell(rank + 1); c++) {
        const int part = placement[c - first_cell(rank)].home;
        EQP_TRY(eqp_evaluation_load(evaluation, part, eqp_cost_fit_predict(costs, &(int64_t){work_of(c)})));
        for (int phase = 0; phase < PHASES && !loads_only; phase++) {
            EQP_TRY(eqp_evaluation_block(evaluation, phase, c, BYTES, 10, part));
            for (int k = 0; k < 2; k++) {
                EQP_TRY(eqp_evaluation_need(evaluation, phase, neighbour(c, k), part));
            }
        }
    }
done:
    return code;
}

/* One row of a comparison; traced: exactly, else by the pins of the survey. */
static int evaluate(bool traced, eqp_compared *row)
{
    const int64_t parts = PARTS;
    eqp_balancer *balancer = NULL;
    eqp_compared *rows = NULL;
    eqp_balancer_options options;
    const eqp_problem problem = {.user = &balancer,
                                 .nphases = PHASES,
                                 .back = back,
                                 .ghosts = ghosts,
                                 .survey = survey,
                                 .trace = traced ? trace : NULL};
    const eqp_comparison wanted = {.nchoices = 1, .choice = &options.method, .ncounts = 1, .parts = &parts};
    int code;

    EQP_TRY(eqp_balancer_options_init(&options, sizeof options));
    EQP_TRY(eqp_choice_parse(NULL, NULL, "sfc", &options.method, NULL));
    EQP_TRY(eqp_balancer_create(MPI_COMM_WORLD, &problem, &options, &balancer, NULL));
    EQP_TRY(eqp_balancer_compare(balancer, &wanted, &rows, NULL));
    *row = rows[0];
done:
    free(rows);
    eqp_balancer_free(balancer);
    return code;
}

int main(int argc, char **argv)
{
    eqp_compared exact, pins;
    int code;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EQP_TRY(evaluate(true, &exact));
    EQP_TRY(evaluate(false, &pins));
    if (rank == 0) {
        printf("exact: imbalance %.1f%%, %lld bytes; by pins: %.1f%%, %lld bytes\n", 100 * exact.evaluated.imbalance,
               (long long)exact.evaluated.bytes_total, 100 * pins.evaluated.imbalance,
               (long long)pins.evaluated.bytes_total);
    }
    /* The pins know what goes out, and the same comes back. */
    if (exact.evaluated.load_max != pins.evaluated.load_max ||
        exact.evaluated.bytes_total != 2 * pins.evaluated.bytes_total ||
        exact.evaluated.ghosts_total != pins.evaluated.ghosts_total) {
        code = EQP_ERR_INTERNAL;
    }
done:
    MPI_Finalize();
    return code != EQP_OK;
}
