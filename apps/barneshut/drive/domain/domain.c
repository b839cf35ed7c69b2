/* SPDX-License-Identifier: BSD-3-Clause */
#include "domain.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A new box reaches this share of the particles' extent beyond them on each side, since another box costs new keys and
 * homes. A box of this many times the side of a new one is replaced. */
#define BOX_SLACK 0.125
#define BOX_TOO_LARGE 2.0

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
    bh_messengers_init(&domain->messengers, comm);
    domain->neighbours.leaders = MPI_COMM_NULL;
    domain->messengers.neighbours = &domain->neighbours;
}

void bh_domain_free(bh_domain *domain)
{
    free(domain->tag);
    free(domain->group);
    eqp_gatherer_free(domain->tops);
    bh_messengers_free(&domain->messengers);
    bh_tree_free(&domain->tree);
    bh_neighbours_free(&domain->neighbours);
    bh_particles_free(&domain->particles);
    bh_homes_free(&domain->homes);
}

/* Bounds of this rank: low, then minus high, so that one minimum reduces all six. */
static void find_bounds(const bh_particles *p, double bound[6])
{
    double high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};

    bound[0] = bound[1] = bound[2] = DBL_MAX;
    if (p->n > 0) {
        bh_group_bounds(p->n, p->x, p->y, p->z, bound, high);
    }
    for (int a = 0; a < 3; a++) {
        bound[3 + a] = -high[a];
    }
}

static bool box_holds(const bh_box *box, const double lo[3], const double hi[3])
{
    bool holds = true;

    for (int a = 0; a < 3; a++) {
        holds = holds && lo[a] >= box->corner[a] && hi[a] < box->corner[a] + box->side;
    }
    return holds;
}

/* A box that particles do not leave for many steps; without slack if that exceeds the range of a double. */
static int new_box(const double lo[3], const double hi[3], bh_box *box)
{
    double wide[2][3], extent = 0;

    for (int a = 0; a < 3; a++) {
        extent = fmax(extent, hi[a] - lo[a]);
    }
    for (int a = 0; a < 3; a++) {
        wide[0][a] = lo[a] - BOX_SLACK * extent;
        wide[1][a] = hi[a] + BOX_SLACK * extent;
    }
    return bh_box_enclosing(wide[0], wide[1], box) == EQP_OK ? EQP_OK : bh_box_enclosing(lo, hi, box);
}

/* bound: of all ranks; NULL: unknown. The present box stays while it holds all particles and is not much too large. Box
 * and code are the same on all ranks. */
static int find_box(const bh_domain *domain, const double *bound, bh_box *box)
{
    double least[6];

    if (bound != NULL) {
        memcpy(least, bound, sizeof least);
    } else {
        find_bounds(&domain->particles, least);
        if (MPI_Allreduce(MPI_IN_PLACE, least, 6, MPI_DOUBLE, MPI_MIN, domain->comm) != MPI_SUCCESS) {
            return EQP_ERR_MPI;
        }
    }
    if (least[0] == DBL_MAX) {
        memset(least, 0, sizeof least); /* no particles on any rank */
    }
    const double hi[3] = {-least[3], -least[4], -least[5]};
    bh_box fresh;
    EQP_CHECK(new_box(least, hi, &fresh));
    if (!domain->has_box || !box_holds(&domain->box, least, hi) || domain->box.side > BOX_TOO_LARGE * fresh.side) {
        *box = fresh;
    }
    return EQP_OK;
}

/* Cuts homes into equal numbers of particles along the curve. */
static int rehome_by_count(bh_domain *domain, const bh_sorted *sorted)
{
    uint64_t *cut = NULL;
    bh_home_run *runs = NULL;
    int64_t n = 0;
    int code = eqp_array_create(&cut, domain->nranks + 1, sizeof *cut);

    code = code == EQP_OK ? eqp_array_create(&runs, domain->nranks, sizeof *runs) : code;
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(eqp_key_cuts(domain->comm, sorted->n, sorted->key, NULL, domain->nranks, NULL, cut));
    for (int r = 0; r < domain->nranks && cut[r] < EQP_CURVE_END; r++) {
        runs[n++] = (bh_home_run){cut[r], r};
    }
    EQP_TRY(eqp_agree(domain->comm, bh_homes_set(&domain->homes, n, runs), NULL));
done:
    free(runs);
    free(cut);
    return code;
}

static int compute_keys(bh_domain *domain, bh_sorted *sorted)
{
    bh_particles *p = &domain->particles;
    EQP_CHECK(domain->drifted ? EQP_OK
                              : eqp_hilbert_keys(p->n, p->x, p->y, p->z, domain->box.corner, domain->box.side, p->key));

    return bh_sorted_make(p, sorted);
}

