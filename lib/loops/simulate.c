/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop in virtual time. Every rank has one pending event: it finishes its chunk and requests the next one. */
#include "base/internal.h"
#include "rules.h"

#include <math.h>
#include <stdlib.h>

/* Ranks by the time of their next event, ties by rank: a binary heap with the position of each rank. */
typedef struct rank_turns {
    int n;
    int *rank;    /* [n] the heap */
    int *place;   /* [nranks] position in the heap; -1: none */
    double *time; /* [nranks] */
} rank_turns;

/* All ranks at time 0. Free the result also on error. */
static int turns_create(int nranks, rank_turns *turns)
{
    int code =
        EQP__ARRAYS(EQP__ARRAY(turns->rank, nranks), EQP__ARRAY(turns->place, nranks), EQP__ARRAY(turns->time, nranks));

    for (int r = 0; r < nranks && !code; r++) {
        turns->rank[r] = turns->place[r] = r;
    }
    turns->n = code ? 0 : nranks;
    return code;
}

static void turns_free(rank_turns *turns)
{
    EQP__FREE(turns->rank, turns->place, turns->time);
}

static bool is_before(const rank_turns *t, int a, int b)
{
    return t->time[a] < t->time[b] || (t->time[a] == t->time[b] && a < b);
}

static void put(rank_turns *t, int place, int rank)
{
    t->rank[place] = rank;
    t->place[rank] = place;
}

