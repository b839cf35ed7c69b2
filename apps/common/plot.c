/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT "plots.gp"

/* environ has no header of its own in POSIX. */
extern char **environ;

/* The size of a plot and what both of them share; the runs follow as two arrays. */
static const char script_head[] =
    "# Draws loads.png, loads.svg, imbalance.png and imbalance.svg: gnuplot " SCRIPT ", inside this folder.\n"
    "set datafile separator comma\n"
    "set datafile columnheaders\n"
    "set datafile missing NaN\n"
    "set key noenhanced outside top center horizontal\n"
    "set grid ytics linecolor rgb '#dddddd'\n"
    "set border 3\n"
    "set tics nomirror out\n"
    "set style fill solid 0.85 noborder\n"
    "array color[6] = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00']\n";

/* A step's rows come rank by rank, so a running peak and total give its imbalance at the last rank. */
static const char script_tail[] =
    "array last[n]\n"
    "array ranks[n]\n"
    "most = 0\n"
    "mean = 0.0\n"
    "do for [i=1:n] {\n"
    "    stats file[i] using (column('step')) nooutput\n"
    "    last[i] = STATS_max\n"
    "    stats file[i] using (column('rank')) nooutput\n"
    "    ranks[i] = STATS_max + 1\n"
    "    most = ranks[i] > most ? ranks[i] : most\n"
    "    stats file[i] using (column('step') == last[i] ? column('load') : NaN) nooutput\n"
    "    mean = mean + STATS_sum / ranks[i] / n\n"
    "}\n"
    "peak = 0.0\n"
    "total = 0.0\n"
    "imbalance(rank, load, count) = (peak = rank == 0 ? load : (load > peak ? load : peak), \\\n"
    "    total = rank == 0 ? load : total + load, \\\n"
    "    rank == count - 1 ? (total > 0 ? 100 * (peak * count / total - 1) : 0) : NaN)\n"
    "width = 0.8 / n\n"
    "do for [kind in 'png svg'] {\n"
    "    if (kind eq 'svg') {\n"
    "        set terminal svg size 900,500 dynamic background rgb 'white'\n"
    "    } else {\n"
    "        if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) { set terminal pngcairo size 900,500 } \\\n"
    "        else { set terminal png size 900,500 }\n"
    "    }\n"
    "    set output 'loads.' . kind\n"
    "    set xlabel 'rank'\n"
    "    set ylabel 'load in the last step (CPU seconds)'\n"
    "    set xrange [-0.6:most - 0.4]\n"
    "    set yrange [0:*]\n"
    "    set xtics autofreq\n"
    "    if (most <= 32) { set xtics 1 }\n"
    "    set boxwidth width absolute\n"
    "    plot for [i=1:n] file[i] \\\n"
    "        using (column('rank') + (i - (n + 1) / 2.0) * width):(column('step') == last[i] ? column('load') : NaN) "
    "\\\n"
    "        with boxes linecolor rgb color[(i - 1) % 6 + 1] title label[i], \\\n"
    "        mean with lines linecolor rgb '#444444' dashtype 2 title 'mean'\n"
    "    set output 'imbalance.' . kind\n"
    "    set xlabel 'step'\n"
    "    set ylabel 'imbalance (max / mean - 1) in %'\n"
    "    set xrange [*:*]\n"
    "    set xtics autofreq\n"
    "    plot for [i=1:n] file[i] \\\n"
    "        using (column('step')):(imbalance(column('rank'), column('load'), ranks[i])) \\\n"
    "        with linespoints pointtype 7 pointsize 0.5 linewidth 1.5 linecolor rgb color[(i - 1) % 6 + 1] title "
    "label[i]\n"
    "    unset output\n"
    "}\n";

/* A gnuplot string in single quotes, in which only the quote itself is special. */
static void put_quoted(FILE *stream, const char *text)
{
    (void)fputc('\'', stream);
    for (; *text; text++) {
        if (*text == '\'') {
            (void)fputc('\'', stream);
        }
        (void)fputc(*text == '\n' ? ' ' : *text, stream);
    }
    (void)fputc('\'', stream);
}

