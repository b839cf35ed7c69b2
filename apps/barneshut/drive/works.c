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
    void *owned[] = {works->work,     works->x,
                     works->y,        works->z,
                     works->ax,       works->ay,
                     works->az,       works->pot,
                     works->sent,     works->sent_targets,
                     works->received, works->received_targets,
                     works->counts,   works->sent_group};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    bh_works_init(works);
}

/* What leaves this rank: one record and the target positions per (group, rank), by rank. */
typedef struct parcel {
    bh_work *record;
    double (*position)[3];
} parcel;

static int64_t sum_of(int n, const int64_t *value)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        sum += value[i];
    }
    return sum;
}

static int create_counts(bh_works *works, MPI_Comm comm)
{
    int code = EQP_OK;

    MPI_Comm_size(comm, &works->nranks);
    int64_t **arrays[] = {&works->sent, &works->sent_targets, &works->received, &works->received_targets};
    for (int i = 0; i < 4 && code == EQP_OK; i++) {
        code = eqp_array_create(arrays[i], works->nranks, sizeof(int64_t));
    }
    return code;
}

/* Calls for every (group, rank) pair: first to count, then to fill (with next != NULL). */
static void visit_destinations(bh_works *works, int64_t ngroups, const bh_group *group, const bh_route *route,
                               int *ranks, int64_t *next)
{
    for (int64_t g = 0; g < ngroups; g++) {
        int64_t tag = route->only != NULL ? route->only[g] : route->tag[g];
        int nranks = bh_map_ranks(route->map, tag, works->nranks, ranks);
        for (int i = 0; i < nranks; i++) {
            if (next != NULL) {
                works->sent_group[next[ranks[i]]++] = g;
            } else {
                works->sent[ranks[i]]++;
                works->sent_targets[ranks[i]] += group[g].count;
            }
        }
    }
}

static int plan(bh_works *works, int64_t ngroups, const bh_group *group, const bh_route *route)
{
    int *ranks = malloc((size_t)works->nranks * sizeof *ranks);
    int64_t *next = malloc((size_t)works->nranks * sizeof *next);
    int code = ranks == NULL || next == NULL ? EQP_ERR_MEMORY : EQP_OK;

    if (code == EQP_OK) {
        visit_destinations(works, ngroups, group, route, ranks, NULL);
        works->nsent = sum_of(works->nranks, works->sent);
        code = eqp_array_create(&works->sent_group, works->nsent, sizeof(int64_t));
    }
    if (code == EQP_OK) {
        int64_t start = 0;
        for (int r = 0; r < works->nranks; r++) {
            next[r] = start;
            start += works->sent[r];
        }
        visit_destinations(works, ngroups, group, route, ranks, next);
    }
    free(next);
    free(ranks);
    return code;
}

