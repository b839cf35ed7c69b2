/* SPDX-License-Identifier: BSD-3-Clause */
#include "tasks.h"

#include <equipoise/base.h>
#include <equipoise/par.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What travels of a group ahead of its targets, from which its bounds follow; at_home: its number there. `on` comes
 * last: it travels only where particles have steps of many sizes, in turns in which all are active. */
typedef struct work_head {
    uint64_t key;
    int64_t tag, at_home;
    double accel;
    int32_t part, count;
    int16_t on[BH_RUNGS_MAX]; /* as bh_work.on: a group has at most BH_GROUP_MOST targets */
} work_head;

static size_t head_bytes(bool rungs)
{
    return rungs ? sizeof(work_head) : offsetof(work_head, on);
}

void bh_works_init(bh_works *works)
{
    memset(works, 0, sizeof *works);
}

void bh_works_free(bh_works *works)
{
    void *owned[] = {works->work,     works->waits, works->sent_group, works->sent_first, works->sent_rank,
                     works->sent_own, works->block, (void *)works->to, works->result,     works->tags};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    eqp_route_free(works->back);
    eqp_route_free(works->out);
    bh_works_init(works);
}

int64_t bh_work_bytes(int64_t count, bool rungs)
{
    return (int64_t)head_bytes(rungs) + 3 * count * (int64_t)sizeof(double);
}

int64_t bh_result_bytes(int64_t count)
{
    return 4 * count * (int64_t)sizeof(double);
}

/* Of the i-th work that has come. Blocks, and what precedes them, are whole doubles. */
static const double *positions_of(const bh_works *works, int64_t i)
{
    return (const double *)(const void *)(works->block[i] + head_bytes(works->particles->rungs));
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
    if (works->to != NULL) {
        t.ax = works->to[w - works->nlocal];
        t.ay = t.ax + count;
        t.az = t.ay + count;
        t.pot = t.az + count;
    }
    return t;
}

/* Its targets by rungs. on: zeros */
static void count_rungs(const bh_particles *p, const bh_group *group, int16_t on[BH_RUNGS_MAX])
{
    on[0] = (int16_t)group->count;
    for (int64_t i = group->first; i < group->first + group->count && p->rung != NULL; i++) {
        for (int64_t k = 1; k <= p->rung[i]; k++) {
            on[k]++;
        }
    }
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
            local[works->nlocal] = (bh_work){.group = group[g], .tag = tag[g], .at_home = g, .home = me};
            count_rungs(works->particles, &group[g], local[works->nlocal++].on);
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
static unsigned char *pack_group(unsigned char *to, const bh_works *works, int64_t g)
{
    const bh_particles *p = works->particles;
    const bh_group *group = &works->group[g];
    const double *const from[] = {p->x, p->y, p->z};
    const size_t bytes = (size_t)group->count * sizeof(double);
    work_head head = {.key = group->key,
                      .tag = works->tag[g],
                      .at_home = g,
                      .accel = group->accel,
                      .part = group->part,
                      .count = group->count};

    count_rungs(p, group, head.on);
    memcpy(to, &head, head_bytes(p->rungs));
    to += head_bytes(p->rungs);
    for (int k = 0; k < 3; k++, to += bytes) {
        memcpy(to, from[k] + group->first, bytes);
    }
    return to;
}

/* bytes [nsent] of each block; data: all blocks (owned by the caller). */
static int pack(const bh_works *works, int64_t *bytes, unsigned char **data)
{
    int64_t size = 0;
    unsigned char *to;
    int code;

    for (int64_t s = 0; s < works->nsent; s++) {
        bytes[s] = bh_work_bytes(works->group[works->sent_group[s]].count, works->particles->rungs);
        size += bytes[s];
    }
    code = eqp_array_create(data, size, 1);
    to = *data;
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        to = pack_group(to, works, works->sent_group[s]);
    }
    return code;
}

/* The i-th work that has come, as it is at home. */
static bh_work read_work(const bh_works *works, int64_t i, int home)
{
    const double *x = positions_of(works, i);
    work_head head = {.on = {0}};

    memcpy(&head, works->block[i], head_bytes(works->particles->rungs));
    head.on[0] = (int16_t)head.count;
    bh_work work = {.group = {.key = head.key, .part = head.part, .count = head.count, .accel = head.accel},
                    .tag = head.tag,
                    .at_home = head.at_home,
                    .home = home};
    memcpy(work.on, head.on, sizeof work.on);
    bh_group_bounds(head.count, x, x + head.count, x + 2 * (int64_t)head.count, work.group.lo, work.group.hi);
    return work;
}

