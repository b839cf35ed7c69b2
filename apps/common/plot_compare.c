/* SPDX-License-Identifier: BSD-3-Clause */
#include "plot.h"

#include "plot_draw.h"

#define SCRIPT "compare.gp"
#define MOST_TICS 12 /* more numbers of parts would write over each other */

static const char script_head[] =
    "# Draws compare_imbalance, compare_ghosts, compare_time and compare_efficiency: gnuplot " SCRIPT
    ", inside this folder.\n"
    "set encoding utf8\n"
    "set datafile separator comma\n"
    "set datafile columnheaders\n"
    "set datafile missing NaN\n"
    "set key noenhanced outside bottom center horizontal Left reverse samplen 3 width 2\n"
    "set border 3 linecolor rgb '#404040'\n"
    "set tics nomirror out\n"
    "set grid ytics linetype 1 linewidth 0.5 linecolor rgb '#d0d0d0'\n"
    "file = 'compare.csv'\n";

/* Rows come by parts, then by method: every n-th belongs to one line. Names would not do: gnuplot reads a quoted one to
 * its first comma. */
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
    "    set output 'compare_imbalance.' . kind\n"
    "    set title 'Imbalance of the load'\n"
    "    set ylabel 'imbalance: max / mean - 1 [%], at least 0.1'\n"
    "    plot for [i=1:n] file every n::i - 1 using (column('parts')):(at_least(0.1, 100 * column('imbalance'))) \\\n"
    "        with linespoints pointtype point[i] pointsize 0.9 linecolor rgb color[i] title label[i]\n"
    "    set output 'compare_ghosts.' . kind\n"
    "    set title 'Ghosts of all parts'\n"
    "    set ylabel 'remote particles and cells that parts need'\n"
    "    plot for [i=1:n] file every n::i - 1 using (column('parts')):(at_least(1, column('ghosts_total'))) \\\n"
    "        with linespoints pointtype point[i] pointsize 0.9 linecolor rgb color[i] title label[i]\n"
    "    set output 'compare_time.' . kind\n"
    "    set title 'Modelled time of a step'\n"
    "    set ylabel 'step [ms]'\n"
    "    plot for [i=1:n] file every n::i - 1 using (column('parts')):(at_least(1e-9, 1e3 * column('step_seconds'))) "
    "\\\n"
    "        with linespoints pointtype point[i] pointsize 0.9 linecolor rgb color[i] title label[i], \\\n"
    "        file every n using (column('parts')):(at_least(1e-9, 1e3 * column('step_seconds_ideal'))) \\\n"
    "        with lines dashtype (8, 6) linecolor rgb '#808080' title 'ideal'\n"
    "    unset logscale y\n"
    "    set yrange [0:100]\n"
    "    set output 'compare_efficiency.' . kind\n"
    "    set title 'Efficiency: ideal step / step'\n"
    "    set ylabel 'efficiency [%]'\n"
    "    plot for [i=1:n] file every n::i - 1 \\\n"
    "        using (column('parts')):(100 * column('step_seconds_ideal') / column('step_seconds')) \\\n"
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

static void put_script(FILE *stream, const void *user)
{
    const app_plot_comparison *c = user;

    (void)fprintf(stream, "%sn = %d\narray label[n]\narray color[n]\narray point[n]\n", script_head, c->nmethods);
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
}

int app_plot_compare(const app_plot_comparison *comparison, eqp_message *message)
{
    int code = comparison->nmethods < 1 || comparison->nparts < 1 ? EQP_ERR_ARGUMENT : EQP_OK;

    code = code ? code : app__plot_write(comparison->dir, SCRIPT, put_script, comparison, message);
    return code ? code : app__plot_draw(comparison->dir, SCRIPT, message);
}
