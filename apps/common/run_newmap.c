/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_newmap.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of an even load, that a part gets of the items however much it does beside them: shares must not be 0. */
#define SMALLEST_SHARE 0.01

/* Times that work is assigned again with what sharing costs. */
#define PASSES 2

/* The balancer's items, with the arrays that they borrow. */
typedef struct item_table {
    eqp_balance_items view;
    int64_t *id, *particles, *size;
    double *weight, *point, *source;
    int *part_now, *part;
} item_table;

static void items_free(item_table *items)
{
    void *owned[] = {items->id,    items->particles, items->size,     items->weight,
                     items->point, items->source,    items->part_now, items->part};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
}

static int items_create(item_table *items, int64_t n)
{
    int64_t **counts[] = {&items->id, &items->particles, &items->size};
    int **parts[] = {&items->part_now, &items->part};
    int code = eqp_array_create(&items->weight, n, sizeof *items->weight);

    if (code == EQP_OK) {
        code = eqp_array_create(&items->point, 3 * n, sizeof *items->point);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&items->source, 3 * n, sizeof *items->source);
    }
    for (int i = 0; i < 3 && code == EQP_OK; i++) {
        code = eqp_array_create(counts[i], n, sizeof(int64_t));
    }
    for (int i = 0; i < 2 && code == EQP_OK; i++) {
        code = eqp_array_create(parts[i], n, sizeof(int));
    }
    items->view = (eqp_balance_items){.n = n,
                                      .id = items->id,
                                      .weight = items->weight,
                                      .particles = items->particles,
                                      .point = items->point,
                                      .source = items->source,
                                      .part_now = items->part_now,
                                      .size = items->size};
    return code;
}

/* One more owner for an item: its particles, and its share in the item's position. */
static void add_owner(item_table *items, int64_t item, const app_owner *owner, bool with_particles)
{
    for (int a = 0; a < 3; a++) {
        items->point[3 * item + a] += owner->centre[a];
    }
    if (with_particles) {
        items->particles[item] += owner->particles;
        items->size[item] += owner->bytes;
    }
}

static void fill_from_owners(item_table *items, const app_owners *owners, const app_map *old)
{
    for (int64_t o = 0; o < owners->n; o++) {
        const app_owner *owner = &owners->owner[o];
        items->weight[o] = owners->seconds[o];
        items->part_now[o] = old != NULL ? app_map_own_rank(old, owner->tag) : -1;
        add_owner(items, o, owner, true);
        memcpy(items->source + 3 * o, owner->centre, sizeof owner->centre);
    }
}

/* The present part of most of a unit's work: its owners may have gone to different ones. */
typedef struct vote {
    int part;
    double seconds;
} vote;

static int present_part(const app_owners *owners, const eqp_unit *unit, const int64_t *owner, int64_t n,
                        const app_map *old, vote *votes)
{
    int64_t nvotes = 0, best = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t tag = owners->owner[owner[i]].tag;
        int part = unit->sub < 0 ? app_map_own_rank(old, tag) : app_map_rank(old, tag, unit->centroid);
        int64_t v = 0;
        while (v < nvotes && votes[v].part != part) {
            v++;
        }
        if (v == nvotes) {
            votes[nvotes++] = (vote){part, 0.0};
        }
        votes[v].seconds += owners->seconds[owner[i]];
        best = votes[v].seconds > votes[best].seconds ? v : best;
    }
    return votes[best].part;
}

static void fill_unit(item_table *items, int64_t u, const eqp_unit *unit, double weight, const app_owners *owners,
                      const int64_t *owner, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        /* Of a split owner's seconds the unit has its part. */
        const double whole = owners->weight[owner[i]], part = unit->sub < 0 || !(whole > 0) ? 1.0 : weight / whole;
        items->weight[u] += part * owners->seconds[owner[i]];
        add_owner(items, u, &owners->owner[owner[i]], unit->sub <= 0);
    }
    for (int a = 0; a < 3; a++) {
        items->point[3 * u + a] /= (double)n;
        /* A centroid is the middle between an owner's centre and a source. */
        items->source[3 * u + a] = items->point[3 * u + a] + (unit->sub < 0 ? 0.0 : 2.0 * unit->centroid[a]);
    }
}