/* Most particles that a rank sends at a time, 2 MiB, so that no second copy is needed even if nearly all migrate, as at
 * first. */
#define MIGRATION_ROUND 16384

/* Particles on their way, as places among the fields. */
typedef struct movers {
    int64_t nleave, sent, taken, leave_capacity;
    int64_t *leave; /* [nleave] the first `sent` have left; arrivals have taken the places of the first `taken` */
    int64_t narrived, arrived_capacity;
    int32_t *arrived;  /* [narrived] */
    int *home;         /* of a round */
    uint64_t *records; /* of a round: [home][fields] */
} movers;

static void movers_free(movers *m)
{
    free(m->leave);
    free(m->arrived);
    free(m->home);
    free(m->records);
}

/* Lists those that leave, and removes them from the sorted ones. */
static int part_leavers(const bh_domain *domain, bh_sorted *sorted, movers *m)
{
    const bh_homes *homes = &domain->homes;
    int64_t stay = 0, room;
    uint64_t end = 0; /* of the last key's interval; keys ascend */
    bool stays = true;

    for (int64_t i = 0; i < sorted->n; i++) {
        if (sorted->key[i] >= end) {
            const int64_t interval = bh_homes_find(homes, sorted->key[i]);
            stays = homes->rank[interval] == domain->rank;
            end = homes->begin[interval + 1];
        }
        if (stays) {
            sorted->key[stay] = sorted->key[i];
            sorted->place[stay++] = sorted->place[i];
        } else {
            EQP_CHECK(eqp_array_reserve(&m->leave, &m->leave_capacity, m->nleave + 1, sizeof *m->leave));
            m->leave[m->nleave++] = sorted->place[i];
        }
    }
    sorted->n = stay;
    room = m->nleave < MIGRATION_ROUND ? m->nleave : MIGRATION_ROUND;
    EQP_CHECK(eqp_array_create(&m->home, room, sizeof *m->home));
    return eqp_array_create(&m->records, room * bh_particles_fields(domain->particles.rungs), sizeof *m->records);
}

static void pack_round(const bh_domain *domain, movers *m, int64_t n)
{
    const bh_particles *p = &domain->particles;

    for (int64_t i = 0; i < n; i++) {
        const int64_t place = m->leave[m->sent + i];
        bh_particles_pack(p, place, m->records + bh_particles_fields(p->rungs) * i);
        m->home[i] = bh_homes_rank(&domain->homes, p->key[place]);
    }
    m->sent += n;
}

/* Arrivals take places that others have left, then new ones. */
static int take_in(bh_particles *p, movers *m, int64_t n, const uint64_t *records)
{
    const int64_t empty = m->sent - m->taken, old = p->n;

    EQP_CHECK(eqp_array_reserve(&m->arrived, &m->arrived_capacity, m->narrived + n, sizeof *m->arrived));
    EQP_CHECK(bh_particles_resize(p, old + (n > empty ? n - empty : 0)));
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = i < empty ? m->leave[m->taken++] : old + i - empty;
        bh_particles_unpack(p, place, records + bh_particles_fields(p->rungs) * i);
        m->arrived[m->narrived++] = (int32_t)place;
    }
    return EQP_OK;
}

/* One round: up to MIGRATION_ROUND particles leave, and new ones arrive. *left: still to leave, over all ranks. code:
 * of this rank so far; returned. */
static int migrate_round(bh_domain *domain, movers *m, int64_t *left, int code)
{
    const int64_t waiting = code == EQP_OK ? m->nleave - m->sent : 0;
    const int64_t leaving = waiting < MIGRATION_ROUND ? waiting : MIGRATION_ROUND;
    uint64_t *in = NULL;
    int64_t n = 0;

    pack_round(domain, m, leaving);
    *left = waiting - leaving;
    code = eqp_send_sparse(domain->comm, code, (size_t)bh_particles_bytes(domain->particles.rungs), leaving, m->home,
                           m->records, left, &n, &in);
    code = code == EQP_OK ? take_in(&domain->particles, m, n, in) : code;
    free(in);
    return code;
}

/* Particles leave and arrive; all are in order afterwards. code: of this rank so far; returned. Collective. */
static int move_leavers(bh_domain *domain, bh_sorted *sorted, bh_migration *migration, int code)
{
    movers m = {0};
    int64_t left = 0;

    code = code == EQP_OK ? part_leavers(domain, sorted, &m) : code;
    do {
        code = migrate_round(domain, &m, &left, code);
    } while (left > 0 && code != EQP_ERR_MPI);
    EQP_TRY(code);
    migration->particles += m.nleave;
    migration->bytes += m.nleave * bh_particles_bytes(domain->particles.rungs);
    EQP_TRY(m.narrived > 0 ? bh_sorted_add(sorted, &domain->particles, m.narrived, m.arrived) : EQP_OK);
    EQP_TRY(bh_particles_gather(&domain->particles, sorted));
done:
    movers_free(&m);
    return code;
}