static int pack(const bh_works *works, const bh_particles *p, const bh_group *group, const bh_route *route, int me,
                parcel *out)
{
    int64_t target = 0;
    int code = eqp_array_create(&out->record, works->nsent, sizeof *out->record);

    if (code == EQP_OK) {
        code = eqp_array_create(&out->position, sum_of(works->nranks, works->sent_targets), sizeof *out->position);
    }
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        int64_t g = works->sent_group[s];
        out->record[s] = (bh_work){.group = group[g],
                                   .tag = route->only != NULL ? route->only[g] : route->tag[g],
                                   .present = route->tag[g],
                                   .number = g,
                                   .home = me};
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

static void unpack(bh_works *works, double (*position)[3])
{
    int64_t first = 0;

    for (int64_t w = 0; w < works->n; w++) {
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
    int code = eqp_exchange_counts(comm, works->sent, works->received, &works->n);

    if (code == EQP_OK) {
        code = eqp_exchange_counts(comm, works->sent_targets, works->received_targets, &works->ntargets);
    }
    if (code == EQP_OK) {
        code = eqp_agree(comm, make_room(works, position), NULL);
    }
    if (code == EQP_OK) {
        code = eqp_exchange(comm, sizeof(bh_work), works->sent, out->record, works->received, works->work);
    }
    if (code == EQP_OK) {
        code = eqp_exchange(comm, sizeof **position, works->sent_targets, out->position, works->received_targets,
                            *position);
    }
    return code;
}

int bh_works_send(bh_works *works, MPI_Comm comm, const bh_particles *particles, int64_t ngroups, const bh_group *group,
                  const bh_route *route, int64_t *bytes)
{
    parcel out = {NULL, NULL};
    double(*position)[3] = NULL;
    int me, code;

    MPI_Comm_rank(comm, &me);
    bh_works_free(works);
    code = create_counts(works, comm);
    if (code == EQP_OK) {
        code = plan(works, ngroups, group, route);
    }
    if (code == EQP_OK) {
        code = pack(works, particles, group, route, me, &out);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = deliver(works, comm, &out, &position);
    }
    if (code == EQP_OK) {
        unpack(works, position);
        *bytes += (works->nsent - works->sent[me]) * (int64_t)sizeof(bh_work) +
                  (sum_of(works->nranks, works->sent_targets) - works->sent_targets[me]) * (int64_t)sizeof *position;
    }
    free(position);
    free(out.position);
    free(out.record);
    return code;
}

typedef struct result {
    double ax, ay, az, pot;
} result;

static void add_results(const bh_works *works, bh_particles *p, int64_t ngroups, const bh_group *group,
                        const result *in, const bh_counts *in_counts, bh_counts *counts)
{
    int64_t target = 0;

    memset(counts, 0, (size_t)ngroups * sizeof *counts);
    for (int64_t i = 0; i < p->n; i++) {
        p->ax[i] = p->ay[i] = p->az[i] = p->pot[i] = 0.0;
    }
    for (int64_t s = 0; s < works->nsent; s++) {
        int64_t g = works->sent_group[s];
        counts[g].pairs += in_counts[s].pairs;
        counts[g].cells += in_counts[s].cells;
        counts[g].visits += in_counts[s].visits;
        for (int64_t i = group[g].first; i < group[g].first + group[g].count; i++, target++) {
            p->ax[i] += in[target].ax;
            p->ay[i] += in[target].ay;
            p->az[i] += in[target].az;
            p->pot[i] += in[target].pot;
        }
    }
}

int bh_works_return(bh_works *works, MPI_Comm comm, bh_particles *particles, int64_t ngroups, const bh_group *group,
                    bh_counts *counts, int64_t *bytes)
{
    int64_t home_targets = sum_of(works->nranks, works->sent_targets);
    result *out = NULL, *in = NULL;
    bh_counts *in_counts = NULL;
    int me, code = eqp_array_create(&out, works->ntargets, sizeof *out);

    MPI_Comm_rank(comm, &me);
    if (code == EQP_OK) {
        code = eqp_array_create(&in, home_targets, sizeof *in);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&in_counts, works->nsent, sizeof *in_counts);
    }
    code = eqp_agree(comm, code, NULL);
    if (code != EQP_OK) {
        goto done;
    }
    for (int64_t i = 0; i < works->ntargets; i++) {
        out[i] = (result){works->ax[i], works->ay[i], works->az[i], works->pot[i]};
    }
    code = eqp_exchange(comm, sizeof *out, works->received_targets, out, works->sent_targets, in);
    if (code == EQP_OK) {
        code = eqp_exchange(comm, sizeof *in_counts, works->received, works->counts, works->sent, in_counts);
    }
    if (code == EQP_OK) {
        add_results(works, particles, ngroups, group, in, in_counts, counts);
        *bytes += (works->ntargets - works->received_targets[me]) * (int64_t)sizeof *out +
                  (works->n - works->received[me]) * (int64_t)sizeof *in_counts;
    }
done:
    free(in_counts);
    free(in);
    free(out);
    return code;
}

int bh_works_return_words(const bh_works *works, MPI_Comm comm, const int64_t *word, int64_t *home_word)
{
    int64_t *in = NULL;
    int code = eqp_agree(comm, eqp_array_create(&in, works->nsent, sizeof *in), NULL);

    if (code == EQP_OK) {
        code = eqp_exchange(comm, sizeof *word, works->received, word, works->sent, in);
    }
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        home_word[works->sent_group[s]] = in[s];
    }
    free(in);
    return code;
}
