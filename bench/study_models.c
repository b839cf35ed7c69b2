/* SPDX-License-Identifier: BSD-3-Clause */
/* How well do models know the load (Pearce 2014, section 3.4.1, table 3.3 and figure 3.2)?
 *
 *     build/bench/study_models <loads.csv
 *
 * Reads CSV with the columns run, part, neighbours (numbers of parts, with blanks between), measured, and then one for
 * each model: a line for each part, run by run and in each by part. Writes CSV. Rows "run": of each run the imbalance
 * and the kurtosis of the measured loads and of each model's, the model's rank correlation with the measured loads, and
 * how many steps Algorithm 5 (corrected) takes to an imbalance of THRESHOLD if these are the loads; -1: more than
 * STEPS. Rows "error": of each model, for each number of parts and for all (parts 0), root mean squares over the runs
 * as eqp_load_judge() says, and of the differences in steps where both converge. */
#include "timing.h"

#include <equipoise/more/diffusion.h>
#include <equipoise/more/load.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MODELS = 8, MOST_PARTS = 1024, MOST_RUNS = 4096, FIXED = 4, NAME = 64, STEPS = 10000 };

static const double threshold = 0.12; /* the thesis' for ddcMD */

/* Loads by the measurement [0] and by the models, and who is next to whom. */
typedef struct run {
    char name[NAME];
    int nparts;
    double *load[1 + MOST_MODELS]; /* [nparts] */
    int64_t *first, *edge;         /* [nparts + 1], [first[nparts]] */
    int64_t steps[1 + MOST_MODELS];
} run;

typedef struct runs {
    int n, nmodels;
    char model[1 + MOST_MODELS][NAME];
    run run[MOST_RUNS];
} runs;

static runs all;

static void check(int code)
{
    if (code != EQP_OK) {
        bench_die("study_models", eqp_error_text(code));
    }
}

/* Cuts a line at its commas. Returns how many cells there are. */
static int cells_of(char *line, char *cell[FIXED + MOST_MODELS])
{
    int n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    for (char *at = line; at != NULL && n < FIXED + MOST_MODELS; n++) {
        char *comma = strchr(at, ',');
        cell[n] = at;
        at = comma != NULL ? comma + 1 : NULL;
        if (comma != NULL) {
            *comma = '\0';
        }
    }
    return n;
}

static void *grown(void *array, int64_t n, size_t size)
{
    array = realloc(array, (size_t)n * size);
    if (array == NULL) {
        bench_die("study_models", "out of memory");
    }
    return array;
}

static void copy_name(char to[NAME], const char *from)
{
    if (strlen(from) >= NAME) {
        bench_die("study_models", "a name is too long");
    }
    memcpy(to, from, strlen(from) + 1);
}

static void read_header(char *line)
{
    static const char *const fixed[FIXED] = {"run", "part", "neighbours", "measured"};
    char *cell[FIXED + MOST_MODELS];

    all.nmodels = cells_of(line, cell) - FIXED;
    for (int i = 0; i < FIXED; i++) {
        if (all.nmodels < 1 || strcmp(cell[i], fixed[i]) != 0) {
            bench_die("study_models", "expected the columns run,part,neighbours,measured,MODEL,...");
        }
    }
    for (int m = 0; m <= all.nmodels; m++) {
        copy_name(all.model[m], cell[FIXED - 1 + m]);
    }
}

static void add_part(run *r, char *const *cell)
{
    const int p = r->nparts++;
    const char *at = cell[2];
    char *end;

    r->first = grown(r->first, p + 2, sizeof *r->first);
    r->first[0] = 0;
    r->first[p + 1] = r->first[p];
    for (long other = strtol(at, &end, 10); end != at; other = strtol(at, &end, 10)) {
        r->edge = grown(r->edge, r->first[p + 1] + 1, sizeof *r->edge);
        r->edge[r->first[p + 1]++] = other;
        at = end;
    }
    for (int m = 0; m <= all.nmodels; m++) {
        r->load[m] = grown(r->load[m], p + 1, sizeof(double));
        r->load[m][p] = strtod(cell[FIXED - 1 + m], NULL);
    }
}

static void read_runs(void)
{
    static char line[1 << 16];
    char *cell[FIXED + MOST_MODELS];

    if (fgets(line, sizeof line, stdin) == NULL) {
        bench_die("study_models", "nothing to read");
    }
    read_header(line);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (cells_of(line, cell) != FIXED + all.nmodels) {
            bench_die("study_models", "a line has not as many cells as the first");
        }
        if (all.n == 0 || strcmp(all.run[all.n - 1].name, cell[0]) != 0) {
            if (all.n == MOST_RUNS) {
                bench_die("study_models", "too many runs");
            }
            copy_name(all.run[all.n++].name, cell[0]);
        }
        run *r = &all.run[all.n - 1];
        if (atoi(cell[1]) != r->nparts || r->nparts == MOST_PARTS) {
            bench_die("study_models", "the parts of a run must come in order, and there are too many of them or a gap");
        }
        add_part(r, cell);
    }
}

