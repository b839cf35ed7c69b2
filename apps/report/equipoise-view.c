/* SPDX-License-Identifier: BSD-3-Clause */
/* equipoise-view: one page of one or several runs. */
#include "page/page.h"

#include <equipoise/more/base.h>
#include <equipoise/version.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_BAD_INPUT 2
#define EXIT_TROUBLE 1

static const char help[] = "Usage: equipoise-view RUN... -o FILE.html\n"
                           "Makes one HTML page of runs, side by side: particles or segments in space by the rank that "
                           "computes them, what each\n"
                           "rank did in each step, imbalance, who sends to whom, and compared methods. The page loads "
                           "nothing from elsewhere.\n"
                           "RUN is a folder that --report has written, or LABEL=FOLDER.\n"
                           "\n"
                           "Options:\n"
                           "  -o, --output FILE.html      the page\n"
                           "  --version                   print the version and stop\n"
                           "  -h, --help                  print this text and stop\n";

static int refuse(const char *argument, const char *why)
{
    eqp_message message;

    eqp_message_set(&message, "equipoise-view: %.100s%s", argument, why);
    (void)fprintf(stderr, "%s\n", message.text);
    return EXIT_BAD_INPUT;
}

static int write_page(const char *path, int n, const app_page_run *run)
{
    eqp_message message = {""};
    int code;

    EQP_TRY(app_page_write(path, n, run, &message));
    return 0;
done:
    (void)fprintf(stderr, "equipoise-view: %s\n", message.text[0] ? message.text : eqp_error_text(code));
    return code == EQP_ERR_MEMORY ? EXIT_TROUBLE : EXIT_BAD_INPUT;
}

/* Splits LABEL=FOLDER in place; after a slash `=` belongs to the folder's name. */
static app_page_run read_run(char *argument)
{
    char *equals = strchr(argument, '='), *slash = strchr(argument, '/');

    if (equals == NULL || equals == argument || equals[1] == '\0' || (slash != NULL && slash < equals)) {
        return (app_page_run){NULL, argument};
    }
    *equals = '\0';
    return (app_page_run){argument, equals + 1};
}

static bool is_either(const char *argument, const char *word, const char *letter)
{
    return strcmp(argument, word) == 0 || strcmp(argument, letter) == 0;
}

/* run: room for argc runs. Returns an exit status; -1: continue with the arguments read. */
static int read_arguments(int argc, char **argv, app_page_run *run, int *n, const char **path)
{
    bool options = true;

    for (int i = 1; i < argc; i++) {
        if (!options || argv[i][0] != '-') {
            if (argv[i][0] == '\0') {
                return refuse("", "RUN is empty");
            }
            run[(*n)++] = read_run(argv[i]);
        } else if (strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (is_either(argv[i], "--help", "-h")) {
            (void)fputs(help, stdout);
            return 0;
        } else if (strcmp(argv[i], "--version") == 0) {
            (void)printf("equipoise-view %s\n", eqp_version());
            return 0;
        } else if (is_either(argv[i], "--output", "-o") && i + 1 < argc) {
            *path = argv[++i];
        } else if (strncmp(argv[i], "--output=", 9) == 0) {
            *path = argv[i] + 9;
        } else {
            return refuse(argv[i], is_either(argv[i], "--output", "-o") ? ": FILE.html is missing"
                                                                        : ": no such option; try --help");
        }
    }
    return *n == 0                               ? refuse("", "RUN is missing; try --help")
           : *path == NULL || (*path)[0] == '\0' ? refuse("", "-o FILE.html is missing; try --help")
                                                 : -1;
}

int main(int argc, char **argv)
{
    app_page_run *run = NULL;
    const char *path = NULL;
    int n = 0, status;

    /* Makes a file beyond a size limit an error instead of a signal. */
    (void)signal(SIGXFSZ, SIG_IGN);
    if (eqp_array_create(&run, argc, sizeof *run)) {
        (void)fprintf(stderr, "equipoise-view: %s\n", eqp_error_text(EQP_ERR_MEMORY));
        return EXIT_TROUBLE;
    }
    status = read_arguments(argc, argv, run, &n, &path);
    status = status < 0 ? write_page(path, n, run) : status;
    free(run);
    return status;
}
