/* SPDX-License-Identifier: BSD-3-Clause */
#include "close.h"

#include "../../physics/network/distance.h"
#include "../outbox.h"
#include "bins.h"

#include <equipoise/more/base.h>

#include <math.h>
#include <stdlib.h>

void dd_closes_free(dd_closes *closes)
{
    free(closes->pair);
    *closes = (dd_closes){0};
}

/* True if two segments come closer than reach; the second is taken at the image nearest to the first. */
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

/* Homes of the ends of a local segment; -1: not known here. */
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

/* True if a target has pairs with a segment. */
static bool is_charged(const dd_run *runs, int nruns, int64_t local)
{
    for (int r = 0; r < nruns; r++) {
        if (local >= runs[r].first && local < runs[r].first + runs[r].n) {
            return true;
        }
    }
    return false;
}

static int search(const dd_domain *domain, const dd_stage *stage, const dd_balls *balls, const dd_bins *bins,
                  int64_t *near, dd_closes *closes)
{
    int code = EQP_OK;

    for (int64_t t = 0; t < stage->ntargets && code == EQP_OK; t++) {
        const int64_t i = stage->target[t].local;
        const double x[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]};
        const int64_t n = dd_bins_near(bins, x, balls->radius[i], near);
        dd_run runs[DD_GRID_SOURCES];
        const int nruns = dd_stage_target_runs(stage, &stage->target[t], dd_stage_cell(stage, i), runs);
        for (int64_t k = 0; k < n && code == EQP_OK; k++) {
            const int64_t j = near[k];
            if (is_charged(runs, nruns, j) && !have_common_node(&stage->key[i], &stage->key[j]) &&
                are_close(stage, balls, i, j, domain->box, bins->reach)) {
                code = append(domain, stage, i, j, closes);
            }
        }
    }
    return code;
}

/* A ball around each segment. */
static void make_balls(const dd_stage *stage, double *column, dd_balls *balls)
{
    *balls = (dd_balls){stage->n, {column, column + stage->n, column + 2 * stage->n}, column + 3 * stage->n};
    for (int64_t i = 0; i < stage->n; i++) {
        const dd_segment segment = dd_stage_segment(stage, i);
        double length2 = 0;
        for (int d = 0; d < 3; d++) {
            const double along = segment.x2[d] - segment.x1[d];
            balls->x[d][i] = segment.x1[d] + 0.5 * along;
            length2 += along * along;
        }
        balls->radius[i] = 0.5 * sqrt(length2);
    }
}

static int find_here(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes)
{
    double *column = NULL;
    int64_t *near = NULL;
    dd_balls balls;
    dd_bins bins = {0};
    int code;

    EQP_TRY(eqp_array_create(&column, 4 * stage->n, sizeof *column));
    EQP_TRY(eqp_array_create(&near, stage->n + 1, sizeof *near));
    make_balls(stage, column, &balls);
    EQP_TRY(dd_bins_create(domain, &balls, reach, &bins));
    EQP_TRY(search(domain, stage, &balls, &bins, near, closes));
done:
    dd_bins_free(&bins);
    free(near);
    free(column);
    return code;
}

/* Asks the home of a segment's owner for the home of its other end. */
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

static int find_homes(const dd_domain *domain, int code, dd_closes *closes)
{
    dd_outbox out = {0};
    dd_inbox asked = {0}, in = {0};

    dd_outbox_fail(&out, code);
    for (int64_t i = 0; i < 4 * closes->n; i++) {
        const dd_close *pair = &closes->pair[i / 4];
        if (pair->home[i % 4] < 0) {
            const question one = {i, pair->tag[i % 4 - 1], pair->tag[i % 4]};
            dd_outbox_add(&out, pair->home[i % 4 - 1], &one, sizeof one);
        }
    }
    code = dd_outbox_deliver_own(domain->comm, &out, &asked);
    dd_outbox_fail(&out, code == EQP_OK ? answer_all(domain, &asked, &out) : code);
    EQP_TRY(dd_outbox_deliver_own(domain->comm, &out, &in));
    while (!dd_inbox_empty(&in)) {
        answer given;
        EQP_TRY(dd_inbox_read(&in, &given, sizeof given));
        closes->pair[given.place / 4].home[given.place % 4] = (int)given.home;
    }
done:
    dd_inbox_free(&in);
    dd_inbox_free(&asked);
    return code;
}

int dd_close_find(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes)
{
    closes->n = 0;
    return find_homes(domain, find_here(domain, stage, reach, closes), closes);
}
