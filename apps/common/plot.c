/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot.h"

#include <equipoise/report.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loads.h"
#include "signals.h"

#define SCRIPT "plots.gp"
#define MOST_SECONDS 30      /* for gnuplot: plots are a help, and a run must end */
#define LABEL_LENGTH 40      /* bytes; a longer name is cut in the legend */
#define MOST_BARS 256        /* more would be too thin to see: outlines instead */
#define LOWEST_IMBALANCE 0.1 /* per cent: 0 has no logarithm, and nobody needs better */

/* environ has no header of its own in POSIX. */
extern char **environ;

/* Okabe and Ito's colours, for every eye. */
enum {
    BLACK = 0x000000,
    ORANGE = 0xe69f00,
    SKY = 0x56b4e9,
    GREEN = 0x009e73,
    YELLOW = 0xf0e442,
    BLUE = 0x0072b2,
    VERMILION = 0xd55e00,
    PURPLE = 0xcc79a7
};
static const unsigned colors[] = {ORANGE, SKY, PURPLE, BLUE, GREEN, VERMILION, YELLOW, BLACK};

/* A method keeps its colour whatever it is compared with. */
static const struct {
    const char *label;
    unsigned color;
} methods[] = {{"none", BLACK}, {"count", VERMILION}, {"sfc", BLUE}, {"rcb", PURPLE}, {"interaction", GREEN}};

/* What is drawn, beside the files themselves. */
typedef struct plan {
    int n;
    const app_plot_series *series; /* [n] */
    app_loads *loads;              /* [n] */
    int ranks;                     /* of the run with most */
    int64_t first, last;           /* steps of all runs */
    double load;                   /* largest of all */
    double low, high;              /* ends of the axis of imbalance, per cent */
    bool same;                     /* all runs have as many particles, ranks and steps */
} plan;

static const char script_head[] =
    "# Draws loads.png, loads.svg, imbalance.png and imbalance.svg: gnuplot " SCRIPT ", inside this folder.\n"
    "set encoding utf8\n"
    "set datafile separator comma\n"
    "set datafile columnheaders\n"
    "set datafile missing NaN\n"
    "set key noenhanced outside bottom center horizontal Left reverse samplen 3 width -1\n"
    "set border 3 linecolor rgb '#404040'\n"
    "set tics nomirror out\n"
    "set grid ytics linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\n"
    "set style fill solid 0.9 noborder\n";

