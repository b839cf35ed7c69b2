/* SPDX-License-Identifier: BSD-3-Clause */
/* The share of right choices by the cost model (Pearce 2014, section 3.3), and the cost of wrong ones.
 *
 *     build/bench/study_gain
 *
 * Scenarios are graphs of the load-balance benchmark, cut into parts of equally many vertices along the curve, whose
 * weights differ and stay constant. The choices for the next steps: none; diffusive, real moves of boundary vertices
 * before each step; and global, one optimal cut of the curve. All three are carried out in virtual time: a step takes
 * its largest load, a move the network's time for the part that receives most, a decision the time that the scenario
 * gives. The model sees the loads and the graph of parts as they are, simulates
 * diffusion (Algorithm 5), and of the global method knows what it has reached in the scenarios before this one.
 *
 * Left out: weights that change, imbalance that comes back, messages of the steps themselves, and noise.
 *
 * CSV, two rows for each scenario: of the model with the errors of print corrected, and as printed. */
#include "timing.h"

#include "../apps/loadbench/physics/graph.h"
#include "cost/elements.h"
#include "methods/diffusion/diffusion.h"
#include "methods/frame/frame.h"

#include <equipoise/more/methods.h>
#include <equipoise/more/random.h>

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 200, WAYS = 3 };

static const double unit = 1e-6, bytes = 200.0, alpha = 2e-6, beta = 1e-9; /* seconds of weight 1; a vertex; network */

/* A graph with its weights, the initial parts and the present ones. */
typedef struct world {
    lb_graph graph;
    eqp_elements e;
    double *weight, *edge_weight;
    int64_t *edge, *first;
    int *start, *part;
    int nparts;
} world;

/* The result of a choice: seconds, and the largest load at the end. */
typedef struct outcome {
    double seconds, reached;
} outcome;

/* The application before the first step. as_printed: the equations as printed: 3.3 grows towards balance, 3.5 uses
 * load_mean instead of load_reached, the sum 3.6 has one step too many. */
typedef struct gain_case {
    int64_t steps;                              /* remaining steps */
    double load_max, load_mean;                 /* seconds of a step: of the slowest rank, mean of the ranks */
    double load_reached;                        /* of the slowest rank after the global method */
    double decision_seconds, diffusive_seconds; /* for the global decision, and for a step of the diffusive one */
    double elements_max;                        /* on the slowest rank */
    bool as_printed;
} gain_case;

/* kind: 0 none, 1 diffusive, 2 global, the lowest on a tie. none, diffusive, global: seconds of all steps. */
typedef struct gain_choice {
    int kind;
    double none, diffusive, global;
} gain_choice;

/* Zero times infinity is zero. */
static double product(double x, double y)
{
    return x == 0.0 || y == 0.0 ? 0.0 : x * y;
}

/* Equation 3.2. */
static double movement(double elements)
{
    return alpha + beta * bytes * elements;
}

/* Equation 3.3. */
static double moved_by_global(const gain_case *of)
{
    const double above = fmax(of->load_max - of->load_mean, 0.0);

    if (of->as_printed) {
        return above > 0.0 ? product(of->elements_max, of->load_mean / above) : INFINITY;
    }
    return of->load_max > 0.0 ? of->elements_max * (above / of->load_max) : 0.0;
}

/* Equation 3.6 over n simulated steps; later ones take as long as the last. As printed, the sum runs over steps 0 to
 * `steps`. */
static double diffusive_seconds(const gain_case *of, int64_t n, const double *load_max, const double *moved_max)
{
    const double steps = (double)of->steps + (of->as_printed ? 1.0 : 0.0);
    const int64_t counted = steps < (double)n ? (int64_t)steps : n;
    double sum = 0.0;

    for (int64_t i = 0; i < counted; i++) {
        sum += of->diffusive_seconds + movement(moved_max[i]) + load_max[i];
    }
    return sum + product(steps - (double)counted, load_max[n - 1]);
}