/* The works that stay, then nin that have come, whose blocks are known. home: [nin] */
static int line_up(bh_works *works, const bh_work *local, int64_t nin, const int *home)
{
    int code;

    EQP_TRY(eqp_array_create(&works->work, works->nlocal + nin, sizeof *works->work));
    EQP_TRY(eqp_array_create(&works->waits, works->nlocal + nin, sizeof *works->waits));
    if (works->nlocal > 0) {
        memcpy(works->work, local, (size_t)works->nlocal * sizeof *local);
    }
    for (int64_t i = 0; i < nin; i++) {
        works->work[works->nlocal + i] = read_work(works, i, home[i]);
    }
    works->n = works->nlocal + nin;
done:
    return code;
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

/* ---- by routes ---- */

/* code: of this rank so far; collective. */
static int send_by_route(bh_works *works, MPI_Comm comm, const eqp_exchange_plan *plan, const bh_work *local, int code,
                         eqp_route_counts *counts)
{
    int64_t *bytes = NULL;
    unsigned char *data = NULL;
    const void *received = NULL;

    code = code == EQP_OK ? eqp_array_create(&bytes, works->nsent, sizeof *bytes) : code;
    code = code == EQP_OK ? pack(works, bytes, &data) : code;
    const eqp_route_blocks blocks = blocks_of(works, bytes, false, code);
    EQP_TRY(bh_trip(comm, plan, &blocks, data, &works->out, &received, counts));
    works->away = !eqp_route_idle(works->out);
    const eqp_route_view in = eqp_route_arrivals(works->out);
    EQP_TRY(eqp_array_create(&works->block, in.n, sizeof *works->block));
    for (int64_t i = 0; i < in.n; i++) {
        works->block[i] = (const unsigned char *)received + in.offset[i];
    }
    EQP_TRY(line_up(works, local, in.n, in.home));
done:
    free(data);
    free(bytes);
    return code;
}

static int expect_by_route(bh_works *works, const eqp_exchange_plan *plan, int code)
{
    int64_t *bytes = NULL, size = 0;

    code = code == EQP_OK ? eqp_array_create(&bytes, works->nsent, sizeof *bytes) : code;
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        bytes[s] = bh_result_bytes(works->group[works->sent_group[s]].count);
    }
    const eqp_route_blocks blocks = blocks_of(works, bytes, true, code);
    EQP_TRY(eqp_route_create(works->comm, plan, &blocks, &works->back));
    const eqp_route_view in = eqp_route_arrivals(works->back);
    for (int64_t i = 0; i < in.n; i++) {
        size = in.offset[i] + in.bytes[i] > size ? in.offset[i] + in.bytes[i] : size;
    }
    EQP_TRY(eqp_array_create(&works->result, size / (int64_t)sizeof(double), sizeof *works->result));
    EQP_TRY(eqp_array_create(&works->to, in.n, sizeof *works->to));
    for (int64_t i = 0; i < in.n; i++) {
        works->to[i] = works->result + in.offset[i] / (int64_t)sizeof(double);
    }
done:
    free(bytes);
    return code;
}

/* sum: results of all groups that were sent, one after another */
static int return_by_route(const bh_works *works, double *sum, int code, eqp_route_counts *counts)
{
    if (code != EQP_OK) {
        eqp_route_give_up(works->back, code);
    }
    const int started = eqp_route_back_start(works->back, works->result);
    code = eqp_route_back_finish(works->back, sum);
    EQP_TRY(code == EQP_ERR_STATE ? started : code); /* no trip: some rank could not make the route */
    *counts = eqp_route_last_counts(works->back);
done:
    return code;
}

/* ---- by messages ---- */

