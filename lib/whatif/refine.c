/* SPDX-License-Identifier: BSD-3-Clause */
/* The overhead of a part depends on its items: sharing an owner repeats some of its work, and more needs mean longer
 * waits. A map is therefore made, traced, and remade with the overhead from the trace. */
#include "move/evaluation.h"
#include "whatif/whatif.h"

#include "base/internal.h"

#include <equipoise/more/comm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOAD_PASSES 6
#define STEP_PASSES 6
#define MEMORY_PASSES 6

/* Parts over their memory lose the excess plus this fraction of it, so that the new map has room to age. */
#define MEMORY_MARGIN 0.25
#define MEMORY_AIM 0.98

/* Refinement stops after this many maps in a row without improvement (one more if a pass tries two). */
#define MOST_IN_VAIN 2

/* Overhead follows the items; taking half of each correction prevents oscillation. */
#define LATER_SHARE 0.5

/* Bounds of an item's weight, relative to its own seconds. */
#define LEAST_FACTOR 0.2
#define MOST_FACTOR 10.0

/* Arrays are slices of `total`, [nparts] each. */
typedef struct refining {
    eqp_whatif_state *state;
    eqp_assignment *assignment;
    eqp_message *message;
    int nparts;
    const double *base; /* [nparts] or NULL */
    eqp_part_speeds speeds;
    double *total;    /* seconds of each part with the last map: work at its speed, plus overhead */
    double *given;    /* seconds of each part's items */
    double *factor;   /* factor on the weights of each part's items */
    double *need;     /* bytes of memory of each part with the last map */
    double *held;     /* part of `need` for items */
    double *overhead; /* bytes of memory to keep free for needs other than items */
} refining;

static int open_refining(refining *s)
{
    int code;

    EQP_TRY(eqp_array_create(&s->total, 6 * (int64_t)s->nparts, sizeof *s->total));
    s->given = s->total + s->nparts;
    s->factor = s->given + s->nparts;
    s->need = s->factor + s->nparts;
    s->held = s->need + s->nparts;
    s->overhead = s->held + s->nparts;
done:
    return eqp_agree(s->state->comm, code, NULL);
}

static double find_imbalance(const refining *s)
{
    double sum = 0.0, most = 0.0;

    for (int p = 0; p < s->nparts; p++) {
        sum += s->total[p] * eqp_part_speed(s->speeds, p);
        most = fmax(most, s->total[p]);
    }
    return sum > 0.0 ? most * s->nparts / sum - 1.0 : 0.0;
}

/* Converts seconds of work to seconds at the speeds of the parts. */
static void take_speeds(const refining *s)
{
    for (int p = 0; p < s->nparts; p++) {
        s->total[p] /= eqp_part_speed(s->speeds, p);
    }
}

/* Overhead that follows the items is added to their weight; overhead common to all parts is not. */
static void find_factors(refining *s)
{
    double mean = 0.0;

    for (int p = 0; p < s->nparts; p++) {
        const double known = s->given[p] + (s->base != NULL ? s->base[p] : 0.0);
        s->factor[p] = s->total[p] - known / eqp_part_speed(s->speeds, p);
        mean += s->factor[p] / s->nparts;
    }
    for (int p = 0; p < s->nparts; p++) {
        const double own = s->given[p] / eqp_part_speed(s->speeds, p);
        const double more = own > 0.0 ? (s->factor[p] - mean) / own : 0.0;
        s->factor[p] = fmin(fmax(1.0 + more, LEAST_FACTOR), MOST_FACTOR);
    }
}

/* Makes the next map. pass: from 0 up. */
static int make_again(refining *s, int pass, eqp_trial *next, eqp_map_made *summary)
{
    EQP__CHECK(eqp__assignment_given(s->assignment, s->given));
    find_factors(s);
    EQP__CHECK(eqp__assignment_reweigh(s->assignment, s->factor, pass == 0 ? 1.0 : LATER_SHARE));
    EQP__CHECK(eqp__assignment_find(s->assignment, s->base, s->message));
    return eqp__assignment_take(s->assignment, NULL, s->state->what->nhome, &next->map, &next->placements, summary);
}

