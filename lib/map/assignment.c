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

void eqp__assignment_close(eqp_assignment *assignment)
{
    if (assignment != NULL) {
        eqp__items_free(&assignment->items);
        eqp__work_units_free(&assignment->units);
        EQP__FREE(assignment->seconds, assignment->home, assignment->phased, assignment);
    }
}

/* The loads of an item in the phases of a cycle, if there are several. */
static void scale_phases(const eqp_assignment *assignment, int64_t item, double factor)
{
    const int nphases = assignment->owners->phases.n;

    for (int k = 0; k < nphases; k++) {
        assignment->items.phase[item * nphases + k] *= factor;
    }
}

static int round_weights(const eqp_assignment *assignment)
{
    const eqp_items *items = &assignment->items;
    const int64_t n = items->view.n, nphases = assignment->owners->phases.n;

    EQP__CHECK(eqp__weights_round(assignment->comm, n, items->weight));
    return nphases > 0 ? eqp__weights_round(assignment->comm, n * nphases, items->phase) : EQP_OK;
}

/* Fills the items and numbers them over all ranks. */
static int make_items(eqp_assignment *assignment, const eqp_map *old)
{
    eqp_items *items = &assignment->items;
    int64_t before = 0;
    int code = eqp__items_fill(items, assignment->owners, &assignment->units, old);

    code = code ? code : eqp_array_create(&assignment->seconds, items->view.n, sizeof *assignment->seconds);
    if (assignment->units.units == NULL &&
        eqp__map_options_wants_pins(&assignment->options)) { /* the same on all ranks */
        const double branch = assignment->options.method->flags & EQP_NETS_BRANCHES
                                  ? assignment->options.branch * assignment->nparts
                                  : 0.0;
        code = eqp__items_take_pins(assignment->comm, items, assignment->owners, branch, assignment->nparts, code);
    }
    EQP_TRY(eqp_agree(assignment->comm, code, NULL));
    EQP_TRY(eqp_scan_int64(assignment->comm, items->view.n, &before, &assignment->nitems));
    for (int64_t i = 0; i < items->view.n; i++) {
        const double *factor = items->part_now[i] >= 0 ? assignment->options.factor : NULL;
        items->id[i] = before + i;
        items->weight[i] *= factor != NULL ? factor[items->part_now[i]] : 1.0;
        scale_phases(assignment, i, factor != NULL ? factor[items->part_now[i]] : 1.0);
    }
    EQP_TRY(round_weights(assignment));
    for (int64_t i = 0; i < items->view.n; i++) {
        assignment->seconds[i] = items->weight[i];
    }
done:
    if (!(assignment->options.method->flags & EQP_NEEDS_WEIGHTS)) {
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
static int make_shares(const eqp_assignment *assignment, const double *overhead, double **shares)
{
    const eqp_items *items = &assignment->items;
    const eqp_part_speeds speeds = assignment->options.speeds;
    const int nparts = assignment->nparts;
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
    EQP_TRY(eqp_sum_double(assignment->comm, 1, &even));
    EQP_TRY(eqp_agree(assignment->comm, eqp_array_create(&share, nparts, sizeof *share), NULL));
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
static int start_from(eqp_assignment *assignment, const eqp_balance_options *wanted)
{
    const eqp_method *start = assignment->options.how.start;
    eqp_items *items = &assignment->items;
    eqp_balance_options first = *wanted;
    int code;

    first.settings = (eqp_settings){{0}};
    first.capacity = NULL;
    if (assignment->options.aspect > 0) {
        (void)eqp__method_suggest(start, "aspect", assignment->options.aspect, &first.settings);
    }
    code = eqp_balance(assignment->comm, start, &items->view, &first, items->part, NULL);
    for (int64_t i = 0; i < items->view.n && code == EQP_OK; i++) {
        items->part_now[i] = items->part[i];
    }
    return code;
}

void eqp__assignment_cycle(const eqp_owners *owners, bool weighed, eqp_balance_options *options)
{
    if (weighed && owners->phases.n > 0) {
        options->nphases = owners->phases.n;
        options->times = owners->phases.times;
    }
}

static bool wants_phases(const eqp_assignment *assignment)
{
    return assignment->options.how.maps && assignment->owners->phases.n > 0 && assignment->items.view.weight != NULL;
}

/* Cuts the curve into a run for each part, by particles or by work as in `sfc`, within the capacities. */
static int find_runs(eqp_assignment *assignment, bool by_work, const int64_t *capacity,
                     const eqp_balance_options *options)
{
    eqp_balance_options wanted = eqp_balance_options_defaults();
    eqp_balance_items items = assignment->items.view;

    free(assignment->home);
    assignment->home = NULL;
    assignment->by_work = by_work;
    EQP__CHECK(
        eqp_agree(assignment->comm, eqp_array_create(&assignment->home, items.n, sizeof *assignment->home), NULL));
    wanted.message = options->message;
    wanted.capacity = capacity;
    wanted.nparts = assignment->nparts;
    wanted.share = by_work ? options->share : NULL;
    wanted.imbalance_tol = options->imbalance_tol;
    items.phase_load = NULL;
    items.part_now = NULL;
    return eqp_balance(assignment->comm, by_work ? &eqp__method_sfc : &eqp__method_count, &items, &wanted,
                       assignment->home, NULL);
}

/* Data live in runs of the curve; each part gets the number of the run that it shares most work with, unless part
 * numbers are fixed. */
static int find_homes(eqp_assignment *assignment, const eqp_balance_options *options, const int64_t *capacity)
{
    /* with a map for each phase most work is done at home, provided that homes have equal work */
    EQP__CHECK(assignment->home == NULL || assignment->by_work != wants_phases(assignment) || capacity != NULL
                   ? find_runs(assignment, wants_phases(assignment), capacity, options)
                   : EQP_OK);
    if (assignment->phased != NULL) {
        EQP__CHECK(eqp__phased_relabel(assignment->comm, &assignment->items, assignment->owners->phases.n,
                                       assignment->home, options, assignment->phased));
    } else if (assignment->options.method != &eqp__method_repair && assignment->items.view.weight != NULL) {
        EQP__CHECK(eqp__relabel_all(assignment->comm, &assignment->items.view, assignment->home, options,
                                    assignment->items.part, NULL));
    }
    return EQP_OK;
}

static int assign_phases(eqp_assignment *assignment, const eqp_balance_options *wanted)
{
    const eqp_cycle_turns *phases = &assignment->owners->phases;
    int code = EQP_OK;

    memset(assignment->stays, 0, sizeof assignment->stays);
    if (assignment->phased == NULL) {
        code = eqp_array_create(&assignment->phased, assignment->items.view.n * phases->n, sizeof *assignment->phased);
        EQP_TRY(eqp_agree(assignment->comm, code, NULL));
    }
    EQP_TRY(eqp__phased_assign(assignment->comm, assignment->options.method, &assignment->items, phases, wanted,
                               assignment->phased, &assignment->result));
done:
    return code;
}

void eqp__assignment_remember(eqp_assignment *assignment, const double *overhead, bool capped)
{
    assignment->memory_overhead = overhead;
    assignment->uncapped = !capped;
}

int eqp__assignment_held(const eqp_assignment *assignment, double *bytes)
{
    const int *home = assignment->options.how.homes ? assignment->home : assignment->items.part;

    memset(bytes, 0, (size_t)assignment->nparts * sizeof *bytes);
    for (int64_t i = 0; i < assignment->items.view.n; i++) {
        bytes[home[i]] += assignment->options.memory.model.held * (double)assignment->items.particles[i];
    }
    return eqp_sum_double(assignment->comm, assignment->nparts, bytes);
}

/* Capacity of each part for items. size: of all items; per_byte: bytes of memory per byte of size. */
static void share_memory(const eqp_assignment *assignment, double size, double per_byte, int64_t *capacity)
{
    const eqp_part_memory *memory = &assignment->options.memory;
    const double fixed = memory->known ? memory->model.fixed : 0.0;
    double mean = fixed + per_byte * size / assignment->nparts;

    for (int p = 0; p < assignment->nparts && assignment->memory_overhead != NULL; p++) {
        mean += (assignment->memory_overhead[p] - fixed) / assignment->nparts;
    }
    for (int p = 0; p < assignment->nparts; p++) {
        const double whole = memory->n > 0 ? memory->bytes[p % memory->n] : memory->of_mean * mean;
        const double left = whole - (assignment->memory_overhead != NULL ? assignment->memory_overhead[p] : fixed);
        capacity[p] = (int64_t)fmax(fmin(left / per_byte, 0x1p61), 0.0);
    }
}

/* Upper limits on the sizes of the parts' items: [nparts], or NULL without limits. Collective. */
static int make_capacities(const eqp_assignment *assignment, int64_t **capacity)
{
    const eqp_part_memory *memory = &assignment->options.memory;
    double sum[2] = {0.0, 0.0};

    *capacity = NULL;
    if (!eqp__memory_is_capped(memory) || assignment->uncapped) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t i = 0; i < assignment->items.view.n; i++) {
        sum[0] += (double)assignment->items.size[i];
        sum[1] += (double)assignment->items.particles[i];
    }
    EQP__CHECK(eqp_sum_double(assignment->comm, 2, sum));
    const double taken = memory->known ? memory->model.held * sum[1] : sum[0];
    if (sum[0] > 0.0 && taken > 0.0) {
        EQP__CHECK(
            eqp_agree(assignment->comm, eqp_array_create(capacity, assignment->nparts, sizeof **capacity), NULL));
        share_memory(assignment, sum[0], taken / sum[0], *capacity);
    }
    return EQP_OK;
}

int eqp__assignment_find(eqp_assignment *assignment, const double *overhead, eqp_message *message)
{
    const eqp_map_options *options = &assignment->options;
    eqp_balance_options wanted = eqp_balance_options_defaults();
    double *shares = NULL;
    int64_t *capacity = NULL;
    int code;

    EQP_TRY(make_shares(assignment, overhead, &shares));
    EQP_TRY(make_capacities(assignment, &capacity));
    wanted.nparts = assignment->nparts;
    wanted.share = shares;
    wanted.imbalance_tol = options->assign_tol > 0 ? options->assign_tol : options->imbalance_tol;
    wanted.seed = options->seed;
    wanted.settings = options->settings;
    wanted.part_load = options->part_load;
    wanted.message = message;
    wanted.capacity = options->how.homes ? NULL : capacity; /* homes elsewhere: memory does not depend on the parts */
    eqp__assignment_cycle(assignment->owners, assignment->items.view.weight != NULL, &wanted);
    if (options->aspect > 0) {
        (void)eqp__method_suggest(options->method, "aspect", options->aspect, &wanted.settings);
    }
    if (options->how.start != NULL) {
        EQP_TRY(start_from(assignment, &wanted));
    }
    EQP_TRY(wants_phases(assignment) ? assign_phases(assignment, &wanted)
                                     : eqp_balance(assignment->comm, options->method, &assignment->items.view, &wanted,
                                                   assignment->items.part, &assignment->result));
    EQP_TRY(options->how.homes ? find_homes(assignment, &wanted, capacity) : EQP_OK);
done:
    EQP__FREE(capacity, shares);
    return code;
}

int eqp__assignment_reweigh(eqp_assignment *assignment, const double *factor, double share)
{
    eqp_items *items = &assignment->items;

    for (int64_t i = 0; i < items->view.n; i++) {
        const double before = items->weight[i];
        items->weight[i] = share * factor[items->part[i]] * assignment->seconds[i] + (1.0 - share) * before;
        scale_phases(assignment, i, before > 0.0 ? items->weight[i] / before : 1.0);
    }
    return round_weights(assignment);
}

bool eqp__assignment_is_phased(const eqp_assignment *assignment)
{
    return assignment->phased != NULL;
}

int eqp__assignment_live(eqp_assignment *assignment, bool by_work, const bool *stays, eqp_message *message)
{
    eqp_balance_options wanted = eqp_balance_options_defaults();
    double *shares = NULL;
    int code = EQP_OK;

    memcpy(assignment->stays, stays, (size_t)assignment->owners->phases.n * sizeof *stays);
    if (by_work == assignment->by_work) {
        return EQP_OK;
    }
    EQP_TRY(make_shares(assignment, NULL, &shares));
    wanted.nparts = assignment->nparts;
    wanted.share = shares;
    wanted.message = message;
    EQP_TRY(find_runs(assignment, by_work, NULL, &wanted));
    EQP_TRY(eqp__phased_relabel(assignment->comm, &assignment->items, assignment->owners->phases.n, assignment->home,
                                &wanted, assignment->phased));
done:
    free(shares);
    return code;
}

/* Parts by phase: [items][phases], owned by the caller; NULL if the same in all phases. */
static int find_phased(const eqp_assignment *assignment, int **phased)
{
    const int nphases = assignment->owners->phases.n;
    const int64_t n = assignment->items.view.n;

    if (assignment->phased != NULL) { /* the same on all ranks */
        EQP__CHECK(eqp_agree(assignment->comm, eqp_array_create(phased, n * nphases, sizeof **phased), NULL));
        for (int64_t i = 0; i < n * nphases; i++) {
            (*phased)[i] = assignment->stays[i % nphases] ? assignment->home[i / nphases] : assignment->phased[i];
        }
    }
    return EQP_OK;
}

int eqp__assignment_given(const eqp_assignment *assignment, double *seconds)
{
    memset(seconds, 0, (size_t)assignment->nparts * sizeof *seconds);
    for (int64_t i = 0; i < assignment->items.view.n; i++) {
        seconds[assignment->items.part[i]] += assignment->seconds[i];
    }
    return eqp_sum_double(assignment->comm, assignment->nparts, seconds);
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

int eqp__assignment_take(const eqp_assignment *assignment, const double *loads, int64_t nhome, eqp_map **made,
                         eqp_placement **placements, eqp_map_made *summary)
{
    int *phased = NULL;
    int code;

    *summary = (eqp_map_made){.result = assignment->result, .units = assignment->nitems, .totals = assignment->totals};
    if (assignment->owners->phases.n > 0 && assignment->items.view.weight != NULL) {
        summary->result.imbalance = 1.0 / assignment->result.cycle_efficiency - 1.0;
    }
    EQP_TRY(assignment->units.units != NULL ? add_sizes(assignment->comm, &assignment->units, &summary->sizes)
                                            : EQP_OK);
    EQP_TRY(find_phased(assignment, &phased));
    const eqp__assigned assigned = {.nparts = assignment->nparts,
                                    .part = assignment->items.part,
                                    .home = assignment->home,
                                    .nphases = phased != NULL ? assignment->owners->phases.n : 0,
                                    .phased = phased,
                                    .loads = loads};
    EQP_TRY(eqp__placements_make(assignment->comm, assignment->owners, &assignment->units, &assigned, nhome, made,
                                 placements));
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
