/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include <equipoise/base.h>
#include <equipoise/curve.h>
#include <equipoise/par.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void bh_domain_init(bh_domain *domain, MPI_Comm comm, int leaf_size, int group_size, bool bare)
{
    memset(domain, 0, sizeof *domain);
    domain->comm = comm;
    MPI_Comm_rank(comm, &domain->rank);
    MPI_Comm_size(comm, &domain->nranks);
    domain->leaf_size = leaf_size;
    domain->group_size = group_size;
    bh_tree_init(&domain->tree, leaf_size);
    domain->tree.bare = bare;
}

void bh_domain_free(bh_domain *domain)
{
    free(domain->tag);
    free(domain->group);
    bh_tree_free(&domain->tree);
    bh_particles_free(&domain->particles);
    bh_homes_free(&domain->homes);
}

static int find_box(const bh_domain *domain, bh_box *box)
{
    const bh_particles *p = &domain->particles;
    double bound[6] = {DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX};
    int code;

    /* The last three are minus the upper bounds, so that one minimum finds all six. */
    for (int64_t i = 0; i < p->n; i++) {
        const double at[6] = {p->x[i], p->y[i], p->z[i], -p->x[i], -p->y[i], -p->z[i]};
        for (int a = 0; a < 6; a++) {
            bound[a] = at[a] < bound[a] ? at[a] : bound[a];
        }
    }
    if (MPI_Allreduce(MPI_IN_PLACE, bound, 6, MPI_DOUBLE, MPI_MIN, domain->comm) != MPI_SUCCESS) {
        return EQP_ERR_MPI;
    }
    if (bound[0] == DBL_MAX) {
        memset(bound, 0, sizeof bound); /* no particles anywhere */
    }
    const double hi[3] = {-bound[3], -bound[4], -bound[5]};
    code = bh_box_enclosing(bound, hi, box);
    return eqp_agree(domain->comm, code, NULL);
}

int bh_domain_rehome_by_count(bh_domain *domain)
{
    uint64_t *cut = malloc((size_t)(domain->nranks + 1) * sizeof *cut);
    int *rank = malloc((size_t)(domain->nranks + 1) * sizeof *rank);
    int64_t n = 0;
    int code;

    EQP_TRY(eqp_agree(domain->comm, cut == NULL || rank == NULL ? EQP_ERR_MEMORY : EQP_OK, NULL));
    EQP_TRY(eqp_key_cuts(domain->comm, domain->particles.n, domain->particles.key, NULL, domain->nranks, NULL, cut));
    for (int r = 0; r < domain->nranks && cut[r] < EQP_CURVE_END; r++) {
        cut[n] = cut[r];
        rank[n++] = r;
    }
    EQP_TRY(eqp_agree(domain->comm, bh_homes_set(&domain->homes, n, cut, rank), NULL));
done:
    free(rank);
    free(cut);
    return code;
}

static int compute_keys(bh_domain *domain)
{
    bh_particles *p = &domain->particles;
    int code = eqp_hilbert_keys(p->n, p->x, p->y, p->z, domain->box.corner, domain->box.side, p->key);

    return code == EQP_OK ? bh_particles_sort(p) : code;
}

/* Particles travel at most so many at a time from each rank, so that a migration of nearly all of them, as the first
 * one is, needs no second copy: 2 MiB. */
#define MIGRATION_ROUND 16384

/* Particles that leave, as records, with their new homes. */
typedef struct leavers {
    int64_t n;
    int *home;         /* [n] */
    uint64_t *records; /* [n][BH_PARTICLE_FIELDS] */
} leavers;

static void leavers_free(leavers *out)
{
    free(out->home);
    free(out->records);
}

/* Moves those that stay to the front, in order, and counts them. */
static int part_leavers(bh_domain *domain, int64_t *nstay)
{
    bh_particles *p = &domain->particles;
    int64_t *order = NULL, kept = 0, left = 0;
    int code = eqp_array_create(&order, p->n, sizeof *order);

    for (int64_t i = 0; i < p->n && code == EQP_OK; i++) {
        if (bh_homes_rank(&domain->homes, p->key[i]) == domain->rank) {
            order[kept++] = i;
        } else {
            order[p->n - ++left] = i;
        }
    }
    if (code == EQP_OK && left > 0) {
        code = bh_particles_permute(p, order);
    }
    free(order);
    *nstay = kept;
    return code;
}

/* The last particles, which all leave, as this round's records. */
static void pack_round(bh_domain *domain, int64_t n, leavers *out)
{
    bh_particles *p = &domain->particles;

    out->n = n;
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = p->n - n + i;
        bh_particles_pack(p, from, out->records + BH_PARTICLE_FIELDS * i);
        out->home[i] = bh_homes_rank(&domain->homes, p->key[from]);
    }
    p->n -= n;
}

