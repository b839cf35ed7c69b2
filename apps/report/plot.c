/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot.h"

#include "output/report.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "loads.h"
#include "plot_draw.h"

#define SCRIPT "plots.gp"
#define MOST_BARS 256        /* more would be too thin to see: outlines instead */
#define LOWEST_IMBALANCE 0.1 /* per cent: 0 has no logarithm, and nobody needs better */

/* What is drawn, beside the files themselves. */
typedef struct plan {
    int n;
    const app_plot_series *series; /* [n] */
    const char **label;            /* [n] theirs */
    app_loads *loads;              /* [n] */
    int ranks;                     /* of the run with most */
    int64_t first, last;           /* steps of all runs */
    double load;                   /* largest of all */
    double low, high;              /* ends of the axis of imbalance, per cent */
    bool same;                     /* all runs have as many particles, ranks and steps */
    eqp_message *message;
} plan;

static const char script_head[] =
    "# Draws loads.png, loads.svg, imbalance.png and imbalance.svg: gnuplot " SCRIPT ", in any folder.\n"
    "set encoding utf8\n"
    "set datafile missing NaN\n"
    "set key noenhanced outside bottom center horizontal Left reverse samplen 3 width -1\n" APP_PLOT_TARGET
    "set border 3 linecolor rgb '#404040'\n"
    "set tics nomirror out\n"
    "set grid ytics linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\n"
    "set style fill solid 0.9 noborder\n";

/* The data of run i: number 2 i - 2 its steps, number 2 i - 1 its ranks. */
static const char script_tail[] =
    "width = 0.8 / n\n"
    "center(i) = (i - (n + 1) / 2.0) * width\n"
    "set boxwidth width absolute\n"
    "svg = \"set terminal svg size 960,600 font 'sans,14' linewidth 1.5 background rgb 'white'\"\n"
    "png = \"set terminal png size 1280,800 linewidth 2\"\n"
    "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
    "    png = \"set terminal pngcairo size 1280,800 font 'sans,17' linewidth 2 background rgb 'white'\"\n"
    "}\n"
    "do for [kind in 'png svg'] {\n"
    "    eval kind eq 'svg' ? svg : png\n"
    "    set output target(kind eq 'svg', 'loads.' . kind)\n"
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
    "        plot for [i=1:n] $data index 2 * i - 1 using ($1 + center(i)):2 \\\n"
    "            with boxes linecolor rgb color[i] title label[i], \\\n"
    "            for [i=1:n] mean[i] with lines dashtype (10, 6) linecolor rgb dark[i] notitle, \\\n"
    "            NaN with lines dashtype (10, 6) linecolor rgb '#404040' title 'mean'\n"
    "    } else {\n"
    "        plot for [i=1:n] $data index 2 * i - 1 using 1:2 \\\n"
    "            with histeps linecolor rgb color[i] title label[i], \\\n"
    "            for [i=1:n] mean[i] with lines dashtype (10, 6) linecolor rgb dark[i] notitle, \\\n"
    "            NaN with lines dashtype (10, 6) linecolor rgb '#404040' title 'mean'\n"
    "    }\n"
    "    set output target(2 + (kind eq 'svg'), 'imbalance.' . kind)\n"
    "    set title 'Imbalance: ' . caption noenhanced\n"
    "    set xlabel \"step\\n \"\n"
    "    set ylabel 'imbalance: max / mean - 1 [%]'\n"
    "    set xrange [step_first - alone:step_last + alone]\n"
    "    set yrange [percent_first:percent_last]\n"
    "    set logscale y\n"
    "    eval percent_tics\n"
    "    set xtics autofreq\n"
    "    if (step_last - step_first < 10) { set xtics step_first, 1, step_last }\n"
    "    plot for [i=1:n] $data index 2 * i - 2 using 1:2 \\\n"
    "        with linespoints pointtype 7 pointsize 0.6 linewidth 1.5 linecolor rgb color[i] title label[i], \\\n"
    "        for [k=1:npredicted] $data index 2 * predicted[k] - 2 using 1:3 \\\n"
    "        with lines dashtype (8, 6) linecolor rgb color[predicted[k]] notitle, \\\n"
    "        NaN with linespoints pointtype 7 pointsize 0.6 linewidth 1.5 linecolor rgb '#404040' title 'measured', "
    "\\\n"
    "        NaN with lines dashtype (8, 6) linecolor rgb '#404040' title npredicted > 0 ? 'predicted' : ''\n"
    "    unset output\n"
    "}\n";

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

