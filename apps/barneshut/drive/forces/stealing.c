/* SPDX-License-Identifier: BSD-3-Clause */
#include "evaluate.h"

#include <equipoise/more/base.h>

#include <stdlib.h>
#include <string.h>

/* Most tasks in a bundle: a millisecond or two during which its rank answers no messages. */
#define MOST_GIVEN 64

/* Tasks between two polls for messages: a tenth of a millisecond. Polling after each task costs 3 % of the forces with
 * groups of the usual size, after four tasks 1 %. */
#define GRAIN 4

struct bh_stealing {
    eqp_loop *loop;
    bh_packer *packer;
    int64_t capacity;
    bh_bundle_group *group; /* [capacity] scratch: of a bundle */
    /* Of the present evaluation: */
    bh_force_loop *forces;
    bh_tree *tree;
    bh_traffic *traffic;
    int64_t first; /* number of this rank's first task in the loop */
    int64_t bytes_sent;
};

int bh_stealing_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                       bh_stealing **stealing)
{
    eqp_loop_options options = eqp_loop_options_defaults();
    bh_stealing *made = NULL;
    int code = eqp_array_create(&made, 1, sizeof *made);

    options.bundles = true;
    options.yield = true;
    options.grain = GRAIN;
    options.most_given = MOST_GIVEN;
    code = code == EQP_OK ? bh_packer_create(&made->packer) : code;
    EQP_TRY(eqp_agree(comm, code, NULL));
    EQP_TRY(eqp_loop_create(comm, method, 0, rules, &options, &made->loop));
    *stealing = made;
    made = NULL;
done:
    bh_stealing_free(made);
    return code;
}

void bh_stealing_free(bh_stealing *stealing)
{
    if (stealing != NULL) {
        eqp_loop_free(stealing->loop);
        bh_packer_free(stealing->packer);
        free(stealing->group);
        free(stealing);
    }
}

/* Callbacks of the loop; `user` is the stealing. */

static int compute_own(void *user, int64_t first, int64_t count)
{
    bh_stealing *r = user;
    const double start = eqp_cpu_seconds();

    for (int64_t w = first - r->first; w < first - r->first + count; w++) {
        EQP_CHECK(bh_force_loop_task(r->forces, w));
    }
    return bh_force_loop_add_time(r->forces, start);
}

/* This rank's share of a group, computed on another rank. */
typedef struct share_choice {
    const bh_force_loop *forces;
    bh_tile_choice choice;
} share_choice;

static const bh_choice *choose_share(void *user, const bh_bundle_group *group)
{
    share_choice *c = user;

    return bh_tile_choose(&c->choice, c->forces->map, group->tag, c->forces->rank, &group->group);
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    bh_stealing *r = user;
    const bh_tasks *tasks = r->forces->tasks;
    share_choice choice = {.forces = r->forces};

    EQP_CHECK(eqp_array_reserve(&r->group, &r->capacity, count, sizeof *r->group));
    for (int64_t i = 0; i < count; i++) {
        const int64_t w = first - r->first + i;
        const bh_task_targets t = bh_tasks_targets(tasks, w);
        r->group[i] =
            (bh_bundle_group){.group = tasks->task[w].group, .tag = tasks->task[w].tag, .x = t.x, .y = t.y, .z = t.z};
    }
    EQP_CHECK(
        bh_packer_pack(r->packer, to, count, r->group, &r->forces->evaluator->mac, choose_share, &choice, data, bytes));
    r->bytes_sent += (int64_t)*bytes;
    return EQP_OK;
}

