/* SPDX-License-Identifier: BSD-3-Clause */
#include "problem.h"

#include "../settings.h"
#include "../simulation.h"
#include "balance.h"

#include <math.h>

/* Wall moves before their load counts, since each is small. Walls do not come to rest: the best of the last WALL_CHOICE
 * positions is taken. */
#define WALL_MOVES 30
#define WALL_CHOICE 5

static int survey(void *user, eqp_survey_kind kind, eqp_survey *list)
{
    const dd_simulation *sim = ((const dd_problem *)user)->sim;

    return kind == EQP_SURVEY_WORK /* counts of the last evaluation */
               ? dd_survey(&sim->domain, &sim->stage, &sim->evaluator, (uint64_t)sim->settings->run.seed, list)
               : eqp_agree(sim->comm, dd_survey_names(&sim->domain, list), NULL);
}

static int take_node_pairs(dd_problem *p)
{
    dd_simulation *sim = p->sim;
    const int code = dd_node_pairs_take(&sim->domain, &sim->halo, &sim->stage, &sim->evaluator, &p->node_pairs);

    p->grid = code == EQP_OK ? &p->node_pairs.stage->grid : NULL;
    return code;
}

static int open_problem(void *user, bool traced)
{
    dd_problem *p = user;

    p->costs = *eqp_balancer_costs(p->sim->balancer);
    p->grid = &p->sim->stage.grid;
    return traced ? take_node_pairs(p) : EQP_OK;
}

static void close_problem(void *user)
{
    dd_problem *p = user;

    dd_node_pairs_free(&p->node_pairs);
    dd_stage_free(&p->sim->stage);
    p->grid = NULL;
}

/* Default aspect of `tiles`: cost of a source shared by two parts, in shared targets. A target is a node with its
 * segments; a source is a cell, whose segments go to a part and whose forces come back. So the aspect is the mean
 * number of nodes with segments in a nonempty cell; 1 without segments. */
static int aspect(void *user, double *usual)
{
    const dd_simulation *sim = ((const dd_problem *)user)->sim;
    const dd_stage *stage = &sim->stage;
    const int64_t ncells = stage->grid.ncells;
    DD_FREED int64_t *owners = NULL;
    int64_t last = -1, all = 0, occupied = 0;

    EQP_CHECK(eqp_agree(sim->comm, eqp_array_create(&owners, ncells, sizeof *owners), NULL));
    for (int64_t s = 0; s < stage->nown; s++) { /* by node */
        owners[dd_stage_cell(stage, stage->own_local[s])] += stage->own[s].node != last;
        last = stage->own[s].node;
    }
    EQP_CHECK(eqp_sum_int64(sim->comm, ncells, owners));
    for (int64_t c = 0; c < ncells; c++) {
        all += owners[c];
        occupied += owners[c] > 0;
    }
    *usual = occupied > 0 ? (double)all / (double)occupied : 1.0;
    return EQP_OK;
}

static int trace(void *user, int nparts, const eqp_map *map, const eqp_placement *placement, bool loads_only,
                 eqp_evaluation *evaluation)
{
    dd_problem *p = user;

    return dd_trace(&p->node_pairs, &p->costs, nparts, map, placement, loads_only, evaluation);
}

static void base(void *user, int nparts, double *seconds)
{
    const dd_problem *p = user;

    dd_evaluator_base(p->grid, &p->costs, nparts, seconds);
}

typedef struct weighed {
    const double *speed; /* [parts] */
    int64_t n;
    const double *centre;  /* [n][3] */
    const double *seconds; /* [n] */
} weighed;

/* Loads of the boxes [parts] by the cost model at their speeds, and the largest. */
static int weigh_boxes(const dd_problem *p, const eqp_boxes *boxes, const weighed *owners, double *loads, double *most)
{
    const int nparts = eqp_boxes_parts(boxes);

    memset(loads, 0, (size_t)nparts * sizeof *loads);
    for (int64_t o = 0; o < owners->n; o++) {
        loads[eqp_boxes_find(boxes, owners->centre + 3 * o)] += owners->seconds[o];
    }
    EQP_CHECK(eqp_sum_double(p->sim->comm, nparts, loads));
    dd_evaluator_base(p->grid, &p->costs, nparts, loads);
    *most = 0.0;
    for (int i = 0; i < nparts; i++) {
        loads[i] /= owners->speed[i];
        *most = fmax(*most, loads[i]);
    }
    return EQP_OK;
}

