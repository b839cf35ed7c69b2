/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_newmap.h"

#include "run_items.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of an even load, that a part gets of the items however much it does beside them: shares must not be 0. */
#define SMALLEST_SHARE 0.01

struct app_newmap {
    MPI_Comm comm;
    app_rebalance_options options;
    int nparts;
    const app_owners *owners;
    app_units units; /* none where owners are assigned */
    app_items items;
    double *seconds;         /* [items] of each, however it is weighed */
    int64_t nitems;          /* over all ranks */
    eqp_units_totals totals; /* of all owners */
    eqp_balance_result result;
};

static int count_parts(MPI_Comm comm, const app_rebalance_options *options)
{
    int nranks;

    MPI_Comm_size(comm, &nranks);
    return options->nparts > 0 ? options->nparts : nranks;
}

void app_newmap_close(app_newmap *newmap)
{
    if (newmap != NULL) {
        app_items_free(&newmap->items);
        app_units_free(&newmap->units);
        free(newmap->seconds);
        free(newmap);
    }
}

/* Fills the items and numbers them over all ranks. */
static int make_items(app_newmap *newmap, const app_map *old)
{
    app_items *items = &newmap->items;
    int64_t before = 0;
    int code = app_items_fill(items, newmap->owners, &newmap->units, old);

    if (code == EQP_OK) {
        code = eqp_array_create(&newmap->seconds, items->view.n, sizeof *newmap->seconds);
    }
    EQP_TRY(eqp_agree(newmap->comm, code, NULL));
    EQP_TRY(eqp_scan_int64(newmap->comm, items->view.n, &before, &newmap->nitems));
    for (int64_t i = 0; i < items->view.n; i++) {
        items->id[i] = before + i;
        newmap->seconds[i] = items->weight[i];
    }
done:
    if (!(newmap->options.method->flags & EQP_NEEDS_WEIGHTS)) {
        items->view.weight = NULL; /* nobody has weighed: particles count */
    }
    return code;
}

int app_newmap_open(MPI_Comm comm, const app_rebalance_options *options, app_owners *owners, const app_map *old,
                    app_newmap **newmap, eqp_message *message)
{
    app_newmap *made = NULL;
    int code = eqp_agree(comm, eqp_array_create(&made, 1, sizeof *made), NULL);

    if (code != EQP_OK) {
        free(made);
        return code;
    }
    made->comm = comm;
    made->options = *options;
    made->nparts = count_parts(comm, options);
    made->owners = owners;
    if (app_wants_units(options)) {
        code = app_units_make(comm, options, made->nparts, owners, &made->totals, &made->units, message);
    }
    if (code == EQP_OK) {
        code = make_items(made, old);
    }
    if (code != EQP_OK) {
        app_newmap_close(made);
        return code;
    }
    *newmap = made;
    return EQP_OK;
}

/* Of the items each part is to get what is left of its part of all there is to do, in proportion to its speed: shares
 * [nparts] with sum 1, or NULL where they are equal. */
static int make_shares(const app_newmap *newmap, const double *beside, double **shares)
{
    const app_items *items = &newmap->items;
    const app_speeds speeds = newmap->options.speeds;
    const int nparts = newmap->nparts;
    double even = 0.0, sum = 0.0, *share = NULL;
    int code;

    *shares = NULL;
    beside = items->view.weight != NULL ? beside : NULL;
    if (beside == NULL && speeds.n == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t i = 0; i < items->view.n; i++) {
        even += items->weight[i];
    }
    EQP_TRY(eqp_sum_double(newmap->comm, 1, &even));
    EQP_TRY(eqp_agree(newmap->comm, eqp_array_create(&share, nparts, sizeof *share), NULL));
done:
    if (code != EQP_OK || (even <= 0.0 && speeds.n == 0)) {
        free(share);
        return code;
    }
    if (even <= 0.0) { /* nobody has weighed */
        beside = NULL;
        even = 1.0;
    }
    for (int p = 0; p < nparts && beside != NULL; p++) {
        even += beside[p];
    }
    even /= nparts;
    for (int p = 0; p < nparts; p++) {
        const double whole = even * app_speed_of(speeds, p);
        share[p] = fmax(whole - (beside != NULL ? beside[p] : 0.0), SMALLEST_SHARE * whole);
        sum += share[p];
    }
    for (int p = 0; p < nparts; p++) {
        share[p] /= sum;
    }
    *shares = share;
    return EQP_OK;
}