/* Two thirds as bright, to be seen on the colour itself. */
static unsigned darker(unsigned color)
{
    unsigned red = color >> 16, green = color >> 8 & 0xff, blue = color & 0xff;

    return (red * 2 / 3) << 16 | (green * 2 / 3) << 8 | blue * 2 / 3;
}

/* One run in a place of each array. */
static void put_run(FILE *stream, const plan *p, int i)
{
    const app_loads *run = &p->loads[i];
    unsigned color = app__plot_color(p->n, p->label, i);

    (void)fprintf(stream, "label[%d] = ", i + 1);
    app__plot_label(stream, p->series[i].label);
    (void)fprintf(stream, "\ncolor[%d] = '#%06x'\ndark[%d] = '#%06x'\n", i + 1, color, i + 1, darker(color));
    (void)fprintf(stream, "mean[%d] = %.9g\n", i + 1, run->mean);
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
    (void)fprintf(stream, "percent_first = 0.9 * %.9g\npercent_last = %.9g\n", p->low, p->high);
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

static double percent(double imbalance)
{
    return fmax(100.0 * imbalance, LOWEST_IMBALANCE);
}

static void put_step(void *user, int64_t step, double measured, double predicted)
{
    FILE *stream = user;

    (void)fprintf(stream, "%lld %.9g ", (long long)step, percent(measured));
    if (isnan(predicted)) {
        (void)fputs("NaN\n", stream);
    } else {
        (void)fprintf(stream, "%.9g\n", percent(predicted));
    }
}

/* The first one parts the steps from the ranks. */
static void put_rank(void *user, int rank, double load)
{
    (void)fprintf(user, "%s%d %.9g\n", rank == 0 ? "\n\n" : "", rank, load);
}

static int put_data(FILE *stream, const plan *p)
{
    const app_loads_visitor visitor = {.user = stream, .step = put_step, .rank = put_rank};
    app_loads loads;
    int code = EQP_OK;

    (void)fputs("$data << EOD\n", stream);
    for (int i = 0; i < p->n && !code; i++) {
        (void)fputs(i > 0 ? "\n\n" : "", stream);
        code = app_loads_read(p->series[i].loads, &visitor, &loads, p->message);
    }
    (void)fputs("EOD\n", stream);
    return code;
}

static int put_script(FILE *stream, const void *user)
{
    const plan *p = user;
    int code;

    (void)fprintf(stream,
                  "%sn = %d\narray label[n]\narray color[n]\narray dark[n]\narray mean[n]\narray predicted[n]\n",
                  script_head, p->n);
    code = put_data(stream, p);
    for (int i = 0; i < p->n; i++) {
        put_run(stream, p, i);
    }
    put_axes(stream, p);
    (void)fputs(script_tail, stream);
    return code;
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

static int read_runs(plan *p)
{
    double low = INFINITY, high = 0.0;

    for (int i = 0; i < p->n; i++) {
        app_loads *run = &p->loads[i], *front = &p->loads[0];
        int code = app_loads_read(p->series[i].loads, NULL, run, p->message);

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

int app_plot_loads(const char *dir, int n, const app_plot_series *series, eqp_message *message)
{
    static const char *const image[] = {"loads.png", "loads.svg", "imbalance.png", "imbalance.svg", NULL};
    plan p = {.n = n, .series = series, .message = message};
    const app_plot plot = {.dir = dir, .script = SCRIPT, .image = image, .put = put_script, .user = &p};
    int code = n < 1 ? EQP_ERR_ARGUMENT : eqp_array_create(&p.loads, n, sizeof *p.loads);

    code = code ? code : eqp_array_create(&p.label, n, sizeof *p.label);
    for (int i = 0; i < n && !code; i++) {
        p.label[i] = series[i].label;
    }
    code = code ? code : read_runs(&p);
    code = code ? code : eqp_report_directory(dir, message);
    code = code ? code : app__plot_make(&plot, message);
    free(p.label);
    free(p.loads);
    return code;
}
