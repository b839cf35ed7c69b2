/* SPDX-License-Identifier: BSD-3-Clause */
#include "works.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stdlib.h>
#include <string.h>

/* What travels of a group ahead of its targets, from which its bounds follow; who sends it, and what number it has
 * there, the route tells. */
typedef struct work_head {
    uint64_t key;
    int64_t tag;
    double accel;
    int32_t part, count;
} work_head;

void bh_works_init(bh_works *works)
{
    memset(works, 0, sizeof *works);
}

void bh_works_free(bh_works *works)
{
    void *owned[] = {works->work,      works->waits,    works->sent_group, works->sent_first,
                     works->sent_rank, works->sent_own, works->result};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    eqp_route_free(works->back);
    eqp_route_free(works->out);
    bh_works_init(works);
}

int64_t bh_work_bytes(int64_t count)
{
    return (int64_t)sizeof(work_head) + 3 * count * (int64_t)sizeof(double);
}

int64_t bh_result_bytes(int64_t count)
{
    return 4 * count * (int64_t)sizeof(double);
}

/* Of the i-th work that has come. Blocks, and what precedes them, are whole doubles. */
static const double *positions_of(const bh_works *works, int64_t i)
{
    const int64_t offset = eqp_route_arrivals(works->out).offset[i];

    return (const double *)(const void *)(works->received + offset + sizeof(work_head));
}

bh_work_targets bh_works_targets(const bh_works *works, int64_t w)
{
    const int64_t first = works->work[w].group.first, count = works->work[w].group.count;
    const bh_particles *p = works->particles;
    bh_work_targets t = {.ax = NULL};

    if (w < works->nlocal) {
        return (bh_work_targets){p->x + first,  p->y + first,  p->z + first,  p->ax + first,
                                 p->ay + first, p->az + first, p->pot + first};
    }
    t.x = positions_of(works, w - works->nlocal);
    t.y = t.x + count;
    t.z = t.y + count;
    if (works->result != NULL) {
        t.ax = works->result + eqp_route_arrivals(works->back).offset[w - works->nlocal] / (int64_t)sizeof(double);
        t.ay = t.ax + count;
        t.az = t.ay + count;
        t.pot = t.az + count;
    }
    return t;
}

/* A group that others compute, and which: rank [n] without this one. */
static int add_sent(bh_works *works, int64_t *capacity, int64_t g, int n, const int *rank, bool own)
{
    const int64_t at = works->sent_first[works->nsent];
    int code;

    EQP_TRY(eqp_array_reserve(&works->sent_rank, capacity, at + n, sizeof *works->sent_rank));
    memcpy(works->sent_rank + at, rank, (size_t)n * sizeof *rank);
    works->sent_group[works->nsent] = g;
    works->sent_own[works->nsent++] = own;
    works->sent_first[works->nsent] = at + n;
done:
    return code;
}

/* What stays, as a list of works that is long enough for all groups, and what goes. */
static int list_groups(bh_works *works, int64_t ngroups, const bh_group *group, const int64_t *tag, const eqp_map *map,
                       int me, int nranks, bh_work *local)
{
    int *rank = NULL;
    int64_t capacity = 0;
    int code = eqp_array_create(&rank, nranks, sizeof *rank);

    for (int64_t g = 0; g < ngroups && code == EQP_OK; g++) {
        int n = tag[g] == me ? 1 : eqp_map_ranks(map, tag[g], nranks, rank), others = 0;
        bool own = tag[g] == me;
        for (int i = 0; i < n && tag[g] != me; i++) {
            own = own || rank[i] == me;
            if (rank[i] != me) {
                rank[others++] = rank[i];
            }
        }
        if (own) {
            local[works->nlocal++] = (bh_work){.group = group[g], .tag = tag[g], .at_home = g, .home = me};
        }
        if (others > 0) {
            code = add_sent(works, &capacity, g, others, rank, own);
        }
    }
    free(rank);
    return code;
}

static int make_lists(bh_works *works, int64_t ngroups)
{
    int code;

    EQP_TRY(eqp_array_create(&works->sent_group, ngroups, sizeof *works->sent_group));
    EQP_TRY(eqp_array_create(&works->sent_first, ngroups + 1, sizeof *works->sent_first));
    EQP_TRY(eqp_array_create(&works->sent_own, ngroups, sizeof *works->sent_own));
done:
    return code;
}

/* The block of one group. */
static unsigned char *pack_group(unsigned char *to, const bh_particles *p, const bh_group *group, int64_t tag)
{
    const double *const from[] = {p->x, p->y, p->z};
    const size_t bytes = (size_t)group->count * sizeof(double);
    const work_head head = {
        .key = group->key, .tag = tag, .accel = group->accel, .part = group->part, .count = group->count};

    memcpy(to, &head, sizeof head);
    to += sizeof head;
    for (int k = 0; k < 3; k++, to += bytes) {
        memcpy(to, from[k] + group->first, bytes);
    }
    return to;
}

/* bytes [nsent] of each block; data: all blocks (owned by the caller). */
static int pack(const bh_works *works, const bh_group *group, const int64_t *tag, int64_t *bytes, unsigned char **data)
{
    int64_t size = 0;
    unsigned char *to;
    int code;

    for (int64_t s = 0; s < works->nsent; s++) {
        bytes[s] = bh_work_bytes(group[works->sent_group[s]].count);
        size += bytes[s];
    }
    code = eqp_array_create(data, size, 1);
    to = *data;
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        const int64_t g = works->sent_group[s];
        to = pack_group(to, works->particles, &group[g], tag[g]);
    }
    return code;
}

