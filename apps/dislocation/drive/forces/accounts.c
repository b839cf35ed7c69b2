/* SPDX-License-Identifier: BSD-3-Clause */
#include "accounts.h"

#include "../../shell/signals.h"

static void add_counts(dd_counts *sum, const dd_counts *counts)
{
    for (int k = 0; k < DD_KINDS; k++) {
        sum->of[k] += counts->of[k];
    }
}

void dd_batches_begin(dd_batches *batches)
{
    batches->batch = (dd_counts){{0}};
    batches->in_batch = 0;
    batches->begin = eqp_cpu_seconds();
}

int dd_batches_end(dd_batches *batches)
{
    dd_evaluator *evaluator = batches->evaluator;
    const double seconds = eqp_cpu_seconds_since(batches->begin);
    int code = EQP_OK;

    if (batches->in_batch > 0) {
        code = eqp_timings_add(evaluator->timings, batches->batch.of, seconds);
        add_counts(&evaluator->total, &batches->batch);
    }
    evaluator->seconds += seconds;
    if (batches->travelling != NULL && code == EQP_OK) {
        code = eqp_route_progress(batches->travelling);
    }
    dd_batches_begin(batches);
    return code;
}

int dd_batches_add(dd_batches *batches, const dd_counts *counts)
{
    int code = app_signals_stop();

    add_counts(&batches->batch, counts);
    if (code == EQP_OK && ++batches->in_batch >= DD_BATCH_TARGETS) {
        code = dd_batches_end(batches);
    }
    return code;
}

void dd_account(dd_evaluator *evaluator, const dd_stage *stage, int64_t local, const dd_target *target,
                const dd_counts *counts)
{
    const int64_t source = stage->source[local];

    add_counts(&evaluator->mapped, counts);
    if (source >= 0) {
        add_counts(&evaluator->of_node[stage->own_node[source]], counts);
    } else {
        add_counts(&evaluator->of_share[target->share], counts);
    }
}

void dd_compute_pairs(const dd_evaluator *evaluator, const dd_columns *columns, int64_t place, int nruns,
                      const dd_run *runs, dd_counts *counts)
{
    const dd_segment segment = dd_columns_segment(columns, place);
    dd_pair_counts pairs = {0, 0};
    double force[6] = {0.0};

    evaluator->pairs(&evaluator->medium, &segment, columns, nruns, runs, force, &pairs);
    counts->of[DD_KIND_RUN] += nruns;
    counts->of[DD_KIND_PAIR] += pairs.general;
    counts->of[DD_KIND_PARALLEL] += pairs.parallel;
    for (int c = 0; c < 6; c++) {
        columns->force[c][place] += force[c];
    }
}
