/* SPDX-License-Identifier: BSD-3-Clause */
#include "topology.h"

#include <float.h>
#include <math.h>

/* Adding and subtracting it rounds to the nearest integer, in loops that vectorise on any machine, unlike rint(). */
#define ROUND 6755399441055744.0 /* 1.5 x 2^52 */

/* Balls examined before the near ones are listed. */
#define BLOCK 64

#define MOST_BINS 1024 /* per direction */

typedef struct ball_columns {
    int64_t n;
    double *x[3], *radius; /* [n] parts of one array that starts at x[0] */
} ball_columns;

typedef struct bins_grid {
    int64_t n[3];
    double low[3], edge[3], box[3];
    double reach;
    int64_t *first;     /* [bins + 1] owned */
    int64_t *place;     /* [balls.n] index among the given balls; owned */
    ball_columns balls; /* by bin, then by place; owned */
} bins_grid;

static int create_balls(int64_t n, ball_columns *balls)
{
    double *x = NULL;

    EQP_CHECK(eqp_array_create(&x, 4 * n, sizeof *x));
    *balls = (ball_columns){n, {x, x + n, x + 2 * n}, x + 3 * n};
    return EQP_OK;
}

static int64_t bin_along(const bins_grid *bins, int d, double x)
{
    double at = (x - bins->low[d]) / bins->edge[d];

    if (bins->box[d] > 0) {
        at -= floor(at);
    }
    return (int64_t)fmin(fmax(at * (double)bins->n[d], 0), (double)(bins->n[d] - 1));
}

static int64_t bin_of(const bins_grid *bins, const double x[3])
{
    return (bin_along(bins, 0, x[0]) * bins->n[1] + bin_along(bins, 1, x[1])) * bins->n[2] + bin_along(bins, 2, x[2]);
}

/* The periodic box, or the extent of the balls. */
static void measure(const dd_domain *domain, const ball_columns *balls, bins_grid *bins)
{
    for (int d = 0; d < 3; d++) {
        bins->box[d] = domain->box[d];
        bins->low[d] = domain->low[d];
        bins->edge[d] = domain->box[d];
        if (!(domain->box[d] > 0)) {
            double low = INFINITY, high = -INFINITY;
            for (int64_t i = 0; i < balls->n; i++) {
                low = fmin(low, balls->x[d][i]);
                high = fmax(high, balls->x[d][i]);
            }
            bins->low[d] = balls->n > 0 ? low : 0;
            bins->edge[d] = balls->n > 0 && high > low ? high - low : 1;
        }
    }
}

/* The smallest bins that hold two balls and the reach between them, but at most two bins per ball, plus 64. */
static void choose_widths(const ball_columns *balls, bins_grid *bins)
{
    double width = bins->reach, largest = 0, total;

    for (int64_t i = 0; i < balls->n; i++) {
        largest = fmax(largest, balls->radius[i]);
    }
    /* slack for rounding at the walls of bins */
    width = fmax((width + 2 * largest) * (1 + 1e-9), DBL_MIN);
    do {
        total = 1;
        for (int d = 0; d < 3; d++) {
            bins->n[d] = (int64_t)fmin(fmax(floor(bins->edge[d] / width), 1), MOST_BINS);
            total *= (double)bins->n[d];
        }
        width *= 1.25;
    } while (total > 2 * (double)balls->n + 64);
}

static void sort(const ball_columns *balls, bins_grid *bins)
{
    const int64_t nbins = bins->n[0] * bins->n[1] * bins->n[2];

    /* first[b + 1] counts, then points to the next free place of bin b, and finally is the end of b. */
    for (int64_t i = 0; i < balls->n; i++) {
        const double x[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]};
        bins->first[bin_of(bins, x) + 1]++;
    }
    for (int64_t b = nbins, before = balls->n; b > 0; b--) {
        before -= bins->first[b];
        bins->first[b] = before;
    }
    for (int64_t i = 0; i < balls->n; i++) {
        const double x[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]};
        const int64_t at = bins->first[bin_of(bins, x) + 1]++;
        bins->place[at] = i;
        for (int d = 0; d < 3; d++) {
            bins->balls.x[d][at] = x[d];
        }
        bins->balls.radius[at] = balls->radius[i];
    }
}

/* Sorts balls (borrowed) into bins so wide that balls nearer than reach lie in bins that touch. O(n). */
static int bins_create(const dd_domain *domain, const ball_columns *balls, double reach, bins_grid *bins)
{
    bins->reach = reach;
    measure(domain, balls, bins);
    choose_widths(balls, bins);
    EQP_CHECK(create_balls(balls->n, &bins->balls));
    EQP_CHECK(eqp_array_create(&bins->place, balls->n, sizeof *bins->place));
    EQP_CHECK(eqp_array_create(&bins->first, bins->n[0] * bins->n[1] * bins->n[2] + 1, sizeof *bins->first));
    sort(balls, bins);
    return EQP_OK;
}