/* Walls after WALL_MOVES moves on an unchanged network. */
static int move_boxes(const dd_problem *p, const weighed *owners, double *loads, eqp_boxes *boxes, eqp_boxes **best)
{
    double most = 0.0, least = INFINITY;

    EQP_CHECK(weigh_boxes(p, boxes, owners, loads, &most));
    for (int move = 1; move <= WALL_MOVES; move++) {
        EQP_CHECK(eqp_agree(p->sim->comm, dd_walls_move(&p->sim->domain, p->sim->cells, loads, -1, boxes), NULL));
        EQP_CHECK(weigh_boxes(p, boxes, owners, loads, &most));
        if (move > WALL_MOVES - WALL_CHOICE && most < least) {
            eqp_boxes_free(*best);
            *best = NULL;
            least = most;
            EQP_CHECK(eqp_agree(p->sim->comm, eqp_boxes_copy(boxes, best), NULL));
        }
    }
    return EQP_OK;
}

static void free_boxes(eqp_boxes **boxes)
{
    eqp_boxes_free(*boxes);
}

static int assign(void *user, const eqp_method *method, int nparts, const double *speed, int64_t n,
                  const double *centre, const double *seconds, int *part)
{
    const dd_problem *p = user;
    const dd_simulation *sim = p->sim;
    const weighed owners = {speed, n, centre, seconds};
    DD_FREED_BY(free_boxes) eqp_boxes *boxes = NULL;
    DD_FREED_BY(free_boxes) eqp_boxes *best = NULL;
    DD_FREED double *loads = NULL;
    int code = method == &dd_sectioning || method == &dd_bisection ? EQP_OK : EQP_ERR_UNKNOWN;

    code = code == EQP_OK ? eqp_array_create(&loads, nparts, sizeof *loads) : code;
    code = code == EQP_OK ? dd_walls_create(&sim->domain, nparts, &sim->input.control, method == &dd_bisection, &boxes)
                          : code;
    EQP_CHECK(eqp_agree(sim->comm, code, NULL));
    EQP_CHECK(move_boxes(p, &owners, loads, boxes, &best));
    for (int64_t o = 0; o < n; o++) {
        part[o] = eqp_boxes_find(best, centre + 3 * o);
    }
    return EQP_OK;
}

static int advance(void *user, eqp_message *message)
{
    dd_problem *p = user;

    dd_node_pairs_free(&p->node_pairs);
    EQP_CHECK(dd_simulation_drift(p->sim, message));
    return take_node_pairs(p);
}

static int label(void *user, int64_t first)
{
    dd_network *network = &((dd_problem *)user)->sim->domain.network;

    for (int64_t i = 0; i < network->n; i++) {
        network->node[i].label = first + i;
    }
    return EQP_OK;
}

/* For the phases of evaluate.h: forces travel back, segments are ghosts. */
static const int back[DD_PHASES] = {[DD_PHASE_FORCES] = 1}, ghosts[DD_PHASES] = {[DD_PHASE_SEGMENTS] = 1};

/* Seconds on a core with AVX-512. Calls and handshakes as counted by tests/steps: each route announces its blocks
 * before their data. */
static const eqp_overhead overhead = {.held = 5e-7,
                                      .ghost = 7e-8,
                                      .byte = 4e-9,
                                      .part = 1.2e-4,
                                      .calls = 28,
                                      .gathers = 1,
                                      .gathered = (int)sizeof(dd_rank_row),
                                      .handshakes = 1};

/* Least squares fit of peak memory of processes with 80 to 4800 nodes, with glibc; ghosts include messages, fixed the
 * program, its libraries and MPI. */
static const eqp_memory memory = {.fixed = 2.67e7, .held = 2230, .ghost = 850};

eqp_problem dd_problem_functions(dd_problem *problem)
{
    return (eqp_problem){.user = problem,
                         .nkinds = DD_KINDS,
                         .nominal = dd_kind_nominal,
                         .nphases = DD_PHASES,
                         .back = back,
                         .ghosts = ghosts,
                         .overhead = &overhead,
                         .memory = &memory,
                         .own = &dd_methods,
                         .estimates = true,
                         .survey = survey,
                         .open = open_problem,
                         .close = close_problem,
                         .aspect = aspect,
                         .base = base,
                         .trace = trace,
                         .assign = assign,
                         .advance = advance,
                         .label = label};
}
