/* SPDX-License-Identifier: BSD-3-Clause */
#include "map/assignment.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "map/items.h"
#include "map/phased.h"
#include "methods/frame/frame.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Smallest share, as a fraction of an even one; shares must be positive. */
#define SMALLEST_SHARE 0.01

struct eqp_assignment {
    MPI_Comm comm;
    eqp_map_options options;
    int nparts;
    const eqp_owners *owners;
    eqp_work_units units; /* empty if whole owners are assigned */
    eqp_items items;
    double *seconds;              /* [items] seconds, independent of the weights */
    int *home;                    /* [items] homes of owners that are computed elsewhere; NULL: homes are parts */
    int *phased;                  /* [items][phases] parts by phase; NULL: the same in all */
    bool stays[EQP_CYCLE_PHASES]; /* phases computed at home */
    bool by_work;                 /* homes are runs of equal work, not of equally many particles */
    int64_t nitems;               /* over all ranks */
    eqp_units_totals totals;      /* of all owners */
    eqp_balance_result result;
    const double *memory_overhead; /* [nparts] bytes that each part needs besides its items, or NULL */
    bool uncapped;                 /* memory does not matter */
};

static int count_parts(MPI_Comm comm, const eqp_map_options *options)
{
    int nranks;

    MPI_Comm_size(comm, &nranks);
    return options->nparts > 0 ? options->nparts : nranks;
}

void eqp__assignment_close(eqp_assignment *a)
{
    if (a != NULL) {
        eqp__items_free(&a->items);
        eqp__work_units_free(&a->units);
        EQP__FREE(a->seconds, a->home, a->phased, a);
    }
}

/* The loads of an item in the phases of a cycle, if there are several. */
static void scale_phases(const eqp_assignment *a, int64_t item, double factor)
{
    const int nphases = a->owners->phases.n;

    for (int k = 0; k < nphases; k++) {
        a->items.phase[item * nphases + k] *= factor;
    }
}

static int round_weights(const eqp_assignment *a)
{
    const eqp_items *items = &a->items;
    const int64_t n = items->view.n, nphases = a->owners->phases.n;

    EQP__CHECK(eqp__weights_round(a->comm, n, items->weight));
    return nphases > 0 ? eqp__weights_round(a->comm, n * nphases, items->phase) : EQP_OK;
}

/* Fills the items and numbers them over all ranks. */
static int make_items(eqp_assignment *a, const eqp_map *old)
{
    eqp_items *items = &a->items;
    int64_t before = 0;
    int code = eqp__items_fill(items, a->owners, &a->units, old);

    code = code ? code : eqp_array_create(&a->seconds, items->view.n, sizeof *a->seconds);
    if (a->units.units == NULL && eqp__map_options_wants_pins(&a->options)) { /* the same on all ranks */
        const double branch = a->options.method->flags & EQP_NETS_BRANCHES ? a->options.branch * a->nparts : 0.0;
        code = eqp__items_take_pins(a->comm, items, a->owners, branch, a->nparts, code);
    }
    EQP_TRY(eqp_agree(a->comm, code, NULL));
    EQP_TRY(eqp_scan_int64(a->comm, items->view.n, &before, &a->nitems));
    for (int64_t i = 0; i < items->view.n; i++) {
        const double *factor = items->part_now[i] >= 0 ? a->options.factor : NULL;
        items->id[i] = before + i;
        items->weight[i] *= factor != NULL ? factor[items->part_now[i]] : 1.0;
        scale_phases(a, i, factor != NULL ? factor[items->part_now[i]] : 1.0);
    }
    EQP_TRY(round_weights(a));
    for (int64_t i = 0; i < items->view.n; i++) {
        a->seconds[i] = items->weight[i];
    }
done:
    if (!(a->options.method->flags & EQP_NEEDS_WEIGHTS)) {
        items->view.weight = items->view.phase_load = NULL; /* without weights, particles count */
    }
    return code;
}

