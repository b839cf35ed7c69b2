/* SPDX-License-Identifier: BSD-3-Clause */
#include "compare.h"

#include "run_compare_report.h"

#include <equipoise/base.h>

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
    run->steps = run->restart != NULL ? INT32_MAX : 0; /* a restart file stands at any step */
}

/* Who watches the rows come. */
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
        fprintf(stderr, "%s: compared into %d parts (%lld of %d)\n", w->comparison->program, rows[0].parts,
                (long long)++w->done, w->comparison->run->nparts_list);
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
    int code;

    comparison->network = run->network.network;
    EQP_TRY(eqp_balancer_compare(comparison->balancer, &wanted, &comparison->rows, message));
    comparison->n = run->ncompare * run->nparts_list;
    EQP_TRY(app_record_compare(record, &comparison->network, comparison->n, comparison->rows, message));
done:
    return code;
}

void app_compare_free(app_comparison *comparison)
{
    free(comparison->rows);
    comparison->rows = NULL;
    comparison->n = 0;
}

int app_compare_text(const app_comparison *comparison, char **text)
{
    static const char format[] = "%s\nimbalance: of the modelled loads; next: of the same assignment one step later\n"
                                 "step: modelled, with %.3g s a message, %.3g s a byte, %d %s; %s\n"
                                 "in it: forces, CPU time outside them, messages that forces do not hide, collective "
                                 "calls; not in it: making maps\n\n"
                                 "%s\n";
    const eqp_network *network = &comparison->network;
    const char *node = network->node > 1 ? "ranks on a node" : "rank on a node";
    const char *plan = comparison->run->exchange_auto ? "every method with its cheapest exchange plan"
                                                      : "every method with the exchange plan of --exchange";
    char *table = NULL, *verdict = NULL, *made = NULL;
    int size, code;

    EQP_TRY(app_compare_table(comparison->n, comparison->rows, comparison->grain_size, &table));
    EQP_TRY(app_compare_verdict(comparison->n, comparison->rows, &verdict));
    size = snprintf(NULL, 0, format, table, network->alpha, network->beta, network->node, node, plan, verdict);
    EQP_TRY(eqp_array_create(&made, (int64_t)size + 1, 1));
    snprintf(made, (size_t)size + 1, format, table, network->alpha, network->beta, network->node, node, plan, verdict);
    *text = made;
done:
    free(table);
    free(verdict);
    return code;
}
