/* SPDX-License-Identifier: BSD-3-Clause */
/* Repair of a cycle: moves items to lower the largest load of the phase with most lost time. */
#include "base/internal.h"
#include "methods/frame/frame.h"
#include "methods/levels/levelled.h"

#include <equipoise/survey.h>

#include <math.h>

/* LIGHTEST: parts with least load in the phase that are tried for an item. TRIED: with the parts of its two neighbours
 * along the curve. EXCHANGED: most items per part tried in a swap; beyond that, every k-th. */
enum { LIGHTEST = 8, TRIED = LIGHTEST + 2, EXCHANGED = 48 };

/* Most rounds over all phases. Most swaps: EXCHANGES per part plus LEAST_EXCHANGES. */
enum { ROUNDS = 4, EXCHANGES = 4, LEAST_EXCHANGES = 200 };

/* Factor on the gain of a move to the part of a neighbour along the curve. */
#define BESIDE 2.0

/* Least gain of a move relative to the mean load. Smaller gains are rounding and could lead to endless moves. */
#define LEAST_GAIN 1e-12

typedef struct repair {
    const eqp__levelling *in;
    int nphases, nparts;
    int *part;                      /* [n] */
    int64_t *head, *next;           /* [nparts], [n] linked lists of the items of each part; -1: end */
    int64_t *count;                 /* [nparts] */
    double *load;                   /* [nparts][nphases] */
    double mean[EQP_CYCLE_PHASES];  /* mean load of the parts */
    double most[EQP_CYCLE_PHASES];  /* largest relative load x mean */
    int heaviest[EQP_CYCLE_PHASES]; /* the part with the largest relative load */
} repair;

typedef struct move {
    int64_t item; /* -1: none */
    int to;
    int64_t back; /* the item moved in exchange; -1: none */
    double gain;
} move;

static double scale(const repair *r, int p)
{
    return eqp__share_scale(r->in->options->share, r->nparts, p);
}

static double relative(const repair *r, int p, int k)
{
    return r->load[(int64_t)p * r->nphases + k] / scale(r, p);
}

static const double *load_of(const repair *r, int64_t i)
{
    return r->in->items->phase_load + i * r->nphases;
}

static int repair_open(const eqp__levelling *in, int *part, repair *r)
{
    *r = (repair){.in = in, .nphases = in->options->nphases, .nparts = in->options->nparts, .part = part};
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(r->head, in->options->nparts), EQP__ARRAY(r->next, in->items->n),
                           EQP__ARRAY(r->count, in->options->nparts),
                           EQP__ARRAY(r->load, (int64_t)in->options->nparts * in->options->nphases)));
    for (int p = 0; p < in->options->nparts; p++) {
        r->head[p] = -1;
    }
    for (int64_t i = in->items->n - 1; i >= 0; i--) {
        const int p = part[i];
        r->next[i] = r->head[p];
        r->head[p] = i;
        r->count[p]++;
        for (int k = 0; k < r->nphases; k++) {
            r->load[(int64_t)p * r->nphases + k] += load_of(r, i)[k];
            r->mean[k] += load_of(r, i)[k] / in->options->nparts;
        }
    }
    return EQP_OK;
}

static void give(repair *r, int64_t item, int to)
{
    const int from = r->part[item];
    int64_t *link = &r->head[from];

    while (*link != item) {
        link = &r->next[*link];
    }
    *link = r->next[item];
    r->next[item] = r->head[to];
    r->head[to] = item;
    r->part[item] = to;
    r->count[from]--;
    r->count[to]++;
    for (int k = 0; k < r->nphases; k++) {
        r->load[(int64_t)from * r->nphases + k] -= load_of(r, item)[k];
        r->load[(int64_t)to * r->nphases + k] += load_of(r, item)[k];
    }
}

/* Gives an item to each empty part, taken from the part with most items. With equal shares no largest load grows.
 * Returns the number of items moved. */
static int64_t fill_empty(repair *r)
{
    int64_t moved = 0;

    for (int p = 0; p < r->nparts; p++) {
        int most = 0;
        for (int q = 1; q < r->nparts && r->count[p] == 0; q++) {
            most = r->count[q] > r->count[most] ? q : most;
        }
        if (r->count[p] == 0 && r->count[most] > 1) {
            give(r, r->head[most], p);
            moved++;
        }
    }
    return moved;
}

static void find_heaviest(repair *r)
{
    for (int k = 0; k < r->nphases; k++) {
        r->most[k] = -1;
        for (int p = 0; p < r->nparts; p++) {
            if (relative(r, p, k) > r->most[k]) {
                r->most[k] = relative(r, p, k);
                r->heaviest[k] = p;
            }
        }
    }
}

/* The phase with most lost time among phases that exceed the tolerance and are not stuck; -1: none. */
static int find_phase(const repair *r, const bool *stuck)
{
    double worst = 0;
    int found = -1;

    for (int k = 0; k < r->nphases; k++) {
        const double loss = eqp__times(r->in->options->times, k) * (r->most[k] - r->mean[k]);
        if (!stuck[k] && r->most[k] > (1 + r->in->options->imbalance_tol) * r->mean[k] && loss > worst) {
            worst = loss;
            found = k;
        }
    }
    return found;
}

/* Lists the parts with least load in a phase, lightest first. Returns their number. */
static int find_lightest(const repair *r, int k, int *light)
{
    int n = 0;

    for (int p = 0; p < r->nparts; p++) {
        if (relative(r, p, k) >= r->most[k] || (n == LIGHTEST && relative(r, p, k) >= relative(r, light[n - 1], k))) {
            continue;
        }
        int at = n < LIGHTEST ? n++ : n - 1;
        while (at > 0 && relative(r, light[at - 1], k) > relative(r, p, k)) {
            light[at] = light[at - 1];
            at--;
        }
        light[at] = p;
    }
    return n;
}