/* A step's rows come rank by rank, so a running peak and total give its imbalance at the last rank. */
static const char script_tail[] =
    "width = 0.8 / n\n"
    "center(i) = (i - (n + 1) / 2.0) * width\n"
    "set boxwidth width absolute\n"
    "peak = 0.0\n"
    "total = 0.0\n"
    "percent(rank, load, count) = (peak = rank == 0 || load > peak ? load : peak, \\\n"
    "    total = rank == 0 ? load : total + load, rank < count - 1 || total != total ? NaN : \\\n"
    "    total > 0 && peak * count / total - 1 > lowest / 100 ? 100 * (peak * count / total - 1) : lowest)\n"
    "number(name) = strcol(name) eq '' ? NaN : column(name)\n"
    "svg = \"set terminal svg size 960,600 font 'sans,14' linewidth 1.5 background rgb 'white'\"\n"
    "png = \"set terminal png size 1280,800 linewidth 2\"\n"
    "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
    "    png = \"set terminal pngcairo size 1280,800 font 'sans,17' linewidth 2 background rgb 'white'\"\n"
    "}\n"
    "do for [kind in 'png svg'] {\n"
    "    eval kind eq 'svg' ? svg : png\n"
    "    set output 'loads.' . kind\n"
    "    set title 'Load per rank: ' . caption noenhanced\n"
    "    set xlabel \"rank\\n \"\n"
    "    set ylabel 'load, sum of all steps [CPU s]'\n"
    "    set xrange [-0.6 - margin:ranks_most - 0.4 + margin]\n"
    "    unset logscale y\n"
    "    eval load_range\n"
    "    set ytics autofreq\n"
    "    set xtics autofreq\n"
    "    if (ranks_most <= 32) { set xtics 0, 1, ranks_most - 1 }\n"
    "    if (bars) {\n"
    "        plot for [i=1:n] file[i] using (column('rank') + center(i)):(column('load')) smooth frequency \\\n"
    "            with boxes linecolor rgb color[i] title label[i], \\\n"
    "            for [i=1:n] mean[i] with lines dashtype (10, 6) linecolor rgb dark[i] notitle, \\\n"
    "            NaN with lines dashtype (10, 6) linecolor rgb '#404040' title 'mean'\n"
    "    } else {\n"
    "        plot for [i=1:n] file[i] using (column('rank')):(column('load')) smooth frequency \\\n"
    "            with histeps linecolor rgb color[i] title label[i], \\\n"
    "            for [i=1:n] mean[i] with lines dashtype (10, 6) linecolor rgb dark[i] notitle, \\\n"
    "            NaN with lines dashtype (10, 6) linecolor rgb '#404040' title 'mean'\n"
    "    }\n"
    "    set output 'imbalance.' . kind\n"
    "    set title 'Imbalance: ' . caption noenhanced\n"
    "    set xlabel \"step\\n \"\n"
    "    set ylabel 'imbalance: max / mean - 1 [%]'\n"
    "    set xrange [step_first - alone:step_last + alone]\n"
    "    set yrange [percent_first:percent_last]\n"
    "    set logscale y\n"
    "    eval percent_tics\n"
    "    set xtics autofreq\n"
    "    if (step_last - step_first < 10) { set xtics step_first, 1, step_last }\n"
    "    plot for [i=1:n] file[i] \\\n"
    "        using (column('step')):(percent(column('rank'), column('load'), ranks[i])) \\\n"
    "        with linespoints pointtype 7 pointsize 0.6 linewidth 1.5 linecolor rgb color[i] title label[i], \\\n"
    "        for [k=1:npredicted] file[predicted[k]] \\\n"
    "        using (column('step')):(percent(column('rank'), number('predicted'), ranks[predicted[k]])) \\\n"
    "        with lines dashtype (8, 6) linecolor rgb color[predicted[k]] notitle, \\\n"
    "        NaN with linespoints pointtype 7 pointsize 0.6 linewidth 1.5 linecolor rgb '#404040' title 'measured', "
    "\\\n"
    "        NaN with lines dashtype (8, 6) linecolor rgb '#404040' title npredicted > 0 ? 'predicted' : ''\n"
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

/* A name for the legend: on one line, and of a length that leaves room for the plot. Names of one kind often differ at
 * the end only, so the middle goes. */
static void put_label(FILE *stream, const char *text)
{
    char label[LABEL_LENGTH + 4];
    size_t length = strlen(text), front = LABEL_LENGTH / 2, back = length - LABEL_LENGTH / 2;

    if (length <= LABEL_LENGTH) {
        (void)snprintf(label, sizeof label, "%s", text);
    } else {
        /* Not within a character of UTF-8. */
        while (front > 0 && ((unsigned char)text[front] & 0xc0) == 0x80) {
            front--;
        }
        while (back < length && ((unsigned char)text[back] & 0xc0) == 0x80) {
            back++;
        }
        (void)snprintf(label, sizeof label, "%.*s...%s", (int)front, text, text + back);
    }
    for (char *c = label; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            *c = '?';
        }
    }
    put_quoted(stream, label);
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

/* 1234567 as 1,234,567. */
static void put_grouped(FILE *stream, int64_t number)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)number);

    for (int i = 0; i < length; i++) {
        (void)fprintf(stream, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
    }
}

static void put_caption(FILE *stream, const plan *p)
{
    const app_loads *run = &p->loads[0];

    (void)fputs("caption = '", stream);
    if (!p->same) {
        (void)fputs("runs of different sizes'\n", stream);
        return;
    }
    if (run->particles >= 0) {
        put_grouped(stream, run->particles);
        (void)fputs(run->particles == 1 ? " particle, " : " particles, ", stream);
    }
    (void)fprintf(stream, "%d %s, step", run->ranks, run->ranks == 1 ? "rank" : "ranks");
    if (run->first == run->last) {
        (void)fprintf(stream, " %lld'\n", (long long)run->first);
    } else {
        (void)fprintf(stream, "s %lld to %lld'\n", (long long)run->first, (long long)run->last);
    }
}

