/* SPDX-License-Identifier: BSD-3-Clause */
/* Brings parts within their capacities. An item that leaves a full part takes its load along, so moves alone would
 * leave parts full of light items underloaded; swaps bring items with more load per size back. Runs of the curve move
 * before single items, so that parts stay in few pieces. */
#include "methods/frame/capacity.h"

#include "base/internal.h"
#include "comm/agree.h"
#include "methods/frame/frame.h"
#include "methods/frame/repair.h"

#include <equipoise/more/comm.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* A run has at most 1 / 2^k of a part's average load and size: k of the longest runs, of the shortest, and its step. */
enum { LONGEST = 3, SHORTEST = 7, SHORTER = 2 };

/* Limits of the search for a swap: pieces per part, partner parts; moves and swaps per part and level. */
enum { PICKED = 48, LIGHTEST = 6, EXCHANGES = 16 };

/* Smallest worthwhile reduction of the relative load by a swap. */
#define LEAST_GAIN 1e-9

/* The pieces of a level: runs of consecutive items of one part. */
typedef struct level {
    const eqp__capping *in;
    eqp__repairing m; /* of the pieces */
    int64_t *first;   /* [pieces + 1] items */
    double *weight;   /* [pieces] */
    int64_t *size;    /* [pieces] */
    int *part;        /* [pieces] initial parts */
    int64_t *fill;    /* [nparts] sum of sizes */
    double goal;      /* largest relative load at which the search stops */
    bool last;        /* pieces are single items */
} level;

static void level_close(level *v)
{
    eqp__repair_close(&v->m);
    EQP__FREE(v->first, v->weight, v->size, v->part, v->fill);
}

/* Cuts the items into pieces of at most this weight and size; a single item may exceed both. Returns their number. */
static int64_t cut_pieces(level *v, const int *part, double weight, double size)
{
    const eqp__capping *in = v->in;
    int64_t n = 0;

    for (int64_t i = 0; i < in->items->n; i++) {
        const bool joins = !v->last && n > 0 && part[i] == part[i - 1] &&
                           v->weight[n - 1] + in->items->weight[i] <= weight &&
                           (double)(v->size[n - 1] + in->items->size[i]) <= size;
        if (!joins) {
            v->first[n] = i;
            v->part[n++] = part[i];
        }
        v->weight[n - 1] += in->items->weight[i];
        v->size[n - 1] += in->items->size[i];
        v->fill[part[i]] += in->items->size[i];
    }
    v->first[n] = in->items->n;
    return n;
}

/* halvings: the longest piece is 2^-halvings of an average part. The caller closes v, also after an error. */
static int level_open(const eqp__capping *in, const int *part, int halvings, double goal, level *v)
{
    double weight = 0.0, size = 0.0;

    *v = (level){.in = in, .goal = goal, .last = halvings > SHORTEST};
    EQP__CHECK(EQP__ARRAYS(EQP__ARRAY(v->first, in->items->n + 1), EQP__ARRAY(v->weight, in->items->n),
                           EQP__ARRAY(v->size, in->items->n), EQP__ARRAY(v->part, in->items->n),
                           EQP__ARRAY(v->fill, in->options->nparts)));
    for (int64_t i = 0; i < in->items->n; i++) {
        weight += in->items->weight[i];
        size += (double)in->items->size[i];
    }
    const double even = ldexp(1.0 / in->options->nparts, -halvings);
    v->m = (eqp__repairing){.weight = v->weight, .nparts = in->options->nparts};
    v->m.n = cut_pieces(v, part, weight * even, size * even);
    return eqp__repair_open(&v->m, in->options->share, in->options->imbalance_tol, v->part, weight);
}

static void level_read(const level *v, int *part)
{
    for (int64_t k = 0; k < v->m.n; k++) {
        for (int64_t i = v->first[k]; i < v->first[k + 1]; i++) {
            part[i] = v->m.part[k];
        }
    }
}

static void give(level *v, int64_t piece, int to)
{
    v->fill[v->m.part[piece]] -= v->size[piece];
    v->fill[to] += v->size[piece];
    eqp__repair_move(&v->m, piece, to);
}

static int64_t room_of(const level *v, int p)
{
    return v->in->options->capacity[p] - v->fill[p]; /* negative: over capacity */
}