/* The i-th work that has come, as it is at home. */
static bh_work read_work(const bh_works *works, const eqp_route_view *in, int64_t i)
{
    const double *x = positions_of(works, i);
    work_head head;

    memcpy(&head, works->received + in->offset[i], sizeof head);
    bh_work work = {.group = {.key = head.key, .part = head.part, .count = head.count, .accel = head.accel},
                    .tag = head.tag,
                    .at_home = in->id[i],
                    .home = in->home[i]};
    bh_group_bounds(head.count, x, x + head.count, x + 2 * (int64_t)head.count, work.group.lo, work.group.hi);
    return work;
}

/* The works that stay, then those that have come. */
static int line_up(bh_works *works, const bh_work *local)
{
    const eqp_route_view in = eqp_route_arrivals(works->out);
    int code;

    works->n = works->nlocal + in.n;
    EQP_TRY(eqp_array_create(&works->work, works->n, sizeof *works->work));
    EQP_TRY(eqp_array_create(&works->waits, works->n, sizeof *works->waits));
done:
    if (code != EQP_OK) {
        return code;
    }
    if (works->nlocal > 0) {
        memcpy(works->work, local, (size_t)works->nlocal * sizeof *local);
    }
    for (int64_t i = 0; i < in.n; i++) {
        works->work[works->nlocal + i] = read_work(works, &in, i);
    }
    return EQP_OK;
}

static eqp_route_blocks blocks_of(const bh_works *works, const int64_t *bytes, bool back, int code)
{
    return (eqp_route_blocks){.n = works->nsent,
                              .back = back,
                              .code = code,
                              .id = works->sent_group,
                              .bytes = bytes,
                              .first = works->sent_first,
                              .rank = works->sent_rank};
}

int bh_works_send(bh_works *works, MPI_Comm comm, const eqp_exchange_plan *plan, const bh_particles *particles,
                  int64_t ngroups, const bh_group *group, const int64_t *tag, bool away, const eqp_map *map, int code,
                  eqp_route_counts *counts)
{
    bh_work *local = NULL;
    int64_t *bytes = NULL;
    unsigned char *data = NULL;
    const void *received = NULL;
    int me, nranks;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &nranks);
    bh_works_free(works);
    works->particles = particles;
    works->ngroups = ngroups;
    works->group = group;
    works->tag = tag;
    code = code == EQP_OK ? make_lists(works, ngroups) : code;
    if (code == EQP_OK) {
        code = eqp_array_create(&local, ngroups, sizeof *local);
    }
    if (code == EQP_OK) {
        code = list_groups(works, ngroups, group, tag, map, me, nranks, local);
    }
    if (code == EQP_OK) {
        code = eqp_array_create(&bytes, works->nsent, sizeof *bytes);
    }
    if (code == EQP_OK) {
        code = pack(works, group, tag, bytes, &data);
    }
    if (away) { /* on all ranks */
        const eqp_route_blocks blocks = blocks_of(works, bytes, false, code);
        EQP_TRY(bh_trip(comm, plan, &blocks, data, &works->out, &received, counts));
        works->received = received;
        works->away = !eqp_route_idle(works->out);
    }
    EQP_TRY(code);
    EQP_TRY(line_up(works, local));
done:
    free(data);
    free(bytes);
    free(local);
    return code;
}

int bh_works_expect(bh_works *works, MPI_Comm comm, const eqp_exchange_plan *plan, const bh_group *group, int code)
{
    int64_t *bytes = NULL, size = 0;

    if (!works->away) { /* on all ranks */
        return code;
    }
    code = code == EQP_OK ? eqp_array_create(&bytes, works->nsent, sizeof *bytes) : code;
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        bytes[s] = bh_result_bytes(group[works->sent_group[s]].count);
    }
    const eqp_route_blocks blocks = blocks_of(works, bytes, true, code);
    EQP_TRY(eqp_route_create(comm, plan, &blocks, &works->back));
    const eqp_route_view in = eqp_route_arrivals(works->back);
    for (int64_t i = 0; i < in.n; i++) {
        size = in.offset[i] + in.bytes[i] > size ? in.offset[i] + in.bytes[i] : size;
    }
    EQP_TRY(eqp_array_create(&works->result, size / (int64_t)sizeof(double), sizeof *works->result));
done:
    free(bytes);
    return code;
}

static void add_results(const bh_works *works, bh_particles *p, const bh_group *group, const double *sum)
{
    double *const to[] = {p->ax, p->ay, p->az, p->pot};

    for (int64_t s = 0; s < works->nsent; s++) {
        const bh_group *g = &group[works->sent_group[s]];
        for (int f = 0; f < 4; f++, sum += g->count) {
            for (int64_t i = 0; i < g->count; i++) {
                to[f][g->first + i] = (works->sent_own[s] ? to[f][g->first + i] : 0.0) + sum[i];
            }
        }
    }
}

int bh_works_return(const bh_works *works, bh_particles *particles, const bh_group *group, int code,
                    eqp_route_counts *counts)
{
    double *sum = NULL;
    int64_t n = 0;

    if (works->back == NULL) { /* on all ranks: nothing was sent, or all have heard why */
        return code;
    }
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        n += 4 * group[works->sent_group[s]].count;
    }
    code = code == EQP_OK ? eqp_array_create(&sum, n, sizeof *sum) : code;
    if (code != EQP_OK) {
        eqp_route_give_up(works->back, code);
    }
    const int started = eqp_route_back_start(works->back, works->result);
    code = eqp_route_back_finish(works->back, sum);
    EQP_TRY(code == EQP_ERR_STATE ? started : code); /* no trip: some rank could not make the route */
    *counts = eqp_route_last_counts(works->back);
    add_results(works, particles, group, sum);
done:
    free(sum);
    return code;
}