/* Equations 3.5 to 3.7. load_max, moved_max: [n] simulated steps of the diffusive method. */
static gain_choice choose(const gain_case *of, int64_t n, const double *load_max, const double *moved_max)
{
    const double steps = (double)of->steps, step = of->as_printed ? of->load_mean : of->load_reached;
    gain_choice made = {.none = product(steps, of->load_max)};

    made.global = of->decision_seconds + movement(moved_by_global(of)) + product(steps, step);
    made.diffusive = n > 0 ? diffusive_seconds(of, n, load_max, moved_max) : made.none;
    made.kind = n > 0 && made.diffusive < made.none;
    made.kind = made.global < (made.kind == 0 ? made.none : made.diffusive) ? 2 : made.kind;
    return made;
}

static void open_world(world *w, const char *text)
{
    lb_generator generator;
    int64_t nedges;

    memset(w, 0, sizeof *w);
    bench_check(lb_generator_parse(text, &generator, NULL), NULL);
    bench_check(lb_graph_create(&generator, &w->graph), NULL);
    nedges = w->graph.first[w->graph.n];
    w->weight = bench_room(w->graph.n, sizeof *w->weight);
    w->edge = bench_room(nedges, sizeof *w->edge);
    w->edge_weight = bench_room(nedges, sizeof *w->edge_weight);
    w->start = bench_room(w->graph.n, sizeof *w->start);
    w->part = bench_room(w->graph.n, sizeof *w->part);
    for (int64_t i = 0; i < nedges; i++) {
        w->edge[i] = w->graph.edge[i].to;
        w->edge_weight[i] = w->graph.edge[i].weight;
    }
    w->e = (eqp_elements){w->graph.n, w->weight, w->part, w->graph.first, w->edge, w->edge_weight};
}

static void close_world(world *w)
{
    lb_graph_free(&w->graph);
    free(w->weight);
    free(w->edge);
    free(w->edge_weight);
    free(w->start);
    free(w->part);
}

static void cut(const world *w, const double *load, int *part)
{
    int64_t *first = bench_room(w->nparts + 1, sizeof *first);

    bench_check(eqp_cuts_optimal(w->graph.n, load, w->nparts, NULL, first, NULL), NULL);
    for (int p = 0; p < w->nparts; p++) {
        for (int64_t i = first[p]; i < first[p + 1]; i++) {
            part[i] = p;
        }
    }
    free(first);
}

/* Equal counts; then work that rises along an axis, lies in a ball, or is unlike from part to part. */
static void weigh(world *w, int pattern, double strength, int seed)
{
    for (int64_t i = 0; i < w->graph.n; i++) {
        w->weight[i] = 1.0;
    }
    cut(w, w->weight, w->start);
    for (int64_t i = 0; i < w->graph.n; i++) {
        const double *x = w->graph.centre[i];
        const double away = hypot(hypot(x[0] - 0.3, x[1] - 0.4), x[2] - 0.4);
        const double more = pattern == 0   ? x[0]
                            : pattern == 1 ? (away < 0.25 ? 1.0 : 0.0)
                                           : eqp_random_uniform(7, (uint64_t)seed, (uint64_t)w->start[i]);
        w->weight[i] = unit * w->graph.base[i] * (1.0 + strength * more);
    }
    memcpy(w->part, w->start, (size_t)w->graph.n * sizeof *w->part);
}

static eqp_part_loads loads_of(const world *w, const int *part)
{
    eqp_part_loads loads;

    bench_check(eqp__parts_load(w->graph.n, w->weight, part, w->nparts, NULL, NULL, &loads), NULL);
    return loads;
}

/* Most vertices that come to one part. */
static double most_moved(const world *w, const int *before, const int *after)
{
    int64_t *come = bench_room(w->nparts, sizeof *come), most = 0;

    for (int64_t i = 0; i < w->graph.n; i++) {
        come[after[i]] += before[i] != after[i];
        most = come[after[i]] > most ? come[after[i]] : most;
    }
    free(come);
    return (double)most;
}