/* Arrivals go between those that stay and those that have still to leave, of which some move behind them. */
static int take_in(bh_particles *p, int64_t nstay, int64_t n, const uint64_t *records)
{
    const int64_t old = p->n, waiting = old - nstay, moved = waiting < n ? waiting : n;
    int code = n > 0 ? bh_particles_resize(p, old + n) : EQP_OK;

    for (int64_t i = 0; i < moved && code == EQP_OK; i++) {
        uint64_t record[BH_PARTICLE_FIELDS];
        bh_particles_pack(p, nstay + i, record);
        bh_particles_unpack(p, old + n - moved + i, record);
    }
    for (int64_t i = 0; i < n && code == EQP_OK; i++) {
        bh_particles_unpack(p, nstay + i, records + BH_PARTICLE_FIELDS * i);
    }
    return code;
}

/* One round: up to MIGRATION_ROUND of those behind nstay leave, and others come. */
static int migrate_round(bh_domain *domain, leavers *out, int64_t *nstay)
{
    const int64_t waiting = domain->particles.n - *nstay;
    uint64_t *in = NULL;
    int64_t n = 0;
    int code;

    pack_round(domain, waiting < MIGRATION_ROUND ? waiting : MIGRATION_ROUND, out);
    EQP_TRY(eqp_send_records(domain->comm, BH_PARTICLE_BYTES, out->n, out->home, out->records, &n, &in));
    EQP_TRY(eqp_agree(domain->comm, take_in(&domain->particles, *nstay, n, in), NULL));
done:
    *nstay += n;
    free(in);
    return code;
}

/* The most particles that leave any rank. */
static int most_leavers(const bh_domain *domain, int64_t mine, int64_t *most)
{
    return MPI_Allreduce(&mine, most, 1, MPI_INT64_T, MPI_MAX, domain->comm) == MPI_SUCCESS ? EQP_OK : EQP_ERR_MPI;
}

static int migrate(bh_domain *domain, bh_settled *settled)
{
    bh_particles *p = &domain->particles;
    leavers out = {0};
    int64_t nstay = 0, most = 0, leaving, room;
    int code = eqp_agree(domain->comm, part_leavers(domain, &nstay), NULL);

    leaving = p->n - nstay;
    if (code == EQP_OK) {
        code = most_leavers(domain, leaving, &most);
    }
    if (code != EQP_OK || most == 0) {
        return code;
    }
    room = leaving < MIGRATION_ROUND ? leaving : MIGRATION_ROUND;
    code = eqp_array_create(&out.home, room, sizeof *out.home);
    if (code == EQP_OK) {
        code = eqp_array_create(&out.records, room * BH_PARTICLE_FIELDS, sizeof *out.records);
    }
    code = eqp_agree(domain->comm, code, NULL);
    for (int64_t done = 0; done < most && code == EQP_OK; done += MIGRATION_ROUND) {
        code = migrate_round(domain, &out, &nstay);
    }
    leavers_free(&out);
    if (code == EQP_OK) {
        settled->migrated += leaving;
        settled->bytes += leaving * BH_PARTICLE_BYTES;
        code = eqp_agree(domain->comm, bh_particles_sort(p), NULL);
    }
    return code;
}

static int limit_of(const bh_domain *domain)
{
    return domain->leaf_size > domain->group_size ? domain->leaf_size : domain->group_size;
}

int bh_domain_settle(bh_domain *domain, bh_settled *settled)
{
    bh_box box;
    int code = find_box(domain, &box);

    if (code != EQP_OK) {
        return code;
    }
    bool changed = !domain->has_box || memcmp(&box, &domain->box, sizeof box) != 0;
    domain->box = box;
    domain->has_box = true;
    EQP_TRY(eqp_agree(domain->comm, compute_keys(domain), NULL));
    if (changed) {
        settled->box_changed = true;
        EQP_TRY(bh_domain_rehome_by_count(domain));
    }
    EQP_TRY(bh_homes_snap(&domain->homes, domain->comm, domain->particles.n, domain->particles.key, limit_of(domain)));
    EQP_TRY(migrate(domain, settled));
done:
    return code;
}

typedef struct home_run {
    uint64_t begin;
    int64_t rank;
} home_run;

static int set_homes(bh_homes *homes, int64_t n, const home_run *runs)
{
    uint64_t *begin = NULL;
    int *rank = NULL;
    int code;

    EQP_TRY(eqp_array_create(&begin, n, sizeof *begin));
    EQP_TRY(eqp_array_create(&rank, n, sizeof *rank));
    for (int64_t i = 0; i < n; i++) {
        begin[i] = runs[i].begin;
        rank[i] = (int)runs[i].rank;
    }
    if (n > 0) {
        EQP_TRY(bh_homes_set(homes, n, begin, rank));
    }
done:
    free(rank);
    free(begin);
    return code;
}

