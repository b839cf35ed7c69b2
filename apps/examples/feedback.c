/* SPDX-License-Identifier: BSD-3-Clause */
/* Feedback-guided balancing of synthetic loads on simulated ranks: the steps until each rule stops, and the smallest
 * load difference on the way. One process, no MPI: 4096 ranks take milliseconds. */
#include <equipoise/more/base.h>
#include <equipoise/more/methods.h>

#include <stdio.h>
#include <stdlib.h>

enum { ITERATIONS = 500000, RISING = 1, SINE = 3 };

static const struct {
    int function, procs;
    enum eqp_feedback_rule rule;
} run[] = {{RISING, 2, EQP_FEEDBACK_PAPER},   {RISING, 8, EQP_FEEDBACK_PAPER},    {RISING, 64, EQP_FEEDBACK_PAPER},
           {RISING, 512, EQP_FEEDBACK_PAPER}, {RISING, 4096, EQP_FEEDBACK_PAPER}, {SINE, 8, EQP_FEEDBACK_PAPER},
           {SINE, 8, EQP_FEEDBACK_GUARDED},   {SINE, 64, EQP_FEEDBACK_PAPER},     {SINE, 64, EQP_FEEDBACK_GUARDED}};

int main(void)
{
    eqp_feedback_options options = eqp_feedback_options_defaults();
    eqp_feedback_run result;
    int64_t *load = NULL;
    int code;

    EQP_TRY(eqp_array_create(&load, ITERATIONS, sizeof *load));
    printf("function\trule\tprocs\tsteps\tload_difference\n");
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        options.rule = run[i].rule;
        EQP_TRY(eqp_feedback_function(run[i].function, ITERATIONS, 1, load));
        EQP_TRY(eqp_feedback_simulate(ITERATIONS, load, run[i].procs, &options, NULL, NULL, &result));
        printf("%d\t%s\t%d\t%d\t%.3e\n", run[i].function, options.rule == EQP_FEEDBACK_PAPER ? "paper" : "guarded",
               run[i].procs, result.steps, result.load_difference);
    }
done:
    free(load);
    return code != EQP_OK;
}