/* The method of a label; -1: it is none. */
static int method_of(const char *label)
{
    for (int m = 0; m < (int)(sizeof methods / sizeof methods[0]); m++) {
        if (strcmp(label, methods[m].label) == 0) {
            return m;
        }
    }
    return -1;
}

static bool is_taken(const plan *p, unsigned color)
{
    for (int i = 0; i < p->n; i++) {
        int m = method_of(p->series[i].label);

        if (m >= 0 && methods[m].color == color) {
            return true;
        }
    }
    return false;
}

/* Labels that are no method share what the methods among the runs leave over, in turn. */
static unsigned color_of(const plan *p, int i)
{
    const int ncolors = (int)(sizeof colors / sizeof colors[0]);
    unsigned left[sizeof colors / sizeof colors[0]];
    int method = method_of(p->series[i].label), nleft = 0, place = 0;

    if (method >= 0) {
        return methods[method].color;
    }
    for (int c = 0; c < ncolors; c++) {
        if (!is_taken(p, colors[c])) {
            left[nleft++] = colors[c];
        }
    }
    for (int k = 0; k < i; k++) {
        place += method_of(p->series[k].label) < 0;
    }
    return left[place % nleft];
}

/* Two thirds as bright, to be seen on the colour itself. */
static unsigned darker(unsigned color)
{
    unsigned red = color >> 16, green = color >> 8 & 0xff, blue = color & 0xff;

    return (red * 2 / 3) << 16 | (green * 2 / 3) << 8 | blue * 2 / 3;
}

/* One run in a place of each array. */
static void put_run(FILE *stream, const char *dir, const plan *p, int i)
{
    const app_loads *run = &p->loads[i];
    unsigned color = color_of(p, i);

    (void)fprintf(stream, "label[%d] = ", i + 1);
    put_label(stream, p->series[i].label);
    (void)fprintf(stream, "\nfile[%d] = ", i + 1);
    put_path(stream, dir, p->series[i].loads);
    (void)fprintf(stream, "\ncolor[%d] = '#%06x'\ndark[%d] = '#%06x'\n", i + 1, color, i + 1, darker(color));
    (void)fprintf(stream, "ranks[%d] = %d\nmean[%d] = %.9g\n", i + 1, run->ranks, i + 1, run->mean);
}

/* 1, 2 and 5 in each decade; the lowest stands for all that is less. */
static void put_percent_tics(FILE *stream, const plan *p)
{
    static const int step[] = {1, 2, 5};
    const char *comma = "";

    (void)fputs("percent_tics = 'set ytics (", stream);
    for (double decade = p->low; decade <= p->high; decade *= 10.0) {
        for (int s = 0; s < 3 && decade * step[s] <= p->high * (1.0 + 1e-9); s++) {
            bool least = s == 0 && decade <= LOWEST_IMBALANCE;

            (void)fprintf(stream, "%s\"%s%g\" %.9g", comma, least ? "≤ " : "", decade * step[s], decade * step[s]);
            comma = ", ";
        }
    }
    (void)fputs(")'\n", stream);
}

static void put_axes(FILE *stream, const plan *p)
{
    bool bars = (double)p->n * p->ranks <= MOST_BARS;
    int npredicted = 0;

    put_caption(stream, p);
    /* A few ranks get no wider bars than a few more. */
    (void)fprintf(stream, "bars = %d\nranks_most = %d\nmargin = %g\n", bars, p->ranks,
                  p->ranks < 4 ? (4 - p->ranks) / 2.0 : 0.0);
    (void)fprintf(stream, "load_range = 'set yrange [0:%s]'\n", p->load > 0.0 ? "*" : "1");
    (void)fprintf(stream, "step_first = %.1f\nstep_last = %.1f\nalone = %d\n", (double)p->first, (double)p->last,
                  p->first == p->last);
    (void)fprintf(stream, "lowest = %g\npercent_first = 0.9 * %.9g\npercent_last = %.9g\n", LOWEST_IMBALANCE, p->low,
                  p->high);
    put_percent_tics(stream, p);
    /* gnuplot looks at the first place even where it loops over none. */
    (void)fputs("predicted[1] = 1\n", stream);
    for (int i = 0; i < p->n; i++) {
        if (p->loads[i].predicted) {
            (void)fprintf(stream, "predicted[%d] = %d\n", ++npredicted, i + 1);
        }
    }
    (void)fprintf(stream, "npredicted = %d\n", npredicted);
}

