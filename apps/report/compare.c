/* SPDX-License-Identifier: BSD-3-Clause */
#include "compare.h"

#include "../shell/shell.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void app_compare_first(app_run_settings *run)
{
    run->method = eqp_method_find("sfc");
    run->choice.method = run->method;
    run->choice.options.split = false;
    run->choice.options.even = 0;
    run->share = (eqp_share_options){.kind = EQP_SHARE_EQUAL}; /* of the parts, not of the ranks */
    run->capacities = (eqp_capacities){.n = 0};
    run->steps = run->restart != NULL ? INT32_MAX : 0; /* a restart file may be at any step */
}

typedef struct watch {
    const app_comparison *comparison;
    eqp_progress *progress;
    int64_t done;
} watch;

static void show(void *user, int n, const eqp_compared *rows)
{
    watch *w = user;
    int rank;

    MPI_Comm_rank(w->comparison->comm, &rank);
    if (rank == 0 && w->comparison->run->progress && n > 0) {
        fprintf(stderr, "%s: compared into %d part%s (%lld of %d)\n", w->comparison->program, rows[0].parts,
                app_plural(rows[0].parts), (long long)++w->done, w->comparison->run->nparts_list);
    }
}

int app_compare(app_comparison *comparison, app_record *record, eqp_message *message)
{
    const app_run_settings *run = comparison->run;
    watch w = {.comparison = comparison};
    const eqp_comparison wanted = {.nchoices = run->ncompare,
                                   .choice = run->compare,
                                   .ncounts = run->nparts_list,
                                   .parts = run->parts,
                                   .network = &comparison->network,
                                   .plan = run->exchange_auto ? NULL : &run->exchange,
                                   .nspeeds = run->share.nspeeds,
                                   .speed = run->share.speed,
                                   .capacities = run->capacities,
                                   .on_rows = show,
                                   .user = &w};

    comparison->network = run->network.network;
    EQP_CHECK(eqp_balancer_compare(comparison->balancer, &wanted, &comparison->rows, message));
    comparison->n = run->ncompare * run->nparts_list;
    return app_record_compare(record, &comparison->network, comparison->n, comparison->rows, message);
}

void app_compare_free(app_comparison *comparison)
{
    free(comparison->rows);
    comparison->rows = NULL;
    comparison->n = 0;
}

/* Terms of a modelled step, and their unit. */
static void print_terms(const app_comparison *c)
{
    const eqp_network *network = &c->network;
    const char *unit = c->unitless ? "" : " s";

    printf("imbalance: of the %s loads; next: of the same assignment one step later\n",
           c->recorded ? "recorded" : "modelled");
    printf("step: modelled, with %.3g%s a message, %.3g%s a byte, %d rank%s on a node; every method with %s\n",
           network->alpha, unit, network->beta, unit, network->node, network->node > 1 ? "s" : "",
           c->run->exchange_auto ? "its cheapest exchange plan" : "the exchange plan of --exchange");
    if (c->unitless) {
        printf("loads, steps and what messages cost are in the trace's own unit, which it does not say\n");
    }
    printf("in it: %s; not in it: making maps\n",
           c->recorded ? "loads and messages"
                       : "forces, CPU time outside them, messages that forces do not hide, collective calls");
}

app_compare_look app_comparison_look(const app_comparison *comparison)
{
    return (app_compare_look){.grain_size = comparison->grain_size,
                              .memory = comparison->recorded,
                              .exact = comparison->recorded,
                              .unitless = comparison->unitless};
}

int app_compare_print(const app_comparison *comparison)
{
    const app_compare_look look = app_comparison_look(comparison);
    const int code = app_compare_table(stdout, comparison->n, comparison->rows, &look);

    if (code == EQP_OK) {
        putchar('\n');
        print_terms(comparison);
        putchar('\n');
        app_compare_verdict(stdout, comparison->n, comparison->rows, &look);
    }
    return code;
}