/* The ranks that get groups, and a message for each. */
static int put_groups(const bh_works *works, bh_post *post)
{
    bool *hired = NULL;
    int nranks, code;

    MPI_Comm_size(post->comm, &nranks);
    EQP_TRY(eqp_array_create(&hired, nranks, sizeof *hired));
    for (int64_t s = 0; s < works->nsent; s++) {
        const int64_t g = works->sent_group[s], bytes = bh_work_bytes(works->group[g].count, works->particles->rungs);
        unsigned char *first = NULL, *room;
        for (int64_t k = works->sent_first[s]; k < works->sent_first[s + 1]; k++) {
            EQP_TRY(eqp_messenger_put(post->works, works->sent_rank[k], bytes, &room));
            hired[works->sent_rank[k]] = true;
            if (first == NULL) {
                first = room;
                (void)pack_group(room, works, g);
            } else {
                memcpy(room, first, (size_t)bytes);
            }
        }
    }
    for (int r = 0; r < nranks; r++) {
        if (hired[r]) {
            post->hired[post->nhired++] = r;
        }
    }
done:
    free(hired);
    return code;
}

/* The works in what has come. *home: [works->n - works->nlocal] owned by the caller */
static int find_blocks(bh_works *works, const eqp_messages_view *came, int64_t *nin, int **home)
{
    const bool rungs = works->particles->rungs;
    int64_t capacity = 0, homes = 0;
    work_head head;
    int code = EQP_OK;

    for (int i = 0; i < came->n; i++) {
        const unsigned char *at = came->data[i];
        for (int64_t left = came->bytes[i], bytes; left > 0; left -= bytes, at += bytes) {
            EQP_TRY(left < (int64_t)head_bytes(rungs) ? EQP_ERR_FORMAT : EQP_OK);
            memcpy(&head, at, head_bytes(rungs));
            bytes = bh_work_bytes(head.count, rungs);
            EQP_TRY(head.count < 1 || bytes > left ? EQP_ERR_FORMAT : EQP_OK);
            EQP_TRY(eqp_array_reserve(&works->block, &capacity, *nin + 1, sizeof *works->block));
            EQP_TRY(eqp_array_reserve(home, &homes, *nin + 1, sizeof **home));
            works->block[*nin] = at;
            (*home)[(*nin)++] = came->rank[i];
        }
    }
done:
    return code;
}

static int send_by_messages(bh_works *works, bh_post *post, const bh_work *local, int code, eqp_route_counts *counts)
{
    int64_t nin = 0;
    int *home = NULL;

    post->nhired = 0;
    code = code == EQP_OK ? put_groups(works, post) : code;
    EQP_TRY(eqp_messenger_send(post->works, code));
    code = eqp_messenger_finish(post->works);
    const eqp_messages_view came = eqp_messenger_came(post->works);
    works->post = came.rank != NULL ? post : NULL; /* on all ranks: else all have heard why */
    EQP_TRY(code);
    *counts = eqp_messenger_last_counts(post->works);
    works->away = true;
    EQP_TRY(find_blocks(works, &came, &nin, &home));
    EQP_TRY(line_up(works, local, nin, home));
done:
    free(home);
    return code;
}

/* Results are written where they are sent from. Those of one home lie one after another, as its works do. Local. */
static int expect_by_messages(bh_works *works)
{
    const bh_work *in = works->work + works->nlocal;
    const int64_t n = works->n - works->nlocal;
    int code;

    EQP_TRY(eqp_array_create(&works->to, n, sizeof *works->to));
    for (int64_t i = 0, last; i < n; i = last) {
        int64_t bytes = 0;
        double *room;
        for (last = i; last < n && in[last].home == in[i].home; last++) {
            bytes += bh_result_bytes(in[last].group.count);
        }
        EQP_TRY(eqp_messenger_put(works->post->forces, in[i].home, bytes, &room));
        for (int64_t k = i; k < last; k++) {
            works->to[k] = room;
            room += bh_result_bytes(in[k].group.count) / (int64_t)sizeof(double);
        }
    }
done:
    return code;
}

/* The results of a group, of all who have computed some of it, by rank. at: [ranks] where the next one of each lies */
static int add_up(const bh_works *works, int64_t s, const double **at, const double *const *end, double *sum)
{
    const int64_t n = 4 * (int64_t)works->group[works->sent_group[s]].count;

    for (int64_t k = works->sent_first[s]; k < works->sent_first[s + 1]; k++) {
        const int r = works->sent_rank[k];
        if (end[r] - at[r] < n) {
            return EQP_ERR_FORMAT;
        }
        for (int64_t i = 0; i < n; i++) {
            sum[i] += at[r][i];
        }
        at[r] += n;
    }
    return EQP_OK;
}