static void replace(eqp_trial *trial, eqp_trial *next, eqp_map_made *summary, const eqp_map_made *made)
{
    eqp__trials_free(1, trial);
    trial->map = next->map;
    trial->placements = next->placements;
    next->map = NULL;
    next->placements = NULL;
    *summary = *made;
}

int eqp__refine_loads(eqp_whatif_state *state, eqp_assignment *assignment, const double *base, double imbalance_tol,
                      eqp_trial *trial, eqp_map_made *summary, eqp_message *message)
{
    refining s = {.state = state, .assignment = assignment, .base = base, .message = message, .nparts = trial->nparts};
    double least = 0.0;
    int in_vain = 0, code;

    s.speeds = state->what->speeds;
    if (summary->split_owners == 0) { /* the same on all ranks */
        return EQP_OK;
    }
    code = open_refining(&s);
    if (code == EQP_OK) {
        code = eqp__whatif_loads(state, trial, s.total);
        take_speeds(&s);
        least = find_imbalance(&s);
    }
    for (int pass = 0; pass < LOAD_PASSES && in_vain < MOST_IN_VAIN && code == EQP_OK && least > imbalance_tol;
         pass++) {
        eqp_trial next = {.nparts = trial->nparts};
        eqp_map_made made;
        code = make_again(&s, pass, &next, &made);
        if (code == EQP_OK) {
            code = eqp__whatif_loads(state, &next, s.total);
            take_speeds(&s);
        }
        in_vain++;
        if (code == EQP_OK && find_imbalance(&s) < least) {
            in_vain = 0;
            least = find_imbalance(&s);
            replace(trial, &next, summary, &made);
        }
        eqp__trials_free(1, &next);
    }
    summary->result.imbalance = least;
    free(s.total);
    return code;
}

/* Rank 0 only. Evaluates the map by a plan: seconds of every part in the step, or in each turn of a cycle, and its
 * memory. */
static int read_traced(const refining *s, const eqp__traced *traced, const eqp_network *network, eqp_compared *row,
                       bool any_plan)
{
    const eqp_cycle_turns *phases = &s->state->phases;
    const eqp_exchange_plan same = row->evaluated.plan;
    double *seconds = NULL, *memory = NULL;
    int code;

    EQP_TRY(any_plan ? eqp__whatif_evaluate(s->state, traced, network, row)
                     : eqp__whatif_evaluate_by(s->state, traced, network, &same, row));
    EQP_TRY(EQP__ARRAYS(EQP__ARRAY(seconds, s->nparts), EQP__ARRAY(memory, s->nparts)));
    memset(s->total, 0, (size_t)s->nparts * sizeof *s->total);
    memset(s->need, 0, (size_t)s->nparts * sizeof *s->need);
    for (int k = 0; k < phases->n; k++) {
        const eqp_traffic exchange = {.seconds = seconds, .memory = memory};
        const eqp_exchange_plan plan = row->evaluated.plan;
        eqp_evaluated one;
        memset(seconds, 0, (size_t)s->nparts * sizeof *seconds);
        memset(memory, 0, (size_t)s->nparts * sizeof *memory);
        EQP_TRY(eqp__evaluation_by_plan(traced->turn[k], network, &plan, &exchange, &one));
        for (int p = 0; p < s->nparts; p++) {
            const double load = eqp__evaluation_loads(traced->turn[k])[p] / eqp_part_speed(s->speeds, p);
            s->total[p] += phases->times[k] * (seconds[p] + load);
            s->need[p] = fmax(s->need[p], memory[p]);
        }
    }
done:
    EQP__FREE(memory, seconds);
    return code;
}

static int tell(const refining *s, double *of_parts)
{
    return EQP__MPI(MPI_Bcast(of_parts, s->nparts, MPI_DOUBLE, 0, s->state->comm));
}

