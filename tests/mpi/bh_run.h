/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of a gravity run, and values of all particles on every rank. */
#ifndef BH_RUN_H
#define BH_RUN_H

#include "failures.h"

#include "simulation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values of all ranks by the particles' index. */
static double *by_index(const bh_simulation *sim, const double *value)
{
    double *all = calloc((size_t)sim->input.total, sizeof *all);

    for (int64_t i = 0; i < sim->domain.particles.n; i++) {
        all[sim->domain.particles.index[i]] = value[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, all, (int)sim->input.total, MPI_DOUBLE, MPI_SUM, sim->comm);
    return all;
}

/* extra: more options, separated by blanks. In double precision: in mixed precision shared groups differ by a rounding
 * of 1e-7, and cells near the opening criterion then differ, too. */
static void parse(bh_settings *settings, const char *input, const char *method, const char *extra)
{
    static char words[128];
    char *argv[20] = {"test",  "--generate", (char *)input, "--balance",   (char *)method, "--rebalance",
                      "never", "--steps",    "10",          "--precision", "double"};
    eqp_message message = {""};
    app_action action;
    int argc = 11;

    snprintf(words, sizeof words, "%s", extra == NULL ? "" : extra);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    int code = app_options_parse(bh_settings_table(), argc, argv, settings, NULL, &action, &message);

    if (code == EQP_OK) {
        code = bh_settings_complete(settings, &message);
    }
    CHECK(code == EQP_OK, "%s", message.text);
}

#endif