/* sum: as return_by_route(), zeros */
static int return_by_messages(const bh_works *works, double *sum, int code, eqp_route_counts *counts)
{
    bh_post *post = works->post;
    const eqp_messages_view homes = eqp_messenger_came(post->works);
    const double **at = NULL, **end = NULL;
    int nranks;

    MPI_Comm_size(post->comm, &nranks);
    EQP_TRY(eqp_messenger_answer(post->forces, code, homes.n, homes.rank, post->nhired, post->hired));
    EQP_TRY(eqp_messenger_finish(post->forces));
    *counts = eqp_messenger_last_counts(post->forces);
    EQP_TRY(eqp_array_create(&at, nranks, sizeof *at));
    EQP_TRY(eqp_array_create(&end, nranks, sizeof *end));
    const eqp_messages_view came = eqp_messenger_came(post->forces);
    for (int i = 0; i < came.n; i++) {
        at[came.rank[i]] = came.data[i];
        end[came.rank[i]] = at[came.rank[i]] + came.bytes[i] / (int64_t)sizeof(double);
    }
    for (int64_t s = 0; s < works->nsent; s++) {
        EQP_TRY(add_up(works, s, at, end, sum));
        sum += 4 * (int64_t)works->group[works->sent_group[s]].count;
    }
done:
    free(at);
    free(end);
    return code;
}

/* ---- both ---- */

/* Tags of one phase. */
static int take_tags(bh_works *works, const int64_t *tag, const eqp_map *map, int phase)
{
    int code = EQP_OK;

    works->tag = tag;
    if (eqp_map_phased(map, NULL, NULL) > 0) {
        EQP_TRY(eqp_array_create(&works->tags, works->ngroups, sizeof *works->tags));
        for (int64_t g = 0; g < works->ngroups; g++) {
            works->tags[g] = eqp_map_tag_in(map, tag[g], phase);
        }
        works->tag = works->tags;
    }
done:
    return code;
}

int bh_works_send(bh_works *works, bh_post *post, const eqp_exchange_plan *plan, const bh_particles *particles,
                  int64_t ngroups, const bh_group *group, const int64_t *tag, bool away, const eqp_map *map, int phase,
                  int code, eqp_route_counts *counts)
{
    bh_work *local = NULL;
    bool open = false;
    int me, nranks;

    MPI_Comm_rank(post->comm, &me);
    MPI_Comm_size(post->comm, &nranks);
    bh_works_free(works);
    works->comm = post->comm;
    works->particles = particles;
    works->ngroups = ngroups;
    works->group = group;
    code = code == EQP_OK ? take_tags(works, tag, map, phase) : code;
    code = code == EQP_OK ? make_lists(works, ngroups) : code;
    code = code == EQP_OK ? eqp_array_create(&local, ngroups, sizeof *local) : code;
    code = code == EQP_OK ? list_groups(works, ngroups, group, works->tag, map, me, nranks, local) : code;
    if (away) { /* on all ranks */
        const int opened = bh_post_open(post, plan, &open);
        code = opened != EQP_OK ? opened
               : open           ? send_by_messages(works, post, local, code, counts)
                                : send_by_route(works, post->comm, plan, local, code, counts);
    } else {
        code = code == EQP_OK ? line_up(works, local, 0, NULL) : code;
    }
    free(local);
    return code;
}

int bh_works_expect(bh_works *works, const eqp_exchange_plan *plan, int code)
{
    if (works->post != NULL) { /* on all ranks */
        return code == EQP_OK ? expect_by_messages(works) : code;
    }
    return works->away ? expect_by_route(works, plan, code) : code; /* on all ranks */
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

int bh_works_return(const bh_works *works, bh_particles *particles, int code, eqp_route_counts *counts)
{
    double *sum = NULL;
    int64_t n = 0;

    if (works->post == NULL && works->back == NULL) { /* on all ranks: nothing was sent, or all have heard why */
        return code;
    }
    for (int64_t s = 0; s < works->nsent && code == EQP_OK; s++) {
        n += 4 * works->group[works->sent_group[s]].count;
    }
    code = code == EQP_OK ? eqp_array_create(&sum, n, sizeof *sum) : code;
    EQP_TRY(works->post != NULL ? return_by_messages(works, sum, code, counts)
                                : return_by_route(works, sum, code, counts));
    add_results(works, particles, works->group, sum);
done:
    free(sum);
    return code;
}
