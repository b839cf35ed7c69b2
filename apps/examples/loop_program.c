/* SPDX-License-Identifier: BSD-3-Clause */
#include "loop_program.h"

#include <equipoise/par.h>
#include <equipoise/schedule.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAD_INPUT = 2, TROUBLE = 1 };

int loop_program_check_method(const char *name, eqp_message *message)
{
    if (eqp_schedule_method_find(name)) {
        return EQP_OK;
    }
    eqp_message_set(message, "--method: '%.40s' is no method; `loop --method help` lists them", name);
    return EQP_ERR_UNKNOWN;
}

/* Messages of the command line begin with the program's name, others do not. */
static int refuse(const char *name, int rank, int code, const eqp_message *message)
{
    const size_t length = strlen(name);
    const bool named = strncmp(message->text, name, length) == 0 && message->text[length] == ':';

    if (rank == 0) {
        fprintf(stderr, "%s%s%s\n", named ? "" : name, named ? "" : ": ",
                message->text[0] ? message->text : eqp_error_text(code));
    }
    return code == EQP_ERR_ARGUMENT || code == EQP_ERR_UNKNOWN || code == EQP_ERR_IO ? BAD_INPUT : TROUBLE;
}

static int run(const loop_program *program, MPI_Comm world, eqp_message *message)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int code = eqp_comm_create(world, &comm);

    code = code ? code : program->run(comm, program->settings, message);
    eqp_comm_free(&comm);
    if (!code && (fflush(stdout) != 0 || ferror(stdout))) {
        eqp_message_set(message, "standard output cannot be written");
        code = EQP_ERR_IO;
    }
    return code;
}

int loop_program_main(const loop_program *program, MPI_Comm world, int argc, char **argv)
{
    const char *name = program->line->program;
    app_action action = APP_RUN;
    eqp_message message = {""};
    char *text = NULL;
    int rank, code;

    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        fprintf(stderr, "%s: MPI cannot start\n", name);
        return TROUBLE;
    }
    MPI_Comm_rank(world, &rank);
    code = app_options_parse(program->line, argc, argv, program->settings, NULL, &action, &message);
    if (!code && action == APP_RUN) {
        code = run(program, world, &message);
    } else if (!code && action == APP_HELP) {
        code = app_options_help(program->line, &text);
    }
    if (!code && rank == 0 && action == APP_HELP) {
        fputs(text, stdout);
    } else if (!code && rank == 0 && action == APP_VERSION) {
        printf("%s %s\n", name, eqp_version());
    }
    free(text);
    code = code ? refuse(name, rank, code, &message) : 0;
    MPI_Finalize();
    return code;
}
