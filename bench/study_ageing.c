/* SPDX-License-Identifier: BSD-3-Clause */
/* How maps age, and what policies and late maps lose by it, in virtual time.
 *
 *     build/bench/study_ageing [KIND[:key=value,...]]
 *
 * Particles of a generator of barneshut (clusters:n=32768) move under their gravity for STEPS steps; each weighs what
 * its target group costs, 0.29 ns a pair and 0.65 ns a cell. A map cuts the curve by the weights of the step before;
 * the matrix of all maps at all later steps gives the seconds of every schedule. The unit is an even step, a map costs
 * PRICE steps, the first one is free. Rows: no further map; the best fixed interval; the best schedule there is
 * (eqp_policy_hindsight()); the policies `auto` and `gain`; a map that is made beside the run all the time and comes K
 * steps late, on a spare core or by one of the ranks, which then computes nothing; and the first map repaired before
 * every step by the weights of the step before (REPAIR steps each).
 *
 * What this leaves out: messages, migration, noise of measured loads, and that a repaired map has more ghosts.
 *
 * CSV: mean seconds of a step over those of an even one. */
#include "history.h"
#include "timing.h"

#include <equipoise/more/assign.h>
#include <equipoise/more/base.h>
#include <equipoise/more/decide.h>
#include <equipoise/more/hindsight.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 48 };

static const double repair = 0.02;

/* What happened: of each step the particles along the curve, and their weights. */
typedef struct history {
    int64_t n;
    int32_t *order; /* [STEPS][n] */
    double *weight; /* [STEPS][n] by particle */
} history;

static void check(int code)
{
    if (code) {
        bench_die("study_ageing", eqp_error_text(code));
    }
}

static void move(const char *text, history *h)
{
    bench_history seen;

    bench_follow_particles(text, STEPS, &seen);
    h->n = seen.nitems;
    check(eqp_array_create(&h->order, STEPS * h->n, sizeof *h->order));
    check(eqp_array_create(&h->weight, STEPS * h->n, sizeof *h->weight));
    for (int step = 0; step < STEPS; step++) {
        const bench_frame *f = &seen.frame[step];
        for (int64_t g = 0; g < f->n; g++) {
            for (int64_t i = f->first[g]; i < f->first[g + 1]; i++) {
                h->order[step * h->n + i] = f->item[i];
                h->weight[step * h->n + f->item[i]] = f->weight[g] / (double)(f->first[g + 1] - f->first[g]);
            }
        }
    }
    bench_history_free(&seen);
}

/* Parts of all particles by a cut of the curve at a step. line, first: room. */
static void cut(const history *h, int step, int nparts, double *line, int *part)
{
    const int32_t *order = h->order + step * h->n;
    int64_t *first = NULL;

    check(eqp_array_create(&first, nparts + 1, sizeof *first));
    for (int64_t i = 0; i < h->n; i++) {
        line[i] = h->weight[step * h->n + order[i]];
    }
    check(eqp_cuts_optimal(h->n, line, nparts, NULL, first, NULL));
    for (int p = 0; p < nparts; p++) {
        for (int64_t i = first[p]; i < first[p + 1]; i++) {
            part[order[i]] = p;
        }
    }
    free(first);
}

static double imbalance(const history *h, int step, int nparts, const int *part)
{
    eqp_part_loads loads;

    check(eqp_parts_load(h->n, h->weight + step * h->n, part, nparts, NULL, NULL, &loads));
    return loads.imbalance;
}

/* aged [STEPS][STEPS]: step t with the map before step s, of the step before that; promised [STEPS]. */
static void fill(const history *h, int nparts, double *aged, double *promised)
{
    double *line = NULL;
    int *part = NULL;

    check(eqp_array_create(&line, h->n, sizeof *line));
    check(eqp_array_create(&part, h->n, sizeof *part));
    for (int s = 0; s < STEPS; s++) {
        const int of = s > 0 ? s - 1 : 0;
        cut(h, of, nparts, line, part);
        promised[s] = imbalance(h, of, nparts, part);
        for (int t = s; t < STEPS; t++) {
            aged[s * STEPS + t] = 1.0 + imbalance(h, t, nparts, part);
        }
    }
    free(part);
    free(line);
}

