/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot.h"

#include "plot_draw.h"

#define SCRIPT "compare.gp"
#define MOST_TICS 12 /* more numbers of parts would write over each other */

static const char script_head[] =
    "# Draws compare_imbalance, compare_ghosts, compare_time and compare_efficiency: gnuplot " SCRIPT
    ", in any folder.\n"
    "set encoding utf8\n"
    "set datafile missing NaN\n"
    "set key noenhanced outside bottom center horizontal Left reverse samplen 3 width 2\n"
    "set border 3 linecolor rgb '#404040'\n"
    "set tics nomirror out\n"
    "set grid ytics linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\n" APP_PLOT_TARGET;

/* The data of method i, number i - 1: parts, imbalance in per cent, ghosts, milliseconds of a step, of an ideal one. */
static const char script_tail[] =
    "at_least(low, value) = value > low ? value : low\n"
    "svg = \"set terminal svg size 960,600 font 'sans,14' linewidth 1.5 background rgb 'white'\"\n"
    "png = \"set terminal png size 1280,800 linewidth 2\"\n"
    "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
    "    png = \"set terminal pngcairo size 1280,800 font 'sans,17' linewidth 2 background rgb 'white'\"\n"
    "}\n"
    "set xlabel \"parts\\n \"\n"
    "set logscale x 2\n"
    "set xrange [parts_first / 1.15:parts_last * 1.15]\n"
    "do for [kind in 'png svg'] {\n"
    "    eval kind eq 'svg' ? svg : png\n"
    "    set logscale y 10\n"
    "    set yrange [*:*]\n"
    "    set output target(kind eq 'svg', 'compare_imbalance.' . kind)\n"
    "    set title 'Imbalance of the load'\n"
    "    set ylabel 'imbalance: max / mean - 1 [%], at least 0.1'\n"
    "    plot for [i=1:n] $data index i - 1 using 1:(at_least(0.1, $2)) \\\n"
    "        with linespoints pointtype point[i] pointsize 0.9 linecolor rgb color[i] title label[i]\n"
    "    set output target(2 + (kind eq 'svg'), 'compare_ghosts.' . kind)\n"
    "    set title 'Ghosts of all parts'\n"
    "    set ylabel 'remote particles and cells that parts need'\n"
    "    plot for [i=1:n] $data index i - 1 using 1:(at_least(1, $3)) \\\n"
    "        with linespoints pointtype point[i] pointsize 0.9 linecolor rgb color[i] title label[i]\n"
    "    set output target(4 + (kind eq 'svg'), 'compare_time.' . kind)\n"
    "    set title 'Modelled time of a step'\n"
    "    set ylabel 'step [ms]'\n"
    "    plot for [i=1:n] $data index i - 1 using 1:(at_least(1e-9, $4)) \\\n"
    "        with linespoints pointtype point[i] pointsize 0.9 linecolor rgb color[i] title label[i], \\\n"
    "        $data index 0 using 1:(at_least(1e-9, $5)) \\\n"
    "        with lines dashtype (8, 6) linecolor rgb '#808080' title 'ideal'\n"
    "    unset logscale y\n"
    "    set yrange [0:100]\n"
    "    set output target(6 + (kind eq 'svg'), 'compare_efficiency.' . kind)\n"
    "    set title 'Efficiency: ideal step / step'\n"
    "    set ylabel 'efficiency [%]'\n"
    "    plot for [i=1:n] $data index i - 1 using 1:(100 * $5 / $4) \\\n"
    "        with linespoints pointtype point[i] pointsize 0.9 linecolor rgb color[i] title label[i], \\\n"
    "        50 with lines dashtype (8, 6) linecolor rgb '#808080' title 'half'\n"
    "    unset output\n"
    "}\n";

/* Filled and open ones in turn, so that lines that lie on each other can be told apart. */
static int point_of(int i)
{
    static const int types[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};

    return types[i % (int)(sizeof types / sizeof types[0])];
}

static void put_tics(FILE *stream, const app_plot_comparison *c)
{
    if (c->nparts > MOST_TICS) {
        return;
    }
    (void)fputs("set xtics (", stream);
    for (int i = 0; i < c->nparts; i++) {
        (void)fprintf(stream, "%s%lld", i > 0 ? ", " : "", (long long)c->parts[i]);
    }
    (void)fputs(")\n", stream);
}

static void put_data(FILE *stream, const app_plot_comparison *c)
{
    (void)fputs("$data << EOD\n", stream);
    for (int i = 0; i < c->nmethods; i++) {
        (void)fputs(i > 0 ? "\n\n" : "", stream);
        for (int k = 0; k < c->nparts; k++) {
            const app_plot_point *point = &c->point[k * c->nmethods + i];

            (void)fprintf(stream, "%lld %.9g %.9g %.9g %.9g\n", (long long)c->parts[k], 100.0 * point->imbalance,
                          point->ghosts, 1e3 * point->step_seconds, 1e3 * point->step_seconds_ideal);
        }
    }
    (void)fputs("EOD\n", stream);
}

static int put_script(FILE *stream, const void *user)
{
    const app_plot_comparison *c = user;

    (void)fprintf(stream, "%sn = %d\narray label[n]\narray color[n]\narray point[n]\n", script_head, c->nmethods);
    put_data(stream, c);
    for (int i = 0; i < c->nmethods; i++) {
        (void)fprintf(stream, "label[%d] = ", i + 1);
        app__plot_label(stream, c->method[i]);
        (void)fprintf(stream, "\ncolor[%d] = '#%06x'\npoint[%d] = %d\n", i + 1,
                      app__plot_color(c->nmethods, c->method, i), i + 1, point_of(i));
    }
    (void)fprintf(stream, "parts_first = %.1f\nparts_last = %.1f\n", (double)c->parts[0],
                  (double)c->parts[c->nparts - 1]);
    put_tics(stream, c);
    (void)fputs(script_tail, stream);
    return EQP_OK;
}

int app_plot_compare(const app_plot_comparison *comparison, eqp_message *message)
{
    static const char *const image[] = {"compare_imbalance.png",  "compare_imbalance.svg",  "compare_ghosts.png",
                                        "compare_ghosts.svg",     "compare_time.png",       "compare_time.svg",
                                        "compare_efficiency.png", "compare_efficiency.svg", NULL};
    const app_plot plot = {comparison->dir, SCRIPT, image, put_script, comparison};

    return comparison->nmethods < 1 || comparison->nparts < 1 ? EQP_ERR_ARGUMENT : app__plot_make(&plot, message);
}