/* Homes that follow the groups. */
static int follow_groups(const bh_domain *domain, const int *rank_of_group, bh_homes *homes)
{
    home_run *runs = NULL, *all = NULL;
    int64_t n = 0, ntotal = 0, interval = -1;
    int code = eqp_array_create(&runs, domain->ngroups, sizeof *runs);

    /* A run ends where the rank changes, or where other homes lie between two of this rank's groups. */
    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        uint64_t begin = domain->particles.key[domain->group[g].first];
        int64_t here = bh_homes_find(&domain->homes, begin);
        if (here != interval || rank_of_group[g] != rank_of_group[g - 1]) {
            runs[n++] = (home_run){begin, rank_of_group[g]};
        }
        interval = here;
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(eqp_gather_records(domain->comm, sizeof *runs, n, runs, &ntotal, &all));
    EQP_TRY(eqp_agree(domain->comm, set_homes(homes, ntotal, all), NULL));
done:
    free(all);
    free(runs);
    return code;
}

int bh_domain_rehome(bh_domain *domain, const int *rank_of_group)
{
    return follow_groups(domain, rank_of_group, &domain->homes);
}

int bh_domain_place(bh_domain *domain, const eqp_placement *placement)
{
    int *rank_of_group = NULL;
    int code;

    EQP_TRY(eqp_agree(domain->comm, eqp_array_create(&rank_of_group, domain->ngroups, sizeof *rank_of_group), NULL));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        rank_of_group[g] = placement[g].home;
    }
    EQP_TRY(bh_domain_rehome(domain, rank_of_group));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            domain->particles.tag[i] = placement[g].tag;
        }
    }
done:
    free(rank_of_group);
    return code;
}

int bh_domain_plan_homes(const bh_domain *domain, const int *part_of_group, bh_homes *homes)
{
    int code = follow_groups(domain, part_of_group, homes);

    return code == EQP_OK
               ? bh_homes_snap(homes, domain->comm, domain->particles.n, domain->particles.key, limit_of(domain))
               : code;
}

static int compare_branches(const void *a, const void *b)
{
    const bh_cell *first = a, *second = b;
    return (first->key > second->key) - (first->key < second->key);
}

static int build_branches(bh_domain *domain)
{
    const bh_particles *p = &domain->particles;
    bh_interval *interval = NULL;
    int nintervals = 0;
    int code;

    EQP_TRY(bh_homes_intervals(&domain->homes, domain->rank, &nintervals, &interval));
    EQP_TRY(bh_tree_build(&domain->tree, &domain->box, p->n, p->key, p->x, p->y, p->z, p->m, nintervals, interval,
                          domain->rank));
done:
    free(interval);
    return eqp_agree(domain->comm, code, NULL);
}

static int join_tops(bh_domain *domain)
{
    bh_tree *tree = &domain->tree;
    const size_t bytes = (size_t)bh_branch_bytes(tree);
    unsigned char *mine = NULL, *all = NULL;
    bh_cell *branch = NULL;
    int64_t n = 0;
    int code = eqp_agree(domain->comm, eqp_array_create(&mine, tree->nbranches, bytes), NULL);

    if (code == EQP_OK) {
        bh_branches_pack(tree, mine);
        code = eqp_gather_records(domain->comm, bytes, tree->nbranches, mine, &n, &all);
    }
    free(mine);
    if (code == EQP_OK) {
        code = eqp_array_create(&branch, n, sizeof *branch);
        code = code == EQP_OK ? bh_branches_unpack(tree, n, all, branch) : code;
        if (code == EQP_OK) {
            qsort(branch, (size_t)n, sizeof *branch, compare_branches);
            code = bh_tree_top(tree, n, branch, domain->rank);
        }
        code = eqp_agree(domain->comm, code, NULL);
    }
    free(branch);
    free(all);
    return code;
}

static int make_groups(bh_domain *domain)
{
    const bh_particles *p = &domain->particles;
    double *accel = NULL;
    int64_t *tag = NULL, ngroups = 0;
    bh_group *group = NULL;
    int code;

    EQP_TRY(eqp_array_create(&accel, p->n, sizeof *accel));
    for (int64_t i = 0; i < p->n; i++) {
        accel[i] = sqrt(p->ax[i] * p->ax[i] + p->ay[i] * p->ay[i] + p->az[i] * p->az[i]);
    }
    EQP_TRY(bh_groups_make(&domain->tree, p->key, domain->group_size, accel, &ngroups, &group));
    EQP_TRY(eqp_array_create(&tag, ngroups, sizeof *tag));
done:
    free(accel);
    if (code != EQP_OK) {
        free(group);
        return code;
    }
    for (int64_t g = 0; g < ngroups; g++) {
        tag[g] = p->tag[group[g].first + group[g].count / 2];
    }
    free(domain->group);
    free(domain->tag);
    domain->group = group;
    domain->tag = tag;
    domain->ngroups = ngroups;
    return EQP_OK;
}

int bh_domain_grow(bh_domain *domain)
{
    int code;

    EQP_TRY(build_branches(domain));
    EQP_TRY(join_tops(domain));
    EQP_TRY(eqp_agree(domain->comm, make_groups(domain), NULL));
done:
    return code;
}
