/* SPDX-License-Identifier: BSD-3-Clause */
/* equipoise-plot: the plots of several runs side by side. */
#include "plot.h"

#include <equipoise/more/base.h>
#include <equipoise/version.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_BAD_INPUT 2
#define EXIT_TROUBLE 1

static const char help[] =
    "Usage: equipoise-plot OUTDIR LABEL=LOADS.CSV...\n"
    "Draws the load of each rank and the imbalance over the steps of one or several runs into OUTDIR: loads.png,\n"
    "loads.svg, imbalance.png, imbalance.svg; and plots.gp, from which gnuplot draws them again. LOADS.CSV is what\n"
    "barneshut --report writes; LABEL is the name of the run in the legend.\n"
    "\n"
    "Options:\n"
    "  --version                   print the version and stop\n"
    "  --help                      print this text and stop; also -h\n";

static int refuse(const char *argument, const char *why)
{
    eqp_message message;

    eqp_message_set(&message, "equipoise-plot: %.100s%s", argument, why);
    (void)fprintf(stderr, "%s\n", message.text);
    return EXIT_BAD_INPUT;
}

/* Cuts LABEL=LOADS.CSV in two, in place. 0 or the exit status. */
static int read_series(int n, char **argument, app_plot_series *series)
{
    for (int i = 0; i < n; i++) {
        char *equals = strchr(argument[i], '=');

        if (!equals || equals == argument[i] || !equals[1]) {
            return refuse(argument[i], ": not of the form LABEL=LOADS.CSV");
        }
        *equals = '\0';
        series[i] = (app_plot_series){argument[i], equals + 1};
        for (int k = 0; k < i; k++) {
            if (strcmp(series[k].label, series[i].label) == 0) {
                return refuse(argument[i], ": two runs have this label");
            }
        }
    }
    return 0;
}

static int draw(const char *dir, int n, const app_plot_series *series)
{
    eqp_message message = {""};
    int code;

    EQP_TRY(app_plot_loads(dir, n, series, &message));
    return 0;
done:
    (void)fprintf(stderr, "equipoise-plot: %s\n", message.text[0] ? message.text : eqp_error_text(code));
    /* Plots are a help, not a result: without gnuplot there are none, and that is no failure. */
    return code == EQP_ERR_UNKNOWN ? 0 : code == EQP_ERR_MEMORY ? EXIT_TROUBLE : EXIT_BAD_INPUT;
}

/* argument [n]: what is left of the command line */
static int program(int n, char **argument)
{
    app_plot_series *series;
    int status;

    if (n < 2) {
        return refuse("", n < 1 ? "OUTDIR is missing; try --help" : "LABEL=LOADS.CSV is missing; try --help");
    }
    if (!*argument[0]) {
        return refuse("", "OUTDIR is empty");
    }
    if (eqp_array_create(&series, n - 1, sizeof *series)) {
        (void)fprintf(stderr, "equipoise-plot: %s\n", eqp_error_text(EQP_ERR_MEMORY));
        return EXIT_TROUBLE;
    }
    status = read_series(n - 1, argument + 1, series);
    status = status ? status : draw(argument[0], n - 1, series);
    free(series);
    return status;
}

int main(int argc, char **argv)
{
    int first = 1;

    /* A file that may not grow is an error like others. */
    (void)signal(SIGXFSZ, SIG_IGN);
    for (; first < argc && argv[first][0] == '-'; first++) {
        if (strcmp(argv[first], "--") == 0) {
            first++;
            break;
        }
        if (strcmp(argv[first], "--help") == 0 || strcmp(argv[first], "-h") == 0) {
            (void)fputs(help, stdout);
            return 0;
        }
        if (strcmp(argv[first], "--version") == 0) {
            (void)printf("equipoise-plot %s\n", eqp_version());
            return 0;
        }
        return refuse(argv[first], ": no such option; try --help");
    }
    return program(argc - first, argv + first);
}