int eqp__assignment_open(MPI_Comm comm, const eqp_map_options *options, eqp_owners *owners, const eqp_map *old,
                         eqp_assignment **assignment, eqp_message *message)
{
    eqp_assignment *made = NULL;
    int code = eqp_agree(comm, eqp_array_create(&made, 1, sizeof *made), NULL);

    if (code != EQP_OK) {
        free(made);
        return code;
    }
    made->comm = comm;
    made->options = *options;
    made->nparts = count_parts(comm, options);
    made->owners = owners;
    if (eqp__map_options_wants_units(options)) {
        code = eqp__work_units_make(comm, options, made->nparts, owners, &made->totals, &made->units, message);
    }
    code = code ? code : make_items(made, old);
    if (code != EQP_OK) {
        eqp__assignment_close(made);
        return code;
    }
    *assignment = made;
    return EQP_OK;
}

void eqp__assignment_share_out(int nparts, double even, const double *overhead, eqp_part_speeds speeds, double *share)
{
    double sum = 0.0;

    if (even <= 0.0) { /* no weights */
        overhead = NULL;
        even = 1.0;
    }
    for (int p = 0; p < nparts && overhead != NULL; p++) {
        even += overhead[p];
    }
    even /= nparts;
    for (int p = 0; p < nparts; p++) {
        const double whole = even * eqp_part_speed(speeds, p);
        share[p] = fmax(whole - (overhead != NULL ? overhead[p] : 0.0), SMALLEST_SHARE * whole);
        sum += share[p];
    }
    for (int p = 0; p < nparts; p++) {
        share[p] /= sum;
    }
}

/* Share of each part: its share of the total by speed, minus its overhead. shares: [nparts] with sum 1, or NULL if
 * equal. */
static int make_shares(const eqp_assignment *a, const double *overhead, double **shares)
{
    const eqp_items *items = &a->items;
    const eqp_part_speeds speeds = a->options.speeds;
    const int nparts = a->nparts;
    double even = 0.0, *share = NULL;
    int code;

    *shares = NULL;
    overhead = items->view.weight != NULL ? overhead : NULL;
    if (overhead == NULL && speeds.n == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t i = 0; i < items->view.n; i++) {
        even += items->weight[i];
    }
    EQP_TRY(eqp_sum_double(a->comm, 1, &even));
    EQP_TRY(eqp_agree(a->comm, eqp_array_create(&share, nparts, sizeof *share), NULL));
done:
    if (code != EQP_OK || (even <= 0.0 && speeds.n == 0)) {
        free(share);
        return code;
    }
    eqp__assignment_share_out(nparts, even, overhead, speeds, share);
    *shares = share;
    return EQP_OK;
}

/* Starts from the parts of another method instead of the present ones. */
static int start_from(eqp_assignment *a, const eqp_balance_options *wanted)
{
    const eqp_method *start = a->options.how.start;
    eqp_items *items = &a->items;
    eqp_balance_options first = *wanted;
    int code;

    first.settings = (eqp_settings){{0}};
    first.capacity = NULL;
    if (a->options.aspect > 0) {
        (void)eqp__method_suggest(start, "aspect", a->options.aspect, &first.settings);
    }
    code = eqp_balance(a->comm, start, &items->view, &first, items->part, NULL);
    for (int64_t i = 0; i < items->view.n && code == EQP_OK; i++) {
        items->part_now[i] = items->part[i];
    }
    return code;
}

eqp_balance_options eqp__assignment_wanted(const eqp_map_options *options, int nparts, const eqp_owners *owners,
                                           bool weighed)
{
    eqp_balance_options wanted = eqp_balance_options_defaults();

    wanted.nparts = nparts;
    wanted.imbalance_tol = options->assign_tol > 0 ? options->assign_tol : options->imbalance_tol;
    wanted.seed = options->seed;
    wanted.settings = options->settings;
    if (weighed && owners->phases.n > 0) {
        wanted.nphases = owners->phases.n;
        wanted.times = owners->phases.times;
    }
    if (options->aspect > 0) {
        (void)eqp__method_suggest(options->method, "aspect", options->aspect, &wanted.settings);
    }
    return wanted;
}

