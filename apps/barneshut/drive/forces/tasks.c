/* SPDX-License-Identifier: BSD-3-Clause */
#include "tasks.h"

#include <equipoise/more/base.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const bh_kind_names[BH_KINDS] = {"pair", "cell", "listed", "visit", "group"};

const double bh_kind_nominal[BH_KINDS] = {2e-9, 4.6e-9, 3e-9, 8e-9, 3e-7};

void bh_counts_add(bh_counts *sum, const bh_counts *counts)
{
    for (int k = 0; k < BH_KINDS; k++) {
        sum->of[k] += counts->of[k];
    }
}

/* Record of a group, followed by its targets, from which its bounds follow; at_home: its number there. `on` comes last:
 * it is sent only if particles have steps of several sizes, in substeps in which all are active. */
typedef struct task_head {
    uint64_t key;
    int64_t tag, at_home;
    double accel;
    int32_t part, count;
    int16_t on[BH_RUNGS_MAX]; /* as bh_task.on: a group has at most BH_GROUP_MOST targets */
} task_head;

static size_t head_bytes(bool rungs)
{
    return rungs ? sizeof(task_head) : offsetof(task_head, on);
}

void bh_tasks_free(bh_tasks *tasks)
{
    void *owned[] = {tasks->task,     tasks->waits, tasks->sent_group, tasks->sent_first, tasks->sent_rank,
                     tasks->sent_own, tasks->block, (void *)tasks->to, tasks->result,     tasks->tags};

    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) {
        free(owned[i]);
    }
    eqp_route_free(tasks->back);
    bh_parcels_free(&tasks->out);
    *tasks = (bh_tasks){0};
}

int64_t bh_task_bytes(int64_t count, bool rungs)
{
    return (int64_t)head_bytes(rungs) + 3 * count * (int64_t)sizeof(double);
}

int64_t bh_result_bytes(int64_t count)
{
    return 4 * count * (int64_t)sizeof(double);
}

/* Positions of the i-th arrived task. Heads and blocks are whole doubles. */
static const double *positions_of(const bh_tasks *tasks, int64_t i)
{
    return (const double *)(const void *)(tasks->block[i] + head_bytes(tasks->particles->rungs));
}

bh_task_targets bh_tasks_targets(const bh_tasks *tasks, int64_t w)
{
    const int64_t first = tasks->task[w].group.first, count = tasks->task[w].group.count;
    const bh_particles *p = tasks->particles;
    bh_task_targets t = {.ax = NULL};

    if (w < tasks->nlocal) {
        return (bh_task_targets){p->x + first,  p->y + first,  p->z + first,  p->ax + first,
                                 p->ay + first, p->az + first, p->pot + first};
    }
    t.x = positions_of(tasks, w - tasks->nlocal);
    t.y = t.x + count;
    t.z = t.y + count;
    if (tasks->to != NULL) {
        t.ax = tasks->to[w - tasks->nlocal];
        t.ay = t.ax + count;
        t.az = t.ay + count;
        t.pot = t.az + count;
    }
    return t;
}

/* Number of targets on each rung or a later one. on: zeroed */
static void count_rungs(const bh_particles *p, const bh_group *group, int16_t on[BH_RUNGS_MAX])
{
    on[0] = (int16_t)group->count;
    for (int64_t i = group->first; i < group->first + group->count && p->rung != NULL; i++) {
        for (int64_t k = 1; k <= p->rung[i]; k++) {
            on[k]++;
        }
    }
}

/* Adds a group that other ranks compute: rank [n] without this one. */
static int add_sent(bh_tasks *tasks, int64_t *capacity, int64_t g, int n, const int *rank, bool own)
{
    const int64_t at = tasks->sent_first[tasks->nsent];

    EQP_CHECK(eqp_array_reserve(&tasks->sent_rank, capacity, at + n, sizeof *tasks->sent_rank));
    memcpy(tasks->sent_rank + at, rank, (size_t)n * sizeof *rank);
    tasks->sent_group[tasks->nsent] = g;
    tasks->sent_own[tasks->nsent++] = own;
    tasks->sent_first[tasks->nsent] = at + n;
    return EQP_OK;
}

/* Divides the groups into `local`, which has room for all, and groups to send. */
static int list_groups(bh_tasks *tasks, int64_t ngroups, const bh_group *group, const int64_t *tag, const eqp_map *map,
                       int me, int nranks, bh_task *local)
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
            local[tasks->nlocal] = (bh_task){.group = group[g], .tag = tag[g], .at_home = g, .home = me};
            count_rungs(tasks->particles, &group[g], local[tasks->nlocal++].on);
        }
        if (others > 0) {
            code = add_sent(tasks, &capacity, g, others, rank, own);
        }
    }
    free(rank);
    return code;
}

