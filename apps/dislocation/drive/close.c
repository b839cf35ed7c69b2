/* SPDX-License-Identifier: BSD-3-Clause */
#include "close.h"

#include "../physics/network/distance.h"
#include "outbox.h"

#include <equipoise/par.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adding and taking it away rounds to the nearest whole number: in loops that a compiler vectorises on any machine,
 * which rint() is not. */
#define ROUND 6755399441055744.0 /* 1.5 x 2^52 */

/* Segments looked at before the near ones are listed. */
#define BLOCK 256

void dd_closes_free(dd_closes *closes)
{
    free(closes->pair);
    *closes = (dd_closes){0};
}

static inline double nearest(double offset, double edge, double per_edge)
{
    return offset - edge * (offset * per_edge + ROUND - ROUND);
}

int64_t dd_close_balls(const dd_balls *balls, int64_t i, int64_t first, int64_t n, const double box[3], double reach,
                       int64_t *near)
{
    const double *restrict x = balls->x[0] + first, *restrict y = balls->x[1] + first;
    const double *restrict z = balls->x[2] + first, *restrict half = balls->half + first;
    const double at[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]}, own = balls->half[i];
    double per_box[3];
    int64_t found = 0;

    for (int d = 0; d < 3; d++) {
        per_box[d] = box[d] > 0 ? 1 / box[d] : 0;
    }
    for (int64_t from = 0; from < n; from += BLOCK) {
        const int64_t end = n - from < BLOCK ? n - from : BLOCK;
        unsigned char far[BLOCK];
        for (int64_t k = 0; k < end; k++) {
            const double between[3] = {nearest(x[from + k] - at[0], box[0], per_box[0]),
                                       nearest(y[from + k] - at[1], box[1], per_box[1]),
                                       nearest(z[from + k] - at[2], box[2], per_box[2])};
            far[k] = dd_segments_are_far(between, half[from + k], own, reach);
        }
        for (int64_t k = 0; k < end; k++) {
            near[found] = first + from + k;
            found += !far[k];
        }
    }
    return found;
}

/* Whether they come closer than reach; positions of the second by the image that is nearest to the first. */
static bool are_close(const dd_stage *stage, const dd_balls *balls, int64_t i, int64_t j, const double box[3],
                      double reach)
{
    const dd_segment a = dd_stage_segment(stage, i), b = dd_stage_segment(stage, j);
    double b1[3], b2[3], s, t;

    for (int d = 0; d < 3; d++) {
        const double offset = balls->x[d][j] - balls->x[d][i];
        const double shift = box[d] > 0 ? box[d] * rint(offset / box[d]) : 0;
        b1[d] = b.x1[d] - shift;
        b2[d] = b.x2[d] - shift;
    }
    return dd_segments_distance2(a.x1, a.x2, b1, b2, &s, &t) < reach * reach;
}

static bool have_common_node(const dd_segment_key *a, const dd_segment_key *b)
{
    return a->owner == b->owner || a->owner == b->other || a->other == b->owner || a->other == b->other;
}

/* Where the ends of a local segment live; -1: not known here. */
static void homes(const dd_domain *domain, const dd_stage *stage, int64_t local, int home[2])
{
    const int64_t source = stage->source[local];

    if (source >= 0) {
        home[0] = domain->rank;
        home[1] = domain->network.node[stage->own_node[source]].arm[stage->own_arm[source]].home;
    } else {
        home[0] = dd_stage_sender(stage, -1 - source);
        home[1] = -1;
    }
}

static int append(const dd_domain *domain, const dd_stage *stage, int64_t i, int64_t j, dd_closes *closes)
{
    const dd_segment_key *a = &stage->key[i], *b = &stage->key[j];
    const bool turned = a->owner != b->owner ? a->owner > b->owner : a->other > b->other;
    const int64_t local[2] = {turned ? j : i, turned ? i : j};
    dd_close *pair;
    int code = eqp_array_reserve(&closes->pair, &closes->room, closes->n + 1, sizeof *closes->pair);

    if (code != EQP_OK) {
        return code;
    }
    pair = &closes->pair[closes->n++];
    for (int s = 0; s < 2; s++) {
        pair->tag[2 * s] = stage->key[local[s]].owner;
        pair->tag[2 * s + 1] = stage->key[local[s]].other;
        homes(domain, stage, local[s], &pair->home[2 * s]);
    }
    return EQP_OK;
}