static int fill_from_units(item_table *items, const app_owners *owners, const app_units *made, const app_map *old)
{
    const int64_t *first, *owner;
    vote *votes = NULL;
    int code = eqp_array_create(&votes, owners->n, sizeof *votes);

    eqp_units_owners(made->units, &first, &owner);
    for (int64_t u = 0; u < made->n && code == EQP_OK; u++) {
        const int64_t *of_unit = owner + first[u], n = first[u + 1] - first[u];
        eqp_unit unit;
        code = eqp_units_get(made->units, u, &unit);
        fill_unit(items, u, &unit, made->weight[u], owners, of_unit, n);
        items->part_now[u] = old == NULL ? -1 : present_part(owners, &unit, of_unit, n, old, votes);
    }
    items->view.pin_first = made->pin_first;
    items->view.pin = made->pin;
    free(votes);
    return code;
}

static int count_parts(MPI_Comm comm, const app_rebalance_options *options)
{
    int nranks;

    MPI_Comm_size(comm, &nranks);
    return options->nparts > 0 ? options->nparts : nranks;
}

/* The parts of another method instead of the present ones. */
static int start_from(MPI_Comm comm, item_table *items, const eqp_method *start, const eqp_balance_options *wanted)
{
    int code = eqp_balance(comm, start, &items->view, wanted, items->part, NULL);

    for (int64_t i = 0; i < items->view.n && code == EQP_OK; i++) {
        items->part_now[i] = items->part[i];
    }
    return code;
}

/* Of the items each part is to get what is left of its part of all there is to do: shares [nparts] with sum 1, or NULL
 * where they are equal. */
static int make_shares(MPI_Comm comm, const item_table *items, const double *base, int nparts, double **shares)
{
    double even = 0.0, sum = 0.0, *share = NULL;
    int code;

    *shares = NULL;
    if (base == NULL || items->view.weight == NULL) { /* the same on all ranks */
        return EQP_OK;
    }
    for (int64_t i = 0; i < items->view.n; i++) {
        even += items->weight[i];
    }
    code = eqp_sum_double(comm, 1, &even);
    if (code == EQP_OK) {
        code = eqp_agree(comm, eqp_array_create(&share, nparts, sizeof *share), NULL);
    }
    if (code != EQP_OK || even <= 0.0) {
        free(share);
        return code;
    }
    for (int p = 0; p < nparts; p++) {
        even += base[p];
    }
    even /= nparts;
    for (int p = 0; p < nparts; p++) {
        share[p] = fmax(even - base[p], SMALLEST_SHARE * even);
        sum += share[p];
    }
    for (int p = 0; p < nparts; p++) {
        share[p] /= sum;
    }
    *shares = share;
    return EQP_OK;
}

static int assign_once(MPI_Comm comm, item_table *items, const app_rebalance_options *options, const double *base,
                       app_rebalanced *rebalanced, eqp_message *message)
{
    eqp_balance_options wanted = EQP_BALANCE_OPTIONS_DEFAULTS;
    double *shares = NULL;
    int64_t before = 0;
    int code = eqp_scan_int64(comm, items->view.n, &before, &rebalanced->units);

    if (code != EQP_OK) {
        return code;
    }
    for (int64_t i = 0; i < items->view.n; i++) {
        items->id[i] = before + i;
    }
    if (!(options->method->needs & EQP_NEEDS_WEIGHTS)) {
        items->view.weight = NULL; /* nobody has weighed: particles count */
    }
    wanted.nparts = count_parts(comm, options);
    wanted.imbalance_tol = options->assign_tol > 0 ? options->assign_tol : options->imbalance_tol;
    wanted.seed = options->seed;
    wanted.aspect = options->aspect;
    wanted.columns = (int)(options->columns < wanted.nparts ? options->columns : wanted.nparts);
    wanted.message = message;
    code = make_shares(comm, items, base, wanted.nparts, &shares);
    wanted.share = shares;
    if (code == EQP_OK && options->start != NULL) {
        code = start_from(comm, items, options->start, &wanted);
    }
    if (code == EQP_OK) {
        code = eqp_balance(comm, options->method, &items->view, &wanted, items->part, &rebalanced->result);
    }
    free(shares);
    return code;
}

/* Owners that several ranks share, as this rank's part of the table. */
typedef struct split_table {
    int64_t nsplit, nunits;
    int64_t *nunits_of; /* [nsplit] */
    double *centroid;   /* [nunits][3] */
    int *rank;          /* [nunits] */
} split_table;