/* Every part is an element of its own: only loads and neighbours count. */
static int64_t converge(const run *r, const double *load)
{
    eqp_diffusion_options options = eqp_diffusion_options_defaults();
    int part[MOST_PARTS];
    eqp_elements elements = {.n = r->nparts, .weight = load, .part = part, .edge_first = r->first, .edge = r->edge};
    eqp_part_graph *graph;
    int64_t steps;

    for (int p = 0; p < r->nparts; p++) {
        part[p] = p;
    }
    options.threshold = threshold;
    options.steps = STEPS;
    check(eqp_part_graph_create(&elements, r->nparts, NULL, &graph));
    check(eqp_diffusion_simulate(graph, &options, NULL, NULL, &steps));
    eqp_part_graph_free(graph);
    return steps < STEPS ? steps : -1;
}

static void print_run(run *r)
{
    for (int m = 0; m <= all.nmodels; m++) {
        eqp_load_statistics statistics;
        double correlation;
        check(eqp_load_statistics_compute(r->nparts, r->load[m], &statistics));
        check(eqp_load_rank_correlation(r->nparts, r->load[m], r->load[0], &correlation));
        r->steps[m] = converge(r, r->load[m]);
        printf("run,%s,%d,%s,%.4f,,%.4f,%.4f,%lld\n", r->name, r->nparts, all.model[m], statistics.imbalance,
               statistics.kurtosis, correlation, (long long)r->steps[m]);
    }
}

/* Sums over runs: of squares, but of the bias. */
typedef struct errors {
    int runs, converged;
    double imbalance, bias, kurtosis, rank, steps;
} errors;

static void print_errors(const errors *e, int nparts, const char *model)
{
    const double n = e->runs, steps = e->converged > 0 ? sqrt(e->steps / e->converged) : NAN;

    printf("error,%d,%d,%s,%.4f,%.4f,%.4f,%.4f,%.2f\n", e->runs, nparts, model, sqrt(e->imbalance / n), e->bias / n,
           sqrt(e->kurtosis / n), sqrt(e->rank / n), steps);
}

/* Runs of one number of parts, judged together. */
static void judge(int nparts, int m, errors *sum)
{
    double *model = NULL, *measured = NULL;
    eqp_load_errors found;
    errors e = {0};

    for (int i = 0; i < all.n; i++) {
        const run *r = &all.run[i];
        if (r->nparts == nparts) {
            model = grown(model, (int64_t)(e.runs + 1) * nparts, sizeof *model);
            measured = grown(measured, (int64_t)(e.runs + 1) * nparts, sizeof *measured);
            memcpy(model + e.runs * nparts, r->load[m], (size_t)nparts * sizeof *model);
            memcpy(measured + e.runs * nparts, r->load[0], (size_t)nparts * sizeof *measured);
            e.runs++;
            if (r->steps[m] >= 0 && r->steps[0] >= 0) {
                e.converged++;
                e.steps += (double)((r->steps[m] - r->steps[0]) * (r->steps[m] - r->steps[0]));
            }
        }
    }
    if (e.runs > 0) {
        check(eqp_load_judge(e.runs, nparts, model, measured, &found));
        e.imbalance = found.imbalance * found.imbalance * e.runs;
        e.bias = found.imbalance_bias * e.runs;
        e.kurtosis = found.kurtosis * found.kurtosis * e.runs;
        e.rank = found.rank_correlation * found.rank_correlation * e.runs;
        print_errors(&e, nparts, all.model[m]);
    }
    *sum = (errors){sum->runs + e.runs,  sum->converged + e.converged, sum->imbalance + e.imbalance,
                    sum->bias + e.bias,  sum->kurtosis + e.kurtosis,   sum->rank + e.rank,
                    sum->steps + e.steps};
    free(model);
    free(measured);
}

int main(void)
{
    int most = 0;

    read_runs();
    printf("kind,run,parts,model,imbalance,bias,kurtosis,rank,steps\n");
    for (int i = 0; i < all.n; i++) {
        print_run(&all.run[i]);
        most = all.run[i].nparts > most ? all.run[i].nparts : most;
    }
    for (int m = 1; m <= all.nmodels; m++) {
        errors sum = {0};
        for (int nparts = 1; nparts <= most; nparts++) {
            judge(nparts, m, &sum);
        }
        print_errors(&sum, 0, all.model[m]);
    }
    for (int i = 0; i < all.n; i++) {
        for (int m = 0; m <= all.nmodels; m++) {
            free(all.run[i].load[m]);
        }
        free(all.run[i].first);
        free(all.run[i].edge);
    }
    return 0;
}