static int search(const dd_domain *domain, const dd_stage *stage, const dd_balls *balls, double reach, int64_t *near,
                  dd_closes *closes)
{
    int code = EQP_OK;

    for (int64_t t = 0; t < stage->ntargets && code == EQP_OK; t++) {
        const int64_t i = stage->target[t].local;
        dd_run runs[DD_GRID_RUNS + 1];
        const int nruns = dd_stage_runs(stage, i, dd_stage_cell(stage, i), runs);
        for (int r = 0; r < nruns && code == EQP_OK; r++) {
            const int64_t n = dd_close_balls(balls, i, runs[r].first, runs[r].n, domain->box, reach, near);
            for (int64_t k = 0; k < n && code == EQP_OK; k++) {
                if (!have_common_node(&stage->key[i], &stage->key[near[k]]) &&
                    are_close(stage, balls, i, near[k], domain->box, reach)) {
                    code = append(domain, stage, i, near[k], closes);
                }
            }
        }
    }
    return code;
}

/* Five columns: of the balls, and room for places. */
static int find_here(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes)
{
    double *column = NULL;
    int64_t *near = NULL;
    int code = eqp_array_create(&column, 4 * stage->n, sizeof *column);

    if (code == EQP_OK) {
        code = eqp_array_create(&near, stage->n + 1, sizeof *near);
    }
    if (code == EQP_OK) {
        double *half = column + 3 * stage->n;
        dd_balls balls = {{column, column + stage->n, column + 2 * stage->n}, half};
        for (int64_t i = 0; i < stage->n; i++) {
            const dd_segment segment = dd_stage_segment(stage, i);
            double length2 = 0;
            for (int d = 0; d < 3; d++) {
                const double along = segment.x2[d] - segment.x1[d];
                column[d * stage->n + i] = segment.x1[d] + 0.5 * along;
                length2 += along * along;
            }
            half[i] = 0.5 * sqrt(length2);
        }
        code = search(domain, stage, &balls, reach, near, closes);
    }
    free(near);
    free(column);
    return code;
}

/* Asks the home of a segment's owner where its other end lives. */
typedef struct question {
    int64_t place; /* in dd_close.home of all pairs */
    dd_tag owner, other;
} question;

typedef struct answer {
    int64_t place, home;
} answer;

static int answer_all(const dd_domain *domain, dd_inbox *asked, dd_outbox *out)
{
    int code = EQP_OK;

    while (!dd_inbox_empty(asked)) {
        const int sender = dd_inbox_sender(asked);
        question one;
        code = dd_inbox_read(asked, &one, sizeof one);
        if (code != EQP_OK) {
            break;
        }
        const int64_t place = dd_network_find(&domain->network, one.owner);
        const dd_arm *arm = place < 0 ? NULL : dd_node_find_arm(&domain->network.node[place], one.other);
        if (arm == NULL) {
            code = EQP_ERR_INTERNAL;
            break;
        }
        const answer given = {one.place, arm->home};
        dd_outbox_add(out, sender, &given, sizeof given);
    }
    return code;
}

static int find_homes(const dd_domain *domain, dd_closes *closes)
{
    dd_outbox out = {0};
    dd_inbox asked = {0}, in = {0};
    int code;

    for (int64_t i = 0; i < 4 * closes->n; i++) {
        const dd_close *pair = &closes->pair[i / 4];
        if (pair->home[i % 4] < 0) {
            const question one = {i, pair->tag[i % 4 - 1], pair->tag[i % 4]};
            dd_outbox_add(&out, pair->home[i % 4 - 1], &one, sizeof one);
        }
    }
    code = dd_outbox_deliver(domain->comm, &out, &asked);
    if (code == EQP_OK) {
        dd_outbox_fail(&out, answer_all(domain, &asked, &out));
        code = dd_outbox_deliver(domain->comm, &out, &in);
    }
    while (code == EQP_OK && !dd_inbox_empty(&in)) {
        answer given;
        code = dd_inbox_read(&in, &given, sizeof given);
        if (code == EQP_OK) {
            closes->pair[given.place / 4].home[given.place % 4] = (int)given.home;
        }
    }
    dd_inbox_free(&in);
    dd_inbox_free(&asked);
    return code;
}

int dd_close_find(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes)
{
    int code;

    closes->n = 0;
    code = eqp_agree(domain->comm, find_here(domain, stage, reach, closes), NULL);
    return code == EQP_OK ? find_homes(domain, closes) : code;
}
