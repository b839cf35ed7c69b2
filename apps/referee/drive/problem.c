/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include "../../shell/run_files.h"

#include <equipoise/more/base.h>
#include <equipoise/more/comm.h>
#include <equipoise/more/curve.h>
#include <equipoise/more/whatif.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bits of the largest load in units of work; sums over all items still fit into 63. */
#define LOAD_BITS 40

/* Loads with a sum of 2^-20 to 2^20 seconds are not scaled; others are, by at most 2^1000. */
enum { USUAL = 20, MOST_SCALE = 1000 };

static bool is_fixed(const rf_trace *t, int64_t item)
{
    return t->fixed != NULL && t->fixed[item];
}

typedef struct keyed {
    uint64_t key;
    int64_t item;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;

    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->item > y->item) - (x->item < y->item);
}

static int find_keys(const rf_trace *t, uint64_t *key)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, side = 0.0;
    APP_FREED double *axis = NULL;

    EQP_CHECK(eqp_array_create(&axis, 3 * t->n, sizeof *axis));
    for (int d = 0; d < 3; d++) {
        double high = -INFINITY;
        for (int64_t i = 0; i < t->n; i++) {
            axis[d * t->n + i] = t->centre[3 * i + d];
            if (!is_fixed(t, i)) {
                low[d] = fmin(low[d], t->centre[3 * i + d]);
                high = fmax(high, t->centre[3 * i + d]);
            }
        }
        low[d] = isfinite(low[d]) ? low[d] : 0.0;
        side = fmax(side, high - low[d]);
    }
    return eqp_hilbert_keys(t->n, axis, axis + t->n, axis + 2 * t->n, low, side > 0 ? side : 1.0, key);
}

/* Without positions the curve follows the items' numbers. */
static int make_curve(rf_problem *p)
{
    const rf_trace *t = p->trace;
    APP_FREED uint64_t *key = NULL;
    APP_FREED keyed *all = NULL;

    EQP_CHECK(eqp_array_create(&key, t->n, sizeof *key));
    EQP_CHECK(eqp_array_create(&all, t->n, sizeof *all));
    EQP_CHECK(eqp_array_create(&p->item, t->n, sizeof *p->item));
    EQP_CHECK(eqp_array_create(&p->place, t->n, sizeof *p->place));
    EQP_CHECK(eqp_array_create(&p->key, t->n, sizeof *p->key));
    EQP_CHECK(t->centre != NULL ? find_keys(t, key) : EQP_OK);
    for (int64_t i = 0; i < t->n; i++) {
        p->place[i] = -1;
        if (!is_fixed(t, i)) {
            all[p->nmoving++] = (keyed){t->centre != NULL ? key[i] : (uint64_t)i, i};
        }
    }
    qsort(all, (size_t)p->nmoving, sizeof *all, by_key);
    for (int64_t k = 0; k < p->nmoving; k++) {
        p->item[k] = all[k].item;
        p->key[k] = all[k].key;
        p->place[all[k].item] = k;
    }
    return EQP_OK;
}

/* Range of edges: for k = 0 the edges of every phase, for k = 1 + i those of the i-th phase from `at` on. */
static void find_edges(const rf_trace *t, int64_t at, int k, int64_t *first, int64_t *end)
{
    const int64_t like = k > 0 ? t->like[at + k - 1] : 0;

    *first = k > 0 ? t->edge_first[like] : 0;
    *end = k > 0 ? t->edge_first[like + 1] : t->ncommon;
}

/* Counts the pins of each item, shifted by one, or fills them in. */
static void walk_pins(rf_problem *p, bool fill)
{
    const rf_trace *t = p->trace;
    int64_t first, end;

    for (int k = 0; k <= p->ncycle; k++) {
        find_edges(t, p->at, k, &first, &end);
        for (int64_t e = first; e < end; e++) {
            const int64_t from = p->place[t->edge[e].from], to = p->place[t->edge[e].to];
            if (from >= 0 && to >= 0 && fill) {
                p->pin[p->pin_first[to]++] = from;
            } else if (from >= 0 && to >= 0) {
                p->pin_first[to + 1]++;
            }
        }
    }
}

/* Pins: senders and receivers among the movable items. */
static int make_pins(rf_problem *p)
{
    int64_t sum = 0;

    EQP_CHECK(eqp_array_create(&p->pin_first, p->nmoving + 1, sizeof *p->pin_first));
    walk_pins(p, false);
    for (int64_t k = 0; k <= p->nmoving; k++) {
        sum += p->pin_first[k];
        p->pin_first[k] = sum;
    }
    EQP_CHECK(eqp_array_create(&p->pin, sum, sizeof *p->pin));
    walk_pins(p, true);
    for (int64_t k = p->nmoving; k > 0; k--) {
        p->pin_first[k] = p->pin_first[k - 1];
    }
    p->pin_first[0] = 0;
    return EQP_OK;
}