static bool wants_phases(const eqp_assignment *a)
{
    return a->options.how.maps && a->owners->phases.n > 0 && a->items.view.weight != NULL;
}

/* Cuts the curve into a run for each part, by particles or by work as in `sfc`, within the capacities. */
static int find_runs(eqp_assignment *a, bool by_work, const int64_t *capacity, const eqp_balance_options *options)
{
    eqp_balance_options wanted = eqp_balance_options_defaults();
    eqp_balance_items items = a->items.view;

    free(a->home);
    a->home = NULL;
    a->by_work = by_work;
    EQP__CHECK(eqp_agree(a->comm, eqp_array_create(&a->home, items.n, sizeof *a->home), NULL));
    wanted.message = options->message;
    wanted.capacity = capacity;
    wanted.nparts = a->nparts;
    wanted.share = by_work ? options->share : NULL;
    wanted.imbalance_tol = options->imbalance_tol;
    items.phase_load = NULL;
    items.part_now = NULL;
    return eqp_balance(a->comm, by_work ? &eqp__method_sfc : &eqp__method_count, &items, &wanted, a->home, NULL);
}

/* Data live in runs of the curve; each part gets the number of the run that it shares most work with, unless part
 * numbers are fixed. */
static int find_homes(eqp_assignment *a, const eqp_balance_options *options, const int64_t *capacity)
{
    /* with a map for each phase most work is done at home, provided that homes have equal work */
    EQP__CHECK(a->home == NULL || a->by_work != wants_phases(a) || capacity != NULL
                   ? find_runs(a, wants_phases(a), capacity, options)
                   : EQP_OK);
    if (a->phased != NULL) {
        EQP__CHECK(eqp__phased_relabel(a->comm, &a->items, a->owners->phases.n, a->home, options, a->phased));
    } else if (a->options.method != &eqp__method_repair && a->items.view.weight != NULL) {
        EQP__CHECK(eqp__relabel_all(a->comm, &a->items.view, a->home, options, a->items.part, NULL));
    }
    return EQP_OK;
}

static int assign_phases(eqp_assignment *a, const eqp_balance_options *wanted)
{
    const eqp_cycle_turns *phases = &a->owners->phases;
    int code = EQP_OK;

    memset(a->stays, 0, sizeof a->stays);
    if (a->phased == NULL) {
        code = eqp_array_create(&a->phased, a->items.view.n * phases->n, sizeof *a->phased);
        EQP_TRY(eqp_agree(a->comm, code, NULL));
    }
    EQP_TRY(eqp__phased_assign(a->comm, a->options.method, &a->items, phases, wanted, a->phased, &a->result));
done:
    return code;
}

void eqp__assignment_remember(eqp_assignment *a, const double *overhead, bool capped)
{
    a->memory_overhead = overhead;
    a->uncapped = !capped;
}

int eqp__assignment_held(const eqp_assignment *a, double *bytes)
{
    const int *home = a->options.how.homes ? a->home : a->items.part;

    memset(bytes, 0, (size_t)a->nparts * sizeof *bytes);
    for (int64_t i = 0; i < a->items.view.n; i++) {
        bytes[home[i]] += a->options.memory.model.held * (double)a->items.particles[i];
    }
    return eqp_sum_double(a->comm, a->nparts, bytes);
}

/* Capacity of each part for items. size: of all items; per_byte: bytes of memory per byte of size. */
static void share_memory(const eqp_assignment *a, double size, double per_byte, int64_t *capacity)
{
    const eqp_part_memory *memory = &a->options.memory;
    const double fixed = memory->known ? memory->model.fixed : 0.0;
    double mean = fixed + per_byte * size / a->nparts;

    for (int p = 0; p < a->nparts && a->memory_overhead != NULL; p++) {
        mean += (a->memory_overhead[p] - fixed) / a->nparts;
    }
    for (int p = 0; p < a->nparts; p++) {
        const double whole = memory->n > 0 ? memory->bytes[p % memory->n] : memory->of_mean * mean;
        const double left = whole - (a->memory_overhead != NULL ? a->memory_overhead[p] : fixed);
        capacity[p] = (int64_t)fmax(fmin(left / per_byte, 0x1p61), 0.0);
    }
}

