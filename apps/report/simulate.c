/* SPDX-License-Identifier: BSD-3-Clause */
#include "simulate.h"

#include "../shell/signals.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct running {
    const app_simulation *of;
    bool speaks; /* on rank 0, unless the run is quiet */
    int rank;
    app_record *record;
    app_run steps;
    app_comparison comparison;
} running;

static void say(const running *r, app_print_part part)
{
    if (r->speaks) {
        r->of->print(r->of->user, part);
    }
}

static int record_step(void *user, eqp_message *message)
{
    const running *r = user;

    EQP_CHECK(r->of->record_step(r->of->user, r->record, message));
    app_record_print(r->record);
    return EQP_OK;
}

/* Completes the files of the record and prints its note. */
static int finish(const running *r, eqp_message *message)
{
    eqp_message note = {""};
    const int code = r->of->record_finish(r->of->user, r->record, message, &note);

    if (code == EQP_OK && note.text[0] != '\0' && r->rank == 0) {
        fprintf(stderr, "%s\n", note.text);
    }
    return code;
}

static int take_steps(running *r, const char *restart, int *stopped, eqp_message *message)
{
    r->steps.program = r->of->program;
    r->steps.restart_path = restart;
    r->steps.settings = r->steps.settings != NULL ? r->steps.settings : r->of->run;
    r->steps.naming = r->of->naming;
    r->steps.user = r->of->user;
    r->steps.record = record_step;
    r->steps.recorder = r;
    say(r, APP_TITLE);
    EQP_CHECK(app_run_steps(&r->steps, stopped, message));
    EQP_CHECK(finish(r, message));
    say(r, APP_SUMMARY);
    app_record_print_error(r->record);
    return EQP_OK;
}

static int compare(running *r, eqp_message *message)
{
    int code = r->of->record_step(r->of->user, r->record, message);

    EQP_TRY(eqp_agree(r->steps.comm, code, message));
    EQP_TRY(app_compare(&r->comparison, r->record, message));
    app_signals_keep(); /* completes the present file */
    EQP_TRY(finish(r, message));
    if (r->speaks) {
        say(r, APP_COMPARED);
        printf("\n\n");
        EQP_TRY(app_compare_print(&r->comparison));
    }
done:
    if (code != EQP_OK && message->text[0] == '\0') {
        eqp_message_set(message, "%s: --compare: %s", r->of->program, eqp_error_text(code));
    }
    return code;
}

static int simulate(const app_simulation *of, MPI_Comm comm, const char *command, const char *restart, int *stopped,
                    eqp_message *message)
{
    const bool compares = of->run->ncompare > 0;
    running r = {.of = of, .comparison = {.program = of->program, .run = of->run}};
    int code = of->create(of->user, comm, compares, &r.steps, &r.comparison, message);

    if (code != EQP_OK) {
        return code;
    }
    MPI_Comm_rank(r.steps.comm, &r.rank);
    r.speaks = !of->run->quiet && r.rank == 0;
    r.comparison.comm = r.steps.comm;
    EQP_TRY(of->record_create(of->user, command, &r.record, message));
    say(&r, APP_NOTES);
    EQP_TRY(compares ? compare(&r, message) : take_steps(&r, restart, stopped, message));
    EQP_TRY(app_check_printed(of->program, message));
done:
    app_record_free(r.record);
    app_compare_free(&r.comparison);
    of->free(of->user);
    return code;
}

int app_simulate(const app_simulation *simulation, MPI_Comm comm, const char *command, int *stopped,
                 eqp_message *message)
{
    app_places places;
    int code = app_places_take(comm, simulation->program, simulation->run, simulation->naming, simulation->restart,
                               &places, message);

    if (code == EQP_OK) {
        code = simulate(simulation, comm, command, places.restart, stopped, message);
        app_places_free(&places);
    }
    return code;
}