/* Relative load of a part after adding `more`. */
static double loaded(const level *v, int p, double more)
{
    return v->m.scale[p] > 0 ? (v->m.load[p] + more) / v->m.scale[p] : 0.0;
}

/* The part with room for a piece that has the least relative load after the move; -1: none. */
static int find_place(const level *v, int64_t piece)
{
    int best = -1;

    for (int p = 0; p < v->in->options->nparts; p++) {
        if (p != v->m.part[piece] && v->size[piece] <= room_of(v, p) &&
            (best < 0 || loaded(v, p, v->weight[piece]) < loaded(v, best, v->weight[piece]))) {
            best = p;
        }
    }
    return best;
}

/* The part of the previous or next piece if it has room and its load stays within the goal; -1: none. */
static int find_neighbour(const level *v, int64_t piece)
{
    for (int side = -1; side <= 1; side += 2) {
        const int64_t next = piece + side;
        const int p = next >= 0 && next < v->m.n ? v->m.part[next] : v->m.part[piece];
        if (p != v->m.part[piece] && v->size[piece] <= room_of(v, p) && loaded(v, p, v->weight[piece]) <= v->goal) {
            return p;
        }
    }
    return -1;
}

/* True if piece a has less weight per size than piece b; ties go to the smaller index. */
static bool is_lighter(const level *v, int64_t a, int64_t b)
{
    const double x = v->weight[a] * (double)v->size[b], y = v->weight[b] * (double)v->size[a];

    return x < y || (x == y && a < b);
}

/* Selects the piece that leaves an overfull part, and its destination. Pieces that a neighbour along the curve can take
 * come first, then all pieces that fit anywhere; among equals the one with least weight per size wins. -1: none. */
static int64_t find_leaver(const level *v, int p, int *to)
{
    const int64_t most = v->last ? INT64_MAX : -room_of(v, p); /* only single items may exceed the excess */
    int64_t best = -1, free_room = 0;
    bool beside = false;

    for (int q = 0; q < v->in->options->nparts; q++) {
        free_room = room_of(v, q) > free_room ? room_of(v, q) : free_room;
    }
    for (int64_t k = v->m.head[p]; k >= 0; k = v->m.next[k]) {
        if (v->size[k] == 0 || v->size[k] > most || v->size[k] > free_room) {
            continue;
        }
        const int neighbour = find_neighbour(v, k);
        if (best < 0 || (neighbour >= 0) > beside || ((neighbour >= 0) == beside && is_lighter(v, k, best))) {
            best = k;
            beside = neighbour >= 0;
            *to = neighbour;
        }
    }
    if (best >= 0 && !beside) {
        *to = find_place(v, best);
    }
    return best;
}

static void shed(level *v)
{
    for (int p = 0; p < v->in->options->nparts; p++) {
        while (room_of(v, p) < 0) {
            int to = -1;
            const int64_t piece = find_leaver(v, p, &to);
            if (piece < 0) {
                break;
            }
            give(v, piece, to);
        }
    }
}

/* Picks up to PICKED pieces of a part, evenly spaced along the curve. Returns their number. */
static int pick(const level *v, int p, int64_t *picked)
{
    const int64_t count = v->m.count[p], n = count < PICKED ? count : PICKED;
    int64_t at = 0, k = 0;

    eqp__repair_members(&v->m, p, v->m.member);
    for (; k < n; k++) {
        at = k * count / n;
        picked[k] = v->m.member[at];
    }
    return (int)n;
}

/* Up to LIGHTEST parts with the least relative load, in rising order. Returns their number. */
static int find_lightest(const level *v, int heaviest, int *light)
{
    int n = 0;

    for (int p = 0; p < v->in->options->nparts; p++) {
        int at = n;
        if (p == heaviest) {
            continue;
        }
        while (at > 0 && loaded(v, p, 0.0) < loaded(v, light[at - 1], 0.0)) {
            at--;
        }
        if (at < LIGHTEST) {
            n = n < LIGHTEST ? n + 1 : n;
            memmove(light + at + 1, light + at, (size_t)(n - at - 1) * sizeof *light);
            light[at] = p;
        }
    }
    return n;
}

/* A piece that moves to another part, and the piece that comes back, or -1. */
typedef struct exchange {
    int64_t piece, back;
    int to;
    double after; /* the larger relative load of the two parts */
} exchange;

