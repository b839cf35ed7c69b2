/* SPDX-License-Identifier: BSD-3-Clause */
#include "handout.h"

#include "../physics/parcel.h"

#include <equipoise/base.h>
#include <equipoise/par.h>
#include <equipoise/schedule_run.h>

#include <stdlib.h>
#include <string.h>

/* Works in a parcel, at most: a millisecond or two, in which who computes it looks after nobody. */
#define MOST_GIVEN 64

/* Works of a piece, after which others are looked after: a tenth of a millisecond. To look after each costs 3 % of the
 * forces of groups of the usual size, after four 1 %. */
#define GRAIN 4

struct bh_handout {
    eqp_loop *loop;
    bh_packer *packer;
    int64_t capacity;
    bh_parcel_group *group; /* [capacity] scratch: of a parcel */
};

/* One run. */
typedef struct run {
    bh_handout *handout;
    bh_pass *pass;
    bh_tree *tree;
    bh_traffic *traffic;
    int64_t first; /* number of this rank's first work in the loop */
    int64_t bytes_sent;
} run;

static int create_loop(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                       eqp_loop **loop)
{
    eqp_loop_options options = EQP_LOOP_OPTIONS_DEFAULTS;

    options.engine = EQP_LOOP_MASTER;
    options.parcels = true;
    options.yield = true;
    options.grain = GRAIN;
    options.most_given = MOST_GIVEN;
    return eqp_loop_create(comm, method, 0, rules, &options, loop);
}

int bh_handout_create(MPI_Comm comm, const eqp_schedule_method *method, const eqp_schedule_options *rules,
                      bh_handout **handout)
{
    bh_handout *made = NULL;
    int code = eqp_array_create(&made, 1, sizeof *made);

    if (code == EQP_OK) {
        code = bh_packer_create(&made->packer);
    }
    code = eqp_agree(comm, code, NULL);
    if (code == EQP_OK) {
        code = create_loop(comm, method, rules, &made->loop);
    }
    if (code != EQP_OK) {
        bh_handout_free(made);
        return code;
    }
    *handout = made;
    return EQP_OK;
}

void bh_handout_free(bh_handout *handout)
{
    if (handout != NULL) {
        eqp_loop_free(handout->loop);
        bh_packer_free(handout->packer);
        free(handout->group);
        free(handout);
    }
}

/* The loop's callbacks: `user` is a run. */

static int compute_own(void *user, int64_t first, int64_t count, const void *data, void *result)
{
    run *r = user;
    const double start = eqp_cpu_seconds();
    int code = EQP_OK;

    (void)data;
    (void)result; /* works know where their results go */
    for (int64_t w = first - r->first; w < first - r->first + count && code == EQP_OK; w++) {
        code = bh_pass_work(r->pass, w);
    }
    return code == EQP_OK ? bh_pass_add_time(r->pass, start) : code;
}

static int reserve_groups(bh_handout *handout, int64_t n)
{
    return eqp_array_reserve(&handout->group, &handout->capacity, n, sizeof *handout->group);
}

/* This rank's share of a group: others compute it in its stead. */
typedef struct share_choice {
    const bh_pass *pass;
    bh_tile_choice choice;
} share_choice;

static const bh_choice *choose_share(void *user, const bh_parcel_group *group)
{
    share_choice *c = user;

    return bh_tile_choose(&c->choice, c->pass->map, group->tag, c->pass->rank, &group->group);
}

static int pack(void *user, int to, int64_t first, int64_t count, void **data, size_t *bytes)
{
    run *r = user;
    const bh_works *works = r->pass->works;
    share_choice choice = {.pass = r->pass};
    int code;

    EQP_TRY(reserve_groups(r->handout, count));
    for (int64_t i = 0; i < count; i++) {
        const int64_t w = first - r->first + i;
        const bh_work_targets t = bh_works_targets(works, w);
        r->handout->group[i] =
            (bh_parcel_group){.group = works->work[w].group, .tag = works->work[w].tag, .x = t.x, .y = t.y, .z = t.z};
    }
    EQP_TRY(bh_packer_pack(r->handout->packer, to, count, r->handout->group, &r->pass->evaluator->mac, choose_share,
                           &choice, data, bytes));
    r->bytes_sent += (int64_t)*bytes;
done:
    return code;
}