static int limit_of(const bh_domain *domain)
{
    return domain->leaf_size > domain->group_size ? domain->leaf_size : domain->group_size;
}

int bh_domain_migrate(bh_domain *domain, const double *bound, bh_migration *migration, int code)
{
    bh_sorted sorted = {0};
    bh_box box = domain->box;
    const int failed = domain->drifted ? EQP_OK : find_box(domain, bound, &box);

    if (failed != EQP_OK) {
        return failed;
    }
    const bool changed = !domain->has_homes || memcmp(&box, &domain->box, sizeof box) != 0; /* the same on all ranks */
    domain->box = box;
    domain->has_box = true;
    domain->has_homes = !changed;
    code = code == EQP_OK ? compute_keys(domain, &sorted) : code;
    if (changed) {
        migration->box_changed = true;
        EQP_TRY(eqp_agree(domain->comm, code, NULL));
        EQP_TRY(rehome_by_count(domain, &sorted));
        domain->has_homes = true;
    }
    code = bh_homes_snap(&domain->homes, domain->comm, code, sorted.n, sorted.key, limit_of(domain));
    code = move_leavers(domain, &sorted, migration, code);
done:
    bh_sorted_free(&sorted);
    return code;
}

static int follow_groups(const bh_domain *domain, const eqp_placement *placement, bh_homes *homes)
{
    bh_home_run *runs = NULL, *all = NULL;
    int64_t n = 0, ntotal = 0, interval = -1;
    int code = eqp_array_create(&runs, domain->ngroups, sizeof *runs);

    /* A run ends at a change of rank, or if other homes lie between two groups of this rank. */
    for (int64_t g = 0; g < domain->ngroups && code == EQP_OK; g++) {
        uint64_t begin = domain->particles.key[domain->group[g].first];
        int64_t here = bh_homes_find(&domain->homes, begin);
        if (here != interval || placement[g].home != placement[g - 1].home) {
            runs[n++] = (bh_home_run){begin, placement[g].home};
        }
        interval = here;
    }
    EQP_TRY(eqp_agree(domain->comm, code, NULL));
    EQP_TRY(eqp_gather_records(domain->comm, sizeof *runs, n, runs, &ntotal, &all));
    EQP_TRY(eqp_agree(domain->comm, ntotal > 0 ? bh_homes_set(homes, ntotal, all) : EQP_OK, NULL));
done:
    free(all);
    free(runs);
    return code;
}

int bh_domain_rehome(bh_domain *domain, const eqp_placement *placement)
{
    return follow_groups(domain, placement, &domain->homes);
}

int bh_domain_place(bh_domain *domain, const eqp_placement *placement)
{
    EQP_CHECK(bh_domain_rehome(domain, placement));
    for (int64_t g = 0; g < domain->ngroups; g++) {
        const bh_group *group = &domain->group[g];
        for (int64_t i = group->first; i < group->first + group->count; i++) {
            domain->particles.tag[i] = placement[g].tag;
        }
    }
    return EQP_OK;
}

int bh_domain_plan_homes(const bh_domain *domain, const eqp_placement *placement, bh_homes *homes)
{
    EQP_CHECK(follow_groups(domain, placement, homes));
    return bh_homes_snap(homes, domain->comm, EQP_OK, domain->particles.n, domain->particles.key, limit_of(domain));
}

static int compare_branches(const void *a, const void *b)
{
    const bh_cell *first = a, *second = b;
    return (first->key > second->key) - (first->key < second->key);
}

void bh_branches_sort(int64_t n, bh_cell *branch)
{
    bool sorted = true;

    for (int64_t b = 1; b < n && sorted; b++) {
        sorted = branch[b - 1].key < branch[b].key;
    }
    if (!sorted) {
        qsort(branch, (size_t)n, sizeof *branch, compare_branches);
    }
}

static int drift_branches(bh_domain *domain)
{
    const bh_particles *p = &domain->particles;

    return bh_tree_drift(&domain->tree, p->x, p->y, p->z, &domain->loose);
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
    domain->loose = 0;
    EQP_TRY(domain->drifted ? drift_branches(domain) : EQP_OK);
done:
    free(interval);
    return code;
}

/* The smallest acceleration of a group. */
static double least_acceleration(const bh_particles *p, const bh_group *group)
{
    double least = INFINITY;

    for (int64_t i = group->first; i < group->first + group->count; i++) {
        const double square = p->ax[i] * p->ax[i] + p->ay[i] * p->ay[i] + p->az[i] * p->az[i];
        least = square < least ? square : least;
    }
    return sqrt(least);
}