/* Bins along one direction that touch a given one, each once. Returns their number. */
static int touching(const bins_grid *bins, int d, int64_t at, int64_t list[3])
{
    const int64_t n = bins->n[d];
    const bool around = bins->box[d] > 0 && n > 2; /* false: both neighbours are one bin */
    int found = 0;

    for (int64_t b = at - 1; b <= at + 1; b++) {
        if (around || (b >= 0 && b < n)) {
            list[found++] = (b + n) % n;
        }
    }
    return found;
}

static inline double nearest(double offset, double edge, double per_edge)
{
    return offset - edge * (offset * per_edge + ROUND - ROUND);
}

/* Appends the near balls of a range. */
static int64_t near_in_range(const bins_grid *bins, const double at[3], double radius, int64_t first, int64_t n,
                             int64_t *near)
{
    const double *restrict x = bins->balls.x[0] + first, *restrict y = bins->balls.x[1] + first;
    const double *restrict z = bins->balls.x[2] + first, *restrict other = bins->balls.radius + first;
    const double *box = bins->box;
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
            far[k] = dd_segments_are_far(between, other[from + k], radius, bins->reach);
        }
        for (int64_t k = 0; k < end; k++) {
            near[found] = bins->place[first + from + k];
            found += !far[k];
        }
    }
    return found;
}

/* Lists the balls, itself included, nearer than reach to one at x, by the nearest periodic image. near: [n + 1]
 * indices. Returns their number. O(balls in 27 bins). */
static int64_t bins_near(const bins_grid *bins, const double x[3], double radius, int64_t *near)
{
    int64_t list[3][3], found = 0;
    int n[3];

    for (int d = 0; d < 3; d++) {
        n[d] = touching(bins, d, bin_along(bins, d, x[d]), list[d]);
    }
    for (int i = 0; i < n[0]; i++) {
        for (int j = 0; j < n[1]; j++) {
            const int64_t row = (list[0][i] * bins->n[1] + list[1][j]) * bins->n[2];
            /* Consecutive bins are one range. */
            for (int k = 0; k < n[2];) {
                const int64_t first = bins->first[row + list[2][k]];
                while (k + 1 < n[2] && list[2][k + 1] == list[2][k] + 1) {
                    k++;
                }
                found += near_in_range(bins, x, radius, first, bins->first[row + list[2][k] + 1] - first, near + found);
                k++;
            }
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

    home[0] = source >= 0 ? domain->rank : dd_stage_sender(stage, -1 - source);
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

static int search(const dd_domain *domain, const dd_stage *stage, const ball_columns *balls, const bins_grid *bins,
                  int64_t *near, dd_closes *closes)
{
    for (int64_t t = 0; t < stage->ntargets; t++) {
        const int64_t i = stage->target[t].local;
        const double x[3] = {balls->x[0][i], balls->x[1][i], balls->x[2][i]};
        const int64_t n = bins_near(bins, x, balls->radius[i], near);
        dd_run runs[DD_GRID_SOURCES];
        const int nruns = dd_stage_target_runs(stage, &stage->target[t], dd_stage_cell(stage, i), runs);
        for (int64_t k = 0; k < n; k++) {
            const int64_t j = near[k];
            if (is_charged(runs, nruns, j) && !have_common_node(&stage->key[i], &stage->key[j]) &&
                are_close(stage, balls, i, j, domain->box, bins->reach)) {
                EQP_CHECK(append(domain, stage, i, j, closes));
            }
        }
    }
    return EQP_OK;
}

static void make_balls(const dd_stage *stage, const ball_columns *balls)
{
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
    DD_FREED int64_t *near = NULL;
    ball_columns balls = {0};
    bins_grid bins = {0};
    int code;

    EQP_TRY(eqp_array_create(&near, stage->n + 1, sizeof *near));
    EQP_TRY(create_balls(stage->n, &balls));
    make_balls(stage, &balls);
    EQP_TRY(bins_create(domain, &balls, reach, &bins));
    EQP_TRY(search(domain, stage, &balls, &bins, near, closes));
done:
    free(bins.first);
    free(bins.place);
    free(bins.balls.x[0]);
    free(balls.x[0]);
    return code;
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
    code = dd_outbox_deliver_own(domain->comm, &out, &asked);
    dd_outbox_fail(&out, code == EQP_OK ? answer_all(domain, &asked, &out) : code);
    EQP_CHECK(dd_outbox_deliver_own(domain->comm, &out, &in));
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