static int make_lists(bh_tasks *tasks, int64_t ngroups)
{
    EQP_CHECK(eqp_array_create(&tasks->sent_group, ngroups, sizeof *tasks->sent_group));
    EQP_CHECK(eqp_array_create(&tasks->sent_first, ngroups + 1, sizeof *tasks->sent_first));
    return eqp_array_create(&tasks->sent_own, ngroups, sizeof *tasks->sent_own);
}

static void pack_task(const void *user, int64_t s, unsigned char *to)
{
    const bh_tasks *tasks = user;
    const int64_t g = tasks->sent_group[s];
    const bh_particles *p = tasks->particles;
    const bh_group *group = &tasks->group[g];
    const double *const from[] = {p->x, p->y, p->z};
    const size_t bytes = (size_t)group->count * sizeof(double);
    task_head head = {.key = group->key,
                      .tag = tasks->tag[g],
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
}

/* The i-th arrived task, as at its home. */
static bh_task read_task(const bh_tasks *tasks, int64_t i, int home)
{
    const double *x = positions_of(tasks, i);
    task_head head = {.on = {0}};

    memcpy(&head, tasks->block[i], head_bytes(tasks->particles->rungs));
    head.on[0] = (int16_t)head.count;
    bh_task task = {.group = {.key = head.key, .part = head.part, .count = head.count, .accel = head.accel},
                    .tag = head.tag,
                    .at_home = head.at_home,
                    .home = home};
    memcpy(task.on, head.on, sizeof task.on);
    bh_group_bounds(head.count, x, x + head.count, x + 2 * (int64_t)head.count, task.group.lo, task.group.hi);
    return task;
}

/* Lists the tasks that stay, then nin arrived ones with known blocks. home: [nin] */
static int line_up(bh_tasks *tasks, const bh_task *local, int64_t nin, const int *home)
{
    EQP_CHECK(eqp_array_create(&tasks->task, tasks->nlocal + nin, sizeof *tasks->task));
    EQP_CHECK(eqp_array_create(&tasks->waits, tasks->nlocal + nin, sizeof *tasks->waits));
    if (tasks->nlocal > 0) {
        memcpy(tasks->task, local, (size_t)tasks->nlocal * sizeof *local);
    }
    for (int64_t i = 0; i < nin; i++) {
        tasks->task[tasks->nlocal + i] = read_task(tasks, i, home[i]);
    }
    tasks->n = tasks->nlocal + nin;
    return EQP_OK;
}

/* Blocks of the sent groups, or of their results; bytes [nsent], owned by the caller. */
static eqp_route_blocks blocks_of(const bh_tasks *tasks, bool back, int code, int64_t **bytes)
{
    code = code == EQP_OK ? eqp_array_create(bytes, tasks->nsent, sizeof **bytes) : code;
    for (int64_t s = 0; s < tasks->nsent && code == EQP_OK; s++) {
        const int64_t count = tasks->group[tasks->sent_group[s]].count;
        (*bytes)[s] = back ? bh_result_bytes(count) : bh_task_bytes(count, tasks->particles->rungs);
    }
    return (eqp_route_blocks){.n = tasks->nsent,
                              .back = back,
                              .code = code,
                              .id = tasks->sent_group,
                              .bytes = *bytes,
                              .first = tasks->sent_first,
                              .rank = tasks->sent_rank};
}

/* Finds the arrived tasks. *home: [*nin] owned by the caller */
static int find_blocks(bh_tasks *tasks, int64_t *nin, int **home)
{
    const int64_t npieces = bh_parcels_pieces(&tasks->out);
    const bool rungs = tasks->particles->rungs;
    int64_t capacity = 0, homes = 0;
    task_head head;

    for (int64_t i = 0; i < npieces; i++) {
        const bh_piece piece = bh_parcels_piece(&tasks->out, i);
        const unsigned char *at = piece.data;
        for (int64_t left = piece.bytes, bytes; left > 0; left -= bytes, at += bytes) {
            EQP_CHECK(left < (int64_t)head_bytes(rungs) ? EQP_ERR_FORMAT : EQP_OK);
            memcpy(&head, at, head_bytes(rungs));
            bytes = bh_task_bytes(head.count, rungs);
            EQP_CHECK(head.count < 1 || bytes > left ? EQP_ERR_FORMAT : EQP_OK);
            EQP_CHECK(eqp_array_reserve(&tasks->block, &capacity, *nin + 1, sizeof *tasks->block));
            EQP_CHECK(eqp_array_reserve(home, &homes, *nin + 1, sizeof **home));
            tasks->block[*nin] = at;
            (*home)[(*nin)++] = piece.rank;
        }
    }
    return EQP_OK;
}

/* code: of this rank so far; collective. */
static int send_groups(bh_tasks *tasks, const eqp_exchange_plan *plan, bool open, int nranks, const bh_task *local,
                       int code, eqp_route_counts *counts)
{
    bh_messengers *const m = tasks->messengers;
    int64_t *bytes = NULL, nin = 0;
    int *home = NULL;
    const eqp_route_blocks blocks = blocks_of(tasks, false, code, &bytes);

    if (open) {
        m->nhelpers =
            code == EQP_OK ? bh_list_ranks(tasks->sent_first[tasks->nsent], tasks->sent_rank, nranks, m->helper) : 0;
    }
    code = bh_parcels_start(&tasks->out, m->comm, plan, open ? m->tasks : NULL, &blocks, pack_task, tasks, NULL);
    code = bh_parcels_finish(&tasks->out, code, counts);
    tasks->returns = tasks->out.delivered && !tasks->out.idle;
    EQP_TRY(code);
    EQP_TRY(find_blocks(tasks, &nin, &home));
    EQP_TRY(line_up(tasks, local, nin, home));
done:
    free(home);
    free(bytes);
    return code;
}

/* ---- results by routes ---- */

static int expect_by_route(bh_tasks *tasks, const eqp_exchange_plan *plan, int code)
{
    int64_t *bytes = NULL, size = 0;
    const eqp_route_blocks blocks = blocks_of(tasks, true, code, &bytes);

    EQP_TRY(eqp_route_create(tasks->messengers->comm, plan, &blocks, &tasks->back));
    const eqp_route_view in = eqp_route_arrivals(tasks->back);
    for (int64_t i = 0; i < in.n; i++) {
        size = in.offset[i] + in.bytes[i] > size ? in.offset[i] + in.bytes[i] : size;
    }
    EQP_TRY(eqp_array_create(&tasks->result, size / (int64_t)sizeof(double), sizeof *tasks->result));
    EQP_TRY(eqp_array_create(&tasks->to, in.n, sizeof *tasks->to));
    for (int64_t i = 0; i < in.n; i++) {
        tasks->to[i] = tasks->result + in.offset[i] / (int64_t)sizeof(double);
    }
done:
    free(bytes);
    return code;
}

/* sum: results of all sent groups, one after another */
static int return_by_route(const bh_tasks *tasks, double *sum, int code, eqp_route_counts *counts)
{
    if (code != EQP_OK) {
        eqp_route_give_up(tasks->back, code);
    }
    const int started = eqp_route_back_start(tasks->back, tasks->result);
    code = eqp_route_back_finish(tasks->back, sum);
    EQP_TRY(code == EQP_ERR_STATE ? started : code); /* nothing was sent: some rank could not make the route */
    *counts = eqp_route_last_counts(tasks->back);
done:
    return code;
}

/* ---- results in messages ---- */

/* Results are written where they are sent from, those of one home consecutively, as its tasks. Local. */
static int expect_by_messages(bh_tasks *tasks)
{
    const bh_task *in = tasks->task + tasks->nlocal;
    const int64_t n = tasks->n - tasks->nlocal;

    EQP_CHECK(eqp_array_create(&tasks->to, n, sizeof *tasks->to));
    for (int64_t i = 0, last; i < n; i = last) {
        int64_t bytes = 0;
        double *room;
        for (last = i; last < n && in[last].home == in[i].home; last++) {
            bytes += bh_result_bytes(in[last].group.count);
        }
        EQP_CHECK(eqp_messenger_put(tasks->messengers->forces, in[i].home, bytes, &room));
        for (int64_t k = i; k < last; k++) {
            tasks->to[k] = room;
            room += bh_result_bytes(in[k].group.count) / (int64_t)sizeof(double);
        }
    }
    return EQP_OK;
}

/* Adds a group's results from all ranks, in rank order. at: [ranks] the next result of each */
static int add_up(const bh_tasks *tasks, int64_t s, const double **at, const double *const *end, double *sum)
{
    const int64_t n = 4 * (int64_t)tasks->group[tasks->sent_group[s]].count;

    for (int64_t k = tasks->sent_first[s]; k < tasks->sent_first[s + 1]; k++) {
        const int r = tasks->sent_rank[k];
        EQP_CHECK(end[r] - at[r] < n ? EQP_ERR_FORMAT : EQP_OK);
        for (int64_t i = 0; i < n; i++) {
            sum[i] += at[r][i];
        }
        at[r] += n;
    }
    return EQP_OK;
}

/* sum: as in return_by_route(), zeroed */
static int return_by_messages(const bh_tasks *tasks, double *sum, int code, eqp_route_counts *counts)
{
    bh_messengers *messengers = tasks->messengers;
    const eqp_messages_view homes = eqp_messenger_came(messengers->tasks);
    const double **at = NULL, **end = NULL;
    int nranks;

    MPI_Comm_size(messengers->comm, &nranks);
    EQP_TRY(
        eqp_messenger_answer(messengers->forces, code, homes.n, homes.rank, messengers->nhelpers, messengers->helper));
    EQP_TRY(eqp_messenger_finish(messengers->forces));
    *counts = eqp_messenger_last_counts(messengers->forces);
    EQP_TRY(eqp_array_create(&at, nranks, sizeof *at));
    EQP_TRY(eqp_array_create(&end, nranks, sizeof *end));
    const eqp_messages_view came = eqp_messenger_came(messengers->forces);
    for (int i = 0; i < came.n; i++) {
        at[came.rank[i]] = came.data[i];
        end[came.rank[i]] = at[came.rank[i]] + came.bytes[i] / (int64_t)sizeof(double);
    }
    for (int64_t s = 0; s < tasks->nsent; s++) {
        EQP_TRY(add_up(tasks, s, at, end, sum));
        sum += 4 * (int64_t)tasks->group[tasks->sent_group[s]].count;
    }
done:
    free(at);
    free(end);
    return code;
}

static int take_tags(bh_tasks *tasks, const int64_t *tag, const eqp_map *map, int phase)
{
    tasks->tag = tag;
    if (eqp_map_phased(map, NULL, NULL) > 0) {
        EQP_CHECK(eqp_array_create(&tasks->tags, tasks->ngroups, sizeof *tasks->tags));
        for (int64_t g = 0; g < tasks->ngroups; g++) {
            tasks->tags[g] = eqp_map_tag_in(map, tag[g], phase);
        }
        tasks->tag = tasks->tags;
    }
    return EQP_OK;
}

int bh_tasks_send(bh_tasks *tasks, bh_messengers *messengers, const eqp_exchange_plan *plan,
                  const bh_particles *particles, int64_t ngroups, const bh_group *group, const int64_t *tag, bool away,
                  const eqp_map *map, int phase, int code, eqp_route_counts *counts)
{
    bh_task *local = NULL;
    bool open = false;
    int me, nranks;

    MPI_Comm_rank(messengers->comm, &me);
    MPI_Comm_size(messengers->comm, &nranks);
    bh_tasks_free(tasks);
    tasks->messengers = messengers;
    tasks->particles = particles;
    tasks->ngroups = ngroups;
    tasks->group = group;
    code = code == EQP_OK ? take_tags(tasks, tag, map, phase) : code;
    code = code == EQP_OK ? make_lists(tasks, ngroups) : code;
    code = code == EQP_OK ? eqp_array_create(&local, ngroups, sizeof *local) : code;
    code = code == EQP_OK ? list_groups(tasks, ngroups, group, tasks->tag, map, me, nranks, local) : code;
    if (away) { /* on all ranks */
        const int opened = bh_messengers_open(messengers, plan, &open);
        code = opened != EQP_OK ? opened : send_groups(tasks, plan, open, nranks, local, code, counts);
    } else {
        code = code == EQP_OK ? line_up(tasks, local, 0, NULL) : code;
    }
    free(local);
    return code;
}

int bh_tasks_expect(bh_tasks *tasks, const eqp_exchange_plan *plan, int code)
{
    if (!tasks->returns) { /* on all ranks */
        return code;
    }
    if (tasks->out.messages == NULL) {
        return expect_by_route(tasks, plan, code);
    }
    return code == EQP_OK ? expect_by_messages(tasks) : code;
}

static void add_results(const bh_tasks *tasks, bh_particles *p, const bh_group *group, const double *sum)
{
    double *const to[] = {p->ax, p->ay, p->az, p->pot};

    for (int64_t s = 0; s < tasks->nsent; s++) {
        const bh_group *g = &group[tasks->sent_group[s]];
        for (int f = 0; f < 4; f++, sum += g->count) {
            for (int64_t i = 0; i < g->count; i++) {
                to[f][g->first + i] = (tasks->sent_own[s] ? to[f][g->first + i] : 0.0) + sum[i];
            }
        }
    }
}

int bh_tasks_return(const bh_tasks *tasks, bh_particles *particles, int code, eqp_route_counts *counts)
{
    double *sum = NULL;
    int64_t n = 0;

    if (!tasks->returns || (tasks->out.messages == NULL && tasks->back == NULL)) {
        return code; /* on all ranks: nothing was sent, or all know the reason */
    }
    for (int64_t s = 0; s < tasks->nsent && code == EQP_OK; s++) {
        n += 4 * tasks->group[tasks->sent_group[s]].count;
    }
    code = code == EQP_OK ? eqp_array_create(&sum, n, sizeof *sum) : code;
    EQP_TRY(tasks->out.messages != NULL ? return_by_messages(tasks, sum, code, counts)
                                        : return_by_route(tasks, sum, code, counts));
    add_results(tasks, particles, tasks->group, sum);
done:
    free(sum);
    return code;
}