static void split_table_free(split_table *table)
{
    free(table->nunits_of);
    free(table->centroid);
    free(table->rank);
}

/* Owners along the curve that have the same home: long runs make few neighbours and few branches, so that a run goes on
 * while its part has work of the next owner, and up to a part's share of the particles. */
typedef struct home_run {
    int part;
    int64_t held, limit; /* particles */
} home_run;

static void run_extend(home_run *run, int part, int64_t particles)
{
    run->held = part == run->part ? run->held + particles : particles;
    run->part = part;
}

/* Where an owner lives whose units first to first + count - 1 several parts compute: the part of the run, else the one
 * with most of the work. votes [count]: room. */
static int choose_home(const app_units *made, const int *part, int64_t first, int64_t count, int64_t particles,
                       const home_run *run, vote *votes)
{
    const bool is_full = run->held + particles > run->limit;
    int64_t nvotes = 0, best = -1;

    for (int64_t u = first; u < first + count; u++) {
        int64_t v = 0;
        while (v < nvotes && votes[v].part != part[u]) {
            v++;
        }
        if (v == nvotes) {
            votes[nvotes++] = (vote){part[u], 0.0};
        }
        votes[v].seconds += made->weight[u];
    }
    for (int64_t v = 0; v < nvotes; v++) {
        if (votes[v].part == run->part && !is_full) {
            return run->part;
        }
        if (votes[v].part != run->part && (best < 0 || votes[v].seconds > votes[best].seconds)) {
            best = v;
        }
    }
    return votes[best].part; /* there are at least two */
}

/* A part's share of the particles. */
static int find_share(MPI_Comm comm, const app_owners *owners, int nparts, int64_t *share)
{
    int64_t particles = 0;
    int code;

    for (int64_t o = 0; o < owners->n; o++) {
        particles += owners->owner[o].particles;
    }
    code = eqp_scan_int64(comm, particles, NULL, &particles);
    *share = particles / nparts + 1;
    return code;
}

/* What is done of split owners that is no unit's: by every sharer again, or at home. Adds to base [nparts]. */
static int add_sharing(const app_owners *owners, const app_units *units, const int *part, int64_t share, double *base)
{
    home_run run = {-1, 0, share};
    vote *votes = NULL;
    int code = eqp_array_create(&votes, units->n, sizeof *votes);

    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        const double unit = owners->weight[o] > 0 ? owners->seconds[o] / owners->weight[o] : 0.0;
        int64_t first = 0, count = 1, sharers = 0;
        int home;
        code = eqp_units_of_owner(units->units, o, &first, &count);
        home = code == EQP_OK ? part[first] : 0;
        for (int64_t u = first; u < first + count && count > 1 && code == EQP_OK; u++) {
            int64_t before = first;
            while (before < u && part[before] != part[u]) {
                before++;
            }
            base[part[u]] += before == u ? unit * owners->again[o] : 0.0;
            sharers += before == u;
        }
        if (sharers > 1) {
            home = choose_home(units, part, first, count, owners->owner[o].particles, &run, votes);
        }
        if (count > 1) {
            base[home] += unit * owners->at_home[o];
        }
        run_extend(&run, home, owners->owner[o].particles);
    }
    free(votes);
    return code;
}

/* Who shares what is known when it is assigned, and what sharing costs counts: so it is assigned again. */
static int assign(MPI_Comm comm, item_table *items, const app_owners *owners, const app_units *units,
                  const app_rebalance_options *options, app_rebalanced *rebalanced, eqp_message *message)
{
    const int nparts = count_parts(comm, options);
    const bool again = units->units != NULL && (options->method->needs & EQP_NEEDS_SOURCES) != 0;
    int64_t share = 0;
    double *base = NULL;
    int code = assign_once(comm, items, options, options->base, rebalanced, message);

    if (code == EQP_OK && again) {
        code = eqp_agree(comm, eqp_array_create(&base, nparts, sizeof *base), NULL);
        code = code == EQP_OK ? find_share(comm, owners, nparts, &share) : code;
    }
    for (int pass = 0; pass < PASSES && again && code == EQP_OK; pass++) {
        memset(base, 0, (size_t)nparts * sizeof *base);
        code = eqp_agree(comm, add_sharing(owners, units, items->part, share, base), NULL);
        if (code == EQP_OK) {
            code = eqp_sum_double(comm, nparts, base);
        }
        for (int p = 0; p < nparts && options->base != NULL && code == EQP_OK; p++) {
            base[p] += options->base[p];
        }
        if (code == EQP_OK) {
            code = assign_once(comm, items, options, base, rebalanced, message);
        }
    }
    free(base);
    return code;
}