static void find_senders(rf_problem *p)
{
    const rf_trace *t = p->trace;
    int64_t first, end;

    memset(p->sends, 0, (size_t)t->n * sizeof *p->sends);
    for (int k = 0; k <= 1; k++) {
        find_edges(t, p->now, k, &first, &end);
        for (int64_t e = first; e < end; e++) {
            p->sends[t->edge[e].from] = p->sends[t->edge[e].from] || t->edge[e].bytes < 0;
        }
    }
}

/* An item's load in the cycle that begins with the phase of index `begin`. */
static double cycle_load(const rf_trace *t, int64_t begin, int ncycle, int64_t item)
{
    double sum = 0.0;

    for (int64_t p = begin; p < begin + ncycle; p++) {
        sum += rf_trace_load(t, p)[item];
    }
    return sum;
}

/* Scales are powers of two, which are exact. */
static double find_scale(const rf_trace *t, int64_t at, int ncycle)
{
    double sum = 0.0;
    int exponent;

    for (int64_t i = 0; i < t->n; i++) {
        sum += cycle_load(t, at, ncycle, i);
    }
    (void)frexp(sum, &exponent);
    if (sum <= 0 || (exponent >= -USUAL && exponent <= USUAL)) {
        return 1.0;
    }
    return ldexp(1.0, exponent < -MOST_SCALE ? MOST_SCALE : -exponent);
}

static double find_quantum(const rf_trace *t, int64_t at, int ncycle, double scale)
{
    double most = 0.0;
    int exponent;

    for (int64_t i = 0; i < t->n; i++) {
        most = fmax(most, is_fixed(t, i) ? 0.0 : scale * cycle_load(t, at, ncycle, i));
    }
    (void)frexp(most, &exponent);
    return most > 0 ? ldexp(1.0, exponent - LOAD_BITS) : 1.0;
}

eqp_network rf_problem_network(const rf_problem *problem, const eqp_network *network)
{
    const double scale = problem->scale;

    return (eqp_network){.alpha = scale * network->alpha,
                         .beta = scale * network->beta,
                         .node = network->node,
                         .reduce = scale * network->reduce,
                         .gather = scale * network->gather,
                         .gather_byte = scale * network->gather_byte};
}

static void unscale(double scale, eqp_evaluated *e)
{
    double *const seconds[] = {&e->load_max,         &e->load_mean,      &e->step_seconds,    &e->step_seconds_ideal,
                               &e->exchange_seconds, &e->hidden_seconds, &e->overhead_seconds};

    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; i++) {
        *seconds[i] /= scale;
    }
}

void rf_problem_unscale(const rf_problem *problem, eqp_compared *row)
{
    unscale(problem->scale, &row->evaluated);
    for (int k = 0; k < row->phases.n; k++) {
        unscale(problem->scale, &row->phase[k]);
    }
    row->step_next /= problem->scale;
}

int rf_problem_create(MPI_Comm comm, const rf_trace *trace, int64_t at, int ncycle, const eqp_capacities *capacities,
                      uint64_t seed, rf_problem *p)
{
    int code;

    *p = (rf_problem){.comm = comm,
                      .trace = trace,
                      .at = at,
                      .ncycle = ncycle,
                      .begin = at,
                      .now = at,
                      .seed = seed,
                      .capped = capacities->n > 0 || capacities->of_mean > 0,
                      .capacities = *capacities};
    p->measured = rf_memory_known(trace, p->capped);
    p->scale = find_scale(trace, at, ncycle);
    p->quantum = find_quantum(trace, at, ncycle, p->scale);
    MPI_Comm_rank(comm, &p->rank);
    MPI_Comm_size(comm, &p->nranks);
    EQP_TRY(make_curve(p));
    EQP_TRY(make_pins(p));
    EQP_TRY(eqp_array_create(&p->sends, trace->n, sizeof *p->sends));
    EQP_TRY(eqp_array_create(&p->part, trace->n, sizeof *p->part));
    find_senders(p);
    app_slice(p->nmoving, p->rank, p->nranks, &p->first, &p->count);
done:
    if (code != EQP_OK) {
        rf_problem_free(p);
    }
    return code;
}

void rf_problem_free(rf_problem *problem)
{
    free(problem->item);
    free(problem->place);
    free(problem->key);
    free(problem->pin_first);
    free(problem->pin);
    free(problem->sends);
    free(problem->part);
    *problem = (rf_problem){.nmoving = 0};
}