/* Traces a map and broadcasts its evaluation; the trace stays on rank 0. Uses the plan in row->evaluated.plan,
 * unless any_plan. */
static int measure(const refining *s, const eqp_trial *trial, const eqp_network *network, bool any_plan,
                   eqp__traced *traced, eqp_compared *row)
{
    const MPI_Comm comm = s->state->comm;
    int code = eqp__whatif_trace(s->state, trial, 0, traced);

    EQP__CHECK(code);
    if (s->state->rank == 0) {
        code = read_traced(s, traced, network, row, any_plan);
    }
    code = eqp_agree(comm, code, NULL);
    code = code == EQP_OK ? eqp__whatif_tell(s->state, 0, row) : code;
    code = code == EQP_OK ? tell(s, s->total) : code;
    return code;
}

static int conclude(const refining *s, const eqp__traced *traced, const eqp_network *network, eqp_compared *row)
{
    int code = s->state->rank == 0 ? eqp__whatif_evaluate(s->state, traced, network, row) : EQP_OK;

    code = eqp_agree(s->state->comm, code, NULL);
    return code == EQP_OK ? eqp__whatif_tell(s->state, 0, row) : code;
}

/* Rank 0 has the trace of the map. */
typedef struct favourite {
    eqp_trial *trial;
    eqp_map_made *summary;
    eqp__traced traced;
    bool changed; /* since it was first evaluated */
    int in_vain;  /* maps in a row without improvement */
} favourite;

static double fitting_step(const eqp_compared *row)
{
    return eqp__fitting_seconds(row, row->evaluated.step_seconds);
}

static void take_evaluation(eqp_compared *row, const eqp_compared *better)
{
    row->evaluated = better->evaluated;
    row->phases = better->phases;
    row->cycle = better->cycle;
    memcpy(row->phase, better->phase, sizeof row->phase);
}

/* Traces a map and keeps it if its step is shorter. */
static int compete(const refining *s, const eqp_network *network, eqp_trial *next, const eqp_map_made *made,
                   favourite *best)
{
    eqp_compared *shortest = &best->trial->row;
    eqp__traced traced = {{NULL}};
    int code;

    next->row.evaluated = shortest->evaluated;
    best->in_vain++;
    code = measure(s, next, network, false, &traced, &next->row);
    if (code == EQP_OK && fitting_step(&next->row) < fitting_step(shortest)) {
        const eqp__traced longer = best->traced;
        take_evaluation(shortest, &next->row);
        best->traced = traced;
        traced = longer;
        best->changed = true;
        best->in_vain = 0;
        replace(best->trial, next, best->summary, made);
    }
    eqp__traced_free(&traced);
    return code;
}

/* Tries a map with new weights, then the same parts with shared owners on the least loaded of them. */
static int compete_twice(refining *s, const eqp_network *network, int pass, favourite *best)
{
    eqp_trial next = {.nparts = s->nparts}, moved = {.nparts = s->nparts};
    eqp_map_made made;
    int code;

    EQP_TRY(make_again(s, pass, &next, &made));
    EQP_TRY(compete(s, network, &next, &made, best));
    if (made.split_owners > 0) {
        EQP_TRY(
            eqp__assignment_take(s->assignment, s->total, s->state->what->nhome, &moved.map, &moved.placements, &made));
        EQP_TRY(compete(s, network, &moved, &made, best));
    }
done:
    eqp__trials_free(1, &next);
    eqp__trials_free(1, &moved);
    return code;
}

/* Tries a map with homes per phase: see eqp__assignment_live(). *row: its evaluation. */
static int compete_living(refining *s, const eqp_network *network, bool by_work, const bool *stays, favourite *best,
                          eqp_compared *row)
{
    eqp_trial next = {.nparts = s->nparts};
    eqp_map_made made;
    int code;

    EQP_TRY(eqp__assignment_live(s->assignment, by_work, stays, s->message));
    EQP_TRY(eqp__assignment_take(s->assignment, NULL, s->state->what->nhome, &next.map, &next.placements, &made));
    EQP_TRY(compete(s, network, &next, &made, best));
    *row = next.row;
done:
    eqp__trials_free(1, &next);
    return code;
}