static double move_seconds(double moved)
{
    return moved > 0 ? alpha + beta * bytes * moved : 0.0;
}

static outcome go_global(world *w, const gain_case *c)
{
    outcome made;

    cut(w, w->weight, w->part);
    made.reached = loads_of(w, w->part).max;
    made.seconds =
        c->decision_seconds + move_seconds(most_moved(w, w->start, w->part)) + (double)c->steps * made.reached;
    memcpy(w->part, w->start, (size_t)w->graph.n * sizeof *w->part);
    return made;
}

/* A step of moves before each step, until one moves nothing. */
static outcome go_diffusive(world *w, const gain_case *c)
{
    eqp_diffusion_options options = eqp__diffusion_options_defaults();
    outcome made = {0.0, loads_of(w, w->part).max};
    int *next = bench_room(w->graph.n, sizeof *next);
    int64_t left = c->steps;

    options.steps = 1;
    for (double moved = 1; left > 0 && moved > 0; left--) {
        bench_check(eqp__diffusion_move(&w->e, w->nparts, &options, next), NULL);
        moved = most_moved(w, w->part, next);
        memcpy(w->part, next, (size_t)w->graph.n * sizeof *next);
        made.reached = loads_of(w, w->part).max;
        made.seconds += c->diffusive_seconds + move_seconds(moved) + made.reached;
    }
    made.seconds += (double)left * made.reached; /* it is not asked again */
    free(next);
    memcpy(w->part, w->start, (size_t)w->graph.n * sizeof *w->part);
    return made;
}

/* A relative change up to this is rounding. */
#define NOTHING (8 * DBL_EPSILON)

/* Elements of the simulation. Their numbers may be fractional. */
typedef struct crowd {
    double *elements; /* [nparts] */
    double *per_load; /* [nparts] elements per load at the beginning of the step */
    bool rests;       /* the last step changed only rounding digits, so further steps have no effect */
} crowd;

/* One step of loads and elements. Returns the most elements that a part receives. */
static double step_with_elements(eqp__diffusion *d, crowd *c)
{
    const eqp_part_graph *g = &d->graph;
    double most = 0.0;

    c->rests = true;
    for (int p = 0; p < g->nparts; p++) {
        d->relative[p] = d->load[p] / d->scale[p];
        c->per_load[p] = d->load[p] > 0.0 ? c->elements[p] / d->load[p] : 0.0;
    }
    for (int p = 0; p < g->nparts; p++) {
        double comes = 0.0, goes = 0.0, elements = 0.0;
        for (int64_t k = g->neighbour_first[p]; k < g->neighbour_first[p + 1]; k++) {
            const int q = g->neighbour[k];
            const double flow = d->rate[k] * (d->relative[q] - d->relative[p]), in = flow > 0.0 ? flow : 0.0;
            comes += in;
            goes += in - flow;
            elements += in * c->per_load[q];
        }
        const double change = comes - goes, others = elements - goes * c->per_load[p];
        c->rests = c->rests && fabs(change) <= NOTHING * d->load[p] && fabs(others) <= NOTHING * c->elements[p];
        d->load[p] += change;
        c->elements[p] += others;
        most = elements > most ? elements : most;
    }
    return most;
}

/* Simulates the steps. load_max, moved_max: [steps] largest load, most elements that a part receives. Returns the
 * number of steps that began above the threshold. */
static int64_t simulate(eqp__diffusion *d, crowd *c, const eqp_diffusion_options *o, double *load_max,
                        double *moved_max)
{
    double imbalance = eqp__diffusion_imbalance(d);
    int64_t above = 0;

    for (int64_t s = 0; s < o->steps; s++) {
        above += imbalance > o->threshold;
        moved_max[s] = c->rests ? moved_max[s - 1] : step_with_elements(d, c);
        load_max[s] = eqp__diffusion_largest(d);
        imbalance = eqp__diffusion_imbalance(d);
    }
    return above;
}

