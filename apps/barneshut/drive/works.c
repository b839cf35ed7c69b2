/* SPDX-License-Identifier: BSD-3-Clause */
#include "works.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

void bh_works_init(bh_works *works)
{
    memset(works, 0, sizeof *works);
}

void bh_works_free(bh_works *works)
{
    void *owned[] = {works->work,   works->x,          works->y,           works->z,
                     works->ax,     works->ay,         works->az,          works->pot,
                     works->counts, works->sent_group, works->groups_from, works->targets_from};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    eqp_move_plan_free(works->groups_plan);
    eqp_move_plan_free(works->targets_plan);
    bh_works_init(works);
}

bh_work_targets bh_works_targets(const bh_works *works, int64_t w)
{
    const int64_t first = works->work[w].group.first;
    const bh_particles *p = works->particles;

    if (w < works->nlocal) {
        return (bh_work_targets){p->x + first,  p->y + first,  p->z + first,  p->ax + first,
                                 p->ay + first, p->az + first, p->pot + first};
    }
    return (bh_work_targets){works->x + first,  works->y + first,  works->z + first,  works->ax + first,
                             works->ay + first, works->az + first, works->pot + first};
}

/* The (group, rank) pairs that travel, by group and then by rank. A group that its home computes whole stays. */
typedef struct pair_list {
    int64_t n, capacity;
    int64_t *group; /* [n] */
    int *rank;      /* [n] */
} pair_list;

static int list_pairs(int64_t ngroups, const int64_t *tag, const app_map *map, int me, int nranks, pair_list *pairs)
{
    int *ranks = NULL;
    int64_t capacity = 0;
    int code = eqp_array_create(&ranks, nranks, sizeof *ranks);

    for (int64_t g = 0; g < ngroups && code == EQP_OK; g++) {
        if (tag[g] == me) {
            continue;
        }
        int n = app_map_ranks(map, tag[g], nranks, ranks);
        capacity = pairs->capacity;
        code = eqp_array_reserve(&pairs->group, &capacity, pairs->n + n, sizeof *pairs->group);
        if (code == EQP_OK) {
            code = eqp_array_reserve(&pairs->rank, &pairs->capacity, pairs->n + n, sizeof *pairs->rank);
        }
        for (int i = 0; i < n && code == EQP_OK; i++) {
            pairs->group[pairs->n] = g;
            pairs->rank[pairs->n++] = ranks[i];
        }
    }
    free(ranks);
    return code;
}

static int plan_targets(bh_works *works, const bh_group *group, const pair_list *pairs, int nranks)
{
    int *rank = NULL;
    int64_t n = 0;
    int code;

    for (int64_t i = 0; i < pairs->n; i++) {
        works->nsent_targets += group[pairs->group[i]].count;
    }
    code = eqp_array_create(&rank, works->nsent_targets, sizeof *rank);
    for (int64_t i = 0; i < pairs->n && code == EQP_OK; i++) {
        for (int64_t t = 0; t < group[pairs->group[i]].count; t++) {
            rank[n++] = pairs->rank[i];
        }
    }
    if (code == EQP_OK) {
        code = eqp_move_plan_create(n, rank, nranks, &works->targets_plan);
    }
    free(rank);
    return code;
}

static int plan(bh_works *works, MPI_Comm comm, int64_t ngroups, const bh_group *group, const int64_t *tag,
                const app_map *map)
{
    pair_list pairs = {0};
    int me, nranks, code;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    code = list_pairs(ngroups, tag, map, me, nranks, &pairs);
    works->nsent = pairs.n;
    works->sent_group = pairs.group;
    if (code == EQP_OK) {
        code = eqp_move_plan_create(pairs.n, pairs.rank, nranks, &works->groups_plan);
    }
    if (code == EQP_OK) {
        code = plan_targets(works, group, &pairs, nranks);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&works->groups_from, nranks, sizeof *works->groups_from);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&works->targets_from, nranks, sizeof *works->targets_from);
    }
    free(pairs.rank);
    return code;
}

/* What leaves this rank: a record and the target positions of each pair. */
typedef struct parcel {
    bh_work *record;
    double (*position)[3];
} parcel;

static int pack(const bh_works *works, const bh_group *group, const int64_t *tag, int me, parcel *out)
{
    const bh_particles *p = works->particles;
    int64_t target = 0;
    int code = eqp_array_create(&out->record, works->nsent, sizeof *out->record);

    if (code == EQP_OK) {
        code = eqp_array_create(&out->position, works->nsent_targets, sizeof *out->position);
    }
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        int64_t g = works->sent_group[s];
        out->record[s] = (bh_work){.group = group[g], .tag = tag[g], .at_home = g, .home = me};
        for (int64_t i = group[g].first; i < group[g].first + group[g].count; i++, target++) {
            out->position[target][0] = p->x[i];
            out->position[target][1] = p->y[i];
            out->position[target][2] = p->z[i];
        }
    }
    return code;
}