/* The units first to first + count - 1 of an owner; whether several ranks share it. */
static bool read_split(const app_units *made, const int *part, int64_t first, int64_t count, split_table *table)
{
    bool shared = false;

    for (int64_t u = first; u < first + count; u++) {
        eqp_unit unit;
        eqp_units_get(made->units, u, &unit);
        memcpy(table->centroid + 3 * (table->nunits + u - first), unit.centroid, 3 * sizeof(double));
        table->rank[table->nunits + u - first] = part[u];
        shared = shared || part[u] != part[first];
    }
    if (shared) {
        table->nunits_of[table->nsplit++] = count;
        table->nunits += count;
    }
    return shared;
}

/* For every owner its tag (of split ones still counted from this rank's first) and the rank that its particles live on.
 * share: of a part in the particles. */
static int read_parts(const app_owners *owners, const app_units *made, const int *part, int64_t share,
                      split_table *table, app_verdict *verdict)
{
    home_run run = {-1, 0, share};
    vote *votes = NULL;
    int code = eqp_array_create(&table->nunits_of, owners->n, sizeof *table->nunits_of);

    if (code == EQP_OK) {
        code = eqp_array_create(&table->centroid, 3 * made->n, sizeof *table->centroid);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&table->rank, made->n, sizeof *table->rank);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&votes, made->n, sizeof *votes);
    }
    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        int64_t first = o, count = 1;
        if (made->units != NULL) {
            code = eqp_units_of_owner(made->units, o, &first, &count);
        }
        if (code != EQP_OK) {
            break;
        }
        verdict[o] = (app_verdict){part[first], part[first]};
        if (count > 1 && read_split(made, part, first, count, table)) {
            const int home = choose_home(made, part, first, count, owners->owner[o].particles, &run, votes);
            verdict[o] = (app_verdict){-table->nsplit, home};
        }
        run_extend(&run, verdict[o].home, owners->owner[o].particles);
    }
    free(votes);
    return code;
}

/* Everybody gets the whole table; tags of split owners then count through all ranks. */
static int share_table(MPI_Comm comm, const split_table *mine, int64_t nowners, app_verdict *verdict, app_map *made,
                       int64_t *nsplit)
{
    split_table all = {0};
    int64_t before = 0;
    int code = eqp_scan_int64(comm, mine->nsplit, &before, NULL);

    if (code == EQP_OK) {
        code = eqp_gather_records(comm, sizeof(int64_t), mine->nsplit, mine->nunits_of, &all.nsplit, &all.nunits_of);
    }
    if (code == EQP_OK) {
        code = eqp_gather_records(comm, 3 * sizeof(double), mine->nunits, mine->centroid, &all.nunits, &all.centroid);
    }
    if (code == EQP_OK) {
        code = eqp_gather_records(comm, sizeof(int), mine->nunits, mine->rank, &all.nunits, &all.rank);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, app_map_set(made, all.nsplit, all.nunits_of, all.centroid, all.rank), NULL);
    }
    for (int64_t o = 0; o < nowners && code == EQP_OK; o++) {
        verdict[o].tag -= verdict[o].tag < 0 ? before : 0;
    }
    *nsplit = all.nsplit;
    split_table_free(&all);
    return code;
}

/* A verdict on its way. */
typedef struct letter {
    int64_t at_home;
    app_verdict verdict;
} letter;

static int send_letters(MPI_Comm comm, const app_owners *owners, const app_verdict *verdict, int64_t *n, letter **in)
{
    letter *out = NULL;
    int *rank = NULL;
    int code = eqp_array_create(&out, owners->n, sizeof *out);

    if (code == EQP_OK) {
        code = eqp_array_create(&rank, owners->n, sizeof *rank);
    }
    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        out[o] = (letter){owners->owner[o].at_home, verdict[o]};
        rank[o] = owners->owner[o].home;
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_send_records(comm, sizeof *out, owners->n, rank, out, n, in);
    }
    free(rank);
    free(out);
    return code;
}