static int make_groups(bh_domain *domain)
{
    const bh_particles *p = &domain->particles;
    int64_t *tag = NULL, ngroups = 0;
    bh_group *group = NULL;
    int code;

    EQP_TRY(bh_groups_make(&domain->tree, p->key, domain->group_size, NULL, &ngroups, &group));
    EQP_TRY(eqp_array_create(&tag, ngroups, sizeof *tag));
done:
    if (code != EQP_OK) {
        free(group);
        return code;
    }
    for (int64_t g = 0; g < ngroups; g++) {
        group[g].accel = least_acceleration(p, &group[g]);
        tag[g] = p->tag[group[g].first + group[g].count / 2];
    }
    free(domain->group);
    free(domain->tag);
    domain->group = group;
    domain->tag = tag;
    domain->ngroups = ngroups;
    return EQP_OK;
}

int64_t bh_domain_has_away(const bh_domain *domain)
{
    bool found = false;

    for (int64_t g = 0; g < domain->ngroups && !found; g++) {
        found = domain->tag[g] != domain->rank;
    }
    return found;
}

/* n: branches of all ranks. */
static eqp_route_counts count_top(const bh_domain *domain, int64_t n)
{
    const int64_t bytes = (n - domain->tree.nbranches) * bh_branch_bytes(&domain->tree);
    int64_t levels = 0;

    while (n > 0 && domain->nranks > INT64_C(1) << levels) {
        levels++;
    }
    return (eqp_route_counts){levels, levels, bytes, bytes};
}

/* code: of this rank so far; returned. Collective. */
static int join_tops(bh_domain *domain, int code)
{
    bh_tree *tree = &domain->tree;
    unsigned char *mine = NULL, *all = NULL;
    bh_cell *branch = NULL;
    int64_t n = 0, away = bh_domain_has_away(domain);

    domain->away = true;
    if (domain->tops == NULL) { /* kept from step to step */
        EQP_CHECK(eqp_gatherer_create(domain->comm, (size_t)bh_branch_bytes(tree), &domain->tops));
    }
    code = code == EQP_OK ? eqp_array_create(&mine, tree->nbranches, (size_t)bh_branch_bytes(tree)) : code;
    if (code == EQP_OK) {
        bh_branches_pack(tree, tree->nbranches, tree->cell, mine);
    }
    EQP_TRY(eqp_gatherer_run(domain->tops, code, code == EQP_OK ? tree->nbranches : 0, mine, &away, &n, &all));
    domain->away = away > 0;
    domain->top = count_top(domain, n);
    EQP_TRY(eqp_array_create(&branch, n, sizeof *branch));
    EQP_TRY(bh_branches_unpack(tree, n, all, branch));
    bh_branches_sort(n, branch);
    EQP_TRY(bh_tree_top(tree, n, branch, domain->rank));
done:
    free(mine);
    free(branch);
    return code;
}

static int build_part(bh_domain *domain)
{
    const int code = build_branches(domain);

    return code == EQP_OK ? make_groups(domain) : code;
}

/* Builds this rank's part of the tree and the top. again: builds it where the last tree is lost. code: of this rank so
 * far. */
static int build_with(bh_domain *domain, bh_build_fn *build, bh_build_fn *again, int code)
{
    while (domain->neighbours.node != NULL) {
        bool done = false;
        code = bh_neighbours_build(domain, build, code, &done);
        if (done || code != EQP_OK) {
            return code;
        }
        build = again;
    }
    return join_tops(domain, code == EQP_OK ? build(domain) : code);
}

int bh_domain_build_tree(bh_domain *domain, int code)
{
    return build_with(domain, build_part, build_part, code);
}

int bh_domain_drift_tree(bh_domain *domain, int code)
{
    domain->drifted = true;
    return build_with(domain, drift_branches, build_branches, code);
}

int bh_domain_regroup(bh_domain *domain, int group_size, const bh_homes *homes, bh_migration *migration)
{
    bh_sorted sorted = {0};
    int code;

    EQP_TRY(eqp_agree(domain->comm, bh_homes_copy(&domain->homes, homes), NULL));
    domain->group_size = group_size;
    code = bh_sorted_make(&domain->particles, &sorted);
    code = bh_homes_snap(&domain->homes, domain->comm, code, sorted.n, sorted.key, limit_of(domain));
    EQP_TRY(eqp_agree(domain->comm, move_leavers(domain, &sorted, migration, code), NULL));
    EQP_TRY(eqp_agree(domain->comm, bh_domain_build_tree(domain, EQP_OK), NULL));
done:
    bh_sorted_free(&sorted);
    return code;
}