static double by_policy(const char *word, double price, const double *aged, const double *promised)
{
    eqp_policy_options options = eqp_policy_options_defaults();
    eqp_policy policy;
    double sum = 0.0;
    int since = 0;

    check(eqp_policy_options_parse(word, &options));
    check(eqp_policy_init(&policy, &options));
    for (int t = 0; t < STEPS; t++) {
        check(eqp_policy_expect(&policy, STEPS - t));
        const bool renew = eqp_policy_wants(&policy);
        since = renew ? t : since;
        sum += aged[since * STEPS + t] + (renew && t > 0 ? price : 0.0);
        const eqp_policy_sample sample = {.seconds_max = aged[since * STEPS + t],
                                          .seconds_mean = 1.0,
                                          .rebalanced = renew,
                                          .balance_seconds = price,
                                          .work_imbalance = aged[since * STEPS + t] - 1.0,
                                          .promised = promised[t]};
        check(eqp_policy_record(&policy, &sample));
    }
    return sum / STEPS;
}

static double best_interval(double price, const double *aged)
{
    double best = INFINITY;

    for (int every = 1; every <= STEPS; every++) {
        double sum = 0.0;
        for (int t = 0; t < STEPS; t++) {
            sum += aged[t / every * every * STEPS + t] + (t > 0 && t % every == 0 ? price : 0.0);
        }
        best = fmin(best, sum / STEPS);
    }
    return best;
}

/* Maps one after another, each of the step when it was begun and in force `late` steps later. */
static double beside(int late, const double *aged)
{
    double sum = 0.0;

    for (int t = 0; t < STEPS; t++) {
        const int begun = t / late * late - late; /* the last one that is here */
        sum += aged[(begun > 0 ? begun : 0) * STEPS + t];
    }
    return sum / STEPS;
}

static double repaired(const history *h, int nparts)
{
    eqp_repair_result result;
    double *line = NULL, sum = 0.0;
    int *part = NULL;

    check(eqp_array_create(&line, h->n, sizeof *line));
    check(eqp_array_create(&part, h->n, sizeof *part));
    cut(h, 0, nparts, line, part);
    for (int t = 0; t < STEPS; t++) {
        if (t > 0) {
            check(eqp_repair(h->n, h->weight + (t - 1) * h->n, NULL, nparts, NULL, 0.01, part, &result));
        }
        sum += 1.0 + imbalance(h, t, nparts, part) + (t > 0 && result.moved > 0 ? repair : 0.0);
    }
    free(part);
    free(line);
    return sum / STEPS;
}

int main(int argc, char **argv)
{
    static const int parts[] = {8, 64, 512};
    static const double price[] = {0.05, 0.2, 1.0, 5.0};
    static double aged[STEPS * STEPS], promised[STEPS];
    history h;

    move(argc > 1 ? argv[1] : "clusters:n=32768", &h);
    printf("parts,price,never,best_interval,best,auto,gain,late,spare_core,one_rank,repaired\n");
    for (int i = 0; i < 3; i++) {
        const double given = (double)parts[i] / (parts[i] - 1), mended = repaired(&h, parts[i]);
        fill(&h, parts[i], aged, promised);
        for (int k = 0; k < 4; k++) {
            const int late = (int)ceil(price[k]) + 1;
            double best;
            check(eqp_policy_hindsight(STEPS, aged, price[k], &best, NULL));
            printf("%d,%g,%.3f,%.3f,%.3f,%.3f,%.3f,%d,%.3f,%.3f,%.3f\n", parts[i], price[k],
                   by_policy("never", price[k], aged, promised), best_interval(price[k], aged), best / STEPS,
                   by_policy("auto", price[k], aged, promised), by_policy("gain", price[k], aged, promised), late,
                   beside(late, aged), given * beside(late, aged), mended);
        }
    }
    free(h.order);
    free(h.weight);
    return 0;
}