/* Phases whose turns get shorter are computed where the owners live: runs of the curve with equal work, as by `sfc`,
 * or, if memory does not matter, with equal numbers of particles. cut: evaluation without such phases, i.e. of the
 * present map at first. */
static int compete_by_phases(refining *s, const eqp_network *network, favourite *best)
{
    static const bool none[EQP_CYCLE_PHASES] = {false};
    eqp_compared cut = best->trial->row, stay, mixed;
    const int last = eqp__memory_is_capped(&s->state->what->options.memory) ? 1 : 0;
    bool stays[EQP_CYCLE_PHASES];

    for (int by_work = 1; by_work >= last; by_work--) {
        int nstay = 0;
        memset(stays, true, sizeof stays);
        EQP__CHECK(by_work ? EQP_OK : compete_living(s, network, false, none, best, &cut));
        EQP__CHECK(compete_living(s, network, by_work != 0, stays, best, &stay));
        for (int k = 0; k < cut.phases.n; k++) {
            stays[k] = stay.phase[k].step_seconds < cut.phase[k].step_seconds;
            nstay += stays[k];
        }
        if (nstay > 0 && nstay < cut.phases.n) {
            EQP__CHECK(compete_living(s, network, by_work != 0, stays, best, &mixed));
        }
    }
    return EQP_OK;
}

int eqp__refine_step(eqp_whatif_state *state, eqp_assignment *assignment, const double *base,
                     const eqp_network *network, eqp_trial *trial, eqp_map_made *summary, eqp_message *message)
{
    refining s = {.state = state, .assignment = assignment, .base = base, .message = message, .nparts = trial->nparts};
    favourite best = {.trial = trial, .summary = summary};
    int code;

    s.speeds = state->what->speeds;
    state->keeps = true;
    EQP_TRY(open_refining(&s));
    EQP_TRY(measure(&s, trial, network, true, &best.traced, &trial->row));
    EQP_TRY(eqp__assignment_is_phased(assignment) ? compete_by_phases(&s, network, &best) : EQP_OK);
    for (int pass = 0; !eqp__assignment_is_phased(assignment) && pass < STEP_PASSES && best.in_vain <= MOST_IN_VAIN;
         pass++) {
        EQP_TRY(compete_twice(&s, network, pass, &best));
    }
    if (best.changed) {
        EQP_TRY(conclude(&s, &best.traced, network, &trial->row));
    }
done:
    state->keeps = false;
    summary->result.imbalance = trial->row.evaluated.imbalance;
    eqp__traced_free(&best.traced);
    free(s.total);
    return code;
}

/* Memory limit of a part. mean: mean need of all parts. */
static double capacity_of(const refining *s, int p, double mean)
{
    const eqp_part_memory *memory = &s->state->what->options.memory;

    return MEMORY_AIM * (memory->n > 0 ? memory->bytes[p % memory->n] : memory->of_mean * mean);
}

/* Makes items of parts that need too much memory heavier, so that these parts get fewer items but stay connected,
 * without more ghosts. Ghosts decrease more slowly than items, so each pass corrects more than the last. The memory
 * needed besides items is learned from all maps so far. */
static int learn_needs(refining *s, int pass)
{
    const double fixed = s->state->what->options.memory.model.fixed;
    double mean = 0.0;

    EQP__CHECK(tell(s, s->need));
    EQP__CHECK(eqp__assignment_held(s->assignment, s->held));
    for (int p = 0; p < s->nparts; p++) {
        mean += s->need[p] / s->nparts;
    }
    for (int p = 0; p < s->nparts; p++) {
        const double over = s->need[p] - capacity_of(s, p, mean), overhead = fmax(s->need[p] - s->held[p], 0.0);
        if (over > 0.0) {
            const double items = 1.0 + (1.0 + MEMORY_MARGIN) * over / fmax(s->need[p] - over - fixed, over);
            s->factor[p] = fmin(s->factor[p] * pow(items, pass), MOST_FACTOR);
        }
        s->overhead[p] = fmax(s->overhead[p], overhead);
    }
    return EQP_OK;
}