/* The model's estimate before the first step. */
static gain_choice ask(world *w, const gain_case *of)
{
    eqp_diffusion_options options = eqp__diffusion_options_defaults();
    double load_max[MOST_STEPS], moved_max[MOST_STEPS];
    eqp_part_graph *graph = NULL;
    eqp__diffusion d;
    crowd c = {.rests = false};
    int64_t steps = of->steps < MOST_STEPS ? of->steps : MOST_STEPS, converged = 0;

    options.steps = steps;
    bench_check(eqp__part_graph_create(&w->e, w->nparts, &graph), NULL);
    bench_check(eqp__diffusion_open(graph, graph->load, eqp__diffusion_stable(graph), NULL, &d), NULL);
    c.elements = bench_room(w->nparts, sizeof *c.elements);
    c.per_load = bench_room(w->nparts, sizeof *c.per_load);
    for (int p = 0; p < w->nparts; p++) {
        c.elements[p] = (double)graph->elements[p];
    }
    converged = simulate(&d, &c, &options, load_max, moved_max);
    free(c.elements);
    free(c.per_load);
    eqp__diffusion_close(&d);
    eqp__part_graph_free(graph);
    return choose(of, converged < steps ? converged : steps, load_max, moved_max);
}

static void judge(const char *name, const gain_case *c, const gain_choice *said, const outcome of[WAYS])
{
    int best = 0;

    for (int k = 1; k < WAYS; k++) {
        best = of[k].seconds < of[best].seconds ? k : best;
    }
    printf("%s,%" PRId64 ",%.4g,%.4g,%.4g,%.4g,%.4g,%.4g,%.4g,%d,%d\n", name, c->steps,
           c->load_max / c->load_mean - 1.0, said->none, said->diffusive, said->global, of[0].seconds, of[1].seconds,
           of[2].seconds, said->kind, best);
}

/* reached: sum of the imbalances that the global method has reached in the `before` scenarios so far. */
static void try_one(world *w, const char *name, int64_t steps, double dear, int before, double *reached)
{
    const eqp_part_loads loads = loads_of(w, w->part);
    gain_case c = {.steps = steps,
                   .load_max = loads.max,
                   .load_mean = loads.mean,
                   .load_reached = loads.mean * (1.0 + (before > 0 ? *reached / before : 0.0)),
                   .decision_seconds = dear * loads.mean,
                   .diffusive_seconds = 0.01 * loads.mean,
                   .elements_max = (double)w->graph.n / w->nparts};
    const outcome of[WAYS] = {{(double)steps * loads.max, loads.max}, go_diffusive(w, &c), go_global(w, &c)};

    for (int printed = 0; printed < 2; printed++) {
        c.as_printed = printed > 0;
        const gain_choice said = ask(w, &c);
        judge(name, &c, &said, of);
    }
    *reached += of[2].reached / loads.mean - 1.0;
}

int main(void)
{
    static const char *const graphs[] = {"grid:n=8000", "triangles:n=16000", "octree:n=12000", "particles:n=8000"};
    static const int parts[] = {2, 8, 24, 64};
    static const int64_t steps[] = {5, 40, 200};
    static const double strengths[] = {0.3, 3.0}, prices[] = {0.2, 10.0}; /* of a global map, in steps */
    double reached = 0.0;

    printf("scenario,steps,imbalance,said_none,said_diffusive,said_global,none,diffusive,global,said,best\n");
    for (int i = 0; i < 4 * 4 * 3 * 2; i++) {
        char name[96];
        world w;
        const char *graph = graphs[i % 4];
        const int nparts = parts[i / 4 % 4], pattern = i / 16 % 3;
        const double strength = strengths[i / 48];
        open_world(&w, graph);
        w.nparts = nparts;
        weigh(&w, pattern, strength, i);
        for (int k = 0; k < 6; k++) {
            snprintf(name, sizeof name, "%s parts=%d pattern=%d strength=%g price=%g", graph, nparts, pattern, strength,
                     prices[k % 2]);
            try_one(&w, name, steps[k / 2], prices[k % 2], 6 * i + k, &reached);
        }
        close_world(&w);
    }
    return 0;
}