/* Grafts the blocks of a bundle and makes room for the forces on its *targets. */
static int open_bundle(bh_stealing *r, int64_t count, const void *data, size_t bytes, int64_t *targets)
{
    const int64_t cells = r->tree->ncells, particles = r->tree->sources.n;
    int code = eqp_array_reserve(&r->group, &r->capacity, count, sizeof *r->group);

    if (code == EQP_OK) {
        code = bh_bundle_open(r->tree, data, bytes, count, r->group);
    }
    r->traffic->cells += r->tree->ncells - cells;
    r->traffic->particles += r->tree->sources.n - particles;
    *targets = 0;
    for (int64_t i = 0; i < count && code == EQP_OK; i++) {
        const bh_bundle_group *group = &r->group[i];
        *targets += group->group.count;
        code = group->tag < -eqp_map_shared(r->forces->map) ? EQP_ERR_FORMAT : EQP_OK;
    }
    return code;
}

/* Forces of the current groups, one after another, as `owner` would compute them. */
static int compute_groups(bh_stealing *r, int owner, int64_t count, double *to)
{
    const double start = eqp_cpu_seconds();
    int code = EQP_OK;

    for (int64_t i = 0; i < count && code == EQP_OK; i++) {
        const bh_bundle_group *group = &r->group[i];
        const int64_t n = group->group.count;
        const bh_task_targets t = {group->x, group->y, group->z, to, to + n, to + 2 * n, to + 3 * n};
        code = bh_force_loop_group(r->forces, &group->group, group->tag, owner, &t);
        to += 4 * n;
    }
    /* A bundle has everything that its groups need. */
    code = code == EQP_ERR_INTERNAL ? EQP_ERR_FORMAT : code;
    return code == EQP_OK ? bh_force_loop_add_time(r->forces, start) : code;
}

static int compute_bundle(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                          void **result, size_t *result_bytes)
{
    bh_stealing *r = user;
    double *forces = NULL;
    int64_t targets;
    int code;

    (void)first;
    EQP_TRY(open_bundle(r, count, data, bytes, &targets));
    EQP_TRY(eqp_array_create(&forces, 4 * targets, sizeof *forces));
    EQP_TRY(compute_groups(r, owner, count, forces));
done:
    if (code != EQP_OK) {
        free(forces);
        return code;
    }
    *result = forces;
    *result_bytes = 4 * (size_t)targets * sizeof *forces;
    r->bytes_sent += (int64_t)*result_bytes;
    return EQP_OK;
}

static int take(void *user, int64_t first, int64_t count, const void *result, size_t bytes)
{
    bh_stealing *r = user;
    const bh_tasks *tasks = r->forces->tasks;
    const unsigned char *from = result;

    for (int64_t w = first - r->first; w < first - r->first + count; w++) {
        const bh_task_targets t = bh_tasks_targets(tasks, w);
        double *const to[4] = {t.ax, t.ay, t.az, t.pot};
        const size_t size = (size_t)tasks->task[w].group.count * sizeof(double);
        EQP_CHECK(bytes < 4 * size ? EQP_ERR_FORMAT : EQP_OK);
        for (int f = 0; f < 4; f++, from += size) {
            memcpy(to[f], from, size);
        }
        bytes -= 4 * size;
    }
    return bytes == 0 ? EQP_OK : EQP_ERR_FORMAT;
}

int bh_stealing_run(bh_stealing *stealing, MPI_Comm comm, bh_force_loop *forces, bh_tree *tree, bh_traffic *traffic,
                    bh_handed *handed)
{
    static const eqp_loop_bundles bundles = {.pack = pack, .compute = compute_bundle, .take = take};
    const eqp_loop_work work = {.compute = compute_own, .user = stealing, .bundles = &bundles};
    eqp_loop_result done;
    int code;

    EQP_TRY(eqp_loop_resize(stealing->loop, forces->tasks->n));
    stealing->forces = forces;
    stealing->tree = tree;
    stealing->traffic = traffic;
    stealing->first = eqp_loop_part(stealing->loop, forces->rank).first;
    stealing->bytes_sent = 0;
    bh_packer_begin(stealing->packer, tree);
    EQP_TRY(eqp_loop_run(stealing->loop, &work, &done));
    EQP_TRY(eqp_agree(comm, bh_force_loop_end_sample(forces), NULL));
    *handed = (bh_handed){.helped = done.helped, .bytes_sent = stealing->bytes_sent};
done:
    return code;
}