static void try_exchange(const level *v, int64_t piece, int64_t back, int to, exchange *best)
{
    const int from = v->m.part[piece];
    const double weight = v->weight[piece] - (back >= 0 ? v->weight[back] : 0.0);
    const int64_t size = v->size[piece] - (back >= 0 ? v->size[back] : 0);
    const bool fits = size >= 0 ? size <= room_of(v, to) : -size <= room_of(v, from);
    const double after = fmax(loaded(v, from, -weight), loaded(v, to, weight));

    if (weight > 0 && fits && after < best->after) {
        *best = (exchange){piece, back, to, after};
    }
}

/* The move or swap that most reduces the larger relative load of part `from` and its partner. */
static exchange find_exchange(const level *v, int from)
{
    exchange best = {-1, -1, -1, loaded(v, from, 0.0) - LEAST_GAIN};
    int64_t mine[PICKED], theirs[PICKED];
    int light[LIGHTEST + 1];
    const int nlight = find_lightest(v, from, light), nmine = pick(v, from, mine);

    for (int t = 0; t < nlight; t++) {
        const int ntheirs = pick(v, light[t], theirs);
        for (int a = 0; a < nmine; a++) {
            try_exchange(v, mine[a], -1, light[t], &best);
            for (int b = 0; b < ntheirs; b++) {
                try_exchange(v, mine[a], theirs[b], light[t], &best);
            }
        }
    }
    return best;
}

/* Lowers the largest relative load within the capacities, until it meets the goal or no swap helps. */
static void even_out(level *v)
{
    for (int64_t left = (int64_t)EXCHANGES * v->in->options->nparts; left > 0; left--) {
        int from = 0;
        for (int p = 1; p < v->in->options->nparts; p++) {
            from = loaded(v, p, 0.0) > loaded(v, from, 0.0) ? p : from;
        }
        const exchange best = loaded(v, from, 0.0) > v->goal ? find_exchange(v, from) : (exchange){.piece = -1};
        if (best.piece < 0) {
            break;
        }
        give(v, best.piece, best.to);
        if (best.back >= 0) {
            give(v, best.back, from);
        }
    }
}

static bool fits(const level *v)
{
    bool fit = true;

    for (int p = 0; p < v->in->options->nparts; p++) {
        fit = fit && room_of(v, p) >= 0;
    }
    return fit;
}

/* Runs one level. *fit: no part exceeds its capacity afterwards. */
static int run_level(const eqp__capping *in, int halvings, double goal, int *part, bool *fit)
{
    level v;
    int code;

    EQP_TRY(level_open(in, part, halvings, goal, &v));
    shed(&v);
    even_out(&v);
    *fit = fits(&v);
    level_read(&v, part);
done:
    level_close(&v);
    return code;
}

/* Runs all levels; if a part still exceeds its capacity, looks for a proof, then packs all items anew. */
static int run(const eqp__capping *in, double goal, int *part, bool *fit, eqp__capped *r)
{
    bool exhausted = false;

    for (int halvings = LONGEST; halvings <= SHORTEST + SHORTER; halvings += SHORTER) {
        EQP__CHECK(run_level(in, halvings, goal, part, fit));
    }
    if (!*fit) {
        EQP__CHECK(eqp__capacity_bounds(in, &r->proven, &r->why));
    }
    if (!*fit && !r->proven) {
        EQP__CHECK(eqp__capacity_pack(in, part, fit, &exhausted));
        if (exhausted) {
            r->proven = true;
            eqp_message_set(&r->why, "proven: a search of all assignments has found none");
        } else if (*fit) {
            EQP__CHECK(run_level(in, SHORTEST + SHORTER, goal, part, fit));
        } else {
            eqp_message_set(&r->why, "no assignment was found, and no lower bound proves that there is none");
        }
    }
    return EQP_OK;
}

int eqp__capacity_repair(const eqp__capping *in, int *part, eqp__capped *result)
{
    eqp__capped r = {.fits = false};
    eqp_part_loads loads;
    int64_t has = 0;
    int *made = NULL, code;

    EQP_TRY(
        eqp__parts_load(in->items->n, in->items->weight, part, in->options->nparts, in->options->share, NULL, &loads));
    EQP_TRY(eqp_array_reserve(&made, &has, in->items->n, sizeof *made));
    if (in->items->n > 0) {
        memcpy(made, part, (size_t)in->items->n * sizeof *made);
    }
    EQP_TRY(run(in, 1.0 + fmax(in->options->imbalance_tol, loads.imbalance), made, &r.fits, &r));
    for (int64_t i = 0; i < in->items->n && r.fits; i++) {
        r.moved += made[i] != part[i];
        part[i] = made[i];
    }
    *result = r;
done:
    free(made);
    return code;
}