/* Grafts what has come with the groups; room for their forces: *targets of them. */
static int open_parcel(run *r, int64_t count, const void *data, size_t bytes, int64_t *targets)
{
    const int64_t cells = r->tree->ncells, particles = r->tree->sources.n;
    int code = reserve_groups(r->handout, count);

    if (code == EQP_OK) {
        code = bh_parcel_open(r->tree, data, bytes, count, r->handout->group);
    }
    r->traffic->cells += r->tree->ncells - cells;
    r->traffic->particles += r->tree->sources.n - particles;
    *targets = 0;
    for (int64_t i = 0; i < count && code == EQP_OK; i++) {
        const bh_parcel_group *group = &r->handout->group[i];
        *targets += group->group.count;
        code = group->tag < -eqp_map_shared(r->pass->map) ? EQP_ERR_FORMAT : EQP_OK;
    }
    return code;
}

/* Forces of the groups at hand as `owner` would compute them, one group's after the other's. */
static int compute_groups(run *r, int owner, int64_t count, double *to)
{
    const double start = eqp_cpu_seconds();
    int code = EQP_OK;

    for (int64_t i = 0; i < count && code == EQP_OK; i++) {
        const bh_parcel_group *group = &r->handout->group[i];
        const int64_t n = group->group.count;
        const bh_work_targets t = {group->x, group->y, group->z, to, to + n, to + 2 * n, to + 3 * n};
        code = bh_pass_group(r->pass, &group->group, group->tag, owner, &t);
        to += 4 * n;
    }
    /* A parcel brings all that its groups need. */
    code = code == EQP_ERR_INTERNAL ? EQP_ERR_FORMAT : code;
    return code == EQP_OK ? bh_pass_add_time(r->pass, start) : code;
}

static int compute_parcel(void *user, int owner, int64_t first, int64_t count, const void *data, size_t bytes,
                          void **result, size_t *result_bytes)
{
    run *r = user;
    double *forces = NULL;
    int64_t targets;
    int code;

    (void)first;
    EQP_TRY(open_parcel(r, count, data, bytes, &targets));
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
    run *r = user;
    const bh_works *works = r->pass->works;
    const unsigned char *from = result;

    for (int64_t w = first - r->first; w < first - r->first + count; w++) {
        const bh_work_targets t = bh_works_targets(works, w);
        double *const to[4] = {t.ax, t.ay, t.az, t.pot};
        const size_t size = (size_t)works->work[w].group.count * sizeof(double);
        if (bytes < 4 * size) {
            return EQP_ERR_FORMAT;
        }
        for (int f = 0; f < 4; f++, from += size) {
            memcpy(to[f], from, size);
        }
        bytes -= 4 * size;
    }
    return bytes == 0 ? EQP_OK : EQP_ERR_FORMAT;
}

int bh_handout_run(bh_handout *handout, MPI_Comm comm, bh_pass *pass, bh_tree *tree, bh_traffic *traffic,
                   bh_handed *handed)
{
    static const eqp_loop_parcels parcels = {.pack = pack, .compute = compute_parcel, .take = take};
    run r = {.handout = handout, .pass = pass, .tree = tree, .traffic = traffic};
    const eqp_loop_work work = {.compute = compute_own, .user = &r, .parcels = &parcels};
    eqp_loop_result done;
    int code = eqp_loop_resize(handout->loop, pass->works->n);

    if (code != EQP_OK) {
        return code;
    }
    r.first = eqp_loop_part(handout->loop, pass->rank).first;
    bh_packer_begin(handout->packer, tree);
    EQP_TRY(eqp_loop_run(handout->loop, &work, &done));
    EQP_TRY(eqp_agree(comm, bh_pass_end_sample(pass), NULL));
    *handed = (bh_handed){.helped = done.helped, .bytes_sent = r.bytes_sent};
done:
    return code;
}