/* Upper limits on the sizes of the parts' items: [nparts], or NULL without limits. Collective. */
static int make_capacities(const eqp_assignment *a, int64_t **capacity)
{
    const eqp_part_memory *memory = &a->options.memory;
    double sum[2] = {0.0, 0.0};

    *capacity = NULL;
    if (!eqp__memory_is_capped(memory) || a->uncapped) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t i = 0; i < a->items.view.n; i++) {
        sum[0] += (double)a->items.size[i];
        sum[1] += (double)a->items.particles[i];
    }
    EQP__CHECK(eqp_sum_double(a->comm, 2, sum));
    const double taken = memory->known ? memory->model.held * sum[1] : sum[0];
    if (sum[0] > 0.0 && taken > 0.0) {
        EQP__CHECK(eqp_agree(a->comm, eqp_array_create(capacity, a->nparts, sizeof **capacity), NULL));
        share_memory(a, sum[0], taken / sum[0], *capacity);
    }
    return EQP_OK;
}

int eqp__assignment_find(eqp_assignment *a, const double *overhead, eqp_message *message)
{
    const eqp_map_options *options = &a->options;
    eqp_balance_options wanted = eqp__assignment_wanted(options, a->nparts, a->owners, a->items.view.weight != NULL);
    double *shares = NULL;
    int64_t *capacity = NULL;
    int code;

    EQP_TRY(make_shares(a, overhead, &shares));
    EQP_TRY(make_capacities(a, &capacity));
    wanted.share = shares;
    wanted.part_load = options->part_load;
    wanted.message = message;
    wanted.capacity = options->how.homes ? NULL : capacity; /* homes elsewhere: memory does not depend on the parts */
    if (options->how.start != NULL) {
        EQP_TRY(start_from(a, &wanted));
    }
    EQP_TRY(wants_phases(a)
                ? assign_phases(a, &wanted)
                : eqp_balance(a->comm, options->method, &a->items.view, &wanted, a->items.part, &a->result));
    EQP_TRY(options->how.homes ? find_homes(a, &wanted, capacity) : EQP_OK);
done:
    EQP__FREE(capacity, shares);
    return code;
}

int eqp__assignment_reweigh(eqp_assignment *a, const double *factor, double share)
{
    eqp_items *items = &a->items;

    for (int64_t i = 0; i < items->view.n; i++) {
        const double before = items->weight[i];
        items->weight[i] = share * factor[items->part[i]] * a->seconds[i] + (1.0 - share) * before;
        scale_phases(a, i, before > 0.0 ? items->weight[i] / before : 1.0);
    }
    return round_weights(a);
}

bool eqp__assignment_is_phased(const eqp_assignment *a)
{
    return a->phased != NULL;
}

int eqp__assignment_live(eqp_assignment *a, bool by_work, const bool *stays, eqp_message *message)
{
    eqp_balance_options wanted = eqp_balance_options_defaults();
    double *shares = NULL;
    int code = EQP_OK;

    memcpy(a->stays, stays, (size_t)a->owners->phases.n * sizeof *stays);
    if (by_work == a->by_work) {
        return EQP_OK;
    }
    EQP_TRY(make_shares(a, NULL, &shares));
    wanted.nparts = a->nparts;
    wanted.share = shares;
    wanted.message = message;
    EQP_TRY(find_runs(a, by_work, NULL, &wanted));
    EQP_TRY(eqp__phased_relabel(a->comm, &a->items, a->owners->phases.n, a->home, &wanted, a->phased));
done:
    free(shares);
    return code;
}