static int add_work(const rf_problem *p, int64_t item, eqp_survey *owners, eqp_owner *owner)
{
    double load[EQP_CYCLE_PHASES];

    for (int k = 0; k < p->ncycle; k++) {
        const int64_t count[1] = {llround(p->scale * rf_trace_load(p->trace, p->at + k)[item] / p->quantum)};
        owner->count[0] += count[0];
        load[k] = eqp_survey_weigh(owners, count);
    }
    return eqp_survey_phases(owners) > 1 ? eqp_survey_add_phases(owners, load) : EQP_OK;
}

static int survey(void *user, eqp_survey_kind kind, eqp_survey *owners)
{
    const rf_problem *p = user;
    const rf_trace *t = p->trace;

    EQP_CHECK(eqp_survey_reserve(owners, p->count));
    for (int64_t k = p->first; k < p->first + p->count; k++) {
        const int64_t i = p->item[k];
        eqp_owner owner = {.key = p->key[k],
                           .id = k,
                           .pin = k,
                           .particles = 1,
                           .home = p->rank,
                           .at_home = k - p->first,
                           .bytes = t->bytes != NULL ? t->bytes[i] : 0,
                           .tag = p->rank,
                           .interactions = p->pin_first[k + 1] - p->pin_first[k] + 1};
        if (t->centre != NULL) {
            memcpy(owner.centre, t->centre + 3 * i, sizeof owner.centre);
        } else {
            owner.centre[0] = (double)i;
        }
        EQP_CHECK(kind == EQP_SURVEY_WORK ? add_work(p, i, owners, &owner) : EQP_OK);
        for (int64_t e = p->pin_first[k]; e < p->pin_first[k + 1]; e++) {
            if (kind == EQP_SURVEY_WORK && eqp_survey_pin_below(owners) > 0) {
                EQP_CHECK(eqp_survey_add_pin(owners, p->pin[e]));
            }
        }
        EQP_CHECK(eqp_survey_add_owner(owners, &owner));
    }
    return EQP_OK;
}

int rf_problem_fixed_part(const rf_trace *trace, int64_t phase, int64_t item, int nparts)
{
    const int64_t rank = rf_trace_rank(trace, phase)[item];

    return nparts == trace->nranks ? (int)rank : (int)(rank * nparts / trace->nranks);
}

static void base(void *user, int nparts, double *seconds)
{
    const rf_problem *p = user;
    const rf_trace *t = p->trace;

    for (int64_t at = p->begin; at < p->begin + p->ncycle; at++) {
        for (int64_t i = 0; i < t->n; i++) {
            if (is_fixed(t, i)) {
                seconds[rf_problem_fixed_part(t, at, i, nparts)] += p->scale * rf_trace_load(t, at)[i];
            }
        }
    }
}

int rf_problem_gather(rf_problem *p, int nparts, const eqp_map *map, const eqp_placement *placement)
{
    int *mine = NULL, *all = NULL, *counts = NULL, *before = NULL;
    int code;

    code = eqp_array_create(&mine, p->count, sizeof *mine);
    code = code == EQP_OK ? eqp_array_create(&all, p->nmoving, sizeof *all) : code;
    code = code == EQP_OK ? eqp_array_create(&counts, p->nranks, sizeof *counts) : code;
    code = code == EQP_OK ? eqp_array_create(&before, p->nranks, sizeof *before) : code;
    EQP_TRY(eqp_agree(p->comm, code, NULL));
    for (int64_t k = 0; k < p->count; k++) {
        mine[k] = eqp_map_own_rank(map, placement[k].tag);
    }
    for (int r = 0; r < p->nranks; r++) {
        int64_t first, count;
        app_slice(p->nmoving, r, p->nranks, &first, &count);
        counts[r] = (int)count;
        before[r] = (int)first;
    }
    if (MPI_Allgatherv(mine, (int)p->count, MPI_INT, all, counts, before, MPI_INT, p->comm) != MPI_SUCCESS) {
        EQP_TRY(EQP_ERR_MPI);
    }
    for (int64_t i = 0; i < p->trace->n; i++) {
        p->part[i] = p->place[i] >= 0 ? all[p->place[i]] : rf_problem_fixed_part(p->trace, p->now, i, nparts);
    }
done:
    free(mine);
    free(all);
    free(counts);
    free(before);
    return code;
}

/* An item's data for all its neighbours is one block; data of a single edge is another. So ghosts are items, however
 * many edges lead to a part. */
