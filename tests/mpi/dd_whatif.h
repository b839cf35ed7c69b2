/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings and ranks of the what-ifs' tests. To be included once in a program, after failures.h. */
#ifndef DD_WHATIF_H
#define DD_WHATIF_H

#include "meet.h"
#include "run/run.h"
#include "simulation.h"

#include <stdio.h>
#include <string.h>

static inline const eqp_cost_fit *nominal_costs(void)
{
    static eqp_costs costs;

    CHECK(eqp__costs_init(&costs, DD_KINDS, dd_kind_nominal) == EQP_OK, "no costs");
    return &costs.fit;
}

/* A made-up network by a method; extra: further options, in one string. */
static inline void parse(dd_settings *settings, const char *method, const char *extra)
{
    static char words[256];
    char *argv[32] = {"test", "--generate", "chains:n=6,box=6000,maxseg=500", "--balance", (char *)method};
    eqp_message message = {""};
    app_action action;
    int argc = 5, code;

    *settings = (dd_settings){.ctrl = NULL};
    snprintf(words, sizeof words, "%s", extra);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    code = app_options_parse(dd_settings_table(), argc, argv, settings, settings->given, &action, &message);
    if (code == EQP_OK) {
        code = dd_settings_complete(settings, &message);
    }
    CHECK(code == EQP_OK, "%s", message.text);
}

/* The first `size` ranks of the world in reverse order; MPI_COMM_NULL on the others. */
static inline MPI_Comm reversed(int size)
{
    int rank;
    MPI_Comm comm;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    meet();
    MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, -rank, &comm);
    return comm;
}

#endif