/* Parts by phase: [items][phases], owned by the caller; NULL if the same in all phases. */
static int find_phased(const eqp_assignment *a, int **phased)
{
    const int nphases = a->owners->phases.n;
    const int64_t n = a->items.view.n;

    if (a->phased != NULL) { /* the same on all ranks */
        EQP__CHECK(eqp_agree(a->comm, eqp_array_create(phased, n * nphases, sizeof **phased), NULL));
        for (int64_t i = 0; i < n * nphases; i++) {
            (*phased)[i] = a->stays[i % nphases] ? a->home[i / nphases] : a->phased[i];
        }
    }
    return EQP_OK;
}

int eqp__assignment_given(const eqp_assignment *a, double *seconds)
{
    memset(seconds, 0, (size_t)a->nparts * sizeof *seconds);
    for (int64_t i = 0; i < a->items.view.n; i++) {
        seconds[a->items.part[i]] += a->seconds[i];
    }
    return eqp_sum_double(a->comm, a->nparts, seconds);
}

static int add_sizes(MPI_Comm comm, const eqp_work_units *units, eqp_sizes *sizes)
{
    eqp_sizes *all = NULL, mine = {.n = 0};
    int64_t n = 0;
    int code = eqp_agree(comm, eqp_sizes_add(&mine, units->n, units->weight), NULL);

    EQP__CHECK(code);
    code = eqp_gather_records(comm, sizeof mine, 1, &mine, &n, &all);
    for (int64_t r = 0; code == EQP_OK && r < n; r++) {
        code = eqp_sizes_merge(sizes, &all[r]);
    }
    free(all);
    return code;
}

int eqp__assignment_take(const eqp_assignment *a, const double *loads, int64_t nhome, eqp_map **made,
                         eqp_placement **placements, eqp_map_made *summary)
{
    int *phased = NULL;
    int code;

    *summary = (eqp_map_made){.result = a->result, .units = a->nitems, .totals = a->totals};
    if (a->owners->phases.n > 0 && a->items.view.weight != NULL) {
        summary->result.imbalance = 1.0 / a->result.cycle_efficiency - 1.0;
    }
    EQP_TRY(a->units.units != NULL ? add_sizes(a->comm, &a->units, &summary->sizes) : EQP_OK);
    EQP_TRY(find_phased(a, &phased));
    const eqp__assigned assigned = {.nparts = a->nparts,
                                    .part = a->items.part,
                                    .home = a->home,
                                    .nphases = phased != NULL ? a->owners->phases.n : 0,
                                    .phased = phased,
                                    .loads = loads};
    EQP_TRY(eqp__placements_make(a->comm, a->owners, &a->units, &assigned, nhome, made, placements));
    summary->split_owners = eqp_map_shared(*made) - eqp_map_phased(*made, NULL, NULL);
done:
    free(phased);
    return code;
}

int eqp__assignment_make(MPI_Comm comm, const eqp_map_options *options, eqp_owners *owners, const eqp_map *old,
                         int64_t nhome, eqp_map **made, eqp_placement **placements, eqp_map_made *summary,
                         eqp_message *message)
{
    eqp_assignment *assignment = NULL;
    int code;

    EQP_TRY(eqp__assignment_open(comm, options, owners, old, &assignment, message));
    EQP_TRY(eqp__assignment_find(assignment, options->base, message));
    EQP_TRY(eqp__assignment_take(assignment, NULL, nhome, made, placements, summary));
done:
    eqp__assignment_close(assignment);
    return code;
}

int eqp__assignment_of_owners(MPI_Comm comm, const eqp_owners *owners, const int *part, int64_t nhome, eqp_map **made,
                              eqp_placement **placements)
{
    const eqp_work_units none = {.units = NULL};
    const eqp__assigned assigned = {.nparts = 1, .part = part};

    return eqp__placements_make(comm, owners, &none, &assigned, nhome, made, placements);
}
