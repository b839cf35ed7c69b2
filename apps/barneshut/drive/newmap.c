/* SPDX-License-Identifier: BSD-3-Clause */
#include "newmap.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

/* The balancer's items, with the arrays that they borrow. */
typedef struct item_table {
    eqp_balance_items view;
    int64_t *id, *particles, *size;
    double *weight, *point;
    int *part_now, *part;
} item_table;

static void items_free(item_table *items)
{
    void *owned[] = {items->id,    items->particles, items->size, items->weight,
                     items->point, items->part_now,  items->part};

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
                                      .part_now = items->part_now,
                                      .size = items->size};
    return code;
}

/* One more owner for an item: its particles, and its share in the item's position. */
static void add_owner(item_table *items, int64_t item, const bh_surveyed *owner, bool with_particles)
{
    for (int a = 0; a < 3; a++) {
        items->point[3 * item + a] += owner->centre[a];
    }
    if (with_particles) {
        items->particles[item] += owner->count;
        items->size[item] += owner->count * BH_PARTICLE_BYTES;
    }
}

static void fill_from_owners(item_table *items, const bh_owners *owners, const bh_map *old)
{
    for (int64_t o = 0; o < owners->n; o++) {
        const bh_surveyed *owner = &owners->group[o];
        items->weight[o] = owners->seconds[o];
        items->part_now[o] = old != NULL ? bh_map_own_rank(old, owner->tag) : -1;
        add_owner(items, o, owner, true);
    }
}

/* The present part of most of a unit's work: its owners may have gone to different ones. */
typedef struct vote {
    int part;
    double seconds;
} vote;

static int present_part(const bh_owners *owners, const eqp_unit *unit, const int64_t *owner, int64_t n,
                        const bh_map *old, vote *votes)
{
    int64_t nvotes = 0, best = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t tag = owners->group[owner[i]].tag;
        int part = unit->sub < 0 ? bh_map_own_rank(old, tag) : bh_map_rank(old, tag, unit->centroid);
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

static void fill_unit(item_table *items, int64_t u, const eqp_unit *unit, const bh_owners *owners, const int64_t *owner,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        /* Of a split owner's seconds the unit has its part. */
        double part = unit->sub < 0 ? 1.0 : unit->weight / owners->weight[owner[i]];
        items->weight[u] += part * owners->seconds[owner[i]];
        add_owner(items, u, &owners->group[owner[i]], unit->sub <= 0);
    }
    for (int a = 0; a < 3; a++) {
        items->point[3 * u + a] /= (double)n;
    }
}

static int fill_from_units(item_table *items, const bh_owners *owners, const eqp_units *units, const bh_map *old)
{
    const int64_t *first, *owner;
    vote *votes = NULL;
    int code = eqp_array_create(&votes, owners->n, sizeof *votes);

    eqp_units_owners(units, &first, &owner);
    for (int64_t u = 0; u < items->view.n && code == EQP_OK; u++) {
        const int64_t *of_unit = owner + first[u], n = first[u + 1] - first[u];
        eqp_unit unit;
        code = eqp_units_get(units, u, &unit);
        fill_unit(items, u, &unit, owners, of_unit, n);
        items->part_now[u] = old == NULL ? -1 : present_part(owners, &unit, of_unit, n, old, votes);
    }
    eqp_units_pins(units, &items->view.pin_first, &items->view.pin);
    free(votes);
    return code;
}