/* Decrease of the sum of squared relative loads if `less` moves from one part to another and `more` moves back. 0 if
 * the move raises the largest load of a phase, or if the receiving part reaches the largest load of phase k. */
static double gain_of(const repair *r, const double *less, const double *more, int from, int to, int k)
{
    const double *here = r->load + (int64_t)from * r->nphases, *there = r->load + (int64_t)to * r->nphases;
    const double narrow = scale(r, from), wide = scale(r, to);
    double gain = 0;

    if ((there[k] + less[k] - more[k]) / wide >= r->most[k]) {
        return 0;
    }
    for (int j = 0; j < r->nphases; j++) {
        const double net = less[j] - more[j];
        if (net == 0) {
            continue;
        }
        if ((net > 0 ? (there[j] + net) / wide : (here[j] - net) / narrow) > r->most[j]) {
            return 0;
        }
        gain += eqp__times(r->in->options->times, j) / r->mean[j] *
                (net * (2 * here[j] - net) / (narrow * narrow) - net * (2 * there[j] + net) / (wide * wide));
    }
    return gain;
}

/* No move, with the gain that a real move must exceed. */
static move no_move(const repair *r)
{
    move none = {-1, -1, -1, 0};

    for (int j = 0; j < r->nphases; j++) {
        none.gain += LEAST_GAIN * eqp__times(r->in->options->times, j) * r->mean[j];
    }
    return none;
}

/* The best move of an item of the heaviest part of phase k. tried: [nlight + 2] the lightest parts of the phase, then
 * work. */
static move find_move(const repair *r, int k, int nlight, int *tried)
{
    static const double nothing[EQP_CYCLE_PHASES] = {0};
    const int from = r->heaviest[k];
    move best = no_move(r);

    for (int64_t i = r->head[from]; i >= 0 && r->count[from] > 1; i = r->next[i]) {
        int n = nlight;
        if (!(load_of(r, i)[k] > 0)) {
            continue;
        }
        for (int64_t j = i - 1; j <= i + 1; j += 2) {
            if (j >= 0 && j < r->in->items->n && r->part[j] != from) {
                tried[n++] = r->part[j];
            }
        }
        for (int t = 0; t < n; t++) {
            const double gain = (t < nlight ? 1 : BESIDE) * gain_of(r, load_of(r, i), nothing, from, tried[t], k);
            if (gain > best.gain) {
                best = (move){i, tried[t], -1, gain};
            }
        }
    }
    return best;
}

static int pick_items(const repair *r, int p, int64_t *item)
{
    const int64_t stride = (r->count[p] + EXCHANGED - 1) / EXCHANGED;
    int64_t at = 0;
    int n = 0;

    for (int64_t i = r->head[p]; i >= 0; i = r->next[i]) {
        if (at++ % stride == 0) {
            item[n++] = i;
        }
    }
    return n;
}

/* The best swap of items between the heaviest part of phase k and one of its lightest. */
static move find_exchange(const repair *r, int k, int nlight, const int *light)
{
    const int from = r->heaviest[k];
    int64_t mine[EXCHANGED], others[EXCHANGED];
    const int nmine = pick_items(r, from, mine);
    move best = no_move(r);

    for (int t = 0; t < nlight; t++) {
        const int nothers = pick_items(r, light[t], others);
        for (int a = 0; a < nmine; a++) {
            for (int b = 0; b < nothers; b++) {
                const double *less = load_of(r, mine[a]), *more = load_of(r, others[b]);
                const double gain = less[k] > more[k] ? gain_of(r, less, more, from, light[t], k) : 0;
                if (gain > best.gain) {
                    best = (move){mine[a], light[t], others[b], gain};
                }
            }
        }
    }
    return best;
}

/* Makes one move or swap that lowers the heaviest part of phase k. Returns the number of items moved. */
static int lower(repair *r, int k, bool exchange)
{
    int tried[TRIED];
    const int nlight = find_lightest(r, k, tried);
    move m = find_move(r, k, nlight, tried);

    if (m.item < 0 && exchange) {
        m = find_exchange(r, k, nlight, tried);
    }
    if (m.item < 0) {
        return 0;
    }
    const int from = r->part[m.item];
    give(r, m.item, m.to);
    if (m.back >= 0) {
        give(r, m.back, from);
    }
    return m.back < 0 ? 1 : 2;
}

/* Repeatedly lowers the phase with most lost time, until all phases are stuck or within the tolerance. Returns the
 * number of items moved. Each move lowers the sum of squares, so the loop ends. */
static int64_t lower_all(repair *r, int64_t *exchanges)
{
    bool stuck[EQP_CYCLE_PHASES] = {false};
    int64_t moved = 0;
    int k;

    for (find_heaviest(r); (k = find_phase(r, stuck)) >= 0; find_heaviest(r)) {
        const int n = lower(r, k, *exchanges > 0);
        stuck[k] = n == 0;
        *exchanges -= n > 1;
        moved += n;
    }
    return moved;
}

int eqp__levelled_repair(const eqp__levelling *in, int *part, int64_t *moved)
{
    int64_t exchanges = (int64_t)EXCHANGES * in->options->nparts + LEAST_EXCHANGES, n = 1;
    repair r;
    int code;

    *moved = 0;
    EQP_TRY(repair_open(in, part, &r));
    if (in->options->share == NULL && in->items->n >= in->options->nparts) {
        *moved = fill_empty(&r);
    }
    for (int round = 0; round < ROUNDS && n > 0; round++) {
        n = lower_all(&r, &exchanges);
        *moved += n;
    }
done:
    EQP__FREE(r.head, r.next, r.count, r.load);
    return code;
}