/* The path of a file as seen from inside dir. */
static void put_path(FILE *stream, const char *dir, const char *path)
{
    size_t length = strlen(dir);
    char here[4096], whole[8192];

    while (length > 1 && dir[length - 1] == '/') {
        length--;
    }
    if (strncmp(path, dir, length) == 0 && path[length] == '/') {
        path += length;
        path += strspn(path, "/");
    } else if (path[0] != '/' && getcwd(here, sizeof here)) {
        (void)snprintf(whole, sizeof whole, "%s/%s", here, path);
        path = whole;
    }
    put_quoted(stream, path);
}

static int write_script(const char *dir, int n, const app_plot_series *series, eqp_message *message)
{
    size_t size = strlen(dir) + sizeof "/" SCRIPT;
    char *path = malloc(size);
    FILE *stream;
    int broken;

    if (!path) {
        return EQP_ERR_MEMORY;
    }
    (void)snprintf(path, size, "%s/%s", dir, SCRIPT);
    stream = fopen(path, "w");
    if (!stream) {
        eqp_message_set(message, "%s: cannot write: %s", path, strerror(errno));
        free(path);
        return EQP_ERR_IO;
    }
    (void)fprintf(stream, "%sn = %d\narray label[n] = [", script_head, n);
    for (int i = 0; i < n; i++) {
        (void)fputs(i > 0 ? ", " : "", stream);
        put_quoted(stream, series[i].label);
    }
    (void)fputs("]\narray file[n] = [", stream);
    for (int i = 0; i < n; i++) {
        (void)fputs(i > 0 ? ", " : "", stream);
        put_path(stream, dir, series[i].loads);
    }
    (void)fprintf(stream, "]\n%s", script_tail);
    broken = ferror(stream);
    if (fclose(stream) || broken) {
        eqp_message_set(message, "%s: cannot write: %s", path, strerror(errno));
        free(path);
        return EQP_ERR_IO;
    }
    free(path);
    return EQP_OK;
}

/* cd 'dir'; load 'plots.gp' */
static char *make_command(const char *dir)
{
    char *command = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&command, &size);

    if (!stream) {
        return NULL;
    }
    (void)fputs("cd ", stream);
    put_quoted(stream, dir);
    (void)fputs("; load '" SCRIPT "'", stream);
    if (fclose(stream)) {
        free(command);
        return NULL;
    }
    return command;
}

/* Starts gnuplot without a terminal of ours and waits. -1: it is not there; otherwise its exit status. */
static int run_gnuplot(char *command)
{
    char name[] = "gnuplot", option[] = "-e";
    char *const argv[] = {name, option, command, NULL};
    posix_spawn_file_actions_t actions;
    int status = 0, started;
    pid_t child;

    if (posix_spawn_file_actions_init(&actions)) {
        return 1;
    }
    started = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
              posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
              posix_spawnp(&child, "gnuplot", &actions, NULL, argv, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    if (!started) {
        return -1;
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return 1;
        }
    }
    /* 127 is how a system tells that its child could not be started after all. */
    return !WIFEXITED(status) ? 1 : WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

int app_plot_loads(const char *dir, int n, const app_plot_series *series, eqp_message *message)
{
    char *command;
    int code, status;

    if (n < 1) {
        return EQP_ERR_ARGUMENT;
    }
    code = write_script(dir, n, series, message);
    if (code) {
        return code;
    }
    command = make_command(dir);
    if (!command) {
        return EQP_ERR_MEMORY;
    }
    status = run_gnuplot(command);
    free(command);
    if (status < 0) {
        eqp_message_set(message, "no plots: gnuplot is not installed; it draws them from %s/%s", dir, SCRIPT);
        return EQP_ERR_UNKNOWN;
    }
    if (status > 0) {
        eqp_message_set(message, "no plots: gnuplot cannot draw %s/%s", dir, SCRIPT);
        return EQP_ERR_IO;
    }
    return EQP_OK;
}