static int tell_edge(const rf_problem *p, int64_t e, eqp_evaluation *evaluation)
{
    const rf_trace *t = p->trace;
    const rf_edge *edge = &t->edge[e];
    const int home = p->part[edge->from], part = p->part[edge->to];
    const int64_t bytes = p->sends[edge->from] && t->bytes != NULL ? t->bytes[edge->from] : 0;

    if (home == part) {
        return EQP_OK;
    }
    EQP_CHECK(eqp_evaluation_block(evaluation, 0, edge->from, bytes, 1, home));
    EQP_CHECK(eqp_evaluation_need(evaluation, 0, edge->from, part));
    if (edge->bytes > 0) {
        EQP_CHECK(eqp_evaluation_block(evaluation, 0, t->n + e, edge->bytes, 0, home));
        EQP_CHECK(eqp_evaluation_need(evaluation, 0, t->n + e, part));
    }
    return EQP_OK;
}

/* A byte counts as an element that a part holds. */
static const eqp_memory bytes_held = {.held = 1.0};

/* Rank 0 declares memory, since a block counts once per part. */
static int tell_memory(const rf_problem *p, int nparts, eqp_evaluation *evaluation)
{
    APP_FREED double *bytes = NULL;

    EQP_CHECK(eqp_array_create(&bytes, nparts, sizeof *bytes));
    EQP_CHECK(rf_memory_of_parts(p->trace, p->part, nparts, bytes));
    for (int k = 0; k < nparts; k++) {
        EQP_CHECK(bytes[k] < 0x1p62 ? eqp_evaluation_held(evaluation, k, (int64_t)ceil(bytes[k])) : EQP_ERR_OVERFLOW);
    }
    return EQP_OK;
}

int rf_problem_cap(const rf_problem *problem, int nparts, eqp_evaluation *evaluation)
{
    const eqp_capacities *has = &problem->capacities;
    APP_FREED double *capacity = NULL;

    EQP_CHECK(has->n > 0 ? eqp_array_create(&capacity, nparts, sizeof *capacity) : EQP_OK);
    for (int p = 0; p < nparts && capacity != NULL; p++) {
        capacity[p] = has->bytes[p % has->n];
    }
    return eqp_evaluation_memory(evaluation, problem->measured ? &bytes_held : NULL, capacity, has->of_mean);
}

int rf_problem_tell(const rf_problem *p, int nparts, int piece, int npieces, bool loads_only,
                    eqp_evaluation *evaluation)
{
    const rf_trace *t = p->trace;
    int64_t first, count, own, end;

    find_edges(t, p->now, 1, &own, &end);
    const int64_t nedges = t->ncommon + end - own;
    app_slice(t->n, piece, npieces, &first, &count);
    for (int64_t i = first; i < first + count; i++) {
        EQP_CHECK(eqp_evaluation_load(evaluation, p->part[i], p->scale * rf_trace_load(t, p->now)[i]));
    }
    EQP_CHECK(piece == 0 && p->measured && !loads_only ? tell_memory(p, nparts, evaluation) : EQP_OK);
    app_slice(loads_only ? 0 : nedges, piece, npieces, &first, &count);
    for (int64_t k = first; k < first + count; k++) {
        EQP_CHECK(tell_edge(p, k < t->ncommon ? k : own + k - t->ncommon, evaluation));
    }
    return EQP_OK;
}

static int trace_map(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                     eqp_evaluation *evaluation)
{
    rf_problem *p = user;

    EQP_CHECK(rf_problem_gather(p, nparts, map, placement));
    return rf_problem_tell(p, nparts, p->rank, p->nranks, loads_only, evaluation);
}

static int advance(void *user, eqp_message *message)
{
    rf_problem *p = user;

    (void)message;
    p->begin += p->ncycle;
    return rf_problem_turn(p, 0);
}

int rf_problem_turn(void *problem, int k)
{
    rf_problem *p = problem;

    p->now = p->begin + k;
    find_senders(p);
    return EQP_OK;
}

eqp_cycle_turns rf_problem_cycle(const rf_problem *problem)
{
    eqp_cycle_turns phases = {.n = problem->ncycle};

    for (int k = 0; k < phases.n; k++) {
        phases.times[k] = 1.0;
    }
    return phases;
}

static int cycle(void *user, eqp_cycle_turns *phases)
{
    *phases = rf_problem_cycle(user);
    return EQP_OK;
}

eqp_problem rf_problem_functions(rf_problem *problem)
{
    static const int out[1] = {0}, ghosts[1] = {1};
    const rf_trace *t = problem->trace;

    return (eqp_problem){.user = problem,
                         .nkinds = 1,
                         .nominal = &problem->quantum,
                         .nphases = 1,
                         .back = out,
                         .ghosts = ghosts,
                         .cycle = cycle,
                         .turn = rf_problem_turn,
                         .survey = survey,
                         .base = t->fixed != NULL ? base : NULL,
                         .trace = trace_map,
                         .own = &rf_methods,
                         .assign = rf_bound_assign,
                         .memory = problem->measured ? &bytes_held : NULL,
                         .advance = problem->at + 2 * problem->ncycle <= t->nphases ? advance : NULL};
}
