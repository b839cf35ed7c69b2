/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology.h"

#include <math.h>

/* Adding and subtracting it rounds to the nearest integer, in loops that vectorise on any machine, unlike rint(). */
#define ROUND 6755399441055744.0 /* 1.5 x 2^52 */

/* Balls examined before the near ones are listed. */
#define BLOCK 64

/* Balls around the local segments: their middles and half lengths. */
typedef struct ball_columns {
    double *x[3], *radius; /* [n] parts of one array that starts at x[0] */
} ball_columns;

static inline double nearest(double offset, double edge, double per_edge)
{
    return offset - edge * (offset * per_edge + ROUND - ROUND);
}

/* Appends the balls of a run that are nearer than reach to ball i, by the nearest periodic image. */
static int64_t near_in_run(const double box[3], const ball_columns *balls, double reach, int64_t i, dd_run run,
                           int64_t *near)
{
    const double *restrict x = balls->x[0] + run.first, *restrict y = balls->x[1] + run.first;
    const double *restrict z = balls->x[2] + run.first, *restrict other = balls->radius + run.first;
    const double at[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]}, radius = balls->radius[i];
    double per_box[3];
    int64_t found = 0;

    for (int d = 0; d < 3; d++) {
        per_box[d] = box[d] > 0 ? 1 / box[d] : 0;
    }
    for (int64_t from = 0; from < run.n; from += BLOCK) {
        const int64_t end = run.n - from < BLOCK ? run.n - from : BLOCK;
        unsigned char far[BLOCK];
        for (int64_t k = 0; k < end; k++) {
            const double between[3] = {nearest(x[from + k] - at[0], box[0], per_box[0]),
                                       nearest(y[from + k] - at[1], box[1], per_box[1]),
                                       nearest(z[from + k] - at[2], box[2], per_box[2])};
            far[k] = dd_segments_are_far(between, other[from + k], radius, reach);
        }
        for (int64_t k = 0; k < end; k++) {
            near[found] = run.first + from + k;
            found += !far[k];
        }
    }
    return found;
}

void dd_closes_free(dd_closes *closes)
{
    free(closes->pair);
    *closes = (dd_closes){0};
}

/* True if two segments come closer than reach; the second at the image nearest to the first. */
static bool are_close(const dd_stage *stage, const ball_columns *balls, int64_t i, int64_t j, const double box[3],
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

/* Homes of the ends of a local segment; -1: unknown here. */
static void homes(const dd_domain *domain, const dd_stage *stage, int64_t local, int home[2])
{
    const int64_t source = stage->source[local];

    home[0] = source >= 0 ? domain->rank : dd_stage_sender(stage, source);
    home[1] = source >= 0 ? stage->own[source].arm->home : -1;
}

static int append(const dd_domain *domain, const dd_stage *stage, int64_t i, int64_t j, dd_closes *closes)
{
    const bool turned = dd_by_2_words(&stage->key[i], &stage->key[j]) > 0;
    const int64_t local[2] = {turned ? j : i, turned ? i : j};

    EQP_CHECK(eqp_array_reserve(&closes->pair, &closes->room, closes->n + 1, sizeof *closes->pair));
    dd_close *pair = &closes->pair[closes->n++];
    for (int s = 0; s < 2; s++) {
        pair->tag[2 * s] = stage->key[local[s]].owner;
        pair->tag[2 * s + 1] = stage->key[local[s]].other;
        homes(domain, stage, local[s], &pair->home[2 * s]);
    }
    return EQP_OK;
}

/* Close pairs are among those that this rank computes. near: [n + 1] scratch. */
static int search(const dd_domain *domain, const dd_stage *stage, const ball_columns *balls, double reach,
                  int64_t *near, dd_closes *closes)
{
    for (int64_t t = 0; t < stage->ntargets; t++) {
        const int64_t i = stage->target[t].local;
        dd_run runs[DD_GRID_SOURCES];
        const int nruns = dd_stage_target_runs(stage, &stage->target[t], dd_stage_cell(stage, i), runs);
        for (int r = 0; r < nruns; r++) {
            const int64_t n = near_in_run(domain->box, balls, reach, i, runs[r], near);
            for (int64_t k = 0; k < n; k++) {
                if (!have_common_node(&stage->key[i], &stage->key[near[k]]) &&
                    are_close(stage, balls, i, near[k], domain->box, reach)) {
                    EQP_CHECK(append(domain, stage, i, near[k], closes));
                }
            }
        }
    }
    return EQP_OK;
}

static void make_balls(const dd_stage *stage, int64_t first, int64_t end, const ball_columns *balls)
{
    for (int64_t i = first; i < end; i++) {
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
    DD_FREED int64_t *near = NULL;
    DD_FREED double *x = NULL;
    const int64_t n = stage->n;

    EQP_CHECK(eqp_array_create(&near, n + 1, sizeof *near));
    EQP_CHECK(eqp_array_create(&x, 4 * n, sizeof *x));
    const ball_columns balls = {{x, x + n, x + 2 * n}, x + 3 * n};
    for (int64_t c = 0; c < stage->grid.ncells; c++) {
        make_balls(stage, stage->cell_first[c], dd_stage_has(stage, c) ? stage->cell_first[c + 1] : 0, &balls);
    }
    return search(domain, stage, &balls, reach, near, closes);
}

/* Asks the home of a segment's owner for the home of its other end. */
typedef struct question {
    int64_t place; /* in dd_close.home of all pairs */
    dd_tag owner, other;
    int64_t rank;
} question;

typedef struct answer {
    int64_t place, home;
} answer;

static int answer_all(const dd_domain *domain, dd_inbox *in, dd_outbox *out)
{
    for (const question *asked; (asked = dd_inbox_next(in, sizeof *asked)) != NULL;) {
        const int64_t place = dd_network_find(&domain->network, asked->owner);
        const dd_arm *arm = place < 0 ? NULL : dd_node_find_arm(&domain->network.node[place], asked->other);
        if (arm == NULL) {
            return EQP_ERR_INTERNAL;
        }
        const answer given = {asked->place, arm->home};
        dd_outbox_add(out, (int)asked->rank, &given, sizeof given);
    }
    return EQP_OK;
}

static int find_homes(const dd_domain *domain, int code, dd_closes *closes)
{
    DD_FREED_BY(dd_inbox_free) dd_inbox asked = {0};
    DD_FREED_BY(dd_inbox_free) dd_inbox in = {0};
    dd_outbox out = {.code = code};

    for (int64_t i = 0; i < 4 * closes->n; i++) {
        const dd_close *pair = &closes->pair[i / 4];
        if (pair->home[i % 4] < 0) {
            const question one = {i, pair->tag[i % 4 - 1], pair->tag[i % 4], domain->rank};
            dd_outbox_add(&out, pair->home[i % 4 - 1], &one, sizeof one);
        }
    }
    code = dd_outbox_deliver_own(domain->comm, &out, NULL, &asked);
    dd_outbox_fail(&out, code == EQP_OK ? answer_all(domain, &asked, &out) : code);
    EQP_CHECK(dd_outbox_deliver_own(domain->comm, &out, NULL, &in));
    for (const answer *given; (given = dd_inbox_next(&in, sizeof *given)) != NULL;) {
        closes->pair[given->place / 4].home[given->place % 4] = (int)given->home;
    }
    return EQP_OK;
}

int dd_close_find(const dd_domain *domain, const dd_stage *stage, double reach, dd_closes *closes)
{
    closes->n = 0;
    return find_homes(domain, find_here(domain, stage, reach, closes), closes);
}