/* Makes one more map and evaluates its memory. *stuck: the items and the memory needed besides them do not fit.
 * overhead: as for eqp__assignment_remember(). */
static int fit_again(refining *s, int pass, const double *overhead, const eqp_network *network, eqp_trial *trial,
                     eqp_map_made *summary, bool *stuck)
{
    eqp_trial next = {.nparts = s->nparts};
    eqp__traced traced = {{NULL}};
    eqp_map_made made;
    int code;

    eqp__assignment_remember(s->assignment, overhead, true);
    code = eqp__assignment_find(s->assignment, s->base, s->message);
    *stuck = code == EQP_ERR_CAPACITY;
    if (*stuck) {
        s->message->text[0] = '\0';
        return EQP_OK;
    }
    EQP_TRY(code);
    EQP_TRY(eqp__assignment_take(s->assignment, NULL, s->state->what->nhome, &next.map, &next.placements, &made));
    EQP_TRY(measure(s, &next, network, true, &traced, &next.row));
    EQP_TRY(learn_needs(s, pass + 1));
    *stuck = eqp__row_fits(&next.row);
    if (fitting_step(&next.row) < fitting_step(&trial->row)) {
        take_evaluation(&trial->row, &next.row);
        replace(trial, &next, summary, &made);
    }
done:
    eqp__traced_free(&traced);
    eqp__trials_free(1, &next);
    return code;
}

/* First tries maps in which parts get fewer items; then maps with all items in which heavy small items come back in
 * exchange. Each stops at the first map that fits; the fitting map with the shortest step wins. */
static int fit(refining *s, const eqp_network *network, bool weighs, eqp_trial *trial, eqp_map_made *summary)
{
    bool stuck = !weighs;

    for (int pass = 1; pass <= MEMORY_PASSES && !stuck; pass++) {
        EQP__CHECK(eqp__assignment_reweigh(s->assignment, s->factor, 1.0));
        EQP__CHECK(fit_again(s, pass, NULL, network, trial, summary, &stuck));
    }
    for (int p = 0; p < s->nparts; p++) {
        s->factor[p] = 1.0;
    }
    EQP__CHECK(weighs ? eqp__assignment_reweigh(s->assignment, s->factor, 1.0) : EQP_OK);
    stuck = false;
    for (int pass = 1; pass <= MEMORY_PASSES && !stuck; pass++) {
        EQP__CHECK(fit_again(s, pass, s->overhead, network, trial, summary, &stuck));
    }
    return EQP_OK;
}

int eqp__refine_memory(eqp_whatif_state *state, eqp_assignment *assignment, const double *base,
                       const eqp_network *network, bool weighs, bool hopeless, eqp_trial *trial, eqp_map_made *summary,
                       eqp_message *message)
{
    refining s = {.state = state, .assignment = assignment, .base = base, .message = message, .nparts = trial->nparts};
    eqp__traced traced = {{NULL}};
    int code;

    s.speeds = state->what->speeds;
    EQP_TRY(open_refining(&s));
    EQP_TRY(measure(&s, trial, network, true, &traced, &trial->row));
    eqp__traced_free(&traced); /* one trace at a time */
    if (!hopeless && !eqp__row_fits(&trial->row)) {
        for (int p = 0; p < s.nparts; p++) {
            s.factor[p] = 1.0;
        }
        EQP_TRY(learn_needs(&s, 1));
        EQP_TRY(fit(&s, network, weighs, trial, summary));
    }
done:
    summary->result.imbalance = trial->row.evaluated.imbalance;
    eqp__assignment_remember(assignment, NULL, true);
    eqp__traced_free(&traced);
    free(s.total);
    return code;
}
