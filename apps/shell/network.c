/* SPDX-License-Identifier: BSD-3-Clause */

#include "options.h"
#include "run_settings.h"

#include <equipoise/balancer.h>
#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot_read(const char *path, const char *reason, eqp_message *message)
{
    eqp_message_set(message, "%s: cannot be read: %s", path, reason);
    return EQP_ERR_IO;
}

/* Text of a small regular file, with a terminating zero. */
static int read_text(const char *path, char text[APP_NETWORK_BYTES + 1], eqp_message *message)
{
    FILE *file = NULL;
    size_t n;
    bool broken;
    EQP_CHECK(eqp_input_open(path, &file, message));
    n = fread(text, 1, APP_NETWORK_BYTES + 1, file);
    broken = ferror(file) != 0;
    (void)fclose(file);
    if (broken || n > APP_NETWORK_BYTES) {
        return cannot_read(path, broken ? "the disk does not give it" : "is too long to describe a network", message);
    }
    text[n] = '\0';
    if (strlen(text) < n) {
        return cannot_read(path, "is no text", message);
    }
    return EQP_OK;
}

/* Joins lines that are neither empty nor comments by commas, as on the command line. */
static void join_lines(char *text)
{
    char *to = text;

    for (char *line = text, *end; *line != '\0'; line = end) {
        line += strspn(line, " \t\r\n");
        end = line + strcspn(line, "\n");
        size_t length = (size_t)(end - line);
        while (length > 0 && strchr(" \t\r", line[length - 1]) != NULL) {
            length--;
        }
        if (length > 0 && *line != '#') {
            if (to > text) {
                *to++ = ',';
            }
            memmove(to, line, length);
            to += length;
        }
    }
    *to = '\0';
}

static void take_costs(app_keyed *keyed, eqp_network *network)
{
    app_keyed_real(keyed, "alpha", 0, false, INFINITY, &network->alpha);
    app_keyed_real(keyed, "beta", 0, false, INFINITY, &network->beta);
    app_keyed_real(keyed, "reduce", 0, false, INFINITY, &network->reduce);
    app_keyed_real(keyed, "gather", 0, false, INFINITY, &network->gather);
    app_keyed_real(keyed, "gather_byte", 0, false, INFINITY, &network->gather_byte);
}

static void take_node(app_keyed *keyed, eqp_network *network)
{
    int64_t node = network->node;

    app_keyed_int(keyed, "node", 1, APP_MOST_PARTS, &node);
    network->node = (int)node;
}

static int read_file(const char *path, eqp_network *network, eqp_message *message)
{
    char text[APP_NETWORK_BYTES + 1];
    eqp_message inner = {""};
    app_keyed keyed;
    int code;

    EQP_TRY(read_text(path, text, message));
    join_lines(text);
    code = app_keyed_parse(text, &keyed, &inner);
    if (code == EQP_OK && keyed.kind[0] != '\0') {
        app_keyed_free(&keyed);
        eqp_message_set(&inner, "'%.100s' is not key=value", text);
        code = EQP_ERR_ARGUMENT;
    } else if (code == EQP_OK) {
        take_costs(&keyed, network);
        take_node(&keyed, network);
        code = app_keyed_end(&keyed, &inner);
    }
    if (code != EQP_OK) {
        eqp_message_set(message, "%s: %s", path, inner.text[0] != '\0' ? inner.text : eqp_error_text(code));
    }
done:
    return code;
}

int app_network_parse(const char *text, app_network_choice *choice, eqp_message *message)
{
    app_network_choice made = {.network = EQP_NETWORK_DEFAULTS};
    const char *file = NULL;
    app_keyed keyed;
    int code = app_keyed_parse(text, &keyed, message);

    if (code != EQP_OK) {
        return code;
    }
    made.measure = strcmp(keyed.kind, "measure") == 0;
    if (made.measure) {
        app_keyed_text(&keyed, "file", &file);
    } else {
        file = keyed.kind[0] != '\0' ? keyed.kind : NULL;
        code = file != NULL ? read_file(file, &made.network, message) : EQP_OK;
        take_costs(&keyed, &made.network);
    }
    made.file = file != NULL && code == EQP_OK ? strdup(file) : NULL;
    code = file != NULL && code == EQP_OK && made.file == NULL ? EQP_ERR_MEMORY : code;
    take_node(&keyed, &made.network);
    if (code == EQP_OK) {
        code = app_keyed_end(&keyed, message);
    } else {
        app_keyed_free(&keyed);
    }
    if (code == EQP_OK) {
        *choice = made;
    } else {
        app_network_free(&made);
    }
    return code;
}

static int write_file(const char *path, int nranks, const eqp_network *network, eqp_message *message)
{
    eqp_network older = EQP_NETWORK_DEFAULTS;
    eqp_output *output = NULL;
    eqp_message inner;

    APP_REFUSE_IF(access(path, F_OK) == 0 && read_file(path, &older, &inner) != EQP_OK, message, EQP_ERR_IO,
                  "%s: is there already and describes no network", path);
    EQP_CHECK(eqp_output_create(path, &output, message));
    fprintf(eqp_output_stream(output),
            "# seconds, measured between %d ranks: of a message and its bytes, of a level of a reduction and of an\n"
            "# allgather and the bytes that it brings; ranks that share memory: as told\n"
            "alpha=%.6g\nbeta=%.6g\nreduce=%.6g\ngather=%.6g\ngather_byte=%.6g\nnode=%d\n",
            nranks, network->alpha, network->beta, network->reduce, network->gather, network->gather_byte,
            network->node);
    return eqp_output_commit(output, message);
}

int app_network_measure(MPI_Comm comm, app_network_choice *choice, eqp_message *message)
{
    int rank, nranks, code = EQP_OK;

    if (!choice->measure) {
        return EQP_OK;
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    EQP_TRY(eqp_network_measure(comm, &choice->network));
    if (rank == 0 && choice->file != NULL) {
        code = write_file(choice->file, nranks, &choice->network, message);
    }
    EQP_TRY(eqp_agree(comm, code, message));
    choice->measure = false;
done:
    return code;
}

void app_network_free(app_network_choice *choice)
{
    free(choice->file);
    choice->file = NULL;
}