/* Every owner must have heard, and once. */
static int open_letters(int64_t nhome, int64_t n, const letter *in, app_verdict *verdict)
{
    if (n != nhome) {
        return EQP_ERR_INTERNAL;
    }
    for (int64_t i = 0; i < n; i++) {
        verdict[i].home = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (in[i].at_home < 0 || in[i].at_home >= n || verdict[in[i].at_home].home >= 0) {
            return EQP_ERR_INTERNAL;
        }
        verdict[in[i].at_home] = in[i].verdict;
    }
    return EQP_OK;
}

static int send_verdicts(MPI_Comm comm, const app_owners *owners, const app_verdict *verdict, int64_t nhome,
                         app_verdict **verdicts)
{
    app_verdict *heard = NULL;
    letter *in = NULL;
    int64_t n = 0;
    int code = send_letters(comm, owners, verdict, &n, &in);

    if (code == EQP_OK) {
        code = eqp_array_create(&heard, nhome, sizeof *heard);
        code = eqp_agree(comm, code == EQP_OK ? open_letters(nhome, n, in, heard) : code, NULL);
    }
    free(in);
    if (code != EQP_OK) {
        free(heard);
        return code;
    }
    *verdicts = heard;
    return EQP_OK;
}

/* Verdicts from parts; the table of split owners to everybody, verdicts to the homes. */
static int apply(MPI_Comm comm, const app_owners *owners, const app_units *units, const int *part, int nparts,
                 int64_t nhome, app_map *made, int64_t *nsplit, app_verdict **verdicts)
{
    split_table table = {0};
    app_verdict *verdict = NULL;
    int64_t share = 0;
    int code = find_share(comm, owners, nparts, &share);

    if (code == EQP_OK) {
        code = eqp_array_create(&verdict, owners->n, sizeof *verdict);
        code = code ? code : read_parts(owners, units, part, share, &table, verdict);
        code = eqp_agree(comm, code, NULL);
    }
    if (code == EQP_OK) {
        code = share_table(comm, &table, owners->n, verdict, made, nsplit);
    }
    if (code == EQP_OK) {
        code = send_verdicts(comm, owners, verdict, nhome, verdicts);
    }
    if (code != EQP_OK) {
        app_map_free(made);
    }
    split_table_free(&table);
    free(verdict);
    return code;
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
    for (int64_t r = 0; r < n; r++) {
        eqp_sizes_merge(sizes, &all[r]);
    }
    free(all);
    return code;
}

static int fill_items(item_table *items, const app_owners *owners, const app_units *units, const app_map *old)
{
    int code = items_create(items, units->units == NULL ? owners->n : units->n);

    if (code == EQP_OK && units->units == NULL) {
        fill_from_owners(items, owners, old);
    }
    if (code == EQP_OK && units->units != NULL) {
        code = fill_from_units(items, owners, units, old);
    }
    return code;
}

int app_newmap_make(MPI_Comm comm, const app_rebalance_options *options, app_owners *owners, const app_map *old,
                    int64_t nhome, app_map *made, app_verdict **verdicts, app_rebalanced *rebalanced,
                    eqp_message *message)
{
    item_table items = {0};
    app_units units = {.units = NULL};
    int code = EQP_OK;

    if (options->method->needs & EQP_NEEDS_UNITS) {
        code = app_units_make(comm, options, count_parts(comm, options), owners, &rebalanced->totals, &units, message);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, fill_items(&items, owners, &units, old), NULL);
    }
    if (code == EQP_OK) {
        code = assign(comm, &items, owners, &units, options, rebalanced, message);
    }
    if (code == EQP_OK && units.units != NULL) {
        code = add_sizes(comm, &units, &rebalanced->sizes);
    }
    if (code == EQP_OK) {
        code = apply(comm, owners, &units, items.part, count_parts(comm, options), nhome, made,
                     &rebalanced->split_owners, verdicts);
    }
    items_free(&items);
    app_units_free(&units);
    return code;
}

int app_newmap_of_owners(MPI_Comm comm, const app_owners *owners, const int *part, int64_t nhome, app_map *made,
                         app_verdict **verdicts)
{
    const app_units none = {.units = NULL};
    int64_t nsplit;

    return apply(comm, owners, &none, part, 1, nhome, made, &nsplit, verdicts);
}