static int write_script(const char *dir, const plan *p, eqp_message *message)
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
    (void)fprintf(stream, "%sn = %d\n", script_head, p->n);
    (void)fputs("array label[n]\narray file[n]\narray color[n]\narray dark[n]\narray ranks[n]\narray mean[n]\narray "
                "predicted[n]\n",
                stream);
    for (int i = 0; i < p->n; i++) {
        put_run(stream, dir, p, i);
    }
    put_axes(stream, p);
    (void)fputs(script_tail, stream);
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

/* Waits for the plotter; one that hangs, or that is at work when a signal asks us to end, is killed. 0, or an errno. */
static int wait_for(pid_t child, int *status)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    const int most_pauses = 100 * MOST_SECONDS;

    for (int pauses = 0;; pauses++) {
        pid_t ended = waitpid(child, status, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR)) {
            return ended == child ? 0 : errno;
        }
        if (pauses == most_pauses || app_signals_pending() != 0) {
            (void)kill(child, SIGKILL);
        }
        (void)nanosleep(&pause, NULL);
    }
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
    if (wait_for(child, &status) != 0) {
        return 1;
    }
    /* 127 is how a system tells that its child could not be started after all. */
    return !WIFEXITED(status) ? 1 : WEXITSTATUS(status) == 127 ? -1 : WEXITSTATUS(status);
}

/* Decades from below the smallest imbalance to the next 1, 2 or 5 above the largest: at least one decade. */
static void choose_percent(plan *p, double low, double high)
{
    double decade;

    p->low = low > LOWEST_IMBALANCE ? pow(10.0, floor(log10(low))) : LOWEST_IMBALANCE;
    high = fmax(1.05 * high, 10.0 * p->low);
    decade = pow(10.0, floor(log10(high) + 1e-9));
    p->high = high <= decade * (1.0 + 1e-9) ? decade
              : high <= 2.0 * decade        ? 2.0 * decade
              : high <= 5.0 * decade        ? 5.0 * decade
                                            : 10.0 * decade;
}

static int read_runs(plan *p, eqp_message *message)
{
    double low = INFINITY, high = 0.0;

    for (int i = 0; i < p->n; i++) {
        app_loads *run = &p->loads[i], *front = &p->loads[0];
        int code = app_loads_read(p->series[i].loads, run, message);

        if (code) {
            return code;
        }
        if (i == 0) {
            p->first = run->first;
            p->last = run->last;
        }
        p->same = (i == 0 || p->same) && run->ranks == front->ranks && run->particles == front->particles &&
                  run->first == front->first && run->last == front->last;
        p->ranks = run->ranks > p->ranks ? run->ranks : p->ranks;
        p->first = run->first < p->first ? run->first : p->first;
        p->last = run->last > p->last ? run->last : p->last;
        p->load = fmax(p->load, run->largest);
        low = fmin(low, 100.0 * run->imbalance_low);
        high = fmax(high, 100.0 * run->imbalance_high);
    }
    choose_percent(p, low, high);
    return EQP_OK;
}

static int draw(const char *dir, eqp_message *message)
{
    char *command = make_command(dir);
    int status;

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

int app_plot_loads(const char *dir, int n, const app_plot_series *series, eqp_message *message)
{
    plan p = {.n = n, .series = series};
    int code = n < 1 ? EQP_ERR_ARGUMENT : eqp_array_create(&p.loads, n, sizeof *p.loads);

    if (code) {
        return code;
    }
    code = read_runs(&p, message);
    code = code ? code : eqp_report_directory(dir, message);
    code = code ? code : write_script(dir, &p, message);
    code = code ? code : draw(dir, message);
    free(p.loads);
    return code;
}