static int make_room(bh_works *works, double (**position)[3])
{
    double **field[] = {&works->x, &works->y, &works->z, &works->ax, &works->ay, &works->az, &works->pot};
    int code = eqp_array_create(&works->work, works->n, sizeof *works->work);

    for (int i = 0; i < 7 && code == EQP_OK; i++) {
        code = eqp_array_create(field[i], works->ntargets, sizeof(double));
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&works->counts, works->n, sizeof *works->counts);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(position, works->ntargets, sizeof **position);
    }
    return code;
}

static void put_local(bh_works *works, int64_t ngroups, const bh_group *group, const int64_t *tag, int me)
{
    int64_t w = 0;

    for (int64_t g = 0; g < ngroups; g++) {
        if (tag[g] == me) {
            works->work[w++] = (bh_work){.group = group[g], .tag = me, .at_home = g, .home = me};
        }
    }
}

static void unpack(bh_works *works, double (*position)[3])
{
    int64_t first = 0;

    for (int64_t w = works->nlocal; w < works->n; w++) {
        works->work[w].group.first = first;
        first += works->work[w].group.count;
    }
    for (int64_t i = 0; i < works->ntargets; i++) {
        works->x[i] = position[i][0];
        works->y[i] = position[i][1];
        works->z[i] = position[i][2];
    }
}

/* The parcels' way: counts first, then records and positions. */
static int deliver(bh_works *works, MPI_Comm comm, const parcel *out, double (**position)[3])
{
    int64_t arriving = 0;
    int code = eqp_move_counts(comm, works->groups_plan, works->groups_from, &arriving);

    works->n = works->nlocal + arriving;
    if (code == EQP_OK) {
        code = eqp_move_counts(comm, works->targets_plan, works->targets_from, &works->ntargets);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, make_room(works, position), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_move_apply(comm, works->groups_plan, works->groups_from, sizeof *out->record, out->record,
                              works->work + works->nlocal);
    }
    if (code == EQP_OK) {
        code = eqp_move_apply(comm, works->targets_plan, works->targets_from, sizeof *out->position, out->position,
                              *position);
    }
    return code;
}

/* Items of a plan that leave this rank, in bytes. */
static int64_t bytes_leaving(const eqp_move_plan *plan, int me, size_t size)
{
    eqp_move_view view = eqp_move_plan_arrays(plan);
    return (view.n - view.count[me]) * (int64_t)size;
}

int bh_works_send(bh_works *works, MPI_Comm comm, const bh_particles *particles, int64_t ngroups, const bh_group *group,
                  const int64_t *tag, const app_map *map, int64_t *bytes)
{
    parcel out = {NULL, NULL};
    double(*position)[3] = NULL;
    int me, code;

    MPI_Comm_rank(comm, &me);
    bh_works_free(works);
    works->particles = particles;
    for (int64_t g = 0; g < ngroups; g++) {
        works->nlocal += tag[g] == me;
    }
    code = plan(works, comm, ngroups, group, tag, map);
    if (code == EQP_OK) {
        code = pack(works, group, tag, me, &out);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = deliver(works, comm, &out, &position);
    }
    if (code == EQP_OK) {
        put_local(works, ngroups, group, tag, me);
        unpack(works, position);
        *bytes += bytes_leaving(works->groups_plan, me, sizeof *out.record) +
                  bytes_leaving(works->targets_plan, me, sizeof *out.position);
    }
    free(position);
    free(out.position);
    free(out.record);
    return code;
}

typedef struct result {
    double ax, ay, az, pot;
} result;

/* in [nsent_targets] is in group order and for each group by rank: every rank count adds alike. */
static void add_results(const bh_works *works, bh_particles *p, const bh_group *group, const result *in)
{
    int64_t target = 0;

    for (int64_t s = 0; s < works->nsent; s++) {
        const int64_t g = works->sent_group[s];
        const bool first = s == 0 || works->sent_group[s - 1] != g;
        for (int64_t i = group[g].first; i < group[g].first + group[g].count; i++, target++) {
            p->ax[i] = (first ? 0.0 : p->ax[i]) + in[target].ax;
            p->ay[i] = (first ? 0.0 : p->ay[i]) + in[target].ay;
            p->az[i] = (first ? 0.0 : p->az[i]) + in[target].az;
            p->pot[i] = (first ? 0.0 : p->pot[i]) + in[target].pot;
        }
    }
}

int bh_works_return(const bh_works *works, MPI_Comm comm, bh_particles *particles, const bh_group *group,
                    int64_t *bytes)
{
    result *out = NULL, *in = NULL;
    int me, code = eqp_array_create(&out, works->ntargets, sizeof *out);

    MPI_Comm_rank(comm, &me);
    if (code == EQP_OK) {
        code = eqp_array_create(&in, works->nsent_targets, sizeof *in);
    }
    code = eqp_agree(comm, code, NULL);
    for (int64_t i = 0; i < works->ntargets && code == EQP_OK; i++) {
        out[i] = (result){works->ax[i], works->ay[i], works->az[i], works->pot[i]};
    }
    if (code == EQP_OK) {
        code = eqp_move_return(comm, works->targets_plan, works->targets_from, sizeof *out, out, in);
    }
    if (code == EQP_OK) {
        add_results(works, particles, group, in);
        *bytes += (works->ntargets - works->targets_from[me]) * (int64_t)sizeof *out;
    }
    free(in);
    free(out);
    return code;
}