static int assign(bh_domain *domain, item_table *items, const bh_rebalance_options *options, bh_rebalanced *rebalanced,
                  eqp_message *message)
{
    eqp_balance_options wanted = EQP_BALANCE_OPTIONS_DEFAULTS;
    int64_t before = 0;
    int code = eqp_scan_int64(domain->comm, items->view.n, &before, &rebalanced->units);

    if (code != EQP_OK) {
        return code;
    }
    for (int64_t i = 0; i < items->view.n; i++) {
        items->id[i] = before + i;
    }
    if (!(options->method->needs & EQP_NEEDS_WEIGHTS)) {
        items->view.weight = NULL; /* nobody has weighed: particles count */
    }
    wanted.nparts = domain->nranks;
    wanted.imbalance_tol = options->imbalance_tol;
    wanted.seed = options->seed;
    wanted.message = message;
    return eqp_balance(domain->comm, options->method, &items->view, &wanted, items->part, &rebalanced->result);
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

/* For every owner its tag (of split ones still counted from this rank's first) and the rank that its particles live on:
 * the one with most of its work. */
static int read_parts(const bh_owners *owners, const eqp_units *units, const int *part, split_table *table,
                      int64_t *tag, int64_t *home)
{
    int64_t nunits = units == NULL ? 0 : eqp_units_count(units);
    int code = eqp_array_create(&table->nunits_of, owners->n, sizeof *table->nunits_of);

    if (code == EQP_OK) {
        code = eqp_array_create(&table->centroid, 3 * nunits, sizeof *table->centroid);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&table->rank, nunits, sizeof *table->rank);
    }
    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        int64_t first = o, count = 1;
        double heaviest = -1.0;
        bool shared = false;
        if (units != NULL) {
            code = eqp_units_of_owner(units, o, &first, &count);
        }
        if (code != EQP_OK) {
            break;
        }
        tag[o] = home[o] = part[first];
        for (int64_t u = first; u < first + count && count > 1; u++) {
            eqp_unit unit;
            eqp_units_get(units, u, &unit);
            memcpy(table->centroid + 3 * (table->nunits + u - first), unit.centroid, 3 * sizeof(double));
            table->rank[table->nunits + u - first] = part[u];
            shared = shared || part[u] != part[first];
            if (unit.weight > heaviest) {
                heaviest = unit.weight;
                home[o] = part[u];
            }
        }
        if (shared) {
            table->nunits_of[table->nsplit] = count;
            table->nunits += count;
            tag[o] = -1 - table->nsplit++;
        }
    }
    return code;
}

/* Everybody gets the whole table; tags of split owners then count through all ranks. */
static int share_table(bh_domain *domain, const split_table *mine, int64_t nowners, int64_t *tag, bh_map *made,
                       int64_t *nsplit)
{
    split_table all = {0};
    int64_t before = 0;
    int code = eqp_scan_int64(domain->comm, mine->nsplit, &before, NULL);

    if (code == EQP_OK) {
        code = eqp_gather_records(domain->comm, sizeof(int64_t), mine->nsplit, mine->nunits_of, &all.nsplit,
                                  &all.nunits_of);
    }
    if (code == EQP_OK) {
        code = eqp_gather_records(domain->comm, 3 * sizeof(double), mine->nunits, mine->centroid, &all.nunits,
                                  &all.centroid);
    }
    if (code == EQP_OK) {
        code = eqp_gather_records(domain->comm, sizeof(int), mine->nunits, mine->rank, &all.nunits, &all.rank);
    }
    if (code == EQP_OK) {
        code = eqp_agree(domain->comm, bh_map_set(made, all.nsplit, all.nunits_of, all.centroid, all.rank), NULL);
    }
    for (int64_t o = 0; o < nowners && code == EQP_OK; o++) {
        tag[o] -= tag[o] < 0 ? before : 0;
    }
    *nsplit = all.nsplit;
    split_table_free(&all);
    return code;
}

/* What a group's home is told. */
typedef struct verdict {
    int64_t group, tag, home;
} verdict;

static int send_verdicts(bh_domain *domain, const bh_owners *owners, const int64_t *tag, const int64_t *home,
                         int64_t *n, verdict **in)
{
    verdict *out = NULL;
    int *rank = NULL;
    int code = eqp_array_create(&out, owners->n, sizeof *out);

    if (code == EQP_OK) {
        code = eqp_array_create(&rank, owners->n, sizeof *rank);
    }
    for (int64_t o = 0; o < owners->n && code == EQP_OK; o++) {
        out[o] = (verdict){owners->group[o].at_home, tag[o], home[o]};
        rank[o] = owners->group[o].home;
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = eqp_send_records(domain->comm, sizeof *out, owners->n, rank, out, n, in);
    }
    free(rank);
    free(out);
    return code;
}