/* Restores the heap order at `place`, up or down. */
static void settle(rank_turns *t, int place, int rank)
{
    while (place > 0 && is_before(t, rank, t->rank[(place - 1) / 2])) {
        put(t, place, t->rank[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (int below = 2 * place + 1; below < t->n; below = 2 * place + 1) {
        below += below + 1 < t->n && is_before(t, t->rank[below + 1], t->rank[below]);
        if (!is_before(t, t->rank[below], rank)) {
            break;
        }
        put(t, place, t->rank[below]);
        place = below;
    }
    put(t, place, rank);
}

static void turns_set(rank_turns *turns, int rank, double time)
{
    turns->time[rank] = time;
    settle(turns, turns->place[rank], rank);
}

static void turns_remove(rank_turns *turns, int rank)
{
    const int place = turns->place[rank], last = turns->rank[--turns->n];

    turns->place[rank] = -1;
    if (place < turns->n) {
        settle(turns, place, last);
    }
}

static void turns_add(rank_turns *turns, int rank, double time)
{
    turns->time[rank] = time;
    settle(turns, turns->n++, rank);
}

typedef struct actor {
    eqp_schedule_chunk chunk; /* its present chunk; count 0: none yet */
    double asked, begin;      /* times of request and start of the chunk */
    double done;              /* end of its last iteration so far */
} actor;

typedef struct simulation {
    eqp_schedule *schedule;
    eqp_schedule_machine machine;
    double *sum;     /* [n + 1] prefix sums of the seconds of iterations */
    double *squares; /* [n + 1] prefix sums of their squares; NULL: not needed */
    actor *actor;    /* [nranks] */
    rank_turns turns;
    eqp_schedule_chunk *part; /* [nranks] with a master: unassigned iterations of each rank's part */
    int *idle;                /* [nidle] ranks that wait for a part of a chunk */
    int nidle;
    double counter_free; /* earliest time of the next assignment */
    eqp_schedule_outcome outcome;
} simulation;

static double speed_of(const simulation *sim, int rank)
{
    return sim->machine.speed ? sim->machine.speed[rank] : 1.0;
}

static int check_machine(const eqp_schedule_machine *machine, int nranks)
{
    EQP__FAIL_IF(!isfinite(machine->overhead) || machine->overhead < 0.0 || !isfinite(machine->latency) ||
                     machine->latency < 0.0,
                 EQP_ERR_ARGUMENT);
    for (int r = 0; r < nranks; r++) {
        EQP__FAIL_IF(machine->speed && !eqp__is_positive(machine->speed[r]), EQP_ERR_ARGUMENT);
    }
    return EQP_OK;
}

/* Prefix sums of costs. Refuses costs for which the slowest rank's total would overflow. */
static int sum_costs(simulation *sim, const double *cost)
{
    const int64_t n = sim->schedule->n;

    for (int64_t i = 0; i < n; i++) {
        EQP__FAIL_IF(!(cost[i] >= 0.0), EQP_ERR_DATA);
        sim->sum[i + 1] = sim->sum[i] + cost[i];
        if (sim->squares) {
            sim->squares[i + 1] = sim->squares[i] + cost[i] * cost[i];
        }
    }
    for (int r = 0; r < sim->schedule->nranks; r++) {
        EQP__FAIL_IF(!isfinite(sim->sum[n] / speed_of(sim, r)), EQP_ERR_DATA);
    }
    return EQP_OK;
}

static int prepare(simulation *sim, const double *cost)
{
    const eqp_schedule *s = sim->schedule;
    int code = check_machine(&sim->machine, s->nranks);

    code = code ? code : turns_create(s->nranks, &sim->turns);
    code = code ? code : EQP__ARRAYS(EQP__ARRAY(sim->actor, s->nranks), EQP__ARRAY(sim->idle, s->nranks));
    code = code || !sim->machine.master ? code : eqp_array_create(&sim->part, s->nranks, sizeof *sim->part);
    code = code ? code : s->n == INT64_MAX ? EQP_ERR_OVERFLOW : eqp_array_create(&sim->sum, s->n + 1, sizeof *sim->sum);
    if (!code && s->method->learns == EQP_SCHEDULE_LEARNS_SPREAD) {
        code = eqp_array_create(&sim->squares, s->n + 1, sizeof *sim->squares);
    }
    code = code ? code : sum_costs(sim, cost);
    for (int r = 0; r < s->nranks && !code && sim->part; r++) {
        sim->part[r] = eqp__schedule_part(s->n, s->nranks, r);
    }
    return code;
}

static void tell(const simulation *sim, eqp_schedule_event_kind kind, int rank, eqp_schedule_chunk chunk,
                 double seconds)
{
    const eqp_schedule_event event = {kind, rank, chunk, seconds};

    if (sim->machine.event) {
        sim->machine.event(sim->machine.user, &event);
    }
}

static void set_end(simulation *sim, int rank)
{
    const actor *a = &sim->actor[rank];
    const double work = (sim->sum[a->chunk.first + a->chunk.count] - sim->sum[a->chunk.first]) / speed_of(sim, rank);

    turns_set(&sim->turns, rank, a->begin + work);
}

static void begin(simulation *sim, int rank, eqp_schedule_event_kind kind, eqp_schedule_chunk chunk, double asked,
                  double seconds)
{
    actor *a = &sim->actor[rank];

    a->chunk = chunk;
    a->asked = asked;
    a->begin = seconds;
    sim->outcome.chunks++;
    sim->outcome.given += kind == EQP_SCHEDULE_GIVEN;
    tell(sim, kind, rank, chunk, seconds);
    set_end(sim, rank);
}

static void finish(simulation *sim, int rank, double now)
{
    actor *a = &sim->actor[rank];
    const double speed = speed_of(sim, rank);
    const int64_t end = a->chunk.first + a->chunk.count;
    eqp_schedule_sample sample = {a->chunk.count, now - a->begin, 0.0, a->begin - a->asked};

    if (a->chunk.count == 0) {
        return;
    }
    if (sim->squares) {
        sample.squares = fmax(sim->squares[end] - sim->squares[a->chunk.first], 0.0) / (speed * speed);
    }
    a->done = now;
    tell(sim, EQP_SCHEDULE_DONE, rank, a->chunk, now);
    /* Times that would overflow in the methods are ignored. */
    (void)eqp__schedule_record(sim->schedule, rank, &sample);
    a->chunk.count = 0;
}

/* First iteration of a rank's chunk not begun at `now`; the rank always keeps the first. */
static int64_t first_not_begun(const simulation *sim, int rank, double now)
{
    const actor *a = &sim->actor[rank];
    const int64_t end = a->chunk.first + a->chunk.count;
    int64_t low = a->chunk.first + 1, high = end;
    const double reached = sim->sum[a->chunk.first] + (now - a->begin) * speed_of(sim, rank);

    if (now <= a->begin) {
        return low;
    }
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sim->sum[middle] <= reached) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The rank that finishes last, among those that can, gives half of the iterations not begun. Returns false if none
 * can. */
static bool take_from_slowest(simulation *sim, int rank, double asked, double decided, double begins)
{
    eqp_schedule_chunk chunk;
    int64_t middle = 0;
    int slowest = -1;

    for (int i = 0; i < sim->turns.n; i++) {
        const int r = sim->turns.rank[i];
        const actor *a = &sim->actor[r];
        const int64_t end = a->chunk.first + a->chunk.count;
        int64_t from;
        if (r == rank || a->chunk.count < 2 ||
            (slowest >= 0 && (sim->turns.time[r] < sim->turns.time[slowest] ||
                              (sim->turns.time[r] == sim->turns.time[slowest] && r > slowest)))) {
            continue;
        }
        from = first_not_begun(sim, r, decided);
        if (from < end) {
            slowest = r;
            middle = end - (end - from + 1) / 2;
        }
    }
    if (slowest < 0 || eqp__schedule_yield(sim->schedule, slowest, rank, middle, &chunk)) {
        return false;
    }
    sim->actor[slowest].chunk.count -= chunk.count;
    set_end(sim, slowest);
    begin(sim, rank, EQP_SCHEDULE_GIVEN, chunk, asked, begins);
    return true;
}

/* A rank that gets nothing now may help later, while other ranks have not requested their parts. */
static void rest(simulation *sim, int rank)
{
    turns_remove(&sim->turns, rank);
    if (sim->machine.yield) {
        sim->idle[sim->nidle++] = rank;
    }
}

/* Wakes a waiting rank when there is work to take; that rank wakes the next. */
static void wake_one(simulation *sim, double now)
{
    if (sim->nidle > 0) {
        turns_add(&sim->turns, sim->idle[--sim->nidle], now);
    }
}

/* The part from which a master serves a rank: its own, or the one with most left. */
static int source_of(const simulation *sim, int rank)
{
    const eqp_schedule_chunk *part = sim->part;
    int best = rank;

    for (int k = 0; k < sim->schedule->nranks && part[rank].count == 0; k++) {
        best = part[k].count > part[best].count ? k : best;
    }
    return best;
}

/* A chunk from a master: the size that the method proposes, within one part; from the end if it is another rank's. */
static eqp_schedule_chunk next_by_master(simulation *sim, int rank)
{
    eqp_schedule *s = sim->schedule;
    const int source = source_of(sim, rank);
    eqp_schedule_chunk *part = &sim->part[source], chunk = {0, 0};
    int pool;

    eqp__schedule_propose(s, rank, &pool, &chunk.count);
    chunk.count = chunk.count < part->count ? chunk.count : part->count;
    eqp__schedule_take(s, rank, pool, s->next[pool], chunk.count);
    chunk.first = source == rank ? part->first : part->first + part->count - chunk.count;
    part->first += source == rank ? chunk.count : 0;
    part->count -= chunk.count;
    s->rank[rank].last = chunk;
    return chunk;
}

/* All messages take equally long, so ranks are served in the order of their requests. */
static void serve(simulation *sim, int rank)
{
    const double now = sim->turns.time[rank], latency = sim->machine.latency;
    const double served = fmax(sim->counter_free, now + latency) + sim->machine.overhead;
    eqp_schedule_chunk chunk = {0, 0};

    finish(sim, rank, now);
    if (sim->part) {
        chunk = next_by_master(sim, rank);
    } else {
        (void)eqp_schedule_next(sim->schedule, rank, &chunk);
    }
    if (chunk.count > 0) {
        sim->counter_free = served;
        begin(sim, rank, EQP_SCHEDULE_HANDED, chunk, now, served + latency);
        wake_one(sim, now);
    } else if (sim->machine.yield && take_from_slowest(sim, rank, now, served, served + latency)) {
        wake_one(sim, now);
    } else {
        rest(sim, rank);
    }
}

static void sum_up(simulation *sim)
{
    eqp_schedule_outcome *o = &sim->outcome;
    const int nranks = sim->schedule->nranks;
    double square = 0.0;

    for (int r = 0; r < nranks; r++) {
        o->makespan = fmax(o->makespan, sim->actor[r].done);
        o->mean += sim->actor[r].done / nranks;
    }
    for (int r = 0; r < nranks; r++) {
        const double off = sim->actor[r].done - o->mean;
        square += off * off;
    }
    o->cost = nranks * o->makespan;
    o->cov = nranks > 1 && o->mean > 0.0 ? sqrt(square / (nranks - 1)) / o->mean : 0.0;
}

int eqp_schedule_simulate(eqp_schedule *schedule, const double *cost, const eqp_schedule_machine *machine,
                          eqp_schedule_outcome *outcome)
{
    EQP_REQUIRE(schedule && outcome);
    const eqp_schedule_machine defaults = EQP_SCHEDULE_MACHINE_DEFAULTS;
    simulation sim = {.schedule = schedule, .machine = machine ? *machine : defaults};
    int code;

    EQP__FAIL_IF(schedule->left < schedule->n, EQP_ERR_STATE);
    EQP__FAIL_IF(schedule->n > 0 && !cost, EQP_ERR_ARGUMENT);
    if (!(code = prepare(&sim, cost))) {
        while (sim.turns.n > 0) {
            serve(&sim, sim.turns.rank[0]);
        }
        sum_up(&sim);
        *outcome = sim.outcome;
    }
    turns_free(&sim.turns);
    EQP__FREE(sim.actor, sim.idle, sim.part, sim.sum, sim.squares);
    return code;
}