/* The parts of another method instead of the present ones. */
static int start_from(app_newmap *newmap, const eqp_balance_options *wanted)
{
    const eqp_method *start = newmap->options.how.start;
    app_items *items = &newmap->items;
    eqp_balance_options first = *wanted;
    int code;

    first.settings = (eqp_settings){{0}};
    if (newmap->options.aspect > 0) {
        (void)eqp_method_suggest(start, "aspect", newmap->options.aspect, &first.settings);
    }
    code = eqp_balance(newmap->comm, start, &items->view, &first, items->part, NULL);
    for (int64_t i = 0; i < items->view.n && code == EQP_OK; i++) {
        items->part_now[i] = items->part[i];
    }
    return code;
}

int app_newmap_assign(app_newmap *newmap, const double *beside, eqp_message *message)
{
    const app_rebalance_options *options = &newmap->options;
    eqp_balance_options wanted = EQP_BALANCE_OPTIONS_DEFAULTS;
    double *shares = NULL;
    int code;

    EQP_TRY(make_shares(newmap, beside, &shares));
    wanted.nparts = newmap->nparts;
    wanted.share = shares;
    wanted.imbalance_tol = options->assign_tol > 0 ? options->assign_tol : options->imbalance_tol;
    wanted.seed = options->seed;
    wanted.settings = options->settings;
    wanted.part_load = options->part_load;
    wanted.message = message;
    if (options->aspect > 0) {
        (void)eqp_method_suggest(options->method, "aspect", options->aspect, &wanted.settings);
    }
    if (options->how.start != NULL) {
        EQP_TRY(start_from(newmap, &wanted));
    }
    EQP_TRY(
        eqp_balance(newmap->comm, options->method, &newmap->items.view, &wanted, newmap->items.part, &newmap->result));
done:
    free(shares);
    return code;
}

void app_newmap_reweigh(app_newmap *newmap, const double *factor, double share)
{
    app_items *items = &newmap->items;

    for (int64_t i = 0; i < items->view.n; i++) {
        items->weight[i] = share * factor[items->part[i]] * newmap->seconds[i] + (1.0 - share) * items->weight[i];
    }
}

int app_newmap_given(const app_newmap *newmap, double *seconds)
{
    memset(seconds, 0, (size_t)newmap->nparts * sizeof *seconds);
    for (int64_t i = 0; i < newmap->items.view.n; i++) {
        seconds[newmap->items.part[i]] += newmap->seconds[i];
    }
    return eqp_sum_double(newmap->comm, newmap->nparts, seconds);
}

static int add_sizes(MPI_Comm comm, const app_units *units, eqp_sizes *sizes)
{
    eqp_sizes *all = NULL, mine = {.n = 0};
    int64_t n = 0;
    int code = eqp_agree(comm, eqp_sizes_add(&mine, units->n, units->weight), NULL);

    if (code != EQP_OK) {
        return code;
    }
    code = eqp_gather_records(comm, sizeof mine, 1, &mine, &n, &all);
    for (int64_t r = 0; code == EQP_OK && r < n; r++) {
        code = eqp_sizes_merge(sizes, &all[r]);
    }
    free(all);
    return code;
}

int app_newmap_take(const app_newmap *newmap, const double *burden, int64_t nhome, app_map *made,
                    app_verdict **verdicts, app_rebalanced *rebalanced)
{
    int code = EQP_OK;

    *rebalanced = (app_rebalanced){.result = newmap->result, .units = newmap->nitems, .totals = newmap->totals};
    if (newmap->units.units != NULL) {
        code = add_sizes(newmap->comm, &newmap->units, &rebalanced->sizes);
    }
    if (code == EQP_OK) {
        code = app_verdicts_make(newmap->comm, newmap->owners, &newmap->units, newmap->items.part, newmap->nparts,
                                 burden, nhome, made, &rebalanced->split_owners, verdicts);
    }
    return code;
}

int app_newmap_make(MPI_Comm comm, const app_rebalance_options *options, app_owners *owners, const app_map *old,
                    int64_t nhome, app_map *made, app_verdict **verdicts, app_rebalanced *rebalanced,
                    eqp_message *message)
{
    app_newmap *newmap = NULL;
    int code;

    EQP_TRY(app_newmap_open(comm, options, owners, old, &newmap, message));
    EQP_TRY(app_newmap_assign(newmap, options->base, message));
    EQP_TRY(app_newmap_take(newmap, NULL, nhome, made, verdicts, rebalanced));
done:
    app_newmap_close(newmap);
    return code;
}

int app_newmap_of_owners(MPI_Comm comm, const app_owners *owners, const int *part, int64_t nhome, app_map *made,
                         app_verdict **verdicts)
{
    const app_units none = {.units = NULL};
    int64_t nsplit;

    return app_verdicts_make(comm, owners, &none, part, 1, NULL, nhome, made, &nsplit, verdicts);
}