/* Every group must have heard, and once. */
static int read_verdicts(const bh_domain *domain, int64_t n, const verdict *in, int64_t *group_tag, int *rank_of_group)
{
    if (n != domain->ngroups) {
        return EQP_ERR_INTERNAL;
    }
    for (int64_t g = 0; g < n; g++) {
        rank_of_group[g] = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (in[i].group < 0 || in[i].group >= n || rank_of_group[in[i].group] >= 0) {
            return EQP_ERR_INTERNAL;
        }
        group_tag[in[i].group] = in[i].tag;
        rank_of_group[in[i].group] = (int)in[i].home;
    }
    return EQP_OK;
}

/* Tags and homes to where the particles are. */
static int bring_home(bh_domain *domain, const bh_owners *owners, const int64_t *tag, const int64_t *home)
{
    verdict *in = NULL;
    int64_t *group_tag = NULL, n = 0;
    int *rank_of_group = NULL;
    int code = eqp_array_create(&group_tag, domain->ngroups, sizeof *group_tag);

    if (code == EQP_OK) {
        code = eqp_array_create(&rank_of_group, domain->ngroups, sizeof *rank_of_group);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = send_verdicts(domain, owners, tag, home, &n, &in);
    }
    if (code == EQP_OK) {
        code = eqp_agree(domain->comm, read_verdicts(domain, n, in, group_tag, rank_of_group), NULL);
    }
    if (code == EQP_OK) {
        code = bh_domain_rehome(domain, rank_of_group);
    }
    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        const bh_group *group = &domain->group[g];
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            domain->particles.tag[i] = group_tag[g];
        }
    }
    free(in);
    free(rank_of_group);
    free(group_tag);
    return code;
}

static int apply(bh_domain *domain, const bh_owners *owners, const eqp_units *units, const int *part, bh_map *map,
                 int64_t *nsplit)
{
    split_table table = {0};
    bh_map made;
    int64_t *tag = NULL, *home = NULL;
    int code = eqp_array_create(&tag, owners->n, sizeof *tag);

    bh_map_init(&made);
    if (code == EQP_OK) {
        code = eqp_array_create(&home, owners->n, sizeof *home);
    }
    if (code == EQP_OK) {
        code = read_parts(owners, units, part, &table, tag, home);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = share_table(domain, &table, owners->n, tag, &made, nsplit);
    }
    if (code == EQP_OK) {
        code = bring_home(domain, owners, tag, home);
    }
    if (code == EQP_OK) {
        bh_map_free(map);
        *map = made;
    } else {
        bh_map_free(&made);
    }
    split_table_free(&table);
    free(home);
    free(tag);
    return code;
}

static int add_sizes(MPI_Comm comm, const eqp_units *units, eqp_sizes *sizes)
{
    eqp_sizes *all = NULL, mine;
    int64_t n = 0;
    int code;

    eqp_units_sizes(units, &mine);
    code = eqp_gather_records(comm, sizeof mine, 1, &mine, &n, &all);
    for (int64_t r = 0; r < n; r++) {
        eqp_sizes_merge(sizes, &all[r]);
    }
    free(all);
    return code;
}

int bh_newmap_make(bh_domain *domain, const bh_owners *owners, const eqp_units *units,
                   const bh_rebalance_options *options, bool has_map, bh_map *map, bh_rebalanced *rebalanced,
                   eqp_message *message)
{
    item_table items = {0};
    const bh_map *old = has_map ? map : NULL;
    int code = items_create(&items, units == NULL ? owners->n : eqp_units_count(units));

    if (code == EQP_OK && units == NULL) {
        fill_from_owners(&items, owners, old);
    }
    if (code == EQP_OK && units != NULL) {
        code = fill_from_units(&items, owners, units, old);
    }
    code = eqp_agree(domain->comm, code, NULL);
    if (code == EQP_OK) {
        code = assign(domain, &items, options, rebalanced, message);
    }
    if (code == EQP_OK && units != NULL) {
        code = add_sizes(domain->comm, units, &rebalanced->sizes);
    }
    if (code == EQP_OK) {
        code = apply(domain, owners, units, items.part, map, &rebalanced->split_owners);
    }
    items_free(&items);
    return code;
}
