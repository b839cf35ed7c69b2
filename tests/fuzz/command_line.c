/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line.h"

#include <math.h>

int fuzz_lines(const uint8_t *data, size_t size, char **text, char *line[FUZZ_LINES])
{
    char *at = malloc(size + 1);
    const char *end = at + size;
    int n = 0;

    fuzz_require(at);
    memcpy(at, data, size);
    at[size] = '\0';
    *text = at;
    while (n < FUZZ_LINES && at < end) {
        line[n++] = at;
        at += strcspn(at, "\n");
        *at++ = '\0';
    }
    return n;
}

void fuzz_require_parsed(const app_run_settings *run)
{
    fuzz_require(run->steps >= 0 && run->seed >= 0 && run->output_every >= 0);
    fuzz_require(isfinite(run->dt) && run->dt >= 0);
    fuzz_require(run->imbalance_tol >= 0 && run->imbalance_tol <= 100 && run->sample_rate >= 0 &&
                 run->sample_rate <= 1);
    fuzz_require(isfinite(run->sample_threshold) && run->sample_threshold >= 1.25);
}

void fuzz_require_complete(const app_run_settings *run)
{
    fuzz_require((run->snapshot != NULL) + (run->generate != NULL) + (run->restart != NULL) == 1);
    fuzz_require(run->method != NULL);
    fuzz_require((run->ncompare > 0) == (run->nparts_list > 0));
    for (int i = 0; i < run->nparts_list; i++) {
        fuzz_require(run->parts[i] >= 1 && run->parts[i] <= APP_MOST_PARTS);
        fuzz_require(i == 0 || run->parts[i - 1] < run->parts[i]);
    }
    for (int i = 0; i < run->ncompare; i++) {
        fuzz_require(run->compare[i].method != NULL);
    }
    const eqp_network *network = &run->network.network;
    fuzz_require(isfinite(network->alpha) && network->alpha >= 0 && isfinite(network->beta) && network->beta >= 0 &&
                 network->node >= 1);
}

void fuzz_command_line(const app_command_line *table, int nlines, char *const line[], void (*complete)(void *values))
{
    char *argv[FUZZ_LINES + 2] = {(char *)(uintptr_t)table->program};
    const size_t size = table->values_size, length = strlen(table->program);
    unsigned char *values = malloc(size);
    app_action action = APP_HELP;
    eqp_message message = {""};
    int code;

    fuzz_require(values);
    memset(values, 0x5a, size);
    memcpy(argv + 1, line, (size_t)nlines * sizeof *argv);
    code = app_options_parse(table, nlines + 1, argv, values, &action, &message);
    if (code != EQP_OK) {
        fuzz_require(code == EQP_ERR_ARGUMENT);
        for (size_t i = 0; i < size; i++) {
            fuzz_require(values[i] == 0x5a);
        }
        fuzz_require(strncmp(message.text, table->program, length) == 0 && message.text[length] == ':');
        fuzz_require_line(&message);
    } else if (action == APP_RUN) {
        complete(values);
    }
    free(values);
}
