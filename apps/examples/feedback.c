/* SPDX-License-Identifier: BSD-3-Clause */
/* Feedback-guided balancing of synthetic loads on simulated ranks: the steps until each rule stops, and the smallest
 * load difference on the way. One process, no MPI: 4096 ranks take milliseconds. Returns nonzero where a row of the
 * paper's table differs. */
#include <equipoise/more/base.h>
#include <equipoise/more/methods.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITERATIONS = 500000, RISING = 1, SINE = 3 };

/* The paper's results for the load that rises with the iteration. */
static const struct {
    int procs, steps;
    double difference;
} published[] = {{2, 9, 1.519e-6},   {8, 7, 1.894e-6},   {16, 5, 3.618e-6},   {32, 5, 2.107e-6},  {64, 4, 2.661e-6},
                 {128, 3, 2.843e-6}, {256, 3, 3.249e-6}, {1024, 2, 3.557e-6}, {4096, 2, 3.844e-6}};
static const int few[] = {8, 16, 32, 64};

static int simulate(int function, enum eqp_feedback_rule rule, int procs, const int64_t *load, eqp_feedback_run *run)
{
    eqp_feedback_options options = eqp_feedback_options_defaults();
    int code;

    options.rule = rule;
    EQP_TRY(eqp_feedback_simulate(ITERATIONS, load, procs, &options, NULL, NULL, run));
    printf("%d\t%s\t%d\t%d\t%.3e\n", function, rule == EQP_FEEDBACK_PAPER ? "paper" : "guarded", procs, run->steps,
           run->load_difference);
done:
    return code;
}

int main(void)
{
    int64_t *load = NULL;
    eqp_feedback_run run;
    int code, wrong = 0;

    EQP_TRY(eqp_array_create(&load, ITERATIONS, sizeof *load));
    EQP_TRY(eqp_feedback_function(RISING, ITERATIONS, 1, load));
    printf("function\trule\tprocs\tsteps\tload_difference\n");
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        EQP_TRY(simulate(RISING, EQP_FEEDBACK_PAPER, published[i].procs, load, &run));
        wrong += run.steps != published[i].steps;
        wrong += fabs(run.load_difference - published[i].difference) > 5e-10;
    }
    EQP_TRY(eqp_feedback_function(SINE, ITERATIONS, 1, load));
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        EQP_TRY(simulate(SINE, EQP_FEEDBACK_PAPER, few[i], load, &run));
        EQP_TRY(simulate(SINE, EQP_FEEDBACK_GUARDED, few[i], load, &run));
    }
done:
    free(load);
    return code != EQP_OK || wrong > 0;
}