/* Capacities for distributed items: if a part exceeds its capacity, rank 0 repairs the whole assignment. */

/* The part with the largest excess over its capacity, or -1. *most: its sum of sizes. */
static int fullest(const eqp_balance_options *options, const int64_t *fill, int64_t *most)
{
    int full = -1;

    for (int p = 0; p < options->nparts; p++) {
        if (fill[p] > options->capacity[p] &&
            (full < 0 || fill[p] - options->capacity[p] > *most - options->capacity[full])) {
            full = p;
            *most = fill[p];
        }
    }
    return full;
}

/* *full: true if a part exceeds its capacity. Collective. */
static int is_full(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, const int *part,
                   bool *full)
{
    int64_t *fill = NULL, most = 0;
    double sum = 0.0;
    int code;

    for (int64_t i = 0; i < items->n; i++) {
        sum += (double)items->size[i];
    }
    EQP_TRY(eqp__sum_double(comm, 1, &sum));
    EQP_TRY(sum < (double)EQP__SIZES_MAX ? EQP_OK : EQP_ERR_OVERFLOW);
    EQP_TRY(eqp_agree(comm, eqp_array_create(&fill, options->nparts, sizeof *fill), NULL));
    for (int64_t i = 0; i < items->n; i++) {
        fill[part[i]] += items->size[i];
    }
    EQP_TRY(eqp__sum_int64(comm, options->nparts, fill));
    *full = fullest(options, fill, &most) >= 0;
done:
    free(fill);
    return code;
}

/* Reports the part with the largest excess and the reason why no assignment fits. Returns EQP_ERR_CAPACITY. */
static int refuse(const eqp_balance_items *items, const eqp_balance_options *options, const int *part,
                  const eqp_message *why)
{
    int64_t *fill = NULL, most = 0;
    int full = -1, code;

    EQP_TRY(eqp_array_create(&fill, options->nparts, sizeof *fill));
    for (int64_t i = 0; i < items->n; i++) {
        fill[part[i]] += items->size[i];
    }
    full = fullest(options, fill, &most);
    eqp_message_set(options->message, "balance: part %d gets %" PRId64 " of its capacity %" PRId64 "; %s", full, most,
                    options->capacity[full], why->text);
    code = EQP_ERR_CAPACITY;
done:
    free(fill);
    return code;
}

static int repair(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                  eqp_balance_result *result)
{
    eqp__capped capped = {.fits = false};

    EQP__CHECK(eqp__capacity_repair(&(eqp__capping){items, options}, part, &capped));
    result->repaired += capped.moved;
    return capped.fits ? EQP_OK : refuse(items, options, part, &capped.why);
}

/* For methods with EQP_SHAPED, whose parts cannot change: adds the proof, if found, that no assignment fits. */
static int prove(const eqp_balance_items *items, const eqp_balance_options *options, int *part,
                 eqp_balance_result *result)
{
    eqp__capped capped = {.fits = false};

    (void)result;
    EQP__CHECK(eqp__capacity_bounds(&(eqp__capping){items, options}, &capped.proven, &capped.why));
    if (!capped.proven) {
        eqp_message_set(&capped.why, "the method's parts cannot be changed");
    }
    return refuse(items, options, part, &capped.why);
}

int eqp__capacity_all(MPI_Comm comm, const eqp_balance_items *items, const eqp_balance_options *options, bool mend,
                      int *part, eqp_balance_result *result)
{
    eqp_part_loads loads;
    bool full;

    EQP__CHECK(is_full(comm, items, options, part, &full));
    if (!full) {
        return EQP_OK;
    }
    EQP__CHECK(eqp__parts_load_all(comm, items->n, items->weight, part, options->nparts, options->share, &loads));
    EQP__CHECK(eqp__gather_and_assign(comm, items, options, EQP__SIZES, mend ? repair : prove, part, result));
    result->imbalance_unrepaired = isnan(result->imbalance_unrepaired) ? loads.imbalance : result->imbalance_unrepaired;
    return EQP_OK;
}
